//! Atomic files: written under a temporary name, flushed to the disk, renamed.

use serde::Serialize;
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// Writes a record atomically: a reader finds the old or the new one, even after a power failure.
pub fn write_record(path: &Path, record: &impl Serialize) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(record)?)?;
    file.sync_all()?;
    move_file(&temporary, path)
}

/// Renames a file whose bytes are on the disk, and brings its name there.
pub fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(to)
}

/// Makes a folder and brings its name to the disk.
pub fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    sync_folder(path)
}

/// Removes a folder with all that is in it; one that is not there is no error. A folder with a record goes by its new
/// name first, so that after a kill it is there whole or is seen to be rubbish.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let rubbish = path.with_extension(RUBBISH);
    if rubbish.exists() {
        fs::remove_dir_all(&rubbish)?; // a kill came between
    }
    match fs::rename(path, &rubbish) {
        Ok(()) => fs::remove_dir_all(rubbish),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Extension of folders that are being removed.
pub const RUBBISH: &str = "removed";

/// Brings the names in the folder of `path` to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("a path without a folder"))?;
    File::open(folder)?.sync_all()
}
