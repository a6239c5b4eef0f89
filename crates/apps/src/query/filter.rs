//! Range tests as automata over digits: one programmable bootstrapping a digit, most significant first.
//!
//! What a prefix of digits leaves to be asked of the rest is again a range test, and there are at most four of them: the
//! prefix is that of the low end, of the high end (or both), or all that follows passes, or nothing does. So a state takes
//! two bits, and what is left of the message space holds a digit; the first digit needs no state and fills the space. A
//! state that is certain early ends the automaton. The columns' bits are added up, and one more table says whether all
//! are set. Everything is known from the query and the widths: tables, rotations, failure.

use super::{
    error::QueryError,
    question::{Question, Range},
};
use crate::program::{Journal, Observer, State, Tfhe};
use limbwise::tfhe::{Ciphertext, Evaluator, Table, TfheParams};
use limbwise_device::Device;
use serde::Serialize;

const STATE_BITS: u32 = 2;

/// What is left to be asked of the digits that remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    Out,
    In,
    /// What lies in a range passes.
    Within(u64, u64),
}

impl Rest {
    /// The test of a range of numbers of so many bits.
    fn new(low: u64, high: u64, bits: u32) -> Self {
        if (low, high) == (0, (1 << bits) - 1) { Self::In } else { Self::Within(low, high) }
    }

    /// After a digit, of numbers of so many bits.
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
    /// What its values are counted from.
    pub offset: i64,
    /// Bits of each digit, most significant first.
    pub digits: Vec<u32>,
    /// What each bootstrapping makes of state · 2^(bits of its digit) + digit; the last one gives 1 where the row passes.
    pub tables: Vec<Vec<u64>>,
}

/// Bits of the digits of a column: the first fills the space or takes what is left over, the others leave a state's room.
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
        // No value lies beyond the domain: whatever suits the automaton is asked there.
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

/// The filter of a question: all tests, and whether their bits are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub tests: Vec<ColumnTest>,
    rows: usize,
    bits: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterSummary {
    pub bootstrappings_per_row: usize,
    /// Of each column: its name, its bits, its bootstrappings.
    pub columns: Vec<ColumnSummary>,
}

/// What the test of a column takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnSummary {
    pub name: String,
    /// Bits that tell its values apart.
    pub bits: u32,
    pub bootstrappings: usize,
}

impl Filter {
    /// The filter of a question over messages of these parameters.
    ///
    /// # Errors
    /// [`QueryError::Bits`] or [`QueryError::Columns`] where the message space is too small.
    pub fn new(question: &Question, params: &TfheParams) -> Result<Self, QueryError> {
        let literal = params.literal();
        let bits = literal.message_bits;
        // A state and a digit are added with norm √(4^(bits − 2) + 1), which sets for such spaces are made for.
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

    /// What the client encrypts: for each column the digits of its values, a list of messages a digit.
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
    /// If the digits are not those of [`Self::inputs`].
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

    /// Whether a message of [`Self::evaluate`] says that the row passes: all bits set, or what the last table of the only test
    /// makes of it.
    pub fn accepts(&self, message: u64) -> bool {
        match &self.tests[..] {
            [test] => {
                let last = test.tables.last().map_or(&[][..], |table| &table[..]);
                usize::try_from(message).is_ok_and(|at| last.get(at) == Some(&1))
            }
            tests => message == tests.len() as u64,
        }
    }

    /// Ciphertexts of a state after so many steps: a bit of each column that is done, and the state of the one under way.
    fn kept(&self, step: usize) -> usize {
        let mut before = 0;
        let begun = |test: &&ColumnTest| {
            let begun = before < step;
            before += test.tables.len();
            begun
        };
        self.tests.iter().take_while(begun).count()
    }

    /// The encrypted filter but for its last table, which makes what the caller wants of the messages that
    /// [`Self::accepts`] knows: all rows are one batch, and each step one bootstrapping of it. The journal keeps the bits of
    /// the columns that are done, and the state of the one under way.
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
        // TPC-H's own: days of 1994, discounts of 0.05 to 0.07, quantities below 24.
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
