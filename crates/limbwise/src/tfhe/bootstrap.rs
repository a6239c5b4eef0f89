//! Linear operations on ciphertexts, and programmable bootstrapping.

use super::{
    ciphertext::{Ciphertext, belongs},
    error::TfheError,
    key::ServerKey,
    noise,
    params::TfheParams,
    table::{Table, test_polynomial},
};
use crate::error::Result;
use limbwise_device::{Device, Domain, Region, Role, Rounding};
use std::collections::BTreeSet;

/// Messages bootstrapped together at most: 0.3 GB of digits, accumulators, tables and extractions at N = 2048.
pub const MOST_AT_ONCE: usize = 2048;

/// Evaluates on ciphertexts with a server's keys.
pub struct Evaluator<'a, D: Device> {
    dev: &'a D,
    key: &'a ServerKey<D>,
}

impl<D: Device> Clone for Evaluator<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Evaluator<'_, D> {}

impl<'a, D: Device> Evaluator<'a, D> {
    /// An evaluator on a device with a server's keys.
    pub fn new(dev: &'a D, key: &'a ServerKey<D>) -> Self {
        Self { dev, key }
    }

    /// The parameter set of all operands.
    #[must_use]
    pub fn params(&self) -> &'a TfheParams {
        self.key.params()
    }

    /// The device that computes.
    #[must_use]
    pub fn device(&self) -> &'a D {
        self.dev
    }

    fn own(&self, op: &'static str, a: &Ciphertext<D>) -> Result<()> {
        belongs(op, (self.key.params(), self.key.tag()), (&a.params, a.tag))
    }

    /// `a + b`.
    ///
    /// # Errors
    /// [`TfheError`] for operands of different keys, parameters or batches.
    pub fn add(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        a.goes_with("add", b)?;
        Ok(Ciphertext {
            lwe: self.dev.lwe_add(&a.lwe, &b.lwe),
            range: (a.range.0 + b.range.0, a.range.1 + b.range.1),
            norm_squared: a.norm_squared + b.norm_squared,
            ..a.clone()
        })
    }

    /// `a·c`.
    #[must_use]
    pub fn scale(&self, a: &Ciphertext<D>, c: i32) -> Ciphertext<D> {
        let ends = [a.range.0 * i64::from(c), a.range.1 * i64::from(c)];
        Ciphertext {
            lwe: self.dev.lwe_scale(&a.lwe, a.params.modulus().from_i64(c.into())),
            range: (ends[0].min(ends[1]), ends[0].max(ends[1])),
            norm_squared: a.norm_squared * f64::from(c).powi(2),
            ..a.clone()
        }
    }

    /// `a − b`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        a.goes_with("sub", b)?;
        self.add(a, &self.scale(b, -1))
    }

    /// `a + c` in every entry.
    #[must_use]
    pub fn add_clear(&self, a: &Ciphertext<D>, c: i32) -> Ciphertext<D> {
        Ciphertext {
            lwe: self.dev.lwe_shift(&a.lwe, &[a.params.encode(c.into())]),
            range: (a.range.0 + i64::from(c), a.range.1 + i64::from(c)),
            ..a.clone()
        }
    }

    /// Concatenates batches.
    ///
    /// # Errors
    /// [`TfheError`] for operands of different keys or parameters.
    ///
    /// # Panics
    /// If `parts` is empty.
    pub fn stack(&self, parts: &[&Ciphertext<D>]) -> Result<Ciphertext<D>> {
        let first = parts.first().expect("at least one part");
        for part in parts {
            belongs("stack", (&first.params, first.tag), (&part.params, part.tag))?;
        }
        let ends = parts.iter().map(|p| p.range);
        Ok(Ciphertext {
            lwe: self.dev.lwe_stack(&parts.iter().map(|p| &p.lwe).collect::<Vec<_>>()),
            range: ends.fold(first.range, |all, r| (all.0.min(r.0), all.1.max(r.1))),
            norm_squared: parts.iter().map(|p| p.norm_squared).fold(0.0, f64::max),
            ..(*first).clone()
        })
    }

    /// Entries `from … to − 1` of the batch.
    ///
    /// # Panics
    /// If `to` exceeds the batch or `from` exceeds `to`.
    #[must_use]
    pub fn split(&self, a: &Ciphertext<D>, from: usize, to: usize) -> Ciphertext<D> {
        Ciphertext { lwe: self.dev.lwe_split(&a.lwe, from, to), ..a.clone() }
    }

    /// Entries of the batch by their numbers, in any order and any number of times.
    ///
    /// # Errors
    /// Never for entries of one ciphertext.
    ///
    /// # Panics
    /// If there are no numbers, or one is no entry of the batch.
    pub fn gather(&self, a: &Ciphertext<D>, entries: &[usize]) -> Result<Ciphertext<D>> {
        // A run of successive entries is one copy.
        let runs = entries.chunk_by(|one, next| one + 1 == *next);
        let parts: Vec<_> = runs.map(|run| self.split(a, run[0], run[0] + run.len())).collect();
        if let [part] = &parts[..] {
            return Ok(part.clone());
        }
        self.stack(&parts.iter().collect::<Vec<_>>())
    }

    /// Messages that everybody may know, one each, as ciphertexts without noise that go with `like`. They hide nothing.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a message outside the message space.
    ///
    /// # Panics
    /// If there are no messages.
    pub fn known(&self, like: &Ciphertext<D>, messages: &[u64]) -> Result<Ciphertext<D>> {
        let most = self.params().space() - 1;
        if let Some(&got) = messages.iter().find(|&&message| message > most) {
            return Err(TfheError::Message { got, most }.into());
        }
        let zero = self.scale(&self.gather(like, &vec![0; messages.len()])?, 0);
        let signed: Vec<i64> = messages.iter().map(|message| message.cast_signed()).collect();
        let words: Vec<u64> = signed.iter().map(|&message| zero.params.encode(message)).collect();
        let least = signed.iter().copied().min().unwrap_or(0);
        let range = (least, signed.iter().copied().max().unwrap_or(0));
        Ok(Ciphertext { lwe: self.dev.lwe_shift(&zero.lwe, &words), range, ..zero })
    }

    /// Applies a table to each message (one for all, or one each) and resets the noise to that of a fresh
    /// bootstrapping.
    ///
    /// Cost: a key switch, a blind rotation of n steps and an extraction, all for the whole batch at once.
    ///
    /// # Errors
    /// [`TfheError`] for other keys, messages possibly outside the table's domain, too much noise, or a wrong number of
    /// tables.
    pub fn bootstrap(&self, a: &Ciphertext<D>, tables: &[Table]) -> Result<Ciphertext<D>> {
        if tables.len() != 1 && tables.len() != a.batch() {
            return Err(TfheError::TableCount { got: tables.len(), batch: a.batch() }.into());
        }
        tables.iter().try_for_each(|table| self.accepts("bootstrap", a, table, 0))?;
        let rotated = self.rotate_accumulators(a, &tables.iter().map(|t| vec![t]).collect::<Vec<_>>());
        let ranges = tables.iter().map(|t| t.part_range(0));
        let range = ranges.reduce(|all, r| (all.0.min(r.0), all.1.max(r.1))).unwrap_or((0, 0));
        let found = self.extract(a, &rotated, 0, range);
        Ok(self.add_half_offsets(found, &tables.iter().collect::<Vec<_>>()))
    }

    /// Applies 2, 4, … tables to each message by one blind rotation, if the noise leaves room. For small message spaces
    /// [`Table::beside`] costs no noise.
    ///
    /// # Errors
    /// The errors of [`Self::bootstrap`]; [`TfheError::Together`] for a number of tables that is no power of two.
    pub fn bootstrap_many(&self, a: &Ciphertext<D>, tables: &[Table]) -> Result<Vec<Ciphertext<D>>> {
        let most = self.params().ring().n() >> (self.params().literal().message_bits + 1);
        if !tables.len().is_power_of_two() || tables.len() > most {
            return Err(TfheError::Together { got: tables.len(), most }.into());
        }
        tables.iter().try_for_each(|table| self.accepts("bootstrap_many", a, table, tables.len().ilog2()))?;
        let rotated = self.rotate_accumulators(a, &[tables.iter().collect()]);
        let one = |(i, t): (usize, &Table)| self.add_half_offsets(self.extract(a, &rotated, i, t.range()), &[t]);
        Ok(tables.iter().enumerate().map(one).collect())
    }

    /// Bootstraps several ciphertexts of any batch, each with its own table, in one blind rotation; each result lists
    /// the outputs of its side-by-side tables. More than [`MOST_AT_ONCE`] messages run in turns, because the digits of
    /// a key switch, an accumulator, its table and its extraction take nine times the memory of the ciphertext.
    ///
    /// # Errors
    /// As [`Self::bootstrap`].
    ///
    /// # Panics
    /// If `jobs` is empty.
    pub fn bootstrap_jobs(&self, jobs: &[(Ciphertext<D>, Table)]) -> Result<Vec<Vec<Ciphertext<D>>>> {
        jobs.iter().try_for_each(|(a, table)| self.accepts("bootstrap", a, table, 0))?;
        let parts: BTreeSet<(usize, usize)> =
            jobs.iter().flat_map(|(_, t)| (0..t.parts()).map(|p| place(p, t.parts()))).collect();
        let all = self.stack(&jobs.iter().map(|(a, _)| a).collect::<Vec<_>>())?;
        let tables: Vec<&Table> = jobs.iter().flat_map(|(a, t)| std::iter::repeat_n(t, a.batch())).collect();
        let n = self.params().ring().n();
        let mut found: Vec<Vec<Ciphertext<D>>> = vec![Vec::new(); parts.len()];
        for from in (0..all.batch()).step_by(MOST_AT_ONCE) {
            let some = self.split(&all, from, all.batch().min(from + MOST_AT_ONCE));
            let own = &tables[from..from + some.batch()];
            let own = if own.iter().all(|t| *t == own[0]) { &own[..1] } else { own };
            let rotated = self.rotate_accumulators(&some, &own.iter().map(|t| vec![*t]).collect::<Vec<_>>());
            for (found, &(numerator, denominator)) in found.iter_mut().zip(&parts) {
                let part = self.extract(&some, &rotated, numerator * n / denominator, (0, 0));
                found.push(if numerator == 0 { self.add_half_offsets(part, own) } else { part });
            }
        }
        let found: Vec<Ciphertext<D>> =
            found.iter().map(|turns| self.stack(&turns.iter().collect::<Vec<_>>())).collect::<Result<_>>()?;
        let (mut from, mut results) = (0, Vec::with_capacity(jobs.len()));
        for (a, table) in jobs {
            let part = |p: usize| {
                let at = parts.iter().position(|own| *own == place(p, table.parts())).expect("all places are there");
                Ciphertext { range: table.part_range(p), ..self.split(&found[at], from, from + a.batch()) }
            };
            results.push((0..table.parts()).map(part).collect());
            from += a.batch();
        }
        Ok(results)
    }

    /// The accumulators after blind rotation, for one group of tables or one per entry.
    fn rotate_accumulators(&self, a: &Ciphertext<D>, groups: &[Vec<&Table>]) -> Vec<D::Poly> {
        let _region = self.dev.region(Region::Bootstrap, 0);
        let test = self.test_polynomials(groups);
        self.rotate(&test, &self.switched(a), groups[0].len().ilog2())
    }

    fn test_polynomials(&self, groups: &[Vec<&Table>]) -> D::Poly {
        let params = self.params();
        self.dev.upload(&params.shape(groups.len(), Domain::Coeff), Role::Plaintext, &|at, row| {
            test_polynomial(params, &groups[at.batch], row);
        })
    }

    /// A batch under the small LWE key.
    fn switched(&self, a: &Ciphertext<D>) -> D::Lwe {
        let narrow = self.dev.lwe_mod_switch(&a.lwe, self.params().lwe_modulus(), Rounding::Nearest);
        self.dev.lwe_key_switch(&narrow, &self.key.switch)
    }

    /// Rotates the test polynomials of 2^`together` tables each by the phases of a batch under the small LWE key.
    fn rotate(&self, test: &D::Poly, narrow: &D::Lwe, together: u32) -> Vec<D::Poly> {
        let (dev, params) = (self.dev, self.params());
        let circle = 2 << params.ring().log_n();
        let mut exponents = dev.lwe_mod_switch(narrow, circle >> together, Rounding::CenteredForBinary);
        if together > 0 {
            exponents = dev.lwe_mod_switch(&exponents, circle, Rounding::Nearest);
        }
        dev.blind_rotate(test, &dev.lwe_scale(&exponents, circle - 1), &self.key.bootstrap)
    }

    /// Refuses inputs that a blind rotation with 2^`together` tables could get wrong.
    fn accepts(&self, op: &'static str, a: &Ciphertext<D>, table: &Table, together: u32) -> Result<()> {
        self.own(op, a)?;
        let (l, wanted) = (self.params().literal(), self.params().table_len());
        if table.entries.len() != wanted {
            return Err(TfheError::TableLength { got: table.entries.len(), wanted }.into());
        }
        let ((low, high), (least, most)) = (a.range, table.takes());
        if low < least || high > most {
            return Err(TfheError::Range { op, low, high, least, most }.into());
        }
        let got = noise::log2_failure(l, a.norm_squared, together);
        if got > l.log2_failure {
            return Err(TfheError::Noise { op, got, wanted: l.log2_failure }.into());
        }
        Ok(())
    }

    /// Adds the offset of one half that step tables need.
    fn add_half_offsets(&self, a: Ciphertext<D>, tables: &[&Table]) -> Ciphertext<D> {
        let halves: Vec<u64> = tables.iter().map(|t| t.lift(self.params())).collect();
        match halves.iter().any(|&half| half > 0) {
            true => Ciphertext { lwe: self.dev.lwe_shift(&a.lwe, &halves), ..a },
            false => a,
        }
    }

    fn extract(&self, a: &Ciphertext<D>, rotated: &[D::Poly], at: usize, range: (i64, i64)) -> Ciphertext<D> {
        let lwe = self.dev.sample_extract(&rotated.iter().collect::<Vec<_>>(), &[at]);
        Ciphertext { lwe, range, norm_squared: 1.0, ..a.clone() }
    }
}

/// The start of one of several side-by-side tables, as a fraction of N in lowest terms.
fn place(part: usize, parts: usize) -> (usize, usize) {
    let shared = part.trailing_zeros().min(parts.trailing_zeros());
    (part >> shared, parts >> shared)
}

#[cfg(test)]
#[cfg(feature = "client")]
mod tails;
