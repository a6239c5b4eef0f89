//! Campaigns in this process: inputs by number, what readers say of them, a journal that the next campaign goes on from.
//!
//! Input `i` of a target is the same whenever the pool is the same: its stored inputs, and those below `i` that were kept
//! because an error had a new text. Kept ones lie in the campaign's folder, beside what was found. Before an input runs, its
//! number is written to `current`: an input that ends the process is told by the next campaign.

use crate::{
    forge::Dice,
    mutate::Pool,
    targets::{Answer, Target},
};
use peak_alloc::PeakAlloc;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Mutex,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

/// Longer than this no input takes: it is milliseconds.
pub const MOST_TIME: Duration = Duration::from_secs(30);
/// Most memory that an input of 64 KiB takes beside what was there: parameters of the largest ring have tables of this size.
pub const MOST_BYTES: usize = 256 << 20;
/// Most inputs of a target that are kept.
const MOST_KEPT: usize = 200;
/// Letters of an error's text that are compared.
const LETTERS: usize = 80;

/// What one input did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Taken,
    /// The error's text without what differs from input to input.
    Refused(String),
    /// A panic, a hang, too much memory: what was found.
    Found(String),
}

/// How much a campaign does of a target: what ends first.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub inputs: u64,
    pub time: Duration,
}

/// A line of the journal: one stretch of a target's inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    pub target: String,
    /// Numbers of the first input and after the last.
    pub from: u64,
    pub to: u64,
    pub seconds: f64,
    pub taken: u64,
    pub refused: u64,
    /// Texts of errors that were not seen before.
    pub kept: usize,
    pub slowest_ms: f64,
    pub most_bytes: usize,
    /// What was found, with the input's number.
    pub found: Vec<String>,
}

/// The last panic: its thread and its text, which the hook leaves here.
static SAID: Mutex<Option<(ThreadId, String)>> = Mutex::new(None);

/// Panics are told by their text, not printed: a campaign prints what it finds.
pub fn listen_to_panics() {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut said) = SAID.lock() {
            *said = Some((thread::current().id(), info.to_string().replace('\n', " ")));
        }
    }));
}

/// Runs one input. `memory` is the allocator of the process.
pub fn run(target: &Target, input: &[u8], memory: &PeakAlloc) -> (Outcome, Duration, usize) {
    memory.reset_peak_usage();
    let before = memory.current_usage();
    said();
    let start = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let (time, bytes) = (start.elapsed(), memory.peak_usage().saturating_sub(before));
    let outcome = match answer {
        Err(_) => Outcome::Found(said().map_or_else(|| "a panic".into(), |(_, text)| text)),
        Ok(_) if time > MOST_TIME => Outcome::Found(format!("takes {time:?}")),
        Ok(_) if bytes > MOST_BYTES => Outcome::Found(format!("takes {bytes} bytes for {} of input", input.len())),
        Ok(answer) => match (answer, said()) {
            // A reader may turn a panic of another library into an error, on its own thread.
            (_, Some((thread, text))) if thread != thread::current().id() => {
                Outcome::Found(format!("on another thread: {text}"))
            }
            (Answer::Ok(()), _) => Outcome::Taken,
            (Answer::Err(text), _) => Outcome::Refused(shape(&text)),
        },
    };
    (outcome, time, bytes)
}

fn said() -> Option<(ThreadId, String)> {
    SAID.lock().ok()?.take()
}

/// A text without its numbers, without what it quotes, and without letters that no error of a program has.
fn shape(text: &str) -> String {
    let mut quoted = false;
    let mut shape = String::new();
    for letter in text.chars().take(4 * LETTERS) {
        quoted ^= matches!(letter, '"' | '`' | '\'');
        match letter {
            _ if quoted || !(letter.is_ascii_alphanumeric() || letter == ' ') => {}
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            other => shape.push(other),
        }
    }
    shape.truncate(LETTERS);
    shape
}

/// The folder of a campaign: its journal, kept inputs, found ones.
pub struct Campaign {
    folder: PathBuf,
    journal: File,
    past: Vec<Stretch>,
}

impl Campaign {
    /// Opens a folder, or begins one. An incomplete last line of its journal is cut off.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder.join("found"))?;
        let path = folder.join("journal.jsonl");
        let mut journal = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        let text = fs::read_to_string(&path)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        journal.set_len(whole as u64)?;
        journal.seek(SeekFrom::End(0))?;
        let past = text[..whole].lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { folder: folder.to_owned(), journal, past })
    }

    /// All stretches so far.
    #[must_use]
    pub fn past(&self) -> &[Stretch] {
        &self.past
    }

    /// A target's next inputs. What is found is written to the folder and does not end the stretch.
    pub fn run(&mut self, target: &Target, budget: Budget, memory: &PeakAlloc) -> io::Result<Stretch> {
        let kept = self.folder.join("kept").join(target.name);
        fs::create_dir_all(&kept)?;
        let mut pool = Pool::new(target.form, target.stored()?);
        let mut seen = BTreeSet::new();
        for input in kept_before(&kept)? {
            let bytes = fs::read(input)?;
            let (Outcome::Refused(text), ..) = run(target, &bytes, memory) else { continue };
            if seen.insert(text) {
                pool.add(bytes);
            }
        }
        let last = self.past.iter().filter(|s| s.target == target.name).map(|s| s.to).max().unwrap_or(0);
        let mut current = File::create(self.folder.join("current"))?;
        let (start, before) = (Instant::now(), seen.len());
        let mut stretch = Stretch { target: target.name.into(), from: last, to: last, ..Stretch::default() };
        while stretch.to - last < budget.inputs && start.elapsed() < budget.time {
            let number = stretch.to;
            let input = pool.input(&mut Dice::new(number));
            current.seek(SeekFrom::Start(0))?;
            writeln!(current, "{number:020} {}", target.name)?;
            let (outcome, time, bytes) = run(target, &input, memory);
            stretch.to += 1;
            stretch.slowest_ms = stretch.slowest_ms.max(time.as_secs_f64() * 1e3);
            stretch.most_bytes = stretch.most_bytes.max(bytes);
            match outcome {
                Outcome::Taken => stretch.taken += 1,
                Outcome::Refused(text) => {
                    stretch.refused += 1;
                    if seen.len() < MOST_KEPT && !seen.contains(&text) {
                        seen.insert(text);
                        fs::write(kept.join(format!("{number:020}")), &input)?;
                        pool.add(input);
                    }
                }
                Outcome::Found(text) => {
                    fs::write(self.folder.join("found").join(format!("{}-{number}", target.name)), &input)?;
                    stretch.found.push(format!("input {number}: {text}"));
                }
            }
        }
        fs::remove_file(self.folder.join("current"))?;
        stretch.seconds = start.elapsed().as_secs_f64();
        stretch.kept = seen.len() - before;
        self.journal.write_all((serde_json::to_string(&stretch)? + "\n").as_bytes())?;
        self.past.push(stretch.clone());
        Ok(stretch)
    }

    /// An input that ended the process of an earlier campaign, written to `found` as it was; its number and target.
    pub fn ended_by(&mut self) -> io::Result<Option<String>> {
        let path = self.folder.join("current");
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        fs::remove_file(&path)?;
        let mut words = text.split_whitespace();
        let (Some(number), Some(target)) =
            (words.next().and_then(|n| n.parse().ok()), words.next().and_then(Target::of))
        else {
            return Ok(None);
        };
        // The pool as it was then: kept inputs with smaller numbers.
        let mut pool = Pool::new(target.form, target.stored()?);
        for input in kept_before(&self.folder.join("kept").join(target.name))? {
            let before = input.file_name().and_then(|n| n.to_str()).and_then(|n| n.parse::<u64>().ok());
            if before.is_some_and(|before| before < number) {
                pool.add(fs::read(input)?);
            }
        }
        fs::write(
            self.folder.join("found").join(format!("{}-{number}", target.name)),
            pool.input(&mut Dice::new(number)),
        )?;
        let found = format!("input {number}: ended the process");
        let stretch = Stretch { target: target.name.into(), from: number, to: number + 1, ..Stretch::default() };
        let stretch = Stretch { found: vec![found.clone()], ..stretch };
        self.journal.write_all((serde_json::to_string(&stretch)? + "\n").as_bytes())?;
        self.past.push(stretch);
        Ok(Some(format!("{}: {found}", target.name)))
    }
}

/// Kept inputs in their order.
fn kept_before(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(e),
    };
    files.sort();
    Ok(files)
}
