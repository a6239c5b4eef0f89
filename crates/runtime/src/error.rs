//! Errors of this crate.

use limbwise_apps::description::Refusal;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
    #[error(transparent)]
    Machine(#[from] limbwise_machines::MachineError),
    /// The sizes of a training do not fit together.
    #[error(transparent)]
    Training(#[from] limbwise_apps::helr::encrypted::HelrError),
    #[error(transparent)]
    Counting(#[from] limbwise_machines::simfhe::SetError),
    #[error(transparent)]
    Graph(#[from] limbwise_graph::GraphError),
    #[error("no machine report: {0} (limbwise time --json writes one)")]
    Report(String),
    #[error("{path}: {doing}: {source} (check the path and its permissions)")]
    Io { path: String, doing: &'static str, source: std::io::Error },
    #[error("{path}: {cause}")]
    File { path: String, cause: Box<limbwise::Error> },
    #[error("{path}: {problem}")]
    Journal { path: String, problem: String },
    #[error("{path}: longer than {most} bytes, so it is not the expected file")]
    Long { path: String, most: usize },
    #[error("{path}: {cause}")]
    Description { path: String, cause: Box<limbwise_apps::description::DescriptionError> },
    #[error("{path} exists: choose another place, or allow replacement (--force, if the command has it)")]
    Exists { path: String },
    #[error(
        "{path} has keys without their program.json: of a \"limbwise keygen\" that was killed, or of another place; nothing reads them: choose another directory, or replace them (--force)"
    )]
    Unfinished { path: String },
    #[error("{path}: no ciphertext (*.ct) in this directory: give the files, or the directory that has them")]
    Empty { path: String },
    #[error("{path} is a directory: name the files in it ({path}/*)")]
    Directory { path: String },
    #[error("{path}: {count} ciphertexts do not go into one file: give a directory")]
    OneFile { path: String, count: usize },
    #[error("{count} ciphertexts; the program takes {wanted}: {names} (in the order of their files' names)")]
    Count { count: usize, wanted: usize, names: String },
    #[error("{path}: {field} is {got}, wanted {wanted} for {name}: encrypt for this program (limbwise encrypt)")]
    Shape { path: String, name: String, field: &'static str, got: Box<str>, wanted: Box<str> },
    #[error("{path}: {missing}: make the keys of this program (limbwise keygen)")]
    Keys { path: String, missing: String },
    #[error(
        "{path}: the client's directory is the server's or lies in it: the server would have the secret key; give two that are apart"
    )]
    OneSide { path: String },
    #[error(
        "{path}: to verify this file its parameters are needed: give the file of the parameters, or the program.json beside the keys (--params)"
    )]
    NoParams { path: String },
    #[error(
        "{path} has the checkpoint of another run (other program, keys, inputs or seed): choose another directory, or delete it"
    )]
    OtherRun { path: String },
    #[error("{path}: another process has this directory: wait until it ends, or choose another directory")]
    Busy { path: String },
    #[error("{path}: no whole state of a checkpoint ({cause}): delete the checkpoint's directory and start again")]
    Checkpoint { path: String, cause: String },
    #[error(
        "a result of {precision:.1} bits cannot be shared: {statistical} bits of statistical security cost {cost:.1} of them; take parameters with more precision, or fewer bits (--statistical-bits)"
    )]
    Shared { precision: f64, cost: f64, statistical: u32 },
    #[error(
        "this key's first sharing was for {} results with {} bits of statistical security, and this one is for {} with {}: all results under one key are shared with the same noise; give the first numbers (--statistical-bits, --shared-results), or make new keys",
        first.results, first.statistical_bits, wanted.results, wanted.statistical_bits
    )]
    #[cfg(feature = "client")]
    OtherSharing { first: crate::share::Sharing, wanted: crate::share::Sharing },
    #[error(
        "{more} more results cannot be shared under this key: {shared} of the {most} that its noise is sized for were shared already; make new keys (limbwise keygen), and say with their first sharing how many there will be (--shared-results)"
    )]
    SharedAll { shared: u32, more: u32, most: u32 },
    #[error(
        "{path}: {cause}: without it nobody knows what was shared under this key; bring back the file from a copy, or make new keys"
    )]
    Ledger { path: String, cause: String },
    #[error(
        "{path}: a result of other inputs: {got}; the last inputs of this client are those in {last}; to read results of earlier ones, name these: --inputs DIR"
    )]
    OtherInputs { path: String, got: String, last: String },
    #[error(transparent)]
    Open(#[from] limbwise_cpu::OpenError),
    #[error(transparent)]
    Gpu(#[from] limbwise_cuda::OpenError),
    #[error(transparent)]
    Dpus(#[from] limbwise_upmem::OpenError),
    #[error("there is no device {:?}: this build has {}", .0, crate::any_device::AnyDevice::KINDS.join(", "))]
    UnknownDevice(String),
    #[error("this run needs {:.2} GB, the machine has {:.2} GB to give: choose fewer rows or iterations, or a preset with fewer limbs (limbwise plan shows the bytes)", *needed as f64 / 1e9, *available as f64 / 1e9)]
    Memory { needed: u64, available: u64 },
    /// The description alone needs more memory than allowed, whatever the configuration.
    #[error("by its sizes alone this program needs at least {:.2} GB, and may take {:.2} GB: choose fewer rows, columns or inputs, or give it more memory (--memory)", *least as f64 / 1e9, *available as f64 / 1e9)]
    Sizes { least: u64, available: u64 },
    /// A program in shadow mode failed after an operation had already gone wrong.
    #[cfg(feature = "client")]
    #[error("{finding}; the run then failed: {cause}")]
    Shadow { finding: Box<limbwise::ckks::Finding>, cause: Box<limbwise::Error> },
    /// A file or directory whose content is not what it should be.
    #[error("{path}: {cause}")]
    Damaged { path: String, cause: String },
    /// Results that are withheld, and why they are likely to be, by the client's own data.
    #[error("{cause}; a likely cause: {likely}")]
    Likely { cause: Box<Error>, likely: String },
    /// What a workload or a client's directory refuses, in full words.
    #[error(transparent)]
    Refused(Refusal),
    #[error("{got} threads: choose 1 to {most}")]
    Threads { got: usize, most: usize },
    #[error("rates of {}: {problem}; wanted a file calibration-*.json from a cache of limbwise", path.display())]
    Rates { path: std::path::PathBuf, problem: String },
}

impl Error {
    /// Whether values were decrypted that contradict the program.
    #[cfg(feature = "client")]
    pub(crate) fn withholds(&self) -> bool {
        use limbwise::error::DecryptError::Implausible;
        match self {
            Self::File { cause, .. } => matches!(**cause, limbwise::Error::Decrypt(Implausible { .. })),
            Self::Scheme(cause) => matches!(cause, limbwise::Error::Decrypt(Implausible { .. })),
            _ => false,
        }
    }

    /// What a workload refused.
    pub fn of_refusal(refusal: Refusal) -> Self {
        match refusal.downcast::<limbwise::Error>() {
            Ok(error) => Self::Scheme(*error),
            Err(other) => Self::Refused(other),
        }
    }

    /// An error in reading a state of a checkpoint: what is absent or damaged there is said so, whatever else went wrong
    /// stays as it is.
    pub(crate) fn of_checkpoint(path: &std::path::Path, error: Self) -> Self {
        let cause = match error {
            Self::Io { doing, source, .. } => format!("{doing}: {source}"),
            Self::File { cause, .. } if matches!(*cause, limbwise::Error::Wire(_)) => cause.to_string(),
            Self::Long { most, .. } => format!("longer than {most} bytes"),
            other => return other,
        };
        Self::Checkpoint { path: path.display().to_string(), cause }
    }

    /// An error in a file, with the file's name.
    pub(crate) fn of_file(path: &std::path::Path, cause: limbwise::Error) -> Self {
        Self::File { path: path.display().to_string(), cause: Box::new(cause) }
    }
}
