//! What a reading can fail with.

/// The result of a reading.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Of a scheme.
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
    /// Of a machine model.
    #[error(transparent)]
    Machine(#[from] limbwise_machines::MachineError),
    /// Of a recorded program.
    #[error(transparent)]
    Graph(#[from] limbwise_graph::GraphError),
    /// A report that is none.
    #[error("no machine report: {0} (limbwise time --json writes them)")]
    Report(String),
    /// The device cannot be opened.
    #[error(transparent)]
    Open(#[from] limbwise_cpu::device::OpenError),
    /// No device of that name.
    #[error("there is no device {0:?}: this build has \"cpu\"")]
    UnknownDevice(String),
    /// Not enough memory for what was planned.
    #[error("this run needs {:.2} GB, the machine has {:.2} GB to give: choose fewer rows or iterations, or a preset with fewer limbs (limbwise plan shows the bytes)", *needed as f64 / 1e9, *available as f64 / 1e9)]
    Memory {
        /// What the plan says.
        needed: u64,
        /// What the system says.
        available: u64,
    },
    /// A program under shadow mode failed, and an operation before it was wrong already.
    #[error("{finding}; the run then failed: {cause}")]
    Shadow {
        /// The first operation that was wrong.
        finding: Box<limbwise::ckks::Finding>,
        /// What it led to.
        cause: Box<limbwise::Error>,
    },
    /// Too many threads, or none.
    #[error("{got} threads: choose 1 to {most}")]
    Threads {
        /// What was asked for.
        got: usize,
        /// Most allowed.
        most: usize,
    },
}
