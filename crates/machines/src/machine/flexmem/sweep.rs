//! One pass of all PEs over rows, and what a sum of such passes takes.

use crate::dram::{Access, Timing};

/// Time of an operation on a chip, and what of it each network is busy with. Networks work beside sweeps, so their times do
/// not add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) ticks: u64,
    pub(super) chain: u64,
    pub(super) lisa: u64,
    pub(super) bank: u64,
    /// Ticks of it in which shapes change.
    pub(super) remap: u64,
    /// Words of each PE.
    pub(super) read: u64,
    pub(super) written: u64,
    /// Bytes over the bank network.
    pub(super) bank_bytes: u64,
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, o: Self) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut self.ticks, o.ticks);
        sum(&mut self.chain, o.chain);
        sum(&mut self.lisa, o.lisa);
        sum(&mut self.bank, o.bank);
        sum(&mut self.remap, o.remap);
        sum(&mut self.read, o.read);
        sum(&mut self.written, o.written);
        sum(&mut self.bank_bytes, o.bank_bytes);
    }
}

impl Cost {
    /// The same, so many times.
    pub(super) fn times(self, count: u64) -> Self {
        let by = |x: u64| x.saturating_mul(count);
        Self {
            ticks: by(self.ticks),
            chain: by(self.chain),
            lisa: by(self.lisa),
            bank: by(self.bank),
            remap: by(self.remap),
            read: by(self.read),
            written: by(self.written),
            bank_bytes: by(self.bank_bytes),
        }
    }
}

/// Rows that are opened, and the words that a PE uses of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visits {
    pub(super) rows: u64,
    pub(super) words: u64,
}

/// One pass of all PEs over rows: read in one subarray of the pair, written in the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sweep {
    pub(super) read: u64,
    pub(super) write: u64,
    pub(super) first: u64,
    pub(super) rows: u64,
    pub(super) read_words: u64,
    pub(super) written_words: u64,
    pub(super) arithmetic: u64,
    pub(super) chain: u64,
    pub(super) bank: u64,
    pub(super) lisa: u64,
    pub(super) bank_bytes: u64,
}

impl Sweep {
    pub(super) fn reads(mut self, timing: &Timing, visits: &[Visits]) -> Self {
        for v in visits.iter().filter(|v| v.rows > 0) {
            let one = timing.visit(Access::Read, v.words);
            self.first = if self.first == 0 { one } else { self.first };
            self.read = self.read.saturating_add(one.saturating_mul(v.rows));
            self.read_words = self.read_words.saturating_add(v.words.saturating_mul(v.rows));
            self.rows = self.rows.saturating_add(v.rows);
        }
        self
    }

    pub(super) fn writes(mut self, timing: &Timing, visits: &[Visits]) -> Self {
        for v in visits.iter().filter(|v| v.rows > 0) {
            self.write = self.write.saturating_add(timing.visit(Access::Write, v.words).saturating_mul(v.rows));
            self.written_words = self.written_words.saturating_add(v.words.saturating_mul(v.rows));
            self.rows = self.rows.saturating_add(v.rows);
        }
        self
    }

    /// The longest of all that goes on side by side, after the first row has come; rows that change pairs stop all that.
    pub(super) fn cost(&self, timing: &Timing) -> Cost {
        let activations = self.rows.saturating_mul(timing.t_rrd);
        let beside = [self.read, self.write, activations, self.arithmetic, self.chain, self.bank];
        let longest = beside.into_iter().max().unwrap_or(0);
        Cost {
            ticks: longest.saturating_add(self.first).saturating_add(self.lisa),
            chain: self.chain,
            lisa: self.lisa,
            bank: self.bank,
            remap: 0,
            read: self.read_words,
            written: self.written_words,
            bank_bytes: self.bank_bytes,
        }
    }
}
