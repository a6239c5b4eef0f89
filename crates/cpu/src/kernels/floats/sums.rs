//! Sums of products of limbs for primes of up to 50 bits: [`exact`](super::exact) sums, reduced once.

/// Terms that go in one go, if there are no more.
pub(in crate::kernels) const WHOLE: usize = 6;

/// Terms in one go where there are more: further streams push each other out of the L1 cache, for limbs lie such that a
/// line of each falls into one of a few sets.
pub(in crate::kernels) const GROUP: usize = 4;

/// Lines that go through all terms before the next: long enough for the caches to follow, short enough to wait there.
pub(in crate::kernels) const TILE: usize = 128;

/// Makes the sums of limbs of a vector unit in scope: `inner_products` and `combination`.
macro_rules! sums {
    ($features:tt) => {
        use super::{
            arithmetic::{self, Constants, Wide, float},
            exact::{Exact, Total},
            vector::{AHEAD, Float, HALVES, bits, floats, load, prefetch, splat_float, store, sub_floats},
        };
        use crate::{
            kernels::{
                floats::{
                    exact::Room,
                    sums::{GROUP, TILE, WHOLE},
                },
                sums::{End, Onto, Sum, Term},
            },
            layout::Line,
        };
        use limbwise_math::modulus::Modulus;
        use std::ops::Range;

        /// Sums of some lines that wait for more terms, as floats.
        type Waiting<const H: usize> = [[Line; TILE]; H];

        /// See [`crate::kernels::LimbKernels::inner_products`].
        #[target_feature(enable = $features)]
        pub(super) fn inner_products<const H: usize>(
            (modulus, room): (Modulus, Room),
            mut out: [&mut [Line]; H],
            sum: &Sum<'_, H>,
        ) {
            let divisor = if let End::Divide(c) = sum.end { c } else { 1 };
            let k = Constants::new(modulus);
            let e = Exact::new(k, room);
            let factor = arithmetic::scaled_by(k, splat_float(arithmetic::factor(modulus, divisor)));
            let mut waiting = [[Line::default(); TILE]; H];
            let length = out[0].len();
            // A reduced sum waits as one float, which a sum may start from; `onto` is one product more.
            let most = room.terms - usize::from(sum.onto.is_some());
            let most = if sum.terms.len() <= WHOLE.min(most) { WHOLE.min(most) } else { GROUP.min(most) };
            let size = sum.terms.len().div_ceil(sum.terms.len().div_ceil(most).max(1)).max(1);
            for first in (0..length).step_by(TILE) {
                let lines = first..(first + TILE).min(length);
                let mut place = Place { e, factor, end: sum.end, out: &mut out, waiting: &mut waiting, lines };
                let mut groups = sum.terms.chunks(size);
                let start = groups.next().unwrap_or_default();
                place.terms(start, sum.onto, true, groups.len() == 0);
                while let Some(group) = groups.next() {
                    place.terms(group, None, false, groups.len() == 0);
                }
            }
        }

        /// The range of one group of terms.
        struct Place<'a, 'o, const H: usize> {
            e: Exact,
            /// What a division multiplies with.
            factor: Wide,
            end: End,
            out: &'a mut [&'o mut [Line]; H],
            waiting: &'a mut Waiting<H>,
            lines: Range<usize>,
        }

        impl<const H: usize> Place<'_, '_, H> {
            /// One group of terms: the first or a further one, the last or one after which sums wait.
            #[inline]
            #[target_feature(enable = $features)]
            fn terms(&mut self, terms: &[Term<'_, H>], onto: Option<Onto<'_, H>>, is_first: bool, is_last: bool) {
                let place = (onto, is_first, is_last);
                match terms {
                    [] => self.group::<0>([], place),
                    [a] => self.group::<1>([a], place),
                    [a, b] => self.group::<2>([a, b], place),
                    [a, b, c] => self.group::<3>([a, b, c], place),
                    [a, b, c, d] => self.group::<4>([a, b, c, d], place),
                    [a, b, c, d, e] => self.group::<5>([a, b, c, d, e], place),
                    [a, b, c, d, e, f] => self.group::<6>([a, b, c, d, e, f], place),
                    _ => unreachable!("a group has at most {WHOLE} terms"),
                }
            }

            /// A group of R terms. Their number being known, their limbs are checked once and not line by line.
            #[target_feature(enable = $features)]
            fn group<const R: usize>(&mut self, terms: [&Term<'_, H>; R], (onto, first, last): Position<'_, H>) {
                let (e, k, lines) = (self.e, self.e.k, self.lines.clone());
                let length = lines.len();
                let factors: [&[Line]; R] = terms.map(|term| &term.factor[lines.clone()][..length]);
                let with: [[&[Line]; H]; R] = terms.map(|term| term.with.map(|limb| &limb[lines.clone()][..length]));
                let added =
                    onto.map(|onto| (onto.limbs.map(|limb| limb.map(|limb| &limb[lines.clone()])), onto.times as f64));
                for i in 0..length {
                    // All halves of a line side by side: the chains of one sum are longer than a core looks ahead.
                    let mut totals = [[e.zero(); HALVES]; H];
                    for h in 0..H {
                        for half in 0..HALVES {
                            totals[h][half] = e.onto(self.start(h, i, half, first));
                        }
                        if let Some((limbs, times)) = &added
                            && let Some(limb) = limbs[h]
                        {
                            for half in 0..HALVES {
                                totals[h][half].add_product(float(k, load(&limb[i], half)), splat_float(*times));
                            }
                        }
                    }
                    for r in 0..R {
                        prefetch(factors[r].as_ptr().wrapping_add(i + AHEAD));
                        let mut y = [splat_float(0.0); HALVES];
                        for half in 0..HALVES {
                            y[half] = float(k, load(&factors[r][i], half));
                        }
                        for h in 0..H {
                            prefetch(with[r][h].as_ptr().wrapping_add(i + AHEAD));
                            for half in 0..HALVES {
                                totals[h][half].add_product(y[half], float(k, load(&with[r][h][i], half)));
                            }
                        }
                    }
                    for h in 0..H {
                        for half in 0..HALVES {
                            self.finish(h, i, half, totals[h][half], last);
                        }
                    }
                }
            }

            /// What the sum of a line starts from.
            #[inline]
            #[target_feature(enable = $features)]
            fn start(&self, h: usize, i: usize, half: usize, is_first: bool) -> Float {
                if !is_first {
                    return floats(load(&self.waiting[h][i], half));
                }
                match self.end {
                    End::Set => splat_float(0.0),
                    End::Add => float(self.e.k, load(&self.out[h][self.lines.start + i], half)),
                    End::Divide(_) => {
                        let old = float(self.e.k, load(&self.out[h][self.lines.start + i], half));
                        sub_floats(splat_float(0.0), old)
                    }
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn finish(&mut self, h: usize, i: usize, half: usize, total: Total, is_last: bool) {
                let x = self.e.reduced(total);
                if !is_last {
                    return store(&mut self.waiting[h][i], half, bits(x));
                }
                let x = if let End::Divide(_) = self.end { arithmetic::scaled(self.e.k, x, self.factor) } else { x };
                store(&mut self.out[h][self.lines.start + i], half, arithmetic::to_residue(self.e.k, x));
            }
        }

        /// What is added, and whether a group is the first and the last one.
        type Position<'a, const H: usize> = (Option<Onto<'a, H>>, bool, bool);

        /// See [`crate::kernels::LimbKernels::combination`].
        #[target_feature(enable = $features)]
        pub(super) fn combination((modulus, room): (Modulus, Room), out: &mut [Line], terms: &[(&[Line], u64)]) {
            let k = Constants::new(modulus);
            let e = Exact::new(k, room);
            for (i, out) in out.iter_mut().enumerate() {
                let mut starts = [splat_float(0.0); HALVES];
                for group in terms.chunks(room.terms) {
                    let mut totals = [e.zero(); HALVES];
                    for half in 0..HALVES {
                        totals[half] = e.onto(starts[half]);
                    }
                    for (limb, constant) in group {
                        prefetch(limb.as_ptr().wrapping_add(i + AHEAD));
                        let (line, w) = (&limb[i], splat_float(*constant as f64));
                        for half in 0..HALVES {
                            totals[half].add_product(float(k, load(line, half)), w);
                        }
                    }
                    for half in 0..HALVES {
                        starts[half] = e.reduced(totals[half]);
                    }
                }
                for half in 0..HALVES {
                    store(out, half, arithmetic::to_residue(k, starts[half]));
                }
            }
        }
    };
}
pub(in crate::kernels) use sums;
