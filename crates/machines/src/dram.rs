//! How long a stream of bytes takes to or from off-chip memory: by bandwidth alone, or by channels, banks, rows and
//! refresh.
//!
//! Every value that a program moves is a long sequential stream, laid out so that all channels have their share of it
//! and that a channel goes to its next bank for its next row. Such a stream runs at the peak bandwidth as long as the
//! banks that are not read have the time to change rows and to be refreshed; what does not fit into that time is added.
//! The unit tests step through banks one row at a time and come to the same.
//!
//! Units beside the sense amplifiers see the commands themselves: [`Timing`] has the constraints of one pair of subarrays,
//! [`Pair`] issues commands one by one, and [`Timing::visit`] is the closed form of a row that is opened, used and closed.

use crate::{program::TaskKind, report::as_f64};

/// Off-chip memory as a source and sink of streams; times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stream {
    /// A bandwidth, the time to the first data and the least that is moved.
    Bandwidth {
        /// Bytes a tick of all channels together.
        bytes_per_tick: f64,
        /// From a request to its first data.
        latency: u64,
        /// Streams are whole multiples of this.
        burst_bytes: u64,
    },
    /// Channels of banks.
    Dram(Dram),
}

/// Channels of banks of rows; times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dram {
    /// Independent channels, all of which take part in a stream.
    pub channels: u64,
    /// Banks of a channel.
    pub banks: u64,
    /// Bytes of a row of one bank.
    pub row_bytes: u64,
    /// Bytes of a burst of one channel.
    pub burst_bytes: u64,
    /// Peak of all channels together.
    pub bytes_per_tick: f64,
    /// From a request to the command, and back from the pins.
    pub transport: f64,
    /// Row to column: from activation to the first column command.
    pub t_rcd: f64,
    /// From a column command to its data.
    pub t_cl: f64,
    /// Precharge: from the end of a row to the next activation.
    pub t_rp: f64,
    /// Least time from an activation to the precharge.
    pub t_ras: f64,
    /// Refresh interval of a bank, or of all banks.
    pub t_refi: f64,
    /// Length of a refresh.
    pub t_rfc: f64,
    /// Whether one bank is refreshed while the others go on.
    pub refresh: Refresh,
    /// Lost when the direction changes.
    pub turnaround: f64,
}

/// The banks that a refresh stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refresh {
    /// One bank at a time: the others go on.
    PerBank,
    /// The whole channel.
    AllBanks,
}

impl Stream {
    /// Peak bandwidth.
    #[must_use]
    pub fn bytes_per_tick(&self) -> f64 {
        match self {
            Self::Bandwidth { bytes_per_tick, .. } | Self::Dram(Dram { bytes_per_tick, .. }) => *bytes_per_tick,
        }
    }

    /// Ticks that a stream holds the memory, and ticks from its start to the first data besides.
    #[must_use]
    pub fn ticks(&self, kind: TaskKind, bytes: u64) -> (u64, u64) {
        match self {
            Self::Bandwidth { bytes_per_tick, latency, burst_bytes } => {
                let bytes = bytes.div_ceil(*burst_bytes).saturating_mul(*burst_bytes);
                (ticks(as_f64(bytes) / bytes_per_tick), *latency)
            }
            Self::Dram(dram) => {
                // The stream before and the one after a store are taken to be loads.
                let turns = if kind == TaskKind::Store { 2.0 * dram.turnaround } else { 0.0 };
                (ticks(dram.stream(bytes) + turns), ticks(dram.transport + dram.t_rcd + dram.t_cl))
            }
        }
    }
}

impl Dram {
    /// Ticks that the bursts of one channel take, one after another.
    fn stream(&self, bytes: u64) -> f64 {
        let share = bytes.div_ceil(self.channels.saturating_mul(self.burst_bytes)).saturating_mul(self.burst_bytes);
        let data = as_f64(share) / self.channel_rate();
        let per_row = (self.bank_cycle() / as_f64(self.banks)).max(self.row_time());
        let changes = as_f64(share.div_ceil(self.row_bytes).saturating_sub(1));
        let busy = data + changes * (per_row - self.row_time());
        busy / (1.0 - self.refresh_share())
    }

    fn channel_rate(&self) -> f64 {
        self.bytes_per_tick / as_f64(self.channels)
    }

    fn row_time(&self) -> f64 {
        as_f64(self.row_bytes) / self.channel_rate()
    }

    /// From the activation of a row that is read to its end to the next one in the same bank.
    fn bank_cycle(&self) -> f64 {
        (self.t_rcd + self.row_time()).max(self.t_ras) + self.t_rp
    }

    /// Share of the time that refresh takes from a stream: nothing if the other banks have enough rows meanwhile.
    fn refresh_share(&self) -> f64 {
        let (lost, every) = match self.refresh {
            Refresh::AllBanks => (self.t_rfc + self.t_rp + self.t_rcd, self.t_refi),
            Refresh::PerBank => {
                let others = as_f64(self.banks - 1) * self.row_time().max(self.bank_cycle() / as_f64(self.banks));
                ((self.bank_cycle() - self.row_time() + self.t_rfc - others).max(0.0), self.t_refi / as_f64(self.banks))
            }
        };
        (lost / every).min(MOST_REFRESH)
    }
}

/// Constraints on the commands of a pair of subarrays, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From a column command of an open row to the next one there.
    pub t_ccd: u64,
    /// From a word in the bank's global row buffer to the next one.
    pub t_ccd_s: u64,
    /// From the last write to the precharge.
    pub t_wr: u64,
    /// From precharge to activation.
    pub t_pre: u64,
    /// Least time from an activation to the precharge.
    pub t_act: u64,
    /// From activation to the first column command.
    pub t_rcd: u64,
    /// Between activations of the two subarrays.
    pub t_rrd: u64,
}

/// A command to one subarray of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a row.
    Activate,
    /// Each PE takes a word of the open row.
    Read,
    /// Each PE gives a word to the open row.
    Write,
    /// Closes the row.
    Precharge,
}

/// What an open row is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// PEs take words.
    Read,
    /// PEs give words.
    Write,
}

impl Timing {
    /// Ticks from an activation to the next one of the same subarray, if each PE takes or gives so many words between.
    #[must_use]
    pub fn visit(&self, access: Access, words: u64) -> u64 {
        // The last column command is one step before the end of the words, but its data take that step.
        let used = self.t_rcd.saturating_add(words.saturating_mul(self.t_ccd));
        let recovery = if access == Access::Write { self.t_wr } else { 0 };
        used.saturating_add(recovery).max(self.t_act).saturating_add(self.t_pre)
    }
}

/// A subarray while commands come.
#[derive(Clone, Copy, Debug, Default)]
struct Subarray {
    /// Time of the last activation, if a row is open.
    opened: Option<u64>,
    /// When the next activation, column command and precharge may come.
    activate: u64,
    column: u64,
    precharge: u64,
}

/// Two subarrays that share PEs: one is read while the other is written.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    timing: Timing,
    subarrays: [Subarray; 2],
    /// The last activation of either.
    activated: Option<u64>,
}

impl Pair {
    /// Both closed.
    #[must_use]
    pub fn new(timing: Timing) -> Self {
        Self { timing, subarrays: [Subarray::default(); 2], activated: None }
    }

    /// The earliest time of a command; `None` if the row is open that should be closed, or closed that should be open.
    #[must_use]
    pub fn earliest(&self, subarray: usize, command: Command) -> Option<u64> {
        let at = &self.subarrays[subarray];
        match command {
            Command::Activate if at.opened.is_none() => {
                let apart = self.activated.map_or(0, |last| last + self.timing.t_rrd);
                Some(at.activate.max(apart))
            }
            Command::Read | Command::Write if at.opened.is_some() => Some(at.column),
            Command::Precharge if at.opened.is_some() => Some(at.precharge),
            _ => None,
        }
    }

    /// Issues a command at a time. Whether it was allowed.
    pub fn issue(&mut self, subarray: usize, command: Command, now: u64) -> bool {
        if self.earliest(subarray, command).is_none_or(|earliest| now < earliest) {
            return false;
        }
        let (timing, at) = (self.timing, &mut self.subarrays[subarray]);
        match command {
            Command::Activate => {
                (at.opened, self.activated) = (Some(now), Some(now));
                (at.column, at.precharge) = (now + timing.t_rcd, now + timing.t_act);
            }
            Command::Read | Command::Write => {
                at.column = now + timing.t_ccd;
                let recovery = if command == Command::Write { timing.t_wr } else { 0 };
                at.precharge = at.precharge.max(at.column + recovery);
            }
            Command::Precharge => {
                at.opened = None;
                at.activate = now + timing.t_pre;
            }
        }
        true
    }
}

/// A memory that did nothing but refresh would be no memory: streams keep at least a hundredth of the time.
const MOST_REFRESH: f64 = 0.99;

/// Whole ticks, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time; saturates at 2^64")]
pub(crate) fn ticks(x: f64) -> u64 {
    x.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two stacks of HBM2, times in ns.
    fn hbm2() -> Dram {
        Dram {
            channels: 32,
            banks: 16,
            row_bytes: 1024,
            burst_bytes: 32,
            bytes_per_tick: 1000.0,
            transport: 90.0,
            t_rcd: 14.0,
            t_cl: 14.0,
            t_rp: 14.0,
            t_ras: 33.0,
            t_refi: 3900.0,
            t_rfc: 160.0,
            refresh: Refresh::PerBank,
            turnaround: 15.0,
        }
    }

    /// One channel, a row at a time: when each bank may be activated again, and who is refreshed when.
    fn stepwise(d: &Dram, bytes: u64) -> f64 {
        let share = bytes.div_ceil(d.channels * d.burst_bytes) * d.burst_bytes;
        let rate = d.bytes_per_tick / d.channels as f64;
        let mut bank_free = vec![0.0f64; usize::try_from(d.banks).unwrap()];
        let (mut bus, mut left, mut row) = (d.t_rcd, share, 0usize);
        let mut refreshes = 1.0;
        while left > 0 {
            let bank = row % bank_free.len();
            let chunk = left.min(d.row_bytes);
            let last = (row + bank_free.len() - 1) % bank_free.len();
            match d.refresh {
                Refresh::AllBanks if bus >= refreshes * d.t_refi => {
                    refreshes += 1.0;
                    let until = bus + d.t_rp + d.t_rfc;
                    bank_free.fill(until);
                }
                // The bank whose row was just left has the longest time before it is wanted again.
                Refresh::PerBank if bus >= refreshes * d.t_refi / d.banks as f64 => {
                    refreshes += 1.0;
                    bank_free[last] += d.t_rfc;
                }
                _ => {}
            }
            let activated = bank_free[bank];
            let from = bus.max(activated + d.t_rcd);
            bus = from + chunk as f64 / rate;
            bank_free[bank] = bus.max(from - d.t_rcd + d.t_ras) + d.t_rp;
            (left, row) = (left - chunk, row + 1);
        }
        bus - d.t_rcd
    }

    #[test]
    fn a_key_streams_at_nearly_the_peak() {
        let key = 120 << 20;
        let (busy, first) = Stream::Dram(hbm2()).ticks(TaskKind::Load, key);
        assert_eq!((busy, first), (125_830, 118)); // 10^9 bytes a second
        let all_banks = Dram { refresh: Refresh::AllBanks, t_rfc: 350.0, ..hbm2() };
        let slower = Stream::Dram(all_banks).ticks(TaskKind::Load, key).0;
        assert!((slower as f64 / busy as f64 - 1.0 / (1.0 - 378.0 / 3900.0)).abs() < 1e-4);
        assert_eq!(Stream::Dram(hbm2()).ticks(TaskKind::Store, key).0, busy + 30);
    }

    #[test]
    fn one_bank_pays_for_every_row() {
        let one = Dram { banks: 1, refresh: Refresh::AllBanks, t_rfc: 0.0, t_refi: 1e12, ..hbm2() };
        let row = 1024.0 / 31.25;
        let rows = 64.0;
        let wanted = rows * row + (rows - 1.0) * (14.0 + 14.0);
        assert!((one.stream(64 * 1024 * 32) - wanted).abs() < 1e-6);
    }

    const TABLE: Timing = Timing { t_ccd: 2, t_ccd_s: 4, t_wr: 8, t_pre: 12, t_act: 24, t_rcd: 24, t_rrd: 24 };

    /// Each constraint by itself: a tick before it is refused, at it is not.
    #[test]
    fn commands_wait_for_what_they_must() {
        let mut pair = Pair::new(TABLE);
        let mut step = |subarray, command, at: u64| {
            assert!(at == 0 || !pair.issue(subarray, command, at - 1), "{command:?} at {at}");
            assert!(pair.issue(subarray, command, at), "{command:?} at {at}");
        };
        step(0, Command::Activate, 0);
        step(1, Command::Activate, 24);
        step(0, Command::Precharge, 24);
        step(0, Command::Activate, 48); // tRRD after the other, not only tPRE
        step(1, Command::Write, 48);
        step(1, Command::Write, 50);
        step(1, Command::Precharge, 60);
        step(0, Command::Read, 72);
        step(0, Command::Precharge, 74);
        assert!(!pair.issue(0, Command::Read, 1000) && !pair.issue(1, Command::Precharge, 1000), "both are closed");
    }

    proptest! {
        /// Commands as early as they may come take what the closed form says.
        #[test]
        fn a_visit_is_its_commands(words in 0u64..80, write: bool, t_ccd in 1u64..6, t_act in 0u64..80, t_wr in 0u64..20) {
            let timing = Timing { t_ccd, t_act, t_wr, t_rrd: 0, ..TABLE };
            let (access, column) = if write { (Access::Write, Command::Write) } else { (Access::Read, Command::Read) };
            prop_assume!(words > 0 || timing.t_act >= timing.t_rcd + timing.t_wr);
            let mut pair = Pair::new(timing);
            let columns = std::iter::repeat_n(column, usize::try_from(words).unwrap());
            for command in [Command::Activate].into_iter().chain(columns).chain([Command::Precharge]) {
                let at = pair.earliest(0, command).unwrap();
                prop_assert!(pair.issue(0, command, at));
            }
            prop_assert_eq!(pair.earliest(0, Command::Activate).unwrap(), timing.visit(access, words));
        }
    }

    proptest! {
        /// Streams of a refresh interval and more: the closed form is within 3 % and a refresh of stepping through the rows. Where
        /// refreshes of single banks do not hide, their stalls overlap, and the closed form, which adds them, is longer.
        #[test]
        fn stepping_through_rows_comes_to_the_same(
            banks in 1u64..17,
            row in 8u32..12,
            rate in 100.0f64..4000.0,
            per_bank: bool,
            t_rfc in 50.0f64..400.0,
            megabytes in 16u64..64,
        ) {
            let refresh = if per_bank && banks > 1 { Refresh::PerBank } else { Refresh::AllBanks };
            let d = Dram { banks, row_bytes: 1 << row, bytes_per_tick: rate, refresh, t_rfc, ..hbm2() };
            prop_assume!(d.refresh_share() < 0.3);
            let (closed, stepped) = (d.stream(megabytes << 20), stepwise(&d, megabytes << 20));
            let near = 0.03 * stepped + t_rfc; // the last refresh falls before or after the end
            prop_assert!(closed > stepped - near, "{closed} for {stepped} in {d:?}");
            let overlaps = refresh == Refresh::PerBank && d.refresh_share() > 0.0;
            prop_assert!(overlaps || closed < stepped + near, "{closed} for {stepped} in {d:?}");
        }
    }
}
