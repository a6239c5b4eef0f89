//! Times of products of clear matrices with rows of residues, beside their default body and the multiplier's limit.

use super::{Measurement, Rates, composites::polynomial, float, least_ns, moduli};
use crate::{Cpu, Isa, OpenError};
use limbwise_device::{Basis, Device, IntegerMatrix, RingSpec, composites};
use limbwise_math::prime_class::PrimeClass;

/// Size of a matrix product.
#[derive(Clone, Copy, Debug)]
pub struct MatrixShape {
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Bits of all primes.
    pub prime_bits: u32,
    /// Limbs of an operand.
    pub limbs: usize,
    /// Rows and columns of the matrix.
    pub sides: [usize; 2],
    /// Bits of a weight without its sign.
    pub weight_bits: u32,
}

/// A matrix product, nanoseconds for all of it. The limit is the multiply-adds alone at the measured rate: one a product
/// of eight words where prime and weight have 51 bits together, else two.
///
/// # Errors
/// [`OpenError`] if the CPU lacks `isa` or the threads are refused.
///
/// # Panics
/// If there are not so many primes of that width, or weights have more than 30 bits.
pub fn matrix_product(
    isa: Isa,
    shape: MatrixShape,
    threads: usize,
    rates: Rates,
) -> Result<Vec<Measurement>, OpenError> {
    let dev = Cpu::new(isa, threads)?;
    let MatrixShape { log_n, prime_bits, limbs, sides: [rows, columns], weight_bits } = shape;
    let primes = moduli(log_n, prime_bits, limbs).iter().map(|q| q.value()).collect();
    let ring = dev.ring(&RingSpec { log_n, primes }).expect("checked primes");
    let most = (1i32 << weight_bits) - 1;
    let entries = (0..most).cycle().step_by(7).map(|w| most - 2 * w).take(rows * columns).collect();
    let matrix = IntegerMatrix::new(rows, columns, entries).expect("as many weights");
    let operand = |_| polynomial(&dev, &ring, Basis::range(0, limbs));
    let operands: Vec<_> = (0..columns).map(operand).collect();
    let x = dev.stack(&operands.iter().collect::<Vec<_>>());
    let each = if prime_bits + weight_bits < 52 { 1 } else { 2 };
    let madds = (each * rows * columns * limbs) << (log_n - 3);
    let is_vector = isa == Isa::Ifma && PrimeClass::of_bits(prime_bits) <= PrimeClass::Short;
    let limit_ns = rates.multiplier(isa).filter(|_| is_vector).map(|m| m.ns(madds) / float(threads));
    let row = |op, ns| Measurement { op, n: 1 << log_n, prime_bits, limbs, threads, isa, ns, limit_ns };
    Ok(vec![
        row("matrix_product", least_ns(300, || drop(dev.matrix_product(&x, &matrix)))),
        row("matrix_product_default", least_ns(100, || drop(composites::matrix_product(&dev, &x, &matrix)))),
    ])
}
