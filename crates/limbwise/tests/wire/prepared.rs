//! Prepared models: what was encoded comes back in its order and shape; changed, cut and lying files are refused.

use crate::{
    common::{Dev, device, plain_values},
    fixtures::{fixture, fixture_params},
};
use limbwise::{
    Error,
    ckks::{Diagonals, Encoder, LinearPlan, LinearTransform, PlaintextForm, Strategy},
    params::Params,
    supply::Supply,
    wire::{Fingerprint, Origin, PreparedFile, PreparedWriter, WireError, container::PREAMBLE},
};
use limbwise_device::{Device, Domain, Handle as _, HostRead as _, Shape};
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Mutex};

const ORIGIN: Origin = Origin { program: Fingerprint([1; 32]), ..Origin::NONE };
const MODEL: Fingerprint = Fingerprint([9; 32]);

type Poly = <Dev as Device>::Poly;

/// Encodes, and keeps a copy of everything.
#[derive(Default)]
struct Copies(Mutex<Vec<Poly>>);

impl Supply<Dev> for Copies {
    fn next(&self, _: &Dev, shape: &Shape, make: &dyn Fn() -> Poly) -> limbwise::Result<Poly> {
        let poly = make();
        assert_eq!(poly.shape(), shape);
        self.0.lock().unwrap().push(poly.clone());
        Ok(poly)
    }
}

/// Two maps, one in each form that is stored.
fn encoded(dev: &Dev, params: &Params) -> Vec<Poly> {
    let (encoder, copies) = (Encoder::new(params), Copies::default());
    let values = plain_values(3, 512);
    let map = Diagonals::new(512, [0, 1, 4].into_iter().zip(values)).unwrap();
    for form in [PlaintextForm::Full, PlaintextForm::OnTheFly] {
        let plan = LinearPlan { strategy: Strategy::Hoisted, form, level: 1, scale: params.scale(1) };
        LinearTransform::encode_from(dev, &copies, &encoder, &map, plan).unwrap();
    }
    copies.0.into_inner().unwrap()
}

fn written(dev: &Dev, params: &Params, polys: &[Poly]) -> Vec<u8> {
    let shapes: Vec<Shape> = polys.iter().map(|poly| poly.shape().clone()).collect();
    let mut out = PreparedWriter::begin(Vec::new(), params, &ORIGIN, MODEL, &shapes).unwrap();
    polys.iter().for_each(|poly| out.push(dev, poly).unwrap());
    out.finish().unwrap()
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire/v2/prepared.lw")
}

/// Reads everything and writes it again.
fn again(bytes: &[u8], dev: &Dev, params: &Params) -> Result<Vec<u8>, Error> {
    let file = PreparedFile::open(bytes, params)?;
    ORIGIN.admits(&file.origin())?;
    file.admits_model(MODEL)?;
    let read = |(number, shape): (u64, Shape)| file.read(dev, number, &shape);
    let polys = (0..).zip(file.shapes().cloned()).map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(written(dev, params, &polys))
}

#[test]
#[ignore = "writes the fixture if it is missing"]
fn write_it_if_it_is_missing() {
    let (dev, params) = (device(), fixture_params());
    if !path().exists() {
        std::fs::write(path(), written(&dev, &params, &encoded(&dev, &params))).unwrap();
    }
}

#[test]
fn what_was_encoded_comes_back() {
    let (dev, params, bytes) = (device(), fixture_params(), fixture("prepared"));
    assert!(again(&bytes, &dev, &params).unwrap() == bytes);
    let (file, polys) = (PreparedFile::open(&bytes[..], &params).unwrap(), encoded(&dev, &params));
    assert_eq!((file.count(), file.length()), (6, bytes.len() as u64));
    file.check(&dev).unwrap();
    // In any order; the fixture holds what is encoded today.
    for number in [5, 0, 3, 1, 4, 2] {
        let poly = &polys[number];
        let read = file.read(&dev, number as u64, poly.shape()).unwrap();
        assert!(dev.download(&read).unwrap() == dev.download(poly).unwrap(), "{number}");
    }
    let of_file = |got: Result<Poly, WireError>| got.err().unwrap().to_string();
    let other = polys[0].shape().with_domain(Domain::Coeff);
    assert!(of_file(file.read(&dev, 0, &other)).contains("plaintext 0 of the prepared model is 2 limbs in evaluation"));
    assert!(of_file(file.read(&dev, 6, polys[5].shape())).contains("plaintext 6 of the prepared model is none"));
    assert!(file.admits_model(Fingerprint::NONE).unwrap_err().to_string().contains("another model"));
}

#[test]
fn flipped_bytes_and_other_lengths_are_found() {
    let (dev, params, bytes) = (device(), fixture_params(), fixture("prepared"));
    let mut damaged = bytes.clone();
    // All of preamble and header, and of the blocks one byte in seven.
    for at in (0..bytes.len()).filter(|at| *at < 600 || at % 7 == 0) {
        damaged[at] ^= 1 << (at % 8);
        assert!(again(&damaged, &dev, &params).is_err(), "byte {at}");
        damaged[at] = bytes[at];
    }
    for length in (0..bytes.len()).step_by(61) {
        assert!(again(&bytes[..length], &dev, &params).is_err(), "cut to {length}");
    }
    assert!(again(&[&bytes[..], &[0; 16]].concat(), &dev, &params).is_err());
}

#[test]
fn headers_that_lie_are_refused_before_memory_is_taken() {
    let (params, bytes) = (fixture_params(), fixture("prepared"));
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[PREAMBLE..PREAMBLE + length]).unwrap();
    let most = json!(u64::MAX);
    for (field, value, wanted) in [
        ("/encoding", json!(2), "encoding 2"),
        ("/model", json!("09"), "another model"),
        ("/runs/0/count", json!(4), "its header says"),
        ("/runs/0/count", most.clone(), "its header says"),
        ("/runs/0/batch", most, "its header says"),
        ("/runs/0/batch", json!(0), "runs is"),
        ("/runs/0/limbs", json!([0, 0]), "runs is"),
        ("/runs/0/limbs", json!([1, 0]), "runs is"),
        ("/runs/0/limbs", json!([]), "runs is"),
        ("/runs/0/limbs", json!([200]), "runs is"),
        ("/runs", json!([]), "its header says"),
    ] {
        let mut lying = header.clone();
        *lying.pointer_mut(field).unwrap() = value;
        let text = serde_json::to_vec(&lying).unwrap();
        let mut begin = bytes[..152].to_vec();
        begin[12..16].copy_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
        let digest = *blake3::hash(&[&begin[..], &text].concat()).as_bytes();
        let file = [&begin[..], &digest, &text, &bytes[PREAMBLE + length..]].concat();
        let refused = PreparedFile::open(&file[..], &params).and_then(|file| file.admits_model(MODEL));
        let refused = refused.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(refused.contains(wanted), "{field}: {refused}");
    }
}
