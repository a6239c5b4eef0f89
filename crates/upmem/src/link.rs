//! The host's link to ranks of DPUs, and the power of DPUs and link.

/// Bandwidth of the host's link to MRAM. All ranks transfer at once, each at its own rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name in options and reports.
    pub name: &'static str,
    /// Bandwidth to MRAM per rank.
    pub to_gb_s: f64,
    /// Bandwidth from MRAM per rank.
    pub from_gb_s: f64,
}

impl Link {
    /// Published measurements.
    ///
    /// Source: \[GOM22\].
    #[must_use]
    pub fn prim() -> Self {
        Self { name: "prim", to_gb_s: 6.7, from_gb_s: 4.7 }
    }

    /// Calibrated from published shares of transfer time.
    ///
    /// Source: \[DRA\].
    #[must_use]
    pub fn dramatic() -> Self {
        Self { name: "dramatic", to_gb_s: 1.9, from_gb_s: 0.8 }
    }

    /// The link of a name, if any.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::prim(), Self::dramatic()].into_iter().find(|link| link.name == name)
    }
}

/// Power in watts: of the idle server, and of each busy DPU in addition.
///
/// Source: \[DRA\]: 311 W idle, 323 W with 128 DPUs at work.
pub const POWER_WATTS: (f64, f64) = (311.0, 12.0 / 128.0);

/// Bytes of one operation by rank.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    /// Bytes to MRAM and from MRAM.
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

    /// Total bytes in both directions.
    pub(crate) fn total(&self) -> [u64; 2] {
        self.bytes.iter().fold([0; 2], |[to, from], rank| [to + rank[0], from + rank[1]])
    }

    /// Time in seconds: that of the fullest rank, one direction after the other.
    pub(crate) fn seconds(&self, link: &Link) -> f64 {
        let fullest = |way: usize| self.bytes.iter().map(|rank| rank[way]).max().unwrap_or(0) as f64;
        (fullest(0) / link.to_gb_s + fullest(1) / link.from_gb_s) / 1e9
    }
}

/// Counters of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Number of launches.
    pub launches: u64,
    /// Instructions issued by all DPUs.
    pub slots: u64,
    /// Sum over launches of the cycles of the slowest DPU.
    pub cycles: u64,
    /// Time of all launches in seconds.
    pub compute_seconds: f64,
    /// Sum of the busy times of all DPUs, in seconds.
    pub busy_seconds: f64,
    /// Bytes that the host wrote to MRAM.
    pub to_bytes: u64,
    /// Bytes that the host read from MRAM.
    pub from_bytes: u64,
    /// Time of all transfers in seconds.
    pub transfer_seconds: f64,
    /// Operations computed by the host.
    pub host_operations: u64,
}

impl Counters {
    /// Energy of DPUs and transfers in joules, without the host's computation.
    ///
    /// Source: [`POWER_WATTS`].
    #[must_use]
    pub fn joules(&self) -> f64 {
        let (idle, busy) = POWER_WATTS;
        idle * (self.compute_seconds + self.transfer_seconds) + busy * self.busy_seconds
    }
}
