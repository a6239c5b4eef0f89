//! User errors of the bridge.

/// Parameters or values that cannot cross between the schemes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// CKKS parameters without the modulus or levels of a bridge.
    #[error("these CKKS parameters have no bridge: {got}; choose {wanted}")]
    Unfit {
        /// The property that does not fit.
        got: String,
        /// The values that fit.
        wanted: &'static str,
    },
    /// A big LWE key that is longer than the ring degree.
    #[error(
        "the big LWE key of TFHE has {dimension} words, the CKKS ring degree is {n}: choose a larger ring, or fewer message bits"
    )]
    Dimension {
        /// Dimension of the big LWE key.
        dimension: usize,
        /// The CKKS ring degree.
        n: usize,
    },
    /// Too few levels after the bridge.
    #[error(
        "{wanted} levels are needed after the bridge, these parameters leave {left}: choose parameters with more user levels, or a shallower circuit"
    )]
    Levels {
        /// Levels wanted.
        wanted: usize,
        /// Levels left.
        left: usize,
    },
    /// Slot values beyond the message range of TFHE.
    #[error(
        "slots may reach {peak:.3e}, the messages of TFHE end at {most}: scale them down first, or state a tighter bound (Ciphertext::bounded_by)"
    )]
    TooLarge {
        /// Bound on the slots' absolute values.
        peak: f64,
        /// Largest message.
        most: f64,
    },
    /// A row count of zero or above the slot count.
    #[error("{got} of {slots} slots cannot leave: choose from 1 to {slots} rows, or a bridge with more slots")]
    Rows {
        /// Rows requested.
        got: usize,
        /// Slots of the plan.
        slots: usize,
    },
    /// An operand of another parameter set.
    #[error("{op}: the {scheme} parameters are not those of the bridge: use one BridgeParams for all of it")]
    OtherParams {
        /// Name of the operation.
        op: &'static str,
        /// The scheme whose parameters differ.
        scheme: &'static str,
    },
    /// Unknown preset: the name given, and the names there are.
    #[error("there is no bridge preset {0:?}: choose one of {1}")]
    UnknownPreset(String, String),
}
