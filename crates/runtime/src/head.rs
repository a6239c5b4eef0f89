//! The common head of every plan and every report of a run.

use crate::calibrate::Calibration;
use limbwise::{params::SecurityReport, scheme::Scheme};
use schemars::JsonSchema;
use serde::Serialize;

/// Workload, device and parameters.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Head {
    pub workload: String,
    /// Scheme: ckks, tfhe, bgv, or tfhe+ckks.
    #[schemars(extend("enum" = ["ckks", "tfhe", "bgv", "tfhe+ckks"]))]
    pub scheme: &'static str,
    /// Device that ran the program, or that the predicted seconds are for.
    pub device: String,
    pub isa: String,
    pub threads: usize,
    /// Parameter set, or the pair of sets.
    pub preset: String,
    /// Security class in bits, of the weakest key.
    pub security_bits: u32,
    /// The standard that the class comes from, with its current status.
    pub security_standard: String,
}

impl Head {
    pub(crate) fn of<S: Scheme>(workload: &str, preset: &str, security: &SecurityReport, host: &Calibration) -> Self {
        Self {
            workload: workload.into(),
            scheme: S::NAME,
            device: host.device.clone(),
            isa: host.isa.clone(),
            threads: host.threads,
            preset: preset.into(),
            security_bits: security.bits,
            security_standard: security.standard.into(),
        }
    }
}
