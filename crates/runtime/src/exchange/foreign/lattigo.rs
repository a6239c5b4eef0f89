//! Files that Lattigo 6 wrote in its binary form (`MarshalBinary`, `WriteTo`), and its parameters as JSON. Source: \[LATTIGO\].
//!
//! A polynomial is a matrix: the number of limbs, then of each its length and its words, all of 64 bits, lowest byte first. The
//! moduli are not in the file; they are those of the parameters. Values are in bit-reversed order at powers of the least
//! root. A ciphertext begins with 1 and its metadata as JSON; keys have their words in Montgomery form. Nothing in a file
//! says what it is: what one kind takes to its last byte, the others do not.

use super::{
    error::ForeignError,
    parts::{Chain, Content, ForeignCiphertext, ForeignKey, Form, Limb, Polynomial},
};
use limbwise::params::{Params, Secret};
use limbwise_device::Basis;
use limbwise_math::modulus::Modulus;
use serde::Deserialize;

/// Most limbs of a polynomial, digits of a key, and keys of a set.
const MOST_LIMBS: u64 = 128;
const MOST_KEYS: u64 = 1 << 17;
/// Most bytes of metadata.
const MOST_TEXT: usize = 4096;
/// Digits of a scale behind the point.
const DIGITS: usize = 39;

/// Parameters of CKKS as Lattigo writes them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Written {
    #[serde(rename = "LogN")]
    log_n: u32,
    q: Vec<u64>,
    p: Option<Vec<u64>>,
    xe: Distribution,
    xs: Distribution,
    ring_type: String,
    log_default_scale: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Distribution {
    r#type: String,
    #[serde(default)]
    sigma: f64,
    #[serde(default)]
    h: usize,
}

/// Reads parameters.
///
/// # Errors
/// [`ForeignError`] for what is no such JSON, and for rings and distributions without a counterpart here.
pub fn chain(bytes: &[u8]) -> Result<Chain, ForeignError> {
    let wrong =
        |e: serde_json::Error| ForeignError::Format { format: "parameters of Lattigo as JSON", got: e.to_string() };
    let written: Written = serde_json::from_slice(bytes).map_err(wrong)?;
    if written.ring_type != "Standard" {
        return Err(ForeignError::field("RingType", written.ring_type, "Standard"));
    }
    let secret = match (&*written.xs.r#type, written.xs.h) {
        ("Ternary", 0) => Secret::Ternary,
        ("Ternary", weight) => Secret::FixedWeight(weight),
        (other, _) => return Err(ForeignError::field("Xs.Type", other, "Ternary")),
    };
    if written.xe.r#type != "DiscreteGaussian" {
        return Err(ForeignError::field("Xe.Type", written.xe.r#type, "DiscreteGaussian"));
    }
    let special = written.p.unwrap_or_default();
    // A digit has as many primes as P.
    let dnum = written.q.len().div_ceil(special.len().max(1)).max(1);
    let (log_n, log_scale, sigma) = (written.log_n, written.log_default_scale, written.xe.sigma);
    Ok(Chain { log_n, moduli: written.q, special, dnum, log_scale, secret, sigma })
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Metadata {
    plaintext_meta_data: PlaintextMetadata,
    ciphertext_meta_data: CiphertextMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct PlaintextMetadata {
    scale: Scale,
    is_batched: String,
    is_bit_reversed: String,
    log_dimensions: [String; 2],
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Scale {
    value: String,
    r#mod: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CiphertextMetadata {
    #[serde(rename = "IsNTT")]
    is_ntt: String,
    #[serde(rename = "IsMontgomery")]
    is_montgomery: String,
}

/// A flag or a small number as Lattigo writes it: `0x01`.
fn hex(text: &str, at: &str) -> Result<u8, ForeignError> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() <= 2);
    let parsed = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    parsed.ok_or_else(|| {
        ForeignError::field(at, format!("{:?}", text.chars().take(20).collect::<String>()), "0x00 to 0xff")
    })
}

/// How the words of a polynomial are to be understood.
#[derive(Clone, Copy)]
struct Words {
    form: Form,
    montgomery: bool,
}

/// Keys are values in Montgomery form.
const OF_KEYS: Words = Words { form: Form::Values, montgomery: true };

/// Bytes with a place.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    params: &'a Params,
}

impl<'a> Cursor<'a> {
    fn wrong(&self, got: impl ToString, wanted: impl ToString) -> ForeignError {
        ForeignError::field(format!("byte {}", self.at), got, wanted)
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], ForeignError> {
        let rest = self.left();
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let taken = taken.ok_or_else(|| self.wrong(format!("{rest} bytes to the end"), format!("{count}")))?;
        self.at += count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, ForeignError> {
        Ok(self.take(1)?[0])
    }

    fn word(&mut self) -> Result<u64, ForeignError> {
        Ok(u64::from_le_bytes(*self.take(8)?.first_chunk().unwrap_or(&[0; 8])))
    }

    /// A number of items, at most so many.
    fn count(&mut self, most: u64, what: &str) -> Result<usize, ForeignError> {
        let begin = self.at;
        let got = self.word()?;
        let fits = usize::try_from(got).ok().filter(|_| got <= most);
        let at = format!("byte {begin}");
        fits.ok_or_else(|| ForeignError::field(at, format!("{got} {what}"), format!("at most {most}")))
    }

    /// The limbs of a polynomial over the primes of a basis from its first: as many as it says.
    fn limbs(&mut self, basis: Basis, words: Words) -> Result<Vec<Limb>, ForeignError> {
        let (moduli, begin) = (self.params.ring().moduli_of(basis), self.at);
        let count = self.count(MOST_LIMBS, "limbs")?;
        if count > moduli.len() {
            let wanted = format!("at most {}, the primes of the parameters", moduli.len());
            return Err(ForeignError::field(format!("byte {begin}"), format!("{count} limbs"), wanted));
        }
        moduli.into_iter().take(count).map(|q| self.limb(q, words)).collect()
    }

    fn limb(&mut self, q: Modulus, form: Words) -> Result<Limb, ForeignError> {
        let (n, begin) = (self.params.ring().n(), self.at);
        let length = self.word()?;
        if usize::try_from(length) != Ok(n) {
            let at = format!("byte {begin}");
            return Err(ForeignError::field(at, format!("a limb of {length} words"), format!("{n} (N)")));
        }
        let begin = self.at;
        let bytes = self.take(8 * n)?;
        // x·2^64 stands for x.
        let back = q.inv(q.reduce_wide(1 << 64));
        let word = |(i, bytes): (usize, &[u8; 8])| {
            let x = u64::from_le_bytes(*bytes);
            let wanted = || format!("a residue of {}", q.value());
            let canonical = (x < q.value()).then_some(x);
            let x = canonical.ok_or_else(|| ForeignError::field(format!("byte {}", begin + 8 * i), x, wanted()))?;
            Ok::<_, ForeignError>(if form.montgomery { q.mul(x, back) } else { x })
        };
        // With room for all: what grows leaves its old place unwiped.
        let mut limb = Limb { modulus: q.value(), root: None, words: Vec::with_capacity(n) };
        for one in bytes.as_chunks::<8>().0.iter().enumerate() {
            limb.words.push(word(one)?);
        }
        Ok(limb)
    }

    fn over_q(&mut self, words: Words) -> Result<Polynomial, ForeignError> {
        let (at, chain) = (format!("byte {}", self.at), self.params.reached(self.params.top_level()));
        Ok(Polynomial { at, form: words.form, limbs: self.limbs(chain, words)? })
    }

    /// A polynomial over Q, then over P.
    fn over_qp(&mut self) -> Result<Polynomial, ForeignError> {
        let mut poly = self.over_q(OF_KEYS)?;
        poly.limbs.extend(self.limbs(self.params.special(), OF_KEYS)?);
        Ok(poly)
    }

    fn pair(&mut self) -> Result<[Polynomial; 2], ForeignError> {
        let begin = self.at;
        match self.count(2, "polynomials")? {
            2 => Ok([self.over_qp()?, self.over_qp()?]),
            got => {
                let wanted =
                    "2; a compressed key has its second half as a seed of Lattigo's, which is not expanded here";
                Err(ForeignError::field(format!("byte {begin}"), format!("{got} polynomials"), wanted))
            }
        }
    }

    fn metadata(&mut self) -> Result<Metadata, ForeignError> {
        let begin = self.at;
        let rest = &self.bytes[begin..];
        let text = &rest[..rest.len().min(MOST_TEXT)];
        let mut found = serde_json::Deserializer::from_slice(text).into_iter::<Metadata>();
        let metadata = found.next().ok_or_else(|| self.wrong("the end", "metadata as JSON"))?;
        let metadata = metadata.map_err(|e| self.wrong(e, "metadata as JSON"))?;
        self.at += found.byte_offset();
        Ok(metadata)
    }

    fn ciphertext(&mut self) -> Result<Content, ForeignError> {
        if self.byte()? != 1 {
            return Err(ForeignError::field("byte 0", "no metadata", "1 and metadata"));
        }
        let Metadata { plaintext_meta_data: plain, ciphertext_meta_data: cipher } = self.metadata()?;
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
        let scale = number(&plain.scale.value).ok_or_else(|| self.wrong(&plain.scale.value, "a scale"))?;
        if number(&plain.scale.r#mod) != Some(0.0) {
            return Err(self.wrong("a scale with a modulus, of BGV or BFV", "a ciphertext of CKKS"));
        }
        if hex(&plain.is_batched, "IsBatched")? != 1 || hex(&plain.is_bit_reversed, "IsBitReversed")? != 0 {
            return Err(self.wrong("values in coefficients or in bit-reversed order", "values in slots (IsBatched)"));
        }
        let [rows, columns] = [hex(&plain.log_dimensions[0], "rows")?, hex(&plain.log_dimensions[1], "columns")?];
        if rows != 0 || u32::from(columns) >= self.params.log_n() {
            let wanted = format!("rows 2^0, columns up to 2^{}", self.params.log_n() - 1);
            return Err(self.wrong(format!("rows 2^{rows}, columns 2^{columns}"), wanted));
        }
        let form = match hex(&cipher.is_ntt, "IsNTT")? {
            0 => Form::Coefficients,
            _ => Form::Values,
        };
        let words = Words { form, montgomery: hex(&cipher.is_montgomery, "IsMontgomery")? != 0 };
        let count = self.count(3, "polynomials")?;
        let parts = (0..count).map(|_| self.over_q(words)).collect::<Result<_, _>>()?;
        Ok(Content::Ciphertext(ForeignCiphertext { parts, scale, slots: 1 << columns }))
    }

    /// An evaluation key without its name.
    fn gadget(&mut self, galois: Option<u32>) -> Result<ForeignKey, ForeignError> {
        let begin = self.at;
        let base = self.word()?;
        if base != 0 {
            let at = format!("byte {begin}");
            return Err(ForeignError::field(at, format!("digits of {base} bits"), "0: one digit a group of primes"));
        }
        let digits = self.count(MOST_LIMBS, "digits")?;
        let mut pairs = Vec::with_capacity(digits);
        for _ in 0..digits {
            if self.count(1, "columns")? != 1 {
                return Err(self.wrong("no column", "1"));
            }
            pairs.push(self.pair()?);
        }
        // Lattigo switches first and turns afterwards.
        Ok(ForeignKey { galois, pairs, before: true })
    }

    fn galois(&mut self) -> Result<ForeignKey, ForeignError> {
        let begin = self.at;
        let (element, order) = (self.word()?, self.word()?);
        if order != 2 << self.params.log_n() || element >= order {
            let wanted = format!("an element below 2N = {}", 2u64 << self.params.log_n());
            return Err(ForeignError::field(format!("byte {begin}"), format!("{element} of order {order}"), wanted));
        }
        self.gadget(u32::try_from(element).ok())
    }

    /// A key set: the relinearization key and Galois keys by their elements.
    fn set(&mut self) -> Result<Content, ForeignError> {
        let mut keys = Vec::new();
        match self.byte()? {
            0 => {}
            1 => keys.push(self.gadget(None)?),
            other => return Err(ForeignError::field("byte 0", other, "0 or 1: whether a relinearization key follows")),
        }
        if self.byte()? == 1 {
            let begin = self.at;
            let count = u32::from_le_bytes(*self.take(4)?.first_chunk().unwrap_or(&[0; 4]));
            if u64::from(count) > MOST_KEYS {
                let at = format!("byte {begin}");
                return Err(ForeignError::field(at, format!("{count} keys"), format!("at most {MOST_KEYS}")));
            }
            for _ in 0..count {
                let begin = self.at;
                let (named, key) = (self.word()?, self.galois()?);
                if key.galois.map(u64::from) != Some(named) {
                    return Err(ForeignError::field(format!("byte {begin}"), named, "the Galois element of the key"));
                }
                keys.push(key);
            }
        }
        Ok(Content::Keys(keys))
    }
}

type Reader = for<'a> fn(&mut Cursor<'a>) -> Result<Content, ForeignError>;

/// The kinds, with the readers that tell them apart.
const KINDS: [Reader; 6] = [
    |cursor| cursor.ciphertext(),
    |cursor| cursor.set(),
    |cursor| Ok(Content::Keys(vec![cursor.gadget(None)?])),
    |cursor| Ok(Content::Keys(vec![cursor.galois()?])),
    |cursor| Ok(Content::SecretKey(cursor.over_qp()?)),
    |cursor| {
        let pair = cursor.pair()?;
        Ok(Content::PublicKey(pair))
    },
];

/// Reads a file for these parameters.
///
/// # Errors
/// [`ForeignError::Field`] with the byte, by the reader that came farthest, for a file that no kind takes to its end.
pub fn read(bytes: &[u8], params: &Params) -> Result<Content, ForeignError> {
    let mut farthest = (0, None);
    for kind in KINDS {
        let mut cursor = Cursor { bytes, at: 0, params };
        let error = match kind(&mut cursor) {
            Ok(content) if cursor.left() == 0 => return Ok(content),
            Ok(content) => {
                cursor.wrong(format!("{} more bytes", cursor.left()), format!("the end after {}", content.kind()))
            }
            Err(error) => error,
        };
        if farthest.1.is_none() || cursor.at > farthest.0 {
            farthest = (cursor.at, Some(error));
        }
    }
    let empty = || ForeignError::Format { format: "a file of Lattigo", got: "nothing".into() };
    Err(farthest.1.unwrap_or_else(empty))
}

/// A ciphertext in Lattigo's form. Lattigo reads as many bytes of metadata as its own numbers have: 39 digits behind the
/// point, exponents of two.
#[must_use]
pub fn write(theirs: &ForeignCiphertext) -> Vec<u8> {
    let text = format!("{:.DIGITS$e}", theirs.scale);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let values = theirs.parts.iter().any(|part| part.form == Form::Values);
    let (zero, ntt, columns) = ("0".repeat(DIGITS), u8::from(values), theirs.slots.ilog2());
    let metadata = format!(
        "{{\"PlaintextMetaData\":{{\"Scale\":{{\"Value\":\"{digits}e+{exponent:0>2}\",\"Mod\":\"0.{zero}e+00\"}},\
         \"IsBatched\":\"0x01\",\"IsBitReversed\":\"0x00\",\"LogDimensions\":[\"0x00\",\"0x{columns:02x}\"]}},\
         \"CiphertextMetaData\":{{\"IsNTT\":\"0x{ntt:02x}\",\"IsMontgomery\":\"0x00\"}}}}"
    );
    let mut out = vec![1];
    out.extend(metadata.bytes());
    let mut word = |x: u64| out.extend(x.to_le_bytes());
    word(theirs.parts.len() as u64);
    for part in &theirs.parts {
        word(part.limbs.len() as u64);
        for limb in &part.limbs {
            word(limb.words.len() as u64);
            limb.words.iter().for_each(|&x| word(x));
        }
    }
    out
}
