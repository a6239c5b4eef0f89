//! Default bodies of the composites, written as the papers write them. Recorders and decorators run these on
//! themselves, so a graph holds primitives inside a region of the composite's name.

use crate::{
    footprint::RotatedSums,
    lwe::{Ggsw, LweHandle, LweSwitchKey},
    matrix::IntegerMatrix,
    ops::{Device, GadgetKey, Handle, Rotation, Terms, Weight},
    region::Region,
    ring::{Basis, Ring},
};
use limbwise_math::modulus::Modulus;

/// Extends each digit from its own primes to all of `full`; its own limbs stay in evaluation domain.
///
/// Cost: |Q| INTT limbs; for each digit |full| − |digit| NTT limbs and |digit|·(|full| − |digit|)·N products.
/// Source: \[HK20\] §3.
pub fn mod_up<D: Device + ?Sized>(dev: &D, c: &D::Poly, digits: &[Basis], full: Basis) -> Vec<D::Poly> {
    let _region = dev.region(Region::ModUp, 0);
    let coeff = dev.intt(c.clone());
    let extend = |(own, index): (&Basis, u32)| {
        let _region = dev.region(Region::Digit, index);
        let others = dev.ntt(dev.basis_convert(&dev.restrict(&coeff, *own), full - *own));
        dev.join(&[&dev.restrict(c, *own), &others])
    };
    digits.iter().zip(0..).map(extend).collect()
}

/// `Σ_i digit_i ⊙ pair_i`. Cost: 2·β·|QP|·N products.
///
/// # Panics
/// If the key does not have one pair per digit, or there is no digit.
pub fn gadget_product<D: Device + ?Sized>(dev: &D, digits: &[D::Poly], key: &GadgetKey<D::Poly>) -> [D::Poly; 2] {
    assert!(digits.len() == key.pairs.len() && !digits.is_empty(), "one key pair a digit, at least one");
    let _region = dev.region(Region::GadgetProduct, 0);
    [0, 1].map(|half| {
        let mut sum = dev.mul(&digits[0], &key.pairs[0][half]);
        for (digit, pair) in digits.iter().zip(&key.pairs).skip(1) {
            dev.mul_acc(&mut sum, digit, &pair[half]);
        }
        sum
    })
}

/// Multiplies by the primes of `to` that `a` lacks, drops the primes outside `to` and divides by their product, rounding to
/// nearest.
///
/// Cost: with k primes dropped, k INTT limbs, |to| NTT limbs, (k + k·|to|)·N products for the conversion and |to|·N more;
/// a product more for each limb of `a` where it lacks a prime.
/// Source: \[HK20\] §3; the conversion is centered, so the rounding is to nearest.
pub fn mod_down<D: Device + ?Sized>(dev: &D, a: &D::Poly, to: Basis) -> D::Poly {
    let _region = dev.region(Region::ModDown, 0);
    let a = &with_primes_of(dev, a, to);
    let dropped = a.shape().basis - to;
    let remainder = dev.intt(dev.restrict(a, dropped));
    let remainder = dev.ntt(dev.basis_convert(&remainder, to));
    divide(dev, a, &remainder, to, dropped)
}

/// [`mod_down`] by the primes of one level; where a single prime is dropped and none is new, it is lifted exactly, without a
/// base conversion.
///
/// Source: \[CKKS17\], \[HPS19\]; \[SS24\] for levels that have primes of their own.
pub fn rescale<D: Device + ?Sized>(dev: &D, a: &D::Poly, to: Basis) -> D::Poly {
    let _region = dev.region(Region::Rescale, 0);
    let lifts = drops_one_of(a.shape().basis, to);
    let a = &with_primes_of(dev, a, to);
    let dropped = a.shape().basis - to;
    let remainder = dev.intt(dev.restrict(a, dropped));
    let lifted = if lifts { dev.reduce(&remainder, to) } else { dev.basis_convert(&remainder, to) };
    let lifted = dev.ntt(lifted);
    divide(dev, a, &lifted, to, dropped)
}

/// Whether a division from a basis to another drops one prime and has no new one.
#[must_use]
pub fn drops_one_of(from: Basis, to: Basis) -> bool {
    to.is_subset(from) && (from - to).len() == 1
}

/// `a` times the product of those primes of `to` that it lacks, over its own primes and these, modulo which it is zero.
pub fn with_primes_of<D: Device + ?Sized>(dev: &D, a: &D::Poly, to: Basis) -> D::Poly {
    let (ring, own) = (&a.shape().ring, a.shape().basis);
    let new = to - own;
    if new.is_empty() {
        return a.clone();
    }
    let times = dev.scale_limbs(a.clone(), &product(ring, new, own));
    dev.join(&[&times, &dev.zeros(&a.shape().with_basis(new))])
}

/// `(a − remainder) / (product of dropped)` over `to`.
fn divide<D: Device + ?Sized>(dev: &D, a: &D::Poly, remainder: &D::Poly, to: Basis, dropped: Basis) -> D::Poly {
    let inverses = inverse_product(&a.shape().ring, dropped, to);
    dev.scale_limbs(dev.sub(&dev.restrict(a, to), remainder), &inverses)
}

/// `c·s'` re-encrypted: raises the digits, multiplies them with the key, divides both halves by P.
///
/// Source: \[HK20\] §3.
pub fn key_switch<D: Device + ?Sized>(dev: &D, c: &D::Poly, key: &GadgetKey<D::Poly>) -> [D::Poly; 2] {
    let _region = dev.region(Region::KeySwitch, 0);
    let basis = c.shape().basis;
    let raised = dev.mod_up(c, &key.digits, basis | key.special);
    let product = dev.gadget_product(&raised, key);
    drop(raised);
    product.map(|half| dev.mod_down(&half, basis))
}

/// `onto + c·s'` over `to`. If `to` is another level's, P·onto is added to the product over QP, so that one division drops
/// the primes that `to` lacks with the special ones.
///
/// Cost: that of [`key_switch`] and one addition per half. With d of ℓ limbs dropped, 2ℓ transformed limbs fewer than
/// [`key_switch`] followed by [`rescale`], and ℓ·N products more for each half that is added to.
/// Source: \[BMTH21\] §4 (rescaling merged with the division by P).
pub fn key_switch_onto<D: Device + ?Sized>(
    dev: &D,
    c: &D::Poly,
    key: &GadgetKey<D::Poly>,
    onto: [Option<&D::Poly>; 2],
    to: Basis,
) -> [D::Poly; 2] {
    let _region = dev.region(Region::KeySwitchOnto, 0);
    let basis = c.shape().basis;
    let [first, second] = onto;
    if to == basis {
        // P·onto is divisible by P, so onto can be added to the quotient.
        let [b, a] = dev.key_switch(c, key);
        let sum = |half: D::Poly, onto: Option<&D::Poly>| match onto {
            Some(onto) => dev.add(&half, onto),
            None => half,
        };
        return [sum(b, first), sum(a, second)];
    }
    let raised = dev.mod_up(c, &key.digits, basis | key.special);
    let [b, a] = dev.gadget_product(&raised, key);
    drop(raised);
    let factors = product(&c.shape().ring, key.special, basis);
    let sum = |half: D::Poly, onto: Option<&D::Poly>| {
        let Some(onto) = onto else { return dev.mod_down(&half, to) };
        let low = dev.add(&dev.restrict(&half, basis), &dev.scale_limbs(onto.clone(), &factors));
        dev.mod_down(&dev.join(&[&low, &dev.restrict(&half, key.special)]), to)
    };
    [sum(b, first), sum(a, second)]
}

/// `onto + P·c·s'` over QP: raises the digits and multiplies them with the key.
///
/// Cost: that of [`mod_up`] and [`gadget_product`], and one addition for each half of `onto`.
/// Source: \[BMTH21\] §4 (giant steps stay over QP).
pub fn key_switch_undivided<D: Device + ?Sized>(
    dev: &D,
    c: &D::Poly,
    key: &GadgetKey<D::Poly>,
    onto: [Option<&D::Poly>; 2],
) -> [D::Poly; 2] {
    let _region = dev.region(Region::KeySwitchUndivided, 0);
    let raised = dev.mod_up(c, &key.digits, c.shape().basis | key.special);
    let mut product = dev.gadget_product(&raised, key);
    drop(raised);
    for (half, onto) in product.iter_mut().zip(onto) {
        if let Some(onto) = onto {
            dev.add_assign(half, onto);
        }
    }
    product
}

/// Weighted sums of rotations, and of operands that come after them.
///
/// Cost: 1 [`mod_up`]; for each rotation that of [`rotation`]; that of [`weighted_sums`].
/// Source: \[HS18\] (hoisting), \[BMTH21\] §4 (over QP).
pub fn rotated_sums<D: Device + ?Sized>(
    dev: &D,
    c: &D::Poly,
    onto: &D::Poly,
    rotations: &[Rotation<D::Poly>],
    more: &[D::Poly],
    sums: &[Terms<'_, D::Poly>],
) -> Vec<D::Poly> {
    let _region = dev.region(RotatedSums::new(c.shape(), rotations, sums).region(), 0);
    let mut x = Vec::with_capacity(rotations.len() + more.len());
    if let Some(Rotation { key, .. }) = rotations.first() {
        let raised = dev.mod_up(c, &key.digits, c.shape().basis | key.special);
        x.extend(rotations.iter().map(|one| rotation(dev, &raised, onto, one)));
    }
    x.extend_from_slice(more);
    dev.weighted_sums(&x, sums)
}

/// One rotation of [`rotated_sums`] from raised digits: permuting raised digits equals raising permuted ones.
///
/// Cost: a [`gadget_product`], β·|QP| + |onto| permuted limbs and |onto|·N sums.
pub fn rotation<D: Device + ?Sized>(
    dev: &D,
    raised: &[D::Poly],
    onto: &D::Poly,
    Rotation { galois, key }: &Rotation<D::Poly>,
) -> D::Poly {
    let moved: Vec<D::Poly> = raised.iter().map(|digit| dev.automorphism(digit, *galois)).collect();
    let [b, a] = dev.gadget_product(&moved, key);
    drop(moved);
    let (full, own) = (b.shape().basis, onto.shape().basis);
    let sum = dev.add(&dev.restrict(&b, own), &dev.automorphism(onto, *galois));
    let b = if own == full { sum } else { dev.join(&[&sum, &dev.restrict(&b, full - own)]) };
    dev.stack(&[&b, &a])
}

/// The centered lift of one limb of coefficients to `to`, in evaluation domain.
///
/// Cost: |to| NTT limbs. Source: \[ARK\] (limbs of plaintexts computed on use).
pub fn extend_limb<D: Device + ?Sized>(dev: &D, a: &D::Poly, to: Basis) -> D::Poly {
    let _region = dev.region(Region::ExtendLimb, 0);
    let own = a.shape().basis;
    if own == to {
        return dev.ntt(a.clone());
    }
    let others = dev.reduce(a, to - own);
    dev.ntt(if own.is_subset(to) { dev.join(&[a, &others]) } else { others })
}

/// `Σ weight ⊙ x[i]` for each sum. A weight given as one limb is extended only for its product.
///
/// Cost: |basis|·N products per term and batch entry, none for a weight of one; |basis| NTT limbs more for a weight of
/// one limb.
///
/// # Panics
/// If a sum has no term.
pub fn weighted_sums<D: Device + ?Sized>(dev: &D, x: &[D::Poly], sums: &[Terms<'_, D::Poly>]) -> Vec<D::Poly> {
    let _region = dev.region(Region::WeightedSums, 0);
    let values = |i: usize, weight: Weight<'_, D::Poly>| match weight {
        Weight::Values(values) => Some(values.clone()),
        Weight::OneLimb(limb) => Some(dev.extend_limb(limb, x[i].shape().basis)),
        Weight::One => None,
    };
    let sum = |terms: &Terms<'_, D::Poly>| {
        let (&(first, weight), rest) = terms.split_first().expect("a sum has a term");
        let mut sum = values(first, weight).map_or_else(|| x[first].clone(), |values| dev.mul(&x[first], &values));
        for &(i, weight) in rest {
            match values(i, weight) {
                Some(values) => dev.mul_acc(&mut sum, &x[i], &values),
                None => dev.add_assign(&mut sum, &x[i]),
            }
        }
        sum
    };
    sums.iter().map(sum).collect()
}

/// `Σ x_i·c_i`, with one constant per limb.
///
/// Cost: |basis|·N products per term and batch entry. Source: \[BMTH21\] §5.2 (linear combinations of Chebyshev
/// powers).
///
/// # Panics
/// If `x` is empty.
pub fn linear_combination<D: Device + ?Sized>(dev: &D, x: &[&D::Poly], constants: &[Vec<u64>]) -> D::Poly {
    let _region = dev.region(Region::LinearCombination, 0);
    let mut terms = x.iter().zip(constants).map(|(&x, constants)| dev.scale_limbs(x.clone(), constants));
    let first = terms.next().expect("a combination has a term");
    terms.fold(first, |sum, term| dev.add(&sum, &term))
}

/// The product of two ciphertexts before relinearization, or a square, and what is added to it.
///
/// Cost: 4 products per limb and word (3 for a square), one more for each polynomial that is added.
/// Source: \[CKKS17\] §3.3.
///
/// # Panics
/// Unless `x` is a pair, and `y` is one or empty.
pub fn tensor<D: Device + ?Sized>(
    dev: &D,
    x: &[&D::Poly],
    y: &[&D::Poly],
    doublings: usize,
    terms: &[&D::Poly],
    constants: &[Vec<u64>],
) -> Vec<D::Poly> {
    let _region = dev.region(Region::Tensor, 0);
    let mut parts = match (x, y) {
        (&[x0, x1], &[y0, y1]) => {
            let mut middle = dev.mul(x0, y1);
            dev.mul_acc(&mut middle, x1, y0);
            vec![dev.mul(x0, y0), middle, dev.mul(x1, y1)]
        }
        (&[x0, x1], &[]) => {
            let cross = dev.mul(x0, x1);
            vec![dev.mul(x0, x0), dev.add(&cross, &cross), dev.mul(x1, x1)]
        }
        _ => panic!("a product of pairs, not of {} and {} polynomials", x.len(), y.len()),
    };
    for _ in 0..doublings {
        parts = parts.iter().map(|part| dev.add(part, part)).collect();
    }
    for (pair, constants) in terms.chunks(2).zip(constants) {
        for (part, &term) in parts.iter_mut().zip(pair) {
            dev.add_assign(part, &dev.scale_limbs(term.clone(), constants));
        }
    }
    parts
}

/// `Σ_i w_ji·x_i` for each row j, as one linear combination a row.
///
/// Cost: rows·columns·|basis|·N products per group. Source: \[BCHPS24\] (clear matrices on encrypted rows are integer
/// products on residues).
///
/// # Panics
/// If the batch is no multiple of the number of columns.
pub fn matrix_product<D: Device + ?Sized>(dev: &D, x: &D::Poly, matrix: &IntegerMatrix) -> D::Poly {
    let (columns, shape) = (matrix.columns(), x.shape());
    assert!(shape.batch.is_multiple_of(columns), "an operand for each of {columns} columns");
    let _region = dev.region(Region::MatrixProduct, 0);
    let (groups, moduli) = (shape.batch / columns, shape.ring.moduli_of(shape.basis));
    let operands: Vec<D::Poly> = (0..columns).map(|i| dev.split(x, i * groups, (i + 1) * groups)).collect();
    let operands: Vec<&D::Poly> = operands.iter().collect();
    let residues = |&w: &i32| moduli.iter().map(|q| q.from_i64(w.into())).collect();
    let sum = |j| dev.linear_combination(&operands, &matrix.row(j).iter().map(residues).collect::<Vec<_>>());
    let sums: Vec<D::Poly> = (0..matrix.rows()).map(sum).collect();
    dev.stack(&sums.iter().collect::<Vec<_>>())
}

/// The digits of all components in evaluation domain, times the rows of the key, back in coefficient domain.
///
/// Cost: with R = (k + 1)·levels rows, R NTT and k + 1 INTT limbs and R·(k + 1)·N products per entry.
/// Source: \[CGGI20\] §3.2, over a prime.
///
/// # Panics
/// If the key has no rows, or not one row per digit.
pub fn external_product<D: Device + ?Sized>(dev: &D, c: &[&D::Poly], key: &Ggsw<D::Poly>) -> Vec<D::Poly> {
    assert!(key.rows.len() == c.len() * key.gadget.len() && !key.rows.is_empty(), "a row of the key for each digit");
    let _region = dev.region(Region::ExternalProduct, 0);
    let (levels, batch) = (key.gadget.len(), c[0].shape().batch);
    let digits: Vec<D::Poly> = {
        let _region = dev.region(Region::Decomposition, 0);
        c.iter().map(|c| dev.decompose(c, key.gadget)).collect()
    };
    let digits: Vec<D::Poly> = {
        let _region = dev.region(Region::Ntt, 0);
        digits.into_iter().map(|d| dev.ntt(d)).collect()
    };
    let sums: Vec<D::Poly> = {
        let _region = dev.region(Region::Products, 0);
        let digit = |row: usize| dev.split(&digits[row / levels], row % levels * batch, (row % levels + 1) * batch);
        let sum = |component: usize| {
            let mut sum = dev.mul(&digit(0), &key.rows[0][component]);
            for (row, with) in key.rows.iter().enumerate().skip(1) {
                dev.mul_acc(&mut sum, &digit(row), &with[component]);
            }
            sum
        };
        (0..c.len()).map(sum).collect()
    };
    drop(digits);
    let _region = dev.region(Region::Intt, 0);
    sums.into_iter().map(|sum| dev.intt(sum)).collect()
}

/// `acc ← acc + GGSW(s_i) ⊡ (X^{e_i} − 1)·acc` for every i, starting from `test·X^{e_n}`: one multiplexer per bit of
/// the secret.
///
/// Cost: n external products. Source: \[CGGI20\] Alg. 3.
///
/// # Panics
/// If the key has no rows.
pub fn blind_rotate<D: Device + ?Sized>(
    dev: &D,
    test: &D::Poly,
    exponents: &D::Lwe,
    key: &Ggsw<D::Poly>,
) -> Vec<D::Poly> {
    let _region = dev.region(Region::BlindRotate, 0);
    let steps = exponents.lwe_shape().dimension;
    let mut acc = {
        let _region = dev.region(Region::Steps, 0);
        let body = dev.monomial_mul(test, exponents, steps);
        let shape = body.shape().clone();
        let masks = (1..key.components()).map(|_| dev.zeros(&shape));
        std::iter::once(body).chain(masks).collect::<Vec<D::Poly>>()
    };
    for i in 0..steps {
        let moved: Vec<D::Poly> = {
            let _region = dev.region(Region::Steps, 0);
            acc.iter().map(|acc| dev.sub(&dev.monomial_mul(acc, exponents, i), acc)).collect()
        };
        let product = dev.external_product(&moved.iter().collect::<Vec<_>>(), &key.entry(dev, i));
        drop(moved);
        let _region = dev.region(Region::Steps, 0);
        acc.iter_mut().zip(&product).for_each(|(acc, product)| dev.add_assign(acc, product));
    }
    acc
}

/// `(0, b) + Σ digits·rows`. Cost: dimension·levels·(n + 1) products per entry. Source: \[CGGI20\] §4.1.
pub fn lwe_key_switch<D: Device + ?Sized>(dev: &D, a: &D::Lwe, key: &LweSwitchKey<D::Lwe>) -> D::Lwe {
    let _region = dev.region(Region::LweKeySwitch, 0);
    let digits = dev.lwe_decompose(a, key.gadget);
    dev.lwe_product(&digits, &key.rows)
}

/// The product of `primes` modulo each prime of `to`.
#[must_use]
pub fn product(ring: &Ring, primes: Basis, to: Basis) -> Vec<u64> {
    let product = |q: Modulus| primes.iter().fold(1, |p, i| q.mul(p, q.reduce(ring.spec().primes[i])));
    ring.moduli_of(to).into_iter().map(product).collect()
}

/// `(product of dropped)^{-1}` modulo each prime of `to`.
#[must_use]
pub fn inverse_product(ring: &Ring, dropped: Basis, to: Basis) -> Vec<u64> {
    let product = |j: usize| dropped.iter().fold(1, |all, i| ring.moduli()[j].mul(all, ring.inverse(i, j)));
    to.iter().map(product).collect()
}
