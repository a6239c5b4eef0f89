//! Making the keys of a program: the secret apart from what the server gets. Only under the feature `client`.

use crate::{
    clock::KEY_STEP,
    error::{Error, Result},
    origin::program_name,
    places::{
        BOOTSTRAP, DATA, Existing, KEYS, PARAMS, PROGRAM, PUBLIC, SECRET, TFHE_SECRET, absent, put, put_bytes,
        put_private, put_secret, refused,
    },
    staging::Staging,
};
use limbwise::{
    rlwe::{KeyForm, Requirements},
    scheme::{ClientScheme, Published, Scheme, Secrets},
    wire::{KeyWriter, Lock, Origin, write_public_key, write_secret_key, write_tfhe_keys, write_tfhe_secret_key},
};
use limbwise_apps::{Description, Observer};
use limbwise_device::HostRead;
use limbwise_math::sampling::SeedSource;
use std::{
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

/// The directories of the two sides.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// The client's: the secret key is here alone.
    pub client: &'a Path,
    /// The server's.
    pub server: &'a Path,
}

/// What a client's directory gets; without the first of them nothing reads the others.
const OF_CLIENT: [&str; 5] = [PROGRAM, SECRET, TFHE_SECRET, PUBLIC, DATA];
/// The same of the server's.
const OF_SERVER: [&str; 5] = [PROGRAM, PUBLIC, KEYS, BOOTSTRAP, PARAMS];

/// Fails if keys would be replaced that may not be, or the two sides are one. Makes nothing: what comes before the keys may
/// be refused.
///
/// # Errors
/// [`Error::Exists`], [`Error::Unfinished`]; those of the system.
pub fn check(places: Sides<'_>, existing: Existing) -> Result<()> {
    if whole(places.client)?.starts_with(whole(places.server)?) {
        return Err(Error::OneSide { path: places.server.display().to_string() });
    }
    for (dir, names) in [(places.client, OF_CLIENT), (places.server, OF_SERVER)] {
        absent(&names.map(|name| dir.join(name)), existing).map_err(|exists| match dir.join(PROGRAM).exists() {
            true => exists,
            false => Error::Unfinished { path: dir.display().to_string() },
        })?;
    }
    Ok(())
}

/// A path without links, as far as it is there.
fn whole(dir: &Path) -> Result<PathBuf> {
    let opening = || refused(dir, "opening");
    let full = std::path::absolute(dir).map_err(opening())?;
    for there in full.ancestors() {
        match fs::canonicalize(there) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            found => return Ok(found.map_err(opening())?.join(full.strip_prefix(there).unwrap_or(Path::new("")))),
        }
    }
    Ok(full)
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

/// Keys to make: for whom, which, under which lock, from which randomness.
pub struct KeyOrder<'a, S: Scheme> {
    pub params: &'a S::Params,
    pub description: &'a Description,
    pub required: &'a Requirements,
    pub lock: Lock<'a>,
    pub seeds: &'a SeedSource,
    /// What the client's directory says of its data.
    pub data: &'a [u8],
    pub existing: Existing,
}

/// Makes all keys of a program, the evaluation keys one after the other: no more than one of them is in memory. They come
/// into the directories when all of them are there. Returns the bytes of the server's key files.
pub fn keygen<S: ClientScheme, D: HostRead>(
    dev: &D,
    places: Sides<'_>,
    order: &KeyOrder<'_, S>,
    observer: &mut dyn Observer,
) -> Result<u64> {
    let &KeyOrder { params, description, required, lock, seeds, data, existing } = order;
    check(places, existing)?;
    let (client, server) = (Staging::of(places.client)?, Staging::of(places.server)?);
    check(places, existing)?; // again, where nobody else writes now
    only_owner(places.client)?;
    let new = Sides { client: client.dir(), server: server.dir() };
    let (rlwe, tfhe) = (S::rlwe(params), S::tfhe(params));
    let total = required.len() + usize::from(tfhe.is_some());
    observer.step(KEY_STEP, 0, total);
    let secrets = Secrets::generate(rlwe, tfhe, seeds)?;
    let origin = Origin { program: program_name(description), ..Origin::of_keys(secrets.identity(rlwe)) };
    write_secrets::<S>(new.client, params, &secrets, lock, &origin)?;
    let Published { generator, bootstrap } = secrets.publish(dev, rlwe, seeds)?;
    let mut bytes = 0;
    if let Some(keys) = bootstrap {
        let path = new.server.join(BOOTSTRAP);
        put(&path, |file| unbuffered(&path, write_tfhe_keys(BufWriter::new(file), dev, &keys, &origin)?))?;
        bytes += fs::metadata(&path).map_err(refused(&path, "reading"))?.len();
        observer.step(KEY_STEP, 1, total);
    }
    if let Some((generator, rlwe)) = generator.zip(rlwe) {
        let public = generator.public_key();
        let path = new.server.join(KEYS);
        put(&path, |file| {
            let mut out = KeyWriter::new(BufWriter::new(file), rlwe, required, &origin)?;
            for ((&name, &level), done) in required.iter().zip(total - required.len() + 1..) {
                out.write(dev, &generator.evaluation_key(name, level, KeyForm::Disk)?)?;
                observer.step(KEY_STEP, done, total);
            }
            unbuffered(&path, out.finish()?)
        })?;
        bytes += fs::metadata(&path).map_err(refused(&path, "reading"))?.len();
        drop(generator);
        for dir in [new.client, new.server] {
            let path = dir.join(PUBLIC);
            put(&path, |file| unbuffered(&path, write_public_key(BufWriter::new(file), dev, rlwe, &public, &origin)?))?;
        }
    }
    put(&new.server.join(PARAMS), |file| Ok::<_, Error>(S::write_params(file, params)?))?;
    put_private(&new.client.join(DATA), data)?;
    for dir in [new.server, new.client] {
        put_bytes(&dir.join(PROGRAM), &description.to_bytes())?;
    }
    if existing == Existing::Replaced {
        client.clear_for(&OF_CLIENT)?;
        server.clear_for(&OF_SERVER)?;
    }
    // The description comes last, so that a directory with one has everything.
    server.finish(PROGRAM)?;
    client.finish(PROGRAM)?;
    Ok(bytes)
}

fn unbuffered(path: &Path, out: BufWriter<File>) -> Result<File> {
    out.into_inner().map_err(|e| refused(path, "writing")(e.into_error()))
}

/// Puts the secret keys into the client's directory, each into a file that only its owner may read.
fn write_secrets<S: ClientScheme>(
    dir: &Path,
    params: &S::Params,
    secrets: &Secrets,
    lock: Lock<'_>,
    origin: &Origin,
) -> Result<()> {
    if let Some((params, secret)) = S::rlwe(params).zip(secrets.rlwe.as_ref()) {
        write_secret(&dir.join(SECRET), |out| write_secret_key(out, params, secret, lock, origin))?;
    }
    if let Some(secret) = &secrets.tfhe {
        write_secret(&dir.join(TFHE_SECRET), |out| write_tfhe_secret_key(out, secret, lock, origin))?;
    }
    Ok(())
}

fn write_secret(path: &Path, write: impl FnOnce(BufWriter<File>) -> limbwise::Result<BufWriter<File>>) -> Result<()> {
    put_secret(path, |file| unbuffered(path, write(BufWriter::new(file)).map_err(|e| Error::of_file(path, e))?))
}
