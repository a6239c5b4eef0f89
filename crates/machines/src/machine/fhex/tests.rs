use super::{
    Fhex, Kind,
    costs::Flight,
    numbers::Numbers,
    operators::{Part, Work, parts},
    place::{DEVICE, HEU},
};
use crate::{machine::Machine, spec::Spec};
use limbwise_device::{
    Basis, Device, Domain, Gadget, Ggsw, KeyId, LweShape, LweSwitchKey, Null, Region, RingSpec, Role, Shape,
};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::prime::ntt_primes_below;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn numbers(changes: &[(&str, &str)]) -> Numbers {
    Numbers::read(&Spec::load("fhex").unwrap().with_overrides(changes).unwrap()).unwrap()
}

/// A switch from 8 words and a rotation of so many steps of three digits at N = 2048, for so many ciphertexts.
fn bootstrapping(prime_bits: u32, steps: usize, batch: usize) -> Graph {
    let dev = Recorder::new(Null::default());
    let primes = ntt_primes_below(11, prime_bits, 1, &[]).unwrap();
    let ring = dev.ring(&RingSpec { log_n: 11, primes }).unwrap();
    let gadget = Gadget { base_log: 7, levels: 3 };
    let key = Shape { batch: steps, ..Shape::eval(&ring, Basis::single(0)) };
    let part = |_| dev.upload(&key, Role::BootstrapKey(KeyId(1)), &|_, _| unreachable!());
    let rows = (0..6).map(|_| (0..2).map(part).collect()).collect();
    let wide = LweShape { dimension: 8, modulus: 4096, batch };
    let wide = dev.upload_lwe(wide, Role::Ciphertext, &|_, _| unreachable!());
    let switch = LweShape { dimension: steps, modulus: 4096, batch: 24 };
    let switch = dev.upload_lwe(switch, Role::EvaluationKey(KeyId(0)), &|_, _| unreachable!());
    let out = {
        let _region = dev.region(Region::Bootstrap, 0);
        let narrow =
            dev.lwe_key_switch(&wide, &LweSwitchKey { gadget: Gadget { base_log: 4, levels: 3 }, rows: switch });
        let test = Shape::eval(&ring, Basis::single(0)).with_domain(Domain::Coeff);
        let test = dev.upload(&test, Role::Plaintext, &|_, _| unreachable!());
        dev.blind_rotate(&test, &narrow, &Ggsw { gadget, rows })
    };
    let result = dev.sample_extract(&out.iter().collect::<Vec<_>>(), &[0]);
    let graph = dev.graph();
    drop(result);
    graph
}

const N: f64 = 2048.0;

/// What one ciphertext does in a step: by hand from the shapes.
#[test]
fn operators_have_the_work_of_one_ciphertext() {
    let graph = bootstrapping(32, 3, 5);
    let parts = parts(&graph, numbers(&[]).words());
    let [Part::Run(run), Part::Rest(rest)] = &parts[..] else { panic!("a run, then an extraction") };
    assert_eq!((run.entries, rest.len()), (5, 1));
    use Kind::{Decompose, Intt, KeySwitch, Ntt, Product, Scale};
    let kinds: Vec<Kind> = run.chain.steps.iter().map(|s| s.kind).collect();
    let step = [Decompose, Ntt, Product, Intt, Scale];
    assert_eq!(kinds, [&[KeySwitch, Scale][..], &step, &step, &step].concat());
    let of = |kind: Kind| &run.chain.steps.iter().filter(|s| s.kind == kind).nth(1).unwrap().work;
    assert_eq!((of(Ntt).polynomials, of(Ntt).butterflies), (6, 6.0 * N / 2.0 * 11.0));
    assert_eq!((of(Intt).polynomials, of(Intt).butterflies), (2, 2.0 * N / 2.0 * 11.0));
    let ep = of(Product);
    assert_eq!((ep.components, ep.products, ep.key_words), (2, 12.0 * N, 12.0 * N));
    assert_eq!((ep.read_words, ep.written_words), (6.0 * N, 2.0 * N));
    let decompose = of(Decompose);
    assert_eq!((decompose.components, decompose.polynomials, decompose.digit_words), (2, 6, 6.0 * N));
    // Between steps: two sums, two rotations, two differences; accumulator and differences leave.
    let scale = of(Scale);
    assert_eq!((scale.sum_words, scale.moved_words, scale.written_words), (4.0 * N, 2.0 * N, 4.0 * N));
    let switch = &run.chain.steps[0].work;
    assert_eq!((switch.n, switch.key_words), (0, 24.0 * 4.0));
    assert_eq!((switch.products, run.chain.live_words()), (24.0 * 4.0, (4.0 + 2.0 * 6.0 + 2.0 + 2.0) * N));
    // Twice the words where a prime takes two.
    let wide = numbers(&[("words", "split")]);
    let Part::Run(run) = &super::operators::parts(&bootstrapping(48, 3, 5), wide.words())[0] else { panic!("a run") };
    let ntt = run.chain.steps.iter().find(|s| s.kind == Ntt).unwrap();
    assert_eq!((ntt.work.polynomials, ntt.work.butterflies), (12, 12.0 * N / 2.0 * 11.0));
}

/// Times of a step on either side, by hand: 1024 multipliers and adders at 1 GHz, 2048 lanes at 1.7 GHz.
#[test]
fn operators_take_what_the_rules_say() {
    let graph = bootstrapping(32, 3, 5);
    let (pacm, whole) = (numbers(&[]), numbers(&[("mapping", "whole")]));
    let Part::Run(run) = &parts(&graph, pacm.words())[0] else { panic!("a run") };
    let flight = pacm.flight(&run.chain, 16);
    let work = |kind: Kind| &run.chain.steps.iter().filter(|s| s.kind == kind).nth(1).unwrap().work;
    let close = |seconds: f64, ns: f64| assert!((seconds * 1e9 - ns).abs() < 1e-6, "{} ns, wanted {ns}", seconds * 1e9);
    // Six polynomials of 512 bytes a tile, half of it to partners 1, 2 (twice on a link), 4 and 8 (twice) away: 48 cycles
    // each, and six hops; adders would take 132 cycles.
    close(pacm.heu_seconds(Kind::Ntt, work(Kind::Ntt), flight), 6.0 * 48.0 + 6.0);
    close(pacm.heu_seconds(Kind::Intt, work(Kind::Intt), flight), 2.0 * 48.0 + 6.0);
    // 24 cycles of products beside 96 KiB of keys at 4320 GB/s.
    close(pacm.heu_seconds(Kind::Product, work(Kind::Product), flight), 24.0);
    let slow = numbers(&[("internal_gb_s", "432")]);
    close(slow.heu_seconds(Kind::Product, work(Kind::Product), flight), 12.0 * N * 4.0 / 432.0);
    close(pacm.heu_seconds(Kind::Decompose, work(Kind::Decompose), flight), 12.0);
    // In one tile each: 11,264 butterflies of two sums on 64 adders.
    close(whole.heu_seconds(Kind::Ntt, work(Kind::Ntt), flight), 11_264.0 * 2.0 / 64.0);
    // Five tiles send 8 KiB to tile 0 and five to tile 1, along the first row but for 4 and 5, which come down the
    // first column: from 1, 2, 3 and 5 go three over the link from 1 to 0, the most of any.
    let to_first = whole.heu_seconds(Kind::Product, work(Kind::Product), flight);
    close(to_first, 4.0 * 256.0 + 3.0);
    let lanes = 2048.0 * 1.7;
    close(pacm.device_seconds(work(Kind::Ntt), flight), 6.0 * 11_264.0 * 21.0 / lanes);
    close(pacm.device_seconds(work(Kind::Product), flight), 12.0 * N * 22.0 / lanes);
    // Rotations and sums are bound by L2: 4 + 2 polynomials and an exponent read or written.
    let scale = work(Kind::Scale);
    close(pacm.device_seconds(scale, flight), (scale.read_words + scale.written_words) * 4.0 / (1024.0 * 1.7));
    // More in flight than L2 holds: all of it through memory.
    let many = Flight { copies: 64.0, ..flight };
    close(pacm.device_seconds(scale, many), (scale.read_words + scale.written_words) * 4.0 / 1024.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every partition has one tile; tiles have equally many; another offset turns them round.
    #[test]
    fn partitions_fill_tiles_evenly(log_tiles in 0u32..6, log_n in 12u32..17, offset in 0u64..32) {
        let tiles = 1u64 << log_tiles;
        let numbers = numbers(&[("tiles", &tiles.to_string())]);
        let partitions = numbers.partitions(1 << log_n);
        prop_assert_eq!(partitions, 1 << (log_n - 6));
        // Tile and turn name the partition: nothing is lost, nothing twice.
        let places: BTreeSet<(u64, u64)> =
            (0..partitions).map(|p| (numbers.tile_of(offset, p), p / tiles)).collect();
        prop_assert_eq!(places.len() as u64, partitions);
        let held = |tile: u64| places.iter().filter(|(t, _)| *t == tile).count() as u64;
        prop_assert!((0..tiles).all(|tile| held(tile) == partitions / tiles));
        prop_assert_eq!(numbers.tile_of(offset, 0), offset % tiles);
    }

    /// With one tile the mappings are one, for any operator.
    #[test]
    fn one_tile_is_a_whole_polynomial(polynomials in 1u64..8, products in 1u64..8, digits in 0u64..8, sums in 0u64..8) {
        let words = |x: u64| crate::report::as_f64(x) * N;
        let work = Work {
            n: 2048,
            polynomials,
            components: 2,
            butterflies: words(polynomials) * 5.5,
            products: words(products * 2),
            digit_words: words(digits),
            moved_words: words(2),
            sum_words: words(sums),
            key_words: words(products * 2),
            read_words: words(3),
            written_words: words(2),
        };
        let [pacm, whole] = ["pacm", "whole"].map(|mapping| numbers(&[("tiles", "1"), ("mapping", mapping)]));
        let flight = Flight { copies: 4.0, live_words: 20.0 * N };
        for kind in [Kind::Ntt, Kind::Intt, Kind::Product, Kind::Scale, Kind::Decompose] {
            let [a, b] = [&pacm, &whole].map(|numbers| numbers.heu_seconds(kind, &work, flight));
            prop_assert!((a - b).abs() <= 1e-9 * a, "{kind:?}: {a} and {b}");
        }
    }

    /// More of anything is never slower, placed alike.
    #[test]
    fn more_is_never_slower(
        memory in 100u32..8000,
        link in 10u32..800,
        field in prop::sample::select(vec!["internal_gb_s", "link_gb_s", "mesh.link_bytes_per_cycle", "device.cores"]),
        offload in prop::sample::select(vec!["static", "device", "heu"]),
        mapping in prop::sample::select(vec!["pacm", "whole"]),
    ) {
        let graph = bootstrapping(32, 2, 3);
        let base = [("internal_gb_s", memory.to_string()), ("link_gb_s", link.to_string()), ("offload", offload.into()),
            ("mapping", mapping.into())];
        let spec = Spec::load("fhex").unwrap().with_overrides(&base).unwrap();
        let value = spec.fields().into_iter()
            .find(|f| f.path == field || f.short_name.as_deref() == Some(field)).unwrap().value.as_f64().unwrap();
        let twice = spec.with_overrides(&[(field, (2.0 * value).to_string())]).unwrap();
        let ticks = |spec: &Spec| Fhex::new(spec).unwrap().schedule(&graph).unwrap().ticks();
        prop_assert!(ticks(&twice) <= ticks(&spec));
    }
}

/// Two ciphertexts of one step, transforms on the device: by hand.
#[test]
fn a_small_timetable_is_as_by_hand() {
    let graph = bootstrapping(32, 1, 2);
    let spec = Spec::load("fhex").unwrap().with_overrides(&[("offload", "static"), ("batch", "2")]).unwrap();
    let machine = Fhex::new(&spec).unwrap();
    let Part::Run(run) = &parts(&graph, machine.words())[0] else { panic!("a run") };
    let group = machine.group(&graph, run, 2).unwrap();
    let (problem, table) = (&group.problem, &group.table);
    // Key switch, scale, decomposition, transform, product, transform, scale: two of each, in turn.
    assert_eq!(problem.len(), 14);
    let sides: Vec<bool> = table.side.iter().map(|side| *side == DEVICE).collect();
    let on_device = [6, 7, 10, 11];
    assert!((0..14).all(|at| sides[at] == on_device.contains(&at)), "{sides:?}");
    crate::offload::check(problem, table).unwrap();
    let ticks = |at: u32, side| problem.ticks(crate::offload::OperationId(at), side).unwrap();
    // Each tick of a picosecond is rounded up.
    let near = |got: u64, wanted: u64| assert!(got.abs_diff(wanted) < 16, "{got} ps, wanted {wanted}");
    let crossing = |words: f64| super::whole((words * 4.0 / 385.0 + 2.0) * 1e3);
    // A word of the ciphertext and the test polynomial come over first; from there on the unit's first four operations.
    let first = table.start[4];
    assert_eq!(table.start[5], first + ticks(4, HEU), "the second ciphertext is split after the first");
    // Digits of a component cross together, the components one after the other.
    let there = table.end[4] + 2 * crossing(3.0 * N);
    near(table.start[6], there);
    near(table.start[7], table.end[6].max(table.end[5].max(there) + 2 * crossing(3.0 * N)));
    near(table.start[8], table.end[6] + 2 * crossing(3.0 * N));
    assert_eq!(table.makespan, table.transfers.iter().map(|t| t.end).max().unwrap(), "results go home at the end");
}

/// No policy beats the search, and what is left of a batch is placed as the rest.
#[test]
fn policies_and_rounds() {
    let graph = bootstrapping(32, 6, 7);
    let time = |changes: &[(&str, &str)]| {
        let spec = Spec::load("fhex").unwrap().with_overrides(changes).unwrap();
        let machine = crate::machine::open(&spec).unwrap();
        let schedule = machine.schedule(&graph).unwrap();
        (schedule.ticks(), machine.report(&graph, &schedule))
    };
    let (adaptive, report) = time(&[]);
    for offload in ["heft", "static", "device", "heu"] {
        assert!(adaptive <= time(&[("offload", offload)]).0, "{offload}");
    }
    let done: u64 = report.placements.iter().filter(|p| p.path == "bootstrap").map(|p| p.operations).sum();
    assert_eq!(done, 7 * 32, "each operation of each ciphertext is somewhere");
    let b = report.bootstrappings.unwrap();
    assert_eq!((b.count, b.in_flight), (7, 7));
    assert!(b.latency_s < report.seconds && b.per_second > 1.0 / b.latency_s);
    let text = report.to_string();
    assert!(text.contains("bootstrappings") && text.contains("link there") && text.contains("ntt"), "{text}");
    // Rounds of two, and one that is left.
    let (rounds, report) = time(&[("batch", "2"), ("offload", "static")]);
    let (one, _) = time(&[("batch", "1"), ("offload", "static")]);
    assert_eq!(report.bootstrappings.unwrap().in_flight, 2);
    assert!(report.notes[0].starts_with("7 bootstrappings in 4 rounds"), "{:?}", report.notes);
    assert!(rounds < one);
    let done: u64 = report.placements.iter().filter(|p| p.path == "bootstrap").map(|p| p.operations).sum();
    assert_eq!(done, 7 * 32);
}

fn refused(changes: &[(&str, &str)], prime_bits: u32) -> String {
    let spec = match Spec::load("fhex").unwrap().with_overrides(changes) {
        Ok(spec) => spec,
        Err(error) => return error.to_string(),
    };
    let graph = bootstrapping(prime_bits, 2, 2);
    let found = crate::machine::open(&spec).and_then(|machine| machine.schedule(&graph).map(drop));
    found.unwrap_err().to_string()
}

#[test]
fn bad_input_is_refused_by_field() {
    let starts = |text: &str, wanted: &str| assert!(text.starts_with(wanted), "{text}");
    starts(
        &refused(&[("link_gb_s", "0")], 32),
        "machine \"fhex\", field \"link.link_gb_s\": a number from 10^-6 to 10^9 is wanted, got 0.0",
    );
    starts(&refused(&[("internal_gb_s", "0")], 32), "machine \"fhex\", field \"heu.internal_gb_s\":");
    starts(&refused(&[("batch", "0")], 32), "machine \"fhex\", field \"policy.batch\":");
    starts(
        &refused(&[("tiles", "12")], 32),
        "machine \"fhex\", field \"heu.tiles\": a power of two up to 256 is wanted, got 12",
    );
    starts(
        &refused(&[("tiles", "64")], 32),
        "machine \"fhex\", field \"heu.tiles\": at most 32 tiles: a polynomial of 2048 coefficients has as many partitions \
         of 64 (or mapping=whole) is wanted, got 64",
    );
    starts(
        &refused(&[("mapping", "whole"), ("heu.buffer_kb", "4")], 32),
        "machine \"fhex\", field \"heu.buffer_kb\": 8 kB or more: a whole polynomial of 2048 coefficients is wanted, got 4",
    );
    starts(
        &refused(&[("mapping", "round")], 32),
        "machine \"fhex\", field \"policy.mapping\": one of pacm, whole is wanted, got \"round\"",
    );
    starts(&refused(&[], 48), "machine \"fhex\" has words of 32 bits, the program has primes of 48 bits");
}
