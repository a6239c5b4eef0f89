//! Range tests as automata over digits: one programmable bootstrapping per digit, most significant first.
//!
//! After a prefix of digits, the rest must pass a range test again, and at most four such tests occur: the prefix
//! equals that of the low end, that of the high end, or that of both; or the outcome is already decided. The state
//! takes two bits, and the rest of the message space holds a digit. The first digit needs no state and fills the space.
//! The automaton ends early if its state is decided. The bits of all columns are summed, and one more table tests
//! whether all are set. Tables, rotations and failure probability follow from the query and the column widths.

use super::{
    error::QueryError,
    question::{Question, Range},
};
use crate::program::{Journal, Observer, State, Tfhe};
use limbwise::tfhe::{Ciphertext, Evaluator, Table, TfheParams};
use limbwise_device::Device;
use serde::Serialize;

const STATE_BITS: u32 = 2;

/// The test that remains for the remaining digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    Out,
    In,
    /// Passes values in a range.
    Within(u64, u64),
}

impl Rest {
    /// The test of a range of numbers of this many bits.
    fn new(low: u64, high: u64, bits: u32) -> Self {
        if (low, high) == (0, (1 << bits) - 1) { Self::In } else { Self::Within(low, high) }
    }

    /// The test that remains after one digit of numbers of this many bits.
    fn after(self, digit: u64, bits: u32) -> Self {
        let Self::Within(low, high) = self else { return self };
        let first = digit << bits;
        let last = first + ((1 << bits) - 1);
        if last < low || first > high {
            return Self::Out;
        }
        Self::new(low.max(first) - first, high.min(last) - first, bits)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnTest {
    pub column: String,
    /// Smallest value of the domain, which digits count from.
    pub offset: i64,
    /// Bits of each digit, most significant first.
    pub digits: Vec<u32>,
    /// Table of each bootstrapping: input is state · 2^(bits of its digit) + digit. The last table gives 1 if the row
    /// passes.
    pub tables: Vec<Vec<u64>>,
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

impl ColumnTest {
    fn new(range: &Range, space_bits: u32) -> Self {
        let field = &range.field;
        let bits = field.bits();
        // Values outside the domain do not occur, so the automaton may treat them as it likes.
        let low = range.low.abs_diff(field.low);
        let high = if range.high == field.high { (1 << bits) - 1 } else { range.high.abs_diff(field.low) };
        let digits = digits(bits, space_bits);
        let (mut states, mut tables, mut rest_bits) = (vec![Rest::new(low, high, bits)], Vec::new(), bits);
        for &digit in &digits {
            rest_bits -= digit;
            let after = |state: &Rest| (0..1 << digit).map(|d| state.after(d, rest_bits)).collect::<Vec<Rest>>();
            let reached: Vec<Rest> = states.iter().flat_map(after).collect();
            let mut next = vec![Rest::Out, Rest::In]; // 0 and 1, so that the last state is the answer
            next.extend(reached.iter().filter(|rest| matches!(rest, Rest::Within(..))));
            next.sort_unstable();
            next.dedup();
            let number = |rest: &Rest| next.iter().position(|other| other == rest).map_or(0, |at| at as u64);
            tables.push(reached.iter().map(number).collect());
            states = next;
            if states.len() == 2 {
                break;
            }
        }
        let digits = digits[..tables.len()].to_vec();
        Self { column: field.name.clone(), offset: field.low, digits, tables }
    }
}

/// The filter of a query: all range tests, and whether their bits are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub tests: Vec<ColumnTest>,
    rows: usize,
    bits: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterSummary {
    pub bootstrappings_per_row: usize,
    /// Name, bits and bootstrappings of each column.
    pub columns: Vec<ColumnSummary>,
}

/// Cost of one column's test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnSummary {
    pub name: String,
    /// Bits needed to distinguish its values.
    pub bits: u32,
    pub bootstrappings: usize,
}

impl Filter {
    /// The filter of a query for messages of these parameters.
    ///
    /// # Errors
    /// [`QueryError::Bits`] or [`QueryError::Columns`] where the message space is too small.
    pub fn new(question: &Question, params: &TfheParams) -> Result<Self, QueryError> {
        let literal = params.literal();
        let bits = literal.message_bits;
        // A state plus a digit has norm √(4^(bits − 2) + 1), for which the parameter sets of such spaces are made.
        let norm = f64::from(1u32 << (bits.max(STATE_BITS) - STATE_BITS)).hypot(1.0);
        if bits <= STATE_BITS || norm > literal.norm {
            return Err(QueryError::Bits { bits });
        }
        let most = (1..params.table_len()).take_while(|&n| (n as f64).sqrt() <= literal.norm).count();
        if question.ranges.len() > most {
            return Err(QueryError::Columns { got: question.ranges.len(), most });
        }
        let tests = question.ranges.iter().map(|range| ColumnTest::new(range, bits)).collect();
        let bits = question.ranges.iter().map(|range| range.field.bits()).collect();
        Ok(Self { tests, rows: question.rows, bits })
    }

    pub fn steps(&self) -> usize {
        self.tests.iter().map(|t| t.tables.len()).sum::<usize>() + usize::from(self.tests.len() > 1)
    }

    pub fn summary(&self) -> FilterSummary {
        let column = |(test, &bits): (&ColumnTest, &u32)| ColumnSummary {
            name: test.column.clone(),
            bits,
            bootstrappings: test.tables.len(),
        };
        let columns = self.tests.iter().zip(&self.bits).map(column).collect();
        FilterSummary { bootstrappings_per_row: self.steps(), columns }
    }

    /// Largest digit of each input, in the order of [`Self::inputs`].
    pub fn largest(&self) -> Vec<u64> {
        self.tests.iter().flat_map(|t| &t.digits).map(|&bits| (1 << bits) - 1).collect()
    }

    /// Values that the client encrypts: for each column its digits, as one list of messages per digit.
    pub fn inputs(&self, columns: &[&[i64]]) -> Vec<Vec<u64>> {
        let column = |((test, &bits), values): ((&ColumnTest, &u32), &&[i64])| {
            let mut shift = bits;
            let digit = |&width: &u32| {
                shift -= width;
                let digit = |v: &i64| (v.abs_diff(test.offset) >> shift) & ((1 << width) - 1);
                values.iter().map(digit).collect::<Vec<u64>>()
            };
            test.digits.iter().map(digit).collect::<Vec<_>>()
        };
        self.tests.iter().zip(&self.bits).zip(columns).flat_map(column).collect()
    }

    /// Whether each row passes, by the same tables on clear digits.
    ///
    /// # Panics
    /// If the digits do not match [`Self::inputs`].
    pub fn clear(&self, inputs: &[Vec<u64>]) -> Vec<bool> {
        let row = |i: usize| {
            let mut inputs = inputs.iter().map(|digits| digits[i]);
            self.tests.iter().all(|test| {
                let steps = test.digits.iter().zip(&test.tables).zip(inputs.by_ref().take(test.digits.len()));
                let next = |state: u64, ((&bits, table), digit): ((&u32, &Vec<u64>), u64)| {
                    let at = usize::try_from(state << bits | digit).expect("a message");
                    table[at]
                };
                steps.fold(0, next) == 1
            })
        };
        (0..self.rows).map(row).collect()
    }

    /// Whether a message of [`Self::evaluate`] means that the row passes: all bits are set or, for a single test, its
    /// last table says so.
    pub fn accepts(&self, message: u64) -> bool {
        match &self.tests[..] {
            [test] => {
                let last = test.tables.last().map_or(&[][..], |table| &table[..]);
                usize::try_from(message).is_ok_and(|at| last.get(at) == Some(&1))
            }
            tests => message == tests.len() as u64,
        }
    }

    /// Number of ciphertexts in the state after these steps: one bit per finished column, plus the state of the current
    /// one.
    fn kept(&self, step: usize) -> usize {
        let mut before = 0;
        let begun = |test: &&ColumnTest| {
            let begun = before < step;
            before += test.tables.len();
            begun
        };
        self.tests.iter().take_while(begun).count()
    }

    /// The encrypted filter without its last table, which the caller derives from [`Self::accepts`]. All rows form one
    /// batch, and each step is one bootstrapping of it. The journal keeps the bits of finished columns and the state of
    /// the current one.
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
        let (mut step, total) = (0, self.steps());
        if state.step >= total || state.ciphertexts.len() != self.kept(state.step) {
            return Err(limbwise::Error::State);
        }
        let mut inputs = inputs.iter();
        for (column, test) in self.tests.iter().enumerate() {
            let _region = eval.device().region("range test", index(column));
            let digits = test.digits.iter().zip(&test.tables).zip(&mut inputs);
            for (at, ((&bits, entries), digit)) in digits.enumerate() {
                step += 1;
                if step <= state.step {
                    continue; // kept
                }
                let met = match at {
                    0 => digit.clone(),
                    _ => {
                        let before = state.ciphertexts.pop().expect("a state before this digit");
                        eval.add(&eval.scale(&before, 1 << bits), digit)?
                    }
                };
                if step == total {
                    return Ok(met);
                }
                observer.step(&format!("compare {}", test.column), step - 1, total);
                let mut entries = entries.clone();
                entries.resize(eval.params().table_len(), 0); // messages that do not come
                state.ciphertexts.push(eval.bootstrap(&met, &[Table::new(eval.params(), &entries)?])?);
                state.step = step;
                journal.keep(&state)?;
            }
        }
        let mut bits = state.ciphertexts.into_iter();
        let first = bits.next().expect("a bit a column");
        bits.try_fold(first, |sum, bit| eval.add(&sum, &bit))
    }
}

fn index(of: usize) -> u32 {
    u32::try_from(of).expect("few columns")
}

#[cfg(test)]
mod tests {
    use super::super::{question::Field, table::Kind};
    use super::*;

    fn test(bits: u32, (low, high): (i64, i64), space: u32) -> ColumnTest {
        let field = Field { name: "x".into(), kind: Kind::Number(0), low: 0, high: (1 << bits) - 1 };
        ColumnTest::new(&Range { field, low, high }, space)
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
                        let test = test(bits, (low, high), space);
                        let entries = 1usize << space;
                        assert!(test.tables.iter().all(|t| t.len() <= entries && t.iter().all(|&s| s < 4)), "{test:?}");
                        let filter = Filter { tests: vec![test], rows: all.len(), bits: vec![bits] };
                        let found = filter.clear(&filter.inputs(&[&all]));
                        assert!(all.iter().zip(found).all(|(v, f)| (low..=high).contains(v) == f), "{low} {high}");
                    }
                }
            }
        }
    }

    #[test]
    fn few_steps_where_few_are_needed() {
        let steps = |bits, range| test(bits, range, 4).tables.len();
        // TPC-H's own ranges: days of 1994, discounts of 0.05 to 0.07, quantities below 24.
        assert_eq!([steps(12, (731, 1095)), steps(4, (5, 7)), steps(6, (0, 22))], [5, 1, 2]);
        assert_eq!([steps(12, (256, 511)), steps(40, (0, (1 << 39) - 1))], [1, 1], "certain after the first digit");
        assert_eq!(digits(12, 4), [4, 2, 2, 2, 2]);
        assert_eq!((digits(7, 4), digits(3, 4), digits(9, 3)), (vec![3, 2, 2], vec![3], vec![3, 1, 1, 1, 1, 1, 1]));
    }

    #[test]
    fn a_state_has_a_bit_for_each_column_that_was_begun() {
        let tests = vec![test(12, (731, 1095), 4), test(4, (5, 7), 4), test(6, (0, 22), 4)];
        let filter = Filter { tests, rows: 1, bits: vec![12, 4, 6] };
        assert_eq!((0..filter.steps()).map(|step| filter.kept(step)).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1, 2, 3, 3]);
    }
}
