//! Looking on while a circuit runs: whoever watches is told every operation, what it was done to and what it gave.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    linear::LinearTransform,
};
use limbwise_device::Device;
use limbwise_math::galois::GaloisElement;

/// One operation of an evaluator. What only changes how a value is read (a dropped level, a part of a batch) is none.
pub struct Done<'a, D: Device> {
    /// Its name.
    pub op: &'static str,
    /// The ciphertexts it was done to.
    pub operands: &'a [&'a Ciphertext<D>],
    /// What else it was done with.
    pub with: With<'a, D>,
    /// What it gave.
    pub result: &'a Ciphertext<D>,
}

/// What an operation was done with besides ciphertexts.
pub enum With<'a, D: Device> {
    /// Nothing.
    Nothing,
    /// A plaintext.
    Plaintext(&'a Plaintext<D>),
    /// A constant for each operand.
    Constants,
    /// An automorphism.
    Galois(GaloisElement),
    /// A linear map.
    Map(&'a LinearTransform<D>),
}

/// Told of each operation of an evaluator. An evaluator that nobody watches pays nothing for it.
pub trait Watch<D: Device>: Send + Sync {
    /// This was done.
    fn after(&self, done: &Done<'_, D>);
}
