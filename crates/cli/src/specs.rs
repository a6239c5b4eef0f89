//! Machines by name with numbers changed on the command line.

use crate::failure::Mistake;
use limbwise_machines::{MachineError, Spec};

/// `PATH=VALUE` as two texts.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    let wanted = "wanted PATH=VALUE, for example memory.hbm.bandwidth_gb_s=2000";
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => Ok((path.trim().into(), value.trim().into())),
        _ => Err(wanted.into()),
    }
}

/// Machines with the changes to numbers that they have.
///
/// # Errors
/// An unknown machine, a change that none of them has a number for (with the nearest), a value out of range.
pub(crate) fn changed(names: &[String], changes: &[(String, String)]) -> anyhow::Result<Vec<Spec>> {
    let mut specs = names.iter().map(|name| Spec::load(name)).collect::<Result<Vec<_>, _>>()?;
    for spec in &mut specs {
        *spec = spec.with_overrides(&changes_of(spec, changes))?;
    }
    let known = |change: &&(String, String)| specs.iter().any(|spec| spec.takes(&change.0));
    let Some(change) = changes.iter().find(|change| !known(change)) else { return Ok(specs) };
    let one = std::slice::from_ref(change);
    let refusals: Vec<MachineError> = specs.iter().filter_map(|spec| spec.with_overrides(one).err()).collect();
    let has_hint = |e: &&MachineError| matches!(e, MachineError::UnknownKey { nearest: Some(_), .. });
    match refusals.iter().find(has_hint).or(refusals.first()) {
        Some(refusal) => Err(Mistake(format!("--set {}={}: {refusal}", change.0, change.1)).into()),
        None => {
            let part = change.0.rsplit_once('.').map_or("", |(part, _)| part);
            Err(Mistake(format!("--set {}={}: no machine here has a part \"{part}\"", change.0, change.1)).into())
        }
    }
}

pub(crate) fn changes_of(spec: &Spec, changes: &[(String, String)]) -> Vec<(String, String)> {
    changes.iter().filter(|(path, _)| spec.takes(path)).cloned().collect()
}
