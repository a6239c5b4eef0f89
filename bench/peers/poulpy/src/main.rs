//! Bootstrapping of Poulpy on its back end for AVX-512 IFMA, or for AVX2 (features `ifma` and `avx2`): a question of
//! bench/peers/README.md on standard input, one row on standard output. `RAYON_NUM_THREADS` says how many threads: one takes the serial back end, more the Rayon one.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use serde_json::{Value, json};

#[cfg(feature = "avx2")]
pub use poulpy_cpu_avx::{NTT4x30Avx as Serial, NTT4x30AvxRayon as Parallel};
#[cfg(feature = "ifma")]
pub use poulpy_cpu_avx512::{NTT3x42Ifma as Serial, NTT3x42IfmaRayon as Parallel};

/// The back end, as its row names it.
const BACK_END: &str = if cfg!(feature = "ifma") { "AVX-512 IFMA" } else { "AVX2" };

/// The same program on each back end: Poulpy's traits hold for the two types that it exports, not for a type parameter.
#[path = "."]
mod serial {
    pub use super::Serial as Backend;
    pub mod bootstrap;
}
#[path = "."]
mod parallel {
    pub use super::Parallel as Backend;
    pub mod bootstrap;
}

/// Counts what is written to it.
#[derive(Default)]
pub struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a set of parameters gave on a back end.
pub struct Measured {
    /// The time of each bootstrapping, in order.
    pub seconds: Vec<f64>,
    /// Keys and their preparation for the back end.
    pub keygen_seconds: f64,
    /// Keys as they are serialized.
    pub key_bytes: u64,
    /// Bits of the modulus that the circuit of an application can use.
    pub usable_bits: usize,
    /// Bits of a level: those of the scale.
    pub level_bits: usize,
    /// −log₂ of the mean, and of the largest, absolute error of real and imaginary parts.
    pub bits: [f64; 2],
    /// Complex slots.
    pub slots: usize,
    /// The parameters in words.
    pub words: String,
    /// What the library says of their security.
    pub security: String,
}

/// −log₂ of the mean and of the largest error.
pub fn precision(got: [&[f64]; 2], want: [&[f64]; 2]) -> [f64; 2] {
    let pairs = got.iter().zip(want).flat_map(|(g, w)| g.iter().zip(w));
    let errors: Vec<f64> = pairs.map(|(g, w)| (g - w).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    [-mean.log2(), -errors.iter().copied().fold(0.0, f64::max).log2()]
}

/// The most memory that this process has held, none where the system does not say.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| 1024 * kib)
}

/// The row of a set of Poulpy's own, by its name.
fn row(name: &str) -> Result<BTreeMap<&'static str, Value>, Box<dyn std::error::Error>> {
    let threads: usize = std::env::var("RAYON_NUM_THREADS").map_or(Ok(1), |text| text.parse())?;
    let presets = poulpy_ckks::presets::bootstrapping::all()?;
    let names: Vec<&str> = presets.iter().map(|preset| preset.name()).collect();
    let wanted = presets.iter().find(|preset| preset.name() == name);
    let preset = wanted.ok_or_else(|| format!("no parameter set {name:?} in Poulpy; it has {}", names.join(", ")))?;
    let run = if threads == 1 { serial::bootstrap::measure } else { parallel::bootstrap::measure };
    let mut got = run(preset)?;
    got.seconds.sort_by(f64::total_cmp);
    Ok(BTreeMap::from([
        ("seconds", json!(got.seconds[0])),
        ("median_seconds", json!(got.seconds[got.seconds.len() / 2])),
        ("levels", json!(got.usable_bits / got.level_bits)),
        ("level_bits", json!(got.level_bits)),
        ("usable_bits", json!(got.usable_bits)),
        ("slots", json!(got.slots)),
        ("keygen_seconds", json!(got.keygen_seconds)),
        ("key_bytes", json!(got.key_bytes)),
        ("peak_bytes", json!(peak_bytes())),
        ("mean_bits", json!(got.bits[0])),
        ("min_bits", json!(got.bits[1])),
        ("parameters", json!(got.words)),
        ("security", json!(got.security)),
    ]))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().take(1 << 16).read_to_string(&mut text)?;
    let question: Value = serde_json::from_str(&text)?;
    let name = question["parameters"].as_str().ok_or("a question without \"parameters\"")?;
    let mut answer = match row(name) {
        Ok(row) => row,
        Err(reason) => BTreeMap::from([("absent", json!(reason.to_string()))]),
    };
    answer.insert("name", json!("bootstrap"));
    answer.insert("library", json!("Poulpy"));
    answer.insert("version", json!(format!("0.10.0 ({BACK_END})")));
    println!("{}", serde_json::to_string(&answer)?);
    Ok(())
}
