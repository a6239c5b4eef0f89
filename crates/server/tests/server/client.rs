//! A client: HTTP/1.1 by hand, so that tests say exactly what is sent.

use limbwise_server::id::FileId;
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// Where a server is, and with which token.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let headers = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, headers, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The JSON of an answer with this status.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// A problem with this status, whose text has these words.
    pub(crate) fn refused(&self, status: u16, words: &str) {
        let problem = self.expect(status);
        assert_eq!(problem["status"], status);
        for field in ["what", "got", "wanted", "next_step", "request_id"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {problem}");
        }
        assert!(self.headers.contains(problem["request_id"].as_str().unwrap()), "{self:?}");
        assert!(problem.to_string().contains(words), "wanted {words:?}: {problem}");
    }
}

impl Client {
    /// Sends a request with a body of a type, and waits for the answer.
    pub(crate) fn send(&self, line: &str, kind: Option<&str>, body: &[u8]) -> Reply {
        let mut head = format!("{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        if let Some(token) = &self.token {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        if let Some(kind) = kind {
            head += &format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
        }
        self.raw(&[head.as_bytes(), b"\r\n", body].concat())
    }

    /// Sends bytes and reads all that comes back.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // A server that has refused a body need not read it to the end.
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        Reply::parse(&reply)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send(&format!("GET {path}"), None, &[])
    }

    pub(crate) fn delete(&self, path: &str) -> Reply {
        self.send(&format!("DELETE {path}"), None, &[])
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(&format!("POST {path}"), Some("application/json"), body.to_string().as_bytes())
    }

    /// Announces a file; the upload's id.
    pub(crate) fn begin(&self, bytes: &[u8]) -> String {
        let upload = self.announce(bytes.len(), FileId::of(bytes)).expect(201);
        upload["id"].as_str().unwrap().into()
    }

    pub(crate) fn announce(&self, bytes: usize, sha256: FileId) -> Reply {
        self.post("/v1/uploads", &json!({"bytes": bytes, "sha256": sha256}))
    }

    pub(crate) fn chunk(&self, upload: &str, offset: usize, chunk: &[u8]) -> Reply {
        let line = format!("PUT /v1/uploads/{upload}/chunk?offset={offset}&sha256={}", FileId::of(chunk));
        self.send(&line, Some("application/octet-stream"), chunk)
    }

    /// Brings a whole file to the server.
    pub(crate) fn upload(&self, bytes: &[u8]) -> FileId {
        let id = self.begin(bytes);
        if self.get(&format!("/v1/uploads/{id}")).expect(200)["state"] == "receiving" {
            self.chunk(&id, 0, bytes).expect(200);
        }
        let upload = self.until(&format!("/v1/uploads/{id}"), |upload| upload["state"] != "checking");
        assert_eq!(upload["state"], "complete", "{upload}");
        FileId::of(bytes)
    }

    /// Asks until an answer is as wanted.
    pub(crate) fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let value = self.get(path).expect(200);
            if wanted(&value) {
                return value;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{value}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks for a job; its id.
    pub(crate) fn submit(&self, program: &Value) -> String {
        let inputs = [self.upload(b"CIPHERTEXT 1"), self.upload(b"CIPHERTEXT 2")];
        let program = self.upload(format!("PROGRAM {program}").as_bytes());
        let keys = self.upload(b"KEYS");
        let job = self.post("/v1/jobs", &json!({"program": program, "keys": keys, "inputs": inputs})).expect(202);
        job["id"].as_str().unwrap().into()
    }

    /// Waits until a job is over.
    pub(crate) fn wait(&self, job: &str) -> Value {
        self.until(&format!("/v1/jobs/{job}"), |job| !job["ended"].is_null())
    }
}
