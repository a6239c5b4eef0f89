//! Options of `pbs`.

use super::{MOST_BATCH, Pbs, Tables};
use crate::{
    family::{Exact, message_samples_from},
    linear::layer::Model,
    options::{between, mistake, named_tfhe},
    program::{Program as _, Tfhe},
    way::Way,
    workload::{Built, Named, Part, Refusable, Timed, Workload},
};
use clap::Args;
use limbwise::rlwe::KeyForm;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub(crate) fn batch(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_BATCH)
}

/// Where the messages come from. Only the client knows this.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Seed of the uniform messages
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) data_seed: u64,

    /// Messages of the seed that stand before a part's.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "none")]
    pub(crate) skip: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn none(skipped: &usize) -> bool {
    *skipped == 0
}

impl Samples {
    /// Refuses files: the messages are made from the seed.
    pub(crate) fn no_files(files: &[PathBuf]) -> Refusable<()> {
        match files {
            [] => Ok(()),
            _ => Err(mistake("--data: the messages of this program come from --data-seed; leave it out")),
        }
    }
}

/// Programmable bootstrapping of a batch of small integers through lookup tables (TFHE)
///
/// The client encrypts a batch of messages; the server evaluates a lookup table on each by key switch, modulus switch, blind
/// rotation and sample extraction, as one batch. Results are compared with the clear twin. "plan" shows security,
/// noise and failure probability, "time --machine counts" the operations and bytes of every operator.
///
/// Examples:
///   pbs                                                       2 bits and 2 of carry, p_fail <= 2^-128, a batch of 16
///   pbs --batch 64 --tables each                              64 messages, each with its own table
///   pbs --preset fhex-I-32                                    a published parameter shape, for 32-bit machines
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct PbsArgs {
    /// Number of messages, bootstrapped together
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = batch)]
    batch: usize,

    #[command(flatten)]
    data: Samples,

    /// Tables
    #[arg(long, value_enum, value_name = "WHICH", default_value = "same")]
    tables: Tables,

    /// Parameters: a TFHE preset's name ("limbwise params show") or a TOML file [default: 2-2-p128]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "2-2-p128";

/// Public metadata of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub batch: usize,
    /// How lookup tables are assigned to messages.
    pub tables: Tables,
}

/// The only configuration of a TFHE program: every bootstrapping uses both keys.
pub(crate) fn one_way() -> Vec<Way> {
    vec![Way::of_keys(KeyForm::Stored)]
}

impl Workload for PbsArgs {
    type Scheme = Tfhe;
    type Program = Pbs;
    type Client = Exact<Pbs>;
    type Described = Described;
    type Data = Samples;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, _: Option<u64>) -> Refusable<Built<Self>> {
        Ok(self.build_timed()?.0)
    }

    fn build_timed(&self) -> Refusable<Timed<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let described = Described { batch: self.batch, tables: self.tables };
        let program = Self::program(&described, (&named_tfhe(preset)?, preset), None)?;
        let client = Some(Self::client(&self.data, &described, &program, &[])?);
        let smaller = "a smaller --batch, or a preset with smaller keys";
        Ok((Built { program, described, client, preset: preset.into(), ways: one_way(), smaller }, None))
    }

    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(Some(self.batch))
    }

    fn part(&self, part: Part) -> Option<Self> {
        // Where tables differ by message, a part's messages would meet those of the first.
        (self.tables == Tables::Same).then(|| {
            let data = Samples { skip: part.within(self.batch).first, ..self.data };
            Self { batch: part.count, data, ..self.clone() }
        })
    }

    fn data(&self) -> Samples {
        self.data.clone()
    }

    fn program(of: &Described, (params, _): Named<'_, Tfhe>, _: Option<&Model>) -> Refusable<Pbs> {
        if !(1..=MOST_BATCH).contains(&of.batch) {
            return Err(mistake(format!("a batch of {}: choose 1 to {MOST_BATCH}", of.batch)));
        }
        Ok(Pbs::new(params, of.batch, of.tables))
    }

    fn client(data: &Samples, _: &Described, program: &Pbs, files: &[PathBuf]) -> Refusable<Exact<Pbs>> {
        Samples::no_files(files)?;
        Ok(Exact::new(program.clone(), message_samples_from(&program.inputs(), data.data_seed, data.skip)))
    }
}
