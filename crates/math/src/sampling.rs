//! Randomness: a keyed expandable stream, seeds from the operating system, and the distributions of RLWE.
//!
//! Samplers of secrets have no secret-dependent branches or addresses.

use crate::modulus::Modulus;
use limbwise_taint::declassify;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The operating system returned no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness ({0}): no key or ciphertext can be made safely")]
pub struct EntropyError(getrandom::Error);

/// A 256-bit seed of a stream. Wiped on drop.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Seed(pub [u8; 32]);

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(…)")
    }
}

impl Seed {
    /// A fresh seed from the operating system.
    ///
    /// # Errors
    /// [`EntropyError`] when the system has none.
    pub fn from_os() -> Result<Self, EntropyError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(EntropyError)?;
        Ok(Self(bytes))
    }

    /// Derives an independent seed by a label.
    #[must_use]
    pub fn derive(&self, label: &str) -> Self {
        let mut stream = Stream::new(self, &[b"derive:", label.as_bytes()].concat());
        let mut bytes = [0; 32];
        stream.reader.fill(&mut bytes);
        Self(bytes)
    }
}

/// Source of seeds.
#[derive(Clone, Debug, Default)]
pub enum SeedSource {
    /// Fresh randomness of the operating system.
    #[default]
    System,
    /// A stored secret seed, so that a computation that was stopped repeats exactly.
    Kept(Seed),
    /// INSECURE: a guessable number, for repeatable tests.
    Repeating(u64),
}

impl SeedSource {
    /// A seed for one use, derived by its label. Except from the system, equal labels give equal seeds, so two uses under
    /// one label would share their randomness.
    ///
    /// # Errors
    /// [`EntropyError`] when the system has none.
    pub fn seed(&self, label: &str) -> Result<Seed, EntropyError> {
        match self {
            Self::System => Seed::from_os(),
            Self::Kept(seed) => Ok(seed.derive(label)),
            Self::Repeating(number) => {
                let mut bytes = [0; 32];
                bytes[..8].copy_from_slice(&number.to_le_bytes());
                Ok(Seed(bytes).derive("repeating").derive(label))
            }
        }
    }

    /// Whether keys from this source are insecure.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        matches!(self, Self::Repeating(_))
    }
}

const BUFFER: usize = 1024;

/// A pseudo-random stream: BLAKE3 in keyed mode, extended output. Wiped on drop.
///
/// Source: \[BLAKE3\].
pub struct Stream {
    reader: blake3::OutputReader,
    buffer: Box<[u8; BUFFER]>,
    used: usize,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reader.zeroize();
        self.buffer.zeroize();
    }
}

impl Stream {
    /// The stream of a seed for one use, separated by `context`.
    #[must_use]
    pub fn new(seed: &Seed, context: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(&seed.0);
        hasher.update(context);
        let reader = hasher.finalize_xof();
        hasher.zeroize();
        Self { reader, buffer: Box::new([0; BUFFER]), used: BUFFER }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_word(&mut self) -> u64 {
        if self.used == BUFFER {
            self.reader.fill(&mut self.buffer[..]);
            self.used = 0;
        }
        let word = self.buffer[self.used..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        self.used += 8;
        word
    }

    /// Fills with independent uniform residues, by rejection. For public values: the time depends on them.
    pub fn uniform(&mut self, q: Modulus, out: &mut [u64]) {
        let mask = u64::MAX >> (64 - q.bits());
        for x in out {
            *x = loop {
                let candidate = self.next_word() & mask;
                if candidate < q.value() {
                    break candidate;
                }
            };
        }
    }

    /// Uniform in {−1, 0, 1}, with a bias below 2^−62.
    pub fn ternary(&mut self, out: &mut [i64]) {
        for x in out {
            let third = (u128::from(self.next_word()) * 3) >> 64;
            *x = i64::from(third != 0) - 2 * i64::from(third == 2);
        }
    }

    /// Uniform in {0, 1}.
    pub fn binary(&mut self, out: &mut [i64]) {
        for x in out {
            *x = (self.next_word() & 1).cast_signed();
        }
    }

    /// A vector with exactly `weight` entries ±1 at uniform places, the rest 0.
    ///
    /// Cost: weight · length operations, whatever the places are.
    ///
    /// # Panics
    /// If `weight` exceeds the length, or the length is not a power of two.
    pub fn fixed_weight(&mut self, weight: usize, out: &mut [i64]) {
        assert!(
            weight <= out.len() && out.len().is_power_of_two(),
            "cannot put {weight} ones into {} places",
            out.len()
        );
        out.fill(0);
        let mut places: Vec<u64> = Vec::with_capacity(weight);
        while places.len() < weight {
            let place = self.next_word() & (out.len() as u64 - 1);
            let seen = places.iter().fold(0, |seen, &p| seen | u64::from(p == place));
            // Public: tells only that two uniform draws met.
            if declassify(seen) == 1 {
                continue;
            }
            places.push(place);
            let sign = 1 - 2 * (self.next_word() & 1).cast_signed();
            for (x, i) in out.iter_mut().zip(0u64..) {
                *x += sign & 0i64.wrapping_sub(i64::from(i == place));
            }
        }
        places.zeroize();
    }

    /// Rounded Gaussian of the table's σ, in constant time.
    pub fn gaussian(&mut self, table: &GaussianTable, out: &mut [i64]) {
        for x in out {
            let (magnitude, sign) = (self.next_word(), self.next_word() & 1);
            let above: u64 = table.tails.iter().map(|&t| u64::from(magnitude < t)).sum();
            let negative = 0i64.wrapping_sub(sign.cast_signed());
            *x = (above.cast_signed() ^ negative) - negative;
        }
    }
}

/// Cumulative table of a discrete Gaussian: every entry is compared at every draw.
///
/// Tails are rounded to 2^−64 and carry the 53-bit relative precision of a float; magnitudes beyond 10σ are cut.
#[derive(Clone, Debug)]
pub struct GaussianTable {
    /// `2^64·P(|x| > i)`, i = 0, 1, ….
    tails: Vec<u64>,
}

impl GaussianTable {
    /// Table for probability proportional to exp(−x²/2σ²), σ ≤ 100.
    ///
    /// # Panics
    /// If σ is not in (0, 100].
    #[must_use]
    pub fn new(sigma: f64) -> Self {
        assert!(sigma > 0.0 && sigma <= 100.0, "σ = {sigma} is out of range");
        let last = (0..).find(|&k| f64::from(k) > 10.0 * sigma).unwrap_or(u32::MAX);
        let density = |k: u32| {
            let two_sided = if k == 0 { 1.0 } else { 2.0 };
            two_sided * (-f64::from(k * k) / (2.0 * sigma * sigma)).exp()
        };
        // Smallest first, so that no tail drowns.
        let mut sums: Vec<f64> = (0..=last)
            .rev()
            .scan(0.0, |sum, k| {
                *sum += density(k);
                Some(*sum)
            })
            .collect();
        let total = sums.pop().expect("at least one magnitude");
        let tails = sums.into_iter().rev().map(|tail| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in [0, 2^64)")]
            let rounded = (tail / total * 2f64.powi(64)) as u64;
            rounded
        });
        Self { tails: tails.take_while(|&t| t > 0).collect() }
    }
}

/// A discrete Gaussian of any width up to 2^50, put together from narrow ones in constant time.
///
/// With x and y of width s, `x + c·y` has width `s·√(1 + c²)` and is a discrete Gaussian but for 2^−200 while c is at most
/// s/4. Each such step squares the width, so a few draws from one small table make a draw of any width.
///
/// Source: \[MW17\] §3.
#[derive(Clone, Debug)]
pub struct Gaussian {
    table: GaussianTable,
    /// Factor of each draw.
    weights: Vec<i64>,
}

impl Gaussian {
    /// Largest σ, 2^50: draws of 10σ stay far below 2^63. Parameters are checked against it.
    pub const WIDEST: f64 = 1_125_899_906_842_624.0;

    /// The distribution of standard deviation σ.
    ///
    /// # Panics
    /// If σ is not in (0, 2^50].
    #[must_use]
    pub fn new(sigma: f64) -> Self {
        assert!(sigma > 0.0 && sigma <= Self::WIDEST, "σ = {sigma} is out of range");
        let (mut narrow, mut weights) = (sigma, vec![1]);
        while narrow > 64.0 {
            #[expect(clippy::cast_possible_truncation, reason = "below 2^25")]
            let factor = (narrow / 4.0).sqrt() as i64;
            weights.extend(weights.clone().into_iter().map(|w: i64| w * factor));
            #[expect(clippy::cast_precision_loss, reason = "below 2^25")]
            let c = factor as f64;
            narrow /= (1.0 + c * c).sqrt();
        }
        Self { table: GaussianTable::new(narrow), weights }
    }
}

impl Stream {
    /// Fills with draws from a Gaussian of any width.
    pub fn wide_gaussian(&mut self, gaussian: &Gaussian, out: &mut [i64]) {
        let mut draws = vec![0; gaussian.weights.len()];
        for x in out {
            self.gaussian(&gaussian.table, &mut draws);
            *x = draws.iter().zip(&gaussian.weights).map(|(d, w)| d * w).sum();
        }
        draws.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(label: &str) -> Stream {
        Stream::new(&Seed([7; 32]), label.as_bytes())
    }

    #[test]
    fn streams_repeat_and_differ() {
        let words = |label: &str| {
            (0..300)
                .map({
                    let mut s = stream(label);
                    move |_| s.next_word()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(words("a"), words("a"));
        assert!(words("a").iter().zip(words("b")).all(|(x, y)| *x != y));
        assert_ne!(Seed::from_os().unwrap(), Seed::from_os().unwrap());
        assert_ne!(Seed([7; 32]).derive("x"), Seed([7; 32]).derive("y"));
    }

    #[test]
    fn a_source_repeats_unless_it_is_the_system() {
        let differ = |source: &SeedSource| source.seed("x").unwrap() != source.seed("x").unwrap();
        assert!(differ(&SeedSource::System) && !SeedSource::System.is_insecure());
        let kept = SeedSource::Kept(Seed([7; 32]));
        assert!(!differ(&kept) && !kept.is_insecure());
        let one = SeedSource::Repeating(1);
        assert!(!differ(&one) && one.is_insecure());
        assert_ne!(one.seed("x").unwrap(), one.seed("y").unwrap());
        assert_ne!(one.seed("x").unwrap(), SeedSource::Repeating(2).seed("x").unwrap());
    }

    #[test]
    fn gaussian_has_its_moments() {
        let mut x = vec![0; 1 << 18];
        stream("gaussian").gaussian(&GaussianTable::new(3.2), &mut x);
        let n = 262_144.0;
        let moment = |p: i32| x.iter().map(|&v| f64::from(i32::try_from(v).unwrap()).powi(p)).sum::<f64>() / n;
        // Standard errors: 3.2/512, 10.24·√2/512, and 3σ⁴ ± √96·σ⁴/512.
        assert!(moment(1).abs() < 5.0 * 0.00625, "mean {}", moment(1));
        assert!((moment(2) - 10.24).abs() < 5.0 * 0.0283, "variance {}", moment(2));
        assert!((moment(4) - 314.57).abs() < 5.0 * 2.01, "fourth moment {}", moment(4));
        assert!(x.iter().any(|&v| v.abs() >= 12) && x.iter().all(|&v| v.abs() <= 32));
    }

    #[test]
    fn wide_gaussians_have_their_moments() {
        for sigma in [50.0, 150.0, 1550.0, 13_600_000.0] {
            let mut x = vec![0; 1 << 16];
            stream("wide").wide_gaussian(&Gaussian::new(sigma), &mut x);
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            let moment = |p: i32| x.iter().map(|&v| (v as f64 / sigma).powi(p)).sum::<f64>() / 65_536.0;
            // Standard errors: 1/256, √2/256 and √96/256.
            assert!(moment(1).abs() < 5.0 / 256.0, "mean {} at {sigma}", moment(1));
            assert!((moment(2) - 1.0).abs() < 5.0 * 0.0056, "variance {} at {sigma}", moment(2));
            assert!((moment(4) - 3.0).abs() < 5.0 * 0.0383, "fourth moment {} at {sigma}", moment(4));
            let odd = x.iter().filter(|v| *v & 1 == 1).count();
            assert!(odd.abs_diff(32768) < 5 * 128, "{odd} odd at {sigma}");
        }
    }

    #[test]
    fn secrets_have_their_shape() {
        let mut s = vec![0; 1 << 16];
        stream("ternary").ternary(&mut s);
        for value in [-1, 0, 1] {
            let count = s.iter().filter(|&&x| x == value).count();
            assert!(count.abs_diff(21845) < 5 * 121, "{count} times {value}"); // 5 standard deviations
        }
        stream("binary").binary(&mut s);
        let ones = s.iter().filter(|&&x| x == 1).count();
        assert!(s.iter().all(|x| [0, 1].contains(x)) && ones.abs_diff(32768) < 5 * 128, "{ones} ones");
        stream("sparse").fixed_weight(192, &mut s);
        assert_eq!(s.iter().map(|x| x.abs()).sum::<i64>(), 192);
        assert!(s.iter().all(|x| x.abs() <= 1) && s.contains(&-1) && s.contains(&1));
    }

    #[test]
    fn uniform_covers_the_range() {
        let q = Modulus::new(1_048_573);
        let mut x = vec![0; 1 << 16];
        stream("uniform").uniform(q, &mut x);
        let mean = x.iter().sum::<u64>() / 65_536;
        assert!(x.iter().all(|&v| v < q.value()) && mean.abs_diff(524_286) < 6000);
    }
}
