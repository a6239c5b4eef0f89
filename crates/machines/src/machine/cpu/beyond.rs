//! Which bytes come from memory, and not from a cache: by how much was touched since they were touched last.
//!
//! One cache is modelled, the last. A value is there as long as no more than the cache's size was touched after it; room
//! for a result is that of the value freed last, as devices reuse buffers, and is new where none is free. What products and
//! sums of rotations make for themselves never leaves the caches: they make it part by part ([`Region::Tensor`],
//! [`Region::RotatedSums`], [`Region::AddedRotations`]).

use limbwise_graph::{Graph, NodeId, Op, Region};

/// Bytes freed, and the bytes that all operations had touched when these were touched last.
struct Room {
    bytes: u64,
    touched: u64,
}

/// The state between two operations.
struct Cache<'g> {
    graph: &'g Graph,
    capacity: u64,
    /// Bytes that all operations have touched.
    clock: u64,
    /// The clock after each value was touched last; `None` before the first time.
    last: Vec<Option<u64>>,
    free: Vec<Room>,
}

impl Cache<'_> {
    fn is_near(&self, touched: u64) -> bool {
        self.clock - touched <= self.capacity
    }

    /// Bytes of an operand that come from memory.
    fn read(&mut self, operand: NodeId, fleeting: &impl Fn(NodeId) -> bool) -> u64 {
        let (mut beyond, graph) = (0, self.graph);
        graph.for_each_piece(operand, |piece| {
            if fleeting(piece.source) {
                return;
            }
            let bytes = graph.piece_bytes(&piece);
            if !self.last[piece.source.index()].is_some_and(|touched| self.is_near(touched)) {
                beyond += bytes;
            }
            self.clock += bytes;
            self.last[piece.source.index()] = Some(self.clock);
        });
        beyond
    }

    /// Bytes of room for a result that were not in the cache.
    fn allocate(&mut self, mut bytes: u64) -> u64 {
        let mut beyond = 0;
        while bytes > 0 {
            let Some(Room { bytes: room, touched }) = self.free.pop() else { return beyond + bytes };
            let taken = room.min(bytes);
            if !self.is_near(touched) {
                beyond += taken;
            }
            if room > taken {
                self.free.push(Room { bytes: room - taken, touched });
            }
            bytes -= taken;
        }
        beyond
    }

    fn release(&mut self, value: NodeId) {
        if let Some(touched) = self.last[value.index()] {
            self.free.push(Room { bytes: self.graph.value_bytes(value), touched });
        }
    }
}

/// For each region, the composite made part by part that it belongs to, if any.
fn made_in_parts(graph: &Graph) -> Vec<Option<usize>> {
    let mut all: Vec<Option<usize>> = Vec::with_capacity(graph.regions().len());
    for (at, region) in graph.regions().iter().enumerate() {
        let outer = all.get(region.parent.index()).copied().flatten();
        let in_parts = [Region::RotatedSums, Region::AddedRotations, Region::Tensor];
        all.push(outer.or_else(|| in_parts.into_iter().any(|kind| region.is(kind)).then_some(at)));
    }
    all
}

/// Whether an operation by value gets an operand that others still hold, so that it works on a copy.
pub(super) fn copies(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).op().is_in_place() && !overwrites(graph, id)
}

/// Whether an operation's result takes the place of its operand.
fn overwrites(graph: &Graph, id: NodeId) -> bool {
    let op = graph.node(id).op();
    op.is_in_place() && graph.operands(id).first().is_some_and(|&own| graph.node(own).freed_before() == Some(id))
}

/// For each node, the bytes that it reads, and those that it writes, beyond a last cache of this size.
pub(super) fn beyond(graph: &Graph, capacity: u64) -> Vec<[u64; 2]> {
    const NONE: u32 = u32::MAX;
    let count = graph.nodes().len();
    // The values freed before each node, as lists: the first of each, and who follows whom.
    let (mut first, mut next) = (vec![NONE; count], vec![NONE; count]);
    for id in graph.ids() {
        if let Some(before) = graph.node(id).freed_before().filter(|before| before.index() < count) {
            next[id.index()] = std::mem::replace(&mut first[before.index()], id.0);
        }
    }
    let mut cache = Cache { graph, capacity, clock: 0, last: vec![None; count], free: Vec::new() };
    let mut beyond = vec![[0; 2]; count];
    let composites = made_in_parts(graph);
    let within = |id: NodeId| composites[graph.node(id).region().index()];
    let fleeting = |id: NodeId| {
        let freed = graph.node(id).freed_before().filter(|freed| freed.index() < count);
        within(id).is_some() && freed.and_then(within) == within(id)
    };
    for id in graph.ids() {
        let op = graph.node(id).op();
        let in_place = overwrites(graph, id);
        let mut freed = first[id.index()];
        while freed != NONE {
            let value = NodeId(freed);
            freed = next[value.index()];
            let kept = in_place && graph.operands(id)[0] == value;
            if !graph.node(value).op().is_view() && !kept {
                cache.release(value);
            }
        }
        if op.is_view() || op.is_input() || matches!(op, Op::Upload | Op::UploadLwe) {
            continue;
        }
        beyond[id.index()][0] = graph.operands(id).iter().map(|&operand| cache.read(operand, &fleeting)).sum();
        if fleeting(id) {
            continue;
        }
        if !in_place {
            let bytes = graph.value_bytes(id);
            beyond[id.index()][1] = cache.allocate(bytes);
            cache.clock += bytes;
        }
        cache.last[id.index()] = Some(cache.clock);
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_device::{Basis, Device, Null, RingSpec, Role, Shape};
    use limbwise_graph::Recorder;
    use limbwise_math::prime::ntt_primes_below;

    /// Bytes beyond the cache of a chain of additions to one value, and of another value read at the end.
    fn of_chain(steps: usize, capacity: u64) -> (Vec<u64>, u64) {
        let dev = Recorder::new(Null::default());
        let primes = ntt_primes_below(10, 45, 2, &[]).unwrap();
        let ring = dev.ring(&RingSpec { log_n: 10, primes }).unwrap();
        let shape = Shape::eval(&ring, Basis::range(0, 2));
        let [a, b] = [(); 2].map(|()| dev.upload(&shape, Role::Ciphertext, &|_, _| ()));
        let mut sum = dev.add(&a, &b);
        for _ in 0..steps {
            sum = dev.add(&sum, &b);
        }
        drop(dev.add(&sum, &a));
        let graph = dev.graph();
        let of_sums = graph.ids().filter(|&id| graph.node(id).op() == Op::Add).map(|id| id.index());
        let all = beyond(&graph, capacity);
        (of_sums.map(|at| all[at].iter().sum()).collect(), shape.bytes())
    }

    #[test]
    fn what_was_touched_lately_is_in_the_cache() {
        let (all, one) = of_chain(4, 1 << 30);
        // Two operands and the first result are new, and so is the room of the second, as the first result is read then;
        // afterwards the two take turns.
        assert_eq!(all, [3 * one, one, 0, 0, 0, 0]);
        let (all, _) = of_chain(4, 4 * one);
        assert_eq!(all[5], one, "the first operand was touched too long ago");
        let (all, _) = of_chain(4, 0);
        assert!(all.iter().skip(1).all(|&bytes| bytes >= 2 * one), "{all:?}");
    }
}
