//! The server with its real engine, on keys of TFHE and on those of two schemes.

use crate::{
    common::{Folder, repository},
    exact_sides::{DECRYPT, evaluated, names, question},
    serve::{Server, verb},
};
use std::{
    net::SocketAddr,
    process::{Output, Stdio},
};

/// Sends these keys and all inputs, and fetches the results into "served".
fn served(folder: &Folder, address: SocketAddr, keys: &[&str]) -> Output {
    let mut command = std::process::Command::new("python3");
    command.arg("-P").arg(repository("python/limbwise/client.py")).arg(format!("http://{address}"));
    command.args(["--program", "theirs/program.json", "--out", "served"]);
    for key in keys {
        command.args(["--keys", &format!("theirs/{key}")]);
    }
    command.args(names(&folder.path().join("in")).iter().map(|name| format!("in/{name}")));
    command.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap()
}

/// Has all evaluated by a server, and compares with what `eval` gave.
fn same_as_eval(folder: &Folder, keys: &[&str]) {
    let server = Server::start(folder, "127.0.0.1:0", &[]);
    let done = served(folder, server.address, keys);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for name in names(&folder.path().join("out")) {
        let bytes = |dir: &str| std::fs::read(folder.path().join(dir).join(&name)).unwrap();
        assert!(bytes("out") == bytes("served"), "{name}: a server's result is that of eval, byte for byte");
    }
    let found = verb(folder, &["decrypt", "--client", "mine", "--in", "served", "--out", "y.json", "--compare"]);
    assert_eq!(found["compared"]["wrong"], 0, "{found:#}");
    verb(folder, &[&DECRYPT[..], &["--force"]].concat());
}

#[test]
fn a_server_bootstraps_messages() {
    let folder = Folder::new("serve-pbs");
    evaluated(&folder, &["pbs", "--batch", "2"]);
    same_as_eval(&folder, &["bootstrap.keys"]);
}

#[test]
fn a_server_answers_a_question_with_both_kinds_of_keys() {
    let folder = question("serve-query");
    same_as_eval(&folder, &["bootstrap.keys", "evaluation.keys"]);
    // One of them is not enough, and the refusal names the other.
    let server = Server::start(&folder, "127.0.0.1:0", &[]);
    for (sent, missing) in [("bootstrap.keys", "evaluation.keys"), ("evaluation.keys", "bootstrap.keys")] {
        let text = String::from_utf8(served(&folder, server.address, &[sent]).stderr).unwrap();
        assert!(text.contains(missing) && !text.contains("state/files"), "{text}");
    }
}
