//! Changes by form: what a target's stored inputs become, with checksums and lengths made right where the form has them.
//!
//! Nothing here measures coverage, which a stable compiler does not offer: knowing the form brings changed bytes past its
//! checksums, and an input whose error has a new text joins the pool ([`crate::driver`]).

use crate::{
    forge::{Dice, Others, Parts, damaged, lie},
    targets::Form,
};
use flate2::{Compression, Crc, read::GzDecoder, write::GzEncoder};
use std::io::{Read as _, Write as _};

/// Longest input.
pub const MOST: usize = 64 << 10;
/// Longest text that a compressed input is taken apart to.
const MOST_UNPACKED: u64 = 1 << 20;
const PNG_START: usize = 8;

/// Numbers at which readers differ, written in any width.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 63,
    u64::MAX,
];
/// Words that readers of text treat differently.
const WORDS: [&str; 24] = [
    "nan",
    "-inf",
    "1e999",
    "-0",
    "1e-320",
    "18446744073709551616",
    "-9223372036854775808",
    "0x10",
    "1_0",
    "",
    "\"",
    "'",
    "\"\"\"",
    "\\",
    "\u{feff}",
    "\u{0}",
    ",",
    ";",
    "\t",
    "=",
    "[[",
    "{",
    "null",
    "2147483648",
];
const BRACKETS: [(&str, &str); 5] = [("(", ")"), ("[", "]"), ("{", "}"), ("NOT ", ""), ("-", "")];

/// A file that changes start from.
struct Entry {
    bytes: Vec<u8>,
    /// Of a container.
    parts: Option<Parts>,
}

/// The inputs of a target that changes start from.
pub struct Pool {
    form: Form,
    /// How many of the first entries are stored ones; the others were kept.
    stored: usize,
    entries: Vec<Entry>,
    others: Others,
}

impl Pool {
    /// Of stored inputs, at least one.
    #[must_use]
    pub fn new(form: Form, stored: Vec<Vec<u8>>) -> Self {
        assert!(!stored.is_empty(), "a target has a stored input");
        let mut pool = Self {
            form,
            stored: stored.len(),
            entries: Vec::new(),
            others: Others { strangers: Vec::new(), own: Vec::new() },
        };
        stored.into_iter().for_each(|bytes| pool.add(bytes));
        pool
    }

    /// One more to start from.
    pub fn add(&mut self, bytes: Vec<u8>) {
        let parts = if self.form == Form::Container { Parts::of(&bytes) } else { None };
        self.others.strangers.extend(parts.clone());
        self.entries.push(Entry { bytes, parts });
    }

    /// A changed input, at most [`MOST`] bytes unless a stored one is longer.
    #[must_use]
    pub fn input(&self, dice: &mut Dice) -> Vec<u8> {
        // Kept inputs are most of a pool and are refused as they are: stored ones come first.
        let among = if dice.below(4) == 0 { self.entries.len() } else { self.stored };
        let entry = &self.entries[dice.below(among)];
        let other = &self.entries[dice.below(self.entries.len())];
        let most = entry.bytes.len().max(MOST);
        let mut input = match (&entry.parts, self.form) {
            (Some(parts), _) if dice.below(4) > 0 => self.sealed(parts, dice),
            (_, Form::Json | Form::Safetensors | Form::Sealed) if dice.below(4) == 0 => {
                bytes(&entry.bytes, &other.bytes, dice)
            }
            (_, Form::Json) => json(&entry.bytes, dice),
            (_, Form::Sealed) => resealed(&entry.bytes, dice),
            (_, Form::Safetensors) => safetensors(&entry.bytes, dice),
            (_, Form::Text) => text(&entry.bytes, &other.bytes, dice),
            (_, Form::Png) => png(&entry.bytes, &other.bytes, dice),
            (_, Form::Http) => http(&entry.bytes, &other.bytes, dice),
            (..) if entry.bytes.starts_with(&[0x1f, 0x8b]) => gzip(&entry.bytes, &other.bytes, dice),
            (..) => bytes(&entry.bytes, &other.bytes, dice),
        };
        input.truncate(most);
        input
    }

    fn sealed(&self, parts: &Parts, dice: &mut Dice) -> Vec<u8> {
        let mut changed = parts.changed(dice, &self.others);
        if dice.below(3) == 0 {
            changed.scribble(dice, |part, dice| bytes(part, part, dice));
        }
        changed.sealed()
    }
}

/// A record in JSON with one lie, its checksum made right; what is no record, damaged.
#[must_use]
pub fn resealed(record: &[u8], dice: &mut Dice) -> Vec<u8> {
    use limbwise_runtime::sealed::{seal, unseal};
    let Ok(content) = unseal::<serde_json::Value>(record) else { return damaged(record, dice) };
    let lied = lie(content.to_string().as_bytes(), dice);
    let content: serde_json::Value = serde_json::from_slice(&lied).unwrap_or(content);
    seal(&content).unwrap_or_else(|_| record.to_vec())
}

/// JSON with some lies; of several lines, in some of them.
fn json(whole: &[u8], dice: &mut Dice) -> Vec<u8> {
    if serde_json::from_slice::<serde_json::Value>(whole).is_ok() {
        return (0..=dice.below(3)).fold(whole.to_vec(), |text, _| lie(&text, dice));
    }
    let mut lines: Vec<Vec<u8>> = whole.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=dice.below(2) {
        let at = dice.below(lines.len());
        lines[at] = lie(&lines[at], dice);
    }
    lines.join(&b'\n')
}

/// Bytes without regard to a form, some of them those of another input.
fn bytes(whole: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut changed = whole.to_vec();
    for _ in 0..1 << dice.below(4) {
        match dice.below(8) {
            0 => number(&mut changed, dice),
            1 => splice(&mut changed, other, dice),
            2 if !changed.is_empty() => {
                // A piece twice, as a length that disagrees with a count.
                let (at, end) = piece(changed.len(), dice);
                let copy = changed[at..end].to_vec();
                changed.splice(end..end, copy);
            }
            3 if !changed.is_empty() => {
                let at = dice.below(changed.len());
                changed[at] = dice.byte();
            }
            _ if changed.is_empty() => changed.push(dice.byte()),
            _ => changed = damaged(&changed, dice),
        }
    }
    changed
}

/// Start and end of a piece of at most 64 of so many bytes.
fn piece(length: usize, dice: &mut Dice) -> (usize, usize) {
    let at = dice.below(length);
    (at, (at + 1 + dice.below(64)).min(length))
}

/// A telling number, or one near what is there, over 1, 2, 4 or 8 bytes in either order.
fn number(bytes: &mut [u8], dice: &mut Dice) {
    let width = 1 << dice.below(4);
    let Some(last) = bytes.len().checked_sub(width) else { return };
    // Lengths and counts stand in front more often than anywhere.
    let at = if dice.below(2) == 0 { dice.below(last.min(64) + 1) } else { dice.below(last + 1) };
    let field = &mut bytes[at..at + width];
    let mut there = [0; 8];
    there[..width].copy_from_slice(field);
    let near = u64::from_le_bytes(there).wrapping_add(dice.word() % 5).wrapping_sub(2);
    let number = if dice.below(3) == 0 { near } else { NUMBERS[dice.below(NUMBERS.len())] };
    field.copy_from_slice(&number.to_le_bytes()[..width]);
    if dice.below(3) == 0 {
        field.reverse();
    }
}

fn splice(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    if other.is_empty() {
        return;
    }
    let (start, end) = piece(other.len(), dice);
    let at = dice.below(bytes.len() + 1);
    let over = if dice.below(2) == 0 { at } else { (at + end - start).min(bytes.len()) };
    bytes.splice(at..over, other[start..end].iter().copied());
}

/// Lines moved, doubled and dropped; words replaced by telling ones or by those of another input; brackets in brackets.
fn text(whole: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut changed = whole.to_vec();
    for _ in 0..1 << dice.below(3) {
        changed = match dice.below(8) {
            0 | 1 => lines(&changed, other, dice),
            2..=5 => word(&changed, other, dice),
            6 if dice.below(8) == 0 => nested(&changed, dice),
            _ => bytes(&changed, other, dice),
        };
    }
    changed
}

fn lines(whole: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = whole.split(|&b| b == b'\n').collect();
    let others: Vec<&[u8]> = other.split(|&b| b == b'\n').collect();
    let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(4) {
        0 => lines.swap(a, b),
        1 => lines.insert(a, lines[b]),
        2 => lines.insert(a, others[dice.below(others.len())]),
        _ => drop(lines.remove(a)),
    }
    lines.join(&b'\n')
}

/// The words of a text, as ranges.
fn words(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"_.-+".contains(b);
    let mut found = Vec::new();
    let mut start = None;
    for (at, byte) in text.iter().enumerate() {
        match (start, part(byte)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                found.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    found.extend(start.map(|from| from..text.len()));
    found
}

fn word(whole: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let places = words(whole);
    if places.is_empty() {
        return whole.to_vec();
    }
    let place = places[dice.below(places.len())].clone();
    let others = words(other);
    let new = match dice.below(3) {
        0 if !others.is_empty() => other[others[dice.below(others.len())].clone()].to_vec(),
        1 => NUMBERS[dice.below(NUMBERS.len())].to_string().into_bytes(),
        _ => WORDS[dice.below(WORDS.len())].into(),
    };
    [&whole[..place.start], &new, &whole[place.end..]].concat()
}

/// A word in as many brackets as a stack may not hold.
fn nested(whole: &[u8], dice: &mut Dice) -> Vec<u8> {
    let places = words(whole);
    let place = if places.is_empty() { 0..0 } else { places[dice.below(places.len())].clone() };
    let (open, close) = BRACKETS[dice.below(BRACKETS.len())];
    let depth = 1 << dice.below(14);
    let (open, close) = (open.repeat(depth), close.repeat(depth));
    [&whole[..place.start], open.as_bytes(), &whole[place.clone()], close.as_bytes(), &whole[place.end..]].concat()
}

/// A PNG's chunks changed, their checksums right.
fn png(whole: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let (Some(mut chunks), true) = (chunks(whole), dice.below(4) > 0) else { return bytes(whole, other, dice) };
    let at = dice.below(chunks.len());
    match dice.below(6) {
        0 => chunks.swap(at, 0),
        1 => chunks.insert(at, chunks[at].clone()),
        2 => drop(chunks.remove(at)),
        3 => chunks[at].0 = [*b"IDAT", *b"PLTE", *b"tRNS", *b"IEND", *b"acTL", *b"fdAT"][dice.below(6)],
        _ => chunks[at].1 = bytes(&chunks[at].1, &chunks[at].1, dice),
    }
    let mut file = whole[..PNG_START].to_vec();
    for (kind, data) in &chunks {
        let mut crc = Crc::new();
        crc.update(kind);
        crc.update(data);
        file.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
        file.extend([&kind[..], data].concat());
        file.extend(crc.sum().to_be_bytes());
    }
    file
}

type Chunk = ([u8; 4], Vec<u8>);

fn chunks(whole: &[u8]) -> Option<Vec<Chunk>> {
    let mut at = PNG_START;
    let mut chunks = Vec::new();
    while at < whole.len() {
        let length = u32::from_be_bytes(whole.get(at..at + 4)?.try_into().ok()?) as usize;
        let kind = whole.get(at + 4..at + 8)?.try_into().ok()?;
        chunks.push((kind, whole.get(at + 8..at + 8 + length)?.to_vec()));
        at += length + 12;
    }
    (!chunks.is_empty()).then_some(chunks)
}

/// What a gzip file holds changed, and packed again; or the file itself.
fn gzip(whole: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut inner = Vec::new();
    if dice.below(4) == 0 || GzDecoder::new(whole).take(MOST_UNPACKED).read_to_end(&mut inner).is_err() {
        return bytes(whole, other, dice);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    match packed.write_all(&bytes(&inner, other, dice)).and_then(|()| packed.finish()) {
        Ok(packed) => packed,
        Err(_) => whole.to_vec(),
    }
}

/// The header with lies, its length right.
fn safetensors(whole: &[u8], dice: &mut Dice) -> Vec<u8> {
    let length = whole.get(..8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes);
    let Some(end) = usize::try_from(length).ok().and_then(|n| n.checked_add(8)).filter(|&end| end <= whole.len())
    else {
        return damaged(whole, dice);
    };
    let header = json(&whole[8..end], dice);
    [&(header.len() as u64).to_le_bytes()[..], &header, &whole[end..]].concat()
}

/// Lines and body of a request changed; three times of four the body's length is right.
fn http(whole: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let Some(end) = whole.windows(4).position(|four| four == b"\r\n\r\n") else { return text(whole, other, dice) };
    let (mut head, mut body) = (whole[..end].to_vec(), whole[end + 4..].to_vec());
    match dice.below(3) {
        0 => head = text(&head, other, dice),
        1 => body = if dice.below(2) == 0 { json(&body, dice) } else { bytes(&body, other, dice) },
        _ => head = word(&head, other, dice),
    }
    if dice.below(4) > 0 {
        let kept = head.split(|&b| b == b'\n').filter(|line| !line.to_ascii_lowercase().starts_with(b"content-length"));
        head = kept.collect::<Vec<_>>().join(&b'\n');
        head.truncate(head.trim_ascii_end().len());
        head.extend(format!("\r\nContent-Length: {}", body.len()).into_bytes());
    }
    [&head[..], b"\r\n\r\n", &body].concat()
}
