//! H-IDFT and H-DFT as ARK runs them, recorded over a device without words.
//!
//! Only shapes count here, not values: each direction is three maps of 63, 63 and 32 diagonals with 8 baby steps, one
//! after another, each rescaled. Their diagonals are −31 … 31 times 1 and 32, and 0 … 31 times 1024.

use limbwise::{
    Complex64,
    ckks::{Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing, PlaintextForm, Strategy},
    params::{Params, presets::preset},
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, Requirements},
};
use limbwise_device::Null;
use limbwise_graph::{Graph, Op, Recorder, RegionId};

/// ARK's k = (3, 3).
pub(crate) const BABIES: usize = 8;

/// Which transform: the level of its first map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Direction {
    /// Before the modular reduction, levels 23, 22, 21.
    Inverse,
    /// After it, levels 3, 2, 1.
    Forward,
}

impl Direction {
    fn top(self) -> usize {
        match self {
            Self::Inverse => 23,
            Self::Forward => 3,
        }
    }
}

/// What is recorded of three maps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    /// Whole rotations, hoisted ones too.
    pub(crate) rotations: u64,
    /// Key switches: uses of a key.
    pub(crate) key_uses: u64,
    /// Products of a ciphertext with a diagonal.
    pub(crate) products: u64,
    /// Different rotation keys.
    pub(crate) keys: usize,
    /// Bytes of keys if every use loads them, at the level of the use.
    pub(crate) key_loads: u64,
    /// The same if each key is loaded once.
    pub(crate) key_bytes: u64,
    /// Bytes of encoded diagonals, each loaded once.
    pub(crate) plaintext_bytes: u64,
    /// Modular products.
    pub(crate) operations: u64,
}

/// The maps as they stand: two of them with an offset of −31 strides.
pub(crate) fn maps(slots: usize) -> Vec<Diagonals> {
    let map = |(stride, first, last): (i64, i64, i64)| {
        // Values differ from place to place, so that a wrong rotation shows.
        let value = |d: i64, j: usize| Complex64::new(((d + 40) as f64 + j as f64).sin() / 64.0, 1.0 / 64.0);
        let diagonal = |d: i64| (d * stride, (0..slots).map(|j| value(d, j)).collect());
        Diagonals::new(slots, (first..=last).map(diagonal)).unwrap()
    };
    [(1, -31, 31), (32, -31, 31), (1024, 0, 31)].into_iter().map(map).collect()
}

/// The maps with each offset handed on to the next one, and the rotation to the left that the last result has.
pub(crate) fn folded(maps: &[Diagonals]) -> (Vec<Diagonals>, i64) {
    let mut carried = 0;
    let mut fold = |(map, offset): (&Diagonals, i64)| {
        let turned = map.after_rotation(-carried);
        carried += offset;
        turned.before_rotation(carried)
    };
    let all = maps.iter().zip([31, 31 * 32, 0]).map(&mut fold).collect();
    (all, carried)
}

/// Records the maps, one after another from the first level of the direction.
pub(crate) fn record(direction: Direction, maps: &[Diagonals], strategy: Strategy, form: PlaintextForm) -> Recorded {
    let params = preset("ark-24").unwrap();
    let (recorder, encoder) = (Recorder::new(Null::default()), Encoder::new(&params));
    let levels = (0..=direction.top()).rev();
    let required: Requirements =
        maps.iter().zip(levels.clone()).flat_map(|(map, level)| strategy.requirements(map, &params, level)).collect();
    let keys = DeclaredKeys::exactly(&recorder, &params, &KeyPlan { required, form: KeyForm::Stored });
    let eval = Evaluator::new(&recorder, &params, &keys);
    let mut x = encoder.declare(&recorder, &[vec![]], packing(&params, direction.top())).unwrap();
    for (map, level) in maps.iter().zip(levels) {
        let plan = LinearPlan::new(&params, strategy, form, level);
        let map = LinearTransform::declare(&recorder, &encoder, map, plan).unwrap();
        x = eval.linear_transform_rescaled(&x, &map).unwrap();
    }
    drop(x);
    read(&recorder.graph())
}

fn packing(params: &Params, level: usize) -> Packing {
    Packing { slots: params.max_slots(), level, scale: params.scale(level) }
}

fn read(graph: &Graph) -> Recorded {
    let (regions, paths) = (graph.regions(), graph.region_paths());
    let entered = |name: &str| regions.iter().filter(|r| r.name == name).map(|r| u64::from(r.entered)).sum::<u64>();
    let in_sums = |region: RegionId| paths[region.index()].ends_with("weighted_sums");
    let is_product = |id: &_| {
        let node = graph.node(*id);
        matches!(node.op(), Op::Mul | Op::MulAcc) && in_sums(node.region())
    };
    let traffic = graph.traffic();
    Recorded {
        rotations: entered("rotate") + entered("hoisted_rotation"),
        key_uses: entered("gadget_product"),
        products: graph.ids().filter(is_product).count() as u64,
        keys: traffic.keys.len(),
        key_loads: traffic.evaluation_keys.read,
        key_bytes: traffic.evaluation_keys.widest,
        plaintext_bytes: traffic.plaintexts.widest,
        operations: graph.counts().products(),
    }
}

#[test]
fn handing_offsets_on_changes_nothing_but_a_rotation() {
    let slots = 1 << 15;
    let maps = maps(slots);
    let (folded, turned) = folded(&maps);
    let x: Vec<Complex64> = (0..slots).map(|j| Complex64::new((j as f64).cos(), (3.0 * j as f64).sin())).collect();
    let through = |maps: &[Diagonals]| maps.iter().fold(x.clone(), |x, map| map.apply(&x));
    let mut wanted = through(&maps);
    wanted.rotate_left(usize::try_from(turned).unwrap());
    assert!(through(&folded).iter().zip(&wanted).all(|(a, b)| (a - b).norm() < 1e-9));
    assert!(wanted.iter().any(|z| z.norm() > 1e-3));
}
