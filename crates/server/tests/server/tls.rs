//! Encrypted connections: who has the authority's certificate is answered, and what is wrong is said at the start.

use crate::{
    client::Reply,
    process::{Wish, clean},
};
use limbwise_server::Tls;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// An authority's certificate, and a certificate and key of it for a name, as PEM.
fn issued(name: &str) -> [String; 3] {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = KeyPair::generate().unwrap();
    let certificate = authority.self_signed(&root).unwrap().pem();
    let issuer = Issuer::new(authority, root);
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    [certificate, own.pem(), key.serialize_pem()]
}

fn write(wish: &Wish, name: &str, text: &str) -> PathBuf {
    let path = wish.root.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn ask(address: SocketAddr, authority: &Path, name: &'static str) -> Result<Reply, std::io::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(address)?);
    stream.write_all(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut reply = Vec::new();
    // An end without TLS's own word for it would be an error here.
    stream.read_to_end(&mut reply)?;
    Ok(Reply::parse(&reply))
}

#[test]
fn connections_are_encrypted_and_the_server_proves_who_it_is() {
    let wish = Wish::new("tls");
    let [authority, certificate, key] = issued("localhost");
    let [other, ..] = issued("localhost");
    let authority = write(&wish, "authority.pem", &authority);
    let other = write(&wish, "other.pem", &other);
    let tls = [write(&wish, "cert.pem", &certificate), write(&wish, "key.pem", &key)];
    let server = Wish { tls: Some(tls), ..wish.clone() }.start();
    let address = server.client.address;
    ask(address, &authority, "localhost").unwrap().expect(200);
    for (authority, name) in [(&other, "localhost"), (&authority, "elsewhere.example")] {
        let refused = ask(address, authority, name).unwrap_err().to_string();
        assert!(refused.contains("certificate"), "{refused}");
    }
    // Who speaks in the clear, or says nothing, gets nothing, and others go on.
    let silent = TcpStream::connect(address).unwrap();
    let mut clear = TcpStream::connect(address).unwrap();
    clear.write_all(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut said = Vec::new();
    let _ = clear.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
    ask(address, &authority, "localhost").unwrap().expect(200);
    let start = Instant::now();
    assert!(server.terminate().success());
    assert!(start.elapsed() < Duration::from_secs(9), "one who says nothing does not hold the server");
    drop(silent);
    clean(&wish.root);
}

#[test]
fn what_is_wrong_with_certificates_is_said() {
    let wish = Wish::new("tls-files");
    let [_, certificate, key] = issued("localhost");
    let [_, _, strange] = issued("localhost");
    let [cert, good] = [write(&wish, "cert.pem", &certificate), write(&wish, "key.pem", &key)];
    Tls::from_files(&cert, &good).unwrap();
    let empty = write(&wish, "empty.pem", "");
    let torn = write(&wish, "torn.pem", &certificate[..certificate.len() / 2]);
    let long = write(&wish, "long.pem", &certificate.repeat(4000));
    let strange = write(&wish, "strange.pem", &strange);
    let open = write(&wish, "open.pem", &key);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let nowhere = wish.root.join("nowhere.pem");
    for (cert, key, words) in [
        (&empty, &good, "empty.pem: has no certificate"),
        (&torn, &good, "torn.pem: is no PEM"),
        (&long, &good, "long.pem: more than 1048576 bytes"),
        (&nowhere, &good, "nowhere.pem: No such file"),
        (&cert, &empty, "empty.pem: has no private key as PEM"),
        (&cert, &cert, "cert.pem: has no private key as PEM"),
        (&cert, &strange, "strange.pem"),
        (&cert, &open, "others may read it (mode 644)"),
    ] {
        let error = Tls::from_files(cert, key).err().expect(words).to_string();
        assert!(error.contains(words), "wanted {words:?}: {error}");
    }
    clean(&wish.root);
}
