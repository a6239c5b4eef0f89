//! Stands for [`avx2`](super::avx2) and [`avx512`](super::avx512) where the target is no x86-64: nothing here can be made, so nothing here is ever called.

#![allow(dead_code, reason = "stands for two modules, of which one has more")]

use super::{
    Isa, LimbKernels,
    convert::{Sources, Target},
    galois::TileMap,
    words::WordConversion,
};
use crate::layout::Line;
use limbwise_math::{modulus::Modulus, rns::BaseConversion};
use std::convert::Infallible;

/// Proof of a feature that this target has not.
#[derive(Clone, Copy, Debug)]
pub struct Token(Infallible);

impl Token {
    /// Always `None`: this build has no such kernels.
    #[must_use]
    pub fn detect() -> Option<Self> {
        None
    }
}

pub(crate) fn limb(token: Token, _isa: Isa, _q: Modulus, _log_n: u32) -> Box<dyn LimbKernels> {
    match token.0 {}
}

pub(crate) fn lift(token: Token, _from: Modulus, _to: Modulus, _out: &mut [Line], _a: &[Line]) {
    match token.0 {}
}

pub(crate) fn prepare(token: Token, _c: &WordConversion, _sources: &mut [&mut [Line]], _wraps: &mut [Line]) {
    match token.0 {}
}

pub(crate) fn sweep(token: Token, _c: &WordConversion, _out: &mut [Target<'_>], _y: Sources<'_>) {
    match token.0 {}
}

pub(crate) fn map_values(token: Token, _tiles: &[TileMap], _order: &[usize; 16], _out: &mut [Line], _a: &[Line]) {
    match token.0 {}
}

pub(crate) fn peak_fma(token: Token, _rounds: u64) -> u64 {
    match token.0 {}
}

pub(crate) fn wrapping_sums<W: super::gadget::Wrapping>(token: Token, _sums: &mut [W], _factors: &[W], _rows: &[&[W]]) {
    match token.0 {}
}

pub(crate) struct ShortConversion(Token);

impl ShortConversion {
    pub(crate) fn new(token: Token, _base: &BaseConversion) -> Option<Self> {
        match token.0 {}
    }

    pub(crate) fn prepare(&self, _sources: &mut [&mut [Line]], _overflows: &mut [Line]) {
        match self.0.0 {}
    }

    pub(crate) fn together(&self, _j: usize, _wanted: usize) -> usize {
        match self.0.0 {}
    }

    pub(crate) fn sweep(&self, _out: &mut [Target<'_>], _y: Sources<'_>) {
        match self.0.0 {}
    }
}
