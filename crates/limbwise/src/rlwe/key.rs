//! Public keys of RLWE schemes: names, contents, cutting to a level.

use crate::{
    error::{KeyError, Result},
    params::Params,
};
use limbwise_device::{Basis, Device, GadgetKey, KeyId, Role, Shape};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::sync::Arc;

/// Which evaluation key.
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
    /// Switches the wide key of a TFHE client, as a polynomial, to the main secret, at level 0 only.
    FromLwe,
    /// Switches s(X^g) → s at level 0 only, with as few special primes as an encapsulation: for packing.
    Packing(GaloisElement),
}

/// Above all Galois elements.
const PACKING: u32 = 1 << 20;

impl KeyName {
    /// The identity that recorders and devices see: an even number, the Galois element, or for packing 2^20
    /// and the Galois element.
    #[must_use]
    pub fn id(self) -> KeyId {
        match self {
            Self::Relinearization => KeyId(0),
            Self::Galois(g) => KeyId(g.value()),
            Self::Encapsulation => KeyId(2),
            Self::Decapsulation => KeyId(4),
            Self::FromLwe => KeyId(6),
            Self::Packing(g) => KeyId(PACKING | g.value()),
        }
    }

    /// The digits and the special primes of a key of this name, for ciphertexts at a level.
    #[must_use]
    pub fn gadget(self, params: &Params, level: usize) -> (Vec<Basis>, Basis) {
        match self {
            name if name.is_lowest() => (vec![params.basis(0)], params.encapsulation_special()),
            _ => (params.digits(level), params.special()),
        }
    }

    /// Whether such a key serves ciphertexts at level 0 only, with a gadget of one digit and few special primes.
    #[must_use]
    pub fn is_lowest(self) -> bool {
        matches!(self, Self::Encapsulation | Self::FromLwe | Self::Packing(_))
    }

    /// The label under which randomness is derived; a generator adds whose key [`Self::FromLwe`] switches from.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Relinearization => "relinearization".into(),
            Self::Galois(g) => format!("galois {}", g.value()),
            Self::Encapsulation => "encapsulation".into(),
            Self::Decapsulation => "decapsulation".into(),
            Self::FromLwe => "from lwe".into(),
            Self::Packing(g) => format!("packing {}", g.value()),
        }
    }

    /// In words, with the rotation where there is one.
    #[must_use]
    pub fn describe(self, log_n: u32) -> String {
        match self {
            Self::Relinearization | Self::Encapsulation | Self::Decapsulation | Self::FromLwe | Self::Packing(_) => {
                self.to_string()
            }
            Self::Galois(g) if g == GaloisElement::conjugation(log_n) => {
                format!("Galois key {} (conjugation)", g.value())
            }
            Self::Galois(g) => match rotation_of(g, log_n) {
                Some(steps) => format!("Galois key {} (rotation by {steps})", g.value()),
                None => format!("Galois key {}", g.value()),
            },
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
        }
    }
}

/// The rotation in (−N/4, N/4] that an element stands for, if it is one.
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

/// How evaluation keys are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyForm {
    /// Both halves: fastest.
    #[default]
    Stored,
    /// The uniform half only as a seed, grown again at each use: half the memory.
    Seeded,
    /// In a file, as [`Self::Seeded`], and read before it is used: as much memory as one chooses.
    Disk,
}

/// The uniform half of a pair.
pub enum UniformHalf<P> {
    /// Kept on the device.
    Stored {
        /// It.
        poly: P,
        /// What it was grown from, where that is known: a file keeps only this.
        seed: Option<Seed>,
    },
    /// Grown when used. The seed is public.
    Seeded(Seed),
}

impl<P> UniformHalf<P> {
    /// What it is grown from, where that is known.
    #[must_use]
    pub fn seed(&self) -> Option<&Seed> {
        match self {
            Self::Stored { seed, .. } => seed.as_ref(),
            Self::Seeded(seed) => Some(seed),
        }
    }
}

/// One pair of an evaluation key: the encryption of a digit's share.
pub struct KeyPair<P> {
    /// `b = −a·s + e + …`.
    pub masked: P,
    /// `a`.
    pub uniform: UniformHalf<P>,
}

/// An evaluation key for ciphertexts at its level and below; cheap to clone.
pub struct EvaluationKey<D: Device> {
    name: KeyName,
    level: usize,
    /// One a live digit, over `basis(level)` and the key's special primes, evaluation domain.
    pairs: Arc<Vec<KeyPair<D::Poly>>>,
}

impl<D: Device> Clone for EvaluationKey<D> {
    fn clone(&self) -> Self {
        Self { pairs: self.pairs.clone(), ..*self }
    }
}

impl<D: Device> EvaluationKey<D> {
    /// A key from its parts: pairs over `basis(level) | special`, one a live digit.
    #[must_use]
    pub fn new(name: KeyName, level: usize, pairs: Vec<KeyPair<D::Poly>>) -> Self {
        Self { name, level, pairs: Arc::new(pairs) }
    }

    /// Which key it is.
    #[must_use]
    pub fn name(&self) -> KeyName {
        self.name
    }

    /// Highest level it serves.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// The pairs, one a digit that is live at its level.
    #[must_use]
    pub fn pairs(&self) -> &[KeyPair<D::Poly>] {
        &self.pairs
    }

    /// The same key for ciphertexts at `level` and below, at most its own: the limbs that it then lacks are let go.
    #[must_use]
    pub fn cut(&self, dev: &D, params: &Params, level: usize) -> Self {
        let level = level.min(self.level);
        let (digits, special) = self.name.gadget(params, level);
        let basis = params.basis(level) | special;
        let pair = |pair: &KeyPair<D::Poly>| {
            let uniform = match &pair.uniform {
                UniformHalf::Stored { poly, seed } => {
                    UniformHalf::Stored { poly: dev.restrict(poly, basis), seed: seed.clone() }
                }
                UniformHalf::Seeded(seed) => UniformHalf::Seeded(seed.clone()),
            };
            KeyPair { masked: dev.restrict(&pair.masked, basis), uniform }
        };
        Self::new(self.name, level, self.pairs[..digits.len()].iter().map(pair).collect())
    }

    /// The limbs that a ciphertext at `level` needs: views of what is stored, and what is seeded grown for them.
    ///
    /// # Errors
    /// [`KeyError::TooLow`] above the key's level.
    pub fn at(&self, dev: &D, params: &Params, level: usize) -> Result<GadgetKey<D::Poly>> {
        if level > self.level {
            return Err(KeyError::TooLow { name: self.name, made: self.level, level }.into());
        }
        let (digits, special) = self.name.gadget(params, level);
        let shape = Shape::eval(params.ring(), params.basis(level) | special);
        let cut = |pair: &KeyPair<D::Poly>| {
            let uniform = match &pair.uniform {
                UniformHalf::Stored { poly, .. } => dev.restrict(poly, shape.basis),
                UniformHalf::Seeded(seed) => dev.expand_seed(&shape, Role::EvaluationKey(self.name.id()), seed),
            };
            [dev.restrict(&pair.masked, shape.basis), uniform]
        };
        let pairs = self.pairs[..digits.len()].iter().map(cut).collect();
        Ok(GadgetKey { digits, special, pairs })
    }
}

/// An encryption of zero under which anyone can encrypt: `b + a·s = e` over the whole chain.
pub struct PublicKey<D: Device> {
    /// `[b, a]`, evaluation domain.
    pub parts: [D::Poly; 2],
    /// What `a` was grown from, where that is known: a file keeps only this.
    pub seed: Option<Seed>,
}
