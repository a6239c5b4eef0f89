//! Options of `bgv-table`.

use super::{BgvTable, Described, Encrypted};
use crate::{
    data::{IntegerTable, load_integers, shop},
    family::Exact,
    linear::layer::Model,
    options::{KEYS, absolute, choice, mistake, named_bgv, one, ways_of_keys},
    program::Program as _,
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{bgv::BgvParams, rlwe::KeyForm, scheme::Bgv};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Source of table and matrix.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableData {
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
}

/// Exact product of an integer table with a matrix, and column sums (BGV)
///
/// The client encrypts the columns of a table; the server multiplies it with a matrix that it knows, or that is encrypted
/// too, and sums each column of the product over all rows. Results are exact integers, compared with the clear twin; what
/// would wrap round the plaintext modulus is refused before anything is encrypted.
///
/// Examples:
///   bgv-table                                                 the shipped sales times prices and weights
///   bgv-table --encrypted-matrix                              prices encrypted as well
///   bgv-table --data sales.csv --columns apples,bread --matrix two_prices.csv
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct BgvTableArgs {
    #[command(flatten)]
    data: TableData,

    /// Storage of evaluation keys [default: stored, or the fastest that fits --memory]
    #[arg(long, value_parser = choice(KEYS), value_name = "HOW", help_heading = "Parameters")]
    keys: Option<KeyForm>,

    /// Parameters: a BGV preset's name ("limbwise params show") or a TOML file
    /// [default: bgv-n13-t30]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "bgv-n13-t30";

impl TableData {
    /// The program and its messages, from the given file if there is one.
    fn sides(&self, params: &BgvParams, files: &[PathBuf]) -> Refusable<(BgvTable, Vec<Vec<Vec<i64>>>)> {
        let [sales, prices] = shop();
        let read = |file: Option<&Path>, shipped: IntegerTable| match file {
            Some(file) => load_integers(file).map_err(|e| mistake(e.to_string())),
            None => Ok(shipped),
        };
        let data = one(files)?.or(self.data.as_deref());
        let (mut table, matrix) = (read(data, sales)?, read(self.matrix.as_deref(), prices)?);
        if !self.columns.is_empty() {
            let path = data.unwrap_or(Path::new("shop_sales.csv"));
            table = table.columns(path, &self.columns).map_err(|e| mistake(e.to_string()))?;
        }
        let encrypted = if self.encrypted_matrix { Encrypted::Yes } else { Encrypted::No };
        Ok(BgvTable::new(params, &table, &matrix, encrypted)?)
    }
}

impl Workload for BgvTableArgs {
    type Scheme = Bgv;
    type Program = BgvTable;
    type Client = Exact<BgvTable>;
    type Described = Described;
    type Data = TableData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let (program, messages) = self.data.sides(&named_bgv(preset)?, &[])?;
        Ok(Built {
            described: program.described().clone(),
            client: Some(Exact::new(program.clone(), messages)),
            program,
            preset: preset.into(),
            ways: ways_of_keys(self.keys, memory),
            smaller: "fewer columns, or leave open what --keys fixes",
        })
    }

    fn data(&self) -> TableData {
        let TableData { data, matrix, .. } = &self.data;
        TableData { data: absolute(data.as_ref()), matrix: absolute(matrix.as_ref()), ..self.data.clone() }
    }

    fn program(of: &Described, (params, _): Named<'_, Bgv>, _: Option<&Model>) -> Refusable<BgvTable> {
        Ok(BgvTable::of(params, of.clone())?)
    }

    fn client(data: &TableData, of: &Described, program: &BgvTable, files: &[PathBuf]) -> Refusable<Exact<BgvTable>> {
        let (own, messages) = data.sides(program.params(), files)?;
        if own.described() != of {
            let text = "the data have other rows, columns or another matrix than the program; make keys for them (limbwise keygen)";
            return Err(mistake(text));
        }
        Ok(Exact::new(own, messages))
    }
}
