//! Files of the container's format taken apart and put together again, with checksums made right; and changes to them.

use limbwise_math::sampling::{Seed, Stream};
use serde_json::Value;

/// Randomness that a number repeats.
pub struct Dice(Stream);

impl Dice {
    pub fn new(number: u64) -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        Self(Stream::new(&Seed(seed), b"campaign"))
    }

    pub fn word(&mut self) -> u64 {
        self.0.next_word()
    }

    /// A number below another, or 0.
    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.word() % most.max(1) as u64).unwrap_or(0)
    }

    pub fn byte(&mut self) -> u8 {
        self.word().to_le_bytes()[0]
    }
}

/// Files that a change may take parts from.
pub struct Others {
    /// Of other key sets.
    pub strangers: Vec<Parts>,
    /// Of the client's own, for other inputs.
    pub own: Vec<Parts>,
}

/// A container's file in parts.
#[derive(Clone)]
pub struct Parts {
    /// Bytes 0 to 15: magic, version, kind, length of the header.
    start: Vec<u8>,
    /// Fingerprint and origin.
    names: Vec<u8>,
    header: Vec<u8>,
    blocks: Vec<Vec<u8>>,
}

impl Parts {
    /// Of an honest file; none of any other. Where blocks end is found by their checksums.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let names = if *bytes.get(8)? == 1 { 32 } else { 136 };
        let length = u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?) as usize;
        let digest: [u8; 32] = bytes.get(16 + names..48 + names)?.try_into().ok()?;
        let mut at = 48 + names + length;
        let header = bytes.get(48 + names..at)?.to_vec();
        let mut blocks = Vec::new();
        while at < bytes.len() {
            let mut hasher = blake3::Hasher::new_keyed(&digest);
            let mut end = at;
            let number = (blocks.len() as u64).to_le_bytes();
            while hasher.clone().update(&number).finalize().as_bytes()[..16] != *bytes.get(end..end + 16)? {
                hasher.update(&bytes[end..=end]);
                end += 1;
            }
            blocks.push(bytes[at..end].to_vec());
            at = end + 16;
        }
        Some(Self { start: bytes[..16].to_vec(), names: bytes[16..16 + names].to_vec(), header, blocks })
    }

    /// The file, its checksums right.
    pub fn sealed(&self) -> Vec<u8> {
        let mut file = self.start.clone();
        file[12..16].copy_from_slice(&u32::try_from(self.header.len()).unwrap_or(u32::MAX).to_le_bytes());
        file.extend(&self.names);
        let digest = *blake3::hash(&[&file[..], &self.header].concat()).as_bytes();
        file.extend(digest);
        file.extend(&self.header);
        for (number, block) in (0u64..).zip(&self.blocks) {
            let hash = blake3::Hasher::new_keyed(&digest).update(block).update(&number.to_le_bytes()).finalize();
            file.extend(block);
            file.extend(&hash.as_bytes()[..16]);
        }
        file
    }

    /// One change somewhere: in the names, in a field of the header, in a block, in their order; or a part of another file.
    ///
    /// Contents of the client's own key set are never put under another label: whoever writes a file writes its label, and
    /// `SECURITY.md` says what that means. Only strangers' contents are.
    pub fn changed(&self, dice: &mut Dice, Others { strangers, own }: &Others) -> Self {
        let mut changed = self.clone();
        let stranger = &strangers[dice.below(strangers.len())];
        let others = own.iter().chain(strangers);
        let other = others.clone().nth(dice.below(own.len() + strangers.len())).unwrap_or(stranger);
        match dice.below(11) {
            0 => flip(&mut changed.names, dice),
            1 => changed.names.clone_from(&other.names),
            2 | 3 => changed.header = lie(&self.header, dice),
            4 => changed.header.clone_from(&other.header),
            5 => {
                let at = dice.below(self.blocks.len());
                if let Some(block) = changed.blocks.get_mut(at) {
                    flip(block, dice);
                }
            }
            6 => {
                let at = dice.below(self.blocks.len());
                if let Some(block) = changed.blocks.get_mut(at) {
                    block.fill([0, 127, 254][dice.below(3)]);
                }
            }
            7 if self.blocks.len() > 1 => {
                let (a, b) = (dice.below(self.blocks.len()), dice.below(self.blocks.len()));
                changed.blocks.swap(a, b);
            }
            8 => changed.blocks.clone_from(&stranger.blocks),
            9 => changed = other.clone(),
            _ => {
                changed.blocks.pop();
                changed.start[10] = dice.byte() % 20;
            }
        }
        changed
    }
}

impl Parts {
    /// The header or a block changed without regard to what it means.
    pub fn scribble(&mut self, dice: &mut Dice, change: impl FnOnce(&[u8], &mut Dice) -> Vec<u8>) {
        let at = dice.below(self.blocks.len() + 1);
        let part = self.blocks.get_mut(at).unwrap_or(&mut self.header);
        *part = change(part, dice);
    }
}

/// Bytes changed without regard to any format: bits, a piece cut out, a piece put in, an end.
pub fn damaged(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    match dice.below(4) {
        _ if bytes.is_empty() => {}
        0 => flip(&mut damaged, dice),
        1 => damaged.truncate(dice.below(bytes.len())),
        2 => {
            let at = dice.below(bytes.len());
            let more = vec![dice.byte(); 1 + dice.below(40)];
            damaged.splice(at..at, more);
        }
        _ => {
            let at = dice.below(bytes.len());
            let end = (at + 1 + dice.below(20)).min(bytes.len());
            damaged.drain(at..end);
        }
    }
    damaged
}

fn flip(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << dice.below(8);
    }
}

/// JSON with one of its values replaced, removed, or joined by another.
pub fn lie(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(text) else { return text.to_vec() };
    let mut places = Vec::new();
    list(&value, String::new(), &mut places);
    let place = places[dice.below(places.len())].clone();
    let lies = [
        Value::Null,
        true.into(),
        0.into(),
        1.into(),
        (-1).into(),
        u64::MAX.into(),
        i64::MIN.into(),
        65_536.into(),
        1e308.into(),
        5e-324.into(),
        1e-40.into(),
        0.5.into(),
        "".into(),
        "server".into(),
        Value::Array(Vec::new()),
        Value::Object(serde_json::Map::new()),
    ];
    let lie = lies[dice.below(lies.len())].clone();
    match (dice.below(5), place.rsplit_once('/')) {
        (0, Some((parent, key))) => match value.pointer_mut(parent) {
            Some(Value::Object(map)) => drop(map.remove(key)),
            Some(Value::Array(list)) => drop(list.pop()),
            _ => {}
        },
        (1, Some((parent, _))) => match value.pointer_mut(parent) {
            Some(Value::Object(map)) => drop(map.insert("more".into(), lie)),
            Some(Value::Array(list)) => list.push(lie),
            _ => {}
        },
        (2, _) => {
            if let Some(found) = value.pointer_mut(&place) {
                near(found, dice);
            }
        }
        _ => {
            if let Some(found) = value.pointer_mut(&place) {
                *found = lie;
            }
        }
    }
    value.to_string().into_bytes()
}

/// A number a little off, a word with another letter.
fn near(value: &mut Value, dice: &mut Dice) {
    *value = match &*value {
        Value::Number(n) => match n.as_u64() {
            Some(n) => (n ^ 1 << dice.below(12)).into(),
            None => (n.as_f64().unwrap_or(0.0) * [0.5, 2.0, 1.0 + 1e-9, -1.0][dice.below(4)]).into(),
        },
        Value::Bool(b) => (!b).into(),
        Value::String(s) => {
            let mut bytes = s.clone().into_bytes();
            flip(&mut bytes, dice);
            String::from_utf8_lossy(&bytes).into_owned().into()
        }
        other => other.clone(),
    };
}

fn list(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, one)| list(one, format!("{at}/{key}"), places)),
        Value::Array(all) => all.iter().enumerate().for_each(|(i, one)| list(one, format!("{at}/{i}"), places)),
        _ => {}
    }
    places.push(at);
}
