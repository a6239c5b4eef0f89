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
/// [`TfheError::UnknownPreset`].
pub fn preset(name: &str) -> Result<TfheLiteral> {
    let all = presets();
    let known = all.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    let found = all.into_iter().find(|p| p.name == name);
    found.map(|p| p.literal).ok_or_else(|| TfheError::UnknownPreset(name.into(), known).into())
}

/// All presets: sets at 128 bits, the same at 132, then sets in the shapes of published measurements.
#[must_use]
pub fn presets() -> Vec<TfhePreset> {
    [at_128(), at_132(), shapes()].concat()
}

/// Base and levels of both gadgets.
type Digits = [(u32, u32); 2];

/// A set with a prime of 48 bits, from log N, masks and σ of the GLWE key, dimension and σ of the small LWE key,
/// digits, message bits and norm, failure probability.
fn set(
    (log_n, masks, glwe_sigma): (u32, usize, f64),
    (lwe_dimension, lwe_sigma): (usize, f64),
    digits: Digits,
    (message_bits, norm): (u32, f64),
    log2_failure: f64,
) -> TfheLiteral {
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

/// Message bits and norm: for booleans, for 2 bits with 2 of carry, for 4 with 4.
const GOALS: [(u32, f64); 3] = [(2, 3.2), (4, 5.0), (8, 17.0)];

fn preset_of(name: &'static str, purpose: &'static str, literal: TfheLiteral) -> TfhePreset {
    TfhePreset { name, purpose, literal }
}

fn at_128() -> Vec<TfhePreset> {
    let [bits, two, four] = GOALS;
    let boolean = |key, failure| set((10, 2, 3.2), key, [(23, 1), (4, 3)], bits, failure);
    let small = |key, failure| set((11, 1, 3.2), key, [(22, 1), (3, 5)], two, failure);
    let large = |log_n, key, failure| set((log_n, 1, 3.2), key, [(15, 2), (3, 7)], four, failure);
    let of = preset_of;
    vec![
        of("bool-p64", "booleans", boolean((722, 71362.0), -64.0)),
        of("bool-p128", "booleans", boolean((750, 43339.0), -128.0)),
        of("2-2-p64", "2 bits and 2 of carry", small((784, 23652.0), -64.0)),
        of("2-2-p128", "2 bits and 2 of carry", small((842, 8418.0), -128.0)),
        of("4-4-p64", "4 bits and 4 of carry; a bootstrapping key of 2.2 GB", large(15, (1034, 276.0), -64.0)),
        of("4-4-p128", "4 bits and 4 of carry; a bootstrapping key of 4.5 GB", large(16, (1078, 126.0), -128.0)),
    ]
}

fn at_132() -> Vec<TfhePreset> {
    let [bits, two, four] = GOALS;
    let boolean = |key, failure| set((10, 2, 4.1), key, [(22, 1), (4, 3)], bits, failure);
    let small = |key, failure| set((11, 1, 4.1), key, [(22, 1), (3, 5)], two, failure);
    let large = |log_n, key, switch, failure| set((log_n, 1, 4.0), key, [(15, 2), switch], four, failure);
    let of = preset_of;
    vec![
        of("bool-p64-s132", "booleans, 132 bits", boolean((744, 72120.0), -64.0)),
        of("bool-p128-s132", "booleans, 132 bits", boolean((774, 42980.0), -128.0)),
        of("2-2-p64-s132", "2 bits and 2 of carry, 132 bits", small((808, 23906.0), -64.0)),
        of("2-2-p128-s132", "2 bits and 2 of carry, 132 bits", small((876, 7396.0), -128.0)),
        of(
            "4-4-p64-s132",
            "4 and 4 bits, 132 bits; a bootstrapping key of 2.3 GB",
            large(15, (1106, 140.0), (4, 5), -64.0),
        ),
        of(
            "4-4-p128-s132",
            "4 and 4 bits, 132 bits; a bootstrapping key of 4.7 GB",
            large(16, (1122, 107.0), (3, 7), -128.0),
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
    lwe: (usize, f64),
    digits: [Digits; 2],
    messages: [(u32, f64); 2],
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
            lwe: (500, 11500.0),
            digits: small,
            messages: [(1, 2.3); 2],
            insecure: STRIX_I,
        },
        Source {
            names: ["strix-II", "strix-II-32"],
            log_n: 10,
            lwe: (630, 58197.0),
            digits: [[(6, 3), (4, 3)]; 2],
            messages: [(2, 3.0); 2],
            insecure: STRIX_II,
        },
        Source {
            names: ["strix-III", "strix-III-32"],
            log_n: 11,
            lwe: (592, 872.0),
            digits: [[(7, 3), (5, 3)]; 2],
            messages: [(4, 5.0); 2],
            insecure: STRIX_III,
        },
        Source {
            names: ["strix-IV", "strix-IV-32"],
            log_n: 14,
            lwe: (991, 394.0),
            digits: [[(13, 2), (5, 4)], [(9, 2), (7, 2)]],
            messages: [(6, 9.0), (2, 3.0)],
            insecure: STRIX_IV,
        },
        Source {
            names: ["fhex-I", "fhex-I-32"],
            log_n: 10,
            lwe: (500, 11500.0),
            digits: small,
            messages: [(1, 2.3); 2],
            insecure: STRIX_I,
        },
        Source {
            names: ["fhex-II", "fhex-II-32"],
            log_n: 11,
            lwe: (630, 301.0),
            digits: [[(7, 3), (8, 2)], [(7, 3), (5, 3)]],
            messages: [(4, 5.0); 2],
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
        let mut literal = set((self.log_n, 1, 3.2), self.lwe, self.digits[form], self.messages[form], -40.0);
        literal.prime = PrimeChoice::Bits(bits);
        // The smallest σ of the older curve at dimension 1024, 125.4 bits today: never the weaker key.
        if self.log_n == 10 {
            literal.glwe_sigma = if bits == 48 { 14_046_367.5 } else { 214.4 };
        }
        literal.insecure = Some(Insecure { reason: self.insecure.into() });
        TfhePreset { name: self.names[form], purpose, literal }
    }
}
