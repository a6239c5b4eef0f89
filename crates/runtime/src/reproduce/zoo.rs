//! Measures for the machines of the zoo: bootstrapping and PBS of this library on accelerators that others published.
//!
//! A machine with a unit for conversions is timed with bootstrapping of CKKS under the set that its published result is for
//! ([`sets`]), one with a unit for decompositions with bootstrappings of TFHE.

mod sets;

use super::{
    circuits::{Products, fastest_way},
    claims::{Measures, Reproduction, compare},
    flexmem::rotations,
};
use crate::error::Result;
use limbwise::rlwe::KeyForm;
use limbwise_machines::{MachineError, Spec, seconds};
use limbwise_math::rns::to_f64;

const CLAIMS: &str = include_str!("../../claims/zoo.toml");

/// The machines that the claims name.
pub const ZOO: [&str; 8] = ["craterlake", "sharp", "cinnamon", "poseidon", "bts", "strix", "morphling", "matcha"];

/// Sets of TFHE, the name of each measure, and the most messages of a batch.
const SETS: [(&str, &str, usize); 4] = [
    ("strix-I-32", "pbs_i", 512),
    ("strix-II-32", "pbs_ii", 512),
    ("strix-III-32", "pbs_iii", 256),
    ("strix-IV-32", "pbs_iv", 64),
];
/// The least messages of a batch.
const LEAST: usize = 16;

/// Every claim of the zoo beside schedules on its machines.
///
/// # Errors
/// [`Error`](crate::Error) where a changed machine cannot take the programs.
pub fn zoo(machines: &[Spec]) -> Result<Reproduction> {
    let mut measures = Measures::new();
    for machine in machines {
        let name = machine.built_in();
        let mut put = |measure: &str, value: f64| {
            measures.insert(format!("{name}.{measure}"), value);
        };
        if is_for_tfhe(machine) {
            for (set, measure, batch) in SETS {
                put(measure, throughput(machine, set, batch)?);
            }
            continue;
        }
        let params = sets::of(name, word_bits(machine))?;
        let form = if is_set(machine, "policy.seeds", "made") { KeyForm::Seeded } else { KeyForm::Stored };
        put("boot_ms", 1e3 * fastest_way(machine, &params, form, Products::None)?.0);
        let levels = params.bootstrapping().map_or(0, |boot| boot.levels);
        let products = to_f64((levels * params.max_slots()) as u64);
        put("t_as_ns", 1e9 * fastest_way(machine, &params, form, Products::EachLevel)?.0 / products);
    }
    Ok(compare(CLAIMS, None, &measures))
}

/// Messages bootstrapped a second, in batches of the power of two that gives most: a larger batch hides latencies better,
/// until the chip has no room for it.
fn throughput(machine: &Spec, set: &str, most: usize) -> Result<f64> {
    let mut best: f64 = 0.0;
    for batch in std::iter::successors(Some(LEAST), |batch| Some(2 * batch)).take_while(|&batch| batch <= most) {
        match seconds(rotations(set, batch)?.as_ref(), machine) {
            Ok(seconds) => best = best.max(to_f64(batch as u64) / seconds),
            Err(MachineError::NoRoom { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(best)
}

fn word_bits(machine: &Spec) -> u64 {
    let bits = machine.fields().into_iter().find(|field| field.path == "chip.word_bits");
    bits.and_then(|field| field.value.as_u64()).unwrap_or(64)
}

fn is_set(machine: &Spec, path: &str, value: &str) -> bool {
    machine.fields().into_iter().any(|field| field.path == path && field.value == value)
}

fn is_for_tfhe(machine: &Spec) -> bool {
    let does =
        |field: &limbwise_machines::Field| field.value.as_array().is_some_and(|d| d.iter().any(|d| d == "decompose"));
    machine.fields().iter().any(|field| field.path.ends_with(".does") && does(field))
}
