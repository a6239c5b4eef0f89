//! The contents of MRAM at the start of a program, written by the host.
//!
//! One symbol: header, then commands and jobs ([`COMMANDS_AT`] to [`DATA_AT`]), then twiddles and sub-polynomials.

use super::{
    Form, Reduction,
    frame::{COMMAND_BYTES, Header, Operation},
};
use limbwise_math::{modulus::Modulus, ntt::NttTable};

/// MRAM address of the commands.
pub const COMMANDS_AT: u32 = 64;

/// MRAM address of the data, after the room for commands and jobs.
pub const DATA_AT: u32 = 256 << 10;

/// Largest number of jobs and commands together in one launch.
pub const MOST_ENTRIES: usize = ((DATA_AT - COMMANDS_AT) / COMMAND_BYTES) as usize;

/// Addresses and constant of a job, see [`Operation`].
pub type Job = [u32; 8];

/// Constants and twiddles of a modulus at a ring degree.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Constants; addresses, commands and tasklets are still 0.
    pub header: Header,
    /// ψ^brv(i), prepared for the form's reduction.
    pub twiddles: Vec<u32>,
    /// From number 1 on, ψ^−brv-ordered as the inverse uses them: number 1 + brv(i − 1) is ψ^−i. The last has the factor
    /// N^{-1}. Number 0 is unused.
    ///
    /// Source: \[DRA\] (the order of \[SEAL\]).
    pub inverse_twiddles: Vec<u32>,
}

/// The low 32 bits of a word.
pub(crate) fn low(x: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low word is what is asked for")]
    {
        x as u32
    }
}

/// Number of leading zeros of a modulus in 32 bits.
#[must_use]
pub fn normalizing_shift(q: Modulus) -> u32 {
    32 - q.bits()
}

/// Prepares a constant operand for the form's reduction: times 2^s, or times 2^32 modulo q.
#[must_use]
pub fn prepared(q: Modulus, constant: u64, form: Form) -> u32 {
    low(match form.reduction {
        Reduction::Barrett => constant << normalizing_shift(q),
        Reduction::Montgomery => q.mul(constant, 1 << 32),
    })
}

impl Tables {
    /// Tables for a prime below 2^32.
    ///
    /// # Panics
    /// If it is larger, or not 1 modulo 2N.
    #[must_use]
    pub fn new(q: Modulus, log_n: u32, form: Form) -> Self {
        assert!(q.bits() <= 32, "a DPU computes with residues of at most 32 bits");
        let table = NttTable::new(q, log_n);
        let n = 1usize << log_n;
        let n_inverse = table.n_inverse().value;
        let mut inverse_twiddles = vec![0; n];
        for log_groups in 0..log_n {
            let groups = 1 << log_groups;
            let roots = &table.inverse_roots()[groups..2 * groups];
            let factor = if groups == 1 { n_inverse } else { 1 };
            for (out, root) in inverse_twiddles[1 + n - 2 * groups..].iter_mut().zip(roots) {
                *out = prepared(q, q.mul(root.value, factor), form);
            }
        }
        let shift = normalizing_shift(q);
        let (modulus, normalized) = (low(q.value()), q.value() << shift);
        let newton = |x: u32| x.wrapping_mul(2u32.wrapping_sub(modulus.wrapping_mul(x)));
        let header = Header {
            n: 1 << log_n,
            log_n,
            modulus,
            normalized: low(normalized),
            shift,
            reciprocal: low(u64::MAX / normalized),
            inverse: (0..5).fold(modulus, |x, _| newton(x)), // 3 bits, doubled five times
            n_inverse: prepared(q, n_inverse, form),
            ..Header::default()
        };
        let twiddles = table.roots().iter().map(|root| prepared(q, root.value, form)).collect();
        Self { header, twiddles, inverse_twiddles }
    }

    /// Bytes of both tables with alignment.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        8 * self.header.n + 8
    }

    /// The words of both tables to write at `at`, a multiple of 8, and the header with their addresses.
    #[must_use]
    pub fn place(&self, at: u32) -> (Header, Vec<u32>) {
        let n = self.header.n;
        // Number 1 of the inverse's begins a transfer.
        let header = Header { twiddles_at: at, inverse_twiddles_at: at + 4 * n + 4, ..self.header };
        (header, [&self.twiddles[..], &[0], &self.inverse_twiddles, &[0]].concat())
    }
}

/// Words of commands and their jobs, to be written at [`COMMANDS_AT`].
///
/// # Panics
/// If there are more than [`MOST_ENTRIES`].
#[must_use]
pub fn commands(list: &[(Operation, Vec<Job>)]) -> Vec<u32> {
    let entries = list.iter().map(|(_, jobs)| 1 + jobs.len()).sum::<usize>();
    assert!(entries <= MOST_ENTRIES, "a launch has room for {MOST_ENTRIES} commands and jobs, got {entries}");
    let mut at = COMMANDS_AT + COMMAND_BYTES * low(list.len() as u64);
    let mut words = Vec::with_capacity(8 * entries);
    for (op, jobs) in list {
        let count = low(jobs.len() as u64);
        words.extend([op.code(), count, at, 0, 0, 0, 0, 0]);
        at += COMMAND_BYTES * count;
    }
    words.extend(list.iter().flat_map(|(_, jobs)| jobs.iter().flatten()));
    words
}
