//! Memory of the composites that this device fuses, and the size of its rows.
//!
//! Beside the result, in rows of one limb:
//! - `mod_down`, `rescale`: for each batch entry the dropped limbs, and one row of overflows (how often a conversion's source
//!   modulus is contained in its sum) where there is a conversion;
//! - `mod_up`: for one batch entry at a time the limbs of its argument and a row of overflows a digit;
//! - `key_switch`, `key_switch_onto`: for one batch entry at a time the same, and for both halves the dropped limbs and a row
//!   of overflows; each thread has rows of its own beside that ([`Footprint::scratch_rows`]);
//! - `key_switch_undivided`, `rotated_sums` where [`sums_in_parts`]: as `mod_up`; each thread uses the rows of a key switch;
//! - `extend_limb`, `weighted_sums`: nothing; each thread has [`TOGETHER`] rows of its own for weights of one limb;
//! - `tensor`, `linear_combination`: nothing;
//! - `matrix_product`: nothing; a task copies up to 1 MiB of its operands;
//! - `blind_rotate`: nothing; each thread has accumulators, digits and tiles of its own, and digits twice where a rotation
//!   is divided among threads.

use crate::{
    kernels::Isa,
    layout::{Line, lines},
};
use limbwise_device::{
    Basis, Ring, Shape, SharedFootprint,
    composites::drops_one_of,
    footprint::{BlindRotation, Body, Footprint, KeySwitch, Ones, RotatedSums},
};
use std::sync::Arc;

/// Weights of one limb that a sum takes together, and least limbs that sums of rotations have rows for: more read their
/// operands less often, fewer stay in the cache.
pub(crate) const TOGETHER: usize = 3;

/// Rows of raised digits that all threads of a key switch make together, about: 13 MB at N = 2^16, which a last cache holds
/// beside what else goes through it.
const SHARED_ROWS: usize = 25;

/// Limbs of its result that all threads of a key switch make together, at least.
const LEAST_SHARED: usize = 5;

/// Limbs of its result that all threads of a key switch with so many digits make together. The more, the more limbs a
/// thread converts at a time, and the less often it reads the digit and waits for the others.
pub(crate) fn shared(digits: usize) -> usize {
    (SHARED_ROWS / digits.max(1)).max(LEAST_SHARED)
}

/// Limbs that sums of rotations with weights raise together: what is left of their rows is for the rotations.
pub(crate) const RAISED: usize = TOGETHER - 1;

/// The footprint of this device with vector kernels.
#[must_use]
pub fn footprint() -> SharedFootprint {
    footprint_on(Isa::Avx2)
}

/// The footprint of this device with the kernels of an instruction set.
#[must_use]
pub fn footprint_on(isa: Isa) -> SharedFootprint {
    Arc::new(Fused { isa })
}

#[derive(Clone, Copy, Debug)]
struct Fused {
    isa: Isa,
}

/// Whether sums of rotations are made part by part: there is a rotation, and either no term has a weight, or all have
/// weights that the entries share, and a thread has rows for a rotation beside a weight.
pub(crate) fn sums_in_parts(call: &RotatedSums<'_>) -> bool {
    match call.ones {
        Ones::All => call.digits > 0,
        Ones::None => call.digits > usize::from(call.one_limb) && call.shared,
        Ones::Some => false,
    }
}

/// Rows of coefficients and overflows of one entry's digits.
fn digit_rows(basis: Basis, digits: usize) -> usize {
    basis.len() + digits
}

/// Rows of so many dropped limbs and their overflows.
fn remainder_rows(dropped: Basis) -> usize {
    dropped.len() + 1
}

impl Footprint for Fused {
    fn name(&self) -> &'static str {
        "cpu"
    }

    /// With padding.
    fn row_bytes(&self, log_n: u32) -> u64 {
        (size_of::<Line>() * lines(log_n)) as u64
    }

    fn scratch_rows(&self, threads: usize, digits: usize) -> usize {
        shared(digits).max(threads * TOGETHER) * digits
    }

    fn table_bytes(&self, ring: &Ring) -> u64 {
        // Both ways a factor and its quotient for each place; vectors share them among eight places (`kernels::factors`).
        let bytes = match self.isa {
            Isa::Scalar => 2 * 16 * ring.n(),
            Isa::Avx2 | Isa::Avx512 | Isa::Ifma => 2 * 16 * (ring.n() / 8),
        };
        (bytes * ring.spec().primes.len()) as u64
    }

    fn mod_up(&self, c: &Shape, digits: usize) -> Body {
        Body::Own { beside: digit_rows(c.basis, digits) }
    }

    fn mod_down(&self, a: &Shape, to: Basis) -> Body {
        Body::Own { beside: a.batch * remainder_rows(a.basis - to) }
    }

    /// A single limb is lifted, not converted.
    fn rescale(&self, a: &Shape, to: Basis) -> Body {
        if drops_one_of(a.basis, to) { Body::Own { beside: a.batch } } else { self.mod_down(a, to) }
    }

    fn key_switch(&self, call: &KeySwitch<'_>) -> Body {
        self.key_switch_onto(call)
    }

    fn key_switch_onto(&self, call: &KeySwitch<'_>) -> Body {
        Body::Own { beside: digit_rows(call.c.basis, call.digits.len()) + 2 * remainder_rows(call.dropped()) }
    }

    fn key_switch_undivided(&self, c: &Shape, digits: usize) -> Body {
        Body::Own { beside: digit_rows(c.basis, digits) }
    }

    fn rotated_sums(&self, call: &RotatedSums<'_>) -> Body {
        match sums_in_parts(call) {
            true => Body::Own { beside: digit_rows(call.c.basis, call.digits) },
            false => Body::Default,
        }
    }

    fn extend_limb(&self, _a: &Shape, _to: Basis) -> Body {
        Body::Own { beside: 0 }
    }

    fn weighted_sum(&self, _extended: &[usize]) -> Body {
        Body::Own { beside: 0 }
    }

    fn tensor(&self) -> Body {
        Body::Own { beside: 0 }
    }

    fn linear_combination(&self) -> Body {
        Body::Own { beside: 0 }
    }

    fn matrix_product(&self) -> Body {
        Body::Own { beside: 0 }
    }

    fn blind_rotate(&self, _call: &BlindRotation<'_>) -> Body {
        Body::Own { beside: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_device::{Device, GadgetKey, Null, RingSpec, Weight};
    use limbwise_math::prime::ntt_primes_below;

    const ROW: u64 = 8 << 10;

    /// Peak number of rows of a call on an otherwise empty device.
    fn rows(call: impl Fn(&Null, &Ring)) -> u64 {
        let dev = Null::of(footprint());
        let primes = ntt_primes_below(10, 40, 6, &[]).unwrap();
        call(&dev, &dev.ring(&RingSpec { log_n: 10, primes }).unwrap());
        dev.meter().peak_bytes() / ROW
    }

    #[test]
    fn composites_hold_what_they_say() {
        let (chain, special) = (Basis::range(0, 4), Basis::range(4, 6));
        let a = |dev: &Null, ring: &Ring| dev.zeros(&Shape::eval(ring, chain).with_batch(3));
        let wide = |dev: &Null, ring: &Ring| dev.zeros(&Shape::eval(ring, ring.full()));
        let key = |dev: &Null, ring: &Ring| {
            let digits = vec![Basis::range(0, 2), Basis::range(2, 4)];
            let pair = |_| [0, 1].map(|_| wide(dev, ring));
            GadgetKey { pairs: (0..2).map(pair).collect(), digits, special }
        };
        assert_eq!(rows(|dev, ring| drop(dev.rescale(&a(dev, ring), Basis::range(0, 3)))), 12 + 3 * (3 + 1));
        assert_eq!(rows(|dev, ring| drop(dev.rescale(&a(dev, ring), Basis::range(0, 2)))), 12 + 3 * (2 + 3));
        assert_eq!(rows(|dev, ring| drop(dev.mod_down(&wide(dev, ring), chain))), 6 + 4 + 3);
        let switched = rows(|dev, ring| drop(dev.key_switch(&a(dev, ring), &key(dev, ring))));
        assert_eq!(switched, 12 + 24 + 2 * 3 * 4 + 4 + 2 + 2 * 3);
        let up = rows(|dev, ring| drop(dev.mod_up(&a(dev, ring), &key(dev, ring).digits, ring.full())));
        assert_eq!(up, 12 + 24 + 3 * 2 * 4 + 4 + 2);
        let merged = |dev: &Null, ring: &Ring| {
            let a = a(dev, ring);
            drop(dev.key_switch_onto(&a, &key(dev, ring), [Some(&a), None], Basis::range(0, 3)));
        };
        assert_eq!(rows(merged), 12 + 24 + 2 * 3 * 3 + 4 + 2 + 2 * (3 + 1));
        let limb = |dev: &Null, ring: &Ring| dev.intt(dev.restrict(&a(dev, ring), Basis::single(2)));
        assert_eq!(rows(|dev, ring| drop(dev.extend_limb(&limb(dev, ring), ring.full()))), 3 + 3 * 6);
        let sums = |dev: &Null, ring: &Ring| {
            let (a, limb) = (a(dev, ring), limb(dev, ring));
            let sum = || vec![(0, Weight::OneLimb(&limb)), (0, Weight::Values(&a))];
            drop(dev.weighted_sums(std::slice::from_ref(&a), &[sum(), sum()]));
        };
        assert_eq!(rows(sums), 12 + 3 + 2 * 3 * 4);
        let combination = |dev: &Null, ring: &Ring| {
            let a = a(dev, ring);
            drop(dev.linear_combination(&[&dev.split(&a, 0, 1), &a], &vec![vec![1; 4]; 2]));
        };
        assert_eq!(rows(combination), 12 + 3 * 4);
    }
}
