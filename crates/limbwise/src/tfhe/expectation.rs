//! What a client expects of a result, and the result it decrypts.

#[cfg(feature = "client")]
use super::{ciphertext::Ciphertext, error::TfheError, noise, params::TfheParams, secret::ClientKey};
#[cfg(feature = "client")]
use crate::{
    error::{DecryptError, Result},
    wire::tfhe::tfhe_fingerprint,
};
#[cfg(feature = "client")]
use limbwise_device::{Device, HostRead};
#[cfg(feature = "client")]
use limbwise_math::rns::to_f64;
#[cfg(feature = "client")]
use limbwise_taint::declassify;

/// Tolerance of a phase's distance from its message, in deviations. Honest noise exceeds 16 deviations once in 2^187
/// messages, and measured deviations are within a bit of the formula. A forged phase mostly misses by half a message,
/// so a forged batch does not pass.
#[cfg(feature = "client")]
const MOST_DEVIATIONS: f64 = 24.0;
/// Relative tolerance of a squared norm: the same sums in another order differ by f64 rounding only.
#[cfg(feature = "client")]
const ROUNDING: f64 = 1e-9;

/// Shape, range and noise of a result in the client's own recording.
#[cfg(feature = "client")]
#[derive(Clone, Debug, PartialEq)]
pub struct TfheExpectation {
    params: TfheParams,
    batch: usize,
    range: (i64, i64),
    norm_squared: f64,
}

#[cfg(feature = "client")]
impl TfheExpectation {
    /// The expectation of a recorded result, which holds no words.
    #[must_use]
    pub fn of<D: Device>(recorded: &Ciphertext<D>) -> Self {
        let Ciphertext { params, range, norm_squared, .. } = recorded;
        Self { params: params.clone(), batch: recorded.batch(), range: *range, norm_squared: *norm_squared }
    }

    /// Replaces the metadata of a ciphertext by the expected metadata.
    ///
    /// # Errors
    /// [`DecryptError::Unexpected`] with the first field that differs.
    pub fn admit<D: Device>(&self, got: Ciphertext<D>) -> Result<Ciphertext<D>, DecryptError> {
        let unexpected = |field, got: String, wanted: String| DecryptError::Unexpected { field, got, wanted };
        if got.params != self.params {
            let name = |params| tfhe_fingerprint(params).to_string();
            return Err(unexpected("set of parameters", name(&got.params), name(&self.params)));
        }
        if got.batch() != self.batch {
            return Err(unexpected("batch", got.batch().to_string(), self.batch.to_string()));
        }
        if got.range != self.range {
            let range = |(low, high): (i64, i64)| format!("{low} to {high}");
            return Err(unexpected("range of messages", range(got.range), range(self.range)));
        }
        let (least, most) = (self.norm_squared * (1.0 - ROUNDING), self.norm_squared * (1.0 + ROUNDING));
        if !(least..=most).contains(&got.norm_squared) {
            let norm = |norm: f64| format!("{norm:.6e}");
            return Err(unexpected("squared norm", norm(got.norm_squared), norm(self.norm_squared)));
        }
        Ok(Ciphertext { norm_squared: self.norm_squared, ..got })
    }
}

/// A decrypted result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TfheReading {
    /// Phase of each entry: message plus noise.
    pub phases: Vec<u64>,
    /// The messages.
    pub messages: Vec<u64>,
}

#[cfg(feature = "client")]
impl TfheReading {
    /// Decrypts a batch whose range and norm are the client's expectation.
    ///
    /// # Errors
    /// [`TfheError::Implausible`] for a message outside the range or noise beyond the plan (one error for both);
    /// [`TfheError`] for ciphertexts of other keys or parameters; a device fault.
    pub fn of<D: HostRead>(dev: &D, client: &ClientKey, result: &Ciphertext<D>) -> Result<Self> {
        let (params, q) = (client.params(), client.params().modulus());
        let phases = client.phases(dev, result)?;
        let messages: Vec<u64> = phases.iter().map(|&phase| params.decode(phase)).collect();
        let variance = result.norm_squared.max(1.0) * noise::nominal(params.literal());
        let most = MOST_DEVIATIONS * variance.sqrt() * to_f64(q.value());
        let plausible = |(&phase, &message): (&u64, &u64)| {
            let message = message.cast_signed();
            let error = q.sub(phase, params.encode(message));
            let within = to_f64(error.min(q.value() - error)) <= most;
            within & (result.range.0 <= message) & (message <= result.range.1)
        };
        // Every entry is checked: which of them is wrong would leak information about the key. Whether any is, is public.
        let right = phases.iter().zip(&messages).fold(true, |right, one| right & plausible(one));
        if declassify(right) { Ok(Self { phases, messages }) } else { Err(TfheError::Implausible.into()) }
    }
}
