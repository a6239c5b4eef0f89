//! Names of clients: whose a file, an upload or a job is.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// The name of a client: 1 to 64 small letters, digits, dots, hyphens and underscores, a letter or digit first. It is a
/// folder's name as well, and systems that take large and small letters for the same must not join two clients.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClientName(Arc<str>);

/// A text that is no name of a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "got {got:?} as the name of a client; wanted 1 to {MOST} small letters, digits, \".\", \"-\" and \"_\", a letter or digit first"
)]
pub struct NotAClient {
    got: String,
}

const MOST: usize = 64;

impl ClientName {
    /// Who is allowed to see the whole server, where there are several clients.
    pub const OPERATOR: &'static str = "operator";
}

/// Whoever comes without a name: with the only token, or on this machine without one. Records from before there were
/// names are theirs.
impl Default for ClientName {
    fn default() -> Self {
        Self("default".into())
    }
}

impl FromStr for ClientName {
    type Err = NotAClient;

    fn from_str(text: &str) -> Result<Self, NotAClient> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        let first = bytes.first().is_some_and(|&byte| plain(byte));
        if first && bytes.len() <= MOST && bytes.iter().all(|&byte| plain(byte) || b"._-".contains(&byte)) {
            return Ok(Self(text.into()));
        }
        Err(NotAClient { got: crate::id::shortened(text) })
    }
}

impl TryFrom<String> for ClientName {
    type Error = NotAClient;

    fn try_from(text: String) -> Result<Self, NotAClient> {
        text.parse()
    }
}

impl From<ClientName> for String {
    fn from(name: ClientName) -> Self {
        name.0.as_ref().into()
    }
}

impl AsRef<str> for ClientName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ToSchema for ClientName {}

impl PartialSchema for ClientName {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[a-z0-9][a-z0-9._-]{0,63}$")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for name in ["a", "default", "lab-2.example_x", "0"] {
            assert_eq!(name.parse::<ClientName>().unwrap().to_string(), name);
        }
        let long = "a".repeat(65);
        for wrong in ["", ".", "..", "-a", "A", "a/b", "a b", "é", "a\n", &long] {
            assert!(wrong.parse::<ClientName>().is_err(), "{wrong:?}");
        }
        assert!(serde_json::from_str::<ClientName>("\"../x\"").is_err());
    }
}
