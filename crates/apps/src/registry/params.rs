//! Parameters of any scheme, as a description has them and checked.

use limbwise::{
    Result,
    scheme::{Bgv, Bridged, Ckks, Scheme, Tfhe},
};
use serde::Serialize;

/// Unchecked parameters of any scheme, as in a description.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyLiteral {
    Ckks(<Ckks as Scheme>::Literal),
    Tfhe(<Tfhe as Scheme>::Literal),
    Bgv(<Bgv as Scheme>::Literal),
    Bridged(Box<<Bridged as Scheme>::Literal>),
}

/// Checked parameters of any scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyParams {
    Ckks(<Ckks as Scheme>::Params),
    Tfhe(<Tfhe as Scheme>::Params),
    Bgv(<Bgv as Scheme>::Params),
    Bridged(<Bridged as Scheme>::Params),
}

impl AnyParams {
    /// Parameters of RLWE keys, if the scheme has any.
    pub fn rlwe(&self) -> Option<&limbwise::params::Params> {
        match self {
            Self::Ckks(params) => Ckks::rlwe(params),
            Self::Bgv(params) => Bgv::rlwe(params),
            Self::Bridged(params) => Bridged::rlwe(params),
            Self::Tfhe(_) => None,
        }
    }

    /// Parameters of bootstrapping keys, if the scheme has any.
    pub fn tfhe(&self) -> Option<&limbwise::tfhe::TfheParams> {
        match self {
            Self::Tfhe(params) => Tfhe::tfhe(params),
            Self::Bridged(params) => Bridged::tfhe(params),
            Self::Ckks(_) | Self::Bgv(_) => None,
        }
    }
}

impl AnyLiteral {
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`ParamsError`](limbwise::params::ParamsError).
    pub fn checked(&self) -> Result<AnyParams> {
        Ok(match self {
            Self::Ckks(literal) => AnyParams::Ckks(Ckks::params(literal)?),
            Self::Tfhe(literal) => AnyParams::Tfhe(Tfhe::params(literal)?),
            Self::Bgv(literal) => AnyParams::Bgv(Bgv::params(literal)?),
            Self::Bridged(literal) => AnyParams::Bridged(Bridged::params(literal)?),
        })
    }

    /// log₂ of the ring degrees: of RLWE keys and of bootstrapping keys.
    pub fn log_n(&self) -> [Option<u32>; 2] {
        match self {
            Self::Ckks(literal) => [Some(literal.log_n), None],
            Self::Bgv(literal) => [Some(literal.log_n), None],
            Self::Tfhe(literal) => [None, Some(literal.log_n)],
            Self::Bridged(literal) => [Some(literal.ckks.log_n), Some(literal.tfhe.log_n)],
        }
    }
}
