//! The interface to a GPU. Two types implement it: the CUDA driver ([`crate::gpu`]), and for tests the kernels compiled
//! for the host.

use crate::launch::Launch;

/// Location of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// In GPU memory.
    Device,
    /// In locked host memory, which kernels read over the bus.
    Host,
}

/// A CUDA stream: its work runs in the order of submission, whichever thread submits it. The two streams run
/// concurrently and wait for each other only at events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Kernels and everything else except [`Driver::copy`].
    Compute,
    /// The stream of [`Driver::copy`].
    Copy,
}

/// A CUDA event: it is reached when all work submitted to the stream before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(pub(crate) usize);

/// Constant properties of an open GPU.
#[derive(Clone, Debug)]
pub(crate) struct Properties {
    /// Name of the device, for reports.
    pub(crate) name: String,
    /// Architecture in NVRTC's notation.
    pub(crate) arch: String,
    /// Number of multiprocessors.
    pub(crate) multiprocessors: u32,
    /// Size of the memory in bytes.
    pub(crate) memory_bytes: u64,
    /// Largest shared memory of a block in bytes.
    pub(crate) shared_bytes: u32,
}

/// Reason for a failed operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Out of memory.
    Memory,
    /// Message of the driver.
    Other(String),
}

/// One GPU. Everything except [`Driver::copy`] runs on [`Stream::Compute`], so memory that only this stream uses may be
/// reused as soon as its last use is submitted. Addresses are device addresses.
pub(crate) trait Driver: Send + Sync {
    fn properties(&self) -> &Properties;

    /// Allocates words at an address that is a nonzero multiple of 16. GPU memory is available to the compute stream at
    /// once, and to the copy stream after an event of the compute stream. Two allocations of host memory are never
    /// adjacent.
    fn allocate(&self, words: usize, place: Place) -> Result<u64, Failure>;

    /// Frees memory: GPU memory after the compute stream's submitted work, host memory after all submitted work.
    fn release(&self, at: u64, words: usize, place: Place);

    /// Writes words from the host, which may reuse its buffer on return. Host memory is written after all submitted
    /// work.
    fn write(&self, to: u64, words: &[u64], place: Place) -> Result<(), Failure>;

    /// Reads words to the host, after all work that writes them.
    fn read(&self, from: u64, words: &mut [u64], place: Place) -> Result<(), Failure>;

    /// Fills with zeros.
    fn zero(&self, at: u64, words: usize, place: Place) -> Result<(), Failure>;

    /// Submits a kernel launch.
    fn launch(&self, launch: &Launch) -> Result<(), Failure>;

    /// Creates a graph of launches with fixed arguments, run in sequence; returns its number.
    fn graph(&self, launches: &[Launch]) -> Result<u64, Failure>;

    /// Submits a graph.
    fn replay(&self, graph: u64) -> Result<(), Failure>;

    /// Destroys a graph after its submitted runs.
    fn discard(&self, graph: u64);

    /// Copies words from locked host memory to GPU memory on the copy stream. The source must stay unchanged until the
    /// copy is done.
    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), Failure>;

    /// Records an event after all work submitted to a stream.
    fn event(&self, stream: Stream) -> Result<Event, Failure>;

    /// Makes later work of a stream wait for an event.
    fn wait_for(&self, stream: Stream, event: Event) -> Result<(), Failure>;

    /// Releases an event. Waits already submitted remain valid.
    fn forget(&self, event: Event);

    /// Waits for all work on both streams.
    fn wait(&self) -> Result<(), Failure>;
}
