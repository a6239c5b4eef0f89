//! The files of a server's keys: evaluation keys of RLWE, the keys of TFHE, or both.

use crate::{
    any_device::AnyDevice,
    error::{Error, Result},
    keys::{FileKeys, KeySource},
    origin::{hashes, keys_for},
    places::open_file,
};
use limbwise::{
    params::Params,
    rlwe::{KeyName, Requirements},
    tfhe::{ServerKey, TfheParams},
    wire::{Container, FileKind, KeyFile, Origin, WireError, check_tfhe_keys, read_tfhe_keys},
};
use limbwise_apps::{Description, registry::AnyParams};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// Opened files of keys that belong together.
pub struct ServerKeys {
    rlwe: Option<(PathBuf, FileKeys, KeyFile<File>)>,
    tfhe: Option<PathBuf>,
    /// Set by an error in reading those of TFHE, so that it is told with the file's name.
    failed: OnceLock<()>,
    origin: Origin,
}

/// Opens the keys of a program: of each kind that its scheme has one file, all of one set, made for this program.
///
/// # Errors
/// Files that are absent, damaged, of another kind, for other parameters, of another program or of two sets; a kind of key
/// that no file has.
pub(crate) fn of_scheme(params: &AnyParams, files: &[PathBuf], description: &Description) -> Result<ServerKeys> {
    ServerKeys::of(params.rlwe(), params.tfhe(), files, description)
}

/// Said of a kind of key that no file has.
fn lacks(files: &[PathBuf], what: &str) -> Error {
    let path = files.first().map_or_else(|| "the keys".into(), |path| path.display().to_string());
    Error::Keys { path, missing: format!("lacks {what}") }
}

impl ServerKeys {
    fn of(
        rlwe: Option<&Params>,
        tfhe: Option<&TfheParams>,
        files: &[PathBuf],
        description: &Description,
    ) -> Result<Self> {
        let mut this = Self { rlwe: None, tfhe: None, failed: OnceLock::new(), origin: Origin::NONE };
        let mut origins = Vec::new();
        for path in files {
            let of_file = |e: WireError| Error::of_file(path, e.into());
            let container = Container::open(open_file(path)?).map_err(of_file)?;
            match (container.kind(), rlwe, tfhe) {
                (FileKind::TfheKeys, _, Some(tfhe)) if this.tfhe.is_none() => {
                    check_tfhe_keys(open_file(path)?, tfhe).map_err(of_file)?;
                    this.tfhe = Some(path.clone());
                }
                (FileKind::EvaluationKeys, Some(rlwe), _) if this.rlwe.is_none() => {
                    let source = FileKeys::open(path, rlwe).map_err(|e| Error::of_file(path, e))?;
                    let whole = KeyFile::open(open_file(path)?, rlwe).map_err(|e| Error::of_file(path, e))?;
                    this.rlwe = Some((path.clone(), source, whole));
                }
                (kind @ FileKind::TfheKeys, _, Some(_)) | (kind @ FileKind::EvaluationKeys, Some(_), _) => {
                    let (path, cause) = (path.display().to_string(), format!("a second file of {kind}: give one"));
                    return Err(Error::Damaged { path, cause });
                }
                (got, rlwe, _) => {
                    let wanted = if rlwe.is_some() { FileKind::EvaluationKeys } else { FileKind::TfheKeys };
                    return Err(of_file(WireError::Kind { got, wanted }));
                }
            }
            origins.push((path, keys_for(path, description)?));
        }
        if rlwe.is_some() && this.rlwe.is_none() {
            return Err(lacks(files, "the evaluation keys (evaluation.keys)"));
        }
        if tfhe.is_some() && this.tfhe.is_none() {
            return Err(lacks(files, "the keys of TFHE (bootstrap.keys)"));
        }
        if let Some(((_, first), others)) = origins.split_first() {
            this.origin = *first;
            let one = Origin { keys: first.keys, ..Origin::NONE };
            others
                .iter()
                .try_for_each(|(path, other)| one.admits(other).map_err(|e| Error::of_file(path, e.into())))?;
        }
        Ok(this)
    }

    pub fn origin(&self) -> Origin {
        self.origin
    }

    pub(crate) fn rlwe(&self) -> Option<&FileKeys> {
        self.rlwe.as_ref().map(|(_, source, _)| source)
    }

    /// The file of TFHE's keys.
    pub fn tfhe(&self) -> Option<&Path> {
        self.tfhe.as_deref()
    }

    /// Reads the keys of TFHE from their file.
    pub(crate) fn read_tfhe(
        &self,
        path: &Path,
        dev: &AnyDevice,
        params: &TfheParams,
    ) -> limbwise::Result<ServerKey<AnyDevice>> {
        let file = File::open(path).map_err(|source| WireError::Io { doing: "opening the keys", source });
        let read = || Ok(ServerKey::new(dev, &read_tfhe_keys(file?, dev, params)?));
        read().inspect_err(|_| {
            let _ = self.failed.set(());
        })
    }

    /// An error with the name of the file of keys, if it is such a file's.
    pub(crate) fn named(&self, error: Error) -> Error {
        let rlwe = self.rlwe.as_ref().filter(|(_, source, _)| source.failed()).map(|(path, ..)| path);
        let tfhe = self.tfhe.as_ref().filter(|_| self.failed.get().is_some());
        match (error, rlwe.or(tfhe)) {
            (Error::Scheme(cause), Some(path)) => Error::of_file(path, cause),
            (error, _) => error,
        }
    }

    /// Fails unless they have every key that was recorded, at its level.
    pub(crate) fn serve(&self, params: Option<&Params>, required: &Requirements) -> Result<()> {
        let Some((params, (path, source, _))) = params.zip(self.rlwe.as_ref()) else { return Ok(()) };
        let names = KeySource::<AnyDevice>::names(source);
        let lacks = |(name, level): (&KeyName, &usize)| match names.get(name) {
            None => Some(name.describe(params.log_n())),
            Some(made) if made < level => Some(format!("{} above level {made}", name.describe(params.log_n()))),
            Some(_) => None,
        };
        let missing: Vec<String> = required.iter().filter_map(lacks).collect();
        let (first, more) = (missing.iter().take(4).cloned().collect::<Vec<_>>().join(", "), missing.len());
        let missing = match more {
            0 => return Ok(()),
            1..=4 => format!("lacks {first}"),
            _ => format!("lacks {more} keys that this program needs, {first} among them"),
        };
        Err(Error::Keys { path: path.display().to_string(), missing })
    }

    /// Feeds to a hash what tells these keys from any others: seeds of evaluation keys, and all of TFHE's file.
    pub(crate) fn hash(&self, add: &mut dyn FnMut(&[u8])) -> Result<()> {
        if let Some((_, _, keys)) = &self.rlwe {
            for &name in keys.names().keys() {
                keys.seeds(name)?.iter().for_each(|seed| add(&seed.0));
            }
        }
        if let Some(path) = &self.tfhe {
            hashes(std::slice::from_ref(path))?.iter().for_each(|hash| add(hash));
        }
        Ok(())
    }
}
