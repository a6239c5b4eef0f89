//! Rows, payloads and the query: from files or from a seed, every vector of unit length.

use super::{LARGEST, MOST_DIMENSION, MOST_ROWS, PAYLOAD, Task};
use crate::{
    data::{
        DataError, load_array,
        raw::{load_f32, load_i16},
    },
    description::Refusal,
    linear::data::generated,
    options::mistake,
    workload::Refusable,
};
use std::path::Path;

/// How far the length of a vector may be from one: rounding to floats of 32 bits is a millionth.
const LENGTH: f64 = 1e-3;
/// Rows of one center, in generated data.
const NEAR: usize = 32;
/// Distance of generated rows and queries from their centers.
const NOISE: f64 = 0.3;

/// A database with its query. Vectors are made exactly as long as one after they were found to be so within [`LENGTH`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    vectors: Vec<Vec<f64>>,
    payloads: Vec<[i16; PAYLOAD]>,
    query: Vec<f64>,
}

impl Rows {
    pub(super) fn vector(&self, row: usize) -> Option<&[f64]> {
        self.vectors.get(row).map(Vec::as_slice)
    }

    pub(super) fn payload(&self, row: usize) -> Option<[i16; PAYLOAD]> {
        self.payloads.get(row).copied()
    }

    pub(super) fn query(&self) -> &[f64] {
        &self.query
    }

    pub(super) fn cosine(&self, row: usize) -> Option<f64> {
        self.vector(row).map(|vector| vector.iter().zip(&self.query).map(|(x, y)| x * y).sum())
    }

    /// Half of the rows are near centers, the others anywhere; the query is near one of the centers.
    pub(super) fn generated(task: &Task, seed: u64) -> Self {
        let (rows, d) = (task.rows, task.dimension);
        let vector = |stream: u64, at: usize| gaussian(seed, stream.wrapping_mul(0x9e37).wrapping_add(at as u64), d);
        let near = |center: &[f64], noise: &[f64]| unit(center.iter().zip(noise).map(|(c, x)| c + NOISE * x).collect());
        let centers = (rows / NEAR).max(1);
        let center = |at: usize| unit(vector(1, at));
        let row = |at: usize| {
            let own = unit(vector(2, at));
            if at.is_multiple_of(2) { near(&center(at / 2 % centers), &own) } else { own }
        };
        let numbers = generated(seed, 3, rows * PAYLOAD, f64::from(LARGEST));
        #[expect(clippy::cast_possible_truncation, reason = "at most 511 in magnitude")]
        let payload = |chunk: &[f64]| std::array::from_fn(|at| chunk[at].abs() as i16);
        Self {
            vectors: (0..rows).map(row).collect(),
            payloads: numbers.chunks_exact(PAYLOAD).map(payload).collect(),
            query: near(&center(0), &unit(vector(4, 0))),
        }
    }

    /// Of files: the database, the query, the payloads. What has no file is empty, and is not asked for.
    pub(super) fn of_files(task: &Task, [database, query, payloads]: [Option<&Path>; 3]) -> Refusable<Self> {
        let d = task.dimension;
        let vectors =
            |path: Option<&Path>, rows: usize| path.map_or_else(|| Ok(Vec::new()), |p| unit_vectors(p, rows, d));
        let payloads = payloads.map_or_else(|| Ok(Vec::new()), |path| numbers_of(path, task.rows))?;
        let query = vectors(query, 1)?.pop().unwrap_or_default();
        Ok(Self { vectors: vectors(database, task.rows)?, payloads, query })
    }
}

fn wrong(path: &Path, text: &str) -> Refusal {
    mistake(format!("{}: {text}", path.display()))
}

/// So many vectors, each divided by its length.
fn unit_vectors(path: &Path, rows: usize, d: usize) -> Refusable<Vec<Vec<f64>>> {
    let numbers = floats(path, MOST_ROWS * MOST_DIMENSION).map_err(|e| mistake(e.to_string()))?;
    if numbers.len() != rows * d {
        let got = numbers.len();
        let text = format!("{got} numbers; the program takes {rows} rows of {d}: give as many, all rows equally long");
        return Err(wrong(path, &text));
    }
    let divided = |(row, vector): (usize, &[f64])| {
        let length = norm(vector);
        if (length - 1.0).abs() <= LENGTH {
            return Ok(vector.iter().map(|x| x / length).collect());
        }
        let row = row + 1;
        let text =
            format!("vector {row} has length {length:.4}: a cosine takes vectors of length 1; divide it by that");
        Err(wrong(path, &text))
    };
    numbers.chunks_exact(d).enumerate().map(divided).collect()
}

/// What so many rows carry.
fn numbers_of(path: &Path, rows: usize) -> Refusable<Vec<[i16; PAYLOAD]>> {
    let numbers = load_i16(path, MOST_ROWS * PAYLOAD).map_err(|e| mistake(e.to_string()))?;
    let (got, wanted) = (numbers.len(), rows * PAYLOAD);
    if got != wanted {
        return Err(wrong(path, &format!("{got} numbers; {rows} rows carry {PAYLOAD} each: give {wanted}")));
    }
    if let Some(at) = numbers.iter().position(|number| !(0..=LARGEST).contains(number)) {
        let (row, number) = (at / PAYLOAD + 1, numbers[at]);
        return Err(wrong(path, &format!("row {row} carries {number}: give numbers from 0 to {LARGEST}")));
    }
    Ok(numbers.chunks_exact(PAYLOAD).map(|chunk| std::array::from_fn(|at| chunk[at])).collect())
}

/// Raw floats of 32 bits where the file is named so, else a NumPy array or a table.
fn floats(path: &Path, most: usize) -> Result<Vec<f64>, DataError> {
    if path.extension().is_some_and(|extension| extension == "bin") {
        return Ok(load_f32(path, most)?.into_iter().map(f64::from).collect());
    }
    Ok(load_array(path)?.values.into_iter().map(|z| z.re).collect())
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn unit(mut vector: Vec<f64>) -> Vec<f64> {
    let length = norm(&vector).max(f64::MIN_POSITIVE);
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

/// Normal numbers by Box and Muller's transformation.
fn gaussian(seed: u64, stream: u64, count: usize) -> Vec<f64> {
    let uniform = generated(seed, stream, 2 * count.div_ceil(2), 1.0);
    let pair = |pair: &[f64]| {
        let radius = (-2.0 * ((1.0 + pair[0]) / 2.0).max(1e-300).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::PI * pair[1]).sin_cos();
        [radius * cosine, radius * sine]
    };
    uniform.chunks_exact(2).flat_map(pair).take(count).collect()
}
