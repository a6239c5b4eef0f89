//! The clear network: the file that `scripts/train_nn.py` writes, and the exact twin.
//!
//! The shape is that of \[CJP21\]: a convolution of two 10×11 kernels over the zero-padded image (2×21×20 activations),
//! layers of 92 neurons, and 10 sums. A neuron is 1 if `Σ w_i·a_i + b ≥ 0`, on bits.

/// Why a network or its program cannot be built.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NnError {
    #[error("not a network of scripts/train_nn.py: {0}")]
    Format(String),
    /// A neuron whose sums leave the message space of the network.
    #[error(
        "neuron {at} of layer {layer} sums to {least} … {most}; wanted -15 to 15 (train it again with scripts/train_nn.py)"
    )]
    Neuron {
        /// Which layer, from 0.
        layer: usize,
        /// Which neuron, from 0.
        at: usize,
        least: i32,
        most: i32,
    },
    #[error(
        "the network's sums are -15 to 15, which takes 4 message bits; the parameters have {0}: choose 2-2-p64, 2-2-p128, strix-III, strix-IV or fhex-II"
    )]
    Space(u32),
    #[error(
        "a sum with norm² {norm_squared} would fail with probability 2^{got:.1}, the parameters promise 2^{wanted}: choose 2-2-p128 or 2-2-p64"
    )]
    Noise {
        /// Largest squared norm of a neuron's weights.
        norm_squared: f64,
        /// log₂ of the probability.
        got: f64,
        /// log₂ of the promised probability.
        wanted: f64,
    },
    #[error("image {at} has {got} pixels; wanted 28×28 (MNIST's own files have them)")]
    Image {
        /// Which, from 1.
        at: usize,
        got: usize,
    },
    #[error("{got} images: {shipped} are shipped; give more with --data")]
    Shipped { got: usize, shipped: usize },
    #[error("{0} images: choose 1 to 64")]
    Images(usize),
}

/// Pixels a side of an image.
pub const SIDE: usize = 28;
/// Rows and columns of a kernel.
pub const KERNEL: [usize; 2] = [10, 11];
/// Rows and columns of kernel positions on the image with a border of one zero.
pub const PLACES: [usize; 2] = [SIDE + 3 - KERNEL[0], SIDE + 3 - KERNEL[1]];
pub const KERNELS: usize = 2;
pub const WIDTH: usize = 92;
pub const CLASSES: usize = 10;
/// Ciphertexts per class sum: each covers a third of the inputs, so that it fits a message.
pub const PARTS: usize = 3;
/// Largest absolute value of a sum.
pub const MOST: i32 = 15;
const LAYERS: std::ops::RangeInclusive<usize> = 3..=100;
/// Magic number of a file: name and version.
const MAGIC: &[u8; 5] = b"LWNN\x01";

/// A neuron, or a partial sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neuron {
    /// Bias.
    pub bias: i32,
    /// Input indices with their weights, which are −31 to 31 and not 0.
    pub inputs: Vec<(usize, i32)>,
}

impl Neuron {
    /// The sum for given inputs; border pixels are zero.
    fn sum(&self, input: impl Fn(usize) -> Option<u64>) -> i32 {
        let on = |&&(i, _): &&(usize, i32)| input(i) == Some(1);
        self.bias + self.inputs.iter().filter(on).map(|(_, w)| w).sum::<i32>()
    }

    pub fn range(&self) -> (i32, i32) {
        let of = |sign: i32| self.bias + self.inputs.iter().map(|(_, w)| w).filter(|&w| w * sign > 0).sum::<i32>();
        (of(-1), of(1))
    }

    pub fn norm_squared(&self) -> f64 {
        self.inputs.iter().map(|&(_, w)| f64::from(w * w)).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Kernels of 10×11 pixels, row by row.
    pub kernels: Vec<Neuron>,
    /// Layers in order; the first covers all kernel positions.
    pub hidden: Vec<Vec<Neuron>>,
    /// Three partial sums per class, each over a third of the last layer's neurons.
    pub parts: Vec<Neuron>,
    /// Number of images judged after training (none of them used in training), and number classified correctly.
    pub judged: (u16, u16),
}

/// Bytes of a file, read in order.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], NnError> {
        let (first, rest) =
            self.0.split_first_chunk::<N>().ok_or_else(|| NnError::Format("it ends too early".into()))?;
        self.0 = rest;
        Ok(*first)
    }

    /// A bias, a number of inputs, and that many words: index in the low ten bits, weight above in two's complement.
    fn neuron(&mut self, inputs: usize) -> Result<Neuron, NnError> {
        let [bias, count] = self.take()?;
        let mut input = || {
            let word = u16::from_le_bytes(self.take()?);
            let (index, weight) = (usize::from(word & 0x3ff), i32::from(word.cast_signed() >> 10));
            if index >= inputs || weight == 0 {
                return Err(NnError::Format(format!("input {index} with weight {weight}, of {inputs} inputs")));
            }
            Ok((index, weight))
        };
        let inputs = (0..count).map(|_| input()).collect::<Result<_, _>>()?;
        Ok(Neuron { bias: bias.cast_signed().into(), inputs })
    }

    fn layer(&mut self, neurons: usize, inputs: usize) -> Result<Vec<Neuron>, NnError> {
        (0..neurons).map(|_| self.neuron(inputs)).collect()
    }
}

impl Network {
    /// Parses a network file.
    ///
    /// # Errors
    /// [`NnError::Format`]; [`NnError::Neuron`] for sums outside ±15.
    pub fn read(bytes: &[u8]) -> Result<Self, NnError> {
        let mut bytes = Bytes(bytes);
        if &bytes.take::<5>()? != MAGIC {
            return Err(NnError::Format("it does not start with LWNN and version 1".into()));
        }
        let [layers] = bytes.take()?;
        let layers = usize::from(layers);
        if !LAYERS.contains(&layers) {
            return Err(NnError::Format(format!("{layers} layers; wanted 3 to 100")));
        }
        let [of, right] = [bytes.take()?, bytes.take()?].map(u16::from_le_bytes);
        let places = KERNELS * PLACES[0] * PLACES[1];
        let kernels = bytes.layer(KERNELS, KERNEL[0] * KERNEL[1])?;
        let inputs = |layer| if layer == 0 { places } else { WIDTH };
        let hidden = (0..layers - 2).map(|layer| bytes.layer(WIDTH, inputs(layer))).collect::<Result<_, _>>()?;
        let parts = bytes.layer(PARTS * CLASSES, WIDTH)?;
        if !bytes.0.is_empty() {
            return Err(NnError::Format(format!("{} bytes after its end", bytes.0.len())));
        }
        let network = Self { kernels, hidden, parts, judged: (of, right) };
        for (layer, neurons) in network.layers().into_iter().enumerate() {
            let outside = |neuron: &Neuron| neuron.range().0 < -MOST || neuron.range().1 > MOST;
            if let Some(at) = neurons.iter().position(outside) {
                let (least, most) = neurons[at].range();
                return Err(NnError::Neuron { layer, at, least, most });
            }
        }
        Ok(network)
    }

    /// The shipped network with 20, 50 or 100 layers.
    ///
    /// # Panics
    /// Never: the files are embedded in the program.
    #[must_use]
    pub fn shipped(layers: usize) -> Option<Self> {
        let bytes: &[u8] = match layers {
            20 => include_bytes!("../../data/nn20_mnist.nn"),
            50 => include_bytes!("../../data/nn50_mnist.nn"),
            100 => include_bytes!("../../data/nn100_mnist.nn"),
            _ => return None,
        };
        Some(Self::read(bytes).expect("shipped files are networks"))
    }

    /// Convolution, hidden layers, partial sums.
    pub fn layers(&self) -> Vec<&[Neuron]> {
        let hidden = self.hidden.iter().map(Vec::as_slice);
        std::iter::once(self.kernels.as_slice()).chain(hidden).chain([self.parts.as_slice()]).collect()
    }

    /// Number of bootstrappings per image.
    pub fn neurons(&self) -> usize {
        KERNELS * PLACES[0] * PLACES[1] + self.hidden.iter().map(Vec::len).sum::<usize>()
    }

    /// The sums for an image of 28×28 bits, [`PARTS`] per class.
    pub fn sums(&self, image: &[u64]) -> Vec<i32> {
        let convolved = |kernel: &Neuron, place: usize| kernel.sum(|i| pixel(place, i).map(|p| image[p]));
        let places = 0..PLACES[0] * PLACES[1];
        let first = self.kernels.iter().flat_map(|k| places.clone().map(move |p| convolved(k, p)));
        let mut bits: Vec<u64> = first.map(|sum| u64::from(sum >= 0)).collect();
        for layer in &self.hidden {
            bits = layer.iter().map(|neuron| u64::from(neuron.sum(|i| Some(bits[i])) >= 0)).collect();
        }
        self.parts.iter().map(|part| part.sum(|i| Some(bits[i]))).collect()
    }
}

/// The pixel under a kernel input at a position; `None` on the border.
pub fn pixel(place: usize, input: usize) -> Option<usize> {
    let row = (place / PLACES[1] + input / KERNEL[1]).checked_sub(1)?;
    let column = (place % PLACES[1] + input % KERNEL[1]).checked_sub(1)?;
    (row < SIDE && column < SIDE).then_some(row * SIDE + column)
}

/// The digit with the largest sum; the first one in a tie.
///
/// # Panics
/// If there are not [`PARTS`] sums for each of ten classes.
pub fn class(sums: &[i32]) -> u8 {
    let score = |digit: u8| sums[PARTS * usize::from(digit)..][..PARTS].iter().sum::<i32>();
    (0..10).rev().max_by_key(|&digit| score(digit)).expect("ten digits")
}
