//! A step of a blind rotation in floating point, for primes of up to 50 bits and rings of one block.
//!
//! Digits are made as floats, their transforms leave floats, the product with the key sums them exactly and leaves floats,
//! and only what the inverse transforms leave is brought to residues, which the accumulator takes. The key of the next step is
//! asked for meanwhile, a few lines at a time.

/// Makes the steps of a vector unit in scope: `Blind` and `close`.
macro_rules! blind {
    ($features:tt) => {
        use super::{
            arithmetic::{self, Constants, Factor, corrected, float, float_signed},
            exact::{Exact, Total},
            vector::{
                Float, HALVES, LANES, V, add, and, ask, bits, floats, lift_once, load, load_at, right_by, splat, store,
                sub,
            },
        };
        use crate::{
            kernels::{
                blind::{Scratch, Step},
                factors::Factors,
                floats::exact::{Room, Signs},
                limb::Ahead,
            },
            layout::{self, BLOCK, Line},
        };
        use limbwise_math::modulus::Modulus;
        use std::{arch::x86_64::_mm_cvtsi64_si128, ops::Deref};

        /// How digits are multiplied with the key, modulo one prime.
        pub(super) struct Blind {
            /// For digits as a raw forward transform leaves them, if that leaves room for any product.
            lazy: Option<Room>,
            /// For corrected digits.
            corrected: Room,
        }

        /// How digits are multiplied with the key.
        #[derive(Clone, Copy)]
        struct Product {
            e: Exact,
            /// Whether digits are corrected before: else their products leave no room for all rows.
            corrects: bool,
            /// Products between two reductions.
            terms: usize,
        }

        impl Blind {
            /// What a raw forward transform leaves is bounded by `ends`, in multiples of q.
            pub(super) fn new(q: u64, ends: f64) -> Self {
                let room = |y: f64| Room::new(q, y * q as f64 * q as f64, Signs::Both);
                Self {
                    lazy: room(ends),
                    corrected: room(0.5 + 1e-9).expect("a product of corrected values fits; tested"),
                }
            }

            /// Whether rings of this degree go this way.
            pub(super) fn serves(log_n: u32) -> bool {
                1 << (log_n - 3) <= BLOCK
            }

            /// See [`crate::kernels::LimbKernels::blind_step`].
            #[target_feature(enable = $features)]
            pub(super) fn step(
                &self,
                s: &Step<'_>,
                [forward, inverse]: &[Factors<Factor>; 2],
                acc: &mut [&mut [Line]],
                scratch: &mut Scratch<'_>,
            ) {
                let (k, length) = (Constants::new(s.modulus), layout::lines(s.log_n));
                let mut next = s.next.ahead(length * (acc.len() + 1));
                for (acc, digits) in acc.iter().zip(scratch.digits.chunks_exact_mut(s.gadget.levels() as usize)) {
                    transformed_digits(k, s, forward, digits, acc, &mut next);
                }
                self.product(k, scratch.digits.len()).sums(s, 0, &scratch.digits, &mut scratch.sums, &mut next);
                for (acc, sum) in acc.iter_mut().zip(&mut scratch.sums) {
                    end(k, s, inverse, acc, sum);
                }
            }

            /// See [`crate::kernels::LimbKernels::blind_digits`].
            #[target_feature(enable = $features)]
            pub(super) fn digits(s: &Step<'_>, forward: &Factors<Factor>, acc: &[Line], digits: &mut [&mut [Line]]) {
                let mut next = s.next.ahead(layout::lines(s.log_n));
                transformed_digits(Constants::new(s.modulus), s, forward, digits, acc, &mut next);
            }

            /// See [`crate::kernels::LimbKernels::blind_sum`].
            #[target_feature(enable = $features)]
            pub(super) fn sum(
                &self,
                s: &Step<'_>,
                inverse: &Factors<Factor>,
                component: usize,
                digits: &[&[Line]],
                (sum, acc): (&mut [Line], &mut [Line]),
            ) {
                let k = Constants::new(s.modulus);
                let mut next = s.next.ahead(layout::lines(s.log_n));
                self.product(k, digits.len()).sums(s, component, digits, &mut [&mut *sum], &mut next);
                end(k, s, inverse, acc, sum);
            }

            /// How so many digits are multiplied with the key.
            #[inline]
            #[target_feature(enable = $features)]
            fn product(&self, k: Constants, digits: usize) -> Product {
                let lazy = self.lazy.filter(|room| room.terms >= digits);
                let room = lazy.unwrap_or(self.corrected);
                Product { e: Exact::new(k, room), corrects: lazy.is_none(), terms: room.terms }
            }
        }

        /// The digits of one component, transformed.
        #[target_feature(enable = $features)]
        fn transformed_digits(
            k: Constants,
            s: &Step<'_>,
            forward: &Factors<Factor>,
            digits: &mut [&mut [Line]],
            acc: &[Line],
            next: &mut Ahead<'_>,
        ) {
            rotated_digits(k, s, digits, acc, next);
            for digit in digits {
                arithmetic::forward::<true>(k, forward, &mut digit[..layout::lines(s.log_n)]);
            }
        }

        /// Adds a sum of products to its accumulator.
        #[target_feature(enable = $features)]
        fn end(k: Constants, s: &Step<'_>, inverse: &Factors<Factor>, acc: &mut [Line], sum: &mut [Line]) {
            let length = layout::lines(s.log_n);
            arithmetic::inverse::<true>(k, inverse, None, &mut sum[..length]);
            add_onto(k, &mut acc[..length], &sum[..length]);
            close(s.modulus, acc);
        }

        /// Writes the line behind an accumulator: its first one, negated.
        pub(super) fn close(q: Modulus, acc: &mut [Line]) {
            let (behind, limb) = acc.split_last_mut().expect("a limb and a line");
            behind.0 = limb[0].0.map(|x| q.neg(x));
        }

        /// The digits of `(X^e − 1)·a` as floats, a being a limb and its first line negated.
        ///
        /// Word i of X^e·a is word i − e of a followed by −a, read in a circle. With C the gadget's constant, `x + C − q` is
        /// brought to [0, q) from (−2q, q), and its plain digits less half the base are the digits.
        #[target_feature(enable = $features)]
        fn rotated_digits(k: Constants, s: &Step<'_>, digits: &mut [&mut [Line]], a: &[Line], next: &mut Ahead<'_>) {
            let (q, n) = (s.modulus.value(), 1usize << s.log_n);
            let shift = s.gadget.shift();
            let (plain, negated) = (splat(shift.wrapping_sub(q)), splat(shift));
            let (mask, half_base) = (splat(s.gadget.base() - 1), splat(s.gadget.base() / 2));
            let start = 2 * n - usize::try_from(s.exponent).expect("below 2N");
            for line in 0..n / 8 {
                ask(next);
                for half in 0..HALVES {
                    let at = (start + 8 * line + LANES * half) % (2 * n);
                    let (moved, own) = (load_at(a, at % n), load(&a[line], half));
                    let x = if at < n { sub(add(moved, plain), own) } else { sub(sub(negated, moved), own) };
                    let x = lift_once(lift_once(x, k.word), k.word);
                    for (digits, weight) in digits.iter_mut().zip(s.gadget.log_factors()) {
                        let shifted = right_by(x, _mm_cvtsi64_si128(weight.into()));
                        let digit = sub(and(shifted, mask), half_base);
                        store(&mut digits[line], half, bits(float_signed(k, digit)));
                    }
                }
            }
        }

        /// `acc += a`, both residues.
        #[target_feature(enable = $features)]
        fn add_onto(k: Constants, acc: &mut [Line], a: &[Line]) {
            for (acc, a) in acc.iter_mut().zip(a) {
                for half in 0..HALVES {
                    let sum: V = add(load(acc, half), sub(load(a, half), k.word));
                    store(acc, half, lift_once(sum, k.word));
                }
            }
        }

        impl Product {
            /// `Σ digit·key` for the components from `first` on, at most q/2 and a little.
            #[target_feature(enable = $features)]
            fn sums<D: Deref<Target = [Line]>>(
                self,
                s: &Step<'_>,
                first: usize,
                digits: &[D],
                sums: &mut [&mut [Line]],
                next: &mut Ahead<'_>,
            ) {
                match (digits.len(), sums.len()) {
                    (2, 2) => self.lines::<2, 2, D>(s, first, digits, sums, next),
                    (2, 1) => self.lines::<2, 1, D>(s, first, digits, sums, next),
                    (4, 2) => self.lines::<4, 2, D>(s, first, digits, sums, next),
                    (4, 1) => self.lines::<4, 1, D>(s, first, digits, sums, next),
                    (6, 2) => self.lines::<6, 2, D>(s, first, digits, sums, next),
                    (6, 1) => self.lines::<6, 1, D>(s, first, digits, sums, next),
                    (3, 3) => self.lines::<3, 3, D>(s, first, digits, sums, next),
                    (3, 1) => self.lines::<3, 1, D>(s, first, digits, sums, next),
                    _ => self.any(s, first, digits, sums),
                }
            }

            /// The sums of C components from R rows. Their numbers being known, limbs are checked once, sums stay in registers, and
            /// a digit is loaded once for all components.
            #[target_feature(enable = $features)]
            fn lines<const R: usize, const C: usize, D: Deref<Target = [Line]>>(
                self,
                s: &Step<'_>,
                first: usize,
                digits: &[D],
                sums: &mut [&mut [Line]],
                next: &mut Ahead<'_>,
            ) {
                let (length, components) = (layout::lines(s.log_n), s.key.len() / R);
                let digits: [&[Line]; R] = std::array::from_fn(|r| &digits[r][..length]);
                let keys: [[&[Line]; C]; R] =
                    std::array::from_fn(|r| std::array::from_fn(|c| &s.key[components * r + first + c][..length]));
                let sums: &mut [&mut [Line]; C] = sums.first_chunk_mut().expect("a sum for each component");
                let sums = sums.each_mut().map(|sum| &mut sum[..length]);
                for line in 0..length {
                    ask(next);
                    for half in 0..HALVES {
                        let mut totals: [Total; C] = [self.e.zero(); C];
                        for r in 0..R {
                            if r > 0 && r % self.terms == 0 {
                                for total in &mut totals {
                                    *total = self.e.onto(self.e.reduced(*total));
                                }
                            }
                            let y = self.digit(&digits[r][line], half);
                            for c in 0..C {
                                totals[c].add_product(y, float(self.e.k, load(&keys[r][c][line], half)));
                            }
                        }
                        for c in 0..C {
                            store(&mut sums[c][line], half, bits(self.e.reduced(totals[c])));
                        }
                    }
                }
            }

            /// The sums for any number of digits and components, one component at a time.
            #[target_feature(enable = $features)]
            fn any<D: Deref<Target = [Line]>>(
                self,
                s: &Step<'_>,
                first: usize,
                digits: &[D],
                sums: &mut [&mut [Line]],
            ) {
                let (length, components) = (layout::lines(s.log_n), s.key.len() / digits.len());
                for (c, sum) in (first..).zip(sums) {
                    for (line, sum) in sum[..length].iter_mut().enumerate() {
                        for half in 0..HALVES {
                            let mut total = self.e.zero();
                            for (r, digit) in digits.iter().enumerate() {
                                if r > 0 && r % self.terms == 0 {
                                    total = self.e.onto(self.e.reduced(total));
                                }
                                let key = float(self.e.k, load(&s.key[components * r + c][line], half));
                                total.add_product(self.digit(&digit[line], half), key);
                            }
                            store(sum, half, bits(self.e.reduced(total)));
                        }
                    }
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn digit(self, line: &Line, half: usize) -> Float {
                let y = floats(load(line, half));
                if self.corrects { corrected(self.e.k, y) } else { y }
            }
        }
    };
}
pub(in crate::kernels) use blind;
