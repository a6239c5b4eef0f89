//! Search by similarity: which rows of an encrypted database are near an encrypted query, and what they carry.
//!
//! Rows are unit vectors, so a product is a cosine. A ciphertext holds coordinates of many rows, two rows a slot (real and
//! imaginary part); products with the query are added over ciphertexts and over the blocks of a ciphertext. A planned step
//! makes 1 of cosines above the threshold and 0 of those below, and multiplies what the rows carry, or is summed.

use crate::{
    description::Refusal,
    options::mistake,
    program::{Array, Ckks, Details, Encryption, Evaluation, Numbers, Program, SlotsInput as Input, fields},
};
use limbwise::{
    Complex64, Result,
    ckks::{
        Auto, Ciphertext, Packing, Promise,
        functions::{Composed, SignPlan},
    },
    params::Params,
    scheme::Maps,
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub mod client;
mod data;
mod layout;
pub mod options;

use layout::Layout;

/// Whole numbers that a row carries, from 0 to [`LARGEST`].
pub const PAYLOAD: usize = 7;
/// Largest of them.
pub const LARGEST: i16 = 511;
/// Most rows of a database.
pub const MOST_ROWS: usize = 1 << 20;
/// Most coordinates of a row.
pub const MOST_DIMENSION: usize = 1 << 12;

/// A payload is at most 1 in slots; one more slot says whether the row is selected.
const UNIT: f64 = 512.0;
/// Messages that hold the payload of a row and its flag, two numbers each.
const MESSAGES: usize = PAYLOAD.div_ceil(2);
/// Largest distance of a flag from 0 or 1 outside the margin: a payload of nine bits is off by an eighth at most.
const FLAG_ERROR: f64 = 1.0 / 4096.0;
/// The part of one match that all errors of a count may add up to.
const COUNT_ERROR: f64 = 0.125;
/// A flag or a count at most this far from a whole number is read; others are refused.
const READABLE: f64 = 0.25;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// The payloads of the matches.
    Payloads,
    /// Their number.
    Count,
}

/// Public metadata of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub rows: usize,
    pub dimension: usize,
    /// Rows whose cosine with the query is larger match.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub threshold: f64,
    /// Cosines nearer to the threshold are not decided.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub margin: f64,
    /// Most matches that a result may have.
    pub most: usize,
    pub wanted: Wanted,
}

impl Task {
    /// Largest distance of a cosine from the threshold.
    fn range(&self) -> f64 {
        1.0 + self.threshold
    }

    /// A cosine as the argument of the step, in [−1, 1].
    fn argument(&self, cosine: f64) -> f64 {
        (cosine - self.threshold) / self.range()
    }
}

/// The workload, without its data.
#[derive(Clone, Debug)]
pub struct Similarity {
    params: Params,
    task: Task,
    layout: Layout,
    step: Composed,
}

impl Similarity {
    /// The program of a task.
    ///
    /// # Errors
    /// Numbers out of their ranges, a margin that no polynomials reach, a set with too few levels.
    pub fn new((params, preset): (&Params, &str), task: Task) -> Result<Self, Refusal> {
        let Task { rows, dimension, threshold, margin, most, .. } = task;
        if !(1..=MOST_ROWS).contains(&rows) || !(1..=MOST_DIMENSION).contains(&dimension) {
            return Err(mistake(format!(
                "{rows} rows of {dimension} coordinates: choose 1 to {MOST_ROWS} rows of 1 to {MOST_DIMENSION}"
            )));
        }
        let possible = threshold > 0.0 && threshold < 1.0 && margin >= 1e-4 && margin < threshold.min(1.0 - threshold);
        if !possible {
            return Err(mistake(format!(
                "a threshold of {threshold} with a margin of {margin}: choose a threshold between 0 and 1, and a margin from 0.0001 that leaves room on both sides"
            )));
        }
        if !(1..=rows).contains(&most) {
            return Err(mistake(format!("{most} matches of {rows} rows: choose 1 to {rows}")));
        }
        let layout = Layout::new(rows, dimension, params.max_slots());
        let error = match task.wanted {
            Wanted::Payloads => FLAG_ERROR,
            Wanted::Count => FLAG_ERROR.min(COUNT_ERROR / layout.capacity() as f64),
        };
        let plan = SignPlan::new(margin / task.range(), 2.0 * error, 5)
            .ok_or_else(|| mistake(format!("a margin of {margin}: no polynomials decide it; choose a larger one")))?;
        // A cosine within the margin is refused.
        let step = Composed::step(&plan).beyond(margin / task.range());
        let program = Self { params: params.clone(), task, layout, step };
        let (needed, there) = (program.level(), params.user_level());
        if needed > there {
            return Err(mistake(format!(
                "{preset} has {there} levels, a margin of {margin} takes {needed}: choose a wider --margin, or a preset with more levels (limbwise params show)"
            )));
        }
        Ok(program)
    }

    /// Public metadata of the program.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Level of database and query: a product, the step, and a product with the payload or a factor.
    fn level(&self) -> usize {
        self.step.depth() + 2
    }

    /// Cosines over the range, real parts first, of all groups.
    fn cosines<D: Device>(&self, auto: &Auto<'_, D>, [database, query]: [&Ciphertext<D>; 2]) -> Result<Ciphertext<D>> {
        let Layout { block, fold, groups, ciphertexts, .. } = self.layout;
        let group = |at: usize| {
            let rows = auto.eval.split(database, at * ciphertexts, (at + 1) * ciphertexts);
            auto.settle(&auto.eval.batch_sum(&auto.mul(&rows, query)?)?)
        };
        let sums = auto.eval.stack(&(0..groups).map(group).collect::<Result<Vec<_>>>()?);
        let halves = auto.inner_sum(&sums, block as i64, fold)?.bounded_by(self.half_peak());
        let turned = auto.conjugate(&halves)?;
        let real = auto.eval.add(&halves, &turned)?;
        let imaginary = auto.times_i(&auto.eval.sub(&turned, &halves)?);
        let peak = 1.0 / self.task.range();
        let both = [real, imaginary].map(|part| {
            let part = part.bounded_by(peak);
            Ciphertext { estimate: part.estimate.with_peak(peak, true), ..part }
        });
        Ok(auto.eval.stack(&both))
    }

    /// Bound on half of two cosines over the range, one in each part.
    fn half_peak(&self) -> f64 {
        0.5 * 2.0f64.sqrt() / self.task.range()
    }

    /// 1 for matches, 0 for other rows, in every block.
    fn flags<D: Device>(&self, auto: &Auto<'_, D>, cosines: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let argument = auto.add_scalar(cosines, self.task.argument(0.0)).bounded_by(1.0);
        self.step.apply(auto, &argument, &|x, _| Ok(x.clone()))
    }

    /// The number of matches over that of places, in every slot.
    fn count<D: Device>(&self, auto: &Auto<'_, D>, flags: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let all = auto.inner_sum(&auto.eval.batch_sum(flags)?, 1, self.layout.block)?;
        let level = all.level - 1;
        auto.scale_to(&all, 1.0 / self.layout.capacity() as f64, level)
    }

    fn payloads<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        flags: &Ciphertext<D>,
        payloads: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        // At most so many are one; where more are, the result is refused.
        let share = (self.task.most as f64 / self.layout.capacity() as f64).min(1.0);
        let estimate = flags.estimate.with_magnitude(share.sqrt().hypot(FLAG_ERROR));
        let flags = Ciphertext { estimate, ..flags.clone() };
        let flags = auto.eval.stack(&vec![flags; MESSAGES]);
        auto.settle(&auto.mul(&flags, payloads)?)
    }
}

impl Program for Similarity {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "similarity"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let Layout { groups, ciphertexts, fold, .. } = self.layout;
        // In a message a row has one coordinate in each of the blocks, and is no longer than one; payloads fill one block.
        let magnitude = |peak: f64| peak / (fold as f64).sqrt();
        let input = |name: &str, batch: usize, level: usize, peak: f64, real: bool| Input {
            name: name.into(),
            batch,
            packing: Packing { slots: self.layout.slots(), level, scale: self.params.scale(level) },
            bounds: Promise { magnitude: magnitude(peak), peak, real },
        };
        let (level, both) = (self.level(), 2.0f64.sqrt());
        let mut inputs = vec![
            input("database", groups * ciphertexts, level, both, false),
            input("query", ciphertexts, level, 0.5 / self.task.range(), true),
        ];
        if self.task.wanted == Wanted::Payloads {
            inputs.push(input("payloads", MESSAGES * 2 * groups, 1, both, false));
        }
        inputs
    }

    fn model(&self) -> Maps<'_> {
        Maps::default()
    }

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, .. } = on;
        let auto = &means.auto;
        observer.step("cosines", 0, 3);
        let cosines = self.cosines(auto, [&inputs[0], &inputs[1]])?;
        observer.step("threshold", 1, 3);
        let flags = self.flags(auto, &cosines)?;
        observer.step("selection", 2, 3);
        Ok(vec![match inputs.get(2) {
            Some(payloads) => self.payloads(auto, &flags, payloads)?,
            None => self.count(auto, &flags)?,
        }])
    }

    /// Refuses more matches than were asked for, and rows that nobody can decide.
    fn admits(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Result<(), Refusal> {
        self.read(&results[0]).map(drop).map_err(mistake)
    }

    /// A payload a row, in the order of the rows; or their number.
    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let found = self.read(&results[0]).unwrap_or_default();
        vec![match self.task.wanted {
            Wanted::Count => Array::whole("matches", vec![1], [found.count as i64]),
            Wanted::Payloads => {
                let values = found.payloads.iter().flatten().map(|&number| Complex64::from(f64::from(number)));
                let shape = vec![found.payloads.len(), PAYLOAD];
                Array { name: "payloads".into(), shape, values: values.collect(), numbers: Numbers::Whole }
            }
        }]
    }

    /// A unit in slots is a payload of 512, or as many matches as there are places.
    fn unit_of(&self, _array: usize) -> f64 {
        if self.task.wanted == Wanted::Payloads { UNIT } else { self.layout.capacity() as f64 }
    }

    fn details(&self) -> Details {
        let Layout { block, fold, groups, ciphertexts } = self.layout;
        fields(json!({
            "rows": self.task.rows,
            "dimension": self.task.dimension,
            "threshold": self.task.threshold,
            "margin": self.task.margin,
            "most_matches": self.task.most,
            "wanted": self.task.wanted,
            "rows_of_a_block": 2 * block,
            "blocks": fold,
            "ciphertexts": groups * ciphertexts,
            "levels": self.level(),
        }))
    }
}
