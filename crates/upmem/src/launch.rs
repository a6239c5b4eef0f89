//! Launches: groups jobs by DPU and modulus, runs them, and counts cycles and traffic.

use crate::{
    Counts, DpuFault,
    closed::{self, Definitions},
    device::Upmem,
    exact,
    kernels::{
        frame::Operation,
        image::{Job, MOST_ENTRIES, Tables},
    },
    link::Traffic,
    memory::Unit,
    options::Mode,
    slots::launch_cycles,
};
use limbwise_device::{Fault, Ring};
use rayon::prelude::*;
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError},
};

/// A job with its DPU and modulus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) dpu: usize,
    /// Index of the prime in the ring's list.
    pub(crate) prime: usize,
    pub(crate) operation: Operation,
    pub(crate) job: Job,
}

/// Host tables of a modulus.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) tables: Tables,
    pub(crate) definitions: Definitions,
}

/// Commands of one DPU by modulus, in order.
type Commands = BTreeMap<usize, Vec<(Operation, Vec<Job>)>>;

/// Counts and result of one DPU in a launch.
#[derive(Default)]
struct Done {
    counts: Counts,
    launches: u64,
    /// Words that the host wrote to its MRAM.
    words: usize,
}

impl<H: Sync> Upmem<H> {
    /// Runs all steps in sequence and counts their traffic.
    pub(crate) fn launch(&self, ring: &Ring, steps: &[Vec<Task>], mut traffic: Traffic) {
        let mut by_dpu: BTreeMap<usize, Commands> = BTreeMap::new();
        for step in steps {
            let mut fresh: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            for task in step {
                let list = by_dpu.entry(task.dpu).or_default().entry(task.prime).or_default();
                let at = *fresh.entry((task.dpu, task.prime)).or_insert_with(|| {
                    list.push((task.operation, vec![]));
                    list.len() - 1
                });
                list[at].1.push(task.job);
            }
        }
        let all: Vec<(usize, Commands)> = by_dpu.into_iter().collect();
        // The pool that all share has no threads in a process that was forked from the one that started it.
        static PROCESS: OnceLock<u32> = OnceLock::new();
        let run = |(dpu, commands): (usize, Commands)| (dpu, self.run_dpu(ring, dpu, &commands));
        let done: Vec<(usize, Result<Done, Fault>)> = if *PROCESS.get_or_init(std::process::id) == std::process::id() {
            all.into_par_iter().map(run).collect()
        } else {
            all.into_iter().map(run).collect()
        };
        let (mut slowest, mut busy, mut slots, mut launches) = (0, 0, 0, 0);
        for (dpu, done) in done {
            match done {
                Ok(done) => {
                    traffic.to(dpu, done.words);
                    slowest = slowest.max(done.counts.cycles);
                    busy += done.counts.cycles;
                    slots += done.counts.slots;
                    launches = launches.max(done.launches);
                }
                Err(fault) => self.fail(fault),
            }
        }
        let seconds = |cycles: u64| cycles as f64 / (f64::from(self.options().preset.mhz) * 1e6);
        self.count(|counters| {
            counters.launches += launches;
            counters.slots += slots;
            counters.cycles += slowest;
            counters.compute_seconds += seconds(slowest);
            counters.busy_seconds += seconds(busy);
        });
        self.settle(&traffic);
    }

    /// Counts transfers of the host.
    pub(crate) fn settle(&self, traffic: &Traffic) {
        let [to, from] = traffic.total();
        let seconds = traffic.seconds(&self.options().link);
        self.count(|counters| {
            counters.to_bytes += to;
            counters.from_bytes += from;
            counters.transfer_seconds += seconds;
        });
    }

    fn run_dpu(&self, ring: &Ring, dpu: usize, commands: &Commands) -> Result<Done, Fault> {
        let mut unit = self.units().lock(dpu);
        let mut done = Done::default();
        for (&prime, list) in commands {
            let prepared = self.prepare(ring, prime);
            self.load(&mut unit, &prepared, &mut done)?;
            for launch in launches(list) {
                done.launches += 1;
                done.words += 16 + 8 * launch.iter().map(|(_, jobs)| 1 + jobs.len()).sum::<usize>();
                done.counts.add(&self.run_launch(&mut unit, &prepared, &launch).map_err(fault)?);
            }
        }
        Ok(done)
    }

    /// Writes twiddles and constants of a modulus, once per DPU.
    fn load(&self, unit: &mut Unit, prepared: &Prepared, done: &mut Done) -> Result<(), Fault> {
        let key = key(&prepared.tables);
        if unit.tables.contains_key(&key) {
            return Ok(());
        }
        let words = prepared.tables.bytes() as usize / 4;
        let Some(at) = unit.take(words) else { return Err(self.no_room(unit, words)) };
        let (header, words) = prepared.tables.place(at);
        unit.dpu.write_mram(at, &words).map_err(fault)?;
        done.words += words.len();
        unit.tables.insert(key, header);
        Ok(())
    }

    fn run_launch(
        &self,
        unit: &mut Unit,
        prepared: &Prepared,
        list: &[(Operation, Vec<Job>)],
    ) -> Result<Counts, DpuFault> {
        let options = self.options();
        if options.mode == Mode::Exact {
            let header = unit.tables[&key(&prepared.tables)];
            exact::start(&mut unit.dpu, header, list, options.tasklets)?;
            return unit.dpu.run(self.program(), options.tasklets);
        }
        let tasklets = options.tasklets as u64;
        let mut counts = Counts::default();
        for (operation, jobs) in list {
            for job in jobs {
                closed::apply(&mut unit.dpu, &prepared.definitions, *operation, job)?;
            }
            let entry = self.entry(*operation, prepared.tables.header.log_n)?;
            let number = jobs.len() as u64;
            counts.slots += number * entry.measured.counts.slots;
            counts.cycles += entry.cycles(number, tasklets, &options.preset);
        }
        counts.cycles += launch_cycles(self.launch_slots, tasklets, &options.preset);
        Ok(counts)
    }

    /// Tables and definitions of a modulus, cached.
    pub(crate) fn prepare(&self, ring: &Ring, prime: usize) -> Arc<Prepared> {
        let (q, log_n) = (ring.moduli()[prime], ring.log_n());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let tables = Tables::new(q, log_n, self.options().form);
            Arc::new(Prepared { tables, definitions: Definitions::new(q, log_n) })
        };
        known.entry((log_n, q.value())).or_insert_with(make).clone()
    }
}

fn key(tables: &Tables) -> (u32, u64) {
    (tables.header.log_n, u64::from(tables.header.modulus))
}

/// Converts a DPU's fault to a fault of the device.
pub(crate) fn fault(fault: DpuFault) -> Fault {
    Fault::Failed { device: "upmem".into(), what: fault.to_string() }
}

/// Splits commands into as few launches as MRAM has room for.
fn launches(list: &[(Operation, Vec<Job>)]) -> Vec<Vec<(Operation, Vec<Job>)>> {
    let entries: usize = list.iter().map(|(_, jobs)| 1 + jobs.len()).sum();
    if entries <= MOST_ENTRIES {
        return vec![list.to_vec()];
    }
    let pieces = list.iter().flat_map(|(op, jobs)| jobs.chunks(MOST_ENTRIES - 1).map(|jobs| (*op, jobs.to_vec())));
    pieces.map(|piece| vec![piece]).collect()
}
