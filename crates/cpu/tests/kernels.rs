//! Every kernel against `math`, for every ring degree and primes at both ends of every range the planner knows.

use limbwise_cpu::{
    Isa,
    kernels::{
        LimbKernels,
        blind::{Prefetch, Scratch, Step},
        kernels,
        limb::Ahead,
        sums::{End, Onto, Sum, Term},
    },
    layout::{self, Line, Part},
};
use limbwise_device::Gadget;
use limbwise_math::{
    modulus::Modulus,
    ntt::NttTable,
    prime::{ntt_primes_below, ntt_primes_near},
};

/// Instruction sets of this machine; LIMBWISE_REQUIRE is enforced by the conformance suite.
fn available() -> Vec<Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available()).collect()
}

/// The largest and the smallest prime of some widths, as far as they exist.
fn primes(log_n: u32) -> Vec<Modulus> {
    let widths = [20, 25, 30, 31, 40, 47, 48, 49, 50, 52, 55, 60, 61];
    let largest = widths.iter().filter_map(|&bits| ntt_primes_below(log_n, bits, 1, &[]).ok()).flatten();
    let smallest = [30, 48, 49, 50, 51, 61].iter().filter_map(|&bits| {
        let bound = 1u64 << (bits - 1);
        ntt_primes_near(log_n, bound).find(|&q| q > bound)
    });
    largest.chain(smallest).map(Modulus::new).collect()
}

/// Residues with a pattern: all q − 1, random 0 or q − 1, random, alternating runs.
fn words(q: Modulus, n: usize, pattern: u64) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ pattern;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let word = |i: usize| match pattern {
        0 => q.value() - 1,
        1..=3 => (q.value() - 1) * (random() >> 20 & 1),
        4 => (q.value() - 1) * (i as u64 >> 3 & 1),
        _ => q.reduce(random()),
    };
    (0..n).map(word).collect()
}

#[test]
fn transforms_equal_the_reference() {
    for log_n in 10..=17 {
        let n = 1 << log_n;
        for q in primes(log_n) {
            let table = NttTable::new(q, log_n);
            let all: Vec<_> = available().into_iter().map(|isa| kernels(isa, q, log_n)).collect();
            let patterns = if log_n < 14 { (0..8).collect() } else { vec![0, 1, 5] };
            for pattern in patterns {
                let x = words(q, n, pattern);
                let (mut values, mut coefficients) = (x.clone(), x.clone());
                table.forward(&mut values);
                table.inverse(&mut coefficients);
                for kernels in &all {
                    let about = format!("{} at N=2^{log_n}, q={}, pattern {pattern}", kernels.isa().name(), q.value());
                    let (mut limb, mut got) = (vec![Line([u64::MAX; 8]); layout::lines(log_n)], vec![0; n]);
                    layout::write_coefficients(&mut limb, &x);
                    kernels.ntt(&mut limb);
                    layout::read_values(&limb, &mut got);
                    assert!(got == values, "forward, {about}");
                    layout::write_coefficients(&mut limb, &x);
                    Part::strips(limb.len()).for_each(|part| kernels.ntt_strip(&mut limb, part.first()));
                    let blocks = layout::blocks_mut(&mut limb).enumerate();
                    blocks.for_each(|(number, block)| kernels.ntt_block(block, number, &mut Ahead::nothing()));
                    layout::read_values(&limb, &mut got);
                    assert!(got == values, "forward in parts, {about}");
                    layout::write_values(&mut limb, &x);
                    kernels.intt(&mut limb);
                    layout::read_coefficients(&limb, &mut got);
                    assert!(got == coefficients, "inverse, {about}");
                }
            }
        }
    }
}

fn limb(words: &[u64]) -> Vec<Line> {
    let mut limb = vec![Line::default(); words.len() / 8];
    layout::write_coefficients(&mut limb, words);
    limb
}

#[test]
fn element_wise_kernels_equal_the_modulus() {
    type Kernel = fn(&dyn LimbKernels, &mut [Line], &[Line], &[Line]);
    type Meaning = fn(Modulus, u64, u64, u64) -> u64;
    let ops: [(Kernel, Meaning); 9] = [
        (|k, out, a, b| k.add(out, a, b), |q, _, a, b| q.add(a, b)),
        (|k, out, a, b| k.sub(out, a, b), |q, _, a, b| q.sub(a, b)),
        (|k, out, a, b| k.mul(out, a, b), |q, _, a, b| q.mul(a, b)),
        (|k, out, a, _| k.add_assign(out, a), |q, old, a, _| q.add(old, a)),
        (|k, out, a, b| k.mul_acc(out, a, b), |q, old, a, b| q.add(old, q.mul(a, b))),
        (|k, out, _, _| k.neg(out), |q, old, _, _| q.neg(old)),
        (|k, out, _, b| k.scale(out, b[0].0[0]), |q, old, _, b| q.mul(old, b)),
        (|k, out, _, b| k.shift(out, b[0].0[0]), |q, old, _, b| q.add(old, b)),
        (|k, out, a, b| k.divide(out, a, b[0].0[0]), |q, old, a, b| q.mul(q.sub(a, old), b)),
    ];
    let log_n = 10;
    for q in primes(log_n) {
        for isa in available() {
            let table = kernels(isa, q, log_n);
            for pattern in 0..8 {
                let data = [pattern, pattern ^ 1, pattern ^ 3].map(|p| words(q, 1 << log_n, p + 8 * (p / 4)));
                for (i, (kernel, meaning)) in ops.iter().enumerate() {
                    let [old, a, b] = &data;
                    let (mut out, mut got) = (limb(old), vec![0; old.len()]);
                    kernel(table.as_ref(), &mut out, &limb(a), &limb(b));
                    layout::read_coefficients(&out, &mut got);
                    for (j, &word) in got.iter().enumerate() {
                        let constant = if i >= 6 { b[0] } else { b[j] };
                        let wanted = meaning(q, old[j], a[j], constant);
                        assert_eq!(word, wanted, "op {i}, {}, q={}, word {j}", isa.name(), q.value());
                    }
                }
            }
        }
    }
}

/// Combinations of as many limbs as force each grouping, with the largest residues and with random ones.
#[test]
fn combinations_equal_the_modulus() {
    let n = 1 << 10;
    for q in primes(10) {
        for (pattern, count) in [0, 1, 6].into_iter().flat_map(|p| [1, 2, 6, 7, 13, 40].map(|c| (p, c))) {
            let at = |i: usize| words(q, n, if pattern == 0 { 0 } else { pattern + 8 * i as u64 });
            let operands: Vec<Vec<u64>> = (0..count).map(at).collect();
            let limbs: Vec<Vec<Line>> = operands.iter().map(|x| limb(x)).collect();
            let constant = |i: usize| if pattern == 0 { q.value() - 1 } else { operands[i][i] };
            let terms: Vec<(&[Line], u64)> = limbs.iter().enumerate().map(|(i, x)| (&x[..], constant(i))).collect();
            let product = |i: usize, j: usize| q.mul(operands[i][j], constant(i));
            let wanted = |j: usize| (0..count).fold(0, |sum, i| q.add(sum, product(i, j)));
            for isa in available() {
                let (mut out, mut got) = (limb(&operands[0]), vec![0; n]);
                kernels(isa, q, 10).combination(&mut out, &terms);
                layout::read_coefficients(&out, &mut got);
                let wrong = (0..n).find(|&j| got[j] != wanted(j));
                assert_eq!(wrong, None, "{count} terms, {}, q={}", isa.name(), q.value());
            }
        }
    }
}

/// Sums of as many products as force each grouping, of the largest residues and of random ones.
#[test]
fn sums_of_products_equal_the_modulus() {
    let n = 1 << 10;
    for q in primes(10) {
        let at = |i: usize, pattern: u64| words(q, n, if pattern == 0 { 0 } else { pattern + 8 * i as u64 });
        for (pattern, count) in [0, 1, 6].into_iter().flat_map(|p| [0, 1, 5, 6, 7, 8, 12, 13, 30].map(|c| (p, c))) {
            let operands: Vec<[Vec<u64>; 3]> = (0..count).map(|i| [0, 1, 2].map(|j| at(3 * i + j, pattern))).collect();
            let limbs: Vec<[Vec<Line>; 3]> = operands.iter().map(|all| all.each_ref().map(|x| limb(x))).collect();
            let terms = limbs.iter().map(|[factor, b, a]| Term { factor, with: [b, a] });
            let terms: Vec<Term<'_, 2>> = terms.collect();
            let old = [at(100, pattern), at(101, pattern)];
            let times = q.value() - 1;
            let base = limb(&old[1]);
            for onto in [None, Some(Onto { limbs: [None, Some(&base[..])], times })] {
                for end in [End::Set, End::Add, End::Divide(times - 1)] {
                    let wanted = |h: usize, i: usize| {
                        let started = if onto.is_some() && h == 1 { q.mul(old[1][i], times) } else { 0 };
                        let product = |all: &[Vec<u64>; 3]| q.mul(all[0][i], all[h + 1][i]);
                        let sum = operands.iter().fold(started, |sum, all| q.add(sum, product(all)));
                        match end {
                            End::Set => sum,
                            End::Add => q.add(sum, old[h][i]),
                            End::Divide(c) => q.mul(q.sub(sum, old[h][i]), c),
                        }
                    };
                    for isa in available() {
                        let mut out = old.each_ref().map(|x| limb(x));
                        let sum = Sum { terms: &terms, onto, end };
                        kernels(isa, q, 10).inner_products(out.each_mut().map(|x| &mut x[..]), &sum);
                        for (h, out) in out.iter().enumerate() {
                            let mut got = vec![0; n];
                            layout::read_coefficients(out, &mut got);
                            let wrong = (0..n).find(|&i| got[i] != wanted(h, i));
                            assert_eq!(wrong, None, "{count} terms, {end:?}, {}, q={}", isa.name(), q.value());
                        }
                    }
                }
            }
        }
    }
}

/// Limbs as a kernel writes to them.
fn writable(limbs: &mut [Vec<Line>]) -> Vec<&mut [Line]> {
    limbs.iter_mut().map(|limb| &mut limb[..]).collect()
}

/// A step of a blind rotation as a whole.
fn whole_step(kernels: &dyn LimbKernels, step: &Step<'_>, acc: &mut [Vec<Line>]) {
    let length = layout::lines(step.log_n);
    let mut digits = vec![vec![Line::default(); length]; acc.len() * step.gadget.levels() as usize];
    let mut sums = vec![vec![Line::default(); length]; acc.len()];
    let mut scratch = Scratch { digits: writable(&mut digits), sums: writable(&mut sums) };
    kernels.blind_step(step, &mut writable(acc), &mut scratch);
}

/// The same in halves, component by component.
fn halves_of_step(kernels: &dyn LimbKernels, step: &Step<'_>, acc: &mut [Vec<Line>]) {
    let (length, levels) = (layout::lines(step.log_n), step.gadget.levels() as usize);
    let mut digits = vec![vec![Line::default(); length]; acc.len() * levels];
    for (acc, digits) in acc.iter().zip(digits.chunks_exact_mut(levels)) {
        kernels.blind_digits(step, acc, &mut writable(digits));
    }
    let digits: Vec<&[Line]> = digits.iter().map(|digit| &digit[..]).collect();
    for (c, acc) in acc.iter_mut().enumerate() {
        kernels.blind_sum(step, c, &digits, (&mut vec![Line::default(); length], acc));
    }
}

/// The halves of a step of a blind rotation are the step, and all instruction sets do the same.
#[test]
fn halves_of_a_blind_step_are_the_step() {
    for (log_n, bits, components, levels, base_log) in [
        (10, 48, 2u64, 2, 8),
        (10, 50, 3, 1, 5),
        (11, 50, 2, 1, 23),
        (11, 49, 2, 3, 9),
        (11, 36, 2, 2, 6),
        (12, 49, 2, 2, 16),
    ] {
        let modulus = Modulus::new(ntt_primes_below(log_n, bits, 1, &[]).unwrap()[0]);
        let (n, length) = (1u64 << log_n, layout::lines(log_n));
        let gadget = Gadget { base_log, levels }.of(modulus.value());
        let random = |pattern: u64| limb(&words(modulus, 1 << log_n, pattern));
        let key: Vec<Vec<Line>> = (0..components * components * u64::from(levels)).map(|i| random(5 + i)).collect();
        let key: Vec<&[Line]> = key.iter().map(|limb| &limb[..]).collect();
        let mut results: Vec<Vec<Vec<Line>>> = Vec::new();
        for isa in available() {
            let kernels = kernels(isa, modulus, log_n);
            // A line more than a limb for each accumulator.
            let start = |c: u64| {
                let mut acc = random(40 + c);
                acc.resize(length + 1, Line::default());
                acc
            };
            let mut whole: Vec<Vec<Line>> = (0..components).map(start).collect();
            kernels.blind_start(&mut writable(&mut whole));
            let mut halves = whole.clone();
            for exponent in [1, 0, n, 2 * n - 8, 77] {
                let next = Prefetch { limbs: &key, lines: 0..length };
                let step = Step { modulus, log_n, gadget, exponent, key: &key, next };
                whole_step(&*kernels, &step, &mut whole);
                halves_of_step(&*kernels, &step, &mut halves);
                assert!(whole == halves, "{isa:?}, N = 2^{log_n}, {bits} bits, X^{exponent}");
            }
            results.push(whole.into_iter().map(|acc| acc[..length].to_vec()).collect());
        }
        for (isa, got) in available().iter().zip(&results) {
            assert!(*got == results[0], "{isa:?}, N = 2^{log_n}, {bits} bits");
        }
    }
}
