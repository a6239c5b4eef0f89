//! What a reading can fail with.

/// The result of a reading.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
    #[error(transparent)]
    Machine(#[from] limbwise_machines::MachineError),
    /// Of a training whose sizes do not go together.
    #[error(transparent)]
    Training(#[from] limbwise_apps::helr::encrypted::HelrError),
    #[error(transparent)]
    Counting(#[from] limbwise_machines::simfhe::SetError),
    #[error(transparent)]
    Graph(#[from] limbwise_graph::GraphError),
    /// A report that is none.
    #[error("no machine report: {0} (limbwise time --json writes them)")]
    Report(String),
    /// The system refused a file.
    #[error("{path}: {doing}: {source} (check the path and its permissions)")]
    Io {
        path: String,
        doing: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something is wrong with a file.
    #[error("{path}: {cause}")]
    File {
        path: String,
        cause: Box<limbwise::Error>,
    },
    /// A file that is not the journal of this sweep.
    #[error("{path}: {problem}")]
    Journal {
        path: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Longer than such a file can be.
    #[error("{path}: longer than {most} bytes: it is not the file that is wanted")]
    Long {
        path: String,
        /// Most bytes.
        most: usize,
    },
    /// A description that is refused.
    #[error("{path}: {cause}")]
    Description {
        path: String,
        cause: Box<limbwise_apps::description::DescriptionError>,
    },
    /// Files are never replaced unasked.
    #[error("{path} exists: choose another place, or say that it may be replaced (--force, where there is one)")]
    Exists {
        path: String,
    },
    /// No ciphertext in a directory.
    #[error("{path}: no ciphertext (*.ct) in this directory: give the files, or the directory that has them")]
    Empty {
        path: String,
    },
    /// Several ciphertexts into one file.
    #[error("{path}: {count} ciphertexts do not go into one file: give a directory")]
    OneFile {
        path: String,
        count: usize,
    },
    /// Ciphertexts for another program, or too few of them.
    #[error("{count} ciphertexts; the program takes {wanted}: {names} (in the order of their files' names)")]
    Count {
        count: usize,
        /// How many there should be.
        wanted: usize,
        names: String,
    },
    /// A ciphertext of another shape than the program's.
    #[error("{path}: {field} is {got}, wanted {wanted} for {name}: encrypt for this program (limbwise encrypt)")]
    Shape {
        path: String,
        /// Which input or result it should be.
        name: String,
        field: &'static str,
        got: Box<str>,
        wanted: Box<str>,
    },
    /// Keys that the program needs are not in the file.
    #[error("{path}: {missing}: make the keys of this program (limbwise keygen)")]
    Keys {
        path: String,
        missing: String,
    },
    #[error(
        "{path}: the client's directory and the server's are the same: the server would have the secret key; give two"
    )]
    OneSide {
        path: String,
    },
    /// Checksums of blocks are found with the parameters.
    #[error(
        "{path}: to verify this file its parameters are needed: give the file of the parameters, or the program.json beside the keys (--params)"
    )]
    NoParams {
        path: String,
    },
    /// A checkpoint of something else.
    #[error(
        "{path} has the checkpoint of another run (other program, keys, inputs or seed): choose another directory, or delete it"
    )]
    OtherRun {
        path: String,
    },
    /// A checkpoint that is none.
    #[error("{path}: not the state of a checkpoint: delete the checkpoint's directory and start again")]
    Checkpoint {
        path: String,
    },
    /// Nothing would be left of a result that is shared.
    #[error(
        "a result of {precision:.1} bits cannot be shared: {statistical} bits of statistical security cost {cost:.1} of them; take parameters with more precision, or fewer bits (--statistical-bits)"
    )]
    Shared {
        precision: f64,
        cost: f64,
        /// The statistical parameter.
        statistical: u32,
    },
    /// Another kind of sharing than the key's first.
    #[error(
        "this key's first sharing was for {} results with {} bits of statistical security, and this one is for {} with {}: all results under one key are shared with the same noise; give the first numbers (--statistical-bits, --shared-results), or make new keys",
        first.results, first.statistical_bits, wanted.results, wanted.statistical_bits
    )]
    #[cfg(feature = "client")]
    OtherSharing {
        first: crate::share::Sharing,
        wanted: crate::share::Sharing,
    },
    /// More results than the noise was sized for.
    #[error(
        "{more} more results cannot be shared under this key: {shared} of the {most} that its noise is sized for were shared already; make new keys (limbwise keygen), and say with their first sharing how many there will be (--shared-results)"
    )]
    SharedAll {
        shared: u32,
        more: u32,
        most: u32,
    },
    /// A ledger that cannot be relied on.
    #[error(
        "{path}: {cause}: without it nobody knows what was shared under this key; bring back the file from a copy, or make new keys"
    )]
    Ledger {
        path: String,
        cause: String,
    },
    /// Results of other inputs than those asked for.
    #[error(
        "{path}: a result of other inputs: {got}; the last inputs of this client are those in {last}; to read results of earlier ones, name these: --inputs DIR"
    )]
    OtherInputs {
        path: String,
        /// What is known of its inputs.
        got: String,
        /// Where the last were written.
        last: String,
    },
    /// The device cannot be opened.
    #[error(transparent)]
    Open(#[from] limbwise_cpu::device::OpenError),
    /// A GPU that cannot be opened.
    #[error(transparent)]
    Gpu(#[from] limbwise_cuda::OpenError),
    /// DPUs that cannot be opened.
    #[error(transparent)]
    Dpus(#[from] limbwise_upmem::OpenError),
    /// No device of that name.
    #[error("there is no device {:?}: this build has {}", .0, crate::any_device::AnyDevice::KINDS.join(", "))]
    UnknownDevice(String),
    /// Not enough memory for what was planned.
    #[error("this run needs {:.2} GB, the machine has {:.2} GB to give: choose fewer rows or iterations, or a preset with fewer limbs (limbwise plan shows the bytes)", *needed as f64 / 1e9, *available as f64 / 1e9)]
    Memory {
        /// What the plan says.
        needed: u64,
        /// What the system says.
        available: u64,
    },
    /// What follows from a description does not fit, whatever is done about it.
    #[error("by its sizes alone this program needs at least {:.2} GB, and may take {:.2} GB: choose fewer rows, columns or inputs, or give it more memory (--memory)", *least as f64 / 1e9, *available as f64 / 1e9)]
    Sizes {
        least: u64,
        available: u64,
    },
    /// A program under shadow mode failed, and an operation before it was wrong already.
    #[cfg(feature = "client")]
    #[error("{finding}; the run then failed: {cause}")]
    Shadow {
        /// The first operation that was wrong.
        finding: Box<limbwise::ckks::Finding>,
        cause: Box<limbwise::Error>,
    },
    /// Too many threads, or none.
    #[error("{got} threads: choose 1 to {most}")]
    Threads {
        got: usize,
        most: usize,
    },
}

impl Error {
    /// What is wrong with a file, with its name.
    pub(crate) fn of_file(path: &std::path::Path, cause: limbwise::Error) -> Self {
        Self::File { path: path.display().to_string(), cause: Box::new(cause) }
    }
}
