//! `limbwise convert`: ciphertexts, keys and parameters between this library's files and those of FHETCH, OpenFHE and Lattigo.

mod foreign;

#[cfg(feature = "client")]
use crate::secrets::PassphraseArgs;
use crate::{
    failure::{Mistake, Unequal},
    host::HostArgs,
    output::JsonArgs,
    text::table::line,
};
use limbwise::{
    ckks::{Ciphertext, Estimate},
    params::Params,
    rlwe::{KeyForm, KeyName, UniformHalf, key::with_special},
    wire::{Container, KeyFile, read_ciphertext, write_ciphertext},
};
#[cfg(feature = "client")]
use limbwise::{
    ckks::{Encoder, decrypt},
    rlwe::SecretKey,
    wire::read_secret_key,
};
#[cfg(feature = "client")]
use limbwise_apps::data::npy;
use limbwise_apps::registry::AnyParams;
use limbwise_runtime::{
    AnyDevice,
    exchange::{
        fhetch::files,
        foreign::compare::{self, Residues},
    },
    inspect::params_of,
    places::{Existing, absent, open_file, put_bytes, read_up_to},
};
#[cfg(feature = "client")]
use limbwise_runtime::{
    exchange::foreign::{Binding, Content},
    places::put_private,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    io::Cursor,
    path::{Path, PathBuf},
};

/// Largest magnitude that slots may have where nobody promises less.
const MOST_MAGNITUDE: f64 = 1e12;
/// Largest file that is read.
const MOST_BYTES: usize = 1 << 31;

/// Convert ciphertexts, keys and parameters from and to FHETCH (.npz), OpenFHE (.json) and Lattigo (.bin)
///
/// The ends of the names say what becomes what:
///   .ct to .npz, .json, .bin      a ciphertext for them; for OpenFHE --like names one of its own ciphertexts, whose
///                                 context it takes
///   .npz, .json, .bin to .ct      a ciphertext of theirs; --like names a ciphertext of ours for the same input, whose
///                                 place in a program and whose bounds on the values it takes
///   any of these to .npy          the slots, with --secret: a secret key of ours (.key) or of theirs (.json, .bin)
///   .json to .toml                parameters: any object of OpenFHE, or Lattigo's parameters
///   .keys to a directory          two archives for each digit of each key
/// A file has to be over the primes of the parameters, in their order; it is refused before any word is used if it is
/// not. With --compare two ciphertexts are compared residue by residue, and with --secret by their slots.
///
/// Examples:
///   limbwise convert in/x.ct --params theirs --out x.npz
///   limbwise convert x.npz --params theirs --like in/x.ct --out in2/x.ct
///   limbwise convert theirs/evaluation.keys --out keys
///   limbwise convert relin.json --out openfhe.toml
///   limbwise convert a.json --params openfhe.toml --secret secret.json --out a.npy
///   limbwise convert results/result.ct --params theirs --like a.json --out result.json
///   limbwise convert a.json --params openfhe.toml --compare b.json --secret secret.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Convert {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What to write
    #[arg(long, value_name = "PATH", required_unless_present = "compare")]
    out: Option<PathBuf>,

    /// The parameters: a client or server directory, a program.json, or a parameter file [default: beside the file]
    #[arg(long, value_name = "PATH")]
    params: Option<PathBuf>,

    /// A ciphertext file of the same input (to .ct), or one of OpenFHE's (to .json)
    #[arg(long, value_name = "FILE")]
    like: Option<PathBuf>,

    /// A second ciphertext, compared with the first; ends with 1 if residues differ
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    compare: Option<PathBuf>,

    /// The secret key of these ciphertexts: *.key of ours, *.json of OpenFHE, *.bin of Lattigo
    #[cfg(feature = "client")]
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,

    /// For parameters below 128 bits: why they may be used
    #[arg(long, value_name = "REASON")]
    insecure: Option<String>,

    /// Replace files that exist
    #[arg(long)]
    force: bool,

    #[cfg(feature = "client")]
    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: JsonArgs,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Converted {
    /// The files that were written.
    pub(crate) files: Vec<PathBuf>,
    /// Level of a ciphertext.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<usize>,
    /// Residues of two ciphertexts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) residues: Option<Residues>,
    /// Largest difference of their slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) largest_difference: Option<f64>,
}

/// What is done with ciphertexts and keys.
enum Task<'a> {
    Compare(&'a Path),
    Export,
    Import,
    #[cfg(feature = "client")]
    Open,
    Keys,
}

fn ends(path: &Path) -> &str {
    path.extension().and_then(|end| end.to_str()).unwrap_or("")
}

impl Convert {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open();
        let done = self.done()?;
        let mut text = String::from(if self.compare.is_some() { "compared\n" } else { "converted\n" });
        done.files.iter().for_each(|file| text += &line("wrote", &file.display().to_string()));
        text += &done.compared_text();
        output.report(&done, &text)?;
        match &done.residues {
            Some(residues) if residues.different > 0 => Err(Unequal(residues.different).into()),
            _ => Ok(()),
        }
    }

    fn done(&self) -> anyhow::Result<Converted> {
        let out = self.out.as_deref().unwrap_or(Path::new(""));
        let Some(task) = self.task(out)? else {
            let text = foreign::parameters(&self.file, self.insecure.as_deref())?;
            return Ok(Converted { files: vec![self.put(out, text.as_bytes())?], ..Converted::default() });
        };
        // The parent of a bare name is empty.
        let beside = self.file.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."));
        let params = match self.params.as_deref() {
            Some(text) if ends(text) == "toml" => foreign::of_text(text)?,
            path => match params_of(path.unwrap_or(beside))? {
                AnyParams::Ckks(params) => params,
                _ => {
                    let what = "these files hold ciphertexts of CKKS; the parameters are of another scheme";
                    return Err(Mistake(what.into()).into());
                }
            },
        };
        let dev = self.host.open()?;
        match task {
            Task::Compare(other) => self.compared((&dev, &params), other),
            Task::Import => self.imported(&dev, &params, out),
            #[cfg(feature = "client")]
            Task::Open => self.opened(&dev, &params, out),
            Task::Keys => self.keys(&dev, &params, out),
            Task::Export => self.exported(&dev, &params, out),
        }
    }

    /// What the ends of the names ask for; none for parameters, which need no others.
    fn task(&self, out: &Path) -> Result<Option<Task<'_>>, Mistake> {
        Ok(Some(match (&self.compare, ends(&self.file), ends(out)) {
            (Some(other), ..) => Task::Compare(other),
            (None, "json", "toml") => return Ok(None),
            (None, "ct", "npz" | "json" | "bin") => Task::Export,
            (None, "npz" | "json" | "bin", "ct") => Task::Import,
            #[cfg(feature = "client")]
            (None, "ct" | "npz" | "json" | "bin", "npy") => Task::Open,
            (None, "keys", _) => Task::Keys,
            (None, from, to) => {
                let wanted = "wanted .ct to .npz, .json or .bin, one of these to .ct or .npy, .json to .toml, or .keys to a directory";
                return Err(Mistake(format!("a file *.{from} to *.{to}: {wanted}")));
            }
        }))
    }

    /// A ciphertext of any form; bounds on its values from another where the form has none.
    fn ciphertext(
        &self,
        path: &Path,
        (dev, params): (&AnyDevice, &Params),
        estimate: Option<Estimate>,
    ) -> anyhow::Result<Ciphertext<AnyDevice>> {
        match ends(path) {
            "npz" => {
                let (bytes, unknown) = (read_up_to(path, MOST_BYTES)?, Estimate::exact(MOST_MAGNITUDE));
                Ok(files::read_ciphertext(&bytes, path, (dev, params), estimate.unwrap_or(unknown)).map_err(refused)?)
            }
            _ if foreign::is_theirs(path) => foreign::ciphertext(path, (dev, params), estimate),
            _ => Ok(read_ciphertext(open_file(path)?, dev, params)?),
        }
    }

    fn compared(&self, (dev, params): (&AnyDevice, &Params), other: &Path) -> anyhow::Result<Converted> {
        let [a, b] = [self.ciphertext(&self.file, (dev, params), None)?, self.ciphertext(other, (dev, params), None)?];
        let residues = compare::residues(dev, params, [&a, &b]).map_err(foreign::refused(other))?;
        #[cfg(feature = "client")]
        let largest_difference = self.difference(dev, params, [&a, &b])?;
        #[cfg(not(feature = "client"))]
        let largest_difference = None;
        Ok(Converted { residues: Some(residues), largest_difference, ..Converted::default() })
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> anyhow::Result<PathBuf> {
        absent(&[path.to_owned()], Existing::replaced_if(self.force))?;
        put_bytes(path, bytes)?;
        Ok(path.to_owned())
    }

    fn exported(&self, dev: &AnyDevice, params: &Params, out: &Path) -> anyhow::Result<Converted> {
        let ciphertext = read_ciphertext(open_file(&self.file)?, dev, params)?;
        let bytes = match ends(out) {
            "json" => {
                let missing = || Mistake("--like: a ciphertext of OpenFHE, whose context the file takes".into());
                foreign::for_openfhe((dev, params), &ciphertext, self.like.as_deref().ok_or_else(missing)?)?
            }
            "bin" => foreign::for_lattigo((dev, params), &ciphertext, &self.file)?,
            _ => {
                let written = files::write_ciphertext(Cursor::new(Vec::new()), (dev, params), &ciphertext);
                written.map_err(refused)?.into_inner()
            }
        };
        Ok(Converted { files: vec![self.put(out, &bytes)?], level: Some(ciphertext.level), ..Converted::default() })
    }

    fn imported(&self, dev: &AnyDevice, params: &Params, out: &Path) -> anyhow::Result<Converted> {
        let missing = || Mistake("--like: a ciphertext file of the same input, whose bounds the file keeps".into());
        let like = self.like.as_deref().ok_or_else(missing)?;
        let model = read_ciphertext(open_file(like)?, dev, params)?;
        let origin = Container::open(open_file(like)?)?.origin();
        let read = self.ciphertext(&self.file, (dev, params), Some(model.estimate))?;
        let whole = read.with_slots(model.slots);
        let file = write_ciphertext(Vec::new(), dev, params, &whole, &origin)?;
        Ok(Converted { files: vec![self.put(out, &file)?], level: Some(whole.level), ..Converted::default() })
    }

    fn keys(&self, dev: &AnyDevice, params: &Params, out: &Path) -> anyhow::Result<Converted> {
        let file = KeyFile::open(open_file(&self.file)?, params)?;
        std::fs::create_dir_all(out).map_err(|e| Mistake(format!("{}: cannot be made: {e}", out.display())))?;
        let mut written = Vec::new();
        for (name, level) in file.names() {
            let key = file.read_key(dev, name, level, KeyForm::Stored)?;
            let (digits, special) = name.held(params, level);
            let stem = match name {
                KeyName::Relinearization => "relin".to_owned(),
                KeyName::Galois(g) => format!("galois{}", g.value()),
                other => other.label().replace(' ', "_"),
            };
            for (digit, pair) in key.pairs().iter().enumerate() {
                let UniformHalf::Stored { poly, .. } = &pair.uniform else { continue };
                for (half, poly) in [&pair.masked, poly].into_iter().enumerate() {
                    let (npz, basis) = (Cursor::new(Vec::new()), with_special(&digits, special));
                    let npz = files::write_half(npz, (dev, params), poly, basis).map_err(refused)?;
                    let path = out.join(format!("{stem}_d{digit}_{half}.npz"));
                    written.push(self.put(&path, npz.get_ref())?);
                }
            }
        }
        Ok(Converted { files: written, ..Converted::default() })
    }
}

#[cfg(feature = "client")]
impl Convert {
    fn secret_key(&self, dev: &AnyDevice, params: &Params) -> anyhow::Result<Option<SecretKey>> {
        let Some(path) = self.secret.as_deref() else { return Ok(None) };
        if !foreign::is_theirs(path) {
            let passphrase = self.passphrase.read()?;
            return Ok(Some(read_secret_key(open_file(path)?, params, passphrase.lock())?));
        }
        match foreign::content(path, params)? {
            Content::SecretKey(poly) => {
                Ok(Some(Binding::new(params).secret(dev, &poly).map_err(foreign::refused(path))?))
            }
            other => Err(Mistake(format!("{}: got {}, wanted a secret key", path.display(), other.kind())).into()),
        }
    }

    /// The slots of a ciphertext, readable by the owner only.
    fn opened(&self, dev: &AnyDevice, params: &Params, out: &Path) -> anyhow::Result<Converted> {
        let missing = || Mistake("--secret: the key that decrypts the file".into());
        let secret = self.secret_key(dev, params)?.ok_or_else(missing)?;
        let ciphertext = self.ciphertext(&self.file, (dev, params), None)?;
        let slots = decrypt(dev, &Encoder::new(params), params, &secret, &ciphertext)?;
        let shape = match &slots[..] {
            [one] => vec![one.len()],
            several => vec![several.len(), ciphertext.slots],
        };
        let mut bytes = Vec::new();
        npy::write(&mut bytes, &shape, &slots.concat(), npy::Parts::Complex)?;
        absent(&[out.to_owned()], Existing::replaced_if(self.force))?;
        put_private(out, &bytes)?;
        Ok(Converted { files: vec![out.to_owned()], level: Some(ciphertext.level), ..Converted::default() })
    }

    fn difference(
        &self,
        dev: &AnyDevice,
        params: &Params,
        pair: [&Ciphertext<AnyDevice>; 2],
    ) -> anyhow::Result<Option<f64>> {
        let Some(secret) = self.secret_key(dev, params)? else { return Ok(None) };
        let encoder = Encoder::new(params);
        let slots =
            |c: &Ciphertext<AnyDevice>| Ok::<_, anyhow::Error>(decrypt(dev, &encoder, params, &secret, c)?.concat());
        let [a, b] = pair;
        let (a, b): (Vec<_>, Vec<_>) = (slots(a)?, slots(b)?);
        let apart = a.iter().zip(&b).map(|(x, y): (&limbwise::Complex64, _)| (x - y).norm());
        Ok(Some(apart.fold(0.0, f64::max)))
    }
}

fn refused(e: limbwise_runtime::exchange::fhetch::NpzError) -> Mistake {
    Mistake(e.to_string())
}
