//! Recurrent layers beside ONNX's definitions, written out.

use crate::network::import::tests::{Writer, int, ints};
use crate::onnx::{Attribute, Node};

const STEPS: usize = 3;
const BATCH: usize = 2;
const INPUTS: usize = 2;
const HIDDEN: usize = 2;

/// Numbers without a pattern.
fn numbers(count: usize, seed: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 1.7 + seed).sin() * 0.8).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A layer of one direction as ONNX defines it.
struct Defined<'a> {
    operator: &'a str,
    weights: &'a [f32],
    state_weights: &'a [f32],
    biases: &'a [f32],
    peepholes: &'a [f32],
    resets_after: bool,
    is_coupled: bool,
    /// Activations of gates and of values.
    f: fn(f64) -> f64,
    g: fn(f64) -> f64,
}

impl Defined<'_> {
    /// Row by row, what weights make of numbers.
    fn product(weights: &[f32], x: &[f64], row: usize) -> f64 {
        weights[row * x.len()..].iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum()
    }

    fn gate(&self, gate: usize, at: usize, x: &[f64], h: &[f64]) -> f64 {
        let (row, all) = (gate * HIDDEN + at, self.biases.len() / 2);
        let biases = f64::from(self.biases[row]) + f64::from(self.biases[all + row]);
        Self::product(self.weights, x, row) + Self::product(self.state_weights, h, row) + biases
    }

    fn peep(&self, gate: usize, at: usize, c: f64) -> f64 {
        self.peepholes.get(gate * HIDDEN + at).map_or(0.0, |&w| f64::from(w) * c)
    }

    /// The state after a step, and the cell.
    fn step(&self, x: &[f64], h: &[f64], c: &[f64]) -> [Vec<f64>; 2] {
        let z = |gate: usize, at: usize| self.gate(gate, at, x, h);
        let mut state = [vec![0.0; HIDDEN], vec![0.0; HIDDEN]];
        for at in 0..HIDDEN {
            match self.operator {
                "RNN" => state[0][at] = (self.g)(z(0, at)),
                "GRU" => {
                    let row = 2 * HIDDEN + at;
                    let reset: Vec<f64> = (0..HIDDEN).map(|k| (self.f)(z(1, k)) * h[k]).collect();
                    let of_state = f64::from(self.biases[3 * HIDDEN + row]);
                    let new = Self::product(self.weights, x, row) + f64::from(self.biases[row]);
                    let new = match self.resets_after {
                        true => new + (self.f)(z(1, at)) * (Self::product(self.state_weights, h, row) + of_state),
                        false => new + Self::product(self.state_weights, &reset, row) + of_state,
                    };
                    let update = (self.f)(z(0, at));
                    state[0][at] = (1.0 - update) * (self.g)(new) + update * h[at];
                }
                _ => {
                    let input = (self.f)(z(0, at) + self.peep(0, at, c[at]));
                    let forget = match self.is_coupled {
                        true => 1.0 - input,
                        false => (self.f)(z(2, at) + self.peep(2, at, c[at])),
                    };
                    let cell = forget * c[at] + input * (self.g)(z(3, at));
                    let output = (self.f)(z(1, at) + self.peep(1, at, cell));
                    (state[0][at], state[1][at]) = (output * cell.tanh(), cell);
                }
            }
        }
        state
    }

    /// States after all steps, samples of each step behind another, with those of the cell after the last step.
    fn run(&self, x: &[f64], begin: [&[f32]; 2], reversed: bool) -> [Vec<f64>; 2] {
        let mut all = vec![0.0; STEPS * BATCH * HIDDEN];
        let mut cells = Vec::new();
        for sample in 0..BATCH {
            let first = |of: &[f32]| -> Vec<f64> {
                (0..HIDDEN).map(|k| of.get(sample * HIDDEN + k).map_or(0.0, |&x| x.into())).collect()
            };
            let mut state = begin.map(first);
            for step in 0..STEPS {
                let at = if reversed { STEPS - 1 - step } else { step };
                let from = (at * BATCH + sample) * INPUTS;
                state = self.step(&x[from..from + INPUTS], &state[0], &state[1]);
                let to = (at * BATCH + sample) * HIDDEN;
                all[to..to + HIDDEN].copy_from_slice(&state[0]);
            }
            cells.extend(state[1].clone());
        }
        [all, cells]
    }
}

/// A graph of one recurrent layer of one direction; output `y` is the first or the last of its results.
fn graph(of: &Defined<'_>, first_state: [&[f32]; 2], attributes: Vec<Attribute>, results: &[&str]) -> Writer {
    let gates = i64::try_from(of.weights.len() / (HIDDEN * INPUTS)).unwrap();
    let (hidden, batch) = (HIDDEN as i64, BATCH as i64);
    let mut graph = Writer::new(&[STEPS as i64, batch, INPUTS as i64])
        .floats("w", &[1, gates * hidden, INPUTS as i64], of.weights)
        .floats("r", &[1, gates * hidden, hidden], of.state_weights)
        .floats("b", &[1, 2 * gates * hidden], of.biases);
    let mut inputs = vec!["x", "w", "r", "b", ""];
    for (name, state) in ["h", "c"].into_iter().zip(first_state) {
        inputs.push(if state.is_empty() { "" } else { name });
        if !state.is_empty() {
            graph = graph.floats(name, &[1, batch, hidden], state);
        }
    }
    if !of.peepholes.is_empty() {
        graph = graph.floats("p", &[1, 3 * hidden], of.peepholes);
        inputs.push("p");
    }
    graph.0.nodes.push(Node {
        name: "cell".into(),
        inputs: inputs.into_iter().map(String::from).collect(),
        outputs: results.iter().map(|&name| name.into()).collect(),
        operator: of.operator.into(),
        attributes,
        ..Node::default()
    });
    graph
}

fn names(all: &[&str]) -> Attribute {
    let strings = all.iter().map(|name| name.as_bytes().to_vec()).collect();
    Attribute { name: "activations".into(), strings, ..Attribute::default() }
}

fn text(name: &str, text: &str) -> Attribute {
    Attribute { name: name.into(), text: text.into(), ..Attribute::default() }
}

#[test]
fn layers_are_what_onnx_defines() {
    let x: Vec<f64> = numbers(STEPS * BATCH * INPUTS, 0.3).into_iter().map(f64::from).collect();
    let (first, cell) = (numbers(BATCH * HIDDEN, 5.0), numbers(BATCH * HIDDEN, 6.0));
    for (operator, gates) in [("RNN", 1), ("GRU", 3), ("LSTM", 4)] {
        let (weights, state_weights) = (numbers(gates * 4, 1.0), numbers(gates * 4, 2.0));
        let (biases, peepholes) = (numbers(gates * 4, 3.0), numbers(6, 4.0));
        for variant in 0..32 {
            let [reversed, begun, other, peeps, turned] = [1, 2, 4, 8, 16].map(|bit| variant & bit != 0);
            if (other && operator == "RNN") || ((peeps || turned) && operator != "LSTM") {
                continue;
            }
            let defined = Defined {
                operator,
                weights: &weights,
                state_weights: &state_weights,
                biases: &biases,
                peepholes: if peeps { &peepholes } else { &[] },
                resets_after: other,
                is_coupled: other,
                f: if turned { f64::tanh } else { sigmoid },
                g: if turned { sigmoid } else { f64::tanh },
            };
            let begin: [&[f32]; 2] = match (begun, operator) {
                (false, _) => [&[], &[]],
                (true, "LSTM") => [&first, &cell],
                (true, _) => [&first, &[]],
            };
            let attributes = || {
                let direction = if reversed { "reverse" } else { "forward" };
                let mut all = vec![int("hidden_size", HIDDEN as i64), text("direction", direction)];
                if turned {
                    all.push(names(&["Tanh", "Sigmoid", "Tanh"]));
                }
                match operator {
                    "GRU" => all.push(int("linear_before_reset", other.into())),
                    "LSTM" => all.push(int("input_forget", other.into())),
                    _ => {}
                }
                all
            };
            let [states, cells] = defined.run(&x, begin, reversed);
            let check = |results: &[&str], wanted: &[f64]| {
                let network = graph(&defined, begin, attributes(), results).read().unwrap();
                let got = network.outputs(&network.exact(&x));
                assert_eq!(got.len(), wanted.len());
                let off = got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-6, "{operator}, variant {variant}: {got:?}, wanted {wanted:?}");
            };
            check(&["y"], &states);
            let last = if reversed { 0 } else { (STEPS - 1) * BATCH * HIDDEN };
            check(&["", "y"], &states[last..last + BATCH * HIDDEN]);
            if operator == "LSTM" {
                check(&["", "", "y"], &cells);
            }
        }
    }
}

/// What cannot be meant is refused by name.
#[test]
fn layers_that_mean_something_else_are_refused() {
    let (weights, biases) = (numbers(4, 1.0), numbers(4, 3.0));
    let defined = |weights| Defined {
        operator: "RNN",
        weights,
        state_weights: &weights[..4],
        biases: &biases,
        peepholes: &[],
        resets_after: false,
        is_coupled: false,
        f: sigmoid,
        g: f64::tanh,
    };
    let of = |attributes: Vec<Attribute>| graph(&defined(&weights), [&[], &[]], attributes, &["y"]);
    for (attributes, wanted) in [
        (vec![text("direction", "up")], "the direction up; wanted forward, reverse or bidirectional"),
        (vec![int("hidden_size", 3)], "weights of inputs of [1, 2, 2]; wanted [1, 3, 2]"),
        (vec![int("hidden_size", -1)], "a state of 0 numbers, and weights of [1, 2, 2]; wanted a state of 1 to 65536"),
        (vec![int("hidden_size", i64::MAX)], "wanted a state of 1 to 65536"),
        (vec![names(&["Tanh", "Relu"])], "2 activations; wanted 1"),
        (vec![names(&["Cosh"])], "the activation Cosh; wanted Tanh, Sigmoid"),
        (vec![text("direction", "bidirectional")], "weights of inputs of [1, 2, 2]; wanted [2, 2, 2]"),
    ] {
        let got = of(attributes).refused();
        assert!(got.starts_with("layer cell (RNN): ") && got.contains(wanted), "{got}");
    }
    let mut short = of(vec![]).whole("lengths", &[3, 2]);
    short.0.nodes[0].inputs[4] = "lengths".into();
    assert!(short.refused().contains("sequences of [3, 2] steps among 3"));
    let mut encrypted = of(vec![]);
    encrypted.0.nodes[0].inputs[2] = "x".into();
    assert!(encrypted.refused().contains("weights of the state that are encrypted; wanted constants"));
    let mut flat = Writer::new(&[1, 3]).node("RNN", &["x", "w", "r"], "y", vec![ints("none", &[])]);
    flat = flat.floats("w", &[1, 2, 2], &weights).floats("r", &[1, 2, 2], &weights);
    assert!(flat.refused().contains("a sequence of [1, 3]; wanted steps × samples × numbers"));
    let long = Writer::new(&[2000, 1, 2]).floats("w", &[1, 2, 2], &weights).floats("r", &[1, 2, 2], &weights).node(
        "RNN",
        &["x", "w", "r"],
        "y",
        vec![],
    );
    assert!(long.refused().contains("2000 steps; wanted at most 1024"));
    let wide = Writer::new(&[1, 1 << 20, 1])
        .floats("w", &[1, 64, 1], &numbers(64, 1.0))
        .floats("r", &[1, 64, 64], &numbers(4096, 2.0))
        .node("RNN", &["x", "w", "r"], "y", vec![]);
    assert!(wide.refused().contains("a tensor of [1048576, 64]; wanted 1 to 2^24 elements"));
}

/// A server that knows the skeleton does not learn which weights are zero.
#[test]
fn zeros_among_weights_change_no_skeleton() {
    for (operator, gates, peeps) in [("RNN", 1, 0), ("GRU", 3, 0), ("LSTM", 4, 6)] {
        let skeleton = |factor: f32| {
            let scaled = |count, seed| numbers(count, seed).iter().map(|w| w * factor).collect::<Vec<_>>();
            let (weights, state_weights) = (scaled(gates * 4, 1.0), scaled(gates * 4, 2.0));
            let (biases, peepholes) = (scaled(gates * 4, 3.0), scaled(peeps, 4.0));
            let defined = Defined {
                operator,
                weights: &weights,
                state_weights: &state_weights,
                biases: &biases,
                peepholes: &peepholes,
                resets_after: true,
                is_coupled: false,
                f: sigmoid,
                g: f64::tanh,
            };
            let attributes = if operator == "GRU" { vec![int("linear_before_reset", 1)] } else { vec![] };
            graph(&defined, [&[], &[]], attributes, &["y"]).read().unwrap().skeleton.clone()
        };
        assert_eq!(format!("{:?}", skeleton(0.0)), format!("{:?}", skeleton(1.0)), "{operator}");
    }
}
