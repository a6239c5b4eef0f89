//! CKKS: approximate arithmetic on vectors of complex numbers.
//!
//! Enters: encoding, encryption, the explicit evaluator, automatic level management, polynomial evaluation.
//! Stays out: kernels, key generation (it is RLWE's), workloads.
//!
//! Read in this order: [`ciphertext`], [`encoder`], [`mod@encrypt`], [`evaluator`], [`rotation`], [`linear`], [`matrix`], [`tensor`], [`auto`],
//! [`chebyshev`], [`functions`], [`bootstrap`], [`levels`], [`estimate`], [`precision`], [`shadow`], [`watch`], and for clients `decrypt`,
//! `expectation`, `audit`.

#[cfg(feature = "client")]
pub mod audit;
pub mod auto;
pub mod batch;
pub mod bootstrap;
pub mod chebyshev;
pub mod ciphertext;
#[cfg(feature = "client")]
pub mod decrypt;
pub mod encoder;
#[cfg(feature = "client")]
pub mod encrypt;
pub mod estimate;
pub mod evaluator;
#[cfg(feature = "client")]
pub mod expectation;
pub mod functions;
pub mod levels;
pub mod linear;
pub mod matrix;
pub mod precision;
pub mod rotation;
pub mod shadow;
pub mod tensor;
pub mod watch;

#[cfg(feature = "client")]
pub use audit::{Audit, Finding, ShadowBound, ShadowReport};
pub use auto::Auto;
pub use bootstrap::{BootstrapPlan, Bootstrapper, Lookup, LookupTable};
pub use ciphertext::{Ciphertext, Plaintext};
#[cfg(feature = "client")]
pub use decrypt::{Probe, decrypt, decrypt_wide};
pub use encoder::{Encoder, Noise, Packing};
#[cfg(feature = "client")]
pub use encrypt::{FreshCiphertext, encrypt, encrypt_from, encrypt_secret, encrypt_seeded, encrypt_seeded_from};
pub use estimate::{Estimate, Promise};
pub use evaluator::Evaluator;
#[cfg(feature = "client")]
pub use expectation::{Expectation, Model};
pub use levels::LevelPolicy;
pub use limbwise_math::chebyshev::Series;
pub use linear::{Diagonals, LinearPlan, LinearTransform, PlaintextForm, Strategy};
pub use precision::Precision;
pub use rotation::SumSteps;
pub use shadow::Shadow;
pub use watch::{Done, Watch, With};
