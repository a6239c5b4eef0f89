//! The host: opens its devices by name, and measures the memory of this process.

use crate::{
    any_device::AnyDevice,
    error::{Error, Result},
    plan::scratch_rows,
    record::Recording,
};
use limbwise::{
    rlwe::{KeyForm, KeyPlan, key_bytes},
    scheme::Scheme,
};
use limbwise_cpu::Cpu;
use limbwise_cuda::{Cuda, KeyRoom};
use limbwise_device::{Device, Hybrid, Ring};
use limbwise_upmem::Upmem;

/// Largest number of threads that is accepted.
const MOST_THREADS: usize = 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Device by name; `cpu` if absent. `upmem` takes options: `upmem:dpus=128,tasklets=11`, as does
    /// `hybrid:cpu+upmem:dpus=128`.
    pub device: Option<String>,
    /// Instruction set by name; by default `LIMBWISE_ISA`, else the best available.
    pub isa: Option<String>,
    /// Threads; by default all that the system offers.
    pub threads: Option<usize>,
}

/// Opens the requested device.
///
/// # Errors
/// [`Error::UnknownDevice`], [`Error::Threads`], an unavailable instruction set, or a GPU that cannot be opened.
pub fn open(host: &Host) -> Result<AnyDevice> {
    match host.device.as_deref() {
        None | Some("cpu") => Ok(open_cpu(host)?.into()),
        Some("cuda") => Ok(Cuda::open()?.into()),
        Some(name) if name == "upmem" || name.starts_with("upmem:") => {
            let options = name.split_once(':').map_or("", |(_, options)| options).parse()?;
            Ok(Upmem::open(open_cpu(host)?, options)?.into())
        }
        Some(name) if name.starts_with("hybrid:cpu+") => open_hybrid(host, name),
        Some(other) => Err(Error::UnknownDevice(other.into())),
    }
}

/// Opens the host with another device; options of that follow a colon.
fn open_hybrid(host: &Host, name: &str) -> Result<AnyDevice> {
    let away = name.strip_prefix("hybrid:cpu+").and_then(|rest| rest.split(':').next());
    match away {
        Some("cuda") if name == "hybrid:cpu+cuda" => Ok(Hybrid::new(open_cpu(host)?, Cuda::open()?).into()),
        Some("upmem") => {
            let options = name.strip_prefix("hybrid:cpu+upmem").and_then(|rest| rest.strip_prefix(':'));
            let dpus = Upmem::open(open_cpu(host)?, options.unwrap_or_default().parse()?)?;
            Ok(Hybrid::new(open_cpu(host)?, dpus).into())
        }
        _ => Err(Error::UnknownDevice(name.into())),
    }
}

/// Opens the CPU device.
///
/// # Errors
/// [`Error::Threads`], or an unavailable instruction set.
pub fn open_cpu(host: &Host) -> Result<Cpu> {
    let mut builder = Cpu::builder();
    if let Some(isa) = &host.isa {
        builder = builder.isa(isa);
    }
    if let Some(threads) = host.threads {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(Error::Threads { got: threads, most: MOST_THREADS });
        }
        builder = builder.threads(threads);
        limbwise_apps::threads::limit(threads);
    }
    Ok(builder.open()?)
}

/// Reserves the memory for polynomials, and for what threads need beside them, at once if the system has enough for the
/// whole process: a refusal now is better than a failure half-way, and the first page faults are not billed to the
/// evaluation.
///
/// # Errors
/// [`Error::Memory`], or a fault of the device.
pub fn reserve<S: Scheme>(
    dev: &AnyDevice,
    params: &S::Params,
    process_bytes: u64,
    recording: &Recording<S>,
) -> Result<()> {
    admitted::<S>(dev, params, process_bytes, recording)?;
    // Much of a TFHE program's memory holds no polynomials; its pages are touched at first use.
    match (S::rlwe(params), S::tfhe(params)) {
        (Some(rlwe), None) => {
            let limbs = recording.session_peak_bytes / (8 * rlwe.ring().n() as u64);
            let limbs = usize::try_from(limbs).unwrap_or(usize::MAX);
            let scratch = scratch_rows::<S>(params, recording, dev.threads());
            Ok(dev.reserve(rlwe.ring(), limbs, scratch).map_err(limbwise::Error::Device)?)
        }
        _ => Ok(()),
    }
}

/// Checks that a device supports the rings of a program, and has the memory that it needs.
pub(crate) fn admitted<S: Scheme>(
    dev: &AnyDevice,
    params: &S::Params,
    process_bytes: u64,
    recording: &Recording<S>,
) -> Result<()> {
    opens(dev, &S::rings(params))?;
    admit(dev, process_bytes, Needed::recorded::<S>(params, recording))
}

/// Checks that a device supports the primes of a program's rings.
///
/// # Errors
/// A prime that is too large for the device, with the largest allowed.
pub(crate) fn opens<D: Device>(dev: &D, rings: &[&Ring]) -> Result<()> {
    rings.iter().try_for_each(|ring| Ok(dev.ring(ring.spec()).map(drop).map_err(limbwise::Error::from)?))
}

/// Bytes that a program needs of the device's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    /// Peak of all polynomials, including keys.
    pub(crate) polynomials: u64,
    pub(crate) keys: u64,
    /// The largest key, in the form of its use.
    pub(crate) largest: u64,
}

impl Needed {
    pub(crate) fn recorded<S: Scheme>(params: &S::Params, recording: &Recording<S>) -> Self {
        let KeyPlan { required, form, .. } = &recording.keys;
        let bytes = |form: KeyForm| {
            let rlwe = S::rlwe(params).into_iter();
            rlwe.flat_map(move |rlwe| required.iter().map(move |(name, &level)| key_bytes(rlwe, *name, level, form)))
        };
        let tfhe = S::tfhe(params).map_or(0, limbwise::tfhe::TfheParams::server_key_bytes);
        // A copy for a use has both halves, whatever the form of the key; the TFHE keys count as one key.
        let largest = bytes(KeyForm::Stored).chain([tfhe]).max().unwrap_or(0);
        Self { polynomials: recording.session_peak_bytes, keys: bytes(*form).sum::<u64>() + tfhe, largest }
    }

    /// Divides a GPU's memory: first the values, then the keys that fit beside them, then an area into which the other
    /// keys are copied at each use.
    fn on_gpu(self, memory_bytes: u64) -> Result<KeyRoom> {
        let others = self.polynomials.saturating_sub(self.keys);
        let memory = memory_bytes / 16 * 15; // the rest is the driver's
        let room = memory.checked_sub(others).ok_or(Error::Memory { needed: others, available: memory })?;
        Ok(KeyRoom::split(room, self.keys, self.largest))
    }
}

/// Checks that a program fits: the process in the host's memory, or the polynomials in a GPU's memory. Keys that do not
/// fit into a GPU stay in the host's memory.
///
/// # Errors
/// [`Error::Memory`].
pub(crate) fn admit(dev: &AnyDevice, process_bytes: u64, needed: Needed) -> Result<()> {
    let AnyDevice::Cuda(gpu) = dev else { return fits(process_bytes) };
    let split = needed.on_gpu(gpu.memory_bytes())?;
    gpu.limit_keys(split);
    fits(needed.keys.saturating_sub(split.resident_bytes))
}

/// Checks that the system has enough memory for the whole process.
///
/// # Errors
/// [`Error::Memory`].
pub(crate) fn fits(process_bytes: u64) -> Result<()> {
    match (available_memory_bytes(), resident_memory_bytes()) {
        (Some(available), Some(held)) if available.saturating_add(held) < process_bytes => {
            Err(Error::Memory { needed: process_bytes, available: available + held })
        }
        _ => Ok(()),
    }
}

/// Peak memory of this process so far (VmHWM), in bytes; `None` if the system does not report it.
pub fn peak_memory_bytes() -> Option<u64> {
    status("VmHWM:")
}

/// Starts [`peak_memory_bytes`] anew from what the process holds now, so that a calibration's operands do not count as the
/// program's. Where the system does not allow it, they do.
pub(crate) fn forget_peak_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Memory this process holds now (VmRSS), in bytes.
pub fn resident_memory_bytes() -> Option<u64> {
    status("VmRSS:")
}

/// Address space of this process, used or not (VmSize), in bytes: the quantity that `ulimit -v` limits.
pub fn address_space_bytes() -> Option<u64> {
    status("VmSize:")
}

/// Pages that this process has touched for the first time so far (field `minflt` of /proc/self/stat): constant in a
/// steady loop. `None` if the system does not report it.
pub fn minor_faults() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, after_name) = stat.rsplit_once(')')?; // the name may hold spaces
    after_name.split_whitespace().nth(7)?.parse().ok()
}

/// Memory that the system can still provide (MemAvailable), in bytes.
pub fn available_memory_bytes() -> Option<u64> {
    limbwise_apps::memory::available_bytes()
}

fn status(name: &str) -> Option<u64> {
    limbwise_apps::memory::field("/proc/self/status", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise::{
        params::{Insecure, Params, ParamsLiteral},
        scheme::Ckks,
    };
    use limbwise_apps::{
        data::breast_cancer,
        logreg::{
            client::{LogregClient, Options},
            data::{PrepareOptions, prepare},
            encrypted::levels_needed,
        },
    };

    #[test]
    fn a_gpu_is_opened_or_says_why_not() {
        let host = |name: &str| Host { device: Some(name.into()), ..Host::default() };
        match open(&host("cuda")) {
            Ok(dev) => assert_eq!((dev.kind(), dev.host()), ("cuda", host("cuda"))),
            Err(error) => assert!(matches!(error, Error::Gpu(_)), "{error}"),
        }
        let unknown = open(&host("abacus")).err().unwrap().to_string();
        assert!(unknown.starts_with("there is no device \"abacus\": this build has cpu, cuda, upmem"), "{unknown}");
    }

    /// Values come first, then keys; keys that do not fit get an area for copies within the same memory.
    #[test]
    fn keys_beyond_a_gpus_room_leave_an_area_for_copies() {
        let mut literal = ParamsLiteral::chain(11, 50, 45, levels_needed(3, 3), (55, 3), 5);
        literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
        let params = Params::new(&literal).unwrap();
        let prepared = prepare(&breast_cancer(), &PrepareOptions::default()).unwrap();
        let options = Options { batch_rows: 64, iterations: 3, degree: 3, interval: 8.0 };
        let (program, _) = LogregClient::sides(&params, prepared, options).unwrap();
        let gpu = limbwise_cuda::footprint("sm_90");
        let recording = crate::record::record(&program, KeyForm::Stored, &gpu).unwrap();
        let peak = recording.session_peak_bytes;
        let on_the_cpu = crate::record::record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
        assert!(on_the_cpu.session_peak_bytes <= peak, "a GPU holds no less at once");
        let needed = Needed::recorded::<Ckks>(&params, &recording);
        let room_of = |bytes: u64| needed.on_gpu(bytes.div_ceil(15) * 16);
        let (keys_bytes, split) = (needed.keys, room_of(peak).unwrap());
        assert_eq!(split.staging_bytes, 0);
        assert!(keys_bytes > 0 && (keys_bytes..keys_bytes + 16).contains(&split.resident_bytes));
        let scarce = room_of(peak - keys_bytes / 2).unwrap();
        assert!(scarce.staging_bytes > 0);
        let room = scarce.resident_bytes + scarce.staging_bytes;
        assert!((keys_bytes - keys_bytes / 2..keys_bytes).contains(&room));
        assert!(scarce.staging_bytes <= room / 8);
        let refused = room_of((peak - keys_bytes) / 2).err().unwrap();
        assert!(matches!(refused, Error::Memory { needed, .. } if needed == peak - keys_bytes), "{refused}");
    }

    #[test]
    fn primes_too_large_for_a_device_are_refused_before_keys() {
        let dev = open(&Host { device: Some("upmem:dpus=2".into()), ..Host::default() }).unwrap();
        let preset = |name: &str| limbwise::bgv::preset(name).unwrap();
        let (narrow, wide) = (preset("bgv-n12-w32"), preset("bgv-n13"));
        opens(&dev, &[narrow.rlwe().ring()]).unwrap();
        let told = opens(&dev, &[narrow.rlwe().ring(), wide.rlwe().ring()]).unwrap_err().to_string();
        assert!(told.contains("upmem computes modulo primes of at most 32 bits"), "{told}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_peak_is_forgotten() {
        drop(std::hint::black_box(vec![1u8; 256 << 20]));
        let before = peak_memory_bytes().unwrap();
        forget_peak_memory();
        let after = peak_memory_bytes().unwrap();
        // Other tests of this process hold memory too, but none of them so much.
        assert!(after + (128 << 20) < before, "{before} before, {after} after");
    }

    #[test]
    fn first_touch_is_counted() {
        let Some(before) = minor_faults() else { return };
        let touched = vec![1u8; 16 << 20]; // small pages or huge ones
        assert!(minor_faults() > Some(before) && touched[touched.len() - 1] == 1);
    }
    #[test]
    fn dpus_take_options_behind_a_colon() {
        let named = |name: &str| Host { device: Some(name.into()), isa: None, threads: Some(1) };
        let dev = open(&named("upmem:dpus=2,tasklets=11")).unwrap();
        let AnyDevice::Upmem(dpus) = &dev else { panic!("a device of DPUs") };
        assert_eq!((dpus.options().dpus, dpus.options().tasklets, dev.kind()), (2, 11, "upmem"));
        let again = open(&dev.host()).unwrap();
        assert_eq!(again.host(), dev.host(), "what a device says of itself opens it again");
        let refused = open(&named("upmem:dpus=0")).err().unwrap().to_string();
        assert_eq!(refused, "dpus = 0 is out of range: choose 1 to 2560");
        assert!(matches!(open(&named("upmems")), Err(Error::UnknownDevice(_))));
    }
}
