//! `limbwise machines`: the models, and every number of one with its source.

use crate::{failure::Mistake, output::OutputArgs, specs::assignment, text};
use clap::Subcommand;
use limbwise_machines::{Field, Spec, machine, names, new_machine};
use schemars::JsonSchema;
use serde::Serialize;
use std::{fs::File, io::Write as _};

/// List machine models, or show every number of one
///
/// A machine is a TOML file of numbers for a model. "limbwise time --set" changes any of them, by its
/// path or short name. Unpublished numbers are under "assumed", each with its reason.
///
/// Examples:
///   limbwise machines list
///   limbwise machines show ark --explain              each number with unit, value, source, short name
///   limbwise machines show ark > mine.toml            a variant to edit, for --machine mine.toml
///   limbwise machines show mine.toml --set clusters=8 --explain
///   limbwise machines new mine                        writes mine.toml: a machine of units, memories and networks
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Machines {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models that are built in
    List,
    /// Print a machine as an editable TOML file, or explain it number by number
    ///
    /// The file extends the machine and repeats all its numbers; delete those that you do not change.
    Show {
        /// A built-in machine or a TOML file
        machine: String,
        /// One line per number: path, value, unit, source or reason, short name
        #[arg(long)]
        explain: bool,
        /// Change a number first; may be repeated
        #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment)]
        changes: Vec<(String, String)>,
    },
    /// Write a commented file that describes a machine of your own: units, memories, networks, policies
    ///
    /// Edit it, then name its path as --machine. A file that exists is not overwritten.
    New {
        /// Name of the machine; the file is NAME.toml in this folder
        #[arg(value_parser = new_name)]
        name: String,
    },
}

/// The name of a new machine, with or without `.toml`.
fn new_name(text: &str) -> Result<String, String> {
    let name = text.strip_suffix(".toml").unwrap_or(text);
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 40 || !name.chars().all(letter) {
        return Err("a name has at most 40 letters, digits, '-' and '_'".into());
    }
    Ok(name.into())
}

/// A file that was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Written {
    /// Its path.
    pub(crate) path: String,
}

/// A machine in a line.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) about: String,
    /// How many numbers can be set.
    pub(crate) keys: usize,
    /// How many of them nobody published.
    pub(crate) assumed: usize,
}

/// All of a machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Whole {
    pub(crate) name: String,
    /// The built-in machine that it is or is a variant of.
    pub(crate) built_in: String,
    /// The model that reads it.
    pub(crate) model: String,
    pub(crate) about: String,
    /// Every number of it, with its source.
    pub(crate) fields: Vec<Field>,
}

impl Summary {
    fn new(spec: &Spec) -> Self {
        let (name, about) = (spec.name().into(), spec.about().into());
        Self { name, about, keys: spec.fields().len(), assumed: spec.assumed().len() }
    }
}

pub(crate) fn all() -> anyhow::Result<Vec<Summary>> {
    names().into_iter().map(|name| Ok(Summary::new(&Spec::load(name)?))).collect()
}

impl Machines {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        match &self.action {
            Action::List => {
                let all = all()?;
                output.report(&all, &text::machines::list(&all))
            }
            Action::Show { machine: name, explain, changes } => {
                let spec = Spec::load(name)?.with_overrides(changes)?;
                machine::open(&spec)?; // refuses numbers that do not go together
                let [name, built_in, model, about] =
                    [spec.name(), spec.built_in(), spec.model(), spec.about()].map(str::to_owned);
                let whole = Whole { name, built_in, model, about, fields: spec.fields() };
                let render = if *explain { text::machines::explain } else { text::machines::file };
                output.report(&whole, &render(&whole))
            }
            Action::New { name } => {
                let path = format!("{name}.toml");
                let written = File::create_new(&path)
                    .and_then(|mut file| file.write_all(new_machine(name).as_bytes()).and_then(|()| file.sync_all()));
                written.map_err(|e| Mistake(format!("{path}: cannot write: {e} (choose another name)")))?;
                let text = format!("{path} written: edit it, then limbwise time PROGRAM --machine {path}\n");
                output.report(&Written { path }, &text)
            }
        }
    }
}
