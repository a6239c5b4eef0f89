//! EvalMod's range: how often the multiple of q₀ under ModRaise leaves it, sampled where that is frequent enough to be
//! counted, beside the failure probability that reports print.

use limbwise::params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine};
use limbwise_math::{
    modulus::Modulus,
    sampling::{Seed, Stream},
    uniform_sum::two_sided_tail,
};
use std::fmt::Write as _;

/// Weight of the ephemeral secret, as in the presets.
const WEIGHT: usize = 32;
/// Coefficients of the sampled ring. The multiples depend on the weight alone.
const N: usize = 1 << 12;

/// Polynomials that are sampled; `LIMBWISE_SAMPLES=10000` is the campaign.
fn polynomials() -> usize {
    std::env::var("LIMBWISE_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(256)
}

/// A set whose EvalMod has this range.
fn params(range: u32) -> Params {
    let eval_mod = EvalModLiteral { range, degree: 31, double_angles: 3, sine: Sine::Cosine { arcsine: 3 } };
    let mut literal = ParamsLiteral::chain(11, 50, 40, 0, (50, 6), 5);
    let bits = [32, 32, 40, 40].into_iter().chain(vec![50; eval_mod.depth()]).chain([46; 2]);
    literal.levels.extend(bits.map(|b| vec![PrimeChoice::Bits(b)]));
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 2,
        coeff_to_slot: 2,
        message_ratio: 7,
        ephemeral_weight: Some(WEIGHT),
        eval_mod,
        refinement: None,
    });
    literal.insecure = Some(Insecure { reason: "a test of a formula".into() });
    Params::new(&literal).unwrap()
}

/// How often the multiple of q has each magnitude: `I = (c₀ + c₁·s − m)/q` with `c₀ = m − c₁·s mod q`, centered, is the
/// nearest integer of `(c₁·s)/q` where m is small beside q, as a message is.
fn magnitudes(polynomials: usize) -> Vec<u64> {
    let q = Modulus::new((1 << 50) - 27);
    let mut stream = Stream::new(&Seed([3; 32]), b"multiples under ModRaise");
    let (mut secret, mut c1) = (vec![0i64; N], vec![0u64; N]);
    let mut counts = vec![0; WEIGHT + 2];
    for _ in 0..polynomials {
        stream.fixed_weight(WEIGHT, &mut secret);
        stream.uniform(q, &mut c1);
        let mut sums = vec![0i64; N];
        for (at, &sign) in secret.iter().enumerate().filter(|(_, sign)| **sign != 0) {
            for (k, &c) in c1.iter().enumerate() {
                // X^N = −1.
                let (place, turned) = if k + at < N { (k + at, sign) } else { (k + at - N, -sign) };
                sums[place] += turned * q.centered(c);
            }
        }
        let modulus = i64::try_from(q.value()).unwrap();
        for sum in sums {
            let multiple = (2 * sum + modulus).div_euclid(2 * modulus);
            counts[usize::try_from(multiple.unsigned_abs()).unwrap()] += 1;
        }
    }
    counts
}

#[test]
fn multiples_leave_the_range_as_often_as_reports_say() {
    let polynomials = polynomials();
    let counts = magnitudes(polynomials);
    let samples = (polynomials * N) as f64;
    let mut table = String::new();
    let mut compared = 0;
    for range in 2..=9u32 {
        let beyond: u64 = counts[range as usize..].iter().sum();
        let measured = beyond as f64 / samples;
        // Two coefficients a slot, by the union bound.
        let promised = (params(range).bootstrapping().unwrap().log2_failure(1) - 1.0).exp2();
        let exact = two_sided_tail(u32::try_from(WEIGHT).unwrap(), f64::from(range) - 0.5);
        let expected = exact * samples;
        writeln!(
            table,
            "{range}: measured {measured:.3e} of {samples:.1e}, exact {exact:.3e}, promised {promised:.3e}"
        )
        .unwrap();
        if expected < 100.0 {
            continue;
        }
        compared += 1;
        // Coefficients of one polynomial share its words, so that counts spread a little more than independent ones.
        let band = 0.01 + 6.0 / expected.sqrt();
        let ratio = measured / exact;
        assert!((1.0 - band..1.0 + band).contains(&ratio), "range {range}: {ratio:.3}\n{table}");
        assert!(measured <= promised * (1.0 + band), "range {range}: more failures than are promised\n{table}");
    }
    eprint!("{table}");
    assert!(compared >= 5, "too few ranges with enough events\n{table}");
}
