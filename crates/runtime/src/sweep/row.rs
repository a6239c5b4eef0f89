//! What a point gives: numbers, or why there are none. A row is one line of the journal (docs/schemas/sweep-row).

use super::recordings::Recorded;
use crate::scheme::Forecast;
use limbwise_graph::Region;
use limbwise_machines::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A point and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Its fields by name.
    pub point: BTreeMap<String, String>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Outcome {
    /// There is no such program or machine, and why.
    Refused { refused: String },
    /// The program was timed.
    Timed(Box<Metrics>),
}

/// Numbers of a point; what a machine or a program does not have is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Time of the program.
    pub seconds: f64,
    /// The same in clock cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Energy of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// Area of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_mm2: Option<f64>,
    /// Energy × delay × area, J·s·mm².
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edap: Option<f64>,
    /// Bytes to and from off-chip memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_chip_bytes: Option<u64>,
    /// Modular products of the program.
    pub products: u64,
    /// Bytes of its evaluation keys.
    pub key_bytes: u64,
    /// Security of its parameters: the class met.
    pub security_bits: u32,
    /// Expected precision of its first result, in bits, of a program with CKKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_bits: Option<f64>,
    /// log₂ of the probability that any bootstrapping fails, of a program with TFHE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log2_failure: Option<f64>,
    /// Bits that the noise leaves free in the result that has fewest, of a program with BGV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_bits: Option<f64>,
    /// Slots × bits of precision / time of the bootstrapping, by which \[MAD\] compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots_bits_s: Option<f64>,
    /// Time per level won and slot, µs: of the workload that bootstraps and multiplies at each level won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_as_us: Option<f64>,
}

/// A number that points are compared by.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name, as in a row.
    pub name: &'static str,
    /// What it is, and its unit.
    pub about: &'static str,
    pub larger_is_better: bool,
    of: fn(&Metrics) -> Option<f64>,
}

pub const METRICS: [Metric; 12] = {
    const fn metric(name: &'static str, about: &'static str, of: fn(&Metrics) -> Option<f64>) -> Metric {
        Metric { name, about, larger_is_better: false, of }
    }
    [
        metric("seconds", "time of the program, s", |m| Some(m.seconds)),
        metric("energy_j", "energy of the program, J", |m| m.energy_j),
        metric("area_mm2", "area of the machine, mm²", |m| m.area_mm2),
        metric("edap", "energy × delay × area, J·s·mm²", |m| m.edap),
        metric("off_chip_bytes", "bytes to and from off-chip memory", |m| m.off_chip_bytes.map(to_f64)),
        metric("key_bytes", "bytes of evaluation keys", |m| Some(to_f64(m.key_bytes))),
        metric("products", "modular products of the program", |m| Some(to_f64(m.products))),
        metric("t_as_us", "time a level won and slot, µs", |m| m.t_as_us),
        metric("log2_failure", "log₂ of the probability that a bootstrapping fails", |m| m.log2_failure),
        Metric {
            larger_is_better: true,
            ..metric("slots_bits_s", "slots × bits of precision a second of bootstrapping", |m| m.slots_bits_s)
        },
        Metric {
            larger_is_better: true,
            ..metric("precision_bits", "expected precision of the first result, bits", |m| m.precision_bits)
        },
        Metric {
            larger_is_better: true,
            ..metric("budget_bits", "noise budget of the results, bits", |m| m.budget_bits)
        },
    ]
};

impl Metric {
    pub fn named(name: &str) -> Option<Self> {
        METRICS.into_iter().find(|metric| metric.name == name)
    }

    /// Its value at a point that was timed.
    pub fn of(&self, row: &Row) -> Option<f64> {
        match &row.outcome {
            Outcome::Timed(metrics) => (self.of)(metrics),
            Outcome::Refused { .. } => None,
        }
    }

    /// The same with its sign turned where more is better: less of this is better.
    pub fn cost_of(&self, row: &Row) -> Option<f64> {
        self.of(row).map(|x| if self.larger_is_better { -x } else { x })
    }
}

impl Metrics {
    /// The numbers of a recorded program on a machine, which moved so many bytes to and from off-chip memory if it has
    /// one.
    pub fn of(recorded: &Recorded, report: &Report, off_chip_bytes: Option<u64>) -> Self {
        let boot = recorded.bootstrapping;
        let region = report.regions.iter().find(|region| region.path == Region::Bootstrap.name());
        let (precision_bits, log2_failure, budget_bits) = match recorded.forecast {
            Forecast::Ckks { precision_bits_predicted: bits, .. } => (Some(bits), None, None),
            Forecast::Tfhe { log2_failure } => (None, Some(log2_failure), None),
            Forecast::Bgv { budget_bits_predicted: bits } => (None, None, Some(bits)),
            Forecast::Bridged { precision_bits_predicted: bits, log2_failure, .. } => {
                (Some(bits), Some(log2_failure), None)
            }
        };
        let throughput = |seconds: f64| Some(to_f64(boot?.slots) * precision_bits? / seconds);
        let energy = report.energy.as_ref();
        Self {
            seconds: report.seconds,
            cycles: report.cycles,
            energy_j: energy.map(|e| e.energy_j),
            area_mm2: energy.and_then(|e| e.area_mm2),
            edap: energy.and_then(|e| e.edap),
            off_chip_bytes,
            products: report.products,
            key_bytes: recorded.key_bytes,
            security_bits: recorded.security_bits,
            precision_bits,
            log2_failure,
            budget_bits,
            slots_bits_s: region.map(|region| region.seconds).filter(|s| *s > 0.0).and_then(throughput),
            t_as_us: boot.and_then(|b| Some(report.seconds * 1e6 / to_f64(b.slots) / to_f64(b.levels_won?))),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for comparison and display")]
pub(super) fn to_f64(x: u64) -> f64 {
    x as f64
}
