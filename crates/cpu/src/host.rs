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
            let mut words = WORDS.take();
            words.resize(shape.ring.n(), 0);
            fill(RowAt { batch: i / primes.len(), prime, modulus: shape.ring.moduli()[prime] }, &mut words);
            match shape.domain {
                Domain::Coeff => layout::write_coefficients(row, &words),
                Domain::Eval => layout::write_values(row, &words),
            }
            words.zeroize();
            WORDS.set(words);
        })
    }
}

impl HostRead for Cpu {
    fn download(&self, a: &CpuPoly) -> Result<Vec<u64>, Fault> {
        let n = a.shape.ring.n();
        let mut words = vec![0; a.rows.len() * n];
        let items: Vec<&mut [u64]> = words.chunks_exact_mut(n).collect();
        self.each(HEAVY * a.rows.len() * n, items, |i, to| match a.shape.domain {
            Domain::Coeff => layout::read_coefficients(a.rows[i].lines(), to),
            Domain::Eval => layout::read_values(a.rows[i].lines(), to),
        });
        Ok(words)
    }

    fn download_lwe(&self, a: &CpuLwe) -> Result<Vec<u64>, Fault> {
        Ok(a.all().into_owned())
    }
}
