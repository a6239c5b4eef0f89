//! Encrypted booleans: every two-input gate on a batch of pairs, and a multiplexer.

use crate::{
    family::{Twin, message_arrays},
    program::{Array, Details, Encryption, Evaluation, Messages, Program, State, Tfhe, fields},
};

use limbwise::{
    Result,
    tfhe::{Boolean, Ciphertext, Gate, TfheError, TfheParams, TfheReading},
};
use limbwise_device::Device;
use serde_json::json;

pub mod options;

#[derive(Clone, Debug)]
pub struct Gates {
    params: TfheParams,
    batch: usize,
}

impl Gates {
    /// Batches of `batch` bits, 1 to [`MOST_BATCH`](crate::pbs::MOST_BATCH).
    ///
    /// # Errors
    /// [`TfheError::Message`] for parameters without room for two bits.
    ///
    /// # Panics
    /// If the batch is not in that range.
    pub fn new(params: &TfheParams, batch: usize) -> Result<Self> {
        assert!((1..=crate::pbs::MOST_BATCH).contains(&batch), "a batch of 1 to {}", crate::pbs::MOST_BATCH);
        if params.space() < 4 {
            return Err(TfheError::Message { got: 3, most: params.space() - 1 }.into());
        }
        Ok(Self { params: params.clone(), batch })
    }
}

/// The multiplexer's name in the list of steps.
const MUX: &str = "mux";

impl Program for Gates {
    type Scheme = Tfhe;

    fn name(&self) -> &'static str {
        "gates"
    }

    fn params(&self) -> &TfheParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Messages> {
        ["a", "b", "choice"].map(|name| Messages { name: name.into(), batch: self.batch, most: 1 }).into()
    }

    fn model(&self) {}

    /// There is no public key.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Tfhe>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: eval, inputs, observer, journal } = on;
        let bits = inputs.iter().map(|ct| Boolean::new(*eval, ct.clone())).collect::<Result<Vec<_>>>()?;
        let (a, b, choice) = (&bits[0], &bits[1], &bits[2]);
        let total = self.results();
        let mut state = match journal.resume()? {
            Some(state) if state.step <= total && state.ciphertexts.len() == state.step => state,
            Some(_) => return Err(limbwise::Error::State),
            None => State { step: 0, ciphertexts: Vec::new(), numbers: Vec::new() },
        };
        for i in state.step..total {
            let result = match Gate::ALL.get(i) {
                Some(&gate) => {
                    observer.step(&format!("{gate:?}").to_lowercase(), i, total);
                    a.gate(gate, b)?
                }
                None => {
                    observer.step(MUX, i, total);
                    choice.mux(a, b)?
                }
            };
            state.ciphertexts.push(result.ciphertext().clone());
            state.step = i + 1;
            journal.keep(&state)?;
        }
        Ok(state.ciphertexts)
    }

    fn results(&self) -> usize {
        Gate::ALL.len() + 1
    }

    fn arrays(&self, results: &Vec<TfheReading>) -> Vec<Array> {
        let gates = Gate::ALL.map(|gate| format!("{gate:?}").to_lowercase());
        message_arrays(gates.into_iter().chain([MUX.into()]), results)
    }

    fn details(&self) -> Details {
        fields(json!({ "batch": self.batch, "gates": (Gate::ALL.len() + 1) * self.batch }))
    }
}

impl Twin for Gates {
    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let bit = |input: usize, i: usize| inputs[input][i] == 1;
        let each = |f: &dyn Fn(usize) -> bool| (0..self.batch).map(|i| u64::from(f(i))).collect();
        let gates = Gate::ALL.into_iter().map(|gate| each(&|i| gate.apply([bit(0, i), bit(1, i)])));
        gates.chain([each(&|i| if bit(2, i) { bit(0, i) } else { bit(1, i) })]).collect()
    }
}
