//! The machine that counts: exact operations and bytes of a blind rotation, by operator; and the same on the CPU model.

use limbwise_device::{
    Basis, Device, Domain, Gadget, Ggsw, KeyId, LweShape, LweSwitchKey, Null, RingSpec, Role, Shape,
};
use limbwise_graph::{Graph, Recorder};
use limbwise_machines::{Report, Spec, report::Operator, time};
use limbwise_math::prime::ntt_primes_below;

const STEPS: u64 = 3;
const ENTRIES: u64 = 2;
const N: u64 = 1 << 10;

/// Three steps of two digits for two entries at N = 2^10, after a switch from 8 words of two digits to 3.
pub(crate) fn rotation(prime_bits: u32) -> Graph {
    let dev = Recorder::new(Null::default());
    let primes = ntt_primes_below(10, prime_bits, 1, &[]).unwrap();
    let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
    let gadget = Gadget { base_log: 5, levels: 2 };
    let (steps, batch) = (usize::try_from(STEPS).unwrap(), usize::try_from(ENTRIES).unwrap());
    let key = Shape { batch: steps, ..Shape::eval(&ring, Basis::single(0)) };
    let part = |_| dev.upload(&key, Role::BootstrapKey(KeyId(1)), &|_, _| unreachable!());
    let rows = (0..4).map(|_| (0..2).map(part).collect()).collect();
    let wide = LweShape { dimension: 8, modulus: 2048, batch };
    let wide = dev.upload_lwe(wide, Role::Ciphertext, &|_, _| unreachable!());
    let switch = LweShape { dimension: steps, modulus: 2048, batch: 16 };
    let switch = dev.upload_lwe(switch, Role::EvaluationKey(KeyId(0)), &|_, _| unreachable!());
    let narrow = dev.lwe_key_switch(&wide, &LweSwitchKey { gadget, rows: switch });
    let test = Shape::eval(&ring, Basis::single(0)).with_domain(Domain::Coeff);
    let test = dev.upload(&test, Role::Plaintext, &|_, _| unreachable!());
    let out = dev.blind_rotate(&test, &narrow, &Ggsw { gadget, rows });
    let graph = dev.graph();
    drop(out);
    graph
}

fn counted(overrides: &[(&str, &str)]) -> Report {
    time(&rotation(32), &Spec::load("counts").unwrap().with_overrides(overrides).unwrap()).unwrap()
}

fn operator<'a>(report: &'a Report, name: &str) -> &'a Operator {
    report.operators.iter().find(|o| o.name == name).unwrap()
}

#[test]
fn operators_of_a_blind_rotation_have_exact_counts() {
    let report = counted(&[]);
    let (transform, limb) = (N / 2 * 10, 8 * N);
    let of = |name| operator(&report, name);
    let names: Vec<&str> = report.operators.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["ntt", "intt", "ep", "lwe_key_switch", "ps", "decomp"]);
    let entries = STEPS * ENTRIES;
    assert_eq!(of("ntt").multiplications, entries * 4 * transform);
    assert_eq!(of("ntt").additions, entries * 8 * transform);
    assert_eq!(of("intt").multiplications, entries * 2 * transform);
    assert_eq!((of("ep").multiplications, of("ep").additions), (entries * 8 * N, entries * 6 * N));
    assert_eq!((of("decomp").multiplications, of("decomp").additions), (0, entries * 4 * N));
    assert_eq!(of("lwe_key_switch").multiplications, ENTRIES * 16 * (STEPS + 1));
    let products: u64 = report.operators.iter().map(|o| o.multiplications).sum();
    assert_eq!(report.products, products, "operators add up to the program");

    // The key is read once for all entries, everything else for each.
    let ep = of("ep");
    assert_eq!(ep.read_bytes["bootstrap_key"], STEPS * 8 * limb);
    assert_eq!((ep.read_bytes["temporary"], ep.written_bytes), (entries * 14 * limb, entries * 8 * limb));
    assert_eq!(
        (of("decomp").read_bytes["temporary"], of("decomp").written_bytes),
        (entries * 2 * limb, entries * 4 * limb)
    );
    assert_eq!((of("ntt").bytes(), of("intt").bytes()), (entries * 8 * limb, entries * 4 * limb));
    // A rotation reads an exponent, not the ciphertext that it is a word of.
    let (rotations, exponents) = (2 * entries * limb, 8 * (2 * entries + ENTRIES));
    let sums = 4 * entries * limb + 4 * entries * limb;
    assert_eq!(of("ps").read_bytes["temporary"], rotations + exponents + sums);
    assert_eq!(of("ps").read_bytes["plaintext"], limb);
    assert_eq!(of("ps").moved_words, (ENTRIES + 2 * entries) * N);
    assert_eq!((report.seconds, report.regions.len()), (0.0, 0));
    let half = counted(&[("word_bytes", "4")]);
    assert_eq!(operator(&half, "ep").bytes() * 2, ep.bytes());
    let text = report.to_string();
    assert!(text.contains("nothing takes time") && text.contains("decomp"), "{text}");
}

#[test]
fn the_cpu_times_a_rotation_by_its_own_rates() {
    let numbers = r#"
extends = "cpu"
[rotation]
key_gb_s = 8.192
[rotation.short]
digit_ns_per_limb = [1000, 1, 1, 1, 1, 1, 1, 1]
component_ns_per_limb = [300, 1, 1, 1, 1, 1, 1, 1]
[memory]
copy_gb_s = 1e9
all_threads_gb_s = 1e9
[lwe]
product_term_ns = 100
[assumed]
node_ns = { value = 0.001, reason = "next to nothing, for the test" }
"#;
    let seconds = |overrides: &[(&str, &str)]| {
        let spec = Spec::from_toml(numbers, "test").unwrap().with_overrides(overrides).unwrap();
        time(&rotation(48), &spec).unwrap().seconds * 1e9
    };
    let key = (STEPS * 8 * 8 * N) as f64 / 8.192;
    let switch = 100.0 * (ENTRIES * 16 * (STEPS + 1)) as f64;
    let steps = (STEPS * ENTRIES) as f64 * (4.0 * 1000.0 + 2.0 * 300.0);
    let close = |got: f64, wanted: f64| assert!((got - wanted).abs() < 1.0, "{got}, wanted {wanted}");
    close(seconds(&[]), steps + key + switch);
    close(seconds(&[("threads", "2")]), steps / 2.0 + key + switch / 2.0);
    close(seconds(&[("threads", "8")]), steps / 2.0 + key + switch / 2.0);
}

#[test]
fn ark_says_what_it_cannot_do() {
    let error = time(&rotation(48), &Spec::load("ark").unwrap()).unwrap_err().to_string();
    assert_eq!(
        error,
        "machine \"ark\" has no unit for lwe_decompose (node 10 of the program): no unit of its file does \"lwe\"; choose a \
         machine that runs TFHE, as cpu, or counts"
    );
}
