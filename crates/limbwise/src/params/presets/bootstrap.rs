//! The presets with bootstrapping. Their purpose states levels, precision, failure probability and key sizes, from
//! these sources:
//!
//! - precision: −log₂ of the mean absolute error of real and imaginary parts, of full-size runs on random and on constant
//!   messages in all slots by the fastest plan; the smallest, which rotates more often, gives up to half a bit less
//!   (`tests/ckks/bootstrap_presets.rs` holds it to that);
//! - failures: [`Bootstrapping::log2_failure`](crate::params::Bootstrapping::log2_failure) of all slots, computed;
//! - keys: those of the fastest plan as stored, and of the smallest as seeded, computed.

use super::{
    super::{
        bootstrap::{BootstrapLiteral, EvalModLiteral, Order, Refinement},
        literal::{ParamsLiteral, PrimeChoice, Words},
        sine::Sine,
    },
    Preset, preset_of as preset,
};

/// All presets with bootstrapping.
pub(super) fn presets() -> Vec<Preset> {
    [for_all_slots(), for_few_slots()].concat()
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn for_all_slots() -> Vec<Preset> {
    vec![
        preset(
            "boot-words",
            "the default: boot on whole words: 14 levels, 24.0 bits, 2^-106 failures; keys 5.5 GB, at least 0.8 GB seeded; 28 limbs, dnum 4",
            boot_words(),
        ),
        preset(
            "boot",
            "a prime a level: 14 levels, 24.0 bits, 2^-106 failures; keys 5.9 GB, at least 0.9 GB seeded; 32 limbs, dnum 4",
            boot(14, 50, 46, (49, 8), 4),
        ),
        preset(
            "boot-fast",
            "the least time a level: 15 levels, 21.5 bits, 2^-106 failures; keys 7.3 GB, at least 1.1 GB seeded; no prime above 48 bits",
            boot(15, 48, 44, (48, 7), 5),
        ),
        preset(
            "boot-cosine",
            "a cosine and an arcsine of degree 3: 13 levels, 22.6 bits, 2^-106 failures; keys 5.8 GB, at least 0.9 GB seeded",
            boot_cosine(),
        ),
        preset(
            "boot-precise",
            "two passes: 12 levels, 31.5 bits at scale 2^45, 2^-106 failures; keys 6.7 GB, at least 1.0 GB seeded",
            boot_precise(),
        ),
        preset(
            "boot-17",
            "the most levels: 17 levels, 24.0 bits, 2^-106 failures; keys 8.8 GB, at least 0.9 GB seeded; two and three maps, dnum 5",
            boot_17(),
        ),
        preset(
            "boot-17-words",
            "boot-17 on whole words: 17 levels, 24.0 bits, 2^-106 failures; keys 6.6 GB, at least 0.7 GB seeded; 29 limbs, dnum 4",
            boot_17_words(),
        ),
        preset(
            "boot-40",
            "40 bits in one pass: 6 levels of 57 bits, 40.5 bits, 2^-106 failures; keys 13.0 GB, at least 1.9 GB seeded; four harmonics",
            boot_40(),
        ),
        preset(
            "boot-80",
            "80 bits in two passes: 3 levels of 96 bits, 81.0 bits, 2^-106 failures a pass; keys 13.5 GB, at least 2.1 GB seeded; four harmonics",
            boot_80(),
        ),
        preset(
            "boot-n15",
            "16384 slots: 5 levels, 19.6 bits at scale 2^35, 2^-107 failures; keys 5.5 GB, at least 0.3 GB seeded",
            boot_n15(),
        ),
        preset(
            "ark-24",
            "ARK's shape, 24 limbs, 6 special, dnum 4: 8 levels, 19.9 bits at scale 2^45, 2^-106 failures; keys 4.3 GB, at least 0.7 GB seeded",
            ark(),
        ),
        preset(
            "boot-lattigo",
            "what Lattigo's N16QP1767H32768H32 delivers, in 1728 bits for its 1767, SlotToCoeff first and no prime above 50 bits: 13 levels, 24.1 bits, 2^-106 failures; keys 5.8 GB, at least 0.9 GB seeded",
            boot_lattigo(),
        ),
        preset(
            "boot-sharp",
            "SHARP's shape, 36 limbs and 12 of at most 36 bits, dnum 3: 9 levels, 20.9 bits at scale 2^35, 2^-106 failures; keys 5.9 GB, at least 0.6 GB seeded",
            boot_sharp(),
        ),
        preset(
            "boot-narrow",
            "no prime above 31 bits: 19 levels, 15.8 bits at scale 2^31, 2^-106 failures; keys 8.6 GB, at least 1.3 GB seeded",
            boot_narrow(),
        ),
        preset(
            "boot-uniform",
            "no ephemeral secret, as OpenFHE with a uniform ternary one: 6 levels of 59 bits, 16.4 bits, 2^-34 failures; keys 4.8 GB, at least 0.7 GB seeded",
            boot_uniform(),
        ),
    ]
}

fn for_few_slots() -> Vec<Preset> {
    vec![
        preset(
            "boot-few-words",
            "boot-few on whole words, 24 limbs, dnum 3: 12 levels, 2^-113 failures at 256 slots",
            boot_few_words(),
        ),
        preset(
            "boot-few",
            "for few slots, two maps each way, 27 limbs, dnum 3: 12 levels, 2^-113 failures at 256 slots",
            boot_few(),
        ),
        few(
            "boot-s4",
            "up to 2^4 slots, one map and two: 17 levels, 27.4 bits, 2^-117 failures; keys 4.3 GB, at least 1.5 GB seeded",
            [1, 2],
            17,
            4,
        ),
        few(
            "boot-s8",
            "up to 2^8 slots, two maps each way: 16 levels, 25.5 bits, 2^-113 failures; keys 5.0 GB, at least 1.2 GB seeded",
            [2, 2],
            16,
            8,
        ),
        few(
            "boot-s12",
            "up to 2^12 slots, two and three maps: 15 levels, 23.5 bits, 2^-109 failures; keys 5.7 GB, at least 1.0 GB seeded",
            [2, 3],
            15,
            12,
        ),
    ]
}

/// A chain from level 0 up; each run of levels is given by the bits of its primes.
fn levels(runs: &[(&[u32], usize)]) -> Vec<Vec<PrimeChoice>> {
    let level = |bits: &[u32]| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect::<Vec<_>>();
    runs.iter().flat_map(|&(bits, count)| vec![level(bits); count]).collect()
}

/// SlotToCoeff first; 3 and 4 maps; an ephemeral secret of weight 32; EvalMod of degree 31 at an eighth of the angle.
fn bootstrapping(message_ratio: u32, sine: Sine) -> BootstrapLiteral {
    BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 3,
        coeff_to_slot: 4,
        message_ratio,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine },
        refinement: None,
    }
}

/// An exponential with two harmonics, its primes of `eval_mod` bits. The last level is longer by the second harmonic's
/// factor and the user's scale.
fn boot(user: usize, eval_mod: u32, coeff_to_slot: u32, special: (u32, usize), dnum: usize) -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, eval_mod, 40, 0, special, dnum);
    let last = 2 * eval_mod - 41;
    let last = [last.div_ceil(2), last / 2];
    let (first, above) = (&[eval_mod][..], &[coeff_to_slot][..]);
    literal.levels = levels(&[(first, 1), (&[30], 3), (&[40], user), (&last, 1), (first, 8), (above, 4)]);
    literal.bootstrapping = Some(bootstrapping(7, Sine::Exponential { harmonics: 2 }));
    literal.low_level = Some(4);
    literal
}

/// `boot` on words of 50 bits: four of them for five levels of 40, and digits of seven. The first special primes cover the low
/// levels, and one of them q₀; all of them hide the digits.
fn boot_words() -> ParamsLiteral {
    let mut literal = boot(14, 50, 46, (49, 4), 4);
    literal.special.extend([PrimeChoice::Bits(41); 4]);
    literal.levels[18] = vec![PrimeChoice::Bits(30); 2];
    literal.words = Some(Words { bits: 50, short: vec![30, 30, 40] });
    literal
}

/// `boot` with two and three maps, whose two levels and one digit more go to the user.
fn boot_17() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 40, 0, (50, 7), 5);
    let sine = Sine::Exponential { harmonics: 2 };
    literal.levels = levels(&[(&[50], 1), (&[31], 2), (&[40], 17), (&[30, 29], 1), (&[50], 8), (&[47], 3)]);
    let boot = bootstrapping(7, sine);
    literal.bootstrapping = Some(BootstrapLiteral { slot_to_coeff: 2, coeff_to_slot: 3, ..boot });
    literal.low_level = Some(3);
    literal
}

/// `boot_17` on words of 50 bits, as [`boot_words`]: four limbs and a digit less leave room for longer special primes.
/// SlotToCoeff's levels have 30 bits, because 31 are no sum of words and short primes.
fn boot_17_words() -> ParamsLiteral {
    let mut literal = boot_17();
    literal.levels = levels(&[(&[50], 1), (&[30], 2), (&[40], 17), (&[30, 30], 1), (&[50], 8), (&[46], 3)]);
    literal.special = [48, 41].into_iter().flat_map(|bits| vec![PrimeChoice::Bits(bits); 4]).collect();
    literal.dnum = 4;
    literal.words = Some(Words { bits: 50, short: vec![30, 30, 40] });
    literal
}

/// The choice of published implementations: a cosine, an arcsine of degree 3, no prime above 50 bits.
fn boot_cosine() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 40, 0, (49, 8), 4);
    literal.levels = levels(&[(&[50], 1), (&[30], 3), (&[40], 13), (&[50], 10), (&[46], 4)]);
    literal.bootstrapping = Some(bootstrapping(7, Sine::Cosine { arcsine: 3 }));
    literal.low_level = Some(4);
    literal
}

fn boot_precise() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 45, 0, (50, 7), 5);
    literal.levels = levels(&[(&[50], 1), (&[33], 3), (&[45], 13), (&[27, 27], 1), (&[50], 8), (&[46], 4)]);
    literal.bootstrapping = Some(bootstrapping(7, Sine::Exponential { harmonics: 2 }));
    literal.low_level = Some(4);
    literal
}

/// Four harmonics, which make the sine straight to 48 bits at a message ratio of 7. Each bit more of the ratio would cost one
/// in every other part: the argument x = I + z/2^m must be known to 40 + m bits, and the maps are f64 numbers. Degree 63
/// and two squarings take as many levels as degree 31 and three, and end below what f64 holds.
fn fine(log_scale: u32, runs: &[(&[u32], usize)], special: &[(u32, usize)], dnum: usize) -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, log_scale, 0, (50, 1), dnum);
    literal.levels = levels(runs);
    literal.special = special.iter().flat_map(|&(bits, count)| vec![PrimeChoice::Bits(bits); count]).collect();
    let sine = Sine::Exponential { harmonics: 4 };
    let eval_mod = EvalModLiteral { range: 16, degree: 63, double_angles: 2, sine };
    literal.bootstrapping = Some(BootstrapLiteral { eval_mod, ..bootstrapping(7, sine) });
    literal
}

/// 40 bits in one pass: EvalMod's noise is 2^(26.2 − E) on primes of E bits. The first two special primes are as long as q₀,
/// with which they make the key of the ephemeral secret.
fn boot_40() -> ParamsLiteral {
    let chain: &[(&[u32], usize)] =
        &[(&[28, 28], 1), (&[26, 25], 3), (&[29, 28], 6), (&[42, 41], 1), (&[34, 34], 9), (&[30, 30], 4)];
    fine(57, chain, &[(30, 1), (29, 1), (48, 4)], 7)
}

/// 80 bits in two passes of 42: EvalMod's result has scale 2^57, which 39 bits bring to the user's.
fn boot_80() -> ParamsLiteral {
    let chain: &[(&[u32], usize)] =
        &[(&[29, 29], 1), (&[33, 33], 3), (&[32, 32, 32], 3), (&[44, 43], 1), (&[35, 35], 9), (&[31, 30], 4)];
    let mut literal = fine(96, chain, &[(30, 1), (29, 1), (41, 4)], 8);
    let refinement = Some(Refinement { passes: 2, bits: 39 });
    literal.bootstrapping = literal.bootstrapping.map(|boot| BootstrapLiteral { refinement, ..boot });
    literal
}

fn boot_n15() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(15, 44, 35, 0, (50, 2), 10);
    literal.levels = levels(&[(&[44], 1), (&[28], 2), (&[35], 5), (&[29, 28], 1), (&[50], 7), (&[43], 2)]);
    let boot = bootstrapping(10, Sine::Exponential { harmonics: 1 });
    literal.bootstrapping = Some(BootstrapLiteral { slot_to_coeff: 2, coeff_to_slot: 2, ..boot });
    literal
}

/// For few slots: `boot` with as few maps as they need, whose levels go to the user. A message ratio of 8 bits, because
/// few slots have less noise, and the sine's error would else be more; wider primes for the maps, because fewer maps share
/// the factor between the message and EvalMod's range, and the rounding of their diagonals would else be more.
fn few(
    name: &'static str,
    purpose: &'static str,
    [slot_to_coeff, coeff_to_slot]: [usize; 2],
    user: usize,
    log_slots: u32,
) -> Preset {
    let mut literal = ParamsLiteral::chain(16, 50, 40, 0, (50, 8), 4);
    let (below, above) = ((&[34][..], slot_to_coeff), (&[50][..], coeff_to_slot));
    literal.levels = levels(&[(&[50], 1), below, (&[40], user), (&[29, 29], 1), (&[50], 8), above]);
    let boot = bootstrapping(8, Sine::Exponential { harmonics: 2 });
    literal.bootstrapping = Some(BootstrapLiteral { slot_to_coeff, coeff_to_slot, ..boot });
    literal.low_level = Some(slot_to_coeff + 1);
    Preset { slots: Some(1 << log_slots), ..preset(name, purpose, literal) }
}

/// ARK's shape with one prime per level: 24 limbs and 6. Thirty limbs of 50 bits stay 317 bits below the secure limit.
fn ark() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 45, 0, (50, 6), 4);
    literal.levels = levels(&[(&[50], 1), (&[40], 3), (&[45], 8), (&[50], 12)]);
    literal.bootstrapping = Some(bootstrapping(10, Sine::Exponential { harmonics: 1 }));
    literal
}

/// SHARP's shape: 36 limbs (L = 35) and 12 of at most 36 bits, dnum 3; two primes per level in EvalMod and CoeffToSlot.
/// q₀ is two primes of 24 bits, so that a key under the ephemeral secret stays below 121 bits with two special primes.
fn boot_sharp() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 36, 35, 0, (36, 12), 3);
    literal.levels = levels(&[(&[24, 24], 1), (&[32], 3), (&[35], 9), (&[36, 36], 1), (&[29, 29], 7), (&[27, 27], 3)]);
    let boot = bootstrapping(12, Sine::Exponential { harmonics: 1 });
    literal.bootstrapping = Some(BootstrapLiteral { coeff_to_slot: 3, ..boot });
    literal
}

/// No prime above 31 bits.
fn boot_narrow() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 31, 31, 0, (31, 12), 4);
    literal.levels = levels(&[(&[29, 29], 1), (&[30], 3), (&[31], 19), (&[31, 31], 1), (&[25, 25], 7), (&[24, 24], 4)]);
    literal.bootstrapping = Some(bootstrapping(10, Sine::Exponential { harmonics: 1 }));
    literal
}

/// One level fewer than the default; its bits go to CoeffToSlot and SlotToCoeff.
fn boot_lattigo() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 40, 0, (50, 8), 4);
    literal.levels = levels(&[(&[50], 1), (&[33], 3), (&[40], 13), (&[30, 29], 1), (&[50], 8), (&[50], 4)]);
    literal.bootstrapping = Some(bootstrapping(7, Sine::Exponential { harmonics: 2 }));
    literal.low_level = Some(4);
    literal
}

/// ModRaise under the main secret: the multiples of q₀ have deviation 60, so EvalMod has a wide range and 6 squarings.
fn boot_uniform() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 59, 0, (59, 7), 4);
    literal.levels = levels(&[(&[50], 1), (&[32], 3), (&[59], 6), (&[50], 13), (&[46], 4)]);
    let sine = Sine::Exponential { harmonics: 1 };
    let eval_mod = EvalModLiteral { range: 512, degree: 119, double_angles: 6, sine };
    literal.bootstrapping = Some(BootstrapLiteral { ephemeral_weight: None, eval_mod, ..bootstrapping(9, sine) });
    literal
}

/// `boot_few` on words of 50 bits.
fn boot_few_words() -> ParamsLiteral {
    ParamsLiteral { words: Some(Words { bits: 50, short: vec![30, 30, 40] }), ..boot_few() }
}

/// For few slots, whose linear steps are short: two maps each. The cosine takes both halves side by side through
/// EvalMod, and its bits are those of three digits of nine limbs. Twelve levels are three iterations of `helr`.
fn boot_few() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 40, 0, (50, 9), 3);
    literal.levels = levels(&[(&[50], 1), (&[30], 2), (&[40], 12), (&[50], 10), (&[46], 2)]);
    let boot = bootstrapping(7, Sine::Cosine { arcsine: 3 });
    literal.bootstrapping = Some(BootstrapLiteral { slot_to_coeff: 2, coeff_to_slot: 2, ..boot });
    literal.low_level = Some(6);
    literal
}
