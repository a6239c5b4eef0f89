//! The numbers of `specs/flexmem.toml`, and what follows from several of them.

use crate::{
    address::{Site, Tiling},
    dram::{Timing, ticks},
    error::MachineError,
    report::as_f64,
    spec::{Assumed, Spec},
    words::Wide,
};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numbers {
    pub(super) policy: Policy,
    pub(super) system: System,
    pub(super) chip: Chip,
    timing: Timings,
    pub(super) network: Network,
    pub(super) area: BTreeMap<String, f64>,
    pub(super) power: BTreeMap<String, f64>,
    pub(super) assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    timing: Preset,
    pub(super) poly_col: String,
    pub(super) remap: Switch,
    pub(super) rows: Rows,
    pub(super) limb_banks: u64,
    pub(super) words: Wide,
}

/// Which of the two contradicting timings.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Preset {
    Table,
    Figure,
}

/// Order of rows in transforms.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum Rows {
    /// Results that are written together share a row.
    #[serde(rename = "ordered")]
    Ordered,
    /// In the order of coefficients: a row gets its results half by half.
    #[serde(rename = "stride-1")]
    Stride1,
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Switch {
    #[serde(alias = "true")]
    On,
    #[serde(alias = "false")]
    Off,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct System {
    pub(super) chips: u64,
    pub(super) dimms: u64,
    pub(super) chips_per_dimm: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chip {
    pub(super) banks: u64,
    pub(super) group_banks: u64,
    pub(super) subarrays: u64,
    pub(super) rows_per_subarray: u64,
    pub(super) row_bytes: u64,
    pub(super) global_row_bytes: u64,
    pub(super) pes: u64,
    pub(super) pe_coefficients: u64,
    register_bytes: u64,
    pub(super) word_bits: u64,
    pub(super) core_mhz: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Timings {
    table: Table,
    figure: Figure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    t_ccds_cycles: u64,
    t_ccd_cycles: u64,
    t_wr_cycles: u64,
    t_pre_cycles: u64,
    t_act_cycles: u64,
    t_rcd_cycles: u64,
    t_rrd_cycles: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    t_ccd_ns: f64,
    t_wr_ns: f64,
    t_pre_ns: f64,
    t_act_ns: f64,
    t_rcd_ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Network {
    pub(super) pe_chain: Switch,
    pub(super) bank_network: Switch,
    pub(super) chip_network: Switch,
    chain_gb_s: f64,
    bank_gb_s: f64,
    pub(super) chip_gb_s: f64,
}

/// Who has the bandwidth of the bank network.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Owner {
    Chip,
    Link,
    System,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assumptions {
    pub(super) bank_network_of: Assumed<Owner>,
    pub(super) chip_network_mesh_links: Assumed<u64>,
    pub(super) dimm_link_gb_s: Assumed<f64>,
    pub(super) host_gb_s: Assumed<f64>,
    pub(super) lisa_hop_cycles: Assumed<u64>,
    figure_trrd_ns: Assumed<f64>,
    pub(super) modular_cycles: Assumed<u64>,
}

/// Most chips: each is a unit of the scheduler.
const MOST_CHIPS: u64 = 64;

impl Numbers {
    /// The numbers of a specification that go together.
    pub(super) fn read(spec: &Spec) -> Result<Self, MachineError> {
        let numbers: Self = spec.read()?;
        let (chip, system) = (&numbers.chip, &numbers.system);
        let two = |path: &str, most: u64, got: u64| match got.is_power_of_two() && got <= most {
            true => Ok(()),
            false => Err(spec.wrong(path, format!("a power of two up to {most}"), got)),
        };
        if !(8..=64).contains(&chip.word_bits) || !chip.word_bits.is_multiple_of(8) {
            return Err(spec.wrong("chip.word_bits", "8 to 64 bits, a multiple of 8", chip.word_bits));
        }
        two("chip.banks", 4096, chip.banks)?;
        two("chip.group_banks", chip.banks, chip.group_banks)?;
        two("chip.subarrays", 4096, chip.subarrays)?;
        two("chip.row_bytes", 1 << 16, chip.row_bytes)?;
        two("chip.pe_coefficients", numbers.registers() / 2, chip.pe_coefficients)?;
        two("policy.limb_banks", chip.banks, numbers.policy.limb_banks)?;
        let columns = numbers.columns();
        if !chip.pes.is_power_of_two() || chip.pes > columns {
            let wanted = format!("a power of two up to {columns}, the words of a row of {} bytes", chip.row_bytes);
            return Err(spec.wrong("chip.pes", wanted, chip.pes));
        }
        let room = system.dimms.saturating_mul(system.chips_per_dimm);
        if system.chips > room || system.chips > MOST_CHIPS {
            let wanted = format!(
                "at most {}: {} DIMMs have {} chips each",
                room.min(MOST_CHIPS),
                system.dimms,
                system.chips_per_dimm
            );
            return Err(spec.wrong("system.chips", wanted, system.chips));
        }
        if let Some(poly_col) = numbers.poly_col().filter(|&poly_col| poly_col < chip.pes || poly_col > columns) {
            let wanted = format!("{} to {columns} columns: each of {} PEs has some of a limb", chip.pes, chip.pes);
            return Err(spec.wrong("policy.poly_col", wanted, poly_col));
        }
        Ok(numbers)
    }

    /// The shape that is asked for; `None`: by cost.
    pub(super) fn poly_col(&self) -> Option<u64> {
        self.policy.poly_col.parse().ok()
    }

    /// Whether each operation may take the shape that is cheapest for it.
    pub(super) fn chooses_shapes(&self) -> bool {
        self.poly_col().is_none() && self.policy.remap == Switch::On
    }

    /// All shapes that a row has room for: powers of two from one column of each PE.
    pub(super) fn all_shapes(&self) -> impl Iterator<Item = u64> + use<> {
        let (pes, columns) = (self.chip.pes, self.columns());
        (pes.ilog2()..=columns.ilog2()).map(|log| 1 << log)
    }

    pub(super) fn word_bytes(&self) -> u64 {
        self.chip.word_bits / 8
    }

    /// Words of a row.
    pub(super) fn columns(&self) -> u64 {
        self.chip.row_bytes / self.word_bytes()
    }

    /// Words of a PE's register file.
    pub(super) fn registers(&self) -> u64 {
        self.chip.register_bytes / self.word_bytes()
    }

    pub(super) fn site(&self) -> Site {
        let Chip { banks, subarrays, pes, .. } = self.chip;
        Site { banks, pairs: subarrays.div_ceil(2), columns: self.columns(), pes }
    }

    /// Where limbs of a ring stand. Over more banks than a group has, a PE has fewer coefficients.
    pub(super) fn tiling(&self, n: u64) -> Tiling {
        let (chip, wide) = (&self.chip, self.policy.limb_banks);
        let own = (chip.pe_coefficients * chip.group_banks / wide).clamp(1, chip.pe_coefficients);
        Tiling::new(self.site(), n, own, wide)
    }

    pub(super) fn tick_seconds(&self) -> f64 {
        1e-6 / self.chip.core_mhz
    }

    /// The constraints on commands, in cycles of the PEs.
    pub(super) fn commands(&self) -> Timing {
        let (table, figure) = (&self.timing.table, &self.timing.figure);
        let cycles = |ns: f64| ticks(ns * self.chip.core_mhz / 1e3);
        match self.policy.timing {
            Preset::Table => Timing {
                t_ccd: table.t_ccd_cycles,
                t_ccd_s: table.t_ccds_cycles,
                t_wr: table.t_wr_cycles,
                t_pre: table.t_pre_cycles,
                t_act: table.t_act_cycles,
                t_rcd: table.t_rcd_cycles,
                t_rrd: table.t_rrd_cycles,
            },
            Preset::Figure => Timing {
                t_ccd: cycles(figure.t_ccd_ns),
                t_ccd_s: cycles(figure.t_ccd_ns),
                t_wr: cycles(figure.t_wr_ns),
                t_pre: cycles(figure.t_pre_ns),
                t_act: cycles(figure.t_act_ns),
                t_rcd: cycles(figure.t_rcd_ns),
                t_rrd: cycles(self.assumed.figure_trrd_ns.value),
            },
        }
    }

    /// Bytes a cycle of a bandwidth.
    pub(super) fn per_cycle(&self, gb_s: f64) -> f64 {
        gb_s * 1e3 / self.chip.core_mhz
    }

    /// Words a cycle from a PE to its neighbor.
    pub(super) fn chain_words(&self) -> f64 {
        self.per_cycle(self.network.chain_gb_s) / as_f64(self.word_bytes())
    }

    /// Bytes a cycle of a chip's leap links together.
    pub(super) fn bank_bytes(&self) -> f64 {
        let stated = self.per_cycle(self.network.bank_gb_s);
        match self.assumed.bank_network_of.value {
            Owner::Chip => stated,
            Owner::Link => stated * as_f64(self.chip.banks),
            Owner::System => stated / as_f64(self.system.chips),
        }
    }

    /// Bytes that a chip holds.
    pub(super) fn chip_bytes(&self) -> u64 {
        let Chip { banks, subarrays, rows_per_subarray, row_bytes, .. } = self.chip;
        banks.saturating_mul(subarrays).saturating_mul(rows_per_subarray).saturating_mul(row_bytes)
    }

    /// Square millimeters and watts of the chips, and of the networks between them.
    pub(super) fn of_machine(&self, table: &BTreeMap<String, f64>, unit: &str) -> BTreeMap<String, f64> {
        let (chips, dimms) =
            (as_f64(self.system.chips), as_f64(self.system.chips.div_ceil(self.system.chips_per_dimm)));
        let entry = |(key, x): (&String, &f64)| {
            let part = key.trim_end_matches(unit).trim_end_matches('_').to_owned();
            let count = if part == "chip_network" { dimms } else { chips };
            (part, x * count)
        };
        table.iter().map(entry).collect()
    }
}
