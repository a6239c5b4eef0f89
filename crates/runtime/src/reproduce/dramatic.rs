//! Measures for the claims of \[DRA\], and its experiments repeated.
//!
//! The circuits are this library's at the source's parameter sets: transforms of two ciphertexts, their products, inverse
//! transforms, each alone or all three in one. The source compares with a CPU; here that is this host's device, measured in
//! the same run.

use super::{
    claims::{Measures, Reproduction, compare},
    experiments::{Experiment, Setting},
};
use crate::error::Result;
use limbwise::{
    bgv::{BgvParams, preset},
    params::ParamsError,
    rlwe::operations,
};
use limbwise_cpu::Cpu;
use limbwise_device::{Device, Domain, Null, Role, Shape};
use limbwise_graph::{Graph, Recorder};
use limbwise_machines::{MachineError, Report, Spec, machine::Upmem, time};
use limbwise_math::rns::to_f64;
use std::{sync::OnceLock, time::Instant};

const CLAIMS: &str = include_str!("../../claims/dramatic.toml");
/// Ciphertexts of the large experiments.
const MANY: usize = 32_768;
/// Pairs of ciphertexts with which a CPU is measured.
const FEW: usize = 32;
/// The source's lengths.
const LENGTHS: [usize; 4] = [1024, 2048, 4096, 8192];

/// Which operation on pairs of ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Transforms of ciphertexts.
    Ntt,
    /// Products of transformed ciphertexts.
    Multiply,
    /// Transforms of ciphertexts back.
    Intt,
    /// Both operands transformed, multiplied, and the three polynomials of each product transformed back, in one program.
    All,
}

impl Step {
    const EACH: [(Self, &str); 4] =
        [(Self::Ntt, "NTT"), (Self::Intt, "iNTT"), (Self::Multiply, "multiplication"), (Self::All, "all in one")];
}

/// Measured times of a CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuSide {
    /// Threads of the device.
    threads: usize,
    /// Seconds a ciphertext or pair at each length and step.
    seconds: Vec<(usize, Step, f64)>,
}

impl CpuSide {
    /// Measures a device at every length and step; the best of three runs counts.
    ///
    /// # Errors
    /// [`Error`](crate::Error) if the device fails.
    pub fn measure(dev: &Cpu) -> Result<Self> {
        let mut seconds = Vec::new();
        for n in LENGTHS {
            let params = set(n)?;
            for (step, _) in Step::EACH {
                let mut best = f64::INFINITY;
                for _ in 0..3 {
                    let inputs = inputs(dev, &params, FEW, step)?;
                    dev.sync().map_err(limbwise::Error::from)?;
                    let start = Instant::now();
                    let results = evaluate(dev, inputs, step);
                    dev.sync().map_err(limbwise::Error::from)?;
                    best = best.min(start.elapsed().as_secs_f64());
                    drop(results);
                }
                seconds.push((n, step, best / to_f64(FEW as u64)));
            }
        }
        Ok(Self { threads: dev.threads(), seconds })
    }

    fn seconds(&self, n: usize, step: Step, ciphertexts: usize) -> f64 {
        let found = self.seconds.iter().find(|(length, of, _)| *length == n && *of == step);
        found.map_or(0.0, |(_, _, each)| each * to_f64(ciphertexts as u64))
    }
}

/// The source's set of a length. Sets are made once, because finding their primes takes longer than most runs.
fn set(n: usize) -> Result<BgvParams> {
    static SETS: OnceLock<[Result<BgvParams, ParamsError>; 4]> = OnceLock::new();
    let sets = SETS.get_or_init(|| LENGTHS.map(|n| preset(&format!("dramatic-{n}"))));
    let at = LENGTHS.iter().position(|&length| length == n).expect("one of the source's lengths");
    Ok(sets[at].clone().map_err(limbwise::Error::from)?)
}

/// The polynomials of a batch that a step reads.
fn inputs<D: Device>(dev: &D, params: &BgvParams, batch: usize, step: Step) -> Result<Vec<D::Poly>> {
    let ring = dev.ring(params.rlwe().ring().spec()).map_err(limbwise::Error::from)?;
    let domain = if matches!(step, Step::Ntt | Step::All) { Domain::Coeff } else { Domain::Eval };
    let shape = Shape::eval(&ring, ring.full()).with_domain(domain).with_batch(batch);
    // Timing does not depend on the residues.
    let read = |_| dev.upload(&shape, Role::Ciphertext, &|_, words| words.fill(1));
    let polynomials = if matches!(step, Step::Multiply | Step::All) { 4 } else { 2 };
    Ok((0..polynomials).map(read).collect())
}

/// Evaluates a step. Operands are dropped before the inverse transforms, so that their MRAM is free.
fn evaluate<D: Device>(dev: &D, mut polynomials: Vec<D::Poly>, step: Step) -> Vec<D::Poly> {
    if matches!(step, Step::Ntt | Step::All) {
        let _region = dev.region("ntt", 0);
        polynomials = polynomials.into_iter().map(|p| dev.ntt(p)).collect();
    }
    if let (Step::Multiply | Step::All, [a0, a1, b0, b1]) = (step, &polynomials[..]) {
        polynomials = operations::product(dev, [a0, a1], [b0, b1]);
    }
    if matches!(step, Step::Intt | Step::All) {
        let _region = dev.region("intt", 0);
        polynomials = polynomials.into_iter().map(|p| dev.intt(p)).collect();
    }
    polynomials
}

/// Records a step.
pub(super) fn recorded(n: usize, batch: usize, step: Step) -> Result<Graph> {
    let dev = Recorder::new(Null::default());
    let inputs = inputs(&dev, &set(n)?, batch, step)?;
    let results = evaluate(&dev, inputs, step);
    let graph = dev.graph();
    drop(results);
    Ok(graph)
}

/// Results of one run of the model.
struct Run {
    compute_s: f64,
    transfer_s: f64,
    sent_s: f64,
    fetched_s: f64,
    /// Power while DPUs compute.
    watts: f64,
    report: Report,
}

impl Run {
    fn seconds(&self) -> f64 {
        self.report.seconds
    }
}

fn run(machine: &Spec, changes: &[(&str, &str)], graph: &Graph) -> Result<Run> {
    let report = time(graph, &machine.with_overrides(changes)?)?;
    let link = |kind| report.critical_path.get("link").and_then(|kinds| kinds.get(kind)).copied().unwrap_or(0.0);
    let (compute_s, transfer_s) = (report.compute_seconds.unwrap_or(0.0), report.transfer_seconds.unwrap_or(0.0));
    let energy = report.energy.as_ref();
    let watts = energy.map_or(0.0, |e| {
        let at_work = e.parts_j.get("dpus").copied().unwrap_or(0.0);
        e.idle_j / report.seconds + at_work / compute_s.max(f64::MIN_POSITIVE)
    });
    Ok(Run { compute_s, transfer_s, sent_s: link("load"), fetched_s: link("store"), watts, report })
}

/// Every claim of \[DRA\] beside the model's numbers, then its experiments, with the times of a CPU if one was measured.
///
/// # Errors
/// [`Error::Machine`](crate::Error::Machine) for specifications that a graph does not fit.
pub fn dramatic(machine: &Spec, cpu: Option<&CpuSide>) -> Result<Reproduction> {
    let mut measures = Measures::new();
    let mut put = |name: &str, value: f64| measures.insert(name.into(), value);
    let model = Upmem::new(machine)?;
    let [mul32, mul64] = model.multiplications().map(to_f64);
    put("mul32.slots", mul32);
    put("mul64.slots", mul64);
    put("mul64.gain", 100.0 * (1.0 - mul64 / to_f64(model.native_cycles())));
    put("capacity.sub_polynomials_4096", to_f64(model.capacity(4096)));
    put("capacity.sub_polynomials_8192", to_f64(model.capacity(8192)));
    put("capacity.ciphertexts_4096", to_f64(largest_batch(machine)?));
    transforms(machine, &mut put)?;
    lengths(machine, &mut put)?;
    ranks(machine, &mut put)?;
    Ok(Reproduction { experiments: experiments(machine, cpu)?, ..compare(CLAIMS, None, &measures) })
}

const PRIM: (&str, &str) = ("transfer_preset", "prim");
const DPUS_128: [(&str, &str); 2] = [("dpus", "128"), ("ranks", "2")];
const DPUS_383: [(&str, &str); 2] = [("dpus", "383"), ("ranks", "6")];
const DPUS_509: [(&str, &str); 2] = [("dpus", "509"), ("ranks", "8")];

/// Claims D2 and D4: one ciphertext, and shares of transfers with many.
fn transforms<T>(machine: &Spec, put: &mut impl FnMut(&str, f64) -> T) -> Result<()> {
    let one = recorded(2048, 1, Step::Ntt)?;
    let dramatic = run(machine, &DPUS_128, &one)?;
    put("ntt-2048.compute_ms", 1e3 * dramatic.compute_s);
    put("ntt-2048.transfer_ms", 1e3 * dramatic.transfer_s);
    put("ntt-2048.sent_ms", 1e3 * dramatic.sent_s);
    let prim = run(machine, &[DPUS_128[0], DPUS_128[1], PRIM], &one)?;
    put("ntt-2048.transfer_ms_prim", 1e3 * prim.transfer_s);
    let many = recorded(4096, MANY, Step::Ntt)?;
    for (reading, preset) in [("", "dramatic"), ("_prim", "prim")] {
        let run = run(machine, &[DPUS_383[0], DPUS_383[1], ("transfer_preset", preset)], &many)?;
        put(&format!("ntt-4096.sent_percent{reading}"), 100.0 * run.sent_s / run.compute_s);
        put(&format!("ntt-4096.fetched_percent{reading}"), 100.0 * run.fetched_s / run.compute_s);
    }
    Ok(())
}

/// The slope of log y over log x by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = to_f64(points.len() as u64);
    let logs = || points.iter().map(|(x, y)| (x.ln(), y.ln()));
    let (x, y) = logs().fold((0.0, 0.0), |(sx, sy), (x, y)| (sx + x / count, sy + y / count));
    let (top, bottom) = logs().fold((0.0, 0.0), |(t, b), (u, v)| (t + (u - x) * (v - y), b + (u - x) * (u - x)));
    top / bottom
}

/// Time over the length of polynomials.
fn lengths<T>(machine: &Spec, put: &mut impl FnMut(&str, f64) -> T) -> Result<()> {
    let (mut whole, mut compute) = (Vec::new(), Vec::new());
    for n in LENGTHS {
        let run = run(machine, &DPUS_383, &recorded(n, MANY, Step::All)?)?;
        whole.push((to_f64(n as u64), run.seconds()));
        compute.push((to_f64(n as u64), run.compute_s));
    }
    put("all.exponent", slope(&whole));
    put("all.exponent_compute", slope(&compute));
    Ok(())
}

/// Time and power over ranks.
fn ranks<T>(machine: &Spec, put: &mut impl FnMut(&str, f64) -> T) -> Result<()> {
    let graph = recorded(4096, MANY, Step::All)?;
    let (few, many) = (run(machine, &DPUS_128, &graph)?, run(machine, &DPUS_509, &graph)?);
    put("all.speed_ranks", few.seconds() / many.seconds());
    put("all.speed_ranks_compute", few.compute_s / many.compute_s);
    put("all.power_2", few.watts);
    put("all.power_8", many.watts);
    Ok(())
}

/// The largest batch of one modulus whose transforms fit into the memory of one DPU, by bisection.
fn largest_batch(machine: &Spec) -> Result<u64> {
    let one = machine.with_overrides(&[("dpus", "1"), ("ranks", "1"), ("moduli", "1")])?;
    let (mut fits, mut too_many) = (1, 1 << 16);
    while fits + 1 < too_many {
        let middle = (fits + too_many) / 2;
        match time(&recorded(4096, middle, Step::Ntt)?, &one) {
            Ok(_) => fits = middle,
            Err(MachineError::NoMram { .. }) => too_many = middle,
            Err(other) => return Err(other.into()),
        }
    }
    Ok(fits as u64)
}

/// A step on a batch at a length.
#[derive(Clone, Copy)]
struct Circuit {
    n: usize,
    batch: usize,
    step: Step,
}

/// A table whose rows are runs of the model.
struct Table<'a> {
    machine: &'a Spec,
    cpu: Option<&'a CpuSide>,
    experiment: Experiment,
}

impl<'a> Table<'a> {
    fn new(machine: &'a Spec, cpu: Option<&'a CpuSide>, name: &str, about: &str) -> Self {
        let mut columns = vec!["compute, s", "transfers, s", "all, s", "power, W"];
        columns.extend(cpu.map(|_| "this CPU, s"));
        let columns = columns.into_iter().map(Into::into).collect();
        let experiment = Experiment { name: name.into(), about: about.into(), columns, rows: vec![] };
        Self { machine, cpu, experiment }
    }

    fn row(&mut self, setting: &str, changes: &[(&str, &str)], circuit: Circuit) -> Result<()> {
        let Circuit { n, batch, step } = circuit;
        let run = run(self.machine, changes, &recorded(n, batch, step)?)?;
        let mut values = vec![run.compute_s, run.transfer_s, run.seconds(), run.watts];
        values.extend(self.cpu.map(|cpu| cpu.seconds(n, step, batch)));
        self.experiment.rows.push(Setting { setting: setting.into(), values });
        Ok(())
    }
}

/// Changes of the machine under a name.
type Named = (&'static str, &'static [(&'static str, &'static str)]);

/// Choices that change only the machine, each with its settings.
const CHOICES: [(&str, &[Named]); 4] = [
    (
        "multipliers",
        &[
            ("as assembled", &[]),
            ("inlined", &[("inline_mul", "true")]),
            ("4 cycles", &[("mul32_cycles", "4"), ("mul64_cycles", "4")]),
            ("2 cycles", &[("mul32_cycles", "2"), ("mul64_cycles", "2")]),
            ("1 cycle, inlined", &[("mul32_cycles", "1"), ("mul64_cycles", "1"), ("inline_mul", "true")]),
        ],
    ),
    (
        "transfers",
        &[
            ("dramatic", &[("transfer_preset", "dramatic")]),
            ("twice dramatic", &[("to_gb_s", "3.8"), ("from_gb_s", "1.6")]),
            ("four times dramatic", &[("to_gb_s", "7.6"), ("from_gb_s", "3.2")]),
            ("prim", &[PRIM]),
            ("host reads MRAM", &[("host_direct_access", "true")]),
        ],
    ),
    ("launches", &[("of operations", &[]), ("of stages, 64 bits", &[("offload", "stage")])]),
    (
        "placement",
        &[
            ("DPUs", &[("placement", "dpus")]),
            ("host", &[("placement", "host")]),
            ("hybrid", &[("placement", "hybrid")]),
            ("hybrid, direct access", &[("placement", "hybrid"), ("host_direct_access", "true")]),
        ],
    ),
];

/// The source's experiments: ciphertexts, ranks, lengths, operations, multipliers, transfers, launches, placement.
fn experiments(machine: &Spec, cpu: Option<&CpuSide>) -> Result<Vec<Experiment>> {
    let measured = cpu.map_or_else(String::new, |cpu| {
        format!("; the CPU on {} threads, measured in this run on {FEW} ciphertexts and scaled", cpu.threads)
    });
    let about = |what: &str| format!("{what}{measured}");
    let all = Circuit { n: 4096, batch: MANY, step: Step::All };
    let mut tables = Vec::new();

    let mut table = Table::new(machine, cpu, "ciphertexts", &about("all in one at 4096, 383 DPUs"));
    for batch in [1, 4, 16, 64, 256, 1024, 4096] {
        table.row(&batch.to_string(), &DPUS_383, Circuit { batch, ..all })?;
    }
    tables.push(table);

    let mut table = Table::new(machine, cpu, "ranks", &about("all in one at 4096, 32768 ciphertexts"));
    for (ranks, dpus) in [("2", "128"), ("3", "192"), ("4", "256"), ("6", "383"), ("8", "509"), ("40", "2560")] {
        table.row(&format!("{ranks} ({dpus} DPUs)"), &[("ranks", ranks), ("dpus", dpus)], all)?;
    }
    tables.push(table);

    let mut table = Table::new(machine, cpu, "lengths", &about("all in one, 32768 ciphertexts, 383 DPUs"));
    for n in LENGTHS {
        table.row(&n.to_string(), &DPUS_383, Circuit { n, ..all })?;
    }
    tables.push(table);

    let mut table = Table::new(machine, cpu, "operations", &about("4096, 32768 ciphertexts, 383 DPUs"));
    for (step, name) in Step::EACH {
        table.row(name, &DPUS_383, Circuit { step, ..all })?;
    }
    tables.push(table);
    for (name, settings) in CHOICES {
        let mut table = Table::new(machine, cpu, name, &about("all in one at 4096, 32768 ciphertexts, 383 DPUs"));
        for (setting, changes) in settings {
            table.row(setting, &[&DPUS_383, *changes].concat(), all)?;
        }
        tables.push(table);
    }
    Ok(tables.into_iter().map(|table| table.experiment).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_the_exponent() {
        let points = [1.0, 2.0, 5.0, 10.0].map(|x: f64| (x, 3.0 * x.powf(1.7)));
        assert!((slope(&points) - 1.7).abs() < 1e-12);
    }

    /// The whole workload is four transforms, four products and three inverse transforms.
    #[test]
    fn steps_add_up_to_the_whole() {
        let products = |step| recorded(1024, 2, step).unwrap().counts().products();
        let parts = 2 * products(Step::Ntt) + products(Step::Multiply) + 3 * products(Step::Intt) / 2;
        assert_eq!(products(Step::All), parts);
    }
}
