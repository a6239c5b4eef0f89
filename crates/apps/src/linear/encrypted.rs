//! The encrypted layer in slots: a program with one map, or with the 2d maps of a product of encrypted matrices.

use super::layer::Layer;
use crate::{
    program::{Array, Ckks, Details, Evaluation, Numbers, Program, SlotsInput as Input, State, fields},
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{
        Ciphertext, Diagonals, LinearPlan, Packing, PlaintextForm, Promise, Strategy,
        tensor::{Convolution, MatrixProduct, PackedMap, SquareProduct},
    },
    params::Params,
    scheme::{Maps, Slots},
};
use limbwise_device::Device;
use serde_json::json;
use std::sync::Arc;

/// Why a layer cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinearError {
    #[error(
        "level {level}: this layer takes {needed} levels, the parameters have {levels}: choose a level from {needed} to {levels}, or a preset with more levels (limbwise params show)"
    )]
    Level { level: usize, needed: usize, levels: usize },
    #[error("a layer of more than 2^26 numbers in its model, input or result: cut it into several")]
    Large,
    #[error("{got} pairs of matrices: choose 1 to {most}, or a preset with more slots")]
    Pairs { got: usize, most: usize },
    #[error("values up to {got}: wanted a positive number (was the description of the program changed?)")]
    Promise { got: f64 },
    #[error("got {got}; the program is {wanted} (give data of that shape, or make keys for these: limbwise keygen)")]
    OtherShape { got: String, wanted: String },
    #[error("the description leaves the {what} to the server: give them to eval (--{what} FILE)")]
    NoModel { what: &'static str },
    /// Tensors that do not fit, or do not go together.
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
}

/// How a layer lies in slots.
#[derive(Debug)]
pub(super) enum Layout {
    Product(MatrixProduct),
    Square(SquareProduct),
    Convolution(Convolution),
}

/// What all variants of a layer share.
#[derive(Debug)]
struct Work {
    layer: Layer,
    layout: Layout,
}

/// The workload, without data: a layer with the way its maps are evaluated.
#[derive(Clone, Debug)]
pub struct Linear {
    params: Params,
    level: usize,
    work: Arc<Work>,
    bounds: Promise,
    strategy: Strategy,
    form: PlaintextForm,
}

impl Linear {
    /// The layer for inputs encrypted at a level, as if all were 1; hoisted with full diagonals.
    pub fn new(params: &Params, level: usize, layer: Layer) -> Result<Self, LinearError> {
        let (needed, levels, slots) = (layer.levels_needed(), params.top_level(), params.max_slots());
        if level < needed || level > levels {
            return Err(LinearError::Level { level, needed, levels });
        }
        let layout = match &layer {
            Layer::Product { matrix, bias, vectors } => {
                Layout::Product(MatrixProduct::new(matrix, bias, *vectors, slots)?)
            }
            Layer::Square { side, pairs } => {
                let square = SquareProduct::new(*side, slots)?;
                if !(1..=square.pairs()).contains(pairs) {
                    return Err(LinearError::Pairs { got: *pairs, most: square.pairs() });
                }
                Layout::Square(square)
            }
            Layer::Convolution { filters, image } => Layout::Convolution(Convolution::new(filters, *image, slots)?),
        };
        layer.result_shape()?; // what has no result is a mistake to be told now
        let work = Arc::new(Work { layer, layout });
        let bounds = Promise { magnitude: 1.0, peak: 1.0, real: true };
        Ok(Self { params: params.clone(), level, work, bounds, strategy: Strategy::Hoisted, form: PlaintextForm::Full })
    }

    /// The same layer with its maps evaluated in another way.
    #[must_use]
    pub fn with(&self, strategy: Strategy, form: PlaintextForm) -> Self {
        Self { strategy, form, ..self.clone() }
    }

    /// The map with the most diagonals: what a strategy is chosen for.
    ///
    /// # Panics
    /// Never: every layer has a map.
    pub fn largest_map(&self) -> &Diagonals {
        self.maps().into_iter().map(|(map, _)| map).max_by_key(|map| map.count()).expect("a layer has a map")
    }

    /// The same layer for inputs of which this is known.
    ///
    /// # Errors
    /// [`LinearError::Promise`] for what no data has.
    pub fn with_bounds(&self, bounds: Promise) -> Result<Self, LinearError> {
        if !bounds.is_possible() {
            return Err(LinearError::Promise { got: bounds.peak });
        }
        Ok(Self { bounds, ..self.clone() })
    }

    pub fn level(&self) -> usize {
        self.level
    }

    pub fn layer(&self) -> &Layer {
        &self.work.layer
    }

    /// What is known of the inputs.
    pub fn bounds(&self) -> Promise {
        self.bounds
    }

    /// How the maps are evaluated.
    pub fn way(&self) -> (Strategy, PlaintextForm) {
        (self.strategy, self.form)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.work.layout
    }

    fn map(&self) -> Option<&PackedMap> {
        match &self.work.layout {
            Layout::Product(product) => Some(&product.map),
            Layout::Convolution(convolution) => Some(&convolution.map),
            Layout::Square(_) => None,
        }
    }

    /// The results in decrypted slots: real and imaginary parts are unpacked alike.
    pub(super) fn unpacked(&self, slots: &[Vec<Complex64>]) -> Vec<Complex64> {
        let part = |part: fn(&Complex64) -> f64| {
            let slots: Vec<Vec<Complex64>> =
                slots.iter().map(|row| row.iter().map(|z| part(z).into()).collect()).collect();
            self.values(&slots).expect("as many slots as were packed")
        };
        part(|z| z.re).into_iter().zip(part(|z| z.im)).map(|(re, im)| Complex64::new(re, im)).collect()
    }

    fn values(&self, slots: &[Vec<Complex64>]) -> Result<Vec<f64>> {
        match (&self.work.layer, &self.work.layout) {
            (_, Layout::Product(product)) => Ok(product.output.unpack(slots)?.values().to_vec()),
            (_, Layout::Convolution(convolution)) => Ok(convolution.output.unpack(&slots[0])?.values().to_vec()),
            (Layer::Square { pairs, .. }, Layout::Square(square)) => {
                let products = square.unpack(&slots[0], *pairs)?;
                Ok(products.iter().flat_map(|m| m.values().iter().copied()).collect())
            }
            _ => unreachable!("the layout is the layer's"),
        }
    }
}

impl Linear {
    /// Its clear linear maps, each with the way in which it is evaluated.
    pub fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        match (&self.work.layout, self.map()) {
            (Layout::Square(square), _) => square.plans(&self.params, self.strategy, self.form, self.level),
            (_, map) => {
                let plan = LinearPlan::new(&self.params, self.strategy, self.form, self.level);
                map.into_iter().map(|map| (&map.diagonals, plan)).collect()
            }
        }
    }
}

impl Program for Linear {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "linear"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let (slots, bounds) = (self.params.max_slots(), self.bounds);
        let packing = Packing { slots, level: self.level, scale: self.params.scale(self.level) };
        let input = |name: &str, batch| Input { name: name.into(), batch, packing, bounds };
        match &self.work.layout {
            Layout::Product(product) => vec![input("X", product.input.ciphertexts())],
            Layout::Square(_) => vec![input("left", 1), input("right", 1)],
            Layout::Convolution(_) => vec![input("image", 1)],
        }
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: self.maps(), bootstrapping: None }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let Slots { auto, maps } = means;
        if let Some(state) = journal.resume()? {
            return if state.ciphertexts.len() == 1 { Ok(state.ciphertexts) } else { Err(limbwise::Error::State) };
        }
        observer.step("layer", 0, 1);
        let _region = auto.eval.device().region("layer", 0);
        let result = match (&self.work.layout, self.map()) {
            (Layout::Square(square), _) => auto.settle(&square.multiply(auto, maps, &inputs[0], &inputs[1])?)?,
            (_, map) => map.expect("every other layer is one map").apply(auto, &maps[0], &inputs[0])?,
        };
        let state = State { step: 1, ciphertexts: vec![result], numbers: Vec::new() };
        journal.keep(&state)?;
        Ok(state.ciphertexts)
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let shape = self.work.layer.result_shape().expect("asked for when it was built");
        vec![Array { name: "result".into(), shape, values: self.unpacked(&results[0]), numbers: Numbers::Real }]
    }

    fn details(&self) -> Details {
        fields(json!({
            "layer": self.work.layer.describe(),
            "strategy": self.strategy.to_string(),
            "plaintexts": self.form,
            "level": self.level,
            "maps": self.maps().len(),
            "diagonals": self.largest_map().count(),
            "fold": self.map().map_or(1, |map| map.fold.count),
        }))
    }

    fn in_way(&self, way: Way) -> Self {
        way.maps.map_or_else(|| self.clone(), |(strategy, form)| self.clone().with(strategy, form))
    }
}
