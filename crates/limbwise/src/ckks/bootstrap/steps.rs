//! Bootstrapping step by step: the value between two steps can be saved and resumed.

use super::{Bootstrapper, OP, coeff_to_slot, mod_raise, slot_to_coeff};
use crate::{
    ckks::{Auto, Ciphertext, Estimate, Shadow, With, bootstrap::Content},
    error::Result,
    params::Order,
    rlwe::noise,
};
use limbwise_device::{Device, Region};

/// A bootstrapping in progress. Its result depends only on the input, [`Self::done`], [`Self::value`] and
/// [`Self::expected`].
pub struct Underway<D: Device> {
    /// Number of finished steps.
    pub done: usize,
    /// Input of the next step, or the result.
    pub value: Ciphertext<D>,
    /// Expected error of the message at ModRaise, later with that of CoeffToSlot; zero before.
    pub expected: f64,
    /// The input's estimate.
    pub(super) message: Estimate,
    /// The input's clear values, if it has them.
    pub(super) shadow: Option<Shadow>,
}

impl<D: Device> Underway<D> {
    /// Before the first step: the input, and what is known of it.
    pub(super) fn begun(value: Ciphertext<D>, message: Estimate, shadow: Option<Shadow>) -> Self {
        Self { done: 0, value, expected: 0.0, message, shadow }
    }

    /// Restores the state saved after `done` steps.
    #[must_use]
    pub fn resumed(self, done: usize, value: Ciphertext<D>, expected: f64) -> Self {
        Self { done, value, expected, ..self }
    }
}

const SLOT_TO_COEFF: &str = "slot_to_coeff";
const MOD_RAISE: &str = "mod_raise";
const COEFF_TO_SLOT: &str = "coeff_to_slot";
const EVAL_MOD: &str = "eval_mod";

impl<D: Device> Bootstrapper<D> {
    fn steps(&self) -> [&'static str; 4] {
        match self.levels.literal.order {
            Order::SlotToCoeffFirst => [SLOT_TO_COEFF, MOD_RAISE, COEFF_TO_SLOT, EVAL_MOD],
            Order::SlotToCoeffLast => [MOD_RAISE, COEFF_TO_SLOT, EVAL_MOD, SLOT_TO_COEFF],
        }
    }

    /// The settled input, before the first step.
    ///
    /// # Errors
    /// The errors of [`Self::evaluate`] except missing keys.
    pub fn begin(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Underway<D>> {
        let eval = &auto.eval;
        self.check(eval, a)?;
        let settled = auto.settle(a)?;
        let needed = self.levels.input_level();
        let a = if settled.level > needed { auto.scale_to(&settled, 1.0, needed)? } else { settled };
        let input = self.settle_input(eval, &a)?;
        let first = self.levels.literal.order == Order::SlotToCoeffFirst;
        let value = if first { input } else { self.lift_scale(eval, &input)? };
        Ok(Underway::begun(value, a.estimate, a.shadow))
    }

    /// Name of the step that [`Self::advance`] runs next; `None` after the last.
    #[must_use]
    pub fn next_step(&self, underway: &Underway<D>) -> Option<&'static str> {
        self.steps().get(underway.done).copied()
    }

    /// Runs one step; after the last it changes nothing.
    ///
    /// # Errors
    /// A missing key.
    pub fn advance(&self, auto: &Auto<'_, D>, from: Underway<D>) -> Result<Underway<D>> {
        let (eval, params) = (&auto.eval, auto.eval.params());
        let _region = eval.device().region(Region::Bootstrap, 0);
        let Underway { done, value, expected, .. } = from;
        let (value, expected) = match self.steps().get(done).copied() {
            Some(SLOT_TO_COEFF) => (slot_to_coeff::slot_to_coeff(self, eval, &value)?, expected),
            Some(MOD_RAISE) => {
                let raised = mod_raise::mod_raise(self, eval, &value)?;
                let raised = eval.report(MOD_RAISE, &[&value], With::Nothing, raised);
                let expected = raised.estimate.error();
                // From here on in units of K·q₀; the expected error so far is kept for the end.
                (self.in_units_of_the_range(params, raised), expected)
            }
            Some(COEFF_TO_SLOT) => {
                let slots = coeff_to_slot::coeff_to_slot(self, eval, &value)?;
                let error = self.in_units_of_the_message(slots.estimate.error());
                (slots, expected.hypot(error))
            }
            Some(_) => {
                let reduced = self.eval_mod(auto, &value)?;
                drop(value);
                (self.join_halves(eval, &reduced)?, expected)
            }
            None => (value, expected),
        };
        Ok(Underway { done: done + 1, value, expected, ..from })
    }

    /// Runs the steps after SlotToCoeff on a ciphertext at level 0 whose coefficients are messages in units of q₀. The
    /// result is that of EvalMod; its error is not estimated.
    ///
    /// # Errors
    /// A missing key.
    pub(crate) fn coefficients_to_slots(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let mut underway = Underway { done: 1, value: a.clone(), expected: 0.0, message: a.estimate, shadow: None };
        while self.next_step(&underway).is_some() {
            underway = self.advance(auto, underway)?;
        }
        Ok(underway.value)
    }

    /// Runs the first step alone: the slots become coefficients of a ciphertext at level 0, with q₀/2^m for 1, in
    /// bit-reversed order.
    ///
    /// # Errors
    /// Too few levels, a scale or packing other than the plan's, a missing key.
    pub(crate) fn slots_to_coefficients(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let input = self.settle_input(&auto.eval, a)?;
        slot_to_coeff::slot_to_coeff(self, &auto.eval, &input)
    }

    /// The result after the last step, with its estimate: in a refined set at EvalMod's scale, which [`Self::lifted`]
    /// brings to the user's.
    #[must_use]
    pub fn finish(&self, auto: &Auto<'_, D>, last: Underway<D>) -> Ciphertext<D> {
        let params = auto.eval.params();
        let Underway { value, expected, message, shadow, .. } = last;
        let refined = (-f64::from(self.levels.log_refined())).exp2();
        let scale = params.scale(self.levels.output_level()) * refined;
        let reached = value.scale * self.fill;
        debug_assert!((reached / scale - 1.0).abs() < 1e-8, "2^{} for 2^{}", reached.log2(), scale.log2());
        let first = self.levels.literal.order == Order::SlotToCoeffFirst;
        let spread = if first { noise::slot_factor(self.plan.slots) } else { 1.0 };
        let law = noise::eval_mod(params, self.slots_of_eval_mod(), message.part_width());
        let division = Estimate::exact(0.0).divided(params, self.plan.slots, scale).error();
        let error = (expected / spread).hypot(law).hypot(self.divisions() * division);
        let estimate = Estimate::exact(message.magnitude).with_peak(message.peak, message.real).with_error(error);
        let shadow = shadow.map(|s| match self.plan.content {
            Content::Complex => s,
            Content::Real => s.map(|z| z.re.into()),
        });
        let operands = auto.eval.has_watch().then(|| value.clone());
        let operands: Vec<&Ciphertext<D>> = operands.iter().collect();
        let result = Ciphertext { scale, estimate, shadow, slots: self.plan.slots, ..value };
        auto.eval.report(OP, &operands, With::Nothing, result)
    }
}
