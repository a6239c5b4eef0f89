//! FlexMem: CKKS and TFHE on PEs between the subarrays of DRAM chips. Source: \[FLX\]; ADR 132 says which rules were fixed
//! before any result.
//!
//! Read in this order: `numbers`, `work` (a node as limbs), `permutation`, `sweep` and `costs` (what it takes on one chip, by the
//! mapping of [`crate::address`] and the commands of [`crate::dram`]), `classes` (operations that are alike), `links` (between chips), `homes` (of keys), `read`, `flow` and
//! `transfers` (the program on all).

mod classes;
mod costs;
mod flow;
mod homes;
mod links;
mod numbers;
mod permutation;
mod read;
mod sweep;
#[cfg(test)]
mod tests;
mod transfers;
mod work;

use super::Machine;
use crate::{
    error::MachineError,
    program::{Stage, TaskKind},
    report::{Bootstrappings, Report, as_f64},
    scheduler::{self, Schedule},
    scratchpad::OffChip,
    spec::Spec,
    threads::on_all_cores,
    words::Words,
};
use costs::Costs;
use flow::{Flow, Totals};
use limbwise_graph::{Graph, NodeId, Op};
use links::{DIMM_LINK, HOST, Links, MESH};
use numbers::{Numbers, Rows, Switch};
use read::{Distribution, Read, Shapes};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use work::Reader;

/// How much transfers count against a chip, besides the wait for them; the fastest schedule is taken.
const AVERSIONS: [u64; 2] = [0, 1];

/// A step that each bootstrapping on CKKS takes once.
const STEP: &str = "coeff_to_slot";

/// A schedule, what is done in it, and how it was distributed.
struct Found {
    schedule: Schedule,
    totals: Totals,
    distribution: Distribution,
}

/// The fastest of some distributions, the first of equals, or what was found before if none is faster.
fn fastest(read: &Read<'_>, tried: &[Distribution], before: Option<Found>) -> Result<Option<Found>, MachineError> {
    // All schedules at once would take much memory: only the best so far is kept, with its place in the list.
    let best = Mutex::new(before.map(|found| ((found.schedule.ticks(), 0), found)));
    let results = on_all_cores(tried, |(at, &distribution)| -> Result<(), MachineError> {
        let known = best.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(rank, _)| *rank);
        if known.is_some_and(|known| (read.least_ticks(distribution), at + 1) > known) {
            return Ok(());
        }
        let (program, totals) = Flow::of(read, distribution)?;
        let schedule = scheduler::run(program);
        let rank = (schedule.ticks(), at + 1);
        let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
        if best.as_ref().is_none_or(|(known, _)| rank < *known) {
            *best = Some((rank, Found { schedule, totals, distribution }));
        }
        Ok(())
    });
    results.into_iter().collect::<Result<(), MachineError>>()?;
    Ok(best.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, found)| found))
}

/// The model.
pub(super) struct Flexmem {
    spec: Spec,
    numbers: Numbers,
    units: Vec<&'static str>,
    /// Nodes and ticks of the last schedule, and what it does: a report asks for it.
    last: Mutex<Option<(usize, u64, Totals)>>,
}

impl Flexmem {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model, or numbers do not go together.
    pub(super) fn new(spec: &Spec) -> Result<Self, MachineError> {
        let numbers = Numbers::read(spec)?;
        let units = Links::new(&numbers).units();
        Ok(Self { spec: spec.clone(), numbers, units, last: Mutex::default() })
    }

    /// The fastest of several distributions, and what it does. They are tried on all cores.
    fn distributed(&self, graph: &Graph) -> Result<(Schedule, Totals), MachineError> {
        self.accept(graph)?;
        let all = self.numbers.system.chips;
        let mut chips = vec![all, self.numbers.system.chips_per_dimm.min(all)];
        chips.dedup();
        let read = Read::new((&self.spec, &self.numbers), graph, self.words(), &chips)?;
        let over = |&chips: &u64| AVERSIONS.map(|aversion| Distribution { chips, aversion, shapes: Shapes::Each });
        let usual: Vec<Distribution> = chips.iter().flat_map(over).collect();
        let mut best = fastest(&read, &usual[..1], None)?;
        // One chip has no other, and runs of TFHE are on all chips alike.
        if all > 1 && best.as_ref().is_some_and(|found| found.totals.placed > 0) {
            best = fastest(&read, &usual[1..], best)?;
        }
        // Shapes are chosen one operation at a time, and one shape for all may still be better.
        if let Some(distribution) =
            best.as_ref().map(|found| found.distribution).filter(|_| self.numbers.chooses_shapes())
        {
            let one = |shape| Distribution { shapes: Shapes::One(shape), ..distribution };
            best = fastest(&read, &self.numbers.all_shapes().map(one).collect::<Vec<_>>(), best)?;
        }
        let Found { schedule, totals, .. } = best.expect("there is a distribution");
        let known = (graph.nodes().len(), schedule.ticks(), totals.clone());
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok((schedule, totals))
    }

    /// What a schedule does: as it was made, or made again.
    fn totals(&self, graph: &Graph, schedule: &Schedule) -> Result<Totals, MachineError> {
        let known = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let same =
            |(nodes, ticks, _): &(usize, u64, Totals)| *nodes == graph.nodes().len() && *ticks == schedule.ticks();
        match known.filter(same) {
            Some((.., totals)) => Ok(totals),
            None => Ok(self.distributed(graph)?.1),
        }
    }

    fn chips(&self) -> f64 {
        as_f64(self.numbers.system.chips)
    }

    /// Shares of the time in which chips work, by what they do.
    fn shares(&self, totals: &Totals) -> [(&'static str, f64); 5] {
        let cost = &totals.cost;
        let share = |ticks: u64| as_f64(ticks) / as_f64(cost.ticks.max(1));
        let words = cost.read.max(cost.written).saturating_mul(self.numbers.commands().t_ccd);
        [
            ("near-memory bandwidth", share(words)),
            ("PE chain", share(cost.chain)),
            ("LISA", share(cost.lisa)),
            ("bank network", share(cost.bank)),
            ("remapping", share(cost.remap)),
        ]
    }

    fn notes(&self, graph: &Graph, totals: &Totals, seconds: f64) -> Vec<String> {
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        let of_work = self.shares(totals).map(|(name, share)| format!("{name} {}", percent(share))).join(", ");
        let mut notes = vec![format!("of the time in which chips work: {of_work}")];
        let gib = |bytes: u64| format!("{:.2} GiB", as_f64(bytes) / 1_073_741_824.0);
        let room = gib(self.numbers.chip_bytes());
        let mut held = format!("keys and plaintexts take {} of each chip's {room}", gib(totals.held));
        if totals.at_home > 0 {
            held += &format!("; {} of them stand on one chip each and pass the chip network", gib(totals.at_home));
        }
        notes.push(held);
        let all: u64 = totals.shapes.values().sum();
        let shape =
            |(shape, ticks): (&u64, &u64)| format!("{shape} ({})", percent(as_f64(*ticks) / as_f64(all.max(1))));
        let shapes = totals.shapes.iter().filter(|(_, ticks)| **ticks * 1000 > all).map(shape).collect::<Vec<_>>();
        notes.push(format!("columns of a limb in a row (poly_col): {}", shapes.join(", ")));
        // A bootstrapping enters its region once a step, and this step once.
        let entered = graph.regions().iter().filter(|r| r.name == STEP).map(|r| u64::from(r.entered)).sum::<u64>();
        if totals.rotations == 0 && entered > 0 {
            notes.push(format!("{:.1} bootstrappings a second", as_f64(entered) / seconds.max(f64::MIN_POSITIVE)));
        }
        if self.numbers.policy.rows == Rows::Stride1 {
            notes.push("rows of transforms are in the order of coefficients".into());
        }
        notes
    }

    /// Watts of each part at the activity that it has.
    fn watts(&self, report: &Report, totals: &Totals) -> BTreeMap<String, f64> {
        let available = self.chips() * report.seconds / self.tick_seconds();
        let working = as_f64(totals.cost.ticks) / available.max(1.0);
        let links =
            [MESH, DIMM_LINK].iter().filter_map(|unit| report.utilization.get(*unit)).copied().fold(0.0, f64::max);
        let drawn = |(part, watts): (String, f64)| {
            let activity = if part == "chip_network" { links } else { working };
            (part, watts * activity.min(1.0))
        };
        self.numbers.of_machine(&self.numbers.power, "w").into_iter().map(drawn).collect()
    }
}

impl Machine for Flexmem {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &self.units
    }

    fn tick_seconds(&self) -> f64 {
        self.numbers.tick_seconds()
    }

    fn streaming(&self) -> bool {
        false
    }

    fn width(&self, unit: u8) -> u64 {
        Links::new(&self.numbers).widths().get(usize::from(unit)).copied().unwrap_or(1)
    }

    /// PEs do modular arithmetic, rotations and sums of vectors alike.
    fn has_unit_for(&self, _: Op) -> bool {
        true
    }

    fn words(&self) -> Words {
        Words { bits: self.numbers.chip.word_bits, wide: self.numbers.policy.words }
    }

    /// Data stand where they are computed with.
    fn off_chip(&self, _: &Graph) -> Option<OffChip> {
        None
    }

    /// Cost of one node with all of its batch on one chip, in the shape that is best for it.
    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        let op = graph.node(id).op();
        if op.is_view() {
            return vec![];
        }
        let (reader, costs) = (Reader::new(graph, &self.numbers, self.words()), Costs::new(&self.numbers));
        let work = reader.work(id, reader.batch(id));
        let shapes = costs.shapes(&self.numbers.tiling(work.n));
        let ticks = shapes.into_iter().map(|shape| costs.cost(&work, shape).ticks).min().unwrap_or(0);
        vec![Stage { whole_input: true, ..Stage::new(TaskKind::Compute, 0, ticks) }]
    }

    fn seconds(&self, graph: &Graph) -> Result<f64, MachineError> {
        Ok(self.schedule(graph)?.seconds())
    }

    fn schedule(&self, graph: &Graph) -> Result<Schedule, MachineError> {
        Ok(self.distributed(graph)?.0)
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report { cycles: Some(schedule.ticks()), ..Report::of(self, graph, schedule) };
        let Ok(totals) = self.totals(graph, schedule) else { return report };
        for (name, share) in self.shares(&totals) {
            let working = as_f64(totals.cost.ticks) / (self.chips() * as_f64(schedule.ticks().max(1)));
            report.utilization.insert(name.into(), share * working);
        }
        let between = match self.numbers.network.chip_network {
            Switch::On => "chip network",
            Switch::Off => HOST,
        };
        report.bytes.insert(between.into(), [("values".to_owned(), totals.transferred)].into());
        report.bytes.insert("bank network".into(), [("values".to_owned(), totals.cost.bank_bytes)].into());
        if totals.rotations > 0 {
            let seconds = as_f64(totals.run_ticks) * self.tick_seconds();
            let in_flight = totals.in_flight.min(totals.rotations);
            let round_s = seconds * as_f64(in_flight) / as_f64(totals.rotations);
            report.bootstrappings = Some(Bootstrappings {
                count: totals.rotations,
                in_flight,
                latency_s: round_s,
                round_s,
                per_second: as_f64(totals.rotations) / seconds.max(f64::MIN_POSITIVE),
            });
        }
        let notes = self.notes(graph, &totals, report.seconds);
        report.notes.extend(notes);
        let watts = self.watts(&report, &totals);
        let area = self.numbers.of_machine(&self.numbers.area, "mm2").values().sum();
        report.set_energy(area, &watts, 0.0);
        report
    }
}
