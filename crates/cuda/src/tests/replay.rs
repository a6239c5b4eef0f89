//! Steady loops as graphs: the same residues, and exactly so many calls of the driver.

use super::{MEMORY, arbitrary, gpu, mock_driver::cases, random, ring};
use crate::{
    Cuda, CudaPoly, KeyRoom, Replay,
    driver::{Driver, Event, Failure, Place, Properties, Stream},
    host::Host,
    launch::{Args, Shape as Blocks},
    replay::{Launches, Replayer},
};
use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Basis, Device, Domain, Gadget, GadgetKey, Ggsw, HostRead, KeyId, LweShape, Ring, Role, Rounding, Shape,
    conformance::with_device,
};
use limbwise_math::galois::GaloisElement;
use proptest::prelude::*;
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

/// A device on the host, beside the driver that it runs on.
struct Watched {
    host: Arc<Host>,
    dev: Cuda,
}

impl Watched {
    fn new(replay: Replay) -> Option<Self> {
        let host = Arc::new(Host::new(MEMORY)?);
        Some(Self { dev: Cuda::on(host.clone(), KeyRoom::without_plan(MEMORY), replay), host })
    }

    /// How often the driver was given launches during some work, alone or in a graph.
    fn calls<T>(&self, work: impl FnOnce(&Cuda) -> T) -> (u64, T) {
        let before = self.host.calls();
        let done = work(&self.dev);
        (self.host.calls() - before, done)
    }
}

fn steady(test: impl FnOnce(Watched)) {
    with_device("c++", || Watched::new(Replay::Steady), test);
}

fn words<D: HostRead>(dev: &D, polys: &[D::Poly]) -> Vec<Vec<u64>> {
    polys.iter().map(|p| dev.download(p).unwrap()).collect()
}

/// A key of two digits over four primes, and two ciphertext's halves.
fn switching<D: Device>(dev: &D) -> (GadgetKey<D::Poly>, [D::Poly; 2]) {
    let ring = ring(dev, 10, &[50, 50, 50, 50, 51]);
    let wide = Shape::eval(&ring, ring.full());
    let pair = |label: u64| [0, 1].map(|half| random(dev, &wide, Role::EvaluationKey(KeyId(0)), label + half));
    let digits = vec![Basis::range(0, 2), Basis::range(2, 4)];
    let key = GadgetKey { digits, special: Basis::single(4), pairs: vec![pair(2), pair(4)] };
    let own = wide.with_basis(Basis::range(0, 4));
    (key, [0, 1].map(|half| random(dev, &own, Role::Ciphertext, 10 + half)))
}

/// The product of two ciphertexts, relinearized and rescaled.
fn multiply<D: Device>(dev: &D, key: &GadgetKey<D::Poly>, [b, a]: &[D::Poly; 2]) -> [D::Poly; 2] {
    let _region = dev.region("multiply", 0);
    let [d0, d2] = [dev.mul(b, b), dev.mul(a, a)];
    let mut d1 = dev.mul(a, b);
    dev.mul_acc(&mut d1, b, a);
    let [s0, s1] = dev.key_switch(&d2, key);
    [dev.add(&s0, &d0), dev.add(&s1, &d1)].map(|half| dev.rescale(&half, Basis::range(0, 3)))
}

/// From the third time on a multiplication is one call, with the same residues.
#[test]
fn a_steady_multiplication_is_one_launch() {
    steady(|watched| {
        let cpu = Cpu::new(Isa::Scalar, 1).unwrap();
        let (key, ct) = switching(&cpu);
        let want = words(&cpu, &multiply(&cpu, &key, &ct));
        let (key, ct) = switching(&watched.dev);
        drop(multiply(&watched.dev, &key, &ct)); // makes constants of conversions
        let (first, mut asked) = (watched.dev.launches().asked, Vec::new());
        let calls: Vec<u64> = (0..6)
            .map(|_| {
                let before = watched.dev.launches().asked;
                let (calls, product) = watched.calls(|dev| multiply(dev, &key, &ct));
                asked.push(watched.dev.launches().asked - before);
                assert_eq!(words(&watched.dev, &product), want);
                calls
            })
            .collect();
        assert!(asked.iter().all(|&n| n == asked[0] && n > 20), "{asked:?}");
        // Fewer launches than end a stretch at the next region, or as many: then the rest is another.
        let graphs = calls[2];
        assert!(graphs <= 1 + asked[0] / 32, "{calls:?}");
        assert_eq!(calls, [asked[0], asked[0], graphs, graphs, graphs, graphs]);
        let Launches { built, replayed, graphs: launched, asked: all, issued } = watched.dev.launches();
        assert_eq!((built, launched, replayed, all - issued), (graphs, 4 * graphs, 4 * asked[0], 4 * asked[0]));
        assert_eq!(all, first + 6 * asked[0]);
    });
}

/// A loop whose state goes from rows to rows comes back to the same ones.
#[test]
fn a_loop_with_a_state_becomes_steady() {
    steady(|watched| {
        let step = |dev: &Cuda, key: &GadgetKey<CudaPoly>, [b, a]: [CudaPoly; 2]| {
            let _region = dev.region("iteration", 0);
            let turned = [&b, &a].map(|half| dev.automorphism(half, GaloisElement::rotation(1, 10)));
            let [s0, s1] = dev.key_switch(&turned[1], key);
            [dev.add(&dev.add(&s0, &turned[0]), &b), dev.add(&s1, &a)]
        };
        let (key, mut state) = switching(&watched.dev);
        let off = Watched::new(Replay::Off).unwrap();
        let (other_key, mut other) = switching(&off.dev);
        let mut counts = Vec::new();
        for _ in 0..16 {
            let (calls, next) = watched.calls(|dev| step(dev, &key, state));
            state = next;
            counts.push(calls);
            other = step(&off.dev, &other_key, other);
        }
        assert_eq!(words(&watched.dev, &state), words(&off.dev, &other));
        assert!(counts[0] > 15, "{counts:?}");
        assert!(counts[8..].iter().all(|&calls| calls == 1), "{counts:?}");
        assert_eq!(off.dev.launches().replayed, 0);
    });
}

/// Small tables go as arguments, those of addresses stay: nothing is written in a loop of bootstrappings.
#[test]
fn a_steady_bootstrapping_is_one_launch() {
    steady(|watched| {
        let dev = &watched.dev;
        let ring = ring(dev, 10, &[48]);
        let shape = Shape::eval(&ring, ring.full());
        let (steps, gadget) = (3, Gadget { base_log: 8, levels: 2 });
        let part = |label| random(dev, &shape.with_batch(steps), Role::BootstrapKey(KeyId(1)), label);
        let key = Ggsw { gadget, rows: (0..4).map(|row| vec![part(30 + 2 * row), part(31 + 2 * row)]).collect() };
        let test = random(dev, &shape.with_domain(Domain::Coeff), Role::Plaintext, 50);
        let narrow = LweShape { dimension: steps, modulus: 1 << 32, batch: 2 };
        let a = dev.upload_lwe(narrow, Role::Ciphertext, &|entry, words| {
            words
                .iter_mut()
                .zip(7 + entry as u64..)
                .for_each(|(x, i)| *x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
        });
        let bootstrap = || {
            let _region = dev.region("bootstrap", 0);
            let shifted = dev.lwe_shift(&a, &[5, 6]);
            let exponents = dev.lwe_mod_switch(&shifted, 2 << 10, Rounding::CenteredForBinary);
            let turned = dev.blind_rotate(&test, &dev.lwe_scale(&exponents, (2 << 10) - 1), &key);
            dev.sample_extract(&turned.iter().collect::<Vec<_>>(), &[0, 3])
        };
        let first = dev.download_lwe(&bootstrap()).unwrap();
        let mut counts = Vec::new();
        for _ in 0..5 {
            let (calls, got) = watched.calls(|_| bootstrap());
            counts.push(calls);
            assert!(dev.download_lwe(&got).unwrap() == first);
        }
        assert_eq!(counts[2..], [1; 3], "{counts:?}");
    });
}

/// Arguments that are others each time are never repeated; what is held back for a beginning that is known, is issued.
#[test]
fn a_loop_that_changes_is_issued() {
    steady(|watched| {
        let dev = &watched.dev;
        let ring = ring(dev, 10, &[50, 31]);
        let a = random(dev, &Shape::eval(&ring, ring.full()), Role::Ciphertext, 1);
        let chain = |dev: &Cuda, constant: u64| {
            let _region = dev.region("chain", 0);
            let doubled = (0..6).fold(dev.add(&a, &a), |sum, _| dev.add(&sum, &a));
            dev.scale_limbs(doubled, &[constant, 3])
        };
        for constant in 0..6 {
            drop(chain(dev, constant));
        }
        assert_eq!(dev.launches().graphs, 0);
        for _ in 0..3 {
            drop(chain(dev, 100));
        }
        assert_eq!(dev.launches().graphs, 1);
        // Seven of eight launches are as known ones: held back, then issued.
        let (calls, changed) = watched.calls(|dev| chain(dev, 7));
        assert_eq!((calls, dev.launches().graphs), (8, 1));
        let q = ring.moduli()[0];
        let (x, got) = (dev.download(&a).unwrap()[1], dev.download(&changed).unwrap()[1]);
        assert_eq!(got, q.mul(q.reduce(8 * 7), x));
    });
}

/// What is asked besides launches comes after those before it, wherever it comes.
#[test]
fn reads_writes_and_scrubs_cut_a_stretch() {
    steady(|watched| {
        let dev = &watched.dev;
        let ring = ring(dev, 10, &[50, 31]);
        let shape = Shape::eval(&ring, ring.full());
        let a = random(dev, &shape, Role::Ciphertext, 1);
        let work = |dev: &Cuda, middle: &dyn Fn(&CudaPoly)| {
            let _region = dev.region("work", 0);
            let sum = (0..9).fold(dev.add(&a, &a), |sum, _| dev.add(&sum, &a));
            middle(&sum);
            (0..9).fold(dev.add(&sum, &a), |sum, _| dev.add(&sum, &a))
        };
        let want: Vec<u64> = dev.download(&work(dev, &|_| ())).unwrap();
        let eleven = dev.download(&work(dev, &|_| ()).clone()).map(|_| ()).and_then(|()| {
            let sum = (0..10).fold(dev.copy(&a), |sum, _| dev.add(&sum, &a));
            dev.download(&sum)
        });
        let eleven = eleven.unwrap();
        let read = |sum: &CudaPoly| assert_eq!(dev.download(sum).unwrap(), eleven);
        let write = |_: &CudaPoly| drop(random(dev, &shape, Role::Ciphertext, 3));
        let middles: [&dyn Fn(&CudaPoly); 5] = [&|_| (), &read, &write, &|_| dev.sync().unwrap(), &|_| dev.scrub()];
        for middle in middles.iter().chain(&middles) {
            let mut last = 0;
            for _ in 0..4 {
                let (calls, sum) = watched.calls(|dev| work(dev, middle));
                last = calls;
                assert!(dev.download(&sum).unwrap() == want);
            }
            assert!(last <= 2, "{last} calls");
        }
    });
}

/// A region that a panic leaves has issued what was asked for.
#[test]
fn unwinding_leaves_nothing_behind() {
    steady(|watched| {
        let dev = &watched.dev;
        let ring = ring(dev, 10, &[50, 31]);
        let a = random(dev, &Shape::eval(&ring, ring.full()), Role::Ciphertext, 1);
        let kept = Mutex::new(None);
        let work = |breaks: bool| {
            let _region = dev.region("work", 0);
            let _inner = dev.region("inner", 1);
            let sum = (0..7).fold(dev.add(&a, &a), |sum, _| dev.add(&sum, &a));
            *kept.lock().unwrap() = Some(sum.clone());
            assert!(!breaks, "broken off");
            dev.neg(sum)
        };
        let want = dev.download(&work(false)).unwrap();
        (0..8).for_each(|_| drop(work(false)));
        *kept.lock().unwrap() = None;
        assert!(dev.launches().graphs > 0);
        let before = dev.launches();
        assert!(catch_unwind(AssertUnwindSafe(|| work(true))).is_err());
        let (after, q) = (dev.launches(), ring.moduli()[0]);
        assert_eq!(after.asked - before.asked, after.issued - before.issued);
        let sum = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take().unwrap();
        assert_eq!(dev.download(&sum).unwrap()[5], q.neg(want[5]));
        drop(sum);
        kept.clear_poison();
        assert!(dev.download(&work(false)).unwrap() == want);
    });
}

/// Threads with loops of their own, in regions and without, each get their own results.
#[test]
fn threads_do_not_disturb_each_other() {
    steady(|watched| {
        let dev = &watched.dev;
        let ring = ring(dev, 10, &[50, 31]);
        let shape = Shape::eval(&ring, ring.full());
        let values: Vec<CudaPoly> = (0..3).map(|i| random(dev, &shape, Role::Ciphertext, i)).collect();
        let sum = |a: &CudaPoly| (0..12).fold(dev.add(a, a), |sum, _| dev.add(&sum, a));
        let want: Vec<Vec<u64>> = values.iter().map(|a| dev.download(&sum(a)).unwrap()).collect();
        std::thread::scope(|scope| {
            for (i, (a, want)) in values.iter().zip(&want).enumerate() {
                scope.spawn(move || {
                    for _ in 0..40 {
                        let _region = (i > 0).then(|| dev.region("sum", 0));
                        assert!(dev.download(&sum(a)).unwrap() == *want);
                    }
                });
            }
        });
        let Launches { asked, issued, replayed, .. } = dev.launches();
        assert_eq!(asked, issued + replayed);
    });
}

/// A program over a few values, with regions around arbitrary pieces of it and reads in between; what is left of them.
fn program<D: HostRead>(dev: &D, ring: &Ring, key: &GadgetKey<D::Poly>, script: &[(u8, u8, u8)]) -> Vec<Vec<u64>> {
    let own = Shape::eval(ring, Basis::range(0, 4));
    let mut values: Vec<D::Poly> = (0..3).map(|i| random(dev, &own, Role::Ciphertext, i)).collect();
    let (mut read, mut regions) = (Vec::new(), Vec::new());
    for &(op, i, j) in script {
        let (i, j) = (usize::from(i) % values.len(), usize::from(j) % values.len());
        let next = match op % 10 {
            0 => dev.add(&values[i], &values[j]),
            1 => dev.mul(&values[i], &values[j]),
            2 => dev.ntt(dev.intt(values[i].clone())),
            3 => dev.automorphism(&values[i], GaloisElement::rotation(3, ring.log_n())),
            4 => dev.scale_limbs(values[i].clone(), &[u64::from(op), 2, 3, 4]),
            5 => dev.key_switch(&values[i], key)[j % 2].clone(),
            6 => {
                regions.push(dev.region("piece", u32::from(op)));
                continue;
            }
            7 => {
                regions.pop();
                continue;
            }
            8 => {
                read.push(dev.download(&values[i]).unwrap());
                continue;
            }
            _ => dev.neg(values[i].clone()),
        };
        values[i] = next;
    }
    while regions.pop().is_some() {}
    read.extend(words(dev, &values));
    read
}

/// Arbitrary programs, each several times over, agree with the CPU and are replayed.
fn arbitrary_regions_agree(cases: u32, dev: &Cuda) {
    let cpu = Cpu::new(Isa::Scalar, 1).unwrap();
    let (near, far) = (switching(dev).0, switching(&cpu).0);
    let ring = near.pairs[0][0].shape.ring.clone();
    let beside = cpu.ring(ring.spec()).unwrap();
    arbitrary(cases, &prop::collection::vec(any::<(u8, u8, u8)>(), 1..60), |script| {
        let want = program(&cpu, &beside, &far, &script);
        let _outer = dev.region("program", 0);
        for _ in 0..4 {
            assert!(program(dev, &ring, &near, &script) == want);
        }
    });
    let Launches { asked, issued, replayed, graphs, .. } = dev.launches();
    assert!(asked == issued + replayed && graphs > 10 && replayed > asked / 4, "{:?}", dev.launches());
}

#[test]
fn arbitrary_regions_agree_on_the_host() {
    steady(|watched| arbitrary_regions_agree(10, &watched.dev));
}

#[test]
fn arbitrary_regions_agree_on_a_gpu() {
    with_device("cuda", || gpu(Cuda::builder().replay(Replay::Steady)), |dev| arbitrary_regions_agree(cases(40), &dev));
}

/// A driver that writes down what it is given: launches by their first argument, in graphs or alone, and other requests as 0.
#[derive(Default)]
struct Log {
    properties: Option<Properties>,
    given: Mutex<Vec<u64>>,
    graphs: Mutex<HashMap<u64, Vec<u64>>>,
    refuses: bool,
}

impl Log {
    fn other(&self) -> Result<(), Failure> {
        self.given.lock().unwrap().push(0);
        Ok(())
    }
}

impl Driver for Log {
    fn properties(&self) -> &Properties {
        self.properties.as_ref().unwrap()
    }

    fn allocate(&self, _words: usize, _place: Place) -> Result<u64, Failure> {
        let none = self.graphs.lock().unwrap().values().all(Vec::is_empty);
        if none { Ok(16) } else { Err(Failure::Memory) }
    }

    fn release(&self, _at: u64, _words: usize, _place: Place) {
        self.other().unwrap();
    }

    fn write(&self, _to: u64, _words: &[u64], _place: Place) -> Result<(), Failure> {
        self.other()
    }

    fn read(&self, _from: u64, _words: &mut [u64], _place: Place) -> Result<(), Failure> {
        self.other()
    }

    fn zero(&self, _at: u64, _words: usize, _place: Place) -> Result<(), Failure> {
        self.other()
    }

    fn launch(&self, launch: &crate::launch::Launch) -> Result<(), Failure> {
        self.given.lock().unwrap().push(launch.args.words[0]);
        Ok(())
    }

    fn graph(&self, launches: &[crate::launch::Launch]) -> Result<u64, Failure> {
        if self.refuses {
            return Err(Failure::Memory);
        }
        let mut graphs = self.graphs.lock().unwrap();
        let number = graphs.len() as u64;
        assert!(graphs.insert(number, launches.iter().map(|l| l.args.words[0]).collect()).is_none());
        Ok(number)
    }

    fn replay(&self, graph: u64) -> Result<(), Failure> {
        let launches = self.graphs.lock().unwrap()[&graph].clone();
        assert!(!launches.is_empty(), "a graph that was given up");
        self.given.lock().unwrap().extend(launches);
        Ok(())
    }

    fn discard(&self, graph: u64) {
        assert!(!self.graphs.lock().unwrap().insert(graph, Vec::new()).unwrap().is_empty(), "given up twice");
    }

    fn copy(&self, _to: u64, _from: u64, _words: usize) -> Result<(), Failure> {
        self.other()
    }

    fn event(&self, _queue: Stream) -> Result<Event, Failure> {
        self.other().map(|()| Event(0))
    }

    fn wait_for(&self, _queue: Stream, _mark: Event) -> Result<(), Failure> {
        self.other()
    }

    fn forget(&self, _mark: Event) {}

    fn wait(&self) -> Result<(), Failure> {
        self.other()
    }
}

/// Whatever is asked in whatever order, the driver gets the same in the same order: with room for a few stretches only, and
/// where it refuses graphs.
#[test]
fn the_driver_gets_what_was_asked_for() {
    // Pieces that repeat: (which, how often), of beginnings and ends of regions, launches, and other requests.
    let piece = prop::collection::vec(0u8..16, 1..80);
    let pieces = (prop::collection::vec(piece, 1..4), prop::collection::vec((0usize..4, 1usize..5), 1..20));
    let run = |refuses: bool, (pieces, order): &(Vec<Vec<u8>>, Vec<(usize, usize)>)| {
        let log = Arc::new(Log { refuses, ..Log::default() });
        let way = Replayer::with_room(log.clone(), Replay::Steady, 1200);
        let mut asked = Vec::new();
        let launch =
            |argument: u64| Blocks::words(1, 1).of("lw_zeros", Args::default().word(argument).constants([argument]));
        for piece in order.iter().flat_map(|&(which, times)| std::iter::repeat_n(&pieces[which % pieces.len()], times))
        {
            let mut depth = 0;
            for &what in piece {
                match what {
                    0 => (depth += 1, way.enter().unwrap()).1,
                    1 if depth > 0 => (depth -= 1, way.leave().unwrap()).1,
                    2 => (asked.push(0), way.wait().unwrap()).1,
                    3 => {
                        (
                            asked.push(77),
                            std::thread::scope(|s| s.spawn(|| way.ask(launch(77))).join().unwrap().unwrap()),
                        )
                            .1
                    }
                    _ => (asked.push(what.into()), way.ask(launch(what.into())).unwrap()).1,
                }
            }
            (0..depth).for_each(|_| way.leave().unwrap());
        }
        assert_eq!(*log.given.lock().unwrap(), asked);
        let given_up = log.graphs.lock().unwrap().values().filter(|launches| launches.is_empty()).count() as u64;
        [way.launches().replayed, given_up]
    };
    let done = Mutex::new([0; 2]);
    arbitrary(60, &pieces, |pieces| {
        assert_eq!(run(true, &pieces), [0, 0]);
        done.lock().unwrap().iter_mut().zip(run(false, &pieces)).for_each(|(sum, more)| *sum += more);
    });
    assert!(done.lock().unwrap().iter().all(|&sum| sum > 0), "{done:?}");
}

/// Where graphs have taken the memory, values get it.
#[test]
fn graphs_give_way() {
    let log = Arc::new(Log::default());
    let way = Replayer::new(log.clone(), Replay::Steady);
    let launch = |argument| Blocks::words(1, 1).of("lw_zeros", Args::default().word(argument));
    let around = |middle: &dyn Fn()| {
        way.enter().unwrap();
        (1..=4).for_each(|i| way.ask(launch(i)).unwrap());
        middle();
        (5..=6).for_each(|i| way.ask(launch(i)).unwrap());
        way.leave().unwrap();
    };
    (0..3).for_each(|_| around(&|| ()));
    assert_eq!(way.launches().graphs, 1);
    around(&|| assert_eq!(way.allocate(1, Place::Device), Ok(16)));
    // It is learnt anew, and gives way again.
    (0..4).for_each(|_| around(&|| assert_eq!(way.allocate(1, Place::Device), Ok(16))));
    assert_eq!(way.launches().graphs, 2);
    let given: Vec<u64> = log.given.lock().unwrap().iter().copied().filter(|&what| what != 0).collect();
    assert_eq!(given, [1, 2, 3, 4, 5, 6].repeat(8));
}

/// What the environment may say.
#[test]
fn ways_have_names() {
    assert_eq!(["steady", "off", "on"].map(Replay::from_name), [Some(Replay::Steady), Some(Replay::Off), None]);
    let error = crate::OpenError::Replay { got: "on".into() };
    assert_eq!(
        error.to_string(),
        "LIMBWISE_REPLAY is \"on\", but can be steady (launches that a program repeats become graphs) or off"
    );
}
