//! Making the keys of a program: the secret apart from what the server gets. Only under the feature `client`.

use crate::{
    clock::KEY_STEP,
    error::{Error, Result},
    files::create_secret,
    origin::program_name,
    places::{Existing, KEYS, PARAMS, PROGRAM, PUBLIC, SECRET, absent, put, put_bytes, refused, settle},
};
use limbwise::{
    params::Params,
    rlwe::{KeyForm, KeyGenerator, Requirements, SecretKey},
    wire::{KeyWriter, Lock, Origin, write_params, write_public_key, write_secret_key},
};
use limbwise_apps::{Description, Observer};
use limbwise_device::HostRead;
use limbwise_math::sampling::SeedSource;
use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
};

/// The directories of the two sides.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// The client's: the secret key is here alone.
    pub client: &'a Path,
    /// The server's.
    pub server: &'a Path,
}

/// Fails if keys would be replaced, or the two sides are one.
///
/// # Errors
/// [`Error::Exists`]; those of the system.
pub fn check(places: Sides<'_>) -> Result<()> {
    fs::create_dir_all(places.client).map_err(refused(places.client, "creating"))?;
    fs::create_dir_all(places.server).map_err(refused(places.server, "creating"))?;
    let whole = |dir: &Path| fs::canonicalize(dir).map_err(refused(dir, "opening"));
    if whole(places.client)? == whole(places.server)? {
        return Err(Error::OneSide { path: places.server.display().to_string() });
    }
    only_owner(places.client)?;
    absent(&[PROGRAM, SECRET, PUBLIC].map(|name| places.client.join(name)), Existing::Kept)?;
    absent(&[PROGRAM, PUBLIC, KEYS, PARAMS].map(|name| places.server.join(name)), Existing::Kept)
}

/// Lets nobody but the owner into a directory.
fn only_owner(dir: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(refused(dir, "closing to others"))?;
    }
    Ok(())
}

/// Makes all keys of a program and puts them into the directories, the evaluation keys one after the other: no more than
/// one of them is in memory. Returns the bytes of their file.
///
/// # Errors
/// Those of the system, no randomness, a device fault.
pub fn keygen<D: HostRead>(
    dev: &D,
    places: Sides<'_>,
    (description, required): (&Description, &Requirements),
    (lock, seeds): (Lock<'_>, &SeedSource),
    observer: &mut dyn Observer,
) -> Result<u64> {
    check(places)?;
    let params =
        &description.params().map_err(|cause| Error::Description { path: PROGRAM.into(), cause: cause.into() })?;
    observer.step(KEY_STEP, 0, required.len());
    let secret = SecretKey::generate(params, &seeds.seed("secret key").map_err(limbwise::Error::from)?);
    let origin = Origin { program: program_name(description), ..Origin::of_keys(secret.identity(params)) };
    write_secret(&places.client.join(SECRET), params, &secret, lock, &origin)?;
    let generator = KeyGenerator::from_seed(dev, params, &secret, seeds.seed("keys").map_err(limbwise::Error::from)?);
    let public = generator.public_key();
    let path = places.server.join(KEYS);
    put(&path, |file| {
        let mut out = KeyWriter::new(BufWriter::new(file), params, required, &origin)?;
        for ((&name, &level), done) in required.iter().zip(1..) {
            out.write(dev, &generator.evaluation_key(name, level, KeyForm::Disk)?)?;
            observer.step(KEY_STEP, done, required.len());
        }
        unbuffered(&path, out.finish()?)
    })?;
    drop(generator);
    for dir in [places.client, places.server] {
        let path = dir.join(PUBLIC);
        put(&path, |file| unbuffered(&path, write_public_key(BufWriter::new(file), dev, params, &public, &origin)?))?;
    }
    put(&places.server.join(PARAMS), |file| Ok::<_, Error>(write_params(file, params)?))?;
    // Last, so that a directory with a description has everything.
    for dir in [places.server, places.client] {
        put_bytes(&dir.join(PROGRAM), &description.to_bytes())?;
    }
    Ok(fs::metadata(&path).map_err(refused(&path, "reading"))?.len())
}

fn unbuffered(path: &Path, out: BufWriter<File>) -> Result<File> {
    out.into_inner().map_err(|e| refused(path, "writing")(e.into_error()))
}

fn write_secret(path: &Path, params: &Params, secret: &SecretKey, lock: Lock<'_>, origin: &Origin) -> Result<()> {
    let file = create_secret(path).map_err(refused(path, "creating"))?;
    let mut out =
        write_secret_key(BufWriter::new(file), params, secret, lock, origin).map_err(|e| Error::of_file(path, e))?;
    out.flush().map_err(refused(path, "writing"))?;
    unbuffered(path, out)?.sync_all().map_err(refused(path, "writing"))?;
    settle(path.parent().unwrap_or(Path::new(".")))
}
