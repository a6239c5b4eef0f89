//! Kernel compilation by NVRTC, NVIDIA's run-time compiler, with a cache of the results.
//!
//! NVRTC is looked for in `LIMBWISE_NVRTC` (the library or its folder), then by the system's loader. The wheel
//! `nvidia-cuda-nvrtc`, installed by `limbwise[cuda]`, is such a folder. NVRTC opens its second library, of built-in
//! functions, by name only, so that library is loaded from the same folder first.

use libloading::Library;
use limbwise_math::prime_class::PrimeClass;
use sha2::{Digest, Sha256};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
};

/// The preface of every kernel file.
const PREFACE: [&str; 4] = [
    include_str!("../kernels/platform.cuh"),
    include_str!("../kernels/modarith.cuh"),
    include_str!("../kernels/fields.cuh"),
    include_str!("../kernels/ntt.cuh"),
];

/// The kernel files; each is compiled separately.
pub const SOURCES: [(&str, &str); 6] = [
    ("elementwise.cu", include_str!("../kernels/elementwise.cu")),
    ("galois.cu", include_str!("../kernels/galois.cu")),
    ("basis.cu", include_str!("../kernels/basis.cu")),
    ("lwe.cu", include_str!("../kernels/lwe.cu")),
    ("ntt.cu", include_str!("../kernels/ntt.cu")),
    ("blind.cu", include_str!("../kernels/blind.cu")),
];

/// The environment variable with the path of the library or its folder.
pub const PLACE: &str = "LIMBWISE_NVRTC";

/// Reasons why kernels cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NvrtcError {
    /// The library was not found.
    #[error(
        "no NVRTC library was found ({tried}): install it with pip install \"limbwise[cuda]\", or name its folder in {PLACE}"
    )]
    Missing {
        /// The places searched.
        tried: String,
    },
    /// A function of the library is missing or fails.
    #[error("NVRTC failed to {what}: {reason}")]
    Failed {
        /// The operation that failed.
        what: &'static str,
        /// Message or error number of the library.
        reason: String,
    },
    /// NVRTC rejects a kernel file for an architecture.
    #[error("NVRTC refuses {file} for {arch}: {log}")]
    Refused {
        /// Name of the kernel file.
        file: String,
        /// Architecture of the GPU.
        arch: String,
        /// Messages of the compiler.
        log: String,
    },
}

/// The loaded library.
pub struct Nvrtc {
    library: Library,
    /// Keeps the library of built-in functions loaded: the compiler opens it by name.
    _builtins: Option<Library>,
    version: (u32, u32),
}

/// A compiled kernel file with the compiler's messages.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Machine code.
    pub cubin: Vec<u8>,
    /// Messages: registers and spills of each kernel.
    pub log: String,
}

type Program = *mut c_void;

impl Nvrtc {
    /// Finds and loads the library.
    ///
    /// # Errors
    /// [`NvrtcError`].
    pub fn find() -> Result<Self, NvrtcError> {
        let named = std::env::var_os(PLACE).map(PathBuf::from);
        let mut tried = Vec::new();
        for place in places(named.as_deref()) {
            let builtins = builtins_beside(&place).and_then(|path| load(&path));
            if let Some(library) = load(&place) {
                let mut found = Self { library, _builtins: builtins, version: (0, 0) };
                found.version = found.ask_version()?;
                return Ok(found);
            }
            tried.push(place.display().to_string());
        }
        Err(NvrtcError::Missing { tried: tried.join(", ") })
    }

    /// Version, major and minor.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    fn function<F: Copy>(&self, name: &'static CStr) -> Result<F, NvrtcError> {
        // SAFETY: every caller names a function of nvrtc.h with its type there.
        let found = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) };
        found.map(|f| *f).map_err(|e| NvrtcError::Failed { what: "give a function", reason: e.to_string() })
    }

    fn ask_version(&self) -> Result<(u32, u32), NvrtcError> {
        type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        let (mut major, mut minor) = (0, 0);
        let version = self.function::<Version>(c"nvrtcVersion")?;
        // SAFETY: both pointers are to numbers of this function.
        check("tell its version", unsafe { version(&raw mut major, &raw mut minor) })?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// Compiles a kernel file for an architecture such as `sm_90`.
    ///
    /// # Errors
    /// [`NvrtcError`].
    ///
    /// # Panics
    /// If the text contains a zero byte.
    pub fn compile(&self, file: &str, kernels: &str, arch: &str) -> Result<Compiled, NvrtcError> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const c_void,
            *const c_void,
        ) -> c_int;
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
        let create = self.function::<Create>(c"nvrtcCreateProgram")?;
        let compile = self.function::<Compile>(c"nvrtcCompileProgram")?;
        let destroy = self.function::<Destroy>(c"nvrtcDestroyProgram")?;
        let text = |text: String| CString::new(text).expect("kernels and options hold no zero byte");
        let (source, name) = (text(source_of(kernels)), text(file.into()));
        let options: Vec<CString> = options(arch).into_iter().map(text).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = std::ptr::null_mut();
        let none = std::ptr::null();
        // SAFETY: strings end with zero; no headers are given.
        let created = unsafe { create(&raw mut program, source.as_ptr(), name.as_ptr(), 0, none, none) };
        check("take a program", created)?;
        let count = c_int::try_from(pointers.len()).expect("a few options");
        // SAFETY: the program was created above, and there are so many options.
        let compiled = unsafe { compile(program, count, pointers.as_ptr()) };
        let log = self.text(program, c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog")?;
        let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned();
        let cubin = match compiled {
            0 => self.text(program, c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN"),
            _ => Err(NvrtcError::Refused { file: file.into(), arch: arch.into(), log: log.clone() }),
        };
        // SAFETY: the program was created above and is not used any more.
        check("drop a program", unsafe { destroy(&raw mut program) })?;
        Ok(Compiled { cubin: cubin?, log })
    }

    /// Reads a text of the program by the pair of functions that give its size and content.
    fn text(&self, program: Program, size: &'static CStr, get: &'static CStr) -> Result<Vec<u8>, NvrtcError> {
        type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
        let (size, get) = (self.function::<Size>(size)?, self.function::<Get>(get)?);
        let mut bytes = 0;
        // SAFETY: the program lives, and the pointer is to a number of this function.
        check("tell a size", unsafe { size(program, &raw mut bytes) })?;
        let mut text = vec![0u8; bytes];
        // SAFETY: the buffer has the size that the compiler asked for.
        check("give its output", unsafe { get(program, text.as_mut_ptr().cast()) })?;
        Ok(text)
    }

    /// The machine code from the cache; otherwise compiles it and stores it there.
    ///
    /// # Errors
    /// [`NvrtcError`]. A cache that cannot be read or written is ignored.
    ///
    /// # Panics
    /// As [`Self::compile`].
    pub fn cached(&self, file: &str, kernels: &str, arch: &str, cache: Option<&Path>) -> Result<Vec<u8>, NvrtcError> {
        let (major, minor) = self.version;
        let mut hash = Sha256::new();
        let parts = [source_of(kernels), options(arch).join(" "), format!("{major}.{minor}")];
        parts.iter().for_each(|part| hash.update(format!("{} {part}", part.len())));
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let path = cache.map(|folder| folder.join(format!("{arch}-{digest}.cubin")));
        if let Some(cubin) =
            path.as_deref().and_then(|path| std::fs::read(path).ok()).filter(|c| c.starts_with(b"\x7fELF"))
        {
            return Ok(cubin);
        }
        let cubin = self.compile(file, kernels, arch)?.cubin;
        if let Some(path) = path {
            keep(&path, &cubin);
        }
        Ok(cubin)
    }
}

/// Writes a temporary file and renames it, so that readers never see a partial file. If writing fails, the next start
/// compiles again.
fn keep(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let written = path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok())
        && std::fs::write(&beside, bytes).is_ok()
        && std::fs::rename(&beside, path).is_ok();
    if !written {
        let _ = std::fs::remove_file(&beside);
    }
}

/// Folder of compiled kernels: `limbwise` in the user's cache folder.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache"))).map(|cache| cache.join("limbwise"))
}

fn source_of(kernels: &str) -> String {
    PREFACE.concat() + kernels
}

/// Largest bit length of primes that run in floating point (`fields.cuh`): the short class on GPUs with as many units
/// for doubles as for 32-bit products (V100, A100, H100, B200, and the host), else only the narrow class.
pub(crate) fn float_bits(arch: &str) -> u32 {
    if ["sm_70", "sm_80", "sm_90", "sm_100", "host"].contains(&arch) {
        PrimeClass::Short.max_bits()
    } else {
        NARROW_BITS
    }
}

/// Largest bit length of primes that run with 32-bit products on every GPU.
pub(crate) const NARROW_BITS: u32 = PrimeClass::Narrow.max_bits();

fn options(arch: &str) -> Vec<String> {
    // Lambdas run on the GPU too. Warning 177: a helper function that a file does not use.
    let options = ["--std=c++17", "--ptxas-options=-v", "-default-device", "-diag-suppress=177"];
    let named = [format!("--gpu-architecture={arch}"), format!("-DFLOAT_BITS={}", float_bits(arch))];
    named.into_iter().chain(options.map(String::from)).collect()
}

fn check(what: &'static str, code: c_int) -> Result<(), NvrtcError> {
    if code == 0 { Ok(()) } else { Err(NvrtcError::Failed { what, reason: format!("error {code}") }) }
}

/// Possible paths of the library, best first.
fn places(named: Option<&Path>) -> Vec<PathBuf> {
    let files = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
    match named {
        Some(file) if file.is_file() => vec![file.into()],
        Some(folder) => files.iter().map(|file| folder.join(file)).collect(),
        None => {
            let usual = files.iter().map(|file| Path::new("/usr/local/cuda/lib64").join(file));
            files.iter().map(PathBuf::from).chain(usual).collect()
        }
    }
}

/// The library of built-in functions in the same folder.
fn builtins_beside(library: &Path) -> Option<PathBuf> {
    let folder = library.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> = names
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libnvrtc-builtins.so.") && name.matches('.').count() == 3
        })
        .collect();
    found.sort();
    found.pop()
}

fn load(path: &Path) -> Option<Library> {
    // SAFETY: NVIDIA's libraries run nothing when loaded but their own set-up.
    unsafe { Library::new(path) }.ok()
}
