//! The memory of the composites that this device overrides, and its storage of rows.
//!
//! Beside the result, in rows of one limb:
//! - `mod_up`: the coefficients of its argument;
//! - `mod_down`, `rescale`: the dropped limbs;
//! - `key_switch`, `key_switch_onto`: what [`key_switch`](crate::key_switch) counts;
//! - `weighted_sums`: for one sum at a time up to eight weights of one limb, extended;
//! - `extend_limb`, `linear_combination`, `matrix_product`: nothing;
//! - `blind_rotate`: nothing where a block's shared memory holds a step, else the default body.
//!
//! Small tables are not counted: constants of base conversions (some kilobytes each), the addresses of a bootstrapping
//! key's rows (8 bytes each), and those of a matrix product with its weights. Nor is what the pool takes ahead: up to
//! 16 MiB for each length of rows.

use crate::{
    device::Cuda,
    driver::Properties,
    fused::EXTENDED,
    key_switch::rows_beside,
    launch::Shape as Blocks,
    nvrtc::float_bits,
    ring::{LOG_TILE, PRIME_WORDS, table_words},
};
use limbwise_device::{
    Basis, LweShape, Ring, Shape, SharedFootprint,
    footprint::{BlindRotation, Body, Footprint, KeySwitch},
};
use std::sync::Arc;

/// Bytes of shared memory that a block may have, by architecture.
fn shared_bytes(arch: &str) -> u32 {
    let kib = match arch {
        "sm_86" | "sm_89" | "sm_120" => 99,
        "sm_80" | "sm_87" => 163,
        _ => 227,
    };
    kib << 10
}

/// The footprint of a GPU architecture, such as `sm_90`.
#[must_use]
pub fn footprint(arch: &str) -> SharedFootprint {
    Arc::new(Gpu { float_bits: float_bits(arch), shared_bytes: shared_bytes(arch) })
}

/// The properties that determine how a GPU runs composites.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpu {
    float_bits: u32,
    shared_bytes: u32,
}

impl Cuda {
    pub(crate) fn own_footprint(&self) -> Gpu {
        let Properties { arch, shared_bytes, .. } = self.properties();
        Gpu { float_bits: float_bits(arch), shared_bytes: *shared_bytes }
    }

    /// The footprint of programs on this GPU.
    #[must_use]
    pub fn footprint(&self) -> SharedFootprint {
        Arc::new(self.own_footprint())
    }
}

impl Gpu {
    /// Whether a blind rotation is one launch: shared memory holds its polynomials with the digits of a step.
    pub(crate) fn rotates_in_one_launch(self, call: &BlindRotation<'_>) -> bool {
        let (ring, parts) = (&call.test.ring, call.components);
        let [q] = ring.moduli_of(call.test.basis)[..] else { panic!("a blind rotation has one limb") };
        let batch = call.test.batch.max(call.exponents.batch);
        let blocks = Blocks::rotations(ring.n(), batch, parts * call.gadget.len() + parts);
        let together = parts == 2 || parts == 3 && q.value() >> self.float_bits == 0;
        together && ring.log_n() <= LOG_TILE && blocks.shared_bytes() <= self.shared_bytes
    }
}

impl Footprint for Gpu {
    fn name(&self) -> &'static str {
        "cuda"
    }

    /// Rows start at multiples of 16 bytes.
    fn lwe_bytes(&self, shape: LweShape) -> u64 {
        shape.bytes().next_multiple_of(16)
    }

    fn table_bytes(&self, ring: &Ring) -> u64 {
        8 * ((table_words(ring.log_n()) + PRIME_WORDS) * ring.moduli().len()) as u64
    }

    fn mod_up(&self, c: &Shape, _digits: usize) -> Body {
        Body::Own { beside: c.rows() }
    }

    fn mod_down(&self, a: &Shape, to: Basis) -> Body {
        // With a new prime, a times the new ones.
        let grown = if to.is_subset(a.basis) { 0 } else { (a.basis | to).len() };
        Body::Own { beside: a.batch * (grown + (a.basis - to).len()) }
    }

    fn rescale(&self, a: &Shape, to: Basis) -> Body {
        self.mod_down(a, to)
    }

    fn key_switch(&self, call: &KeySwitch<'_>) -> Body {
        self.key_switch_onto(call)
    }

    fn key_switch_onto(&self, call: &KeySwitch<'_>) -> Body {
        if call.to.is_subset(call.c.basis) { Body::Own { beside: rows_beside(call) } } else { Body::Default }
    }

    fn extend_limb(&self, _a: &Shape, _to: Basis) -> Body {
        Body::Own { beside: 0 }
    }

    fn weighted_sum(&self, extended: &[usize]) -> Body {
        Body::Own { beside: extended.chunks(EXTENDED).map(|group| group.iter().sum()).max().unwrap_or(0) }
    }

    fn linear_combination(&self) -> Body {
        Body::Own { beside: 0 }
    }

    fn matrix_product(&self) -> Body {
        Body::Own { beside: 0 }
    }

    fn blind_rotate(&self, call: &BlindRotation<'_>) -> Body {
        if self.rotates_in_one_launch(call) { Body::Own { beside: 0 } } else { Body::Default }
    }
}
