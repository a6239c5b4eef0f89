//! Search for secure parameters; to be rerun when a security table or a noise formula changes.

use super::{
    error::TfheError,
    noise,
    params::{GadgetLiteral, TfheLiteral},
};
use crate::{
    error::Result,
    params::{PrimeChoice, security::least_sigma},
};
use limbwise_math::rns::to_f64;

/// Requirements of a parameter set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchGoal {
    /// Security class: 128 or 132, those with a published curve for binary secrets.
    pub class: u32,
    /// Message bits including carries.
    pub message_bits: u32,
    /// Euclidean norm of sums between bootstrappings.
    pub norm: f64,
    /// log₂ of the failure probability.
    pub log2_failure: f64,
    /// Bit length of the prime.
    pub prime_bits: u32,
}

/// log₂ of the small LWE key's modulus: 32 bits are half a word, which halves the bytes a key switch reads; the
/// rounding is negligible.
const LOG_LWE_MODULUS: u32 = 32;

/// Order of the candidates: the products of a bootstrapping. It only ranks; the cost of a set is counted on its
/// recorded graph. Products of a key switch are cheaper, but each reads a word of the key.
fn rank(l: &TfheLiteral) -> f64 {
    let float = |x: usize| to_f64(x as u64);
    let (n, components) = (float(1 << l.log_n), float(l.masks + 1));
    let rows = components * f64::from(l.bootstrap.levels);
    let step = (rows + components) * n / 2.0 * f64::from(l.log_n) + rows * components * n;
    let switch = float(l.big_dimension()) * f64::from(l.key_switch.levels) * float(l.lwe_dimension);
    float(l.lwe_dimension) * step + switch
}

/// The cheapest set of the class that meets the goal.
///
/// # Errors
/// [`TfheError::NothingFound`].
pub fn search(goal: SearchGoal) -> Result<TfheLiteral> {
    let mut best: Option<(f64, TfheLiteral)> = None;
    for (log_n, masks) in [(10, 1), (10, 2), (10, 3), (11, 1), (12, 1), (13, 1), (14, 1), (15, 1), (16, 1)] {
        for levels in 1..=4 {
            for literal in least_dimensions(goal, log_n, masks, levels) {
                let rank = rank(&literal);
                if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                    best = Some((rank, literal));
                }
            }
        }
    }
    let nothing =
        TfheError::NothingFound { class: goal.class, message_bits: goal.message_bits, log2_failure: goal.log2_failure };
    best.map(|(_, literal)| literal).ok_or_else(|| nothing.into())
}

/// For one ring and number of digits: for each key switch the set of least dimension that meets the goal.
fn least_dimensions(goal: SearchGoal, log_n: u32, masks: usize, levels: u32) -> Vec<TfheLiteral> {
    let log_modulus = f64::from(goal.prime_bits);
    let Some(glwe_sigma) = least_sigma(goal.class, masks << log_n, log_modulus) else { return Vec::new() };
    let start = TfheLiteral {
        log_n,
        masks,
        prime: PrimeChoice::Bits(goal.prime_bits),
        glwe_sigma: (10.0 * glwe_sigma).ceil() / 10.0,
        lwe_dimension: 600,
        log_lwe_modulus: LOG_LWE_MODULUS,
        lwe_sigma: 1.0,
        bootstrap: GadgetLiteral { base_log: 1, levels },
        key_switch: GadgetLiteral { base_log: 1, levels: 1 },
        message_bits: goal.message_bits,
        norm: goal.norm,
        log2_failure: goal.log2_failure,
        insecure: None,
    };
    let bases = 1..=goal.prime_bits / levels;
    let with_base = |base_log| TfheLiteral { bootstrap: GadgetLiteral { base_log, levels }, ..start.clone() };
    let quietest = bases.map(with_base).min_by(|a, b| noise::blind_rotation(a).total_cmp(&noise::blind_rotation(b)));
    let Some(quietest) = quietest else { return Vec::new() };
    let switches = (1..=8u32).flat_map(|levels| (1..=8u32).map(move |base_log| GadgetLiteral { base_log, levels }));
    let fits = switches.filter(|g| g.base_log * g.levels <= LOG_LWE_MODULUS);
    fits.filter_map(|key_switch| least_dimension(goal, &TfheLiteral { key_switch, ..quietest.clone() })).collect()
}

/// The set of least dimension that meets the goal. The noise first falls and then rises with the dimension, so all are
/// tried.
fn least_dimension(goal: SearchGoal, l: &TfheLiteral) -> Option<TfheLiteral> {
    let of = |lwe_dimension: usize| {
        let sigma = least_sigma(goal.class, lwe_dimension, LOG_LWE_MODULUS.into())?;
        Some(TfheLiteral { lwe_dimension, lwe_sigma: sigma.ceil(), ..l.clone() })
    };
    let meets = |l: &TfheLiteral| noise::log2_failure(l, goal.norm * goal.norm, 0) <= goal.log2_failure;
    (450..=1200).step_by(2).filter_map(of).find(meets)
}
