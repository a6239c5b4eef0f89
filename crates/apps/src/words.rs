//! Workloads by name, with options as words, for front ends other than the command line.
//!
//! The options come from the same declaration as the command line's, and so do the error texts.

use crate::registry::Options;
use clap::{ArgAction, ColorChoice, Command, FromArgMatches as _, Subcommand as _};

/// An option by its name, and its values: a flag has none.
pub type Given = (String, Vec<String>);

/// All workloads as subcommands of a command that only reads.
fn command() -> Command {
    let command = Command::new("limbwise").no_binary_name(true).subcommand_required(true);
    let plain = command.disable_help_flag(true).disable_help_subcommand(true).color(ColorChoice::Never);
    Options::augment_subcommands(plain)
}

/// The text of a mistake; whoever tells it says that it is one.
fn told(error: &clap::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

impl Options {
    /// A workload by its name, with words as they stand on the command line.
    ///
    /// # Errors
    /// The text of what the command line would refuse.
    pub fn parse(name: &str, words: &[String]) -> Result<Self, String> {
        let words = std::iter::once(name).chain(words.iter().map(String::as_str));
        let matches = command().try_get_matches_from(words).map_err(|e| told(&e))?;
        Self::from_arg_matches(&matches).map_err(|e| told(&e))
    }

    /// A workload by its name, with options by their names (underscores for hyphens). Several values are repeated if
    /// the option may be repeated, and comma-separated otherwise.
    pub fn of_names(name: &str, given: &[Given]) -> Result<Self, String> {
        let all = command();
        let again = |long: &str| {
            let mut arguments = all.find_subcommand(name)?.get_arguments();
            Some(matches!(arguments.find(|a| a.get_long() == Some(long))?.get_action(), ArgAction::Append))
        };
        let mut words = Vec::new();
        for (option, values) in given {
            let long = option.replace('_', "-");
            match (&values[..], again(&long)) {
                ([], _) => words.push(format!("--{long}")),
                (values, Some(true)) => words.extend(values.iter().map(|value| format!("--{long}={value}"))),
                (values, _) => words.push(format!("--{long}={}", values.join(","))),
            }
        }
        Self::parse(name, &words)
    }

    /// Whether a workload has an option of this name.
    pub fn knows(name: &str, option: &str) -> bool {
        let (all, long) = (command(), option.replace('_', "-"));
        all.find_subcommand(name).is_some_and(|c| c.get_arguments().any(|a| a.get_long() == Some(&long)))
    }

    /// Name and one line of each workload.
    pub fn all() -> Vec<(String, String)> {
        let about = |c: &Command| c.get_about().map(ToString::to_string).unwrap_or_default();
        command().get_subcommands().map(|c| (c.get_name().to_owned(), about(c))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str, values: &[&str]) -> Given {
        (name.into(), values.iter().map(|&value| value.into()).collect())
    }

    #[test]
    fn options_are_those_of_the_command_line() {
        let named = Options::of_names("pbs", &[given("batch", &["3"]), given("data_seed", &["7"])]).unwrap();
        let words = ["--batch", "3", "--data-seed", "7"].map(String::from);
        assert_eq!(format!("{named:?}"), format!("{:?}", Options::parse("pbs", &words).unwrap()));
        let table = [given("columns", &["apples", "bread"]), given("encrypted_matrix", &[])];
        let table = format!("{:?}", Options::of_names("bgv-table", &table).unwrap());
        assert!(table.contains(r#"["apples", "bread"]"#) && table.contains("encrypted_matrix: true"), "{table}");
        assert!(Options::knows("pbs", "data_seed") && !Options::knows("pbs", "pe_chain"));
        assert!(Options::all().iter().any(|(name, about)| name == "nn50" && !about.is_empty()));
    }

    #[test]
    fn mistakes_are_told_in_plain_text() {
        for (name, option, wanted) in [
            ("pbz", given("batch", &["3"]), "unrecognized subcommand 'pbz'"),
            ("pbs", given("bach", &["3"]), "unexpected argument '--bach' found"),
            ("pbs", given("batch", &["0"]), "invalid value '0' for '--batch <COUNT>'"),
            ("pbs", given("batch", &[]), "a value is required for '--batch <COUNT>'"),
        ] {
            let text = Options::of_names(name, &[option]).unwrap_err();
            assert!(text.starts_with(wanted) && !text.contains('\u{1b}'), "{text}");
        }
    }
}
