//! Options about randomness and passphrases.

use crate::failure::Mistake;
use anyhow::Context as _;
use limbwise::wire::Lock;
use limbwise_math::sampling::{Seed, SeedSource};
use limbwise_runtime::places::{put_private, read_into, read_secret};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The secret seed of a run with a checkpoint.
const SEED: &str = "seed";

/// Removes the seed of a run that is over.
pub(crate) fn forget_seed(dir: &Path) -> std::io::Result<()> {
    let path = dir.join(SEED);
    if path.exists() { std::fs::remove_file(path) } else { Ok(()) }
}

/// A seed in the place of the system's randomness.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct SeedArgs {
    /// INSECURE: derive all randomness from this number; anyone who knows it can reproduce your keys
    #[arg(long, value_name = "NUMBER", global = true, help_heading = "Randomness")]
    seed: Option<u64>,
}

impl SeedArgs {
    pub(crate) fn is_given(self) -> bool {
        self.seed.is_some()
    }

    /// Where seeds come from in a run, which keeps nothing.
    pub(crate) fn of_run(self) -> SeedSource {
        self.seed.map_or(SeedSource::System, SeedSource::Repeating)
    }

    /// Source of seeds for a run with checkpoints: the given number, or a secret seed that the directory keeps until
    /// the run ends.
    pub(crate) fn of_checkpoint(self, dir: &Path) -> anyhow::Result<SeedSource> {
        if self.seed.is_some() {
            return Ok(self.of_run());
        }
        let path = dir.join(SEED);
        if !path.exists() {
            let seed = Seed::from_os().map_err(limbwise::Error::from)?;
            put_private(&path, &seed.0)?;
        }
        let bytes = read_secret(&path, 64)?;
        let bytes = <[u8; 32]>::try_from(&bytes[..]);
        let wrong = |_| Mistake(format!("{}: not the seed of a checkpoint; delete the directory", path.display()));
        Ok(SeedSource::Kept(Seed(bytes.map_err(wrong)?)))
    }

    /// Source of seeds for files that persist: a fixed seed needs permission.
    pub(crate) fn of_files(self, leave: InsecureSeed) -> Result<SeedSource, Mistake> {
        match self.seed {
            Some(seed) if !leave.insecure_seed => Err(Mistake(format!(
                "--seed {seed}: keys and ciphertexts from a number protect nothing, for anybody can make them again; leave it out, or add --insecure-seed for tests"
            ))),
            _ => Ok(self.of_run()),
        }
    }
}

/// Permission to use insecure randomness.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct InsecureSeed {
    /// Allow --seed; the files are marked insecure_randomness
    #[arg(long, global = true, help_heading = "Randomness")]
    insecure_seed: bool,
}

/// The passphrase of the secret key.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PassphraseArgs {
    /// File whose first line is the passphrase of the secret key
    #[arg(long, value_name = "FILE", global = true, help_heading = "Secret key")]
    passphrase_file: Option<PathBuf>,
}

/// A passphrase, or none; wiped when dropped.
pub(crate) struct Passphrase(Option<Zeroizing<String>>);

/// Longest file with a passphrase.
const MOST_BYTES: usize = 1 << 16;

impl PassphraseArgs {
    /// Reads the passphrase.
    pub(crate) fn read(&self) -> anyhow::Result<Passphrase> {
        let Some(path) = &self.passphrase_file else { return Ok(Passphrase(None)) };
        // With room for all of it, so that no part of it stays behind in memory that was given back.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MOST_BYTES + 1));
        read_into(path, MOST_BYTES, &mut bytes)?;
        let text = std::str::from_utf8(&bytes).ok();
        let line = text.and_then(|text| text.lines().next()).filter(|line| !line.is_empty());
        let none = || Mistake(format!("{}: no passphrase in its first line; wanted UTF-8 text", path.display()));
        Ok(Passphrase(Some(Zeroizing::new(line.with_context(none).map_err(|_| none())?.to_owned()))))
    }
}

impl Passphrase {
    /// As the library takes it.
    pub(crate) fn lock(&self) -> Lock<'_> {
        self.0.as_deref().map_or(Lock::None, |text| Lock::Passphrase(text))
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }
}
