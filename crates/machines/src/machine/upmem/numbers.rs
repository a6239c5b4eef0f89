//! The numbers of `specs/upmem.toml`, and what follows from several of them.

use crate::{
    error::MachineError,
    report::as_f64,
    spec::{Assumed, Spec},
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numbers {
    pub(super) system: System,
    pub(super) dpu: Dpu,
    pub(super) dma: Dma,
    pub(super) routines: Routines,
    pub(super) policy: Policy,
    pub(super) transfer: Transfer,
    pub(super) host: Host,
    pub(super) power: Power,
    pub(super) assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct System {
    pub(super) dpus: u64,
    pub(super) ranks: u64,
    pub(super) dpus_per_rank: u64,
    most_dpus: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dpu {
    version: Version,
    pub(super) tasklets: u64,
    pub(super) issue_every_cycles: u64,
    mram_mb: u64,
    pub(super) mram_usable_mb: u64,
    v1a: Chip,
    v1b: Chip,
}

#[derive(Clone, Copy, Deserialize)]
enum Version {
    #[serde(rename = "v1A")]
    A,
    #[serde(rename = "v1B")]
    B,
}

/// One version of the chip.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chip {
    pub(super) core_mhz: f64,
    tasklets: u64,
    wram_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dma {
    read_cycles: u64,
    write_cycles: u64,
    bytes_per_cycle: u64,
    pub(super) most_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Routines {
    pub(super) mul32_cycles: u64,
    pub(super) mul64_cycles: u64,
    pub(super) inline_mul: bool,
    pub(super) native_cycles: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub(super) offload: Offload,
    pub(super) moduli: u64,
    pub(super) moduli_order: ModuliOrder,
    pub(super) placement: Where,
    pub(super) source: Source,
}

/// Unit of one launch.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Offload {
    /// Whole operations.
    Operation,
    /// One stage of a transform, on 64-bit words.
    Stage,
}

/// Assignment of moduli to DPUs.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ModuliOrder {
    ByRank,
    Sequential,
}

/// Placement of operations that host and DPUs can both do.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Where {
    Dpus,
    Host,
    Hybrid,
}

/// Residues of the source's polynomials.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    moduli_1024: u64,
    moduli_2048: u64,
    moduli_4096: u64,
    moduli_8192: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Transfer {
    pub(super) preset: Preset,
    pub(super) host_direct_access: bool,
    dramatic: Link,
    prim: Link,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Preset {
    Dramatic,
    Prim,
}

/// Bandwidths of a rank, 10^9 bytes a second.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    #[serde(rename = "to_gb_s_per_rank")]
    pub(super) to: f64,
    #[serde(rename = "from_gb_s_per_rank")]
    pub(super) from: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Host {
    pub(super) threads: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Power {
    pub(super) idle_w: f64,
    busy_w: f64,
    busy_dpus: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assumptions {
    pub(super) residue_bits: Assumed<u64>,
    pub(super) launch_ns: Assumed<f64>,
    pub(super) transfer_ns: Assumed<f64>,
    pub(super) host_memory_gb_s: Assumed<f64>,
    pub(super) fused_products: Assumed<bool>,
}

impl Numbers {
    /// The numbers of a specification, with DPUs and ranks that go together.
    pub(super) fn read(spec: &Spec) -> Result<Self, MachineError> {
        let mut numbers: Self = spec.read()?;
        let System { dpus, ranks, dpus_per_rank, most_dpus } = &mut numbers.system;
        match (spec.is_changed("system.dpus"), spec.is_changed("system.ranks")) {
            (true, false) => *ranks = dpus.div_ceil(*dpus_per_rank),
            // The test machine lacks some DPUs in its ranks.
            (false, true) if *ranks > 8 => *dpus = *ranks * *dpus_per_rank,
            (false, true) => *dpus = (*ranks * *dpus_per_rank).min(*dpus),
            _ => {}
        }
        if *dpus > *most_dpus {
            let wanted = format!("at most {most_dpus} DPUs, which is what {} ranks hold", *most_dpus / *dpus_per_rank);
            return Err(spec.wrong("system.dpus", wanted, dpus));
        }
        if *dpus > *ranks * *dpus_per_rank || *dpus < *ranks {
            let wanted = format!("{ranks} to {} DPUs in {ranks} ranks", *ranks * *dpus_per_rank);
            return Err(spec.wrong("system.dpus", wanted, dpus));
        }
        let most = numbers.chip().tasklets;
        if numbers.dpu.tasklets > most {
            let wanted = format!("at most {most} tasklets, as this version of the DPU has");
            return Err(spec.wrong("dpu.tasklets", wanted, numbers.dpu.tasklets));
        }
        numbers.go_together(spec)?;
        if !(1..=32).contains(&numbers.assumed.residue_bits.value) {
            return Err(spec.wrong("assumed.residue_bits", "1 to 32 bits", numbers.assumed.residue_bits.value));
        }
        Ok(numbers)
    }

    /// What is in memory must fit there, and work draws no less than idleness.
    fn go_together(&self, spec: &Spec) -> Result<(), MachineError> {
        let Dpu { mram_mb, mram_usable_mb, tasklets, .. } = self.dpu;
        if mram_usable_mb > mram_mb {
            let wanted = format!("at most dpu.mram_mb = {mram_mb}");
            return Err(spec.wrong("dpu.mram_usable_mb", wanted, mram_usable_mb));
        }
        let wram = self.chip().wram_bytes;
        if self.dma.most_bytes.saturating_mul(tasklets) > wram {
            let most = wram / tasklets.max(1);
            let wanted =
                format!("at most {most} bytes: each of {tasklets} tasklets has as many in the WRAM of {wram} bytes");
            return Err(spec.wrong("dma.most_bytes", wanted, self.dma.most_bytes));
        }
        if self.power.busy_w < self.power.idle_w {
            let wanted = format!("at least power.idle_w = {}", self.power.idle_w);
            return Err(spec.wrong("power.busy_w", wanted, self.power.busy_w));
        }
        Ok(())
    }

    /// The version in use.
    pub(super) fn chip(&self) -> &Chip {
        match self.dpu.version {
            Version::A => &self.dpu.v1a,
            Version::B => &self.dpu.v1b,
        }
    }

    /// Bandwidths in use.
    pub(super) fn link(&self) -> Link {
        match self.transfer.preset {
            Preset::Dramatic => self.transfer.dramatic,
            Preset::Prim => self.transfer.prim,
        }
    }

    /// Watts that a DPU at work adds.
    pub(super) fn watts_per_dpu(&self) -> f64 {
        (self.power.busy_w - self.power.idle_w) / as_f64(self.power.busy_dpus)
    }

    /// Bytes of a residue in memory.
    pub(super) fn word_bytes(&self) -> u64 {
        if self.policy.offload == Offload::Stage { 8 } else { 4 }
    }
}

impl Dma {
    /// Cycles in which the engine serves so many reads and writes.
    pub(super) fn cycles(&self, reads: u64, writes: u64, bytes: u64) -> u64 {
        reads * self.read_cycles + writes * self.write_cycles + bytes.div_ceil(self.bytes_per_cycle)
    }
}

impl Source {
    /// Residues that the source takes at a length with so many bits in all, if it is one of its sets.
    pub(super) fn moduli(&self, n: usize, bits: f64) -> Option<u64> {
        let sets = [
            (1024, 27.0, self.moduli_1024),
            (2048, 54.0, self.moduli_2048),
            (4096, 109.0, self.moduli_4096),
            (8192, 218.0, self.moduli_8192),
        ];
        let fits = |&&(length, wanted, _): &&(usize, f64, u64)| n == length && (bits - wanted).abs() <= 2.0;
        sets.iter().find(fits).map(|&(_, _, moduli)| moduli)
    }
}
