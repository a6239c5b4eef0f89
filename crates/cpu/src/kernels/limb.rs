//! The table of kernels for one prime, chosen once.

use super::{Isa, avx2, convert::TILE, ifma, scalar::ScalarLimb};
use crate::layout::Line;
use limbwise_math::modulus::Modulus;

/// Arithmetic modulo one prime on limbs of one ring degree.
///
/// Range: [0, q) → [0, q) everywhere. Slices of one call have one length, padding included.
pub trait LimbKernels: Send + Sync {
    /// Whose kernels these are.
    fn isa(&self) -> Isa;
    /// Coefficients → values, in place.
    fn ntt(&self, a: &mut [Line]);
    /// Values → coefficients, in place.
    fn intt(&self, a: &mut [Line]);
    /// `out = a + b`.
    fn add(&self, out: &mut [Line], a: &[Line], b: &[Line]);
    /// `out = a − b`.
    fn sub(&self, out: &mut [Line], a: &[Line], b: &[Line]);
    /// `out = a·b`.
    fn mul(&self, out: &mut [Line], a: &[Line], b: &[Line]);
    /// `acc += a`.
    fn add_assign(&self, acc: &mut [Line], a: &[Line]);
    /// `acc += a·b`.
    fn mul_acc(&self, acc: &mut [Line], a: &[Line], b: &[Line]);
    /// `a = −a`.
    fn neg(&self, a: &mut [Line]);
    /// `a = a·c`, c in [0, q).
    fn scale(&self, a: &mut [Line], c: u64);
    /// `a = a + c`, c in [0, q).
    fn shift(&self, a: &mut [Line], c: u64);

    /// `out = (a − out)·c`, c in [0, q): the end of a division by dropped primes, `out` being the remainder.
    fn divide(&self, out: &mut [Line], a: &[Line], c: u64) {
        self.neg(out);
        self.add_assign(out, a);
        self.scale(out, c);
    }

    /// `out_h = Σ digit·key_h` for both halves h, reading each operand once; with a constant c in [0, q) they are
    /// divided as by [`Self::divide`]: `out_h = (Σ digit·key_h − out_h)·c`.
    fn inner_products(&self, out: [&mut [Line]; 2], terms: &[Term<'_>], divide: Option<u64>) {
        let mut sum = [Line::default(); TILE];
        for (half, out) in out.into_iter().enumerate() {
            for (first, out) in (0..).step_by(TILE).zip(out.chunks_mut(TILE)) {
                let (sum, range) = (&mut sum[..out.len()], first..first + out.len());
                sum.fill(Line::default());
                for term in terms {
                    self.mul_acc(sum, &term.digit[range.clone()], &term.key[half][range.clone()]);
                }
                match divide {
                    Some(c) => self.divide(out, sum, c),
                    None => out.copy_from_slice(sum),
                }
            }
        }
    }
}

/// One product of a sum over the digits of a gadget.
#[derive(Clone, Copy)]
pub struct Term<'a> {
    /// A limb of a digit.
    pub digit: &'a [Line],
    /// The same limb of both halves of its key.
    pub key: [&'a [Line]; 2],
}

/// The kernels of `isa` for a prime that is 1 modulo 2N.
///
/// # Panics
/// If the CPU lacks `isa` ([`Isa::is_available`]), or N is not in 2^10 … 2^17.
#[must_use]
pub fn kernels(isa: Isa, modulus: Modulus, log_n: u32) -> Box<dyn LimbKernels> {
    assert!((10..=17).contains(&log_n), "no kernels for N = 2^{log_n}");
    match isa {
        Isa::Ifma => {
            let token = ifma::Token::detect().expect("the caller checked that the CPU has IFMA");
            ifma::limb(token, modulus, log_n)
        }
        Isa::Avx2 => {
            let token = avx2::Token::detect().expect("the caller checked that the CPU has AVX2");
            avx2::limb(token, modulus, log_n)
        }
        Isa::Scalar => Box::new(ScalarLimb::new(modulus, log_n)),
    }
}
