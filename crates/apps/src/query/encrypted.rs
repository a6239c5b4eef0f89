//! The encrypted program: comparisons in TFHE, bits to slots over the bridge, products and the sum in CKKS.
//!
//! A row is encrypted twice: its compared columns as digits, its summed columns as slots. All rows form one batch.

use super::{
    error::QueryError,
    field::{Field, values},
    filter::Filter,
    question::{Question, Term},
    table::Table,
};
use crate::program::{
    Array, Details, Evaluation, Journal, Messages, Numbers, Program, SlotsInput, State, Tfhe, fields,
};
use limbwise::{
    Complex64, Result,
    bridge::{BridgeError, BridgeParams, BridgePlan},
    ckks::{Ciphertext, Estimate, Packing, Promise},
    scheme::{Bridged, BridgedCiphertext, BridgedEstimate, BridgedInput, BridgedMeans, BridgedValues},
};
use limbwise_device::Device;
use serde::Serialize;
use serde_json::json;

/// Postprocessing of the bits before the product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bits {
    /// None: the bits cross the bridge as flags, whose noise the bridge's sine flattens.
    AsConverted,
    /// 3x² − 2x³, which squares the errors of the bits and takes two levels; used if these levels are available.
    #[default]
    Cleaned,
}

impl Bits {
    fn levels(self) -> usize {
        match self {
            Self::AsConverted => 0,
            Self::Cleaned => 2,
        }
    }
}

/// A query with its parameters: public metadata.
#[derive(Clone, Debug)]
pub struct Query {
    name: &'static str,
    question: Question,
    filter: Filter,
    params: BridgeParams,
    plan: BridgePlan,
    bits: Bits,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Digits of the compared columns, most significant first: one list of messages each.
    pub digits: Vec<Vec<u64>>,
    /// The summed columns: one slot per row, each in units of its bound.
    pub columns: Vec<Vec<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SumPrecision {
    /// Standard deviation of a bit that a row is multiplied by.
    pub bit_error: f64,
    /// Whether 3x² − 2x³ was applied to the bits.
    pub cleaned: bool,
    /// Expected number of passing rows if each column were uniform over its domain, because the data are secret.
    pub rows_expected: f64,
    /// Relative standard deviation of the sum from CKKS arithmetic, including encryption of the columns.
    pub arithmetic_error: f64,
    /// rows · bit error / passing rows, plus the arithmetic error. The first term is the error of the sum if all bits
    /// err to one side.
    pub sum_relative_error: f64,
}

/// What the server is told of an encrypted column, beside the query and the number of rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    pub column: String,
    /// Its domain in words: the least and the largest value, or the texts.
    pub values: String,
}

impl Told {
    fn of(field: &Field) -> Self {
        let [low, high] = [field.low, field.high].map(|end| field.show(end));
        let values = match field.categories.len() {
            0 => format!("{low} to {high}"),
            1..=8 => field.categories.join(", "),
            count => format!("{count} texts from {low} to {high}"),
        };
        Self { column: field.name.clone(), values }
    }
}

impl SumPrecision {
    fn of(program: &Query, [bits, sum]: [Estimate; 2]) -> Self {
        let question = program.question();
        let rows = question.rows as f64;
        let rows_expected = rows * question.condition.share(&question.compared);
        let bit_error = bits.error();
        let arithmetic_error = sum.error() / (rows_expected * program.mean()).max(f64::MIN_POSITIVE);
        let sum_relative_error = rows * bit_error / rows_expected + arithmetic_error;
        let cleaned = program.bits() == Bits::Cleaned;
        Self { bit_error, cleaned, rows_expected, arithmetic_error, sum_relative_error }
    }
}

/// The filter's journal: wraps the filter's states, which hold messages only, in states of the program.
struct Filtering<'j, D: Device>(&'j mut dyn Journal<D, Bridged>);

impl<D: Device> Journal<D, Tfhe> for Filtering<'_, D> {
    fn resume(&mut self) -> Result<Option<State<D, Tfhe>>> {
        let Some(State { step, ciphertexts, numbers }) = self.0.resume()? else { return Ok(None) };
        let messages = |ciphertext| match ciphertext {
            BridgedCiphertext::Messages(messages) => Ok(messages),
            BridgedCiphertext::Slots(_) => Err(limbwise::Error::State),
        };
        let ciphertexts = ciphertexts.into_iter().map(messages).collect::<Result<_>>()?;
        Ok(Some(State { step, ciphertexts, numbers }))
    }

    fn keep(&mut self, state: &State<D, Tfhe>) -> Result<()> {
        let ciphertexts = state.ciphertexts.iter().cloned().map(BridgedCiphertext::Messages).collect();
        self.0.keep(&State { step: state.step, ciphertexts, numbers: state.numbers.clone() })
    }
}

impl Query {
    /// A program for a query.
    ///
    /// # Errors
    /// More rows than slots, a message space that is too small, or too few levels after the bridge.
    pub fn new(name: &'static str, question: Question, params: &BridgeParams) -> Result<Self, QueryError> {
        let (most, left) = (params.ckks().max_slots(), params.ckks().user_level());
        if question.rows > most {
            return Err(QueryError::Rows { rows: question.rows, most });
        }
        let filter = Filter::new(&question, params.tfhe())?;
        // The product of the columns is computed while the bits are cleaned.
        let product = question.terms.len();
        let levels = |bits: Bits| bits.levels().max(product.saturating_sub(1)) + product.min(1);
        let bits = if levels(Bits::Cleaned) <= left { Bits::Cleaned } else { Bits::AsConverted };
        let levels = levels(bits);
        if levels > left {
            return Err(limbwise::Error::from(BridgeError::Levels { wanted: levels, left }).into());
        }
        let plan = BridgePlan { levels, ..BridgePlan::fastest(question.rows.next_power_of_two()) };
        Ok(Self { name, question, filter, params: params.clone(), plan, bits })
    }

    pub fn bits(&self) -> Bits {
        self.bits
    }

    pub fn question(&self) -> &Question {
        &self.question
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn bridge(&self) -> BridgePlan {
        self.plan
    }

    /// The TFHE inputs: largest message of each.
    pub fn digits(&self) -> Vec<u64> {
        self.filter.largest()
    }

    pub fn columns(&self) -> Vec<SlotsInput> {
        let ckks = self.params.ckks();
        // The exact level at which the product of the columns meets the bits.
        let above = self.question.terms.len().saturating_sub(1);
        let level = ckks.user_level().min(ckks.user_level() - self.bits.levels() + above);
        let packing = Packing { slots: self.plan.slots, level, scale: ckks.scale(level) };
        let input = |term: &Term| SlotsInput {
            name: term.field.name.clone(),
            batch: 1,
            packing,
            bounds: Promise { magnitude: 1.0, peak: 1.0, real: true },
        };
        self.question.terms.iter().map(input).collect()
    }

    /// Weight of one unit of the sum, in units of the answer's last digit.
    pub fn unit(&self) -> f64 {
        self.question.terms.iter().map(|t| t.bound() as f64).product()
    }

    /// Expected contribution of a row, in [`Self::unit`], if each column were uniform over its domain.
    pub fn mean(&self) -> f64 {
        let ends = |t: &Term| [t.field.low, t.field.high].map(|cell| t.value(cell) as f64 / t.bound() as f64);
        self.question.terms.iter().map(|t| ends(t).iter().sum::<f64>().abs() / 2.0).product()
    }

    pub fn rows(&self, table: &Table) -> Result<Rows, QueryError> {
        let compared =
            self.question.compared.iter().map(|field| values(field, table)).collect::<Result<Vec<_>, _>>()?;
        let compared: Vec<&[i64]> = compared.iter().map(Vec::as_slice).collect();
        let column = |term: &Term| {
            let share = |&cell: &i64| (cell * term.finer()) as f64 / term.bound() as f64;
            Ok(self.plan.arranged(&values(&term.field, table)?.iter().map(share).collect::<Vec<f64>>()))
        };
        let columns = self.question.terms.iter().map(column).collect::<Result<_, QueryError>>()?;
        Ok(Rows { digits: self.filter.inputs(&compared), columns })
    }

    /// Slot values in row order.
    ///
    /// # Panics
    /// If there are fewer slots than the bridge has.
    pub fn by_row(&self, slots: &[Complex64]) -> Vec<f64> {
        (0..self.question.rows).map(|row| slots[self.plan.slot_of(row)].re).collect()
    }
}

impl Program for Query {
    type Scheme = Bridged;

    fn name(&self) -> &'static str {
        self.name
    }

    fn params(&self) -> &BridgeParams {
        &self.params
    }

    /// The digits of the compared columns, followed by the summed columns.
    fn inputs(&self) -> Vec<BridgedInput> {
        let rows = self.question.rows;
        let digit =
            |(i, most)| BridgedInput::Messages(Messages { name: format!("digit {}", i + 1), batch: rows, most });
        let digits = self.digits().into_iter().enumerate().map(digit);
        digits.chain(self.columns().into_iter().map(BridgedInput::Slots)).collect()
    }

    fn model(&self) -> BridgePlan {
        self.plan
    }

    /// Filter, bridge, sum. Returns the sum in every slot, in units of [`Query::unit`], and the bits that rows were
    /// multiplied by, in the order of [`Query::by_row`]. The journal keeps the state of the filter, which takes most of
    /// the time.
    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Bridged>) -> Result<Vec<BridgedCiphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let BridgedMeans { tfhe, auto, bridge } = means;
        let (mut digits, mut columns) = (Vec::new(), Vec::new());
        for input in inputs {
            match input {
                BridgedCiphertext::Messages(messages) => digits.push(messages.clone()),
                BridgedCiphertext::Slots(slots) => columns.push(slots.clone()),
            }
        }
        let asked = self.filter.evaluate(*tfhe, &digits, observer, &mut Filtering(journal))?;
        observer.step("selection", self.filter.steps() - 1, self.filter.steps());
        let flags = tfhe.flags(&asked, |message| self.filter.accepts(message))?;
        observer.step("bridge", 0, 1);
        let mut bits = bridge.to_slots(auto, &flags)?;
        if self.bits == Bits::Cleaned {
            bits = bridge.clean(auto, &bits)?;
        }
        observer.step("sum", 0, 1);
        let _region = auto.eval.device().region("sum", 0);
        let mut product: Option<Ciphertext<D>> = None;
        for (term, column) in self.question.terms.iter().zip(&columns) {
            let factor = if term.sign < 0 { auto.eval.negate(column) } else { column.clone() };
            let factor = match term.constant {
                0 => factor,
                constant => auto.add_scalar(&factor, constant as f64 / term.bound() as f64),
            };
            product = Some(match product {
                None => factor,
                Some(product) => auto.mul(&product, &factor)?,
            });
        }
        let passing = match product {
            None => bits.clone(),
            Some(product) => auto.mul(&product, &bits)?,
        };
        let sum = auto.inner_sum(&passing, 1, self.plan.slots)?;
        Ok(vec![BridgedCiphertext::Slots(sum), BridgedCiphertext::Slots(bits)])
    }

    fn results(&self) -> usize {
        2
    }

    fn summed(&self) -> usize {
        1
    }

    /// The answer, and for each row the bit that it was multiplied by.
    fn arrays(&self, results: &Vec<BridgedValues>) -> Vec<Array> {
        let [BridgedValues::Slots(sum), others @ ..] = &results[..] else { return Vec::new() };
        let digits = self.question.digits().cast_signed();
        let answer = sum[0][0].re * self.unit() * 10f64.powi(-digits);
        let answer =
            Array { name: "answer".into(), shape: vec![1], values: vec![answer.into()], numbers: Numbers::Real };
        let Some(BridgedValues::Slots(bits)) = others.first() else { return vec![answer] };
        let rows = self.by_row(&bits[0]).into_iter().map(Complex64::from).collect();
        let rows = Array { name: "rows".into(), shape: vec![self.question.rows], values: rows, numbers: Numbers::Real };
        vec![answer, rows]
    }

    /// The sum is in units of its bound.
    fn unit_of(&self, array: usize) -> f64 {
        let digits = self.question.digits().cast_signed();
        if array == 0 { self.unit() * 10f64.powi(-digits) } else { 1.0 }
    }

    fn details(&self) -> Details {
        let question = &self.question;
        let told: Vec<Told> = question.fields().iter().map(Told::of).collect();
        fields(json!({ "sql": question.sql, "rows": question.rows, "told": told, "filter": self.filter.summary() }))
    }

    fn expected(&self, results: &[BridgedEstimate]) -> Details {
        let [BridgedEstimate::Slots(sum), BridgedEstimate::Slots(bits)] = results else { return Details::new() };
        fields(json!({ "precision": SumPrecision::of(self, [bits.estimate, sum.estimate]) }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let own = |name: &str| name.starts_with("compare ") || ["selection", "bridge", "sum"].contains(&name);
        let seconds: f64 = steps.iter().filter(|(name, _)| own(name)).map(|(_, s)| s).sum();
        fields(json!({ "seconds_per_row": seconds / self.question.rows as f64 }))
    }
}
