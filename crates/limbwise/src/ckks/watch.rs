//! Observing a circuit: the observer is called after every operation with its operands and its result.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    linear::LinearTransform,
};
use limbwise_device::Device;
use limbwise_math::galois::GaloisElement;

/// One operation of an evaluator. Changes of view (a dropped level, a part of a batch) do not count as operations.
pub struct Done<'a, D: Device> {
    /// Name of the operation.
    pub op: &'static str,
    /// Ciphertext operands.
    pub operands: &'a [&'a Ciphertext<D>],
    /// The operand that is not a ciphertext.
    pub with: With<'a, D>,
    /// Result of the operation.
    pub result: &'a Ciphertext<D>,
}

/// The operand of an operation that is not a ciphertext.
pub enum With<'a, D: Device> {
    /// No further operand.
    Nothing,
    /// A plaintext.
    Plaintext(&'a Plaintext<D>),
    /// One constant per ciphertext operand.
    Constants,
    /// A constant for each operand after the factors of a product, to which they are added.
    Onto {
        /// Whether the product is doubled before.
        doubled: bool,
    },
    /// The Galois element of an automorphism.
    Galois(GaloisElement),
    /// The Galois elements of rotations that are added to the operand, and to each sum those of the next step.
    Rotations(&'a [Vec<GaloisElement>]),
    /// A linear map.
    Map(&'a LinearTransform<D>),
}

/// An observer of an evaluator's operations. Without one the evaluator does no extra work.
pub trait Watch<D: Device>: Send + Sync {
    /// Called after each operation.
    fn after(&self, done: &Done<'_, D>);
}
