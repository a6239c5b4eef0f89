//! Ranges for profilers: the part of NVTX 3 that regions need.
//!
//! NVTX has no library to link. A profiler names its own library in the environment variable [`LIBRARY`]. A program
//! with ranges loads it and calls its `InitializeInjectionNvtx2` with a function that returns tables; the profiler
//! writes the addresses of its functions to the places in these tables (see `nvtx3/nvtxDetail/nvtxTypes.h` and
//! `nvtxInit.h` of NVIDIA's wheel `nvidia-nvtx`). Without a profiler nothing is loaded.

use libloading::Library;
use std::{
    ffi::{CString, OsStr, c_char, c_int, c_uint, c_void},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, Ordering},
    },
};

/// The environment variable in which a profiler names its library (`nsys profile` sets it).
const LIBRARY: &str = "NVTX_INJECTION64_PATH";
/// Value that disables the search.
const NOWHERE: &str = "./.";

/// Table of functions and version.
const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;
/// The version of NVTX.
const VERSION: u32 = 3;
/// Functions of the core module that are used: push a range with attributes, pop the innermost.
const CORE: c_int = 1;
const RANGE_PUSH_EX: usize = 8;
const RANGE_POP: usize = 11;
/// Functions of a module by its number, from 1 on, with the one that is none: core, CUDA, OpenCL, CUDA run time, core of
/// domains, synchronization.
const FUNCTIONS: [c_uint; 6] = [16, 9, 15, 7, 16, 7];
/// The largest of them.
const MOST: usize = 16;

/// The places for a profiler's functions of the core module; the other modules share unused ones.
type Places = [AtomicPtr<c_void>; MOST];
static CORE_PLACES: Places = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];
static OTHER_PLACES: Places = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];

/// A table with a pointer to the place of each function; number 0 has none.
type Table = [Option<&'static AtomicPtr<c_void>>; MOST + 1];
static CORE_TABLE: Table = table(&CORE_PLACES);
static OTHER_TABLE: Table = table(&OTHER_PLACES);

const fn table(places: &'static Places) -> Table {
    let (mut all, mut i) = ([None; MOST + 1], 1);
    while i < MOST {
        all[i] = Some(&places[i]);
        i += 1;
    }
    all
}

#[repr(C)]
struct Callbacks {
    bytes: usize,
    functions: extern "C" fn(c_int, *mut *const Table, *mut c_uint) -> c_int,
}

#[repr(C)]
struct VersionInfo {
    bytes: usize,
    version: u32,
    reserved: u32,
    receive_version: extern "C" fn(u32),
}

static CALLBACK_TABLE: Callbacks = Callbacks { bytes: size_of::<Callbacks>(), functions };
static VERSION_TABLE: VersionInfo =
    VersionInfo { bytes: size_of::<VersionInfo>(), version: VERSION, reserved: 0, receive_version };

/// Returns the table of a module: 1 on success, 0 for an unknown module.
extern "C" fn functions(module: c_int, table: *mut *const Table, size: *mut c_uint) -> c_int {
    let known = usize::try_from(module).ok().and_then(|m| FUNCTIONS.get(m.checked_sub(1)?));
    let Some(&functions) = known else { return 0 };
    if !size.is_null() {
        // SAFETY: the profiler passes null or the address of a number of its own.
        unsafe { *size = functions };
    }
    if !table.is_null() {
        // SAFETY: as above, of a pointer of its own.
        unsafe { *table = if module == CORE { &raw const CORE_TABLE } else { &raw const OTHER_TABLE } };
    }
    1
}

/// Receives the profiler's version, which is ignored.
extern "C" fn receive_version(_version: u32) {}

extern "C" fn export_table(what: u32) -> *const c_void {
    match what {
        CALLBACKS => (&raw const CALLBACK_TABLE).cast(),
        VERSION_INFO => (&raw const VERSION_TABLE).cast(),
        _ => ptr::null(),
    }
}

type Initialise = unsafe extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int;
type Push = unsafe extern "C" fn(*const Attributes) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// Attributes of a range (`nvtxEventAttributes_v2`).
#[repr(C)]
struct Attributes {
    version: u16,
    bytes: u16,
    category: u32,
    color_kind: i32,
    color: u32,
    payload_kind: i32,
    reserved: i32,
    payload: u64,
    message_kind: i32,
    message: *const c_char,
}

/// The size that the structure states.
const ATTRIBUTE_BYTES: u16 = 48;
const _: () = assert!(size_of::<Attributes>() == ATTRIBUTE_BYTES as usize);

/// The functions of a profiler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profiler {
    push: Push,
    pop: Pop,
}

impl Profiler {
    /// The profiler of this process, if any.
    pub(crate) fn detect() -> Option<Self> {
        let library = std::env::var_os(LIBRARY).filter(|library| library != NOWHERE && !library.is_empty())?;
        Self::of(&library)
    }

    /// Loads the profiler's library for the lifetime of the process. `None` if it cannot be loaded or refuses: as with
    /// every NVTX client, the program then runs without a profiler.
    pub(crate) fn of(library: &OsStr) -> Option<Self> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the user has named this library to be loaded into the process.
        let library = unsafe { Library::new(library) }.ok()?;
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: a function of this name has this type.
        let initialize = unsafe { library.get::<Initialise>(b"InitializeInjectionNvtx2\0") }.ok()?;
        for place in CORE_PLACES.iter() {
            place.store(ptr::null_mut(), Ordering::Relaxed);
        }
        // SAFETY: called once a library, with a function of the type that it expects.
        if unsafe { initialize(export_table) } == 0 {
            return None;
        }
        let [push, pop] = [RANGE_PUSH_EX, RANGE_POP].map(|i| CORE_PLACES[i].load(Ordering::Acquire));
        if push.is_null() || pop.is_null() {
            return None;
        }
        // SAFETY: the profiler has put its function of this type there.
        let push = unsafe { std::mem::transmute::<*mut c_void, Push>(push) };
        // SAFETY: as above.
        let pop = unsafe { std::mem::transmute::<*mut c_void, Pop>(pop) };
        Some(Self { push, pop })
    }

    /// Pushes a range for the calling thread, with its name and its index as payload.
    pub(crate) fn push(self, name: &'static str, index: u32) {
        let message = CString::new(name).unwrap_or_default();
        let attributes = Attributes {
            version: 3,
            bytes: ATTRIBUTE_BYTES,
            category: 0,
            color_kind: 0,
            color: 0,
            payload_kind: i32::from(index != 0), // a 64-bit number, or nothing
            reserved: 0,
            payload: index.into(),
            message_kind: 1, // a string
            message: message.as_ptr(),
        };
        // SAFETY: the profiler's function, on attributes that it copies what it needs of.
        unsafe { (self.push)(&raw const attributes) };
    }

    /// Pops the thread's innermost range.
    pub(crate) fn pop(self) {
        // SAFETY: the profiler's function.
        unsafe { (self.pop)() };
    }
}
