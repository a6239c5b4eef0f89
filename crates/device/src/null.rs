//! The device that computes nothing: it holds shapes and reference counts only.
//!
//! Its handles share and release rows exactly as a real device's do, so the peak of its meter is the memory that a
//! program needs. Inside a recorder, it turns a program into a graph without any polynomial memory.
//!
//! A composite holds the rows that the measured device's [`Footprint`] states. If the footprint states none, the
//! default body runs here and its operations are counted one by one. Scratch of threads ([`Footprint::scratch_rows`])
//! and tables ([`Footprint::table_bytes`]) are not counted.
//!
//! The meter counts 64-bit words without padding, whatever the device stores ([`Footprint::stored_bytes`]).
//!
//! [`Footprint`]: crate::Footprint
//! [`Footprint::scratch_rows`]: crate::Footprint::scratch_rows
//! [`Footprint::table_bytes`]: crate::Footprint::table_bytes
//! [`Footprint::stored_bytes`]: crate::Footprint::stored_bytes

mod rows;

use crate::{
    composites,
    footprint::{BlindRotation, Body, DefaultBodies, KeySwitch, RotatedSums, SharedFootprint},
    for_each_primitive,
    lwe::{Gadget, Ggsw, LweFill, LweHandle, LweShape, Rounding},
    matrix::IntegerMatrix,
    ops::{Device, Fault, Fill, GadgetKey, Handle, Role, Rotation, Terms, Weight, Wordless, broadcast},
    ring::{Basis, Domain, Ring, RingError, RingSpec, Shape},
    seam_type,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use rows::Rows;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A device without words. It measures a device that overrides no composite, or [the device](Self::of) with a given
/// footprint.
#[derive(Clone, Debug)]
pub struct Null {
    meter: Arc<Meter>,
    footprint: SharedFootprint,
}

impl Default for Null {
    fn default() -> Self {
        Self::of(Arc::new(DefaultBodies))
    }
}

/// Counts the bytes of rows that some handle holds.
#[derive(Debug, Default)]
pub struct Meter {
    live: AtomicU64,
    peak: AtomicU64,
}

impl Meter {
    /// Bytes held now.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// Peak of the bytes held at once.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: u64) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A polynomial without words.
#[derive(Clone, Debug)]
pub struct NullPoly {
    shape: Shape,
    rows: Rows,
}

impl Handle for NullPoly {
    fn shape(&self) -> &Shape {
        &self.shape
    }
}

/// LWE ciphertexts without words.
#[derive(Clone, Debug)]
pub struct NullLwe {
    shape: LweShape,
    _words: Arc<Rows>,
}

impl LweHandle for NullLwe {
    fn lwe_shape(&self) -> LweShape {
        self.shape
    }
}

impl Null {
    fn fresh_lwe(&self, shape: LweShape) -> NullLwe {
        NullLwe { shape, _words: Arc::new(Rows::words(&self.meter, self.footprint.lwe_bytes(shape))) }
    }

    /// Measures the device with this footprint.
    #[must_use]
    pub fn of(footprint: SharedFootprint) -> Self {
        Self { meter: Arc::default(), footprint }
    }

    /// The footprint of the measured device.
    #[must_use]
    pub fn footprint(&self) -> &SharedFootprint {
        &self.footprint
    }

    /// The meter of all polynomials of this device.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    fn fresh(&self, shape: Shape) -> NullPoly {
        NullPoly { rows: Rows::fresh(&self.meter, &shape), shape }
    }

    /// Counts `rows` rows of a ring for a moment, to raise the peak.
    fn hold(&self, ring: &Ring, rows: usize) {
        let bytes = 8 * (ring.n() * rows) as u64;
        self.meter.take(bytes);
        self.meter.give_back(bytes);
    }

    /// A key switch in the device's own implementation.
    fn key_switch_body(&self, call: &KeySwitch<'_>, beside: usize) -> [NullPoly; 2] {
        let shape = call.c.with_batch(call.batch).with_basis(call.to);
        let result = [0, 1].map(|_| self.fresh(shape.clone()));
        self.hold(&shape.ring, beside);
        result
    }

    /// A result of this shape, with the rows that the device's implementation holds meanwhile.
    fn with_body(&self, body: Body, shape: Shape, default: impl FnOnce() -> NullPoly) -> NullPoly {
        let Body::Own { beside } = body else { return default() };
        let result = self.fresh(shape);
        self.hold(&result.shape.ring, beside);
        result
    }

    /// The handle after an operation by value: rows that other handles share are replaced.
    fn in_place(&self, mut a: NullPoly, shape: Shape) -> NullPoly {
        a.rows.own();
        a.shape = shape;
        a
    }
}

/// Rows of view operations: the results share those of the operands.
mod views {
    use super::{Basis, NullPoly, Rows};

    pub(super) fn restrict(a: &NullPoly, to: Basis) -> Rows {
        a.rows.restrict(to)
    }

    pub(super) fn join(parts: &[&NullPoly]) -> Rows {
        Rows::beside(parts.iter().map(|part| (0, &part.rows)))
    }

    pub(super) fn stack(parts: &[&NullPoly]) -> Rows {
        let mut end = 0;
        Rows::beside(parts.iter().map(|part| {
            let start = end;
            end += part.shape.batch;
            (start, &part.rows)
        }))
    }

    pub(super) fn split(a: &NullPoly, from: usize, to: usize) -> Rows {
        a.rows.split(from, to)
    }
}

/// The result of a primitive of each kind without words: a shape, with new or shared rows.
macro_rules! made {
    (view (Poly), $_dev:ident.$name:ident($($arg:ident),+), $shape:expr) => {
        NullPoly { shape: $shape, rows: views::$name($($arg),+) }
    };
    (in_place (Poly), $dev:ident.$_name:ident($a:ident $(, $_arg:ident)*), $shape:expr) => {{
        let shape = $shape;
        $dev.in_place($a, shape)
    }};
    (in_place (), $dev:ident.$_name:ident($acc:ident $(, $_arg:ident)*), $_shape:expr) => {
        $acc.rows.own()
    };
    ($_kind:ident (Poly), $dev:ident.$_name:ident($($_arg:ident),+), $shape:expr) => { $dev.fresh($shape) };
    ($_kind:ident (Lwe), $dev:ident.$_name:ident($($_arg:ident),+), $shape:expr) => { $dev.fresh_lwe($shape) };
}

macro_rules! primitives {
    ($($(#[$_doc:meta])+ $_op:ident = $kind:ident $name:ident($($arg:ident: $type:tt),+) -> $result:tt $([$_kept:ident])?: $shape:expr;)+) => {
        $(fn $name(&self, $($arg: seam_type!($type)),+) -> seam_type!($result) {
            let _ = ($(&$arg),+); // most are not looked at
            made!($kind $result, self.$name($($arg),+), $shape)
        })+
    };
}

impl Wordless for Null {}

impl Device for Null {
    type Poly = NullPoly;
    type Lwe = NullLwe;

    fn name(&self) -> String {
        "null".into()
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        Ring::new(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        Ok(())
    }

    for_each_primitive!(primitives);

    fn blind_rotate(&self, test: &NullPoly, exponents: &NullLwe, key: &Ggsw<NullPoly>) -> Vec<NullPoly> {
        let (components, gadget) = (key.components(), key.gadget);
        let call = BlindRotation { test: &test.shape, exponents: exponents.shape, components, gadget };
        let Body::Own { beside } = self.footprint.blind_rotate(&call) else {
            return composites::blind_rotate(self, test, exponents, key);
        };
        let batch = test.shape.batch.max(exponents.shape.batch);
        let result = (0..components).map(|_| self.fresh(test.shape.with_batch(batch))).collect();
        self.hold(&test.shape.ring, beside);
        result
    }

    fn mod_up(&self, c: &NullPoly, digits: &[Basis], full: Basis) -> Vec<NullPoly> {
        let Body::Own { beside } = self.footprint.mod_up(&c.shape, digits.len()) else {
            return composites::mod_up(self, c, digits, full);
        };
        let others = |own| self.fresh(c.shape.with_basis(full - own));
        let raised = digits.iter().map(|&own| self.join(&[&self.restrict(c, own), &others(own)])).collect();
        self.hold(&c.shape.ring, beside);
        raised
    }

    fn mod_down(&self, a: &NullPoly, to: Basis) -> NullPoly {
        let body = self.footprint.mod_down(&a.shape, to);
        self.with_body(body, a.shape.with_basis(to), || composites::mod_down(self, a, to))
    }

    fn rescale(&self, a: &NullPoly, to: Basis) -> NullPoly {
        let body = self.footprint.rescale(&a.shape, to);
        self.with_body(body, a.shape.with_basis(to), || composites::rescale(self, a, to))
    }

    fn key_switch(&self, c: &NullPoly, key: &GadgetKey<NullPoly>) -> [NullPoly; 2] {
        let call = key_switch(c, key, [None; 2], c.shape.basis);
        match self.footprint.key_switch(&call) {
            Body::Own { beside } => self.key_switch_body(&call, beside),
            Body::Default => composites::key_switch(self, c, key),
        }
    }

    fn key_switch_onto(
        &self,
        c: &NullPoly,
        key: &GadgetKey<NullPoly>,
        onto: [Option<&NullPoly>; 2],
        to: Basis,
    ) -> [NullPoly; 2] {
        let call = key_switch(c, key, onto, to);
        match self.footprint.key_switch_onto(&call) {
            Body::Own { beside } => self.key_switch_body(&call, beside),
            Body::Default => composites::key_switch_onto(self, c, key, onto, to),
        }
    }

    fn key_switch_undivided(
        &self,
        c: &NullPoly,
        key: &GadgetKey<NullPoly>,
        onto: [Option<&NullPoly>; 2],
    ) -> [NullPoly; 2] {
        let Body::Own { beside } = self.footprint.key_switch_undivided(&c.shape, key.digits.len()) else {
            return composites::key_switch_undivided(self, c, key, onto);
        };
        let batch = broadcast(&c.shape, &key.pairs[0][0].shape);
        let shape = c.shape.with_batch(batch).with_basis(c.shape.basis | key.special);
        let result = [0, 1].map(|_| self.fresh(shape.clone()));
        self.hold(&c.shape.ring, beside);
        result
    }

    fn rotated_sums(
        &self,
        c: &NullPoly,
        onto: &NullPoly,
        rotations: &[Rotation<NullPoly>],
        more: &[NullPoly],
        sums: &[Terms<'_, NullPoly>],
    ) -> Vec<NullPoly> {
        let default = || composites::rotated_sums(self, c, onto, rotations, more, sums);
        let call = RotatedSums::new(&c.shape, rotations, sums);
        let (Some(Rotation { key, .. }), Body::Own { beside }) =
            (rotations.first(), self.footprint.rotated_sums(&call))
        else {
            return default();
        };
        let shape = c.shape.with_batch(2 * broadcast(&c.shape, &key.pairs[0][0].shape));
        let shape = shape.with_basis(c.shape.basis | key.special);
        let results = sums.iter().map(|_| self.fresh(shape.clone())).collect();
        self.hold(&c.shape.ring, beside);
        results
    }

    fn extend_limb(&self, a: &NullPoly, to: Basis) -> NullPoly {
        let body = self.footprint.extend_limb(&a.shape, to);
        self.with_body(body, a.shape.with_basis(to).with_domain(Domain::Eval), || composites::extend_limb(self, a, to))
    }

    fn weighted_sums(&self, x: &[NullPoly], sums: &[Terms<'_, NullPoly>]) -> Vec<NullPoly> {
        let extended = |&(i, weight): &(usize, Weight<'_, NullPoly>)| match weight {
            Weight::Values(_) | Weight::One => 0,
            Weight::OneLimb(limb) => limb.shape.batch * x[i].shape.basis.len(),
        };
        let sum = |terms: &Terms<'_, NullPoly>| {
            let shape = x[terms.first().expect("a sum has a term").0].shape.clone();
            let body = self.footprint.weighted_sum(&terms.iter().map(extended).collect::<Vec<_>>());
            let default = || composites::weighted_sums(self, x, std::slice::from_ref(terms)).remove(0);
            self.with_body(body, shape, default)
        };
        sums.iter().map(sum).collect()
    }

    fn tensor(
        &self,
        x: &[&NullPoly],
        y: &[&NullPoly],
        doublings: usize,
        terms: &[&NullPoly],
        constants: &[Vec<u64>],
    ) -> Vec<NullPoly> {
        let Body::Own { beside } = self.footprint.tensor() else {
            return composites::tensor(self, x, y, doublings, terms, constants);
        };
        let batch = x.iter().chain(y).map(|p| p.shape.batch).max().expect("a product has a factor");
        let results = (0..3).map(|_| self.fresh(x[0].shape.with_batch(batch))).collect();
        self.hold(&x[0].shape.ring, beside);
        results
    }

    fn linear_combination(&self, x: &[&NullPoly], constants: &[Vec<u64>]) -> NullPoly {
        let batch = x.iter().map(|x| x.shape.batch).max().expect("a combination has a term");
        let default = || composites::linear_combination(self, x, constants);
        self.with_body(self.footprint.linear_combination(), x[0].shape.with_batch(batch), default)
    }

    fn matrix_product(&self, x: &NullPoly, matrix: &IntegerMatrix) -> NullPoly {
        let shape = x.shape.with_batch(x.shape.batch / matrix.columns() * matrix.rows());
        let default = || composites::matrix_product(self, x, matrix);
        self.with_body(self.footprint.matrix_product(), shape, default)
    }
}

/// A call in shapes.
fn key_switch<'a>(
    c: &'a NullPoly,
    key: &'a GadgetKey<NullPoly>,
    onto: [Option<&NullPoly>; 2],
    to: Basis,
) -> KeySwitch<'a> {
    let batch = broadcast(&c.shape, &key.pairs[0][0].shape);
    KeySwitch { c: &c.shape, digits: &key.digits, special: key.special, batch, onto: onto.map(|x| x.is_some()), to }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::Footprint;
    use limbwise_math::prime::ntt_primes_below;

    #[test]
    fn meter_follows_sharing() {
        let dev = Null::default();
        let primes = ntt_primes_below(10, 40, 4, &[]).unwrap();
        let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
        let limb = 8 << 10;
        let a = dev.zeros(&Shape::eval(&ring, ring.full()));
        assert_eq!(dev.meter().live_bytes(), 4 * limb);
        let view = dev.restrict(&a, Basis::range(1, 3));
        assert_eq!(dev.meter().live_bytes(), 4 * limb);
        drop(a);
        assert_eq!(dev.meter().live_bytes(), 2 * limb);
        let shared = view.clone();
        let coeff = dev.intt(view);
        assert_eq!(dev.meter().live_bytes(), 4 * limb); // not unique: rows of its own
        drop(shared);
        let coeff = dev.neg(coeff);
        assert_eq!(dev.meter().live_bytes(), 2 * limb); // unique: in place
        let wide = dev.join(&[&coeff, &dev.basis_convert(&coeff, Basis::single(0))]);
        drop(coeff);
        assert_eq!((dev.meter().live_bytes(), dev.meter().peak_bytes()), (3 * limb, 4 * limb));
        let both = dev.stack(&[&wide, &wide]);
        assert_eq!(dev.split(&both, 1, 2).shape(), wide.shape());
    }

    #[test]
    fn default_bodies_are_counted_as_they_run() {
        let dev = Null::default();
        let primes = ntt_primes_below(10, 40, 6, &[]).unwrap();
        let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
        let peak = |run: &dyn Fn()| {
            dev.meter.peak.store(0, Ordering::Relaxed);
            run();
            (dev.meter().peak_bytes() - dev.meter().live_bytes()) / (8 << 10)
        };
        let (chain, special) = (Basis::range(0, 4), Basis::range(4, 6));
        let a = dev.zeros(&Shape::eval(&ring, chain));
        let wide = dev.zeros(&Shape::eval(&ring, ring.full()));
        let digits = vec![Basis::range(0, 2), Basis::range(2, 4)];
        let key =
            GadgetKey { digits, special, pairs: vec![[wide.clone(), wide.clone()], [wide.clone(), wide.clone()]] };
        // Four rows per digit beyond those of `a`, with the coefficients in between.
        assert_eq!(peak(&|| drop(dev.mod_up(&a, &key.digits, ring.full()))), 2 * 4 + 4);
        // Both halves over QP while one is divided: with few digits that exceeds both halves with the digits.
        assert_eq!(peak(&|| drop(dev.key_switch(&a, &key))), 2 * 6 + 10);
        // The remainder, its conversion, and the difference.
        assert_eq!(peak(&|| drop(dev.mod_down(&wide, chain))), 2 + 4 + 4);
    }

    /// What a footprint names is taken instead.
    #[test]
    fn forms_of_its_own_hold_what_they_say() {
        #[derive(Debug)]
        struct Fused;
        impl Footprint for Fused {
            fn mod_down(&self, _: &Shape, _: Basis) -> Body {
                Body::Own { beside: 7 }
            }
        }
        let dev = Null::of(Arc::new(Fused));
        let primes = ntt_primes_below(10, 40, 6, &[]).unwrap();
        let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
        let wide = dev.zeros(&Shape::eval(&ring, ring.full()));
        drop(dev.mod_down(&wide, Basis::range(0, 4)));
        assert_eq!(dev.meter().peak_bytes(), (6 + 4 + 7) * (8 << 10));
    }
}
