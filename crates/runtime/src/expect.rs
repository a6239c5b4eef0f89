//! The client's prediction of a program's results, from its own recording with its inputs' encryption. Only with the
//! feature `client`.

use crate::{
    error::Result,
    parts::{no_sums, tree},
    server::Server,
};
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
    expected(program, (key, None), model)
}

/// The same for the sums of results over so many parts, added in the order in which parts are.
///
/// # Errors
/// Those of recording; a program whose results are not summed.
pub fn expectations_of_sums<P: Program<Scheme: ClientScheme>>(
    program: &P,
    (key, parts): (Encryption, usize),
    model: Model,
) -> Result<Vec<<P::Scheme as ClientScheme>::Expectation>> {
    expected(program, (key, Some(parts)), model)
}

fn expected<P: Program<Scheme: ClientScheme>>(
    program: &P,
    (key, parts): (Encryption, Option<usize>),
    model: Model,
) -> Result<Vec<<P::Scheme as ClientScheme>::Expectation>> {
    let (null, params) = (Null::default(), program.params());
    let encoder = P::Scheme::encoder(params);
    let server = Server::declared(&null, &encoder, program)?;
    let mut results = match P::Scheme::rlwe(params) {
        Some(rlwe) => server.rehearse(&DeclaredKeys::all(&null, rlwe), key)?,
        None => server.rehearse(&NoKeys, key)?,
    };
    if let Some(parts) = parts {
        results.truncate(program.summed());
        for result in &mut results {
            // Parts are encrypted one by one, so their errors do not meet each other.
            let leaves = (0..parts as u64).map(|part| P::Scheme::of_others(result, part)).collect();
            *result = tree(leaves, |a, b| Ok(server.sum([&a, &b]).ok_or_else(|| no_sums(program.name()))??))?;
        }
    }
    Ok(results.iter().map(|result| P::Scheme::expectation(params, result, model)).collect())
}
