//! Secrets of this process: whether times depend on what is secret. What is left of them in memory:
//! `crates/fuzz/tests/trust/memory.rs`.

use crate::common::{Session, small};
use limbwise::tfhe::ClientKey;
use limbwise_math::sampling::{Gaussian, GaussianTable, Seed, Stream};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Welch's t of two sets of times, without their slowest tenth: interrupts say nothing of secrets.
fn welch(times: [Vec<f64>; 2]) -> f64 {
    let [a, b] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.truncate(times.len() * 9 / 10);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let variance = times.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (times.len() - 1) as f64;
        (mean, variance / times.len() as f64)
    });
    (a.0 - b.0) / (a.1 + b.1).sqrt().max(f64::MIN_POSITIVE)
}

/// Times of both classes in random order; the class is chosen before the clock starts, into one place.
fn timed<T>(rounds: usize, mut choose: impl FnMut(bool) -> T, mut run: impl FnMut(&T)) -> f64 {
    let mut order = Stream::new(&Seed::from_os().unwrap(), b"order");
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let fixed = order.next_word().is_multiple_of(2);
        let input = choose(fixed);
        let start = Instant::now();
        run(black_box(&input));
        let took: Duration = start.elapsed();
        times[usize::from(fixed)].push(took.as_secs_f64());
    }
    welch(times)
}

/// Calls of each operation.
const ROUNDS: usize = 5000;

/// Sampling, encryption and decryption in the manner of dudect \[RBV17\]: fixed against random secrets. Values of |t| above 4.5
/// would be worth a look on a quiet machine; no time is asserted.
#[test]
#[ignore = "prints t-values: run alone on a quiet machine"]
fn times_of_fixed_and_of_random_secrets() {
    let mut random = Stream::new(&Seed::from_os().unwrap(), b"seeds");
    let mut seed = |fixed: bool| {
        let mut bytes = [0; 32];
        bytes.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&random.next_word().to_le_bytes()));
        if fixed { Seed([0; 32]) } else { Seed(bytes) }
    };
    let mut out = vec![0; 1 << 12];
    let tell = |what: &str, t: f64| eprintln!("{what}: t = {t:.2}");
    let table = GaussianTable::new(3.2);
    let wide = Gaussian::new(1e6);
    let t = timed(ROUNDS, &mut seed, |s| Stream::new(s, b"t").gaussian(&table, &mut out));
    tell("gaussian", t);
    let t = timed(ROUNDS, &mut seed, |s| Stream::new(s, b"t").wide_gaussian(&wide, &mut out));
    tell("wide gaussian", t);
    let t = timed(ROUNDS, &mut seed, |s| Stream::new(s, b"t").ternary(&mut out));
    tell("ternary", t);
    let t = timed(ROUNDS, &mut seed, |s| Stream::new(s, b"t").binary(&mut out));
    tell("binary", t);
    let s = Session::on(limbwise_cpu::Cpu::builder().threads(1).open().unwrap(), &small(2, 1), 1);
    let mut message = |fixed: bool| vec![if fixed { 0 } else { seed(false).0[0] as u64 % 4 }; 8];
    let t = timed(ROUNDS, &mut message, |m| drop(black_box(s.encrypt(m))));
    tell("TFHE encryption, message", t);
    let fixed = s.encrypt(&[0; 8]);
    let others: Vec<_> = (0..64).map(|i| s.encrypt(&[i % 4; 8])).collect();
    let mut at = 0;
    let input = |is_fixed: bool| {
        at += 1;
        s.eval().split(if is_fixed { &fixed } else { &others[at % 64] }, 0, 8)
    };
    let t = timed(ROUNDS, input, |c| drop(black_box(s.decrypt(c))));
    tell("TFHE decryption, message", t);
    let params = s.client.params().clone();
    let keys: Vec<_> = (0..64).map(|i| ClientKey::from_seed(&params, Seed([i; 32]))).collect();
    let pairs: Vec<_> = keys.iter().map(|key| (key, key.encrypt(&s.dev, &[1; 8]).unwrap())).collect();
    let mut at = 0;
    let pick = |is_fixed: bool| {
        at += 1;
        // The same places in turn for both classes: keys of one half, keys of the other.
        if is_fixed { &pairs[at % 32] } else { &pairs[32 + at % 32] }
    };
    let t = timed(ROUNDS, pick, |(key, c)| drop(black_box(key.decrypt(&s.dev, c).unwrap())));
    tell("TFHE decryption, key", t);
}
