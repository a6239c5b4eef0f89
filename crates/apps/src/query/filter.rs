//! Tests of columns as automata over digits: one programmable bootstrapping per digit, most significant first.
//!
//! After a prefix of digits, the rest must pass a test again. Of a range at most four such tests occur: the prefix equals
//! that of the low end, that of the high end, or that of both; or the outcome is already decided. The state takes two bits,
//! and the rest of the message space holds a digit. The first digit needs no state and fills the space. The automaton ends
//! early if its state is decided. A set of several ranges is one automaton if four states suffice, and else the OR of
//! several. Bits are joined by sums: a table tells whether all are set, or any. Tables, rotations and failure probability
//! follow from the query and the column widths.

use super::{condition::Cond, error::QueryError, field::Field, question::Question, set::Set};
use crate::program::{Journal, Observer, State, Tfhe};
use limbwise::tfhe::{Ciphertext, Evaluator, Table, TfheParams};
use limbwise_device::Device;
use serde::Serialize;

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
}

/// A step of the filter. States and bits lie on a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Meets a digit with the state before it, if it is not the first. The table's input is state · 2^bits + digit.
    Digit { column: usize, at: usize, table: Vec<u64> },
    /// Adds so many bits.
    Join { count: usize, table: Vec<u64> },
}

impl Step {
    fn table(&self) -> &[u64] {
        match self {
            Self::Digit { table, .. } | Self::Join { table, .. } => table,
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

/// The filter of a query: all tests, and how their bits are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    columns: Vec<ColumnDigits>,
    /// In their order; the last one's table is the caller's to apply.
    steps: Vec<Step>,
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

/// Lays a condition out as steps.
struct Layout<'a> {
    fields: &'a [Field],
    space_bits: u32,
    /// Most bits that are added: their norm and their number are bounded.
    most: usize,
    steps: Vec<Step>,
}

impl Layout<'_> {
    /// Leaves the bit of a condition on the stack.
    fn push(&mut self, cond: &Cond) {
        match cond {
            Cond::In { column, set } => self.test(*column, set),
            Cond::All(of) => self.join(of, |sum, count| sum == count),
            Cond::Any(of) => self.join(of, |sum, _| sum > 0),
        }
    }

    /// Joins the bits of conditions, in groups where there are too many.
    fn join(&mut self, of: &[Cond], passes: fn(usize, usize) -> bool) {
        let mut waiting = 0;
        for (at, cond) in of.iter().enumerate() {
            self.push(cond);
            waiting += 1;
            if waiting == self.most && at + 1 < of.len() {
                self.sum(waiting, passes);
                waiting = 1;
            }
        }
        self.sum(waiting, passes);
    }

    fn sum(&mut self, count: usize, passes: fn(usize, usize) -> bool) {
        if count > 1 {
            let table = (0..=count).map(|sum| u64::from(passes(sum, count))).collect();
            self.steps.push(Step::Join { count, table });
        }
    }

    fn test(&mut self, column: usize, set: &Set) {
        let field = &self.fields[column];
        let bits = field.bits();
        let digits = digits(bits, self.space_bits);
        let last = (1i64 << bits) - 1;
        // Values outside the domain do not occur, so the automaton may treat them as it likes.
        let of_digits =
            |&(low, high): &(i64, i64)| (low - field.low, if high == field.high { last } else { high - field.low });
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
        let inner: fn(usize, usize) -> bool = |sum, _| sum > 0;
        let (count, none) = (groups.len(), passes(0, 1));
        if let ([tables], true) = (&mut groups[..], none) {
            // A single automaton of the complement: its last table turned round.
            tables.last_mut().into_iter().flatten().for_each(|bit| *bit = 1 - *bit);
        }
        let mut waiting = 0;
        for (number, tables) in groups.into_iter().enumerate() {
            let steps = tables.into_iter().enumerate().map(|(at, table)| Step::Digit { column, at, table });
            self.steps.extend(steps);
            waiting += 1;
            if waiting == self.most && number + 1 < count {
                self.sum(waiting, inner);
                waiting = 1;
            }
        }
        self.sum(waiting, passes);
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
        Self::laid_out(&question.condition, &question.compared, (bits, most), question.rows)
    }

    fn laid_out(
        condition: &Cond,
        fields: &[Field],
        (space_bits, most): (u32, usize),
        rows: usize,
    ) -> Result<Self, QueryError> {
        let mut layout = Layout { fields, space_bits, most, steps: Vec::new() };
        layout.push(condition);
        let steps = layout.steps;
        if steps.len() > MOST_STEPS {
            return Err(QueryError::Steps { got: steps.len(), most: MOST_STEPS });
        }
        let column = |(number, field): (usize, &Field)| {
            let looked_at = |step: &Step| match step {
                Step::Digit { column, at, .. } if *column == number => Some(at + 1),
                _ => None,
            };
            let used = steps.iter().filter_map(looked_at).max().unwrap_or(0);
            let digits = digits(field.bits(), space_bits)[..used].to_vec();
            ColumnDigits { column: field.name.clone(), offset: field.low, bits: field.bits(), digits }
        };
        Ok(Self { columns: fields.iter().enumerate().map(column).collect(), steps, rows })
    }

    /// Bootstrappings of a row, the flag's among them.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    pub fn columns(&self) -> &[ColumnDigits] {
        &self.columns
    }

    pub fn summary(&self) -> FilterSummary {
        let column = |(number, column): (usize, &ColumnDigits)| {
            let own = |step: &&Step| matches!(step, Step::Digit { column, .. } if *column == number);
            let bootstrappings = self.steps.iter().filter(own).count();
            ColumnSummary { name: column.column.clone(), bits: column.bits, bootstrappings }
        };
        let columns = self.columns.iter().enumerate().map(column).collect();
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
                let digit = |v: &i64| (v.abs_diff(column.offset) >> shift) & ((1 << width) - 1);
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

    /// Whether each row passes, by the same tables on clear digits.
    ///
    /// # Panics
    /// If the digits do not match [`Self::inputs`].
    pub fn clear(&self, inputs: &[Vec<u64>]) -> Vec<bool> {
        let row = |row: usize| {
            let mut stack: Vec<u64> = Vec::new();
            for step in &self.steps {
                let met = match step {
                    Step::Digit { column, at, .. } => {
                        let digit = inputs[self.input(*column, *at)][row];
                        let state = if *at == 0 { 0 } else { stack.pop().expect("a state before this digit") };
                        state << self.columns[*column].digits[*at] | digit
                    }
                    Step::Join { count, .. } => stack.split_off(stack.len() - count).iter().sum(),
                };
                stack.push(step.table()[usize::try_from(met).expect("a message")]);
            }
            stack == [1]
        };
        (0..self.rows).map(row).collect()
    }

    /// Whether a message of [`Self::evaluate`] means that the row passes: the last table says so.
    pub fn accepts(&self, message: u64) -> bool {
        let last = self.steps.last().map_or(&[][..], Step::table);
        usize::try_from(message).is_ok_and(|at| last.get(at) == Some(&1))
    }

    /// Number of ciphertexts in the state after so many steps: bits that wait to be joined, and the state of the current
    /// column.
    fn kept(&self, steps: usize) -> usize {
        self.steps[..steps].iter().fold(0, |kept, step| match step {
            Step::Digit { at: 0, .. } => kept + 1,
            Step::Digit { .. } => kept,
            Step::Join { count, .. } => kept + 1 - count,
        })
    }

    /// The encrypted filter without its last table, which the caller derives from [`Self::accepts`]. All rows form one
    /// batch, and each step is one bootstrapping of it. The journal keeps bits that wait and the state of the current
    /// column.
    ///
    /// # Panics
    /// If there are fewer inputs than digits.
    pub fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D, Tfhe>,
    ) -> limbwise::Result<Ciphertext<D>> {
        let start = State { step: 0, ciphertexts: Vec::new(), numbers: Vec::new() };
        let mut state: State<D, Tfhe> = journal.resume()?.unwrap_or(start);
        let total = self.steps();
        if state.step >= total || state.ciphertexts.len() != self.kept(state.step) {
            return Err(limbwise::Error::State);
        }
        for (done, step) in self.steps.iter().enumerate().skip(state.step) {
            let (met, name) = match step {
                Step::Digit { column, at, .. } => {
                    let _region = eval.device().region("range test", index(*column));
                    let (of, digit) = (&self.columns[*column], &inputs[self.input(*column, *at)]);
                    let met = match at {
                        0 => digit.clone(),
                        _ => {
                            let before = state.ciphertexts.pop().expect("a state before this digit");
                            eval.add(&eval.scale(&before, 1 << of.digits[*at]), digit)?
                        }
                    };
                    (met, format!("compare {}", of.column))
                }
                Step::Join { count, .. } => {
                    let mut bits = state.ciphertexts.drain(state.ciphertexts.len() - count..);
                    let first = bits.next().expect("a bit a test");
                    (bits.try_fold(first, |sum, bit| eval.add(&sum, &bit))?, "selection".into())
                }
            };
            if done + 1 == total {
                return Ok(met);
            }
            observer.step(&name, done, total);
            let mut entries = step.table().to_vec();
            entries.resize(eval.params().table_len(), 0); // messages that do not come
            let _region = match step {
                Step::Digit { column, .. } => eval.device().region("range test", index(*column)),
                Step::Join { .. } => eval.device().region("join", 0),
            };
            state.ciphertexts.push(eval.bootstrap(&met, &[Table::new(eval.params(), &entries)?])?);
            state.step = done + 1;
            journal.keep(&state)?;
        }
        Err(limbwise::Error::State)
    }
}

fn index(of: usize) -> u32 {
    u32::try_from(of).expect("few columns")
}

#[cfg(test)]
mod tests {
    use super::super::table::Kind;
    use super::*;

    fn field(bits: u32) -> Field {
        Field { name: "x".into(), kind: Kind::Number(0), low: 0, high: (1 << bits) - 1, categories: Vec::new() }
    }

    fn filter(bits: u32, set: Set, space: u32, rows: usize) -> Filter {
        Filter::laid_out(&Cond::In { column: 0, set }, &[field(bits)], (space, (1 << space) - 1), rows).unwrap()
    }

    /// Every range of every width to 8 bits, over every value, in spaces of 3 to 6 bits.
    #[test]
    fn automata_decide_every_range_exactly() {
        for space in 3..=6 {
            for bits in 1..=if space == 4 { 8 } else { 6 } {
                let all: Vec<i64> = (0..1 << bits).collect();
                for low in 0..1i64 << bits {
                    for high in low..1 << bits {
                        if (low, high) == (0, (1 << bits) - 1) {
                            continue;
                        }
                        let filter = filter(bits, Set::range(low, high), space, all.len());
                        let (entries, tables) = (1usize << space, filter.steps.iter().map(Step::table));
                        let fit = tables.clone().all(|t| t.len() <= entries && t.iter().all(|&s| s < 4));
                        assert!(fit && filter.steps.iter().all(|s| matches!(s, Step::Digit { .. })), "{filter:?}");
                        let found = filter.clear(&filter.inputs(&[&all]));
                        assert!(all.iter().zip(found).all(|(v, f)| (low..=high).contains(v) == f), "{low} {high}");
                    }
                }
            }
        }
    }

    /// Every set of values of five bits of which every third is looked at, and lists that take several automata.
    #[test]
    fn sets_of_several_ranges_are_decided_exactly() {
        let check = |bits: u32, members: &dyn Fn(i64) -> bool| {
            let all: Vec<i64> = (0..1 << bits).collect();
            let set = Set::of(all.iter().filter(|&&v| members(v)).map(|&v| (v, v)).collect());
            if set.is_empty() || set == Set::range(0, (1 << bits) - 1) {
                return 0;
            }
            for space in [3, 4, 5] {
                let filter = filter(bits, set.clone(), space, all.len());
                assert!(filter.steps.iter().all(|s| s.table().len() <= 1 << space), "{filter:?}");
                let found = filter.clear(&filter.inputs(&[&all]));
                assert!(all.iter().zip(found).all(|(&v, f)| members(v) == f), "{set:?} in {space} bits");
            }
            filter(bits, set, 4, 1).steps()
        };
        for set in (0u64..1 << 16).step_by(37) {
            check(4, &|v| set >> v & 1 == 1);
        }
        for set in (0u64..1 << 32).step_by((1 << 21) + 12_345) {
            check(5, &|v| set >> v & 1 == 1);
        }
        check(9, &|v| v % 7 == 3);
        // A value that is left out costs what a value costs, and so do two that lie together.
        assert_eq!(check(8, &|v| v == 77), check(8, &|v| v != 77));
        assert_eq!(check(8, &|v| v == 76 || v == 79), check(8, &|v| v == 77));
    }

    #[test]
    fn formulas_are_decided_exactly() {
        let fields = [field(3), field(6)];
        let test = |column: usize, low, high| Cond::test(column, Set::range(low, high), &fields[column]);
        let or = Cond::any(vec![test(0, 1, 2), Cond::all(vec![test(0, 5, 7), test(1, 9, 40)], &fields)], &fields);
        let many = (0..20).map(|i| Cond::any(vec![test(0, i % 8, 7), test(1, i, i + 3)], &fields)).collect();
        let many = Cond::all(many, &fields);
        for cond in [or.clone(), or.not(&fields), many.clone(), many.not(&fields)] {
            let rows: Vec<(i64, i64)> = (0..8).flat_map(|a| (0..64).map(move |b| (a, b))).collect();
            let columns = [rows.iter().map(|r| r.0).collect::<Vec<_>>(), rows.iter().map(|r| r.1).collect()];
            let filter = Filter::laid_out(&cond, &fields, (4, 5), rows.len()).unwrap();
            let found = filter.clear(&filter.inputs(&[&columns[0], &columns[1]]));
            let wanted = rows.iter().map(|&(a, b)| cond.passes(&|column| [a, b][column]));
            assert!(wanted.zip(found).all(|(w, f)| w == f), "{cond:?}");
            let row = cond.refused_row(&fields).unwrap();
            assert!(!cond.passes(&|column| row[column]), "{cond:?} {row:?}");
        }
    }

    #[test]
    fn few_steps_where_few_are_needed() {
        let steps = |bits, (low, high)| filter(bits, Set::range(low, high), 4, 1).steps();
        // TPC-H's own ranges: days of 1994, discounts of 0.05 to 0.07, quantities below 24.
        assert_eq!([steps(12, (731, 1095)), steps(4, (5, 7)), steps(6, (0, 22))], [5, 1, 2]);
        assert_eq!([steps(12, (256, 511)), steps(40, (0, (1 << 39) - 1))], [1, 1], "certain after the first digit");
        assert_eq!(digits(12, 4), [4, 2, 2, 2, 2]);
        assert_eq!((digits(7, 4), digits(3, 4), digits(9, 3)), (vec![3, 2, 2], vec![3], vec![3, 1, 1, 1, 1, 1, 1]));
    }

    #[test]
    fn a_state_has_a_bit_for_each_column_that_was_begun() {
        let fields = [field(12), field(4), field(6)];
        let ranges = [(731, 1095), (5, 7), (0, 22)];
        let tests = (0..).zip(ranges).map(|(column, (low, high))| Cond::In { column, set: Set::range(low, high) });
        let filter = Filter::laid_out(&Cond::All(tests.collect()), &fields, (4, 15), 1).unwrap();
        assert_eq!((0..filter.steps()).map(|step| filter.kept(step)).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1, 2, 3, 3]);
    }
}
