//! What any file holds, without a secret: kind, version, parameters, sizes; and whether its checksums hold.

use crate::{
    any_device::AnyDevice,
    error::{Error, Result},
    files::{read_graph, read_report},
    origin::program_name,
    places::{PARAMS, PROGRAM, open_file, read_up_to, refused},
};
#[cfg(feature = "client")]
use limbwise::wire::{check_secret_key, check_tfhe_secret_key};
use limbwise::{
    Error as Scheme,
    params::Params,
    rlwe::{KeyForm, key_bytes},
    wire::{
        Container, FileKind, Fingerprint, KeyFile, Origin, PreparedFile, WireError, bgv_fingerprint,
        bridge_fingerprint, check_text, check_tfhe_keys, params::fingerprint, read_bgv_ciphertext, read_bgv_params,
        read_ciphertext, read_params, read_plaintext, read_public_key, read_tfhe_ciphertext, read_tfhe_keys,
        read_tfhe_params, read_to_lwe_key, tfhe_fingerprint,
    },
};
use limbwise_apps::{
    Description,
    description::{self, DescriptionError},
    registry::AnyParams,
};
use limbwise_device::Null;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;

/// What a file holds: the JSON contract of `limbwise inspect`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Inspection {
    pub file: String,
    pub kind: String,
    /// Version of its format.
    pub version: u64,
    pub bytes: u64,
    /// The parameters it was made for, as a fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// What it says it belongs to, beside parameters.
    #[serde(flatten)]
    pub origin: Belongs,
    /// Whether it is as long as its header says; absent where that takes parameters that are not at hand. A file that is not
    /// is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<bool>,
    /// Whether all checksums hold; absent where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    pub header: Map<String, Value>,
    /// Each evaluation key with its level and its bytes in memory, stored whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<InspectedKey>,
}

/// What a file says it belongs to; what it does not say is absent.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Belongs {
    /// The program, as a hash of its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InspectedKey {
    pub name: String,
    pub level: usize,
    /// Its bytes in memory, both halves.
    pub bytes: u64,
}

/// Reads what a file says of itself. With the parameters it was made for, keys have names and sizes; with a device too,
/// everything in it is read and compared with its checksums.
///
/// # Errors
/// A file that is absent, a directory, none of ours, damaged, or for other parameters; one that cannot be verified.
pub fn inspect(path: &Path, params: Option<&AnyParams>, verify: Option<&AnyDevice>) -> Result<Inspection> {
    let mut start = [0; 8];
    let file = open_file(path)?;
    let metadata = file.metadata().map_err(refused(path, "reading"))?;
    if metadata.is_dir() {
        return Err(Error::Directory { path: path.display().to_string() });
    }
    let bytes = metadata.len();
    let there = usize::try_from(bytes.min(8)).unwrap_or(8);
    limbwise::wire::Source::read_at(&file, 0, &mut start[..there]).map_err(refused(path, "reading"))?;
    if start.trim_ascii_start().starts_with(b"{") {
        return described(path, bytes);
    }
    let of_file = |e: WireError| Error::of_file(path, e.into());
    let container = Container::open(file).map_err(of_file)?;
    let (kind, made_for) = (container.kind(), container.fingerprint());
    let (version, origin) = (container.version().into(), container.origin().into());
    let header: Value = serde_json::from_slice(container.header_text())
        .map_err(|e| of_file(WireError::Header { problem: e.to_string() }))?;
    let params = params.filter(|params| fingerprints(params).contains(&made_for));
    let keys = match (kind, params.and_then(AnyParams::rlwe)) {
        (FileKind::EvaluationKeys, Some(params)) => keys(path, params)?,
        _ => Vec::new(),
    };
    let whole = whole(path, kind, params)?;
    let verified = match verify {
        Some(dev) => Some(verified(path, kind, params, dev)?),
        None => None,
    };
    let parameters = (made_for != Fingerprint::NONE).then(|| made_for.to_string());
    let header = header.as_object().cloned().unwrap_or_default();
    let (file, kind) = (path.display().to_string(), kind.to_string());
    Ok(Inspection { file, kind, version, bytes, parameters, origin, whole, verified, header, keys })
}

/// A description of a program, which is JSON.
fn described(path: &Path, bytes: u64) -> Result<Inspection> {
    let text = read_up_to(path, description::MOST_BYTES)?;
    let wrong = |cause: DescriptionError| Error::Description { path: path.display().to_string(), cause: cause.into() };
    let program = Description::parse(&text).map_err(wrong)?;
    let params = program.params().map_err(wrong)?;
    program.stand_in().map_err(wrong)?;
    let header = json!(program).as_object().cloned().unwrap_or_default();
    Ok(Inspection {
        file: path.display().to_string(),
        kind: "a description of a program".into(),
        version: description::VERSION.into(),
        bytes,
        parameters: fingerprints(&params).first().map(ToString::to_string),
        origin: Belongs { program: Some(program_name(&program).to_string()), ..Belongs::default() },
        whole: Some(true),
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

/// The fingerprints that files for these parameters have, the scheme's own first.
fn fingerprints(params: &AnyParams) -> Vec<Fingerprint> {
    let own = match params {
        AnyParams::Ckks(_) => None,
        AnyParams::Tfhe(params) => Some(tfhe_fingerprint(params)),
        AnyParams::Bgv(params) => Some(bgv_fingerprint(params)),
        AnyParams::Bridged(params) => Some(bridge_fingerprint(params)),
    };
    let parts = [params.rlwe().map(fingerprint), params.tfhe().map(tfhe_fingerprint)];
    own.into_iter().chain(parts.into_iter().flatten()).collect()
}

/// The parameters of a directory, a description, or a file of their own.
pub fn params_of(path: &Path) -> Result<AnyParams> {
    if path.is_dir() {
        return params_of(&path.join(PROGRAM)).or_else(|_| params_of(&path.join(PARAMS)));
    }
    if path.extension().is_some_and(|e| e == "json") {
        let named = |cause: DescriptionError| {
            let path = path.display().to_string();
            Error::Description { path, cause: cause.into() }
        };
        let description = Description::parse(&read_up_to(path, description::MOST_BYTES)?).map_err(named)?;
        return description.params().map_err(named);
    }
    let of_file = |e: Scheme| Error::of_file(path, e);
    let kind = Container::open(open_file(path)?).map_err(|e| of_file(e.into()))?.kind();
    let file = open_file(path)?;
    match kind {
        FileKind::TfheParams => read_tfhe_params(file).map(AnyParams::Tfhe).map_err(of_file),
        FileKind::BgvParams => read_bgv_params(file).map(AnyParams::Bgv).map_err(of_file),
        _ => read_params(file).map(AnyParams::Ckks).map_err(of_file),
    }
}

/// Whether a file is as long as its header says, without reading what is in it: a device without words asks for no block.
/// `None` without the parameters that it takes.
///
/// # Errors
/// A file that is cut off, or longer than it should be.
fn whole(path: &Path, kind: FileKind, params: Option<&AnyParams>) -> Result<Option<bool>> {
    let (file, dev) = (open_file(path)?, &Null::default());
    let (rlwe, tfhe) = (params.and_then(AnyParams::rlwe), params.and_then(AnyParams::tfhe));
    let checked: Option<limbwise::Result<()>> = match kind {
        FileKind::Params => Some(read_params(file).map(drop)),
        FileKind::TfheParams => Some(read_tfhe_params(file).map(drop)),
        FileKind::BgvParams => Some(read_bgv_params(file).map(drop)),
        FileKind::Graph | FileKind::MachineReport => Some(check_text(file, kind).map_err(Into::into)),
        FileKind::PublicKey => rlwe.map(|params| read_public_key(file, dev, params).map(drop)),
        FileKind::Ciphertext => rlwe.map(|params| read_ciphertext(file, dev, params).map(drop)),
        FileKind::Plaintext => rlwe.map(|params| read_plaintext(file, dev, params).map(drop)),
        FileKind::EvaluationKeys => rlwe.map(|params| KeyFile::open(file, params).map(drop)),
        FileKind::Prepared => rlwe.map(|params| PreparedFile::open(file, params).map(drop).map_err(Into::into)),
        FileKind::TfheKeys => tfhe.map(|params| check_tfhe_keys(file, params).map_err(Into::into)),
        FileKind::TfheCiphertext => tfhe.map(|params| read_tfhe_ciphertext(file, dev, params).map(drop)),
        FileKind::BgvCiphertext => match params {
            Some(AnyParams::Bgv(params)) => Some(read_bgv_ciphertext(file, dev, params).map(drop)),
            _ => None,
        },
        FileKind::ToLweKey => match params {
            Some(AnyParams::Bridged(params)) => Some(read_to_lwe_key(file, params).map(drop)),
            _ => None,
        },
        #[cfg(feature = "client")]
        FileKind::SecretKey => rlwe.map(|params| check_secret_key(file, params).map_err(Into::into)),
        #[cfg(feature = "client")]
        FileKind::TfheSecretKey => tfhe.map(|params| check_tfhe_secret_key(file, params).map_err(Into::into)),
        #[cfg(not(feature = "client"))]
        FileKind::SecretKey | FileKind::TfheSecretKey => None,
    };
    let checked = checked.map(|checked| checked.map_err(|e| Error::of_file(path, e)).map(|()| true));
    checked.transpose()
}

/// Reads everything in a file, for its checksums.
fn verified(path: &Path, kind: FileKind, params: Option<&AnyParams>, dev: &AnyDevice) -> Result<bool> {
    let file = || open_file(path);
    let missing = || Error::NoParams { path: path.display().to_string() };
    let rlwe = || params.and_then(AnyParams::rlwe).ok_or_else(missing);
    let tfhe = || params.and_then(AnyParams::tfhe).ok_or_else(missing);
    let of_file = |e: Scheme| Error::of_file(path, e);
    match kind {
        FileKind::Params => drop(read_params(file()?).map_err(of_file)?),
        FileKind::PublicKey => drop(read_public_key(file()?, dev, rlwe()?).map_err(of_file)?),
        FileKind::Ciphertext => drop(read_ciphertext(file()?, dev, rlwe()?).map_err(of_file)?),
        FileKind::Plaintext => drop(read_plaintext(file()?, dev, rlwe()?).map_err(of_file)?),
        FileKind::EvaluationKeys => {
            let keys = KeyFile::open(file()?, rlwe()?).map_err(of_file)?;
            for (name, level) in keys.names() {
                drop(keys.read_key(dev, name, level, KeyForm::Seeded).map_err(of_file)?);
            }
        }
        FileKind::Graph => drop(read_graph(file()?)?),
        FileKind::MachineReport => drop(read_report(file()?)?),
        FileKind::TfheParams => drop(read_tfhe_params(file()?).map_err(of_file)?),
        FileKind::TfheKeys => drop(read_tfhe_keys(file()?, dev, tfhe()?).map_err(of_file)?),
        FileKind::TfheCiphertext => drop(read_tfhe_ciphertext(file()?, dev, tfhe()?).map_err(of_file)?),
        FileKind::BgvParams => drop(read_bgv_params(file()?).map_err(of_file)?),
        FileKind::BgvCiphertext => {
            let Some(AnyParams::Bgv(params)) = params else { return Err(missing()) };
            drop(read_bgv_ciphertext(file()?, dev, params).map_err(of_file)?);
        }
        FileKind::ToLweKey => {
            let Some(AnyParams::Bridged(params)) = params else { return Err(missing()) };
            drop(read_to_lwe_key(file()?, params).map_err(of_file)?);
        }
        FileKind::Prepared => PreparedFile::open(file()?, rlwe()?)
            .and_then(|prepared| prepared.check(dev))
            .map_err(|e| of_file(e.into()))?,
        // Its only block is the secret.
        FileKind::SecretKey | FileKind::TfheSecretKey => return Ok(false),
    }
    Ok(true)
}
