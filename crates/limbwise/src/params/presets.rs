//! Named parameter sets. Frozen: a name never changes its primes (`tests/golden/presets.toml` holds them).

use super::{
    bootstrap::{BootstrapLiteral, EvalModLiteral, Order},
    checked::Params,
    error::ParamsError,
    literal::{ParamsLiteral, PrimeChoice},
    sine::Sine,
};

/// A frozen parameter set.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Its name: ring degree, levels, scale.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// The literal.
    pub literal: ParamsLiteral,
}

/// All presets, smallest first.
#[must_use]
pub fn presets() -> Vec<Preset> {
    let preset = |name, purpose, literal| Preset { name, purpose, literal };
    vec![
        preset("n13-l3-s40", "a few products on 4096 slots", ParamsLiteral::chain(13, 45, 40, 3, (45, 1), 4)),
        preset("n14-l7-s40", "shallow circuits on 8192 slots", ParamsLiteral::chain(14, 50, 40, 7, (45, 2), 4)),
        preset("n15-l16-s40", "circuits of depth 16 on 16384 slots", ParamsLiteral::chain(15, 50, 40, 16, (43, 4), 5)),
        preset("n16-l20-s50", "precise circuits of depth 20; q₀ of two primes", precise()),
        preset(
            "n16-l24-s40",
            "circuits of depth 24; 25 limbs, dnum 5",
            ParamsLiteral::chain(16, 50, 40, 24, (45, 5), 5),
        ),
        preset(
            "n16-l32-s40",
            "training and other deep levelled circuits",
            ParamsLiteral::chain(16, 50, 40, 32, (46, 6), 6),
        ),
        preset("n16-mixed", "levels of one and of two primes in turn, scale 2^56", mixed()),
        preset(
            "boot",
            "the default of bootstrapping: 14 levels, 24 bits; 32 limbs, dnum 4",
            boot(14, 50, 46, (49, 8), 4),
        ),
        preset(
            "boot-fast",
            "bootstrapping in the least time a level: 15 levels, 22 bits, no prime above 48 bits",
            boot(15, 48, 44, (48, 7), 5),
        ),
        preset(
            "boot-cosine",
            "bootstrapping by a cosine and an arcsine of degree 3: 13 levels, 22 bits",
            boot_cosine(),
        ),
        preset("boot-precise", "bootstrapping in two passes: 12 levels, 29 bits at scale 2^45", boot_precise()),
        preset("boot-n15", "bootstrapping on 16384 slots: 5 levels, 19 bits at scale 2^35", boot_n15()),
        preset("ark-24", "ARK's shape: 24 limbs, 6 special, dnum 4", ark()),
    ]
}

/// No prime above 50 bits, for the fast kernels: 62 bits of q₀ in two primes.
fn precise() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 50, 20, (50, 6), 5);
    literal.levels[0] = vec![PrimeChoice::Bits(31); 2];
    literal
}

/// Scale 2^56 carried in turn by two 28-bit primes and by one of 56; q₀ of two primes.
fn mixed() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 60, 56, 12, (58, 4), 5);
    literal.levels = std::iter::once(vec![PrimeChoice::Bits(31); 2])
        .chain((0..12).map(|i| if i % 2 == 0 { vec![PrimeChoice::Bits(28); 2] } else { vec![PrimeChoice::Bits(56)] }))
        .collect();
    literal
}

/// A chain from level 0 upwards, each run of levels by the bits of their primes.
fn levels(runs: &[(&[u32], usize)]) -> Vec<Vec<PrimeChoice>> {
    let level = |bits: &[u32]| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect::<Vec<_>>();
    runs.iter().flat_map(|&(bits, count)| vec![level(bits); count]).collect()
}

/// SlotToCoeff first with 3 and 4 maps under an ephemeral secret of weight 32, EvalMod of degree 31 at an eighth.
fn bootstrapping(message_ratio: u32, sine: Sine) -> BootstrapLiteral {
    BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 3,
        coeff_to_slot: 4,
        message_ratio,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine },
    }
}

/// An exponential with two harmonics, its primes of so many bits; the last level is wider by what the second harmonic's
/// factor and the user's scale take.
fn boot(user: usize, eval_mod: u32, coeff_to_slot: u32, special: (u32, usize), dnum: usize) -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, eval_mod, 40, 0, special, dnum);
    let last = 2 * eval_mod - 41;
    let last = [last.div_ceil(2), last / 2];
    let (first, above) = (&[eval_mod][..], &[coeff_to_slot][..]);
    literal.levels = levels(&[(first, 1), (&[30], 3), (&[40], user), (&last, 1), (first, 8), (above, 4)]);
    literal.bootstrapping = Some(bootstrapping(7, Sine::Exponential { harmonics: 2 }));
    literal
}

/// As published implementations do it: a cosine, an arcsine of degree 3, no prime above 50 bits.
fn boot_cosine() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 40, 0, (49, 8), 4);
    literal.levels = levels(&[(&[50], 1), (&[30], 3), (&[40], 13), (&[50], 10), (&[46], 4)]);
    literal.bootstrapping = Some(bootstrapping(7, Sine::Cosine { arcsine: 3 }));
    literal
}

fn boot_precise() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 45, 0, (50, 7), 5);
    literal.levels = levels(&[(&[50], 1), (&[33], 3), (&[45], 13), (&[27, 27], 1), (&[50], 8), (&[46], 4)]);
    literal.bootstrapping = Some(bootstrapping(7, Sine::Exponential { harmonics: 2 }));
    literal
}

fn boot_n15() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(15, 44, 35, 0, (50, 2), 10);
    literal.levels = levels(&[(&[44], 1), (&[28], 2), (&[35], 5), (&[29, 28], 1), (&[50], 7), (&[43], 2)]);
    let boot = bootstrapping(10, Sine::Exponential { harmonics: 1 });
    literal.bootstrapping = Some(BootstrapLiteral { slot_to_coeff: 2, coeff_to_slot: 2, ..boot });
    literal
}

fn ark() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 45, 0, (50, 6), 4);
    literal.levels.extend([40; 3].into_iter().chain([45; 8]).chain([50; 12]).map(|b| vec![PrimeChoice::Bits(b)]));
    literal
}

/// The preset of a name.
///
/// # Errors
/// [`ParamsError::UnknownPreset`] with the nearest name.
pub fn preset(name: &str) -> Result<Params, ParamsError> {
    let all = presets();
    match all.iter().find(|p| p.name == name) {
        Some(preset) => Params::new(&preset.literal),
        None => {
            let nearest = all.iter().min_by_key(|p| distance(p.name, name)).map_or_else(String::new, |p| p.name.into());
            Err(ParamsError::UnknownPreset { got: name.into(), nearest })
        }
    }
}

/// Edit distance of two short names.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_presets_are_secure_and_complete() {
        for p in presets() {
            let params = Params::new(&p.literal).unwrap_or_else(|e| panic!("{}: {e}", p.name));
            assert!(params.security().bits >= 128 && params.security().insecure_reason.is_none(), "{}", p.name);
            assert_eq!(preset(p.name).unwrap(), params);
        }
        assert!(preset("n16-l24").unwrap_err().to_string().contains("n16-l24-s40"));
    }
}
