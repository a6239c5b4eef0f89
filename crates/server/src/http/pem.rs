//! A private key in PEM (RFC 7468), decoded without look-ups, in memory that is wiped.
//!
//! The readers of other crates leave the text or the decoded key in memory that they give back.

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use zeroize::Zeroizing;

/// The kinds of a private key, as PEM names them.
const KINDS: [(&str, Kind); 3] =
    [("PRIVATE KEY", Kind::Pkcs8), ("RSA PRIVATE KEY", Kind::Pkcs1), ("EC PRIVATE KEY", Kind::Sec1)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pkcs8,
    Pkcs1,
    Sec1,
}

/// A decoded key; wiped when dropped.
pub(super) struct Decoded {
    kind: Kind,
    bytes: Zeroizing<Vec<u8>>,
}

impl Decoded {
    /// The key as rustls takes it, in place.
    pub(super) fn der(&self) -> PrivateKeyDer<'_> {
        match self.kind {
            Kind::Pkcs8 => PrivatePkcs8KeyDer::from(&self.bytes[..]).into(),
            Kind::Pkcs1 => PrivatePkcs1KeyDer::from(&self.bytes[..]).into(),
            Kind::Sec1 => PrivateSec1KeyDer::from(&self.bytes[..]).into(),
        }
    }
}

/// The first private key of a text; none if there is none, or one that is cut short or no base64.
pub(super) fn private_key(text: &[u8]) -> Option<Decoded> {
    let mut lines = text.split(|&byte| byte == b'\n' || byte == b'\r').map(<[u8]>::trim_ascii);
    let named = |line: &[u8], mark: &str| {
        let name = line.strip_prefix(mark.as_bytes())?.strip_suffix(b"-----")?;
        KINDS.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, kind)| kind)
    };
    let kind = lines.by_ref().find_map(|line| named(line, "-----BEGIN "))?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    // Six bits a letter; padding ends them.
    let (mut word, mut bits, mut padding, mut wrong) = (0u32, 0u32, 0usize, 0i32);
    for line in lines {
        if line.starts_with(b"-----") {
            let ends = named(line, "-----END ") == Some(kind) && wrong == 0 && padding <= 2 && bits < 6;
            return (ends && !bytes.is_empty()).then_some(Decoded { kind, bytes });
        }
        for &letter in line {
            if letter == b'=' {
                padding += 1;
                continue;
            }
            let sextet = sextet(letter);
            // Letters after the padding are wrong, and so is what is no letter.
            wrong |= i32::from(padding > 0) | (sextet >> 31);
            word = word << 6 | sextet.cast_unsigned() & 63;
            bits += 6;
            if bits >= 8 {
                bits -= 8;
                bytes.push(u8::try_from(word >> bits & 255).unwrap_or_default());
            }
        }
    }
    None
}

/// The six bits of a letter of base64, −1 for any other; no branch and no look-up depends on the letter.
fn sextet(letter: u8) -> i32 {
    let c = i32::from(letter);
    // All ones where low ≤ c ≤ high.
    let within = |low: u8, high: u8| (i32::from(low) - 1 - c) & (c - i32::from(high) - 1) & i32::MIN;
    let chosen = |low: u8, high: u8, value: i32| (within(low, high) >> 31) & (value + 1);
    -1 + chosen(b'A', b'Z', c - i32::from(b'A'))
        + chosen(b'a', b'z', c - i32::from(b'a') + 26)
        + chosen(b'0', b'9', c - i32::from(b'0') + 52)
        + chosen(b'+', b'+', 62)
        + chosen(b'/', b'/', 63)
}

#[cfg(test)]
mod tests {
    use super::{private_key, sextet};
    use base64::{Engine as _, engine::general_purpose::STANDARD};

    #[test]
    fn letters_are_those_of_base64() {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for letter in 0..=255u8 {
            let at = LETTERS.iter().position(|&other| other == letter);
            assert_eq!(sextet(letter), at.map_or(-1, |at| i32::try_from(at).unwrap()), "{letter}");
        }
    }

    #[test]
    fn keys_of_every_length_and_kind_are_decoded() {
        for (name, kind) in super::KINDS {
            for length in 1..100 {
                let key: Vec<u8> = (0..length).map(|i: u8| i.wrapping_mul(37) ^ length).collect();
                let letters = STANDARD.encode(&key);
                let lines: Vec<&str> =
                    letters.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
                let text = format!(
                    "of a certificate: AAAA\r\n-----BEGIN {name}-----\r\n{}\r\n-----END {name}-----\r\n",
                    lines.join("\r\n")
                );
                let found = private_key(text.as_bytes()).unwrap();
                assert_eq!((found.kind, &found.bytes[..]), (kind, &key[..]));
            }
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let of = |begin: &str, body: &str, end: &str| format!("-----BEGIN {begin}-----\n{body}\n-----END {end}-----\n");
        assert!(private_key(of("PRIVATE KEY", "AAAA", "PRIVATE KEY").as_bytes()).is_some());
        for (begin, body, end) in [
            ("PRIVATE KEY", "AAAA", "EC PRIVATE KEY"),
            ("CERTIFICATE", "AAAA", "CERTIFICATE"),
            ("ENCRYPTED PRIVATE KEY", "AAAA", "ENCRYPTED PRIVATE KEY"),
            ("PRIVATE KEY", "AA*A", "PRIVATE KEY"),
            ("PRIVATE KEY", "AA=A", "PRIVATE KEY"),
            ("PRIVATE KEY", "A===", "PRIVATE KEY"),
            ("PRIVATE KEY", "AAAAA", "PRIVATE KEY"),
            ("PRIVATE KEY", "", "PRIVATE KEY"),
        ] {
            assert!(private_key(of(begin, body, end).as_bytes()).is_none(), "{begin} {body} {end}");
        }
        assert!(private_key(b"-----BEGIN PRIVATE KEY-----\nAAAA\n").is_none());
        assert!(private_key(b"").is_none());
    }
}
