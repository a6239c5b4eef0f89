//! Who does what: DPUs, the host, or each what it is better at.
//!
//! Two places, a time for each operation in each, and a time for each value that is made in one and read in the other:
//! the least sum is a minimum cut (\[Sto77\]). A value is moved once however many read it, so all its readers hang on one
//! edge. Launches and calls of the library are counted as if no two operations shared them, and MRAM is not looked at:
//! whatever then proves slower than one place alone gives way to that.

use super::{
    costs::Costs,
    cut::{Network, SINK, SOURCE},
    numbers::Where,
};
use crate::program::TaskKind;
use limbwise_graph::{Basis, NodeId};
use std::collections::BTreeMap;

/// More than any program takes, in nanoseconds.
const NEVER: u64 = 1 << 60;
/// An operation or transfer that takes longer counts as this long, so that sums stay below [`NEVER`].
const LONG: u64 = 1 << 42;

/// Ticks as nanoseconds.
fn ns(ticks: u64) -> u64 {
    ticks.div_ceil(1000).min(LONG)
}

/// A place for each group, as a policy wants it.
pub(super) fn places(costs: &Costs, policy: Where) -> Vec<Where> {
    match policy {
        Where::Hybrid => cheapest(costs),
        _ => {
            let place = |group| if policy == Where::Dpus && costs.on_dpus(group) { Where::Dpus } else { Where::Host };
            costs.groups.iter().map(place).collect()
        }
    }
}

/// The places with the least time. Groups on the source's side are on DPUs.
fn cheapest(costs: &Costs) -> Vec<Where> {
    let (graph, groups) = (costs.graph, &costs.groups);
    let mut network = Network::new(groups.len());
    let mut maker: BTreeMap<NodeId, usize> = BTreeMap::new();
    // Readers of each value, and the limbs that they read.
    let mut readers: BTreeMap<NodeId, (Basis, Vec<usize>)> = BTreeMap::new();
    for (at, group) in (2..).zip(groups) {
        let dpus = if costs.on_dpus(group) {
            let (ticks, launches) = costs.dpu_ticks(group);
            ns(ticks.saturating_add(costs.launch_ticks(launches)))
        } else {
            NEVER
        };
        // Whoever is on the sink's side, the host, pays the edge from the source.
        network.edge(SOURCE, at, group.nodes.iter().map(|&id| ns(costs.host_ticks(id))).sum());
        network.edge(at, SINK, dpus);
        for &id in &group.nodes {
            maker.insert(id, at);
            for &operand in graph.operands(id) {
                graph.for_each_piece(operand, |piece| {
                    let (basis, by) = readers.entry(piece.source).or_default();
                    *basis = *basis | piece.basis;
                    if by.last() != Some(&at) && maker.get(&piece.source) != Some(&at) {
                        by.push(at);
                    }
                });
            }
        }
    }
    for id in graph.ids().filter(|&id| graph.node(id).freed_before().is_none()) {
        graph.for_each_piece(id, |piece| {
            let (basis, by) = readers.entry(piece.source).or_default();
            *basis = *basis | piece.basis;
            by.push(SINK);
        });
    }
    for (value, (basis, by)) in readers {
        // Inputs are at the host.
        let at = maker.get(&value).copied().unwrap_or(SINK);
        let from = ns(costs.transfer_ticks(value, basis, TaskKind::Store));
        let to = ns(costs.transfer_ticks(value, basis, TaskKind::Load));
        let (any_on_host, any_on_dpus) = (network.node(), network.node());
        network.edge(at, any_on_host, from);
        network.edge(any_on_dpus, at, to);
        for reader in by {
            network.edge(any_on_host, reader, NEVER);
            network.edge(reader, any_on_dpus, NEVER);
        }
    }
    let side = network.cut();
    (2..groups.len() + 2).map(|at| if side[at] { Where::Dpus } else { Where::Host }).collect()
}
