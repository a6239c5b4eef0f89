//! A server in a process of its own: this test binary, started again to run one test that is the server.

use crate::{client::Client, engine::Chain};
use limbwise_server::{Access, Limits, Server, Store, Tls, workers::Log};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{BufRead as _, BufReader, Lines},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

const WISH: &str = "LIMBWISE_TEST_SERVER";

/// What a server is started with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wish {
    pub(crate) root: PathBuf,
    pub(crate) bind: SocketAddr,
    pub(crate) token_file: Option<PathBuf>,
    /// Certificate and key.
    pub(crate) tls: Option<[PathBuf; 2]>,
    pub(crate) memory_bytes: u64,
    pub(crate) job_seconds: u64,
    pub(crate) plan_seconds: u64,
    pub(crate) running_jobs: usize,
    pub(crate) upload_bytes: u64,
    pub(crate) total_bytes: u64,
    pub(crate) client_bytes: u64,
    pub(crate) client_jobs: usize,
    pub(crate) open_uploads: usize,
    pub(crate) jobs: usize,
    pub(crate) request_seconds: u64,
    pub(crate) grace_seconds: u64,
}

impl Wish {
    /// For a folder of this name that is empty now.
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("limbwise-server-{}-{count}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Self {
            root,
            bind: ([127, 0, 0, 1], 0).into(),
            token_file: None,
            tls: None,
            memory_bytes: 10_000,
            job_seconds: 100,
            plan_seconds: 1000,
            running_jobs: 1,
            upload_bytes: 100_000,
            total_bytes: 200_000,
            client_bytes: 200_000,
            client_jobs: 4,
            open_uploads: 4,
            jobs: 4,
            request_seconds: 20,
            grace_seconds: 10,
        }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The steps that were computed so far.
    pub(crate) fn trace(&self) -> Vec<usize> {
        let text = fs::read_to_string(self.root.join("trace")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// What the engine was told of memory that it keeps.
    pub(crate) fn kept(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join("kept")).unwrap_or_default();
        text.lines().map(Into::into).collect()
    }

    /// How plans began and were stopped so far.
    pub(crate) fn plans(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join("plans")).unwrap_or_default();
        text.lines().map(Into::into).collect()
    }

    /// Waits until so many plans have begun or were stopped.
    pub(crate) fn until_plans(&self, count: usize) {
        let start = Instant::now();
        while self.plans().len() < count {
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", self.plans());
            sleep(Duration::from_millis(5));
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_bytes,
            job_seconds: self.job_seconds,
            plan_seconds: self.plan_seconds,
            running_jobs: self.running_jobs,
            upload_bytes: self.upload_bytes,
            chunk_bytes: 10_000,
            total_bytes: self.total_bytes,
            client_bytes: self.client_bytes,
            client_jobs: self.client_jobs,
            open_uploads: self.open_uploads,
            jobs: self.jobs,
            request_seconds: self.request_seconds,
            ..Limits::default()
        }
    }

    pub(crate) fn store(&self) -> Result<Store, limbwise_server::StartError> {
        Store::open(
            &self.state(),
            self.limits(),
            Arc::new(Chain {
                trace: self.root.join("trace"),
                plans: self.root.join("plans"),
                kept: self.root.join("kept"),
            }),
        )
    }

    /// Starts a server and waits until it has its address.
    pub(crate) fn start(&self) -> Running {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["process::the_server", "--exact", "--ignored", "--nocapture"]);
        command.env(WISH, serde_json::to_string(self).unwrap());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line =
            lines.by_ref().map_while(Result::ok).find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
        let address = line.expect("the server starts").parse().unwrap();
        let tokens = self.token_file.as_ref().map(|path| fs::read_to_string(path).unwrap());
        // The first of several.
        let token = tokens.map(|text| text.lines().next().unwrap().split(' ').next_back().unwrap().to_owned());
        Running { child, client: Client { address, token }, _out: lines }
    }
}

/// A server that runs; killed when dropped.
pub(crate) struct Running {
    child: Child,
    pub(crate) client: Client,
    /// Kept open: the test harness in it writes when the server has ended.
    _out: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; how the server ended.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
        self.child.wait().unwrap()
    }

    /// Waits until the server ends by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes what a test has made, if it passed.
pub(crate) fn clean(root: &Path) {
    fs::remove_dir_all(root).unwrap();
}

#[test]
#[ignore = "the server that the other tests start"]
fn the_server() {
    let Ok(wish) = std::env::var(WISH) else { return };
    let wish: Wish = serde_json::from_str(&wish).unwrap();
    let store = Arc::new(wish.store().unwrap());
    let access = wish.token_file.as_ref().map_or(Access::this_machine(), |path| Access::from_file(path).unwrap());
    let tls = wish.tls.as_ref().map(|[cert, key]| Tls::from_files(cert, key).unwrap());
    let log: Log = Arc::new(|_| {});
    let server = Server::bind(wish.bind, access, tls, store, log).unwrap();
    say(&format!("listening on {}\n", server.address()));
    assert!(server.run(Duration::from_secs(wish.grace_seconds)).unwrap(), "all jobs end in time");
}

fn say(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).unwrap();
    out.flush().unwrap();
}
