//! Specifications: the numbers of a machine, checked before anything is scheduled.
//!
//! A built-in file (`specs/x.toml`) is complete and is the schema: a user's file names the model it is a variant of
//! and gives only what differs, and an override names one key. Both may use only keys that the built-in file has, with
//! values of the same kind. Ranges follow from the unit in a key's name.

use crate::{
    error::{MachineError, nearest},
    machine::BUILT_IN,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use toml::{Table, Value};

/// Longest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// A checked specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    table: Table,
}

/// A number (or choice) that nobody published, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assumption {
    /// Its name under `[assumed]`.
    pub key: String,
    /// Its value.
    pub value: serde_json::Value,
    /// Why this value.
    pub reason: String,
}

/// An entry of `[assumed]` as a model reads it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumed<T> {
    /// Its value.
    pub value: T,
    /// Why this value; the report quotes it.
    #[serde(rename = "reason")]
    _reason: String,
}

/// The built-in machines.
#[must_use]
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

fn parse(text: &str, origin: &str) -> Result<Table, MachineError> {
    let problem = |e: toml::de::Error| MachineError::File { origin: origin.into(), problem: e.to_string() };
    toml::from_str(text).map_err(problem)
}

fn built_in(name: &str) -> Result<Table, MachineError> {
    let found = BUILT_IN.iter().find(|(n, _)| *n == name).ok_or_else(|| MachineError::UnknownMachine {
        name: name.into(),
        known: names().join(", "),
        nearest: nearest(name, names().into_iter()),
    })?;
    parse(found.1, name)
}

impl Spec {
    /// A built-in machine by its name, or a file by its path (which ends in `.toml`).
    ///
    /// # Errors
    /// [`MachineError`] for an unknown name, and as [`Self::from_toml`].
    pub fn load(name: &str) -> Result<Self, MachineError> {
        if std::path::Path::new(name).extension().is_none_or(|e| e != "toml") {
            return Ok(Self { table: built_in(name)? });
        }
        let wrong = |problem: String| MachineError::File { origin: name.into(), problem };
        let size = std::fs::metadata(name).map_err(|e| wrong(e.to_string()))?.len();
        if size > MOST_BYTES {
            return Err(wrong(format!("a specification has at most {MOST_BYTES} bytes, got {size}")));
        }
        Self::from_toml(&std::fs::read_to_string(name).map_err(|e| wrong(e.to_string()))?, name)
    }

    /// A variant of a built-in machine: `model` names it, the other keys are what differs.
    ///
    /// # Errors
    /// [`MachineError`] for text that is no TOML, a missing or unknown model, unknown keys, values of another kind or
    /// out of range.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, MachineError> {
        let variant = parse(text, origin)?;
        let missing = || MachineError::File {
            origin: origin.into(),
            problem: format!("a text \"model\" is wanted, one of {}", names().join(", ")),
        };
        let model = variant.get("model").and_then(Value::as_str).ok_or_else(missing)?;
        let mut spec = Self { table: built_in(model)? };
        for (path, value) in leaves(&variant) {
            spec.assign(&path, value.clone())?;
        }
        spec.check()?;
        Ok(spec)
    }

    /// The same with single keys changed, as `("hbm.bandwidth_gb_s", "2000")`. Values are written as in TOML; a text
    /// may go without quotes.
    ///
    /// # Errors
    /// [`MachineError`] for unknown keys, values of another kind or out of range.
    pub fn with_overrides<P: AsRef<str>, V: AsRef<str>>(&self, overrides: &[(P, V)]) -> Result<Self, MachineError> {
        let mut spec = self.clone();
        for (path, text) in overrides {
            let (path, text) = (path.as_ref(), text.as_ref());
            let parsed = toml::from_str::<Table>(&format!("value = {text}")).ok().filter(|t| t.len() == 1);
            let value = parsed.and_then(|mut t| t.remove("value")).unwrap_or_else(|| Value::from(text));
            let assumed = path.starts_with("assumed.") && !value.is_table();
            if !assumed {
                spec.assign(path, value)?;
                continue;
            }
            let mut entry = Table::new();
            entry.insert("value".into(), value);
            entry.insert("reason".into(), Value::from("chosen by the user"));
            spec.assign(path, Value::Table(entry))?;
        }
        spec.check()?;
        Ok(spec)
    }

    /// Name of the machine.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// Name of the built-in machine whose model reads this.
    #[must_use]
    pub fn model(&self) -> &str {
        self.text("model")
    }

    fn text(&self, key: &str) -> &str {
        self.table.get(key).and_then(Value::as_str).expect("every built-in specification has it as a text")
    }

    /// Everything under `[assumed]`.
    #[must_use]
    pub fn assumed(&self) -> Vec<Assumption> {
        let entries = self.table.get("assumed").and_then(Value::as_table);
        let assumption = |(key, entry): (&String, &Value)| Assumption {
            key: key.clone(),
            value: serde_json::to_value(&entry["value"]).unwrap_or_default(),
            reason: entry["reason"].as_str().unwrap_or_default().into(),
        };
        entries.into_iter().flatten().map(assumption).collect()
    }

    /// All keys with their values.
    #[must_use]
    pub fn keys(&self) -> Vec<(String, String)> {
        leaves(&self.table).into_iter().map(|(path, value)| (path, value.to_string())).collect()
    }

    /// The specification as its model reads it.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, MachineError> {
        let problem = |e: toml::de::Error| MachineError::File { origin: self.name().into(), problem: e.to_string() };
        self.table.clone().try_into().map_err(problem)
    }

    fn assign(&mut self, path: &str, value: Value) -> Result<(), MachineError> {
        let machine = self.name().to_owned();
        let wrong = |wanted: String, got: &Value| {
            Err(MachineError::Value { machine: machine.clone(), key: path.into(), wanted, got: got.to_string() })
        };
        let known = leaves(&self.table);
        let Some((_, old)) = known.iter().find(|(p, _)| p == path) else {
            let nearest = nearest(path, known.iter().map(|(p, _)| p.as_str()));
            return Err(MachineError::UnknownKey { machine, key: path.into(), nearest });
        };
        if path == "model" && value.as_str() != Some(self.model()) {
            return wrong(format!("\"{}\" (a variant keeps its model)", self.model()), &value);
        }
        let value = match (old, value) {
            (Value::Table(old), Value::Table(mut new)) => {
                let reason = new.get("reason").and_then(Value::as_str).is_some_and(|r| !r.trim().is_empty());
                let Some(number) = new.remove("value").filter(|_| reason && new.len() == 1) else {
                    return wrong("a table of \"value\" and \"reason\"".into(), &Value::Table(new));
                };
                match like(&old["value"], number) {
                    Ok(number) => new.insert("value".into(), number),
                    Err(got) => return wrong(kind(&old["value"]), &got),
                };
                Value::Table(new)
            }
            (old, new) => match like(old, new) {
                Ok(new) => new,
                Err(got) => return wrong(kind(old), &got),
            },
        };
        let (sections, key) = path.rsplit_once('.').unwrap_or(("", path));
        let inner = |table, section: &str| Table::get_mut(table, section).and_then(Value::as_table_mut);
        let table = sections.split('.').filter(|s| !s.is_empty()).try_fold(&mut self.table, inner);
        table.expect("the path was found above").insert(key.into(), value);
        Ok(())
    }

    /// Ranges by the unit in a key's name.
    fn check(&self) -> Result<(), MachineError> {
        for (path, value) in leaves(&self.table) {
            let value = value.get("value").unwrap_or(value);
            let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            for number in list {
                let Some(x) = number.as_float().or_else(|| number.as_integer().map(to_f64)) else { continue };
                let (ok, wanted) = range(&path, x, number.is_integer());
                if !ok {
                    let machine = self.name().into();
                    let (wanted, got) = (wanted.into(), number.to_string());
                    return Err(MachineError::Value { machine, key: path, wanted, got });
                }
            }
        }
        Ok(())
    }
}

/// Whether a number is in the range of its key, and what that range is. The bounds keep all products of a few numbers
/// far from overflow.
fn range(key: &str, x: f64, is_integer: bool) -> (bool, &'static str) {
    let may_be_zero = ["_cycles", "_w", "_mm2", "node_ns", "prefetch_mb"].iter().any(|end| key.ends_with(end));
    if key.ends_with("_share") {
        ((0.0..=1.0).contains(&x), "a number from 0 to 1")
    } else if is_integer {
        let least = if may_be_zero { 0.0 } else { 1.0 };
        (
            (least..=1e6).contains(&x),
            if may_be_zero { "an integer from 0 to 10^6" } else { "an integer from 1 to 10^6" },
        )
    } else if may_be_zero {
        ((0.0..=1e9).contains(&x), "a number from 0 to 10^9")
    } else {
        ((1e-6..=1e9).contains(&x), "a number from 10^-6 to 10^9")
    }
}

#[expect(clippy::cast_precision_loss, reason = "for comparison with bounds only")]
fn to_f64(x: i64) -> f64 {
    x as f64
}

/// `new` as a value of the kind of `old`, or `new` back.
fn like(old: &Value, new: Value) -> Result<Value, Value> {
    match (old, new) {
        (Value::Float(_), Value::Integer(x)) => Ok(Value::Float(to_f64(x))),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let items: Result<Vec<Value>, Value> = old.iter().zip(&new).map(|(o, n)| like(o, n.clone())).collect();
            items.map(Value::Array).map_err(|_| Value::Array(new))
        }
        (Value::Array(_), new) => Err(new),
        (old, new) if old.same_type(&new) => Ok(new),
        (_, new) => Err(new),
    }
}

fn kind(value: &Value) -> String {
    match value {
        Value::Integer(_) => "an integer".into(),
        Value::Float(_) => "a number".into(),
        Value::Boolean(_) => "true or false".into(),
        Value::Array(items) => format!("a list of {} numbers", items.len()),
        Value::Table(_) => "a table of \"value\" and \"reason\"".into(),
        _ => "a text".into(),
    }
}

/// All keys with their sections; an entry of `[assumed]` is one key.
fn leaves(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if key == "assumed" => {
                found.extend(inner.iter().map(|(name, entry)| (format!("assumed.{name}"), entry)));
            }
            Value::Table(inner) => {
                found.extend(leaves(inner).into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            _ => found.push((key.clone(), value)),
        }
    }
    found
}
