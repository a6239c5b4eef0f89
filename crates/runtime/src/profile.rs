//! Where an evaluation's seconds went: its regions, measured beside predicted.

use crate::error::Result;
use limbwise_cpu::RegionTimes;
use limbwise_graph::Graph;
use limbwise_machines::{Spec, time};
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

/// The regions of a program by their times in an evaluation of so many seconds, in the order in which it enters them.
///
/// # Errors
/// [`MachineError`](limbwise_machines::MachineError) if the model of the host has no units for the program.
pub(crate) fn profile(graph: &Graph, measured: &RegionTimes, seconds: f64, host: &Spec) -> Result<Vec<RegionSeconds>> {
    let predicted = time(graph, host)?;
    let predicted: HashMap<&str, f64> = predicted.regions.iter().map(|r| (&*r.path, r.seconds)).collect();
    let by_names = |(path, time): (&Vec<_>, &Duration)| -> (Vec<(&'static str, u32)>, Duration) {
        (path.iter().map(|&(region, index): &(limbwise_device::Region, u32)| (region.name(), index)).collect(), *time)
    };
    let measured: HashMap<Vec<(&str, u32)>, Duration> = measured.iter().map(by_names).collect();
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
    Ok(found)
}
