//! Options of `table`.

use super::{TableClient, TableProgram};
use crate::{
    data::{Numbers, load_array},
    linear::layer::Model,
    options::{Choice, ROTATIONS, StorageArgs, between, choice, mistake, named_params, one},
    way::Way,
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    Complex64,
    ckks::{
        BootstrapPlan, LookupTable, PlaintextForm,
        bootstrap::{Content, Rotations},
    },
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What both sides know of a lookup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// How it is carried out.
    pub plan: BootstrapPlan,
    /// The entries of 0, 1, 2, …
    pub entries: Vec<f64>,
}

/// What the slots hold.
const CONTENTS: &[Choice<Content>] = &[
    ("real", Content::Real, "An integer a slot"),
    ("complex", Content::Complex, "Two integers a slot, in the real and in the imaginary part"),
];

/// Tables with names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Function {
    /// m² modulo the number of entries
    #[default]
    Square,
    /// The number of ones in m
    Ones,
    /// 1 from the middle on, 0 before
    Half,
    /// m itself: noise is taken away
    Same,
}

impl Function {
    fn entry(self, m: usize, entries: usize) -> f64 {
        match self {
            Self::Square => (m * m % entries) as f64,
            Self::Ones => f64::from(m.count_ones()),
            Self::Half => f64::from(u8::from(2 * m >= entries)),
            Self::Same => m as f64,
        }
    }
}

fn entries(text: &str) -> Result<usize, String> {
    between(text, 2, 1024)
}

/// Where the integers come from: the client's business.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableData {
    /// Seed of the uniform integers
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Integers")]
    data_seed: u64,
}

/// A lookup table on integers in slots, evaluated by bootstrapping: exact entries, levels left, less noise
///
/// Every slot holds an integer below the number of entries; all are looked up at once and compared with the table. The
/// polynomial of the table has slope zero at the integers, so small errors of the integers are squared away. A lookup
/// that could be wrong with more than 2^-60 a slot is refused.
///
/// Examples:
///   table                                                     256 entries on 2^15 slots
///   table --entries 2 --function same --content complex       bits, two a slot
///   table --table-file f.csv --slots 4096                     entries from a file, fewer slots
///   table --memory 4GB                                        within 4 GB, keys and maps included
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct TableArgs {
    /// Number of entries
    #[arg(long, value_name = "COUNT", default_value = "256", value_parser = entries, help_heading = "Table")]
    entries: usize,

    /// What the entries are
    #[arg(long, value_enum, value_name = "WHICH", default_value = "square", help_heading = "Table")]
    function: Function,

    /// A file of numbers: the entries of 0, 1, 2, …
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entries", "function"], help_heading = "Table")]
    table_file: Option<PathBuf>,

    /// Slots in use, a power of two [default: all]
    #[arg(long, value_name = "COUNT", help_heading = "Integers")]
    slots: Option<usize>,

    /// What the slots hold
    #[arg(long, value_parser = choice(CONTENTS), default_value = "real", help_heading = "Integers")]
    content: Content,

    #[command(flatten)]
    data: TableData,

    /// Rotation strategy of the maps [default: the fastest that fits]
    #[arg(long, value_parser = choice(ROTATIONS), value_name = "NAME", help_heading = "Strategy")]
    strategy: Option<Rotations>,

    #[command(flatten)]
    storage: StorageArgs,

    /// Parameters with bootstrapping: a preset's name ("limbwise params show") or a TOML file
    /// [default: boot-words]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "boot-words";

impl Workload for TableArgs {
    type Scheme = Ckks;
    type Program = TableProgram;
    type Client = TableClient;
    type Described = Described;
    type Data = TableData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let params = named_params(preset)?;
        let slots = self.slots.unwrap_or(params.max_slots());
        let plan = BootstrapPlan { content: self.content, ..BootstrapPlan::fastest(slots) };
        let entries = match &self.table_file {
            Some(path) => read_entries(path)?,
            None => (0..self.entries).map(|m| self.function.entry(m, self.entries)).collect(),
        };
        let described = Described { plan, entries };
        let program = Self::program(&described, (&params, preset), None)?;
        let client = Some(Self::client(&self.data, &described, &program, &[])?);
        let smaller = "fewer --slots, or leave open what --strategy, --plaintexts and --keys fix";
        Ok(Built { ways: self.ways(plan, memory), described, program, client, preset: preset.into(), smaller })
    }

    fn data(&self) -> TableData {
        self.data.clone()
    }

    fn program(of: &Described, (params, _): Named<'_, Ckks>, _: Option<&Model>) -> Refusable<TableProgram> {
        let table = LookupTable::new(&of.entries)?;
        TableProgram::new(params, of.plan, table).map_err(|e| mistake(e.to_string()))
    }

    fn in_way(described: &mut Described, way: Way) {
        described.plan = way.bootstrapping.unwrap_or(described.plan);
    }

    fn client(data: &TableData, _: &Described, program: &TableProgram, files: &[PathBuf]) -> Refusable<TableClient> {
        let Some(path) = one(files)? else { return Ok(TableClient::uniform(program, data.data_seed)?) };
        let Numbers { values, .. } = load_array(path)?;
        TableClient::new(program, values).map_err(|e| mistake(format!("{}: {e}", path.display())))
    }
}

/// The entries of a file: one or more real numbers, in order.
fn read_entries(path: &Path) -> Refusable<Vec<f64>> {
    let Numbers { values, .. } = load_array(path)?;
    if let Some(index) = values.iter().position(|z: &Complex64| z.im != 0.0) {
        return Err(mistake(format!("{}: entry {index} is complex: a table has real entries", path.display())));
    }
    Ok(values.iter().map(|z| z.re).collect())
}

impl TableArgs {
    fn ways(&self, plan: BootstrapPlan, memory: Option<u64>) -> Vec<Way> {
        let rotations = self.strategy.map_or(Rotations::USUAL.to_vec(), |name| vec![name]);
        let forms = self.storage.forms(&PlaintextForm::ALL);
        let plans = rotations
            .into_iter()
            .flat_map(|rotations| forms.iter().map(move |&form| BootstrapPlan { rotations, form, ..plan }));
        self.storage.ways_of_plans(plans.collect::<Vec<_>>(), memory)
    }
}
