//! The last cache and the memory behind it: reading polynomials that span more and more.

use crate::calibrate::{done, polynomial};
use limbwise_device::{Basis, Device, Domain, Ring};
use std::time::Instant;

/// Megabytes of polynomials that take turns, for the last cache and the memory behind it.
const SPANS_MB: [usize; 6] = [8, 16, 32, 64, 128, 256];
/// Most bytes of one of them: the smallest span has several, or it would be larger than it says.
const SPAN_BYTES: usize = 2 << 20;
/// Passes over a span, of which the fastest counts.
const PASSES: usize = 5;

/// Nanoseconds a byte of reading polynomials that span so much in turns, and of making them anew.
fn spanning<D: Device>(dev: &D, ring: &Ring, megabytes: usize) -> [f64; 2] {
    let limbs = (SPAN_BYTES / (8 * ring.n())).clamp(1, ring.full().len());
    let (basis, bytes) = (Basis::range(0, limbs), 8 * limbs * ring.n());
    let count = (megabytes << 20) / bytes;
    let template = polynomial(dev, ring, basis, Domain::Eval);
    let mut all: Vec<D::Poly> = (0..count).map(|_| dev.copy(&template)).collect();
    let each = |seconds: f64| seconds * 1e9 / (count * bytes) as f64;
    let pass = |work: &mut dyn FnMut()| {
        let once = || {
            let start = Instant::now();
            done(dev, work);
            each(start.elapsed().as_secs_f64())
        };
        std::iter::repeat_with(once).take(PASSES).fold(f64::INFINITY, f64::min)
    };
    let mut sum = dev.copy(&template);
    let read = pass(&mut || all.iter().for_each(|x| dev.add_assign(&mut sum, x)));
    let made = pass(&mut || {
        all.clear();
        all.extend((0..count).map(|_| dev.copy(&template)));
    });
    [read, made]
}

/// Nanoseconds a byte of reading, and of making anew, what spans so much.
pub(super) struct Spans([[f64; 2]; SPANS_MB.len()]);

impl Spans {
    pub(super) fn measured<D: Device>(dev: &D, ring: &Ring) -> Self {
        Self(SPANS_MB.map(|megabytes| spanning(dev, ring, megabytes)))
    }

    /// What a byte takes more in the largest span than in the smallest.
    fn more(&self, which: usize) -> f64 {
        (self.0[SPANS_MB.len() - 1][which] - self.0[0][which]).max(1e-6)
    }

    /// The share of such spans' bytes that comes from memory, from 0 to 1.
    fn shares(&self) -> [f64; SPANS_MB.len()] {
        self.0.map(|[read, _]| ((read - self.0[0][0]) / self.more(0)).clamp(0.0, 1.0))
    }

    /// The share where so many bytes take turns.
    pub(super) fn share(&self, bytes: usize) -> f64 {
        let (shares, megabytes) = (self.shares(), bytes as f64 / f64::from(1 << 20));
        let larger = SPANS_MB.iter().position(|&span| span as f64 >= megabytes).unwrap_or(SPANS_MB.len() - 1);
        if larger == 0 {
            return shares[0];
        }
        let beyond = (megabytes / SPANS_MB[larger - 1] as f64).log2().min(1.0);
        shares[larger - 1] + beyond * (shares[larger] - shares[larger - 1])
    }

    /// The lines of `[memory]` on the last cache, as far as this program has it, and what is beyond. Half of what spans
    /// the cache's size comes from memory.
    pub(super) fn lines(&self) -> String {
        let shares = self.shares();
        let least = shares.iter().position(|&share| share >= 0.5).unwrap_or(SPANS_MB.len() - 1).max(1);
        let [below, above] = [shares[least - 1], shares[least]];
        let part = if above > below { ((0.5 - below) / (above - below)).clamp(0.0, 1.0) } else { 0.0 };
        let megabytes = 1.048_576 * SPANS_MB[least - 1] as f64 * part.exp2();
        let [read, write] = [0, 1].map(|which| 1.0 / self.more(which));
        format!("cache_mb = {megabytes:.1}\nread_beyond_gb_s = {read:.3}\nwrite_beyond_gb_s = {write:.3}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of what spans the cache's size comes from memory, all of what spans much more, nothing of what spans little.
    #[test]
    fn a_cache_is_where_half_of_a_span_comes_from_memory() {
        let spans = Spans([0.01, 0.01, 0.012, 0.02, 0.03, 0.03].map(|read| [read, 2.0 * read]));
        let near = |got: f64, wanted: f64| assert!((got - wanted).abs() < 1e-6, "{got} for {wanted}");
        for (megabytes, share) in [(0, 0.0), (16, 0.0), (32, 0.1), (64, 0.5), (128, 1.0), (5000, 1.0)] {
            near(spans.share(megabytes << 20), share);
        }
        near(spans.share(96 << 20), 0.5 + 0.5 * 1.5f64.log2());
        let lines = spans.lines();
        assert!(
            lines.starts_with("cache_mb = 67.1\nread_beyond_gb_s = 50.000\nwrite_beyond_gb_s = 25.000\n"),
            "{lines}"
        );
        let flat = Spans([[0.01, 0.02]; SPANS_MB.len()]);
        near(flat.share(1000 << 20), 0.0);
        assert!(flat.lines().contains("read_beyond_gb_s = 1000000.000"), "{}", flat.lines());
    }
}
