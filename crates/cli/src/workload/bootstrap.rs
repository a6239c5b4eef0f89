//! Options of `bootstrap`.

use super::{Built, KeysName, PlaintextsName, named_params, one};
use crate::failure::Mistake;
use clap::{Args, ValueEnum};
use limbwise::{
    Complex64,
    ckks::{
        BootstrapPlan, PlaintextForm, Promise,
        bootstrap::{Content, HalvesAt, Rotations},
    },
};
use limbwise_apps::{
    AnyClient, AnyProgram, Client as _,
    bootstrap::{
        Bootstrap,
        client::{BootstrapClient, Message},
    },
    data::{Numbers, load_array},
    description::Workload as Described,
};
use limbwise_runtime::frontier::Way;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How the maps rotate.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum RotationsName {
    /// A whole rotation a diagonal
    Direct,
    /// All rotations of one decomposition
    Hoisted,
    /// Baby steps hoisted, giant steps whole
    Bsgs,
    /// Baby and giant steps whole, one key each
    Whole,
    /// Baby steps stay over QP: usually the fastest
    DoubleHoisted,
    /// One key a progression: the fewest keys
    MultiHop,
}

impl From<RotationsName> for Rotations {
    fn from(name: RotationsName) -> Self {
        match name {
            RotationsName::Direct => Self::Direct,
            RotationsName::Hoisted => Self::Hoisted,
            RotationsName::Bsgs => Self::Bsgs,
            RotationsName::Whole => Self::Whole,
            RotationsName::DoubleHoisted => Self::DoubleHoisted,
            RotationsName::MultiHop => Self::MultiHop,
        }
    }
}

/// What the slots hold.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ContentName {
    /// Complex values
    Complex,
    /// Real values: imaginary parts are dropped, and half of EvalMod with them
    Real,
}

/// What is encrypted.
#[derive(Clone, Copy, Debug, ValueEnum, Serialize, Deserialize)]
enum MessageName {
    /// Both parts uniform in [-1, 1]
    Random,
    /// 0.7 + 0.3i in every slot
    Constant,
    /// Real, uniform in [0, 1]
    Positive,
    /// Both parts uniform in [-0.01, 0.01]
    Small,
}

/// The two halves of the coefficients in EvalMod.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum HalvesName {
    /// As a batch: the least time
    Once,
    /// One after the other: the least memory
    Turns,
}

/// What is encrypted: the client's business.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BootstrapData {
    /// What is encrypted
    #[arg(long, value_enum, default_value = "random", help_heading = "Message")]
    message: MessageName,

    /// Seed of the message
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Message")]
    data_seed: u64,
}

/// Options of `bootstrap`.
#[derive(Debug, Args)]
pub(crate) struct BootstrapArgs {
    /// Slots in use, a power of two [default: all]
    #[arg(long, value_name = "COUNT", help_heading = "Message")]
    slots: Option<usize>,

    /// What the slots hold
    #[arg(long, value_enum, default_value = "complex", help_heading = "Message")]
    content: ContentName,

    #[command(flatten)]
    pub(super) data: BootstrapData,

    /// How the maps rotate [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<RotationsName>,

    /// How their diagonals are stored [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    plaintexts: Option<PlaintextsName>,

    /// How evaluation keys are kept [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    keys: Option<KeysName>,

    /// The two halves of the coefficients in EvalMod [default: whichever is fastest and fits]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Strategy")]
    halves: Option<HalvesName>,

    /// Passes: the second bootstraps the error of the first
    #[arg(long, value_name = "COUNT", default_value_t = 1, help_heading = "Strategy")]
    passes: usize,

    /// Parameters with bootstrapping: a preset's name ("limbwise params show") or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "boot", help_heading = "Parameters")]
    preset: String,
}

impl BootstrapArgs {
    pub(super) fn build(&self, memory: Option<u64>) -> anyhow::Result<Built> {
        let params = named_params(&self.preset)?;
        let content = match self.content {
            ContentName::Complex => Content::Complex,
            ContentName::Real => Content::Real,
        };
        let slots = self.slots.unwrap_or(params.max_slots());
        let plan = BootstrapPlan { content, ..BootstrapPlan::fastest(slots) };
        // Mistakes in the plan first; the message is laid out for it.
        let unknown = Promise { magnitude: 1.0, peak: 1.0, real: false };
        let program = Bootstrap::new((&params, &self.preset), plan, self.passes, unknown)?;
        let client = self.data.client(&program, &[])?;
        let bounds = Promise::of(&client.values(0), slots).rounded();
        let program = Bootstrap::new((&params, &self.preset), plan, self.passes, bounds)?;
        Ok(Built {
            ways: self.ways(plan, memory),
            described: Described::Bootstrap { plan, passes: self.passes, bounds },
            base: AnyProgram::Bootstrap(program),
            client: Some(AnyClient::Bootstrap(client)),
            preset: self.preset.clone(),
            smaller: "fewer --slots, or leave open what --strategy, --plaintexts, --keys and --halves fix",
        })
    }

    /// Everything that the options leave open, but for what is never worth it: direct and hoisted rotations take a key a
    /// diagonal, and halves in turns save little beside the keys of other rotations than hops.
    fn ways(&self, plan: BootstrapPlan, memory: Option<u64>) -> Vec<Way> {
        let usual = [Rotations::DoubleHoisted, Rotations::Bsgs, Rotations::MultiHop];
        let rotations = self.strategy.map_or(usual.to_vec(), |name| vec![name.into()]);
        let forms = self.plaintexts.map_or(PlaintextForm::ALL.to_vec(), |name| vec![name.into()]);
        let keys = KeysName::forms(self.keys, memory);
        let halves = |rotations| match self.halves {
            Some(HalvesName::Once) => vec![HalvesAt::Once],
            Some(HalvesName::Turns) => vec![HalvesAt::Turns],
            None if rotations == Rotations::MultiHop => vec![HalvesAt::Once, HalvesAt::Turns],
            None => vec![HalvesAt::Once],
        };
        let mut ways = Vec::new();
        for &rotations in &rotations {
            for &form in &forms {
                for halves in halves(rotations) {
                    let plan = BootstrapPlan { rotations, form, halves, ..plan };
                    ways.extend(keys.iter().map(|&keys| Way { bootstrapping: Some(plan), ..Way::of_keys(keys) }));
                }
            }
        }
        ways
    }
}

impl BootstrapData {
    /// The message: of this file where one is given.
    pub(super) fn client(&self, program: &Bootstrap, files: &[PathBuf]) -> anyhow::Result<BootstrapClient> {
        if let Some(path) = one(files)? {
            let Numbers { shape, values } = load_array(path)?;
            let complex = values.iter().any(|z| z.im != 0.0);
            // A table of two columns has real and imaginary parts.
            let values = match shape[..] {
                [_, 2] if !complex => values.chunks_exact(2).map(|z| Complex64::new(z[0].re, z[1].re)).collect(),
                _ => values,
            };
            if program.plan().content == Content::Real && values.iter().any(|z| z.im != 0.0) {
                let text = format!("{}: complex numbers; the program was described for real ones", path.display());
                return Err(Mistake(text).into());
            }
            let wrong = |e| Mistake(format!("{}: {e}", path.display()));
            return Ok(BootstrapClient::new(program, "data", values).map_err(wrong)?);
        }
        let message = match self.message {
            MessageName::Random => Message::Random,
            MessageName::Constant => Message::Constant,
            MessageName::Positive => Message::Positive,
            MessageName::Small => Message::Small,
        };
        let values = message.values(program.plan().slots, program.plan().content, self.data_seed);
        Ok(BootstrapClient::new(program, message.name(), values).map_err(Mistake)?)
    }
}
