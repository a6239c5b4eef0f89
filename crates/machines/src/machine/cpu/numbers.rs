//! The numbers of a specification, by what they are rates of.

use crate::spec::Assumed;
use serde::Deserialize;

/// Kernels for primes of one width, on one thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernels {
    /// N = 2^10 … 2^17.
    pub(super) transform_ns_per_limb: [f64; 8],
    pub(super) mul_gb_s: f64,
    pub(super) add_gb_s: f64,
    pub(super) convert_term_ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    pub(super) copy_gb_s: f64,
    pub(super) permute_gb_s: f64,
    pub(super) expand_gb_s: f64,
    pub(super) all_threads_gb_s: f64,
    pub(super) cache_mb: f64,
    pub(super) read_beyond_gb_s: f64,
    pub(super) write_beyond_gb_s: f64,
}

/// Clear values that are encoded where they are used, on one thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Encoding {
    pub(super) embed_ns_per_coefficient: f64,
    pub(super) spread_gb_s: f64,
}

/// Blind rotation, whose steps keep everything but the key in caches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotations {
    pub(super) short: Rotation,
    pub(super) long: Rotation,
    pub(super) key_gb_s: f64,
}

/// Costs of a step, N = 2^10 … 2^17.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotation {
    /// A digit of a component: made, transformed, times its row of the key.
    pub(super) digit_ns_per_limb: [f64; 8],
    /// A component: rotated, transformed back, added.
    pub(super) component_ns_per_limb: [f64; 8],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lwe {
    pub(super) product_term_ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assumptions {
    pub(super) node_ns: Assumed<f64>,
}
