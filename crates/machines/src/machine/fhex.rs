//! FHEx: a GPU beside an extension unit of tiles under a DRAM stack, each operation of a bootstrapping on one or the
//! other. Source: \[FHX\]; ADR 131 says which rules were fixed before any result.
//!
//! Read in this order: `numbers`, `operators` (a program as bootstrappings), `mesh` and `costs` (what an operator takes on
//! either side), `place` (bootstrappings in flight, placed by [`offload`](crate::offload)), `flow` (the program in time).

mod costs;
mod flow;
mod mesh;
mod numbers;
mod operators;
mod place;
#[cfg(test)]
mod tests;

use super::Machine;
use crate::{
    error::MachineError,
    program::{Stage, TaskKind},
    report::{Bootstrappings, Energy, Operator, Placement, Report, as_f64},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::Spec,
    words::Words,
};
use flow::{Flow, TICK_SECONDS, Totals, flow};
use limbwise_graph::{Graph, NodeId, Op};
use numbers::{Mapping, Numbers, Offload};
use operators::{Chain, Kind, Run, whole};
use place::{DEVICE, Group, HEU, UNITS};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A group that was placed: of which chain, and of how many of a larger group (of as many as it has: a group of its own).
struct Known {
    chain: Chain,
    of: u64,
    group: Arc<Group>,
}

/// The model.
pub(super) struct Fhex {
    spec: Spec,
    numbers: Numbers,
    /// What was placed before: equal chains are placed once.
    known: Mutex<Vec<Known>>,
}

impl Fhex {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model, or numbers do not go together.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        Ok(Self { spec: spec.clone(), numbers: Numbers::read(spec)?, known: Mutex::default() })
    }

    /// So many bootstrappings in flight.
    fn group(&self, graph: &Graph, run: &Run, copies: u64) -> Result<Arc<Group>, MachineError> {
        self.placed(run, [copies, copies], || self.numbers.group(graph, run, copies))
    }

    /// So many of a larger group, placed as they are there.
    fn rest_of(&self, graph: &Graph, run: &Run, group: &Group, copies: u64) -> Result<Arc<Group>, MachineError> {
        self.placed(run, [copies, group.copies], || self.numbers.rest_of(graph, group, run, copies))
    }

    fn placed(
        &self,
        run: &Run,
        [copies, of]: [u64; 2],
        place: impl FnOnce() -> Result<Group, MachineError>,
    ) -> Result<Arc<Group>, MachineError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |k: &&Known| k.of == of && k.group.copies == copies && k.chain == run.chain;
        if let Some(found) = known.iter().find(same) {
            return Ok(found.group.clone());
        }
        let group = Arc::new(place()?);
        known.push(Known { chain: run.chain.clone(), of, group: group.clone() });
        Ok(group)
    }

    /// Refuses a program whose polynomials the mapping does not fit.
    fn fits(&self, run: &Run) -> Result<(), MachineError> {
        let (heu, policy) = (&self.numbers.heu, &self.numbers.policy);
        let n = run.chain.steps.iter().map(|step| step.work.n).filter(|&n| n > 0).min().unwrap_or(u64::MAX);
        let most = run.chain.steps.iter().map(|step| step.work.n).max().unwrap_or(0);
        if policy.offload == Offload::Device || n == u64::MAX {
            return Ok(());
        }
        let partitions = self.numbers.partitions(n);
        if policy.mapping == Mapping::Pacm && partitions < heu.tiles {
            let wanted = format!(
                "at most {partitions} tiles: a polynomial of {n} coefficients has as many partitions of {} (or mapping=whole)",
                heu.vector_width
            );
            return Err(self.spec.wrong("heu.tiles", wanted, heu.tiles));
        }
        let polynomial = as_f64(most) * self.numbers.word_bytes();
        if policy.mapping == Mapping::Whole && polynomial > self.numbers.buffer_bytes() {
            let wanted =
                format!("{} kB or more: a whole polynomial of {most} coefficients", whole(polynomial / 1024.0));
            return Err(self.spec.wrong("heu.buffer_kb", wanted, whole(self.numbers.buffer_bytes() / 1024.0)));
        }
        Ok(())
    }

    fn notes(&self, totals: &Totals) -> Vec<String> {
        let (policy, heu) = (&self.numbers.policy, &self.numbers.heu);
        let mapping = match policy.mapping {
            Mapping::Pacm => format!("a polynomial over {} tiles (pacm)", heu.tiles),
            Mapping::Whole => "a polynomial in one tile (whole)".into(),
        };
        let offload = match policy.offload {
            Offload::Adaptive => "placed by genetic search (adaptive)",
            Offload::Heft => "placed by list scheduling (heft)",
            Offload::Static => "transforms on the device, all else in the unit (static)",
            Offload::Device => "all on the device",
            Offload::Heu => "all in the unit",
        };
        let mib = |bytes: f64| format!("{:.2} MiB", bytes / 1_048_576.0);
        let buffers = self.numbers.buffer_bytes() * as_f64(heu.tiles);
        let held = |room: f64| if totals.live_bytes <= room { "held" } else { "not held" };
        vec![
            format!("{} bootstrappings in {} rounds; {mapping}; {offload}", totals.bootstrappings, totals.rounds),
            format!(
                "values of the ciphertexts in flight take {}: {} by L2 ({}), {} by the unit's buffers ({})",
                mib(totals.live_bytes),
                held(self.numbers.l2_bytes()),
                mib(self.numbers.l2_bytes()),
                held(buffers),
                mib(buffers)
            ),
        ]
    }

    fn energy(&self, report: &Report, totals: &Totals) -> Energy {
        let (energy, assumed) = (&self.numbers.energy, &self.numbers.assumed);
        let busy = |unit: &str| report.utilization.get(unit).map_or(0.0, |share| share * report.seconds);
        let bits = |bytes: f64| bytes * 8e-12;
        let link: u64 = totals.link_bytes.iter().sum();
        let parts_j: BTreeMap<String, f64> = [
            ("device".to_owned(), busy(UNITS[0]) * assumed.device_w.value),
            ("heu".to_owned(), busy(UNITS[1]) * energy.power_w),
            ("stack".to_owned(), bits(totals.stack_bytes.iter().sum()) * energy.stack_pj),
            ("link".to_owned(), bits(as_f64(link)) * assumed.link_pj.value),
        ]
        .into();
        let energy_j = parts_j.values().sum();
        Energy {
            area_mm2: (energy.area_mm2 > 0.0).then_some(energy.area_mm2),
            energy_j,
            idle_j: 0.0,
            power_w: energy_j / report.seconds.max(f64::MIN_POSITIVE),
            edap: None,
            parts_j,
        }
    }

    /// What each operator does in all bootstrappings, the most multiplications first.
    fn operators(&self, totals: &Totals) -> Vec<Operator> {
        let bytes = |words: f64| whole(words * self.numbers.word_bytes());
        let mut all: Vec<Operator> = Vec::new();
        for (&kind, works) in &totals.work {
            let sum = |of: &dyn Fn(&operators::Work) -> f64| -> f64 {
                works.iter().map(|(work, times)| of(work) * as_f64(*times)).sum()
            };
            let read = [
                ("keys".to_owned(), bytes(sum(&|w| w.key_words))),
                ("values".to_owned(), bytes(sum(&|w| w.read_words))),
            ];
            all.push(Operator {
                multiplications: whole(sum(&|w| w.multiplications())),
                additions: whole(sum(&|w| w.additions(kind))),
                moved_words: whole(sum(&|w| w.moved_words)),
                read_bytes: read.into_iter().filter(|(_, bytes)| *bytes > 0).collect(),
                written_bytes: bytes(sum(&|w| w.written_words)),
                ..Operator::named(kind.name())
            });
        }
        all.sort_by_key(|o| std::cmp::Reverse((o.multiplications, o.bytes())));
        all
    }

    fn placements(&self, totals: &Totals) -> Vec<Placement> {
        let row = |(&(kind, side), &(operations, ticks)): (&(Kind, usize), &(u64, u64))| Placement {
            path: "bootstrap".into(),
            operation: kind.name().into(),
            on: UNITS[side].into(),
            operations,
            seconds: as_f64(ticks) * TICK_SECONDS,
        };
        let mut rows: Vec<Placement> = totals.operations.iter().map(row).collect();
        if totals.rest.0 > 0 {
            let (operations, ticks) = totals.rest;
            let (operation, on) = ("all else".to_owned(), UNITS[0].to_owned());
            rows.push(Placement {
                path: String::new(),
                operation,
                on,
                operations,
                seconds: as_f64(ticks) * TICK_SECONDS,
            });
        }
        rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        rows
    }
}

impl Numbers {
    fn words(&self) -> Words {
        Words { bits: self.heu.word_bits, wide: self.policy.words }
    }

    /// Ciphertexts that a unit works on at the same time.
    fn width(&self, unit: u8) -> u64 {
        let beside = self.policy.mapping == Mapping::Whole && usize::from(unit) == HEU.index();
        if beside { u64::from(self.assumed.whole_streams.value) } else { 1 }
    }
}

impl Machine for Fhex {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        self.numbers.units()
    }

    fn tick_seconds(&self) -> f64 {
        TICK_SECONDS
    }

    fn streaming(&self) -> bool {
        false
    }

    fn width(&self, unit: u8) -> u64 {
        self.numbers.width(unit)
    }

    /// A GPU has instructions for everything; what is no bootstrapping stays there.
    fn has_unit_for(&self, _: Op) -> bool {
        true
    }

    fn words(&self) -> Words {
        self.numbers.words()
    }

    fn off_chip(&self, _: &Graph) -> Option<OffChip> {
        None
    }

    /// Cost of one node on the device, as outside of bootstrapping.
    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        if graph.node(id).op().is_view() {
            return vec![];
        }
        let seconds = if graph.node(id).op().is_input() { 0.0 } else { flow::rest_seconds(self, graph, id) };
        let unit = u8::try_from(DEVICE.index()).unwrap_or(0);
        let ticks = crate::dram::ticks(seconds / TICK_SECONDS);
        vec![Stage { whole_input: true, ..Stage::new(TaskKind::Compute, unit, ticks) }]
    }

    fn schedule(&self, graph: &Graph) -> Result<Schedule, MachineError> {
        self.accept(graph)?;
        Ok(flow(self, graph)?.schedule)
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        let Ok(Flow { totals, .. }) = flow(self, graph) else { return report };
        if totals.bootstrappings > 0 {
            let seconds = |ticks: u64| as_f64(ticks) * TICK_SECONDS;
            report.bootstrappings = Some(Bootstrappings {
                count: totals.bootstrappings,
                in_flight: totals.in_flight,
                latency_s: seconds(totals.alone_ticks),
                round_s: seconds(totals.round_ticks),
                per_second: as_f64(totals.in_flight) / seconds(totals.round_ticks).max(f64::MIN_POSITIVE),
            });
            report.notes.extend(self.notes(&totals));
        }
        let [there, back] = totals.link_bytes;
        let [keys, values] = totals.stack_bytes.map(whole);
        report.bytes.insert("link".into(), [("to heu".to_owned(), there), ("to device".to_owned(), back)].into());
        report.bytes.insert("stack".into(), [("keys".to_owned(), keys), ("values".to_owned(), values)].into());
        report.energy = Some(self.energy(&report, &totals));
        report.operators = self.operators(&totals);
        report.placements = self.placements(&totals);
        report
    }
}
