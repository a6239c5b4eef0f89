//! Options of `gates`.

use super::Gates;
use crate::{
    family::{Exact, message_samples},
    linear::layer::Model,
    options::{by_shape_if_small, mistake, named_tfhe},
    pbs::{
        MOST_BATCH,
        options::{Samples, batch, one_way},
    },
    program::{Program as _, Tfhe},
    workload::{Built, Named, Refusable, Timed, Workload},
};
use clap::Args;
use limbwise::tfhe::TfheParams;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// All two-input gates and a multiplexer on a batch of encrypted bits (TFHE)
///
/// One bootstrapping per gate and bit, two for the multiplexer. Results are compared with the clear twin.
///
/// Examples:
///   gates                                                     128 bits of security, p_fail <= 2^-128, a batch of 16
///   gates --preset 2-2-p64 --batch 100                        other parameters, more bits
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GatesArgs {
    /// Number of messages, bootstrapped together
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = batch)]
    batch: usize,

    #[command(flatten)]
    data: Samples,

    /// Parameters with at least two message bits: a TFHE preset's name ("limbwise params show") or a TOML file
    /// [default: bool-p128]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "bool-p128";

/// Public metadata of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub batch: usize,
}

impl GatesArgs {
    fn with(&self, params: &TfheParams, preset: &str) -> Refusable<Built<Self>> {
        let described = Described { batch: self.batch };
        let program = Self::program(&described, (params, preset), None)?;
        let client = Some(Self::client(&self.data, &described, &program, &[])?);
        let smaller = "a smaller --batch, or a preset with smaller keys";
        Ok(Built { program, described, client, preset: preset.into(), ways: one_way(), smaller })
    }
}

impl Workload for GatesArgs {
    type Scheme = Tfhe;
    type Program = Gates;
    type Client = Exact<Gates>;
    type Described = Described;
    type Data = Samples;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, _: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        self.with(&named_tfhe(preset)?, preset)
    }

    fn build_timed(&self) -> Refusable<Timed<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        by_shape_if_small(&named_tfhe(preset)?, 2, |params| self.with(params, preset))
    }
    fn data(&self) -> Samples {
        self.data.clone()
    }

    fn program(of: &Described, (params, _): Named<'_, Tfhe>, _: Option<&Model>) -> Refusable<Gates> {
        if !(1..=MOST_BATCH).contains(&of.batch) {
            return Err(mistake(format!("a batch of {}: choose 1 to {MOST_BATCH}", of.batch)));
        }
        Ok(Gates::new(params, of.batch)?)
    }

    fn client(data: &Samples, _: &Described, program: &Gates, files: &[PathBuf]) -> Refusable<Exact<Gates>> {
        Samples::no_files(files)?;
        Ok(Exact::new(program.clone(), message_samples(&program.inputs(), data.data_seed)))
    }
}
