//! The fields of ARK's specification as its model reads them; `specs/ark.toml` says what they are.

use crate::{dram::Refresh, phases::Phases, program::Order, spec::Assumed, words::Wide};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numbers {
    pub(super) chip: Chip,
    pub(super) policy: Policy,
    pub(super) schedule: Scheduling,
    pub(super) nttu: NttU,
    pub(super) bconvu: BConvU,
    pub(super) autou: Vectors,
    pub(super) madu: MadU,
    pub(super) memory: Memory,
    pub(super) noc: Noc,
    pub(super) area: BTreeMap<String, f64>,
    pub(super) peak_power: BTreeMap<String, f64>,
    pub(super) assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chip {
    pub(super) clusters: u64,
    pub(super) lanes: u64,
    pub(super) word_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub(super) distribution: Distribution,
    pub(super) words: Wide,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scheduling {
    pub(super) order: Order,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Distribution {
    Alternating,
    LimbWise,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NttU {
    pub(super) vectors_per_cycle: u64,
    pub(super) of_twist: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Vectors {
    pub(super) vectors_per_cycle: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BConvU {
    pub(super) macs_per_lane: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MadU {
    pub(super) units_per_cluster: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    pub(super) scratchpad: Scratchpad,
    pub(super) register_files: RegisterFiles,
    pub(super) hbm: Hbm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scratchpad {
    pub(super) capacity_mb: u64,
    pub(super) bandwidth_gb_s_per_cluster: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegisterFiles {
    pub(super) bandwidth_gb_s_per_cluster: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Noc {
    pub(super) bandwidth_gb_s_per_cluster: f64,
}

/// Model of off-chip memory.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HbmModel {
    Bandwidth,
    Banks,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hbm {
    pub(super) model: HbmModel,
    pub(super) bandwidth_gb_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assumptions {
    pub(super) core_mhz: Assumed<f64>,
    pub(super) ntt_fill_cycles: Assumed<u64>,
    pub(super) bconv_fill_cycles: Assumed<u64>,
    pub(super) auto_fill_cycles: Assumed<u64>,
    pub(super) mad_fill_cycles: Assumed<u64>,
    pub(super) noc_fill_cycles: Assumed<u64>,
    pub(super) hbm_burst_bytes: Assumed<u64>,
    pub(super) hbm_channels: Assumed<u64>,
    pub(super) hbm_banks: Assumed<u64>,
    pub(super) hbm_row_bytes: Assumed<u64>,
    pub(super) hbm_transport_ns: Assumed<f64>,
    pub(super) hbm_trcd_ns: Assumed<f64>,
    pub(super) hbm_tcl_ns: Assumed<f64>,
    pub(super) hbm_trp_ns: Assumed<f64>,
    pub(super) hbm_tras_ns: Assumed<f64>,
    pub(super) hbm_trefi_ns: Assumed<f64>,
    pub(super) hbm_trfc_ns: Assumed<f64>,
    pub(super) hbm_refresh: Assumed<Refresh>,
    pub(super) hbm_turnaround_ns: Assumed<f64>,
    pub(super) prefetch_mb: Assumed<u64>,
    pub(super) phases: Assumed<Phases>,
    pub(super) streaming: Assumed<bool>,
    pub(super) scale_with_intt: Assumed<bool>,
    pub(super) fuse_subtract_scale: Assumed<bool>,
    pub(super) idle_share: Assumed<f64>,
    pub(super) register_files_mb: Assumed<u64>,
    pub(super) reference_clusters: Assumed<u64>,
}
