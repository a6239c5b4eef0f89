//! Options of `bootstrap`.

use super::{
    Bootstrap,
    client::{BootstrapClient, Message},
};
use crate::{
    client::Client as _,
    data::{Numbers, load_array},
    linear::layer::Model,
    options::{Choice, ROTATIONS, StorageArgs, choice, mistake, named_params, one, usual_slots},
    way::Way,
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    Complex64,
    ckks::{
        BootstrapPlan, PlaintextForm, Promise,
        bootstrap::{BabySteps, Content, HalvesAt, Rotations},
    },
    params::Params,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What both sides know of a bootstrapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// How it is carried out.
    pub plan: BootstrapPlan,
    pub passes: usize,
    /// What is known of the message.
    pub bounds: Promise,
}

/// What the slots hold.
const CONTENTS: &[Choice<Content>] = &[
    ("complex", Content::Complex, "Complex values"),
    ("real", Content::Real, "Real values: imaginary parts are dropped, and half of EvalMod with them"),
];

/// The two halves of the coefficients in EvalMod.
const HALVES: &[Choice<HalvesAt>] = &[
    ("once", HalvesAt::Once, "As a batch: least time"),
    ("turns", HalvesAt::Turns, "One after the other: least memory"),
    ("beside", HalvesAt::Beside, "Side by side in one message, for few slots: half the work"),
];

/// The baby steps of the maps.
const BABIES: &[Choice<BabySteps>] = &[
    ("usual", BabySteps::Usual, "As many as balance them with giant steps"),
    ("fewer", BabySteps::Fewer, "Half as many, with twice the giant steps"),
    ("more", BabySteps::More, "Twice as many, with half the giant steps"),
];

/// What is encrypted: the client's business.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapData {
    /// What is encrypted
    #[arg(long, value_enum, default_value = "random", help_heading = "Message")]
    message: Message,

    /// Seed of the message
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Message")]
    data_seed: u64,
}

/// CKKS bootstrapping of one ciphertext: levels, precision, time per step, keys and memory, in every strategy
///
/// A message in all slots is encrypted, bootstrapped, decrypted and compared in one run; then it is multiplied once
/// at each level gained, for the amortized time T_A.S. (microseconds per level and slot). Keys and maps trade memory for
/// time: "plan" lists the Pareto-optimal configurations, "--memory" takes the fastest that fits.
///
/// Examples:
///   bootstrap                                                 the default preset, 2^15 complex slots
///   bootstrap --memory 3GB                                    within 3 GB, keys and maps included
///   bootstrap --preset boot-s8                                256 slots, halves side by side, 16 levels
///   bootstrap --preset boot-n15 --slots 64 --content real     few real slots on a smaller ring
///   bootstrap --preset boot-precise --passes 2                two passes for more precision
///   bootstrap --preset boot-80                                two passes at scales beyond double precision
///   bootstrap --message constant --strategy multi-hop         another strategy, another message
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct BootstrapArgs {
    /// Slots in use, a power of two [default: those that the preset is meant for, else all]
    #[arg(long, value_name = "COUNT", help_heading = "Message")]
    slots: Option<usize>,

    /// What the slots hold
    #[arg(long, value_parser = choice(CONTENTS), default_value = "complex", help_heading = "Message")]
    content: Content,

    #[command(flatten)]
    data: BootstrapData,

    /// Rotation strategy of the maps [default: the fastest that fits]
    #[arg(long, value_parser = choice(ROTATIONS), value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<Rotations>,

    /// Baby steps of the maps, beside the usual number [default: the fastest that fits]
    #[arg(long, value_parser = choice(BABIES), value_name = "HOW", help_heading = "Strategy")]
    baby_steps: Option<BabySteps>,

    #[command(flatten)]
    storage: StorageArgs,

    /// The two halves of the coefficients in EvalMod [default: side by side for few slots, else the fastest that fits]
    #[arg(long, value_parser = choice(HALVES), value_name = "HOW", help_heading = "Strategy")]
    halves: Option<HalvesAt>,

    /// Number of passes; each but the first bootstraps the error that is left [default: those of the preset, usually 1]
    #[arg(long, value_name = "COUNT", help_heading = "Strategy")]
    passes: Option<usize>,

    /// Parameters with bootstrapping: a preset's name ("limbwise params show") or a TOML file
    /// [default: boot-words]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "boot-words";

impl Workload for BootstrapArgs {
    type Scheme = Ckks;
    type Program = Bootstrap;
    type Client = BootstrapClient;
    type Described = Described;
    type Data = BootstrapData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let params = named_params(preset)?;
        let slots = self.slots.unwrap_or_else(|| usual_slots(preset, &params));
        let plan = BootstrapPlan { content: self.content, ..BootstrapPlan::fastest(slots) };
        // Mistakes in the plan first; the message is laid out for it.
        let unknown = Promise { magnitude: 1.0, peak: 1.0, real: false };
        let program = Bootstrap::new((&params, preset), plan, self.passes, unknown)?;
        let client = self.data.client(&program, &[])?;
        let bounds = Promise::of(&client.values(0), slots).rounded();
        Ok(Built {
            ways: self.ways(plan, &params, memory),
            described: Described { plan, passes: program.passes(), bounds },
            program: Bootstrap::new((&params, preset), plan, self.passes, bounds)?,
            client: Some(client),
            preset: preset.into(),
            smaller: "fewer --slots, or leave open what --strategy, --plaintexts, --keys and --halves fix",
        })
    }

    fn data(&self) -> BootstrapData {
        self.data.clone()
    }

    fn program(of: &Described, params: Named<'_, Ckks>, _: Option<&Model>) -> Refusable<Bootstrap> {
        Ok(Bootstrap::new(params, of.plan, Some(of.passes), of.bounds)?)
    }

    fn in_way(described: &mut Described, way: Way) {
        described.plan = way.bootstrapping.unwrap_or(described.plan);
    }

    fn client(
        data: &BootstrapData,
        _: &Described,
        program: &Bootstrap,
        files: &[PathBuf],
    ) -> Refusable<BootstrapClient> {
        data.client(program, files)
    }
}

impl BootstrapArgs {
    /// The numbers of baby steps that are compared: all for the strategy and the form that a plan takes for their speed.
    /// Multi-hop rotations have as many keys with any number.
    fn babies(&self, rotations: Rotations, form: PlaintextForm) -> Vec<BabySteps> {
        match (self.baby_steps, rotations, form) {
            (Some(babies), ..) => vec![babies],
            (None, Rotations::DoubleHoisted, PlaintextForm::Full) => BabySteps::ALL.to_vec(),
            _ => vec![BabySteps::Usual],
        }
    }

    /// Everything that the options leave open, but for what is never worth it: direct and hoisted rotations take a key a
    /// diagonal, halves in turns save little beside the keys of other rotations than hops, and halves that fit side by
    /// side take less of both.
    fn ways(&self, plan: BootstrapPlan, params: &Params, memory: Option<u64>) -> Vec<Way> {
        let rotations = self.strategy.map_or(Rotations::USUAL.to_vec(), |name| vec![name]);
        // Real values go through EvalMod once anyhow.
        let fits = plan.content == Content::Complex
            && params.bootstrapping().is_some_and(|boot| plan.slots <= boot.slots_beside());
        let halves = |rotations| match self.halves {
            Some(halves) => vec![halves],
            None if fits => vec![HalvesAt::Beside],
            None if rotations == Rotations::MultiHop => vec![HalvesAt::Once, HalvesAt::Turns],
            None => vec![HalvesAt::Once],
        };
        let mut plans = Vec::new();
        for rotations in rotations {
            for &form in self.storage.forms(&PlaintextForm::ALL) {
                for babies in self.babies(rotations, form) {
                    plans.extend(halves(rotations).into_iter().map(|halves| BootstrapPlan {
                        rotations,
                        form,
                        halves,
                        babies,
                        ..plan
                    }));
                }
            }
        }
        self.storage.ways_of_plans(plans, memory)
    }
}

impl BootstrapData {
    /// The message: of this file where one is given.
    fn client(&self, program: &Bootstrap, files: &[PathBuf]) -> Refusable<BootstrapClient> {
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
                return Err(mistake(text));
            }
            let wrong = |e| mistake(format!("{}: {e}", path.display()));
            return BootstrapClient::new(program, "data", values).map_err(wrong);
        }
        let values = self.message.values(program.plan().slots, program.plan().content, self.data_seed);
        BootstrapClient::new(program, self.message.name(), values).map_err(mistake)
    }
}
