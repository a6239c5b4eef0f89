//! Change of basis on tiles of coefficients, from several limbs to several others.

use super::{
    Isa, avx2, avx512, ifma,
    words::{SWEEP, Unit, WordConversion},
};
use crate::layout::{Line, Part};
#[cfg(test)]
use crate::traffic;
use limbwise_math::{
    modulus::Modulus,
    rns::{BaseConversion, Fraction},
};
use std::cell::RefCell;

/// Lines of a tile: the sources of one tile stay in the L1 cache while targets are swept.
pub const TILE: usize = 64;

/// A base conversion with the constants of each kernel.
///
/// Two steps: [`Self::prepare`] once for the sources, then [`Self::sweep`] for the targets; [`Self::convert`] does
/// both, tile by tile.
pub struct Converter {
    base: BaseConversion,
    /// For narrow and short sources and targets.
    short: Option<Short>,
    /// Kernels for all other targets.
    words: Option<WordConversion>,
}

/// Kernels for narrow and short primes.
enum Short {
    Ifma(ifma::IfmaConversion),
    Avx512(avx512::ShortConversion),
    Avx2(avx2::ShortConversion),
}

impl Short {
    fn prepare(&self, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
        match self {
            Self::Ifma(kernel) => kernel.prepare(sources, overflows),
            Self::Avx512(kernel) => kernel.prepare(sources, overflows),
            Self::Avx2(kernel) => kernel.prepare(sources, overflows),
        }
    }

    /// Of `wanted` targets from `j` on, the number to be swept together first; 0 if target `j` has no kernel here.
    fn together(&self, j: usize, wanted: usize) -> usize {
        match self {
            Self::Ifma(kernel) => kernel.together(j, wanted),
            Self::Avx512(kernel) => kernel.together(j, wanted),
            Self::Avx2(kernel) => kernel.together(j, wanted),
        }
    }

    fn sweep(&self, targets: &mut [Target<'_>], sources: Sources<'_>) {
        match self {
            Self::Ifma(kernel) => kernel.sweep(targets, sources),
            Self::Avx512(kernel) => kernel.sweep(targets, sources),
            Self::Avx2(kernel) => kernel.sweep(targets, sources),
        }
    }
}

/// A target by its index, and its limb.
pub type Target<'a> = (usize, &'a mut [Line]);

/// What a sweep reads.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Prepared sources.
    pub rows: &'a [&'a [Line]],
    /// What preparing them left.
    pub overflows: &'a [Line],
    /// The lines that are visited; others of the targets are left as they are.
    pub part: Part,
}

/// Kernel of a sweep.
enum Kernel<'a> {
    Short(&'a Short),
    Words(&'a WordConversion),
    Scalar,
}

thread_local! {
    /// One per thread: a tile is converted in a few microseconds, too short for a large allocation.
    static SCRATCH: RefCell<Vec<Line>> = RefCell::default();
}

impl Converter {
    /// Constants for a conversion between disjoint bases.
    ///
    /// # Panics
    /// If `from` is empty or shares a prime with `to`, or the CPU lacks `isa`.
    #[must_use]
    pub fn new(isa: Isa, from: &[Modulus], to: &[Modulus]) -> Self {
        Self::of(isa, BaseConversion::new(from, to))
    }

    /// [`Self::new`] with the constants of a conversion that may be scaled.
    ///
    /// # Panics
    /// If the CPU lacks `isa`.
    #[must_use]
    pub fn of(isa: Isa, base: BaseConversion) -> Self {
        let (short, unit) = match isa {
            Isa::Ifma => (ifma::IfmaConversion::new(&base).map(Short::Ifma), Some(Unit::Avx512(has_avx512()))),
            Isa::Avx512 => {
                let short = avx512::ShortConversion::new(has_avx512(), &base);
                (short.map(Short::Avx512), Some(Unit::Avx512(has_avx512())))
            }
            Isa::Avx2 => {
                let short = avx2::ShortConversion::new(has_avx2(), &base);
                (short.map(Short::Avx2), Some(Unit::Avx2(has_avx2())))
            }
            Isa::Scalar => (None, None),
        };
        let words = unit.map(|unit| WordConversion::new(unit, &base));
        Self { base, short, words }
    }

    /// Converts lines, preferably [`TILE`] at a time; all slices have equal length.
    ///
    /// # Panics
    /// If there is not one slice per prime.
    pub fn convert(&self, targets: &mut [&mut [Line]], sources: &[&[Line]]) {
        assert!(sources.len() == self.base.from.len() && targets.len() == self.base.to.len());
        SCRATCH.with_borrow_mut(|scratch| {
            let length = sources[0].len();
            scratch.resize(length * (sources.len() + 1), Line::default());
            let (overflows, scaled) = scratch.split_at_mut(length);
            scaled.chunks_exact_mut(length).zip(sources).for_each(|(to, from)| to.copy_from_slice(from));
            self.prepare(&mut scaled.chunks_exact_mut(length).collect::<Vec<_>>(), overflows);
            let rows: Vec<&[Line]> = scaled.chunks_exact(length).collect();
            let mut targets: Vec<_> = targets.iter_mut().enumerate().map(|(j, target)| (j, &mut **target)).collect();
            self.sweep(&mut targets, Sources { rows: &rows, overflows, part: Part::all(length) });
        });
    }

    /// Sources x_i → `x_i·(A/a_i)^{-1} mod a_i`, and the overflow e of their sum (the number of times that it contains
    /// A): the input of [`Self::sweep`].
    ///
    /// # Panics
    /// If there is not one slice per prime.
    pub fn prepare(&self, sources: &mut [&mut [Line]], overflows: &mut [Line]) {
        assert_eq!(sources.len(), self.base.from.len());
        #[cfg(test)]
        for source in &*sources {
            traffic::side_by_side([traffic::write(source), traffic::write(overflows)]);
        }
        overflows.fill(Line::default());
        if let Some(short) = &self.short {
            return short.prepare(sources, overflows);
        }
        if let Some(words) = &self.words {
            return words.prepare(sources, overflows);
        }
        let base = &self.base;
        for (i, source) in sources.iter_mut().enumerate() {
            let (q, w, fraction) = (base.from[i], base.inverses[i], base.fractions[i]);
            for (x, sum) in source.iter_mut().zip(&mut *overflows) {
                for (x, sum) in x.0.iter_mut().zip(&mut sum.0) {
                    *x = q.mul_shoup(*x, w);
                    *sum += fraction.of(*x);
                }
            }
        }
        overflows.iter_mut().flat_map(|line| &mut line.0).for_each(|sum| *sum = Fraction::round(*sum));
    }

    /// Writes lines of targets, given with ascending indices, from prepared sources; each source is read once for
    /// consecutive targets.
    ///
    /// # Panics
    /// If there is not one slice per prime.
    pub fn sweep(&self, targets: &mut [Target<'_>], sources: Sources<'_>) {
        assert_eq!(sources.rows.len(), self.base.from.len());
        let mut rest = targets;
        while let Some(&mut (first, _)) = rest.first_mut() {
            let run = rest.iter().zip(first..).take_while(|((j, _), next)| j == next).count();
            let (kernel, count) = self.kernel(first, run);
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            rest = later;
            #[cfg(test)]
            traffic::sweep(now, sources);
            match kernel {
                Kernel::Short(kernel) => kernel.sweep(now, sources),
                Kernel::Words(kernel) => kernel.sweep(now, sources),
                Kernel::Scalar => now.iter_mut().for_each(|(j, target)| self.sweep_scalar(*j, target, sources)),
            }
        }
    }

    /// The kernel for the targets from index `first` on, of which `run` are wanted, and the number of targets it takes
    /// at once.
    fn kernel(&self, first: usize, run: usize) -> (Kernel<'_>, usize) {
        let short = |j, run| self.short.as_ref().map_or(0, |short| short.together(j, run));
        match (&self.short, &self.words) {
            (Some(kernel), _) if short(first, run) > 0 => (Kernel::Short(kernel), short(first, run)),
            (_, Some(words)) => {
                let run = (first..first + run).take_while(|&j| short(j, 1) == 0).count();
                (Kernel::Words(words), run.div_ceil(run.div_ceil(SWEEP)))
            }
            _ => (Kernel::Scalar, run),
        }
    }

    fn sweep_scalar(&self, j: usize, target: &mut [Line], sources: Sources<'_>) {
        let (t, weights, corrections) = (self.base.to[j], &self.base.weights[j], &self.base.corrections[j]);
        for i in sources.part.runs().flatten() {
            for (lane, (out, &overflows)) in target[i].0.iter_mut().zip(&sources.overflows[i].0).enumerate() {
                let products = sources.rows.iter().zip(weights).map(|(y, &w)| u128::from(y[i].0[lane]) * u128::from(w));
                let correction = usize::try_from(overflows).ok().and_then(|e| corrections.get(e));
                *out = t.add(t.reduce_wide(products.sum()), correction.copied().unwrap_or(0));
            }
        }
    }
}

/// The centered lift of a limb modulo `from` to one modulo `to`.
///
/// # Panics
/// If the CPU lacks `isa`.
pub fn lift(isa: Isa, from: Modulus, to: Modulus, out: &mut [Line], a: &[Line]) {
    #[cfg(test)]
    traffic::side_by_side([traffic::read(a), traffic::write(out)]);
    match isa {
        Isa::Ifma => ifma::lift(has_ifma(), from, to, out, a),
        Isa::Avx512 => avx512::lift(has_avx512(), from, to, out, a),
        Isa::Avx2 => avx2::lift(has_avx2(), from, to, out, a),
        Isa::Scalar => {
            for (out, a) in out.iter_mut().zip(a) {
                out.0.iter_mut().zip(&a.0).for_each(|(out, &a)| *out = to.from_i64(from.centered(a)));
            }
        }
    }
}

fn has_ifma() -> ifma::Token {
    ifma::Token::detect().expect("the caller checked that the CPU has IFMA")
}

fn has_avx512() -> avx512::Token {
    avx512::Token::detect().expect("the caller checked that the CPU has AVX-512")
}

fn has_avx2() -> avx2::Token {
    avx2::Token::detect().expect("the caller checked that the CPU has AVX2")
}
