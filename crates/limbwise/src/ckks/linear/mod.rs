//! Linear maps on slots: a matrix as its diagonals, applied to ciphertexts by one of several strategies.
//!
//! Enters: diagonals, the strategies, encoded transforms and their application, explicit and automatic.
//! Stays out: which strategy is best (that needs a recording and a machine: `runtime::frontier`).
//!
//! Read in this order: [`diagonals`], [`strategy`], `layout` (assigns diagonals to rotations), [`transform`], `apply`,
//! then one strategy per file: `direct`, `hoisted`, `bsgs`, `double_hoisted`, `chained`, `multi_hop`.

mod apply;
mod bsgs;
mod chained;
pub mod diagonals;
mod direct;
mod double_hoisted;
mod hoisted;
mod layout;
mod multi_hop;
pub mod strategy;
pub mod transform;

pub use diagonals::Diagonals;
pub(crate) use diagonals::Outline;
pub use strategy::{LinearPlan, PlaintextForm, Strategy};
pub use transform::LinearTransform;
