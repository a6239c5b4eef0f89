//! What exact integers on BGV add to plans and reports.

use super::{Forecast, Piped, SchemePlan};
#[cfg(feature = "client")]
use super::{Ran, SchemeRun};
use crate::record::Recording;
#[cfg(feature = "client")]
use limbwise::bgv::BgvReading;
use limbwise::scheme::{Bgv, IntegersEstimate};
use limbwise_apps::{Program, family::Checked};
use schemars::JsonSchema;
use serde::Serialize;

/// A plan's section of BGV.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IntegersPlan {
    /// log₂ N.
    pub log_n: u32,
    /// t.
    pub plaintext_modulus: u64,
    /// Primes of the chain, and special ones.
    pub limbs: [usize; 2],
    /// Bits that the noise leaves free in the result that has fewest, by its bound; negative where it may not be read.
    pub budget_bits: f64,
}

/// A report's section of BGV.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IntegersRun {
    /// How the results were compared.
    pub checked: Checked,
    /// Numbers compared with the clear twin's.
    pub compared: usize,
    /// Numbers that are not the clear twin's.
    pub wrong: usize,
    /// Bits that the noise leaves free in the result that has fewest: measured, and by the bound.
    pub budget_bits: BudgetFound,
    /// Results as people have them, where the workload says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<(String, Vec<i64>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BudgetFound {
    /// Found when decrypting; absent where that is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// By the bound.
    pub predicted: f64,
}

fn budget(results: &[IntegersEstimate]) -> f64 {
    results.iter().map(|result| result.budget_bits).fold(f64::INFINITY, f64::min)
}

impl Piped for Bgv {
    fn planned<P: Program<Scheme = Self>>(program: &P, recording: &Recording<Self>) -> SchemePlan {
        let (params, rlwe) = (program.params(), program.params().rlwe());
        SchemePlan::Bgv(IntegersPlan {
            log_n: rlwe.log_n(),
            plaintext_modulus: params.t().value(),
            limbs: [rlwe.limbs(rlwe.top_level()), rlwe.special().len()],
            budget_bits: budget(&recording.results),
        })
    }

    fn forecast(_: &Self::Params, results: &[IntegersEstimate], _: u64) -> Forecast {
        Forecast::Bgv { budget_bits_predicted: budget(results) }
    }

    #[cfg(feature = "client")]
    fn found<P: Program<Scheme = Self>>(_: &P, of: Ran<'_, Self>) -> SchemeRun {
        let found = of.found;
        let _: &BgvReading = of.reading;
        SchemeRun::Bgv(IntegersRun {
            checked: found.checked,
            compared: found.compared,
            wrong: found.wrong,
            budget_bits: BudgetFound { measured: found.budget_bits, predicted: budget(of.results) },
            results: found.tables.clone(),
        })
    }
}
