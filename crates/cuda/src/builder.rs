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
    /// Which GPU, as the driver numbers them; the first without it.
    #[must_use]
    pub fn ordinal(mut self, ordinal: u32) -> Self {
        self.ordinal = ordinal;
        self
    }

    /// Keys that arrive when the device has taken so many bytes of the GPU's memory are kept in the host's, locked there,
    /// and cross the bus for their uses. Without it: three quarters of the GPU's memory.
    #[must_use]
    pub fn key_bytes(mut self, bytes: u64) -> Self {
        self.key_bytes = Some(bytes);
        self
    }

    /// Bytes of the GPU's memory into which keys that the host keeps are copied ahead of their uses, taken when the first such
    /// key is used; 0: kernels read them over the bus. Without it: a 32nd of the GPU's memory.
    #[must_use]
    pub fn staging_bytes(mut self, bytes: u64) -> Self {
        self.staging_bytes = Some(bytes);
        self
    }

    /// What becomes of launches that a program repeats; without it `LIMBWISE_REPLAY` decides (`steady` or `off`), and
    /// without that they become graphs.
    #[must_use]
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Opens the device: finds the driver, compiles the kernels for this GPU or takes them from the cache.
    ///
    /// # Errors
    /// [`OpenError`] where there is no driver, GPU or NVRTC, or one that is too old, or `LIMBWISE_REPLAY` says neither.
    pub fn open(self) -> Result<Cuda, OpenError> {
        let replay = self.replay.map_or_else(Replay::of_environment, Ok)?;
        let gpu = gpu::Gpu::open(self.ordinal)?;
        let unplanned = KeyRoom::unplanned(gpu.properties().memory_bytes);
        let resident_bytes = self.key_bytes.unwrap_or(unplanned.resident_bytes);
        let staging_bytes = self.staging_bytes.unwrap_or(unplanned.staging_bytes);
        let room = KeyRoom { resident_bytes, staging_bytes };
        let mut dev = Cuda::on(Arc::new(gpu), room, replay);
        dev.profiler = Profiler::attached();
        Ok(dev)
    }
}
