//! An encoded linear map: its diagonals on the device, laid out for one strategy.

use super::{
    Diagonals, LinearPlan, PlaintextForm, Strategy,
    layout::{Group, Layout},
};
use crate::{
    ckks::{Encoder, Estimate, Packing},
    error::Result,
    params::Params,
    rlwe::{KeyName, Requirements},
};
use limbwise_device::{Basis, Device, Domain, Handle as _, Role, Shape, Wordless};
use limbwise_math::{galois::GaloisElement, rns::to_f64};
use num_complex::Complex64;
use std::sync::Arc;

/// A linear map that can be applied to ciphertexts at its level and below.
pub struct LinearTransform<D: Device> {
    pub(super) plan: LinearPlan,
    pub(super) slots: usize,
    pub(super) layout: Layout,
    /// The diagonals of each group, in the order of its terms.
    pub(super) weights: Vec<Vec<Encoded<D::Poly>>>,
    pub(super) shadow: Option<Arc<Diagonals>>,
    /// What diagonals are encoded from where they are used.
    clear: Option<(Encoder, Diagonals)>,
}

/// One diagonal.
pub(super) struct Encoded<P> {
    pub(super) stored: Stored<P>,
    pub(super) estimate: Estimate,
}

/// What is stored of it.
pub(super) enum Stored<P> {
    Poly(P),
    /// Its index, and how it is turned before it is encoded.
    Clear {
        diagonal: usize,
        turn: i64,
    },
}

impl<D: Device> LinearTransform<D> {
    /// Encodes a map.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode(dev: &D, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<Self> {
        let _region = dev.region("encode_linear", 0);
        let basis = stored_basis(encoder.params(), diagonals, plan);
        Self::build(encoder, diagonals, plan, |values, packing| {
            let coefficients = encoder.coefficients(dev, (1, &|_| values()), packing, basis);
            match plan.form {
                PlaintextForm::Full => dev.ntt(coefficients),
                PlaintextForm::OnTheFly | PlaintextForm::AtUse => coefficients,
            }
        })
    }

    /// A map by declaration: what encoding it would give, but no words.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn declare(dev: &D, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<Self>
    where
        D: Wordless,
    {
        let domain = match plan.form {
            PlaintextForm::Full => Domain::Eval,
            PlaintextForm::OnTheFly | PlaintextForm::AtUse => Domain::Coeff,
        };
        let basis = stored_basis(encoder.params(), diagonals, plan);
        let shape = Shape::eval(encoder.params().ring(), basis).with_domain(domain);
        Self::build(encoder, diagonals, plan, |_, _| dev.declare(&shape, Role::Plaintext))
    }

    fn build(
        encoder: &Encoder,
        diagonals: &Diagonals,
        plan: LinearPlan,
        make: impl Fn(&(dyn Fn() -> Vec<Complex64> + Sync), Packing) -> D::Poly,
    ) -> Result<Self> {
        let layout = Layout::new(plan.strategy, diagonals);
        let slots = diagonals.slots();
        let packing = Packing { slots, level: plan.level, scale: plan.scale };
        let encode = |group: &Group| {
            let turn = -group.giant - layout.offset;
            let one = |diagonal| {
                // A rotation changes neither size nor error: what is only declared is not rotated, nor even made.
                let size = diagonals.size(diagonal);
                let estimate = match size.magnitude.is_finite() {
                    true => encoder.bounded(size, packing)?,
                    false => encoder.estimate(std::slice::from_ref(diagonals.values(diagonal)), packing)?,
                };
                let stored = match plan.form {
                    PlaintextForm::AtUse => Stored::Clear { diagonal, turn },
                    _ => Stored::Poly(make(&|| diagonals.rotated(diagonal, turn), packing)),
                };
                Ok(Encoded { stored, estimate })
            };
            group.terms.iter().map(|term| one(term.diagonal)).collect::<Result<Vec<_>>>()
        };
        let weights = layout.groups.iter().map(encode).collect::<Result<_>>()?;
        let clear = (plan.form == PlaintextForm::AtUse).then(|| (encoder.clone(), diagonals.clone()));
        Ok(Self { plan, slots, layout, weights, shadow: None, clear })
    }

    /// A diagonal that is not stored, as values over a basis.
    pub(super) fn encoded_now(&self, dev: &D, (diagonal, turn): (usize, i64), basis: Basis) -> D::Poly {
        let (encoder, clear) = self.clear.as_ref().expect("what is not stored is encoded from the clear map");
        let packing = Packing { slots: self.slots, level: self.plan.level, scale: self.plan.scale };
        dev.ntt(encoder.coefficients(dev, (1, &|_| clear.rotated(diagonal, turn)), packing, basis))
    }

    /// The same with the map in the clear beside it: ciphertexts with shadows keep them.
    #[must_use]
    pub fn with_shadow(self, diagonals: &Diagonals) -> Self {
        Self { shadow: Some(Arc::new(diagonals.clone())), ..self }
    }

    /// How it was encoded.
    #[must_use]
    pub fn plan(&self) -> LinearPlan {
        self.plan
    }

    /// Its rotations by strategy: for each giant step the rotations of the input that it sums, then that of the result.
    #[must_use]
    pub fn rotations(&self) -> (Vec<(i64, Vec<i64>)>, i64) {
        let babies = |group: &Group| group.terms.iter().map(|term| self.layout.babies[term.baby]).collect();
        let groups = self.layout.groups.iter().filter(|group| !group.terms.is_empty());
        (groups.map(|group| (group.giant, babies(group))).collect(), self.layout.offset)
    }

    /// Encoded diagonals.
    #[must_use]
    pub fn diagonals(&self) -> usize {
        self.weights.iter().map(Vec::len).sum()
    }

    /// Slots of input and output.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Bytes of the diagonals that are kept encoded.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = |w: &Encoded<D::Poly>| if let Stored::Poly(poly) = &w.stored { poly.shape().bytes() } else { 0 };
        self.weights.iter().flatten().map(bytes).sum()
    }

    /// The keys it needs at its level.
    #[must_use]
    pub fn requirements(&self, params: &Params) -> Requirements {
        let name = |steps| KeyName::Galois(GaloisElement::rotation(steps, params.log_n()));
        self.layout.rotations().into_iter().map(|steps| (name(steps), self.plan.level)).collect()
    }
}

/// The limbs that are stored of each diagonal.
fn stored_basis(params: &Params, diagonals: &Diagonals, plan: LinearPlan) -> Basis {
    match (plan.form, plan.strategy) {
        (PlaintextForm::OnTheFly | PlaintextForm::AtUse, _) => narrow_basis(params, diagonals, plan),
        (PlaintextForm::Full, Strategy::DoubleHoisted { .. }) => params.basis(plan.level) | params.special(),
        (PlaintextForm::Full, _) => params.basis(plan.level),
    }
}

/// As few of the widest primes as hold every signed coefficient: at most the largest slot times the scale; one bit is for
/// the sign, one is kept free.
fn narrow_basis(params: &Params, diagonals: &Diagonals, plan: LinearPlan) -> Basis {
    let largest = |d| diagonals.size(d).peak;
    let bits = diagonals.indices().map(largest).fold(f64::MIN_POSITIVE, f64::max).log2() + plan.scale.log2() + 2.0;
    let mut primes: Vec<(u64, usize)> = params.ring().spec().primes.iter().copied().zip(0..).collect();
    primes.sort_unstable_by_key(|&(prime, _)| std::cmp::Reverse(prime));
    let (mut basis, mut held) = (Basis::default(), 0.0);
    for (prime, index) in primes {
        if !basis.is_empty() && held >= bits {
            break;
        }
        basis = basis | Basis::single(index);
        held += to_f64(prime).log2();
    }
    basis
}
