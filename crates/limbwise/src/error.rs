//! User errors. A message says what, got, wanted and the next step.

mod decrypt;

pub use decrypt::DecryptError;

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
    /// Too few levels, or operands at different levels.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// Operands at different scales, or an invalid scale.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// A key is missing or unfit.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Operands of the wrong degree, batch or slot count.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Values that cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Tensors with shapes that do not match or do not fit.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A ciphertext or parameters that cannot be bootstrapped.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// A function that cannot be approximated as wanted, or values outside of its domain.
    #[error(transparent)]
    Function(#[from] FunctionError),
    /// Messages, tables or keys of TFHE that do not match.
    #[error(transparent)]
    Tfhe(#[from] TfheError),
    /// Parameters or values that cannot cross between the schemes.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// Integers, factors or noise that a BGV operation cannot accept.
    #[error(transparent)]
    Bgv(#[from] BgvError),
    /// Decrypted values or result metadata that contradict the program.
    #[error(transparent)]
    Decrypt(#[from] DecryptError),
    /// A file that cannot be read or written.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The user interrupted the call.
    #[error("interrupted: nothing was changed, the call can be made again")]
    Interrupted,
    /// The device refused the ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Fault),
    /// The operating system gave no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The observer stopped the program; it holds the reason.
    #[error("the program was stopped")]
    Stopped,
    /// A saved state that this program cannot have written.
    #[error("the saved state does not belong to this program: delete the checkpoint and start again")]
    State,
}

/// Level errors: a ciphertext at level ℓ has ℓ rescales left.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// No rescale is left.
    #[error(
        "{op} needs level {needed}; the ciphertext is at level {level} of {top}: choose parameters with at least {} more levels (limbwise params choose), or bootstrap", needed - level
    )]
    Exhausted {
        /// Name of the operation.
        op: &'static str,
        /// Level of the ciphertext.
        level: usize,
        /// Level that the operation needs.
        needed: usize,
        /// Level of a fresh ciphertext.
        top: usize,
    },
    /// Operands at different levels.
    #[error("{op}: the operands are at levels {left} and {right}: drop the higher one first (drop_level)")]
    Mismatch {
        /// Name of the operation.
        op: &'static str,
        /// Level of the left operand.
        left: usize,
        /// Level of the right operand.
        right: usize,
    },
    /// A level above the chain's top or above the ciphertext's level.
    #[error("{op}: level {wanted} is above level {level}: levels only fall, choose 0 to {level}")]
    Above {
        /// Name of the operation.
        op: &'static str,
        /// Level requested.
        wanted: usize,
        /// Highest level possible.
        level: usize,
    },
}

/// Scale errors. The scale is the fixed-point factor of encoded values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// A sum that the modulus has no room for.
    #[error(
        "level {level} has room for {room:.1} bits, the sum may take {wanted:.1}: add fewer parts, or leave a level (parameters with one more)"
    )]
    NoRoom {
        /// Level of the sum.
        level: usize,
        /// log₂ of the largest value it may have, times its scale.
        wanted: f64,
        /// log₂ of the modulus, without the sign.
        room: f64,
    },
    /// Operands at different scales.
    #[error(
        "{op}: the operands have scales 2^{left:.6} and 2^{right:.6}: rescale both, or encode at the other's scale"
    )]
    Mismatch {
        /// Name of the operation.
        op: &'static str,
        /// log₂ of the left scale.
        left: f64,
        /// log₂ of the right scale.
        right: f64,
    },
    /// A scale that leaves no room for the message, or is not positive and finite.
    #[error(
        "{op}: scale 2^{log_scale:.2} does not fit the modulus of 2^{log_modulus:.2} at level {level}: rescale first, or start from a higher level"
    )]
    TooLarge {
        /// Name of the operation.
        op: &'static str,
        /// log₂ of the scale.
        log_scale: f64,
        /// log₂ of the modulus at the level.
        log_modulus: f64,
        /// Level of the operand.
        level: usize,
    },
    /// Sums that may exceed the modulus.
    #[error(
        "{op}: sums up to 2^{log_peak:.2} at scale 2^{log_scale:.2} may wrap modulo 2^{log_modulus:.2} at level {level}: take smaller weights, coarser ones, a smaller scale, or parameters with more bits at that level"
    )]
    Wraps {
        /// Name of the operation.
        op: &'static str,
        /// log₂ of the result's scale.
        log_scale: f64,
        /// log₂ of the largest sum that the bound of the values allows.
        log_peak: f64,
        /// log₂ of the modulus at the level.
        log_modulus: f64,
        /// Level of the operand.
        level: usize,
    },
    /// A scale too small to carry a message.
    #[error(
        "{op} would leave scale 2^{log_scale:.2}: rescale only after a multiplication, or multiply by a plaintext of larger scale"
    )]
    TooSmall {
        /// Name of the operation.
        op: &'static str,
        /// log₂ of the scale.
        log_scale: f64,
    },
    /// A scale outside the range of encoding.
    #[error(
        "a scale lies between 2^1 and 2^64 for encoding, 2^100 where the set's scale is above 2^60, got {0}: choose one near the primes of the level"
    )]
    Invalid(f64),
}

/// A key that is missing or does not serve an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key set lacks a key.
    #[error(
        "{op} needs {wanted}; the key set has {present} (record the circuit with \"limbwise record --keys\" to list what it needs)"
    )]
    Missing {
        /// Name of the operation.
        op: &'static str,
        /// Description of the missing key.
        wanted: String,
        /// Description of the keys present.
        present: String,
    },
    /// The key was made for lower levels only.
    #[error(
        "{name} was made for level {made} and below; the ciphertext is at level {level}: make the key at that level, or drop the ciphertext first"
    )]
    TooLow {
        /// Name of the key.
        name: KeyName,
        /// Highest level it was made for.
        made: usize,
        /// Level of the ciphertext.
        level: usize,
    },
    /// The parameters have no keys of low levels.
    #[error("{0}: the parameters have no low levels (field low_level)")]
    NoLowLevels(KeyName),
    /// The key generator lacks the secret.
    #[error("{wanted} is made from {secret}, which this key generator does not have: {next}")]
    NoSecret {
        /// Name of the key.
        wanted: KeyName,
        /// Name of the secret.
        secret: &'static str,
        /// The next step.
        next: &'static str,
    },
    /// The limit on rotation keys is reached.
    #[error(
        "{op} needs {wanted}, beyond the {most} rotation keys that may be made: allow more, or rotate by powers of two and sum along whole axes, which share keys"
    )]
    TooMany {
        /// Name of the operation.
        op: &'static str,
        /// Description of the key.
        wanted: String,
        /// Limit on the number of rotation keys.
        most: usize,
    },
    /// The key is present but cannot be read.
    #[error("{op} needs {wanted}, which cannot be read from {file}: {cause}")]
    Unread {
        /// Name of the operation.
        op: &'static str,
        /// Description of the key.
        wanted: String,
        /// Path of the file.
        file: String,
        /// Cause and next step.
        cause: String,
    },
}

/// Ciphertexts whose shapes do not match an operation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A ciphertext of the wrong degree.
    #[error("{op} wants a ciphertext of {wanted} polynomials, got {got}: {next}")]
    Degree {
        /// Name of the operation.
        op: &'static str,
        /// Number of polynomials given.
        got: usize,
        /// Number of polynomials wanted.
        wanted: usize,
        /// The next step.
        next: &'static str,
    },
    /// Operands with batches of different sizes.
    #[error("{op}: batches of {left} and {right} ciphertexts do not go together: make them equal, or one of them 1")]
    Batch {
        /// Name of the operation.
        op: &'static str,
        /// Batch size of the left operand.
        left: usize,
        /// Batch size of the right operand.
        right: usize,
    },
    /// A batch that has not an operand for each column of a matrix.
    #[error(
        "{op}: a batch of {batch} is no multiple of the matrix's {columns} columns: encrypt a value for each column"
    )]
    Columns {
        /// Name of the operation.
        op: &'static str,
        /// Columns of the matrix.
        columns: usize,
        /// Batch size of the operand.
        batch: usize,
    },
    /// Operands packed with different slot counts.
    #[error("{op}: {left} and {right} slots do not go together: encode both with the same number")]
    Slots {
        /// Name of the operation.
        op: &'static str,
        /// Slot count of the left operand.
        left: usize,
        /// Slot count of the right operand.
        right: usize,
    },
}

/// Values that cannot be encoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A value that is NaN or infinite.
    #[error("value {index} is {value}: only finite numbers can be encrypted; clean the data first")]
    NotFinite {
        /// Index of the value.
        index: usize,
        /// The value as text.
        value: String,
    },
    /// More values than slots.
    #[error("{got} values do not fit {slots} slots: split them over several ciphertexts, or choose a larger ring")]
    TooMany {
        /// Number of values given.
        got: usize,
        /// Number of slots.
        slots: usize,
    },
    /// Values that exceed their promise.
    #[error(
        "the values break what was promised of them, or the promise comes after a product: their root mean square is {magnitude:.3e}, the largest {peak:.3e}, all real: {real}; promise right after encryption, and more, or clip the data"
    )]
    Promise {
        /// Largest root mean square of a message's slots.
        magnitude: f64,
        /// Largest absolute value of a slot.
        peak: f64,
        /// Whether all slots are real.
        real: bool,
    },
    /// A slot count that no packing has: the count given, and the largest one.
    #[error("{0} slots: choose a power of two from 1 to {1}")]
    Slots(usize, usize),
    /// Value times scale overflows the modulus.
    #[error(
        "a value of magnitude {magnitude:.3e} at scale 2^{log_scale:.1} overflows the modulus of 2^{log_modulus:.1}: shrink the values, or use a lower scale or a higher level"
    )]
    TooLarge {
        /// Largest absolute value given.
        magnitude: f64,
        /// log₂ of the scale.
        log_scale: f64,
        /// log₂ of the modulus.
        log_modulus: f64,
    },
}

/// A function that cannot be approximated as wanted, or values outside of its domain.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// A comparison that no composition reaches.
    #[error(
        "no composition of eight polynomials of at most {most} levels tells apart what differs by {gap:e} within a range of {range:e}, with error {error:e}: widen the gap, allow more error, or choose parameters with more levels; gap and error are positive, the gap below the range, the error below one"
    )]
    Gap {
        /// Least difference to tell.
        gap: f64,
        /// Largest difference.
        range: f64,
        /// Largest distance of the sign from ±1.
        error: f64,
        /// Levels of one polynomial.
        most: usize,
    },
    /// Values that may leave the domain.
    #[error(
        "{function}: values may reach {peak:.6e}, the domain ends at {range:.6e}: give a larger range, or state the bound that your values keep"
    )]
    Domain {
        /// Name of the function.
        function: &'static str,
        /// Bound on the argument's absolute value.
        peak: f64,
        /// Largest absolute value of the domain.
        range: f64,
    },
    /// An interval that is not one of positive numbers, or an error out of reach on it.
    #[error(
        "{function} from {from:e} to {to:e} with relative error {error:e}: give two positive numbers, the smaller first, and an error between 0 and 1; the wider the interval, the more levels, up to a quotient of about a million"
    )]
    Positive {
        /// Name of the function.
        function: &'static str,
        /// Left end.
        from: f64,
        /// Right end.
        to: f64,
        /// Relative error.
        error: f64,
    },
    /// An error that no polynomial of the largest degree reaches on an interval.
    #[error(
        "{function} from {from:e} to {to:e}: a polynomial of degree 127 has error {reached:.1e}, {error:.1e} was asked for: give a narrower interval, the smaller number first, or allow more error"
    )]
    Degree {
        /// Name of the function.
        function: &'static str,
        /// Left end.
        from: f64,
        /// Right end.
        to: f64,
        /// Error of the polynomial.
        reached: f64,
        /// Error that was asked for.
        error: f64,
    },
    /// An error that nothing can have.
    #[error("{function} with error {error:e}: give one finite number above 0; smaller ones take more levels")]
    Error {
        /// Name of the function.
        function: &'static str,
        /// Error that was asked for.
        error: f64,
    },
    /// An axis along which nothing can be computed.
    #[error(
        "an axis of {length} values, {stride} slots apart, with room for {extent}: stride and room are powers of two, the values at least one and at most the room; the ciphertexts have a place for each, and a row that is sorted lies in one of them: reshape, or compute on parts"
    )]
    Axis {
        /// Slots from a value to the next.
        stride: usize,
        /// Values that there is room for.
        extent: usize,
        /// Values.
        length: usize,
    },
    /// An index that noise hides.
    #[error(
        "argmax: the index among {length} values would be wrong by {error:.1e} in the mean: take a shorter axis, such as the greatest of each part before, ones and zeros instead of the index, or parameters of more precision"
    )]
    Index {
        /// Values of the axis.
        length: usize,
        /// Deviation of the index.
        error: f64,
    },
    /// A bound that a function cannot work with.
    #[error("{function}: values up to {bound:e}: give a bound above 0 and at most {most:e}; subtract a mean before")]
    Bound {
        /// Name of the function.
        function: &'static str,
        /// Bound of the values.
        bound: f64,
        /// Greatest possible one.
        most: f64,
    },
    /// A gap that the values' own errors hide.
    #[error(
        "{function}: values are wrong by {error:.1e} in the mean, too much to tell what differs by {gap:.1e}: choose a gap from {:.1e}, or parameters of more precision", error * needed
    )]
    Precision {
        /// Name of the function.
        function: &'static str,
        /// Least difference to tell.
        gap: f64,
        /// Deviation of the values.
        error: f64,
        /// Deviations that a gap is wide at least.
        needed: f64,
    },
}

/// Reasons why a ciphertext cannot be bootstrapped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The parameters have no bootstrapping.
    #[error(
        "these parameters have no bootstrapping: choose a preset that has (limbwise params show lists them as boot-*)"
    )]
    NoParameters,
    /// The evaluator has no bootstrapper.
    #[error("this evaluator cannot bootstrap: take a preset that does, such as boot (Rust: Auto::with_bootstrapper)")]
    Absent,
    /// The bootstrapper was made for other parameters.
    #[error("the bootstrapper was made for other parameters than the evaluator's: make one with the same Params")]
    OtherParameters,
    /// Halves side by side without room for them.
    #[error(
        "halves side by side need room: at most {most} slots with these parameters, not {slots}; choose fewer slots, or the halves as a batch or in turns"
    )]
    Beside {
        /// Slots of the plan.
        slots: usize,
        /// Slots at most; 0 for a cosine without an arcsine, which cannot separate the halves.
        most: usize,
    },
    /// Two passes with SlotToCoeff last, where the first can fail.
    #[error(
        "two passes need SlotToCoeff first: with SlotToCoeff last a first pass can fail on constant messages; choose a preset with the other order"
    )]
    TwoPasses,
    /// A table of a length that is not supported.
    #[error(
        "a table of {got} entries: give 2 to {most}, those of the integers 0, 1, 2, …; split longer integers into digits and look these up one by one"
    )]
    TableLength {
        /// Entries given.
        got: usize,
        /// Entries at most.
        most: usize,
    },
    /// An entry that is not a number of the usual size.
    #[error("entry {index} of the table is {value}: give finite numbers up to 10^15 in absolute value")]
    TableEntry {
        /// Index of the entry.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Parameters whose EvalMod gives no point of the unit circle.
    #[error(
        "tables need SlotToCoeff first and an exponential in EvalMod, and these parameters have another order or a cosine: choose boot, boot-fast or boot-precise"
    )]
    TableParameters,
    /// A table by a plan that has the halves side by side.
    #[error(
        "tables take the two halves as a batch, in turns, or real values alone: choose a plan whose halves are not side by side"
    )]
    TableHalves,
    /// A table that takes more levels than there are.
    #[error(
        "a table of {entries} entries takes {needed} levels and bootstrapping leaves {left}: at most {} entries fit; choose parameters with more levels (boot has 14), or look up digits", 1u64 << (*left).min(10)
    )]
    TableDepth {
        /// Entries, filled up to a power of two.
        entries: usize,
        /// Levels that the table takes.
        needed: usize,
        /// Levels between the exponential and the input of bootstrapping.
        left: usize,
    },
    /// Integers that may be beyond the table.
    #[error(
        "slots may reach {peak:.6e} and the table has entries for 0 to {}: give a longer table, or state a tighter bound (Ciphertext::bounded_by)", entries - 1
    )]
    TableDomain {
        /// Bound on the slots' absolute values.
        peak: f64,
        /// Entries, filled up to a power of two.
        entries: usize,
    },
    /// A lookup that would be wrong too often.
    #[error(
        "a lookup would be wrong with probability 2^{got:.1} a slot, and 2^{accepted:.0} is accepted: the integers have errors of {argument:.1e} of their distance, the results of {value:.1e}; look up before errors grow, take a shorter table or smaller entries, or parameters of more precision"
    )]
    TableNoise {
        /// log₂ of the failure probability.
        got: f64,
        /// log₂ of the accepted one.
        accepted: f64,
        /// Deviation of an argument, in units of the distance between integers.
        argument: f64,
        /// Deviation of a result.
        value: f64,
    },
    /// Values that would overflow q₀.
    #[error(
        "slots may reach {peak:.3e}, and these parameters bootstrap values up to {most:.3e}: scale them down first, or state a tighter bound (Ciphertext::bounded_by)"
    )]
    TooLarge {
        /// Bound on the slots' absolute values.
        peak: f64,
        /// Largest value that the message ratio allows.
        most: f64,
    },
}
