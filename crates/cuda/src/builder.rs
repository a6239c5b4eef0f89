//! Choices before a GPU is opened.

use crate::{
    device::Cuda,
    driver::Driver as _,
    gpu::{self, OpenError},
    nvtx::Profiler,
    replay::Replay,
    stage::KeyRoom,
};
use std::sync::Arc;

/// Choices for a [`Cuda`]; see [`Cuda::builder`].
#[derive(Clone, Debug, Default)]
pub struct CudaBuilder {
    ordinal: u32,
    key_bytes: Option<u64>,
    staging_bytes: Option<u64>,
    replay: Option<Replay>,
}

impl CudaBuilder {
    /// Selects a GPU by the driver's numbering; the default is the first.
    #[must_use]
    pub fn ordinal(mut self, ordinal: u32) -> Self {
        self.ordinal = ordinal;
        self
    }

    /// Keys uploaded after the device has taken this many bytes of GPU memory stay in locked host memory and cross the
    /// bus on use. The default is three quarters of the GPU's memory.
    #[must_use]
    pub fn key_bytes(mut self, bytes: u64) -> Self {
        self.key_bytes = Some(bytes);
        self
    }

    /// Bytes of GPU memory for copies of host keys ahead of their use, allocated with the first such key. With 0,
    /// kernels read these keys over the bus. The default is a 32nd of the GPU's memory.
    #[must_use]
    pub fn staging_bytes(mut self, bytes: u64) -> Self {
        self.staging_bytes = Some(bytes);
        self
    }

    /// Treatment of repeated launches. The default is the environment variable `LIMBWISE_REPLAY` (`steady` or `off`);
    /// without it, repeated launches become graphs.
    #[must_use]
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Opens the device: finds the driver, then compiles the kernels for this GPU or takes them from the cache.
    ///
    /// # Errors
    /// [`OpenError`] if there is no driver, GPU or NVRTC, if one is too old, or if `LIMBWISE_REPLAY` has another value.
    pub fn open(self) -> Result<Cuda, OpenError> {
        let replay = self.replay.map_or_else(Replay::of_environment, Ok)?;
        let gpu = gpu::Gpu::open(self.ordinal)?;
        let unplanned = KeyRoom::without_plan(gpu.properties().memory_bytes);
        let resident_bytes = self.key_bytes.unwrap_or(unplanned.resident_bytes);
        let staging_bytes = self.staging_bytes.unwrap_or(unplanned.staging_bytes);
        let room = KeyRoom { resident_bytes, staging_bytes };
        let mut dev = Cuda::on(Arc::new(gpu), room, replay);
        dev.profiler = Profiler::detect();
        Ok(dev)
    }
}
