//! `limbwise serve`: evaluates for clients over HTTP.

use crate::{
    Again,
    failure::{Mistake, say},
    host::{HostArgs, size},
    verbs::{eval::ModelFiles, serve_resident::ResidentArgs},
};
use limbwise_apps::Description;
use limbwise_runtime::host::available_memory_bytes;
use limbwise_server::{
    Access, Evaluation, Limits, Memory, Planner, Server, Store, Tls, evaluation::Models, workers::Log,
};
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// Serve clients over HTTP: receive files in chunks, run jobs, return results
///
/// Clients upload a program description, evaluation keys and ciphertexts, made by "limbwise keygen" and "limbwise encrypt";
/// the secret key stays with the client. The API is described at /openapi.json; examples are in docs/serve.md.
/// All state is in DIR: a killed server resumes from it, uploads at their last byte and jobs at their last
/// checkpoint.
///
/// Examples:
///   limbwise serve state
///   limbwise serve state --bind 0.0.0.0:8443 --token-file tokens --tls-cert cert.pem --tls-key key.pem
///   limbwise serve state --memory 12GB --jobs 2
///   python -m limbwise.client http://127.0.0.1:8080 --program program.json --keys evaluation.keys --out results 000.ct
///
/// Without a token the server answers this machine only and refuses --bind to other addresses. Beyond it, give
/// --tls-cert and --tls-key, or put a TLS proxy in front. SIGTERM and SIGINT shut it down cleanly.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// Directory of the server's state; created if missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    bind: SocketAddr,

    /// File with the token that clients must send: 32 characters or more, readable by you alone (mode 600); or a line
    /// "NAME TOKEN" for each of several clients, of whom none sees what others have
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificates for TLS as PEM, the server's own first
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// And the key, readable by you alone (mode 600)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    #[command(flatten)]
    resident: ResidentArgs,

    #[command(flatten)]
    model: ModelArgs,

    /// Jobs that run at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64), help_heading = "Limits")]
    jobs: u8,

    /// Memory for all running jobs, by their plans [default: three quarters of the free memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    memory: Option<u64>,

    /// Memory for keys that stay for later jobs on the same program; part of --memory, and freed when a job needs it;
    /// 0B keeps none [default: a quarter of --memory]
    #[arg(long, value_name = "SIZE", value_parser = size_or_none, help_heading = "Limits")]
    resident_keys: Option<u64>,

    /// Time limit of a job, by its plan and by the clock
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400, help_heading = "Limits")]
    job_seconds: u64,

    /// Time limit of planning a job; at most two are planned at a time
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Limits")]
    plan_seconds: u64,

    /// Memory limit of planning a job, in a separate process and beside --memory [default: an eighth of --memory, at
    /// least 256 MB]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    plan_memory: Option<u64>,

    /// Largest file
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16GB", help_heading = "Limits")]
    upload: u64,

    /// Largest chunk of an upload
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16MB", help_heading = "Limits")]
    chunk: u64,

    /// Total size of all files, including pending uploads and expected results
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64GB", help_heading = "Limits")]
    total: u64,

    /// Total size of the files of one client, including pending uploads and expected results [default: half of --total
    /// where there are several clients, else all of it]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    client_total: Option<u64>,

    /// Jobs of one client that wait or run
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "Limits")]
    client_jobs: u16,

    /// Seconds of a request
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Limits")]
    request_seconds: u64,

    /// Seconds for requests and jobs to finish at shutdown
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3600), help_heading = "Limits")]
    grace_seconds: u64,

    #[command(flatten)]
    host: HostArgs,
}

/// Numbers that the server supplies for descriptions without them.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ModelArgs {
    /// Matrix or filters of layers whose descriptions leave them to the server, as .csv or .npy
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    weights: Option<PathBuf>,

    /// And its bias
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    bias: Option<PathBuf>,
}

impl ModelArgs {
    /// The numbers for each description.
    pub(super) fn models(&self) -> Models {
        let files = [self.weights.clone(), self.bias.clone()];
        Box::new(move |description: &Description| {
            let model = description.workload.model([files[0].as_deref(), files[1].as_deref()]);
            model.map(Option::unwrap_or_default).map_err(|e| e.to_string())
        })
    }

    /// Command of a planner with the same numbers.
    fn planner(&self, again: &Again) -> std::io::Result<Planner> {
        let (program, mut arguments) = again.command()?;
        arguments.push("serve-plan".into());
        for (option, file) in [("--weights", &self.weights), ("--bias", &self.bias)] {
            arguments.extend(file.iter().flat_map(|file| [option.into(), file.clone().into_os_string()]));
        }
        Ok(Planner { program, arguments })
    }
}

/// A size, or none at all.
fn size_or_none(text: &str) -> Result<u64, String> {
    if text == "0B" { Ok(0) } else { size(text) }
}

/// Fallback if the system does not report free memory.
const MEMORY_BYTES: u64 = 4_000_000_000;
/// Share of the jobs' memory that planning one may take: two of them fit into what the default leaves free.
const PLAN_SHARE: u64 = 8;
/// Share of the jobs' memory that keys of earlier jobs may take while no job wants it.
const RESIDENT_SHARE: u64 = 4;
/// And no less: the plan of a small program takes some megabytes, whatever the server has.
const PLAN_BYTES: u64 = 256_000_000;

impl Serve {
    pub(super) fn execute(&self, again: &Again) -> anyhow::Result<()> {
        if let Some(socket) = &self.resident.socket {
            let files = ModelFiles { weights: self.model.weights.clone(), bias: self.model.bias.clone() };
            return self.resident.execute((socket, &self.directory), &files, (&self.host, self.memory));
        }
        let access =
            self.token_file.as_ref().map_or_else(|| Ok(Access::this_machine()), |path| Access::from_file(path));
        let access = access.map_err(mistake)?;
        access.allows(self.bind).map_err(mistake)?;
        let files = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let tls = files.map(|(cert, key)| Tls::from_files(cert, key)).transpose().map_err(mistake)?;
        let (scheme, open) = if tls.is_some() { ("https", false) } else { ("http", true) };
        let limits = self.limits(access.clients());
        let (models, planner) = (self.model.models(), self.model.planner(again)?);
        let engine = Evaluation::new(self.host.host(), self.memory(&limits), models, planner)?;
        let store = Arc::new(Store::open(&self.directory, limits, Arc::new(engine)).map_err(mistake)?);
        let log: Log = Arc::new(|line: &str| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            say(&format!("{}.{:03} {line}\n", now.as_secs(), now.subsec_millis()));
        });
        for limbwise_server::Damaged { what, path, cause, .. } in store.damaged() {
            log(&format!(
                "{}: a damaged {what} ({cause}): all else goes on; mend it and start again, or move it away",
                path.display()
            ));
        }
        let server = Server::bind(self.bind, access, tls, store, log.clone()).map_err(mistake)?;
        log(&format!("listening on {scheme}://{}", server.address()));
        if open && !server.address().ip().is_loopback() {
            log(
                "others can reach this address, and nothing is encrypted on the way: give --tls-cert and --tls-key, or put a proxy with TLS in front",
            );
        }
        if !server.run(Duration::from_secs(self.grace_seconds)).map_err(mistake)? {
            log("a job was in the middle of a step; it goes on from its checkpoint when a server runs here again");
        }
        Ok(())
    }

    fn memory(&self, limits: &Limits) -> Memory {
        let memory_bytes = limits.memory_bytes;
        Memory { memory_bytes, resident_bytes: self.resident_keys.unwrap_or(memory_bytes / RESIDENT_SHARE) }
    }

    fn limits(&self, clients: usize) -> Limits {
        let free = || available_memory_bytes().map_or(MEMORY_BYTES, |free| free / 4 * 3);
        let memory_bytes = self.memory.unwrap_or_else(free);
        Limits {
            upload_bytes: self.upload,
            chunk_bytes: self.chunk,
            total_bytes: self.total,
            // So that no client fills the server alone.
            client_bytes: self.client_total.unwrap_or(if clients > 1 { self.total / 2 } else { self.total }),
            client_jobs: self.client_jobs.into(),
            memory_bytes,
            job_seconds: self.job_seconds,
            running_jobs: self.jobs.into(),
            plan_seconds: self.plan_seconds,
            plan_memory_bytes: self.plan_memory.unwrap_or((memory_bytes / PLAN_SHARE).max(PLAN_BYTES)),
            request_seconds: self.request_seconds,
            ..Limits::default()
        }
    }
}

fn mistake(error: limbwise_server::StartError) -> anyhow::Error {
    match error {
        limbwise_server::StartError::System { what, error } => {
            std::io::Error::new(error.kind(), format!("{what}: {error}")).into()
        }
        other => Mistake(other.to_string()).into(),
    }
}
