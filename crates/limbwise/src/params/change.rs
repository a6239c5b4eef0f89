//! Changing one field of a parameter set by name, so that sets near a given one can be compared: `boot:dnum=3:levels=10`.
//!
//! A chain of primes has sections: q₀, SlotToCoeff, the user's levels, EvalMod, CoeffToSlot. A section that grows
//! repeats its last level, one that shrinks loses its last ones. P gets as many primes of the size of its first one as
//! the largest digit needs. [`Params::new`](super::Params::new) checks the result like any other literal.

use super::{
    bootstrap::Order,
    checked::HIDES,
    error::ParamsError,
    literal::{Insecure, ParamsLiteral, PrimeChoice},
    words,
};

/// A field that can be changed by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeableField {
    /// Name in options.
    pub name: &'static str,
    /// Its meaning, in one line.
    pub about: &'static str,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Dnum,
    Levels,
    CoeffToSlot,
    SlotToCoeff,
    Degree,
    DoubleAngles,
    LogN,
    Scale,
    Insecure,
}

/// All fields that can be changed.
pub const CHANGEABLE: [ChangeableField; 9] = {
    const fn field(name: &'static str, about: &'static str, what: What) -> ChangeableField {
        ChangeableField { name, about, what }
    }
    [
        field("dnum", "digits of key switching at the top level", What::Dnum),
        field("levels", "levels of the user: of the chain, or between two bootstrappings", What::Levels),
        field("coeff-to-slot", "maps of CoeffToSlot: fewer maps have a larger radix", What::CoeffToSlot),
        field("slot-to-coeff", "maps of SlotToCoeff", What::SlotToCoeff),
        field("degree", "degree of the series of EvalMod", What::Degree),
        field("double-angles", "doublings of the angle in EvalMod", What::DoubleAngles),
        field("log-n", "log₂ of the ring degree", What::LogN),
        field("scale", "log₂ of the scale, and bits of the levels' primes: of sets without bootstrapping", What::Scale),
        field("insecure", "why the set may be below 128 bits, which every report repeats", What::Insecure),
    ]
};

/// Upper limit of levels in a section, and of digits.
const MOST: usize = 127;

impl ChangeableField {
    /// The field of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        CHANGEABLE.into_iter().find(|field| field.name == name)
    }
}

/// Consecutive levels of one use.
#[derive(Clone, Copy)]
struct Section {
    /// Its lowest level.
    at: usize,
    /// Number of levels.
    length: usize,
}

impl ParamsLiteral {
    /// A copy with one field changed.
    ///
    /// # Errors
    /// [`ParamsError::Range`] for a value outside the field's range; [`ParamsError::Unchangeable`] if the set has no
    /// bootstrapping, or if a level of explicit primes would have to be repeated.
    pub fn changed(&self, field: ChangeableField, value: &str) -> Result<Self, ParamsError> {
        let mut new = self.clone();
        let number = |least: usize, most: usize| {
            let wanted = || format!("a whole number from {least} to {most}");
            let range = || ParamsError::Range { field: field.name, got: value.to_owned(), wanted: wanted() };
            value.parse::<usize>().ok().filter(|n| (least..=most).contains(n)).ok_or_else(range)
        };
        let none = || ParamsError::Unchangeable { field: field.name, reason: "the set has no bootstrapping" };
        match field.what {
            What::Insecure => {
                new.insecure = Some(Insecure { reason: value.to_owned() });
                return Ok(new);
            }
            What::LogN => {
                new.log_n = u32::try_from(number(10, 17)?).unwrap_or(17);
                return Ok(new);
            }
            What::Scale => new.rescale(field, number(20, 58)?)?,
            What::Dnum => new.dnum = number(1, MOST)?,
            What::Levels => {
                let levels = number(1, MOST)?;
                new.resize(field, self.sections()[2], levels)?;
            }
            What::CoeffToSlot => {
                new.bootstrapping.as_mut().ok_or_else(none)?.coeff_to_slot = number(1, 8)?;
            }
            What::SlotToCoeff => {
                new.bootstrapping.as_mut().ok_or_else(none)?.slot_to_coeff = number(1, 8)?;
            }
            What::Degree => {
                new.bootstrapping.as_mut().ok_or_else(none)?.eval_mod.degree = number(3, 1023)?;
            }
            What::DoubleAngles => {
                new.bootstrapping.as_mut().ok_or_else(none)?.eval_mod.double_angles = number(0, 16)?;
            }
        }
        if let (Some(old), Some(boot)) = (self.bootstrapping, new.bootstrapping) {
            let [_, to_coeff, _, to_coeff_last, eval_mod, to_slot] = self.sections();
            // From the top down, so that lower sections keep their indices.
            new.resize(field, to_slot, boot.coeff_to_slot)?;
            new.resize(field, eval_mod, boot.eval_mod.depth())?;
            let first = old.order == Order::SlotToCoeffFirst;
            new.resize(field, if first { to_coeff } else { to_coeff_last }, boot.slot_to_coeff)?;
        }
        new.fit_special();
        new.fit_low_level();
        Ok(new)
    }

    /// The number that a field has; `None` for one that is no number, or that the set does not have.
    #[must_use]
    pub fn value(&self, field: ChangeableField) -> Option<usize> {
        let boot = self.bootstrapping.as_ref();
        match field.what {
            What::Dnum => Some(self.dnum),
            What::Levels => Some(self.sections()[2].length),
            What::LogN => usize::try_from(self.log_n).ok(),
            What::Scale => boot.is_none().then(|| usize::try_from(self.log_scale).ok()).flatten(),
            What::CoeffToSlot => boot.map(|boot| boot.coeff_to_slot),
            What::SlotToCoeff => boot.map(|boot| boot.slot_to_coeff),
            What::Degree => boot.map(|boot| boot.eval_mod.degree),
            What::DoubleAngles => boot.map(|boot| boot.eval_mod.double_angles),
            What::Insecure => None,
        }
    }

    /// The sections of q₀, SlotToCoeff if it comes first, the user's levels, SlotToCoeff if it comes last,
    /// EvalMod and CoeffToSlot.
    fn sections(&self) -> [Section; 6] {
        let lengths = self.bootstrapping.map_or([1, 0, usize::MAX, 0, 0, 0], |boot| {
            let first = boot.order == Order::SlotToCoeffFirst;
            let (before, after) = if first { (boot.slot_to_coeff, 0) } else { (0, boot.slot_to_coeff) };
            let taken = 1 + boot.slot_to_coeff + boot.eval_mod.depth() + boot.coeff_to_slot;
            let user = self.levels.len().saturating_sub(taken);
            [1, before, user, after, boot.eval_mod.depth(), boot.coeff_to_slot]
        });
        let mut at = 0;
        lengths.map(|length| {
            let length = length.min(self.levels.len().saturating_sub(at));
            at += length;
            Section { at: at - length, length }
        })
    }

    /// Changes the length of a section.
    fn resize(&mut self, field: ChangeableField, section: Section, new: usize) -> Result<(), ParamsError> {
        let Section { at, length: old } = section;
        // A section of unchanged length may still have moved.
        if new == old {
            return Ok(());
        }
        if new < old {
            self.levels.drain(at + new..at + old);
            return Ok(());
        }
        let unchangeable = |reason| ParamsError::Unchangeable { field: field.name, reason };
        let last = self.levels.get((at + old).saturating_sub(1)).filter(|_| old > 0);
        let level = last.cloned().ok_or_else(|| unchangeable("there is no level to repeat"))?;
        if level.iter().any(|prime| matches!(prime, PrimeChoice::Exact(_))) {
            return Err(unchangeable("its last level is given as primes, not by their bits: they cannot be repeated"));
        }
        self.levels.splice(at + old..at + old, vec![level; new - old]);
        Ok(())
    }

    /// Primes of one level as large as the scale, above a q₀ with room for values of 2^9, as [`choose`](fn@super::choose) has
    /// them. P follows.
    fn rescale(&mut self, field: ChangeableField, scale: usize) -> Result<(), ParamsError> {
        if self.bootstrapping.is_some() {
            let reason = "the primes of EvalMod follow from the scale of a set with bootstrapping";
            return Err(ParamsError::Unchangeable { field: field.name, reason });
        }
        if self.words.is_some() {
            let reason = "the short primes of a set with words follow from its scale";
            return Err(ParamsError::Unchangeable { field: field.name, reason });
        }
        let bits = u32::try_from(scale).unwrap_or(58);
        self.log_scale = bits;
        self.levels.iter_mut().for_each(|level| *level = vec![PrimeChoice::Bits(bits)]);
        self.levels[0] = vec![PrimeChoice::Bits((bits + 10).min(60))];
        self.special = vec![PrimeChoice::Bits((bits + 5).min(60))];
        Ok(())
    }

    /// Lowers the highest low level to one that P covers, with room for primes that are longer or shorter than their bits say.
    fn fit_low_level(&mut self) {
        let special: f64 = self.special.iter().map(|prime| prime.log2()).sum();
        let bits = |level: usize| self.levels[..=level].iter().flatten().map(|prime| prime.log2()).sum::<f64>();
        let fits = |&level: &usize| bits(level) + HIDES + 0.1 <= special;
        self.low_level =
            self.low_level.and_then(|low| (0..self.levels.len()).take(low.saturating_add(1)).rev().find(fits));
    }

    /// Resizes P to the largest digit: of its primes, if they are given by their bits, as many as needed, the last repeated.
    /// The first ones make the key of an ephemeral secret, and stay.
    fn fit_special(&mut self) {
        let by_bits = |prime: &PrimeChoice| matches!(prime, PrimeChoice::Bits(1..));
        let Some(&last) = self.special.last().filter(|_| self.special.iter().all(by_bits)) else { return };
        let digit = match &self.words {
            Some(words) => match words::longest_digit(self, words) {
                Ok(digit) => digit,
                Err(_) => return, // the check of the whole set says why
            },
            None => {
                let chain: Vec<f64> = self.levels.iter().flatten().map(|prime| prime.log2()).collect();
                let alpha = chain.len().div_ceil(self.dnum.max(1)).max(1);
                chain.chunks(alpha).map(|digit| digit.iter().sum::<f64>()).fold(0.0, f64::max)
            }
        };
        let mut held = 0.0;
        // The rule of `Params::new` allows a digit two bits above P; primes are a little shorter than their bits say.
        let is_short = |prime: &PrimeChoice| {
            let short = held == 0.0 || held + 2.0 <= digit;
            held += prime.log2();
            short
        };
        self.special =
            self.special.iter().copied().chain(std::iter::repeat(last)).take(MOST).take_while(is_short).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, presets::presets};

    fn changed(literal: &ParamsLiteral, changes: &[(&str, &str)]) -> ParamsLiteral {
        let change = |literal: ParamsLiteral, &(name, value): &(&str, &str)| {
            literal.changed(ChangeableField::named(name).unwrap(), value).unwrap()
        };
        changes.iter().fold(literal.clone(), change)
    }

    #[test]
    fn the_low_level_follows_what_p_covers() {
        let boot = presets().into_iter().find(|p| p.name == "boot").unwrap().literal;
        assert_eq!(changed(&boot, &[("levels", "10")]).low_level, Some(4));
        // Digits of two limbs take few special primes.
        let narrow = changed(&boot, &[("insecure", "a test"), ("dnum", "16")]);
        assert!(narrow.low_level < Some(4));
        Params::new(&narrow).unwrap();
        let empty = ParamsLiteral { levels: Vec::new(), low_level: Some(usize::MAX), ..boot };
        assert!(Params::new(&changed(&empty, &[("insecure", "a test")])).is_err());
        let mut fitted = empty;
        fitted.fit_low_level();
        assert_eq!(fitted.low_level, None);
    }

    #[test]
    fn the_value_that_a_preset_has_changes_nothing() {
        for preset in presets() {
            let old = preset.literal;
            let dnum = old.dnum.to_string();
            let same = changed(&old, &[("dnum", &dnum), ("log-n", &old.log_n.to_string())]);
            for field in CHANGEABLE.into_iter().filter(|field| field.name != "scale") {
                let Some(value) = old.value(field) else { continue };
                let again = old.changed(field, &value.to_string()).unwrap();
                assert_eq!((again.levels, again.log_n, again.dnum), (old.levels.clone(), old.log_n, old.dnum));
            }
            assert_eq!(same.levels, old.levels, "{}", preset.name);
            // P is never longer than a preset chose it.
            assert!(same.special.len() <= old.special.len(), "{}", preset.name);
            assert!(Params::new(&same).is_ok(), "{}", preset.name);
        }
    }

    #[test]
    fn sections_grow_and_shrink_where_they_are() {
        let boot = presets().into_iter().find(|p| p.name == "boot").unwrap().literal;
        let deeper =
            changed(&boot, &[("insecure", "a test"), ("levels", "16"), ("coeff-to-slot", "3"), ("degree", "63")]);
        let checked = Params::new(&deeper).unwrap();
        let steps = checked.bootstrapping().unwrap();
        assert_eq!((steps.levels, steps.literal.coeff_to_slot, steps.literal.eval_mod.depth()), (16, 3, 10));
        let bits = |at: usize| deeper.levels[at].iter().map(|p| u64::from(*p)).collect::<Vec<_>>();
        assert_eq!((bits(3), bits(4), bits(19)), (vec![30], vec![40], vec![40]));
        assert_eq!((bits(20), bits(21), bits(30)), (vec![30, 29], vec![50], vec![46]));
        assert_eq!(deeper.levels.len(), 1 + 3 + 16 + 10 + 3);
        assert_eq!(changed(&deeper, &[("levels", "14"), ("degree", "31"), ("coeff-to-slot", "4")]).levels, boot.levels);
    }

    #[test]
    fn a_scale_brings_its_primes() {
        let chain = ParamsLiteral::chain(14, 50, 40, 7, (45, 2), 4);
        let finer = changed(&chain, &[("scale", "30"), ("levels", "3"), ("log-n", "13"), ("dnum", "2")]);
        assert_eq!(finer, ParamsLiteral::chain(13, 40, 30, 3, (35, 2), 2));
        assert!(Params::new(&finer).is_ok());
    }

    #[test]
    fn special_primes_follow_the_digits() {
        let chain = ParamsLiteral::chain(16, 50, 40, 24, (45, 5), 5);
        for dnum in 1..=25 {
            let new = changed(&chain, &[("insecure", "a test"), ("dnum", &dnum.to_string())]);
            let params = Params::new(&new).unwrap_or_else(|e| panic!("dnum {dnum}: {e}"));
            let one_less = ParamsLiteral { special: new.special[1..].to_vec(), ..new.clone() };
            assert!(new.special.len() == 1 || Params::new(&one_less).is_err(), "dnum {dnum}: as few as there can be");
            assert_eq!(params.literal().dnum, dnum);
        }
    }

    #[test]
    fn what_cannot_be_changed_is_said() {
        let chain = ParamsLiteral::chain(13, 45, 40, 3, (45, 1), 4);
        let refused = |literal: &ParamsLiteral, name, value| {
            literal.changed(ChangeableField::named(name).unwrap(), value).unwrap_err().to_string()
        };
        assert!(refused(&chain, "dnum", "0").starts_with("dnum = 0: choose a whole number from 1 to"));
        assert!(refused(&chain, "degree", "31").contains("the set has no bootstrapping"));
        let boot = presets().into_iter().find(|p| p.name == "boot").unwrap().literal;
        assert!(refused(&boot, "scale", "35").contains("EvalMod"));
        let exact = ParamsLiteral { levels: vec![vec![PrimeChoice::Exact(1 << 50)]; 3], ..chain };
        assert!(refused(&exact, "levels", "9").contains("cannot be repeated"));
        assert!(ChangeableField::named("dnums").is_none());
    }
}
