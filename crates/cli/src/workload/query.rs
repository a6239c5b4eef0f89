//! Options of `tpch-q6` and `query`: questions in SQL to encrypted tables.

use super::{between, logic, named_params};
use clap::Args;
use limbwise::bridge::{self, BridgeParams};
use limbwise_apps::query::{Domain, Query, Question, Statement, Table, load, question::MOST_ROWS, tpch};
use limbwise_math::finite;
use std::path::PathBuf;

fn rows(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_ROWS)
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = finite::parse(text).ok().filter(|scale| (0.001..=1000.0).contains(scale));
    scale.ok_or_else(|| "wanted a number from 0.001 to 1000".into())
}

/// Options of both.
#[derive(Debug, Args)]
struct Common {
    /// Only the first rows
    #[arg(long, value_name = "COUNT", value_parser = rows)]
    rows: Option<usize>,

    /// Parameters: a pair's name, or a CKKS set for bridges and a TFHE set, each a preset's name or a TOML file
    #[arg(long, value_name = "NAME|CKKS,TFHE", default_value = "flags-2-2", help_heading = "Parameters")]
    preset: String,
}

/// Options of `tpch-q6`.
#[derive(Debug, Args)]
pub(crate) struct TpchArgs {
    /// A lineitem table: .tbl, CSV with a header, or Parquet [default: the shipped 1024 rows, or made by the generator]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// Scale factor of the generator, where it makes the rows [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = scale, conflicts_with = "data")]
    scale: Option<f64>,

    #[command(flatten)]
    common: Common,
}

/// Options of `query`.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// The question
    #[arg(long, value_name = "TEXT")]
    sql: String,

    /// The table: CSV with a header, TPC-H's .tbl, or Parquet (uncompressed or with Snappy)
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// Values that a column may have, which both sides know [default: its least to its largest]; may be given again
    #[arg(long = "domain", value_name = "COLUMN=LOW..HIGH")]
    domains: Vec<Domain>,

    #[command(flatten)]
    common: Common,
}

/// A question, the name of its parameters, and the table.
pub(crate) struct BuiltQuery {
    pub(crate) program: Query,
    pub(crate) preset: String,
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "a server has no data"))]
    table: Table,
}

impl Common {
    fn build(&self, name: &'static str, sql: &str, table: Table, domains: &[Domain]) -> anyhow::Result<BuiltQuery> {
        let question = Question::new(&Statement::parse(sql)?, &table, domains)?;
        let program = Query::new(name, question, &named(&self.preset)?)?;
        Ok(BuiltQuery { program, preset: self.preset.clone(), table })
    }
}

impl TpchArgs {
    pub(super) fn build(&self) -> anyhow::Result<BuiltQuery> {
        let shipped = tpch::sample();
        let table = match (&self.data, self.scale, self.common.rows) {
            (Some(path), _, rows) => load(path, rows)?,
            (None, None, rows) if rows.is_none_or(|rows| rows <= shipped.rows) => {
                shipped.first(rows.unwrap_or(usize::MAX))
            }
            (None, scale, rows) => tpch::generated(scale.unwrap_or(1.0), rows.unwrap_or(shipped.rows)),
        };
        self.common.build("tpch-q6", tpch::QUERY_6, table, &tpch::domains())
    }
}

impl QueryArgs {
    pub(super) fn build(&self) -> anyhow::Result<BuiltQuery> {
        let statement = Statement::parse(&self.sql)?; // a mistake in the text is told before a long file is read
        self.common.build("query", &statement.text, load(&self.data, self.common.rows)?, &self.domains)
    }
}

impl BuiltQuery {
    /// log₂ of the degrees of both rings: CKKS's and TFHE's.
    pub(crate) fn log_n(&self) -> [u32; 2] {
        let params = self.program.params();
        [params.ckks().log_n(), params.tfhe().literal().log_n]
    }

    /// What the client encrypts, and what must come out.
    ///
    /// # Errors
    /// None that building did not have.
    #[cfg(feature = "client")]
    pub(crate) fn data(&self) -> anyhow::Result<limbwise_runtime::query::QueryData> {
        let question = self.program.question();
        Ok(limbwise_runtime::query::QueryData {
            rows: self.program.rows(&self.table)?,
            passing: question.passing(&self.table)?,
            answer: question.answer(&self.table)?,
        })
    }
}

/// A pair by its name, or of two sets.
///
/// # Errors
/// Names that do not exist, files that are no literal, sets that are refused or do not go together.
fn named(name: &str) -> anyhow::Result<BridgeParams> {
    Ok(match name.split_once(',') {
        None => bridge::preset(name)?,
        Some((ckks, tfhe)) => BridgeParams::new(&named_params(ckks)?, &logic::named(tfhe)?)?,
    })
}
