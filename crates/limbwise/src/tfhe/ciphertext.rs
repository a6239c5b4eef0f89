//! A batch of encrypted messages.

use super::{error::TfheError, key::KeyTag, params::TfheParams};
use crate::error::Result;
use limbwise_device::{Device, LweHandle as _, LweShape, Role, Wordless};

/// A batch of messages, each under the wide key. Travelling with it: the least and largest message it may hold, and the
/// squared norm by which bootstrapped ciphertexts were added up to it.
pub struct Ciphertext<D: Device> {
    pub(crate) lwe: D::Lwe,
    pub(crate) params: TfheParams,
    pub(crate) tag: KeyTag,
    pub(crate) range: (i64, i64),
    pub(crate) norm_squared: f64,
}

impl<D: Device> Clone for Ciphertext<D> {
    fn clone(&self) -> Self {
        Self { lwe: self.lwe.clone(), params: self.params.clone(), ..*self }
    }
}

/// The shape of so many ciphertexts.
pub(crate) fn shape(params: &TfheParams, batch: usize) -> LweShape {
    LweShape { dimension: params.literal().wide_dimension(), modulus: params.modulus().value(), batch }
}

impl<D: Device> Ciphertext<D> {
    /// Any messages, fresh.
    pub(crate) fn fresh(lwe: D::Lwe, params: &TfheParams, tag: KeyTag) -> Self {
        let most = i64::try_from(params.space() - 1).expect("at most 10 bits");
        Self { lwe, params: params.clone(), tag, range: (0, most), norm_squared: 1.0 }
    }

    /// Ciphertexts that exist by declaration.
    #[must_use]
    pub fn declared(dev: &D, params: &TfheParams, batch: usize) -> Self
    where
        D: Wordless,
    {
        Self::fresh(dev.declare_lwe(shape(params, batch), Role::Ciphertext), params, KeyTag(0))
    }

    /// Number of messages.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.lwe.lwe_shape().batch
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The words on the device.
    #[must_use]
    pub fn lwe(&self) -> &D::Lwe {
        &self.lwe
    }

    /// Least and largest message it may hold.
    #[must_use]
    pub fn range(&self) -> (i64, i64) {
        self.range
    }

    /// Squared norm of the coefficients by which bootstrapped ciphertexts were added up.
    #[must_use]
    pub fn norm_squared(&self) -> f64 {
        self.norm_squared
    }

    /// Promises that no message exceeds `most`: what the application knows and the types cannot.
    ///
    /// # Errors
    /// [`TfheError::Message`] if the space has no such message.
    ///
    /// # Panics
    /// Never.
    pub fn at_most(mut self, most: u64) -> Result<Self> {
        let largest = self.params.space() - 1;
        if most > largest {
            return Err(TfheError::Message { got: most, most: largest }.into());
        }
        self.range = (0, i64::try_from(most).expect("at most 10 bits"));
        Ok(self)
    }

    /// Refuses operands of other keys, parameters or batches.
    pub(crate) fn goes_with(&self, op: &'static str, other: &Self) -> Result<()> {
        belongs(op, (&self.params, self.tag), (&other.params, other.tag))?;
        let (left, right) = (self.batch(), other.batch());
        if left != right && left != 1 && right != 1 {
            return Err(TfheError::Batch { op, left, right }.into());
        }
        Ok(())
    }
}

/// Refuses what was made for other parameters or by another client key.
pub(crate) fn belongs(op: &'static str, one: (&TfheParams, KeyTag), other: (&TfheParams, KeyTag)) -> Result<()> {
    if one.0 != other.0 {
        return Err(TfheError::OtherParams { op }.into());
    }
    if one.1 != other.1 {
        return Err(TfheError::OtherKeys { op, left: one.1, right: other.1 }.into());
    }
    Ok(())
}
