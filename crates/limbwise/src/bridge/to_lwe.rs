//! From slots to LWE: SlotToCoeff, extraction, and a key switch to the big LWE key. The result is ready for
//! bootstrapping.

use super::{
    BridgeError, BridgeParams, BridgePlan,
    key::{self, ToLweKey},
    noise,
    to_slots::Bridge,
};
use crate::{
    ckks::{Auto, Ciphertext, Encoder, Evaluator, Packing},
    error::{Result, ShapeError},
    rlwe::{DeclaredKeys, Requirements, noise::slot_factor},
    tfhe,
};
use limbwise_device::{Device, Null, Rounding};
use limbwise_math::{ntt::bit_reverse, rns::to_f64};

const OP: &str = "to_lwe";

/// Rows switched together; each mask is as long as the ring.
const BLOCK: usize = 256;

/// The ring's keys that the crossing from slots to LWE needs beside a [`ToLweKey`].
///
/// # Errors
/// As [`Bridge::encode`].
pub fn requirements_to_lwe(params: &BridgeParams, plan: BridgePlan) -> Result<Requirements> {
    let (null, encoder) = (Null::default(), Encoder::new(params.ckks()));
    let bridge = Bridge::declare(&null, &encoder, params, plan)?;
    let keys = DeclaredKeys::all(&null, params.ckks());
    let auto = Auto::new(Evaluator::new(&null, params.ckks(), &keys), &encoder);
    let level = params.ckks().user_level();
    let packing = Packing { slots: plan.slots, level, scale: params.ckks().scale(level) };
    let input = encoder.declare(&null, &[vec![]], packing)?;
    bridge.to_lwe(&auto, &input, plan.slots, &ToLweKey::declared(&null, params))?;
    Ok(keys.requirements())
}

impl<D: Device> Bridge<D> {
    /// The level of the input: that of SlotToCoeff, plus one for the division if a message has more than one bit.
    #[must_use]
    pub fn input_level(&self) -> usize {
        self.boot().levels().input_level() + usize::from(self.division() < 1.0)
    }

    /// The factor that makes 1 a message: q₀/2^(message bits + 1) over q₀/4.
    fn division(&self) -> f64 {
        (1.0 - f64::from(self.params().tfhe().literal().message_bits)).exp2()
    }

    /// Converts the first `rows` real slots to TFHE messages in slot order. Each slot must hold an integer from 0 to
    /// the largest message, with an error below one half.
    ///
    /// Shape:  a batch of one at [`Self::input_level`] or above → a batch of `rows`.
    /// Noise: that of the slots, divided like them, and [`noise::key_switch`]. It travels in the norm of the result.
    /// Cost:   SlotToCoeff; for each row an LWE key switch of N·levels·(K + 1) products.
    /// Source: \[PEGASUS\] (extraction with key switching).
    ///
    /// # Errors
    /// Too few levels, more rows than slots, values beyond the message range, other parameters or keys, a missing key.
    pub fn to_lwe(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        rows: usize,
        key: &ToLweKey<D>,
    ) -> Result<tfhe::Ciphertext<D>> {
        let a = self.settle_input(auto, a, rows, key)?;
        let (dev, params, ckks) = (auto.eval.device(), self.params(), self.params().ckks());
        let _region = dev.region("bridge", 1);
        let lowered = auto.scale_to(&a, self.division(), self.boot().levels().input_level())?;
        let coefficients = self.boot().slots_to_coefficients(auto, &lowered)?;
        let parts: Vec<D::Poly> = coefficients.parts.iter().map(|p| dev.intt(p.clone())).collect();
        let (slots, gap) = (self.plan().slots, ckks.max_slots() / self.plan().slots);
        let at: Vec<usize> = (0..rows).map(|row| gap * bit_reverse(row, slots.trailing_zeros())).collect();
        let blocks: Vec<D::Lwe> = at.chunks(BLOCK).map(|at| self.extract_and_switch(dev, &parts, at, key)).collect();
        // The message is in the coefficients, whose error is that of the slots times √slots.
        let error = coefficients.estimate.error() / slot_factor(slots) / 4.0;
        let variance = error * error + noise::key_switch(params, key::gadget(params));
        let lwe = dev.lwe_stack(&blocks.iter().collect::<Vec<_>>());
        let fresh = tfhe::Ciphertext::fresh(lwe, params.tfhe(), key.tag());
        let norm_squared = variance / tfhe::noise::nominal(params.tfhe().literal());
        Ok(tfhe::Ciphertext { norm_squared, ..fresh })
    }

    /// The coefficients at the given indices as LWE ciphertexts under the big LWE key.
    fn extract_and_switch(&self, dev: &D, parts: &[D::Poly], at: &[usize], key: &ToLweKey<D>) -> D::Lwe {
        let samples = dev.sample_extract(&parts.iter().collect::<Vec<_>>(), at);
        let half_words = dev.lwe_mod_switch(&samples, 1 << key::LOG_MODULUS, Rounding::Nearest);
        let wide = dev.lwe_key_switch(&half_words, &key.switch);
        dev.lwe_mod_switch(&wide, self.params().tfhe().modulus().value(), Rounding::Nearest)
    }

    /// The settled input, checked against the requirements of the crossing.
    fn settle_input(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        rows: usize,
        key: &ToLweKey<D>,
    ) -> Result<Ciphertext<D>> {
        let (params, slots) = (self.params(), self.plan().slots);
        let other = |scheme| BridgeError::OtherParams { op: OP, scheme };
        if auto.eval.params() != params.ckks() {
            return Err(other("CKKS").into());
        }
        if key.params() != params {
            return Err(other("key's").into());
        }
        if a.slots != slots || a.batch() != 1 {
            return Err(ShapeError::Slots { op: OP, left: a.slots * a.batch(), right: slots }.into());
        }
        if rows == 0 || rows > slots {
            return Err(BridgeError::Rows { got: rows, slots }.into());
        }
        let (peak, most) = (a.estimate.peak, to_f64(params.tfhe().space() - 1));
        if peak > most {
            return Err(BridgeError::TooLarge { peak, most }.into());
        }
        let (a, needed) = (auto.settle(a)?, self.input_level());
        auto.eval.needs(OP, &a, needed)?;
        Ok(a)
    }
}
