//! The file of a set of evaluation keys. Each key can be read alone, at its level or below.
//!
//! A key is a block of seeds, one per digit, followed by the limbs of each digit's masked half over the primes of its
//! level and those below and its special primes. The uniform halves are expanded from the seeds. A set may exceed memory: it is written
//! key by key and read limb by limb.

use super::{
    container::{CHECKSUM, Container, FileKind, Origin, Place, Writer},
    error::{WireError, check},
    params::fingerprint,
    rows::{Rows, write_rows},
    source::Source,
};
use crate::{
    Result,
    error::KeyError,
    params::Params,
    rlwe::{
        EvaluationKey, KeyForm, KeyName, KeySet, Requirements,
        key::{KeyPair, UniformHalf, with_special},
    },
};
use limbwise_device::{Basis, Device, HostRead, Role, Shape};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, io::Write};

/// Size of a seed in bytes.
const SEED: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// In the order of [`KeyName`], each once.
    keys: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    key: Name,
    level: usize,
}

/// [`KeyName`] as stored in files.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    Relinearization,
    Galois(u32),
    Encapsulation,
    Decapsulation,
    FromLwe,
    Packing(u32),
    LowRelinearization,
    LowGalois(u32),
}

impl From<KeyName> for Name {
    fn from(name: KeyName) -> Self {
        match name {
            KeyName::Relinearization => Self::Relinearization,
            KeyName::Galois(g) => Self::Galois(g.value()),
            KeyName::Encapsulation => Self::Encapsulation,
            KeyName::Decapsulation => Self::Decapsulation,
            KeyName::FromLwe => Self::FromLwe,
            KeyName::Packing(g) => Self::Packing(g.value()),
            KeyName::LowRelinearization => Self::LowRelinearization,
            KeyName::LowGalois(g) => Self::LowGalois(g.value()),
        }
    }
}

impl Entry {
    fn check(&self, params: &Params) -> Result<(KeyName, usize), WireError> {
        let galois = |g: u32| {
            let most = u64::from(g) < 2 << params.log_n();
            check(most && g % 2 == 1, "keys.key.galois", g, "an odd number below 2N")?;
            Ok::<_, WireError>(GaloisElement::new(g, params.log_n()))
        };
        let name = match self.key {
            Name::Relinearization => KeyName::Relinearization,
            Name::Encapsulation => KeyName::Encapsulation,
            Name::Decapsulation => KeyName::Decapsulation,
            Name::FromLwe => KeyName::FromLwe,
            Name::Galois(g) => KeyName::Galois(galois(g)?),
            Name::Packing(g) => KeyName::Packing(galois(g)?),
            Name::LowRelinearization => KeyName::LowRelinearization,
            Name::LowGalois(g) => KeyName::LowGalois(galois(g)?),
        };
        let most = name.highest_level(params);
        let most =
            most.ok_or_else(|| WireError::value("keys.key", name, "no key of low levels for these parameters"))?;
        check(self.level <= most, "keys.level", self.level, format!("at most {most}"))?;
        Ok((name, self.level))
    }
}

/// Writes a set of keys one by one.
pub struct KeyWriter<W> {
    out: Writer<W>,
    log_n: u32,
    /// Keys not yet written, last first.
    left: Vec<(KeyName, usize)>,
}

impl<W: Write> KeyWriter<W> {
    /// Starts a file for these keys, each at its level. The keys must be written in the order of their names.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, params: &Params, keys: &Requirements, origin: &Origin) -> Result<Self> {
        let entry = |(&name, &level): (&KeyName, &usize)| Entry { key: name.into(), level };
        let header = Header { keys: keys.iter().map(entry).collect() };
        let out = Writer::begin(out, FileKind::EvaluationKeys, fingerprint(params), origin, &header)?;
        Ok(Self { out, log_n: params.log_n(), left: keys.iter().rev().map(|(&n, &l)| (n, l)).collect() })
    }

    /// Writes the next key.
    ///
    /// # Errors
    /// [`WireError::Order`] for any key but the next, [`WireError::NoSeed`] for a key of another library; errors of the
    /// output; a device fault.
    pub fn write<D: HostRead>(&mut self, dev: &D, key: &EvaluationKey<D>) -> Result<()> {
        let got = (key.name(), key.level());
        if self.left.last() != Some(&got) {
            let got = got.0.describe(self.log_n);
            return Err(WireError::Order { got, got_level: key.level(), wanted: self.describe_next() }.into());
        }
        let no_seed = || WireError::NoSeed { what: key.name().describe(self.log_n) };
        let mut seeds = Vec::new();
        for pair in key.pairs() {
            seeds.extend_from_slice(&pair.uniform.seed().ok_or_else(no_seed)?.0);
        }
        self.out.block(&seeds)?;
        for pair in key.pairs() {
            write_rows(&mut self.out, dev, &pair.masked)?;
        }
        self.left.pop();
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// [`WireError::Order`] if keys are missing; errors of the output.
    pub fn finish(self) -> Result<W> {
        if self.left.is_empty() {
            return Ok(self.out.finish()?);
        }
        Err(WireError::Order { got: "the end".into(), got_level: 0, wanted: self.describe_next() }.into())
    }

    /// Description of the next key.
    fn describe_next(&self) -> String {
        let next = self.left.last();
        next.map_or_else(|| "the end".into(), |(name, level)| format!("{} at level {level}", name.describe(self.log_n)))
    }
}

/// Writes all keys of a set.
///
/// # Errors
/// The errors of [`KeyWriter::write`].
pub fn write_keys<W: Write, D: HostRead>(
    out: W,
    dev: &D,
    params: &Params,
    keys: &KeySet<D>,
    origin: &Origin,
) -> Result<W> {
    let mut out = KeyWriter::new(out, params, &keys.names(), origin)?;
    keys.keys().try_for_each(|key| out.write(dev, key))?;
    out.finish()
}

/// Size in a file of a key for ciphertexts at `level` and below; also the bytes read from a higher key for that level.
#[must_use]
pub fn key_file_bytes(params: &Params, name: KeyName, level: usize) -> u64 {
    Stored::new(params, name, level, Place { block: 0, at: 0 }).end().at
}

/// Place of a key, and the shape of its rows.
struct Stored {
    level: usize,
    begin: Place,
    digits: Vec<Basis>,
    shape: Shape,
}

impl Stored {
    fn new(params: &Params, name: KeyName, level: usize, begin: Place) -> Self {
        let (digits, special) = name.held(params, level);
        let shape = Shape::eval(params.ring(), with_special(&digits, special));
        Self { level, begin, digits, shape }
    }

    /// The rows of one digit.
    fn rows(&self, digit: usize) -> Rows {
        let first = Rows::new(self.shape.clone(), self.begin.behind(1, self.seed_bytes()));
        (0..digit).fold(first, |before, _| Rows::new(self.shape.clone(), before.end()))
    }

    fn seed_bytes(&self) -> u64 {
        (SEED * self.digits.len()) as u64
    }

    fn end(&self) -> Place {
        self.rows(self.digits.len()).begin()
    }
}

/// An opened file of evaluation keys: the header is checked; any thread may read keys.
pub struct KeyFile<S> {
    file: Container<S>,
    params: Params,
    keys: BTreeMap<KeyName, Stored>,
}

impl<S: Source> KeyFile<S> {
    /// Opens a file of keys for these parameters.
    ///
    /// # Errors
    /// [`WireError`] for a bad file.
    pub fn open(source: S, params: &Params) -> Result<Self> {
        let file = Container::open(source)?;
        file.expect(FileKind::EvaluationKeys, Some(params))?;
        let header: Header = file.header()?;
        let mut keys = BTreeMap::new();
        let mut place = file.first();
        for entry in &header.keys {
            let (name, level) = entry.check(params)?;
            let stored = Stored::new(params, name, level, place);
            place = stored.end();
            let rising = keys.last_key_value().is_none_or(|(&last, _)| last < name);
            check(rising, "keys", name, "each key once, in order")?;
            keys.insert(name, stored);
        }
        file.ends(place)?;
        Ok(Self { file, params: params.clone(), keys })
    }

    /// Names of the keys, each with its level.
    #[must_use]
    pub fn names(&self) -> Requirements {
        self.keys.iter().map(|(&name, stored)| (name, stored.level)).collect()
    }

    /// The file's origin.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.file.origin()
    }

    /// The parameter set it was opened for.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Reads one key for ciphertexts up to `level`: only the limbs needed there.
    ///
    /// # Errors
    /// [`KeyError`] if the key is missing or at a lower level; [`WireError`] for a bad file.
    pub fn read_key<D: Device>(&self, dev: &D, name: KeyName, level: usize, form: KeyForm) -> Result<EvaluationKey<D>> {
        let stored = self.find(name)?;
        if level > stored.level {
            return Err(KeyError::TooLow { name, made: stored.level, level }.into());
        }
        let (digits, special) = name.held(&self.params, level);
        let shape = Shape::eval(self.params.ring(), with_special(&digits, special));
        let role = Role::EvaluationKey(name.id());
        let mut pairs = Vec::new();
        let digits = stored.digits.iter().zip(self.seeds(name)?).enumerate();
        for (digit, (_, seed)) in digits.filter(|(_, (own, _))| !own.is_disjoint(shape.basis)) {
            let masked = stored.rows(digit).read(&self.file, dev, shape.basis, role)?;
            let uniform = match form {
                KeyForm::Seeded | KeyForm::Disk => UniformHalf::Seeded(seed),
                KeyForm::Stored => UniformHalf::Stored { poly: dev.expand_seed(&shape, role, &seed), seed: Some(seed) },
            };
            pairs.push(KeyPair { masked, uniform });
        }
        Ok(EvaluationKey::new(name, level, pairs))
    }

    /// Reads all keys, each at its level.
    ///
    /// # Errors
    /// [`WireError`] for a bad file.
    pub fn read_all<D: Device>(&self, dev: &D, form: KeyForm) -> Result<KeySet<D>> {
        let read = |(&name, stored): (&KeyName, &Stored)| self.read_key(dev, name, stored.level, form);
        Ok(KeySet::new(&self.params, self.keys.iter().map(read).collect::<Result<_>>()?))
    }

    /// The seeds of a key's uniform halves, one per digit: row (0, prime) of `expand_seed` is the limb that belongs to
    /// [`Self::read_row`]'s.
    ///
    /// # Errors
    /// [`KeyError::Missing`]; [`WireError`] for a bad file.
    pub fn seeds(&self, name: KeyName) -> Result<Vec<Seed>> {
        let stored = self.find(name)?;
        let mut bytes = vec![0; SEED * stored.digits.len() + CHECKSUM];
        let payload = self.file.block(stored.begin, &mut bytes)?;
        Ok(payload.as_chunks::<SEED>().0.iter().map(|&bytes| Seed(bytes)).collect())
    }

    /// The primes of a key's limbs.
    ///
    /// # Errors
    /// [`KeyError::Missing`].
    pub fn basis(&self, name: KeyName) -> Result<Basis> {
        Ok(self.find(name)?.shape.basis)
    }

    /// Reads one limb of a digit's masked half into N words in bit-reversed order; `bytes` is scratch memory.
    ///
    /// # Errors
    /// [`KeyError::Missing`]; [`WireError`] for a bad file, or a digit or prime that the key lacks.
    pub fn read_row(
        &self,
        name: KeyName,
        digit: usize,
        prime: usize,
        bytes: &mut Vec<u8>,
        out: &mut [u64],
    ) -> Result<()> {
        let stored = self.find(name)?;
        let digits = stored.digits.len();
        check(digit < digits, "digit", digit, format!("below {digits}"))?;
        check(stored.shape.basis.contains(prime), "prime", prime, "one of the key's")?;
        Ok(stored.rows(digit).read_row(&self.file, 0, prime, bytes, out)?)
    }

    fn find(&self, name: KeyName) -> Result<&Stored> {
        let missing = || {
            let (op, wanted) = ("reading a key file", name.describe(self.params.log_n()));
            KeyError::Missing { op, wanted, present: format!("{} other keys", self.keys.len()) }
        };
        Ok(self.keys.get(&name).ok_or_else(missing)?)
    }
}
