//! Looking on while a circuit runs: whoever watches is told every result of every operation.

use super::ciphertext::Ciphertext;
use limbwise_device::Device;

/// Told what each operation of an evaluator gives. An evaluator that nobody watches pays nothing for it.
pub trait Watch<D: Device>: Send + Sync {
    /// `op` has given this.
    fn after(&self, op: &'static str, result: &Ciphertext<D>);
}
