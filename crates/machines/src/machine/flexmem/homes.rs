//! Keys and plaintexts that a chip has no room for beside all others: each of these stands on one chip, and passes the chip
//! network to whoever reads it (ADR 185).
//!
//! Keys are replicated as far as there is room. Those that the fewest operations read lose their replicas first, because each
//! reading is a transfer then.

use super::work::Reader;
use crate::{error::MachineError, spec::Spec};
use limbwise_graph::{Graph, NodeId, Role};

/// Whether a value is a key or a plaintext.
pub(super) fn is_held(role: Role) -> bool {
    matches!(role, Role::EvaluationKey(_) | Role::BootstrapKey(_) | Role::Plaintext)
}

/// Where keys and plaintexts stand.
#[derive(Debug, Default)]
pub(super) struct Homes {
    /// The values that stand on one chip, each with its chip; all others stand on every chip.
    pub(super) moved: Vec<(NodeId, usize)>,
    /// Bytes on the fullest chip.
    pub(super) held: u64,
}

/// Where keys and plaintexts stand on so many chips with so much room each. `stays` says which operations cannot wait for a transfer: what
/// they read stands on every chip.
///
/// # Errors
/// [`MachineError::Value`] where all chips together have no room.
pub(super) fn homes(
    (spec, graph, reader): (&Spec, &Graph, &Reader<'_>),
    (chips, room): (u64, u64),
    stays: impl Fn(NodeId) -> bool,
) -> Result<Homes, MachineError> {
    let held = |id: &NodeId| graph.node(*id).op().is_input() && is_held(graph.node(*id).role());
    let mut values: Vec<(u64, NodeId, u64)> =
        graph.ids().filter(held).map(|id| (0, id, reader.value_bytes(id))).collect();
    let mut everywhere = values.iter().map(|(.., bytes)| *bytes).fold(0, u64::saturating_add);
    if everywhere <= room {
        return Ok(Homes { moved: vec![], held: everywhere });
    }
    let mut reads = vec![0u64; graph.nodes().len()];
    for id in graph.ids().filter(|&id| !graph.node(id).op().is_view()) {
        for &operand in graph.operands(id) {
            graph.for_each_piece(operand, |piece| {
                let count = &mut reads[piece.source.index()];
                *count = if stays(id) { u64::MAX } else { count.saturating_add(1) };
            });
        }
    }
    values.iter_mut().for_each(|(count, id, _)| *count = reads[id.index()]);
    values.sort_unstable();
    let mut shares = vec![0u64; usize::try_from(chips).unwrap_or(1)];
    let mut moved = Vec::new();
    let fullest = |shares: &[u64]| shares.iter().copied().max().unwrap_or(0);
    for (reads, id, bytes) in values {
        let emptiest = shares.iter().enumerate().min_by_key(|(_, share)| **share).map(|(chip, _)| chip);
        let has_room = everywhere.saturating_add(fullest(&shares)) <= room;
        let Some(chip) = emptiest.filter(|_| !has_room && reads < u64::MAX && chips > 1) else { break };
        shares[chip] = shares[chip].saturating_add(bytes);
        everywhere -= bytes;
        moved.push((id, chip));
    }
    let held = everywhere.saturating_add(fullest(&shares));
    if held <= room {
        return Ok(Homes { moved, held });
    }
    let gib = |bytes: u64| format!("{:.2} GiB", crate::report::as_f64(bytes) / 1_073_741_824.0);
    let wanted =
        format!("more chips, or larger ones: keys and plaintexts take {} of each chip's {}", gib(held), gib(room));
    Err(spec.wrong("system.chips", wanted, chips))
}
