//! Who may ask.

use crate::process::{Wish, clean};
use limbwise_server::{Access, Server, StartError};
use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn with_token(wish: Wish) -> Wish {
    let path = wish.root.join("token");
    fs::write(&path, TOKEN).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    Wish { token_file: Some(path), ..wish }
}

#[test]
fn a_token_is_asked_for_everywhere_but_for_health_and_description() {
    let wish = with_token(Wish::new("token"));
    let server = wish.start();
    let mut client = server.client.clone();
    client.get("/v1/status").expect(200);
    for (token, words) in
        [(None, "no header Authorization"), (Some(&TOKEN[1..]), "another token"), (Some("x"), "another token")]
    {
        client.token = token.map(Into::into);
        for line in ["GET /v1/status", "GET /v1/files", "DELETE /v1/files/x", "POST /v1/jobs", "GET /nowhere"] {
            let reply = client.send(line, None, &[]);
            reply.refused(401, words);
            assert!(reply.headers.contains("www-authenticate: bearer"), "{reply:?}");
        }
        client.get("/health").expect(200);
        client.get("/openapi.json").expect(200);
    }
    let other =
        format!("GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic {TOKEN}\r\n\r\n");
    client.raw(other.as_bytes()).refused(401, "another scheme");
    drop(server);
    clean(&wish.root);
}

#[test]
fn without_a_token_only_this_machine_is_answered() {
    let wish = Wish::new("host");
    let store = Arc::new(wish.store().unwrap());
    let bind = |address: &str, access| {
        Server::bind(address.parse().unwrap(), access, None, store.clone(), Arc::new(|_| {}))
            .map(|server| server.address())
    };
    for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"] {
        assert!(matches!(bind(address, Access::this_machine()), Err(StartError::Open { .. })), "{address}");
    }
    let token = with_token(wish.clone());
    bind("0.0.0.0:0", Access::from_file(token.token_file.as_ref().unwrap()).unwrap()).unwrap();
    drop(store);
    let server = wish.start();
    for host in ["localhost", "127.0.0.1:80", "[::1]:8000"] {
        let request = format!("GET /v1/status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        server.client.raw(request.as_bytes()).expect(200);
    }
    // A page whose name was resolved to this address.
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", ""] {
        let request = format!("GET /v1/status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        server.client.raw(request.as_bytes()).refused(421, "for another host");
    }
    let asked =
        "OPTIONS /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: http://evil.example\r\n\r\n";
    let reply = server.client.raw(asked.as_bytes());
    reply.refused(405, "no such method");
    assert!(!reply.headers.contains("access-control"), "{reply:?}");
    drop(server);
    clean(&wish.root);
}

#[test]
fn tokens_are_kept_secret_and_long() {
    let wish = with_token(Wish::new("token-file"));
    let path = wish.token_file.clone().unwrap();
    Access::from_file(&path).unwrap();
    let refused = || Access::from_file(&path).unwrap_err().to_string();
    for (text, words) in [
        ("short", "5 characters; wanted 32 to 1000"),
        ("", "0 characters"),
        (&"a b".repeat(20), "got 21 words; wanted two"),
    ] {
        fs::write(&path, text).unwrap();
        assert!(refused().contains(words), "{}", refused());
    }
    fs::write(&path, TOKEN).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(refused().contains("others may read it (mode 640)"), "{}", refused());
    fs::remove_file(&path).unwrap();
    assert!(refused().contains("cannot read the token"), "{}", refused());
    clean(&wish.root);
}
