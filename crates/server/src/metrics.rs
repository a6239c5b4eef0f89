//! What the server counts, as Prometheus reads it. States are looked up when someone asks; only what leaves no trace in the
//! state (requests, times) is counted on the way.

use crate::{
    engine::Resident,
    limits::Limits,
    store::{Census, JobState},
};
use limbwise_runtime::host::resident_memory_bytes;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text::encode},
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use std::fmt;

/// The content type of what [`Metrics::text`] gives.
pub const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A path of the API, not what was asked for in its place, so that nobody can make the server count without end.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    route: String,
    status: u16,
}

pub struct Metrics {
    requests: Family<Request, Counter>,
    plan_seconds: Histogram,
    job_seconds: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        // From 10 milliseconds to three days.
        let times = || Histogram::new(exponential_buckets(0.01, 4.0, 13));
        Self { requests: Family::default(), plan_seconds: times(), job_seconds: times() }
    }
}

impl Metrics {
    pub(crate) fn count_request(&self, route: &str, status: u16) {
        self.requests.get_or_create(&Request { route: route.into(), status }).inc();
    }

    pub(crate) fn count_plan(&self, seconds: f64) {
        self.plan_seconds.observe(seconds);
    }

    pub(crate) fn count_job(&self, seconds: f64) {
        self.job_seconds.observe(seconds);
    }

    /// All of it as text (OpenMetrics 1.0, which Prometheus reads).
    pub(crate) fn text(&self, census: Census, resident: Resident, limits: &Limits) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("limbwise");
        registry.register("requests", "Requests by path and status", self.requests.clone());
        let (plan, job) = (self.plan_seconds.clone(), self.job_seconds.clone());
        registry.register_with_unit("plan", "Time of planning a job", Unit::Seconds, plan);
        registry.register_with_unit(
            "job",
            "Time of a job that has ended, since it was last started",
            Unit::Seconds,
            job,
        );
        let process = resident_memory_bytes();
        registry.register_collector(Box::new(Now { census, resident, limits: *limits, process }));
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

/// The state at the moment of asking.
#[derive(Debug)]
struct Now {
    census: Census,
    resident: Resident,
    limits: Limits,
    process: Option<u64>,
}

const STATES: [JobState; 8] = [
    JobState::Planning,
    JobState::Queued,
    JobState::Running,
    JobState::Stopping,
    JobState::Done,
    JobState::Refused,
    JobState::Failed,
    JobState::Canceled,
];

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self { census, resident, limits, process } = self;
        let states = STATES.iter().map(|state| (state.to_string(), census.jobs.get(state).copied().unwrap_or(0)));
        family(&mut encoder, ("jobs", "Jobs that were not deleted, by state"), "state", states)?;
        let kinds = census.bytes.iter().map(|(kind, bytes)| (kind.clone(), *bytes));
        family(&mut encoder, ("stored_bytes", "Bytes of files, by kind"), "kind", kinds)?;
        for (name, help, value) in [
            ("damaged_records", "Records and files that could not be read at the start", census.damaged),
            ("open_uploads", "Uploads that are under way", census.open_uploads),
            ("promised_bytes", "Bytes promised to open uploads and to results of jobs", census.promised_bytes),
            ("total_limit_bytes", "Limit of all files and promises", limits.total_bytes),
            ("memory_promised_bytes", "Memory promised to running jobs by their plans", census.memory_bytes),
            ("memory_limit_bytes", "Limit of the memory of running jobs and idle keys", limits.memory_bytes),
            (
                "resident_key_bytes",
                "Memory of keys that no job uses, with the rows that jobs left beside them",
                resident.bytes,
            ),
        ] {
            gauge(&mut encoder, name, help, value)?;
        }
        if let Some(bytes) = process {
            gauge(&mut encoder, "process_resident_bytes", "Memory of the server's process", *bytes)?;
        }
        for (name, help, value) in [
            ("resident_key_hits", "Runs that found their keys in memory", resident.hits),
            ("resident_key_misses", "Runs that read their keys", resident.misses),
            ("resident_key_evictions", "Sets of keys that made room for others, or for a job", resident.evictions),
        ] {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

/// A gauge for each value of a label.
fn family(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    label: &str,
    values: impl Iterator<Item = (String, u64)>,
) -> fmt::Result {
    let kind = ConstGauge::new(0_i64).metric_type();
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (word, value) in values {
        let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
        gauge.encode(metric.encode_family(&[(label, word.as_str())])?)?;
    }
    Ok(())
}
