//! What every plan and every report of a run begins with.

use crate::calibrate::Calibration;
use limbwise::{params::SecurityReport, scheme::Scheme};
use schemars::JsonSchema;
use serde::Serialize;

/// Which workload, where, and under which parameters.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Head {
    pub workload: String,
    /// What it computes with: ckks, tfhe, bgv, or tfhe+ckks.
    #[schemars(extend("enum" = ["ckks", "tfhe", "bgv", "tfhe+ckks"]))]
    pub scheme: &'static str,
    /// Device the seconds are for, or that it ran on.
    pub device: String,
    pub isa: String,
    pub threads: usize,
    /// Name of the parameter set, or of the pair of them.
    pub preset: String,
    /// The class of the security gate, of the weakest key.
    pub security_bits: u32,
    /// Whose table says so, and what is said of it today.
    pub security_standard: String,
}

impl Head {
    pub(crate) fn of<S: Scheme>(
        (workload, preset): (&str, &str),
        security: &SecurityReport,
        host: &Calibration,
    ) -> Self {
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
