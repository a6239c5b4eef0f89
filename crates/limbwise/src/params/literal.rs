//! What a user writes down: public, plain data, not yet trusted.

use super::bootstrap::BootstrapLiteral;
use serde::{Deserialize, Serialize};

/// A prime by its size, or itself. Written as one number: up to 61 it is a size in bits, above it is the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub enum PrimeChoice {
    /// The engine chooses a prime of about 2^bits.
    Bits(u32),
    /// This prime.
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
    /// log₂ of the prime, or of about what it will be.
    #[must_use]
    pub fn log2(self) -> f64 {
        match self {
            Self::Bits(bits) => f64::from(bits),
            Self::Exact(prime) => limbwise_math::rns::to_f64(prime).log2(),
        }
    }
}

/// Distribution of the secret key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Secret {
    /// Uniform in {−1, 0, 1}.
    #[default]
    Ternary,
    /// Exactly so many ±1.
    FixedWeight(usize),
}

/// Whose table decides about security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standard {
    /// Security Guidelines for Implementing Homomorphic Encryption, 2024 \[SG24\].
    #[default]
    Guidelines2024,
    /// HomomorphicEncryption.org, 2018 \[HES18\]: for comparisons with sources that used it; somewhat laxer.
    HomomorphicEncryption2018,
}

/// Leave to go below 128 bits, with the reason that every report prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Insecure {
    /// Why this set may be insecure.
    pub reason: String,
}

fn default_sigma() -> f64 {
    3.2
}

/// A CKKS parameter set as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// log₂ of the ring degree, 10 … 17.
    pub log_n: u32,
    /// The primes of each level, level 0 first: a rescale from level ℓ drops the primes of `levels[ℓ]`.
    pub levels: Vec<Vec<PrimeChoice>>,
    /// The special primes P of key switching.
    pub special: Vec<PrimeChoice>,
    /// Number of digits of hybrid key switching at the top level.
    pub dnum: usize,
    /// log₂ of the default scale.
    pub log_scale: u32,
    /// Distribution of the secret.
    #[serde(default)]
    pub secret: Secret,
    /// Standard deviation of the errors.
    #[serde(default = "default_sigma")]
    pub sigma: f64,
    /// Whose security table.
    #[serde(default)]
    pub standard: Standard,
    /// Leave to go below 128 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<Insecure>,
    /// How ciphertexts are bootstrapped, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<BootstrapLiteral>,
}

impl ParamsLiteral {
    /// A chain of `depth` single-prime levels at the scale above a first prime, secure secret and errors.
    #[must_use]
    pub fn chain(log_n: u32, first: u32, scale: u32, depth: usize, special: (u32, usize), dnum: usize) -> Self {
        let mut levels = vec![vec![PrimeChoice::Bits(first)]];
        levels.extend((0..depth).map(|_| vec![PrimeChoice::Bits(scale)]));
        Self {
            log_n,
            levels,
            special: vec![PrimeChoice::Bits(special.0); special.1],
            dnum,
            log_scale: scale,
            secret: Secret::default(),
            sigma: default_sigma(),
            standard: Standard::default(),
            insecure: None,
            bootstrapping: None,
        }
    }
}
