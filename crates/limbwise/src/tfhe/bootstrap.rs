//! Sums of ciphertexts, and programmable bootstrapping.

use super::{
    ciphertext::{Ciphertext, belongs},
    error::TfheError,
    key::ServerKey,
    noise,
    params::TfheParams,
    table::{Table, test_polynomial},
};
use crate::error::Result;
use limbwise_device::{Device, Domain, Role, Rounding};

/// Computes on ciphertexts with a server's keys.
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
    /// An evaluator.
    pub fn new(dev: &'a D, key: &'a ServerKey<D>) -> Self {
        Self { dev, key }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &'a TfheParams {
        self.key.params()
    }

    /// The device.
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
    /// [`TfheError`] for other keys, parameters or batches.
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

    /// `a + c`.
    #[must_use]
    pub fn add_clear(&self, a: &Ciphertext<D>, c: i32) -> Ciphertext<D> {
        Ciphertext {
            lwe: self.dev.lwe_shift(&a.lwe, &[a.params.encode(c.into())]),
            range: (a.range.0 + i64::from(c), a.range.1 + i64::from(c)),
            ..a.clone()
        }
    }

    /// Batches one after another.
    ///
    /// # Errors
    /// [`TfheError`] for other keys or parameters.
    ///
    /// # Panics
    /// If there is no part.
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
    /// If the batch has no such entries.
    #[must_use]
    pub fn split(&self, a: &Ciphertext<D>, from: usize, to: usize) -> Ciphertext<D> {
        Ciphertext { lwe: self.dev.lwe_split(&a.lwe, from, to), ..a.clone() }
    }

    /// Each message through its table (or all through one), and its noise back to that of a fresh bootstrapping.
    ///
    /// Cost: a key switch, a blind rotation of n steps and an extraction, all for the whole batch at once.
    ///
    /// # Errors
    /// [`TfheError`] for other keys, messages that may lie outside the space, too much noise, another number of tables.
    pub fn bootstrap(&self, a: &Ciphertext<D>, tables: &[Table]) -> Result<Ciphertext<D>> {
        if tables.len() != 1 && tables.len() != a.batch() {
            return Err(TfheError::TableCount { got: tables.len(), batch: a.batch() }.into());
        }
        let rotated = self.rotated("bootstrap", a, &tables.iter().map(|t| vec![t]).collect::<Vec<_>>())?;
        Ok(self.extracted(a, &rotated, 0, tables))
    }

    /// Each message through several tables by one blind rotation: 2, 4, … of them, where the noise leaves room.
    ///
    /// # Errors
    /// As [`Self::bootstrap`]; [`TfheError::Together`] for another number of tables.
    pub fn bootstrap_many(&self, a: &Ciphertext<D>, tables: &[Table]) -> Result<Vec<Ciphertext<D>>> {
        let rotated = self.rotated("bootstrap_many", a, &[tables.iter().collect()])?;
        Ok(tables.iter().enumerate().map(|(i, t)| self.extracted(a, &rotated, i, std::slice::from_ref(t))).collect())
    }

    /// The accumulators after blind rotation; one group of tables, or one for each entry.
    fn rotated(&self, op: &'static str, a: &Ciphertext<D>, groups: &[Vec<&Table>]) -> Result<Vec<D::Poly>> {
        self.own(op, a)?;
        let (dev, params) = (self.dev, self.params());
        let together = self.together(op, a, groups[0].len())?;
        let wanted = params.table_len();
        if let Some(table) = groups.iter().flatten().find(|t| t.entries.len() != wanted) {
            return Err(TfheError::TableLength { got: table.entries.len(), wanted }.into());
        }
        let most = params.space() - 1;
        let (low, high) = a.range;
        if low < 0 || high.cast_unsigned() > most {
            return Err(TfheError::Range { op, low, high, most }.into());
        }
        let _region = dev.region("bootstrap", 0);
        let test = dev.upload(&params.shape(groups.len(), Domain::Coeff), Role::Plaintext, &|at, row| {
            test_polynomial(params, &groups[at.batch], row);
        });
        let narrow = dev.lwe_mod_switch(&a.lwe, params.lwe_modulus(), Rounding::Nearest);
        let narrow = dev.lwe_key_switch(&narrow, &self.key.switch);
        let circle = 2 << params.ring().log_n();
        let mut exponents = dev.lwe_mod_switch(&narrow, circle >> together, Rounding::CentredForBinary);
        if together > 0 {
            exponents = dev.lwe_mod_switch(&exponents, circle, Rounding::Nearest);
        }
        Ok(dev.blind_rotate(&test, &dev.lwe_scale(&exponents, circle - 1), &self.key.bootstrap))
    }

    /// log₂ of the number of tables that share a rotation, if the parameters leave room for so many and for the noise.
    fn together(&self, op: &'static str, a: &Ciphertext<D>, count: usize) -> Result<u32> {
        let (l, most) =
            (self.params().literal(), self.params().ring().n() >> (self.params().literal().message_bits + 1));
        if !count.is_power_of_two() || count > most {
            return Err(TfheError::Together { got: count, most }.into());
        }
        let log = count.ilog2();
        let got = noise::log2_failure(l, a.norm_squared, log);
        if got > l.log2_failure {
            return Err(TfheError::Noise { op, got, wanted: l.log2_failure }.into());
        }
        Ok(log)
    }

    fn extracted(&self, a: &Ciphertext<D>, rotated: &[D::Poly], at: usize, tables: &[Table]) -> Ciphertext<D> {
        let ranges = tables.iter().map(Table::range);
        let range = ranges.reduce(|all, r| (all.0.min(r.0), all.1.max(r.1))).unwrap_or((0, 0));
        let lwe = self.dev.sample_extract(&rotated.iter().collect::<Vec<_>>(), &[at]);
        Ciphertext { lwe, range, norm_squared: 1.0, ..a.clone() }
    }
}
