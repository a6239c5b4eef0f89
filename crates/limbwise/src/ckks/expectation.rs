//! What a client expects of a result before it sees one: facts of its own recording of the program.
//!
//! A ciphertext that comes from a server says its level, scale and expected error itself, and the server may lie. Flooding
//! that is sized by a forged error hides nothing, and a forged bound lets a made-up ciphertext be decrypted: both give the
//! key away (`SECURITY.md`). So a client compares what a result says with what it expects, and then uses what it expects.
//! Exists only under the feature `client`.

use super::{ciphertext::Ciphertext, estimate::Estimate};
use crate::{error::DecryptError, params::Params, wire::params::fingerprint};
use limbwise_device::Device;

/// By how much a size or an error may differ: results of the same rules in another order differ by rounding only.
const ROUNDING: f64 = 1e-6;

/// Who knows the numbers that a program multiplies with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// The client too: an honest result says exactly what is expected.
    Known,
    /// The server alone. Its numbers may make values and errors up to `gain` times larger than the client's stand-in.
    Server {
        /// At least 1.
        gain: f64,
    },
}

/// The shape, the scale and the expected size and error of a result.
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
    /// Of a result of the client's own recording, which holds no words.
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

    /// The ciphertext, which is of these parameters, with what is expected in the place of what it says of itself.
    ///
    /// # Errors
    /// [`DecryptError::Unexpected`]: the first fact that differs.
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

/// Whether a number that a result says is the one expected; where the server has the model, whether it is no larger.
fn agrees(got: f64, wanted: f64, model: Model) -> bool {
    let least = if model == Model::Known { wanted * (1.0 - ROUNDING) } else { 0.0 };
    // NaN is in no range. Infinity is expected where a program has no bound.
    (least..=wanted * (1.0 + ROUNDING)).contains(&got)
}

fn unexpected(field: &'static str, got: impl ToString, wanted: impl ToString) -> DecryptError {
    DecryptError::Unexpected { field, got: got.to_string(), wanted: wanted.to_string() }
}
