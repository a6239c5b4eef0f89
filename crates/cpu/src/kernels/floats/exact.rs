//! Sums of products modulo a prime of up to 50 bits in floating point, exact, reduced once.
//!
//! A sum of products of 100 bits is the sum of two floats. The first starts at 2^(52+u), far above what is summed, so that
//! it stays a multiple of 2^u: one multiply-add puts a product on it, rounded, and the difference to what it was before is
//! exact. A second multiply-add gives what the rounding left, at most 2^(u−1); the second float sums that, exactly, as
//! long as it stays below 2^53. So a product costs four instructions, two of the multiplier and two of the adder, where
//! sums of 32-bit halves take eight. [`Room`] says how many products fit.

/// Products whose sum is exact.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernels) struct Room {
    /// Their largest number.
    pub(in crate::kernels) terms: usize,
    /// What the first float starts at.
    pub(in crate::kernels) start: f64,
}

/// Signs of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernels) enum Signs {
    /// None is negative.
    Positive,
    Both,
}

impl Room {
    /// No sum has more terms than this between two reductions.
    const MOST: u32 = 64;

    /// For products of at most `largest` in magnitude, modulo q, onto less than q; `None` if not even one fits.
    ///
    /// The quotient of a sum s by q errs by ½ + |s|/q·2^−52 and a little, so what its multiple of q leaves is within q times
    /// that.
    pub(in crate::kernels) fn new(q: u64, largest: f64, signs: Signs) -> Option<Self> {
        let (two_53, q) = ((1u64 << 53) as f64, q as f64);
        let fits = |terms: u32| {
            let sum = f64::from(terms) * largest * (1.0 + 1e-15);
            let half = if signs == Signs::Both { 2.0 } else { 1.0 };
            // The least u with sum·half ≤ 2^(52+u).
            let unit = (0..=64).map(|u| 2f64.powi(u)).find(|unit| sum * half <= unit * (two_53 / 2.0))?;
            let left = f64::from(terms) * unit / 2.0;
            let remainder = q * (0.5 + sum / q * (2.0 / two_53) * 1.01);
            let fits = q + left + remainder <= two_53 && sum / q < two_53 / 2.0;
            let middle = if signs == Signs::Both { 1.5 } else { 1.0 };
            fits.then_some(Self { terms: terms as usize, start: middle * unit * two_53 / 2.0 })
        };
        (1..=Self::MOST).rev().find_map(fits)
    }

    /// For products of two residues of a prime of up to 50 bits.
    pub(in crate::kernels) fn of_residues(q: u64) -> Self {
        let largest = (q - 1) as f64;
        Self::new(q, largest * largest, Signs::Positive).expect("products of two residues fit; tested")
    }
}

/// Makes the sums of a vector unit in scope.
macro_rules! exact {
    ($features:tt) => {
        use super::{
            arithmetic::{self, Constants},
            vector::{Float, V, add_floats, mul_add, mul_floats, mul_sub, nearest, splat_float, sub_floats, sub_mul},
        };
        use crate::kernels::floats::exact::Room;

        /// Register constants of sums.
        #[derive(Clone, Copy)]
        pub(super) struct Exact {
            pub(super) k: Constants,
            start: Float,
        }

        /// A sum that waits: the first float without its start, and the second.
        #[derive(Clone, Copy)]
        pub(super) struct Total {
            pub(super) high: Float,
            pub(super) low: Float,
        }

        impl Total {
            /// Adds `y·w`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn add_product(&mut self, y: Float, w: Float) {
                let next = mul_add(y, w, self.high);
                let step = sub_floats(next, self.high);
                self.low = add_floats(self.low, mul_sub(y, w, step));
                self.high = next;
            }
        }

        impl Exact {
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn new(k: Constants, room: Room) -> Self {
                Self { k, start: splat_float(room.start) }
            }

            /// A sum of nothing.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn zero(self) -> Total {
                self.onto(splat_float(0.0))
            }

            /// A sum of one integer of at most q in magnitude.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn onto(self, low: Float) -> Total {
                Total { high: self.start, low }
            }

            /// The sum modulo q, at most q/2 and a little in magnitude.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn reduced(self, total: Total) -> Float {
                let x = self.remainder(sub_floats(total.high, self.start));
                self.remainder(add_floats(x, total.low))
            }

            /// The sum modulo q as a residue.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn residue(self, total: Total) -> V {
                arithmetic::to_residue(self.k, self.reduced(total))
            }

            /// x less a multiple of q near it.
            #[inline]
            #[target_feature(enable = $features)]
            fn remainder(self, x: Float) -> Float {
                let c = nearest(mul_floats(x, self.k.inverse));
                sub_mul(c, self.k.q, x)
            }
        }
    };
}
pub(in crate::kernels) use exact;

#[cfg(test)]
mod tests {
    use super::*;

    /// The claims of [`Room`] in integers, for the largest and smallest prime of each width.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "powers of two below 2^106")]
    fn what_fits_is_exact() {
        for bits in 20..=50u32 {
            for q in [(1u64 << bits) - 1, (1 << (bits - 1)) + 1] {
                let room = Room::of_residues(q);
                let sum = room.terms as u128 * u128::from(q - 1).pow(2);
                let unit = (room.start / (1u64 << 52) as f64) as u128;
                assert!(unit.is_power_of_two() && sum <= unit << 52, "{q}: the binade is left");
                let remainder = u128::from(q) / 2 + ((sum * 101 / 100) >> 52) + 1;
                let x = u128::from(q) + room.terms as u128 * unit / 2 + remainder;
                assert!(x <= 1 << 53, "{q}: {x}");
                let least = if bits == 50 { 4 } else { 5 }; // five are the digits of a key switch
                assert!(room.terms >= least, "{q} has room for {} terms", room.terms);
            }
        }
    }
}
