//! Where an evaluation's seconds went: its regions, measured beside predicted.

use limbwise_cpu::RegionTimes;
use limbwise_device::Region;
use limbwise_graph::Graph;
use limbwise_machines::Report;
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::HashMap, time::Duration};

/// Regions of a smaller share of the evaluation are left out.
const LEAST_SHARE: f64 = 1e-3;

/// The time of a region, inner ones included.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionSeconds {
    /// Names from the outermost region on, with indices where there are several of a name.
    pub path: String,
    /// How often the program enters it.
    pub entered: u32,
    /// Measured.
    pub seconds: f64,
    /// Predicted; absent where that is less than a thousandth of the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_predicted: Option<f64>,
}

/// The regions of a program by their times in an evaluation of so many seconds, in the order in which it enters them, beside
/// those of a model of the host.
pub(crate) fn profile(graph: &Graph, measured: &RegionTimes, seconds: f64, predicted: &Report) -> Vec<RegionSeconds> {
    let predicted: HashMap<&str, f64> = predicted.regions.iter().map(|r| (&*r.path, r.seconds)).collect();
    // A graph that was read from a file has names of its own.
    let by_names = |path: &[(Region, u32)]| path.iter().map(|&(region, index)| (region.name(), index)).collect();
    let measured: HashMap<Vec<(&str, u32)>, Duration> =
        measured.iter().map(|(path, time)| (by_names(path), *time)).collect();
    let mut names: Vec<Vec<(&str, u32)>> = vec![Vec::new()];
    let mut found = Vec::new();
    for (region, path) in graph.regions().iter().zip(graph.region_paths()).skip(1) {
        let mut own = names[region.parent.index()].clone();
        own.push((&region.name, region.index));
        if let Some(time) = measured.get(&own).map(Duration::as_secs_f64).filter(|&time| time >= LEAST_SHARE * seconds)
        {
            let seconds_predicted = predicted.get(&*path).copied();
            found.push(RegionSeconds { path, entered: region.entered, seconds: time, seconds_predicted });
        }
        names.push(own);
    }
    found
}
