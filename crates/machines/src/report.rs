//! What timing a program on a machine tells: the JSON contract and its text.

use crate::spec::Assumption;
use serde::Serialize;
use std::{collections::BTreeMap, fmt};

/// A program timed on a machine. Fields that a machine does not have are absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the machine.
    pub machine: String,
    /// Time of the program.
    pub seconds: f64,
    /// The same in clock cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Energy of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// Area of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_mm2: Option<f64>,
    /// Share of the time in which each unit was busy, 0 to 1.
    pub utilization: BTreeMap<String, f64>,
    /// Bytes moved in each memory, by the role of what was moved.
    pub bytes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Where the time goes: shares of the critical path, with inner regions included.
    pub regions: Vec<RegionTime>,
    /// Every assumption behind the numbers.
    pub assumed: Vec<Assumption>,
}

/// The part of a program's time that passes in a region.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegionTime {
    /// Names from the outermost region inwards, joined by `/`.
    pub path: String,
    /// Its share of the program's time.
    pub seconds: f64,
}

/// Most regions that the text shows.
const SHOWN: usize = 20;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} s", self.machine, number(self.seconds))?;
        if let Some(cycles) = self.cycles {
            write!(f, ", {cycles} cycles")?;
        }
        if let Some(energy) = self.energy_j {
            write!(f, ", {} J", number(energy))?;
        }
        if let Some(area) = self.area_mm2 {
            write!(f, ", {area:.1} mm²")?;
        }
        writeln!(f)?;
        for (unit, share) in &self.utilization {
            writeln!(f, "  {unit:<16} busy {:5.1} %", 100.0 * share)?;
        }
        for (memory, roles) in &self.bytes {
            for (role, &bytes) in roles {
                writeln!(f, "  {memory:<16} {role:<16} {:>12} GB", number(as_f64(bytes) / 1e9))?;
            }
        }
        let mut regions: Vec<&RegionTime> = self.regions.iter().collect();
        regions.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        for region in regions.iter().take(SHOWN) {
            let share = 100.0 * region.seconds / self.seconds.max(f64::MIN_POSITIVE);
            writeln!(f, "  {:>12} s {share:5.1} %  {}", number(region.seconds), region.path)?;
        }
        for Assumption { key, value, reason } in &self.assumed {
            writeln!(f, "  assumed {key} = {value}: {reason}")?;
        }
        Ok(())
    }
}

/// Four significant digits.
fn number(x: f64) -> String {
    if x == 0.0 || !(1e-3..1e6).contains(&x.abs()) { format!("{x:.3e}") } else { format!("{x:.4}") }
}

#[expect(clippy::cast_precision_loss, reason = "for display and ratios")]
pub(crate) fn as_f64(x: u64) -> f64 {
    x as f64
}
