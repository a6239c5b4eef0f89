//! The graph: nodes in single-assignment form, interned shapes, a tree of regions.
//!
//! A node takes 24 bytes; its operands are in one shared array, four bytes each. An accumulation is a new node whose
//! operand 0 is the old accumulator. Nodes are in program order, which is a topological order.

use crate::op::Op;
use limbwise_device::{Basis, Domain, KeyId, LweShape, Region, Ring, RingSpec, Role, Shape};
use std::collections::HashMap;

/// Identity of a node and of the value it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// An interned [`Shape`], or [`LweShape`] with the top bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeId(pub u32);

/// Identity of a region in the tree; 0 is the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// The bit of a [`ShapeId`] that marks LWE ciphertexts.
pub(crate) const LWE: u32 = 1 << 31;

impl ShapeId {
    /// Index among the LWE shapes; `None` for a polynomial.
    #[inline]
    pub(crate) fn lwe_index(self) -> Option<usize> {
        (self.0 & LWE != 0).then_some((self.0 & !LWE) as usize)
    }
}

impl NodeId {
    /// Position in program order.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl RegionId {
    /// The region of the whole program.
    pub const ROOT: Self = Self(0);

    /// Index in the list of regions.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The value lives to the end of the program.
pub(crate) const NEVER: u32 = u32::MAX;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub(crate) op: Op,
    /// 0 ciphertext, 1 plaintext, 2 evaluation key, 3 temporary, 4 bootstrapping key.
    pub(crate) role: u8,
    pub(crate) shape: ShapeId,
    pub(crate) region: RegionId,
    /// End of the node's operands in the shared array; they start at the previous node's end.
    pub(crate) operands_end: u32,
    /// Depending on the operation: Galois element, key identity, start of a split, word of the exponents, or whether
    /// sources are scaled.
    pub(crate) attribute: u32,
    /// Number of nodes recorded before the last handle was dropped.
    pub(crate) freed: u32,
}

/// The parts of a node that depend on its kind of operation, encoded as in [`Node`].
#[derive(Clone, Copy)]
pub(crate) struct Annotation {
    pub(crate) role: u8,
    pub(crate) attribute: u32,
}

impl Annotation {
    /// A temporary without an attribute.
    pub(crate) const NONE: Self = Self { role: 3, attribute: 0 };
}

impl Node {
    pub(crate) fn annotation(self) -> Annotation {
        Annotation { role: self.role, attribute: self.attribute }
    }

    /// The operation.
    #[inline]
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// Shape of the value.
    #[inline]
    #[must_use]
    pub fn shape(&self) -> ShapeId {
        self.shape
    }

    /// The innermost region around the node.
    #[inline]
    #[must_use]
    pub fn region(&self) -> RegionId {
        self.region
    }

    /// Role of an input; every other value is temporary.
    #[inline]
    #[must_use]
    pub fn role(&self) -> Role {
        match self.role {
            0 => Role::Ciphertext,
            1 => Role::Plaintext,
            2 => Role::EvaluationKey(KeyId(self.attribute)),
            4 => Role::BootstrapKey(KeyId(self.attribute)),
            _ => Role::Temporary,
        }
    }

    /// The Galois element of an automorphism.
    #[must_use]
    pub fn galois(&self) -> Option<u32> {
        (self.op == Op::Automorphism).then_some(self.attribute)
    }

    /// Whether the sources of a base conversion are already scaled, as in a program split limb by limb.
    #[inline]
    #[must_use]
    pub fn is_scaled(&self) -> bool {
        self.op == Op::BasisConvert && self.attribute != 0
    }

    /// First batch entry of a split.
    #[inline]
    #[must_use]
    pub fn split_from(&self) -> Option<u32> {
        (self.op == Op::Split).then_some(self.attribute)
    }

    /// The node before which the program dropped the value; `None` if it lives to the end. A value that is freed before
    /// node k and is an operand of node k was passed to it by value, to be overwritten.
    #[inline]
    #[must_use]
    pub fn freed_before(&self) -> Option<NodeId> {
        (self.freed != NEVER).then_some(NodeId(self.freed))
    }
}

pub(crate) fn role_code(role: Role) -> Annotation {
    let (role, attribute) = match role {
        Role::Ciphertext => (0, 0),
        Role::Plaintext => (1, 0),
        Role::EvaluationKey(KeyId(id)) => (2, id),
        Role::BootstrapKey(KeyId(id)) => (4, id),
        _ => return Annotation::NONE,
    };
    Annotation { role, attribute }
}

/// A region: a name and a running index inside its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionInfo {
    /// The enclosing region; the root is its own parent.
    pub parent: RegionId,
    /// Name, empty for the root.
    pub name: String,
    /// Running index, given by the program.
    pub index: u32,
    /// Number of times the program entered it.
    pub entered: u32,
    /// Most rows (limbs times batch) of a polynomial made inside, in regions within it too.
    pub rows: u32,
}

impl RegionInfo {
    /// Whether the region is of this kind.
    #[must_use]
    pub fn is(&self, region: Region) -> bool {
        self.name == region.name()
    }
}

/// A part of a value with its own rows, as seen through views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The node that allocated the rows; never a view.
    pub source: NodeId,
    /// The limbs of the source; empty for LWE ciphertexts.
    pub basis: Basis,
    /// Batch entries `from … to − 1` of the source.
    pub from: usize,
    /// End of the batch entries, exclusive.
    pub to: usize,
}

/// A recorded program.
#[derive(Clone)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) operands: Vec<NodeId>,
    pub(crate) rings: Vec<Ring>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) shape_ids: HashMap<ShapeKey, ShapeId>,
    /// Cache of the latest shapes, by a hash of basis, batch and domain: programs repeat few shapes.
    pub(crate) latest_shapes: [ShapeId; 16],
    pub(crate) lwe_shapes: Vec<LweShape>,
    pub(crate) regions: Vec<RegionInfo>,
}

type ShapeKey = (usize, Basis, usize, Domain);

impl Default for Graph {
    fn default() -> Self {
        let root = RegionInfo { parent: RegionId::ROOT, name: String::new(), index: 0, entered: 1, rows: 0 };
        Self {
            nodes: Vec::new(),
            operands: Vec::new(),
            rings: Vec::new(),
            shapes: Vec::new(),
            shape_ids: HashMap::new(),
            latest_shapes: [ShapeId(0); 16],
            lwe_shapes: Vec::new(),
            regions: vec![root],
        }
    }
}

/// Prints sizes only; [`Graph::write_jsonl`] prints nodes.
impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nodes, shapes, regions) = (self.nodes.len(), self.shapes.len(), self.regions.len());
        write!(f, "Graph({nodes} nodes, {shapes} shapes, {regions} regions)")
    }
}

/// Two graphs are equal if their files are: same nodes, shapes and regions.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.operands == other.operands
            && self.shapes == other.shapes
            && self.lwe_shapes == other.lwe_shapes
            && self.regions == other.regions
    }
}

impl Graph {
    /// Bytes of memory that the recording itself takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let names: usize = self.regions.iter().map(|region| size_of::<RegionInfo>() + region.name.len()).sum();
        (size_of_val(&*self.nodes) + size_of_val(&*self.operands) + size_of_val(&*self.shapes) + names) as u64
    }

    /// Nodes in program order.
    #[inline]
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Identities of all nodes in program order.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..count(self.nodes.len())).map(NodeId)
    }

    /// The node of an identity.
    #[inline]
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The values that a node reads.
    #[inline]
    #[must_use]
    pub fn operands(&self, id: NodeId) -> &[NodeId] {
        let start = id.index().checked_sub(1).map_or(0, |before| self.nodes[before].operands_end as usize);
        &self.operands[start..self.nodes[id.index()].operands_end as usize]
    }

    /// The shape of a node's polynomial.
    ///
    /// # Panics
    /// If the value is LWE ciphertexts, whose shape is [`Self::lwe_shape`].
    #[inline]
    #[must_use]
    pub fn shape(&self, id: NodeId) -> &Shape {
        &self.shapes[self.nodes[id.index()].shape.0 as usize]
    }

    /// The shape of a node's LWE ciphertexts; `None` for a polynomial.
    #[inline]
    #[must_use]
    pub fn lwe_shape(&self, id: NodeId) -> Option<LweShape> {
        self.nodes[id.index()].shape.lwe_index().map(|i| self.lwe_shapes[i])
    }

    /// Size of a node's value in bytes.
    #[inline]
    #[must_use]
    pub fn value_bytes(&self, id: NodeId) -> u64 {
        self.lwe_shape(id).map_or_else(|| self.shape(id).bytes(), LweShape::bytes)
    }

    /// All distinct shapes.
    #[inline]
    #[must_use]
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// All regions; a parent comes before its children.
    #[inline]
    #[must_use]
    pub fn regions(&self) -> &[RegionInfo] {
        &self.regions
    }

    /// The regions around a node, innermost first, without the root.
    pub fn regions_around(&self, id: NodeId) -> impl Iterator<Item = &RegionInfo> {
        let inside = |region: RegionId| (region != RegionId::ROOT).then_some(region);
        std::iter::successors(inside(self.node(id).region()), move |r| inside(self.regions[r.index()].parent))
            .map(|r| &self.regions[r.index()])
    }

    /// The path of each region in the order of [`Graph::regions`]: names from the outermost inwards, joined by `/`. An
    /// index is shown, as in `name[3]`, if siblings share the name or it is not 0. The root is the empty string.
    #[must_use]
    pub fn region_paths(&self) -> Vec<String> {
        let mut namesakes: HashMap<(RegionId, &str), u32> = HashMap::new();
        for region in &self.regions[1..] {
            *namesakes.entry((region.parent, &region.name)).or_default() += 1;
        }
        let mut paths = vec![String::new()];
        for RegionInfo { parent, name, index, .. } in &self.regions[1..] {
            let numbered = *index > 0 || namesakes[&(*parent, name.as_str())] > 1;
            let own = if numbered { format!("{name}[{index}]") } else { name.clone() };
            let outer = &paths[parent.index()];
            paths.push(if outer.is_empty() { own } else { format!("{outer}/{own}") });
        }
        paths
    }

    /// The rows behind a value: its own, or those its views show, in no particular order.
    #[must_use]
    pub fn pieces(&self, id: NodeId) -> Vec<Piece> {
        let mut found = Vec::new();
        self.for_each_piece(id, |piece| found.push(piece));
        found
    }

    /// [`Self::pieces`] without allocating a list.
    pub fn for_each_piece(&self, id: NodeId, mut found: impl FnMut(Piece)) {
        if let Some(shape) = self.lwe_shape(id) {
            return found(Piece { source: id, basis: Basis::default(), from: 0, to: shape.batch });
        }
        let shape = self.shape(id);
        let mut piece = Piece { source: id, basis: shape.basis, from: 0, to: shape.batch };
        // Most views show one value, so most ways need no list.
        while let (true, &[source]) = (self.node(piece.source).op.is_view(), self.operands(piece.source)) {
            piece = match self.node(piece.source).op {
                Op::Split => {
                    let start = self.node(piece.source).attribute as usize;
                    Piece { source, from: piece.from + start, to: piece.to + start, ..piece }
                }
                Op::Stack => Piece { source, ..piece },
                _ => {
                    let basis = piece.basis & self.shape(source).basis;
                    if basis.is_empty() {
                        return;
                    }
                    Piece { source, basis, ..piece }
                }
            };
        }
        if !self.node(piece.source).op.is_view() {
            return found(piece);
        }
        let mut open = vec![piece];
        while let Some(piece) = open.pop() {
            if self.node(piece.source).op.is_view() {
                self.look_through(piece, &mut open);
            } else {
                found(piece);
            }
        }
    }

    /// The pieces of a view's operands that a piece of the view shows.
    fn look_through(&self, piece: Piece, open: &mut Vec<Piece>) {
        let node = self.node(piece.source);
        let operands = self.operands(piece.source);
        match node.op {
            Op::Split => {
                let start = node.attribute as usize;
                open.push(Piece { source: operands[0], from: piece.from + start, to: piece.to + start, ..piece });
            }
            Op::Stack => {
                let mut start = 0;
                for &source in operands {
                    let end = start + self.shape(source).batch;
                    let (from, to) = (piece.from.max(start), piece.to.min(end));
                    if from < to {
                        open.push(Piece { source, from: from - start, to: to - start, ..piece });
                    }
                    start = end;
                }
            }
            _ => open.extend(operands.iter().filter_map(|&source| {
                let basis = piece.basis & self.shape(source).basis;
                (!basis.is_empty()).then_some(Piece { source, basis, ..piece })
            })),
        }
    }

    /// Size of a piece's rows in bytes.
    #[must_use]
    pub fn piece_bytes(&self, piece: &Piece) -> u64 {
        if let Some(shape) = self.lwe_shape(piece.source) {
            return shape.with_batch(piece.to - piece.from).bytes();
        }
        let limbs = (piece.to - piece.from) * piece.basis.len();
        (8 * limbs as u64) << self.shape(piece.source).ring.log_n()
    }

    /// Memory of the graph's nodes and edges in bytes.
    #[must_use]
    pub fn node_bytes(&self) -> usize {
        size_of_val(self.nodes.as_slice()) + size_of_val(self.operands.as_slice())
    }

    // ---- building: by the recorder and the reader -----------------------------------------------------------------

    /// The ring with this specification, if the graph has it.
    pub(crate) fn known_ring(&self, spec: &RingSpec) -> Option<Ring> {
        self.rings.iter().find(|r| r.spec() == spec).cloned()
    }

    pub(crate) fn ring_index(&mut self, ring: &Ring) -> usize {
        self.rings.iter().position(|r| r == ring).unwrap_or_else(|| {
            self.rings.push(ring.clone());
            self.rings.len() - 1
        })
    }

    pub(crate) fn intern(&mut self, shape: &Shape) -> ShapeId {
        let latest = (shape.basis.len() + 5 * (shape.batch % 16) + 8 * usize::from(shape.domain == Domain::Coeff)) % 16;
        let likely = self.latest_shapes[latest];
        if self.shapes.get(likely.0 as usize) == Some(shape) {
            return likely;
        }
        let key = (self.ring_index(&shape.ring), shape.basis, shape.batch, shape.domain);
        let next = ShapeId(count(self.shapes.len()));
        let id = *self.shape_ids.entry(key).or_insert(next);
        if id == next {
            self.shapes.push(shape.clone());
        }
        self.latest_shapes[latest] = id;
        id
    }

    pub(crate) fn intern_lwe(&mut self, shape: LweShape) -> ShapeId {
        let at = self.lwe_shapes.iter().position(|s| *s == shape).unwrap_or_else(|| {
            self.lwe_shapes.push(shape);
            self.lwe_shapes.len() - 1
        });
        ShapeId(count(at) | LWE)
    }

    /// Appends a node.
    pub(crate) fn push(
        &mut self,
        op: Op,
        annotation: Annotation,
        shape: ShapeId,
        region: RegionId,
        operands: &[NodeId],
    ) -> NodeId {
        let id = NodeId(count(self.nodes.len()));
        self.operands.extend_from_slice(operands);
        let operands_end = count(self.operands.len());
        let Annotation { role, attribute } = annotation;
        self.nodes.push(Node { op, role, shape, region, operands_end, attribute, freed: NEVER });
        if shape.lwe_index().is_none() {
            let rows = u32::try_from(self.shapes[shape.0 as usize].rows()).unwrap_or(u32::MAX);
            self.widen(region, rows);
        }
        id
    }

    /// Notes a polynomial with so many rows in a region and in those around it.
    fn widen(&mut self, mut region: RegionId, rows: u32) {
        while self.regions[region.index()].rows < rows {
            self.regions[region.index()].rows = rows;
            region = self.regions[region.index()].parent;
        }
    }
}

/// A length as a 32-bit index.
///
/// # Panics
/// At 2^32 − 1: such a graph would take more than 100 GB.
pub(crate) fn count(len: usize) -> u32 {
    u32::try_from(len).ok().filter(|&x| x != NEVER).expect("a graph holds fewer than 2^32 − 1 nodes and edges")
}
