//! What an operation on one chip takes: its sweeps over rows and its words on the networks, counted by the mapping. The rules
//! are those of ADR 132.

use super::{
    numbers::{Numbers, Rows, Switch},
    permutation::Permutation,
    sweep::{Cost, Sweep, Visits},
    work::{Kind, Work},
};
use crate::{
    address::{Border, Tiling},
    dram::{Timing, ticks},
    report::as_f64,
};

/// Costs on one chip of a machine.
pub(super) struct Costs<'n> {
    numbers: &'n Numbers,
    timing: Timing,
}

impl<'n> Costs<'n> {
    pub(super) fn new(numbers: &'n Numbers) -> Self {
        Self { numbers, timing: numbers.commands() }
    }

    /// Shapes that limbs of a ring can have.
    pub(super) fn shapes(&self, tiling: &Tiling) -> Vec<u64> {
        let widest = tiling.tile().clamp(tiling.site.pes, tiling.site.columns);
        match self.numbers.poly_col() {
            Some(one) => vec![one.min(widest)],
            None => (tiling.site.pes.ilog2()..=widest.ilog2()).map(|log| 1 << log).collect(),
        }
    }

    /// The widest shape in which so many limbs share a row.
    pub(super) fn sharing(&self, tiling: &Tiling, limbs: u64) -> u64 {
        let there = limbs.div_ceil(tiling.places()).max(1);
        let shapes = self.shapes(tiling);
        let fits = |&&shape: &&u64| shape.saturating_mul(there) <= tiling.site.columns;
        shapes.iter().rev().find(fits).copied().unwrap_or(shapes[0])
    }

    /// Rows of so many limbs of a chip in a shape.
    pub(super) fn visits(&self, tiling: &Tiling, limbs: u64, shape: u64) -> [Visits; 2] {
        let there = limbs.div_ceil(tiling.places());
        let (per_row, rows) = (tiling.site.columns / shape, (tiling.tile() / shape).max(1));
        let own = (shape / tiling.site.pes).min(tiling.local().max(1));
        let (full, rest) = (there / per_row, there % per_row);
        [
            Visits { rows: full.saturating_mul(rows), words: per_row * own },
            Visits { rows: if rest > 0 { rows } else { 0 }, words: rest * own },
        ]
    }

    /// Rows of words that stand side by side without a shape, so many a PE.
    fn packed(&self, words: u64) -> [Visits; 2] {
        let own = self.numbers.columns() / self.numbers.chip.pes;
        [
            Visits { rows: words / own, words: own },
            Visits { rows: u64::from(!words.is_multiple_of(own)), words: words % own },
        ]
    }

    /// An operation in a shape.
    pub(super) fn cost(&self, work: &Work, shape: u64) -> Cost {
        let tiling = self.numbers.tiling(work.n);
        match &work.kind {
            Kind::None => Cost::default(),
            Kind::Sweep { reads, cycles, broadcast } => {
                let mut sweep = Sweep::default().writes(&self.timing, &self.visits(&tiling, work.writes, shape));
                for &limbs in reads {
                    sweep = sweep.reads(&self.timing, &self.visits(&tiling, limbs, shape));
                }
                let most = reads.iter().copied().max().unwrap_or(0).max(work.limbs);
                sweep.arithmetic = self.words(&tiling, most).saturating_mul(*cycles);
                self.spread(&tiling, [*broadcast, work.limbs], &mut sweep);
                sweep.cost(&self.timing)
            }
            Kind::Transform { primes } => self.transform(&tiling, work.limbs, *primes, shape),
            Kind::Convert { .. } => self.convert(&tiling, work, shape),
            Kind::Permute(permutation) => self.permute(&tiling, work.limbs, permutation, shape),
            Kind::Rotate => self.rotate(&tiling, work.limbs, shape),
            Kind::LweProduct { entries, rows } => self.lwe_product(&tiling, *entries, *rows, work.words),
        }
    }

    /// Limbs change their shape.
    pub(super) fn remap(&self, n: u64, limbs: u64, [from, to]: [u64; 2]) -> Cost {
        if from == to {
            return Cost::default();
        }
        let tiling = self.numbers.tiling(n);
        let sweep = Sweep::default()
            .reads(&self.timing, &self.visits(&tiling, limbs, from))
            .writes(&self.timing, &self.visits(&tiling, limbs, to));
        let cost = sweep.cost(&self.timing);
        Cost { remap: cost.ticks, ..cost }
    }

    /// Words of a PE of so many limbs of a chip.
    fn words(&self, tiling: &Tiling, limbs: u64) -> u64 {
        limbs.div_ceil(tiling.places()).saturating_mul(tiling.local().max(1))
    }

    fn modular(&self, count: u64) -> u64 {
        count.saturating_mul(self.numbers.assumed.modular_cycles.value)
    }

    /// Ticks of words that each PE sends so many PEs along the chain.
    fn on_chain(&self, word_hops: u64) -> u64 {
        ticks(as_f64(word_hops) / self.numbers.chain_words())
    }

    /// Ticks of words that each PE sends to another, through the bank's global row buffer and back.
    fn through_row_buffer(&self, words: u64) -> u64 {
        let (chip, site) = (&self.numbers.chip, self.numbers.site());
        let bytes = words.saturating_mul(site.pes * site.pairs * self.numbers.word_bytes()).saturating_mul(2);
        bytes.div_ceil(chip.global_row_bytes).saturating_mul(self.timing.t_ccd_s)
    }

    /// Each PE exchanges words with the one at a distance: the link in the middle carries those of as many PEs.
    fn exchange_pes(&self, words: u64, distance: u64) -> u64 {
        match self.numbers.network.pe_chain {
            Switch::On => self.on_chain(words.saturating_mul(distance)),
            Switch::Off => self.through_row_buffer(words),
        }
    }

    /// Each pair exchanges rows with the one at a distance (LISA \[CNH16\]): both directions on the link in the middle, a hop a subarray.
    fn exchange_pairs(&self, rows: u64, distance: u64) -> u64 {
        let (t, hop) = (&self.timing, self.numbers.assumed.lisa_hop_cycles.value);
        let hops = rows.saturating_mul(2 * distance).saturating_add(2 * distance);
        t.t_rcd.saturating_add(hops.saturating_mul(hop)).saturating_add(t.t_wr + t.t_pre)
    }

    /// Ticks of bytes between banks.
    fn between_banks(&self, bytes: u64) -> u64 {
        match self.numbers.network.bank_network {
            Switch::On => ticks(as_f64(bytes) / self.numbers.bank_bytes()),
            Switch::Off => bytes.div_ceil(self.numbers.chip.global_row_bytes).saturating_mul(self.timing.t_ccd_s),
        }
    }

    /// Hops of the leap links over so many banks: one by a power of two, else two.
    pub(super) fn leaps(distance: u64) -> u64 {
        if distance == 0 { 0 } else { 1 + u64::from(!distance.is_power_of_two()) }
    }

    fn bytes(&self, tiling: &Tiling, limbs: u64) -> u64 {
        limbs.saturating_mul(tiling.n).saturating_mul(self.numbers.word_bytes())
    }

    /// Limbs come from one place to the first so many others: to as many as there is something to work on.
    fn spread(&self, tiling: &Tiling, [limbs, others]: [u64; 2], sweep: &mut Sweep) {
        let reached = others.min(tiling.places());
        if limbs == 0 || reached <= 1 {
            return;
        }
        let all = tiling.site.banks / tiling.banks;
        let groups = all.min(reached);
        let hops: u64 = (1..groups).map(|group| Self::leaps(group * tiling.banks)).sum();
        sweep.bank_bytes += self.bytes(tiling, limbs).saturating_mul(hops);
        sweep.bank = self.between_banks(sweep.bank_bytes);
        if reached > all {
            let rows = limbs.saturating_mul(tiling.tile()).div_ceil(tiling.site.columns);
            let hops = rows.saturating_add(2 * tiling.site.pairs);
            sweep.lisa += hops.saturating_mul(self.numbers.assumed.lisa_hop_cycles.value);
        }
    }

    /// A sweep over limbs, read and written in a shape, with the rows of results as the policy has them.
    fn stage(&self, tiling: &Tiling, limbs: u64, shape: u64, twiddles: u64) -> Sweep {
        let rows = self.visits(tiling, limbs, shape);
        let written = match self.numbers.policy.rows {
            Rows::Ordered => rows,
            Rows::Stride1 => rows.map(|v| Visits { rows: v.rows * 2, words: v.words.div_ceil(2) }),
        };
        let sweep = Sweep::default().reads(&self.timing, &rows).reads(&self.timing, &self.packed(twiddles));
        sweep.writes(&self.timing, &written)
    }

    /// Either direction of a transform of limbs of so many primes, stage by stage of the mapping.
    fn transform(&self, tiling: &Tiling, limbs: u64, primes: u64, shape: u64) -> Cost {
        let (words, primes) = (self.words(tiling, limbs), primes.div_ceil(tiling.places()).max(1));
        let stages = tiling.stages();
        let inside = stages.iter().filter(|b| matches!(b, Border::Local)).count() as u64;
        let chained: Vec<u64> =
            stages.iter().filter_map(|b| if let Border::Pes(d) = b { Some(*d) } else { None }).collect();
        // As many stages in one sweep as a block of half the register file has.
        let block = u64::from((self.numbers.registers() / 2).ilog2().max(1));
        let sweeps = inside.div_ceil(block).max(1);
        let mut cost = Cost::default();
        for number in 0..sweeps {
            let here = inside.saturating_sub(number * block).min(block);
            let chain = if number == 0 { &chained[..] } else { &[] };
            let twiddles = primes * (((1 << inside) - 1) / sweeps + chain.len() as u64);
            let mut sweep = self.stage(tiling, limbs, shape, twiddles);
            sweep.arithmetic = self.modular((words / 2).saturating_mul(here + chain.len() as u64));
            sweep.chain = chain.iter().map(|&d| self.exchange_pes(words / 2, d)).fold(0, u64::saturating_add);
            cost += sweep.cost(&self.timing);
        }
        let rows: u64 = self.visits(tiling, limbs, shape).iter().map(|v| v.rows).sum();
        for border in stages {
            let mut sweep = self.stage(tiling, limbs, shape, primes);
            sweep.arithmetic = self.modular(words / 2);
            match border {
                Border::Local | Border::Pes(_) => continue,
                Border::Pairs(distance) => sweep.lisa = self.exchange_pairs(rows.div_ceil(2), distance),
                Border::Banks(distance) => {
                    sweep.bank_bytes = self.bytes(tiling, limbs) / 2 * Self::leaps(distance);
                    sweep.bank = self.between_banks(sweep.bank_bytes);
                }
            }
            cost += sweep.cost(&self.timing);
        }
        cost
    }

    /// Sums over limbs: each place has all sources of its tile, or partial sums of its own.
    fn convert(&self, tiling: &Tiling, work: &Work, shape: u64) -> Cost {
        let Kind::Convert { entries, sources, targets, scaled } = work.kind else { return Cost::default() };
        let (places, local) = (tiling.places(), tiling.local().max(1));
        let own = (shape / tiling.site.pes).min(local);
        let per_row = tiling.site.columns / shape;
        // Blocks of coefficients whose sources half of the register file holds.
        let block = (self.numbers.registers() / 2 / sources.max(1)).clamp(1, own);
        let fetches = (local / block).saturating_mul(entries);
        let fetch =
            Visits { rows: fetches.saturating_mul(sources.div_ceil(per_row)), words: block * sources.min(per_row) };
        let mut sweep = Sweep::default()
            .reads(&self.timing, &[fetch])
            .writes(&self.timing, &self.visits(tiling, entries * targets, shape));
        let products = |a: u64, b: u64| self.modular(local.saturating_mul(entries).saturating_mul(a.saturating_mul(b)));
        let scaling = if scaled { 0 } else { self.modular(self.words(tiling, entries * sources)) };
        let whole = products(sources, targets.div_ceil(places));
        let partial = products(sources.div_ceil(places), targets);
        // Sources come to all places, or partial sums of all places to those of the targets.
        let hops: u64 = (1..tiling.site.banks / tiling.banks).map(|g| Self::leaps(g * tiling.banks)).sum();
        let moved = |limbs: u64| self.bytes(tiling, limbs * entries).saturating_mul(hops);
        let (bytes, sums) = if sources <= targets { (moved(sources), whole) } else { (moved(targets), partial) };
        sweep.arithmetic = scaling.saturating_add(sums);
        sweep.bank_bytes = bytes;
        sweep.bank = self.between_banks(bytes);
        sweep.cost(&self.timing)
    }

    /// A permutation that the program knows.
    fn permute(&self, tiling: &Tiling, limbs: u64, permutation: &Permutation, shape: u64) -> Cost {
        let rows = self.visits(tiling, limbs, shape);
        let mut sweep = Sweep::default().reads(&self.timing, &rows).writes(&self.timing, &rows);
        let there = limbs.div_ceil(tiling.places());
        sweep.arithmetic = self.words(tiling, limbs);
        let hop_share =
            |hops: u64, sites: u64, links: u64| hops.saturating_mul(there).div_ceil(sites.max(1) * links.max(1));
        let sites = tiling.banks * tiling.pairs;
        sweep.chain = match self.numbers.network.pe_chain {
            Switch::On => self.on_chain(hop_share(permutation.pe_hops, sites, 2 * (tiling.site.pes - 1))),
            Switch::Off if permutation.pe_hops > 0 => self.through_row_buffer(self.words(tiling, limbs)),
            Switch::Off => 0,
        };
        if permutation.pair_hops > 0 {
            // Words of a tile go to one pair, row by row.
            let row_hops =
                hop_share(2 * permutation.pair_hops, tiling.banks * tiling.site.columns, 2 * tiling.pairs - 1);
            let t = &self.timing;
            sweep.lisa =
                row_hops.saturating_add(2 * tiling.pairs).saturating_mul(self.numbers.assumed.lisa_hop_cycles.value)
                    + t.t_rcd
                    + t.t_wr
                    + t.t_pre;
        }
        sweep.bank_bytes = limbs.saturating_mul(permutation.bank_hops).saturating_mul(self.numbers.word_bytes());
        sweep.bank = self.between_banks(sweep.bank_bytes);
        sweep.cost(&self.timing)
    }

    /// A rotation by a distance that is a ciphertext's: all its binary digits.
    fn rotate(&self, tiling: &Tiling, limbs: u64, shape: u64) -> Cost {
        let rows = self.visits(tiling, limbs, shape);
        let mut sweep = Sweep::default().reads(&self.timing, &rows).writes(&self.timing, &rows);
        let (words, all) = (self.words(tiling, limbs), rows.iter().map(|v| v.rows).sum());
        sweep.arithmetic = words;
        for border in tiling.stages() {
            match border {
                Border::Local => {}
                Border::Pes(distance) => sweep.chain += self.exchange_pes(words, distance),
                Border::Pairs(distance) => sweep.lisa += self.exchange_pairs(all, distance),
                Border::Banks(distance) => sweep.bank_bytes += self.bytes(tiling, limbs) * Self::leaps(distance),
            }
        }
        sweep.bank = self.between_banks(sweep.bank_bytes);
        sweep.cost(&self.timing)
    }

    /// Sums of key rows, weighted by digits: rows divided over places with a tree over what they make, or all rows to every
    /// place.
    fn lwe_product(&self, tiling: &Tiling, entries: u64, rows: u64, words: u64) -> Cost {
        let (places, local) = (tiling.places(), tiling.local().max(1) * words);
        let limbs = |count: u64| self.bytes(tiling, count.saturating_mul(words));
        // A block of sums in half of the register file: its side is read twice for its area.
        let side = (self.numbers.registers() / 2).isqrt().max(1);
        let sums = |terms: u64| {
            let products = terms.saturating_mul(local);
            let read = self.packed((2 * products).div_ceil(side));
            let mut sweep = Sweep::default().reads(&self.timing, &read);
            sweep.arithmetic = self.modular(products.saturating_mul(words));
            sweep
        };
        let result =
            |sweep: Sweep| sweep.writes(&self.timing, &self.packed(entries.div_ceil(places).saturating_mul(local)));
        let mut divided = result(sums(entries.saturating_mul(rows.div_ceil(places))));
        let digits = entries.saturating_mul(rows).saturating_mul(self.numbers.word_bytes() * words);
        divided.bank_bytes = digits.saturating_add(limbs(entries).saturating_mul(tiling.site.banks / tiling.banks - 1));
        divided.bank = self.between_banks(divided.bank_bytes);
        let mut moved = entries.saturating_mul(tiling.tile() * words).div_ceil(tiling.site.columns);
        let mut distance = tiling.site.pairs / 2;
        while distance >= tiling.pairs {
            moved = moved.div_ceil(2);
            divided.lisa += self.exchange_pairs(moved, distance);
            distance /= 2;
        }
        let mut everywhere = result(sums(entries.div_ceil(places).saturating_mul(rows)));
        self.spread(tiling, [rows.saturating_mul(words), entries], &mut everywhere);
        let (a, b) = (divided.cost(&self.timing), everywhere.cost(&self.timing));
        if a.ticks <= b.ticks { a } else { b }
    }
}
