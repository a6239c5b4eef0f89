//! What each strategy for a linear map needs and costs, and the fastest that fits a memory budget.
//!
//! Every row comes from a recording of the map's application over a device without words: bytes and counts are exact,
//! cost is what the caller's model says of the graph. No formula of a strategy is used.

use crate::error::Result;
use limbwise::{
    ckks::{Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing, PlaintextForm, Strategy},
    params::Params,
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, key_bytes},
};
use limbwise_device::Null;
use limbwise_graph::{Counts, Graph, Recorder};
use serde::Serialize;

/// A linear map to be applied, and rescaled, at a level.
#[derive(Clone, Copy, Debug)]
pub struct LinearTask<'a> {
    /// The parameters.
    pub params: &'a Params,
    /// The map.
    pub diagonals: &'a Diagonals,
    /// The level it is applied at, at least 1.
    pub level: usize,
    /// How the keys are kept.
    pub keys: KeyForm,
}

/// One way to do it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The rotations.
    pub strategy: Strategy,
    /// The encoded diagonals.
    pub form: PlaintextForm,
    /// Rotation keys.
    pub keys: usize,
    /// Their bytes at this level.
    pub key_bytes: u64,
    /// Bytes of the encoded diagonals.
    pub plaintext_bytes: u64,
    /// Most bytes alive at once: keys, diagonals, input, intermediate values.
    pub peak_bytes: u64,
    /// The work.
    pub counts: Counts,
    /// What the caller's model makes of it, in its unit.
    pub cost: f64,
}

/// The graph of one way: inputs, keys and diagonals declared, the map applied and rescaled.
///
/// # Errors
/// What the scheme refuses: level 0, diagonals that cannot be encoded.
pub fn record_linear(task: LinearTask<'_>, strategy: Strategy, form: PlaintextForm) -> Result<(Graph, Row)> {
    let LinearTask { params, diagonals, level, keys } = task;
    let required = strategy.requirements(diagonals, params, level);
    let (recorder, encoder) = (Recorder::new(Null::default()), Encoder::new(params));
    let plan = KeyPlan { required, form: keys };
    let declared = DeclaredKeys::exactly(&recorder, params, &plan);
    let how = LinearPlan::new(params, strategy, form, level);
    let map = LinearTransform::declare(&recorder, &encoder, diagonals, how)?;
    let packing = Packing { slots: diagonals.slots(), level, scale: params.scale(level) };
    let input = encoder.declare(&recorder, &[vec![]], packing)?;
    let result = Evaluator::new(&recorder, params, &declared).linear_transform_rescaled(&input, &map)?;
    let graph = recorder.graph(); // while the result lives
    drop(result);
    let row = Row {
        strategy,
        form,
        keys: plan.required.len(),
        key_bytes: plan.required.iter().map(|(&name, &level)| key_bytes(params, name, level, keys)).sum(),
        plaintext_bytes: map.bytes(),
        peak_bytes: graph.peak_live_bytes(),
        counts: graph.counts(),
        cost: f64::NAN,
    };
    Ok((graph, row))
}

/// Every strategy in every form, the cheapest first.
///
/// # Errors
/// As [`record_linear`], or those of the cost.
pub fn rows(task: LinearTask<'_>, cost: impl Fn(&Graph) -> Result<f64>) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    for strategy in Strategy::candidates(task.diagonals) {
        for form in PlaintextForm::ALL {
            let (graph, row) = record_linear(task, strategy, form)?;
            all.push(Row { cost: cost(&graph)?, ..row });
        }
    }
    all.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.peak_bytes.cmp(&b.peak_bytes)));
    Ok(all)
}

/// The rows that no other row beats in both memory and cost; dearer ones need less memory. Rows come cheapest first.
#[must_use]
pub fn frontier(rows: &[Row]) -> Vec<Row> {
    let mut least = u64::MAX;
    rows.iter()
        .copied()
        .filter(|row| {
            let better = row.peak_bytes < least;
            least = least.min(row.peak_bytes);
            better
        })
        .collect()
}

/// The cheapest row that needs at most so many bytes.
#[must_use]
pub fn cheapest_within(rows: &[Row], bytes: u64) -> Option<Row> {
    rows.iter().copied().filter(|row| row.peak_bytes <= bytes).min_by(|a, b| a.cost.total_cmp(&b.cost))
}
