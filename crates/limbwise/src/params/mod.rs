//! Parameters: what a user writes ([`ParamsLiteral`]), what the engine trusts ([`Params`]), and the check between them.
//!
//! Enters: literals, prime selection, the security check, frozen presets, choosing by depth and precision.
//! Stays out: keys, devices, values.
//!
//! Read in this order: [`literal`], [`bootstrap`], [`sine`], [`security`], `primes`, `words`, [`checked`], [`presets`],
//! [`change`], [`mod@choose`].

pub mod bootstrap;
pub mod change;
pub mod checked;
pub mod choose;
mod error;
pub mod literal;
pub mod presets;
mod primes;
pub mod security;
pub mod sine;
mod words;

pub use bootstrap::{BootstrapLiteral, Bootstrapping, EvalModLiteral, Order, Refinement};
pub use change::{CHANGEABLE, ChangeableField};
pub use checked::Params;
pub use choose::{Wish, choose};
pub use error::ParamsError;
pub use literal::{Insecure, ParamsLiteral, PrimeChoice, Secret, Standard, Words};
pub use security::SecurityReport;
pub use sine::Sine;
