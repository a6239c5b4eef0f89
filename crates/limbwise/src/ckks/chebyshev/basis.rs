//! The polynomials of a basis on a ciphertext, each computed where it is first used.

use super::{
    sizes::Sizes,
    split::{Kind, factors},
};
use crate::{
    ckks::{Ciphertext, Evaluator, evaluator::Weighted},
    error::Result,
};
use limbwise_device::Device;
use limbwise_math::wide::Wide;
use std::collections::BTreeMap;

/// A ciphertext with its scale to more bits than f64 has. It need not be that of its level.
pub(super) struct Scaled<D: Device> {
    pub(super) value: Ciphertext<D>,
    pub(super) scale: Wide,
}

impl<D: Device> Clone for Scaled<D> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), scale: self.scale }
    }
}

impl<D: Device> Scaled<D> {
    pub(super) fn new(value: Ciphertext<D>, scale: Wide) -> Self {
        Self { value: Ciphertext { scale: scale.high, ..value }, scale }
    }

    /// At a level that is not above its own; the scale stays.
    pub(super) fn at(&self, eval: &Evaluator<'_, D>, level: usize) -> Result<Self> {
        Ok(Self { value: eval.drop_level(&self.value, level)?, scale: self.scale })
    }

    /// With a factor in a sum.
    pub(super) fn times(&self, factor: f64) -> Weighted<'_, D> {
        Weighted { factor, value: &self.value, scale: self.scale }
    }

    /// `self·other + Σ factor·term` of three polynomials, at the lower of both levels; without `other` the square. The
    /// product is doubled if so asked.
    pub(super) fn product(
        &self,
        eval: &Evaluator<'_, D>,
        other: Option<&Self>,
        (doubled, terms): (bool, &[(f64, Self)]),
    ) -> Result<Self> {
        let level = other.map_or(self.value.level, |other| self.value.level.min(other.value.level));
        let (left, right) = (self.at(eval, level)?, other.map(|other| other.at(eval, level)).transpose()?);
        let scale = self.scale * right.as_ref().map_or(self.scale, |right| right.scale);
        let terms =
            terms.iter().map(|(factor, term)| Ok((*factor, term.at(eval, level)?))).collect::<Result<Vec<_>>>()?;
        let weighted: Vec<Weighted<'_, D>> = terms.iter().map(|(factor, term)| term.times(*factor)).collect();
        let factors = (&left.value, right.as_ref().map(|right| &right.value));
        Ok(Self::new(eval.multiply_onto(factors, doubled, &weighted, scale)?, scale))
    }

    /// Of two polynomials, one level below.
    pub(super) fn rescaled(&self, eval: &Evaluator<'_, D>) -> Result<Self> {
        let scale = self.scale.over(eval.params().exact_dropped(self.value.level));
        Ok(Self::new(eval.relinearize_rescaled(&self.value)?, scale))
    }

    /// `self + constant`.
    pub(super) fn plus(self, eval: &Evaluator<'_, D>, constant: f64) -> Self {
        let Self { value, scale } = self;
        if constant == 0.0 {
            return Self { value, scale };
        }
        Self { value: eval.add_rounded(value, constant, scale), scale }
    }
}

/// B_k of the argument, computed on first use.
pub(super) struct Basis<'e, 'a, D: Device> {
    pub(super) eval: &'e Evaluator<'a, D>,
    kind: Kind,
    polynomials: BTreeMap<usize, Scaled<D>>,
    /// How large they are for usual arguments, where that is known.
    pub(super) sizes: Option<Sizes>,
    /// X^(N/2) where coefficients have imaginary parts.
    pub(super) unit: Option<&'e D::Poly>,
}

impl<'e, 'a, D: Device> Basis<'e, 'a, D> {
    pub(super) fn new(eval: &'e Evaluator<'a, D>, kind: Kind, first: Scaled<D>, unit: Option<&'e D::Poly>) -> Self {
        Self { eval, kind, polynomials: BTreeMap::from([(1, first)]), sizes: None, unit }
    }

    /// The same for a series whose arguments are like these.
    pub(super) fn on(self, sizes: Option<Sizes>) -> Self {
        let mut polynomials = self.polynomials;
        if let Some((sizes, first)) = sizes.as_ref().zip(polynomials.get_mut(&1)) {
            first.value.estimate = first.value.estimate.with_magnitude(sizes.of(1));
        }
        Self { polynomials, sizes, ..self }
    }

    /// ⌈log₂ k⌉ levels below the argument, at the scale that the products leave.
    pub(super) fn get(&mut self, k: usize) -> Result<Scaled<D>> {
        if let Some(known) = self.polynomials.get(&k) {
            return Ok(known.clone());
        }
        let (eval, [a, b]) = (self.eval, factors(k));
        let left = self.get(a)?;
        let right = if a == b { None } else { Some(self.get(b)?) };
        let made = match self.kind.mirrored(b) {
            None => left.product(eval, right.as_ref(), (false, &[]))?.rescaled(eval)?,
            Some(sign) if a == b => left.product(eval, None, (true, &[]))?.rescaled(eval)?.plus(eval, -sign),
            // Subtracted at the scale of the product, before the division, it takes no level.
            Some(sign) => left.product(eval, right.as_ref(), (true, &[(-sign, self.get(a - b)?)]))?.rescaled(eval)?,
        };
        // The interval and the circle are mapped to themselves.
        let size = self.sizes.as_ref().map_or(1.0, |sizes| sizes.of(k));
        let value = made.value.bounded_by(1.0);
        let made = Scaled { value: Ciphertext { estimate: value.estimate.with_magnitude(size), ..value }, ..made };
        self.polynomials.insert(k, made.clone());
        Ok(made)
    }
}
