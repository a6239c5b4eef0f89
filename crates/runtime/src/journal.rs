//! Checkpoints: a program's state after each step, in a directory, so that a run that was killed goes on.
//!
//! The state of step n is the directory `step-n`, put into its place by renaming when all of it is written and safe; then
//! the one before goes, by a new name first. So a kill leaves a state whole or not at all. One run at a time has the
//! directory. What a state belongs to is its identity, a hash of everything that the computation hangs on.

use crate::{
    error::{Error, Result},
    origin::hash,
    places::{Alone, open_file, put, put_bytes, read_up_to, refused, settle},
    sealed::{seal, unseal},
};
use limbwise::{scheme::Scheme, wire::Origin};
use limbwise_apps::{Journal, State};
use limbwise_device::HostRead;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::BufWriter,
    path::{Path, PathBuf},
};

/// The file beside the ciphertexts of a state.
const STATE: &str = "state.json";
/// Longest such file.
const MOST_STATE: usize = 1 << 20;
const MOST_CIPHERTEXTS: usize = 1 << 12;

/// What a state belongs to: a hash of the program, its keys and its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(pub [u8; 32]);

/// Sealed with a checksum; without the seal and without hashes in version 1, which is still read.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    identity: String,
    step: usize,
    ciphertexts: usize,
    /// The hash of each ciphertext's file: states of one shape are not told apart by anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<String>,
    /// Bits of the numbers, in hexadecimal.
    numbers: Vec<String>,
}

const VERSION: u32 = 2;

/// A state that is being written or removed: `.step-….tmp`.
const HIDDEN: [&str; 2] = [".step-", ".tmp"];

/// A directory of checkpoints, which one run at a time has: until this is dropped, or the process ends.
#[derive(Debug)]
pub struct CheckpointDir {
    path: PathBuf,
    _alone: Alone,
}

impl CheckpointDir {
    /// Makes the directory if it is not there, and takes it.
    ///
    /// # Errors
    /// [`Error::Busy`] if another run has it for longer than its end takes.
    pub fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(refused(path, "creating"))?;
        Ok(Self { path: path.to_owned(), _alone: Alone::with(path)? })
    }
}

pub struct Checkpoint<'a, D: HostRead, S: Scheme> {
    dev: &'a D,
    params: &'a S::Params,
    dir: CheckpointDir,
    identity: Identity,
    /// Why it stopped the program.
    failure: Option<Error>,
    /// The step that was gone on from.
    resumed: Option<usize>,
}

impl<'a, D: HostRead, S: Scheme> Checkpoint<'a, D, S> {
    /// A journal in a directory.
    pub fn open(dev: &'a D, params: &'a S::Params, dir: CheckpointDir, identity: Identity) -> Result<Self> {
        let this = Self { dev, params, dir, identity, failure: None, resumed: None };
        this.latest()?; // a state of another run is a mistake to be told now
        for (name, path) in this.entries()? {
            if name.starts_with(HIDDEN[0]) && name.ends_with(HIDDEN[1]) {
                fs::remove_dir_all(&path).map_err(refused(&path, "removing"))?; // what a kill left
            }
        }
        Ok(this)
    }

    /// What became of the program's error: why this journal stopped it, if it did.
    pub fn cause(&mut self, error: limbwise::Error) -> Error {
        match (error, self.failure.take()) {
            (limbwise::Error::Stopped, Some(failure)) => failure,
            (error, _) => error.into(),
        }
    }

    /// [`Self::cause`] of a reading's error.
    pub fn reason(&mut self, error: Error) -> Error {
        match error {
            Error::Scheme(error) => self.cause(error),
            other => other,
        }
    }

    /// The step that was gone on from.
    pub fn resumed(&self) -> Option<usize> {
        self.resumed
    }

    /// Removes all states: the run is over.
    pub fn clear(&self) -> Result<()> {
        self.steps()?.iter().try_for_each(|(_, path)| self.remove(path))
    }

    /// Removes a state.
    fn remove(&self, state: &Path) -> Result<()> {
        let hidden = self.hidden("old");
        fs::rename(state, &hidden).map_err(refused(state, "removing"))?;
        fs::remove_dir_all(&hidden).map_err(refused(&hidden, "removing"))
    }

    fn place(&self, step: usize) -> PathBuf {
        self.dir.path.join(format!("step-{step:06}"))
    }

    /// A place that [`Self::open`] empties.
    fn hidden(&self, name: &str) -> PathBuf {
        self.dir.path.join(HIDDEN.join(name))
    }

    fn entries(&self) -> Result<Vec<(String, PathBuf)>> {
        let dir = &self.dir.path;
        let entries = fs::read_dir(dir).map_err(refused(dir, "reading"))?;
        let named = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.map_err(refused(dir, "reading"))?;
            Ok((entry.file_name().to_string_lossy().into_owned(), entry.path()))
        };
        entries.map(named).collect()
    }

    fn steps(&self) -> Result<Vec<(usize, PathBuf)>> {
        let step = |(name, path): (String, PathBuf)| Some((name.strip_prefix("step-")?.parse().ok()?, path));
        let mut steps: Vec<_> = self.entries()?.into_iter().filter_map(step).collect();
        steps.sort();
        Ok(steps)
    }

    /// The last state's directory and file, if there is one and it is this run's.
    fn latest(&self) -> Result<Option<(PathBuf, Written)>> {
        let Some((_, place)) = self.steps()?.pop() else { return Ok(None) };
        let path = place.join(STATE);
        let damaged = || damaged(&path, "not the seal of a state");
        let bytes = read_up_to(&path, MOST_STATE).map_err(|e| Error::of_checkpoint(&path, e))?;
        let written: Written = unseal(&bytes).map_err(|_| damaged())?;
        let hashes = if written.version == 1 { 0 } else { written.ciphertexts };
        let known = (1..=VERSION).contains(&written.version) && written.hashes.len() == hashes;
        if !known || written.ciphertexts > MOST_CIPHERTEXTS {
            return Err(damaged());
        }
        if written.identity != hex(self.identity) {
            return Err(Error::OtherRun { path: self.dir.path.display().to_string() });
        }
        Ok(Some((place, written)))
    }

    fn read(&self) -> Result<Option<State<D, S>>> {
        let Some((place, written)) = self.latest()? else { return Ok(None) };
        let ciphertext = |i: usize| {
            let path = place.join(format!("{i}.ct"));
            let read = || {
                let file = open_file(&path)?;
                if let Some(wanted) = written.hashes.get(i)
                    && *hash(&path, &file)?.to_hex() != **wanted
                {
                    return Err(damaged(&path, "not what its state was written with"));
                }
                S::read(file, self.dev, self.params).map_err(|e| Error::of_file(&path, e))
            };
            read().map_err(|e| Error::of_checkpoint(&path, e))
        };
        let damaged = || damaged(&place.join(STATE), "no numbers of a state");
        let number = |bits: &String| {
            let x = f64::from_bits(u64::from_str_radix(bits, 16).map_err(|_| damaged())?);
            // An unknown error is infinite, so that is a state; NaN is none.
            if x.is_nan() { Err(damaged()) } else { Ok(x) }
        };
        Ok(Some(State {
            step: written.step,
            ciphertexts: (0..written.ciphertexts).map(ciphertext).collect::<Result<_>>()?,
            numbers: written.numbers.iter().map(number).collect::<Result<_>>()?,
        }))
    }

    fn write(&self, state: &State<D, S>) -> Result<()> {
        let place = self.place(state.step);
        let temporary = self.hidden("new");
        if temporary.exists() {
            fs::remove_dir_all(&temporary).map_err(refused(&temporary, "removing"))?; // of a step that failed
        }
        fs::create_dir(&temporary).map_err(refused(&temporary, "creating"))?;
        let mut hashes = Vec::new();
        for (i, ciphertext) in state.ciphertexts.iter().enumerate() {
            let path = temporary.join(format!("{i}.ct"));
            put_ciphertext::<S, D>(&path, self.dev, self.params, ciphertext, &Origin::NONE)?;
            hashes.push(hash(&path, &open_file(&path)?)?.to_hex().to_string());
        }
        let written = Written {
            version: VERSION,
            identity: hex(self.identity),
            step: state.step,
            ciphertexts: state.ciphertexts.len(),
            hashes,
            numbers: state.numbers.iter().map(|x| format!("{:016x}", x.to_bits())).collect(),
        };
        let text = seal(&written).map_err(|e| Error::Report(e.to_string()))?;
        put_bytes(&temporary.join(STATE), &text)?;
        let before = self.steps()?;
        if place.exists() {
            self.remove(&place)?;
        }
        fs::rename(&temporary, &place).map_err(refused(&place, "writing"))?;
        settle(&self.dir.path)?;
        before.iter().filter(|(step, _)| *step != state.step).try_for_each(|(_, old)| self.remove(old))
    }

    fn stopped<T>(&mut self, result: Result<T>) -> limbwise::Result<T> {
        result.map_err(|failure| {
            self.failure = Some(failure);
            limbwise::Error::Stopped
        })
    }
}

impl<D: HostRead, S: Scheme> Journal<D, S> for Checkpoint<'_, D, S> {
    fn resume(&mut self) -> limbwise::Result<Option<State<D, S>>> {
        let state = self.read();
        let state = self.stopped(state)?;
        self.resumed = state.as_ref().map(|state| state.step);
        Ok(state)
    }

    fn keep(&mut self, state: &State<D, S>) -> limbwise::Result<()> {
        if self.resumed == Some(state.step) {
            return Ok(()); // it is there
        }
        let written = self.write(state);
        self.stopped(written)
    }
}

/// Puts a ciphertext into a file.
pub fn put_ciphertext<S: Scheme, D: HostRead>(
    path: &Path,
    dev: &D,
    params: &S::Params,
    ciphertext: &S::Ciphertext<D>,
    origin: &Origin,
) -> Result<()> {
    put(path, |file| {
        let out = S::write(BufWriter::new(file), dev, params, ciphertext, origin)?;
        out.into_inner().map_err(|e| refused(path, "writing")(e.into_error()))
    })
}

fn damaged(path: &Path, cause: &str) -> Error {
    Error::Checkpoint { path: path.display().to_string(), cause: cause.into() }
}

fn hex(Identity(bytes): Identity) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
