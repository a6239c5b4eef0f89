//! Stands for [`avx2`](super) where the target is no x86-64: nothing here can be made, so nothing here is ever called.

use super::{LimbKernels, words::WordConversion};
use crate::layout::Line;
use limbwise_math::modulus::Modulus;
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

pub(crate) fn limb(token: Token, _q: Modulus, _log_n: u32) -> Box<dyn LimbKernels> {
    match token.0 {}
}

pub(crate) fn lift(token: Token, _from: Modulus, _to: Modulus, _out: &mut [Line], _a: &[Line]) {
    match token.0 {}
}

pub(crate) fn prepare(token: Token, _c: &WordConversion, _sources: &mut [&mut [Line]], _wraps: &mut [Line]) {
    match token.0 {}
}

pub(crate) fn sweep(
    token: Token,
    _c: &WordConversion,
    _first: usize,
    _out: &mut [&mut [Line]],
    _y: &[&[Line]],
    _overflows: &[Line],
) {
    match token.0 {}
}
