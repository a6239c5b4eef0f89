//! Cached calibrations: measuring takes longer than most plans.
//!
//! The user's cache folder has one file for each device and pair of ring degrees. A file is valid for one day, on the
//! same CPU with the same number of threads, for the same build of the program; one of a busy moment for two minutes, in
//! which measuring again would find the same.

use super::{Calibration, Degrees, calibrate_for};
use crate::{
    any_device::AnyDevice,
    error::{Error, Result},
    host::{forget_peak_memory, resident_memory_bytes},
    places,
};
use limbwise_device::Device as _;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

/// Validity of a file. Other programs on the machine, a new kernel or another memory clock change the rates.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// Validity of rates of a busy moment: commands that follow each other take the same.
const BUSY_LIFETIME: Duration = Duration::from_secs(120);
/// Largest share of a calibration's time that its threads together may have waited for a CPU, if the moment was not busy.
const MOST_WAITING: f64 = 0.1;
/// How long a calibration waits for that of another process, which it would disturb.
const PATIENCE: Duration = Duration::from_secs(20);
/// Environment variable with the path of a calibration that takes the place of this host's: of the host that a plan is for,
/// or the same for all plans of a test.
const RATES: &str = "LIMBWISE_RATES";
/// Longest calibration file that is read.
const MOST_BYTES: usize = 1 << 16;

/// Conditions under which cached rates are valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Conditions {
    cpu: String,
    device: String,
    isa: String,
    threads: usize,
    degrees: Degrees,
    version: String,
    /// Modification time of the executable, in seconds: another build may have other kernels.
    built: u64,
}

impl Conditions {
    fn of(dev: &AnyDevice, degrees: Degrees) -> Self {
        let program = std::env::current_exe().and_then(fs::metadata).and_then(|file| file.modified());
        let since = program.ok().and_then(|made| made.duration_since(SystemTime::UNIX_EPOCH).ok());
        Self {
            cpu: cpu_model(),
            device: dev.name(),
            isa: dev.isa(),
            threads: dev.threads(),
            degrees,
            version: env!("CARGO_PKG_VERSION").into(),
            built: since.map_or(0, |since| since.as_secs()),
        }
    }
}

/// The CPU's name from /proc/cpuinfo, or its architecture.
fn cpu_model() -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    named.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).to_owned()
}

/// How long the threads of this process have waited for a CPU, all together, if the system says so.
fn waited() -> Option<Duration> {
    let of = |task: fs::DirEntry| -> Option<u64> {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    };
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    Some(Duration::from_nanos(tasks.flatten().filter_map(of).sum()))
}

/// The content of a calibration file.
#[derive(Serialize, Deserialize)]
struct Written {
    conditions: Conditions,
    calibration: Calibration,
    busy: bool,
}

/// The rates of this host for programs with rings of these degrees: measured, unless that was done within a day, or in a busy moment a minute ago. `note`
/// gets what the user may want to know before it happens.
///
/// # Errors
/// As [`calibrate`](super::calibrate).
pub fn calibrated(dev: &AnyDevice, degrees: Degrees, mut note: impl FnMut(&str)) -> Result<Calibration> {
    if let Some(path) = rates() {
        note(&format!("seconds are by the rates of {} ({RATES}), whatever this host's are", path.display()));
        return given(&path, dev);
    }
    let kept = Kept::of(dev, degrees);
    if let Some((kept, calibration)) = kept.as_ref().and_then(|kept| Some((kept, kept.recalled(dev)?))) {
        note(&format!("this host's calibration is that of {}; --recalibrate measures again", kept.path().display()));
        return Ok(calibration);
    }
    note("calibrating this host (four to eight seconds)");
    kept.map_or_else(|| calibrate_for(dev, degrees), |kept| kept.measured(dev))
}

/// The file of given rates, if there is one; a variable without a value is none.
fn rates() -> Option<PathBuf> {
    std::env::var_os(RATES).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The calibration of a file, of this host or another, for a device of this process: what `LIMBWISE_RATES` names.
///
/// # Errors
/// A file that cannot be read or is too long; [`Error::Rates`] if it is no calibration, is of another kind of device, or has
/// rates or a spread that none are.
pub fn given(path: &Path, dev: &AnyDevice) -> Result<Calibration> {
    let refused = |problem: String| Error::Rates { path: path.into(), problem };
    let bytes = places::read_up_to(path, MOST_BYTES)?;
    let Written { calibration, .. } =
        serde_json::from_slice(&bytes).map_err(|e| refused(format!("no file of a calibration: {e}")))?;
    let of_gpu = |device: &str| device == "cuda";
    if of_gpu(&calibration.device) != of_gpu(dev.kind()) {
        return Err(refused(format!("rates of the device {}, wanted those of {}", calibration.device, dev.kind())));
    }
    calibration.spec().map_err(|e| refused(e.to_string()))?;
    if !(0.0..=1.0).contains(&calibration.spread) {
        return Err(refused(format!("a spread of {}, wanted 0 to 1", calibration.spread)));
    }
    Ok(Calibration {
        device: dev.kind().into(),
        isa: dev.isa(),
        threads: dev.threads(),
        resident_bytes: resident_memory_bytes().unwrap_or(0),
        device_memory_bytes: dev.memory_bytes(),
        key_read_gb_s: None,
        given: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        ..calibration
    })
}

/// Forgets every calibration of this host, so that what follows measures again. Files that cannot be removed stay.
pub fn forget_all() {
    let Some(folder) = limbwise_cuda::nvrtc::cache_folder() else { return };
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("calibration-") && name.ends_with(".json")) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Seconds of an evaluation from which on it can contradict a calibration: shorter ones vary with what else the moment
/// brings.
const LONG: f64 = 0.5;
/// Largest share by which an evaluation may miss its prediction before the calibration is doubted.
const DOUBTED: f64 = 0.25;

/// Compares an evaluation's seconds with the prediction. If the calibration is contradicted, forgets it, so that the next
/// plan measures anew, and returns a sentence on it.
pub fn contradicted(dev: &AnyDevice, degrees: Degrees, [measured, predicted]: [f64; 2]) -> Option<String> {
    let off = measured / predicted - 1.0;
    if rates().is_some()
        || measured.min(predicted) < LONG
        || (1.0 / (1.0 + DOUBTED)..=1.0 + DOUBTED).contains(&(1.0 + off))
    {
        return None;
    }
    let kept = Kept::of(dev, degrees).filter(|kept| kept.path().exists());
    let forgotten = kept.is_some_and(|kept| fs::remove_file(kept.path()).is_ok());
    let then = if forgotten {
        "the calibration is forgotten, and the next plan measures this host again"
    } else {
        "the next plan measures this host again"
    };
    Some(format!(
        "the evaluation took {measured:.2} s where {predicted:.2} s were predicted: this host was faster or slower when it was calibrated; {then}"
    ))
}

/// A place in the cache, with or without a calibration.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    conditions: Conditions,
}

impl Kept {
    /// In the user's cache folder: `limbwise` in `$XDG_CACHE_HOME` or in `~/.cache`; `None` if neither exists.
    fn of(dev: &AnyDevice, degrees: Degrees) -> Option<Self> {
        Some(Self::within(&limbwise_cuda::nvrtc::cache_folder()?, dev, degrees))
    }

    /// In the given folder.
    fn within(folder: &Path, dev: &AnyDevice, degrees: Degrees) -> Self {
        let conditions = Conditions::of(dev, degrees);
        let name = blake3::hash(format!("{conditions:?}").as_bytes()).to_hex();
        Self { path: folder.join(format!("calibration-{}.json", &name[..16])), conditions }
    }

    fn path(&self) -> &Path {
        &self.path
    }

    /// The cached calibration, if it is not too old and was measured under the same conditions. `resident_bytes` is
    /// measured now.
    fn recalled(&self, dev: &AnyDevice) -> Option<Calibration> {
        let age = fs::metadata(&self.path).and_then(|file| file.modified()).ok()?.elapsed().ok()?;
        let bytes = places::read_up_to(&self.path, MOST_BYTES).ok()?;
        let Written { conditions, calibration, busy } = serde_json::from_slice(&bytes).ok()?;
        let fresh = age < if busy { BUSY_LIFETIME } else { LIFETIME };
        let good = fresh && conditions == self.conditions && calibration.spec().is_ok();
        let (resident_bytes, device_memory_bytes) = (resident_memory_bytes().unwrap_or(0), dev.memory_bytes());
        good.then_some(Calibration { resident_bytes, device_memory_bytes, key_read_gb_s: None, ..calibration })
    }

    /// Measures and caches the rates. Processes that want to measure at the same time do so one after the other, and take
    /// what another has measured meanwhile.
    fn measured(&self, dev: &AnyDevice) -> Result<Calibration> {
        let alone = self.lock();
        if let Some(calibration) = alone.as_ref().and_then(|_| self.recalled(dev)) {
            return Ok(calibration);
        }
        let (start, before) = (Instant::now(), waited());
        let calibration = calibrate_for(dev, self.conditions.degrees)?;
        forget_peak_memory();
        let waited = waited().zip(before).map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before));
        self.keep(&calibration, waited >= start.elapsed().mul_f64(MOST_WAITING));
        Ok(calibration)
    }

    /// A lock that processes of this user share; `None` where there is none, or where it is held for too long.
    fn lock(&self) -> Option<fs::File> {
        let folder = self.path.parent()?;
        fs::create_dir_all(folder).ok()?;
        let file = fs::File::create(folder.join("calibration.lock")).ok()?;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
                Err(fs::TryLockError::Error(_)) => return None,
            }
        }
        None
    }

    /// Caches a calibration. If the folder cannot be written to, the next run measures again; nothing else fails.
    fn keep(&self, calibration: &Calibration, busy: bool) {
        let written = Written { conditions: self.conditions.clone(), calibration: calibration.clone(), busy };
        let folder = self.path.parent().map(fs::create_dir_all);
        if let (Some(Ok(())), Ok(bytes)) = (folder, serde_json::to_vec_pretty(&written)) {
            let write = |mut file: fs::File| {
                file.write_all(&bytes).map(|()| file).map_err(places::refused(&self.path, "writing"))
            };
            let _ = places::put(&self.path, write);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Host, open};

    #[test]
    fn only_what_is_far_off_and_long_contradicts() {
        let dev = open(&Host { threads: Some(1), ..Host::default() }).unwrap();
        // Degrees that no program has, so that no calibration of the user's is forgotten.
        let told = |both| contradicted(&dev, [Some(3), None], both);
        assert_eq!(told([2.0, 1.7]), None);
        assert_eq!(told([0.1, 0.9]), None, "too short");
        assert!(told([2.0, 1.5]).unwrap().contains("2.00 s where 1.50 s were predicted"));
        assert!(told([1.5, 2.0]).is_some(), "faster counts as well");
    }

    #[test]
    fn what_is_recalled_was_measured_lately_under_these_conditions() {
        let folder = std::env::temp_dir().join(format!("limbwise-kept-{}", std::process::id()));
        let dev = open(&Host { threads: Some(1), ..Host::default() }).unwrap();
        let kept = Kept::within(&folder, &dev, [Some(12), None]);
        assert!(kept.recalled(&dev).is_none(), "nothing is there");
        let toml = "name = \"cpu\"\nextends = \"cpu\"\n".to_owned();
        let calibration = Calibration {
            device: "cpu".into(),
            isa: dev.isa(),
            threads: 1,
            resident_bytes: 1,
            device_memory_bytes: Some(5),
            toml: toml.clone(),
            spread: 0.0,
            key_read_gb_s: Some(2.0),
            given: None,
        };
        kept.keep(&calibration, false);
        let recalled = kept.recalled(&dev).unwrap();
        assert_eq!((recalled.toml, recalled.threads), (toml, 1));
        assert_eq!((recalled.device_memory_bytes, recalled.key_read_gb_s), (None, None));
        assert!(recalled.resident_bytes > 1, "memory is as it is now");

        let other = Kept::within(&folder, &dev, [Some(13), None]);
        assert!(other.recalled(&dev).is_none(), "other degrees have another file");
        fs::copy(kept.path(), other.path()).unwrap();
        assert!(other.recalled(&dev).is_none(), "the file says what it is good for");
        let file = fs::File::options().write(true).open(kept.path()).unwrap();
        file.set_modified(SystemTime::now() - 2 * LIFETIME).unwrap();
        assert!(kept.recalled(&dev).is_none(), "too old");
        kept.keep(&calibration, true);
        assert!(kept.recalled(&dev).is_some(), "a busy moment is not over at once");
        let file = fs::File::options().write(true).open(kept.path()).unwrap();
        file.set_modified(SystemTime::now() - 2 * BUSY_LIFETIME).unwrap();
        assert!(kept.recalled(&dev).is_none(), "but soon");
        kept.keep(&Calibration { toml: "name = 7".into(), ..calibration.clone() }, false);
        assert!(kept.recalled(&dev).is_none(), "no model takes it");
        fs::write(kept.path(), "{").unwrap();
        assert!(kept.recalled(&dev).is_none(), "no calibration");

        // Who waits for another's calibration takes it. Locks are of open files, so that threads are as processes here.
        let held = kept.lock().unwrap();
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| kept.measured(&dev).unwrap());
            std::thread::sleep(Duration::from_millis(100));
            kept.keep(&Calibration { spread: 0.125, ..calibration.clone() }, true);
            drop(held);
            waiting.join().unwrap()
        });
        assert_eq!(waiting.spread.to_bits(), 0.125f64.to_bits());
        fs::remove_dir_all(folder).unwrap();
    }
}
