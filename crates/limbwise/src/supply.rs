//! Where the polynomials come from that clear numbers are encoded into: made now, or read from a file that has them.

use crate::error::Result;
use limbwise_device::{Device, Shape};
use std::sync::Arc;

/// A supply of encoded plaintexts. A program asks for them one after another, in an order that its description, model
/// and parameters determine.
pub trait Supply<D: Device> {
    /// The next polynomial, on a device; `make` encodes it.
    ///
    /// # Errors
    /// Those of the place that the supply reads from or writes to.
    fn next(&self, dev: &D, shape: &Shape, make: &dyn Fn() -> D::Poly) -> Result<D::Poly>;

    /// The next polynomial, for a program that keeps it nowhere and wants it at each use: where it lies, or `None` where
    /// it has to be encoded each time. Only a supply that keeps it calls `make`.
    ///
    /// # Errors
    /// As [`Self::next`].
    fn next_at_use(&self, dev: &D, shape: &Shape, make: &dyn Fn() -> D::Poly) -> Result<Option<Arc<dyn Kept<D>>>> {
        let _ = (dev, shape, make);
        Ok(None)
    }
}

/// An encoded plaintext that is read at each use.
pub trait Kept<D: Device>: Send + Sync {
    /// Reads it.
    ///
    /// # Errors
    /// Those of its place.
    fn read(&self, dev: &D) -> Result<D::Poly>;
}

/// Encodes every plaintext when it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made;

impl<D: Device> Supply<D> for Made {
    fn next(&self, _dev: &D, _shape: &Shape, make: &dyn Fn() -> D::Poly) -> Result<D::Poly> {
        Ok(make())
    }
}
