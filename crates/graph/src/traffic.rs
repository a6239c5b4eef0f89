//! Bytes by role: a program's inputs, and the reads of them.

use crate::graph::Graph;
use limbwise_device::{Basis, KeyId, Role};
use serde::Serialize;
use std::collections::BTreeMap;

/// Bytes of all inputs of one role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoleBytes {
    /// Bytes uploaded.
    pub declared: u64,
    /// Bytes of the limbs that some operation reads, each counted once: a key counts at its widest use.
    pub widest: u64,
    /// Bytes of all reads.
    pub read: u64,
}

fn is_none(bytes: &RoleBytes) -> bool {
    *bytes == RoleBytes::default()
}

/// Sums saturate at 2^64 − 1, which only a forged file reaches.
impl std::ops::AddAssign for RoleBytes {
    fn add_assign(&mut self, other: Self) {
        self.declared = self.declared.saturating_add(other.declared);
        self.widest = self.widest.saturating_add(other.widest);
        self.read = self.read.saturating_add(other.read);
    }
}

/// Bytes of one evaluation key, summed over its uploaded parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeyTraffic {
    /// Identity of the key in the program.
    pub key: u32,
    /// Bytes of the key.
    pub bytes: RoleBytes,
    /// Number of operations that read a part of it.
    pub reads: u64,
}

/// Bytes of a program's inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Encrypted data.
    pub ciphertexts: RoleBytes,
    /// Encoded clear data.
    pub plaintexts: RoleBytes,
    /// All evaluation keys.
    pub evaluation_keys: RoleBytes,
    /// All bootstrapping keys.
    #[serde(skip_serializing_if = "is_none")]
    pub bootstrap_keys: RoleBytes,
    /// Inputs with another role.
    pub temporaries: RoleBytes,
    /// One entry per evaluation key, by identity.
    pub keys: Vec<KeyTraffic>,
}

/// The uses of an input so far.
#[derive(Clone, Copy, Default)]
struct Use {
    basis: Basis,
    read: u64,
    reads: u64,
}

impl Graph {
    /// Bytes by role over all operations that read an input, directly or through views.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let uses = self.input_uses();
        let mut traffic = Traffic::default();
        let mut keys: BTreeMap<u32, KeyTraffic> = BTreeMap::new();
        for id in self.ids().filter(|&id| self.node(id).op().is_input()) {
            let used = uses[id.index()];
            let widest = match self.lwe_shape(id) {
                Some(shape) => {
                    if used.reads > 0 {
                        shape.bytes()
                    } else {
                        0
                    }
                }
                None => self.shape(id).with_basis(used.basis).bytes(),
            };
            let bytes = RoleBytes { declared: self.value_bytes(id), widest, read: used.read };
            match self.node(id).role() {
                Role::Ciphertext => traffic.ciphertexts += bytes,
                Role::Plaintext => traffic.plaintexts += bytes,
                Role::BootstrapKey(_) => traffic.bootstrap_keys += bytes,
                Role::EvaluationKey(KeyId(key)) => {
                    traffic.evaluation_keys += bytes;
                    let entry = keys.entry(key).or_insert(KeyTraffic { key, bytes: RoleBytes::default(), reads: 0 });
                    entry.bytes += bytes;
                    entry.reads += used.reads;
                }
                _ => traffic.temporaries += bytes,
            }
        }
        traffic.keys = keys.into_values().collect();
        traffic
    }

    /// By node.
    fn input_uses(&self) -> Vec<Use> {
        let mut uses = vec![Use::default(); self.nodes().len()];
        for id in self.ids().filter(|&id| !self.node(id).op().is_view()) {
            for &operand in self.operands(id) {
                self.for_each_piece(operand, |piece| {
                    if self.node(piece.source).op().is_input() {
                        let used = &mut uses[piece.source.index()];
                        used.basis = used.basis | piece.basis;
                        used.read = used.read.saturating_add(self.piece_bytes(&piece));
                        used.reads += 1;
                    }
                });
            }
        }
        uses
    }
}
