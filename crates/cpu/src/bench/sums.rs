//! Times of weighted sums, the diagonal step of linear maps, and of linear combinations, beside their default bodies and
//! the memory they stream.

use super::{Measurement, Multiplier, Rates, composites::polynomial, float, least_ns, moduli, multiplier};
use crate::{Cpu, CpuPoly, Isa, OpenError};
use limbwise_device::{Basis, Device, RingSpec, Terms, Weight, composites};

/// Size of weighted sums: every sum has one term per baby step, the two polynomials of a ciphertext in one batch.
#[derive(Clone, Copy, Debug)]
pub struct SumsShape {
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Bits of all primes.
    pub prime_bits: u32,
    /// Limbs of an operand.
    pub limbs: usize,
    /// Number of baby steps.
    pub babies: usize,
    /// Number of sums.
    pub sums: usize,
}

/// Weighted sums with whole weights and with weights of one limb, nanoseconds for all sums; a product of ciphertexts onto
/// which one is added, and a linear combination, of the same operands. The limit reads operands and
/// weights once and writes the results at the measured rate, or does the multiply-adds, whichever takes longer.
///
/// # Errors
/// [`OpenError`] if the CPU lacks `isa` or the threads are refused.
///
/// # Panics
/// If there are not so many primes of that width.
pub fn weighted_sums(isa: Isa, shape: SumsShape, threads: usize, rates: Rates) -> Result<Vec<Measurement>, OpenError> {
    let dev = Cpu::new(isa, threads)?;
    let SumsShape { log_n, prime_bits, limbs, babies, sums } = shape;
    let primes = moduli(log_n, prime_bits, limbs).iter().map(|q| q.value()).collect();
    let ring = dev.ring(&RingSpec { log_n, primes }).expect("checked primes");
    let limb = dev.intt(polynomial(&dev, &ring, Basis::single(0)));
    let both = |_| dev.stack(&[&polynomial(&dev, &ring, ring.full()), &polynomial(&dev, &ring, ring.full())]);
    let x: Vec<CpuPoly> = (0..babies).map(both).collect();
    let values: Vec<CpuPoly> = (0..babies * sums).map(|_| polynomial(&dev, &ring, ring.full())).collect();
    let whole: Vec<Terms<'_, CpuPoly>> =
        values.chunks(babies).map(|group| group.iter().map(Weight::Values).enumerate().collect()).collect();
    let terms = |_| (0..babies).map(|i| (i, Weight::OneLimb(&limb))).collect();
    let one_limb: Vec<Terms<'_, CpuPoly>> = (0..sums).map(terms).collect();

    let (products, results) = (babies * sums * limbs, 2 * sums * limbs);
    let vectors = 1usize << (log_n - 3);
    let sums_of = |m: Multiplier| vectors * (2 * m.term * products + m.sum * results);
    let limit = |instructions: &dyn Fn(Multiplier) -> usize, streamed: usize| {
        let compute = multiplier(isa, prime_bits, rates).map(|m| m.ns(instructions(m)));
        compute.map(|ns| (ns / float(threads)).max(float(streamed << (log_n + 3)) / rates.dram_gb_s))
    };
    let full = limit(&sums_of, products + 2 * babies * limbs + results);
    let each = |m: Multiplier| m.transform(log_n) + m.residue * vectors;
    let made = limit(&|m| sums_of(m) + products * each(m), 2 * babies * limbs + results);
    let operands: Vec<&CpuPoly> = x.iter().collect();
    let constants = vec![vec![3; limbs]; babies];
    let combined = limit(&|m| vectors * 2 * limbs * (m.term * babies + m.sum), 2 * limbs * (babies + 1));
    let [left, right, more] = [0, 1, 2].map(|from| {
        let both = &x[from % babies];
        [dev.split(both, 0, 1), dev.split(both, 1, 2)]
    });
    let (left, right, more) = (left.each_ref(), right.each_ref(), more.each_ref());
    // Four products and two terms, in three sums; six operands and three results.
    let tensor = limit(&|m| vectors * limbs * (6 * m.term + 3 * m.sum), 9 * limbs);
    let row = |op, limit_ns, f: &dyn Fn() -> Vec<CpuPoly>| Measurement {
        op,
        n: 1 << log_n,
        prime_bits,
        limbs,
        threads,
        isa,
        ns: least_ns(400, || drop(f())),
        limit_ns,
    };
    Ok(vec![
        row("weighted_sums", full, &|| dev.weighted_sums(&x, &whole)),
        row("weighted_sums_default", full, &|| composites::weighted_sums(&dev, &x, &whole)),
        row("weighted_sums_one_limb", made, &|| dev.weighted_sums(&x, &one_limb)),
        row("weighted_sums_one_limb_default", made, &|| composites::weighted_sums(&dev, &x, &one_limb)),
        row("tensor", tensor, &|| dev.tensor(&left, &right, 0, &more, &constants[..1])),
        row("tensor_default", tensor, &|| composites::tensor(&dev, &left, &right, 0, &more, &constants[..1])),
        row("linear_combination", combined, &|| vec![dev.linear_combination(&operands, &constants)]),
        row("linear_combination_default", combined, &|| {
            vec![composites::linear_combination(&dev, &operands, &constants)]
        }),
    ])
}
