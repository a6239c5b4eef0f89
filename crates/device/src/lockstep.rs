//! Two devices side by side: every result is read back from both and compared, so a difference is caught at the
//! operation that made it.

use crate::{
    lwe::{Gadget, LweFill, LweHandle, LweShape, Rounding},
    ops::{Device, Fault, Fill, Handle, HostRead, Role},
    ring::{Basis, Ring, RingError, RingSpec, Shape},
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};

/// Runs every operation on both devices.
#[derive(Clone, Debug)]
pub struct Lockstep<A, B> {
    /// The device that is trusted.
    pub trusted: A,
    /// The device under test.
    pub tested: B,
}

/// The same polynomial on both.
#[derive(Clone, Debug)]
pub struct Pair<P, Q> {
    trusted: P,
    tested: Q,
}

impl<P: Handle, Q: Handle> Handle for Pair<P, Q> {
    fn shape(&self) -> &Shape {
        self.trusted.shape()
    }
}

impl<L: LweHandle, M: LweHandle> LweHandle for Pair<L, M> {
    fn lwe_shape(&self) -> LweShape {
        self.trusted.lwe_shape()
    }
}

type LwePairOf<A, B> = Pair<<A as Device>::Lwe, <B as Device>::Lwe>;

type PairOf<A, B> = Pair<<A as Device>::Poly, <B as Device>::Poly>;

impl<A: HostRead, B: HostRead> Lockstep<A, B> {
    fn compared(&self, op: &str, trusted: A::Poly, tested: B::Poly) -> PairOf<A, B> {
        let pair = Pair { trusted, tested };
        self.compare(op, &pair);
        pair
    }

    fn compared_lwe(&self, op: &str, trusted: A::Lwe, tested: B::Lwe) -> LwePairOf<A, B> {
        assert_eq!(
            trusted.lwe_shape(),
            tested.lwe_shape(),
            "{op}: {} and {} differ in shape",
            self.trusted.name(),
            self.tested.name()
        );
        let (left, right) = (self.trusted.download_lwe(&trusted), self.tested.download_lwe(&tested));
        let (left, right) = (left.expect("a fault while comparing"), right.expect("a fault while comparing"));
        if let Some(at) = left.iter().zip(&right).position(|(x, y)| x != y) {
            let words = trusted.lwe_shape().words();
            let (trusted, tested) = (self.trusted.name(), self.tested.name());
            let place = format!("entry {} word {}", at / words, at % words);
            panic!("{op}: {place}: {trusted} has {}, {tested} has {}", left[at], right[at]);
        }
        Pair { trusted, tested }
    }

    fn compare(&self, op: &str, Pair { trusted, tested }: &PairOf<A, B>) {
        assert_eq!(
            trusted.shape(),
            tested.shape(),
            "{op}: {} and {} differ in shape",
            self.trusted.name(),
            self.tested.name()
        );
        let (left, right) = (self.trusted.download(trusted), self.tested.download(tested));
        let (left, right) = (left.expect("a fault while comparing"), right.expect("a fault while comparing"));
        if let Some(at) = left.iter().zip(&right).position(|(x, y)| x != y) {
            let n = trusted.shape().ring.n();
            panic!(
                "{op}: row {} word {}: {} has {}, {} has {}",
                at / n,
                at % n,
                self.trusted.name(),
                left[at],
                self.tested.name(),
                right[at]
            );
        }
    }
}

fn split_pairs<'a, P, Q>(parts: &[&'a Pair<P, Q>]) -> (Vec<&'a P>, Vec<&'a Q>) {
    parts.iter().map(|p| (&p.trusted, &p.tested)).unzip()
}

impl<A: HostRead, B: HostRead> Device for Lockstep<A, B> {
    type Poly = PairOf<A, B>;
    type Lwe = LwePairOf<A, B>;

    fn name(&self) -> String {
        format!("{} beside {}", self.trusted.name(), self.tested.name())
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        self.tested.ring(spec)?;
        self.trusted.ring(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        self.trusted.sync()?;
        self.tested.sync()
    }

    fn scrub(&self) {
        self.trusted.scrub();
        self.tested.scrub();
    }

    fn upload(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> Self::Poly {
        self.compared("upload", self.trusted.upload(shape, role, fill), self.tested.upload(shape, role, fill))
    }

    fn zeros(&self, shape: &Shape) -> Self::Poly {
        self.compared("zeros", self.trusted.zeros(shape), self.tested.zeros(shape))
    }

    fn copy(&self, a: &Self::Poly) -> Self::Poly {
        self.compared("copy", self.trusted.copy(&a.trusted), self.tested.copy(&a.tested))
    }

    fn expand_seed(&self, shape: &Shape, role: Role, seed: &Seed) -> Self::Poly {
        let trusted = self.trusted.expand_seed(shape, role, seed);
        self.compared("expand_seed", trusted, self.tested.expand_seed(shape, role, seed))
    }

    fn restrict(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.compared("restrict", self.trusted.restrict(&a.trusted, to), self.tested.restrict(&a.tested, to))
    }

    fn join(&self, parts: &[&Self::Poly]) -> Self::Poly {
        let (p, q) = split_pairs(parts);
        self.compared("join", self.trusted.join(&p), self.tested.join(&q))
    }

    fn stack(&self, parts: &[&Self::Poly]) -> Self::Poly {
        let (p, q) = split_pairs(parts);
        self.compared("stack", self.trusted.stack(&p), self.tested.stack(&q))
    }

    fn split(&self, a: &Self::Poly, from: usize, to: usize) -> Self::Poly {
        self.compared("split", self.trusted.split(&a.trusted, from, to), self.tested.split(&a.tested, from, to))
    }

    fn add(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.compared("add", self.trusted.add(&a.trusted, &b.trusted), self.tested.add(&a.tested, &b.tested))
    }

    fn sub(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.compared("sub", self.trusted.sub(&a.trusted, &b.trusted), self.tested.sub(&a.tested, &b.tested))
    }

    fn neg(&self, a: Self::Poly) -> Self::Poly {
        self.compared("neg", self.trusted.neg(a.trusted), self.tested.neg(a.tested))
    }

    fn mul(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.compared("mul", self.trusted.mul(&a.trusted, &b.trusted), self.tested.mul(&a.tested, &b.tested))
    }

    fn mul_acc(&self, acc: &mut Self::Poly, a: &Self::Poly, b: &Self::Poly) {
        self.trusted.mul_acc(&mut acc.trusted, &a.trusted, &b.trusted);
        self.tested.mul_acc(&mut acc.tested, &a.tested, &b.tested);
        self.compare("mul_acc", acc);
    }

    fn add_assign(&self, acc: &mut Self::Poly, a: &Self::Poly) {
        self.trusted.add_assign(&mut acc.trusted, &a.trusted);
        self.tested.add_assign(&mut acc.tested, &a.tested);
        self.compare("add_assign", acc);
    }

    fn scale_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly {
        let trusted = self.trusted.scale_limbs(a.trusted, constants);
        self.compared("scale_limbs", trusted, self.tested.scale_limbs(a.tested, constants))
    }

    fn shift_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly {
        let trusted = self.trusted.shift_limbs(a.trusted, constants);
        self.compared("shift_limbs", trusted, self.tested.shift_limbs(a.tested, constants))
    }

    fn ntt(&self, a: Self::Poly) -> Self::Poly {
        self.compared("ntt", self.trusted.ntt(a.trusted), self.tested.ntt(a.tested))
    }

    fn intt(&self, a: Self::Poly) -> Self::Poly {
        self.compared("intt", self.trusted.intt(a.trusted), self.tested.intt(a.tested))
    }

    fn automorphism(&self, a: &Self::Poly, g: GaloisElement) -> Self::Poly {
        let trusted = self.trusted.automorphism(&a.trusted, g);
        self.compared("automorphism", trusted, self.tested.automorphism(&a.tested, g))
    }

    fn basis_convert(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        let trusted = self.trusted.basis_convert(&a.trusted, to);
        self.compared("basis_convert", trusted, self.tested.basis_convert(&a.tested, to))
    }

    fn reduce(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.compared("reduce", self.trusted.reduce(&a.trusted, to), self.tested.reduce(&a.tested, to))
    }

    fn monomial_mul(&self, a: &Self::Poly, exponents: &Self::Lwe, word: usize) -> Self::Poly {
        let trusted = self.trusted.monomial_mul(&a.trusted, &exponents.trusted, word);
        self.compared("monomial_mul", trusted, self.tested.monomial_mul(&a.tested, &exponents.tested, word))
    }

    fn decompose(&self, a: &Self::Poly, gadget: Gadget) -> Self::Poly {
        let trusted = self.trusted.decompose(&a.trusted, gadget);
        self.compared("decompose", trusted, self.tested.decompose(&a.tested, gadget))
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> Self::Lwe {
        let trusted = self.trusted.upload_lwe(shape, role, fill);
        self.compared_lwe("upload_lwe", trusted, self.tested.upload_lwe(shape, role, fill))
    }

    fn lwe_stack(&self, parts: &[&Self::Lwe]) -> Self::Lwe {
        let (p, q) = split_pairs(parts);
        self.compared_lwe("lwe_stack", self.trusted.lwe_stack(&p), self.tested.lwe_stack(&q))
    }

    fn lwe_split(&self, a: &Self::Lwe, from: usize, to: usize) -> Self::Lwe {
        let trusted = self.trusted.lwe_split(&a.trusted, from, to);
        self.compared_lwe("lwe_split", trusted, self.tested.lwe_split(&a.tested, from, to))
    }

    fn lwe_add(&self, a: &Self::Lwe, b: &Self::Lwe) -> Self::Lwe {
        let trusted = self.trusted.lwe_add(&a.trusted, &b.trusted);
        self.compared_lwe("lwe_add", trusted, self.tested.lwe_add(&a.tested, &b.tested))
    }

    fn lwe_scale(&self, a: &Self::Lwe, c: u64) -> Self::Lwe {
        self.compared_lwe("lwe_scale", self.trusted.lwe_scale(&a.trusted, c), self.tested.lwe_scale(&a.tested, c))
    }

    fn lwe_shift(&self, a: &Self::Lwe, constants: &[u64]) -> Self::Lwe {
        let trusted = self.trusted.lwe_shift(&a.trusted, constants);
        self.compared_lwe("lwe_shift", trusted, self.tested.lwe_shift(&a.tested, constants))
    }

    fn lwe_mod_switch(&self, a: &Self::Lwe, to: u64, rounding: Rounding) -> Self::Lwe {
        let trusted = self.trusted.lwe_mod_switch(&a.trusted, to, rounding);
        self.compared_lwe("lwe_mod_switch", trusted, self.tested.lwe_mod_switch(&a.tested, to, rounding))
    }

    fn lwe_decompose(&self, a: &Self::Lwe, gadget: Gadget) -> Self::Lwe {
        let trusted = self.trusted.lwe_decompose(&a.trusted, gadget);
        self.compared_lwe("lwe_decompose", trusted, self.tested.lwe_decompose(&a.tested, gadget))
    }

    fn lwe_product(&self, a: &Self::Lwe, rows: &Self::Lwe) -> Self::Lwe {
        let trusted = self.trusted.lwe_product(&a.trusted, &rows.trusted);
        self.compared_lwe("lwe_product", trusted, self.tested.lwe_product(&a.tested, &rows.tested))
    }

    fn sample_extract(&self, glwe: &[&Self::Poly], at: &[usize]) -> Self::Lwe {
        let (p, q) = split_pairs(glwe);
        self.compared_lwe("sample_extract", self.trusted.sample_extract(&p, at), self.tested.sample_extract(&q, at))
    }

    fn lwe_embed(&self, a: &Self::Lwe, ring: &Ring, basis: Basis, part: usize) -> Self::Poly {
        let trusted = self.trusted.lwe_embed(&a.trusted, ring, basis, part);
        self.compared("lwe_embed", trusted, self.tested.lwe_embed(&a.tested, ring, basis, part))
    }
}

impl<A: HostRead, B: HostRead> HostRead for Lockstep<A, B> {
    fn download(&self, a: &Self::Poly) -> Result<Vec<u64>, Fault> {
        self.trusted.download(&a.trusted)
    }
    fn download_lwe(&self, a: &Self::Lwe) -> Result<Vec<u64>, Fault> {
        self.trusted.download_lwe(&a.trusted)
    }
}
