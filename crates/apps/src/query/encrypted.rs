//! The encrypted program: comparisons in TFHE, bits to slots over the bridge, products and the sum in CKKS.
//!
//! A row is encrypted as often as it is used: its compared columns as digits, those whose ends are asked as bits, its summed
//! columns as slots. All rows form one batch.

use super::{
    answer::{Figures, Number, Value},
    error::QueryError,
    extreme::spread,
    field::{Field, codes, values},
    filter::{Filter, Filtered},
    question::{Measure, Question, Selection, Term},
    revealed::Revealed,
    searches::{Begun, Searches},
    table::{Kind, Table},
};
use crate::description::Refusal;
use crate::family::DecryptedTable;
use crate::program::{
    Array, Details, Evaluation, Journal, Messages, Numbers, Observer, Program, SlotsInput, State, Tfhe, fields,
};
use limbwise::{
    Complex64, Result,
    bridge::{Bridge, BridgeError, BridgeParams, BridgePlan},
    ckks::{Auto, Ciphertext, Packing, Promise},
    scheme::{Bridged, BridgedCiphertext, BridgedEstimate, BridgedInput, BridgedMeans, BridgedValues},
};
use limbwise_device::Device;
use serde_json::json;
use std::{ops::Range, sync::OnceLock};

/// Bits of a modulus that values do not use: the sign, and one that errors may carry into.
const SIGN_AND_NOISE_BITS: f64 = 2.0;

/// Most that a decrypted count may be off a whole number.
const MOST_OFF: f64 = 0.25;

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
    /// Levels that they take; a public group's rows are chosen while bits are cleaned, or by a level of its own.
    fn levels(self, grouped: bool) -> usize {
        match self {
            Self::AsConverted => usize::from(grouped),
            Self::Cleaned => 2,
        }
    }
}

/// A query with its parameters: public metadata.
#[derive(Clone, Debug)]
pub struct Query {
    name: &'static str,
    question: Box<Question>,
    filter: Filter,
    searches: Searches,
    params: BridgeParams,
    plan: BridgePlan,
    bits: Bits,
    /// The columns of the sums, each once, with their units.
    summed: Vec<(Field, f64)>,
    /// Most that each measure's sum may be off, where it was asked for.
    bounds: OnceLock<Vec<f64>>,
    /// The parts whose sums are read instead of results.
    pub(super) parts: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Digits of the compared columns, most significant first: one list of messages each; then for each column whose ends
    /// are asked its bits, highest first, each of all rows.
    pub messages: Vec<Vec<u64>>,
    /// The summed columns: one slot per row, each in units of its bound.
    pub columns: Vec<Vec<f64>>,
}

/// Decrypted results: numbers, and the bits of each selection in the order of the rows.
pub struct Found {
    pub figures: Figures,
    pub bits: Vec<Vec<f64>>,
}

/// The filter's journal: wraps the filter's states, which hold messages only, in states of the program.
struct Filtering<'j, D: Device> {
    journal: &'j mut dyn Journal<D, Bridged>,
    begun: Option<State<D, Tfhe>>,
}

/// 1 for a row of a public group, or of the table; else 0.
fn taken(within: Option<&Range<usize>>, row: usize) -> f64 {
    f64::from(u8::from(within.is_none_or(|within| within.contains(&row))))
}

impl<D: Device> Journal<D, Tfhe> for Filtering<'_, D> {
    fn resume(&mut self) -> Result<Option<State<D, Tfhe>>> {
        Ok(self.begun.take())
    }

    fn keep(&mut self, state: &State<D, Tfhe>) -> Result<()> {
        let ciphertexts = state.ciphertexts.iter().cloned().map(BridgedCiphertext::Messages).collect();
        self.journal.keep(&State { step: state.step, ciphertexts, numbers: state.numbers.clone() })
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
        let product = question.measures.iter().map(|measure| measure.terms.len()).max().unwrap_or(0);
        let grouped = !question.public.is_none();
        let levels = |bits: Bits| bits.levels(grouped).max(product.saturating_sub(1)) + product.min(1);
        // A sum over all rows must fit into the modulus that is left.
        let got = (question.rows as f64).log2();
        let room = |levels: usize| {
            let level = left - levels;
            params.ckks().log_modulus(level) - params.ckks().scale(level).log2() - SIGN_AND_NOISE_BITS
        };
        let fits = |bits: &Bits| levels(*bits) <= left && got <= room(levels(*bits));
        let bits = [Bits::Cleaned, Bits::AsConverted].into_iter().find(fits).unwrap_or(Bits::AsConverted);
        let levels = levels(bits);
        if levels > left {
            return Err(limbwise::Error::from(BridgeError::Levels { wanted: levels, left }).into());
        }
        if !fits(&bits) {
            return Err(QueryError::SumRoom { rows: question.rows, got, most: room(levels) });
        }
        let plan = BridgePlan { levels, ..BridgePlan::fastest(question.rows.next_power_of_two()) };
        let summed = question.summed();
        let searches = Searches::new(&question, params.tfhe());
        let (question, params, bounds) = (Box::new(question), params.clone(), OnceLock::new());
        Ok(Self { name, question, filter, searches, params, plan, bits, summed, bounds, parts: None })
    }

    /// Most that each measure's sum may be off. Without one for a measure, nothing is known of it.
    pub(super) fn bounds(&self) -> &[f64] {
        self.bounds.get_or_init(|| self.rehearsed_bounds().unwrap_or_default())
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

    /// The TFHE inputs for the filter: largest message of each.
    pub fn digits(&self) -> Vec<u64> {
        self.filter.largest()
    }

    /// The columns whose ends are asked, each once.
    fn ended(&self) -> Vec<&Field> {
        let mut ended: Vec<&Field> = Vec::new();
        for extreme in &self.question.extremes {
            if !ended.contains(&&extreme.field) {
                ended.push(&extreme.field);
            }
        }
        ended
    }

    pub fn columns(&self) -> Vec<SlotsInput> {
        let ckks = self.params.ckks();
        // The exact level at which the largest product of the columns meets the bits.
        let above =
            self.question.measures.iter().map(|measure| measure.terms.len()).max().unwrap_or(0).saturating_sub(1);
        let level =
            ckks.user_level().min(ckks.user_level() - self.bits.levels(!self.question.public.is_none()) + above);
        let packing = Packing { slots: self.plan.slots, level, scale: ckks.scale(level) };
        let input = |(field, _): &(Field, f64)| SlotsInput {
            name: field.name.clone(),
            batch: 1,
            packing,
            bounds: Promise { magnitude: 1.0, peak: 1.0, real: true },
        };
        self.summed.iter().map(input).collect()
    }

    /// Number of a factor's column among the summed ones, and its unit.
    fn column(&self, term: &Term) -> (usize, f64) {
        let at = self.summed.iter().position(|(field, _)| *field == term.field).expect("every term's column is summed");
        (at, self.summed[at].1)
    }

    /// What one unit in the slots of a measure is worth.
    pub fn unit(&self, measure: &Measure) -> f64 {
        measure.terms.iter().map(|term| self.column(term).1).product()
    }

    pub fn rows(&self, table: &Table) -> Result<Rows, QueryError> {
        let compared = self.question.compared.iter().map(|field| codes(field, table)).collect::<Result<Vec<_>, _>>()?;
        let compared: Vec<&[i64]> = compared.iter().map(Vec::as_slice).collect();
        let column = |(field, unit): &(Field, f64)| {
            let Kind::Number(digits) = field.kind else { unreachable!("sums are of numbers") };
            let share = |&cell: &i64| cell as f64 / 10f64.powi(digits.cast_signed()) / unit;
            Ok(self.plan.arranged(&values(field, table)?.iter().map(share).collect::<Vec<f64>>()))
        };
        let columns = self.summed.iter().map(column).collect::<Result<_, QueryError>>()?;
        let bits = self.ended().into_iter().map(|field| Ok(spread(field, &values(field, table)?)));
        let mut messages = self.filter.inputs(&compared);
        messages.extend(bits.collect::<Result<Vec<_>, QueryError>>()?);
        Ok(Rows { messages, columns })
    }

    /// Slot values in row order.
    ///
    /// # Panics
    /// If there are fewer slots than the bridge has.
    pub fn by_row(&self, slots: &[Complex64]) -> Vec<f64> {
        (0..self.question.rows).map(|row| slots[self.plan.slot_of(row)].re).collect()
    }

    /// Decrypted sums as numbers, without their error where it is below half of the last digit, as that of counts is; ends;
    /// and the bits of each selection in the order of the rows.
    pub fn read(&self, results: &[BridgedValues]) -> Found {
        let slots = |values: &BridgedValues| match values {
            BridgedValues::Slots(slots) => slots[0].clone(),
            BridgedValues::Messages(_) => unreachable!("sums and bits are on slots"),
        };
        let sum = |(number, (measure, values)): (usize, (&Measure, &BridgedValues))| {
            let sum = slots(values)[0].re * self.unit(measure);
            if measure.terms.is_empty() || self.exact(number) { measure.rounded(sum) } else { Number::near(sum) }
        };
        let (measures, flagged) = (&self.question.measures, self.question.flagged().len());
        let sums = measures.iter().zip(results).enumerate().map(sum).collect();
        let mut found = results.iter().skip(measures.len()).take(flagged).map(|bits| self.by_row(&slots(bits)));
        let bits = self.question.selections.iter().map(|selection| match selection.flag {
            Some(_) => found.next().unwrap_or_default(),
            None => (0..self.question.rows).map(|row| taken(selection.within.as_ref(), row)).collect(),
        });
        let bits: Vec<Vec<f64>> = bits.collect();
        // Of parts a slot has as many rows as there are parts.
        let rows = bits.iter().map(|bits| bits.iter().map(|bit| bit.round()).sum()).collect();
        let ends = self.question.extremes.iter().zip(results.iter().skip(measures.len() + flagged));
        let ends = ends.map(|(extreme, found)| match found {
            BridgedValues::Messages(found) => extreme.read(found),
            BridgedValues::Slots(_) => unreachable!("ends are messages"),
        });
        let parts = self.parts.unwrap_or(1);
        Found { figures: Figures { sums, ends: ends.collect(), rows, parts }, bits }
    }

    /// 1 in the slots of the rows of a public group, or of all rows.
    fn mask(&self, within: Option<&Range<usize>>) -> Vec<Complex64> {
        let rows = (0..self.question.rows).map(|row| Complex64::from(taken(within, row)));
        self.plan.arranged(&rows.collect::<Vec<_>>())
    }

    /// The bits of a selection from those of its flag.
    fn selected<D: Device>(
        &self,
        (auto, bridge): (&Auto<'_, D>, &Bridge<D>),
        bits: &Ciphertext<D>,
        within: Option<&Range<usize>>,
    ) -> Result<Ciphertext<D>> {
        match (self.bits, within.map(|within| self.mask(Some(within)))) {
            (Bits::AsConverted, None) => Ok(bits.clone()),
            (Bits::AsConverted, Some(rows)) => auto.settle(&auto.mul_values(bits, &rows)?),
            (Bits::Cleaned, None) => bridge.clean(auto, bits),
            (Bits::Cleaned, Some(rows)) => bridge.clean_rows(auto, bits, &rows),
        }
    }

    /// A product of columns that measures sum.
    fn product<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        columns: &[Ciphertext<D>],
        terms: &[Term],
    ) -> Result<Option<Ciphertext<D>>> {
        let mut product: Option<Ciphertext<D>> = None;
        for term in terms {
            let (column, unit) = self.column(term);
            let column = &columns[column];
            let factor = if term.sign < 0 { auto.eval.negate(column) } else { column.clone() };
            let factor = match term.constant {
                0 => factor,
                constant => auto.add_scalar(&factor, constant as f64 / 10f64.powi(term.digits.cast_signed()) / unit),
            };
            product = Some(match product {
                None => factor,
                Some(product) => auto.mul(&product, &factor)?,
            });
        }
        Ok(product)
    }
}

impl Query {
    /// Sums over rows that both sides know; for each flag bridge and sums. Returns the measures, and the bits of each flagged
    /// selection.
    fn sums<D: Device>(
        &self,
        means: &BridgedMeans<'_, D>,
        filtered: &Filtered<D>,
        columns: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<[Vec<Ciphertext<D>>; 2]> {
        let BridgedMeans { tfhe, auto, bridge } = means;
        let (flags, measures) = (filtered.flags.len(), &self.question.measures);
        let mut products = Products { program: self, auto, columns, known: Vec::new() };
        let mut sums: Vec<Option<Ciphertext<D>>> = vec![None; measures.len()];
        for (at, measure) in measures.iter().enumerate() {
            let selection = &self.question.selections[measure.selection];
            if selection.flag.is_none() {
                observer.step("sum", 0, flags.max(1));
                let _region = auto.eval.device().region("sum", 0);
                let product = products.of(&measure.terms)?.expect("rows that both sides know are counted by both");
                let rows = self.mask(selection.within.as_ref());
                let passing = auto.settle(&auto.mul_values(product, &rows)?)?;
                sums[at] = Some(auto.inner_sum(&passing, 1, self.plan.slots)?);
            }
        }
        let mut all_bits: Vec<Option<Ciphertext<D>>> = vec![None; self.question.selections.len()];
        for (flag, met) in filtered.flags.iter().enumerate() {
            observer.step("selection", self.filter.steps() - flags + flag, self.filter.steps());
            let set = tfhe.flags(met, |message| self.filter.accepts(flag, message))?;
            observer.step("bridge", flag, flags);
            let converted = bridge.to_slots(auto, &set)?;
            let of_flag = |(_, selection): &(usize, &Selection)| selection.flag == Some(flag);
            for (number, selection) in self.question.selections.iter().enumerate().filter(of_flag) {
                let bits = self.selected((auto, bridge), &converted, selection.within.as_ref())?;
                observer.step("sum", flag, flags);
                let _region = auto.eval.device().region("sum", 0);
                for (at, measure) in measures.iter().enumerate().filter(|(_, m)| m.selection == number) {
                    let passing = match products.of(&measure.terms)? {
                        None => bits.clone(),
                        Some(product) => auto.mul(product, &bits)?,
                    };
                    sums[at] = Some(auto.inner_sum(&passing, 1, self.plan.slots)?);
                }
                all_bits[number] = Some(bits);
            }
        }
        Ok([sums, all_bits].map(|all| all.into_iter().flatten().collect()))
    }
}

/// The products of columns that measures sum, each made once.
struct Products<'a, 'k, D: Device> {
    program: &'a Query,
    auto: &'a Auto<'k, D>,
    columns: &'a [Ciphertext<D>],
    known: Vec<(&'a [Term], Option<Ciphertext<D>>)>,
}

impl<'a, D: Device> Products<'a, '_, D> {
    /// The product of these factors; none without a factor.
    fn of(&mut self, terms: &'a [Term]) -> Result<Option<&Ciphertext<D>>> {
        let at = match self.known.iter().position(|(known, _)| *known == terms) {
            Some(at) => at,
            None => {
                self.known.push((terms, self.program.product(self.auto, self.columns, terms)?));
                self.known.len() - 1
            }
        };
        Ok(self.known[at].1.as_ref())
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

    /// The digits of the compared columns, followed by the bits of those whose ends are asked and by the summed columns.
    fn inputs(&self) -> Vec<BridgedInput> {
        let rows = self.question.rows;
        let digit =
            |(i, most)| BridgedInput::Messages(Messages { name: format!("digit {}", i + 1), batch: rows, most });
        let digits = self.digits().into_iter().enumerate().map(digit);
        let bits = self.ended().into_iter().map(|field| {
            let batch = rows * spread(field, &[field.low]).len();
            BridgedInput::Messages(Messages { name: format!("bits of {}", field.name), batch, most: 1 })
        });
        digits.chain(bits).chain(self.columns().into_iter().map(BridgedInput::Slots)).collect()
    }

    fn model(&self) -> BridgePlan {
        self.plan
    }

    /// Filter and searches; then for each flag bridge and sums. Returns each measure in every slot, in units of
    /// [`Query::unit`], the bits of each selection in the order of [`Query::by_row`], and the bits of each extreme. The
    /// journal keeps the states of filter and searches, which take most of the time.
    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Bridged>) -> Result<Vec<BridgedCiphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let tfhe = &means.tfhe;
        let (mut digits, mut columns) = (Vec::new(), Vec::new());
        for input in inputs {
            match input {
                BridgedCiphertext::Messages(messages) => digits.push(messages.clone()),
                BridgedCiphertext::Slots(slots) => columns.push(slots.clone()),
            }
        }
        let ended = digits.split_off(self.digits().len());
        let mut begun = Begun::of(journal.resume()?, &self.filter)?;
        let mut filtering = Filtering { journal: &mut *journal, begun: begun.filter.take() };
        let filtered = self.filter.evaluate(*tfhe, &digits, observer, &mut filtering)?;
        let bits_of = |field: &Field| {
            let at = self.ended().iter().position(|ended| *ended == field).expect("every end's column is encrypted");
            ended[at].clone()
        };
        let known = (self.question(), &self.filter);
        let ends = self.searches.evaluate(*tfhe, known, &filtered, bits_of, (begun, &mut *observer, journal))?;
        let [sums, bits] = self.sums(means, &filtered, &columns, observer)?;
        let ends = ends.into_iter().map(BridgedCiphertext::Messages);
        Ok(sums.into_iter().chain(bits).map(BridgedCiphertext::Slots).chain(ends).collect())
    }

    fn results(&self) -> usize {
        self.question.measures.len() + self.question.flagged().len() + self.question.extremes.len()
    }

    /// All sums, and the bits of the selections, which tell whether there is a row.
    fn summed(&self) -> usize {
        let parts = self.question.results.additive() && self.question.public.is_none();
        if parts { self.results() } else { 0 }
    }

    fn summed_over(&self, parts: usize) -> Self {
        Self { parts: Some(parts), ..self.clone() }
    }

    /// Counts and bits are whole numbers.
    fn admits(&self, results: &Vec<BridgedValues>) -> std::result::Result<(), Refusal> {
        let counts = self.question.measures.iter().zip(results).filter(|(measure, _)| measure.terms.is_empty());
        let counts = counts.filter_map(|(_, values)| match values {
            BridgedValues::Slots(slots) => Some(("a count", slots[0][0].re)),
            BridgedValues::Messages(_) => None,
        });
        let bits = self.read(results).bits.into_iter().flatten().map(|bit| ("the bit of a row", bit));
        for (what, got) in counts.chain(bits) {
            let off = (got - got.round()).abs();
            let kept = off < MOST_OFF;
            if !kept {
                return Err(QueryError::Whole { what, got }.into());
            }
        }
        Ok(())
    }

    fn doubts(&self, _: &Vec<BridgedValues>) -> Vec<String> {
        self.decided_by_noise().into_iter().collect()
    }

    /// The answer, NULL as no number; where it is one sum, also the bit that each row was multiplied by, but of parts. Of
    /// more than one sum the answer's rows, texts by their places in their columns' lists.
    fn arrays(&self, results: &Vec<BridgedValues>) -> Vec<Array> {
        let Found { figures, bits } = self.read(results);
        let array = |name: &str, shape, values: Vec<f64>| {
            let values = values.into_iter().map(Complex64::from).collect();
            Array { name: name.into(), shape, values, numbers: Numbers::Real }
        };
        let answer = self.question.answer(&figures);
        let number = |value: &Value| self.question.as_number(value);
        let numbers: Vec<f64> = answer.iter().flat_map(|row| row.values.iter().map(number)).collect();
        if self.question.results.single() {
            // Rows that both sides know are no result.
            let flagged = |measure: &&Measure| self.question.selections[measure.selection].flag.is_some();
            let measure = self.question.measures.first().filter(flagged).filter(|_| self.parts.is_none());
            let rows = measure.map(|of| array("rows", vec![self.question.rows], bits[of.selection].clone()));
            return std::iter::once(array("answer", vec![1], numbers)).chain(rows).collect();
        }
        vec![array("answer", vec![answer.len(), self.question.results.items.len()], numbers)]
    }

    fn table(&self, results: &Vec<BridgedValues>) -> Option<DecryptedTable> {
        let question = &self.question;
        let cell = |value: &Value| match value {
            Value::Number(number) => serde_json::json!(number.float()),
            Value::Null => serde_json::Value::Null,
            text => question.shown(text, ToString::to_string).into(),
        };
        let rows = || question.answer(&self.read(results).figures);
        (!question.results.single()).then(|| DecryptedTable {
            columns: question.results.items.iter().map(|item| item.name.clone()).collect(),
            rows: rows().iter().map(|row| row.values.iter().map(cell).collect()).collect(),
        })
    }

    /// The sum is in units of its bound; what is computed from several has none.
    fn unit_of(&self, array: usize) -> f64 {
        match (self.question.results.single(), array) {
            (false, _) => f64::INFINITY,
            (true, 0) => self.question.measures.first().map_or(1.0, |measure| self.unit(measure)),
            (true, _) => 1.0,
        }
    }

    fn details(&self) -> Details {
        let question = &self.question;
        fields(json!({
            "revealed": Revealed::of(self), "sql": question.sql, "rows": question.rows, "filter": self.filter.summary(),
            "searches": self.searches.summary(),
        }))
    }

    fn expected(&self, results: &[BridgedEstimate]) -> Details {
        self.precision(results).map_or_else(Details::new, |precision| fields(json!({ "precision": precision })))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let own = |name: &str| {
            ["compare ", "min ", "max "].iter().any(|begin| name.starts_with(begin))
                || ["selection", "bridge", "sum"].contains(&name)
        };
        let seconds: f64 = steps.iter().filter(|(name, _)| own(name)).fold(0.0, |sum, (_, s)| sum + s);
        fields(json!({ "seconds_per_row": seconds / self.question.rows as f64 }))
    }
}

#[cfg(test)]
mod tests;
