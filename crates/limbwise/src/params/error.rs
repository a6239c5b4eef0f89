//! Why a parameter set is refused.

use limbwise_device::RingError;
use limbwise_math::prime::PrimesExhausted;

/// Why a parameter set is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// Below 128 bits without leave.
    #[error(
        "N = 2^{log_n} with log2(QP) = {log_qp:.2} and {secret} is below 128 bits of security ({standard} allows {allowed}): {next}"
    )]
    Insecure {
        /// log₂ N.
        log_n: u32,
        /// log₂ of the largest key modulus.
        log_qp: f64,
        /// The secret in words.
        secret: String,
        /// The table.
        standard: &'static str,
        /// Largest log₂(QP) it allows, in words.
        allowed: String,
        /// What to do.
        next: &'static str,
    },
    /// A binary secret's key below 128 bits without leave.
    #[error(
        "the {key} key (binary secret of dimension {dimension}, errors of 2^{log_sigma:.2} of the modulus) is below 128 bits of security: {wanted}"
    )]
    InsecureBinary {
        /// Which key.
        key: &'static str,
        /// Its dimension.
        dimension: usize,
        /// log₂ of σ over the modulus.
        log_sigma: f64,
        /// What would pass, in words.
        wanted: String,
    },
    /// Bootstrapping would fail more often than promised.
    #[error(
        "a bootstrapping would fail with probability 2^{got:.1}, 2^{wanted} is promised: fewer message bits, a larger ring or dimension, or narrower errors"
    )]
    FailsTooOften {
        /// log₂ of what it is.
        got: f64,
        /// log₂ of what is wanted.
        wanted: f64,
    },
    /// P too small for the digits.
    #[error(
        "P has {special:.1} bits, but the largest digit of dnum {dnum} has {digit:.1}: key switching would drown the message; add special primes or raise dnum"
    )]
    SpecialTooSmall {
        /// log₂ P.
        special: f64,
        /// log₂ of the largest digit.
        digit: f64,
        /// Number of digits.
        dnum: usize,
    },
    /// Nothing would be left.
    #[error(
        "bootstrapping takes {taken} levels, the chain has {top}: add levels, or take fewer for its transforms or its sine"
    )]
    BootstrappingTooDeep {
        /// Levels of its steps.
        taken: usize,
        /// Levels of the chain.
        top: usize,
    },
    /// A number out of its range.
    #[error("{field} = {got}: choose {wanted}")]
    Range {
        /// The field.
        field: &'static str,
        /// What was written.
        got: String,
        /// What is possible.
        wanted: String,
    },
    /// A field that this set does not have, or cannot have changed.
    #[error("{field} cannot be changed: {reason}")]
    Unchangeable {
        /// The field.
        field: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// Not enough primes.
    #[error(transparent)]
    Primes(#[from] PrimesExhausted),
    /// The ring itself is refused.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// No such preset.
    #[error("there is no preset {got:?}; did you mean {nearest:?}? (limbwise params show lists all)")]
    UnknownPreset {
        /// What was asked for.
        got: String,
        /// The nearest name.
        nearest: String,
    },
    /// Nothing fits the wish.
    #[error(
        "no secure set has depth {depth} with {precision_bits} bits of precision: the largest ring, 2^17, would need log2(QP) = {log_qp:.0}; ask for less depth or precision, or bootstrap"
    )]
    NoneFits {
        /// Levels asked for.
        depth: usize,
        /// Precision asked for.
        precision_bits: u32,
        /// What it would take.
        log_qp: f64,
    },
}
