//! What can be chosen when a device is opened.

use crate::{DpuFault, Form, Preset, link::Link};

/// DPUs of a rank.
pub const DPUS_PER_RANK: usize = 64;

/// Most DPUs of a server: 20 modules of 128.
///
/// Source: \[DRA\].
pub const MOST_DPUS: usize = 2560;

/// Which DPUs have which modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuliOrder {
    /// Ranks are shared out among the moduli, as far as they go.
    ByRank,
    /// All DPUs have all moduli, one after the other.
    Sequential,
}

/// Who works on a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// A tasklet on a sub-polynomial: best for throughput.
    Alone,
    /// All tasklets on one after the other: best for few.
    Together,
}

/// Where results and cycles come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// From interpreting the DPUs' program.
    Exact,
    /// Results from the definitions, cycles from the closed form of the kernels' slots; transforms are done alone.
    ClosedForm,
}

/// Choices for a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The chip.
    pub preset: Preset,
    /// DPUs, 1 to [`MOST_DPUS`].
    pub dpus: usize,
    /// DPUs of a rank, which share a link.
    pub dpus_per_rank: usize,
    /// Tasklets of a launch, 1 to the preset's.
    pub tasklets: usize,
    /// The program.
    pub form: Form,
    /// The link.
    pub link: Link,
    /// Which DPUs have which modulus.
    pub order: ModuliOrder,
    /// Who works on a transform.
    pub sharing: Sharing,
    /// Where results come from.
    pub mode: Mode,
}

impl Default for Options {
    fn default() -> Self {
        let preset = Preset::v1b();
        Self {
            dpus: DPUS_PER_RANK,
            dpus_per_rank: DPUS_PER_RANK,
            tasklets: preset.tasklets,
            preset,
            form: Form::default(),
            link: Link::dramatic(),
            order: ModuliOrder::ByRank,
            sharing: Sharing::Alone,
            mode: Mode::Exact,
        }
    }
}

/// Why a device cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A number out of its range.
    #[error("{name} = {got} is out of range: choose 1 to {most}")]
    Range {
        /// The option.
        name: &'static str,
        /// The number.
        got: usize,
        /// Most allowed.
        most: usize,
    },
    /// A program that does not run on this chip.
    #[error(transparent)]
    Program(#[from] DpuFault),
}

impl Options {
    /// Checks all ranges.
    ///
    /// # Errors
    /// [`OpenError`] for the first number out of its range.
    pub fn check(&self) -> Result<(), OpenError> {
        let ranges = [
            ("dpus", self.dpus, MOST_DPUS),
            ("dpus_per_rank", self.dpus_per_rank, MOST_DPUS),
            ("tasklets", self.tasklets, self.preset.tasklets),
        ];
        match ranges.into_iter().find(|&(_, got, most)| got == 0 || got > most) {
            Some((name, got, most)) => Err(OpenError::Range { name, got, most }),
            None => Ok(()),
        }
    }

    /// The DPU of a sub-polynomial: number `entry` of a batch, prime number `prime` of `primes`.
    #[must_use]
    pub fn place(&self, entry: usize, prime: usize, primes: usize) -> usize {
        let ranks = self.dpus.div_ceil(self.dpus_per_rank);
        let groups = ranks.min(primes);
        if self.order == ModuliOrder::Sequential || groups < 2 {
            return (entry * primes + prime) % self.dpus;
        }
        // Group g has ranks g, g + groups, …; the last rank may be short.
        let own = |rank: usize| self.dpus_per_rank.min(self.dpus - rank * self.dpus_per_rank);
        let group = prime % groups;
        let size: usize = (group..ranks).step_by(groups).map(own).sum();
        // Moduli that share a group take turns, so that few ciphertexts still find DPUs of their own.
        let mut at = (entry * primes.div_ceil(groups) + prime / groups) % size;
        for rank in (group..ranks).step_by(groups) {
            if at < own(rank) {
                return rank * self.dpus_per_rank + at;
            }
            at -= own(rank);
        }
        0
    }
}
