//! From flags to slots: packing, then the bootstrapping steps after SlotToCoeff.

use super::{
    BridgeError, BridgeParams, BridgePlan, noise,
    pack::{Monomials, Packer},
};
use crate::{
    ckks::{Auto, Bootstrapper, Ciphertext, Encoder, Estimate, Evaluator},
    error::{EncodeError, Result},
    rlwe::{DeclaredKeys, Requirements},
    supply::{Made, Supply},
    tfhe::Flags,
};
use limbwise_device::{Device, Null, Wordless};
use num_complex::Complex64;

const OP: &str = "to_slots";

/// Carries flags into slots: the encoded maps and constants of one plan.
pub struct Bridge<D: Device> {
    params: BridgeParams,
    plan: BridgePlan,
    boot: Bootstrapper<D>,
    monomials: Monomials<D>,
}

/// The keys that the crossing into slots needs, each with its level. They are collected by a dry run.
///
/// # Errors
/// As [`Bridge::encode`].
pub fn requirements(params: &BridgeParams, plan: BridgePlan) -> Result<Requirements> {
    let (null, encoder) = (Null::default(), Encoder::new(params.ckks()));
    let bridge = Bridge::declare(&null, &encoder, params, plan)?;
    let keys = DeclaredKeys::all(&null, params.ckks());
    let auto = Auto::new(Evaluator::new(&null, params.ckks(), &keys), &encoder);
    bridge.to_slots(&auto, &Flags::declared(&null, params.tfhe(), plan.slots))?;
    Ok(keys.requirements())
}

impl<D: Device> Bridge<D> {
    /// Encodes maps and constants.
    ///
    /// # Errors
    /// [`BridgeError::Levels`] if the parameters leave fewer levels than the plan wants; a slot count that is no power
    /// of two up to N/2; the errors of [`Bootstrapper::encode`].
    pub fn encode(dev: &D, encoder: &Encoder, params: &BridgeParams, plan: BridgePlan) -> Result<Self> {
        Self::encode_from(dev, &Made, (encoder, params), plan)
    }

    /// [`Self::encode`] with the encoded maps and constants from a supply, which may have them already.
    ///
    /// # Errors
    /// As [`Self::encode`], and those of the supply.
    pub fn encode_from(
        dev: &D,
        supply: &dyn Supply<D>,
        (encoder, params): (&Encoder, &BridgeParams),
        plan: BridgePlan,
    ) -> Result<Self> {
        check(encoder, params, plan)?;
        let boot = Bootstrapper::encode_from(dev, supply, encoder, plan.bootstrapping())?;
        Ok(Self::with(dev, params, plan, boot))
    }

    /// Declares the same maps and constants on a device that holds no words.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn declare(dev: &D, encoder: &Encoder, params: &BridgeParams, plan: BridgePlan) -> Result<Self>
    where
        D: Wordless,
    {
        check(encoder, params, plan)?;
        Ok(Self::with(dev, params, plan, Bootstrapper::declare(dev, encoder, plan.bootstrapping())?))
    }

    fn with(dev: &D, params: &BridgeParams, plan: BridgePlan, boot: Bootstrapper<D>) -> Self {
        let monomials = Monomials::new(dev, params.ckks(), plan);
        Self { params: params.clone(), plan, boot, monomials }
    }

    /// The plan it was made with.
    #[must_use]
    pub fn plan(&self) -> BridgePlan {
        self.plan
    }

    /// The pair of parameter sets that it joins.
    #[must_use]
    pub fn params(&self) -> &BridgeParams {
        &self.params
    }

    pub(super) fn boot(&self) -> &Bootstrapper<D> {
        &self.boot
    }

    /// Level of the resulting slots.
    #[must_use]
    pub fn output_level(&self) -> usize {
        self.boot.levels().output_level()
    }

    /// Size of the encoded maps and constants in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.boot.bytes() + self.monomials.bytes()
    }

    /// Host bytes for the unencoded maps during encoding; the allocator keeps them.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        self.boot.host_bytes()
    }

    /// The flags as real slots, 0 or 1. With n slots, row r is in ciphertext r / n of the batch, in slot
    /// [`BridgePlan::slot_of`]`(r % n)`; slots without a row are 0.
    ///
    /// Shape:  any batch → as many ciphertexts as the rows fill, at the output level.
    /// Scale:  that of the output level.
    /// Noise:  [`noise::flag`].
    /// Cost:   for each ciphertext 2·slots key switches at level 0, and a bootstrapping without SlotToCoeff.
    /// Source: \[CDKS21\], \[BCKS24\]
    ///
    /// # Errors
    /// Parameters other than the bridge's, or a missing key.
    pub fn to_slots(&self, auto: &Auto<'_, D>, flags: &Flags<D>) -> Result<Ciphertext<D>> {
        self.belongs(auto, flags)?;
        let (ckks, slots) = (self.params.ckks(), self.plan.slots);
        let _region = auto.eval.device().region("bridge", 0);
        let packed = Packer::new(&auto.eval, &self.params, self.plan, &self.monomials)?.pack(flags.ciphertext().lwe());
        let sine = self.boot.coefficients_to_slots(auto, &packed)?;
        drop(packed);
        let scale = ckks.scale(self.output_level());
        debug_assert!((sine.scale / scale - 1.0).abs() < 1e-8, "2^{} for 2^{}", sine.scale.log2(), scale.log2());
        let raised = noise::raised_variance(&self.params, self.plan, noise::incoming(flags.ciphertext()));
        let error = noise::flag(ckks, slots, raised);
        let bits = auto.add_scalar(&Ciphertext { scale, ..sine }, 0.5);
        Ok(Ciphertext { estimate: Estimate::constant(1.0).with_error(error), shadow: None, ..bits })
    }

    /// Integers from the flags of their bits, lowest first: each bit crosses separately, then the bits are added with
    /// their weights.
    ///
    /// Shape:  as [`Self::to_slots`].   Noise: that of a flag, weighted.
    /// Cost:   one crossing per bit.
    ///
    /// # Errors
    /// As [`Self::to_slots`]; batches that differ.
    ///
    /// # Panics
    /// If `bits` is empty.
    pub fn integers_to_slots(&self, auto: &Auto<'_, D>, bits: &[Flags<D>]) -> Result<Ciphertext<D>> {
        let (lowest, others) = bits.split_first().expect("an integer has a bit");
        let mut sum = self.to_slots(auto, lowest)?;
        let mut weight = 1.0;
        for bit in others {
            weight *= 2.0;
            sum = auto.eval.add(&sum, &auto.eval.mul_scalar(&self.to_slots(auto, bit)?, weight, 1.0)?)?;
        }
        Ok(sum)
    }

    /// `3x² − 2x³`: reduces an error e to 3e², at the cost of two levels.
    ///
    /// # Errors
    /// Fewer than two levels left, or no relinearization key.
    pub fn clean(&self, auto: &Auto<'_, D>, bits: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.cleaned(auto, bits, None)
    }

    /// [`Self::clean`] times a clear 0 or 1 a slot: bits of some rows. It takes no level more, because the line 3 − 2x meets
    /// the numbers while x is squared.
    ///
    /// # Errors
    /// As [`Self::clean`]; numbers that are not as many as slots.
    pub fn clean_rows(&self, auto: &Auto<'_, D>, bits: &Ciphertext<D>, rows: &[Complex64]) -> Result<Ciphertext<D>> {
        self.cleaned(auto, bits, Some(rows))
    }

    fn cleaned(&self, auto: &Auto<'_, D>, bits: &Ciphertext<D>, rows: Option<&[Complex64]>) -> Result<Ciphertext<D>> {
        let _region = auto.eval.device().region("clean", 0);
        let bits = auto.settle(bits)?;
        auto.eval.needs("clean", &bits, 2)?;
        let line = auto.add_scalar(&auto.eval.mul_scalar(&bits, -2.0, 1.0)?, 3.0);
        let line = match rows {
            Some(rows) => auto.mul_values(&line, rows)?,
            None => line,
        };
        let cubic = auto.settle(&auto.mul(&auto.square(&bits)?, &line)?)?;
        let error = noise::cleaned_error(self.params.ckks(), cubic.slots, cubic.level, bits.estimate.error());
        Ok(Ciphertext { estimate: Estimate::constant(1.0).with_error(error), ..cubic })
    }

    fn belongs(&self, auto: &Auto<'_, D>, flags: &Flags<D>) -> Result<()> {
        let other = |scheme| BridgeError::OtherParams { op: OP, scheme };
        if auto.eval.params() != self.params.ckks() {
            return Err(other("CKKS").into());
        }
        if flags.ciphertext().params() != self.params.tfhe() {
            return Err(other("TFHE").into());
        }
        Ok(())
    }
}

/// Fails, before any operation, for a plan that the parameters have no room for.
fn check(encoder: &Encoder, params: &BridgeParams, plan: BridgePlan) -> Result<()> {
    if encoder.params() != params.ckks() {
        return Err(BridgeError::OtherParams { op: OP, scheme: "CKKS" }.into());
    }
    let most = params.ckks().max_slots();
    if !plan.slots.is_power_of_two() || plan.slots > most {
        return Err(EncodeError::Slots(plan.slots, most).into());
    }
    let left = params.ckks().user_level();
    if plan.levels > left {
        return Err(BridgeError::Levels { wanted: plan.levels, left }.into());
    }
    Ok(())
}
