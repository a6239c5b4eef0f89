//! Products of clear matrices with residues, for primes of any width.

use super::vector::{HALVES, V, add, and, load, splat, store};
use crate::{
    kernels::matrix::{PackedMatrix, SIGNED, SPLIT, joined, signed_products},
    layout::Line,
};
use limbwise_math::modulus::Modulus;
use std::arch::x86_64::{_mm512_mul_epi32 as signed_product, _mm512_set1_epi32 as broadcast, _mm512_srli_epi64};

#[inline]
#[target_feature(enable = "avx512f")]
fn right(x: V) -> V {
    _mm512_srli_epi64::<SPLIT>(x)
}

signed_products!("avx512f,avx512dq");
