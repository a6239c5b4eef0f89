//! The server with its real engine: what a client with only Python's standard library gets from it, through kills.

use crate::common::{Folder, TINY, TINY_BOOT, repository};
use limbwise_server::id::FileId;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
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

/// Where a job keeps its state, if there is one.
fn kept(jobs: &Path) -> Option<PathBuf> {
    let jobs = fs::read_dir(jobs).ok()?.flatten().map(|job| job.path().join("work"));
    let states = jobs.filter_map(|work| fs::read_dir(work).ok()).flatten().flatten().map(|state| state.path());
    states.filter(|state| state.file_name().is_some_and(|name| name.to_string_lossy().starts_with("step-"))).max()
}

/// What a disk makes of a state while the server is away costs the client time, and nothing else.
#[test]
#[cfg(unix)]
fn a_damaged_checkpoint_is_a_job_begun_anew() {
    type Damage = fn(&Path);
    let folder = prepared("serve-damaged");
    verb(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "whole"]);
    let damages: [(&str, Damage); 3] = [
        ("0.ct", |path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("state.json", |path| fs::write(path, "{").unwrap()),
        ("state.json", |path| fs::remove_file(path).unwrap()),
    ];
    for (file, damage) in damages {
        let _ = (fs::remove_dir_all(folder.path().join("state")), fs::remove_dir_all(folder.path().join("out")));
        let server = Server::start(&folder, "127.0.0.1:0", &[]);
        let asking = client(&folder, server.address, "theirs/evaluation.keys").spawn().unwrap();
        let jobs = folder.path().join("state/jobs");
        assert!(appears(&jobs, &|path| path.ends_with("step-000001")), "a state is kept");
        let address = server.kill().to_string();
        let state = kept(&jobs).expect("a state was kept when the server was killed");
        damage(&state.join(file));
        let _server = Server::start(&folder, &address, &[]);
        let done = asking.wait_with_output().unwrap();
        assert!(done.status.success(), "{file}: {}", String::from_utf8_lossy(&done.stderr));
        let result = |out: &str| fs::read(folder.path().join(out).join("result-000.ct")).unwrap();
        assert!(result("out") == result("whole"), "{file}: the same result, byte for byte");
    }
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
    // The secret key stays at home, whoever tries: the client sends nothing of it, and the server keeps nothing.
    let secret = client(&folder, server.address, "mine/secret.key").output().unwrap();
    let text = String::from_utf8(secret.stderr).unwrap();
    assert!(!secret.status.success() && text.contains("nothing of it was sent"), "{text}");
    let key = fs::read(folder.path().join("mine/secret.key")).unwrap();
    let name = FileId::of(&key);
    let announced = format!("{{\"bytes\": {}, \"sha256\": \"{name}\"}}", key.len());
    let upload = exchanged(server.address, "POST /v1/uploads", "application/json", announced.as_bytes());
    let upload: Value = serde_json::from_str(upload.rsplit("\r\n\r\n").next().unwrap()).unwrap();
    let put = format!("PUT /v1/uploads/{}/chunk?offset=0&sha256={name}", upload["id"].as_str().unwrap());
    let text = exchanged(server.address, &put, "application/octet-stream", &key);
    assert!(text.contains("a secret key must not leave its client"), "{text}");
    assert!(!appears_now(&state, &key));
}

/// The answer to a request.
fn exchanged(address: SocketAddr, line: &str, kind: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n");
    write!(stream, "{head}Content-Length: {}\r\n\r\n", body.len()).unwrap();
    stream.write_all(body).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Whether some file has these bytes.
fn appears_now(folder: &Path, bytes: &[u8]) -> bool {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .into_iter()
        .any(|path| if path.is_dir() { appears_now(&path, bytes) } else { fs::read(path).unwrap() == bytes })
}

/// A count of the server.
fn count(address: SocketAddr, name: &str) -> u64 {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
}

/// Keys of two small layers, with inputs and what `eval` makes of each.
fn two_layers(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("tiny.toml", TINY);
    for (layer, rows) in [("a", "4"), ("b", "8")] {
        let [mine, theirs] = ["mine", "theirs"].map(|side| format!("{layer}/{side}"));
        let linear = ["keygen", "linear", "--op", "matvec", "--rows", rows, "--cols", "4", "--preset", "tiny.toml"];
        verb(&folder, &[&linear[..], &["--client", &mine, "--server", &theirs]].concat());
        for input in ["0", "1", "2"] {
            let [dir, out] = ["in", "whole"].map(|what| format!("{layer}/{what}-{input}"));
            verb(&folder, &["encrypt", "--client", &mine, "--out", &dir]);
            verb(&folder, &["eval", "--server", &theirs, "--in", &dir, "--out", &out]);
        }
    }
    folder
}

/// Has an input of a layer evaluated, and compares with what `eval` made of it.
fn layer_served(folder: &Folder, address: SocketAddr, layer: &str, input: &str) -> Result<(), String> {
    let of = |path: &str| format!("{layer}/{path}");
    let mut command = Command::new("python3");
    command.arg("-P").arg(repository("python/limbwise/client.py")).arg(format!("http://{address}"));
    command.args(["--program", &of("theirs/program.json"), "--keys", &of("theirs/evaluation.keys")]);
    let out = of(&format!("served-{input}"));
    command.args(["--out", &out, &of(&format!("in-{input}/input-000.ct"))]).current_dir(folder.path());
    let done = command.output().unwrap();
    if !done.status.success() {
        return Err(String::from_utf8(done.stderr).unwrap());
    }
    let bytes = |dir: &str| fs::read(folder.path().join(dir).join("result-000.ct")).unwrap();
    assert!(bytes(&out) == bytes(&of(&format!("whole-{input}"))), "{layer} {input}: as eval, byte for byte");
    Ok(())
}

#[test]
fn a_second_job_reads_no_key_again_and_the_oldest_make_room() {
    let folder = two_layers("serve-resident");
    let server = Server::start(&folder, "127.0.0.1:0", &["--memory", "1GB", "--threads", "1"]);
    let counts = |server: &Server| {
        ["hits", "misses", "evictions"]
            .map(|what| count(server.address, &format!("limbwise_resident_key_{what}_total")))
    };
    layer_served(&folder, server.address, "a", "0").unwrap();
    assert_eq!(counts(&server), [0, 1, 0]);
    let of_a = count(server.address, "limbwise_resident_key_bytes");
    let process = count(server.address, "limbwise_process_resident_bytes");
    assert!(of_a < process, "what was mapped and never used is not counted: {of_a} of {process}");
    assert!(of_a > fs::metadata(folder.path().join("a/theirs/evaluation.keys")).unwrap().len() / 2, "{of_a}");
    // The keys' words are gone from the disk; what a plan reads, the header, is there.
    let name = FileId::of(&fs::read(folder.path().join("a/theirs/evaluation.keys")).unwrap());
    let stored = folder.path().join("state/files").join(name.to_string());
    let whole = fs::read(&stored).unwrap();
    let mut damaged = whole.clone();
    let half = damaged.len() / 2;
    damaged[half..].fill(0);
    fs::write(&stored, &damaged).unwrap();
    layer_served(&folder, server.address, "a", "1").unwrap();
    assert_eq!(counts(&server), [1, 1, 0]);
    // Without them in memory it does not go.
    server.kill();
    let server = Server::start(&folder, "127.0.0.1:0", &["--resident-keys", "0B", "--threads", "1"]);
    let error = layer_served(&folder, server.address, "a", "2").unwrap_err();
    assert!(error.contains("is damaged (its checksum differs)"), "{error}");
    fs::write(&stored, &whole).unwrap();
    server.kill();
    // Room for one of two: the one used longer ago goes.
    let room = format!("{}kB", of_a * 3 / 2 / 1000);
    let server = Server::start(&folder, "127.0.0.1:0", &["--resident-keys", &room, "--threads", "1"]);
    layer_served(&folder, server.address, "b", "0").unwrap();
    layer_served(&folder, server.address, "a", "2").unwrap();
    assert_eq!(counts(&server), [0, 2, 1]);
    layer_served(&folder, server.address, "b", "1").unwrap();
    assert_eq!(counts(&server), [0, 3, 2]);
    assert!(count(server.address, "limbwise_resident_key_bytes") <= of_a * 3 / 2);
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
    refused(&["--tls-cert", "absent.pem"], "--tls-key");
    refused(&["--tls-cert", "absent.pem", "--tls-key", "absent.key"], "absent.pem: No such file");
    refused(&["--jobs", "0"], "0 is not in 1..=64");
    refused(&["--memory", "3"], "wanted a size with its unit");
    folder.write("file", "");
    let output = folder.run(&["serve", "."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("has no server's state"));
}
