//! How sessions bootstrap: chosen by memory, and written down for the other side.

use crate::error::exception;
use limbwise::{
    ckks::{
        BootstrapPlan, Bootstrapper, Encoder,
        bootstrap::{Content, requirements},
    },
    params::Params,
    rlwe::{KeyForm, key_bytes},
};
use limbwise_device::Null;
use pyo3::prelude::PyResult;

/// Share of the memory at hand that keys and maps of bootstrapping may take when nobody says how much.
pub(crate) const SHARE: u64 = 2;

/// The fastest way to bootstrap whose keys and maps fit into so many bytes, else the smallest.
pub(crate) fn bootstrap_plan(
    params: &Params,
    slots: usize,
    complex: bool,
    bytes: u64,
) -> limbwise::Result<(BootstrapPlan, KeyForm)> {
    let content = if complex { Content::Complex } else { Content::Real };
    let with = |plan: BootstrapPlan| BootstrapPlan { content, ..plan };
    let (fastest, smallest) = (with(BootstrapPlan::fastest(slots)), with(BootstrapPlan::smallest(slots)));
    let maps = Bootstrapper::declare(&Null::default(), &Encoder::new(params), fastest)?;
    let maps = maps.bytes() + maps.host_bytes();
    let required = requirements(params, fastest)?;
    for form in [KeyForm::Stored, KeyForm::Seeded] {
        let keys: u64 = required.iter().map(|(&name, &level)| key_bytes(params, name, level, form)).sum();
        if keys + maps <= bytes {
            return Ok((fastest, form));
        }
    }
    Ok((smallest, KeyForm::Seeded))
}

pub(crate) fn as_json(plan: Option<BootstrapPlan>) -> Option<String> {
    plan.and_then(|plan| serde_json::to_string(&plan).ok())
}

pub(crate) fn from_json(text: Option<&str>) -> PyResult<Option<BootstrapPlan>> {
    let wrong = |e: serde_json::Error| exception("ParamsError", &format!("not a plan of bootstrapping: {e}"));
    text.map(|text| serde_json::from_str(text).map_err(wrong)).transpose()
}
