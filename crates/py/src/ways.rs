//! How sessions bootstrap and where their keys are: chosen by memory, and written down for the other side.

use crate::{
    error::exception,
    live::{Keys, Live},
};
use limbwise::{
    Result,
    ckks::{
        BootstrapPlan, Bootstrapper, Encoder,
        bootstrap::{Content, requirements},
    },
    params::Params,
    rlwe::{KeyForm, MadeKeys, SecretKey, key_bytes},
    wire::Origin,
};
use limbwise_device::Null;
use limbwise_runtime::AnyDevice;
use limbwise_runtime::{
    host,
    keys::{FileKeys, KeyDirectory, KeySource, RecentKeys},
};
use pyo3::prelude::PyResult;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Share of the memory at hand that keys and maps of bootstrapping may take when nobody says how much.
const SHARE: u64 = 2;

/// How a context keeps the keys that it makes.
pub(crate) struct KeyChoice {
    /// As memory demands where nobody says.
    pub(crate) form: Option<KeyForm>,
    /// The directory for those on disk.
    pub(crate) dir: Option<PathBuf>,
    /// Keys of rotations that may be made.
    pub(crate) most_galois: usize,
    /// Bytes for keys and maps.
    pub(crate) memory: Option<u64>,
}

/// Client and server in one.
pub(crate) fn both_sides(
    (dev, params): (Arc<AnyDevice>, &Params),
    secret: SecretKey,
    (slots, complex): (usize, bool),
    given: Option<BootstrapPlan>,
    keys: KeyChoice,
) -> Result<Live> {
    let free = || host::available_memory_bytes().map_or(u64::MAX, |free| free / SHARE);
    let memory = keys.memory.unwrap_or_else(free);
    let chosen = match (params.bootstrapping(), given) {
        (None, _) => None,
        (Some(_), Some(plan)) => Some((plan, KeyForm::Stored)),
        (Some(_), None) => Some(bootstrap_plan(params, slots, complex, keys.form, memory)?),
    };
    let form = keys.form.or(chosen.map(|c| c.1)).unwrap_or_default();
    let made = match &keys.dir {
        None => MadeKeys::new(form),
        Some(dir) => MadeKeys::with_home(form, Box::new(KeyDirectory::new(dev.clone(), params, dir, memory)?)),
    };
    let made = Keys::Made(made.with_most_galois(keys.most_galois));
    Ok(Live::new(dev, params, Some(Arc::new(secret)), made, chosen.map(|c| c.0)))
}

/// The keys of a file that begins after so many bytes of another kind, all in memory or within a budget; and what the file
/// says it belongs to.
pub(crate) fn keys_of_file(
    dev: &Arc<AnyDevice>,
    params: &Params,
    path: &Path,
    after: u64,
    form: KeyForm,
    memory: Option<u64>,
) -> Result<(Keys, Origin)> {
    let file = FileKeys::open_after(path, after, params)?;
    let origin = file.origin();
    let Some(memory) = memory else { return Ok((Keys::Given(file.read_all(&**dev, form)?), origin)) };
    let names = KeySource::<AnyDevice>::names(&file);
    let all: u64 = names.iter().map(|(&name, &level)| key_bytes(params, name, level, form)).sum();
    if all <= memory {
        return Ok((Keys::Given(file.read_all(&**dev, form)?), origin));
    }
    Ok((Keys::Filed(RecentKeys::new(dev.clone(), params, Box::new(file), memory)), origin))
}

/// The fastest way to bootstrap whose keys and maps fit into so many bytes, else the smallest. Keys on disk fit always.
fn bootstrap_plan(
    params: &Params,
    slots: usize,
    complex: bool,
    form: Option<KeyForm>,
    bytes: u64,
) -> Result<(BootstrapPlan, KeyForm)> {
    let content = if complex { Content::Complex } else { Content::Real };
    let with = |plan: BootstrapPlan| BootstrapPlan { content, ..plan };
    let (fastest, smallest) = (with(BootstrapPlan::fastest(slots)), with(BootstrapPlan::smallest(slots)));
    let maps = Bootstrapper::declare(&Null::default(), &Encoder::new(params), fastest)?;
    let maps = maps.bytes() + maps.host_bytes();
    let required = requirements(params, fastest)?;
    for form in form.map_or(vec![KeyForm::Stored, KeyForm::Seeded], |form| vec![form]) {
        let in_memory = if form == KeyForm::Disk { 0 } else { 1 };
        let keys: u64 = required.iter().map(|(&name, &level)| in_memory * key_bytes(params, name, level, form)).sum();
        if keys + maps <= bytes {
            return Ok((fastest, form));
        }
    }
    Ok((smallest, form.unwrap_or(KeyForm::Seeded)))
}

pub(crate) fn as_json(plan: Option<BootstrapPlan>) -> Option<String> {
    plan.and_then(|plan| serde_json::to_string(&plan).ok())
}

pub(crate) fn from_json(text: Option<&str>) -> PyResult<Option<BootstrapPlan>> {
    let wrong = |e: serde_json::Error| exception("ParamsError", &format!("not a plan of bootstrapping: {e}"));
    text.map(|text| serde_json::from_str(text).map_err(wrong)).transpose()
}
