//! Options of `bgv-mul`.

use super::{BgvMul, MOST_CIPHERTEXTS, Step};
use crate::{
    family::{Exact, integer_samples, integer_samples_from},
    linear::layer::Model,
    options::{between, mistake, named_bgv, ways_of_keys},
    pbs::options::Samples,
    program::Program as _,
    workload::{Built, Named, Part, Refusable, Workload},
};
use clap::Args;
use limbwise::{bgv::BgvParams, scheme::Bgv};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

fn ciphertexts(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_CIPHERTEXTS)
}

/// Products of many ciphertexts of exact integers, including the transforms (BGV)
///
/// Both operands are transformed, multiplied limb by limb (c0 = a0b0, c1 = a0b1 + a1b0, c2 = a1b1; no scaling, no
/// relinearization), and the products transformed back: what DRAMatic measures on processing-in-memory. A run decrypts
/// every product and compares all integers. A batch is one operation, so any number is planned and timed in no memory.
///
/// Examples:
///   bgv-mul                                                   16 products at N = 4096, 109 bits
///   bgv-mul --n 8192 --ciphertexts 64 --step ntt              transforms of 64 ciphertexts alone
///   bgv-mul --preset bgv-n13 --limbs 3                        another set, its first three primes
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct BgvMulArgs {
    /// Products, of two ciphertexts each; ciphertexts where a step alone has no products
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = ciphertexts)]
    ciphertexts: usize,

    /// Which part
    #[arg(long, value_enum, value_name = "WHICH", default_value = "all")]
    step: Step,

    /// Ring degree of a set of DRAMatic: 1024, 2048, 4096, 8192 or 65536
    #[arg(long, value_name = "DEGREE", conflicts_with = "preset", help_heading = "Parameters")]
    n: Option<u32>,

    /// Parameters: a BGV preset's name ("limbwise params show") or a TOML file
    /// [default: dramatic-4096]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,

    /// Keep the first so many primes of the chain [default: all]
    #[arg(long, value_name = "COUNT", help_heading = "Parameters")]
    limbs: Option<usize>,

    #[command(flatten)]
    data: Samples,
}

const PRESET: &str = "dramatic-4096";

/// Public metadata of the products.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Number of ciphertexts, or of pairs of ciphertexts.
    pub ciphertexts: usize,
    pub level: usize,
    pub step: Step,
}

/// The level with this number of primes; the highest for none.
pub(crate) fn level_with(limbs: Option<usize>, params: &BgvParams) -> Refusable<usize> {
    let (rlwe, top) = (params.rlwe(), params.top_level());
    let Some(limbs) = limbs else { return Ok(top) };
    (0..=top).find(|&level| rlwe.limbs(level) == limbs).ok_or_else(|| {
        let counts: Vec<String> = (0..=top).map(|level| rlwe.limbs(level).to_string()).collect();
        mistake(format!(
            "--limbs {limbs}: the levels of this set have {} primes; choose one of them",
            counts.join(", ")
        ))
    })
}

impl Workload for BgvMulArgs {
    type Scheme = Bgv;
    type Program = BgvMul;
    type Client = Exact<BgvMul>;
    type Described = Described;
    type Data = Samples;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, _: Option<u64>) -> Refusable<Built<Self>> {
        let named = || self.preset.clone().unwrap_or_else(|| PRESET.into());
        let preset = self.n.map_or_else(named, |n| format!("dramatic-{n}"));
        let params = named_bgv(&preset)?;
        let described =
            Described { ciphertexts: self.ciphertexts, level: level_with(self.limbs, &params)?, step: self.step };
        let program = Self::program(&described, (&params, &preset), None)?;
        let client = Some(Self::client(&self.data, &described, &program, &[])?);
        // The program needs no key, so key storage is fixed.
        let ways = ways_of_keys(None, None);
        let smaller = "fewer --ciphertexts, fewer --limbs, or a smaller ring";
        Ok(Built { program, described, client, preset, ways, smaller })
    }

    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(Some(self.ciphertexts))
    }

    fn part(&self, part: Part) -> Option<Self> {
        let data = Samples { skip: part.within(self.ciphertexts).first, ..self.data };
        Some(Self { ciphertexts: part.count, data, ..self.clone() })
    }

    fn data(&self) -> Samples {
        self.data.clone()
    }

    fn program(of: &Described, (params, _): Named<'_, Bgv>, _: Option<&Model>) -> Refusable<BgvMul> {
        if !(1..=MOST_CIPHERTEXTS).contains(&of.ciphertexts) || of.level > params.top_level() {
            let (got, top) = (of.ciphertexts, params.top_level());
            return Err(mistake(format!(
                "{got} ciphertexts at level {}: choose 1 to {MOST_CIPHERTEXTS}, at levels 0 to {top}",
                of.level
            )));
        }
        Ok(BgvMul::new(params, of.ciphertexts, of.level, of.step))
    }

    fn client(data: &Samples, _: &Described, program: &BgvMul, files: &[PathBuf]) -> Refusable<Exact<BgvMul>> {
        Samples::no_files(files)?;
        if data.skip > 0 {
            let from = (data.data_seed, data.skip);
            return Ok(Exact::new(program.clone(), integer_samples_from(&program.inputs(), program.params(), from)));
        }
        Ok(Exact::seeded(program.clone(), data.data_seed, |program, seed| {
            integer_samples(&program.inputs(), program.params(), seed)
        }))
    }
}
