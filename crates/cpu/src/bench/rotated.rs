//! Times of sums of rotations, the baby steps of double-hoisted maps, and of key switches over QP, their giant steps.

use super::{Measurement, Multiplier, Rates, SwitchShape, composites::polynomial, float, least_ns, moduli, multiplier};
use crate::{Cpu, CpuPoly, Isa, OpenError};
use limbwise_device::{Basis, Device, GadgetKey, RingSpec, Rotation, Terms, Weight, composites};
use limbwise_math::galois::GaloisElement;

/// Size of the sums: every sum has a term for each rotation, and one for the operand that comes after.
#[derive(Clone, Copy, Debug)]
pub struct RotatedShape {
    /// The key switch of each rotation.
    pub switch: SwitchShape,
    /// Rotations, each with its own key.
    pub rotations: usize,
    /// Number of sums.
    pub sums: usize,
}

/// Sums of rotations and key switches that are not divided, nanoseconds for the whole operation. The limit is the
/// multiply-adds at full rate, or keys and weights read once and results written once, whichever takes longer.
///
/// # Errors
/// [`OpenError`] if the CPU lacks `isa` or the threads are refused.
///
/// # Panics
/// If there are not so many primes of that width.
pub fn rotated_sums(
    isa: Isa,
    shape: RotatedShape,
    threads: usize,
    rates: Rates,
) -> Result<Vec<Measurement>, OpenError> {
    let dev = Cpu::new(isa, threads)?;
    let RotatedShape { switch, rotations, sums } = shape;
    let (log_n, chain, limbs) = (switch.log_n, Basis::range(0, switch.chain), switch.chain + switch.special);
    let primes = moduli(log_n, switch.prime_bits, limbs).iter().map(|q| q.value()).collect();
    let ring = dev.ring(&RingSpec { log_n, primes }).expect("checked primes");
    let (full, digits) = (ring.full(), switch.digits());
    let whole = || polynomial(&dev, &ring, full);
    let key = || GadgetKey {
        digits: digits.clone(),
        special: full - chain,
        pairs: digits.iter().map(|_| [0, 1].map(|_| whole())).collect(),
    };
    let rotation = |steps| Rotation { galois: GaloisElement::rotation(steps, log_n), key: key() };
    let keys: Vec<Rotation<CpuPoly>> = (1..=rotations as i64).map(rotation).collect();
    let (c, onto) = (polynomial(&dev, &ring, chain), polynomial(&dev, &ring, chain));
    let more = [dev.stack(&[&whole(), &whole()])];
    let weights: Vec<CpuPoly> = (0..sums * (rotations + 1)).map(|_| whole()).collect();
    let terms: Vec<Terms<'_, CpuPoly>> =
        weights.chunks(rotations + 1).map(|group| group.iter().map(Weight::Values).enumerate().collect()).collect();
    let vectors = 1usize << (log_n - 3);
    let limit = |instructions: &dyn Fn(Multiplier) -> usize, streamed: usize| {
        let compute = multiplier(isa, switch.prime_bits, rates).map(|m| m.ns(instructions(m)));
        compute.map(|ns| (ns / float(threads)).max(float(streamed << (log_n + 3)) / rates.dram_gb_s))
    };
    let products = sums * (rotations + 1) * limbs;
    let added = |m: Multiplier| vectors * (2 * m.term * products + m.sum * 2 * sums * limbs);
    let streamed = 2 * rotations * digits.len() * limbs + products + 2 * (sums + 1) * limbs;
    let both = limit(&|m| switch.up(m) + rotations * switch.product(m) + added(m), streamed);
    let one = limit(&|m| switch.up(m) + switch.product(m), (2 * digits.len() + 3) * limbs);
    let row = |op, limit_ns, f: &dyn Fn() -> Vec<CpuPoly>| Measurement {
        op,
        n: 1 << log_n,
        prime_bits: switch.prime_bits,
        limbs: switch.chain,
        threads,
        isa,
        ns: least_ns(600, || drop(f())),
        limit_ns,
    };
    let first = dev.split(&more[0], 0, 1);
    let giant = [Some(&first), None];
    Ok(vec![
        row("rotated_sums", both, &|| dev.rotated_sums(&c, &onto, &keys, &more, &terms)),
        row("rotated_sums_default", both, &|| composites::rotated_sums(&dev, &c, &onto, &keys, &more, &terms)),
        row("key_switch_undivided", one, &|| dev.key_switch_undivided(&c, &keys[0].key, giant).into()),
        row("key_switch_undivided_default", one, &|| {
            composites::key_switch_undivided(&dev, &c, &keys[0].key, giant).into()
        }),
    ])
}
