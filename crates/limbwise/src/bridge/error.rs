//! What keeps values on their side of the bridge.

/// What cannot go from one scheme to the other.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// CKKS parameters that the bridge cannot end at.
    #[error("these CKKS parameters have no bridge: {got}; choose {wanted}")]
    Unfit {
        /// What they have.
        got: String,
        /// What a bridge takes.
        wanted: &'static str,
    },
    /// A wide key that the ring does not hold.
    #[error(
        "the wide key of TFHE has {dimension} words, the CKKS ring degree is {n}: choose a larger ring, or fewer message bits"
    )]
    Dimension {
        /// Words of the wide key.
        dimension: usize,
        /// The ring degree.
        n: usize,
    },
    /// Too few levels.
    #[error(
        "{wanted} levels are wanted behind the bridge, these parameters leave {left} there: choose parameters with more user levels, or a shallower circuit"
    )]
    Levels {
        /// What was asked for.
        wanted: usize,
        /// What there is.
        left: usize,
    },
    /// Values that the messages of TFHE do not reach.
    #[error(
        "slots may reach {peak:.3e}, the messages of TFHE end at {most}: scale them down first, or state a tighter bound (Ciphertext::bounded_by)"
    )]
    TooLarge {
        /// The bound that travels with the ciphertext.
        peak: f64,
        /// The largest message.
        most: f64,
    },
    /// No rows, or more than slots.
    #[error("{got} of {slots} slots cannot leave: choose from 1 to {slots} rows, or a bridge with more slots")]
    Rows {
        /// Rows asked for.
        got: usize,
        /// Slots of the plan.
        slots: usize,
    },
    /// Another set of parameters.
    #[error("{op}: the {scheme} parameters are not those of the bridge: use one BridgeParams for all of it")]
    OtherParams {
        /// The operation.
        op: &'static str,
        /// Which scheme's.
        scheme: &'static str,
    },
    /// No preset of that name.
    #[error("there is no bridge preset {0:?}: choose one of {1}")]
    UnknownPreset(String, String),
}
