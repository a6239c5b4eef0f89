//! Options of `heir`.

use super::{
    Heir, HeirClient, Source,
    source::{Argument, Kind},
    text::{MOST_BYTES, Text},
};
use crate::{
    data::load_array,
    linear::{data::generated, layer::Model},
    options::{KEYS, StorageArgs, absolute, choice, mistake, named_params, ways_of_keys},
    program::Program as _,
    way::Way,
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, bootstrap::Rotations},
    finite,
    rlwe::KeyForm,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What both sides know of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// The text: the program is public, and with it the constants in it.
    pub text: String,
    /// Its function.
    pub entry: String,
    /// The numbers of clear arguments.
    pub clear: Vec<Vec<f64>>,
    /// Bound on the absolute values of the inputs.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub most: f64,
    /// How it bootstraps, if it does.
    pub plan: Option<BootstrapPlan>,
}

/// The numbers of the arguments.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeirData {
    /// Numbers of an argument, .npy or a table; once for each argument, in order [default: generated numbers]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Vec<PathBuf>,

    /// Seed of generated numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,

    /// Values that a result should have; once for each result, in order
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    expected: Vec<PathBuf>,

    /// How far results may be from --expected without a warning
    #[arg(long, value_name = "DIFFERENCE", default_value = "0.001", value_parser = finite::parse, help_heading = "Data")]
    tolerance: f64,
}

/// A program that HEIR compiled: its CKKS dialect as generic MLIR text (CKKS)
///
/// Loops are unrolled, functions entered, clear numbers computed; what remains are operations on ciphertexts. Parameters
/// are chosen for the text: its ring, or the least one above that is 128-bit secure, its levels, its scale, primes of
/// this library. Arguments that the text leaves clear are known to the server. Reported: results beside a clear twin
/// that carries out the same steps, and beside --expected where it is given.
///
/// The text comes from HEIR (heir_py ships heir-opt):
///   heir-opt --annotate-module="backend=openfhe scheme=ckks" --mlir-to-ckks=min-slot-count=1024 \
///       --mlir-print-op-generic dot.mlir > dot.ckks.mlir
///
/// Examples:
///   heir --program dot.ckks.mlir                              generated numbers, beside the clear twin
///   heir --program dot.ckks.mlir --data x.npy --data y.npy    numbers of both arguments
///   heir --program dot.ckks.mlir --expected z.npy             beside values from elsewhere
///   heir --program deep.ckks.mlir --preset boot               a program that bootstraps
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HeirArgs {
    /// The text, in generic form
    #[arg(long, value_name = "FILE.mlir", help_heading = "Program")]
    program: PathBuf,

    /// The function that is the program [default: the only one that can be meant]
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    entry: Option<String>,

    /// Bound on the absolute values of the numbers that are encrypted
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = finite::parse, help_heading = "Program")]
    largest: f64,

    #[command(flatten)]
    data: HeirData,

    /// Storage of evaluation keys [default: the fastest that fits]
    #[arg(long, value_parser = choice(KEYS), value_name = "HOW", help_heading = "Strategy")]
    keys: Option<KeyForm>,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: chosen for the text; boot-words for a program that bootstraps]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

/// The name of chosen parameters.
const CHOSEN: &str = "chosen for the text";
/// The usual preset of programs that bootstrap.
const BOOTSTRAPS: &str = "boot-words";

/// A text from a file.
pub(super) fn read_text(path: &Path) -> Refusable<Text> {
    let name = path.display();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_string(&mut text));
    read.map_err(|e| mistake(format!("{name}: cannot read: {e} (give the generic MLIR text of a program)")))?;
    Ok(text.into())
}

impl HeirData {
    /// Numbers of the arguments of some kind, from the given files if there are any.
    fn numbers(&self, arguments: &[Argument], kind: Kind, most: f64, files: &[PathBuf]) -> Refusable<Vec<Vec<f64>>> {
        let files = if files.is_empty() { &self.data } else { files };
        let asked = arguments.iter().filter(|argument| argument.kind != Kind::Zero);
        let count = asked.clone().count();
        if !files.is_empty() && files.len() != count {
            return Err(mistake(format!("--data: {} files; the program has {count} arguments", files.len())));
        }
        let mut all = Vec::new();
        for (at, argument) in asked.enumerate().filter(|(_, argument)| argument.kind == kind) {
            all.push(match files.get(at) {
                Some(path) => real_numbers(path)?,
                None => {
                    let count = argument.shape.iter().product();
                    let seed = u64::try_from(at).unwrap_or(u64::MAX);
                    generated(self.data_seed, seed, count, 1.0)
                        .into_iter()
                        .map(|x| (x * most).clamp(-most, most))
                        .collect()
                }
            });
        }
        Ok(all)
    }

    /// The client of a program.
    fn client(&self, program: &Heir, files: &[PathBuf]) -> Refusable<HeirClient> {
        let secrets = self.numbers(&program.source().arguments, Kind::Secret, program.most(), files)?;
        let wrong = |e| mistake(format!("the data: {e}"));
        let client = HeirClient::new(program, &secrets).map_err(wrong)?;
        if self.expected.is_empty() {
            return Ok(client);
        }
        let expected = self.expected.iter().map(|path| real_numbers(path)).collect::<Refusable<Vec<_>>>()?;
        client.expecting(expected, self.tolerance).map_err(wrong)
    }
}

/// Real numbers of a file, in order.
fn real_numbers(path: &Path) -> Refusable<Vec<f64>> {
    let numbers = load_array(path)?;
    if numbers.values.iter().any(|z| z.im != 0.0) {
        return Err(mistake(format!("{}: complex numbers; wanted real ones", path.display())));
    }
    Ok(numbers.values.iter().map(|z| z.re).collect())
}

impl Workload for HeirArgs {
    type Scheme = Ckks;
    type Program = Heir;
    type Client = HeirClient;
    type Described = Described;
    type Data = HeirData;
    const PRESET: Option<&'static str> = None;

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let name = self.program.display();
        if self.largest <= 0.0 {
            return Err(mistake(format!("--largest {}: wanted a number above 0", self.largest)));
        }
        let wrong = |e| mistake(format!("{name}: {e}"));
        let text = read_text(&self.program)?;
        let arguments = Source::arguments_of(&text, self.entry.as_deref()).map_err(wrong)?;
        let clear = self.data.numbers(&arguments, Kind::Clear, self.largest, &[])?;
        let source = Arc::new(Source::new(text, self.entry.as_deref(), &clear).map_err(wrong)?);
        let bootstraps = source.bootstraps().then_some(BOOTSTRAPS);
        let (program, preset) = match self.preset.as_deref().or(bootstraps) {
            Some(preset) => (Heir::new(&named_params(preset)?, source, self.largest).map_err(wrong)?, preset),
            None => (Heir::choose(source, self.largest).map_err(wrong)?, CHOSEN),
        };
        let client = self.data.client(&program, &[])?;
        let program = program.told(client.beyond());
        Ok(Built {
            described: Described {
                text: program.source().text.to_string(),
                entry: program.source().name.clone(),
                clear,
                most: self.largest,
                plan: program.plan(),
            },
            ways: self.ways(program.plan(), memory),
            program,
            client: Some(client),
            preset: preset.into(),
            smaller: "leave open what --keys fixes",
        })
    }

    fn data(&self) -> HeirData {
        let absolute = |paths: &[PathBuf]| paths.iter().filter_map(|path| absolute(Some(path))).collect();
        let HeirData { data, expected, .. } = &self.data;
        HeirData { data: absolute(data), expected: absolute(expected), ..self.data.clone() }
    }

    fn program(of: &Described, (params, _): Named<'_, Ckks>, _: Option<&Model>) -> Refusable<Heir> {
        let wrong = |e| mistake(format!("the program: {e}"));
        let source = Source::new(of.text.as_str().into(), Some(&of.entry), &of.clear).map_err(wrong)?;
        if !(of.most > 0.0 && of.most.is_finite()) {
            return Err(mistake(format!("the program: a bound of {}; wanted a number above 0", of.most)));
        }
        Ok(Heir::new(params, Arc::new(source), of.most).map_err(wrong)?.with(of.plan))
    }

    fn in_way(described: &mut Described, way: Way) {
        described.plan = way.bootstrapping.or(described.plan);
    }

    fn client(data: &HeirData, _: &Described, program: &Heir, files: &[PathBuf]) -> Refusable<HeirClient> {
        debug_assert_eq!(program.name(), "heir");
        data.client(program, files)
    }
}

impl HeirArgs {
    fn ways(&self, plan: Option<BootstrapPlan>, memory: Option<u64>) -> Vec<Way> {
        let Some(fastest) = plan else { return ways_of_keys(self.keys, memory) };
        let storage = StorageArgs { plaintexts: None, keys: self.keys };
        let plan = |rotations| BootstrapPlan { rotations, form: PlaintextForm::Full, ..fastest };
        storage.ways_of_plans(Rotations::USUAL.map(plan), memory)
    }
}
