//! The workloads: one line each.
//!
//! This list generates the options of the command line, Python and the server ([`Options`]), the contents of a
//! description ([`Described`]), the data sources in a client's directory ([`Data`]), and the programs and clients of
//! each scheme. A workload is a type of options that implements [`Workload`].

mod params;

pub use params::{AnyLiteral, AnyParams};

use crate::{
    bgv_mul::options::BgvMulArgs,
    bgv_table::options::BgvTableArgs,
    bootstrap::options::BootstrapArgs,
    client::{Client, Conclusion},
    description::Description,
    family::Family,
    forest::options::ForestArgs,
    gates::options::GatesArgs,
    heir::options::HeirArgs,
    helr::options::HelrArgs,
    linear::{layer::Model, options::LinearArgs},
    logreg::options::LogregArgs,
    lola::options::LolaArgs,
    mlp::options::MlpArgs,
    network::options::NetworkArgs,
    nn::options::NnArgs,
    ntt::options::NttArgs,
    options::mistake,
    pbs::options::PbsArgs,
    program::{Array, Details, Encryption, Evaluation, Inputs, Program, RegionCost, Results},
    query::options::{QueryArgs, TpchArgs},
    resnet::options::ResnetArgs,
    similarity::options::SimilarityArgs,
    sort::options::SortArgs,
    table::options::TableArgs,
    way::Way,
    workload::{Built, Named, Part, Refusable, Workload},
    zn_mul::options::ZnMulArgs,
};
use limbwise::{
    Result,
    scheme::{Bgv, Bridged, Ckks, Scheme, Tfhe},
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A scheme with the workloads that use it.
pub trait Registered: Family<Literal: Into<AnyLiteral>> {
    type Program: Program<Scheme = Self> + Clone + std::fmt::Debug + Send + Sync;
    type Client: Client<Scheme = Self> + std::fmt::Debug + Send + Sync;
}

/// A program with parsed options, prepared data and the remaining choices.
#[derive(Debug)]
pub struct Prepared<S: Registered> {
    /// The program in its default configuration.
    program: S::Program,
    described: Described,
    client: Option<S::Client>,
    pub preset: String,
    /// Configurations that the options leave open; the first is used if memory does not matter.
    pub ways: Vec<Way>,
    /// Options that reduce memory, as text.
    pub smaller: &'static str,
}

impl<S: Registered> Prepared<S> {
    fn of<W: Workload<Scheme = S>>(
        built: Built<W>,
        program: fn(W::Program) -> S::Program,
        described: fn(W::Described) -> Described,
        client: fn(W::Client) -> S::Client,
    ) -> Self {
        let Built { program: p, described: d, client: c, preset, ways, smaller } = built;
        Self { program: program(p), described: described(d), client: c.map(client), preset, ways, smaller }
    }

    /// The program in one configuration.
    pub fn program(&self, way: Way) -> S::Program {
        self.program.in_way(way)
    }

    /// Public metadata of the program in one configuration.
    pub fn description(&self, way: Way) -> Description {
        let mut described = self.described.clone();
        described.in_way(way);
        Description::new::<S>(&self.preset, self.params(), way.keys, described)
    }

    pub fn params(&self) -> &S::Params {
        self.program.params()
    }

    /// The client's data.
    ///
    /// # Errors
    /// If the options leave numbers to a server.
    pub fn client(&self) -> Refusable<&S::Client> {
        let text = "--weights server: a run is client and server in one; give the file of the numbers";
        self.client.as_ref().ok_or_else(|| mistake(text))
    }
}

/// Applies one expression to a value of any scheme: `on_scheme!(AnyPrepared, prepared, one => f(one))`.
#[macro_export]
macro_rules! on_scheme {
    ($any:ident, $value:expr, $inner:pat => $does:expr) => {
        match $value {
            $any::Ckks($inner) => $does,
            $any::Tfhe($inner) => $does,
            $any::Bgv($inner) => $does,
            $any::Bridged($inner) => $does,
        }
    };
}

/// A program of any scheme, with parsed options.
#[derive(Debug)]
pub enum AnyPrepared {
    Ckks(Prepared<Ckks>),
    Tfhe(Prepared<Tfhe>),
    Bgv(Prepared<Bgv>),
    Bridged(Prepared<Bridged>),
}

#[derive(Clone, Debug)]
pub enum AnyProgram {
    Ckks(<Ckks as Registered>::Program),
    Tfhe(<Tfhe as Registered>::Program),
    Bgv(<Bgv as Registered>::Program),
    Bridged(<Bridged as Registered>::Program),
}

/// Conversion from a scheme's type to the type of any scheme.
trait InAny: Registered {
    fn any_prepared(prepared: Prepared<Self>) -> AnyPrepared;
    fn any_program(program: Self::Program) -> AnyProgram;
    fn params_of(params: &AnyParams) -> Option<&Self::Params>;
    fn program_of(program: &AnyProgram) -> Option<&Self::Program>;
    fn any_literal(value: serde_json::Value) -> serde_json::Result<AnyLiteral>;
}

macro_rules! into {
    ($scheme:ident, $unchecked:ty, $literal:expr) => {
        impl From<$unchecked> for AnyLiteral {
            fn from(literal: $unchecked) -> Self {
                Self::$scheme($literal(literal))
            }
        }

        impl InAny for $scheme {
            fn any_prepared(prepared: Prepared<Self>) -> AnyPrepared {
                AnyPrepared::$scheme(prepared)
            }

            fn any_program(program: Self::Program) -> AnyProgram {
                AnyProgram::$scheme(program)
            }

            fn params_of(params: &AnyParams) -> Option<&Self::Params> {
                if let AnyParams::$scheme(params) = params { Some(params) } else { None }
            }

            fn program_of(program: &AnyProgram) -> Option<&Self::Program> {
                if let AnyProgram::$scheme(program) = program { Some(program) } else { None }
            }

            fn any_literal(value: serde_json::Value) -> serde_json::Result<AnyLiteral> {
                Ok(AnyLiteral::$scheme($literal(serde_json::from_value(value)?)))
            }
        }
    };
}

into!(Ckks, limbwise::params::ParamsLiteral, std::convert::identity);
into!(Tfhe, limbwise::tfhe::TfheLiteral, std::convert::identity);
into!(Bgv, limbwise::bgv::BgvLiteral, std::convert::identity);
into!(Bridged, limbwise::scheme::BridgedLiteral, Box::new);

macro_rules! workloads {
    ($($scheme:ident($programs:ident, $clients:ident, $about:literal) {
        $($(#[$attribute:meta])* $variant:ident($args:ty) = $name:literal, $json:literal;)+
    })+) => {
        /// What to compute, with its options: a subcommand each.
        #[derive(Clone, Debug, clap::Subcommand)]
        pub enum Options {
            $($(
                $(#[$attribute])*
                #[command(name = $name)]
                $variant($args),
            )+)+
        }

        /// Public metadata of a workload, without data.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub enum Described {
            $($(
                #[doc = $name]
                #[serde(rename = $json)]
                $variant(<$args as Workload>::Described),
            )+)+
        }

        /// Source of a client's data as its directory stores it: paths and formats, no data.
        #[derive(Debug, Serialize, Deserialize)]
        pub enum Data {
            $($(
                #[doc = $name]
                #[serde(rename = $json)]
                $variant(<$args as Workload>::Data),
            )+)+
        }

        impl Options {
            /// Reads the data and builds the program. A memory budget opens every option that the user did not fix.
            pub fn prepare(&self, memory: Option<u64>) -> Refusable<AnyPrepared> {
                Ok(match self {
                    $($(Self::$variant(options) => $scheme::any_prepared(Prepared::of::<$args>(
                        options.build(memory)?,
                        $programs::$variant,
                        Described::$variant,
                        $clients::$variant,
                    )),)+)+
                })
            }

            /// The program as models of machines take it, and why it could not be run, if it could not.
            pub fn prepare_timed(&self) -> Refusable<(AnyPrepared, Option<String>)> {
                Ok(match self {
                    $($(Self::$variant(options) => {
                        let (built, why) = options.build_timed()?;
                        let variants = (Described::$variant, $clients::$variant);
                        let prepared = Prepared::of::<$args>(built, $programs::$variant, variants.0, variants.1);
                        ($scheme::any_prepared(prepared), why)
                    })+)+
                })
            }

            /// The option `--preset`, as given.
            pub fn preset(&mut self) -> &mut Option<String> {
                match self {
                    $($(Self::$variant(options) => options.preset(),)+)+
                }
            }

            /// The preset where the user names none; `None` where it depends on the other options.
            pub fn usual_preset(&self) -> Option<&'static str> {
                match self {
                    $($(Self::$variant(_) => <$args as Workload>::PRESET,)+)+
                }
            }

            /// Rows, messages or images that are independent of each other; `None` for a program that has no such batch.
            pub fn batch(&self) -> Refusable<Option<usize>> {
                match self {
                    $($(Self::$variant(options) => options.batch(),)+)+
                }
            }

            /// The same for a part of the batch, where there is one.
            #[must_use]
            pub fn part(&self, part: Part) -> Option<Self> {
                match self {
                    $($(Self::$variant(options) => options.part(part).map(Self::$variant),)+)+
                }
            }

            /// The file of the numbers that a server needs beside the description, if it needs some.
            pub fn server_file(&self) -> Option<std::path::PathBuf> {
                match self {
                    $($(Self::$variant(options) => options.server_file(),)+)+
                }
            }

            /// Its name on the command line.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(Self::$variant(_) => $name,)+)+
                }
            }

            pub fn scheme(&self) -> &'static str {
                match self {
                    $($(Self::$variant(_) => <$scheme as Scheme>::NAME,)+)+
                }
            }

            /// The source of the data.
            pub fn data(&self) -> Data {
                match self {
                    $($(Self::$variant(options) => Data::$variant(options.data()),)+)+
                }
            }
        }

        impl Described {
            /// The parameters, as in the description.
            pub(crate) fn literal(&self, value: serde_json::Value) -> serde_json::Result<AnyLiteral> {
                match self {
                    $($(Self::$variant(_) => $scheme::any_literal(value),)+)+
                }
            }

            /// The program. Without a model, arbitrary numbers replace the server's.
            pub(crate) fn program(
                &self,
                params: &AnyParams,
                preset: &str,
                model: Option<&Model>,
            ) -> Refusable<AnyProgram> {
                Ok(match self {
                    $($(Self::$variant(described) => {
                        let params: Named<'_, $scheme> = (of_scheme::<$scheme>(params)?, preset);
                        $scheme::any_program($programs::$variant(<$args>::program(described, params, model)?))
                    })+)+
                })
            }

            fn in_way(&mut self, way: Way) {
                match self {
                    $($(Self::$variant(described) => <$args>::in_way(described, way),)+)+
                }
            }

            /// Lower bound of the program's memory on a server, computed from its sizes without layout.
            pub(crate) fn least_bytes(&self, params: &AnyParams) -> u64 {
                match self {
                    $($(Self::$variant(described) => {
                        $scheme::params_of(params).map_or(0, |params| <$args>::least_bytes(described, params))
                    })+)+
                }
            }

            /// The server's numbers from files: weights and bias; `None` if the program leaves none to the server.
            pub fn model(&self, files: [Option<&Path>; 2]) -> Refusable<Option<Model>> {
                match self {
                    $($(Self::$variant(described) => <$args>::server_model(described, files),)+)+
                }
            }
        }

        impl Data {
            /// The data of a program, from the given files if there are any.
            pub fn client<S: Clients>(
                &self,
                described: &Described,
                program: &AnyProgram,
                files: &[PathBuf],
            ) -> Refusable<S::Client> {
                S::client(self, described, program, files)
            }

            /// The numbers that the program leaves to the server, if the client has them too.
            pub fn model(&self, described: &Described) -> Refusable<Option<Model>> {
                match (self, described) {
                    $($((Self::$variant(data), Described::$variant(described)) => {
                        <$args>::client_model(data, described)
                    })+)+
                    _ => Err(other()),
                }
            }

            /// Whether the client can compute the expected results. It cannot if the server alone has the model.
            pub fn has_model(&self) -> bool {
                match self {
                    $($(Self::$variant(data) => <$args>::has_model(data),)+)+
                }
            }
        }

        $(
            #[doc = concat!("Any program ", $about, ".")]
            #[derive(Clone, Debug)]
            pub enum $programs {
                $(#[doc = $name] $variant(<$args as Workload>::Program),)+
            }

            #[doc = concat!("The client of any program ", $about, ".")]
            #[derive(Debug)]
            pub enum $clients {
                $(#[doc = $name] $variant(<$args as Workload>::Client),)+
            }

            impl Registered for $scheme {
                type Program = $programs;
                type Client = $clients;
            }

            impl Clients for $scheme {
                fn client(
                    data: &Data,
                    described: &Described,
                    program: &AnyProgram,
                    files: &[PathBuf],
                ) -> Refusable<$clients> {
                    match (data, described, $scheme::program_of(program)) {
                        $((Data::$variant(data), Described::$variant(described), Some($programs::$variant(program))) => {
                            Ok($clients::$variant(<$args>::client(data, described, program, files)?))
                        })+
                        _ => Err(other()),
                    }
                }
            }

            impl Program for $programs {
                type Scheme = $scheme;

                fn name(&self) -> &'static str {
                    match self { $(Self::$variant(program) => program.name(),)+ }
                }

                fn params(&self) -> &<$scheme as Scheme>::Params {
                    match self { $(Self::$variant(program) => program.params(),)+ }
                }

                fn inputs(&self) -> Inputs<Self> {
                    match self { $(Self::$variant(program) => program.inputs(),)+ }
                }

                fn model(&self) -> <$scheme as Scheme>::Model<'_> {
                    match self { $(Self::$variant(program) => program.model(),)+ }
                }

                fn encryption(&self) -> Encryption {
                    match self { $(Self::$variant(program) => program.encryption(),)+ }
                }

                fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, $scheme>) -> Result<Results<Self, D>> {
                    match self { $(Self::$variant(program) => program.evaluate(on),)+ }
                }

                fn results(&self) -> usize {
                    match self { $(Self::$variant(program) => program.results(),)+ }
                }

                fn summed(&self) -> usize {
                    match self { $(Self::$variant(program) => program.summed(),)+ }
                }

                fn summed_over(&self, parts: usize) -> Self {
                    match self { $(Self::$variant(program) => Self::$variant(program.summed_over(parts)),)+ }
                }

                fn arrays(&self, results: &<$scheme as Scheme>::Reading) -> Vec<Array> {
                    match self { $(Self::$variant(program) => program.arrays(results),)+ }
                }

                fn admits(&self, results: &<$scheme as Scheme>::Reading) -> Refusable<()> {
                    match self { $(Self::$variant(program) => program.admits(results),)+ }
                }

                fn table(&self, results: &<$scheme as Scheme>::Reading) -> Option<$crate::family::DecryptedTable> {
                    match self { $(Self::$variant(program) => program.table(results),)+ }
                }

                fn doubts(&self, results: &<$scheme as Scheme>::Reading) -> Vec<String> {
                    match self { $(Self::$variant(program) => program.doubts(results),)+ }
                }

                fn withheld(&self) -> Option<String> {
                    match self { $(Self::$variant(program) => program.withheld(),)+ }
                }

                fn unit_of(&self, array: usize) -> f64 {
                    match self { $(Self::$variant(program) => program.unit_of(array),)+ }
                }

                fn details(&self) -> Details {
                    match self { $(Self::$variant(program) => program.details(),)+ }
                }

                fn costs(&self, costs: &[RegionCost]) -> Details {
                    match self { $(Self::$variant(program) => program.costs(costs),)+ }
                }

                fn expected(&self, results: &[<$scheme as Scheme>::Estimate]) -> Details {
                    match self { $(Self::$variant(program) => program.expected(results),)+ }
                }

                fn timed(&self, steps: &[(&str, f64)]) -> Details {
                    match self { $(Self::$variant(program) => program.timed(steps),)+ }
                }

                fn least_bytes(&self) -> u64 {
                    match self { $(Self::$variant(program) => program.least_bytes(),)+ }
                }

                fn transient_bytes(&self) -> u64 {
                    match self { $(Self::$variant(program) => program.transient_bytes(),)+ }
                }

                fn in_way(&self, way: Way) -> Self {
                    match self { $(Self::$variant(program) => Self::$variant(program.in_way(way)),)+ }
                }
            }

            impl Client for $clients {
                type Scheme = $scheme;

                fn values(&self, input: usize) -> <$scheme as Scheme>::Values {
                    match self { $(Self::$variant(client) => client.values(input),)+ }
                }

                fn conclude(&self, results: &<$scheme as Scheme>::Reading) -> Conclusion<$scheme> {
                    match self { $(Self::$variant(client) => client.conclude(results),)+ }
                }

                fn forewarned(&self) -> Option<String> {
                    match self { $(Self::$variant(client) => client.forewarned(),)+ }
                }

                fn in_way(&self, way: Way) -> Option<Self> {
                    match self { $(Self::$variant(client) => client.in_way(way).map(Self::$variant),)+ }
                }
            }
        )+
    };
}

/// A scheme whose clients can be rebuilt from a client's directory.
pub trait Clients: Registered {
    /// The data of a program, from the given files if there are any.
    fn client(data: &Data, described: &Described, program: &AnyProgram, files: &[PathBuf]) -> Refusable<Self::Client>;
}

fn other() -> crate::description::Refusal {
    mistake("the data: they belong to another program than program.json (make keys for them: limbwise keygen)")
}

fn of_scheme<S: InAny>(params: &AnyParams) -> Refusable<&S::Params> {
    S::params_of(params).ok_or_else(|| {
        mistake(format!("parameters of another scheme than {}: make the keys again (limbwise keygen)", S::NAME))
    })
}

workloads! {
    Ckks(SlotsProgram, SlotsClient, "on slots (CKKS)") {
        Logreg(LogregArgs) = "logreg", "logreg";
        Linear(LinearArgs) = "linear", "linear";
        Bootstrap(BootstrapArgs) = "bootstrap", "bootstrap";
        Table(TableArgs) = "table", "table";
        Lola(LolaArgs) = "lola", "lola";
        Mlp(MlpArgs) = "mlp", "mlp";
        Helr(HelrArgs) = "helr", "helr";
        Resnet(ResnetArgs) = "resnet20", "resnet";
        Network(NetworkArgs) = "network", "network";
        Sort(SortArgs) = "sort", "sort";
        Heir(HeirArgs) = "heir", "heir";
        Similarity(SimilarityArgs) = "similarity", "similarity";
    }
    Tfhe(MessagesProgram, MessagesClient, "on messages (TFHE)") {
        Pbs(PbsArgs) = "pbs", "pbs";
        Gates(GatesArgs) = "gates", "gates";
        /// A 20-layer network on encrypted handwritten digits, one bootstrapping per neuron (TFHE)
        ///
        /// The shape of NN-20 of Chillotti, Joye and Paillier (2021): a convolution, then layers of 92 neurons. It is
        /// discretized so that every sum fits a message of four bits; the clear twin evaluates exactly the same network.
        /// Shipped weights come from scripts/train_nn.py; others are a file. Reported: the share of images that are right
        /// after training (images that were not learned), by the twin, and encrypted.
        ///
        /// Examples:
        ///   nn20                                                      one shipped image
        ///   nn20 --data t10k-images-idx3-ubyte.gz --images 4          images that the shipped weights have not learned
        ///   nn20 --preset strix-III                                   a shape of a paper
        #[command(verbatim_doc_comment)]
        Nn20(NnArgs<20>) = "nn20", "nn20";
        /// The same with 50 layers
        Nn50(NnArgs<50>) = "nn50", "nn50";
        /// The same with 100 layers
        Nn100(NnArgs<100>) = "nn100", "nn100";
        Forest(ForestArgs) = "forest", "forest";
    }
    Bgv(IntegersProgram, IntegersClient, "on integers (BGV)") {
        BgvMul(BgvMulArgs) = "bgv-mul", "bgv-mul";
        BgvTable(BgvTableArgs) = "bgv-table", "bgv-table";
        Ntt(NttArgs) = "ntt", "ntt";
        ZnMul(ZnMulArgs) = "zn-mul", "zn-mul";
    }
    Bridged(BridgedProgram, BridgedClient, "of two schemes") {
        TpchQ6(TpchArgs) = "tpch-q6", "tpch-q6";
        Query(QueryArgs) = "query", "query";
    }
}
