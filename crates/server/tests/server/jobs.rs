//! Jobs: admitted by their plan, run in order, stopped when asked.

use crate::{
    client::Client,
    process::{Wish, clean},
};
use limbwise_server::id::FileId;
use serde_json::{Value, json};

fn result(client: &Client, job: &Value) -> Vec<u8> {
    let file = job["results"][0]["file"].as_str().unwrap();
    client.get(&format!("/v1/files/{file}/content")).body
}

#[test]
fn a_job_goes_from_its_plan_to_its_results() {
    let wish = Wish::new("job");
    let server = wish.start();
    let client = &server.client;
    let id = client.submit(&json!({"steps": 3, "memory_bytes": 5000, "seconds": 2.5}));
    let job = client.wait(&id);
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(job["plan"], json!({"memory_bytes": 5000, "seconds": 2.5, "disk_bytes": 1000, "levels": 3}));
    assert_eq!(job["results"][0]["name"], "digest");
    let mut digest = String::new();
    for _ in 0..3 {
        digest = FileId::of(format!("{digest}CIPHERTEXT 1CIPHERTEXT 2").as_bytes()).to_string();
    }
    assert_eq!(result(client, &job), format!("CIPHERTEXT {digest}").as_bytes());
    assert_eq!(
        client.submit(&json!({"steps": 3, "memory_bytes": 5000, "seconds": 2.5})),
        id,
        "the same is the same job"
    );
    assert!(!wish.state().join("jobs").join(&id).join("work").exists(), "nothing is left of the run");
    client.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).refused(409, "the job is over");
    client.delete(&format!("/v1/jobs/{id}")).expect(204);
    client.get(&format!("/v1/jobs/{id}")).refused(404, "there is no such job");
    assert_eq!(result(client, &job), format!("CIPHERTEXT {digest}").as_bytes(), "results are files, and stay");
    drop(server);
    clean(&wish.root);
}

#[test]
fn plans_beyond_the_limits_never_start() {
    let wish = Wish::new("plans");
    let server = wish.start();
    let client = &server.client;
    for (program, words) in [
        (json!({"memory_bytes": 10_001}), ["more memory", "10001 bytes", "at most 10000 bytes"]),
        (json!({"seconds": 101.0}), ["more time", "101 seconds", "at most 100 seconds"]),
        (json!({"disk_bytes": 300_000}), ["no room", "300000 bytes", "at most 200000 bytes"]),
        (json!({"unknown": 1}), ["unknown field", "", ""]),
    ] {
        let id = client.submit(&program);
        let job = client.wait(&id);
        assert_eq!(job["state"], "refused");
        assert!(words.iter().all(|words| job["refusal"].to_string().contains(words)), "{job}");
        client.delete(&format!("/v1/jobs/{id}")).expect(204);
    }
    assert_eq!(wish.trace(), [0; 0], "nothing was computed");
    drop(server);
    clean(&wish.root);
}

#[test]
fn failures_are_told_and_others_go_on() {
    let wish = Wish::new("failures");
    let server = wish.start();
    let client = &server.client;
    let failing = client.wait(&client.submit(&json!({"fail_at": 1})));
    assert_eq!((&failing["state"], &failing["refusal"]["what"]), (&json!("failed"), &json!("asked to fail: link")));
    let panicking = client.wait(&client.submit(&json!({"panic_at": 1})));
    assert_eq!(panicking["state"], "failed");
    assert!(panicking["refusal"].to_string().contains("a bug in limbwise"), "{panicking}");
    assert_eq!(client.wait(&client.submit(&json!({})))["state"], "done");
    drop(server);
    clean(&wish.root);
}

#[test]
fn jobs_wait_for_their_turn_and_end_when_asked() {
    let wish = Wish::new("queue");
    let server = wish.start();
    let client = &server.client;
    let long = client.submit(&json!({"steps": 10_000, "pause_ms": 10}));
    let waiting = client.submit(&json!({"steps": 1}));
    let queued = client.submit(&json!({"steps": 2}));
    let job = client.until(&format!("/v1/jobs/{long}"), |job| job["progress"]["done"].as_u64() > Some(2));
    assert_eq!((&job["state"], &job["progress"]["step"]), (&json!("running"), &json!("link")));
    client.until(&format!("/v1/jobs/{queued}"), |job| job["state"] == "queued");
    assert_eq!(client.get(&format!("/v1/jobs/{waiting}")).expect(200)["state"], "queued");
    client.delete(&format!("/v1/jobs/{long}")).refused(409, "the job is not over");
    client.delete(&format!("/v1/files/{}", FileId::of(b"KEYS"))).refused(409, "a job needs this file");
    client.submit(&json!({"steps": 3}));
    let keys = FileId::of(b"KEYS");
    let request = json!({"program": keys, "keys": keys, "inputs": [keys]});
    client.post("/v1/jobs", &request).refused(429, "at most 4");
    let canceled = client.post(&format!("/v1/jobs/{queued}/cancel"), &json!({})).expect(200);
    assert_eq!(canceled["state"], "cancelled", "at once: it did not run");
    client.post(&format!("/v1/jobs/{long}/cancel"), &json!({})).expect(200);
    assert_eq!(client.wait(&long)["state"], "cancelled");
    assert_eq!(client.wait(&waiting)["state"], "done");
    let absent = json!({"program": keys, "keys": keys, "inputs": [FileId::of(b"absent")]});
    client.delete(&format!("/v1/jobs/{queued}")).expect(204);
    client.post("/v1/jobs", &absent).refused(422, "names a file that is not there");
    drop(server);
    clean(&wish.root);
}

#[test]
fn time_is_over_by_the_clock_too() {
    let wish = Wish { job_seconds: 1, ..Wish::new("time") };
    let server = wish.start();
    let client = &server.client;
    let job = client.wait(&client.submit(&json!({"steps": 10_000, "pause_ms": 50})));
    assert_eq!(job["state"], "failed");
    assert!(job["refusal"].to_string().contains("the job's time is over"), "{job}");
    drop(server);
    clean(&wish.root);
}

#[test]
fn several_jobs_run_together_as_far_as_memory_goes() {
    let wish = Wish { running_jobs: 3, ..Wish::new("together") };
    let server = wish.start();
    let client = &server.client;
    let ids: Vec<String> =
        (0..3).map(|k| client.submit(&json!({"steps": 10_000 + k, "pause_ms": 10, "memory_bytes": 4000}))).collect();
    let state = |k: usize| client.get(&format!("/v1/jobs/{}", ids[k])).expect(200)["state"].clone();
    client.until(&format!("/v1/jobs/{}", ids[1]), |job| job["state"] == "running");
    client.until(&format!("/v1/jobs/{}", ids[2]), |job| job["state"] == "queued");
    assert_eq!([state(0), state(1), state(2)], ["running", "running", "queued"], "8000 of 10000 bytes are taken");
    client.post(&format!("/v1/jobs/{}/cancel", ids[0]), &json!({})).expect(200);
    client.until(&format!("/v1/jobs/{}", ids[2]), |job| job["state"] == "running");
    drop(server);
    clean(&wish.root);
}

#[test]
fn what_an_engine_keeps_makes_room_for_jobs() {
    let wish = Wish { running_jobs: 2, ..Wish::new("kept") };
    let server = wish.start();
    let client = &server.client;
    let first = client.submit(&json!({"memory_bytes": 3000, "steps": 1000, "pause_ms": 20}));
    client.until(&format!("/v1/jobs/{first}"), |job| job["state"] == "running");
    let second = client.submit(&json!({"memory_bytes": 6500, "steps": 1}));
    client.wait(&second);
    // Of 10 000 bytes: beside the first; beside both.
    assert_eq!(wish.kept(), ["shrink 7000", "shrink 500"]);
    let keys = FileId::of(b"KEYS");
    client.delete(&format!("/v1/files/{keys}")).refused(409, "a job needs this file");
    client.send(&format!("POST /v1/jobs/{first}/cancel"), None, &[]).expect(200);
    client.wait(&first);
    assert_eq!(client.delete(&format!("/v1/files/{keys}")).status, 204);
    assert_eq!(wish.kept()[2..], [format!("forget {keys}")]);
    drop(server);
    clean(&wish.root);
}
