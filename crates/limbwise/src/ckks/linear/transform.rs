//! An encoded linear map: its diagonals on the device, laid out for one strategy.

use super::{
    Diagonals, LinearPlan, PlaintextForm, Strategy,
    layout::{Group, Layout},
};
use crate::{
    ckks::{Encoder, Estimate, Packing},
    error::{EncodeError, Result},
    params::Params,
    rlwe::{KeyName, Requirements},
};
use limbwise_device::{Basis, Device, Domain, Handle as _, Role, Shape};
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
}

/// One encoded diagonal.
pub(super) struct Encoded<P> {
    pub(super) poly: P,
    pub(super) estimate: Estimate,
}

impl<D: Device> LinearTransform<D> {
    /// Encodes a map.
    ///
    /// # Errors
    /// As [`Encoder::encode`]; [`EncodeError::TooLarge`] also for what does not fit the one limb of
    /// [`PlaintextForm::OnTheFly`].
    pub fn encode(dev: &D, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<Self> {
        let _region = dev.region("encode_linear", 0);
        let basis = stored_basis(encoder.params(), plan);
        Self::build(encoder, diagonals, plan, |values, packing| {
            let coefficients = encoder.coefficients(dev, &[values()], packing, basis);
            match plan.form {
                PlaintextForm::Full => dev.ntt(coefficients),
                PlaintextForm::OnTheFly => coefficients,
            }
        })
    }

    /// A map by declaration: what encoding it would give, but no words. For devices that hold none.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn declare(dev: &D, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<Self> {
        let domain = match plan.form {
            PlaintextForm::Full => Domain::Eval,
            PlaintextForm::OnTheFly => Domain::Coeff,
        };
        let shape = Shape::eval(encoder.params().ring(), stored_basis(encoder.params(), plan)).with_domain(domain);
        Self::build(encoder, diagonals, plan, |_, _| {
            dev.upload(&shape, Role::Plaintext, &|_, _| unreachable!("a declared plaintext has no words"))
        })
    }

    fn build(
        encoder: &Encoder,
        diagonals: &Diagonals,
        plan: LinearPlan,
        make: impl Fn(&dyn Fn() -> Vec<Complex64>, Packing) -> D::Poly,
    ) -> Result<Self> {
        let layout = Layout::new(plan.strategy, diagonals);
        let slots = diagonals.slots();
        let packing = Packing { slots, level: plan.level, scale: plan.scale };
        let encode = |group: &Group| {
            let turn = -group.giant - layout.offset;
            let one = |diagonal| {
                // A rotation changes neither size nor error: what is only declared is not rotated.
                let estimate = encoder.estimate(std::slice::from_ref(diagonals.values(diagonal)), packing)?;
                fits_one_limb(encoder.params(), plan, estimate)?;
                Ok(Encoded { poly: make(&|| diagonals.rotated(diagonal, turn), packing), estimate })
            };
            group.terms.iter().map(|term| one(term.diagonal)).collect::<Result<Vec<_>>>()
        };
        let weights = layout.groups.iter().map(encode).collect::<Result<_>>()?;
        Ok(Self { plan, slots, layout, weights, shadow: None })
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

    /// Slots of input and output.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Bytes of the encoded diagonals.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.weights.iter().flatten().map(|w| w.poly.shape().bytes()).sum()
    }

    /// The keys it needs at its level.
    #[must_use]
    pub fn requirements(&self, params: &Params) -> Requirements {
        let name = |steps| KeyName::Galois(GaloisElement::rotation(steps, params.log_n()));
        self.layout.rotations().into_iter().map(|steps| (name(steps), self.plan.level)).collect()
    }
}

/// The limbs that are stored of each diagonal.
fn stored_basis(params: &Params, plan: LinearPlan) -> Basis {
    match (plan.form, plan.strategy) {
        (PlaintextForm::OnTheFly, _) => Basis::single(widest_prime(params)),
        (PlaintextForm::Full, Strategy::DoubleHoisted { .. }) => params.basis(plan.level) | params.special(),
        (PlaintextForm::Full, _) => params.basis(plan.level),
    }
}

/// The prime that holds the largest signed coefficients.
fn widest_prime(params: &Params) -> usize {
    let primes = &params.ring().spec().primes;
    (0..primes.len()).max_by_key(|&i| primes[i]).expect("a ring has primes")
}

/// Coefficients are at most the largest slot times the scale; one bit is for the sign, one is kept free.
fn fits_one_limb(params: &Params, plan: LinearPlan, estimate: Estimate) -> Result<()> {
    let log_modulus = to_f64(params.ring().spec().primes[widest_prime(params)]).log2();
    let (magnitude, log_scale) = (estimate.peak, plan.scale.log2());
    if plan.form == PlaintextForm::OnTheFly && magnitude > 0.0 && magnitude.log2() + log_scale > log_modulus - 2.0 {
        return Err(EncodeError::TooLarge { magnitude, log_scale, log_modulus }.into());
    }
    Ok(())
}
