//! `mod_down` and `rescale`: the remainder of a limb is computed in the result's row, transformed there, and divided.

use super::prepare::Extension;
use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    kernels::convert::lift,
    pool::Row,
    ring::RingTables,
};
use limbwise_device::{Basis, composites::inverse_product};

impl Cpu {
    /// [`limbwise_device::composites::mod_down`].
    pub(crate) fn fused_mod_down(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let tables = self.tables(&a.shape.ring);
        let dropped = a.shape.basis - to;
        let down = Extension::new(&tables, dropped, to);
        let groups = self.dropped_limbs(&tables, a, dropped).into_iter().map(|rows| (&*down.converter, rows)).collect();
        let remainders = self.prepare_sources(groups);
        self.divide_limbs(&tables, a, to, |entry, prime, out| {
            remainders[entry].extend(&tables, &down, vec![(prime, out)]);
        })
    }

    /// [`limbwise_device::composites::rescale`].
    pub(crate) fn fused_rescale(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let dropped = a.shape.basis - to;
        let mut primes = dropped.iter();
        let (Some(prime), None) = (primes.next(), primes.next()) else { return self.fused_mod_down(a, to) };
        let tables = self.tables(&a.shape.ring);
        let moduli = a.shape.ring.moduli();
        let remainders = self.dropped_limbs(&tables, a, dropped);
        self.divide_limbs(&tables, a, to, |entry, target, out| {
            lift(self.isa(), moduli[prime], moduli[target], out, remainders[entry][0].lines());
            tables.prime(target).ntt(out);
        })
    }

    /// Coefficients of the dropped limbs of each entry.
    fn dropped_limbs(&self, tables: &RingTables, a: &CpuPoly, dropped: Basis) -> Vec<Vec<Row>> {
        let limb = |entry| dropped.iter().map(move |prime| (tables.prime(prime), a.limb(entry, prime)));
        let limbs: Vec<_> = (0..a.shape.batch).flat_map(limb).collect();
        let mut rows = self.coefficients(&limbs).into_iter();
        (0..a.shape.batch).map(|_| rows.by_ref().take(dropped.len()).collect()).collect()
    }

    /// `(a − remainder)/(product of the dropped primes)`; the closure writes the remainder of (entry, prime).
    fn divide_limbs(
        &self,
        tables: &RingTables,
        a: &CpuPoly,
        to: Basis,
        remainder: impl Fn(usize, usize, &mut [crate::layout::Line]) + Sync + Send,
    ) -> CpuPoly {
        let inverses = inverse_product(&a.shape.ring, a.shape.basis - to, to);
        let primes: Vec<usize> = to.iter().collect();
        let mut result = self.unwritten(a.shape.with_basis(to));
        let work = HEAVY * result.shape.rows() * a.shape.ring.n();
        self.each(work, result.rows.iter_mut().collect(), |i, row: &mut Row| {
            let (entry, limb) = (i / primes.len(), i % primes.len());
            let (prime, out) = (primes[limb], new_lines(row));
            remainder(entry, prime, out);
            tables.prime(prime).divide(out, a.limb(entry, prime), inverses[limb]);
        });
        result
    }
}
