//! The encrypted program: comparisons on TFHE, bits to slots over the bridge, products and the sum on CKKS.
//!
//! What a row brings is encrypted twice: the compared columns as digits, the summed ones as slots. All rows are one batch.

use super::{
    error::QueryError,
    filter::Filter,
    question::{Question, Term},
    table::Table,
};
use crate::program::{Details, Input, Journal, Observer, Tfhe};
use limbwise::{
    Complex64, Result,
    bridge::{Bridge, BridgeError, BridgeParams, BridgePlan},
    ckks::{Auto, Ciphertext, Packing, Promise},
    tfhe::{self, TfheParams},
};
use limbwise_device::Device;
use serde_json::json;

/// What is done to the bits before they are multiplied with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bits {
    /// Nothing: they come over the bridge as flags whose noise its sine flattens.
    AsConverted,
    /// 3x² − 2x³, which squares their errors, for two levels: wherever these are left.
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

/// A question with parameters to answer it encrypted: what both sides know.
#[derive(Clone, Debug)]
pub struct Query {
    name: &'static str,
    question: Question,
    filter: Filter,
    params: BridgeParams,
    plan: BridgePlan,
    bits: Bits,
}

/// What the client encrypts.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Digits of the compared columns, most significant first: a list of messages each.
    pub digits: Vec<Vec<u64>>,
    /// The summed columns, a slot a row, each in units of its bound.
    pub columns: Vec<Vec<f64>>,
}

/// What a server computes with.
pub struct Means<'a, D: Device> {
    /// On messages.
    pub tfhe: tfhe::Evaluator<'a, D>,
    /// On slots.
    pub auto: &'a Auto<'a, D>,
    /// From the ones to the others.
    pub bridge: &'a Bridge<D>,
}

/// Encrypted results.
pub struct Answer<D: Device> {
    /// The sum, in every slot, in units of [`Query::unit`].
    pub sum: Ciphertext<D>,
    /// The bits that rows were multiplied with, in the order of [`Query::by_row`].
    pub bits: Ciphertext<D>,
}

impl Query {
    /// A program for a question.
    ///
    /// # Errors
    /// More rows than slots, a message space that is too small, too few levels behind the bridge.
    pub fn new(name: &'static str, question: Question, params: &BridgeParams) -> Result<Self, QueryError> {
        let (most, left) = (params.ckks().max_slots(), params.ckks().user_level());
        if question.rows > most {
            return Err(QueryError::Rows { rows: question.rows, most });
        }
        let filter = Filter::new(&question, params.tfhe())?;
        // The columns are multiplied with each other while the bits are cleaned.
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

    /// What is done to the bits.
    #[must_use]
    pub fn bits(&self) -> Bits {
        self.bits
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What is asked.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// How rows are compared.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Both parameter sets.
    #[must_use]
    pub fn params(&self) -> &BridgeParams {
        &self.params
    }

    /// How bits become slots.
    #[must_use]
    pub fn bridge(&self) -> BridgePlan {
        self.plan
    }

    /// The inputs on TFHE: largest message of each.
    #[must_use]
    pub fn digits(&self) -> Vec<u64> {
        self.filter.largest()
    }

    /// The inputs on CKKS.
    #[must_use]
    pub fn columns(&self) -> Vec<Input> {
        let ckks = self.params.ckks();
        // Where the product of the columns meets the bits, no lower and no higher than it must stand.
        let above = self.question.terms.len().saturating_sub(1);
        let level = ckks.user_level().min(ckks.user_level() - self.bits.levels() + above);
        let packing = Packing { slots: self.plan.slots, level, scale: ckks.scale(level) };
        let input = |term: &Term| Input {
            name: term.field.name.clone(),
            batch: 1,
            packing,
            bounds: Promise { magnitude: 1.0, peak: 1.0, real: true },
        };
        self.question.terms.iter().map(input).collect()
    }

    /// What one of the sum is worth, in units of the answer's last digit.
    #[must_use]
    pub fn unit(&self) -> f64 {
        self.question.terms.iter().map(|t| t.bound() as f64).product()
    }

    /// What rows contribute on average, in [`Self::unit`], if each column were spread evenly over its domain.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let ends = |t: &Term| [t.field.low, t.field.high].map(|cell| t.value(cell) as f64 / t.bound() as f64);
        self.question.terms.iter().map(|t| ends(t).iter().sum::<f64>().abs() / 2.0).product()
    }

    /// The client's values of a table.
    ///
    /// # Errors
    /// A table without the question's columns.
    pub fn rows(&self, table: &Table) -> Result<Rows, QueryError> {
        let values = |name: &String| table.column(name).map(|(_, _, values)| values);
        let compared = self.question.ranges.iter().map(|r| values(&r.field.name)).collect::<Result<Vec<_>, _>>()?;
        let column = |term: &Term| {
            let share = |&cell: &i64| (cell * term.finer()) as f64 / term.bound() as f64;
            Ok(self.plan.arranged(&values(&term.field.name)?.iter().map(share).collect::<Vec<f64>>()))
        };
        let columns = self.question.terms.iter().map(column).collect::<Result<_, QueryError>>()?;
        Ok(Rows { digits: self.filter.inputs(&compared), columns })
    }

    /// Values of slots in the order of the rows.
    ///
    /// # Panics
    /// For fewer slots than the bridge has.
    #[must_use]
    pub fn by_row(&self, slots: &[Complex64]) -> Vec<f64> {
        (0..self.question.rows).map(|row| slots[self.plan.slot_of(row)].re).collect()
    }

    /// Evaluates the question: filter, bridge, sum. The journal keeps the state of the filter, which takes most of the time.
    ///
    /// # Errors
    /// What the schemes or the journal refuse.
    pub fn evaluate<D: Device>(
        &self,
        means: &Means<'_, D>,
        (digits, columns): (&[tfhe::Ciphertext<D>], &[Ciphertext<D>]),
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D, Tfhe>,
    ) -> Result<Answer<D>> {
        let Means { tfhe, auto, bridge } = means;
        let asked = self.filter.evaluate(*tfhe, digits, observer, journal)?;
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
        for (term, column) in self.question.terms.iter().zip(columns) {
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
        Ok(Answer { sum: auto.inner_sum(&passing, 1, self.plan.slots)?, bits })
    }

    /// What is to be said of it in a report.
    #[must_use]
    pub fn details(&self) -> Details {
        let question = &self.question;
        let details = json!({ "sql": question.sql, "rows": question.rows, "filter": self.filter.summary() });
        details.as_object().cloned().unwrap_or_default()
    }

    /// The TFHE parameters.
    #[must_use]
    pub fn messages(&self) -> &TfheParams {
        self.params.tfhe()
    }
}
