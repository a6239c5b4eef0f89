//! The server with its real engine: what a client with only Python's standard library gets from it, through kills.

use crate::common::{Folder, TINY_BOOT, repository};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// A server, killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Kept open: the server writes its log to it.
    _log: std::thread::JoinHandle<()>,
}

impl Server {
    pub(crate) fn start(folder: &Folder, bind: &str, options: &[&str]) -> Self {
        Self::of(folder.command(&[&["serve", "state", "--bind", bind][..], options].concat()))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let listening = lines.find_map(|line| Some(line.split_once("listening on http://")?.1.to_owned()));
        let address = listening.expect("the server starts").parse().unwrap();
        Self { child, address, _log: std::thread::spawn(move || lines.for_each(drop)) }
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) -> SocketAddr {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn client(folder: &Folder, address: SocketAddr, keys: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg("-P").arg(repository("python/limbwise/client.py")).arg(format!("http://{address}"));
    let inputs = folder.path().join("in/input-000.ct");
    command.args(["--program", "theirs/program.json", "--keys", keys, "--out", "out"]).arg(inputs);
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn verb(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.run(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Keys and an input of a small bootstrapping, which keeps a state after each of its steps.
fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("boot.toml", TINY_BOOT);
    let plan = ["--strategy", "bsgs", "--plaintexts", "full", "--keys", "seeded", "--halves", "once"];
    let sides = ["--client", "mine", "--server", "theirs"];
    verb(&folder, &[&["keygen", "bootstrap", "--preset", "boot.toml"], &plan[..], &sides].concat());
    verb(&folder, &["encrypt", "--client", "mine", "--out", "in"]);
    folder
}

/// Waits for a file below a folder that is as wanted; false if the time for it is over.
fn appears(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> bool {
    fn any(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> bool {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| wanted(&path) || any(&path, wanted))
    }
    let start = Instant::now();
    while !any(folder, wanted) {
        if start.elapsed() > Duration::from_secs(60) {
            return false;
        }
        sleep(Duration::from_millis(1));
    }
    true
}

#[test]
#[cfg(unix)]
fn a_client_gets_its_results_through_kills() {
    let folder = prepared("serve");
    verb(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "whole"]);
    let options = ["--chunk", "200kB"];
    let server = Server::start(&folder, "127.0.0.1:0", &options);
    let state = folder.path().join("state");
    let asking = client(&folder, server.address, "theirs/evaluation.keys").spawn().unwrap();
    let large = |path: &Path| path.ends_with("data") && fs::metadata(path).is_ok_and(|data| data.len() > 400_000);
    assert!(appears(&state.join("uploads"), &large), "keys are on their way");
    let address = server.kill().to_string();
    let server = Server::start(&folder, &address, &options);
    assert!(appears(&state.join("jobs"), &|path| path.ends_with("step-000001")), "a state is kept");
    server.kill();
    let server = Server::start(&folder, &address, &options);
    let done = asking.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let result = |out: &str| fs::read(folder.path().join(out).join("result-000.ct")).unwrap();
    assert!(result("out") == result("whole"), "a server's result is that of eval, byte for byte");
    let found = verb(&folder, &["decrypt", "--client", "mine", "--in", "out", "--out", "y.npy", "--compare"]);
    assert!(found["compared"]["precision_bits"]["mean"].as_f64().unwrap() > 8.0, "{found}");
    // The secret key stays at home, whoever tries.
    let secret = client(&folder, server.address, "mine/secret.key").output().unwrap();
    let text = String::from_utf8(secret.stderr).unwrap();
    assert!(!secret.status.success() && text.contains("a secret key must not leave its client"), "{text}");
    assert!(!appears_now(&state, &fs::read(folder.path().join("mine/secret.key")).unwrap()));
}

/// Whether some file has these bytes.
fn appears_now(folder: &Path, bytes: &[u8]) -> bool {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .into_iter()
        .any(|path| if path.is_dir() { appears_now(&path, bytes) } else { fs::read(path).unwrap() == bytes })
}

#[test]
fn what_does_not_fit_is_refused_before_it_runs() {
    let folder = prepared("serve-refused");
    let server = Server::start(&folder, "127.0.0.1:0", &["--memory", "1MB"]);
    let asked = client(&folder, server.address, "theirs/evaluation.keys").output().unwrap();
    let text = String::from_utf8(asked.stderr).unwrap();
    assert!(
        text.contains("by its sizes alone the job needs more memory") && text.contains("at most 1000000 bytes"),
        "{text}"
    );
    server.kill();
    // Files that do not go together, in the words of eval, and without paths of the server.
    let server = Server::start(&folder, "127.0.0.1:0", &[]);
    let asked = client(&folder, server.address, "theirs/public.key").output().unwrap();
    let text = String::from_utf8(asked.stderr).unwrap();
    assert!(text.contains("the keys: ") && !text.contains("state/files"), "{text}");
}

#[test]
fn mistakes_are_told_before_the_server_starts() {
    let folder = Folder::new("serve-mistakes");
    let refused = |options: &[&str], wanted: &str| {
        let output = folder.run(&[&["serve", "state"][..], options].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {text}");
        assert!(text.contains(wanted), "{options:?}: {text}");
        assert!(!folder.path().join("state").exists(), "nothing is made");
    };
    refused(&["--bind", "0.0.0.0:0"], "others can reach this address and no token is set");
    refused(&["--token-file", "absent"], "cannot read the token");
    refused(&["--jobs", "0"], "0 is not in 1..=64");
    refused(&["--memory", "3"], "wanted a size with its unit");
    folder.write("file", "");
    let output = folder.run(&["serve", "."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("has no server's state"));
}
