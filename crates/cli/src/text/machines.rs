//! Texts about machines.

use super::table::{line, render};
use crate::verbs::machines::{Summary, Whole};
use limbwise_machines::Field;
use serde_json::Value;
use std::fmt::Write as _;

pub(crate) fn list(all: &[Summary]) -> String {
    let entry = |m: &Summary| line(&m.name, &format!("{}; {} numbers, {} of them assumed", m.about, m.keys, m.assumed));
    all.iter().map(entry).collect()
}

pub(crate) fn explain(machine: &Whole) -> String {
    let row = |f: &Field| {
        let mut source = if f.assumed { format!("assumed: {}", f.source) } else { f.source.clone() };
        if !f.choices.is_empty() {
            let _ = write!(source, " (choices: {})", f.choices.join(", "));
        }
        let short = f.short_name.clone().unwrap_or_default();
        [f.path.clone(), f.value_text(), f.unit.to_owned(), short, source]
    };
    let rows: Vec<_> = machine.fields.iter().map(row).collect();
    let heading = format!("{}: {} (model {})\n", machine.name, machine.about, machine.model);
    heading + &render(["field", "value", "unit", "short name", "source, or why it is assumed"], &rows, &[1])
}

/// A complete variant as a file.
pub(crate) fn file(machine: &Whole) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let own = format!("{}-variant", machine.name);
    let mut text = if limbwise_machines::names().contains(&machine.built_in.as_str()) {
        format!("name = {}\nextends = {}\n", quoted(&own), quoted(&machine.built_in))
    } else {
        // A machine of its own has nothing to extend.
        let [name, model, about] = [&own, &machine.model, &machine.about].map(|text| quoted(text));
        format!("name = {name}\nmodel = {model}\nabout = {about}\n")
    };
    // A section's own fields stand together, before those of the sections in it: TOML has each heading once.
    let place = |path: &'_ str| path.rfind('.').map_or(0, |dot| dot + 1);
    let mut fields: Vec<_> = machine.fields.iter().collect();
    fields.sort_by_key(|field| &field.path[..place(&field.path)]);
    let mut section = "";
    for field in fields {
        let (sections, key) = field.path.rsplit_once('.').unwrap_or(("", &field.path));
        if sections != section {
            let _ = writeln!(text, "\n[{sections}]");
            section = sections;
        }
        let value = toml_value(&field.value);
        let _ = match field.assumed {
            true => writeln!(text, "{key} = {{ value = {value}, reason = {} }}", quoted(&field.source)),
            false => writeln!(text, "{:<44}# {}", format!("{key} = {value}"), field.source),
        };
    }
    text
}

fn toml_value(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |v| v.to_string())
}
