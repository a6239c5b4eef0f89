//! What an operation reads, where that stands, and how it comes to the operation's chip.

use super::flow::{Flow, Made};
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
            let ready = needs.iter().map(|need| self.arrives(need, chip)).max().unwrap_or(0);
            let moved: u64 = needs.iter().map(|need| self.moves(need, chip)).fold(0, u64::saturating_add);
            let against = moved.saturating_mul(self.distribution.aversion);
            ((ready.max(self.free[chip]) + ticks).saturating_add(against), chip)
        };
        let most = usize::try_from(self.distribution.chips).unwrap_or(1);
        (0..self.free.len().min(most)).map(done).min().map_or(0, |(_, chip)| chip)
    }

    /// Ticks that links would be taken so that a part is on a chip.
    fn moves(&self, need: &Need, chip: usize) -> u64 {
        let made = self.made[need.source.index()].as_ref();
        let Some(found) = made.zip(need.part).map(|(made, part)| (made.parts[part].chip, part)) else { return 0 };
        if found.0 == chip || self.copies.contains_key(&(need.source, found.1, chip)) {
            return 0;
        }
        self.links.way([found.0, chip], need.bytes).iter().map(|stage| stage.occupancy).sum()
    }

    /// When a part would be on a chip.
    fn arrives(&self, need: &Need, chip: usize) -> u64 {
        let Some(part) = need.part else { return self.free.iter().copied().max().unwrap_or(0) };
        let Some(found) = self.made[need.source.index()].as_ref().map(|made| made.parts[part]) else { return 0 };
        if found.chip == chip {
            return found.there;
        }
        match self.copies.get(&(need.source, part, chip)) {
            Some((_, there)) => *there,
            None => self.links.arrives([found.chip, chip], found.there, need.bytes),
        }
    }

    /// Has a part on a chip: the task after which it is there.
    pub(super) fn bring(&mut self, need: &Need, chip: usize) -> (TaskId, u64) {
        let made = self.made[need.source.index()].as_ref();
        let Some(part) = need.part else { return self.gather(need, chip) };
        let Some(found) = made.map(|made| made.parts[part]) else { unreachable!("a need is of a made value") };
        if found.chip == chip {
            return (found.task, found.there);
        }
        if let Some(&copied) = self.copies.get(&(need.source, part, chip)) {
            return copied;
        }
        let copied = self.send(need, [found.chip, chip], (found.task, found.there));
        // A chip without room for a key keeps no copy of it.
        if !self.graph.node(need.source).op().is_input() {
            self.copies.insert((need.source, part, chip), copied);
        }
        copied
    }

    /// A value that a run divided over all chips comes to one.
    fn gather(&mut self, need: &Need, chip: usize) -> (TaskId, u64) {
        let all = usize::MAX;
        if let Some(&copied) = self.copies.get(&(need.source, all, chip)) {
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
        self.copies.insert((need.source, all, chip), copied);
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
