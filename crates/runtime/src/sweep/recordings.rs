//! Recordings of programs, each made once and shared by all points that have the same program; in memory, within bounds.

use crate::{
    error::Result,
    host::Needed,
    plan::levels_won,
    record::record,
    scheme::{Forecast, Piped, SchemePlan},
};
use limbwise::rlwe::KeyForm;
use limbwise_apps::Program;
use limbwise_graph::Graph;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// A recorded program, with what its points need of it beside the graph.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub graph: Arc<Graph>,
    pub key_bytes: u64,
    /// Security of its parameters: the class met.
    pub security_bits: u32,
    pub forecast: Forecast,
    /// Its bootstrapping of CKKS, if it has one.
    pub bootstrapping: Option<Bootstraps>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstraps {
    pub slots: u64,
    /// Levels won, of a program that only bootstraps and uses them up.
    pub levels_won: Option<u64>,
}

impl Recorded {
    /// Records a program with its keys kept in a form.
    pub fn of<S: Piped>(program: &impl Program<Scheme = S>, form: KeyForm) -> Result<Self> {
        let (params, recording) = (program.params(), record(program, form, &limbwise_cpu::footprint())?);
        let levels_won = levels_won(&program.details());
        let bootstrapping = match S::planned(program, &recording) {
            SchemePlan::Ckks(slots) => slots.bootstrapping.map(|boot| boot.plan.slots as u64),
            _ => None,
        };
        Ok(Self {
            key_bytes: Needed::recorded::<S>(params, &recording).keys,
            security_bits: S::security(params).bits,
            forecast: S::forecast(params, &recording.results, recording.rotations),
            bootstrapping: bootstrapping.map(|slots| Bootstraps { slots, levels_won }),
            graph: recording.graph,
        })
    }

    /// About how many bytes it takes in memory.
    fn bytes(&self) -> usize {
        self.graph.nodes().len() * MOST_NODE_BYTES
    }
}

/// What a node takes with its edges (tested in `graph`).
const MOST_NODE_BYTES: usize = 48;
/// Bytes of recordings that are kept.
const MOST_BYTES: usize = 1 << 30;

/// Values of the program's fields.
type Key = Vec<(String, String)>;
/// A recording that is made, will be, or was refused.
type Shared = Arc<OnceLock<Result<Arc<Recorded>, String>>>;

/// Recordings by the fields of their programs.
#[derive(Debug, Default)]
pub struct Recordings {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    entries: HashMap<Key, (Shared, u64)>,
    clock: u64,
    made: usize,
}

impl Recordings {
    /// The recording of a program, made by the first who asks; others wait for it. What is asked for least recently goes
    /// when there are more than a gigabyte.
    ///
    /// # Errors
    /// Why there is no such program, the same each time.
    pub fn get(
        &self,
        key: &[(String, String)],
        make: impl FnOnce() -> Result<Recorded, String>,
    ) -> Result<Arc<Recorded>, String> {
        let shared = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.clock += 1;
            let now = held.clock;
            let entry = held.entries.entry(key.to_vec()).or_default();
            entry.1 = now;
            entry.0.clone()
        };
        let mut is_new = false;
        let made = shared.get_or_init(|| {
            is_new = true;
            make().map(Arc::new)
        });
        if is_new {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).bound(key);
        }
        made.clone()
    }

    /// How many recordings were made so far.
    pub fn made(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).made
    }
}

impl Held {
    /// Lets go of what was asked for least recently, but never of the newest.
    fn bound(&mut self, newest: &[(String, String)]) {
        self.made += 1;
        let size = |shared: &Shared| shared.get().and_then(|r| r.as_ref().ok()).map_or(0, |r| r.bytes());
        let mut bytes: usize = self.entries.values().map(|(shared, _)| size(shared)).sum();
        while bytes > MOST_BYTES {
            let others = self.entries.iter().filter(|(key, (shared, _))| key[..] != *newest && size(shared) > 0);
            let Some(oldest) = others.min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone()) else { return };
            bytes -= self.entries.remove(&oldest).map_or(0, |(shared, _)| size(&shared));
        }
    }
}
