//! The two parameter sets that a bridge joins, and the security check of the keys between them.

use super::{error::BridgeError, key::LOG_MODULUS};
use crate::{
    error::Result,
    params::{
        Order, Params, ParamsError, ParamsLiteral, SecurityReport, Sine,
        security::{binary_class, gate},
    },
    tfhe::TfheParams,
};
use std::sync::Arc;

/// A checked pair of parameter sets; clones share it.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgeParams(Arc<Inner>);

#[derive(Debug, PartialEq)]
struct Inner {
    ckks: Params,
    tfhe: TfheParams,
    security: SecurityReport,
}

/// The message ratio of flags: a flag is ±q₀/4.
const RATIO: u32 = 2;

impl BridgeParams {
    /// Joins two sets.
    ///
    /// Two keys go between them. The key from TFHE is RLWE under the main CKKS secret, modulo q₀ and the special primes
    /// used there. The key to TFHE is LWE under the big LWE key, modulo 2^32. Each key is checked for its own secret;
    /// the pair has the security of its weakest key.
    ///
    /// # Errors
    /// [`BridgeError`] for sets that do not fit together, [`ParamsError`] for a key below 128 bits.
    pub fn new(ckks: &Params, tfhe: &TfheParams) -> Result<Self> {
        let unfit = |got: String, wanted| BridgeError::Unfit { got, wanted };
        let Some(boot) = ckks.bootstrapping() else {
            return Err(unfit("they do not bootstrap".into(), "a set whose bootstrapping is for flags").into());
        };
        if boot.literal.order != Order::SlotToCoeffFirst {
            return Err(unfit("SlotToCoeff comes last".into(), "the order slot-to-coeff-first").into());
        }
        let (sine, ratio) = (boot.literal.eval_mod.sine, boot.literal.message_ratio);
        if sine != (Sine::Cosine { arcsine: 0 }) || ratio != RATIO {
            let got = format!("EvalMod by {sine:?} at message ratio {ratio}");
            return Err(unfit(got, "a cosine with arcsine 0 at message ratio 2, which leaves flags clean").into());
        }
        if ckks.limbs(0) != 1 {
            let got = format!("q0 of {} primes", ckks.limbs(0));
            return Err(unfit(got, "one prime at level 0, which LWE words can be switched to").into());
        }
        let (dimension, n) = (tfhe.literal().big_dimension(), ckks.ring().n());
        if dimension > n {
            return Err(BridgeError::Dimension { dimension, n }.into());
        }
        let security = weakest(ckks, tfhe)?;
        Ok(Self(Arc::new(Inner { ckks: ckks.clone(), tfhe: tfhe.clone(), security })))
    }

    /// The CKKS set.
    #[must_use]
    pub fn ckks(&self) -> &Params {
        &self.0.ckks
    }

    /// The TFHE set.
    #[must_use]
    pub fn tfhe(&self) -> &TfheParams {
        &self.0.tfhe
    }

    /// The security check's result for the weakest of all keys.
    #[must_use]
    pub fn security(&self) -> &SecurityReport {
        &self.0.security
    }
}

/// The weakest security result among both sets and the two keys between them.
fn weakest(ckks: &Params, tfhe: &TfheParams) -> Result<SecurityReport> {
    let literal = ckks.literal();
    let modulus = ckks.ring().log_modulus(ckks.basis(0) | ckks.encapsulation_special());
    let ParamsLiteral { standard, log_n, secret, sigma, ref insecure, .. } = *literal;
    let between = gate(standard, log_n, modulus, secret, sigma, insecure.as_ref())?;
    let back = to_lwe(tfhe)?;
    let all = [ckks.security().clone(), tfhe.security().clone(), between, back];
    let insecure_reason = all.iter().find_map(|report| report.insecure_reason.clone());
    let weakest = all.into_iter().min_by_key(|report| report.bits).expect("there are four");
    Ok(SecurityReport { insecure_reason, ..weakest })
}

/// The security check of the key under the big LWE key.
fn to_lwe(tfhe: &TfheParams) -> Result<SecurityReport, ParamsError> {
    let l = tfhe.literal();
    let (dimension, log_modulus) = (l.big_dimension(), f64::from(LOG_MODULUS));
    let bits = binary_class(dimension, log_modulus, l.glwe_sigma);
    let leave = l.insecure.as_ref().filter(|_| bits < 128);
    if bits < 128 && leave.is_none() {
        let log_sigma = l.glwe_sigma.log2() - log_modulus;
        let wanted = "a wider wide key; only Insecure { reason } lets a set pass below".into();
        return Err(ParamsError::InsecureBinary { key: "bridge to LWE", dimension, log_sigma, wanted });
    }
    let insecure_reason = leave.map(|insecure| insecure.reason.clone());
    Ok(SecurityReport { bits, log_qp: log_modulus, standard: tfhe.security().standard, insecure_reason })
}
