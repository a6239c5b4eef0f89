//! Clear values that travel beside a ciphertext: every operation computes on both.
//!
//! Shadows find the operation at which a program goes wrong: the client's `Probe` decrypts a ciphertext between any two
//! operations and compares. A ciphertext without a shadow costs nothing; a result has a shadow if all operands have
//! one. Shadows are clear text: they exist only if a client asks for them, and never reach a server.

use num_complex::Complex64;
use std::sync::Arc;

/// The clear slots of a batch.
#[derive(Clone, PartialEq)]
pub struct Shadow(Arc<Vec<Vec<Complex64>>>);

impl std::fmt::Debug for Shadow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shadow({} × {} slots)", self.0.len(), self.0.first().map_or(0, Vec::len))
    }
}

impl Shadow {
    /// The shadow of encoded values: short vectors are padded with zeros.
    #[must_use]
    pub fn new(batch: &[Vec<Complex64>], slots: usize) -> Self {
        let filled = |values: &Vec<Complex64>| {
            let mut values = values.clone();
            values.resize(slots, Complex64::default());
            values
        };
        Self(Arc::new(batch.iter().map(filled).collect()))
    }

    /// The values, one vector per batch entry.
    #[must_use]
    pub fn values(&self) -> &[Vec<Complex64>] {
        &self.0
    }

    /// Applies `f` to each slot.
    #[must_use]
    pub fn map(&self, f: impl Fn(Complex64) -> Complex64) -> Self {
        Self(Arc::new(self.0.iter().map(|row| row.iter().map(|&z| f(z)).collect()).collect()))
    }

    /// Combines two shadows slot by slot; a batch of one broadcasts.
    #[must_use]
    pub fn zip(&self, other: &Self, f: impl Fn(Complex64, Complex64) -> Complex64) -> Self {
        let rows = self.0.len().max(other.0.len());
        let row = |i: usize| {
            let pairs = self.0[i % self.0.len()].iter().zip(&other.0[i % other.0.len()]);
            pairs.map(|(&x, &y)| f(x, y)).collect()
        };
        Self(Arc::new((0..rows).map(row).collect()))
    }

    /// Rotates the slots to the left.
    #[must_use]
    pub fn rotated(&self, steps: usize) -> Self {
        let rotate = |row: &Vec<Complex64>| {
            let mut row = row.clone();
            let length = row.len().max(1);
            row.rotate_left(steps % length);
            row
        };
        Self(Arc::new(self.0.iter().map(rotate).collect()))
    }

    /// The same message in another slot count; one count must be a repetition of the other.
    #[must_use]
    pub fn with_slots(&self, slots: usize) -> Self {
        let repeat = |row: &Vec<Complex64>| row.iter().copied().cycle().take(slots).collect();
        Self(Arc::new(self.0.iter().map(repeat).collect()))
    }

    /// The entries `from … to − 1` of the batch.
    #[must_use]
    pub fn split(&self, from: usize, to: usize) -> Self {
        Self(Arc::new(self.0[from..to].to_vec()))
    }
}

/// [`Shadow::zip`] if both sides have a shadow.
pub(crate) fn zip(
    a: Option<&Shadow>,
    b: Option<&Shadow>,
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Option<Shadow> {
    Some(a?.zip(b?, f))
}
