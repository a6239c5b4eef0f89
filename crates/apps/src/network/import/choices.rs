//! Comparisons, and what is chosen by them.
//!
//! A choice between functions of one tensor by a comparison of it is a function of it, as PyTorch writes Softplus and
//! `where(x > 0, x, 0.1·x)`. Any other comparison of encrypted numbers is a step of a difference: one that is nearly zero
//! gives something between.

use super::{
    Taken,
    builder::{Builder, Form, Tensor, joined_shape},
    operators::needed,
    pointwise::{function, joined, subtracted},
};
use crate::network::function::{Expression, Joined, Named};

/// 1 where the comparison holds, 0 elsewhere; `None` for no comparison.
pub(super) fn compared(b: &mut Builder, operator: &str, inputs: &[Option<Tensor>]) -> Option<Taken<Tensor>> {
    let (turned, step) = match operator {
        "Greater" => (false, Named::Positive),
        "Less" => (true, Named::Positive),
        "GreaterOrEqual" => (false, Named::NotNegative),
        "LessOrEqual" => (true, Named::NotNegative),
        _ => return None,
    };
    let mut both = || {
        let (left, right) = (needed(inputs, 0)?, needed(inputs, 1)?);
        let difference = if turned { subtracted(b, right, left)? } else { subtracted(b, left, right)? };
        function(b, &difference, &Expression::X.of(step))
    };
    Some(both())
}

/// What is 1 where the other is 0.
pub(super) fn opposite(b: &mut Builder, x: &Tensor) -> Taken<Tensor> {
    if let Form::Function { of, expression } = &x.form
        && let Some(expression) = expression.opposite()
    {
        return Ok(Tensor::new(x.shape.clone(), Form::Function { of: *of, expression }));
    }
    function(b, x, &Expression::X.by(Joined::Mul, -1.0).by(Joined::Add, 1.0))
}

/// 1 where one of two conditions holds, or both.
pub(super) fn either(b: &mut Builder, left: &Tensor, right: &Tensor) -> Taken<Tensor> {
    let (left, right) = (opposite(b, left)?, opposite(b, right)?);
    let neither = joined(b, Joined::Mul, &left, &right)?;
    opposite(b, &neither)
}

/// The number that all elements of a constant are.
fn uniform(x: &Tensor) -> Option<f64> {
    let numbers = x.numbers()?;
    let first = *numbers.first()?;
    numbers.iter().all(|x| x.to_bits() == first.to_bits()).then_some(first)
}

/// A tensor as a function of a value, or of any where it is one number.
fn argument(x: &Tensor) -> Option<(Option<usize>, Expression)> {
    if let Some(number) = uniform(x) {
        return Some((None, Expression::Number(number)));
    }
    match &x.form {
        Form::Function { of, expression } => Some((Some(*of), expression.clone())),
        _ => None,
    }
}

/// Elements of one tensor where a condition holds, and of another elsewhere.
pub(super) fn chosen(b: &mut Builder, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let [condition, yes, no] = [needed(inputs, 0)?, needed(inputs, 1)?, needed(inputs, 2)?];
    let shape = joined_shape(&joined_shape(&condition.shape, &yes.shape)?, &no.shape)?;
    let parts = [condition, yes, no].map(argument);
    if let [Some((Some(of), condition)), Some((first, yes)), Some((second, no))] = parts
        && [first, second].iter().flatten().all(|other| *other == of)
        && inputs.iter().flatten().all(|x| uniform(x).is_some() || x.shape == shape)
    {
        let expression = Expression::Choice(Box::new([condition, yes, no]));
        if expression.size() < 60 {
            return Ok(Tensor::new(shape, Form::Function { of, expression }));
        }
    }
    if let Some(numbers) = condition.numbers() {
        let mask = |chosen: bool| {
            let of = |x: &f64| f64::from(u8::from((*x != 0.0) == chosen));
            Tensor::constant(condition.shape.clone(), numbers.iter().map(of).collect())
        };
        let (yes, no) = (joined(b, Joined::Mul, yes, &mask(true))?, joined(b, Joined::Mul, no, &mask(false))?);
        return joined(b, Joined::Add, &yes, &no);
    }
    let apart = subtracted(b, yes, no)?;
    let more = joined(b, Joined::Mul, &apart, condition)?;
    joined(b, Joined::Add, &more, no)
}
