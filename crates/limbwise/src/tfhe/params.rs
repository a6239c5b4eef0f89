//! A TFHE parameter set: the literal, and the checks of every key's security and of the stated failure probability.

use super::noise;
use crate::params::{
    Insecure, ParamsError, PrimeChoice, SecurityReport,
    security::{CURVES, binary_class, least_sigma},
};
use limbwise_device::{Basis, Domain, Gadget, Ring, RingSpec, Shape};
use limbwise_math::{modulus::Modulus, prime::ntt_primes_below, rns::to_f64, sampling::Gaussian};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Base and number of digits of a gadget decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GadgetLiteral {
    /// log₂ of the base.
    pub base_log: u32,
    /// Number of digits.
    pub levels: u32,
}

impl From<GadgetLiteral> for Gadget {
    fn from(GadgetLiteral { base_log, levels }: GadgetLiteral) -> Self {
        Self { base_log, levels }
    }
}

/// A TFHE parameter set as written. All secrets are binary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TfheLiteral {
    /// log₂ of the ring degree N, 10 … 17.
    pub log_n: u32,
    /// Mask polynomials k of a GLWE ciphertext.
    pub masks: usize,
    /// The prime of GLWE ciphertexts: given by bits, the largest prime of that size; in both cases just below a power
    /// of two.
    pub prime: PrimeChoice,
    /// Standard deviation of the errors of GLWE keys, in integer units.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    pub glwe_sigma: f64,
    /// Dimension n of the small LWE key: the number of steps of a blind rotation.
    pub lwe_dimension: usize,
    /// log₂ of the modulus of the small LWE key.
    pub log_lwe_modulus: u32,
    /// Standard deviation of the errors of the switching key, in integer units.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    pub lwe_sigma: f64,
    /// Digits of the blind rotation.
    pub bootstrap: GadgetLiteral,
    /// Digits of the LWE key switch.
    pub key_switch: GadgetLiteral,
    /// Message bits including carries, without the padding bit.
    pub message_bits: u32,
    /// Largest Euclidean norm of the coefficients that combine bootstrapped ciphertexts before a bootstrapping.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    pub norm: f64,
    /// log₂ of the failure probability that a bootstrapping at that norm must not exceed, for any message.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    pub log2_failure: f64,
    /// Override for sets below 128 bits; `None` refuses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<Insecure>,
}

impl TfheLiteral {
    /// Bit length of the prime.
    #[must_use]
    pub fn prime_bits(&self) -> u32 {
        match self.prime {
            PrimeChoice::Bits(bits) => bits,
            PrimeChoice::Exact(prime) => 64 - prime.leading_zeros(),
        }
    }

    /// log₂ of the prime. A prime given by its bits is so near the power of two that the power is used.
    #[must_use]
    pub fn log_modulus(&self) -> f64 {
        match self.prime {
            PrimeChoice::Bits(bits) => f64::from(bits),
            PrimeChoice::Exact(prime) => to_f64(prime).log2(),
        }
    }

    /// Dimension of the big LWE key, k·N.
    #[must_use]
    pub fn big_dimension(&self) -> usize {
        self.masks << self.log_n
    }
}

/// A checked parameter set; clones share it.
#[derive(Clone, Debug, PartialEq)]
pub struct TfheParams(Arc<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    literal: TfheLiteral,
    ring: Ring,
    security: SecurityReport,
    log2_failure: f64,
}

/// Required distance, in bits, of the prime from the power of two above it. Digits are those of that power, so the
/// first digit's mean is half the missing share of the base: at 2^−6 that is 0.07 % of a digit's mean square.
const NEAR_BITS: u32 = 6;

/// Largest norm: sums of 2^40 fresh ciphertexts.
const MOST_NORM: f64 = 1_048_576.0;

/// Smallest log₂ of a failure probability: smaller ones have no use.
const LEAST_LOG2_FAILURE: f64 = -4096.0;

fn range(field: &'static str, got: impl ToString, wanted: &str) -> ParamsError {
    ParamsError::Range { field, got: got.to_string(), wanted: wanted.into() }
}

/// A rule for a literal: field, whether it holds, value given, values allowed.
type Rule = (&'static str, bool, String, &'static str);

impl TfheParams {
    /// Chooses the prime and checks every field.
    ///
    /// # Errors
    /// [`ParamsError`] with the field, its value and the values allowed; a key below 128 bits; a failure probability
    /// above the stated one.
    pub fn new(literal: &TfheLiteral) -> Result<Self, ParamsError> {
        check_ranges(literal)?;
        let prime = match literal.prime {
            PrimeChoice::Exact(prime) => prime,
            PrimeChoice::Bits(bits) => ntt_primes_below(literal.log_n, bits, 1, &[])?[0],
        };
        let ring = Ring::new(&RingSpec { log_n: literal.log_n, primes: vec![prime] })?;
        let missing = prime.next_power_of_two() - prime;
        if missing > prime >> NEAR_BITS {
            return Err(range(
                "prime",
                prime,
                "a prime that lies at most 1/64 below a power of two: digits are its bits'",
            ));
        }
        let fits = [
            ("bootstrap", Gadget::from(literal.bootstrap).fits(prime)),
            ("key_switch", Gadget::from(literal.key_switch).fits(1 << literal.log_lwe_modulus)),
        ];
        if let Some((field, _)) = fits.into_iter().find(|(_, fits)| !fits) {
            return Err(range(field, "too many bits", "digits that fit the modulus: base_log·levels at most its bits"));
        }
        let security = security(literal, to_f64(prime).log2())?;
        let log2_failure = noise::log2_failure(literal, literal.norm * literal.norm, 0);
        // The passing comparison is named, so that NaN fails.
        let kept = log2_failure <= literal.log2_failure;
        if !kept {
            return Err(ParamsError::FailsTooOften { got: log2_failure, wanted: literal.log2_failure });
        }
        Ok(Self(Arc::new(Inner { literal: literal.clone(), ring, security, log2_failure })))
    }

    /// A set of the same shape (ring, steps, digits, prime) that promises nothing: with more message bits, if it has fewer,
    /// and any failure. For models of machines, which compute nothing.
    ///
    /// # Errors
    /// [`ParamsError`] where the ring has no room for so many message bits.
    pub fn by_shape(&self, message_bits: u32) -> Result<Self, ParamsError> {
        let literal = self.literal();
        Self::new(&TfheLiteral {
            message_bits: literal.message_bits.max(message_bits),
            log2_failure: 0.0,
            insecure: Some(Insecure { reason: "a shape for models of machines: nothing is encrypted with it".into() }),
            ..literal.clone()
        })
    }

    /// The literal it was made from.
    #[must_use]
    pub fn literal(&self) -> &TfheLiteral {
        &self.0.literal
    }

    /// The ring of GLWE ciphertexts, of one prime.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.0.ring
    }

    /// The prime of GLWE ciphertexts.
    #[must_use]
    pub fn modulus(&self) -> Modulus {
        self.0.ring.moduli()[0]
    }

    /// The modulus of the small LWE key.
    #[must_use]
    pub fn lwe_modulus(&self) -> u64 {
        1 << self.0.literal.log_lwe_modulus
    }

    /// Result of the security check for the weaker of the two keys.
    #[must_use]
    pub fn security(&self) -> &SecurityReport {
        &self.0.security
    }

    /// log₂ of the failure probability of a bootstrapping at the literal's norm, for the worst message.
    #[must_use]
    pub fn log2_failure(&self) -> f64 {
        self.0.log2_failure
    }

    /// Size of the message space.
    #[must_use]
    pub fn space(&self) -> u64 {
        1 << self.0.literal.message_bits
    }

    /// Entries of a table.
    #[must_use]
    pub fn table_len(&self) -> usize {
        1 << self.0.literal.message_bits
    }

    /// Size in bytes of the server's keys on a device.
    #[must_use]
    pub fn server_key_bytes(&self) -> u64 {
        let l = self.literal();
        let components = l.masks as u64 + 1;
        let rows = components * u64::from(l.bootstrap.levels);
        self.switch_key_bytes() + rows * components * self.shape(l.lwe_dimension, Domain::Eval).bytes()
    }

    /// The part of [`Self::server_key_bytes`] that switches to the small key: no polynomials.
    #[must_use]
    pub fn switch_key_bytes(&self) -> u64 {
        let l = self.literal();
        l.big_dimension() as u64 * u64::from(l.key_switch.levels) * 8 * (l.lwe_dimension as u64 + 1)
    }

    /// Size in bytes of the server's keys as published: bodies and one seed.
    #[must_use]
    pub fn published_key_bytes(&self) -> u64 {
        let l = self.literal();
        let rows = (l.masks + 1) as u64 * u64::from(l.bootstrap.levels);
        let bodies = l.big_dimension() as u64 * u64::from(l.key_switch.levels);
        32 + 8 * bodies + rows * self.shape(l.lwe_dimension, Domain::Eval).bytes()
    }

    /// Encodes an integer: its product with q/2^(message bits + 1), rounded.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn encode(&self, message: i64) -> u64 {
        self.encode_half(2 * message)
    }

    /// Encodes half of an integer.
    pub(crate) fn encode_half(&self, doubled: i64) -> u64 {
        // The space is a power of two, so the division is a shift: one of 128 bits is a function with branches, and the
        // message is secret.
        let (q, log_space) = (self.modulus(), 2 + self.space().trailing_zeros());
        let scaled = (2 * i128::from(doubled) * i128::from(q.value()) + (1 << log_space)) >> (log_space + 1);
        q.from_i128(scaled)
    }

    /// The message nearest to a phase, modulo twice the message space, so with the padding bit.
    #[must_use]
    pub fn decode(&self, phase: u64) -> u64 {
        limbwise_math::gadget::nearest_of(phase, self.modulus().value(), 1 + self.space().trailing_zeros())
    }

    /// Shape of a batch of polynomials.
    #[must_use]
    pub fn shape(&self, batch: usize, domain: Domain) -> Shape {
        Shape { ring: self.0.ring.clone(), basis: Basis::single(0), batch, domain }
    }
}

fn check_ranges(l: &TfheLiteral) -> Result<(), ParamsError> {
    let boxes = l.message_bits < l.log_n;
    let modulus = (l.log_n.saturating_add(1)..=62).contains(&l.log_lwe_modulus);
    let wanted_sigma = "a number above 0 and at most 2^50, as wide as errors are drawn";
    let sigma = |sigma: f64| sigma > 0.0 && sigma <= Gaussian::WIDEST;
    let rules: [Rule; 9] = [
        ("log_n", (10..=17).contains(&l.log_n), l.log_n.to_string(), "10 to 17"),
        ("masks", (1..=8).contains(&l.masks), l.masks.to_string(), "1 to 8"),
        ("lwe_dimension", (1..=1 << 14).contains(&l.lwe_dimension), l.lwe_dimension.to_string(), "1 to 16384"),
        ("log_lwe_modulus", modulus, l.log_lwe_modulus.to_string(), "log_n + 1 to 62"),
        (
            "message_bits",
            (1..=10).contains(&l.message_bits) && boxes,
            l.message_bits.to_string(),
            "1 to 10, below log_n",
        ),
        ("norm", (1.0..=MOST_NORM).contains(&l.norm), l.norm.to_string(), "a number from 1 to 2^20"),
        ("glwe_sigma", sigma(l.glwe_sigma), l.glwe_sigma.to_string(), wanted_sigma),
        ("lwe_sigma", sigma(l.lwe_sigma), l.lwe_sigma.to_string(), wanted_sigma),
        (
            "log2_failure",
            (LEAST_LOG2_FAILURE..=0.0).contains(&l.log2_failure),
            l.log2_failure.to_string(),
            "log2 of a probability: a number from -4096 to 0",
        ),
    ];
    match rules.into_iter().find(|rule| !rule.1) {
        Some((field, _, got, wanted)) => Err(range(field, got, wanted)),
        None => Ok(()),
    }
}

/// Checks both published keys: the switching key is LWE of dimension n, the bootstrapping key GLWE of dimension k·N.
fn security(l: &TfheLiteral, log_modulus: f64) -> Result<SecurityReport, ParamsError> {
    l.insecure.as_ref().map_or(Ok(()), Insecure::check)?;
    let keys = [
        ("key switching", l.lwe_dimension, f64::from(l.log_lwe_modulus), l.lwe_sigma),
        ("bootstrapping", l.big_dimension(), log_modulus, l.glwe_sigma),
    ];
    let mut report = SecurityReport { bits: u32::MAX, log_qp: log_modulus, standard: CURVES, insecure_reason: None };
    for (key, dimension, log_modulus, sigma) in keys {
        let class = binary_class(dimension, log_modulus, sigma);
        report.bits = report.bits.min(class);
        if class >= 128 {
            continue;
        }
        report.insecure_reason = l.insecure.as_ref().map(|i| i.reason.clone());
        if l.insecure.is_none() {
            let log_sigma = sigma.log2() - log_modulus;
            let wanted = match least_sigma(128, dimension, log_modulus) {
                Some(least) => format!(
                    "sigma of at least {least:.1} with this modulus, or a larger dimension; only Insecure {{ reason }} lets a set pass below"
                ),
                None => "no row speaks of so small a dimension; only Insecure { reason } lets it pass".into(),
            };
            return Err(ParamsError::InsecureBinary { key, dimension, log_sigma, wanted });
        }
    }
    Ok(report)
}
