//! Interface of a workload for the command line, Python and the server: options, a description without data, and the
//! source of its data. Each workload has one folder; [`registry`](crate::registry) lists them.

use crate::{client::Client, description::Refusal, family::Family, linear::layer::Model, program::Program, way::Way};
use limbwise::scheme::Scheme;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fmt::Debug,
    path::{Path, PathBuf},
};

/// Errors that say what, got, wanted, next step.
pub type Refusable<T> = Result<T, Refusal>;

/// A program with parsed options, prepared data and the remaining choices.
pub struct Built<W: Workload> {
    /// The program in its default configuration.
    pub program: W::Program,
    /// Public metadata of the program.
    pub described: W::Described,
    /// The client's data; `None` if the server alone has some of the numbers.
    pub client: Option<W::Client>,
    pub preset: String,
    /// Configurations that the options leave open; the first is used if memory does not matter.
    pub ways: Vec<Way>,
    /// Options that reduce memory, as text.
    pub smaller: &'static str,
}

/// A program for models of machines, and why it could not be run, if it could not.
pub type Timed<W> = (Built<W>, Option<String>);

/// The parameters of a scheme, and their name.
pub type Named<'a, S> = (&'a <S as Scheme>::Params, &'a str);

/// A part of a batch: so many rows from this one on. All parts of a batch are of one size, so that one key set serves
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub first: usize,
    pub count: usize,
}

impl Part {
    /// The part, moved back so that it ends where the batch does: its first entries are also those of the part before.
    #[must_use]
    pub fn within(self, batch: usize) -> Self {
        Self { first: self.first.min(batch.saturating_sub(self.count)), ..self }
    }
}

/// A workload. The type that implements it holds the options.
pub trait Workload: clap::Args + Clone + Debug {
    /// What it computes with.
    type Scheme: Family;
    /// Public side.
    type Program: Program<Scheme = Self::Scheme> + Clone + Debug;
    /// Client side.
    type Client: Client<Scheme = Self::Scheme> + Debug;
    /// Public metadata in the description, without data.
    type Described: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Source of the data as the client's directory stores it: paths and formats, no data.
    type Data: Debug + Serialize + DeserializeOwned;
    /// The preset where the user names none; `None` where it depends on the other options.
    const PRESET: Option<&'static str>;

    /// The option `--preset`, as given.
    fn preset(&mut self) -> &mut Option<String>;

    /// Reads the data and builds the program. A memory budget opens every option that the user did not fix.
    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>>;

    /// The program as models of machines take it, which compute nothing: a parameter set that is too small to run is taken
    /// by its shape alone, and why it could not be run stands beside.
    fn build_timed(&self) -> Refusable<Timed<Self>> {
        Ok((self.build(None)?, None))
    }

    /// Rows, messages or images that are independent of each other; `None` for a program that has no such batch.
    ///
    /// # Errors
    /// Data that cannot be read.
    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(None)
    }

    /// The same for a part of the batch, where there is one. A part that goes beyond the end is filled with rows that do
    /// not change the results, or moved back ([`Part::within`]).
    fn part(&self, _part: Part) -> Option<Self> {
        None
    }

    /// The file of the numbers that a server needs beside the description, if it needs some: the weights of a network.
    fn server_file(&self) -> Option<PathBuf> {
        None
    }

    /// The source of the data with absolute paths.
    fn data(&self) -> Self::Data;

    /// The program of a description. Without a model, arbitrary numbers replace the server's.
    fn program(
        described: &Self::Described,
        params: Named<'_, Self::Scheme>,
        model: Option<&Model>,
    ) -> Refusable<Self::Program>;

    /// A description of the same program in another configuration.
    fn in_way(_described: &mut Self::Described, _way: Way) {}

    /// Lower bound of the program's memory on a server, computed from the sizes in its description without layout.
    /// Invalid sizes count as zero, because building the program reports them.
    fn least_bytes(_described: &Self::Described, _params: &<Self::Scheme as Scheme>::Params) -> u64 {
        0
    }

    /// The server's numbers from files: weights and bias; `None` if the program leaves none to the server.
    fn server_model(_described: &Self::Described, _files: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        Ok(None)
    }

    /// The data of a program, from the given files if there are any.
    fn client(
        data: &Self::Data,
        described: &Self::Described,
        program: &Self::Program,
        files: &[PathBuf],
    ) -> Refusable<Self::Client>;

    /// The numbers that the program leaves to the server, if the client has them too.
    fn client_model(_data: &Self::Data, _described: &Self::Described) -> Refusable<Option<Model>> {
        Ok(Some(Model::default()))
    }

    /// Whether the client can compute the expected results. It cannot if the server alone has the model.
    fn has_model(_data: &Self::Data) -> bool {
        true
    }
}
