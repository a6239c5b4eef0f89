//! Numbers that come from outside: files, command lines, other languages.
//!
//! NaN compares as neither above nor below any bound, so it passes every check of the form "refuse if above". NaN and
//! infinities are therefore refused here, where numbers enter.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::{fmt, str::FromStr};

/// A float that is a number: not NaN, not infinite. Written and read as the number itself.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Finite(f64);

/// The input is no finite number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "got {got}, wanted a finite number: nan, inf and what is beyond 10^308 are none; write one such as 0.5 or 1e-9"
)]
pub struct NotFinite {
    got: String,
}

/// Longest part of a wrong text that an error repeats, in characters.
const MOST_SHOWN: usize = 40;

impl Finite {
    /// The number, if it is finite.
    ///
    /// # Errors
    /// [`NotFinite`].
    pub fn new(x: f64) -> Result<Self, NotFinite> {
        if x.is_finite() { Ok(Self(x)) } else { Err(NotFinite { got: x.to_string() }) }
    }

    /// The number as a float.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Finite {
    type Error = NotFinite;

    fn try_from(x: f64) -> Result<Self, NotFinite> {
        Self::new(x)
    }
}

impl From<Finite> for f64 {
    fn from(x: Finite) -> Self {
        x.0
    }
}

impl FromStr for Finite {
    type Err = NotFinite;

    fn from_str(text: &str) -> Result<Self, NotFinite> {
        let wrong = || NotFinite { got: format!("{:?}", text.chars().take(MOST_SHOWN).collect::<String>()) };
        Self::new(text.trim().parse().map_err(|_| wrong())?).map_err(|_| wrong())
    }
}

impl fmt::Display for Finite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A finite number from a text: for options of a command line.
///
/// # Errors
/// [`NotFinite`].
pub fn parse(text: &str) -> Result<f64, NotFinite> {
    text.parse().map(Finite::get)
}

/// A finite number from a text, between two bounds, both included.
///
/// # Errors
/// A text with the input and the range wanted.
pub fn parse_within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let x = parse(text).map_err(|e| e.to_string())?;
    if x >= least && x <= most { Ok(x) } else { Err(format!("got {x}, wanted a number from {least} to {most}")) }
}

/// A field `f64` that takes finite numbers only: `#[serde(deserialize_with = "limbwise_math::finite::field")]`.
///
/// # Errors
/// Errors of the format; [`NotFinite`].
pub fn field<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Finite::new(f64::deserialize(from)?).map(Finite::get).map_err(D::Error::custom)
}

/// [`field`] for a list.
///
/// # Errors
/// Errors of the format; [`NotFinite`].
pub fn fields<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    Ok(Vec::<Finite>::deserialize(from)?.into_iter().map(Finite::get).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::value::{Error, F64Deserializer, SeqDeserializer};

    #[test]
    fn only_numbers_are_taken() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Finite::new(x).unwrap_err().to_string().contains("wanted a finite number"));
            assert!(field(F64Deserializer::<Error>::new(x)).is_err());
            assert!(Finite::deserialize(F64Deserializer::<Error>::new(x)).is_err());
            assert!(fields(SeqDeserializer::<_, Error>::new([1.0, x].into_iter())).is_err());
        }
        for text in ["nan", "NaN", "inf", "-inf", "infinity", "1e999", "-1e999", "", "x", "1,5", "0x10"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        for (text, x) in [("0", 0.0), ("-0.5", -0.5), (" 1e-9 ", 1e-9), ("1e308", 1e308)] {
            assert_eq!(parse(text), Ok(x));
            assert_eq!(field(F64Deserializer::<Error>::new(x)).unwrap().to_bits(), x.to_bits());
        }
        assert_eq!(fields(SeqDeserializer::<_, Error>::new([1.0, 2.5].into_iter())), Ok(vec![1.0, 2.5]));
    }

    #[test]
    fn bounds_are_included_and_hold() {
        assert_eq!(parse_within("2", 1.0, 2.0), Ok(2.0));
        for text in ["0.9", "2.1", "nan", "inf"] {
            assert!(parse_within(text, 1.0, 2.0).is_err(), "{text}");
        }
        assert_eq!(parse_within("3", 1.0, 2.0).unwrap_err(), "got 3, wanted a number from 1 to 2");
    }
}
