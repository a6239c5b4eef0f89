//! A recorded program as bootstrappings and what lies between: operators, their work for one ciphertext, and the values
//! that pass from one to the next.
//!
//! Operators are those of \[FHX\], found by the regions of the library's composites: decomposition, transforms, the
//! external product, the polynomial scale (rotations by monomials and the sums round them), and the LWE key switch.
//! Nodes that follow each other in one of these regions are one operator. All bootstrappings of a run are alike, so a run
//! is described for one ciphertext; runs whose descriptions are equal are placed once.

use crate::{report::as_f64, words::Words};
use limbwise_graph::{Graph, NodeId, Op, Piece, Region, RegionId, Role};
use std::collections::HashMap;

/// An operator, as the source names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Ntt,
    Intt,
    Product,
    Scale,
    Decompose,
    KeySwitch,
    /// Changes of modulus before a rotation.
    Switch,
}

impl Kind {
    pub(super) const ALL: [Self; 7] =
        [Self::Ntt, Self::Intt, Self::Product, Self::Scale, Self::Decompose, Self::KeySwitch, Self::Switch];

    /// Its name, which is its region's where it has one.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ntt => Region::Ntt.name(),
            Self::Intt => Region::Intt.name(),
            Self::Product => Region::Products.name(),
            Self::Scale => Region::Steps.name(),
            Self::Decompose => Region::Decomposition.name(),
            Self::KeySwitch => Region::LweKeySwitch.name(),
            Self::Switch => "mod_switch",
        }
    }

    /// Whether the source counts it as compute-intensive: transforms alone.
    pub(super) fn is_compute_intensive(self) -> bool {
        matches!(self, Self::Ntt | Self::Intt)
    }

    fn of(graph: &Graph, id: NodeId) -> Option<Self> {
        const INNER: [(Region, Kind); 6] = [
            (Region::Ntt, Kind::Ntt),
            (Region::Intt, Kind::Intt),
            (Region::Products, Kind::Product),
            (Region::Steps, Kind::Scale),
            (Region::Decomposition, Kind::Decompose),
            (Region::LweKeySwitch, Kind::KeySwitch),
        ];
        let found = graph
            .regions_around(id)
            .find_map(|region| INNER.iter().find(|(known, _)| region.is(*known)).map(|(_, kind)| *kind));
        let in_rotation = || graph.regions_around(id).any(|r| r.is(Region::Bootstrap) || r.is(Region::BlindRotate));
        found.or_else(|| in_rotation().then_some(Self::Switch))
    }
}

/// What an operator does for one ciphertext, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    /// Coefficients of a polynomial; 0 for vectors.
    pub(super) n: u64,
    /// Polynomials that are transformed, or digits.
    pub(super) polynomials: u64,
    /// Components of a ciphertext.
    pub(super) components: u64,
    pub(super) butterflies: f64,
    pub(super) products: f64,
    pub(super) digit_words: f64,
    pub(super) moved_words: f64,
    pub(super) sum_words: f64,
    /// Words of keys, which all ciphertexts share.
    pub(super) key_words: f64,
    pub(super) read_words: f64,
    pub(super) written_words: f64,
}

impl Work {
    /// Modular multiplications.
    pub(super) fn multiplications(&self) -> f64 {
        self.butterflies + self.products
    }

    /// Modular additions: two a butterfly, one a product of a sum, a word that is added and a word of a digit.
    pub(super) fn additions(&self, kind: Kind) -> f64 {
        let accumulated = if matches!(kind, Kind::Product | Kind::KeySwitch) { self.products } else { 0.0 };
        2.0 * self.butterflies + self.sum_words + self.digit_words + accumulated
    }
}

/// An operator for one ciphertext.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) work: Work,
    /// Positions among the values of its run.
    pub(super) reads: Vec<usize>,
}

/// A value that passes between operators, of one ciphertext.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Passed {
    pub(super) words: f64,
    /// The operator that makes it; `None`: it is there before.
    pub(super) maker: Option<usize>,
    /// One for all ciphertexts.
    pub(super) shared: bool,
    /// Wanted after the run.
    pub(super) kept: bool,
}

/// A bootstrapping of one ciphertext.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chain {
    pub(super) steps: Vec<Step>,
    pub(super) values: Vec<Passed>,
}

/// Bootstrappings that are recorded in one go.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Ciphertexts.
    pub(super) entries: u64,
    pub(super) chain: Chain,
    /// First node of each step, and its region.
    pub(super) first: Vec<NodeId>,
    pub(super) regions: Vec<RegionId>,
}

/// A part of a program, in its order.
pub(super) enum Part {
    Run(Run),
    /// Operations outside of bootstrapping.
    Rest(Vec<NodeId>),
}

/// The parts of a program.
pub(super) fn parts(graph: &Graph, words: Words) -> Vec<Part> {
    let mut parts: Vec<(bool, Vec<(NodeId, Kind)>)> = Vec::new();
    for id in graph.ids().filter(|&id| is_work(graph.node(id).op())) {
        let kind = Kind::of(graph, id);
        match parts.last_mut().filter(|(run, _)| *run == kind.is_some()) {
            Some((_, nodes)) => nodes.push((id, kind.unwrap_or(Kind::Switch))),
            None => parts.push((kind.is_some(), vec![(id, kind.unwrap_or(Kind::Switch))])),
        }
    }
    let mut run_of = vec![usize::MAX; graph.nodes().len()];
    for (at, (_, nodes)) in parts.iter().enumerate() {
        nodes.iter().for_each(|(id, _)| run_of[id.index()] = at);
    }
    let kept = kept(graph, &run_of);
    let part = |(is_run, nodes): (bool, Vec<(NodeId, Kind)>)| match is_run {
        true => Part::Run(Reading::new(graph, words, &nodes, &kept).run(&nodes)),
        false => Part::Rest(nodes.into_iter().map(|(id, _)| id).collect()),
    };
    parts.into_iter().map(part).collect()
}

/// Whether an operation takes time.
fn is_work(op: Op) -> bool {
    !op.is_view() && !op.is_input()
}

/// Values that another part reads, or the program keeps.
fn kept(graph: &Graph, run_of: &[usize]) -> Vec<bool> {
    let mut kept = vec![false; run_of.len()];
    for id in graph.ids() {
        let stays = graph.node(id).freed_before().is_none();
        if stays {
            graph.for_each_piece(id, |piece| kept[piece.source.index()] = true);
        }
        for &operand in graph.operands(id).iter().filter(|_| is_work(graph.node(id).op())) {
            graph.for_each_piece(operand, |piece| {
                if run_of[piece.source.index()] != run_of[id.index()] {
                    kept[piece.source.index()] = true;
                }
            });
        }
    }
    kept
}

/// Reads one run.
struct Reading<'g> {
    graph: &'g Graph,
    words: Words,
    entries: u64,
    /// Step of each node of the run.
    step_of: HashMap<NodeId, usize>,
    /// Nodes whose values leave their step, and whether they leave the run.
    leaves: HashMap<NodeId, bool>,
    /// Position of each value.
    value_of: HashMap<NodeId, usize>,
    run: Run,
}

impl<'g> Reading<'g> {
    fn new(graph: &'g Graph, words: Words, nodes: &[(NodeId, Kind)], kept: &[bool]) -> Self {
        let ids = || nodes.iter().flat_map(|(id, _)| std::iter::once(id).chain(graph.operands(*id)));
        // Keys are no ciphertexts: their batches are rows.
        let vectors = ids().filter(|id| !is_key(graph.node(**id).role())).filter_map(|&id| graph.lwe_shape(id));
        let entries = vectors.map(|shape| shape.batch as u64).min().unwrap_or(1).max(1);
        let mut reading = Self {
            graph,
            words,
            entries,
            step_of: HashMap::with_capacity(nodes.len()),
            leaves: HashMap::new(),
            value_of: HashMap::new(),
            run: Run { entries, ..Run::default() },
        };
        let mut last = None;
        for &(id, kind) in nodes {
            // What a scale ends and the next begins follow each other, and are one.
            if last.replace(kind) != Some(kind) {
                reading.run.first.push(id);
                reading.run.regions.push(graph.node(id).region());
                reading.run.chain.steps.push(Step { kind, work: Work::default(), reads: Vec::new() });
            }
            reading.step_of.insert(id, reading.run.first.len() - 1);
            if kept[id.index()] {
                reading.leaves.insert(id, true);
            }
        }
        for &(id, _) in nodes {
            reading.for_each_source(id, |this, source, _| {
                if this.step_of.get(&source).is_some_and(|step| *step != this.step_of[&id]) {
                    this.leaves.entry(source).or_insert(false);
                }
            });
        }
        reading
    }

    fn run(mut self, nodes: &[(NodeId, Kind)]) -> Run {
        for &(id, _) in nodes {
            let step = self.step_of[&id];
            self.work(step, id);
            self.reads(step, id);
            if let Some(&kept) = self.leaves.get(&id) {
                let words = self.value_words(id) / as_f64(self.entries);
                self.run.chain.steps[step].work.written_words += words;
                self.value_of.insert(id, self.run.chain.values.len());
                self.run.chain.values.push(Passed { words, maker: Some(step), shared: false, kept });
            }
        }
        self.run
    }

    /// What a node reads: the node that made it, and the operand's position.
    fn for_each_source(&mut self, id: NodeId, mut found: impl FnMut(&mut Self, NodeId, usize)) {
        let graph = self.graph;
        for (at, &operand) in graph.operands(id).iter().enumerate() {
            graph.for_each_piece(operand, |piece| found(self, piece.source, at));
        }
    }

    /// Words of a value, over all its entries.
    fn value_words(&self, id: NodeId) -> f64 {
        match self.graph.lwe_shape(id) {
            Some(shape) => as_f64(shape.bytes() / 8),
            None => {
                let shape = self.graph.shape(id);
                as_f64(self.words.limbs(shape, shape.basis) << shape.ring.log_n())
            }
        }
    }

    fn piece_words(&self, piece: &Piece) -> f64 {
        if self.graph.lwe_shape(piece.source).is_some() {
            return as_f64(self.graph.piece_bytes(piece) / 8);
        }
        let shape = self.graph.shape(piece.source);
        let limbs = self.words.limbs(shape, piece.basis) / shape.batch.max(1) as u64;
        as_f64((limbs * (piece.to - piece.from) as u64) << shape.ring.log_n())
    }

    /// Adds the arithmetic of a node to its operator.
    fn work(&mut self, step: usize, id: NodeId) {
        let (graph, op) = (self.graph, self.graph.node(id).op());
        let per = 1.0 / as_f64(self.entries);
        let own = self.value_words(id) * per;
        let is_vector = graph.lwe_shape(id).is_some();
        let log_n = if is_vector { 0 } else { graph.shape(id).ring.log_n() };
        let work = &mut self.run.chain.steps[step].work;
        if !is_vector {
            work.n = work.n.max(1 << log_n);
        }
        match op {
            Op::Ntt | Op::Intt => {
                work.polynomials += whole(own / as_f64(1 << log_n));
                work.butterflies += own / 2.0 * f64::from(log_n);
            }
            Op::Mul => {
                work.components += 1;
                work.products += own;
            }
            Op::MulAcc => work.products += own,
            Op::Decompose => {
                work.components += 1;
                work.polynomials += whole(own / as_f64(1 << log_n));
                work.digit_words += own;
            }
            Op::MonomialMul => {
                work.components += 1;
                work.moved_words += own;
            }
            Op::LweDecompose => work.digit_words += own,
            Op::LweProduct | Op::LweScale | Op::LweModSwitch => {
                work.products += as_f64(graph.work(id).products()) * per;
            }
            _ => work.sum_words += own,
        }
    }

    /// What a node reads of keys and of other operators.
    fn reads(&mut self, step: usize, id: NodeId) {
        let graph = self.graph;
        for (at, &operand) in graph.operands(id).iter().enumerate() {
            let mut pieces = Vec::new();
            graph.for_each_piece(operand, |piece| pieces.push(piece));
            for piece in pieces {
                if is_key(graph.node(piece.source).role()) {
                    let words = self.piece_words(&piece);
                    self.run.chain.steps[step].work.key_words += words;
                } else if self.step_of.get(&piece.source) != Some(&step) {
                    // A product with a monomial reads one word of the exponents.
                    let is_exponent = graph.node(id).op() == Op::MonomialMul && at == 1;
                    self.read(step, piece.source, is_exponent);
                }
            }
        }
    }

    fn read(&mut self, step: usize, source: NodeId, is_exponent: bool) {
        let known = self.value_of.get(&source).copied();
        let value = known.unwrap_or_else(|| self.input(source));
        let words = if is_exponent { 1.0 } else { self.run.chain.values[value].words };
        let step = &mut self.run.chain.steps[step];
        if !step.reads.contains(&value) {
            step.reads.push(value);
            step.work.read_words += words;
        }
    }

    /// A value that is there before the run.
    fn input(&mut self, source: NodeId) -> usize {
        let batch = self.graph.lwe_shape(source).map_or_else(|| self.graph.shape(source).batch, |s| s.batch) as u64;
        let shared = batch < self.entries;
        let words = self.value_words(source) / as_f64(if shared { 1 } else { self.entries });
        let at = self.run.chain.values.len();
        self.run.chain.values.push(Passed { words, maker: None, shared, kept: false });
        self.value_of.insert(source, at);
        at
    }
}

/// A count that floating point holds exactly.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of whole polynomials")]
pub(super) fn whole(x: f64) -> u64 {
    x.round() as u64
}

/// Whether a value is a key, which both sides hold.
fn is_key(role: Role) -> bool {
    matches!(role, Role::BootstrapKey(_) | Role::EvaluationKey(_))
}

impl Chain {
    /// Words of a ciphertext's values while it is bootstrapped: what one operator of each kind writes.
    pub(super) fn live_words(&self) -> f64 {
        let most = |kind: Kind| {
            let written = self.steps.iter().filter(|s| s.kind == kind && s.work.n > 0).map(|s| s.work.written_words);
            written.fold(0.0, f64::max)
        };
        Kind::ALL.into_iter().map(most).sum()
    }
}
