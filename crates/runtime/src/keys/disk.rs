//! A key store that reads from a file, one key ahead of use.
//!
//! One thread of the store's reads what its [`Shelf`] decides while the program computes. A request waits for its key
//! where that is still on its way, and reads it itself where nobody thought of it: a program that departs from what was
//! recorded gets every key, only later. Errors of the file are errors of the operation that asks for the key.
//!
//! The budget counts what the store holds. A key that leaves while a thread still works with it lives until it is done:
//! with several threads that is one key each beyond the budget at most.

use super::shelf::{Shelf, Turn};
use limbwise::{
    Error, Result,
    error::KeyError,
    params::Params,
    rlwe::{EvaluationKey, KeyName, KeyStore, Request, Requirements, serves},
};
use limbwise_device::Device;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::scope,
    time::Instant,
};

/// Where keys are read from.
pub trait KeySource<D: Device>: Sync {
    /// The keys there are, each with the level it was made for.
    fn names(&self) -> &Requirements;

    /// The place, for people.
    fn place(&self) -> String;

    /// Reads a key for ciphertexts at `level` and below, the uniform half as its seed.
    fn read(&self, dev: &D, name: KeyName, level: usize) -> Result<EvaluationKey<D>>;
}

/// What a store has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Traffic {
    pub reads: usize,
    /// Of them those that were decided when the key was asked for: the first one, and what was not foreseen.
    pub late: usize,
    /// Seconds that requests waited for their keys.
    pub waited_seconds: f64,
}

enum Slot<D: Device> {
    /// On its way: which read brings it.
    Coming(u64),
    There(EvaluationKey<D>),
}

#[derive(Clone, Copy)]
struct Errand {
    ticket: u64,
    request: Request,
}

struct State<D: Device> {
    shelf: Shelf,
    slots: BTreeMap<KeyName, Slot<D>>,
    errands: VecDeque<Errand>,
    tickets: u64,
    closed: bool,
    traffic: Traffic,
}

/// Keys that are read when a program comes to them.
pub struct DiskKeys<'a, D: Device> {
    dev: &'a D,
    params: &'a Params,
    source: &'a dyn KeySource<D>,
    state: Mutex<State<D>>,
    changed: Condvar,
    /// Whether a thread runs the errands; without one they are run where they arise.
    thread: bool,
}

impl<'a, D: Device> DiskKeys<'a, D> {
    /// Gives a program such a store for as long as it runs, and says what the store did.
    pub fn serve<R>(
        dev: &'a D,
        params: &'a Params,
        source: &'a dyn KeySource<D>,
        shelf: Shelf,
        program: impl FnOnce(&Self) -> Result<R>,
    ) -> Result<(R, Traffic)> {
        let store = Self::new(dev, params, source, shelf, true);
        let result = scope(|scope| {
            scope.spawn(|| store.run_errands());
            let _closing = Closing(&store); // also if the program panics
            program(&store)
        })?;
        Ok((result, store.traffic()))
    }

    /// The same without a thread: keys are read at the moment that is decided. For devices that hold no words.
    #[must_use]
    pub fn rehearsed(dev: &'a D, params: &'a Params, source: &'a dyn KeySource<D>, shelf: Shelf) -> Self {
        Self::new(dev, params, source, shelf, false)
    }

    fn new(dev: &'a D, params: &'a Params, source: &'a dyn KeySource<D>, shelf: Shelf, thread: bool) -> Self {
        let (slots, errands, traffic) = (BTreeMap::new(), VecDeque::new(), Traffic::default());
        let state = State { shelf, slots, errands, tickets: 0, closed: false, traffic };
        Self { dev, params, source, state: Mutex::new(state), changed: Condvar::new(), thread }
    }

    /// What has been read so far.
    pub fn traffic(&self) -> Traffic {
        self.state().traffic
    }

    fn state(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<D>>) -> MutexGuard<'s, State<D>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// After what a turn says; its reads are errands now.
    fn arranged<'s>(&'s self, mut state: MutexGuard<'s, State<D>>, turn: Turn) -> MutexGuard<'s, State<D>> {
        for name in turn.dropped {
            state.slots.remove(&name);
        }
        for (name, level) in turn.cut {
            if let Some(Slot::There(key)) = state.slots.get_mut(&name) {
                *key = key.restrict(self.dev, self.params, level);
            }
        }
        for request in turn.read {
            state.tickets += 1;
            let errand = Errand { ticket: state.tickets, request };
            state.slots.insert(request.0, Slot::Coming(errand.ticket));
            state.errands.push_back(errand);
        }
        while !self.thread
            && let Some(errand) = state.errands.pop_front()
        {
            state = self.fetched(state, errand);
        }
        self.changed.notify_all();
        state
    }

    /// After a read, which is done without the lock; the key is on its shelf if it is still wanted.
    fn fetched<'s>(&'s self, mut state: MutexGuard<'s, State<D>>, errand: Errand) -> MutexGuard<'s, State<D>> {
        let (name, level) = errand.request;
        if !state.awaits(errand) {
            return state;
        }
        state.traffic.reads += 1;
        drop(state);
        let mut arrival = Arrival { store: self, errand, key: None };
        arrival.key = self.source.read(self.dev, name, level).ok();
        drop(arrival);
        self.state()
    }

    /// What the store's thread does until the store is closed.
    fn run_errands(&self) {
        let mut state = self.state();
        while !state.closed {
            state = match state.errands.pop_front() {
                Some(errand) => self.fetched(state, errand),
                None => self.wait(state),
            };
        }
    }

    /// The key of a request once it is there, or why it is not. What nobody has begun to read it reads itself.
    fn awaited<'s>(
        &'s self,
        mut state: MutexGuard<'s, State<D>>,
        op: &'static str,
        (name, level): Request,
    ) -> Result<EvaluationKey<D>> {
        loop {
            let ticket = match state.slots.get(&name) {
                Some(Slot::There(key)) if key.level() >= level => return Ok(key.clone()),
                Some(Slot::Coming(ticket)) => *ticket,
                // It had to leave for another thread's, or could not be read: this request reads for itself, beyond the
                // budget, and tells what is wrong if anything still is.
                Some(Slot::There(_)) | None => {
                    state.traffic.reads += 1;
                    state.traffic.late += 1;
                    drop(state);
                    let (wanted, file) = (name.describe(self.params.log_n()), self.source.place());
                    let unread = |cause: Error| KeyError::Unread { op, wanted, file, cause: cause.to_string() };
                    return self.source.read(self.dev, name, level).map_err(|cause| unread(cause).into());
                }
            };
            let waiting = state.errands.iter().position(|errand| errand.ticket == ticket);
            state = match waiting.and_then(|at| state.errands.remove(at)) {
                Some(errand) => self.fetched(state, errand),
                None => self.wait(state),
            };
        }
    }
}

impl<D: Device> State<D> {
    /// Whether what an errand brings is still wanted.
    fn awaits(&self, errand: Errand) -> bool {
        let slot = self.slots.get(&errand.request.0);
        matches!(slot, Some(Slot::Coming(ticket)) if *ticket == errand.ticket)
    }
}

impl<D: Device> KeyStore<D> for DiskKeys<'_, D> {
    fn check(&self, op: &'static str, name: KeyName, level: usize) -> Result<()> {
        let names = self.source.names();
        Ok(serves(self.params.log_n(), op, name, level, names.get(&name).copied(), names.keys().copied())?)
    }

    fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        self.check(op, name, level)?;
        let mut state = self.state();
        let turn = state.shelf.ask((name, level));
        state.traffic.late += turn.read.len();
        let mut state = self.arranged(state, turn);
        let turn = state.shelf.ahead();
        let state = self.arranged(state, turn);
        let start = Instant::now();
        let key = self.awaited(state, op, (name, level));
        self.state().traffic.waited_seconds += start.elapsed().as_secs_f64();
        key
    }
}

/// Puts a key where it is awaited, or leaves its place empty if its read failed or panicked.
struct Arrival<'s, 'a, D: Device> {
    store: &'s DiskKeys<'a, D>,
    errand: Errand,
    key: Option<EvaluationKey<D>>,
}

impl<D: Device> Drop for Arrival<'_, '_, D> {
    fn drop(&mut self) {
        let mut state = self.store.state();
        let (name, _) = self.errand.request;
        match self.key.take().filter(|_| state.awaits(self.errand)) {
            Some(key) => drop(state.slots.insert(name, Slot::There(key))),
            None if state.awaits(self.errand) => {
                state.slots.remove(&name);
                state.shelf.forget(name);
            }
            None => {}
        }
        self.store.changed.notify_all();
    }
}

/// Closes a store, and wakes its thread.
struct Closing<'s, 'a, D: Device>(&'s DiskKeys<'a, D>);

impl<D: Device> Drop for Closing<'_, '_, D> {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.changed.notify_all();
    }
}
