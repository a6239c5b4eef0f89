//! Options of the device that computes.

use crate::failure::Mistake;
use limbwise_cpu::Cpu;
use limbwise_math::finite;
use limbwise_runtime::{AnyDevice, Host, calibrate, open, open_cpu};
use std::path::PathBuf;

/// How to compute here.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HostArgs {
    /// Number of threads [default: all that the system offers]
    #[arg(long, value_name = "COUNT", global = true, help_heading = "Device")]
    threads: Option<usize>,

    /// Instruction set; "limbwise list" names those of this CPU [default: LIMBWISE_ISA, or else the fastest]
    #[arg(long, value_name = "NAME", global = true, help_heading = "Device")]
    isa: Option<String>,

    /// Device; "limbwise list" names those available. hybrid:cpu+upmem and hybrid:cpu+cuda divide a program between two
    #[arg(long, value_name = "NAME", default_value = "cpu", global = true, help_heading = "Device")]
    device: String,
}

/// Where predicted seconds come from.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct CalibrationArgs {
    /// Measure this host again: the kept calibration is at most a day old, but may be of a busy moment
    #[arg(long, global = true, help_heading = "Device")]
    recalibrate: bool,
}

impl CalibrationArgs {
    /// Forgets what was kept, if that was asked for.
    pub(crate) fn apply(self) {
        if self.recalibrate {
            calibrate::forget_all();
        }
    }
}

/// How much may be taken.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MemoryArgs {
    /// Memory limit of the process, such as 3GB, 2.5GiB or 800MB; takes the fastest configuration that fits. Without it,
    /// the smallest of those that take at most a tenth longer than the fastest
    #[arg(long = "memory", value_name = "SIZE", value_parser = size, global = true, help_heading = "Device")]
    pub(crate) most: Option<u64>,

    /// Directory for the temporary file of keys on disk [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Device")]
    key_dir: Option<PathBuf>,
}

impl MemoryArgs {
    /// Where keys on disk are kept.
    pub(crate) fn key_dir(&self) -> PathBuf {
        self.key_dir.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// A number of bytes with its unit.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 7] = [
        ("GiB", 1_073_741_824.0),
        ("MiB", 1_048_576.0),
        ("KiB", 1024.0),
        ("GB", 1e9),
        ("MB", 1e6),
        ("kB", 1e3),
        ("B", 1.0),
    ];
    let parsed = UNITS.iter().find_map(|(unit, bytes)| {
        let number = finite::parse(text.strip_suffix(unit)?).ok()?;
        Some(number * bytes)
    });
    match parsed {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 10^15")]
        Some(bytes) if (1.0..=1e15).contains(&bytes) => Ok(bytes as u64),
        _ => Err("wanted a size with its unit, such as 3GB (10^9 bytes) or 2.5GiB (2^30)".into()),
    }
}

impl HostArgs {
    /// What is asked for.
    pub(crate) fn host(&self) -> Host {
        Host { device: Some(self.device.clone()), isa: self.isa.clone(), threads: self.threads }
    }

    /// Opens the device that was chosen.
    ///
    /// # Errors
    /// A device that is not there, an instruction set that this CPU lacks, or a number of threads that makes no sense.
    pub(crate) fn open(&self) -> limbwise_runtime::Result<AnyDevice> {
        open(&self.host())
    }

    /// Opens the CPU, whatever was chosen: to measure it.
    pub(crate) fn open_cpu(&self) -> limbwise_runtime::Result<Cpu> {
        open_cpu(&self.host())
    }

    /// Opens the CPU for a verb that computes nothing, and refuses another device.
    ///
    /// # Errors
    /// As [`Self::open`]; [`Mistake`] for a device that is there and would do nothing.
    pub(crate) fn open_cpu_for(&self, verb: &str) -> anyhow::Result<Cpu> {
        if self.device != "cpu" {
            self.open()?;
            let text = format!(
                "--device {}: \"limbwise {verb}\" computes on no device; \"limbwise time --machine\" names machines that are timed",
                self.device
            );
            return Err(Mistake(text).into());
        }
        Ok(self.open_cpu()?)
    }

    /// The same with a number of threads of one's own choice.
    pub(crate) fn open_with(&self, threads: usize) -> limbwise_runtime::Result<Cpu> {
        open_cpu(&Host { device: None, isa: self.isa.clone(), threads: Some(threads) })
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("3GB"), Ok(3_000_000_000));
        assert_eq!(size("2.5 GiB"), Ok(2_684_354_560));
        assert_eq!(size("800MB"), Ok(800_000_000));
        for wrong in ["3", "GB", "-1GB", "NaNGB", "3gb", "1e30GB", ""] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
