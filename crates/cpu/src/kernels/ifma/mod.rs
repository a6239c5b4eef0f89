//! (being written)
use super::{LimbKernels, convert::ConversionScratch};
use crate::layout::Line;
use limbwise_math::{modulus::Modulus, rns::BaseConversion};
pub const MAX_BITS: u32 = 50;
#[derive(Clone, Copy)]
pub struct Token(());
impl Token {
    pub fn detect() -> Option<Self> {
        None
    }
}
pub struct IfmaConversion;
impl IfmaConversion {
    pub fn new(_: &BaseConversion) -> Option<Self> {
        None
    }
    pub fn scale(&self, _: &[&[Line]], _: &mut ConversionScratch) {}
    pub fn reaches(&self, _: usize) -> bool {
        false
    }
    pub fn sweep(&self, _: usize, _: &mut [Line], _: &ConversionScratch) {}
}
pub struct IfmaLimb;
impl IfmaLimb {
    pub fn new(_: Token, m: Modulus, l: u32) -> super::scalar::ScalarLimb {
        super::scalar::ScalarLimb::new(m, l)
    }
}
const _: Option<&dyn LimbKernels> = None;
