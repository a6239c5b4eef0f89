//! The calls of the driver (`gpu.rs`, `graph.rs`) against a mock driver for NVIDIA's library, `driver.cpp`: this test binary
//! once more, as a process that finds the mock driver where a driver would be.
//!
//! The mock driver is ours: it holds these calls against what CUDA's documentation says, as we read it, not against CUDA.

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

/// What the mock driver is told, and how a process knows that it runs on one.
const CHOICES: &str = "LIMBWISE_STANDIN";

fn stands_in() -> bool {
    std::env::var_os(CHOICES).is_some()
}

/// All of the suite on a GPU, less on a mock driver.
pub(crate) fn reach() -> Reach {
    if stands_in() { Reach { log_n: 12, rotations: 4, ..Reach::default() } } else { Reach::default() }
}

/// So many arbitrary programs on a GPU, less on a mock driver.
pub(crate) fn cases(on_a_gpu: u32) -> u32 {
    if stands_in() { 10 } else { on_a_gpu }
}

/// So many repetitions on a GPU, fewer on a mock driver.
pub(crate) fn times(on_a_gpu: u32) -> u32 {
    if stands_in() { 2 } else { on_a_gpu }
}

/// A folder with the mock driver by the name that is looked for first, and the kernels that were compiled for it.
struct Standin(PathBuf);

impl Drop for Standin {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a process printed, whether it passed, and what the mock driver reports of it.
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

    /// Runs tests of this binary where the mock driver is the driver.
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
        let told = self.run(choices, &["--exact", "tests::mock_driver::scene", "--ignored", "--nocapture"]);
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
    // Outside a region: a thread's first call of the driver is a launch.
    let alone = || dev.add(&dev.mul(&a, &b), &dev.mul(&b, &a));
    let there = || say("thread", &dev.download(&alone()).map(right).map_err(|fault| fault.to_string()));
    std::thread::scope(|threads| drop(threads.spawn(there)));
}

/// Calls that CUDA refuses, or that leave two streams without an order: what the mock driver says of each.
#[test]
#[ignore = "no test by itself: calls that are wrong, for the test below"]
#[expect(clippy::multiple_unsafe_ops_per_block, reason = "what holds for one holds for all")]
fn wrong_calls() {
    use cudarc::driver::{result, sys};
    if !stands_in() {
        return; // what a driver does with them is not known
    }
    let say = |what: &str, done: Result<(), result::DriverError>| {
        let code = done.err().map_or(sys::CUresult::CUDA_SUCCESS, |error| error.0);
        writeln!(std::io::stdout(), "scene: {what}: {code:?}").expect("it is read");
    };
    // SAFETY: the mock driver checks what it is given, which is what is tested here.
    unsafe {
        say("before cuInit", result::device::get_count().map(drop));
        result::init().expect("it starts");
        let device = result::device::get(0).expect("a GPU");
        say("without a context", result::stream::create(result::stream::StreamKind::NonBlocking).map(drop));
        let context = result::primary_ctx::retain(device).expect("a context");
        result::ctx::set_current(context).expect("it is retained");
        let [one, two] =
            [0, 1].map(|_| result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream"));
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).expect("an event");
        say(
            "an event that was not recorded",
            result::stream::wait_event(one, event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT),
        );
        say("an unknown event", result::event::record(std::ptr::dangling_mut(), one));
        say("no machine code", result::module::load_data(c"nothing at all".as_ptr().cast()).map(drop));
        let at = result::malloc_async(one, 4096).expect("memory");
        say("a copy past the end", result::memcpy_htod_async(at + 8, &[0_u64; 512], one));
        say("memory that is there", result::memset_d8_async(at, 0, 4096, one));
        result::stream::synchronize(one).expect("it ends");
        say("memory that is freed", result::free_async(at, one));
        say("once more", result::free_async(at, one));
        say("its use", result::memset_d8_async(at, 0, 4096, one));
        let host = result::malloc_host(4096, 0).expect("locked memory");
        let at = result::malloc_async(one, 4096).expect("memory");
        sys::cuMemcpyHtoDAsync_v2(at, host, 4096, one).result().expect("a copy that comes late");
        say("locked memory that is still copied", result::free_host(host));
        result::event::destroy(event).expect("there is one");
        say("an event that is gone", result::event::record(event, one));
        // On `two` nothing waits for `one`, where the memory is made later.
        let late = result::malloc_async(one, 4096).expect("memory");
        say("another stream's memory", result::memset_d8_async(late, 0, 4096, two));
        say("and its end", result::stream::synchronize(two));
        say("then everything", result::stream::synchronize(one));
    }
}

/// The mock driver is as strict as it says.
fn wrong_calls_are_refused(mock_driver: &Standin) {
    let told =
        mock_driver.run("order=late", &["--exact", "tests::mock_driver::wrong_calls", "--ignored", "--nocapture"]);
    let scene: Vec<&str> = told.printed.lines().filter_map(|line| line.strip_prefix("scene: ")).collect();
    let want = [
        "before cuInit: CUDA_ERROR_NOT_INITIALIZED",
        "without a context: CUDA_ERROR_INVALID_CONTEXT",
        "an event that was not recorded: CUDA_ERROR_INVALID_VALUE",
        "an unknown event: CUDA_ERROR_INVALID_HANDLE",
        "no machine code: CUDA_ERROR_INVALID_IMAGE",
        "a copy past the end: CUDA_ERROR_INVALID_VALUE",
        "memory that is there: CUDA_SUCCESS",
        "memory that is freed: CUDA_SUCCESS",
        "once more: CUDA_ERROR_INVALID_VALUE",
        "its use: CUDA_ERROR_INVALID_VALUE",
        "locked memory that is still copied: CUDA_ERROR_INVALID_VALUE",
        "an event that is gone: CUDA_ERROR_INVALID_HANDLE",
        "another stream's memory: CUDA_SUCCESS",
        "and its end: CUDA_ERROR_ILLEGAL_ADDRESS",
        "then everything: CUDA_ERROR_ILLEGAL_ADDRESS",
    ];
    assert_eq!(scene, want);
    assert_eq!(told.wrong.len(), 11, "each is told: {:?}", told.wrong);
}

/// All that asks for a GPU, in three orders of streams, with nothing refused and nothing left.
fn every_call_is_as_documented(mock_driver: &Standin) {
    for order in ["late", "early", "random"] {
        let tests: &[&str] = if order == "late" { &["gpu"] } else { &["gpu_small", "gpu_streamed_keys", "every_area"] };
        let told = mock_driver.run(&format!("order={order}"), tests);
        assert!(told.passed, "{order}: {}", told.printed);
        assert!(told.wrong.is_empty(), "{order}: {:?}", told.wrong);
        for name in
            ["cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent", "cuGraphLaunch", "cuMemHostAlloc", "cuEventDestroy_v2"]
        {
            assert!(told.called.get(name).is_some_and(|&count| count > 0), "{order}: {name} was not called");
        }
    }
}

/// What fails is told: once if it passes, again if it stays. What need not fail does not.
fn failures_are_told(mock_driver: &Standin) {
    let said = |what: &str, lines: [&str; 2]| lines.map(|line| format!("{what}: {line}"));
    let times = |lines: [[&str; 2]; 4]| {
        let of = ["first", "second", "third", "fourth"].into_iter().zip(lines);
        of.flat_map(|(what, lines)| said(what, lines)).collect::<Vec<String>>()
    };
    let well = ["Ok(())", "Ok(true)"];
    for choices in ["order=late", "order=early", "alloc=1", "instantiate=1"] {
        // One row is taken where there is no room for many, and launches are issued where there is no graph of them.
        let want = [times([well; 4]), vec!["thread: Ok(true)".to_owned()]].concat();
        assert_eq!(mock_driver.scene(choices), want, "{choices}");
    }
    let refused = "Err(\"cuda (mock driver) failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES\")";
    let once = [times([[refused, "Ok(false)"], well, well, well]), vec!["thread: Ok(true)".to_owned()]].concat();
    assert_eq!(mock_driver.scene("refuse=2"), once);
    for (choices, fault) in [
        ("launch=2", "failed: CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("memory=0", "has no memory for 8192 bytes more: choose a smaller program or another device"),
    ] {
        let scene = mock_driver.scene(choices);
        let told = scene.iter().filter(|line| line.contains(&format!("Err(\"cuda (mock driver) {fault}\")"))).count();
        assert!(scene.len() == 9 && told >= 4 && !scene.iter().any(|line| line.contains("Ok")), "{scene:?}");
    }
    for (choices, error) in [
        ("devices=0", "there is no GPU 0: the driver sees 0"),
        ("stream=2", "the NVIDIA driver failed to open a stream: CUDA_ERROR_OUT_OF_MEMORY"),
        (
            "version=12040",
            "the NVIDIA driver supports CUDA 12.4, the kernels are compiled by NVRTC 13.0: update the driver, or name an older NVRTC in LIMBWISE_NVRTC",
        ),
    ] {
        assert_eq!(mock_driver.scene(choices), [format!("open: {error:?}")]);
    }
}

#[test]
fn the_driver_is_called_as_documented() {
    let both = |mock_driver: Standin| {
        wrong_calls_are_refused(&mock_driver);
        failures_are_told(&mock_driver);
        every_call_is_as_documented(&mock_driver);
    };
    with_device("nvrtc", || nvrtc::Nvrtc::find().ok(), |_| with_device("c++", Standin::new, both));
}
