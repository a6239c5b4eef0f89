//! Parameters of BGV: those of RLWE plus the plaintext modulus.

use crate::params::{Insecure, Params, ParamsError, ParamsLiteral, PrimeChoice, Secret, SecurityReport, Standard};
use limbwise_math::{
    modulus::Modulus,
    prime::{is_prime, ntt_primes_below},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

fn default_sigma() -> f64 {
    3.2
}

fn default_dnum() -> usize {
    1
}

/// A BGV parameter set as written: public plain data that nothing has checked yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BgvLiteral {
    /// log₂ of the ring degree, 10 … 17.
    pub log_n: u32,
    /// t: a prime that is 1 modulo 2N, below 2^50.
    pub plaintext_modulus: u64,
    /// More plaintext moduli of the same kind: ciphertexts modulo each share ring and keys, and integers modulo the
    /// product of all are their residues ([`Residues`](super::Residues)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_moduli: Vec<u64>,
    /// The primes of each level, level 0 first: modulus switching from level ℓ drops the primes of `levels[ℓ]`.
    pub levels: Vec<Vec<PrimeChoice>>,
    /// The special primes P of key switching. If empty, there are no evaluation keys: no relinearization, no rotation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub special: Vec<PrimeChoice>,
    /// Number of digits of hybrid key switching at the top level.
    #[serde(default = "default_dnum")]
    pub dnum: usize,
    /// Distribution of the secret key.
    #[serde(default)]
    pub secret: Secret,
    /// Standard deviation of the errors.
    #[serde(default = "default_sigma", deserialize_with = "limbwise_math::finite::field")]
    pub sigma: f64,
    /// The security table to check against.
    #[serde(default)]
    pub standard: Standard,
    /// Override for sets below 128 bits; `None` refuses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<Insecure>,
}

impl BgvLiteral {
    /// A chain of single primes of the given bit lengths, level 0 first, with special primes and the default secret and
    /// errors.
    #[must_use]
    pub fn chain(log_n: u32, plaintext_modulus: u64, bits: &[u32], special: &[u32], dnum: usize) -> Self {
        Self {
            log_n,
            plaintext_modulus,
            more_moduli: Vec::new(),
            levels: bits.iter().map(|&b| vec![PrimeChoice::Bits(b)]).collect(),
            special: special.iter().map(|&b| PrimeChoice::Bits(b)).collect(),
            dnum,
            secret: Secret::default(),
            sigma: default_sigma(),
            standard: Standard::default(),
            insecure: None,
        }
    }
}

/// A checked set, seen with one of its plaintext moduli; clones share it.
#[derive(Clone, Debug, PartialEq)]
pub struct BgvParams {
    shared: Arc<Inner>,
    /// Index of the plaintext modulus t.
    modulus: usize,
}

/// Most plaintext moduli of a set.
pub const MOST_MODULI: usize = 16;

#[derive(Debug, PartialEq)]
struct Inner {
    literal: BgvLiteral,
    rlwe: Params,
    moduli: Vec<Modulus>,
}

impl BgvParams {
    /// Chooses primes (the largest free ones below 2^bits, never a plaintext modulus) and checks every field.
    ///
    /// # Errors
    /// [`ParamsError`] with the field, its value and the values allowed.
    pub fn new(literal: &BgvLiteral) -> Result<Self, ParamsError> {
        let moduli = checked_moduli(literal)?;
        let rlwe = Params::with_or_without_keys(&chosen(literal)?)?;
        if let Some(t) = moduli.iter().find(|t| rlwe.ring().spec().primes.contains(&t.value())) {
            let wanted = "primes other than the plaintext modulus".into();
            return Err(ParamsError::Range { field: "levels and special", got: t.value().to_string(), wanted });
        }
        Ok(Self { shared: Arc::new(Inner { literal: literal.clone(), rlwe, moduli }), modulus: 0 })
    }

    /// The same set seen with another of its plaintext moduli.
    ///
    /// # Panics
    /// If there is no such modulus.
    #[must_use]
    pub fn at(&self, modulus: usize) -> Self {
        assert!(modulus < self.moduli().len(), "plaintext modulus {modulus} of {}", self.moduli().len());
        Self { shared: self.shared.clone(), modulus }
    }

    /// All plaintext moduli, the first one first.
    #[must_use]
    pub fn moduli(&self) -> &[Modulus] {
        &self.shared.moduli
    }

    /// Index of the plaintext modulus that the set is seen with; 0 unless [`Self::at`] says another.
    #[must_use]
    pub fn modulus(&self) -> usize {
        self.modulus
    }

    /// The literal it was made from.
    #[must_use]
    pub fn literal(&self) -> &BgvLiteral {
        &self.shared.literal
    }

    /// The part shared by all RLWE schemes: ring, levels, digits, security. Keys are made for these parameters.
    #[must_use]
    pub fn rlwe(&self) -> &Params {
        &self.shared.rlwe
    }

    /// The plaintext modulus that the set is seen with.
    #[must_use]
    pub fn t(&self) -> Modulus {
        self.shared.moduli[self.modulus]
    }

    /// Integers in a message: N, in two rows.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.shared.rlwe.ring().n()
    }

    /// Integers in a row: N/2.
    #[must_use]
    pub fn row(&self) -> usize {
        self.slots() / 2
    }

    /// Largest absolute value of a slot: (t − 1)/2.
    #[must_use]
    pub fn most(&self) -> i64 {
        (self.t().value() / 2).cast_signed()
    }

    /// Level of a fresh ciphertext.
    #[must_use]
    pub fn top_level(&self) -> usize {
        self.shared.rlwe.top_level()
    }

    /// Whether there are special primes, and so evaluation keys.
    #[must_use]
    pub fn switches_keys(&self) -> bool {
        !self.shared.rlwe.special().is_empty()
    }

    /// Result of the security check.
    #[must_use]
    pub fn security(&self) -> &SecurityReport {
        self.shared.rlwe.security()
    }

    /// The inverse modulo t of the product of the primes between two levels: modulus switching multiplies the factor by
    /// it.
    ///
    /// # Panics
    /// If `to` is above `from`, or `from` above the top level.
    #[must_use]
    pub fn switched_factor(&self, from: usize, to: usize) -> u64 {
        let (t, rlwe) = (self.t(), self.rlwe());
        let dropped = rlwe.basis(from) - rlwe.basis(to);
        t.inv(dropped.iter().fold(1, |product, i| t.mul(product, t.reduce(rlwe.ring().spec().primes[i]))))
    }
}

/// The plaintext moduli, checked.
fn checked_moduli(literal: &BgvLiteral) -> Result<Vec<Modulus>, ParamsError> {
    let more = &literal.more_moduli;
    if more.len() >= MOST_MODULI {
        let wanted = format!("at most {} beside the first", MOST_MODULI - 1);
        return Err(ParamsError::Range { field: "more_moduli", got: format!("{} moduli", more.len()), wanted });
    }
    let mut moduli = vec![checked_modulus("plaintext_modulus", literal.plaintext_modulus, literal.log_n)?];
    for &t in more {
        let modulus = checked_modulus("more_moduli", t, literal.log_n)?;
        if moduli.contains(&modulus) {
            let wanted = "plaintext moduli that differ".into();
            return Err(ParamsError::Range { field: "more_moduli", got: t.to_string(), wanted });
        }
        moduli.push(modulus);
    }
    Ok(moduli)
}

fn checked_modulus(field: &'static str, t: u64, log_n: u32) -> Result<Modulus, ParamsError> {
    let in_range = (10..=17).contains(&log_n) && (3..1 << 50).contains(&t);
    if in_range && is_prime(t) && t % (2 << log_n) == 1 {
        return Ok(Modulus::new(t));
    }
    let wanted = format!(
        "a prime below 2^50 that is 1 modulo 2N = 2^{}, such as 65537 for N up to 2^15",
        log_n.saturating_add(1)
    );
    Err(ParamsError::Range { field, got: t.to_string(), wanted })
}

/// The RLWE literal with every prime chosen. Its scale is unused: BGV has none.
fn chosen(literal: &BgvLiteral) -> Result<ParamsLiteral, ParamsError> {
    let exact = |choice: &PrimeChoice| match *choice {
        PrimeChoice::Exact(prime) => Some(prime),
        PrimeChoice::Bits(_) => None,
    };
    let mut used: Vec<u64> = literal.levels.iter().flatten().chain(&literal.special).filter_map(exact).collect();
    used.push(literal.plaintext_modulus);
    used.extend(&literal.more_moduli);
    let mut choose = |choice: &PrimeChoice| match *choice {
        PrimeChoice::Bits(bits @ 20..=61) => {
            let prime = ntt_primes_below(literal.log_n, bits, 1, &used)?[0];
            used.push(prime);
            Ok(PrimeChoice::Exact(prime))
        }
        written => Ok::<_, ParamsError>(written), // refused later where it is out of range
    };
    let special = literal.special.iter().map(&mut choose).collect::<Result<_, _>>()?;
    let level = |level: &Vec<PrimeChoice>| level.iter().map(&mut choose).collect::<Result<Vec<_>, _>>();
    let levels = literal.levels.iter().map(level).collect::<Result<_, _>>()?;
    Ok(ParamsLiteral {
        log_n: literal.log_n,
        levels,
        special,
        dnum: literal.dnum,
        low_level: None,
        words: None,
        log_scale: 30,
        secret: literal.secret,
        sigma: literal.sigma,
        standard: literal.standard,
        insecure: literal.insecure.clone(),
        bootstrapping: None,
    })
}
