//! `mod_up`: each limb of a digit is converted into its row of the result and transformed there.

use super::prepare::{Extension, end_transform};
use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    footprint::shared,
    layout::{self, Line, clear_padding},
};
use limbwise_device::Basis;

/// Limbs computed together: index of the digit, and the primes with their rows.
type Limbs<'a> = (usize, Vec<(usize, &'a mut [Line])>);

impl Cpu {
    /// [`limbwise_device::composites::mod_up`], entry by entry and digit by digit, whose sources stay in the cache.
    pub(crate) fn fused_mod_up(&self, c: &CpuPoly, digits: &[Basis], full: Basis) -> Vec<CpuPoly> {
        let ring = &c.shape.ring;
        let tables = self.tables(ring);
        let up: Vec<Extension> = digits.iter().map(|&own| Extension::new(&tables, own, full - own)).collect();
        let mut raised: Vec<CpuPoly> = digits.iter().map(|&own| self.unfilled_digit(c, own, full)).collect();
        for entry in 0..c.shape.batch {
            let prepared = self.digits(&tables, c, entry, digits, &up);
            let mut items: Vec<Limbs<'_>> = Vec::new();
            for (digit, (raised, &own)) in raised.iter_mut().zip(digits).enumerate() {
                let rows = raised.rows[entry * full.len()..][..full.len()].iter_mut();
                let others = full.iter().zip(rows).filter(|(prime, _)| !own.contains(*prime));
                let others = others.map(|(prime, row)| (prime, new_lines(row))).collect();
                items.extend(self.groups(others, shared(1)).into_iter().map(|limbs| (digit, limbs)));
            }
            self.each(HEAVY * digits.len() * full.len() * ring.n(), items, |_, (digit, mut limbs)| {
                prepared[digit].begin(&up[digit], &tables, limbs.iter_mut().map(|(prime, row)| (*prime, &mut **row)));
                for (prime, row) in limbs {
                    clear_padding(row);
                    end_transform(tables.prime(prime), row);
                }
            });
        }
        raised
    }

    /// A digit over `full`: its own limbs are those of `c`, the others are uninitialized.
    fn unfilled_digit(&self, c: &CpuPoly, own: Basis, full: Basis) -> CpuPoly {
        let length = layout::lines(c.shape.ring.log_n());
        let limbs = c.shape.basis.len();
        let row = |entry: usize, prime: usize| match c.shape.basis.position(prime) {
            Some(at) if own.contains(prime) => c.rows[entry * limbs + at].clone(),
            _ => self.pool.take(length),
        };
        let rows = (0..c.shape.batch).flat_map(|entry| full.iter().map(move |prime| (entry, prime)));
        CpuPoly { rows: rows.map(|(entry, prime)| row(entry, prime)).collect(), shape: c.shape.with_basis(full) }
    }
}
