//! Source of images: MNIST's own files, or generated images for plans, timings and tests.

use crate::{
    data::{DataError, DataSet, Digits, Pooling, idx},
    linear::data::generated,
    logreg::data::{PrepareOptions, Prepared, Scaling, prepare, prepare_apart},
};
use std::path::{Path, PathBuf};

/// Which images are used for training, and which for testing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageOptions {
    /// The two digits; the second is the positive class.
    pub digits: Digits,
    /// Share of test images if no separate file has them.
    pub test_share: f64,
    pub seed: u64,
}

/// MNIST's file names of training images and of test images.
const NAMES: [&str; 2] = ["train-images-idx3-ubyte", "t10k-images-idx3-ubyte"];

impl ImageOptions {
    fn prepare(&self) -> PrepareOptions {
        PrepareOptions { seed: self.seed, test_share: self.test_share, scaling: Scaling::Centered }
    }

    fn load(&self, images: &Path, labels: Option<&Path>) -> Result<DataSet, DataError> {
        idx::load(images, labels, self.digits, Pooling::Mean2x2)
    }

    /// Images from one file, split into training and test images; or from a folder with MNIST's own file names. A
    /// folder with both files uses them for training and testing; a folder with one file splits it.
    ///
    /// # Errors
    /// [`DataError`] for files that are missing or not MNIST images, for labels that do not match, and for data that
    /// [`prepare`] refuses.
    pub fn read(&self, path: &Path, labels: Option<&Path>) -> Result<Prepared, DataError> {
        if !path.is_dir() {
            return prepare(&self.load(path, labels)?, &self.prepare());
        }
        let [train, test] = NAMES.map(|name| in_folder(path, name));
        match (train, test) {
            (Some(train), Some(test)) => {
                prepare_apart(&self.load(&train, None)?, &self.load(&test, None)?, &self.prepare())
            }
            (Some(one), None) | (None, Some(one)) => prepare(&self.load(&one, labels)?, &self.prepare()),
            (None, None) => Err(DataError::Format {
                path: path.to_owned(),
                got: "holds no MNIST images".into(),
                wanted: format!("{} or {}, gzip or not, with their labels", NAMES[0], NAMES[1]),
                next: "give the folder with MNIST's own files, or one file of images".into(),
            }),
        }
    }
}

/// A file in a folder, compressed or not.
fn in_folder(folder: &Path, name: &str) -> Option<PathBuf> {
    ["", ".gz"].into_iter().map(|end| folder.join(format!("{name}{end}"))).find(|path| path.is_file())
}

/// Random images of `side`² pixels in [0, 1]: each class has a mean image, plus noise of the same size.
pub fn generated_images(side: usize, count: usize, seed: u64) -> DataSet {
    let pixels = side * side;
    let means = [1, 2].map(|stream| generated(seed, stream, pixels, 0.25));
    let noise = generated(seed, 0, count * pixels, 0.25);
    let labels: Vec<bool> = generated(seed, 3, count, 1.0).into_iter().map(|x| x > 0.0).collect();
    let row = |(noise, &label): (&[f64], &bool)| {
        let mean = &means[usize::from(label)];
        noise.iter().zip(mean).map(|(n, m)| 0.5 + m + n).collect::<Vec<_>>()
    };
    DataSet {
        name: "generated".into(),
        features: noise.chunks_exact(pixels).zip(&labels).flat_map(row).collect(),
        labels,
        feature_names: (0..pixels).map(|at| format!("pixel {},{}", at / side, at % side)).collect(),
        classes: ["0".into(), "1".into()],
    }
}

/// Generated images, split into training and test images.
pub fn generated_rows(side: usize, count: usize, options: &ImageOptions) -> Result<Prepared, DataError> {
    prepare(&generated_images(side, count, options.seed), &options.prepare())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: ImageOptions =
        ImageOptions { digits: Digits { negative: 3, positive: 8 }, test_share: 0.25, seed: 1 };

    #[test]
    fn generated_images_are_pixels_of_both_classes() {
        let set = generated_images(4, 100, 3);
        assert_eq!((set.rows(), set.cols()), (100, 16));
        assert!(set.features.iter().all(|x| (0.0..=1.0).contains(x)));
        assert!(set.labels.iter().any(|&l| l) && set.labels.iter().any(|&l| !l));
        let prepared = generated_rows(4, 100, &OPTIONS).unwrap();
        assert_eq!((prepared.train.labels.len(), prepared.test.labels.len(), prepared.train.cols), (75, 25, 17));
    }

    #[test]
    fn a_folder_has_its_training_images_learned() {
        let folder = std::env::temp_dir().join(format!("limbwise-helr-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let said = OPTIONS.read(&folder, None).unwrap_err().to_string();
        assert!(said.contains("holds no MNIST images") && said.contains("train-images-idx3-ubyte"), "{said}");
        // Images of 2×2 pixels. The middle pixel depends on the label: 200 for an 8.
        let write = |name: &str, digits: &[u8]| {
            let count = u8::try_from(digits.len()).unwrap();
            let mut images = vec![0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 2];
            digits.iter().for_each(|&d| images.extend(if d == 8 { [200; 4] } else { [d; 4] }));
            std::fs::write(folder.join(format!("{name}-images-idx3-ubyte")), images).unwrap();
            let labels = [&[0, 0, 8, 1, 0, 0, 0, count], digits].concat();
            std::fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), labels).unwrap();
        };
        write("t10k", &[3, 8, 3, 8, 1, 8, 3, 3]);
        let one = OPTIONS.read(&folder, None).unwrap();
        assert_eq!((one.train.labels.len(), one.test.labels.len()), (6, 1));
        write("train", &[8, 3, 3, 5]);
        let both = OPTIONS.read(&folder, None).unwrap();
        assert_eq!((both.train.labels.len(), both.test.labels.len()), (3, 7));
        // Centered by the mean of the training images alone: (200 + 3 + 3) / 3 / 255.
        let eight = both.test.rows().zip(&both.test.labels).find(|(_, label)| **label).unwrap().0;
        assert!((eight[1] - (200.0 - 206.0 / 3.0) / 255.0).abs() < 1e-12 && (eight[0] - 1.0).abs() < 1e-12);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
