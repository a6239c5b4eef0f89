//! What this device takes: default bodies alone, on rows of 32-bit words.
//!
//! Not counted: a row that is needed on another DPU than it lies on is copied there for the launch (an operand without a
//! batch, such as a key, meets ciphertexts of a batch on their DPUs), and what has no kernel is done on copies in the
//! host's memory.

use limbwise_device::{LweShape, Ring, SharedFootprint, footprint::Footprint};
use std::sync::Arc;

/// That of DPUs beside a host.
#[must_use]
pub fn footprint(host: SharedFootprint) -> SharedFootprint {
    Arc::new(Dpus(host))
}

#[derive(Debug)]
struct Dpus(SharedFootprint);

/// Bytes of the tables of one modulus.
pub(crate) fn modulus_bytes(n: usize) -> usize {
    8 * n + 8
}

impl Footprint for Dpus {
    fn name(&self) -> &'static str {
        "upmem"
    }

    fn row_bytes(&self, log_n: u32) -> u64 {
        4 << log_n
    }

    /// They are the host's.
    fn lwe_bytes(&self, shape: LweShape) -> u64 {
        self.0.lwe_bytes(shape)
    }

    /// The host's, and those of each prime on one DPU: a batch whose entries lie on several repeats them.
    fn table_bytes(&self, ring: &Ring) -> u64 {
        self.0.table_bytes(ring) + (ring.moduli().len() * modulus_bytes(ring.n())) as u64
    }
}
