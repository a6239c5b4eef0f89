//! How fast keys come from a directory.

use super::{disk::KeySource as _, file::FileKeys, home::Passing};
use crate::{any_device::AnyDevice, calibrate::seconds, error::Result, host::open_cpu};
use limbwise::{
    params::Params,
    rlwe::{KeyForm, KeyGenerator, KeyName, Requirements, SecretKey},
    wire::{KeyWriter, Origin, key_file_bytes},
};
use limbwise_math::sampling::Seed;
use std::{io::BufWriter, path::Path};

/// Bytes of a key file that are read, checked and unpacked in a second, in GB/s, by all threads of a device like this one:
/// of a key that was written a moment before, so the system has it in its page cache as it has keys of a run that fit
/// beside it. A disk that is slower than this is not seen.
pub fn key_read_gb_s(dev: &AnyDevice, params: &Params, dir: &Path) -> Result<f64> {
    // On a device of its own, whose memory goes with it.
    let dev = open_cpu(&dev.host())?;
    let (name, level) = (KeyName::Relinearization, params.top_level());
    let (passing, file) = Passing::create(dir)?;
    let secret = SecretKey::generate(params, &Seed::from_os().map_err(limbwise::Error::Entropy)?);
    let generator = KeyGenerator::new(&dev, params, &secret)?;
    let mut out = KeyWriter::new(BufWriter::new(file), params, &Requirements::from([(name, level)]), &Origin::NONE)?;
    out.write(&dev, &generator.evaluation_key(name, level, KeyForm::Disk)?)?;
    out.finish()?;
    drop(generator);
    let source = FileKeys::open(passing.path(), params)?;
    source.read(&dev, name, level)?;
    let each = seconds(|| drop(source.read(&dev, name, level)));
    Ok(key_file_bytes(params, name, level) as f64 / each / 1e9)
}
