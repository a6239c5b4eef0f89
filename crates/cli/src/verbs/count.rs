//! `limbwise count`: what SimFHE's counting model says of a parameter set.

use crate::{failure::Mistake, output::OutputArgs, specs::assignment, text};
use limbwise_machines::simfhe::{Row, Set, Step, bootstrap, steps, subroutines};
use schemars::JsonSchema;
use serde::Serialize;

/// Count operations and bytes by the formulas of SimFHE
///
/// Evaluates SimFHE, the public counting model of MAD: modular operations and off-chip bytes of its subroutines and of
/// bootstrapping, from parameters alone. It is a cross-check: no program is recorded, and no other command uses it (how
/// it differs: docs/machine-specs.md).
///
/// Examples:
///   limbwise count                                    the set of the published tables: N = 2^17, 35 limbs of 64 bits
///   limbwise count fab --set caching=alpha --set reorder=true
///   limbwise count --set log_n=16,log_q=50,limbs=30,dnum=4,fft_iter=4 --json
///
/// What the numbers mean:
///   Gop, Gmult, Gadd   10^9 modular operations; multiplications; additions
///   limbs              transformed limbs
///   GB                 10^9 bytes moved: limbs read and written, keys read; depends on "caching"
///   ops a byte         operations per byte
///   steps              bootstrapping with the options added one after the other
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Count {
    /// Starting set: p35 (the published tables) or fab (FAB's parameters)
    #[arg(default_value = "p35")]
    set: String,

    /// Change fields of the set, comma-separated; may be repeated
    #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = assignment, value_delimiter = ',')]
    changes: Vec<(String, String)>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Counted {
    pub(crate) set: Set,
    /// Levels that bootstrapping takes.
    pub(crate) budget: u64,
    pub(crate) subroutines: Vec<Row>,
    /// Bootstrapping and its steps, the sum last.
    pub(crate) bootstrap: Vec<Row>,
    /// Bootstrapping with one option after the other.
    pub(crate) steps: Vec<Step>,
}

impl Count {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let set = Set::named(&self.set).and_then(|set| set.with(&self.changes)).map_err(|e| Mistake(e.to_string()))?;
        let counted = Counted {
            budget: set.budget(),
            subroutines: subroutines(&set),
            bootstrap: bootstrap(&set),
            steps: steps(&set),
            set,
        };
        output.report(&counted, &text::count::render(&counted))
    }
}
