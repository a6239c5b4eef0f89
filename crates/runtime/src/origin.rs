//! Which files belong together: the names of programs and of inputs, and what files say of both.

use crate::{
    error::{Error, Result},
    places::{open_file, refused},
};
use limbwise::wire::{self, Container, FileKind, Fingerprint, Origin, WireError};
use limbwise_apps::Description;
use std::{
    fs::File,
    io::{self, Seek as _},
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
    files.iter().map(|path| Ok(*hash(path, &open_file(path)?)?.as_bytes())).collect()
}

/// The BLAKE3 hash of all bytes of a file that was opened at this path.
pub(crate) fn hash(path: &Path, mut file: &File) -> Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let whole = file.rewind().and_then(|()| io::copy(&mut file, &mut hasher));
    whole.map_err(refused(path, "reading"))?;
    Ok(hasher.finalize())
}

/// The name of inputs whose files have these hashes.
pub fn name_of(hashes: &[[u8; 32]]) -> Fingerprint {
    Fingerprint(*blake3::hash(hashes.as_flattened()).as_bytes())
}

/// What a file says it belongs to.
pub fn origin_of(path: &Path) -> Result<Origin> {
    wire::origin(open_file(path)?).map_err(|e| Error::of_file(path, e.into()))
}

/// Opens a file, if it is a ciphertext that says it belongs to this, wherever this says something. What is read of it
/// afterwards is of the file that was looked at, even where another one takes its place meanwhile.
pub fn belonging(path: &Path, wanted: &Origin) -> Result<File> {
    let of_file = |e: WireError| Error::of_file(path, e.into());
    let file = open_file(path)?;
    let container = Container::open(&file).map_err(of_file)?;
    let ciphertexts = [FileKind::Ciphertext, FileKind::TfheCiphertext, FileKind::BgvCiphertext];
    if !ciphertexts.contains(&container.kind()) {
        return Err(of_file(WireError::Kind { got: container.kind(), wanted: FileKind::Ciphertext }));
    }
    wanted.admits(&container.origin()).map_err(of_file)?;
    drop(container);
    Ok(file)
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
