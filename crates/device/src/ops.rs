//! The operations a device offers: the whole vocabulary in which schemes are written.
//!
//! There are two layers, each a list of rows in [`table`](crate::table). *Primitives* have no default body;
//! *composites* have one, written in primitives in [`composites`]. A device that fuses a composite must return the same
//! residues. All residues are canonical, in [0, q), in every handle.
//!
//! Contracts (tested by [`Checked`](crate::Checked); a violation is a bug and panics): operands share a ring; their
//! bases and domains are as each operation states; a batch of one broadcasts against any batch.
//!
//! Memory: a handle counts references to its rows, one row per limb and batch entry. Structure operations are views. An
//! operation that takes a handle by value works in place on rows that no other handle shares, and otherwise allocates;
//! an operation that takes references allocates its result.

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

/// Identity of an evaluation key, numbered by its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub u32);

/// The purpose of a value, by which costs and plans classify it.
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
    /// Any other value.
    Temporary,
}

/// A failure of the machine, not of the program. It is sticky: the next [`Device::sync`] or download reports it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A buffer could not be allocated.
    #[error("{device} has no memory for {bytes} bytes more: choose a smaller program or another device")]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes requested.
        bytes: u64,
    },
    /// Any other failure.
    #[error("{device} failed: {what}")]
    Failed {
        /// Name of the device.
        device: String,
        /// Message of the device.
        what: String,
    },
}

/// The row that a [`Fill`] writes.
#[derive(Clone, Copy, Debug)]
pub struct RowAt {
    /// Index within the batch.
    pub batch: usize,
    /// Index of the prime in the ring's list.
    pub prime: usize,
    /// Modulus of that prime.
    pub modulus: Modulus,
}

/// Writes one row of N canonical residues: coefficients in natural order, or values in bit-reversed order. Called once
/// per row, from any thread, in any order; a device that holds no words never calls it.
pub type Fill<'a> = &'a (dyn Fn(RowAt, &mut [u64]) + Sync);

/// A polynomial on a device, usable from any thread.
pub trait Handle: Clone + Send + Sync {
    /// Shape of the polynomial.
    fn shape(&self) -> &Shape;
}

/// A gadget encryption by RNS digits, restricted to the limbs in use: pair i encrypts
/// `P·(Q/Q_i)·[(Q/Q_i)^{-1}]_{Q_i}·s'`.
#[derive(Clone, Debug)]
pub struct GadgetKey<P> {
    /// The digits, a partition of the ciphertext's basis Q.
    pub digits: Vec<Basis>,
    /// The special primes P.
    pub special: Basis,
    /// `[b_i, a_i]` over QP in evaluation domain, one pair per digit.
    pub pairs: Vec<[P; 2]>,
}

/// A rotation of a ciphertext: its Galois element, and the key from the rotated secret back to the secret.
#[derive(Clone, Debug)]
pub struct Rotation<P> {
    /// The automorphism `X → X^g`.
    pub galois: GaloisElement,
    /// The key of `σ(s)`.
    pub key: GadgetKey<P>,
}

/// A factor of [`Device::weighted_sums`].
#[derive(Debug)]
pub enum Weight<'a, P> {
    /// Over the basis of the other factor, in evaluation domain.
    Values(&'a P),
    /// One limb of coefficients, extended during the operation.
    OneLimb(&'a P),
    /// The operand is added as it is.
    One,
}

impl<'a, P> Weight<'a, P> {
    /// The polynomial that it is given as.
    #[must_use]
    pub fn poly(self) -> Option<&'a P> {
        match self {
            Self::Values(poly) | Self::OneLimb(poly) => Some(poly),
            Self::One => None,
        }
    }
}

/// The terms of one sum: index of the operand, and its weight.
pub type Terms<'a, P> = Vec<(usize, Weight<'a, P>)>;

impl<P> Clone for Weight<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Weight<'_, P> {}

/// Declares methods without a body.
macro_rules! primitives {
    ($($(#[$doc:meta])+ $_op:ident = $_kind:ident $name:ident($($arg:ident: $type:tt),*) -> $result:tt $([$_kept:ident])?: $_shape:expr;)+) => {
        $($(#[$doc])+ fn $name(&self, $($arg: seam_type!($type)),*) -> seam_type!($result);)+
    };
}

/// Declares methods whose body is a function of [`composites`].
macro_rules! composites {
    ($($(#[$doc:meta])+ $name:ident($($arg:ident: $type:tt),*) -> $result:tt;)+) => {
        $($(#[$doc])+ fn $name(&self, $($arg: seam_type!($type)),*) -> seam_type!($result) {
            composites::$name(self, $($arg),*)
        })+
    };
}

/// A device: ring arithmetic on opaque polynomials. Any number of threads may use one device at a time; results do not
/// depend on other threads.
pub trait Device: Send + Sync {
    /// A polynomial: `batch × limbs × N` words on the device.
    type Poly: Handle;

    /// LWE ciphertexts: `batch × (dimension + 1)` words of any modulus.
    type Lwe: LweHandle;

    /// Short description for reports.
    fn name(&self) -> String;

    /// Opens a ring; cheap if it is already open.
    ///
    /// # Errors
    /// [`RingError`] for a bad specification or a prime this device cannot compute with.
    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError>;

    /// Waits for all queued work.
    ///
    /// # Errors
    /// The first [`Fault`] since the last call.
    fn sync(&self) -> Result<(), Fault>;

    /// Overwrites the memory of all polynomials that no handle holds. Called after secrets were in them.
    fn scrub(&self) {}

    /// Opens a region of the program: the operations that follow belong to it until the guard is dropped.
    fn region(&self, _region: impl Into<Region>, _index: u32) -> OpenRegion<'_> {
        OpenRegion::none()
    }

    /// The open regions of the calling thread, outermost first, on devices that track them; otherwise empty.
    fn regions(&self) -> Vec<(Region, u32)> {
        Vec::new()
    }

    /// Says that the operations until the guard is dropped are the program as it is recorded, without keys, encryption
    /// and decryption. A device that divides a recorded program follows its placement from here on.
    fn evaluation(&self) -> OpenRegion<'_> {
        OpenRegion::none()
    }

    for_each_primitive!(primitives);

    for_each_composite!(composites);
}

/// Reading words back. A recorder cannot do it, so the compiler checks whether an algorithm can be recorded.
pub trait HostRead: Device {
    /// All words, batch-major, then in limb order: coefficients in natural order, values in bit-reversed order.
    ///
    /// # Errors
    /// A sticky [`Fault`].
    fn download(&self, a: &Self::Poly) -> Result<Vec<u64>, Fault>;

    /// Hands over each row of [`Self::download`] with its number: on several threads and in any order, where the device has
    /// threads, and without all words at a time.
    ///
    /// # Errors
    /// A sticky [`Fault`].
    fn each_row(&self, a: &Self::Poly, take: &(dyn Fn(usize, &[u64]) + Sync)) -> Result<(), Fault> {
        let words = self.download(a)?;
        words.chunks_exact(a.shape().ring.n()).enumerate().for_each(|(row, words)| take(row, words));
        Ok(())
    }

    /// All words, entry by entry: mask, then body.
    ///
    /// # Errors
    /// A sticky [`Fault`].
    fn download_lwe(&self, a: &Self::Lwe) -> Result<Vec<u64>, Fault>;
}

/// A device that holds no words: its values are declared by shape and role. Code that can only declare values has this
/// bound, so it does not compile for a device that would need the words:
///
/// ```compile_fail,E0277
/// use limbwise_device::{Device, Role, Shape, Wordless};
/// fn declared<D: Device>(dev: &D, shape: &Shape) -> D::Poly {
///     dev.declare(shape, Role::Ciphertext) // any device: one with words cannot do this
/// }
/// ```
pub trait Wordless: Device {
    /// A polynomial whose words are never read.
    fn declare(&self, shape: &Shape, role: Role) -> Self::Poly {
        self.upload(shape, role, &|_, _| unreachable!("a device without words fills none"))
    }

    /// LWE ciphertexts whose words are never read.
    fn declare_lwe(&self, shape: LweShape, role: Role) -> Self::Lwe {
        self.upload_lwe(shape, role, &|_, _| unreachable!("a device without words fills none"))
    }
}

/// The row of [`Device::expand_seed`] at (batch, prime): uniform in [0, q)^N, in the host's order.
pub fn expand_row(seed: &Seed, at: RowAt, out: &mut [u64]) {
    let mut context = b"limbwise expand_seed ".to_vec();
    context.extend((at.batch as u64).to_le_bytes());
    context.extend(at.modulus.value().to_le_bytes());
    Stream::new(seed, &context).uniform(at.modulus, out);
}

/// The batch size of a result of two operands, one of which may broadcast.
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

/// The shape of a join of limbs.
#[must_use]
pub fn joined<P: Handle>(parts: &[&P]) -> Shape {
    parts[0].shape().with_basis(parts.iter().map(|p| p.shape().basis).collect())
}

/// The shape of a concatenation of batches.
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

/// The shape of `samples` LWE samples per batch entry of a ciphertext of `components` polynomials.
#[must_use]
pub fn extracted(glwe: &Shape, components: usize, samples: usize) -> LweShape {
    let modulus = glwe.ring.moduli_of(glwe.basis)[0].value();
    LweShape { dimension: (components - 1) * glwe.ring.n(), modulus, batch: glwe.batch * samples }
}
