//! Reuse: what comes from off the chip once, what comes again, and how often it is read.

use crate::{
    lower::role_name,
    program::{Movement, TaskKind},
    report::Reuse,
    scheduler::Schedule,
    scratchpad::OffChip,
    words::Words,
};
use limbwise_graph::{Basis, Graph, NodeId, Role};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Reuse of everything that a schedule loads, by role, in bytes of the machine's words.
pub(crate) fn reuse(
    graph: &Graph,
    (off_chip, words): (&OffChip, Words),
    schedule: &Schedule,
) -> BTreeMap<String, Reuse> {
    let mut by_role: BTreeMap<&'static str, Reuse> = BTreeMap::new();
    let mut seen: HashMap<NodeId, Basis> = HashMap::new();
    let mut values: BTreeSet<(&'static str, u32)> = BTreeSet::new();
    let program = &schedule.program;
    let is_load = |m: &&Movement| program.tasks[m.task.index()].stage.kind == TaskKind::Load;
    for movement in program.movements.iter().filter(is_load).filter(|m| off_chip.brought(graph, m.source, 1) > 0) {
        let role = graph.node(movement.source).role();
        let bytes = |basis| words.of_value(graph, movement.source, basis);
        let before = seen.entry(movement.source).or_default();
        let entry = by_role.entry(role_name(role)).or_default();
        entry.first_bytes += bytes(movement.basis - *before);
        entry.again_bytes += bytes(movement.basis & *before);
        *before = *before | movement.basis;
        values.insert((role_name(role), identity(role, movement.source)));
    }
    for (role, _) in values {
        by_role.entry(role).or_default().values += 1;
    }
    for id in graph.ids().filter(|&id| !graph.node(id).op().is_view()) {
        for &operand in graph.operands(id) {
            graph.for_each_piece(operand, |piece| {
                if let Some(entry) = by_role.get_mut(role_name(graph.node(piece.source).role()))
                    && seen.contains_key(&piece.source)
                {
                    entry.read_bytes = entry.read_bytes.saturating_add(words.of_piece(graph, &piece));
                }
            });
        }
    }
    by_role.into_iter().map(|(role, reuse)| (role.to_owned(), reuse)).collect()
}

/// Both halves of all digits of a key are one key.
fn identity(role: Role, source: NodeId) -> u32 {
    match role {
        Role::EvaluationKey(key) => key.0,
        _ => source.0,
    }
}
