//! Every leveled operation decrypts to what it computes, and every mistake is an error that teaches.

use crate::common::{Dev, Session, small, uniform};
use limbwise::{
    Complex64, Error,
    ckks::{Ciphertext, Packing, SumSteps, encrypt_secret},
    params::{ParamsLiteral, PrimeChoice},
};
use limbwise_device::IntegerMatrix;
use limbwise_math::chebyshev::Series;

fn zip(a: &[Complex64], b: &[Complex64], f: impl Fn(Complex64, Complex64) -> Complex64) -> Vec<Complex64> {
    a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
}

#[test]
fn arithmetic_full_and_sparse() {
    let s = Session::new(&small(4), &[]);
    let eval = s.eval();
    for slots in [s.params.max_slots(), 64, 1] {
        let (x, y) = (uniform(slots, "x"), uniform(slots, "y"));
        let (a, b) = (s.encrypt(&x), s.encrypt(&y));
        s.expect("encryption", &a, &x, 24.0);
        s.expect("add", &eval.add(&a, &b).unwrap(), &zip(&x, &y, |x, y| x + y), 23.0);
        s.expect("sub", &eval.sub(&a, &b).unwrap(), &zip(&x, &y, |x, y| x - y), 23.0);
        s.expect("negate", &eval.negate(&a), &zip(&x, &x, |x, _| -x), 24.0);
        let product = eval.multiply(&a, &b).unwrap();
        s.expect("multiply, three parts", &product, &zip(&x, &y, |x, y| x * y), 23.0);
        let linear = eval.relinearize(&product).unwrap();
        assert_eq!((linear.parts.len(), linear.level), (2, 4));
        s.expect("relinearize", &linear, &zip(&x, &y, |x, y| x * y), 23.0);
        let rescaled = eval.rescale(&linear).unwrap();
        s.expect("rescale", &rescaled, &zip(&x, &y, |x, y| x * y), 22.0);
        let merged = eval.relinearize_rescaled(&product).unwrap();
        s.expect("relinearize, rescaled", &merged, &zip(&x, &y, |x, y| x * y), 22.0);
        assert_eq!((merged.parts.len(), merged.level, merged.scale), (2, 3, rescaled.scale));
        let sum = eval.add(&product, &eval.mul_scalar(&a, 1.0, a.scale).unwrap()).unwrap();
        s.expect("three parts plus two", &sum, &zip(&x, &y, |x, y| x * y + x), 22.0);
        s.expect(
            "two parts minus three",
            &eval.negate(&eval.sub(&linear, &product).unwrap()),
            &zip(&x, &x, |_, _| 0.0.into()),
            22.0,
        );
        s.expect("square", &eval.square(&a).unwrap(), &zip(&x, &x, |x, _| x * x), 22.0);
        s.expect("drop_level", &eval.drop_level(&a, 1).unwrap(), &x, 24.0);
        s.expect("mul_scalar", &eval.mul_scalar(&a, -3.25, 1024.0).unwrap(), &zip(&x, &x, |x, _| -3.25 * x), 22.0);
        s.expect("add_scalar", &eval.add_scalar(&a, -7.5), &zip(&x, &x, |x, _| x - 7.5), 24.0);
        let plain = s.encoder.encode(&s.dev, std::slice::from_ref(&y), Packing { slots, ..s.packing() }).unwrap();
        s.expect("add_plain", &eval.add_plain(&a, &plain).unwrap(), &zip(&x, &y, |x, y| x + y), 23.0);
        s.expect("sub_plain", &eval.sub_plain(&a, &plain).unwrap(), &zip(&x, &y, |x, y| x - y), 23.0);
        s.expect("mul_plain", &eval.mul_plain(&a, &plain).unwrap(), &zip(&x, &y, |x, y| x * y), 22.0);
        let own = encrypt_secret(&s.dev, &s.params, &s.secret, &plain).unwrap();
        s.expect("secret-key encryption", &own, &y, 28.0);
    }
}

#[test]
fn slots_move_in_both_directions() {
    let s = Session::new(&small(2), &[1, 2, 3, 4, -1]);
    let eval = s.eval();
    for slots in [s.params.max_slots(), 64] {
        let x = uniform(slots, "x");
        let a = s.encrypt(&x);
        for steps in [0, 1, 3, -1, slots as i64 + 2] {
            let mut moved = x.clone();
            moved.rotate_left(usize::try_from(steps.rem_euclid(slots as i64)).unwrap());
            s.expect(&format!("rotate {steps}"), &eval.rotate(&a, steps).unwrap(), &moved, 21.0);
        }
        let conjugated: Vec<Complex64> = x.iter().map(|z| z.conj()).collect();
        s.expect("conjugate", &eval.conjugate(&a).unwrap(), &conjugated, 21.0);
        for count in [1usize, 4, 6] {
            let sums: Vec<Complex64> = (0..slots).map(|i| (0..count).map(|j| x[(i + j) % slots]).sum()).collect();
            s.expect(&format!("inner_sum {count}"), &eval.inner_sum(&a, 1, count).unwrap(), &sums, 20.0);
        }
    }
}

/// Sums by steps of two and of four terms: strides both ways, counts that go round the slots, batches, and rotations of one
/// decomposition.
#[test]
fn rotations_share_a_decomposition() {
    let steps: Vec<i64> = (0..8).flat_map(|k| [1, 2, 3, -1, -2, -3].map(|i: i64| i << k)).collect();
    let s = Session::new(&small(2), &steps);
    let eval = s.eval();
    for slots in [s.params.max_slots(), 32] {
        let rows: Vec<Vec<Complex64>> = (0..2).map(|i| uniform(slots, &format!("row {i}"))).collect();
        let packing = Packing { slots, ..s.packing() };
        let plain = s.encoder.encode(&s.dev, &rows, packing).unwrap();
        let pair = limbwise::ckks::encrypt(&s.dev, &s.params, &s.public, &plain).unwrap();
        let turned = |steps: i64| -> Vec<Complex64> {
            let at = usize::try_from(steps.rem_euclid(slots as i64)).unwrap();
            rows.iter().flat_map(|row| row[at..].iter().chain(&row[..at]).copied()).collect()
        };
        for (stride, count) in [(1, 2), (1, 32), (-2, 16), (4, 8), (1, 64), (1, 1)] {
            let all: Vec<Vec<Complex64>> = (0..count).map(|i| turned(i * stride)).collect();
            let sums: Vec<Complex64> = (0..2 * slots).map(|at| all.iter().map(|row| row[at]).sum()).collect();
            for of in [SumSteps::OfTwo, SumSteps::OfFour] {
                let sum = eval.inner_sum_in(of, &pair, stride, usize::try_from(count).unwrap()).unwrap();
                s.expect(&format!("{of:?}: {count} by {stride} of {slots}"), &sum, &sums, 17.0);
            }
        }
        let wanted = [2, 0, -3, slots as i64 + 1];
        let several = eval.rotations(&pair, &wanted).unwrap();
        for (steps, rotated) in wanted.into_iter().zip(&several) {
            s.expect(&format!("rotation {steps} of several"), rotated, &turned(steps), 21.0);
            let alone = eval.rotate(&pair, steps).unwrap();
            assert_eq!(rotated.estimate, alone.estimate, "rotation {steps}");
        }
    }
}

#[test]
fn batches_broadcast_and_sum() {
    let s = Session::new(&small(3), &[1]);
    let (slots, auto) = (32, s.auto());
    let rows: Vec<Vec<Complex64>> = (0..5).map(|i| uniform(slots, &format!("row {i}"))).collect();
    let packing = Packing { slots, ..s.packing() };
    let plain = s.encoder.encode(&s.dev, &rows, packing).unwrap();
    let batch = limbwise::ckks::encrypt(&s.dev, &s.params, &s.public, &plain).unwrap();
    let y = uniform(slots, "y");
    let product = auto.settle(&auto.mul(&batch, &s.encrypt(&y)).unwrap()).unwrap();
    assert_eq!(product.batch(), 5);
    let wanted: Vec<Complex64> = rows.iter().flat_map(|row| zip(row, &y, |x, y| x * y)).collect();
    s.expect("broadcast product", &product, &wanted, 22.0);
    let sums: Vec<Complex64> = (0..slots).map(|i| rows.iter().map(|r| r[i] * y[i]).sum()).collect();
    s.expect("batch sum", &auto.eval.batch_sum(&product).unwrap(), &sums, 20.0);
}

#[test]
fn automatic_levels_keep_exact_scales() {
    let mut mixed = small(6);
    mixed.log_scale = 50;
    let p = |bits: &[u32]| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect::<Vec<_>>();
    mixed.levels = vec![p(&[31, 31]), p(&[50]), p(&[26, 24]), p(&[50]), p(&[25, 25]), p(&[50]), p(&[24, 26])];
    mixed.special = p(&[60, 60]);
    mixed.dnum = 6;
    for literal in [small(6), mixed] {
        let s = Session::new(&literal, &[1]);
        let auto = s.auto();
        let x = uniform(512, "x");
        let a = s.encrypt(&x);
        let mut power = a.clone();
        let mut wanted = x.clone();
        for _ in 0..5 {
            power = auto.mul(&power, &a).unwrap(); // the fresh operand is brought down each time
            wanted = zip(&wanted, &x, |w, x| w * x);
        }
        let sum = auto.weighted_sum(&[(1.0, &power), (-0.5, &a), (1.0, &a)]).unwrap();
        assert_eq!(sum.level, 1);
        assert!((sum.scale / s.params.scale(1) - 1.0).abs() < 1e-9);
        s.expect("x^6 + x/2", &sum, &zip(&wanted, &x, |w, x| w + 0.5 * x), 20.0);
        let weighted = auto.weighted_sum(&[(0.25, &power), (2.0, &a)]).unwrap();
        s.expect("x^6/4 + 2x", &weighted, &zip(&wanted, &x, |w, x| 0.25 * w + 2.0 * x), 20.0);
        let values = uniform(512, "v");
        let shifted = auto.add_values(&auto.mul_values(&power, &values).unwrap(), &values).unwrap();
        s.expect("v·x^6 + v", &shifted, &zip(&wanted, &values, |w, v| w * v + v), 20.0);
        let rotated = auto.rotate(&auto.sub(&power, &a).unwrap(), 1).unwrap();
        let differences = zip(&wanted, &x, |w, x| w - x);
        s.expect("rotated x^6 − x", &rotated, &[&differences[1..], &differences[..1]].concat(), 20.0);
    }
}

#[test]
fn chebyshev_series_take_the_least_depth() {
    let s = Session::new(&small(6), &[]);
    let auto = s.auto();
    let x: Vec<Complex64> = uniform(1024, "x").iter().map(|z| Complex64::new(8.0 * z.re, 0.0)).collect();
    let units: Vec<Complex64> = x.iter().map(|z| z / 8.0).collect();
    let a = s.encrypt(&units);
    for degree in [1, 2, 3, 4, 5, 7, 8, 13, 15, 16, 31] {
        let series = Series::interpolate(|v| 1.0 / (1.0 + (-v).exp()) + 0.3 * (0.5 * v).cos(), -8.0, 8.0, degree);
        let wanted: Vec<Complex64> = x.iter().map(|z| series.evaluate(z.re).into()).collect();
        let value = auto.settle(&auto.chebyshev_unit(&a, &series.coefficients).unwrap()).unwrap();
        let depth = (degree + 1).next_power_of_two().trailing_zeros() as usize;
        assert_eq!(value.level, 6 - depth, "degree {degree}");
        s.expect(&format!("degree {degree}"), &value, &wanted, 18.0);
    }
    let series = Series::interpolate(f64::sin, 0.0, 4.0, 7);
    let positive: Vec<Complex64> = x.iter().map(|z| Complex64::new(2.0 + z.re / 4.0, 0.0)).collect();
    let value = auto.chebyshev(&s.encrypt(&positive), &series).unwrap();
    let wanted: Vec<Complex64> = positive.iter().map(|z| series.evaluate(z.re).into()).collect();
    s.expect("a series on [0, 4]", &value, &wanted, 18.0);
}

#[test]
fn mistakes_teach() {
    let s = Session::new(&small(2), &[1]);
    let eval = s.eval();
    let x = uniform(1024, "x");
    let a = s.encrypt(&x);
    let low = eval.drop_level(&a, 0).unwrap();
    let sparse = s.encrypt(&uniform(64, "x"));
    let product = eval.multiply(&a, &a).unwrap();
    let encode = |values: Vec<Complex64>, scale: f64| {
        s.encoder.encode(&s.dev, &[values], Packing { scale, ..s.packing() }).map(|_| ())
    };
    let cases: Vec<(Result<(), Error>, &str)> = vec![
        (eval.add(&a, &low).map(drop), "add: the operands are at levels 2 and 0"),
        (eval.add(&a, &product).map(drop), "scales 2^40.000000 and 2^80.000000"),
        (eval.add(&a, &sparse).map(drop), "1024 and 64 slots"),
        (eval.rescale(&low).map(drop), "rescale needs level 1; the ciphertext is at level 0 of 2"),
        (eval.rescale(&a).map(drop), "would leave scale 2^"),
        (eval.relinearize_rescaled(&low).map(drop), "needs level 1; the ciphertext is at level 0 of 2"),
        (eval.drop_level(&low, 1).map(drop), "level 1 is above level 0"),
        (eval.rotate(&a, 7).map(drop), "rotate needs Galois key"),
        (eval.rotate(&a, 7).map(drop), "(rotation by 7); the key set has the relinearization key"),
        (eval.rotate(&product, 1).map(drop), "relinearize first"),
        (eval.multiply(&product, &a).map(drop), "wants a ciphertext of 2 polynomials, got 3"),
        (eval.multiply(&low, &low).map(drop), "does not fit the modulus"),
        (eval.mul_scalar(&a, f64::NAN, 1e9).map(drop), "a scale lies between"),
        (eval.mul_scalar(&a, 1e30, 2f64.powi(40)).map(drop), "a value of magnitude 1.000e30 at scale 2^40.0 overflows"),
        (s.auto().mul(&low, &low).map(drop), "mul needs level 1"),
        (encode(vec![Complex64::new(f64::NAN, 0.0)], 1e9), "value 0 is NaN"),
        (encode(uniform(1025, "x"), 1e9), "1025 values do not fit 1024 slots"),
        (encode(x.clone(), 0.5), "a scale lies between"),
        (encode(vec![1e30.into()], 2f64.powi(40)), "overflows the modulus"),
    ];
    for (result, expected) in cases {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(expected), "{text:?} should say {expected:?}");
    }
    let packing = Packing { slots: 48, ..s.packing() };
    assert!(s.encoder.encode(&s.dev, &[x], packing).is_err());
    let bare = ParamsLiteral { insecure: None, ..small(2) };
    assert!(limbwise::params::Params::new(&bare).is_err());
}

/// A clear matrix of integers times a batch: sums of all its columns in each of two groups, exact scales; what may wrap or
/// does not fit is refused before any arithmetic.
#[test]
fn a_matrix_meets_a_batch() {
    let s = Session::new(&small(2), &[]);
    let eval = s.eval();
    let rows: Vec<Vec<Complex64>> = ["a", "b", "c", "d", "e", "f"].map(|name| uniform(64, name)).into();
    let encrypted: Vec<_> = rows.iter().map(|row| s.encrypt(row)).collect();
    let x = eval.stack(&encrypted);
    let weights = [3, -200, 7, -1, 0, 90];
    let matrix = IntegerMatrix::new(2, 3, weights.to_vec()).unwrap();
    let product = eval.matrix_product(&x, &matrix, 256.0).unwrap();
    assert_eq!((product.batch(), product.level, product.scale), (4, x.level, x.scale * 256.0));
    for (at, (j, g)) in [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().enumerate() {
        let term = |i: usize, slot: usize| rows[2 * i + g][slot] * (f64::from(weights[3 * j + i]) / 256.0);
        let wanted: Vec<Complex64> = (0..64).map(|slot| (0..3).map(|i| term(i, slot)).sum()).collect();
        s.expect("matrix_product", &eval.split(&product, at, at + 1), &wanted, 22.0);
    }
    let four = IntegerMatrix::new(1, 4, vec![1; 4]).unwrap();
    let refused = |x: &Ciphertext<Dev>, matrix: &IntegerMatrix, unit| {
        eval.matrix_product(x, matrix, unit).err().expect("a refusal").to_string()
    };
    let columns = refused(&x, &four, 1.0);
    assert!(columns.contains("a batch of 6 is no multiple of the matrix's 4 columns"), "{columns}");
    let large = IntegerMatrix::new(1, 3, vec![i32::MAX; 3]).unwrap();
    let low = eval.drop_level(&x, 0).unwrap();
    let wraps = refused(&low, &large, 1.0);
    assert!(wraps.contains("may wrap modulo"), "{wraps}");
    let three = refused(&eval.square(&x).unwrap(), &matrix, 1.0);
    assert!(three.contains("relinearize first"), "{three}");
}

/// Two encrypted matrices, 2×3 and 3×2: one relinearization a result, scales multiplied.
#[test]
fn encrypted_matrices_multiply() {
    let s = Session::new(&small(2), &[]);
    let eval = s.eval();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let values: Vec<Vec<Complex64>> = names.map(|name| uniform(64, name)).into();
    let encrypted: Vec<_> = values.iter().map(|row| s.encrypt(row)).collect();
    let (left, right) = (eval.stack(&encrypted[..6]), eval.stack(&encrypted[6..]));
    let product = eval.multiply_matrices(&left, &right, 3).unwrap();
    assert_eq!((product.batch(), product.parts.len(), product.scale), (4, 3, left.scale * right.scale));
    let product = eval.relinearize_rescaled(&product).unwrap();
    for (at, (j, g)) in [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().enumerate() {
        let term = |k: usize, slot: usize| values[3 * j + k][slot] * values[6 + 2 * k + g][slot];
        let wanted: Vec<Complex64> = (0..64).map(|slot| (0..3).map(|k| term(k, slot)).sum()).collect();
        s.expect("multiply_matrices", &eval.split(&product, at, at + 1), &wanted, 22.0);
    }
    let refused = |a: &Ciphertext<Dev>, b: &Ciphertext<Dev>, inner| {
        eval.multiply_matrices(a, b, inner).err().expect("a refusal").to_string()
    };
    assert!(refused(&left, &right, 0).contains("no multiple"), "no inner size");
    assert!(refused(&left, &product, 2).contains("level"), "another level");
    assert!(refused(&left, &eval.square(&right).unwrap(), 3).contains("relinearize first"), "three polynomials");
}
