//! `limbwise bench`: times of kernels and scheme operations here, each beside a limit measured in the same run.

use crate::{host::HostArgs, output::OutputArgs, progress::note, text};
use limbwise_cpu::{
    Cpu, Isa,
    bench::{Measurement, Rates, all, automorphism, conversion, elementwise, rates, transforms},
};
use limbwise_runtime::bench::{SchemeRow, scheme_rows};
use serde::Serialize;

/// Measure kernels and scheme operations on this computer
///
/// Kernels run on one thread; scheme operations on one thread and on all (--threads). About fifteen seconds; other
/// programs that run at the same time spoil the numbers.
///
/// Examples:
///   limbwise bench --threads 2 --out bench.json
///   limbwise bench --isa scalar --quick
///
/// What the columns mean:
///   ns         least time of several runs: of one limb for kernels (base conversion: one target limb), of one
///              operation on a ciphertext for scheme operations
///   limit_ns   the same at the multiply-add or memory rate that this computer shows in the same run: no program that
///              does this arithmetic can be faster; absent where there is no such rate
///   limbs      limbs that take turns, 1 means hot caches; base conversion: sources
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Bench {
    /// Only a few small operations with few repetitions: shows the form, not the speed
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
}

/// One measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) op: &'static str,
    pub(crate) n: usize,
    pub(crate) prime_bits: u32,
    pub(crate) limbs: usize,
    pub(crate) threads: usize,
    pub(crate) isa: String,
    pub(crate) ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit_ns: Option<f64>,
}

impl From<Measurement> for Row {
    fn from(m: Measurement) -> Self {
        let Measurement { op, n, prime_bits, limbs, threads, ns, limit_ns, .. } = m;
        Self { op, n, prime_bits, limbs, threads, isa: m.isa.name().into(), ns, limit_ns }
    }
}

impl From<SchemeRow> for Row {
    fn from(row: SchemeRow) -> Self {
        let SchemeRow { op, n, prime_bits, limbs, threads, isa, ns, limit_ns } = row;
        Self { op, n, prime_bits, limbs, threads, isa, ns, limit_ns: Some(limit_ns) }
    }
}

/// Preset and repetitions of the scheme operations.
const FULL: (&str, usize) = ("n16-l24-s40", 10);
const QUICK: (&str, usize) = ("n13-l3-s40", 1);

impl Bench {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let (alone, together) = (self.host.open_with(1)?, self.host.open()?);
        note(if self.quick { "measuring a few small operations" } else { "measuring (about fifteen seconds)" });
        let rates = rates();
        let kernels = if self.quick { few(together.isa(), rates) } else { all(together.isa()) };
        let mut rows: Vec<Row> = kernels.into_iter().map(Row::from).collect();
        let (preset, repetitions) = if self.quick { QUICK } else { FULL };
        let devices: &[&Cpu] = if together.threads() > 1 { &[&alone, &together] } else { &[&alone] };
        for dev in devices {
            rows.extend(scheme_rows(dev, preset, rates, repetitions)?.into_iter().map(Row::from));
        }
        let report = Report { rows };
        output.report(&report, &text::bench::render(&report))
    }
}

fn few(isa: Isa, rates: Rates) -> Vec<Measurement> {
    let mut rows = transforms(isa, 12, 49, 1, rates);
    rows.extend(elementwise(isa, 12, 49, 1));
    rows.push(automorphism(isa, 12, 49, 1));
    rows.push(conversion(isa, 12, 49, (2, 3), rates));
    rows
}
