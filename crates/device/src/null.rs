//! The device that computes nothing: shapes and references only.
//!
//! Its handles share and release rows exactly as a real device's do, so the bytes its meter has seen alive are the bytes
//! a program needs. With the recorder around it, it turns a program into a graph without any polynomial memory.
//!
//! Composites hold what a device holds that works limb by limb (the recorder, which runs default bodies, sees those
//! instead). Beside the result, in rows of one limb:
//! - `mod_down`, `rescale`: for each batch entry the dropped limbs, and one row of wraps (how often a conversion's source
//!   modulus is contained in its sum) where there is a conversion ([`mod_down_rows`], [`rescale_rows`]);
//! - `mod_up`: for one batch entry at a time the limbs of its argument and a row of wraps a digit ([`mod_up_rows`]);
//! - `key_switch`, `key_switch_onto`: for one batch entry at a time the limbs of its argument, a row of wraps a digit, and
//!   for both halves the dropped limbs and a row of wraps ([`key_switch_rows`]); each thread has [`scratch_rows`] of its own, which no
//!   meter counts;
//! - `extend_limb`, `weighted_sums`: nothing; each thread has [`TOGETHER`] rows of its own for weights of one limb;
//! - `linear_combination`: nothing;
//! - `external_product`, `blind_rotate`: nothing; each thread has accumulators, digits and tiles of its own;
//! - `lwe_key_switch`: the digits.
//!
//! LWE ciphertexts count with all their words.

use crate::{
    for_each_primitive,
    lwe::{Gadget, Ggsw, LweFill, LweHandle, LweShape, LweSwitchKey, Rounding},
    ops::{Device, Fault, Fill, GadgetKey, Handle, Role, Terms, Wordless, broadcast},
    ring::{Basis, Domain, Ring, RingError, RingSpec, Shape},
    seam_type,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A device without words.
#[derive(Clone, Debug, Default)]
pub struct Null {
    meter: Arc<Meter>,
}

/// Bytes of rows that some handle holds.
#[derive(Debug, Default)]
pub struct Meter {
    live: AtomicU64,
    peak: AtomicU64,
}

impl Meter {
    /// Bytes alive now.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// Most bytes ever alive at once.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

/// Rows that `mod_down` holds beside its result.
#[must_use]
pub fn mod_down_rows(batch: usize, dropped: Basis) -> usize {
    batch * (dropped.len() + 1)
}

/// Rows that `rescale` holds beside its result: a single limb is lifted, not converted.
#[must_use]
pub fn rescale_rows(batch: usize, dropped: Basis) -> usize {
    if dropped.len() == 1 { batch } else { mod_down_rows(batch, dropped) }
}

/// Rows that `mod_up` of so many digits holds beside its results.
#[must_use]
pub fn mod_up_rows(basis: Basis, digits: usize) -> usize {
    basis.len() + digits
}

/// Rows that a key switch from `basis` to `to` holds beside its result.
#[must_use]
pub fn key_switch_rows<P>(basis: Basis, key: &GadgetKey<P>, to: Basis) -> usize {
    let dropped = (basis | key.special) - to;
    mod_up_rows(basis, key.digits.len()) + 2 * (dropped.len() + 1)
}

/// Limbs of its result that a key switch makes together, and weights of one limb that a sum takes together: more read
/// their operands less often, fewer stay in the cache.
pub const TOGETHER: usize = 3;

/// Rows that each thread holds in a key switch of so many digits.
#[must_use]
pub fn scratch_rows(digits: usize) -> usize {
    TOGETHER * digits
}

/// One row's share of the meter.
#[derive(Debug)]
struct Row {
    bytes: u64,
    meter: Arc<Meter>,
}

impl Drop for Row {
    fn drop(&mut self) {
        self.meter.live.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A polynomial without words.
#[derive(Clone, Debug)]
pub struct NullPoly {
    shape: Shape,
    rows: Vec<Arc<Row>>,
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
    _words: Arc<Row>,
}

impl LweHandle for NullLwe {
    fn lwe_shape(&self) -> LweShape {
        self.shape
    }
}

impl Null {
    fn fresh_lwe(&self, shape: LweShape) -> NullLwe {
        NullLwe { shape, _words: self.row(shape.bytes()) }
    }

    /// The meter of all polynomials of this device.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    fn row(&self, bytes: u64) -> Arc<Row> {
        let live = self.meter.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.meter.peak.fetch_max(live, Ordering::Relaxed);
        Arc::new(Row { bytes, meter: self.meter.clone() })
    }

    fn fresh(&self, shape: Shape) -> NullPoly {
        let bytes = 8 * shape.ring.n() as u64;
        let rows = (0..shape.rows()).map(|_| self.row(bytes)).collect();
        NullPoly { shape, rows }
    }

    /// A result, and for a moment so many rows beside it.
    fn beside(&self, shape: Shape, rows: usize) -> NullPoly {
        let bytes = 8 * shape.ring.n() as u64;
        let result = self.fresh(shape);
        self.hold(bytes, rows);
        result
    }

    /// So many rows for a moment.
    fn hold(&self, bytes: u64, rows: usize) {
        drop((0..rows).map(|_| self.row(bytes)).collect::<Vec<_>>());
    }

    /// The handle after an operation by value: rows that others hold are replaced.
    fn in_place(&self, mut a: NullPoly, shape: Shape) -> NullPoly {
        self.take_rows(&mut a.rows);
        a.shape = shape;
        a
    }

    /// Replaces rows that others hold.
    fn take_rows(&self, rows: &mut [Arc<Row>]) {
        for row in rows {
            if Arc::get_mut(row).is_none() {
                *row = self.row(row.bytes);
            }
        }
    }
}

/// The rows of the views' results, which are those of their operands.
mod views {
    use super::{Arc, Basis, NullPoly, Row};

    pub(super) fn restrict(a: &NullPoly, to: Basis) -> Vec<Arc<Row>> {
        let limbs = a.shape.basis.len();
        let kept: Vec<usize> = to.iter().filter_map(|i| a.shape.basis.position(i)).collect();
        (0..a.shape.batch).flat_map(|b| kept.iter().map(move |l| a.rows[b * limbs + l].clone())).collect()
    }

    pub(super) fn join(parts: &[&NullPoly]) -> Vec<Arc<Row>> {
        let basis = parts.iter().fold(Basis::default(), |all, p| all | p.shape.basis);
        let mut rows = Vec::with_capacity(parts[0].shape.batch * basis.len());
        for b in 0..parts[0].shape.batch {
            for i in basis.iter() {
                let owner = parts.iter().find_map(|p| p.shape.basis.position(i).map(|at| (p, at)));
                rows.extend(owner.map(|(p, at)| p.rows[b * p.shape.basis.len() + at].clone()));
            }
        }
        rows
    }

    pub(super) fn stack(parts: &[&NullPoly]) -> Vec<Arc<Row>> {
        parts.iter().flat_map(|p| p.rows.iter().cloned()).collect()
    }

    pub(super) fn split(a: &NullPoly, from: usize, to: usize) -> Vec<Arc<Row>> {
        let limbs = a.shape.basis.len();
        a.rows[from * limbs..to * limbs].to_vec()
    }
}

/// What a primitive of a kind makes where there are no words: a shape, and rows of its own or others'.
macro_rules! made {
    (view (Poly), $_dev:ident.$name:ident($($arg:ident),+), $shape:expr) => {
        NullPoly { shape: $shape, rows: views::$name($($arg),+) }
    };
    (in_place (Poly), $dev:ident.$_name:ident($a:ident $(, $_arg:ident)*), $shape:expr) => {{
        let shape = $shape;
        $dev.in_place($a, shape)
    }};
    (in_place (), $dev:ident.$_name:ident($acc:ident $(, $_arg:ident)*), $_shape:expr) => {
        $dev.take_rows(&mut $acc.rows)
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
        let batch = test.shape.batch.max(exponents.shape.batch);
        (0..key.components()).map(|_| self.fresh(test.shape.with_batch(batch))).collect()
    }

    fn external_product(&self, c: &[&NullPoly], _key: &Ggsw<NullPoly>) -> Vec<NullPoly> {
        c.iter().map(|c| self.fresh(c.shape.clone())).collect()
    }

    fn lwe_key_switch(&self, a: &NullLwe, key: &LweSwitchKey<NullLwe>) -> NullLwe {
        let digits = self.lwe_decompose(a, key.gadget);
        self.lwe_product(&digits, &key.rows)
    }

    fn mod_up(&self, c: &NullPoly, digits: &[Basis], full: Basis) -> Vec<NullPoly> {
        let others = |own| self.fresh(c.shape.with_basis(full - own));
        let raised = digits.iter().map(|&own| self.join(&[&self.restrict(c, own), &others(own)])).collect();
        self.hold(8 * c.shape.ring.n() as u64, mod_up_rows(c.shape.basis, digits.len()));
        raised
    }

    fn mod_down(&self, a: &NullPoly, to: Basis) -> NullPoly {
        self.beside(a.shape.with_basis(to), mod_down_rows(a.shape.batch, a.shape.basis - to))
    }

    fn rescale(&self, a: &NullPoly, to: Basis) -> NullPoly {
        self.beside(a.shape.with_basis(to), rescale_rows(a.shape.batch, a.shape.basis - to))
    }

    fn key_switch(&self, c: &NullPoly, key: &GadgetKey<NullPoly>) -> [NullPoly; 2] {
        self.key_switch_onto(c, key, [None; 2], c.shape.basis)
    }

    fn key_switch_onto(
        &self,
        c: &NullPoly,
        key: &GadgetKey<NullPoly>,
        _onto: [Option<&NullPoly>; 2],
        to: Basis,
    ) -> [NullPoly; 2] {
        let shape = c.shape.with_batch(broadcast(&c.shape, &key.pairs[0][0].shape)).with_basis(to);
        let first = self.fresh(shape.clone());
        [first, self.beside(shape, key_switch_rows(c.shape.basis, key, to))]
    }

    fn extend_limb(&self, a: &NullPoly, to: Basis) -> NullPoly {
        self.fresh(a.shape.with_basis(to).with_domain(Domain::Eval))
    }

    fn weighted_sums(&self, x: &[NullPoly], sums: &[Terms<'_, NullPoly>]) -> Vec<NullPoly> {
        let like = |terms: &Terms<'_, NullPoly>| x[terms.first().expect("a sum has a term").0].shape.clone();
        sums.iter().map(|terms| self.fresh(like(terms))).collect()
    }

    fn linear_combination(&self, x: &[&NullPoly], _constants: &[Vec<u64>]) -> NullPoly {
        let batch = x.iter().map(|x| x.shape.batch).max().expect("a combination has a term");
        self.fresh(x[0].shape.with_batch(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Weight;
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
    fn composites_hold_what_they_say() {
        let dev = Null::default();
        let primes = ntt_primes_below(10, 40, 6, &[]).unwrap();
        let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
        let peak = |run: &dyn Fn()| {
            dev.meter.peak.store(0, Ordering::Relaxed);
            run();
            (dev.meter().peak_bytes() - dev.meter().live_bytes()) / (8 << 10)
        };
        let (chain, special) = (Basis::range(0, 4), Basis::range(4, 6));
        let a = dev.zeros(&Shape::eval(&ring, chain).with_batch(3));
        assert_eq!(peak(&|| drop(dev.rescale(&a, Basis::range(0, 3)))), 3 * (3 + 1));
        assert_eq!(peak(&|| drop(dev.rescale(&a, Basis::range(0, 2)))), 3 * (2 + 3));
        let wide = dev.zeros(&Shape::eval(&ring, ring.full()));
        assert_eq!(peak(&|| drop(dev.mod_down(&wide, chain))), 4 + 3);
        let digits = vec![Basis::range(0, 2), Basis::range(2, 4)];
        let key = GadgetKey { digits, special, pairs: vec![[wide.clone(), wide.clone()], [wide.clone(), wide]] };
        assert_eq!(peak(&|| drop(dev.key_switch(&a, &key))), 2 * 3 * 4 + 4 + 2 + 2 * 3);
        assert_eq!(peak(&|| drop(dev.mod_up(&a, &key.digits, ring.full()))), 3 * 2 * 4 + 4 + 2);
        let onto = [Some(&a), None];
        let merged = peak(&|| drop(dev.key_switch_onto(&a, &key, onto, Basis::range(0, 3))));
        assert_eq!(merged, 2 * 3 * 3 + 4 + 2 + 2 * (3 + 1));
        let limb = dev.intt(dev.restrict(&a, Basis::single(2)));
        assert_eq!(peak(&|| drop(dev.extend_limb(&limb, ring.full()))), 3 * 6);
        let sum = || vec![(0, Weight::OneLimb(&limb)), (0, Weight::Values(&a))];
        assert_eq!(peak(&|| drop(dev.weighted_sums(std::slice::from_ref(&a), &[sum(), sum()]))), 2 * 3 * 4);
        let (one, constants) = (dev.split(&a, 0, 1), vec![vec![1; 4]; 2]);
        assert_eq!(peak(&|| drop(dev.linear_combination(&[&one, &a], &constants))), 3 * 4);
    }
}
