//! The CUDA driver. It is loaded when a GPU is opened, never before.

use crate::{
    driver::{Driver, Event, Failure, Place, Properties, Stream},
    graph::{self, Graphs},
    launch::Launch,
    nvrtc::{self, Nvrtc, NvrtcError},
    replay,
};
use cudarc::driver::{DriverError, result, sys};
use rayon::prelude::*;
use std::{
    collections::HashMap,
    ffi::{CString, c_int, c_void},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Reasons why a GPU cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The driver library was not found.
    #[error(
        "no NVIDIA driver was found (libcuda.so.1): install one for CUDA 13.0 or later (R580), or use --device cpu"
    )]
    NoDriver,
    /// The driver is too old for code of the compiler.
    #[error(
        "the NVIDIA driver supports CUDA {}.{}, the kernels are compiled by NVRTC {}.{}: update the driver, or name an older NVRTC in {}",
        driver.0, driver.1, nvrtc.0, nvrtc.1, nvrtc::PLACE
    )]
    OldDriver {
        /// CUDA version that the driver supports, major and minor.
        driver: (u32, u32),
        /// Version of NVRTC, major and minor.
        nvrtc: (u32, u32),
    },
    /// There is no GPU with this number.
    #[error("there is no GPU {wanted}: the driver sees {found}")]
    NoGpu {
        /// Number requested.
        wanted: u32,
        /// Number of GPUs.
        found: u32,
    },
    /// NVRTC is missing or fails.
    #[error(transparent)]
    Nvrtc(#[from] NvrtcError),
    /// Unknown value of the environment variable.
    #[error("{} is {got:?}, but can be steady (launches that a program repeats become graphs) or off", replay::CHOICE)]
    Replay {
        /// Value of the environment variable.
        got: String,
    },
    /// Any other failure of the driver.
    #[error("the NVIDIA driver failed to {what}: {reason}")]
    Driver {
        /// The operation that failed.
        what: &'static str,
        /// Message of the driver.
        reason: String,
    },
}

/// Adds the operation to a driver's failure.
trait Step<T> {
    fn step(self, what: &'static str) -> Result<T, OpenError>;
}

impl<T> Step<T> for Result<T, DriverError> {
    fn step(self, what: &'static str) -> Result<T, OpenError> {
        self.map_err(|e| OpenError::Driver { what, reason: words(e) })
    }
}

fn words(error: DriverError) -> String {
    let name = error.error_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|_| format!("error {:?}", error.0))
}

pub(crate) fn failure(error: DriverError) -> Failure {
    match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Failure::Memory,
        _ => Failure::Other(words(error)),
    }
}

/// A pool of CUDA events; released events are reused.
#[derive(Default)]
struct Events {
    all: Vec<sys::CUevent>,
    free: Vec<usize>,
}

/// One GPU with its two streams and its kernels.
pub(crate) struct Gpu {
    properties: Properties,
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    copies: sys::CUstream,
    events: Mutex<Events>,
    modules: Vec<sys::CUmodule>,
    kernels: HashMap<&'static str, sys::CUfunction>,
    graphs: Mutex<Graphs>,
}

// SAFETY: handles of the driver may be used from any thread whose context is set, which every call below does.
unsafe impl Send for Gpu {}

// SAFETY: as above; the driver orders calls on one stream, and the list of events has a lock.
unsafe impl Sync for Gpu {}

/// Names of the kernels of a file of [`nvrtc::SOURCES`].
fn kernel_names(source: &'static str) -> impl Iterator<Item = &'static str> {
    source.split("\nKERNEL ").skip(1).filter_map(|rest| rest.split('(').next())
}

impl Gpu {
    /// Opens a GPU by its number.
    pub(crate) fn open(ordinal: u32) -> Result<Self, OpenError> {
        // SAFETY: loading libcuda runs nothing but its own set-up. Without it cudarc would panic in the first call.
        if !unsafe { sys::is_culib_present() } {
            return Err(OpenError::NoDriver);
        }
        match result::init() {
            // A driver without a GPU fails to initialize.
            Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => {
                return Err(OpenError::NoGpu { wanted: ordinal, found: 0 });
            }
            started => started.step("start")?,
        }
        let found = result::device::get_count().step("count GPUs")?.unsigned_abs();
        let Some(number) = c_int::try_from(ordinal).ok().filter(|_| ordinal < found) else {
            return Err(OpenError::NoGpu { wanted: ordinal, found });
        };
        let nvrtc = Nvrtc::find()?;
        let driver = driver_version()?;
        if driver.0 < nvrtc.version().0 {
            return Err(OpenError::OldDriver { driver, nvrtc: nvrtc.version() });
        }
        let device = result::device::get(number).step("give a GPU")?;
        let properties = properties(device)?;
        // SAFETY: the device is one that the driver gave.
        let context = unsafe { result::primary_ctx::retain(device) }.step("open a context")?;
        let (events, modules, kernels, graphs) = (Mutex::default(), Vec::new(), HashMap::new(), Mutex::default());
        let (stream, copies) = (ptr::null_mut(), ptr::null_mut());
        // From here on, dropping `gpu` releases everything on failure.
        let mut gpu = Self { properties, device, context, stream, copies, events, modules, kernels, graphs };
        // SAFETY: the context was retained just now.
        unsafe { result::ctx::set_current(context) }.step("set a context")?;
        keep_freed_memory(device)?;
        let open = || result::stream::create(result::stream::StreamKind::NonBlocking).step("open a stream");
        gpu.stream = open()?;
        gpu.copies = open()?;
        let (arch, cache) = (&gpu.properties.arch, nvrtc::cache_folder());
        let compiled = |(file, source): &(&str, &str)| nvrtc.cached(file, source, arch, cache.as_deref());
        let cubins = nvrtc::SOURCES.par_iter().map(compiled).collect::<Result<Vec<_>, _>>()?;
        cubins.iter().zip(nvrtc::SOURCES).try_for_each(|(cubin, (_, source))| gpu.load(cubin, source))?;
        Ok(gpu)
    }

    /// Loads the kernels of a file and allows them all of the shared memory.
    fn load(&mut self, cubin: &[u8], source: &'static str) -> Result<(), OpenError> {
        // SAFETY: the bytes are machine code that NVRTC made.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast()) }.step("load kernels")?;
        self.modules.push(module);
        for name in kernel_names(source) {
            let symbol = CString::new(name).expect("a kernel's name");
            // SAFETY: the module was loaded just now.
            let kernel = unsafe { result::module::get_function(module, symbol) }.step("find a kernel")?;
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let bytes = c_int::try_from(self.properties.shared_bytes).unwrap_or(c_int::MAX);
            // SAFETY: the function was found just now, and the device offers so much.
            unsafe { result::function::set_function_attribute(kernel, most, bytes) }.step("give shared memory")?;
            self.kernels.insert(name, kernel);
        }
        Ok(())
    }

    pub(crate) fn kernel(&self, launch: &Launch) -> sys::CUfunction {
        let Some(&kernel) = self.kernels.get(launch.kernel) else { panic!("there is no kernel {}", launch.kernel) };
        kernel
    }

    fn graphs(&self) -> MutexGuard<'_, Graphs> {
        self.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the context current for the calling thread.
    fn here(&self) -> Result<(), Failure> {
        // SAFETY: the context is retained until this is dropped.
        unsafe { result::ctx::set_current(self.context) }.map_err(failure)
    }

    fn stream_of(&self, stream: Stream) -> sys::CUstream {
        match stream {
            Stream::Compute => self.stream,
            Stream::Copy => self.copies,
        }
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for one stream.
    fn wait_on(&self, stream: sys::CUstream) -> Result<(), Failure> {
        self.here()?;
        // SAFETY: the stream lives as long as this.
        unsafe { result::stream::synchronize(stream) }.map_err(failure)
    }
}

fn driver_version() -> Result<(u32, u32), OpenError> {
    let mut version = 0;
    // SAFETY: the pointer is to a number of this function.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    code.result().step("tell its version")?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// Reads the properties of a GPU.
fn properties(device: sys::CUdevice) -> Result<Properties, OpenError> {
    use sys::CUdevice_attribute as Attribute;
    // SAFETY: the device is one that the driver gave.
    let ask = |attribute| unsafe { result::device::get_attribute(device, attribute) }.step("tell an attribute");
    let major = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let shared = ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
    let multiprocessors = ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.unsigned_abs();
    let name = result::device::get_name(device).step("tell a name")?;
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) }.step("tell its memory")?;
    let arch = format!("sm_{major}{minor}");
    let (memory_bytes, shared_bytes) = (memory as u64, shared.unsigned_abs());
    Ok(Properties { name, arch, multiprocessors, memory_bytes, shared_bytes })
}

/// Freed memory stays in the device's pool until the device is closed, so a steady loop makes no system calls.
fn keep_freed_memory(device: sys::CUdevice) -> Result<(), OpenError> {
    // SAFETY: the device is one that the driver gave.
    let pool = unsafe { result::device::get_default_mem_pool(device) }.step("give its memory pool")?;
    let mut most = u64::MAX;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: this attribute is a 64-bit number.
    unsafe { result::mem_pool::set_attribute(pool, attribute, (&raw mut most).cast::<c_void>()) }
        .step("set its memory pool")
}

impl Driver for Gpu {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, words: usize, place: Place) -> Result<u64, Failure> {
        self.here()?;
        match place {
            // SAFETY: the stream lives as long as this.
            Place::Device => unsafe { result::malloc_async(self.stream, 8 * words) }.map_err(failure),
            Place::Host => {
                let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
                // SAFETY: the context is set. With unified addressing the GPU sees it at the same address.
                // A few bytes more keep pieces apart: no copy of neighboring rows reaches from one piece into another.
                let at = unsafe { result::malloc_host(8 * words + 16, flags) }.map_err(failure)?;
                Ok(at.expose_provenance() as u64)
            }
        }
    }

    fn release(&self, at: u64, _words: usize, place: Place) {
        // A failure to free memory is sticky: the next wait reports it.
        let _ = self.here();
        let _ = match place {
            // SAFETY: the pool releases what it has allocated, once.
            Place::Device => unsafe { result::free_async(at, self.stream) },
            Place::Host => {
                let _ = self.wait();
                // SAFETY: as above, and no kernel reads it any more.
                unsafe { result::free_host(host_pointer(at).cast()) }
            }
        };
    }

    fn write(&self, to: u64, words: &[u64], place: Place) -> Result<(), Failure> {
        self.here()?;
        match place {
            // SAFETY: the row has room for the words. From pageable memory the driver has copied them when it returns.
            Place::Device => unsafe { result::memcpy_htod_async(to, words, self.stream) }.map_err(failure),
            Place::Host => {
                self.wait()?; // a kernel may still read what was there
                // SAFETY: the row is locked memory of this process with room for the words.
                unsafe { host_pointer(to).copy_from_nonoverlapping(words.as_ptr(), words.len()) };
                Ok(())
            }
        }
    }

    fn read(&self, from: u64, words: &mut [u64], place: Place) -> Result<(), Failure> {
        self.here()?;
        if place == Place::Device {
            // SAFETY: the row has so many words, and the wait below ends before the slice is given back.
            unsafe { result::memcpy_dtoh_async(words, from, self.stream) }.map_err(failure)?;
            return self.wait_on(self.stream);
        }
        self.wait()?;
        // SAFETY: the row is locked memory of this process with so many words.
        unsafe { host_pointer(from).copy_to_nonoverlapping(words.as_mut_ptr(), words.len()) };
        Ok(())
    }

    fn zero(&self, at: u64, words: usize, place: Place) -> Result<(), Failure> {
        self.here()?;
        if place == Place::Device {
            // SAFETY: the row has so many words.
            return unsafe { result::memset_d8_async(at, 0, 8 * words, self.stream) }.map_err(failure);
        }
        self.wait()?;
        // SAFETY: the row is locked memory of this process with so many words.
        unsafe { host_pointer(at).write_bytes(0, words) };
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<(), Failure> {
        self.here()?;
        let (kernel, mut args) = (self.kernel(launch), arguments(launch));
        let [x, y, z] = launch.grid;
        let threads = (launch.threads, 1, 1);
        // SAFETY: number and sizes of arguments are the kernel's (tests compare them on the host), and addresses among them
        // are those of rows that the caller holds until this returns; their memory is reused in the stream's order only.
        unsafe { result::launch_kernel(kernel, (x, y, z), threads, launch.shared_bytes, self.stream, &mut args) }
            .map_err(failure)
    }

    fn graph(&self, launches: &[Launch]) -> Result<u64, Failure> {
        self.here()?;
        let graph = self.build_graph(launches)?;
        Ok(self.graphs().keep(graph))
    }

    fn replay(&self, graph: u64) -> Result<(), Failure> {
        self.here()?;
        let graph = self.graphs().get(graph);
        // SAFETY: it was instantiated by this and not given up; addresses in its arguments are as in `launch`.
        unsafe { result::graph::launch(graph, self.stream) }.map_err(failure)
    }

    fn discard(&self, graph: u64) {
        if self.graphs().give_up(graph) {
            // A failure is sticky: the next wait reports it.
            let _ = self.wait();
        }
    }

    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), Failure> {
        self.here()?;
        let (to, from, bytes) = (to, host_pointer(from).cast_const().cast::<c_void>(), 8 * words);
        // SAFETY: the caller has room for so many words there, and holds the locked ones until they are copied.
        unsafe { sys::cuMemcpyHtoDAsync_v2(to, from, bytes, self.copies) }.result().map_err(failure)
    }

    fn event(&self, stream: Stream) -> Result<Event, Failure> {
        self.here()?;
        let mut events = self.events();
        let event = match events.free.pop() {
            Some(free) => free,
            None => {
                let untimed = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
                events.all.push(result::event::create(untimed).map_err(failure)?);
                events.all.len() - 1
            }
        };
        // SAFETY: event and stream live as long as this.
        unsafe { result::event::record(events.all[event], self.stream_of(stream)) }.map_err(failure)?;
        Ok(Event(event))
    }

    fn wait_for(&self, stream: Stream, event: Event) -> Result<(), Failure> {
        self.here()?;
        let (stream, event) = (self.stream_of(stream), self.events().all[event.0]);
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: event and stream live as long as this.
        unsafe { result::stream::wait_event(stream, event, flags) }.map_err(failure)
    }

    fn forget(&self, event: Event) {
        // A wait refers to the event's last record before the wait, so the event may be recorded again.
        self.events().free.push(event.0);
    }

    fn wait(&self) -> Result<(), Failure> {
        // Graphs that another thread discards during the wait may still be running afterwards, so they are kept.
        let graphs = self.graphs().take_discarded();
        self.wait_on(self.copies).and(self.wait_on(self.stream))?;
        graph::destroy(graphs);
        Ok(())
    }
}

/// The arguments of a launch in the driver's form: a pointer to each, which the driver only reads.
pub(crate) fn arguments(launch: &Launch) -> Vec<*mut c_void> {
    launch.args.starts.iter().map(|&start| (&raw const launch.args.words[start]).cast_mut().cast()).collect()
}

/// The host address of locked memory, from its device address.
fn host_pointer(at: u64) -> *mut u64 {
    ptr::with_exposed_provenance_mut(usize::try_from(at).expect("64-bit addresses"))
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // Failures here affect nothing that is used afterwards. The copy stream was opened last, if at all.
        let _ = if self.copies.is_null() { self.here() } else { self.wait() };
        graph::destroy(self.graphs().all());
        for &module in &self.modules {
            // SAFETY: nothing runs any more, and the module was loaded by this.
            let _ = unsafe { result::module::unload(module) };
        }
        for event in std::mem::take(&mut self.events().all) {
            // SAFETY: as above, and no event is used any more.
            let _ = unsafe { result::event::destroy(event) };
        }
        for stream in [self.copies, self.stream].into_iter().filter(|stream| !stream.is_null()) {
            // SAFETY: as above.
            let _ = unsafe { result::stream::destroy(stream) };
        }
        // SAFETY: retained once, released once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}
