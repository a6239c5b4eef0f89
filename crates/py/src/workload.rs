//! Workloads by name: the options of the command line, and its readings.

use crate::{
    apart::apart,
    error::{exception, look_at_signals, of_runtime},
    program::{calibrated, json_of, too_small, write_graph},
    report::{News, tell},
    timing::timed,
};
use limbwise::scheme::Scheme;
use limbwise_apps::{
    AnyPrepared, Client as _, Journal, Prepared, State, Way, description::Refusal, on_scheme, registry::Options,
};
use limbwise_device::{Device, SharedFootprint};
use limbwise_graph::Graph;
use limbwise_machines::Spec;
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    Error, Event, Host, Plan, Recording, RunOptions,
    calibrate::{Degrees, degrees},
    frontier::{Budget, Fastest, Survey, fastest_on, survey_prepared},
    open,
    plan::planned_keys,
    record, run,
    scheme::{Piped, Whole},
    session::{Of, Sides},
};
use pyo3::prelude::{PyErr, PyResult, Python, pyclass, pyfunction, pymethods};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// A workload with its options read.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct Workload(pub(crate) Arc<Asked>);

pub(crate) struct Asked {
    pub(crate) prepared: AnyPrepared,
    pub(crate) options: Options,
    /// Most memory of the process.
    pub(crate) memory: Option<u64>,
    recorded: OnceLock<Recorded>,
    plan: OnceLock<Plan>,
}

/// A recording in the way that this host would choose.
struct Recorded {
    way: Way,
    graph: Arc<Graph>,
    facts: serde_json::Value,
}

pub(crate) type Planned<S> = (Way, Recording<S>, Plan);

pub(crate) fn refused(refusal: Refusal) -> PyErr {
    of_runtime(Error::of_refusal(refusal))
}

/// Records and plans every configuration that is left open, and takes the fastest that fits: the memory asked for or,
/// where there is a choice, what this computer has.
pub(crate) fn planned<S: Whole>(built: &Prepared<S>, memory: Option<u64>) -> Result<Planned<S>, Failure> {
    let survey = || survey_prepared(built, &calibrated(degrees::<S>(built.params()))?, Budget::of(memory, &built.ways));
    let Survey { rows, chosen } = survey().map_err(Failure::Runtime)?;
    let least = || rows.iter().map(|row| row.peak_bytes).min().unwrap_or(0);
    let next = || format!("choose {}, or allow more memory", built.smaller);
    chosen.ok_or_else(|| Failure::TooLarge { budget: memory.unwrap_or(0), least: least(), next: next() })
}

/// The way that this host would choose, recorded. Where nothing is left open, nothing is measured.
pub(crate) fn chosen<S: Whole>(
    built: &Prepared<S>,
    memory: Option<u64>,
    footprint: &SharedFootprint,
) -> Result<(Way, Recording<S>), Failure> {
    match built.ways[..] {
        [way] => {
            let recording = record(&built.program(way), way.keys, footprint);
            Ok((way, recording.map_err(|e| Failure::Runtime(e.into()))?))
        }
        _ => planned(built, memory).map(|(way, recording, _)| (way, recording)),
    }
}

/// Why there is no plan.
pub(crate) enum Failure {
    /// No way stays within the budget.
    TooLarge {
        budget: u64,
        least: u64,
        next: String,
    },
    Runtime(Error),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TooLarge { budget, least, next } => too_small(budget, least, &next),
            Failure::Runtime(error) => of_runtime(error),
        }
    }
}

/// What a recording holds, under the names that a recorded function has.
pub(crate) fn facts<S: Piped>(
    params: &S::Params,
    preset: &str,
    way: &str,
    recording: &Recording<S>,
) -> serde_json::Value {
    let graph = &recording.graph;
    let rotates = S::tfhe(params).is_some();
    serde_json::json!({
        "scheme": S::NAME,
        "preset": preset,
        "way": way,
        "nodes": graph.nodes().len(),
        "counts": graph.counts(),
        "traffic": graph.traffic(),
        "keys": planned_keys(S::rlwe(params), &recording.keys),
        "bootstrappings": rotates.then_some(recording.rotations),
    })
}

impl Asked {
    fn recorded(&self) -> Result<&Recorded, Failure> {
        if let Some(known) = self.recorded.get() {
            return Ok(known);
        }
        on_scheme!(AnyPrepared, &self.prepared, built => {
            if let &[way] = &built.ways[..] {
                let recording = record(&built.program(way), way.keys, &limbwise_cpu::footprint());
                let recording = recording.map_err(|e| Failure::Runtime(e.into()))?;
                let facts = facts(built.params(), &built.preset, &way.named(), &recording);
                return Ok(self.recorded.get_or_init(|| Recorded { way, graph: recording.graph, facts }));
            }
        });
        self.planned()?;
        Ok(self.recorded.get().expect("a plan has a recording"))
    }

    fn planned(&self) -> Result<&Plan, Failure> {
        if let Some(known) = self.plan.get() {
            return Ok(known);
        }
        on_scheme!(AnyPrepared, &self.prepared, built => {
            let (way, recording, plan) = planned(built, self.memory)?;
            let facts = facts(built.params(), &built.preset, &way.named(), &recording);
            self.recorded.get_or_init(|| Recorded { way, graph: recording.graph, facts });
            Ok(self.plan.get_or_init(|| plan))
        })
    }

    /// The machine of a name; this host is measured.
    fn machine(&self, name: &str, overrides: &[(String, String)]) -> limbwise_runtime::Result<Spec> {
        let spec = match name {
            "cpu" => on_scheme!(AnyPrepared, &self.prepared, built => calibrated(degrees_of(built))?).spec()?,
            name => Spec::load(name)?,
        };
        Ok(spec.with_overrides(overrides)?)
    }

    fn fastest(&self, spec: &Spec) -> limbwise_runtime::Result<Fastest> {
        let specs = std::slice::from_ref(spec);
        on_scheme!(AnyPrepared, &self.prepared, built => {
            let found = fastest_on(&built.ways, |way| built.program(way), specs, &limbwise_cpu::footprint())?;
            Ok(found.into_iter().next().expect("one for each machine"))
        })
    }
}

fn degrees_of<S: Whole>(built: &Prepared<S>) -> Degrees {
    degrees::<S>(built.params())
}

/// Lets signal handlers run between the steps of a program.
struct Watch;

impl<D: Device, S: Scheme> Journal<D, S> for Watch {
    fn resume(&mut self) -> limbwise::Result<Option<State<D, S>>> {
        Ok(None)
    }

    fn keep(&mut self, _: &State<D, S>) -> limbwise::Result<()> {
        look_at_signals()
    }
}

pub(crate) fn told(event: Event) {
    match event {
        Event::Progress { step, done, total } => {
            tell(News { kind: "step", name: &step, done, total, ..News::default() })
        }
        Event::Done(step) => tell(News { kind: "done", name: &step.name, seconds: step.seconds, ..News::default() }),
    }
}

/// Name and one line of every workload.
#[pyfunction]
pub(crate) fn workloads() -> Vec<(String, String)> {
    Options::all()
}

#[pymethods]
impl Workload {
    /// A workload by its name, with options by theirs; those without values are left out, if there are such options.
    #[new]
    #[pyo3(signature = (name, options, memory=None))]
    fn new(
        py: Python<'_>,
        name: String,
        options: Vec<(String, Option<Vec<String>>)>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        // An option that there is not is refused as if it were given.
        let told = |(option, values): (String, Option<Vec<String>>)| match values {
            None if Options::knows(&name, &option) => None,
            values => Some((option, values.unwrap_or_default())),
        };
        let options: Vec<_> = options.into_iter().filter_map(told).collect();
        let options = Options::of_names(&name, &options).map_err(|text| exception("ParamsError", &text))?;
        let prepared = apart(py, move || options.prepare(memory).map(|prepared| (prepared, options)))?;
        let (prepared, options) = prepared.map_err(refused)?;
        let (recorded, plan) = (OnceLock::new(), OnceLock::new());
        Ok(Self(Arc::new(Asked { prepared, options, memory, recorded, plan })))
    }

    /// What it computes with.
    #[getter]
    fn scheme(&self) -> &'static str {
        on_scheme!(AnyPrepared, &self.0.prepared, built => scheme_of(built))
    }

    /// Name of its parameters.
    #[getter]
    fn preset(&self) -> String {
        on_scheme!(AnyPrepared, &self.0.prepared, built => built.preset.clone())
    }

    /// Why its parameters may be insecure.
    #[getter]
    fn insecure_reason(&self) -> Option<String> {
        on_scheme!(AnyPrepared, &self.0.prepared, built => insecure_reason(built))
    }

    /// The ways to run it that its options leave open, in words.
    #[getter]
    fn ways(&self) -> Vec<String> {
        on_scheme!(AnyPrepared, &self.0.prepared, built => built.ways.iter().map(|way| way.named()).collect())
    }

    /// The plan as JSON.
    fn plan(&self, py: Python<'_>) -> PyResult<String> {
        let asked = self.0.clone();
        json_of(&apart(py, move || asked.planned().cloned())??)
    }

    /// What the recording holds, as JSON.
    fn record(&self, py: Python<'_>) -> PyResult<String> {
        let asked = self.0.clone();
        json_of(&apart(py, move || asked.recorded().map(|recorded| recorded.facts.clone()))??)
    }

    /// Writes the graph (docs/graph-format.md).
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let asked = self.0.clone();
        apart(py, move || asked.recorded().map(drop))??;
        write_graph(py, &self.0.recorded()?.graph, &path)
    }

    /// As it was recorded on a machine: its report and, with events, its schedule as a Chrome trace, both JSON; and the way.
    #[pyo3(signature = (name, overrides, events=0))]
    fn time_recorded(
        &self,
        py: Python<'_>,
        name: String,
        overrides: Vec<(String, String)>,
        events: usize,
    ) -> PyResult<(String, Option<String>, String)> {
        let asked = self.0.clone();
        apart(py, move || {
            let recorded = asked.recorded()?;
            let spec = asked.machine(&name, &overrides).map_err(Failure::Runtime)?;
            let (report, trace) = timed(&recorded.graph, &spec, events).map_err(Failure::Runtime)?;
            Ok::<_, Failure>((report, trace, recorded.way.named()))
        })?
        .map_err(PyErr::from)
    }

    /// The same in the way that is fastest on the machine, of all that the options leave open.
    #[pyo3(signature = (name, overrides, events=0))]
    fn time(
        &self,
        py: Python<'_>,
        name: String,
        overrides: Vec<(String, String)>,
        events: usize,
    ) -> PyResult<(String, Option<String>, String)> {
        let asked = self.0.clone();
        let timed = apart(py, move || -> limbwise_runtime::Result<_> {
            let spec = asked.machine(&name, &overrides)?;
            let Fastest { way, graph } = asked.fastest(&spec)?;
            let (report, trace) = timed(&graph, &spec, events)?;
            Ok((report, trace, way.named()))
        })?;
        timed.map_err(of_runtime)
    }

    /// Runs it, and returns the report as JSON, with the times of its regions if a profile is asked for.
    #[pyo3(signature = (device=None, threads=None, *, profile=false))]
    fn run(&self, py: Python<'_>, device: Option<String>, threads: Option<usize>, profile: bool) -> PyResult<String> {
        let dev = open(&Host { device, isa: None, threads }).map_err(of_runtime)?;
        if profile && !dev.has_region_times() {
            let text = format!(
                "profile=True: only programs that the CPU runs alone have times of regions, and this one runs on {}; leave out profile or device",
                dev.kind()
            );
            return Err(exception("ParamsError", &text));
        }
        on_scheme!(AnyPrepared, &self.0.prepared, built => {
            let client = built.client().map_err(refused)?;
            let report = py.detach(|| -> Result<_, Failure> {
                let (way, recording, plan) = planned(built, self.0.memory)?;
                look_at_signals().map_err(|e| Failure::Runtime(e.into()))?;
                let program = built.program(way);
                let moved = client.in_way(way);
                let client = Of(moved.as_ref().unwrap_or(client));
                let sides = Sides { program: &program, client: &client, seeds: &SeedSource::System };
                let host = || calibrated(degrees_of(built))?.spec();
                let profile = profile.then(host).transpose().map_err(Failure::Runtime)?;
                let options = RunOptions { ask: Some(look_at_signals), profile, ..RunOptions::default() };
                run(&dev, &sides, (&recording, &plan), &options, &mut Watch, &mut told).map_err(Failure::Runtime)
            });
            json_of(&report?)
        })
    }
}

fn scheme_of<S: Whole>(_: &Prepared<S>) -> &'static str {
    S::NAME
}

fn insecure_reason<S: Whole>(built: &Prepared<S>) -> Option<String> {
    S::security(built.params()).insecure_reason.clone()
}
