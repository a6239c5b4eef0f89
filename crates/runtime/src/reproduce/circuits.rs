//! Circuits of \[ARK\]: its two transforms, its rotation, and bootstrapping with the products that follow. The shapes are
//! those of its parameters, the circuits are this library's, and every choice is a program option that runs.

use crate::error::Result;
use limbwise::{
    Complex64,
    ckks::{
        Auto, BootstrapPlan, Bootstrapper, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing,
        PlaintextForm, Strategy,
        bootstrap::{HalvesAt, Rotations, requirements},
    },
    params::{BootstrapLiteral, EvalModLiteral, Params, ParamsLiteral, Sine, presets::preset},
    rlwe::{DeclaredKeys, KeyForm, KeyName, KeyPlan, Requirements},
};
use limbwise_device::Null;
use limbwise_graph::{Graph, Recorder};
use limbwise_machines::Spec;
use limbwise_math::galois::GaloisElement;

/// ARK's k = (3, 3).
const BABIES: usize = 8;

/// The parameters of ARK, as the preset has them.
pub(super) fn params() -> Result<Params> {
    Ok(preset("ark-24").map_err(limbwise::Error::from)?)
}

/// The parameters for bootstrapping, with EvalMod and CoeffToSlot at the paper's levels (3 + 9 + 3).
///
/// The paper does not give its series. Degree 63 with two doublings is an assumption that leaves its nine levels: the ninth
/// is the second harmonic.
pub(super) fn bootstrapping_params() -> Result<Params> {
    let mut literal = params()?.literal().clone();
    let eval_mod = EvalModLiteral { range: 16, degree: 63, double_angles: 2, sine: Sine::Exponential { harmonics: 2 } };
    literal.bootstrapping = literal.bootstrapping.map(|boot| BootstrapLiteral { coeff_to_slot: 3, eval_mod, ..boot });
    Ok(Params::new(&literal).map_err(limbwise::Error::from)?)
}

/// As many digits as primes, and one special prime.
pub(super) fn many_digits() -> Result<Params> {
    Ok(Params::new(&ParamsLiteral::chain(16, 50, 45, 23, (50, 1), 24)).map_err(limbwise::Error::from)?)
}

/// Which transform: the level of its first map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Direction {
    /// Before the modular reduction, levels 23, 22, 21.
    Inverse,
    /// SlotToCoeff, levels 3, 2, 1.
    Forward,
}

impl Direction {
    /// Limbs of 63, 63 and 32 diagonals at these levels.
    fn top(self) -> usize {
        match self {
            Self::Inverse => 23,
            Self::Forward => 3,
        }
    }
}

/// Options of \[ARK\], added to the base line one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum With {
    /// Each rotation whole and with a key of its own, diagonals stored whole.
    Nothing,
    /// The minimum key set, offsets handed on from map to map.
    MultiHop,
    /// Also one limb of each diagonal, extended at use.
    Both,
}

impl With {
    pub(super) const ALL: [Self; 3] = [Self::Nothing, Self::MultiHop, Self::Both];

    fn form(self) -> PlaintextForm {
        if self == Self::Both { PlaintextForm::OnTheFly } else { PlaintextForm::Full }
    }
}

/// Three maps of 63, 63 and 32 diagonals: −31 … 31 times 1 and 32, and 0 … 31 times 1024. Their values only have to be small
/// enough for one limb.
fn maps(slots: usize, values: impl Fn(i64) -> Vec<Complex64>) -> limbwise::Result<Vec<Diagonals>> {
    let map =
        |(stride, first, last): (i64, i64, i64)| Diagonals::new(slots, (first..=last).map(|d| (d * stride, values(d))));
    [(1, -31, 31), (32, -31, 31), (1024, 0, 31)].into_iter().map(map).collect()
}

/// The maps with each offset folded into the next one, so that no map needs a key for it.
fn folded(maps: &[Diagonals]) -> Vec<Diagonals> {
    let mut carried = 0;
    let mut fold = |(map, offset): (&Diagonals, i64)| {
        let turned = map.after_rotation(-carried);
        carried += offset;
        turned.before_rotation(carried)
    };
    maps.iter().zip([31, 31 * 32, 0]).map(&mut fold).collect()
}

/// Records a transform: the maps one after another, each rescaled.
pub(super) fn transform(params: &Params, direction: Direction, with: With) -> Result<Graph> {
    let own = maps(params.max_slots(), |_| vec![Complex64::new(1.0 / 64.0, 0.0)])?;
    let (maps, strategy) = match with {
        With::Nothing => (own, Strategy::Whole { babies: BABIES }),
        With::MultiHop | With::Both => (folded(&own), Strategy::MultiHop { babies: BABIES }),
    };
    let levels = (0..=direction.top()).rev();
    let mut required = Requirements::new();
    for (map, level) in maps.iter().zip(levels.clone()) {
        for (name, level) in strategy.requirements(map, params, level) {
            // Levels descend: the first use is the highest.
            required.entry(name).or_insert(level);
        }
    }
    recorded(params, required, KeyForm::Stored, direction.top(), |eval, encoder, mut x| {
        for (map, level) in maps.iter().zip(levels) {
            let plan = LinearPlan::new(params, strategy, with.form(), level);
            x = eval.linear_transform_rescaled(&x, &LinearTransform::declare(eval.device(), encoder, map, plan)?)?;
        }
        Ok(x)
    })
}

/// Records one rotation at the top level.
pub(super) fn rotation(params: &Params) -> Result<Graph> {
    let top = params.top_level();
    let required = [(KeyName::Galois(GaloisElement::rotation(1, params.log_n())), top)].into_iter().collect();
    recorded(params, required, KeyForm::Stored, top, |eval, _, x| eval.rotate(&x, 1))
}

/// Records bootstrapping of a full ciphertext, and products after it. The halves of EvalMod are two ciphertexts, as in the
/// paper's count of products; a batch of two is this library's own choice (ADR 63).
pub(super) fn bootstrapping(params: &Params, with: With, halves: HalvesAt, products: Products) -> Result<Graph> {
    let rotations = if with == With::Nothing { Rotations::Whole } else { Rotations::MultiHop };
    let plan = BootstrapPlan { rotations, form: with.form(), halves, ..BootstrapPlan::fastest(params.max_slots()) };
    bootstrapping_by(params, plan, KeyForm::Stored, products)
}

/// Records bootstrapping by any plan, with keys in any form, and products after it.
pub(super) fn bootstrapping_by(
    params: &Params,
    plan: BootstrapPlan,
    form: KeyForm,
    products: Products,
) -> Result<Graph> {
    let levels = params.bootstrapping().map_or(0, |boot| boot.input_level());
    recorded(params, requirements(params, plan)?, form, levels, |eval, encoder, x| {
        let boot = Bootstrapper::declare(eval.device(), encoder, plan)?;
        let mut x = boot.evaluate(&Auto::new(*eval, encoder), &x)?;
        while products == Products::EachLevel && x.level > levels {
            x = eval.relinearize_rescaled(&eval.multiply(&x, &x)?)?;
        }
        Ok(x)
    })
}

/// Records bootstrapping in each of the ways to rotate, and keeps the one that a machine does first: seconds and program.
pub(super) fn fastest(machine: &Spec, params: &Params, form: KeyForm, products: Products) -> Result<(f64, Graph)> {
    let usual = BootstrapPlan::fastest(params.max_slots());
    let ways = ROTATIONS.map(|rotations| BootstrapPlan { rotations, ..usual });
    fastest_of(&ways, machine, params, (form, products))
}

/// As [`fastest`], over diagonals whole or extended at use, and halves at once or in turns, too: as `limbwise time` does.
pub(super) fn fastest_way(machine: &Spec, params: &Params, form: KeyForm, products: Products) -> Result<(f64, Graph)> {
    let usual = BootstrapPlan::fastest(params.max_slots());
    let mut ways = Vec::new();
    for rotations in ROTATIONS {
        for diagonals in PlaintextForm::ALL {
            let each = |halves| BootstrapPlan { rotations, form: diagonals, halves, ..usual };
            ways.extend([HalvesAt::Once, HalvesAt::Turns].map(each));
        }
    }
    fastest_of(&ways, machine, params, (form, products))
}

const ROTATIONS: [Rotations; 3] = [Rotations::DoubleHoisted, Rotations::Bsgs, Rotations::MultiHop];

fn fastest_of(
    ways: &[BootstrapPlan],
    machine: &Spec,
    params: &Params,
    (form, products): (KeyForm, Products),
) -> Result<(f64, Graph)> {
    let mut best: Option<(f64, Graph)> = None;
    for &plan in ways {
        let graph = bootstrapping_by(params, plan, form, products)?;
        let seconds = limbwise_machines::seconds(&graph, machine)?;
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, graph));
        }
    }
    Ok(best.expect("there are ways"))
}

/// Products after bootstrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Products {
    None,
    /// A square at each level.
    EachLevel,
}

pub(super) type Traced = Recorder<Null>;
pub(super) type Ciphertext = limbwise::ckks::Ciphertext<Traced>;

/// Records a function of one ciphertext under declared keys. Its result lives to the end, so that machines store it.
pub(super) fn recorded(
    params: &Params,
    required: Requirements,
    form: KeyForm,
    level: usize,
    program: impl FnOnce(&Evaluator<'_, Traced>, &Encoder, Ciphertext) -> limbwise::Result<Ciphertext>,
) -> Result<Graph> {
    let (recorder, encoder) = (Recorder::new(Null::default()), Encoder::new(params));
    let keys = DeclaredKeys::exactly(&recorder, params, &KeyPlan { required, form });
    let packing = Packing { slots: params.max_slots(), level, scale: params.scale(level) };
    let x = encoder.declare(&recorder, &[vec![]], packing)?;
    let result = program(&Evaluator::new(&recorder, params, &keys), &encoder, x)?;
    let graph = recorder.graph();
    drop(result);
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_machines::{check::check, machine};

    #[test]
    fn handing_offsets_on_changes_nothing_but_a_rotation() {
        let slots = 1 << 15;
        // Values differ from place to place, so that a wrong rotation shows.
        let value = |d: i64, j: usize| Complex64::new(((d + 40) as f64 + j as f64).sin() / 64.0, 1.0 / 64.0);
        let maps = maps(slots, |d| (0..slots).map(|j| value(d, j)).collect()).unwrap();
        let folded = folded(&maps);
        let x: Vec<Complex64> = (0..slots).map(|j| Complex64::new((j as f64).cos(), (3.0 * j as f64).sin())).collect();
        let through = |maps: &[Diagonals]| maps.iter().fold(x.clone(), |x, map| map.apply(&x));
        let mut wanted = through(&maps);
        wanted.rotate_left(31 * 33);
        assert!(through(&folded).iter().zip(&wanted).all(|(a, b)| (a - b).norm() < 1e-9));
        assert!(wanted.iter().any(|z| z.norm() > 1e-3));
    }

    /// The schedules behind the table are legal, on every machine: two transforms, and bootstrapping in two rings.
    #[test]
    fn schedules_of_what_is_recorded_pass_the_checker() {
        let (transforms, large) = (params().unwrap(), bootstrapping_params().unwrap());
        let small = preset("boot-n15").unwrap();
        let graphs = [
            transform(&transforms, Direction::Inverse, With::Nothing).unwrap(),
            transform(&transforms, Direction::Inverse, With::Both).unwrap(),
            bootstrapping(&large, With::Both, HalvesAt::Turns, Products::None).unwrap(),
            bootstrapping(&small, With::MultiHop, HalvesAt::Once, Products::EachLevel).unwrap(),
        ];
        // The machine that counts has no time, so nothing to check; that with memory on DPUs has a check of its own, and
        // rounds of those that place operations on two sides are proved by `offload::check`, in their own tests. That which
        // places operations on chips checks units, links and order in its own.
        let others = ["counts", "upmem", "fhex", "fhex-in-bank", "flexmem"];
        // Files of the zoo share ARK's model; one of them splits its words.
        let of_zoo = |spec: &Spec| spec.model() == "composed" && !["ark", "sharp"].contains(&spec.name());
        for name in limbwise_machines::names().into_iter().filter(|name| !others.contains(name)) {
            let spec = Spec::load(name).unwrap();
            if of_zoo(&spec) {
                continue;
            }
            let splits = spec.has("policy.words");
            let spec = if splits { spec.with_overrides(&[("policy.words", "split")]).unwrap() } else { spec };
            let machine = machine::open(&spec).unwrap();
            for (number, graph) in graphs.iter().enumerate() {
                let graph = &machine.prepare(graph);
                let schedule = machine.schedule(graph).unwrap();
                assert_eq!(check(graph, &*machine, &schedule), Ok(()), "graph {number} on {name}");
            }
        }
    }

    /// Bytes by hand: a key is 2β(ℓ + 7) limbs of half a MiB, a diagonal ℓ + 1 or one.
    #[test]
    fn bytes_are_those_of_the_formula() {
        let (params, half_mib) = (params().unwrap(), 1u64 << 19);
        for (direction, top) in [(Direction::Inverse, 23u64), (Direction::Forward, 3)] {
            let [base, hops, both] = With::ALL.map(|with| transform(&params, direction, with).unwrap());
            let key = |level: u64| 2 * (level + 1).div_ceil(6) * (level + 7) * half_mib;
            let sum = |times: [u64; 3]| (0..3).map(|i| times[i] * key(top - i as u64)).sum::<u64>();
            assert_eq!(base.traffic().evaluation_keys.read, sum([15, 15, 10]), "{direction:?}");
            assert_eq!(hops.traffic().evaluation_keys.read, sum([14, 14, 10]), "{direction:?}");
            assert_eq!(hops.traffic().evaluation_keys.widest, sum([2, 2, 2]), "{direction:?}");
            let limbs: u64 = [63, 63, 32].iter().zip(0..).map(|(diagonals, i)| diagonals * (top + 1 - i)).sum();
            assert_eq!(base.traffic().plaintexts.widest, limbs * half_mib, "{direction:?}");
            assert_eq!(both.traffic().plaintexts.widest, 158 * half_mib, "{direction:?}");
            assert_eq!(both.counts().products() - hops.counts().products(), 8 * (limbs << 16), "{direction:?}");
        }
    }
}
