//! Where evaluation keys come from while a circuit runs: a set of real ones, or declarations while it is planned.

use super::key::{EvaluationKey, KeyForm, KeyName, KeyPair, UniformHalf};
use crate::{
    error::{KeyError, Result},
    params::Params,
};
use limbwise_device::{Device, Role, Shape};
use limbwise_math::sampling::Seed;
use std::{collections::BTreeMap, sync::Mutex};

/// The keys a circuit asked for, each with the highest level it was used at.
pub type Requirements = BTreeMap<KeyName, usize>;

/// Which keys to make, and how to keep them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPlan {
    /// The keys, each with its level.
    pub required: Requirements,
    /// Stored whole, or the uniform half as a seed.
    pub form: KeyForm,
}

/// Gives out evaluation keys.
pub trait KeyStore<D: Device> {
    /// The key of a name for ciphertexts at `level`.
    ///
    /// # Errors
    /// [`KeyError::Missing`] or [`KeyError::TooLow`].
    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>>;
}

/// Real keys.
pub struct KeySet<D: Device> {
    log_n: u32,
    keys: BTreeMap<KeyName, EvaluationKey<D>>,
}

impl<D: Device> KeySet<D> {
    /// A set of keys.
    #[must_use]
    pub fn new(params: &Params, keys: Vec<EvaluationKey<D>>) -> Self {
        Self { log_n: params.log_n(), keys: keys.into_iter().map(|k| (k.name(), k)).collect() }
    }

    /// What the set serves.
    #[must_use]
    pub fn names(&self) -> Requirements {
        self.keys.values().map(|k| (k.name(), k.level())).collect()
    }
}

impl<D: Device> KeyStore<D> for KeySet<D> {
    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        let Some(key) = self.keys.get(&name) else {
            let mut present: Vec<String> = self.keys.keys().take(8).map(|k| k.describe(self.log_n)).collect();
            if self.keys.len() > present.len() {
                present.push(format!("{} more", self.keys.len() - present.len()));
            }
            let present = if present.is_empty() { "no key".into() } else { present.join(", ") };
            return Err(KeyError::Missing { op, wanted: name.describe(self.log_n), present }.into());
        };
        if level > key.level() {
            return Err(KeyError::TooLow { name, made: key.level(), level }.into());
        }
        Ok(key.clone())
    }
}

/// Keys that exist by declaration: shape, role and identity. They come into being when asked for, and are remembered.
pub struct DeclaredKeys<'a, D: Device> {
    dev: &'a D,
    params: Params,
    /// No key beyond those declared at the start.
    fixed: bool,
    state: Mutex<(Requirements, BTreeMap<KeyName, EvaluationKey<D>>)>,
}

impl<'a, D: Device> DeclaredKeys<'a, D> {
    /// Every key at the top level, stored: to learn what a circuit requires.
    #[must_use]
    pub fn all(dev: &'a D, params: &Params) -> Self {
        Self { dev, params: params.clone(), fixed: false, state: Mutex::default() }
    }

    /// These keys, each at its level, declared at once.
    #[must_use]
    pub fn exactly(dev: &'a D, params: &Params, plan: &KeyPlan) -> Self {
        let declared = |(&name, &level)| (name, declare(dev, params, name, level, plan.form));
        let keys = plan.required.iter().map(declared).collect();
        Self { dev, params: params.clone(), fixed: true, state: Mutex::new((Requirements::new(), keys)) }
    }

    /// What was asked for so far.
    ///
    /// # Panics
    /// If another thread panicked while it asked.
    #[must_use]
    pub fn requirements(&self) -> Requirements {
        self.state.lock().expect("no panic while the lock is held").0.clone()
    }
}

impl<D: Device> KeyStore<D> for DeclaredKeys<'_, D> {
    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        let mut state = self.state.lock().expect("no panic while the lock is held");
        let (asked, keys) = &mut *state;
        let highest = asked.entry(name).or_insert(level);
        *highest = level.max(*highest);
        if let Some(key) = keys.get(&name) {
            return Ok(key.clone());
        }
        if self.fixed {
            let wanted = name.describe(self.params.log_n());
            return Err(KeyError::Missing { op, wanted, present: "only what was declared".into() }.into());
        }
        let level = if name == KeyName::Encapsulation { 0 } else { self.params.top_level() };
        let key = declare(self.dev, &self.params, name, level, KeyForm::Stored);
        keys.insert(name, key.clone());
        Ok(key)
    }
}

fn declare<D: Device>(dev: &D, params: &Params, name: KeyName, level: usize, form: KeyForm) -> EvaluationKey<D> {
    let (digits, special) = name.gadget(params, level);
    let shape = Shape::eval(params.ring(), params.basis(level) | special);
    let half =
        || dev.upload(&shape, Role::EvaluationKey(name.id()), &|_, _| unreachable!("a declared key has no words"));
    let pair = || {
        let uniform = match form {
            KeyForm::Stored => UniformHalf::Stored(half()),
            KeyForm::Seeded => UniformHalf::Seeded(Seed([0; 32])),
        };
        KeyPair { masked: half(), uniform }
    };
    EvaluationKey::new(name, level, digits.iter().map(|_| pair()).collect())
}

/// Bytes of a key at a level: `β·|QP|·N` words for each half that is stored, 32 bytes for a seed.
#[must_use]
pub fn key_bytes(params: &Params, name: KeyName, level: usize, form: KeyForm) -> u64 {
    let (digits, special) = name.gadget(params, level);
    let half = Shape::eval(params.ring(), params.basis(level) | special).bytes();
    let digits = digits.len() as u64;
    match form {
        KeyForm::Stored => 2 * digits * half,
        KeyForm::Seeded => digits * (half + 32),
    }
}
