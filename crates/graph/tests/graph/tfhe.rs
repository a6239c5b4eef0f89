//! Blind rotation on the recorder: primitives in named regions, the keys' roles, sizes, memory, the file.

use limbwise_device::{
    Device, Domain, Gadget, Ggsw, KeyId, LweShape, LweSwitchKey, Null, RingSpec, Role, Rounding, Shape,
};
use limbwise_graph::{Graph, Op, Recorder};
use limbwise_math::prime::ntt_primes_below;

const STEPS: usize = 630;

/// Key switch, modulus switch, blind rotation, extraction of a batch of 4: N = 1024, three digits.
fn bootstrap<D: Device>(dev: &D) -> D::Lwe {
    let ring = dev.ring(&RingSpec { log_n: 10, primes: ntt_primes_below(10, 48, 1, &[]).unwrap() }).unwrap();
    let q = ring.moduli()[0].value();
    let shape = Shape::eval(&ring, ring.full());
    let gadget = Gadget { base_log: 8, levels: 3 };
    let part = || dev.upload(&shape.with_batch(STEPS), Role::BootstrapKey(KeyId(7)), &|_, _| unreachable!());
    let key = Ggsw { gadget, rows: (0..6).map(|_| vec![part(), part()]).collect() };
    let lwe = |dimension, modulus, batch, role| {
        dev.upload_lwe(LweShape { dimension, modulus, batch }, role, &|_, _| unreachable!())
    };
    let rows = lwe(STEPS, 1 << 32, 1024 * 4, Role::EvaluationKey(KeyId(8)));
    let switch = LweSwitchKey { gadget: Gadget { base_log: 4, levels: 4 }, rows };
    let input = lwe(1024, q, 4, Role::Ciphertext);
    let test = dev.upload(&shape.with_domain(Domain::Coeff), Role::Plaintext, &|_, _| unreachable!());
    let small = dev.lwe_key_switch(&dev.lwe_mod_switch(&input, 1 << 32, Rounding::Nearest), &switch);
    let exponents = dev.lwe_scale(&dev.lwe_mod_switch(&small, 2048, Rounding::CenteredForBinary), 2047);
    let acc = dev.blind_rotate(&test, &exponents, &key);
    dev.sample_extract(&acc.iter().collect::<Vec<_>>(), &[0])
}

fn recorded() -> (Graph, u64) {
    let dev = Recorder::new(Null::default());
    let result = bootstrap(&dev);
    let peak = dev.inner().meter().peak_bytes();
    let graph = dev.finish();
    drop(result);
    (graph, peak)
}

#[test]
fn work_stands_in_the_regions_of_its_operators() {
    let (graph, _) = recorded();
    let counts = graph.counts_by_region();
    let of = |name: &str| {
        let path = graph.region_paths().iter().position(|p| p == name).unwrap_or_else(|| panic!("no region {name}"));
        counts[path]
    };
    let n = 1024;
    let steps = 4 * STEPS as u64;
    let product = "blind_rotate/external_product";
    assert_eq!(of(&format!("{product}/decomp")).added_words, steps * 6 * n);
    assert_eq!(of(&format!("{product}/ntt")).transformed_limbs, steps * 6);
    assert_eq!(of(&format!("{product}/ep")).elementwise_products, steps * 12 * n);
    assert_eq!(of(&format!("{product}/intt")).transformed_limbs, steps * 2);
    assert_eq!(of("blind_rotate/ps").added_words, steps * 4 * n);
    assert_eq!(of("lwe_key_switch").elementwise_products, 4 * 4096 * (STEPS as u64 + 1));
}

#[test]
fn keys_have_their_roles_and_bytes() {
    let (graph, _) = recorded();
    let traffic = graph.traffic();
    let row = 8 << 10;
    assert_eq!(traffic.bootstrap_keys.declared, 12 * STEPS as u64 * row);
    assert_eq!(traffic.bootstrap_keys.read, traffic.bootstrap_keys.declared, "each element read once for the batch");
    assert_eq!(traffic.evaluation_keys.declared, 8 * 4096 * (STEPS as u64 + 1));
    assert_eq!(traffic.keys[0].key, 8);
    let roles = graph.nodes().iter().filter(|node| node.role() == Role::BootstrapKey(KeyId(7))).count();
    assert_eq!(roles, 12);
}

#[test]
fn a_recording_is_light_and_its_memory_is_the_meters() {
    let (graph, peak) = recorded();
    let nodes = graph.nodes().len();
    assert!(graph.node_bytes() <= 48 * nodes, "{} bytes for {nodes} nodes", graph.node_bytes());
    assert!(graph.node_bytes() < 2 << 20, "{} bytes for a bootstrapping", graph.node_bytes());
    assert_eq!(graph.peak_live_bytes(), peak);
    let rotations = graph.nodes().iter().filter(|node| node.op() == Op::MonomialMul).count();
    assert_eq!(rotations, 1 + 2 * STEPS);
}

#[test]
fn the_file_brings_it_back() {
    let (graph, _) = recorded();
    let mut file = Vec::new();
    graph.write_jsonl(&mut file).unwrap();
    assert_eq!(Graph::read_jsonl(&file[..]).unwrap(), graph);
    let text = String::from_utf8(file).unwrap();
    let wrong = [
        (r#""modulus":2048,"#, r#""modulus":1024,"#, "not the shape of its result"),
        (r#""word":0,"#, r#""word":631,"#, "not the shape of its result"),
        (r#""role":"bootstrap_key","#, r#""role":"bootstrapping","#, "is wanted"),
        (r#""op":"decompose""#, r#""op":"ntt""#, "only the domain changes"),
        (r#""op":"lwe_product""#, r#""op":"lwe_add""#, "not the shape of its result"),
        (r#""dimension":630,"#, r#""dimension":0,"#, "at least 1"),
    ];
    for (from, to, problem) in wrong {
        assert!(text.contains(from), "{from}");
        let error = Graph::read_jsonl(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(problem), "{error} should say {problem}");
    }
}

#[test]
fn each_step_has_a_key_of_its_own() {
    let (graph, _) = recorded();
    let apart = graph.keys_apart();
    let keys = |graph: &Graph| graph.ids().filter(|&id| graph.node(id).role() == Role::BootstrapKey(KeyId(7))).count();
    assert_eq!((keys(&graph), keys(&apart)), (12, 12 * STEPS));
    assert_eq!(apart.counts(), graph.counts());
    assert_eq!(apart.traffic().bootstrap_keys, graph.traffic().bootstrap_keys);
    // What a step reads is no view of the whole key any more.
    let most = apart.ids().filter(|&id| apart.lwe_shape(id).is_none()).map(|id| apart.shape(id).batch).max();
    assert_eq!(most, Some(12), "three digits of a batch of four");
    assert_eq!(apart.keys_apart(), apart, "nothing is left to take apart");
}

#[test]
fn groups_of_a_batch_do_the_work_of_the_batch() {
    let (graph, _) = recorded();
    let rotations = |graph: &Graph| graph.nodes().iter().filter(|node| node.op() == Op::MonomialMul).count();
    for (asked, groups) in [(2, 2), (3, 2), (4, 4), (64, 4)] {
        let divided = graph.in_groups(asked);
        assert_eq!(divided.counts(), graph.counts(), "{asked} groups");
        assert_eq!(rotations(&divided), groups * rotations(&graph), "{asked} groups");
        assert_eq!(divided.traffic().bootstrap_keys.declared, graph.traffic().bootstrap_keys.declared);
        let mut file = Vec::new();
        divided.write_jsonl(&mut file).unwrap();
        // The reader checks shapes of operands, and that no value is used after it was dropped.
        assert_eq!(Graph::read_jsonl(&file[..]).unwrap().counts(), graph.counts());
    }
    assert_eq!(graph.in_groups(1), graph);
}
