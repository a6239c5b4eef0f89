//! Tests of columns as automata over digits: one programmable bootstrapping per digit, most significant first.
//!
//! After a prefix of digits, the rest must pass a test again. Of a range at most four such tests occur: the prefix equals
//! that of the low end, that of the high end, or that of both; or the outcome is already decided. The state takes two bits,
//! and the rest of the message space holds a digit. The first digit needs no state and fills the space. The automaton ends
//! early if its state is decided. A set of several ranges is one automaton if four states suffice, and else the OR of
//! several; [`numbering`](super::numbering) makes fewer of scattered ones. Bits are joined by sums: a table tells whether all are set, or any. Several conditions (of groups, of CASE)
//! share the steps that they have in common. Tables, rotations and failure probability follow from the query and the
//! column widths.

use super::{
    condition::Cond,
    error::QueryError,
    field::Field,
    numbering::{Numbering, Places},
    question::Question,
    set::Set,
};
use crate::program::{Journal, Observer, State, Tfhe};
use limbwise::tfhe::{Ciphertext, Evaluator, Table, TfheParams};
use limbwise_device::{Device, OpenRegion};
use serde::Serialize;
use std::collections::HashMap;

const STATE_BITS: u32 = 2;
/// Most bootstrappings of a row. A list of values beyond it would take minutes a row.
const MOST_STEPS: usize = 1000;

/// The digits of a column, as the client encrypts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDigits {
    pub column: String,
    /// Smallest value of the domain, which digits count from.
    pub offset: i64,
    /// Bits needed to distinguish its values.
    pub bits: u32,
    /// Bits of each digit, most significant first: those that any test of the column looks at.
    pub digits: Vec<u32>,
    /// The numbers of its values, where they are others than their distances from the offset.
    places: Option<Places>,
}

impl ColumnDigits {
    /// The number that a value is encrypted as.
    fn number(&self, value: i64) -> u64 {
        let place = self.places.as_ref().and_then(|places| places.of(value, self.offset));
        place.map_or_else(|| value.abs_diff(self.offset), i64::unsigned_abs)
    }
}

/// A step of the filter. Its result is a bit or a state, which later steps name by the step's number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Meets a digit with the state before it, if it is not the first. The table's input is state · 2^bits + digit.
    Digit { column: usize, at: usize, before: Option<usize>, table: Vec<u64> },
    /// Adds bits.
    Join { of: Vec<usize>, table: Vec<u64> },
}

impl Step {
    fn table(&self) -> &[u64] {
        match self {
            Self::Digit { table, .. } | Self::Join { table, .. } => table,
        }
    }

    /// The steps whose results it takes.
    fn takes(&self) -> &[usize] {
        match self {
            Self::Digit { before, .. } => before.as_slice(),
            Self::Join { of, .. } => of,
        }
    }
}

/// Bits of a column's digits. The first digit fills the message space or takes the remainder; later ones leave room for
/// a state.
fn digits(bits: u32, space_bits: u32) -> Vec<u32> {
    let next = space_bits - STATE_BITS;
    let count = bits.saturating_sub(space_bits).div_ceil(next);
    let mut digits = vec![bits - count * next];
    digits.extend(std::iter::repeat_n(next, count as usize));
    digits
}

/// The tables of one automaton for a set of numbers of this many bits, if the states suffice. The last table gives 1 if the
/// number is in the set.
fn automaton(set: &Set, bits: u32, digits: &[u32]) -> Option<Vec<Vec<u64>>> {
    let last = |bits: u32| (1i64 << bits) - 1;
    let (mut states, mut tables, mut rest) = (vec![set.clone()], Vec::new(), bits);
    for &digit in digits {
        rest -= digit;
        let after = |state: &Set| {
            let after = |d: i64| {
                let first = d << rest;
                let part = state.intersection(&Set::range(first, first + last(rest)));
                Set::of(part.ranges().iter().map(|(low, high)| (low - first, high - first)).collect())
            };
            (0..=last(digit)).map(after).collect::<Vec<Set>>()
        };
        let reached: Vec<Set> = states.iter().flat_map(after).collect();
        // 0 and 1, so that the last state is the answer.
        let mut next = vec![Set::range(0, -1), Set::range(0, last(rest))];
        reached.iter().for_each(|state| {
            if !next.contains(state) {
                next.push(state.clone());
            }
        });
        if next.len() > 1 << STATE_BITS {
            return None;
        }
        let number = |state: &Set| next.iter().position(|other| other == state).map_or(0, |at| at as u64);
        tables.push(reached.iter().map(number).collect());
        states = next;
        if states.len() == 2 {
            break;
        }
    }
    Some(tables)
}

/// What a filter leaves behind.
pub struct Filtered<D: Device> {
    /// What each flag's table is to be applied to.
    pub flags: Vec<Ciphertext<D>>,
    /// The results that these are made of, as the journal keeps them.
    pub kept: Vec<Ciphertext<D>>,
}

/// The filter of a query: the tests of all its flags, and how their bits are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    columns: Vec<ColumnDigits>,
    /// In their order.
    steps: Vec<Step>,
    /// The last step of each flag, whose table is the caller's to apply.
    flags: Vec<Step>,
    rows: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterSummary {
    pub bootstrappings_per_row: usize,
    /// Name, bits and bootstrappings of each column.
    pub columns: Vec<ColumnSummary>,
}

/// Cost of one column's tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnSummary {
    pub name: String,
    /// Bits needed to distinguish its values.
    pub bits: u32,
    pub bootstrappings: usize,
}

/// Lays conditions out as steps.
struct Layout<'a> {
    fields: &'a [Field],
    space_bits: u32,
    /// Most bits that are added: their norm and their number are bounded.
    most: usize,
    steps: Vec<Step>,
    /// The number of each step.
    numbers: HashMap<Step, usize>,
}

impl Layout<'_> {
    /// The number of a step's result; a step that is there already is not done again.
    fn done(&mut self, step: Step) -> usize {
        let next = self.steps.len();
        let number = *self.numbers.entry(step.clone()).or_insert(next);
        if number == next {
            self.steps.push(step);
        }
        number
    }

    /// The last step of a condition.
    fn last(&mut self, cond: &Cond) -> Step {
        match cond {
            Cond::In { column, set } => self.test(*column, set),
            Cond::All(of) => self.join(of, |sum, count| sum == count),
            Cond::Any(of) => self.join(of, |sum, _| sum > 0),
        }
    }

    /// Joins the bits of conditions.
    fn join(&mut self, of: &[Cond], passes: fn(usize, usize) -> bool) -> Step {
        self.sum(of, Self::last, [passes; 2])
    }

    /// Joins bits: in groups by the first rule where there are too many, and by the other in the end.
    fn sum<T>(
        &mut self,
        of: &[T],
        last: impl Fn(&mut Self, &T) -> Step,
        [within, passes]: [fn(usize, usize) -> bool; 2],
    ) -> Step {
        let table = |count: usize, passes: fn(usize, usize) -> bool| {
            (0..=count).map(|sum| u64::from(passes(sum, count))).collect::<Vec<u64>>()
        };
        if let [only] = of {
            return last(self, only);
        }
        let mut bits: Vec<usize> = Vec::new();
        for (at, one) in of.iter().enumerate() {
            let step = last(self, one);
            bits.push(self.done(step));
            if bits.len() == self.most && at + 1 < of.len() {
                let table = table(bits.len(), within);
                let joined = Step::Join { of: std::mem::take(&mut bits), table };
                bits.push(self.done(joined));
            }
        }
        Step::Join { table: table(bits.len(), passes), of: bits }
    }

    fn test(&mut self, column: usize, set: &Set) -> Step {
        let field = &self.fields[column];
        let bits = field.coded_bits();
        let digits = digits(bits, self.space_bits);
        let last = (1i64 << bits) - 1;
        // Values outside the domain do not occur, so the automaton may treat them as it likes.
        let of_digits =
            |&(low, high): &(i64, i64)| (low - field.low, if high == field.last() { last } else { high - field.low });
        let ranges: Vec<(i64, i64)> = set.ranges().iter().map(of_digits).collect();
        let grouped = |ranges: &[(i64, i64)]| {
            let mut groups: Vec<Vec<Vec<u64>>> = Vec::new();
            let mut group: Vec<(i64, i64)> = Vec::new();
            for &range in ranges {
                group.push(range);
                match (automaton(&Set::of(group.clone()), bits, &digits), group.len()) {
                    (Some(tables), 1) => groups.push(tables),
                    (Some(tables), _) => *groups.last_mut().expect("begun by the first range") = tables,
                    (None, _) => {
                        group = vec![range];
                        groups
                            .push(automaton(&Set::of(group.clone()), bits, &digits).expect("four states for a range"));
                    }
                }
            }
            groups
        };
        let (within, outside) = (grouped(&ranges), grouped(Set::of(ranges.clone()).complement(0, last).ranges()));
        let cost = |groups: &[Vec<Vec<u64>>]| groups.iter().map(Vec::len).sum::<usize>();
        let (mut groups, passes): (_, fn(usize, usize) -> bool) = match cost(&outside) < cost(&within) {
            true => (outside, |sum, _| sum == 0),
            false => (within, |sum, _| sum > 0),
        };
        let none = passes(0, 1);
        if let ([tables], true) = (&mut groups[..], none) {
            // A single automaton of the complement: its last table turned round.
            tables.last_mut().into_iter().flatten().for_each(|bit| *bit = 1 - *bit);
        }
        self.sum(&groups, |layout, tables| layout.chain(column, tables), [|sum, _| sum > 0, passes])
    }

    /// The last step of an automaton.
    fn chain(&mut self, column: usize, tables: &[Vec<u64>]) -> Step {
        let mut last: Option<Step> = None;
        for (at, table) in tables.iter().enumerate() {
            let before = last.take().map(|step| self.done(step));
            last = Some(Step::Digit { column, at, before, table: table.clone() });
        }
        last.expect("an automaton has a table")
    }
}

impl Filter {
    /// The filter of a query for messages of these parameters.
    ///
    /// # Errors
    /// [`QueryError::Bits`] where the message space is too small, [`QueryError::Steps`] for a condition that is too long.
    pub fn new(question: &Question, params: &TfheParams) -> Result<Self, QueryError> {
        let literal = params.literal();
        let bits = literal.message_bits;
        // A state plus a digit has norm √(4^(bits − 2) + 1), for which the parameter sets of such spaces are made.
        let norm = f64::from(1u32 << (bits.max(STATE_BITS) - STATE_BITS)).hypot(1.0);
        if bits <= STATE_BITS || norm > literal.norm {
            return Err(QueryError::Bits { bits });
        }
        let most = (1..params.table_len()).take_while(|&n| (n as f64).sqrt() <= literal.norm).count();
        let (fields, space, rows) = (&question.compared, (bits, most), question.rows);
        let ordered = Self::laid_out(&question.flags, fields, space, rows);
        if question.numbering == Numbering::Ordered {
            return ordered;
        }
        // A column's numbers are changed where that makes fewer steps, one column after another.
        let (mut best, mut flags) = (ordered, question.flags.clone());
        let mut numbers: Vec<Option<Places>> = vec![None; fields.len()];
        for (column, field) in fields.iter().enumerate() {
            let Some(places) = Places::by_sets(&flags, column, field) else { continue };
            let anew: Vec<Cond> = flags.iter().map(|cond| places.of_cond(cond, column, field.low)).collect();
            let Ok(filter) = Self::laid_out(&anew, fields, space, rows) else { continue };
            if best.as_ref().is_ok_and(|best| best.steps() <= filter.steps()) {
                continue;
            }
            (best, flags, numbers[column]) = (Ok(filter), anew, Some(places));
        }
        let mut filter = best?;
        filter.columns.iter_mut().zip(numbers).for_each(|(column, places)| column.places = places);
        Ok(filter)
    }

    fn laid_out(
        flags: &[Cond],
        fields: &[Field],
        (space_bits, most): (u32, usize),
        rows: usize,
    ) -> Result<Self, QueryError> {
        let mut layout = Layout { fields, space_bits, most, steps: Vec::new(), numbers: HashMap::new() };
        let flags: Vec<Step> = flags.iter().map(|cond| layout.last(cond)).collect();
        let steps = layout.steps;
        let got = steps.len() + flags.len();
        if got > MOST_STEPS {
            return Err(QueryError::Steps { got, most: MOST_STEPS });
        }
        let column = |(number, field): (usize, &Field)| {
            let looked_at = |step: &Step| match step {
                Step::Digit { column, at, .. } if *column == number => Some(at + 1),
                _ => None,
            };
            let used = steps.iter().chain(&flags).filter_map(looked_at).max().unwrap_or(0);
            let digits = digits(field.coded_bits(), space_bits)[..used].to_vec();
            ColumnDigits {
                column: field.name.clone(),
                offset: field.low,
                bits: field.coded_bits(),
                digits,
                places: None,
            }
        };
        Ok(Self { columns: fields.iter().enumerate().map(column).collect(), steps, flags, rows })
    }

    /// Bootstrappings of a row, the flags' among them.
    pub fn steps(&self) -> usize {
        self.steps.len() + self.flags.len()
    }

    pub fn flags(&self) -> usize {
        self.flags.len()
    }

    pub fn columns(&self) -> &[ColumnDigits] {
        &self.columns
    }

    pub fn summary(&self) -> FilterSummary {
        let column = |(number, column): (usize, &ColumnDigits)| {
            let own = |step: &&Step| matches!(step, Step::Digit { column, .. } if *column == number);
            let bootstrappings = self.steps.iter().chain(&self.flags).filter(own).count();
            ColumnSummary { name: column.column.clone(), bits: column.bits, bootstrappings }
        };
        let columns = self.columns.iter().enumerate().filter(|(_, c)| !c.digits.is_empty()).map(column).collect();
        FilterSummary { bootstrappings_per_row: self.steps(), columns }
    }

    /// Largest digit of each input, in the order of [`Self::inputs`].
    pub fn largest(&self) -> Vec<u64> {
        self.columns.iter().flat_map(|c| &c.digits).map(|&bits| (1 << bits) - 1).collect()
    }

    /// Values that the client encrypts: for each column its digits, as one list of messages per digit.
    pub fn inputs(&self, columns: &[&[i64]]) -> Vec<Vec<u64>> {
        let column = |(column, values): (&ColumnDigits, &&[i64])| {
            let mut shift = column.bits;
            let digit = |&width: &u32| {
                shift -= width;
                let digit = |v: &i64| (column.number(*v) >> shift) & ((1 << width) - 1);
                values.iter().map(digit).collect::<Vec<u64>>()
            };
            column.digits.iter().map(digit).collect::<Vec<_>>()
        };
        self.columns.iter().zip(columns).flat_map(column).collect()
    }

    /// Number of a column's digit among the inputs.
    fn input(&self, column: usize, at: usize) -> usize {
        self.columns[..column].iter().map(|c| c.digits.len()).sum::<usize>() + at
    }

    /// The flags of each row, by the same tables on clear digits.
    ///
    /// # Panics
    /// If the digits do not match [`Self::inputs`].
    pub fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<bool>> {
        let row = |row: usize| {
            let mut results: Vec<u64> = Vec::new();
            let after = |step: &Step, results: &[u64]| {
                let met = match step {
                    Step::Digit { column, at, before, .. } => {
                        let state = before.map_or(0, |before| results[before]);
                        state << self.columns[*column].digits[*at] | inputs[self.input(*column, *at)][row]
                    }
                    Step::Join { of, .. } => of.iter().map(|&bit| results[bit]).sum(),
                };
                step.table()[usize::try_from(met).expect("a message")]
            };
            for step in &self.steps {
                results.push(after(step, &results));
            }
            self.flags.iter().map(|flag| after(flag, &results) == 1).collect::<Vec<bool>>()
        };
        let rows: Vec<Vec<bool>> = (0..self.rows).map(row).collect();
        (0..self.flags.len()).map(|flag| rows.iter().map(|row| row[flag]).collect()).collect()
    }

    /// Whether a message of [`Self::evaluate`] sets this flag: its table says so.
    pub fn accepts(&self, flag: usize, message: u64) -> bool {
        usize::try_from(message).is_ok_and(|at| self.flags[flag].table().get(at) == Some(&1))
    }

    /// The results that are still needed after so many steps, in the order of the steps.
    pub(super) fn kept(&self, steps: usize) -> Vec<usize> {
        let later = || self.steps[steps..].iter().chain(&self.flags);
        (0..steps).filter(|number| later().any(|step| step.takes().contains(number))).collect()
    }

    /// Bootstrappings of a row before those of the flags: the steps that a journal counts.
    pub(super) fn before_flags(&self) -> usize {
        self.steps.len()
    }

    /// The encrypted filter without the tables of the flags, which the caller derives from [`Self::accepts`]. All rows form
    /// one batch, and each step is one bootstrapping of it. The journal keeps the results that are still needed.
    ///
    /// # Panics
    /// If there are fewer inputs than digits.
    pub fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D, Tfhe>,
    ) -> limbwise::Result<Filtered<D>> {
        let start = State { step: 0, ciphertexts: Vec::new(), numbers: Vec::new() };
        let State { step: begun, ciphertexts, .. }: State<D, Tfhe> = journal.resume()?.unwrap_or(start);
        if begun > self.steps.len() || ciphertexts.len() != self.kept(begun).len() {
            return Err(limbwise::Error::State);
        }
        let mut results: Vec<Option<Ciphertext<D>>> = vec![None; self.steps.len()];
        self.kept(begun).into_iter().zip(ciphertexts).for_each(|(number, result)| results[number] = Some(result));
        for (number, step) in self.steps.iter().enumerate().skip(begun) {
            let name = match step {
                Step::Digit { column, .. } => format!("compare {}", self.columns[*column].column),
                Step::Join { .. } => "selection".into(),
            };
            observer.step(&name, number, self.steps());
            let mut entries = step.table().to_vec();
            entries.resize(eval.params().table_len(), 0); // messages that do not come
            let met = self.met(eval, step, inputs, &results)?;
            let _region = Self::region(eval, step);
            results[number] = Some(eval.bootstrap(&met, &[Table::new(eval.params(), &entries)?])?);
            let kept = self.kept(number + 1);
            (0..=number).filter(|result| !kept.contains(result)).for_each(|result| results[result] = None);
            let ciphertexts = kept.iter().filter_map(|&result| results[result].clone()).collect();
            journal.keep(&State { step: number + 1, ciphertexts, numbers: Vec::new() })?;
        }
        let flags = self.flags.iter().map(|flag| self.met(eval, flag, inputs, &results)).collect::<Result<_, _>>()?;
        Ok(Filtered { flags, kept: results.into_iter().flatten().collect() })
    }

    fn region<'e, D: Device>(eval: Evaluator<'e, D>, step: &Step) -> OpenRegion<'e> {
        match step {
            Step::Digit { column, .. } => eval.device().region("range test", index(*column)),
            Step::Join { .. } => eval.device().region("join", 0),
        }
    }

    /// What the table of a step is applied to.
    fn met<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        step: &Step,
        inputs: &[Ciphertext<D>],
        results: &[Option<Ciphertext<D>>],
    ) -> limbwise::Result<Ciphertext<D>> {
        let result = |number: usize| results[number].as_ref().expect("a result that is still needed");
        let _region = Self::region(eval, step);
        match step {
            Step::Digit { column, at, before, .. } => {
                let (of, digit) = (&self.columns[*column], &inputs[self.input(*column, *at)]);
                match before {
                    None => Ok(digit.clone()),
                    Some(before) => eval.add(&eval.scale(result(*before), 1 << of.digits[*at]), digit),
                }
            }
            Step::Join { of, .. } => {
                let (first, others) = of.split_first().expect("a bit a test");
                others.iter().try_fold(result(*first).clone(), |sum, &bit| eval.add(&sum, result(bit)))
            }
        }
    }
}

fn index(of: usize) -> u32 {
    u32::try_from(of).expect("few columns")
}

#[cfg(test)]
mod tests;
