//! Bootstrappings in flight, placed: the problem of so many copies of a chain, the placement that the policy finds, and
//! what it takes in time.

use super::{
    costs::Flight,
    numbers::{Numbers, Offload, Search},
    operators::{Chain, Kind, Run, Step, whole},
};
use crate::{
    error::MachineError,
    offload::{
        Draft, DraftOperation, Duplex, Genetic, Heft, Link, OffloadError, OneSide, OperationId, Placement, Policy,
        Problem, Side, SideId, Timetable, ValueId,
    },
    report::as_f64,
};
use limbwise_graph::Graph;

pub(super) const DEVICE: SideId = SideId(0);
pub(super) const HEU: SideId = SideId(1);
/// Names of the sides, then of the link's lanes.
pub(super) const UNITS: [&str; 4] = ["device", "heu", "link there", "link back"];
/// The same where the link goes one way at a time.
pub(super) const UNITS_HALF: [&str; 3] = ["device", "heu", "link"];

/// By operator: those of some kinds on the device, all else in the unit.
struct ByOperator<'a> {
    chain: &'a Chain,
    copies: usize,
    on_device: Vec<Kind>,
}

impl<'a> ByOperator<'a> {
    /// As the source's static offloading: transforms on the device.
    fn fixed(chain: &'a Chain, copies: u64) -> Self {
        let on_device = Kind::ALL.into_iter().filter(|kind| kind.is_compute_intensive()).collect();
        Self { chain, copies: usize::try_from(copies).unwrap_or(1), on_device }
    }

    /// The fastest of all choices.
    fn fastest(chain: &'a Chain, copies: u64, problem: &Problem) -> Result<Placement, OffloadError> {
        let mut best: Option<(u64, Placement)> = None;
        for choice in 0u32..1 << Kind::ALL.len() {
            let on_device = (0..).zip(Kind::ALL).filter(|(bit, _)| choice >> bit & 1 == 1).map(|(_, kind)| kind);
            let placement = Self { on_device: on_device.collect(), ..Self::fixed(chain, copies) }.place(problem)?;
            let ticks = Timetable::of(problem, &placement).makespan;
            if best.as_ref().is_none_or(|(least, _)| ticks < *least) {
                best = Some((ticks, placement));
            }
        }
        Ok(best.expect("there are choices").1)
    }
}

impl Policy for ByOperator<'_> {
    fn name(&self) -> &'static str {
        "static"
    }

    fn place(&self, problem: &Problem) -> Result<Placement, OffloadError> {
        let side = |id: OperationId| match self.on_device.contains(&self.chain.steps[id.index() / self.copies].kind) {
            true => DEVICE,
            false => HEU,
        };
        Ok(Placement::in_program_order(problem.operations().map(side).collect()))
    }
}

/// A group of bootstrappings in flight, in time.
pub(super) struct Group {
    pub(super) copies: u64,
    pub(super) problem: Problem,
    pub(super) placement: Placement,
    pub(super) table: Timetable,
}

impl Numbers {
    /// So many bootstrappings in flight.
    ///
    /// # Errors
    /// [`MachineError::Offload`].
    pub(super) fn group(&self, graph: &Graph, run: &Run, copies: u64) -> Result<Group, MachineError> {
        let problem = self.problem(graph, run, copies)?;
        let by_operator = ByOperator::fixed(&run.chain, copies);
        let mut placement = match self.policy.offload {
            Offload::Adaptive => match self.assumed.search.value {
                Search::Operation => Genetic::default().place(&problem)?,
                Search::Operator => ByOperator::fastest(&run.chain, copies, &problem)?,
            },
            Offload::Heft => Heft.place(&problem)?,
            Offload::Static => by_operator.place(&problem)?,
            Offload::Device => OneSide(DEVICE).place(&problem)?,
            Offload::Heu => OneSide(HEU).place(&problem)?,
        };
        let mut table = Timetable::of(&problem, &placement);
        if self.policy.offload == Offload::Adaptive {
            // The search starts from placements that know no operators: the static one is asked besides.
            let other = by_operator.place(&problem)?;
            let timed = Timetable::of(&problem, &other);
            if timed.makespan < table.makespan {
                (placement, table) = (other, timed);
            }
        }
        Ok(Group { copies, problem, placement, table })
    }

    /// The first of the ciphertexts of a group, placed as they are there: the rest of a batch.
    ///
    /// # Errors
    /// [`MachineError::Offload`].
    pub(super) fn rest_of(&self, graph: &Graph, group: &Group, run: &Run, copies: u64) -> Result<Group, MachineError> {
        let problem = self.problem(graph, run, copies)?;
        let index = |x: u64| usize::try_from(x).unwrap_or(usize::MAX);
        let (all, some) = (index(group.copies), index(copies));
        let own = |id: &OperationId| (id.index() % all < some).then(|| id.index() / all * some + id.index() % all);
        let number = |at: usize| OperationId(u32::try_from(at).unwrap_or(u32::MAX));
        let order = group.placement.order.iter().filter_map(own).map(number).collect();
        let kept = group.placement.side.iter().enumerate().filter(|(at, _)| at % all < some);
        let placement = Placement { side: kept.map(|(_, side)| *side).collect(), order };
        let table = Timetable::of(&problem, &placement);
        Ok(Group { copies, problem, placement, table })
    }

    /// What does not hang on the operator, with so many ciphertexts in flight.
    pub(super) fn flight(&self, chain: &Chain, copies: u64) -> Flight {
        Flight { copies: as_f64(copies), live_words: chain.live_words() }
    }

    /// The problem of so many copies of a chain: operation i of copy c has number i·copies + c.
    fn problem(&self, graph: &Graph, run: &Run, copies: u64) -> Result<Problem, MachineError> {
        let flight = self.flight(&run.chain, copies);
        let mut draft = Draft::new(self.sides());
        let link = Link {
            bandwidth_gb_s: [self.link.link_gb_s; 2],
            latency_s: self.assumed.link_latency_ns.value * 1e-9,
            duplex: self.assumed.link_duplex.value,
            joules_per_byte: self.assumed.link_pj.value * 8e-12,
        };
        draft.link(DEVICE, HEU, link);
        draft.regions(graph.regions().iter().map(|region| region.parent).collect());
        let bytes = |words: f64| whole(words * self.word_bytes());
        let count = usize::try_from(copies).unwrap_or(1);
        let mut values: Vec<Vec<ValueId>> = vec![Vec::new(); run.chain.values.len()];
        for (at, value) in run.chain.values.iter().enumerate().filter(|(_, value)| value.maker.is_none()) {
            let own = if value.shared { 1 } else { count };
            values[at] = (0..own).map(|_| draft.input(bytes(value.words), [DEVICE])).collect();
        }
        let mut made: Vec<Vec<usize>> = vec![Vec::new(); run.chain.steps.len()];
        for (at, value) in run.chain.values.iter().enumerate() {
            if let Some(maker) = value.maker {
                made[maker].push(at);
            }
        }
        for (at, step) in run.chain.steps.iter().enumerate() {
            let operation = self.operation(run, at, flight);
            for copy in 0..count {
                let reads = step.reads.iter().map(|&value| values[value][copy.min(values[value].len() - 1)]);
                let id = draft.operation(operation.clone(), reads.collect::<Vec<_>>());
                for &value in &made[at] {
                    let passed = run.chain.values[value];
                    let number = draft.value(id, bytes(passed.words));
                    values[value].push(number);
                    if passed.kept {
                        draft.keep(number, DEVICE);
                    }
                }
            }
        }
        Ok(draft.build()?)
    }

    fn operation(&self, run: &Run, at: usize, flight: Flight) -> DraftOperation {
        let Step { kind, work, .. } = &run.chain.steps[at];
        let kind = *kind;
        let (device_s, heu_s) = (self.device_seconds(work, flight), self.heu_seconds(kind, work, flight));
        let device_j = device_s * self.assumed.device_w.value;
        let stack_j = self.stack_bytes(work, flight) * 8.0 * self.energy.stack_pj * 1e-12;
        let bytes = (work.read_words + work.written_words + work.key_words) * self.word_bytes();
        DraftOperation {
            name: kind.name(),
            nodes: vec![run.first[at]],
            region: run.regions[at],
            seconds: vec![Some(device_s), Some(heu_s)],
            joules: vec![device_j, heu_s * self.energy.power_w + stack_j],
            intensity: work.multiplications() / bytes.max(1.0),
        }
    }

    fn sides(&self) -> Vec<Side> {
        let whole = self.policy.mapping == super::numbers::Mapping::Whole;
        let streams = if whole { self.assumed.whole_streams.value } else { 1 };
        let device = self.lane_slots_s() / self.slots.product_slots / (self.device.memory_gb_s * 1e9);
        let multipliers = as_f64(self.heu.tiles * self.heu.multipliers_per_tile) * self.heu.core_mhz * 1e6;
        let heu = multipliers / (self.heu.internal_gb_s * 1e9);
        vec![Side { name: UNITS[0], streams: 1, balance: device }, Side { name: UNITS[1], streams, balance: heu }]
    }

    /// Names of the sides and lanes.
    pub(super) fn units(&self) -> &'static [&'static str] {
        match self.assumed.link_duplex.value {
            Duplex::Full => &UNITS,
            Duplex::Half => &UNITS_HALF,
        }
    }
}
