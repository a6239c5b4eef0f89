//! The encrypted program: value after value, in the order of the network.

use super::{
    Inference, Network, NetworkError,
    activation::{Activation, Unit},
    inference::Outline,
    layout::Layout,
    levels::LevelPlan,
    map::{Ends, Packed, Part, packed},
    skeleton::{Operation, Term, Value},
};
use crate::{
    program::{Array, Ckks, Details, Evaluation, Numbers, Program, SlotsInput, State},
    threads,
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{
        Auto, BootstrapPlan, Ciphertext, Diagonals, LinearPlan, LinearTransform, Packing, Promise, bootstrap::Content,
    },
    params::Params,
    scheme::{Maps, Slots, slots_bytes},
};
use limbwise_device::Device;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// What an operation is on slots.
#[derive(Debug)]
enum Step {
    Input,
    /// Terms with their values, and the bias of each ciphertext.
    Affine {
        terms: Vec<(usize, Packed)>,
        bias: Vec<Vec<Complex64>>,
    },
    Function(usize, Activation),
    Product([usize; 2]),
}

/// What the program is made of; shared by all ways to run it.
#[derive(Debug)]
struct Made {
    units: Vec<Unit>,
    layouts: Vec<Layout>,
    levels: LevelPlan,
    steps: Vec<Step>,
    last_uses: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Planned {
    params: Params,
    options: Inference,
    made: Arc<Made>,
    /// What the twin with polynomials says of some samples, where the weights are here.
    twin: Option<Twin>,
}

/// The twin with polynomials beside the network, both in the clear.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Twin {
    pub samples: usize,
    /// Samples that both give the same class.
    pub same_class: usize,
    /// Mean and largest distance of outputs.
    pub mean_error: f64,
    pub largest_error: f64,
    pub largest_output: f64,
    /// How far the fullest value fills its calibrated range.
    pub largest_value_over_range: f64,
    /// Share of samples whose class is their label, of the network and of the twin.
    pub accuracy: Option<[f64; 2]>,
}

impl Planned {
    /// The program of an inference with a network's weights.
    ///
    /// # Panics
    /// Never: every function has its polynomial.
    pub fn new(params: &Params, options: Inference, network: &Network) -> std::result::Result<Self, NetworkError> {
        let outline = Outline::new(params, &options)?;
        let Outline { units, activations, levels, layouts } = outline;
        let slots = layouts.iter().map(|layout| layout.period).max().unwrap_or(1);
        let bootstrapping = options.bootstrapping.filter(|_| levels.bootstraps() > 0);
        let bootstrapping = bootstrapping.map(|plan| BootstrapPlan { slots, content: Content::Real, ..plan });
        let numbered: Vec<(usize, &Value)> = network.skeleton.values.iter().enumerate().collect();
        let step = |&(at, value): &(usize, &Value)| -> Result<Step> {
            Ok(match &value.operation {
                Operation::Input => Step::Input,
                Operation::Product { of } => Step::Product(*of),
                Operation::Function { of, .. } => {
                    Step::Function(*of, activations[at].clone().expect("functions have polynomials"))
                }
                Operation::Affine { terms, bias } => affine(network, (terms, *bias), at, (&units, &layouts))?,
            })
        };
        let steps = threads::each(&numbered, step).into_iter().collect::<Result<Vec<_>>>()?;
        let last_uses = network.skeleton.last_uses();
        let made = Arc::new(Made { units, layouts, levels, steps, last_uses });
        Ok(Self { params: params.clone(), options: Inference { bootstrapping, ..options }, made, twin: None })
    }

    /// Public metadata of the program.
    pub fn inference(&self) -> &Inference {
        &self.options
    }

    /// The same program with what its twin says.
    #[must_use]
    pub fn with_twin(self, twin: Twin) -> Self {
        Self { twin: Some(twin), ..self }
    }

    /// The polynomial in a function's place, for values of that number, as they are and not in units.
    pub fn replaced(&self, at: usize, x: f64) -> f64 {
        let Step::Function(of, activation) = &self.made.steps[at] else { return x };
        let unit = self.made.units[*of];
        // Far outside, the polynomial has no value that means anything, or could be counted with.
        let u = ((x - unit.middle) / unit.half).clamp(-1.5, 1.5);
        activation.evaluate(u) * activation.unit.half
    }

    /// How far a value's numbers fill their unit: more than 1 is outside.
    pub fn fill(&self, at: usize, numbers: &[f64]) -> f64 {
        let Unit { middle, half } = self.made.units[at];
        numbers.iter().map(|x| (x - middle).abs() / half).fold(0.0, f64::max)
    }

    /// The slots of one sample: of each input its ciphertexts.
    pub(super) fn pack(&self, sample: &[f64]) -> Vec<Vec<Vec<Complex64>>> {
        let (mut begin, mut all) = (0, Vec::new());
        for (at, input) in self.options.network.inputs().enumerate() {
            let (layout, unit) = (&self.made.layouts[at], self.made.units[at]);
            let mut slots = vec![vec![Complex64::default(); layout.period]; layout.count];
            for (element, x) in sample[begin..begin + input.size()].iter().enumerate() {
                let [ciphertext, slot] = layout.at(element);
                slots[ciphertext][slot] = ((x - unit.middle) / unit.half).into();
            }
            begin += input.size();
            all.push(slots);
        }
        all
    }

    /// The input and the ciphertext of it that an input of the program is.
    pub(super) fn input(&self, number: usize) -> [usize; 2] {
        let counts = self.options.network.inputs().zip(&self.made.layouts).map(|(_, layout)| layout.count);
        let mut all = counts.enumerate().flat_map(|(at, count)| (0..count).map(move |ct| [at, ct]));
        all.nth(number).unwrap_or_default()
    }

    /// The numbers of the outputs, sample by sample, from the slots of all results.
    pub(super) fn read(&self, results: &[Vec<Vec<Complex64>>]) -> Vec<Vec<Vec<f64>>> {
        let (mut first, mut all) = (0, Vec::new());
        for &at in &self.options.network.outputs {
            let (layout, unit) = (&self.made.layouts[at], self.made.units[at]);
            let number = |sample: usize, element: usize| {
                let [ciphertext, slot] = layout.at(element);
                unit.middle + unit.half * results[first + ciphertext][sample][slot].re
            };
            let sample = |sample| (0..layout.size()).map(|element| number(sample, element)).collect();
            all.push((0..self.options.samples).map(sample).collect());
            first += layout.count;
        }
        all
    }

    /// Its clear linear maps, each with the way in which it is evaluated, in the order of the values.
    fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        let mut all = Vec::new();
        for (step, levels) in self.made.steps.iter().zip(&self.made.levels.values) {
            for part in parts(step) {
                let map = &part.map.diagonals;
                let Inference { strategy, plaintexts, .. } = self.options;
                all.push((map, LinearPlan::new(&self.params, strategy.for_map(map), plaintexts, levels.made + 1)));
            }
        }
        all
    }
}

fn parts(step: &Step) -> impl Iterator<Item = &Part> {
    let terms = if let Step::Affine { terms, .. } = step { &terms[..] } else { &[] };
    terms.iter().flat_map(|(_, packed)| match packed {
        Packed::Parts(parts) => &parts[..],
        Packed::Factor(_) => &[],
    })
}

/// A sum of linear maps with its bias, in slots.
fn affine(
    network: &Network,
    (terms, bias): (&[Term], Option<usize>),
    at: usize,
    (units, layouts): (&[Unit], &[Layout]),
) -> Result<Step> {
    let (layout, to, tensors) = (&layouts[at], units[at], &network.weights[..]);
    let mut constant = bias.map_or_else(|| vec![0.0; layout.size()], |list| network.weights[list].clone());
    let mut packed_terms = Vec::new();
    for Term { of, chain } in terms {
        let from = units[*of];
        if from.middle.abs() > 0.0 {
            for (out, sum) in constant.iter_mut().enumerate() {
                super::linear::chain_row(chain, tensors, out, &mut |_, w| *sum += w * from.middle);
            }
        }
        let ends = Ends { layouts: [&layouts[*of], layout], units: [from, to] };
        packed_terms.push((*of, packed(chain, tensors, ends)?));
    }
    let mut slots = vec![vec![Complex64::default(); layout.period]; layout.count];
    for (element, x) in constant.iter().enumerate() {
        let [ciphertext, slot] = layout.at(element);
        slots[ciphertext][slot] = ((x - to.middle) / to.half).into();
    }
    Ok(Step::Affine { terms: packed_terms, bias: slots })
}

/// The ciphertexts of the values that are still needed.
type Live<D> = Vec<Option<Vec<Ciphertext<D>>>>;

/// A run from value to value.
struct Course<'c, 'a, D: Device> {
    program: &'c Planned,
    auto: &'c Auto<'a, D>,
    maps: &'c [LinearTransform<D>],
    live: Live<D>,
}

impl<D: Device> Course<'_, '_, D> {
    fn operand(&self, of: usize) -> Result<&[Ciphertext<D>]> {
        self.live.get(of).and_then(Option::as_deref).ok_or(limbwise::Error::State)
    }

    /// A value from its operands; `first` is its first map.
    fn value(&self, at: usize, first: usize) -> Result<Vec<Ciphertext<D>>> {
        let (auto, made) = (self.auto, &self.program.made);
        let levels = made.levels.values[at];
        let values = match &made.steps[at] {
            Step::Input => return Err(limbwise::Error::State),
            Step::Affine { terms, bias } => self.affine((terms, bias), at, first)?,
            Step::Function(of, activation) => {
                let start = levels.made + activation.depth();
                let one = |x: &Ciphertext<D>| activation.apply(auto, &auto.scale_to(x, 1.0, start)?);
                self.operand(*of)?.iter().map(one).collect::<Result<_>>()?
            }
            Step::Product([a, b]) => {
                let start = levels.made + 1;
                let one = |(a, b): (&Ciphertext<D>, &Ciphertext<D>)| {
                    let (a, b) = (auto.scale_to(a, 1.0, start)?, auto.scale_to(b, 1.0, start)?);
                    Ok(auto.settle(&auto.mul(&a, &b)?)?.bounded_by(1.0))
                };
                self.operand(*a)?.iter().zip(self.operand(*b)?).map(one).collect::<Result<_>>()?
            }
        };
        let ended = |x: &Ciphertext<D>| auto.scale_to(x, 1.0, levels.made);
        let values: Vec<Ciphertext<D>> = values.iter().map(ended).collect::<Result<_>>()?;
        if !levels.bootstrap {
            return Ok(values);
        }
        let slots = self.program.options.bootstrapping.map_or(made.layouts[at].period, |plan| plan.slots);
        let fresh = |x: &Ciphertext<D>| {
            let x = auto.bootstrap(&x.clone().with_slots(slots))?.bounded_by(1.0);
            auto.scale_to(&x.with_slots(made.layouts[at].period), 1.0, levels.read)
        };
        values.iter().map(fresh).collect()
    }

    fn affine(
        &self,
        (terms, bias): (&[(usize, Packed)], &[Vec<Complex64>]),
        at: usize,
        mut next: usize,
    ) -> Result<Vec<Ciphertext<D>>> {
        let (auto, made) = (self.auto, &self.program.made);
        let (level, period) = (made.levels.values[at].made, made.layouts[at].period);
        let mut sums: Vec<Option<Ciphertext<D>>> = vec![None; bias.len()];
        let mut add = |to: usize, x: Ciphertext<D>| -> Result<()> {
            let x = x.with_slots(period);
            sums[to] = Some(match &sums[to] {
                None => x,
                Some(sum) => auto.add(sum, &x)?,
            });
            Ok(())
        };
        for (of, packed) in terms {
            let operand = self.operand(*of)?;
            match packed {
                Packed::Factor(factor) => {
                    for (to, x) in operand.iter().enumerate() {
                        add(to, auto.scale_to(x, *factor, level)?)?;
                    }
                }
                Packed::Parts(parts) => {
                    for Part { from, to, map } in parts {
                        let x = operand[*from].clone().with_slots(map.diagonals.slots());
                        add(*to, map.apply(auto, &self.maps[next], &x)?)?;
                        next += 1;
                    }
                }
            }
        }
        let zero = bias.iter().map(|bias| bias.iter().all(|z| z.norm() == 0.0));
        let each = sums.into_iter().zip(bias).zip(zero).map(|((sum, bias), zero)| {
            // Where nothing is read there is the bias alone.
            let sum = match sum {
                Some(sum) => sum,
                None => auto.scale_to(&self.operand(terms[0].0)?[0], 0.0, level)?.with_slots(period),
            };
            let sum = if zero { sum } else { auto.add_values(&sum, bias)? };
            Ok(sum.bounded_by(1.0))
        });
        each.collect()
    }

    /// Takes what a state kept, in the order of the values.
    fn restore(&mut self, state: State<D, Ckks>) -> Result<usize> {
        let made = &self.program.made;
        let mut kept = state.ciphertexts.into_iter();
        for at in 0..state.step.min(made.steps.len()) {
            if made.last_uses[at] >= state.step {
                let count = made.layouts[at].count;
                let ciphertexts: Vec<Ciphertext<D>> = kept.by_ref().take(count).collect();
                (ciphertexts.len() == count).then_some(()).ok_or(limbwise::Error::State)?;
                self.live[at] = Some(ciphertexts);
            }
        }
        match kept.next() {
            None if (1..=made.steps.len()).contains(&state.step) => Ok(state.step),
            _ => Err(limbwise::Error::State),
        }
    }

    /// Forgets what nobody reads after so many values.
    fn state(&mut self, step: usize) -> State<D, Ckks> {
        let last_uses = &self.program.made.last_uses;
        for (at, live) in self.live.iter_mut().enumerate().take(step) {
            if last_uses[at] < step {
                *live = None;
            }
        }
        let ciphertexts = self.live.iter().flatten().flatten().cloned().collect();
        State { step, ciphertexts, numbers: Vec::new() }
    }
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
            let (layout, level) = (&self.made.layouts[at], self.made.levels.values[at].made);
            let packing = Packing { slots: layout.period, level, scale: self.params.scale(level) };
            for ciphertext in 0..layout.count {
                let name = if layout.count == 1 { input.name.clone() } else { format!("{}.{ciphertext}", input.name) };
                let bounds = Promise { magnitude: 1.0, peak: 1.0, real: true };
                all.push(SlotsInput { name, batch: self.options.samples, packing, bounds });
            }
        }
        all
    }

    fn model(&self) -> Maps<'_> {
        let bootstrapping = self.options.bootstrapping.filter(|_| self.made.levels.bootstraps() > 0);
        Maps { maps: self.maps(), bootstrapping }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let Slots { auto, maps } = means;
        let (steps, mut inputs) = (&self.made.steps, inputs.iter());
        let mut course = Course { program: self, auto, maps, live: steps.iter().map(|_| None).collect() };
        let done = match journal.resume()? {
            Some(state) => course.restore(state)?,
            None => 0,
        };
        let mut first = steps[..done].iter().map(|step| parts(step).count()).sum::<usize>();
        for (at, step) in steps.iter().enumerate().skip(done) {
            let name = &self.options.network.values[at].name;
            let value = if matches!(step, Step::Input) {
                inputs.by_ref().take(self.made.layouts[at].count).cloned().collect()
            } else {
                observer.step(name, at, steps.len());
                let _region = auto.eval.device().region("layer", u32::try_from(at).unwrap_or(u32::MAX));
                course.value(at, first)?
            };
            first += parts(step).count();
            course.live[at] = Some(value);
            let state = course.state(at + 1);
            if !matches!(step, Step::Input) {
                journal.keep(&state)?;
            }
        }
        let outputs = self.options.network.outputs.iter();
        let all = outputs.map(|&at| Ok(course.operand(at)?.to_vec())).collect::<Result<Vec<_>>>()?;
        Ok(all.concat())
    }

    fn results(&self) -> usize {
        self.options.network.outputs.iter().map(|&at| self.made.layouts[at].count).sum()
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

    fn unit_of(&self, array: usize) -> f64 {
        self.options.network.outputs.get(array).map_or(1.0, |&at| self.made.units[at].half)
    }

    fn details(&self) -> Details {
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
                Step::Function(_, activation) => activation.text(),
            };
            layers.push(json!({
                "name": self.options.network.values[at].name,
                "operation": operation,
                "shape": self.options.network.values[at].shape,
                "ciphertexts": self.made.layouts[at].count,
                "level": levels.made,
                "scale_bits": self.params.scale(levels.made).log2(),
                "bootstrap": levels.bootstrap,
                "bytes": self.made.layouts[at].count as u64 * self.options.samples as u64 * slots_bytes(&self.params, levels.read.max(levels.made)),
                "range": self.made.units[at].half,
                "diagonals": own.iter().map(|(map, _)| map.count()).sum::<usize>(),
                "rotations": own.iter().map(|(map, how)| how.strategy.steps(map)).sum::<usize>(),
            }));
        }
        crate::program::fields(json!({
            "samples": self.options.samples,
            "layers": layers,
            "bootstraps": self.made.levels.bootstraps(),
            "maps": maps.len(),
            "strategy": self.options.strategy.to_string(),
            "plaintexts": self.options.plaintexts,
            "error": self.options.error,
            "margin": self.options.margin,
            "twin": self.twin,
        }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let layers: Vec<_> = steps.iter().map(|(name, seconds)| json!({ "name": name, "seconds": seconds })).collect();
        crate::program::fields(json!({ "layer_seconds": layers }))
    }

    fn in_way(&self, way: Way) -> Self {
        let mut options = self.options.clone();
        (options.strategy, options.plaintexts) = way.maps.unwrap_or((options.strategy, options.plaintexts));
        let keep = |own: BootstrapPlan| {
            way.bootstrapping.map(|plan| BootstrapPlan { slots: own.slots, content: own.content, ..plan })
        };
        options.bootstrapping = options.bootstrapping.and_then(|own| keep(own).or(Some(own)));
        Self { options, ..self.clone() }
    }
}

/// The sides of a value of one sample.
pub(super) fn sides(value: &Value) -> Vec<usize> {
    match &value.shape[..] {
        [1, sides @ ..] if !sides.is_empty() => sides.to_vec(),
        sides => sides.to_vec(),
    }
}
