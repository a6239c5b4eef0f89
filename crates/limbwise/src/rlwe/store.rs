//! Sources of evaluation keys while a circuit runs: a set of keys, or declarations while it is planned.

use super::key::{EvaluationKey, KeyForm, KeyName, KeyPair, UniformHalf, with_special};
use crate::{
    error::{KeyError, Result},
    params::Params,
};
use limbwise_device::{Device, Role, Shape, Wordless};
use limbwise_math::sampling::Seed;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The keys that a circuit needs, each with the highest level it is used at.
pub type Requirements = BTreeMap<KeyName, usize>;

/// One request of a circuit: the key and the level of its ciphertext.
pub type Request = (KeyName, usize);

/// The keys to make and their storage form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPlan {
    /// The keys, each with its level.
    pub required: Requirements,
    /// Storage form of all keys.
    pub form: KeyForm,
}

/// A source of evaluation keys, shared by threads.
pub trait KeyStore<D: Device>: Send + Sync {
    /// Fails like [`Self::key`] if the key is missing, before anything is computed; fetches nothing.
    ///
    /// # Errors
    /// [`KeyError::Missing`] or [`KeyError::TooLow`].
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()>;

    /// The named key for ciphertexts at `level`.
    ///
    /// # Errors
    /// [`KeyError::Missing`] or [`KeyError::TooLow`]; [`KeyError::Unread`] from a store that reads files.
    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>>;

    /// Whether a key that [`Self::key`] gives takes no memory of its own: it is neither read nor expanded for the request,
    /// so an operation may hold many keys at a time.
    fn is_whole(&self, _name: KeyName) -> bool {
        false
    }
}

/// A set of keys in memory.
pub struct KeySet<D: Device> {
    log_n: u32,
    keys: BTreeMap<KeyName, EvaluationKey<D>>,
}

impl<D: Device> KeySet<D> {
    /// A set from a list of keys.
    #[must_use]
    pub fn new(params: &Params, keys: Vec<EvaluationKey<D>>) -> Self {
        Self { log_n: params.log_n(), keys: keys.into_iter().map(|k| (k.name(), k)).collect() }
    }

    /// The keys in order of their names.
    pub fn keys(&self) -> impl Iterator<Item = &EvaluationKey<D>> {
        self.keys.values()
    }

    /// Names of the keys, each with its level.
    #[must_use]
    pub fn names(&self) -> Requirements {
        self.keys.values().map(|k| (k.name(), k.level())).collect()
    }
}

impl<D: Device> KeyStore<D> for KeySet<D> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        self.key(op, name, level).map(drop)
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        let level_of = |k: &EvaluationKey<D>| k.level();
        serves(self.log_n, op, name, level, self.keys.get(&name).map(level_of), self.keys.keys().copied())?;
        Ok(self.keys[&name].clone())
    }

    fn is_whole(&self, name: KeyName) -> bool {
        self.keys.get(&name).is_some_and(EvaluationKey::is_whole)
    }
}

/// Fails unless the key made for level `made` serves `op` at `level`. If there is no such key, the error lists the keys
/// that are present.
///
/// # Errors
/// [`KeyError::Missing`] or [`KeyError::TooLow`].
pub fn serves(
    log_n: u32,
    op: &'static str,
    name: KeyName,
    level: usize,
    made: Option<usize>,
    present: impl ExactSizeIterator<Item = KeyName>,
) -> Result<(), KeyError> {
    const SHOWN: usize = 8;
    match made {
        Some(made) if level <= made => Ok(()),
        Some(made) => Err(KeyError::TooLow { name, made, level }),
        None => {
            let others = present.len().saturating_sub(SHOWN);
            let mut present: Vec<String> = present.take(SHOWN).map(|k| k.describe(log_n)).collect();
            present.extend((others > 0).then(|| format!("{others} more")));
            let present = if present.is_empty() { "no key".into() } else { present.join(", ") };
            Err(KeyError::Missing { op, wanted: name.describe(log_n), present })
        }
    }
}

/// Keys declared by shape, role and identity, without words. They are created on request, and requests are recorded.
pub struct DeclaredKeys<'a, D: Device> {
    dev: &'a D,
    params: Params,
    /// Whether keys beyond those declared at the start are missing.
    fixed: bool,
    state: Mutex<Declared<D>>,
}

struct Declared<D: Device> {
    required: Requirements,
    requests: Vec<Request>,
    keys: BTreeMap<KeyName, EvaluationKey<D>>,
}

impl<D: Device> Declared<D> {
    fn of(keys: BTreeMap<KeyName, EvaluationKey<D>>) -> Mutex<Self> {
        Mutex::new(Self { required: Requirements::new(), requests: Vec::new(), keys })
    }

    fn require(&mut self, name: KeyName, level: usize) {
        let highest = self.required.entry(name).or_insert(level);
        *highest = level.max(*highest);
    }
}

impl<'a, D: Wordless> DeclaredKeys<'a, D> {
    /// Every key at the top level, stored in full: to learn which keys a circuit needs.
    #[must_use]
    pub fn all(dev: &'a D, params: &Params) -> Self {
        Self { dev, params: params.clone(), fixed: false, state: Declared::of(BTreeMap::new()) }
    }

    /// Exactly the keys of a plan, each at its level, declared at once.
    #[must_use]
    pub fn exactly(dev: &'a D, params: &Params, plan: &KeyPlan) -> Self {
        let declared = |(&name, &level)| (name, declare(dev, params, name, level, plan.form));
        let keys = plan.required.iter().map(declared).collect();
        Self { dev, params: params.clone(), fixed: true, state: Declared::of(keys) }
    }

    /// The keys requested so far.
    #[must_use]
    pub fn requirements(&self) -> Requirements {
        self.state().required.clone()
    }

    /// Every request so far, in order: a store that reads ahead needs the order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, Declared<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Wordless> KeyStore<D> for DeclaredKeys<'_, D> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        let mut state = self.state();
        state.require(name, level);
        if self.fixed && !state.keys.contains_key(&name) {
            let wanted = name.describe(self.params.log_n());
            return Err(KeyError::Missing { op, wanted, present: "only what was declared".into() }.into());
        }
        Ok(())
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        self.check(op, name, level)?;
        let mut state = self.state();
        state.requests.push((name, level));
        let declared = || {
            let level = if name.is_lowest() { 0 } else { self.params.top_level() };
            declare(self.dev, &self.params, name, level, KeyForm::Stored)
        };
        Ok(state.keys.entry(name).or_insert_with(declared).clone())
    }

    /// Keys that nobody has declared yet will be stored in full.
    fn is_whole(&self, name: KeyName) -> bool {
        self.state().keys.get(&name).is_none_or(EvaluationKey::is_whole)
    }
}

/// Declares a key on a device that holds no words.
pub fn declare<D: Wordless>(dev: &D, params: &Params, name: KeyName, level: usize, form: KeyForm) -> EvaluationKey<D> {
    let (digits, special) = name.held(params, level);
    let shape = Shape::eval(params.ring(), with_special(&digits, special));
    let half = || dev.declare(&shape, Role::EvaluationKey(name.id()));
    let pair = || {
        let uniform = match form {
            KeyForm::Stored => UniformHalf::Stored { poly: half(), seed: None },
            KeyForm::Seeded | KeyForm::Disk => UniformHalf::Seeded(Seed([0; 32])),
        };
        KeyPair { masked: half(), uniform }
    };
    EvaluationKey::new(name, level, digits.iter().map(|_| pair()).collect())
}

/// Size in bytes of a key at a level in memory: `β·|QP|·N` words per stored half, 32 bytes per seed.
#[must_use]
pub fn key_bytes(params: &Params, name: KeyName, level: usize, form: KeyForm) -> u64 {
    let (digits, special) = name.held(params, level);
    let half = Shape::eval(params.ring(), with_special(&digits, special)).bytes();
    let digits = digits.len() as u64;
    match form {
        KeyForm::Stored => 2 * digits * half,
        KeyForm::Seeded | KeyForm::Disk => digits * (half + 32),
    }
}
