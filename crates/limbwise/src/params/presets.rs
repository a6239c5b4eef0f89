//! Named parameter sets. They are frozen: a name never changes its primes (`tests/golden/presets.toml` holds them).

mod bootstrap;

use super::{
    checked::Params,
    error::ParamsError,
    literal::{ParamsLiteral, PrimeChoice},
};
use crate::preset_names::of_other_scheme;

/// A frozen parameter set.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Name: ring degree, levels, scale.
    pub name: &'static str,
    /// Its use, in one line.
    pub purpose: &'static str,
    /// The parameter literal.
    pub literal: ParamsLiteral,
    /// Slots that bootstrapping is meant for; `None` for all.
    pub slots: Option<usize>,
}

/// All presets, smallest first; those with bootstrapping last.
#[must_use]
pub fn presets() -> Vec<Preset> {
    [leveled(), bootstrap::presets()].concat()
}

fn preset_of(name: &'static str, purpose: &'static str, literal: ParamsLiteral) -> Preset {
    Preset { name, purpose, literal, slots: None }
}

fn leveled() -> Vec<Preset> {
    let preset = preset_of;
    vec![
        preset(
            "n12-l2-s27",
            "clear matrices around one square on 2048 slots",
            ParamsLiteral::chain(12, 26, 27, 2, (26, 1), 3),
        ),
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
            "training and other deep leveled circuits",
            ParamsLiteral::chain(16, 50, 40, 32, (46, 6), 6),
        ),
        preset("n16-mixed", "levels of one and of two primes in turn, scale 2^56", mixed()),
    ]
}

/// No prime above 50 bits, for the fast kernels: the 62 bits of q₀ are two primes.
fn precise() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 50, 50, 20, (50, 6), 5);
    literal.levels[0] = vec![PrimeChoice::Bits(31); 2];
    literal
}

/// Levels at scale 2^56 alternate between two 28-bit primes and one 56-bit prime; q₀ is two primes.
fn mixed() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(16, 60, 56, 12, (58, 4), 5);
    literal.levels = std::iter::once(vec![PrimeChoice::Bits(31); 2])
        .chain((0..12).map(|i| if i % 2 == 0 { vec![PrimeChoice::Bits(28); 2] } else { vec![PrimeChoice::Bits(56)] }))
        .collect();
    literal
}

/// The preset of a name.
///
/// # Errors
/// [`ParamsError::UnknownPreset`] with the nearest name; [`ParamsError::OtherScheme`].
pub fn preset(name: &str) -> Result<Params, ParamsError> {
    let all = presets();
    match all.iter().find(|p| p.name == name) {
        Some(preset) => Params::new(&preset.literal),
        None => Err(of_other_scheme(name, "CKKS")
            .unwrap_or_else(|| ParamsError::unknown_preset(name, all.iter().map(|p| p.name)))),
    }
}

impl ParamsError {
    /// The error for an unknown name, with the nearest existing one.
    pub(crate) fn unknown_preset(name: &str, known: impl Iterator<Item = &'static str>) -> Self {
        let nearest = known.min_by_key(|known| distance(known, name)).unwrap_or_default();
        Self::UnknownPreset { got: name.into(), nearest: nearest.into() }
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
