//! The suite that every device must pass: its operations against the definitions in `math`.
//!
//! A device's crate inherits the whole suite by one line, [`conformance_suite!`](crate::conformance_suite). A device
//! that the host may lack is skipped, unless `LIMBWISE_REQUIRE` names it: then its absence fails.

mod division;
pub mod footprint;
mod sums;
mod tensor;
mod tfhe;
mod undivided;

pub use tfhe::{blind_rotation, lwe, random_tfhe_program};

use crate::{
    composites,
    matrix::IntegerMatrix,
    ops::{Fault, GadgetKey, Handle, HostRead, KeyId, Role, RowAt, expand_row},
    ring::{Basis, Domain, Ring, RingError, RingSpec, Shape},
};
use limbwise_math::{
    galois::GaloisElement,
    modulus::Modulus,
    ntt::NttTable,
    prime::ntt_primes_below,
    rns::BaseConversion,
    sampling::{Seed, Stream},
};

/// The rings that a device supports, and the share of the suite that is feasible on an interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Longest prime in bits; longer primes of the suite are replaced by ones of this length.
    pub bits: u32,
    /// Largest log₂ of a tested ring degree.
    pub log_n: u32,
    /// Largest number of primes in a ring, at least 4; the last ones of its list are used.
    pub primes: usize,
    /// Largest number of blind rotation cases.
    pub rotations: usize,
}

impl Default for Reach {
    /// No restriction.
    fn default() -> Self {
        Self { bits: 61, log_n: 17, primes: usize::MAX, rotations: usize::MAX }
    }
}

/// Defines the tests of one device: `conformance_suite!(scalar, "scalar", || Cpu::new(…))`, where the closure returns
/// `Option<Device>`. A further [`Reach`] argument restricts the suite.
#[macro_export]
macro_rules! conformance_suite {
    ($module:ident, $requirement:expr, $open:expr) => {
        $crate::conformance_suite!($module, $requirement, $open, $crate::conformance::Reach::default());
    };
    ($module:ident, $requirement:expr, $open:expr, $reach:expr) => {
        $crate::primitives_suite!($module, $requirement, $open, $reach, |dev| {
            fn composites() = $crate::conformance::composites(&dev, $reach);
            // Two tests, so that two cores share what takes the longest.
            fn composites_of_the_largest_ring() = $crate::conformance::composites_of_the_largest_ring(&dev, $reach);
            fn blind_rotation() = $crate::conformance::blind_rotation(&dev, $reach);
        });
    };
}

/// The part of [`conformance_suite!`](crate::conformance_suite) for a device whose composites are all default bodies: there
/// is nothing to compare them with. Further tests of the device may follow.
#[macro_export]
macro_rules! primitives_suite {
    (
        $module:ident, $requirement:expr, $open:expr, $reach:expr
        $(, |$dev:ident| { $(fn $name:ident() = $test:expr;)+ })?
    ) => {
        mod $module {
            #[allow(unused_imports, reason = "the closure may name what the parent imports")]
            use super::*;

            #[test]
            fn primitives() {
                $crate::conformance::with_device($requirement, $open, |dev| {
                    $crate::conformance::primitives(&dev, $reach)
                });
            }

            #[test]
            fn views_and_places() {
                $crate::conformance::with_device($requirement, $open, |dev| $crate::conformance::views(&dev, $reach));
            }

            #[test]
            fn lwe() {
                $crate::conformance::with_device($requirement, $open, |dev| $crate::conformance::lwe(&dev, $reach));
            }

            #[test]
            fn composites_by_definition() {
                $crate::conformance::with_device($requirement, $open, |dev| {
                    $crate::conformance::composites_by_definition(&dev, $reach)
                });
            }

            #[test]
            fn refusals() {
                $crate::conformance::with_device($requirement, $open, |dev| $crate::conformance::refusals(&dev));
            }

            $($(#[test]
            fn $name() {
                $crate::conformance::with_device($requirement, $open, |$dev| $test);
            })+)?
        }
    };
}

/// Runs a test if the device exists. Otherwise prints that it is skipped, or fails if `LIMBWISE_REQUIRE` names it.
///
/// # Panics
/// If the device is required and absent.
pub fn with_device<D>(requirement: &str, open: impl FnOnce() -> Option<D>, test: impl FnOnce(D)) {
    let required = std::env::var("LIMBWISE_REQUIRE").unwrap_or_default();
    match open() {
        Some(dev) => test(dev),
        None if required.split(',').any(|r| r == requirement) => {
            panic!("LIMBWISE_REQUIRE names {requirement}, and this machine has none")
        }
        None => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "SKIPPED: this machine has no {requirement}");
        }
    }
}

/// Rings at the boundaries of kernels: sizes, paddings, prime widths.
fn rings<D: HostRead>(dev: &D, reach: Reach) -> Vec<Ring> {
    let widths: [(u32, &[u32]); 5] = [
        (10, &[50, 50, 49, 48, 45, 30, 20]),
        (12, &[50, 49, 40, 31, 50]),
        (13, &[48, 60, 50, 55, 61]),
        (14, &[49, 50, 61, 36]),
        (16, &[50, 48, 61, 40]),
    ];
    widths
        .iter()
        .filter(|(log_n, _)| *log_n <= reach.log_n)
        .map(|(log_n, bits)| {
            let mut primes = Vec::new();
            for &b in &bits[bits.len().saturating_sub(reach.primes)..] {
                primes.extend(ntt_primes_below(*log_n, b.min(reach.bits), 1, &primes).expect("primes exist"));
            }
            dev.ring(&RingSpec { log_n: *log_n, primes }).expect("the device takes primes of 20 bits to its reach")
        })
        .collect()
}

/// Words with edges: zeros, q − 1, and uniform ones.
fn words(shape: &Shape, label: u64) -> Vec<u64> {
    let mut stream = Stream::new(&Seed([3; 32]), &label.to_le_bytes());
    let n = shape.ring.n();
    let mut all = vec![0; shape.rows() * n];
    let moduli = shape.ring.moduli_of(shape.basis);
    for (i, row) in all.chunks_exact_mut(n).enumerate() {
        let q = moduli[i % moduli.len()];
        stream.uniform(q, row);
        row[..4].copy_from_slice(&[0, q.value() - 1, 1, q.value() / 2]);
        if label.is_multiple_of(5) {
            row.iter_mut().for_each(|x| *x = if *x % 2 == 0 { 0 } else { q.value() - 1 });
        }
    }
    all
}

fn upload<D: HostRead>(dev: &D, shape: &Shape, data: &[u64]) -> D::Poly {
    upload_as(dev, Role::Temporary, shape, data)
}

/// Uploads a key, which a device may place in other memory than ciphertexts.
fn upload_key<D: HostRead>(dev: &D, shape: &Shape, data: &[u64]) -> D::Poly {
    upload_as(dev, Role::EvaluationKey(KeyId(0)), shape, data)
}

fn upload_as<D: HostRead>(dev: &D, role: Role, shape: &Shape, data: &[u64]) -> D::Poly {
    let n = shape.ring.n();
    dev.upload(shape, role, &|at, row| {
        let limb = shape.basis.position(at.prime).expect("a prime of the basis");
        row.copy_from_slice(&data[(at.batch * shape.basis.len() + limb) * n..][..n]);
    })
}

fn expect<D: HostRead>(dev: &D, op: &str, got: &D::Poly, shape: &Shape, want: &[u64]) {
    assert_eq!(got.shape(), shape, "{op}: shape");
    let got = dev.download(got).expect("no fault");
    let n = shape.ring.n();
    if let Some(at) = got.iter().zip(want).position(|(a, b)| a != b) {
        panic!("{op} at N=2^{}: row {} word {}: {} for {}", shape.ring.log_n(), at / n, at % n, got[at], want[at]);
    }
    assert_eq!(got.len(), want.len(), "{op}: length");
}

/// Applies a function of (modulus, word, other word) to every word; a shorter operand broadcasts.
fn map2(shape: &Shape, a: &[u64], b: &[u64], f: impl Fn(Modulus, u64, u64) -> u64) -> Vec<u64> {
    let (n, moduli) = (shape.ring.n(), shape.ring.moduli_of(shape.basis));
    (0..a.len().max(b.len())).map(|i| f(moduli[i / n % moduli.len()], a[i % a.len()], b[i % b.len()])).collect()
}

/// Every primitive against its definition, on rings of all kinds, batched and broadcast.
///
/// # Panics
/// At the first difference.
pub fn primitives<D: HostRead>(dev: &D, reach: Reach) {
    for ring in rings(dev, reach) {
        elementwise(dev, &ring);
        transforms(dev, &ring);
        galois(dev, &ring);
        conversions(dev, &ring);
        seeds(dev, &ring);
    }
}

fn elementwise<D: HostRead>(dev: &D, ring: &Ring) {
    let one = Shape::eval(ring, ring.full());
    let two = one.with_batch(2);
    let (x, y, z) = (words(&two, 1), words(&two, 5), words(&one, 2));
    let (a, b, c) = (upload(dev, &two, &x), upload(dev, &two, &y), upload(dev, &one, &z));
    expect(dev, "upload", &a, &two, &x);
    expect(dev, "zeros", &dev.zeros(&two), &two, &vec![0; x.len()]);
    expect(dev, "add", &dev.add(&a, &b), &two, &map2(&two, &x, &y, Modulus::add));
    expect(dev, "add, broadcast", &dev.add(&c, &a), &two, &map2(&two, &z, &x, Modulus::add));
    expect(dev, "sub", &dev.sub(&a, &b), &two, &map2(&two, &x, &y, Modulus::sub));
    expect(dev, "sub, broadcast", &dev.sub(&c, &a), &two, &map2(&two, &z, &x, Modulus::sub));
    expect(dev, "neg", &dev.neg(dev.copy(&a)), &two, &map2(&two, &x, &x, |q, v, _| q.neg(v)));
    let product = map2(&two, &x, &y, Modulus::mul);
    expect(dev, "mul", &dev.mul(&a, &b), &two, &product);
    expect(dev, "mul, broadcast", &dev.mul(&a, &c), &two, &map2(&two, &x, &z, Modulus::mul));
    let mut sum = dev.copy(&b);
    dev.mul_acc(&mut sum, &a, &b);
    expect(dev, "mul_acc", &sum, &two, &map2(&two, &product, &y, Modulus::add));
    dev.mul_acc(&mut sum, &c, &c);
    let square = map2(&one, &z, &z, Modulus::mul);
    let expected = map2(&two, &map2(&two, &product, &y, Modulus::add), &square, Modulus::add);
    expect(dev, "mul_acc, broadcast", &sum, &two, &expected);
    dev.add_assign(&mut sum, &c);
    expect(dev, "add_assign", &sum, &two, &map2(&two, &expected, &z, Modulus::add));
    let constants: Vec<u64> = ring.moduli().iter().map(|q| q.value() - 2).collect();
    let spread: Vec<u64> = constants.iter().flat_map(|&c| std::iter::repeat_n(c, ring.n())).collect();
    expect(
        dev,
        "scale_limbs",
        &dev.scale_limbs(dev.copy(&a), &constants),
        &two,
        &map2(&two, &x, &spread, Modulus::mul),
    );
    expect(
        dev,
        "shift_limbs",
        &dev.shift_limbs(dev.copy(&a), &constants),
        &two,
        &map2(&two, &x, &spread, Modulus::add),
    );
}

fn transforms<D: HostRead>(dev: &D, ring: &Ring) {
    for label in [3, 5] {
        let coeff = Shape::eval(ring, ring.full()).with_batch(2).with_domain(Domain::Coeff);
        let x = words(&coeff, label);
        let mut values = x.clone();
        for (i, row) in values.chunks_exact_mut(ring.n()).enumerate() {
            NttTable::new(ring.moduli()[i % ring.moduli().len()], ring.log_n()).forward(row);
        }
        let a = upload(dev, &coeff, &x);
        let transformed = dev.ntt(a);
        expect(dev, "ntt", &transformed, &coeff.with_domain(Domain::Eval), &values);
        let uploaded = upload(dev, &coeff.with_domain(Domain::Eval), &values);
        expect(dev, "intt", &dev.intt(uploaded), &coeff, &x);
        expect(dev, "intt of ntt", &dev.intt(transformed), &coeff, &x);
    }
}

fn galois<D: HostRead>(dev: &D, ring: &Ring) {
    let (n, log_n) = (ring.n(), ring.log_n());
    let eval = Shape::eval(ring, ring.full()).with_batch(2);
    let x = words(&eval, 4);
    for g in [GaloisElement::rotation(1, log_n), GaloisElement::rotation(-77, log_n), GaloisElement::conjugation(log_n)]
    {
        let moved: Vec<u64> =
            x.chunks_exact(n).flat_map(|row| (0..n).map(|i| row[g.source_of_value(i, log_n)])).collect();
        expect(dev, "automorphism of values", &dev.automorphism(&upload(dev, &eval, &x), g), &eval, &moved);
        let coeff = eval.with_domain(Domain::Coeff);
        let mut moved = vec![0; x.len()];
        for (i, row) in x.chunks_exact(n).enumerate() {
            let q = ring.moduli()[i % ring.moduli().len()];
            for (k, &c) in row.iter().enumerate() {
                let (at, negated) = g.target_of_coefficient(k, log_n);
                moved[i * n + at] = if negated { q.neg(c) } else { c };
            }
        }
        expect(dev, "automorphism of coefficients", &dev.automorphism(&upload(dev, &coeff, &x), g), &coeff, &moved);
    }
}

fn conversions<D: HostRead>(dev: &D, ring: &Ring) {
    let n = ring.n();
    let count = ring.moduli().len();
    for from in [Basis::range(0, count - 1), Basis::range(1, 3), Basis::single(count - 1)] {
        let to = ring.full() - from;
        let shape = Shape::eval(ring, from).with_batch(2).with_domain(Domain::Coeff);
        let x = words(&shape, 6);
        let conversion = BaseConversion::new(&ring.moduli_of(from), &ring.moduli_of(to));
        let (limbs, targets) = (from.len(), to.len());
        let mut expected = vec![0; 2 * targets * n];
        for batch in 0..2 {
            for k in 0..n {
                let residues: Vec<u64> = (0..limbs).map(|i| x[(batch * limbs + i) * n + k]).collect();
                for (j, value) in conversion.convert(&residues).into_iter().enumerate() {
                    expected[(batch * targets + j) * n + k] = value;
                }
            }
        }
        let got = dev.basis_convert(&upload(dev, &shape, &x), to);
        expect(dev, "basis_convert", &got, &shape.with_basis(to), &expected);
    }
    for source in [0, count - 1] {
        let (from, to) = (Basis::single(source), ring.full() - Basis::single(source));
        let shape = Shape::eval(ring, from).with_batch(2).with_domain(Domain::Coeff);
        let x = words(&shape, 7);
        let q = ring.moduli()[source];
        let lift = |batch: usize| {
            let row = &x[batch * n..][..n];
            to.iter()
                .flat_map(move |j| row.iter().map(move |&v| (j, v)))
                .map(|(j, v)| ring.moduli()[j].from_i64(q.centered(v)))
        };
        let expected: Vec<u64> = (0..2).flat_map(lift).collect();
        expect(dev, "reduce", &dev.reduce(&upload(dev, &shape, &x), to), &shape.with_basis(to), &expected);
    }
}

fn seeds<D: HostRead>(dev: &D, ring: &Ring) {
    let seed = Seed([9; 32]);
    let shape = Shape::eval(ring, Basis::range(0, 2)).with_batch(2);
    let mut expected = vec![0; shape.rows() * ring.n()];
    for (i, row) in expected.chunks_exact_mut(ring.n()).enumerate() {
        expand_row(&seed, RowAt { batch: i / 2, prime: i % 2, modulus: ring.moduli()[i % 2] }, row);
    }
    let got = dev.expand_seed(&shape, Role::EvaluationKey(KeyId(1)), &seed);
    expect(dev, "expand_seed", &got, &shape, &expected);
    let cut = shape.with_basis(Basis::single(1)).with_batch(1);
    let n = ring.n();
    expect(dev, "expand_seed, one limb", &dev.expand_seed(&cut, Role::Temporary, &seed), &cut, &expected[n..2 * n]);
}

/// Views share rows and never see each other's changes.
///
/// # Panics
/// At the first difference.
pub fn views<D: HostRead>(dev: &D, reach: Reach) {
    for ring in rings(dev, reach) {
        let n = ring.n();
        let shape = Shape::eval(&ring, ring.full()).with_batch(3);
        let limbs = shape.basis.len();
        let x = words(&shape, 8);
        let a = upload(dev, &shape, &x);
        let part = Basis::range(1, 3);
        let narrow = dev.restrict(&a, part);
        let kept: Vec<u64> = x
            .chunks_exact(n)
            .enumerate()
            .filter(|(i, _)| part.contains(i % limbs))
            .flat_map(|(_, r)| r.to_vec())
            .collect();
        expect(dev, "restrict", &narrow, &shape.with_basis(part), &kept);
        let changed = dev.neg(narrow.clone());
        expect(dev, "a shared view after neg of its clone", &narrow, &shape.with_basis(part), &kept);
        let rest = dev.restrict(&a, shape.basis - part);
        let joined = dev.join(&[&rest, &changed]);
        let expected = map2(&shape, &x, &x, |_, v, _| v);
        let expected: Vec<u64> = expected
            .chunks_exact(n)
            .enumerate()
            .flat_map(|(i, row)| {
                let q = ring.moduli()[i % limbs];
                row.iter().map(move |&v| if part.contains(i % limbs) { q.neg(v) } else { v }).collect::<Vec<_>>()
            })
            .collect();
        expect(dev, "join", &joined, &shape, &expected);
        let middle = dev.split(&a, 1, 2);
        expect(dev, "split", &middle, &shape.with_batch(1), &x[limbs * n..2 * limbs * n]);
        let mut doubled = dev.stack(&[&middle, &middle]);
        dev.add_assign(&mut doubled, &middle);
        let twice = map2(&shape, &x[limbs * n..2 * limbs * n], &[1], |q, v, _| q.add(v, v));
        expect(dev, "stack of one twice, doubled", &doubled, &shape.with_batch(2), &[twice.clone(), twice].concat());
        expect(dev, "the original", &a, &shape, &x);
    }
}

/// Every override of a composite against its default body, residue for residue.
///
/// # Panics
/// At the first difference.
pub fn composites<D: HostRead>(dev: &D, reach: Reach) {
    if let [rings @ .., _] = &rings(dev, reach)[..] {
        composites_of(dev, rings);
    }
}

/// [`composites()`] for the ring that it leaves out.
pub fn composites_of_the_largest_ring<D: HostRead>(dev: &D, reach: Reach) {
    if let [.., ring] = &rings(dev, reach)[..] {
        composites_of(dev, std::slice::from_ref(ring));
    }
}

/// Composites against their definitions: limbs extended for weighted sums, linear combinations, products of pairs and of
/// matrices, and an external product by a constant.
///
/// # Panics
/// At the first difference.
pub fn composites_by_definition<D: HostRead>(dev: &D, reach: Reach) {
    for ring in &rings(dev, reach) {
        sums::extended_limbs(dev, ring);
        combinations(dev, ring);
        tensor::tensors(dev, ring);
        products_of_matrices(dev, ring);
    }
    tfhe::constant_product(dev, reach);
}

fn composites_of<D: HostRead>(dev: &D, rings: &[Ring]) {
    for ring in rings {
        let special = Basis::single(ring.moduli().len() - 1);
        let chain = ring.full() - special;
        let digits = vec![Basis::range(0, 2), chain - Basis::range(0, 2)];
        let shape = Shape::eval(ring, chain).with_batch(2);
        let c = upload(dev, &shape, &words(&shape, 9));
        let wide = Shape::eval(ring, ring.full());
        let pair = |label| [0u64, 1].map(|half| upload_key(dev, &wide, &words(&wide, label + half)));
        let key = GadgetKey { digits: digits.clone(), special, pairs: vec![pair(11), pair(21)] };
        let same = |op: &str, got: &D::Poly, want: &D::Poly| {
            expect(dev, op, got, want.shape(), &dev.download(want).expect("no fault"));
        };
        let raised = dev.mod_up(&c, &digits, ring.full());
        let expected = composites::mod_up(dev, &c, &digits, ring.full());
        raised.iter().zip(&expected).for_each(|(got, want)| same("mod_up", got, want));
        let product = dev.gadget_product(&raised, &key);
        let expected = composites::gadget_product(dev, &raised, &key);
        product.iter().zip(&expected).for_each(|(got, want)| same("gadget_product", got, want));
        same("mod_down", &dev.mod_down(&product[0], chain), &composites::mod_down(dev, &product[0], chain));
        for to in [chain - Basis::single(1), Basis::range(0, 2)] {
            same("rescale", &dev.rescale(&c, to), &composites::rescale(dev, &c, to));
        }
        division::to_new_primes(dev, &c, &key);
        let switched = dev.key_switch(&c, &key);
        let expected = composites::key_switch(dev, &c, &key);
        switched.iter().zip(&expected).for_each(|(got, want)| same("key_switch", got, want));
        let d = upload(dev, &shape, &words(&shape, 10));
        for onto in [[Some(&d), None], [Some(&d), Some(&c)]] {
            for to in [chain, chain - Basis::single(1), Basis::single(0)] {
                let got = dev.key_switch_onto(&c, &key, onto, to);
                let expected = composites::key_switch_onto(dev, &c, &key, onto, to);
                got.iter().zip(&expected).for_each(|(got, want)| same("key_switch_onto", got, want));
            }
        }
        undivided::composites_over_qp(dev, &c, &d, &key);
        for merged in [chain - Basis::single(1), Basis::single(0)] {
            same(
                "mod_down, merged",
                &dev.mod_down(&product[0], merged),
                &composites::mod_down(dev, &product[0], merged),
            );
        }
        sums::sums(dev, ring);
    }
}

/// Matrix products against the definition: shapes that no blocking divides, small and large weights, two groups.
fn products_of_matrices<D: HostRead>(dev: &D, ring: &Ring) {
    for (rows, columns, groups, most) in [(7, 5, 2, 90), (1, 1, 1, i32::MAX), (13, 9, 1, 1 << 20)] {
        let entry = |k: i32| if k % 4 == 1 { -most } else { most - k * (most / 97) };
        let entries = (0..i32::try_from(rows * columns).expect("small")).map(|k| entry(k % 67)).collect();
        let matrix = IntegerMatrix::new(rows, columns, entries).expect("a matrix");
        let shape = Shape::eval(ring, ring.full()).with_batch(columns * groups);
        let (x, result) = (words(&shape, 50), shape.with_batch(rows * groups));
        let entry_words = x.len() / shape.batch;
        let mut expected = Vec::new();
        for (j, g) in (0..rows).flat_map(|j| (0..groups).map(move |g| (j, g))) {
            let one = shape.with_batch(1);
            let sum = matrix.row(j).iter().enumerate().fold(vec![0; entry_words], |sum, (i, &w)| {
                let operand = &x[(i * groups + g) * entry_words..][..entry_words];
                let term = map2(&one, operand, &[0], |q, x, _| q.mul(x, q.from_i64(w.into())));
                map2(&one, &sum, &term, Modulus::add)
            });
            expected.extend(sum);
        }
        let got = dev.matrix_product(&upload(dev, &shape, &x), &matrix);
        expect(dev, "matrix_product", &got, &result, &expected);
    }
}

/// Linear combinations: one term, operands of both batches in either order, against the definition.
fn combinations<D: HostRead>(dev: &D, ring: &Ring) {
    let one = Shape::eval(ring, ring.full()).with_domain(Domain::Coeff);
    let two = one.with_batch(2);
    let shapes = [&one, &two, &two, &one, &two, &two, &two, &two];
    let x: Vec<Vec<u64>> = (40..).zip(shapes).map(|(label, shape)| words(shape, label)).collect();
    let polys: Vec<D::Poly> = x.iter().zip(shapes).map(|(x, shape)| upload(dev, shape, x)).collect();
    let constant = |i: u64| ring.moduli().iter().map(|q| q.value() - 1 - i * (q.value() / 9)).collect();
    let constants: Vec<Vec<u64>> = (0..8).map(constant).collect();
    for (from, to) in [(0, 1), (1, 2), (0, 3), (2, 8)] {
        let shape = if to - from == 1 { shapes[from] } else { &two };
        let mut expected = vec![0; shape.rows() * ring.n()];
        for (x, constants) in x[from..to].iter().zip(&constants[from..to]) {
            let spread: Vec<u64> = constants.iter().flat_map(|&c| std::iter::repeat_n(c, ring.n())).collect();
            let term = map2(shape, x, &spread, Modulus::mul);
            expected = map2(shape, &expected, &term, Modulus::add);
        }
        let operands: Vec<&D::Poly> = polys[from..to].iter().collect();
        let constants = &constants[from..to];
        expect(dev, "linear_combination", &dev.linear_combination(&operands, constants), shape, &expected);
        let default = composites::linear_combination(dev, &operands, constants);
        expect(dev, "linear_combination, default", &default, shape, &expected);
    }
}

/// Bad rings are errors; a healthy device has no fault.
///
/// # Panics
/// If a bad ring is accepted.
pub fn refusals<D: HostRead>(dev: &D) {
    assert_eq!(dev.ring(&RingSpec { log_n: 40, primes: vec![] }), Err(RingError::Degree(40)));
    assert_eq!(dev.ring(&RingSpec { log_n: 12, primes: vec![8193] }), Err(RingError::Prime(8193)));
    assert_eq!(dev.sync(), Ok::<(), Fault>(()));
}

/// Interprets arbitrary numbers as a program of operations over a few polynomials, for lockstep and fuzzing.
///
/// # Panics
/// If the device violates a contract.
pub fn random_program<D: HostRead>(dev: &D, ring: &Ring, script: &[(u8, u8, u8)]) -> Vec<Vec<u64>> {
    let shape = Shape::eval(ring, ring.full());
    let mut pool: Vec<D::Poly> = (0..3)
        .map(|i| {
            let shape = shape.with_batch(1 + usize::from(i == 2));
            let put = if i == 1 { upload_key } else { upload };
            put(dev, &shape, &words(&shape, i))
        })
        .collect();
    for &(op, i, j) in script {
        let (i, j) = (usize::from(i) % pool.len(), usize::from(j) % pool.len());
        let next = random_step(dev, op, &pool[i], &pool[j], j);
        // In half of the cases the first operand is dropped, so that in-place paths run too.
        if op >= 128 {
            pool[i] = next
        } else {
            pool.push(next)
        }
        if pool.len() > 6 {
            pool.remove(0);
        }
    }
    pool.iter().map(|p| dev.download(p).expect("no fault")).collect()
}

/// One step: an operation on `a`, and also on `b` if their shapes match.
fn random_step<D: HostRead>(dev: &D, op: u8, a: &D::Poly, b: &D::Poly, number: usize) -> D::Poly {
    let shape = a.shape().clone();
    let alike = b.shape().with_batch(shape.batch) == shape && (b.shape().batch == 1 || b.shape().batch == shape.batch);
    let (log_n, full) = (shape.ring.log_n(), shape.ring.full());
    let constants: Vec<u64> =
        shape.ring.moduli_of(shape.basis).iter().map(|q| q.value() / (2 + number as u64)).collect();
    match (op % 12, shape.domain) {
        (0, _) if alike => dev.add(a, b),
        (1, _) if alike => dev.sub(a, b),
        (2, Domain::Eval) if alike => dev.mul(a, b),
        (3, Domain::Eval) if alike => {
            let mut acc = a.clone();
            dev.mul_acc(&mut acc, b, b);
            acc
        }
        (4, _) => dev.automorphism(a, GaloisElement::rotation(number as i64 + 1, log_n)),
        (5, _) => dev.scale_limbs(a.clone(), &constants),
        (6, Domain::Eval) => dev.shift_limbs(a.clone(), &constants),
        (7, Domain::Coeff) if shape.basis != full => dev.join(&[a, &dev.basis_convert(a, full - shape.basis)]),
        (8, _) if shape.basis.len() > 1 => dev
            .restrict(a, shape.basis - Basis::single(shape.basis.iter().nth(number % shape.basis.len()).unwrap_or(0))),
        (9, _) if shape.batch < 3 => dev.stack(&[a, &dev.split(a, 0, 1)]),
        (10, _) => dev.neg(a.clone()),
        (_, Domain::Coeff) => dev.ntt(a.clone()),
        (_, Domain::Eval) => dev.intt(a.clone()),
    }
}
