//! Exact product of an encrypted table and a matrix of whole numbers, with column sums.

use crate::{
    data::IntegerTable,
    family::Twin,
    program::{Array, Details, Encryption, Evaluation, Integers, Program, State, fields},
};
use limbwise::{
    Result,
    bgv::{BgvParams, BgvReading, Ciphertext},
    scheme::Bgv,
};
use limbwise_device::{Device, Domain};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub mod options;

/// The messages of a ciphertext: slots of each.
type Messages = Vec<Vec<i64>>;

/// Why a table does not fit the parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    #[error(
        "the table has {got} rows, a ciphertext of this preset has {most} slots: give fewer rows, or a preset with a larger ring (limbwise params show)"
    )]
    Rows { got: usize, most: usize },
    #[error(
        "the matrix has {got} rows, the table {wanted} columns: give one row of the matrix for each column, in their order"
    )]
    Matrix { got: usize, wanted: usize },
    #[error("{what} has {got} columns: choose 1 to {most}")]
    Columns { what: &'static str, got: usize, most: usize },
    #[error("a row of the matrix has {got} numbers, its columns have {wanted} names: give a number for each")]
    Shape { got: usize, wanted: usize },
    #[error(
        "{what} is {got}, and with t = {t} results from -{most} to {most} are exact: choose a preset with a larger plaintext modulus (bgv-n13-t30), or fewer or smaller numbers"
    )]
    Beyond { what: String, got: i128, most: i64, t: u64 },
    #[error("sums over rows need rotations, and this preset has no keys: choose one that has (limbwise params show)")]
    NoKeys,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matrix {
    /// Known to both sides: one row per column of the table.
    Clear(Vec<Vec<i64>>),
    /// Known to the client alone; the other side knows only this number of columns.
    Encrypted(usize),
}

/// Public metadata of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub rows: usize,
    pub columns: usize,
    /// Names of the matrix's columns.
    pub names: Vec<String>,
    pub matrix: Matrix,
}

/// The workload: public metadata.
#[derive(Clone, Debug)]
pub struct BgvTable {
    params: BgvParams,
    described: Described,
}

/// Most columns of a table or a matrix. Each column is one ciphertext of a batch.
const MOST_COLUMNS: usize = 1 << 12;

impl BgvTable {
    /// The program of a description, which may be hostile.
    ///
    /// # Errors
    /// [`TableError`] for rows, shapes or matrix entries that cannot give exact results.
    pub fn of(params: &BgvParams, described: Described) -> Result<Self, TableError> {
        let Described { rows, columns, ref names, ref matrix } = described;
        if !params.switches_keys() {
            return Err(TableError::NoKeys);
        }
        if !(1..=params.slots()).contains(&rows) {
            return Err(TableError::Rows { got: rows, most: params.slots() });
        }
        for (what, got) in [("the table", columns), ("the matrix", names.len())] {
            if !(1..=MOST_COLUMNS).contains(&got) {
                return Err(TableError::Columns { what, got, most: MOST_COLUMNS });
            }
        }
        match matrix {
            Matrix::Encrypted(outputs) if *outputs != names.len() => {
                return Err(TableError::Shape { got: *outputs, wanted: names.len() });
            }
            Matrix::Encrypted(_) => {}
            Matrix::Clear(matrix) => {
                if matrix.len() != columns {
                    return Err(TableError::Matrix { got: matrix.len(), wanted: columns });
                }
                for row in matrix {
                    if row.len() != names.len() {
                        return Err(TableError::Shape { got: row.len(), wanted: names.len() });
                    }
                    row.iter().try_for_each(|&x| fits(params, "a number of the matrix", x.into()))?;
                }
            }
        }
        Ok(Self { params: params.clone(), described })
    }

    /// The program of a table times a matrix that is public or encrypted by the client, and the client's messages: one
    /// per table column, and one per matrix entry, repeated in all slots.
    ///
    /// # Errors
    /// [`TableError`] for rows, shapes, and numbers that cannot give exact results.
    pub fn new(
        params: &BgvParams,
        table: &IntegerTable,
        matrix: &IntegerTable,
        encrypted: Encrypted,
    ) -> Result<(Self, Vec<Messages>), TableError> {
        let (rows, columns, names) = (table.rows.len(), table.names.len(), matrix.names.clone());
        if matrix.rows.len() != columns {
            return Err(TableError::Matrix { got: matrix.rows.len(), wanted: columns });
        }
        let known = match encrypted {
            Encrypted::No => Matrix::Clear(matrix.rows.clone()),
            Encrypted::Yes => Matrix::Encrypted(names.len()),
        };
        if rows <= params.slots() && params.switches_keys() {
            exact(params, table, matrix)?;
        }
        let program = Self::of(params, Described { rows, columns, names, matrix: known })?;
        let column = |c: usize| table.rows.iter().map(|row| row[c]).collect::<Vec<i64>>();
        let mut messages = vec![(0..columns).map(column).collect::<Messages>()];
        if encrypted == Encrypted::Yes {
            let outputs = program.described.names.len();
            let entries = (0..outputs).flat_map(|k| matrix.rows.iter().map(move |row| row[k]));
            messages.push(entries.map(|entry| vec![entry; params.slots()]).collect());
        }
        Ok((program, messages))
    }

    /// Public metadata of the program.
    pub fn described(&self) -> &Described {
        &self.described
    }
}

/// Whether the client hides the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypted {
    /// Known to the server: no product of ciphertexts.
    No,
    Yes,
}

/// Fails for a number that would wrap around t.
fn fits(params: &BgvParams, what: &str, got: i128) -> Result<(), TableError> {
    let (most, t) = (params.most(), params.t().value());
    if got.unsigned_abs() <= u128::from(most.unsigned_abs()) {
        return Ok(());
    }
    Err(TableError::Beyond { what: what.into(), got, most, t })
}

/// Fails if a number, a product or a total would wrap around t.
fn exact(params: &BgvParams, table: &IntegerTable, matrix: &IntegerTable) -> Result<(), TableError> {
    let fits = |what: String, got: i128| fits(params, &what, got);
    for (i, row) in table.rows.iter().enumerate() {
        for (&value, name) in row.iter().zip(&table.names) {
            fits(format!("row {} of {name}", i + 1), value.into())?;
        }
    }
    for (k, name) in matrix.names.iter().enumerate() {
        let mut total = 0i128;
        for (i, row) in table.rows.iter().enumerate() {
            let value = row.iter().zip(&matrix.rows).map(|(&x, m)| i128::from(x) * i128::from(m[k])).sum();
            fits(format!("{name} of row {}", i + 1), value)?;
            total += value;
        }
        fits(format!("the total of {name}"), total)?;
        matrix.rows.iter().zip(&table.names).try_for_each(|(m, c)| fits(format!("{name} of {c}"), m[k].into()))?;
    }
    Ok(())
}

impl Program for BgvTable {
    type Scheme = Bgv;

    fn name(&self) -> &'static str {
        "bgv-table"
    }

    fn params(&self) -> &BgvParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Integers> {
        let level = self.params.top_level();
        let input = |name: &str, batch| Integers { name: name.into(), batch, level, domain: Domain::Eval, modulus: 0 };
        let mut inputs = vec![input("table", self.described.columns)];
        if let Matrix::Encrypted(outputs) = self.described.matrix {
            inputs.push(input("matrix", self.described.columns * outputs));
        }
        inputs
    }

    fn model(&self) {}

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn results(&self) -> usize {
        2
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Bgv>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: auto, inputs, observer, journal } = on;
        let (eval, table) = (auto.eval, &inputs[0]);
        let product = |k: usize| match &self.described.matrix {
            Matrix::Clear(matrix) => {
                let term = |(c, row): (usize, &Vec<i64>)| eval.mul_scalar(&eval.split(table, c, c + 1), row[k]);
                let mut terms = matrix.iter().enumerate().map(term);
                let first = terms.next().expect("a table has a column")?;
                terms.try_fold(first, |sum, term| eval.add(&sum, &term?))
            }
            Matrix::Encrypted(_) => {
                let entries = eval.split(&inputs[1], k * self.described.columns, (k + 1) * self.described.columns);
                eval.batch_sum(&auto.mul(table, &entries)?)
            }
        };
        let mut state = match journal.resume()? {
            Some(state) if state.step == 1 && state.ciphertexts.len() == 1 => state,
            Some(_) => return Err(limbwise::Error::State),
            None => {
                observer.step("product", 0, 1);
                let products = (0..self.described.names.len()).map(product).collect::<Result<Vec<_>>>()?;
                let state = State { step: 1, ciphertexts: vec![eval.stack(&products)?], numbers: Vec::new() };
                journal.keep(&state)?;
                state
            }
        };
        observer.step("sums", 0, 1);
        state.ciphertexts.push(auto.slot_sum(&state.ciphertexts[0])?);
        Ok(state.ciphertexts)
    }

    /// The products of all rows, and the total of each column.
    fn arrays(&self, results: &BgvReading) -> Vec<Array> {
        let BgvReading::Integers { messages, .. } = results else { return Vec::new() };
        let [products, sums] = &messages[..] else { return Vec::new() };
        let cells = (0..self.described.rows).flat_map(|row| products.iter().map(move |column| column[row]));
        let totals = sums.iter().map(|column| column[0]);
        vec![
            Array::whole("products", vec![self.described.rows, products.len()], cells),
            Array::whole("totals", vec![sums.len()], totals),
        ]
    }

    fn details(&self) -> Details {
        let encrypted = matches!(self.described.matrix, Matrix::Encrypted(_));
        let shape = [self.described.rows, self.described.columns, self.described.names.len()];
        fields(json!({ "rows": shape[0], "columns": shape[1], "outputs": shape[2], "encrypted_matrix": encrypted }))
    }
}

impl Twin for BgvTable {
    fn clear(&self, inputs: &[Messages]) -> Vec<Messages> {
        let t = self.params.t();
        let entry = |c: usize, k: usize| match &self.described.matrix {
            Matrix::Clear(matrix) => matrix[c][k],
            Matrix::Encrypted(_) => inputs[1][k * self.described.columns + c][0],
        };
        let column = |k: usize| -> Vec<i64> {
            let value = |i: usize| {
                (0..self.described.columns).map(|c| i128::from(inputs[0][c][i]) * i128::from(entry(c, k))).sum()
            };
            (0..self.described.rows).map(|i| t.centered(t.from_i128(value(i)))).collect()
        };
        let products: Messages = (0..self.described.names.len()).map(column).collect();
        let total = |values: &Vec<i64>| vec![t.centered(t.from_i128(values.iter().map(|&x| i128::from(x)).sum()))];
        let totals = products.iter().map(total).collect();
        vec![products, totals]
    }

    fn tables(&self, results: &[Messages]) -> Vec<(String, Vec<i64>)> {
        let [products, sums] = results else { return Vec::new() };
        let named = |values: &Messages, what: &str, count: usize| -> Vec<(String, Vec<i64>)> {
            let list = |(name, values): (&String, &Vec<i64>)| {
                (format!("{what}{name}"), values.iter().take(count).copied().collect())
            };
            self.described.names.iter().zip(values).map(list).collect()
        };
        [named(sums, "total ", 1), named(products, "", self.described.rows)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::shop;
    use limbwise::bgv::preset;

    #[test]
    fn what_would_not_be_exact_is_refused_with_what_to_do() {
        let [sales, prices] = shop();
        let told = |params: &str, table: &IntegerTable, matrix: &IntegerTable| {
            BgvTable::new(&preset(params).unwrap(), table, matrix, Encrypted::No).unwrap_err().to_string()
        };
        let wraps = told("bgv-n13", &sales, &prices);
        assert!(wraps.contains("price_cents of row 1 is") && wraps.contains("(bgv-n13-t30)"), "{wraps}");
        assert!(told("dramatic-4096", &sales, &prices).contains("no keys"));
        let mut long = sales.clone();
        long.rows = vec![vec![1, 1, 1, 1]; 8193];
        assert!(told("bgv-n13-t30", &long, &prices).starts_with("the table has 8193 rows, a ciphertext"));
        assert!(told("bgv-n13-t30", &prices, &prices).starts_with("the matrix has 4 rows, the table 2 columns"));
        let mut large = sales;
        large.rows[2][1] = 1 << 40;
        assert!(told("bgv-n13-t30", &large, &prices).starts_with("row 3 of bread is 1099511627776"));
    }
}
