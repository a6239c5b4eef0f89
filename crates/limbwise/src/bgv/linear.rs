//! Linear maps of the two rows by their diagonals, with baby and giant steps.
//!
//! `M·x = Σ_g rot_g(Σ_b rot_−g(diagonal_{g+b}) ⊙ rot_b(x))`: each inner sum over baby steps is one
//! [`Device::weighted_sums`]. Both rows share the map unless each has its own matrix.

use super::{
    ciphertext::Ciphertext,
    encoder::Encoder,
    error::BgvError,
    evaluator::{Evaluator, linear, same_modulus},
    noise::NoiseBound,
    params::BgvParams,
};
use crate::{
    error::{LevelError, Result},
    rlwe::{KeyName, Requirements},
};
use limbwise_device::{Device, Terms, Weight};
use limbwise_math::galois::GaloisElement;

/// A map encoded on a device.
pub struct LinearTransform<D: Device> {
    level: usize,
    /// Index of the plaintext modulus that its entries are encoded for.
    modulus: usize,
    /// Rotations of the input (baby steps).
    babies: Vec<usize>,
    /// Rotations of the inner sums (giant steps) with the terms of each.
    giants: Vec<(usize, Group<D::Poly>)>,
}

/// The terms of an inner sum: index of the baby step, and the encoded diagonal.
type Group<P> = Vec<(usize, P)>;

/// A diagonal: its index and its entries for both rows.
type Diagonal = (usize, Vec<i64>);

/// The nonzero diagonals of the maps of both rows: entry i of diagonal d is `matrix[i][i + d]`.
fn diagonals(params: &BgvParams, matrices: [&[Vec<i64>]; 2]) -> Result<Vec<Diagonal>> {
    let row = params.row();
    for matrix in matrices {
        let columns = matrix.iter().map(Vec::len).max().unwrap_or(0);
        if matrix.len() > row || columns > row {
            let (op, wanted) = ("linear_transform", "at most N/2 rows and columns; split it into blocks");
            return Err(BgvError::Shape { op, rows: matrix.len(), columns, slots: row, wanted }.into());
        }
    }
    let entry = |matrix: &[Vec<i64>], i: usize, d: usize| {
        matrix.get(i).and_then(|line| line.get((i + d) % row)).copied().unwrap_or(0)
    };
    let diagonal = |d: usize| {
        let both = matrices.iter().flat_map(|&matrix| (0..row).map(move |i| entry(matrix, i, d)));
        (d, both.collect::<Vec<i64>>())
    };
    Ok((0..row).map(diagonal).filter(|(_, entries)| entries.iter().any(|&x| x != 0)).collect())
}

/// Rotates both rows of a vector to the right.
fn rotate_entries(entries: &[i64], steps: usize) -> Vec<i64> {
    let mut entries = entries.to_vec();
    let row = entries.len() / 2;
    entries.chunks_exact_mut(row).for_each(|half| half.rotate_right(steps));
    entries
}

impl<D: Device> LinearTransform<D> {
    /// Encodes a matrix for ciphertexts at a level and below; both rows go through it. The matrix has at most N/2 rows
    /// and columns; missing entries are zero. A map of d diagonals takes about 2√d rotations.
    ///
    /// # Errors
    /// [`BgvError`] for a matrix that is too large, or entries outside ±(t−1)/2; [`LevelError`].
    pub fn new(dev: &D, encoder: &Encoder, matrix: &[Vec<i64>], level: usize) -> Result<Self> {
        Self::of_rows(dev, encoder, [matrix, matrix], level)
    }

    /// [`Self::new`] with one matrix per row.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_rows(dev: &D, encoder: &Encoder, matrices: [&[Vec<i64>]; 2], level: usize) -> Result<Self> {
        let mut diagonals = diagonals(encoder.params(), matrices)?;
        if diagonals.is_empty() {
            diagonals.push((0, vec![0; encoder.params().slots()]));
        }
        let step = babies_of(&diagonals);
        let mut babies: Vec<usize> = diagonals.iter().map(|(d, _)| d % step).collect();
        babies.sort_unstable();
        babies.dedup();
        let mut giants: Vec<(usize, Group<D::Poly>)> = Vec::new();
        for (d, entries) in diagonals {
            let giant = d - d % step;
            let plain = encoder.encode(dev, &[rotate_entries(&entries, giant)], level)?;
            let baby = babies.partition_point(|&b| b < d % step);
            match giants.last_mut() {
                Some((at, terms)) if *at == giant => terms.push((baby, plain.poly)),
                _ => giants.push((giant, vec![(baby, plain.poly)])),
            }
        }
        Ok(Self { level, modulus: encoder.params().modulus(), babies, giants })
    }

    /// The highest level of ciphertexts that it maps.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// The keys that the map needs at a level.
    #[must_use]
    pub fn requirements(&self, params: &BgvParams, level: usize) -> Requirements {
        let log_n = params.rlwe().log_n();
        let steps = self.babies.iter().copied().chain(self.giants.iter().map(|(giant, _)| *giant));
        let galois = |steps: usize| KeyName::Galois(GaloisElement::rotation(steps as i64, log_n));
        steps.filter(|&steps| steps != 0).map(|steps| (galois(steps), level)).collect()
    }
}

/// The number of baby steps with the fewest rotations in total.
fn babies_of(diagonals: &[Diagonal]) -> usize {
    let rotations = |step: usize| {
        let count = |mut all: Vec<usize>| {
            all.sort_unstable();
            all.dedup();
            all.iter().filter(|&&steps| steps != 0).count()
        };
        count(diagonals.iter().map(|(d, _)| d % step).collect())
            + count(diagonals.iter().map(|(d, _)| d - d % step).collect())
    };
    let last = diagonals.last().map_or(0, |(d, _)| *d);
    (0..=last.checked_ilog2().unwrap_or(0) + 1).map(|k| 1usize << k).min_by_key(|&step| rotations(step)).unwrap_or(1)
}

impl<D: Device> Evaluator<'_, D> {
    /// Applies a linear map to each row.
    ///
    /// Noise: baby and giant steps are key-switched; each diagonal multiplies by the bound of a plaintext.
    ///
    /// # Errors
    /// A missing key, a ciphertext of three polynomials, a map encoded for lower levels, or too much noise.
    ///
    /// # Panics
    /// Never: a map has at least one diagonal.
    pub fn linear_transform(&self, a: &Ciphertext<D>, map: &LinearTransform<D>) -> Result<Ciphertext<D>> {
        let op = "linear_transform";
        linear(op, a)?;
        if a.level > map.level {
            return Err(LevelError::Above { op, wanted: a.level, level: map.level }.into());
        }
        same_modulus(op, a.modulus, map.modulus)?;
        let noise = self.mapped_noise(a, map);
        self.fits(op, noise, a.level)?;
        for (name, level) in map.requirements(self.params, a.level) {
            self.keys.check(op, name, level)?;
        }
        let _region = self.dev.region(op, 0);
        let (dev, batch, basis) = (self.dev, a.batch(), self.params.rlwe().basis(a.level));
        let rotated = |&steps: &usize| {
            let c = self.rotate_rows(a, steps as i64)?;
            Ok(dev.stack(&[&c.parts[0], &c.parts[1]]))
        };
        let babies = map.babies.iter().map(rotated).collect::<Result<Vec<D::Poly>>>()?;
        let cut = |terms: &Group<D::Poly>| -> Group<D::Poly> {
            terms.iter().map(|(baby, poly)| (*baby, dev.restrict(poly, basis))).collect()
        };
        let giants: Vec<Group<D::Poly>> = map.giants.iter().map(|(_, terms)| cut(terms)).collect();
        let terms: Vec<Terms<'_, D::Poly>> = giants
            .iter()
            .map(|terms| terms.iter().map(|(baby, poly)| (*baby, Weight::Values(poly))).collect())
            .collect();
        let sums = dev.weighted_sums(&babies, &terms);
        drop(babies);
        let mut total: Option<Ciphertext<D>> = None;
        for ((giant, terms), sum) in map.giants.iter().zip(sums) {
            let parts = [0, 1].map(|half| dev.split(&sum, half * batch, (half + 1) * batch)).into();
            let noise = self.group_noise(a, terms.len());
            let moved = self.rotate_rows(&Ciphertext { parts, noise, ..*a }, *giant as i64)?;
            total = Some(match total {
                None => moved,
                Some(total) => self.add(&total, &moved)?,
            });
        }
        Ok(total.expect("a map has a diagonal"))
    }

    fn group_noise(&self, a: &Ciphertext<D>, terms: usize) -> NoiseBound {
        let baby = a.noise.after_key_switch(&self.of(a), a.level);
        let count = NoiseBound::constant(i64::try_from(terms).unwrap_or(i64::MAX));
        baby.product(NoiseBound::plaintext(&self.of(a))).product(count)
    }

    /// The noise bound after a map.
    fn mapped_noise(&self, a: &Ciphertext<D>, map: &LinearTransform<D>) -> NoiseBound {
        let groups =
            map.giants.iter().map(|(_, terms)| self.group_noise(a, terms.len()).after_key_switch(&self.of(a), a.level));
        groups.reduce(NoiseBound::sum).unwrap_or(a.noise)
    }
}
