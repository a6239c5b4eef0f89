//! Why nothing is decrypted.

/// Decrypted values that contradict their ciphertext's metadata; they are withheld.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecryptError {
    /// Values that the program cannot have. The text has nothing of them: a server that reads it would learn of the key.
    #[error(
        "the decrypted values contradict the program, whose values are at most {most:.3e}{}: wrong key, a damaged or made-up result, inputs beyond a promised bound, or values above {room:.3e}, for which the modulus has no room at this level; the values are withheld, because they would leak the key",
        if *real { " and real" } else { "" }
    )]
    Implausible {
        /// Largest absolute value that the program allows.
        most: f64,
        /// Whether the program's values are real.
        real: bool,
        /// Largest value that the modulus holds.
        room: f64,
    },
    /// A result whose metadata differ from the client's own recording.
    #[error(
        "its {field} is {got}, wanted {wanted} by your own recording of the program: another program or version of limbwise evaluated it, or the result was altered; nothing was decrypted"
    )]
    Unexpected {
        /// Name of the field.
        field: &'static str,
        /// Value that the result states.
        got: String,
        /// Value expected.
        wanted: String,
    },
}
