//! The client's prediction of a program's results, from its own recording with its inputs' encryption. Only with the
//! feature `client`.

use crate::{error::Result, server::Server};
use limbwise::{
    ckks::Model,
    rlwe::DeclaredKeys,
    scheme::{ClientScheme, Encryption, NoKeys, Scheme},
};
use limbwise_apps::Program;
use limbwise_device::Null;

/// Records the program without data and predicts the public metadata of each result.
pub fn expectations<P: Program<Scheme: ClientScheme>>(
    program: &P,
    key: Encryption,
    model: Model,
) -> Result<Vec<<P::Scheme as ClientScheme>::Expectation>> {
    let (null, params) = (Null::default(), program.params());
    let encoder = P::Scheme::encoder(params);
    let server = Server::declared(&null, &encoder, program)?;
    let results = match P::Scheme::rlwe(params) {
        Some(rlwe) => server.rehearse(&DeclaredKeys::all(&null, rlwe), key)?,
        None => server.rehearse(&NoKeys, key)?,
    };
    Ok(results.iter().map(|result| P::Scheme::expectation(params, result, model)).collect())
}
