//! Options of `bgv-mul` and `bgv-table`, and what workloads on BGV have in common.

use super::between;
use crate::{failure::Mistake, files::read_small};
use clap::{Args, ValueEnum};
use limbwise::{
    bgv::{BgvLiteral, BgvParams, preset},
    params::ParamsError,
};
use limbwise_apps::{
    AnyModular, Modular as _,
    bgv_mul::{BgvMul, MOST_CIPHERTEXTS, Step},
    bgv_table::{BgvTable, Encrypted},
    data::{IntegerTable, load_integers, shop},
    modular::Messages,
};
use std::path::{Path, PathBuf};

/// Which part of the whole.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum StepName {
    /// Transforms of the ciphertexts
    Ntt,
    /// Products of transformed ciphertexts
    Multiply,
    /// Transforms back
    Intt,
    /// Both operands transformed, multiplied, the products transformed back
    All,
}

fn ciphertexts(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_CIPHERTEXTS)
}

/// Options of `bgv-mul`.
#[derive(Debug, Args)]
pub(crate) struct BgvMulArgs {
    /// Products, of two ciphertexts each; ciphertexts where a step alone has no products
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = ciphertexts)]
    ciphertexts: usize,

    /// Which part
    #[arg(long, value_enum, value_name = "WHICH", default_value = "all")]
    step: StepName,

    /// Ring degree of a set of DRAMatic: 1024, 2048, 4096, 8192 or 65536
    #[arg(long, value_name = "DEGREE", conflicts_with = "preset", help_heading = "Parameters")]
    n: Option<u32>,

    /// Parameters: a BGV preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "dramatic-4096", help_heading = "Parameters")]
    preset: String,

    /// Keep the first so many primes of the chain [default: all]
    #[arg(long, value_name = "COUNT", help_heading = "Parameters")]
    limbs: Option<usize>,

    /// Seed of the messages, which are uniform
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    data_seed: u64,
}

/// Options of `bgv-table`.
#[derive(Debug, Args)]
pub(crate) struct BgvTableArgs {
    /// Table of whole numbers with a header line [default: the shipped sales of a shop]
    #[arg(long, value_name = "FILE.csv")]
    data: Option<PathBuf>,

    /// Columns to take, in this order, with commas between [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// Matrix of whole numbers with a header line: a row for each column of the table [default: the shop's prices]
    #[arg(long, value_name = "FILE.csv")]
    matrix: Option<PathBuf>,

    /// Encrypt the matrix too: the server learns neither
    #[arg(long)]
    encrypted_matrix: bool,

    /// Parameters: a BGV preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "bgv-n13-t30", help_heading = "Parameters")]
    preset: String,
}

impl BgvTableArgs {
    pub(super) fn build(&self) -> anyhow::Result<BuiltModular> {
        let params = named(&self.preset)?;
        let [sales, prices] = shop();
        let read = |file: &Option<PathBuf>, shipped: IntegerTable| match file {
            Some(file) => load_integers(file).map_err(|e| Mistake(e.to_string())),
            None => Ok(shipped),
        };
        let (mut table, matrix) = (read(&self.data, sales)?, read(&self.matrix, prices)?);
        if !self.columns.is_empty() {
            let path = self.data.as_deref().unwrap_or(Path::new("shop_sales.csv"));
            table = table.columns(path, &self.columns).map_err(|e| Mistake(e.to_string()))?;
        }
        let encrypted = if self.encrypted_matrix { Encrypted::Yes } else { Encrypted::No };
        let built = BgvTable::new(&params, &table, &matrix, encrypted).map_err(|e| Mistake(e.to_string()))?;
        let (program, messages) = (AnyModular::Table(built.0), Source::Values(built.1));
        Ok(BuiltModular { program, preset: self.preset.clone(), messages })
    }
}

/// A program on BGV, the name of its parameters, and where its messages come from.
pub(crate) struct BuiltModular {
    pub(crate) program: AnyModular,
    pub(crate) preset: String,
    messages: Source,
}

/// Where messages come from.
enum Source {
    /// A seed: made when they are asked for, for a plan of many asks for none.
    Seed(u64),
    /// The client's data.
    Values(Vec<Messages>),
}

impl BuiltModular {
    /// Messages for every input.
    pub(crate) fn messages(&self) -> Vec<Messages> {
        match &self.messages {
            Source::Seed(seed) => self.program.samples(*seed),
            Source::Values(messages) => messages.clone(),
        }
    }

    /// log₂ of its ring's degree.
    pub(crate) fn log_n(&self) -> u32 {
        self.program.params().rlwe().log_n()
    }
}

impl BgvMulArgs {
    pub(super) fn build(&self) -> anyhow::Result<BuiltModular> {
        let name = self.n.map_or_else(|| self.preset.clone(), |n| format!("dramatic-{n}"));
        let params = named(&name)?;
        let level = self.level(&params)?;
        let step = match self.step {
            StepName::Ntt => Step::Ntt,
            StepName::Multiply => Step::Multiply,
            StepName::Intt => Step::Intt,
            StepName::All => Step::All,
        };
        let program = AnyModular::Mul(BgvMul::new(&params, self.ciphertexts, level, step));
        Ok(BuiltModular { program, preset: name, messages: Source::Seed(self.data_seed) })
    }

    /// The level that has so many primes.
    fn level(&self, params: &BgvParams) -> Result<usize, Mistake> {
        let (rlwe, top) = (params.rlwe(), params.top_level());
        let Some(limbs) = self.limbs else { return Ok(top) };
        (0..=top).find(|&level| rlwe.limbs(level) == limbs).ok_or_else(|| {
            let counts: Vec<String> = (0..=top).map(|level| rlwe.limbs(level).to_string()).collect();
            Mistake(format!("--limbs {limbs}: the levels of this set have {} primes", counts.join(", ")))
        })
    }
}

/// A BGV preset by name, or a literal from a TOML file, checked.
///
/// # Errors
/// Names that do not exist, files that are no literal, literals that are refused.
pub(crate) fn named(name: &str) -> anyhow::Result<BgvParams> {
    let path = Path::new(name);
    if path.extension().is_some_and(|e| e == "toml") {
        return file(path);
    }
    Ok(preset(name)?)
}

/// A BGV literal from a TOML file, checked.
///
/// # Errors
/// As [`named`].
pub(crate) fn file(path: &Path) -> anyhow::Result<BgvParams> {
    let name = path.display();
    let literal: BgvLiteral = toml::from_str(&read_small(path)?).map_err(|e| {
        let next = "\"limbwise params show bgv-n13\" prints a file of the right form";
        Mistake(format!("{name}: not a BGV parameter set: {}\n({next})", e.to_string().trim_end()))
    })?;
    let refused = |e: ParamsError| match e {
        ParamsError::Insecure { .. } => Mistake(format!("{name}: {e} (in a file: [insecure] reason = \"...\")")),
        e => Mistake(format!("{name}: {e}")),
    };
    Ok(BgvParams::new(&literal).map_err(refused)?)
}
