//! A batch in parts of one size: how large they are, by plan.

use crate::{
    failure::Mistake,
    readings::{Planned, calibrated, planned},
    workload::{Whole, Workload, refused},
};
use limbwise_apps::{AnyPrepared, Prepared, on_scheme, workload::Part};
use limbwise_runtime::{AnyDevice, calibrate::degrees};

/// The size of the parts.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PartArgs {
    /// Rows, messages or images of a part [default: by plan, within --memory and --part-seconds]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Cluster")]
    part: Option<u32>,

    /// Longest time of a part, by plan: what a lost worker costs at most
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Cluster")]
    part_seconds: u32,
}

/// A batch that is to be divided.
pub(crate) struct Dividing<'a> {
    pub(crate) dev: &'a AnyDevice,
    pub(crate) workload: &'a Workload,
    pub(crate) args: &'a PartArgs,
    /// Of a node.
    pub(crate) memory: Option<u64>,
    pub(crate) nodes: u32,
}

/// The size of a workload's batch, if it can be divided.
pub(crate) fn divisible(workload: &Workload) -> anyhow::Result<Option<usize>> {
    let batch = workload.batch().map_err(refused)?;
    Ok(batch.filter(|_| workload.part(Part { first: 0, count: 1 }).is_some()))
}

impl Dividing<'_> {
    /// The size of the batch.
    ///
    /// # Errors
    /// [`Mistake`] for a program that has none, said of the option that asks.
    pub(crate) fn batch(&self, option: &str) -> anyhow::Result<usize> {
        let name = self.workload.name();
        divisible(self.workload)?.ok_or_else(|| {
            let text = "has no batch of independent rows, messages or images to divide; leave it out";
            Mistake(format!("{option}: {name} {text}")).into()
        })
    }

    /// The size of the parts, and the program of one: the largest within the limits, all parts as equal as can be.
    pub(crate) fn sized(&self, batch: usize) -> anyhow::Result<(usize, AnyPrepared)> {
        let part = |count| {
            let part = self.workload.part(Part { first: 0, count });
            part.expect("it has parts").prepare(self.memory).map_err(refused)
        };
        if let Some(count) = self.args.part {
            let count = usize::try_from(count).unwrap_or(usize::MAX).min(batch);
            return Ok((count, part(count)?));
        }
        let nodes = usize::try_from(self.nodes).unwrap_or(1);
        let mut parts = nodes.min(batch);
        loop {
            let count = batch.div_ceil(parts);
            let fits = part(count).and_then(|prepared| {
                let seconds =
                    on_scheme!(AnyPrepared, &prepared, built => self.plan(built).map(|p| p.plan.seconds_predicted))?;
                Ok((prepared, seconds))
            });
            match fits {
                Ok((prepared, seconds)) if seconds <= f64::from(self.args.part_seconds) || count == 1 => {
                    return Ok((count, prepared));
                }
                Err(e) if count == 1 => return Err(e),
                _ => parts = (2 * parts).min(batch),
            }
        }
    }

    pub(crate) fn plan<S: Whole>(&self, built: &Prepared<S>) -> anyhow::Result<Planned<S>> {
        let calibration = calibrated(self.dev, degrees::<S>(built.params()))?;
        planned(built, &calibration, self.memory)
    }
}
