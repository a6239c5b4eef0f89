//! Stands for [`ifma`](super) where the target is no x86-64: nothing here can be made, so nothing here is ever called.

use super::{
    LimbKernels,
    convert::{Sources, Target},
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

pub(crate) fn peak_madd(token: Token, _rounds: u64) -> u64 {
    match token.0 {}
}

pub(crate) fn lift(token: Token, _from: Modulus, _to: Modulus, _out: &mut [Line], _a: &[Line]) {
    match token.0 {}
}

pub(crate) struct IfmaConversion(Token);

impl IfmaConversion {
    pub(crate) fn new(_base: &BaseConversion) -> Option<Self> {
        None
    }

    pub(crate) fn prepare(&self, _sources: &mut [&mut [Line]], _wraps: &mut [Line]) {
        match self.0.0 {}
    }

    pub(crate) fn together(&self, _j: usize, _wanted: usize) -> usize {
        match self.0.0 {}
    }

    pub(crate) fn sweep(&self, _targets: &mut [Target<'_>], _sources: Sources<'_>) {
        match self.0.0 {}
    }
}

pub(crate) fn limb(token: Token, _q: Modulus, _log_n: u32) -> Box<dyn LimbKernels> {
    match token.0 {}
}
