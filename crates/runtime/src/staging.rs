//! Files that come into a directory together: all of them or none. Only under the feature `client`.
//!
//! They are written into a hidden directory inside of it, which a kill leaves behind and the next one takes away; nothing
//! else reads it. Moving them takes no time and no room, and the file that makes the directory usable is moved last.

use crate::{
    error::{Error, Result},
    places::{Alone, Existing, Vacant, absent, into_empty_place, refused, settle},
};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// The hidden directory.
const HIDDEN: &str = ".unfinished";

/// A directory whose files are being written. Dropped before they are moved, it leaves no trace.
pub(crate) struct Staging<'a> {
    place: &'a Path,
    hidden: PathBuf,
    _alone: Alone,
    /// Dropped last: takes the directory away if it was made for nothing.
    _vacant: Vacant<'a>,
}

impl<'a> Staging<'a> {
    /// Makes the directory, and takes away what a killed process left of its files.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process is writing; those of the system.
    pub(crate) fn of(place: &'a Path) -> Result<Self> {
        let vacant = Vacant::before(place);
        fs::create_dir_all(place).map_err(refused(place, "creating"))?;
        let staging = Self { place, hidden: place.join(HIDDEN), _alone: Alone::with(place)?, _vacant: vacant };
        staging.clear()?;
        fs::create_dir(&staging.hidden).map_err(refused(&staging.hidden, "creating"))?;
        Ok(staging)
    }

    /// Where the files are written.
    pub(crate) fn dir(&self) -> &Path {
        &self.hidden
    }

    fn clear(&self) -> Result<()> {
        match fs::remove_dir_all(&self.hidden) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(refused(&self.hidden, "removing")(e)),
            _ => Ok(()),
        }
    }

    /// Takes files out of the way of those that are to come, the first of them first: from then on the directory is not
    /// usable.
    pub(crate) fn clear_for(&self, names: &[&str]) -> Result<()> {
        for name in names {
            let path = self.place.join(name);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(refused(&path, "removing")(e)),
                _ => {}
            }
        }
        settle(self.place)
    }

    /// Moves all files to where nothing is, the named one last.
    ///
    /// # Errors
    /// [`Error::Exists`], with nothing moved; those of the system.
    pub(crate) fn finish(self, last: &str) -> Result<()> {
        let reading = || refused(&self.hidden, "reading");
        let entries = fs::read_dir(&self.hidden).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut names: Vec<OsString> = entries.map_err(reading())?.iter().map(fs::DirEntry::file_name).collect();
        names.sort_by_key(|name| name == last);
        let places: Vec<PathBuf> = names.iter().map(|name| self.place.join(name)).collect();
        absent(&places, Existing::Kept)?;
        for (name, path) in names.iter().zip(&places) {
            into_empty_place(&self.hidden.join(name), path).map_err(refused(path, "writing"))?;
        }
        settle(self.place)
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // The next one takes away what cannot be removed now.
        let _: Result<(), Error> = self.clear();
    }
}
