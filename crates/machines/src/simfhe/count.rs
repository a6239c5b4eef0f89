//! What is counted, and the polynomials of which it is counted.

use schemars::JsonSchema;
use serde::Serialize;
use std::{iter::Sum, ops};

/// Operations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Count {
    /// Modular multiplications.
    pub multiplications: u64,
    /// Modular additions.
    pub additions: u64,
    /// Limbs that are transformed, in either direction.
    pub limb_transforms: u64,
    /// Bytes of limbs that are read.
    pub read_bytes: u64,
    /// Bytes of limbs that are written.
    pub written_bytes: u64,
    /// Bytes of keys that are read.
    pub key_bytes: u64,
}

impl Count {
    /// Multiplications and additions.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.multiplications + self.additions
    }

    /// Bytes that pass between chip and memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes + self.key_bytes
    }

    /// Operations a byte.
    #[must_use]
    pub fn intensity(&self) -> f64 {
        crate::report::as_f64(self.operations()) / crate::report::as_f64(self.bytes().max(1))
    }

    pub(super) fn read(polynomials: u64, of: Poly) -> Self {
        Self { read_bytes: polynomials * of.bytes(), ..Self::default() }
    }

    pub(super) fn written(polynomials: u64, of: Poly) -> Self {
        Self { written_bytes: polynomials * of.bytes(), ..Self::default() }
    }

    pub(super) fn key(bytes: u64) -> Self {
        Self { key_bytes: bytes, ..Self::default() }
    }

    /// Counted if so.
    pub(super) fn when(self, so: bool) -> Self {
        if so { self } else { Self::default() }
    }

    /// Multiplies every count.
    pub(super) fn times(self, times: u64) -> Self {
        Self {
            multiplications: times * self.multiplications,
            additions: times * self.additions,
            limb_transforms: times * self.limb_transforms,
            read_bytes: times * self.read_bytes,
            written_bytes: times * self.written_bytes,
            key_bytes: times * self.key_bytes,
        }
    }
}

impl ops::Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            multiplications: self.multiplications + other.multiplications,
            additions: self.additions + other.additions,
            limb_transforms: self.limb_transforms + other.limb_transforms,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            key_bytes: self.key_bytes + other.key_bytes,
        }
    }
}

impl ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), ops::Add::add)
    }
}

/// The shape of a polynomial. Source: `params.PolyContext`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poly {
    pub(super) log_n: u32,
    pub(super) log_q: u64,
    pub(super) dnum: u64,
    pub(super) limbs: u64,
}

impl Poly {
    pub(super) fn with(self, limbs: u64) -> Self {
        Self { limbs, ..self }
    }

    pub(super) fn drop(self, limbs: u64) -> Self {
        self.with(self.limbs - limbs)
    }

    /// Limbs of a digit: ⌈limbs / dnum⌉. Source: `PolyContext.alpha`.
    pub(super) fn alpha(self) -> u64 {
        self.limbs.div_ceil(self.dnum)
    }

    /// With the limbs of P, one more than a digit has. Source: `PolyContext.key_switch_context`.
    pub(super) fn raised(self) -> Self {
        self.with(self.limbs + self.alpha() + 1)
    }

    /// Source: `PolyContext.size_in_bytes`.
    pub(super) fn bytes(self) -> u64 {
        ((self.limbs * self.log_q) << self.log_n) / 8
    }

    pub(super) fn words(self) -> u64 {
        self.limbs << self.log_n
    }

    /// A sum. Source: `poly.add`.
    pub(super) fn add(self) -> Count {
        Count { additions: self.words(), ..Count::default() }
    }

    /// A product. Source: `poly.mult`.
    pub(super) fn multiply(self) -> Count {
        Count { multiplications: self.words(), ..Count::default() }
    }

    /// A transform in either direction with its factors. Source: `poly.ntt`, `poly.intt`: `compute_phi` takes N,
    /// `compute_tf` N/2 multiplications a limb, `ntt_common` the butterflies.
    pub(super) fn transform(self) -> Count {
        let butterflies = self.words() / 2 * u64::from(self.log_n);
        Count {
            multiplications: butterflies + self.words() + self.words() / 2,
            additions: 2 * butterflies,
            limb_transforms: self.limbs,
            ..Count::default()
        }
    }

    /// Splitting into digits. Source: `evaluator.decompose`.
    pub(super) fn decompose(self) -> Count {
        self.multiply().times(2)
    }

    /// Change of basis to so many limbs. Source: `evaluator.basis_convert`.
    pub(super) fn convert(self, to: Self) -> Count {
        let sums = self.words() * to.limbs;
        Count { multiplications: self.words() + sums, additions: sums, ..Count::default() }
    }
}
