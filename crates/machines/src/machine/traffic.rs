//! Bytes that operations move where there is one memory and nothing stays on the chip from one to the next.

use crate::{lower::role_name, report::named};
use limbwise_graph::{Graph, NodeId};
use std::collections::BTreeMap;

/// Bytes that a node reads and writes.
pub(super) fn moved_bytes(graph: &Graph, id: NodeId) -> u64 {
    let read = graph.operands(id).iter().map(|&o| graph.value_bytes(o));
    read.fold(graph.value_bytes(id), u64::saturating_add)
}

/// Bytes of a whole program by the role of what is moved.
pub(super) fn by_role(graph: &Graph) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for id in graph.ids().filter(|&id| !graph.node(id).op().is_view() && !graph.node(id).op().is_input()) {
        for &operand in graph.operands(id) {
            graph.for_each_piece(operand, |piece| {
                let role = role_name(graph.node(piece.source).role());
                *bytes.entry(role).or_default() += graph.piece_bytes(&piece);
            });
        }
        *bytes.entry("temporary").or_default() += graph.value_bytes(id);
    }
    named(&bytes)
}
