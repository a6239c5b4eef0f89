use super::{
    Circuit, Ensemble, Forest, ForestClient, Grid, Inference,
    circuit::{Condition, Mode},
    ensemble::{FloatNode, FloatTree},
    skeleton::{Cut, Node, Side, Task},
};
use crate::{
    Evaluation,
    client::Client as _,
    data::breast_cancer,
    family::Twin as _,
    onnx::{Attribute, Graph, Model, Node as Operator},
    program::Program as _,
};
use limbwise::tfhe::{ClientKey, Evaluator, ServerKey, TfheParams, TfheReading, noise, preset};
use limbwise_cpu::Cpu;
use limbwise_math::sampling::Seed;
use prost::Message as _;

fn usual() -> TfheParams {
    TfheParams::new(&preset("2-2-p128").unwrap()).unwrap()
}

fn shipped() -> Ensemble {
    Ensemble::parse(include_bytes!("../../data/forest_breast_cancer.onnx"), "shipped").unwrap()
}

fn rows(from: usize, count: usize) -> Vec<Vec<f64>> {
    let set = breast_cancer();
    (from..from + count).map(|row| set.row(row).to_vec()).collect()
}

/// A word of a repeatable sequence.
fn word(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 40).unwrap()
}

/// A random tree of a depth, uneven, on few features and thresholds so that paths meet a feature again.
fn tree(state: &mut u64, depth: usize, outputs: usize, nodes: &mut Vec<FloatNode>) -> usize {
    let own = nodes.len();
    if depth == 0 || word(state).is_multiple_of(7) {
        nodes.push(FloatNode::Leaf((0..outputs).map(|_| (word(state) % 5) as f64 / 8.0).collect()));
        return own;
    }
    let at = (word(state) % 9) as f64;
    let (feature, closed) = (word(state) % 4, word(state).is_multiple_of(2));
    let missing = Some(if word(state).is_multiple_of(3) { Side::Left } else { Side::Right });
    let cut = Cut { feature, at, closed, missing };
    nodes.push(FloatNode::Leaf(Vec::new()));
    let left = tree(state, depth - 1, outputs, nodes);
    let right = tree(state, depth - 1, outputs, nodes);
    nodes[own] = FloatNode::Split { cut, left, right };
    own
}

fn random(seed: u64, trees: usize, depth: usize, task: Task) -> Ensemble {
    let (mut state, outputs) = (seed, task.outputs());
    let mut one = |_| {
        let mut nodes = Vec::new();
        tree(&mut state, depth, outputs, &mut nodes);
        FloatTree(nodes)
    };
    Ensemble {
        features: 4,
        single: false,
        text_labels: false,
        trees: (0..trees).map(&mut one).collect(),
        base: vec![0.25; outputs],
        task,
    }
}

/// Half-whole numbers, and now and then none.
fn random_rows(seed: u64, count: usize) -> Vec<Vec<f64>> {
    let mut state = seed;
    let value = |word: usize| if word % 29 > 18 { f64::NAN } else { (word % 29) as f64 / 2.0 };
    (0..count).map(|_| (0..4).map(|_| value(word(&mut state))).collect()).collect()
}

fn labels(count: usize) -> Vec<String> {
    (0..count).map(|label| label.to_string()).collect()
}

/// Runs a program and compares every message with the twin's; returns scores and what is concluded.
fn checked(program: &Inference, client: &ForestClient) -> (Vec<Vec<f64>>, serde_json::Value) {
    let (dev, params) = (Cpu::builder().threads(2).open().unwrap(), program.params().clone());
    let key = ClientKey::from_seed(&params, Seed([3; 32]));
    let server = ServerKey::new(&dev, &key.bootstrap_keys(&dev));
    let messages = client.values(0);
    let input = key.encrypt(&dev, &messages).unwrap().at_most(1).unwrap();
    let on =
        Evaluation { means: &Evaluator::new(&dev, &server), inputs: &[input], observer: &mut (), journal: &mut () };
    let results = program.evaluate(on).unwrap();
    assert!(results[0].norm_squared() <= program.circuit().norm_squared());
    assert!(results[0].range().1 <= 31, "sums stay inside the padding: {:?}", results[0].range());
    let found = TfheReading::of(&dev, &key, &results[0]).unwrap();
    assert_eq!(found.messages, program.clear(&[messages])[0]);
    let concluded = client.conclude(&vec![found.clone()]);
    assert_eq!(concluded.found.wrong, 0);
    (program.scores(&found.messages), serde_json::Value::Object(concluded.details))
}

/// A forest of every task, with values that take one digit and two, in both modes, tree by tree the float forest.
#[test]
fn encrypted_forests_are_the_quantized_ones() {
    for (number, (task, bits, mode)) in [
        (Task::Binary(labels(2)), 4, Mode::Values),
        (Task::Binary(labels(2)), 1, Mode::Values),
        (Task::Classes(labels(5)), 4, Mode::Leaves),
        (Task::Numbers(1), 8, Mode::Values),
    ]
    .into_iter()
    .enumerate()
    {
        let seed = u64::try_from(number).unwrap();
        let ensemble = random(seed, 5, 4, task.clone());
        let forest = Forest::new(&ensemble, &Grid::Thresholds, bits).unwrap();
        let program = Inference::new(&crate::small_tfhe(), forest.clone(), 2).unwrap();
        assert_eq!(program.circuit().mode, mode, "{task:?}");
        let rows = random_rows(seed, 2);
        let client = ForestClient::new(&program, rows.clone(), Vec::new(), Some(ensemble.clone())).unwrap();
        let (scores, _) = checked(&program, &client);
        for (row, scores) in rows.iter().zip(&scores) {
            let sums = forest.sums(&forest.skeleton.bits(row));
            assert_eq!(*scores, forest.skeleton.scores(&sums));
            // Values are multiples of an eighth up to a half: any 4 levels hold them.
            let exact = ensemble.scores(row).iter().zip(scores).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(exact || bits == 1, "{task:?}: {:?} and {scores:?}", ensemble.scores(row));
        }
    }
}

/// Rows that lack nothing have fewer cuts, and a client of them refuses others.
#[test]
fn rows_may_lack_values_where_the_keys_say_so() {
    let ensemble = random(3, 6, 4, Task::Numbers(1));
    let [gaps, whole] =
        [ensemble.clone(), ensemble.clone().of_whole_rows()].map(|of| Forest::new(&of, &Grid::Thresholds, 4).unwrap());
    assert!(whole.skeleton.cuts.len() < gaps.skeleton.cuts.len());
    assert!(gaps.skeleton.takes_missing() && !whole.skeleton.takes_missing());
    let rows = random_rows(3, 30);
    for forest in [&gaps, &whole] {
        assert_eq!(Forest::quantized_as(&forest.skeleton, &ensemble).unwrap(), *forest);
        let taken = rows.iter().filter(|row| forest.skeleton.takes_missing() || row.iter().all(|x| !x.is_nan()));
        for row in taken {
            let scores = forest.skeleton.scores(&forest.sums(&forest.skeleton.bits(row)));
            assert!((scores[0] - ensemble.scores(row)[0]).abs() < 1e-9, "{row:?}");
        }
    }
    let lacking = rows.iter().position(|row| row[2].is_nan() && !row[0].is_nan() && !row[1].is_nan()).unwrap();
    let client = |forest: &Forest| {
        let program = Inference::new(&crate::small_tfhe(), forest.clone(), 1).unwrap();
        ForestClient::new(&program, vec![rows[lacking].clone()], Vec::new(), None).map(drop).map_err(|e| e.to_string())
    };
    assert_eq!(client(&gaps), Ok(()));
    assert!(client(&whole).unwrap_err().starts_with("row 1 has no value of feature 3, and the keys are for rows"));
}

#[test]
fn thresholds_as_cuts_change_no_comparison() {
    for seed in 0..20 {
        let ensemble = random(seed, 6, 7, Task::Classes(labels(3)));
        let forest = Forest::new(&ensemble, &Grid::Thresholds, 8).unwrap();
        for row in random_rows(seed, 50) {
            let sums = forest.sums(&forest.skeleton.bits(&row));
            let (got, wanted) = (forest.skeleton.scores(&sums), ensemble.scores(&row));
            assert!(got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{got:?} {wanted:?}");
        }
        let again = Forest::quantized_as(&forest.skeleton, &ensemble).unwrap();
        assert_eq!(again, forest);
        let other = random(seed + 100, 6, 7, Task::Classes(labels(3)));
        assert!(Forest::quantized_as(&forest.skeleton, &other).unwrap_err().to_string().contains("another one"));
    }
}

#[test]
fn a_grid_has_fewer_cuts_and_is_found_again() {
    let (ensemble, all) = (shipped(), rows(0, 400));
    let exact = Forest::new(&ensemble, &Grid::Thresholds, 4).unwrap();
    let grid = Grid::uniform(3, &all, 30).unwrap();
    let coarse = Forest::new(&ensemble, &grid, 4).unwrap();
    assert!(coarse.skeleton.cuts.len() < exact.skeleton.cuts.len());
    assert!(coarse.skeleton.cuts.chunk_by(|a, b| a.feature == b.feature).all(|own| own.len() <= 7));
    assert_eq!(Forest::quantized_as(&coarse.skeleton, &ensemble).unwrap(), coarse);
    assert!(Grid::uniform(9, &all, 30).is_err() && Grid::uniform(3, &all, 29).is_err());
}

/// Every block meets its leaf where the row comes by, and is negative elsewhere, within the table and the noise.
#[test]
fn blocks_say_which_leaf_a_row_reaches() {
    for seed in 0..20 {
        let forest = Forest::new(&random(seed, 3, 6, Task::Numbers(1)), &Grid::Thresholds, 4).unwrap();
        let circuit = Circuit::new(&forest, &usual()).unwrap();
        let [chosen, blocks, leaves] = circuit.counts;
        assert!(chosen == blocks && blocks <= leaves);
        for row in random_rows(seed, 40) {
            let bits = forest.skeleton.bits(&row);
            let bit = |cut: usize| i64::from(bits[cut]);
            let held = |condition: &Condition| match *condition {
                Condition::Right(cut) => bit(cut),
                Condition::Left(cut) => 1 - bit(cut),
                Condition::Between(above, below) => bit(above) - bit(below),
            };
            let mut reached = Vec::new();
            for block in &circuit.blocks {
                assert!(block.norm_squared() <= 25.0, "the norm that 2-2-p128 takes");
                let conditions: Vec<i64> = block.conditions.iter().map(held).collect();
                assert!(conditions.iter().all(|bit| (0..=1).contains(bit)));
                let (width, wanted) =
                    (i64::try_from(block.outcomes()).unwrap(), i64::try_from(conditions.len()).unwrap());
                let outcome: i64 = block.terms.iter().map(|&(cut, weight)| i64::from(weight) * bit(cut)).sum();
                let message = width * (conditions.iter().sum::<i64>() - wanted) + outcome;
                assert!((-(16 - width)..width).contains(&message));
                reached.extend(usize::try_from(message).ok().map(|outcome| block.leaves[outcome]));
            }
            let wanted: Vec<usize> = forest.trees.iter().map(|tree| super::skeleton::leaf(tree, &bits)).collect();
            assert_eq!(reached, wanted);
        }
    }
}

/// What the shipped forest costs, as the README has it.
#[test]
fn costs_of_the_shipped_forest() {
    let forest = Forest::new(&shipped(), &Grid::Thresholds, 4).unwrap();
    let circuit = Circuit::new(&forest, &usual()).unwrap();
    let leaves = forest.trees.iter().flatten().filter(|node| matches!(node, Node::Leaf(_))).count();
    assert_eq!((circuit.mode, circuit.counts), (Mode::Values, [135, 135, leaves]));
    let l = usual().literal().clone();
    assert!(noise::log2_misread(&l, circuit.norm_squared()) <= l.log2_failure);
    // A whole tree of depth 5 takes a bootstrapping for each pair of leaves.
    let cut = |feature| Cut { feature, at: 0.5, closed: true, missing: None };
    let nodes = (0..63).map(|at| match at {
        0..31 => FloatNode::Split { cut: cut(at), left: 2 * at + 1, right: 2 * at + 2 },
        _ => FloatNode::Leaf(vec![(at % 16) as f64]),
    });
    let whole = Ensemble {
        features: 31,
        single: false,
        text_labels: false,
        task: Task::Numbers(1),
        trees: vec![FloatTree(nodes.collect())],
        base: vec![0.0],
    };
    let circuit = Circuit::new(&Forest::new(&whole, &Grid::Thresholds, 4).unwrap(), &usual()).unwrap();
    assert_eq!(circuit.counts, [16, 16, 32]);
}

#[test]
fn quantized_classes_are_those_of_the_trained_forest() {
    let (ensemble, set) = (shipped(), breast_cancer());
    let forest = Forest::new(&ensemble, &Grid::Thresholds, 4).unwrap();
    let (mut same, mut right) = (0, 0);
    for (row, label) in (400..569).map(|at| (set.row(at), set.labels[at])) {
        let class = forest.skeleton.class(&forest.skeleton.scores(&forest.sums(&forest.skeleton.bits(row))));
        same += usize::from(class == ensemble.class(&ensemble.scores(row)));
        right += usize::from((class == 1) == label);
    }
    assert!(same >= 168 && right >= 160, "{same} as trained, {right} right, of 169");
}

#[test]
fn what_parameters_have_no_room_for_is_refused() {
    let says = |depth: usize, params: &TfheParams, wanted: &str| {
        let nodes = (0..=2 * depth).map(|at| match at % 2 {
            0 if at < 2 * depth => {
                let cut = Cut { feature: at / 2, at: 0.5, closed: true, missing: None };
                FloatNode::Split { cut, left: at + 1, right: at + 2 }
            }
            _ => FloatNode::Leaf(vec![at as f64]),
        });
        let trees = vec![FloatTree(nodes.collect())];
        let long = Ensemble {
            features: 40,
            single: false,
            text_labels: false,
            task: Task::Numbers(1),
            trees,
            base: vec![0.0],
        };
        let forest = Forest::new(&long, &Grid::Thresholds, 4).unwrap();
        let got = Inference::new(params, forest, 1).map(drop).map_err(|e| e.to_string());
        match wanted {
            "" => assert_eq!(got, Ok(()), "{depth}"),
            _ => assert!(got.clone().unwrap_err().contains(wanted), "{got:?} should say {wanted:?}"),
        }
    };
    says(15, &usual(), "");
    says(17, &usual(), "a path of 16 conditions");
    says(2, &TfheParams::new(&preset("strix-I").unwrap()).unwrap(), "take 1 message bits");
    let forest = Forest::new(&shipped(), &Grid::Thresholds, 4).unwrap();
    assert!(Inference::new(&usual(), forest, 65).unwrap_err().to_string().contains("1 to 64"));
}

/// A message with one operator of these lists.
struct File {
    operator: &'static str,
    ints: Vec<(&'static str, Vec<i64>)>,
    floats: Vec<(&'static str, Vec<f32>)>,
    modes: Vec<&'static str>,
}

/// Two leaves below a root.
fn stump() -> File {
    File {
        operator: "TreeEnsembleRegressor",
        ints: vec![
            ("nodes_treeids", vec![0; 3]),
            ("nodes_nodeids", vec![0, 1, 2]),
            ("nodes_featureids", vec![1, 0, 0]),
            ("nodes_truenodeids", vec![1, 0, 0]),
            ("nodes_falsenodeids", vec![2, 0, 0]),
            ("target_treeids", vec![0; 2]),
            ("target_nodeids", vec![1, 2]),
            ("target_ids", vec![0; 2]),
        ],
        floats: vec![("nodes_values", vec![1.5, 0.0, 0.0]), ("target_weights", vec![2.0, -3.0])],
        modes: vec!["BRANCH_LEQ", "LEAF", "LEAF"],
    }
}

impl File {
    fn read(&self) -> Result<Ensemble, String> {
        let named = |name: &str| Attribute { name: name.into(), ..Attribute::default() };
        let strings = self.modes.iter().map(|mode| mode.as_bytes().to_vec()).collect();
        let mut attributes = vec![Attribute { strings, ..named("nodes_modes") }];
        attributes.extend(self.ints.iter().map(|(name, ints)| Attribute { ints: ints.clone(), ..named(name) }));
        attributes.extend(self.floats.iter().map(|(name, floats)| Attribute { floats: floats.clone(), ..named(name) }));
        let node = Operator { name: "trees".into(), operator: self.operator.into(), attributes, ..Operator::default() };
        let graph = Graph { nodes: vec![node], ..Graph::default() };
        let bytes = Model { graph: Some(graph), ..Model::default() }.encode_to_vec();
        Ensemble::parse(&bytes, "f.onnx").map_err(|e| e.to_string())
    }

    fn with(mut self, list: &str, at: usize, value: i64) -> Self {
        let own = self.ints.iter_mut().find(|(name, _)| *name == list).unwrap();
        own.1[at] = value;
        self
    }
}

#[test]
fn every_comparison_is_read() {
    for (mode, at_threshold, below) in
        [("BRANCH_LEQ", 2.0, 2.0), ("BRANCH_LT", -3.0, 2.0), ("BRANCH_GT", -3.0, -3.0), ("BRANCH_GTE", 2.0, -3.0)]
    {
        let mut file = File { modes: vec![mode, "LEAF", "LEAF"], ..stump() };
        let ensemble = file.read().unwrap();
        let forest = Forest::new(&ensemble, &Grid::Thresholds, 4).unwrap();
        // No comparison holds of what is missing, unless it is marked so.
        assert_eq!(ensemble.scores(&[9.0, f64::NAN]), [-3.0], "{mode}");
        file.ints.push(("nodes_missing_value_tracks_true", vec![1, 0, 0]));
        assert_eq!(file.read().unwrap().scores(&[9.0, f64::NAN]), [2.0], "{mode}");
        for (x, wanted) in [(1.5, at_threshold), (1.25, below)] {
            let row = [9.0, x];
            assert_eq!(ensemble.scores(&row), [wanted], "{mode} at {x}");
            assert_eq!(forest.skeleton.scores(&forest.sums(&forest.skeleton.bits(&row))), [wanted], "{mode} at {x}");
        }
    }
}

#[test]
fn files_that_are_no_forests_are_refused() {
    let says = |file: File, wanted: &str| {
        let got = file.read().unwrap_err();
        assert!(got.starts_with("f.onnx: node trees: ") && got.contains(wanted), "{got:?} should say {wanted:?}");
        assert!(!got.contains('\n'));
    };
    let floats = |name: &'static str, at: usize, value: f32| {
        let mut file = stump();
        file.floats.iter_mut().find(|(own, _)| *own == name).unwrap().1[at] = value;
        file
    };
    says(stump().with("nodes_truenodeids", 0, 7), "node 0: a missing child 7 in tree 0");
    says(stump().with("nodes_truenodeids", 0, 2), "node 2 below two others in tree 0");
    says(stump().with("nodes_truenodeids", 0, 0), "a cycle: 2 nodes that the root does not reach");
    says(File { modes: vec!["LEAF"; 3], ..stump() }, "two nodes without a parent");
    let mut circle = stump().with("nodes_truenodeids", 0, 0).with("nodes_falsenodeids", 0, 1);
    circle.ints.iter_mut().for_each(|(_, list)| list.truncate(list.len() - 1));
    circle.floats.iter_mut().for_each(|(_, list)| list.truncate(list.len() - 1));
    circle.modes.pop();
    says(circle, "a cycle: no node without a parent");
    says(stump().with("nodes_nodeids", 1, 2), "node 2 twice in tree 0");
    says(stump().with("nodes_featureids", 0, -1), "feature -1 at node 0 of tree 0");
    says(stump().with("nodes_featureids", 0, 1 << 40), "feature 1099511627776 at node 0");
    says(stump().with("target_ids", 1, 1), "1 as entry 1 of target_ids");
    says(stump().with("target_nodeids", 1, 0), "values for node 0 of tree 0");
    says(floats("nodes_values", 0, f32::NAN), "NaN at node 0 of tree 0");
    says(floats("target_weights", 1, f32::INFINITY), "inf as entry 1 of target_weights");
    for mode in ["BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", ""] {
        says(File { modes: vec![mode, "LEAF", "LEAF"], ..stump() }, "in nodes_modes");
    }
    says(File { modes: vec!["BRANCH_LEQ", "LEAF"], ..stump() }, "2 entries of nodes_modes; wanted 3");
    let mut marks = stump();
    marks.ints.push(("nodes_missing_value_tracks_true", vec![1]));
    says(marks, "1 entries of nodes_missing_value_tracks_true; wanted 3");
    says(File { operator: "TreeEnsemble", ..stump() }, "the operator TreeEnsemble");
    says(File { operator: "TreeEnsembleClassifier", ..stump() }, "0 labels in classlabels");
    let mut short = stump();
    short.ints[2].1.pop();
    says(short, "2 entries of nodes_featureids; wanted 3");
    // Two nodes beside a whole tree, each the other's child twice.
    let mut cycle = stump();
    for (name, more) in [("nodes_treeids", [0, 0]), ("nodes_nodeids", [3, 4]), ("nodes_featureids", [0, 0])] {
        cycle.ints.iter_mut().find(|(own, _)| *own == name).unwrap().1.extend(more);
    }
    for name in ["nodes_truenodeids", "nodes_falsenodeids"] {
        cycle.ints.iter_mut().find(|(own, _)| *own == name).unwrap().1.extend([4, 3]);
    }
    cycle.floats[0].1.extend([0.0, 0.0]);
    cycle.modes.extend(["BRANCH_LEQ", "BRANCH_LEQ"]);
    says(cycle, "below two others");
    let got = Ensemble::parse(b"\xff\xff", "f.onnx").unwrap_err().to_string();
    assert!(got.contains("wanted an ONNX file with a tree ensemble"), "{got}");
}

/// One row of the shipped forest at 128 bits and 2^−128.
#[test]
#[ignore = "135 bootstrappings at full size: some seconds of both cores"]
fn a_row_at_full_size() {
    let forest = Forest::new(&shipped(), &Grid::Thresholds, 4).unwrap();
    let program = Inference::new(&usual(), forest, 1).unwrap();
    let client = ForestClient::new(&program, rows(400, 1), vec![0.0], Some(shipped())).unwrap();
    let (_, details) = checked(&program, &client);
    assert_eq!(details["same_class_as_floats"], 1);
    assert_eq!(details["classes"][0], usize::from(breast_cancer().labels[400]));
}
