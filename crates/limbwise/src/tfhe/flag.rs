//! Flags: encrypted truth values half a modulus apart, the form in which they go from TFHE to CKKS.
//!
//! Neighboring messages are q/2^(message bits + 1) apart, flags q/2, the largest distance there is. A function of real
//! slots then depends on a flag's noise only quadratically (see [`bridge`](crate::bridge)). No table takes flags; only
//! the bridge does.

use super::{bootstrap::Evaluator, ciphertext::Ciphertext, error::TfheError, params::TfheParams, table::Table};
use crate::error::Result;
use limbwise_device::{Device, Wordless};

/// A batch of flags: phases 0 or q/2.
pub struct Flags<D: Device> {
    ct: Ciphertext<D>,
}

impl<D: Device> Clone for Flags<D> {
    fn clone(&self) -> Self {
        Self { ct: self.ct.clone() }
    }
}

/// A set flag, in units of messages: q/2.
fn set(params: &TfheParams) -> i64 {
    params.space().cast_signed()
}

impl<D: Device> Evaluator<'_, D> {
    /// Evaluates a property of each message as flags, in one bootstrapping for the whole batch.
    ///
    /// # Errors
    /// As [`Self::bootstrap`].
    pub fn flags(&self, a: &Ciphertext<D>, property: impl Fn(u64) -> bool) -> Result<Flags<D>> {
        let params = self.params();
        Ok(Flags { ct: self.bootstrap(a, &[Table::flags(params, set(params), property)])? })
    }
}

impl<D: Device> Flags<D> {
    /// Converts messages 0 and 1 to flags by a multiplication with the number of messages, which multiplies the noise
    /// too.
    ///
    /// # Errors
    /// [`TfheError::Range`] if a message may be larger than 1.
    ///
    /// # Panics
    /// Never.
    pub fn of(eval: &Evaluator<'_, D>, a: &Ciphertext<D>) -> Result<Self> {
        let (low, high) = a.range();
        if low < 0 || high > 1 {
            return Err(TfheError::Range { op: "flags", low, high, least: 0, most: 1 }.into());
        }
        let factor = i32::try_from(set(eval.params())).expect("at most 2^10");
        Ok(Self { ct: eval.scale(a, factor) })
    }

    /// Concatenates batches.
    ///
    /// # Errors
    /// As [`Evaluator::stack`].
    ///
    /// # Panics
    /// If `parts` is empty.
    pub fn stack(eval: &Evaluator<'_, D>, parts: &[&Self]) -> Result<Self> {
        Ok(Self { ct: eval.stack(&parts.iter().map(|flags| &flags.ct).collect::<Vec<_>>())? })
    }

    /// Declares flags on a device that holds no words.
    #[must_use]
    pub fn declared(dev: &D, params: &TfheParams, batch: usize) -> Self
    where
        D: Wordless,
    {
        Self { ct: Ciphertext::declared(dev, params, batch) }
    }

    /// Number of flags.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.ct.batch()
    }

    /// The words with their noise metadata. As a ciphertext its messages are 0 and the number of messages, which no
    /// table takes.
    #[must_use]
    pub fn ciphertext(&self) -> &Ciphertext<D> {
        &self.ct
    }
}
