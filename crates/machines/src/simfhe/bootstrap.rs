//! Bootstrapping, its steps, and the tables: `bootstrap.py`, `micro_benchmarks.py`, and the ladder of \[MAD\].

use super::{
    count::{Count, Poly},
    evaluator::{Factors, Moves, add, add_plain, automorph, multiply_plain, rescale},
    set::{Caching, Set, TransformStyle},
};
use schemars::JsonSchema;
use serde::Serialize;

/// Something counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// Its name in \[SimFHE\].
    pub name: &'static str,
    /// Its operations and bytes.
    #[serde(flatten)]
    pub count: Count,
}

/// One step of the ladder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// The option that this step adds.
    pub name: &'static str,
    /// The set with all steps so far.
    pub set: Set,
    /// Its bootstrapping.
    #[serde(flatten)]
    pub count: Count,
}

/// An option, as a change of a set.
type Change = fn(&mut Set);

/// Rotations of the row "hoisted_rotate". Source: `micro_benchmarks.hoisted_rotate`.
const ROTATIONS: u64 = 8;

/// A conjugation, a sum and a difference. Source: `bootstrap.conj_and_add`.
fn conjugate(set: &Set, x: Poly) -> Count {
    Count::read(4, x) + set.rotate(x, Moves::NONE) + add(x, Moves::NONE).times(2) + Count::written(2, x)
}

/// Bootstrapping and its steps, the sum last. Source: `bootstrap.bootstrap`.
#[must_use]
pub fn bootstrap(set: &Set) -> Vec<Row> {
    let raised = set.largest();
    let slots = raised.drop(set.fft_iter);
    let reduced = slots.drop(set.sine_levels());
    let key = set.key(slots.raised()).when(set.caching >= Caching::Huge);
    let rows = [
        ("coeff_to_slot", set.transform(raised) + conjugate(set, slots)),
        ("eval_sine", set.sine(slots).times(2) + key + Count::written(4, reduced)),
        ("slot_to_coeff", add(reduced, Moves::NONE) + set.transform(reduced)),
    ];
    let all = ("bootstrap", rows.iter().map(|(_, count)| *count).sum());
    rows.into_iter().chain([all]).map(|(name, count)| Row { name, count }).collect()
}

/// The subroutines at the set's limbs. Source: `micro_benchmarks`.
#[must_use]
pub fn subroutines(set: &Set) -> Vec<Row> {
    let x = set.largest();
    let raised = x.raised();
    let rotations = set.rotate_digits(x, set.caching < Caching::Beta).times(ROTATIONS);
    let rows = [
        ("mod_up", set.mod_raise(x.with(x.alpha()), raised, Moves::BOTH)),
        ("mod_down", set.mod_down(raised, x, Moves::BOTH)),
        ("inner_product", set.products(raised, Moves::READS, set.key(raised))),
        ("automorph", automorph(x, Moves::BOTH)),
        ("pt_add", add_plain(x, Moves::BOTH)),
        ("add", add(x, Moves::BOTH)),
        ("pt_mult", multiply_plain(x, Moves::BOTH) + rescale(x, Moves::BOTH).times(2)),
        ("mult", set.multiply(x, Factors::Different, Moves::BOTH, set.key(raised))),
        ("rotate", set.rotate(x, Moves::BOTH)),
        ("hoisted_rotate", set.raise_digits(x, raised, Moves::WRITES) + rotations),
        ("decomp", Count::read(1, x) + x.decompose() + Count::written(1, x)),
    ];
    rows.into_iter().map(|(name, count)| Row { name, count }).collect()
}

/// Bootstrapping with one option of \[MAD\] after the other, each on top of those before; other fields as in `set`.
#[must_use]
pub fn steps(set: &Set) -> Vec<Step> {
    let mut set = Set {
        transform: TransformStyle::Bsgs,
        caching: Caching::None,
        key_compression: false,
        merge: false,
        reorder: false,
        ..set.clone()
    };
    let mut steps = Vec::new();
    let options: [(&str, Change); 8] = [
        ("baseline", |_| {}),
        ("+ O(1) limbs", |set| set.caching = Caching::Limb),
        ("+ beta limbs", |set| set.caching = Caching::Beta),
        ("+ alpha limbs", |set| set.caching = Caching::Alpha),
        ("+ reorder", |set| set.reorder = true),
        ("+ merge", |set| set.merge = true),
        ("+ hoisting", |set| set.transform = TransformStyle::UnrolledHoisted),
        ("+ key compression", |set| set.key_compression = true),
    ];
    for (name, add) in options {
        add(&mut set);
        let count = bootstrap(&set).iter().filter(|row| row.name == "bootstrap").map(|row| row.count).sum();
        steps.push(Step { name, set: set.clone(), count });
    }
    steps
}
