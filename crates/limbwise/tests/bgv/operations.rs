//! Every operation gives exactly the integers of its clear twin.

use super::common::{Bench, rotated, small, zip};
use limbwise::bgv::{BgvParams, LinearTransform, encrypt_from, preset};
use limbwise_device::HostRead;
use limbwise_math::sampling::Seed;

#[test]
fn slots_are_values_at_powers_of_five() {
    let bench = Bench::new(&small(), &[]);
    let values = bench.values(1);
    let plain = bench.encoder.encode(&bench.dev, std::slice::from_ref(&values), 0).unwrap();
    let words = bench.dev.download(&limbwise_device::Device::intt(&bench.dev, plain.poly)).unwrap();
    let (t, q) = (bench.params.t(), bench.params.rlwe().ring().moduli()[0]);
    let coefficients: Vec<u64> = words.iter().map(|&x| t.from_i64(q.centered(x))).collect();
    let non_residue = (2..).find(|&x| t.pow(x, (t.value() - 1) / 2) == t.value() - 1).unwrap();
    let psi = t.pow(non_residue, (t.value() - 1) / 2048);
    let mut power = 1u64;
    for j in 0..512 {
        for (slot, exponent) in [(j, power), (512 + j, 2048 - power)] {
            let point = t.pow(psi, exponent);
            let value = coefficients.iter().rev().fold(0, |sum, &c| t.add(t.mul(sum, point), c));
            assert_eq!(t.centered(value), values[slot], "slot {slot}");
        }
        power = power * 5 % 2048;
    }
}

#[test]
fn sums_and_products_are_exact() {
    let bench = Bench::new(&small(), &[]);
    let (eval, t) = (bench.eval(), bench.params.t());
    let (x, y) = (bench.values(1), bench.values(2));
    let (a, b) = (bench.encrypt(&x, 1), bench.encrypt_secret(&y, 2));
    assert_eq!((bench.decrypt(&a), bench.decrypt(&b)), (x.clone(), y.clone()));
    let is = |c: &_, f: &dyn Fn(i128, i128) -> i128| assert_eq!(bench.decrypt(c), zip(t, &x, &y, f));
    is(&eval.add(&a, &b).unwrap(), &|x, y| x + y);
    is(&eval.sub(&a, &b).unwrap(), &|x, y| x - y);
    is(&eval.negate(&a), &|x, _| -x);
    is(&eval.mul_scalar(&a, -77).unwrap(), &|x, _| -77 * x);
    is(&eval.add_scalar(&a, 1234).unwrap(), &|x, _| x + 1234);
    let plain = bench.encoder.encode(&bench.dev, std::slice::from_ref(&y), 3).unwrap();
    is(&eval.add_plain(&a, &plain).unwrap(), &|x, y| x + y);
    is(&eval.sub_plain(&a, &plain).unwrap(), &|x, y| x - y);
    is(&eval.mul_plain(&a, &plain).unwrap(), &|x, y| x * y);
    let product = eval.multiply(&a, &b).unwrap();
    is(&product, &|x, y| x * y);
    is(&eval.relinearize(&product).unwrap(), &|x, y| x * y);
    is(&eval.square(&a).unwrap(), &|x, _| x * x);
    is(&eval.add(&product, &a).unwrap(), &|x, y| x * y + x);
}

/// Two encrypted matrices, 2×3 and 3×2, with a message of full slots an entry: exact, and relinearized once a result.
#[test]
fn matrices_multiply_exactly() {
    let bench = Bench::new(&small(), &[]);
    let (eval, t) = (bench.eval(), bench.params.t());
    let values: Vec<Vec<i64>> = (1..=12).map(|seed| bench.values(seed)).collect();
    let top = bench.params.top_level();
    let encrypt = |entries: &[Vec<i64>], seed: u8| {
        let plain = bench.encoder.encode(&bench.dev, entries, top).unwrap();
        encrypt_from(&bench.dev, &bench.params, &bench.public, &plain, &Seed([seed; 32]))
    };
    let (left, right) = (encrypt(&values[..6], 1), encrypt(&values[6..], 2));
    let product = eval.multiply_matrices(&left, &right, 3).unwrap();
    assert_eq!((product.batch(), product.parts.len()), (4, 3));
    let small = eval.mod_switch(&product, top - 1).unwrap();
    assert_eq!((small.batch(), small.parts.len()), (4, 2));
    let got = bench.try_decrypt(&small).unwrap();
    for (at, (j, g)) in [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().enumerate() {
        let term =
            |k: usize, slot: usize| i128::from(values[3 * j + k][slot]) * i128::from(values[6 + 2 * k + g][slot]);
        let sum = |slot: usize| t.centered(t.from_i128((0..3).map(|k| term(k, slot)).sum()));
        assert_eq!(got[at], (0..bench.params.slots()).map(sum).collect::<Vec<_>>(), "entry {j}, {g}");
    }
    let refused = eval.multiply_matrices(&left, &right, 4).err().unwrap().to_string();
    assert!(refused.contains("a batch of 6 is no multiple of the matrix's 4 columns"), "{refused}");
    let refused = eval.multiply_matrices(&left, &small, 2).err().unwrap().to_string();
    assert!(refused.contains("level"), "{refused}");
}

#[test]
fn factors_are_exact_through_switching() {
    let bench = Bench::new(&small(), &[]);
    let (eval, t) = (bench.eval(), bench.params.t());
    let (x, y) = (bench.values(1), bench.values(2));
    let (a, b) = (bench.encrypt(&x, 1), bench.encrypt(&y, 2));
    let product = eval.multiply(&a, &b).unwrap();
    // With and without the relinearization inside, over one prime and over two.
    for level in [2, 1] {
        let switched = eval.mod_switch(&product, level).unwrap();
        assert_eq!((switched.parts.len(), switched.level), (2, level));
        assert_ne!(switched.factor, 1);
        assert_eq!(bench.decrypt(&switched), zip(t, &x, &y, |x, y| x * y));
        let lower = eval.mod_switch(&a, level).unwrap();
        assert_ne!(lower.factor, switched.factor * switched.factor);
        // Other factors than each other's: they are aligned.
        let other = eval.drop_level(&a, level).unwrap();
        let sum = eval.add(&switched, &other).unwrap();
        assert_eq!(bench.decrypt(&sum), zip(t, &x, &y, |x, y| x * y + x));
        let difference = eval.sub(&other, &switched).unwrap();
        assert_eq!(bench.decrypt(&difference), zip(t, &x, &y, |x, y| x - x * y));
        let plain = bench.encoder.encode(&bench.dev, std::slice::from_ref(&y), level).unwrap();
        let with = eval.add_plain(&lower, &plain).unwrap();
        assert_eq!(bench.decrypt(&with), zip(t, &x, &y, |x, y| x + y));
        let with = eval.add_scalar(&lower, -5).unwrap();
        assert_eq!(bench.decrypt(&with), zip(t, &x, &y, |x, _| x - 5));
    }
}

#[test]
fn slots_move_as_in_other_libraries() {
    let bench = Bench::new(&small(), &[1, 2, 4, 8, 16, 32, 64, 128, 256, -3]);
    let (eval, auto) = (bench.eval(), bench.auto());
    let x = bench.values(1);
    let a = bench.encrypt(&x, 1);
    assert_eq!(bench.decrypt(&eval.rotate_rows(&a, 4).unwrap()), rotated(&x, 4));
    assert_eq!(bench.decrypt(&eval.rotate_rows(&a, -3).unwrap()), rotated(&x, 509));
    let swapped = [&x[512..], &x[..512]].concat();
    assert_eq!(bench.decrypt(&eval.swap_rows(&a).unwrap()), swapped);
    let t = bench.params.t();
    let all = t.centered(t.from_i128(x.iter().map(|&x| i128::from(x)).sum()));
    let product = auto.mul(&a, &bench.encrypt(&vec![1; 1024], 2)).unwrap();
    assert_eq!(bench.decrypt(&auto.slot_sum(&product).unwrap()), vec![all; 1024]);
    let missing = eval.rotate_rows(&a, 5).unwrap_err().to_string();
    assert!(missing.contains("rotation by 5"), "{missing}");
}

#[test]
fn maps_are_matrices() {
    let mut bench = Bench::new(&small(), &[]);
    let t = bench.params.t();
    let (x, entries) = (bench.values(1), bench.values(2));
    let a = bench.encrypt(&x, 1);
    let clear = |matrix: &[Vec<i64>]| {
        let row = |half: &[i64]| -> Vec<i64> {
            let line = |i: usize| matrix.get(i).map_or(&[][..], |line| &line[..]);
            let dot = |i: usize| line(i).iter().zip(half).map(|(&m, &x)| i128::from(m) * i128::from(x)).sum();
            (0..512).map(|i| t.centered(t.from_i128(dot(i)))).collect()
        };
        [row(&x[..512]), row(&x[512..])].concat()
    };
    // A band, a small block, nothing at all.
    let band: Vec<Vec<i64>> = (0..512)
        .map(|i| (0..512).map(|j| if (j + 512 - i) % 512 < 20 { entries[(i + 31 * j) % 1024] } else { 0 }).collect())
        .collect();
    let block: Vec<Vec<i64>> = (0..5).map(|i| entries[i * 7..][..7].to_vec()).collect();
    for matrix in [band, block, vec![vec![0; 3]; 3]] {
        let map = LinearTransform::new(&bench.dev, &bench.encoder, &matrix, 3).unwrap();
        assert!(map.requirements(&bench.params, 3).len() <= 11, "{:?}", map.requirements(&bench.params, 3).keys());
        bench.with_only(&map.requirements(&bench.params, 3));
        let result = bench.auto().linear_transform(&a, &map).unwrap();
        assert_eq!(bench.decrypt(&result), clear(&matrix));
        let low = bench.eval().mod_switch(&a, 2).unwrap();
        assert_eq!(bench.decrypt(&bench.eval().linear_transform(&low, &map).unwrap()), clear(&matrix));
    }
}

#[test]
fn batches_are_independent_messages() {
    let bench = Bench::new(&small(), &[]);
    let (eval, t) = (bench.eval(), bench.params.t());
    let messages: Vec<Vec<i64>> = (1..4).map(|seed| bench.values(seed)).collect();
    let all: Vec<_> = (1..4).map(|seed| bench.encrypt(&messages[usize::from(seed) - 1], seed)).collect();
    let batch = eval.stack(&all).unwrap();
    let squares = bench.try_decrypt(&eval.square(&batch).unwrap()).unwrap();
    for (square, x) in squares.iter().zip(&messages) {
        assert_eq!(*square, zip(t, x, x, |x, y| x * y));
    }
    let sum = zip(t, &zip(t, &messages[0], &messages[1], |x, y| x + y), &messages[2], |x, y| x + y);
    assert_eq!(bench.decrypt(&eval.batch_sum(&batch).unwrap()), sum);
}

#[test]
fn mistakes_are_told() {
    let bench = Bench::new(&small(), &[]);
    let told = |values: &[i64]| bench.encoder.check(values).unwrap_err().to_string();
    assert_eq!(
        told(&[1, 6145]),
        "value 1 is 6145: slots hold -6144 to 6144 with t = 12289; choose a larger plaintext modulus, or split it into digits"
    );
    assert!(told(&vec![0; 1025]).starts_with("1025 values do not fit 1024 slots"));
    let a = bench.encrypt(&[1], 1);
    let low = bench.eval().mod_switch(&a, 1).unwrap();
    assert!(bench.eval().add(&a, &low).unwrap_err().to_string().contains("levels 3 and 1"));
    let product = bench.eval().multiply(&a, &a).unwrap();
    assert!(bench.eval().multiply(&product, &a).unwrap_err().to_string().contains("relinearize first"));
    // A set without special primes has no keys to ask for.
    let params: BgvParams = preset("dramatic-2048").unwrap();
    let without = Bench::new(&params, &[]);
    let b = without.encrypt(&[1], 1);
    assert!(without.eval().rotate_rows(&b, 1).unwrap_err().to_string().contains("no special primes"));
    let c = without.encrypt_secret(&[3, -4], 1);
    assert_eq!(without.decrypt(&without.eval().square(&c).unwrap())[..3], [9, 16, 0]);
}

#[test]
fn a_wrong_key_gives_an_error_and_no_integer() {
    let bench = Bench::new(&small(), &[]);
    let other = limbwise::rlwe::SecretKey::generate(bench.params.rlwe(), &limbwise_math::sampling::Seed([9; 32]));
    let a = bench.encrypt(&bench.values(1), 1);
    let refused = limbwise::bgv::decrypt(&bench.dev, &bench.encoder, &other, &a).unwrap_err().to_string();
    assert!(refused.contains("fills the modulus"), "{refused}");
}
