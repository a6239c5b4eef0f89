//! An encoded linear map: its diagonals on the device, arranged for one strategy.

use super::{
    Diagonals, LinearPlan, PlaintextForm, Strategy,
    layout::{Group, Layout},
};
use crate::{
    ckks::{Encoder, Estimate, Packing},
    error::Result,
    params::Params,
    rlwe::{KeyName, Requirements},
    supply::{Kept, Made, Supply},
};
use limbwise_device::{Basis, Device, Domain, Handle as _, Region, Role, Shape, Wordless};
use limbwise_math::{galois::GaloisElement, rns::to_f64};
use num_complex::Complex64;
use std::sync::Arc;

/// An encoded linear map for ciphertexts at its level and below.
pub struct LinearTransform<D: Device> {
    pub(super) plan: LinearPlan,
    pub(super) slots: usize,
    pub(super) layout: Layout,
    /// The diagonals of each group, in the order of its terms.
    pub(super) weights: Vec<Vec<Encoded<D>>>,
    pub(super) shadow: Option<Arc<Diagonals>>,
    /// The source of diagonals that are encoded on use.
    clear: Option<(Encoder, Diagonals)>,
}

/// One encoded diagonal.
pub(super) struct Encoded<D: Device> {
    pub(super) stored: Stored<D>,
    pub(super) estimate: Estimate,
}

/// The stored part of a diagonal.
pub(super) enum Stored<D: Device> {
    Poly(D::Poly),
    /// Read at each use, as [`PlaintextForm::OnTheFly`] stores it.
    Kept(Arc<dyn Kept<D>>),
    /// Not stored: the diagonal's index, and its rotation before encoding.
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
        Self::encode_from(dev, &Made, encoder, diagonals, plan)
    }

    /// [`Self::encode`] with the encoded diagonals from a supply, which may have them already.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and those of the supply.
    pub fn encode_from(
        dev: &D,
        supply: &dyn Supply<D>,
        encoder: &Encoder,
        diagonals: &Diagonals,
        plan: LinearPlan,
    ) -> Result<Self> {
        let _region = dev.region("encode_linear", 0);
        let shape = stored_shape(encoder.params(), diagonals, plan);
        Self::build(encoder, diagonals, plan, |values, packing| {
            let make = || {
                let coefficients = encoder.coefficients(dev, 1, &|_| values(), packing, shape.basis);
                if shape.domain == Domain::Eval { dev.ntt(coefficients) } else { coefficients }
            };
            Ok(match plan.form {
                PlaintextForm::AtUse => supply.next_at_use(dev, &shape, &make)?.map(Stored::Kept),
                _ => Some(Stored::Poly(supply.next(dev, &shape, &make)?)),
            })
        })
    }

    /// Declares the transform that encoding the map would give, on a device that holds no words.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn declare(dev: &D, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<Self>
    where
        D: Wordless,
    {
        let shape = stored_shape(encoder.params(), diagonals, plan);
        let stored = plan.form != PlaintextForm::AtUse;
        Self::build(encoder, diagonals, plan, |_, _| {
            Ok(stored.then(|| Stored::Poly(dev.declare(&shape, Role::Plaintext))))
        })
    }

    /// Builds the map; what `make` does not store is encoded at each use.
    fn build(
        encoder: &Encoder,
        diagonals: &Diagonals,
        plan: LinearPlan,
        make: impl Fn(&(dyn Fn() -> Vec<Complex64> + Sync), Packing) -> Result<Option<Stored<D>>>,
    ) -> Result<Self> {
        let layout = Layout::new(plan.strategy, diagonals);
        let slots = diagonals.slots();
        let packing = Packing { slots, level: plan.level, scale: plan.scale };
        let encode = |group: &Group| {
            let turn = -group.giant - layout.offset;
            let one = |diagonal| {
                // A rotation changes neither size nor error, so a declared diagonal is neither rotated nor computed.
                let size = diagonals.size(diagonal);
                let estimate = match size.magnitude.is_finite() {
                    true => encoder.bounded(size, packing)?,
                    false => encoder.estimate(&[diagonals.rotated(diagonal, 0)], packing)?,
                };
                let stored = make(&|| diagonals.rotated(diagonal, turn), packing)?;
                Ok(Encoded { stored: stored.unwrap_or(Stored::Clear { diagonal, turn }), estimate })
            };
            group.terms.iter().map(|term| one(term.diagonal)).collect::<Result<Vec<_>>>()
        };
        let weights = layout.groups.iter().map(encode).collect::<Result<_>>()?;
        let clear = (plan.form == PlaintextForm::AtUse).then(|| (encoder.clone(), diagonals.clone()));
        Ok(Self { plan, slots, layout, weights, shadow: None, clear })
    }

    /// Encodes diagonals that are not stored, each with its turn, in evaluation domain over a basis.
    pub(super) fn encode_now(&self, dev: &D, diagonals: &[(usize, i64)], basis: Basis) -> Vec<D::Poly> {
        let (encoder, clear) = self.clear.as_ref().expect("what is not stored is encoded from the clear map");
        let packing = Packing { slots: self.slots, level: self.plan.level, scale: self.plan.scale };
        let rotated = |at: usize| clear.rotated(diagonals[at].0, diagonals[at].1);
        let _region = dev.region(Region::Encode, 0);
        let all = dev.ntt(encoder.coefficients(dev, diagonals.len(), &rotated, packing, basis));
        match diagonals.len() {
            1 => vec![all],
            count => (0..count).map(|at| dev.split(&all, at, at + 1)).collect(),
        }
    }

    /// Attaches the clear map, so that shadows pass through the transform.
    #[must_use]
    pub fn with_shadow(self, diagonals: &Diagonals) -> Self {
        Self { shadow: Some(Arc::new(diagonals.clone())), ..self }
    }

    /// The plan it was encoded with.
    #[must_use]
    pub fn plan(&self) -> LinearPlan {
        self.plan
    }

    /// Rotations of the strategy: each giant step with the rotations of the input that it sums, then the rotation of
    /// the result.
    #[must_use]
    pub fn rotations(&self) -> (Vec<(i64, Vec<i64>)>, i64) {
        let babies = |group: &Group| group.terms.iter().map(|term| self.layout.babies[term.baby]).collect();
        let groups = self.layout.groups.iter().filter(|group| !group.terms.is_empty());
        (groups.map(|group| (group.giant, babies(group))).collect(), self.layout.offset)
    }

    /// Number of diagonals.
    #[must_use]
    pub fn diagonals(&self) -> usize {
        self.weights.iter().map(Vec::len).sum()
    }

    /// Slot count of input and output.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Size of the stored diagonals in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = |w: &Encoded<D>| if let Stored::Poly(poly) = &w.stored { poly.shape().bytes() } else { 0 };
        self.weights.iter().flatten().map(bytes).sum()
    }

    /// The keys it needs for a ciphertext at a level, at most its own.
    #[must_use]
    pub fn requirements(&self, params: &Params, level: usize) -> Requirements {
        let name = |steps| KeyName::galois(GaloisElement::rotation(steps, params.log_n()), params, level);
        self.layout.rotations().into_iter().map(|steps| (name(steps), level)).collect()
    }
}

/// The polynomial stored per diagonal.
fn stored_shape(params: &Params, diagonals: &Diagonals, plan: LinearPlan) -> Shape {
    let domain = match plan.form {
        PlaintextForm::Full => Domain::Eval,
        PlaintextForm::OnTheFly | PlaintextForm::AtUse => Domain::Coeff,
    };
    Shape::eval(params.ring(), stored_basis(params, diagonals, plan)).with_domain(domain)
}

/// The limbs stored per diagonal.
fn stored_basis(params: &Params, diagonals: &Diagonals, plan: LinearPlan) -> Basis {
    match (plan.form, plan.strategy) {
        (PlaintextForm::OnTheFly | PlaintextForm::AtUse, _) => narrow_basis(params, diagonals, plan),
        (PlaintextForm::Full, Strategy::DoubleHoisted { .. } | Strategy::Chained { .. }) => {
            params.basis(plan.level) | params.gadget(plan.level).1
        }
        (PlaintextForm::Full, _) => params.basis(plan.level),
    }
}

/// The fewest of the widest primes that hold every signed coefficient: at most the largest slot times the scale, one
/// bit for the sign, one bit spare.
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
