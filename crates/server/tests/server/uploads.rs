//! Files come in whole or not at all.

use crate::process::{Wish, clean};
use limbwise_server::id::FileId;
use serde_json::json;

#[test]
fn chunks_come_in_order_and_make_the_file() {
    let wish = Wish::new("chunks");
    let server = wish.start();
    let client = &server.client;
    let file = [b"CIPHERTEXT ".to_vec(), (0..25_000u32).map(|x| x.to_le_bytes()[0]).collect()].concat();
    let id = client.begin(&file);
    let path = format!("/v1/uploads/{id}");
    client.chunk(&id, 10_000, &file[10_000..20_000]).refused(409, "wanted\":\"offset 0");
    assert_eq!(client.chunk(&id, 0, &file[..10_000]).expect(200)["received"], 10_000);
    client.chunk(&id, 0, &file[..10_000]).refused(409, "offset 10000, where the bytes received so far end");
    client.chunk(&id, 20_000, &file[20_000..]).refused(409, "out of order");
    client.chunk(&id, 10_000, &[]).refused(422, "does not fit");
    let line = format!("PUT {path}/chunk?offset=10000&sha256={}", FileId::of(b"other"));
    let bytes = Some("application/octet-stream");
    client.send(&line, bytes, &file[10_000..20_000]).refused(422, "do not have its digest");
    client.chunk(&id, 10_000, &file[10_000..20_001]).refused(413, "at most 10000 bytes");
    client.chunk(&id, 10_000, &file[10_000..20_000]).expect(200);
    client.chunk(&id, 20_000, &[&file[20_000..], b"more"].concat()).refused(422, "does not fit");
    let upload = client.chunk(&id, 20_000, &file[20_000..]).expect(200);
    assert_eq!(upload["kind"], "a ciphertext");
    let upload = client.until(&path, |upload| upload["state"] != "checking");
    assert_eq!((&upload["state"], &upload["received"]), (&json!("complete"), &json!(file.len())));
    client.chunk(&id, file.len(), b"more").refused(409, "the upload is complete");

    let place = format!("/v1/files/{}", FileId::of(&file));
    let record = json!({"id": FileId::of(&file), "bytes": file.len(), "kind": "a ciphertext"});
    assert_eq!(client.get(&place).expect(200), record);
    assert_eq!(client.get("/v1/files").expect(200), json!([record]));
    let whole = client.get(&format!("{place}/content"));
    assert_eq!((whole.status, &whole.body), (200, &file));
    let part =
        format!("GET {place}/content HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nRange: bytes=20000-\r\n\r\n");
    let part = client.raw(part.as_bytes());
    assert_eq!((part.status, &part.body[..]), (206, &file[20_000..]));
    assert!(
        part.headers.contains(&format!("content-range: bytes 20000-{}/{}", file.len() - 1, file.len())),
        "{part:?}"
    );
    let beyond = "Host: localhost\r\nConnection: close\r\nRange: bytes=30000-\r\n\r\n";
    client.raw(format!("GET {place}/content HTTP/1.1\r\n{beyond}").as_bytes()).refused(416, "within 0 to 25010");

    // What is there need not be sent again.
    let again = client.announce(file.len(), FileId::of(&file)).expect(201);
    assert_eq!((&again["state"], &again["received"]), (&json!("complete"), &json!(file.len())));
    client.announce(5, FileId::of(&file)).refused(422, "another length");
    client.delete(&path).expect(204);
    client.get(&path).refused(404, "there is no such upload");
    client.delete(&place).expect(204);
    client.get(&place).refused(404, "there is no such file");
    drop(server);
    clean(&wish.root);
}

#[test]
fn what_is_not_what_was_announced_does_not_stay() {
    let wish = Wish::new("refused");
    let server = wish.start();
    let client = &server.client;
    let upload = client.announce(10, FileId::of(b"CIPHERTEXT")).expect(201);
    let id = upload["id"].as_str().unwrap();
    client.chunk(id, 0, b"CIPHERTEXX").refused(422, "unknown bytes");
    let upload = client.announce(12, FileId::of(b"CIPHERTEXT 1")).expect(201);
    let id = upload["id"].as_str().unwrap();
    client.chunk(id, 0, b"CIPHERTEXT 2").expect(200);
    let upload = client.until(&format!("/v1/uploads/{id}"), |upload| upload["state"] != "checking");
    assert_eq!(upload["state"], "refused");
    assert!(upload["refusal"]["what"].as_str().unwrap().contains("announced digest"), "{upload}");
    // A secret key never reaches the disk.
    let secret = [b"SECRET ".to_vec(), vec![7; 9000]].concat();
    let id = client.begin(&secret);
    client.chunk(&id, 0, &secret[..5000]).refused(422, "this is a secret key");
    assert_eq!(client.get(&format!("/v1/uploads/{id}")).expect(200)["state"], "refused");
    assert!(!wish.state().join("uploads").join(&id).join("data").exists());
    // In small pieces it is known as soon as its beginning is there.
    let id = client.begin(&secret);
    client.chunk(&id, 0, &secret[..4000]).expect(200);
    client.chunk(&id, 4000, &secret[4000..4200]).refused(422, "this is a secret key");
    assert!(!wish.state().join("uploads").join(&id).join("data").exists());
    assert_eq!(client.get("/v1/files").expect(200), json!([]));
    drop(server);
    clean(&wish.root);
}

#[test]
fn limits_hold_for_each_and_for_all() {
    let wish = Wish { upload_bytes: 1000, total_bytes: 2500, ..Wish::new("limits") };
    let server = wish.start();
    let client = &server.client;
    let announce = |bytes: usize, name: &str| client.announce(bytes, FileId::of(name.as_bytes()));
    announce(1001, "a").refused(413, "1 to 1000 bytes");
    announce(0, "a").refused(422, "an empty file");
    let first = announce(1000, "a").expect(201);
    announce(1000, "b").expect(201);
    announce(501, "c").refused(413, "2000 in use or promised");
    assert_eq!(client.get("/v1/status").expect(200)["used_bytes"], 2000);
    announce(500, "c").expect(201);
    client.delete(&format!("/v1/uploads/{}", first["id"].as_str().unwrap())).expect(204);
    announce(1, "d").expect(201);
    announce(1, "e").expect(201);
    announce(1, "f").refused(429, "at most 4");
    drop(server);
    clean(&wish.root);
}
