//! Authorization: clients with a token or, without a token, only programs on this machine.

use super::problem::Problem;
use crate::{
    client::{ClientName, NotAClient},
    id::shortened,
    refusal::{Refusal, StartError},
};
use axum::{
    extract::Request,
    http::{
        HeaderMap, Method, StatusCode,
        header::{AUTHORIZATION, HOST, HeaderValue, WWW_AUTHENTICATE},
    },
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    io::{self, Read as _},
    net::{IpAddr, SocketAddr},
    path::Path,
};
use subtle::ConstantTimeEq as _;
use utoipa::{
    Modify,
    openapi::{
        OpenApi,
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};
use zeroize::Zeroizing;

#[derive(Clone, Debug)]
pub struct Access(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Whoever has a token of one of these.
    Tokens(Vec<Known>),
    /// Programs of this machine. Requests must name it: a page in a browser that had its own name resolved to this
    /// address is refused.
    ThisMachine,
}

/// A client with the digest of its token.
#[derive(Clone, Debug)]
struct Known {
    client: ClientName,
    digest: [u8; 32],
}

/// Fewest and most characters of a token.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=1000;
/// Longest file of tokens.
const MOST_BYTES: u64 = 1 << 20;
/// Names that this machine has for itself.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Access {
    /// Reads tokens from a file that others must not be able to read: a line for each client with its name and its token,
    /// or one token and nothing else, whose client is the default one.
    ///
    /// # Errors
    /// [`StartError::Token`].
    pub fn from_file(path: &Path) -> Result<Self, StartError> {
        let wrong = |cause: String| StartError::Token { path: path.to_owned(), cause };
        // With room for all of it, so that no part of it stays behind in memory that was given back.
        let mut text = Zeroizing::new(String::new());
        let mut read = || {
            let file = fs::File::open(path)?;
            others_may_read(&file, path)?;
            if file.metadata()?.len() > MOST_BYTES {
                return Err(io::Error::other(format!("more than {MOST_BYTES} bytes; wanted a line for each client")));
            }
            text.reserve_exact(usize::try_from(file.metadata()?.len() + 1).unwrap_or(0));
            file.take(MOST_BYTES).read_to_string(&mut text)
        };
        read().map_err(|e| wrong(format!("cannot read the token: {e}")))?;
        parsed(&text).map(|known| Self(Kind::Tokens(known))).map_err(wrong)
    }

    /// How many clients there can be.
    pub fn clients(&self) -> usize {
        match &self.0 {
            Kind::Tokens(known) => known.len(),
            Kind::ThisMachine => 1,
        }
    }

    /// Refuses who may not see what concerns all clients together.
    pub(super) fn check_operator(&self, client: &ClientName) -> Result<(), Problem> {
        if self.clients() == 1 || client.as_ref() == ClientName::OPERATOR {
            return Ok(());
        }
        let wanted = format!("the client \"{}\"", ClientName::OPERATOR);
        let next = "give the operator a line of that name in the --token-file";
        let refusal = Refusal::new("this is about all clients, for the operator alone", client, wanted, next);
        Err(Problem::new(StatusCode::FORBIDDEN, refusal))
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

    /// Whose request it is, if it may pass.
    pub(super) fn check(&self, request: &Request, address: IpAddr) -> Result<ClientName, Problem> {
        match &self.0 {
            Kind::Tokens(known) => client_of(request, known),
            Kind::ThisMachine => check_host(request.headers(), address).map(|()| ClientName::default()),
        }
    }
}

/// The clients of a file.
fn parsed(text: &str) -> Result<Vec<Known>, String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let known = |client: ClientName, token: &str| {
        let printable = token.bytes().all(|byte| byte.is_ascii_graphic());
        if LENGTHS.contains(&token.len()) && printable {
            return Ok(Known { client, digest: Sha256::digest(token).into() });
        }
        Err(format!(
            "the token has {} characters; wanted {} to {} printable ones without spaces (make one with \"openssl rand -hex 32\")",
            token.chars().count(),
            LENGTHS.start(),
            LENGTHS.end()
        ))
    };
    if lines().count() <= 1 && lines().all(|line| !line.contains(char::is_whitespace)) {
        return Ok(vec![known(ClientName::default(), lines().next().unwrap_or_default())?]);
    }
    let mut all: Vec<Known> = Vec::new();
    for (at, line) in lines().enumerate() {
        let here = |cause: String| format!("client {}: {cause}", at + 1);
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, token] = words[..] else {
            return Err(here(format!("got {} words; wanted two: a name and a token without spaces", words.len())));
        };
        let new = known(name.parse().map_err(|e: NotAClient| here(e.to_string()))?, token).map_err(here)?;
        if all.iter().any(|old| old.client == new.client || old.digest == new.digest) {
            return Err(here(format!("{name}: its name or its token stands there before; wanted each once")));
        }
        all.push(new);
    }
    Ok(all)
}

/// The page in a browser, which asks for a password and sends it by itself, also for pages of others: so it may only look.
const PAGE: &str = "/";

fn client_of(request: &Request, known: &[Known]) -> Result<ClientName, Problem> {
    let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let looks = request.uri().path() == PAGE && matches!(*request.method(), Method::GET | Method::HEAD);
    let bearer = given.and_then(|value| value.strip_prefix(b"Bearer ")).map(<[u8]>::to_vec);
    let token = bearer.or_else(|| given.filter(|_| looks).and_then(password));
    if let Some(client) = token.as_ref().and_then(|token| client_with(token, known)) {
        return Ok(client.clone());
    }
    let got = match (given, token) {
        (None, _) => "no header Authorization",
        (Some(_), None) => "another scheme",
        (Some(_), Some(_)) => "another token",
    };
    let next = "send the token that the operator has put into the server's --token-file for you";
    let refusal = Refusal::new("this server answers only who has a token", got, "Authorization: Bearer TOKEN", next);
    let challenge =
        if looks { "Basic realm=\"limbwise (any name, and your token)\"" } else { "Bearer realm=\"limbwise\"" };
    Err(Problem::new(StatusCode::UNAUTHORIZED, refusal).with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
}

/// The client with this token. Digests are compared, in the same time wherever they differ, and all of them, wherever the
/// right one stands: how long it takes says nothing of any token.
fn client_with<'a>(token: &[u8], known: &'a [Known]) -> Option<&'a ClientName> {
    let digest: [u8; 32] = Sha256::digest(token).into();
    known
        .iter()
        .fold(None, |found, known| if bool::from(known.digest.ct_eq(&digest)) { Some(&known.client) } else { found })
}

/// The password of a header as browsers send it (RFC 7617); the name before it is not looked at.
fn password(header: &[u8]) -> Option<Vec<u8>> {
    let pair = STANDARD.decode(header.strip_prefix(b"Basic ")?).ok()?;
    let at = pair.iter().position(|&byte| byte == b':')?;
    Some(pair[at + 1..].to_vec())
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
pub(super) fn others_may_read(file: &fs::File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let text = format!("others may read it (mode {mode:o}); wanted mode 600 (chmod 600 {})", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn others_may_read(_: &fs::File, _: &Path) -> io::Result<()> {
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
