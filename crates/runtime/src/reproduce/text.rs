//! A reproduction as text: the table of claims, how many fare how, options, experiments, other systems.

use super::{
    claims::{Choice, Kind, Reading, Reproduction, Row, System},
    verdict::Counts,
};
use std::fmt;

impl fmt::Display for Reproduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[{}]: {}\n", self.source, self.about)?;
        writeln!(
            f,
            "{:<4} {:<36} {:<10} {:>8} {:>9} {:>9}  {:<24} {:<8} why",
            "id", "claim", "of", "paper", "model", "error", "verdict", "fixed"
        )?;
        self.rows.iter().try_for_each(|row| row.write(f))?;
        writeln!(f, "\nfixed: whether the reading was fixed before or after its result was seen\n")?;
        Counts(&self.rows).fmt(f)?;
        self.write_choices(f)?;
        self.experiments.iter().try_for_each(|experiment| experiment.fmt(f))?;
        self.write_systems(f)
    }
}

/// One digit more than the paper prints, so that a rounded agreement shows its difference.
fn number(model: f64, digits: usize) -> String {
    if digits == 0 && model.fract() == 0.0 { format!("{model:.0}") } else { format!("{model:.*}", digits + 1) }
}

/// A relative difference; one below the last digit has no sign.
fn difference(error: f64) -> String {
    let percent = format!("{:+.1} %", 100.0 * error);
    if percent == "-0.0 %" || percent == "+0.0 %" { "0.0 %".into() } else { percent }
}

impl Row {
    /// The claim with its unit.
    pub(super) fn claim(&self) -> String {
        if self.unit.is_empty() { self.what.clone() } else { format!("{}, {}", self.what, self.unit) }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits;
        let line = format!(
            "{:<4} {:<36} {:<10} {:>8.digits$} {:>9} {:>9}  {:<24} {:<8} {}",
            self.id,
            self.claim(),
            self.circuit,
            self.paper,
            self.model.map_or_else(|| "-".into(), |m| number(m, digits)),
            self.error.map_or_else(|| "-".into(), difference),
            self.verdict.text(),
            self.fixed.map_or("-", |fixed| fixed.text()),
            self.why
        );
        writeln!(f, "{}", line.trim_end())?;
        self.readings.iter().try_for_each(|reading| reading.write(f, digits))
    }
}

impl Reading {
    fn write(&self, f: &mut fmt::Formatter<'_>, digits: usize) -> fmt::Result {
        let (what, model, error) = (&self.what, number(self.model, digits), difference(self.error));
        let line = format!("{:<4} {:<56} {model:>9} {error:>9}  {}", "", format!("  or: {what}"), self.why);
        writeln!(f, "{}", line.trim_end())
    }
}

impl Reproduction {
    fn write_choices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.choices.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\nOptions alone and together, on the machine; units, memory: how long the busiest unit and the memory work"
        )?;
        writeln!(
            f,
            "{:<21} {:<9} {:<28} {:>8} {:>9} {:>10} {:>7} {:>14} {:>9}  why",
            "option", "changes", "here", "ms", "units, ms", "memory, ms", "GB", "products/byte", "speed-up"
        )?;
        self.choices.iter().try_for_each(|choice| choice.write(f))
    }

    fn write_systems(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.systems.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nOther systems, as quoted: nothing of this is reproduced here")?;
        writeln!(
            f,
            "{:<10} {:>5} {:>3} {:>6} {:>5} {:>24} {:>10}  source",
            "system", "N", "L", "L_boot", "dnum", "MiB poly, ct, key", "T_A.S., µs"
        )?;
        self.systems.iter().try_for_each(|system| system.write(f))
    }
}

impl Choice {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Program => "program",
            Kind::Schedule => "schedule",
            Kind::Both => "both",
        };
        let [ms, units, memory] = [self.seconds, self.units_s, self.memory_s].map(|seconds| 1e3 * seconds);
        let gb = limbwise_math::rns::to_f64(self.bytes) / 1e9;
        let Self { name, option, intensity, speed_up, why, .. } = self;
        let line = format!(
            "{name:<21} {kind:<9} {option:<28} {ms:>8.2} {units:>9.2} {memory:>10.2} {gb:>7.3} {intensity:>14.2} \
             {speed_up:>9.2}  {why}"
        );
        writeln!(f, "{}", line.trim_end())
    }
}

impl System {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let boot = self.bootstrapping_levels.map_or_else(|| "-".into(), |l| l.to_string());
        let t = self.t_as_us.map_or_else(|| "-".into(), |t| t.to_string());
        let [poly, ciphertext, key] = self.mib;
        let (n, sizes) = (format!("2^{}", self.log_n), format!("{poly}, {ciphertext}, {key}"));
        let Self { name, levels, dnum, source, .. } = self;
        writeln!(f, "{name:<10} {n:>5} {levels:>3} {boot:>6} {dnum:>5} {sizes:>24} {t:>10}  {source}")
    }
}
