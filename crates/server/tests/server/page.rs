//! What the operator and a person see: counts as Prometheus reads them, and a page that nothing hostile gets out of.

use crate::{
    clients::{client_of, with_clients},
    process::{Wish, clean},
};
use serde_json::json;

/// The value of a sample.
fn sample(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
}

#[test]
fn counts_are_those_of_the_state() {
    let wish = Wish { running_jobs: 2, ..with_clients(Wish::new("metrics")) };
    let server = wish.start();
    let [ada, operator] = ["ada", "operator"].map(|name| client_of(&server, name));
    let counts = || String::from_utf8(operator.get("/metrics").body).unwrap();
    assert!(sample(&counts(), "limbwise_jobs{state=\"done\"}") < 0.5);
    let done = ada.submit(&json!({}));
    ada.wait(&done);
    let long = ada.submit(&json!({"steps": 1000, "pause_ms": 20, "memory_bytes": 3000, "disk_bytes": 70}));
    ada.until(&format!("/v1/jobs/{long}"), |job| job["state"] == "running");
    ada.get("/v1/jobs/8b1d7f0e-0000-4000-8000-000000000000").refused(404, "no such job");
    ada.get("/nowhere/at/all").refused(404, "nothing here");
    let text = counts();
    let stored: u64 =
        ada.get("/v1/files").expect(200).as_array().unwrap().iter().map(|f| f["bytes"].as_u64().unwrap()).sum();
    let kinds: f64 = text
        .lines()
        .filter(|l| l.starts_with("limbwise_stored_bytes{"))
        .map(|l| l.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
        .sum();
    for (got, wanted) in [
        (sample(&text, "limbwise_jobs{state=\"done\"}"), 1.0),
        (sample(&text, "limbwise_jobs{state=\"running\"}"), 1.0),
        (sample(&text, "limbwise_memory_promised_bytes"), 3000.0),
        (sample(&text, "limbwise_promised_bytes"), 70.0),
        (sample(&text, "limbwise_plan_seconds_count"), 2.0),
        (sample(&text, "limbwise_job_seconds_count"), 1.0),
        (sample(&text, "limbwise_requests_total{route=\"/v1/jobs/{id}\",status=\"404\"}"), 1.0),
        (sample(&text, "limbwise_requests_total{route=\"other\",status=\"404\"}"), 1.0),
        (kinds, stored as f64),
    ] {
        assert!((got - wanted).abs() < 0.5, "got {got}, wanted {wanted}: {text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
    // Who asks for all is the operator, and nobody else.
    ada.get("/metrics").refused(403, "for the operator alone");
    let mut nobody = ada.clone();
    nobody.token = None;
    nobody.get("/metrics").refused(401, "no header Authorization");
    drop(server);
    clean(&wish.root);
}

#[test]
fn the_only_client_is_the_operator() {
    let wish = Wish::new("metrics-alone");
    let server = wish.start();
    let reply = server.client.get("/metrics");
    assert_eq!(reply.status, 200);
    assert!(reply.headers.contains("content-type: application/openmetrics-text"), "{}", reply.headers);
    drop(server);
    clean(&wish.root);
}

const HOSTILE: &str = "<script>alert('1')</script>\"&<img src=x onerror=1>";

#[test]
fn the_page_shows_jobs_and_lets_nothing_out() {
    let wish = with_clients(Wish::new("page"));
    let server = wish.start();
    let [ada, bob] = ["ada", "bob"].map(|name| client_of(&server, name));
    let refused = ada.submit(&json!({"fail_at": 1, "said": HOSTILE}));
    assert_eq!(ada.wait(&refused)["state"], "failed");
    let running = ada.submit(&json!({"steps": 1000, "pause_ms": 20, "memory_bytes": 3000, "said": HOSTILE}));
    ada.until(&format!("/v1/jobs/{running}"), |job| job["progress"]["step"] == HOSTILE);
    let page = ada.get("/");
    let html = String::from_utf8(page.body.clone()).unwrap();
    assert_eq!(page.status, 200);
    for wanted in [&running[..], &refused, "running", "failed", "3 kB", "/1000", "client ada", "http-equiv=\"refresh\""]
    {
        assert!(html.contains(wanted), "{wanted}: {html}");
    }
    assert_eq!(html.matches("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;&lt;img").count(), 2, "{html}");
    assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
    for header in
        ["content-security-policy: default-src 'none'", "frame-ancestors 'none'", "content-type: text/html", "nosniff"]
    {
        assert!(page.headers.contains(header), "{header}: {}", page.headers);
    }
    // Another client's page has nothing of it.
    let other = String::from_utf8(bob.get("/").body).unwrap();
    assert!(!other.contains(&running) && other.contains("client bob") && !other.contains("refresh"), "{other}");
    drop(server);
    clean(&wish.root);
}

#[test]
fn a_browsers_password_may_only_look() {
    let wish = with_clients(Wish::new("page-basic"));
    let server = wish.start();
    let ask = |line: &str, pair: &str| {
        let head = format!("{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic {pair}\r\n\r\n");
        server.client.raw(head.as_bytes())
    };
    // base64 of "me:" and the token of ada.
    let pair = "bWU6YWRhLTAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm";
    let page = ask("GET /", pair);
    assert_eq!(page.status, 200);
    assert!(String::from_utf8(page.body).unwrap().contains("client ada"));
    for line in ["GET /v1/jobs", "GET /metrics", "POST /", "DELETE /v1/files/x"] {
        ask(line, pair).refused(401, "another scheme");
    }
    for wrong in ["bWU6d3Jvbmc=", "====", "bWU=", ""] {
        assert_eq!(ask("GET /", wrong).status, 401, "{wrong}");
    }
    let anybody = server.client.raw(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    anybody.refused(401, "no header");
    assert!(anybody.headers.contains("www-authenticate: basic"), "{}", anybody.headers);
    drop(server);
    clean(&wish.root);
}
