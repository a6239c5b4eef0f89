//! The recorder: a device that records each operation and runs it on an inner device.
//!
//! `Recorder<Null>` turns a program into a graph without any polynomial memory. It keeps the default bodies of the
//! composites, so the graph holds primitives inside a region of the composite's name. It cannot read words back, so a
//! program that branches on residues does not compile for it.

use crate::{
    graph::{Annotation, Graph, NodeId, RegionId, RegionInfo, count, role_code},
    op::Op,
};
use limbwise_device::{
    Basis, Device, Fault, Fill, Gadget, Handle, LeaveRegion, LweFill, LweHandle, LweShape, OpenRegion, Region, Ring,
    RingError, RingSpec, Role, Rounding, Shape, Wordless, for_each_primitive, seam_type,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A device whose operations are recorded.
#[derive(Clone, Debug, Default)]
pub struct Recorder<D> {
    inner: D,
    log: Log,
}

/// The graph under construction, shared by the recorder and its handles.
type Log = Arc<Mutex<State>>;

#[derive(Debug, Default)]
struct State {
    graph: Graph,
    here: Here,
    region_ids: HashMap<(RegionId, Region, u32), RegionId>,
    /// Constants of `scale_limbs` and `shift_limbs`, where they are kept.
    constants: Option<HashMap<NodeId, Box<[u64]>>>,
    finished: bool,
}

/// The innermost open region.
#[derive(Debug)]
struct Here(RegionId);

impl Default for Here {
    fn default() -> Self {
        Self(RegionId::ROOT)
    }
}

/// A polynomial of the inner device with the node that computed it.
#[derive(Clone, Debug)]
pub struct Recorded<P> {
    inner: P,
    value: Arc<Value>,
}

/// The state shared by all handles of a value. `Drop` is implemented here and not on the handle, so that an operation
/// by value can destructure the handle.
#[derive(Debug)]
struct Value {
    id: NodeId,
    log: Log,
}

impl Drop for Value {
    fn drop(&mut self) {
        let mut state = lock(&self.log);
        if !state.finished {
            let now = count(state.graph.nodes.len());
            state.graph.nodes[self.id.index()].freed = now;
        }
    }
}

impl<P> Recorded<P> {
    /// The node that computed the value.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.value.id
    }

    /// The polynomial of the inner device.
    #[must_use]
    pub fn inner(&self) -> &P {
        &self.inner
    }
}

impl<P: Handle> Handle for Recorded<P> {
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }
}

impl<L: LweHandle> LweHandle for Recorded<L> {
    fn lwe_shape(&self) -> LweShape {
        self.inner.lwe_shape()
    }
}

fn lock(log: &Log) -> MutexGuard<'_, State> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device> Recorder<D> {
    /// Starts recording the operations of `inner`.
    pub fn new(inner: D) -> Self {
        Self { inner, log: Log::default() }
    }

    /// The same recorder, keeping the constants that limbs are multiplied by and added to. A graph has no place for them,
    /// because no cost depends on them.
    #[must_use]
    pub fn with_constants(self) -> Self {
        lock(&self.log).constants = Some(HashMap::new());
        self
    }

    /// The constants kept so far: of each node of `scale_limbs` or `shift_limbs`, one for each limb.
    #[must_use]
    pub fn constants(&self) -> HashMap<NodeId, Box<[u64]>> {
        lock(&self.log).constants.clone().unwrap_or_default()
    }

    fn keep(&self, node: NodeId, constants: &[u64]) {
        if let Some(kept) = &mut lock(&self.log).constants {
            kept.insert(node, constants.into());
        }
    }

    /// The inner device.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// A copy of the graph so far.
    #[must_use]
    pub fn graph(&self) -> Graph {
        lock(&self.log).graph.clone()
    }

    /// The finished graph, to which nothing can be added. Values that still have handles are its results and are never
    /// freed.
    #[must_use]
    pub fn finish(&self) -> Graph {
        let mut state = lock(&self.log);
        state.finished = true;
        let mut graph = std::mem::take(&mut state.graph);
        graph.nodes.shrink_to_fit();
        graph.operands.shrink_to_fit();
        graph
    }

    fn record(&self, op: Op, annotation: Annotation, operands: &[NodeId], inner: D::Poly) -> Recorded<D::Poly> {
        let mut state = lock(&self.log);
        assert!(!state.finished, "recording after the graph was finished");
        let shape = state.graph.intern(inner.shape());
        let region = state.here.0;
        let id = state.graph.push(op, annotation, shape, region, operands);
        drop(state);
        Recorded { inner, value: Arc::new(Value { id, log: self.log.clone() }) }
    }

    fn record_lwe(&self, op: Op, annotation: Annotation, operands: &[NodeId], inner: D::Lwe) -> Recorded<D::Lwe> {
        let mut state = lock(&self.log);
        assert!(!state.finished, "recording after the graph was finished");
        let shape = state.graph.intern_lwe(inner.lwe_shape());
        let region = state.here.0;
        let id = state.graph.push(op, annotation, shape, region, operands);
        drop(state);
        Recorded { inner, value: Arc::new(Value { id, log: self.log.clone() }) }
    }

    /// Records an operation by value. The operand is dropped before the node is recorded, so "freed before node k"
    /// together with "operand of node k" means that no other handle was left.
    fn by_value(&self, op: Op, a: Recorded<D::Poly>, run: impl FnOnce(&D, D::Poly) -> D::Poly) -> Recorded<D::Poly> {
        let Recorded { inner, value } = a;
        let id = value.id;
        let inner = run(&self.inner, inner);
        drop(value);
        self.record(op, Annotation::NONE, &[id], inner)
    }

    /// Records an accumulation: the accumulator becomes a new value. As in `by_value`, the old one is dropped first if
    /// no other handle shares it.
    fn accumulate(&self, op: Op, acc: &mut Recorded<D::Poly>, others: &[NodeId], run: impl FnOnce(&D, &mut D::Poly)) {
        run(&self.inner, &mut acc.inner);
        let ids = [&[acc.value.id], others].concat();
        let mut state = lock(&self.log);
        assert!(!state.finished, "recording after the graph was finished");
        let (now, region) = (count(state.graph.nodes.len()), state.here.0);
        let shape = state.graph.intern(acc.inner.shape());
        if Arc::strong_count(&acc.value) == 1 {
            state.graph.nodes[acc.value.id.index()].freed = now;
        }
        let id = state.graph.push(op, Annotation::NONE, shape, region, &ids);
        drop(state);
        match Arc::get_mut(&mut acc.value) {
            Some(value) => value.id = id,
            None => acc.value = Arc::new(Value { id, log: self.log.clone() }),
        }
    }

    fn enter(&self, region: Region, index: u32) {
        let mut state = lock(&self.log);
        let parent = state.here.0;
        let next = RegionId(count(state.graph.regions.len()));
        let id = *state.region_ids.entry((parent, region, index)).or_insert(next);
        if id == next {
            state.graph.regions.push(RegionInfo { parent, name: region.name().into(), index, entered: 0, rows: 0 });
        }
        state.graph.regions[id.index()].entered += 1;
        state.here = Here(id);
    }
}

impl<D: Device> LeaveRegion for Recorder<D> {
    fn leave_region(&self) {
        let mut state = lock(&self.log);
        if !state.finished {
            state.here = Here(state.graph.regions[state.here.0.index()].parent);
        }
    }
}

/// The encoding of an operand that is no value: a role's code, or 3 with a number.
trait Kept: Copy {
    fn code(self) -> Annotation;
}

impl Kept for Role {
    fn code(self) -> Annotation {
        role_code(self)
    }
}

impl Kept for usize {
    fn code(self) -> Annotation {
        Annotation { attribute: count(self), ..Annotation::NONE }
    }
}

impl Kept for GaloisElement {
    fn code(self) -> Annotation {
        Annotation { attribute: self.value(), ..Annotation::NONE }
    }
}

/// An operand as the inner device takes it.
#[rustfmt::skip] // a line an arm
macro_rules! inner {
    ((&Poly), $arg:ident) => { &$arg.inner };
    ((&Lwe), $arg:ident) => { &$arg.inner };
    ((&[&Poly]), $arg:ident) => { &$arg.iter().map(|p| &p.inner).collect::<Vec<_>>() };
    ((&[&Lwe]), $arg:ident) => { &$arg.iter().map(|l| &l.inner).collect::<Vec<_>>() };
    ($_other:tt, $arg:ident) => { $arg };
}

/// The nodes of an operand, if it has any.
#[rustfmt::skip] // a line an arm
macro_rules! nodes {
    ((&Poly), $arg:ident) => { [$arg.value.id] };
    ((&Lwe), $arg:ident) => { [$arg.value.id] };
    ((&[&Poly]), $arg:ident) => { $arg.iter().map(|p| p.value.id) };
    ((&[&Lwe]), $arg:ident) => { $arg.iter().map(|l| l.value.id) };
    ($_other:tt, $_arg:ident) => { [] };
}

/// Keeps an operand that has constants.
#[rustfmt::skip] // a line an arm
macro_rules! kept_constants {
    ((&[u64]), $dev:ident, $result:ident, $arg:ident) => { $dev.keep($result.value.id, $arg) };
    ($_other:tt, $_dev:ident, $_result:ident, $_arg:ident) => {};
}

/// Runs a primitive on the inner device and records it.
macro_rules! recorded {
    (in_place $op:ident = $dev:ident.$name:ident($a:ident: (Poly) $(, $arg:ident: $_type:tt)*) -> (Poly)) => {{
        let result = $dev.by_value(Op::$op, $a, |dev, a| dev.$name(a $(, $arg)*));
        $(kept_constants!($_type, $dev, result, $arg);)*
        result
    }};
    (in_place $op:ident = $dev:ident.$name:ident($acc:ident: (&mut Poly) $(, $arg:ident: $_type:tt)*) -> ()) => {
        $dev.accumulate(Op::$op, $acc, &[$($arg.value.id),*], |dev, acc| dev.$name(acc $(, &$arg.inner)*))
    };
    ($_kind:ident $op:ident = $dev:ident.$name:ident($($arg:ident: $type:tt),+) -> $result:tt $($kept:ident)?) => {{
        let ids: Vec<NodeId> = std::iter::empty()$(.chain(nodes!($type, $arg)))+.collect();
        let kept = [$($kept.code())?].first().copied().unwrap_or(Annotation::NONE);
        written!($dev, $result, Op::$op, kept, &ids, $dev.inner.$name($(inner!($type, $arg)),+))
    }};
}

#[rustfmt::skip] // a line an arm
macro_rules! written {
    ($dev:ident, (Poly), $($node:expr),+) => { $dev.record($($node),+) };
    ($dev:ident, (Lwe), $($node:expr),+) => { $dev.record_lwe($($node),+) };
}

macro_rules! primitives {
    ($($(#[$_doc:meta])+ $op:ident = $kind:ident $name:ident($($arg:ident: $type:tt),+) -> $result:tt $([$kept:ident])?: $_shape:expr;)+) => {
        $(fn $name(&self, $($arg: seam_type!($type)),+) -> seam_type!($result) {
            recorded!($kind $op = self.$name($($arg: $type),+) -> $result $($kept)?)
        })+
    };
}

impl<D: Wordless> Wordless for Recorder<D> {}

impl<D: Device> Device for Recorder<D> {
    type Poly = Recorded<D::Poly>;
    type Lwe = Recorded<D::Lwe>;

    fn name(&self) -> String {
        format!("recorded {}", self.inner.name())
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        if let Some(ring) = lock(&self.log).graph.known_ring(spec) {
            return Ok(ring);
        }
        let ring = self.inner.ring(spec)?;
        lock(&self.log).graph.ring_index(&ring);
        Ok(ring)
    }

    fn sync(&self) -> Result<(), Fault> {
        self.inner.sync()
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        self.enter(region.into(), index);
        OpenRegion::reporting_to(self)
    }

    for_each_primitive!(primitives);
}
