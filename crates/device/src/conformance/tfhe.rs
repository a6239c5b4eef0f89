//! The part of the suite for TFHE: gadget operations, LWE ciphertexts, blind rotation.

use super::{Reach, expect, upload, words};
use crate::{
    composites,
    lwe::{Gadget, Ggsw, LweHandle, LweShape, LweSwitchKey, Rounding},
    ops::{HostRead, KeyId, Role},
    ring::{Domain, Ring, RingSpec, Shape},
};
use limbwise_math::{
    gadget::{mod_switch, mod_switch_centered},
    modulus::Modulus,
    prime::ntt_primes_below,
    sampling::{Seed, Stream},
};

/// One ring per prime width: for every kernel, and for widths that only the slow kernels support.
fn ring<D: HostRead>(dev: &D, log_n: u32, bits: u32) -> Ring {
    let primes = ntt_primes_below(log_n, bits, 1, &[]).expect("primes exist");
    dev.ring(&RingSpec { log_n, primes }).expect("the device takes primes of 20 bits to its reach")
}

/// Uniform words with edges.
fn lwe_words(shape: LweShape, label: u64) -> Vec<u64> {
    let mut stream = Stream::new(&Seed([4; 32]), &label.to_le_bytes());
    let q = u128::from(shape.modulus);
    let uniform = |x: u64| u64::try_from((u128::from(x) * q) >> 64).expect("below the modulus");
    let mut all: Vec<u64> = (0..shape.batch * shape.words()).map(|_| uniform(stream.next_word())).collect();
    all[..2].copy_from_slice(&[0, shape.modulus - 1]);
    all
}

fn upload_lwe<D: HostRead>(dev: &D, shape: LweShape, data: &[u64]) -> D::Lwe {
    dev.upload_lwe(shape, Role::Temporary, &|entry, out| {
        out.copy_from_slice(&data[entry * shape.words()..][..shape.words()])
    })
}

fn expect_lwe<D: HostRead>(dev: &D, op: &str, got: &D::Lwe, shape: LweShape, want: &[u64]) {
    assert_eq!(got.lwe_shape(), shape, "{op}: shape");
    let got = dev.download_lwe(got).expect("no fault");
    assert_eq!(got.len(), want.len(), "{op}: length");
    if let Some(at) = got.iter().zip(want).position(|(a, b)| a != b) {
        let words = shape.words();
        panic!("{op} modulo {}: entry {} word {}: {} for {}", shape.modulus, at / words, at % words, got[at], want[at]);
    }
}

/// Rotations, digits, and every operation on LWE ciphertexts, against their definitions.
///
/// # Panics
/// At the first difference.
pub fn lwe<D: HostRead>(dev: &D, reach: Reach) {
    for (log_n, bits) in [(10, 48), (11, 32), (12, 50), (13, 60)].into_iter().filter(|(log_n, _)| *log_n <= reach.log_n)
    {
        let ring = ring(dev, log_n, bits.min(reach.bits));
        rotations(dev, &ring);
        digits(dev, &ring);
        samples(dev, &ring);
    }
    let prime = ntt_primes_below(11, 48, 1, &[]).expect("primes exist")[0];
    for modulus in [prime, 1 << 32, 4096, 3 << 20, 1 << 62] {
        arithmetic(dev, LweShape { dimension: 37, modulus, batch: 3 });
        switches(dev, LweShape { dimension: 37, modulus, batch: 3 });
    }
}

fn rotations<D: HostRead>(dev: &D, ring: &Ring) {
    let (n, q) = (ring.n(), ring.moduli()[0]);
    let shape = Shape::eval(ring, ring.full()).with_domain(Domain::Coeff).with_batch(3);
    let exponents = LweShape { dimension: 2, modulus: 2 * n as u64, batch: 3 };
    let e: Vec<u64> = [0, 1, n - 1, n, n + 9, 2 * n - 1, 8, 13, 2 * n - 8].map(|e| e as u64).to_vec();
    let (x, device_e) = (words(&shape, 1), upload_lwe(dev, exponents, &e));
    let a = upload(dev, &shape, &x);
    let rotated = |row: &[u64], e: u64| {
        let mut out = vec![0; n];
        for (i, &c) in row.iter().enumerate() {
            let at = (i + usize::try_from(e).expect("below 2N")) % (2 * n);
            out[at % n] = if at < n { c } else { q.neg(c) };
        }
        out
    };
    for word in 0..3 {
        let want: Vec<u64> = (0..3).flat_map(|i| rotated(&x[i * n..][..n], e[3 * i + word])).collect();
        expect(dev, "monomial_mul", &dev.monomial_mul(&a, &device_e, word), &shape, &want);
    }
    let want: Vec<u64> = (0..3).flat_map(|i| rotated(&x[..n], e[3 * i + 1])).collect();
    let one = dev.split(&a, 0, 1);
    expect(dev, "monomial_mul, one polynomial", &dev.monomial_mul(&one, &device_e, 1), &shape, &want);
    let want: Vec<u64> = (0..3).flat_map(|i| rotated(&x[i * n..][..n], e[5])).collect();
    let alone = dev.lwe_split(&device_e, 1, 2);
    expect(dev, "monomial_mul, one exponent", &dev.monomial_mul(&a, &alone, 2), &shape, &want);
}

fn digits<D: HostRead>(dev: &D, ring: &Ring) {
    let (q, shape) = (ring.moduli()[0], Shape::eval(ring, ring.full()).with_domain(Domain::Coeff).with_batch(2));
    let x = words(&shape, 2);
    let a = upload(dev, &shape, &x);
    for (base_log, levels) in [(7, 3), (10, 2), (20, 1), (1, 4)] {
        let split = Gadget { base_log, levels }.of(q.value());
        let want: Vec<u64> = (0..levels).flat_map(|j| x.iter().map(move |&x| q.from_i64(split.digit(x, j)))).collect();
        let got = dev.decompose(&a, Gadget { base_log, levels });
        expect(dev, "decompose", &got, &shape.with_batch(2 * levels as usize), &want);
    }
}

fn samples<D: HostRead>(dev: &D, ring: &Ring) {
    let (n, q) = (ring.n(), ring.moduli()[0]);
    let shape = Shape::eval(ring, ring.full()).with_domain(Domain::Coeff).with_batch(2);
    let parts: Vec<Vec<u64>> = (3..6).map(|label| words(&shape, label)).collect();
    let polys: Vec<D::Poly> = parts.iter().map(|x| upload(dev, &shape, x)).collect();
    let at = [0, 1, n / 2 + 3, n - 1];
    let samples = dev.sample_extract(&polys.iter().collect::<Vec<_>>(), &at);
    let want = LweShape { dimension: 2 * n, modulus: q.value(), batch: 8 };
    assert_eq!(samples.lwe_shape(), want, "sample_extract: shape");
    let got = dev.download_lwe(&samples).expect("no fault");
    let mut secret = vec![0; 2 * n];
    Stream::new(&Seed([5; 32]), b"secret").uniform(q, &mut secret);
    for (i, sample) in got.chunks_exact(2 * n + 1).enumerate() {
        let (entry, place) = (i / 4, at[i % 4]);
        let lwe = sample.iter().zip(&secret).fold(sample[2 * n], |sum, (&a, &s)| q.add(sum, q.mul(a, s)));
        let mut phase = parts[0][entry * n + place];
        for (mask, key) in parts[1..].iter().zip(secret.chunks_exact(n)) {
            for (j, &a) in mask[entry * n..][..n].iter().enumerate() {
                let term = q.mul(a, key[(place + n - j) % n]);
                phase = if j <= place { q.add(phase, term) } else { q.sub(phase, term) };
            }
        }
        assert_eq!(lwe, phase, "sample_extract: place {place} of entry {entry}");
    }
    let embedded: Vec<D::Poly> = (0..3).map(|part| dev.lwe_embed(&samples, ring, ring.full(), part)).collect();
    let back = dev.sample_extract(&embedded.iter().collect::<Vec<_>>(), &[0]);
    expect_lwe(dev, "sample 0 of lwe_embed", &back, want, &got);
    // A mask that does not fill its last polynomial: the same sample padded with zero words.
    let short = LweShape { dimension: n + 3, ..want };
    let cut: Vec<u64> =
        got.chunks_exact(2 * n + 1).flat_map(|sample| [&sample[..n + 3], &sample[2 * n..]].concat()).collect();
    let filled: Vec<u64> = cut
        .chunks_exact(n + 4)
        .flat_map(|sample| [&sample[..n + 3], &vec![0; n - 3], &sample[n + 3..]].concat())
        .collect();
    let cut = upload_lwe(dev, short, &cut);
    let padded: Vec<D::Poly> = (0..3).map(|part| dev.lwe_embed(&cut, ring, ring.full(), part)).collect();
    let back = dev.sample_extract(&padded.iter().collect::<Vec<_>>(), &[0]);
    expect_lwe(dev, "sample 0 of lwe_embed, padded", &back, want, &filled);
    let body = dev.download(&embedded[0]).expect("no fault");
    let constant = body.chunks_exact(n).all(|row| row[1..].iter().all(|&x| x == 0));
    assert!(constant, "lwe_embed: the body is a constant");
}

fn arithmetic<D: HostRead>(dev: &D, shape: LweShape) {
    let q = u128::from(shape.modulus);
    let small = |x: u128| u64::try_from(x % q).expect("below the modulus");
    let (x, y) = (lwe_words(shape, 1), lwe_words(shape, 2));
    let (a, b) = (upload_lwe(dev, shape, &x), upload_lwe(dev, shape, &y));
    expect_lwe(dev, "upload_lwe", &a, shape, &x);
    let words = shape.words();
    let sum = |y: &[u64]| -> Vec<u64> {
        x.iter().enumerate().map(|(i, &x)| small(u128::from(x) + u128::from(y[i % y.len()]))).collect()
    };
    expect_lwe(dev, "lwe_add", &dev.lwe_add(&a, &b), shape, &sum(&y));
    let one = dev.lwe_split(&b, 2, 3);
    expect_lwe(dev, "lwe_split", &one, shape.with_batch(1), &y[2 * words..]);
    expect_lwe(dev, "lwe_add, broadcast", &dev.lwe_add(&one, &a), shape, &sum(&y[2 * words..]));
    let both = dev.lwe_stack(&[&one, &a]);
    expect_lwe(dev, "lwe_stack", &both, shape.with_batch(4), &[&y[2 * words..], &x].concat());
    for c in [0, 1, shape.modulus - 1, shape.modulus / 3] {
        let want: Vec<u64> = x.iter().map(|&x| small(u128::from(x) * u128::from(c))).collect();
        expect_lwe(dev, "lwe_scale", &dev.lwe_scale(&a, c), shape, &want);
        let mut want = x.clone();
        want.chunks_exact_mut(words).for_each(|w| w[words - 1] = small(u128::from(w[words - 1]) + u128::from(c)));
        expect_lwe(dev, "lwe_shift", &dev.lwe_shift(&a, &[c]), shape, &want);
    }
    let constants = [1, shape.modulus - 1, shape.modulus / 2];
    let mut want = x.clone();
    for (w, c) in want.chunks_exact_mut(words).zip(constants) {
        w[words - 1] = small(u128::from(w[words - 1]) + u128::from(c));
    }
    expect_lwe(dev, "lwe_shift, one an entry", &dev.lwe_shift(&a, &constants), shape, &want);
}

fn switches<D: HostRead>(dev: &D, shape: LweShape) {
    let x = lwe_words(shape, 3);
    let a = upload_lwe(dev, shape, &x);
    for to in [2048, 1 << 32, (1 << 47) - 115] {
        let want: Vec<u64> = x.iter().map(|&x| mod_switch(x, shape.modulus, to)).collect();
        let got = dev.lwe_mod_switch(&a, to, Rounding::Nearest);
        expect_lwe(dev, "lwe_mod_switch", &got, shape.with_modulus(to), &want);
        let mut want = x.clone();
        want.chunks_exact_mut(shape.words()).for_each(|w| mod_switch_centered(w, shape.modulus, to));
        let got = dev.lwe_mod_switch(&a, to, Rounding::CenteredForBinary);
        expect_lwe(dev, "lwe_mod_switch, centered", &got, shape.with_modulus(to), &want);
    }
    let gadget = Gadget { base_log: 3, levels: 4 };
    let (split, q) = (gadget.of(shape.modulus), i128::from(shape.modulus));
    let lift = |d: i64| u64::try_from(i128::from(d).rem_euclid(q)).expect("below the modulus");
    let digits: Vec<i64> = x
        .chunks_exact(shape.words())
        .flat_map(|w| w[..shape.dimension].iter().flat_map(|&x| (0..4).map(move |j| split.digit(x, j))))
        .collect();
    let long = LweShape { dimension: 4 * shape.dimension, ..shape };
    let entries = || digits.chunks_exact(long.dimension).zip(x.chunks_exact(shape.words()));
    let want: Vec<u64> = entries()
        .flat_map(|(d, w)| d.iter().map(|&d| lift(d)).chain([w[shape.dimension]]).collect::<Vec<u64>>())
        .collect();
    expect_lwe(dev, "lwe_decompose", &dev.lwe_decompose(&a, gadget), long, &want);
    let rows_shape = LweShape { dimension: 300, batch: long.dimension, ..shape };
    let rows_words = lwe_words(rows_shape, 4);
    // A key, which a device may store as it likes.
    let rows = dev.upload_lwe(rows_shape, Role::EvaluationKey(KeyId(0)), &|entry, out| {
        out.copy_from_slice(&rows_words[entry * rows_shape.words()..][..rows_shape.words()])
    });
    expect_lwe(dev, "upload_lwe of a key", &rows, rows_shape, &rows_words);
    let product = |(d, w): (&[i64], &[u64])| -> Vec<u64> {
        let column = |c: usize| {
            let terms = d.iter().zip(rows_words.chunks_exact(301)).map(|(&d, row)| i128::from(d) * i128::from(row[c]));
            let sum = terms.sum::<i128>() + if c == 300 { i128::from(w[shape.dimension]) } else { 0 };
            u64::try_from(sum.rem_euclid(q)).expect("below the modulus")
        };
        (0..301).map(column).collect()
    };
    let want: Vec<u64> = entries().flat_map(product).collect();
    let key = LweSwitchKey { gadget, rows };
    let out = rows_shape.with_batch(shape.batch);
    expect_lwe(dev, "lwe_key_switch, default", &composites::lwe_key_switch(dev, &a, &key), out, &want);
    expect_lwe(dev, "lwe_key_switch", &dev.lwe_key_switch(&a, &key), out, &want);
}

/// GGSW ciphertexts of arbitrary words, which suffice to compare results.
fn ggsw<D: HostRead>(dev: &D, ring: &Ring, components: usize, batch: usize, gadget: Gadget) -> Ggsw<D::Poly> {
    let shape = Shape::eval(ring, ring.full()).with_batch(batch);
    let poly = |label: usize| {
        let data = words(&shape, 100 + label as u64);
        let n = shape.ring.n();
        dev.upload(&shape, Role::BootstrapKey(KeyId(1)), &|at, row| row.copy_from_slice(&data[at.batch * n..][..n]))
    };
    let row = |r: usize| (0..components).map(|c| poly(components * r + c)).collect();
    Ggsw { gadget, rows: (0..components * gadget.len()).map(row).collect() }
}

/// External products and blind rotations: overrides against default bodies.
///
/// # Panics
/// At the first difference.
pub fn blind_rotation<D: HostRead>(dev: &D, reach: Reach) {
    let cases = [
        (10, 48, 2, Gadget { base_log: 8, levels: 2 }),
        (10, 50, 3, Gadget { base_log: 5, levels: 1 }),
        (10, 36, 2, Gadget { base_log: 6, levels: 3 }),
        (10, 49, 2, Gadget { base_log: 1, levels: 1 }),
        (11, 48, 2, Gadget { base_log: 23, levels: 1 }),
        (11, 49, 2, Gadget { base_log: 7, levels: 4 }),
        (11, 50, 2, Gadget { base_log: 9, levels: 3 }),
        (11, 32, 2, Gadget { base_log: 7, levels: 3 }),
        (12, 48, 2, Gadget { base_log: 16, levels: 2 }),
        (12, 60, 2, Gadget { base_log: 15, levels: 2 }),
        (14, 50, 2, Gadget { base_log: 20, levels: 2 }),
    ];
    let within = cases.into_iter().filter(|&(log_n, ..)| log_n <= reach.log_n);
    for (log_n, bits, components, gadget) in within.take(reach.rotations) {
        let ring = ring(dev, log_n, bits.min(reach.bits));
        let coeff = Shape::eval(&ring, ring.full()).with_domain(Domain::Coeff);
        let n = ring.n() as u64;
        let exponents = LweShape { dimension: 6, modulus: 2 * n, batch: 3 };
        let mut e = lwe_words(exponents, 6);
        e[7..14].copy_from_slice(&[1, 0, n, n - 1, n + 1, 8, 2 * n - 8]);
        let e = upload_lwe(dev, exponents, &e);
        let key = ggsw(dev, &ring, components, 6, gadget);
        for batch in [1, 3] {
            let test = upload(dev, &coeff.with_batch(batch), &words(&coeff.with_batch(batch), 7));
            let got = dev.blind_rotate(&test, &e, &key);
            let want = composites::blind_rotate(dev, &test, &e, &key);
            same(dev, "blind_rotate", &coeff.with_batch(3), &got, &want);
        }
        // A single one may be divided among threads.
        let (shape, one) = (coeff.with_batch(1), LweShape { batch: 1, ..exponents });
        let (test, e) = (upload(dev, &shape, &words(&shape, 7)), upload_lwe(dev, one, &lwe_words(one, 5)));
        let want = composites::blind_rotate(dev, &test, &e, &key);
        same(dev, "blind_rotate", &shape, &dev.blind_rotate(&test, &e, &key), &want);
        let c: Vec<D::Poly> = (8..8 + components as u64)
            .map(|label| upload(dev, &coeff.with_batch(6), &words(&coeff.with_batch(6), label)))
            .collect();
        let c: Vec<&D::Poly> = c.iter().collect();
        for key in [key.entry(dev, 2), key] {
            let want = composites::external_product(dev, &c, &key);
            same(dev, "external_product", &coeff.with_batch(6), &dev.external_product(&c, &key), &want);
        }
    }
}

/// Interprets arbitrary numbers as a program of TFHE's operations over one limb: components of a ciphertext in coefficient
/// domain, and LWE ciphertexts that come from them and go back.
///
/// # Panics
/// If the device violates a contract.
pub fn random_tfhe_program<D: HostRead>(dev: &D, ring: &Ring, script: &[(u8, u8)]) {
    let coeff = Shape::eval(ring, ring.full()).with_domain(Domain::Coeff);
    let (circle, q) = (2 * ring.n() as u64, ring.moduli()[0]);
    let gadget = Gadget { base_log: 6, levels: 2 };
    let key = ggsw(dev, ring, 2, 2, gadget);
    let exponents = LweShape { dimension: 2, modulus: circle, batch: 2 };
    let exponents = upload_lwe(dev, exponents, &lwe_words(exponents, 9));
    let mut glwe: Vec<D::Poly> =
        (20..22).map(|i| upload(dev, &coeff.with_batch(2), &words(&coeff.with_batch(2), i))).collect();
    let mut lwe = dev.sample_extract(&glwe.iter().collect::<Vec<_>>(), &[0, 5]);
    for &(op, number) in script {
        let (c, word) = (usize::from(number) % 2, usize::from(number) % 3);
        let whole: Vec<&D::Poly> = glwe.iter().collect();
        match op % 12 {
            0 => glwe[c] = dev.monomial_mul(&glwe[c], &exponents, word),
            1 => glwe[c] = dev.split(&dev.decompose(&glwe[c], gadget), 0, 2),
            2 => glwe = dev.external_product(&whole, &key),
            3 => glwe = dev.blind_rotate(&glwe[c], &exponents, &key),
            4 => lwe = dev.sample_extract(&whole, &[usize::from(number), ring.n() - 1]),
            5 => glwe = (0..2).map(|part| dev.lwe_embed(&dev.lwe_split(&lwe, 0, 2), ring, ring.full(), part)).collect(),
            6 => lwe = dev.lwe_add(&lwe, &dev.lwe_split(&lwe, word, word + 1)),
            7 => lwe = dev.lwe_scale(&lwe, q.value() / (2 + u64::from(number))),
            8 => lwe = dev.lwe_shift(&lwe, &[q.value() / (2 + u64::from(number))]),
            9 => lwe = dev.lwe_stack(&[&dev.lwe_split(&lwe, word + 1, 4), &dev.lwe_split(&lwe, 0, word + 1)]),
            10 => {
                let rounding = if number % 2 == 0 { Rounding::Nearest } else { Rounding::CenteredForBinary };
                lwe = dev.lwe_mod_switch(
                    &dev.lwe_mod_switch(&lwe, 1 << (12 + number % 32), rounding),
                    q.value(),
                    rounding,
                );
            }
            _ => {
                let narrow = dev.lwe_mod_switch(&lwe, 1 << 32, Rounding::Nearest);
                drop(dev.lwe_decompose(&narrow, gadget));
            }
        }
    }
}

fn same<D: HostRead>(dev: &D, op: &str, shape: &Shape, got: &[D::Poly], want: &[D::Poly]) {
    assert_eq!(got.len(), want.len(), "{op}: components");
    for (got, want) in got.iter().zip(want) {
        expect(dev, op, got, shape, &dev.download(want).expect("no fault"));
    }
}

/// With rows that encrypt 3 and no error, the product is 3 times what the digits rebuild.
pub(super) fn constant_product<D: HostRead>(dev: &D, reach: Reach) {
    let ring = ring(dev, 10, reach.bits.min(48));
    let (n, q) = (ring.n(), ring.moduli()[0]);
    let gadget = Gadget { base_log: 9, levels: 3 };
    let split = gadget.of(q.value());
    let factors: Vec<u64> = split.log_factors().map(|f| q.mul(3, 1 << f)).collect();
    let shape = Shape::eval(&ring, ring.full());
    let row = |r: usize| {
        let on_diagonal = |c: usize| if r / 3 == c { factors[r % 3] } else { 0 };
        (0..2).map(|c| upload(dev, &shape, &vec![on_diagonal(c); n])).collect()
    };
    let key = Ggsw { gadget, rows: (0..6).map(row).collect() };
    let coeff = shape.with_domain(Domain::Coeff);
    let parts: Vec<Vec<u64>> = (11..13).map(|label| words(&coeff, label)).collect();
    let polys: Vec<D::Poly> = parts.iter().map(|x| upload(dev, &coeff, x)).collect();
    let got = dev.external_product(&polys.iter().collect::<Vec<_>>(), &key);
    for (got, x) in got.iter().zip(&parts) {
        let rebuilt = |q: Modulus, x: u64| {
            let terms = (0..3).zip(&factors).map(|(j, &f)| q.mul(q.from_i64(split.digit(x, j)), f));
            terms.fold(0, |sum, term| q.add(sum, term))
        };
        let want: Vec<u64> = x.iter().map(|&x| rebuilt(q, x)).collect();
        expect(dev, "external_product by 3", got, &coeff, &want);
    }
}
