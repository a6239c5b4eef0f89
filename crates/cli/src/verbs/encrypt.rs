//! `limbwise encrypt`: a client's data as the inputs of its program.

use crate::{
    host::HostArgs,
    output::JsonArgs,
    progress::Progress,
    seconds::SecondsArgs,
    secrets::{InsecureSeed, PassphraseArgs, SeedArgs},
    text::{table::line, units},
    verbs::keygen::insecure,
};
use limbwise_apps::{
    Encryption,
    options::{Choice, choice},
};
use limbwise_runtime::{
    client_side::{ClientSide, InputFile, ToEncrypt},
    places::Existing,
};
use std::path::PathBuf;

/// Keys that encrypt.
pub(super) const ENCRYPTIONS: &[Choice<Encryption>] = &[
    ("public", Encryption::PublicKey, "Anyone can encrypt with it"),
    ("secret", Encryption::SecretKey, "Less noise, and files of half the size"),
];

/// Encrypt a client's data as the inputs of its program
///
/// Reads the data named at keygen, or other data of the same shape (--data): a table of numbers or a NumPy
/// array. A program with several inputs gets one file per input, in the program's order.
///
/// Examples:
///   limbwise encrypt --client mine --out in                the data named at keygen
///   limbwise encrypt --client mine --data x.npy --out in   other data of the same shape
///   limbwise encrypt --client mine --only query --data q.bin --out in --force   another query to the same database
///
/// A ciphertext file exposes the bounds that the description states, and nothing measured from the values.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Encrypt {
    /// Directory of the client
    #[arg(long, value_name = "DIR")]
    client: PathBuf,

    /// Data to encrypt instead of those named at keygen: a table or .npy (encrypted-matmul: twice, left and right)
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,

    /// Encrypt this input alone, with its file of data; several times for several. The others stay as they are in --out,
    /// or are encrypted later: a database once, queries one after another
    #[arg(long, value_name = "INPUT")]
    only: Vec<String>,

    /// A directory, or for a single input a file *.ct
    #[arg(long, value_name = "PATH")]
    out: PathBuf,

    /// Replace files that exist
    #[arg(long)]
    force: bool,

    /// The key to encrypt with [default: the key of the plan]
    #[arg(long, value_parser = choice(ENCRYPTIONS), value_name = "WHICH")]
    key: Option<Encryption>,

    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    insecure: InsecureSeed,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    seconds: SecondsArgs,
    #[command(flatten)]
    output: JsonArgs,
}

impl Encrypt {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let (output, seconds) = (self.output.open(), self.seconds.open()?);
        let seeds = self.seed.of_files(self.insecure)?;
        let side = ClientSide::open(&self.client)?;
        let dev = self.host.open()?;
        let passphrase = self.passphrase.read()?;
        let asked = ToEncrypt {
            data: &self.data,
            only: &self.only,
            key: self.key,
            out: &self.out,
            existing: Existing::replaced_if(self.force),
            lock: passphrase.lock(),
            seeds: &seeds,
        };
        let mut progress = Progress::new(0.0);
        let encrypted = side.encrypt(&dev, &asked, &mut progress)?;
        progress.finish();
        seconds.write(&progress)?;
        let mut text = String::from("encrypted\n");
        text.extend(insecure(encrypted.insecure_randomness).map(|reason| line("INSECURE", reason)));
        for InputFile { name, file, bytes } in &encrypted.inputs {
            text += &line(name, &format!("{}, {}", file.display(), units::bytes(*bytes)));
        }
        if !encrypted.missing.is_empty() {
            text += &line(
                "missing",
                &format!("{}: encrypt with --only, into the same directory", encrypted.missing.join(", ")),
            );
        }
        output.report(&encrypted, &text)
    }
}
