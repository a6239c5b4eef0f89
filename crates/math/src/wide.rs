//! Numbers of about 106 bits: the sum of two floats that do not overlap.
//!
//! Error-free sums and products of floats are exact as pairs; each operation here rounds its pair once, by at most a few
//! times 2^−104. Nothing branches on a value, so secrets may pass through.
//! Source: \[DEK71\], \[HLB01\] Differs: products of floats use the fused multiply-add.

use std::ops::{Add, Mul, Neg, Sub};

/// The unevaluated sum of two floats, the second at most half a unit in the last place of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wide {
    /// The nearest float.
    pub high: f64,
    /// What is left.
    pub low: f64,
}

/// The sum of two floats, exactly.
fn sum(a: f64, b: f64) -> Wide {
    let high = a + b;
    let back = high - a;
    Wide { high, low: (a - (high - back)) + (b - back) }
}

/// The sum of two floats, exactly, if the first is not the smaller in magnitude.
fn ordered_sum(a: f64, b: f64) -> Wide {
    let high = a + b;
    Wide { high, low: b - (high - a) }
}

impl Wide {
    /// 2π.
    pub const TAU: Self = Self { high: std::f64::consts::TAU, low: 2.449_293_598_294_706_4e-16 };

    /// The product of two floats, exactly.
    #[must_use]
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    /// An integer; exact up to 106 bits.
    #[must_use]
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the rest is the second float")]
    pub fn of_integer(x: i128) -> Self {
        let high = x as f64;
        // 2^127 rounds up from below, and only there the subtraction could leave the type.
        ordered_sum(high, x.wrapping_sub(high as i128) as f64)
    }

    /// The nearest integer, for magnitudes below 2^126.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the magnitude is stated")]
    pub fn nearest_integer(self) -> i128 {
        let whole = self.high.round();
        whole as i128 + ((self.high - whole) + self.low).round() as i128
    }

    /// Times a power of two, exactly.
    #[must_use]
    pub fn shifted(self, power: f64) -> Self {
        Self { high: self.high * power, low: self.low * power }
    }

    /// The quotient.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * Self::from(first);
        let second = rest.high / other.high;
        let rest = rest - other * Self::from(second);
        ordered_sum(first, second) + Self::from(rest.high / other.high)
    }

    /// The square root of a positive number.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let root = self.high.sqrt();
        let rest = self - Self::product(root, root);
        ordered_sum(root, rest.high / (2.0 * root))
    }
}

impl From<f64> for Wide {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Add for Wide {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = ordered_sum(high.high, high.low + low.high);
        ordered_sum(first.high, first.low + low.low)
    }
}

impl Neg for Wide {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for Wide {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        ordered_sum(product.high, product.low + (self.high * other.low + self.low * other.high))
    }
}

/// A complex number of two wide parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WideComplex {
    /// Real part.
    pub re: Wide,
    /// Imaginary part.
    pub im: Wide,
}

impl Add for WideComplex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for WideComplex {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for WideComplex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl WideComplex {
    /// exp(2πi·k/order) for k < order, a power of two: products of the roots of orders 2, 4, …, each the square root of the
    /// one before.
    ///
    /// # Panics
    /// If the order is no power of two.
    #[must_use]
    pub fn roots(order: usize) -> Vec<Self> {
        assert!(order.is_power_of_two(), "the order of roots is a power of two, got {order}");
        let one = Self { re: 1.0.into(), im: 0.0.into() };
        let mut all = vec![one];
        // The root of order 2^j is the factor of bit (log₂ order − j) of k; the largest steps come first.
        let mut root = Self { re: (-1.0).into(), im: 0.0.into() };
        let mut steps = Vec::new();
        let mut step = order / 2;
        while step > 0 {
            steps.push((step, root));
            root = if root.re.high < 0.0 && root.im.high == 0.0 {
                Self { re: 0.0.into(), im: 1.0.into() }
            } else {
                // cos(x/2) and sin(x/2) for 0 < x ≤ π/2: no difference of near numbers.
                let re = (root.re + 1.0.into()).shifted(0.5).sqrt();
                Self { re, im: root.im.over(re.shifted(2.0)) }
            };
            step /= 2;
        }
        for &(step, root) in steps.iter().rev() {
            debug_assert_eq!(all.len(), step);
            all.extend(all.clone().into_iter().map(|z| z * root));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log₂ of a relative difference, −200 for none.
    fn bits(a: Wide, b: Wide) -> f64 {
        let rest = (a - b).high.abs() / b.high.abs().max(f64::MIN_POSITIVE);
        rest.max(2f64.powi(-200)).log2()
    }

    #[test]
    fn operations_invert_each_other() {
        let third = Wide::from(1.0).over(3.0.into());
        assert!(bits(third * 3.0.into(), 1.0.into()) < -104.0);
        let (x, y) = (Wide::TAU, third.shifted(1024.0));
        assert!(bits((x + y) - y, x) < -95.0, "ten bits of the sum are above x");
        assert!(bits((x * y).over(y), x) < -103.0);
        let root = x.sqrt();
        assert!(bits(root * root, x) < -102.0);
        assert_eq!((x - x, -(-x)), (Wide::default(), x));
    }

    #[test]
    fn integers_pass_without_loss() {
        for x in [0, 1, -1, (1 << 53) + 1, -(1 << 100) + 12_345, (1 << 105) + 1, i128::from(u64::MAX) * 3_000_000_001] {
            assert_eq!(Wide::of_integer(x).nearest_integer(), x);
        }
        assert_eq!((Wide { high: 2.5, low: -1e-20 }).nearest_integer(), 2, "the second float decides");
        assert_eq!((Wide { high: 2f64.powi(60), low: 0.75 }).nearest_integer(), (1 << 60) + 1);
    }

    #[test]
    fn roots_lie_on_the_circle_and_multiply() {
        let order = 1 << 12;
        let roots = WideComplex::roots(order);
        let one = Wide::from(1.0);
        for (k, z) in roots.iter().enumerate() {
            assert!(bits(z.re * z.re + z.im * z.im, one) < -98.0, "{k}");
            let angle = std::f64::consts::TAU * crate::rns::to_f64(k as u64) / crate::rns::to_f64(order as u64);
            assert!((z.re.high - angle.cos()).abs() < 1e-15 && (z.im.high - angle.sin()).abs() < 1e-15, "{k}");
            let twice = roots[2 * k % order];
            let square = *z * *z;
            assert!((square.re - twice.re).high.abs().max((square.im - twice.im).high.abs()) < 2f64.powi(-98), "{k}");
        }
    }
}
