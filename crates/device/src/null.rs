//! The device that computes nothing: shapes and references only.
//!
//! Its handles share and release rows exactly as a real device's do, so the bytes its meter has seen alive are the bytes
//! a program needs. With the recorder around it, it turns a program into a graph without any polynomial memory.

use crate::{
    ops::{Device, Fault, Fill, Handle, Role, broadcast, transformed},
    ring::{Basis, Domain, Ring, RingError, RingSpec, Shape},
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

impl Null {
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

    /// The handle after an operation by value: rows that others hold are replaced.
    fn in_place(&self, mut a: NullPoly, shape: Shape) -> NullPoly {
        for row in &mut a.rows {
            if Arc::get_mut(row).is_none() {
                *row = self.row(row.bytes);
            }
        }
        a.shape = shape;
        a
    }
}

impl Device for Null {
    type Poly = NullPoly;

    fn name(&self) -> String {
        "null".into()
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        Ring::new(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn upload(&self, shape: &Shape, _role: Role, _fill: Fill<'_>) -> NullPoly {
        self.fresh(shape.clone())
    }

    fn zeros(&self, shape: &Shape) -> NullPoly {
        self.fresh(shape.clone())
    }

    fn copy(&self, a: &NullPoly) -> NullPoly {
        self.fresh(a.shape.clone())
    }

    fn expand_seed(&self, shape: &Shape, _role: Role, _seed: &Seed) -> NullPoly {
        self.fresh(shape.clone())
    }

    fn restrict(&self, a: &NullPoly, to: Basis) -> NullPoly {
        let limbs = a.shape.basis.len();
        let kept: Vec<usize> = to.iter().filter_map(|i| a.shape.basis.position(i)).collect();
        let rows = (0..a.shape.batch).flat_map(|b| kept.iter().map(move |l| a.rows[b * limbs + l].clone())).collect();
        NullPoly { shape: a.shape.with_basis(to), rows }
    }

    fn join(&self, parts: &[&NullPoly]) -> NullPoly {
        let basis = parts.iter().fold(Basis::default(), |all, p| all | p.shape.basis);
        let shape = parts[0].shape.with_basis(basis);
        let mut rows = Vec::with_capacity(shape.rows());
        for b in 0..shape.batch {
            for i in basis.iter() {
                let owner = parts.iter().find_map(|p| p.shape.basis.position(i).map(|at| (p, at)));
                rows.extend(owner.map(|(p, at)| p.rows[b * p.shape.basis.len() + at].clone()));
            }
        }
        NullPoly { shape, rows }
    }

    fn stack(&self, parts: &[&NullPoly]) -> NullPoly {
        let batch = parts.iter().map(|p| p.shape.batch).sum();
        let rows = parts.iter().flat_map(|p| p.rows.iter().cloned()).collect();
        NullPoly { shape: parts[0].shape.with_batch(batch), rows }
    }

    fn split(&self, a: &NullPoly, from: usize, to: usize) -> NullPoly {
        let limbs = a.shape.basis.len();
        NullPoly { shape: a.shape.with_batch(to - from), rows: a.rows[from * limbs..to * limbs].to_vec() }
    }

    fn add(&self, a: &NullPoly, b: &NullPoly) -> NullPoly {
        self.fresh(a.shape.with_batch(broadcast(&a.shape, &b.shape)))
    }

    fn sub(&self, a: &NullPoly, b: &NullPoly) -> NullPoly {
        self.add(a, b)
    }

    fn neg(&self, a: NullPoly) -> NullPoly {
        let shape = a.shape.clone();
        self.in_place(a, shape)
    }

    fn mul(&self, a: &NullPoly, b: &NullPoly) -> NullPoly {
        self.add(a, b)
    }

    fn mul_acc(&self, acc: &mut NullPoly, _a: &NullPoly, _b: &NullPoly) {
        let shape = acc.shape.clone();
        let owned = NullPoly { shape: shape.clone(), rows: std::mem::take(&mut acc.rows) };
        *acc = self.in_place(owned, shape);
    }

    fn add_assign(&self, acc: &mut NullPoly, a: &NullPoly) {
        self.mul_acc(acc, a, a);
    }

    fn scale_limbs(&self, a: NullPoly, _constants: &[u64]) -> NullPoly {
        self.neg(a)
    }

    fn shift_limbs(&self, a: NullPoly, _constants: &[u64]) -> NullPoly {
        self.neg(a)
    }

    fn ntt(&self, a: NullPoly) -> NullPoly {
        let shape = transformed(&a.shape);
        self.in_place(a, shape)
    }

    fn intt(&self, a: NullPoly) -> NullPoly {
        self.ntt(a)
    }

    fn automorphism(&self, a: &NullPoly, _g: GaloisElement) -> NullPoly {
        self.fresh(a.shape.clone())
    }

    fn basis_convert(&self, a: &NullPoly, to: Basis) -> NullPoly {
        self.fresh(a.shape.with_basis(to).with_domain(Domain::Coeff))
    }

    fn reduce(&self, a: &NullPoly, to: Basis) -> NullPoly {
        self.basis_convert(a, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
