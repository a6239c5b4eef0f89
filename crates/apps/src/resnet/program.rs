//! Both sides of an inference: those of the compiler under the names that reports of `resnet20` have.

use super::{ResnetError, images::Labeled, weights::Trained};
use crate::{
    client::{Client, Conclusion},
    network::{
        Inference, Network, Planned,
        client::{NetworkClient, class},
        skeleton::Operation,
    },
    program::{Array, Ckks, Details, Evaluation, Program, RegionCost, SlotsInput, fields},
    way::{Arrangement, Way},
};
use limbwise::{Complex64, Result, ckks::Ciphertext, params::Params, scheme::Maps};
use limbwise_device::Device;
use serde_json::{Value as Json, json};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Resnet(Planned);

impl Resnet {
    /// The program of an inference with a network's weights.
    ///
    /// # Errors
    /// As [`Planned::new`].
    pub fn new(params: &Params, options: Inference, network: &Arc<Network>) -> std::result::Result<Self, ResnetError> {
        Ok(Self::of(Planned::new(params, options, network)?))
    }

    /// A program of the compiler under this name.
    pub fn of(planned: Planned) -> Self {
        Self(planned)
    }

    /// The program as the compiler has it.
    pub fn planned(&self) -> &Planned {
        &self.0
    }

    /// For each activation the levels around it, and the level of the linear layer's input.
    fn levels(&self) -> Json {
        let (values, levels) = (&self.0.inference().network.values, &self.0.levels().values);
        let step = |(at, value): (usize, &crate::network::skeleton::Value)| {
            let Operation::Function { of, .. } = value.operation else { return None };
            Some(json!({
                "convolution": levels[of].made + 1,
                "bootstrap": levels[of].bootstrap,
                "activation": levels[at].made + self.0.depth(at),
                "result": levels[at].made,
            }))
        };
        let steps: Vec<Json> = values.iter().enumerate().filter_map(step).collect();
        json!({ "steps": steps, "linear": levels.last().map_or(0, |last| last.made + 1) })
    }

    fn is_linear(&self, name: &str) -> bool {
        let value = self.0.inference().network.values.iter().find(|value| value.name == name);
        value.is_some_and(|value| matches!(value.operation, Operation::Affine { .. }))
    }
}

impl Program for Resnet {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "resnet20"
    }

    fn params(&self) -> &Params {
        self.0.params()
    }

    fn inputs(&self) -> Vec<SlotsInput> {
        self.0.inputs()
    }

    fn model(&self) -> Maps<'_> {
        self.0.model()
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        self.0.evaluate(on)
    }

    fn results(&self) -> usize {
        self.0.results()
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        self.0.arrays(results)
    }

    fn unit_of(&self, array: usize) -> f64 {
        self.0.unit_of(array)
    }

    fn details(&self) -> Details {
        let options = self.0.inference();
        let layers = options.network.values.iter().filter(|value| matches!(value.operation, Operation::Affine { .. }));
        let maps = self.0.maps();
        let activation = options.sign.as_ref().map(|sign| {
            let plan = sign.plan();
            let levels = plan.depth() + 1;
            json!({ "degrees": sign.degrees, "gap_bits": sign.gap_bits, "levels": levels, "sign_error": plan.error })
        });
        let mut details = self.0.details();
        details.extend(fields(json!({
            "network": format!("ResNet-{}", layers.count()),
            "images": options.samples,
            "images_together": if let Arrangement::Turns(count) = options.arrangement { count } else { 1 },
            "activation": activation,
            "ranges": self.0.ranges_of_functions(),
            "levels_of_layers": self.levels(),
            "scale_bits": options.network.outputs.first().map(|&at| self.0.scale_bits(at)),
            "diagonals": maps.iter().map(|(map, _)| map.count()).sum::<usize>(),
            "rotations": maps.iter().map(|(map, how)| how.strategy.steps(map)).sum::<usize>(),
        })));
        details
    }

    fn costs(&self, costs: &[RegionCost]) -> Details {
        self.0.costs(costs)
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let mut times = self.0.timed(steps);
        let last = self.0.inference().network.values.last().map_or("", |value| &value.name);
        let layers = times.get("layer_seconds").and_then(Json::as_array).cloned().unwrap_or_default();
        let (mut linear, mut functions) = (0.0, 0.0);
        for layer in &layers {
            let (name, seconds) = (layer["name"].as_str().unwrap_or(""), layer["seconds"].as_f64().unwrap_or(0.0));
            match () {
                () if name == last => {}
                () if self.is_linear(name) => linear += seconds,
                () => functions += seconds,
            }
        }
        times.extend(fields(json!({ "convolution_seconds": linear, "activation_seconds": functions })));
        times
    }

    fn least_bytes(&self) -> u64 {
        self.0.least_bytes()
    }

    fn transient_bytes(&self) -> u64 {
        self.0.transient_bytes()
    }

    fn in_way(&self, way: Way) -> Self {
        Self(self.0.in_way(way))
    }
}

/// The data of an inference.
#[derive(Clone, Debug)]
pub struct ResnetClient(NetworkClient);

impl ResnetClient {
    /// For a program and so many images as it is for.
    ///
    /// # Errors
    /// [`ResnetError`] for another number of images, or other sizes.
    pub fn new(program: &Resnet, trained: &Trained, images: &[Labeled]) -> std::result::Result<Self, ResnetError> {
        let samples = images.iter().map(|one| trained.normalized(&one.image)).collect::<std::result::Result<_, _>>()?;
        let labels = images.iter().map(|one| one.label).collect::<Option<Vec<_>>>().unwrap_or_default();
        Ok(Self(NetworkClient::new(&program.0, &trained.network, samples, labels)?))
    }

    /// The data as the compiler has them.
    pub fn network(&self) -> &NetworkClient {
        &self.0
    }
}

impl Client for ResnetClient {
    type Scheme = Ckks;

    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        self.0.values(input)
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let mut conclusion = self.0.conclude(results);
        if let Some(error) = conclusion.details.remove("output_error") {
            conclusion.details.insert("score_error".into(), error);
        }
        let scores = self.0.scores(results);
        let classes: Vec<usize> = scores.iter().map(|scores| class(scores)).collect();
        conclusion.details.extend(fields(json!({ "classes": classes, "scores": scores })));
        conclusion
    }

    fn in_way(&self, way: Way) -> Option<Self> {
        self.0.in_way(way).map(Self)
    }
}
