//! A batch of encrypted messages.

use super::{error::TfheError, key::KeyTag, params::TfheParams};
use crate::error::Result;
use limbwise_device::{Device, LweHandle as _, LweShape, Role, Wordless};

/// A batch of messages under the big LWE key. Its public metadata: the range of its messages, and the squared norm of
/// the coefficients that combine bootstrapped ciphertexts in it.
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

/// The shape of `batch` ciphertexts.
pub(crate) fn shape(params: &TfheParams, batch: usize) -> LweShape {
    LweShape { dimension: params.literal().big_dimension(), modulus: params.modulus().value(), batch }
}

impl<D: Device> Ciphertext<D> {
    /// A fresh ciphertext of unrestricted messages.
    pub(crate) fn fresh(lwe: D::Lwe, params: &TfheParams, tag: KeyTag) -> Self {
        let most = i64::try_from(params.space() - 1).expect("at most 10 bits");
        Self { lwe, params: params.clone(), tag, range: (0, most), norm_squared: 1.0 }
    }

    /// Declares a batch on a device that holds no words.
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

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The words on the device.
    #[must_use]
    pub fn lwe(&self) -> &D::Lwe {
        &self.lwe
    }

    /// Smallest and largest possible message.
    #[must_use]
    pub fn range(&self) -> (i64, i64) {
        self.range
    }

    /// Squared norm of the coefficients that combine bootstrapped ciphertexts.
    #[must_use]
    pub fn norm_squared(&self) -> f64 {
        self.norm_squared
    }

    /// Asserts that no message exceeds `most`: knowledge of the application that the types cannot hold.
    ///
    /// # Errors
    /// [`TfheError::Message`] if `most` is outside the message space.
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

    /// The same, told to have at least this squared norm: for a sum whose coefficients are private, so that its metadata do
    /// not tell which of them are 0.
    #[must_use]
    pub fn no_quieter_than(mut self, norm_squared: f64) -> Self {
        self.norm_squared = self.norm_squared.max(norm_squared);
        self
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

/// Refuses values made for other parameters or by another client key.
pub(crate) fn belongs(op: &'static str, one: (&TfheParams, KeyTag), other: (&TfheParams, KeyTag)) -> Result<()> {
    if one.0 != other.0 {
        return Err(TfheError::OtherParams { op }.into());
    }
    if one.1 != other.1 {
        return Err(TfheError::OtherKeys { op, left: one.1, right: other.1 }.into());
    }
    Ok(())
}
