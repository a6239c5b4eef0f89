//! `mod_down` and `rescale`: the remainder of a limb is computed in the result's row, transformed there, and divided. Of a new
//! limb the remainder is all ([`Division`]).

use super::prepare::{Block, Extension};
use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    footprint::shared,
    kernels::{convert::lift, limb::Ahead},
    layout::{Line, Part, blocks_mut, clear_padding},
    pool::Row,
    ring::{Division, RingTables},
};
use limbwise_device::{Basis, composites::drops_one_of};

/// A limb of the result, and its prime.
type Limb<'a> = (usize, &'a mut [Line]);

impl Cpu {
    /// [`limbwise_device::composites::mod_down`], many limbs at a time: they share the reading of the remainder.
    pub(crate) fn fused_mod_down(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let tables = self.tables(&a.shape.ring);
        let division = tables.division(a.shape.basis, to);
        let rows = self.dropped_limbs(&tables, a, division.dropped).into_iter();
        let remainders = self.prepare_sources(rows.map(|rows| (&*division.converter, rows)).collect());
        let down = Extension::of(&division);
        self.divide_limbs(&tables, a, &division, shared(1), |entry, limbs| {
            remainders[entry].begin(&down, &tables, limbs.iter_mut().map(|(prime, out)| (*prime, &mut **out)));
        })
    }

    /// [`limbwise_device::composites::rescale`].
    pub(crate) fn fused_rescale(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        if !drops_one_of(a.shape.basis, to) {
            return self.fused_mod_down(a, to);
        }
        let tables = self.tables(&a.shape.ring);
        let division = tables.division(a.shape.basis, to);
        let moduli = a.shape.ring.moduli();
        let from = division.dropped.iter().map(|prime| moduli[prime]).next().expect("one prime is dropped");
        let remainders = self.dropped_limbs(&tables, a, division.dropped);
        self.divide_limbs(&tables, a, &division, 1, |entry, limbs| {
            for (target, out) in limbs {
                lift(self.isa(), from, moduli[*target], out, remainders[entry][0].lines());
                for part in Part::strips(out.len()) {
                    tables.prime(*target).ntt_strip(out, part.first());
                }
            }
        })
    }

    /// Coefficients of the dropped limbs of each entry.
    fn dropped_limbs(&self, tables: &RingTables, a: &CpuPoly, dropped: Basis) -> Vec<Vec<Row>> {
        let limb = |entry| dropped.iter().map(move |prime| (tables.prime(prime), a.limb(entry, prime)));
        let limbs: Vec<_> = (0..a.shape.batch).flat_map(limb).collect();
        let mut rows = self.coefficients(&limbs).into_iter();
        (0..a.shape.batch).map(|_| rows.by_ref().take(dropped.len()).collect()).collect()
    }

    /// The quotients; the closure writes the remainders of some limbs of an entry, given by their primes, and begins their
    /// transforms. A block is divided right after its transform ended in the L1 cache.
    fn divide_limbs(
        &self,
        tables: &RingTables,
        a: &CpuPoly,
        division: &Division,
        together: usize,
        remainders: impl Fn(usize, &mut [Limb<'_>]) + Sync + Send,
    ) -> CpuPoly {
        let to = division.to;
        let mut result = self.unwritten(a.shape.with_basis(to));
        let work = HEAVY * result.shape.rows() * a.shape.ring.n();
        let mut items = Vec::new();
        for (entry, rows) in result.rows.chunks_exact_mut(to.len()).enumerate() {
            let limbs: Vec<Limb<'_>> = to.iter().zip(rows.iter_mut().map(new_lines)).collect();
            items.extend(self.groups(limbs, together).into_iter().map(|limbs| (entry, limbs)));
        }
        self.each(work, items, |_, (entry, mut limbs)| {
            remainders(entry, &mut limbs);
            for (prime, out) in limbs {
                let (kernels, factor) = (tables.prime(prime), division.factor(prime));
                let limb = factor.map(|factor| (a.limb(entry, prime), factor));
                let length = out.len();
                clear_padding(out);
                let mut blocks: Vec<&mut [Line]> = blocks_mut(out).collect();
                for Block { number, lines } in Block::all(length) {
                    let (now, later) = blocks.split_at_mut(number + 1);
                    let next = later.first().map_or(&[][..], |block| &**block);
                    let read = limb.map_or(&[][..], |(limb, _)| &limb[lines]);
                    let asked = [read];
                    kernels.ntt_block(now[number], number, &mut Ahead::spread(next, &asked, &(0..read.len())));
                    if let Some((_, factor)) = limb {
                        kernels.divide(now[number], read, factor);
                    }
                }
            }
        });
        result
    }
}
