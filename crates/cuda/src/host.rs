//! The kernels on the host, in place of a GPU: for tests. The system's C++ compiler makes a library of them once a process.

use crate::{
    driver::{Driver, Failure, Place, Properties},
    launch::Launch,
};
use std::{
    collections::HashMap,
    ffi::{CString, c_char, c_int, c_void},
    path::Path,
    process::Command,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

type HostLaunch = unsafe extern "C" fn(*const c_char, *const u32, *mut *mut c_void, *const u64, u64) -> c_int;

/// A GPU's part played by the host.
pub(crate) struct Host {
    properties: Properties,
    launch: HostLaunch,
    /// Memory by its address; boxed words do not move.
    held: Mutex<HashMap<u64, Vec<u128>>>,
    /// How many launches there were.
    launches: AtomicU64,
    /// Words that may still be taken.
    left: AtomicU64,
}

/// The library of kernels, or why there is none.
fn library() -> Option<&'static libloading::Library> {
    static LIBRARY: OnceLock<Option<libloading::Library>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/host.cpp");
            let out = std::env::temp_dir().join(format!("limbwise_kernels_{}.so", std::process::id()));
            let mut compiler = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
            // Each operation on doubles rounds by itself; a fused one is an instruction where there is one, else libm's.
            let flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"];
            #[cfg(target_arch = "x86_64")]
            compiler.args(std::is_x86_feature_detected!("fma").then_some("-mfma"));
            let status = compiler.args(flags).arg("-o").arg(&out).arg(source).status().ok()?;
            assert!(status.success(), "the C++ compiler refuses the kernels");
            // SAFETY: the library was just made from kernels/host.cpp, which runs nothing when loaded.
            let loaded = unsafe { libloading::Library::new(&out) };
            std::fs::remove_file(&out).expect("the library is loaded, its file may go");
            Some(loaded.expect("the library of kernels loads"))
        })
        .as_ref()
}

/// `limbwise_host_float` of `host.cpp`: five residues, if no claim was broken.
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
    /// A device of so many bytes of memory; nothing where there is no C++ compiler.
    pub(crate) fn new(memory_bytes: u64) -> Option<Self> {
        let library = library()?;
        // SAFETY: this is the function's type in kernels/host.cpp.
        let launch = unsafe { library.get::<HostLaunch>(b"limbwise_host_launch\0") };
        let (name, arch) = ("kernels on the host".into(), "host".into());
        let properties = Properties { name, arch, memory_bytes, shared_bytes: 227 << 10 };
        let launch = *launch.expect("host.cpp defines it");
        Some(Self {
            properties,
            launch,
            held: Mutex::default(),
            left: AtomicU64::new(memory_bytes / 8),
            launches: AtomicU64::new(0),
        })
    }

    fn pointer(at: u64) -> *mut u64 {
        std::ptr::with_exposed_provenance_mut(usize::try_from(at).expect("64-bit addresses"))
    }
}

impl Driver for Host {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, words: usize, place: Place) -> Result<u64, Failure> {
        let wanted = if place == Place::Device { words as u64 } else { 0 };
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(wanted));
        taken.map_err(|_| Failure::Memory)?;
        // Not zeros: nothing may count on what new memory holds.
        let mut memory = vec![u128::MAX / 3; words.div_ceil(2)];
        let at = memory.as_mut_ptr().expose_provenance() as u64;
        self.held.lock().unwrap().insert(at, memory);
        Ok(at)
    }

    fn release(&self, at: u64, words: usize, place: Place) {
        self.held.lock().unwrap().remove(&at).expect("memory is released once");
        if place == Place::Device {
            self.left.fetch_add(words as u64, Ordering::Relaxed);
        }
    }

    fn write(&self, to: u64, words: &[u64], _place: Place) -> Result<(), Failure> {
        // SAFETY: rows lie within what `allocate` gave, and tests of one device do not run at the same time.
        unsafe { Self::pointer(to).copy_from_nonoverlapping(words.as_ptr(), words.len()) };
        Ok(())
    }

    fn read(&self, from: u64, words: &mut [u64], _place: Place) -> Result<(), Failure> {
        // SAFETY: as in `write`.
        unsafe { Self::pointer(from).copy_to_nonoverlapping(words.as_mut_ptr(), words.len()) };
        Ok(())
    }

    fn zero(&self, at: u64, words: usize, _place: Place) -> Result<(), Failure> {
        // SAFETY: as in `write`.
        unsafe { Self::pointer(at).write_bytes(0, words) };
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<(), Failure> {
        assert!(launch.shared_bytes <= self.properties.shared_bytes, "{launch:?}: too much shared memory");
        let [x, y, z] = launch.grid;
        let sides = x > 0 && (1..=65535).contains(&y) && (1..=65535).contains(&z);
        assert!(sides && launch.threads <= 1024, "{launch:?}: no such grid");
        assert!(launch.args.words.len() * 8 <= 4096, "{}: more arguments than every driver takes", launch.kernel);
        let name = CString::new(launch.kernel).expect("a name");
        // Every other launch takes the threads of its blocks in the opposite order.
        let backwards = u32::from(self.launches.fetch_add(1, Ordering::Relaxed) % 2 == 1);
        let (grid, starts) = ([x, y, z, launch.threads, backwards], &launch.args.starts);
        let mut words = launch.args.words.clone();
        let ends = starts[1..].iter().copied().chain([words.len()]);
        let sizes: Vec<u64> = starts.iter().zip(ends).map(|(start, end)| 8 * (end - start) as u64).collect();
        let mut args: Vec<*mut c_void> = starts.iter().map(|&start| (&raw mut words[start]).cast()).collect();
        // SAFETY: the library checks the number and sizes of arguments; addresses in them are those of rows that the caller holds.
        let code = unsafe {
            (self.launch)(name.as_ptr(), grid.as_ptr(), args.as_mut_ptr(), sizes.as_ptr(), args.len() as u64)
        };
        assert_eq!(
            code, 0,
            "{}: 1 number of arguments, 2 their sizes {sizes:?}, 3 no such kernel, 4 no barrier, 5 out of range",
            launch.kernel
        );
        Ok(())
    }

    fn wait(&self) -> Result<(), Failure> {
        Ok(())
    }
}
