//! The bridge between TFHE and CKKS: flags of a comparison become slots that a sum is taken over.
//!
//! # From LWE to slots
//!
//! | step | what it is modulo | where the flag b is | what it adds, relative to the modulus |
//! |---|---|---|---|
//! | [`flags`](crate::tfhe::Evaluator::flags): a bootstrapping | q of TFHE | b·q/2 | `tfhe::noise::nominal`: 2^−14 |
//! | switch to q₀, back a quarter turn, divided by the slots | q₀, one prime | (2b − 1)·q₀/4 | 2^−42 |
//! | embedded in the ring, under the main secret (`FromLwe`) | q₀ | constant coefficient | with the next |
//! | log₂(slots) stages of merging (`Packing`) | q₀ | coefficients at multiples of N/(2·slots) | 2^−24 at 2^14 slots |
//! | ModRaise, CoeffToSlot of bootstrapping | Q | slots, x = b/2 − ¼ + I | 2^−38 |
//! | EvalMod by a cosine, without an arcsine | Q/… | ½·sin 2πx = b − ½ | π²e² of all errors e before it; its own |
//! | + ½ | the output level's | b | – |
//!
//! The sine is flat at ±¼, so the output error is quadratic in the input error: a deviation of 2^−14.2 of the modulus
//! becomes 2^−24.3. [`noise`] derives the deviation of a slot. [`Bridge::clean`] squares it once more, for use where
//! levels are cheaper than bits.
//!
//! # From slots to LWE
//!
//! | step | where the message m of p bits is | what it adds, relative to the modulus |
//! |---|---|---|
//! | division by 2^(p − 1), one level unless p = 1; SlotToCoeff | coefficients, m·q₀/2^(p + 1) | the slot's error / 2^(p + 1) |
//! | extraction of the rows | LWE of dimension N modulo q₀ | – |
//! | switch to 2^32, LWE key switch ([`ToLweKey`]) to the big LWE key, switch to q | m·q/2^(p + 1) | 2^−14 at N = 2^15 |
//!
//! LWE ciphertexts are packed by automorphisms, not by a linear map on an encrypted secret \[PEGASUS\]. Packing needs
//! one key per stage, 15 MB at N = 2^15; the linear map needs a matrix of rows × n, encoded from words that the device
//! would have to return to the host (ADR 99).
//!
//! Enters: the pair of parameter sets with the gate of the keys between them, plans, packing, flags as slots.
//! SlotToCoeff and extraction the other way.
//! Stays out: comparisons (`tfhe`), what is done with the slots (`ckks`), key generation (`rlwe::secret`).
//!
//! Read in this order: [`params`], [`plan`], [`noise`], `pack`, `to_slots`, [`key`], `to_lwe`, [`mod@presets`].

pub mod error;
pub mod key;
pub mod noise;
mod pack;
pub mod params;
pub mod plan;
pub mod presets;
mod to_lwe;
mod to_slots;

pub use error::BridgeError;
pub use key::{ToLweBodies, ToLweKey};
pub use params::BridgeParams;
pub use plan::BridgePlan;
pub use presets::{BridgePreset, preset, presets};
pub use to_lwe::requirements_to_lwe;
pub use to_slots::{Bridge, requirements};
