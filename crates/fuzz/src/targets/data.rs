//! Data sets, images and networks of other tools.

use super::{Answer, scratch::with_file};
use limbwise_apps::{
    data::{self, Digits, LoadOptions, Pooling, idx, npy as numpy},
    forest::{Ensemble, Forest, Grid},
    network::{Network, import},
    nn, query,
    resnet::{images as pictures, weights},
};
use std::path::Path;

/// Side of the images that small networks take.
const SIDE: usize = 8;
/// Rows of a table that are read.
const ROWS: usize = 1000;
/// Two images of 2×2 pixels, and their labels.
const IMAGES: &[u8] = &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8];
const LABELS: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 2, 3, 8];

fn text<T, E: std::fmt::Display>(read: Result<T, E>) -> Result<T, String> {
    read.map_err(|e| e.to_string())
}

/// A graph of any network.
pub fn onnx(bytes: &[u8]) -> Answer {
    whole(&text(import::parse(bytes, "fuzz.onnx"))?)
}

/// The weights of a residual network.
pub fn safetensors(bytes: &[u8]) -> Answer {
    whole(&with_file(".safetensors", bytes, |path| text(weights::load(path, SIDE)))?.network)
}

/// What is taken is a network that goes together, with numbers that can be computed with.
fn whole(network: &Network) -> Answer {
    text(network.skeleton.check())?;
    assert!(network.weights.iter().map(Vec::len).eq(network.skeleton.weights.iter().copied()), "weights of all lists");
    assert!(network.weights.iter().flatten().all(|w| w.is_finite()), "weights that are numbers");
    Ok(())
}

/// A network of bits: what is taken can be evaluated.
pub fn nn(bytes: &[u8]) -> Answer {
    let network = text(nn::Network::read(bytes))?;
    let sums = network.sums(&[1; nn::network::SIDE * nn::network::SIDE]);
    assert!(sums.iter().all(|sum| sum.abs() <= nn::network::MOST), "sums {sums:?} that do not fit a message");
    Ok(())
}

/// A forest of trees: what is taken is quantized, checked again as a description's is, and answers every row.
pub fn forest(bytes: &[u8]) -> Answer {
    let ensemble = text(Ensemble::parse(bytes, "fuzz.onnx"))?;
    let forest = text(Forest::new(&ensemble, &Grid::Thresholds, 4))?;
    let skeleton = &forest.skeleton;
    assert!(text(Forest::quantized_as(skeleton, &ensemble)).as_ref() == Ok(&forest), "another forest the second time");
    for row in [vec![0.0; ensemble.features], vec![f64::MAX; ensemble.features]] {
        let (floats, bits) = (ensemble.scores(&row), skeleton.bits(&row));
        let scores = skeleton.scores(&forest.sums(&bits));
        let half = 0.51 * skeleton.scale.step * skeleton.trees.len() as f64 + 1e-6;
        let near = floats.iter().zip(&scores).all(|(a, b)| (a - b).abs() <= half * (1.0 + a.abs() + b.abs()));
        assert!(near, "scores {scores:?} of {floats:?}");
    }
    Ok(())
}

pub fn parquet(bytes: &[u8]) -> Answer {
    let table = with_file(".parquet", bytes, |path| text(query::load(path, Some(ROWS), &[])))?;
    assert!((1..=ROWS).contains(&table.rows), "{} rows", table.rows);
    Ok(())
}

/// A table with a header, and the same bytes as TPC-H's `.tbl`.
pub fn table(bytes: &[u8]) -> Answer {
    let table = with_file(".csv", bytes, |path| text(query::load(path, Some(ROWS), &[])));
    let rows = with_file(".tbl", bytes, |path| text(query::load(path, Some(ROWS), &[])));
    let numbers = with_file(".txt", bytes, |path| text(data::load_array(path)));
    let tables = [&table, &rows].into_iter().flatten();
    assert!(tables.map(|table| table.rows).all(|rows| (1..=ROWS).contains(&rows)), "as many rows as asked for");
    if let Ok(numbers) = &numbers {
        assert_eq!(numbers.shape.iter().product::<usize>(), numbers.values.len(), "numbers of the shape");
    }
    table.map(drop).or(rows.map(drop)).or(numbers.map(drop))
}

pub fn labeled_table(bytes: &[u8]) -> Answer {
    let set = with_file(".csv", bytes, |path| text(data::load(path, &LoadOptions::default())))?;
    assert_eq!(set.features.len(), set.rows() * set.cols(), "a number for each row and column");
    assert!(set.features.iter().all(|x| x.is_finite()), "finite numbers");
    Ok(())
}

pub fn integers(bytes: &[u8]) -> Answer {
    text(with_file(".csv", bytes, data::load_integers)).map(drop)
}

/// An array: what is taken is finite and of its shape, and read the same again once it is written.
pub fn npy(bytes: &[u8]) -> Answer {
    let name = Path::new("fuzz.npy");
    let array = text(numpy::parse(bytes, bytes.len() as u64, name))?;
    assert_eq!(array.shape.iter().product::<usize>(), array.values.len(), "numbers of the shape");
    assert!(array.values.iter().all(|z| z.re.is_finite() && z.im.is_finite()), "finite numbers");
    let mut written = Vec::new();
    text(numpy::write(&mut written, &array.shape, &array.values, numpy::Parts::Complex))?;
    let again = text(numpy::parse(&written[..], written.len() as u64, name));
    assert_eq!(again, Ok(array), "another array the second time");
    Ok(())
}

fn idx(images: &[u8], labels: &[u8]) -> Answer {
    let options = LoadOptions {
        digits: Some(Digits { negative: 3, positive: 8 }),
        pooling: Pooling::None,
        ..LoadOptions::default()
    };
    with_file("-labels", labels, |labels| {
        with_file("-images", images, |path| {
            let options = LoadOptions { idx_labels: Some(labels.to_owned()), ..options };
            let read = text(idx::load_range(path, Some(labels), 0..2));
            if let Ok(read) = &read {
                assert!(read.pixels.iter().all(|image| image.len() == read.side[0] * read.side[1]), "whole images");
            }
            text(data::load(path, &options)).map(drop).or(read.map(drop))
        })
    })
}

/// Images of MNIST's format, plain or gzip, with the labels of two images.
pub fn idx_images(bytes: &[u8]) -> Answer {
    idx(bytes, LABELS)
}

/// Labels of two images.
pub fn idx_labels(bytes: &[u8]) -> Answer {
    idx(IMAGES, bytes)
}

/// PNG or CIFAR-10's binary form.
pub fn images(bytes: &[u8]) -> Answer {
    let read = with_file(".png", bytes, |path| text(pictures::load(path)))?;
    let whole = read.iter().all(|labeled| labeled.image.values().iter().all(|x| (0.0..=1.0).contains(x)));
    assert!(whole, "pixels from 0 to 1");
    Ok(())
}
