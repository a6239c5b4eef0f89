//! Several clients: none sees, uses or deletes what another has, or learns that it is there.

use crate::{
    client::{Client, Reply},
    process::{Running, Wish, clean},
};
use limbwise_server::{Access, id::FileId};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

const TOKENS: [(&str, &str); 3] = [
    ("ada", "ada-0123456789abcdef0123456789abcdef"),
    ("bob", "bob-0123456789abcdef0123456789abcdef"),
    ("operator", "op-0123456789abcdef0123456789abcdef"),
];

fn tokens(wish: &Wish, text: &str) -> PathBuf {
    let path = wish.root.join("tokens");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A server's wish with these clients.
pub(crate) fn with_clients(wish: Wish) -> Wish {
    let lines: String = TOKENS.iter().map(|(name, token)| format!("{name} {token}\n")).collect();
    Wish { token_file: Some(tokens(&wish, &lines)), ..wish }
}

pub(crate) fn client_of(server: &Running, name: &str) -> Client {
    let (_, token) = TOKENS.iter().find(|(known, _)| *known == name).unwrap();
    Client { token: Some((*token).into()), ..server.client.clone() }
}

/// An answer without what is different in any two: the request's id, and names.
fn plain(reply: &Reply, names: &[&str]) -> (u16, String) {
    let mut body = reply.json();
    body["request_id"] = Value::Null;
    (reply.status, names.iter().fold(body.to_string(), |text, name| text.replace(name, "NAME")))
}

#[test]
fn none_sees_uses_or_deletes_what_another_has() {
    let wish = with_clients(Wish::new("clients"));
    let server = wish.start();
    let [ada, bob] = ["ada", "bob"].map(|name| client_of(&server, name));
    let job = ada.submit(&json!({}));
    let done = ada.wait(&job);
    assert_eq!((&done["state"], &done["client"]), (&json!("done"), &json!("ada")), "{done}");
    let result = done["results"][0]["file"].as_str().unwrap();
    let upload = ada.get("/v1/uploads").expect(200)[0]["id"].as_str().unwrap().to_owned();
    let [no_file, no_id] = [FileId::of(b"nobody has this").to_string(), "8b1d7f0e-0000-4000-8000-000000000000".into()];
    for (line, name, none) in [
        ("GET /v1/files/NAME", result, &no_file),
        ("GET /v1/files/NAME/content", result, &no_file),
        ("DELETE /v1/files/NAME", result, &no_file),
        ("GET /v1/jobs/NAME", &job, &no_id),
        ("POST /v1/jobs/NAME/cancel", &job, &no_id),
        ("DELETE /v1/jobs/NAME", &job, &no_id),
        ("GET /v1/uploads/NAME", &upload, &no_id),
        ("DELETE /v1/uploads/NAME", &upload, &no_id),
    ] {
        let ask = |name: &str| bob.send(&line.replace("NAME", name), None, &[]);
        let (there, absent) = (ask(name), ask(none));
        there.refused(404, "there is no such");
        assert_eq!(plain(&there, &[name]), plain(&absent, &[none]), "{line} tells them apart");
    }
    for list in ["files", "jobs", "uploads"] {
        assert_eq!(bob.get(&format!("/v1/{list}")).expect(200), json!([]), "{list}");
    }
    assert_eq!(bob.get("/v1/status").expect(200)["used_bytes"], 0);
    // A digest gives no access: neither a job on it, nor an upload that is complete without bytes.
    let asked = |file: &str| bob.post("/v1/jobs", &json!({"program": file, "keys": file, "inputs": [file]}));
    let (there, absent) = (asked(result), asked(&no_file));
    there.refused(422, "a file that is not there");
    assert_eq!(plain(&there, &[result]), plain(&absent, &[&no_file]));
    let begun = bob.announce(12, FileId::of(b"CIPHERTEXT 1")).expect(201);
    assert_eq!((&begun["state"], &begun["received"]), (&json!("receiving"), &json!(0)), "{begun}");
    let chunk = ada.chunk(begun["id"].as_str().unwrap(), 0, b"CIPHERTEXT 1");
    chunk.refused(404, "there is no such upload");
    bob.chunk(begun["id"].as_str().unwrap(), 0, b"CIPHERTEXT 1").expect(200);
    let complete = format!("/v1/uploads/{}", begun["id"].as_str().unwrap());
    bob.until(&complete, |upload| upload["state"] == "complete");
    // The same file twice, and each removes its own.
    let file = format!("/v1/files/{}", FileId::of(b"CIPHERTEXT 1"));
    assert_eq!(ada.delete(&file).status, 204);
    bob.get(&file).expect(200);
    assert_eq!(bob.get(&format!("{file}/content")).body, b"CIPHERTEXT 1");
    drop(server);
    clean(&wish.root);
}

#[test]
fn all_is_whose_it_was_after_a_kill() {
    let wish = with_clients(Wish::new("clients-kill"));
    let server = wish.start();
    let job = client_of(&server, "ada").submit(&json!({"steps": 20, "pause_ms": 20}));
    let begun = client_of(&server, "bob").begin(b"CIPHERTEXT of bob");
    server.kill();
    let server = wish.start();
    let [ada, bob] = ["ada", "bob"].map(|name| client_of(&server, name));
    assert_eq!(ada.wait(&job)["state"], "done");
    bob.get(&format!("/v1/jobs/{job}")).refused(404, "no such job");
    ada.get(&format!("/v1/uploads/{begun}")).refused(404, "no such upload");
    bob.chunk(&begun, 0, b"CIPHERTEXT of bob").expect(200);
    drop(server);
    clean(&wish.root);
}

#[test]
fn what_a_server_without_clients_left_is_the_default_ones() {
    let wish = Wish::new("clients-before");
    let server = wish.start();
    let job = server.client.submit(&json!({}));
    server.client.wait(&job);
    assert!(server.terminate().success());
    // As version 1 wrote it.
    fs::write(wish.state().join("limbwise-server.json"), "{\"version\": 1}").unwrap();
    let record = wish.state().join("jobs").join(&job).join("record.json");
    let mut old: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    old.as_object_mut().unwrap().remove("client").unwrap();
    fs::write(&record, old.to_string()).unwrap();
    let named = format!("default {}\n{} {}\n", "d".repeat(40), TOKENS[0].0, TOKENS[0].1);
    let wish = Wish { token_file: Some(tokens(&wish, &named)), ..wish };
    let server = wish.start();
    let done = server.client.get(&format!("/v1/jobs/{job}")).expect(200);
    assert_eq!((&done["state"], &done["client"]), (&json!("done"), &json!("default")));
    let result = done["results"][0]["file"].as_str().unwrap();
    server.client.get(&format!("/v1/files/{result}")).expect(200);
    client_of(&server, "ada").get(&format!("/v1/jobs/{job}")).refused(404, "no such job");
    let mark = fs::read_to_string(wish.state().join("limbwise-server.json")).unwrap();
    assert!(mark.contains('2'), "an older server would show everything to everyone: {mark}");
    drop(server);
    clean(&wish.root);
}

#[test]
fn quotas_are_each_clients_own() {
    let wish = with_clients(Wish { client_bytes: 50_000, client_jobs: 1, ..Wish::new("clients-quota") });
    let server = wish.start();
    let [ada, bob] = ["ada", "bob"].map(|name| client_of(&server, name));
    ada.announce(40_000, FileId::of(b"first")).expect(201);
    ada.announce(20_000, FileId::of(b"second")).refused(413, "at most 50000 bytes together");
    bob.announce(40_000, FileId::of(b"first")).expect(201);
    let slow = json!({"steps": 1000, "pause_ms": 20});
    let job = ada.submit(&slow);
    let name = FileId::of(format!("PROGRAM {slow}").as_bytes());
    let again = json!({"program": name, "keys": FileId::of(b"KEYS"), "inputs": [FileId::of(b"CIPHERTEXT 2")]});
    ada.post("/v1/jobs", &again).refused(429, "too many jobs wait or run");
    let other = bob.submit(&json!({"steps": 1}));
    // What others have is not told.
    let used = bob.get("/v1/status").expect(200)["used_bytes"].as_u64().unwrap();
    assert!(used < 45_000, "{used}");
    ada.send(&format!("POST /v1/jobs/{job}/cancel"), None, &[]).expect(200);
    assert_eq!(bob.wait(&other)["state"], "done");
    ada.post("/v1/jobs", &again).expect(202);
    drop(server);
    clean(&wish.root);
}

#[test]
fn many_jobs_of_one_do_not_keep_others_waiting() {
    let wish = with_clients(Wish { jobs: 10, client_jobs: 10, ..Wish::new("clients-turns") });
    let server = wish.start();
    let [ada, bob] = ["ada", "bob"].map(|name| client_of(&server, name));
    let many: Vec<String> = (0..4).map(|i| ada.submit(&json!({"steps": 10 + i, "pause_ms": 40}))).collect();
    let one = bob.submit(&json!({"steps": 1}));
    assert_eq!(bob.wait(&one)["state"], "done");
    let last = ada.get(&format!("/v1/jobs/{}", many[3])).expect(200);
    assert!(last["ended"].is_null(), "{last}");
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_wrong_token_is_refused_and_others_go_on() {
    let wish = with_clients(Wish::new("clients-wrong"));
    let server = wish.start();
    let ada = client_of(&server, "ada");
    for wrong in [&TOKENS[0].1[1..], "ada", &format!("{}x", TOKENS[0].1)[..], "0123456789abcdef0123456789abcdef"] {
        Client { token: Some(wrong.into()), ..ada.clone() }.get("/v1/files").refused(401, "another token");
        ada.get("/v1/files").expect(200);
    }
    drop(server);
    clean(&wish.root);
}

#[test]
fn files_of_tokens_say_what_is_wrong() {
    let wish = Wish::new("clients-file");
    let long = "t".repeat(40);
    for (text, words) in [
        (format!("ada {long}\nbob"), "client 2: got 1 words; wanted two"),
        (format!("ada {long}\nbob {long}"), "client 2: bob: its name or its token stands there before"),
        (format!("ada {long}\nada {long}x"), "client 2: ada: its name or its token"),
        (format!("Ada {long}\nbob {long}x"), "client 1: got \"Ada\" as the name of a client"),
        (format!("../x {long}"), "client 1: got \"../x\""),
        (format!("ada {long}\nbob short"), "client 2: the token has 5 characters"),
        ("x".repeat(2 << 20), "more than 1048576 bytes"),
    ] {
        let error = Access::from_file(&tokens(&wish, &text)).unwrap_err().to_string();
        assert!(error.contains(words), "wanted {words:?}: {error}");
        assert!(!error.contains(&long), "a token must not be shown: {error}");
    }
    let good = format!("# the lab\nada {long}\n\n  bob\t{long}x  \n");
    assert_eq!(Access::from_file(&tokens(&wish, &good)).unwrap().clients(), 2);
    assert_eq!(Access::from_file(&tokens(&wish, &format!("{long}\n"))).unwrap().clients(), 1);
    clean(&wish.root);
}
