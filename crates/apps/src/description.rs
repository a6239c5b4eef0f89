//! Descriptions: a program without data, keys or the server's model, as a file that both sides have.
//!
//! The client writes the description when it makes keys; the server builds the program from it. The format is versioned
//! JSON. The file may be hostile, so every number is checked before anything is laid out.

use crate::{
    linear::layer::Model,
    registry::{AnyLiteral, AnyParams, AnyProgram, Described},
};
use limbwise::{rlwe::KeyForm, scheme::Scheme};
use serde::{Deserialize, Serialize};

/// What the file says it is.
const FORMAT: &str = "limbwise program";
/// The version that is written; older ones are read.
pub const VERSION: u32 = 1;
/// Longest description that is read.
pub const MOST_BYTES: usize = 1 << 20;

/// Why a program cannot be built, in words that say what, got, wanted and the next step; or the fault behind it.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Where the weights of a network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// They ship with the project.
    Shipped,
    Server,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    format: String,
    version: u32,
    /// Name of the parameters, for people.
    pub preset: String,
    pub params: AnyLiteral,
    /// How the server was meant to keep evaluation keys when it was planned; it may choose.
    pub key_form: KeyForm,
    pub workload: Described,
    /// Whether the keys come from reproducible randomness.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
}

/// The same as it is read: parameters are of the workload's scheme.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: String,
    version: u32,
    preset: String,
    params: serde_json::Value,
    key_form: KeyForm,
    workload: Described,
    #[serde(default)]
    insecure_randomness: bool,
}

/// Why a description is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    #[error("not a description of a program: {0} (\"limbwise keygen\" writes one, program.json)")]
    Form(String),
    #[error("version {got}; this program reads versions up to {VERSION}: install a newer one")]
    Version { got: u32 },
    #[error("{0}")]
    Program(Refusal),
}

/// What is read before anything else.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

impl Description {
    /// Of a workload with its parameters, and how keys are kept.
    pub fn new<S: Scheme<Literal: Into<AnyLiteral>>>(
        preset: &str,
        params: &S::Params,
        key_form: KeyForm,
        workload: Described,
    ) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            preset: preset.into(),
            params: S::literal(params).into(),
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
        let Written { format, version, preset, params, key_form, workload, insecure_randomness } =
            serde_json::from_slice(bytes).map_err(form)?;
        let params = workload.literal(params).map_err(form)?;
        Ok(Self { format, version, preset, params, key_form, workload, insecure_randomness })
    }

    /// The bytes of its file: numbers come back as they were, bit for bit.
    ///
    /// # Panics
    /// Never: it has no map with other keys than names.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("names and numbers");
        bytes.push(b'\n');
        bytes
    }

    /// The parameters, checked.
    ///
    /// # Errors
    /// [`ParamsError`](limbwise::params::ParamsError).
    pub fn params(&self) -> Result<AnyParams, DescriptionError> {
        self.params.checked().map_err(|e| DescriptionError::Program(e.into()))
    }

    /// The program with the server's numbers, where it has any.
    pub fn program(&self, model: &Model) -> Result<AnyProgram, DescriptionError> {
        self.with(Some(model))
    }

    /// The program with any numbers in the place of the server's: for plans, keys, and the layout of results.
    pub fn stand_in(&self) -> Result<AnyProgram, DescriptionError> {
        self.with(None)
    }

    /// With the server's numbers, or any in their place.
    fn with(&self, model: Option<&Model>) -> Result<AnyProgram, DescriptionError> {
        let params = self.params()?;
        self.workload.program(&params, &self.preset, model).map_err(DescriptionError::Program)
    }

    /// Bytes that this program takes at least on a server, by the sizes in its description alone: nothing is laid out.
    /// Sizes that make no program count as nothing, because building it says what is wrong with them.
    pub fn least_bytes(&self, params: &AnyParams) -> u64 {
        self.workload.least_bytes(params)
    }
}
