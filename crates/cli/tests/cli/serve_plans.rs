//! Planning by the real engine: what a description of a kilobyte may do to a server, and what not.

use crate::{
    common::{Folder, TINY, TINY_BOOT, repository},
    serve::{Server, verb},
};
use limbwise::{
    rlwe::KeyForm,
    wire::{self, KeyFile, Origin},
};
use limbwise_cpu::Cpu;
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// The largest ring with as few primes as there can be.
const LARGE: &str = "log_n = 17
levels = [[50], [40]]
special = [50, 50]
dnum = 1
log_scale = 40
";

/// Addresses that a server has, in KiB: a computer with 2 GB.
const TWO_GB: &str = "2000000";

/// A server on a small computer.
fn small(folder: &Folder, options: &[&str]) -> Server {
    let serve = folder.command(&[&["serve", "state", "--bind", "127.0.0.1:0", "--threads", "2"], options].concat());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", TWO_GB]).arg(serve.get_program()).args(serve.get_args());
    command.current_dir(folder.path()).env_remove("LIMBWISE_ISA").stdin(Stdio::null());
    Server::of(command)
}

fn client(folder: &Folder, address: SocketAddr, program: &str, inputs: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg("-P").arg(repository("python/limbwise/client.py")).arg(format!("http://{address}"));
    command.args(["--program", program, "--keys", "theirs/evaluation.keys", "--out", "out"]).args(inputs);
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a client is told in the end.
fn told(folder: &Folder, address: SocketAddr, program: &str, inputs: &[&str]) -> String {
    String::from_utf8(client(folder, address, program, inputs).output().unwrap().stderr).unwrap()
}

/// One request without a body.
fn ask(address: SocketAddr, line: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    let kind = "Content-Type: application/json\r\nContent-Length: 2";
    write!(stream, "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{kind}\r\n\r\n{{}}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Waits until something is there.
fn until<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(10));
    }
}

/// Processes that plan for a server in a folder.
fn planners(folder: &Folder) -> Vec<PathBuf> {
    let (here, running) = (folder.path().canonicalize().unwrap(), fs::read_dir("/proc").unwrap());
    let plans = |process: &PathBuf| {
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        let named = command.split(|byte| *byte == 0).any(|word| word == b"serve-plan");
        named && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == here)
    };
    running.map(|entry| entry.unwrap().path()).filter(plans).collect()
}

/// Takes the label off the keys, which whoever sends them may: it says for which program they were made.
fn unlabeled(folder: &Folder) {
    let place = |name: &str| folder.path().join("theirs").join(name);
    let params = wire::read_params(fs::read(place("params.limbwise")).unwrap()).unwrap();
    let dev = Cpu::builder().open().unwrap();
    let file = KeyFile::open(fs::read(place("evaluation.keys")).unwrap(), &params).unwrap();
    let keys = file.read_all(&dev, KeyForm::Seeded).unwrap();
    let bytes = wire::write_keys(Vec::new(), &dev, &params, &keys, &Origin::NONE).unwrap();
    fs::write(place("evaluation.keys"), bytes).unwrap();
}

/// A program that somebody has changed.
fn changed(folder: &Folder, name: &str, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(folder.path().join("theirs/program.json")).unwrap();
    let mut program: Value = serde_json::from_str(&text).unwrap();
    change(&mut program["workload"]);
    folder.write(name, &program.to_string());
}

fn layer(folder: &Folder, preset: &str) {
    folder.write("preset.toml", preset);
    let shape = ["--op", "matvec", "--rows", "4", "--cols", "4"];
    let keygen = ["keygen", "linear", "--preset", "preset.toml", "--client", "mine", "--server", "theirs"];
    verb(folder, &[&keygen[..], &shape].concat());
    verb(folder, &["encrypt", "--client", "mine", "--out", "in"]);
    unlabeled(folder);
}

#[test]
fn a_layer_larger_than_the_server_is_refused_and_the_server_stays() {
    let folder = Folder::new("plan-large");
    layer(&folder, LARGE);
    let input = ["in/input-000.ct"];
    let large = |workload: &mut Value, side: usize, plaintexts: &str| {
        workload["linear"]["layer"]["shape"]["product"] = json!({"rows": side, "columns": side, "vectors": 1});
        workload["linear"]["plaintexts"] = json!(plaintexts);
    };
    changed(&folder, "full.json", |workload| large(workload, 8192, "full"));
    changed(&folder, "at-use.json", |workload| large(workload, 4096, "at_use"));
    let server = small(&folder, &["--memory", "2GB"]);
    // By its sizes it cannot fit; and by its sizes alone it might, but it cannot be laid out.
    let full = told(&folder, server.address, "full.json", &input);
    assert!(full.contains("by its sizes alone the job needs more memory") && full.contains("2000000000"), "{full}");
    let at_use = told(&folder, server.address, "at-use.json", &input);
    assert!(at_use.contains("too much memory") && at_use.contains("at most 256000000 bytes"), "{at_use}");
    let small_one = client(&folder, server.address, "theirs/program.json", &input).status().unwrap();
    assert!(small_one.success(), "the server is there, and plans what it can");
    server.kill();
    let server = small(&folder, &["--memory", "2GB"]);
    let states: Vec<Value> =
        ask(server.address, "GET /v1/jobs").as_array().unwrap().iter().map(|job| job["state"].clone()).collect();
    assert_eq!(states, ["refused", "refused", "done"], "nothing is tried again");
}

/// A training of some iterations: its keys serve for any number of them.
fn training(folder: &Folder) {
    let levels = "levels = [[50], [32], [32], [40], [40], [40], [40], [40], [40], [40], [40], [30, 29], [50], [50], [50], \
                  [50], [50], [50], [50], [50], [46], [46]]";
    let preset: Vec<&str> =
        TINY_BOOT.lines().map(|line| if line.starts_with("levels") { levels } else { line }).collect();
    folder.write("preset.toml", &preset.join("\n").replace("dnum = 4", "dnum = 6"));
    let options = ["--iterations", "4", "--degree", "3"];
    let keygen = ["keygen", "logreg", "--preset", "preset.toml", "--client", "mine", "--server", "theirs"];
    verb(folder, &[&keygen[..], &options].concat());
    verb(folder, &["encrypt", "--client", "mine", "--out", "in"]);
    unlabeled(folder);
    changed(folder, "long.json", |workload| workload["logreg"]["iterations"] = json!(1000));
}

const INPUTS: [&str; 2] = ["in/input-000.ct", "in/input-001.ct"];

#[test]
fn a_long_plan_holds_nobody_up_and_ends_when_it_is_canceled_or_its_server_killed() {
    let folder = Folder::new("plan-long");
    training(&folder);
    let serve = ["serve", "state", "--bind", "127.0.0.1:0", "--plan-seconds", "3600"];
    let server = Server::of(folder.command(&serve));
    let mut asking = client(&folder, server.address, "long.json", &INPUTS).spawn().unwrap();
    until("the long plan is being made", || (planners(&folder).len() == 1).then_some(()));
    let other = client(&folder, server.address, "theirs/program.json", &INPUTS).status().unwrap();
    assert!(other.success(), "another job is planned and run meanwhile");
    let long = ask(server.address, "GET /v1/jobs")[0].clone();
    assert_eq!((&long["state"], &long["attempts"]), (&json!("planning"), &json!(1)), "{long}");
    let id = long["id"].as_str().unwrap();
    assert_eq!(ask(server.address, &format!("POST /v1/jobs/{id}/cancel"))["state"], "cancelled");
    until("nobody plans what was canceled", || planners(&folder).is_empty().then_some(()));
    asking.wait().unwrap();
    let mut asking = client(&folder, server.address, "long.json", &INPUTS).spawn().unwrap();
    until("it is planned again", || (planners(&folder).len() == 1).then_some(()));
    server.kill();
    until("a planner ends with its server", || planners(&folder).is_empty().then_some(()));
    asking.kill().unwrap();
    asking.wait().unwrap();
    // The next server takes it up, and counts on.
    let server = Server::of(folder.command(&serve));
    let attempts = || ask(server.address, "GET /v1/jobs")[2]["attempts"].as_u64();
    until("the second attempt is counted", || attempts().filter(|&attempts| attempts == 2));
}

#[test]
fn planning_ends_at_the_end_of_its_time() {
    let folder = Folder::new("plan-time");
    training(&folder);
    let options = ["--plan-seconds", "2", "--plan-memory", "1GB"];
    let server = Server::of(folder.command(&[&["serve", "state", "--bind", "127.0.0.1:0"], &options[..]].concat()));
    let text = told(&folder, server.address, "long.json", &INPUTS);
    assert!(text.contains("planning this program takes too long") && text.contains("at most 2 seconds"), "{text}");
    let limits = ask(server.address, "GET /v1/status")["limits"].clone();
    let shown = [&limits["plan_seconds"], &limits["plan_memory_bytes"]];
    assert_eq!(shown, [&json!(2), &json!(1_000_000_000)]);
}

#[test]
fn keys_are_opened_first_then_sizes_are_compared_and_nothing_is_recorded() {
    let folder = Folder::new("plan-eval");
    layer(&folder, TINY);
    let shape = json!({"rows": 8192, "columns": 1024, "vectors": 1});
    // A row has 1024 slots here, so this is no layer at all: whatever is told before that, nothing was laid out for.
    changed(&folder, "large.json", |workload| workload["linear"]["layer"]["shape"]["product"] = shape);
    fs::rename(folder.path().join("large.json"), folder.path().join("theirs/program.json")).unwrap();
    let refused = |wanted: &str| {
        let output = folder.run(&["eval", "--server", "theirs", "--in", "in", "--out", "out", "--memory", "200MB"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(wanted), "{text}");
    };
    refused("by its sizes alone this program needs at least");
    fs::copy(folder.path().join("theirs/public.key"), folder.path().join("theirs/evaluation.keys")).unwrap();
    refused("theirs/evaluation.keys: ");
}

#[test]
fn a_planner_that_is_asked_nothing_says_so() {
    let folder = Folder::new("plan-nothing");
    let output = folder.run(&["serve-plan"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    let help = String::from_utf8(folder.run(&["--help"]).stdout).unwrap();
    assert!(help.contains("\n  serve ") && !help.contains("serve-plan"), "{help}");
}
