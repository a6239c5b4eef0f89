//! Recorded programs: planned, timed, written down.

use crate::{
    apart::apart,
    error::{budget_error, exception, of_runtime, of_scheme},
    timing::timed,
};
use limbwise::{
    Result as SchemeResult,
    ckks::{
        BootstrapPlan, Expectation, Model, PlaintextForm,
        bootstrap::{HalvesAt, Rotations},
    },
    rlwe::{KeyForm, Requirements},
    scheme::Ckks,
};
use limbwise_apps::Encryption;
use limbwise_graph::Graph;
use limbwise_machines::Spec;
use limbwise_runtime::{
    Calibration, Host, Recording,
    calibrate::{Degrees, calibrated as kept},
    expect::expectations,
    frontier::{Budget, SPARE, Survey, Way, least_limit, survey},
    open, record,
    tape::Tape,
};
use pyo3::prelude::{PyErr, PyResult, Python, pyclass, pyfunction, pymethods};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// What is expected of one result.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct Expected(pub(crate) Expectation);

/// A traced program with what was learned of it.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct Recorded(Arc<Traced>);

struct Traced {
    tape: Tape,
    preset: String,
    recording: OnceLock<Arc<Recording<Ckks>>>,
}

/// This host's rates, measured once a process and pair of rings.
static CALIBRATIONS: Mutex<BTreeMap<Degrees, Calibration>> = Mutex::new(BTreeMap::new());

pub(crate) fn calibrated(degrees: Degrees) -> limbwise_runtime::Result<Calibration> {
    let mut known = CALIBRATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(calibration) = known.get(&degrees) {
        return Ok(calibration.clone());
    }
    let measured = kept(&open(&Host::default())?, degrees, |_| ())?;
    known.insert(degrees, measured.clone());
    Ok(measured)
}

/// Names of the machines that are built in.
#[pyfunction]
pub(crate) fn machines() -> Vec<String> {
    limbwise_machines::names().into_iter().map(Into::into).collect()
}

/// Raised where no way stays within a budget; the smallest peaks at `least` bytes.
pub(crate) fn too_small(budget: u64, least: u64, next: &str) -> PyErr {
    let limit = least_limit(least);
    let text = format!(
        "no way to run this program stays within {:.0} MB: the smallest takes {:.0} MB, {:.0} with {SPARE} % to spare; {next}",
        budget as f64 / 1e6,
        least as f64 / 1e6,
        limit as f64 / 1e6
    );
    budget_error(&text, limit)
}

/// Writes a graph (docs/graph-format.md).
pub(crate) fn write_graph(py: Python<'_>, graph: &Graph, path: &Path) -> PyResult<()> {
    let mut out = BufWriter::new(File::create(path)?);
    py.detach(|| graph.write_jsonl(&mut out))?;
    Ok(out.flush()?)
}

pub(crate) fn json_of(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| exception("LimbwiseError", &e.to_string()))
}

impl Recorded {
    pub(crate) fn new(tape: Tape, preset: &str) -> Self {
        Self(Arc::new(Traced { tape, preset: preset.into(), recording: OnceLock::new() }))
    }

    fn recording(&self, py: Python<'_>) -> PyResult<Arc<Recording<Ckks>>> {
        let traced = self.0.clone();
        apart(py, move || traced.recording())?.map_err(of_scheme)
    }

    /// The keys that the program needs.
    pub(crate) fn required(&self, py: Python<'_>) -> PyResult<Requirements> {
        Ok(self.recording(py)?.keys.required.clone())
    }
}

impl Traced {
    fn recording(&self) -> SchemeResult<Arc<Recording<Ckks>>> {
        if let Some(known) = self.recording.get() {
            return Ok(known.clone());
        }
        let recorded = Arc::new(record(&self.tape, KeyForm::Stored, &limbwise_cpu::footprint())?);
        Ok(self.recording.get_or_init(|| recorded).clone())
    }

    /// The program run in one way.
    fn in_way(&self, way: Way) -> Tape {
        let tape = way.bootstrapping.map_or_else(|| self.tape.clone(), |plan| self.tape.with_bootstrapping(plan));
        way.maps.map_or_else(|| tape.clone(), |(_, form)| tape.with_form(form))
    }

    /// What a memory budget leaves open; without one, the way in which it was traced.
    fn ways(&self, memory: Option<u64>) -> Vec<Way> {
        let traced = Way { bootstrapping: self.tape.bootstrapping, ..Way::of_keys(KeyForm::Stored) };
        if memory.is_none() {
            return vec![traced];
        }
        let usual = [
            (Rotations::DoubleHoisted, HalvesAt::Once),
            (Rotations::Chained, HalvesAt::Once),
            (Rotations::MultiHop, HalvesAt::Turns),
        ];
        let boots: Vec<Option<BootstrapPlan>> = match self.tape.bootstrapping {
            None => vec![None],
            Some(plan) => {
                let with = |(rotations, halves), form| Some(BootstrapPlan { rotations, halves, form, ..plan });
                usual.into_iter().flat_map(|way| PlaintextForm::ALL.map(|form| with(way, form))).collect()
            }
        };
        let maps = self.tape.maps().first().map(|(_, plan)| plan.strategy);
        let maps = maps.map_or(vec![None], |strategy| PlaintextForm::ALL.map(|form| Some((strategy, form))).to_vec());
        let mut ways = Vec::new();
        for bootstrapping in boots {
            for &maps in &maps {
                ways.extend([KeyForm::Stored, KeyForm::Seeded].map(|keys| Way {
                    maps,
                    bootstrapping,
                    ..Way::of_keys(keys)
                }));
            }
        }
        ways
    }
}

#[pymethods]
impl Recorded {
    /// Operations of the front end, by name.
    #[getter]
    fn operations(&self) -> Vec<&'static str> {
        self.0.tape.steps.iter().map(|step| step.op.name()).collect()
    }

    /// The plan as JSON, and the way it takes: how keys are kept, and how it bootstraps.
    #[pyo3(signature = (memory=None))]
    fn plan(&self, py: Python<'_>, memory: Option<u64>) -> PyResult<(String, &'static str, Option<String>)> {
        let traced = self.0.clone();
        let surveyed = apart(py, move || {
            let host = calibrated([Some(traced.tape.params.log_n()), None])?;
            let budget = memory.map_or(Budget::Free(u64::MAX), Budget::Asked);
            survey(&traced.ways(memory), |way| traced.in_way(way), &traced.preset, &host, budget)
        })?;
        let Survey { rows, chosen } = surveyed.map_err(of_runtime)?;
        let Some((way, _, plan)) = chosen else {
            let least = rows.iter().map(|row| row.peak_bytes).min().unwrap_or(0);
            let next = "allow that, encrypt fewer values, or choose a preset with fewer limbs";
            return Err(too_small(memory.unwrap_or(0), least, next));
        };
        let keys = if way.keys == KeyForm::Stored { "stored" } else { "seeded" };
        Ok((json_of(&plan)?, keys, way.bootstrapping.map(|plan| json_of(&plan)).transpose()?))
    }

    /// What each result will be where inputs are encrypted under this key. Where the other side has numbers of its own, they
    /// may make values and errors up to `gain` times larger than those recorded.
    #[pyo3(signature = (public, gain=None))]
    fn expected(&self, py: Python<'_>, public: bool, gain: Option<f64>) -> PyResult<Vec<Expected>> {
        let traced = self.0.clone();
        let key = if public { Encryption::PublicKey } else { Encryption::SecretKey };
        let model = match gain {
            None => Model::Known,
            Some(gain) if gain.is_finite() && gain >= 1.0 => Model::Server { gain },
            Some(gain) => return Err(exception("ParamsError", &format!("gain = {gain}: give a number from 1"))),
        };
        let expected = apart(py, move || expectations(&traced.tape, key, model))?.map_err(of_runtime)?;
        Ok(expected.into_iter().map(Expected).collect())
    }

    /// What the recording holds: counts and traffic by role, as JSON.
    fn record(&self, py: Python<'_>) -> PyResult<String> {
        let recording = self.recording(py)?;
        let graph = &recording.graph;
        let log_n = self.0.tape.params.log_n();
        let keys: Vec<(String, usize)> =
            recording.keys.required.iter().map(|(name, &level)| (name.describe(log_n), level)).collect();
        json_of(&serde_json::json!({
            "nodes": graph.nodes().len(),
            "counts": graph.counts(),
            "traffic": graph.traffic(),
            "keys": keys,
            "levels_left": recording.results.iter().map(|r| r.level).min(),
        }))
    }

    /// Writes the graph (docs/graph-format.md).
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        write_graph(py, &self.recording(py)?.graph, &path)
    }

    /// The program on a machine: its report and, with events, its schedule as a Chrome trace; both JSON.
    #[pyo3(signature = (name, overrides, events=0))]
    fn time(
        &self,
        py: Python<'_>,
        name: String,
        overrides: Vec<(String, String)>,
        events: usize,
    ) -> PyResult<(String, Option<String>)> {
        let (recording, log_n) = (self.recording(py)?, self.0.tape.params.log_n());
        let timed = apart(py, move || -> limbwise_runtime::Result<_> {
            let spec = match &*name {
                "cpu" => calibrated([Some(log_n), None])?.spec()?,
                name => Spec::load(name)?,
            };
            let spec = spec.with_overrides(&overrides)?;
            timed(&recording.graph, &spec, events)
        })?;
        timed.map_err(of_runtime)
    }
}
