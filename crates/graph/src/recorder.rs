//! The recorder: a device that writes down what it is asked to do and lets another device do it.
//!
//! `Recorder<Null>` turns a program into a graph without any polynomial memory. It keeps the default bodies of the
//! composites, so the graph holds primitives inside a region of the composite's name, and it does not read back, so a
//! program that needs residues to decide does not compile against it.

use crate::{
    graph::{Graph, NodeId, RegionId, RegionInfo, count, role_code},
    op::Op,
};
use limbwise_device::{
    Basis, Device, Fault, Fill, Gadget, Handle, LeaveRegion, LweFill, LweHandle, LweShape, OpenRegion, Region, Ring,
    RingError, RingSpec, Role, Rounding, Shape, Wordless,
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

/// The graph so far, shared by the recorder and the handles.
type Log = Arc<Mutex<State>>;

#[derive(Debug, Default)]
struct State {
    graph: Graph,
    here: Here,
    region_ids: HashMap<(RegionId, Region, u32), RegionId>,
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

/// A polynomial of the inner device and the node that made it.
#[derive(Clone, Debug)]
pub struct Recorded<P> {
    inner: P,
    value: Arc<Value>,
}

/// What all handles of one value share. `Drop` is here and not on the handle, so that an operation by value can take
/// the handle apart.
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
    /// The node that made the value.
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
    /// Records what `inner` does from now on.
    pub fn new(inner: D) -> Self {
        Self { inner, log: Log::default() }
    }

    /// The inner device.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// The graph so far.
    #[must_use]
    pub fn graph(&self) -> Graph {
        lock(&self.log).graph.clone()
    }

    /// The graph. Values whose handles still live are its results: they are never freed.
    #[must_use]
    pub fn finish(self) -> Graph {
        let mut state = lock(&self.log);
        state.finished = true;
        let mut graph = std::mem::take(&mut state.graph);
        graph.nodes.shrink_to_fit();
        graph.operands.shrink_to_fit();
        graph
    }

    fn record(&self, op: Op, extra: (u8, u32), operands: &[NodeId], inner: D::Poly) -> Recorded<D::Poly> {
        let mut state = lock(&self.log);
        assert!(!state.finished, "recording after the graph was finished");
        let shape = state.graph.intern(inner.shape());
        let region = state.here.0;
        let id = state.graph.push(op, extra, (shape, region), operands);
        drop(state);
        Recorded { inner, value: Arc::new(Value { id, log: self.log.clone() }) }
    }

    fn record_lwe(&self, op: Op, extra: (u8, u32), operands: &[NodeId], inner: D::Lwe) -> Recorded<D::Lwe> {
        let mut state = lock(&self.log);
        assert!(!state.finished, "recording after the graph was finished");
        let shape = state.graph.intern_lwe(inner.lwe_shape());
        let region = state.here.0;
        let id = state.graph.push(op, extra, (shape, region), operands);
        drop(state);
        Recorded { inner, value: Arc::new(Value { id, log: self.log.clone() }) }
    }

    fn plain(&self, op: Op, operands: &[&Recorded<D::Poly>], inner: D::Poly) -> Recorded<D::Poly> {
        let ids: Vec<NodeId> = operands.iter().map(|p| p.value.id).collect();
        self.record(op, (3, 0), &ids, inner)
    }

    /// An operation by value. The operand goes before the node is written, so "freed before node k" and "operand of
    /// node k" together say that no other handle was left.
    fn by_value(&self, op: Op, a: Recorded<D::Poly>, run: impl FnOnce(&D, D::Poly) -> D::Poly) -> Recorded<D::Poly> {
        let Recorded { inner, value } = a;
        let id = value.id;
        let inner = run(&self.inner, inner);
        drop(value);
        self.record(op, (3, 0), &[id], inner)
    }

    /// An accumulation: the accumulator becomes a new value. As in `by_value`, the old one goes first if nobody else
    /// holds it.
    fn accumulate(
        &self,
        op: Op,
        acc: &mut Recorded<D::Poly>,
        others: &[&Recorded<D::Poly>],
        run: impl FnOnce(&D, &mut D::Poly),
    ) {
        run(&self.inner, &mut acc.inner);
        let ids: Vec<NodeId> = std::iter::once(acc.value.id).chain(others.iter().map(|p| p.value.id)).collect();
        let mut state = lock(&self.log);
        assert!(!state.finished, "recording after the graph was finished");
        let (now, region) = (count(state.graph.nodes.len()), state.here.0);
        let shape = state.graph.intern(acc.inner.shape());
        if Arc::strong_count(&acc.value) == 1 {
            state.graph.nodes[acc.value.id.index()].freed = now;
        }
        let id = state.graph.push(op, (3, 0), (shape, region), &ids);
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
            state.graph.regions.push(RegionInfo { parent, name: region.name().into(), index, entered: 0 });
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

    fn upload(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> Self::Poly {
        self.record(Op::Upload, role_code(role), &[], self.inner.upload(shape, role, fill))
    }

    fn zeros(&self, shape: &Shape) -> Self::Poly {
        self.plain(Op::Zeros, &[], self.inner.zeros(shape))
    }

    fn copy(&self, a: &Self::Poly) -> Self::Poly {
        self.plain(Op::Copy, &[a], self.inner.copy(&a.inner))
    }

    fn expand_seed(&self, shape: &Shape, role: Role, seed: &Seed) -> Self::Poly {
        self.record(Op::ExpandSeed, role_code(role), &[], self.inner.expand_seed(shape, role, seed))
    }

    fn restrict(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.plain(Op::Restrict, &[a], self.inner.restrict(&a.inner, to))
    }

    fn join(&self, parts: &[&Self::Poly]) -> Self::Poly {
        let inner: Vec<&D::Poly> = parts.iter().map(|p| &p.inner).collect();
        self.plain(Op::Join, parts, self.inner.join(&inner))
    }

    fn stack(&self, parts: &[&Self::Poly]) -> Self::Poly {
        let inner: Vec<&D::Poly> = parts.iter().map(|p| &p.inner).collect();
        self.plain(Op::Stack, parts, self.inner.stack(&inner))
    }

    fn split(&self, a: &Self::Poly, from: usize, to: usize) -> Self::Poly {
        self.record(Op::Split, (3, count(from)), &[a.value.id], self.inner.split(&a.inner, from, to))
    }

    fn add(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.plain(Op::Add, &[a, b], self.inner.add(&a.inner, &b.inner))
    }

    fn sub(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.plain(Op::Sub, &[a, b], self.inner.sub(&a.inner, &b.inner))
    }

    fn neg(&self, a: Self::Poly) -> Self::Poly {
        self.by_value(Op::Neg, a, |dev, a| dev.neg(a))
    }

    fn mul(&self, a: &Self::Poly, b: &Self::Poly) -> Self::Poly {
        self.plain(Op::Mul, &[a, b], self.inner.mul(&a.inner, &b.inner))
    }

    fn mul_acc(&self, acc: &mut Self::Poly, a: &Self::Poly, b: &Self::Poly) {
        self.accumulate(Op::MulAcc, acc, &[a, b], |dev, acc| dev.mul_acc(acc, &a.inner, &b.inner));
    }

    fn add_assign(&self, acc: &mut Self::Poly, a: &Self::Poly) {
        self.accumulate(Op::AddAssign, acc, &[a], |dev, acc| dev.add_assign(acc, &a.inner));
    }

    fn scale_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly {
        self.by_value(Op::ScaleLimbs, a, |dev, a| dev.scale_limbs(a, constants))
    }

    fn shift_limbs(&self, a: Self::Poly, constants: &[u64]) -> Self::Poly {
        self.by_value(Op::ShiftLimbs, a, |dev, a| dev.shift_limbs(a, constants))
    }

    fn ntt(&self, a: Self::Poly) -> Self::Poly {
        self.by_value(Op::Ntt, a, |dev, a| dev.ntt(a))
    }

    fn intt(&self, a: Self::Poly) -> Self::Poly {
        self.by_value(Op::Intt, a, |dev, a| dev.intt(a))
    }

    fn automorphism(&self, a: &Self::Poly, g: GaloisElement) -> Self::Poly {
        self.record(Op::Automorphism, (3, g.value()), &[a.value.id], self.inner.automorphism(&a.inner, g))
    }

    fn basis_convert(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.plain(Op::BasisConvert, &[a], self.inner.basis_convert(&a.inner, to))
    }

    fn reduce(&self, a: &Self::Poly, to: Basis) -> Self::Poly {
        self.plain(Op::Reduce, &[a], self.inner.reduce(&a.inner, to))
    }

    fn monomial_mul(&self, a: &Self::Poly, exponents: &Self::Lwe, word: usize) -> Self::Poly {
        let inner = self.inner.monomial_mul(&a.inner, &exponents.inner, word);
        self.record(Op::MonomialMul, (3, count(word)), &[a.value.id, exponents.value.id], inner)
    }

    fn decompose(&self, a: &Self::Poly, gadget: Gadget) -> Self::Poly {
        self.plain(Op::Decompose, &[a], self.inner.decompose(&a.inner, gadget))
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> Self::Lwe {
        self.record_lwe(Op::UploadLwe, role_code(role), &[], self.inner.upload_lwe(shape, role, fill))
    }

    fn lwe_stack(&self, parts: &[&Self::Lwe]) -> Self::Lwe {
        let inner: Vec<&D::Lwe> = parts.iter().map(|p| &p.inner).collect();
        let ids: Vec<NodeId> = parts.iter().map(|p| p.value.id).collect();
        self.record_lwe(Op::LweStack, (3, 0), &ids, self.inner.lwe_stack(&inner))
    }

    fn lwe_split(&self, a: &Self::Lwe, from: usize, to: usize) -> Self::Lwe {
        let inner = self.inner.lwe_split(&a.inner, from, to);
        self.record_lwe(Op::LweSplit, (3, count(from)), &[a.value.id], inner)
    }

    fn lwe_add(&self, a: &Self::Lwe, b: &Self::Lwe) -> Self::Lwe {
        let inner = self.inner.lwe_add(&a.inner, &b.inner);
        self.record_lwe(Op::LweAdd, (3, 0), &[a.value.id, b.value.id], inner)
    }

    fn lwe_scale(&self, a: &Self::Lwe, c: u64) -> Self::Lwe {
        self.record_lwe(Op::LweScale, (3, 0), &[a.value.id], self.inner.lwe_scale(&a.inner, c))
    }

    fn lwe_shift(&self, a: &Self::Lwe, constants: &[u64]) -> Self::Lwe {
        self.record_lwe(Op::LweShift, (3, 0), &[a.value.id], self.inner.lwe_shift(&a.inner, constants))
    }

    fn lwe_mod_switch(&self, a: &Self::Lwe, to: u64, rounding: Rounding) -> Self::Lwe {
        let inner = self.inner.lwe_mod_switch(&a.inner, to, rounding);
        self.record_lwe(Op::LweModSwitch, (3, 0), &[a.value.id], inner)
    }

    fn lwe_decompose(&self, a: &Self::Lwe, gadget: Gadget) -> Self::Lwe {
        self.record_lwe(Op::LweDecompose, (3, 0), &[a.value.id], self.inner.lwe_decompose(&a.inner, gadget))
    }

    fn lwe_product(&self, a: &Self::Lwe, rows: &Self::Lwe) -> Self::Lwe {
        let inner = self.inner.lwe_product(&a.inner, &rows.inner);
        self.record_lwe(Op::LweProduct, (3, 0), &[a.value.id, rows.value.id], inner)
    }

    fn sample_extract(&self, glwe: &[&Self::Poly], at: &[usize]) -> Self::Lwe {
        let inner: Vec<&D::Poly> = glwe.iter().map(|p| &p.inner).collect();
        let ids: Vec<NodeId> = glwe.iter().map(|p| p.value.id).collect();
        self.record_lwe(Op::SampleExtract, (3, 0), &ids, self.inner.sample_extract(&inner, at))
    }

    fn lwe_embed(&self, a: &Self::Lwe, ring: &Ring, basis: Basis, part: usize) -> Self::Poly {
        let inner = self.inner.lwe_embed(&a.inner, ring, basis, part);
        self.record(Op::LweEmbed, (3, count(part)), &[a.value.id], inner)
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        self.enter(region.into(), index);
        OpenRegion::watched(self)
    }
}
