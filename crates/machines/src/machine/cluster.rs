//! A cluster: nodes that are machines of one kind, and a link between them and the driver.
//!
//! A program on it runs on one node. A batch in parts is followed as `limbwise run --on ray` carries it out (ADR 157, ADR 177):
//! the driver sends the keys to one node after the other, then parts to whoever is free, a second one ahead; results come
//! back over the same link. Sums of parts are a tree over eight neighbors. All bytes share the driver's link; what nodes have
//! in common otherwise (a memory bus, where they are one computer) is not modeled.

mod moments;

use super::Machine;
use crate::{
    error::MachineError,
    phases::Phases,
    program::{Order, Pool, Stage},
    report::{RegionTime, Report, as_f64},
    scheduler::Schedule,
    scratchpad::OffChip,
    spec::{Assumed, Spec},
    words::Words,
};
use limbwise_graph::{Graph, NodeId, Op};
use moments::{Followed, LINK, Moment, NODES, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap, fmt};

/// Results that are added in one task.
const ARITY: u64 = 8;
/// Parts that a node has at once: one that it evaluates, and one whose inputs come meanwhile.
const DEPTH: usize = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    nodes: Nodes,
    link: Link,
    assumed: Assumptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    count: u64,
    machine: String,
    keys: Keys,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Keys {
    Copied,
    Shared,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    bandwidth_gb_s: Assumed<f64>,
    latency_ns: Assumed<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumptions {
    start_seconds: Assumed<f64>,
    task_seconds: Assumed<f64>,
}

/// A batch in parts of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// How many parts.
    pub parts: u64,
    /// Seconds of a part on a node.
    pub part_seconds: f64,
    /// Bytes of the server's keys.
    pub key_bytes: u64,
    /// Bytes of a part's encrypted inputs.
    pub input_bytes: u64,
    /// Bytes of a part's results.
    pub result_bytes: u64,
    /// Bytes of those of them that are added over all parts; 0 where none are.
    pub summed_bytes: u64,
}

impl Batch {
    /// A batch whose part is a recorded program, with bytes as they are in memory: files have at most so many. Of so many
    /// results the first ones are added.
    #[must_use]
    pub fn of(part: &Graph, parts: u64, [results, summed]: [usize; 2]) -> Self {
        let (traffic, result_bytes) = (part.traffic(), part.result_bytes());
        let share = as_f64(summed as u64) / as_f64(results.max(1) as u64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count of bytes")]
        let summed_bytes = (as_f64(result_bytes) * share) as u64;
        Self {
            parts,
            part_seconds: 0.0,
            key_bytes: traffic.evaluation_keys.declared.saturating_add(traffic.bootstrap_keys.declared),
            input_bytes: traffic.ciphertexts.declared,
            result_bytes,
            summed_bytes,
        }
    }
}

/// A batch on a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClusterTime {
    /// How many nodes there are.
    pub nodes: u64,
    /// The machine of a node.
    pub node: String,
    /// How many parts the batch has.
    pub parts: u64,
    /// Rows, messages or images of a part.
    pub part: u64,
    /// From the first key's sending to the last result.
    pub seconds: f64,
    /// Until the last of the nodes that get a part has its keys.
    pub seconds_start: f64,
    /// Of a part on a node.
    pub seconds_part: f64,
    /// The same batch on one node.
    pub seconds_one_node: f64,
    /// One node's seconds over these, both from when the first node is ready.
    pub speed_up: f64,
    /// Copies of the keys that are in memory, one a node that gets a part.
    pub key_copies: u64,
    /// Bytes of keys that cross the link.
    pub key_bytes: u64,
    /// Bytes of inputs that cross it.
    pub input_bytes: u64,
    /// Bytes of results, those that go out again to be added among them.
    pub result_bytes: u64,
}

impl fmt::Display for ClusterTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gb = |bytes: u64| as_f64(bytes) / 1e9;
        let Self { nodes, node, parts, part, key_copies, .. } = self;
        writeln!(f, "  cluster          {nodes} nodes, each {node}; {parts} parts of {part}")?;
        let [part, start, one] = [self.seconds_part, self.seconds_start, self.seconds_one_node];
        writeln!(f, "  seconds          {part:.4} a part, {start:.4} until all have keys; {one:.4} on one node")?;
        writeln!(f, "  speed-up         {:.2} of {}, starts left out", self.speed_up, nodes.min(parts))?;
        let [keys, inputs, results] = [self.key_bytes, self.input_bytes, self.result_bytes].map(gb);
        writeln!(f, "  moved            {keys:.3} GB of keys, {inputs:.3} of inputs, {results:.3} of results")?;
        writeln!(f, "  keys             {key_copies} copies in memory, one a node")
    }
}

/// The model.
pub struct Cluster {
    spec: Spec,
    numbers: Numbers,
    node: Box<dyn Machine>,
}

impl Cluster {
    /// The model of a specification.
    ///
    /// # Errors
    /// [`MachineError`] where the specification is not one of this model.
    pub fn new(spec: &Spec) -> Result<Self, MachineError> {
        let numbers: Numbers = spec.read()?;
        let node = Spec::load(&numbers.nodes.machine)?;
        Self::of(spec, &node)
    }

    /// The cluster with a changed node: this computer's measured rates.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of(spec: &Spec, node: &Spec) -> Result<Self, MachineError> {
        let numbers: Numbers = spec.read()?;
        if numbers.nodes.count == 0 {
            return Err(spec.wrong("nodes.count", "at least one node", 0));
        }
        Ok(Self { spec: spec.clone(), numbers, node: super::open(node)? })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.numbers.nodes.count
    }

    /// The name of a node's machine.
    #[must_use]
    pub fn machine(&self) -> &str {
        &self.numbers.nodes.machine
    }

    /// Seconds of bytes on the link.
    fn moved(&self, bytes: u64) -> f64 {
        let link = &self.numbers.link;
        as_f64(bytes) / (link.bandwidth_gb_s.value * 1e9) + link.latency_ns.value * 1e-9
    }

    /// A batch on the cluster, in parts of so many rows.
    #[must_use]
    pub fn batch(&self, batch: &Batch, part: u64) -> ClusterTime {
        let nodes = self.nodes().min(batch.parts).max(1);
        let Followed { first, all, end } = self.followed(batch, nodes);
        let one = self.followed(batch, 1);
        let copied = self.numbers.nodes.keys == Keys::Copied;
        let (mut level, mut added) = (batch.parts, 0);
        while batch.summed_bytes > 0 && level > 1 {
            let above = level.div_ceil(ARITY);
            added += level + above;
            level = above;
        }
        ClusterTime {
            nodes: self.nodes(),
            node: self.machine().into(),
            parts: batch.parts,
            part,
            seconds: end.at,
            seconds_start: all,
            seconds_part: batch.part_seconds,
            seconds_one_node: one.end.at,
            speed_up: (one.end.at - one.first) / (end.at - first),
            key_copies: nodes,
            key_bytes: if copied { nodes.saturating_mul(batch.key_bytes) } else { 0 },
            input_bytes: batch.parts.saturating_mul(batch.input_bytes),
            result_bytes: (batch.parts.saturating_mul(batch.result_bytes))
                .saturating_add(u64::saturating_mul(added, batch.summed_bytes)),
        }
    }

    /// The times of a batch on so many nodes.
    fn followed(&self, batch: &Batch, nodes: u64) -> Followed {
        let numbers = &self.numbers;
        let (start, task) = (numbers.assumed.start_seconds.value, numbers.assumed.task_seconds.value);
        let mut link = Moment::default();
        // Of each node: when it is free, and when each of the parts that it has is over.
        let mut free: Vec<Moment> = Vec::new();
        for _ in 0..nodes {
            if numbers.nodes.keys == Keys::Copied {
                link = link.after(Step::Keys, self.moved(batch.key_bytes));
            }
            free.push(link.after(Step::Start, start));
        }
        let [first, all] = [free.first(), free.last()].map(|at| at.copied().unwrap_or_default());
        let mut asked: Vec<Vec<Moment>> = free.iter().map(|&at| vec![at]).collect();
        // Parts may be over before the last node is ready.
        let mut end = first;
        for _ in 0..batch.parts {
            let next = free.iter().enumerate().min_by(|a, b| a.1.at.total_cmp(&b.1.at)).map_or(0, |(node, _)| node);
            // A part is sent when the one before the last is over.
            let over = &asked[next];
            let sent = link.or_later(over[over.len().saturating_sub(DEPTH)]);
            link = sent.after(Step::Inputs, self.moved(batch.input_bytes));
            free[next] = free[next].or_later(link).after(Step::Part, batch.part_seconds).after(Step::Task, task);
            asked[next].push(free[next]);
            end = end.or_later(free[next].after(Step::Results, self.moved(batch.result_bytes)));
        }
        // Sums are made while other parts are evaluated; those above the last part are left.
        if batch.summed_bytes > 0 {
            let mut level = batch.parts;
            while level > 1 {
                let below = level.min(ARITY);
                let moved = self.moved(below * batch.summed_bytes) + self.moved(batch.summed_bytes);
                end = end.after(Step::Task, task).after(Step::Results, moved);
                level = level.div_ceil(ARITY);
            }
        }
        Followed { first: first.at, all: all.at, end }
    }

    /// The report of a part on a node, with the whole batch.
    #[must_use]
    pub fn report_of(&self, graph: &Graph, schedule: &Schedule, batch: &Batch, part: u64) -> Report {
        let mut report = self.report(graph, schedule);
        let batch = Batch { part_seconds: report.seconds, ..*batch };
        let time = self.batch(&batch, part);
        self.lengthen(&mut report, &self.followed(&batch, self.nodes().min(batch.parts).max(1)).end);
        report.seconds = time.seconds;
        report.notes = vec![format!(
            "a batch of {} parts of {part}; critical path and regions are of the batch, all else here is of one part on a node",
            time.parts
        )];
        report.cluster = Some(time);
        report
    }

    /// The critical path of a part becomes that of the batch: parts as many times as they stand on it, and what the link and
    /// the nodes' starts take.
    fn lengthen(&self, report: &mut Report, end: &Moment) {
        let times = end.of[Step::Part as usize] / report.seconds.max(f64::MIN_POSITIVE);
        report.critical_path.values_mut().flat_map(|kinds| kinds.values_mut()).for_each(|seconds| *seconds *= times);
        report.regions.iter_mut().for_each(|region| region.seconds *= times);
        for (unit, steps) in [("link", &LINK[..]), ("nodes", &NODES[..])] {
            let kinds: BTreeMap<&'static str, f64> =
                steps.iter().map(|&(step, name)| (name, end.of[step as usize])).filter(|(_, s)| *s > 0.0).collect();
            report.regions.push(RegionTime { path: unit.into(), seconds: kinds.values().sum() });
            report.critical_path.insert(unit.into(), kinds);
        }
    }
}

/// A program that is no batch runs on one node.
impl Machine for Cluster {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn units(&self) -> &[&'static str] {
        self.node.units()
    }

    fn tick_seconds(&self) -> f64 {
        self.node.tick_seconds()
    }

    fn streaming(&self) -> bool {
        self.node.streaming()
    }

    fn width(&self, unit: u8) -> u64 {
        self.node.width(unit)
    }

    fn has_unit_for(&self, op: Op) -> bool {
        self.node.has_unit_for(op)
    }

    fn lacks(&self, op: Op) -> Cow<'static, str> {
        self.node.lacks(op)
    }

    fn pools(&self) -> Vec<Pool> {
        self.node.pools()
    }

    fn port(&self) -> Option<usize> {
        self.node.port()
    }

    fn prepare<'g>(&self, graph: &'g Graph) -> Cow<'g, Graph> {
        self.node.prepare(graph)
    }

    fn order(&self) -> Order {
        self.node.order()
    }

    fn phases(&self) -> Phases {
        self.node.phases()
    }

    fn words(&self) -> Words {
        self.node.words()
    }

    fn off_chip(&self, graph: &Graph) -> Option<OffChip> {
        self.node.off_chip(graph)
    }

    fn cost(&self, graph: &Graph, node: NodeId) -> Vec<Stage> {
        self.node.cost(graph, node)
    }

    fn costs<'g>(&'g self, graph: &'g Graph) -> Box<dyn Fn(NodeId) -> Vec<Stage> + 'g> {
        self.node.costs(graph)
    }

    fn own_ticks(&self, graph: &Graph) -> Vec<Option<u64>> {
        self.node.own_ticks(graph)
    }

    fn peak_products_s(&self) -> Option<f64> {
        self.node.peak_products_s()
    }

    fn report(&self, graph: &Graph, schedule: &Schedule) -> Report {
        let mut report = self.node.report(graph, schedule);
        report.machine = self.spec.name().into();
        report.assumed.splice(0..0, self.spec.assumed());
        report.notes.push("no batch: one node".into());
        report
    }

    fn schedule(&self, graph: &Graph) -> Result<Schedule, MachineError> {
        self.node.schedule(graph)
    }
}
