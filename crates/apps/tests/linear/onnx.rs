//! ONNX's own backend tests, encrypted: each a file, an input and the output that ONNX says.
//!
//! A few small ones are here; `scripts/onnx_backend.py` writes all of them, runs them by the ignored test, and sorts them.

use crate::encrypted::session;
use limbwise::{
    ckks::{PlaintextForm, Strategy},
    params::{Insecure, Params, ParamsLiteral, presets::preset},
};
use limbwise_apps::{
    Program as _,
    data::load_array,
    network::{Inference, Network, NetworkError, Planned, calibration, client::NetworkClient, import},
    way::Arrangement,
};
use std::{
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Of the largest output: what a test may be off.
const ALLOWED: f64 = 1.0 / 4096.0;
/// Levels of the deepest ring that is tried.
const MOST_LEVELS: usize = 121;

/// As many levels as a test takes, on a ring for values of so many numbers.
fn small(levels: usize, size: usize) -> Result<Params, String> {
    let log_n = (2 * size).next_power_of_two().ilog2().clamp(10, 11);
    // Five limbs a digit.
    let mut literal = ParamsLiteral::chain(log_n, 50, 40, levels, (50, 5), (levels + 1).div_ceil(5));
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).map_err(|e| e.to_string())
}

fn numbers(path: &Path) -> Vec<f64> {
    load_array(path).unwrap().values.iter().map(|z| z.re).collect()
}

/// The program on parameters that `of` gives for levels, with its client, for an error that its twin keeps.
fn planned(
    network: &Arc<Network>,
    x: &[f64],
    wanted: &[f64],
    of: &dyn Fn(usize) -> Result<Params, String>,
) -> Result<(Planned, NetworkClient), String> {
    // Ranges are those of the input, with room.
    let ranges = calibration::ranges(network, &[x.to_vec()]).map_err(|e| e.to_string())?;
    let largest = wanted.iter().fold(1e-6, |most: f64, y| most.max(y.abs()));
    let mut inference = Inference {
        network: network.skeleton.clone(),
        ranges,
        margin: 1.25,
        error: 0.5 * ALLOWED,
        sign: None,
        squarings: Default::default(),
        samples: 1,
        arrangement: Arrangement::default(),
        strategy: Strategy::DoubleHoisted { babies: 0 },
        plaintexts: PlaintextForm::OnTheFly,
        bootstrapping: None,
    };
    let mut levels = 2;
    loop {
        let program = match Planned::new(&of(levels)?, inference.clone(), network) {
            Err(NetworkError::Levels { needed, .. }) if levels < MOST_LEVELS && needed <= MOST_LEVELS => {
                levels = needed.max(levels + 1);
                continue;
            }
            made => made.map_err(|e| e.to_string())?,
        };
        let client = NetworkClient::new(&program, network, vec![x.to_vec()], Vec::new()).map_err(|e| e.to_string())?;
        // What the polynomials do to the results is known before any key.
        if client.twin().largest_error <= 0.7 * ALLOWED * largest || inference.error < 1e-7 {
            return Ok((program, client));
        }
        inference.error /= 4.0;
    }
}

/// Errors of a test: what is not done, and what is done wrong.
enum Failure {
    Refused(String),
    Wrong(String),
}

/// What is wrong, if anything is.
fn check(folder: &Path, of: &dyn Fn(usize, usize) -> Result<Params, String>) -> Result<(), Failure> {
    use Failure::{Refused, Wrong};
    let network = Arc::new(import::load(&folder.join("model.onnx")).map_err(|e| Refused(e.to_string()))?);
    let (x, y) = (numbers(&folder.join("x.npy")), numbers(&folder.join("y.npy")));
    if x.len() != network.skeleton.sample() {
        return Err(Wrong(format!("{} numbers for inputs of {}", x.len(), network.skeleton.sample())));
    }
    let largest = y.iter().fold(1e-6, |most: f64, y| most.max(y.abs()));
    let off = |got: &[f64]| got.iter().zip(&y).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max);
    let clear = network.outputs(&network.exact(&x));
    let close = clear.len() == y.len() && off(&clear) <= ALLOWED;
    if !close {
        return Err(Wrong(format!("in the clear, {} numbers off by {:.1e} of the largest", clear.len(), off(&clear))));
    }
    let size = network.skeleton.values.iter().map(|value| value.size()).max().unwrap_or(1);
    let (program, client) = planned(&network, &x, &y, &|levels| of(levels, size)).map_err(Refused)?;
    let (results, _) = session(&program, &client);
    let got: Vec<f64> = program.arrays(&results).iter().flat_map(|array| array.values.iter().map(|z| z.re)).collect();
    let off = off(&got);
    let close = off <= ALLOWED;
    if close { Ok(()) } else { Err(Wrong(format!("off by {off:.1e} of the largest output"))) }
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = entries.filter(|path| path.join("model.onnx").exists()).collect();
    all.sort();
    all
}

/// The tests of this repository pass on such parameters.
fn sample_passes(chosen: &[&str], of: &dyn Fn(usize, usize) -> Result<Params, String>) {
    let all = folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx"));
    let is_chosen = |folder: &PathBuf| chosen.is_empty() || chosen.iter().any(|name| folder.ends_with(name));
    let all: Vec<PathBuf> = all.into_iter().filter(is_chosen).collect();
    assert!(all.len() >= if chosen.is_empty() { 10 } else { chosen.len() });
    for folder in all {
        match check(&folder, of) {
            Ok(()) => {}
            Err(Failure::Refused(e) | Failure::Wrong(e)) => panic!("{}: {e}", folder.display()),
        }
    }
}

#[test]
fn a_sample_of_the_backend_tests_passes_encrypted() {
    sample_passes(&[], &small);
}

#[test]
#[ignore = "a minute; `cargo test -- --ignored` where the operators change"]
fn a_sample_passes_at_128_bits() {
    let secure = |levels: usize, _: usize| {
        let name = if levels <= 7 { "n14-l7-s40" } else { "n15-l16-s40" };
        preset(name).map_err(|e| e.to_string())
    };
    sample_passes(SECURE, &secure);
}

/// The tests that are run with security too.
const SECURE: &[&str] = &[
    "node.test_batchnorm_epsilon",
    "node.test_conv_with_strides_padding",
    "node.test_gelu_tanh_1",
    "node.test_gemm_all_attributes",
    "node.test_leakyrelu_example",
    "pytorch-converted.test_Conv2d_groups",
];

#[test]
#[ignore = "an hour on two cores; scripts/onnx_backend.py writes the tests and runs them"]
fn backend_tests_pass_encrypted() {
    let root = std::env::var_os("LIMBWISE_ONNX_BACKEND").expect("LIMBWISE_ONNX_BACKEND names the folder of the tests");
    let root = Path::new(&root);
    let chosen = std::fs::read_to_string(root.join("chosen.txt")).unwrap();
    let mut results = std::fs::OpenOptions::new().create(true).append(true).open(root.join("results.tsv")).unwrap();
    for name in chosen.lines() {
        let start = std::time::Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| check(&root.join(name), &small)));
        let (state, text) = match found {
            Ok(Ok(())) => ("passed", String::new()),
            Ok(Err(Failure::Refused(text))) => ("refused", text),
            Ok(Err(Failure::Wrong(text))) => ("wrong", text),
            Err(panic) => ("wrong", panic.downcast::<String>().map_or_else(|_| "a panic".into(), |text| *text)),
        };
        let text = text.replace(['\n', '\t'], " ");
        // A line a test, so that a run that ends early goes on where it was.
        writeln!(results, "{name}\t{state}\t{text}").unwrap();
        eprintln!("{state} {name} {:.1} s {text}", start.elapsed().as_secs_f64());
    }
}
