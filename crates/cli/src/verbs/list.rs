//! `limbwise list`: what there is to name on the command line.

use crate::{
    output::OutputArgs,
    text,
    verbs::{machines, params},
    workload,
};
use limbwise_cpu::Isa;
use limbwise_runtime::{Host, open};
use limbwise_upmem::Preset;
use schemars::JsonSchema;
use serde::Serialize;

/// List workloads, presets, machine models and this computer's devices
///
/// Example:
///   limbwise list --json
///
/// What the columns mean:
///   presets     named, frozen parameter sets; "limbwise params show NAME" prints one
///   machines    models for "limbwise time"; assumed: their unpublished numbers
///   devices     devices of "limbwise run"; choose the instruction set with --isa
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct List {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Everything {
    pub(crate) workloads: Vec<Named>,
    /// Parameter sets of CKKS.
    pub(crate) presets: Vec<params::Set>,
    /// Parameter sets of TFHE.
    pub(crate) tfhe_presets: Vec<params::TfheSet>,
    /// Parameter sets of BGV.
    pub(crate) bgv_presets: Vec<params::BgvSet>,
    pub(crate) machines: Vec<machines::Summary>,
    pub(crate) devices: Vec<Device>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) about: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Device {
    pub(crate) name: &'static str,
    /// What the system offers.
    pub(crate) threads: usize,
    pub(crate) isas: Vec<InstructionSet>,
    /// Why it is not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) absent: Option<String>,
}

/// An instruction set with kernels.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstructionSet {
    pub(crate) name: &'static str,
    /// Whether this processor has it.
    pub(crate) available: bool,
}

impl List {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let isas = Isa::ALL.map(|isa| InstructionSet { name: isa.name(), available: isa.is_available() }).into();
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let everything = Everything {
            workloads: workload::all().into_iter().map(|(name, about)| Named { name, about }).collect(),
            presets: params::all()?,
            tfhe_presets: params::all_tfhe()?,
            bgv_presets: params::all_bgv()?,
            machines: machines::all()?,
            devices: vec![
                Device { name: "cpu", threads, isas, absent: None },
                gpu(),
                dpus(),
                hybrid("hybrid:cpu+upmem", threads, None),
                hybrid("hybrid:cpu+cuda", threads, gpu().absent),
            ],
        };
        output.report(&everything, &text::list::render(&everything))
    }
}

/// The GPU, or why there is none.
fn gpu() -> Device {
    let absent = open(&Host { device: Some("cuda".into()), ..Host::default() }).err().map(|e| e.to_string());
    let kernels = InstructionSet { name: "compiled for the GPU that is found", available: absent.is_none() };
    Device { name: "cuda", threads: 1, isas: vec![kernels], absent }
}

/// DPUs are interpreted, so they are everywhere: their chips, and the tasklets of one.
fn dpus() -> Device {
    let chips = [Preset::v1b(), Preset::v1a()].map(|chip| InstructionSet { name: chip.name, available: true });
    Device { name: "upmem", threads: Preset::v1b().tasklets, isas: chips.into(), absent: None }
}

/// Two devices that divide a program.
fn hybrid(name: &'static str, threads: usize, absent: Option<String>) -> Device {
    let kernels = InstructionSet { name: "those of both devices", available: absent.is_none() };
    Device { name, threads, isas: vec![kernels], absent }
}
