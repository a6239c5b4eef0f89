//! Fields of specifications: their units, ranges and kinds, and the sources that stand beside them in a file.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// One field of a machine, as it is explained to a reader.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Field {
    /// Its name with its sections, as `--set` takes it.
    pub path: String,
    /// Its value.
    pub value: serde_json::Value,
    /// Unit of the value, from its name; absent for counts, choices and texts.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
    /// Source of the value, or, under `[assumed]`, the reason for it.
    pub source: String,
    /// Whether nobody published it.
    pub assumed: bool,
    /// A shorter name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_name: Option<String>,
    /// The values it can have, where they are named ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// Units by the end of a field's name; longer ends stand first.
const UNITS: [(&str, &str); 23] = [
    ("_gb_s_per_cluster", "GB/s a cluster"),
    ("_gb_s_per_rank", "GB/s a rank"),
    ("_ns_per_limb", "ns a limb"),
    ("_per_cycle", "a cycle"),
    ("_per_cluster", "a cluster"),
    ("_per_lane", "a lane"),
    ("_gb_s", "GB/s"),
    ("_tb_s", "TB/s"),
    ("_term_ns", "ns a term"),
    ("_mhz", "MHz"),
    ("_ns", "ns"),
    ("_cycles", "cycles"),
    ("_mb", "MB"),
    ("_kb", "kB"),
    ("_bytes", "bytes"),
    ("_bits", "bits"),
    ("_mm2", "mm²"),
    ("_share", "of 1"),
    ("_slots", "instructions"),
    ("_factor", "times"),
    ("_pj", "pJ"),
    ("_w", "W"),
    ("_seconds", "s"),
];

impl Field {
    pub(crate) fn new(
        path: String,
        value: &Value,
        source: String,
        short_name: Option<String>,
        choices: Vec<String>,
    ) -> Self {
        let reason = value.get("reason").and_then(Value::as_str).map(str::to_owned);
        let unit = UNITS.iter().find(|(end, _)| path.ends_with(end)).map_or("", |(_, unit)| unit);
        Self {
            unit,
            value: serde_json::to_value(value.get("value").unwrap_or(value)).unwrap_or_default(),
            assumed: is_assumption(value),
            source: reason.unwrap_or(source),
            path,
            short_name,
            choices,
        }
    }

    /// The value as `--set` takes it.
    #[must_use]
    pub fn value_text(&self) -> String {
        match &self.value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(x) if x.is_f64() => x.as_f64().unwrap_or_default().to_string(),
            other => other.to_string(),
        }
    }
}

/// What a model says about its fields whose files are complete of themselves: there is no built-in file to compare with.
pub(crate) struct Kinds {
    /// A value of the kind of a field; `None` where there is no such field.
    pub(crate) of: fn(&str) -> Option<Value>,
    /// The texts that a field can be; none where any text is one.
    pub(crate) choices: fn(&str) -> &'static [&'static str],
    /// The paths that an unknown one may have meant.
    pub(crate) paths: fn(&str) -> Vec<String>,
    /// What holds where a file says nothing.
    pub(crate) usual: fn() -> Vec<Usual>,
    /// Fields that go by their last word, where a file gives them no other short name.
    pub(crate) by_last_word: &'static [&'static str],
}

/// A field that a file may leave out.
pub(crate) struct Usual {
    /// Its path.
    pub(crate) path: &'static str,
    /// Its value then.
    pub(crate) value: Value,
    /// Why, where that is an assumption.
    pub(crate) reason: &'static str,
}

/// A value with the reason for it, because nobody published it.
pub(crate) fn assumption(value: Value, reason: &str) -> Value {
    Value::Table([("value".into(), value), ("reason".into(), Value::from(reason))].into_iter().collect())
}

/// Whether a value is a number or a choice with its reason.
pub(crate) fn is_assumption(value: &Value) -> bool {
    value.as_table().is_some_and(|table| table.contains_key("value") && table.contains_key("reason"))
}

/// The table with the reasons left out.
pub(crate) fn values(table: &Table) -> Table {
    let value = |value: &Value| match value {
        Value::Table(inner) if is_assumption(value) => inner["value"].clone(),
        Value::Table(inner) => Value::Table(values(inner)),
        other => other.clone(),
    };
    table.iter().map(|(key, found)| (key.clone(), value(found))).collect()
}

/// All fields with their sections; a value with its reason is one field, and so is whatever stands under `[assumed]`.
pub(crate) fn leaves(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if key == "assumed" => {
                found.extend(inner.iter().map(|(name, entry)| (format!("assumed.{name}"), entry)));
            }
            Value::Table(inner) if !is_assumption(value) => {
                found.extend(leaves(inner).into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            _ => found.push((key.clone(), value)),
        }
    }
    found
}

/// The field of a path, as [`leaves`] finds it.
pub(crate) fn leaf<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    if let Some(value) = table.get(path).filter(|value| !value.is_table() || is_assumption(value)) {
        return Some(value);
    }
    let (section, rest) = path.split_once('.')?;
    let inner = table.get(section)?;
    match inner.as_table()? {
        entries if section == "assumed" => entries.get(rest),
        _ if is_assumption(inner) => None,
        fields => leaf(fields, rest),
    }
}

/// The comment beside each field of a file, or else beside the head of its section. A text that is no TOML has none.
pub(crate) fn sources(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Ok(document) = text.parse::<toml_edit::DocumentMut>() {
        comments(document.as_table(), "", "", &mut found);
    }
    found
}

fn comment(decor: &toml_edit::Decor) -> &str {
    let suffix = decor.suffix().and_then(|s| s.as_str()).unwrap_or_default();
    suffix.trim().trim_start_matches('#').trim()
}

fn comments(table: &toml_edit::Table, sections: &str, above: &str, found: &mut BTreeMap<String, String>) {
    for (key, item) in table {
        let path = if sections.is_empty() { key.to_owned() } else { format!("{sections}.{key}") };
        match item {
            toml_edit::Item::Table(inner) => {
                let own = comment(inner.decor());
                comments(inner, &path, if own.is_empty() { above } else { own }, found);
            }
            toml_edit::Item::Value(value) => {
                let own = comment(value.decor());
                found.insert(path, if own.is_empty() { above } else { own }.to_owned());
            }
            _ => {}
        }
    }
}

/// The range that a number is outside of. The bounds keep all products of a few numbers far from overflow.
pub(crate) fn out_of_range(path: &str, value: &Value) -> Option<&'static str> {
    let x = value.as_float().or_else(|| value.as_integer().map(to_f64))?;
    const MAY_BE_ZERO: [&str; 10] = [
        "_cycles",
        "_w",
        "_mm2",
        "latency_ns",
        "turnaround_ns",
        "node_ns",
        "launch_ns",
        "transfer_ns",
        "prefetch_mb",
        "policy.moduli",
    ];
    let may_be_zero = MAY_BE_ZERO.iter().any(|end| path.ends_with(end));
    let (range, wanted) = match (path.ends_with("_share"), value.is_integer(), may_be_zero) {
        (true, ..) => (0.0..=1.0, "a number from 0 to 1"),
        (_, true, true) => (0.0..=1e6, "an integer from 0 to 10^6"),
        (_, true, false) => (1.0..=1e6, "an integer from 1 to 10^6"),
        (_, false, true) => (0.0..=1e9, "a number from 0 to 10^9"),
        (_, false, false) => (1e-6..=1e9, "a number from 10^-6 to 10^9"),
    };
    (!range.contains(&x)).then_some(wanted)
}

#[expect(clippy::cast_precision_loss, reason = "for comparison with bounds only")]
fn to_f64(x: i64) -> f64 {
    x as f64
}

/// `new` as a value of the kind of `old`, or `new` back.
pub(crate) fn like(old: &Value, new: Value) -> Result<Value, Value> {
    match (old, new) {
        (Value::Float(_), Value::Integer(x)) => Ok(Value::Float(to_f64(x))),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let items: Result<Vec<Value>, Value> = old.iter().zip(&new).map(|(o, n)| like(o, n.clone())).collect();
            items.map(Value::Array).map_err(|_| Value::Array(new))
        }
        (Value::Array(old), Value::Array(new)) if is_names(old) && is_names(&new) => Ok(Value::Array(new)),
        (Value::Array(_), new) => Err(new),
        (old, new) if old.same_type(&new) => Ok(new),
        (_, new) => Err(new),
    }
}

/// Whether a list is one of names, which may be of any length but empty.
fn is_names(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(Value::is_str)
}

pub(crate) fn kind(value: &Value) -> String {
    match value {
        Value::Array(items) if is_names(items) => "a list of names".into(),
        Value::Integer(_) => "an integer".into(),
        Value::Float(_) => "a number".into(),
        Value::Boolean(_) => "true or false".into(),
        Value::Array(items) => format!("a list of {} numbers", items.len()),
        Value::Table(_) => "a table of \"value\" and \"reason\"".into(),
        _ => "a text".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_where_it_stands_among_all() {
        let text = "a = 1\nb = { value = 2, reason = \"r\" }\n[c]\nd = 3\n[c.e]\nf = 4\n[assumed]\ng = { value = 5, reason = \"r\" }\nh = {}\n";
        let table: Table = toml::from_str(text).unwrap();
        let all = leaves(&table);
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|(path, value)| leaf(&table, path) == Some(value)), "{all:?}");
        for path in ["c", "c.e", "b.value", "assumed", "assumed.g.value", "c.x", "x", ""] {
            assert_eq!(leaf(&table, path), None, "{path}");
        }
    }
}
