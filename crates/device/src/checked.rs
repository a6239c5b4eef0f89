//! A decorator that tests every contract of the seam before the device sees the operation.
//!
//! A violation is a bug in scheme code, not a mistake of a user, so it panics with the operation and the shapes (ADR 7).
//! Devices check few contracts themselves: a violation would show as a wrong residue, far from its cause. The methods are
//! written by hand and not generated from the table of operations, because the contracts are their content (ADR 122).

use crate::{
    lwe::{Gadget, Ggsw, LweFill, LweHandle, LweShape, LweSwitchKey, Rounding},
    matrix::IntegerMatrix,
    ops::{Device, Fault, Fill, GadgetKey, Handle, HostRead, Role, Rotation, Terms, Weight},
    region::{OpenRegion, Region},
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

/// Same ring, basis and domain; batches equal or one of them 1.
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

fn require_lwe(ok: bool, op: &str, rule: &str, shapes: &[LweShape]) {
    if !ok {
        let shown: Vec<String> = shapes
            .iter()
            .map(|s| format!("[{} + 1 words modulo {} batch {}]", s.dimension, s.modulus, s.batch))
            .collect();
        panic!("{op}: {rule}; got {}", shown.join(" and "));
    }
}

/// One limb of coefficients.
fn one_coefficient_limb(op: &str, a: &Shape) {
    in_domain(op, a, Domain::Coeff);
    require(a.basis.len() == 1, op, "has one limb", &[a]);
}

/// The components of one ciphertext.
fn glwe(op: &str, parts: &[&Shape]) {
    assert!(parts.len() >= 2, "{op}: a body and at least one mask");
    for part in parts {
        one_coefficient_limb(op, part);
        require(part == &parts[0], op, "components have one shape", &[parts[0], part]);
    }
}

fn fits(op: &str, gadget: Gadget, modulus: u64) {
    assert!(gadget.fits(modulus), "{op}: {} digits of {} bits fit {modulus}", gadget.levels, gadget.base_log);
}

/// Exponents modulo 2N for polynomials.
fn exponents(op: &str, a: &Shape, exponents: LweShape) {
    let modulus = 2 * a.ring.n() as u64;
    require_lwe(exponents.modulus == modulus, op, "exponents are modulo 2N", &[exponents]);
    let together = a.batch == exponents.batch || a.batch == 1 || exponents.batch == 1;
    require_lwe(together, op, &format!("exponents for a batch of {}", a.batch), &[exponents]);
}

/// Rows of a key of `components` components over the ring and basis of a polynomial.
fn key_rows<P: Handle>(op: &str, a: &Shape, components: usize, key: &Ggsw<P>) {
    fits(op, key.gadget, a.ring.moduli_of(a.basis)[0].value());
    let complete = key.rows.len() == components * key.gadget.len() && key.rows.iter().all(|r| r.len() == components);
    assert!(complete, "{op}: {components} components and {} levels, in rows and columns", key.gadget.levels);
    for part in key.rows.iter().flatten() {
        in_domain(op, part.shape(), Domain::Eval);
        let alike = part.shape().ring == a.ring && part.shape().basis == a.basis;
        require(alike, op, "the key shares ring and basis", &[part.shape(), a]);
    }
}

impl<D: Device> Device for Checked<D> {
    type Poly = D::Poly;
    type Lwe = D::Lwe;

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

    fn monomial_mul(&self, a: &D::Poly, e: &D::Lwe, word: usize) -> D::Poly {
        one_coefficient_limb("monomial_mul", a.shape());
        exponents("monomial_mul", a.shape(), e.lwe_shape());
        require_lwe(word < e.lwe_shape().words(), "monomial_mul", &format!("there is a word {word}"), &[e.lwe_shape()]);
        self.0.monomial_mul(a, e, word)
    }

    fn decompose(&self, a: &D::Poly, gadget: Gadget) -> D::Poly {
        one_coefficient_limb("decompose", a.shape());
        fits("decompose", gadget, a.shape().ring.moduli_of(a.shape().basis)[0].value());
        self.0.decompose(a, gadget)
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> D::Lwe {
        require_lwe(shape.is_valid(), "upload_lwe", "a shape has words and a modulus from 2 to 2^62", &[shape]);
        self.0.upload_lwe(shape, role, &|entry, words| {
            fill(entry, words);
            assert!(words.iter().all(|&x| x < shape.modulus), "upload_lwe: words are below {}", shape.modulus);
        })
    }

    fn lwe_stack(&self, parts: &[&D::Lwe]) -> D::Lwe {
        assert!(!parts.is_empty(), "lwe_stack: at least one part");
        let first = parts[0].lwe_shape();
        for part in parts {
            let this = part.lwe_shape();
            require_lwe(
                first.with_batch(this.batch) == this,
                "lwe_stack",
                "parts differ only in batch",
                &[first, this],
            );
        }
        self.0.lwe_stack(parts)
    }

    fn lwe_split(&self, a: &D::Lwe, from: usize, to: usize) -> D::Lwe {
        require_lwe(from < to && to <= a.lwe_shape().batch, "lwe_split", "a range of the batch", &[a.lwe_shape()]);
        self.0.lwe_split(a, from, to)
    }

    fn lwe_add(&self, a: &D::Lwe, b: &D::Lwe) -> D::Lwe {
        let (x, y) = (a.lwe_shape(), b.lwe_shape());
        require_lwe(x.with_batch(y.batch) == y, "lwe_add", "operands share dimension and modulus", &[x, y]);
        let together = x.batch == y.batch || x.batch == 1 || y.batch == 1;
        require_lwe(together, "lwe_add", "batches are equal or one", &[x, y]);
        self.0.lwe_add(a, b)
    }

    fn lwe_scale(&self, a: &D::Lwe, c: u64) -> D::Lwe {
        require_lwe(c < a.lwe_shape().modulus, "lwe_scale", "the constant is a residue", &[a.lwe_shape()]);
        self.0.lwe_scale(a, c)
    }

    fn lwe_shift(&self, a: &D::Lwe, constants: &[u64]) -> D::Lwe {
        let shape = a.lwe_shape();
        let count = constants.len() == shape.batch || constants.len() == 1;
        require_lwe(count, "lwe_shift", "one constant, or one an entry", &[shape]);
        let reduced = constants.iter().all(|&c| c < shape.modulus);
        require_lwe(reduced, "lwe_shift", "constants are residues", &[shape]);
        self.0.lwe_shift(a, constants)
    }

    fn lwe_mod_switch(&self, a: &D::Lwe, to: u64, rounding: Rounding) -> D::Lwe {
        let shape = a.lwe_shape().with_modulus(to);
        require_lwe(shape.is_valid(), "lwe_mod_switch", "a modulus from 2 to 2^62", &[shape]);
        self.0.lwe_mod_switch(a, to, rounding)
    }

    fn lwe_decompose(&self, a: &D::Lwe, gadget: Gadget) -> D::Lwe {
        fits("lwe_decompose", gadget, a.lwe_shape().modulus);
        self.0.lwe_decompose(a, gadget)
    }

    fn lwe_product(&self, a: &D::Lwe, rows: &D::Lwe) -> D::Lwe {
        let (x, y) = (a.lwe_shape(), rows.lwe_shape());
        require_lwe(x.modulus == y.modulus, "lwe_product", "operands share a modulus", &[x, y]);
        require_lwe(x.dimension == y.batch, "lwe_product", "a row for each word of the mask", &[x, y]);
        self.0.lwe_product(a, rows)
    }

    fn sample_extract(&self, parts: &[&D::Poly], at: &[usize]) -> D::Lwe {
        let shapes: Vec<&Shape> = parts.iter().map(|p| p.shape()).collect();
        glwe("sample_extract", &shapes);
        let places = !at.is_empty() && at.iter().all(|&i| i < shapes[0].ring.n());
        require(places, "sample_extract", &format!("places {at:?} are below N"), &shapes[..1]);
        self.0.sample_extract(parts, at)
    }

    fn lwe_embed(&self, a: &D::Lwe, ring: &Ring, basis: Basis, part: usize) -> D::Poly {
        let shape = a.lwe_shape();
        let fits = part <= shape.dimension.div_ceil(ring.n());
        require_lwe(fits, "lwe_embed", &format!("component {part} over N = {}", ring.n()), &[shape]);
        let moduli = ring.moduli_of(basis);
        let same = moduli.len() == 1 && moduli[0].value() == shape.modulus;
        require_lwe(same, "lwe_embed", "the modulus is that of the one limb", &[shape]);
        self.0.lwe_embed(a, ring, basis, part)
    }

    fn external_product(&self, c: &[&D::Poly], key: &Ggsw<D::Poly>) -> Vec<D::Poly> {
        let shapes: Vec<&Shape> = c.iter().map(|c| c.shape()).collect();
        glwe("external_product", &shapes);
        key_rows("external_product", shapes[0], c.len(), key);
        for part in key.rows.iter().flatten() {
            let ok = part.shape().batch == 1 || part.shape().batch == shapes[0].batch;
            require(ok, "external_product", "a key for each entry, or one", &[part.shape(), shapes[0]]);
        }
        crate::composites::external_product(self, c, key)
    }

    fn blind_rotate(&self, test: &D::Poly, e: &D::Lwe, key: &Ggsw<D::Poly>) -> Vec<D::Poly> {
        let op = "blind_rotate";
        one_coefficient_limb(op, test.shape());
        exponents(op, test.shape(), e.lwe_shape());
        assert!(key.components() >= 2, "{op}: a body and at least one mask");
        key_rows(op, test.shape(), key.components(), key);
        for part in key.rows.iter().flatten() {
            let ok = part.shape().batch == e.lwe_shape().dimension;
            require(ok, op, &format!("a key for each of {} words", e.lwe_shape().dimension), &[part.shape()]);
        }
        let ok = test.shape().batch == 1 || test.shape().batch == e.lwe_shape().batch;
        require(ok, op, "a test polynomial for each entry, or one", &[test.shape()]);
        crate::composites::blind_rotate(self, test, e, key)
    }

    fn lwe_key_switch(&self, a: &D::Lwe, key: &LweSwitchKey<D::Lwe>) -> D::Lwe {
        let (x, rows) = (a.lwe_shape(), key.rows.lwe_shape());
        let complete = rows.batch == x.dimension * key.gadget.len();
        require_lwe(complete, "lwe_key_switch", &format!("{} rows a word", key.gadget.levels), &[x, rows]);
        crate::composites::lwe_key_switch(self, a, key)
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        self.0.region(region, index)
    }

    fn regions(&self) -> Vec<(Region, u32)> {
        self.0.regions()
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
        let drops = to == shape.basis || !(shape.basis - to).is_empty();
        require(!to.is_empty() && drops, "key_switch_onto", "drops limbs of its own", &[shape]);
        require(to.is_disjoint(key.special), "key_switch_onto", "the result has no special prime", &[shape]);
        onto.iter().flatten().for_each(|onto| elementwise("key_switch_onto", onto.shape(), shape));
        crate::composites::key_switch_onto(self, c, key, onto, to)
    }

    fn key_switch_undivided(&self, c: &D::Poly, key: &GadgetKey<D::Poly>, onto: [Option<&D::Poly>; 2]) -> [D::Poly; 2] {
        let full = c.shape().with_basis(c.shape().basis | key.special);
        onto.iter().flatten().for_each(|onto| elementwise("key_switch_undivided", onto.shape(), &full));
        crate::composites::key_switch_undivided(self, c, key, onto)
    }

    fn rotated_sums(
        &self,
        c: &D::Poly,
        onto: &D::Poly,
        rotations: &[Rotation<D::Poly>],
        more: &[D::Poly],
        sums: &[Terms<'_, D::Poly>],
    ) -> Vec<D::Poly> {
        for Rotation { key, .. } in rotations {
            let (first, basis) = (&rotations[0].key, onto.shape().basis);
            let alike = key.digits == first.digits && key.special == first.special;
            require(alike, "rotated_sums", "all keys have one gadget", &[c.shape()]);
            let known = basis == c.shape().basis || basis == c.shape().basis | key.special;
            require(known, "rotated_sums", "the first half is over Q or QP", &[onto.shape()]);
            in_domain("rotated_sums", onto.shape(), Domain::Eval);
        }
        crate::composites::rotated_sums(self, c, onto, rotations, more, sums)
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
            let Some(w) = weight.poly() else { continue };
            match weight {
                Weight::OneLimb(_) => one_limb("weighted_sums", w.shape()),
                _ => elementwise("weighted_sums", x, w.shape()),
            }
            let ok = w.shape().batch == 1 || w.shape().batch == x.batch;
            require(ok, "weighted_sums", "a weight is not larger than what it multiplies", &[x, w.shape()]);
        }
        assert!(sums.iter().all(|terms| !terms.is_empty()), "weighted_sums: every sum has a term");
        crate::composites::weighted_sums(self, x, sums)
    }

    fn tensor(
        &self,
        x: &[&D::Poly],
        y: &[&D::Poly],
        doublings: usize,
        terms: &[&D::Poly],
        values: &[Vec<u64>],
    ) -> Vec<D::Poly> {
        let op = "tensor";
        assert!(x.len() == 2 && [0, 2].contains(&y.len()), "{op}: a product of pairs, or the square of one");
        assert!(terms.len() == 2 * values.len(), "{op}: constants for each of {} pairs", terms.len() / 2);
        assert!(doublings <= 4, "{op}: at most four doublings");
        in_domain(op, x[0].shape(), Domain::Eval);
        let factors = || x.iter().chain(y).map(|p| p.shape());
        let widest = factors().max_by_key(|shape| shape.batch).unwrap_or(x[0].shape());
        factors().chain(terms.iter().map(|p| p.shape())).for_each(|shape| elementwise(op, widest, shape));
        let fits = terms.iter().all(|term| [1, widest.batch].contains(&term.shape().batch));
        require(fits, op, "a term is not larger than the product", &[widest]);
        let alike = [x, y, terms]
            .iter()
            .flat_map(|all| all.chunks(2))
            .all(|pair| pair.iter().all(|half| half.shape().batch == pair[0].shape().batch));
        require(alike, op, "both of a pair have one batch", &[x[0].shape(), x[1].shape()]);
        values.iter().for_each(|values| constants(op, widest, values));
        crate::composites::tensor(self, x, y, doublings, terms, values)
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

    fn matrix_product(&self, x: &D::Poly, matrix: &IntegerMatrix) -> D::Poly {
        let whole = x.shape().batch.is_multiple_of(matrix.columns());
        require(whole, "matrix_product", &format!("an operand for each of {} columns", matrix.columns()), &[x.shape()]);
        crate::composites::matrix_product(self, x, matrix)
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

    fn each_row(&self, a: &D::Poly, take: &(dyn Fn(usize, &[u64]) + Sync)) -> Result<(), Fault> {
        self.0.each_row(a, take)
    }

    fn download_lwe(&self, a: &D::Lwe) -> Result<Vec<u64>, Fault> {
        self.0.download_lwe(a)
    }
}

#[cfg(test)]
mod tests;
