//! Encrypted booleans: every gate of two inputs on a batch of pairs, and a multiplexer.

use crate::{
    logic::{Logic, Messages},
    program::{Details, Observer},
};
use limbwise::{
    Result,
    tfhe::{Boolean, Ciphertext, Evaluator, Gate, TfheError, TfheParams},
};
use limbwise_device::Device;
use serde_json::json;

/// The workload.
#[derive(Clone, Debug)]
pub struct Gates {
    params: TfheParams,
    batch: usize,
}

impl Gates {
    /// Batches of so many bits, 1 to [`MOST_BATCH`](crate::pbs::MOST_BATCH).
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

/// The multiplexer's name among the steps.
const MUX: &str = "mux";

impl Logic for Gates {
    fn name(&self) -> &'static str {
        "gates"
    }

    fn params(&self) -> &TfheParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Messages> {
        ["a", "b", "choice"].map(|name| Messages { name: name.into(), batch: self.batch, most: 1 }).into()
    }

    fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        let bits = inputs.iter().map(|ct| Boolean::new(eval, ct.clone())).collect::<Result<Vec<_>>>()?;
        let (a, b, choice) = (&bits[0], &bits[1], &bits[2]);
        let mut results = Vec::new();
        for (i, gate) in Gate::ALL.into_iter().enumerate() {
            observer.step(&format!("{gate:?}").to_lowercase(), i, Gate::ALL.len() + 1);
            results.push(a.gate(gate, b)?.ciphertext().clone());
        }
        observer.step(MUX, Gate::ALL.len(), Gate::ALL.len() + 1);
        results.push(choice.mux(a, b)?.ciphertext().clone());
        Ok(results)
    }

    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let bit = |input: usize, i: usize| inputs[input][i] == 1;
        let each = |f: &dyn Fn(usize) -> bool| (0..self.batch).map(|i| u64::from(f(i))).collect();
        let gates = Gate::ALL.into_iter().map(|gate| each(&|i| gate.apply([bit(0, i), bit(1, i)])));
        gates.chain([each(&|i| if bit(2, i) { bit(0, i) } else { bit(1, i) })]).collect()
    }

    fn details(&self) -> Details {
        let gates = json!({ "batch": self.batch, "gates": (Gate::ALL.len() + 1) * self.batch });
        gates.as_object().cloned().unwrap_or_default()
    }
}
