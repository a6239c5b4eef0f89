//! The parameters that a published bootstrapping of the zoo is for: ring, words, levels and digits as they are quoted. The
//! maps and the reduction are this library's (ADR 184).

use super::super::{circuits, flexmem::params};
use crate::error::Result;
use limbwise::params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine};

/// The set of a machine's published bootstrapping: its own where it is quoted, else one whose primes fit the words.
pub(super) fn of(machine: &str, word_bits: u64) -> Result<Params> {
    match (machine, word_bits) {
        ("bts", _) => checked(&bts()),
        ("craterlake", _) => checked(&craterlake()),
        (_, ..=29) => checked(&short(19, 12, 4)),
        (_, ..=35) => params("boot-narrow"),
        (_, ..=49) => params("boot-sharp"),
        _ => circuits::bootstrapping_params(),
    }
}

fn checked(literal: &ParamsLiteral) -> Result<Params> {
    Ok(Params::new(literal).map_err(limbwise::Error::from)?)
}

/// A chain from level 0 up; each run of levels is given by the bits of its primes.
fn levels(runs: &[(&[u32], usize)]) -> Vec<Vec<PrimeChoice>> {
    let level = |bits: &[u32]| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect::<Vec<_>>();
    runs.iter().flat_map(|&(bits, count)| vec![level(bits); count]).collect()
}

/// INS-2 of \[BTS\]: N = 2^17, 40 primes of 50 bits, two digits of 20, special primes of 60 bits; 19 levels of bootstrapping
/// without an ephemeral secret, which is later work: 3 maps each way and 13 levels for a range that a dense secret asks for.
fn bts() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(17, 50, 50, 0, (60, 20), 2);
    literal.levels = levels(&[(&[50], 1), (&[50], 3), (&[50], 20), (&[50], 13), (&[50], 3)]);
    let eval_mod =
        EvalModLiteral { range: 512, degree: 119, double_angles: 6, sine: Sine::Exponential { harmonics: 1 } };
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 3,
        coeff_to_slot: 3,
        message_ratio: 9,
        ephemeral_weight: None,
        eval_mod,
        refinement: None,
    });
    literal
}

/// \[CL\]: N = 2^16 and 60 words of 28 bits, two digits of 30, which is for 80 bits of security.
fn craterlake() -> ParamsLiteral {
    let reason = "the published bootstrapping is for 80 bits; nothing is encrypted under this set".into();
    ParamsLiteral { insecure: Some(Insecure { reason }), ..short(31, 30, 2) }
}

/// Primes of at most 28 bits in the order of `boot-narrow`: two a level but for the user's and SlotToCoeff's levels.
fn short(user: usize, special: usize, dnum: usize) -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 28, 28, 0, (28, special), dnum);
    literal.levels =
        levels(&[(&[28, 28], 1), (&[28], 3), (&[28], user), (&[28, 28], 1), (&[25, 25], 7), (&[24, 24], 4)]);
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 3,
        coeff_to_slot: 4,
        message_ratio: 10,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine: Sine::Exponential { harmonics: 1 } },
        refinement: None,
    });
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sets have the shapes that are quoted.
    #[test]
    fn sets_have_the_shapes_that_are_quoted() {
        for (machine, word_bits, log_n, limbs, special, digits) in [
            ("bts", 64, 17, 40, 20, 2),
            ("craterlake", 28, 16, 60, 30, 2),
            ("cinnamon", 28, 16, 48, 12, 4),
            ("poseidon", 32, 16, 48, 12, 4),
            ("sharp", 36, 16, 36, 12, 3),
        ] {
            let set = of(machine, word_bits).unwrap();
            let primes = |basis: limbwise_device::Basis| basis.len();
            assert_eq!(set.log_n(), log_n, "{machine}");
            assert_eq!(primes(set.basis(set.top_level())), limbs, "{machine}");
            assert_eq!(primes(set.special()), special, "{machine}");
            assert_eq!(set.literal().dnum, digits, "{machine}");
            let widest = set.ring().moduli().iter().map(|q| q.bits()).max();
            assert!(widest.is_some_and(|bits| u64::from(bits) <= word_bits), "{machine}: {widest:?}");
        }
        let bts = of("bts", 64).unwrap();
        assert_eq!(39 - bts.bootstrapping().unwrap().levels, 19);
    }
}
