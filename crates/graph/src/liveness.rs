//! Lifetimes of values, and the peak memory they need.

use crate::{
    graph::{Graph, NEVER, NodeId},
    op::Op,
};
use std::collections::HashMap;

impl Graph {
    /// For each node, the last node that reads its value; a view counts as a reader.
    #[must_use]
    pub fn last_uses(&self) -> Vec<Option<NodeId>> {
        let mut last = vec![None; self.nodes().len()];
        for id in self.ids() {
            for operand in self.operands(id) {
                last[operand.index()] = Some(id);
            }
        }
        last
    }

    /// Bytes of what a program leaves: values that it makes and never frees.
    #[must_use]
    pub fn result_bytes(&self) -> u64 {
        let left = |id: &NodeId| self.node(*id).freed == NEVER && !self.node(*id).op().is_input();
        self.ids().filter(left).map(|id| self.value_bytes(id)).fold(0, u64::saturating_add)
    }

    /// Peak of the bytes alive when the program runs and frees in its recorded order. It equals the peak of the meter
    /// of [`Null`](limbwise_device::Null), computed from the graph alone.
    #[must_use]
    pub fn peak_live_bytes(&self) -> u64 {
        let mut frees: Vec<(u32, NodeId)> =
            self.ids().map(|id| (self.node(id).freed, id)).filter(|f| f.0 != NEVER).collect();
        frees.sort_unstable();
        let mut frees = frees.into_iter().peekable();
        let mut rows = Rows::default();
        for id in self.ids() {
            let mut handed_over = None;
            while let Some((_, freed)) = frees.next_if(|f| f.0 <= id.0) {
                if self.operands(id).contains(&freed) {
                    handed_over = Some(freed);
                } else {
                    rows.release(freed);
                }
            }
            let table = self.row_table(id, handed_over, &mut rows);
            rows.values.insert(id, table);
        }
        rows.peak
    }

    /// The rows of a node's value, shared or new, by batch entry, then limb.
    fn row_table(&self, id: NodeId, handed_over: Option<NodeId>, rows: &mut Rows) -> Vec<u32> {
        if self.lwe_shape(id).is_some() {
            return vec![rows.allocate(self.value_bytes(id))];
        }
        let (node, shape, operands) = (self.node(id), self.shape(id), self.operands(id));
        let limbs = shape.basis.len();
        let old = |i: usize| (&rows.values[&operands[i]], self.shape(operands[i]).basis);
        let shared: Vec<u32> = match node.op() {
            Op::Restrict | Op::Split => {
                let ((table, basis), from) = (old(0), node.split_from().unwrap_or(0) as usize);
                let at = |b: usize, i: usize| table[(b + from) * basis.len() + basis.position(i).expect("a sub-basis")];
                (0..shape.batch).flat_map(|b| shape.basis.iter().map(move |i| at(b, i))).collect()
            }
            Op::Join => {
                let owner = |b: usize, i: usize| {
                    (0..operands.len()).find_map(|p| {
                        let (table, basis) = old(p);
                        basis.position(i).map(|at| table[b * basis.len() + at])
                    })
                };
                (0..shape.batch).flat_map(|b| shape.basis.iter().filter_map(move |i| owner(b, i))).collect()
            }
            Op::Stack => (0..operands.len()).flat_map(|p| old(p).0.iter().copied()).collect(),
            op if op.is_in_place() => {
                let table = rows.values[&operands[0]].clone();
                let unique = handed_over == Some(operands[0]);
                if unique {
                    rows.values.remove(&operands[0]);
                }
                return table.into_iter().map(|row| rows.overwrite(row, unique)).collect();
            }
            _ => return (0..shape.batch * limbs).map(|_| rows.allocate(8 << shape.ring.log_n())).collect(),
        };
        for &row in &shared {
            rows.held[row as usize].0 += 1;
        }
        shared
    }
}

/// Reference-counted rows of all living values.
#[derive(Default)]
struct Rows {
    values: HashMap<NodeId, Vec<u32>>,
    /// Reference count and bytes of each row.
    held: Vec<(u32, u64)>,
    unused: Vec<u32>,
    live: u64,
    peak: u64,
}

impl Rows {
    fn allocate(&mut self, bytes: u64) -> u32 {
        self.live += bytes;
        self.peak = self.peak.max(self.live);
        if let Some(row) = self.unused.pop() {
            self.held[row as usize] = (1, bytes);
            return row;
        }
        self.held.push((1, bytes));
        crate::graph::count(self.held.len() - 1)
    }

    /// The row for the result of an operation by value: the same row if `handed_over` by its only holder.
    fn overwrite(&mut self, row: u32, handed_over: bool) -> u32 {
        let (references, bytes) = self.held[row as usize];
        if handed_over && references == 1 {
            return row;
        }
        if handed_over {
            self.held[row as usize].0 -= 1;
        }
        self.allocate(bytes)
    }

    fn release(&mut self, value: NodeId) {
        for row in self.values.remove(&value).unwrap_or_default() {
            let (references, bytes) = &mut self.held[row as usize];
            *references -= 1;
            if *references == 0 {
                self.live -= *bytes;
                self.unused.push(row);
            }
        }
    }
}
