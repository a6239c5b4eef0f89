//! Seconds of an operator for one ciphertext, on the device and in the unit. The rules are those of ADR 131.

use super::{
    mesh::{Load, Mesh},
    numbers::{Mapping, Numbers},
    operators::{Kind, Work, whole},
};
use crate::report::as_f64;

/// Bytes of local memory that a butterfly reads and writes: two stages a pass.
const LDS_BYTES: f64 = 8.0;

/// What does not hang on the operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flight {
    /// Ciphertexts in flight.
    pub(super) copies: f64,
    /// Words of the values of each.
    pub(super) live_words: f64,
}

impl Numbers {
    /// Seconds on the device.
    pub(super) fn device_seconds(&self, work: &Work, flight: Flight) -> f64 {
        let s = &self.slots;
        let slots = work.butterflies * s.butterfly_slots
            + work.products * s.product_slots
            + work.digit_words * s.digit_slots
            + work.moved_words * s.monomial_slots
            + work.sum_words * s.sum_slots;
        let computing = slots / self.lane_slots_s();
        let local = work.butterflies * LDS_BYTES / self.lds_bytes_s();
        let bytes = self.word_bytes();
        // A transform that local memory does not hold is two passes over memory.
        let passes = if as_f64(work.n) * bytes > self.lds_bytes() && work.butterflies > 0.0 { 2.0 } else { 1.0 };
        let (values, key) = ((work.read_words + work.written_words) * bytes * passes, work.key_words * bytes);
        let memory_s = self.device.memory_gb_s * 1e9;
        let in_flight = flight.copies * flight.live_words * bytes + key;
        let moving = if in_flight <= self.l2_bytes() {
            ((values + key) / self.l2_bytes_s()).max(key / flight.copies / memory_s)
        } else {
            (values + key) / memory_s
        };
        computing.max(local).max(moving) + self.assumed.launch_ns.value * 1e-9
    }

    /// Seconds in the unit.
    pub(super) fn heu_seconds(&self, kind: Kind, work: &Work, flight: Flight) -> f64 {
        let share = self.busiest(kind, work);
        let cycle_s = 1.0 / (self.heu.core_mhz * 1e6);
        let multiplying = share.multiplications / as_f64(self.heu.multipliers_per_tile) * cycle_s;
        let adding = share.additions / as_f64(self.heu.adders_per_tile) * cycle_s;
        let bytes = self.word_bytes();
        let held = flight.copies * flight.live_words * bytes <= self.buffer_bytes() * as_f64(self.heu.tiles);
        let values = if held { 0.0 } else { share.value_words * bytes };
        let streaming = (share.key_words * bytes + values) / self.tile_bytes_s();
        let load = self.load(kind, work);
        let passing = load.bytes / as_f64(self.mesh.link_bytes_per_cycle) * cycle_s;
        let hops = as_f64(load.hops * self.mesh.hop_cycles) * cycle_s;
        multiplying.max(adding).max(streaming).max(passing) + hops
    }

    /// Bytes of the stack that an operator reads and writes.
    pub(super) fn stack_bytes(&self, work: &Work, flight: Flight) -> f64 {
        let bytes = self.word_bytes();
        let held = flight.copies * flight.live_words * bytes <= self.buffer_bytes() * as_f64(self.heu.tiles);
        let values = if held { 0.0 } else { work.read_words + work.written_words };
        (work.key_words + values) * bytes
    }

    /// Partitions of a polynomial.
    pub(super) fn partitions(&self, n: u64) -> u64 {
        n.div_ceil(self.heu.vector_width)
    }

    /// Tile of a partition: independent groups have different offsets.
    pub(super) fn tile_of(&self, offset: u64, partition: u64) -> u64 {
        (offset + partition % self.heu.tiles) % self.heu.tiles
    }

    /// Partitions in the tile that has most.
    fn fullest(&self, n: u64) -> u64 {
        let mut held = vec![0u64; usize::try_from(self.heu.tiles).unwrap_or(0)];
        for partition in 0..self.partitions(n) {
            held[usize::try_from(self.tile_of(0, partition)).unwrap_or(0)] += 1;
        }
        held.into_iter().max().unwrap_or(0)
    }

    /// Part of an operator that the busiest tile does.
    fn busiest(&self, kind: Kind, work: &Work) -> Share {
        let tiles = as_f64(self.heu.tiles);
        let additions = match kind {
            // Each tile has an accumulator for its products.
            Kind::Product | Kind::KeySwitch => work.sum_words + work.digit_words,
            _ => work.additions(kind),
        };
        let part = match (self.policy.mapping, work.n) {
            // Vectors have no partitions that belong together.
            (_, 0) => 1.0 / tiles,
            (Mapping::Pacm, n) => as_f64(self.fullest(n)) / as_f64(self.partitions(n)),
            (Mapping::Whole, _) => {
                let polynomials = match kind {
                    Kind::Scale => work.components,
                    Kind::Product => self.digits(work),
                    _ => work.polynomials,
                };
                as_f64(polynomials.div_ceil(self.heu.tiles)) / as_f64(polynomials.max(1))
            }
        };
        let partial = match (self.policy.mapping, kind) {
            (Mapping::Whole, Kind::Product) => self.partial_sums(work),
            _ => 0.0,
        };
        Share {
            multiplications: work.multiplications() * part,
            additions: additions * part + partial,
            key_words: work.key_words * part,
            value_words: (work.read_words + work.written_words) * part,
        }
    }

    /// Digits of an external product.
    fn digits(&self, work: &Work) -> u64 {
        let words = as_f64(work.n * work.components.max(1));
        whole(work.products / words).max(1)
    }

    /// Words that the tile of a component adds, of the sums of other tiles.
    fn partial_sums(&self, work: &Work) -> f64 {
        let others = self.digits(work).min(self.heu.tiles) - 1;
        let components = work.components.div_ceil(self.heu.tiles).max(1);
        as_f64(others * components * work.n)
    }

    /// What an operator sends over the mesh.
    fn load(&self, kind: Kind, work: &Work) -> Load {
        if work.n == 0 || self.heu.tiles == 1 {
            return Load::default();
        }
        match self.policy.mapping {
            Mapping::Pacm => self.load_of_partitions(kind, work),
            Mapping::Whole => self.load_of_polynomials(kind, work),
        }
    }

    fn load_of_partitions(&self, kind: Kind, work: &Work) -> Load {
        let (mesh, tiles) = (Mesh::of(self.heu.tiles), self.heu.tiles);
        let of_tile = as_f64(work.n) / as_f64(tiles) * self.word_bytes();
        match kind {
            Kind::Ntt | Kind::Intt => {
                // Partners a power of two apart; those a multiple of the tiles apart share one.
                let stages = (0..tiles.ilog2()).map(|stage| 1u64 << stage);
                let all = stages.fold(Load::default(), |all, distance| {
                    all.then(mesh.exchange((0..tiles).map(|t| (t, t ^ distance, of_tile / 2.0))))
                });
                let whole_words = work.butterflies * 2.0 / (as_f64(work.n) * f64::from(work.n.ilog2().max(1)));
                all.times(whole_words)
            }
            Kind::Scale => {
                let shifted = |by: u64| mesh.exchange((0..tiles).map(|t| (t, (t + by) % tiles, of_tile)));
                let loads: Vec<Load> = (0..tiles).map(shifted).collect();
                let bytes = loads.iter().map(|load| load.bytes).sum::<f64>() / as_f64(tiles);
                let hops = loads.iter().map(|load| load.hops).max().unwrap_or(0);
                Load { bytes: bytes * work.moved_words / as_f64(work.n), hops }
            }
            _ => Load::default(),
        }
    }

    fn load_of_polynomials(&self, kind: Kind, work: &Work) -> Load {
        let (mesh, tiles) = (Mesh::of(self.heu.tiles), self.heu.tiles);
        let polynomial = as_f64(work.n) * self.word_bytes();
        match kind {
            Kind::Decompose => {
                // The tile of a component sends it to the tiles of its digits.
                let digits = work.polynomials / work.components.max(1);
                let pairs = (0..work.polynomials).map(|digit| (digit / digits.max(1) % tiles, digit % tiles));
                mesh.exchange(pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, polynomial)))
            }
            Kind::Product => {
                let from = 0..self.digits(work).min(tiles);
                let pairs = from.flat_map(|digit| (0..work.components).map(move |c| (digit, c % tiles)));
                mesh.exchange(pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, polynomial)))
            }
            _ => Load::default(),
        }
    }
}

/// Part of an operator that one tile does.
struct Share {
    multiplications: f64,
    additions: f64,
    key_words: f64,
    value_words: f64,
}
