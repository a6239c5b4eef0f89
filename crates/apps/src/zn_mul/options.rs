//! Options of `zn-mul`.

use super::{MOST_PRODUCTS, Operands, ZnMul};
use crate::{
    data::load_u64,
    linear::{data::generated_words, layer::Model},
    options::{absolute, between, mistake, named_bgv, ways_of_keys},
    workload::{Built, Named, Refusable, Workload},
};
use clap::Args;
use limbwise::{
    bgv::{BgvParams, preset},
    scheme::Bgv,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

fn count(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_PRODUCTS)
}

/// Source of the operands.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperandsData {
    /// Left operands, one number from 0 to 2^64 - 1 on each line [default: uniform, from --data-seed]
    #[arg(long, value_name = "FILE", requires = "other")]
    data: Option<PathBuf>,

    /// Right operands, as many
    #[arg(long, value_name = "FILE", requires = "data")]
    other: Option<PathBuf>,

    /// Seed of uniform operands
    #[arg(long, value_name = "NUMBER", default_value_t = 0, conflicts_with = "data")]
    data_seed: u64,
}

/// Products of unsigned 64-bit integers, exactly and modulo 2^64 (BGV)
///
/// Each integer is encrypted as its residues modulo several plaintext primes, whose product exceeds 2^128; the server
/// multiplies residue by residue, with no key at all; the client joins the residues of each product (CRT) and keeps its
/// low 64 bits. A run compares all 128 bits of every product. What the server multiplies wraps nowhere: the set of
/// parameters is refused if 128 bits do not fit.
///
/// Examples:
///   zn-mul                                                    1000 uniform pairs
///   zn-mul --count 100000                                     as many as are asked for
///   zn-mul --data lhs.txt --other rhs.txt                     operands from files, one number a line
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ZnMulArgs {
    /// Products [default: as many as the files have, or 1000]
    #[arg(long, value_name = "COUNT", value_parser = count)]
    count: Option<usize>,

    #[command(flatten)]
    data: OperandsData,

    /// Parameters: a BGV preset's name ("limbwise params show") or a TOML file
    /// [default: zn64-n12]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "zn64-n12";
const USUAL_COUNT: usize = 1000;

/// Public metadata of the products.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub products: usize,
}

/// Uniform integers of 64 bits: those of one side.
pub(super) fn uniform(seed: u64, side: u64, count: usize) -> Vec<u64> {
    generated_words(seed, side, count).collect()
}

/// Both files, as many numbers in each.
fn operands(left: &Path, right: &Path) -> Refusable<[Vec<u64>; 2]> {
    let read = |path: &Path| load_u64(path, MOST_PRODUCTS).map_err(|e| mistake(e.to_string()));
    let both = [read(left)?, read(right)?];
    let [a, b] = [both[0].len(), both[1].len()];
    if a != b {
        let (left, right) = (left.display(), right.display());
        return Err(mistake(format!(
            "{left} has {a} numbers and {right} {b}; a product takes one of each: give files of equal length"
        )));
    }
    Ok(both)
}

impl OperandsData {
    /// The operands in files, if there are files: those given now, or those named before.
    fn files(&self, files: &[PathBuf]) -> Refusable<Option<[Vec<u64>; 2]>> {
        match (files, &self.data, &self.other) {
            ([left, right], ..) => operands(left, right).map(Some),
            ([], Some(left), Some(right)) => operands(left, right).map(Some),
            ([], None, None) => Ok(None),
            _ => Err(mistake("--data: this program takes two files, the left operands and the right ones")),
        }
    }

    fn client(&self, program: &ZnMul, files: &[PathBuf]) -> Refusable<Operands> {
        let Some(both) = self.files(files)? else { return Ok(Operands::seeded(program.clone(), self.data_seed)) };
        let (got, wanted) = (both[0].len(), program.count);
        if got != wanted {
            return Err(mistake(format!(
                "the files have {got} numbers each, and the program multiplies {wanted} pairs: give files of {wanted}, or make keys for {got} (limbwise keygen zn-mul --count {got})"
            )));
        }
        Ok(Operands::new(program.clone(), both))
    }
}

fn program_of(count: usize, params: &BgvParams, named: &str) -> Refusable<ZnMul> {
    ZnMul::new(params, count).map_err(|e| {
        let fitting = preset(PRESET).is_ok_and(|usual| usual != *params);
        let next =
            if fitting { format!(" (choose {PRESET}, which this workload takes by default)") } else { String::new() };
        mistake(format!("{named}: {e}{next}"))
    })
}

impl Workload for ZnMulArgs {
    type Scheme = Bgv;
    type Program = ZnMul;
    type Client = Operands;
    type Described = Described;
    type Data = OperandsData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.preset
    }

    fn build(&self, _: Option<u64>) -> Refusable<Built<Self>> {
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let params = named_bgv(preset)?;
        let held = self.data.files(&[])?;
        let there = held.as_ref().map(|both| both[0].len());
        let count = self.count.or(there).unwrap_or(USUAL_COUNT);
        if let Some(there) = there.filter(|&there| there != count) {
            return Err(mistake(format!("--count {count}: the files have {there} numbers each; leave it out")));
        }
        let program = program_of(count, &params, preset)?;
        let client = match held {
            Some(both) => Operands::new(program.clone(), both),
            None => Operands::seeded(program.clone(), self.data.data_seed),
        };
        let (described, smaller) = (Described { products: count }, "a smaller --count");
        // The program needs no key, so key storage is fixed.
        Ok(Built {
            program,
            described,
            client: Some(client),
            preset: preset.into(),
            ways: ways_of_keys(None, None),
            smaller,
        })
    }

    fn data(&self) -> OperandsData {
        let OperandsData { data, other, data_seed } = &self.data;
        OperandsData { data: absolute(data.as_ref()), other: absolute(other.as_ref()), data_seed: *data_seed }
    }

    fn program(of: &Described, (params, named): Named<'_, Bgv>, _: Option<&Model>) -> Refusable<ZnMul> {
        let got = of.products;
        if !(1..=MOST_PRODUCTS).contains(&got) {
            return Err(mistake(format!("{got} products: choose 1 to {MOST_PRODUCTS}")));
        }
        program_of(got, params, named)
    }

    fn client(data: &OperandsData, _: &Described, program: &ZnMul, files: &[PathBuf]) -> Refusable<Operands> {
        data.client(program, files)
    }
}
