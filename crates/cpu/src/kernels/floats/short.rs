//! Base conversion and centered lifts between primes of up to 50 bits, in exact sums of floats.
//!
//! Prepared sources and overflows are words, as those of [`words`](crate::kernels::words), so that targets of other widths
//! can be made of the same.

/// Makes the conversions of a vector unit in scope: `ShortConversion` and `lift`.
macro_rules! short {
    ($features:tt) => {
        use super::{
            Token,
            arithmetic::{self, Constants, float},
            convert::{self, fraction},
            exact::{Exact, Total},
            vector::{
                AHEAD, HALVES, SWEEP, TOGETHER, V, add, left, load, place, prefetch, right, splat, splat_float, store,
                sub, where_greater,
            },
        };
        use crate::{
            kernels::{
                convert::{Sources, Target as Swept},
                floats::exact::{Room, Signs},
            },
            layout::Line,
        };
        use limbwise_math::{
            modulus::Modulus,
            prime_class::PrimeClass,
            rns::{BaseConversion, Fraction},
        };

        /// Constants of a conversion from narrow and short primes.
        pub(crate) struct ShortConversion {
            _token: Token,
            sources: Vec<Source>,
            /// `None` for long primes, which have no kernel here.
            targets: Vec<Option<Target>>,
            /// `A/a_i` modulo each target, the representative of least magnitude, a row a source, then `−A`.
            weights: Vec<Vec<f64>>,
        }

        struct Source {
            q: Modulus,
            inverse: f64,
            fraction: Fraction,
        }

        struct Target {
            q: Modulus,
            room: Room,
        }

        impl ShortConversion {
            /// Constants, if all sources allow.
            pub(crate) fn new(token: Token, base: &BaseConversion) -> Option<Self> {
                let is_short = |q: &Modulus| PrimeClass::of(*q) != PrimeClass::Long;
                if !base.from.iter().all(is_short) {
                    return None;
                }
                let sources = base.from.iter().zip(&base.inverses).zip(&base.fractions);
                let source = |((&q, w), &fraction): ((&Modulus, &limbwise_math::modulus::Shoup), &Fraction)| Source {
                    q,
                    inverse: arithmetic::factor(q, w.value),
                    fraction,
                };
                // A source is below its prime, an overflow at most the number of sources.
                let widest = base.from.iter().map(|q| q.value()).max().unwrap_or(0).max(base.from.len() as u64) as f64;
                let target = |&q: &Modulus| {
                    let room = Room::new(q.value(), widest * (q.value() / 2 + 1) as f64, Signs::Both);
                    is_short(&q).then(|| Target { q, room: room.expect("a product of residues fits; tested") })
                };
                let term = |j: usize, i: usize| base.weights[j].get(i).copied().unwrap_or(base.corrections[j][1]);
                let weight = |(j, q): (usize, &Modulus), i: usize| arithmetic::factor(*q, term(j, i));
                let row = |i: usize| base.to.iter().enumerate().map(|target| weight(target, i)).collect();
                Some(Self {
                    _token: token,
                    sources: sources.map(source).collect(),
                    targets: base.to.iter().map(target).collect(),
                    weights: (0..=base.from.len()).map(row).collect(),
                })
            }

            /// Multiplies the sources and counts the overflows, starting from zeros.
            pub(crate) fn prepare(&self, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
                #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                // SAFETY: the token proves the features.
                unsafe {
                    prepare(&self.sources, sources, overflows);
                }
            }

            /// Of `wanted` targets from `j` on, the number to be swept together first; 0 if target `j` has no kernel here.
            pub(crate) fn together(&self, j: usize, wanted: usize) -> usize {
                let reached = self.targets[j..].iter().take(wanted).take_while(|target| target.is_some()).count();
                reached.div_ceil(reached.div_ceil(SWEEP).max(1))
            }

            /// Writes lines of as many consecutive targets as [`Self::together`] says, from prepared sources.
            pub(crate) fn sweep(&self, out: &mut [Swept<'_>], y: Sources<'_>) {
                #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                // SAFETY: the token proves the features.
                unsafe {
                    match out {
                        [(j, a)] => sweep::<1, { TOGETHER[0] }>(self, *j, [a], y),
                        [(j, a), (_, b)] => sweep::<2, { TOGETHER[1] }>(self, *j, [a, b], y),
                        [(j, a), (_, b), (_, c)] => sweep::<3, { TOGETHER[2] }>(self, *j, [a, b, c], y),
                        [(j, a), (_, b), (_, c), (_, d)] => sweep::<4, { TOGETHER[3] }>(self, *j, [a, b, c, d], y),
                        _ => unreachable!("a sweep has 1 to {SWEEP} targets"),
                    }
                }
            }
        }

        #[target_feature(enable = $features)]
        fn prepare(constants: &[Source], sources: &mut [&mut [Line]], overflows: &mut [Line]) {
            for (s, source) in constants.iter().zip(sources) {
                let (k, factor) = (Constants::new(s.q), splat(s.fraction.factor));
                let w = arithmetic::scaled_by(k, splat_float(s.inverse));
                let shift = splat(s.fraction.left.into());
                for (x, sum) in source.iter_mut().zip(&mut *overflows) {
                    for half in 0..HALVES {
                        let y = arithmetic::scale(k, load(x, half), w);
                        store(x, half, y);
                        store(sum, half, add(load(sum, half), fraction(left(y, shift), factor)));
                    }
                }
            }
            let (half_unit, unit) = (splat(1 << (Fraction::BITS - 1)), splat(Fraction::BITS.into()));
            for sum in overflows {
                for half in 0..HALVES {
                    store(sum, half, right(add(load(sum, half), half_unit), unit));
                }
            }
        }

        /// The targets from number `first` on: `Σ y_i·weight_i`, the overflows being one term more; W vectors together, as
        /// many as leave all sums in registers.
        #[target_feature(enable = $features)]
        fn sweep<const T: usize, const W: usize>(
            c: &ShortConversion,
            first: usize,
            mut out: [&mut [Line]; T],
            Sources { rows: sources, overflows, part }: Sources<'_>,
        ) {
            let targets: [&Target; T] =
                std::array::from_fn(|t| c.targets[first + t].as_ref().expect("targets with a kernel are swept"));
            let exact: [Exact; T] = targets.map(|target| Exact::new(Constants::new(target.q), target.room));
            let chunk = targets.iter().map(|target| target.room.terms).min().unwrap_or(1);
            let length = overflows.len();
            let window = |row: &Vec<f64>| *row[first..].first_chunk::<T>().expect("a weight for each target");
            let all = sources.iter().copied().chain([overflows]).zip(&c.weights);
            let all: Vec<(&[Line], [f64; T])> = all.map(|(source, row)| (&source[..length], window(row))).collect();
            let (start, rest) = all.split_at(chunk.min(all.len()));
            let rest: Vec<&[(&[Line], [f64; T])]> = rest.chunks(chunk).collect();
            let terms = Terms { exact, start, rest: &rest };
            for run in part.runs() {
                let whole = run.len() * HALVES / W * W;
                let (first, end) = (run.start * HALVES, run.end * HALVES);
                for at in (first..first + whole).step_by(W) {
                    terms.swept::<W>(&mut out, at);
                }
                for at in first + whole..end {
                    terms.swept::<1>(&mut out, at);
                }
            }
        }

        /// What is summed for T targets: the products up to the first reduction, and those up to each further one.
        struct Terms<'a, const T: usize> {
            exact: [Exact; T],
            start: &'a [(&'a [Line], [f64; T])],
            rest: &'a [&'a [(&'a [Line], [f64; T])]],
        }

        impl<const T: usize> Terms<'_, T> {
            /// The sums of W vectors from number `at` on.
            #[inline]
            #[target_feature(enable = $features)]
            fn swept<const W: usize>(&self, out: &mut [&mut [Line]; T], at: usize) {
                let exact = &self.exact;
                let mut totals = [[exact[0].zero(); W]; T];
                for t in 0..T {
                    totals[t] = [exact[t].zero(); W];
                }
                add_terms(exact[0].k, &mut totals, self.start, at);
                for &group in self.rest {
                    for t in 0..T {
                        for w in 0..W {
                            totals[t][w] = exact[t].onto(exact[t].reduced(totals[t][w]));
                        }
                    }
                    add_terms(exact[0].k, &mut totals, group, at);
                }
                for t in 0..T {
                    for w in 0..W {
                        let (line, half) = place(at + w);
                        store(&mut out[t][line], half, exact[t].residue(totals[t][w]));
                    }
                }
            }
        }

        /// Adds the products of some sources, W vectors of them from number `at` on.
        #[inline]
        #[target_feature(enable = $features)]
        fn add_terms<const T: usize, const W: usize>(
            k: Constants,
            totals: &mut [[Total; W]; T],
            terms: &[(&[Line], [f64; T])],
            at: usize,
        ) {
            for (source, weights) in terms {
                let mut y = [splat_float(0.0); W];
                for w in 0..W {
                    let (line, half) = place(at + w);
                    if half == 0 {
                        prefetch(source.as_ptr().wrapping_add(line + AHEAD));
                    }
                    y[w] = float(k, load(&source[line], half));
                }
                for t in 0..T {
                    let weight = splat_float(weights[t]);
                    for w in 0..W {
                        totals[t][w].add_product(y[w], weight);
                    }
                }
            }
        }

        /// The centered lift of a limb modulo `from` to one modulo `to`.
        pub(crate) fn lift(token: Token, from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
            if PrimeClass::of(from).max(PrimeClass::of(to)) == PrimeClass::Long {
                return convert::lift(token, from, to, out, a);
            }
            #[expect(unsafe_code, reason = "calls into code for one instruction set")]
            // SAFETY: the token proves the features.
            unsafe {
                lift_lines(from, to, out, a);
            }
        }

        #[target_feature(enable = $features)]
        fn lift_lines(from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
            let (k, half_prime, prime) = (Constants::new(to), splat(from.value() / 2), splat(from.value()));
            for (out, a) in out.iter_mut().zip(a) {
                for half in 0..HALVES {
                    let x: V = load(a, half);
                    let above = where_greater(x, half_prime, prime);
                    let x = arithmetic::float_signed(k, sub(x, above));
                    store(out, half, arithmetic::to_residue(k, arithmetic::corrected(k, x)));
                }
            }
        }
    };
}
pub(in crate::kernels) use short;
