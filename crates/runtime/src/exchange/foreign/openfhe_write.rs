//! A ciphertext for OpenFHE, in the place of one of its own: context, key and encoding are those of the file that it replaces.

use super::{
    error::ForeignError,
    openfhe::{Document, FIRST},
    parts::{ForeignCiphertext, Limb, Polynomial},
};
use serde_json::{Value, json};

/// Largest power of the context's scale that a ciphertext's scale is taken for.
const MOST_DEGREE: u32 = 8;

/// A reference to a shared object.
fn shared(id: u64, data: Option<Value>) -> Value {
    let wrapper = match data {
        None => json!({ "id": id }),
        Some(data) => json!({ "id": id | FIRST, "data": data }),
    };
    json!({ "polymorphic_id": 1u64 << 30, "ptr_wrapper": wrapper })
}

/// Words of 64 bits of a product, lowest first.
fn product(factors: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut words = vec![1u64];
    for factor in factors {
        let mut carry = 0u128;
        for word in &mut words {
            carry += u128::from(*word) * u128::from(factor);
            *word = u64::try_from(carry & u128::from(u64::MAX)).unwrap_or(u64::MAX);
            carry >>= 64;
        }
        if carry != 0 {
            words.push(u64::try_from(carry).unwrap_or(u64::MAX));
        }
    }
    words
}

/// A large number as OpenFHE writes it.
fn large(words: &[u64]) -> Value {
    let last = words.last().copied().unwrap_or(0);
    let bits = 64 * words.len() - usize::try_from(last.leading_zeros()).unwrap_or(0);
    json!({ "v": words, "m": if last == 0 { 0 } else { bits } })
}

/// An object, with the version of its class where the class comes first in the file.
fn versioned(mut object: Value, first: &mut u32) -> Value {
    if *first > 0 {
        *first -= 1;
        object["cereal_class_version"] = json!(0);
    }
    object
}

impl Document {
    /// This file of a ciphertext with other polynomials, of `level` primes less than the context has; the values have to be at
    /// the roots of its context ([`Self::roots`]).
    ///
    /// # Errors
    /// [`ForeignError::Field`] for a file that holds no ciphertext, or for primes that its context does not have.
    pub fn with_ciphertext(&self, theirs: &ForeignCiphertext) -> Result<String, ForeignError> {
        self.data()?.get("v")?;
        let (chain, ids) = (self.chain()?, self.prime_ids()?);
        let limbs = theirs.parts.first().map_or(0, |part| part.limbs.len());
        if limbs == 0
            || theirs.parts.iter().any(|part| !chain.moduli.starts_with(&part.moduli()) || part.limbs.len() != limbs)
        {
            return Err(ForeignError::field("ciphertext: moduli", "other primes", "the first primes of the context"));
        }
        let params = self.params_of(&chain.moduli[..limbs], chain.log_n, &ids)?;
        let mut classes = Classes { polynomial: 1, limb: 1, vector: 1 };
        let mut parameters = Some(params.1);
        let part = |part: &Polynomial| {
            let rows: Vec<Value> = part.limbs.iter().zip(&ids).map(|(limb, &id)| classes.row(limb, id)).collect();
            let p = shared(params.0, parameters.take().flatten());
            versioned(json!({ "v": rows, "f": 0, "p": p }), &mut classes.polynomial)
        };
        let parts: Vec<Value> = theirs.parts.iter().map(part).collect();
        // The power of the context's scale that is nearest.
        let apart = |degree: &u32| (theirs.scale.log2() - f64::from(degree * chain.log_scale)).abs();
        let degree = (1..=MOST_DEGREE).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(1);
        let mut root = self.root.clone();
        let data = &mut root["value0"]["ptr_wrapper"]["data"];
        data["v"] = Value::Array(parts);
        data["s"] = json!(theirs.scale);
        data["sl"] = json!(theirs.slots);
        data["l"] = json!(chain.moduli.len() - limbs);
        data["d"] = json!(degree);
        Ok(root.to_string())
    }
}

/// How often the version of each class is still to be written.
struct Classes {
    polynomial: u32,
    limb: u32,
    vector: u32,
}

impl Classes {
    fn row(&mut self, limb: &Limb, id: u64) -> Value {
        let vector = versioned(json!({ "v": limb.words, "m": { "v": limb.modulus } }), &mut self.vector);
        let values = json!({ "polymorphic_id": 1u64 << 30, "ptr_wrapper": { "valid": 1, "data": vector } });
        versioned(json!({ "v": values, "f": 0, "p": shared(id, None) }), &mut self.limb)
    }
}

impl Document {
    /// The number of parameters over these primes, and the parameters where the context has other ones.
    fn params_of(&self, moduli: &[u64], log_n: u32, ids: &[u64]) -> Result<(u64, Option<Value>), ForeignError> {
        if moduli.len() == ids.len() {
            return Ok((self.chain_id()?, None));
        }
        let fresh = self.shared().last() + 1;
        let none = json!({ "v": [0], "m": 0 });
        let primes: Vec<Value> = ids.iter().take(moduli.len()).map(|&id| shared(id, None)).collect();
        let order = json!({
            "co": 2u64 << log_n, "rd": 1u64 << log_n, "cm": large(&product(moduli.iter().copied())),
            "ru": none, "bm": none, "br": none,
        });
        Ok((fresh, Some(json!({ "value0": order, "p": primes }))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_written_in_words() {
        assert_eq!(product([u64::MAX, u64::MAX].into_iter()), [1, u64::MAX - 1]);
        assert_eq!(large(&product([1_125_899_906_842_177, 1_099_511_626_049].into_iter()))["m"], 90);
        assert_eq!(large(&[0]), json!({ "v": [0], "m": 0 }));
    }
}
