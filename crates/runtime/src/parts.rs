//! A batch in parts: evaluation of one part after another with keys that are read once, and sums of their results.
//!
//! Sums are a tree whose shape is that of the list: neighbors are added, and one that is left over goes up as it is. So
//! whoever adds a run of 2ⁿ neighbors first, wherever that is, gets the same bits, and a client's recording the same
//! estimate.

use crate::{
    any_device::AnyDevice,
    error::{Error, Result},
    eval::EvalReport,
    journal::put_ciphertext,
    origin::{belonging, name_of},
    places::{Existing, Vacant, ciphertexts, targets},
    scheme::Piped,
    server::Server,
};
use limbwise::{
    scheme::Scheme,
    wire::{self, Fingerprint, Origin},
};
use limbwise_apps::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a resident evaluation is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Request {
    /// The results of a part.
    Evaluate(Part),
    /// The sums of results.
    Sum(Sum),
    /// The results of one evaluation, by the names of its files.
    Files(Files),
}

/// Encrypted inputs by their files, and where the results go: what [`Job`](crate::Job) says of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// A directory, or files in the program's order.
    pub inputs: Vec<PathBuf>,
    pub results: PathBuf,
    /// Whether results that exist are replaced.
    pub replace: bool,
    pub checkpoint: Option<PathBuf>,
}

/// A part of a batch: its encrypted inputs, and where its results go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The directory of the inputs.
    pub inputs: PathBuf,
    pub results: PathBuf,
    /// Directory of its checkpoint, if there is to be one.
    pub checkpoint: Option<PathBuf>,
}

/// Results of several parts, or sums of some, to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// The directories of the results, in the order of the parts.
    pub of: Vec<PathBuf>,
    pub results: PathBuf,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartDone {
    /// Time of the evaluation itself.
    pub seconds: f64,
    /// The checkpointed step after which the evaluation resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_after: Option<usize>,
    pub results: Vec<PathBuf>,
}

/// The answer to a request that was carried out.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Part(PartDone),
    /// The report that `limbwise eval` would give.
    Report(Box<EvalReport>),
}

/// What a resident evaluation says of itself when its keys are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// Results of a part.
    pub results: usize,
    /// How many of them, from the first on, are sums.
    pub summed: usize,
    /// Most memory of the process, by plan.
    pub memory_bytes: u64,
}

/// Who asks a resident evaluation, and hears its answers.
pub trait Asker {
    /// Said before the first request.
    fn ready(&mut self, ready: Ready);

    /// The next request; none to end.
    fn next(&mut self) -> Option<Request>;

    /// The answer to the last request. An error of one request leaves the others alone.
    fn answer(&mut self, done: Result<Answer>);
}

/// Most results that are added in one request.
const MOST_SUMMED: usize = 1 << 12;

/// The names of a pair as one.
fn paired(left: Fingerprint, right: Fingerprint) -> Fingerprint {
    name_of(&[left.0, right.0])
}

/// The name of the inputs that a sum belongs to, from those of its parts.
pub fn name_of_sum(names: &[Fingerprint]) -> Result<Fingerprint> {
    tree(names.to_vec(), |left, right| Ok(paired(left, right)))
}

/// Joins neighbors until one is left.
///
/// # Errors
/// Those of `join`; an empty list.
pub(crate) fn tree<T>(mut level: Vec<T>, mut join: impl FnMut(T, T) -> Result<T>) -> Result<T> {
    while level.len() > 1 {
        let mut next = Vec::with_capacity(level.len().div_ceil(2));
        let mut all = level.into_iter();
        while let Some(left) = all.next() {
            next.push(match all.next() {
                None => left,
                Some(right) => join(left, right)?,
            });
        }
        level = next;
    }
    level.pop().ok_or_else(|| Error::Refused("a sum of no parts: name the directories of their results".into()))
}

/// Said of a program without sums.
pub(crate) fn no_sums(name: &str) -> Error {
    Error::Refused(format!("{name}: its results are not sums over rows, so those of parts stay apart").into())
}

/// Adds results of parts. Each file is compared with what it should belong to before it is added.
pub(crate) fn sum_files<P: Program<Scheme: Piped>>(
    server: &Server<'_, AnyDevice, P>,
    program: &P,
    keys: Origin,
    asked: &Sum,
) -> Result<Vec<PathBuf>> {
    if program.summed() == 0 {
        return Err(no_sums(program.name()));
    }
    if asked.of.len() > MOST_SUMMED {
        return Err(Error::Count { count: asked.of.len(), wanted: MOST_SUMMED, names: "parts at most".into() });
    }
    let (dev, params) = (server.device(), program.params());
    let listed = asked.of.iter().map(|dir| ciphertexts(dir)).collect::<Result<Vec<_>>>()?;
    let mut sums = Vec::new();
    for number in 0..program.summed() {
        let read = |(dir, files): (&PathBuf, &Vec<PathBuf>)| {
            let path = files.get(number).ok_or_else(|| Error::Empty { path: dir.display().to_string() })?;
            let file = belonging(path, &if keys == Origin::NONE { keys } else { keys.numbered(number) })?;
            let inputs = wire::origin(&file).map_err(|e| Error::of_file(path, e.into()))?.inputs;
            if inputs == Fingerprint::NONE && keys != Origin::NONE {
                let cause = "says no inputs that it is a result of: give the directories of results".into();
                return Err(Error::Damaged { path: path.display().to_string(), cause });
            }
            let read = P::Scheme::read(file, dev, params);
            Ok((inputs, read.map_err(|e| Error::of_file(path, e))?))
        };
        let leaves = asked.of.iter().zip(&listed).map(read).collect::<Result<Vec<_>>>()?;
        sums.push(tree(leaves, |(left, a), (right, b)| {
            let sum = server.sum([&a, &b]).ok_or_else(|| no_sums(program.name()))?;
            Ok((paired(left, right), sum?))
        })?);
    }
    let _place = Vacant::before(&asked.results);
    let places = targets(&asked.results, "result", sums.len(), Existing::Replaced)?;
    for (number, (path, (inputs, sum))) in places.iter().zip(&sums).enumerate() {
        let origin = Origin { inputs: *inputs, ..keys };
        put_ciphertext::<P::Scheme, _>(path, dev, params, sum, &origin.numbered(number))?;
    }
    Ok(places)
}

/// The parts of a batch, as directories of one directory, in the order of their names.
pub fn part_dirs(dir: &Path) -> Result<Vec<PathBuf>> {
    let reading = |source| Error::Io { path: dir.display().to_string(), doing: "reading", source };
    let mut dirs = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(reading)? {
        let path = entry.map_err(reading)?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !hidden {
            dirs.push(path);
        }
    }
    dirs.sort();
    if dirs.is_empty() { Err(Error::Empty { path: dir.display().to_string() }) } else { Ok(dirs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_power_of_two_may_be_joined_first() {
        let names: Vec<Fingerprint> = (0..23).map(|i| Fingerprint([i; 32])).collect();
        let whole = name_of_sum(&names).unwrap();
        for run in [1, 2, 4, 8, 16, 32] {
            let first: Vec<Fingerprint> = names.chunks(run).map(|run| name_of_sum(run).unwrap()).collect();
            assert_eq!(name_of_sum(&first).unwrap(), whole, "{run}");
        }
        let other: Vec<Fingerprint> = names.chunks(3).map(|run| name_of_sum(run).unwrap()).collect();
        assert_ne!(name_of_sum(&other).unwrap(), whole);
        assert!(name_of_sum(&[]).is_err());
    }
}
