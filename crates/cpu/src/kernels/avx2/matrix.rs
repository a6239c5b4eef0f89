//! Products of clear matrices with residues, for primes of any width.

use super::vector::{HALVES, V, add, and, load, splat, store};
use crate::{
    kernels::matrix::{PackedMatrix, SIGNED, SPLIT, joined, signed_products},
    layout::Line,
};
use limbwise_math::modulus::Modulus;
use std::arch::x86_64::{_mm256_mul_epi32 as signed_product, _mm256_set1_epi32 as broadcast, _mm256_srli_epi64};

#[inline]
#[target_feature(enable = "avx2")]
fn right(x: V) -> V {
    const BITS: i32 = SPLIT.cast_signed();
    _mm256_srli_epi64::<BITS>(x)
}

signed_products!("avx2");
