//! Encrypted matrix × encrypted matrix, d×d, several pairs in one pair of ciphertexts.
//!
//! `A·B = Σ_k φᵏ(σ(A)) ⊙ ψᵏ(τ(B))` with `σ(A)[i,j] = A[i,i+j]`, `τ(B)[i,j] = B[i+j,j]`, `φ(A)[i,j] = A[i,j+1]`,
//! `ψ(B)[i,j] = B[i+1,j]`, indices modulo d. Source: \[JKLS18\] §3. A pair's entry (i, j) lies at `(i·d + j)·c + pair`
//! for c pairs, so that where d²·c is all slots ψᵏ is a rotation; elsewhere it is a map of two diagonals.

use super::{Matrix, TensorError};
use crate::{
    ckks::{Auto, Ciphertext, Diagonals, LinearPlan, LinearTransform, PlaintextForm, Strategy},
    error::Result,
    params::Params,
};
use limbwise_device::Device;
use num_complex::Complex64;

/// Levels that a product consumes: one for σ and τ, one for φ and ψ, one for ⊙.
pub const LEVELS: usize = 3;

/// Products of encrypted d×d matrices.
#[derive(Clone, Debug)]
pub struct SquareProduct {
    side: usize,
    pairs: usize,
    slots: usize,
    /// The maps σ and τ.
    first: [Diagonals; 2],
    /// φᵏ for k from 1, then ψᵏ unless they are rotations.
    second: Vec<Diagonals>,
}

impl SquareProduct {
    /// Products of matrices of `side` rows and columns, in as many pairs as fit.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] where d² slots are more than there are, [`TensorError::Shape`] for d = 0.
    pub fn new(side: usize, slots: usize) -> Result<Self> {
        if side == 0 {
            return Err(TensorError::shape("a square product", "matrices of 0×0", "at least 1×1").into());
        }
        let needed = side.saturating_mul(side);
        if needed > slots {
            let next = "choose a larger ring (limbwise params show), or cut the matrices into blocks";
            return Err(
                TensorError::TooLarge { what: format!("a matrix of {side}×{side}"), needed, slots, next }.into()
            );
        }
        let pairs = slots / needed;
        // The map that moves the entry at `from(i, j)` to (i, j).
        let moving = |from: &dyn Fn(usize, usize) -> (usize, usize)| {
            let mut diagonals = vec![Vec::new(); slots];
            for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
                let (row, column) = from(i, j);
                let at = |i: usize, j: usize, pair: usize| ((i % side) * side + j % side) * pairs + pair;
                for pair in 0..pairs {
                    let (output, input) = (at(i, j, pair), at(row, column, pair));
                    let diagonal: &mut Vec<Complex64> = &mut diagonals[(input + slots - output) % slots];
                    diagonal.resize(slots, Complex64::default());
                    diagonal[output] = 1.0.into();
                }
            }
            Diagonals::new(slots, (0i64..).zip(diagonals).filter(|(_, values)| !values.is_empty()))
        };
        let first = [moving(&|i, j| (i, i + j))?, moving(&|i, j| (i + j, j))?];
        let mut second: Vec<Diagonals> = (1..side).map(|k| moving(&|i, j| (i, j + k))).collect::<Result<_>>()?;
        if needed * pairs != slots {
            second.extend((1..side).map(|k| moving(&|i, j| (i + k, j))).collect::<Result<Vec<_>>>()?);
        }
        Ok(Self { side, pairs, slots, first, second })
    }

    /// Pairs multiplied at once.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// Slot count of both ciphertexts.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The maps for ciphertexts at a level, in the order that [`Self::multiply`] takes them.
    #[must_use]
    pub fn plans(
        &self,
        params: &Params,
        strategy: Strategy,
        form: PlaintextForm,
        level: usize,
    ) -> Vec<(&Diagonals, LinearPlan)> {
        let plan = |level| LinearPlan::new(params, strategy, form, level);
        let first = self.first.iter().map(|map| (map, plan(level)));
        first.chain(self.second.iter().map(|map| (map, plan(level.saturating_sub(1))))).collect()
    }

    /// Packs the left or the right matrices.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for more matrices than pairs, or one that is not d×d.
    pub fn pack(&self, matrices: &[Matrix]) -> Result<Vec<Complex64>> {
        let side = self.side;
        if matrices.len() > self.pairs {
            let (got, wanted) = (format!("{} matrices", matrices.len()), format!("at most {}", self.pairs));
            return Err(TensorError::shape("a square product", got, wanted).into());
        }
        let mut packed = vec![Complex64::default(); self.slots];
        for (pair, matrix) in matrices.iter().enumerate() {
            if (matrix.rows(), matrix.columns()) != (side, side) {
                let got = format!("a matrix of {}×{}", matrix.rows(), matrix.columns());
                let wanted = format!("{side}×{side}; fill up with zeros");
                return Err(TensorError::shape("a square product", got, wanted).into());
            }
            for (at, &x) in matrix.values().iter().enumerate() {
                packed[at * self.pairs + pair] = x.into();
            }
        }
        Ok(packed)
    }

    /// The first `count` products from decrypted slots.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for more products than pairs, or another number of slots.
    pub fn unpack(&self, slots: &[Complex64], count: usize) -> Result<Vec<Matrix>> {
        if count > self.pairs || slots.len() != self.slots {
            let got = format!("{count} products in {} slots", slots.len());
            let wanted = format!("at most {} in {}", self.pairs, self.slots);
            return Err(TensorError::shape("a decrypted square product", got, wanted).into());
        }
        let value = |pair: usize| (0..self.side * self.side).map(|at| slots[at * self.pairs + pair].re).collect();
        (0..count).map(|pair| Matrix::new(self.side, self.side, value(pair))).collect()
    }

    /// `A·B` of every pair, pending; takes the encoded maps of [`Self::plans`].
    ///
    /// Cost: the maps, d products of ciphertexts and, if ψ are rotations, d − 1 of these.
    ///
    /// # Errors
    /// A missing key, too few levels, as [`Auto::linear_transform`]; [`TensorError::Shape`] for another number of maps.
    pub fn multiply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        maps: &[LinearTransform<D>],
        a: &Ciphertext<D>,
        b: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        let wanted = 2 + self.second.len();
        let ([sigma, tau, rest @ ..], true) = (maps, maps.len() == wanted) else {
            let got = format!("{} encoded maps", maps.len());
            return Err(TensorError::shape("a square product", got, wanted.to_string()).into());
        };
        let (a, b) = (auto.linear_transform(a, sigma)?, auto.linear_transform(b, tau)?);
        let (phi, psi) = rest.split_at(self.side - 1);
        // All at the level of the second maps, so that pending products add without settling.
        auto.eval.needs("multiply", &a, 2)?;
        let level = a.level - 1;
        let low = auto.scale_to(&b, 1.0, level)?;
        let mut sum = auto.mul(&auto.scale_to(&a, 1.0, level)?, &low)?;
        for k in 1..self.side {
            let right = match psi.get(k - 1) {
                Some(map) => auto.linear_transform(&b, map)?,
                None => auto.rotate(&low, (k * self.side * self.pairs) as i64)?,
            };
            sum = auto.add(&sum, &auto.mul(&auto.linear_transform(&a, &phi[k - 1])?, &right)?)?;
        }
        Ok(sum)
    }
}
