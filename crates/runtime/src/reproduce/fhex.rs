//! Measures for the claims of \[FHX\], and its experiments repeated. Set, batch and readings were fixed before (ADR 131).

use super::{
    claims::{Measures, Reproduction, Row, compare},
    experiments::{Experiment, Setting},
};
use crate::{error::Result, record::record};
use limbwise::{
    rlwe::KeyForm,
    tfhe::{TfheParams, preset},
};
use limbwise_apps::{
    nn::{Network, Nn},
    pbs::{Pbs, Tables},
    program::{Program, Tfhe},
};
use limbwise_graph::Graph;
use limbwise_machines::{MachineError, Report, Spec, report::Operator, time};
use limbwise_math::rns::to_f64;
use std::sync::Arc;

const CLAIMS: &str = include_str!("../../claims/fhex.toml");
/// The set of X3 and X4, and of the workloads: it has the four message bits of the network, and primes of 32 bits.
const SET: &str = "fhex-II-32";
/// The set of X7, as far as a breakdown hangs on one.
const SMALL_SET: &str = "fhex-I-32";
/// Bootstrappings in flight.
const BATCH: usize = 16;

/// Internal memories of the unit, GB/s.
const MEMORIES: [(&str, &str); 4] = [
    ("stack, 135 GB/s a Gbit", "4320"),
    ("SeDRAM, 34 GB/s a Gbit", "1088"), // title of its publication (IEDM 2020), 32 Gbit
    ("HBM3, one stack", "819.2"),       // JESD238: 1,024 bits at 6.4 Gbit/s
    ("HBM3, two stacks", "1638.4"),
];

fn recorded<P: Program<Scheme = Tfhe>>(program: &P) -> Result<Arc<Graph>> {
    Ok(record(program, KeyForm::Stored, &limbwise_cpu::footprint())?.graph)
}

fn params(name: &str) -> Result<TfheParams> {
    Ok(TfheParams::new(&preset(name)?).map_err(limbwise::Error::from)?)
}

fn bootstrappings(set: &str, batch: usize) -> Result<Arc<Graph>> {
    recorded(&Pbs::new(&params(set)?, batch, Tables::Same))
}

/// One image through the network of 20 layers.
fn network() -> Result<Arc<Graph>> {
    let shipped = Network::shipped(20).expect("a network of 20 layers is shipped");
    recorded(&Nn::new(&params(SET)?, shipped, 1).expect("the set holds the sums of one image"))
}

/// The network on a machine, each change of it once.
struct Timed<'a> {
    machine: &'a Spec,
    network: Arc<Graph>,
    known: Vec<(Vec<(String, String)>, Report)>,
}

impl Timed<'_> {
    fn report(&mut self, changes: &[(&str, &str)]) -> std::result::Result<Report, MachineError> {
        let key: Vec<(String, String)> = changes.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        if let Some((_, report)) = self.known.iter().find(|(known, _)| *known == key) {
            return Ok(report.clone());
        }
        let report = time(&self.network, &self.machine.with_overrides(changes)?)?;
        self.known.push((key, report.clone()));
        Ok(report)
    }

    fn seconds(&mut self, changes: &[(&str, &str)]) -> std::result::Result<f64, MachineError> {
        Ok(self.report(changes)?.seconds)
    }

    /// Percent of time that the first saves over the second.
    fn less(&mut self, ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> std::result::Result<f64, MachineError> {
        Ok(100.0 * (1.0 - self.seconds(ours)? / self.seconds(theirs)?))
    }

    /// Percent by which the first is faster than the second.
    fn faster(&mut self, ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> std::result::Result<f64, MachineError> {
        Ok(100.0 * (self.seconds(theirs)? / self.seconds(ours)? - 1.0))
    }
}

/// Every claim of \[FHX\] beside counts, placements and timetables on a model of the machine.
///
/// # Errors
/// [`Error`](crate::Error) where a changed machine cannot take the programs.
pub fn fhex(machine: &Spec, in_bank: &Spec) -> Result<Reproduction> {
    let mut measures = Measures::new();
    counted(&mut measures)?;
    for name in ["area_mm2", "power_w"] {
        let field = machine.fields().into_iter().find(|field| field.path == format!("energy.{name}"));
        let stated = field.and_then(|field| field.value.as_f64()).unwrap_or(f64::NAN);
        measures.insert(format!("machine.{name}"), stated);
    }
    let mut timed = Timed { machine, network: network()?, known: Vec::new() };
    claimed(&mut timed, &mut measures)?;
    let compared = compare(CLAIMS, None, &measures);
    let bases = bases(&mut timed, &compared.rows)?;
    let experiments =
        vec![policies(&mut timed)?, causes(&mut timed)?, memories(&mut timed, in_bank)?, batches(&mut timed)?, bases];
    Ok(Reproduction { experiments, ..compared })
}

/// X3 and X4.
fn claimed(timed: &mut Timed, measures: &mut Measures) -> Result<()> {
    let mut put = |name: &str, value: f64| measures.insert(format!("nn20.{name}"), value);
    let whole = ("mapping", "whole");
    let (fixed, all) = (("offload", "static"), ("offload", "heu"));
    put("pacm_less", timed.less(&[], &[whole])?);
    put("pacm_less_heu", timed.less(&[all], &[whole, all])?);
    put("pacm_less_beside", timed.less(&[], &[whole, ("assumed.whole_streams", "2")])?);
    put("pacm_less_static", timed.less(&[fixed], &[whole, fixed])?);
    put("adaptive_faster", timed.faster(&[], &[fixed])?);
    put("adaptive_less", timed.less(&[], &[fixed])?);
    put("adaptive_faster_operator", timed.faster(&[("assumed.search", "operator")], &[fixed])?);
    let many = ("batch", "64");
    put("adaptive_faster_64", timed.faster(&[many], &[many, fixed])?);
    let half = ("assumed.link_duplex", "half");
    put("adaptive_faster_half", timed.faster(&[half], &[half, fixed])?);
    Ok(())
}

/// X7, by the machine that counts.
fn counted(measures: &mut Measures) -> Result<()> {
    let counts = Spec::load("counts")?.with_overrides(&[("word_bytes", "4")])?;
    let mut put = |name: &str, value: f64| measures.insert(format!("pbs.{name}"), value);
    let report = time(bootstrappings(SMALL_SET, 1)?.as_ref(), &counts)?;
    let all = |of: &dyn Fn(&Operator) -> u64| -> f64 { to_f64(report.operators.iter().map(of).sum()) };
    let named = |name: &str| report.operators.iter().find(|o| o.name == name).cloned().unwrap_or_default();
    let ep = named("ep");
    let (products, bytes) = (to_f64(ep.multiplications), to_f64(ep.bytes()));
    let multiplications = all(&|o| o.multiplications);
    let butterflies = to_f64(named("ntt").multiplications + named("intt").multiplications);
    let key = to_f64(ep.read_bytes.get("bootstrap_key").copied().unwrap_or(0));
    put("ep_multiplications", 100.0 * products / multiplications);
    put("ep_multiplications_complex", 100.0 * products / (multiplications + 3.0 * butterflies));
    put("ep_bytes", 100.0 * bytes / all(&Operator::bytes));
    put("ep_key_bytes", 100.0 * key / all(&Operator::bytes));
    // Each digit is read once, and each sum written once: transforms of the sums read as much.
    let (digits, sums) = (to_f64(named("ntt").written_bytes), to_f64(named("intt").written_bytes));
    put("ep_operations_a_byte", to_f64(ep.multiplications + ep.additions) / (key + digits + sums));
    put("ep_operations_a_key_word", 4.0 * to_f64(ep.multiplications + ep.additions) / key);
    let report = time(bootstrappings(SET, 1)?.as_ref(), &counts)?;
    let of = |name: &str| report.operators.iter().find(|o| o.name == name).map_or(0, |o| o.multiplications);
    let all: u64 = report.operators.iter().map(|o| o.multiplications).sum();
    put("ep_multiplications_ii", 100.0 * to_f64(of("ep")) / to_f64(all));
    Ok(())
}

/// Numbers of a report that the tables show.
fn numbers(report: &Report) -> Vec<f64> {
    let b = report.bootstrappings;
    let busy = |unit: &str| 100.0 * report.utilization.get(unit).copied().unwrap_or(0.0);
    let link = ["link", "link there", "link back"].map(busy).into_iter().fold(0.0, f64::max);
    let millijoules = report.energy.as_ref().map_or(0.0, |e| 1e3 * e.energy_j);
    let count = b.map_or(1.0, |b| to_f64(b.count.max(1)));
    vec![
        1e3 * report.seconds,
        b.map_or(0.0, |b| 1e6 * b.latency_s),
        b.map_or(0.0, |b| b.per_second),
        busy("device"),
        busy("heu"),
        link,
        millijoules / count,
    ]
}

fn columns() -> Vec<String> {
    let names =
        ["nn20, ms", "one alone, µs", "a second", "device busy, %", "unit busy, %", "link busy, %", "mJ a bootstr."];
    names.map(str::to_owned).into()
}

/// Mapping and policy, on and off.
fn policies(timed: &mut Timed) -> Result<Experiment> {
    let mut rows = Vec::new();
    for mapping in ["pacm", "whole"] {
        for offload in ["adaptive", "heft", "static", "device", "heu"] {
            // The fields' values in the file go without a change.
            let mut changes = Vec::new();
            if mapping != "pacm" {
                changes.push(("mapping", mapping));
            }
            if offload != "adaptive" {
                changes.push(("offload", offload));
            }
            let values = numbers(&timed.report(&changes)?);
            rows.push(Setting { setting: format!("{mapping}, {offload}"), values });
        }
    }
    let about = format!("{SET}, {BATCH} in flight; busy is of the whole program");
    Ok(Experiment { name: "mapping and offloading".into(), about, columns: columns(), rows })
}

/// What adaptive over static offloading hangs on.
fn causes(timed: &mut Timed) -> Result<Experiment> {
    let changes: [(&str, &[(&str, &str)]); 6] = [
        ("as it is", &[]),
        ("one side an operator", &[("assumed.search", "operator")]),
        ("60 cores, as sold", &[("device.cores", "60")]),
        ("lazy butterflies", &[("slots.butterfly_slots", "17")]),
        ("a mesh twice as wide", &[("mesh.link_bytes_per_cycle", "64")]),
        ("a link of a quarter", &[("link_gb_s", "96.25")]),
    ];
    let mut rows = Vec::new();
    for (setting, changes) in changes {
        let fixed: Vec<(&str, &str)> = changes.iter().copied().chain([("offload", "static")]).collect();
        let [ours, theirs] = [timed.report(changes)?, timed.report(&fixed)?];
        let unit = 100.0 * theirs.utilization.get("heu").copied().unwrap_or(0.0);
        let values =
            vec![1e3 * ours.seconds, 1e3 * theirs.seconds, unit, 100.0 * (theirs.seconds / ours.seconds - 1.0)];
        rows.push(Setting { setting: setting.into(), values });
    }
    let names = ["adaptive, ms", "static, ms", "unit busy, %", "faster, %"];
    let about = format!(
        "{SET}, {BATCH} in flight, pacm; the unit is as busy as under static; looked at after the result of X4"
    );
    Ok(Experiment { name: "what X4 hangs on".into(), about, columns: names.map(str::to_owned).into(), rows })
}

/// Other memories inside the unit, and units at banks in its place.
fn memories(timed: &mut Timed, in_bank: &Spec) -> Result<Experiment> {
    let mut rows = Vec::new();
    for (memory, gb_s) in MEMORIES {
        for offload in ["adaptive", "heu"] {
            let own = if gb_s == "4320" { None } else { Some(("internal_gb_s", gb_s)) };
            let chosen = (offload != "adaptive").then_some(("offload", offload));
            let changes: Vec<(&str, &str)> = chosen.into_iter().chain(own).collect();
            rows.push(Setting { setting: format!("{memory}, {offload}"), values: numbers(&timed.report(&changes)?) });
        }
    }
    rows.push(Setting { setting: "in-bank units".into(), values: numbers(&time(&timed.network, in_bank)?) });
    let about = format!("{SET}, {BATCH} in flight, pacm; with all in the unit nothing hides the memory");
    Ok(Experiment { name: "memory inside the unit".into(), about, columns: columns(), rows })
}

/// Bootstrappings in flight.
fn batches(timed: &mut Timed) -> Result<Experiment> {
    let mut rows = Vec::new();
    for batch in ["1", "4", "16", "64"] {
        let changes = if batch == "16" { vec![] } else { vec![("batch", batch)] };
        rows.push(Setting { setting: format!("{batch} in flight"), values: numbers(&timed.report(&changes)?) });
    }
    let about = format!("{SET}, pacm, adaptive");
    Ok(Experiment { name: "bootstrappings in flight".into(), about, columns: columns(), rows })
}

/// X1 and X2: what the base lines would have to be, by the published ratios.
fn bases(timed: &mut Timed, rows: &[Row]) -> Result<Experiment> {
    let report = timed.report(&[])?;
    let b = report.bootstrappings;
    let (alone_us, per_second) = b.map_or((0.0, 0.0), |b| (1e6 * b.latency_s, b.per_second));
    let ms = 1e3 * report.seconds;
    let mut settings = vec![Setting { setting: "ours".into(), values: vec![alone_us, per_second, ms] }];
    let ratio = |what: &str, name: &str| rows.iter().find(|row| row.what == format!("{what}, {name}")).map(|r| r.paper);
    for name in rows.iter().filter_map(|row| row.what.strip_prefix("latency, ")) {
        let of = |what: &str| ratio(what, name).unwrap_or(f64::NAN);
        let values = vec![of("latency") * alone_us, per_second / of("throughput"), of("DeepCNN") * ms];
        settings.push(Setting { setting: name.into(), values });
    }
    let columns = ["latency, µs", "a second", "nn20, ms"].map(str::to_owned).into();
    let about = "from the published ratios and our absolute numbers: not a result of any of these systems".into();
    Ok(Experiment { name: "what the base lines would have to be".into(), about, columns, rows: settings })
}
