//! Encrypted booleans: any gate of two inputs is one bootstrapping, a multiplexer two side by side.

use super::{bootstrap::Evaluator, ciphertext::Ciphertext, error::TfheError, params::TfheParams, table::Table};
use crate::error::Result;
use limbwise_device::Device;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// The gates of two inputs that depend on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// a ∧ b.
    And,
    /// ¬(a ∧ b).
    Nand,
    /// a ∨ b.
    Or,
    /// ¬(a ∨ b).
    Nor,
    /// a ⊕ b.
    Xor,
    /// ¬(a ⊕ b).
    Xnor,
    /// a ∧ ¬b.
    AndNot,
    /// ¬a ∧ b.
    NotAnd,
    /// a ∨ ¬b.
    OrNot,
    /// ¬a ∨ b.
    NotOr,
}

impl Gate {
    /// All gates.
    pub const ALL: [Self; 10] = [
        Self::And,
        Self::Nand,
        Self::Or,
        Self::Nor,
        Self::Xor,
        Self::Xnor,
        Self::AndNot,
        Self::NotAnd,
        Self::OrNot,
        Self::NotOr,
    ];

    /// The gate in the clear.
    #[must_use]
    pub fn apply(self, [a, b]: [bool; 2]) -> bool {
        match self {
            Self::And => a && b,
            Self::Nand => !(a && b),
            Self::Or => a || b,
            Self::Nor => !(a || b),
            Self::Xor => a != b,
            Self::Xnor => a == b,
            Self::AndNot => a && !b,
            Self::NotAnd => !a && b,
            Self::OrNot => a || !b,
            Self::NotOr => !a || b,
        }
    }

    /// The gate's table on 2a + b.
    fn table(self, params: &TfheParams) -> Result<Table> {
        Table::of(params, |m| u64::from(m < 4 && self.apply([m & 2 != 0, m & 1 != 0])))
    }
}

/// A batch of encrypted booleans with the evaluator that computes on it.
pub struct Boolean<'a, D: Device> {
    eval: Evaluator<'a, D>,
    ct: Ciphertext<D>,
}

impl<D: Device> Clone for Boolean<'_, D> {
    fn clone(&self) -> Self {
        Self { eval: self.eval, ct: self.ct.clone() }
    }
}

impl<'a, D: Device> Boolean<'a, D> {
    /// Wraps a ciphertext of messages 0 and 1.
    ///
    /// # Errors
    /// [`TfheError::Message`] if the message space has fewer than two bits: a gate puts both inputs into one message.
    pub fn new(eval: Evaluator<'a, D>, ct: Ciphertext<D>) -> Result<Self> {
        if eval.params().space() < 4 {
            return Err(TfheError::Message { got: 3, most: eval.params().space() - 1 }.into());
        }
        Ok(Self { eval, ct: ct.at_most(1)? })
    }

    /// The underlying ciphertext.
    #[must_use]
    pub fn ciphertext(&self) -> &Ciphertext<D> {
        &self.ct
    }

    /// 2a + b, which holds both inputs in one message.
    fn pair(&self, other: &Self) -> Result<Ciphertext<D>> {
        self.eval.add(&self.eval.scale(&self.ct, 2), &other.ct)
    }

    /// Applies a gate entry by entry.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`].
    pub fn gate(&self, gate: Gate, other: &Self) -> Result<Self> {
        let ct = self.eval.bootstrap(&self.pair(other)?, &[gate.table(self.eval.params())?])?;
        Ok(Self { eval: self.eval, ct })
    }

    /// Whether any of several is true, row by row: as many as a message holds are added for one bootstrapping.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`], and [`TfheError`] for operands of different keys, parameters or batches.
    ///
    /// # Panics
    /// If there are none.
    pub fn any(all: &[Self]) -> Result<Self> {
        let (eval, params) = (all[0].eval, all[0].eval.params());
        let table = Table::of(params, |m| u64::from(m > 0))?;
        // Two bootstrapped ones are always added: a set that does not allow that says so, and the number of sums falls.
        let most = params.literal().norm.powi(2).max(2.0);
        let mut left: Vec<Ciphertext<D>> = all.iter().map(|one| one.ct.clone()).collect();
        while left.len() > 1 {
            let mut sums: Vec<(Ciphertext<D>, Table)> = Vec::new();
            for one in left {
                let fits = |sum: &Ciphertext<D>| {
                    sum.range().1.unsigned_abs() + 1 < params.space() && sum.norm_squared() + one.norm_squared() <= most
                };
                match sums.last_mut() {
                    Some((sum, _)) if fits(sum) => *sum = eval.add(sum, &one)?,
                    _ => sums.push((one, table.clone())),
                }
            }
            left = eval.bootstrap_jobs(&sums)?.into_iter().flatten().collect();
        }
        Ok(Self { eval, ct: left.swap_remove(0) })
    }

    /// Whether all of several are true, row by row.
    ///
    /// # Errors
    /// As [`Self::any`].
    ///
    /// # Panics
    /// If there are none.
    pub fn all(all: &[Self]) -> Result<Self> {
        Ok(!&Self::any(&all.iter().map(|one| !one).collect::<Vec<_>>())?)
    }

    /// `self ? yes : no`. One batch of bootstrappings computes both halves, of which at most one is 1, so they are
    /// added.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`].
    pub fn mux(&self, yes: &Self, no: &Self) -> Result<Self> {
        let (eval, params) = (self.eval, self.eval.params());
        let (taken, other) = (self.pair(yes)?, self.pair(no)?);
        let (first, all) = (taken.batch(), taken.batch() + other.batch());
        let [and, not_and] = [Gate::And.table(params)?, Gate::NotAnd.table(params)?];
        let tables: Vec<Table> = (0..all).map(|i| if i < first { and.clone() } else { not_and.clone() }).collect();
        let both = eval.bootstrap(&eval.stack(&[&taken, &other])?, &tables)?;
        let sum = eval.add(&eval.split(&both, 0, first), &eval.split(&both, first, all))?;
        Ok(Self { eval, ct: sum.at_most(1)? })
    }
}

/// 1 − a, without a bootstrapping.
impl<'a, D: Device> Not for &Boolean<'a, D> {
    type Output = Boolean<'a, D>;
    fn not(self) -> Boolean<'a, D> {
        let ct = self.eval.add_clear(&self.eval.scale(&self.ct, -1), 1);
        Boolean { eval: self.eval, ct }
    }
}

macro_rules! operator {
    ($trait:ident, $name:ident, $gate:ident) => {
        impl<'a, D: Device> $trait for &Boolean<'a, D> {
            type Output = Result<Boolean<'a, D>>;
            fn $name(self, other: Self) -> Self::Output {
                self.gate(Gate::$gate, other)
            }
        }
    };
}

operator!(BitAnd, bitand, And);
operator!(BitOr, bitor, Or);
operator!(BitXor, bitxor, Xor);
