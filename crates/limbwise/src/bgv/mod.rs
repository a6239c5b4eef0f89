//! BGV: exact arithmetic on vectors of integers modulo a prime t.
//!
//! A message is N integers in two rows of N/2 slots. A ciphertext's phase is small and ≡ factor·message modulo t; its
//! noise is a multiple of t. Encryption, keys, key switching and rotations are those of `rlwe`. `rlwe` knows of t only
//! as a rounding ([`DivisionRounding::MultipleOf`](crate::rlwe::DivisionRounding), ADR 89).
//!
//! Enters: parameters with a plaintext modulus, presets, encoding, encryption, the explicit evaluator, automatic modulus
//! switching by a bound on the noise, linear maps, integers wider than a plaintext modulus.
//! Stays out: kernels, key generation, workloads.
//!
//! Read in this order: [`params`], [`mod@presets`], [`ciphertext`], [`encoder`], [`noise`], [`evaluator`], [`rotation`],
//! [`linear`], [`auto`], [`wide`], [`error`], and for clients `encrypt`, `decrypt`.

pub mod auto;
pub mod ciphertext;
#[cfg(feature = "client")]
pub mod decrypt;
pub mod encoder;
#[cfg(feature = "client")]
pub mod encrypt;
pub mod error;
pub mod evaluator;
pub mod expectation;
pub mod linear;
pub mod noise;
pub mod params;
pub mod presets;
pub mod rotation;
pub mod wide;

pub use auto::Auto;
pub use ciphertext::{Ciphertext, CiphertextShape, Plaintext};
#[cfg(feature = "client")]
pub use decrypt::{Reading, decrypt, phases, read};
pub use encoder::Encoder;
#[cfg(feature = "client")]
pub use encrypt::{FreshCiphertext, encrypt, encrypt_from, encrypt_seeded, encrypt_seeded_from};
pub use error::BgvError;
pub use evaluator::Evaluator;
#[cfg(feature = "client")]
pub use expectation::BgvExpectation;
pub use expectation::BgvReading;
pub use limbwise_math::modulus::Modulus;
pub use linear::LinearTransform;
pub use noise::Encryption;
pub use params::{BgvLiteral, BgvParams};
pub use presets::{BgvPreset, preset, presets};
pub use wide::{Magnitude, Residues, Wide};
