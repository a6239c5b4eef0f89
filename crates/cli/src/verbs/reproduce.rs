//! `limbwise reproduce`: what a paper says beside what the models say.

use crate::{
    files::{Target, apart},
    host::HostArgs,
    output::OutputArgs,
    specs::{assignment, changed},
};
use limbwise_runtime::reproduce;
use std::path::PathBuf;

/// Compare the published results of a system with the models
///
/// Records the circuits that the paper measures, schedules them on the model of its machine, and puts each published
/// number beside what comes out, with the relative difference and a verdict that never says more than it: equal at the
/// printed digits (and at most 1 % away), within 1 %, within 10 %, within 25 %, off. Counted apart: calibrated (the
/// machine has a number from the claim), context (the paper quotes another system), not derivable. A claim is one row;
/// other readings of it stand below. No model knows a published result.
///
/// Examples:
///   limbwise reproduce ark
///   limbwise reproduce ark --set hbm_gb_s=2000          what would change (limbwise machines show ark --explain)
///   limbwise reproduce ark --set distribution=limb-wise --json
///   limbwise reproduce fab --set conversion=shared
///   limbwise reproduce dramatic --set moduli=4          and its experiments, with this host's CPU measured beside them
///   limbwise reproduce mad                              counts, options alone and together, addresses in DRAM
///   limbwise reproduce fhex                             mapping, offloading and other memories; about a minute
///   limbwise reproduce flexmem                          networks, shapes, chips and readings; about a minute
///   limbwise reproduce zoo                              other accelerators, each a file of at most 80 lines
///
/// What the numbers mean:
///   paper, model    the published number, and the one that recordings and schedules give, fresh at each run
///   error           model / paper - 1
///   fixed           whether the reading was fixed before or after its result was seen, or unknown
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Reproduce {
    #[command(subcommand)]
    system: System,

    /// Change a number of the machines first; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment, global = true)]
    changes: Vec<(String, String)>,

    #[command(flatten)]
    host: HostArgs,

    /// Also write the table as one self-contained HTML file
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    html: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Which paper.
#[derive(Debug, clap::Subcommand)]
enum System {
    /// ARK \[ARK\]: a CKKS accelerator that reuses keys between operations and makes data at run time
    Ark,
    /// FAB \[FAB\]: CKKS on an FPGA board, and on several
    Fab,
    /// DRAMatic \[DRA\]: BGV on processing in memory (UPMEM), with this host's CPU measured beside it
    Dramatic,
    /// MAD \[MAD\]: design for memory, on the model of FAB's board, by the counts of SimFHE and on a DDR memory
    Mad,
    /// FHEx \[FHX\]: TFHE on a GPU and a unit of tiles under a DRAM stack, each operation on one or the other
    Fhex,
    /// FlexMem \[FLX\]: CKKS and TFHE on units between the subarrays of DRAM chips
    Flexmem,
    /// The zoo: bootstrapping and PBS on accelerators that are files of units, memories and networks
    Zoo,
}

impl Reproduce {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        apart(&[("--out", self.output.path()), ("--html", self.html.as_deref())])?;
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let machines =
            |names: &[&str]| changed(&names.iter().map(|&name| name.into()).collect::<Vec<_>>(), &self.changes);
        let reproduction = match self.system {
            System::Ark => {
                let specs = machines(&["ark", "f1-scaled"])?;
                reproduce::ark(&specs[0], &specs[1])?
            }
            System::Dramatic => {
                let specs = machines(&["upmem"])?;
                let cpu = reproduce::CpuSide::measure(&self.host.open_cpu()?)?;
                reproduce::dramatic(&specs[0], Some(&cpu))?
            }
            System::Fab => reproduce::fab(&machines(&["fab"])?[0])?,
            System::Mad => reproduce::mad(&machines(&["fab"])?[0])?,
            System::Fhex => {
                let specs = machines(&["fhex", "fhex-in-bank"])?;
                reproduce::fhex(&specs[0], &specs[1])?
            }
            System::Zoo => reproduce::zoo(&machines(&reproduce::ZOO)?)?,
            System::Flexmem => reproduce::flexmem(&machines(&["flexmem"])?[0])?,
        };
        if let Some(html) = html {
            html.write(reproduction.page().render().as_bytes())?;
        }
        output.report(&reproduction, &reproduction.to_string())
    }
}
