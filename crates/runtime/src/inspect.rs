//! What any file holds, without a secret: kind, version, parameters, sizes; and whether its checksums hold.

use crate::{
    any_device::AnyDevice,
    error::{Error, Result},
    files::{read_graph, read_report},
    origin::program_name,
    places::{open_file, read_up_to, refused},
};
use limbwise::{
    Error as Scheme,
    params::Params,
    rlwe::{KeyForm, key_bytes},
    wire::{
        Container, FileKind, Fingerprint, KeyFile, Origin, WireError, read_bgv_params, read_ciphertext, read_params,
        read_plaintext, read_public_key, read_tfhe_params,
    },
};
use limbwise_apps::{Description, description};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;

/// What a file holds: the JSON contract of `limbwise inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The file.
    pub file: String,
    /// What it is.
    pub kind: String,
    /// Version of its format.
    pub version: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The parameters it was made for, as a fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// What it says it belongs to, beside parameters.
    #[serde(flatten)]
    pub origin: Belongs,
    /// Whether all checksums hold; absent where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// What its header says.
    pub header: Map<String, Value>,
    /// Each evaluation key with its level and its bytes in memory, stored whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<InspectedKey>,
}

/// What a file says it belongs to; what it does not say is absent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Belongs {
    /// The program, as a hash of its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The key set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_set: Option<String>,
    /// For results, the inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
    /// Which input or result it is, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

impl From<Origin> for Belongs {
    fn from(Origin { program, keys, inputs, index }: Origin) -> Self {
        let said = |name: Fingerprint| (name != Fingerprint::NONE).then(|| name.to_string());
        Self { program: said(program), key_set: said(keys), inputs: said(inputs), number: index }
    }
}

/// An evaluation key in a file.
#[derive(Clone, Debug, Serialize)]
pub struct InspectedKey {
    /// Which.
    pub name: String,
    /// The level it is for.
    pub level: usize,
    /// Its bytes in memory, both halves.
    pub bytes: u64,
}

/// Reads what a file says of itself. With the parameters it was made for, keys have names and sizes; with a device too,
/// everything in it is read and compared with its checksums.
///
/// # Errors
/// A file that is absent, none of ours, damaged, or for other parameters; one that cannot be verified.
pub fn inspect(path: &Path, params: Option<&Params>, verify: Option<&AnyDevice>) -> Result<Inspection> {
    let mut start = [0; 8];
    let file = open_file(path)?;
    let bytes = file.metadata().map_err(refused(path, "reading"))?.len();
    let there = usize::try_from(bytes.min(8)).unwrap_or(8);
    limbwise::wire::Source::read_at(&file, 0, &mut start[..there]).map_err(refused(path, "reading"))?;
    if start.trim_ascii_start().starts_with(b"{") {
        return described(path, bytes);
    }
    let of_file = |e: WireError| Error::of_file(path, e.into());
    let container = Container::open(file).map_err(of_file)?;
    let (kind, fingerprint) = (container.kind(), container.fingerprint());
    let (version, origin) = (container.version().into(), container.origin().into());
    let header: Value = serde_json::from_slice(container.header_text())
        .map_err(|e| of_file(WireError::Header { problem: e.to_string() }))?;
    let params = params.filter(|params| limbwise::wire::params::fingerprint(params) == fingerprint);
    let keys = match (kind, params) {
        (FileKind::EvaluationKeys, Some(params)) => keys(path, params)?,
        _ => Vec::new(),
    };
    let verified = match verify {
        Some(dev) => Some(verified(path, kind, params, dev)?),
        None => None,
    };
    let parameters = (fingerprint != Fingerprint::NONE).then(|| fingerprint.to_string());
    let header = header.as_object().cloned().unwrap_or_default();
    let (file, kind) = (path.display().to_string(), kind.to_string());
    Ok(Inspection { file, kind, version, bytes, parameters, origin, verified, header, keys })
}

/// A description of a program, which is JSON.
fn described(path: &Path, bytes: u64) -> Result<Inspection> {
    let text = read_up_to(path, description::MOST_BYTES)?;
    let wrong = |cause: description::DescriptionError| Error::Description {
        path: path.display().to_string(),
        cause: cause.into(),
    };
    let program = Description::parse(&text).map_err(wrong)?;
    let params = program.params().map_err(wrong)?;
    program.stand_in().map_err(wrong)?;
    let header = json!(program).as_object().cloned().unwrap_or_default();
    Ok(Inspection {
        file: path.display().to_string(),
        kind: "a description of a program".into(),
        version: description::VERSION.into(),
        bytes,
        parameters: Some(limbwise::wire::params::fingerprint(&params).to_string()),
        origin: Belongs { program: Some(program_name(&program).to_string()), ..Belongs::default() },
        verified: None,
        header,
        keys: Vec::new(),
    })
}

fn keys(path: &Path, params: &Params) -> Result<Vec<InspectedKey>> {
    let file = KeyFile::open(open_file(path)?, params).map_err(|e| Error::of_file(path, e))?;
    let key = |(&name, &level): (&limbwise::rlwe::KeyName, &usize)| InspectedKey {
        name: name.describe(params.log_n()),
        level,
        bytes: key_bytes(params, name, level, KeyForm::Stored),
    };
    Ok(file.names().iter().map(key).collect())
}

/// Reads everything in a file, for its checksums.
fn verified(path: &Path, kind: FileKind, params: Option<&Params>, dev: &AnyDevice) -> Result<bool> {
    let file = || open_file(path);
    let needed = || params.ok_or_else(|| Error::NoParams { path: path.display().to_string() });
    let of_file = |e: Scheme| Error::of_file(path, e);
    match kind {
        FileKind::Params => drop(read_params(file()?).map_err(of_file)?),
        FileKind::PublicKey => drop(read_public_key(file()?, dev, needed()?).map_err(of_file)?),
        FileKind::Ciphertext => drop(read_ciphertext(file()?, dev, needed()?).map_err(of_file)?),
        FileKind::Plaintext => drop(read_plaintext(file()?, dev, needed()?).map_err(of_file)?),
        FileKind::EvaluationKeys => {
            let keys = KeyFile::open(file()?, needed()?).map_err(of_file)?;
            for (name, level) in keys.names() {
                drop(keys.read_key(dev, name, level, KeyForm::Seeded).map_err(of_file)?);
            }
        }
        FileKind::Graph => drop(read_graph(file()?)?),
        FileKind::MachineReport => drop(read_report(file()?)?),
        FileKind::TfheParams => drop(read_tfhe_params(file()?).map_err(of_file)?),
        FileKind::BgvParams => drop(read_bgv_params(file()?).map_err(of_file)?),
        // Its only block is the secret.
        FileKind::SecretKey | FileKind::TfheSecretKey => return Ok(false),
        // What they are checked with is not a parameter set of this kind.
        FileKind::TfheKeys | FileKind::TfheCiphertext | FileKind::BgvCiphertext | FileKind::ToLweKey => {
            return Err(Error::NoParams { path: path.display().to_string() });
        }
    }
    Ok(true)
}
