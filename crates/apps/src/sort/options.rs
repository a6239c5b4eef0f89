//! Options of `sort`.

use super::{NetworkName, Sort, SortError, Task, client::SortClient};
use crate::{
    data::{Numbers, load_array},
    linear::{data::generated, layer::Model},
    options::{Choice, StorageArgs, absolute, between, choice, mistake, named_params, one},
    way::Way,
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    ckks::{BootstrapPlan, PlaintextForm, bootstrap::Rotations},
    finite,
    params::Params,
    scheme::Ckks,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What both sides know of a sort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub task: Task,
    /// How it bootstraps.
    pub plan: BootstrapPlan,
}

/// The networks.
const NETWORKS: &[Choice<NetworkName>] = &[
    ("2-way", NetworkName::Two, "Odd-even merges of two"),
    ("3-way", NetworkName::Three, "Merges of three: fewer stages, deeper sorters"),
    ("4-way", NetworkName::Four, "Merges of four"),
    ("5-way", NetworkName::Five, "Merges of five: fewest stages, deepest sorters"),
    ("bitonic", NetworkName::Bitonic, "Bitonic merges of two"),
];

/// What is sorted.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortData {
    /// A table or .npy: the first column is sorted, the others move along [default: generated numbers]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,

    /// Seed of generated numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    data_seed: u64,
}

/// Sorting of encrypted numbers, with columns that move along, by a network of two- to five-way sorters (CKKS)
///
/// Numbers are compared by a composition of polynomials that approximates the sign. Numbers that differ by less than
/// --gap may come in either order and become mixtures of each other; equal numbers are not kept in the order they came
/// in. The range of the numbers is public: what lies beyond is an error before anything is encrypted. Reported: pairs
/// further apart than the gap that came in the wrong order, the largest error, messages that were bootstrapped.
///
/// Examples:
///   sort                                                      1024 numbers of [0, 1]
///   sort --count 256 --gap 0.001 --descending                 fewer, told apart more finely, the greatest first
///   sort --data sales.csv --from 0 --to 5000 --gap 20         the rows of a table by their first column
///   sort --network bitonic --memory 4GB                       another network, within 4 GB
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SortArgs {
    #[command(flatten)]
    data: SortData,

    /// Numbers to sort [default: 1024, or the rows of --data]
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true, help_heading = "Data")]
    count: Option<usize>,

    /// Least number of the public range
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = finite::parse, allow_negative_numbers = true, help_heading = "Data")]
    from: f64,

    /// Greatest number of the public range
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = finite::parse, allow_negative_numbers = true, help_heading = "Data")]
    to: f64,

    /// Numbers that differ by less may come in either order [default: a 256th of the range]
    #[arg(long, value_name = "DIFFERENCE", value_parser = finite::parse, allow_negative_numbers = true, help_heading = "Sorting")]
    gap: Option<f64>,

    /// The greatest first
    #[arg(long, help_heading = "Sorting")]
    descending: bool,

    /// The network [default: the cheapest]
    #[arg(long, value_parser = choice(NETWORKS), value_name = "NAME", help_heading = "Sorting")]
    network: Option<NetworkName>,

    #[command(flatten)]
    storage: StorageArgs,

    /// Parameters with bootstrapping: a preset's name ("limbwise params show") or a TOML file
    /// [default: boot-words]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "boot-words";

/// Generated numbers, where no count is asked for.
const COUNT: usize = 1024;
/// The default gap is this part of the range.
const PARTS: f64 = 256.0;

impl SortData {
    /// Columns of the file, or one column of generated numbers of a range.
    fn columns(&self, files: &[PathBuf], count: Option<usize>, [least, most]: [f64; 2]) -> Refusable<Vec<Vec<f64>>> {
        match one(files)?.or(self.data.as_deref()) {
            Some(path) => columns(path, count),
            None => {
                let (middle, half) = (least.midpoint(most), 0.5 * (most - least));
                let numbers = generated(self.data_seed, 0, count.unwrap_or(COUNT), 1.0);
                Ok(vec![numbers.into_iter().map(|x| (middle + half * x).clamp(least, most)).collect()])
            }
        }
    }
}

/// The first rows of a file by columns.
fn columns(path: &Path, count: Option<usize>) -> Refusable<Vec<Vec<f64>>> {
    let Numbers { shape, values } = load_array(path)?;
    let (rows, width) = match shape[..] {
        [rows] => (rows, 1),
        [rows, width] => (rows, width),
        _ => {
            return Err(mistake(format!(
                "{}: {} dimensions; wanted a column or a table (reshape it to rows × columns)",
                path.display(),
                shape.len()
            )));
        }
    };
    if values.iter().any(|z| z.im != 0.0) {
        return Err(mistake(format!(
            "{}: complex numbers have no order; wanted real ones (write the real parts to a file)",
            path.display()
        )));
    }
    let taken = count.unwrap_or(rows);
    if taken > rows || width == 0 {
        return Err(mistake(format!(
            "{}: {rows} rows of {width} columns; --count asks for {taken} (leave --count out for all)",
            path.display()
        )));
    }
    Ok((0..width).map(|column| (0..taken).map(|row| values[row * width + column].re).collect()).collect())
}

/// A public bound of a column: its largest absolute value, rounded up to a power of two.
fn size(column: &[f64]) -> f64 {
    let most = column.iter().map(|x| x.abs()).fold(0.0, f64::max);
    if most > 0.0 { most.log2().ceil().exp2() } else { 1.0 }
}

impl Workload for SortArgs {
    type Scheme = Ckks;
    type Program = Sort;
    type Client = SortClient;
    type Described = Described;
    type Data = SortData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let params = named_params(preset)?;
        let (least, most) = (self.from, self.to);
        if least >= most || !(most - least).is_finite() {
            return Err(SortError::Range { least, most }.into());
        }
        let columns = self.data.columns(&[], self.count, [least, most])?;
        let task = Task {
            count: columns[0].len(),
            network: NetworkName::Two,
            least,
            most,
            gap: self.gap.unwrap_or((most - least) / PARTS),
            descending: self.descending,
            sizes: columns[1..].iter().map(|column| size(column)).collect(),
        };
        let program = self.program_for((&params, preset), &task)?;
        let client = SortClient::new(&program, columns).map_err(|e| mistake(format!("the numbers: {e}")))?;
        Ok(Built {
            described: Described { task: program.task().clone(), plan: program.plan() },
            ways: self.ways(program.plan(), memory),
            program,
            client: Some(client),
            preset: preset.into(),
            smaller: "fewer --count or columns, or leave open what --plaintexts and --keys fix",
        })
    }

    fn data(&self) -> SortData {
        SortData { data: absolute(self.data.data.as_ref()), ..self.data.clone() }
    }

    fn program(of: &Described, params: Named<'_, Ckks>, _: Option<&Model>) -> Refusable<Sort> {
        Ok(Sort::new(params, of.task.clone())?.with(of.plan))
    }

    fn in_way(described: &mut Described, way: Way) {
        described.plan = way.bootstrapping.unwrap_or(described.plan);
    }

    fn client(data: &SortData, of: &Described, program: &Sort, files: &[PathBuf]) -> Refusable<SortClient> {
        let Task { count, least, most, .. } = of.task;
        let columns = data.columns(files, Some(count), [least, most])?;
        SortClient::new(program, columns).map_err(|e| mistake(format!("the numbers: {e}")))
    }
}

impl SortArgs {
    /// The program with the network that was asked for, or with the cheapest that fits.
    fn program_for(&self, params: (&Params, &str), task: &Task) -> Refusable<Sort> {
        let with = |network| Sort::new(params, Task { network, ..task.clone() });
        if let Some(network) = self.network {
            return with(network);
        }
        let all = NetworkName::ALL.map(with);
        let cheapest = |a: &&Sort, b: &&Sort| a.cost().total_cmp(&b.cost());
        let found = all.iter().flatten().min_by(cheapest).cloned();
        // Where none fits, the first says why.
        found.map_or_else(|| with(NetworkName::Two), Ok)
    }

    fn ways(&self, fastest: BootstrapPlan, memory: Option<u64>) -> Vec<Way> {
        let form = self.storage.plaintexts.unwrap_or(PlaintextForm::Full);
        let plan = |rotations| BootstrapPlan { rotations, form, ..fastest };
        self.storage.ways_of_plans(Rotations::USUAL.map(plan), memory)
    }
}

fn count(text: &str) -> Result<usize, String> {
    between(text, 2, 1 << 16)
}
