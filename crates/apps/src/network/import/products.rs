//! Products of tensors that are not pointwise, and of which both may be encrypted.

use super::{
    Taken,
    builder::{Builder, Tensor, size},
    operators::{Attributes, needed},
    pointwise::joined,
    refuse,
    shapes::strides,
    windows::last_turned,
};
use crate::network::{
    function::Joined,
    linear::{Axis, Linear},
};

/// Products of numbers in a product of two encrypted matrices.
const MOST_PRODUCTS: usize = 1 << 20;

/// Products of encrypted matrices: both repeated to all triples of row, column and place, multiplied there, and summed.
pub(super) fn encrypted(
    builder: &mut Builder,
    [left, right]: [&Tensor; 2],
    (lead, [rows, inner, columns]): (&[usize], [usize; 3]),
) -> Taken<Tensor> {
    let all = [lead, &[rows, columns, inner]].concat();
    let count = all.iter().try_fold(1_usize, |all, &side| all.checked_mul(side)).filter(|&all| all <= MOST_PRODUCTS);
    if count.is_none() {
        let wanted = format!("at most {MOST_PRODUCTS} products of numbers, or one of the matrices constant");
        return refuse(format!("a product of two encrypted matrices, {rows}×{inner} and {inner}×{columns}"), wanted);
    }
    let (left, right) = (builder.shared(left.clone())?, builder.shared(right.clone())?);
    let turned = last_turned(builder, &right)?;
    let mut sides = [left.shape.clone(), turned.shape.clone()];
    let [first, second] = sides.each_mut();
    first.insert(first.len() - 1, 1);
    second.insert(second.len() - 2, 1);
    let [first, second] = sides;
    let left = builder.broadcast(&left.reshaped(first), &all)?;
    let right = builder.broadcast(&turned.reshaped(second), &all)?;
    let products = builder.multiplied(&left, &right)?;
    let summed = (0..all.len()).map(|at| at + 1 == all.len()).collect();
    let shape = [lead, &[rows, columns]].concat();
    builder.linear(&products, Linear::Sum { sides: all, summed, factor: 1.0 }, shape)
}

/// Letters of an operand, one for each of its sides.
type Letters = Vec<char>;

/// The letters of all operands and of the result.
fn equation(text: &str, operands: usize) -> Taken<(Vec<Letters>, Letters)> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = text.split_once("->").map_or((&*text, None), |(left, right)| (left, Some(right)));
    let all: Vec<Letters> = left.split(',').map(|own| own.chars().collect()).collect();
    let known = |letters: &Letters| letters.iter().all(char::is_ascii_alphabetic);
    // Without a result that is named, it has the letters that stand once, in the order of the alphabet.
    let result: Letters = right.map_or_else(
        || {
            let count = |c: &char| all.iter().flatten().filter(|other| *other == c).count();
            let mut once: Letters = all.iter().flatten().copied().filter(|c| count(c) == 1).collect();
            once.sort_unstable();
            once
        },
        |right| right.chars().collect(),
    );
    let told = |c: &char| all.iter().flatten().any(|other| other == c);
    if all.len() != operands || !all.iter().all(known) || !result.iter().all(told) {
        return refuse(format!("the equation {text}"), "letters for the sides of each operand and of the result");
    }
    Ok((all, result))
}

/// A sum of products over named sides, of one operand or two: both are repeated to all sides, multiplied, and summed.
pub(super) fn einsum(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let operands = (0..inputs.len()).map(|at| needed(inputs, at)).collect::<Taken<Vec<_>>>()?;
    if operands.len() > 2 {
        return refuse(format!("{} operands", operands.len()), "one or two");
    }
    let (letters, result) = equation(attributes.text("equation"), operands.len())?;
    // Those of the result first, then those that are summed.
    let mut all = result.clone();
    letters.iter().flatten().for_each(|c| {
        if !all.contains(c) {
            all.push(*c);
        }
    });
    let mut sides = vec![0; all.len()];
    for (tensor, own) in operands.iter().zip(&letters) {
        if own.len() != tensor.shape.len() {
            return refuse(format!("{} letters for a tensor of {:?}", own.len(), tensor.shape), "one for each side");
        }
        for (letter, &side) in own.iter().zip(&tensor.shape) {
            let at = all.iter().position(|c| c == letter).unwrap_or(0);
            if sides[at] != 0 && sides[at] != side {
                return refuse(format!("sides of {} and {side} for {letter}", sides[at]), "equal ones");
            }
            sides[at] = side;
        }
    }
    let count = size(&sides)?;
    if operands.iter().all(|tensor| tensor.numbers().is_none()) && operands.len() == 2 && count > MOST_PRODUCTS {
        let wanted = format!("at most {MOST_PRODUCTS}, or one of the operands constant");
        return refuse(format!("{count} products of encrypted numbers"), wanted);
    }
    let mut spread = Vec::new();
    for (&tensor, own) in operands.iter().zip(&letters) {
        let steps = strides(&tensor.shape);
        let axis = |(letter, &size): (&char, &usize)| {
            let step = own.iter().zip(&steps).filter(|(c, _)| *c == letter).map(|(_, step)| step).sum();
            Axis::whole(size, step)
        };
        let axes = all.iter().zip(&sides).map(axis).collect();
        spread.push(b.linear(tensor, Linear::View { axes, offset: 0, inputs: tensor.size() }, sides.clone())?);
    }
    let product = match &spread[..] {
        [left, right] => joined(b, Joined::Mul, left, right)?,
        [one] => one.clone(),
        _ => return refuse("no operand", "one or two"),
    };
    let summed = (0..all.len()).map(|at| at >= result.len()).collect();
    b.linear(&product, Linear::Sum { sides: sides.clone(), summed, factor: 1.0 }, sides[..result.len()].into())
}
