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
//! The sine is flat at ±¼, so errors leave their square: a deviation of 2^−14.2 of the modulus becomes 2^−24.3. What a slot
//! deviates by is in [`noise`]; [`Bridge::clean`] squares it once more, where levels are cheaper than bits.
//!
//! Packing, not a linear map on an encrypted secret \[PEGASUS\]: its keys are one a stage, 15 MB at N = 2^15 instead of a
//! matrix of rows × n encoded from words that the device would have to give back (ADR 99).
//!
//! Enters: the pair of parameter sets with the gate of the keys between them, plans, packing, flags as slots.
//! Stays out: comparisons (`tfhe`), what is done with the slots (`ckks`), key generation (`rlwe::secret`).
//!
//! Read in this order: [`params`], [`plan`], [`noise`], `pack`, [`mod@presets`].

pub mod error;
pub mod noise;
mod pack;
pub mod params;
pub mod plan;
pub mod presets;
mod to_slots;

pub use error::BridgeError;
pub use params::BridgeParams;
pub use plan::BridgePlan;
pub use presets::{BridgePreset, preset, presets};
pub use to_slots::{Bridge, requirements};
