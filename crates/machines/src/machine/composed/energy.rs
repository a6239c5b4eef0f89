//! Area, power and energy of a composed machine, by part.

use super::Composed;
use crate::report::{Report, as_f64};
use std::collections::BTreeMap;

impl Composed {
    /// A number of each part, of all boards: what each cluster has grows with the clusters.
    fn by_part(&self, of: impl Fn(&Part) -> Option<f64>) -> BTreeMap<String, f64> {
        let (clusters, boards) = (self.numbers.chip.clusters, as_f64(self.numbers.chip.boards));
        let grown = as_f64(clusters) / as_f64(self.numbers.chip.reference_clusters.unwrap_or(clusters));
        let units = self.numbers.unit.iter().map(|(name, unit)| (name, Part::new(unit.area_mm2, unit.power_w, true)));
        let memories = self.numbers.memory.iter();
        let memories = memories.map(|(name, m)| (name, Part::new(m.area_mm2, m.power_w, m.of_cluster)));
        let networks = self.numbers.network.iter();
        let networks = networks.map(|(name, network)| (name, Part::new(network.area_mm2, network.power_w, false)));
        let entry = |(name, part): (&String, Part)| {
            of(&part).map(|x| (name.clone(), boards * if part.of_cluster { x * grown } else { x }))
        };
        units.chain(memories).chain(networks).filter_map(entry).collect()
    }

    /// Energy at each part's activity. A file without powers, or that does not say what an idle part draws, has none.
    pub(super) fn add_energy(&self, report: &mut Report) {
        let peak = self.by_part(|part| part.power_w);
        let area: f64 = self.by_part(|part| part.area_mm2).values().sum();
        let Some(idle) = self.numbers.policy.idle_share.filter(|_| !peak.is_empty()) else { return };
        let drawn = |(part, watts): (&String, &f64)| {
            let activity = report.utilization.get(part).copied().unwrap_or(1.0);
            (part.clone(), watts * (idle + (1.0 - idle) * activity))
        };
        let watts = peak.iter().map(drawn).collect();
        report.set_energy(area, &watts, idle * peak.values().sum::<f64>());
    }
}

/// Area and power of a part of the chip.
struct Part {
    area_mm2: Option<f64>,
    power_w: Option<f64>,
    of_cluster: bool,
}

impl Part {
    fn new(area_mm2: Option<f64>, power_w: Option<f64>, of_cluster: bool) -> Self {
        Self { area_mm2, power_w, of_cluster }
    }
}
