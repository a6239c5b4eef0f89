//! What files of other libraries hold, as numbers; and how it becomes ours, once it fits the parameters.

use super::{
    super::order::{self, Order},
    error::ForeignError,
};
use limbwise::{
    ckks::{Ciphertext, Estimate},
    params::{Insecure, Params, ParamsLiteral, PrimeChoice, Secret},
    rlwe::{EvaluationKey, KeyName, KeyPair, PublicKey, UniformHalf},
};
use limbwise_device::{Basis, Device, Domain, Role, Shape};
use limbwise_math::{galois::GaloisElement, modulus::Modulus};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};
use zeroize::{Zeroize as _, Zeroizing};

/// log₂ of the ring degrees that are read.
pub(super) const RINGS: std::ops::RangeInclusive<u32> = 1..=17;

/// How a polynomial's numbers say what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Coefficients,
    /// Values at odd powers of each limb's root, in bit-reversed order.
    Values,
}

/// The residues of a polynomial modulo one prime, canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limb {
    pub modulus: u64,
    /// The root of the order 2N at whose powers the values are; `None` for the one of the least primitive root.
    pub root: Option<u64>,
    pub words: Vec<u64>,
}

impl Drop for Limb {
    /// The words may be those of a secret key.
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

/// A polynomial, with its place in its file for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    pub at: String,
    pub form: Form,
    pub limbs: Vec<Limb>,
}

impl Polynomial {
    /// The moduli of the limbs, in their order.
    #[must_use]
    pub fn moduli(&self) -> Vec<u64> {
        self.limbs.iter().map(|limb| limb.modulus).collect()
    }
}

/// A CKKS ciphertext: phase = Σ `parts[i]`·s^i.
#[derive(Clone, Debug)]
pub struct ForeignCiphertext {
    pub parts: Vec<Polynomial>,
    pub scale: f64,
    pub slots: usize,
}

/// An evaluation key: a pair `[b, a]` for each digit, b = −a·s + e + P·s' on the digit's primes.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// The Galois element; `None` for the relinearization key.
    pub galois: Option<u32>,
    pub pairs: Vec<[Polynomial; 2]>,
    /// Whether the key switches before the automorphism: it is then the inverse image of ours.
    pub before: bool,
}

/// A chain of primes, and what else a parameter set here needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    pub log_n: u32,
    pub moduli: Vec<u64>,
    pub special: Vec<u64>,
    pub dnum: usize,
    pub log_scale: u32,
    pub secret: Secret,
    pub sigma: f64,
}

impl Chain {
    /// The parameters as a literal: one prime a level. A reason is wanted for a set below 128 bits.
    ///
    /// # Errors
    /// [`ForeignError::Field`] for a number that is no such prime; [`ForeignError::Parameters`] for a set that this library does
    /// not take.
    pub fn literal(&self, insecure: Option<&str>) -> Result<ParamsLiteral, ForeignError> {
        // A literal takes small numbers for sizes in bits.
        if let Some(small) = self.moduli.iter().chain(&self.special).find(|&&q| q < 1 << 10) {
            return Err(ForeignError::field("moduli", small, "primes that are 1 modulo 2N"));
        }
        let mut literal = ParamsLiteral::chain(self.log_n, 0, self.log_scale, 0, (0, 0), self.dnum);
        literal.levels = self.moduli.iter().map(|&q| vec![PrimeChoice::Exact(q)]).collect();
        literal.special = self.special.iter().map(|&p| PrimeChoice::Exact(p)).collect();
        (literal.secret, literal.sigma) = (self.secret, self.sigma);
        literal.insecure = insecure.map(|reason| Insecure { reason: reason.into() });
        Params::new(&literal)?;
        Ok(literal)
    }
}

/// What one file holds.
#[derive(Clone, Debug)]
pub enum Content {
    Parameters,
    Ciphertext(ForeignCiphertext),
    /// The secret key over Q, or over Q and P.
    SecretKey(Polynomial),
    /// `[b, a]`.
    PublicKey([Polynomial; 2]),
    Keys(Vec<ForeignKey>),
}

impl Content {
    /// Description for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Ciphertext(_) => "a ciphertext",
            Self::SecretKey(_) => "a secret key",
            Self::PublicKey(_) => "a public key",
            Self::Keys(_) => "evaluation keys",
        }
    }
}

/// Where each value of a limb goes, by its modulus and root.
type Places = BTreeMap<(u64, Option<u64>), Rc<[usize]>>;

/// A parameter set that files are read for. Permutations are found once a prime.
pub struct Binding<'a> {
    params: &'a Params,
    places: RefCell<Places>,
}

impl<'a> Binding<'a> {
    #[must_use]
    pub fn new(params: &'a Params) -> Self {
        Self { params, places: RefCell::default() }
    }

    /// The primes of a basis.
    fn primes(&self, basis: Basis) -> Vec<u64> {
        self.params.ring().moduli_of(basis).into_iter().map(Modulus::value).collect()
    }

    /// Refuses a polynomial of another ring or other primes, before any word of it is used.
    fn fits(&self, poly: &Polynomial, basis: Basis) -> Result<(), ForeignError> {
        let (got, primes, n) = (poly.moduli(), self.primes(basis), self.params.ring().n());
        if got != primes {
            let wanted = format!("the primes of the parameters: {}", listed(&primes));
            return Err(ForeignError::field(format!("{}: moduli", poly.at), listed(&got), wanted));
        }
        match poly.limbs.iter().find(|limb| limb.words.len() != n) {
            None => Ok(()),
            Some(limb) => Err(ForeignError::field(&poly.at, format!("{} words", limb.words.len()), format!("{n} (N)"))),
        }
    }

    fn places(&self, q: Modulus, root: Option<u64>, at: &str) -> Result<Rc<[usize]>, ForeignError> {
        let key = (q.value(), root);
        if let Some(known) = self.places.borrow().get(&key) {
            return Ok(known.clone());
        }
        let log_n = self.params.log_n();
        let theirs = root.unwrap_or_else(|| order::least_root(q, log_n));
        let missing = || {
            ForeignError::field(format!("{at}: root"), theirs, format!("a root of the order 2N = {}", 2u64 << log_n))
        };
        let found: Rc<[usize]> = order::places(q, log_n, theirs, Order::BitReversed).ok_or_else(missing)?.into();
        self.places.borrow_mut().insert(key, found.clone());
        Ok(found)
    }

    /// The words of a polynomial over a basis, limb by limb, values in our order.
    ///
    /// # Errors
    /// [`ForeignError::Field`] for other primes, another ring, or a root of another order.
    pub fn words(&self, poly: &Polynomial, basis: Basis) -> Result<Vec<u64>, ForeignError> {
        self.fits(poly, basis)?;
        let n = self.params.ring().n();
        let mut words = vec![0; n * poly.limbs.len()];
        for ((limb, q), out) in poly.limbs.iter().zip(self.params.ring().moduli_of(basis)).zip(words.chunks_mut(n)) {
            match poly.form {
                Form::Coefficients => out.copy_from_slice(&limb.words),
                Form::Values => {
                    let places = self.places(q, limb.root, &poly.at)?;
                    places.iter().zip(&limb.words).for_each(|(&place, &word)| out[place] = word);
                }
            }
        }
        Ok(words)
    }

    /// The values that another library has, of words in our order: the way back of [`Self::words`].
    ///
    /// # Errors
    /// [`ForeignError::Field`] for a root of another order.
    pub fn theirs(&self, words: &[u64], q: Modulus, root: Option<u64>) -> Result<Vec<u64>, ForeignError> {
        let places = self.places(q, root, "values")?;
        Ok(places.iter().map(|&place| words[place]).collect())
    }

    /// A polynomial on a device, evaluation domain.
    ///
    /// # Errors
    /// Those of [`Self::words`].
    pub fn upload<D: Device>(
        &self,
        dev: &D,
        poly: &Polynomial,
        basis: Basis,
        role: Role,
    ) -> Result<D::Poly, ForeignError> {
        let (words, n) = (Zeroizing::new(self.words(poly, basis)?), self.params.ring().n());
        let shape = Shape::eval(self.params.ring(), basis);
        let write = |at: limbwise_device::RowAt, row: &mut [u64]| {
            // Rows are of the basis.
            let Some(limb) = basis.position(at.prime) else { return };
            row.copy_from_slice(&words[limb * n..][..n]);
        };
        Ok(match poly.form {
            Form::Values => dev.upload(&shape, role, &write),
            Form::Coefficients => dev.ntt(dev.upload(&shape.with_domain(Domain::Coeff), role, &write)),
        })
    }

    /// A ciphertext. Its level follows from its moduli; what it holds is what is promised.
    ///
    /// # Errors
    /// [`ForeignError::Field`] for a file that does not fit the parameters: nothing is uploaded then.
    pub fn ciphertext<D: Device>(
        &self,
        dev: &D,
        theirs: &ForeignCiphertext,
        estimate: Estimate,
    ) -> Result<Ciphertext<D>, ForeignError> {
        let params = self.params;
        let parts = theirs.parts.len();
        let first = theirs.parts.first().filter(|_| (2..=3).contains(&parts));
        let first = first.ok_or_else(|| ForeignError::field("ciphertext", format!("{parts} polynomials"), "2 or 3"))?;
        let count = first.limbs.len();
        let level = (0..=params.top_level()).find(|&level| params.limbs(level) == count);
        let wanted = || ForeignError::field(&first.at, format!("{count} limbs"), "as many as a level has");
        let level = level.ok_or_else(wanted)?;
        let basis = params.basis(level);
        theirs.parts.iter().try_for_each(|part| self.fits(part, basis))?;
        let (scale, slots, most) = (theirs.scale, theirs.slots, params.max_slots());
        let within = (2.0..=params.log_modulus(level).exp2()).contains(&scale);
        if !within {
            return Err(ForeignError::field("scale", scale, "2 up to the modulus"));
        }
        if !slots.is_power_of_two() || slots > most {
            return Err(ForeignError::field("slots", slots, format!("a power of two up to {most}")));
        }
        let upload = |part| self.upload(dev, part, basis, Role::Ciphertext);
        let parts = theirs.parts.iter().map(upload).collect::<Result<_, _>>()?;
        Ok(Ciphertext { parts, level, scale, slots, estimate, shadow: None })
    }

    /// A public key, over Q: limbs of P, where a library has them, are left out.
    ///
    /// # Errors
    /// Those of [`Self::words`].
    pub fn public_key<D: Device>(&self, dev: &D, [b, a]: &[Polynomial; 2]) -> Result<PublicKey<D>, ForeignError> {
        let basis = self.params.reached(self.params.top_level());
        let over_q = |poly: &Polynomial| {
            let limbs = poly.limbs.iter().take(basis.len()).cloned().collect();
            self.upload(dev, &Polynomial { at: poly.at.clone(), form: poly.form, limbs }, basis, Role::Temporary)
        };
        Ok(PublicKey { parts: [over_q(b)?, over_q(a)?], seed: None })
    }

    /// An evaluation key at the top level. It works here where its digits are ours, consecutive primes of one number.
    ///
    /// # Errors
    /// [`ForeignError::Field`] for other primes, other digits, or an automorphism that the ring does not have.
    pub fn key<D: Device>(&self, dev: &D, theirs: &ForeignKey) -> Result<EvaluationKey<D>, ForeignError> {
        let (params, log_n) = (self.params, self.params.log_n());
        let name = match theirs.galois {
            None => KeyName::Relinearization,
            Some(g) if g % 2 == 1 && u64::from(g) < 2 << log_n => KeyName::Galois(GaloisElement::new(g, log_n)),
            Some(g) => return Err(ForeignError::field("Galois element", g, "an odd number below 2N")),
        };
        let top = params.top_level();
        let (digits, special) = name.held(params, top);
        if theirs.pairs.len() != digits.len() {
            let (got, wanted) = (format!("{} digits", theirs.pairs.len()), format!("{} (dnum)", digits.len()));
            return Err(ForeignError::field(name, got, wanted));
        }
        let basis = params.reached(top) | special;
        theirs.pairs.iter().flatten().try_for_each(|half| self.fits(half, basis))?;
        let half = |poly: &Polynomial| {
            let uploaded = self.upload(dev, poly, basis, Role::EvaluationKey(name.id()))?;
            Ok::<_, ForeignError>(match (theirs.before, name) {
                (true, KeyName::Galois(g)) => dev.automorphism(&uploaded, g),
                _ => uploaded,
            })
        };
        let pair = |[b, a]: &[Polynomial; 2]| {
            Ok::<_, ForeignError>(KeyPair {
                masked: half(b)?,
                uniform: UniformHalf::Stored { poly: half(a)?, seed: None },
            })
        };
        Ok(EvaluationKey::new(name, top, theirs.pairs.iter().map(pair).collect::<Result<_, _>>()?))
    }

    /// Several keys; no name twice.
    ///
    /// # Errors
    /// Those of [`Self::key`]; a name that comes twice.
    pub fn keys<D: Device>(&self, dev: &D, theirs: &[ForeignKey]) -> Result<Vec<EvaluationKey<D>>, ForeignError> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = theirs.iter().find(|key| !seen.insert(key.galois)) {
            return Err(ForeignError::field("keys", format!("{:?} twice", twice.galois), "each key once"));
        }
        theirs.iter().map(|key| self.key(dev, key)).collect()
    }

    /// The secret key: the same small coefficients modulo all primes.
    ///
    /// # Errors
    /// [`ForeignError::Field`] for other primes, or for coefficients outside {−1, 0, 1}.
    #[cfg(feature = "client")]
    pub fn secret<D: limbwise_device::HostRead>(
        &self,
        dev: &D,
        poly: &Polynomial,
    ) -> Result<limbwise::rlwe::SecretKey, ForeignError> {
        let params = self.params;
        let chain = params.reached(params.top_level());
        let basis = if poly.limbs.len() == chain.len() { chain } else { chain | params.special() };
        let uploaded = self.upload(dev, poly, basis, Role::Temporary)?;
        let words = Zeroizing::new(dev.download(&dev.intt(uploaded))?);
        dev.scrub();
        let (n, moduli) = (params.ring().n(), params.ring().moduli_of(basis));
        let centered =
            |limb: &[u64], q: Modulus| Zeroizing::new(limb.iter().map(|&x| q.centered(x)).collect::<Vec<_>>());
        let mut limbs = words.chunks(n).zip(moduli).map(|(limb, q)| centered(limb, q));
        let first = limbs.next().unwrap_or_default();
        let wrong =
            |got: &str| ForeignError::field(&poly.at, got, "N coefficients in {−1, 0, 1}, the same modulo all primes");
        if limbs.any(|other| other != first) {
            return Err(wrong("other coefficients modulo another prime"));
        }
        limbwise::rlwe::SecretKey::from_coefficients(params, first).ok_or_else(|| wrong("a larger coefficient"))
    }
}

/// Numbers in a message: the first eight.
pub(super) fn listed(all: &[u64]) -> String {
    let mut text = all.iter().take(8).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if all.len() > 8 {
        text += &format!(" … ({} in all)", all.len());
    }
    text
}
