//! A client's directory: the steps of both sides by files, from the keys to the numbers. Only with the feature `client`.
//!
//! The command line and Python parse what was asked for, and say what was done. What is done stands here.

use crate::{
    AnyDevice,
    client::{Decrypted, EncryptionKey, Expected, InputsOf, decrypt_files, encrypt_chosen, read_secrets, secret_file},
    clock::READ_STEP,
    error::{Error, Result},
    expect::{expectations, expectations_of_sums},
    keygen::{KeyOrder, Sides, keygen},
    ledger::{Ledger, Round, Shared, hex},
    origin::{belonging, inputs_name, keys_for},
    parts::name_of_sum,
    places::{Alone, DATA, Existing, Vacant, absent, ciphertexts, description, read_up_to, refused, targets},
    record::Recording,
    scheme::{Forecast, Whole},
    sealed::{seal, unseal},
    share::{Flooded, shared},
};
use limbwise::{
    ckks::{Estimate, Model},
    rlwe::KeyForm,
    scheme::Input as _,
    wire::{Lock, Origin},
};
use limbwise_apps::{
    AnyProgram, Array, Client, Description, Encryption, Observer, Prepared, Program, Way, family::DecryptedTable,
    on_scheme, registry::Data,
};
use limbwise_math::sampling::{Seed, SeedSource};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Longest record of where the data are.
const MOST_DATA_BYTES: usize = 1 << 20;

/// Said of an answer that a client computes from several results.
const COMPUTED: &str = "the answer is computed from several results, and noise is derived for a result: ask one sum for each answer that is to be shared";
/// Refused where nobody but the client can encrypt.
const NO_PUBLIC: &str =
    "--key public: messages of TFHE are encrypted under the secret key alone; leave out the choice of a public key";
/// Refused where there is no noise to flood.
const EXACT: &str = "--share: results of this workload are exact and carry no noise of the scheme: what is to be shared can be shared as it is; leave it out";
/// Refused where there is nothing to compare with.
const NO_TWIN: &str = "--compare: the server alone has the model, so nothing is known of what results should be; leave out the comparison";

/// Refused where the sum of parts is to be compared.
const SUMMED: &str = "--parts with --compare: a clear twin is of one part's data; compare the parts (--in, --inputs, --data), and leave out one of the two here";

/// Keys that were made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeysMade {
    workload: String,
    /// What it computes with.
    scheme: &'static str,
    /// Name of the parameter set.
    preset: String,
    /// The class of the security gate; 0 below 128.
    security_bits: u32,
    /// Whose table says so.
    security_standard: &'static str,
    /// Why the parameters may be insecure, if the security check was overridden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    pub keys: usize,
    /// Of the file of evaluation keys.
    pub key_file_bytes: u64,
    /// How they were planned to be kept in memory.
    key_form: KeyForm,
    /// What is expected of the results.
    #[serde(flatten)]
    pub forecast: Forecast,
}

/// Keys to make: of which program in which configuration, with the source of the client's data.
pub struct ToMake<'a, S: Whole, T> {
    pub built: &'a Prepared<S>,
    pub way: Way,
    pub recording: &'a Recording<S>,
    pub data: &'a T,
    pub lock: Lock<'a>,
    pub seeds: &'a SeedSource,
    /// Keys that are there.
    pub existing: Existing,
}

/// Makes the keys of a prepared program in one configuration and puts them into both directories. The client's directory
/// also gets `data`, which says where its data are.
///
/// # Errors
/// Directories that have keys already, or are one; errors of the system.
pub fn make_keys<S: Whole>(
    dev: &AnyDevice,
    places: Sides<'_>,
    asked: &ToMake<'_, S, impl Serialize>,
    observer: &mut dyn Observer,
) -> Result<KeysMade> {
    let &ToMake { built, way, recording, data, lock, seeds, existing } = asked;
    let data = &seal(data).map_err(|e| in_file(&places.client.join(DATA), &e))?;
    let mut description = built.description(way);
    description.insecure_randomness = seeds.is_insecure();
    let (params, required) = (built.params(), &recording.keys.required);
    let order = KeyOrder { params, description: &description, required, lock, seeds, data, existing };
    let key_file_bytes = keygen::<S, _>(dev, places, &order, observer)?;
    let security = S::security(params);
    Ok(KeysMade {
        workload: built.program(way).name().into(),
        scheme: S::NAME,
        preset: built.preset.clone(),
        security_bits: security.bits,
        security_standard: security.standard,
        insecure_reason: security.insecure_reason.clone(),
        insecure_randomness: seeds.is_insecure(),
        keys: required.len() + if S::tfhe(params).is_some() { 2 } else { 0 },
        key_file_bytes,
        key_form: recording.keys.form,
        forecast: S::forecast(params, &recording.results, recording.rotations),
    })
}

fn in_file(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::Damaged { path: path.display().to_string(), cause: why.to_string() }
}

/// A client's directory, with the program and the place of the data that it remembers.
pub struct ClientSide {
    dir: PathBuf,
    description: Description,
    /// With any numbers in the place of the server's.
    program: AnyProgram,
    data: Data,
}

/// What to encrypt, and how.
#[derive(Clone, Copy)]
pub struct ToEncrypt<'a> {
    /// Files in place of the data named when the keys were made; empty for those.
    pub data: &'a [PathBuf],
    /// Inputs that are encrypted, by name, a file of data each where files are given; empty for all. The others are left
    /// as they are in `out`, or are encrypted later.
    pub only: &'a [String],
    /// `None` for the key of the plan.
    pub key: Option<Encryption>,
    /// A directory or, for a single input, a file.
    pub out: &'a Path,
    pub existing: Existing,
    pub lock: Lock<'a>,
    pub seeds: &'a SeedSource,
}

/// Which inputs are encrypted, of which files.
struct Chosen {
    /// Their indices.
    inputs: Vec<usize>,
    /// A file of data for each input of the program, an empty path where none is given; or what was asked for.
    data: Vec<PathBuf>,
}

impl Chosen {
    fn of(names: &[String], asked: &ToEncrypt<'_>) -> Result<Self> {
        if asked.data.iter().any(|path| path.as_os_str().is_empty()) {
            return Err(Error::Refused("--data: an empty name; give a file".into()));
        }
        if asked.only.is_empty() {
            return Ok(Self { inputs: (0..names.len()).collect(), data: asked.data.to_vec() });
        }
        let index = |name: &String| {
            names.iter().position(|one| one == name).ok_or_else(|| {
                let all = names.join(", ");
                Error::Refused(format!("--only {name}: this program's inputs are {all}; name some of them").into())
            })
        };
        let inputs = asked.only.iter().map(index).collect::<Result<Vec<usize>>>()?;
        let mut data = asked.data.to_vec();
        if !data.is_empty() {
            if data.len() != inputs.len() {
                let (files, named) = (data.len(), inputs.len());
                let text = format!("--data: {files} files for {named} inputs named with --only; give one for each");
                return Err(Error::Refused(text.into()));
            }
            data = vec![PathBuf::new(); names.len()];
            for (&input, file) in inputs.iter().zip(asked.data) {
                data[input].clone_from(file);
            }
        }
        Ok(Self { inputs, data })
    }

    fn pick<T: Clone>(&self, all: &[T]) -> Vec<T> {
        self.inputs.iter().map(|&at| all[at].clone()).collect()
    }

    /// The inputs that are neither encrypted now nor there already, of these keys.
    fn beside(&self, names: &[String], files: &[PathBuf], keys: limbwise::wire::Fingerprint) -> Result<Vec<String>> {
        let mut missing = Vec::new();
        for at in (0..names.len()).filter(|at| !self.inputs.contains(at)) {
            if files[at].exists() {
                belonging(&files[at], &Origin { keys, ..Origin::NONE }.numbered(at))?;
            } else {
                missing.push(names[at].clone());
            }
        }
        Ok(missing)
    }
}

/// Inputs that were encrypted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Encrypted {
    workload: String,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    key: Encryption,
    pub inputs: Vec<InputFile>,
    /// Inputs that are not there yet: until they are, the directory cannot be evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// An input in its file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InputFile {
    pub name: String,
    pub file: PathBuf,
    pub bytes: u64,
}

/// What to decrypt, and how.
#[derive(Clone, Copy)]
pub struct ToDecrypt<'a> {
    /// The results: their directory, or files in the program's order.
    pub results: &'a [PathBuf],
    /// The encrypted inputs of these results; empty for the last ones encrypted.
    pub inputs: &'a [PathBuf],
    /// Where the results are sums over parts: the directories of the parts' encrypted inputs, in their order.
    pub parts: &'a [PathBuf],
    /// Compares with the clear twin.
    pub compare: bool,
    /// Data of the comparison, as in [`ToEncrypt::data`].
    pub data: &'a [PathBuf],
    /// The key that encrypted the inputs, if the ledger does not know it.
    pub key: Option<Encryption>,
    /// Factor by which the server's matrix, unknown to the client, may enlarge values and errors.
    pub gain: f64,
    /// Whether the numbers are to be shared: refused at once where they carry no noise.
    pub share: bool,
    pub lock: Lock<'a>,
}

/// Decrypted results.
pub struct Opened {
    pub workload: String,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    pub insecure_randomness: bool,
    /// What was expected of the results.
    pub forecast: Option<Forecast>,
    pub arrays: Vec<Array>,
    /// The answer with names and texts, where the results are a table; none of what is shared.
    pub table: Option<DecryptedTable>,
    /// What is expected of their errors, in the units of the arrays; `None` where results are exact.
    pub errors: Option<Vec<Estimate>>,
    /// Against the clear twin: precision, accuracy, what the workload adds.
    pub compared: Option<Map<String, Value>>,
    /// What makes them doubtful: as the results tell it and, where there is a clear twin, as the twin does.
    pub warnings: Vec<String>,
    /// Whether the client's ledger has the inputs; others are taken as encrypted by others.
    pub known_inputs: bool,
    ledger: Ledger,
}

impl ClientSide {
    /// Opens a client's directory.
    ///
    /// # Errors
    /// Files that are absent, damaged, or not those of a client.
    pub fn open(dir: &Path) -> Result<Self> {
        let description = description(dir)?;
        let program = description.stand_in().map_err(|e| in_file(dir, &e))?;
        let path = dir.join(DATA);
        let data = unseal(&read_up_to(&path, MOST_DATA_BYTES)?);
        let data = data.map_err(|e| in_file(&path, &format!("{e} (\"limbwise keygen\" writes it)")))?;
        Ok(Self { dir: dir.to_owned(), description, program, data })
    }

    /// The same with another source of data, for a part of a batch.
    #[must_use]
    pub fn with_data(self, data: Data) -> Self {
        Self { data, ..self }
    }

    /// Names of the inputs that the program takes, in order.
    pub fn input_names(&self) -> Vec<String> {
        on_scheme!(AnyProgram, &self.program, program => {
            program.inputs().iter().map(|input| input.name().to_owned()).collect()
        })
    }

    /// Encrypts the inputs of the program, and remembers them in the ledger.
    ///
    /// # Errors
    /// Data that do not fit the program or its bounds; files that exist; keys that are absent or locked.
    pub fn encrypt(&self, dev: &AnyDevice, asked: &ToEncrypt<'_>, observer: &mut dyn Observer) -> Result<Encrypted> {
        on_scheme!(AnyProgram, &self.program, program => self.encrypt_by(dev, program, asked, observer))
    }

    fn encrypt_by<S: Whole, P: Program<Scheme = S>>(
        &self,
        dev: &AnyDevice,
        program: &P,
        asked: &ToEncrypt<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Encrypted> {
        let names: Vec<String> = program.inputs().iter().map(|input| input.name().to_owned()).collect();
        let chosen = Chosen::of(&names, asked)?;
        observer.step(READ_STEP, 0, 2);
        let client = self.data.client::<S>(&self.description.workload, &self.program, &chosen.data);
        let (client, params) = (client.map_err(Error::of_refusal)?, program.params());
        if asked.key == Some(Encryption::PublicKey) && S::rlwe(params).is_none() {
            return Err(Error::Refused(NO_PUBLIC.into()));
        }
        let (inputs, key) = (program.inputs(), asked.key.unwrap_or_else(|| program.encryption()));
        observer.step(READ_STEP, 1, 2);
        let read = EncryptionKey::read::<S>(dev, params, &self.dir, &self.description, key, asked.lock)?;
        let ledger = Ledger::of(&self.dir, read.key_set());
        ledger.ready()?; // without it nobody could read the results
        // Keys that are refused leave no directory behind, and neither do values that are.
        let _place = Vacant::before(asked.out);
        let files = targets(asked.out, "input", inputs.len(), Existing::Replaced)?;
        // Of two encryptions at once into one directory, inputs of both would be left.
        let _alone = asked.out.is_dir().then(|| Alone::with(asked.out)).transpose()?;
        absent(&chosen.pick(&files), asked.existing)?;
        let missing = chosen.beside(&names, &files, read.key_set())?;
        encrypt_chosen(dev, (program, &client), &read, asked.seeds, (&files, &chosen.inputs), observer)?;
        if missing.is_empty() {
            let place = asked.out.display().to_string();
            ledger.encrypted(Round { inputs: hex(inputs_name(&files)?), key, place })?;
        }
        let written = |(input, file): (S::Input, PathBuf)| {
            let bytes = fs::metadata(&file).map_err(refused(&file, "reading"))?.len();
            Ok(InputFile { name: input.name().to_owned(), file, bytes })
        };
        Ok(Encrypted {
            workload: program.name().into(),
            insecure_randomness: asked.seeds.is_insecure() || self.description.insecure_randomness,
            key,
            inputs: chosen
                .pick(&inputs.into_iter().zip(files).collect::<Vec<_>>())
                .into_iter()
                .map(written)
                .collect::<Result<_>>()?,
            missing,
        })
    }

    /// Decrypts results. All of them are first compared with what the client's own recording of the program expects.
    ///
    /// # Errors
    /// As [`decrypt_files`]; a comparison without a clear twin, sharing of exact results.
    pub fn decrypt(&self, dev: &AnyDevice, asked: &ToDecrypt<'_>, observer: &mut dyn Observer) -> Result<Opened> {
        if asked.compare && !asked.parts.is_empty() {
            return Err(Error::Refused(SUMMED.into()));
        }
        if asked.compare && !self.data.has_model() {
            return Err(Error::Refused(NO_TWIN.into()));
        }
        let (program, model) = self.own_program(asked.gain)?;
        on_scheme!(AnyProgram, &program, program => match asked.parts.len() {
            0 => self.decrypt_by(dev, program, asked, model, observer),
            parts => self.decrypt_by(dev, &program.summed_over(parts), asked, model, observer),
        })
    }

    /// The key that encrypted the parts of a sum: the ledger has every one of them, and all under one key.
    fn key_of_parts(&self, ledger: &Ledger, asked: &ToDecrypt<'_>, usual: Encryption) -> Result<Encryption> {
        let rounds = ledger.rounds()?;
        let mut found = None;
        for dir in asked.parts {
            let name = hex(inputs_name(&ciphertexts(dir)?)?);
            let key = rounds.iter().find(|round| round.inputs == name).map(|round| round.key).or(asked.key);
            let key = key.unwrap_or(usual);
            if found.is_some_and(|found| found != key) {
                let cause = "encrypted under another key than the parts before it: encrypt all parts alike".into();
                return Err(Error::Damaged { path: dir.display().to_string(), cause });
            }
            found = Some(key);
        }
        Ok(found.unwrap_or(usual))
    }

    /// The program with the server's numbers, where the client has them; else with others in their place.
    fn own_program(&self, gain: f64) -> Result<(AnyProgram, Model)> {
        let why = "the client's copy of the model, which says what a result may be";
        let numbers = self.data.model(&self.description.workload);
        match numbers.map_err(|e| Error::Refused(format!("{why}: {e}").into()))? {
            Some(numbers) => {
                let program = self.description.program(&numbers);
                Ok((program.map_err(|e| in_file(&self.dir, &e))?, Model::Known))
            }
            None => Ok((self.program.clone(), Model::Server { gain })),
        }
    }

    fn decrypt_by<S: Whole, P: Program<Scheme = S>>(
        &self,
        dev: &AnyDevice,
        program: &P,
        asked: &ToDecrypt<'_>,
        model: Model,
        observer: &mut dyn Observer,
    ) -> Result<Opened> {
        if asked.share && S::errors(&[]).is_none() {
            return Err(Error::Refused(EXACT.into()));
        }
        let (files, params) = (listed(asked.results)?, program.params());
        let twin = || self.data.client::<S>(&self.description.workload, &self.program, asked.data);
        let client = asked.compare.then(twin).transpose().map_err(Error::of_refusal)?;
        let origin = keys_for(&self.dir.join(secret_file::<S>(params)), &self.description)?;
        let secrets = read_secrets::<S>(&self.dir, params, asked.lock)?;
        let ledger = Ledger::of(&self.dir, secrets.identity(S::rlwe(params)));
        let named = match (asked.parts, asked.inputs) {
            ([], []) => None,
            ([], inputs) => Some(inputs_name(&listed(inputs)?)?),
            (parts, _) => {
                let names = parts.iter().map(|dir| inputs_name(&ciphertexts(dir)?)).collect::<Result<Vec<_>>>()?;
                Some(name_of_sum(&names)?)
            }
        };
        let first = files.first().ok_or_else(|| Error::Empty { path: self.dir.display().to_string() })?;
        let inputs = InputsOf::of(&ledger, program, origin, first, named, asked.key)?;
        let parts = Some(asked.parts.len()).filter(|&parts| parts > 0);
        let key = if parts.is_some() { self.key_of_parts(&ledger, asked, inputs.key)? } else { inputs.key };
        let results = match parts {
            None => expectations(program, key, model)?,
            Some(parts) => expectations_of_sums(program, (key, parts), model)?,
        };
        let expected = Expected { results, origin: Origin { inputs: inputs.name, ..origin } };
        // What data and description tell of a refusal: nothing of the results is in it.
        let told = || client.as_ref().map_or_else(|| program.withheld(), Client::forewarned);
        let likely = |cause: Error| match cause.withholds().then(told).flatten() {
            Some(likely) => Error::Likely { cause: Box::new(cause), likely },
            None => cause,
        };
        let Decrypted { reading, estimates, arrays } =
            decrypt_files(dev, program, &secrets, &expected, &files, observer).map_err(likely)?;
        let compared = client.map(|client| client.conclude(&reading));
        let mut warnings = compared.as_ref().map_or_else(Vec::new, |conclusion| conclusion.warnings.clone());
        warnings
            .extend(program.doubts(&reading).into_iter().filter(|doubt| !warnings.contains(doubt)).collect::<Vec<_>>());
        let in_units = |(at, estimate): (usize, Estimate)| estimate.enlarged(program.unit_of(at));
        Ok(Opened {
            workload: program.name().into(),
            insecure_randomness: self.description.insecure_randomness,
            forecast: S::forecast(params, &estimates, 0).of_results(),
            table: program.table(&reading).filter(|_| !asked.share),
            arrays,
            errors: S::errors(&estimates).map(|all| all.into_iter().enumerate().map(in_units).collect()),
            compared: compared.as_ref().map(compared_numbers::<S>),
            warnings,
            known_inputs: named.is_none() || inputs.known || parts.is_some(),
            ledger,
        })
    }
}

impl Opened {
    /// Floods and rounds the results, so that they can be shared. They are counted in the ledger before a number is
    /// returned, and stay counted. Without a number of bits or of results, those of the key's first sharing hold.
    ///
    /// # Errors
    /// Results that are exact, or too imprecise; more results than the first sharing was for.
    pub fn share(&mut self, bits: Option<u32>, results: Option<u32>) -> Result<(Vec<Flooded>, Shared)> {
        let errors = self.errors.as_ref().ok_or_else(|| Error::Refused(EXACT.into()))?;
        if errors.iter().any(|estimate| !estimate.error().is_finite()) {
            return Err(Error::Refused(COMPUTED.into()));
        }
        let before = self.ledger.shared()?;
        let sharing = Shared::sharing(before, bits, results);
        let count = u32::try_from(self.arrays.len()).unwrap_or(u32::MAX);
        Shared::after(before, sharing, count)?;
        let flood = |(array, estimate): (&Array, &Estimate)| {
            let seed = Seed::from_os().map_err(limbwise::Error::from)?;
            shared(array, *estimate, sharing, &seed)
        };
        let (arrays, flooded) = self.arrays.iter().zip(errors).map(flood).collect::<Result<(Vec<_>, Vec<_>)>>()?;
        self.arrays = arrays;
        Ok((flooded, self.ledger.share(sharing, count, None)?))
    }
}

/// The ciphertexts of a directory, or the files themselves.
fn listed(places: &[PathBuf]) -> Result<Vec<PathBuf>> {
    match places {
        [place] => ciphertexts(place),
        files => Ok(files.to_vec()),
    }
}

/// A comparison as JSON, without what it leaves empty.
fn compared_numbers<S: Whole>(conclusion: &limbwise_apps::Conclusion<S>) -> Map<String, Value> {
    let mut all = S::compared(&conclusion.found);
    all.extend(conclusion.details.clone());
    all.values_mut().for_each(without_nulls);
    all.retain(|_, value| !value.is_null());
    all
}

/// Removes empty fields at any depth.
pub fn without_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(without_nulls);
    }
}
