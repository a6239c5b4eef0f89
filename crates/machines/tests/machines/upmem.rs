//! UPMEM: what DPUs take by hand-made slots, how ciphertexts and moduli share them, transfers, capacity, placement.

use limbwise_device::{Device, Domain, Null, Ring, RingSpec, Role, Shape};
use limbwise_graph::{Graph, NodeId, Recorder};
use limbwise_machines::{
    Machine, MachineError, Report, Spec, TaskKind,
    machine::{Slots, Upmem},
    time,
};
use limbwise_math::prime::ntt_primes_below;
use std::collections::BTreeMap;

/// Slots that are easy to count with: a transform takes 1000 and no DMA, all else 100 and 8 bytes each way.
const TABLE: &str = r#"
routines = { mul32_slots = 21, mul64_slots = 36, call_slots = 2, launch_slots = 0 }
kernel = [
    { name = "ntt", n = 1024, slots = 1000, hazards = 0, mul32 = 10, mul64 = 10, dma_reads = 0, dma_writes = 0, dma_read_bytes = 0, dma_write_bytes = 0 },
    { name = "intt", n = 1024, slots = 1100, hazards = 0, mul32 = 0, mul64 = 0, dma_reads = 0, dma_writes = 0, dma_read_bytes = 0, dma_write_bytes = 0 },
    { name = "mul", n = 1024, slots = 160, hazards = 0, mul32 = 0, mul64 = 0, dma_reads = 1, dma_writes = 1, dma_read_bytes = 8, dma_write_bytes = 8 },
    { name = "mul-acc", n = 1024, slots = 160, hazards = 16, mul32 = 0, mul64 = 0, dma_reads = 0, dma_writes = 0, dma_read_bytes = 0, dma_write_bytes = 0 },
    { name = "add", n = 1024, slots = 16, hazards = 0, mul32 = 0, mul64 = 0, dma_reads = 4, dma_writes = 2, dma_read_bytes = 8192, dma_write_bytes = 4096 },
    { name = "neg", n = 1024, slots = 8, hazards = 0, mul32 = 0, mul64 = 0, dma_reads = 16, dma_writes = 16, dma_read_bytes = 4096, dma_write_bytes = 4096 },
]
"#;

/// No host overheads, so that cycles are all.
const BARE: [(&str, &str); 2] = [("assumed.launch_ns", "0"), ("assumed.transfer_ns", "0")];

fn machine(changes: &[(&str, &str)]) -> Result<Upmem, MachineError> {
    let spec = Spec::load("upmem")?.with_overrides(&BARE)?.with_overrides(changes)?;
    Upmem::with_slots(&spec, Slots::parse(TABLE)?)
}

fn on(graph: &Graph, changes: &[(&str, &str)]) -> Report {
    let machine = machine(changes).unwrap();
    let schedule = machine.schedule(graph).unwrap();
    replay(graph, &schedule.program.tasks.iter().map(|t| (t.node, t.stage.kind)).collect::<Vec<_>>());
    let report = machine.report(graph, &schedule);
    let parts = report.compute_seconds.unwrap() + report.transfer_seconds.unwrap();
    assert!((report.seconds - parts).abs() < 1e-9 * parts, "nothing overlaps: {report}");
    report
}

/// Operations run in program order, after what they read.
fn replay(graph: &Graph, tasks: &[(NodeId, TaskKind)]) {
    let computed: Vec<NodeId> = tasks.iter().filter(|t| t.1 == TaskKind::Compute).map(|t| t.0).collect();
    assert!(computed.is_sorted_by(|a, b| a < b));
    assert!(computed.iter().all(|&id| !graph.node(id).op().is_view()));
}

fn ring(dev: &Recorder<Null>, log_n: u32, primes: usize, bits: u32) -> Ring {
    dev.ring(&RingSpec { log_n, primes: ntt_primes_below(log_n, bits, primes, &[]).unwrap() }).unwrap()
}

/// Which of the three steps.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Forward,
    All,
}

/// Pairs of ciphertexts: transforms, products, transforms back.
fn products(log_n: u32, primes: usize, batch: usize, steps: Steps) -> Graph {
    let dev = Recorder::new(Null::default());
    let ring = ring(&dev, log_n, primes, 27);
    let shape = Shape::eval(&ring, ring.full()).with_domain(Domain::Coeff).with_batch(batch);
    let read = || dev.ntt(dev.upload(&shape, Role::Ciphertext, &|_, _| unreachable!()));
    let [a0, a1] = [read(), read()];
    if steps == Steps::Forward {
        let graph = dev.graph();
        drop((a0, a1));
        return graph;
    }
    let [b0, b1] = [read(), read()];
    let mut middle = dev.mul(&a0, &b1);
    dev.mul_acc(&mut middle, &a1, &b0);
    let parts = [dev.mul(&a0, &b0), middle, dev.mul(&a1, &b1)];
    drop((a0, a1, b0, b1));
    let parts = parts.map(|part| dev.intt(part));
    let graph = dev.graph();
    drop(parts);
    graph
}

fn cycles(report: &Report) -> f64 {
    (report.compute_seconds.unwrap() * 400e6).round()
}

#[test]
fn one_tasklet_issues_every_eleventh_cycle_and_sixteen_every_one() {
    let forward = |batch, changes: &[(&str, &str)]| cycles(&on(&products(10, 1, batch, Steps::Forward), changes));
    let one = [("dpus", "1")];
    assert_eq!(forward(1, &one), 11.0 * 1000.0, "two tasklets");
    assert_eq!(forward(5, &one), 11.0 * 1000.0, "ten tasklets");
    assert_eq!(forward(6, &one), 12.0 * 1000.0, "twelve tasklets");
    assert_eq!(forward(8, &one), 16.0 * 1000.0, "sixteen tasklets");
    assert_eq!(forward(9, &one), 27.0 * 1000.0, "a wave of sixteen and one of two");
    assert_eq!(forward(8, &[("dpus", "2")]), 11.0 * 1000.0, "four ciphertexts a DPU");
    assert_eq!(forward(9, &[("dpus", "2")]), 11.0 * 1000.0, "five on the fuller one");
    assert_eq!(forward(1, &[("dpus", "1"), ("tasklets", "1")]), 22.0 * 1000.0);
    assert_eq!(
        forward(12, &[("dpus", "1"), ("version", "v1A"), ("tasklets", "24")]),
        (24.0 * 1000.0 * 400.0 / 350.0_f64).round()
    );
}

/// Element-wise operations: chunks of all sub-polynomials shared out, the engine for one of them at a time.
#[test]
fn the_slowest_of_pipeline_engine_and_tasklet_decides() {
    let dev = Recorder::new(Null::default());
    let ring = ring(&dev, 10, 1, 27);
    let shape = Shape::eval(&ring, ring.full()).with_batch(16);
    let read = || dev.upload(&shape, Role::Ciphertext, &|_, _| unreachable!());
    let (a, b) = (read(), read());
    let sum = dev.add(&a, &b);
    let graph = dev.graph();
    drop(sum);
    // Sixteen chunks; of each sixteenth four reads of 77 cycles, two writes of 61, 12288 bytes at two a cycle.
    let engine = ((4 * 77 + 2 * 61 + 6144) / 16) as f64;
    let chunks = 16.0 * 16.0;
    // The engine for each chunk, and once more for the sixteen with which tasklets begin.
    assert_eq!(cycles(&on(&graph, &[("dpus", "1")])), (chunks + 16.0) * engine);
    assert_eq!(cycles(&on(&graph, &[("dpus", "1"), ("tasklets", "1")])), chunks * (engine + 11.0) + engine);
}

#[test]
fn multiplications_can_be_cheaper_and_inlined() {
    let forward = |changes: &[(&str, &str)]| {
        cycles(&on(&products(10, 1, 8, Steps::Forward), &[&[("dpus", "1")][..], changes].concat())) / 16.0
    };
    assert_eq!(forward(&[]), 1000.0);
    assert_eq!(forward(&[("mul32_cycles", "4")]), 1000.0 - 10.0 * 17.0);
    assert_eq!(forward(&[("mul64_cycles", "2")]), 1000.0 - 10.0 * 34.0);
    assert_eq!(forward(&[("inline_mul", "true")]), 1000.0 - 20.0 * 2.0);
    let all = [("mul32_cycles", "1"), ("mul64_cycles", "1"), ("inline_mul", "true")];
    assert_eq!(forward(&all), 1000.0 - 10.0 * 22.0 - 10.0 * 37.0);
    assert_eq!(forward(&[("mul32_cycles", "100")]), 1000.0 + 10.0 * 79.0);
}

/// Three moduli: on six ranks two each, on two ranks one after the other; small batches leave no DPU idle.
#[test]
fn moduli_have_ranks_or_take_turns() {
    let graph = products(10, 3, 256, Steps::Forward);
    let waves = |changes: &[(&str, &str)]| cycles(&on(&graph, changes)) / 1000.0;
    assert_eq!(waves(&[("dpus", "384")]), 11.0, "128 DPUs a modulus, 4 sub-polynomials each");
    assert_eq!(waves(&[("dpus", "383")]), 11.0, "127 of one modulus, 6 sub-polynomials on the fullest");
    assert_eq!(waves(&[("ranks", "2")]), 3.0 * 11.0, "each on 128 DPUs in its turn");
    assert_eq!(waves(&[("dpus", "384"), ("moduli_order", "sequential")]), 3.0 * 11.0);
    assert_eq!(waves(&[("ranks", "2"), ("moduli", "2")]), 11.0);
    let few = products(10, 3, 64, Steps::Forward);
    assert_eq!(cycles(&on(&few, &[("ranks", "2")])) / 1000.0, 2.0 * 11.0, "two moduli at once, then the third");
}

#[test]
fn the_whole_operation_moves_operands_and_results_once() {
    let report = on(&products(10, 2, 64, Steps::All), &[("ranks", "2")]);
    let polynomial = 64 * 2 * 4 * 1024;
    assert_eq!(report.bytes["to_mram"].values().sum::<u64>(), 4 * polynomial);
    assert_eq!(report.bytes["from_mram"].values().sum::<u64>(), 3 * polynomial);
    // One ciphertext a DPU: 64 times 4 kB to each rank, side by side.
    let rank = 64.0 * 4096.0;
    let transfer = 4.0 * rank / 1.9e9 + 3.0 * rank / 0.8e9;
    assert!((report.transfer_seconds.unwrap() / transfer - 1.0).abs() < 1e-6);
    let prim = on(&products(10, 2, 64, Steps::All), &[("ranks", "2"), ("transfer_preset", "prim")]);
    let transfer = 4.0 * rank / 6.7e9 + 3.0 * rank / 4.7e9;
    assert!((prim.transfer_seconds.unwrap() / transfer - 1.0).abs() < 1e-6);
    assert!(
        prim.notes[0].contains("prim")
            && report.notes[0].contains("dramatic")
            && report.notes[0].contains("calibrated")
    );
    let direct = on(&products(10, 2, 64, Steps::All), &[("ranks", "2"), ("host_direct_access", "true")]);
    assert_eq!((direct.transfer_seconds, direct.compute_seconds), (Some(0.0), report.compute_seconds));
    let placed: u64 = report.placements.iter().map(|p| p.operations).sum();
    assert_eq!((placed, report.placements.iter().all(|p| p.on == "dpus")), (11, true));
}

/// By hand: 60 MB less two tables of twiddles and a header.
#[test]
fn a_batch_that_does_not_fit_says_what_does() {
    assert_eq!(machine(&[]).unwrap().capacity(4096), (60_000_000 - 64 - 2 * 16384) / 16384);
    let graph = |batch| products(12, 1, batch, Steps::Forward);
    let fits = usize::try_from(machine(&[]).unwrap().capacity(4096)).unwrap() / 2;
    let one = [("dpus", "1"), ("ranks", "1")];
    on(&graph(fits), &one);
    let error = machine(&one).unwrap().schedule(&graph(fits + 1)).unwrap_err().to_string();
    let wanted = format!("of DPU 0 of machine \"upmem\", which has {} for", 60_000_000 - 64 - 2 * 16384);
    assert!(error.contains(&wanted) && error.contains(&format!("about {fits} fit")), "{error}");
}

#[test]
fn what_does_not_go_together_is_refused_before_any_schedule() {
    for (changes, wanted) in [
        (&[("dpus", "0")][..], "from 1 to 10^6"),
        (&[("dpus", "2561")], "at most 2560 DPUs, which is what 40 ranks hold"),
        (&[("ranks", "41")], "at most 2560 DPUs"),
        (&[("dpus", "129"), ("ranks", "2")], "2 to 128 DPUs in 2 ranks"),
        (&[("tasklets", "17")], "at most 16 tasklets"),
        (&[("tasklets", "25"), ("version", "v1A")], "at most 24 tasklets"),
        (&[("transfer_preset", "drammatic")], "did you mean \"dramatic\"?"),
        (&[("offload", "whole")], "one of operation, stage"),
        (&[("version", "v2")], "one of v1A, v1B"),
        (&[("assumed.residue_bits", "33")], "1 to 32 bits"),
    ] {
        let error = machine(changes).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(wanted), "{changes:?}: {error}");
    }
}

/// A launch for each stage, words of 8 bytes, products by the native routine.
#[test]
fn stage_by_stage_is_slower_on_every_count() {
    let graph = products(10, 1, 64, Steps::All);
    let changes = |offload| [("dpus", "64"), ("offload", offload), ("assumed.launch_ns", "1000000000")];
    let (whole, stages) = (on(&graph, &changes("operation")), on(&graph, &changes("stage")));
    assert!(stages.transfer_seconds > whole.transfer_seconds);
    // One launch for the whole; for stages ten for each kind of transform and one for each other operation.
    let launches = stages.compute_seconds.unwrap().floor();
    assert_eq!((whole.compute_seconds.unwrap().floor(), launches), (1.0, 24.0));
}

/// Wide primes count as several residues, base conversion is the host's, and the report says both.
#[test]
fn levelled_programs_get_an_answer_with_its_conditions() {
    let graph = crate::programs::rotations(1);
    let report = on(&graph, &[("ranks", "40")]);
    let on_host: BTreeMap<&str, u64> =
        report.placements.iter().filter(|p| p.on == "host").map(|p| (p.operation.as_str(), p.operations)).collect();
    assert!(on_host.contains_key("basis_convert") && on_host.contains_key("automorphism"), "{on_host:?}");
    assert!(report.notes.iter().any(|n| n.contains("30 primes stand as 60 residues of 31 bits")), "{report}");
    assert!(report.bytes["from_mram"]["temporary"] > 0 && report.bytes["to_mram"]["evaluation_key"] > 0);
}

/// A cut may not be worse than either place alone, and DPUs that answer at once get everything they can do.
#[test]
fn a_hybrid_is_as_fast_as_its_better_half() {
    let graph = products(12, 3, 64, Steps::All);
    for changes in [
        &[][..],
        &[("ranks", "40")],
        &[("host_threads", "1")],
        &[("host_direct_access", "true"), ("host_threads", "1")],
    ] {
        let placed = |placement| on(&graph, &[&[("placement", placement)][..], changes].concat());
        let [hybrid, dpus, host] = ["hybrid", "dpus", "host"].map(placed);
        assert!(hybrid.seconds <= dpus.seconds.min(host.seconds), "{changes:?}");
        assert_eq!(host.transfer_seconds, Some(0.0));
    }
    // Conversions stay on the host and transforms go to whoever is faster: both places are used, and it pays.
    let rotation = crate::programs::rotations(1);
    let changes = [("ranks", "40"), ("host_direct_access", "true"), ("host_threads", "1")];
    let placed = |placement| on(&rotation, &[&[("placement", placement)][..], &changes].concat());
    let [hybrid, dpus, host] = ["hybrid", "dpus", "host"].map(placed);
    assert!(hybrid.seconds < dpus.seconds && hybrid.seconds < host.seconds);
}

/// A graph as long as a bootstrapping, on either side and by a cut: linear in its operations but for the cut.
#[test]
fn long_programs_are_quick() {
    let graph = crate::programs::rotations(60);
    for placement in ["dpus", "hybrid"] {
        let start = std::time::Instant::now();
        let report = on(&graph, &[("ranks", "40"), ("placement", placement)]);
        println!("{} nodes, {placement}: {:?}, {} s", graph.nodes().len(), start.elapsed(), report.seconds);
        assert!(report.seconds > 0.0);
    }
}

#[test]
fn the_whole_experiment_is_a_closed_form() {
    let graph = products(12, 4, 32768, Steps::All);
    let start = std::time::Instant::now();
    let report = time(&graph, &Spec::load("upmem").unwrap().with_overrides(&[("dpus", "383")]).unwrap()).unwrap();
    println!("32768 ciphertexts in {:?}: {report}", start.elapsed());
    assert!(report.notes.iter().any(|n| n.starts_with("3 moduli each modulus on ranks of its own")), "{report}");
}

/// Launches of real DPU programs, interpreted, beside the model with the table that such runs wrote.
#[test]
fn the_model_takes_what_the_interpreter_counts() {
    use limbwise_upmem::{Form, Preset, exact::Bench, kernels::frame::Operation};
    let q = limbwise_math::modulus::Modulus::new(ntt_primes_below(10, 27, 1, &[]).unwrap()[0]);
    let spec = Spec::load("upmem").unwrap().with_overrides(&BARE).unwrap();
    let spec = spec.with_overrides(&[("dpus", "1"), ("tasklets", "16")]).unwrap();
    for (operation, ciphertexts) in
        [(Operation::Ntt, 1), (Operation::Ntt, 8), (Operation::Intt, 9), (Operation::Mul, 2), (Operation::Add, 40)]
    {
        let dev = Recorder::new(Null::default());
        let ring = ring(&dev, 10, 1, 27);
        let shape = Shape::eval(&ring, ring.full()).with_batch(2 * ciphertexts);
        let coeff = shape.clone().with_domain(Domain::Coeff);
        let read = |shape| dev.upload(shape, Role::Ciphertext, &|_, _| unreachable!());
        let result = match operation {
            Operation::Ntt => dev.ntt(read(&coeff)),
            Operation::Intt => dev.intt(read(&shape)),
            Operation::Mul => dev.mul(&read(&shape), &read(&shape)),
            _ => dev.add(&read(&shape), &read(&shape)),
        };
        let graph = dev.graph();
        drop(result);
        let model = cycles(&time(&graph, &spec).unwrap());
        let mut bench = Bench::new(Preset::v1b(), Form::default(), q, 10).unwrap();
        let jobs = (0..2 * ciphertexts).map(|i| bench.job(operation, 3 * u32::try_from(i).unwrap(), 1)).collect();
        let exact = bench.run(&[(operation, jobs)], 16).unwrap().cycles as f64;
        println!("{operation:?}, {ciphertexts}: {model} cycles, interpreted {exact}");
        assert!(
            (model / exact - 1.0).abs() < 0.02,
            "{operation:?}, {ciphertexts}: {model} cycles, interpreted {exact}"
        );
    }
}

/// Memory that is left is no more than there is, buffers fit, and work draws no less than idleness.
#[test]
fn numbers_of_a_dpu_go_together() {
    let refused = |changes: &[(&str, &str)]| {
        let spec = Spec::load("upmem").unwrap().with_overrides(changes);
        spec.and_then(|spec| limbwise_machines::machine::open(&spec).map(drop)).unwrap_err().to_string()
    };
    assert!(refused(&[("dpu.mram_usable_mb", "65")]).contains("at most dpu.mram_mb = 64 is wanted, got 65"));
    assert!(refused(&[("dpu.v1b.wram_bytes", "16384")]).contains("field \"dma.most_bytes\": at most 1024 bytes"));
    assert!(refused(&[("power.busy_w", "100")]).contains("at least power.idle_w = 311 is wanted, got 100"));
    assert!(refused(&[("dpu.v1b.instructions", "4096")]).contains("has no field"));
}
