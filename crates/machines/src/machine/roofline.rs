//! A roofline: so many multipliers and so many bytes a second, both as busy as the program lets them be.
//!
//! Each operation takes all multipliers for its products and nothing else, each input is loaded once at the limbs that
//! are read, as early as the memory lets it be, and results are stored: the longer of both sums, but for what the last
//! load and the last store leave to be done.

use super::Machine;
use crate::{
    dram::{Stream, ticks},
    error::MachineError,
    program::{Stage, TaskKind},
    report::as_f64,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
};
use limbwise_graph::{Graph, NodeId};
use serde::Deserialize;

const MULTIPLIERS: u8 = 0;
const HBM: u8 = 1;
/// A picosecond.
const TICK_SECONDS: f64 = 1e-12;
/// More bytes than any program has.
const NO_LIMIT: u64 = 1 << 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    chip: Chip,
    memory: Memory,
    assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chip {
    multipliers: u64,
    clock_mhz: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    hbm: Hbm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hbm {
    bandwidth_gb_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumptions {
    binary_units: Assumed<bool>,
}

/// The model.
pub(super) struct Roofline {
    spec: Spec,
    numbers: Numbers,
}

impl Roofline {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        Ok(Self { spec: spec.clone(), numbers: spec.read()? })
    }

    fn peak(&self) -> f64 {
        as_f64(self.numbers.chip.multipliers) * self.numbers.chip.clock_mhz * 1e6
    }

    fn bytes_per_tick(&self) -> f64 {
        let gb = if self.numbers.assumed.binary_units.value { f64::from(1 << 30) } else { 1e9 };
        self.numbers.memory.hbm.bandwidth_gb_s * gb * TICK_SECONDS
    }
}

impl Machine for Roofline {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &["multipliers", "hbm"]
    }

    fn tick_seconds(&self) -> f64 {
        TICK_SECONDS
    }

    fn streaming(&self) -> bool {
        false
    }

    /// No limit to what is held, or to how far loads run ahead.
    fn off_chip(&self, _: &Graph) -> Option<OffChip> {
        Some(OffChip {
            unit: HBM,
            stream: Stream::Bandwidth { bytes_per_tick: self.bytes_per_tick(), latency: 0, burst_bytes: 1 },
            capacity_bytes: NO_LIMIT,
            capacity_field: "memory.hbm",
            prefetch_bytes: NO_LIMIT / 2,
            results_bytes: 0,
            makes_seeds: false,
        })
    }

    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let op = graph.node(id).op();
        if op.is_view() || op.is_input() {
            return vec![];
        }
        let products = as_f64(graph.work(id).products());
        vec![Stage::new(TaskKind::Compute, MULTIPLIERS, ticks(products / (self.peak() * TICK_SECONDS)))]
    }

    fn peak_products_s(&self) -> Option<f64> {
        Some(self.peak())
    }
}
