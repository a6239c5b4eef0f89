//! Memory of this device: the default bodies, on rows of 32-bit words.
//!
//! Not counted: copies of rows to other DPUs for one launch (an operand without a batch, such as a key, is copied to the
//! DPUs of the batch's ciphertexts), and copies in host memory for operations without a kernel.

use limbwise_device::{LweShape, Ring, SharedFootprint, footprint::Footprint};
use std::sync::Arc;

/// The footprint of DPUs with a host.
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

    /// LWE ciphertexts are on the host.
    fn lwe_bytes(&self, shape: LweShape) -> u64 {
        self.0.lwe_bytes(shape)
    }

    /// Tables of the host, and those of each prime on one DPU; a batch on several DPUs repeats them.
    fn table_bytes(&self, ring: &Ring) -> u64 {
        self.0.table_bytes(ring) + (ring.moduli().len() * modulus_bytes(ring.n())) as u64
    }
}
