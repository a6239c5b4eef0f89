//! Recurrent layers: RNN, GRU and LSTM. Each step of the sequence is a layer of its own, with the weights of all.
//!
//! Gates of one activation are one value, so that they are one polynomial and are bootstrapped once. A hyperbolic tangent joins
//! the sigmoids where there are some, by tanh(x) = 2·sigmoid(2x) − 1: the factors go into the maps before and behind.

use super::{
    Taken,
    builder::{Builder, Tensor},
    operators::{Attributes, integers, needed},
    pointwise::{self, function, joined, subtracted},
    refuse,
    shapes::{beside, picked, transposed},
};
use crate::network::{
    function::{Expression, Joined, Named},
    linear::Linear,
};

/// Longest sequence: each step makes about ten values.
const MOST_STEPS: usize = 1024;

/// Which layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rnn,
    Gru,
    Lstm,
}

/// Gates in the order of ONNX.
const INPUT: usize = 0;
const OUTPUT: usize = 1;
const FORGET: usize = 2;
const CELL: usize = 3;
const UPDATE: usize = 0;
const RESET: usize = 1;
const HIDDEN: usize = 2;

impl Kind {
    fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }

    /// Activations of a direction where none are named.
    fn usual(self) -> &'static [&'static str] {
        match self {
            Self::Rnn => &["Tanh"],
            Self::Gru => &["Sigmoid", "Tanh"],
            Self::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// Sides of a layer.
#[derive(Clone, Copy)]
struct Sides {
    steps: usize,
    batch: usize,
    inputs: usize,
    hidden: usize,
    directions: usize,
}

/// What all steps of a direction share.
struct Cell<'a> {
    kind: Kind,
    sides: Sides,
    /// Weights of inputs and of the state, rows of all gates one behind another.
    weights: [&'a [f64]; 2],
    /// Constants of the same rows.
    biases: [Vec<f64>; 2],
    /// Weights of an LSTM's cell in its gates: input, output, forget.
    peepholes: Option<&'a [f64]>,
    activations: Vec<Expression>,
    /// A GRU whose reset gate works on what its weights made of the state.
    resets_after: bool,
    /// An LSTM that forgets as much as it takes in.
    is_coupled: bool,
}

/// The state between steps.
struct State {
    hidden: Tensor,
    cell: Option<Tensor>,
}

/// A gate as it is evaluated: its rows, its function, and a factor before it with a factor and a constant behind it.
#[derive(Clone)]
struct Gate {
    rows: usize,
    expression: Expression,
    before: f64,
    behind: Option<[f64; 2]>,
}

/// Weights of some gates, which all steps read.
struct Group {
    gates: Vec<(usize, Gate)>,
    expression: Expression,
    /// Places of the weights of inputs and of the state.
    weights: [usize; 2],
    bias: Vec<f64>,
}

/// The outputs of a recurrent layer: the state after each step, the last one, and that of an LSTM's cell.
pub(super) fn recurrent(
    b: &mut Builder,
    attributes: Attributes<'_>,
    inputs: &[Option<Tensor>],
    kind: Kind,
) -> Taken<Vec<Tensor>> {
    let batch_first = attributes.int("layout", 0) != 0;
    let x = needed(inputs, 0)?;
    if x.shape.len() != 3 {
        return refuse(format!("a sequence of {:?}", x.shape), "steps × samples × numbers");
    }
    // A value of its own, which is bootstrapped once: all steps want it at their level.
    let x = b.shared(x.clone())?;
    let x = if batch_first { transposed(b, &x, &[1, 0, 2])? } else { x };
    let sides = sides(attributes, &x, needed(inputs, 1)?, kind)?;
    let all = sides.directions;
    let rows = kind.gates() * sides.hidden;
    let weights = constants(inputs, 1, "weights of inputs", &[all, rows, sides.inputs])?;
    let state_weights = constants(inputs, 2, "weights of the state", &[all, rows, sides.hidden])?;
    let (Some(weights), Some(state_weights)) = (weights, state_weights) else {
        return refuse("no weights", "those of inputs and of the state");
    };
    let biases = constants(inputs, 3, "biases", &[all, 2 * rows])?;
    let of_cell = kind == Kind::Lstm;
    let peepholes = if of_cell { constants(inputs, 7, "peepholes", &[all, 3 * sides.hidden])? } else { None };
    same_lengths(inputs, sides)?;
    let begun = [5, 6].map(|at| inputs.get(at).and_then(Option::as_ref));
    let names = activations(attributes, kind, all)?;
    let mut found = Vec::new();
    for direction in 0..all {
        let part = |of: &'_ [f64]| of.len() / all * direction..of.len() / all * (direction + 1);
        let own = |of: Option<&Vec<f64>>| of.map_or_else(|| vec![0.0; 2 * rows], |of| of[part(of)].to_vec());
        let mut bias = own(biases);
        let of_state = bias.split_off(rows);
        let per = names.len() / all;
        let cell = Cell {
            kind,
            sides,
            weights: [&weights[part(weights)], &state_weights[part(state_weights)]],
            biases: [bias, of_state],
            peepholes: peepholes.map(|of| &of[part(of)]).filter(|of| of.iter().any(|&w| w != 0.0)),
            activations: names[direction * per..(direction + 1) * per].to_vec(),
            resets_after: attributes.int("linear_before_reset", 0) != 0,
            is_coupled: attributes.int("input_forget", 0) != 0,
        };
        let state = |b: &mut Builder, at: usize| begin(b, begun[at], (sides, batch_first), direction);
        let hidden = state(b, 0)?;
        let state = State { hidden, cell: if of_cell { Some(state(b, 1)?) } else { None } };
        let reversed = direction == 1 || attributes.text("direction") == "reverse";
        found.push(cell.run(b, &x, state, reversed)?);
    }
    outputs(b, &found, sides, batch_first)
}

/// The sides of a layer, by its sequence, the weights of its inputs and its attributes.
fn sides(attributes: Attributes<'_>, x: &Tensor, weights: &Tensor, kind: Kind) -> Taken<Sides> {
    let directions = match attributes.text("direction") {
        "" | "forward" | "reverse" => 1,
        "bidirectional" => 2,
        other => return refuse(format!("the direction {other}"), "forward, reverse or bidirectional"),
    };
    let rows = weights.shape.get(1).copied().unwrap_or(0);
    let told = attributes.0.attribute("hidden_size").map(|a| usize::try_from(a.int).unwrap_or(0));
    let hidden = told.unwrap_or(rows / kind.gates());
    if hidden == 0 {
        return refuse(format!("weights of {:?}", weights.shape), "a state of one number at least");
    }
    let (steps, batch, inputs) = (x.shape[0], x.shape[1], x.shape[2]);
    if steps > MOST_STEPS {
        return refuse(format!("{steps} steps"), format!("at most {MOST_STEPS}: each is a layer of its own"));
    }
    Ok(Sides { steps, batch, inputs, hidden, directions })
}

/// The numbers of a constant input of a shape; `None` where it is left out.
fn constants<'i>(inputs: &'i [Option<Tensor>], at: usize, what: &str, shape: &[usize]) -> Taken<Option<&'i Vec<f64>>> {
    let Some(Some(tensor)) = inputs.get(at) else { return Ok(None) };
    match tensor.numbers() {
        Some(numbers) if tensor.shape == shape => Ok(Some(numbers)),
        Some(_) => refuse(format!("{what} of {:?}", tensor.shape), format!("{shape:?}")),
        None => refuse(format!("{what} that are encrypted"), "constants"),
    }
}

/// Refuses samples whose sequences end before the others.
fn same_lengths(inputs: &[Option<Tensor>], sides: Sides) -> Taken<()> {
    match integers(inputs, 4)? {
        Some(lengths) if lengths.iter().any(|&length| usize::try_from(length) != Ok(sides.steps)) => refuse(
            format!("sequences of {lengths:?} steps among {}", sides.steps),
            "sequences of one length: cut or fill them up before",
        ),
        _ => Ok(()),
    }
}

/// The state of a direction before its first step.
fn begin(
    b: &mut Builder,
    given: Option<&Tensor>,
    (sides, batch_first): (Sides, bool),
    direction: usize,
) -> Taken<Tensor> {
    let shape = vec![sides.batch, sides.hidden];
    let Some(tensor) = given else { return Ok(Tensor::constant(shape.clone(), vec![0.0; shape.iter().product()])) };
    let (wanted, at) = match batch_first {
        true => ([sides.batch, sides.directions, sides.hidden], 1),
        false => ([sides.directions, sides.batch, sides.hidden], 0),
    };
    if tensor.shape != wanted {
        return refuse(format!("a first state of {:?}", tensor.shape), format!("{wanted:?}"));
    }
    Ok(picked(b, tensor, at, vec![direction])?.reshaped(shape))
}

/// The activations of all directions.
fn activations(attributes: Attributes<'_>, kind: Kind, directions: usize) -> Taken<Vec<Expression>> {
    let own: Option<Vec<String>> = attributes.texts("activations");
    let names = own.unwrap_or_else(|| kind.usual().repeat(directions).into_iter().map(String::from).collect());
    let wanted = kind.usual().len() * directions;
    if names.len() != wanted {
        return refuse(format!("{} activations", names.len()), format!("{wanted}"));
    }
    // Lists of numbers are for those activations that take one, in their order.
    let mut lists = ["activation_alpha", "activation_beta"].map(|name| attributes.floats(name).iter());
    let clip = attributes.0.attribute("clip").map(|a| f64::from(a.float));
    let mut activation = |name: &String| {
        let [alphas, betas] = &mut lists;
        let number = |list: &mut std::slice::Iter<'_, f32>, usual: f64| list.next().map_or(usual, |&x| f64::from(x));
        let x = || Expression::X;
        let by_alpha = |x: Expression, factor: f64| x.by(Joined::Mul, factor);
        let made = match name.to_lowercase().as_str() {
            "relu" => x().of(Named::Relu),
            "tanh" => x().of(Named::Tanh),
            "sigmoid" => x().of(Named::Sigmoid),
            "softsign" => x().of(Named::Softsign),
            "softplus" => x().of(Named::Softplus),
            "affine" => by_alpha(x(), number(alphas, 1.0)).by(Joined::Add, number(betas, 0.0)),
            "scaledtanh" => {
                let outer = number(alphas, 1.0);
                by_alpha(by_alpha(x(), number(betas, 1.0)).of(Named::Tanh), outer)
            }
            "hardsigmoid" => pointwise::hard_sigmoid(number(alphas, 0.2), number(betas, 0.5)),
            "leakyrelu" => pointwise::leaky(number(alphas, 0.01)),
            "elu" => pointwise::elu(number(alphas, 1.0)),
            _ => {
                return refuse(
                    format!("the activation {name}"),
                    "Tanh, Sigmoid, Relu, LeakyRelu, HardSigmoid, Elu, Softsign, Softplus, Affine or ScaledTanh",
                );
            }
        };
        Ok(match clip {
            Some(clip) => made.after(&pointwise::clamped(Expression::X, -clip, clip)),
            None => made,
        })
    };
    names.iter().map(&mut activation).collect()
}

impl Cell<'_> {
    /// The state after each step, in the order of the sequence, and that after the last.
    fn run(&self, b: &mut Builder, x: &Tensor, mut state: State, reversed: bool) -> Taken<(Vec<Tensor>, State)> {
        let layer = b.layer.clone();
        let groups = self.groups(b);
        let mut made: Vec<Tensor> = Vec::with_capacity(self.sides.steps);
        for step in 0..self.sides.steps {
            let at = if reversed { self.sides.steps - 1 - step } else { step };
            b.layer = format!("{layer} (step {})", at + 1);
            let x = picked(b, x, 0, vec![at])?.reshaped(vec![self.sides.batch, self.sides.inputs]);
            state = match self.kind {
                Kind::Rnn => self.simple(b, &groups, &x, &state)?,
                Kind::Gru => self.gated(b, &groups, &x, &state)?,
                Kind::Lstm => self.remembering(b, &groups, &x, &state)?,
            };
            made.push(state.hidden.clone());
        }
        if reversed {
            made.reverse();
        }
        b.layer = layer;
        Ok((made, state))
    }

    /// The gates that are evaluated together, in the order in which a step does.
    fn groups(&self, b: &mut Builder) -> Vec<Group> {
        let activation = |at: usize| self.activations[at].clone();
        let gate = |rows, at| (rows, activation(at));
        let lists = match self.kind {
            Kind::Rnn => vec![vec![gate(0, 0)]],
            // The state passes a gate before the last weights see it.
            Kind::Gru => vec![vec![gate(UPDATE, 0), gate(RESET, 0)], vec![gate(HIDDEN, 1)]],
            Kind::Lstm => {
                let forget = if self.is_coupled { vec![] } else { vec![gate(FORGET, 0)] };
                let first = [vec![gate(INPUT, 0), gate(CELL, 1)], forget].concat();
                // A peephole of the output gate looks at what the cell became.
                match self.peepholes {
                    Some(_) => vec![first, vec![gate(OUTPUT, 0)]],
                    None => vec![[first, vec![gate(OUTPUT, 0)]].concat()],
                }
            }
        };
        lists.into_iter().flat_map(|list| self.grouped(list)).map(|gates| self.group(b, gates)).collect()
    }

    /// Gates by their functions, a tangent among sigmoids.
    fn grouped(&self, list: Vec<(usize, Expression)>) -> Vec<Vec<(usize, Gate)>> {
        let sigmoid = Expression::X.of(Named::Sigmoid);
        let has_sigmoids = list.iter().any(|(_, expression)| *expression == sigmoid);
        let mut groups: Vec<Vec<(usize, Gate)>> = Vec::new();
        for (rows, expression) in list {
            let gate = match expression == Expression::X.of(Named::Tanh) && has_sigmoids {
                true => Gate { rows, expression: sigmoid.clone(), before: 2.0, behind: Some([2.0, -1.0]) },
                false => Gate { rows, expression, before: 1.0, behind: None },
            };
            match groups.iter_mut().find(|group| group[0].1.expression == gate.expression) {
                Some(group) => group.push((rows, gate)),
                None => groups.push(vec![(rows, gate)]),
            }
        }
        groups
    }

    fn group(&self, b: &mut Builder, gates: Vec<(usize, Gate)>) -> Group {
        let hidden = self.sides.hidden;
        let rows = |of: &[f64], width: usize| -> Vec<f64> {
            let mut all = Vec::with_capacity(gates.len() * hidden * width);
            for (_, gate) in &gates {
                let own = &of[gate.rows * hidden * width..(gate.rows + 1) * hidden * width];
                all.extend(own.iter().map(|w| w * gate.before));
            }
            all
        };
        let weights = [rows(self.weights[0], self.sides.inputs), rows(self.weights[1], hidden)];
        let weights = weights.map(|numbers| b.weight(numbers));
        // A reset gate works on the state's constants too.
        let apart = self.kind == Kind::Gru && self.resets_after && gates[0].0 == HIDDEN;
        let of_state = if apart { vec![0.0; gates.len() * hidden] } else { rows(&self.biases[1], 1) };
        let bias = rows(&self.biases[0], 1).iter().zip(of_state).map(|(a, c)| a + c).collect();
        let expression = gates[0].1.expression.clone();
        Group { gates, expression, weights, bias }
    }

    /// Rows of numbers for each sample.
    fn repeated(&self, row: &[f64]) -> Tensor {
        Tensor::constant(vec![self.sides.batch, row.len()], row.repeat(self.sides.batch))
    }

    /// Weights times a tensor: rows of each sample.
    fn dense(&self, b: &mut Builder, x: &Tensor, weights: usize, rows: usize) -> Taken<Tensor> {
        let (lead, columns) = (self.sides.batch, x.size() / self.sides.batch);
        let map = Linear::Dense { lead, rows, columns, trail: 1, transposed: false, weights };
        b.linear(x, map, vec![lead, rows])
    }

    /// What the weights of a group make of a state.
    fn of_state(&self, b: &mut Builder, group: &Group, state: &Tensor) -> Taken<Tensor> {
        self.dense(b, state, group.weights[1], group.bias.len())
    }

    /// What a group's functions see: what its weights make of inputs, its constants, and what else there is.
    fn seen(&self, b: &mut Builder, group: &Group, x: &Tensor, others: &[&Tensor]) -> Taken<Tensor> {
        let of_inputs = self.dense(b, x, group.weights[0], group.bias.len())?;
        let mut sum = joined(b, Joined::Add, &of_inputs, &self.repeated(&group.bias))?;
        for other in others {
            sum = joined(b, Joined::Add, &sum, other)?;
        }
        Ok(sum)
    }

    /// The gates of a group by what its functions see.
    fn opened(&self, b: &mut Builder, group: &Group, seen: &Tensor) -> Taken<Vec<(usize, Tensor)>> {
        let all = function(b, seen, &group.expression)?;
        let all = if group.gates.len() > 1 { b.shared(all)? } else { all };
        let mut found = Vec::new();
        for (at, (name, gate)) in group.gates.iter().enumerate() {
            let hidden = self.sides.hidden;
            let own = match group.gates.len() {
                1 => all.clone(),
                _ => picked(b, &all, 1, (at * hidden..(at + 1) * hidden).collect())?,
            };
            let own = match gate.behind {
                Some([factor, constant]) => {
                    let scaled = b.times(&own, factor)?;
                    joined(b, Joined::Add, &scaled, &Tensor::constant(vec![], vec![constant]))?
                }
                None => own,
            };
            found.push((*name, own));
        }
        Ok(found)
    }

    fn simple(&self, b: &mut Builder, groups: &[Group], x: &Tensor, state: &State) -> Taken<State> {
        let of_state = self.of_state(b, &groups[0], &state.hidden)?;
        let seen = self.seen(b, &groups[0], x, &[&of_state])?;
        let hidden = function(b, &seen, &groups[0].expression)?;
        Ok(State { hidden: b.shared(hidden)?, cell: None })
    }

    fn gated(&self, b: &mut Builder, groups: &[Group], x: &Tensor, state: &State) -> Taken<State> {
        let Some((last, first)) = groups.split_last() else { return refuse("no gates", "three") };
        let mut gates = Vec::new();
        for group in first {
            let of_state = self.of_state(b, group, &state.hidden)?;
            let seen = self.seen(b, group, x, &[&of_state])?;
            gates.extend(self.opened(b, group, &seen)?);
        }
        let update = b.shared(one_of(&gates, UPDATE)?)?;
        let reset = one_of(&gates, RESET)?;
        let of_state = if self.resets_after {
            let of_state = self.of_state(b, last, &state.hidden)?;
            let own = self.repeated(&self.biases[1][HIDDEN * self.sides.hidden..]);
            let of_state = joined(b, Joined::Add, &of_state, &own)?;
            product(b, &reset, &of_state)?
        } else {
            let kept = product(b, &reset, &state.hidden)?;
            self.of_state(b, last, &kept)?
        };
        let seen = self.seen(b, last, x, &[&of_state])?;
        let new = function(b, &seen, &last.expression)?;
        let new = b.shared(new)?;
        // (1 − z)·n + z·h = n + z·(h − n), one product.
        let difference = subtracted(b, &state.hidden, &new)?;
        let moved = product(b, &update, &difference)?;
        let hidden = joined(b, Joined::Add, &new, &moved)?;
        Ok(State { hidden: b.shared(hidden)?, cell: None })
    }

    fn remembering(&self, b: &mut Builder, groups: &[Group], x: &Tensor, state: &State) -> Taken<State> {
        let before = state.cell.as_ref().unwrap_or(&state.hidden);
        let mut gates: Vec<(usize, Tensor)> = Vec::new();
        let mut after = None;
        for group in groups {
            let looks_at = match group.gates.iter().any(|(gate, _)| *gate == OUTPUT) && self.peepholes.is_some() {
                true => after.insert(self.cell(b, &gates, before)?),
                false => before,
            };
            let of_state = self.of_state(b, group, &state.hidden)?;
            let of_cell = self.looked(b, group, looks_at)?;
            let others: Vec<&Tensor> = std::iter::once(&of_state).chain(&of_cell).collect();
            let seen = self.seen(b, group, x, &others)?;
            gates.extend(self.opened(b, group, &seen)?);
        }
        let cell = match after {
            Some(cell) => cell,
            None => self.cell(b, &gates, before)?,
        };
        let shown = function(b, &cell, &self.activations[2])?;
        let hidden = product(b, &one_of(&gates, OUTPUT)?, &shown)?;
        Ok(State { hidden: b.shared(hidden)?, cell: Some(cell) })
    }

    /// The cell of an LSTM after its gates: what it keeps, and what it takes in.
    fn cell(&self, b: &mut Builder, gates: &[(usize, Tensor)], before: &Tensor) -> Taken<Tensor> {
        let takes = b.shared(one_of(gates, INPUT)?)?;
        let keeps = match self.is_coupled {
            true => function(b, &takes, &Expression::X.by(Joined::Mul, -1.0).by(Joined::Add, 1.0))?,
            false => one_of(gates, FORGET)?,
        };
        let new = product(b, &takes, &one_of(gates, CELL)?)?;
        let kept = product(b, &keeps, before)?;
        let cell = joined(b, Joined::Add, &kept, &new)?;
        b.shared(cell)
    }

    /// What the gates of a group see of the cell.
    fn looked(&self, b: &mut Builder, group: &Group, cell: &Tensor) -> Taken<Option<Tensor>> {
        let Some(peepholes) = self.peepholes else { return Ok(None) };
        let hidden = self.sides.hidden;
        let mut parts = Vec::new();
        for (gate, _) in &group.gates {
            let own = match *gate {
                CELL => vec![0.0; hidden],
                gate => peepholes[gate * hidden..(gate + 1) * hidden].to_vec(),
            };
            parts.push(product(b, cell, &self.repeated(&own))?);
        }
        Ok(Some(beside(b, &parts.iter().collect::<Vec<_>>(), 1)?))
    }
}

/// A product; nothing is made of one with zeros, which a state is before its first step.
fn product(b: &mut Builder, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    let is_nothing = |tensor: &Tensor| tensor.numbers().is_some_and(|numbers| numbers.iter().all(|&x| x == 0.0));
    match is_nothing(left) || is_nothing(right) {
        true => Ok(Tensor::constant(left.shape.clone(), vec![0.0; left.size()])),
        false => joined(b, Joined::Mul, left, right),
    }
}

/// A gate among those that are evaluated.
fn one_of(gates: &[(usize, Tensor)], wanted: usize) -> Taken<Tensor> {
    match gates.iter().find(|(gate, _)| *gate == wanted) {
        Some((_, tensor)) => Ok(tensor.clone()),
        None => refuse("a gate that is not evaluated", "one that is"),
    }
}

/// States after each step, those after the last, and those of cells: steps × directions × samples × numbers, or samples first.
fn outputs(b: &mut Builder, found: &[(Vec<Tensor>, State)], sides: Sides, batch_first: bool) -> Taken<Vec<Tensor>> {
    let Sides { steps, batch, hidden, directions, .. } = sides;
    let whole = [steps, directions, batch, hidden];
    let mut parts = Vec::new();
    for step in 0..steps {
        parts.extend(found.iter().map(|(states, _)| states[step].reshaped(vec![1, batch * hidden])));
    }
    let all = beside(b, &parts.iter().collect::<Vec<_>>(), 0)?.reshaped(whole.into());
    let last = |b: &mut Builder, of: &dyn Fn(&State) -> Option<Tensor>| -> Taken<Option<Tensor>> {
        let parts: Option<Vec<Tensor>> =
            found.iter().map(|(_, state)| Some(of(state)?.reshaped(vec![1, batch, hidden]))).collect();
        let Some(parts) = parts else { return Ok(None) };
        let all = beside(b, &parts.iter().collect::<Vec<_>>(), 0)?;
        Ok(Some(if batch_first { transposed(b, &all, &[1, 0, 2])? } else { all }))
    };
    let hidden = last(b, &|state| Some(state.hidden.clone()))?;
    let cell = last(b, &|state| state.cell.clone())?;
    let all = if batch_first { transposed(b, &all, &[2, 0, 1, 3])? } else { all };
    Ok([Some(all), hidden, cell].into_iter().flatten().collect())
}
