//! What a client expects of a program's results: its own recording, made as its inputs were encrypted. Only under the
//! feature `client`.

use crate::{error::Result, server::Server};
use limbwise::{
    ckks::{Encoder, Expectation, Model},
    rlwe::DeclaredKeys,
};
use limbwise_apps::{Encryption, Program};
use limbwise_device::Null;

/// Records the program without words and says what each of its results will be.
///
/// # Errors
/// What the schemes refuse.
pub fn expectations<P: Program>(program: &P, key: Encryption, model: Model) -> Result<Vec<Expectation>> {
    let (null, params) = (Null::default(), program.params());
    let encoder = Encoder::new(params);
    let keys = DeclaredKeys::all(&null, params);
    let server = Server::declared(&null, &encoder, program)?;
    let results = server.evaluate((&keys, None), &server.declared_inputs(key)?, &mut (), &mut ())?;
    Ok(results.iter().map(|result| Expectation::of(params, result, model)).collect())
}
