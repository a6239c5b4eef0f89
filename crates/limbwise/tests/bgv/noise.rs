//! The bound on the noise holds, and is not absurdly loose.

use super::common::{Bench, small};
use limbwise::bgv::Ciphertext;
use limbwise_cpu::Cpu;
use limbwise_math::modulus::Modulus;

/// Most bits that the bound may lie above what is measured: half of log₂ N is between the embedding and coefficients, and
/// a bit or two for each random term.
const MOST_SLACK: f64 = 20.0;

fn holds(bench: &Bench, name: &str, a: &Ciphertext<Cpu>) {
    let (bound, measured) = (a.noise.bits(), bench.read(a).noise_bits);
    assert!(measured < bound, "{name}: measured 2^{measured:.1} above the bound 2^{bound:.1}");
    assert!(bound - measured < MOST_SLACK, "{name}: measured 2^{measured:.1}, bound 2^{bound:.1}");
}

#[test]
fn bounds_hold_and_are_not_absurd() {
    let bench = Bench::new(&small(), &[3]);
    let eval = bench.eval();
    for content in
        [bench.values(1), vec![6144; 1024], vec![-6144; 1], (0..1024).map(|i| 6144 * (1 - 2 * (i % 2))).collect()]
    {
        let (a, b) = (bench.encrypt(&content, 1), bench.encrypt_secret(&content, 2));
        holds(&bench, "public", &a);
        holds(&bench, "secret", &b);
        let plain = bench.encoder.encode(&bench.dev, std::slice::from_ref(&content), 3).unwrap();
        holds(&bench, "mul_plain", &eval.mul_plain(&a, &plain).unwrap());
        holds(&bench, "rotate", &eval.rotate_rows(&a, 3).unwrap());
        let product = eval.multiply(&a, &a).unwrap();
        holds(&bench, "product", &product);
        holds(&bench, "relinearized", &eval.relinearize(&product).unwrap());
        for level in [2, 1] {
            holds(&bench, "switched product", &eval.mod_switch(&product, level).unwrap());
        }
        holds(&bench, "switched", &eval.mod_switch(&a, 2).unwrap());
        let low = eval.mod_switch(&product, 2).unwrap();
        holds(&bench, "sum of other factors", &eval.add(&low, &eval.drop_level(&a, 2).unwrap()).unwrap());
        holds(&bench, "product of products", &eval.square(&low).unwrap());
    }
}

/// Plaintexts whose coefficients are all as large as they can be, with signs that add up at one place of the embedding or
/// alternate: the largest that slots can make of a polynomial.
#[test]
fn bounds_hold_at_the_worst_plaintexts() {
    let bench = Bench::new(&small(), &[3]);
    let (eval, t, n) = (bench.eval(), bench.params.t(), bench.params.slots());
    let most = (t.value() - 1) / 2;
    for signs in [|_: usize| true, |k: usize| k.is_multiple_of(2), |k: usize| k % 4 < 2] {
        let coefficients: Vec<u64> = (0..n).map(|k| if signs(k) { most } else { t.value() - most }).collect();
        let content = slots_of(&coefficients, t);
        let a = bench.encrypt(&content, 1);
        let plain = bench.encoder.encode(&bench.dev, std::slice::from_ref(&content), 3).unwrap();
        holds(&bench, "encryption", &a);
        holds(&bench, "product with the plaintext", &eval.mul_plain(&a, &plain).unwrap());
        let square = eval.relinearize(&eval.multiply(&a, &a).unwrap()).unwrap();
        holds(&bench, "square", &square);
        let low = eval.mod_switch(&square, 2).unwrap();
        holds(&bench, "switched", &low);
        holds(&bench, "fourth power", &eval.square(&low).unwrap());
        holds(&bench, "rotated", &eval.rotate_rows(&a, 3).unwrap());
    }
}

/// The values of a polynomial at the roots that the slots are: 5^j for the first row, their inverses for the second.
fn slots_of(coefficients: &[u64], t: Modulus) -> Vec<i64> {
    let n = coefficients.len() as u64;
    let exponent = (t.value() - 1) / (2 * n);
    let root = (2..t.value()).map(|g| t.pow(g, exponent)).find(|&r| t.pow(r, n) == t.value() - 1).unwrap();
    let value = |power: u64| {
        let x = t.pow(root, power);
        let sum = coefficients.iter().rev().fold(0, |sum, &c| t.add(t.mul(sum, x), c));
        t.centered(sum)
    };
    let powers: Vec<u64> =
        std::iter::successors(Some(1), |p| Some(p * 5 % (2 * n))).take(coefficients.len() / 2).collect();
    powers.iter().map(|&p| value(p)).chain(powers.iter().map(|&p| value(2 * n - p))).collect()
}
