//! Times of blind rotation beside its instruction floor.

use super::{Measurement, Multiplier, Rates, composites::polynomial, float, least_ns, moduli, multiplier};
use crate::{Cpu, CpuPoly, Isa, OpenError};
use limbwise_device::{Basis, Device, Domain, Gadget, Ggsw, Handle as _, LweShape, RingSpec, Role, Shape};

/// Size of a blind rotation.
#[derive(Clone, Copy, Debug)]
pub struct BlindShape {
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Bits of the prime.
    pub prime_bits: u32,
    /// Steps: dimension of the exponents.
    pub steps: usize,
    /// Base and levels.
    pub gadget: Gadget,
    /// Entries of the batch.
    pub batch: usize,
}

impl BlindShape {
    /// Multiplier instructions of one entry with one mask: transforms of all digits and both sums, products with the key, the
    /// first reduction of each sum.
    fn instructions(self, m: Multiplier) -> usize {
        let (rows, vectors) = (2 * self.gadget.len(), 1 << (self.log_n - 3));
        self.steps * ((rows + 2) * m.lazy_transform(self.log_n) + (m.term * rows + 2) * 2 * vectors)
    }

    /// Bytes of the key.
    fn key_bytes(self) -> usize {
        (32 * self.gadget.len() * self.steps) << self.log_n
    }
}

/// Blind rotation, nanoseconds an entry. The limit is its multiply-adds at full rate, or to read the key once for the
/// batch, whichever takes longer.
///
/// # Errors
/// [`OpenError`] if the CPU lacks `isa` or the threads are refused.
///
/// # Panics
/// If there is no such prime.
pub fn blind_rotation(isa: Isa, shape: BlindShape, threads: usize, rates: Rates) -> Result<Measurement, OpenError> {
    let dev = Cpu::new(isa, threads)?;
    let primes = moduli(shape.log_n, shape.prime_bits, 1).iter().map(|q| q.value()).collect();
    let ring = dev.ring(&RingSpec { log_n: shape.log_n, primes }).expect("a checked prime");
    let one = polynomial(&dev, &ring, Basis::single(0));
    let part = |_| -> CpuPoly {
        let all: Vec<CpuPoly> = (0..shape.steps).map(|_| dev.copy(&one)).collect();
        dev.stack(&all.iter().collect::<Vec<_>>())
    };
    let rows = (0..2 * shape.gadget.len()).map(|_| (0..2).map(part).collect()).collect();
    let key = Ggsw { gadget: shape.gadget, rows };
    let exponents = LweShape { dimension: shape.steps, modulus: 2 << shape.log_n, batch: shape.batch };
    let exponents = dev.upload_lwe(exponents, Role::Temporary, &|entry, words| {
        let word = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (63 - shape.log_n);
        words.iter_mut().zip(entry as u64..).for_each(|(x, i)| *x = word(i + 1));
    });
    let coeff = Shape { domain: Domain::Coeff, ..one.shape().clone() };
    let test = dev.upload(&coeff, Role::Plaintext, &|_, row| row.fill(1 << (shape.prime_bits - 3)));
    let ns = least_ns(300, || drop(dev.blind_rotate(&test, &exponents, &key)));
    let compute = multiplier(isa, shape.prime_bits, rates).map(|m| m.ns(shape.instructions(m)));
    let busy = threads.min(shape.batch);
    let read = float(shape.key_bytes()) / rates.dram_gb_s / float(shape.batch);
    Ok(Measurement {
        op: if shape.batch == 1 { "blind_rotate" } else { "blind_rotate_batch" },
        n: 1 << shape.log_n,
        prime_bits: shape.prime_bits,
        limbs: shape.steps,
        threads,
        isa,
        ns: ns / float(shape.batch),
        limit_ns: compute.map(|ns| (ns / float(busy)).max(read)),
    })
}
