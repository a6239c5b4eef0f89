//! The table of issue slots: what each assembled kernel takes for one sub-polynomial, written by `crates/upmem`.
//!
//! A kernel at a length that nobody ran is scaled from the nearest one: by its butterflies if it is a transform, by its
//! coefficients if not; the report says so.

use super::numbers::{Dma, Numbers, Offload};
use crate::error::MachineError;
use limbwise_graph::Op;
use serde::Deserialize;

/// The table that the interpreter wrote.
const WRITTEN: &str = include_str!("../../../specs/upmem_slots.toml");

/// Slots of kernels and of the routines in them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    routines: Routines,
    kernel: Vec<Kernel>,
}

/// The multiplication routine that a count stands for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Routines {
    /// 32 by 32 to 32 bits.
    mul32_slots: u64,
    /// 32 by 32 to 64 bits.
    mul64_slots: u64,
    /// Call and return of either, beside its own slots.
    call_slots: u64,
    /// Start and end of a launch.
    launch_slots: u64,
}

/// A kernel at one length, for one sub-polynomial.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    name: String,
    n: u64,
    slots: u64,
    /// Cycles lost to sources of the same parity.
    hazards: u64,
    mul32: u64,
    mul64: u64,
    dma_reads: u64,
    dma_writes: u64,
    dma_read_bytes: u64,
    dma_write_bytes: u64,
}

/// Work of a DPU for one sub-polynomial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Demand {
    /// Cycles of the pipeline.
    pub(super) issue: u64,
    /// Cycles of the DMA engine.
    pub(super) dma: u64,
    /// Pieces that tasklets share out: one of a transform, chunks of all else.
    pub(super) pieces: u64,
    /// Chunks of a sub-polynomial.
    pub(super) chunks: u64,
    /// Launches where stages are launched one by one.
    pub(super) stages: u64,
}

/// The kernel of an operation.
pub(super) fn kernel_of(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::Ntt => "ntt",
        Op::Intt => "intt",
        Op::Mul => "mul",
        Op::MulAcc => "mul-acc",
        Op::Add | Op::AddAssign => "add",
        Op::Sub => "sub",
        Op::Neg => "neg",
        Op::ScaleLimbs => "scale",
        Op::ShiftLimbs => "shift",
        Op::Automorphism => "automorphism",
        _ => return None,
    })
}

/// The kernel of the four products of two ciphertexts.
pub(super) const PRODUCT: &str = "bgv-product";

impl Slots {
    /// The table of this build.
    ///
    /// # Errors
    /// [`MachineError`] if it is none: only where the built-in file is damaged.
    pub(super) fn written() -> Result<Self, MachineError> {
        Self::parse(WRITTEN)
    }

    /// A table from its text.
    ///
    /// # Errors
    /// [`MachineError::File`] for a text of another form.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        toml::from_str(text)
            .map_err(|e| MachineError::File { origin: "upmem_slots.toml".into(), problem: e.to_string() })
    }

    /// Whether DPUs have a kernel.
    pub(super) fn has(&self, name: &str) -> bool {
        self.kernel.iter().any(|kernel| kernel.name == name)
    }

    /// Slots of the routines with 32 and with 64 bits of result, as assembled.
    #[must_use]
    pub fn multiplications(&self) -> [u64; 2] {
        [self.routines.mul32_slots, self.routines.mul64_slots]
    }

    /// Start and end of a launch.
    pub(super) fn launch(&self) -> u64 {
        self.routines.launch_slots
    }

    /// The entry of the nearest length.
    fn nearest(&self, name: &str, n: u64) -> Option<&Kernel> {
        self.kernel.iter().filter(|k| k.name == name).min_by_key(|k| (k.n.ilog2().abs_diff(n.ilog2()), k.n))
    }

    /// The length from which a kernel is scaled, if it was not run at this one.
    pub(super) fn scaled_from(&self, name: &str, n: u64) -> Option<u64> {
        self.nearest(name, n).map(|k| k.n).filter(|&run| run != n)
    }

    /// Work of a kernel at a length; `None` if there is no kernel.
    pub(super) fn demand(&self, name: &str, n: u64, numbers: &Numbers) -> Option<Demand> {
        let kernel = self.nearest(name, n)?.at(n);
        let (of, set, stages) = (&self.routines, &numbers.routines, u64::from(n.ilog2()));
        let stage = numbers.policy.offload == Offload::Stage;
        let cost = |chosen: u64, assembled: u64| match (stage, chosen) {
            (true, _) => set.native_cycles,
            (false, 0) => assembled,
            (false, chosen) => chosen,
        };
        let calls = if set.inline_mul { 0 } else { of.call_slots };
        let assembled =
            kernel.mul32 * (of.mul32_slots + of.call_slots) + kernel.mul64 * (of.mul64_slots + of.call_slots);
        let issue = (kernel.slots + kernel.hazards).saturating_sub(assembled)
            + kernel.mul32 * (cost(set.mul32_cycles, of.mul32_slots) + calls)
            + kernel.mul64 * (cost(set.mul64_cycles, of.mul64_slots) + calls);
        let coarse = is_transform(name);
        let dma =
            if stage { kernel.dma_by_stage(coarse.then_some(stages), &numbers.dma) } else { kernel.dma(&numbers.dma) };
        let chunks = self.chunks(n);
        let pieces = if coarse && !stage { 1 } else { chunks };
        Some(Demand { issue, dma, pieces, chunks, stages: if coarse { stages } else { 1 } })
    }

    /// Chunks in which element-wise kernels take a sub-polynomial: writes of one that has one result.
    pub(super) fn chunks(&self, n: u64) -> u64 {
        self.nearest("neg", n).map_or(1, |kernel| kernel.at(n).dma_writes.max(1))
    }
}

fn is_transform(name: &str) -> bool {
    matches!(name, "ntt" | "intt")
}

impl Kernel {
    /// The work at another length.
    fn at(&self, n: u64) -> Self {
        let work = |n: u64| if is_transform(&self.name) { n * u64::from(n.ilog2()) } else { n };
        let scale = |x: u64| (x * work(n)).div_ceil(work(self.n));
        Self {
            name: self.name.clone(),
            n,
            slots: scale(self.slots),
            hazards: scale(self.hazards),
            mul32: scale(self.mul32),
            mul64: scale(self.mul64),
            dma_reads: scale(self.dma_reads),
            dma_writes: scale(self.dma_writes),
            dma_read_bytes: scale(self.dma_read_bytes),
            dma_write_bytes: scale(self.dma_write_bytes),
        }
    }

    fn dma(&self, dma: &Dma) -> u64 {
        dma.cycles(self.dma_reads, self.dma_writes, self.dma_read_bytes + self.dma_write_bytes)
    }

    /// Cycles of the engine where each stage of a transform reads and writes everything, in 64-bit words; twice the bytes
    /// for other kernels.
    fn dma_by_stage(&self, stages: Option<u64>, dma: &Dma) -> u64 {
        let Some(stages) = stages else {
            return dma.cycles(
                2 * self.dma_reads,
                2 * self.dma_writes,
                2 * (self.dma_read_bytes + self.dma_write_bytes),
            );
        };
        let bytes = 8 * self.n * stages;
        let pieces = bytes.div_ceil(dma.most_bytes);
        // Coefficients and as many bytes of twiddles over all stages as coefficients in one.
        dma.cycles(pieces + pieces.div_ceil(stages), pieces, 2 * bytes + bytes / stages)
    }
}
