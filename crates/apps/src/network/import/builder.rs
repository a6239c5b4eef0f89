//! Tensors on their way through a graph, and the values that they become.

use super::{Refused, Taken, refuse};
use crate::network::{
    Network, NetworkError, Skeleton,
    function::{Expression, Joined},
    linear::{Axis, Linear, apply, entries},
    matrices::Matrices,
    skeleton::{Operation, Term, Value},
    steep::Squarings,
};
use std::{collections::HashSet, sync::Arc};

/// What a tensor is made of.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Constant(Arc<Vec<f64>>),
    /// Linear maps of values, and a constant for each element.
    Sum {
        terms: Vec<Term>,
        bias: Option<Arc<Vec<f64>>>,
    },
    /// A function of a value, which may be the value itself.
    Function {
        of: usize,
        expression: Expression,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) form: Form,
    /// The node that made it, after which its value is named; empty while a node is at work.
    pub(super) layer: Arc<str>,
}

/// Elements of the largest tensor.
const MOST: usize = 1 << 24;
/// Elements of all constants that are computed, and products with weights of one operator.
const MOST_COMPUTED: usize = 1 << 27;
const MOST_PRODUCTS: u64 = 1 << 32;
/// Products with weights that are joined whatever they would be one after another: a level is worth more.
const FEW: u64 = 1 << 22;
const MOST_EXPRESSION: usize = 64;

impl Tensor {
    pub(super) fn new(shape: Vec<usize>, form: Form) -> Self {
        Self { shape, form, layer: "".into() }
    }

    pub(super) fn size(&self) -> usize {
        self.shape.iter().product()
    }

    pub(super) fn constant(shape: Vec<usize>, numbers: Vec<f64>) -> Self {
        Self::new(shape, Form::Constant(Arc::new(numbers)))
    }

    pub(super) fn numbers(&self) -> Option<&Vec<f64>> {
        if let Form::Constant(numbers) = &self.form { Some(numbers) } else { None }
    }

    /// The number of a constant that has one.
    pub(super) fn number(&self) -> Option<f64> {
        self.numbers().filter(|numbers| numbers.len() == 1).map(|numbers| numbers[0])
    }

    pub(super) fn reshaped(&self, shape: Vec<usize>) -> Self {
        Self { shape, ..self.clone() }
    }
}

/// Elements of a shape, which must be bounded.
pub(super) fn size(shape: &[usize]) -> Taken<usize> {
    let size = shape.iter().try_fold(1_usize, |all, &side| all.checked_mul(side));
    match size.filter(|size| (1..=MOST).contains(size)) {
        Some(size) => Ok(size),
        None => refuse(format!("a tensor of {shape:?}"), "1 to 2^24 elements"),
    }
}

/// Linear maps of values, and a constant for each element.
type Sum = (Vec<Term>, Option<Arc<Vec<f64>>>);

#[derive(Default)]
pub(super) struct Builder {
    values: Vec<Value>,
    weights: Vec<Vec<f64>>,
    /// The name of the layer at work.
    pub(super) layer: String,
    /// Whether the data of the node at work are integers.
    pub(super) whole: bool,
    /// Which inputs of the node at work are truths.
    pub(super) truths: Vec<bool>,
    /// Results of the node at work up to the last that is read.
    pub(super) results: usize,
    /// How often exponentials are squared, by layers of softmax.
    pub(super) squarings: Squarings,
    /// Elements of constants that were computed.
    computed: usize,
}

impl Builder {
    pub(super) fn input(&mut self, name: &str, shape: Vec<usize>) -> Taken<Tensor> {
        size(&shape)?;
        self.layer = name.into();
        let of = self.push(shape.clone(), Operation::Input);
        Ok(Tensor::new(shape, Form::Function { of, expression: Expression::X }))
    }

    fn push(&mut self, shape: Vec<usize>, operation: Operation) -> usize {
        self.values.push(Value { name: self.layer.clone(), shape, operation });
        self.values.len() - 1
    }

    pub(super) fn weight(&mut self, numbers: Vec<f64>) -> usize {
        self.weights.push(numbers);
        self.weights.len() - 1
    }

    /// Weights that stand so many times one behind another, as each sample has them.
    pub(super) fn repeated_weight(&mut self, numbers: &[f64], times: usize) -> Taken<usize> {
        match numbers.len().checked_mul(times).filter(|&all| all <= MOST_COMPUTED) {
            Some(_) => Ok(self.weight(numbers.repeat(times))),
            None => refuse(format!("{} weights for each of {times} samples", numbers.len()), "2^27 in all, at most"),
        }
    }

    /// The value that a tensor is, made if there is none, under the name of the node that made the tensor.
    pub(super) fn value(&mut self, tensor: &Tensor) -> Taken<usize> {
        if tensor.layer.is_empty() {
            return self.made(tensor);
        }
        let at_work = std::mem::replace(&mut self.layer, tensor.layer.to_string());
        let made = self.made(tensor);
        self.layer = at_work;
        made
    }

    fn made(&mut self, tensor: &Tensor) -> Taken<usize> {
        let shape = tensor.shape.clone();
        match &tensor.form {
            Form::Constant(_) => refuse("a constant in the place of data", "a layer of what is encrypted"),
            Form::Function { of, expression: Expression::X } => Ok(*of),
            Form::Function { .. } if self.straight(tensor).is_some() => {
                let (terms, bias) = self.sum(tensor)?;
                self.value(&Tensor::new(shape, Form::Sum { terms, bias }))
            }
            Form::Function { of, expression } if expression.is_square() => {
                Ok(self.push(shape, Operation::Product { of: [*of, *of] }))
            }
            Form::Function { of, expression } => {
                let (mut of, mut expression) = (*of, expression.clone());
                // A step is one of a value of its own: of the difference that is compared.
                if let Some((named, inner)) = expression.step_of() {
                    of = self.made(&Tensor::new(shape.clone(), Form::Function { of, expression: inner.clone() }))?;
                    expression = Expression::X.of(named);
                }
                let of = self.ranged(of);
                Ok(self.push(shape, Operation::Function { of, expression }))
            }
            Form::Sum { terms, bias: None } if matches!(&terms[..], [Term { chain, .. }] if chain.is_empty()) => {
                Ok(terms[0].of)
            }
            Form::Sum { terms, .. } if terms.is_empty() => {
                refuse("a constant in the place of data", "a layer of what is encrypted")
            }
            Form::Sum { terms, bias } => {
                let bias = bias.as_ref().map(|bias| self.weight(bias.to_vec()));
                Ok(self.push(shape, Operation::Affine { terms: terms.clone(), bias }))
            }
        }
    }

    /// A value that functions are made of: the range of a product is only bounded, and one of matrices may lie in many
    /// ciphertexts.
    fn ranged(&mut self, of: usize) -> usize {
        if !matches!(self.values[of].operation, Operation::Product { .. } | Operation::MatrixProduct { .. }) {
            return of;
        }
        let terms = vec![Term { of, chain: Vec::new() }];
        self.push(self.values[of].shape.clone(), Operation::Affine { terms, bias: None })
    }

    /// A product as a value whose range is its own, for what is multiplied again: units of products are products of units.
    pub(super) fn in_its_range(&mut self, product: &Tensor) -> Taken<Tensor> {
        let of = self.value(product)?;
        let of = self.ranged(of);
        Ok(Tensor::new(product.shape.clone(), Form::Function { of, expression: Expression::X }))
    }

    /// A tensor as the function of a value.
    pub(super) fn function(&mut self, tensor: &Tensor) -> Taken<(usize, Expression)> {
        match &tensor.form {
            Form::Function { of, expression } if expression.size() < MOST_EXPRESSION / 2 => {
                Ok((*of, expression.clone()))
            }
            _ => Ok((self.value(tensor)?, Expression::X)),
        }
    }

    /// The tensor as others than one node read it.
    pub(super) fn shared(&mut self, tensor: Tensor) -> Taken<Tensor> {
        if tensor.numbers().is_some() {
            return Ok(tensor);
        }
        let of = self.value(&tensor)?;
        Ok(Tensor::new(tensor.shape, Form::Function { of, expression: Expression::X }))
    }

    /// The value that a tensor is a multiple of, with a constant, if that is what it is.
    pub(super) fn straight(&self, tensor: &Tensor) -> Option<(usize, [f64; 2])> {
        let Form::Function { of, expression } = &tensor.form else { return None };
        Some((*of, expression.straight()?))
    }

    /// A tensor as a sum of linear maps and a constant.
    pub(super) fn sum(&mut self, tensor: &Tensor) -> Taken<Sum> {
        match &tensor.form {
            Form::Constant(numbers) => Ok((Vec::new(), Some(numbers.clone()))),
            Form::Sum { terms, bias } => Ok((terms.clone(), bias.clone())),
            Form::Function { .. } => {
                let size = tensor.size();
                let Some((of, [factor, constant])) = self.straight(tensor) else {
                    let of = self.value(tensor)?;
                    return Ok((vec![Term { of, chain: Vec::new() }], None));
                };
                let scaled = Linear::Factor { size, factor };
                let chain = if factor.to_bits() == 1.0f64.to_bits() { Vec::new() } else { vec![scaled] };
                let bias = (constant != 0.0).then(|| Arc::new(vec![constant; size]));
                Ok((vec![Term { of, chain }], bias))
            }
        }
    }

    /// The result of a linear operation on a tensor.
    pub(super) fn linear(&mut self, tensor: &Tensor, map: Linear, shape: Vec<usize>) -> Taken<Tensor> {
        let outputs = size(&shape)?;
        let lengths: Vec<usize> = self.weights.iter().map(Vec::len).collect();
        if map.sizes(&lengths) != Some([tensor.size(), outputs]) {
            return refuse(format!("a tensor of {:?} to one of {shape:?}", tensor.shape), "sizes that fit");
        }
        let constants = !matches!(tensor.form, Form::Sum { bias: None, .. });
        self.computed += if constants { outputs } else { 0 };
        if self.computed > MOST_COMPUTED || entries(std::slice::from_ref(&map), outputs) > MOST_PRODUCTS {
            return refuse("more computation on constants than any network has", "a graph that is simplified before");
        }
        let applied = |x: &[f64], weights: &[Vec<f64>]| apply(std::slice::from_ref(&map), weights, x);
        if let Some(numbers) = tensor.numbers() {
            return Ok(Tensor::constant(shape, applied(numbers, &self.weights)));
        }
        let (mut terms, mut bias) = self.sum(tensor)?;
        let chained = |term: &Term| [&term.chain[..], std::slice::from_ref(&map)].concat();
        // Maps are joined to one where that is not half as many products again. A map of a sum that is not made before is one
        // for each of its terms.
        let joined = terms.iter().map(|term| entries(&chained(term), outputs)).fold(0, u64::saturating_add);
        let apart = terms
            .iter()
            .map(|term| entries(&term.chain, tensor.size()))
            .fold(entries(std::slice::from_ref(&map), outputs), u64::saturating_add);
        let long = terms.iter().any(|term| term.chain.len() >= 64);
        let made = terms.iter().all(|term| term.chain.is_empty()) && terms.len() <= 1;
        if !made && (long || (joined > FEW && joined > apart.saturating_add(apart / 2))) {
            let of = self.value(tensor)?;
            (terms, bias) = (vec![Term { of, chain: Vec::new() }], None);
        }
        let terms = terms.iter().map(|term| Term { of: term.of, chain: chained(term) }).collect();
        let bias = bias.map(|bias| Arc::new(applied(&bias, &self.weights)));
        Ok(Tensor::new(shape, Form::Sum { terms, bias }))
    }

    /// A tensor repeated along the sides that are one, to a shape.
    pub(super) fn broadcast(&mut self, tensor: &Tensor, shape: &[usize]) -> Taken<Tensor> {
        if tensor.shape == shape {
            return Ok(tensor.clone());
        }
        let axes = broadcast_axes(&tensor.shape, shape)?;
        if tensor.size() == size(shape)? {
            return Ok(tensor.reshaped(shape.into()));
        }
        let view = Linear::View { axes, offset: 0, inputs: tensor.size() };
        self.linear(tensor, view, shape.into())
    }

    /// Every element times a weight of its own, of a constant that is repeated to the tensor's shape.
    pub(super) fn scaled(&mut self, tensor: &Tensor, weights: Vec<f64>, sides: &[usize]) -> Taken<Tensor> {
        let axes = broadcast_axes(sides, &tensor.shape)?;
        let weights = self.weight(weights);
        self.linear(tensor, Linear::Scale { axes, weights }, tensor.shape.clone())
    }

    /// The sum of two tensors of one shape.
    pub(super) fn added(&mut self, a: &Tensor, b: &Tensor) -> Taken<Tensor> {
        let ((mut terms, left), (more, right)) = (self.sum(a)?, self.sum(b)?);
        terms.extend(more);
        let bias = match (left, right) {
            (Some(left), Some(right)) => Some(Arc::new(left.iter().zip(right.iter()).map(|(a, b)| a + b).collect())),
            (left, right) => left.or(right),
        };
        Ok(Tensor::new(a.shape.clone(), Form::Sum { terms, bias }))
    }

    /// The product of two tensors of one shape, both encrypted.
    pub(super) fn multiplied(&mut self, a: &Tensor, b: &Tensor) -> Taken<Tensor> {
        let of = [self.value(a)?, self.value(b)?];
        let of = self.push(a.shape.clone(), Operation::Product { of });
        Ok(Tensor::new(a.shape.clone(), Form::Function { of, expression: Expression::X }))
    }

    /// The product of two tensors of matrices, both encrypted.
    pub(super) fn matrix_product(&mut self, of: [&Tensor; 2], matrices: Matrices, shape: Vec<usize>) -> Taken<Tensor> {
        size(&shape)?;
        let of = [self.value(of[0])?, self.value(of[1])?];
        let of = self.push(shape.clone(), Operation::MatrixProduct { of, matrices });
        Ok(Tensor::new(shape, Form::Function { of, expression: Expression::X }))
    }

    pub(super) fn negated(&mut self, tensor: &Tensor) -> Taken<Tensor> {
        self.times(tensor, -1.0)
    }

    /// A tensor times a public number.
    pub(super) fn times(&mut self, tensor: &Tensor, factor: f64) -> Taken<Tensor> {
        match &tensor.form {
            Form::Function { of, expression } if expression.size() < MOST_EXPRESSION => {
                let expression = expression.clone().by(Joined::Mul, factor);
                Ok(Tensor::new(tensor.shape.clone(), Form::Function { of: *of, expression }))
            }
            _ => self.linear(tensor, Linear::Factor { size: tensor.size(), factor }, tensor.shape.clone()),
        }
    }

    /// An output of the network.
    pub(super) fn output(&mut self, tensor: &Tensor) -> Taken<usize> {
        if let Some(numbers) = tensor.numbers().cloned() {
            return self.known(tensor.shape.clone(), numbers);
        }
        let of = self.value(tensor)?;
        if self.values[of].shape == tensor.shape && self.values[of].operation != Operation::Input {
            return Ok(of);
        }
        // Another shape of a value, or an input as it is: told under its own name.
        let terms = vec![Term { of, chain: Vec::new() }];
        Ok(self.push(tensor.shape.clone(), Operation::Affine { terms, bias: None }))
    }

    /// An output that no input changes: a map that reads nothing, and a bias.
    fn known(&mut self, shape: Vec<usize>, numbers: Vec<f64>) -> Taken<usize> {
        let Some(inputs) = self.values.first().map(Value::size) else { return refuse("no input", "one") };
        let nowhere = Axis { before: numbers.len(), side: 1, ..Axis::whole(numbers.len(), 1) };
        let chain = vec![Linear::View { axes: vec![nowhere], offset: 0, inputs }];
        let bias = Some(self.weight(numbers));
        Ok(self.push(shape, Operation::Affine { terms: vec![Term { of: 0, chain }], bias }))
    }

    /// The network of what its outputs need.
    pub(super) fn finish(self, outputs: Vec<usize>) -> Result<Network, NetworkError> {
        let Self { values, weights, .. } = self;
        let mut kept: Vec<bool> = values.iter().map(|value| value.operation == Operation::Input).collect();
        outputs.iter().for_each(|&at| kept[at] = true);
        for at in (0..values.len()).rev() {
            if kept[at] {
                values[at].operation.operands().into_iter().for_each(|of| kept[of] = true);
            }
        }
        let mut places = vec![0; values.len()];
        let mut lists = Lists { from: weights, places: Vec::new(), to: Vec::new(), are_finite: true };
        lists.places = vec![None; lists.from.len()];
        let mut skeleton = Skeleton::default();
        // Units of what is multiplied are around zero, those of what has a root need not be.
        let multiplies =
            |value: &Value| matches!(value.operation, Operation::Product { .. } | Operation::MatrixProduct { .. });
        let multiplied: HashSet<usize> =
            values.iter().filter(|value| multiplies(value)).flat_map(|value| value.operation.operands()).collect();
        for (at, mut value) in values.into_iter().enumerate().filter(|(at, _)| kept[*at]) {
            let apart = match &value.operation {
                Operation::Function { of, expression } => multiplied.contains(of) && expression.is_limited(),
                _ => false,
            };
            renumber(&mut value.operation, &places, &mut lists);
            if let (true, Operation::Function { of, .. }) = (apart, &mut value.operation) {
                let terms = vec![Term { of: *of, chain: Vec::new() }];
                *of = skeleton.values.len();
                let operation = Operation::Affine { terms, bias: None };
                skeleton.values.push(Value { operation, ..value.clone() });
            }
            places[at] = skeleton.values.len();
            if !lists.are_finite {
                let got = format!("numbers that are not finite in layer {}", value.name);
                let wanted = "weights and constants that can be computed with".into();
                return Err(NetworkError::Shape { what: "the network", got, wanted });
            }
            skeleton.values.push(value);
        }
        skeleton.outputs = outputs.into_iter().map(|at| places[at]).collect();
        skeleton.weights = lists.to.iter().map(Vec::len).collect();
        Network::new(skeleton, lists.to)
    }
}

/// Lists of weights, and the new places of those that are used.
struct Lists {
    from: Vec<Vec<f64>>,
    places: Vec<Option<usize>>,
    to: Vec<Vec<f64>>,
    /// Whether all numbers so far are: constants of a file are, and what is computed of them may overflow.
    are_finite: bool,
}

impl Lists {
    fn renumber(&mut self, list: &mut usize) {
        let place = *self.places[*list].get_or_insert_with(|| {
            self.are_finite &= self.from[*list].iter().all(|w| w.is_finite());
            self.to.push(std::mem::take(&mut self.from[*list]));
            self.to.len() - 1
        });
        *list = place;
    }
}

fn renumber(operation: &mut Operation, places: &[usize], lists: &mut Lists) {
    match operation {
        Operation::Input => {}
        Operation::Function { of, .. } => *of = places[*of],
        Operation::Product { of } | Operation::MatrixProduct { of, .. } => *of = of.map(|at| places[at]),
        Operation::Affine { terms, bias } => {
            for Term { of, chain } in terms {
                *of = places[*of];
                for map in chain {
                    match map {
                        Linear::Convolution { weights, .. }
                        | Linear::Dense { weights, .. }
                        | Linear::Scale { weights, .. } => lists.renumber(weights),
                        Linear::Factor { factor, .. } | Linear::Sum { factor, .. } => {
                            lists.are_finite &= factor.is_finite();
                        }
                        Linear::Mean { .. } | Linear::View { .. } => {}
                    }
                }
            }
            bias.iter_mut().for_each(|list| lists.renumber(list));
        }
    }
}

/// How a shape is repeated to another one: sides are compared from the last.
pub(super) fn broadcast_axes(from: &[usize], to: &[usize]) -> Taken<Vec<Axis>> {
    let wrong =
        || Refused { got: format!("{from:?} to be repeated to {to:?}"), wanted: "sides that are equal or one".into() };
    let missing = to.len().checked_sub(from.len()).ok_or_else(wrong)?;
    let (mut stride, mut axes) = (1, Vec::new());
    for (at, &size) in to.iter().enumerate().rev() {
        let side = if at < missing { 1 } else { from[at - missing] };
        if side != size && side != 1 {
            return Err(wrong());
        }
        axes.push(Axis::whole(size, if side == 1 { 0 } else { stride }));
        stride *= side;
    }
    axes.reverse();
    Ok(axes)
}

/// The shape that two are repeated to.
pub(super) fn joined_shape(a: &[usize], b: &[usize]) -> Taken<Vec<usize>> {
    let length = a.len().max(b.len());
    let side = |shape: &[usize], at: usize| (at + shape.len()).checked_sub(length).map_or(1, |at| shape[at]);
    let sides = (0..length).map(|at| match (side(a, at), side(b, at)) {
        (a, b) if a == b || b == 1 => Some(a),
        (1, b) => Some(b),
        _ => None,
    });
    match sides.collect::<Option<Vec<usize>>>() {
        Some(shape) => Ok(shape),
        None => refuse(format!("tensors of {a:?} and {b:?}"), "sides that are equal or one"),
    }
}
