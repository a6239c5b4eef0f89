//! Named parameter sets, frozen in `tests/golden/tfhe_presets.toml`. The secure ones were found by
//! `cargo run --release -p limbwise --example tfhe_search`: names without a class are at 128 bits, names that end in `-s132`
//! at 132. Their numbers change only when the security curve does (ADR 119); those of publications never do.

use super::{
    error::TfheError,
    params::{GadgetLiteral, TfheLiteral},
};
use crate::{
    error::Result,
    params::{Insecure, PrimeChoice},
    preset_names::of_other_scheme,
};

/// A frozen parameter set.
#[derive(Clone, Debug)]
pub struct TfhePreset {
    /// Name in options and files.
    pub name: &'static str,
    /// Its use, in one line.
    pub purpose: &'static str,
    /// The parameter literal.
    pub literal: TfheLiteral,
}

/// The preset of a name.
///
/// # Errors
/// [`TfheError::UnknownPreset`]; [`ParamsError::OtherScheme`](crate::params::ParamsError::OtherScheme).
pub fn preset(name: &str) -> Result<TfheLiteral> {
    let all = presets();
    let known = all.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    match all.into_iter().find(|p| p.name == name) {
        Some(preset) => Ok(preset.literal),
        None => match of_other_scheme(name, "TFHE") {
            Some(other) => Err(other.into()),
            None => Err(TfheError::UnknownPreset(name.into(), known).into()),
        },
    }
}

/// All presets: sets at 128 bits, the same at 132, then sets in the shapes of published measurements.
#[must_use]
pub fn presets() -> Vec<TfhePreset> {
    [at_128(), at_132(), shapes()].concat()
}

/// Base and levels of both gadgets.
type Digits = [(u32, u32); 2];

/// Shape and error of the GLWE key.
struct Glwe {
    log_n: u32,
    masks: usize,
    /// Standard deviation of its errors.
    sigma: f64,
}

/// Size and error of the small LWE key.
#[derive(Clone, Copy)]
struct Lwe {
    dimension: usize,
    /// Standard deviation of its errors.
    sigma: f64,
}

/// The plaintexts that a set must bootstrap.
#[derive(Clone, Copy)]
struct Goal {
    message_bits: u32,
    /// Largest norm of the coefficients that combine bootstrapped ciphertexts.
    norm: f64,
}

fn glwe(log_n: u32, masks: usize, sigma: f64) -> Glwe {
    Glwe { log_n, masks, sigma }
}

fn lwe(dimension: usize, sigma: f64) -> Lwe {
    Lwe { dimension, sigma }
}

/// A set with a prime of 48 bits that fails with a probability of at most 2^`log2_failure`.
fn set(glwe: Glwe, lwe: Lwe, digits: Digits, goal: Goal, log2_failure: f64) -> TfheLiteral {
    let Glwe { log_n, masks, sigma: glwe_sigma } = glwe;
    let Lwe { dimension: lwe_dimension, sigma: lwe_sigma } = lwe;
    let Goal { message_bits, norm } = goal;
    let [bootstrap, key_switch] = digits.map(|(base_log, levels)| GadgetLiteral { base_log, levels });
    TfheLiteral {
        log_n,
        masks,
        prime: PrimeChoice::Bits(48),
        glwe_sigma,
        lwe_dimension,
        log_lwe_modulus: 32,
        lwe_sigma,
        bootstrap,
        key_switch,
        message_bits,
        norm,
        log2_failure,
        insecure: None,
    }
}

/// For booleans.
const BOOLEAN: Goal = Goal { message_bits: 2, norm: 3.2 };

/// For 2 bits with 2 of carry.
const TWO_BITS: Goal = Goal { message_bits: 4, norm: 5.0 };

/// For 4 bits with 4 of carry.
const FOUR_BITS: Goal = Goal { message_bits: 8, norm: 17.0 };

fn preset_of(name: &'static str, purpose: &'static str, literal: TfheLiteral) -> TfhePreset {
    TfhePreset { name, purpose, literal }
}

fn at_128() -> Vec<TfhePreset> {
    let boolean = |key, failure| set(glwe(10, 2, 3.2), key, [(23, 1), (4, 3)], BOOLEAN, failure);
    let small = |key, failure| set(glwe(11, 1, 3.2), key, [(22, 1), (3, 5)], TWO_BITS, failure);
    let large = |log_n, key, failure| set(glwe(log_n, 1, 3.2), key, [(15, 2), (3, 7)], FOUR_BITS, failure);
    let of = preset_of;
    vec![
        of("bool-p64", "booleans", boolean(lwe(722, 71362.0), -64.0)),
        of("bool-p128", "booleans", boolean(lwe(750, 43339.0), -128.0)),
        of("2-2-p64", "2 bits and 2 of carry", small(lwe(784, 23652.0), -64.0)),
        of("2-2-p128", "2 bits and 2 of carry", small(lwe(842, 8418.0), -128.0)),
        of("4-4-p64", "4 bits and 4 of carry; a bootstrapping key of 2.2 GB", large(15, lwe(1034, 276.0), -64.0)),
        of("4-4-p128", "4 bits and 4 of carry; a bootstrapping key of 4.5 GB", large(16, lwe(1078, 126.0), -128.0)),
    ]
}

fn at_132() -> Vec<TfhePreset> {
    let boolean = |key, failure| set(glwe(10, 2, 4.1), key, [(22, 1), (4, 3)], BOOLEAN, failure);
    let small = |key, failure| set(glwe(11, 1, 4.1), key, [(22, 1), (3, 5)], TWO_BITS, failure);
    let large = |log_n, key, switch, failure| set(glwe(log_n, 1, 4.0), key, [(15, 2), switch], FOUR_BITS, failure);
    let of = preset_of;
    vec![
        of("bool-p64-s132", "booleans, 132 bits", boolean(lwe(744, 72120.0), -64.0)),
        of("bool-p128-s132", "booleans, 132 bits", boolean(lwe(774, 42980.0), -128.0)),
        of("2-2-p64-s132", "2 bits and 2 of carry, 132 bits", small(lwe(808, 23906.0), -64.0)),
        of("2-2-p128-s132", "2 bits and 2 of carry, 132 bits", small(lwe(876, 7396.0), -128.0)),
        of(
            "4-4-p64-s132",
            "4 and 4 bits, 132 bits; a bootstrapping key of 2.3 GB",
            large(15, lwe(1106, 140.0), (4, 5), -64.0),
        ),
        of(
            "4-4-p128-s132",
            "4 and 4 bits, 132 bits; a bootstrapping key of 4.7 GB",
            large(16, lwe(1122, 107.0), (3, 7), -128.0),
        ),
    ]
}

/// The ring, steps and levels of a publication. Its open choices (bases, key switch, errors) were made by the older
/// curves for the largest class that fails with at most 2^−40, and stay frozen. The preset's reason states the bits by
/// today's estimate: the cheapest primal or dual hybrid attack by the lattice estimator (ADR 119).
struct Source {
    /// Names with a prime of 48 and of 32 bits.
    names: [&'static str; 2],
    log_n: u32,
    lwe: Lwe,
    digits: [Digits; 2],
    goals: [Goal; 2],
    insecure: &'static str,
}

fn shapes() -> Vec<TfhePreset> {
    const STRIX_I: &str = "a published shape: its dimension 500 leaves 80.6 bits with errors that still bootstrap";
    const STRIX_II: &str = "a published shape: its dimension 630 leaves 111.0 bits";
    const STRIX_III: &str = "a published shape: its dimension 592 leaves 80.5 bits for four message bits";
    const STRIX_IV: &str = "a published shape: its dimension 991 leaves 125.4 bits";
    const FHEX_II: &str = "a published shape: its dimension 630 leaves 80.6 bits for four message bits";
    let small = [[(7, 2), (5, 2)]; 2];
    let sources = [
        Source {
            names: ["strix-I", "strix-I-32"],
            log_n: 10,
            lwe: lwe(500, 11500.0),
            digits: small,
            goals: [Goal { message_bits: 1, norm: 2.3 }; 2],
            insecure: STRIX_I,
        },
        Source {
            names: ["strix-II", "strix-II-32"],
            log_n: 10,
            lwe: lwe(630, 58197.0),
            digits: [[(6, 3), (4, 3)]; 2],
            goals: [Goal { message_bits: 2, norm: 3.0 }; 2],
            insecure: STRIX_II,
        },
        Source {
            names: ["strix-III", "strix-III-32"],
            log_n: 11,
            lwe: lwe(592, 872.0),
            digits: [[(7, 3), (5, 3)]; 2],
            goals: [Goal { message_bits: 4, norm: 5.0 }; 2],
            insecure: STRIX_III,
        },
        Source {
            names: ["strix-IV", "strix-IV-32"],
            log_n: 14,
            lwe: lwe(991, 394.0),
            digits: [[(13, 2), (5, 4)], [(9, 2), (7, 2)]],
            goals: [Goal { message_bits: 6, norm: 9.0 }, Goal { message_bits: 2, norm: 3.0 }],
            insecure: STRIX_IV,
        },
        Source {
            names: ["fhex-I", "fhex-I-32"],
            log_n: 10,
            lwe: lwe(500, 11500.0),
            digits: small,
            goals: [Goal { message_bits: 1, norm: 2.3 }; 2],
            insecure: STRIX_I,
        },
        Source {
            names: ["fhex-II", "fhex-II-32"],
            log_n: 11,
            lwe: lwe(630, 301.0),
            digits: [[(7, 3), (8, 2)], [(7, 3), (5, 3)]],
            goals: [Goal { message_bits: 4, norm: 5.0 }; 2],
            insecure: FHEX_II,
        },
    ];
    sources.iter().flat_map(|source| [48, 32].map(|bits| source.preset(bits))).collect()
}

impl Source {
    fn preset(&self, bits: u32) -> TfhePreset {
        let (form, purpose) = match bits {
            48 => (0, "the source's shape, a prime for 52-bit multiply-adds"),
            _ => (1, "the source's shape, a prime for machines of 32 bits"),
        };
        let mut literal = set(glwe(self.log_n, 1, 3.2), self.lwe, self.digits[form], self.goals[form], -40.0);
        literal.prime = PrimeChoice::Bits(bits);
        // The smallest σ of the older curve at dimension 1024, 125.4 bits today: never the weaker key.
        if self.log_n == 10 {
            literal.glwe_sigma = if bits == 48 { 14_046_367.5 } else { 214.4 };
        }
        literal.insecure = Some(Insecure { reason: self.insecure.into() });
        TfhePreset { name: self.names[form], purpose, literal }
    }
}
