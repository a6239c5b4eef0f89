//! Options of `pbs` and `gates`, the workloads on TFHE.

use super::between;
use crate::{failure::Mistake, files::read_small};
use clap::{Args, ValueEnum};
use limbwise::{
    params::ParamsError,
    tfhe::{TfheLiteral, TfheParams, preset},
};
use limbwise_apps::{
    AnyLogic, Logic as _,
    gates::Gates,
    pbs::{MOST_BATCH, Pbs, Tables},
};
use std::path::Path;

/// Which tables a batch goes through.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TablesName {
    /// One for all
    Same,
    /// One for each message
    Each,
}

fn batch(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_BATCH)
}

/// Options that all workloads on TFHE have.
#[derive(Debug, Args)]
struct Common {
    /// Messages in the batch, all of which the server bootstraps together
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = batch)]
    batch: usize,

    /// Seed of the messages, which are uniform
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    data_seed: u64,
}

/// Options of `pbs`.
#[derive(Debug, Args)]
pub(crate) struct PbsArgs {
    #[command(flatten)]
    common: Common,

    /// Tables
    #[arg(long, value_enum, value_name = "WHICH", default_value = "same")]
    tables: TablesName,

    /// Parameters: a TFHE preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "2-2-p128", help_heading = "Parameters")]
    preset: String,
}

/// Options of `gates`.
#[derive(Debug, Args)]
pub(crate) struct GatesArgs {
    #[command(flatten)]
    common: Common,

    /// Parameters with two message bits or more: a TFHE preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "bool-p128", help_heading = "Parameters")]
    preset: String,
}

/// A program on TFHE, the name of its parameters, and messages to try it on.
pub(crate) struct BuiltLogic {
    pub(crate) program: AnyLogic,
    pub(crate) preset: String,
    pub(super) seed: u64,
}

impl BuiltLogic {
    /// Messages for every input.
    pub(crate) fn messages(&self) -> Vec<Vec<u64>> {
        self.program.samples(self.seed)
    }

    /// log₂ of its ring's degree.
    pub(crate) fn log_n(&self) -> u32 {
        self.program.params().literal().log_n
    }
}

impl PbsArgs {
    pub(super) fn build(&self) -> anyhow::Result<BuiltLogic> {
        let tables = match self.tables {
            TablesName::Same => Tables::Same,
            TablesName::Each => Tables::Each,
        };
        let program = Pbs::new(&named(&self.preset)?, self.common.batch, tables);
        Ok(BuiltLogic { program: AnyLogic::Pbs(program), preset: self.preset.clone(), seed: self.common.data_seed })
    }
}

impl GatesArgs {
    pub(super) fn build(&self) -> anyhow::Result<BuiltLogic> {
        let program = Gates::new(&named(&self.preset)?, self.common.batch)?;
        Ok(BuiltLogic { program: AnyLogic::Gates(program), preset: self.preset.clone(), seed: self.common.data_seed })
    }
}

/// A TFHE preset by name, or a literal from a TOML file, checked.
///
/// # Errors
/// Names that do not exist, files that are no literal, literals that are refused.
pub(crate) fn named(name: &str) -> anyhow::Result<TfheParams> {
    let path = Path::new(name);
    if path.extension().is_some_and(|e| e == "toml") {
        return file(path);
    }
    Ok(TfheParams::new(&preset(name)?).map_err(limbwise::Error::from)?)
}

/// A TFHE literal from a TOML file, checked.
///
/// # Errors
/// As [`named`].
pub(crate) fn file(path: &Path) -> anyhow::Result<TfheParams> {
    let name = path.display();
    let literal: TfheLiteral = toml::from_str(&read_small(path)?).map_err(|e| {
        let next = "\"limbwise params show 2-2-p128\" prints a file of the right form";
        Mistake(format!("{name}: not a TFHE parameter set: {}\n({next})", e.to_string().trim_end()))
    })?;
    let refused = |e: ParamsError| match e {
        ParamsError::InsecureBinary { .. } => Mistake(format!("{name}: {e} (in a file: [insecure] reason = \"...\")")),
        e => Mistake(format!("{name}: {e}")),
    };
    Ok(TfheParams::new(&literal).map_err(refused)?)
}
