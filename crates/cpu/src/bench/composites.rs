//! Times of the fused composites beside their default bodies and their limits.

use super::{Measurement, Multiplier, Rates, float, least_ns, moduli, multiplier};
use crate::{Cpu, CpuPoly, Isa, OpenError};
use limbwise_device::{Basis, Device, GadgetKey, Ring, RingSpec, Role, Shape, composites};

/// Size of a key switch: chain and special primes, and digits.
#[derive(Clone, Copy, Debug)]
pub struct SwitchShape {
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Bits of all primes.
    pub prime_bits: u32,
    /// Primes of the chain.
    pub chain: usize,
    /// Number of special primes.
    pub special: usize,
    /// Primes of a digit, the last one perhaps fewer.
    pub digit: usize,
}

impl SwitchShape {
    pub(super) fn digits(self) -> Vec<Basis> {
        (0..self.chain).step_by(self.digit).map(|i| Basis::range(i, (i + self.digit).min(self.chain))).collect()
    }

    /// Instructions of one limb's conversion from `sources`, with its reduction.
    fn sweep(self, m: Multiplier, sources: usize) -> usize {
        (m.term * sources + m.target) << (self.log_n - 3)
    }

    /// Instructions that drop `dropped` limbs from what leaves `kept`.
    fn down(self, m: Multiplier, dropped: usize, kept: usize) -> usize {
        let vectors = 1 << (self.log_n - 3);
        let conversions = m.source * dropped * vectors + kept * self.sweep(m, dropped);
        conversions + m.product * kept * vectors + (dropped + kept) * m.transform(self.log_n)
    }

    /// Instructions of the product with the key.
    pub(super) fn product(self, m: Multiplier) -> usize {
        (2 * (self.chain + self.special) * (m.term * self.digits().len() + m.sum)) << (self.log_n - 3)
    }

    /// Instructions that raise the digits.
    pub(super) fn up(self, m: Multiplier) -> usize {
        let full = self.chain + self.special;
        let digit = |own: &Basis| (full - own.len()) * (self.sweep(m, own.len()) + m.transform(self.log_n));
        let sources = self.chain * (m.transform(self.log_n) + (m.source << (self.log_n - 3)));
        sources + self.digits().iter().map(digit).sum::<usize>()
    }
}

pub(super) fn polynomial(dev: &Cpu, ring: &Ring, basis: Basis) -> CpuPoly {
    dev.upload(&Shape::eval(ring, basis), Role::Temporary, &|at, row| {
        row.iter_mut().zip(1u64..).for_each(|(x, i)| *x = at.modulus.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    })
}

/// Key switching and its parts, nanoseconds for the whole operation; a limit is its multiply-adds at full rate or its
/// reads from memory, whichever takes longer. Names that end in `_default` are the bodies that are not fused.
///
/// # Errors
/// [`OpenError`] if the CPU lacks `isa` or the threads are refused.
///
/// # Panics
/// If there are not so many primes of that width.
pub fn key_switching(
    isa: Isa,
    shape: SwitchShape,
    threads: usize,
    rates: Rates,
) -> Result<Vec<Measurement>, OpenError> {
    let dev = Cpu::new(isa, threads)?;
    let (log_n, chain) = (shape.log_n, Basis::range(0, shape.chain));
    let primes = moduli(log_n, shape.prime_bits, shape.chain + shape.special).iter().map(|q| q.value()).collect();
    let ring = dev.ring(&RingSpec { log_n, primes }).expect("checked primes");
    let (special, digits) = (ring.full() - chain, shape.digits());
    let c = polynomial(&dev, &ring, chain);
    let pairs = digits.iter().map(|_| [0, 1].map(|_| polynomial(&dev, &ring, ring.full()))).collect();
    let key = GadgetKey { digits: digits.clone(), special, pairs };
    let key_bytes = (16 * digits.len() * (shape.chain + shape.special)) << log_n;
    let limit = |instructions: &dyn Fn(Multiplier) -> usize, bytes: usize| {
        let compute = multiplier(isa, shape.prime_bits, rates).map(|m| m.ns(instructions(m)));
        compute.map(|ns| (ns / float(threads)).max(float(bytes) / rates.dram_gb_s))
    };
    let row = |op, ns, limit_ns| Measurement {
        op,
        n: 1 << log_n,
        prime_bits: shape.prime_bits,
        limbs: shape.chain,
        threads,
        isa,
        ns,
        limit_ns,
    };
    let raised = dev.mod_up(&c, &digits, ring.full());
    let wide = polynomial(&dev, &ring, ring.full());
    let less = Basis::range(0, shape.chain - 1);
    let limbs_bytes = |limbs: usize| (8 * limbs) << log_n;
    let raised_bytes = limbs_bytes(digits.len() * (shape.chain + shape.special));
    let up = limit(&|m| shape.up(m), raised_bytes);
    let down = limit(&|m| shape.down(m, shape.special, shape.chain), limbs_bytes(3 * shape.chain + shape.special));
    let one = limit(&|m| shape.down(m, 1, shape.chain - 1), limbs_bytes(3 * shape.chain - 2));
    let product = limit(&|m| shape.product(m), key_bytes);
    let switch = |m, dropped, kept| shape.up(m) + shape.product(m) + 2 * shape.down(m, dropped, kept);
    let whole = limit(&|m| switch(m, shape.special, shape.chain), key_bytes);
    let time = |f: &dyn Fn()| least_ns(400, f);
    let parts = [
        time(&|| drop(composites::mod_up(&dev, &c, &digits, ring.full()))),
        time(&|| drop(composites::gadget_product(&dev, &raised, &key))),
        time(&|| drop(composites::mod_down(&dev, &wide, chain))),
    ];
    let onto = [Some(&c), Some(&c)];
    let merged = limit(&|m| switch(m, shape.special + 1, shape.chain - 1), key_bytes);
    let then_rescale = || {
        drop(dev.key_switch(&c, &key).map(|half| dev.rescale(&dev.add(&c, &half), less)));
    };
    Ok(vec![
        row("mod_up", time(&|| drop(dev.mod_up(&c, &digits, ring.full()))), up),
        row("mod_up_default", parts[0], up),
        row("gadget_product", time(&|| drop(dev.gadget_product(&raised, &key))), product),
        row("gadget_product_default", parts[1], product),
        row("mod_down", time(&|| drop(dev.mod_down(&wide, chain))), down),
        row("mod_down_default", parts[2], down),
        row("rescale", time(&|| drop(dev.rescale(&c, less))), one),
        row("rescale_default", time(&|| drop(composites::rescale(&dev, &c, less))), one),
        row("key_switch", time(&|| drop(dev.key_switch(&c, &key))), whole),
        row("key_switch_default", parts[0] + parts[1] + 2.0 * parts[2], whole),
        row("key_switch_onto", time(&|| drop(dev.key_switch_onto(&c, &key, onto, less))), merged),
        row("key_switch_then_rescale", time(&then_rescale), merged),
    ])
}
