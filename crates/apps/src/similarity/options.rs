//! Options of `similarity`.

use super::{MOST_DIMENSION, MOST_ROWS, Similarity, Task, Wanted, client::SearchClient, data::Rows};
use crate::{
    linear::layer::Model,
    options::{KEYS, absolute, between, choice, mistake, named_params, ways_of_keys},
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{finite, rlwe::KeyForm, scheme::Ckks};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

fn rows(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_ROWS)
}

fn dimension(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_DIMENSION)
}

fn part(text: &str) -> Result<f64, String> {
    let part = finite::parse(text).ok().filter(|x| *x > 0.0 && *x < 1.0);
    part.ok_or_else(|| "wanted a number between 0 and 1".into())
}

/// Source of the rows.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchData {
    /// Unit vectors, a row each: *.bin (floats of 32 bits, no header), *.npy or a table [default: generated]
    #[arg(long, value_name = "FILE", requires = "query", help_heading = "Data")]
    data: Option<PathBuf>,

    /// The query, one such vector
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    query: Option<PathBuf>,

    /// What the rows carry: integers of 16 bits, no header, seven a row, each from 0 to 511; none with --count-only
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    payloads: Option<PathBuf>,

    /// Seed of generated rows
    #[arg(long, value_name = "NUMBER", default_value_t = 0, conflicts_with = "data", help_heading = "Data")]
    data_seed: u64,
}

/// Search by similarity: rows of an encrypted database near an encrypted query
///
/// Rows are unit vectors with payloads of seven small numbers. The server computes all cosines, makes 1 of those above
/// the threshold and 0 of those below by polynomials, and multiplies the payloads with that, or sums it. The client gets
/// the payloads of the matches and zeros for all others. A cosine within the margin of the threshold is not decided:
/// decryption refuses the result, as it does more matches than were asked for.
///
/// Examples:
///   similarity                                                1000 generated rows of 128 coordinates
///   similarity --rows 50000 --count-only                      how many match
///   similarity --data db.bin --query query.bin --payloads payloads.bin
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SimilarityArgs {
    /// Rows of the database
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = rows)]
    rows: usize,

    /// Coordinates of a row
    #[arg(long, value_name = "COUNT", default_value = "128", value_parser = dimension)]
    dimension: usize,

    /// Rows with a larger cosine match
    #[arg(long, value_name = "COSINE", default_value = "0.8", value_parser = part)]
    threshold: f64,

    /// Distance from the threshold below which a cosine is not decided; half of it takes one to two levels more
    #[arg(long, value_name = "COSINE", default_value = "0.05", value_parser = part)]
    margin: f64,

    /// Most matches of a result; more are refused at decryption
    #[arg(long, value_name = "COUNT", default_value = "32", value_parser = rows)]
    matches: usize,

    /// The number of matches alone, without their payloads
    #[arg(long)]
    count_only: bool,

    #[command(flatten)]
    data: SearchData,

    /// Storage of evaluation keys [default: stored, or the fastest that fits --memory]
    #[arg(long, value_parser = choice(KEYS), value_name = "HOW", help_heading = "Parameters")]
    keys: Option<KeyForm>,

    /// Parameters: a preset's name ("limbwise params show") or a TOML file
    /// [default: n15-l16-s40]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "n15-l16-s40";

impl SearchData {
    /// The rows of these files, in the order of the program's inputs; an empty name is one that is not encrypted now.
    fn client(&self, program: &Similarity, files: &[PathBuf]) -> Refusable<SearchClient> {
        let task = program.task();
        let wanted = match task.wanted {
            Wanted::Payloads => "three files: the database, the query, the payloads",
            Wanted::Count => "two files: the database and the query",
        };
        let own = [self.data.as_deref(), self.query.as_deref(), self.payloads.as_deref()];
        let given: [Option<&Path>; 3] = match (files, task.wanted) {
            ([rows, asked, carried], Wanted::Payloads) => [Some(rows), Some(asked), Some(carried)],
            ([rows, asked], Wanted::Count) => [Some(rows), Some(asked), None],
            ([], _) if own[0].is_none() => return Ok(SearchClient::seeded(program, self.data_seed)),
            ([], _) => own,
            _ => return Err(mistake(format!("--data: this program takes {wanted}"))),
        };
        if given[2].is_some() != (task.wanted == Wanted::Payloads) {
            return Err(mistake(match task.wanted {
                Wanted::Payloads => {
                    "--payloads is missing: give what the rows carry, or ask for the number alone (--count-only)"
                }
                Wanted::Count => "--payloads: a count carries none; leave it out",
            }));
        }
        let given = given.map(|path| path.filter(|path| !path.as_os_str().is_empty()));
        Ok(SearchClient::new(program, Rows::of_files(task, given)?))
    }
}

impl Workload for SimilarityArgs {
    type Scheme = Ckks;
    type Program = Similarity;
    type Client = SearchClient;
    type Described = Task;
    type Data = SearchData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let task = Task {
            rows: self.rows,
            dimension: self.dimension,
            threshold: self.threshold,
            margin: self.margin,
            most: self.matches.min(self.rows),
            wanted: if self.count_only { Wanted::Count } else { Wanted::Payloads },
        };
        let program = Similarity::new((&named_params(preset)?, preset), task)?;
        Ok(Built {
            described: program.task().clone(),
            client: Some(self.data.client(&program, &[])?),
            program,
            preset: preset.into(),
            ways: ways_of_keys(self.keys, memory),
            smaller: "fewer --rows, a wider --margin, or leave open what --keys fixes",
        })
    }

    fn data(&self) -> SearchData {
        let SearchData { data, query, payloads, data_seed } = &self.data;
        let [data, query, payloads] = [data, query, payloads].map(|path| absolute(path.as_ref()));
        SearchData { data, query, payloads, data_seed: *data_seed }
    }

    fn program(of: &Task, params: Named<'_, Ckks>, _: Option<&Model>) -> Refusable<Similarity> {
        Similarity::new(params, of.clone())
    }

    fn client(data: &SearchData, _: &Task, program: &Similarity, files: &[PathBuf]) -> Refusable<SearchClient> {
        data.client(program, files)
    }
}
