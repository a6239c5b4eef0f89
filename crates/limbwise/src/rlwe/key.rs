//! Public keys of RLWE schemes: names, contents, restriction to a level.

use crate::{
    error::{KeyError, Result},
    params::Params,
};
use limbwise_device::{Basis, Device, GadgetKey, KeyId, Role, Shape};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::sync::Arc;

/// Name of an evaluation key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyName {
    /// Switches s² → s.
    Relinearization,
    /// Switches s(X^g) → s.
    Galois(GaloisElement),
    /// Switches the main secret to the ephemeral one, at level 0 only.
    Encapsulation,
    /// Switches the ephemeral secret to the main one.
    Decapsulation,
    /// Switches the big LWE key of a TFHE client, as a polynomial, to the main secret, at level 0 only.
    FromLwe,
    /// Switches s(X^g) → s at level 0 only, with the few special primes of an encapsulation: for packing.
    Packing(GaloisElement),
    /// [`Self::Relinearization`] at low levels ([`Params::is_low`]).
    LowRelinearization,
    /// [`Self::Galois`] at low levels.
    LowGalois(GaloisElement),
}

/// Offset of packing keys' identities, above all Galois elements.
const PACKING: u32 = 1 << 20;
/// Offset of the identities of low Galois keys.
const LOW: u32 = 1 << 21;

impl KeyName {
    /// The identity in recordings and on devices: a fixed even number, the Galois element, or 2^20 plus the Galois
    /// element for packing.
    #[must_use]
    pub fn id(self) -> KeyId {
        match self {
            Self::Relinearization => KeyId(0),
            Self::Galois(g) => KeyId(g.value()),
            Self::Encapsulation => KeyId(2),
            Self::Decapsulation => KeyId(4),
            Self::FromLwe => KeyId(6),
            Self::Packing(g) => KeyId(PACKING | g.value()),
            Self::LowRelinearization => KeyId(8),
            Self::LowGalois(g) => KeyId(LOW | g.value()),
        }
    }

    /// The relinearization key for ciphertexts at a level.
    #[must_use]
    pub fn relinearization(params: &Params, level: usize) -> Self {
        if params.is_low(level) { Self::LowRelinearization } else { Self::Relinearization }
    }

    /// The key of an automorphism for ciphertexts at a level.
    #[must_use]
    pub fn galois(g: GaloisElement, params: &Params, level: usize) -> Self {
        if params.is_low(level) { Self::LowGalois(g) } else { Self::Galois(g) }
    }

    /// The highest level of ciphertexts that a key of this name switches; `None` where the parameters have no such key.
    #[must_use]
    pub fn highest_level(self, params: &Params) -> Option<usize> {
        match self {
            name if name.is_lowest() => Some(0),
            Self::LowRelinearization | Self::LowGalois(_) => params.literal().low_level,
            _ => Some(params.top_level()),
        }
    }

    /// The digits and special primes of the key for ciphertexts at a level.
    #[must_use]
    pub fn gadget(self, params: &Params, level: usize) -> (Vec<Basis>, Basis) {
        self.gadget_of(params, params.basis(if self.is_lowest() { 0 } else { level }))
    }

    /// The digits and special primes of a key for ciphertexts up to a level: those of all primes that these have.
    #[must_use]
    pub fn held(self, params: &Params, level: usize) -> (Vec<Basis>, Basis) {
        self.gadget_of(params, params.reached(if self.is_lowest() { 0 } else { level }))
    }

    fn gadget_of(self, params: &Params, basis: Basis) -> (Vec<Basis>, Basis) {
        match self {
            name if name.is_lowest() => (vec![basis], params.encapsulation_special()),
            Self::LowRelinearization | Self::LowGalois(_) => (vec![basis], params.low_special()),
            _ => (params.digits_of(basis), params.special()),
        }
    }

    /// Whether the key works at level 0 only, with a gadget of one digit and few special primes.
    #[must_use]
    pub fn is_lowest(self) -> bool {
        matches!(self, Self::Encapsulation | Self::FromLwe | Self::Packing(_))
    }

    /// The label that its randomness is derived from. The generator appends the client for [`Self::FromLwe`].
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Relinearization => "relinearization".into(),
            Self::Galois(g) => format!("galois {}", g.value()),
            Self::Encapsulation => "encapsulation".into(),
            Self::Decapsulation => "decapsulation".into(),
            Self::FromLwe => "from lwe".into(),
            Self::Packing(g) => format!("packing {}", g.value()),
            Self::LowRelinearization => "low relinearization".into(),
            Self::LowGalois(g) => format!("low galois {}", g.value()),
        }
    }

    /// Description for messages, with the rotation if it is one.
    #[must_use]
    pub fn describe(self, log_n: u32) -> String {
        match self {
            Self::Galois(g) | Self::LowGalois(g) if g == GaloisElement::conjugation(log_n) => {
                format!("{self} (conjugation)")
            }
            Self::Galois(g) | Self::LowGalois(g) => match rotation_of(g, log_n) {
                Some(steps) => format!("{self} (rotation by {steps})"),
                None => self.to_string(),
            },
            _ => self.to_string(),
        }
    }
}

impl std::fmt::Display for KeyName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Relinearization => f.write_str("the relinearization key"),
            Self::Galois(g) => write!(f, "Galois key {}", g.value()),
            Self::Encapsulation => f.write_str("the encapsulation key"),
            Self::Decapsulation => f.write_str("the decapsulation key"),
            Self::FromLwe => f.write_str("the key from LWE"),
            Self::Packing(g) => write!(f, "packing key {}", g.value()),
            Self::LowRelinearization => f.write_str("the relinearization key of low levels"),
            Self::LowGalois(g) => write!(f, "low Galois key {}", g.value()),
        }
    }
}

/// The rotation in (−N/4, N/4] of a Galois element, if it is a rotation.
#[must_use]
pub fn rotation_of(g: GaloisElement, log_n: u32) -> Option<i64> {
    let half = 1i64 << (log_n - 1);
    let mut power = 1u32;
    (0..half).find_map(|steps| {
        let found = GaloisElement::new(power, log_n) == g;
        power = power.wrapping_mul(5);
        found.then_some(if steps > half / 2 { steps - half } else { steps })
    })
}

/// The primes of a gadget: its digits and its special primes.
#[must_use]
pub fn with_special(digits: &[Basis], special: Basis) -> Basis {
    digits.iter().copied().chain([special]).collect()
}

/// Storage form of evaluation keys.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum KeyForm {
    /// Both halves stored: the fastest.
    #[default]
    Stored,
    /// The uniform half as a seed that is expanded at each use: half the memory.
    Seeded,
    /// In a file in [`Self::Seeded`] form, read before use: memory is bounded by a budget.
    Disk,
}

/// The uniform half of a pair.
pub enum UniformHalf<P> {
    /// Stored on the device.
    Stored {
        /// The polynomial.
        poly: P,
        /// The seed it was expanded from, if known: a file stores the seed in its place.
        seed: Option<Seed>,
    },
    /// Expanded from a public seed at each use.
    Seeded(Seed),
}

impl<P> UniformHalf<P> {
    /// The public seed, if known.
    #[must_use]
    pub fn seed(&self) -> Option<&Seed> {
        match self {
            Self::Stored { seed, .. } => seed.as_ref(),
            Self::Seeded(seed) => Some(seed),
        }
    }
}

/// One pair of an evaluation key: an encryption of one digit's share of the source secret.
pub struct KeyPair<P> {
    /// `b = −a·s + e + …`.
    pub masked: P,
    /// `a`.
    pub uniform: UniformHalf<P>,
}

/// An evaluation key for ciphertexts at its level and below; clones share its polynomials.
pub struct EvaluationKey<D: Device> {
    name: KeyName,
    level: usize,
    /// One pair per digit over the primes of its level and below and its special primes, evaluation domain.
    pairs: Arc<Vec<KeyPair<D::Poly>>>,
}

impl<D: Device> Clone for EvaluationKey<D> {
    fn clone(&self) -> Self {
        Self { pairs: self.pairs.clone(), ..*self }
    }
}

impl<D: Device> EvaluationKey<D> {
    /// A key from its pairs over `reached(level) | special`, one per digit.
    #[must_use]
    pub fn new(name: KeyName, level: usize, pairs: Vec<KeyPair<D::Poly>>) -> Self {
        Self { name, level, pairs: Arc::new(pairs) }
    }

    /// Name of the key.
    #[must_use]
    pub fn name(&self) -> KeyName {
        self.name
    }

    /// Highest level of ciphertexts that it switches.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// One pair per digit at the key's level.
    #[must_use]
    pub fn pairs(&self) -> &[KeyPair<D::Poly>] {
        &self.pairs
    }

    /// Whether both halves of all pairs are stored.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.pairs.iter().all(|pair| matches!(pair.uniform, UniformHalf::Stored { .. }))
    }

    /// The same key restricted to `level` and below, at most its own level; the memory of the other limbs is freed.
    #[must_use]
    pub fn restrict(&self, dev: &D, params: &Params, level: usize) -> Self {
        let level = level.min(self.level);
        let (digits, special) = self.name.held(params, level);
        let basis = with_special(&digits, special);
        let pair = |(_, pair): (Basis, &KeyPair<D::Poly>)| {
            let uniform = match &pair.uniform {
                UniformHalf::Stored { poly, seed } => {
                    UniformHalf::Stored { poly: dev.restrict(poly, basis), seed: seed.clone() }
                }
                UniformHalf::Seeded(seed) => UniformHalf::Seeded(seed.clone()),
            };
            KeyPair { masked: dev.restrict(&pair.masked, basis), uniform }
        };
        Self::new(self.name, level, self.pairs_of(params, basis).map(pair).collect())
    }

    /// The pairs of the digits that some primes have, each with its digit of them.
    fn pairs_of(&self, params: &Params, basis: Basis) -> impl Iterator<Item = (Basis, &KeyPair<D::Poly>)> {
        let (held, special) = self.name.held(params, self.level);
        let digits = held.into_iter().map(move |digit| digit & (basis - special));
        digits.zip(self.pairs.iter()).filter(|(digit, _)| !digit.is_empty())
    }

    /// The limbs for a ciphertext at `level`: views of stored halves, expansions of seeded ones.
    ///
    /// # Errors
    /// [`KeyError::TooLow`] if `level` is above the key's.
    pub fn at(&self, dev: &D, params: &Params, level: usize) -> Result<GadgetKey<D::Poly>> {
        if level > self.level {
            return Err(KeyError::TooLow { name: self.name, made: self.level, level }.into());
        }
        let (digits, special) = self.name.gadget(params, level);
        let shape = Shape::eval(params.ring(), with_special(&digits, special));
        let cut = |(_, pair): (Basis, &KeyPair<D::Poly>)| {
            let uniform = match &pair.uniform {
                UniformHalf::Stored { poly, .. } => dev.restrict(poly, shape.basis),
                UniformHalf::Seeded(seed) => dev.expand_seed(&shape, Role::EvaluationKey(self.name.id()), seed),
            };
            [dev.restrict(&pair.masked, shape.basis), uniform]
        };
        let pairs = self.pairs_of(params, shape.basis).map(cut).collect();
        Ok(GadgetKey { digits, special, pairs })
    }
}

/// A public encryption key: an encryption of zero, `b + a·s = e`, over the whole chain.
pub struct PublicKey<D: Device> {
    /// `[b, a]`, evaluation domain.
    pub parts: [D::Poly; 2],
    /// The seed of `a`, if known: a file stores the seed in its place.
    pub seed: Option<Seed>,
}
