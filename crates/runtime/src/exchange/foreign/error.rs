//! Errors of files of other libraries.

/// Why a file of another library cannot be read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    #[error("not {format}: {got}")]
    Format { format: &'static str, got: String },
    /// `at` is a path into JSON or a byte's offset.
    #[error("{at}: got {got}, wanted {wanted}")]
    Field { at: String, got: String, wanted: String },
    #[error(transparent)]
    Parameters(#[from] limbwise::params::ParamsError),
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
    #[error(transparent)]
    Fault(#[from] limbwise_device::Fault),
}

impl ForeignError {
    pub(crate) fn field(at: impl ToString, got: impl ToString, wanted: impl ToString) -> Self {
        Self::Field { at: at.to_string(), got: got.to_string(), wanted: wanted.to_string() }
    }
}
