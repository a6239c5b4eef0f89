//! What can be chosen when a device is opened.

use crate::{DpuFault, Form, Multiplications, Preset, Reduction, link::Link};
use std::{fmt, str::FromStr};

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
    /// An option that there is not, or a value that it does not take.
    #[error("{text:?} is no option of upmem: wanted {NAMES}")]
    Unknown {
        /// What was given.
        text: String,
    },
    /// A program that does not run on this chip.
    #[error(transparent)]
    Program(#[from] DpuFault),
}

/// What options are called, and what they take.
const NAMES: &str = "chip=v1A|v1B, dpus=, dpus_per_rank=, tasklets=, transfer_preset=dramatic|prim, moduli_order=by-rank|sequential, transforms=alone|together, mode=exact|closed-form, inline_mul=false|true, reduction=barrett|montgomery";

/// `name=value`, separated by commas; the default where a name is absent.
impl FromStr for Options {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let mut options = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let set = part.split_once('=').and_then(|(name, value)| options.set(name.trim(), value.trim()));
            set.ok_or_else(|| OpenError::Unknown { text: part.into() })?;
        }
        Ok(options)
    }
}

/// All options, as they are parsed.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { preset, dpus, dpus_per_rank, tasklets, form, link, order, sharing, mode } = self;
        let order = if *order == ModuliOrder::ByRank { "by-rank" } else { "sequential" };
        let sharing = if *sharing == Sharing::Alone { "alone" } else { "together" };
        let mode = if *mode == Mode::Exact { "exact" } else { "closed-form" };
        let inline = form.multiplications == Multiplications::Inlined;
        let reduction = if form.reduction == Reduction::Barrett { "barrett" } else { "montgomery" };
        write!(f, "chip={},dpus={dpus},dpus_per_rank={dpus_per_rank},tasklets={tasklets}", preset.name)?;
        write!(f, ",transfer_preset={},moduli_order={order},transforms={sharing},mode={mode}", link.name)?;
        write!(f, ",inline_mul={inline},reduction={reduction}")
    }
}

impl Options {
    /// Sets one option; `None` for a name or value that there is not.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let one_of = |first: &str, second: &str| match value {
            _ if value == first => Some(true),
            _ if value == second => Some(false),
            _ => None,
        };
        match name {
            "chip" => self.preset = Preset::from_name(value)?,
            "dpus" => self.dpus = value.parse().ok()?,
            "dpus_per_rank" => self.dpus_per_rank = value.parse().ok()?,
            "tasklets" => self.tasklets = value.parse().ok()?,
            "transfer_preset" => self.link = Link::from_name(value)?,
            "moduli_order" => {
                let by_rank = one_of("by-rank", "sequential")?;
                self.order = if by_rank { ModuliOrder::ByRank } else { ModuliOrder::Sequential };
            }
            "transforms" => {
                self.sharing = if one_of("alone", "together")? { Sharing::Alone } else { Sharing::Together }
            }
            "mode" => self.mode = if one_of("exact", "closed-form")? { Mode::Exact } else { Mode::ClosedForm },
            "inline_mul" => {
                let inlined = one_of("true", "false")?;
                self.form.multiplications = if inlined { Multiplications::Inlined } else { Multiplications::Called };
            }
            "reduction" => {
                let barrett = one_of("barrett", "montgomery")?;
                self.form.reduction = if barrett { Reduction::Barrett } else { Reduction::Montgomery };
            }
            _ => return None,
        }
        Some(())
    }

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
