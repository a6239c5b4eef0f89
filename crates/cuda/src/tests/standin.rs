//! The calls of the driver (`gpu.rs`, `graph.rs`) against a stand-in for NVIDIA's library, `driver.cpp`: this test binary
//! once more, as a process that finds the stand-in where a driver would be.
//!
//! The stand-in is ours: it holds these calls against what CUDA's documentation says, as we read it, not against CUDA.

use super::{random, ring};
use crate::{Cuda, host, nvrtc};
use limbwise_device::{
    Device, HostRead, Role, Shape,
    conformance::{Reach, with_device},
};
use std::{
    collections::BTreeMap,
    fmt::Debug,
    io::Write as _,
    path::PathBuf,
    process::{Command, id},
};

/// What the stand-in is told, and how a process knows that it runs on one.
const CHOICES: &str = "LIMBWISE_STANDIN";

fn stands_in() -> bool {
    std::env::var_os(CHOICES).is_some()
}

/// All of the suite on a GPU, less on a stand-in.
pub(crate) fn reach() -> Reach {
    if stands_in() { Reach { log_n: 12, rotations: 4, ..Reach::default() } } else { Reach::default() }
}

/// So many arbitrary programs on a GPU, less on a stand-in.
pub(crate) fn cases(on_a_gpu: u32) -> u32 {
    if stands_in() { 3 } else { on_a_gpu }
}

/// A folder with the stand-in by the name that is looked for first, and the kernels that were compiled for it.
struct Standin(PathBuf);

impl Drop for Standin {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a process printed, whether it passed, and what the stand-in reports of it.
struct Told {
    passed: bool,
    printed: String,
    /// Refused calls and handles that are left.
    wrong: Vec<String>,
    /// How often each function was called.
    called: BTreeMap<String, u64>,
}

impl Standin {
    fn new() -> Option<Self> {
        let made = Self(std::env::temp_dir().join(format!("limbwise_standin_{}", id())));
        std::fs::create_dir_all(&made.0).expect("a temporary folder");
        // Not libcuda.so.1: NVRTC would take that for a driver and ask it for more than is here.
        host::compile("src/tests/driver.cpp", &made.0.join("libcuda.so"))?;
        Some(made)
    }

    /// Runs tests of this binary where the stand-in is the driver.
    fn run(&self, choices: &str, tests: &[&str]) -> Told {
        let report = self.0.join("report");
        let _ = std::fs::remove_file(&report);
        let usual = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        let done = Command::new(std::env::current_exe().expect("this binary"))
            .args(tests)
            .env("LD_LIBRARY_PATH", format!("{}:{usual}", self.0.display()))
            .env("XDG_CACHE_HOME", &self.0)
            .env("LIMBWISE_REQUIRE", "cuda")
            .env(CHOICES, format!("report={},{choices}", report.display()))
            .output()
            .expect("this binary runs");
        let printed = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        let (mut wrong, mut called) = (Vec::new(), BTreeMap::new());
        for line in std::fs::read_to_string(&report).unwrap_or_default().lines() {
            match line.strip_prefix("called: ").and_then(|call| call.split_once(' ')) {
                Some((name, count)) => drop(called.insert(name.to_owned(), count.parse().expect("a number"))),
                None if line.starts_with("kernels: ") => {}
                None => wrong.push(line.to_owned()),
            }
        }
        Told { passed: done.status.success(), printed, wrong, called }
    }

    /// What [`scene`] says, line by line.
    fn scene(&self, choices: &str) -> Vec<String> {
        let told = self.run(choices, &["--exact", "tests::standin::scene", "--ignored", "--nocapture"]);
        assert!(told.passed, "{choices}: {}", told.printed);
        assert!(told.wrong.is_empty(), "{choices}: {:?}", told.wrong);
        told.printed.lines().filter_map(|line| line.strip_prefix("scene: ")).map(str::to_owned).collect()
    }
}

/// Two products and their sum in a loop, waited for, three times; then the same on a new thread.
#[test]
#[ignore = "no test by itself: what a device says, for the test below"]
fn scene() {
    let say = |what: &str, said: &dyn Debug| {
        writeln!(std::io::stdout(), "scene: {what}: {said:?}").expect("it is read");
    };
    let dev = match Cuda::open() {
        Ok(dev) => dev,
        Err(error) => return say("open", &error.to_string()),
    };
    let ring = ring(&dev, 10, &[50, 31]);
    let shape = Shape::eval(&ring, ring.full());
    let once = |a: &crate::CudaPoly, b: &crate::CudaPoly| {
        let _region = dev.region("once", 0);
        let parts = [dev.mul(a, b), dev.mul(b, a)];
        dev.ntt(dev.intt(dev.add(&parts[0], &parts[1])))
    };
    let [a, b] = [1, 2].map(|label| random(&dev, &shape, Role::Temporary, label));
    let right = |words: Vec<u64>| {
        let [x, y] = [&a, &b].map(|poly| dev.download(poly).unwrap_or_default());
        let of = |i: usize| u128::from(ring.moduli()[i / ring.n()].value());
        (0..words.len()).all(|i| u128::from(words[i]) == 2 * u128::from(x[i]) * u128::from(y[i]) % of(i))
    };
    for what in ["first", "second", "third", "fourth"] {
        let sum = once(&a, &b);
        say(what, &dev.sync().map_err(|fault| fault.to_string()));
        say(what, &dev.download(&sum).map(right).map_err(|fault| fault.to_string()));
    }
    std::thread::scope(|threads| {
        threads.spawn(|| say("thread", &dev.download(&once(&a, &b)).map(right).map_err(|fault| fault.to_string())));
    });
}

/// All that asks for a GPU, in three orders of streams, with nothing refused and nothing left.
fn every_call_is_as_documented(standin: &Standin) {
    for order in ["late", "early", "random"] {
        let tests: &[&str] = if order == "late" { &["gpu"] } else { &["gpu_small", "gpu_streamed_keys", "every_area"] };
        let told = standin.run(&format!("order={order}"), tests);
        assert!(told.passed, "{order}: {}", told.printed);
        assert!(told.wrong.is_empty(), "{order}: {:?}", told.wrong);
        for name in ["cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent", "cuGraphLaunch", "cuMemHostAlloc", "cuEventDestroy_v2"] {
            assert!(told.called.get(name).is_some_and(|&count| count > 0), "{order}: {name} was not called");
        }
    }
}

/// What fails is told, once if it passes and again if it stays; what need not fail does not.
fn failures_are_told(standin: &Standin) {
    for c in ["order=late", "alloc=1", "version=12040", "devices=0", "memory=0", "launch=2", "refuse=2", "instantiate=1"] {
        eprintln!("{c}: {:#?}", standin.scene(c));
    }
}

#[test]
fn the_driver_is_called_as_documented() {
    let both = |standin: Standin| {
        failures_are_told(&standin);
        every_call_is_as_documented(&standin);
    };
    with_device("nvrtc", || nvrtc::Nvrtc::find().ok(), |_| with_device("c++", Standin::new, both));
}
