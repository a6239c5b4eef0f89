//! Chooses parameters from a program's depth and precision.

use super::{
    checked::Params,
    error::ParamsError,
    literal::{ParamsLiteral, Standard},
    security::largest_modulus,
};
use crate::rlwe::noise;

/// Requirements of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Number of consecutive multiplications.
    pub depth: usize,
    /// Bits after the binary point that survive the multiplications, for values of magnitude 1.
    pub precision_bits: u32,
    /// Smallest slot count.
    pub slots: usize,
}

/// The smallest ring that meets the requirements at 128 bits, with the fewest key-switching digits that fit.
///
/// The scale covers the precision, the expected noise of an encryption, and that of `depth` products with fresh
/// ciphertexts.
///
/// # Errors
/// [`ParamsError::NoneFits`] if the largest ring, 2^17, is too small, or the scale would exceed 2^60.
pub fn choose(wish: Wish) -> Result<Params, ParamsError> {
    let mut log_qp = 0.0;
    for log_n in 11..=17 {
        if wish.slots > 1 << (log_n - 1) {
            continue;
        }
        let limbs = wish.depth.saturating_add(1);
        let steps = f64::from(u32::try_from(limbs).unwrap_or(u32::MAX));
        let noise_bits = noise::fresh_slot_error(log_n).log2() + 0.5 * steps.log2() + 1.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        let scale = (f64::from(wish.precision_bits) + noise_bits).ceil().max(f64::from(log_n) + 12.0) as u32;
        let first = (scale + 10).min(60);
        if scale > 58 {
            log_qp = f64::from(scale) * (steps + 1.0);
            continue;
        }
        log_qp = f64::from(first) + f64::from(scale) * (steps - 1.0);
        let Some(most) = largest_modulus(Standard::default(), log_n) else { continue };
        if log_qp > f64::from(most) {
            continue; // without any special prime
        }
        for dnum in 3.min(limbs)..=limbs {
            let alpha = limbs.div_ceil(dnum);
            let special = ((scale + 5).min(60), alpha + usize::from(first > scale + 5 && alpha == 1));
            let bits = special.0 * u32::try_from(special.1).unwrap_or(u32::MAX);
            if log_qp + f64::from(bits) <= f64::from(most) {
                return Params::new(&ParamsLiteral::chain(log_n, first, scale, wish.depth, special, dnum));
            }
        }
    }
    Err(ParamsError::NoneFits { depth: wish.depth, precision_bits: wish.precision_bits, log_qp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_secure_and_fit() {
        assert!(choose(Wish { depth: usize::MAX, precision_bits: 20, slots: 1 }).is_err());
        for (depth, precision_bits, slots) in
            [(0, 10, 1), (1, 15, 1), (2, 15, 1), (3, 15, 1), (3, 15, 8192), (10, 20, 1), (24, 20, 1 << 15), (40, 25, 4)]
        {
            let params = choose(Wish { depth, precision_bits, slots }).unwrap();
            assert!(params.top_level() >= depth && params.max_slots() >= slots && params.security().bits >= 128);
        }
        let refused = choose(Wish { depth: 200, precision_bits: 30, slots: 1 }).unwrap_err();
        assert!(refused.to_string().contains("depth 200"), "{refused}");
        assert!(choose(Wish { depth: 2, precision_bits: 50, slots: 1 }).is_err());
    }
}
