//! Operations on integers modulo a prime, on any device: with values, or on a trace without.

use limbwise::{
    Result,
    bgv::{Auto, BgvError, Ciphertext, Encoder, LinearTransform, Magnitude, Wide},
};
use limbwise_device::Device;

#[derive(Clone)]
pub(crate) enum Call {
    Add,
    Sub,
    Mul,
    Negate,
    /// With clear integers, a row a message or one for all.
    AddValues(Vec<Vec<i64>>),
    MulValues(Vec<Vec<i64>>),
    /// With clear words.
    AddWords(Vec<Vec<u64>>),
    MulWords(Vec<Vec<u64>>),
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

impl Call {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Add | Self::AddValues(_) | Self::AddWords(_) => "add",
            Self::Sub => "sub",
            Self::Mul | Self::MulValues(_) | Self::MulScalar(_) | Self::MulWords(_) => "multiply",
            Self::Negate => "negate",
            Self::Rotate(_) => "rotate",
            Self::SwapRows => "swap_rows",
            Self::SlotSum => "sum",
            Self::Matvec(_) => "matrix product",
        }
    }
}

/// Integers modulo t, or words: residues modulo every plaintext modulus with the magnitude of what they are residues of.
pub(crate) struct Numbers<D: Device> {
    pub(crate) residues: Vec<Ciphertext<D>>,
    pub(crate) magnitude: Option<Magnitude>,
}

impl<D: Device> Clone for Numbers<D> {
    fn clone(&self) -> Self {
        Self { residues: self.residues.clone(), ..*self }
    }
}

impl<D: Device> Numbers<D> {
    pub(crate) fn first(&self) -> &Ciphertext<D> {
        &self.residues[0]
    }

    fn wide(&self, magnitude: Magnitude) -> Wide<D> {
        Wide { residues: self.residues.clone(), magnitude }
    }
}

/// Carries out an operation on as many numbers as it takes: all modulo t, or all of them words.
pub(crate) fn applied<D: Device>(
    auto: &Auto<'_, D>,
    encoder: &Encoder,
    call: &Call,
    of: &[&Numbers<D>],
) -> Result<Numbers<D>> {
    let words: Vec<Wide<D>> = of.iter().filter_map(|one| one.magnitude.map(|bits| one.wide(bits))).collect();
    if words.len() == of.len() {
        let Wide { residues, magnitude } = on_words(auto, call, &words.iter().collect::<Vec<_>>())?;
        return Ok(Numbers { residues, magnitude: Some(magnitude) });
    }
    if !words.is_empty() {
        return Err(BgvError::Mixed { op: call.name() }.into());
    }
    let one = on_integers(auto, encoder, call, &of.iter().map(|one| one.first()).collect::<Vec<_>>())?;
    Ok(Numbers { residues: vec![one], magnitude: None })
}

fn on_words<D: Device>(auto: &Auto<'_, D>, call: &Call, of: &[&Wide<D>]) -> Result<Wide<D>> {
    match (call, of) {
        (Call::Add, [a, b]) => auto.wide_add(a, b),
        (Call::Sub, [a, b]) => auto.wide_sub(a, b),
        (Call::Mul, [a, b]) => auto.wide_mul(a, b),
        (Call::Negate, [a]) => Ok(auto.wide_negate(a)),
        (Call::SlotSum, [a]) => auto.wide_slot_sum(a),
        (Call::AddWords(rows), [a]) => auto.wide_add_values(a, rows),
        (Call::MulWords(rows), [a]) => auto.wide_mul_values(a, rows),
        _ => Err(BgvError::Mixed { op: call.name() }.into()),
    }
}

fn on_integers<D: Device>(
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
        (Call::AddWords(_) | Call::MulWords(_), _) => Err(BgvError::Mixed { op: call.name() }.into()),
        _ => unreachable!("each operation is called with its ciphertexts"),
    }
}
