//! Operations on integers modulo a prime, on any device: with values, or on a trace without.

use limbwise::{
    Result,
    bgv::{Auto, Ciphertext, Encoder, LinearTransform},
};
use limbwise_device::Device;

pub(crate) enum Call {
    Add,
    Sub,
    Mul,
    Negate,
    /// With clear integers, a row a message or one for all.
    AddValues(Vec<Vec<i64>>),
    MulValues(Vec<Vec<i64>>),
    /// With one clear integer.
    MulScalar(i64),
    /// Both rows of slots turned left.
    Rotate(i64),
    /// Both rows of slots exchanged.
    SwapRows,
    /// The sum of all slots, in every slot.
    SlotSum,
    /// A matrix times the first row of slots.
    Matvec(Vec<Vec<i64>>),
}

/// Carries out an operation on as many ciphertexts as it takes.
pub(crate) fn applied<D: Device>(
    auto: &Auto<'_, D>,
    encoder: &Encoder,
    call: &Call,
    of: &[&Ciphertext<D>],
) -> Result<Ciphertext<D>> {
    match (call, of) {
        (Call::Add, [a, b]) => auto.add(a, b),
        (Call::Sub, [a, b]) => auto.sub(a, b),
        (Call::Mul, [a, b]) => auto.mul(a, b),
        (Call::Negate, [a]) => Ok(auto.eval.negate(a)),
        (Call::AddValues(rows), [a]) => auto.add_values(a, rows),
        (Call::MulValues(rows), [a]) => auto.mul_values(a, rows),
        (Call::MulScalar(value), [a]) => auto.eval.mul_scalar(a, *value),
        (Call::Rotate(steps), [a]) => auto.rotate_rows(a, *steps),
        (Call::SwapRows, [a]) => auto.swap_rows(a),
        (Call::SlotSum, [a]) => auto.slot_sum(a),
        (Call::Matvec(matrix), [a]) => {
            let map = LinearTransform::of_rows(auto.eval.device(), encoder, [&matrix[..], &[]], a.level)?;
            auto.linear_transform(a, &map)
        }
        _ => unreachable!("each operation is called with its ciphertexts"),
    }
}
