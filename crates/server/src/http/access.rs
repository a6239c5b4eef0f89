//! Authorization: clients with the token or, without a token, only programs on this machine.

use super::problem::Problem;
use crate::{
    id::shortened,
    refusal::{Refusal, StartError},
};
use axum::http::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, HOST, HeaderValue, WWW_AUTHENTICATE},
};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    io::{self, Read as _},
    net::{IpAddr, SocketAddr},
    path::Path,
};
use utoipa::{
    Modify,
    openapi::{
        OpenApi,
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};

#[derive(Clone, Debug)]
pub struct Access(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Whoever has the token with this digest. Digests are compared: how long that takes says nothing of the token.
    Token([u8; 32]),
    /// Programs of this machine. Requests must name it: a page in a browser that had its own name resolved to this
    /// address is refused.
    ThisMachine,
}

/// Fewest and most characters of a token.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=1000;
/// Names that this machine has for itself.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Access {
    /// Reads a token from a file that others must not be able to read.
    ///
    /// # Errors
    /// [`StartError::Token`].
    pub fn from_file(path: &Path) -> Result<Self, StartError> {
        let wrong = |cause: String| StartError::Token { path: path.to_owned(), cause };
        let mut text = String::new();
        let mut read = || {
            let file = fs::File::open(path)?;
            others_may_read(&file)?;
            file.take(2 * *LENGTHS.end() as u64).read_to_string(&mut text)
        };
        read().map_err(|e| wrong(format!("cannot read the token: {e}")))?;
        let token = text.trim();
        if !LENGTHS.contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let got = token.chars().count();
            return Err(wrong(format!(
                "the token has {got} characters; wanted {} to {} printable ones without spaces (make one with \"openssl rand -hex 32\")",
                LENGTHS.start(),
                LENGTHS.end()
            )));
        }
        Ok(Self(Kind::Token(Sha256::digest(token).into())))
    }

    /// Nobody but programs of this machine.
    #[must_use]
    pub fn this_machine() -> Self {
        Self(Kind::ThisMachine)
    }

    /// Whether a server may listen here.
    ///
    /// # Errors
    /// [`StartError::Open`].
    pub fn allows(&self, address: SocketAddr) -> Result<(), StartError> {
        match self.0 {
            Kind::ThisMachine if !address.ip().is_loopback() => Err(StartError::Open { address: address.to_string() }),
            _ => Ok(()),
        }
    }

    /// Whether a request may pass.
    pub(super) fn check(&self, headers: &HeaderMap, address: IpAddr) -> Result<(), Problem> {
        match &self.0 {
            Kind::Token(wanted) => check_token(headers, wanted),
            Kind::ThisMachine => check_host(headers, address),
        }
    }
}

fn check_token(headers: &HeaderMap, wanted: &[u8; 32]) -> Result<(), Problem> {
    let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let token = given.and_then(|value| value.strip_prefix(b"Bearer "));
    if token.is_some_and(|token| Sha256::digest(token)[..] == wanted[..]) {
        return Ok(());
    }
    let got = match (given, token) {
        (None, _) => "no header Authorization",
        (Some(_), None) => "another scheme",
        (Some(_), Some(_)) => "another token",
    };
    let next = "send the token of the server's --token-file";
    let refusal = Refusal::new("this server answers only who has its token", got, "Authorization: Bearer TOKEN", next);
    let challenge = HeaderValue::from_static("Bearer realm=\"limbwise\"");
    Err(Problem::new(StatusCode::UNAUTHORIZED, refusal).with(WWW_AUTHENTICATE, challenge))
}

fn check_host(headers: &HeaderMap, address: IpAddr) -> Result<(), Problem> {
    let given = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match given.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => given,
    };
    let own = match address {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    if OWN_NAMES.contains(&name) || name == own {
        return Ok(());
    }
    let next = "use the address that the server printed, or start it with --token-file to be reached by other names";
    let (what, got) = ("the request is for another host", if given.is_empty() { "none" } else { given });
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, Refusal::new(what, shortened(got), OWN_NAMES.join(", "), next)))
}

#[cfg(unix)]
fn others_may_read(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let text = format!("others may read it (mode {mode:o}); wanted mode 600 (chmod 600)");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

#[cfg(not(unix))]
fn others_may_read(_: &fs::File) -> io::Result<()> {
    Ok(())
}

/// Puts the token into the description of the API.
pub(super) struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}
