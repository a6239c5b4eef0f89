//! Parameters for a program of HEIR: its ring or the least one above that is secure, its levels, its scale; primes of ours.

use super::{source::Header, text::HeirError};
use limbwise::params::{Params, ParamsError, ParamsLiteral, PrimeChoice};

/// Largest ring.
pub(super) const MOST_LOG_N: u32 = 17;
/// Bits of primes that are asked for, at least and at most.
const BITS: [u32; 2] = [20, 60];

/// The least ring from the text's on in which its levels, `extra` more and a key-switching modulus are 128-bit secure.
///
/// # Errors
/// What no parameters can be made of.
pub fn chosen(header: &Header, extra: usize) -> Result<Params, HeirError> {
    let level = header.log_scale;
    let within = |bits: u32| (BITS[0]..=BITS[1]).contains(&bits);
    if let Some(&wrong) =
        header.bits[1..].iter().chain([&level]).find(|&&bits| bits.abs_diff(level) > 1 || !within(bits))
    {
        return Err(HeirError::of_all(format!(
            "ckks.schemeParam: a prime of {wrong} bits for scales of {level}; wanted both alike, {} to {} bits (--preset gives others)",
            BITS[0], BITS[1]
        )));
    }
    let depth = header.bits.len() - 1 + extra;
    let first = header.bits[0].clamp(level, BITS[1]);
    let from = header.log_n.max(header.slots.ilog2() + 1).max(10);
    let mut last = None;
    for log_n in from..=MOST_LOG_N {
        match in_ring(log_n, first, level, depth) {
            Ok(params) => return Ok(params),
            Err(e) => last = Some(e),
        }
    }
    let why = last.map_or_else(|| format!("2^{} coefficients", header.log_n), |e| e.to_string());
    Err(HeirError::of_all(format!("no parameters up to N = 2^{MOST_LOG_N} for {depth} levels of {level} bits: {why}")))
}

/// Parameters in one ring, with as few digits of key switching as fit.
fn in_ring(log_n: u32, first: u32, level: u32, depth: usize) -> Result<Params, ParamsError> {
    let limbs = depth + 1;
    let special = (level + 5).min(BITS[1]);
    let mut last = None;
    for dnum in 3.min(limbs)..=limbs {
        // P has room for the largest digit, of which the lowest holds the first prime.
        let digit = limbs.div_ceil(dnum);
        let bits = first + level * (u32::try_from(digit).unwrap_or(u32::MAX) - 1);
        let count = usize::try_from(bits.div_ceil(special)).unwrap_or(1);
        match Params::new(&ParamsLiteral::chain(log_n, first, level, depth, (special, count), dnum)) {
            Ok(params) => return Ok(params),
            Err(e) => last = Some(e),
        }
    }
    Err(last.expect("at least one number of digits was tried"))
}

/// The parameters in words: what the text asks for beside what is used.
pub fn beside(header: &Header, params: &Params) -> String {
    let bits = |choice: &PrimeChoice| choice.log2();
    let ours: f64 = params.literal().levels.iter().flatten().map(bits).sum();
    let theirs: u32 = header.bits.iter().sum();
    format!(
        "the text asks for N = 2^{}, {} levels, log2(Q) = {theirs}, scale 2^{}; primes are chosen here: N = 2^{}, {} levels, log2(Q) = {ours:.0}, scale 2^{}",
        header.log_n,
        header.bits.len() - 1,
        header.log_scale,
        params.log_n(),
        params.user_level(),
        params.literal().log_scale,
    )
}
