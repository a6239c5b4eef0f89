//! Planning: what it does to the server and to others, whatever a description says.

use crate::{
    engine::ANSWERED,
    process::{Wish, clean},
};
use serde_json::json;
use std::fs;

/// Longer than any test waits.
const NEVER_MS: u64 = 3_600_000;

#[test]
fn a_plan_that_brings_the_server_down_is_given_up() {
    let wish = Wish::new("deadly-plan");
    let server = wish.start();
    let id = server.client.submit(&json!({"plan_aborts": true}));
    fs::write(wish.root.join(ANSWERED), "").unwrap();
    server.wait();
    for _ in 0..2 {
        wish.start().wait();
    }
    let server = wish.start();
    let job = server.client.wait(&id);
    assert_eq!(job["state"], "failed");
    assert!(job["refusal"].to_string().contains("3 times in a row"), "{job}");
    assert_eq!(wish.plans(), ["begun"; 3]);
    assert_eq!(server.client.wait(&server.client.submit(&json!({})))["state"], "done");
    drop(server);
    clean(&wish.root);
}

#[test]
fn kills_in_the_middle_of_a_plan_are_counted() {
    let wish = Wish::new("plan-kill");
    let mut id = None;
    for round in 1..=3 {
        let server = wish.start();
        id.get_or_insert_with(|| server.client.submit(&json!({"plan_ms": NEVER_MS})));
        wish.until_plans(round);
        server.kill();
    }
    let server = wish.start();
    let job = server.client.wait(&id.unwrap());
    assert_eq!((&job["state"], &job["attempts"]), (&json!("failed"), &json!(3)), "{job}");
    assert_eq!(wish.plans(), ["begun"; 3]);
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_plan_is_canceled_while_it_is_made() {
    let wish = Wish::new("plan-cancel");
    let server = wish.start();
    let client = &server.client;
    // As many as there are planners, so that the next one is planned only if these were stopped.
    let ids = [0, 1].map(|k| client.submit(&json!({"plan_ms": NEVER_MS, "steps": k})));
    wish.until_plans(2);
    for id in &ids {
        let job = client.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).expect(200);
        assert_eq!(job["state"], "cancelled", "at once");
    }
    assert_eq!(client.wait(&client.submit(&json!({})))["state"], "done");
    wish.until_plans(5);
    let stopped = wish.plans().iter().filter(|line| *line == "stopped").count();
    assert_eq!(stopped, 2, "nobody plans what nobody wants");
    client.delete(&format!("/v1/jobs/{}", ids[0])).expect(204);
    drop(server);
    clean(&wish.root);
}

#[test]
fn one_long_plan_does_not_keep_others_from_being_planned() {
    let wish = Wish::new("plan-long");
    let server = wish.start();
    let client = &server.client;
    let long = client.submit(&json!({"plan_ms": NEVER_MS}));
    wish.until_plans(1);
    assert_eq!(client.wait(&client.submit(&json!({})))["state"], "done");
    assert_eq!(client.get(&format!("/v1/jobs/{long}")).expect(200)["state"], "planning");
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_server_that_stops_in_order_does_not_count_its_plans() {
    let wish = Wish::new("plan-stop");
    let server = wish.start();
    let id = server.client.submit(&json!({"plan_ms": NEVER_MS}));
    wish.until_plans(1);
    assert!(server.terminate().success(), "planning is stopped with the server");
    assert_eq!(wish.plans(), ["begun", "stopped"]);
    let server = wish.start();
    wish.until_plans(3);
    let job = server.client.get(&format!("/v1/jobs/{id}")).expect(200);
    assert_eq!((&job["state"], &job["attempts"]), (&json!("planning"), &json!(1)), "{job}");
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_plan_that_is_ended_from_outside_is_tried_a_few_times() {
    let wish = Wish::new("plan-ended");
    let server = wish.start();
    let job = server.client.wait(&server.client.submit(&json!({"plan_is_killed": true})));
    assert_eq!((&job["state"], &job["attempts"]), (&json!("failed"), &json!(3)), "{job}");
    assert_eq!(job["refusal"]["what"], "asked to be killed");
    assert_eq!(wish.plans(), ["begun"; 3]);
    drop(server);
    clean(&wish.root);
}

#[test]
fn as_many_long_plans_as_are_made_at_once_hold_others_no_longer_than_their_time() {
    let wish = Wish { plan_seconds: 1, ..Wish::new("plan-budget") };
    let server = wish.start();
    let client = &server.client;
    let long = [0, 1].map(|k| client.submit(&json!({"plan_ms": NEVER_MS, "steps": k})));
    assert_eq!(client.wait(&client.submit(&json!({})))["state"], "done");
    for id in &long {
        assert_eq!(client.wait(id)["state"], "refused");
    }
    let limits = client.get("/v1/status").expect(200)["limits"].clone();
    assert_eq!((&limits["plan_seconds"], &limits["planners"]), (&json!(1), &json!(2)), "{limits}");
    drop(server);
    clean(&wish.root);
}
