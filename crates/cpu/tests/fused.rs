//! Fused composites equal their default bodies on shapes of all kinds, and a steady loop of them takes no memory.

use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Basis, Device, Domain, GadgetKey, Handle, HostRead, Ring, RingSpec, Role, Rotation, Shape, Terms, Weight,
    composites,
};
use limbwise_math::{
    galois::GaloisElement,
    prime::ntt_primes_below,
    sampling::{Seed, Stream},
};
use proptest::prelude::*;

type Poly = <Cpu as Device>::Poly;

/// One shape: prime widths (those after the digits' are of special primes), and how many primes a digit has.
#[derive(Clone, Debug)]
struct Case {
    log_n: u32,
    widths: Vec<u32>,
    digits: Vec<usize>,
    batch: usize,
    key_batch: usize,
}

/// Sizes small enough to be many, and every kernel's edge: mixed widths, digits of 1 … 9 primes, up to 12 digits.
fn cases() -> impl Strategy<Value = Case> {
    let width = prop_oneof![4 => 40..=50u32, 1 => 25..=61u32];
    let digits = prop_oneof![
        prop::collection::vec(1..=3usize, 1..=4),
        prop::collection::vec(Just(1), 9..=12),
        prop::collection::vec(8..=9usize, 1..=2),
    ];
    let log_n = prop_oneof![4 => 10..=11u32, 1 => 12..=13u32];
    (log_n, digits, 1..=4usize, 1..=3usize, any::<bool>()).prop_flat_map(move |(log_n, digits, special, batch, one)| {
        let count = digits.iter().sum::<usize>() + special;
        prop::collection::vec(width.clone(), count).prop_map(move |widths| Case {
            log_n,
            widths,
            digits: digits.clone(),
            batch,
            key_batch: if one { 1 } else { batch },
        })
    })
}

fn ring(dev: &Cpu, case: &Case) -> Ring {
    let mut primes = Vec::new();
    for &bits in &case.widths {
        let bits = bits.max(case.log_n + 14); // enough primes that are 1 modulo 2N
        primes.extend(ntt_primes_below(case.log_n, bits, 1, &primes).expect("wide enough"));
    }
    dev.ring(&RingSpec { log_n: case.log_n, primes }).expect("checked primes")
}

/// Uniform words, or only 0 and q − 1.
fn random(dev: &Cpu, shape: &Shape, label: u64) -> Poly {
    dev.upload(shape, Role::Temporary, &|at, row| {
        let mut stream =
            Stream::new(&Seed([7; 32]), &[label, at.batch as u64, at.prime as u64].map(u64::to_le_bytes).concat());
        stream.uniform(at.modulus, row);
        if label.is_multiple_of(3) {
            row.iter_mut().for_each(|x| *x = (*x % 2) * (at.modulus.value() - 1));
        }
    })
}

fn same(dev: &Cpu, what: &str, got: &Poly, want: &Poly) {
    assert_eq!(got.shape(), want.shape(), "{what}");
    assert!(dev.download(got).expect("no fault") == dev.download(want).expect("no fault"), "{what}");
}

/// The digits of a case, one after another from prime 0, but every other prime swapped with the end: gaps in both.
fn digits(case: &Case) -> Vec<Basis> {
    let count: usize = case.digits.iter().sum();
    let order: Vec<usize> =
        (0..count).map(|i| if i % 2 == 0 { i } else { count - 1 - (count - 1 - i) / 2 * 2 }).collect();
    let mut used = Basis::default();
    let mut free = order.into_iter().chain(0..count);
    let mut take = |k: usize| {
        let mut digit = Basis::default();
        while digit.len() < k {
            let i = free.next().expect("as many primes as the digits have");
            if !used.contains(i) {
                (digit, used) = (digit | Basis::single(i), used | Basis::single(i));
            }
        }
        digit
    };
    case.digits.iter().map(|&k| take(k)).collect()
}

fn compare(dev: &Cpu, case: &Case) {
    let ring = ring(dev, case);
    let digits = digits(case);
    let chain = Basis::range(0, case.digits.iter().sum());
    let special = ring.full() - chain;
    let c = random(dev, &Shape::eval(&ring, chain).with_batch(case.batch), 1);
    let wide = Shape::eval(&ring, ring.full()).with_batch(case.key_batch);
    let pair = |i: usize| [0, 1].map(|half| random(dev, &wide, 10 + 2 * i as u64 + half));
    let key = GadgetKey { digits: digits.clone(), special, pairs: (0..digits.len()).map(pair).collect() };

    let raised = composites::mod_up(dev, &c, &digits, ring.full());
    let fused = dev.mod_up(&c, &digits, ring.full());
    raised.iter().zip(&fused).for_each(|(want, got)| same(dev, "mod_up", got, want));
    let product = composites::gadget_product(dev, &raised, &key);
    let down = product.each_ref().map(|half| composites::mod_down(dev, half, chain));
    let fused = dev.gadget_product(&raised, &key);
    product.iter().zip(&fused).for_each(|(want, got)| same(dev, "gadget_product", got, want));
    down.iter().zip(&product).for_each(|(want, half)| same(dev, "mod_down", &dev.mod_down(half, chain), want));
    down.iter().zip(&dev.key_switch(&c, &key)).for_each(|(want, got)| same(dev, "key_switch", got, want));
    let count = chain.len();
    let shape = Shape::eval(&ring, chain);
    let (d, e) = (random(dev, &shape.with_batch(case.batch), 4), random(dev, &shape, 5));
    for (onto, left) in
        [([Some(&d), Some(&e)], count - 1), ([None, Some(&d)], count.div_ceil(2)), ([Some(&e), None], count)]
    {
        let to = Basis::range(count - left.max(1), count);
        let want = composites::key_switch_onto(dev, &c, &key, onto, to);
        let got = dev.key_switch_onto(&c, &key, onto, to);
        want.iter().zip(&got).for_each(|(want, got)| same(dev, "key_switch_onto", got, want));
    }
    undivided(dev, &c, [&d, &e], &key);
    for dropped in [Basis::single(count - 1), Basis::single(count / 2), Basis::range(count - count / 2, count)] {
        let to = chain - dropped;
        if !to.is_empty() && !dropped.is_empty() {
            same(dev, "rescale", &dev.rescale(&c, to), &composites::rescale(dev, &c, to));
        }
    }
}

/// Key switches over QP, and sums of more rotations than fit the rows of a thread at a time, with weights of both kinds.
fn undivided(dev: &Cpu, c: &Poly, onto: [&Poly; 2], key: &GadgetKey<Poly>) {
    let ring = &c.shape().ring;
    let batch = c.shape().batch.max(key.pairs[0][0].shape().batch);
    let wide = Shape::eval(ring, ring.full());
    let whole = random(dev, &wide.with_batch(batch), 6);
    for halves in [[None, Some(&whole)], [Some(&whole), None]] {
        let want = composites::key_switch_undivided(dev, c, key, halves);
        let got = dev.key_switch_undivided(c, key, halves);
        want.iter().zip(&got).for_each(|(want, got)| same(dev, "key_switch_undivided", got, want));
    }
    let rotation = |steps| Rotation { galois: GaloisElement::rotation(steps, ring.log_n()), key: key.clone() };
    let rotations: Vec<Rotation<Poly>> = [1, 5, -2, 64, 7].map(rotation).into();
    let more = [dev.stack(&[&whole, &whole])];
    let (w, v) = (random(dev, &wide, 7), random(dev, &wide, 8));
    let limb = random(dev, &Shape::eval(ring, Basis::single(0)).with_domain(Domain::Coeff), 9);
    let plain = |i| (i, Weight::Values(if i % 2 == 0 { &w } else { &v }));
    let all: [Vec<Terms<'_, Poly>>; 2] = [
        vec![
            (0..6).map(plain).collect(),
            vec![plain(5)],
            vec![plain(4), plain(4)],
            (0..20).map(|i| plain(i % 5)).collect(),
        ],
        vec![
            vec![(0, Weight::OneLimb(&limb)), plain(1), (5, Weight::OneLimb(&limb))],
            vec![(4, Weight::OneLimb(&limb))],
        ],
    ];
    for onto in onto {
        for sums in &all {
            let want = composites::rotated_sums(dev, c, onto, &rotations, &more, sums);
            let got = dev.rotated_sums(c, onto, &rotations, &more, sums);
            want.iter().zip(&got).for_each(|(want, got)| same(dev, "rotated_sums", got, want));
        }
    }
}

/// Weighted sums: how many operands; for each sum its terms, an operand, a kind of weight and its batch (one or all).
#[derive(Clone, Debug)]
struct Sums {
    log_n: u32,
    widths: Vec<u32>,
    batch: usize,
    operands: usize,
    sums: Vec<Vec<(usize, bool, bool)>>,
}

/// One term, operands in no sum, more terms than are summed without a reduction, weights of both kinds and batches.
fn sums() -> impl Strategy<Value = Sums> {
    let log_n = prop_oneof![4 => 10..=11u32, 1 => 12..=13u32];
    (log_n, 1..=5usize, 1..=4usize, 1..=12usize).prop_flat_map(|(log_n, limbs, batch, operands)| {
        let width = prop_oneof![4 => 40..=50u32, 1 => 25..=61u32];
        let whole = prop_oneof![4 => Just(false), 1 => Just(true)];
        let terms = prop::collection::vec((0..operands, any::<bool>(), whole), 1..=20);
        let all = (prop::collection::vec(width, limbs), prop::collection::vec(terms, 1..=4));
        all.prop_map(move |(widths, sums)| Sums { log_n, widths, batch, operands, sums })
    })
}

fn compare_sums(dev: &Cpu, sums: &Sums) {
    let case = Case { log_n: sums.log_n, widths: sums.widths.clone(), digits: vec![], batch: 1, key_batch: 1 };
    let ring = ring(dev, &case);
    let count = ring.moduli().len();
    let shape = Shape::eval(&ring, Basis::range(count / 3, count)).with_batch(sums.batch);
    let x: Vec<Poly> = (0..sums.operands).map(|i| random(dev, &shape, i as u64)).collect();
    let weight = |(label, &(i, one_limb, whole)): (u64, &(usize, bool, bool))| {
        let shape = shape.with_batch(if whole { sums.batch } else { 1 });
        let limb = Basis::single(usize::try_from(label).expect("small") % count);
        let shape = if one_limb { shape.with_basis(limb).with_domain(Domain::Coeff) } else { shape };
        (i, one_limb, random(dev, &shape, 100 + label))
    };
    let weights: Vec<Vec<_>> = sums.sums.iter().map(|terms| (0..).zip(terms).map(weight).collect()).collect();
    let terms: Vec<Terms<'_, Poly>> = weights
        .iter()
        .map(|sum| {
            sum.iter().map(|(i, one, w)| (*i, if *one { Weight::OneLimb(w) } else { Weight::Values(w) })).collect()
        })
        .collect();
    let fused = dev.weighted_sums(&x, &terms);
    assert_eq!(fused.len(), terms.len());
    let default = composites::weighted_sums(dev, &x, &terms);
    fused.iter().zip(&default).for_each(|(got, want)| same(dev, "weighted_sums", got, want));
    let operands: Vec<&Poly> = x.iter().chain(weights.iter().flatten().filter(|w| !w.1).map(|w| &w.2)).collect();
    let constant =
        |i: usize| ring.moduli_of(shape.basis).iter().map(|q| q.value() - 1 - q.reduce(77 * i as u64)).collect();
    let constants: Vec<Vec<u64>> = (0..operands.len()).map(constant).collect();
    let combined = dev.linear_combination(&operands, &constants);
    same(dev, "linear_combination", &combined, &composites::linear_combination(dev, &operands, &constants));
    // Pairs of one batch, each of an operand twice.
    let batch = operands[0].shape().batch.max(operands[operands.len() - 1].shape().batch);
    let fitting: Vec<&Poly> = operands.iter().copied().filter(|p| [1, batch].contains(&p.shape().batch)).collect();
    // More than are listed at a time.
    let count = fitting.len().max(9);
    let terms: Vec<&Poly> = fitting.iter().cycle().take(count).flat_map(|&p| [p, p]).collect();
    let constants: Vec<Vec<u64>> = constants.iter().cycle().take(count).cloned().collect();
    let (x, y) = ([operands[0]; 2], [operands[operands.len() - 1]; 2]);
    for (y, doublings) in [(&y[..], 1), (&[], 0)] {
        let batch = if y.is_empty() { x[0].shape().batch } else { batch };
        let fits = terms.iter().all(|p| [1, batch].contains(&p.shape().batch));
        let (terms, constants) = if fits { (&terms[..], &constants[..]) } else { (&[][..], &[][..]) };
        let fused = dev.tensor(&x, y, doublings, terms, constants);
        let default = composites::tensor(dev, &x, y, doublings, terms, constants);
        fused.iter().zip(&default).for_each(|(got, want)| same(dev, "tensor", got, want));
    }
    for (_, _, limb) in weights.iter().flatten().filter(|(_, one_limb, _)| *one_limb) {
        let extended = dev.extend_limb(limb, shape.basis);
        same(dev, "extend_limb", &extended, &composites::extend_limb(dev, limb, shape.basis));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn fused_composites_equal_their_default_bodies(case in cases(), threads in 1..=2usize) {
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            compare(&Cpu::new(isa, threads).unwrap(), &case);
        }
    }

    #[test]
    fn weighted_sums_equal_their_default_bodies(sums in sums(), threads in 1..=2usize) {
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            compare_sums(&Cpu::new(isa, threads).unwrap(), &sums);
        }
    }
}

/// Rings with padding and the largest common one.
#[test]
fn large_rings() {
    for (log_n, bits) in [(15, 48), (16, 50), (17, 49)] {
        let mut widths = vec![bits; 6];
        widths[1] = 60;
        let case = Case { log_n, widths, digits: vec![2, 1, 1], batch: 1, key_batch: 1 };
        compare(&Cpu::new(Isa::best(), 2).unwrap(), &case);
    }
}

/// What weighted sums hold is their results, and a few limbs a thread for weights that are made on the fly.
#[test]
fn weighted_sums_hold_their_results() {
    let case = Case { log_n: 13, widths: vec![49; 5], digits: vec![], batch: 1, key_batch: 1 };
    for threads in [1, 2] {
        let dev = Cpu::new(Isa::best(), threads).unwrap();
        let ring = ring(&dev, &case);
        let x = [random(&dev, &Shape::eval(&ring, ring.full()).with_batch(2), 1)];
        let limb = random(&dev, &Shape::eval(&ring, Basis::single(1)).with_domain(Domain::Coeff), 2);
        let row = (64 * limbwise_cpu::layout::lines(13)) as u64;
        let held = dev.memory().live_bytes / row;
        let sums = || -> Vec<Terms<'_, Poly>> { vec![vec![(0, Weight::OneLimb(&limb)); 4]; 3] };
        drop(dev.weighted_sums(&x, &sums()));
        let first = (dev.memory(), dev.scratch());
        assert_eq!(first.0.peak_bytes / row, held + 3 * 2 * 5);
        assert_eq!(first.1.peak_bytes / row, 3 * threads as u64);
        drop(dev.weighted_sums(&x, &sums()));
        assert_eq!((dev.memory(), dev.scratch()), first);
    }
}

/// A device with so many threads, a key of three digits, and a pair of polynomials of eight limbs.
fn switching(threads: usize) -> (Cpu, GadgetKey<Poly>, Poly) {
    let case = Case { log_n: 13, widths: vec![49; 10], digits: vec![3, 3, 2], batch: 2, key_batch: 1 };
    let dev = Cpu::new(Isa::best(), threads).expect("a processor");
    let (ring, digits) = (ring(&dev, &case), digits(&case));
    let chain = Basis::range(0, 8);
    let wide = Shape::eval(&ring, ring.full());
    let pair = |_| [0, 1].map(|half| random(&dev, &wide, half));
    let key = GadgetKey { special: ring.full() - chain, pairs: (0..3).map(pair).collect(), digits };
    let c = random(&dev, &Shape::eval(&ring, chain).with_batch(2), 1);
    (dev, key, c)
}

/// What a composite holds is what the footprint says; the second time nothing is taken from the system.
#[test]
fn a_steady_loop_takes_no_memory() {
    for threads in [1, 2] {
        let (dev, key, c) = switching(threads);
        let row = (64 * limbwise_cpu::layout::lines(13)) as u64;
        let held = dev.memory().live_bytes / row;
        drop(dev.key_switch(&c, &key));
        let first = (dev.memory(), dev.scratch());
        // Coefficients, overflows of three digits, two dropped limbs and their overflows for both halves.
        let beside = 8 + 3 + 2 * (2 + 1);
        let result = 2 * c.shape().rows();
        assert_eq!(first.0.peak_bytes / row, held + (result + beside) as u64);
        // All eight limbs of each digit, whatever the number of threads.
        assert_eq!(first.1.peak_bytes / row, 8 * 3);
        for _ in 0..3 {
            let [b, _] = dev.key_switch(&c, &key);
            drop(dev.mod_down(&b, Basis::range(0, 6)));
            drop(dev.rescale(&b, Basis::range(0, 7)));
            assert_eq!(b.shape().domain, Domain::Eval);
        }
        assert_eq!((dev.memory(), dev.scratch()), first);
        let rotation = Rotation { galois: GaloisElement::rotation(1, 13), key: key.clone() };
        let sums = [vec![(0, Weight::Values(&key.pairs[0][0]))]];
        let rotate = || drop(dev.rotated_sums(&c, &c, std::slice::from_ref(&rotation), &[], &sums));
        rotate();
        let after_one = (dev.memory(), dev.scratch());
        let stated = limbwise_cpu::footprint().scratch_rows(threads, 3) as u64;
        assert_eq!(after_one.1.peak_bytes / row, stated, "the rows of a key switch are used");
        rotate();
        assert_eq!((dev.memory(), dev.scratch()), after_one);
    }
}

#[test]
fn what_is_reserved_is_not_allocated_in_the_first_call() {
    for threads in [1, 2] {
        let (dev, key, c) = switching(threads);
        let own = limbwise_cpu::footprint().scratch_rows(threads, key.digits.len());
        dev.reserve(&c.shape().ring, 60, own).unwrap();
        let before = (dev.memory().allocations, dev.scratch().allocations);
        assert_eq!(before.1, own as u64);
        drop(dev.key_switch(&c, &key));
        assert_eq!((dev.memory().allocations, dev.scratch().allocations), before);
    }
}
