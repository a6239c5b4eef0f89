//! Specifications: the numbers of a machine, checked before anything is scheduled.
//!
//! A built-in file (`specs/x.toml`) is complete and is the schema: a variant names what it `extends` and gives only what
//! differs, and an override names one field. Both may use only fields that the built-in file has, with values of the
//! same kind. Ranges follow from the unit in a field's name, choices and short names stand in the built-in file.

use crate::{
    error::{MachineError, nearest},
    field::{self, Field, leaves},
    machine::BUILT_IN,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

/// Longest file that is read.
const MOST_BYTES: u64 = 1 << 20;
/// Most files that extend one another.
const MOST_FILES: usize = 16;
/// Keys of a file beside its fields.
const HEADER: [&str; 6] = ["name", "model", "about", "extends", "short_names", "choices"];

/// A checked specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    name: String,
    built_in: String,
    model: String,
    about: String,
    fields: Table,
    /// Source of each field's value: the comment beside it, or who changed it.
    sources: BTreeMap<String, String>,
    short_names: BTreeMap<String, String>,
    choices: BTreeMap<String, Vec<String>>,
}

/// A number (or choice) that nobody published, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
    BUILT_IN.iter().map(|machine| machine.name).collect()
}

fn problem(origin: &str, problem: impl ToString) -> MachineError {
    MachineError::File { origin: origin.into(), problem: problem.to_string() }
}

fn parse(text: &str, origin: &str) -> Result<Table, MachineError> {
    toml::from_str(text).map_err(|e| problem(origin, e))
}

/// Keys of a built-in file beside its fields.
#[derive(Deserialize)]
struct Header {
    name: String,
    model: String,
    about: String,
    #[serde(default)]
    short_names: BTreeMap<String, String>,
    #[serde(default)]
    choices: BTreeMap<String, Vec<String>>,
}

fn built_in(name: &str) -> Result<Spec, MachineError> {
    let machine = BUILT_IN.iter().find(|machine| machine.name == name);
    let text = machine.map(|machine| machine.text).ok_or_else(|| MachineError::UnknownMachine {
        name: name.into(),
        known: names().join(", "),
        nearest: nearest(name, names().into_iter()),
    })?;
    spec_of(name, text)
}

/// The specification of a complete text.
fn spec_of(name: &str, text: &str) -> Result<Spec, MachineError> {
    let mut fields = parse(text, name)?;
    let Header { name, model, about, short_names, choices } =
        fields.clone().try_into().map_err(|e| problem(name, e))?;
    HEADER.iter().for_each(|key| drop(fields.remove(*key)));
    Ok(Spec { sources: field::sources(text), built_in: name.clone(), name, model, about, fields, short_names, choices })
}

/// Whether a machine is given by a file.
fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "toml")
}

impl Spec {
    /// A built-in machine by its name, or a file by its path (which ends in `.toml`).
    ///
    /// # Errors
    /// [`MachineError`] for an unknown name, and as [`Self::from_toml`].
    pub fn load(name: &str) -> Result<Self, MachineError> {
        Self::load_after(name, &mut Vec::new())
    }

    fn load_after(name: &str, before: &mut Vec<PathBuf>) -> Result<Self, MachineError> {
        if !is_file(name) {
            return built_in(name);
        }
        let path = std::fs::canonicalize(name).map_err(|e| problem(name, e))?;
        if before.contains(&path) || before.len() == MOST_FILES {
            return Err(MachineError::Extends {
                origin: name.into(),
                wanted: format!("a machine that does not extend this one again, through at most {MOST_FILES} files"),
            });
        }
        let size = std::fs::metadata(&path).map_err(|e| problem(name, e))?.len();
        if size > MOST_BYTES {
            return Err(problem(name, format!("a specification has at most {MOST_BYTES} bytes, got {size}")));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| problem(name, e))?;
        before.push(path);
        Self::variant(&text, name, before)
    }

    /// A variant of another machine: `extends` names that one (a built-in name, or a path from the folder of `origin`),
    /// `name` and `about` describe this one, all else is what differs.
    ///
    /// # Errors
    /// [`MachineError`] for text that is no TOML, a missing or unknown `extends` or one that leads back here, unknown
    /// fields, values of another kind or out of range.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, MachineError> {
        Self::variant(text, origin, &mut Vec::new())
    }

    fn variant(text: &str, origin: &str, before: &mut Vec<PathBuf>) -> Result<Self, MachineError> {
        let mut table = parse(text, origin)?;
        let extends = match table.remove("extends") {
            Some(Value::String(name)) => name,
            _ => {
                let wanted = format!("extends = \"NAME\", one of {} or a TOML file", names().join(", "));
                return Err(MachineError::Extends { origin: origin.into(), wanted });
            }
        };
        let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
        let base = if is_file(&extends) { folder.join(&extends).display().to_string() } else { extends };
        let mut spec = Self::load_after(&base, before)?;
        let stem = Path::new(origin).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        spec.name = spec.header(&mut table, "name", origin)?.unwrap_or(stem);
        spec.about = spec.header(&mut table, "about", origin)?.unwrap_or_else(|| format!("a variant of {base}"));
        let comments = field::sources(text);
        for (path, value) in leaves(&table) {
            let source = comments.get(&path).filter(|comment| !comment.is_empty()).cloned();
            spec.assign(&path, value.clone(), source.unwrap_or_else(|| origin.to_owned()))?;
        }
        spec.check()?;
        Ok(spec)
    }

    /// A text of a variant's own that is not a field.
    fn header(&self, table: &mut Table, key: &str, origin: &str) -> Result<Option<String>, MachineError> {
        let wrong = |got: &Value| MachineError::Value {
            machine: origin.into(),
            key: key.into(),
            wanted: "a text".into(),
            got: got.to_string(),
        };
        table.remove(key).map(|value| value.as_str().map(str::to_owned).ok_or_else(|| wrong(&value))).transpose()
    }

    /// A copy with single fields changed, as `("memory.hbm.bandwidth_gb_s", "2000")` or by short names. Values are
    /// written as in TOML; a text may go without quotes.
    ///
    /// # Errors
    /// [`MachineError`] for unknown fields, values of another kind or out of range.
    pub fn with_overrides<P: AsRef<str>, V: AsRef<str>>(&self, overrides: &[(P, V)]) -> Result<Self, MachineError> {
        let mut spec = self.clone();
        for (path, text) in overrides {
            let (path, text) = (spec.path(path.as_ref()).to_owned(), text.as_ref());
            let parsed = toml::from_str::<Table>(&format!("value = {text}")).ok().filter(|t| t.len() == 1);
            let mut value = parsed.and_then(|mut t| t.remove("value")).unwrap_or_else(|| Value::from(text));
            // A choice may look like a number.
            if self.choices.contains_key(&path) && !value.is_str() {
                value = Value::from(text);
            }
            if path.starts_with("assumed.") && !value.is_table() {
                let reason = Value::from("chosen by the user");
                value = Value::Table([("value".into(), value), ("reason".into(), reason)].into_iter().collect());
            }
            spec.assign(&path, value, "chosen by the user".into())?;
        }
        spec.check()?;
        Ok(spec)
    }

    /// Name of the machine.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the built-in machine that this is, or is a variant of.
    #[must_use]
    pub fn built_in(&self) -> &str {
        &self.built_in
    }

    /// Name of the model that reads this.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Description in one line.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Everything under `[assumed]`.
    #[must_use]
    pub fn assumed(&self) -> Vec<Assumption> {
        let entries = self.fields.get("assumed").and_then(Value::as_table);
        let assumption = |(key, entry): (&String, &Value)| Assumption {
            key: key.clone(),
            value: serde_json::to_value(&entry["value"]).unwrap_or_default(),
            reason: entry["reason"].as_str().unwrap_or_default().into(),
        };
        entries.into_iter().flatten().map(assumption).collect()
    }

    /// Every field with its value, unit, source, short name and choices, in the order of the file's sections.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        let field = |(path, value): (String, &Value)| {
            let short_name = self.short_names.iter().find(|(_, full)| **full == path).map(|(short, _)| short.clone());
            let source = self.sources.get(&path).cloned().unwrap_or_default();
            let choices = self.choices.get(&path).cloned().unwrap_or_default();
            Field::new(path, value, source, short_name, choices)
        };
        leaves(&self.fields).into_iter().map(field).collect()
    }

    /// Whether a field has this path or short name.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let full = self.path(path);
        leaves(&self.fields).iter().any(|(known, _)| known == full)
    }

    /// Whether a variant or the user has given this field, whatever its value.
    pub(crate) fn is_changed(&self, path: &str) -> bool {
        built_in(&self.built_in).is_ok_and(|base| base.sources.get(path) != self.sources.get(path))
    }

    /// The full path of a field that may be given by its short name.
    fn path<'a>(&'a self, name: &'a str) -> &'a str {
        self.short_names.get(name).map_or(name, String::as_str)
    }

    /// The specification as its model reads it.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, MachineError> {
        self.fields.clone().try_into().map_err(|e| problem(&self.name, e))
    }

    /// A complaint about one field.
    pub(crate) fn wrong(&self, path: &str, wanted: impl Into<String>, got: impl ToString) -> MachineError {
        let got = got.to_string();
        MachineError::Value { machine: self.name.clone(), key: path.into(), wanted: wanted.into(), got }
    }

    fn assign(&mut self, path: &str, value: Value, source: String) -> Result<(), MachineError> {
        let known = leaves(&self.fields);
        let Some((_, old)) = known.iter().find(|(p, _)| p == path) else {
            let names = known.iter().map(|(p, _)| p).chain(self.short_names.keys()).map(String::as_str);
            return Err(MachineError::UnknownKey {
                machine: self.name.clone(),
                key: path.into(),
                nearest: nearest(path, names),
            });
        };
        let value = match (old, value) {
            (Value::Table(old), Value::Table(mut new)) => {
                let reason = new.get("reason").and_then(Value::as_str).is_some_and(|r| !r.trim().is_empty());
                let Some(number) = new.remove("value").filter(|_| reason && new.len() == 1) else {
                    return Err(self.wrong(path, "a table of \"value\" and \"reason\"", Value::Table(new)));
                };
                let like = field::like(&old["value"], number);
                new.insert("value".into(), like.map_err(|got| self.wrong(path, field::kind(&old["value"]), got))?);
                Value::Table(new)
            }
            (old, new) => field::like(old, new).map_err(|got| self.wrong(path, field::kind(old), got))?,
        };
        let (sections, key) = path.rsplit_once('.').unwrap_or(("", path));
        let inner = |table, section: &str| Table::get_mut(table, section).and_then(Value::as_table_mut);
        let table = sections.split('.').filter(|s| !s.is_empty()).try_fold(&mut self.fields, inner);
        table.expect("the path was found above").insert(key.into(), value);
        self.sources.insert(path.into(), source);
        Ok(())
    }

    /// Ranges by the unit in a field's name, choices of texts.
    fn check(&self) -> Result<(), MachineError> {
        for (path, value) in leaves(&self.fields) {
            let value = value.get("value").unwrap_or(value);
            if let Some((choices, text)) = self.choices.get(&path).zip(value.as_str())
                && !choices.iter().any(|choice| choice == text)
            {
                let nearest = nearest(text, choices.iter().map(String::as_str));
                let wanted = format!("one of {}", choices.join(", "));
                let (machine, key, got) = (self.name.clone(), path, text.to_owned());
                return Err(MachineError::Choice { machine, key, wanted, got, nearest });
            }
            for number in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
                if let Some(wanted) = field::out_of_range(&path, number) {
                    return Err(self.wrong(&path, wanted, number));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    #[test]
    fn an_unknown_model_is_refused_by_its_name() {
        let text = "name = \"abacus\"\nmodel = \"beads\"\nabout = \"a frame of beads\"\n";
        let refused = machine::open(&spec_of("abacus", text).expect("a specification")).err().map(|e| e.to_string());
        let told = "machine \"abacus\" names the unknown model \"beads\": choose one of ark, counts, cpu,";
        assert!(refused.as_ref().is_some_and(|text| text.starts_with(told)), "{refused:?}");
    }
}
