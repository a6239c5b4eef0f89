//! The format that all files share: magic, version, kind, origin, header, and blocks with checksums.
//!
//! The header describes the content. The place and length of each block follow from it, so there is no index that could
//! contradict it. Each block's checksum is keyed by the header's digest and covers the block's number, so a block that
//! was moved or copied from another file is detected like a changed one.

use super::{
    error::WireError,
    params::{Fingerprint, fingerprint},
    source::Source,
};
use crate::params::Params;
use limbwise_taint::declassify;
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt, io::Write};

/// The first bytes of every file.
pub const MAGIC: [u8; 8] = *b"LIMBWISE";
/// The version written; version 1 is read as well. Version 2 added the [`Origin`].
pub const VERSION: u16 = 2;
/// Bytes before the header in the current version.
pub const PREAMBLE: usize = 184;
/// Bytes before the header of version 1.
const PREAMBLE_1: usize = 80;
/// Size of a hash in bytes.
const HASH: usize = 32;
/// Largest header in bytes.
pub const MOST_HEADER: u64 = 1 << 20;
/// Size of a checksum in bytes; it follows its block.
pub const CHECKSUM: usize = 16;

/// Fuzzers skip the comparison of checksums, so that changed bytes reach the parsers.
const COMPARED: bool = cfg!(not(fuzzing));

/// The program, key set and inputs that a file belongs to, as hashes. Zeros mean unspecified, as in every file of
/// version 1.
///
/// Parameters alone cannot tell two programs or two key sets apart, so a reader compares the origin before computing.
/// An origin is a label, not a proof: whoever writes a file chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The program: the hash of its description.
    pub program: Fingerprint,
    /// The key set: [`SecretKey::identity`](crate::rlwe::SecretKey) of its secret.
    pub keys: Fingerprint,
    /// For results: the hash of the hashes of the input files, in the program's order.
    pub inputs: Fingerprint,
    /// Index among the program's inputs or results, from 0.
    pub index: Option<u32>,
}

impl Origin {
    /// An unspecified origin.
    pub const NONE: Self =
        Self { program: Fingerprint::NONE, keys: Fingerprint::NONE, inputs: Fingerprint::NONE, index: None };

    /// The origin of a file that belongs to a key set alone.
    #[must_use]
    pub fn of_keys(keys: Fingerprint) -> Self {
        Self { keys, ..Self::NONE }
    }

    /// The same origin with an index among the inputs or results of its program.
    ///
    /// # Panics
    /// At 2^32 − 1 files.
    #[must_use]
    pub fn numbered(self, index: usize) -> Self {
        let index = u32::try_from(index).ok().filter(|&i| i < u32::MAX).expect("fewer than 2^32 - 1 files");
        Self { index: Some(index), ..self }
    }

    /// Fails if this origin names another key set.
    #[cfg(feature = "client")]
    pub(crate) fn admits_keys(&self, keys: Fingerprint) -> Result<(), WireError> {
        Self::of_keys(self.keys).admits(&Self::of_keys(keys))
    }

    /// Fails unless `got` agrees with every field that is specified here.
    ///
    /// # Errors
    /// [`WireError::Origin`] with the first field that differs.
    pub fn admits(&self, got: &Self) -> Result<(), WireError> {
        let said = |name: Fingerprint| if name == Fingerprint::NONE { "none".into() } else { name.to_string() };
        let names = [
            ("program", self.program, got.program),
            ("key set", self.keys, got.keys),
            ("inputs", self.inputs, got.inputs),
        ];
        for (what, wanted, got) in names {
            if wanted != Fingerprint::NONE && wanted != got {
                return Err(WireError::Origin { what, got: said(got), wanted: said(wanted) });
            }
        }
        let number = |index: Option<u32>| index.map_or_else(|| "none".into(), |i| i.to_string());
        match self.index {
            Some(_) if self.index != got.index => {
                Err(WireError::Origin { what: "number", got: number(got.index), wanted: number(self.index) })
            }
            _ => Ok(()),
        }
    }
}

/// Reads a file's origin; the header is checked, the blocks are not read.
///
/// # Errors
/// The errors of [`Container::open`].
pub fn origin<S: Source>(source: S) -> Result<Origin, WireError> {
    Ok(Container::open(source)?.origin)
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u16)]
pub enum FileKind {
    /// A parameter set.
    Params = 1,
    /// A public encryption key.
    PublicKey = 2,
    /// A set of evaluation keys.
    EvaluationKeys = 3,
    /// A secret key.
    SecretKey = 4,
    /// A batch of ciphertexts.
    Ciphertext = 5,
    /// A batch of plaintexts.
    Plaintext = 6,
    /// A recorded program.
    Graph = 7,
    /// A report of a machine model.
    MachineReport = 8,
    /// A parameter set of TFHE.
    TfheParams = 9,
    /// The server's keys for TFHE.
    TfheKeys = 10,
    /// A client key for TFHE.
    TfheSecretKey = 11,
    /// A batch of messages under TFHE.
    TfheCiphertext = 12,
    /// A parameter set of BGV.
    BgvParams = 13,
    /// A batch of messages under BGV.
    BgvCiphertext = 14,
    /// A key from slots to LWE.
    ToLweKey = 15,
    /// The encoded plaintexts of a program.
    Prepared = 16,
}

impl FileKind {
    /// All kinds in order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::Params,
        Self::PublicKey,
        Self::EvaluationKeys,
        Self::SecretKey,
        Self::Ciphertext,
        Self::Plaintext,
        Self::Graph,
        Self::MachineReport,
        Self::TfheParams,
        Self::TfheKeys,
        Self::TfheSecretKey,
        Self::TfheCiphertext,
        Self::BgvParams,
        Self::BgvCiphertext,
        Self::ToLweKey,
        Self::Prepared,
    ];

    /// The kind of a file from its first [`PREAMBLE`] bytes, which are checked only as far as needed.
    ///
    /// # Errors
    /// [`WireError`] if it is no file of Limbwise, or its version or kind is unknown.
    pub fn of(head: &[u8]) -> Result<Self, WireError> {
        let mut preamble = [0; PREAMBLE];
        preamble.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
        Preamble::parse(&preamble).kind(head.len() as u64)
    }

    /// Number of the kind in a file.
    #[must_use]
    pub fn number(self) -> u16 {
        self as u16
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Params => "parameters",
            Self::PublicKey => "a public key",
            Self::EvaluationKeys => "evaluation keys",
            Self::SecretKey => "a secret key",
            Self::Ciphertext => "a ciphertext",
            Self::Plaintext => "a plaintext",
            Self::Graph => "a recorded program",
            Self::MachineReport => "a machine report",
            Self::TfheParams => "parameters of TFHE",
            Self::TfheKeys => "keys of a server for TFHE",
            Self::TfheSecretKey => "a secret key of TFHE",
            Self::TfheCiphertext => "a ciphertext of TFHE",
            Self::BgvParams => "parameters of BGV",
            Self::BgvCiphertext => "a ciphertext of BGV",
            Self::ToLweKey => "a key from slots to LWE",
            Self::Prepared => "a prepared model",
        })
    }
}

/// An opened file: the header is checked, the blocks are not yet read.
#[derive(Debug)]
pub struct Container<S> {
    source: S,
    kind: FileKind,
    version: u16,
    fingerprint: Fingerprint,
    origin: Origin,
    header: Vec<u8>,
    /// Bytes before the header.
    preamble: u64,
    digest: [u8; HASH],
    length: u64,
}

impl<S: Source> Container<S> {
    /// Reads and checks preamble and header.
    ///
    /// # Errors
    /// [`WireError`] if it is no file of Limbwise, its version is unknown, or it is damaged.
    pub fn open(source: S) -> Result<Self, WireError> {
        let length = source.length().map_err(WireError::io("asking for the length of the file"))?;
        let mut preamble = [0; PREAMBLE];
        let there = usize::try_from(length).unwrap_or(PREAMBLE).min(PREAMBLE);
        let begin = preamble.get_mut(..there).unwrap_or_default();
        source.read_at(0, begin).map_err(WireError::io("reading the file"))?;
        let parsed = Preamble::parse(&preamble);
        let kind = parsed.kind(length)?;
        let Preamble { version, header, fingerprint, origin, digest, .. } = parsed;
        if u64::from(header) > MOST_HEADER {
            return Err(WireError::HeaderLength { got: header.into(), most: MOST_HEADER });
        }
        let (before, wanted) = (parsed.length() as u64, parsed.length() as u64 + u64::from(header));
        if length < wanted {
            return Err(WireError::Length { got: length, wanted });
        }
        let mut text = vec![0; header as usize];
        source.read_at(before, &mut text).map_err(WireError::io("reading the header"))?;
        if COMPARED && header_digest(&parsed.digest_input(), &text) != digest {
            return Err(WireError::Checksum { what: "the header".into() });
        }
        Ok(Self { source, kind, version, fingerprint, origin, header: text, preamble: before, digest, length })
    }

    /// Format version of the file.
    #[must_use]
    pub fn version(&self) -> u16 {
        self.version
    }

    /// The file's origin.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Kind of the file.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Fingerprint of its parameters; zero if it has none.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The header as JSON text.
    #[must_use]
    pub fn header_text(&self) -> &[u8] {
        &self.header
    }

    /// Length of the whole file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The digest that binds the blocks to this header.
    #[cfg(feature = "client")]
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Fails unless the file has this kind and these parameters.
    pub(crate) fn expect(&self, kind: FileKind, params: Option<&Params>) -> Result<(), WireError> {
        let any = kind == FileKind::Params;
        self.expect_of(kind, if any { self.fingerprint } else { params.map_or(Fingerprint::NONE, fingerprint) })
    }

    /// Fails unless the file has this kind and this fingerprint.
    pub(crate) fn expect_of(&self, kind: FileKind, wanted: Fingerprint) -> Result<(), WireError> {
        if self.kind != kind {
            return Err(WireError::Kind { got: self.kind, wanted: kind });
        }
        if self.fingerprint != wanted {
            return Err(WireError::OtherParameters { got: self.fingerprint, wanted });
        }
        Ok(())
    }

    /// The header, deserialized.
    pub(crate) fn header<T: DeserializeOwned>(&self) -> Result<T, WireError> {
        serde_json::from_slice(&self.header).map_err(|e| WireError::Header { problem: e.to_string() })
    }

    /// Place of the first block.
    pub(crate) fn first(&self) -> Place {
        Place { block: 0, at: self.preamble + self.header.len() as u64 }
    }

    /// Fails unless the file ends here, as its header says.
    pub(crate) fn ends(&self, end: Place) -> Result<(), WireError> {
        if end.at == self.length { Ok(()) } else { Err(WireError::Length { got: self.length, wanted: end.at }) }
    }

    /// Reads the block at a place into `bytes`, which must fit block and checksum; returns the block.
    pub(crate) fn block<'a>(&self, place: Place, bytes: &'a mut [u8]) -> Result<&'a [u8], WireError> {
        self.source.read_at(place.at, bytes).map_err(WireError::io("reading a block"))?;
        let (payload, checksum) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM));
        if COMPARED && block_checksum(&self.digest, place.block, payload) != checksum {
            return Err(WireError::Checksum { what: format!("block {}", place.block) });
        }
        Ok(payload)
    }
}

/// Place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the block, from 0.
    pub(crate) block: u64,
    /// Offset of the block's first byte in the file.
    pub(crate) at: u64,
}

impl Place {
    /// The place after `blocks` further blocks of `bytes` bytes in total, checksums not counted.
    pub(crate) fn behind(self, blocks: u64, bytes: u64) -> Self {
        Self { block: self.block + blocks, at: self.at + bytes + blocks * CHECKSUM as u64 }
    }
}

/// The first bytes of a file, not yet checked.
struct Preamble {
    magic: [u8; 8],
    version: u16,
    kind: u16,
    header: u32,
    fingerprint: Fingerprint,
    origin: Origin,
    /// Must be zero.
    reserved: u32,
    digest: [u8; HASH],
}

impl Preamble {
    /// Splits the bytes into fields; version 1 has no origin.
    fn parse(bytes: &[u8; PREAMBLE]) -> Self {
        let mut rest = &bytes[..];
        let magic = take(&mut rest);
        let [version, kind] = [(); 2].map(|()| u16::from_le_bytes(take(&mut rest)));
        let header = u32::from_le_bytes(take(&mut rest));
        let fingerprint = Fingerprint(take(&mut rest));
        let (mut origin, mut reserved) = (Origin::NONE, 0);
        if version > 1 {
            let [program, keys, inputs] = [(); 3].map(|()| Fingerprint(take(&mut rest)));
            // Zero means no index.
            let [number, zero] = [(); 2].map(|()| u32::from_le_bytes(take(&mut rest)));
            (origin, reserved) = (Origin { program, keys, inputs, index: number.checked_sub(1) }, zero);
        }
        Self { magic, version, kind, header, fingerprint, origin, reserved, digest: take(&mut rest) }
    }

    /// Size in the file in bytes.
    fn length(&self) -> usize {
        if self.version == 1 { PREAMBLE_1 } else { PREAMBLE }
    }

    /// The kind, checked against the file's length.
    fn kind(&self, length: u64) -> Result<FileKind, WireError> {
        if self.magic != MAGIC {
            return Err(WireError::NotOurs { got: format!("{:?}", String::from_utf8_lossy(&self.magic)) });
        }
        if length < self.length() as u64 {
            return Err(WireError::Length { got: length, wanted: self.length() as u64 });
        }
        if !(1..=VERSION).contains(&self.version) {
            return Err(WireError::Version { got: self.version });
        }
        if self.reserved != 0 {
            return Err(WireError::value("the reserved bytes 148 to 151", self.reserved, 0));
        }
        let kind = FileKind::ALL.into_iter().find(|kind| kind.number() == self.kind);
        kind.ok_or(WireError::UnknownKind { got: self.kind })
    }

    /// The bytes that the digest covers.
    fn digest_input(&self) -> Vec<u8> {
        let numbers = [&self.version.to_le_bytes()[..], &self.kind.to_le_bytes(), &self.header.to_le_bytes()].concat();
        let mut covered = [&self.magic[..], &numbers, &self.fingerprint.0].concat();
        if self.version > 1 {
            let Origin { program, keys, inputs, index } = self.origin;
            covered.extend([program.0, keys.0, inputs.0].as_flattened());
            covered.extend(index.map_or(0, |i| i + 1).to_le_bytes());
            covered.extend([0; 4]);
        }
        covered
    }
}

/// Takes the next bytes, with zeros after the end.
fn take<const K: usize>(rest: &mut &[u8]) -> [u8; K] {
    let Some((taken, behind)) = rest.split_first_chunk::<K>() else { return [0; K] };
    *rest = behind;
    *taken
}

fn header_digest(covered: &[u8], header: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update(covered).update(header).finalize().as_bytes()
}

fn block_checksum(digest: &[u8; 32], number: u64, payload: &[u8]) -> [u8; CHECKSUM] {
    let hash = blake3::Hasher::new_keyed(digest).update(payload).update(&number.to_le_bytes()).finalize();
    // Public, though the payload may be secret: whoever may read the file has it, and learns whether it is right.
    declassify(*hash.as_bytes().first_chunk().unwrap_or(&[0; CHECKSUM]))
}

/// Seals blocks that are written later.
pub(crate) struct Sealing {
    digest: [u8; 32],
    next: u64,
}

impl Sealing {
    /// A block so many places behind the next, with its checksum.
    pub(crate) fn seal(&self, ahead: u64, mut payload: Vec<u8>) -> Sealed {
        let number = self.next + ahead;
        let checksum = block_checksum(&self.digest, number, &payload);
        payload.extend(checksum);
        Sealed { number, bytes: payload }
    }
}

/// A block with its checksum.
pub(crate) struct Sealed {
    number: u64,
    bytes: Vec<u8>,
}

/// Writes a file sequentially.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    out: W,
    digest: [u8; 32],
    next: u64,
}

impl<W: Write> Writer<W> {
    /// Writes preamble and header.
    pub(crate) fn begin(
        mut out: W,
        kind: FileKind,
        fingerprint: Fingerprint,
        origin: &Origin,
        header: &impl Serialize,
    ) -> Result<Self, WireError> {
        let header = serde_json::to_vec(header).map_err(|e| WireError::Header { problem: e.to_string() })?;
        let too_long = WireError::HeaderLength { got: header.len() as u64, most: MOST_HEADER };
        let length = u32::try_from(header.len()).ok().filter(|&l| u64::from(l) <= MOST_HEADER).ok_or(too_long)?;
        let preamble = Preamble {
            magic: MAGIC,
            version: VERSION,
            kind: kind.number(),
            header: length,
            fingerprint,
            origin: *origin,
            reserved: 0,
            digest: [0; HASH],
        };
        let covered = preamble.digest_input();
        let digest = header_digest(&covered, &header);
        let bytes = [&covered[..], &digest, &header].concat();
        out.write_all(&bytes).map_err(WireError::io("writing the header"))?;
        Ok(Self { out, digest, next: 0 })
    }

    /// The digest that binds the blocks to the header.
    #[cfg(feature = "client")]
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// What later blocks are sealed with, on any thread.
    pub(crate) fn sealing(&self) -> Sealing {
        Sealing { digest: self.digest, next: self.next }
    }

    /// Writes a block that was sealed as the next.
    pub(crate) fn sealed(&mut self, Sealed { number, bytes }: &Sealed) -> Result<(), WireError> {
        debug_assert_eq!(*number, self.next, "blocks are written in their order");
        self.next += 1;
        self.out.write_all(bytes).map_err(WireError::io("writing a block"))
    }

    /// Writes the next block with its checksum.
    pub(crate) fn block(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let checksum = block_checksum(&self.digest, self.next, payload);
        self.next += 1;
        self.out
            .write_all(payload)
            .and_then(|()| self.out.write_all(&checksum))
            .map_err(WireError::io("writing a block"))
    }

    /// Flushes the output.
    pub(crate) fn finish(mut self) -> Result<W, WireError> {
        self.out.flush().map_err(WireError::io("finishing the file"))?;
        Ok(self.out)
    }
}
