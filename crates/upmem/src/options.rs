//! Options of a device.

use crate::{DpuFault, Form, Multiplications, Preset, Reduction, link::Link};
use std::{fmt, str::FromStr};

/// Number of DPUs in a rank.
pub const DPUS_PER_RANK: usize = 64;

/// Largest number of DPUs in a server: 20 modules of 128.
///
/// Source: \[DRA\].
pub const MOST_DPUS: usize = 2560;

/// Distribution of moduli over DPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuliOrder {
    /// Each modulus has its own ranks, as far as there are enough.
    ByRank,
    /// Every DPU has all moduli, one after another.
    Sequential,
}

/// Distribution of a transform over tasklets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// One tasklet per sub-polynomial: best for throughput.
    Alone,
    /// All tasklets on one sub-polynomial after another: best for few sub-polynomials.
    Together,
}

/// Source of results and cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Interprets the DPUs' program.
    Exact,
    /// Results by definition, cycles by the closed form of the kernels' slots; one tasklet per transform only.
    ClosedForm,
}

/// Options of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// DPU model.
    pub preset: Preset,
    /// Number of DPUs, 1 to [`MOST_DPUS`].
    pub dpus: usize,
    /// Number of DPUs in a rank, which share a link.
    pub dpus_per_rank: usize,
    /// Tasklets in a launch, 1 to the preset's limit.
    pub tasklets: usize,
    /// Form of the program.
    pub form: Form,
    /// Link between host and MRAM.
    pub link: Link,
    /// Distribution of moduli over DPUs.
    pub order: ModuliOrder,
    /// Distribution of a transform over tasklets.
    pub sharing: Sharing,
    /// Source of results and cycles.
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

/// An option that no device takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A number outside the option's range.
    #[error("{name} = {got} is out of range: choose 1 to {most}")]
    Range {
        /// Name of the option.
        name: &'static str,
        /// Number given.
        got: usize,
        /// Largest number allowed.
        most: usize,
    },
    /// An unknown option or value.
    #[error("{text:?} is no option of upmem: wanted {NAMES}")]
    Unknown {
        /// Text given.
        text: String,
    },
    /// A program that does not fit this DPU model.
    #[error(transparent)]
    Program(#[from] DpuFault),
}

/// Names of options and their values.
const NAMES: &str = "chip=v1A|v1B, dpus=, dpus_per_rank=, tasklets=, transfer_preset=dramatic|prim, moduli_order=by-rank|sequential, transforms=alone|together, mode=exact|closed-form, inline_mul=false|true, reduction=barrett|montgomery";

/// Parses `name=value`, separated by commas; absent names keep their defaults.
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

/// All options, in the form that is parsed.
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
    /// Sets one option; `None` for an unknown name or value.
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
    /// [`OpenError`] for the first number outside its range.
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

    /// The DPU of a sub-polynomial: batch entry `entry`, prime `prime` of `primes`.
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
