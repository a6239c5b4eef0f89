//! How often the scores of a steep softmax are halved.
//!
//! `exp` of large scores has no polynomial whose error is small beside small sums. Scores are divided by 2^k; what comes of
//! them is made parts of its sum and squared, k times (normalize and square \[CHKPS24\], ADR 198).

/// How often scores are halved, and their exponentials squared: k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halvings(u32);

/// Largest argument of an exponential that is squared: `e^6` leaves 17 of the 25 bits that a scale of 2^40 has.
const GENTLE: f64 = 6.0;

impl Halvings {
    /// One exponential.
    pub const NONE: Self = Self(0);
    /// Scores of 24,000, and more levels than any parameters have without many bootstrappings.
    pub const MOST: u32 = 12;

    /// For scores of this size: one at least, and at most [`Self::MOST`].
    #[must_use]
    pub fn of(most: f64) -> Self {
        let (mut count, mut left) = (1, 0.5 * most);
        while left > GENTLE && count < Self::MOST {
            (count, left) = (count + 1, 0.5 * left);
        }
        Self(count)
    }

    /// The largest score that they serve.
    #[must_use]
    pub fn largest() -> f64 {
        f64::from(Self::MOST).exp2() * GENTLE
    }

    /// How many.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0
    }

    /// A score as the exponential takes it, or the relative error that an exponential may have: each square doubles it.
    #[must_use]
    pub fn of_each(self, whole: f64) -> f64 {
        whole * (-f64::from(self.0)).exp2()
    }
}

impl From<u32> for Halvings {
    fn from(count: u32) -> Self {
        Self(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_become_gentle() {
        for (most, count) in [(0.0, 1), (7.5, 1), (12.0, 1), (12.1, 2), (40.0, 3), (24_000.0, 12), (f64::INFINITY, 12)]
        {
            assert_eq!(Halvings::of(most).count(), count, "{most}");
        }
        assert!(Halvings::of(40.0).of_each(40.0) <= GENTLE && Halvings::NONE.of_each(40.0) > GENTLE);
        assert!((Halvings::largest() - 24_576.0).abs() < 1e-9);
    }
}
