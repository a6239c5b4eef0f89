//! What can be wrong with tensors and their layouts.

/// Tensors that do not go together, or do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// More slots than there are.
    #[error("{what} takes {needed} slots, a ciphertext has {slots}: {next}")]
    TooLarge {
        /// The tensor.
        what: String,
        /// Slots it takes.
        needed: usize,
        /// Slots there are.
        slots: usize,
        /// What to do.
        next: &'static str,
    },
    /// Shapes that do not go together.
    #[error("{what}: got {got}, wanted {wanted}")]
    Shape {
        /// Which shape.
        what: &'static str,
        /// What it is.
        got: String,
        /// What it should be, or what to do.
        wanted: String,
    },
}

impl TensorError {
    pub(super) fn shape(what: &'static str, got: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::Shape { what, got: got.into(), wanted: wanted.into() }
    }
}
