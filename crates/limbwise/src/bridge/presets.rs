//! Named pairs of parameter sets. They are frozen: a name never changes its numbers.

use super::{BridgeError, BridgeParams};
use crate::{
    error::Result,
    params::{BootstrapLiteral, EvalModLiteral, Order, Params, ParamsLiteral, PrimeChoice, Sine},
    preset_names::of_other_scheme,
    tfhe::{self, TfheLiteral, TfheParams},
};

/// A frozen pair.
#[derive(Clone, Debug)]
pub struct BridgePreset {
    /// Name in options and files.
    pub name: &'static str,
    /// Its use, in one line.
    pub purpose: &'static str,
    /// The CKKS set.
    pub ckks: ParamsLiteral,
    /// The TFHE set.
    pub tfhe: TfheLiteral,
}

/// The preset of a name.
///
/// # Errors
/// [`BridgeError::UnknownPreset`]; [`ParamsError::OtherScheme`](crate::params::ParamsError::OtherScheme).
pub fn preset(name: &str) -> Result<BridgeParams> {
    let all = presets()?;
    let known = all.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    let Some(found) = all.into_iter().find(|p| p.name == name) else {
        return Err(match of_other_scheme(name, "the bridge") {
            Some(other) => other.into(),
            None => BridgeError::UnknownPreset(name.into(), known).into(),
        });
    };
    BridgeParams::new(&Params::new(&found.ckks)?, &TfheParams::new(&found.tfhe)?)
}

/// All presets.
///
/// # Errors
/// Never: the TFHE presets they name exist.
pub fn presets() -> Result<Vec<BridgePreset>> {
    let of = |name, purpose, tfhe| -> Result<BridgePreset> {
        Ok(BridgePreset { name, purpose, ckks: flags_n15(), tfhe: tfhe::preset(tfhe)? })
    };
    Ok(vec![
        of("flags-2-2", "up to 16384 rows compared in digits of 2 bits and 2 of carry; 4 levels behind", "2-2-p64")?,
        of("flags-bool", "up to 16384 rows compared by gates; 4 levels behind", "bool-p64")?,
    ])
}

/// N = 2^15: q₀ of 46 bits, four levels of 40 bits for the user, EvalMod at 46 bits, three maps of CoeffToSlot.
/// EvalMod's last level is wider, because the scale falls to the user's there.
fn flags_n15() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(15, 46, 40, 4, (50, 3), 6);
    let above = [&[26, 26][..]].into_iter().chain([&[46][..]; 7]).chain([&[43][..]; 3]);
    literal.levels.extend(above.map(|bits| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect()));
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 2,
        coeff_to_slot: 3,
        message_ratio: 2,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine: Sine::Cosine { arcsine: 0 } },
        refinement: None,
    });
    literal
}
