//! The list scheduler: event-driven and deterministic.
//!
//! A unit with free width takes the first task of the plan that may start, if the task's width and its part of the shared
//! bandwidths are free. Units are asked in the order of their first tasks. Only the plan breaks ties: a task's number is
//! its position in the plan, so a program has one schedule, on every host and in every run. The plan is the tie rule
//! because it is the order in which on-chip memory was given out; another order would stall at gates (ADR 45).

use crate::program::{Edge, GRAINS, POOLS, Program, Stage, TaskId};
use limbwise_graph::Graph;
use std::{cmp::Reverse, collections::BinaryHeap};

/// A program with the start of each task.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The program.
    pub program: Program,
    /// Start of each task in ticks.
    pub start: Vec<u64>,
    /// The task because of which each task did not start earlier.
    bound_by: Vec<Option<TaskId>>,
}

/// Edges seen from what is waited for: tasks, then gates. Those that wait are numbered alike.
struct Followers {
    first: Vec<u32>,
    list: Vec<(u32, Edge)>,
}

/// Position of what an edge waits for among all tasks and gates.
fn awaited(program: &Program, edge: Edge) -> usize {
    match edge {
        Edge::Gate(gate) => program.tasks.len() + gate as usize,
        Edge::Output(task) | Edge::End(task) | Edge::Start(task) | Edge::Taken(task) => task.index(),
    }
}

impl Followers {
    /// Also the number of edges of each task and gate; a gate has one to the gate before it.
    fn new(program: &Program) -> (Self, Vec<u32>) {
        let tasks = program.tasks.len();
        let mut edges: Vec<(u32, Edge)> = Vec::with_capacity(2 * tasks);
        let mut unknown = Vec::with_capacity(tasks + program.gates());
        for (waiter, id) in (0..).zip(program.ids()) {
            edges.extend(program.edges(id).iter().map(|&edge| (waiter, edge)));
            unknown.push(length(program.edges(id)));
        }
        for (gate, waiter) in (0..program.gates()).zip(length(&program.tasks)..) {
            edges.extend(program.gate_edges(gate).iter().map(|&edge| (waiter, edge)));
            unknown.push(length(program.gate_edges(gate)) + u32::from(gate > 0));
        }
        let mut first = vec![0u32; unknown.len() + 1];
        edges.iter().for_each(|(_, edge)| first[awaited(program, *edge) + 1] += 1);
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut list = vec![(0, Edge::Gate(0)); edges.len()];
        for entry in edges {
            let at = &mut next[awaited(program, entry.1)];
            list[*at as usize] = entry;
            *at += 1;
        }
        (Self { first, list }, unknown)
    }

    fn range(&self, awaited: usize) -> std::ops::Range<usize> {
        self.first[awaited] as usize..self.first[awaited + 1] as usize
    }
}

fn length<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).expect("a program holds fewer than 2^32 tasks and edges")
}

/// State of the scheduler; tasks first, then gates.
struct State<'a> {
    program: &'a Program,
    followers: Followers,
    start: Vec<u64>,
    bound_by: Vec<Option<TaskId>>,
    /// Earliest start so far, and how many edges are still unknown.
    release: Vec<u64>,
    unknown: Vec<u32>,
    /// Gates that opened and have not yet released their followers.
    opened: Vec<usize>,
    /// Tasks by the time at which they may start, and by the time at which they let go of their unit.
    waiting: BinaryHeap<Reverse<(u64, TaskId)>>,
    running: BinaryHeap<Reverse<(u64, TaskId)>>,
    units: Vec<Unit>,
    pools: [Shared; POOLS],
    /// First tasks of the units, while one of them is chosen.
    heads: Vec<(TaskId, usize)>,
}

/// Something of which several tasks take a part.
#[derive(Clone, Copy, Default)]
struct Shared {
    free: u64,
    /// The last task that let go of some.
    last: Option<TaskId>,
}

struct Unit {
    ready: BinaryHeap<Reverse<TaskId>>,
    width: Shared,
    /// The pool for which its first task waits; `None`: for the unit itself.
    short_of: Option<usize>,
}

/// Places every task.
///
/// # Panics
/// If a stage takes more of a unit or a pool than there is.
#[must_use]
pub fn run(program: Program) -> Schedule {
    let (followers, unknown) = Followers::new(&program);
    let (tasks, all) = (program.tasks.len(), unknown.len());
    let shared = |free| Shared { free, last: None };
    let unit = |&width: &u64| Unit { ready: BinaryHeap::new(), width: shared(width), short_of: None };
    let mut state = State {
        followers,
        start: vec![0; tasks],
        bound_by: vec![None; all],
        release: vec![0; all],
        opened: Vec::new(),
        waiting: BinaryHeap::new(),
        running: BinaryHeap::new(),
        units: program.widths.iter().map(unit).collect(),
        pools: std::array::from_fn(|i| shared(program.pools.get(i).map_or(0, |p| p.per_tick))),
        heads: Vec::with_capacity(program.units.len()),
        unknown,
        program: &program,
    };
    for id in program.ids().filter(|id| state.unknown[id.index()] == 0) {
        state.waiting.push(Reverse((0, id)));
    }
    let empty = (tasks..all).filter(|&gate| state.unknown[gate] == 0).collect();
    state.opened = empty;
    state.tell_gates();
    while let Some(now) = state.next_event() {
        state.let_go(now);
        state.admit(now);
        while let Some(unit) = state.next_unit() {
            state.begin(unit, now);
        }
    }
    assert!(state.units.iter().all(|u| u.ready.is_empty()), "a stage takes more than there is");
    state.bound_by.truncate(tasks);
    let (start, bound_by) = (state.start, state.bound_by);
    Schedule { start, bound_by, program }
}

impl State<'_> {
    fn stage(&self, id: TaskId) -> &Stage {
        &self.program.tasks[id.index()].stage
    }

    /// The next time at which something can start.
    fn next_event(&self) -> Option<u64> {
        let arrival = self.waiting.peek().map(|r| r.0.0);
        let wanted = self.units.iter().any(|u| !u.ready.is_empty());
        let freed = self.running.peek().map(|r| r.0.0).filter(|_| wanted);
        arrival.into_iter().chain(freed).min()
    }

    /// Releases units and bandwidths of tasks that ended. The heap pairs times with task numbers, so of tasks that end
    /// together the last of the plan is the one that a later start is bound by.
    fn let_go(&mut self, now: u64) {
        while let Some(Reverse((_, id))) = self.running.peek().copied().filter(|r| r.0.0 <= now) {
            self.running.pop();
            let stage = &self.program.tasks[id.index()].stage;
            let unit = &mut self.units[usize::from(stage.unit)].width;
            *unit = Shared { free: unit.free + stage.width, last: Some(id) };
            for (pool, draw) in self.pools.iter_mut().zip(stage.draws).filter(|(_, draw)| *draw > 0) {
                *pool = Shared { free: pool.free + draw, last: Some(id) };
            }
        }
    }

    /// Moves tasks whose operands are there to the queue of their unit, which is ordered by the plan and not by arrival.
    fn admit(&mut self, now: u64) {
        while let Some(Reverse((_, id))) = self.waiting.peek().copied().filter(|r| r.0.0 <= now) {
            self.waiting.pop();
            let unit = usize::from(self.stage(id).unit);
            self.units[unit].ready.push(Reverse(id));
        }
    }

    /// The unit whose first task can start and comes first in the plan. Later tasks do not overtake one that waits for a
    /// bandwidth they want as well: small draws would keep a large one waiting for ever (ADR 47). Tasks on other units that
    /// draw nothing may overtake it. A task without occupancy takes nothing, so it starts whatever is free.
    fn next_unit(&mut self) -> Option<usize> {
        self.heads.clear();
        let head = |(unit, u): (usize, &Unit)| u.ready.peek().map(|Reverse(id)| (*id, unit));
        self.heads.extend(self.units.iter().enumerate().filter_map(head));
        self.heads.sort_unstable();
        let mut wanted = [false; POOLS];
        for &(id, at) in &self.heads {
            let (stage, unit) = (&self.program.tasks[id.index()].stage, &mut self.units[at]);
            if stage.occupancy == 0 {
                return Some(at);
            }
            if unit.width.free < stage.width {
                unit.short_of = None;
                continue;
            }
            let draws = stage.draws.iter().enumerate().filter(|(_, draw)| **draw > 0);
            let lacks = |&(pool, &draw): &(usize, &u64)| wanted[pool] || draw > self.pools[pool].free;
            let Some((pool, _)) = draws.clone().find(lacks) else { return Some(at) };
            unit.short_of = Some(pool);
            draws.for_each(|(pool, _)| wanted[pool] = true);
        }
        None
    }

    fn begin(&mut self, unit: usize, now: u64) {
        let Some(Reverse(id)) = self.units[unit].ready.pop() else { return };
        let stage = *self.stage(id);
        // A task that could have started earlier waited for its unit or a bandwidth, not for an operand.
        if self.release[id.index()] < now {
            let unit = &self.units[unit];
            self.bound_by[id.index()] = unit.short_of.map_or(unit.width.last, |pool| self.pools[pool].last);
        }
        self.start[id.index()] = now;
        if stage.occupancy > 0 {
            self.units[unit].width.free -= stage.width;
            self.pools.iter_mut().zip(stage.draws).for_each(|(pool, draw)| pool.free -= draw);
            self.running.push(Reverse((now.saturating_add(stage.occupancy), id)));
        }
        for at in self.followers.range(id.index()) {
            let (follower, edge) = self.followers.list[at];
            let waiting = self.program.tasks.get(follower as usize).map(|task| &task.stage);
            let earliest = self.program.release(edge, now, waiting);
            self.tell(follower as usize, earliest, Some(id));
        }
        self.tell_gates();
    }

    /// Applies one edge: the follower starts at `earliest` or later.
    fn tell(&mut self, follower: usize, earliest: u64, by: Option<TaskId>) {
        // Of edges with the same time the last one counts. Any of them bounds the start, so any makes a critical path.
        if earliest >= self.release[follower] {
            self.release[follower] = earliest;
            self.bound_by[follower] = by;
        }
        self.unknown[follower] -= 1;
        if self.unknown[follower] > 0 {
            return;
        }
        match u32::try_from(follower).ok().filter(|_| follower < self.program.tasks.len()) {
            Some(task) => self.waiting.push(Reverse((self.release[follower], TaskId(task)))),
            None => self.opened.push(follower),
        }
    }

    fn tell_gates(&mut self) {
        while let Some(gate) = self.opened.pop() {
            let (opens, by) = (self.release[gate], self.bound_by[gate]);
            for at in self.followers.range(gate) {
                self.tell(self.followers.list[at].0 as usize, opens, by);
            }
            if gate + 1 < self.unknown.len() {
                self.tell(gate + 1, opens, by);
            }
        }
    }
}

impl Schedule {
    /// A schedule whose starts come from elsewhere, with the task because of which each task did not start earlier.
    pub(crate) fn stated(program: Program, start: Vec<u64>, bound_by: Vec<Option<TaskId>>) -> Self {
        Self { program, start, bound_by }
    }

    /// When a task's last output is out, in ticks.
    #[must_use]
    pub fn end(&self, id: TaskId) -> u64 {
        let stage = &self.program.tasks[id.index()].stage;
        self.start[id.index()].saturating_add(stage.fill).saturating_add(stage.occupancy)
    }

    /// When everything is done, in ticks.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.program.ids().map(|id| self.end(id)).max().unwrap_or(0)
    }

    /// End of the schedule in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        crate::report::as_f64(self.ticks()) * self.program.tick_seconds
    }

    /// Ticks in which each unit was busy; a task that takes a part of a unit counts for that part.
    #[must_use]
    pub fn busy(&self) -> Vec<u64> {
        let mut busy = vec![0u64; self.program.units.len()];
        for Stage { unit, occupancy, width, .. } in self.program.tasks.iter().map(|task| task.stage) {
            let unit = &mut busy[usize::from(unit)];
            *unit = unit.saturating_add(occupancy.saturating_mul(width));
        }
        busy.iter().zip(&self.program.widths).map(|(busy, width)| busy.div_ceil(*width)).collect()
    }

    /// Bytes that passed through each pool.
    #[must_use]
    pub fn drawn_bytes(&self) -> Vec<u64> {
        let through =
            |pool: usize| self.program.tasks.iter().map(|t| t.stage.drawn_bytes(pool)).fold(0, u64::saturating_add);
        (0..self.program.pools.len()).map(through).collect()
    }

    /// Grains a tick of a pool that loads and stores take, who pass it as well: as they come over the time of the schedule,
    /// or, where all together would take longer than it through the pool, over that. `None` without any.
    pub(crate) fn through(&self, port: usize) -> Option<u64> {
        let pool = self.program.pools.get(port)?;
        let moved = u128::from(self.program.off_chip_bytes.values().fold(0, |sum: u64, &b| sum.saturating_add(b)));
        let all = moved + u128::from(self.drawn_bytes()[port]);
        let (whole, grains) = (u128::from(pool.per_tick), u128::from(GRAINS));
        let ticks = u128::from(self.ticks()).max((all * grains).div_ceil(whole)).max(1);
        let aside = u64::try_from((moved * grains).div_ceil(ticks)).unwrap_or(u64::MAX);
        (moved > 0).then_some(aside.min(pool.per_tick - 1))
    }

    /// The critical path backwards: tasks with the ticks from their start to the start of the next on the path. The
    /// ticks add up to [`Self::ticks`].
    #[must_use]
    pub fn critical_path(&self) -> Vec<(TaskId, u64)> {
        let mut path = Vec::new();
        let mut until = self.ticks();
        let mut next = self.program.ids().max_by_key(|&id| (self.end(id), Reverse(id)));
        while let Some(id) = next {
            let start = self.start[id.index()];
            path.push((id, until - start));
            until = start;
            next = self.bound_by[id.index()];
        }
        path
    }

    /// Ticks of the critical path by region, inner regions included, in the order of [`Graph::regions`].
    #[must_use]
    pub fn region_ticks(&self, graph: &Graph) -> Vec<u64> {
        let mut ticks = vec![0; graph.regions().len()];
        for (id, share) in self.critical_path() {
            ticks[graph.node(self.program.tasks[id.index()].node).region().index()] += share;
        }
        for i in (1..ticks.len()).rev() {
            let inner = ticks[i];
            ticks[graph.regions()[i].parent.index()] += inner;
        }
        ticks
    }
}
