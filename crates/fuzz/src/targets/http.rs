//! Requests to the HTTP server, over a socket in this process: routes, limits and the store are the real ones, and an engine
//! that takes every file and runs none stands in for the evaluation.

use super::{Answer, scratch};
use limbwise_server::{
    Access, Engine, Failure, FileKind, JobFiles, JobPlan, Limits, PlanBudget, Refusal, Server, Store, Watch,
    engine::Output,
};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream},
    path::Path,
    sync::{Arc, LazyLock},
    thread,
    time::Duration,
};

/// Longest wait for an answer: an answer takes less than a millisecond.
const MOST_WAIT: Duration = Duration::from_secs(30);
const SHORT_WAIT: Duration = Duration::from_millis(20);

#[derive(Debug)]
struct Nothing;

impl Engine for Nothing {
    fn recognize(&self, head: &[u8]) -> Result<FileKind, Refusal> {
        match head.first() {
            None => Err(Refusal::text("an empty file")),
            Some(_) => Ok("bytes".into()),
        }
    }

    fn plan(&self, _: &JobFiles, _: PlanBudget, _: &dyn Fn() -> bool) -> Result<JobPlan, Failure> {
        Err(Failure::Refused(Refusal::text("no file is a program")))
    }

    fn run(&self, _: &JobFiles, _: &Path, _: &Path, _: &dyn Watch) -> Result<Vec<Output>, Failure> {
        Err(Failure::Refused(Refusal::text("no job is run")))
    }
}

/// Small limits, so that they are met; where the server listens.
static SERVER: LazyLock<SocketAddr> = LazyLock::new(|| {
    let limits = Limits {
        upload_bytes: 100_000,
        total_bytes: 1_000_000,
        open_uploads: 8,
        jobs: 8,
        files: 32,
        request_seconds: 5,
        ..Limits::default()
    };
    let store = Store::open(&scratch::folder().join("server"), limits, Arc::new(Nothing)).expect("a store");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server =
        Server::bind(any, Access::this_machine(), None, Arc::new(store), Arc::new(|_: &str| ())).expect("a port");
    let address = server.address();
    thread::spawn(move || server.run(Duration::from_secs(1)));
    address
});

/// A request as bytes; `HOST` stands for the server's name, which it compares.
pub fn request(bytes: &[u8]) -> Answer {
    let address = *SERVER;
    let mut stream = TcpStream::connect(address).expect("the server is there");
    let host = address.to_string();
    // A server may close before it has read all.
    let _ = stream.write_all(&with_host(bytes, host.as_bytes()));
    let mut answer = Vec::new();
    // A request that has no end is ended once it is clear that no answer comes: ending it at once would end answers too.
    stream.set_read_timeout(Some(SHORT_WAIT)).expect("a time");
    if stream.read_to_end(&mut answer).is_err() {
        let _ = stream.shutdown(Shutdown::Write);
        stream.set_read_timeout(Some(MOST_WAIT)).expect("a time");
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "no answer");
        }
    }
    judged(&answer)
}

fn with_host(bytes: &[u8], host: &[u8]) -> Vec<u8> {
    match bytes.windows(4).position(|four| four == b"HOST") {
        Some(at) => [&bytes[..at], host, &bytes[at + 4..]].concat(),
        None => bytes.to_vec(),
    }
}

/// No answer is the server's fault.
fn judged(answer: &[u8]) -> Answer {
    if answer.is_empty() {
        return Err("closed without an answer".into());
    }
    let line = String::from_utf8_lossy(answer.split(|&b| b == b'\r').next().unwrap_or_default()).into_owned();
    let status = line.strip_prefix("HTTP/1.1 ").or(line.strip_prefix("HTTP/1.0 ")).and_then(|rest| rest.get(..3));
    let Some(status) = status.and_then(|text| text.parse::<u16>().ok()) else { panic!("not an answer: {line:?}") };
    assert!(status < 500, "{}", String::from_utf8_lossy(answer));
    if status < 400 { Ok(()) } else { Err(line) }
}
