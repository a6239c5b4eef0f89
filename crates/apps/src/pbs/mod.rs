//! Programmable bootstrapping of a batch: one call evaluates a lookup table on every message.

use crate::{
    family::{Twin, message_arrays},
    program::{Array, Details, Encryption, Evaluation, Messages, Program, Tfhe, fields},
};
use limbwise::{
    Result,
    tfhe::{Ciphertext, Table, TfheParams, TfheReading},
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub mod options;

pub const MOST_BATCH: usize = 4096;

/// How lookup tables are assigned to messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Tables {
    /// One table for all messages
    #[default]
    Same,
    /// One table per message
    Each,
}

#[derive(Clone, Debug)]
pub struct Pbs {
    params: TfheParams,
    batch: usize,
    tables: Tables,
}

impl Pbs {
    /// A batch of `batch` messages, 1 to [`MOST_BATCH`].
    ///
    /// # Panics
    /// If the batch is not in that range.
    pub fn new(params: &TfheParams, batch: usize, tables: Tables) -> Self {
        assert!((1..=MOST_BATCH).contains(&batch), "a batch of 1 to {MOST_BATCH}");
        Self { params: params.clone(), batch, tables }
    }

    /// The table of entry i: m ↦ m² + i, modulo the message space.
    fn value(&self, entry: usize, message: u64) -> u64 {
        (message * message + entry as u64) % self.params.space()
    }

    fn entries(&self) -> usize {
        if self.tables == Tables::Same { 1 } else { self.batch }
    }
}

impl Program for Pbs {
    type Scheme = Tfhe;

    fn name(&self) -> &'static str {
        "pbs"
    }

    fn params(&self) -> &TfheParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Messages> {
        vec![Messages { name: "messages".into(), batch: self.batch, most: self.params.space() - 1 }]
    }

    fn model(&self) {}

    /// There is no public key.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Tfhe>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: eval, inputs, observer, .. } = on;
        observer.step("bootstrapping", 0, 1);
        let table = |entry| Table::of(&self.params, |m| self.value(entry, m));
        let tables = (0..self.entries()).map(table).collect::<Result<Vec<Table>>>()?;
        Ok(vec![eval.bootstrap(&inputs[0], &tables)?])
    }

    fn arrays(&self, results: &Vec<TfheReading>) -> Vec<Array> {
        message_arrays(["messages".into()], results)
    }

    fn details(&self) -> Details {
        fields(json!({ "batch": self.batch, "tables": self.entries() }))
    }
}

impl Twin for Pbs {
    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let value = |(i, &m): (usize, &u64)| self.value(i % self.entries(), m);
        vec![inputs[0].iter().enumerate().map(value).collect()]
    }
}
