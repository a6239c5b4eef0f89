//! A parameter set as the user writes it: public plain data that nothing has checked yet.

use super::{bootstrap::BootstrapLiteral, error::ParamsError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A prime, given by its size or exactly. Written as one number: up to 61 it is a size in bits, above it is the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "u64", into = "u64")]
pub enum PrimeChoice {
    /// The largest free prime near 2^bits.
    Bits(u32),
    /// Exactly this prime.
    Exact(u64),
}

impl From<u64> for PrimeChoice {
    fn from(number: u64) -> Self {
        match u32::try_from(number) {
            Ok(bits) if bits <= 61 => Self::Bits(bits),
            _ => Self::Exact(number),
        }
    }
}

impl From<PrimeChoice> for u64 {
    fn from(choice: PrimeChoice) -> Self {
        match choice {
            PrimeChoice::Bits(bits) => bits.into(),
            PrimeChoice::Exact(prime) => prime,
        }
    }
}

impl PrimeChoice {
    /// log₂ of the prime, or its approximate value if only the size is given.
    #[must_use]
    pub fn log2(self) -> f64 {
        match self {
            Self::Bits(bits) => f64::from(bits),
            Self::Exact(prime) => limbwise_math::rns::to_f64(prime).log2(),
        }
    }
}

/// Distribution of the secret key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Secret {
    /// Uniform in {−1, 0, 1}.
    #[default]
    Ternary,
    /// Exactly this many coefficients are ±1.
    FixedWeight(usize),
}

/// The security table to check against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standard {
    /// Security Guidelines for Implementing Homomorphic Encryption, 2024 \[SG24\].
    #[default]
    Guidelines2024,
    /// HomomorphicEncryption.org, 2018 \[HES18\], slightly laxer: for comparison with sources that used it.
    HomomorphicEncryption2018,
}

/// Longest reason, in characters.
const MOST_REASON: usize = 500;

/// Override of the 128-bit minimum, with a reason that every report prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Insecure {
    /// Reason for the override.
    pub reason: String,
}

impl Insecure {
    /// Refuses a reason that is blank, or that could control the terminal it is printed on.
    ///
    /// # Errors
    /// [`ParamsError::Range`] for a reason without a visible character, with a control character (including invisible
    /// and bidirectional ones), or of more than 500 characters.
    pub fn check(&self) -> Result<(), ParamsError> {
        let reason = &self.reason;
        let wanted = if reason.chars().any(is_control) {
            "a reason in one line of printable characters"
        } else if !reason.chars().any(is_visible) {
            "a reason for going below 128 bits, in words"
        } else if reason.chars().count() > MOST_REASON {
            "a reason of at most 500 characters"
        } else {
            return Ok(());
        };
        let got = format!("{:?}", reason.chars().take(40).collect::<String>());
        Err(ParamsError::Range { field: "insecure.reason", got, wanted: wanted.into() })
    }
}

/// Characters with an effect instead of a glyph: control codes, line separators, bidirectional controls.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters with a visible glyph: letters, digits, signs; no space, zero-width character or blank filler.
fn is_visible(c: char) -> bool {
    let blank = c.is_whitespace()
        || is_control(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        )
        || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}')
        || matches!(c, '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' | '\u{300}'..='\u{36f}');
    !blank
}

fn default_sigma() -> f64 {
    3.2
}

/// The primes of levels that are made of whole words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// Bits of a word: 21 to 61, and at least three more than log₂ N.
    pub bits: u32,
    /// Bits of each short prime, at most six: some of them make up what words leave of a level.
    pub short: Vec<u32>,
}

/// A CKKS parameter set as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// log₂ of the ring degree, 10 … 17.
    pub log_n: u32,
    /// The primes of each level, level 0 first: a rescale from level ℓ drops the primes of `levels[ℓ]`.
    pub levels: Vec<Vec<PrimeChoice>>,
    /// Makes the moduli of the user's levels and of those below of whole words: `levels` then says by how many bits they
    /// differ. `None` for a chain, where a level has the primes of the level below and its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Words>,
    /// The special primes P of key switching.
    pub special: Vec<PrimeChoice>,
    /// Number of digits of hybrid key switching at the top level.
    pub dnum: usize,
    /// Ciphertexts at this level and below have keys of their own, of one digit and no more special primes than cover it:
    /// fewer limbs where much is computed at low levels. `None` for one kind of key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_level: Option<usize>,
    /// log₂ of the default scale.
    pub log_scale: u32,
    /// Distribution of the secret key.
    #[serde(default)]
    pub secret: Secret,
    /// Standard deviation of the errors.
    #[serde(default = "default_sigma", deserialize_with = "limbwise_math::finite::field")]
    pub sigma: f64,
    /// The security table to check against.
    #[serde(default)]
    pub standard: Standard,
    /// Override for sets below 128 bits; `None` refuses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<Insecure>,
    /// Bootstrapping; `None` for sets without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<BootstrapLiteral>,
}

impl ParamsLiteral {
    /// A chain of `depth` single-prime levels at the scale above a first prime, with the default secret and errors.
    #[must_use]
    pub fn chain(log_n: u32, first: u32, scale: u32, depth: usize, special: (u32, usize), dnum: usize) -> Self {
        let mut levels = vec![vec![PrimeChoice::Bits(first)]];
        levels.extend((0..depth).map(|_| vec![PrimeChoice::Bits(scale)]));
        Self {
            log_n,
            levels,
            words: None,
            special: vec![PrimeChoice::Bits(special.0); special.1],
            dnum,
            low_level: None,
            log_scale: scale,
            secret: Secret::default(),
            sigma: default_sigma(),
            standard: Standard::default(),
            insecure: None,
            bootstrapping: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_can_be_read_and_drive_no_terminal() {
        let check = |reason: &str| Insecure { reason: reason.into() }.check();
        for good in ["a test", "x", "速度試験", "the source's dimension 500 is kept: 80.6 bits", "👩‍🔬 measures"]
        {
            assert!(check(good).is_ok(), "{good:?}");
        }
        for blank in [
            "",
            " ",
            "\u{a0}\u{2003}",
            "\u{200b}",
            "\u{200d}\u{2060}\u{feff}",
            "\u{ad}",
            "\u{3164}",
            "\u{2800}",
            "\u{e0041}",
        ] {
            assert!(check(blank).unwrap_err().to_string().contains("in words"), "{blank:?}");
        }
        for control in [
            "\n",
            "a\nb",
            "a\u{1b}[2J",
            "ok\r",
            "tab\there",
            "\u{7f}x",
            "\u{9b}31mx",
            "a\u{202e}b",
            "a\u{2028}b",
            "a\u{2066}b",
        ] {
            let refused = check(control).unwrap_err().to_string();
            assert!(
                refused.contains("one line of printable") && !refused.chars().any(is_control),
                "{control:?}: {refused}"
            );
        }
        assert!(check(&"x".repeat(500)).is_ok() && check(&"x".repeat(501)).is_err());
    }
}
