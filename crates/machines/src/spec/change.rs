//! Changes of a specification, and what a value must be.

use super::{Paths, Spec};
use crate::{
    error::{MachineError, nearest},
    field::{self, assumption, is_assumption, leaves},
    machine::{self, part_names},
};
use toml::{Table, Value};

/// Most fields of a file that is complete of itself: more than its model has, with as many parts as it takes.
const MOST_FIELDS: usize = 2000;

impl Spec {
    /// A copy with single fields changed, as `("memory.hbm.bandwidth_gb_s", "2000")` or by short names. Values are
    /// written as in TOML; a text may go without quotes.
    ///
    /// # Errors
    /// [`MachineError`] for unknown fields, values of another kind or out of range.
    pub fn with_overrides<P: AsRef<str>, V: AsRef<str>>(&self, overrides: &[(P, V)]) -> Result<Self, MachineError> {
        let mut spec = self.clone();
        let changes = overrides
            .iter()
            .flat_map(|(name, text)| self.paths(name.as_ref()).into_iter().map(move |path| (path, text.as_ref())));
        for (path, text) in changes {
            let parsed = toml::from_str::<Table>(&format!("value = {text}")).ok().filter(|t| t.len() == 1);
            let mut value = parsed.and_then(|mut t| t.remove("value")).unwrap_or_else(|| Value::from(text));
            // A choice may look like a number.
            if spec.choices.contains_key(&path) && !value.is_str() && !value.is_array() {
                value = Value::from(text);
            }
            if spec.kind_of(&path).is_some_and(|old| is_assumption(&old)) && !value.is_table() {
                value = assumption(value, "chosen by the user");
            }
            spec.assign(&path, value, "chosen by the user".into())?;
        }
        spec.check()?;
        Ok(spec)
    }

    /// Checks the fields of a model whose files are complete of themselves: brings each to its kind, adds what is usual.
    pub(super) fn complete(&mut self) -> Result<(), MachineError> {
        let Some(kinds) = machine::kinds(&self.model) else { return Ok(()) };
        let given: Vec<(String, Value)> = leaves(&self.fields).into_iter().map(|(p, v)| (p, v.clone())).collect();
        if given.len() > MOST_FIELDS {
            let problem = format!("a machine has at most {MOST_FIELDS} fields, got {}", given.len());
            return Err(MachineError::File { origin: self.name.clone(), problem });
        }
        self.fields = Table::new();
        let sources = std::mem::take(&mut self.sources);
        for (path, value) in given {
            let source = sources.get(&path).cloned().unwrap_or_default();
            self.assign(&path, value, source)?;
        }
        for usual in (kinds.usual)() {
            if !leaves(&self.fields).iter().any(|(path, _)| path == usual.path) {
                let assumed = !usual.reason.is_empty();
                let value = if assumed { assumption(usual.value, usual.reason) } else { usual.value };
                self.assign(usual.path, value, "usual".into())?;
            }
        }
        for &path in kinds.by_last_word {
            let has_one = self.short_names.values().any(|paths| paths.all().iter().any(|known| known == path));
            let word = path.rsplit('.').next().unwrap_or(path);
            if !has_one && !self.short_names.contains_key(word) {
                self.short_names.insert(word.into(), Paths::One(path.into()));
            }
        }
        Ok(())
    }

    /// A field that a file has, or that its model knows: a value of its kind.
    pub(super) fn kind_of(&self, path: &str) -> Option<Value> {
        let known = field::leaf(&self.fields, path).cloned();
        known.or_else(|| machine::kinds(&self.model).and_then(|kinds| (kinds.of)(path)))
    }

    /// Gives a field another value, of the kind of the old one or of the kind that the model knows.
    pub(super) fn assign(&mut self, path: &str, value: Value, source: String) -> Result<(), MachineError> {
        let kinds = machine::kinds(&self.model);
        let Some(old) = self.kind_of(path) else {
            if let Some(field) = path.strip_suffix(".value").filter(|field| self.kind_of(field).is_some()) {
                return Err(self.wrong(field, "a \"reason\" beside the \"value\"", "none"));
            }
            let known = leaves(&self.fields);
            let own = known.iter().map(|(p, _)| p).chain(self.short_names.keys()).map(String::as_str);
            let possible: Vec<String> = kinds.into_iter().flat_map(|kinds| (kinds.paths)(path)).collect();
            // The path of a field, but for the name of a part in it.
            if possible.iter().any(|known| known == path) {
                let name = path.split('.').nth(1).unwrap_or_default();
                return Err(self.wrong(path, part_names(), format!("{name:?}")));
            }
            return Err(MachineError::UnknownKey {
                machine: self.name.clone(),
                key: path.into(),
                nearest: nearest(path, own).or_else(|| nearest(path, possible.iter().map(String::as_str))),
            });
        };
        // Where the model knows the kind, a file may give any value with its reason, and a published one without.
        let free = kinds.is_some() && is_assumption(&value);
        let old = match old {
            Value::Table(mut old) if kinds.is_some() && !value.is_table() => {
                old.remove("value").unwrap_or(Value::Table(old))
            }
            old => old,
        };
        let value = match (old, value) {
            (old, Value::Table(mut new)) if old.is_table() || free => {
                let reason = new.get("reason").and_then(Value::as_str).is_some_and(|r| !r.trim().is_empty());
                let wanted = "a table of \"value\" and \"reason\"";
                if !reason || new.len() != 2 || !new.contains_key("value") {
                    return Err(self.wrong(path, wanted, Value::Table(new)));
                }
                let number = new.remove("value").unwrap_or(Value::from(0));
                let old = old.get("value").unwrap_or(&old);
                let like = field::like(old, number);
                new.insert("value".into(), like.map_err(|got| self.wrong(path, field::kind(old), got))?);
                Value::Table(new)
            }
            (old, new) => field::like(&old, new).map_err(|got| self.wrong(path, field::kind(&old), got))?,
        };
        if let Some(choices) = kinds.map(|kinds| (kinds.choices)(path)).filter(|choices| !choices.is_empty()) {
            self.choices.insert(path.into(), choices.iter().map(|&choice| choice.to_owned()).collect());
        }
        self.sources.insert(path.into(), source);
        self.put(path, value)
    }

    /// Puts a value in its place. A section that is not there is made; one that is a field already is refused.
    fn put(&mut self, path: &str, value: Value) -> Result<(), MachineError> {
        let (sections, key) = path.rsplit_once('.').unwrap_or(("", path));
        let mut table = &mut self.fields;
        for section in sections.split('.').filter(|s| !s.is_empty()) {
            let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            let Some(inner) = inner.as_table_mut() else {
                return Err(self.wrong(path, format!("a section \"{section}\""), "a value of that name"));
            };
            table = inner;
        }
        table.insert(key.into(), value);
        Ok(())
    }

    /// Ranges by the unit in a field's name, choices of texts.
    pub(super) fn check(&self) -> Result<(), MachineError> {
        for (path, value) in leaves(&self.fields) {
            let value = value.get("value").unwrap_or(value);
            let texts = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            let choices = self.choices.get(&path).map_or(&[][..], Vec::as_slice);
            let other = |text: &&str| !choices.is_empty() && !choices.iter().any(|choice| choice == text);
            if let Some(text) = texts.iter().filter_map(Value::as_str).find(other) {
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
