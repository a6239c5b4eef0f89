//! The kernels of one prime: transforms and element-wise arithmetic.

use super::{
    Token, blind, forward, matrix,
    range::{MEDIUM, ROOMY, TIGHT},
    sums,
    table::{Factor, Twiddles, factor, twiddles},
    vector::{
        FactorVector, MASK, V, add, and, high, load, low, prefetch_later, product, reduce_once, splat, store, sub, zero,
    },
};
use crate::{
    kernels::{
        Isa, LimbKernels, avx512,
        blind::{Scratch, Step, by_limbs, component_digits, component_sum},
        limb::Ahead,
        matrix::PackedMatrix,
        sums::Sum,
    },
    layout::Line,
};
use limbwise_math::{modulus::Modulus, prime_class::PrimeClass};
use std::arch::x86_64::_mm512_sllv_epi64;

/// IFMA kernels for one prime, narrow or short, and one ring degree.
struct IfmaLimb {
    _token: Token,
    q: Modulus,
    log_n: u32,
    twiddles: [Twiddles; 2],
    forward: forward::Constants,
    sums: sums::Constants,
    barrett: Barrett,
}

/// Reduction of products by a quotient of one multiplication.
///
/// With c = ⌊a·b/2^j⌋ and μ = ⌊2^(52+j)/q⌋ the quotient ⌊c·μ/2^52⌋ misses a·b/q by less than
/// 1 + 2^j/q + q²/2^(52+j); j makes the last two at most 1 together, so the remainder is in [0, 2q).
#[derive(Clone, Copy)]
struct Barrett {
    /// c is the high half of `(a << shifts[0])·(b << shifts[1])`; the shifts add up to 52 − j.
    shifts: [u64; 2],
    mu: u64,
}

impl Barrett {
    fn new(modulus: Modulus) -> Self {
        let q = u128::from(modulus.value());
        // Both terms in units of 2^−60, rounded up.
        let fits = |j: u32| (1u128 << (60 + j)).div_ceil(q) + ((q * q) << 8).div_ceil(1 << j) <= 1 << 60;
        let middle = (3 * modulus.bits()).div_ceil(2).saturating_sub(26);
        let candidates = [middle, middle.saturating_sub(1), middle + 1];
        let j = candidates.into_iter().find(|&j| fits(j));
        let j = j.expect("one of the three works for every narrow and short prime; tested");
        let shift = u64::from(52 - j);
        let mu = u64::try_from((1u128 << (52 + j)) / q).expect("j is below the bits of q");
        Self { shifts: [shift / 2, shift.div_ceil(2)], mu }
    }
}

/// Constants of the element-wise kernels in registers.
#[derive(Clone, Copy)]
struct Constants {
    q: V,
    negative: V,
    mask: V,
    mu: V,
    shifts: [V; 2],
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: u64, barrett: Barrett) -> Self {
        Self {
            q: splat(q),
            negative: splat((1 << 52) - q),
            mask: splat(MASK),
            mu: splat(barrett.mu),
            shifts: [splat(barrett.shifts[0]), splat(barrett.shifts[1])],
        }
    }

    /// `a·b mod q`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn mul(self, a: V, b: V) -> V {
        let c = high(zero(), _mm512_sllv_epi64(a, self.shifts[0]), _mm512_sllv_epi64(b, self.shifts[1]));
        let quotient = high(zero(), c, self.mu);
        let r = low(low(zero(), a, b), quotient, self.negative);
        reduce_once(and(r, self.mask), self.q)
    }

    /// `a·w mod q`, a in [0, 2^52).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn scale(self, a: V, w: FactorVector) -> V {
        reduce_once(and(product(zero(), a, w, self.negative), self.mask), self.q)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(self, a: V, b: V) -> V {
        reduce_once(add(a, b), self.q)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sub(self, a: V, b: V) -> V {
        // a − b or a − b + q: of the two words the one without a borrow is the smaller.
        let d = sub(a, b);
        std::arch::x86_64::_mm512_min_epu64(d, add(d, self.q))
    }
}

/// Operation on each line.
#[derive(Clone, Copy)]
enum Op<'a> {
    AddAssign(&'a [Line]),
    MulAcc(&'a [Line], &'a [Line]),
    Add(&'a [Line], &'a [Line]),
    Sub(&'a [Line], &'a [Line]),
    Mul(&'a [Line], &'a [Line]),
    Neg,
    Scale(Factor),
    Shift(u64),
    Divide(&'a [Line], Factor),
}

macro_rules! lines {
    ($out:ident; $($x:ident in $a:expr),*; $value:expr) => {{
        $(let $x = $a;)*
        $(let $x = &$x[..$out.len()];)*
        for i in 0..$out.len() {
            $(let $x = load(&$x[i]);)*
            store(&mut $out[i], $value);
        }
    }};
}

macro_rules! update {
    ($out:ident; $old:ident, $($x:ident in $a:expr),*; $value:expr) => {{
        $(let $x = $a;)*
        $(let $x = &$x[..$out.len()];)*
        for i in 0..$out.len() {
            let $old = load(&$out[i]);
            $(let $x = load(&$x[i]);)*
            store(&mut $out[i], $value);
        }
    }};
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn elementwise(q: u64, barrett: Barrett, out: &mut [Line], op: Op<'_>) {
    let k = Constants::new(q, barrett);
    match op {
        Op::Add(a, b) => lines!(out; x in a, y in b; k.add(x, y)),
        Op::Sub(a, b) => lines!(out; x in a, y in b; k.sub(x, y)),
        Op::Mul(a, b) => lines!(out; x in a, y in b; k.mul(x, y)),
        Op::AddAssign(a) => update!(out; old, x in a; k.add(old, x)),
        Op::MulAcc(a, b) => update!(out; old, x in a, y in b; k.add(old, k.mul(x, y))),
        Op::Neg => update!(out; old, ; k.sub(zero(), old)),
        Op::Shift(c) => {
            let c = splat(c);
            update!(out; old, ; k.add(old, c));
        }
        Op::Scale(c) => {
            let w = FactorVector::splat(c);
            update!(out; old, ; k.scale(old, w));
        }
        Op::Divide(a, c) => {
            let w = FactorVector::splat(c);
            update!(out; old, x in a; k.scale(sub(add(x, k.q), old), w));
        }
    }
}

/// Kernels for a prime of 20 to 61 bits that is 1 modulo 2N.
pub(crate) fn limb(token: Token, q: Modulus, log_n: u32) -> Box<dyn LimbKernels> {
    if PrimeClass::of(q) == PrimeClass::Long {
        return avx512::limb(token.into(), Isa::Ifma, q, log_n);
    }
    let (twiddles, forward) = (twiddles(q, log_n), forward::Constants::new(kind(q), q));
    let (sums, barrett) = (sums::Constants::new(q), Barrett::new(q));
    Box::new(IfmaLimb { _token: token, q, log_n, twiddles, forward, sums, barrett })
}

/// The kind of kernels that serve a prime.
fn kind(q: Modulus) -> u32 {
    q.bits().clamp(ROOMY, TIGHT)
}

/// A function that is generic over the kind, of that of a prime.
macro_rules! of_kind {
    ($limb:ident, $function:path) => {{
        use $function as function;
        match kind($limb.q) {
            ROOMY => function::<ROOMY>,
            MEDIUM => function::<MEDIUM>,
            _ => function::<TIGHT>,
        }
    }};
}

impl IfmaLimb {
    fn run(&self, out: &mut [Line], op: Op<'_>) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            elementwise(self.q.value(), self.barrett, out, op);
        }
    }

    /// In place, or of a limb that is copied block by block on the way.
    fn inverse(&self, from: Option<&[Line]>, a: &mut [Line]) {
        let kernel = of_kind!(self, super::inverse::inverse);
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            kernel(self.q, self.log_n, &self.twiddles[1], from, a);
        }
    }
}

impl LimbKernels for IfmaLimb {
    fn isa(&self) -> Isa {
        Isa::Ifma
    }

    fn matrix_product(&self, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            matrix::matrix_product(&self.sums, out, x, matrix);
        }
    }

    fn ntt(&self, a: &mut [Line]) {
        let kernel = of_kind!(self, forward::forward);
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            kernel(&self.forward, self.log_n, &self.twiddles[0], a);
        }
    }

    fn ntt_strip(&self, a: &mut [Line], first: usize) {
        let kernel = of_kind!(self, forward::strip);
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            kernel(&self.forward, self.log_n, &self.twiddles[0], &mut a[first..]);
        }
    }

    fn ntt_block(&self, block: &mut [Line], number: usize, ahead: &mut Ahead<'_>) {
        let kernel = of_kind!(self, forward::block);
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            kernel((&self.forward, self.log_n), &self.twiddles[0], block, number, ahead);
        }
    }

    fn intt(&self, a: &mut [Line]) {
        self.inverse(None, a);
    }

    fn intt_of(&self, out: &mut [Line], a: &[Line]) {
        self.inverse(Some(a), out);
    }

    fn add(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        self.run(out, Op::Add(a, b));
    }

    fn sub(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        self.run(out, Op::Sub(a, b));
    }

    fn mul(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        self.run(out, Op::Mul(a, b));
    }

    fn add_assign(&self, acc: &mut [Line], a: &[Line]) {
        self.run(acc, Op::AddAssign(a));
    }

    fn mul_acc(&self, acc: &mut [Line], a: &[Line], b: &[Line]) {
        self.run(acc, Op::MulAcc(a, b));
    }

    fn neg(&self, a: &mut [Line]) {
        self.run(a, Op::Neg);
    }

    fn scale(&self, a: &mut [Line], c: u64) {
        self.run(a, Op::Scale(factor(self.q, c)));
    }

    fn shift(&self, a: &mut [Line], c: u64) {
        self.run(a, Op::Shift(c));
    }

    fn divide(&self, out: &mut [Line], a: &[Line], c: u64) {
        self.run(out, Op::Divide(a, factor(self.q, c)));
    }

    fn inner_products(&self, out: [&mut [Line]; 2], sum: &Sum<'_, 2>) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            sums::inner_products(&self.sums, out, sum);
        }
    }

    fn inner_product(&self, out: &mut [Line], sum: &Sum<'_, 1>) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            sums::inner_products(&self.sums, [out], sum);
        }
    }

    fn combination(&self, out: &mut [Line], terms: &[(&[Line], u64)]) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            sums::combination(&self.sums, out, terms);
        }
    }

    fn ask_for(&self, lines: &[Line]) {
        for line in lines {
            #[expect(unsafe_code, reason = "an instruction of one instruction set")]
            // SAFETY: the token proves AVX-512F, which includes SSE.
            unsafe {
                prefetch_later(line);
            }
        }
    }

    fn blind_start(&self, acc: &mut [&mut [Line]]) {
        acc.iter_mut().for_each(|acc| blind::close(self.q, acc));
    }

    fn blind_digits(&self, step: &Step<'_>, acc: &[Line], digits: &mut [&mut [Line]]) {
        if !blind::serves(self.log_n) {
            return component_digits(self, step, acc, digits);
        }
        let kernel = of_kind!(self, blind::digits);
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            kernel(step, &self.forward, &self.twiddles[0], acc, digits);
        }
    }

    fn blind_sum(&self, step: &Step<'_>, component: usize, digits: &[&[Line]], onto: (&mut [Line], &mut [Line])) {
        if !blind::serves(self.log_n) {
            return component_sum(self, step, component, digits, onto);
        }
        let kernel = of_kind!(self, blind::sum);
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            kernel(step, &self.forward, &self.twiddles[1], component, digits, onto);
        }
    }

    fn blind_step(&self, step: &Step<'_>, acc: &mut [&mut [Line]], scratch: &mut Scratch<'_>) {
        if !blind::serves(self.log_n) {
            return by_limbs(self, step, acc, scratch);
        }
        let kernel = of_kind!(self, blind::step);
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and IFMA.
        unsafe {
            kernel(step, &self.forward, [&self.twiddles[0], &self.twiddles[1]], acc, scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_has_a_reduction() {
        for bits in 20..=50u32 {
            for q in [(1u64 << (bits - 1)) + 1, 3 * (1 << (bits - 2)) + 1, (1 << bits) - 1] {
                let b = Barrett::new(Modulus::new(q));
                assert!(b.mu <= MASK && u64::from(bits) + b.shifts[1] <= 52, "{q}");
            }
        }
    }
}
