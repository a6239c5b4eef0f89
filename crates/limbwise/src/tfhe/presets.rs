//! Named parameter sets. Frozen: a name never changes its numbers. The secure ones were found by
//! `cargo run --release -p limbwise --example tfhe_search`.

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
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// The literal.
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

/// All presets: those to use, then those in the shapes that papers are measured with.
#[must_use]
pub fn presets() -> Vec<TfhePreset> {
    [secure(), shapes()].concat()
}

/// Base and levels of both gadgets.
type Digits = [(u32, u32); 2];

/// A set at 128 bits: log N and masks, dimension and σ of the narrow key, digits, message bits and norm, failure.
fn at_128(
    (log_n, masks): (u32, usize),
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
        glwe_sigma: 3.2,
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

fn secure() -> Vec<TfhePreset> {
    let preset = |name, purpose, literal| TfhePreset { name, purpose, literal };
    let (bits, two, four) = ((2, 3.2), (4, 5.0), (8, 17.0));
    vec![
        preset("bool-p64", "booleans", at_128((10, 2), (708, 72673.0), [(23, 1), (4, 3)], bits, -64.0)),
        preset("bool-p128", "booleans", at_128((10, 2), (736, 43368.0), [(23, 1), (4, 3)], bits, -128.0)),
        preset("2-2-p64", "2 bits and 2 of carry", at_128((11, 1), (768, 24041.0), [(22, 1), (3, 5)], two, -64.0)),
        preset("2-2-p128", "2 bits and 2 of carry", at_128((11, 1), (822, 8883.0), [(22, 1), (3, 5)], two, -128.0)),
        preset(
            "4-4-p64",
            "4 bits and 4 of carry; a key of 2.2 GB",
            at_128((15, 1), (1044, 149.0), [(15, 2), (4, 5)], four, -64.0),
        ),
        preset(
            "4-4-p128",
            "4 bits and 4 of carry; a key of 4.4 GB",
            at_128((16, 1), (1052, 128.0), [(15, 2), (3, 7)], four, -128.0),
        ),
    ]
}

/// A source's ring, steps and levels; what it leaves open (bases, key switch, errors) is chosen for the largest class that
/// fails with at most 2^−40.
struct Source {
    /// Names at 48 and at 32 bits of the prime.
    names: [&'static str; 2],
    log_n: u32,
    lwe: (usize, f64),
    digits: [Digits; 2],
    messages: [(u32, f64); 2],
    insecure: Option<&'static str>,
}

fn shapes() -> Vec<TfhePreset> {
    const AT_500: &str = "the source's dimension 500 is kept, which leaves 80 bits with errors that still bootstrap";
    const AT_630: &str = "the source's dimension 630 is kept, which leaves 80 bits for four message bits";
    const AT_112: &str = "the source's dimension 630 is kept, which leaves 112 bits";
    const AT_592: &str = "the source's dimension 592 is kept, which leaves 80 bits for four message bits";
    let small = [[(7, 2), (5, 2)]; 2];
    let sources = [
        Source {
            names: ["strix-I", "strix-I-32"],
            log_n: 10,
            lwe: (500, 11500.0),
            digits: small,
            messages: [(1, 2.3); 2],
            insecure: Some(AT_500),
        },
        Source {
            names: ["strix-II", "strix-II-32"],
            log_n: 10,
            lwe: (630, 58197.0),
            digits: [[(6, 3), (4, 3)]; 2],
            messages: [(2, 3.0); 2],
            insecure: Some(AT_112),
        },
        Source {
            names: ["strix-III", "strix-III-32"],
            log_n: 11,
            lwe: (592, 872.0),
            digits: [[(7, 3), (5, 3)]; 2],
            messages: [(4, 5.0); 2],
            insecure: Some(AT_592),
        },
        Source {
            names: ["strix-IV", "strix-IV-32"],
            log_n: 14,
            lwe: (991, 394.0),
            digits: [[(13, 2), (5, 4)], [(9, 2), (7, 2)]],
            messages: [(6, 9.0), (2, 3.0)],
            insecure: None,
        },
        Source {
            names: ["fhex-I", "fhex-I-32"],
            log_n: 10,
            lwe: (500, 11500.0),
            digits: small,
            messages: [(1, 2.3); 2],
            insecure: Some(AT_500),
        },
        Source {
            names: ["fhex-II", "fhex-II-32"],
            log_n: 11,
            lwe: (630, 301.0),
            digits: [[(7, 3), (8, 2)], [(7, 3), (5, 3)]],
            messages: [(4, 5.0); 2],
            insecure: Some(AT_630),
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
        let mut literal = at_128((self.log_n, 1), self.lwe, self.digits[form], self.messages[form], -40.0);
        literal.prime = PrimeChoice::Bits(bits);
        if self.log_n == 10 {
            literal.glwe_sigma = if bits == 48 { 14_046_367.5 } else { 214.4 };
        }
        literal.insecure = self.insecure.map(|reason| Insecure { reason: reason.into() });
        TfhePreset { name: self.names[form], purpose, literal }
    }
}
