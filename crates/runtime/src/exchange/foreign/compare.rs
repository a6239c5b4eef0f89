//! Two ciphertexts under one parameter set, residue by residue, and by what they decrypt to.

use super::{
    error::ForeignError,
    parts::{Binding, ForeignCiphertext, Form, Limb, Polynomial},
};
use limbwise::{ckks::Ciphertext, params::Params};
use limbwise_device::HostRead;

/// A residue that differs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Differing {
    /// 0 for c0, 1 for c1.
    pub part: usize,
    pub limb: usize,
    pub modulus: u64,
    pub coefficient: usize,
    /// In the first file and in the second.
    pub residues: [u64; 2],
}

/// What a comparison of residues says.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Residues {
    pub compared: u64,
    pub different: u64,
    /// The first that differs: by part, limb, coefficient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Differing>,
}

/// Compares coefficients. Ciphertexts of other levels or sizes have other primes: the primes of both are compared.
///
/// # Errors
/// [`ForeignError::Field`] for another number of polynomials or messages; a fault of the device.
pub fn residues<D: HostRead>(dev: &D, params: &Params, pair: [&Ciphertext<D>; 2]) -> Result<Residues, ForeignError> {
    let shape = |c: &Ciphertext<D>| (c.parts.len(), c.batch());
    let [a, b] = pair;
    if shape(a) != shape(b) {
        let of = |(parts, batch)| format!("{parts} polynomials of {batch} messages");
        return Err(ForeignError::field("the second file", of(shape(b)), of(shape(a))));
    }
    let (n, limbs) = (params.ring().n(), params.limbs(a.level.min(b.level)));
    let moduli = params.ring().moduli_of(params.basis(a.level.min(b.level)));
    let mut found = Residues::default();
    for (part, (x, y)) in a.parts.iter().zip(&b.parts).enumerate() {
        let coefficients = |poly| dev.download(&dev.intt(dev.copy(poly)));
        let (x, y) = (coefficients(x)?, coefficients(y)?);
        let rows = |words: &[u64], c: &Ciphertext<D>| -> Vec<Vec<u64>> {
            let message = n * params.limbs(c.level);
            words.chunks(message).flat_map(|message| message.chunks(n).take(limbs).map(<[u64]>::to_vec)).collect()
        };
        for (row, (x, y)) in rows(&x, a).iter().zip(rows(&y, b)).enumerate() {
            for (coefficient, (&x, y)) in x.iter().zip(y).enumerate() {
                found.compared += 1;
                if x != y {
                    found.different += 1;
                    let limb = row % limbs;
                    let modulus = moduli[limb].value();
                    found.first.get_or_insert(Differing { part, limb, modulus, coefficient, residues: [x, y] });
                }
            }
        }
    }
    Ok(found)
}

/// A ciphertext of ours as another library has it: values at the roots that it takes for each prime, `None` for the least.
///
/// # Errors
/// [`ForeignError::Field`] for a batch, or for a root of another order; a fault of the device.
pub fn exported<D: HostRead>(
    dev: &D,
    params: &Params,
    ciphertext: &Ciphertext<D>,
    roots: &dyn Fn(u64) -> Option<u64>,
) -> Result<ForeignCiphertext, ForeignError> {
    if ciphertext.batch() != 1 {
        return Err(ForeignError::field("the ciphertext", format!("{} messages", ciphertext.batch()), "one"));
    }
    let (binding, n) = (Binding::new(params), params.ring().n());
    let moduli = params.ring().moduli_of(params.basis(ciphertext.level));
    let part = |(number, poly)| {
        let words = dev.download(poly)?;
        let limb = |(words, q): (&[u64], _)| {
            let q: limbwise_math::modulus::Modulus = q;
            let root = roots(q.value());
            Ok(Limb { modulus: q.value(), root, words: binding.theirs(words, q, root)? })
        };
        let limbs = words.chunks(n).zip(moduli.iter().copied()).map(limb).collect::<Result<_, ForeignError>>()?;
        Ok(Polynomial { at: format!("c{number}"), form: Form::Values, limbs })
    };
    let parts = ciphertext.parts.iter().enumerate().map(part).collect::<Result<_, ForeignError>>()?;
    Ok(ForeignCiphertext { parts, scale: ciphertext.scale, slots: ciphertext.slots })
}
