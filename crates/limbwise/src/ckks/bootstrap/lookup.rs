//! A table looked up by bootstrapping: integers in slots come out as entries, with levels and with less noise.
//!
//! The steps up to CoeffToSlot are those of bootstrapping, with m·q₀/t for the integer m. EvalMod's exponential then
//! takes away the multiples of q₀, and a polynomial in its powers gives the entry: `table` says which.

use super::{Bootstrapper, Halves, LookupTable, SCALE_TOLERANCE, Underway, eval_mod, table::LookupNoise};
use crate::{
    ckks::{
        Auto, Ciphertext, Estimate, With,
        bootstrap::{Content, HalvesAt},
    },
    error::{BootstrapError, LevelError, Result, ShapeError},
    params::{Bootstrapping, Order, Params, Sine},
    rlwe::noise,
};
use limbwise_device::{Device, Region};
use limbwise_math::rns::to_f64;

const OP: &str = "lookup";
const EXPONENTIAL: &str = "exponential";
const TABLE: &str = "table";
/// The bootstrapping steps before.
const BEFORE: usize = 3;

/// The level of points on the circle. The exponential ends where the harmonics begin, at a scale that only they use; a
/// division brings it to the scale of a level, and takes the place of those of further harmonics if there are any.
fn circle_level(boot: &Bootstrapping) -> usize {
    let second = matches!(boot.literal.eval_mod.sine, Sine::Exponential { harmonics: 2.. });
    boot.eval_mod_end() - usize::from(!second)
}

impl LookupTable {
    /// Level of the results under a parameter set.
    ///
    /// # Errors
    /// [`BootstrapError::NoParameters`] without bootstrapping; [`BootstrapError::TableParameters`] for a cosine or for
    /// SlotToCoeff last; [`BootstrapError::TableDepth`] if the table takes more levels than there are.
    pub fn output_level(&self, params: &Params) -> Result<usize> {
        let Some(boot) = params.bootstrapping() else { return Err(BootstrapError::NoParameters.into()) };
        let exponential = matches!(boot.literal.eval_mod.sine, Sine::Exponential { .. });
        if !exponential || boot.literal.order != Order::SlotToCoeffFirst {
            return Err(BootstrapError::TableParameters.into());
        }
        let left = circle_level(boot) - boot.input_level();
        match left.checked_sub(self.levels()) {
            Some(rest) => Ok(boot.input_level() + rest),
            None => Err(BootstrapError::TableDepth { entries: self.entries(), needed: self.levels(), left }.into()),
        }
    }

    /// The factor on integers that brings m to m·q₀/t, where a slot of 1 is q₀/2^`ratio`.
    fn factor(&self, ratio: u32) -> f64 {
        f64::from(ratio).exp2() / to_f64(self.entries() as u64)
    }

    /// Levels above bootstrapping's input that an argument must have: one for more entries than the message ratio has,
    /// because a factor below 1 takes a division.
    #[must_use]
    pub fn levels_before(&self, params: &Params) -> usize {
        params.bootstrapping().map_or(0, |boot| usize::from(self.factor(boot.literal.message_ratio) < 1.0))
    }

    /// Expected deviations, for arguments whose errors have this deviation, on so many slots.
    #[must_use]
    pub fn noise(&self, params: &Params, slots: usize, argument: f64) -> LookupNoise {
        let scale = params.scale(params.user_level());
        let rounding = Estimate::exact(0.0).divided(params, slots, scale).error();
        LookupNoise { argument, circle: noise::circle(params, slots), rounding }
    }
}

/// One table on one bootstrapper.
pub struct Lookup<'b, D: Device> {
    boot: &'b Bootstrapper<D>,
    table: &'b LookupTable,
}

impl<'b, D: Device> Lookup<'b, D> {
    /// Joins both.
    ///
    /// # Errors
    /// As [`LookupTable::output_level`]; [`BootstrapError::TableHalves`] for halves side by side.
    pub fn new(boot: &'b Bootstrapper<D>, table: &'b LookupTable, params: &Params) -> Result<Self> {
        table.output_level(params)?;
        match boot.halves {
            Halves::WithOpposites => Err(BootstrapError::TableHalves.into()),
            _ => Ok(Self { boot, table }),
        }
    }

    /// The entries of the integers in the slots: of real parts, and of imaginary ones too if the plan's content and the
    /// values are complex.
    ///
    /// Shape:  level ≥ the input level, one more if t is above 2^m → [`LookupTable::output_level`].
    /// Scale:  that of its level.
    /// Noise:  [`LookupTable::expected_error`].
    /// Cost:   a bootstrapping without straightening; about 2√t products on as many messages as EvalMod has.
    /// Source: \[AKP24\]
    ///
    /// # Errors
    /// Too few levels, a packing other than the plan's, integers that may be beyond the table, a failure probability
    /// above the accepted one, a missing key.
    pub fn evaluate(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let mut underway = self.begin(auto, a)?;
        while self.next_step(&underway).is_some() {
            underway = self.advance(auto, underway)?;
        }
        self.finish(auto, &underway)
    }

    /// The scaled input, before the first step.
    ///
    /// # Errors
    /// As [`Self::evaluate`], but for missing keys.
    pub fn begin(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Underway<D>> {
        self.check(auto, a)?;
        let (params, input) = (auto.eval.params(), self.boot.levels.input_level());
        let a = auto.settle(a)?;
        let factor = self.table.factor(self.boot.levels.literal.message_ratio);
        let level = input + self.table.levels_before(params);
        if a.level < level {
            return Err(LevelError::Exhausted { op: OP, level: a.level, needed: level, top: params.top_level() }.into());
        }
        let scaled = if a.level == input {
            Ciphertext { scale: a.scale, ..auto.eval.mul_scalar(&a, factor, 1.0)? }
        } else {
            auto.scale_to(&a, factor, input)?
        };
        let argument = a.estimate.error();
        self.table.vouch(self.table.noise(params, a.slots, argument), self.boot.levels.log2_lookup_failure())?;
        let value = self.boot.settle_input(&auto.eval, &scaled)?;
        Ok(Underway::begun(value, a.estimate, a.shadow))
    }

    fn check(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<()> {
        if auto.eval.params().bootstrapping() != Some(&self.boot.levels) {
            return Err(BootstrapError::OtherParameters.into());
        }
        let slots = self.boot.plan.slots;
        if a.slots != slots {
            return Err(ShapeError::Slots { op: OP, left: a.slots, right: slots }.into());
        }
        let parts = if self.is_real(&a.estimate) { 1.0 } else { 2f64.sqrt() };
        let (peak, most) = (a.estimate.peak / parts, to_f64(self.table.entries() as u64));
        let within = peak <= most * (1.0 + 1e-9);
        if within { Ok(()) } else { Err(BootstrapError::TableDomain { peak, entries: self.table.entries() }.into()) }
    }

    /// Name of the step that [`Self::advance`] runs next; `None` after the last.
    #[must_use]
    pub fn next_step(&self, underway: &Underway<D>) -> Option<&'static str> {
        match underway.done {
            ..BEFORE => self.boot.next_step(underway),
            BEFORE => Some(EXPONENTIAL),
            _ if underway.done == BEFORE + 1 => Some(TABLE),
            _ => None,
        }
    }

    /// Runs one step; after the last it changes nothing.
    ///
    /// # Errors
    /// A missing key.
    pub fn advance(&self, auto: &Auto<'_, D>, from: Underway<D>) -> Result<Underway<D>> {
        let _region = auto.eval.device().region(Region::Bootstrap, 0);
        let value = match self.next_step(&from) {
            Some(EXPONENTIAL) => {
                let parts = if self.is_real(&from.message) && self.boot.halves == Halves::Batch {
                    auto.eval.split(&from.value, 0, from.value.batch() / 2)
                } else {
                    from.value.clone()
                };
                self.each(auto, &parts, |u| {
                    let _region = auto.eval.device().region("eval_mod", 0);
                    let u = u.clone().bounded_by(1.0);
                    let circle = eval_mod::exponential(self.boot, auto, &u, &self.boot.interval)?;
                    let circle = auto.scale_to(&circle, 1.0, circle_level(&self.boot.levels))?;
                    Ok(Ciphertext { estimate: Estimate::exact(1.0), ..circle })
                })?
            }
            Some(TABLE) => {
                let _region = auto.eval.device().region(TABLE, 0);
                let coefficients = self.table.coefficients();
                let sums = self.each(auto, &from.value, |z| {
                    auto.settle(&auto.circle_series(z, coefficients, &self.boot.unit)?)
                })?;
                if self.is_real(&from.message) {
                    auto.eval.add(&sums, &auto.eval.conjugate(&sums)?)?
                } else {
                    self.joined(auto, &sums)?
                }
            }
            Some(_) => return self.boot.advance(auto, from),
            None => from.value.clone(),
        };
        Ok(Underway { done: from.done + 1, value, ..from })
    }

    /// Applies a step to the batch, or to one message at a time.
    fn each(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        step: impl Fn(&Ciphertext<D>) -> Result<Ciphertext<D>>,
    ) -> Result<Ciphertext<D>> {
        if self.boot.plan.halves == HalvesAt::Once || a.batch() == 1 {
            return step(a);
        }
        let one = |i| step(&auto.eval.split(a, i, i + 1));
        let all = (0..a.batch()).map(one).collect::<Result<Vec<_>>>()?;
        Ok(auto.eval.stack(&all))
    }

    /// Whether only real parts are looked up: the plan drops imaginary ones, or there are none.
    fn is_real(&self, message: &Estimate) -> bool {
        message.real || self.boot.plan.content == Content::Real
    }

    /// Twice the real parts; those of the second half of the batch are multiplied by i.
    fn joined(&self, auto: &Auto<'_, D>, w: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let eval = &auto.eval;
        let half = w.batch() / 2;
        let real = eval.split(w, 0, half);
        let imaginary = self.boot.times_i(eval, &eval.split(w, half, 2 * half));
        // (w_re + conj w_re) + i·(w_im + conj w_im) = (w_re + i·w_im) + conj(w_re − i·w_im)
        eval.add(&eval.add(&real, &imaginary)?, &eval.conjugate(&eval.sub(&real, &imaginary)?)?)
    }

    /// The result after the last step, with its estimate.
    ///
    /// # Errors
    /// A failure probability above the accepted one, now that the error of the steps before the exponential is known.
    pub fn finish(&self, auto: &Auto<'_, D>, last: &Underway<D>) -> Result<Ciphertext<D>> {
        let (params, slots) = (auto.eval.params(), self.boot.plan.slots);
        let scale = params.scale(last.value.level);
        debug_assert!((last.value.scale / scale - 1.0).abs() < SCALE_TOLERANCE, "the scale is that of the level");
        let argument =
            last.expected / noise::slot_factor(slots) / self.table.factor(self.boot.levels.literal.message_ratio);
        let noise = self.table.noise(params, slots, argument);
        self.table.vouch(noise, self.boot.levels.log2_lookup_failure())?;
        let real = self.is_real(&last.message);
        let parts = if real { 1.0 } else { 2f64.sqrt() };
        let peak = self.table.peak() * parts;
        let error = self.table.expected_error(noise);
        let estimate = last.message.as_exact(peak).with_peak(peak, real).with_error(error);
        let entry = |x: f64| self.table.entry(x);
        let shadow = last
            .shadow
            .as_ref()
            .map(|s| s.map(|z| num_complex::Complex64::new(entry(z.re), if real { 0.0 } else { entry(z.im) })));
        let result = Ciphertext { scale, estimate, shadow, slots, ..last.value.clone() };
        Ok(auto.eval.report(OP, &[&last.value], With::Nothing, result))
    }
}

impl<D: Device> Auto<'_, D> {
    /// Looks integers up in a table by a bootstrapper. The slot count may be any that repeats in the bootstrapper's.
    ///
    /// # Errors
    /// As [`Lookup::new`] and [`Lookup::evaluate`].
    pub fn look_up_with(
        &self,
        boot: &Bootstrapper<D>,
        a: &Ciphertext<D>,
        table: &LookupTable,
    ) -> Result<Ciphertext<D>> {
        let wide = self.settle(a)?.with_slots(boot.plan.slots);
        Ok(Lookup::new(boot, table, self.eval.params())?.evaluate(self, &wide)?.narrowed(a.slots))
    }
}
