//! A resident evaluator on a Unix socket: program, keys and model stay in memory, calls name files.
//!
//! A call is one line of JSON each way. A connection is read in a thread of its own; calls are evaluated one after another.
//! The socket gets its name when the keys are there, so a process that finds it is answered.

use crate::{
    failure::{Mistake, is_fault},
    text::{table::line, units},
};
use limbwise_runtime::{
    error::Error,
    parts::{Answer, Asker, Files, Ready, Request},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs, io,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{
        fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

/// Longest call in bytes.
const MOST_CALL: u64 = 1 << 20;
/// Longest answer in bytes.
const MOST_ANSWER: u64 = 1 << 24;
/// Connections at one time; each has a thread.
const MOST_CONNECTIONS: usize = 64;
/// A connection that sends nothing for so long is closed.
const SILENCE: Duration = Duration::from_secs(60);

/// What goes back over the socket.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Said {
    /// The report of the evaluation.
    Report(Value),
    /// The caller's mistake.
    Refused(String),
    /// The system's failure.
    Failed(String),
}

impl Said {
    fn of(error: Error) -> Self {
        let error = anyhow::Error::from(error);
        let text = error.to_string();
        if is_fault(&error) { Self::Failed(text) } else { Self::Refused(text) }
    }
}

/// A call that waits, and where its answer goes.
type Call = (Files, SyncSender<Said>);

/// A socket before and after it has its name.
pub(super) struct Listening {
    path: PathBuf,
    /// The socket under its first name, until [`Asker::ready`].
    hidden: Option<(PathBuf, UnixListener)>,
    calls: Option<Receiver<Call>>,
    waiting: Option<SyncSender<Said>>,
    idle: Option<Duration>,
    failed: Option<io::Error>,
}

impl Listening {
    /// Makes a socket that only this user can open. It is not to be found yet.
    pub(super) fn new(path: &Path, idle: Option<Duration>) -> anyhow::Result<Self> {
        let shown = path.display();
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(Mistake(format!("{shown} exists and is no socket: choose another place")).into());
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                return Err(Mistake(format!("{shown}: another server answers there; choose another place")).into());
            }
            _ => {}
        }
        // In a directory of its own a socket can have its mode before anybody can open it.
        let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let folder = parent.join(format!(".s{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let make = || {
            fs::DirBuilder::new().mode(0o700).create(&folder)?;
            let place = folder.join("s");
            let listener = UnixListener::bind(&place)?;
            fs::set_permissions(&place, fs::Permissions::from_mode(0o600))?;
            Ok((place, listener))
        };
        let hidden = make().map_err(|e: io::Error| {
            let _ = fs::remove_dir_all(&folder);
            io::Error::new(e.kind(), format!("{shown}: making a socket: {e} (its path has at most 100 bytes)"))
        })?;
        Ok(Self { path: path.into(), hidden: Some(hidden), calls: None, waiting: None, idle, failed: None })
    }

    /// Why it ended early, if it did.
    pub(super) fn ended(mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        match &self.hidden {
            Some((place, _)) => drop(place.parent().map(fs::remove_dir_all)),
            None => drop(fs::remove_file(&self.path)),
        }
    }
}

impl Asker for Listening {
    fn ready(&mut self, ready: Ready) {
        let Some((place, listener)) = self.hidden.take() else { return };
        if let Err(e) = fs::rename(&place, &self.path) {
            self.failed = Some(e);
        }
        let _ = place.parent().map(fs::remove_dir);
        let (to, calls) = sync_channel(MOST_CONNECTIONS);
        self.calls = Some(calls);
        thread::spawn(move || accept(&listener, &to));
        crate::progress::note(&format!(
            "answering on {} with {} in memory, by plan",
            self.path.display(),
            units::bytes(ready.memory_bytes)
        ));
    }

    fn next(&mut self) -> Option<Request> {
        let calls = self.calls.as_ref().filter(|_| self.failed.is_none())?;
        let call = match self.idle {
            None => calls.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(idle) => calls.recv_timeout(idle),
        };
        let (files, waiting) = call.ok()?;
        self.waiting = Some(waiting);
        Some(Request::Files(files))
    }

    fn answer(&mut self, done: limbwise_runtime::Result<Answer>) {
        let said = match done {
            Ok(Answer::Report(report)) => {
                serde_json::to_value(report).map_or_else(|e| Said::Failed(e.to_string()), Said::Report)
            }
            Ok(Answer::Part(_)) => Said::Failed("a part was answered, a report was asked for".into()),
            Err(error) => Said::of(error),
        };
        // Whoever asked may be gone; the result lies in its file.
        let _ = self.waiting.take().map(|to| to.send(said));
    }
}

/// Takes connections until the process ends.
fn accept(listener: &UnixListener, to: &SyncSender<Call>) {
    let open = Arc::new(AtomicUsize::new(0));
    for connection in listener.incoming() {
        let Ok(mut connection) = connection else { continue };
        if open.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Ordering::AcqRel);
            let text = format!("{MOST_CONNECTIONS} calls are waiting: call again later");
            let _ = tell(&mut connection, &Said::Failed(text));
            continue;
        }
        let (open, to) = (open.clone(), to.clone());
        thread::spawn(move || {
            let _ = converse(connection, &to);
            open.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

/// Answers the calls of one connection.
fn converse(mut connection: UnixStream, to: &SyncSender<Call>) -> io::Result<()> {
    connection.set_read_timeout(Some(SILENCE))?;
    connection.set_write_timeout(Some(SILENCE))?;
    let mut lines = BufReader::new(connection.try_clone()?);
    loop {
        let mut text = String::new();
        let read = lines.by_ref().take(MOST_CALL).read_line(&mut text)?;
        if read == 0 {
            return Ok(());
        }
        if !text.ends_with('\n') {
            return tell(
                &mut connection,
                &Said::Refused(format!("a call of {read} bytes without an end: at most {MOST_CALL}")),
            );
        }
        let said = match serde_json::from_str(&text) {
            Err(e) => {
                Said::Refused(format!("not a call of limbwise eval --socket: {e}; both sides must be of one version"))
            }
            Ok(files) => {
                let (answer, answered) = sync_channel(1);
                let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
                to.send((files, answer)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
                answered.recv().map_err(gone)?
            }
        };
        tell(&mut connection, &said)?;
    }
}

fn tell(connection: &mut UnixStream, said: &Said) -> io::Result<()> {
    let mut text = serde_json::to_vec(said)?;
    text.push(b'\n');
    connection.write_all(&text)
}

/// Asks the evaluator of a socket; returns the report of the evaluation.
pub(super) fn ask(socket: &Path, files: &Files) -> anyhow::Result<Value> {
    let shown = socket.display();
    let start = "start it with limbwise serve DIR --socket PATH";
    let mut connection =
        UnixStream::connect(socket).map_err(|e| Mistake(format!("{shown}: no server answers there ({e}): {start}")))?;
    let mut text = serde_json::to_vec(files)?;
    text.push(b'\n');
    let mut answer = String::new();
    let asked =
        connection.write_all(&text).and_then(|()| BufReader::new(&connection).take(MOST_ANSWER).read_line(&mut answer));
    if !answer.ends_with('\n') {
        let why = asked.err().map_or_else(|| "it ended".into(), |e| e.to_string());
        let text =
            format!("{shown}: the server was gone before its answer ({why}); {start}, and call again with --force");
        return Err(io::Error::new(io::ErrorKind::ConnectionAborted, text).into());
    }
    match serde_json::from_str(&answer) {
        Ok(Said::Report(report)) => Ok(report),
        Ok(Said::Refused(text)) => Err(Mistake(text).into()),
        Ok(Said::Failed(text)) => Err(io::Error::other(text).into()),
        Err(e) => Err(io::Error::other(format!("{shown}: no answer of limbwise: {e}")).into()),
    }
}

/// The steps of the evaluation, with their seconds.
pub(super) fn steps(report: &Value) -> impl Iterator<Item = (&str, f64)> {
    let steps = report["steps"].as_array().into_iter().flatten();
    steps.filter_map(|step| Some((step["name"].as_str()?, step["seconds"].as_f64()?)))
}

/// The report as text.
pub(super) fn render(report: &Value) -> String {
    let mut text = String::from("evaluated\n");
    if let Some(seconds) = report["seconds"].as_f64() {
        text += &line("seconds", &units::seconds(seconds));
    }
    for path in report["results"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text += &line("result", path);
    }
    text
}
