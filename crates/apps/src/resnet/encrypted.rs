//! The encrypted program: repeats convolution, bootstrapping and activation.

use super::{
    ResnetError,
    levels::LevelPlan,
    network::{Architecture, Network, Position},
    packing::{Packed, Shortcut, slots_of_image},
    relu::{Relu, ReluChoice},
};
use crate::{
    linear::layer::Model,
    program::{Array, Ckks, Details, Evaluation, Numbers, Observer, Program, SlotsInput as Input, State},
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{
        Auto, BootstrapPlan, Ciphertext, Diagonals, LevelPolicy, LinearPlan, LinearTransform, Packing, PlaintextForm,
        Promise, Strategy, bootstrap::Content,
    },
    params::Params,
    scheme::{Maps as SlotsModel, Slots},
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// Public metadata of an inference, without the server's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inference {
    pub architecture: Architecture,
    pub images: usize,
    /// Range of each activation: bound of the values before it, measured on images that nobody encrypts.
    #[serde(deserialize_with = "limbwise::finite::fields")]
    pub ranges: Vec<f64>,
    /// The polynomial that replaces the activation.
    pub relu: ReluChoice,
    /// Rotation strategy of the maps; with 0 baby steps, each map chooses its own number.
    pub strategy: Strategy,
    /// How their diagonals are stored.
    pub plaintexts: PlaintextForm,
    /// Bootstrapping configuration; `None` if the parameters have enough levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<BootstrapPlan>,
    /// Bound of the normalized images.
    pub bounds: Promise,
}

const MOST_IMAGES: usize = 4096;
const MOST_RANGE: f64 = 1e6;

impl Inference {
    /// The program with the server's network, or with any numbers in its place where there is no server's model.
    ///
    /// # Errors
    /// [`ResnetError`] for what cannot be; a model without a network, or with one of another shape.
    pub fn program(&self, params: &Params, model: Option<&Model>) -> std::result::Result<Resnet, ResnetError> {
        let Some(model) = model else {
            self.check()?; // before numbers are made for it
            return Resnet::new(params, self.clone(), &Network::generated(&self.architecture, 0));
        };
        let wrong = |got: String| {
            let wanted = "the weights that the description was made with (--weights FILE)";
            Err(ResnetError::Shape { what: "the network", got, wanted })
        };
        match model.network.as_deref() {
            None => wrong("no weights".into()),
            Some(network) if network.architecture != self.architecture => {
                wrong(format!("weights of {:?}", network.architecture))
            }
            Some(network) => Resnet::new(params, self.clone(), network),
        }
    }

    fn check(&self) -> std::result::Result<(), ResnetError> {
        self.architecture.check()?;
        let wrong = |what, got: String, wanted| Err(ResnetError::Shape { what, got, wanted });
        let wanted = self.architecture.layers() - 1;
        if self.ranges.len() != wanted || !self.ranges.iter().all(|r| (1e-6..=MOST_RANGE).contains(r)) {
            return wrong("the ranges", format!("{:?}", self.ranges), "a positive number for each activation");
        }
        if !(1..=MOST_IMAGES).contains(&self.images) {
            return wrong("the images", self.images.to_string(), "1 to 4096 of them");
        }
        if !self.relu.is_possible() {
            return wrong(
                "the activation",
                format!("{:?}", self.relu),
                "1 to 6 odd degrees from 3 to 63, a gap of 1 to 20 bits",
            );
        }
        if !self.bounds.is_possible() {
            return wrong("the size of images", self.bounds.peak.to_string(), "a positive number");
        }
        Ok(())
    }
}

/// What the maps are made of; shared by all ways to run them.
#[derive(Debug)]
struct Maps {
    packed: Packed,
    relu: Relu,
    plan: LevelPlan,
}

#[derive(Clone, Debug)]
pub struct Resnet {
    params: Params,
    options: Inference,
    maps: Arc<Maps>,
    batch: usize,
}

impl Resnet {
    /// The program of an inference with a network's numbers.
    pub fn new(params: &Params, options: Inference, network: &Network) -> std::result::Result<Self, ResnetError> {
        options.check()?;
        let relu = Relu::new(&options.relu);
        let positions: Vec<Position> = options.architecture.steps().iter().map(|s| s.position).collect();
        let policy = LevelPolicy::of(params);
        let bootstraps = policy.bootstraps && options.bootstrapping.is_some();
        let plan = LevelPlan::new(&positions, relu.depth(), LevelPolicy { bootstraps, ..policy })?;
        let (one, slots) = (slots_of_image(network), params.max_slots());
        let together = together(one, slots, options.images)?;
        let options = match options.bootstrapping {
            Some(boot) => {
                let boot = BootstrapPlan { slots: one * together, content: Content::Real, ..boot };
                Inference { bootstrapping: Some(boot), ..options }
            }
            None => options,
        };
        let packed = Packed::new(network, &options.ranges, together)?;
        let batch = options.images.div_ceil(together);
        Ok(Self { params: params.clone(), options, maps: Arc::new(Maps { packed, relu, plan }), batch })
    }

    /// Public metadata of the program.
    pub fn inference(&self) -> &Inference {
        &self.options
    }

    /// The polynomial in the activation's place.
    pub fn relu(&self) -> &Relu {
        &self.maps.relu
    }

    pub fn levels(&self) -> &LevelPlan {
        &self.maps.plan
    }

    /// The same program with another strategy for its maps.
    #[must_use]
    pub fn with(&self, (strategy, plaintexts): (Strategy, PlaintextForm)) -> Self {
        Self { options: Inference { strategy, plaintexts, ..self.options.clone() }, ..self.clone() }
    }

    /// The same program with another bootstrapping configuration of the same slots and content.
    #[must_use]
    pub fn with_bootstrapping(&self, plan: BootstrapPlan) -> Self {
        let keep = |own: BootstrapPlan| BootstrapPlan { slots: own.slots, content: own.content, ..plan };
        let bootstrapping = self.options.bootstrapping.map(keep);
        Self { options: Inference { bootstrapping, ..self.options.clone() }, ..self.clone() }
    }

    /// Images in slots, a vector a batch entry.
    pub(super) fn pack(&self, images: &[limbwise::ckks::tensor::Image]) -> Result<Vec<Vec<Complex64>>> {
        images.chunks(self.maps.packed.together).map(|few| self.maps.packed.pack(few)).collect()
    }

    pub(super) fn scores(&self, slots: &[Vec<Complex64>]) -> Vec<Vec<f64>> {
        let (together, classes) = (self.maps.packed.together, self.options.architecture.classes);
        let score = |image: usize, class: usize| slots[image / together][class * together + image % together].re;
        (0..self.options.images).map(|image| (0..classes).map(|class| score(image, class)).collect()).collect()
    }

    /// The linear plan of a map at a level.
    fn how(&self, map: &Diagonals, level: usize) -> LinearPlan {
        LinearPlan::new(&self.params, self.options.strategy.for_map(map), self.options.plaintexts, level)
    }
}

/// Images that share a vector of slots: as many as are there and fit, a power of two.
fn together(one: usize, slots: usize, images: usize) -> std::result::Result<usize, ResnetError> {
    if one > slots {
        return Err(ResnetError::Slots { needed: one, slots });
    }
    Ok((slots / one).min(images.next_power_of_two()))
}

/// The steps of a run, reported to the observer and saved by the journal.
struct Course<'c, 'a, D: Device> {
    program: &'c Resnet,
    auto: &'c Auto<'a, D>,
    maps: std::slice::Iter<'c, LinearTransform<D>>,
    observer: &'c mut dyn Observer,
    done: usize,
}

impl<D: Device> Course<'_, '_, D> {
    /// Reports the start of a part of a step.
    fn begin(&mut self, name: &str) {
        self.observer.step(name, self.done, 3 * self.program.maps.packed.steps.len() + 1);
        self.done += 1;
    }

    /// One convolution, the sum with a block's input, bootstrapping, the activation.
    fn step(&mut self, index: usize, x: &Ciphertext<D>, entry: Option<&Ciphertext<D>>) -> Result<Ciphertext<D>> {
        let (maps, auto) = (&self.program.maps, self.auto);
        let (step, levels) = (&maps.packed.steps[index], maps.plan.steps[index]);
        let _region = auto.eval.device().region("layer", u32::try_from(index).unwrap_or(u32::MAX));
        self.begin("convolution");
        let slots = step.map.diagonals.slots();
        let transform = self.maps.next().expect("a map a convolution");
        let mut y = step.map.apply(auto, transform, &x.clone().with_slots(slots))?;
        if let (Some(shortcut), Some(entry)) = (&step.shortcut, entry) {
            let added = match shortcut {
                Shortcut::Factor(factor) => auto.scale_to(entry, *factor, y.level)?,
                Shortcut::Map(map) => {
                    let transform = self.maps.next().expect("a map a strided shortcut");
                    map.apply(auto, transform, &entry.clone().with_slots(map.diagonals.slots()))?.with_slots(slots)
                }
            };
            y = auto.add(&y, &added.with_slots(slots))?;
        }
        let mut y = y.bounded_by(1.0).with_slots(step.slots[1]);
        if levels.bootstrap {
            self.begin("bootstrapping");
            let slots = self.program.options.bootstrapping.map_or(step.slots[1], |plan| plan.slots);
            y = auto.bootstrap(&y.with_slots(slots))?.bounded_by(1.0).with_slots(step.slots[1]);
        } else {
            self.done += 1;
        }
        self.begin("activation");
        maps.relu.apply(auto, &auto.scale_to(&y, 1.0, levels.activation)?)
    }

    /// The mean of all pixels and the linear layer.
    fn head(&mut self, x: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let (head, auto) = (&self.program.maps.packed.head, self.auto);
        let _region = auto.eval.device().region("linear", 0);
        self.begin("linear layer");
        let mut x = auto.scale_to(&x.clone().with_slots(head.slots), 1.0, self.program.maps.plan.linear)?;
        let (before, pixels) = (x.estimate.error(), head.folds.iter().map(|fold| fold.count as f64).product::<f64>());
        for fold in head.folds {
            x = auto.inner_sum(&x, fold.stride as i64, fold.count)?;
        }
        // Of errors a part is the same in all pixels, bootstrapping's bias: it adds up in full.
        x.estimate = x.estimate.with_error_known(before * pixels);
        head.map.apply(auto, self.maps.next().expect("a map for the linear layer"), &x)
    }
}

impl Resnet {
    /// Its clear linear maps, each with the way in which it is evaluated.
    pub fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        let Maps { packed, plan, .. } = &*self.maps;
        let mut all = Vec::new();
        for (step, levels) in packed.steps.iter().zip(&plan.steps) {
            all.push((&step.map.diagonals, levels.convolution));
            if let Some(Shortcut::Map(map)) = &step.shortcut {
                all.push((&map.diagonals, levels.convolution));
            }
        }
        all.push((&packed.head.map.diagonals, plan.linear));
        all.into_iter().map(|(map, level)| (map, self.how(map, level))).collect()
    }

    /// Bootstrapping plan, if the program bootstraps.
    pub fn bootstrapping(&self) -> Option<BootstrapPlan> {
        self.options.bootstrapping.filter(|_| self.maps.plan.bootstraps() > 0)
    }
}

impl Program for Resnet {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "resnet20"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let level = self.maps.plan.input();
        let packing = Packing { slots: self.maps.packed.input_slots, level, scale: self.params.scale(level) };
        vec![Input { name: "images".into(), batch: self.batch, packing, bounds: self.options.bounds }]
    }

    fn model(&self) -> SlotsModel<'_> {
        SlotsModel { maps: self.maps(), bootstrapping: self.bootstrapping() }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let Slots { auto, maps } = means;
        let steps = self.options.architecture.steps();
        let mut state = match journal.resume()? {
            Some(state) if (1..=2).contains(&state.ciphertexts.len()) && state.step <= steps.len() + 1 => state,
            Some(_) => return Err(limbwise::Error::State),
            None => State { step: 0, ciphertexts: vec![inputs[0].clone()], numbers: Vec::new() },
        };
        if state.step > steps.len() {
            return Ok(state.ciphertexts);
        }
        let before = self.maps.packed.steps.iter().take(state.step);
        let used = before.map(|s| 1 + usize::from(matches!(s.shortcut, Some(Shortcut::Map(_))))).sum::<usize>();
        let mut course = Course { program: self, auto, maps: maps[used..].iter(), observer, done: 3 * state.step };
        for (index, step) in steps.iter().enumerate().skip(state.step) {
            let x = state.ciphertexts[0].clone();
            // What a block was given waits beside its first convolution's result.
            let kept = match step.position {
                Position::First => vec![x.clone()],
                _ => Vec::new(),
            };
            let y = course.step(index, &x, state.ciphertexts.get(1))?;
            let ciphertexts = [vec![y], kept].concat();
            state = State { step: index + 1, ciphertexts, numbers: Vec::new() };
            drop(x);
            journal.keep(&state)?;
        }
        let result = course.head(&state.ciphertexts[0])?;
        state = State { step: steps.len() + 1, ciphertexts: vec![result], numbers: Vec::new() };
        journal.keep(&state)?;
        Ok(state.ciphertexts)
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let scores = self.scores(&results[0]);
        let shape = vec![scores.len(), self.options.architecture.classes];
        let values = scores.into_iter().flatten().map(Into::into).collect();
        vec![Array { name: "scores".into(), shape, values, numbers: Numbers::Real }]
    }

    fn details(&self) -> Details {
        let Maps { packed, relu, plan, .. } = &*self.maps;
        let maps = self.maps();
        let details = json!({
            "network": format!("ResNet-{}", self.options.architecture.layers()),
            "images": self.options.images,
            "images_together": packed.together,
            "strategy": self.options.strategy.to_string(),
            "plaintexts": self.options.plaintexts,
            "activation": { "degrees": self.options.relu.degrees, "gap_bits": self.options.relu.gap_bits, "levels": relu.depth(), "sign_error": relu.sign_error },
            "ranges": self.options.ranges,
            "levels_of_layers": plan,
            "scale_bits": self.params.scale(plan.linear).log2(),
            "bootstraps": plan.bootstraps(),
            "maps": maps.len(),
            "diagonals": maps.iter().map(|(map, _)| map.count()).sum::<usize>(),
            "rotations": maps.iter().map(|(map, how)| how.strategy.steps(map)).sum::<usize>(),
        });
        details.as_object().cloned().unwrap_or_default()
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let sum = |name: &str| steps.iter().filter(|(step, _)| *step == name).map(|(_, s)| s).sum::<f64>();
        let times = json!({
            "convolution_seconds": sum("convolution"),
            "bootstrapping_seconds": sum("bootstrapping"),
            "activation_seconds": sum("activation"),
        });
        times.as_object().cloned().unwrap_or_default()
    }

    fn in_way(&self, way: Way) -> Self {
        let program = way.maps.map_or_else(|| self.clone(), |maps| self.clone().with(maps));
        way.bootstrapping.map_or_else(|| program.clone(), |plan| program.clone().with_bootstrapping(plan))
    }
}
