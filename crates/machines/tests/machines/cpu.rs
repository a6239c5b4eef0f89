//! The CPU model: a sum of calibrated costs.

use crate::programs::{self, input, open};
use limbwise_device::{Basis, Device, Domain, Region, Role, Shape};
use limbwise_graph::Graph;
use limbwise_machines::{Report, Spec, check::check, machine, time};

const NUMBERS: &str = r#"
extends = "cpu"
[short]
transform_ns_per_limb = [1, 2, 3, 4, 5, 6, 50000, 8]
mul_gb_s = 10
add_gb_s = 20
convert_term_ns = 0.5
[long]
transform_ns_per_limb = [10, 20, 30, 40, 50, 60, 500000, 80]
mul_gb_s = 1
add_gb_s = 2
convert_term_ns = 5
[memory]
copy_gb_s = 8
permute_gb_s = 4
all_threads_gb_s = 1000
[assumed]
node_ns = { value = 100, reason = "a round number for the test" }
"#;

fn cpu(overrides: &[(&str, &str)]) -> Spec {
    Spec::from_toml(NUMBERS, "test").unwrap().with_overrides(overrides).unwrap()
}

fn seconds(graph: &Graph, overrides: &[(&str, &str)]) -> f64 {
    let spec = cpu(overrides);
    let machine = machine::open(&spec).unwrap();
    assert_eq!(check(graph, &*machine, &machine.schedule(graph).unwrap()), Ok(()));
    let report = time(graph, &spec).unwrap();
    assert_eq!(limbwise_machines::seconds(graph, &spec).unwrap(), report.seconds, "without a schedule");
    report.seconds
}

/// Transform, conversion of 2 limbs to 2, product, sum, automorphism of three limbs each at N = 2^16.
fn sample() -> Graph {
    let (dev, ring) = open(16, 4);
    let a = input(&dev, &ring, 2, Role::Ciphertext);
    let coeff = dev.intt(a.clone());
    let converted = dev.basis_convert(&coeff, Basis::range(2, 4));
    let b = dev.mul(&a, &a);
    let c = dev.add(&b, &a);
    let d = dev.automorphism(&c, limbwise_math::galois::GaloisElement::conjugation(16));
    let graph = dev.graph();
    drop((converted, d));
    graph
}

#[test]
fn seconds_are_the_sum_of_costs() {
    let word = f64::from(1 << 16);
    let limb = 8.0 * word;
    // The program holds on to what it transforms, so two limbs are copied first.
    let copied = 4.0 * limb / 8.0;
    let mul_and_add = |mul: f64, add: f64| copied + 6.0 * limb / mul + 6.0 * limb / add;
    let short = 2.0 * 50_000.0 + 4.0 * word * 0.5 + mul_and_add(10.0, 20.0) + 4.0 * limb / 4.0 + 5.0 * 100.0;
    let close =
        |got: f64, wanted_ns: f64| assert!((got * 1e9 - wanted_ns).abs() < 0.02, "{got} s, wanted {wanted_ns} ns");
    close(seconds(&sample(), &[]), short);
    let long = 2.0 * 500_000.0 + 4.0 * word * 5.0 + mul_and_add(1.0, 2.0) + 4.0 * limb / 4.0 + 5.0 * 100.0;
    close(seconds(&sample(), &[("host.short_bits", "40")]), long);
    close(seconds(&sample(), &[("host.threads", "2")]), (short - 500.0) / 2.0 + 500.0);
    close(seconds(&sample(), &[("host.threads", "8")]), (short - 500.0) / 2.0 + 500.0); // two limbs, two threads
}

#[test]
fn a_report_says_what_bounds_the_time() {
    let bounds = |overrides: &[(&str, &str)]| {
        let report = time(&sample(), &cpu(overrides)).unwrap();
        let parts = report.critical_path["cpu"].clone();
        let sum: f64 = parts.values().sum();
        assert!((sum / report.seconds - 1.0).abs() < 1e-6, "{parts:?} are {} s", report.seconds);
        move |part: &str| parts.get(part).map_or(0.0, |seconds| seconds / sum)
    };
    let waiting = "too few rows for all threads";
    let one = bounds(&[]);
    assert_eq!((one("arithmetic") > 0.5, one(waiting), one("calls") > 0.0), (true, 0.0, true));
    let eight = bounds(&[("host.threads", "8")]);
    // Two rows on eight threads: six of them wait, for three times what the arithmetic would take on all.
    assert!((eight(waiting) / eight("arithmetic") - 3.0).abs() < 1e-9);
    assert!(bounds(&[("memory.all_threads_gb_s", "0.01")])("memory") > 0.99);
}

#[test]
fn memory_bounds_all_threads() {
    let bytes = f64::from(8 << 16) * (2.0 + 2.0 + 2.0 + 2.0 + 6.0 + 6.0 + 4.0);
    let got = seconds(&sample(), &[("memory.all_threads_gb_s", "0.01")]);
    let copied = 4.0 * f64::from(8 << 16) / 8e9;
    assert!((got - copied - bytes / 1e7 - 5e-7).abs() < 1e-9);
}

#[test]
fn a_correction_is_of_its_kind_and_size() {
    let limb = 8.0 * f64::from(1 << 16);
    let product = (6.0 * limb / 10.0 + 100.0) * 1e-9;
    let more = |factors: &str| seconds(&sample(), &[("correction.mul", factors)]) - seconds(&sample(), &[]);
    // Two rows are as many as the smallest measured size.
    assert!((more("[3.0, 1.0, 1.0]") - 2.0 * product).abs() < 1e-11);
    assert!(more("[1.0, 3.0, 3.0]").abs() < 1e-11);
    let between = [("correction.rows", "[1.0, 4.0, 9.0]"), ("correction.mul", "[1.0, 3.0, 9.0]")];
    assert!(
        (seconds(&sample(), &between) - seconds(&sample(), &[]) - product).abs() < 1e-11,
        "in the middle of 1 and 4"
    );
    let refused = Spec::from_toml(NUMBERS, "test").unwrap().with_overrides(&[("correction.rows", "[4.0, 1.0, 9.0]")]);
    let told = refused.and_then(|spec| machine::open(&spec).map(|_| ())).unwrap_err().to_string();
    assert!(told.contains("ascending"), "{told}");
}

#[test]
fn bytes_beyond_the_cache_take_longer() {
    let limb = 8.0 * f64::from(1 << 16);
    let more = |more: &[(&str, &str)]| seconds(&sample(), more) - seconds(&sample(), &[]);
    // The input of two limbs is read once from memory; results have no room yet, five times two limbs.
    let read = more(&[("memory.read_beyond_gb_s", "1")]);
    assert!((read - 2.0 * limb * 1e-9).abs() < 1e-9, "{read}");
    let written = more(&[("memory.write_beyond_gb_s", "1")]);
    assert!((written - 10.0 * limb * 1e-9).abs() < 1e-9, "{written}");
    let all = more(&[("memory.read_beyond_gb_s", "1"), ("memory.cache_mb", "0.001")]);
    assert!(all > 3.0 * read, "nothing is near: {all}");
}

#[test]
fn what_is_encoded_where_it_is_used_takes_time_and_what_is_given_takes_none() {
    let uploaded = |encoded: bool| {
        let (dev, ring) = open(16, 2);
        let shape = Shape::eval(&ring, ring.full()).with_batch(3).with_domain(Domain::Coeff);
        let region = encoded.then(|| dev.region(Region::Encode, 0));
        drop(dev.ntt(dev.upload(&shape, Role::Plaintext, &|_, _| ())));
        drop(region);
        dev.graph()
    };
    let more = |numbers: &[(&str, &str)]| seconds(&uploaded(true), numbers) - seconds(&uploaded(false), numbers);
    let rates = [("encoding.embed_ns_per_coefficient", "10.0"), ("encoding.spread_gb_s", "4.0")];
    let (n, bytes) = (f64::from(1 << 16), 6.0 * f64::from(8 << 16));
    assert!((more(&rates) - (3.0 * n * 10.0 + bytes / 4.0) * 1e-9).abs() < 1e-9);
    // Three embeddings on two threads take as long as two.
    let two = [rates[0], rates[1], ("host.threads", "2")];
    assert!((more(&two) - (2.0 * n * 10.0 + bytes / 8.0) * 1e-9).abs() < 1e-9);
}

#[test]
fn regions_are_exact_and_fields_that_do_not_apply_are_absent() {
    let graph = programs::rotations(3);
    let report: Report = time(&graph, &cpu(&[])).unwrap();
    let steps: f64 = report.regions.iter().filter(|r| !r.path.contains('/')).map(|r| r.seconds).sum();
    assert!((steps - report.seconds).abs() < 1e-9);
    assert_eq!(report.utilization["cpu"], 1.0);
    let json = serde_json::to_value(&report).unwrap();
    let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        ["assumed", "bytes", "critical_path", "machine", "products", "regions", "seconds", "utilization"]
    );
}
