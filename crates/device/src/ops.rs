//! The operations a device offers: the whole vocabulary in which schemes are written.
//!
//! Two layers. *Primitives* have no default body (but `add_assign`); *composites* have one, written in primitives in
//! [`composites`]. A device that fuses a composite must return the same residues. All residues
//! are canonical, in [0, q), wherever a handle ends.
//!
//! Contracts (tested by [`Checked`](crate::Checked), violated only by a bug, hence panics): operands share a ring; their
//! bases and domains are as each operation says; a batch of one broadcasts against any batch.
//!
//! Memory: a handle counts references to its rows (one row a limb and batch entry). Structure operations are views.
//! Operations that take a handle by value work in place on rows that no other handle holds, else they allocate; those
//! that take references allocate their result.

use crate::{
    composites,
    lwe::{Gadget, Ggsw, LweFill, LweHandle, LweShape, LweSwitchKey, Rounding},
    region::{OpenRegion, Region},
    ring::{Basis, Domain, Ring, RingError, RingSpec, Shape},
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

    // ---- storage ------------------------------------------------------------------------------------------------

    /// A polynomial from the host.
    fn upload(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> Self::Poly;

    /// The zero polynomial.
    fn zeros(&self, shape: &Shape) -> Self::Poly;

    /// A polynomial with rows of its own.
    fn copy(&self, a: &Self::Poly) -> Self::Poly;

    /// Uniform residues from a public seed: row (batch, prime) is [`expand_row`]'s, whatever else is in the shape.
    fn expand_seed(&self, shape: &Shape, role: Role, seed: &Seed) -> Self::Poly;

    // ---- structure: views ---------------------------------------------------------------------------------------

    /// The limbs of a sub-basis.
    fn restrict(&self, a: &Self::Poly, to: Basis) -> Self::Poly;

    /// Limbs of disjoint bases, side by side; same batch and domain.
    fn join(&self, parts: &[&Self::Poly]) -> Self::Poly;

    /// Batches one after another; same basis and domain.
    fn stack(&self, parts: &[&Self::Poly]) -> Self::Poly;

    /// The batch entries `from … to − 1`.
    fn split(&self, a: &Self::Poly, from: usize, to: usize) -> Self::Poly;

    // ---- element-wise: same basis and domain --------------------------------------------------------------------

    /// `a + b`.
    fn add(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly;

    /// `a − b`.
    fn sub(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly;

    /// `−a`.
    fn neg(&self, a: Self::Poly) -> Self::Poly;

    /// `a ⊙ b`, in evaluation domain.
    fn mul(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly;

    /// `acc += a ⊙ b`, in evaluation domain; `a` and `b` have the batch of `acc` or one.
    fn mul_acc(&self, acc: &mut Self::Poly, a: &Self::Poly, b: &Self::Poly);

    /// `acc += a`; `a` has the batch of `acc` or one.
    fn add_assign(&self, acc: &mut Self::Poly, a: &Self::Poly) {
        *acc = self.add(acc, a);
    }

    /// Multiplies each limb by a constant of its own, in [0, q), limb order.
    fn scale_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly;

    /// Adds to every value of a limb a constant of its own, in [0, q): the constant polynomial, in evaluation domain.
    fn shift_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly;

    // ---- transforms, Galois, change of basis --------------------------------------------------------------------

    /// Coefficients → values.
    fn ntt(&self, a: Self::Poly) -> Self::Poly;

    /// Values → coefficients.
    fn intt(&self, a: Self::Poly) -> Self::Poly;

    /// `a(X) → a(X^g)`, in either domain.
    fn automorphism(&self, a: &Self::Poly, g: GaloisElement) -> Self::Poly;

    /// The centred value modulo other primes, coefficient domain: `math::rns::BaseConversion` with the limbs of `a` as
    /// sources. `to` is disjoint from the basis of `a`.
    fn basis_convert(&self, a: &Self::Poly, to: Basis) -> Self::Poly;

    /// The centred lift of one limb (representative in (−q/2, q/2]) to other primes, coefficient domain.
    fn reduce(&self, a: &Self::Poly, to: Basis) -> Self::Poly;

    // ---- gadget: one limb, coefficient domain -------------------------------------------------------------------

    /// `a·X^e`, e word `word` of each exponent modulo 2N: of its own entry's, or of the only one. Neither batch exceeds the
    /// other unless that is one.
    fn monomial_mul(&self, a: &Self::Poly, exponents: &Self::Lwe, word: usize) -> Self::Poly;

    /// The digits of every coefficient as residues: entry `j·batch + i` of the result is digit j of entry i.
    fn decompose(&self, a: &Self::Poly, gadget: Gadget) -> Self::Poly;

    // ---- LWE ----------------------------------------------------------------------------------------------------

    /// Ciphertexts from the host.
    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> Self::Lwe;

    /// Batches one after another; same dimension and modulus. A copy.
    fn lwe_stack(&self, parts: &[&Self::Lwe]) -> Self::Lwe;

    /// The entries `from … to − 1`. A copy.
    fn lwe_split(&self, a: &Self::Lwe, from: usize, to: usize) -> Self::Lwe;

    /// `a + b`; a batch of one broadcasts.
    fn lwe_add(&self, a: &Self::Lwe, b: &Self::Lwe) -> Self::Lwe;

    /// `a·c`, every word, c below the modulus.
    fn lwe_scale(&self, a: &Self::Lwe, c: u64) -> Self::Lwe;

    /// `a + c`: a constant for each entry's body, or one for all, below the modulus.
    fn lwe_shift(&self, a: &Self::Lwe, constants: &[u64]) -> Self::Lwe;

    /// Every word in another modulus.
    fn lwe_mod_switch(&self, a: &Self::Lwe, to: u64, rounding: Rounding) -> Self::Lwe;

    /// The digits of every word of the mask as residues, word `i·levels + j` of the result being digit j of word i; the body
    /// stays.
    fn lwe_decompose(&self, a: &Self::Lwe, gadget: Gadget) -> Self::Lwe;

    /// `(0, b) + Σ_i a_i·row_i`: one row for each word of the mask. Words of `a` stand for their centred lifts, of at most 32
    /// bits.
    fn lwe_product(&self, a: &Self::Lwe, rows: &Self::Lwe) -> Self::Lwe;

    /// Coefficients of the phase of `[b, a_1 … a_k]` (one limb, coefficient domain) as LWE ciphertexts of dimension k·N:
    /// for each entry of the batch those at the places `at`, in this order.
    fn sample_extract(&self, glwe: &[&Self::Poly], at: &[usize]) -> Self::Lwe;

    /// Component `part` of the ciphertext `[b, a_1 … a_k]` of which `a` (modulus that of the limb) is sample 0, and whose body
    /// has no other coefficient; coefficient domain. k is the least for which k·N words hold the mask: where they are more,
    /// the last polynomial of the secret ends with zeros.
    fn lwe_embed(&self, a: &Self::Lwe, ring: &Ring, basis: Basis, part: usize) -> Self::Poly;

    // ---- composites ---------------------------------------------------------------------------------------------

    /// Opens a region of the program: what follows belongs to it until the guard is dropped.
    fn region(&self, _region: impl Into<Region>, _index: u32) -> OpenRegion<'_> {
        OpenRegion::none()
    }

    /// The regions that the calling thread has open, outermost first, where a device has been told to keep them.
    fn regions(&self) -> Vec<(Region, u32)> {
        Vec::new()
    }

    /// Extends each digit of `c` (evaluation domain) from its own primes to all of `full`.
    fn mod_up(&self, c: &Self::Poly, digits: &[Basis], full: Basis) -> Vec<Self::Poly> {
        composites::mod_up(self, c, digits, full)
    }

    /// `Σ_i digit_i ⊙ pair_i`, both halves, over QP.
    fn gadget_product(&self, digits: &[Self::Poly], key: &GadgetKey<Self::Poly>) -> [Self::Poly; 2] {
        composites::gadget_product(self, digits, key)
    }

    /// `⌊a·(product of `to`)/(product of a's basis)⌉` over `to`, evaluation domain: drops the other primes.
    fn mod_down(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        composites::mod_down(self, a, to)
    }

    /// [`Self::mod_down`] by one level's primes, under its own name; one dropped prime costs no base conversion.
    fn rescale(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        composites::rescale(self, a, to)
    }

    /// Hybrid key switching of one polynomial: the pair over Q whose phase is `c·s'`.
    fn key_switch(&self, c: &Self::Poly, key: &GadgetKey<Self::Poly>) -> [Self::Poly; 2] {
        composites::key_switch(self, c, key)
    }

    /// Key switching with what it is added to and a rescale behind it: the pair over `to` whose phase is
    /// `(onto + c·s')·(product of `to`)/(product of c's basis)`, rounded once. `to` lies in the basis of `c`, and what is
    /// added to over that basis, with the batch of the result or one.
    fn key_switch_onto(
        &self,
        c: &Self::Poly,
        key: &GadgetKey<Self::Poly>,
        onto: [Option<&Self::Poly>; 2],
        to: Basis,
    ) -> [Self::Poly; 2] {
        composites::key_switch_onto(self, c, key, onto, to)
    }

    /// One limb of coefficients, centred, as values over `to`; its own prime may be among them.
    fn extend_limb(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        composites::extend_limb(self, a, to)
    }

    /// For each sum `Σ weight ⊙ x[i]` over its terms `(i, weight)`, at least one; a weight's batch is one or that of x.
    fn weighted_sums(&self, x: &[Self::Poly], sums: &[Terms<'_, Self::Poly>]) -> Vec<Self::Poly> {
        composites::weighted_sums(self, x, sums)
    }

    /// `Σ x_i·c_i`, at least one term: of one ring, basis and domain, with the batch of the result or one. For each term
    /// one constant a limb, in [0, q), limb order.
    fn linear_combination(&self, x: &[&Self::Poly], constants: &[Vec<u64>]) -> Self::Poly {
        composites::linear_combination(self, x, constants)
    }

    /// The GLWE ciphertext whose phase is that of `c = [b, a_1 … a_k]` times the message of `key`; coefficient domain. The
    /// key's batch is that of `c` or one.
    fn external_product(&self, c: &[&Self::Poly], key: &Ggsw<Self::Poly>) -> Vec<Self::Poly> {
        composites::external_product(self, c, key)
    }

    /// An encryption of `test·X^e` with `e = e_n + Σ e_i·s_i`, where `key` encrypts the bits s_i: one step for each word of the
    /// exponents' masks. A batch of exponents meets as many test polynomials (one limb, coefficient domain) or one.
    fn blind_rotate(&self, test: &Self::Poly, exponents: &Self::Lwe, key: &Ggsw<Self::Poly>) -> Vec<Self::Poly> {
        composites::blind_rotate(self, test, exponents, key)
    }

    /// The same messages under another secret.
    fn lwe_key_switch(&self, a: &Self::Lwe, key: &LweSwitchKey<Self::Lwe>) -> Self::Lwe {
        composites::lwe_key_switch(self, a, key)
    }
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
