//! Two devices share one program: each operation is done by one of them, as a placement says, and a value moves to the other
//! when it is first wanted there.
//!
//! Values are the same residues wherever they are, so what comes out does not depend on the placement. LWE ciphertexts stay
//! on the host.

use crate::{
    lwe::{Gadget, LweFill, LweShape, Rounding},
    ops::{Device, Fault, Fill, Handle, HostRead, Role},
    ring::{Basis, Ring, RingError, RingSpec, Shape},
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The device that has everything.
    Host,
    /// The other.
    Device,
}

/// An operation that is to be placed.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its name in the seam.
    pub op: &'static str,
    /// Shape of its first operand, or of its result where it has none.
    pub shape: &'a Shape,
    /// Bytes of operands that would have to be sent to the device, and fetched from it, for it to be done there and here.
    pub missing_bytes: [u64; 2],
}

/// Who does what: anything that decides on a request.
pub type Place = Box<dyn Fn(&Request<'_>) -> Side + Send + Sync>;

/// What has been done where, and what was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Operations on the host, and on the device.
    pub operations: [u64; 2],
    /// Bytes sent to the device, and fetched.
    pub moved_bytes: [u64; 2],
}

/// A host and a device.
pub struct Hybrid<H, D> {
    host: H,
    device: D,
    place: Place,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shares: Shares,
    fault: Option<Fault>,
}

/// A polynomial that is on either side, or on both.
#[derive(Clone, Debug)]
pub struct Either<P, Q> {
    shape: Shape,
    copies: Arc<Mutex<Copies<P, Q>>>,
}

#[derive(Debug)]
struct Copies<P, Q> {
    host: Option<P>,
    device: Option<Q>,
}

impl<P: Handle, Q: Handle> Handle for Either<P, Q> {
    fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl<P, Q> Either<P, Q> {
    fn new(shape: Shape, host: Option<P>, device: Option<Q>) -> Self {
        Self { shape, copies: Arc::new(Mutex::new(Copies { host, device })) }
    }

    fn copies(&self) -> MutexGuard<'_, Copies<P, Q>> {
        lock(&self.copies)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<H: fmt::Debug, D: fmt::Debug> fmt::Debug for Hybrid<H, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hybrid").field("host", &self.host).field("device", &self.device).finish_non_exhaustive()
    }
}

type EitherOf<H, D> = Either<<H as Device>::Poly, <D as Device>::Poly>;

impl<H: HostRead, D: HostRead> Hybrid<H, D> {
    /// Both under a placement.
    #[must_use]
    pub fn new(host: H, device: D, place: Place) -> Self {
        Self { host, device, place, state: Mutex::default() }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// What has been done where so far.
    #[must_use]
    pub fn shares(&self) -> Shares {
        lock(&self.state).shares
    }

    fn fail(&self, fault: Fault, words: usize) -> Vec<u64> {
        lock(&self.state).fault.get_or_insert(fault);
        vec![0; words]
    }

    /// Its handle on the host, fetched if it is not there.
    fn on_host(&self, a: &EitherOf<H, D>) -> H::Poly {
        let mut copies = a.copies();
        if let (None, Some(there)) = (&copies.host, &copies.device) {
            let words = self.device.download(there).unwrap_or_else(|fault| self.fail(fault, words(&a.shape)));
            copies.host = Some(uploaded(&self.host, &a.shape, &words));
            lock(&self.state).shares.moved_bytes[1] += a.shape.bytes();
        }
        copies.host.clone().expect("a value is somewhere")
    }

    /// Its handle on the device, sent if it is not there.
    fn on_device(&self, a: &EitherOf<H, D>) -> D::Poly {
        let mut copies = a.copies();
        if let (Some(here), None) = (&copies.host, &copies.device) {
            let words = self.host.download(here).unwrap_or_else(|fault| self.fail(fault, words(&a.shape)));
            copies.device = Some(uploaded(&self.device, &a.shape, &words));
            lock(&self.state).shares.moved_bytes[0] += a.shape.bytes();
        }
        copies.device.clone().expect("a value is somewhere")
    }

    fn side(&self, op: &'static str, operands: &[&EitherOf<H, D>]) -> Side {
        let mut missing_bytes = [0; 2];
        for operand in operands {
            let copies = operand.copies();
            let absent = [copies.device.is_none(), copies.host.is_none()];
            missing_bytes
                .iter_mut()
                .zip(absent)
                .filter(|(_, absent)| *absent)
                .for_each(|(b, _)| *b += operand.shape.bytes());
        }
        let Some(first) = operands.first() else { return Side::Host };
        self.chosen(&Request { op, shape: &first.shape, missing_bytes })
    }

    fn chosen(&self, request: &Request<'_>) -> Side {
        let side = (self.place)(request);
        lock(&self.state).shares.operations[usize::from(side == Side::Device)] += 1;
        side
    }

    /// An operation where it is placed.
    fn placed(
        &self,
        op: &'static str,
        operands: &[&EitherOf<H, D>],
        host: impl FnOnce(&H, Vec<H::Poly>) -> H::Poly,
        device: impl FnOnce(&D, Vec<D::Poly>) -> D::Poly,
    ) -> EitherOf<H, D> {
        match self.side(op, operands) {
            Side::Host => here(host(&self.host, operands.iter().map(|a| self.on_host(a)).collect())),
            Side::Device => there(device(&self.device, operands.iter().map(|a| self.on_device(a)).collect())),
        }
    }

    /// The same for an operation that takes its operand away, so that it may work in its memory.
    fn consuming(
        &self,
        op: &'static str,
        a: EitherOf<H, D>,
        host: impl FnOnce(&H, H::Poly) -> H::Poly,
        device: impl FnOnce(&D, D::Poly) -> D::Poly,
    ) -> EitherOf<H, D> {
        match self.side(op, &[&a]) {
            Side::Host => {
                let own = self.on_host(&a);
                drop(a);
                here(host(&self.host, own))
            }
            Side::Device => {
                let own = self.on_device(&a);
                drop(a);
                there(device(&self.device, own))
            }
        }
    }

    /// A view, which costs nothing where everything is already.
    fn viewed(
        &self,
        op: &'static str,
        operands: &[&EitherOf<H, D>],
        host: impl FnOnce(&H, Vec<H::Poly>) -> H::Poly,
        device: impl FnOnce(&D, Vec<D::Poly>) -> D::Poly,
    ) -> EitherOf<H, D> {
        let all_there = operands.iter().all(|a| a.copies().device.is_some());
        let all_here = operands.iter().all(|a| a.copies().host.is_some());
        match (all_here, all_there) {
            (_, true) => there(device(&self.device, operands.iter().map(|a| self.on_device(a)).collect())),
            (true, false) => here(host(&self.host, operands.iter().map(|a| self.on_host(a)).collect())),
            (false, false) => self.placed(op, operands, host, device),
        }
    }
}

fn here<P: Handle, Q>(a: P) -> Either<P, Q> {
    Either::new(a.shape().clone(), Some(a), None)
}

fn there<P, Q: Handle>(a: Q) -> Either<P, Q> {
    Either::new(a.shape().clone(), None, Some(a))
}

fn words(shape: &Shape) -> usize {
    shape.rows() * shape.ring.n()
}

/// Words as a device reads them.
fn uploaded<D: Device>(dev: &D, shape: &Shape, words: &[u64]) -> D::Poly {
    let (n, limbs) = (shape.ring.n(), shape.basis.len());
    dev.upload(shape, Role::Temporary, &|at, row| {
        let limb = shape.basis.position(at.prime).expect("a prime of the basis");
        row.copy_from_slice(&words[(at.batch * limbs + limb) * n..][..n]);
    })
}

impl<H: HostRead, D: HostRead> Device for Hybrid<H, D> {
    type Poly = EitherOf<H, D>;
    type Lwe = H::Lwe;

    fn name(&self) -> String {
        format!("{} with {}", self.host.name(), self.device.name())
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        self.device.ring(spec)?;
        self.host.ring(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        self.host.sync()?;
        self.device.sync()?;
        lock(&self.state).fault.take().map_or(Ok(()), Err)
    }

    fn scrub(&self) {
        self.host.scrub();
        self.device.scrub();
    }

    fn upload(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> Self::Poly {
        here(self.host.upload(shape, role, fill))
    }

    fn zeros(&self, shape: &Shape) -> Self::Poly {
        match self.chosen(&Request { op: "zeros", shape, missing_bytes: [0; 2] }) {
            Side::Host => here(self.host.zeros(shape)),
            Side::Device => there(self.device.zeros(shape)),
        }
    }

    fn copy(&self, a: &Self::Poly) -> Self::Poly {
        self.placed("copy", &[a], |h, x| h.copy(&x[0]), |d, x| d.copy(&x[0]))
    }

    fn expand_seed(&self, shape: &Shape, role: Role, seed: &Seed) -> Self::Poly {
        here(self.host.expand_seed(shape, role, seed))
    }

    fn restrict(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.viewed("restrict", &[a], |h, x| h.restrict(&x[0], to), |d, x| d.restrict(&x[0], to))
    }

    fn join(&self, parts: &[&Self::Poly]) -> Self::Poly {
        self.viewed("join", parts, |h, x| h.join(&refs(&x)), |d, x| d.join(&refs(&x)))
    }

    fn stack(&self, parts: &[&Self::Poly]) -> Self::Poly {
        self.viewed("stack", parts, |h, x| h.stack(&refs(&x)), |d, x| d.stack(&refs(&x)))
    }

    fn split(&self, a: &Self::Poly, from: usize, to: usize) -> Self::Poly {
        self.viewed("split", &[a], |h, x| h.split(&x[0], from, to), |d, x| d.split(&x[0], from, to))
    }

    fn add(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.placed("add", &[a, b], |h, x| h.add(&x[0], &x[1]), |d, x| d.add(&x[0], &x[1]))
    }

    fn sub(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.placed("sub", &[a, b], |h, x| h.sub(&x[0], &x[1]), |d, x| d.sub(&x[0], &x[1]))
    }

    fn neg(&self, a: Self::Poly) -> Self::Poly {
        self.consuming("neg", a, H::neg, D::neg)
    }

    fn mul(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.placed("mul", &[a, b], |h, x| h.mul(&x[0], &x[1]), |d, x| d.mul(&x[0], &x[1]))
    }

    fn mul_acc(&self, acc: &mut Self::Poly, a: &Self::Poly, b: &Self::Poly) {
        match self.side("mul_acc", &[acc, a, b]) {
            Side::Host => {
                let (mut sum, a, b) = (self.on_host(acc), self.on_host(a), self.on_host(b));
                *acc = Either::new(acc.shape.clone(), None, None);
                self.host.mul_acc(&mut sum, &a, &b);
                *acc = here(sum);
            }
            Side::Device => {
                let (mut sum, a, b) = (self.on_device(acc), self.on_device(a), self.on_device(b));
                *acc = Either::new(acc.shape.clone(), None, None);
                self.device.mul_acc(&mut sum, &a, &b);
                *acc = there(sum);
            }
        }
    }

    fn scale_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly {
        self.consuming("scale_limbs", a, |h, a| h.scale_limbs(a, constants), |d, a| d.scale_limbs(a, constants))
    }

    fn shift_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly {
        self.consuming("shift_limbs", a, |h, a| h.shift_limbs(a, constants), |d, a| d.shift_limbs(a, constants))
    }

    fn ntt(&self, a: Self::Poly) -> Self::Poly {
        self.consuming("ntt", a, H::ntt, D::ntt)
    }

    fn intt(&self, a: Self::Poly) -> Self::Poly {
        self.consuming("intt", a, H::intt, D::intt)
    }

    fn automorphism(&self, a: &Self::Poly, g: GaloisElement) -> Self::Poly {
        self.placed("automorphism", &[a], |h, x| h.automorphism(&x[0], g), |d, x| d.automorphism(&x[0], g))
    }

    fn basis_convert(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.placed("basis_convert", &[a], |h, x| h.basis_convert(&x[0], to), |d, x| d.basis_convert(&x[0], to))
    }

    fn reduce(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.placed("reduce", &[a], |h, x| h.reduce(&x[0], to), |d, x| d.reduce(&x[0], to))
    }

    fn monomial_mul(&self, a: &Self::Poly, exponents: &Self::Lwe, word: usize) -> Self::Poly {
        here(self.host.monomial_mul(&self.on_host(a), exponents, word))
    }

    fn decompose(&self, a: &Self::Poly, gadget: Gadget) -> Self::Poly {
        self.placed("decompose", &[a], |h, x| h.decompose(&x[0], gadget), |d, x| d.decompose(&x[0], gadget))
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> Self::Lwe {
        self.host.upload_lwe(shape, role, fill)
    }

    fn lwe_stack(&self, parts: &[&Self::Lwe]) -> Self::Lwe {
        self.host.lwe_stack(parts)
    }

    fn lwe_split(&self, a: &Self::Lwe, from: usize, to: usize) -> Self::Lwe {
        self.host.lwe_split(a, from, to)
    }

    fn lwe_add(&self, a: &Self::Lwe, b: &Self::Lwe) -> Self::Lwe {
        self.host.lwe_add(a, b)
    }

    fn lwe_scale(&self, a: &Self::Lwe, c: u64) -> Self::Lwe {
        self.host.lwe_scale(a, c)
    }

    fn lwe_shift(&self, a: &Self::Lwe, constants: &[u64]) -> Self::Lwe {
        self.host.lwe_shift(a, constants)
    }

    fn lwe_mod_switch(&self, a: &Self::Lwe, to: u64, rounding: Rounding) -> Self::Lwe {
        self.host.lwe_mod_switch(a, to, rounding)
    }

    fn lwe_decompose(&self, a: &Self::Lwe, gadget: Gadget) -> Self::Lwe {
        self.host.lwe_decompose(a, gadget)
    }

    fn lwe_product(&self, a: &Self::Lwe, rows: &Self::Lwe) -> Self::Lwe {
        self.host.lwe_product(a, rows)
    }

    fn sample_extract(&self, glwe: &[&Self::Poly], at: &[usize]) -> Self::Lwe {
        let parts: Vec<H::Poly> = glwe.iter().map(|a| self.on_host(a)).collect();
        self.host.sample_extract(&refs(&parts), at)
    }

    fn lwe_embed(&self, a: &Self::Lwe, ring: &Ring, basis: Basis, part: usize) -> Self::Poly {
        here(self.host.lwe_embed(a, ring, basis, part))
    }
}

fn refs<T>(items: &[T]) -> Vec<&T> {
    items.iter().collect()
}

impl<H: HostRead, D: HostRead> HostRead for Hybrid<H, D> {
    fn download(&self, a: &Self::Poly) -> Result<Vec<u64>, Fault> {
        self.host.download(&self.on_host(a))
    }

    fn download_lwe(&self, a: &Self::Lwe) -> Result<Vec<u64>, Fault> {
        self.host.download_lwe(a)
    }
}
