//! The seam between scheme code and hardware: one trait of ring operations, and what every device inherits.
//!
//! Enters: the operation list with its contracts, composites with default bodies, shapes and bases, decorators that
//! work on any device, the conformance suite.
//! Stays out: hardware, threads, scheme words (scale, plaintext, ciphertext semantics), `unsafe`.
//!
//! Read in this order: [`ring`] (bases, rings, shapes), [`lwe`] (the second kind of value), [`matrix`] (clear operands), [`table`] (the operations),
//! [`ops`] (the trait), [`region`] (named parts of a program), [`composites`] (default bodies), [`null`], [`footprint`]
//! (memory of a device), [`checked`], [`lockstep`], [`hybrid`] (two devices, one program), [`conformance`].

pub mod checked;
pub mod composites;
pub mod conformance;
pub mod footprint;
pub mod hybrid;
pub mod lockstep;
pub mod lwe;
pub mod matrix;
pub mod null;
pub mod ops;
pub mod region;
pub mod ring;
pub mod table;

pub use checked::Checked;
pub use footprint::{Footprint, SharedFootprint};
pub use hybrid::Hybrid;
pub use lockstep::Lockstep;
pub use lwe::{Gadget, Ggsw, LweFill, LweHandle, LweShape, LweSwitchKey, Rounding};
pub use matrix::{IntegerMatrix, MatrixError};
pub use null::Null;
pub use ops::{
    Device, Fault, Fill, GadgetKey, Handle, HostRead, KeyId, Role, Rotation, RowAt, Terms, Weight, Wordless, expand_row,
};
pub use region::{LeaveRegion, OpenRegion, Region};
pub use ring::{Basis, Domain, Ring, RingError, RingSpec, Shape};
