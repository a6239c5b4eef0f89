//! Costs by hand, errors by field, and schedules that units and links allow.

use super::{
    Flexmem,
    costs::Costs,
    flow::Flow,
    numbers::Numbers,
    permutation::Permutation,
    read::{Distribution, Read, Shapes},
    sweep::Cost,
    work::{Kind, Work},
};
use crate::{
    machine::Machine,
    program::{Edge, TaskKind},
    report::Report,
    scheduler::Schedule,
    spec::Spec,
};
use limbwise_device::{
    Basis, Device, Domain, Gadget, GadgetKey, Ggsw, KeyId, LweShape, LweSwitchKey, Null, RingSpec, Role, Shape,
};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_near};
use proptest::prelude::*;

const N: u64 = 1 << 16;

fn spec(changes: &[(&str, &str)]) -> Spec {
    Spec::load("flexmem").unwrap().with_overrides(changes).unwrap()
}

fn numbers(changes: &[(&str, &str)]) -> Numbers {
    Numbers::read(&spec(changes)).unwrap()
}

fn transform(limbs: u64) -> Work {
    Work { n: N, limbs, writes: limbs, words: limbs, kind: Kind::Transform { primes: limbs } }
}

fn cost(changes: &[(&str, &str)], work: &Work, shape: u64) -> Cost {
    let numbers = numbers(changes);
    Costs::new(&numbers).cost(work, shape)
}

/// One limb a group of banks: 32 words a PE, a row of 256 columns.
#[test]
fn a_product_is_its_visits() {
    let work =
        Work { n: N, limbs: 4, writes: 4, words: 4, kind: Kind::Sweep { reads: vec![4, 4], cycles: 1, broadcast: 0 } };
    // A visit of 32 words: 24 + 64 + 12 cycles, for writing 8 more; the first one is waited for.
    let found = cost(&[], &work, 256);
    assert_eq!((found.ticks, found.read, found.written), (200 + 100, 64, 32));
    // In eight columns a limb takes 32 rows of a word for each PE: 24 + 2 + 12, and 8 more.
    let narrow = cost(&[], &work, 8);
    assert_eq!((narrow.ticks, narrow.read), (2 * 32 * 38 + 38, 64));
    // By the figure: 12 + 128 + 12.
    assert_eq!(cost(&[("timing", "figure")], &work, 256).ticks, 3 * 152);
}

#[test]
fn a_transform_is_its_stages() {
    // In the PE and on its chain: a row of words and one of 31 + 3 factors.
    let inside = 100 + (24 + 68 + 12) + 100;
    // Half a row over 1, 2, 4 and 8 pairs: a hop of 8 cycles a row, direction and subarray on the link in the middle.
    let sweep = 100 + (24 + 2 + 12) + 100;
    let pairs: u64 = [1, 2, 4, 8].map(|d| sweep + (2 * d + 2 * d) * 8 + 24 + 8 + 12).iter().sum();
    // Half of four limbs at 1,600 bytes a cycle, which is longer than the sweep.
    let banks = 4 * (524_288u64.div_ceil(1600) + 100);
    let found = cost(&[], &transform(4), 256);
    assert_eq!(found.ticks, inside + pairs + banks);
    assert_eq!((found.chain, found.bank_bytes), (16 * 7, 4 * 524_288));
    // 16 butterflies a stage and PE; each word is read and written once a sweep.
    assert_eq!((found.read, found.written), (9 * 32 + 34 + 8, 9 * 32));
    let slow = cost(&[("pe_chain", "off")], &transform(4), 256);
    assert_eq!(slow.chain, 3 * (16 * 8 * 16 * 4 * 2 / 32 * 4), "words of all PEs of a bank, 32 bytes in four cycles");
    // Over all banks: two stages fewer inside, two more between banks.
    let wide = cost(&[("limb_banks", "64")], &transform(4), 64);
    assert_eq!(wide.bank_bytes, 6 * 524_288);
}

/// Rows in the order of coefficients are written half by half.
#[test]
fn order_of_rows() {
    let both = |timing| {
        ["ordered", "stride-1"].map(|rows| cost(&[("timing", timing), ("rows", rows)], &transform(64), 64).ticks)
    };
    for timing in ["table", "figure"] {
        let [ordered, stride] = both(timing);
        assert!(ordered < stride, "{timing}");
    }
}

#[test]
fn permutations_are_counted_word_by_word() {
    let tiling = numbers(&[]).tiling(N);
    let none = Permutation::default();
    assert_eq!(Permutation::known(&tiling, 1, Domain::Eval), none);
    assert_eq!(Permutation::known(&tiling, 1, Domain::Coeff), none);
    // X → X^(N+1) changes signs of odd coefficients alone; of values it exchanges neighbors, or tiles.
    assert_eq!(Permutation::known(&tiling, N + 1, Domain::Coeff), none);
    let rotated = Permutation::known(&tiling, 5, Domain::Eval);
    assert!(rotated.bank_hops > 0 && rotated.bank_hops <= 2 * N, "{rotated:?}");
}

/// Two ciphertexts rotated under one key, with a batch of two besides.
fn rotations() -> Graph {
    let dev = Recorder::new(Null::default());
    let primes = ntt_primes_near(13, 1 << 30).take(9).collect();
    let ring = dev.ring(&RingSpec { log_n: 13, primes }).unwrap();
    let input = |limbs: usize, batch: usize, role| {
        let shape = Shape::eval(&ring, Basis::range(0, limbs)).with_batch(batch);
        dev.upload(&shape, role, &|_, _| unreachable!())
    };
    let digits = vec![Basis::range(0, 3), Basis::range(3, 6)];
    let part = || input(9, 1, Role::EvaluationKey(KeyId(1)));
    let key = GadgetKey { digits, special: Basis::range(6, 9), pairs: vec![[part(), part()], [part(), part()]] };
    let mut kept = Vec::new();
    for batch in [1, 1, 2] {
        let ct = [0, 1].map(|_| input(6, batch, Role::Ciphertext));
        let [c0, c1] = [0, 1].map(|i| dev.automorphism(&ct[i], GaloisElement::rotation(1, 13)));
        let [b, a] = dev.key_switch(&c1, &key);
        kept.push(dev.add(&c0, &b));
        kept.push(a);
    }
    let sum = dev.add(&dev.add(&kept[0], &kept[2]), &dev.split(&kept[4], 1, 2));
    drop(kept);
    let graph = dev.graph();
    drop(sum);
    graph
}

/// A key switch and a blind rotation of so many ciphertexts.
fn bootstrapping(steps: usize, batch: usize) -> Graph {
    let dev = Recorder::new(Null::default());
    let ring = dev.ring(&RingSpec { log_n: 10, primes: ntt_primes_near(10, 1 << 30).take(1).collect() }).unwrap();
    let gadget = Gadget { base_log: 7, levels: 2 };
    let key = Shape { batch: steps, ..Shape::eval(&ring, Basis::single(0)) };
    let part = |_| dev.upload(&key, Role::BootstrapKey(KeyId(1)), &|_, _| unreachable!());
    let rows = (0..4).map(|_| (0..2).map(part).collect()).collect();
    let wide = LweShape { dimension: 1024, modulus: 1 << 30, batch };
    let wide = dev.upload_lwe(wide, Role::Ciphertext, &|_, _| unreachable!());
    let switch = LweShape { dimension: steps, modulus: 1 << 30, batch: 3072 };
    let switch = dev.upload_lwe(switch, Role::EvaluationKey(KeyId(0)), &|_, _| unreachable!());
    let narrow = dev.lwe_key_switch(&wide, &LweSwitchKey { gadget: Gadget { base_log: 4, levels: 3 }, rows: switch });
    let test = Shape::eval(&ring, Basis::single(0)).with_domain(Domain::Coeff);
    let test = dev.upload(&test, Role::Plaintext, &|_, _| unreachable!());
    let out = dev.blind_rotate(&test, &narrow, &Ggsw { gadget, rows });
    let result = dev.sample_extract(&out.iter().collect::<Vec<_>>(), &[0]);
    let graph = dev.graph();
    drop(result);
    graph
}

fn timed(graph: &Graph, changes: &[(&str, &str)]) -> (Schedule, Report) {
    let machine = Flexmem::new(&spec(changes)).unwrap();
    let schedule = machine.schedule(graph).unwrap();
    let report = machine.report(graph, &schedule);
    (schedule, report)
}

/// Nothing starts before what it waits for; a chip does one operation at a time, and no link more than it has.
fn hangs_together(schedule: &Schedule) {
    let program = &schedule.program;
    let mut taken: Vec<Vec<(u64, bool, u64)>> = vec![vec![]; program.units.len()];
    for (id, task) in program.ids().zip(&program.tasks) {
        let (start, stage) = (schedule.start[id.index()], &task.stage);
        for &edge in program.edges(id) {
            let waited = edge.task().map_or(0, |task| schedule.start[task.index()]);
            assert!(matches!(edge, Edge::Output(_) | Edge::End(_)));
            assert!(start >= program.release(edge, waited, Some(stage)), "task {id:?}");
        }
        if stage.occupancy > 0 {
            let unit = &mut taken[usize::from(stage.unit)];
            unit.push((start, true, stage.width));
            unit.push((start + stage.occupancy, false, stage.width));
        }
    }
    for (events, &width) in taken.iter_mut().zip(&program.widths) {
        events.sort_unstable();
        let mut now = 0;
        for &(_, begins, part) in &*events {
            now = if begins { now + part } else { now - part };
            assert!(now <= width);
        }
    }
}

#[test]
fn schedules_hang_together() {
    for changes in [&[][..], &[("chips", "1")], &[("chips", "3")], &[("chip_network", "off")], &[("poly_col", "16")]] {
        hangs_together(&timed(&rotations(), changes).0);
        hangs_together(&timed(&bootstrapping(5, 7), changes).0);
    }
    let (schedule, report) = timed(&rotations(), &[]);
    let moved: u64 = report.bytes["chip network"].values().sum();
    let is_moving = |task: &&crate::program::Task| task.stage.kind == TaskKind::Redistribute;
    assert_eq!(moved > 0, schedule.program.tasks.iter().any(|task| is_moving(&task)));
    assert!(report.seconds <= timed(&rotations(), &[("chips", "1")]).1.seconds);
}

/// What is not tried could not have been faster.
#[test]
fn no_distribution_is_faster_than_its_least() {
    let machine = Flexmem::new(&spec(&[])).unwrap();
    let numbers = &machine.numbers;
    for graph in [rotations(), bootstrapping(5, 7), bootstrapping(5, 700)] {
        let chips = [1, 3, numbers.system.chips];
        let read = Read::new((&machine.spec, numbers), &graph, machine.words(), &chips).unwrap();
        for shapes in std::iter::once(Shapes::Each).chain(numbers.all_shapes().map(Shapes::One)) {
            for (chips, aversion) in chips.iter().flat_map(|&chips| [(chips, 0), (chips, 1)]) {
                let distribution = Distribution { chips, aversion, shapes };
                let (program, _) = Flow::of(&read, distribution).unwrap();
                let (least, ticks) = (read.least_ticks(distribution), crate::scheduler::run(program).ticks());
                assert!(0 < least && least <= ticks, "{distribution:?}: {least} of {ticks}");
            }
        }
    }
}

/// Every switch is an ablation: without it nothing is faster.
#[test]
fn nothing_is_faster_without() {
    let (ckks, tfhe) = (rotations(), bootstrapping(5, 700));
    let ticks = |graph: &Graph, changes: &[(&str, &str)]| timed(graph, changes).0.ticks();
    let [usual, usual_tfhe] = [ticks(&ckks, &[]), ticks(&tfhe, &[])];
    for off in [("pe_chain", "off"), ("bank_network", "off"), ("chip_network", "off"), ("rows", "stride-1")] {
        assert!(ticks(&ckks, &[off]) >= usual, "{off:?}");
        assert!(ticks(&tfhe, &[off]) >= usual_tfhe, "{off:?}");
    }
    // Shapes are chosen one operation at a time, and so is one for all: none that is asked for is better.
    for graph in [&ckks, &tfhe] {
        let alone = |changes: &[(&str, &str)]| ticks(graph, &[&[("chips", "1")], changes].concat());
        let by_cost = alone(&[]);
        for poly_col in ["8", "16", "32", "64", "128", "256"] {
            assert!(alone(&[("poly_col", poly_col)]) >= by_cost, "{poly_col}");
        }
        assert!(alone(&[("remap", "off")]) >= by_cost);
    }
}

#[test]
fn bootstrappings_are_counted() {
    let (_, report) = timed(&bootstrapping(5, 700), &[("chips", "2")]);
    let found = report.bootstrappings.unwrap();
    assert_eq!((found.count, found.in_flight), (700, 700));
    assert!((found.per_second * report.seconds - 700.0).abs() < 1e-6, "the program is one run");
    assert!(report.energy.unwrap().area_mm2.unwrap() > 80.0);
    let text = timed(&rotations(), &[]).1.to_string();
    for said in ["near-memory bandwidth", "bank network", "poly_col", "keys and plaintexts take"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

fn refused(changes: &[(&str, &str)]) -> String {
    let spec = match Spec::load("flexmem").unwrap().with_overrides(changes) {
        Ok(spec) => spec,
        Err(error) => return error.to_string(),
    };
    let found = crate::machine::open(&spec).and_then(|machine| machine.schedule(&rotations()).map(drop));
    found.unwrap_err().to_string()
}

#[test]
fn bad_input_is_refused_by_field() {
    let starts = |text: &str, wanted: &str| assert!(text.starts_with(wanted), "{text}");
    starts(
        &refused(&[("chips", "9")]),
        "machine \"flexmem\", field \"system.chips\": at most 8: 2 DIMMs have 4 chips each is wanted, got 9",
    );
    starts(
        &refused(&[("pes", "12")]),
        "machine \"flexmem\", field \"chip.pes\": a power of two up to 512, the words of a row of 2048 bytes is wanted, got 12",
    );
    starts(
        &refused(&[("poly_col", "8"), ("pes", "16")]),
        "machine \"flexmem\", field \"policy.poly_col\": 16 to 512 columns: each of 16 PEs has some of a limb is wanted, got 8",
    );
    starts(&refused(&[("poly_col", "9")]), "machine \"flexmem\", field \"policy.poly_col\": one of auto, 8, 16,");
    starts(
        &refused(&[
            ("chip.banks", "2"),
            ("chip.group_banks", "2"),
            ("limb_banks", "2"),
            ("chip.rows_per_subarray", "4"),
        ]),
        "machine \"flexmem\", field \"chip.rows_per_subarray\": 5 rows or more: 9 limbs of 2^13 have tiles of 256 words",
    );
    starts(
        &refused(&[("rows", "random")]),
        "machine \"flexmem\", field \"policy.rows\": one of ordered, stride-1 is wanted",
    );
    starts(
        &refused(&[("limb_banks", "24")]),
        "machine \"flexmem\", field \"policy.limb_banks\": a power of two up to 64",
    );
    let narrow = [("chip.row_bytes", "65536"), ("pes", "8192")];
    starts(
        &refused(&narrow),
        "machine \"flexmem\", field \"chip.pes\": at most 4096: a ring of 8192 coefficients has two for each PE of a pair",
    );
}

/// Two DIMMs have two meshes of one name: what is said of them is their mean, and what one of them draws is not forgotten.
#[test]
fn units_of_one_name_are_told_together() {
    let (schedule, report) = timed(&rotations(), &[]);
    let program = &schedule.program;
    let meshes = || program.units.iter().zip(schedule.busy()).filter(|(unit, _)| **unit == "mesh of DIMMs");
    assert_eq!(meshes().count(), 2);
    let busy: u64 = meshes().map(|(_, busy)| busy).sum();
    assert!(busy > 0, "the program sends something");
    let mean = busy as f64 / 2.0 / schedule.ticks() as f64;
    assert!((report.utilization["mesh of DIMMs"] - mean).abs() < 1e-12, "{:?}", report.utilization);
    assert!(report.energy.unwrap().parts_j["chip_network"] > 0.0);
}

/// A key of four polynomials of 294,912 bytes on chips of 655,360: one stays on all, three stand on a chip each.
#[test]
fn keys_that_no_chip_holds_stand_on_several() {
    let small = |rows, chips| {
        let banks = [("chip.banks", "2"), ("chip.group_banks", "2"), ("limb_banks", "2")];
        [&banks[..], &[("chip.rows_per_subarray", rows), ("chips", chips)]].concat()
    };
    let (schedule, report) = timed(&rotations(), &small("5", "8"));
    hangs_together(&schedule);
    let said = "take 0.00 GiB of each chip's 0.00 GiB; 0.00 GiB of them stand on one chip each";
    assert!(report.notes.iter().any(|note| note.contains(said)), "{:?}", report.notes);
    let (roomy, replicated) = timed(&rotations(), &small("1024", "8"));
    assert!(!replicated.notes.iter().any(|note| note.contains("stand on one chip")));
    assert!(schedule.ticks() >= roomy.ticks());
    let moved = |report: &Report| report.bytes["chip network"].values().sum::<u64>();
    assert!(moved(&report) > moved(&replicated), "a key that stands elsewhere is sent for");
    assert!(
        refused(&small("5", "1")).contains("\"system.chips\": more chips, or larger ones: keys and plaintexts take")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// More limbs never take less; a wider network is never slower.
    #[test]
    fn costs_grow_with_work(limbs in 1u64..80, log_shape in 3u32..9, sources in 1u64..30, bank in 100u32..4000) {
        let shape = 1 << log_shape;
        let convert = |limbs: u64| Work {
            n: N,
            limbs,
            writes: limbs,
            words: limbs,
            kind: Kind::Convert { entries: 1, sources, targets: limbs, scaled: false },
        };
        let usual = numbers(&[]);
        let costs = Costs::new(&usual);
        prop_assert!(costs.cost(&transform(limbs + 1), shape).ticks >= costs.cost(&transform(limbs), shape).ticks);
        prop_assert!(costs.cost(&convert(limbs + 1), shape).ticks >= costs.cost(&convert(limbs), shape).ticks);
        let [slow, fast] = [bank, 2 * bank].map(|gb| numbers(&[("network.bank_gb_s", &gb.to_string())]));
        let ticks = |numbers: &Numbers| Costs::new(numbers).cost(&transform(limbs), shape).ticks;
        prop_assert!(ticks(&fast) <= ticks(&slow));
    }
}
