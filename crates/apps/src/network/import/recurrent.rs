//! Recurrent layers: RNN, GRU and LSTM. Each step of the sequence is a layer of its own, with the weights of all.
//!
//! Gates of one activation are one value, so that they are one polynomial and are bootstrapped once. A hyperbolic tangent joins
//! the sigmoids where there are some, by tanh(x) = 2·sigmoid(2x) − 1: the factors go into the maps before and behind.

mod cell;
#[cfg(test)]
mod tests;

use super::{
    Taken,
    builder::{Builder, Tensor, size},
    operators::{Attributes, integers, needed},
    pointwise, refuse,
    shapes::{beside, picked, transposed},
};
use crate::network::function::{Expression, Joined, Named};
use cell::{Cell, State};

/// Longest sequence: each step makes about ten values.
const MOST_STEPS: usize = 1024;

/// Numbers of the largest state.
const MOST_STATE: usize = 1 << 16;

/// Which layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rnn,
    Gru,
    Lstm,
}

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
            peepholes: peepholes.map(|of| &of[part(of)]),
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
    if !(1..=MOST_STATE).contains(&hidden) {
        return refuse(
            format!("a state of {hidden} numbers, and weights of {:?}", weights.shape),
            format!("a state of 1 to {MOST_STATE}"),
        );
    }
    let (steps, batch, inputs) = (x.shape[0], x.shape[1], x.shape[2]);
    size(&[batch, kind.gates() * hidden])?;
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
