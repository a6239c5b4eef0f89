//! What can go wrong by a user's mistake, in words that say what, got, wanted and the next step.

use crate::{
    bgv::BgvError, bridge::BridgeError, ckks::tensor::TensorError, params::ParamsError, rlwe::KeyName, tfhe::TfheError,
    wire::WireError,
};
use limbwise_device::{Fault, RingError};
use limbwise_math::sampling::EntropyError;

/// The result of a scheme operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter set was refused.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Not enough levels, or levels that do not go together.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// Scales that do not go together.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// A key is missing or unfit.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Values that cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Tensors that do not go together, or do not fit.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A ciphertext or parameters that cannot be bootstrapped.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Messages, tables and keys of TFHE that do not go together.
    #[error(transparent)]
    Tfhe(#[from] TfheError),
    /// What cannot go from one scheme to the other.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// Integers and noise of BGV that do not go together.
    #[error(transparent)]
    Bgv(#[from] BgvError),
    /// What was decrypted cannot be right.
    #[error(transparent)]
    Decrypt(#[from] DecryptError),
    /// A file that cannot be read or written.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Somebody asked to stop.
    #[error("interrupted: nothing was changed, the call can be made again")]
    Interrupted,
    /// The device refused the ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Fault),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// Whoever watches a program wants it to stop; they know why.
    #[error("the program was stopped")]
    Stopped,
    /// A state to go on from that this program cannot have left.
    #[error("the kept state is not one of this program: delete the checkpoint and start again")]
    State,
}

/// Levels: a ciphertext at level ℓ allows ℓ more rescales.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// No rescale is left.
    #[error(
        "{op} needs level {needed}; the ciphertext is at level {level} of {top}: choose parameters with at least {} more levels (limbwise params choose), or bootstrap", needed - level
    )]
    Exhausted {
        /// The operation.
        op: &'static str,
        /// Level of the ciphertext.
        level: usize,
        /// Level it needs.
        needed: usize,
        /// Level of a fresh ciphertext.
        top: usize,
    },
    /// Operands at different levels.
    #[error("{op}: the operands are at levels {left} and {right}: drop the higher one first (drop_level), or use Auto")]
    Mismatch {
        /// The operation.
        op: &'static str,
        /// Left level.
        left: usize,
        /// Right level.
        right: usize,
    },
    /// A level that the chain does not have or a ciphertext has left.
    #[error("{op}: level {wanted} is above level {level}: levels only fall, choose 0 to {level}")]
    Above {
        /// The operation.
        op: &'static str,
        /// What was asked for.
        wanted: usize,
        /// Highest possible.
        level: usize,
    },
}

/// Scales: the fixed-point factor of encoded values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// Operands at different scales.
    #[error(
        "{op}: the operands have scales 2^{left:.6} and 2^{right:.6}: rescale both, encode at the other's scale, or use Auto"
    )]
    Mismatch {
        /// The operation.
        op: &'static str,
        /// log₂ of the left scale.
        left: f64,
        /// log₂ of the right scale.
        right: f64,
    },
    /// A scale that leaves no room for the message, or that is none.
    #[error(
        "{op}: scale 2^{log_scale:.2} does not fit the modulus of 2^{log_modulus:.2} at level {level}: rescale first, or start from a higher level"
    )]
    TooLarge {
        /// The operation.
        op: &'static str,
        /// log₂ of the scale.
        log_scale: f64,
        /// log₂ of the modulus.
        log_modulus: f64,
        /// The level.
        level: usize,
    },
    /// Below what carries a message.
    #[error(
        "{op} would leave scale 2^{log_scale:.2}: rescale only after a multiplication, or multiply by a plaintext of larger scale"
    )]
    TooSmall {
        /// The operation.
        op: &'static str,
        /// log₂ of the scale.
        log_scale: f64,
    },
    /// Not an encoding scale.
    #[error("a scale lies between 2^1 and 2^60 for encoding, got {0}: choose one near the primes of the level")]
    Invalid(f64),
}

/// Keys and shapes of ciphertexts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not in the set.
    #[error(
        "{op} needs {wanted}; the key set has {present} (record the circuit with \"limbwise record --keys\" to list what it needs)"
    )]
    Missing {
        /// The operation.
        op: &'static str,
        /// The key.
        wanted: String,
        /// What there is.
        present: String,
    },
    /// Made for lower levels only.
    #[error(
        "{name} was made for level {made} and below; the ciphertext is at level {level}: make the key at that level, or drop the ciphertext first"
    )]
    TooLow {
        /// The key.
        name: KeyName,
        /// Level it was made for.
        made: usize,
        /// Level asked for.
        level: usize,
    },
    /// Made from a secret that the generator does not have.
    #[error("{wanted} is made from {secret}, which this key generator does not have: {next}")]
    NoSecret {
        /// The key.
        wanted: KeyName,
        /// The secret.
        secret: &'static str,
        /// Where it comes from.
        next: &'static str,
    },
    /// One more than may be made.
    #[error(
        "{op} needs {wanted}, beyond the {most} rotation keys that may be made: allow more, or rotate by powers of two and sum along whole axes, which share keys"
    )]
    TooMany {
        /// The operation.
        op: &'static str,
        /// The key.
        wanted: String,
        /// Keys of rotations allowed.
        most: usize,
    },
    /// There, but it cannot be read.
    #[error("{op} needs {wanted}, which cannot be read from {file}: {cause}")]
    Unread {
        /// The operation.
        op: &'static str,
        /// The key.
        wanted: String,
        /// Where it should be.
        file: String,
        /// Why not, and what to do.
        cause: String,
    },
    /// A ciphertext of degree 2 where degree 1 is wanted, or the other way round.
    #[error("{op} wants a ciphertext of {wanted} polynomials, got {got}: {next}")]
    Degree {
        /// The operation.
        op: &'static str,
        /// Polynomials it has.
        got: usize,
        /// Polynomials wanted.
        wanted: usize,
        /// What to do.
        next: &'static str,
    },
    /// Batches that do not go together.
    #[error("{op}: batches of {left} and {right} ciphertexts do not go together: make them equal, or one of them 1")]
    Batch {
        /// The operation.
        op: &'static str,
        /// Left batch.
        left: usize,
        /// Right batch.
        right: usize,
    },
    /// Packed with different numbers of slots.
    #[error("{op}: {left} and {right} slots do not go together: encode both with the same number")]
    Slots {
        /// The operation.
        op: &'static str,
        /// Left slots.
        left: usize,
        /// Right slots.
        right: usize,
    },
}

/// Values that cannot be encoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// NaN or infinite.
    #[error("value {index} is {value}: only finite numbers can be encrypted; clean the data first")]
    NotFinite {
        /// Which value.
        index: usize,
        /// It.
        value: String,
    },
    /// More values than slots.
    #[error("{got} values do not fit {slots} slots: split them over several ciphertexts, or choose a larger ring")]
    TooMany {
        /// Values given.
        got: usize,
        /// Slots there are.
        slots: usize,
    },
    /// Values that are not what was promised of them.
    #[error(
        "the values break what was promised of them, or the promise comes after a product: their root mean square is {magnitude:.3e}, the largest {peak:.3e}, all real: {real}; promise right after encryption, and more, or clip the data"
    )]
    Promise {
        /// Largest root mean square of the slots of a message.
        magnitude: f64,
        /// Largest absolute value.
        peak: f64,
        /// Whether all are real.
        real: bool,
    },
    /// A number of slots that no packing has.
    #[error("{0} slots: choose a power of two from 1 to {1}")]
    Slots(usize, usize),
    /// Value times scale leaves the modulus.
    #[error(
        "a value of magnitude {magnitude:.3e} at scale 2^{log_scale:.1} overflows the modulus of 2^{log_modulus:.1}: shrink the values, or use a lower scale or a higher level"
    )]
    TooLarge {
        /// Largest magnitude.
        magnitude: f64,
        /// log₂ of the scale.
        log_scale: f64,
        /// log₂ of the modulus.
        log_modulus: f64,
    },
}

/// What keeps a ciphertext from being bootstrapped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The parameters say nothing of bootstrapping.
    #[error(
        "these parameters have no bootstrapping: choose a preset that has (limbwise params show lists them as boot-*)"
    )]
    NoParameters,
    /// The evaluator was given nothing to bootstrap with.
    #[error("this evaluator cannot bootstrap: give it a bootstrapper (Auto::with_bootstrapper)")]
    Absent,
    /// The bootstrapper was made for other parameters.
    #[error("the bootstrapper was made for other parameters than the evaluator's: make one with the same Params")]
    OtherParameters,
    /// Two passes of an order that may fail in the first.
    #[error(
        "two passes need SlotToCoeff first: with SlotToCoeff last a first pass can fail on constant messages; choose a preset with the other order"
    )]
    TwoPasses,
    /// Values that would wrap round q₀.
    #[error(
        "slots may reach {peak:.3e}, and these parameters bootstrap values up to {most:.3e}: scale them down first, or state a tighter bound (Ciphertext::bounded_by)"
    )]
    TooLarge {
        /// The bound that travels with the ciphertext.
        peak: f64,
        /// The largest that the message ratio leaves room for.
        most: f64,
    },
}

/// Decrypted values that contradict what their ciphertext promises: numbers are withheld.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecryptError {
    /// Values that the program cannot have. Nothing of what was decrypted is told: a server that reads the text of a refusal
    /// would learn of the key.
    #[error(
        "what was decrypted contradicts the program, whose values are at most {most:.3e}{}: wrong key, a damaged or made-up result, or inputs beyond a promised bound; no number of it is told, because it would tell of the key",
        if *real { " and real" } else { "" }
    )]
    Implausible {
        /// Largest absolute value that the program allows.
        most: f64,
        /// Whether the program's values are real.
        real: bool,
    },
    /// A result that says something else of itself than the client's own recording does.
    #[error(
        "its {field} is {got}, wanted {wanted} by your own recording of the program: another program or version of limbwise evaluated it, or the result was altered; nothing was decrypted"
    )]
    Unexpected {
        /// What differs.
        field: &'static str,
        /// What the result says.
        got: String,
        /// What is expected.
        wanted: String,
    },
}
