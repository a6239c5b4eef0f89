//! Measures for the claims of \[FLX\], and its experiments repeated. Sets, batches and readings were fixed before (ADR 132).

use super::{
    circuits::{Products, fastest},
    claims::{Measures, Reproduction, compare},
    experiments::{Experiment, Setting},
};
use crate::{error::Result, record::record, scheme::Piped};
use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, Promise, Strategy},
    params::{Params, presets::preset},
    rlwe::KeyForm,
    tfhe::{TfheParams, preset as tfhe_preset},
};
use limbwise_apps::{
    helr::encrypted::{Helr, Training},
    network::{Inference, activation::SignChoice, calibration::Range},
    nn::{Network as Layers, Nn},
    pbs::{Pbs, Tables},
    program::Program,
    query::{Query, Question, Statement, tpch},
    resnet::{Architecture, Resnet, Trained},
    way::Arrangement,
};
use limbwise_device::{Device as _, Null, RingSpec, Role, Shape, Wordless as _};
use limbwise_graph::{Graph, Recorder};
use limbwise_machines::{MachineError, Report, Spec, time};
use limbwise_math::{prime::ntt_primes_near, rns::to_f64};
use std::sync::Arc;

const CLAIMS: &str = include_str!("../../claims/flexmem.toml");
/// Bootstrappings in one batch of M2, and iterations of M1.
const BATCH: usize = 4096;
const ITERATIONS: usize = 32;
/// Limbs of the transform by which the source studies its units.
const LIMBS: usize = 35;
const MIB: f64 = 1_048_576.0;

type Timed<T> = std::result::Result<T, MachineError>;
type Change<'a> = (&'a str, &'a str);

fn recorded<P: Program<Scheme: Piped>>(program: &P) -> Result<Arc<Graph>> {
    Ok(record(program, KeyForm::Stored, &limbwise_cpu::footprint())?.graph)
}

pub(super) fn params(name: &str) -> Result<Params> {
    Ok(preset(name).map_err(limbwise::Error::from)?)
}

fn tfhe_params(name: &str) -> Result<TfheParams> {
    Ok(TfheParams::new(&tfhe_preset(name)?).map_err(limbwise::Error::from)?)
}

/// A machine with changes; a change of the same field before it is undone.
fn report(machine: &Spec, graph: &Graph, changes: &[Change<'_>]) -> Timed<Report> {
    time(graph, &machine.with_overrides(changes)?)
}

fn milliseconds(machine: &Spec, graph: &Graph, changes: &[Change<'_>]) -> Timed<f64> {
    Ok(1e3 * report(machine, graph, changes)?.seconds)
}

/// A bootstrapping alone, rotated in the way that the machine does first.
fn bootstrapping(machine: &Spec, name: &str) -> Result<Arc<Graph>> {
    Ok(Arc::new(fastest(machine, &params(name)?, KeyForm::Stored, Products::None)?.1))
}

/// A transform of a polynomial of one-word limbs.
fn transform(log_n: u32, limbs: usize) -> Result<Graph> {
    let recorder = Recorder::new(Null::default());
    let primes: Vec<u64> = ntt_primes_near(log_n, 1 << 30).take(limbs).collect();
    let ring = recorder.ring(&RingSpec { log_n, primes }).expect("primes of this ring");
    let shape = Shape::eval(&ring, ring.full()).with_domain(limbwise_device::Domain::Coeff);
    let transformed = recorder.ntt(recorder.declare(&shape, Role::Ciphertext));
    let graph = recorder.graph();
    drop(transformed);
    Ok(graph)
}

/// 32 iterations of HELR on generated images' shape.
fn helr() -> Result<Arc<Graph>> {
    let training = Training {
        columns: 197,
        train_rows: 2048,
        batch_rows: 1024,
        iterations: ITERATIONS,
        bootstrap_every: 3,
        degree: 3,
        interval: 16.0,
        learning_rate: 1.0,
        rows: Promise { magnitude: 1.0, peak: 1.0, real: true },
    };
    recorded(&Helr::new(&params("boot-few")?, training).expect("the numbers of the workload's options"))
}

/// One image through a ResNet-20 with generated weights: time hangs on their shape.
fn resnet() -> Result<Arc<Graph>> {
    let architecture = Architecture { side: 32, channels: 3, widths: vec![16, 32, 64], blocks: 3, classes: 10 };
    let (trained, params) = (Trained::generated(&architecture, 0).expect("a ResNet-20"), params("boot")?);
    let skeleton = trained.network.skeleton.clone();
    let inference = Inference {
        ranges: vec![Range::between(-10.0, 10.0); skeleton.values.len()],
        network: skeleton,
        margin: 1.0,
        error: 0.005,
        sign: Some(SignChoice::default()),
        squarings: Default::default(),
        samples: 1,
        arrangement: Arrangement::default(),
        strategy: Strategy::Bsgs { babies: 0 },
        plaintexts: PlaintextForm::Full,
        bootstrapping: Some(BootstrapPlan::fastest(params.max_slots())),
    };
    recorded(&Resnet::new(&params, inference, &trained.network).expect("the numbers of the workload's options"))
}

/// One image through a network of so many layers.
fn network(layers: usize) -> Result<Arc<Graph>> {
    let shipped = Layers::shipped(layers).expect("a network of so many layers is shipped");
    recorded(&Nn::new(&tfhe_params("strix-III-32")?, shipped, 1).expect("the set holds the sums of one image"))
}

fn query(rows: usize) -> Result<Arc<Graph>> {
    let refused = "a query of the workload's own table";
    let table = tpch::generated(1.0, rows);
    let statement = Statement::parse(tpch::QUERY_6).expect(refused);
    let question = Question::new(&statement, &table, &tpch::domains(), &[]).expect(refused);
    let pair = limbwise::bridge::preset("flags-2-2")?;
    recorded(&Query::new("tpch-q6", question, &pair).expect(refused))
}

/// Bootstrappings of a batch of messages, each by the same table.
pub(super) fn rotations(set: &str, batch: usize) -> Result<Arc<Graph>> {
    recorded(&Pbs::new(&tfhe_params(set)?, batch, Tables::Same))
}

/// Programs of the claims, recorded once.
struct Programs {
    sharp: Arc<Graph>,
    narrow: Arc<Graph>,
    helr: Arc<Graph>,
    resnet: Arc<Graph>,
    nn20: Arc<Graph>,
    query: Arc<Graph>,
    sets: [Arc<Graph>; 2],
    transform: Graph,
}

impl Programs {
    fn record(machine: &Spec) -> Result<Self> {
        Ok(Self {
            sharp: bootstrapping(machine, "boot-sharp")?,
            narrow: bootstrapping(machine, "boot-narrow")?,
            helr: helr()?,
            resnet: resnet()?,
            nn20: network(20)?,
            query: query(4096)?,
            sets: [rotations("strix-I-32", BATCH)?, rotations("strix-II-32", BATCH)?],
            transform: transform(16, LIMBS)?,
        })
    }
}

/// Every claim of \[FLX\] beside counts and schedules on a model of the machine.
///
/// # Errors
/// [`Error`](crate::Error) where a changed machine cannot take the programs.
pub fn flexmem(machine: &Spec) -> Result<Reproduction> {
    let programs = Programs::record(machine)?;
    let mut measures = Measures::new();
    times(machine, &programs, &mut measures)?;
    shares(machine, &programs, &mut measures)?;
    counted(machine, &programs, &mut measures)?;
    let compared = compare(CLAIMS, None, &measures);
    let experiments = vec![
        operations(machine, &programs)?,
        networks(machine, &programs)?,
        units(machine, &programs)?,
        chips(machine, &programs)?,
        readings(machine, &programs)?,
        sets(machine)?,
    ];
    Ok(Reproduction { experiments, ..compared })
}

/// M1 to M4.
fn times(machine: &Spec, programs: &Programs, measures: &mut Measures) -> Result<()> {
    let figure: &[Change<'_>] = &[("timing", "figure")];
    let readings: [(&str, &[Change<'_>]); 5] = [
        ("ms", &[]),
        ("ms_figure", figure),
        ("ms_banks", &[("limb_banks", "64")]),
        ("ms_bank_link", &[("assumed.bank_network_of", "link")]),
        ("ms_bank_all", &[("assumed.bank_network_of", "system")]),
    ];
    for (name, graph) in [("boot-sharp", &programs.sharp), ("boot-narrow", &programs.narrow)] {
        for (measure, changes) in readings {
            measures.insert(format!("{name}.{measure}"), milliseconds(machine, graph, changes)?);
        }
    }
    let each = [("helr", &programs.helr, ITERATIONS), ("resnet20", &programs.resnet, 1), ("nn20", &programs.nn20, 1)];
    for (name, graph, count) in each {
        let count = to_f64(count as u64);
        measures.insert(format!("{name}.ms"), milliseconds(machine, graph, &[])? / count);
        measures.insert(format!("{name}.ms_figure"), milliseconds(machine, graph, figure)? / count);
    }
    measures.insert("tpch-q6.s".into(), report(machine, &programs.query, &[])?.seconds);
    measures.insert("tpch-q6.s_figure".into(), report(machine, &programs.query, figure)?.seconds);
    for (name, graph) in ["strix-I", "strix-II"].into_iter().zip(&programs.sets) {
        let few = rotations(&format!("{name}-32"), 256)?;
        let two: Change<'_> = ("chips", "2");
        let rate = |graph: &Graph, batch: usize, changes: &[Change<'_>]| -> Timed<f64> {
            Ok(to_f64(batch as u64) / report(machine, graph, changes)?.seconds)
        };
        measures.insert(format!("{name}.per_second"), rate(graph, BATCH, &[two])?);
        measures.insert(format!("{name}.per_second_figure"), rate(graph, BATCH, &[two, figure[0]])?);
        measures.insert(format!("{name}.per_second_256"), rate(&few, 256, &[two])?);
    }
    Ok(())
}

/// Share of the time in which chips work, as a note of the report has it, in percent.
fn of_work(report: &Report, name: &str) -> f64 {
    let working: f64 =
        report.utilization.iter().filter(|(unit, _)| unit.starts_with("chip ")).map(|(_, share)| share).sum();
    let chips = report.utilization.keys().filter(|unit| unit.starts_with("chip ")).count();
    let busy = report.utilization.get(name).copied().unwrap_or(0.0);
    100.0 * busy * to_f64(chips as u64) / working.max(f64::MIN_POSITIVE)
}

/// M5, M8, M9.
fn shares(machine: &Spec, programs: &Programs, measures: &mut Measures) -> Result<()> {
    let mut put = |name: &str, value: f64| measures.insert(name.to_owned(), value);
    let usual = report(machine, &programs.narrow, &[])?;
    put("boot-narrow.near_memory", of_work(&usual, "near-memory bandwidth"));
    let alone = report(machine, &programs.transform, &[])?;
    put("boot-narrow.near_memory_ntt", of_work(&alone, "near-memory bandwidth"));
    put("boot-narrow.remap_share", of_work(&usual, "remapping"));
    let fixed = report(machine, &programs.narrow, &[("remap", "off")])?.seconds;
    put("boot-narrow.remap_faster", fixed / usual.seconds);
    let columns = to_f64(machine_number(machine, "chip.row_bytes") / 4);
    let limbs = params("boot-narrow")?.literal().levels.iter().map(Vec::len).sum::<usize>();
    let wide = to_f64(limbs as u64 / 4).max(1.0);
    let text = format!("{}", 1u64 << whole_log2(columns / wide));
    let by_text = report(machine, &programs.narrow, &[("poly_col", text.as_str())])?.seconds;
    put("boot-narrow.remap_faster_text", by_text / usual.seconds);
    let slower = |changes: &[Change<'_>]| -> Timed<f64> {
        let stride: Vec<Change<'_>> = changes.iter().copied().chain([("rows", "stride-1")]).collect();
        Ok(milliseconds(machine, &programs.transform, &stride)? / milliseconds(machine, &programs.transform, changes)?)
    };
    put("ntt-65536.rows_slower", slower(&[("timing", "figure")])?);
    put("ntt-65536.rows_slower_table", slower(&[])?);
    Ok(())
}

/// ⌊log₂ x⌋, at least 3: a column for each PE.
fn whole_log2(x: f64) -> u32 {
    (3..9).rev().find(|&log| f64::from(1u32 << log) <= x).unwrap_or(3)
}

/// A whole number of a machine.
fn machine_number(machine: &Spec, path: &str) -> u64 {
    let field = machine.fields().into_iter().find(|field| field.path == path);
    field.and_then(|field| field.value.as_u64()).unwrap_or(0)
}

/// Exact ones: counts, capacities, sums.
fn counted(machine: &Spec, programs: &Programs, measures: &mut Measures) -> Result<()> {
    for log_n in [12u32, 16] {
        let radix_2 = transform(log_n, 1)?.counts().ntt_products;
        let more = 100.0 * to_f64(1u64 << log_n) / to_f64(radix_2);
        measures.insert(format!("ntt-{}.four_step_more", 1u64 << log_n), more);
    }
    let counts = programs.narrow.counts();
    let (sums, scaled) = (to_f64(counts.convert_sum_products), to_f64(counts.convert_scale_products));
    measures.insert("boot-narrow.sum_share".into(), 100.0 * sums / (sums + scaled));
    let number = |path: &str| to_f64(machine_number(machine, path));
    let pes = number("chip.banks") * number("chip.subarrays") / 2.0 * number("chip.pes");
    measures.insert("machine.register_mb".into(), pes * number("chip.register_bytes") / MIB);
    let ciphertext = |limbs: f64, bits: f64| 2.0 * limbs * 65536.0 * bits / 8.0 / MIB;
    measures.insert("capacity.ciphertext_mb".into(), ciphertext(24.0, 36.0));
    measures.insert("capacity.ciphertext_mb_word".into(), ciphertext(24.0, 32.0));
    measures.insert("capacity.ciphertext_mb_36".into(), ciphertext(36.0, 32.0));
    let parts = |table: &str| {
        let fields = machine.fields().into_iter().filter(|f| f.path.starts_with(table));
        fields.fold([0.0, 0.0], |[inside, between]: [f64; 2], field| {
            let value = field.value.as_f64().unwrap_or(f64::NAN);
            if field.path.contains("chip_network") { [inside, between + value] } else { [inside + value, between] }
        })
    };
    let each = number("system.chips_per_dimm");
    let sums =
        [("area.", ["chip_mm2", "chips_mm2", "dimm_mm2", "mm2"]), ("power.", ["chip_w", "chips_w", "dimm_w", "w"])];
    for (table, [chip, chips, dimm, all]) in sums {
        let [inside, between] = parts(table);
        let of_dimm = each * inside + between;
        let named = [(chip, inside), (chips, each * inside), (dimm, of_dimm), (all, number("system.dimms") * of_dimm)];
        measures.extend(named.map(|(name, value)| (format!("machine.{name}"), value)));
    }
    Ok(())
}

/// Operation counts of the programs beside their times.
fn operations(machine: &Spec, programs: &Programs) -> Result<Experiment> {
    let all: [(&str, &Graph); 6] = [
        ("boot-sharp", &programs.sharp),
        ("boot-narrow", &programs.narrow),
        ("helr, 32 iterations", &programs.helr),
        ("resnet20", &programs.resnet),
        ("nn20", &programs.nn20),
        ("tpch-q6, 4096 rows", &programs.query),
    ];
    let mut rows = Vec::new();
    for (setting, graph) in all {
        let (report, counts) = (report(machine, graph, &[])?, graph.counts());
        let bytes = |network: &str| -> u64 { report.bytes.get(network).map_or(0, |roles| roles.values().sum()) };
        let values = vec![
            1e3 * report.seconds,
            to_f64(counts.products()) / 1e9,
            to_f64(counts.transformed_limbs) / 1e3,
            to_f64(counts.convert_sum_products) / 1e9,
            of_work(&report, "near-memory bandwidth"),
            of_work(&report, "bank network"),
            of_work(&report, "remapping"),
            to_f64(bytes("bank network")) / 1e9,
            to_f64(bytes("chip network")) / 1e9,
            1e3 * report.energy.as_ref().map_or(0.0, |e| e.energy_j),
        ];
        rows.push(Setting { setting: setting.into(), values });
    }
    let names = [
        "ms",
        "10^9 products",
        "10^3 transforms",
        "10^9 conv. sums",
        "near memory, %",
        "bank network, %",
        "remapping, %",
        "bank GB",
        "chip GB",
        "mJ",
    ];
    let about =
        "products by the convention of counts, before words are split; shares are of the time in which chips work"
            .into();
    Ok(Experiment { name: "operations".into(), about, columns: names.map(str::to_owned).into(), rows })
}

/// Times of a bootstrapping and of the transform under changes.
fn both(machine: &Spec, programs: &Programs, changes: &[Change<'_>]) -> Timed<Vec<f64>> {
    let boot = report(machine, &programs.narrow, changes)?;
    let transform = report(machine, &programs.transform, changes)?;
    let busy = |name: &str| of_work(&boot, name);
    Ok(vec![
        1e3 * boot.seconds,
        1e6 * transform.seconds,
        busy("PE chain"),
        busy("LISA"),
        busy("bank network"),
        busy("remapping"),
    ])
}

fn columns() -> Vec<String> {
    ["boot-narrow, ms", "35 limbs, µs", "PE chain, %", "LISA, %", "bank network, %", "remapping, %"]
        .map(str::to_owned)
        .into()
}

/// The ablation of networks, cumulative, in the source's order.
fn networks(machine: &Spec, programs: &Programs) -> Result<Experiment> {
    let switches = ["pe_chain", "bank_network", "chip_network", "remap"];
    let names = ["none of them", "with PE chain", "and bank network", "and chip network", "and remapping"];
    let mut rows = Vec::new();
    for (with, name) in names.into_iter().enumerate() {
        let off: Vec<Change<'_>> = switches[with..].iter().map(|&switch| (switch, "off")).collect();
        rows.push(Setting { setting: name.into(), values: both(machine, programs, &off)? });
    }
    let about =
        "global row buffer, RowClone's bus, the host and one shape in their place; one limb in each of four groups"
            .into();
    Ok(Experiment { name: "networks, added one after the other".into(), about, columns: columns(), rows })
}

/// PEs a pair, and columns of a limb.
fn units(machine: &Spec, programs: &Programs) -> Result<Experiment> {
    let mut rows = Vec::new();
    for pes in ["2", "4", "8", "16", "32"] {
        rows.push(Setting { setting: format!("{pes} PEs a pair"), values: both(machine, programs, &[("pes", pes)])? });
    }
    for poly_col in ["8", "16", "32", "64", "128", "256", "auto"] {
        let values = both(machine, programs, &[("poly_col", poly_col)])?;
        rows.push(Setting { setting: format!("poly_col {poly_col}"), values });
    }
    let about =
        "8 chips; a PE keeps 32 coefficients of a limb, so other numbers of PEs divide banks in other ways".into();
    Ok(Experiment { name: "PEs and shapes".into(), about, columns: columns(), rows })
}

/// Chips and DIMMs. Numbers of chips that have no room for the program have no row; the table's line says why.
fn chips(machine: &Spec, programs: &Programs) -> Result<Experiment> {
    let mut rows = Vec::new();
    let mut about = "operations on polynomials go where they are done first, in one DIMM or in all".to_owned();
    for (chips, dimms) in [("1", "1"), ("2", "1"), ("4", "1"), ("8", "2"), ("16", "4")] {
        let many = |count: &str, what: &str| format!("{count} {what}{}", if count == "1" { "" } else { "s" });
        let setting = format!("{} in {}", many(chips, "chip"), many(dimms, "DIMM"));
        match both(machine, programs, &[("dimms", dimms), ("chips", chips)]) {
            Ok(values) => rows.push(Setting { setting, values }),
            Err(MachineError::Value { key, wanted, .. }) if key == "system.chips" => {
                about += &format!("; {setting}: {wanted}");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Experiment { name: "chips".into(), about, columns: columns(), rows })
}

/// What the source leaves open.
fn readings(machine: &Spec, programs: &Programs) -> Result<Experiment> {
    let all: [(&str, &[Change<'_>]); 6] = [
        ("as it is", &[]),
        ("timing=figure", &[("timing", "figure")]),
        ("limb_banks=64", &[("limb_banks", "64")]),
        ("bank network a link", &[("assumed.bank_network_of", "link")]),
        ("bank network of all", &[("assumed.bank_network_of", "system")]),
        ("rows=stride-1", &[("rows", "stride-1")]),
    ];
    let mut rows = Vec::new();
    for (setting, changes) in all {
        rows.push(Setting { setting: setting.into(), values: both(machine, programs, changes)? });
    }
    let about = "each by itself".into();
    Ok(Experiment { name: "readings".into(), about, columns: columns(), rows })
}

/// Published shapes of TFHE on two chips.
fn sets(machine: &Spec) -> Result<Experiment> {
    let mut rows = Vec::new();
    for set in ["strix-I-32", "strix-II-32", "strix-III-32", "strix-IV-32"] {
        let graph = rotations(set, BATCH)?;
        let timed = report(machine, &graph, &[("chips", "2")])?;
        let busy = |name: &str| of_work(&timed, name);
        let values = vec![
            to_f64(BATCH as u64) / timed.seconds,
            1e3 * timed.seconds,
            to_f64(graph.counts().products()) / 1e9,
            busy("near-memory bandwidth"),
            busy("PE chain"),
            busy("LISA"),
            busy("bank network"),
        ];
        rows.push(Setting { setting: set.into(), values });
    }
    let names = ["a second", "ms", "10^9 products", "near memory, %", "PE chain, %", "LISA, %", "bank network, %"];
    let about = format!("{BATCH} bootstrappings in one batch on 2 chips, LWE key switch included");
    Ok(Experiment { name: "sets of TFHE".into(), about, columns: names.map(str::to_owned).into(), rows })
}
