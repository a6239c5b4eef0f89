//! The forest on encrypted bits: sums, one batch of bootstrappings for many trees, sums of their results.

use super::{
    Circuit, ForestError,
    circuit::{Block, Condition, Mode},
    quantize::Forest,
    skeleton::{Skeleton, leaf},
};
use crate::{
    family::Twin,
    program::{Array, Details, Encryption, Evaluation, Messages, Numbers, Program, State, Tfhe, fields},
};
use limbwise::{
    Result,
    tfhe::{Ciphertext, Evaluator, Table, TfheParams, TfheReading, bootstrap::MOST_AT_ONCE, noise},
};
use limbwise_device::Device;
use serde_json::json;
use std::{ops::Range, sync::Arc};

/// Most rows in one pass.
pub const MOST_ROWS: usize = 64;
/// Most messages of the inputs and of the results: 4 and 1 GB at N = 2048.
const MOST_INPUTS: usize = 1 << 18;
const MOST_RESULTS: usize = 1 << 16;

/// A forest on so many rows.
#[derive(Clone, Debug)]
pub struct Inference {
    params: TfheParams,
    forest: Arc<Forest>,
    circuit: Arc<Circuit>,
    rows: usize,
}

impl Inference {
    /// Of 1 to [`MOST_ROWS`] rows.
    ///
    /// # Errors
    /// [`ForestError`]: the parameters have no room for the trees, or the rows are too many.
    pub fn new(params: &TfheParams, forest: Forest, rows: usize) -> std::result::Result<Self, ForestError> {
        if !(1..=MOST_ROWS).contains(&rows) {
            return ForestError::shape("rows", rows, "1 to 64 in one pass");
        }
        let circuit = Circuit::new(&forest, params)?;
        let program = Self { params: params.clone(), forest: Arc::new(forest), circuit: Arc::new(circuit), rows };
        let (inputs, results) = (program.bits() * rows, program.answers() * rows);
        if inputs > MOST_INPUTS || results > MOST_RESULTS {
            let wanted = format!("at most {MOST_INPUTS} and {MOST_RESULTS}: fewer rows, or fewer --bits");
            return ForestError::shape("a pass", format!("{inputs} bits and {results} results"), wanted);
        }
        Ok(program)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    fn skeleton(&self) -> &Skeleton {
        &self.forest.skeleton
    }

    /// Bits of a row. A forest without a cut takes one that it does not read.
    fn bits(&self) -> usize {
        self.skeleton().cuts.len().max(1)
    }

    /// Results of a row.
    fn answers(&self) -> usize {
        self.circuit.groups.len() * self.digits()
    }

    /// Results of a group.
    fn digits(&self) -> usize {
        self.circuit.results_of_a_group(self.skeleton().task.outputs())
    }

    /// The bits of rows of features, cut by cut.
    #[must_use]
    pub fn encode(&self, rows: &[Vec<f64>]) -> Vec<u64> {
        let rows: Vec<Vec<bool>> = rows.iter().map(|row| self.skeleton().bits(row)).collect();
        let of_cut = |cut: usize| rows.iter().map(move |bits| u64::from(bits.get(cut) == Some(&true)));
        (0..self.bits()).flat_map(of_cut).collect()
    }

    /// Sums of levels of each row from decrypted messages, an output each.
    ///
    /// # Panics
    /// If there are fewer messages than the result has.
    #[must_use]
    pub fn sums(&self, messages: &[u64]) -> Vec<Vec<u64>> {
        let (outputs, (base, digits)) = (self.skeleton().task.outputs(), self.circuit.digits);
        let sum = |row: usize, output: usize| {
            let places = (0..self.circuit.groups.len()).flat_map(|group| (0..digits).map(move |digit| (group, digit)));
            let message = |(group, digit): (usize, usize)| {
                let at = group * self.digits() + output * digits + digit;
                let worth: u64 = (0..digit).map(|_| u64::from(base)).product();
                worth * messages[at * self.rows + row]
            };
            places.map(message).sum()
        };
        (0..self.rows).map(|row| (0..outputs).map(|output| sum(row, output)).collect()).collect()
    }

    /// Scores of each row from decrypted messages.
    #[must_use]
    pub fn scores(&self, messages: &[u64]) -> Vec<Vec<f64>> {
        self.sums(messages).iter().map(|sums| self.skeleton().scores(sums)).collect()
    }

    /// Groups that are evaluated together: as few as fill a batch.
    fn turns(&self) -> Vec<Range<usize>> {
        let jobs = if self.circuit.mode == Mode::Values { self.digits() } else { 1 };
        let (mut turns, mut from, mut filled) = (Vec::new(), 0, 0);
        for (at, group) in self.circuit.groups.iter().enumerate() {
            let own = group.iter().map(Range::len).sum::<usize>() * jobs * self.rows;
            if at > from && filled + own > MOST_AT_ONCE {
                turns.push(from..at);
                (from, filled) = (at, 0);
            }
            filled += own;
        }
        turns.push(from..self.circuit.groups.len());
        turns
    }

    /// Digit of a result of a group, for a leaf.
    fn digit(&self, leaf: usize, result: usize) -> u16 {
        let digits = self.circuit.digits.1;
        self.circuit.digit(self.forest.of_leaf(leaf)[result / digits], result % digits)
    }

    /// The table of a block for one of the results of its group: the outcomes' digits, 0 below them.
    fn table(&self, block: &Block, result: Option<usize>) -> Result<Table> {
        let value = |leaf: &usize| result.map_or(1, |result| i64::from(self.digit(*leaf, result)));
        let values: Vec<i64> = block.leaves.iter().map(value).collect();
        let at = |m: u64| usize::try_from(m).ok().and_then(|m| values.get(m)).copied().unwrap_or(0);
        Table::signed(&self.params, at)
    }

    /// Largest digit of a result.
    fn highest(&self) -> u64 {
        u64::from(self.circuit.digits.0 - 1).min(u64::from(self.skeleton().scale.levels))
    }
}

/// Evaluates on the bits of all rows.
struct Bits<'a, 'e, D: Device> {
    eval: &'a Evaluator<'e, D>,
    bits: Vec<Ciphertext<D>>,
}

impl<D: Device> Bits<'_, '_, D> {
    fn zero(&self) -> Ciphertext<D> {
        self.eval.scale(&self.bits[0], 0)
    }

    /// The bit of a condition, without the 1 that a condition on the left adds to it.
    fn condition(&self, condition: Condition) -> Result<(Ciphertext<D>, i32)> {
        Ok(match condition {
            Condition::Right(cut) => (self.bits[cut].clone(), 0),
            Condition::Left(cut) => (self.eval.scale(&self.bits[cut], -1), 1),
            // The first cut lies on the left of the second: who is on the right of the second is so of both.
            Condition::Between(above, below) => (self.eval.sub(&self.bits[above], &self.bits[below])?.at_most(1)?, 0),
        })
    }

    /// `W·(conditions that hold − d) + outcome`.
    fn sum(&self, block: &Block) -> Result<Ciphertext<D>> {
        let weight = i32::try_from(block.outcomes()).unwrap_or(i32::MAX);
        let (mut sum, mut held) = (None, 0);
        let mut add = |term: Ciphertext<D>| -> Result<()> {
            sum = Some(match sum.take() {
                Some(sum) => self.eval.add(&sum, &term)?,
                None => term,
            });
            Ok(())
        };
        for &condition in &block.conditions {
            let (bit, one) = self.condition(condition)?;
            held += one - 1;
            add(if weight == 1 { bit } else { self.eval.scale(&bit, weight) })?;
        }
        for &(cut, weight) in &block.terms {
            add(if weight == 1 { self.bits[cut].clone() } else { self.eval.scale(&self.bits[cut], weight) })?;
        }
        let sum = sum.unwrap_or_else(|| self.zero());
        Ok(if held == 0 { sum } else { self.eval.add_clear(&sum, held * weight) })
    }
}

impl Inference {
    /// The results of some groups.
    fn turn<D: Device>(&self, bits: &Bits<'_, '_, D>, groups: Range<usize>) -> Result<Vec<Ciphertext<D>>> {
        let (eval, groups) = (bits.eval, &self.circuit.groups[groups]);
        let mut jobs = Vec::new();
        for block in groups.iter().flatten().flat_map(|part| &self.circuit.blocks[part.clone()]) {
            let sum = bits.sum(block)?;
            match self.circuit.mode {
                Mode::Leaves => jobs.push((sum, self.table(block, None)?)),
                Mode::Values => {
                    for result in 0..self.digits() {
                        jobs.push((sum.clone(), self.table(block, Some(result))?));
                    }
                }
            }
        }
        let mut found = eval.bootstrap_jobs(&jobs)?.into_iter().flatten();
        let mut results = Vec::new();
        for group in groups {
            let mut sums: Vec<Option<Ciphertext<D>>> = vec![None; self.digits()];
            for part in group {
                let own = self.part(bits, &self.circuit.blocks[part.clone()], &mut found)?;
                for (sum, own) in sums.iter_mut().zip(own) {
                    *sum = Some(match sum.take() {
                        Some(sum) => eval.add(&sum, &own)?,
                        None => own,
                    });
                }
            }
            results.extend(sums.into_iter().flatten());
        }
        Ok(results)
    }

    /// The digits of a part of one tree, from what its blocks gave: at most one of them is not 0. Range and noise are told
    /// as for leaves of any value, because the client knows none.
    fn part<D: Device>(
        &self,
        bits: &Bits<'_, '_, D>,
        blocks: &[Block],
        found: &mut impl Iterator<Item = Ciphertext<D>>,
    ) -> Result<Vec<Ciphertext<D>>> {
        let jobs = if self.circuit.mode == Mode::Values { self.digits() } else { 1 };
        let own: Vec<Ciphertext<D>> = found.take(blocks.len() * jobs).collect();
        let sum = |result: usize| -> Result<Ciphertext<D>> {
            let terms: Vec<&Ciphertext<D>> = match self.circuit.mode {
                Mode::Values => own.iter().skip(result).step_by(jobs).collect(),
                Mode::Leaves => {
                    let one = |(block, _): &(&Block, &Ciphertext<D>)| self.digit(block.leaves[0], result) == 1;
                    blocks.iter().zip(&own).filter(one).map(|(_, found)| found).collect()
                }
            };
            let mut sum = terms.first().map_or_else(|| bits.zero(), |&first| first.clone());
            for term in terms.iter().skip(1) {
                sum = bits.eval.add(&sum, term)?;
            }
            Ok(sum.at_most(self.highest())?.no_quieter_than(blocks.len() as f64))
        };
        (0..self.digits()).map(sum).collect()
    }
}

impl Program for Inference {
    type Scheme = Tfhe;

    fn name(&self) -> &'static str {
        "forest"
    }

    fn params(&self) -> &TfheParams {
        &self.params
    }

    fn inputs(&self) -> Vec<Messages> {
        vec![Messages { name: "bits".into(), batch: self.bits() * self.rows, most: 1 }]
    }

    fn model(&self) {}

    /// There is no public key.
    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    /// The state after a turn holds the results of its groups and of those before.
    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Tfhe>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: eval, inputs, observer, journal } = on;
        let bit = |cut: usize| eval.split(&inputs[0], cut * self.rows, (cut + 1) * self.rows);
        let bits = Bits { eval, bits: (0..self.bits()).map(bit).collect() };
        let turns = self.turns();
        let done = |step: usize| turns[..step].last().map_or(0, |turn| turn.end) * self.digits();
        let mut state = match journal.resume()? {
            Some(state) if (1..turns.len()).contains(&state.step) && state.ciphertexts.len() == done(state.step) => {
                state
            }
            Some(_) => return Err(limbwise::Error::State),
            None => State { step: 0, ciphertexts: Vec::new(), numbers: Vec::new() },
        };
        for (at, turn) in turns.iter().enumerate().skip(state.step) {
            if at > 0 {
                journal.keep(&state)?;
            }
            observer.step("trees", at, turns.len());
            state.ciphertexts.extend(self.turn(&bits, turn.clone())?);
            state.step = at + 1;
        }
        Ok(vec![eval.stack(&state.ciphertexts.iter().collect::<Vec<_>>())?])
    }

    /// The class of each row where there are classes, and its scores.
    fn arrays(&self, results: &Vec<TfheReading>) -> Vec<Array> {
        let scores = self.scores(&results[0].messages);
        let skeleton = self.skeleton();
        let values = scores.iter().flatten().map(|&x| x.into()).collect();
        let shape = vec![self.rows, skeleton.task.outputs()];
        let all = Array { name: "scores".into(), shape, values, numbers: Numbers::Real };
        if skeleton.task.labels().is_empty() {
            return vec![all];
        }
        let classes = scores.iter().map(|scores| i64::try_from(skeleton.class(scores)).unwrap_or(0));
        vec![Array::whole("classes", vec![self.rows], classes), all]
    }

    fn details(&self) -> Details {
        let (circuit, skeleton) = (&*self.circuit, self.skeleton());
        let [chosen, blocks, leaves] = circuit.counts;
        let trees = skeleton.trees.len();
        fields(json!({
            "trees": trees,
            "leaves": self.forest.levels.len() / skeleton.task.outputs(),
            "features": skeleton.features,
            "cuts": skeleton.cuts.len(),
            "levels": skeleton.scale.levels,
            "class_labels": skeleton.task.labels(),
            "class_labels_are_texts": skeleton.text_labels,
            "batch": self.rows,
            "bootstrappings_per_row": chosen,
            "bootstrappings_per_tree": chosen as f64 / trees as f64,
            "alternatives": { "by_block": blocks, "by_leaf": leaves },
            "results_per_row": self.answers(),
            "log2_misread": noise::log2_misread(self.params.literal(), circuit.norm_squared()).max(-999.0),
        }))
    }
}

impl Twin for Inference {
    /// The results of every group, tree by tree: nothing of it goes by blocks but which tree's leaf is in which group.
    fn clear(&self, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let mut group_of = vec![0; self.forest.levels.len() / self.skeleton().task.outputs()];
        for (number, group) in self.circuit.groups.iter().enumerate() {
            let blocks = group.iter().flat_map(|part| &self.circuit.blocks[part.clone()]);
            blocks.flat_map(|block| &block.leaves).for_each(|&leaf| group_of[leaf] = number);
        }
        let mut messages = vec![0; self.answers() * self.rows];
        for row in 0..self.rows {
            let bits: Vec<bool> = (0..self.bits()).map(|cut| inputs[0][cut * self.rows + row] == 1).collect();
            for tree in &self.forest.trees {
                let leaf = leaf(tree, &bits);
                for result in 0..self.digits() {
                    let at = group_of[leaf] * self.digits() + result;
                    messages[at * self.rows + row] += u64::from(self.digit(leaf, result));
                }
            }
        }
        vec![messages]
    }
}
