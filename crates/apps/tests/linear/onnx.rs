//! ONNX's own backend tests, encrypted: each a file, an input and the output that ONNX says.
//!
//! A few small ones are here; `scripts/onnx_backend.py` writes all whose operators the importer takes.

use crate::encrypted::session;
use limbwise::{
    ckks::{PlaintextForm, Strategy},
    params::{Insecure, Params, ParamsLiteral},
};
use limbwise_apps::{
    Program as _,
    data::load_array,
    network::{Inference, Network, Planned, calibration, client::NetworkClient, import},
    way::Arrangement,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Of the largest output: what a test may be off.
const ALLOWED: f64 = 1.0 / 4096.0;

/// As many levels as a test takes.
fn params(levels: usize) -> Params {
    // Five limbs a digit.
    let mut literal = ParamsLiteral::chain(11, 50, 40, levels, (50, 5), (levels + 1).div_ceil(5));
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn numbers(path: &Path) -> Vec<f64> {
    load_array(path).unwrap().values.iter().map(|z| z.re).collect()
}

/// The shallowest of a few rings, and the program on it.
fn planned(network: &Arc<Network>, x: &[f64]) -> Result<Planned, String> {
    // Ranges are those of the input, with room.
    let ranges = calibration::ranges(network, &[x.to_vec()]).map_err(|e| e.to_string())?;
    let inference = Inference {
        network: network.skeleton.clone(),
        ranges,
        margin: 1.25,
        error: 0.5 * ALLOWED,
        sign: None,
        samples: 1,
        arrangement: Arrangement::default(),
        strategy: Strategy::DoubleHoisted { babies: 0 },
        plaintexts: PlaintextForm::OnTheFly,
        bootstrapping: None,
    };
    let mut refused = String::new();
    for levels in [3, 8, 16, 30, 50, 110] {
        match Planned::new(&params(levels), inference.clone(), network) {
            Ok(program) => return Ok(program),
            Err(e) => refused = e.to_string(),
        }
    }
    Err(refused)
}

/// What is wrong, if anything is.
fn check(folder: &Path) -> Result<(), String> {
    let network = Arc::new(import::load(&folder.join("model.onnx")).map_err(|e| format!("not imported: {e}"))?);
    let (x, y) = (numbers(&folder.join("x.npy")), numbers(&folder.join("y.npy")));
    if x.len() != network.skeleton.sample() {
        return Err(format!("not imported: {} numbers for inputs of {}", x.len(), network.skeleton.sample()));
    }
    let largest = y.iter().fold(1e-6, |most: f64, y| most.max(y.abs()));
    let off = |got: &[f64]| got.iter().zip(&y).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max);
    let clear = network.outputs(&network.exact(&x));
    if clear.len() != y.len() || off(&clear) > 1e-4 {
        return Err(format!("WRONG in the clear: {} numbers off by {:.1e}", clear.len(), off(&clear)));
    }
    let program = planned(&network, &x).map_err(|e| format!("not planned: {e}"))?;
    let client = NetworkClient::new(&program, &network, vec![x], Vec::new()).map_err(|e| e.to_string())?;
    let (results, _) = session(&program, &client);
    let got: Vec<f64> = program.arrays(&results).iter().flat_map(|array| array.values.iter().map(|z| z.re)).collect();
    let off = off(&got);
    if off > ALLOWED { Err(format!("off by {off:.1e} of the largest output")) } else { Ok(()) }
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = entries.filter(|path| path.join("model.onnx").exists()).collect();
    all.sort();
    all
}

#[test]
fn a_sample_of_the_backend_tests_passes_encrypted() {
    let all = folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx"));
    assert!(all.len() >= 6);
    for folder in all {
        check(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    }
}

#[test]
#[ignore = "half an hour on two cores; needs the tests that scripts/onnx_backend.py writes"]
fn backend_tests_pass_encrypted() {
    let root = std::env::var_os("LIMBWISE_ONNX_BACKEND").expect("LIMBWISE_ONNX_BACKEND names the folder of the tests");
    let (mut passed, mut refused, mut failed) = (0, 0, Vec::new());
    for folder in folders(Path::new(&root)) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        match check(&folder) {
            Ok(()) => passed += 1,
            Err(e) => {
                eprintln!("{name}: {e}");
                if e.starts_with("not ") { refused += 1 } else { failed.push(name) }
            }
        }
    }
    eprintln!("{passed} passed, {refused} refused, {} failed", failed.len());
    assert!(failed.is_empty(), "{failed:?}");
}
