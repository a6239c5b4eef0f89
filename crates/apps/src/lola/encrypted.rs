//! The encrypted network: one ciphertext per image, three linear maps and two squares, five levels.
//!
//! The client cuts the image into the phases of the stride, so that the convolution has none and its outputs no gaps
//! (ADR 199). Each map leaves its result repeated, at no cost, and the next map takes that repetition as its input: few
//! diagonals, and no data move between layers. Several images form a batch. Source: \[LOLA\], \[JVC18\]; Differs: all
//! three layers use diagonals, where the source has separate dot products.

use super::{
    client::Digits,
    network::{LolaError, Network},
};
use crate::{
    program::{Array, Ckks, Details, Evaluation, Numbers, Program, SlotsInput as Input, State, fields},
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{
        Ciphertext, Diagonals, LinearPlan, Packing, PlaintextForm, Promise, Strategy,
        tensor::{Convolution, Matrix, MatrixLayout, MatrixProduct, PackedMap, Spread},
    },
    params::Params,
    scheme::{Maps, Slots},
};
use limbwise_device::Device;
use serde_json::json;
use std::sync::Arc;

/// Levels that the network takes.
pub const LEVELS: usize = 5;

/// The network as maps on slots.
#[derive(Debug)]
struct Layers {
    network: Network,
    convolution: Convolution,
    first: PackedMap,
    second: PackedMap,
}

#[derive(Clone, Debug)]
pub struct Lola {
    params: Params,
    layers: Arc<Layers>,
    images: usize,
    bounds: Promise,
    strategy: Strategy,
    form: PlaintextForm,
    /// Sizes of the values after each step, where the network is known.
    sizes: Option<[f64; LEVELS]>,
}

impl Lola {
    /// The network for this many images per pass with this value bound; double-hoisted with full diagonals.
    pub fn new(
        params: &Params,
        network: Network,
        images: usize,
        bounds: Promise,
    ) -> std::result::Result<Self, LolaError> {
        let (needed, levels, slots) = (LEVELS, params.top_level(), params.max_slots());
        if levels < needed {
            return Err(LolaError::Levels { needed, levels });
        }
        if !(1..=4096).contains(&images) {
            return Err(LolaError::Images(images));
        }
        if !bounds.is_possible() {
            return Err(LolaError::Promise(bounds.peak));
        }
        let (filters, image) = network.filters.in_phases(network.shape.padded())?;
        let convolution = Convolution::repeating(&filters, image, slots)?;
        let first = first_layer(&network, &convolution, slots)?;
        let second = second_layer(&network, &first, slots)?.map;
        let first = first.map;
        let layers = Arc::new(Layers { network, convolution, first, second });
        let strategy = Strategy::DoubleHoisted { babies: 16 };
        Ok(Self { params: params.clone(), layers, images, bounds, strategy, form: PlaintextForm::Full, sizes: None })
    }

    /// The same program, which expects values as large as the clear network's on generated images of the promised size:
    /// the rule of sums cannot know how much of a sum cancels. Only for weights that both sides know.
    ///
    /// # Errors
    /// [`LolaError::Shape`].
    pub fn expecting_digits(self) -> std::result::Result<Self, LolaError> {
        let side = self.network().shape.side;
        let mut digits = Digits::generated(side, SAMPLE, 0).pixels;
        let promised = self.bounds.magnitude * (self.params.max_slots() as f64).sqrt() / side as f64;
        let size = root_mean_square(digits.iter().flatten());
        digits.iter_mut().flatten().for_each(|pixel| *pixel *= promised / size);
        let steps = digits.iter().map(|pixels| self.network().steps(pixels)).collect::<Result<Vec<_>, _>>()?;
        let sizes = std::array::from_fn(|step| root_mean_square(steps.iter().flat_map(|steps| &steps[step])));
        Ok(Self { sizes: Some(sizes), ..self })
    }

    /// The same network with another strategy: each map uses the best strategy of this kind.
    #[must_use]
    pub fn with(&self, strategy: Strategy, form: PlaintextForm) -> Self {
        Self { strategy, form, ..self.clone() }
    }

    /// The same program with other weights in a network of the same shape.
    pub fn with_network(&self, network: Network) -> std::result::Result<Self, LolaError> {
        let program = Self::new(&self.params, network.of_shape(self.network().shape)?, self.images, self.bounds)?;
        Ok(program.with(self.strategy, self.form))
    }

    /// The same program with another value bound for the packed images.
    pub(super) fn with_bounds(&self, bounds: Promise) -> Self {
        Self { bounds, ..self.clone() }
    }

    /// Strategy and diagonal storage of the maps.
    pub fn way(&self) -> (Strategy, PlaintextForm) {
        (self.strategy, self.form)
    }

    /// The map with the most diagonals, which decides the strategy.
    pub fn largest_map(&self) -> &Diagonals {
        &self.layers.first.diagonals
    }

    pub fn network(&self) -> &Network {
        &self.layers.network
    }

    /// Images in one pass.
    pub fn images(&self) -> usize {
        self.images
    }

    /// Public bound of the pixels.
    pub fn bounds(&self) -> Promise {
        self.bounds
    }

    /// The slots of an image.
    pub(super) fn pack(&self, pixels: &[f64]) -> Result<Vec<Complex64>> {
        let (network, input) = (&self.layers.network, self.layers.convolution.input);
        let shape = [input.channels, input.height, input.width];
        self.layers.convolution.pack(&network.padded(pixels)?.in_phases(network.shape.stride, shape)?)
    }

    pub(super) fn scores(&self, slots: &[Complex64]) -> Vec<f64> {
        slots.iter().take(self.layers.network.shape.classes).map(|z| z.re).collect()
    }

    fn packed_maps(&self) -> [&PackedMap; 3] {
        [&self.layers.convolution.map, &self.layers.first, &self.layers.second]
    }

    /// The strategy of the chosen kind with the fewest steps for a map; hoisted if the map has none of that kind.
    fn strategy_for(&self, map: &Diagonals) -> Strategy {
        let of_kind = Strategy::candidates(map).into_iter().filter(|s| s.name() == self.strategy.name());
        of_kind.min_by_key(|s| s.steps(map)).unwrap_or(Strategy::Hoisted)
    }
}

/// Images that the sizes of values are taken from.
const SAMPLE: usize = 16;

/// Of no values: zero.
pub(crate) fn root_mean_square<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let (count, sum) = values.fold((0usize, 0.0), |(count, sum), x| (count + 1, sum + x * x));
    (sum / count.max(1) as f64).sqrt()
}

/// The first layer on the slots that the convolution leaves until they repeat.
fn first_layer(network: &Network, convolution: &Convolution, slots: usize) -> Result<MatrixProduct> {
    let (hidden, places, Spread { unit, period, extent, .. }) =
        (network.shape.hidden, network.shape.places(), convolution.output.blocks);
    let columns = period * unit;
    let mut weights = vec![0.0; hidden * columns];
    for row in 0..hidden {
        for column in 0..network.first.columns() {
            let (channel, y, x) = (column / (places * places), column / places % places, column % places);
            weights[row * columns + convolution.output.slot(channel, y, x)] = network.first.at(row, column);
        }
    }
    let input = Spread { items: columns, unit: 1, period: columns, extent: extent * unit };
    let output = input.of_result(hidden, 1, slots);
    let layout = |rows| MatrixLayout { rows, columns: 1 };
    let matrix = Matrix::new(hidden, columns, weights)?;
    MatrixProduct::between(&matrix, &network.first_bias, layout(input), layout(output), slots)
}

fn second_layer(network: &Network, first: &MatrixProduct, slots: usize) -> Result<MatrixProduct> {
    let output = MatrixLayout { rows: Spread::once(network.shape.classes, 1), columns: 1 };
    MatrixProduct::between(&network.second, &network.second_bias, first.output, output, slots)
}

const STEPS: [&str; LEVELS] = ["convolution", "square 1", "first layer", "square 2", "second layer"];

impl Lola {
    /// The clear linear maps, each with its strategy.
    pub fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        let levels = [LEVELS, LEVELS - 2, LEVELS - 4];
        let diagonals = self.packed_maps().map(|map| &map.diagonals).into_iter();
        let plan = |map, level| LinearPlan::new(&self.params, self.strategy_for(map), self.form, level);
        diagonals.zip(levels).map(|(map, level)| (map, plan(map, level))).collect()
    }
}

impl Program for Lola {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "lola"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let packing = Packing { slots: self.params.max_slots(), level: LEVELS, scale: self.params.scale(LEVELS) };
        vec![Input { name: "images".into(), batch: self.images, packing, bounds: self.bounds }]
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: self.maps(), bootstrapping: None }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let Slots { auto, maps } = means;
        let mut state = match journal.resume()? {
            Some(state) if (1..=STEPS.len()).contains(&state.step) && state.ciphertexts.len() == 1 => state,
            Some(_) => return Err(limbwise::Error::State),
            None => State { step: 0, ciphertexts: vec![inputs[0].clone()], numbers: Vec::new() },
        };
        for (step, name) in STEPS.into_iter().enumerate().skip(state.step) {
            observer.step(name, step, STEPS.len());
            let _region = auto.eval.device().region(name, 0);
            let x = &state.ciphertexts[0];
            let next = match step % 2 {
                0 => self.packed_maps()[step / 2].apply(auto, &maps[step / 2], x)?,
                _ => auto.settle(&auto.square(x)?)?,
            };
            let next = match self.sizes {
                Some(sizes) => next.with_magnitude(sizes[step]),
                None => next,
            };
            state = State { step: step + 1, ciphertexts: vec![next], numbers: Vec::new() };
            journal.keep(&state)?;
        }
        Ok(state.ciphertexts)
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let classes = self.layers.network.shape.classes;
        let values = results[0].iter().flat_map(|slots| slots.iter().take(classes).copied()).collect();
        vec![Array { name: "scores".into(), shape: vec![self.images, classes], values, numbers: Numbers::Real }]
    }

    fn details(&self) -> Details {
        let strategies: Vec<String> =
            self.packed_maps().map(|map| self.strategy_for(&map.diagonals).to_string()).into();
        fields(json!({
            "images": self.images,
            "strategies": strategies,
            "plaintexts": self.form,
            "map_diagonals": self.packed_maps().map(|map| map.diagonals.count()),
        }))
    }

    fn timed(&self, steps: &[(&str, f64)]) -> Details {
        let own = steps.iter().filter(|(name, _)| STEPS.contains(name));
        let seconds: f64 = own.clone().map(|(_, s)| s).sum();
        let times = json!({ "seconds_an_image": seconds / self.images as f64 });
        // After a resume the measured time does not cover a whole image.
        if own.count() < STEPS.len() { Details::new() } else { fields(times) }
    }

    fn in_way(&self, way: Way) -> Self {
        way.maps.map_or_else(|| self.clone(), |(strategy, form)| self.clone().with(strategy, form))
    }
}
