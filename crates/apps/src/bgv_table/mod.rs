//! An exact product of an encrypted table and a matrix of whole numbers, and its columns summed.

use crate::{
    data::IntegerTable,
    modular::{Integers, Messages, Modular},
    program::{Details, Observer},
};
use limbwise::{
    Result,
    bgv::{Auto, BgvParams, Ciphertext},
};
use limbwise_device::{Device, Domain};
use serde_json::json;

/// Why a table cannot be computed on under some parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// More rows than slots.
    #[error(
        "the table has {got} rows, a ciphertext of this preset has {most} slots: give fewer rows, or a preset with a larger ring (limbwise params show)"
    )]
    Rows {
        /// Rows there are.
        got: usize,
        /// Slots.
        most: usize,
    },
    /// A matrix with other rows than the table has columns.
    #[error(
        "the matrix has {got} rows, the table {wanted} columns: give one row of the matrix for each column, in their order"
    )]
    Matrix {
        /// Rows of the matrix.
        got: usize,
        /// Columns of the table.
        wanted: usize,
    },
    /// An integer that would wrap round t.
    #[error(
        "{what} is {got}, and with t = {t} results from -{most} to {most} are exact: choose a preset with a larger plaintext modulus (bgv-n13-t30), or fewer or smaller numbers"
    )]
    Beyond {
        /// What it is.
        what: String,
        /// It.
        got: i128,
        /// The largest.
        most: i64,
        /// The plaintext modulus.
        t: u64,
    },
    /// The parameters have no keys.
    #[error("sums over rows need rotations, and this preset has no keys: choose one that has (limbwise params show)")]
    NoKeys,
}

/// Who knows the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Matrix {
    /// The server.
    Clear(Vec<Vec<i64>>),
    /// Nobody but the client: so many columns.
    Encrypted(usize),
}

/// The workload: what both sides know.
#[derive(Clone, Debug)]
pub struct BgvTable {
    params: BgvParams,
    rows: usize,
    columns: usize,
    matrix: Matrix,
    /// Names of the matrix's columns.
    names: Vec<String>,
}

impl BgvTable {
    /// A table times a matrix, which the server knows or the client encrypts; and the messages of the client: a column of
    /// the table in each, and every entry of the matrix in all slots of one.
    ///
    /// # Errors
    /// [`TableError`]: rows, shapes, and every number that would not be exact.
    pub fn new(
        params: &BgvParams,
        table: &IntegerTable,
        matrix: &IntegerTable,
        encrypted: Encrypted,
    ) -> Result<(Self, Vec<Messages>), TableError> {
        let (rows, columns) = (table.rows.len(), table.names.len());
        if !params.switches_keys() {
            return Err(TableError::NoKeys);
        }
        if rows > params.slots() {
            return Err(TableError::Rows { got: rows, most: params.slots() });
        }
        if matrix.rows.len() != columns {
            return Err(TableError::Matrix { got: matrix.rows.len(), wanted: columns });
        }
        exact(params, table, matrix)?;
        let column = |c: usize| table.rows.iter().map(|row| row[c]).collect::<Vec<i64>>();
        let mut messages = vec![(0..columns).map(column).collect::<Messages>()];
        let outputs = matrix.names.len();
        let server = match encrypted {
            Encrypted::No => Matrix::Clear(matrix.rows.clone()),
            Encrypted::Yes => {
                let entries = (0..outputs).flat_map(|k| matrix.rows.iter().map(move |row| row[k]));
                messages.push(entries.map(|entry| vec![entry; params.slots()]).collect());
                Matrix::Encrypted(outputs)
            }
        };
        let names = matrix.names.clone();
        Ok((Self { params: params.clone(), rows, columns, matrix: server, names }, messages))
    }
}

/// Whether the client keeps the matrix to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypted {
    /// The server knows it: no product of ciphertexts.
    No,
    /// It is encrypted.
    Yes,
}

/// Fails where a number, a product or a total would wrap round t.
fn exact(params: &BgvParams, table: &IntegerTable, matrix: &IntegerTable) -> Result<(), TableError> {
    let (most, t) = (params.most(), params.t().value());
    let fits = |what: String, got: i128| {
        if got.unsigned_abs() <= u128::from(most.unsigned_abs()) {
            Ok(())
        } else {
            Err(TableError::Beyond { what, got, most, t })
        }
    };
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

impl Modular for BgvTable {
    fn name(&self) -> &'static str {
        "bgv-table"
    }

    fn params(&self) -> &BgvParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Integers> {
        let level = self.params.top_level();
        let input = |name: &str, batch| Integers { name: name.into(), batch, level, domain: Domain::Eval };
        let mut inputs = vec![input("table", self.columns)];
        if let Matrix::Encrypted(outputs) = self.matrix {
            inputs.push(input("matrix", self.columns * outputs));
        }
        inputs
    }

    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        observer.step("product", 0, 1);
        let (eval, table) = (auto.eval, &inputs[0]);
        let product = |k: usize| match &self.matrix {
            Matrix::Clear(matrix) => {
                let term = |(c, row): (usize, &Vec<i64>)| eval.mul_scalar(&eval.split(table, c, c + 1), row[k]);
                let mut terms = matrix.iter().enumerate().map(term);
                let first = terms.next().expect("a table has a column")?;
                terms.try_fold(first, |sum, term| eval.add(&sum, &term?))
            }
            Matrix::Encrypted(_) => {
                let entries = eval.split(&inputs[1], k * self.columns, (k + 1) * self.columns);
                eval.batch_sum(&auto.mul(table, &entries)?)
            }
        };
        let products = (0..self.names.len()).map(product).collect::<Result<Vec<_>>>()?;
        let products = eval.stack(&products)?;
        observer.step("sums", 0, 1);
        let sums = auto.slot_sum(&products)?;
        Ok(vec![products, sums])
    }

    fn clear(&self, inputs: &[Messages]) -> Vec<Messages> {
        let t = self.params.t();
        let entry = |c: usize, k: usize| match &self.matrix {
            Matrix::Clear(matrix) => matrix[c][k],
            Matrix::Encrypted(_) => inputs[1][k * self.columns + c][0],
        };
        let column = |k: usize| -> Vec<i64> {
            let value =
                |i: usize| (0..self.columns).map(|c| i128::from(inputs[0][c][i]) * i128::from(entry(c, k))).sum();
            (0..self.rows).map(|i| t.centred(t.from_i128(value(i)))).collect()
        };
        let products: Messages = (0..self.names.len()).map(column).collect();
        let total = |values: &Vec<i64>| vec![t.centred(t.from_i128(values.iter().map(|&x| i128::from(x)).sum()))];
        let totals = products.iter().map(total).collect();
        vec![products, totals]
    }

    fn details(&self) -> Details {
        let encrypted = matches!(self.matrix, Matrix::Encrypted(_));
        let shape = [self.rows, self.columns, self.names.len()];
        let details =
            json!({ "rows": shape[0], "columns": shape[1], "outputs": shape[2], "encrypted_matrix": encrypted });
        details.as_object().cloned().unwrap_or_default()
    }

    fn tables(&self, results: &[Messages]) -> Vec<(String, Vec<i64>)> {
        let [products, sums] = results else { return Vec::new() };
        let named = |values: &Messages, what: &str, count: usize| -> Vec<(String, Vec<i64>)> {
            let list = |(name, values): (&String, &Vec<i64>)| {
                (format!("{what}{name}"), values.iter().take(count).copied().collect())
            };
            self.names.iter().zip(values).map(list).collect()
        };
        [named(sums, "total ", 1), named(products, "", self.rows)].concat()
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
