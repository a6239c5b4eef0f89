//! Failures too rare to wait for, estimated by importance sampling (\[Sie76\]).
//!
//! The error of a key switch, and that of a switch to exponents, is a sum of independent parts of known laws: digits times
//! errors of the key, remainders times bits of the key. The tests know the key. They draw each part from its own law times
//! e^(θ·part), with the θ at which the mean of the sum lies at the limit, so that half of all bootstrappings fail. Each
//! failure counts as much less as it was drawn more often. What is bootstrapped and counted is the evaluator's own work.

use super::{
    super::{
        ciphertext::{self, Ciphertext},
        key::{ServerKey, switch_shape},
        noise,
        params::{TfheLiteral, TfheParams},
        presets::presets,
        secret::{self, ClientKey},
        table::Table,
    },
    Evaluator,
};
use limbwise_cpu::Cpu;
use limbwise_device::{Device, Gadget, HostRead, LweHandle, LweShape, Role};
use limbwise_math::{
    gadget::{Decomposition, mod_switch},
    rns::to_f64,
    sampling::{Seed, Stream},
    tail::log2_two_sided,
};
use std::f64::consts::TAU;

/// Largest ring, as log₂ of N, whose keys every machine has room for.
const LARGEST: u32 = 12;

/// Ciphertexts in one batch.
const AT_ONCE: usize = 64;

/// A number between 0 and 1, without both.
fn unit(stream: &mut Stream) -> f64 {
    (to_f64(stream.next_word() >> 11) + 0.5) * (-53f64).exp2()
}

/// An integer that is uniform in low … low + count − 1, times a factor.
struct Part {
    low: i64,
    count: u64,
    factor: f64,
}

impl Part {
    /// ln E\[e^(θ·part)\].
    fn cumulant(&self, theta: f64) -> f64 {
        let (x, count) = (theta * self.factor, to_f64(self.count));
        let (half, whole) = ((x / 2.0).abs(), (count * x / 2.0).abs());
        // ln of sinh(count·x/2)/(count·sinh(x/2)), and its series where both are near 0.
        let spread = if whole < 1e-3 {
            (whole * whole - half * half) / 6.0
        } else {
            whole - half + (-(-2.0 * whole).exp_m1()).ln() - (-(-2.0 * half).exp_m1()).ln() - count.ln()
        };
        x * (self.low as f64 + (count - 1.0) / 2.0) + spread
    }

    /// Draws the integer in proportion to e^(θ·part).
    fn draw(&self, theta: f64, stream: &mut Stream) -> i64 {
        let (x, count, u) = (theta * self.factor, to_f64(self.count), unit(stream));
        let at = if (x * count).abs() < 1e-9 { u * count } else { (u * (x * count).exp_m1()).ln_1p() / x };
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^32")]
        let steps = at.clamp(0.0, count - 1.0).floor() as i64;
        self.low + steps
    }
}

/// A sum of parts and of a normal variable.
struct Law {
    parts: Vec<Part>,
    variance: f64,
}

/// A law and what it is drawn with: half of the draws with each θ, so that both tails are met.
struct Tilted {
    law: Law,
    /// θ and ln E\[e^(θ·sum)\] towards the upper limit and the lower one.
    thetas: [(f64, f64); 2],
}

impl Law {
    fn cumulant(&self, theta: f64) -> f64 {
        self.parts.iter().map(|part| part.cumulant(theta)).sum::<f64>() + theta * theta * self.variance / 2.0
    }

    fn mean(&self, theta: f64) -> f64 {
        let step = 1e-5 * theta;
        (self.cumulant(theta + step) - self.cumulant(theta - step)) / (2.0 * step)
    }

    /// With a mean at ± a limit, which is several standard deviations away.
    fn tilted(self, limit: f64, deviation: f64) -> Tilted {
        let theta = |sign: f64| {
            let (mut low, mut high) = (0.1 * limit / deviation.powi(2), 20.0 * limit / deviation.powi(2));
            for _ in 0..40 {
                let middle = (low * high).sqrt();
                *(if sign * self.mean(sign * middle) < limit { &mut low } else { &mut high }) = middle;
            }
            (sign * low, self.cumulant(sign * low))
        };
        Tilted { thetas: [theta(1.0), theta(-1.0)], law: self }
    }
}

impl Tilted {
    /// The integers of all parts, and the normal variable.
    fn draw(&self, stream: &mut Stream) -> (Vec<i64>, f64) {
        let (theta, _) = self.thetas[usize::from(stream.next_word() & 1 == 1)];
        let drawn = self.law.parts.iter().map(|part| part.draw(theta, stream)).collect();
        let normal = (-2.0 * unit(stream).ln()).sqrt() * (TAU * unit(stream)).cos();
        (drawn, theta * self.law.variance + self.law.variance.sqrt() * normal)
    }

    fn sum(&self, drawn: &[i64], normal: f64) -> f64 {
        self.law.parts.iter().zip(drawn).map(|(part, &d)| part.factor * d as f64).sum::<f64>() + normal
    }

    /// How much more often such a sum occurs than it is drawn.
    fn weight(&self, sum: f64) -> f64 {
        let drawn = self.thetas.map(|(theta, cumulant)| (theta * sum - cumulant).exp());
        2.0 / (drawn[0] + drawn[1])
    }
}

/// log₂ of a probability from the weights of what happened, and its standard error in bits.
fn estimate(weights: &[f64], samples: usize) -> (f64, f64) {
    let count = to_f64(samples as u64);
    let mean = weights.iter().sum::<f64>() / count;
    let square = weights.iter().map(|w| w * w).sum::<f64>() / count;
    let deviation = ((square / (mean * mean) - 1.0) / count).sqrt();
    (mean.log2(), deviation * std::f64::consts::LOG2_E)
}

struct Sides {
    dev: Cpu,
    client: ClientKey,
    server: ServerKey<Cpu>,
}

impl Sides {
    fn new(literal: &TfheLiteral) -> Self {
        let dev = Cpu::builder().threads(2).open().unwrap();
        let client = ClientKey::from_seed(&TfheParams::new(literal).unwrap(), Seed([23; 32]));
        let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
        Self { dev, client, server }
    }

    fn upload(&self, shape: LweShape, words: &[Vec<u64>]) -> <Cpu as Device>::Lwe {
        self.dev.upload_lwe(shape, Role::Ciphertext, &|entry, out| out.copy_from_slice(&words[entry]))
    }

    /// Phases under the small LWE key, in units of its modulus.
    fn narrow_phases(&self, narrow: &<Cpu as Device>::Lwe) -> Vec<f64> {
        let (bits, q) = (self.client.small_bits(), narrow.lwe_shape().modulus);
        let phase = |words: &[u64]| {
            let (body, mask) = words.split_last().unwrap();
            let sum = mask.iter().zip(bits).fold(*body, |sum, (a, bit)| sum + a * bit.cast_unsigned()) % q;
            to_f64(sum) / to_f64(q) - if sum > q / 2 { 1.0 } else { 0.0 }
        };
        self.dev.download_lwe(narrow).unwrap().chunks_exact(bits.len() + 1).map(phase).collect()
    }
}

/// How many standard deviations off a normal variable is with such a probability.
fn deviations(log2_probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        *(if log2_two_sided(middle) > log2_probability { &mut low } else { &mut high }) = middle;
    }
    low
}

/// How a word splits for the key switch.
struct Split {
    decomposition: Decomposition,
    factors: Vec<u32>,
    modulus: u64,
}

impl Split {
    fn of(params: &TfheParams) -> Self {
        let modulus = params.lwe_modulus();
        let decomposition = Gadget::from(params.literal().key_switch).of(modulus);
        Self { decomposition, factors: decomposition.log_factors().collect(), modulus }
    }

    /// How many words of the large modulus are rounded to one of this.
    fn spread(&self, params: &TfheParams) -> u64 {
        (params.modulus().value() / self.modulus).max(1)
    }

    /// The word of digits, and of what is left below them.
    fn sum(&self, parts: &[i64]) -> u64 {
        let shifts = self.factors.iter().copied().chain([0]);
        let sum = parts.iter().zip(shifts).fold(0u64, |sum, (part, f)| sum.wrapping_add(part.cast_unsigned() << f));
        sum & (self.modulus - 1)
    }

    /// The error of a key switch, of each word of the mask: digits times the errors of their rows, less what is left below them
    /// and what rounding to this modulus took away, both where a bit is one.
    fn law(&self, sides: &Sides) -> Law {
        let params = sides.client.params();
        let noise_seed = sides.client.seed().derive("errors of the switching key");
        let errors = secret::errors(params.literal().lwe_sigma, switch_shape(params).batch, &noise_seed);
        let scale = to_f64(self.modulus);
        let (base, least) = (self.decomposition.base(), 1u64 << self.factors.last().expect("a digit"));
        let part = |count: u64, factor: f64| Part { low: -(count / 2).cast_signed(), count, factor: factor / scale };
        let fine = to_f64(self.modulus) / to_f64(params.modulus().value());
        let rows = errors.chunks_exact(self.factors.len()).zip(sides.client.big_bits());
        let of_word = |(row, &bit): (&[i64], &i64)| {
            let digits = row.iter().map(|&error| part(base, error as f64));
            let left = [part(least, -bit as f64), part(self.spread(params), -bit as f64 * fine)];
            digits.chain(left).collect::<Vec<_>>()
        };
        Law { parts: rows.flat_map(of_word).collect(), variance: 0.0 }
    }
}

/// log₂ of the probability that a key switch errs by more than `limit`, in units of the modulus; with its standard error.
fn key_switch_tail(sides: &Sides, limit: f64, samples: usize) -> (f64, f64) {
    let (params, eval) = (sides.client.params(), Evaluator::new(&sides.dev, &sides.server));
    let (l, wide, split) = (params.literal(), params.modulus(), Split::of(params));
    let tilted = split.law(sides).tilted(limit, noise::key_switch(l).sqrt());
    let mut stream = Stream::new(&Seed([41; 32]), b"tails of a key switch");
    // Of the body, half a unit, and of each word the step between the words of the large modulus.
    let steps = to_f64(l.big_dimension() as u64) * to_f64(split.modulus) / to_f64(wide.value());
    let rounding = (0.5 + steps) / to_f64(split.modulus);
    let mut weights = Vec::new();
    for _ in 0..samples.div_ceil(AT_ONCE) {
        let mut sums = Vec::with_capacity(AT_ONCE);
        let mut zero = || {
            let (drawn, _) = tilted.draw(&mut stream);
            let word = |parts: &[i64]| {
                let (offset, parts) = parts.split_last().expect("an offset");
                wide.add(mod_switch(split.sum(parts), split.modulus, wide.value()), wide.from_i64(*offset))
            };
            let mut mask: Vec<u64> = drawn.chunks_exact(split.factors.len() + 2).map(word).collect();
            sums.push(tilted.sum(&drawn, 0.0));
            let kept = mask.iter().zip(sides.client.big_bits()).filter(|&(_, &bit)| bit == 1);
            mask.push(kept.fold(0, |body, (&a, _)| wide.sub(body, a)));
            mask
        };
        let words: Vec<Vec<u64>> = (0..AT_ONCE).map(|_| zero()).collect();
        let lwe = sides.upload(ciphertext::shape(params, AT_ONCE), &words);
        let switched = eval.switched(&Ciphertext::fresh(lwe, params, sides.client.tag()));
        for (error, sum) in sides.narrow_phases(&switched).into_iter().zip(sums) {
            assert!(
                (error - sum).abs() < rounding,
                "the error {error:e} is the sum of its parts {sum:e}, and rounding"
            );
            weights.extend((error.abs() > limit).then(|| tilted.weight(sum)));
        }
    }
    estimate(&weights, samples.div_ceil(AT_ONCE) * AT_ONCE)
}

/// The error of a bootstrapping at the largest norm: what rounding takes from each word of the mask times its bit less one half,
/// and what comes in, which is taken as normal.
fn rotation_law(sides: &Sides) -> Law {
    let (params, l) = (sides.client.params(), sides.client.params().literal());
    let (q, step) = (params.lwe_modulus(), params.lwe_modulus() / (2 << l.log_n));
    let part =
        |&bit: &i64| Part { low: -(step / 2).cast_signed(), count: step, factor: (0.5 - bit as f64) / to_f64(q) };
    let variance = l.norm.powi(2) * noise::nominal(l) + noise::key_switch(l);
    Law { parts: sides.client.small_bits().iter().map(part).collect(), variance }
}

/// log₂ of the probability that a bootstrapping at the largest norm gives another message; with its standard error.
fn rotation_tail(sides: &Sides, samples: usize) -> (f64, f64) {
    let (params, eval) = (sides.client.params(), Evaluator::new(&sides.dev, &sides.server));
    let (l, q, bits) = (params.literal(), params.lwe_modulus(), sides.client.small_bits());
    let circle = 2u64 << l.log_n;
    let limit = (-f64::from(l.message_bits + 2)).exp2();
    let tilted = rotation_law(sides).tilted(limit, noise::before_rotation(l, l.norm.powi(2), 0).sqrt());
    let table = Table::of(params, |m| m).expect("every message has itself");
    let test = eval.test_polynomials(&[vec![&table]]);
    let mut stream = Stream::new(&Seed([43; 32]), b"tails of a blind rotation");
    let mut weights = Vec::new();
    for _ in 0..samples.div_ceil(AT_ONCE) {
        let mut drawn = Vec::with_capacity(AT_ONCE);
        let mut encryption = || {
            let (rests, normal) = tilted.draw(&mut stream);
            let message = stream.next_word() % params.space();
            drawn.push((message, tilted.sum(&rests, normal)));
            let mut word = |rest: &i64| (stream.next_word() % circle * (q / circle)).wrapping_add(rest.cast_unsigned());
            let mut words: Vec<u64> = rests.iter().map(|rest| word(rest) & (q - 1)).collect();
            #[expect(clippy::cast_possible_truncation, reason = "a part of the modulus")]
            let error = (normal * to_f64(q)).round() as i64;
            let phase = (message * (q / params.space() / 2)).wrapping_add(error.cast_unsigned());
            let kept = words.iter().zip(bits).filter(|&(_, &bit)| bit == 1);
            words.push(kept.fold(phase, |body, (&a, _)| body.wrapping_sub(a)) & (q - 1));
            words
        };
        let words: Vec<Vec<u64>> = (0..AT_ONCE).map(|_| encryption()).collect();
        let narrow = sides.upload(LweShape { dimension: l.lwe_dimension, modulus: q, batch: AT_ONCE }, &words);
        let like = sides.client.encrypt(&sides.dev, &[0; AT_ONCE]).expect("messages");
        let out = eval.extract(&like, &eval.rotate(&test, &narrow, 0), 0, (0, 0));
        let phases = sides.client.phases(&sides.dev, &eval.add_half_offsets(out, &[&table])).expect("of this key");
        for (phase, (message, sum)) in phases.into_iter().zip(drawn) {
            let fails = params.decode(phase) != message;
            // Rounding of the body adds up to half a step of the circle.
            let near = (sum.abs() - limit).abs() < 1.0 / to_f64(circle);
            assert!(near || fails == (sum.abs() > limit), "{message} with an error of {sum:e} at a limit of {limit:e}");
            weights.extend(fails.then(|| tilted.weight(sum)));
        }
    }
    estimate(&weights, samples.div_ceil(AT_ONCE) * AT_ONCE)
}

/// Both tails of a preset beside what is promised.
fn check(name: &str, literal: &TfheLiteral, samples: usize) {
    let sides = Sides::new(literal);
    let promised = noise::log2_failure(literal, literal.norm.powi(2), 0);
    let limit = deviations(promised) * noise::key_switch(literal).sqrt();
    let [(switch, switch_error), (rotation, rotation_error)] =
        [key_switch_tail(&sides, limit, samples), rotation_tail(&sides, samples)];
    eprintln!(
        "{name}: {samples} samples, where the formulas say 2^{promised:.1}: key switch 2^{switch:.2} ± {switch_error:.2}, \
         bootstrapping 2^{rotation:.2} ± {rotation_error:.2}"
    );
    // The errors of one key are not those of all keys: with r rows their mean square deviates by √(2/r), and with it the
    // exponent, here by four of them. Sums of uniform parts have lighter tails, by a few bits.
    let of_one_key = 4.0 * promised.abs() * (2.0 / to_f64(switch_shape(sides.client.params()).batch as u64)).sqrt();
    assert!(
        switch < promised + of_one_key + 3.0 * switch_error + 0.5,
        "{name}: the key switch errs more often than promised"
    );
    assert!(
        switch > 1.1 * promised - of_one_key - 3.0 * switch_error,
        "{name}: the estimate misses what a key switch does"
    );
    assert!(rotation < promised + 3.0 * rotation_error + 0.5, "{name}: fails more often than promised");
    assert!(rotation > 1.1 * promised - 3.0 * rotation_error, "{name}: the estimate misses what fails");
}

fn promising() -> Vec<(&'static str, TfheLiteral)> {
    let mut all: Vec<_> = presets().into_iter().map(|preset| (preset.name, preset.literal)).collect();
    all.retain(|(_, literal)| literal.insecure.is_none() && TfheParams::new(literal).is_ok());
    all.sort_by_key(|(_, literal)| (literal.log_n, literal.lwe_dimension));
    all
}

#[test]
fn the_smallest_preset_fails_as_rarely_as_it_promises() {
    let (name, literal) = &promising()[0];
    check(name, literal, 256);
}

#[test]
#[ignore = "a thousand bootstrappings of every preset; more with LIMBWISE_SAMPLES"]
fn every_preset_fails_as_rarely_as_it_promises() {
    let samples = std::env::var("LIMBWISE_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(1024);
    for (name, literal) in &promising() {
        match literal.log_n <= LARGEST || std::env::var_os("LIMBWISE_LARGE").is_some() {
            true => check(name, literal, samples),
            false => eprintln!("SKIPPED: {name}, whose keys take gigabytes (set LIMBWISE_LARGE)"),
        }
    }
}
