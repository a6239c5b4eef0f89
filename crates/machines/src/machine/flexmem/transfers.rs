//! What an operation reads, where that stands, and how it comes to the operation's chip.

use super::flow::{Flow, Made, Part};
use crate::program::{Edge, TaskId};
use limbwise_graph::{Basis, Graph, NodeId, Op, Piece};

impl Flow<'_> {
    /// The chip of an entry of a value.
    pub(super) fn chip_of(&self, value: NodeId, entry: u64) -> Option<usize> {
        let made = self.made[value.index()].as_ref()?;
        let at = part_of(entry, self.reader.batch(value), made.parts.len());
        made.parts.get(at).map(|part| part.chip)
    }

    /// Parts of made values that entries of a node read, with their bytes.
    pub(super) fn needs(&self, id: NodeId, [from, to]: [u64; 2]) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        let batch = self.reader.batch(id).max(1);
        for &operand in self.graph.operands(id) {
            let own = self.reader.batch(operand).max(1);
            let [from, to] = if own == batch { [from, to] } else { [0, own] };
            let whole = match self.graph.lwe_shape(operand) {
                Some(_) => Basis::default(),
                None => self.graph.shape(operand).basis,
            };
            trace(self.graph, operand, (whole, [from, to]), &mut |piece| {
                if let Some(made) = &self.made[piece.source.index()] {
                    self.need(made, &piece, &mut needs);
                }
            });
        }
        needs
    }

    fn need(&self, made: &Made, piece: &Piece, needs: &mut Vec<Need>) {
        let (batch, each) = (self.reader.batch(piece.source), self.reader.piece_bytes(piece));
        let [from, to] = [piece.from as u64, piece.to as u64];
        if made.parts.is_empty() {
            // Divided over all chips: all but one share comes from elsewhere.
            needs.push(Need { source: piece.source, part: None, bytes: each.saturating_mul(to - from) });
            return;
        }
        let count = made.parts.len();
        for part in part_of(from, batch, count)..=part_of(to.saturating_sub(1), batch, count) {
            let entries = (to - from).div_ceil(count as u64).max(1);
            let bytes = each.saturating_mul(entries);
            match needs.iter_mut().find(|n| n.source == piece.source && n.part == Some(part)) {
                Some(known) => known.bytes = known.bytes.saturating_add(bytes),
                None => needs.push(Need { source: piece.source, part: Some(part), bytes }),
            }
        }
    }

    /// The chip on which work is done first.
    pub(super) fn earliest(&self, needs: &[Need], ticks: u64) -> usize {
        let done = |chip: usize| {
            let (mut ready, mut moved) = (0, 0u64);
            for need in needs {
                let there = match self.stands(need, chip) {
                    Stands::OnAll => self.free.iter().copied().max().unwrap_or(0),
                    Stands::Here((_, there)) => there,
                    Stands::Elsewhere(part) => {
                        let (there, taken) = self.links.arrives([part.chip, chip], part.there, need.bytes);
                        moved = moved.saturating_add(taken);
                        there
                    }
                };
                ready = ready.max(there);
            }
            let against = moved.saturating_mul(self.distribution.aversion);
            ((ready.max(self.free[chip]) + ticks).saturating_add(against), chip)
        };
        let most = usize::try_from(self.distribution.chips).unwrap_or(1);
        (0..self.free.len().min(most)).map(done).min().map_or(0, |(_, chip)| chip)
    }

    fn made(&self, need: &Need) -> &Made {
        self.made[need.source.index()].as_ref().expect("a need is of a made value")
    }

    /// Where a part stands, seen from a chip.
    fn stands(&self, need: &Need, chip: usize) -> Stands {
        let (made, Some(part)) = (self.made(need), need.part) else { return Stands::OnAll };
        let found = made.parts[part];
        if found.chip == chip {
            return Stands::Here((found.task, found.there));
        }
        made.copy(need.part, chip).map_or(Stands::Elsewhere(found), Stands::Here)
    }

    /// Has a part on a chip: the task after which it is there.
    pub(super) fn bring(&mut self, need: &Need, chip: usize) -> (TaskId, u64) {
        let part = match self.stands(need, chip) {
            Stands::OnAll => return self.gather(need, chip),
            Stands::Here(there) => return there,
            Stands::Elsewhere(part) => part,
        };
        let copied = self.send(need, [part.chip, chip], (part.task, part.there));
        // A chip without room for a key keeps no copy of it.
        if !self.graph.node(need.source).op().is_input() {
            self.keep(need, chip, copied);
        }
        copied
    }

    fn keep(&mut self, need: &Need, chip: usize, (task, there): (TaskId, u64)) {
        if let Some(made) = &mut self.made[need.source.index()] {
            made.copies.push((need.part, Part { chip, task, there }));
        }
    }

    /// A value that a run divided over all chips comes to one.
    fn gather(&mut self, need: &Need, chip: usize) -> (TaskId, u64) {
        if let Some(copied) = self.made(need).copy(None, chip) {
            return copied;
        }
        let chips = self.free.len();
        let task = self.last[chip].unwrap_or(TaskId(0));
        let ready = self.free.iter().copied().max().unwrap_or(0);
        let elsewhere = need.bytes / chips as u64 * (chips as u64 - 1);
        let copied = match (elsewhere, chips) {
            (0, _) | (_, 1) => (task, ready),
            _ => self.send(&Need { bytes: elsewhere, ..*need }, [(chip + 1) % chips, chip], (task, ready)),
        };
        self.keep(need, chip, copied);
        copied
    }

    /// Bytes pass from chip to chip, over each link of the way.
    fn send(&mut self, need: &Need, chips: [usize; 2], (mut task, mut there): (TaskId, u64)) -> (TaskId, u64) {
        self.totals.transferred = self.totals.transferred.saturating_add(need.bytes);
        for stage in self.links.way(chips, need.bytes) {
            there = self.links.take(&stage, there);
            task = self.program.push(need.source, stage, [Edge::Output(task)]);
        }
        (task, there)
    }
}

/// Where a value stands, seen from a chip.
enum Stands {
    /// Divided over all chips.
    OnAll,
    /// There, after a task and at a time.
    Here((TaskId, u64)),
    Elsewhere(Part),
}

impl Made {
    /// What brought a part to a chip, if anything did; no part: the shares of all chips.
    fn copy(&self, part: Option<usize>, chip: usize) -> Option<(TaskId, u64)> {
        let found = self.copies.iter().find(|(of, copy)| *of == part && copy.chip == chip);
        found.map(|(_, copy)| (copy.task, copy.there))
    }
}

/// A part of a value that an operation reads; no part: its share of every chip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    source: NodeId,
    part: Option<usize>,
    bytes: u64,
}

/// The part of an entry, if so many entries are in so many parts.
fn part_of(entry: u64, batch: u64, parts: usize) -> usize {
    let (entry, batch) = (entry.min(batch.saturating_sub(1)), batch.max(1));
    // Part p begins at entry ⌊p·batch / parts⌋.
    let found = (0..parts as u64).rev().find(|p| p * batch / parts as u64 <= entry);
    found.and_then(|p| usize::try_from(p).ok()).unwrap_or(0)
}

/// A node that made a value, through views.
pub(super) fn first_piece(graph: &Graph, mut id: NodeId) -> NodeId {
    while graph.node(id).op().is_view() {
        id = graph.operands(id)[0];
    }
    id
}

/// The rows behind some limbs and entries of a value.
fn trace(graph: &Graph, id: NodeId, (basis, [from, to]): (Basis, [u64; 2]), found: &mut impl FnMut(Piece)) {
    let op = graph.node(id).op();
    if !op.is_view() {
        let [from, to] = [from, to].map(|x| usize::try_from(x).unwrap_or(0));
        return found(Piece { source: id, basis, from, to });
    }
    let mut start = 0;
    for &operand in graph.operands(id) {
        let own = graph.shape(operand).batch as u64;
        match op {
            Op::Split => {
                let offset = u64::from(graph.node(id).split_from().unwrap_or(0));
                trace(graph, operand, (basis, [from + offset, to + offset]), found);
            }
            Op::Stack => {
                let (a, b) = (from.max(start), to.min(start + own));
                if a < b {
                    trace(graph, operand, (basis, [a - start, b - start]), found);
                }
                start += own;
            }
            _ => {
                let shown = basis & graph.shape(operand).basis;
                if !shown.is_empty() {
                    trace(graph, operand, (shown, [from, to]), found);
                }
            }
        }
    }
}
