//! The client's side: images, and the scores beside those of the clear network and of the polynomial twin.

use super::{
    ResnetError,
    encrypted::{Inference, Resnet},
    network::Network,
    relu::Relu,
};
use crate::{
    client::{Accuracy, Client, Conclusion},
    family::SlotsFound,
    program::Ckks,
};
use limbwise::{
    Complex64,
    ckks::{Precision, Promise, tensor::Image},
};
use serde_json::json;

/// An image with its label, if that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Labeled {
    /// Channels × rows × columns, values in [0, 1].
    pub image: Image,
    pub label: Option<usize>,
}

/// The scores of one image in the clear: of the network, and of its twin with the polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Twins {
    /// Of the network as it was trained.
    pub clear: Vec<f64>,
    /// With the polynomial in the activation's place.
    pub polynomial: Vec<f64>,
    /// The largest value before an activation, over its range.
    pub fill: f64,
}

pub fn class(scores: &[f64]) -> usize {
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}

impl Network {
    /// An image as the network takes it: each channel less its mean, over its deviation.
    ///
    /// # Errors
    /// [`ResnetError::Shape`] for an image of another shape.
    pub fn normalized(&self, image: &Image) -> Result<Image, ResnetError> {
        let [channels, height, width] = image.shape();
        let side = self.architecture.side;
        if [channels, height, width] != [self.architecture.channels, side, side] {
            let got = format!("{channels} channels of {height}×{width} pixels");
            let wanted = "images of the size that the network was trained on";
            return Err(ResnetError::Shape { what: "an image", got, wanted });
        }
        let value = |(at, x): (usize, &f64)| {
            let [mean, deviation] = self.normalization[at / (height * width)];
            (x - mean) / deviation
        };
        Ok(Image::new(image.shape(), image.values().iter().enumerate().map(value).collect())?)
    }

    /// What is known of every normalized image: its values come from [0, 1].
    pub fn bounds(&self) -> Promise {
        let largest =
            self.normalization.iter().flat_map(|[mean, deviation]| [mean / deviation, (1.0 - mean) / deviation]);
        let most = largest.map(f64::abs).fold(0.0, f64::max);
        Promise { magnitude: most, peak: most, real: true }.rounded()
    }

    /// The scores of a normalized image, twice.
    pub fn twins(&self, image: &Image, relu: &Relu, ranges: &[f64]) -> limbwise::Result<Twins> {
        let clear = self.scores(image)?;
        let mut fill = 0.0f64;
        let polynomial = self.forward(image, &mut |index, values| {
            let range = ranges[index];
            for x in values {
                fill = fill.max(x.abs() / range);
                // Far outside, the polynomial has no value that means anything, or could be counted with.
                *x = range * relu.evaluate((*x / range).clamp(-2.0, 2.0));
            }
        })?;
        Ok(Twins { clear, polynomial, fill })
    }
}

/// The data of an inference.
#[derive(Clone, Debug)]
pub struct ResnetClient {
    program: Resnet,
    network: Network,
    /// Normalized.
    images: Vec<Image>,
    labels: Vec<Option<usize>>,
}

impl ResnetClient {
    /// For a program and so many images as it is for.
    ///
    /// # Errors
    /// [`ResnetError`] for another number of images, or other sizes.
    pub fn new(program: &Resnet, network: &Network, images: &[Labeled]) -> Result<Self, ResnetError> {
        let Inference { images: wanted, .. } = *program.inference();
        if images.len() != wanted {
            let got = format!("{} images; the program is for {wanted}", images.len());
            return Err(ResnetError::Shape { what: "the data", got, wanted: "as many as were described" });
        }
        let normalized = images.iter().map(|one| network.normalized(&one.image)).collect::<Result<_, _>>()?;
        let labels = images.iter().map(|one| one.label).collect();
        Ok(Self { program: program.clone(), network: network.clone(), images: normalized, labels })
    }

    fn details(&self, scores: &[Vec<f64>], twins: &[Twins]) -> serde_json::Value {
        let count =
            |pairs: &dyn Fn(usize) -> [usize; 2]| (0..scores.len()).filter(|&i| pairs(i)[0] == pairs(i)[1]).count();
        let error = |a: &dyn Fn(usize) -> Vec<f64>, b: &dyn Fn(usize) -> Vec<f64>| {
            let each = (0..scores.len())
                .flat_map(|i| a(i).into_iter().zip(b(i)).map(|(x, y)| (x - y).abs()).collect::<Vec<_>>());
            let all: Vec<f64> = each.collect();
            all.iter().sum::<f64>() / all.len().max(1) as f64
        };
        let encrypted = |i: usize| scores[i].clone();
        let (clear, polynomial) = (|i: usize| twins[i].clear.clone(), |i: usize| twins[i].polynomial.clone());
        json!({
            "same_class_as_clear": count(&|i| [class(&scores[i]), class(&twins[i].clear)]),
            "polynomial_same_class_as_clear": count(&|i| [class(&twins[i].polynomial), class(&twins[i].clear)]),
            "score_error": { "encrypted_to_clear": error(&encrypted, &clear), "encrypted_to_polynomial": error(&encrypted, &polynomial), "polynomial_to_clear": error(&polynomial, &clear) },
            "largest_value_over_range": twins.iter().map(|t| t.fill).fold(0.0, f64::max),
            "classes": scores.iter().map(|s| class(s)).collect::<Vec<_>>(),
            "scores": scores,
        })
    }

    fn accuracy(&self, scores: &[Vec<f64>], twins: &[Twins]) -> Option<Accuracy> {
        let labels: Vec<usize> = self.labels.iter().copied().collect::<Option<_>>()?;
        let right = |class_of: &dyn Fn(usize) -> usize| {
            (0..labels.len()).filter(|&i| class_of(i) == labels[i]).count() as f64 / labels.len().max(1) as f64
        };
        Some(Accuracy { encrypted: right(&|i| class(&scores[i])), clear: right(&|i| class(&twins[i].clear)) })
    }
}

impl Client for ResnetClient {
    type Scheme = Ckks;

    fn values(&self, _input: usize) -> Vec<Vec<Complex64>> {
        self.program.pack(&self.images).expect("images were checked when they came")
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let scores = self.program.scores(&results[0]);
        let (relu, ranges) = (self.program.relu(), &self.program.inference().ranges);
        let twins = |image| self.network.twins(image, relu, ranges).expect("images were checked when they came");
        let twins: Vec<Twins> = self.images.iter().map(twins).collect();
        let flat =
            |rows: &mut dyn Iterator<Item = &Vec<f64>>| rows.flatten().map(|&x| x.into()).collect::<Vec<Complex64>>();
        let expected = flat(&mut twins.iter().map(|t| &t.polynomial));
        let details = self.details(&scores, &twins);
        let outside = twins.iter().filter(|t| t.fill > 1.0).count();
        let warning = (outside > 0).then(|| {
            format!("{outside} of {} images have values beyond the calibrated ranges: their scores are not to be trusted; calibrate on more images or with a wider --margin", twins.len())
        });
        Conclusion {
            found: SlotsFound {
                precision: Precision::of(&flat(&mut scores.iter()), &expected),
                accuracy: self.accuracy(&scores, &twins),
            },
            details: details.as_object().cloned().unwrap_or_default(),
            warnings: warning.into_iter().collect(),
        }
    }
}
