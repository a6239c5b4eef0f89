//! Which files belong together: the names of programs and of inputs, and what files say of both.

use crate::{
    error::{Error, Result},
    places::{open_file, refused},
};
use limbwise::wire::{self, Container, FileKind, Fingerprint, Origin, WireError};
use limbwise_apps::Description;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The name of a program: the hash of its description, as it would be written.
pub fn program_name(description: &Description) -> Fingerprint {
    Fingerprint(*blake3::hash(&description.to_bytes()).as_bytes())
}

/// The name of encrypted inputs: the hash of the hashes of their files, in the program's order.
pub fn inputs_name(files: &[PathBuf]) -> Result<Fingerprint> {
    Ok(name_of(&hashes(files)?))
}

/// The BLAKE3 hash of each file.
pub fn hashes(files: &[PathBuf]) -> Result<Vec<[u8; 32]>> {
    let hash = |path: &PathBuf| {
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut open_file(path)?, &mut hasher).map_err(refused(path, "reading"))?;
        Ok(*hasher.finalize().as_bytes())
    };
    files.iter().map(hash).collect()
}

/// The name of inputs whose files have these hashes.
pub fn name_of(hashes: &[[u8; 32]]) -> Fingerprint {
    Fingerprint(*blake3::hash(hashes.as_flattened()).as_bytes())
}

/// What a file says it belongs to.
pub fn origin_of(path: &Path) -> Result<Origin> {
    wire::origin(open_file(path)?).map_err(|e| Error::of_file(path, e.into()))
}

/// Fails unless a file is a ciphertext that says it belongs to this, wherever this says something.
pub fn belongs(path: &Path, wanted: &Origin) -> Result<()> {
    let of_file = |e: WireError| Error::of_file(path, e.into());
    let file = Container::open(open_file(path)?).map_err(of_file)?;
    let ciphertexts = [FileKind::Ciphertext, FileKind::TfheCiphertext, FileKind::BgvCiphertext];
    if !ciphertexts.contains(&file.kind()) {
        return Err(of_file(WireError::Kind { got: file.kind(), wanted: FileKind::Ciphertext }));
    }
    wanted.admits(&file.origin()).map_err(of_file)
}

/// What keys say they belong to, if they were made for this program: those of version 1 do not say.
pub fn keys_for(keys: &Path, description: &Description) -> Result<Origin> {
    let said = origin_of(keys)?;
    if said.program != Fingerprint::NONE {
        let program = Origin { program: program_name(description), ..Origin::NONE };
        program.admits(&said).map_err(|e| Error::of_file(keys, e.into()))?;
    }
    Ok(said)
}
