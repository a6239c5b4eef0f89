//! A minimum cut between two nodes of a network: Dinic's algorithm.

use std::collections::VecDeque;

/// A network of directed edges with capacities.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// Edges from each node, by position in `edges`.
    from: Vec<Vec<usize>>,
    /// End and what may still flow; the way back stands beside each edge.
    edges: Vec<(usize, u64)>,
}

/// Ends of the flow.
pub(crate) const SOURCE: usize = 0;
/// See [`SOURCE`].
pub(crate) const SINK: usize = 1;

impl Network {
    /// Source, sink, and so many nodes after these.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { from: vec![Vec::new(); nodes + 2], edges: Vec::new() }
    }

    /// One more node.
    pub(crate) fn node(&mut self) -> usize {
        self.from.push(Vec::new());
        self.from.len() - 1
    }

    /// An edge that a cut between its ends pays for.
    pub(crate) fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        self.from[from].push(self.edges.len());
        self.edges.push((to, capacity));
        self.from[to].push(self.edges.len());
        self.edges.push((from, 0));
    }

    /// For each node whether it is on the source's side of a minimum cut.
    pub(crate) fn cut(mut self) -> Vec<bool> {
        loop {
            let depth = self.depths();
            if depth[SINK] == usize::MAX {
                return depth.iter().map(|&d| d != usize::MAX).collect();
            }
            let mut next = vec![0; self.from.len()];
            while self.push(&depth, &mut next) {}
        }
    }

    /// Distances from the source along edges with room.
    fn depths(&self) -> Vec<usize> {
        let mut depth = vec![usize::MAX; self.from.len()];
        depth[SOURCE] = 0;
        let mut open = VecDeque::from([SOURCE]);
        while let Some(node) = open.pop_front() {
            for &edge in &self.from[node] {
                let (to, room) = self.edges[edge];
                if room > 0 && depth[to] == usize::MAX {
                    depth[to] = depth[node] + 1;
                    open.push_back(to);
                }
            }
        }
        depth
    }

    /// Sends flow along one shortest path, if there is one; `next` remembers which edges lead nowhere.
    fn push(&mut self, depth: &[usize], next: &mut [usize]) -> bool {
        let mut path: Vec<usize> = Vec::new();
        let mut node = SOURCE;
        while node != SINK {
            let onward = self.from[node].get(next[node]).copied();
            match onward {
                Some(edge) if self.edges[edge].1 > 0 && depth[self.edges[edge].0] == depth[node] + 1 => {
                    path.push(edge);
                    node = self.edges[edge].0;
                }
                Some(_) => next[node] += 1,
                None => {
                    let Some(edge) = path.pop() else { return false };
                    node = self.edges[edge ^ 1].0;
                    next[node] += 1;
                }
            }
        }
        let room = path.iter().map(|&edge| self.edges[edge].1).min().unwrap_or(0);
        for edge in path {
            self.edges[edge].1 -= room;
            self.edges[edge ^ 1].1 += room;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least that any of all cuts pays.
    fn least(nodes: usize, edges: &[(usize, usize, u64)]) -> u64 {
        let pays = |side: usize| {
            let on_source = |node: usize| node == SOURCE || (node != SINK && side >> (node - 2) & 1 == 1);
            edges.iter().filter(|e| on_source(e.0) && !on_source(e.1)).map(|e| e.2).sum::<u64>()
        };
        (0..1 << nodes).map(pays).min().unwrap()
    }

    proptest! {
        #[test]
        fn a_cut_pays_the_least(edges in prop::collection::vec((0usize..7, 0usize..7, 0u64..20), 0..24)) {
            let mut network = Network::new(5);
            for &(from, to, capacity) in &edges {
                network.edge(from, to, capacity);
            }
            let side = network.cut();
            prop_assert!(side[SOURCE] && !side[SINK]);
            let pays = edges.iter().filter(|e| side[e.0] && !side[e.1]).map(|e| e.2).sum::<u64>();
            prop_assert_eq!(pays, least(5, &edges));
        }
    }
}
