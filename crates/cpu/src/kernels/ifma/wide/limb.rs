//! The kernels of one prime: transforms and element-wise arithmetic.

use super::{
    super::{
        Token,
        vector::{V, add, load, reduce_once, splat, store, sub, zero},
    },
    matrix, word,
};
use crate::{
    kernels::{
        Isa, LimbKernels,
        factors::{Factors, factors, shape},
        limb::Ahead,
        matrix::PackedMatrix,
        passes::TransformPart,
    },
    layout::Line,
};
use limbwise_math::modulus::Modulus;
use std::arch::x86_64::_mm512_min_epu64;

/// AVX-512 kernels for one large prime and one ring degree.
struct WideLimb {
    _token: Token,
    q: Modulus,
    /// Forward and inverse.
    tables: [Factors<word::Factor>; 2],
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
    Scale(u64),
    Shift(u64),
}

macro_rules! lines {
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

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(x: V, y: V, q: V) -> V {
    reduce_once(add(x, y), q)
}

/// Of a − b and a − b + q the one without a borrow is the smaller.
#[inline]
#[target_feature(enable = "avx512f")]
fn difference(x: V, y: V, q: V) -> V {
    let d = sub(x, y);
    _mm512_min_epu64(d, add(d, q))
}

#[target_feature(enable = "avx512f,avx512dq")]
fn elementwise(modulus: Modulus, out: &mut [Line], op: Op<'_>) {
    let (q, k, barrett) = (splat(modulus.value()), word::Constants::new(modulus), word::Barrett::new(modulus));
    match op {
        Op::Add(a, b) => lines!(out; _old, x in a, y in b; sum(x, y, q)),
        Op::Sub(a, b) => lines!(out; _old, x in a, y in b; difference(x, y, q)),
        Op::Mul(a, b) => lines!(out; _old, x in a, y in b; barrett.mul(k, x, y)),
        Op::AddAssign(a) => lines!(out; old, x in a; sum(old, x, q)),
        Op::MulAcc(a, b) => lines!(out; old, x in a, y in b; sum(old, barrett.mul(k, x, y), q)),
        Op::Neg => lines!(out; old, ; difference(zero(), old, q)),
        Op::Shift(c) => {
            let c = splat(c);
            lines!(out; old, ; sum(old, c, q));
        }
        Op::Scale(c) => {
            let w = modulus.shoup(c);
            lines!(out; old, ; word::scale(k, old, &w));
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn forward_part(q: Modulus, tables: &Factors<word::Factor>, part: TransformPart, a: &mut [Line]) {
    let k = word::Constants::new(q);
    match part {
        TransformPart::Strip(first) => word::forward_strip::<false>(k, tables, a, first),
        TransformPart::Block(number) => word::forward_block::<false>(k, tables, a, number),
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn transform(q: Modulus, tables: &[Factors<word::Factor>; 2], inverse: bool, a: &mut [Line]) {
    let k = word::Constants::new(q);
    if inverse { word::inverse::<false>(k, &tables[1], None, a) } else { word::forward::<false>(k, &tables[0], a) }
}

/// Kernels for a prime of up to 61 bits that is 1 modulo 2N.
pub(crate) fn limb(token: Token, q: Modulus, log_n: u32) -> Box<dyn LimbKernels> {
    let fixes = word::fixes(q).map(|fix| vec![fix; shape(log_n).len()]);
    let fixes = [fixes[0].as_slice(), &fixes[1]];
    let tables = factors(q, log_n, fixes, |w| q.shoup(w), |w| [w.value, w.quotient]);
    Box::new(WideLimb { _token: token, q, tables })
}

impl WideLimb {
    fn transform(&self, inverse: bool, a: &mut [Line]) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and DQ.
        unsafe {
            transform(self.q, &self.tables, inverse, a);
        }
    }

    fn part(&self, part: TransformPart, a: &mut [Line]) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and DQ.
        unsafe {
            forward_part(self.q, &self.tables[0], part, a);
        }
    }

    fn run(&self, out: &mut [Line], op: Op<'_>) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and DQ.
        unsafe {
            elementwise(self.q, out, op);
        }
    }
}

impl LimbKernels for WideLimb {
    fn isa(&self) -> Isa {
        Isa::Ifma
    }

    fn matrix_product(&self, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
        #[expect(unsafe_code, reason = "calls into code for one instruction set")]
        // SAFETY: the token proves AVX-512F and DQ.
        unsafe {
            matrix::matrix_product(self.q, out, x, matrix);
        }
    }

    fn ntt(&self, a: &mut [Line]) {
        self.transform(false, a);
    }

    fn ntt_strip(&self, a: &mut [Line], first: usize) {
        self.part(TransformPart::Strip(first), a);
    }

    fn ntt_block(&self, block: &mut [Line], number: usize, _ahead: &mut Ahead<'_>) {
        self.part(TransformPart::Block(number), block);
    }

    fn intt(&self, a: &mut [Line]) {
        self.transform(true, a);
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
        self.run(a, Op::Scale(c));
    }

    fn shift(&self, a: &mut [Line], c: u64) {
        self.run(a, Op::Shift(c));
    }
}
