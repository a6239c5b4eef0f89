//! Builds a bootstrapper: maps and constants, encoded on a device or declared on one that holds no words.

use super::{
    BootstrapPlan, Bootstrapper, Content, Halves, HalvesAt, Maps, Rotations, count,
    eval_mod::{ArcsinePlan, Turns},
    recipe::{Recipe, Step},
    transforms::Factors,
};
use crate::{
    ckks::{Auto, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing, Plaintext},
    error::{BootstrapError, EncodeError, Result},
    params::{Bootstrapping, Order, Params, Sine},
    rlwe::{DeclaredKeys, Requirements},
    supply::{Made, Supply},
};
use limbwise_device::{Basis, Device, Domain, Null, Role, Shape, Wordless};
use num_complex::Complex64;
use std::f64::consts::TAU;

/// How maps and constants are made: encoded or taken from a supply, or declared on devices without words.
trait Make<D: Device> {
    fn map(&self, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<LinearTransform<D>>;
    fn constant(&self, encoder: &Encoder, values: &[Vec<Complex64>], packing: Packing) -> Result<Plaintext<D>>;
    fn unit(&self, shape: &Shape) -> Result<D::Poly>;
}

struct Encoding<'a, D: Device> {
    dev: &'a D,
    supply: &'a dyn Supply<D>,
}

impl<D: Device> Make<D> for Encoding<'_, D> {
    fn map(&self, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<LinearTransform<D>> {
        LinearTransform::encode_from(self.dev, self.supply, encoder, diagonals, plan)
    }

    fn constant(&self, encoder: &Encoder, values: &[Vec<Complex64>], packing: Packing) -> Result<Plaintext<D>> {
        encoder.encode_from(self.dev, self.supply, values, packing)
    }

    fn unit(&self, shape: &Shape) -> Result<D::Poly> {
        self.supply.next(self.dev, shape, &|| middle_monomial(self.dev, shape))
    }
}

struct Declaring<'a, D: Device>(&'a D);

impl<D: Wordless> Make<D> for Declaring<'_, D> {
    fn map(&self, encoder: &Encoder, diagonals: &Diagonals, plan: LinearPlan) -> Result<LinearTransform<D>> {
        LinearTransform::declare(self.0, encoder, diagonals, plan)
    }

    fn constant(&self, encoder: &Encoder, values: &[Vec<Complex64>], packing: Packing) -> Result<Plaintext<D>> {
        declared_constant(self.0, encoder, values, packing)
    }

    fn unit(&self, shape: &Shape) -> Result<D::Poly> {
        Ok(self.0.declare(shape, Role::Plaintext))
    }
}

/// Inputs of the construction.
struct Builder<'b, D: Device> {
    encoder: &'b Encoder,
    params: &'b Params,
    levels: Bootstrapping,
    plan: BootstrapPlan,
    make: &'b dyn Make<D>,
}

impl<D: Device> Bootstrapper<D> {
    /// Encodes maps and constants. Takes 1 to 4 s at full size, on the device's threads.
    ///
    /// # Errors
    /// [`BootstrapError::NoParameters`] for parameters without bootstrapping; a slot count that is no power of two up
    /// to N/2; values that cannot be encoded.
    pub fn encode(dev: &D, encoder: &Encoder, plan: BootstrapPlan) -> Result<Self> {
        Self::encode_from(dev, &Made, encoder, plan)
    }

    /// [`Self::encode`] with the encoded maps and constants from a supply, which may have them already.
    ///
    /// # Errors
    /// As [`Self::encode`], and those of the supply.
    pub fn encode_from(dev: &D, supply: &dyn Supply<D>, encoder: &Encoder, plan: BootstrapPlan) -> Result<Self> {
        Builder::new(encoder, plan, &Encoding { dev, supply })?.build()
    }

    /// Declares the same maps and constants on a device that holds no words.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn declare(dev: &D, encoder: &Encoder, plan: BootstrapPlan) -> Result<Self>
    where
        D: Wordless,
    {
        Builder::new(encoder, plan, &Declaring(dev))?.build()
    }
}

/// The keys that bootstrapping by a plan needs, each with its level. They are collected by a dry run.
///
/// # Errors
/// As [`Bootstrapper::encode`].
pub fn requirements(params: &Params, plan: BootstrapPlan) -> Result<Requirements> {
    let (null, encoder) = (Null::default(), Encoder::new(params));
    let boot = Bootstrapper::declare(&null, &encoder, plan)?;
    let keys = DeclaredKeys::all(&null, params);
    let level = boot.levels.input_level();
    let packing = Packing { slots: plan.slots, level, scale: params.scale(level) };
    let input = encoder.declare(&null, &[vec![]], packing)?;
    boot.evaluate(&Auto::new(Evaluator::new(&null, params, &keys), &encoder), &input)?;
    Ok(keys.requirements())
}

impl<'b, D: Device> Builder<'b, D> {
    fn new(encoder: &'b Encoder, plan: BootstrapPlan, make: &'b dyn Make<D>) -> Result<Self> {
        let params = encoder.params();
        let Some(&levels) = params.bootstrapping() else { return Err(BootstrapError::NoParameters.into()) };
        if !plan.slots.is_power_of_two() || plan.slots > params.max_slots() {
            return Err(EncodeError::Slots(plan.slots, params.max_slots()).into());
        }
        let builder = Self { encoder, params, levels, plan, make };
        match (builder.halves(), levels.slots_beside()) {
            (Halves::Batch, most) if plan.halves == HalvesAt::Beside => {
                Err(BootstrapError::Beside { slots: plan.slots, most }.into())
            }
            _ => Ok(builder),
        }
    }

    fn build(self) -> Result<Bootstrapper<D>> {
        let halves = self.halves();
        let wanted = self.params.dropped(0) / f64::from(self.levels.literal.message_ratio).exp2();
        let (lift, fill) = self.input_scale(wanted);
        let target = self.eval_mod_scale();
        let quarter_turn = if halves == Halves::Beside { self.plan.slots } else { 0 };
        let arcsine = ArcsinePlan { params: self.params, boot: &self.levels, target };
        Ok(Bootstrapper {
            to_coeff: self.slot_to_coeff(wanted, fill, target)?,
            to_slot: self.coeff_to_slot(halves)?,
            series: self.series(halves),
            interval: self.levels.literal.eval_mod.series_of_the_interval(),
            straightening: self.levels.straightening(),
            cubics: arcsine.cubics(|c, level, scale| self.constant_with_i(quarter_turn, c, level, scale))?,
            turns: (halves == Halves::WithOpposites).then(|| self.turns()).transpose()?,
            target,
            unit: self.unit()?,
            lift,
            fill,
            plan: self.plan,
            levels: self.levels,
            halves,
        })
    }

    /// One message holds both halves if they fit side by side: always where the arcsine separates them at no cost, and
    /// for an exponential where the plan says so, because tables want them apart.
    fn halves(&self) -> Halves {
        let fits = self.plan.slots <= self.levels.slots_beside();
        match (self.plan.content, self.levels.literal.eval_mod.sine) {
            // The coefficients of real slots are real only if SlotToCoeff comes first.
            (Content::Real, _) if self.levels.literal.order == Order::SlotToCoeffFirst => Halves::Real,
            (_, Sine::Cosine { .. }) if fits => Halves::Beside,
            (_, Sine::Exponential { .. }) if fits && self.plan.halves == HalvesAt::Beside => Halves::WithOpposites,
            _ => Halves::Batch,
        }
    }

    /// The integer that a ciphertext at level 0 is multiplied by, and the resulting scale over the wanted one.
    fn input_scale(&self, wanted: f64) -> (f64, f64) {
        match self.levels.literal.order {
            Order::SlotToCoeffFirst => (1.0, 1.0),
            Order::SlotToCoeffLast => {
                let scale = self.params.scale(0);
                let lift = (wanted / scale).floor().max(1.0);
                (lift, lift * scale / wanted)
            }
        }
    }

    /// Scale of EvalMod's result: the user's if EvalMod is the last step, else that of its primes.
    fn eval_mod_scale(&self) -> f64 {
        let (levels, params) = (&self.levels, self.params);
        let end = levels.eval_mod_end();
        if levels.literal.order == Order::SlotToCoeffFirst {
            return params.scale(end) * (-f64::from(levels.log_refined())).exp2();
        }
        let prime = params.dropped(end + 1);
        match (levels.literal.eval_mod.sine, &levels.straightening()[..]) {
            (Sine::Cosine { .. }, [gain]) => prime / gain,
            (Sine::Cosine { .. }, _) => prime / f64::from(levels.literal.message_ratio).exp2(),
            (Sine::Exponential { .. }, factors) => {
                let reached = if factors.len() == 1 { prime } else { params.scale(end + 1).powi(2) / prime };
                reached * 2.0 / levels.absorbed()
            }
        }
    }

    fn slot_to_coeff(&self, wanted: f64, fill: f64, target: f64) -> Result<Maps<D>> {
        let (levels, params) = (&self.levels, self.params);
        let factors = self.factors(Step::SlotToCoeff, levels.literal.slot_to_coeff)?;
        let top = levels.slot_to_coeff_level();
        let gain = match levels.literal.order {
            Order::SlotToCoeffFirst => wanted / params.scale(top),
            // The coefficients are in units of the wanted scale.
            Order::SlotToCoeffLast => params.scale(levels.output_level()) / (target * fill),
        };
        self.maps(factors, top, gain)
    }

    fn coeff_to_slot(&self, halves: Halves) -> Result<Maps<D>> {
        let (levels, params) = (&self.levels, self.params);
        let repetitions = params.max_slots() / self.plan.slots;
        let factors = self.factors(Step::CoeffToSlot { halves, repetitions }, levels.literal.coeff_to_slot)?;
        let range = f64::from(levels.literal.eval_mod.range);
        let gain = params.scale(levels.eval_mod_level()) / (params.dropped(0) * range);
        self.maps(factors, params.top_level(), gain)
    }

    /// The Chebyshev coefficients, good where the values of the blocks lie.
    fn series(&self, halves: Halves) -> Vec<f64> {
        let Bootstrapping { literal, .. } = self.levels;
        match halves {
            Halves::WithOpposites => literal.eval_mod.series_of_blocks(literal.message_ratio),
            Halves::Batch | Halves::Beside | Halves::Real => literal.eval_mod.series(literal.message_ratio),
        }
    }

    /// What turns the blocks of an exponential: a share of a turn added to each argument, and for two harmonics the
    /// first one's factor, which turns each block once more.
    fn turns(&self) -> Result<Turns<D>> {
        let (levels, params) = (&self.levels, self.params);
        let eval_mod = levels.literal.eval_mod;
        let constant = |values: [Complex64; 4], level: usize| {
            let slots = 4 * self.plan.slots;
            let values = [values.iter().flat_map(|&z| vec![z; self.plan.slots]).collect()];
            self.make.constant(self.encoder, &values, Packing { slots, level, scale: params.scale(level) })
        };
        let turns = eval_mod.sine.turns_of_blocks();
        let added = turns.map(|turn| Complex64::from(turn / f64::from(eval_mod.range)));
        let first = match levels.straightening()[..] {
            [first, second] => {
                let factors = turns.map(|turn| Complex64::from_polar(first / second.abs(), TAU * turn));
                Some(constant(factors, levels.eval_mod_end() + 1)?)
            }
            _ => None,
        };
        Ok(Turns { added: constant(added, levels.eval_mod_level())?, first })
    }

    /// The maps of a step, with their rotations merged as the plan's strategy wants them.
    fn factors(&self, step: Step, factors: usize) -> Result<Factors> {
        let telescoped = matches!(self.plan.rotations, Rotations::Chained | Rotations::MultiHop);
        Recipe { step, slots: self.plan.slots, factors, telescoped }.factors()
    }

    /// Encodes a step that starts at a level and multiplies the scale by `gain`.
    fn maps(&self, factors: Factors, top: usize, gain: f64) -> Result<Maps<D>> {
        let each = gain.powf(1.0 / count(factors.maps.len()));
        let encode = |(index, map): (usize, &Diagonals)| {
            let level = top - index;
            let (strategy, form) = (self.plan.strategy(map), self.plan.form);
            let plan = LinearPlan { strategy, form, level, scale: each * self.params.dropped(level) };
            self.make.map(self.encoder, map, plan)
        };
        let maps = factors.maps.iter().enumerate().map(encode).collect::<Result<_>>()?;
        let growth = factors.maps.iter().map(Diagonals::norm).collect();
        Ok(Maps { maps, growth, rotation: factors.rotation })
    }

    /// c in the first `slots` slots and i·c in the next `slots`; `None` for zero slots.
    fn constant_with_i(&self, slots: usize, c: f64, level: usize, scale: f64) -> Result<Option<Plaintext<D>>> {
        if slots == 0 {
            return Ok(None);
        }
        let values = [[Complex64::new(c, 0.0), Complex64::new(0.0, c)].map(|z| vec![z; slots]).concat()];
        let packing = Packing { slots: 2 * slots, level, scale };
        Ok(Some(self.make.constant(self.encoder, &values, packing)?))
    }

    /// X^(N/2) over the primes of the level where EvalMod starts and of those below.
    fn unit(&self) -> Result<D::Poly> {
        let basis: Basis = self.params.reached(self.levels.eval_mod_level());
        self.make.unit(&Shape::eval(self.params.ring(), basis))
    }
}

/// Declares the plaintext that encoding the values would give.
fn declared_constant<D: Wordless>(
    dev: &D,
    encoder: &Encoder,
    values: &[Vec<Complex64>],
    packing: Packing,
) -> Result<Plaintext<D>> {
    let estimate = encoder.estimate(values, packing)?;
    let Packing { slots, level, scale } = packing;
    let params = encoder.params();
    let poly = dev.declare(&Shape::eval(params.ring(), params.basis(level)), Role::Plaintext);
    Ok(Plaintext { poly, level, scale, slots, estimate, shadow: None })
}

/// X^(N/2), as values.
pub(crate) fn middle_monomial<D: Device>(dev: &D, shape: &Shape) -> D::Poly {
    let middle = shape.ring.n() / 2;
    let monomial = dev.upload(&shape.with_domain(Domain::Coeff), Role::Plaintext, &|_, row| {
        row.fill(0);
        row[middle] = 1;
    });
    dev.ntt(monomial)
}
