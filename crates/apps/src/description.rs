//! Descriptions: what a program is, without data, keys or the server's model. A file that both sides have.
//!
//! The client writes it when it makes keys; the server builds from it what it evaluates. It is JSON with a version,
//! comes from outside, and every number in it is checked before anything is laid out.

use crate::{
    any::AnyProgram,
    bootstrap::{Bootstrap, BootstrapAppError},
    helr::encrypted::{self as helr, Helr, HelrError},
    linear::{
        Linear, LinearError,
        layer::{Described, Model},
    },
    logreg::encrypted::{Logreg, LogregError, Training},
    lola::{
        encrypted::Lola,
        network::{LolaError, Network, Shape},
    },
    resnet::{Inference, ResnetError},
};
use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, Promise, Strategy},
    params::{Params, ParamsError, ParamsLiteral},
    rlwe::KeyForm,
};
use serde::{Deserialize, Serialize};

/// What the file says it is.
const FORMAT: &str = "limbwise program";
/// The version that is written; older ones are read.
pub const VERSION: u32 = 1;
/// Longest description that is read.
pub const MOST_BYTES: usize = 1 << 20;

/// A workload, without data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// `logreg`.
    Logreg(Training),
    /// `linear`.
    Linear {
        /// The layer.
        layer: Described,
        /// The level that inputs are encrypted at.
        level: usize,
        /// How its maps rotate.
        strategy: Strategy,
        /// How their diagonals are stored.
        plaintexts: PlaintextForm,
        /// What is known of the inputs.
        bounds: Promise,
    },
    /// `bootstrap`.
    Bootstrap {
        /// How it is carried out.
        plan: BootstrapPlan,
        /// Passes.
        passes: usize,
        /// What is known of the message.
        bounds: Promise,
    },
    /// `helr`.
    Helr {
        /// Sizes and options.
        training: helr::Training,
        /// How the weights are bootstrapped.
        plan: BootstrapPlan,
    },
    /// `lola`.
    Lola {
        /// Sizes of the network.
        shape: Shape,
        /// Where its weights are.
        weights: Weights,
        /// Images at once.
        images: usize,
        /// How its maps rotate.
        strategy: Strategy,
        /// How their diagonals are stored.
        plaintexts: PlaintextForm,
        /// What is known of the pixels.
        bounds: Promise,
    },
    /// `resnet20`.
    Resnet(Inference),
}

/// Where the weights of a network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// They ship with the project.
    Shipped,
    /// The server has them.
    Server,
}

/// A program, without data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    format: String,
    version: u32,
    /// Name of the parameters, for people.
    pub preset: String,
    /// The parameters.
    pub params: ParamsLiteral,
    /// How the server was meant to keep evaluation keys when it was planned; it may choose.
    pub key_form: KeyForm,
    /// What is computed.
    pub workload: Workload,
    /// Keys were made with randomness that anybody can repeat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
}

/// Why a description is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// Not one at all.
    #[error("not a description of a program: {0} (\"limbwise keygen\" writes one, program.json)")]
    Form(String),
    /// Of a later program.
    #[error("version {got}; this program reads versions up to {VERSION}: install a newer one")]
    Version {
        /// What it is.
        got: u32,
    },
    /// Parameters that are refused.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// A training that cannot be.
    #[error(transparent)]
    Logreg(#[from] LogregError),
    /// A layer that cannot be.
    #[error(transparent)]
    Linear(#[from] LinearError),
    /// A bootstrapping that cannot be.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapAppError),
    /// A training of `helr` that cannot be.
    #[error(transparent)]
    Helr(#[from] HelrError),
    /// A network of `lola` that cannot be.
    #[error(transparent)]
    Lola(#[from] LolaError),
    /// An inference that cannot be.
    #[error(transparent)]
    Resnet(#[from] ResnetError),
}

/// What is read before anything else.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

impl Description {
    /// Of a workload with its parameters, and how keys are kept.
    #[must_use]
    pub fn new((preset, params): (&str, &Params), key_form: KeyForm, workload: Workload) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            preset: preset.into(),
            params: params.literal().clone(),
            key_form,
            workload,
            insecure_randomness: false,
        }
    }

    /// From the bytes of a file.
    ///
    /// # Errors
    /// [`DescriptionError::Form`] or [`DescriptionError::Version`].
    pub fn parse(bytes: &[u8]) -> Result<Self, DescriptionError> {
        if bytes.len() > MOST_BYTES {
            return Err(DescriptionError::Form(format!("longer than {MOST_BYTES} bytes")));
        }
        let form = |e: serde_json::Error| DescriptionError::Form(e.to_string());
        let head: Head = serde_json::from_slice(bytes).map_err(form)?;
        if head.format != FORMAT {
            return Err(DescriptionError::Form(format!("format {:?}, wanted {FORMAT:?}", head.format)));
        }
        if !(1..=VERSION).contains(&head.version) {
            return Err(DescriptionError::Version { got: head.version });
        }
        serde_json::from_slice(bytes).map_err(form)
    }

    /// The bytes of its file: numbers come back as they were, bit for bit.
    ///
    /// # Panics
    /// Never: it has no map with other keys than names.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("names and numbers");
        bytes.push(b'\n');
        bytes
    }

    /// The parameters, checked.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn params(&self) -> Result<Params, DescriptionError> {
        Ok(Params::new(&self.params)?)
    }

    /// The program with the server's numbers, where it has any.
    ///
    /// # Errors
    /// [`DescriptionError`] for what cannot be.
    pub fn program(&self, model: &Model) -> Result<AnyProgram, DescriptionError> {
        self.with(Some(model))
    }

    /// The program with any numbers in the place of the server's: for plans, keys, and the layout of results.
    ///
    /// # Errors
    /// [`DescriptionError`] for what cannot be.
    pub fn stand_in(&self) -> Result<AnyProgram, DescriptionError> {
        self.with(None)
    }

    /// With the server's numbers, or any in their place.
    fn with(&self, model: Option<&Model>) -> Result<AnyProgram, DescriptionError> {
        let params = self.params()?;
        Ok(match &self.workload {
            Workload::Logreg(training) => AnyProgram::Logreg(Logreg::new(&params, training.clone())?),
            Workload::Linear { layer, level, strategy, plaintexts, bounds } => {
                let layer = model.map_or_else(|| layer.stand_in(), |model| layer.layer(model))?;
                let program = Linear::new(&params, *level, layer)?.with_bounds(*bounds)?;
                AnyProgram::Linear(program.with(*strategy, *plaintexts))
            }
            Workload::Lola { shape, weights, images, strategy, plaintexts, bounds } => {
                let network = match (weights, model) {
                    (Weights::Shipped, _) => Network::shipped().of_shape(*shape)?,
                    (Weights::Server, None) => Network::stand_in(*shape)?,
                    (Weights::Server, Some(model)) => {
                        Network::new(*shape, model.weights.as_deref().ok_or(LolaError::NoModel)?)?
                    }
                };
                AnyProgram::Lola(Lola::new(&params, network, *images, *bounds)?.with(*strategy, *plaintexts))
            }
            Workload::Helr { training, plan } => AnyProgram::Helr(Helr::new(&params, training.clone())?.with(*plan)),
            Workload::Bootstrap { plan, passes, bounds } => {
                AnyProgram::Bootstrap(Bootstrap::new((&params, &self.preset), *plan, *passes, *bounds)?)
            }
            Workload::Resnet(inference) => AnyProgram::Resnet(inference.program(&params, model)?),
        })
    }
}
