//! The host's side of the machine: ranks of DPUs, the link to them, what both draw.

/// How fast the host reaches MRAM: all ranks at once, each at its own rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name in reports.
    pub name: &'static str,
    /// To MRAM, of a rank.
    pub to_gb_s: f64,
    /// From MRAM, of a rank.
    pub from_gb_s: f64,
}

impl Link {
    /// As measured by others.
    ///
    /// Source: \[GOM22\].
    #[must_use]
    pub fn prim() -> Self {
        Self { name: "prim", to_gb_s: 6.7, from_gb_s: 4.7 }
    }

    /// Calibrated from the shares of transfers that the source publishes.
    ///
    /// Source: \[DRA\].
    #[must_use]
    pub fn dramatic() -> Self {
        Self { name: "dramatic", to_gb_s: 1.9, from_gb_s: 0.8 }
    }

    /// By name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::prim(), Self::dramatic()].into_iter().find(|link| link.name == name)
    }
}

/// Watts: the whole server idle, and one busy DPU more.
///
/// Source: \[DRA\]: 311 W idle, 323 W with 128 DPUs at work.
pub const POWER_WATTS: (f64, f64) = (311.0, 12.0 / 128.0);

/// Bytes by rank, of one operation.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    /// To MRAM, from MRAM.
    pub(crate) bytes: Vec<[u64; 2]>,
    ranks_of: usize,
}

impl Traffic {
    pub(crate) fn new(dpus: usize, dpus_per_rank: usize) -> Self {
        Self { bytes: vec![[0; 2]; dpus.div_ceil(dpus_per_rank)], ranks_of: dpus_per_rank }
    }

    pub(crate) fn to(&mut self, dpu: usize, words: usize) {
        self.bytes[dpu / self.ranks_of][0] += 4 * words as u64;
    }

    pub(crate) fn from(&mut self, dpu: usize, words: usize) {
        self.bytes[dpu / self.ranks_of][1] += 4 * words as u64;
    }

    /// Both directions over all ranks.
    pub(crate) fn total(&self) -> [u64; 2] {
        self.bytes.iter().fold([0; 2], |[to, from], rank| [to + rank[0], from + rank[1]])
    }

    /// Seconds: the fullest rank decides, one direction after the other.
    pub(crate) fn seconds(&self, link: &Link) -> f64 {
        let fullest = |way: usize| self.bytes.iter().map(|rank| rank[way]).max().unwrap_or(0) as f64;
        (fullest(0) / link.to_gb_s + fullest(1) / link.from_gb_s) / 1e9
    }
}

/// What a device has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Launches.
    pub launches: u64,
    /// Instructions of all DPUs.
    pub slots: u64,
    /// Cycles, those of the slowest DPU in each launch.
    pub cycles: u64,
    /// Seconds of these.
    pub compute_seconds: f64,
    /// DPU-seconds of all that were at work.
    pub busy_seconds: f64,
    /// Bytes that the host wrote to MRAM.
    pub to_bytes: u64,
    /// Bytes that the host read.
    pub from_bytes: u64,
    /// Seconds of these.
    pub transfer_seconds: f64,
    /// Operations that the host did.
    pub host_operations: u64,
}

impl Counters {
    /// Joules of DPUs and transfers; what the host draws to compute is not in them.
    ///
    /// Source: [`POWER_WATTS`].
    #[must_use]
    pub fn joules(&self) -> f64 {
        let (idle, busy) = POWER_WATTS;
        idle * (self.compute_seconds + self.transfer_seconds) + busy * self.busy_seconds
    }
}
