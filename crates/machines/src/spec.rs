//! Specifications: the numbers of a machine, checked before anything is scheduled.
//!
//! A built-in file (`specs/x.toml`) is complete and is the schema: a variant names what it `extends` and gives only what
//! differs, and an override names one field. Both may use only fields that the built-in file has, with values of the
//! same kind. Ranges follow from the unit in a field's name, choices and short names stand in the built-in file.
//! A composed machine's file is complete of itself: its model says which fields there can be (ADR 144).

mod change;

use crate::{
    error::{MachineError, nearest},
    field::{self, Field, is_assumption, leaves},
    machine::{self, BUILT_IN},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
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
    short_names: BTreeMap<String, Paths>,
    choices: BTreeMap<String, Vec<String>>,
}

/// What a short name stands for: a field, or several that change together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Several(Vec<String>),
}

impl Paths {
    fn all(&self) -> &[String] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Several(paths) => paths,
        }
    }
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

/// A name of a file that reports and schedules repeat: kept once for as long as the process lives, as there are few.
pub(crate) fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
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
    short_names: BTreeMap<String, Paths>,
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
    spec_of(name, text, parse(text, name)?)
}

/// Letters of a machine's name.
const LONGEST_NAME: usize = 200;

/// A name that reports can show: one line, not empty.
fn name_of(name: String, origin: &str) -> Result<String, MachineError> {
    let length = name.chars().count();
    match name.trim().is_empty() || name.contains(char::is_control) || length > LONGEST_NAME {
        false => Ok(name),
        true => Err(MachineError::Value {
            machine: origin.into(),
            key: "name".into(),
            wanted: format!("a name of one line of at most {LONGEST_NAME} letters"),
            got: if length > LONGEST_NAME { format!("{length} letters") } else { format!("{name:?}") },
        }),
    }
}

/// The specification of a complete text, which parses to these fields.
fn spec_of(origin: &str, text: &str, mut fields: Table) -> Result<Spec, MachineError> {
    let Header { name, model, about, short_names, choices } =
        fields.clone().try_into().map_err(|e| problem(origin, e))?;
    HEADER.iter().for_each(|key| drop(fields.remove(*key)));
    let sources = field::sources(text);
    let name = name_of(name, origin)?;
    let mut spec = Spec { sources, built_in: name.clone(), name, model, about, fields, short_names, choices };
    spec.complete()?;
    Ok(spec)
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
        let stem = Path::new(origin).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let extends = match table.remove("extends") {
            Some(Value::String(name)) => name,
            None if table.get("model").and_then(Value::as_str).is_some_and(|m| machine::kinds(m).is_some()) => {
                table.entry("name").or_insert(Value::from(stem));
                table.entry("about").or_insert(Value::from(format!("the machine of {origin}")));
                let spec = spec_of(origin, text, table)?;
                spec.check()?;
                return Ok(spec);
            }
            _ => {
                let wanted = format!(
                    "extends = \"NAME\", one of {} or a TOML file; or, for a machine of its own, model = \"composed\"",
                    names().join(", ")
                );
                return Err(MachineError::Extends { origin: origin.into(), wanted });
            }
        };
        let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
        let base = if is_file(&extends) { folder.join(&extends).display().to_string() } else { extends };
        let mut spec = Self::load_after(&base, before)?;
        spec.name = name_of(spec.header(&mut table, "name", origin)?.unwrap_or(stem), origin)?;
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

    /// Everything that nobody published: what stands under `[assumed]`, and what has its reason beside it.
    #[must_use]
    pub fn assumed(&self) -> Vec<Assumption> {
        let assumption = |(path, entry): (String, &Value)| Assumption {
            key: path.strip_prefix("assumed.").unwrap_or(&path).to_owned(),
            value: serde_json::to_value(&entry["value"]).unwrap_or_default(),
            reason: entry["reason"].as_str().unwrap_or_default().into(),
        };
        leaves(&self.fields).into_iter().filter(|(_, entry)| is_assumption(entry)).map(assumption).collect()
    }

    /// Every field with its value, unit, source, short name and choices, in the order of the file's sections.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        let field = |(path, value): (String, &Value)| {
            let short_name = self.short_names.iter().find(|(_, full)| full.all().contains(&path));
            let short_name = short_name.map(|(short, _)| short.clone());
            let source = self.sources.get(&path).cloned().unwrap_or_default();
            let choices = self.choices.get(&path).cloned().unwrap_or_default();
            Field::new(path, value, source, short_name, choices)
        };
        leaves(&self.fields).into_iter().map(field).collect()
    }

    /// Whether a field has this path or short name.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let full = self.paths(path);
        full.iter().any(|path| field::leaf(&self.fields, path).is_some())
    }

    /// Whether this field may be given: one that is there, or one that its model knows, of a part that is there.
    #[must_use]
    pub fn takes(&self, path: &str) -> bool {
        self.paths(path).iter().all(|path| {
            let section = path.rsplit_once('.').map_or("", |(section, _)| section);
            let is_part = section.contains('.');
            let is_there = |known: &String| known.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
            self.has(path)
                || self.kind_of(path).is_some()
                    && (!is_part || leaves(&self.fields).iter().any(|(known, _)| is_there(known)))
        })
    }

    /// Whether a variant or the user has given this field, whatever its value.
    pub(crate) fn is_changed(&self, path: &str) -> bool {
        built_in(&self.built_in).is_ok_and(|base| base.sources.get(path) != self.sources.get(path))
    }

    /// The full paths of what may be given by a short name.
    fn paths(&self, name: &str) -> Vec<String> {
        self.short_names.get(name).map_or_else(|| vec![name.to_owned()], |paths| paths.all().to_vec())
    }

    /// The specification as its model reads it.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, MachineError> {
        self.fields.clone().try_into().map_err(|e| problem(&self.name, e))
    }

    /// The specification without reasons, as a model reads it whose fields may all be assumed.
    pub(crate) fn read_values<T: DeserializeOwned>(&self) -> Result<T, MachineError> {
        field::values(&self.fields).try_into().map_err(|e| problem(&self.name, e))
    }

    /// A complaint about one field.
    pub(crate) fn wrong(&self, path: &str, wanted: impl Into<String>, got: impl ToString) -> MachineError {
        let got = got.to_string();
        MachineError::Value { machine: self.name.clone(), key: path.into(), wanted: wanted.into(), got }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    #[test]
    fn an_unknown_model_is_refused_by_its_name() {
        let text = "name = \"abacus\"\nmodel = \"beads\"\nabout = \"a frame of beads\"\n";
        let spec = spec_of("abacus", text, parse(text, "abacus").expect("TOML")).expect("a specification");
        let refused = machine::open(&spec).err().map(|e| e.to_string());
        let told = "machine \"abacus\" names the unknown model \"beads\": choose one of cluster, composed, counts,";
        assert!(refused.as_ref().is_some_and(|text| text.starts_with(told)), "{refused:?}");
    }
}
