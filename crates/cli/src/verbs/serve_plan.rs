//! `limbwise serve-plan`: plans a job for `limbwise serve`, in a process that may be ended. Not for people.

use super::serve::ModelArgs;
use limbwise_server::planning;
use std::io::{BufReader, stdin, stdout};

/// Plan one job for "limbwise serve", which starts this: a request as a line of JSON on standard input, the plan or a
/// refusal as JSON on standard output
#[derive(Debug, clap::Args)]
pub(crate) struct ServePlan {
    #[command(flatten)]
    model: ModelArgs,
}

impl ServePlan {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        // The input itself and not its lock: a thread of its own looks at its end.
        planning::answer(BufReader::new(stdin()), &mut stdout(), &self.model.models())?;
        Ok(())
    }
}
