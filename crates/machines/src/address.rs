//! Where a word of a polynomial stands in DRAM, and how long the whole polynomial takes in each order of access.
//!
//! [`Ddr`] serves one table, claims MAD3 to MAD5 of `limbwise reproduce mad` (ADR 80). [`Tiling`] is where the words of limbs
//! stand beside PEs, by which the machine `flexmem` counts what moves (ADR 132).
//!
//! Transforms read a polynomial limb after limb, changes of basis slot after slot. A physical address is, from the lowest
//! bit, byte | column | bank | bank group | rank | row; which bits of limb and slot go where decides how often a row
//! must be changed \[MAD\]. This module steps through every burst of a polynomial: open rows, banks, bank groups and the queue of
//! a controller that serves first what waits for nothing. [`crate::dram`] has the closed form for streams of machines.

use crate::report::as_f64;

/// A polynomial of words of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polynomial {
    /// log₂ of its slots, at least 3.
    pub log_n: u32,
    /// Number of limbs.
    pub limbs: u64,
}

/// Address bits of a word's limb and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// All of the slot below all of the limb.
    LimbAboveSlot,
    /// Low bits of each below the rest: slot low, limb low, slot high, limb high.
    Split {
        /// Low bits of the slot, at least 3.
        slot_bits: u32,
        /// Low bits of the limb.
        limb_bits: u32,
    },
}

/// Order of access, in bursts of eight neighboring slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// All slots of a limb, then the next limb.
    LimbWise,
    /// All limbs of so many slots, then the next slots; a power of two, at least 8.
    SlotWise {
        /// Slots that are worked on together.
        slots: u64,
    },
}

/// One channel of DDR; times in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ddr {
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Banks of a group.
    pub banks: u64,
    /// Number of bank groups.
    pub groups: u64,
    /// Number of ranks.
    pub ranks: u64,
    /// From a burst to the next, in another group.
    pub t_ccd_s: f64,
    /// From a burst to the next, in the same group.
    pub t_ccd_l: f64,
    /// From activation to a column command.
    pub t_rcd: f64,
    /// From precharge to activation.
    pub t_rp: f64,
    /// From activation to precharge.
    pub t_ras: f64,
    /// From a column command to precharge.
    pub t_rtp: f64,
    /// Interval between refreshes, tREFI.
    pub t_refi: f64,
    /// Duration of a refresh, tRFC.
    pub t_rfc: f64,
    /// Requests that the controller looks at.
    pub queue: usize,
}

const BURST_BYTES: u64 = 64;
const SLOTS_OF_A_BURST: u64 = 8;

impl Ddr {
    /// DDR4-2133, one rank of 8 Gb chips, by JEDEC's numbers of the grade (15-15-15); a queue of 32 is what simulators of
    /// memory take.
    #[must_use]
    pub fn ddr4_2133() -> Self {
        Self {
            row_bytes: 8192,
            banks: 4,
            groups: 4,
            ranks: 1,
            t_ccd_s: 3.75,
            t_ccd_l: 5.355,
            t_rcd: 14.06,
            t_rp: 14.06,
            t_ras: 33.0,
            t_rtp: 7.5,
            t_refi: 7800.0,
            t_rfc: 350.0,
            queue: 32,
        }
    }

    /// Peak, in bytes a ns.
    #[must_use]
    pub fn peak(&self) -> f64 {
        as_f64(BURST_BYTES) / self.t_ccd_s
    }

    /// Nanoseconds to read a polynomial in an order.
    #[must_use]
    pub fn access_ns(&self, polynomial: Polynomial, mapping: Mapping, access: Access) -> f64 {
        let mut controller = Controller::new(self);
        let bursts = (1u64 << polynomial.log_n) / SLOTS_OF_A_BURST;
        let mut request = |limb, burst| controller.request(mapping.burst(polynomial, limb, burst));
        match access {
            Access::LimbWise => {
                (0..polynomial.limbs).for_each(|limb| (0..bursts).for_each(|burst| request(limb, burst)));
            }
            Access::SlotWise { slots } => {
                let together = (slots / SLOTS_OF_A_BURST).clamp(1, bursts);
                for first in 0..bursts / together {
                    for limb in 0..polynomial.limbs {
                        (0..together).for_each(|burst| request(limb, first * together + burst));
                    }
                }
            }
        }
        controller.finish() / (1.0 - self.t_rfc / self.t_refi)
    }
}

impl Mapping {
    /// The number of a burst in memory.
    fn burst(self, polynomial: Polynomial, limb: u64, burst: u64) -> u64 {
        let bits = polynomial.log_n - SLOTS_OF_A_BURST.ilog2();
        match self {
            Self::LimbAboveSlot => limb << bits | burst,
            Self::Split { slot_bits, limb_bits } => {
                let low = slot_bits.saturating_sub(SLOTS_OF_A_BURST.ilog2()).min(bits);
                let (slot_low, slot_high) = (burst & ((1 << low) - 1), burst >> low);
                let (limb_low, limb_high) = (limb & ((1 << limb_bits) - 1), limb >> limb_bits);
                let high = limb_high << (bits - low) | slot_high;
                (high << limb_bits | limb_low) << low | slot_low
            }
        }
    }
}

/// A bank: its open row and when it may do what.
#[derive(Clone, Copy, Default)]
struct Bank {
    row: Option<u64>,
    activated: f64,
    /// Time of the last column command.
    read: f64,
}

/// A request that waits: bank, row, since when.
#[derive(Clone, Copy)]
struct Request {
    bank: usize,
    row: u64,
    since: f64,
}

/// The channel while requests come.
struct Controller<'d> {
    ddr: &'d Ddr,
    banks: Vec<Bank>,
    queue: Vec<Request>,
    /// The last column command, and its bank group.
    now: f64,
    group: usize,
}

impl<'d> Controller<'d> {
    fn new(ddr: &'d Ddr) -> Self {
        let banks = usize::try_from(ddr.banks * ddr.groups * ddr.ranks).unwrap_or(1);
        Self { ddr, banks: vec![Bank::default(); banks], queue: Vec::new(), now: 0.0, group: usize::MAX }
    }

    /// A request comes as soon as the queue has a place for it.
    fn request(&mut self, burst: u64) {
        if self.queue.len() == self.ddr.queue.max(1) {
            self.serve();
        }
        let row_bursts = self.ddr.row_bytes / BURST_BYTES;
        let all = self.banks.len() as u64;
        let number = burst / row_bursts;
        let bank = usize::try_from(number % all).unwrap_or(0);
        self.queue.push(Request { bank, row: number / all, since: self.now });
    }

    /// The earliest column command for a request.
    fn earliest(&self, request: &Request) -> f64 {
        let (ddr, bank) = (self.ddr, &self.banks[request.bank]);
        let ready = match bank.row {
            Some(row) if row == request.row => bank.activated + ddr.t_rcd,
            // Activated as soon as it is known that the row is wanted and the last one may be left.
            Some(_) => request.since.max(bank.activated + ddr.t_ras).max(bank.read + ddr.t_rtp) + ddr.t_rp + ddr.t_rcd,
            None => request.since + ddr.t_rcd,
        };
        let step = if self.group_of(request.bank) == self.group { ddr.t_ccd_l } else { ddr.t_ccd_s };
        ready.max(self.now + step)
    }

    fn group_of(&self, bank: usize) -> usize {
        bank / usize::try_from(self.ddr.banks).unwrap_or(1)
    }

    /// Serves what can be served first, the oldest of those.
    fn serve(&mut self) {
        let times = self.queue.iter().enumerate().map(|(at, request)| (self.earliest(request), at));
        let Some((time, at)) = times.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        let request = self.queue.remove(at);
        let bank = &mut self.banks[request.bank];
        if bank.row != Some(request.row) {
            *bank = Bank { row: Some(request.row), activated: time - self.ddr.t_rcd, read: time };
        }
        bank.read = time;
        self.now = time;
        self.group = self.group_of(request.bank);
    }

    fn finish(mut self) -> f64 {
        while !self.queue.is_empty() {
            self.serve();
        }
        self.now + self.ddr.t_ccd_s
    }
}

/// Subarray pairs of a chip and the PEs between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// Banks of a chip.
    pub banks: u64,
    /// Pairs of subarrays of a bank.
    pub pairs: u64,
    /// Words of a row.
    pub columns: u64,
    /// PEs of a pair; each has every so-many-th column.
    pub pes: u64,
}

/// Where the coefficients of limbs stand in a chip. All numbers are powers of two.
///
/// A limb fills `pe_coefficients` words of each PE of a pair, then pairs, then banks, and what is left comes to the PEs. A
/// chip has room for several limbs side by side, its places; limbs take places in turn, and what is in one place shares
/// rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    /// The chip.
    pub site: Site,
    /// Coefficients.
    pub n: u64,
    /// Banks of a limb.
    pub banks: u64,
    /// Pairs of a limb in each of its banks.
    pub pairs: u64,
}

/// A word in a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word {
    /// Its bank.
    pub bank: u64,
    /// Its pair of subarrays there.
    pub pair: u64,
    /// Its row in the subarray.
    pub row: u64,
    /// Its column in the row.
    pub column: u64,
}

/// How far apart two words are: the widest border between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// The same PE.
    Local,
    /// So many PEs of the same pair.
    Pes(u64),
    /// So many pairs of the same bank.
    Pairs(u64),
    /// So many banks.
    Banks(u64),
}

impl Tiling {
    /// A ring in a chip, filled from the inside.
    #[must_use]
    pub fn new(site: Site, n: u64, pe_coefficients: u64, most_banks: u64) -> Self {
        let pairs = (n / (pe_coefficients * site.pes)).clamp(1, site.pairs);
        let banks = (n / (pe_coefficients * site.pes * pairs)).clamp(1, most_banks.min(site.banks));
        Self { site, n, banks, pairs }
    }

    /// Limbs that stand side by side in subarrays of their own.
    #[must_use]
    pub fn places(&self) -> u64 {
        self.site.banks / self.banks * (self.site.pairs / self.pairs)
    }

    /// Words of a limb in a pair: its tile.
    #[must_use]
    pub fn tile(&self) -> u64 {
        self.n / (self.banks * self.pairs)
    }

    /// Words of a limb in a PE.
    #[must_use]
    pub fn local(&self) -> u64 {
        self.tile() / self.site.pes
    }

    /// Where coefficient i of limb number k stands, if a limb has `poly_col` columns of a row. Limb j of polynomial p of L
    /// limbs has the number p·L + j.
    #[must_use]
    pub fn word(&self, limb: u64, coefficient: u64, poly_col: u64) -> Word {
        let (pes, tile) = (self.site.pes, self.tile());
        let (place, slot) = (limb % self.places(), limb / self.places());
        let groups = self.site.banks / self.banks;
        // From the lowest bit: column in the PE, row, PE, pair, bank.
        let (own, pe) = (coefficient % self.local(), coefficient / self.local() % pes);
        let (pair, bank) = (coefficient / tile % self.pairs, coefficient / (tile * self.pairs));
        let (columns, per_row) = (poly_col / pes, self.site.columns / poly_col);
        let (column, row) = (own % columns, own / columns);
        Word {
            bank: place % groups * self.banks + bank,
            pair: place / groups * self.pairs + pair,
            row: slot / per_row * (tile / poly_col) + row,
            column: slot % per_row * poly_col + column * pes + pe,
        }
    }

    /// The PE of a column.
    #[must_use]
    pub fn pe(&self, word: Word) -> u64 {
        word.column % self.site.pes
    }

    /// The border between two words.
    #[must_use]
    pub fn border(&self, a: Word, b: Word) -> Border {
        if a.bank != b.bank {
            return Border::Banks(a.bank.abs_diff(b.bank));
        }
        if a.pair != b.pair {
            return Border::Pairs(a.pair.abs_diff(b.pair));
        }
        match self.pe(a).abs_diff(self.pe(b)) {
            0 => Border::Local,
            distance => Border::Pes(distance),
        }
    }

    /// The border that each stage of a transform crosses, from the lowest bit of the coefficient.
    #[must_use]
    pub fn stages(&self) -> Vec<Border> {
        let poly_col = self.tile().min(self.site.columns);
        let word = |coefficient| self.word(0, coefficient, poly_col);
        (0..self.n.ilog2()).map(|bit| self.border(word(0), word(1 << bit))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const SMALL: Polynomial = Polynomial { log_n: 12, limbs: 16 };

    fn no_refresh() -> Ddr {
        Ddr { t_rfc: 0.0, ..Ddr::ddr4_2133() }
    }

    #[test]
    fn a_stream_of_one_group_after_the_other_runs_at_the_long_step() {
        let ddr = no_refresh();
        let ns = ddr.access_ns(SMALL, Mapping::LimbAboveSlot, Access::LimbWise);
        let bursts = 16.0 * 512.0;
        // But where the queue holds the end of one group and the beginning of the next.
        assert!(ns >= bursts * ddr.t_ccd_l * 0.95 && ns <= bursts * ddr.t_ccd_l + 64.0, "{ns}");
    }

    /// A queue of one: each request pays for its row, nothing overlaps.
    #[test]
    fn rows_of_one_bank_take_a_cycle_of_the_bank_each() {
        let ddr = Ddr { queue: 1, ..no_refresh() };
        let large = Polynomial { log_n: 17, limbs: 4 }; // a limb is 8 times all banks' rows
        let ns = ddr.access_ns(large, Mapping::LimbAboveSlot, Access::SlotWise { slots: 8 });
        let cycle = (ddr.t_ras).max(ddr.t_rcd + ddr.t_rtp) + ddr.t_rp;
        let wanted = cycle * 4.0 * f64::from(1 << 14);
        assert!((ns / wanted - 1.0).abs() < 0.01, "{ns} for {wanted}");
    }

    const SITE: Site = Site { banks: 64, pairs: 16, columns: 512, pes: 8 };

    #[test]
    fn stages_are_as_published() {
        let split = |log_n: u32, pe_coefficients, most_banks| {
            let stages = Tiling::new(SITE, 1 << log_n, pe_coefficients, most_banks).stages();
            let of = |wanted: fn(&Border) -> bool| stages.iter().filter(|b| wanted(b)).count();
            let (pes, pairs) = (of(|b| matches!(b, Border::Pes(_))), of(|b| matches!(b, Border::Pairs(_))));
            [of(|b| *b == Border::Local), pes, pairs, of(|b| matches!(b, Border::Banks(_)))]
        };
        assert_eq!(split(16, 32, 16), [5, 3, 4, 4]);
        assert_eq!(split(16, 8, 64), [3, 3, 4, 6], "over all banks");
        assert_eq!(split(10, 32, 16), [5, 3, 2, 0]);
        assert_eq!(split(14, 32, 16), [5, 3, 4, 2]);
        assert_eq!(split(17, 32, 16), [6, 3, 4, 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Every word has a place of its own, in the chip; a subarray has all limbs of its place's tile.
        #[test]
        fn words_of_limbs_have_places(
            log_n in 8u32..15,
            limbs in 1u64..9,
            polynomials in 1u64..4,
            log_pes in 0u32..5,
            log_banks in 0u32..7,
            log_columns in 0u32..10,
        ) {
            let (n, pes) = (1u64 << log_n, 1 << log_pes);
            let site = Site { banks: 8, pairs: 4, pes, ..SITE };
            let tiling = Tiling::new(site, n, 8, 1 << log_banks);
            let poly_col = (1u64 << log_columns).clamp(pes, tiling.tile().min(site.columns));
            prop_assume!(poly_col <= tiling.tile() && poly_col >= pes);
            let mut seen = HashSet::new();
            let mut held = std::collections::HashMap::<(u64, u64), HashSet<u64>>::new();
            for limb in 0..limbs * polynomials {
                for coefficient in 0..n {
                    let word = tiling.word(limb, coefficient, poly_col);
                    prop_assert!(word.bank < site.banks && word.pair < site.pairs && word.column < site.columns);
                    prop_assert!(seen.insert(word), "two words at {word:?}");
                    held.entry((word.bank, word.pair)).or_default().insert(limb);
                }
            }
            let places = tiling.places();
            for limbs_there in held.values() {
                let place = limbs_there.iter().next().unwrap() % places;
                let all: HashSet<u64> = (0..limbs * polynomials).filter(|limb| limb % places == place).collect();
                prop_assert_eq!(limbs_there, &all);
            }
        }

        /// The border of a stage is that of every pair of coefficients in it.
        #[test]
        fn a_stage_has_one_border(log_n in 8u32..15, log_pes in 0u32..5, bit in 0u32..15) {
            let site = Site { banks: 8, pairs: 4, pes: 1 << log_pes, ..SITE };
            let tiling = Tiling::new(site, 1 << log_n, 8, 8);
            prop_assume!(bit < log_n && tiling.tile() <= 512);
            let border = tiling.stages()[bit as usize];
            for coefficient in (0..1u64 << log_n).filter(|i| i >> bit & 1 == 0) {
                let word = |i| tiling.word(3, i, tiling.tile());
                prop_assert_eq!(tiling.border(word(coefficient), word(coefficient | 1 << bit)), border);
            }
        }
    }

    proptest! {
        /// Every mapping gives each burst a place of its own, and no access is faster than the pins.
        #[test]
        fn places_are_distinct_and_pins_bound(slot_bits in 3u32..9, limb_bits in 0u32..4, queue in 1usize..40, slots in 3u32..9) {
            let mapping = Mapping::Split { slot_bits, limb_bits };
            let places: HashSet<u64> =
                (0..16).flat_map(|limb| (0..512).map(move |burst| mapping.burst(SMALL, limb, burst))).collect();
            prop_assert_eq!(places.len(), 16 * 512);
            let ddr = Ddr { queue, ..no_refresh() };
            let ns = ddr.access_ns(SMALL, mapping, Access::SlotWise { slots: 1 << slots });
            prop_assert!(ns >= 16.0 * 512.0 * ddr.t_ccd_s);
        }
    }
}
