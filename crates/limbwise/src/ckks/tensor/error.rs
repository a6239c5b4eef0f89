//! User errors with tensors and their layouts.

/// Tensors with shapes that do not match or do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// A tensor that needs more slots than a ciphertext has.
    #[error("{what} takes {needed} slots, a ciphertext has {slots}: {next}")]
    TooLarge {
        /// Description of the tensor.
        what: String,
        /// Slots that the tensor needs.
        needed: usize,
        /// Slots of a ciphertext.
        slots: usize,
        /// The next step.
        next: &'static str,
    },
    /// Shapes that do not match.
    #[error("{what}: got {got}, wanted {wanted}")]
    Shape {
        /// Which shape.
        what: &'static str,
        /// The shape given.
        got: String,
        /// The shape wanted, or the next step.
        wanted: String,
    },
}

impl TensorError {
    pub(super) fn shape(what: &'static str, got: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::Shape { what, got: got.into(), wanted: wanted.into() }
    }
}
