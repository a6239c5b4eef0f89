//! A network without its weights, as both sides know it, and with them in the clear.
//!
//! A value is a list of numbers that the encrypted program keeps in ciphertexts of its own: an input, a sum of linear maps
//! of other values with a bias, a function of another value number by number, or the product of two, number by number or as
//! matrices.

use super::{
    NetworkError,
    function::Expression,
    linear::{Linear, apply, entries},
    matrices::Matrices,
};
use serde::{Deserialize, Serialize};

/// A linear part of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The value that it is a part of.
    pub of: usize,
    /// The first is applied first; none leaves the value as it is.
    pub chain: Vec<Linear>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    Input,
    Affine {
        terms: Vec<Term>,
        bias: Option<usize>,
    },
    Function {
        of: usize,
        expression: Expression,
    },
    Product {
        of: [usize; 2],
    },
    /// Of two encrypted matrices, or of pairs of them.
    MatrixProduct {
        of: [usize; 2],
        matrices: Matrices,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The name of its tensor in the graph.
    pub name: String,
    pub shape: Vec<usize>,
    pub operation: Operation,
}

/// What both sides know: operations, shapes, and public numbers, but no weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skeleton {
    /// Each is made of earlier ones; inputs come first.
    pub values: Vec<Value>,
    /// Numbers in each list of weights.
    pub weights: Vec<usize>,
    pub outputs: Vec<usize>,
}

/// A network with its weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    pub skeleton: Skeleton,
    /// No zeros: see [`Network::new`].
    pub weights: Vec<Vec<f64>>,
    /// Whether the weights are any that stand for ones that are not known: nothing that depends on their size is checked.
    pub stand_in: bool,
}

const MOST_VALUES: usize = 1 << 14;
const MOST_SIZE: usize = 1 << 24;
const MOST_TOTAL: usize = 1 << 27;
const MOST_WEIGHTS: usize = 1 << 28;
const MOST_CHAIN: usize = 256;
const MOST_ENTRIES: u64 = 1 << 33;

/// In the place of a weight of zero, and nothing in any encoding.
const NEARLY_ZERO: f64 = 1e-100;

impl Term {
    /// Whether its numbers stay where they are.
    pub fn is_unmoved(&self) -> bool {
        self.chain.iter().all(|map| matches!(map, Linear::Factor { .. } | Linear::Scale { .. }))
    }
}

impl Value {
    /// Numbers in it.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Operation {
    /// The values that it is made of, one more than once if it is used so.
    pub fn operands(&self) -> Vec<usize> {
        match self {
            Self::Input => Vec::new(),
            Self::Affine { terms, .. } => terms.iter().map(|term| term.of).collect(),
            Self::Function { of, .. } => vec![*of],
            Self::Product { of } | Self::MatrixProduct { of, .. } => of.to_vec(),
        }
    }

    /// Whether each number is made of those at the same place.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Self::Function { .. } | Self::Product { .. })
    }
}

impl Skeleton {
    pub fn inputs(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().take_while(|value| value.operation == Operation::Input)
    }

    /// Numbers of one sample: of all inputs, one after another.
    pub fn sample(&self) -> usize {
        self.inputs().map(Value::size).sum()
    }

    /// Fails for what is no network, or a larger one than any that is planned.
    ///
    /// # Errors
    /// [`NetworkError::Skeleton`].
    pub fn check(&self) -> Result<(), NetworkError> {
        let refuse = |got: String| Err(NetworkError::Skeleton(got));
        if self.values.len() > MOST_VALUES || self.inputs().next().is_none() {
            return refuse(format!("{} values", self.values.len()));
        }
        let weights = self.weights.iter().try_fold(0_usize, |all, &count| all.checked_add(count));
        if weights.is_none_or(|count| count > MOST_WEIGHTS) {
            return refuse(format!("{weights:?} weights"));
        }
        if self.outputs.is_empty() || self.outputs.iter().any(|&at| at >= self.values.len()) {
            return refuse(format!("the outputs {:?}", self.outputs));
        }
        let (mut total, mut elements, inputs) = (0_u64, 0_usize, self.inputs().count());
        for (at, value) in self.values.iter().enumerate() {
            let size = value.shape.iter().try_fold(1_usize, |all, &side| all.checked_mul(side));
            let Some(size) = size.filter(|size| (1..=MOST_SIZE).contains(size)) else {
                return refuse(format!("{} of {:?}", value.name, value.shape));
            };
            elements += size;
            let known = value.operation.operands().iter().all(|&of| of < at);
            if !known || !self.fits(value, size) || (value.operation == Operation::Input && at >= inputs) {
                return refuse(format!("{}, whose operands do not fit", value.name));
            }
            if let Operation::Affine { terms, .. } = &value.operation {
                total = terms.iter().fold(total, |all, term| all.saturating_add(entries(&term.chain, size)));
            }
            if let Operation::MatrixProduct { matrices, .. } = value.operation {
                total = total.saturating_add((size as u64).saturating_mul(matrices.inner as u64));
            }
        }
        if elements > MOST_TOTAL {
            return refuse(format!("{elements} elements of values"));
        }
        if total > MOST_ENTRIES {
            return refuse(format!("2^{:.1} products with weights", (total as f64).log2()));
        }
        Ok(())
    }

    /// Whether a value's operands, which are known, have the sizes that it needs.
    fn fits(&self, value: &Value, size: usize) -> bool {
        let of = |at: usize| self.values[at].size();
        match &value.operation {
            Operation::Input => true,
            Operation::Affine { terms, bias } => {
                let term = |term: &Term| {
                    if term.chain.len() > MOST_CHAIN {
                        return false;
                    }
                    let sizes = term.chain.iter().map(|map| map.sizes(&self.weights));
                    let last = sizes.into_iter().try_fold(of(term.of), |size, map| {
                        map.filter(|[inputs, _]| *inputs == size).map(|[_, outputs]| outputs)
                    });
                    last == Some(size)
                };
                !terms.is_empty() && terms.iter().all(term) && bias.is_none_or(|at| self.weights.get(at) == Some(&size))
            }
            Operation::Function { of: operand, expression } => of(*operand) == size && expression.size() <= 256,
            Operation::Product { of: operands } => operands.iter().all(|&at| of(at) == size),
            Operation::MatrixProduct { of: [left, right], matrices } => {
                matrices.sizes() == Some([of(*left), of(*right), size])
            }
        }
    }

    /// The values that are nobody's operand but outputs, or that are needed later: for each value, the last that reads it.
    pub fn last_uses(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.values.len()).collect();
        for (at, value) in self.values.iter().enumerate() {
            value.operation.operands().into_iter().for_each(|of| last[of] = at);
        }
        self.outputs.iter().for_each(|&at| last[at] = usize::MAX);
        last
    }
}

/// What replaces a function, on the values of which number.
pub type Replace<'f> = &'f dyn Fn(usize, &Expression, f64) -> f64;

impl Network {
    /// Of a skeleton and its weights. Zeros become numbers that no encoding tells from zero: which diagonals there are,
    /// and so which keys, must not depend on weights.
    ///
    /// # Errors
    /// [`NetworkError::Skeleton`] for weights of other lengths.
    pub fn new(skeleton: Skeleton, mut weights: Vec<Vec<f64>>) -> Result<Self, NetworkError> {
        skeleton.check()?;
        if !weights.iter().map(Vec::len).eq(skeleton.weights.iter().copied()) {
            return Err(NetworkError::Skeleton("weights of other lengths".into()));
        }
        weights.iter_mut().flatten().filter(|w| w.abs() < NEARLY_ZERO).for_each(|w| *w = NEARLY_ZERO);
        Ok(Self { skeleton, weights, stand_in: false })
    }

    /// Some weights in the place of those that are not known.
    ///
    /// # Errors
    /// As [`Skeleton::check`], before anything is made.
    pub fn generated(skeleton: &Skeleton) -> Result<Self, NetworkError> {
        skeleton.check()?;
        let list = |(at, &count): (u64, &usize)| crate::linear::data::generated(1, at, count, 1.0);
        let network = Self::new(skeleton.clone(), (0..).zip(&skeleton.weights).map(list).collect())?;
        Ok(Self { stand_in: true, ..network })
    }

    /// All values for one sample.
    pub fn values(&self, sample: &[f64], replace: Replace<'_>) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = Vec::new();
        let mut begin = 0;
        for (at, value) in self.skeleton.values.iter().enumerate() {
            let size = value.size();
            let made = match &value.operation {
                Operation::Input => {
                    begin += size;
                    sample[begin - size..begin].to_vec()
                }
                Operation::Affine { terms, bias } => self.affine((terms, *bias), size, &all),
                Operation::Function { of, expression } => {
                    all[*of].iter().map(|&x| replace(at, expression, x)).collect()
                }
                Operation::Product { of: [a, b] } => all[*a].iter().zip(&all[*b]).map(|(a, b)| a * b).collect(),
                Operation::MatrixProduct { of: [a, b], matrices } => matrices.product([&all[*a], &all[*b]]),
            };
            all.push(made);
        }
        all
    }

    fn affine(&self, (terms, bias): (&[Term], Option<usize>), size: usize, all: &[Vec<f64>]) -> Vec<f64> {
        let mut sum = bias.map_or_else(|| vec![0.0; size], |at| self.weights[at].clone());
        for Term { of, chain } in terms {
            sum.iter_mut().zip(apply(chain, &self.weights, &all[*of])).for_each(|(sum, x)| *sum += x);
        }
        sum
    }

    /// All values with the functions themselves.
    pub fn exact(&self, sample: &[f64]) -> Vec<Vec<f64>> {
        self.values(sample, &|_, expression, x| expression.evaluate(x))
    }

    /// The numbers of the outputs, one output after another.
    pub fn outputs(&self, values: &[Vec<f64>]) -> Vec<f64> {
        self.skeleton.outputs.iter().flat_map(|&at| values[at].iter().copied()).collect()
    }
}
