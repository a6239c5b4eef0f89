//! Timing of instruction issue: the pipeline's round robin, the DMA engine, and the counts of a run.

use crate::{
    dpu::{Counts, Direction, Preset},
    execute::Next,
};

/// Ready time of a sleeping tasklet.
const NEVER: u64 = u64::MAX;

pub(crate) struct Clock<'a> {
    preset: &'a Preset,
    ready: Vec<u64>,
    pub(crate) now: u64,
    turn: usize,
    /// Cycle at which the DMA engine is free.
    engine: u64,
    pub(crate) counts: Counts,
}

impl<'a> Clock<'a> {
    pub(crate) fn new(preset: &'a Preset, tasklets: usize) -> Self {
        Self { preset, ready: vec![0; tasklets], now: 0, turn: 0, engine: 0, counts: Counts::default() }
    }

    /// The tasklet that issues next: the first of the round that is ready, now or at the earliest time; `None` if all sleep.
    #[inline(always)]
    pub(crate) fn turn(&mut self) -> Option<usize> {
        if self.ready[self.turn] > self.now {
            let round = (self.turn..self.ready.len()).chain(0..self.turn);
            let first = round.min_by_key(|&t| self.ready[t].max(self.now))?;
            if self.ready[first] == NEVER {
                return None;
            }
            (self.turn, self.now) = (first, self.now.max(self.ready[first]));
        }
        Some(self.turn)
    }

    /// Issues an instruction of the current tasklet.
    #[inline(always)]
    pub(crate) fn issue(&mut self, hazard: u64) {
        self.counts.slots += 1;
        self.counts.hazards += hazard;
        self.ready[self.turn] = self.now + hazard + self.preset.interval;
        self.now += 1 + hazard;
        self.turn = if self.turn + 1 == self.ready.len() { 0 } else { self.turn + 1 };
    }

    /// Applies the effect on the clock of an instruction issued at a cycle.
    #[inline(always)]
    pub(crate) fn apply(&mut self, tasklet: usize, at: u64, next: &Next) {
        match *next {
            Next::Transfer(direction, bytes) => {
                self.engine = self.engine.max(at) + self.preset.transfer_cycles(direction, u64::from(bytes));
                self.ready[tasklet] = self.ready[tasklet].max(self.engine);
                let way = usize::from(direction == Direction::ToMram);
                self.counts.transfers[way] += 1;
                self.counts.bytes[way] += u64::from(bytes);
            }
            Next::Stop => {
                self.counts.cycles = self.counts.cycles.max(self.ready[tasklet]);
                self.ready[tasklet] = NEVER;
            }
            Next::Wake(sleeper) => self.ready[sleeper] = at + self.preset.interval,
            Next::Go | Next::Trap(..) => {}
        }
    }

    /// Where all that are awake have instructions ahead which nobody else can notice, and the round repeats itself: as many
    /// rounds at once as the least of them has.
    pub(crate) fn skip_rounds(&mut self, ahead: &mut [u64]) {
        let (interval, count) = (self.preset.interval, self.ready.len());
        let (mut awake, mut rounds, mut taken, mut saturated) = (0, u64::MAX, 0u64, true);
        for t in (self.turn..count).chain(0..self.turn).filter(|&t| self.ready[t] != NEVER) {
            saturated &= self.ready[t] <= self.now + awake;
            let offset = self.ready[t].saturating_sub(self.now);
            taken |= if offset < interval { 1 << offset } else { 0 };
            rounds = rounds.min(ahead[t]);
            awake += 1;
        }
        // Full pipeline: each in its turn. Else: no two of them meet within an interval.
        let full = awake >= interval && saturated;
        let period = if full { awake } else { interval };
        if rounds < 2 || awake == 0 || !(full || u64::from(taken.count_ones()) == awake) {
            return;
        }
        let mut position = 0;
        for t in (self.turn..count).chain(0..self.turn) {
            if self.ready[t] != NEVER {
                let last = if full { self.now + position } else { self.ready[t].max(self.now) } + (rounds - 1) * period;
                self.ready[t] = last + interval;
                ahead[t] -= rounds;
                position += 1;
            }
        }
        self.now += rounds * period;
        self.counts.slots += rounds * awake;
    }
}
