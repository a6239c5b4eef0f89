//! Files: read up to a limit, written whole or not at all.

use crate::failure::Mistake;
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

/// Longest parameter file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a small text file.
pub(crate) fn read_small(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let wrong = |e| Mistake(format!("{name}: cannot read: {e} (give the path of a TOML file with parameters)"));
    if read.map_err(wrong)? as u64 > MOST_BYTES {
        return Err(
            Mistake(format!("{name}: longer than {MOST_BYTES} bytes; wanted a TOML file with parameters")).into()
        );
    }
    Ok(text)
}

/// Refuses outputs that would overwrite each other: files with the options that name them.
pub(crate) fn apart(outputs: &[(&str, Option<&Path>)]) -> anyhow::Result<()> {
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
        fs::canonicalize(path).ok().or_else(beside).unwrap_or_else(|| path.to_owned())
    };
    let places: Vec<_> =
        outputs.iter().filter_map(|(option, path)| Some((option, place((*path)?), (*path)?))).collect();
    for (i, (option, at, path)) in places.iter().enumerate() {
        if let Some((first, ..)) = places[..i].iter().find(|(_, other, _)| other == at) {
            let name = path.display();
            let text = format!("{name}: {first} and {option} would both be written there: give each a file of its own");
            return Err(Mistake(text).into());
        }
    }
    Ok(())
}

/// A file that will be written: proven writable before long work begins.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    temporary: PathBuf,
}

impl Target {
    /// Checks that the file can be written, and leaves nothing behind.
    pub(crate) fn new(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let refuse = |why: &str| Mistake(format!("{name}: {why} (choose a file in a folder that you may write to)"));
        if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Err(refuse("cannot write: it is not a plain file").into());
        }
        // A link is followed, so that what it points to is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut hidden = OsString::from(".");
        hidden.push(path.file_name().ok_or_else(|| refuse("is not the name of a file"))?);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let target = Self { temporary: path.with_file_name(hidden), path };
        let probe = File::create_new(&target.temporary).and_then(|_| fs::remove_file(&target.temporary));
        probe.map_err(|e| refuse(&format!("cannot write: {e}")))?;
        Ok(target)
    }

    /// Writes to a temporary file beside it, then renames.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let whole = || {
            let mut file = File::create_new(&self.temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&self.temporary, &self.path)
        };
        whole().map_err(|e| {
            let _ = fs::remove_file(&self.temporary);
            io::Error::new(e.kind(), format!("{}: cannot write: {e}", self.path.display()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_whole_or_absent() {
        let folder = std::env::temp_dir().join(format!("limbwise-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.json");
        fs::write(&path, "old").unwrap();
        let target = Target::new(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old", "a check changes nothing");
        target.write(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
        let refused = |p: &Path| Target::new(p).unwrap_err().to_string();
        assert!(refused(&folder).contains("not a plain file"));
        assert!(refused(&folder.join("absent/a.json")).contains("cannot write"));
        assert!(refused(Path::new("/dev/null")).contains("not a plain file"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn outputs_lie_apart() {
        let same = |a: &str, b: &str| apart(&[("--html", Some(Path::new(a))), ("--out", Some(Path::new(b)))]);
        assert!(same("a", "b").is_ok() && apart(&[("--html", None), ("--out", None)]).is_ok());
        assert_eq!(
            same("a", "./a").unwrap_err().to_string(),
            "./a: --html and --out would both be written there: give each a file of its own"
        );
        assert!(same("/nowhere/a", "/nowhere/a").is_err());
    }

    #[test]
    fn long_files_are_refused() {
        assert!(read_small(Path::new("/dev/zero")).unwrap_err().to_string().contains("longer than"));
        assert!(read_small(Path::new("/nowhere/p.toml")).unwrap_err().to_string().contains("cannot read"));
    }
}
