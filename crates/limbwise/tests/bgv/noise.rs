//! The bound on the noise holds, and is not absurdly loose.

use super::common::{Bench, small};
use limbwise::bgv::Ciphertext;
use limbwise_cpu::Cpu;

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
