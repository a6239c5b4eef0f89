//! Reasons why a parameter set is refused.

use limbwise_device::RingError;
use limbwise_math::prime::PrimesExhausted;

/// Why a parameter set is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// Security below 128 bits without an override.
    #[error(
        "N = 2^{log_n} with log2(QP) = {log_qp:.2} and {secret} is below 128 bits of security ({standard} allows {allowed}): {next}"
    )]
    Insecure {
        /// log₂ N.
        log_n: u32,
        /// log₂ of the largest key modulus.
        log_qp: f64,
        /// Description of the secret.
        secret: String,
        /// Name of the security table.
        standard: &'static str,
        /// Largest log₂(QP) allowed, as text.
        allowed: String,
        /// The next step.
        next: &'static str,
    },
    /// A key with a binary secret below 128 bits without an override.
    #[error(
        "the {key} key (binary secret of dimension {dimension}, errors of 2^{log_sigma:.2} of the modulus) is below 128 bits of security: {wanted}"
    )]
    InsecureBinary {
        /// Name of the key.
        key: &'static str,
        /// Dimension of the key.
        dimension: usize,
        /// log₂ of σ over the modulus.
        log_sigma: f64,
        /// Values that would pass, as text.
        wanted: String,
    },
    /// Bootstrapping would fail more often than the set states.
    #[error(
        "a bootstrapping would fail with probability 2^{got:.1}, the limit is 2^{wanted}: fewer message bits, a larger ring or dimension, or narrower errors"
    )]
    FailsTooOften {
        /// log₂ of the computed failure probability.
        got: f64,
        /// log₂ of the stated failure probability.
        wanted: f64,
    },
    /// P is too small for the digits.
    #[error(
        "P has {special:.1} bits, but the largest digit of dnum {dnum} has {digit:.1}: key switching would drown the message; add special primes or raise dnum"
    )]
    SpecialTooSmall {
        /// log₂ of P.
        special: f64,
        /// log₂ of the largest digit.
        digit: f64,
        /// Number of digits.
        dnum: usize,
    },
    /// Bootstrapping leaves no level to the user.
    #[error(
        "bootstrapping takes {taken} levels, the chain has {top}: add levels, or take fewer for its transforms or its sine"
    )]
    BootstrappingTooDeep {
        /// Levels of the bootstrapping steps.
        taken: usize,
        /// Levels of the chain.
        top: usize,
    },
    /// A number outside its range.
    #[error("{field} = {got}: choose {wanted}")]
    Range {
        /// Name of the field.
        field: &'static str,
        /// Value given.
        got: String,
        /// Values allowed.
        wanted: String,
    },
    /// A field that this set does not have, or that cannot be changed.
    #[error("{field} cannot be changed: {reason}")]
    Unchangeable {
        /// Name of the field.
        field: &'static str,
        /// Reason for the refusal.
        reason: &'static str,
    },
    /// No prime of the wanted size is left.
    #[error(transparent)]
    Primes(#[from] PrimesExhausted),
    /// The ring itself is refused.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Unknown preset.
    #[error("there is no preset {got:?}; did you mean {nearest:?}? (limbwise params show lists all)")]
    UnknownPreset {
        /// Name given.
        got: String,
        /// Nearest existing name.
        nearest: String,
    },
    /// A preset of another scheme.
    #[error("preset {got:?} is of {is}, a preset of {wanted} is wanted (limbwise params show lists all)")]
    OtherScheme {
        /// Name given.
        got: String,
        /// Its scheme.
        is: &'static str,
        /// The scheme that it is asked of.
        wanted: &'static str,
    },
    /// No set meets the requirements.
    #[error(
        "no secure set has depth {depth} with {precision_bits} bits of precision: the largest ring, 2^17, would need log2(QP) = {log_qp:.0}; ask for less depth or precision, or bootstrap"
    )]
    NoneFits {
        /// Levels wanted.
        depth: usize,
        /// Precision wanted, in bits.
        precision_bits: u32,
        /// log₂(QP) that it would need.
        log_qp: f64,
    },
}
