//! What a server has promised holds after it was killed at any moment.

use crate::process::{Wish, clean};
use limbwise_server::{StartError, id::FileId};
use serde_json::json;
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::sleep,
    time::Duration,
};

#[test]
fn an_upload_goes_on_after_a_kill() {
    let wish = Wish::new("upload-kill");
    let file = [b"CIPHERTEXT ".to_vec(), vec![3; 20_000]].concat();
    let server = wish.start();
    let id = server.client.begin(&file);
    server.client.chunk(&id, 0, &file[..9000]).expect(200);
    server.kill();
    // As if the kill had come in the middle of the next chunk.
    let data = wish.state().join("uploads").join(&id).join("data");
    OpenOptions::new().append(true).open(&data).unwrap().write_all(b"half a chunk").unwrap();
    // And in the middle of the beginning of another upload, and of its removal.
    for name in ["0b54cc6e-5c0f-4b1a-9f8e-1d1f4f3a2b1c", "gone.removed"] {
        fs::create_dir(wish.state().join("uploads").join(name)).unwrap();
    }
    let server = wish.start();
    let client = &server.client;
    let upload = client.get(&format!("/v1/uploads/{id}")).expect(200);
    assert_eq!((&upload["state"], &upload["received"]), (&json!("receiving"), &json!(9000)));
    assert_eq!(client.get("/v1/uploads").expect(200).as_array().unwrap().len(), 1);
    client.chunk(&id, 9000, &file[9000..15_000]).expect(200);
    client.chunk(&id, 15_000, &file[15_000..]).expect(200);
    server.kill(); // perhaps before the file was checked
    let server = wish.start();
    let upload = server.client.until(&format!("/v1/uploads/{id}"), |upload| upload["state"] != "checking");
    assert_eq!(upload["state"], "complete");
    let content = server.client.get(&format!("/v1/files/{}/content", FileId::of(&file)));
    assert_eq!(content.body, file);
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_job_goes_on_after_kills_and_gives_the_same_result() {
    let program = json!({"steps": 40, "pause_ms": 20});
    let whole = Wish::new("undisturbed");
    let server = whole.start();
    let undisturbed = server.client.wait(&server.client.submit(&program));
    drop(server);
    let wish = Wish::new("job-kill");
    let server = wish.start();
    let id = server.client.submit(&program);
    let path = format!("/v1/jobs/{id}");
    server.client.until(&path, |job| job["progress"]["done"].as_u64() >= Some(5));
    server.kill();
    let server = wish.start();
    server.client.until(&path, |job| job["progress"]["done"].as_u64() >= Some(15));
    assert!(server.terminate().success(), "a server that is asked to stop ends in order");
    let server = wish.start();
    let job = server.client.wait(&id);
    assert_eq!((&job["state"], &job["results"]), (&json!("done"), &undisturbed["results"]));
    let trace = wish.trace();
    assert!(trace.len() <= 41 && trace.starts_with(&[0, 1, 2, 3, 4]), "one step at most is computed twice: {trace:?}");
    assert!(trace.is_sorted(), "{trace:?}");
    drop(server);
    clean(&wish.root);
    clean(&whole.root);
}

#[test]
fn a_job_that_brings_the_server_down_is_given_up() {
    let wish = Wish::new("deadly");
    let server = wish.start();
    let id = server.client.submit(&json!({"abort_at": 2}));
    server.wait();
    for _ in 0..2 {
        wish.start().wait();
    }
    let server = wish.start();
    let job = server.client.wait(&id);
    assert_eq!(job["state"], "failed");
    assert!(job["refusal"].to_string().contains("3 times in a row"), "{job}");
    assert_eq!(server.client.wait(&server.client.submit(&json!({})))["state"], "done");
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_canceled_job_stays_canceled() {
    let wish = Wish::new("cancel-kill");
    let server = wish.start();
    let id = server.client.submit(&json!({"steps": 2, "pause_ms": 60_000}));
    server.client.until(&format!("/v1/jobs/{id}"), |job| job["state"] == "running");
    let job = server.client.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).expect(200);
    assert_eq!(job["state"], "stopping", "it is in the middle of a step");
    server.kill();
    let server = wish.start();
    assert_eq!(server.client.get(&format!("/v1/jobs/{id}")).expect(200)["state"], "cancelled");
    drop(server);
    clean(&wish.root);
}

#[test]
fn kills_at_any_moment_lose_nothing_that_was_promised() {
    let wish = Wish::new("kills");
    let file = [b"CIPHERTEXT ".to_vec(), (0..60_000u32).map(|x| x.to_le_bytes()[0] ^ 0x5a).collect()].concat();
    let (mut id, mut received) = (None, 0);
    for round in 0..40u64 {
        let server = wish.start();
        let client = server.client.clone();
        let id = id.get_or_insert_with(|| client.begin(&file)).clone();
        let upload = client.get(&format!("/v1/uploads/{id}")).expect(200);
        let there = usize::try_from(upload["received"].as_u64().unwrap()).unwrap();
        assert!(there >= received, "{there} bytes are there, {received} were promised");
        if upload["state"] == "complete" {
            drop(server);
            return clean(&wish.root);
        }
        // Chunks are sent while the server is killed: at some moment after the first of them was answered.
        let answered = Arc::new(AtomicBool::new(false));
        let seen = answered.clone();
        let killer = std::thread::spawn(move || {
            while !seen.load(Ordering::Acquire) {
                sleep(Duration::from_micros(100));
            }
            sleep(Duration::from_micros(700 * (round % 7)));
            server.kill();
        });
        received = there;
        while let Some(reply) = send(&client, &id, received, &file) {
            received = reply;
            answered.store(true, Ordering::Release);
        }
        answered.store(true, Ordering::Release);
        killer.join().unwrap();
    }
    panic!("the upload does not get on: {received} bytes");
}

/// Sends a small chunk; what the server says it has then. None if it went away, or wants no more.
fn send(client: &crate::client::Client, id: &str, offset: usize, file: &[u8]) -> Option<usize> {
    use std::{io::Read as _, net::TcpStream};
    let chunk = &file[offset..file.len().min(offset + 3000)];
    let mut stream = TcpStream::connect(client.address).ok()?;
    let digest = FileId::of(chunk);
    let head = format!(
        "PUT /v1/uploads/{id}/chunk?offset={offset}&sha256={digest} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
        chunk.len()
    );
    stream.write_all(&[head.as_bytes(), chunk].concat()).ok()?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok()?;
    let text = String::from_utf8(reply).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let upload: serde_json::Value = serde_json::from_str(body).ok()?;
    usize::try_from(upload["received"].as_u64().filter(|_| head.contains(" 200 "))?).ok()
}

#[test]
fn what_is_damaged_is_told_and_all_else_goes_on() {
    let wish = Wish::new("damaged");
    let server = wish.start();
    let [lost, other] = [60, 61].map(|steps| server.client.submit(&json!({"steps": steps, "pause_ms": 20})));
    let upload = server.client.begin(&[7; 9000]);
    server.client.chunk(&upload, 0, &[7; 4000]).expect(200);
    let job = server.client.get(&format!("/v1/jobs/{lost}")).expect(200);
    server.kill();
    let jobs = wish.state().join("jobs");
    let whole = fs::read(jobs.join(&lost).join("record.json")).unwrap();
    fs::write(jobs.join(&lost).join("record.json"), &whole[..whole.len() / 2]).unwrap();
    let strange = "0b54cc6e-5c0f-4b1a-9f8e-1d1f4f3a2b1c";
    fs::create_dir(jobs.join(strange)).unwrap();
    fs::write(jobs.join(strange).join("record.json"), &whole).unwrap();
    fs::write(wish.state().join("uploads").join(&upload).join("data"), [7; 100]).unwrap();
    fs::create_dir(wish.state().join("files").join("0".repeat(64))).unwrap();

    let server = wish.start();
    let client = &server.client;
    for (path, wanted) in [
        (format!("/v1/jobs/{lost}"), "EOF while parsing"),
        (format!("/v1/jobs/{strange}"), "the id of another folder"),
        (format!("/v1/uploads/{upload}"), "100 bytes, wanted 4000"),
    ] {
        let problem = client.get(&path).expect(500);
        assert!(problem["what"].as_str().unwrap().contains("is damaged"), "{problem}");
        assert!(problem["got"].as_str().unwrap().contains(wanted), "{problem}");
    }
    let counts = String::from_utf8(client.get("/metrics").body).unwrap();
    assert!(counts.contains("damaged_records 4"), "{counts}");
    assert_eq!(client.wait(&other)["state"], "done");
    // What was asked for is done when it is asked for again.
    let files = json!({"program": job["program"], "keys": job["keys"], "inputs": job["inputs"]});
    let again = client.post("/v1/jobs", &files).expect(202);
    assert_eq!(client.wait(again["id"].as_str().unwrap())["state"], "done");
    server.kill();
    // Nothing damaged was touched: it can be mended.
    fs::write(jobs.join(&lost).join("record.json"), &whole).unwrap();
    let server = wish.start();
    assert_eq!(server.client.wait(&lost)["state"], "done");
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_directory_has_one_server_and_nothing_else() {
    let wish = Wish::new("directory");
    let store = wish.store().unwrap();
    assert!(matches!(wish.store().err(), Some(StartError::Locked { .. })));
    drop(store);
    fs::write(wish.state().join("limbwise-server.json"), "{\"version\": 3}").unwrap();
    assert!(wish.store().err().unwrap().to_string().contains("version 3, wanted 1 to 2"));
    fs::remove_file(wish.state().join("limbwise-server.json")).unwrap();
    assert!(matches!(wish.store().err(), Some(StartError::NotOurs { .. })), "there are files of someone else");
    clean(&wish.root);
}
