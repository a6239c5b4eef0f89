//! Seconds by step as one flat JSON object, for harnesses that collect them.

use crate::{files::Target, progress::Progress};
use serde_json::{Map, Value};
use std::{collections::HashMap, path::PathBuf, time::Instant};

/// The option of verbs whose steps are timed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SecondsArgs {
    /// Write the seconds of each step to a file, atomically: one JSON object from name to seconds; "total" is of the whole
    /// command, and a step that comes again has a number
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    seconds: Option<PathBuf>,
}

impl SecondsArgs {
    /// Checks the file before long work begins, and starts the clock.
    pub(crate) fn open(&self) -> anyhow::Result<Seconds> {
        Ok(Seconds { file: self.seconds.as_deref().map(Target::new).transpose()?, began: Instant::now() })
    }
}

/// A clock of the whole command, and where its steps go.
pub(crate) struct Seconds {
    file: Option<Target>,
    began: Instant,
}

impl Seconds {
    /// Writes the steps that were told, if a file is wanted.
    pub(crate) fn write(&self, progress: &Progress) -> anyhow::Result<()> {
        self.write_steps(progress.steps())
    }

    pub(crate) fn write_steps<'s>(&self, steps: impl IntoIterator<Item = (&'s str, f64)>) -> anyhow::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut text = serde_json::to_string_pretty(&flat(steps, self.began.elapsed().as_secs_f64()))?;
        text.push('\n');
        Ok(file.write(text.as_bytes())?)
    }
}

/// One object from name to seconds.
fn flat<'s>(steps: impl IntoIterator<Item = (&'s str, f64)>, total: f64) -> Map<String, Value> {
    let (mut object, mut met) = (Map::new(), HashMap::new());
    for (name, seconds) in steps {
        let times = met.entry(name).and_modify(|times| *times += 1).or_insert(1);
        let name = if *times == 1 { name.to_owned() } else { format!("{name} {times}") };
        object.insert(name, seconds.into());
    }
    object.insert("total".into(), total.into());
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_comes_again_has_a_number() {
        let object = flat([("inputs", 1.0), ("layer", 2.0), ("square", 0.5), ("layer", 3.0)], 7.0);
        let wanted = r#"{"inputs":1.0,"layer":2.0,"square":0.5,"layer 2":3.0,"total":7.0}"#;
        let wanted: Map<String, Value> = serde_json::from_str(wanted).unwrap();
        assert_eq!(object, wanted);
    }
}
