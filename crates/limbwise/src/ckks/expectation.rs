//! What a client expects of a result before it arrives, from its own recording of the program.
//!
//! A ciphertext from a server states its own level, scale and expected error, and the server may lie. Flooding sized by
//! a forged error hides nothing, and a forged bound lets a made-up ciphertext be decrypted; both leak the key
//! (`SECURITY.md`). So a client compares a result's metadata with its expectation, and then uses the expectation.
//! Exists only under the feature `client`.

use super::{ciphertext::Ciphertext, estimate::Estimate};
use crate::{error::DecryptError, params::Params, wire::params::fingerprint};
use limbwise_device::Device;

/// Relative tolerance of a size or an error: the same rules in another order differ by f64 rounding only.
const ROUNDING: f64 = 1e-6;

/// Who knows the constants that a program multiplies by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// The client knows them: an honest result states exactly the expected numbers.
    Known,
    /// Only the server knows them. They may make values and errors up to `gain` times larger than the client's
    /// placeholders do.
    Server {
        /// Factor of at least 1.
        gain: f64,
    },
}

/// Shape, scale, expected size and error of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    params: Params,
    level: usize,
    scale: f64,
    slots: usize,
    batch: usize,
    parts: usize,
    estimate: Estimate,
    model: Model,
}

impl Expectation {
    /// The expectation of a recorded result, which holds no words.
    #[must_use]
    pub fn of<D: Device>(params: &Params, recorded: &Ciphertext<D>, model: Model) -> Self {
        let Ciphertext { parts, level, scale, slots, estimate, .. } = recorded;
        let (batch, parts) = (recorded.batch(), parts.len());
        let estimate = match model {
            Model::Known => *estimate,
            Model::Server { gain } => estimate.enlarged(gain),
        };
        let (level, scale, slots, params) = (*level, *scale, *slots, params.clone());
        Self { params, level, scale, slots, batch, parts, estimate, model }
    }

    /// Replaces the metadata of a ciphertext of these parameters by the expected metadata.
    ///
    /// # Errors
    /// [`DecryptError::Unexpected`] with the first field that differs.
    pub fn admit<D: Device>(&self, params: &Params, got: Ciphertext<D>) -> Result<Ciphertext<D>, DecryptError> {
        if *params != self.params {
            let name = |params: &Params| fingerprint(params);
            return Err(unexpected("set of parameters", name(params), name(&self.params)));
        }
        let whole = [
            ("batch", got.batch(), self.batch),
            ("number of slots", got.slots, self.slots),
            ("level", got.level, self.level),
            ("number of polynomials", got.parts.len(), self.parts),
        ];
        for (field, got, wanted) in whole {
            if got != wanted {
                return Err(unexpected(field, got, wanted));
            }
        }
        let (said, expected) = (got.estimate, self.estimate);
        if said.real != expected.real {
            return Err(unexpected("claim that all values are real", said.real, expected.real));
        }
        let numbers = [
            ("scale", got.scale, self.scale, Model::Known),
            ("largest value", said.peak, expected.peak, self.model),
            ("size of values", said.magnitude, expected.magnitude, self.model),
            ("error", said.error(), expected.error(), self.model),
        ];
        for (field, got, wanted, model) in numbers {
            if !agrees(got, wanted, model) {
                return Err(unexpected(field, format!("{got:.6e}"), format!("{wanted:.6e}")));
            }
        }
        Ok(Ciphertext { scale: self.scale, estimate: expected, ..got })
    }
}

/// Whether a stated number equals the expected one or, if only the server knows the model, does not exceed it.
fn agrees(got: f64, wanted: f64, model: Model) -> bool {
    let least = if model == Model::Known { wanted * (1.0 - ROUNDING) } else { 0.0 };
    // NaN fails the comparison. Infinity is expected where a program has no bound.
    (least..=wanted * (1.0 + ROUNDING)).contains(&got)
}

fn unexpected(field: &'static str, got: impl ToString, wanted: impl ToString) -> DecryptError {
    DecryptError::Unexpected { field, got: got.to_string(), wanted: wanted.to_string() }
}
