//! Regions as a profiler's ranges: `profiler.cpp` plays the profiler.

use super::{MEMORY, host, random, ring};
use crate::nvtx::Profiler;
use libloading::Library;
use limbwise_device::{Basis, Device, Role, Shape, conformance::with_device};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
    sync::Barrier,
};

/// The profiler's side.
struct Watcher(Library);

impl Watcher {
    /// The library, and what it gives to a device; nothing where there is no C++ compiler.
    fn new() -> Option<(Self, Profiler)> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/profiler.cpp");
        let out = std::env::temp_dir().join(format!("limbwise_profiler_{}.so", std::process::id()));
        let mut compiler = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
        let flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
        assert!(compiler.args(flags).arg(&out).arg(source).status().ok()?.success(), "it compiles");
        assert!(Profiler::of("/nowhere/libprofiler.so".as_ref()).is_none());
        // SAFETY: made from profiler.cpp just now, which runs nothing when loaded.
        let watcher = Self(unsafe { Library::new(&out) }.unwrap());
        // SAFETY: a variable of that type, which nothing else uses now.
        let refuses = unsafe { *watcher.0.get::<*mut i32>(b"refuses\0").unwrap() };
        // SAFETY: as above.
        unsafe { *refuses = 1 };
        assert!(Profiler::of(out.as_os_str()).is_none());
        // SAFETY: as above.
        unsafe { *refuses = 0 };
        let profiler = Profiler::of(out.as_os_str()).expect("it wants ranges");
        std::fs::remove_file(&out).unwrap();
        Some((watcher, profiler))
    }

    /// What it was told since it was last asked.
    fn lines(&self) -> Vec<String> {
        type Take = unsafe extern "C" fn(*mut u8, usize) -> usize;
        let mut text = vec![0; 1 << 16];
        // SAFETY: the function's type in profiler.cpp.
        let take = unsafe { self.0.get::<Take>(b"take_ranges\0") }.unwrap();
        // SAFETY: it writes no more than there is room for.
        let length = unsafe { take(text.as_mut_ptr(), text.len()) };
        String::from_utf8(text[..length].to_vec()).unwrap().lines().map(str::to_owned).collect()
    }
}

/// Ranges begin and end as regions do, in each thread for itself, on every way out.
#[test]
fn regions_are_ranges() {
    with_device("c++", Watcher::new, |(watcher, profiler)| {
        let mut dev = host(MEMORY).unwrap();
        dev.profiler = Some(profiler);
        let ring = ring(&dev, 10, &[50, 31]);
        let a = random(&dev, &Shape::eval(&ring, ring.full()), Role::Ciphertext, 1);
        {
            let _outer = dev.region("layer", 3);
            drop(dev.rescale(&a, Basis::single(0)));
            let _inner = dev.region("digit", u32::MAX);
        }
        assert_eq!(watcher.lines(), ["0+layer 3", "0+rescale", "0-", "0+digit 4294967295", "0-", "0-"]);
        let broken = catch_unwind(AssertUnwindSafe(|| {
            let _outer = dev.region("outer", 0);
            let _inner = dev.region("inner", 0);
            assert!(dev.name().is_empty(), "broken off");
        }));
        assert!(broken.is_err());
        assert_eq!(watcher.lines(), ["0+outer", "0+inner", "0-", "0-"]);
        let together = Barrier::new(2);
        std::thread::scope(|scope| {
            for name in ["even", "odd"] {
                let (dev, together) = (&dev, &together);
                scope.spawn(move || {
                    together.wait();
                    for index in 0..50 {
                        let _outer = dev.region(name, index);
                        let _inner = dev.region("inner", 0);
                    }
                });
            }
        });
        let lines = watcher.lines();
        assert_eq!(lines.len(), 400);
        for thread in ["1", "2"] {
            let own: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(thread)).collect();
            let name = own[0].strip_prefix('+').unwrap();
            let want = (0..50).flat_map(|i| {
                let outer = if i == 0 { format!("+{name}") } else { format!("+{name} {i}") };
                [outer, "+inner".into(), "-".into(), "-".into()]
            });
            assert_eq!(own, want.collect::<Vec<String>>());
        }
        dev.profiler = None;
        drop(dev.region("unwatched", 0));
        assert!(watcher.lines().is_empty());
    });
}
