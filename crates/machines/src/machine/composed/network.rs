//! Networks: what they carry, and how far a word goes.

use super::numbers::{Network, Topology};
use crate::report::as_f64;

impl Network {
    /// Whether it carries a pattern; one that names none carries all that passes between clusters.
    pub(super) fn takes(&self, pattern: &str) -> bool {
        let unnamed = self.carries.is_empty() && pattern != "boards";
        unnamed || self.carries.iter().any(|carried| carried == pattern)
    }

    /// Links that a word passes on its way from one cluster to another, on average over all pairs.
    pub(super) fn hops(&self, clusters: u64) -> f64 {
        let c = as_f64(clusters);
        // The mean over all pairs counts the way of a cluster to itself; the mean over pairs of two is wanted.
        let of_two = c / (c - 1.0).max(1.0);
        let line = |length: f64| (length * length - 1.0) / (3.0 * length);
        match self.topology {
            Topology::AllToAll => 1.0,
            _ if clusters < 2 => 1.0,
            Topology::Ring => ((c * c / 4.0).floor() / c) * of_two,
            Topology::Mesh => {
                let rows =
                    (1..=clusters).take_while(|r| r * r <= clusters).filter(|r| clusters.is_multiple_of(*r)).last();
                let rows = as_f64(rows.unwrap_or(1));
                (line(rows) + line(c / rows)) * of_two
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways counted pair by pair.
    #[test]
    fn hops_are_means_over_pairs() {
        for clusters in [2u64, 3, 4, 6, 7, 12, 16] {
            let rows = (1..=clusters).filter(|r| r * r <= clusters && clusters.is_multiple_of(*r)).max().unwrap();
            let columns = clusters / rows;
            let ring = |a: u64, b: u64| a.abs_diff(b).min(clusters - a.abs_diff(b));
            let mesh = |a: u64, b: u64| (a / columns).abs_diff(b / columns) + (a % columns).abs_diff(b % columns);
            let mean = |way: &dyn Fn(u64, u64) -> u64| {
                let sum: u64 =
                    (0..clusters).flat_map(|a| (0..clusters).map(move |b| (a, b))).map(|(a, b)| way(a, b)).sum();
                as_f64(sum) / as_f64(clusters * (clusters - 1))
            };
            for (topology, counted) in
                [(Topology::AllToAll, 1.0), (Topology::Ring, mean(&ring)), (Topology::Mesh, mean(&mesh))]
            {
                let network = Network {
                    topology,
                    carries: vec![],
                    bandwidth_gb_s_per_cluster: 1.0,
                    fill_cycles: 0,
                    area_mm2: None,
                    power_w: None,
                };
                assert!((network.hops(clusters) - counted).abs() < 1e-12, "{clusters}");
            }
        }
    }
}
