//! The memories of a composed machine: the way from off the chip to the units, and where a value is found on it.

use super::numbers::{HbmModel, Kind, Memory, Numbers};
use crate::{
    dram::{Dram, Refresh, Stream, ticks},
    error::MachineError,
    program::{POOLS, Pool},
    report::as_f64,
    spec::{Spec, interned},
    words::{Words, whole},
};
use limbwise_graph::{Basis, Graph, NodeId, Op, Shape};

const MB: f64 = 1e6;
/// Room of a chip whose file gives its memories no capacity: more bytes than any program has.
const NO_LIMIT: f64 = 1e18;

/// Bytes that pass through each pool.
pub(super) type Drawn = [u64; POOLS];

/// A program in the machine's words, with what costs of its nodes ask for again and again.
pub(super) struct Program<'g> {
    pub(super) graph: &'g Graph,
    words: Words,
    /// Limbs and bytes of a whole polynomial of each shape.
    shapes: Vec<(u64, u64)>,
    /// Bytes with room of their own that were made before each node, and before the end.
    made_before: Vec<u128>,
}

impl<'g> Program<'g> {
    pub(super) fn new(graph: &'g Graph, words: Words) -> Self {
        let whole = |shape: &Shape| (words.limbs(shape, shape.basis), words.bytes(shape, shape.basis));
        let shapes = graph.shapes().iter().map(whole).collect();
        let mut program = Self { graph, words, shapes, made_before: Vec::with_capacity(graph.nodes().len()) };
        // A result in place of an operand takes no room of its own, and inputs come to the outermost memory.
        let takes_room = |op: Op| !op.is_view() && !op.is_in_place() && !op.is_input();
        let mut made = 0;
        for id in graph.ids() {
            program.made_before.push(made);
            if takes_room(graph.node(id).op()) {
                made += u128::from(program.value_bytes(id));
            }
        }
        program.made_before.push(made);
        program
    }

    /// Bytes of a whole value.
    fn value_bytes(&self, id: NodeId) -> u64 {
        match self.graph.lwe_shape(id) {
            None => self.shapes[self.graph.node(id).shape().0 as usize].1,
            Some(_) => self.words.of_value(self.graph, id, whole(self.graph, id)),
        }
    }

    /// Bytes of some limbs of a value.
    pub(super) fn bytes(&self, value: NodeId, basis: Basis) -> u64 {
        match self.graph.lwe_shape(value) {
            None if basis == self.graph.shape(value).basis => self.value_bytes(value),
            _ => self.words.of_value(self.graph, value, basis),
        }
    }

    /// Limbs of a polynomial, in words of the machine, over the batch.
    pub(super) fn limbs(&self, id: NodeId) -> u64 {
        self.shapes[self.graph.node(id).shape().0 as usize].0
    }
}

/// A memory on the chip.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Room of this level and of all that are nearer to the units.
    room: u64,
    /// Index of its bandwidth among the pools.
    pool: Option<usize>,
}

/// Memory off the chip that feeds one on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outside {
    pub(super) name: &'static str,
    pub(super) stream: Stream,
}

/// All memories.
#[derive(Clone, Debug)]
pub(super) struct Memories {
    /// On the chip, from the units outwards.
    levels: Vec<Level>,
    /// Bandwidths, the outermost first.
    pub(super) pools: Vec<Pool>,
    /// Off the chip.
    pub(super) outside: Option<Outside>,
    /// Whether the only memory is off the chip and feeds units.
    is_direct: bool,
    /// Name of the outermost memory that operands come from.
    pub(super) outermost: Option<&'static str>,
    /// The field with the capacity of the outermost memory on the chip.
    pub(super) capacity_field: &'static str,
    pub(super) capacity: u64,
    pub(super) prefetch: u64,
    pub(super) results: u64,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a chip, by the ranges of fields")]
fn bytes(mb: f64) -> u64 {
    (mb * MB).round() as u64
}

impl Memories {
    /// The memories of a file.
    ///
    /// # Errors
    /// [`MachineError`] where they do not go together.
    pub(super) fn new(spec: &Spec, numbers: &Numbers) -> Result<Self, MachineError> {
        let chain = numbers.chain(spec)?;
        let (off, on): (Vec<&str>, Vec<&str>) =
            chain.iter().partition(|name| numbers.memory[**name].kind == Kind::OffChip);
        let mut memories = Self {
            levels: Vec::new(),
            pools: Vec::new(),
            outside: None,
            is_direct: on.is_empty() && !off.is_empty(),
            outermost: on.last().or(off.last()).map(|name| interned(name)),
            capacity_field: interned(&format!("memory.{}.capacity_mb", on.last().unwrap_or(&"NAME"))),
            capacity: 0,
            prefetch: 0,
            results: 0,
        };
        // An off-chip memory that feeds units has no room before it: what units read passes at its bandwidth.
        let direct = if on.is_empty() { off.first() } else { None };
        if let Some(name) = off.first() {
            let said = numbers.bandwidth_gb_s(spec, name)?;
            let path = format!("memory.{name}.bandwidth_gb_s");
            let Some(gb_s) = said else { return Err(spec.wrong(&path, "a number", "nothing")) };
            let port = match on.last() {
                Some(outer) => numbers.bandwidth_gb_s(spec, outer)?,
                None => None,
            };
            // What comes from outside comes through the port, and so no faster than it.
            let gb_s = port.map_or(gb_s, |port| gb_s.min(port));
            if direct.is_none() {
                let stream = stream(spec, numbers, name, gb_s)?;
                memories.outside = Some(Outside { name: interned(name), stream });
            }
        }
        for &name in on.iter().chain(direct).rev() {
            memories.add(spec, numbers, name)?;
        }
        memories.levels.reverse();
        let mut room = 0;
        for (level, &name) in memories.levels.iter_mut().zip(on.iter().chain(direct)) {
            let memory = &numbers.memory[name];
            let given = memory.capacity_mb;
            if given.is_none() && memories.outside.is_some() {
                let path = format!("memory.{name}.capacity_mb");
                return Err(spec.wrong(&path, "a number, as a memory off the chip feeds it", "nothing"));
            }
            room = bytes(given.unwrap_or(NO_LIMIT / MB)).saturating_add(room);
            level.room = room;
            memories.results += bytes(memory.results_mb.unwrap_or(0.0));
        }
        memories.capacity = room;
        memories.keep_ahead(spec, numbers, on.last().copied())?;
        Ok(memories)
    }

    /// Adds a memory and its bandwidth.
    fn add(&mut self, spec: &Spec, numbers: &Numbers, name: &str) -> Result<(), MachineError> {
        let gb_s = numbers.bandwidth_gb_s(spec, name)?;
        let pool = gb_s.map(|gb_s| {
            self.pools.push(Pool::new(interned(name), numbers.per_cycle(gb_s)));
            self.pools.len() - 1
        });
        if self.pools.len() > POOLS {
            let wanted = format!("at most {POOLS} memories with a bandwidth before the units");
            return Err(spec.wrong(&format!("memory.{name}.bandwidth_gb_s"), wanted, self.pools.len()));
        }
        self.levels.push(Level { room: 0, pool });
        Ok(())
    }

    fn keep_ahead(&mut self, spec: &Spec, numbers: &Numbers, outer: Option<&str>) -> Result<(), MachineError> {
        let asked = numbers.policy.prefetch_mb;
        self.prefetch = asked.map_or(self.capacity / 8, bytes);
        let outer_mb = outer.and_then(|name| numbers.memory[name].capacity_mb);
        let limit = outer_mb.map_or(u64::MAX, bytes);
        if self.outside.is_some() && self.prefetch >= limit {
            let wanted = format!("less than {} = {}", self.capacity_field, outer_mb.unwrap_or_default());
            return Err(spec.wrong("policy.prefetch_mb", wanted, asked.unwrap_or_default()));
        }
        if self.results.saturating_add(self.prefetch) > self.capacity {
            let wanted = "with policy.prefetch_mb no more than the capacity";
            return Err(spec.wrong("memory.*.results_mb", wanted, self.results));
        }
        Ok(())
    }

    /// The pool of the outermost memory on the chip, where a memory off it feeds that one: its port.
    pub(super) fn port(&self) -> Option<usize> {
        self.outside.and(self.levels.last()).and_then(|level| level.pool)
    }

    /// The pool of a memory off the chip that feeds units.
    pub(super) fn direct(&self) -> Option<usize> {
        self.levels.first().filter(|_| self.is_direct).and_then(|level| level.pool)
    }

    /// The name of the memory off the chip.
    pub(super) fn off_chip_name(&self) -> Option<&'static str> {
        self.outside.map(|outside| outside.name).or_else(|| self.direct().map(|at| self.pools[at].name))
    }

    /// Bytes that each pool passes when a node reads so much of a value that was made before it.
    pub(super) fn read(&self, program: &Program<'_>, (value, size): (NodeId, u64), until: NodeId, drawn: &mut Drawn) {
        let Some(last) = self.levels.len().checked_sub(1) else { return };
        let near = |level: &usize| self.stays(program, *level, value, Some(until));
        let given = program.graph.node(value).op().is_input();
        let here = if given { last } else { (0..last).find(near).unwrap_or(last) };
        self.draw(here, drawn, size);
    }

    /// Bytes that each pool passes when a node writes its result: through all memories to the one that it stays in.
    pub(super) fn write(&self, program: &Program<'_>, id: NodeId, drawn: &mut Drawn) {
        let size = program.value_bytes(id);
        for level in 0..self.levels.len() {
            self.draw(level, drawn, size);
            if self.stays(program, level, id, program.graph.node(id).freed_before()) {
                return;
            }
        }
    }

    /// Bytes that units exchange with the memory that feeds them.
    pub(super) fn nearest(&self, size: u64) -> Drawn {
        let mut drawn = [0; POOLS];
        self.draw(0, &mut drawn, size);
        drawn
    }

    /// Bytes that come from the outermost memory besides.
    pub(super) fn tables(&self, drawn: &mut Drawn, size: u64) {
        self.draw(self.levels.len().saturating_sub(1), drawn, size);
    }

    fn draw(&self, level: usize, drawn: &mut Drawn, size: u64) {
        if let Some(pool) = self.levels.get(level).and_then(|level| level.pool) {
            drawn[pool] = drawn[pool].saturating_add(size);
        }
    }

    /// Whether a value is still in a memory at another node: memories hold what was made last, it and what came after it.
    fn stays(&self, program: &Program<'_>, level: usize, value: NodeId, until: Option<NodeId>) -> bool {
        let Some(until) = until else { return false };
        let [from, to] = [value, until].map(|id| program.made_before[id.index()]);
        to.saturating_sub(from) <= u128::from(self.levels[level].room)
    }
}

/// Off-chip memory at a bandwidth: by its peak alone, or as channels of banks.
fn stream(spec: &Spec, numbers: &Numbers, name: &str, gb_s: f64) -> Result<Stream, MachineError> {
    let memory: &Memory = &numbers.memory[name];
    let bytes_per_tick = numbers.per_cycle(gb_s);
    let cycles = |ns: f64| ns * numbers.chip.clock_mhz / 1e3;
    let wanted =
        |key: &str| spec.wrong(&format!("memory.{name}.{key}"), "a number, as its model is \"banks\"", "nothing");
    let ns = |key: &str, ns: Option<f64>| ns.map(cycles).ok_or_else(|| wanted(key));
    let count = |key: &str, count: Option<u64>| count.ok_or_else(|| wanted(key));
    let latency = memory.latency_ns.unwrap_or(0.0);
    Ok(match memory.model {
        HbmModel::Bandwidth => {
            let to_data = [Some(latency), memory.trcd_ns, memory.tcl_ns].into_iter().flatten().map(cycles).sum();
            Stream::Bandwidth { bytes_per_tick, latency: ticks(to_data), burst_bytes: memory.burst_bytes.unwrap_or(1) }
        }
        HbmModel::Banks => Stream::Dram(Dram {
            channels: count("channels", memory.channels)?,
            banks: count("banks", memory.banks)?,
            row_bytes: count("row_bytes", memory.row_bytes)?,
            burst_bytes: count("burst_bytes", memory.burst_bytes)?,
            bytes_per_tick,
            transport: cycles(latency),
            t_rcd: ns("trcd_ns", memory.trcd_ns)?,
            t_cl: ns("tcl_ns", memory.tcl_ns)?,
            t_rp: ns("trp_ns", memory.trp_ns)?,
            t_ras: ns("tras_ns", memory.tras_ns)?,
            t_refi: ns("trefi_ns", memory.trefi_ns)?,
            t_rfc: ns("trfc_ns", memory.trfc_ns)?,
            refresh: memory.refresh.unwrap_or(Refresh::PerBank),
            turnaround: cycles(memory.turnaround_ns.unwrap_or(0.0)),
        }),
    })
}

/// Share of a pool that is drawn.
pub(super) fn share(drawn: u64, pool: &Pool, ticks: u64) -> f64 {
    (as_f64(drawn) / (pool.bytes_per_tick() * as_f64(ticks.max(1)))).min(1.0)
}
