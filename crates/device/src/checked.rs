//! A decorator that tests every contract of the seam before the device sees the operation.
//!
//! A violation is a bug in scheme code and panics with the operation and the shapes.

use crate::{
    ops::{Device, Fault, Fill, GadgetKey, Handle, HostRead, Region, Role, Terms, Weight},
    ring::{Basis, Domain, Ring, RingError, RingSpec, Shape},
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};

/// A device whose operands are checked.
#[derive(Clone, Debug, Default)]
pub struct Checked<D>(pub D);

fn require(ok: bool, op: &str, rule: &str, shapes: &[&Shape]) {
    if !ok {
        let shown: Vec<String> = shapes
            .iter()
            .map(|s| format!("[N=2^{} batch {} basis {:#x} {:?}]", s.ring.log_n(), s.batch, s.basis.0, s.domain))
            .collect();
        panic!("{op}: {rule}; got {}", shown.join(" and "));
    }
}

/// Same ring, basis and domain, batches that go together.
fn elementwise(op: &str, a: &Shape, b: &Shape) {
    require(a.ring == b.ring, op, "operands share a ring", &[a, b]);
    require(a.basis == b.basis, op, "operands share a basis", &[a, b]);
    require(a.domain == b.domain, op, "operands share a domain", &[a, b]);
    require(a.batch == b.batch || a.batch == 1 || b.batch == 1, op, "batches are equal or one", &[a, b]);
}

fn accumulates(op: &str, acc: &Shape, a: &Shape) {
    elementwise(op, acc, a);
    require(a.batch == acc.batch || a.batch == 1, op, "an operand is not larger than the accumulator", &[acc, a]);
}

fn in_domain(op: &str, a: &Shape, domain: Domain) {
    let rule = if domain == Domain::Eval { "needs evaluation domain" } else { "needs coefficient domain" };
    require(a.domain == domain, op, rule, &[a]);
}

fn valid(op: &str, s: &Shape) {
    require(s.batch > 0 && !s.basis.is_empty(), op, "a shape has rows", &[s]);
    require(s.basis.is_subset(s.ring.full()), op, "the basis lies in the ring", &[s]);
}

fn constants(op: &str, a: &Shape, values: &[u64]) {
    require(values.len() == a.basis.len(), op, "one constant a limb", &[a]);
    let reduced = a.ring.moduli_of(a.basis).iter().zip(values).all(|(q, &c)| c < q.value());
    require(reduced, op, "constants are residues", &[a]);
}

impl<D: Device> Device for Checked<D> {
    type Poly = D::Poly;

    fn name(&self) -> String {
        format!("checked {}", self.0.name())
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        self.0.ring(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        self.0.sync()
    }

    fn scrub(&self) {
        self.0.scrub();
    }

    fn upload(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> D::Poly {
        valid("upload", shape);
        self.0.upload(shape, role, &|at, row| {
            fill(at, row);
            assert!(
                row.iter().all(|&x| x < at.modulus.value()),
                "upload: words are residues of {}",
                at.modulus.value()
            );
        })
    }

    fn zeros(&self, shape: &Shape) -> D::Poly {
        valid("zeros", shape);
        self.0.zeros(shape)
    }

    fn copy(&self, a: &D::Poly) -> D::Poly {
        self.0.copy(a)
    }

    fn expand_seed(&self, shape: &Shape, role: Role, seed: &Seed) -> D::Poly {
        valid("expand_seed", shape);
        self.0.expand_seed(shape, role, seed)
    }

    fn restrict(&self, a: &D::Poly, to: Basis) -> D::Poly {
        let ok = to.is_subset(a.shape().basis) && !to.is_empty();
        require(ok, "restrict", &format!("{:#x} is a part of the basis", to.0), &[a.shape()]);
        self.0.restrict(a, to)
    }

    fn join(&self, parts: &[&D::Poly]) -> D::Poly {
        assert!(!parts.is_empty(), "join: at least one part");
        for (i, p) in parts.iter().enumerate() {
            let (first, this) = (parts[0].shape(), p.shape());
            let alike = first.ring == this.ring && first.batch == this.batch && first.domain == this.domain;
            require(alike, "join", "parts share ring, batch and domain", &[first, this]);
            for other in &parts[..i] {
                let disjoint = this.basis.is_disjoint(other.shape().basis);
                require(disjoint, "join", "bases are disjoint", &[this, other.shape()]);
            }
        }
        self.0.join(parts)
    }

    fn stack(&self, parts: &[&D::Poly]) -> D::Poly {
        assert!(!parts.is_empty(), "stack: at least one part");
        for p in parts {
            let (first, this) = (parts[0].shape(), p.shape());
            require(first.with_batch(this.batch) == *this, "stack", "parts differ only in batch", &[first, this]);
        }
        self.0.stack(parts)
    }

    fn split(&self, a: &D::Poly, from: usize, to: usize) -> D::Poly {
        require(from < to && to <= a.shape().batch, "split", "a range of the batch", &[a.shape()]);
        self.0.split(a, from, to)
    }

    fn add(&self, a: &D::Poly, b: &D::Poly) -> D::Poly {
        elementwise("add", a.shape(), b.shape());
        self.0.add(a, b)
    }

    fn sub(&self, a: &D::Poly, b: &D::Poly) -> D::Poly {
        elementwise("sub", a.shape(), b.shape());
        self.0.sub(a, b)
    }

    fn neg(&self, a: D::Poly) -> D::Poly {
        self.0.neg(a)
    }

    fn mul(&self, a: &D::Poly, b: &D::Poly) -> D::Poly {
        elementwise("mul", a.shape(), b.shape());
        in_domain("mul", a.shape(), Domain::Eval);
        self.0.mul(a, b)
    }

    fn mul_acc(&self, acc: &mut D::Poly, a: &D::Poly, b: &D::Poly) {
        accumulates("mul_acc", acc.shape(), a.shape());
        accumulates("mul_acc", acc.shape(), b.shape());
        in_domain("mul_acc", acc.shape(), Domain::Eval);
        self.0.mul_acc(acc, a, b);
    }

    fn add_assign(&self, acc: &mut D::Poly, a: &D::Poly) {
        accumulates("add_assign", acc.shape(), a.shape());
        self.0.add_assign(acc, a);
    }

    fn scale_limbs(&self, a: D::Poly, values: &[u64]) -> D::Poly {
        constants("scale_limbs", a.shape(), values);
        self.0.scale_limbs(a, values)
    }

    fn shift_limbs(&self, a: D::Poly, values: &[u64]) -> D::Poly {
        constants("shift_limbs", a.shape(), values);
        in_domain("shift_limbs", a.shape(), Domain::Eval);
        self.0.shift_limbs(a, values)
    }

    fn ntt(&self, a: D::Poly) -> D::Poly {
        in_domain("ntt", a.shape(), Domain::Coeff);
        self.0.ntt(a)
    }

    fn intt(&self, a: D::Poly) -> D::Poly {
        in_domain("intt", a.shape(), Domain::Eval);
        self.0.intt(a)
    }

    fn automorphism(&self, a: &D::Poly, g: GaloisElement) -> D::Poly {
        require(g.value() < 2 << a.shape().ring.log_n(), "automorphism", "g is below 2N", &[a.shape()]);
        self.0.automorphism(a, g)
    }

    fn basis_convert(&self, a: &D::Poly, to: Basis) -> D::Poly {
        converts("basis_convert", a.shape(), to);
        self.0.basis_convert(a, to)
    }

    fn reduce(&self, a: &D::Poly, to: Basis) -> D::Poly {
        converts("reduce", a.shape(), to);
        require(a.shape().basis.len() == 1, "reduce", "one limb is lifted", &[a.shape()]);
        self.0.reduce(a, to)
    }

    fn region(&self, name: &'static str, index: u32) -> Region<'_> {
        self.0.region(name, index)
    }

    fn mod_up(&self, c: &D::Poly, digits: &[Basis], full: Basis) -> Vec<D::Poly> {
        in_domain("mod_up", c.shape(), Domain::Eval);
        partition("mod_up", c.shape(), digits);
        require(c.shape().basis.is_subset(full), "mod_up", "the target contains the source", &[c.shape()]);
        crate::composites::mod_up(self, c, digits, full)
    }

    fn key_switch(&self, c: &D::Poly, key: &GadgetKey<D::Poly>) -> [D::Poly; 2] {
        in_domain("key_switch", c.shape(), Domain::Eval);
        partition("key_switch", c.shape(), &key.digits);
        require(key.special.is_disjoint(c.shape().basis), "key_switch", "P is disjoint from Q", &[c.shape()]);
        crate::composites::key_switch(self, c, key)
    }

    fn key_switch_onto(
        &self,
        c: &D::Poly,
        key: &GadgetKey<D::Poly>,
        onto: [Option<&D::Poly>; 2],
        to: Basis,
    ) -> [D::Poly; 2] {
        let shape = c.shape();
        require(!to.is_empty() && to.is_subset(shape.basis), "key_switch_onto", "drops limbs of its own", &[shape]);
        onto.iter().flatten().for_each(|onto| elementwise("key_switch_onto", onto.shape(), shape));
        crate::composites::key_switch_onto(self, c, key, onto, to)
    }

    fn extend_limb(&self, a: &D::Poly, to: Basis) -> D::Poly {
        one_limb("extend_limb", a.shape());
        require(
            !to.is_empty() && to.is_subset(a.shape().ring.full()),
            "extend_limb",
            "a basis of the ring",
            &[a.shape()],
        );
        crate::composites::extend_limb(self, a, to)
    }

    fn weighted_sums(&self, x: &[D::Poly], sums: &[Terms<'_, D::Poly>]) -> Vec<D::Poly> {
        for (i, weight) in sums.iter().flatten() {
            let x = x.get(*i).unwrap_or_else(|| panic!("weighted_sums: term {i} of {}", x.len())).shape();
            in_domain("weighted_sums", x, Domain::Eval);
            let (Weight::Values(w) | Weight::OneLimb(w)) = weight;
            match weight {
                Weight::Values(_) => elementwise("weighted_sums", x, w.shape()),
                Weight::OneLimb(_) => one_limb("weighted_sums", w.shape()),
            }
            let ok = w.shape().batch == 1 || w.shape().batch == x.batch;
            require(ok, "weighted_sums", "a weight is not larger than what it multiplies", &[x, w.shape()]);
        }
        assert!(sums.iter().all(|terms| !terms.is_empty()), "weighted_sums: every sum has a term");
        crate::composites::weighted_sums(self, x, sums)
    }

    fn linear_combination(&self, x: &[&D::Poly], values: &[Vec<u64>]) -> D::Poly {
        let op = "linear_combination";
        assert!(
            !x.is_empty() && x.len() == values.len(),
            "{op}: constants for each of {} terms, at least one",
            x.len()
        );
        let widest = x.iter().max_by_key(|x| x.shape().batch).map_or(x[0].shape(), |x| x.shape());
        for (x, values) in x.iter().zip(values) {
            elementwise(op, widest, x.shape());
            constants(op, x.shape(), values);
        }
        crate::composites::linear_combination(self, x, values)
    }
}

fn converts(op: &str, a: &Shape, to: Basis) {
    in_domain(op, a, Domain::Coeff);
    let ok = !to.is_empty() && to.is_subset(a.ring.full()) && to.is_disjoint(a.basis);
    require(ok, op, &format!("{:#x} is a basis of the ring, disjoint from the source", to.0), &[a]);
}

fn one_limb(op: &str, a: &Shape) {
    in_domain(op, a, Domain::Coeff);
    require(a.basis.len() == 1, op, "one limb is extended", &[a]);
}

fn partition(op: &str, a: &Shape, digits: &[Basis]) {
    let all = digits.iter().fold(Basis::default(), |all, &d| all | d);
    let disjoint = digits.iter().map(|d| d.len()).sum::<usize>() == all.len();
    require(disjoint && all == a.basis, op, "the digits are a partition of the basis", &[a]);
}

impl<D: HostRead> HostRead for Checked<D> {
    fn download(&self, a: &D::Poly) -> Result<Vec<u64>, Fault> {
        self.0.download(a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Null;
    use limbwise_math::prime::ntt_primes_below;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn violations_are_named() {
        let dev = Checked(Null::default());
        let ring = dev.ring(&RingSpec { log_n: 10, primes: ntt_primes_below(10, 40, 4, &[]).unwrap() }).unwrap();
        let shape = Shape::eval(&ring, Basis::range(0, 3));
        let a = dev.zeros(&shape);
        let narrow = dev.restrict(&a, Basis::range(0, 2));
        let two = dev.stack(&[&a, &a]);
        let weighted = |i, w| dev.weighted_sums(std::slice::from_ref(&a), &[vec![(i, w)]]);
        let key = GadgetKey { digits: vec![shape.basis], special: Basis::single(3), pairs: Vec::new() };
        let combined = |b, constants: &[Vec<u64>]| drop(dev.linear_combination(&[&a, b], constants));
        let cases: [(&str, &dyn Fn()); 18] = [
            ("add: operands share a basis", &|| drop(dev.add(&a, &narrow))),
            ("ntt: needs coefficient domain", &|| drop(dev.ntt(a.clone()))),
            ("basis_convert: needs coefficient domain", &|| drop(dev.basis_convert(&a, Basis::single(3)))),
            ("join: bases are disjoint", &|| drop(dev.join(&[&a, &narrow]))),
            ("restrict: 0x8 is a part", &|| drop(dev.restrict(&a, Basis::single(3)))),
            ("mul_acc: an operand is not larger", &|| dev.mul_acc(&mut a.clone(), &two, &a)),
            ("scale_limbs: one constant a limb", &|| drop(dev.scale_limbs(a.clone(), &[1]))),
            ("scale_limbs: constants are residues", &|| drop(dev.scale_limbs(a.clone(), &[1, 1, u64::MAX]))),
            ("reduce: one limb", &|| drop(dev.reduce(&dev.intt(narrow.clone()), Basis::single(3)))),
            ("extend_limb: one limb", &|| drop(dev.extend_limb(&dev.intt(narrow.clone()), Basis::single(3)))),
            ("key_switch_onto: drops limbs", &|| drop(dev.key_switch_onto(&a, &key, [None; 2], Basis::single(3)))),
            ("key_switch_onto: operands share a basis", &|| {
                drop(dev.key_switch_onto(&a, &key, [None, Some(&narrow)], shape.basis));
            }),
            ("weighted_sums: operands share a basis", &|| drop(weighted(0, Weight::Values(&narrow)))),
            ("weighted_sums: needs coefficient domain", &|| drop(weighted(0, Weight::OneLimb(&narrow)))),
            ("weighted_sums: term 1 of 1", &|| drop(weighted(1, Weight::Values(&a)))),
            ("linear_combination: operands share a basis", &|| combined(&narrow, &[vec![1; 3], vec![1; 2]])),
            ("linear_combination: constants are residues", &|| combined(&two, &[vec![1; 3], vec![u64::MAX; 3]])),
            ("linear_combination: constants for each of 2 terms", &|| combined(&two, &[vec![1; 3]])),
        ];
        for (expected, case) in cases {
            let panic = catch_unwind(AssertUnwindSafe(case)).unwrap_err();
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            assert!(text.contains(expected), "{text:?} should say {expected:?}");
        }
    }
}
