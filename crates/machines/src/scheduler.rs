//! The list scheduler: event-driven, deterministic, one task at a time a unit.
//!
//! Whenever a unit is free, it takes the first task in program order of those that may start. Ties are broken by
//! program order only, so a program has one schedule.

use crate::program::{Program, TaskId};
use limbwise_graph::Graph;
use std::{cmp::Reverse, collections::BinaryHeap};

/// A program with the start of each task.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What is scheduled.
    pub program: Program,
    /// Start of each task in ticks.
    pub start: Vec<u64>,
    /// The task because of which each task did not start earlier.
    bound_by: Vec<Option<TaskId>>,
}

/// Edges seen from the task waited for.
struct Followers {
    first: Vec<u32>,
    /// The waiting task and the number of the edge in its list.
    list: Vec<(TaskId, u32)>,
}

impl Followers {
    fn new(program: &Program) -> Self {
        let mut first = vec![0u32; program.tasks.len() + 1];
        for edge in program.all_edges() {
            first[edge.task().index() + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut list = vec![(TaskId(0), 0); program.all_edges().len()];
        for id in ids(program) {
            for (number, edge) in (0..).zip(program.edges(id)) {
                let at = &mut next[edge.task().index()];
                list[*at as usize] = (id, number);
                *at += 1;
            }
        }
        Self { first, list }
    }

    fn of(&self, id: TaskId) -> &[(TaskId, u32)] {
        &self.list[self.first[id.index()] as usize..self.first[id.index() + 1] as usize]
    }
}

fn ids(program: &Program) -> impl Iterator<Item = TaskId> + use<> {
    (0..u32::try_from(program.tasks.len()).expect("fewer than 2^32 tasks")).map(TaskId)
}

/// What the scheduler knows while it runs.
struct State<'a> {
    program: &'a Program,
    followers: Followers,
    start: Vec<u64>,
    bound_by: Vec<Option<TaskId>>,
    /// Earliest start so far, and how many edges are still unknown.
    release: Vec<u64>,
    unknown: Vec<u32>,
    /// Tasks by the time at which they may start.
    waiting: BinaryHeap<Reverse<(u64, TaskId)>>,
    units: Vec<Unit>,
}

#[derive(Default)]
struct Unit {
    ready: BinaryHeap<Reverse<TaskId>>,
    free_at: u64,
    last: Option<TaskId>,
}

/// Places every task.
///
/// # Panics
/// Never: a [`Program`] holds fewer than 2^32 edges.
#[must_use]
pub fn run(program: Program) -> Schedule {
    let count = program.tasks.len();
    let mut state = State {
        program: &program,
        followers: Followers::new(&program),
        start: vec![0; count],
        bound_by: vec![None; count],
        release: vec![0; count],
        unknown: Vec::with_capacity(count),
        waiting: BinaryHeap::new(),
        units: program.units.iter().map(|_| Unit::default()).collect(),
    };
    for id in ids(&program) {
        let edges = program.edges(id).len();
        state.unknown.push(u32::try_from(edges).expect("fewer than 2^32 edges"));
        if edges == 0 {
            state.waiting.push(Reverse((0, id)));
        }
    }
    let mut now = 0;
    while let Some(next) = state.next_event(now) {
        now = next;
        state.admit(now);
        for unit in 0..state.units.len() {
            state.dispatch(unit, now);
        }
    }
    let (start, bound_by) = (state.start, state.bound_by);
    Schedule { start, bound_by, program }
}

impl State<'_> {
    /// The next time at which something can start: now, if a task that may start now was just found.
    fn next_event(&self, now: u64) -> Option<u64> {
        let arrival = self.waiting.peek().map(|r| r.0.0);
        let freed = self.units.iter().filter(|u| !u.ready.is_empty()).map(|u| u.free_at.max(now)).min();
        arrival.into_iter().chain(freed).min()
    }

    fn admit(&mut self, now: u64) {
        while let Some(Reverse((_, id))) = self.waiting.peek().copied().filter(|r| r.0.0 <= now) {
            self.waiting.pop();
            let unit = usize::from(self.program.tasks[id.index()].stage.unit);
            self.units[unit].ready.push(Reverse(id));
        }
    }

    fn dispatch(&mut self, unit: usize, now: u64) {
        while self.units[unit].free_at <= now
            && let Some(Reverse(id)) = self.units[unit].ready.pop()
        {
            let waited = self.release[id.index()] < now;
            let unit = &mut self.units[unit];
            if waited {
                self.bound_by[id.index()] = unit.last;
            }
            self.start[id.index()] = now;
            unit.free_at = now.saturating_add(self.program.tasks[id.index()].stage.occupancy);
            unit.last = Some(id);
            self.release_followers(id, now);
        }
    }

    fn release_followers(&mut self, id: TaskId, now: u64) {
        for &(follower, number) in self.followers.of(id) {
            let (at, stage) = (follower.index(), &self.program.tasks[follower.index()].stage);
            let edge = self.program.edges(follower)[number as usize];
            let earliest = self.program.release(edge, now, stage);
            if earliest >= self.release[at] {
                self.release[at] = earliest;
                self.bound_by[at] = Some(id);
            }
            self.unknown[at] -= 1;
            if self.unknown[at] == 0 {
                self.waiting.push(Reverse((self.release[at], follower)));
            }
        }
    }
}

impl Schedule {
    /// When a task's last output is out, in ticks.
    #[must_use]
    pub fn end(&self, id: TaskId) -> u64 {
        let stage = &self.program.tasks[id.index()].stage;
        self.start[id.index()].saturating_add(stage.fill).saturating_add(stage.occupancy)
    }

    /// When everything is done, in ticks.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        ids(&self.program).map(|id| self.end(id)).max().unwrap_or(0)
    }

    /// The same in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        crate::report::as_f64(self.ticks()) * self.program.tick_seconds
    }

    /// Ticks in which each unit was busy.
    #[must_use]
    pub fn busy(&self) -> Vec<u64> {
        let mut busy = vec![0; self.program.units.len()];
        for task in &self.program.tasks {
            let unit = &mut busy[usize::from(task.stage.unit)];
            *unit = u64::saturating_add(*unit, task.stage.occupancy);
        }
        busy
    }

    /// The critical path backwards: tasks with the ticks from their start to the start of the next on the path. The
    /// ticks add up to [`Self::ticks`].
    #[must_use]
    pub fn critical_path(&self) -> Vec<(TaskId, u64)> {
        let mut path = Vec::new();
        let mut until = self.ticks();
        let mut next = ids(&self.program).max_by_key(|&id| (self.end(id), Reverse(id)));
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
