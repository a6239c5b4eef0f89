//! The program of a point: its words, as a user would write them, and what they make.

use crate::{
    failure::Mistake,
    workload::{Workload, narrow_preset},
};
use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand as _, parser::ValueSource};
use limbwise::{
    params::{ChangeableField, ParamsLiteral},
    scheme::{Ckks, Scheme as _},
};
use limbwise_apps::{
    AnyPrepared, on_scheme,
    options::{check_preset, literal_of},
};
use limbwise_machines::Spec;
use limbwise_runtime::sweep::{Grid, Recorded};

/// The option of workloads that names their parameters.
const PRESET: &str = "preset";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramField {
    Option(String),
    Parameter(ChangeableField),
}

/// A workload with its options, of which points replace some.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// Its name and options as they were given.
    pub(crate) words: Vec<String>,
    name: String,
    scheme: &'static str,
    /// Its parameters, as given or else as the machines ask for them, or as usual.
    preset: Option<String>,
    /// What the machines ask for where none are given.
    narrow: Option<&'static str>,
    given: Vec<String>,
    options: Vec<String>,
}

fn command() -> Command {
    Workload::augment_subcommands(Command::new("limbwise sweep").no_binary_name(true).subcommand_required(true))
        .mut_subcommands(|c| c.args_override_self(true))
}

/// Parses the words of a workload; help is printed, and ends the process, as everywhere.
fn matches(words: &[String]) -> Result<ArgMatches, clap::Error> {
    command().try_get_matches_from(words)
}

impl Template {
    pub(crate) fn new(words: &[String], machines: &[Spec]) -> Result<Self, clap::Error> {
        let matches = matches(words)?;
        let (name, own) = matches.subcommand().expect("a subcommand is required");
        let command = command();
        let options: Vec<&clap::Arg> =
            command.find_subcommand(name).into_iter().flat_map(Command::get_arguments).collect();
        let long = |arg: &&clap::Arg| arg.get_long().map(str::to_owned);
        let is_given = |arg: &&&clap::Arg| own.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let mut workload = Workload::from_arg_matches(&matches)?;
        let given = workload.preset().clone();
        let narrow = narrow_preset(&workload, machines);
        let usual = narrow.or_else(|| workload.usual_preset());
        Ok(Self {
            words: words.to_vec(),
            name: name.to_owned(),
            scheme: workload.scheme(),
            preset: given.or_else(|| usual.map(str::to_owned)),
            narrow,
            given: options.iter().filter(is_given).filter_map(long).collect(),
            options: options.iter().filter_map(long).collect(),
        })
    }

    /// Whether fields of its parameters can be varied one by one: those of CKKS have names.
    fn has_parameters(&self) -> bool {
        self.preset.is_some() && self.scheme == Ckks::NAME
    }

    /// The field of a name, if the program has one.
    pub(crate) fn field(&self, name: &str) -> Option<ProgramField> {
        let parameter = ChangeableField::named(name).filter(|_| self.has_parameters());
        let option = || self.options.iter().any(|o| o == name).then(|| ProgramField::Option(name.to_owned()));
        parameter.map(ProgramField::Parameter).or_else(option)
    }

    pub(crate) fn field_names(&self) -> Vec<String> {
        let parameters = limbwise::params::CHANGEABLE.iter().filter(|_| self.has_parameters());
        parameters.map(|field| field.name.to_owned()).chain(self.options.iter().cloned()).collect()
    }

    /// Refuses a value that the field can never have, and an option that is fixed beside being varied.
    pub(crate) fn check(&self, field: &ProgramField, value: &str) -> Result<(), Mistake> {
        let wrong = |name: &str, why: &str| Mistake(format!("--vary {name}={value}: {}", why.trim_end()));
        match field {
            ProgramField::Option(name) if self.given.contains(name) => {
                Err(wrong(name, &format!("--{name} is given to the workload as well: give it in one place")))
            }
            ProgramField::Option(name) => {
                let words = self.words_of(&[(name.clone(), value.to_owned())]);
                let parsed = matches(&words).map_err(|e| wrong(name, &first_line(&e)))?;
                let preset = (name == PRESET).then(|| check_preset(self.scheme, value)).transpose();
                preset.map_err(|e| wrong(name, &e.to_string()))?;
                Workload::from_arg_matches(&parsed).map(drop).map_err(|e| wrong(name, &first_line(&e)))
            }
            ProgramField::Parameter(parameter) => {
                let base = self.preset.as_deref().map(literal_of).transpose();
                let base: Option<ParamsLiteral> = base.map_err(|e| wrong(parameter.name, &e.to_string()))?;
                let changed = base.map(|base| base.changed(*parameter, value)).transpose();
                changed.map(drop).map_err(|e| wrong(parameter.name, &e.to_string()))
            }
        }
    }

    /// The words of the program with these fields.
    pub(crate) fn words_of(&self, fields: &[(String, String)]) -> Vec<String> {
        let mut words = self.words.clone();
        let mut preset = self.preset.clone();
        let mut changes = String::new();
        for (name, value) in fields {
            match self.field(name) {
                Some(ProgramField::Option(name)) if name == PRESET => preset = Some(value.clone()),
                Some(ProgramField::Parameter(field)) => changes += &format!(":{}={value}", field.name),
                _ => words.extend([format!("--{name}"), value.clone()]),
            }
        }
        if let Some(preset) = preset.filter(|preset| !changes.is_empty() || self.preset.as_ref() != Some(preset)) {
            words = without_preset(words);
            words.extend([format!("--{PRESET}"), preset + &changes]);
        }
        words
    }

    /// Builds the program of these fields and records it. What the options leave open is done in the first of the
    /// configurations that are compared elsewhere.
    pub(crate) fn record(&self, fields: &[(String, String)]) -> Result<Recorded, String> {
        let parsed = matches(&self.words_of(fields)).map_err(|e| first_line(&e))?;
        let mut workload = Workload::from_arg_matches(&parsed).map_err(|e| first_line(&e))?;
        if let Some(narrow) = self.narrow {
            workload.preset().get_or_insert_with(|| narrow.into());
        }
        let (prepared, _) = workload.prepare_timed().map_err(|e| e.to_string())?;
        on_scheme!(AnyPrepared, &prepared, built => {
            let way = *built.ways.first().ok_or("a program can be run in some way")?;
            Recorded::of(&built.program(way), way.keys).map_err(|e| e.to_string())
        })
    }

    /// The command that times one point of a grid by itself.
    pub(crate) fn command_of(
        &self,
        point: &limbwise_runtime::sweep::Point,
        machine: &str,
        sets: &[(String, String)],
    ) -> String {
        let words = self.words_of(&point.program);
        let of_machine = |(name, _): &&(String, String)| name != limbwise_runtime::sweep::grid::MACHINE;
        let changes = sets.iter().chain(point.machine.iter().filter(of_machine));
        let changes = changes.flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]);
        let machine = ["--machine".to_owned(), machine.to_owned()];
        let all = ["limbwise".to_owned(), "time".to_owned()].into_iter().chain(words).chain(machine).chain(changes);
        all.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// The words but for the parameters that they name.
fn without_preset(words: Vec<String>) -> Vec<String> {
    let mut left = words.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = left.next() {
        match word.strip_prefix("--preset") {
            Some("") => drop(left.next()),
            Some(rest) if rest.starts_with('=') => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// What clap says, in a line and without its advice.
fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let line = lines.join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

pub(crate) fn programs(grid: &Grid, template: &Template) -> usize {
    let of_program = grid.axes().filter(|axis| template.field(&axis.name).is_some());
    of_program.map(|axis| axis.values.len()).product()
}
