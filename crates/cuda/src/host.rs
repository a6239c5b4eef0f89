//! A driver that runs the kernels on the host, for tests. The system's C++ compiler builds them into a library once per
//! process.

use crate::{
    driver::{Driver, Event, Failure, Place, Properties, Stream},
    launch::Launch,
    turns::{Order, Turns, Work},
};
use std::{
    collections::{BTreeMap, HashMap},
    ffi::{CString, c_char, c_int, c_void},
    path::Path,
    process::Command,
    sync::{
        Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

type HostLaunch = unsafe extern "C" fn(*const c_char, *const u32, *mut *mut c_void, *const u64, u64) -> c_int;

/// A mock GPU on the host.
pub(crate) struct Host {
    properties: Properties,
    launch: HostLaunch,
    state: Mutex<State>,
    /// Launches and copies done.
    launches: AtomicU64,
    copies: AtomicU64,
    /// Graphs by number.
    graphs: Mutex<HashMap<u64, Vec<Launch>>>,
    /// Number of submissions: a launch or a graph counts one.
    calls: AtomicU64,
    /// Words that can still be allocated.
    left: AtomicU64,
    /// A stream that skips its waits for events, to provoke errors.
    deaf: Option<Stream>,
    /// Whether the next copy fails.
    failing: AtomicBool,
}

struct State {
    turns: Turns,
    /// Allocations by address.
    held: BTreeMap<u64, Piece>,
}

/// An allocation; boxed words do not move.
struct Piece {
    memory: Vec<u128>,
    place: Place,
    /// Whether the compute stream has reached the allocation.
    there: bool,
}

impl State {
    /// # Panics
    /// If the words are not in one live allocation of that place.
    fn expect(&self, at: u64, words: usize, place: Place) {
        let found = self.held.range(..=at).next_back();
        let within = |(start, piece): (&u64, &Piece)| {
            let end = start + 16 * piece.memory.len() as u64;
            at + 8 * words as u64 <= end && piece.place == place && piece.there
        };
        assert!(found.is_some_and(within), "{words} words at {at:#x} are no memory of {place:?}");
    }
}

/// Compiles a C++ file beside this crate's `Cargo.toml`; `None` without a C++ compiler.
pub(crate) fn compile(source: &str, library: &Path) -> Option<()> {
    let mut compiler = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    // Each operation on doubles rounds separately; a fused multiply-add is an instruction if there is one, else libm's
    // function.
    let flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"];
    #[cfg(target_arch = "x86_64")]
    compiler.args(std::is_x86_feature_detected!("fma").then_some("-mfma"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let status = compiler.args(flags).arg("-o").arg(library).arg(&source).status().ok()?;
    assert!(status.success(), "the C++ compiler refuses {}", source.display());
    Some(())
}

/// The library of kernels; `None` without a C++ compiler.
fn library() -> Option<&'static libloading::Library> {
    static LIBRARY: OnceLock<Option<libloading::Library>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            let out = std::env::temp_dir().join(format!("limbwise_kernels_{}.so", std::process::id()));
            compile("kernels/host.cpp", &out)?;
            // SAFETY: the library was just made from kernels/host.cpp, which runs nothing when loaded.
            let loaded = unsafe { libloading::Library::new(&out) };
            std::fs::remove_file(&out).expect("the library is loaded, its file may go");
            Some(loaded.expect("the library of kernels loads"))
        })
        .as_ref()
}

/// `limbwise_host_float` of `host.cpp`: five residues, or `None` if a check fails.
pub(crate) fn float_field(q: u64, xy: [i64; 2], w: [u64; 2], c: u64) -> Option<[u64; 5]> {
    type Float = unsafe extern "C" fn(u64, f64, *const i64, *const u64, u64, *mut u64) -> c_int;
    // SAFETY: this is the function's type in kernels/host.cpp.
    let float = unsafe { library()?.get::<Float>(b"limbwise_host_float\0") }.expect("host.cpp defines it");
    let mut out = [0; 5];
    // SAFETY: the arrays have the lengths that it reads and writes.
    let broken = unsafe { float(q, 1.0 / q as f64, xy.as_ptr(), w.as_ptr(), c, out.as_mut_ptr()) };
    (broken == 0).then_some(out)
}

impl Host {
    /// A device with this many bytes of memory; `None` without a C++ compiler.
    pub(crate) fn new(memory_bytes: u64) -> Option<Self> {
        let library = library()?;
        // SAFETY: this is the function's type in kernels/host.cpp.
        let launch = unsafe { library.get::<HostLaunch>(b"limbwise_host_launch\0") };
        let (name, arch) = ("kernels on the host".into(), "host".into());
        let properties = Properties { name, arch, multiprocessors: 1, memory_bytes, shared_bytes: 227 << 10 };
        let launch = *launch.expect("host.cpp defines it");
        let state = State { turns: Turns::new(Order::AsAsked), held: BTreeMap::new() };
        Some(Self {
            properties,
            launch,
            state: state.into(),
            left: AtomicU64::new(memory_bytes / 8),
            launches: AtomicU64::new(0),
            copies: AtomicU64::new(0),
            graphs: Mutex::default(),
            calls: AtomicU64::new(0),
            deaf: None,
            failing: false.into(),
        })
    }

    /// Sets the order in which its streams run.
    pub(crate) fn order(mut self, order: Order) -> Self {
        self.state.get_mut().unwrap().turns = Turns::new(order);
        self
    }

    /// Makes one stream skip its waits for events, as a device with missing waits would.
    pub(crate) fn deaf(mut self, stream: Stream) -> Self {
        self.deaf = Some(stream);
        self
    }

    /// Makes the next copy fail.
    pub(crate) fn fail(&self) {
        self.failing.store(true, Ordering::Relaxed);
    }

    /// Launches and copies done so far.
    pub(crate) fn done(&self) -> [u64; 2] {
        [&self.launches, &self.copies].map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Submissions so far: a launch or a graph counts one.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether these words occur anywhere in its memory.
    pub(crate) fn holds(&self, words: [u64; 2]) -> bool {
        let pair = u128::from(words[1]) << 64 | u128::from(words[0]);
        self.state.lock().unwrap().held.values().any(|piece| piece.memory.contains(&pair))
    }

    fn pointer(at: u64) -> *mut u64 {
        std::ptr::with_exposed_provenance_mut(usize::try_from(at).expect("64-bit addresses"))
    }

    /// Submits work to a stream, and runs what the order runs immediately.
    fn ask(&self, stream: Stream, work: Work) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap();
        state.turns.ask(stream, work);
        while let Some(work) = state.turns.take_due_work() {
            self.run(&mut state, work);
        }
        Ok(())
    }

    /// Runs the remaining work of streams and everything it waits for.
    fn finish(&self, streams: &[Stream]) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap();
        for &stream in streams {
            while let Some(work) = state.turns.before(stream) {
                self.run(&mut state, work);
            }
        }
        state
    }

    fn run(&self, state: &mut State, work: Work) {
        match work {
            Work::Memory { at, there: true } => state.held.get_mut(&at).expect("memory").there = true,
            Work::Memory { at, there: false } => drop(state.held.remove(&at)),
            // SAFETY: rows lie within what `allocate` gave, and nothing else runs while the state is locked.
            Work::Write { to, words } => unsafe {
                Self::pointer(to).copy_from_nonoverlapping(words.as_ptr(), words.len());
            },
            // SAFETY: as above.
            Work::Zero { at, words } => unsafe { Self::pointer(at).write_bytes(0, words) },
            Work::Launch(launch) => self.call(&launch),
            Work::Copy { to, from, words } => {
                state.expect(to, words, Place::Device);
                state.expect(from, words, Place::Host);
                self.copies.fetch_add(1, Ordering::Relaxed);
                // SAFETY: the lines above.
                unsafe { Self::pointer(to).copy_from_nonoverlapping(Self::pointer(from), words) };
            }
            Work::Event(_) | Work::Wait(_) => unreachable!("these are the streams' own"),
        }
    }

    /// Checks the limits of a GPU.
    fn fits(&self, launch: &Launch) {
        assert!(launch.shared_bytes <= self.properties.shared_bytes, "{launch:?}: too much shared memory");
        let [x, y, z] = launch.grid;
        let sides = x > 0 && (1..=65535).contains(&y) && (1..=65535).contains(&z);
        assert!(sides && launch.threads <= 1024, "{launch:?}: no such grid");
        assert!(launch.args.words.len() * 8 <= 4096, "{}: more arguments than every driver takes", launch.kernel);
    }

    /// Calls a kernel.
    fn call(&self, launch: &Launch) {
        let [x, y, z] = launch.grid;
        let name = CString::new(launch.kernel).expect("a name");
        // Every other launch runs the threads of its blocks in reverse order.
        let backwards = u32::from(self.launches.fetch_add(1, Ordering::Relaxed) % 2 == 1);
        let (grid, starts) = ([x, y, z, launch.threads, backwards], &launch.args.starts);
        let mut words = launch.args.words.clone();
        let ends = starts[1..].iter().copied().chain([words.len()]);
        let sizes: Vec<u64> = starts.iter().zip(ends).map(|(start, end)| 8 * (end - start) as u64).collect();
        let mut args: Vec<*mut c_void> = starts.iter().map(|&start| (&raw mut words[start]).cast()).collect();
        // SAFETY: the library checks the number and sizes of arguments; addresses in them are those of rows, which stay with the
        // device's pool.
        let code = unsafe {
            (self.launch)(name.as_ptr(), grid.as_ptr(), args.as_mut_ptr(), sizes.as_ptr(), args.len() as u64)
        };
        assert_eq!(
            code, 0,
            "{}: 1 number of arguments, 2 their sizes {sizes:?}, 3 no such kernel, 4 no barrier, 5 out of range",
            launch.kernel
        );
    }
}

const BOTH: [Stream; 2] = [Stream::Compute, Stream::Copy];

impl Driver for Host {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, words: usize, place: Place) -> Result<u64, Failure> {
        let wanted = if place == Place::Device { words as u64 } else { 0 };
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(wanted));
        taken.map_err(|_| Failure::Memory)?;
        // Not zeros: code must not rely on the content of new memory.
        let mut memory = vec![u128::MAX / 3; words.div_ceil(2)];
        let at = memory.as_mut_ptr().expose_provenance() as u64;
        let there = place == Place::Host || self.deaf.is_some();
        self.state.lock().unwrap().held.insert(at, Piece { memory, place, there });
        if place == Place::Device {
            self.ask(Stream::Compute, Work::Memory { at, there: true })?;
        }
        Ok(at)
    }

    fn release(&self, at: u64, words: usize, place: Place) {
        if place == Place::Device {
            self.left.fetch_add(words as u64, Ordering::Relaxed);
            self.ask(Stream::Compute, Work::Memory { at, there: false }).expect("a stream");
        } else {
            self.finish(&BOTH).held.remove(&at).expect("memory is released once");
        }
    }

    fn write(&self, to: u64, words: &[u64], place: Place) -> Result<(), Failure> {
        let work = Work::Write { to, words: words.to_vec() };
        if place == Place::Device {
            return self.ask(Stream::Compute, work);
        }
        self.run(&mut self.finish(&BOTH), work);
        Ok(())
    }

    fn read(&self, from: u64, words: &mut [u64], place: Place) -> Result<(), Failure> {
        let _state = self.finish(if place == Place::Device { &BOTH[..1] } else { &BOTH });
        // SAFETY: as in `run`.
        unsafe { Self::pointer(from).copy_to_nonoverlapping(words.as_mut_ptr(), words.len()) };
        Ok(())
    }

    fn zero(&self, at: u64, words: usize, place: Place) -> Result<(), Failure> {
        let work = Work::Zero { at, words };
        if place == Place::Device {
            return self.ask(Stream::Compute, work);
        }
        self.run(&mut self.finish(&BOTH), work);
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<(), Failure> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.fits(launch);
        self.ask(Stream::Compute, Work::Launch(launch.clone()))
    }

    fn graph(&self, launches: &[Launch]) -> Result<u64, Failure> {
        launches.iter().for_each(|launch| self.fits(launch));
        let mut graphs = self.graphs.lock().unwrap();
        let number = graphs.keys().max().map_or(1, |last| last + 1);
        graphs.insert(number, launches.to_vec());
        Ok(number)
    }

    fn replay(&self, graph: u64) -> Result<(), Failure> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let launches = self.graphs.lock().unwrap()[&graph].clone();
        launches.into_iter().try_for_each(|launch| self.ask(Stream::Compute, Work::Launch(launch)))
    }

    fn discard(&self, graph: u64) {
        self.graphs.lock().unwrap().remove(&graph).expect("a graph is given up once");
    }

    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), Failure> {
        if self.failing.swap(false, Ordering::Relaxed) {
            return Err(Failure::Other("the bus is cut".into()));
        }
        self.ask(Stream::Copy, Work::Copy { to, from, words })
    }

    fn event(&self, stream: Stream) -> Result<Event, Failure> {
        Ok(self.state.lock().unwrap().turns.event(stream))
    }

    fn wait_for(&self, stream: Stream, event: Event) -> Result<(), Failure> {
        if self.deaf == Some(stream) {
            return Ok(());
        }
        self.ask(stream, Work::Wait(event))
    }

    fn forget(&self, _mark: Event) {}

    fn wait(&self) -> Result<(), Failure> {
        drop(self.finish(&BOTH));
        Ok(())
    }
}
