//! Secrets of this process: what is left of a key in its memory, and whether times depend on what is secret.

use crate::common::{Session, cpu, small};
use limbwise::{
    params::{Insecure, Params, ParamsLiteral},
    rlwe::SecretKey,
    tfhe::{ClientKey, TfheParams},
};
use limbwise_math::sampling::{Gaussian, GaussianTable, Seed, Stream};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};
use zeroize::Zeroizing;

/// Numbers of a secret that are looked for together: their chance in other memory is 2^−48 or less a place.
const LETTERS: usize = 48;
/// What numbers are hidden under, so that the pattern itself is not what is found.
const HIDDEN: i64 = 0x5a;

/// The first numbers of a secret from one on that is not 0, hidden: most memory is zeros.
fn hidden(numbers: &[i64]) -> Vec<i64> {
    let start = numbers.iter().position(|&x| x != 0).unwrap();
    numbers[start..start + LETTERS].iter().map(|x| x ^ HIDDEN).collect()
}

/// How a number may lie in memory.
const WIDTHS: [usize; 3] = [1, 4, 8];

/// Whether the numbers lie here, one each `width` bytes.
fn lies_here(memory: &[u8], at: usize, width: usize, hidden: &[i64]) -> bool {
    hidden.iter().enumerate().all(|(i, number)| {
        let wanted = (number ^ HIDDEN).to_le_bytes();
        memory.get(at + i * width..at + (i + 1) * width).is_some_and(|bytes| bytes == &wanted[..width])
    })
}

/// How often a secret lies in the writable memory of this process, in any width.
#[cfg(target_os = "linux")]
fn copies(hidden: &[i64]) -> usize {
    use std::os::unix::fs::FileExt as _;
    const STEP: usize = 1 << 20;
    const OVERLAP: usize = 8 * LETTERS;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    // What is read is a copy of what is looked for: its own place is left out.
    let mut buffer = vec![0; STEP + OVERLAP];
    let own = buffer.as_ptr() as usize..buffer.as_ptr() as usize + buffer.len();
    let mut found = 0;
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|mode| mode.starts_with("rw"))) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|digits| usize::from_str_radix(digits, 16).unwrap());
        let mut at = from;
        while at < to {
            let length = (STEP + OVERLAP).min(to - at);
            let end = if at < own.start { at.saturating_add(length).min(own.start) } else { at + length };
            if own.contains(&at) {
                at = own.end;
                continue;
            }
            let part = &mut buffer[..end - at];
            if memory.read_exact_at(part, at as u64).is_ok() {
                // A place in the overlap is counted with the next part.
                let places = part.len().min(if end == to || end == own.start { part.len() } else { STEP });
                let first = (hidden[0] ^ HIDDEN).to_le_bytes()[0];
                for (i, _) in part[..places].iter().enumerate().filter(|&(_, &byte)| byte == first) {
                    found += WIDTHS.iter().filter(|&&width| lies_here(part, i, width, hidden)).count();
                }
            }
            at += if end == to || end == own.start { end - at } else { STEP };
        }
    }
    buffer.fill(0);
    found
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_of_a_key_is_left_in_memory() {
    // RLWE: made, used on the device, dropped.
    let mut literal = ParamsLiteral::chain(11, 40, 30, 2, (40, 2), 2);
    literal.insecure = Some(Insecure { reason: "a test of memory".into() });
    let params = Params::new(&literal).unwrap();
    let mut numbers = Zeroizing::new(vec![0; 1 << 11]);
    Stream::new(&Seed::from_os().unwrap(), b"a test of memory").ternary(&mut numbers);
    let pattern = hidden(&numbers);
    let dev = cpu();
    let key = SecretKey::from_coefficients(&params, numbers).unwrap();
    assert!(copies(&pattern) > 0, "a key that is there is found");
    let generator = limbwise::rlwe::KeyGenerator::new(&dev, &params, &key).unwrap();
    drop((generator.public_key(), generator));
    drop(key);
    assert_eq!(copies(&pattern), 0, "copies of a dropped RLWE key");

    // TFHE: both keys, made from a seed, used for keys and encryption, dropped.
    let tfhe = TfheParams::new(&small(2, 1)).unwrap();
    let client = ClientKey::from_seed(&tfhe, Seed::from_os().unwrap());
    let narrow = hidden(client.small_bits());
    assert!(copies(&narrow) > 0, "a key that is there is found");
    let bootstrap = client.bootstrap_keys(&dev);
    let encrypted = client.encrypt(&dev, &[1, 2, 3]).unwrap();
    assert_eq!(client.decrypt(&dev, &encrypted).unwrap(), [1, 2, 3]);
    drop((client, bootstrap));
    assert_eq!(copies(&narrow), 0, "copies of a dropped TFHE key");
}

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
