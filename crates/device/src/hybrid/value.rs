//! Values of two devices: on one, on the other, on both, or a view of others that either device makes when it wants it.

use super::{Half, Hybrid, lock};
use crate::{
    lwe::{Ggsw, LweHandle, LweShape},
    ops::{Device, GadgetKey, Handle, HostRead, Role, Rotation, Terms, Weight},
    ring::{Basis, Shape},
};
use std::sync::{Arc, Mutex, MutexGuard};

/// A view, by what it does to its operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    Restrict(Basis),
    Join,
    Stack,
    Split(usize, usize),
}

/// A polynomial of two devices.
#[derive(Clone, Debug)]
pub struct Either<P, Q> {
    shape: Shape,
    copies: Arc<Mutex<Copies<P, Q>>>,
}

/// Where a value is. A view keeps its operands: they are moved once, however many views of them are wanted.
#[derive(Debug)]
struct Copies<P, Q> {
    home: Option<P>,
    away: Option<Q>,
    view: Option<(Vec<Either<P, Q>>, How)>,
}

impl<P: Handle, Q: Handle> Handle for Either<P, Q> {
    fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl<P, Q> Either<P, Q> {
    fn new(shape: Shape, copies: Copies<P, Q>) -> Self {
        Self { shape, copies: Arc::new(Mutex::new(copies)) }
    }

    pub(super) fn view(shape: Shape, of: Vec<Self>, how: How) -> Self {
        Self::new(shape, Copies { home: None, away: None, view: Some((of, how)) })
    }

    fn copies(&self) -> MutexGuard<'_, Copies<P, Q>> {
        lock(&self.copies)
    }

    /// Takes the value and leaves none, until the accumulation is done.
    pub(super) fn take(&mut self) -> Self {
        let nothing = Self::new(self.shape.clone(), Copies { home: None, away: None, view: None });
        std::mem::replace(self, nothing)
    }
}

/// LWE ciphertexts of two devices.
#[derive(Clone, Debug)]
pub struct EitherLwe<L, M> {
    shape: LweShape,
    copies: Arc<Mutex<(Option<L>, Option<M>)>>,
}

impl<L: Clone, M: Clone> LweHandle for EitherLwe<L, M> {
    fn lwe_shape(&self) -> LweShape {
        self.shape
    }
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

fn uploaded_lwe<D: Device>(dev: &D, shape: LweShape, words: &[u64]) -> D::Lwe {
    dev.upload_lwe(shape, Role::Temporary, &|entry, out| {
        out.copy_from_slice(&words[entry * shape.words()..][..shape.words()]);
    })
}

fn viewed<D: Device>(dev: &D, of: &[D::Poly], how: How) -> D::Poly {
    let all: Vec<&D::Poly> = of.iter().collect();
    match how {
        How::Restrict(to) => dev.restrict(all[0], to),
        How::Join => dev.join(&all),
        How::Stack => dev.stack(&all),
        How::Split(from, to) => dev.split(all[0], from, to),
    }
}

/// A weight of [`Device::weighted_sums`] that owns its value.
pub(super) enum Owned<P> {
    Values(P),
    OneLimb(P),
    One,
}

/// Generates both halves: the same code with home and away exchanged.
macro_rules! half {
    ($name:ident, $at:ident, $own:ident, $other:ident, $device:ident, $here:tt, $there:tt, $half:expr, [$first:ident, $second:ident]) => {
        /// The values of a hybrid as one of its devices has them.
        pub(super) struct $name<'h, H, D>(&'h Hybrid<H, D>);

        impl<H: HostRead, D: HostRead> Hybrid<H, D> {
            pub(super) fn $at(&self) -> $name<'_, H, D> {
                $name(self)
            }
        }

        impl<H: HostRead, D: HostRead> $name<'_, H, D> {
            /// The device's handle of a value, moved there if it is not.
            pub(super) fn of(&self, a: &Either<H::Poly, D::Poly>) -> $device::Poly {
                let mut copies = a.copies();
                let copies = &mut *copies;
                if copies.$own.is_none() {
                    copies.$own = Some(match (&copies.view, &copies.$other) {
                        (Some((of, how)), _) => {
                            let of: Vec<$device::Poly> = of.iter().map(|p| self.of(p)).collect();
                            viewed(&self.0.$own, &of, *how)
                        }
                        (None, Some(there)) => {
                            let read = self.0.$other.download(there);
                            let read = read.unwrap_or_else(|fault| self.0.fail(fault, words(&a.shape)));
                            self.0.moved($half, a.shape.bytes());
                            uploaded(&self.0.$own, &a.shape, &read)
                        }
                        (None, None) => unreachable!("a value is somewhere"),
                    });
                }
                copies.$own.clone().expect("it was made")
            }

            /// The same of a value that is given away, so that the device may work in its rows.
            pub(super) fn own(&self, a: Either<H::Poly, D::Poly>) -> $device::Poly {
                self.of(&a)
            }

            pub(super) fn lwe(&self, a: &EitherLwe<H::Lwe, D::Lwe>) -> $device::Lwe {
                let mut copies = lock(&a.copies);
                if let (None, Some(there)) = (&copies.$here, &copies.$there) {
                    let words = a.shape.batch * a.shape.words();
                    let read = self.0.$other.download_lwe(there).unwrap_or_else(|fault| self.0.fail(fault, words));
                    self.0.moved($half, a.shape.bytes());
                    copies.$here = Some(uploaded_lwe(&self.0.$own, a.shape, &read));
                }
                copies.$here.clone().expect("LWE ciphertexts are somewhere")
            }

            pub(super) fn made(&self, $own: $device::Poly) -> Either<H::Poly, D::Poly> {
                let shape = $own.shape().clone();
                Either::new(shape, Copies { $own: Some($own), $other: None, view: None })
            }

            pub(super) fn made_lwe(&self, $own: $device::Lwe) -> EitherLwe<H::Lwe, D::Lwe> {
                let (shape, $own, $other) = ($own.lwe_shape(), Some($own), None);
                EitherLwe { shape, copies: Arc::new(Mutex::new(($first, $second))) }
            }

            pub(super) fn gadget_key(&self, key: &GadgetKey<Either<H::Poly, D::Poly>>) -> GadgetKey<$device::Poly> {
                let pairs = key.pairs.iter().map(|pair| pair.each_ref().map(|p| self.of(p))).collect();
                GadgetKey { digits: key.digits.clone(), special: key.special, pairs }
            }

            pub(super) fn rotation(&self, of: &Rotation<Either<H::Poly, D::Poly>>) -> Rotation<$device::Poly> {
                Rotation { galois: of.galois, key: self.gadget_key(&of.key) }
            }

            pub(super) fn ggsw(&self, key: &Ggsw<Either<H::Poly, D::Poly>>) -> Ggsw<$device::Poly> {
                let rows = key.rows.iter().map(|row| row.iter().map(|p| self.of(p)).collect()).collect();
                Ggsw { gadget: key.gadget, rows }
            }

            pub(super) fn weights(
                &self,
                sums: &[Terms<'_, Either<H::Poly, D::Poly>>],
            ) -> Vec<Vec<(usize, Owned<$device::Poly>)>> {
                let weight = |weight: &Weight<'_, Either<H::Poly, D::Poly>>| match weight {
                    Weight::Values(p) => Owned::Values(self.of(p)),
                    Weight::OneLimb(p) => Owned::OneLimb(self.of(p)),
                    Weight::One => Owned::One,
                };
                sums.iter().map(|sum| sum.iter().map(|(i, of)| (*i, weight(of))).collect()).collect()
            }

            pub(super) fn terms<'w>(
                &self,
                sums: &'w [Vec<(usize, Owned<$device::Poly>)>],
            ) -> Vec<Terms<'w, $device::Poly>> {
                let weight = |weight: &'w Owned<$device::Poly>| match weight {
                    Owned::Values(p) => Weight::Values(p),
                    Owned::OneLimb(p) => Weight::OneLimb(p),
                    Owned::One => Weight::One,
                };
                sums.iter().map(|sum| sum.iter().map(|(i, of)| (*i, weight(of))).collect()).collect()
            }
        }
    };
}

half!(AtHome, at_home, home, away, H, 0, 1, Half::Away, [home, away]);
half!(AtAway, at_away, away, home, D, 1, 0, Half::Home, [home, away]);
