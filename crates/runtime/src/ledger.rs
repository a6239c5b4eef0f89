//! The client's ledger: which inputs it encrypted, and how many results it shared. Only under the feature `client`.
//!
//! Both are needed when results come back. A result of earlier inputs is told from one of the last. Noise that hides the
//! errors of τ shared results does not hide those of τ + 1, so what was shared is counted before numbers are written.

use crate::{
    error::{Error, Result},
    places::{put_private, read_up_to, refused},
    sealed::{seal, unseal},
    share::Sharing,
};
use limbwise::wire::Fingerprint;
use limbwise_apps::Encryption;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// The file in the client's directory.
pub const LEDGER: &str = "ledger.json";
/// Held by whoever changes it.
const LOCK: &str = ".ledger.lock";
/// Longest ledger that is read.
const MOST_BYTES: usize = 1 << 24;
/// Encryptions that are remembered, the last ones.
const MOST_ROUNDS: usize = 1 << 14;
/// Longest place that is remembered: with it the longest ledger is below what is read.
const MOST_PLACE: usize = 128;

/// One encryption of all inputs of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// Their name, in hexadecimal.
    pub inputs: String,
    pub key: Encryption,
    /// Where they were written, for people.
    pub place: String,
}

/// What was shared under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Bits of statistical security and number of results that noise is sized for: those of the first sharing.
    pub sharing: Sharing,
    /// Results shared so far.
    pub results: u32,
}

impl Shared {
    /// For how much the noise is sized: as is said, else as it was before, else 30 bits and 16 results under one key.
    pub fn sharing(before: Option<Self>, statistical_bits: Option<u32>, results: Option<u32>) -> Sharing {
        let usual = before.map_or(Sharing { statistical_bits: 30, results: 16 }, |shared| shared.sharing);
        Sharing {
            statistical_bits: statistical_bits.unwrap_or(usual.statistical_bits),
            results: results.unwrap_or(usual.results),
        }
    }

    /// What two counts of the same results know together: the larger.
    ///
    /// # Errors
    /// [`Error::OtherSharing`] where they disagree on the first sharing.
    pub fn both(one: Option<Self>, other: Option<Self>) -> Result<Option<Self>> {
        match (one, other) {
            (Some(a), Some(b)) if a.sharing != b.sharing => {
                Err(Error::OtherSharing { first: a.sharing, wanted: b.sharing })
            }
            (Some(a), Some(b)) => Ok(Some(if a.results < b.results { b } else { a })),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// After so many more results; the first sharing says for how many the noise is.
    ///
    /// # Errors
    /// [`Error::OtherSharing`] for other bits or another number than those of the first, [`Error::SharedAll`] beyond it.
    pub fn after(before: Option<Self>, sharing: Sharing, results: u32) -> Result<Self> {
        let shared = before.unwrap_or(Self { sharing, results: 0 });
        if shared.sharing != sharing {
            return Err(Error::OtherSharing { first: shared.sharing, wanted: sharing });
        }
        let all = shared.results.saturating_add(results);
        if all > sharing.results {
            return Err(Error::SharedAll { shared: shared.results, more: results, most: sharing.results });
        }
        Ok(Self { results: all, ..shared })
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    keys: String,
    rounds: Vec<Round>,
    shared: Option<Shared>,
}

/// The ledger of a client's directory.
#[derive(Clone, Debug)]
pub struct Ledger {
    path: PathBuf,
    lock: PathBuf,
    keys: String,
}

/// All 32 bytes of a name, in hexadecimal.
pub fn hex(name: Fingerprint) -> String {
    name.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Ledger {
    /// Of a directory, for a key set.
    pub fn of(dir: &Path, keys: Fingerprint) -> Self {
        Self { path: dir.join(LEDGER), lock: dir.join(LOCK), keys: hex(keys) }
    }

    /// Beside a file of a secret key, for a key set: another key that is written to the same place has another ledger. The
    /// place is that of the file now, wherever the process goes later.
    pub fn beside(secret: &Path, keys: Fingerprint) -> Result<Self> {
        let folder = secret.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(refused(folder, "opening"))?;
        let (keys, name) = (hex(keys), secret.file_name().unwrap_or_default());
        let with = |more: &str| {
            let mut name = name.to_owned();
            name.push(format!(".{}.ledger{more}", &keys[..8]));
            folder.join(name)
        };
        Ok(Self { path: with(""), lock: with(".lock"), keys })
    }

    /// Fails where it could not be changed later: before work is done that needs it.
    pub fn ready(&self) -> Result<()> {
        self.change(|_| Ok(()))
    }

    /// The encryptions so far, the last one last.
    pub fn rounds(&self) -> Result<Vec<Round>> {
        Ok(self.read()?.rounds)
    }

    /// What was shared so far.
    pub fn shared(&self) -> Result<Option<Shared>> {
        Ok(self.read()?.shared)
    }

    /// Remembers an encryption.
    pub fn encrypted(&self, round: Round) -> Result<()> {
        self.change(|content| {
            content.rounds.retain(|known| known.inputs != round.inputs);
            let place = round.place.chars().take(MOST_PLACE).collect();
            content.rounds.push(Round { place, ..round });
            let forgotten = content.rounds.len().saturating_sub(MOST_ROUNDS);
            content.rounds.drain(..forgotten);
            Ok(())
        })
    }

    /// Counts results that are about to be shared, beyond what is known from elsewhere. They stay counted whatever becomes
    /// of them.
    pub fn share(&self, sharing: Sharing, results: u32, known: Option<Shared>) -> Result<Shared> {
        self.change(|content| {
            let shared = Shared::after(Shared::both(content.shared, known)?, sharing, results)?;
            content.shared = Some(shared);
            Ok(shared)
        })
    }

    fn read(&self) -> Result<Content> {
        let damaged = |cause: String| Error::Ledger { path: self.path.display().to_string(), cause };
        let content = match read_up_to(&self.path, MOST_BYTES) {
            Ok(bytes) => unseal(&bytes).map_err(|e| damaged(e.to_string()))?,
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Content { keys: self.keys.clone(), ..Content::default() }
            }
            Err(error) => return Err(error),
        };
        // Keys of version 1 do not say which set they are of: then either side may leave it open.
        let open = [&content.keys, &self.keys].into_iter().any(|keys| *keys == hex(Fingerprint::NONE));
        if open || content.keys == self.keys { Ok(content) } else { Err(damaged("of another key set".into())) }
    }

    /// Changes it, whole or not at all, one process after the other.
    fn change<T>(&self, change: impl FnOnce(&mut Content) -> Result<T>) -> Result<T> {
        let _alone = self.locked()?;
        let mut content = self.read()?;
        let changed = change(&mut content)?;
        if self.keys != hex(Fingerprint::NONE) {
            content.keys.clone_from(&self.keys);
        }
        let bytes = seal(&content).map_err(|e| Error::Report(e.to_string()))?;
        put_private(&self.path, &bytes)?;
        Ok(changed)
    }

    /// Held until it is dropped; the system lets go of it when the process ends.
    fn locked(&self) -> Result<File> {
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&self.lock);
        let file = open.map_err(refused(&self.lock, "creating"))?;
        file.lock().map_err(refused(&self.lock, "locking"))?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARING: Sharing = Sharing { statistical_bits: 30, results: 3 };

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("limbwise-ledger-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn what_was_shared_is_counted_by_every_process_and_never_beyond() {
        let dir = folder("shared");
        let ledger = || Ledger::of(&dir, Fingerprint([1; 32]));
        assert_eq!(ledger().share(SHARING, 2, None).unwrap().results, 2);
        let beyond = ledger().share(SHARING, 2, None).unwrap_err();
        assert!(beyond.to_string().contains("2 of the 3"), "{beyond}");
        let other = ledger().share(Sharing { results: 9, ..SHARING }, 1, None).unwrap_err();
        assert!(matches!(other, Error::OtherSharing { .. }), "{other}");
        // Threads of one process and processes take turns alike: one of these is refused.
        let tries = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..2).map(|_| scope.spawn(|| ledger().share(SHARING, 1, None).is_ok())).collect();
            tries.into_iter().map(|t| usize::from(t.join().unwrap())).sum::<usize>()
        });
        assert_eq!((tries, ledger().shared().unwrap().unwrap().results), (1, 3));
        assert!(Ledger::of(&dir, Fingerprint([2; 32])).rounds().is_err(), "another key set");
        // What is known from elsewhere counts, and what does not say its key set is anybody's.
        let open = Ledger::of(&folder("open"), Fingerprint::NONE);
        let known = Some(Shared { sharing: SHARING, results: 2 });
        assert_eq!(open.share(SHARING, 1, known).unwrap().results, 3);
        assert!(Ledger::of(open.path.parent().unwrap(), Fingerprint([2; 32])).share(SHARING, 1, None).is_err());
        assert!(Ledger::of(open.path.parent().unwrap(), Fingerprint([2; 32])).ready().is_ok());
        assert!(Ledger::of(open.path.parent().unwrap(), Fingerprint([3; 32])).ready().is_err());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_damaged_ledger_is_refused_and_never_begun_anew() {
        let dir = folder("damaged");
        let ledger = Ledger::of(&dir, Fingerprint([1; 32]));
        ledger.share(SHARING, 3, None).unwrap();
        let round = |inputs: &str| Round { inputs: inputs.into(), key: Encryption::PublicKey, place: "in".into() };
        ["a", "b", "a"].into_iter().for_each(|inputs| ledger.encrypted(round(inputs)).unwrap());
        assert_eq!(ledger.rounds().unwrap(), [round("b"), round("a")]);
        let text = std::fs::read_to_string(dir.join(LEDGER)).unwrap();
        std::fs::write(dir.join(LEDGER), text.replace("\"results\": 3,", "\"results\": 0,")).unwrap();
        assert!(ledger.share(SHARING, 1, None).unwrap_err().to_string().contains("damaged"));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
