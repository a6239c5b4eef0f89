//! Traces go out and come back as the same operations, and what comes back costs what the program costs.

use limbwise::{
    Complex64,
    ckks::{
        Ciphertext, Packing, PlaintextForm, Promise, Series, Strategy,
        tensor::{Filters, Image, Padding},
    },
    params::{Insecure, Params, ParamsLiteral, Words},
    rlwe::KeyForm,
    scheme::{Ckks, Maps, Slots},
};
use limbwise_apps::{
    Array, Details, Evaluation, Program,
    data::Digits,
    helr::{
        client::{HelrClient, Options},
        data::{ImageOptions, generated_rows},
    },
    linear::{Task, client::LinearClient, data::generated},
    program::SlotsInput as Input,
};
use limbwise_device::{Device, Region};
use limbwise_graph::Graph;
use limbwise_machines::{Spec, time};
use limbwise_runtime::{
    exchange::{What, heracles, jsonl, listed, replay},
    record,
};

fn params() -> Params {
    // The sizes of primes that a trace is given back with: a trace itself does not tell them.
    let mut literal = ParamsLiteral::chain(12, 50, 45, 5, (50, 2), 3);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

/// Every operation that the format has, on a batch of two and a single ciphertext.
struct Circuit(Params);

impl Program for Circuit {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "circuit"
    }

    fn params(&self) -> &Params {
        &self.0
    }

    fn inputs(&self) -> Vec<Input> {
        let level = self.0.top_level();
        let packing = Packing { slots: self.0.max_slots(), level, scale: self.0.scale(level) };
        let bounds = Promise { magnitude: 0.5, peak: 1.0, real: false };
        vec![
            Input { name: "x".into(), batch: 1, packing, bounds },
            Input { name: "y".into(), batch: 1, packing, bounds },
        ]
    }

    fn model(&self) -> Maps<'_> {
        Maps::default()
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> limbwise::Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: Slots { auto, .. }, inputs, .. } = on;
        let (eval, [x, y]) = (auto.eval, inputs) else { unreachable!("two inputs") };
        let product = eval.relinearize(&eval.multiply(x, y)?)?;
        let product = eval.rescale(&product)?;
        let turned = eval.add(&eval.rotate(&product, 3)?, &eval.conjugate(&product)?)?;
        let square = eval.rescale(&eval.relinearize(&eval.square(&turned)?)?)?;
        let low = eval.drop_level(&square, 2)?;
        Ok(vec![eval.sub(&low, &eval.rotate(&low, -1)?)?])
    }

    fn arrays(&self, _: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        Vec::new()
    }

    fn details(&self) -> Details {
        Details::new()
    }
}

#[test]
fn a_trace_that_comes_back_is_the_same_program() {
    let program = Circuit(params());
    let operations = listed(&program).unwrap();
    let mut csv = Vec::new();
    heracles::write(&mut csv, &operations).unwrap();
    let trace = heracles::read(&csv[..]).unwrap();
    assert_eq!((trace.limbs, trace.special, trace.dnum, trace.log_n), (6, 2, 3, 12));
    let names = |line: &heracles::Line| -> Vec<String> {
        line.operands.iter().chain([&line.out]).map(|o| format!("{}-{}-{}", o.name, o.parts, o.limbs)).collect()
    };
    // Each operation here is one line there, with the same operands and results.
    let wanted = operations.list.iter().map(|o| {
        o.operands.iter().chain([&o.out]).map(|o| format!("{}-{}-{}", o.name, o.parts, o.limbs)).collect::<Vec<_>>()
    });
    assert_eq!(trace.lines.iter().map(names).collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    assert_eq!(trace.lines.len(), 11);

    let (own, back) =
        (record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap().graph, replay(&trace).unwrap());
    assert_eq!(back.counts(), own.counts());
    for machine in ["ark", "f1-scaled"] {
        let spec = Spec::load(machine).unwrap();
        let (own, back) = (time(&own, &spec).unwrap(), time(&back, &spec).unwrap());
        assert_eq!((back.cycles, back.bytes), (own.cycles, own.bytes), "{machine}");
    }
}

/// What a small program does.
#[derive(Clone, Copy)]
enum Does {
    /// A series, which makes products with what is added to them in one pass: of two operands here, with sums of its own.
    Series,
    /// Drops to a level with primes that the one above may lack, a product and its division.
    Drops,
}

struct Small(Circuit, Does);

impl Program for Small {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "small"
    }

    fn params(&self) -> &Params {
        self.0.params()
    }

    fn inputs(&self) -> Vec<Input> {
        self.0.inputs()
    }

    fn model(&self) -> Maps<'_> {
        Maps::default()
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> limbwise::Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: Slots { auto, .. }, inputs, .. } = on;
        match self.1 {
            Does::Series => {
                let coefficients = (1..=8).map(|i| 1.0 / f64::from(i)).collect();
                Ok(vec![auto.chebyshev(&inputs[0], &Series { coefficients, from: -1.0, to: 1.0 })?])
            }
            Does::Drops => {
                let (eval, [x, y]) = (auto.eval, inputs) else { unreachable!("two inputs") };
                let [x, y] = [eval.drop_level(x, 4)?, eval.drop_level(y, 4)?];
                Ok(vec![eval.rescale(&eval.relinearize(&eval.multiply(&x, &y)?)?)?])
            }
        }
    }

    fn arrays(&self, _: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        Vec::new()
    }

    fn details(&self) -> Details {
        Details::new()
    }
}

#[test]
fn what_is_added_to_a_product_has_lines_of_its_own() {
    let operations = listed(&Small(Circuit(params()), Does::Series)).unwrap();
    assert!(operations.list.iter().any(|o| o.out.name.starts_with("part")), "something was added to a product");
    for o in &operations.list {
        let factors = match o.what {
            What::Multiply => 2,
            What::Square => 1,
            _ => continue,
        };
        assert_eq!((o.operands.len(), o.out.parts), (factors, 3), "{o:?}");
    }
    let mut csv = Vec::new();
    heracles::write(&mut csv, &operations).unwrap();
    let trace = heracles::read(&csv[..]).unwrap();
    let back = replay(&trace).unwrap();
    let own =
        record(&Small(Circuit(params()), Does::Series), KeyForm::Stored, &limbwise_cpu::footprint()).unwrap().graph;
    assert_eq!(back.calls(Region::Tensor), own.calls(Region::Tensor));
}

#[test]
fn levels_of_a_set_with_words_are_named() {
    let mut literal = ParamsLiteral::chain(12, 50, 40, 5, (50, 3), 3);
    literal.words = Some(Words { bits: 50, short: vec![30, 30, 40] });
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let params = Params::new(&literal).unwrap();
    let operations = listed(&Small(Circuit(params.clone()), Does::Drops)).unwrap();
    let kinds: Vec<&What> = operations.list.iter().map(|o| &o.what).collect();
    let drop = &What::MultiplyRescaled;
    assert_eq!(kinds, [drop, drop, &What::Multiply, &What::Relinearize, &What::Rescale]);
    let mut lines = Vec::new();
    jsonl::write(&mut lines, &operations).unwrap();
    let lines: Vec<serde_json::Value> =
        String::from_utf8(lines).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let levels: Vec<Vec<usize>> = serde_json::from_value(lines[0]["levels"].clone()).unwrap();
    let primes: Vec<Vec<usize>> = (0..=5).map(|level| params.basis(level).iter().collect()).collect();
    assert_eq!(levels, primes);
    assert!(
        levels[4].iter().any(|prime| !levels[5].contains(prime)),
        "level 4 has a prime that level 5 lacks: {levels:?}"
    );
    for line in &lines[1..] {
        for value in line["in"].as_array().unwrap().iter().chain([&line["out"]]) {
            let level = usize::try_from(value["level"].as_u64().unwrap()).unwrap();
            assert_eq!(value["limbs"], levels[level].len(), "{line}");
        }
    }
    let at = |line: usize, value: &str| lines[line][value]["level"].as_u64();
    assert_eq!((lines[1]["in"][0]["level"].as_u64(), at(1, "out"), at(5, "out")), (Some(5), Some(4), Some(3)));
    let mut csv = Vec::new();
    let refused = heracles::write(&mut csv, &operations).unwrap_err().to_string();
    assert!(refused.contains("levels 4 and 5 have as many"), "{refused}");
    assert!(csv.is_empty());
}

#[test]
fn a_map_is_written_as_its_rotations() {
    let filters = Filters::new([2, 3, 3, 3], generated(0, 0, 54, 0.2), vec![0.5, -0.5], 1, Padding::Same).unwrap();
    let image = Image::new([3, 8, 8], generated(0, 1, 192, 1.0)).unwrap();
    let (layer, _) = LinearClient::sides(&params(), 4, &Task::Convolution { filters, image }).unwrap();
    let program = layer.with(Strategy::DoubleHoisted { babies: 8 }, PlaintextForm::Full);
    let operations = listed(&program).unwrap();
    let maps: Vec<_> = operations.list.iter().filter(|o| matches!(o.what, What::LinearMap { .. })).collect();
    let [map] = &maps[..] else { panic!("one map: {:?}", operations.list) };
    let What::LinearMap { groups, .. } = &map.what else { unreachable!("it is one") };
    let diagonals: usize = groups.iter().map(|(_, babies)| babies.len()).sum();
    let mut csv = Vec::new();
    heracles::write(&mut csv, &operations).unwrap();
    let trace = heracles::read(&csv[..]).unwrap();
    let count =
        |wanted: fn(&heracles::Instruction) -> bool| trace.lines.iter().filter(|l| wanted(&l.instruction)).count();
    assert_eq!(count(|i| matches!(i, heracles::Instruction::MulPlain)), diagonals);
    let own = record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
    // Each rotation has its key in both; here they are whole, so there is more work.
    assert_eq!(count(|i| matches!(i, heracles::Instruction::Rotate(_))), own.keys.required.len());
    let back = replay(&trace).unwrap();
    assert!(back.counts().transformed_limbs > own.graph.counts().transformed_limbs);
    assert!(back.counts().elementwise_products >= own.graph.counts().elementwise_products / 2);

    let mut lines = Vec::new();
    jsonl::write(&mut lines, &operations).unwrap();
    let lines: Vec<serde_json::Value> =
        String::from_utf8(lines).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines[0]["operations"], lines.len() - 1);
    assert!(lines.iter().any(|l| l["kind"] == "linear_map" && l["groups"].as_array().unwrap().len() == groups.len()));
}

/// Sums over the eight slots of a place, a doubling and a step of four terms, and over 32 rows, with two such steps.
#[test]
fn a_sum_is_written_as_its_rotations() {
    let mut literal = ParamsLiteral::chain(11, 50, 40, 8, (50, 3), 3);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let images = ImageOptions { digits: Digits { negative: 3, positive: 8 }, test_share: 0.2, seed: 1 };
    let training =
        Options { batch_rows: 128, iterations: 2, bootstrap_every: 3, degree: 3, interval: 8.0, learning_rate: 1.0 };
    let rows = generated_rows(4, 250, &images).unwrap();
    let (program, _) = HelrClient::sides(&Params::new(&literal).unwrap(), rows, training).unwrap();
    let operations = listed(&program).unwrap();
    let sums = operations.list.iter().filter_map(|o| match &o.what {
        What::RotatedSum(steps) => Some(steps),
        _ => None,
    });
    let sums: Vec<_> = sums.collect();
    assert_eq!(sums.iter().map(|steps| steps.len()).collect::<Vec<_>>(), [2, 1, 1, 2]);
    assert!(sums.iter().all(|steps| steps.iter().all(|step| step.len() == 3)), "{sums:?}");
    let mut csv = Vec::new();
    heracles::write(&mut csv, &operations).unwrap();
    let trace = heracles::read(&csv[..]).unwrap();
    let rotated = trace.lines.iter().filter(|l| matches!(l.instruction, heracles::Instruction::Rotate(_))).count();
    let alone = operations.list.iter().filter(|o| matches!(o.what, What::Galois(_))).count();
    assert_eq!(rotated, alone + 3 * 6);
    assert!(replay(&trace).is_ok());
    let mut lines = Vec::new();
    jsonl::write(&mut lines, &operations).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let written: Vec<_> =
        lines.filter(|line| line["kind"] == "rotated_sum").map(|line| line["steps"].clone()).collect();
    assert_eq!(written, sums.iter().map(|steps| serde_json::json!(steps)).collect::<Vec<_>>());
}

#[test]
fn what_a_trace_reads_must_be_there() {
    let read = |text: &str| replay(&heracles::read(text.as_bytes()).unwrap()).map_err(|e| e.to_string());
    let line = "add,CKKS,1024,4,c-2-3,a-2-3,b-2-3\n";
    assert!(read(line).is_ok());
    let higher =
        format!("add,CKKS,1024,4,c-2-2,a-2-2,b-2-2\n{line}add,CKKS,1024,4,d-2-3,c-2-3,a-2-3\n").replacen(line, "", 1);
    assert!(read(&higher).unwrap_err().starts_with("line 2: c has 2 polynomials of 2 primes"), "{higher}");
    let plain = "mul_plain,CKKS,1024,4,c-2-3,a-2-3,p-1-3\nadd,CKKS,1024,4,d-2-3,c-2-3,p-2-3\n";
    assert!(read(plain).unwrap_err().contains("line 2: p is a plaintext"), "{plain}");
    // A name that is given again is another value, and rotations by the identity are none.
    let again =
        "rotate,CKKS,1024,4,a-2-3,a-2-3,1\nrotate,CKKS,1024,4,a-2-2,a-2-2,5\nadd,CKKS,1024,4,a-2-2,a-2-2,a-2-2\n";
    let graph = read(again).unwrap();
    assert_eq!(graph.counts().permuted_words, 2 * 2 * 1024);
}

/// Traces in the form of the published ones.
const PRODUCT_TURNED: &str = include_str!("traces/bgv_product_turned.csv");
const TRANSFORMS: &str = include_str!("traces/bgv_transforms.csv");
const CKKS_PRODUCT: &str = include_str!("traces/ckks_product.csv");

fn replayed(text: &str) -> Result<Graph, String> {
    let trace = heracles::read(text.as_bytes()).map_err(|e| e.to_string())?;
    replay(&trace).map_err(|e| e.to_string())
}

#[test]
fn traces_are_timed_on_every_machine_that_takes_them() {
    for text in [PRODUCT_TURNED, TRANSFORMS, CKKS_PRODUCT] {
        let graph = replayed(text).unwrap();
        for machine in ["ark", "f1-scaled", "fab", "cpu", "cuda", "flexmem", "counts"] {
            let report = time(&graph, &Spec::load(machine).unwrap()).unwrap();
            assert!(machine == "counts" || report.seconds > 0.0, "{machine}: {text}");
        }
    }
}

#[test]
fn transforms_by_themselves_are_transforms_of_every_polynomial() {
    let counts = replayed(TRANSFORMS).unwrap().counts();
    assert_eq!((counts.transformed_limbs, counts.elementwise_products), (4, 0));
    let line = |name: &str| format!("{name},BGV,16384,4,b-3-3,a-3-3\n");
    assert_eq!(replayed(&line("ntt")).unwrap().counts().transformed_limbs, 9);
    // A value stands in one domain, and instructions say which they take.
    let twice = "intt,BGV,16384,4,b-2-3,a-2-3\nintt,BGV,16384,4,c-2-3,b-2-3\n";
    assert_eq!(replayed(twice).unwrap_err(), "line 2: b is in coefficient domain already");
    let product = "intt,BGV,16384,4,b-2-3,a-2-3\nmul,BGV,16384,4,c-3-3,b-2-3,d-2-3\n";
    assert!(replayed(product).unwrap_err().starts_with("line 2: b is in coefficient domain: this instruction"));
    let sum = "intt,BGV,16384,4,b-2-3,a-2-3\nadd,BGV,16384,4,c-2-3,a-2-3,b-2-3\n";
    assert_eq!(replayed(sum).unwrap_err(), "line 2: a and b are in different domains: ntt or intt one of them first");
}

/// BGV divides to a multiple of t, so its division and its key switches cost more than those of CKKS.
#[test]
fn a_trace_of_bgv_is_recorded_as_bgv() {
    let lines = |scheme: &str| {
        let fields = format!("{scheme},16384,7");
        format!("mul,{fields},c-3-6,a-2-6,b-2-6\nrelin,{fields},d-2-6,c-3-6\nmod_switch,{fields},e-2-5,d-2-6\n")
    };
    let [ckks, bgv] = ["CKKS", "BGV"].map(|scheme| replayed(&lines(scheme)).unwrap().counts());
    assert_eq!(bgv.transformed_limbs, ckks.transformed_limbs);
    assert!(bgv.elementwise_products > ckks.elementwise_products, "{bgv:?} {ckks:?}");
    // Three polynomials stay three where the trace says so.
    let three = replayed("mod_switch,BGV,16384,7,b-3-5,a-3-6\n").unwrap();
    let two = replayed("mod_switch,BGV,16384,7,b-2-5,a-2-6\n").unwrap();
    assert_eq!(three.counts().transformed_limbs * 2, two.counts().transformed_limbs * 3);
    for degree in [1024u32, 32768, 65536] {
        for name in ["mod_switch", "ntt"] {
            let limbs = if name == "ntt" { 2 } else { 1 };
            replayed(&format!("{name},BGV,{degree},3,b-2-{limbs},a-2-2\n")).unwrap();
        }
    }
}
