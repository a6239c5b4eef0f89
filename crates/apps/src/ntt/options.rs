//! Options of `ntt`.

use super::{Direction, MOST_CIPHERTEXTS, Ntt};
use crate::{
    bgv_mul::options::level_with,
    family::{Exact, integer_samples},
    linear::layer::Model,
    options::{between, mistake, named_bgv, ways_of_keys},
    pbs::options::Samples,
    program::Program as _,
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::scheme::Bgv;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Limbs of the study of FlexMem's units.
const LIMBS: usize = 35;
const PRESET: &str = "dramatic-65536";

fn ciphertexts(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_CIPHERTEXTS)
}

/// Number-theoretic transforms of encrypted polynomials alone: the kernel by which machines are studied (BGV)
///
/// The two polynomials of each ciphertext are transformed, limb by limb. A run decrypts every ciphertext and compares all
/// integers. "time" shows what a machine makes of it under every change of its units and networks. A batch is one
/// operation, so any number is planned and timed in no memory.
///
/// Examples:
///   ntt                                                       two polynomials of 35 limbs at N = 2^16
///   ntt --direction both --ciphertexts 8                      eight ciphertexts, there and back
///   ntt --preset bgv-n13 --limbs 3                            another set, its first three primes
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct NttArgs {
    /// Ciphertexts, of two polynomials each
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = ciphertexts)]
    ciphertexts: usize,

    /// Which way
    #[arg(long, value_enum, value_name = "WHICH", default_value = "forward")]
    direction: Direction,

    /// Parameters: a BGV preset's name ("limbwise params show") or a TOML file [default: dramatic-65536]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,

    /// Limbs of a polynomial: the first so many primes of the chain [default: 35, or all of --preset]
    #[arg(long, value_name = "COUNT", help_heading = "Parameters")]
    limbs: Option<usize>,

    #[command(flatten)]
    data: Samples,
}

/// Public metadata of the transforms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Number of ciphertexts.
    pub ciphertexts: usize,
    pub level: usize,
    pub direction: Direction,
}

impl Workload for NttArgs {
    type Scheme = Bgv;
    type Program = Ntt;
    type Client = Exact<Ntt>;
    type Described = Described;
    type Data = Samples;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, _: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.clone().unwrap_or_else(|| PRESET.into());
        let params = named_bgv(&preset)?;
        let limbs = self.limbs.or(self.preset.is_none().then_some(LIMBS));
        let (ciphertexts, direction) = (self.ciphertexts, self.direction);
        let described = Described { ciphertexts, level: level_with(limbs, &params)?, direction };
        let program = Self::program(&described, (&params, &preset), None)?;
        let client = Some(Self::client(&self.data, &described, &program, &[])?);
        // The program needs no key, so key storage is fixed.
        let ways = ways_of_keys(None, None);
        let smaller = "fewer --ciphertexts, fewer --limbs, or a smaller ring";
        Ok(Built { program, described, client, preset, ways, smaller })
    }

    fn data(&self) -> Samples {
        self.data.clone()
    }

    fn program(of: &Described, (params, _): Named<'_, Bgv>, _: Option<&Model>) -> Refusable<Ntt> {
        if !(1..=MOST_CIPHERTEXTS).contains(&of.ciphertexts) || of.level > params.top_level() {
            let (got, top) = (of.ciphertexts, params.top_level());
            return Err(mistake(format!(
                "{got} ciphertexts at level {}: choose 1 to {MOST_CIPHERTEXTS}, at levels 0 to {top}",
                of.level
            )));
        }
        Ok(Ntt::new(params, of.ciphertexts, of.level, of.direction))
    }

    fn client(data: &Samples, _: &Described, program: &Ntt, files: &[PathBuf]) -> Refusable<Exact<Ntt>> {
        Samples::no_files(files)?;
        Ok(Exact::seeded(program.clone(), data.data_seed, |program, seed| {
            integer_samples(&program.inputs(), program.params(), seed)
        }))
    }
}
