//! Requests that are not as the API says are refused, with the reason, and cost the server little.

use crate::process::{Wish, clean};
use limbwise_server::id::FileId;
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

#[test]
fn what_is_not_of_the_api_is_refused_with_the_reason() {
    let wish = Wish::new("strict");
    let server = wish.start();
    let client = &server.client;
    client.get("/nowhere").refused(404, "GET /openapi.json lists all paths");
    client.get("/v1/jobs/").refused(404, "there is nothing here");
    for path in ["..", "../../etc/passwd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%ff", "..%00", "abc"] {
        for place in ["/v1/files/", "/v1/uploads/", "/v1/jobs/"] {
            assert_eq!(client.get(&format!("{place}{path}")).status, 404, "{place}{path}");
            assert!(matches!(client.get(&format!("{place}{path}/content")).status, 404), "{place}{path}");
        }
    }
    let reply = client.send("PATCH /v1/jobs", None, &[]);
    reply.refused(405, "no such method");
    assert!(reply.headers.contains("allow: "), "{reply:?}");

    let body = json!({"bytes": 5, "sha256": FileId::of(b"x")}).to_string();
    let post = |kind: Option<&str>, body: &str| client.send("POST /v1/uploads", kind, body.as_bytes());
    post(Some("text/plain"), &body).refused(415, "text/plain");
    post(None, "").refused(415, "no content type");
    post(Some("application/json"), "{").refused(422, "EOF while parsing");
    post(Some("application/json"), "\u{1}").refused(422, "expected value");
    for (field, value, words) in [
        ("bytes", json!(-1), "-1"),
        ("bytes", json!(1.5), "1.5"),
        ("sha256", json!("xyz"), "64 hexadecimal digits"),
        ("more", json!(1), "unknown field"),
    ] {
        let mut body = json!({"bytes": 5, "sha256": FileId::of(b"x")});
        body[field] = value;
        client.post("/v1/uploads", &body).refused(422, words);
    }
    client.send("POST /v1/uploads", Some("application/json"), &[b' '; 70_000]).refused(413, "at most 65536 bytes");
    post(Some("application/json; charset=utf-8"), &body).expect(201);
    let packed = format!(
        "POST /v1/uploads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client.raw(packed.as_bytes()).refused(415, "compressed by gzip");
    // A body whose length is not announced is counted.
    let mut endless =
        b"POST /v1/uploads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
        Transfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    for _ in 0..10 {
        endless.extend(format!("{:x}\r\n", 10_000).bytes().chain([b' '; 10_000]).chain(*b"\r\n"));
    }
    client.raw(&endless).refused(413, "at most 65536 bytes");

    drop(server);
    clean(&wish.root);
}

#[test]
fn chunks_have_their_place_and_type() {
    let wish = Wish::new("places");
    let server = wish.start();
    let client = &server.client;
    let id = client.begin(b"KEYS");
    let digest = FileId::of(b"KEYS");
    for (query, words) in [
        (format!("offset=0&sha256={digest}&more=1"), "unknown field"),
        (format!("offset=0&offset=0&sha256={digest}"), "duplicate field"),
        (format!("offset=-1&sha256={digest}"), "invalid digit"),
        (format!("sha256={digest}"), "missing field"),
        ("offset=0&sha256=..%2f..".into(), "64 hexadecimal digits"),
    ] {
        let line = format!("PUT /v1/uploads/{id}/chunk?{query}");
        client.send(&line, Some("application/octet-stream"), b"KEYS").refused(400, words);
    }
    let line = format!("PUT /v1/uploads/{id}/chunk?offset=0&sha256={digest}");
    client.send(&line, Some("application/json"), b"KEYS").refused(415, "application/octet-stream");
    assert_eq!(client.get(&format!("/v1/uploads/{id}")).expect(200)["received"], 0);
    drop(server);
    clean(&wish.root);
}

#[test]
fn slow_requests_are_ended() {
    let wish = Wish { request_seconds: 1, ..Wish::new("slow") };
    let server = wish.start();
    let client = &server.client;
    let id = client.begin(b"KEYS");
    let head = format!(
        "PUT /v1/uploads/{id}/chunk?offset=0&sha256={} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: 4\r\n\r\nKE",
        FileId::of(b"KEYS")
    );
    let mut stream = TcpStream::connect(client.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    crate::client::Reply::parse(&reply).refused(408, "at most 1 seconds");
    client.chunk(&id, 0, b"KEYS").expect(200);
    drop(server);
    clean(&wish.root);
}

/// More than there are places for chunks.
const SLOW: usize = 20;

#[test]
fn bodies_that_never_end_hold_no_place_of_others() {
    let wish = Wish { request_seconds: 60, ..Wish::new("held") };
    let server = wish.start();
    let client = &server.client;
    let id = client.begin(b"KEYS");
    let head = format!(
        "PUT /v1/uploads/{id}/chunk?offset=0&sha256={} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: 4\r\n\r\nKE",
        FileId::of(b"KEYS")
    );
    let mut slow: Vec<TcpStream> = (0..SLOW).map(|_| TcpStream::connect(client.address).unwrap()).collect();
    slow.iter_mut().for_each(|stream| stream.write_all(head.as_bytes()).unwrap());
    client.get("/health").expect(200); // so the server has the requests before
    client.chunk(&id, 0, b"KEYS").expect(200);
    for stream in &mut slow {
        stream.set_nonblocking(true).unwrap();
        let waits = stream.read(&mut [0]).is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
        assert!(waits, "the chunk did not wait until a slow request was ended");
    }
    drop(server);
    clean(&wish.root);
}

#[test]
fn requests_in_progress_are_answered_before_the_server_stops() {
    let wish = Wish::new("graceful");
    let server = wish.start();
    let client = server.client.clone();
    let id = client.begin(b"KEYS");
    let mut stream = TcpStream::connect(client.address).unwrap();
    let head = format!(
        "PUT /v1/uploads/{id}/chunk?offset=0&sha256={} HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: 4\r\n\r\nKE",
        FileId::of(b"KEYS")
    );
    stream.write_all(head.as_bytes()).unwrap();
    client.get("/health").expect(200); // so the server has the request before
    let stopping = std::thread::spawn(move || server.terminate());
    std::thread::sleep(std::time::Duration::from_millis(300));
    stream.write_all(b"YS").unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    assert_eq!(crate::client::Reply::parse(&reply).status, 200);
    assert!(stopping.join().unwrap().success());
    clean(&wish.root);
}
