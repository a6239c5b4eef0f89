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
    fn new(program: &Program) -> Self {
        let mut first = vec![0u32; program.tasks.len() + program.gates() + 1];
        for_each_edge(program, |_, edge| first[awaited(program, edge) + 1] += 1);
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut list = vec![(0, Edge::Gate(0)); first.last().map_or(0, |&all| all as usize)];
        for_each_edge(program, |waiter, edge| {
            let at = &mut next[awaited(program, edge)];
            list[*at as usize] = (waiter, edge);
            *at += 1;
        });
        Self { first, list }
    }

    fn range(&self, awaited: usize) -> std::ops::Range<usize> {
        self.first[awaited] as usize..self.first[awaited + 1] as usize
    }
}

/// Edges with what waits, tasks and then gates; those from a gate to the next one are not among them.
fn for_each_edge(program: &Program, mut found: impl FnMut(u32, Edge)) {
    for (waiter, id) in (0..).zip(program.ids()) {
        program.edges(id).iter().for_each(|&edge| found(waiter, edge));
    }
    for (gate, waiter) in (0..program.gates()).zip(length(&program.tasks)..) {
        program.gate_edges(gate).iter().for_each(|&edge| found(waiter, edge));
    }
}

fn length<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).expect("a program holds fewer than 2^32 tasks and edges")
}

/// What waits: a task or a gate.
#[derive(Clone, Copy)]
struct Waiter {
    /// Earliest start so far, and because of which task.
    release: u64,
    bound_by: Option<TaskId>,
    /// Edges that are still unknown.
    unknown: u32,
    /// How long before the end of an operand's output it may start.
    lead: u64,
}

fn waiters(program: &Program) -> Vec<Waiter> {
    let waiter = |edges: &[Edge], lead| Waiter { release: 0, bound_by: None, unknown: length(edges), lead };
    let tasks = program.ids().zip(&program.tasks);
    let mut all: Vec<Waiter> = Vec::with_capacity(program.tasks.len() + program.gates());
    all.extend(tasks.map(|(id, task)| waiter(program.edges(id), program.lead(&task.stage))));
    all.extend((0..program.gates()).map(|gate| waiter(program.gate_edges(gate), 0)));
    // A gate waits for the one before it as well.
    all.iter_mut().skip(program.tasks.len() + 1).for_each(|gate| gate.unknown += 1);
    all
}

/// State of the scheduler; tasks first, then gates.
struct State<'a> {
    program: &'a Program,
    followers: Followers,
    start: Vec<u64>,
    waiters: Vec<Waiter>,
    /// Gates that opened and have not yet released their followers.
    opened: Vec<usize>,
    /// Tasks by the time at which they may start, and by the time at which they let go of their unit.
    waiting: BinaryHeap<Reverse<(u64, TaskId)>>,
    running: BinaryHeap<Reverse<(u64, TaskId)>>,
    units: Vec<Unit>,
    /// Tasks in the queues of units.
    ready: usize,
    pools: [Shared; POOLS],
    /// First tasks of the units, while some of them are started.
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
    let tasks = program.tasks.len();
    let shared = |free| Shared { free, last: None };
    let unit = |&width: &u64| Unit { ready: BinaryHeap::new(), width: shared(width), short_of: None };
    let mut state = State {
        followers: Followers::new(&program),
        start: vec![0; tasks],
        waiters: waiters(&program),
        opened: Vec::new(),
        waiting: BinaryHeap::new(),
        running: BinaryHeap::new(),
        units: program.widths.iter().map(unit).collect(),
        ready: 0,
        pools: std::array::from_fn(|i| shared(program.pools.get(i).map_or(0, |p| p.per_tick))),
        heads: Vec::with_capacity(program.units.len()),
        program: &program,
    };
    for id in program.ids().filter(|id| state.waiters[id.index()].unknown == 0) {
        state.waiting.push(Reverse((0, id)));
    }
    state.opened = (tasks..state.waiters.len()).filter(|&gate| state.waiters[gate].unknown == 0).collect();
    state.tell_gates();
    while let Some(now) = state.next_event() {
        state.let_go(now);
        state.admit(now);
        state.begin_all(now);
    }
    assert!(state.ready == 0, "a stage takes more than there is");
    let bound_by = state.waiters[..tasks].iter().map(|task| task.bound_by).collect();
    Schedule { start: state.start, bound_by, program }
}

impl State<'_> {
    fn stage(&self, id: TaskId) -> &Stage {
        &self.program.tasks[id.index()].stage
    }

    /// The next time at which something can start.
    fn next_event(&self) -> Option<u64> {
        let arrival = self.waiting.peek().map(|r| r.0.0);
        let freed = self.running.peek().map(|r| r.0.0).filter(|_| self.ready > 0);
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
            self.ready += 1;
        }
    }

    /// Starts first tasks of units in the order of the plan, as far as they can start. Later tasks do not overtake one that
    /// waits for a bandwidth they want as well: small draws would keep a large one waiting for ever (ADR 47). Tasks on other
    /// units that draw nothing may overtake it. A task without occupancy takes nothing, so it starts whatever is free.
    ///
    /// What cannot start stays so while others start, which only take more: each first task is looked at once, and
    /// what comes up behind one that started takes its place among those that are left.
    fn begin_all(&mut self, now: u64) {
        self.heads.clear();
        let head = |(unit, u): (usize, &Unit)| u.ready.peek().map(|Reverse(id)| (*id, unit));
        self.heads.extend(self.units.iter().enumerate().filter_map(head));
        self.heads.sort_unstable();
        let (mut wanted, mut at, mut is_told) = ([false; POOLS], 0, true);
        while let Some(&(id, unit)) = self.heads.get(at) {
            if !self.can_start(id, unit, &mut wanted) {
                at += 1;
                continue;
            }
            is_told &= at == 0;
            self.begin(unit, now);
            self.heads.remove(at);
            if let Some(&Reverse(next)) = self.units[unit].ready.peek() {
                let place = at + self.heads[at..].partition_point(|&(other, _)| other < next);
                self.heads.insert(place, (next, unit));
            }
        }
        // What others took since may be what a task lacks first.
        if !is_told {
            wanted = [false; POOLS];
            for at in 0..self.heads.len() {
                let (id, unit) = self.heads[at];
                self.can_start(id, unit, &mut wanted);
            }
        }
    }

    /// Whether the first task of a unit can start; if not, what it waits for.
    fn can_start(&mut self, id: TaskId, unit: usize, wanted: &mut [bool; POOLS]) -> bool {
        let (stage, unit) = (&self.program.tasks[id.index()].stage, &mut self.units[unit]);
        if stage.occupancy == 0 {
            return true;
        }
        if unit.width.free < stage.width {
            unit.short_of = None;
            return false;
        }
        let draws = stage.draws.iter().enumerate().filter(|(_, draw)| **draw > 0);
        let lacks = |&(pool, &draw): &(usize, &u64)| wanted[pool] || draw > self.pools[pool].free;
        let Some((pool, _)) = draws.clone().find(lacks) else { return true };
        unit.short_of = Some(pool);
        draws.for_each(|(pool, _)| wanted[pool] = true);
        false
    }

    fn begin(&mut self, unit: usize, now: u64) {
        let Some(Reverse(id)) = self.units[unit].ready.pop() else { return };
        self.ready -= 1;
        let stage = &self.program.tasks[id.index()].stage;
        // A task that could have started earlier waited for its unit or a bandwidth, not for an operand.
        if self.waiters[id.index()].release < now {
            let unit = &self.units[unit];
            self.waiters[id.index()].bound_by = unit.short_of.map_or(unit.width.last, |pool| self.pools[pool].last);
        }
        self.start[id.index()] = now;
        let begun = self.program.begun(id, now);
        if stage.occupancy > 0 {
            self.units[unit].width.free -= stage.width;
            self.pools.iter_mut().zip(stage.draws).for_each(|(pool, draw)| pool.free -= draw);
            self.running.push(Reverse((begun.taken, id)));
        }
        for at in self.followers.range(id.index()) {
            let (follower, edge) = self.followers.list[at];
            let earliest = begun.release(edge, self.waiters[follower as usize].lead);
            self.tell(follower as usize, earliest, Some(id));
        }
        self.tell_gates();
    }

    /// Applies one edge: the follower starts at `earliest` or later.
    fn tell(&mut self, follower: usize, earliest: u64, by: Option<TaskId>) {
        let waiter = &mut self.waiters[follower];
        // Of edges with the same time the last one counts. Any of them bounds the start, so any makes a critical path.
        if earliest >= waiter.release {
            (waiter.release, waiter.bound_by) = (earliest, by);
        }
        waiter.unknown -= 1;
        if waiter.unknown > 0 {
            return;
        }
        match u32::try_from(follower).ok().filter(|_| follower < self.start.len()) {
            Some(task) => self.waiting.push(Reverse((waiter.release, TaskId(task)))),
            None => self.opened.push(follower),
        }
    }

    fn tell_gates(&mut self) {
        while let Some(gate) = self.opened.pop() {
            let Waiter { release: opens, bound_by: by, .. } = self.waiters[gate];
            for at in self.followers.range(gate) {
                self.tell(self.followers.list[at].0 as usize, opens, by);
            }
            if gate + 1 < self.waiters.len() {
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
