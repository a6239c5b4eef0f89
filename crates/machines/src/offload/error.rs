//! What is wrong with a problem, by field.

/// A mistake in a problem of offloading.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffloadError {
    /// A number that no side or link can have.
    #[error("offload, field \"{field}\": {wanted} is wanted, got {got}")]
    Field {
        /// The field with the side, link or operation that it belongs to.
        field: String,
        /// Kind or range.
        wanted: &'static str,
        /// The given value.
        got: String,
    },
    /// Two sides without a link.
    #[error(
        "offload, field \"link.{from}.{to}\": there is no link between {from} and {to}; give one with its bandwidth and latency"
    )]
    NoLink {
        /// One side.
        from: &'static str,
        /// The other.
        to: &'static str,
    },
    /// An operation that no side can do.
    #[error(
        "offload, field \"seconds\": no side of {sides} has {operation} (operation {index}); choose sides of which one has it"
    )]
    NoSide {
        /// Names of the sides.
        sides: String,
        /// The operation.
        operation: String,
        /// Its number.
        index: u32,
    },
    /// One side does not have all operations.
    #[error(
        "offload: {side} cannot do all of the program, as {operation} (operation {index}); choose a policy that places each operation"
    )]
    NotAll {
        /// The side.
        side: &'static str,
        /// The first operation that it does not have.
        operation: String,
        /// Its number.
        index: u32,
    },
    /// A policy for two sides and a problem with another number of them.
    #[error("offload: the policy {policy} is for two sides, and there are {sides}; choose heft or genetic")]
    TwoSides {
        /// The policy.
        policy: &'static str,
        /// Number of sides.
        sides: usize,
    },
}
