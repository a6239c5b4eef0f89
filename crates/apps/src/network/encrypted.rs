//! The encrypted program: what it is made of, and how samples lie in it.
//!
//! Samples take turns in the slots of a ciphertext, as many as fit: sample k of t has the slots t·j + k, so that maps of one
//! sample serve all (ADR 68). Or each sample has a slot of its own and each number a ciphertext: then linear maps are
//! matrices of integers and no slot moves (ADR 148).

use super::{
    Inference, Network, NetworkError,
    activation::{Activation, Unit},
    affine::{Affine, gaps},
    calibration::ENLARGED,
    course::Course,
    inference::Outline,
    layout::Layout,
    levels::LevelPlan,
    map::{Packed, Part},
    matrices::{self, EntryStep, Making, MatrixStep},
    skeleton::{Operation, Value},
    twin::{Twin, most},
};
use crate::{
    memory::Room,
    program::{Array, Ckks, Details, Evaluation, Numbers, Program, RegionCost, SlotsInput},
    threads,
    way::{Arrangement, Way},
};
use limbwise::{
    Complex64, Result,
    ckks::{BootstrapPlan, Ciphertext, Diagonals, LinearPlan, Packing, Promise, bootstrap::Content},
    params::Params,
    scheme::{Maps, slots_bytes},
};
use limbwise_device::Device;
use serde_json::json;
use std::sync::Arc;

/// What an operation is on slots.
#[derive(Debug)]
pub(super) enum Step {
    Input,
    /// Terms with their values; the bias of each ciphertext, or of each number where samples have a slot each.
    Affine {
        terms: Vec<(usize, Packed)>,
        bias: Vec<Vec<Complex64>>,
    },
    Function(usize, Activation),
    Product([usize; 2]),
    /// Of two matrices.
    Matrices(Box<MatrixStep>),
    /// Of two matrices where samples have a slot each.
    Entries(EntryStep),
}

/// What the program is made of; shared by all ways to run it.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) units: Vec<Unit>,
    /// Of one sample.
    pub(super) layouts: Vec<Layout>,
    pub(super) levels: LevelPlan,
    pub(super) steps: Vec<Step>,
    pub(super) last_uses: Vec<usize>,
    /// For making steps of another arrangement.
    network: Arc<Network>,
}

#[derive(Clone, Debug)]
pub struct Planned {
    params: Params,
    pub(super) options: Inference,
    pub(super) made: Arc<Made>,
    /// What the twin with polynomials says of some samples, where the weights are here.
    twin: Option<Box<Twin>>,
}

impl Planned {
    /// The program of an inference with a network's weights.
    ///
    /// # Errors
    /// [`NetworkError`] for what cannot be planned, or for an arrangement of samples that the network does not have.
    ///
    /// # Panics
    /// Never: every function has its polynomial.
    pub fn new(params: &Params, options: Inference, network: &Arc<Network>) -> std::result::Result<Self, NetworkError> {
        Self::within(&Room::of_system(), params, options, network)
    }

    /// The same where the maps may take so much memory.
    fn within(
        room: &Room,
        params: &Params,
        options: Inference,
        network: &Arc<Network>,
    ) -> std::result::Result<Self, NetworkError> {
        let outline = Outline::new(params, &options)?;
        outline.admits(params, &options)?;
        let Outline { units, activations, levels, layouts, products } = outline;
        let slots = layouts.iter().map(|layout| layout.period).max().unwrap_or(1) * options.turns();
        let bootstrapping = options.bootstrapping.filter(|_| levels.bootstraps() > 0);
        let bootstrapping = bootstrapping.map(|plan| BootstrapPlan { slots, content: Content::Real, ..plan });
        let gaps = gaps(&network.skeleton, &activations);
        let numbered: Vec<(usize, &Value)> = network.skeleton.values.iter().enumerate().collect();
        let step = |&(at, value): &(usize, &Value)| -> std::result::Result<Step, NetworkError> {
            Ok(match &value.operation {
                Operation::Input => Step::Input,
                Operation::Product { of } => Step::Product(*of),
                Operation::MatrixProduct { of, matrices } => match options.arrangement {
                    Arrangement::Turns(turns) => {
                        let placed = products[at].as_ref().expect("products have places");
                        let making = Making { network, layouts: &layouts, units: &units, room, turns };
                        Step::Matrices(Box::new(MatrixStep::new(placed, *of, at, &making)?))
                    }
                    Arrangement::Slots => {
                        let factor = matrices::factor(*of, at, &units);
                        Step::Entries(EntryStep { of: *of, matrices: *matrices, factor })
                    }
                },
                Operation::Function { of, .. } => {
                    Step::Function(*of, activations[at].clone().expect("functions have polynomials"))
                }
                Operation::Affine { terms, bias } => {
                    let affine = Affine { network, terms, constant: *bias, at, units: &units, layouts: &layouts, room };
                    match options.arrangement {
                        Arrangement::Turns(count) => affine.in_turns(count, &gaps)?,
                        Arrangement::Slots => affine.in_slots()?,
                    }
                }
            })
        };
        let steps = threads::each(&numbered, step).into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
        let last_uses = network.skeleton.last_uses();
        let made = Arc::new(Made { units, layouts, levels, steps, last_uses, network: Arc::clone(network) });
        Ok(Self { params: params.clone(), options: Inference { bootstrapping, ..options }, made, twin: None })
    }

    /// Whether the weights are such that every sample can have a slot of its own.
    ///
    /// # Errors
    /// [`NetworkError::Weight`] for one that is too large.
    pub fn fits_slots(&self) -> std::result::Result<(), NetworkError> {
        let Made { units, layouts, network, .. } = &*self.made;
        let room = &Room::of(u64::MAX);
        for (at, value) in network.skeleton.values.iter().enumerate() {
            if let Operation::Affine { terms, bias } = &value.operation {
                Affine { network, terms, constant: *bias, at, units, layouts, room }.in_slots()?;
            }
        }
        Ok(())
    }

    /// Public metadata of the program.
    pub fn inference(&self) -> &Inference {
        &self.options
    }

    /// The levels of all values.
    pub fn levels(&self) -> &LevelPlan {
        &self.made.levels
    }

    /// Levels that the polynomial of a value takes; 0 where it has none.
    pub fn depth(&self, at: usize) -> usize {
        if let Step::Function(_, activation) = &self.made.steps[at] { activation.depth() } else { 0 }
    }

    /// The largest magnitude that each function's argument may have.
    pub fn ranges_of_functions(&self) -> Vec<f64> {
        let operand =
            |step: &Step| if let Step::Function(of, _) = step { Some(self.made.units[*of].half) } else { None };
        self.made.steps.iter().filter_map(operand).collect()
    }

    /// The unit of each number of the outputs, one output after another.
    pub(super) fn units_of_outputs(&self) -> Vec<f64> {
        let of = |&at: &usize| std::iter::repeat_n(self.made.units[at].half, self.made.layouts[at].size());
        self.options.network.outputs.iter().flat_map(of).collect()
    }

    /// log₂ of the scale of a value.
    pub fn scale_bits(&self, at: usize) -> f64 {
        self.params.scale(self.made.levels.values[at].made).log2()
    }

    /// The same program with what its twin says.
    #[must_use]
    pub fn with_twin(self, twin: Twin) -> Self {
        Self { twin: Some(Box::new(twin)), ..self }
    }

    /// The polynomial in a function's place, for values of that number, as they are and not in units.
    pub fn replaced(&self, at: usize, x: f64) -> f64 {
        let Step::Function(of, activation) = &self.made.steps[at] else { return x };
        let unit = self.made.units[*of];
        // Far outside, the polynomial has no value that means anything, or could be counted with.
        let u = ((x - unit.middle) / unit.half).clamp(-1.5, 1.5);
        activation.evaluate(u) * activation.unit.half
    }

    /// How far a value's numbers fill their unit: more than 1 is outside. What a function makes of an argument inside is so by
    /// construction, but for the error of its polynomial.
    pub fn fill(&self, at: usize, numbers: &[f64]) -> f64 {
        if matches!(self.made.steps[at], Step::Function(..)) {
            return 0.0;
        }
        let Unit { middle, half } = self.made.units[at];
        most(numbers.iter().map(|x| (x - middle).abs() / half))
    }

    /// The numbers that a value is made for: its calibrated range with its margin.
    pub fn range(&self, at: usize) -> String {
        let Unit { middle, half } = self.made.units[at];
        format!("{:.4} to {:.4}", middle - half, middle + half)
    }

    /// Root mean square of a value's numbers in its unit, where it was measured; at least 1/256, because other data need not
    /// be zero where those of the calibration were, and nothing looks implausible beside numbers of no size.
    pub(super) fn usual_size(&self, at: usize) -> Option<f64> {
        let Unit { middle, half } = self.made.units[at];
        let usual = self.options.ranges[at].usual?;
        // The mean of (x − middle)², from those of x and x².
        let square = usual.size * usual.size - 2.0 * middle * usual.mean + middle * middle;
        Some((square.max(0.0).sqrt() / half).max(1.0 / ENLARGED))
    }

    /// Root mean square of the slope of a value's function at the usual arguments, each in its unit.
    pub(super) fn usual_slope(&self, at: usize, of: usize) -> Option<f64> {
        let slope = self.options.ranges[at].usual?.slope?;
        Some(slope * self.made.units[of].half / self.made.units[at].half)
    }

    /// Slots of the ciphertexts of a value.
    pub(super) fn slots(&self, at: usize) -> usize {
        match self.options.arrangement {
            Arrangement::Turns(count) => self.made.layouts[at].period * count,
            Arrangement::Slots => self.params.max_slots().min(self.options.samples.next_power_of_two()),
        }
    }

    /// Ciphertexts of a value, each a batch.
    pub(super) fn ciphertexts(&self, at: usize) -> usize {
        match self.options.arrangement {
            Arrangement::Turns(_) => self.made.layouts[at].count,
            Arrangement::Slots => 1,
        }
    }

    /// Messages in the batch of a value's ciphertext.
    pub(super) fn batch(&self, at: usize) -> usize {
        match self.options.arrangement {
            Arrangement::Turns(count) => self.options.samples.div_ceil(count),
            Arrangement::Slots => self.made.layouts[at].size() * self.groups(at),
        }
    }

    /// Ciphertexts that all samples take where each has a slot.
    pub(super) fn groups(&self, at: usize) -> usize {
        self.options.samples.div_ceil(self.slots(at))
    }

    /// Ciphertext, message of the batch and slot of an element of a sample.
    fn place(&self, at: usize, sample: usize, element: usize) -> [usize; 3] {
        match self.options.arrangement {
            Arrangement::Turns(count) => {
                let [ciphertext, slot] = self.made.layouts[at].at(element);
                [ciphertext, sample / count, slot * count + sample % count]
            }
            Arrangement::Slots => {
                let slots = self.slots(at);
                [0, element * self.groups(at) + sample / slots, sample % slots]
            }
        }
    }

    /// Samples that the ciphertexts of a value have places for.
    fn places(&self, at: usize) -> usize {
        match self.options.arrangement {
            Arrangement::Turns(count) => self.batch(at) * count,
            Arrangement::Slots => self.groups(at) * self.slots(at),
        }
    }

    /// The slots of one input, a vector a message of the batch: those of one of its ciphertexts. Places that are left
    /// have the samples again: what is computed in them must stay in the calibrated ranges.
    pub(super) fn pack(&self, number: usize, samples: &[Vec<f64>]) -> Vec<Vec<Complex64>> {
        let [at, own] = self.input(number);
        let begin = self.options.network.inputs().take(at).map(Value::size).sum::<usize>();
        let mut all = vec![vec![Complex64::default(); self.slots(at)]; self.batch(at)];
        let unit = self.made.units[at];
        for (sample, numbers) in samples.iter().cycle().take(self.places(at)).enumerate() {
            for (element, x) in numbers[begin..begin + self.made.layouts[at].size()].iter().enumerate() {
                let [ciphertext, message, slot] = self.place(at, sample, element);
                if ciphertext == own {
                    all[message][slot] = ((x - unit.middle) / unit.half).into();
                }
            }
        }
        all
    }

    /// The input and the ciphertext of it that an input of the program is.
    fn input(&self, number: usize) -> [usize; 2] {
        let counts = (0..self.options.network.inputs().count()).map(|at| self.ciphertexts(at));
        let mut all = counts.enumerate().flat_map(|(at, count)| (0..count).map(move |ct| [at, ct]));
        all.nth(number).unwrap_or_default()
    }

    /// The numbers of the outputs, sample by sample, from the slots of all results.
    pub(super) fn read(&self, results: &[Vec<Vec<Complex64>>]) -> Vec<Vec<Vec<f64>>> {
        let (mut first, mut all) = (0, Vec::new());
        for &at in &self.options.network.outputs {
            let unit = self.made.units[at];
            let number = |sample: usize, element: usize| {
                let [ciphertext, message, slot] = self.place(at, sample, element);
                unit.middle + unit.half * results[first + ciphertext][message][slot].re
            };
            let size = self.made.layouts[at].size();
            let sample = |sample| (0..size).map(|element| number(sample, element)).collect();
            all.push((0..self.options.samples).map(sample).collect());
            first += self.ciphertexts(at);
        }
        all
    }

    /// Its clear linear maps, each with the way in which it is evaluated, in the order of the values.
    pub fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        let mut all = Vec::new();
        for (step, levels) in self.made.steps.iter().zip(&self.made.levels.values) {
            for (part, above) in parts(step) {
                let map = &part.map.diagonals;
                let Inference { strategy, plaintexts, .. } = self.options;
                all.push((map, LinearPlan::new(&self.params, strategy.for_map(map), plaintexts, levels.made + above)));
            }
        }
        all
    }
}

/// The maps of a step that are evaluated as diagonals, each with the levels above the step's result at which it is applied.
pub(super) fn parts(step: &Step) -> impl Iterator<Item = (&Part, usize)> {
    let terms = if let Step::Affine { terms, .. } = step { &terms[..] } else { &[] };
    let of_terms = terms.iter().flat_map(|(_, packed)| packed.parts()).map(|part| (part, 1));
    let product = if let Step::Matrices(product) = step { Some(product) } else { None };
    of_terms.chain(product.into_iter().flat_map(|product| product.parts()))
}

impl Program for Planned {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "network"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<SlotsInput> {
        let mut all = Vec::new();
        for (at, input) in self.options.network.inputs().enumerate() {
            let (count, level) = (self.ciphertexts(at), self.made.levels.values[at].made);
            let packing = Packing { slots: self.slots(at), level, scale: self.params.scale(level) };
            for ciphertext in 0..count {
                let name = if count == 1 { input.name.clone() } else { format!("{}.{ciphertext}", input.name) };
                let bounds = Promise { magnitude: 1.0, peak: 1.0, real: true };
                all.push(SlotsInput { name, batch: self.batch(at), packing, bounds });
            }
        }
        all
    }

    fn model(&self) -> Maps<'_> {
        let bootstrapping = self.options.bootstrapping.filter(|_| self.made.levels.bootstraps() > 0);
        Maps { maps: self.maps(), bootstrapping }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        Course::run(self, on)
    }

    fn results(&self) -> usize {
        self.options.network.outputs.iter().map(|&at| self.ciphertexts(at)).sum()
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let array = |(numbers, &at): (Vec<Vec<f64>>, &usize)| {
            let value = &self.options.network.values[at];
            let shape = [vec![numbers.len()], sides(value)].concat();
            let values = numbers.into_iter().flatten().map(Into::into).collect();
            Array { name: value.name.clone(), shape, values, numbers: Numbers::Real }
        };
        self.read(results).into_iter().zip(&self.options.network.outputs).map(array).collect()
    }

    fn withheld(&self) -> Option<String> {
        let of = |&at: &usize| format!("{} {}", self.options.network.values[at].name, self.range(at));
        let outputs = self.options.network.outputs.iter().map(of).collect::<Vec<_>>().join(", ");
        Some(format!(
            "a value beyond its calibrated range; those of the outputs are, with their margin, {outputs} (decrypt --compare names the layer, where the model is at hand); calibrate on more data or with a wider --margin"
        ))
    }

    fn unit_of(&self, array: usize) -> f64 {
        self.options.network.outputs.get(array).map_or(1.0, |&at| self.made.units[at].half)
    }

    fn details(&self) -> Details {
        crate::program::fields(json!({
            "samples": self.options.samples,
            "arrangement": self.options.arrangement.named(),
            "layers": self.layers(),
            "bootstraps": self.made.levels.bootstraps(),
            "maps": self.maps().len(),
            "strategy": self.options.strategy.to_string(),
            "plaintexts": self.options.plaintexts,
            "error": self.options.error,
            "margin": self.options.margin,
            "twin": self.twin,
        }))
    }

    fn costs(&self, costs: &[RegionCost]) -> Details {
        let mut layers = self.layers();
        for cost in costs.iter().filter(|cost| cost.name == REGION) {
            if let Some(layer) = layers.get_mut(cost.index as usize).and_then(serde_json::Value::as_object_mut) {
                layer.insert("seconds".into(), json!(cost.seconds));
                layer.insert("keys".into(), json!(cost.keys));
                layer.insert("bits".into(), json!(cost.bits));
            }
        }
        crate::program::fields(json!({ "layers": layers }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let boot = |name: &str| name == BOOTSTRAPPING;
        let sum = steps.iter().filter(|(name, _)| boot(name)).fold(0.0, |sum, (_, seconds)| sum + seconds);
        let named = steps.iter().filter(|(name, _)| !boot(name));
        let layers: Vec<_> = named.map(|(name, seconds)| json!({ "name": name, "seconds": seconds })).collect();
        crate::program::fields(json!({ "layer_seconds": layers, "bootstrapping_seconds": sum }))
    }

    /// While a value is computed its operands are there too. The largest such sum counts, all at the level of the value.
    fn least_bytes(&self) -> u64 {
        let bytes = |(at, step): (usize, &Step)| {
            let level = self.made.levels.values[at].made;
            let of = |at: usize| (self.ciphertexts(at) * self.batch(at)) as u64 * slots_bytes(&self.params, level);
            let operands: u64 = match step {
                Step::Input => 0,
                Step::Affine { terms, .. } => terms.iter().map(|&(operand, _)| of(operand)).sum(),
                Step::Product(operands) => operands.iter().map(|&operand| of(operand)).sum(),
                Step::Matrices(product) => product.of.iter().map(|&operand| of(operand)).sum(),
                Step::Entries(product) => product.of.iter().map(|&operand| of(operand)).sum(),
                Step::Function(operand, _) => of(*operand),
            };
            of(at) + operands
        };
        self.made.steps.iter().enumerate().map(bytes).max().unwrap_or(0)
    }

    fn transient_bytes(&self) -> u64 {
        let of = |step: &Step| match step {
            Step::Affine { terms, .. } => terms.iter().map(|(_, packed)| packed.transient_bytes()).sum(),
            Step::Matrices(product) => product.maps().map(Packed::transient_bytes).sum(),
            _ => 0,
        };
        self.made.steps.iter().map(of).max().unwrap_or(0)
    }

    fn in_way(&self, way: Way) -> Self {
        let mut options = self.options.clone();
        (options.strategy, options.plaintexts) = way.maps.unwrap_or((options.strategy, options.plaintexts));
        options.arrangement = way.samples.unwrap_or(options.arrangement);
        let keep = |own: BootstrapPlan| {
            way.bootstrapping.map(|plan| BootstrapPlan { slots: own.slots, content: own.content, ..plan })
        };
        options.bootstrapping = options.bootstrapping.and_then(|own| keep(own).or(Some(own)));
        if options.arrangement == self.options.arrangement {
            return Self { options, ..self.clone() };
        }
        // What had room for the first arrangement has it for others, whatever else is in memory by now.
        let made = Self::within(&Room::of(u64::MAX), &self.params, options, &self.made.network);
        Self { twin: self.twin.clone(), ..made.expect("ways are the arrangements that were admitted") }
    }
}

/// The step of a bootstrapping, whichever layer it belongs to.
pub(super) const BOOTSTRAPPING: &str = "bootstrapping";
/// The region of a layer, by the number of its value.
pub(super) const REGION: &str = "layer";

impl Planned {
    /// A row a value: where it stands, and what it takes.
    fn layers(&self) -> Vec<serde_json::Value> {
        let maps = self.maps();
        let (mut next, mut layers) = (0, Vec::new());
        for (at, step) in self.made.steps.iter().enumerate() {
            let count = parts(step).count();
            let (own, levels) = (&maps[next..next + count], self.made.levels.values[at]);
            next += count;
            let operation = match step {
                Step::Input => "input".into(),
                Step::Affine { .. } => "linear".into(),
                Step::Product(_) => "product".into(),
                Step::Matrices(_) | Step::Entries(_) => "matrix product".into(),
                Step::Function(_, activation) => activation.text(),
            };
            let messages = (self.ciphertexts(at) * self.batch(at)) as u64;
            layers.push(json!({
                "name": self.options.network.values[at].name,
                "operation": operation,
                "shape": self.options.network.values[at].shape,
                "ciphertexts": messages,
                "level": levels.made,
                "scale_bits": self.params.scale(levels.made).log2(),
                "bootstrap": levels.bootstrap,
                "bytes": messages * slots_bytes(&self.params, levels.read.max(levels.made)),
                "range": self.made.units[at].half,
                "diagonals": own.iter().map(|(map, _)| map.count()).sum::<usize>(),
                "rotations": own.iter().map(|(map, how)| how.strategy.steps(map)).sum::<usize>(),
            }));
        }
        layers
    }
}

/// The sides of a value of one sample.
pub(super) fn sides(value: &Value) -> Vec<usize> {
    match &value.shape[..] {
        [1, sides @ ..] if !sides.is_empty() => sides.to_vec(),
        sides => sides.to_vec(),
    }
}
