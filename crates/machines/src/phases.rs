//! Phases of key switches: how far the primary functions of one key switch overlap.
//!
//! A key switch is a pipeline of functions on different units: transforms back, conversions, transforms, products with
//! the key, and the same down again. A machine that works on one function at a time passes polynomials whole from unit
//! to unit, and what one digit does never overlaps with the next function of another. Where a key switch begins and ends
//! is told by the regions of its composites; how deep a function is in it, by the graph.

use limbwise_graph::{Graph, NodeId, Region, RegionId};

/// Whether functions of one key switch that do not depend on each other overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phases {
    /// A function starts when its operands are there.
    #[default]
    Overlapped,
    /// It starts when all functions of the depth before have ended as well.
    Serial,
}

/// Composites that are, or are a part of, one key switch.
const COMPOSITES: [Region; 5] =
    [Region::KeySwitch, Region::KeySwitchOnto, Region::ModUp, Region::GadgetProduct, Region::ModDown];

/// Position of a node in its key switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// First node of the key switch.
    pub(crate) of: NodeId,
    /// Number of the key switch, in the order of their first nodes.
    pub(crate) number: u32,
    /// Length of the longest chain of functions before it.
    pub(crate) depth: u32,
}

/// For each region the outermost composite that it is in, and whether it belongs to a `mod_up`.
fn composites(graph: &Graph) -> Vec<Option<(RegionId, bool)>> {
    let mut all: Vec<Option<(RegionId, bool)>> = Vec::with_capacity(graph.regions().len());
    for (id, region) in (0..).map(RegionId).zip(graph.regions()) {
        let is_one = COMPOSITES.iter().any(|&composite| region.is(composite));
        let raises = region.is(Region::ModUp);
        let around = all.get(region.parent.index()).copied().flatten();
        all.push(match around {
            Some((outer, inside)) => Some((outer, inside || raises)),
            None => is_one.then_some((id, raises)),
        });
    }
    all
}

/// Position of each node, `None` outside of key switches; and how many of these there are. `nodes` are those with work, in program order; `reads` tells
/// the values that one takes, by the nodes that made them.
///
/// A program enters a region of one name many times: a key switch is what is recorded in one go, from one raising of
/// digits to the next, and hangs together.
pub(crate) fn places(
    graph: &Graph,
    nodes: &[NodeId],
    reads: impl Fn(NodeId, &mut dyn FnMut(NodeId)),
) -> (Vec<Option<Place>>, usize) {
    let composites = composites(graph);
    let mut places: Vec<Option<Place>> = vec![None; graph.nodes().len()];
    let mut before = None;
    let mut first = NodeId(0);
    // The smallest node that each node hangs together with, as far as known.
    let mut with: Vec<NodeId> = graph.ids().collect();
    for &id in nodes {
        let here = composites[graph.node(id).region().index()];
        let goes_on = |(outer, raises): (RegionId, bool)| {
            before.is_some_and(|(o, r): (RegionId, bool)| o == outer && (r || !raises))
        };
        if !here.is_some_and(goes_on) {
            first = id;
        }
        before = here;
        if here.is_none() {
            continue;
        }
        let mut depth = 0;
        reads(id, &mut |value| {
            if let Some(place) = places[value.index()].filter(|_| value >= first) {
                depth = depth.max(place.depth + 1);
                let (a, b) = (root(&mut with, value), root(&mut with, id));
                with[a.max(b).index()] = a.min(b);
            }
        });
        places[id.index()] = Some(Place { of: id, number: 0, depth });
    }
    let (mut numbers, mut count) = (vec![0; places.len()], 0);
    for &id in nodes {
        if places[id.index()].is_none() {
            continue;
        }
        // A root is the first node of its key switch, so it comes before the others.
        let of = root(&mut with, id);
        if of == id {
            numbers[id.index()] = count;
            count += 1;
        }
        let number = numbers[of.index()];
        places[id.index()].iter_mut().for_each(|place| (place.of, place.number) = (of, number));
    }
    (places, count as usize)
}

/// The smallest node that a node hangs together with; shortens the way there.
fn root(with: &mut [NodeId], mut id: NodeId) -> NodeId {
    while with[id.index()] != id {
        with[id.index()] = with[with[id.index()].index()];
        id = with[id.index()];
    }
    id
}

/// Puts the nodes of each key switch in the order of their depths, so that none waits for a later one. What is recorded in
/// one go and does not hang together comes one after another.
pub(crate) fn sort(nodes: &mut [NodeId], places: &[Option<Place>]) {
    let same = |a: &NodeId, b: &NodeId| places[a.index()].is_some() == places[b.index()].is_some();
    for run in nodes.chunk_by_mut(same) {
        run.sort_by_key(|id| places[id.index()].map(|place| (place.of, place.depth)));
    }
}
