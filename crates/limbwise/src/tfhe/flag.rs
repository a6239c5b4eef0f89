//! Flags: encrypted truth values half a modulus apart, the form in which they leave TFHE for CKKS.
//!
//! A message is q/2^(message bits + 1) from the next, a flag q/2: as far as can be. What a function of real slots makes
//! of a flag then depends on its noise only by the square (see [`bridge`](crate::bridge)). No table takes flags: they are
//! for the bridge alone.

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

/// A flag that is set, in messages: q/2.
fn set(params: &TfheParams) -> i64 {
    params.space().cast_signed()
}

impl<D: Device> Evaluator<'_, D> {
    /// Whether each message has a property: one bootstrapping for the whole batch, whose result is flags.
    ///
    /// # Errors
    /// As [`Self::bootstrap`].
    pub fn flags(&self, a: &Ciphertext<D>, property: impl Fn(u64) -> bool) -> Result<Flags<D>> {
        let params = self.params();
        Ok(Flags { ct: self.bootstrap(a, &[Table::flags(params, set(params), property)])? })
    }
}

impl<D: Device> Flags<D> {
    /// Messages 0 and 1 as flags: a multiplication by the number of messages, and of their noise with them.
    ///
    /// # Errors
    /// [`TfheError::Range`] if a message may be another.
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

    /// Batches one after another.
    ///
    /// # Errors
    /// As [`Evaluator::stack`].
    ///
    /// # Panics
    /// If there is no part.
    pub fn stack(eval: &Evaluator<'_, D>, parts: &[&Self]) -> Result<Self> {
        Ok(Self { ct: eval.stack(&parts.iter().map(|flags| &flags.ct).collect::<Vec<_>>())? })
    }

    /// Flags that exist by declaration.
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

    /// The words, and what is known of their noise; its messages are 0 and the number of messages, which no table takes.
    #[must_use]
    pub fn ciphertext(&self) -> &Ciphertext<D> {
        &self.ct
    }
}
