//! The journal of a sweep: a line that says of what, then a row a line, appended as they come.
//!
//! A row is written by one call and counts when its line is complete. Whatever moment the process is killed in, the next
//! one with the same sweep finds all rows but those under way, and the end is the same set of rows. A journal belongs to a
//! program and its machines, not to a grid: a grid with more values goes on from it.

use super::row::Row;
use crate::error::{Error, Result};
use limbwise_machines::Spec;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions, TryLockError},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

/// What rows depend on besides their fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The workload and its options, as they were given.
    pub program: Vec<String>,
    /// Fields that are varied, sorted.
    pub fields: Vec<String>,
    /// A digest of all numbers of each machine.
    pub machines: BTreeMap<String, String>,
    pub limbwise: String,
}

impl Identity {
    /// Of a sweep over these fields.
    pub fn new(program: &[String], mut fields: Vec<String>, machines: &[(String, Spec)]) -> Self {
        fields.sort();
        let digest = |spec: &Spec| {
            let numbers: Vec<String> = spec.fields().iter().map(|f| format!("{}={}", f.path, f.value)).collect();
            blake3::hash(numbers.join("\n").as_bytes()).to_hex()[..16].to_owned()
        };
        Self {
            program: program.to_vec(),
            fields,
            machines: machines.iter().map(|(name, spec)| (name.clone(), digest(spec))).collect(),
            limbwise: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// What differs from another, in a word.
    fn difference(&self, other: &Self) -> &'static str {
        match other {
            _ if self.program != other.program => "the workload and its options",
            _ if self.fields != other.fields => "the fields that are varied",
            _ if self.machines != other.machines => "the machines",
            _ => "the version of limbwise",
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    #[serde(flatten)]
    identity: Identity,
}

const FORMAT: &str = "limbwise-sweep";
const VERSION: u32 = 1;
/// Longest line that is read.
const MOST_LINE: u64 = 1 << 20;

/// An open journal, which no other process writes to.
#[derive(Debug)]
pub struct Journal {
    path: String,
    file: File,
}

impl Journal {
    /// Opens the journal of a sweep, or begins it; and the rows that it has. An incomplete last line is cut off.
    ///
    /// # Errors
    /// A file that cannot be opened or is written to by another process; a file that is no journal, or that of another
    /// sweep; a complete line that is no row.
    ///
    /// # Panics
    /// Never: a header can be written as JSON.
    pub fn open(path: &Path, identity: &Identity) -> Result<(Self, Vec<Row>)> {
        let name = path.display().to_string();
        let io = |doing| {
            let path = name.clone();
            move |source| Error::Io { path, doing, source }
        };
        let wrong = |problem: String| Error::Journal { path: name.clone(), problem };
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = open.map_err(io("cannot open the journal"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(wrong("another sweep is writing to it: wait for it, or give another --out".into()));
            }
            Err(TryLockError::Error(source)) => return Err(io("cannot lock the journal")(source)),
        }
        let header = Header { format: FORMAT.into(), version: VERSION, identity: identity.clone() };
        let header = serde_json::to_string(&header).expect("a header has names and texts only") + "\n";
        let (rows, good) = read(&file, identity, &header).map_err(|e| match e {
            Unreadable::Io(source) => io("cannot read the journal")(source),
            Unreadable::Wrong(problem) => wrong(problem),
        })?;
        let mut journal = Self { path: name.clone(), file };
        journal.file.set_len(good).map_err(io("cannot cut the journal"))?;
        journal.file.seek(SeekFrom::Start(good)).map_err(io("cannot read the journal"))?;
        if good == 0 {
            journal.append(&header)?;
        }
        Ok((journal, rows))
    }

    /// Adds a row.
    ///
    /// # Panics
    /// Never: a row can be written as JSON.
    pub fn add(&mut self, row: &Row) -> Result<()> {
        let line = serde_json::to_string(row).expect("a row has texts and numbers only");
        self.append(&(line + "\n"))
    }

    fn append(&mut self, line: &str) -> Result<()> {
        let wrong = |source| Error::Io { path: self.path.clone(), doing: "cannot write to the journal", source };
        self.file.write_all(line.as_bytes()).map_err(wrong)
    }
}

enum Unreadable {
    Io(std::io::Error),
    Wrong(String),
}

/// The rows of a journal, and how many of its bytes are complete lines.
fn read(file: &File, identity: &Identity, own_header: &str) -> Result<(Vec<Row>, u64), Unreadable> {
    let (mut rows, mut good) = (Vec::new(), 0);
    let mut reader = BufReader::new(file);
    for number in 1usize.. {
        let mut line = Vec::new();
        let read = (&mut reader).take(MOST_LINE).read_until(b'\n', &mut line).map_err(Unreadable::Io)?;
        let complete = line.last() == Some(&b'\n');
        if read as u64 == MOST_LINE && !complete {
            return Err(Unreadable::Wrong(format!(
                "line {number} is longer than {MOST_LINE} bytes: no journal of a sweep"
            )));
        }
        if number == 1 {
            // A process that was killed in its first write left a part of its own header.
            if complete || !own_header.as_bytes().starts_with(&line) {
                check_header(&line, identity)?;
            }
        } else if complete {
            let row = serde_json::from_slice(&line);
            rows.push(row.map_err(|e| Unreadable::Wrong(format!("line {number} is no row of a sweep: {e}")))?);
        }
        if !complete {
            return Ok((rows, good));
        }
        good += read as u64;
    }
    Ok((rows, good))
}

fn check_header(line: &[u8], identity: &Identity) -> Result<(), Unreadable> {
    let none = "is not the journal of a sweep (its first line is another): give another --out";
    let header: Header = serde_json::from_slice(line).map_err(|_| Unreadable::Wrong(none.into()))?;
    if header.format != FORMAT || header.version != VERSION {
        let text = format!("is a journal of version {}, wanted {VERSION}: give another --out", header.version);
        return Err(Unreadable::Wrong(text));
    }
    if header.identity != *identity {
        let what = identity.difference(&header.identity);
        return Err(Unreadable::Wrong(format!("is the journal of another sweep ({what} differ): give another --out")));
    }
    Ok(())
}
