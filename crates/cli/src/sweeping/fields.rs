//! Where each field belongs, and the grid they make.

use super::{
    program::{ProgramField, Template},
    values::values,
};
use crate::failure::Mistake;
use limbwise_machines::{MachineError, Spec, machine};
use limbwise_runtime::sweep::{
    Axis, Grid, Metric,
    grid::{MACHINE, MOST_POINTS},
    row::METRICS,
};

/// Prefixes that say where a field belongs, where its name alone does not.
const OF_MACHINE: &str = "machine.";
const OF_PROGRAM: &str = "program.";

/// The grid of the fields that are varied.
///
/// # Errors
/// [`Mistake`] with the name of the field that is unknown, ambiguous or given twice, or of a value that it cannot have.
pub(crate) fn grid(
    varied: &[(String, String)],
    template: &Template,
    machines: &[(String, Spec)],
) -> Result<Grid, Mistake> {
    let (mut program, mut machine): (Vec<Axis>, Vec<Axis>) = (Vec::new(), Vec::new());
    if let [_, _, ..] = machines {
        let values = machines.iter().map(|(name, _)| name.clone()).collect();
        machine.push(Axis { name: MACHINE.into(), values });
    }
    for (name, text) in varied {
        let wrong = |why: String| Mistake(format!("--vary {name}={text}: {why}"));
        let values = values(text).map_err(wrong)?;
        let found = place(name, template, machines).map_err(wrong)?;
        let own = match &found {
            Place::Program(ProgramField::Option(own)) => own.clone(),
            Place::Program(ProgramField::Parameter(field)) => field.name.to_owned(),
            Place::Machine(own) => own.clone(),
        };
        if program.iter().chain(&machine).any(|axis| axis.name == own) {
            return Err(wrong("the field is varied twice: give all its values at once".into()));
        }
        for value in &values {
            match &found {
                Place::Program(field) => template.check(field, value)?,
                Place::Machine(own) => check(own, value, machines).map_err(|e| wrong(e.to_string()))?,
            }
        }
        let axis = Axis { name: own, values };
        if matches!(found, Place::Program(_)) { program.push(axis) } else { machine.push(axis) }
    }
    Grid::new(program, machine)
        .ok_or_else(|| Mistake(format!("more than {MOST_POINTS} points: vary fewer fields, or fewer values of each")))
}

enum Place {
    Program(ProgramField),
    Machine(String),
}

fn place(name: &str, template: &Template, machines: &[(String, Spec)]) -> Result<Place, String> {
    let lacks = |own: &str| machines.iter().find(|(_, spec)| !spec.has(own));
    if let Some(own) = name.strip_prefix(OF_MACHINE).filter(|own| lacks(own).is_none()) {
        return Ok(Place::Machine(own.to_owned()));
    }
    if let Some(field) = name.strip_prefix(OF_PROGRAM).and_then(|own| template.field(own)) {
        return Ok(Place::Program(field));
    }
    let missing = lacks(name);
    match (template.field(name), missing) {
        (Some(_), None) => Err(format!(
            "both {} and the machine have a field of this name: say {OF_PROGRAM}{name} or {OF_MACHINE}{name}",
            template.name()
        )),
        (Some(field), Some(_)) => Ok(Place::Program(field)),
        (None, None) => Ok(Place::Machine(name.to_owned())),
        (None, Some(_)) if machines.iter().any(|(_, spec)| spec.has(name)) => {
            let machine = missing.map_or("", |(name, _)| name);
            Err(format!("machine \"{machine}\" has no such field, and every machine of a sweep must have it"))
        }
        (None, Some((_, spec))) => Err(unknown(name, template, spec)),
    }
}

fn unknown(name: &str, template: &Template, spec: &Spec) -> String {
    let hint = match spec.with_overrides(&[(name, "1")]) {
        Err(MachineError::UnknownKey { nearest: Some(nearest), .. }) => format!("; did you mean {nearest}?"),
        _ => ".".into(),
    };
    format!(
        "there is no such field{hint} Fields of {}: {}; of the machine: limbwise machines show {} --explain",
        template.name(),
        template.field_names().join(", "),
        spec.built_in()
    )
}

/// Whether each machine takes a value alone.
fn check(name: &str, value: &str, machines: &[(String, Spec)]) -> Result<(), MachineError> {
    machines.iter().try_for_each(|(_, spec)| spec.with_overrides(&[(name, value)]).map(drop))
}

/// The objectives of these names; without any, seconds, and the area where every machine has one.
///
/// # Errors
/// [`Mistake`] for names that are none, or for numbers that a machine does not give.
pub(crate) fn objectives(names: &[String], machines: &[(String, Spec)]) -> Result<Vec<Metric>, Mistake> {
    let known = || METRICS.iter().map(|m| m.name).collect::<Vec<_>>().join(", ");
    let named = |name: &str| {
        let none = || Mistake(format!("--objectives {name}: there is no such number; choose of {}", known()));
        Metric::named(name).ok_or_else(none)
    };
    if names.is_empty() {
        let seconds = named("seconds")?;
        let area = named("area_mm2")?;
        let has = machines.iter().map(|(_, spec)| gives(spec, &area)).collect::<Result<Vec<bool>, Mistake>>()?;
        return Ok(if has.contains(&false) { vec![seconds] } else { vec![seconds, area] });
    }
    let objectives = names.iter().map(|name| named(name)).collect::<Result<Vec<Metric>, Mistake>>()?;
    for wanted in &objectives {
        for (name, spec) in machines {
            if !gives(spec, wanted)? {
                let text = format!(
                    "--objectives {}: the model \"{name}\" does not know it; choose of seconds, off_chip_bytes, key_bytes, products, t_as_us, slots_bits_s, precision_bits, log2_failure, budget_bits",
                    wanted.name
                );
                return Err(Mistake(text));
            }
        }
    }
    Ok(objectives)
}

/// Whether a machine gives a number: energy and area are those that some do not.
fn gives(spec: &Spec, wanted: &Metric) -> Result<bool, Mistake> {
    if !["energy_j", "area_mm2", "edap"].contains(&wanted.name) {
        return Ok(true);
    }
    let empty = limbwise_graph::Graph::default();
    let machine = machine::open(spec).map_err(|e| Mistake(e.to_string()))?;
    let schedule = machine.schedule(&empty).map_err(|e| Mistake(e.to_string()))?;
    let energy = machine.report(&empty, &schedule).energy;
    Ok(energy.is_some_and(|e| wanted.name == "energy_j" || e.area_mm2.is_some()))
}
