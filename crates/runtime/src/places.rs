//! The two directories: which file stands where, and how files come to be there whole or not at all.

use crate::error::{Error, Result};
use limbwise_apps::Description;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};
use zeroize::Zeroizing;

/// The description of the program, on both sides.
pub const PROGRAM: &str = "program.json";
/// The secret key, the client's alone.
pub const SECRET: &str = "secret.key";
/// The secret key of TFHE, on the client's side alone.
pub const TFHE_SECRET: &str = "secret.tfhe.key";
/// The keys of TFHE, on the server's side.
pub const BOOTSTRAP: &str = "bootstrap.keys";
/// The public key, on both sides.
pub const PUBLIC: &str = "public.key";
/// The evaluation keys, the server's.
pub const KEYS: &str = "evaluation.keys";
/// The parameters, the server's.
pub const PARAMS: &str = "params.limbwise";
/// Where the client's data come from, in its directory.
pub const DATA: &str = "data.json";
/// What names a ciphertext's file.
pub const CIPHERTEXT: &str = "ct";

/// The system's words with the file that they are about.
pub(crate) fn refused(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, doing, source }
}

/// Puts a file into its place when all of it is written and safe: until then nothing of it is seen, whatever happens.
pub fn put<E>(path: &Path, write: impl FnOnce(File) -> Result<File, E>) -> Result<()>
where
    Error: From<E>,
{
    put_with(&mut OpenOptions::new(), path, write)
}

/// [`put`] for a file that tells what only its owner may know: nobody else can read it, from its first byte on.
pub fn put_secret<E>(path: &Path, write: impl FnOnce(File) -> Result<File, E>) -> Result<()>
where
    Error: From<E>,
{
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    put_with(&mut options, path, write)
}

/// Gives a whole file its name, which no other file may have. Renaming would replace one; a second name does not.
#[cfg(feature = "client")]
pub(crate) fn into_empty_place(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        // File systems without second names: an empty file of that name is there first, which only one can make.
        Err(e) if matches!(e.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {
            OpenOptions::new().write(true).create_new(true).open(to)?;
            fs::rename(from, to)
        }
        Err(e) => Err(e),
    }
}

fn put_with<E>(options: &mut OpenOptions, path: &Path, write: impl FnOnce(File) -> Result<File, E>) -> Result<()>
where
    Error: From<E>,
{
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(path.file_name().unwrap_or_default());
    hidden.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(hidden);
    // What is there was left by a kill, or put there by somebody else: it is never written to, nor a link followed.
    match fs::remove_file(&temporary) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(refused(&temporary, "removing")(e)),
        _ => {}
    }
    let whole = || {
        let file = options.write(true).create_new(true).open(&temporary);
        let file = write(file.map_err(refused(path, "creating"))?).map_err(Error::from)?;
        file.sync_all().map_err(refused(path, "writing"))?;
        fs::rename(&temporary, path).map_err(refused(path, "writing"))?;
        settle(path.parent().unwrap_or(Path::new(".")))
    };
    whole().inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Makes sure that names in a directory outlive a crash.
pub(crate) fn settle(dir: &Path) -> Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(refused(dir, "writing"))
}

/// Puts bytes into a file.
pub fn put_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    put(path, |mut file| {
        file.write_all(bytes).map_err(refused(path, "writing"))?;
        Ok::<_, Error>(file)
    })
}

/// Puts bytes into a file that only its owner can read.
pub fn put_private(path: &Path, bytes: &[u8]) -> Result<()> {
    put_secret(path, |mut file| {
        file.write_all(bytes).map_err(refused(path, "writing"))?;
        Ok::<_, Error>(file)
    })
}

/// Reads a file of at most so many bytes.
pub fn read_up_to(path: &Path, most: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_into(path, most, &mut bytes)?;
    Ok(bytes)
}

/// [`read_up_to`] into memory of the caller's, for what has to be wiped.
pub fn read_into(path: &Path, most: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let file = File::open(path).map_err(refused(path, "opening"))?;
    file.take(most as u64 + 1).read_to_end(bytes).map_err(refused(path, "reading"))?;
    if bytes.len() > most {
        return Err(Error::Long { path: path.display().to_string(), most });
    }
    Ok(())
}

/// [`read_up_to`] for what is wiped when it is dropped; a file that says its length leaves no part of it elsewhere.
pub fn read_secret(path: &Path, most: usize) -> Result<Zeroizing<Vec<u8>>> {
    let length = fs::metadata(path).map_err(refused(path, "opening"))?.len();
    let room = usize::try_from(length).unwrap_or(most).min(most);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room + 1));
    read_into(path, most, &mut bytes)?;
    Ok(bytes)
}

pub fn open_file(path: &Path) -> Result<File> {
    File::open(path).map_err(refused(path, "opening"))
}

/// The description of the program in a directory.
pub fn description(dir: &Path) -> Result<Description> {
    let path = dir.join(PROGRAM);
    let bytes = read_up_to(&path, limbwise_apps::description::MOST_BYTES)?;
    Description::parse(&bytes)
        .map_err(|cause| Error::Description { path: path.display().to_string(), cause: cause.into() })
}

/// The ciphertexts of a directory in the order of their names, or the file itself.
pub fn ciphertexts(place: &Path) -> Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(place).map_err(refused(place, "reading"))? {
        let path = entry.map_err(refused(place, "reading"))?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.extension().is_some_and(|e| e == CIPHERTEXT) && !hidden {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() { Err(Error::Empty { path: place.display().to_string() }) } else { Ok(files) }
}

/// Whether files that exist are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Never.
    Kept,
    /// Where the user said so.
    Replaced,
}

impl Existing {
    /// From the user's permission to replace.
    pub fn replaced_if(allowed: bool) -> Self {
        if allowed { Self::Replaced } else { Self::Kept }
    }
}

/// Where so many ciphertexts go: a file for a single one, else numbered files in a directory, which is made if it is not
/// there.
///
/// # Errors
/// [`Error::Exists`] for files that are there and may not be replaced, [`Error::OneFile`] for several into one.
pub fn targets(place: &Path, stem: &str, count: usize, existing: Existing) -> Result<Vec<PathBuf>> {
    let one = place.extension().is_some_and(|e| e == CIPHERTEXT) && !place.is_dir();
    if one && count != 1 {
        return Err(Error::OneFile { path: place.display().to_string(), count });
    }
    if !one {
        fs::create_dir_all(place).map_err(refused(place, "creating"))?;
    }
    // Names are read back in their order as text, so all numbers of a directory are of one length.
    let digits = count.saturating_sub(1).to_string().len().max(3);
    let numbered = |i: usize| place.join(format!("{stem}-{i:0digits$}.{CIPHERTEXT}"));
    let files: Vec<PathBuf> = if one { vec![place.to_owned()] } else { (0..count).map(numbered).collect() };
    absent(&files, existing)?;
    Ok(files)
}

/// A place that did not exist before: it is taken away again if nothing came into it.
pub(crate) struct Vacant<'a>(Option<&'a Path>);

impl<'a> Vacant<'a> {
    pub(crate) fn before(place: &'a Path) -> Self {
        Self((!place.exists()).then_some(place))
    }
}

impl Drop for Vacant<'_> {
    fn drop(&mut self) {
        // Only an empty directory goes: results stay, and so does what somebody else put there.
        let _ = self.0.map(fs::remove_dir);
    }
}

/// How long a process waits for one before it that is ending.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

/// A directory that one process at a time has: until this is dropped, or the process ends. Where a file system has no locks,
/// nothing is promised.
#[derive(Debug)]
pub(crate) struct Alone {
    _locked: Option<File>,
}

impl Alone {
    /// Takes a directory.
    ///
    /// # Errors
    /// [`Error::Busy`] if another has it for longer than its end takes.
    pub(crate) fn with(dir: &Path) -> Result<Self> {
        Self::within(dir, PATIENCE)
    }

    fn within(dir: &Path, patience: Duration) -> Result<Self> {
        let file = File::open(dir).map_err(refused(dir, "opening"))?;
        let until = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _locked: Some(file) }),
                Err(TryLockError::Error(_)) => return Ok(Self { _locked: None }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOOK),
                Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: dir.display().to_string() }),
            }
        }
    }
}

/// Fails for a file that is there and may not be replaced.
///
/// # Errors
/// [`Error::Exists`].
pub fn absent(files: &[PathBuf], existing: Existing) -> Result<()> {
    match files.iter().find(|path| existing == Existing::Kept && fs::symlink_metadata(path).is_ok()) {
        Some(path) => Err(Error::Exists { path: path.display().to_string() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_has_a_directory() {
        let dir = std::env::temp_dir().join(format!("limbwise-alone-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let first = Alone::with(&dir).unwrap();
        let second = Alone::within(&dir, Duration::ZERO).unwrap_err();
        assert!(matches!(second, Error::Busy { .. }), "{second}");
        drop(first);
        Alone::within(&dir, Duration::ZERO).unwrap();
        fs::remove_dir(dir).unwrap();
    }

    #[test]
    fn a_place_without_a_file_is_taken_away_again() {
        let folder = std::env::temp_dir().join(format!("limbwise-vacant-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("there")).unwrap();
        for (name, files, stays) in [("new", 0, false), ("filled", 1, true), ("there", 0, true)] {
            let place = folder.join(name);
            let guard = Vacant::before(&place);
            let made = targets(&place, "result", 1, Existing::Kept).unwrap();
            (0..files).for_each(|i| fs::write(&made[i], "a result").unwrap());
            drop(guard);
            assert_eq!(place.exists(), stays, "{name}");
        }
        let one = folder.join("one.ct");
        let guard = Vacant::before(&one);
        fs::write(&one, "a result").unwrap();
        drop(guard);
        assert!(one.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn many_files_are_read_back_in_their_order() {
        let folder = std::env::temp_dir().join(format!("limbwise-many-{}", std::process::id()));
        for (count, first) in [(1, "in-000.ct"), (1000, "in-000.ct"), (1002, "in-0000.ct")] {
            let _ = fs::remove_dir_all(&folder);
            let made = targets(&folder, "in", count, Existing::Kept).unwrap();
            made.iter().for_each(|path| fs::write(path, "").unwrap());
            assert!(made[0].ends_with(first), "{}", made[0].display());
            assert_eq!(ciphertexts(&folder).unwrap(), made);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn what_was_put_in_the_way_is_not_written_to() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = std::env::temp_dir().join(format!("limbwise-places-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let planted = folder.join(format!(".numbers.{}.tmp", std::process::id()));
        fs::write(folder.join("elsewhere"), "").unwrap();
        symlink(folder.join("elsewhere"), &planted).unwrap();
        put_private(&folder.join("numbers"), b"secret").unwrap();
        fs::write(&planted, "open to all").unwrap();
        fs::set_permissions(&planted, fs::Permissions::from_mode(0o666)).unwrap();
        put_private(&folder.join("numbers"), b"secret").unwrap();
        assert_eq!(fs::read(folder.join("elsewhere")).unwrap(), b"");
        let mode = fs::metadata(folder.join("numbers")).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode, fs::read_dir(&folder).unwrap().count()), (0o600, 2));
        // What cannot be taken out of the way is told.
        fs::create_dir(&planted).unwrap();
        assert!(put_private(&folder.join("numbers"), b"secret").is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
