//! What the workloads of a scheme share: comparison of results with a clear twin.

use crate::{
    client::{Accuracy, Client, Conclusion},
    linear::data::generated,
    program::{Array, Details, Integers, Messages, Program, fields},
};
use limbwise::{
    bgv::{BgvParams, BgvReading, Modulus},
    ckks::Precision,
    scheme::{Bgv, Bridged, Ckks, Scheme, Tfhe},
    tfhe::TfheReading,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

/// A scheme that workloads are written in.
pub trait Family: Scheme {
    /// What a comparison of results with the clear twin's says.
    type Found: Clone + std::fmt::Debug;

    fn compared(found: &Self::Found) -> Details;
}

/// Slots are approximate: how near they come.
#[derive(Clone, Debug)]
pub struct SlotsFound {
    /// Results against the clear twin's.
    pub precision: Precision,
    pub accuracy: Option<Accuracy>,
}

impl Family for Ckks {
    type Found = SlotsFound;

    fn compared(found: &SlotsFound) -> Details {
        let SlotsFound { precision, accuracy } = found;
        fields(json!({ "precision_bits": { "mean": precision.mean, "min": precision.min }, "accuracy": accuracy }))
    }
}

/// Messages are exact: how many are wrong.
#[derive(Clone, Debug)]
pub struct MessagesFound {
    /// The clear twin's messages, result by result.
    pub wanted: Vec<Vec<u64>>,
    /// Messages that are not the clear twin's.
    pub wrong: usize,
}

impl Family for Tfhe {
    type Found = MessagesFound;

    fn compared(found: &MessagesFound) -> Details {
        let compared: usize = found.wanted.iter().map(Vec::len).sum();
        fields(json!({ "compared": compared, "wrong": found.wrong }))
    }
}

/// How results of BGV were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Checked {
    /// Decrypted, integer by integer.
    Integers,
    /// Not to be read: phases modulo every prime, value by value.
    Phases,
}

/// Integers are exact: how many are wrong.
#[derive(Clone, Debug)]
pub struct IntegersFound {
    pub checked: Checked,
    pub compared: usize,
    /// Numbers that are not the clear twin's.
    pub wrong: usize,
    /// Bits that the noise leaves free in the result that has fewest; absent where nothing was decrypted.
    pub budget_bits: Option<f64>,
    /// Results as people have them, where the workload says.
    pub tables: Vec<(String, Vec<i64>)>,
}

impl Family for Bgv {
    type Found = IntegersFound;

    fn compared(found: &IntegersFound) -> Details {
        fields(json!({ "compared": found.compared, "wrong": found.wrong, "budget_bits": found.budget_bits }))
    }
}

/// What a query's answer is, encrypted and in the clear.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// `null` is SQL's NULL: what is no count has no value of no rows.
    pub decrypted: Option<f64>,
    /// As the clear twin has it, every digit, or `NULL`.
    pub exact: String,
    /// Relative error of the one against the other; absolute where the answer is 0. Of NULL and a number 1.
    pub relative_error: f64,
}

/// SQL's word for no value.
pub const NULL: &str = "NULL";

impl Compared {
    /// Two numbers, of which one may be none; the exact one as text and near it.
    #[must_use]
    pub fn of(decrypted: Option<f64>, exact: Option<(String, f64)>) -> Self {
        let relative_error = match (decrypted, &exact) {
            (Some(got), Some((_, wanted))) => (got - wanted).abs() / if *wanted == 0.0 { 1.0 } else { wanted.abs() },
            (None, None) => 0.0,
            _ => 1.0,
        };
        Self { decrypted, exact: exact.map_or_else(|| NULL.into(), |(text, _)| text), relative_error }
    }

    /// The decrypted number as text, to so many digits behind the point.
    #[must_use]
    pub fn shown(&self, digits: usize) -> String {
        self.decrypted.map_or_else(|| NULL.into(), |decrypted| format!("{decrypted:.digits$}"))
    }
}

/// A place in a query's answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// A value of a column that is grouped by.
    Key(String),
    Number(Compared),
    /// SQL's NULL: a quotient by zero, and of no rows all but a count.
    Null(()),
}

/// A query's answer as rows.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct AnswerTable {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl AnswerTable {
    /// The number that is off most, of itself; without a number NULL, and 0 in an answer without rows.
    #[must_use]
    pub fn worst(&self) -> Compared {
        let numbers = self.rows.iter().flatten().filter_map(|cell| match cell {
            Cell::Number(compared) => Some(compared),
            Cell::Key(_) | Cell::Null(()) => None,
        });
        let worst = numbers.max_by(|a, b| a.relative_error.total_cmp(&b.relative_error)).cloned();
        let null = || self.rows.iter().flatten().any(|cell| matches!(cell, Cell::Null(())));
        let none = || if null() { Compared::of(None, None) } else { Compared::of(Some(0.0), Some(("0".into(), 0.0))) };
        worst.unwrap_or_else(none)
    }
}

/// A decrypted table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DecryptedTable {
    pub columns: Vec<String>,
    /// Numbers, texts and null.
    pub rows: Vec<Vec<serde_json::Value>>,
}

#[derive(Clone, Debug)]
pub struct AnswerFound {
    /// The answer; of a table, the number in it that is off most.
    pub answer: Compared,
    /// The answer as rows, where it is more than one sum.
    pub table: Option<AnswerTable>,
    pub rows_passing: usize,
    /// Flags of rows that were decided otherwise than by the clear twin.
    pub wrong: usize,
    pub rows: usize,
    /// Flags that were compared: one a row for every group and CASE.
    pub compared: usize,
    /// Largest error of a bit that a row was multiplied with.
    pub largest_bit_error: f64,
}

impl Family for Bridged {
    type Found = AnswerFound;

    fn compared(found: &AnswerFound) -> Details {
        let AnswerFound { answer, table, rows_passing, wrong, compared, largest_bit_error, .. } = found;
        let mut all = fields(json!({
            "compared": compared, "wrong": wrong, "rows_passing": rows_passing, "answer": answer,
            "largest_bit_error": largest_bit_error,
        }));
        if let Some(table) = table {
            all.insert("table".into(), json!(table));
        }
        all
    }
}

/// A program whose results are exact functions of clear values: its clear twin.
pub trait Twin: Program {
    /// The same on clear values; of BGV, slots that a result does not say are left out.
    fn clear(&self, inputs: &[<Self::Scheme as Scheme>::Values]) -> Vec<<Self::Scheme as Scheme>::Values>;

    /// What results mean beside what the clear twin gives, for the report of a run.
    fn conclude(
        &self,
        _clear: &[<Self::Scheme as Scheme>::Values],
        _found: &[<Self::Scheme as Scheme>::Values],
    ) -> Details {
        Details::new()
    }

    /// Of BGV: decrypted results as people have them, named lists of integers.
    fn tables(&self, _results: &[<Self::Scheme as Scheme>::Values]) -> Vec<(String, Vec<i64>)> {
        Vec::new()
    }

    /// BGV: the phases of the results modulo a prime, value by value, from those of the inputs. For a program of
    /// products and sums whose results need not be decryptable.
    fn phases(&self, _q: Modulus, _inputs: &[Vec<u64>]) -> Option<Vec<Vec<u64>>> {
        None
    }
}

/// The client's side of an exact program: its values, and the clear twin.
#[derive(Clone, Debug)]
pub struct Exact<P: Program> {
    program: P,
    values: Source<P>,
}

type Values<P> = Vec<<<P as Program>::Scheme as Scheme>::Values>;

#[derive(Clone, Debug)]
enum Source<P: Program> {
    Values(Values<P>),
    /// A seed: made when they are asked for, because a plan of many asks for none.
    Seed(u64, fn(&P, u64) -> Values<P>),
}

impl<P: Twin> Exact<P> {
    /// Of a program and values for every input.
    pub fn new(program: P, values: Values<P>) -> Self {
        Self { program, values: Source::Values(values) }
    }

    /// Of a program and values that are made from a seed when they are asked for.
    #[must_use]
    pub fn seeded(program: P, seed: u64, make: fn(&P, u64) -> Values<P>) -> Self {
        Self { program, values: Source::Seed(seed, make) }
    }

    fn all(&self) -> Values<P> {
        match &self.values {
            Source::Values(values) => values.clone(),
            Source::Seed(seed, make) => make(&self.program, *seed),
        }
    }
}

/// A scheme whose results are exact, so that a clear twin says all there is to say of them.
pub trait ExactFamily: Family {
    /// Compares results with the clear twin's.
    fn conclude<P: Twin<Scheme = Self>>(exact: &Exact<P>, results: &Self::Reading) -> Conclusion<Self>;
}

impl<P: Twin<Scheme: ExactFamily>> Client for Exact<P> {
    type Scheme = P::Scheme;

    fn values(&self, input: usize) -> <P::Scheme as Scheme>::Values {
        self.all().swap_remove(input)
    }

    fn conclude(&self, results: &<P::Scheme as Scheme>::Reading) -> Conclusion<P::Scheme> {
        P::Scheme::conclude(self, results)
    }
}

impl ExactFamily for Tfhe {
    fn conclude<P: Twin<Scheme = Self>>(exact: &Exact<P>, results: &Vec<TfheReading>) -> Conclusion<Self> {
        let wanted = exact.program.clear(&exact.all());
        let found: Vec<Vec<u64>> = results.iter().map(|result| result.messages.clone()).collect();
        let wrong = differences(found.iter().flatten(), wanted.iter().flatten());
        let details = exact.program.conclude(&wanted, &found);
        Conclusion { found: MessagesFound { wanted, wrong }, details, warnings: Vec::new() }
    }
}

impl ExactFamily for Bgv {
    fn conclude<P: Twin<Scheme = Self>>(exact: &Exact<P>, results: &BgvReading) -> Conclusion<Self> {
        let found = match results {
            BgvReading::Integers { messages, budget_bits } => exact.integers(messages, *budget_bits),
            BgvReading::Phases { level, inputs, results } => exact.phases(*level, inputs, results),
        };
        Conclusion { found, details: Details::new(), warnings: Vec::new() }
    }
}

impl<P: Twin<Scheme = Bgv>> Exact<P> {
    fn integers(&self, messages: &[Vec<Vec<i64>>], budget_bits: f64) -> IntegersFound {
        let (mut compared, mut wrong) = (0, 0);
        for (found, wanted) in messages.iter().zip(self.program.clear(&self.all())) {
            for (found, wanted) in found.iter().zip(&wanted) {
                compared += wanted.len();
                wrong += differences(found, wanted);
            }
        }
        let budget_bits = Some(budget_bits);
        IntegersFound {
            checked: Checked::Integers,
            compared,
            wrong,
            budget_bits,
            tables: self.program.tables(messages),
        }
    }

    /// Compares modulo every prime; a program that does not say what phases should be counts all of them as wrong.
    fn phases(&self, level: usize, inputs: &[Vec<u64>], results: &[Vec<u64>]) -> IntegersFound {
        let (rlwe, n) = (self.program.params().rlwe(), self.program.params().slots());
        let moduli = rlwe.ring().moduli_of(rlwe.basis(level));
        let rows = |words: &[Vec<u64>], limb: usize| -> Vec<Vec<u64>> {
            let limbs =
                |words: &Vec<u64>| words.chunks_exact(n).skip(limb).step_by(moduli.len()).flatten().copied().collect();
            words.iter().map(limbs).collect()
        };
        let (mut compared, mut wrong) = (0, 0);
        for (limb, &q) in moduli.iter().enumerate() {
            let found = rows(results, limb);
            let wanted = self.program.phases(q, &rows(inputs, limb)).unwrap_or_default();
            compared += found.iter().map(Vec::len).sum::<usize>();
            wrong += match wanted.len() == found.len() {
                true => differences(found.iter().flatten(), wanted.iter().flatten()),
                false => found.iter().map(Vec::len).sum(),
            };
        }
        IntegersFound { checked: Checked::Phases, compared, wrong, budget_bits: None, tables: Vec::new() }
    }
}

fn differences<T: PartialEq>(found: impl IntoIterator<Item = T>, wanted: impl IntoIterator<Item = T>) -> usize {
    found.into_iter().zip(wanted).filter(|(got, wanted)| got != wanted).count()
}

/// Messages to try a program on, uniform, from a seed.
pub fn message_samples(inputs: &[Messages], seed: u64) -> Vec<Vec<u64>> {
    message_samples_from(inputs, seed, 0)
}

/// The same without the first `skip` of each input.
pub fn message_samples_from(inputs: &[Messages], seed: u64, skip: usize) -> Vec<Vec<u64>> {
    let message = |most: u64, x: &f64| {
        let levels = most + 1;
        (0..levels).find(|&m| (x + 1.0) / 2.0 * levels as f64 <= (m + 1) as f64).unwrap_or(most)
    };
    let input = |(i, input): (u64, &Messages)| {
        let all = generated(seed, i, skip + input.batch, 1.0);
        all[skip..].iter().map(|x| message(input.most, x)).collect()
    };
    (0..).zip(inputs).map(input).collect()
}

/// Integers to try a program on, uniform modulo t, from a seed: the slots of each message of each input.
pub fn integer_samples(inputs: &[Integers], params: &BgvParams, seed: u64) -> Vec<Vec<Vec<i64>>> {
    integer_samples_from(inputs, params, (seed, 0))
}

/// The same without the first `skip` messages of each input.
pub fn integer_samples_from(inputs: &[Integers], params: &BgvParams, (seed, skip): (u64, usize)) -> Vec<Vec<Vec<i64>>> {
    let (slots, most) = (params.slots(), params.most() as f64);
    #[expect(clippy::cast_possible_truncation, reason = "at most (t - 1)/2 in magnitude")]
    let integer = |x: &f64| (x * most).round() as i64;
    let input = |(i, input): (u64, &Integers)| {
        let all = generated(seed, i, (skip + input.batch) * slots, 1.0);
        all[skip * slots..].chunks_exact(slots).map(|message| message.iter().map(integer).collect()).collect()
    };
    (0..).zip(inputs).map(input).collect()
}

/// Results of TFHE as people have them, each under its name.
pub fn message_arrays(names: impl IntoIterator<Item = String>, results: &[TfheReading]) -> Vec<Array> {
    let array = |(name, result): (String, &TfheReading)| {
        let messages = result.messages.iter().map(|message| message.cast_signed());
        Array::whole(name, vec![result.messages.len()], messages)
    };
    names.into_iter().zip(results).map(array).collect()
}

/// Results of BGV as people have them: all slots of each message.
pub fn integer_arrays(names: impl IntoIterator<Item = String>, results: &BgvReading) -> Vec<Array> {
    let BgvReading::Integers { messages, .. } = results else { return Vec::new() };
    let array = |(name, result): (String, &Vec<Vec<i64>>)| {
        let shape = vec![result.len(), result.first().map_or(0, Vec::len)];
        Array::whole(name, shape, result.iter().flatten().copied())
    };
    names.into_iter().zip(messages).map(array).collect()
}
