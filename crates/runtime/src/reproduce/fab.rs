//! Measures for the claims of \[FAB\]. Which readings the table takes, and that they were chosen afterwards: ADR 79.

use super::{
    circuits::{Ciphertext, Products, Traced, bootstrapping_by, recorded},
    claims::{Measures, Reproduction, compare},
};
use crate::{error::Result, record::record};
use limbwise::{
    ckks::{
        BootstrapPlan, Evaluator, Promise,
        bootstrap::{HalvesAt, Rotations},
    },
    params::{BootstrapLiteral, EvalModLiteral, Order, Params, ParamsLiteral, PrimeChoice, Sine},
    rlwe::{KeyForm, KeyName, Requirements},
};
use limbwise_apps::helr::encrypted::{Helr, Training};
use limbwise_graph::Graph;
use limbwise_machines::{Spec, time};
use limbwise_math::galois::GaloisElement;
use std::sync::Arc;

/// Bits of the levels between two bootstrappings.
const USER_BITS: u32 = 44;

const CLAIMS: &str = include_str!("../../claims/fab.toml");

/// N = 2^16, 24 + 8 limbs in words of 54 bits, dnum 3; bootstrapping of 4 + 9 + 4 levels, SlotToCoeff last. EvalMod has a
/// series of degree 63 with two doublings, and the second harmonic in the ninth level. Levels between bootstrappings have
/// ten bits less, because a message must be smaller than q₀ for EvalMod.
pub(super) fn params() -> Result<Params> {
    let mut literal = ParamsLiteral::chain(16, 54, USER_BITS, 0, (54, 8), 3);
    let level = |bits| vec![PrimeChoice::Bits(bits)];
    literal.levels = [vec![level(54)], vec![level(USER_BITS); 6], vec![level(54); 4 + 9 + 4]].concat();
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffLast,
        slot_to_coeff: 4,
        coeff_to_slot: 4,
        message_ratio: 10,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 63, double_angles: 2, sine: Sine::Exponential { harmonics: 2 } },
        refinement: None,
    });
    Ok(Params::new(&literal).map_err(limbwise::Error::from)?)
}

/// Training in the sizes of \[HELR\]: 11,982 rows of 196 features, batches of 1024 in eight ciphertexts, a sigmoid of degree
/// 3, and bootstrapping in each iteration. The learning rate and the promised bounds change no operation.
fn training(params: &Params, iterations: usize) -> Result<Arc<Graph>> {
    let options = Training {
        columns: 197,
        train_rows: 11_982,
        batch_rows: 1024,
        iterations,
        bootstrap_every: 1,
        degree: 3,
        interval: 16.0,
        learning_rate: 1.0,
        rows: Promise { magnitude: 1.0, peak: 1.0, real: true },
    };
    Ok(record(&Helr::new(params, options)?, KeyForm::Stored, &limbwise_cpu::footprint())?.graph)
}

/// Seconds of one more iteration of training: without first loads and last stores, as for the other claims (ADR 79).
fn iteration_s(machine: &Spec, graphs: &[Arc<Graph>; 2]) -> Result<f64> {
    let [few, many] = graphs;
    Ok((time(many, machine)?.seconds - time(few, machine)?.seconds) / 2.0)
}

/// Bootstrapping with the halves of EvalMod in turn.
pub(super) fn bootstrapping(params: &Params, rotations: Rotations, form: KeyForm) -> Result<Graph> {
    let plan = BootstrapPlan { rotations, halves: HalvesAt::Turns, ..BootstrapPlan::fastest(params.max_slots()) };
    bootstrapping_by(params, plan, form, Products::None)
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Mult,
    Rescale,
    Rotate,
}

/// Records so many of an operation, one after the other on what the one before made, at the top level.
fn chain(params: &Params, operation: Operation, count: usize) -> Result<Graph> {
    let top = params.top_level();
    let rotation = KeyName::Galois(GaloisElement::rotation(1, params.log_n()));
    let required: Requirements = [(rotation, top), (KeyName::Relinearization, top)].into_iter().collect();
    let step = |eval: &Evaluator<'_, Traced>, x: &Ciphertext, y: &Ciphertext| match operation {
        Operation::Add => eval.add(x, y),
        Operation::Mult => eval.relinearize(&eval.multiply(x, y)?),
        Operation::Rescale => eval.rescale(x),
        Operation::Rotate => eval.rotate(x, 1),
    };
    recorded(params, required, KeyForm::Stored, top, |eval, _, x| {
        let first = match operation {
            // A rescaling needs a product, whose scale it divides.
            Operation::Rescale => eval.relinearize(&eval.multiply(&x, &x)?)?,
            _ => eval.add(&x, &x)?,
        };
        (0..count).try_fold(first, |last, _| step(eval, &last, &last))
    })
}

/// Time of one more operation with its operands on the chip: the difference in time of two chains over the difference in length.
fn marginal_ms(params: &Params, operation: Operation, counts: [usize; 2], machine: &Spec) -> Result<f64> {
    let [few, many] = counts;
    let few_s = time(&chain(params, operation, few)?, machine)?.seconds;
    let many_s = time(&chain(params, operation, many)?, machine)?.seconds;
    Ok(1e3 * (many_s - few_s) / limbwise_math::rns::to_f64((many - few) as u64))
}

/// Every claim of \[FAB\] beside recordings and schedules on a model of the machine.
pub fn fab(machine: &Spec) -> Result<Reproduction> {
    let params = params()?;
    let mut measures = Measures::new();
    let shared = machine.with_overrides(&[("conversion", "shared")])?;
    for (reading, machine) in [("", machine), ("_shared", &shared)] {
        let mut put = |name: String, value: f64| measures.insert(name, value);
        put(format!("Add.ms{reading}"), marginal_ms(&params, Operation::Add, [8, 10], machine)?);
        put(format!("Mult.ms{reading}"), marginal_ms(&params, Operation::Mult, [2, 4], machine)?);
        put(format!("Rotate.ms{reading}"), marginal_ms(&params, Operation::Rotate, [2, 4], machine)?);
        let rescale = marginal_ms(&params, Operation::Rescale, [0, 1], machine)?;
        put(format!("Rescale.ms{reading}"), rescale / 2.0);
        put(format!("Rescale.ms_ciphertext{reading}"), rescale);
    }
    let slots = limbwise_math::rns::to_f64(params.max_slots() as u64);
    let levels = params.bootstrapping().map_or(0, |b| b.levels);
    let readings = [
        ("us", Rotations::DoubleHoisted, levels + 1, machine),
        ("us_levels", Rotations::DoubleHoisted, levels, machine),
        ("us_bsgs", Rotations::Bsgs, levels + 1, machine),
        ("us_shared", Rotations::DoubleHoisted, levels + 1, &shared),
    ];
    for (reading, rotations, left, machine) in readings {
        let seconds = time(&bootstrapping(&params, rotations, KeyForm::Stored)?, machine)?.seconds;
        let left = limbwise_math::rns::to_f64(left as u64);
        measures.insert(format!("bootstrap.{reading}"), seconds * 1e6 / (slots * left));
    }
    let graphs = [training(&params, 2)?, training(&params, 4)?];
    for (boards, name) in [("1", "iteration_s"), ("8", "iteration_s_of_8")] {
        let boards = machine.with_overrides(&[("fpgas", boards)])?;
        measures.insert(format!("training.{name}"), iteration_s(&boards, &graphs)?);
    }
    Ok(compare(CLAIMS, None, &measures))
}
