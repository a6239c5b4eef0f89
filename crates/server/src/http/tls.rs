//! TLS: the certificates and the key of a server, read once when it starts.

use super::{access::others_may_read, pem};
use crate::refusal::StartError;
use rustls::{
    Error as TlsError, InconsistentKeys, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
    sign::{CertifiedKey, SingleCertAndKey},
};
use std::{
    fs,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

/// What a server shows of itself, and proves.
#[derive(Clone)]
pub struct Tls(pub(super) TlsAcceptor);

/// Longest file of certificates or of a key.
const MOST_BYTES: u64 = 1 << 20;

impl Tls {
    /// Reads a chain of certificates, the server's own first, and its key, which others must not be able to read; both as
    /// PEM. Versions of TLS are 1.2 and 1.3, ciphers what rustls holds safe.
    ///
    /// # Errors
    /// [`StartError::Tls`].
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, StartError> {
        let wrong = |path: &Path, cause: String| StartError::Tls { path: path.to_owned(), cause };
        let text = read(certificates, |_| Ok(())).map_err(|e| wrong(certificates, e.to_string()))?;
        let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|e| wrong(certificates, format!("is no PEM: {e}")))?;
        if chain.is_empty() {
            return Err(wrong(certificates, "has no certificate; wanted the server's own, then those above it".into()));
        }
        let text = read(key, |file| others_may_read(file, key)).map_err(|e| wrong(key, e.to_string()))?;
        let secret = pem::private_key(&text).ok_or_else(|| wrong(key, "has no private key as PEM".into()))?;
        let signing = ring::sign::any_supported_type(&secret.der());
        let signing = signing.map_err(|e| wrong(key, format!("has a private key of no known kind: {e}")))?;
        drop((secret, text));
        let certified = CertifiedKey::new(chain, signing);
        match certified.keys_match() {
            // Unknown: a kind of key whose public half cannot be compared.
            Ok(()) | Err(TlsError::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(e) => return Err(wrong(certificates, format!("does not go with {}: {e}", key.display()))),
        }
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(|e| wrong(certificates, e.to_string()))?;
        let certified = Arc::new(SingleCertAndKey::from(certified));
        let mut config = config.with_no_client_auth().with_cert_resolver(certified);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

fn read(path: &Path, check: impl Fn(&fs::File) -> io::Result<()>) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = fs::File::open(path)?;
    check(&file)?;
    // With room for all of it, so that no part of a key stays behind in memory that was given back.
    let room = usize::try_from(file.metadata()?.len().min(MOST_BYTES) + 1).unwrap_or(0);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("more than {MOST_BYTES} bytes; wanted certificates or a key as PEM")));
    }
    Ok(bytes)
}
