//! A direction of a recurrent layer: gates by their functions, and steps one after another.

use super::{Kind, Sides};
use crate::network::{
    function::{Expression, Joined, Named},
    import::{
        Taken,
        builder::{Builder, Tensor},
        pointwise::{function, joined, subtracted},
        refuse,
        shapes::{beside, picked},
    },
    linear::Linear,
};

/// Gates of all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// The new state of an RNN.
    State,
    Update,
    Reset,
    /// The values that a GRU's state moves to.
    New,
    Input,
    Output,
    Forget,
    /// The values that an LSTM's cell takes in.
    Cell,
}

impl Name {
    /// Where its rows stand among those of its layer, in the order of ONNX.
    fn rows(self) -> usize {
        match self {
            Self::State | Self::Update | Self::Input => 0,
            Self::Reset | Self::Output => 1,
            Self::New | Self::Forget => 2,
            Self::Cell => 3,
        }
    }
}

/// What all steps of a direction share.
pub(super) struct Cell<'a> {
    pub(super) kind: Kind,
    pub(super) sides: Sides,
    /// Weights of inputs and of the state, rows of all gates one behind another.
    pub(super) weights: [&'a [f64]; 2],
    /// Constants of the same rows.
    pub(super) biases: [Vec<f64>; 2],
    /// Weights of an LSTM's cell in its gates: input, output, forget.
    pub(super) peepholes: Option<&'a [f64]>,
    pub(super) activations: Vec<Expression>,
    /// A GRU whose reset gate works on what its weights made of the state.
    pub(super) resets_after: bool,
    /// An LSTM that forgets as much as it takes in.
    pub(super) is_coupled: bool,
}

/// The state between steps.
pub(super) struct State {
    pub(super) hidden: Tensor,
    pub(super) cell: Option<Tensor>,
}

/// A gate as it is evaluated: its function, a factor before it, and a factor and a constant behind it.
struct Gate {
    name: Name,
    expression: Expression,
    before: f64,
    behind: Option<[f64; 2]>,
}

/// Weights of some gates, which all steps read.
struct Group {
    gates: Vec<Gate>,
    expression: Expression,
    /// Places of the weights of inputs and of the state.
    weights: [usize; 2],
    bias: Vec<f64>,
}

impl Cell<'_> {
    /// The state after each step, in the order of the sequence, and that after the last.
    pub(super) fn run(
        &self,
        b: &mut Builder,
        x: &Tensor,
        mut state: State,
        reversed: bool,
    ) -> Taken<(Vec<Tensor>, State)> {
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
        let gate = |name, at| (name, activation(at));
        let lists = match self.kind {
            Kind::Rnn => vec![vec![gate(Name::State, 0)]],
            // The state passes a gate before the last weights see it.
            Kind::Gru => vec![vec![gate(Name::Update, 0), gate(Name::Reset, 0)], vec![gate(Name::New, 1)]],
            Kind::Lstm => {
                let forget = if self.is_coupled { vec![] } else { vec![gate(Name::Forget, 0)] };
                let first = [vec![gate(Name::Input, 0), gate(Name::Cell, 1)], forget].concat();
                // A peephole of the output gate looks at what the cell became.
                match self.peepholes {
                    Some(_) => vec![first, vec![gate(Name::Output, 0)]],
                    None => vec![[first, vec![gate(Name::Output, 0)]].concat()],
                }
            }
        };
        lists.into_iter().flat_map(|list| self.grouped(list)).map(|gates| self.group(b, gates)).collect()
    }

    /// Gates by their functions, a tangent among sigmoids.
    fn grouped(&self, list: Vec<(Name, Expression)>) -> Vec<Vec<Gate>> {
        let sigmoid = Expression::X.of(Named::Sigmoid);
        let has_sigmoids = list.iter().any(|(_, expression)| *expression == sigmoid);
        let mut groups: Vec<Vec<Gate>> = Vec::new();
        for (name, expression) in list {
            let gate = match expression == Expression::X.of(Named::Tanh) && has_sigmoids {
                true => Gate { name, expression: sigmoid.clone(), before: 2.0, behind: Some([2.0, -1.0]) },
                false => Gate { name, expression, before: 1.0, behind: None },
            };
            match groups.iter_mut().find(|group| group[0].expression == gate.expression) {
                Some(group) => group.push(gate),
                None => groups.push(vec![gate]),
            }
        }
        groups
    }

    fn group(&self, b: &mut Builder, gates: Vec<Gate>) -> Group {
        let hidden = self.sides.hidden;
        let rows = |of: &[f64], width: usize| -> Vec<f64> {
            let mut all = Vec::with_capacity(gates.len() * hidden * width);
            for gate in &gates {
                let first = gate.name.rows() * hidden * width;
                let own = &of[first..first + hidden * width];
                all.extend(own.iter().map(|w| w * gate.before));
            }
            all
        };
        let weights = [rows(self.weights[0], self.sides.inputs), rows(self.weights[1], hidden)];
        let weights = weights.map(|numbers| b.weight(numbers));
        // A reset gate works on the state's constants too.
        let apart = self.resets_after && gates[0].name == Name::New;
        let of_state = if apart { vec![0.0; gates.len() * hidden] } else { rows(&self.biases[1], 1) };
        let bias = rows(&self.biases[0], 1).iter().zip(of_state).map(|(a, c)| a + c).collect();
        let expression = gates[0].expression.clone();
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
    fn opened(&self, b: &mut Builder, group: &Group, seen: &Tensor) -> Taken<Vec<(Name, Tensor)>> {
        let all = function(b, seen, &group.expression)?;
        let all = if group.gates.len() > 1 { b.shared(all)? } else { all };
        let mut found = Vec::new();
        for (at, gate) in group.gates.iter().enumerate() {
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
            found.push((gate.name, own));
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
        let update = b.shared(one_of(&gates, Name::Update)?)?;
        let reset = one_of(&gates, Name::Reset)?;
        let of_state = if self.resets_after {
            let of_state = self.of_state(b, last, &state.hidden)?;
            let own = self.repeated(&self.biases[1][Name::New.rows() * self.sides.hidden..]);
            let of_state = joined(b, Joined::Add, &of_state, &own)?;
            joined(b, Joined::Mul, &reset, &of_state)?
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
        let mut gates: Vec<(Name, Tensor)> = Vec::new();
        let mut after = None;
        for group in groups {
            let looks_at = match group.gates.iter().any(|gate| gate.name == Name::Output) && self.peepholes.is_some() {
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
        let hidden = product(b, &one_of(&gates, Name::Output)?, &shown)?;
        Ok(State { hidden: b.shared(hidden)?, cell: Some(cell) })
    }

    /// The cell of an LSTM after its gates: what it keeps, and what it takes in.
    fn cell(&self, b: &mut Builder, gates: &[(Name, Tensor)], before: &Tensor) -> Taken<Tensor> {
        let takes = b.shared(one_of(gates, Name::Input)?)?;
        let keeps = match self.is_coupled {
            true => function(b, &takes, &Expression::X.by(Joined::Mul, -1.0).by(Joined::Add, 1.0))?,
            false => one_of(gates, Name::Forget)?,
        };
        let new = product(b, &takes, &one_of(gates, Name::Cell)?)?;
        let kept = product(b, &keeps, before)?;
        let cell = joined(b, Joined::Add, &kept, &new)?;
        b.shared(cell)
    }

    /// What the gates of a group see of the cell.
    fn looked(&self, b: &mut Builder, group: &Group, cell: &Tensor) -> Taken<Option<Tensor>> {
        let Some(peepholes) = self.peepholes else { return Ok(None) };
        let hidden = self.sides.hidden;
        let mut parts = Vec::new();
        for gate in &group.gates {
            let first = gate.name.rows() * hidden;
            // The cell's zeros before the first step are public; those among weights are not.
            parts.push(match gate.name {
                name if name == Name::Cell || is_nothing(cell) => self.repeated(&vec![0.0; hidden]),
                _ => {
                    let own: Vec<f64> = peepholes[first..first + hidden].iter().map(|w| w * gate.before).collect();
                    joined(b, Joined::Mul, cell, &self.repeated(&own))?
                }
            });
        }
        Ok(Some(beside(b, &parts.iter().collect::<Vec<_>>(), 1)?))
    }
}

/// Whether a state is the zeros before a first step.
fn is_nothing(state: &Tensor) -> bool {
    state.numbers().is_some_and(|numbers| numbers.iter().all(|&x| x == 0.0))
}

/// A product with a state or with what was made of one; nothing is made of zeros.
fn product(b: &mut Builder, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    match is_nothing(left) || is_nothing(right) {
        true => Ok(Tensor::constant(left.shape.clone(), vec![0.0; left.size()])),
        false => joined(b, Joined::Mul, left, right),
    }
}

/// A gate among those that are evaluated.
fn one_of(gates: &[(Name, Tensor)], wanted: Name) -> Taken<Tensor> {
    match gates.iter().find(|(gate, _)| *gate == wanted) {
        Some((_, tensor)) => Ok(tensor.clone()),
        None => refuse("a gate that is not evaluated", "one that is"),
    }
}
