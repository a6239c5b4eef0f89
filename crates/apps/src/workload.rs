//! What a workload is to the command line, Python and the server: options, a description without data, and where its data
//! come from. One folder each; [`registry`](crate::registry) lists them.

use crate::{client::Client, description::Refusal, family::Family, linear::layer::Model, program::Program, way::Way};
use limbwise::scheme::Scheme;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fmt::Debug,
    path::{Path, PathBuf},
};

/// What is refused says what, got, wanted, next step.
pub type Refusable<T> = Result<T, Refusal>;

/// A program with its options read and its data prepared, and what is left to choose.
pub struct Built<W: Workload> {
    /// The program in the first of the ways.
    pub program: W::Program,
    /// What both sides know of it.
    pub described: W::Described,
    /// The client's data; absent where numbers are the server's alone.
    pub client: Option<W::Client>,
    pub preset: String,
    /// The ways to run it that the options leave open; the first is taken where memory is no matter.
    pub ways: Vec<Way>,
    /// What makes it smaller, for people.
    pub smaller: &'static str,
}

/// The parameters of a scheme, and their name.
pub type Named<'a, S> = (&'a <S as Scheme>::Params, &'a str);

/// A workload: its options are the type itself.
pub trait Workload: clap::Args + Debug {
    /// What it computes with.
    type Scheme: Family;
    /// Its public side.
    type Program: Program<Scheme = Self::Scheme> + Clone + Debug;
    /// Its client.
    type Client: Client<Scheme = Self::Scheme> + Debug;
    /// What both sides know of it without data, as its description has it.
    type Described: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Where its data come from, as the client's directory remembers it: paths and how to read them, no data.
    type Data: Debug + Serialize + DeserializeOwned;

    /// Reads the data and makes the program; with a memory budget, everything that the options leave open may vary.
    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>>;

    /// Where the data come from, the same from any directory.
    fn data(&self) -> Self::Data;

    /// The program of a description; without a model, any numbers stand in the place of the server's.
    fn program(
        described: &Self::Described,
        params: Named<'_, Self::Scheme>,
        model: Option<&Model>,
    ) -> Refusable<Self::Program>;

    /// A description of the same program in another way.
    fn in_way(_described: &mut Self::Described, _way: Way) {}

    /// Bytes that the program takes at least on a server, by the sizes in its description alone: nothing is laid out.
    /// Sizes that make no program count as nothing, because building it says what is wrong with them.
    fn least_bytes(_described: &Self::Described, _params: &<Self::Scheme as Scheme>::Params) -> u64 {
        0
    }

    /// The server's numbers of files: weights and bias; none for a program that leaves none to the server.
    fn server_model(_described: &Self::Described, _files: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
        Ok(None)
    }

    /// The data for a program: of these files where some are given.
    fn client(
        data: &Self::Data,
        described: &Self::Described,
        program: &Self::Program,
        files: &[PathBuf],
    ) -> Refusable<Self::Client>;

    /// The numbers that the program leaves to the server, where the client has them too.
    fn client_model(_data: &Self::Data, _described: &Self::Described) -> Refusable<Option<Model>> {
        Ok(Some(Model::default()))
    }

    /// Whether what results should be can be computed: not where the server alone has the model.
    fn has_model(_data: &Self::Data) -> bool {
        true
    }
}
