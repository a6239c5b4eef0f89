//! What a client expects of a program's results: its own recording, made as its inputs were encrypted. Only under the
//! feature `client`.

use crate::{error::Result, server::Server};
use limbwise::{
    ckks::Model,
    rlwe::DeclaredKeys,
    scheme::{ClientScheme, Encryption, NoKeys, Scheme},
};
use limbwise_apps::Program;
use limbwise_device::Null;

/// Records the program without words and says what each of its results will be.
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
