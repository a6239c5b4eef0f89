//! Keys of an evaluation: as files, and in memory where they are there from before.

use super::{Job, described};
use crate::{
    any_device::AnyDevice,
    clock::{Clock, KEY_STEP},
    error::Result,
    keys::{DiskKeys, HeldKeys},
    record::Recording,
    server_keys::{ServerKeys, of_scheme},
};
use limbwise::{
    rlwe::{KeySet, KeyStore},
    scheme::{Keys, NoKeys, Scheme},
};
use limbwise_apps::Observer as _;

/// Keys as files, and where they may be in memory.
#[derive(Clone, Copy)]
pub(super) struct Readable<'a> {
    pub(super) files: &'a ServerKeys,
    pub(super) held: Option<&'a HeldKeys>,
}

/// Opens the keys of a job.
pub(super) fn opened(job: &Job<'_>) -> Result<ServerKeys> {
    of_scheme(&job.description.params().map_err(described)?, job.keys, job.description)
}

/// Runs an evaluation with its keys: all read at once, or read one ahead of use.
pub(super) fn with_keys<S: Scheme, R>(
    dev: &AnyDevice,
    params: &S::Params,
    Readable { files, held }: Readable<'_>,
    recording: &Recording<S>,
    clock: &mut Clock<'_>,
    evaluate: impl FnOnce(Keys<'_, AnyDevice>, &mut Clock<'_>) -> limbwise::Result<R>,
) -> limbwise::Result<R> {
    let required = &recording.keys.required;
    let total = required.len() + usize::from(files.tfhe().is_some());
    clock.step(KEY_STEP, 0, total);
    let temporary;
    let bootstrap = match S::tfhe(params).zip(files.tfhe()) {
        None => None,
        Some((tfhe, path)) => {
            let read = || files.read_tfhe(path, dev, tfhe);
            Some(match held {
                Some(held) => held.bootstrap(read)?,
                None => {
                    temporary = read()?;
                    &temporary
                }
            })
        }
    };
    let with = |store: &dyn KeyStore<AnyDevice>, clock: &mut Clock<'_>| {
        evaluate(Keys { store, bootstrap, watch: None }, clock)
    };
    let Some((rlwe, source)) = S::rlwe(params).zip(files.rlwe()) else { return with(&NoKeys, clock) };
    if let Some(reads) = &recording.reads {
        return Ok(DiskKeys::serve(dev, rlwe, source, reads.shelf(rlwe), |keys| with(keys, clock))?.0);
    }
    let mut keys = Vec::new();
    for (done, (&name, &level)) in (total - required.len()..).zip(required) {
        clock.step(KEY_STEP, done, total);
        let form = recording.keys.form;
        let read = || source.read_key(dev, name, level, form);
        keys.push(held.map_or_else(read, |held| held.key((name, level, form), read))?);
    }
    with(&KeySet::new(rlwe, keys), clock)
}
