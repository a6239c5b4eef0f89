//! Workloads on the command line: their options, and the program that these make. One workload a file.

mod bootstrap;
mod helr;
pub(crate) mod linear;
pub(crate) mod logic;
mod logreg;
mod lola;
pub(crate) mod modular;
mod nn;
pub(crate) mod query;
mod resnet;

use crate::{failure::Mistake, files::read_small};
use clap::{Command, Subcommand, ValueEnum};
use limbwise::{
    ckks::PlaintextForm,
    params::{CHANGEABLE, ChangeableField, Params, ParamsError, ParamsLiteral, presets::preset},
    rlwe::KeyForm,
};
use limbwise_apps::{
    AnyClient, AnyProgram, Description, Program as _,
    description::{Weights, Workload as Described},
    linear::layer::Model,
    logreg::client::LogregClient,
};
use limbwise_runtime::frontier::Way;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What to compute.
#[derive(Debug, Subcommand)]
pub(crate) enum Workload {
    /// Logistic regression trained on encrypted rows, then encrypted inference
    ///
    /// The client encrypts training rows and held-back rows; the server trains by Nesterov gradient descent with a
    /// polynomial in the sigmoid's place (the HELR method), scores the held-back rows, and returns both encrypted.
    /// A clear twin runs the same polynomial and iterations, another one the true sigmoid.
    ///
    /// Examples:
    ///   logreg                                                    the shipped data set
    ///   logreg --data my.csv --label outcome                      a table of numbers with two classes
    ///   logreg --data t10k-images-idx3-ubyte.gz --digits 3,8      two digits of MNIST
    #[command(verbatim_doc_comment)]
    Logreg(logreg::LogregArgs),
    /// One linear layer on encrypted data: matrix products and convolutions, in every strategy
    ///
    /// A matrix or filters become diagonals of a map on slots; the map is evaluated by rotations. How many rotations
    /// there are, how many keys they need and how the diagonals are stored is a choice between memory and time: "plan"
    /// lists what is worth choosing, "--memory" takes the fastest that fits. Results are compared with the clear twin.
    ///
    /// Examples:
    ///   linear                                                    256×256 matrix times encrypted vector
    ///   linear --op conv --memory 3GB                             16 filters of 3×3 on 16×32×32, within 3 GB
    ///   linear --op conv --filters 32 --stride 2 --kernel 5       stride and kernel of one's choice
    ///   linear --op matmul --rows 10 --cols 784 --vectors 100 --strategy bsgs --plaintexts on-the-fly
    ///   linear --op encrypted-matmul --rows 16                    both matrices encrypted, as many pairs as fit
    ///   linear --weights matrix.csv --input vector.csv            numbers of one's own
    #[command(verbatim_doc_comment)]
    Linear(linear::LinearArgs),
    /// Bootstrapping of one ciphertext: levels, precision, time a step, keys and memory, in every strategy
    ///
    /// A message in all slots is encrypted, bootstrapped, decrypted and compared in one run; then it is multiplied once
    /// at each level won, for the amortised time T_A.S. (microseconds a level and slot). Keys and maps trade memory for
    /// time: "plan" lists what is worth choosing, "--memory" takes the fastest that fits.
    ///
    /// Examples:
    ///   bootstrap                                                 the default preset, 2^15 complex slots
    ///   bootstrap --memory 3GB                                    within 3 GB, keys and maps included
    ///   bootstrap --preset boot-n15 --slots 64 --content real     few real slots on a smaller ring
    ///   bootstrap --preset boot-precise --passes 2                two passes for more precision
    ///   bootstrap --message constant --strategy multi-hop         one of the strategies, another message
    #[command(verbatim_doc_comment)]
    Bootstrap(bootstrap::BootstrapArgs),
    /// One handwritten digit through a small network with squares, levelled: the low-latency case
    ///
    /// A convolution, a square, a layer of 100, a square, a layer of 10 (the LoLa paper, Brutzkus et al. 2019), each layer
    /// one linear map on the slots of the image's ciphertext. The network is its own clear twin. Shipped weights come from
    /// scripts/train_lola.py; others are a file.
    ///
    /// Examples:
    ///   lola --data t10k-images-idx3-ubyte.gz                     one image that the shipped weights have not learned
    ///   lola --data t10k-images-idx3-ubyte.gz --images 100        a hundred of them as one batch
    ///   lola --weights mine.npy --strategy multi-hop              weights of one's own, few keys
    #[command(verbatim_doc_comment)]
    Lola(lola::LolaArgs),
    /// Logistic regression on two digits of MNIST: mini-batches of 1024, weights bootstrapped on the way
    ///
    /// The training of the HELR paper (Han et al., AAAI 2019), by which accelerators are compared: 14×14 pixels, Nesterov
    /// gradient descent, a polynomial in the sigmoid's place, weights bootstrapped with few slots every third iteration.
    /// The client encrypts the training images and reads the decrypted model on those held back, beside two clear twins:
    /// the same polynomial, and the true sigmoid.
    ///
    /// Examples:
    ///   helr --data mnist                                         a folder with MNIST's own files
    ///   helr --data t10k-images-idx3-ubyte.gz --iterations 32     one file of images, a fifth of them held back
    ///   helr --batch 512 --digits 4,9 --data mnist                other digits, smaller mini-batches
    #[command(verbatim_doc_comment)]
    Helr(helr::HelrArgs),
    /// A trained ResNet-20 on encrypted images: convolutions, polynomial activations, bootstrapping
    ///
    /// The client encrypts images; the server evaluates a network of its own on them and returns the scores encrypted.
    /// Batch norms are folded into the convolutions, which are linear maps on slots; activations are compositions of
    /// polynomials on ranges that are measured on other images. Scores are compared with the network in the clear, and
    /// with its twin that has the same polynomials.
    ///
    /// Examples:
    ///   resnet20 --weights resnet20.safetensors --data test_batch.bin                    the first image
    ///   resnet20 --weights resnet20.safetensors --data test_batch.bin --images 11-12     two at once
    ///   resnet20 --weights resnet20.safetensors --data cat.png --calibrate test_batch.bin --calibrate-images 100
    #[command(verbatim_doc_comment)]
    Resnet20(resnet::ResnetArgs),
    /// Programmable bootstrapping of a batch of small integers, each through a table (TFHE)
    ///
    /// The client encrypts a batch of messages; the server sends each through a table by key switch, modulus switch, blind
    /// rotation and extraction, all of them in one call. Results are compared with the clear twin. "plan" shows security,
    /// noise and failure probability, "time --machine counts" the operations and bytes of every operator.
    ///
    /// Examples:
    ///   pbs                                                       2 bits and 2 of carry, p_fail <= 2^-128, a batch of 16
    ///   pbs --batch 64 --tables each                              64 messages, each through its own table
    ///   pbs --preset fhex-I-32                                    a shape of a paper, for machines of 32 bits
    #[command(verbatim_doc_comment)]
    Pbs(logic::PbsArgs),
    /// Every gate of two encrypted bits, and a multiplexer, on a batch (TFHE)
    ///
    /// One bootstrapping a gate and bit, two for the multiplexer. Results are compared with the clear twin.
    ///
    /// Examples:
    ///   gates                                                     128 bits of security, p_fail <= 2^-128, a batch of 16
    ///   gates --preset 2-2-p64 --batch 100                        other parameters, more bits
    #[command(verbatim_doc_comment)]
    Gates(logic::GatesArgs),
    /// A network of 20 layers on encrypted handwritten digits, a bootstrapping a neuron (TFHE)
    ///
    /// The shape of NN-20 of Chillotti, Joye and Paillier (2021): a convolution, then layers of 92 neurons. It is
    /// discretised so that every sum fits a message of four bits; the clear twin evaluates exactly the same network.
    /// Shipped weights come from scripts/train_nn.py; others are a file. Reported: the share of images that are right
    /// after training (images that were not learned), by the twin, and encrypted.
    ///
    /// Examples:
    ///   nn20                                                      one shipped image
    ///   nn20 --data t10k-images-idx3-ubyte.gz --images 4          images that the shipped weights have not learned
    ///   nn20 --preset strix-III                                   a shape of a paper
    #[command(verbatim_doc_comment)]
    Nn20(nn::NnArgs),
    /// The same with 50 layers
    Nn50(nn::NnArgs),
    /// The same with 100 layers
    Nn100(nn::NnArgs),
    /// Products of many ciphertexts of exact integers, with the transforms before and after (BGV)
    ///
    /// Both operands are transformed, multiplied limb by limb (c0 = a0b0, c1 = a0b1 + a1b0, c2 = a1b1; no scaling, no
    /// relinearization), and the products transformed back: what DRAMatic measures on processing-in-memory. A run decrypts
    /// every product and compares all integers. A batch is one operation, so any number is planned and timed in no memory.
    ///
    /// Examples:
    ///   bgv-mul                                                   16 products at N = 4096, 109 bits
    ///   bgv-mul --n 8192 --ciphertexts 64 --step ntt              transforms of 64 ciphertexts alone
    ///   bgv-mul --preset bgv-n13 --limbs 3                        another set, its first three primes
    #[command(verbatim_doc_comment)]
    BgvMul(modular::BgvMulArgs),
    /// Query 6 of TPC-H on an encrypted lineitem: comparisons on TFHE, the sum on CKKS
    ///
    /// SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date
    /// '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24. Rows come from TPC-H's generator, or from a
    /// file. Which rows pass is decided exactly, by programmable bootstrapping; their bits become slots, and the sum is
    /// compared with exact integer arithmetic.
    ///
    /// Examples:
    ///   tpch-q6                                                   the shipped 1024 rows
    ///   tpch-q6 --rows 4096                                       the first 4096 rows of scale factor 1
    ///   tpch-q6 --data lineitem.tbl --rows 2000                   rows of one's own: .tbl, CSV or Parquet
    #[command(name = "tpch-q6", verbatim_doc_comment)]
    TpchQ6(query::TpchArgs),
    /// A question in SQL to an encrypted table: filter and sum over one CSV or Parquet file
    ///
    /// SELECT SUM(a * b) or COUNT(*) FROM table WHERE conditions joined by AND: columns of integers, decimals and dates
    /// compared with constants (=, <, <=, >, >=, BETWEEN). Factors of the sum are columns, or a number plus or minus one.
    ///
    /// Examples:
    ///   query --sql "SELECT SUM(price * (1 - rebate)) FROM sales WHERE day >= date '2026-01-01'" --data sales.csv
    ///   query --sql "SELECT COUNT(*) FROM sales WHERE amount < 24" --data sales.parquet --domain amount=0..1000
    #[command(verbatim_doc_comment)]
    Query(query::QueryArgs),
    /// A table of whole numbers times a matrix, and its columns summed: exact (BGV)
    ///
    /// The client encrypts the columns of a table; the server multiplies it with a matrix that it knows, or that is encrypted
    /// too, and sums each column of the product over all rows. Results are exact integers, compared with the clear twin; what
    /// would wrap round the plaintext modulus is refused before anything is encrypted.
    ///
    /// Examples:
    ///   bgv-table                                                 the shipped sales times prices and weights
    ///   bgv-table --encrypted-matrix                              prices encrypted as well
    ///   bgv-table --data sales.csv --columns apples,bread --matrix two_prices.csv
    #[command(verbatim_doc_comment)]
    BgvTable(modular::BgvTableArgs),
}

/// Said by verbs that are for programs on slots alone.
const NOT_ON_SLOTS: &str = "this verb takes programs on slots (CKKS); pbs, gates, nn20, bgv-mul, bgv-table, tpch-q6 and query are run, \
                            planned, timed and recorded: limbwise run pbs";

/// Refuses options that only programs on slots have.
///
/// # Errors
/// [`Mistake`] if one is given.
pub(crate) fn not_on_slots(given: bool) -> Result<(), Mistake> {
    let text = "--memory, --key-dir, --checkpoint and --shadow are for programs on slots (CKKS): leave them out for TFHE and BGV";
    if given { Err(Mistake(text.into())) } else { Ok(()) }
}

/// Refuses options that questions to tables do not have.
///
/// # Errors
/// [`Mistake`] if one is given.
pub(crate) fn not_for_questions(given: bool) -> Result<(), Mistake> {
    let text = "--memory, --key-dir and --shadow are for programs on slots (CKKS): leave them out for a query";
    if given { Err(Mistake(text.into())) } else { Ok(()) }
}

/// Name and one line of each workload.
pub(crate) fn all() -> Vec<(String, String)> {
    let command = Workload::augment_subcommands(Command::new("limbwise"));
    let about = |c: &Command| c.get_about().map(ToString::to_string).unwrap_or_default();
    command.get_subcommands().map(|c| (c.get_name().to_owned(), about(c))).collect()
}

/// Where a client's data come from, as its directory remembers it: paths and how to read them, no data.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Data {
    Logreg(logreg::LogregData),
    Linear(linear::LinearData),
    Bootstrap(bootstrap::BootstrapData),
    Helr(helr::HelrData),
    Lola(lola::LolaData),
    Resnet(resnet::ResnetData),
}

impl Data {
    /// The data for a program: of these files where some are given.
    ///
    /// # Errors
    /// Data that cannot be read, or do not fit the program.
    pub(crate) fn client(
        &self,
        description: &Description,
        program: &AnyProgram,
        files: &[PathBuf],
    ) -> anyhow::Result<AnyClient> {
        let wrong = |e| Mistake(format!("the data: {e}"));
        Ok(match (self, program, &description.workload) {
            (Self::Logreg(data), AnyProgram::Logreg(program), _) => {
                AnyClient::Logreg(Box::new(LogregClient::new(program, data.prepared(files)?).map_err(wrong)?))
            }
            (Self::Linear(data), AnyProgram::Linear(program), Described::Linear { layer, .. }) => {
                AnyClient::Linear(data.client(program, layer, files)?)
            }
            (Self::Bootstrap(data), AnyProgram::Bootstrap(program), _) => {
                AnyClient::Bootstrap(data.client(program, files)?)
            }
            (Self::Lola(data), AnyProgram::Lola(program), _) => AnyClient::Lola(data.client(program, files)?),
            (Self::Helr(data), AnyProgram::Helr(program), _) => {
                AnyClient::Helr(Box::new(data.client(program, files)?.map_err(wrong)?))
            }
            (Self::Resnet(data), AnyProgram::Resnet(program), _) => {
                AnyClient::Resnet(Box::new(data.client(program, files)?))
            }
            _ => return Err(wrong("they belong to another program than program.json".to_owned()).into()),
        })
    }

    /// The numbers that the program leaves to the server, where the client has them too.
    ///
    /// # Errors
    /// Files that cannot be read, or have other shapes.
    pub(crate) fn model(&self, workload: &Described) -> anyhow::Result<Option<Model>> {
        let files = match (self, workload) {
            _ if !self.has_model() => return Ok(None),
            (Self::Linear(data), Described::Linear { layer, .. }) => return data.model(&layer.shape).map(Some),
            (Self::Lola(data), _) => [data.weights(), None],
            (Self::Resnet(data), _) => [Some(data.weights()), None],
            _ => [None, None],
        };
        Ok(Some(model(workload, files)?.unwrap_or_default()))
    }

    /// Whether what results should be can be computed: not where the server alone has the model.
    pub(crate) fn has_model(&self) -> bool {
        match self {
            Self::Linear(data) => data.has_model(),
            Self::Lola(data) => data.has_model(),
            _ => true,
        }
    }
}

/// The server's numbers of files, for a program that leaves them to it; none for one that has no clear matrix.
///
/// # Errors
/// Files that cannot be read, or have other shapes.
pub(crate) fn model(workload: &Described, files: [Option<&Path>; 2]) -> anyhow::Result<Option<Model>> {
    match workload {
        Described::Linear { layer, .. } => linear::model(&layer.shape, files).map(Some),
        Described::Lola { weights: Weights::Server, .. } => {
            let weights = files[0].map(lola::weights).transpose()?;
            Ok(Some(Model { weights, ..Model::default() }))
        }
        Described::Resnet(_) => Ok(Some(Model { network: resnet::model(files[0])?, ..Model::default() })),
        _ => Ok(None),
    }
}

/// A path that means the same from any directory.
fn absolute(path: Option<&PathBuf>) -> Option<PathBuf> {
    path.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()))
}

/// A program with the name of its parameters, and what is left to choose.
pub(crate) struct Built {
    base: AnyProgram,
    described: Described,
    client: Option<AnyClient>,
    pub(crate) preset: String,
    /// The ways to run it that the options leave open; the first is taken where memory is no matter.
    pub(crate) ways: Vec<Way>,
    /// What makes it smaller, for people.
    pub(crate) smaller: &'static str,
}

impl Built {
    /// The program, run in one way.
    pub(crate) fn program(&self, way: Way) -> AnyProgram {
        let mut program = self.base.clone();
        if let Some(maps) = way.maps {
            program = program.with_maps(maps);
        }
        if let Some(plan) = way.bootstrapping {
            program = program.with_bootstrapping(plan);
        }
        program
    }

    /// What both sides know of it, run in one way.
    pub(crate) fn description(&self, way: Way) -> Description {
        let mut workload = self.described.clone();
        match (&mut workload, way) {
            (
                Described::Linear { strategy, plaintexts, .. } | Described::Lola { strategy, plaintexts, .. },
                Way { maps: Some((how, form)), .. },
            ) => {
                (*strategy, *plaintexts) = (how, form);
            }
            (
                Described::Bootstrap { plan, .. } | Described::Helr { plan, .. },
                Way { bootstrapping: Some(how), .. },
            ) => {
                *plan = how;
            }
            (Described::Resnet(inference), way) => {
                if let Some((strategy, plaintexts)) = way.maps {
                    (inference.strategy, inference.plaintexts) = (strategy, plaintexts);
                }
                inference.bootstrapping = way.bootstrapping.or(inference.bootstrapping);
            }
            _ => {}
        }
        Description::new((&self.preset, self.params()), way.keys, workload)
    }

    /// Its parameters.
    pub(crate) fn params(&self) -> &Params {
        self.base.params()
    }

    /// The client's data.
    ///
    /// # Errors
    /// [`Mistake`] where the options leave numbers to a server that is not here.
    pub(crate) fn client(&self) -> Result<&AnyClient, Mistake> {
        self.client.as_ref().ok_or_else(|| {
            Mistake("--weights server: a run is client and server in one; give the file of the numbers".into())
        })
    }
}

impl Workload {
    /// Where its data come from.
    pub(crate) fn data(&self) -> Data {
        match self {
            Self::Logreg(args) => Data::Logreg(args.data.remembered()),
            Self::Linear(args) => Data::Linear(args.data.remembered()),
            Self::Bootstrap(args) => Data::Bootstrap(args.data.clone()),
            Self::Helr(args) => Data::Helr(args.data.remembered()),
            Self::Lola(args) => Data::Lola(args.data.remembered()),
            Self::Resnet20(args) => Data::Resnet(args.data.remembered()),
            _ => {
                unreachable!("refused when it was built")
            }
        }
    }

    /// Reads the data and makes the program; with a memory budget, everything that the options leave open may vary.
    ///
    /// # Errors
    /// Data that cannot be read or prepared, parameters that are refused or have too few levels.
    pub(crate) fn build(&self, memory: Option<u64>) -> anyhow::Result<Built> {
        match self {
            Self::Logreg(args) => args.build(memory),
            Self::Linear(args) => args.build(memory),
            Self::Bootstrap(args) => args.build(memory),
            Self::Helr(args) => args.build(memory),
            Self::Lola(args) => args.build(memory),
            Self::Resnet20(args) => args.build(memory),
            _ => Err(Mistake(NOT_ON_SLOTS.into()).into()),
        }
    }

    /// The program, if it is one on TFHE.
    ///
    /// # Errors
    /// Parameters that are refused, or have too few message bits.
    pub(crate) fn logic(&self) -> anyhow::Result<Option<logic::BuiltLogic>> {
        match self {
            Self::Pbs(args) => args.build().map(Some),
            Self::Gates(args) => args.build().map(Some),
            Self::Nn20(args) => args.build(20).map(Some),
            Self::Nn50(args) => args.build(50).map(Some),
            Self::Nn100(args) => args.build(100).map(Some),
            _ => Ok(None),
        }
    }

    /// The program, if it is one on BGV.
    ///
    /// # Errors
    /// Parameters that are refused, data that cannot be read.
    pub(crate) fn modular(&self) -> anyhow::Result<Option<modular::BuiltModular>> {
        match self {
            Self::BgvMul(args) => args.build().map(Some),
            Self::BgvTable(args) => args.build().map(Some),
            _ => Ok(None),
        }
    }

    /// The program, if it is a question to a table.
    ///
    /// # Errors
    /// A question that cannot be asked, data that cannot be read, parameters that are refused.
    pub(crate) fn query(&self) -> anyhow::Result<Option<query::BuiltQuery>> {
        match self {
            Self::TpchQ6(args) => args.build().map(Some),
            Self::Query(args) => args.build().map(Some),
            _ => Ok(None),
        }
    }
}

/// How evaluation keys are kept.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum KeysName {
    /// Both halves: fastest
    Stored,
    /// The uniform half as a seed that is grown at each use: half the memory, about 1.4 times the time
    Seeded,
    /// In a file, each read before it is used: two of them in memory, or as many as --memory has room for
    Disk,
}

impl From<KeysName> for KeyForm {
    fn from(name: KeysName) -> Self {
        match name {
            KeysName::Stored => Self::Stored,
            KeysName::Seeded => Self::Seeded,
            KeysName::Disk => Self::Disk,
        }
    }
}

impl KeysName {
    /// The forms that are compared where none is asked for; on disk only to keep within a memory budget.
    fn forms(name: Option<Self>, memory: Option<u64>) -> Vec<KeyForm> {
        match (name, memory) {
            (Some(name), _) => vec![name.into()],
            (None, Some(_)) => vec![KeyForm::Stored, KeyForm::Seeded, KeyForm::Disk],
            (None, None) => vec![KeyForm::Stored, KeyForm::Seeded],
        }
    }
}

/// How diagonals are stored.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PlaintextsName {
    /// All limbs, transformed: fastest to use
    Full,
    /// One limb of small integers, extended to the others at each use
    OnTheFly,
    /// Not at all: encoded again at each use
    AtUse,
}

impl From<PlaintextsName> for PlaintextForm {
    fn from(name: PlaintextsName) -> Self {
        match name {
            PlaintextsName::Full => Self::Full,
            PlaintextsName::OnTheFly => Self::OnTheFly,
            PlaintextsName::AtUse => Self::AtUse,
        }
    }
}

/// A preset by name, or a literal from a TOML file; either with fields changed: `boot:dnum=3:levels=10`.
///
/// # Errors
/// Names that do not exist, files that are no literal, changes that cannot be made, literals that are refused.
pub(crate) fn named_params(name: &str) -> anyhow::Result<Params> {
    let (base, changes) = changes_in(name);
    match Path::new(base).extension().is_some_and(|e| e == "toml") {
        true if changes.is_empty() => params_file(Path::new(base)),
        false if changes.is_empty() => Ok(preset(base)?),
        _ => Ok(Params::new(&literal_of(name)?)?),
    }
}

/// The literal of such a name.
///
/// # Errors
/// As [`named_params`], but for literals that are refused.
pub(crate) fn literal_of(name: &str) -> anyhow::Result<ParamsLiteral> {
    let (base, changes) = changes_in(name);
    let mut literal = match Path::new(base).extension() {
        Some(extension) if extension == "toml" => literal_file(Path::new(base))?,
        _ => preset(base)?.literal().clone(),
    };
    for change in changes {
        let known = || CHANGEABLE.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
        let wrong =
            || Mistake(format!("{name}: no change of parameters: {change} (wanted FIELD=VALUE of {})", known()));
        let (field, value) = change.split_once('=').ok_or_else(wrong)?;
        literal = literal.changed(ChangeableField::named(field).ok_or_else(wrong)?, value)?;
    }
    Ok(literal)
}

/// The name of a set, and the changes that follow it.
fn changes_in(name: &str) -> (&str, Vec<&str>) {
    match name.find('=').and_then(|at| name[..at].find(':')) {
        Some(end) => (&name[..end], name[end + 1..].split(':').collect()),
        None => (name, Vec::new()),
    }
}

/// A literal from a TOML file, checked.
///
/// # Errors
/// As [`named_params`].
pub(crate) fn params_file(path: &Path) -> anyhow::Result<Params> {
    let name = path.display();
    let refused = |e: ParamsError| match e {
        ParamsError::Insecure { .. } => Mistake(format!("{name}: {e} (in a file: [insecure] reason = \"...\")")),
        e => Mistake(format!("{name}: {e}")),
    };
    Ok(Params::new(&literal_file(path)?).map_err(refused)?)
}

/// A literal from a TOML file.
fn literal_file(path: &Path) -> anyhow::Result<ParamsLiteral> {
    let name = path.display();
    Ok(toml::from_str(&read_small(path)?).map_err(|e| {
        let next = "\"limbwise params show n16-l24-s40\" prints a file of the right form";
        Mistake(format!("{name}: not a parameter set: {}\n({next})", e.to_string().trim_end()))
    })?)
}

/// The file among these, if there is one.
///
/// # Errors
/// [`Mistake`] for several.
fn one(files: &[PathBuf]) -> Result<Option<&Path>, Mistake> {
    match files {
        [] => Ok(None),
        [file] => Ok(Some(file)),
        _ => Err(Mistake("--data: given several times; this program takes one file".into())),
    }
}

pub(super) fn between(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let wanted = || format!("wanted a whole number from {least} to {most}");
    text.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(wanted)
}
