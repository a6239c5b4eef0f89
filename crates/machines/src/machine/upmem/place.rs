//! Who does what: DPUs, the host, or each what it is better at.
//!
//! The last is a minimum cut ([`MinCut`](crate::offload::MinCut) says how) with this machine's own times. Launches and
//! calls of the library are counted as if no two operations shared them, and MRAM is not looked at: whatever then proves
//! slower than one place alone gives way to that.

use super::{costs::Costs, numbers::Where};
use crate::{
    offload::policy::min_cut::{Cut, End, LONG, NEVER},
    program::TaskKind,
};
use limbwise_graph::{Basis, NodeId};
use std::collections::BTreeMap;

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

/// The places with the least time. The first side are the DPUs.
fn cheapest(costs: &Costs) -> Vec<Where> {
    let (graph, groups) = (costs.graph, &costs.groups);
    let mut maker: BTreeMap<NodeId, usize> = BTreeMap::new();
    // Readers of each value, and the limbs that they read.
    let mut readers: BTreeMap<NodeId, (Basis, Vec<End>)> = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        for &id in &group.nodes {
            maker.insert(id, at);
            for &operand in graph.operands(id) {
                graph.for_each_piece(operand, |piece| {
                    let (basis, by) = readers.entry(piece.source).or_default();
                    *basis = *basis | piece.basis;
                    if by.last() != Some(&End::Operation(at)) && maker.get(&piece.source) != Some(&at) {
                        by.push(End::Operation(at));
                    }
                });
            }
        }
    }
    for id in graph.ids().filter(|&id| graph.node(id).freed_before().is_none()) {
        graph.for_each_piece(id, |piece| {
            let (basis, by) = readers.entry(piece.source).or_default();
            *basis = *basis | piece.basis;
            by.push(End::Second);
        });
    }
    let times = groups.iter().map(|group| {
        let dpus = if costs.on_dpus(group) {
            let (ticks, launches) = costs.dpu_ticks(group);
            ns(ticks.saturating_add(costs.launch_ticks(launches)))
        } else {
            NEVER
        };
        [dpus, group.nodes.iter().map(|&id| ns(costs.host_ticks(id))).sum()]
    });
    let mut cut = Cut::new(times);
    for (value, (basis, by)) in readers {
        // Inputs are at the host.
        let at = maker.get(&value).copied().map_or(End::Second, End::Operation);
        let ways = [TaskKind::Store, TaskKind::Load].map(|kind| ns(costs.transfer_ticks(value, basis, kind)));
        cut.value(at, by, ways);
    }
    let place = |on_dpus| if on_dpus { Where::Dpus } else { Where::Host };
    cut.on_first().into_iter().map(place).collect()
}
