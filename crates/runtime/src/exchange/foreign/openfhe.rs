//! Files that OpenFHE serialized as JSON. Source: \[OPENFHE\].
//!
//! OpenFHE writes its objects by cereal: a shared object has its data where it comes first, under an `id` with the high bit
//! set, and only the `id` afterwards. A polynomial's primes and roots are such objects (`p`), so a file is read whole, and its
//! shared objects are listed, before a polynomial is looked at. Fields: `elp` parameters of the polynomials, `co` 2N, `cm`
//! modulus, `ru` root, `v` values, `f` 0 for values and 1 for coefficients, `s` scale, `sl` slots, `ak` and `bk` the two
//! halves of a key.

use super::{
    error::ForeignError,
    parts::{Chain, Content, ForeignCiphertext, ForeignKey, Form, Limb, Polynomial, RINGS},
    wiped::Wiped,
};
use limbwise::params::Secret;
use limbwise_math::{modulus::Modulus, prime};
use serde_json::Value;
use std::collections::BTreeMap;

/// Marks the first occurrence of a shared object.
pub(super) const FIRST: u64 = 1 << 31;
/// Size in bits of OpenFHE's special primes.
const SPECIAL_BITS: u32 = 60;
/// Most primes of a polynomial, and most pairs of a key.
const MOST_LIMBS: usize = 128;
/// Name that OpenFHE gives to the parameters of CKKS.
const CKKS: &str = "lbcrypto::CryptoParametersCKKSRNS";

/// A place in a file.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    pub(super) path: String,
}

impl<'a> At<'a> {
    pub(super) fn wrong(&self, wanted: impl ToString) -> ForeignError {
        let got = match self.value {
            Value::Object(_) => "an object".into(),
            Value::Array(items) => format!("a list of {}", items.len()),
            other => other.to_string().chars().take(60).collect(),
        };
        ForeignError::field(&self.path, got, wanted)
    }

    fn step(&self, name: impl std::fmt::Display, value: &'a Value) -> Self {
        Self { value, path: format!("{}.{name}", self.path) }
    }

    pub(super) fn maybe(&self, name: &str) -> Option<Self> {
        Some(self.step(name, self.value.get(name)?))
    }

    pub(super) fn get(&self, name: &str) -> Result<Self, ForeignError> {
        self.maybe(name).ok_or_else(|| self.wrong(format!("an object with {name:?}")))
    }

    /// Several fields, one in the other.
    fn down(&self, names: &[&str]) -> Result<Self, ForeignError> {
        names.iter().try_fold(self.clone(), |at, name| at.get(name))
    }

    fn list(&self, most: usize) -> Result<Vec<Self>, ForeignError> {
        let items = self.value.as_array().filter(|items| items.len() <= most);
        let items = items.ok_or_else(|| self.wrong(format!("a list of at most {most}")))?;
        Ok(items.iter().enumerate().map(|(i, item)| self.step(i, item)).collect())
    }

    fn whole(&self) -> Result<u64, ForeignError> {
        self.value.as_u64().ok_or_else(|| self.wrong("a whole number below 2^64"))
    }

    fn number(&self) -> Result<f64, ForeignError> {
        self.value.as_f64().filter(|x| x.is_finite()).ok_or_else(|| self.wrong("a number"))
    }
}

/// A file as a tree, and its shared objects. Its numbers are overwritten when it is dropped: they may be a secret key.
pub struct Document {
    pub(super) root: Wiped,
}

/// The primes of a ring with its root.
#[derive(Clone, Copy)]
struct Prime {
    modulus: u64,
    root: u64,
    n: usize,
}

impl Document {
    /// Parses the bytes.
    ///
    /// # Errors
    /// [`ForeignError::Format`] with line and column for what is no JSON.
    pub fn parse(bytes: &[u8]) -> Result<Self, ForeignError> {
        let wrong = |e: serde_json::Error| ForeignError::Format { format: "JSON of OpenFHE", got: e.to_string() };
        Ok(Self { root: Wiped::parse(bytes).map_err(wrong)? })
    }

    /// Whether these are parameters of Lattigo, which are JSON as well.
    #[must_use]
    pub fn is_lattigos(&self) -> bool {
        self.root.get("LogN").is_some()
    }

    /// The outermost value.
    pub(super) fn top(&self) -> Result<At<'_>, ForeignError> {
        At { value: &self.root, path: "file".into() }.get("value0")
    }

    /// The data of the object that the file holds.
    pub(super) fn data(&self) -> Result<At<'_>, ForeignError> {
        self.top()?.down(&["ptr_wrapper", "data"])
    }

    /// The shared objects of the file by their numbers.
    pub(super) fn shared(&self) -> Shared<'_> {
        let mut objects = BTreeMap::new();
        gather(&self.root, &mut objects);
        Shared { objects }
    }

    /// What the file holds.
    ///
    /// # Errors
    /// [`ForeignError::Field`] with the path of the field that is wrong.
    pub fn content(&self) -> Result<Content, ForeignError> {
        let (top, shared) = (self.top()?, self.shared());
        if top.value.is_array() {
            return Ok(Content::Keys(keys(&top, &shared)?));
        }
        let data = self.data()?;
        if data.maybe("cc").is_some() {
            return Ok(Content::Parameters);
        }
        if let Some(halves) = data.maybe("h") {
            let [b, a]: [Polynomial; 2] = shared.several(&halves, 2)?;
            return Ok(Content::PublicKey([b, a]));
        }
        match (data.maybe("v"), data.maybe("s")) {
            (Some(parts), Some(scale)) => ciphertext(&data, &parts, &scale, &shared).map(Content::Ciphertext),
            (None, Some(secret)) => Ok(Content::SecretKey(shared.polynomial(&secret)?)),
            _ => Err(data.wrong("a context, a ciphertext, a public or secret key, or maps of evaluation keys")),
        }
    }

    /// The parameters of the context that any file has in it. The special primes are those of the keys in the file, or
    /// else by OpenFHE's rule: the largest of 60 bits that are not in the chain, as many as the widest digit needs.
    ///
    /// # Errors
    /// [`ForeignError::Field`] for another scheme or a form of parameters without a counterpart here.
    pub fn chain(&self) -> Result<Chain, ForeignError> {
        let (holder, _) = find(&self.root, "elp").ok_or_else(|| self.lacks())?;
        let moduli: Vec<Prime> = self.shared().primes(&self.elements()?)?;
        let number = |name: &str| {
            let value = find(&self.root, name).map(|(_, value)| value);
            let missing =
                ForeignError::field("context", format!("no field {name:?}"), "a context of OpenFHE 1.2 or later");
            At { value: value.ok_or(missing)?, path: format!("context.{name}") }.whole()
        };
        let encoding = holder.get("enp").and_then(|at| at.pointer("/ptr_wrapper/data/m"));
        let log_scale =
            encoding.and_then(Value::as_u64).and_then(|bits| u32::try_from(bits).ok()).filter(|bits| *bits < 64);
        let log_scale =
            log_scale.ok_or_else(|| ForeignError::field("context.enp.m", "no number", "bits of the scale"))?;
        let named = self.text("polymorphic_name").unwrap_or_default();
        if named != CKKS {
            return Err(ForeignError::field("context: parameters", named, CKKS));
        }
        let (technique, composite) = (number("ks")?, number("cd")?);
        if technique != 2 || composite > 1 {
            let got = format!("ks {technique}, cd {composite}");
            return Err(ForeignError::field("context", got, "hybrid key switching (ks 2), one prime a level (cd 1)"));
        }
        let chain: Vec<u64> = moduli.iter().map(|prime| prime.modulus).collect();
        let n = moduli.first().map_or(2, |prime| prime.n);
        let dnum = usize::try_from(number("dnum")?).ok().filter(|dnum| (1..=chain.len()).contains(dnum));
        let dnum = dnum.ok_or_else(|| ForeignError::field("context.dnum", "another number", "1 up to the primes"))?;
        let secret = match number("mo")? {
            1 => Secret::Ternary,
            2 => Secret::FixedWeight(192),
            other => return Err(ForeignError::field("context.mo", other, "a ternary secret (1), or a sparse one (2)")),
        };
        let sigma =
            find(&self.root, "dp").and_then(|(_, value)| value.as_f64()).filter(|x| x.is_finite()).unwrap_or(3.19);
        let special = match self.top()?.value.is_array() {
            true => self.special_of_keys(&chain)?,
            false => special(&chain, dnum, n)?,
        };
        Ok(Chain {
            log_n: n.ilog2(),
            moduli: chain,
            special,
            dnum,
            log_scale,
            secret,
            sigma: (sigma * 1e4).round() / 1e4,
        })
    }

    /// The roots of the context, by their primes.
    ///
    /// # Errors
    /// [`ForeignError::Field`] for a file without a context.
    pub fn roots(&self) -> Result<BTreeMap<u64, u64>, ForeignError> {
        let at = self.elements()?;
        Ok(self.shared().primes(&at)?.into_iter().map(|prime| (prime.modulus, prime.root)).collect())
    }

    /// The number of the context's parameters of polynomials.
    pub(super) fn chain_id(&self) -> Result<u64, ForeignError> {
        id(&self.elements()?)
    }

    /// The numbers of the context's primes.
    pub(super) fn prime_ids(&self) -> Result<Vec<u64>, ForeignError> {
        let at = self.elements()?;
        self.shared().target(&at)?.get("p")?.list(MOST_LIMBS)?.iter().map(id).collect()
    }

    fn elements(&self) -> Result<At<'_>, ForeignError> {
        let (_, value) = find(&self.root, "elp").ok_or_else(|| self.lacks())?;
        Ok(At { value, path: "context.elp".into() })
    }

    fn lacks(&self) -> ForeignError {
        ForeignError::field("file", "no parameters of polynomials (elp)", "an object of OpenFHE with its context")
    }

    fn text(&self, name: &str) -> Option<&str> {
        find_text(&self.root, name)
    }

    fn special_of_keys(&self, chain: &[u64]) -> Result<Vec<u64>, ForeignError> {
        let keys = keys(&self.top()?, &self.shared())?;
        let moduli = keys.first().and_then(|key| key.pairs.first()).map(|[b, _]| b.moduli()).unwrap_or_default();
        match moduli.strip_prefix(chain) {
            Some(special) => Ok(special.to_vec()),
            None => Err(ForeignError::field("keys: moduli", moduli.len(), "those of the context and special primes")),
        }
    }
}

/// The number of a shared object.
fn id(at: &At<'_>) -> Result<u64, ForeignError> {
    Ok(at.down(&["ptr_wrapper", "id"])?.whole()? & !FIRST)
}

/// The first object with a field of this name, and the field.
fn find<'a>(value: &'a Value, name: &str) -> Option<(&'a serde_json::Map<String, Value>, &'a Value)> {
    match value {
        Value::Object(fields) => match fields.get(name) {
            Some(found) => Some((fields, found)),
            None => fields.values().find_map(|field| find(field, name)),
        },
        // Numbers of polynomials hold nothing.
        Value::Array(items) if !items.first().is_some_and(Value::is_number) => {
            items.iter().find_map(|item| find(item, name))
        }
        _ => None,
    }
}

/// The first text of this name that names parameters.
fn find_text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| text.contains("CryptoParameters"))
            .or_else(|| fields.values().find_map(|field| find_text(field, name))),
        Value::Array(items) => items.iter().find_map(|item| find_text(item, name)),
        _ => None,
    }
}

/// Special primes by OpenFHE's rule.
fn special(chain: &[u64], dnum: usize, n: usize) -> Result<Vec<u64>, ForeignError> {
    let alpha = chain.len().div_ceil(dnum);
    let bits = |digit: &[u64]| digit.iter().map(|&q| limbwise_math::rns::to_f64(q).log2()).sum::<f64>();
    let widest = chain.chunks(alpha).map(bits).fold(0.0, f64::max).ceil();
    let count = (1..=MOST_LIMBS).find(|&count| count as f64 * f64::from(SPECIAL_BITS) >= widest).unwrap_or(MOST_LIMBS);
    let none = |e: prime::PrimesExhausted| ForeignError::field("context", e, "special primes of 60 bits");
    prime::ntt_primes_below(n.ilog2(), SPECIAL_BITS, count, chain).map_err(none)
}

/// Lists the objects that are shared, by their numbers.
fn gather<'a>(value: &'a Value, objects: &mut BTreeMap<u64, &'a Value>) {
    match value {
        Value::Object(fields) => {
            let number = fields.get("id").and_then(Value::as_u64);
            if let (Some(id), Some(data)) = (number.filter(|id| id & FIRST != 0), fields.get("data")) {
                objects.insert(id & !FIRST, data);
            }
            fields.values().for_each(|field| gather(field, objects));
        }
        Value::Array(items) if !items.first().is_some_and(Value::is_number) => {
            items.iter().for_each(|item| gather(item, objects));
        }
        _ => {}
    }
}

/// Shared objects by their numbers.
pub(super) struct Shared<'a> {
    objects: BTreeMap<u64, &'a Value>,
}

impl<'a> Shared<'a> {
    /// The largest number.
    pub(super) fn last(&self) -> u64 {
        self.objects.keys().last().copied().unwrap_or(0)
    }

    /// The object that a field holds or refers to.
    fn target(&self, at: &At<'a>) -> Result<At<'a>, ForeignError> {
        let wrapper = at.get("ptr_wrapper")?;
        if let Some(data) = wrapper.maybe("data") {
            return Ok(data);
        }
        let id = wrapper.get("id")?;
        let missing = || id.wrong("the number of an object in this file");
        let value = self.objects.get(&id.whole()?).ok_or_else(missing)?;
        Ok(At { value, path: format!("{} (object {})", at.path, id.value) })
    }

    /// The prime of a limb.
    fn prime(&self, at: &At<'a>) -> Result<Prime, ForeignError> {
        let data = self.target(at)?.get("value0")?;
        let (order, modulus, root) = (data.get("co")?, data.down(&["cm", "v"])?, data.down(&["ru", "v"])?);
        let (two_n, q, root_value) = (order.whole()?, modulus.whole()?, root.whole()?);
        let rings = (1u64 << (RINGS.start() + 1), 1u64 << (RINGS.end() + 1));
        if !two_n.is_power_of_two() || two_n < rings.0 || two_n > rings.1 {
            return Err(order.wrong(format!("a power of two from {} to {}", rings.0, rings.1)));
        }
        if q < 3 || q >> Modulus::MAX_BITS != 0 || q % two_n != 1 {
            return Err(modulus.wrong(format!("a prime of at most {} bits, 1 modulo {two_n}", Modulus::MAX_BITS)));
        }
        if root_value == 0 || root_value >= q {
            return Err(root.wrong(format!("a residue of {q}")));
        }
        let n = usize::try_from(two_n / 2).map_err(|_| order.wrong("a ring"))?;
        Ok(Prime { modulus: q, root: root_value, n })
    }

    /// The primes of parameters of polynomials.
    fn primes(&self, at: &At<'a>) -> Result<Vec<Prime>, ForeignError> {
        let list = self.target(at)?.get("p")?;
        let primes: Vec<Prime> =
            list.list(MOST_LIMBS)?.iter().map(|item| self.prime(item)).collect::<Result<_, _>>()?;
        match primes.first() {
            Some(first) if primes.iter().all(|prime| prime.n == first.n) => Ok(primes),
            _ => Err(list.wrong("primes of one ring")),
        }
    }

    /// A polynomial in its limbs.
    pub(super) fn polynomial(&self, at: &At<'a>) -> Result<Polynomial, ForeignError> {
        let form = |at: &At<'a>| {
            let field = at.get("f")?;
            match field.whole()? {
                0 => Ok(Form::Values),
                1 => Ok(Form::Coefficients),
                _ => Err(field.wrong("0 (values) or 1 (coefficients)")),
            }
        };
        let whole = form(at)?;
        let limb = |item: At<'a>| {
            if form(&item)? != whole {
                return Err(item.wrong("limbs of one form"));
            }
            let prime = self.prime(&item.get("p")?)?;
            let data = self.target(&item.get("v")?)?;
            let (modulus, values) = (data.down(&["m", "v"])?, data.get("v")?);
            if modulus.whole()? != prime.modulus {
                return Err(modulus.wrong(format!("{}, the prime of its parameters", prime.modulus)));
            }
            let items = values.value.as_array().filter(|items| items.len() == prime.n);
            let items = items.ok_or_else(|| values.wrong(format!("{} numbers (N)", prime.n)))?;
            // With room for all: what grows leaves its old place unwiped.
            let words = Vec::with_capacity(items.len());
            let mut limb = Limb { modulus: prime.modulus, root: Some(prime.root), words };
            for (i, item) in items.iter().enumerate() {
                let residue = item.as_u64().filter(|&x| x < prime.modulus);
                let wrong = || values.step(i, item).wrong(format!("a residue of {}", prime.modulus));
                limb.words.push(residue.ok_or_else(wrong)?);
            }
            Ok(limb)
        };
        let limbs: Vec<Limb> = at.get("v")?.list(MOST_LIMBS)?.into_iter().map(limb).collect::<Result<_, _>>()?;
        match limbs.first() {
            Some(first) if limbs.iter().all(|limb| limb.words.len() == first.words.len()) => {
                Ok(Polynomial { at: at.path.clone(), form: whole, limbs })
            }
            _ => Err(at.wrong("limbs of one ring")),
        }
    }

    /// A list of polynomials.
    fn several<T: TryFrom<Vec<Polynomial>>>(&self, at: &At<'a>, count: usize) -> Result<T, ForeignError> {
        let all: Vec<Polynomial> =
            at.list(count)?.iter().map(|item| self.polynomial(item)).collect::<Result<_, _>>()?;
        T::try_from(all).map_err(|_| at.wrong(format!("{count} polynomials")))
    }
}

fn ciphertext<'a>(
    data: &At<'a>,
    parts: &At<'a>,
    scale: &At<'a>,
    shared: &Shared<'a>,
) -> Result<ForeignCiphertext, ForeignError> {
    let encoding = data.get("e")?;
    if encoding.whole()? != 4 {
        return Err(encoding.wrong("4, the packed encoding of CKKS"));
    }
    let slots = data.get("sl")?;
    let count = usize::try_from(slots.whole()?).map_err(|_| slots.wrong("a number of slots"))?;
    let parts: Vec<Polynomial> = shared.several(parts, 3)?;
    Ok(ForeignCiphertext { parts, scale: scale.number()?, slots: count })
}

/// The maps of evaluation keys: of products, a list a secret key; of automorphisms, a map by Galois element.
fn keys<'a>(top: &At<'a>, shared: &Shared<'a>) -> Result<Vec<ForeignKey>, ForeignError> {
    let sets = top.list(1)?;
    let value = sets.first().ok_or_else(|| top.wrong("the keys of one secret key"))?.get("value")?;
    if value.value.is_array() {
        // s² → s is the first; keys of higher powers come after it and have no use here.
        let first = value.list(MOST_LIMBS)?.into_iter().next().ok_or_else(|| value.wrong("a key"))?;
        return Ok(vec![key(&first, None, shared)?]);
    }
    let entry = |item: At<'a>| {
        let element = item.get("key")?;
        let galois = u32::try_from(element.whole()?).map_err(|_| element.wrong("a Galois element"))?;
        key(&item.get("value")?, Some(galois), shared)
    };
    shared.target(&value)?.list(1 << 17)?.into_iter().map(entry).collect()
}

fn key<'a>(at: &At<'a>, galois: Option<u32>, shared: &Shared<'a>) -> Result<ForeignKey, ForeignError> {
    let data = shared.target(at)?;
    let halves = |name: &str| {
        data.get(name)?.list(MOST_LIMBS)?.iter().map(|item| shared.polynomial(item)).collect::<Result<Vec<_>, _>>()
    };
    let (uniform, masked) = (halves("ak")?, halves("bk")?);
    if uniform.is_empty() || uniform.len() != masked.len() {
        return Err(data.wrong(format!("as many halves ak ({}) as bk ({})", uniform.len(), masked.len())));
    }
    // OpenFHE switches first and turns afterwards.
    Ok(ForeignKey { galois, pairs: masked.into_iter().zip(uniform).map(|(b, a)| [b, a]).collect(), before: true })
}
