//! The expected size and error of a ciphertext's values, carried through every operation.
//!
//! Errors are deviations of one real component of a slot, in units of the message. The error of each encryption is
//! tracked by name: when a ciphertext is used twice, the same error occurs twice and adds up in full. Errors of
//! different origin are independent, so their variances add.
//!
//! Noise lies in all coefficients of a polynomial, and a message in n slots only in those of a subring. What is read with
//! more slots shows more of the noise: n' slots √(n'/n) times as much.

use super::{encoder::Packing, matrix::Norms};
use crate::{params::Params, rlwe::noise};
use limbwise_math::{galois::GaloisElement, rns::to_f64};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

/// Public metadata of values, stated before the values are known, and so independent of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// Largest root mean square of the slots' absolute values.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    pub magnitude: f64,
    /// Bound on the absolute values of all slots.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    pub peak: f64,
    /// Whether all slots are real.
    pub real: bool,
}

impl Promise {
    /// The tightest promise that a batch packed in `slots` slots keeps.
    #[must_use]
    pub fn of(batch: &[impl AsRef<[Complex64]>], slots: usize) -> Self {
        let all = batch.iter().map(|values| Self::of_numbers(values.as_ref().iter().copied(), slots));
        all.fold(Self { magnitude: 0.0, peak: 0.0, real: true }, Self::or_wider)
    }

    /// [`Self::of`] for one vector.
    pub(crate) fn of_numbers(values: impl Iterator<Item = Complex64>, slots: usize) -> Self {
        let (mut largest, mut sum, mut real) = (0.0, 0.0, true);
        for z in values {
            // No branch: values may be a client's.
            let square = z.norm_sqr();
            real &= z.im == 0.0;
            largest = f64::max(largest, square);
            sum += square;
        }
        Self { magnitude: (sum / to_f64(slots as u64)).sqrt(), peak: largest.sqrt(), real }
    }

    /// Rounds sizes up to eighths of a power of two: hides the exact size of the values it was measured from, and
    /// leaves room for others of their kind.
    #[must_use]
    pub fn rounded(self) -> Self {
        let up = |x: f64| if x > 0.0 { ((8.0 * x.log2() - 1e-6).ceil() / 8.0).exp2() } else { x };
        Self { magnitude: up(self.magnitude), peak: up(self.peak), ..self }
    }

    /// Whether some data can have these sizes.
    #[must_use]
    pub fn is_possible(self) -> bool {
        let possible = |x: f64| (0.0..=1e30).contains(&x);
        possible(self.magnitude) && possible(self.peak)
    }

    /// The tightest promise that covers both.
    #[must_use]
    pub fn or_wider(self, other: Self) -> Self {
        Self {
            magnitude: self.magnitude.max(other.magnitude),
            peak: self.peak.max(other.peak),
            real: self.real && other.real,
        }
    }
}

/// A tracked error: the encryption that made it, and how its slots have moved since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    encryption: u64,
    galois: u32,
    deviation: f64,
}

/// An error that came in before the message was read with fewer slots: with more it grows only beyond those that it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Folded {
    deviation: f64,
    /// Slots that showed this error; zero without one.
    slots: usize,
}

impl Folded {
    /// Both, of which the fewer slots show them: they grow from there on.
    fn with(self, other: Self) -> Self {
        let slots = match (self.slots, other.slots) {
            (0, slots) | (slots, 0) => slots,
            (one, two) => one.min(two),
        };
        Self { deviation: self.deviation.hypot(other.deviation), slots }
    }

    fn times(self, factor: f64) -> Self {
        Self { deviation: self.deviation * factor, ..self }
    }
}

/// Encryptions tracked by name in one ciphertext; beyond that the smallest errors are merged.
const FOLLOWED: usize = 8;

/// The part of an estimate that was measured from a client's values and must not be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Measured {
    Nothing,
    /// Magnitude, bound and realness.
    Size,
    /// Errors too: products made them depend on the size.
    Errors,
}

/// Expected size and error of the slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Root mean square of the slots' absolute values, as far as known; scales errors.
    pub magnitude: f64,
    /// Bound on the absolute values of all slots; holds for any values.
    pub peak: f64,
    /// Whether all slots are real; imaginary parts are then pure error.
    pub real: bool,
    /// Deviation of all errors that are not tracked by name.
    independent: f64,
    sources: [Source; FOLLOWED],
    folded: Folded,
    measured: Measured,
    /// Whether errors are left out, which the program follows by itself.
    errors_left_out: bool,
}

/// Slots of the largest ring.
const MOST_SLOTS: usize = 1 << 16;

/// Mean of |x| for a Gaussian of deviation 1: √(2/π).
const MEAN_OF_ABSOLUTE: f64 = 0.797_884_560_802_865_4;

impl Estimate {
    /// Exact complex values, all of absolute value `magnitude`.
    #[must_use]
    pub fn exact(magnitude: f64) -> Self {
        Self {
            magnitude,
            peak: magnitude,
            real: false,
            independent: 0.0,
            sources: [Source::default(); FOLLOWED],
            folded: Folded::default(),
            measured: Measured::Nothing,
            errors_left_out: false,
        }
    }

    /// An exact real constant.
    #[must_use]
    pub fn constant(value: f64) -> Self {
        Self { real: true, ..Self::exact(value.abs()) }
    }

    /// Tightens the bound on the slots' absolute values to `most`.
    #[must_use]
    pub fn bounded_by(self, most: f64) -> Self {
        Self { magnitude: self.magnitude.min(most), peak: self.peak.min(most), ..self }
    }

    /// The same where the program knows the root mean square of the values better than the rules of sums, which ignore
    /// cancellation. It is never more than the rules say.
    #[must_use]
    pub fn with_magnitude(self, magnitude: f64) -> Self {
        Self { magnitude: self.magnitude.min(magnitude), ..self }
    }

    /// Marks the estimate as measured from private values.
    #[must_use]
    pub fn measured(self) -> Self {
        Self { measured: self.measured.max(Measured::Size), ..self }
    }

    /// Whether any part was measured from a client's values and not replaced by a [`Promise`].
    #[must_use]
    pub fn is_measured(self) -> bool {
        self.measured != Measured::Nothing
    }

    /// Marks the errors as dependent on measured sizes.
    fn with_measured_errors(self) -> Self {
        Self { measured: if self.is_measured() { Measured::Errors } else { Measured::Nothing }, ..self }
    }

    /// Replaces measured sizes by a promise. `None` if the slots break it, or if errors already depend on the sizes.
    #[must_use]
    pub fn with_promise(self, promise: Promise) -> Option<Self> {
        let Promise { magnitude, peak, real } = promise;
        let room = 1.0 + 1e-9; // for the rounding of sums of squares
        let kept = self.measured != Measured::Errors
            && self.magnitude <= magnitude * room
            && self.peak <= peak * room
            && (self.real || !real);
        kept.then_some(Self { magnitude, peak, real, measured: Measured::Nothing, ..self })
    }

    /// Replaces the bound on the slots and their realness by what the program knows.
    #[must_use]
    pub fn with_peak(self, peak: f64, real: bool) -> Self {
        Self { peak, real, ..self }
    }

    /// Half the width of the interval of real and imaginary parts, assuming they are uniform and as large as known.
    #[must_use]
    pub fn part_width(self) -> f64 {
        let parts = if self.real { 1.0 } else { 2.0 };
        self.peak.min((3.0f64 / parts).sqrt() * self.magnitude)
    }

    /// Real values of this size without error. What was measured from private values stays marked: an error that is told
    /// of the result later may depend on them.
    #[must_use]
    pub fn as_exact(self, magnitude: f64) -> Self {
        Self { measured: self.measured, ..Self::constant(magnitude) }.with_measured_errors()
    }

    /// Adds an independent error of this deviation.
    #[must_use]
    pub fn with_error(self, deviation: f64) -> Self {
        Self { independent: self.independent.hypot(deviation), ..self }.with_measured_errors()
    }

    /// Replaces all errors by one of this deviation, for programs that know the result better than the rules of sums
    /// and products, which ignore cancellation.
    #[must_use]
    pub fn with_error_known(self, deviation: f64) -> Self {
        let (sources, folded) = ([Source::default(); FOLLOWED], Folded::default());
        Self { independent: deviation, sources, folded, errors_left_out: false, ..self }.with_measured_errors()
    }

    /// Without its errors, so that a program that follows them by itself sees which error operations add. The program tells
    /// all of them at the end, by [`Self::with_error_known`].
    #[must_use]
    pub fn without_errors(self) -> Self {
        Self { errors_left_out: true, ..self.with_error_known(0.0) }
    }

    /// Whether [`Self::without_errors`] left some out that were not told since.
    #[must_use]
    pub fn leaves_errors_out(self) -> bool {
        self.errors_left_out
    }

    /// The estimate of a message of `from` slots that is read with `to`.
    #[must_use]
    pub fn read_with_slots(self, from: usize, to: usize) -> Self {
        if to < from {
            let folded = Folded { deviation: self.error(), slots: from };
            return Self { independent: 0.0, sources: [Source::default(); FOLLOWED], folded, ..self };
        }
        let growth = |from: usize| (to_f64(to as u64) / to_f64(from as u64)).sqrt();
        let mut this = self;
        this.independent *= growth(from);
        this.sources.iter_mut().for_each(|s| s.deviation *= growth(from));
        if (1..=to).contains(&self.folded.slots) {
            // All slots that showed it are read again: from here on it is noise like any other.
            this.independent = this.independent.hypot(self.folded.deviation * growth(self.folded.slots));
            this.folded = Folded::default();
        }
        this
    }

    /// The estimate of a message that [`Self::read_with_slots`] had widened to `from` slots, read with `to` again: it repeats,
    /// and noise that lies in all coefficients does not, so that fewer slots show less of it.
    #[must_use]
    pub fn narrowed(self, from: usize, to: usize) -> Self {
        if to >= from {
            return self.read_with_slots(from, to);
        }
        let share = (to_f64(to as u64) / to_f64(from as u64)).sqrt();
        let mut this = self;
        this.independent *= share;
        this.sources.iter_mut().for_each(|s| s.deviation *= share);
        this
    }

    /// Multiplies sizes and errors by `factor`, for a program whose constants are not all known.
    #[must_use]
    pub fn enlarged(self, factor: f64) -> Self {
        let mut this = self;
        this.independent *= factor;
        this.sources.iter_mut().for_each(|s| s.deviation *= factor);
        this.folded = self.folded.times(factor);
        Self { magnitude: this.magnitude * factor, peak: this.peak * factor, ..this }
    }

    /// The worse of both in each field, for a batch.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        let worse = if self.error() < other.error() { other } else { self };
        let (magnitude, peak) = (self.magnitude.max(other.magnitude), self.peak.max(other.peak));
        Self {
            magnitude,
            peak,
            real: self.real && other.real,
            measured: self.measured.max(other.measured),
            errors_left_out: self.errors_left_out || other.errors_left_out,
            ..worse
        }
    }

    /// Standard deviation of the error of a real or imaginary part.
    #[must_use]
    pub fn error(self) -> f64 {
        self.sources.iter().fold(self.independent.hypot(self.folded.deviation), |sum, s| sum.hypot(s.deviation))
    }

    /// −log₂ of the expected mean absolute error of real and imaginary parts.
    #[must_use]
    pub fn precision_bits(self) -> f64 {
        -(MEAN_OF_ABSOLUTE * self.error()).log2()
    }

    /// Adds coefficient noise (a deviation in integer units) for a packing of `slots` at `scale`.
    #[must_use]
    pub fn with_noise(self, noise: f64, slots: usize, scale: f64) -> Self {
        Self { independent: self.independent.hypot(noise * noise::slot_factor(slots) / scale), ..self }
    }

    /// Adds the coefficient noise of an encryption, tracked from now on by the name `encryption`, which is unlikely to
    /// collide.
    #[must_use]
    pub fn encrypted(self, noise: f64, slots: usize, scale: f64, encryption: u64) -> Self {
        let deviation = noise * noise::slot_factor(slots) / scale;
        let mut this = self;
        this.sources[0] = Source { encryption, galois: 1, deviation };
        this
    }

    /// `left·self + right·other`: equal sources add up, all others are independent.
    fn combine(self, left: f64, other: Self, right: f64) -> Self {
        let mut independent = (left * self.independent).hypot(right * other.independent);
        let mut all: Vec<Source> =
            self.sources.iter().map(|s| Source { deviation: s.deviation * left, ..*s }).collect();
        for s in other.sources {
            let deviation = s.deviation * right;
            match all.iter_mut().find(|t| (t.encryption, t.galois) == (s.encryption, s.galois)) {
                Some(same) => same.deviation += deviation,
                None => all.push(Source { deviation, ..s }),
            }
        }
        all.sort_by(|a, b| b.deviation.total_cmp(&a.deviation));
        for merged in all.drain(FOLLOWED..) {
            independent = independent.hypot(merged.deviation);
        }
        let mut sources = [Source::default(); FOLLOWED];
        sources.copy_from_slice(&all);
        Self {
            independent,
            sources,
            folded: self.folded.times(left.abs()).with(other.folded.times(right.abs())),
            real: self.real && other.real,
            measured: self.measured.max(other.measured),
            errors_left_out: self.errors_left_out || other.errors_left_out,
            ..self
        }
    }

    /// The same of other encryptions, told apart by a number: their errors are independent of this one's.
    #[cfg(feature = "client")]
    #[must_use]
    pub(crate) fn of_others(mut self, number: u64) -> Self {
        self.sources.iter_mut().for_each(|s| s.encryption ^= number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self
    }

    /// The estimate of a sum or difference; magnitudes may add.
    #[must_use]
    pub fn sum(self, other: Self) -> Self {
        let errors = self.combine(1.0, other, 1.0);
        Self { magnitude: self.magnitude + other.magnitude, peak: self.peak + other.peak, ..errors }
    }

    /// The estimate of a product.
    #[must_use]
    pub fn product(self, other: Self) -> Self {
        let errors = self.combine(other.magnitude, other, self.magnitude);
        Self { magnitude: self.magnitude * other.magnitude, peak: self.peak * other.peak, ..errors }
            .with_measured_errors()
    }

    /// The estimate of sums of `columns` values with the weights of a matrix's rows. Errors of different values are
    /// independent; sizes add up at most (Cauchy and Schwarz for the mean).
    #[must_use]
    pub fn mixed(self, norms: &Norms, columns: usize) -> Self {
        let error = self.error() * norms.squared;
        let spread = norms.squared * (columns as f64).sqrt() * self.magnitude;
        let magnitude = spread.min(norms.absolute * self.peak);
        Self { magnitude, peak: self.peak * norms.absolute, ..self.with_error_in_place(error) }
    }

    /// The estimate of a sum of as many values of this estimate. Their errors are independent; sizes add up at most.
    #[must_use]
    pub fn summed(self, count: usize) -> Self {
        let (error, count) = (self.error() * (count as f64).sqrt(), count as f64);
        Self { magnitude: count * self.magnitude, peak: count * self.peak, ..self.with_error_in_place(error) }
    }

    /// [`Self::with_error_known`] by a rule of sums: what is left out stays so.
    fn with_error_in_place(self, deviation: f64) -> Self {
        Self { errors_left_out: self.errors_left_out, ..self.with_error_known(deviation) }
    }

    /// The estimate of a square: every error multiplies itself.
    #[must_use]
    pub fn squared(self) -> Self {
        let twice = 2.0 * self.magnitude;
        let mut this = self;
        this.independent *= twice;
        this.sources.iter_mut().for_each(|s| s.deviation *= twice);
        this.folded = self.folded.times(twice);
        Self { magnitude: self.magnitude * self.magnitude, peak: self.peak * self.peak, ..this }.with_measured_errors()
    }

    /// The estimate after multiplication by a real constant rounded to a multiple of 1/unit; at unit one an integer is
    /// exact.
    #[must_use]
    pub fn scaled(self, factor: f64, unit: f64) -> Self {
        #[expect(clippy::float_cmp, reason = "exactly one is a case of its own")]
        let exact = unit == 1.0 && factor.fract() == 0.0;
        let rounding = if exact { 0.0 } else { self.magnitude * noise::encoding() / unit };
        let scaled = self.product(Self::constant(factor));
        Self { independent: scaled.independent.hypot(rounding), ..scaled }
    }

    /// The estimate after a division with rounding at `scale`.
    #[must_use]
    pub fn divided(self, params: &Params, slots: usize, scale: f64) -> Self {
        self.with_noise(noise::division(params), slots, scale)
    }

    /// The estimate after a key switch at `scale`.
    #[must_use]
    pub fn after_key_switch(self, params: &Params, level: usize, slots: usize, scale: f64) -> Self {
        self.with_noise(noise::key_switch(params, level), slots, scale)
    }

    /// The estimate after an automorphism: slots move, and their errors with them.
    #[must_use]
    pub fn after_automorphism(mut self, g: GaloisElement, log_n: u32) -> Self {
        for s in &mut self.sources {
            s.galois = GaloisElement::new(s.galois | 1, log_n).compose(g, log_n).value();
        }
        self
    }
}

/// An estimate as written to files. An infinite number is written as `null`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    magnitude: Option<f64>,
    peak: Option<f64>,
    real: bool,
    independent: Option<f64>,
    sources: Vec<Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folded: Option<Folded>,
}

impl Written {
    pub(crate) fn of(estimate: &Estimate) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        // What is infinite makes the whole error so.
        let infinite = |sum: f64, deviation: f64| if deviation.is_finite() { sum } else { sum + deviation };
        let tracked = estimate.sources.iter().map(|s| s.deviation).chain([estimate.folded.deviation]);
        Self {
            magnitude: finite(estimate.magnitude),
            peak: finite(estimate.peak),
            real: estimate.real,
            independent: finite(tracked.fold(estimate.independent, infinite)),
            sources: estimate.sources.into_iter().filter(|s| s.deviation.is_normal()).collect(),
            folded: Some(estimate.folded).filter(|folded| folded.deviation.is_normal()),
        }
    }

    /// `None` for numbers that no computation gives.
    pub(crate) fn read(self) -> Option<Estimate> {
        let number = |x: Option<f64>| x.map_or(Some(f64::INFINITY), |x| (x >= 0.0).then_some(x));
        let mut sources = [Source::default(); FOLLOWED];
        sources.get_mut(..self.sources.len())?.copy_from_slice(&self.sources);
        let folded = self.folded.unwrap_or_default();
        let placed = self.folded.is_none() || folded.slots.is_power_of_two() && folded.slots <= MOST_SLOTS;
        let fits = placed && folded.deviation >= 0.0 && sources.iter().all(|s| s.deviation >= 0.0);
        let (magnitude, peak) = (number(self.magnitude)?, number(self.peak)?);
        let independent = number(self.independent)?;
        let read = Estimate { magnitude, peak, real: self.real, independent, sources, folded, ..Estimate::exact(0.0) };
        fits.then_some(read)
    }
}

/// The estimate of a fresh public-key encryption of encoded values, tracked by `name`.
#[must_use]
pub fn fresh(params: &Params, encoded: Estimate, packing: Packing, name: u64) -> Estimate {
    encoded.encrypted(noise::public_encryption(params), packing.slots, packing.scale, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_meets_itself_adds_up() {
        let encrypted = |name| Estimate::exact(1.0).encrypted(1.0, 1, 1024.0, name);
        let (x, y) = (encrypted(1), encrypted(2));
        let bits = |e: Estimate| (e.error() * 1024.0).log2();
        assert!((bits(x.sum(x)) - 1.0).abs() < 1e-9);
        assert!((bits(x.sum(y)) - 0.5).abs() < 1e-9);
        assert!((bits(x.product(x)) - bits(x.scaled(2.0, 1e300))).abs() < 1e-9);
        assert!((bits(x.with_error(1.0 / 1024.0).squared()) - 1.5).abs() < 1e-9);
        assert!((bits(x.scaled(-4.0, 1e300)) - 2.0).abs() < 1e-9);
        let g = GaloisElement::rotation(3, 12);
        assert!((bits(x.sum(x.after_automorphism(g, 12))) - 0.5).abs() < 1e-9);
        assert!((bits(x.sum(x.after_automorphism(g, 12).after_automorphism(g.inverse(12), 12))) - 1.0).abs() < 1e-9);
        let many = (3..43).map(encrypted).fold(x, Estimate::sum);
        assert!((bits(many) - 0.5 * 41f64.log2()).abs() < 1e-9);
    }

    #[test]
    fn more_slots_show_more_noise() {
        let x = Estimate::exact(1.0).encrypted(1.0, 4, 1024.0, 1).with_noise(1.0, 4, 1024.0);
        let grown = |e: Estimate| e.error() / x.error();
        assert!((grown(x.read_with_slots(4, 64)) - 4.0).abs() < 1e-9);
        // What was there before a message was read with fewer slots grows no more up to those.
        let one = x.read_with_slots(4, 1);
        assert!((grown(one) - 1.0).abs() < 1e-9);
        assert!((grown(one.read_with_slots(1, 4)) - 1.0).abs() < 1e-9);
        assert!((grown(one.read_with_slots(1, 64)) - 4.0).abs() < 1e-9);
        assert!((grown(one.read_with_slots(1, 2).read_with_slots(2, 64)) - 4.0).abs() < 1e-9);
        assert!((grown(x.read_with_slots(4, 64).narrowed(64, 4)) - 1.0).abs() < 1e-9, "there and back");
        let later = one.with_noise(1.0, 1, 1024.0).read_with_slots(1, 4).error() * 1024.0;
        assert!((later - 12f64.sqrt()).abs() < 1e-9, "the newer noise of 4 and twice 4 of the former: {later}");
        // Sums, products and files keep it.
        let read = |e: Estimate| Written::of(&e).read().unwrap();
        for e in [one, one.sum(one), one.product(x), one.squared(), one.enlarged(3.0)] {
            let (kept, wide) = (read(e), e.read_with_slots(1, 64).error());
            assert_eq!((kept, kept.read_with_slots(1, 64).error().to_bits()), (e, wide.to_bits()));
            assert!(wide > e.error());
        }
        let infinite = one.enlarged(f64::INFINITY);
        assert!(read(infinite).error().is_infinite());
        let broken = Folded { deviation: 1.0, slots: 3 };
        assert!(Written { folded: Some(broken), ..Written::of(&x) }.read().is_none());
    }
}
