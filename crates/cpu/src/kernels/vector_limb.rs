//! The kernels of one prime on a vector unit: transforms and element-wise arithmetic, in floating point for narrow and short
//! primes, in words for long ones.

use super::passes::TransformPart;
use crate::layout::Line;

/// Operation on each line that is the same for any prime.
#[derive(Clone, Copy)]
pub(super) enum Sum<'a> {
    AddAssign(&'a [Line]),
    Add(&'a [Line], &'a [Line]),
    Sub(&'a [Line], &'a [Line]),
    Neg,
    Shift(u64),
}

/// Operation on each line that depends on the prime.
#[derive(Clone, Copy)]
pub(super) enum Product<'a> {
    Mul(&'a [Line], &'a [Line]),
    MulAcc(&'a [Line], &'a [Line]),
    Scale(u64),
    Divide(&'a [Line], u64),
}

/// A transform in place or a part of one, or for an inverse one the limb that it comes from.
#[derive(Clone, Copy)]
pub(super) enum Transform<'a> {
    Forward,
    Part(TransformPart),
    Inverse,
    InverseOf(&'a [Line]),
}

impl<'a> Transform<'a> {
    pub(super) fn from(self) -> Option<&'a [Line]> {
        if let Self::InverseOf(limb) = self { Some(limb) } else { None }
    }
}

/// Runs an expression on each vector of some limbs.
macro_rules! lines {
    ($out:ident; $old:ident, $($x:ident in $a:expr),*; $value:expr) => {{
        $(let $x = $a;)*
        $(let $x = &$x[..$out.len()];)*
        for i in 0..$out.len() {
            for half in 0..HALVES {
                let $old = load(&$out[i], half);
                $(let $x = load(&$x[i], half);)*
                store(&mut $out[i], half, $value);
            }
        }
    }};
}
pub(super) use lines;

/// Makes `limb` of a vector unit in scope: of its modules `arithmetic`, `exact`, `sums`, `blind`, `word`, `matrix` and
/// `vector`.
macro_rules! vector_limb {
    ($features:tt) => {
        use super::{
            Token, arithmetic,
            blind::{self, Blind},
            matrix, sums as exact_sums,
            vector::{
                HALVES, OPERANDS, V, add, lift_once, load, prefetch_later, reduce_once, splat, splat_float, store, sub,
                zero,
            },
            word,
        };
        use crate::{
            kernels::{
                Isa, LimbKernels,
                blind::{Scratch, Step, by_limbs, component_digits, component_sum},
                factors::{Factors, factors, shape},
                floats::{arithmetic::fixes, exact::Room},
                limb::Ahead,
                matrix::PackedMatrix,
                passes::TransformPart,
                sums::{Sum as ProductSum, by_tiles, combined_by_tiles},
                vector_limb::{Product, Sum, Transform, lines},
            },
            layout::Line,
        };
        use limbwise_math::{modulus::Modulus, prime_class::PrimeClass};

        /// Kernels for one prime and one ring degree.
        struct VectorLimb {
            _token: Token,
            isa: Isa,
            q: Modulus,
            log_n: u32,
            tables: Tables,
        }

        /// Forward and inverse factors of the arithmetic that fits the prime.
        enum Tables {
            /// Narrow and short primes, with how their products are summed.
            Float([Factors<arithmetic::Factor>; 2], Room, Blind),
            /// For primes above 50 bits.
            Word([Factors<word::Factor>; 2]),
        }

        #[target_feature(enable = $features)]
        fn sums(modulus: Modulus, out: &mut [Line], op: Sum<'_>) {
            let q = splat(modulus.value());
            let (sum, difference) = (|x: V, y: V| sum(x, y, q), |x: V, y: V| lift_once(sub(x, y), q));
            match op {
                Sum::Add(a, b) => lines!(out; _old, x in a, y in b; sum(x, y)),
                Sum::Sub(a, b) => lines!(out; _old, x in a, y in b; difference(x, y)),
                Sum::AddAssign(a) => lines!(out; old, x in a; sum(old, x)),
                Sum::Neg => lines!(out; old, ; difference(zero(), old)),
                Sum::Shift(c) => {
                    let c = splat(c);
                    lines!(out; old, ; sum(old, c));
                }
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn sum(x: V, y: V, q: V) -> V {
            reduce_once(add(x, y), q)
        }

        #[target_feature(enable = $features)]
        fn float_products(modulus: Modulus, out: &mut [Line], op: Product<'_>) {
            let (k, q) = (arithmetic::Constants::new(modulus), splat(modulus.value()));
            match op {
                Product::Mul(a, b) => lines!(out; _old, x in a, y in b; arithmetic::mul(k, x, y)),
                Product::MulAcc(a, b) => lines!(out; old, x in a, y in b; sum(old, arithmetic::mul(k, x, y), q)),
                Product::Scale(c) => {
                    let w = arithmetic::scaled_by(k, splat_float(arithmetic::factor(modulus, c)));
                    lines!(out; old, ; arithmetic::scale(k, old, w));
                }
                Product::Divide(a, c) => {
                    let w = arithmetic::scaled_by(k, splat_float(arithmetic::factor(modulus, c)));
                    lines!(out; old, x in a; arithmetic::scaled_difference(k, x, old, w));
                }
            }
        }

        #[target_feature(enable = $features)]
        fn word_products(modulus: Modulus, out: &mut [Line], op: Product<'_>) {
            let (k, barrett) = (word::Constants::new(modulus), word::Barrett::new(modulus));
            let q = splat(modulus.value());
            match op {
                Product::Mul(a, b) => lines!(out; _old, x in a, y in b; barrett.mul(k, x, y)),
                Product::MulAcc(a, b) => lines!(out; old, x in a, y in b; sum(old, barrett.mul(k, x, y), q)),
                Product::Scale(c) => {
                    let w = modulus.shoup(c);
                    lines!(out; old, ; word::scale(k, old, &w));
                }
                Product::Divide(a, c) => {
                    let w = modulus.shoup(c);
                    lines!(out; old, x in a; word::scale(k, sum(x, lift_once(sub(zero(), old), q), q), &w));
                }
            }
        }

        #[target_feature(enable = $features)]
        fn float_transform(q: Modulus, tables: &[Factors<arithmetic::Factor>; 2], which: Transform<'_>, a: &mut [Line]) {
            let k = arithmetic::Constants::new(q);
            match which {
                Transform::Forward => arithmetic::forward::<false>(k, &tables[0], a),
                Transform::Part(TransformPart::Strip(first)) => arithmetic::forward_strip::<false>(k, &tables[0], a, first),
                Transform::Part(TransformPart::Block(number)) => arithmetic::forward_block::<false>(k, &tables[0], a, number),
                _ => arithmetic::inverse::<false>(k, &tables[1], which.from(), a),
            }
        }

        #[target_feature(enable = $features)]
        fn word_transform(q: Modulus, tables: &[Factors<word::Factor>; 2], which: Transform<'_>, a: &mut [Line]) {
            let k = word::Constants::new(q);
            match which {
                Transform::Forward => word::forward::<false>(k, &tables[0], a),
                Transform::Part(TransformPart::Strip(first)) => word::forward_strip::<false>(k, &tables[0], a, first),
                Transform::Part(TransformPart::Block(number)) => word::forward_block::<false>(k, &tables[0], a, number),
                _ => word::inverse::<false>(k, &tables[1], which.from(), a),
            }
        }

        /// Kernels for a prime of up to 61 bits that is 1 modulo 2N, under the name of the instruction set that was asked for.
        pub(crate) fn limb(token: Token, isa: Isa, q: Modulus, log_n: u32) -> Box<dyn LimbKernels> {
            let tables = if PrimeClass::of(q) <= PrimeClass::Short {
                let (fixes, ends) = fixes(q, log_n, OPERANDS);
                let fixes = [fixes[0].as_slice(), &fixes[1]];
                let tables =
                    factors(q, log_n, fixes, |w| arithmetic::factor(q, w), |w| [w.to_bits(), (w / q.value() as f64).to_bits()]);
                Tables::Float(tables, Room::of_residues(q.value()), Blind::new(q.value(), ends))
            } else {
                let fixes = word::fixes(q).map(|fix| vec![fix; shape(log_n).len()]);
                let fixes = [fixes[0].as_slice(), &fixes[1]];
                Tables::Word(factors(q, log_n, fixes, |w| q.shoup(w), |w| [w.value, w.quotient]))
            };
            Box::new(VectorLimb { _token: token, isa, q, log_n, tables })
        }

        impl VectorLimb {
            fn transform(&self, which: Transform<'_>, a: &mut [Line]) {
                #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                match &self.tables {
                    // SAFETY: the token proves the features.
                    Tables::Float(tables, ..) => unsafe { float_transform(self.q, tables, which, a) },
                    // SAFETY: the token proves the features.
                    Tables::Word(tables) => unsafe { word_transform(self.q, tables, which, a) },
                }
            }

            fn sum(&self, out: &mut [Line], op: Sum<'_>) {
                #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                // SAFETY: the token proves the features.
                unsafe {
                    sums(self.q, out, op);
                }
            }

            fn product(&self, out: &mut [Line], op: Product<'_>) {
                #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                match self.tables {
                    // SAFETY: the token proves the features.
                    Tables::Float(..) => unsafe { float_products(self.q, out, op) },
                    // SAFETY: the token proves the features.
                    Tables::Word(_) => unsafe { word_products(self.q, out, op) },
                }
            }
        }

        impl VectorLimb {
            fn products<const H: usize>(&self, out: [&mut [Line]; H], sum: &ProductSum<'_, H>) {
                match self.tables {
                    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                    // SAFETY: the token proves the features.
                    Tables::Float(_, room, _) => unsafe { exact_sums::inner_products((self.q, room), out, sum) },
                    Tables::Word(_) => by_tiles(self, out, sum),
                }
            }
        }

        impl LimbKernels for VectorLimb {
            fn isa(&self) -> Isa {
                self.isa
            }

            fn matrix_product(&self, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
                #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                // SAFETY: the token proves the features.
                unsafe {
                    matrix::matrix_product(self.q, out, x, matrix);
                }
            }

            fn ntt(&self, a: &mut [Line]) {
                self.transform(Transform::Forward, a);
            }

            fn ntt_strip(&self, a: &mut [Line], first: usize) {
                self.transform(Transform::Part(TransformPart::Strip(first)), a);
            }

            fn ntt_block(&self, block: &mut [Line], number: usize, _ahead: &mut Ahead<'_>) {
                self.transform(Transform::Part(TransformPart::Block(number)), block);
            }

            fn intt(&self, a: &mut [Line]) {
                self.transform(Transform::Inverse, a);
            }

            fn intt_of(&self, out: &mut [Line], a: &[Line]) {
                self.transform(Transform::InverseOf(a), out);
            }

            fn add(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
                self.sum(out, Sum::Add(a, b));
            }

            fn sub(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
                self.sum(out, Sum::Sub(a, b));
            }

            fn mul(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
                self.product(out, Product::Mul(a, b));
            }

            fn add_assign(&self, acc: &mut [Line], a: &[Line]) {
                self.sum(acc, Sum::AddAssign(a));
            }

            fn mul_acc(&self, acc: &mut [Line], a: &[Line], b: &[Line]) {
                self.product(acc, Product::MulAcc(a, b));
            }

            fn neg(&self, a: &mut [Line]) {
                self.sum(a, Sum::Neg);
            }

            fn scale(&self, a: &mut [Line], c: u64) {
                self.product(a, Product::Scale(c));
            }

            fn shift(&self, a: &mut [Line], c: u64) {
                self.sum(a, Sum::Shift(c));
            }

            fn divide(&self, out: &mut [Line], a: &[Line], c: u64) {
                self.product(out, Product::Divide(a, c));
            }

            fn inner_products(&self, out: [&mut [Line]; 2], sum: &ProductSum<'_, 2>) {
                self.products(out, sum);
            }

            fn inner_product(&self, out: &mut [Line], sum: &ProductSum<'_, 1>) {
                self.products([out], sum);
            }

            fn combination(&self, out: &mut [Line], terms: &[(&[Line], u64)]) {
                match self.tables {
                    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                    // SAFETY: the token proves the features.
                    Tables::Float(_, room, _) => unsafe { exact_sums::combination((self.q, room), out, terms) },
                    Tables::Word(_) => combined_by_tiles(self, out, terms),
                }
            }

            fn ask_for(&self, lines: &[Line]) {
                for line in lines {
                    #[expect(unsafe_code, reason = "an instruction of one instruction set")]
                    // SAFETY: the token proves features beyond SSE.
                    unsafe {
                        prefetch_later(line);
                    }
                }
            }

            fn blind_start(&self, acc: &mut [&mut [Line]]) {
                acc.iter_mut().for_each(|acc| blind::close(self.q, acc));
            }

            fn blind_digits(&self, step: &Step<'_>, acc: &[Line], digits: &mut [&mut [Line]]) {
                match &self.tables {
                    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                    // SAFETY: the token proves the features.
                    Tables::Float([forward, _], ..) if Blind::serves(self.log_n) => unsafe {
                        Blind::digits(step, forward, acc, digits);
                    },
                    _ => component_digits(self, step, acc, digits),
                }
            }

            fn blind_sum(&self, step: &Step<'_>, component: usize, digits: &[&[Line]], onto: (&mut [Line], &mut [Line])) {
                match &self.tables {
                    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                    // SAFETY: the token proves the features.
                    Tables::Float([_, inverse], _, blind) if Blind::serves(self.log_n) => unsafe {
                        blind.sum(step, inverse, component, digits, onto);
                    },
                    _ => component_sum(self, step, component, digits, onto),
                }
            }

            fn blind_step(&self, step: &Step<'_>, acc: &mut [&mut [Line]], scratch: &mut Scratch<'_>) {
                match &self.tables {
                    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
                    // SAFETY: the token proves the features.
                    Tables::Float(tables, _, blind) if Blind::serves(self.log_n) => unsafe {
                        blind.step(step, tables, acc, scratch);
                    },
                    _ => by_limbs(self, step, acc, scratch),
                }
            }
        }
    };
}
pub(super) use vector_limb;

/// The modules that are the same text for all vector units, beside their `vector`, `word`, `convert` and `matrix`.
macro_rules! vector_modules {
    ($features:tt) => {
        /// See [`floats::arithmetic`](crate::kernels::floats::arithmetic).
        mod arithmetic {
            crate::kernels::floats::arithmetic::arithmetic!($features);
        }

        /// See [`floats::exact`](crate::kernels::floats::exact).
        mod exact {
            crate::kernels::floats::exact::exact!($features);
        }

        /// See [`floats::sums`](crate::kernels::floats::sums).
        mod sums {
            crate::kernels::floats::sums::sums!($features);
        }

        /// See [`floats::blind`](crate::kernels::floats::blind).
        mod blind {
            crate::kernels::floats::blind::blind!($features);
        }

        /// See [`floats::short`](crate::kernels::floats::short).
        mod short {
            crate::kernels::floats::short::short!($features);
        }

        /// See [`vector_limb`](crate::kernels::vector_limb).
        mod limb {
            crate::kernels::vector_limb::vector_limb!($features);
        }
    };
}
pub(super) use vector_modules;
