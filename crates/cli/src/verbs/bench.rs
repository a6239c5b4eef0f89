//! `limbwise bench`: times of kernels and scheme operations here, each beside a limit measured in the same run.

mod peers;

use crate::{host::HostArgs, output::OutputArgs, progress::note, text};
use limbwise_cpu::{
    Isa,
    bench::{ConversionSize, Measurement, Rates, all, automorphism, conversion, elementwise, rates, transforms},
};
use limbwise_runtime::bench::{Chain, SchemeRow, Shape, file_rows, integer_rows, scheme_rows};
use peers::{Answer, Peers};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// Measure kernels and scheme operations on this computer
///
/// Kernels run on one thread, scheme operations on one and on all threads (--threads). Takes about twenty seconds; other
/// programs running at the same time distort the numbers.
///
/// Examples:
///   limbwise bench --threads 2 --out bench.json
///   limbwise bench --isa scalar --quick
///   limbwise bench --peers bench/peers/run.py       other libraries too, as "make bench" does
///
/// What the columns mean:
///   ns         minimum of several runs: per limb for kernels (base conversion: per target limb), per
///              ciphertext operation for scheme operations
///   limit_ns   lower bound from the multiply-add or memory rate measured in the same run; absent where no rate
///              applies
///   limbs      number of limbs processed in rotation; 1 means hot caches; base conversion: sources
///   bgv_…      products of ciphertexts of exact integers, without relinearization, and transforms of a whole ciphertext
///   read_…, write_…   files of a ciphertext and of an evaluation key, in memory; their limit is the memory rate
///   rival      another implementation on one thread, measured right after ours (transforms: after all kernels):
///              minimum of several runs; one row per rival
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Bench {
    /// A few small operations with few repetitions: shows the format, not the speed
    #[arg(long)]
    quick: bool,
    /// Program that measures other implementations (protocol: bench/peers/README.md)
    #[arg(long, value_name = "PROGRAM")]
    peers: Option<PathBuf>,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(extend("dependentRequired" = {
    "rival": ["rival_version", "rival_parameters", "rival_ns"],
    "rival_version": ["rival"], "rival_parameters": ["rival"], "rival_ns": ["rival"],
}))]
pub(crate) struct Row {
    pub(crate) op: &'static str,
    pub(crate) n: usize,
    pub(crate) prime_bits: u32,
    /// Limbs that take turns, or of the ciphertext.
    pub(crate) limbs: usize,
    pub(crate) threads: usize,
    pub(crate) isa: String,
    /// Least time of several.
    pub(crate) ns: f64,
    /// The same at the rates that this computer shows in the same run; absent where there is no such rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit_ns: Option<f64>,
    /// The modulus chain, for scheme operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<String>,
    /// Another implementation of the same, on one thread, in the same run.
    #[serde(flatten)]
    pub(crate) rival: Option<Rival>,
}

/// Another implementation of the same operation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Rival {
    #[serde(rename = "rival")]
    pub(crate) library: String,
    #[serde(rename = "rival_version")]
    pub(crate) version: String,
    /// What it was measured at, in its words.
    #[serde(rename = "rival_parameters")]
    pub(crate) parameters: String,
    /// Its least time of several.
    #[serde(rename = "rival_ns")]
    pub(crate) ns: f64,
}

impl From<Answer> for Rival {
    fn from(a: Answer) -> Self {
        Self { library: a.library, version: a.version, parameters: a.parameters, ns: a.seconds * 1e9 }
    }
}

impl From<Measurement> for Row {
    fn from(m: Measurement) -> Self {
        let Measurement { op, n, prime_bits, limbs, threads, ns, limit_ns, .. } = m;
        let isa = m.isa.name().into();
        Self { op, n, prime_bits, limbs, threads, isa, ns, limit_ns, parameters: None, rival: None }
    }
}

impl Row {
    /// A row, and its chain for those who shall measure the same.
    fn of(row: SchemeRow) -> (Self, Chain) {
        let SchemeRow { op, n, prime_bits, limbs, threads, isa, ns, limit_ns, chain } = row;
        let (limit_ns, parameters) = (Some(limit_ns), Some(chain.to_string()));
        (Self { op, n, prime_bits, limbs, threads, isa, ns, limit_ns, parameters, rival: None }, chain)
    }
}

/// Shapes and repetitions of the scheme operations.
const FULL: (&[Shape], usize) = (&[Shape::Deep, Shape::Middle], 10);
const QUICK: (&[Shape], usize) = (&[Shape::Small], 1);

/// Width of the primes whose transforms others are asked for: the widest of the fast kernels but one.
const ASKED_BITS: u32 = 49;

impl Bench {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let mut peers = self.peers.as_deref().map(Peers::start).transpose()?;
        let (alone, together) = (self.host.open_with(1)?, self.host.open_cpu()?);
        note(if self.quick { "measuring a few small operations" } else { "measuring (about twenty seconds)" });
        let rates = rates();
        let mut rows = Vec::new();
        for kernel in if self.quick { few(together.isa(), rates) } else { all(together.isa()) } {
            let asked = ["ntt", "intt"].contains(&kernel.op) && kernel.prime_bits == ASKED_BITS;
            beside(&mut rows, peers.as_mut().filter(|_| asked), kernel.into(), None)?;
        }
        let (shapes, repetitions) = if self.quick { QUICK } else { FULL };
        for &shape in shapes {
            scheme_rows(&alone, shape, rates, repetitions, |row| {
                let (row, chain) = Row::of(row);
                beside(&mut rows, peers.as_mut(), row, Some(&chain))
            })?;
            let mut add = |row| {
                rows.push(Row::of(row).0);
                anyhow::Ok(())
            };
            file_rows(&alone, shape, rates, repetitions, &mut add)?;
            if together.threads() > 1 {
                file_rows(&together, shape, rates, repetitions, add)?;
                scheme_rows(&together, shape, rates, repetitions, |row| {
                    rows.push(Row::of(row).0);
                    anyhow::Ok(())
                })?;
            }
        }
        integer_rows(&alone, rates, repetitions, |row| {
            let (row, chain) = Row::of(row);
            beside(&mut rows, peers.as_mut(), row, Some(&chain))
        })?;
        let report = Report { rows };
        output.report(&report, &text::bench::render(&report))
    }
}

/// Adds a row: alone, or once for each implementation that answers.
fn beside(rows: &mut Vec<Row>, peers: Option<&mut Peers>, row: Row, chain: Option<&Chain>) -> anyhow::Result<()> {
    let answers = peers.map_or_else(|| Ok(Vec::new()), |peers| peers.ask(&row, chain))?;
    if answers.is_empty() {
        rows.push(row);
    } else {
        rows.extend(answers.into_iter().map(|a| Row { rival: Some(a.into()), ..row.clone() }));
    }
    Ok(())
}

fn few(isa: Isa, rates: Rates) -> Vec<Measurement> {
    let mut rows = transforms(isa, 12, 49, 1, rates);
    rows.extend(elementwise(isa, 12, 49, 1));
    rows.push(automorphism(isa, 12, 49, 1));
    rows.push(conversion(isa, 12, 49, ConversionSize { sources: 2, targets: 3 }, rates));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_runtime::bench::Chain;
    use std::path::Path;

    fn row(op: &'static str) -> Row {
        let (ns, limit_ns, parameters) = (500.0, Some(250.0), Some("4 limbs of ours".to_owned()));
        let isa = "scalar".into();
        Row { op, n: 8192, prime_bits: 40, limbs: 4, threads: 1, isa, ns, limit_ns, parameters, rival: None }
    }

    #[test]
    fn others_stand_beside_ours() {
        let mut peers = Peers::start(Path::new("tests/fixtures/peer.sh")).unwrap();
        let chain = Chain { chain_bits: vec![45, 40, 40, 40], special_bits: vec![45], dnum: 4 };
        let mut rows = Vec::new();
        for op in ["rotate", "add"] {
            beside(&mut rows, Some(&mut peers), row(op), Some(&chain)).unwrap();
        }
        beside(&mut rows, None, row("add"), None).unwrap();
        assert_eq!(rows.iter().map(|r| r.rival.is_some()).collect::<Vec<_>>(), [false, true, false]);
        let report = Report { rows };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["rows"][1]["rival"], &json["rows"][1]["rival_ns"]), (&"Other".into(), &2000.0.into()));
        assert!(json["rows"][0].get("rival").is_none());
        let schema = include_str!("../../../../docs/schemas/bench.schema.json");
        let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        assert!(schema.is_valid(&json), "{json:#}");
        let mut half = json;
        half["rows"][1].as_object_mut().unwrap().remove("rival_version");
        assert!(!schema.is_valid(&half));
        assert_eq!(
            text::bench::render(&report),
            concat!(
                "  op      N     bits  limbs  threads  isa        time    limit  ours/limit  rival     time  rival/ours\n",
                "  rotate  2^13    40      4        1  scalar  0.50 µs  0.25 µs        2.00  -            -           -\n",
                "  add     2^13    40      4        1  scalar  0.50 µs  0.25 µs        2.00  Other  2.00 µs        4.00\n",
                "  add     2^13    40      4        1  scalar  0.50 µs  0.25 µs        2.00  -            -           -\n",
                "\n",
                "  N     by       parameters\n",
                "  2^13  ours     4 limbs of ours\n",
                "  2^13  Other 1  4 limbs\n",
            )
        );
    }

    #[test]
    fn a_program_that_is_no_peer_is_named() {
        let refused = |path: &str| {
            let mut peers = Peers::start(Path::new(path))?;
            peers.ask(&row("add"), None).map(|_| ())
        };
        let text = |path| refused(path).unwrap_err().to_string();
        assert!(text("/bin/cat").starts_with("/bin/cat answered \"{\\\"op\\\":\\\"add\\\""), "{}", text("/bin/cat"));
        assert!(text("/bin/true").contains("went away"));
        assert!(text("tests/fixtures").contains("does not start"));
    }
}
