//! `limbwise encrypt`: a client's data as the inputs of its program.

use crate::{
    failure::Mistake,
    host::HostArgs,
    output::{JsonArgs, Output},
    progress::Progress,
    secrets::{InsecureSeed, Passphrase, PassphraseArgs, SeedArgs},
    text::{table::line, units},
    verbs::{existing, keygen::insecure},
    workload::{Whole, told},
};
use clap::ValueEnum;
use limbwise::scheme::Input as _;
use limbwise_apps::{AnyProgram, Description, Encryption, Program, on_scheme, registry::Data};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice,
    client::{EncryptionKey, encrypt_files},
    ledger::{Ledger, Round, hex},
    places::{DATA, description, read_up_to, targets},
    sealed::unseal,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Under which key.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum KeyChoice {
    /// Anyone can encrypt with it
    Public,
    /// Less noise, and files of half the size
    Secret,
}

impl From<KeyChoice> for Encryption {
    fn from(choice: KeyChoice) -> Self {
        match choice {
            KeyChoice::Public => Self::PublicKey,
            KeyChoice::Secret => Self::SecretKey,
        }
    }
}

/// Encrypt a client's data as the inputs of its program
///
/// Reads the data named at keygen, or other data of the same shape (--data): a table of numbers or a NumPy
/// array. A program with several inputs gets one file per input, in the program's order.
///
/// Examples:
///   limbwise encrypt --client mine --out in                the data named at keygen
///   limbwise encrypt --client mine --data x.npy --out in   other data of the same shape
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

    /// A directory, or for a single input a file *.ct
    #[arg(long, value_name = "PATH")]
    out: PathBuf,

    /// Replace files that exist
    #[arg(long)]
    force: bool,

    /// The key to encrypt with [default: the key of the plan]
    #[arg(long, value_enum, value_name = "WHICH")]
    key: Option<KeyChoice>,

    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    insecure: InsecureSeed,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: JsonArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Report {
    workload: String,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    insecure_randomness: bool,
    key: Encryption,
    inputs: Vec<Written>,
}

/// An input in its file.
#[derive(Debug, Serialize, JsonSchema)]
struct Written {
    name: String,
    file: PathBuf,
    bytes: u64,
}

/// Said where nobody but the client can encrypt.
const NO_PUBLIC: &str = "--key public: messages of TFHE are encrypted under the secret key alone; leave it out";

/// What a client's directory remembers: the program, and where its data are.
pub(super) struct Side {
    pub(super) description: Description,
    /// With any numbers in the place of the server's.
    pub(super) program: AnyProgram,
    pub(super) data: Data,
}

/// Opens a client's directory.
pub(super) fn open(dir: &Path) -> anyhow::Result<Side> {
    let description = description(dir)?;
    let program = description.stand_in().map_err(|e| Mistake(format!("{}: {e}", dir.display())))?;
    let path = dir.join(DATA);
    let data = unseal(&read_up_to(&path, 1 << 20)?)
        .map_err(|e| Mistake(format!("{}: {e} (\"limbwise keygen\" writes it)", path.display())))?;
    Ok(Side { description, program, data })
}

impl Encrypt {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open();
        let seeds = self.seed.of_files(self.insecure)?;
        let side = open(&self.client)?;
        let dev = self.host.open()?;
        let passphrase = self.passphrase.read()?;
        on_scheme!(AnyProgram, &side.program, program => {
            self.encrypt(&dev, (program, &side), (&passphrase, &seeds), &output)
        })
    }

    fn encrypt<S: Whole, P: Program<Scheme = S>>(
        &self,
        dev: &AnyDevice,
        (program, side): (&P, &Side),
        (passphrase, seeds): (&Passphrase, &SeedSource),
        output: &Output,
    ) -> anyhow::Result<()> {
        let Side { description, data, program: any } = side;
        let client = data.client::<S>(&description.workload, any, &self.data).map_err(told)?;
        if matches!(self.key, Some(KeyChoice::Public)) && S::rlwe(program.params()).is_none() {
            return Err(Mistake(NO_PUBLIC.into()).into());
        }
        let inputs = program.inputs();
        let key = self.key.map_or_else(|| program.encryption(), Encryption::from);
        let params = program.params();
        let read = EncryptionKey::read::<S>((dev, params), &self.client, description, key, passphrase.lock())?;
        let ledger = Ledger::of(&self.client, read.key_set());
        ledger.ready()?; // without it nobody could read the results
        // Keys that are refused leave no directory behind.
        let files = targets(&self.out, "input", inputs.len(), existing(self.force))?;
        let mut progress = Progress::new(0.0);
        let name = encrypt_files(dev, (program, &client), (&read, seeds), &files, &mut progress)?;
        let round = Round { inputs: hex(name), key, place: self.out.display().to_string() };
        ledger.encrypted(round)?;
        progress.finish();
        let written = |(input, file): (S::Input, PathBuf)| {
            let bytes = fs::metadata(&file)?.len();
            Ok(Written { name: input.name().to_owned(), file, bytes })
        };
        let report = Report {
            workload: program.name().into(),
            insecure_randomness: seeds.is_insecure() || description.insecure_randomness,
            key,
            inputs: inputs.into_iter().zip(files).map(written).collect::<anyhow::Result<_>>()?,
        };
        let mut text = String::from("encrypted\n");
        text.extend(insecure(report.insecure_randomness).map(|reason| line("INSECURE", reason)));
        for Written { name, file, bytes } in &report.inputs {
            text += &line(name, &format!("{}, {}", file.display(), units::bytes(*bytes)));
        }
        output.report(&report, &text)
    }
}
