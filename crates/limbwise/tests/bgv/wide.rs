//! Integers wider than a plaintext modulus: residues are exact, what could wrap is refused.

use super::common::Bench;
use limbwise::wire::{Origin, read_bgv_ciphertext, write_bgv_ciphertext};
use limbwise::{
    bgv::{BgvLiteral, BgvParams, Ciphertext, Magnitude, Residues, Wide, encrypt_seeded_from, preset},
    params::{Insecure, ParamsError},
};
use limbwise_cpu::Cpu;
use limbwise_math::sampling::Seed;

/// Residues modulo nine primes and a depth of two, in a ring too small to be secure.
fn small() -> BgvParams {
    let moduli = limbwise_math::prime::ntt_primes_below(10, 31, 9, &[]).unwrap();
    let mut literal = BgvLiteral::chain(10, moduli[0], &[46; 4], &[48], 4);
    literal.more_moduli = moduli[1..].to_vec();
    literal.insecure = Some(Insecure { reason: "a test".into() });
    BgvParams::new(&literal).unwrap()
}

fn encrypted(bench: &Bench, words: &[u64]) -> Wide<Cpu> {
    let residues = Residues::new(&bench.params).split(words).into_iter().enumerate().map(|(modulus, values)| {
        let plain = bench.encoder.at(modulus).encode(&bench.dev, &[values], bench.params.top_level()).unwrap();
        let seed = Seed([u8::try_from(modulus).unwrap() + 1; 32]);
        encrypt_seeded_from(&bench.dev, &bench.params, &bench.secret, &plain, &seed).ciphertext
    });
    Wide { residues: residues.collect(), magnitude: Magnitude::WORD }
}

fn decrypted(bench: &Bench, a: &Wide<Cpu>, count: usize, words: usize) -> Vec<u64> {
    let residues: Vec<Vec<i64>> = a.residues.iter().map(|one| bench.decrypt(one)[..count].to_vec()).collect();
    Residues::new(&bench.params).join(&residues.iter().map(Vec::as_slice).collect::<Vec<_>>(), words)
}

/// Words that meet every carry: both ends, powers of two and their neighbors.
const LEFT: [u64; 6] = [u64::MAX, 0, 1, 1 << 63, 0xdead_beef_1234_5678, u64::MAX - 1];
const RIGHT: [u64; 6] = [u64::MAX, u64::MAX, 5, (1 << 63) + 1, 0xfeed_f00d_8765_4321, 3];

#[test]
fn words_wrap_as_machine_integers_and_nothing_else_does() {
    let bench = Bench::new(&small(), &[]);
    let auto = bench.auto();
    let (a, b) = (encrypted(&bench, &LEFT), encrypted(&bench, &RIGHT));
    let pairs = || LEFT.iter().copied().zip(RIGHT);
    let low = |found: &Wide<Cpu>| decrypted(&bench, found, LEFT.len(), 1);
    let product = auto.wide_mul(&a, &b).unwrap();
    assert_eq!(low(&product), pairs().map(|(x, y)| x.wrapping_mul(y)).collect::<Vec<_>>());
    let wide = |x: u64, y: u64| u128::from(x) * u128::from(y);
    let halves = |x: u128| [u64::try_from(x & u128::from(u64::MAX)).unwrap(), u64::try_from(x >> 64).unwrap(), 0];
    assert_eq!(decrypted(&bench, &product, 6, 3), pairs().flat_map(|(x, y)| halves(wide(x, y))).collect::<Vec<_>>());
    let difference = auto.wide_sub(&a, &b).unwrap();
    assert_eq!(low(&difference), pairs().map(|(x, y)| x.wrapping_sub(y)).collect::<Vec<_>>());
    let negated = auto.wide_negate(&auto.wide_add(&a, &b).unwrap());
    assert_eq!(low(&negated), pairs().map(|(x, y)| x.wrapping_add(y).wrapping_neg()).collect::<Vec<_>>());
    // Depth two: (a·b)·(a − b), whose factor differs between moduli.
    let twice = auto.wide_mul(&product, &difference).unwrap();
    let wanted: Vec<u64> = pairs().map(|(x, y)| x.wrapping_mul(y).wrapping_mul(x.wrapping_sub(y))).collect();
    assert_eq!(low(&twice), wanted);
    let clear = vec![RIGHT.to_vec()];
    let mixed = auto.wide_add_values(&auto.wide_mul_values(&a, &clear).unwrap(), &clear).unwrap();
    assert_eq!(low(&mixed), pairs().map(|(x, y)| x.wrapping_mul(y).wrapping_add(y)).collect::<Vec<_>>());
}

#[test]
fn what_could_wrap_round_the_moduli_is_refused() {
    let bench = Bench::new(&small(), &[]);
    let auto = bench.auto();
    let a = encrypted(&bench, &LEFT);
    let square = auto.wide_mul(&a, &a).unwrap();
    let fourth = auto.wide_mul(&square, &square).unwrap();
    let error = auto.wide_mul(&fourth, &a).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("320.0 bits") && error.contains("tell apart 278.0 bits"), "{error}");
    // Residues of different moduli never meet.
    let [x, y] = [&a.residues[0], &a.residues[1]];
    let modulus = |result: limbwise::Result<Ciphertext<Cpu>>| result.map(|_| ()).unwrap_err().to_string();
    for error in [bench.eval().add(x, y), bench.eval().multiply(x, y), bench.eval().stack(&[x.clone(), y.clone()])] {
        assert!(modulus(error).contains("plaintext moduli 0 and 1"));
    }
    let plain = bench.encoder.at(2).encode(&bench.dev, &[vec![1]], x.level).unwrap();
    assert!(modulus(bench.eval().mul_plain(x, &plain)).contains("plaintext moduli 0 and 2"));
}

#[test]
fn presets_of_words_hold_the_products_that_they_promise() {
    for (name, products) in [("zn64-n12", 2.0), ("zn64-n13", 4.0)] {
        let split = Residues::new(&preset(name).unwrap());
        assert!(split.fits("multiply", Magnitude::of_bits(64.0 * products)).is_ok(), "{name}");
        assert!(split.fits("multiply", Magnitude::of_bits(64.0 * (products + 1.0))).is_err(), "{name}");
        assert!(split.fits("multiply", Magnitude::of_bits(f64::NAN)).is_err());
    }
}

#[test]
fn moduli_that_repeat_or_are_no_moduli_are_refused() {
    let of = |more: Vec<u64>| {
        let mut literal = BgvLiteral::chain(12, 65537, &[50, 50], &[], 1);
        literal.more_moduli = more;
        BgvParams::new(&literal)
    };
    assert_eq!(of(vec![114_689]).unwrap().moduli().len(), 2);
    for bad in [vec![65537], vec![114_689, 114_689], vec![4], vec![(1 << 50) + 1], vec![114_689; 16]] {
        let error = of(bad.clone()).unwrap_err();
        assert!(matches!(error, ParamsError::Range { field: "more_moduli", .. }), "{bad:?}: {error}");
    }
}

#[test]
fn a_file_says_its_modulus() {
    let bench = Bench::new(&small(), &[]);
    let a = encrypted(&bench, &LEFT);
    for (modulus, one) in a.residues.iter().enumerate() {
        let bytes = write_bgv_ciphertext(Vec::new(), &bench.dev, &bench.params, one, &Origin::NONE).unwrap();
        let read = read_bgv_ciphertext(&bytes[..], &bench.dev, &bench.params).unwrap();
        assert_eq!((read.modulus, bench.decrypt(&read)), (modulus, bench.decrypt(one)));
        // The first modulus is not named, so files of sets with one have the bytes that they always had.
        let named = bytes.windows(10).any(|window| window == b"\"modulus\":");
        assert_eq!(named, modulus > 0);
    }
    // A set with fewer moduli is another set, and its files are of another kind of integers.
    let mut literal = small().literal().clone();
    literal.more_moduli.truncate(1);
    let fewer = BgvParams::new(&literal).unwrap();
    let bytes = write_bgv_ciphertext(Vec::new(), &bench.dev, &bench.params, &a.residues[5], &Origin::NONE).unwrap();
    assert!(read_bgv_ciphertext(&bytes[..], &bench.dev, &fewer).is_err());
}
