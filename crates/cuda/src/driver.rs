//! All that this device asks of a GPU. Two things answer: the CUDA driver ([`crate::gpu`]) and, in tests, the kernels
//! compiled for the host.

use crate::launch::Launch;

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// On the GPU.
    Device,
    /// In the host's memory, locked there so that kernels read it over the bus.
    Host,
}

/// A queue of work on one GPU (a CUDA stream): what is asked of it is done in the order in which it was asked for, whatever thread asks. Two
/// queues go on side by side and wait for each other at marks only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Kernels and everything else but [`Driver::copy`].
    Compute,
    /// [`Driver::copy`].
    Copy,
}

/// A point of a queue's work: that all is done which had been asked of it when the mark was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) usize);

/// What does not change while a GPU is open.
#[derive(Clone, Debug)]
pub(crate) struct Properties {
    /// For reports: the device's own name.
    pub(crate) name: String,
    /// Its architecture as NVRTC names it.
    pub(crate) arch: String,
    /// Its multiprocessors.
    pub(crate) multiprocessors: u32,
    /// Bytes of its memory.
    pub(crate) memory_bytes: u64,
    /// Most bytes of shared memory that a block may have.
    pub(crate) shared_bytes: u32,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No memory.
    Memory,
    /// The driver's words.
    Other(String),
}

/// One GPU. Everything but [`Driver::copy`] goes through [`Queue::Compute`], so memory that only this queue uses may be used
/// again as soon as its last use has been asked for. Addresses are those of kernels.
pub(crate) trait Driver: Send + Sync {
    fn properties(&self) -> &Properties;

    /// Memory for words, at an address that is a multiple of 16 and never zero. On the GPU it is there for the compute queue;
    /// for the copy queue from a mark of the compute queue on. Two pieces of the host's memory never touch.
    fn allocate(&self, words: usize, place: Place) -> Result<u64, Failure>;

    /// Gives memory back when what has been asked of the compute queue is done; the host's when all is done.
    fn release(&self, at: u64, words: usize, place: Place);

    /// Words from the host, which may be overwritten on return. Memory of the host is written when all is done.
    fn write(&self, to: u64, words: &[u64], place: Place) -> Result<(), Failure>;

    /// Words to the host, once they are there.
    fn read(&self, from: u64, words: &mut [u64], place: Place) -> Result<(), Failure>;

    /// Zeros.
    fn zero(&self, at: u64, words: usize, place: Place) -> Result<(), Failure>;

    /// Runs a kernel.
    fn launch(&self, launch: &Launch) -> Result<(), Failure>;

    /// A number for launches that will be asked for together again, one after another, with these very arguments.
    fn graph(&self, launches: &[Launch]) -> Result<u64, Failure>;

    /// Runs them.
    fn replay(&self, graph: u64) -> Result<(), Failure>;

    /// Forgets them, which will not be asked for again, once what has been asked for is done.
    fn discard(&self, graph: u64);

    /// Words of the host's locked memory to the GPU's, on the copy queue. The host's must stay as they are until it is done.
    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), Failure>;

    /// A mark behind all that has been asked of a queue.
    fn mark(&self, queue: Queue) -> Result<Mark, Failure>;

    /// What is asked of a queue from now on is done after the mark is reached.
    fn wait_for(&self, queue: Queue, mark: Mark) -> Result<(), Failure>;

    /// No queue will be asked to wait for this mark any more; those that were still do.
    fn forget(&self, mark: Mark);

    /// Waits for everything on both queues.
    fn wait(&self) -> Result<(), Failure>;
}
