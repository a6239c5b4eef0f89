//! Public keys of RLWE schemes: names, contents, cutting to a level.

use crate::{
    error::{KeyError, Result},
    params::Params,
};
use limbwise_device::{Device, GadgetKey, KeyId};
use limbwise_math::galois::GaloisElement;

/// Which evaluation key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyName {
    /// Switches s² → s.
    Relinearization,
    /// Switches s(X^g) → s.
    Galois(GaloisElement),
}

impl KeyName {
    /// The identity that recorders and devices see: 0, or the Galois element.
    #[must_use]
    pub fn id(self) -> KeyId {
        match self {
            Self::Relinearization => KeyId(0),
            Self::Galois(g) => KeyId(g.value()),
        }
    }

    /// The label under which randomness is derived.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Relinearization => "relinearization".into(),
            Self::Galois(g) => format!("galois {}", g.value()),
        }
    }

    /// In words, with the rotation where there is one.
    #[must_use]
    pub fn describe(self, log_n: u32) -> String {
        match self {
            Self::Relinearization => "the relinearization key".into(),
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

/// An evaluation key for ciphertexts at its level and below.
pub struct EvaluationKey<D: Device> {
    name: KeyName,
    level: usize,
    gadget: GadgetKey<D::Poly>,
}

impl<D: Device> Clone for EvaluationKey<D> {
    fn clone(&self) -> Self {
        Self { name: self.name, level: self.level, gadget: self.gadget.clone() }
    }
}

impl<D: Device> EvaluationKey<D> {
    /// A key from its parts: pairs over `basis(level) | special`, one a live digit.
    #[must_use]
    pub fn new(name: KeyName, level: usize, gadget: GadgetKey<D::Poly>) -> Self {
        Self { name, level, gadget }
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

    /// The limbs that a ciphertext at `level` needs: views, no copies.
    ///
    /// # Errors
    /// [`KeyError::TooLow`] above the key's level.
    pub fn at(&self, dev: &D, params: &Params, level: usize) -> Result<GadgetKey<D::Poly>> {
        if level > self.level {
            return Err(KeyError::TooLow { name: self.name, made: self.level, level }.into());
        }
        let digits = params.digits(level);
        let basis = params.basis(level) | params.special();
        let pairs = self.gadget.pairs[..digits.len()]
            .iter()
            .map(|pair| [dev.restrict(&pair[0], basis), dev.restrict(&pair[1], basis)])
            .collect();
        Ok(GadgetKey { digits, special: params.special(), pairs })
    }
}

/// An encryption of zero under which anyone can encrypt: `b + a·s = e` over the whole chain.
pub struct PublicKey<D: Device> {
    /// `[b, a]`, evaluation domain.
    pub parts: [D::Poly; 2],
}
