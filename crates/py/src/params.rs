//! Parameter sets: chosen, named, or written down.

use crate::error::{exception, of_scheme};
use limbwise::params::{Insecure, Params, ParamsLiteral, Wish, choose, presets};
use pyo3::prelude::{PyErr, PyResult, pyclass, pymethods};
use serde::{Serialize, de::DeserializeOwned};

/// A literal of any scheme from a text as `limbwise params show EXAMPLE` prints it; `no` is said of another text.
pub(crate) fn literal<T: DeserializeOwned>(text: &str, no: &str, example: &str) -> PyResult<T> {
    toml::from_str(text).map_err(|e| {
        let next = format!("\"limbwise params show {example}\" prints a text of the right form");
        exception("ParamsError", &format!("{no}: {}\n({next})", e.to_string().trim_end()))
    })
}

/// A literal as such a text.
pub(crate) fn toml_of(literal: &impl Serialize) -> PyResult<String> {
    toml::to_string(literal).map_err(|e| exception("ParamsError", &e.to_string()))
}

/// A checked parameter set.
#[pyclass(frozen, name = "Params", module = "limbwise._limbwise")]
#[derive(Clone)]
pub(crate) struct PyParams {
    pub(crate) params: Params,
    /// A preset's name, or what it was chosen for.
    pub(crate) name: String,
}

fn refused(error: limbwise::params::ParamsError) -> PyErr {
    of_scheme(error.into())
}

#[pymethods]
impl PyParams {
    /// The smallest set for so many products in a row, bits of precision and slots.
    #[staticmethod]
    fn choose(depth: usize, precision_bits: u32, slots: usize) -> PyResult<Self> {
        let params = choose(Wish { depth, precision_bits, slots }).map_err(refused)?;
        Ok(Self { params, name: format!("depth {depth}, {precision_bits} bits") })
    }

    /// A preset.
    #[staticmethod]
    fn preset(name: &str) -> PyResult<Self> {
        Ok(Self { params: presets::preset(name).map_err(refused)?, name: name.into() })
    }

    /// A set as `limbwise params show NAME` prints it.
    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Self> {
        let literal: ParamsLiteral = literal(text, "not a parameter set", "n16-l24-s40")?;
        Ok(Self { params: Params::new(&literal).map_err(refused)?, name: "your own".into() })
    }

    /// The same on a ring of another degree; where that is below the class of security, the reason why it may be.
    #[pyo3(signature = (log_n, *, insecure=None))]
    fn on_ring(&self, log_n: u32, insecure: Option<&str>) -> PyResult<Self> {
        let mut literal = ParamsLiteral { log_n, ..self.params.literal().clone() };
        if let Some(reason) = insecure {
            literal.insecure = Some(Insecure { reason: reason.into() });
        }
        Ok(Self { params: Params::new(&literal).map_err(refused)?, name: format!("{} on 2^{log_n}", self.name) })
    }

    /// Names of all presets with their purpose.
    #[staticmethod]
    fn presets() -> Vec<(&'static str, &'static str)> {
        presets::presets().into_iter().map(|p| (p.name, p.purpose)).collect()
    }

    /// The set as TOML.
    fn to_toml(&self) -> PyResult<String> {
        toml_of(self.params.literal())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn log_n(&self) -> u32 {
        self.params.log_n()
    }

    #[getter]
    fn max_slots(&self) -> usize {
        self.params.max_slots()
    }

    /// Levels of a fresh ciphertext that programs may use.
    #[getter]
    fn levels(&self) -> usize {
        self.params.bootstrapping().map_or(self.params.top_level(), |boot| boot.levels)
    }

    #[getter]
    fn security_bits(&self) -> u32 {
        self.params.security().bits
    }

    #[getter]
    fn log_qp(&self) -> f64 {
        self.params.security().log_qp
    }

    #[getter]
    fn insecure_reason(&self) -> Option<&str> {
        self.params.security().insecure_reason.as_deref()
    }

    #[getter]
    fn bootstraps(&self) -> bool {
        self.params.bootstrapping().is_some()
    }

    #[getter]
    fn log_scale(&self) -> u32 {
        self.params.literal().log_scale
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.params == other.params
    }

    fn __repr__(&self) -> String {
        format!("<limbwise.Params {}: N = 2^{}, {} levels>", self.name, self.log_n(), self.levels())
    }
}
