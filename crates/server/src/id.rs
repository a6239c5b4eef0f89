//! Identifiers of stored objects. Only the server or a hash makes them, so that no name leads out of the directory.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};
use std::{borrow::Cow, fmt, str::FromStr};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, SchemaFormat, Type},
};
use uuid::Uuid;

/// A file, named by the SHA-256 of its bytes: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId([u8; 32]);

/// An upload or a job: a random UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Uuid);

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("got {got:?}, wanted {wanted}")]
pub struct NotAName {
    got: String,
    wanted: &'static str,
}

impl FileId {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    #[must_use]
    pub fn finish(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for FileId {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let wanted = "a SHA-256 as 64 hexadecimal digits, small letters";
        let wrong = || NotAName { got: shortened(text), wanted };
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(wrong()),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let mut id = [0; 32];
        if pairs.len() != id.len() || !rest.is_empty() {
            return Err(wrong());
        }
        for (byte, [high, low]) in id.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(id))
    }
}

impl Id {
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for Id {
    type Err = NotAName;

    /// Only the form that [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, NotAName> {
        let parsed = Uuid::try_parse(text).ok().map(Self).filter(|id| id.to_string() == text);
        parsed.ok_or_else(|| NotAName { got: shortened(text), wanted: "a UUID as the server gave it" })
    }
}

/// What is quoted of a text from outside.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

macro_rules! text_in_json {
    ($name:ident, $schema:expr) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }

        impl ToSchema for $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema(ObjectBuilder::new().schema_type(Type::String)).into()
            }
        }
    };
}

text_in_json!(FileId, |text: ObjectBuilder| text.pattern(Some("^[0-9a-f]{64}$")));
text_in_json!(Id, |text: ObjectBuilder| {
    let pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
    text.format(Some(SchemaFormat::Custom("uuid".into()))).pattern(Some(pattern))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written_and_in_no_other_form() {
        let file = FileId::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-4's example
        assert_eq!(file.to_string(), text);
        assert_eq!(text.parse(), Ok(file));
        let id = Id::random();
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "../../etc/passwd", &text[1..], &text.to_uppercase(), &text.replace('b', "g"), "é"] {
            assert!(wrong.parse::<FileId>().is_err(), "{wrong}");
        }
        let plain = id.to_string().replace('-', "");
        for wrong in ["", "..", &plain, &id.to_string().to_uppercase(), &format!("{{{id}}}"), "urn:uuid:0"] {
            assert!(wrong.parse::<Id>().is_err() || wrong == id.to_string(), "{wrong}");
        }
    }
}
