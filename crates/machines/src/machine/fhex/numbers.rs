//! The numbers of `specs/fhex.toml`, and what follows from several of them.

use crate::{
    error::MachineError,
    offload::Duplex,
    report::as_f64,
    spec::{Assumed, Spec},
    words::Wide,
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numbers {
    pub(super) policy: Policy,
    pub(super) device: Device,
    pub(super) slots: Slots,
    pub(super) heu: Heu,
    pub(super) mesh: Mesh,
    pub(super) link: Link,
    pub(super) energy: Energy,
    pub(super) assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub(super) mapping: Mapping,
    pub(super) offload: Offload,
    pub(super) batch: u64,
    pub(super) words: Wide,
}

/// Where the words of a polynomial stand in the unit.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mapping {
    /// Its partitions over all tiles.
    Pacm,
    /// All in one tile.
    Whole,
}

/// Which operation goes where.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Offload {
    Adaptive,
    Heft,
    Static,
    Device,
    Heu,
}

/// What adaptive offloading decides about.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Search {
    /// Each operation of each ciphertext.
    Operation,
    /// All operations of a kind together.
    Operator,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Device {
    pub(super) cores: u64,
    pub(super) lanes_per_core: u64,
    pub(super) core_mhz: f64,
    pub(super) memory_gb_s: f64,
    l2_mb: u64,
    lds_kb: u64,
    pub(super) lds_bytes_per_cycle: u64,
}

/// Issue slots of a lane.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slots {
    pub(super) butterfly_slots: f64,
    pub(super) product_slots: f64,
    pub(super) digit_slots: f64,
    pub(super) monomial_slots: f64,
    pub(super) sum_slots: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Heu {
    pub(super) tiles: u64,
    pub(super) multipliers_per_tile: u64,
    pub(super) adders_per_tile: u64,
    buffer_kb: u64,
    pub(super) core_mhz: f64,
    pub(super) internal_gb_s: f64,
    pub(super) vector_width: u64,
    pub(super) word_bits: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mesh {
    pub(super) link_bytes_per_cycle: u64,
    pub(super) hop_cycles: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub(super) link_gb_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Energy {
    pub(super) area_mm2: f64,
    pub(super) power_w: f64,
    pub(super) stack_pj: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assumptions {
    pub(super) l2_bytes_per_cycle: Assumed<u64>,
    pub(super) link_latency_ns: Assumed<f64>,
    pub(super) link_duplex: Assumed<Duplex>,
    pub(super) launch_ns: Assumed<f64>,
    pub(super) whole_streams: Assumed<u32>,
    pub(super) search: Assumed<Search>,
    pub(super) device_w: Assumed<f64>,
    pub(super) link_pj: Assumed<f64>,
}

/// Most tiles: loads of the mesh are counted message by message.
const MOST_TILES: u64 = 256;
/// Most bootstrappings in flight: each is a copy of the program in a placement.
const MOST_BATCH: u64 = 256;
/// Most ciphertexts side by side.
const MOST_STREAMS: u32 = 64;

impl Numbers {
    /// The numbers of a specification that go together.
    pub(super) fn read(spec: &Spec) -> Result<Self, MachineError> {
        let numbers: Self = spec.read()?;
        let Heu { tiles, vector_width, word_bits, .. } = numbers.heu;
        let two = |path: &str, most: u64, got: u64| match got.is_power_of_two() && got <= most {
            true => Ok(()),
            false => Err(spec.wrong(path, format!("a power of two up to {most}"), got)),
        };
        two("heu.tiles", MOST_TILES, tiles)?;
        two("heu.vector_width", 1 << 17, vector_width)?;
        if !(1..=62).contains(&word_bits) {
            return Err(spec.wrong("heu.word_bits", "1 to 62 bits", word_bits));
        }
        if numbers.policy.batch > MOST_BATCH {
            return Err(spec.wrong("policy.batch", format!("1 to {MOST_BATCH} in flight"), numbers.policy.batch));
        }
        let streams = numbers.assumed.whole_streams.value;
        if !(1..=MOST_STREAMS).contains(&streams) {
            return Err(spec.wrong("assumed.whole_streams", format!("1 to {MOST_STREAMS} ciphertexts"), streams));
        }
        Ok(numbers)
    }

    /// Bytes of a word.
    pub(super) fn word_bytes(&self) -> f64 {
        as_f64(self.heu.word_bits) / 8.0
    }

    /// Lanes of all cores times cycles a second.
    pub(super) fn lane_slots_s(&self) -> f64 {
        as_f64(self.device.cores * self.device.lanes_per_core) * self.device.core_mhz * 1e6
    }

    /// Bytes a second of the local memories of all cores.
    pub(super) fn lds_bytes_s(&self) -> f64 {
        as_f64(self.device.cores * self.device.lds_bytes_per_cycle) * self.device.core_mhz * 1e6
    }

    /// Bytes a second of the device's L2.
    pub(super) fn l2_bytes_s(&self) -> f64 {
        as_f64(self.assumed.l2_bytes_per_cycle.value) * self.device.core_mhz * 1e6
    }

    /// Bytes that L2 holds.
    pub(super) fn l2_bytes(&self) -> f64 {
        as_f64(self.device.l2_mb << 20)
    }

    /// Bytes that the local memory of a core holds.
    pub(super) fn lds_bytes(&self) -> f64 {
        as_f64(self.device.lds_kb << 10)
    }

    /// Bytes that the buffer of a tile holds.
    pub(super) fn buffer_bytes(&self) -> f64 {
        as_f64(self.heu.buffer_kb << 10)
    }

    /// Bytes a second of the stack above a tile.
    pub(super) fn tile_bytes_s(&self) -> f64 {
        self.heu.internal_gb_s * 1e9 / as_f64(self.heu.tiles)
    }
}
