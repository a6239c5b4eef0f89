//! The fields of a composed machine as its model reads them, and what must go together.

use super::fields::PRIMITIVES;
use crate::{
    dram::Refresh,
    error::{MachineError, nearest},
    phases::Phases,
    program::Order,
    report::as_f64,
    spec::Spec,
    words::Wide,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The whole file.
#[derive(Deserialize)]
pub(super) struct Numbers {
    pub(super) chip: Chip,
    pub(super) policy: Policy,
    #[serde(default)]
    pub(super) unit: BTreeMap<String, Unit>,
    #[serde(default)]
    pub(super) memory: BTreeMap<String, Memory>,
    #[serde(default)]
    pub(super) network: BTreeMap<String, Network>,
    pub(super) host: Option<Host>,
}

#[derive(Deserialize)]
pub(super) struct Chip {
    pub(super) clock_mhz: f64,
    pub(super) clusters: u64,
    pub(super) word_bits: u64,
    /// Whole machines, which share out the entries of a batch.
    pub(super) boards: u64,
    /// Clusters of which areas and powers are given.
    pub(super) reference_clusters: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Policy {
    pub(super) distribution: Distribution,
    pub(super) limbs: Limbs,
    pub(super) order: Order,
    pub(super) phases: Phases,
    pub(super) words: Wide,
    pub(super) streaming: bool,
    pub(super) scale_with_intt: bool,
    pub(super) fuse_subtract_scale: bool,
    pub(super) makes_twiddles: bool,
    pub(super) seeds: Seeds,
    pub(super) conversion: Conversion,
    /// Parts of a batch in flight together.
    pub(super) groups: usize,
    pub(super) prefetch_mb: Option<f64>,
    pub(super) idle_share: Option<f64>,
}

/// What a cluster takes of a polynomial.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Distribution {
    /// Whole limbs, and for base conversions a share of the coefficients of all limbs.
    Alternating,
    /// Whole limbs; sums over limbs are sums over clusters.
    LimbWise,
    /// Whole limbs; for base conversions every cluster gets all sources, and makes the targets that it has.
    Broadcast,
    /// A share of the coefficients of all limbs; transforms and automorphisms exchange them.
    CoefficientWise,
}

/// Order of limbs (ADR 77).
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Limbs {
    Whole,
    Apart,
    Fused,
    Reordered,
}

/// Source of the uniform half of a key.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Seeds {
    Loaded,
    Made,
}

/// The unit that makes the sums of base conversions.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Conversion {
    /// The one that has them among what it does.
    Beside,
    /// The one that multiplies.
    Shared,
}

#[derive(Deserialize)]
pub(super) struct Unit {
    pub(super) does: Vec<String>,
    /// Of one unit.
    pub(super) words_per_cycle: f64,
    /// Units of a cluster, which work on one limb together.
    #[serde(default = "one")]
    pub(super) count: u64,
    #[serde(default)]
    pub(super) depth_cycles: u64,
    #[serde(default)]
    pub(super) transforms: Transforms,
    pub(super) transform_depth_cycles: Option<u64>,
    #[serde(default = "one")]
    pub(super) targets_at_once: u64,
    pub(super) area_mm2: Option<f64>,
    pub(super) power_w: Option<f64>,
}

/// What of a transform a unit takes in a cycle.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Transforms {
    /// Words of a limb, through all its stages.
    #[default]
    Words,
    /// Butterflies.
    Butterflies,
}

fn one() -> u64 {
    1
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Registers,
    Scratchpad,
    Cache,
    OffChip,
}

/// Model of off-chip memory.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HbmModel {
    #[default]
    Bandwidth,
    Banks,
}

#[derive(Deserialize)]
pub(super) struct Memory {
    pub(super) kind: Kind,
    pub(super) feeds: Option<String>,
    pub(super) capacity_mb: Option<f64>,
    bandwidth_gb_s: Option<f64>,
    bandwidth_gb_s_per_cluster: Option<f64>,
    ports: Option<u64>,
    port_words_per_cycle: Option<f64>,
    pub(super) results_mb: Option<f64>,
    #[serde(default)]
    pub(super) of_cluster: bool,
    #[serde(default)]
    pub(super) model: HbmModel,
    pub(super) latency_ns: Option<f64>,
    pub(super) burst_bytes: Option<u64>,
    pub(super) channels: Option<u64>,
    pub(super) banks: Option<u64>,
    pub(super) row_bytes: Option<u64>,
    pub(super) trcd_ns: Option<f64>,
    pub(super) tcl_ns: Option<f64>,
    pub(super) trp_ns: Option<f64>,
    pub(super) tras_ns: Option<f64>,
    pub(super) trefi_ns: Option<f64>,
    pub(super) trfc_ns: Option<f64>,
    pub(super) refresh: Option<Refresh>,
    pub(super) turnaround_ns: Option<f64>,
    pub(super) area_mm2: Option<f64>,
    pub(super) power_w: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct Network {
    pub(super) topology: Topology,
    #[serde(default)]
    pub(super) carries: Vec<String>,
    pub(super) bandwidth_gb_s_per_cluster: f64,
    #[serde(default)]
    pub(super) fill_cycles: u64,
    pub(super) area_mm2: Option<f64>,
    pub(super) power_w: Option<f64>,
}

/// How clusters are joined.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Topology {
    AllToAll,
    Ring,
    Mesh,
}

#[derive(Deserialize)]
pub(super) struct Host {
    pub(super) bandwidth_gb_s: f64,
}

impl Numbers {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`MachineError`] with the field, where something is missing or does not go together.
    pub(super) fn read(spec: &Spec) -> Result<Self, MachineError> {
        for (path, what) in [("chip.clock_mhz", "the clock"), ("chip.word_bits", "bits of a word")] {
            if !spec.has(path) {
                return Err(spec.wrong(path, format!("{what}: a number"), "nothing"));
            }
        }
        for field in spec.fields() {
            let section: Vec<&str> = field.path.split('.').collect();
            let [kind @ ("unit" | "memory" | "network"), name, _] = section[..] else { continue };
            let needed: &[(&str, &str)] = match kind {
                "unit" => &[("does", "a list of primitives"), ("words_per_cycle", "its throughput, a number")],
                "memory" => &[("kind", "registers, scratchpad, cache or off-chip")],
                _ => &[
                    ("topology", "all-to-all, ring or mesh"),
                    ("bandwidth_gb_s_per_cluster", "the bandwidth of a cluster's links, a number"),
                ],
            };
            for (key, wanted) in needed {
                let path = format!("{kind}.{name}.{key}");
                if !spec.has(&path) {
                    return Err(spec.wrong(&path, *wanted, "nothing"));
                }
            }
        }
        let numbers: Self = spec.read_values()?;
        numbers.check(spec)?;
        Ok(numbers)
    }

    fn check(&self, spec: &Spec) -> Result<(), MachineError> {
        if !(8..=64).contains(&self.chip.word_bits) {
            return Err(spec.wrong("chip.word_bits", "an integer from 8 to 64", self.chip.word_bits));
        }
        if self.unit.is_empty() {
            return Err(spec.wrong("unit", "at least one section [unit.NAME]", "none"));
        }
        if self.unit.len() + self.memory.len() + self.network.len() > MOST_PARTS {
            let wanted = format!("at most {MOST_PARTS} units, memories and networks");
            return Err(spec.wrong("unit", wanted, self.unit.len() + self.memory.len() + self.network.len()));
        }
        let mut names: Vec<&String> = self.unit.keys().chain(self.memory.keys()).chain(self.network.keys()).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(spec.wrong(twice[0], "one unit, memory or network of a name", "two"));
        }
        for primitive in PRIMITIVES {
            let mut who = self.unit.iter().filter(|(_, unit)| unit.does.iter().any(|d| d == primitive));
            if let Some(((first, _), (second, _))) = who.next().zip(who.next()) {
                let path = format!("unit.{second}.does");
                let wanted = format!("\"{primitive}\" in one unit (\"count\" says how many there are of it)");
                return Err(spec.wrong(&path, wanted, format!("it here and in unit.{first}.does")));
            }
        }
        for pattern in super::fields::PATTERNS {
            let mut who = self.network.iter().filter(|(_, network)| network.takes(pattern));
            if let Some(((first, _), (second, _))) = who.next().zip(who.next()) {
                let path = format!("network.{second}.carries");
                return Err(spec.wrong(&path, format!("\"{pattern}\" on one network"), format!("network.{first} too")));
            }
        }
        let exchanges = self.policy.distribution != Distribution::LimbWise;
        let joined = |pattern| self.network.values().any(|network| network.takes(pattern));
        if self.chip.clusters > 1 && !joined(if exchanges { "exchange" } else { "sum" }) {
            let wanted = "a section [network.NAME] that joins the clusters";
            return Err(spec.wrong("network", wanted, format!("{} clusters and none", self.chip.clusters)));
        }
        let for_tfhe =
            |unit: &Unit| unit.does.iter().any(|does| ["rotate", "decompose", "lwe"].contains(&does.as_str()));
        if self.chip.boards > 1 && self.unit.values().any(for_tfhe) {
            return Err(spec.wrong("chip.boards", "1 where a unit is for TFHE", self.chip.boards));
        }
        if self.chip.boards > 1 && !joined("boards") {
            let wanted = "a section [network.NAME] with carries = [\"boards\"]";
            return Err(spec.wrong("network", wanted, format!("{} boards and none", self.chip.boards)));
        }
        Ok(())
    }

    /// Bytes a cycle of a bandwidth in 10⁹ bytes a second.
    pub(super) fn per_cycle(&self, gb_s: f64) -> f64 {
        gb_s * 1e3 / self.chip.clock_mhz
    }

    /// Bandwidth of a memory, of all clusters together.
    pub(super) fn bandwidth_gb_s(&self, spec: &Spec, name: &str) -> Result<Option<f64>, MachineError> {
        let memory = &self.memory[name];
        let clusters = as_f64(self.chip.clusters);
        let of_ports = memory.ports.zip(memory.port_words_per_cycle).map(|(ports, words)| {
            let bytes = as_f64(self.chip.word_bits) / 8.0;
            as_f64(ports) * words * bytes * self.chip.clock_mhz / 1e3
        });
        let path = format!("memory.{name}.bandwidth_gb_s");
        if memory.ports.is_some() != memory.port_words_per_cycle.is_some() {
            let path = format!("memory.{name}.ports");
            return Err(spec.wrong(&path, "ports with port_words_per_cycle", "one without the other"));
        }
        let of_clusters = memory.bandwidth_gb_s_per_cluster.map(|each| each * clusters);
        let mut said = [memory.bandwidth_gb_s, of_clusters, of_ports].into_iter().flatten();
        match (said.next(), said.next()) {
            (_, Some(_)) => {
                let wanted = "one of bandwidth_gb_s, bandwidth_gb_s_per_cluster and ports";
                Err(spec.wrong(&path, wanted, "several"))
            }
            (said, None) => Ok(said),
        }
    }

    /// The memories from the one that feeds the units outwards.
    ///
    /// # Errors
    /// [`MachineError`] where a memory feeds nothing, something unknown, what another one feeds, or, round about, itself.
    pub(super) fn chain(&self, spec: &Spec) -> Result<Vec<&str>, MachineError> {
        let mut fed: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, memory) in &self.memory {
            let path = format!("memory.{name}.feeds");
            let wanted = "\"units\" or the name of a memory";
            let Some(feeds) = &memory.feeds else {
                return Err(spec.wrong(&path, wanted, "nothing: no one reads this memory"));
            };
            if feeds != "units" && !self.memory.contains_key(feeds) {
                let near = nearest(feeds, self.memory.keys().map(String::as_str).chain(["units"]));
                let hint = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
                return Err(spec.wrong(&path, wanted, format!("\"{feeds}\"{hint}")));
            }
            if let Some(other) = fed.insert(feeds, name) {
                let got = format!("\"{feeds}\", which memory.{other} feeds already");
                return Err(spec.wrong(&path, "something that no other memory feeds", got));
            }
            if memory.kind == Kind::OffChip && fed.contains_key(name.as_str()) {
                let other = fed[name.as_str()];
                return Err(spec.wrong(&format!("memory.{other}.feeds"), "a memory on the chip, or units", name));
            }
        }
        let mut chain = Vec::new();
        let mut at = "units";
        while let Some(&next) = fed.get(at) {
            if self.memory.get(at).is_some_and(|memory| memory.kind == Kind::OffChip) {
                return Err(spec.wrong(&format!("memory.{next}.feeds"), "a memory on the chip, or units", at));
            }
            chain.push(next);
            at = next;
        }
        if let Some(loose) = self.memory.keys().find(|name| !chain.contains(&name.as_str())) {
            let got = "a cycle of memories that feed each other";
            return Err(spec.wrong(&format!("memory.{loose}.feeds"), "a way to the units", got));
        }
        Ok(chain)
    }
}

/// Units are numbered in a byte.
const MOST_PARTS: usize = 64;
