//! Training on encrypted rows: the workload `logreg` on data from Python.

use crate::{
    buffer::numbers,
    error::{exception, look_at_signals, of_runtime, shape_error},
    params::PyParams,
    report::{News, tell},
};
use limbwise::rlwe::KeyForm;
use limbwise_apps::logreg::{
    client::{LogregClient, Options},
    data::{LabeledRows, Prepared},
    encrypted::levels_needed,
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::AnyDevice;
use limbwise_runtime::{
    Event, Host, open, plan, record, run,
    run::RunOptions,
    session::{Of, Sides},
};
use pyo3::prelude::{Bound, PyAny, PyResult, pyfunction};
use std::cell::Cell;

/// Rows that are scored encrypted at the end, so that the precision is known.
const SCORED: usize = 8;

/// Trains on rows whose first column is 1, scaled; returns the weights and the run's report as JSON.
#[pyfunction]
#[pyo3(signature = (rows, columns, labels, *, params, batch, iterations, degree, interval, seeded=false, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub(crate) fn train_logistic_regression(
    rows: &Bound<'_, PyAny>,
    columns: usize,
    labels: Vec<bool>,
    params: &PyParams,
    batch: usize,
    iterations: usize,
    degree: usize,
    interval: f64,
    seeded: bool,
    threads: Option<usize>,
) -> PyResult<String> {
    let py = rows.py();
    let features = numbers(rows, |rows| Ok(rows.iter().map(Cell::get).collect::<Vec<f64>>()))?;
    if columns == 0 || features.len() != columns * labels.len() || labels.is_empty() {
        return Err(shape_error("rows and labels that do not go together"));
    }
    let fits = interval > 0.0 && interval.is_finite();
    if !(1..=31).contains(&degree) || !fits {
        return Err(exception(
            "ParamsError",
            &format!("degree {degree} on ±{interval}: choose 3, 5 or 7 on a finite interval"),
        ));
    }
    let train = LabeledRows { features, cols: columns, labels };
    let scored = train.labels.len().min(SCORED);
    let test = LabeledRows {
        features: train.features[..scored * columns].to_vec(),
        cols: columns,
        labels: train.labels[..scored].to_vec(),
    };
    let names = (0..columns).map(|i| if i == 0 { "bias".into() } else { format!("x{i}") }).collect();
    let prepared = Prepared { train, test, columns: names, dropped: Vec::new() };
    let options = Options { batch_rows: batch, iterations, degree, interval };
    let (program, client) =
        LogregClient::sides(&params.params, prepared, options).map_err(|e| exception("LevelError", &e.to_string()))?;
    let form = if seeded { KeyForm::Seeded } else { KeyForm::Stored };
    let dev: AnyDevice = open(&Host { device: None, isa: None, threads }).map_err(of_runtime)?;
    let report = py.detach(|| -> limbwise_runtime::Result<_> {
        let recording = record(&program, form, &dev.footprint())?;
        look_at_signals()?;
        let host = crate::program::calibrated([Some(params.params.log_n()), None])?;
        let plan = plan(&program, &params.name, &recording, &host)?;
        look_at_signals()?;
        let options = RunOptions { ask: Some(look_at_signals), ..RunOptions::default() };
        let sides = Sides { program: &program, client: &Of(&client), seeds: &SeedSource::System };
        run(&dev, &sides, (&recording, &plan), &options, &mut (), &mut |event| match event {
            Event::Progress { step, done, total } => {
                tell(News { kind: "step", name: &step, done, total, ..News::default() });
            }
            Event::Done(step) => {
                tell(News { kind: "done", name: &step.name, seconds: step.seconds, ..News::default() })
            }
        })
    });
    let report = report.map_err(of_runtime)?;
    serde_json::to_string(&report).map_err(|e| exception("LimbwiseError", &e.to_string()))
}

/// Levels that a training takes.
#[pyfunction]
pub(crate) fn training_levels(iterations: usize, degree: usize) -> usize {
    levels_needed(iterations, degree)
}
