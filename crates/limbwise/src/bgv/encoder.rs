//! Encoding: vectors of integers → polynomials, through the transform modulo t.
//!
//! Slot j of the first row is the value at ψ^(5^j), of the second row at ψ^(−5^j), with ψ = x^((t−1)/2N) of the least
//! non-residue x modulo t; slots N/2 … N−1 are the second row. So X → X^(5^k) rotates both rows to the left by k, and
//! X → X^(−1) swaps them, as in SEAL and Lattigo.

use super::{ciphertext::Plaintext, error::BgvError, params::BgvParams};
use crate::error::{LevelError, Result};
use limbwise_device::{Basis, Device, Domain, Role, Shape};
use limbwise_math::{
    modulus::Integers,
    ntt::{NttTable, bit_reverse},
};
use limbwise_taint::declassify;
use std::sync::{Arc, OnceLock};

/// Encodes and decodes for one parameter set, modulo the plaintext modulus that it is seen with. Clones share the tables,
/// which are built on first use.
#[derive(Clone, Debug)]
pub struct Encoder {
    params: BgvParams,
    /// For each plaintext modulus.
    tables: Arc<[OnceLock<Tables>]>,
}

#[derive(Debug)]
struct Tables {
    ntt: NttTable,
    /// Index of each slot in the transform's output.
    places: Vec<usize>,
}

impl Encoder {
    /// An encoder whose tables are built on first use.
    #[must_use]
    pub fn new(params: &BgvParams) -> Self {
        Self { params: params.clone(), tables: params.moduli().iter().map(|_| OnceLock::new()).collect() }
    }

    /// The parameter set it encodes for.
    #[must_use]
    pub fn params(&self) -> &BgvParams {
        &self.params
    }

    /// The same encoder modulo another of the plaintext moduli.
    ///
    /// # Panics
    /// If there is no such modulus.
    #[must_use]
    pub fn at(&self, modulus: usize) -> Self {
        Self { params: self.params.at(modulus), tables: self.tables.clone() }
    }

    fn tables(&self) -> &Tables {
        self.tables[self.params.modulus()].get_or_init(|| {
            let (log_n, n) = (self.params.rlwe().log_n(), self.params.slots());
            let place = |exponent: usize| bit_reverse((exponent - 1) / 2, log_n);
            let powers = std::iter::successors(Some(1), |g| Some(g * 5 % (2 * n))).take(n / 2);
            let (first, second): (Vec<usize>, Vec<usize>) = powers.map(|g| (place(g), place(2 * n - g))).unzip();
            Tables { ntt: NttTable::new(self.params.t(), log_n), places: [first, second].concat() }
        })
    }

    /// Encodes a batch of vectors of at most N integers from −(t−1)/2 to (t−1)/2. A shorter vector is padded with
    /// zeros.
    ///
    /// The transform runs when the device asks for words; a recorder never asks.
    ///
    /// # Errors
    /// [`BgvError`] for too many or too large values, [`LevelError`] for a level above the top.
    pub fn encode<D: Device>(&self, dev: &D, batch: &[Vec<i64>], level: usize) -> Result<Plaintext<D>> {
        batch.iter().try_for_each(|values| self.check(values))?;
        let top = self.params.top_level();
        if level > top {
            return Err(LevelError::Above { op: "encode", wanted: level, level: top }.into());
        }
        let residue = |&value: &i64| self.params.t().from_i64(value);
        let slots: Vec<Vec<u64>> = batch.iter().map(|values| values.iter().map(residue).collect()).collect();
        let poly = dev.ntt(self.coefficients(dev, &slots, self.params.rlwe().basis(level)));
        Ok(Plaintext { poly, level, modulus: self.params.modulus() })
    }

    /// Fails unless the integers fit.
    ///
    /// # Errors
    /// [`BgvError::TooMany`] or [`BgvError::Value`].
    pub fn check(&self, values: &[i64]) -> Result<()> {
        let (slots, most) = (self.params.slots(), self.params.most());
        if values.len() > slots {
            return Err(BgvError::TooMany { got: values.len(), slots }.into());
        }
        // Whether all fit is public: whoever encodes learns it. The first that does not stands in the error.
        let fits = |value: &i64| value.unsigned_abs() <= most.unsigned_abs();
        if declassify(values.iter().fold(true, |all, value| all & fits(value))) {
            return Ok(());
        }
        let index = values.iter().position(|value| !fits(value)).unwrap_or(0);
        let t = self.params.t().value();
        Err(BgvError::Value { index, got: values[index], most, t }.into())
    }

    /// Centered coefficients over a basis, from slots modulo t.
    pub(crate) fn coefficients<D: Device>(&self, dev: &D, batch: &[Vec<u64>], basis: Basis) -> D::Poly {
        let ring = self.params.rlwe().ring();
        let shape = Shape::eval(ring, basis).with_batch(batch.len()).with_domain(Domain::Coeff);
        let encoded: Vec<OnceLock<Integers>> = batch.iter().map(|_| OnceLock::new()).collect();
        dev.upload(&shape, Role::Plaintext, &|at, row| {
            let coefficients = encoded[at.batch].get_or_init(|| self.centered(&batch[at.batch]));
            at.modulus.spread(coefficients, 1, row);
        })
    }

    /// The polynomial modulo t that has these slots, with coefficients in (−t/2, t/2].
    fn centered(&self, slots: &[u64]) -> Integers {
        let t = self.params.t();
        Integers::Narrow(self.interpolate(slots).into_iter().map(|c| t.centered(c)).collect())
    }

    /// The polynomial modulo t that has these slots.
    fn interpolate(&self, slots: &[u64]) -> Vec<u64> {
        let tables = self.tables();
        let mut words = vec![0; self.params.slots()];
        for (&place, &slot) in tables.places.iter().zip(slots) {
            words[place] = slot;
        }
        tables.ntt.inverse(&mut words);
        words
    }

    /// The slots of a polynomial modulo t.
    #[cfg(feature = "client")]
    pub(crate) fn slots(&self, mut coefficients: Vec<u64>) -> Vec<u64> {
        let tables = self.tables();
        tables.ntt.forward(&mut coefficients);
        tables.places.iter().map(|&place| coefficients[place]).collect()
    }
}
