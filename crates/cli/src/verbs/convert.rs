//! `limbwise convert`: ciphertexts and keys between this library's files and FHETCH's archives.

use crate::{failure::Mistake, host::HostArgs, output::JsonArgs, text::table::line};
use limbwise::{
    params::Params,
    rlwe::{KeyForm, KeyName, UniformHalf},
    wire::{Container, KeyFile, read_ciphertext, write_ciphertext},
};
use limbwise_apps::registry::AnyParams;
use limbwise_runtime::{
    AnyDevice,
    exchange::fhetch::files,
    inspect::params_of,
    places::{Existing, absent, open_file, put_bytes, read_up_to},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    io::Cursor,
    path::{Path, PathBuf},
};

/// Largest archive that is read.
const MOST_BYTES: usize = 1 << 31;

/// Convert ciphertexts and keys from and to FHETCH's archives (.npz)
///
/// The ends of the names say what becomes what: FILE.ct becomes FILE.npz, FILE.npz becomes FILE.ct, and FILE.keys
/// becomes a directory with two archives for each digit of each key. An archive has to be over the primes of the
/// parameters, in their order; it is refused before any word is used if it is not. A ciphertext that comes from
/// elsewhere takes its place in a program from --like: a file of this library for the same input, whose bounds on the
/// values it promises to keep.
///
/// Examples:
///   limbwise convert in/x.ct --params theirs --out x.npz
///   limbwise convert x.npz --params theirs --like in/x.ct --out in2/x.ct
///   limbwise convert theirs/evaluation.keys --out keys
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Convert {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What to write
    #[arg(long, value_name = "PATH")]
    out: PathBuf,

    /// The parameters: a client or server directory, a program.json, or a parameter file [default: beside the file]
    #[arg(long, value_name = "PATH")]
    params: Option<PathBuf>,

    /// For an archive: a ciphertext file of the same input
    #[arg(long, value_name = "FILE.ct")]
    like: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: JsonArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Converted {
    /// The files that were written.
    pub(crate) files: Vec<PathBuf>,
    /// Level of a ciphertext.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<usize>,
}

fn ends(path: &Path) -> &str {
    path.extension().and_then(|end| end.to_str()).unwrap_or("")
}

impl Convert {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open();
        let beside = self.file.parent().unwrap_or(Path::new("."));
        let params = match params_of(self.params.as_deref().unwrap_or(beside))? {
            AnyParams::Ckks(params) => params,
            _ => {
                return Err(Mistake(
                    "FHETCH's archives hold ciphertexts of CKKS; these parameters are of another scheme".into(),
                )
                .into());
            }
        };
        let dev = self.host.open()?;
        let done = match (ends(&self.file), ends(&self.out)) {
            ("ct", "npz") => self.exported(&dev, &params)?,
            ("npz", "ct") => self.imported(&dev, &params)?,
            ("keys", _) => self.keys(&dev, &params)?,
            (from, to) => {
                let wanted = "wanted .ct to .npz, .npz to .ct, or .keys to a directory";
                return Err(Mistake(format!("a file *.{from} to *.{to}: {wanted}")).into());
            }
        };
        let mut text = String::from("converted\n");
        done.files.iter().for_each(|file| text += &line("wrote", &file.display().to_string()));
        output.report(&done, &text)
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> anyhow::Result<PathBuf> {
        absent(&[path.to_owned()], Existing::replaced_if(self.force))?;
        put_bytes(path, bytes)?;
        Ok(path.to_owned())
    }

    fn exported(&self, dev: &AnyDevice, params: &Params) -> anyhow::Result<Converted> {
        let ciphertext = read_ciphertext(open_file(&self.file)?, dev, params)?;
        let npz = files::write_ciphertext(Cursor::new(Vec::new()), (dev, params), &ciphertext).map_err(refused)?;
        Ok(Converted { files: vec![self.put(&self.out, npz.get_ref())?], level: Some(ciphertext.level) })
    }

    fn imported(&self, dev: &AnyDevice, params: &Params) -> anyhow::Result<Converted> {
        let missing = || Mistake("--like: a ciphertext file of the same input, whose bounds the archive keeps".into());
        let like = self.like.as_deref().ok_or_else(missing)?;
        let model = read_ciphertext(open_file(like)?, dev, params)?;
        let origin = Container::open(open_file(like)?)?.origin();
        let bytes = read_up_to(&self.file, MOST_BYTES)?;
        let read = files::read_ciphertext(&bytes, &self.file, (dev, params), model.estimate).map_err(refused)?;
        let whole = read.with_slots(model.slots);
        let file = write_ciphertext(Vec::new(), dev, params, &whole, &origin)?;
        Ok(Converted { files: vec![self.put(&self.out, &file)?], level: Some(whole.level) })
    }

    fn keys(&self, dev: &AnyDevice, params: &Params) -> anyhow::Result<Converted> {
        let file = KeyFile::open(open_file(&self.file)?, params)?;
        std::fs::create_dir_all(&self.out)
            .map_err(|e| Mistake(format!("{}: cannot be made: {e}", self.out.display())))?;
        let mut written = Vec::new();
        for (name, level) in file.names() {
            let key = file.read_key(dev, name, level, KeyForm::Stored)?;
            let (_, special) = name.gadget(params, level);
            let stem = match name {
                KeyName::Relinearization => "relin".to_owned(),
                KeyName::Galois(g) => format!("galois{}", g.value()),
                other => other.label().replace(' ', "_"),
            };
            for (digit, pair) in key.pairs().iter().enumerate() {
                let UniformHalf::Stored { poly, .. } = &pair.uniform else { continue };
                for (half, poly) in [&pair.masked, poly].into_iter().enumerate() {
                    let out = Cursor::new(Vec::new());
                    let basis = params.basis(level) | special;
                    let npz = files::write_half(out, (dev, params), poly, basis).map_err(refused)?;
                    let path = self.out.join(format!("{stem}_d{digit}_{half}.npz"));
                    written.push(self.put(&path, npz.get_ref())?);
                }
            }
        }
        Ok(Converted { files: written, level: None })
    }
}

fn refused(e: limbwise_runtime::exchange::fhetch::NpzError) -> Mistake {
    Mistake(e.to_string())
}
