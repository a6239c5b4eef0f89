//! The operations a device offers: the whole vocabulary in which schemes are written.
//!
//! Two layers, each a list of rows in [`table`](crate::table). *Primitives* have no default body; *composites* have one,
//! written in primitives in [`composites`]. A device that fuses a composite must return the same residues. All residues
//! are canonical, in [0, q), wherever a handle ends.
//!
//! Contracts (tested by [`Checked`](crate::Checked), violated only by a bug, hence panics): operands share a ring; their
//! bases and domains are as each operation says; a batch of one broadcasts against any batch.
//!
//! Memory: a handle counts references to its rows (one row a limb and batch entry). Structure operations are views.
//! Operations that take a handle by value work in place on rows that no other handle holds, else they allocate; those
//! that take references allocate their result.

use crate::{
    composites, for_each_composite, for_each_primitive,
    lwe::{Gadget, LweFill, LweHandle, LweShape, Rounding},
    region::{OpenRegion, Region},
    ring::{Basis, Domain, Ring, RingError, RingSpec, Shape},
    seam_type,
};
use limbwise_math::{
    galois::GaloisElement,
    modulus::Modulus,
    sampling::{Seed, Stream},
};

/// Identity of an evaluation key, as its owner numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub u32);

/// What a value is for; costs and plans are told apart by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// Encrypted data.
    Ciphertext,
    /// Encoded clear data.
    Plaintext,
    /// Part of a public switching key.
    EvaluationKey(KeyId),
    /// Part of a bootstrapping key: GGSW encryptions of a secret's words.
    BootstrapKey(KeyId),
    /// Anything else.
    Temporary,
}

/// A failure of the machine, not of the program. Sticky: reported by the next [`Device::sync`] or download.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No memory for a buffer.
    #[error("{device} has no memory for {bytes} bytes more: choose a smaller program or another device")]
    OutOfMemory {
        /// The device.
        device: String,
        /// What was asked for.
        bytes: u64,
    },
    /// Anything else the device reports.
    #[error("{device} failed: {what}")]
    Failed {
        /// The device.
        device: String,
        /// Its words.
        what: String,
    },
}

/// Which row a [`Fill`] is asked for.
#[derive(Clone, Copy, Debug)]
pub struct RowAt {
    /// Index within the batch.
    pub batch: usize,
    /// Index of the prime in the ring's list.
    pub prime: usize,
    /// That prime.
    pub modulus: Modulus,
}

/// Writes one row of N canonical residues: coefficients in natural order, or values in bit-reversed order.
/// Called once a row, from any thread, in any order; never called by a device that holds no words.
pub type Fill<'a> = &'a (dyn Fn(RowAt, &mut [u64]) + Sync);

/// A polynomial on a device; any thread may hold it.
pub trait Handle: Clone + Send + Sync {
    /// Its shape.
    fn shape(&self) -> &Shape;
}

/// A gadget encryption by RNS digits, cut to the limbs in use: pair i encrypts `P·(Q/Q_i)·[(Q/Q_i)^{-1}]_{Q_i}·s'`.
#[derive(Clone, Debug)]
pub struct GadgetKey<P> {
    /// Live digits, a partition of the ciphertext's basis Q.
    pub digits: Vec<Basis>,
    /// The special primes P.
    pub special: Basis,
    /// `[b_i, a_i]` over QP, evaluation domain, one pair a digit.
    pub pairs: Vec<[P; 2]>,
}

/// A factor of [`Device::weighted_sums`].
#[derive(Debug)]
pub enum Weight<'a, P> {
    /// Values over the basis of what it multiplies, evaluation domain.
    Values(&'a P),
    /// One limb of coefficients, extended where it is used.
    OneLimb(&'a P),
}

/// The terms of one sum: which operand, times what.
pub type Terms<'a, P> = Vec<(usize, Weight<'a, P>)>;

impl<P> Clone for Weight<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Weight<'_, P> {}

/// Methods without a body.
macro_rules! primitives {
    ($($(#[$doc:meta])+ $_op:ident = $_kind:ident $name:ident($($arg:ident: $type:tt),*) -> $result:tt $([$_kept:ident])?: $_shape:expr;)+) => {
        $($(#[$doc])+ fn $name(&self, $($arg: seam_type!($type)),*) -> seam_type!($result);)+
    };
}

/// Methods whose body is a function of [`composites`].
macro_rules! composites {
    ($($(#[$doc:meta])+ $name:ident($($arg:ident: $type:tt),*) -> $result:tt;)+) => {
        $($(#[$doc])+ fn $name(&self, $($arg: seam_type!($type)),*) -> seam_type!($result) {
            composites::$name(self, $($arg),*)
        })+
    };
}

/// A device: ring arithmetic on opaque polynomials. Any number of threads may compute on one at a time; what they get
/// does not depend on the others.
pub trait Device: Send + Sync {
    /// A polynomial: `batch × limbs × N` words on the device.
    type Poly: Handle;

    /// LWE ciphertexts: `batch × (dimension + 1)` words of any modulus.
    type Lwe: LweHandle;

    /// The device in a few words, for reports.
    fn name(&self) -> String;

    /// Opens a ring; cheap when it is open already.
    ///
    /// # Errors
    /// [`RingError`] for a bad specification or a prime this device cannot compute with.
    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError>;

    /// Waits for all work.
    ///
    /// # Errors
    /// The first [`Fault`] since the last call.
    fn sync(&self) -> Result<(), Fault>;

    /// Overwrites the memory of all polynomials that no handle holds any more: called when secrets have been in them.
    fn scrub(&self) {}

    /// Opens a region of the program: what follows belongs to it until the guard is dropped.
    fn region(&self, _region: impl Into<Region>, _index: u32) -> OpenRegion<'_> {
        OpenRegion::none()
    }

    /// The regions that the calling thread has open, outermost first, where a device has been told to keep them.
    fn regions(&self) -> Vec<(Region, u32)> {
        Vec::new()
    }

    for_each_primitive!(primitives);

    for_each_composite!(composites);
}

/// Reading words back: what a recorder cannot do, so whether an algorithm can be recorded is checked by the compiler.
pub trait HostRead: Device {
    /// All words, batch-major then limb order: coefficients in natural order, values in bit-reversed order.
    ///
    /// # Errors
    /// A sticky [`Fault`].
    fn download(&self, a: &Self::Poly) -> Result<Vec<u64>, Fault>;

    /// All words, entry by entry: mask, then body.
    ///
    /// # Errors
    /// A sticky [`Fault`].
    fn download_lwe(&self, a: &Self::Lwe) -> Result<Vec<u64>, Fault>;
}

/// A device that holds no words: a value on it is declared, by shape and role. What can only be declared is bound by
/// this, so that it does not compile for a device that would have to fill the words:
///
/// ```compile_fail,E0277
/// use limbwise_device::{Device, Role, Shape, Wordless};
/// fn declared<D: Device>(dev: &D, shape: &Shape) -> D::Poly {
///     dev.declare(shape, Role::Ciphertext) // any device: one with words cannot do this
/// }
/// ```
pub trait Wordless: Device {
    /// A polynomial whose words nobody will ask for.
    fn declare(&self, shape: &Shape, role: Role) -> Self::Poly {
        self.upload(shape, role, &|_, _| unreachable!("a device without words fills none"))
    }

    /// LWE ciphertexts whose words nobody will ask for.
    fn declare_lwe(&self, shape: LweShape, role: Role) -> Self::Lwe {
        self.upload_lwe(shape, role, &|_, _| unreachable!("a device without words fills none"))
    }
}

/// The row that [`Device::expand_seed`] puts at (batch, prime): uniform in [0, q)^N, in the host's order.
pub fn expand_row(seed: &Seed, at: RowAt, out: &mut [u64]) {
    let mut context = b"limbwise expand_seed ".to_vec();
    context.extend((at.batch as u64).to_le_bytes());
    context.extend(at.modulus.value().to_le_bytes());
    Stream::new(seed, &context).uniform(at.modulus, out);
}

/// The batch of a result of two operands, one of which may broadcast.
///
/// # Panics
/// If neither equals the other nor is one.
#[must_use]
pub fn broadcast(a: &Shape, b: &Shape) -> usize {
    assert!(
        a.batch == b.batch || a.batch == 1 || b.batch == 1,
        "batches {} and {} do not go together",
        a.batch,
        b.batch
    );
    a.batch.max(b.batch)
}

/// The shape of a result of two operands, one of which may broadcast.
#[must_use]
pub fn together<P: Handle>(a: &P, b: &P) -> Shape {
    a.shape().with_batch(broadcast(a.shape(), b.shape()))
}

/// The shape of limbs side by side.
#[must_use]
pub fn joined<P: Handle>(parts: &[&P]) -> Shape {
    let basis = parts.iter().fold(Basis::default(), |all, p| all | p.shape().basis);
    parts[0].shape().with_basis(basis)
}

/// The shape of batches one after another.
#[must_use]
pub fn stacked<P: Handle>(parts: &[&P]) -> Shape {
    parts[0].shape().with_batch(parts.iter().map(|p| p.shape().batch).sum())
}

/// The shape of a value in the other domain.
#[must_use]
pub fn transformed(a: &Shape) -> Shape {
    a.with_domain(match a.domain {
        Domain::Coeff => Domain::Eval,
        Domain::Eval => Domain::Coeff,
    })
}

/// The shape of so many samples an entry of a ciphertext of `components` polynomials of a shape.
#[must_use]
pub fn extracted(glwe: &Shape, components: usize, samples: usize) -> LweShape {
    let modulus = glwe.ring.moduli_of(glwe.basis)[0].value();
    LweShape { dimension: (components - 1) * glwe.ring.n(), modulus, batch: glwe.batch * samples }
}
