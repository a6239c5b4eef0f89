//! A machine of two units whose nodes take what a test says, so that a probe is exact.

use limbwise_graph::{Graph, NodeId};
use limbwise_machines::{
    Machine, Report, Schedule, Spec,
    check::{Violation, check},
    program::{Order, Pool, Stage, TaskKind},
    scratchpad::OffChip,
};

pub(crate) struct Toy {
    pub(crate) spec: Spec,
    /// The stages of each node.
    pub(crate) costs: Vec<Vec<Stage>>,
    pub(crate) streaming: bool,
    pub(crate) order: Order,
    pub(crate) widths: [u64; 2],
    pub(crate) pools: Vec<Pool>,
    pub(crate) memory: Option<OffChip>,
}

/// A stage of one unit's whole width.
pub(crate) fn stage(unit: u8, occupancy: u64, fill: u64, parts: u32) -> Stage {
    Stage { fill, parts, ..Stage::new(TaskKind::Compute, unit, occupancy) }
}

impl Toy {
    /// One stage a node, no memory.
    pub(crate) fn new(streaming: bool, stages: &[Stage]) -> Self {
        Self {
            spec: Spec::load("cpu").unwrap(),
            costs: stages.iter().map(|s| vec![*s]).collect(),
            streaming,
            order: Order::List,
            widths: [1, 1],
            pools: vec![],
            memory: None,
        }
    }

    /// The start of each task, of a schedule that is legal.
    pub(crate) fn starts(&self, graph: &Graph) -> Vec<u64> {
        let schedule = self.schedule(graph).unwrap();
        assert_eq!(check(graph, self, &schedule), Ok(()));
        schedule.start
    }

    /// Task `task` starts at `at`: the checker allows that and no earlier start.
    pub(crate) fn tight(&self, graph: &Graph, task: usize, at: u64) {
        let mut schedule = self.schedule(graph).unwrap();
        assert_eq!((schedule.start[task], check(graph, self, &schedule)), (at, Ok(())));
        schedule.start[task] = at - 1;
        let violation = check(graph, self, &schedule).unwrap_err();
        assert!(matches!(
            violation,
            Violation::TooEarly { .. } | Violation::Overlap { .. } | Violation::Capacity { .. }
        ));
    }
}

impl Machine for Toy {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        &["a", "b"]
    }

    fn tick_seconds(&self) -> f64 {
        1e-9
    }

    fn streaming(&self) -> bool {
        self.streaming
    }

    fn width(&self, unit: u8) -> u64 {
        self.widths[usize::from(unit)]
    }

    fn pools(&self) -> Vec<Pool> {
        self.pools.clone()
    }

    fn order(&self) -> Order {
        self.order
    }

    fn off_chip(&self, _graph: &Graph) -> Option<OffChip> {
        self.memory
    }

    fn cost(&self, _graph: &Graph, node: NodeId) -> Vec<Stage> {
        self.costs.get(node.index()).cloned().unwrap_or_default()
    }

    fn report(&self, _graph: &Graph, _schedule: &Schedule) -> Report {
        unreachable!("probes look at starts")
    }
}
