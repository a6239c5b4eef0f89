//! What is measured for the claims of \[FAB\].

use super::{
    circuits::{Ciphertext, Products, Traced, bootstrapping_by, recorded},
    claims::{Measures, Reproduction, compare},
};
use crate::error::Result;
use limbwise::{
    ckks::{
        BootstrapPlan, Evaluator,
        bootstrap::{HalvesAt, Rotations},
    },
    params::{BootstrapLiteral, EvalModLiteral, Order, Params, ParamsLiteral, Sine},
    rlwe::{KeyForm, KeyName, Requirements},
};
use limbwise_graph::Graph;
use limbwise_machines::{Spec, time};
use limbwise_math::galois::GaloisElement;

const CLAIMS: &str = include_str!("../../claims/fab.toml");

/// N = 2^16, 24 limbs of 54 bits and 8, dnum 3; bootstrapping of 4 + 9 + 4 levels, SlotToCoeff last: the series is of
/// degree 63 with two doublings, the ninth level is the second harmonic.
pub(super) fn params() -> Result<Params> {
    let mut literal = ParamsLiteral::chain(16, 54, 54, 23, (54, 8), 3);
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffLast,
        slot_to_coeff: 4,
        coeff_to_slot: 4,
        message_ratio: 10,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 63, double_angles: 2, sine: Sine::Exponential { harmonics: 2 } },
    });
    Ok(Params::new(&literal).map_err(limbwise::Error::from)?)
}

/// Bootstrapping by a kind of rotations, halves in turn, with keys in a form.
pub(super) fn bootstrapping(params: &Params, rotations: Rotations, form: KeyForm) -> Result<Graph> {
    let plan = BootstrapPlan { rotations, halves: HalvesAt::Turns, ..BootstrapPlan::fastest(params.max_slots()) };
    bootstrapping_by(params, plan, form, Products::None)
}

/// One operation of the table.
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
        (0..count).try_fold(eval.add(&x, &x)?, |last, _| step(eval, &last, &last))
    })
}

/// What one more of an operation takes when its operands are on the chip: of a chain of four after one of two, halved.
fn marginal_ms(params: &Params, operation: Operation, counts: [usize; 2], machine: &Spec) -> Result<f64> {
    let [few, many] = counts;
    let few_s = time(&chain(params, operation, few)?, machine)?.seconds;
    let many_s = time(&chain(params, operation, many)?, machine)?.seconds;
    Ok(1e3 * (many_s - few_s) / limbwise_math::rns::to_f64((many - few) as u64))
}

/// Every claim of \[FAB\] beside recordings and schedules on a model of the machine.
///
/// # Errors
/// [`Error::Machine`](crate::Error::Machine) for specifications that a graph does not fit.
pub fn fab(machine: &Spec) -> Result<Reproduction> {
    let params = params()?;
    let mut measures = Measures::new();
    let shared = machine.with_overrides(&[("conversion", "shared")])?;
    for (reading, machine) in [("", machine), ("_shared", &shared)] {
        let mut put = |name: String, value: f64| measures.insert(name, value);
        put(format!("Add.ms{reading}"), marginal_ms(&params, Operation::Add, [2, 4], machine)?);
        put(format!("Mult.ms{reading}"), marginal_ms(&params, Operation::Mult, [2, 4], machine)?);
        put(format!("Rotate.ms{reading}"), marginal_ms(&params, Operation::Rotate, [2, 4], machine)?);
        let rescale = marginal_ms(&params, Operation::Rescale, [0, 1], machine)?;
        put(format!("Rescale.ms{reading}"), rescale / 2.0);
        put(format!("Rescale.ms_ciphertext{reading}"), rescale);
    }
    let levels = params.bootstrapping().map_or(0, |b| b.levels);
    let slot_levels = limbwise_math::rns::to_f64((levels * params.max_slots()) as u64);
    let readings = [
        ("us", Rotations::Bsgs, machine),
        ("us_hoisted", Rotations::DoubleHoisted, machine),
        ("us_shared", Rotations::Bsgs, &shared),
    ];
    for (reading, rotations, machine) in readings {
        let seconds = time(&bootstrapping(&params, rotations, KeyForm::Stored)?, machine)?.seconds;
        println!("{reading} {seconds} {}", time(&bootstrapping(&params, rotations, KeyForm::Stored)?, machine)?);
        measures.insert(format!("bootstrap.{reading}"), seconds * 1e6 / slot_levels);
    }
    println!("{measures:#?}");
    Ok(compare(CLAIMS, None, &measures))
}
