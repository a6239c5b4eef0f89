//! Words between the host's order and a limb's.

use crate::{Cpu, CpuLwe, CpuPoly, device::HEAVY, layout};
use limbwise_device::{Domain, Fault, Fill, HostRead, RowAt, Shape};
use std::cell::RefCell;
use zeroize::Zeroize as _;

thread_local! {
    /// Room for the words of one limb, zeros between uses: so much memory is asked of the system and touched anew each
    /// time, and what was there may be secret.
    static WORDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Cpu {
    /// Rows from words in the host's order.
    pub(crate) fn upload_words(&self, shape: &Shape, fill: Fill<'_>) -> CpuPoly {
        let primes: Vec<usize> = shape.basis.iter().collect();
        self.written(shape.clone(), HEAVY, |i, row| {
            let prime = primes[i % primes.len()];
            let at = RowAt { batch: i / primes.len(), prime, modulus: shape.ring.moduli()[prime] };
            with_words(shape.ring.n(), |words| {
                fill(at, words);
                match shape.domain {
                    Domain::Coeff => layout::write_coefficients(row, words),
                    Domain::Eval => layout::write_values(row, words),
                }
            });
        })
    }
}

/// Room for the words of one limb, wiped afterwards.
fn with_words(n: usize, work: impl FnOnce(&mut [u64])) {
    let mut words = WORDS.take();
    words.resize(n, 0);
    work(&mut words);
    words.zeroize();
    WORDS.set(words);
}

/// One row in the host's order.
fn read_row(a: &CpuPoly, row: usize, to: &mut [u64]) {
    match a.shape.domain {
        Domain::Coeff => layout::read_coefficients(a.rows[row].lines(), to),
        Domain::Eval => layout::read_values(a.rows[row].lines(), to),
    }
}

impl HostRead for Cpu {
    fn download(&self, a: &CpuPoly) -> Result<Vec<u64>, Fault> {
        let n = a.shape.ring.n();
        let mut words = vec![0; a.rows.len() * n];
        let items: Vec<&mut [u64]> = words.chunks_exact_mut(n).collect();
        self.each(HEAVY * a.rows.len() * n, items, |i, to| read_row(a, i, to));
        Ok(words)
    }

    fn each_row(&self, a: &CpuPoly, take: &(dyn Fn(usize, &[u64]) + Sync)) -> Result<(), Fault> {
        let n = a.shape.ring.n();
        self.each(HEAVY * a.rows.len() * n, vec![(); a.rows.len()], |i, ()| {
            with_words(n, |words| {
                read_row(a, i, words);
                take(i, words);
            });
        });
        Ok(())
    }

    fn download_lwe(&self, a: &CpuLwe) -> Result<Vec<u64>, Fault> {
        Ok(a.all().into_owned())
    }
}
