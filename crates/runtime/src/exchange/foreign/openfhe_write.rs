//! A ciphertext for OpenFHE, in the place of one of its own: context, key and encoding are those of the file that it replaces.
//! Fields stand in OpenFHE's order; its reader takes no other.

use super::{
    error::ForeignError,
    openfhe::{Document, FIRST},
    ordered::Ordered,
    parts::{ForeignCiphertext, Limb, Polynomial},
};
use serde_json::{Value, json};

/// Largest power of the context's scale that a ciphertext's scale is taken for.
const MOST_DEGREE: u32 = 8;

fn leaf(value: impl Into<Value>) -> Ordered {
    Ordered::Leaf(value.into())
}

/// A pointer to an object of no further type.
fn pointer(fields: Vec<(&str, Ordered)>) -> Ordered {
    vec![("polymorphic_id", leaf(1u64 << 30)), ("ptr_wrapper", fields.into())].into()
}

/// A reference to a shared object.
fn shared(id: u64, data: Option<Ordered>) -> Ordered {
    match data {
        None => pointer(vec![("id", leaf(id))]),
        Some(data) => pointer(vec![("id", leaf(id | FIRST)), ("data", data)]),
    }
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
fn large(words: &[u64]) -> Ordered {
    vec![("v", leaf(json!(words))), ("m", leaf(bits(words)))].into()
}

/// Number of bits.
fn bits(words: &[u64]) -> usize {
    let last = words.last().map_or(64, |last| last.leading_zeros());
    64 * words.len() - usize::try_from(last).unwrap_or(0)
}

/// Fields, with the version of their class where it comes first in the file.
fn versioned(mut fields: Vec<(&'static str, Ordered)>, first: bool) -> Ordered {
    if first {
        fields.insert(0, ("cereal_class_version", leaf(0)));
    }
    fields.into()
}

/// The file of a ciphertext, `form`, with other polynomials; the values have to be at the roots of its context
/// ([`Document::roots`]).
///
/// # Errors
/// [`ForeignError::Field`] for a file that holds no ciphertext, or for primes that its context does not have.
pub fn replaced(form: &[u8], theirs: &ForeignCiphertext) -> Result<String, ForeignError> {
    let document = Document::parse(form)?;
    document.data()?.get("v")?;
    let (chain, ids) = (document.chain()?, document.prime_ids()?);
    let limbs = theirs.parts.first().map_or(0, |part| part.limbs.len());
    let fits = |part: &Polynomial| part.limbs.len() == limbs && chain.moduli.starts_with(&part.moduli());
    if limbs == 0 || !theirs.parts.iter().all(fits) {
        return Err(ForeignError::field("ciphertext: moduli", "other primes", "the first primes of the context"));
    }
    // The context has parameters over all of its primes; over fewer they are written where they come first.
    let (params, mut fresh) = match limbs == ids.len() {
        true => (document.chain_id()?, None),
        false => (document.shared().last() + 1, Some(parameters(&chain.moduli[..limbs], chain.log_n, &ids))),
    };
    let part = |(number, part): (usize, &Polynomial)| {
        let row = |(at, (limb, &id)): (usize, (&Limb, &u64))| row(limb, id, (number, at) == (0, 0));
        let rows = part.limbs.iter().zip(&ids).enumerate().map(row).collect();
        let p = shared(params, fresh.take());
        versioned(vec![("v", Ordered::List(rows)), ("f", leaf(0)), ("p", p)], number == 0)
    };
    let parts = Ordered::List(theirs.parts.iter().enumerate().map(part).collect());
    // The power of the context's scale that is nearest.
    let apart = |degree: &u32| (theirs.scale.log2() - f64::from(degree * chain.log_scale)).abs();
    let degree = (1..=MOST_DEGREE).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(1);
    let wrong = |e: serde_json::Error| ForeignError::Format { format: "JSON of OpenFHE", got: e.to_string() };
    let mut root: Ordered = serde_json::from_slice(form).map_err(wrong)?;
    let data = root.field("value0").and_then(|at| at.field("ptr_wrapper")).and_then(|at| at.field("data"));
    let data = data.ok_or_else(|| ForeignError::field("file", "no object", "a ciphertext"))?;
    let new = [
        ("v", parts),
        ("sl", leaf(theirs.slots)),
        ("l", leaf(chain.moduli.len() - limbs)),
        ("d", leaf(degree)),
        ("s", leaf(theirs.scale)),
    ];
    for (name, value) in new {
        let missing = || ForeignError::field(format!("ciphertext.{name}"), "no field", "one");
        *data.field(name).ok_or_else(missing)? = value;
    }
    serde_json::to_string(&root).map_err(wrong)
}

/// A limb, with the number of its prime.
fn row(limb: &Limb, id: u64, first: bool) -> Ordered {
    let modulus = vec![("v", leaf(limb.modulus))].into();
    let vector = versioned(vec![("v", leaf(json!(limb.words))), ("m", modulus)], first);
    let values = pointer(vec![("valid", leaf(1)), ("data", vector)]);
    versioned(vec![("v", values), ("f", leaf(0)), ("p", shared(id, None))], first)
}

/// Parameters of polynomials over the first primes of the context.
fn parameters(moduli: &[u64], log_n: u32, ids: &[u64]) -> Ordered {
    let none = || vec![("v", leaf(json!([0]))), ("m", leaf(0))].into();
    let primes = ids.iter().take(moduli.len()).map(|&id| shared(id, None)).collect();
    let order = vec![
        ("co", leaf(2u64 << log_n)),
        ("rd", leaf(1u64 << log_n)),
        ("cm", large(&product(moduli.iter().copied()))),
        ("ru", none()),
        ("bm", none()),
        ("br", none()),
    ];
    vec![("value0", order.into()), ("p", Ordered::List(primes))].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_written_in_words() {
        assert_eq!(product([u64::MAX, u64::MAX].into_iter()), [1, u64::MAX - 1]);
        assert_eq!(bits(&product([1_125_899_906_842_177, 1_099_511_626_049].into_iter())), 90);
    }
}
