//! UPMEM: DRAM whose chips have processors (DPUs), driven by the host. Source: \[DRA\].
//!
//! A DPU takes what the assembled kernels take ([`Slots`]), on as many tasklets as it runs. Read in this order: `numbers`,
//! `slots`, `layout` (what stands where, cycles of a DPU), `costs`, `flow` (the program in time), `place` (who does what).
//! What DPUs have no kernel for, above all base conversion, which needs residues of several moduli, the host does, and
//! its operands and results pass over the link.

mod costs;
mod flow;
mod layout;
mod numbers;
mod place;
mod slots;

pub use slots::Slots;

use super::{Machine, cpu::Cpu};
use crate::{
    error::MachineError,
    program::{Stage, TaskKind},
    report::{Energy, Placement, Report, as_f64, named},
    scheduler::{self, Schedule},
    scratchpad::OffChip,
    spec::Spec,
};
use costs::{Costs, Group, is_work};
use flow::{DPUS, HOST, LINK, TICK_SECONDS};
use limbwise_graph::{Basis, Graph, NodeId, Op};
use numbers::{Numbers, Offload, Preset, Where};
use std::collections::BTreeMap;

/// The model.
pub struct Upmem {
    spec: Spec,
    numbers: Numbers,
    slots: Slots,
    host: Cpu,
}

impl Upmem {
    /// The model of a specification, with the slots that this build's kernels were seen to take.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model, or numbers do not go together.
    pub fn new(spec: &Spec) -> Result<Self, MachineError> {
        Self::with_slots(spec, Slots::written()?)
    }

    /// The model with another table of slots.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_slots(spec: &Spec, slots: Slots) -> Result<Self, MachineError> {
        let numbers = Numbers::read(spec)?;
        let host = Spec::load("cpu")?.with_overrides(&[
            ("threads", numbers.host.threads.to_string()),
            ("memory.all_threads_gb_s", numbers.assumed.host_memory_gb_s.value.to_string()),
        ])?;
        Ok(Self { spec: spec.clone(), host: Cpu::new(&host)?, numbers, slots })
    }

    /// Sub-polynomials of a length that one DPU's memory holds.
    #[must_use]
    pub fn capacity(&self, n: u64) -> u64 {
        layout::room_bytes(&self.numbers, n) / (n * self.numbers.word_bytes())
    }

    /// Slots of the two multiplications as assembled: 32 by 32 to 32 bits, and to 64.
    #[must_use]
    pub fn multiplications(&self) -> [u64; 2] {
        self.slots.multiplications()
    }

    /// Cycles of the compiler's own multiplication.
    #[must_use]
    pub fn native_cycles(&self) -> u64 {
        self.numbers.routines.native_cycles
    }

    /// Bandwidth of a rank's link, to the DPUs and from there.
    #[must_use]
    pub fn link_gb_s(&self) -> [f64; 2] {
        let link = self.numbers.link();
        [link.to, link.from]
    }

    /// Seconds in which some limbs of a polynomial go to the DPUs ([`TaskKind::Load`]) or come from there.
    pub fn move_seconds<'a>(&'a self, graph: &'a Graph) -> impl Fn(NodeId, Basis, TaskKind) -> f64 + use<'a> {
        let costs = Costs::new(graph, self);
        move |value, basis, kind| as_f64(costs.transfer_ticks(value, basis, kind)) * TICK_SECONDS
    }

    /// A program in time, and who does what: as the policy says, where that is "hybrid" the best of both and each alone.
    fn flow<'a>(&'a self, graph: &'a Graph) -> Result<(Costs<'a>, Vec<Where>, flow::Flow), MachineError> {
        let costs = Costs::new(graph, self);
        let policy = self.numbers.policy.placement;
        let policies: &[Where] = match policy {
            Where::Hybrid => &[Where::Hybrid, Where::Dpus, Where::Host],
            _ => std::slice::from_ref(&policy),
        };
        let time = |f: &flow::Flow| f.program.tasks.iter().map(|t| t.stage.occupancy).fold(0, u64::saturating_add);
        let walked = policies.iter().map(|&policy| {
            let places = place::places(&costs, policy);
            flow::walk(&costs, &places).map(|flow| (places, flow))
        });
        // The host holds everything, so an error counts only if it is the only answer.
        let (places, flow) = walked
            .reduce(|best, other| match (best, other) {
                (Ok(a), Ok(b)) => Ok(if time(&b.1) < time(&a.1) { b } else { a }),
                (Ok(a), Err(_)) | (Err(_), Ok(a)) => Ok(a),
                (Err(e), Err(_)) => Err(e),
            })
            .expect("a policy is tried")?;
        Ok((costs, places, flow))
    }

    fn notes(&self, graph: &Graph, costs: &Costs, flow: &flow::Flow) -> Vec<String> {
        let (numbers, layout) = (&self.numbers, &costs.layout);
        let link = numbers.link();
        let mut notes = vec![match (numbers.transfer.host_direct_access, numbers.transfer.preset) {
            (true, _) => "the host reads and writes MRAM as its own memory: nothing is transferred".into(),
            (false, Preset::Dramatic) => format!(
                "transfers by the preset dramatic, {} GB/s to and {} GB/s from a rank: calibrated from the source's share of transfers in transforms",
                link.to, link.from
            ),
            (false, Preset::Prim) => {
                format!("transfers by the preset prim, {} GB/s to and {} GB/s from a rank", link.to, link.from)
            }
        }];
        let order = if layout.by_rank { "each modulus on ranks of its own" } else { "one after the other" };
        notes.push(format!(
            "{} moduli {order}, {} DPUs a modulus, {} at once; {} launches; {} of {} bytes of the fullest MRAM",
            layout.moduli,
            layout.dpus,
            layout.together,
            flow.launches,
            flow.peak_bytes,
            numbers.dpu.mram_usable_mb * 1_000_000
        ));
        if let Some(note) = layout.note() {
            notes.push(note);
        }
        let scaled = self.scaled(graph);
        if !scaled.is_empty() {
            notes.push(format!("slots scaled from another length: {}", scaled.join(", ")));
        }
        if numbers.policy.offload == Offload::Stage {
            notes.push("a launch for each stage of a transform, in 64-bit words, with native multiplications".into());
        }
        notes
    }

    /// Kernels at lengths at which nobody ran them.
    fn scaled(&self, graph: &Graph) -> Vec<String> {
        let mut found: BTreeMap<(&str, u64), u64> = BTreeMap::new();
        for id in graph.ids().filter(|&id| is_work(graph.node(id).op())) {
            let n = 1 << graph.shape(id).ring.log_n();
            if let Some(name) = slots::kernel_of(graph.node(id).op())
                && let Some(run) = self.slots.scaled_from(name, n)
            {
                found.insert((name, n), run);
            }
        }
        found.into_iter().map(|((name, n), run)| format!("{name} at {n} from {run}")).collect()
    }

    /// Placements by region.
    fn placements(&self, graph: &Graph, costs: &Costs, places: &[Where], schedule: &Schedule) -> Vec<Placement> {
        let paths = graph.region_paths();
        let mut found: BTreeMap<(usize, Op, &'static str), (u64, f64)> = BTreeMap::new();
        for (group, place) in costs.groups.iter().zip(places) {
            let on = if *place == Where::Host { "host" } else { "dpus" };
            for &id in &group.nodes {
                found.entry((graph.node(id).region().index(), graph.node(id).op(), on)).or_default().0 += 1;
            }
        }
        for task in schedule.program.tasks.iter().filter(|t| t.stage.kind == TaskKind::Compute) {
            let node = graph.node(task.node);
            let on = if task.stage.unit == HOST { "host" } else { "dpus" };
            let entry = found.entry((node.region().index(), node.op(), on)).or_default();
            entry.1 += as_f64(task.stage.occupancy) * TICK_SECONDS;
        }
        let placement = |((region, op, on), (operations, seconds)): ((usize, Op, &'static str), (u64, f64))| {
            Placement { path: paths[region].clone(), operation: op.name().into(), on: on.into(), operations, seconds }
        };
        let mut placements: Vec<Placement> = found.into_iter().map(placement).collect();
        placements.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        placements
    }

    /// The idle machine all the time, and DPUs while they work.
    fn energy(&self, graph: &Graph, costs: &Costs, schedule: &Schedule) -> Energy {
        let idle_j = self.numbers.power.idle_w * schedule.seconds();
        let work = |task: &crate::program::Task| {
            let shape = graph.shape(task.node);
            let dpus = costs.layout.at_work(shape.batch as u64, costs.layout.residues(shape, shape.basis));
            as_f64(dpus) * as_f64(task.stage.occupancy) * TICK_SECONDS * self.numbers.watts_per_dpu()
        };
        let tasks = schedule.program.tasks.iter().filter(|t| t.stage.unit == DPUS);
        let dpus_j: f64 = tasks.map(work).sum();
        let energy_j = idle_j + dpus_j;
        Energy {
            area_mm2: None,
            energy_j,
            idle_j,
            power_w: if schedule.ticks() == 0 { self.numbers.power.idle_w } else { energy_j / schedule.seconds() },
            edap: None,
            parts_j: [("dpus".to_owned(), dpus_j), ("machine at rest".to_owned(), idle_j)].into_iter().collect(),
        }
    }
}

impl Machine for Upmem {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &["dpus", "link", "host"]
    }

    fn tick_seconds(&self) -> f64 {
        TICK_SECONDS
    }

    fn streaming(&self) -> bool {
        false
    }

    /// The host's memory holds everything; what of it is in MRAM is the flow's.
    fn off_chip(&self, _: &Graph) -> Option<OffChip> {
        None
    }

    /// Cost of one node on the DPUs, or on the host where they have no kernel.
    fn cost(&self, graph: &Graph, id: NodeId) -> Vec<Stage> {
        if !is_work(graph.node(id).op()) {
            return vec![];
        }
        let costs = Costs::new(graph, self);
        let alone = Group::alone(id);
        let (unit, ticks) = match costs.on_dpus(&alone) {
            true => (DPUS, costs.dpu_ticks(&alone).0),
            false => (HOST, costs.host_ticks(id)),
        };
        vec![Stage { whole_input: true, ..Stage::new(TaskKind::Compute, unit, ticks) }]
    }

    /// DPUs with their launches, without the host; none of a program with LWE ciphertexts, which the layout of MRAM does
    /// not have.
    fn own_ticks(&self, graph: &Graph) -> Vec<Option<u64>> {
        if graph.ids().any(|id| graph.node(id).op().is_tfhe()) {
            return vec![None; graph.nodes().len()];
        }
        let costs = Costs::new(graph, self);
        let own = |id| {
            let alone = Group::alone(id);
            (is_work(graph.node(id).op()) && costs.on_dpus(&alone)).then(|| {
                let (ticks, launches) = costs.dpu_ticks(&alone);
                ticks.saturating_add(costs.launch_ticks(launches))
            })
        };
        graph.ids().map(own).collect()
    }

    fn schedule(&self, graph: &Graph) -> Result<Schedule, MachineError> {
        self.accept(graph)?;
        Ok(scheduler::run(self.flow(graph)?.2.program))
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = Report::of(self, graph, schedule);
        let Ok((costs, places, flow)) = self.flow(graph) else { return report };
        let on = |units: &[u8]| {
            let tasks = schedule.program.tasks.iter().filter(|t| units.contains(&t.stage.unit));
            tasks.map(|t| as_f64(t.stage.occupancy)).sum::<f64>() * TICK_SECONDS
        };
        report.compute_seconds = Some(on(&[DPUS, HOST]));
        report.transfer_seconds = Some(on(&[LINK]));
        report.energy = Some(self.energy(graph, &costs, schedule));
        report.bytes.insert("to_mram".into(), named(&flow.to_bytes));
        report.bytes.insert("from_mram".into(), named(&flow.from_bytes));
        report.notes.extend(self.notes(graph, &costs, &flow));
        report.placements = self.placements(graph, &costs, &places, schedule);
        report
    }
}
