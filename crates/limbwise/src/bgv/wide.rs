//! Integers wider than a plaintext modulus: their residues modulo every plaintext modulus of a set (CRT).
//!
//! One ciphertext a modulus, all of one ring and one secret key. Sums and products act on the residues one by one, so
//! results are exact as long as the integer itself stays below half the product of the moduli. That is followed by a
//! [`Magnitude`], which depends on the program alone; an operation that could pass the half is refused. Integers modulo
//! 2^64 are the low words of such results: their operands are taken as 0 … 2^64 − 1, and wrap only when they are joined.

use super::{auto::Auto, ciphertext::Ciphertext, error::BgvError, params::BgvParams};
use crate::error::Result;
use limbwise_device::Device;
use limbwise_math::{
    modulus::Modulus,
    rns::{Reconstruction, to_f64},
};

/// log₂ of the largest absolute value that integers can have.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Magnitude(f64);

impl Magnitude {
    /// Of unsigned integers of 64 bits.
    pub const WORD: Self = Self(64.0);

    /// A magnitude given in bits.
    #[must_use]
    pub fn of_bits(bits: f64) -> Self {
        Self(bits)
    }

    /// The magnitude in bits.
    #[must_use]
    pub fn bits(self) -> f64 {
        self.0
    }

    /// Of a sum or a difference.
    #[must_use]
    pub fn sum(self, other: Self) -> Self {
        let (high, low) = (self.0.max(other.0), self.0.min(other.0));
        Self(high + (low - high).exp2().ln_1p() / std::f64::consts::LN_2)
    }

    /// Of a product.
    #[must_use]
    pub fn product(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Takes integers apart into residues, and puts them together again.
#[derive(Clone, Debug)]
pub struct Residues {
    moduli: Vec<Modulus>,
    crt: Reconstruction,
}

impl Residues {
    /// For the plaintext moduli of a set.
    #[must_use]
    pub fn new(params: &BgvParams) -> Self {
        Self { moduli: params.moduli().to_vec(), crt: Reconstruction::new(params.moduli()) }
    }

    /// Number of residues of an integer.
    #[must_use]
    pub fn count(&self) -> usize {
        self.moduli.len()
    }

    /// log₂ of the largest absolute value of an integer: half the product of the moduli.
    #[must_use]
    pub fn room(&self) -> f64 {
        self.moduli.iter().map(|t| to_f64(t.value()).log2()).sum::<f64>() - 1.0
    }

    /// Words of 64 bits that hold every integer in two's complement.
    #[must_use]
    pub fn words(&self) -> usize {
        let bits: u32 = self.moduli.iter().map(|t| 64 - t.value().leading_zeros()).sum();
        bits.div_ceil(64) as usize
    }

    /// Fails unless integers of this magnitude are told apart by their residues.
    ///
    /// # Errors
    /// [`BgvError::Magnitude`].
    pub fn fits(&self, op: &'static str, magnitude: Magnitude) -> Result<()> {
        // One part in 2^40 pays for the rounding of logarithms; NaN does not fit.
        let (bits, room) = (magnitude.bits(), self.room() - 1e-9);
        if bits <= room { Ok(()) } else { Err(BgvError::Magnitude { op, bits, room }.into()) }
    }

    /// The residues of unsigned integers, from −(t−1)/2 to (t−1)/2: a vector for each modulus.
    #[must_use]
    pub fn split(&self, values: &[u64]) -> Vec<Vec<i64>> {
        let modulo = |t: &Modulus| values.iter().map(|&value| t.centered(t.reduce(value))).collect();
        self.moduli.iter().map(modulo).collect()
    }

    /// The integers of these residues modulo 2^(64·words), in two's complement, lowest word first.
    ///
    /// # Panics
    /// If there is not one vector a modulus, all of one length.
    #[must_use]
    pub fn join(&self, residues: &[&[i64]], words: usize) -> Vec<u64> {
        assert_eq!(residues.len(), self.count(), "a vector of residues for each modulus");
        let count = residues.first().map_or(0, |first| first.len());
        assert!(residues.iter().all(|one| one.len() == count), "as many residues modulo each modulus");
        let (mut joined, mut each) = (vec![0; count * words], vec![0; self.count()]);
        for (at, integer) in joined.chunks_exact_mut(words.max(1)).enumerate() {
            for ((to, t), from) in each.iter_mut().zip(&self.moduli).zip(residues) {
                *to = t.from_i64(from[at]);
            }
            self.crt.centered_words(&each, integer);
        }
        joined
    }
}

/// Encrypted integers as residues, one ciphertext a plaintext modulus.
pub struct Wide<D: Device> {
    /// The residues, the first modulus first.
    pub residues: Vec<Ciphertext<D>>,
    /// Bound on the integers.
    pub magnitude: Magnitude,
}

impl<D: Device> Clone for Wide<D> {
    /// Other handles on the same polynomials; no words are copied.
    fn clone(&self) -> Self {
        Self { residues: self.residues.clone(), ..*self }
    }
}

impl<D: Device> Auto<'_, D> {
    /// `a ⊙ b` of wide integers, not relinearized yet.
    ///
    /// # Errors
    /// [`BgvError::Magnitude`] for results that could pass half the product of the moduli; the errors of
    /// [`Self::mul`]. The methods below fail alike.
    pub fn wide_mul(&self, a: &Wide<D>, b: &Wide<D>) -> Result<Wide<D>> {
        self.wide("multiply", [a, b], a.magnitude.product(b.magnitude), |x, y| self.mul(x, y))
    }

    /// `a + b` of wide integers.
    ///
    /// # Errors
    /// As [`Self::wide_mul`].
    pub fn wide_add(&self, a: &Wide<D>, b: &Wide<D>) -> Result<Wide<D>> {
        self.wide("add", [a, b], a.magnitude.sum(b.magnitude), |x, y| self.add(x, y))
    }

    /// `a − b` of wide integers, which may be negative.
    ///
    /// # Errors
    /// As [`Self::wide_mul`].
    pub fn wide_sub(&self, a: &Wide<D>, b: &Wide<D>) -> Result<Wide<D>> {
        self.wide("sub", [a, b], a.magnitude.sum(b.magnitude), |x, y| self.sub(x, y))
    }

    /// `−a` of wide integers.
    #[must_use]
    pub fn wide_negate(&self, a: &Wide<D>) -> Wide<D> {
        Wide { residues: a.residues.iter().map(|one| self.eval.negate(one)).collect(), ..*a }
    }

    /// The sum of all slots of wide integers, in every slot.
    ///
    /// # Errors
    /// As [`Self::wide_mul`].
    pub fn wide_slot_sum(&self, a: &Wide<D>) -> Result<Wide<D>> {
        let params = self.eval.params();
        let magnitude = a.magnitude.product(Magnitude(to_f64(params.slots() as u64).log2()));
        Residues::new(params).fits("sum", magnitude)?;
        Ok(Wide { residues: a.residues.iter().map(|one| self.slot_sum(one)).collect::<Result<_>>()?, magnitude })
    }

    /// `a ⊙ values`: a vector for each message of the batch, or one for all.
    ///
    /// # Errors
    /// As [`Self::wide_mul`], or values that cannot be encoded.
    pub fn wide_mul_values(&self, a: &Wide<D>, rows: &[Vec<u64>]) -> Result<Wide<D>> {
        self.wide_values("mul_plain", a, rows, a.magnitude.product(largest(rows)), |x, rows| self.mul_values(x, rows))
    }

    /// `a + values`: a vector for each message of the batch, or one for all.
    ///
    /// # Errors
    /// As [`Self::wide_mul_values`].
    pub fn wide_add_values(&self, a: &Wide<D>, rows: &[Vec<u64>]) -> Result<Wide<D>> {
        self.wide_values("add_plain", a, rows, a.magnitude.sum(largest(rows)), |x, rows| self.add_values(x, rows))
    }

    fn wide(
        &self,
        op: &'static str,
        [a, b]: [&Wide<D>; 2],
        magnitude: Magnitude,
        each: impl Fn(&Ciphertext<D>, &Ciphertext<D>) -> Result<Ciphertext<D>>,
    ) -> Result<Wide<D>> {
        Residues::new(self.eval.params()).fits(op, magnitude)?;
        let residues = a.residues.iter().zip(&b.residues).map(|(x, y)| each(x, y)).collect::<Result<_>>()?;
        Ok(Wide { residues, magnitude })
    }

    fn wide_values(
        &self,
        op: &'static str,
        a: &Wide<D>,
        rows: &[Vec<u64>],
        magnitude: Magnitude,
        each: impl Fn(&Ciphertext<D>, &[Vec<i64>]) -> Result<Ciphertext<D>>,
    ) -> Result<Wide<D>> {
        let split = Residues::new(self.eval.params());
        split.fits(op, magnitude)?;
        let parts: Vec<Vec<Vec<i64>>> = rows.iter().map(|row| split.split(row)).collect();
        let modulo =
            |(at, x): (usize, &Ciphertext<D>)| each(x, &parts.iter().map(|row| row[at].clone()).collect::<Vec<_>>());
        Ok(Wide { residues: a.residues.iter().enumerate().map(modulo).collect::<Result<_>>()?, magnitude })
    }
}

/// The magnitude of clear values.
fn largest(rows: &[Vec<u64>]) -> Magnitude {
    Magnitude(to_f64(rows.iter().flatten().copied().max().unwrap_or(0).max(1)).log2())
}
