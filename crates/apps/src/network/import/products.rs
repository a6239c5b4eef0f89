//! Products of tensors that are not pointwise, and of which both may be encrypted.

use super::{
    Taken,
    builder::{Builder, Tensor, size},
    operators::{Attributes, needed},
    refuse,
    shapes::{strides, transposed},
    windows::matmul,
};
use crate::network::{
    linear::{Axis, Linear},
    matrices::Matrices,
};

/// Products of numbers in a product of two encrypted matrices.
const MOST_PRODUCTS: usize = 1 << 34;
/// Places that are summed, for each row and column: of more, each is a step of two rotations, and the sum is divided.
const LONG: usize = 4;

/// A product of encrypted matrices, one for each place of the leading sides.
pub(super) fn encrypted(
    b: &mut Builder,
    [left, right]: [&Tensor; 2],
    (lead, [rows, inner, columns]): (&[usize], [usize; 3]),
) -> Taken<Tensor> {
    let all = [lead, &[rows, columns, inner]].concat();
    if all.iter().try_fold(1_usize, |all, &side| all.checked_mul(side)).is_none_or(|all| all > MOST_PRODUCTS) {
        let wanted = format!("at most {MOST_PRODUCTS} products of numbers, or one of the matrices constant");
        return refuse(format!("a product of two encrypted matrices, {rows}×{inner} and {inner}×{columns}"), wanted);
    }
    let left = b.broadcast(left, &[lead, &[rows, inner]].concat())?;
    let right = b.broadcast(right, &[lead, &[inner, columns]].concat())?;
    let pairs = size(lead)?;
    let result = [lead, &[rows, columns]].concat();
    let most = rows.max(columns);
    if inner <= LONG * most {
        return product(b, [&left, &right], Matrices { pairs, rows, inner, columns }, result);
    }
    // Pieces of as many places as there are rows or columns are matrices of their own, and their products are summed.
    let pieces = inner.div_ceil(most);
    let filled = |axis: Axis| Axis { side: inner, ..axis };
    let all = pieces * most;
    let left = {
        let axes = vec![Axis::whole(pairs * rows, inner), filled(Axis::whole(all, 1))];
        let whole =
            b.linear(&left, Linear::View { axes, offset: 0, inputs: left.size() }, vec![pairs, rows, pieces, most])?;
        transposed(b, &whole, &[0, 2, 1, 3])?
    };
    let axes = vec![Axis::whole(pairs, inner * columns), filled(Axis::whole(all, columns)), Axis::whole(columns, 1)];
    let inputs = right.size();
    let right = b.linear(&right, Linear::View { axes, offset: 0, inputs }, vec![pairs, pieces, most, columns])?;
    let matrices = Matrices { pairs: pairs * pieces, rows, inner: most, columns };
    let sides = vec![pairs, pieces, rows, columns];
    let products = product(b, [&left, &right], matrices, sides.clone())?;
    let summed = vec![false, true, false, false];
    b.linear(&products, Linear::Sum { sides, summed, factor: 1.0 }, result)
}

/// A product of matrices; of those of one number each it is one of numbers.
fn product(b: &mut Builder, of: [&Tensor; 2], matrices: Matrices, shape: Vec<usize>) -> Taken<Tensor> {
    let Matrices { rows, inner, columns, .. } = matrices;
    if [rows, inner, columns] != [1; 3] {
        return b.matrix_product(of, matrices, shape);
    }
    let [left, right] = of.map(|x| x.reshaped(shape.clone()));
    b.multiplied(&left, &right)
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

/// The sides of a sum of products, by letters.
struct Named {
    letters: Letters,
    sizes: Vec<usize>,
}

impl Named {
    fn of(operands: &[&Tensor], letters: &[Letters]) -> Taken<Self> {
        let mut all = Self { letters: Letters::new(), sizes: Vec::new() };
        for (tensor, own) in operands.iter().zip(letters) {
            if own.len() != tensor.shape.len() {
                return refuse(
                    format!("{} letters for a tensor of {:?}", own.len(), tensor.shape),
                    "one for each side",
                );
            }
            for (&letter, &side) in own.iter().zip(&tensor.shape) {
                match all.letters.iter().position(|&c| c == letter) {
                    Some(at) if all.sizes[at] != side => {
                        return refuse(format!("sides of {} and {side} for {letter}", all.sizes[at]), "equal ones");
                    }
                    Some(_) => {}
                    None => {
                        all.letters.push(letter);
                        all.sizes.push(side);
                    }
                }
            }
        }
        Ok(all)
    }

    fn sizes(&self, letters: &[char]) -> Vec<usize> {
        let size = |letter| self.letters.iter().position(|c| c == letter).map_or(1, |at| self.sizes[at]);
        letters.iter().map(size).collect()
    }

    /// An operand with these sides; its others are summed, and of a letter that it has twice the diagonal is taken.
    fn brought(&self, b: &mut Builder, (tensor, own): (&Tensor, &Letters), to: &[char]) -> Taken<Tensor> {
        let mut all = to.to_vec();
        own.iter().for_each(|c| {
            if !all.contains(c) {
                all.push(*c)
            }
        });
        let (sizes, steps) = (self.sizes(&all), strides(&tensor.shape));
        let axis = |(letter, &size): (&char, &usize)| {
            let step = own.iter().zip(&steps).filter(|(c, _)| *c == letter).map(|(_, step)| step).sum();
            Axis::whole(size, step)
        };
        let axes = all.iter().zip(&sizes).map(axis).collect();
        let kept = sizes[..to.len()].to_vec();
        let viewed = match *own == all {
            true => tensor.clone(),
            false => b.linear(tensor, Linear::View { axes, offset: 0, inputs: tensor.size() }, sizes.clone())?,
        };
        if all.len() == to.len() {
            return Ok(viewed);
        }
        let summed = (0..all.len()).map(|at| at >= to.len()).collect();
        b.linear(&viewed, Linear::Sum { sides: sizes, summed, factor: 1.0 }, kept)
    }
}

/// A sum of products over named sides, of one operand or two: two are a product of matrices, one for each place of the sides
/// that both and the result have.
pub(super) fn einsum(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Tensor> {
    let operands = (0..inputs.len()).map(|at| needed(inputs, at)).collect::<Taken<Vec<_>>>()?;
    let (letters, result) = equation(attributes.text("equation"), operands.len())?;
    let named = Named::of(&operands, &letters)?;
    let ([left, right], [of_left, of_right]) = match (&operands[..], &letters[..]) {
        ([one], [own]) => return named.brought(b, (one, own), &result),
        ([left, right], [of_left, of_right]) => ([*left, *right], [of_left, of_right]),
        _ => return refuse(format!("{} operands", operands.len()), "one or two"),
    };
    let of =
        |letters: &Letters, is: &dyn Fn(&char) -> bool| -> Letters { letters.iter().copied().filter(is).collect() };
    let lead = of(&result, &|c| of_left.contains(c) && of_right.contains(c));
    let rows = of(&result, &|c| of_left.contains(c) && !of_right.contains(c));
    let columns = of(&result, &|c| of_right.contains(c) && !of_left.contains(c));
    let inner = of(&named.letters, &|c| of_left.contains(c) && of_right.contains(c) && !result.contains(c));
    let sides = [&lead, &rows, &inner, &columns].map(|letters| named.sizes(letters).iter().product());
    let [pairs, height, places, width]: [usize; 4] = sides;
    let left = named.brought(b, (left, of_left), &[&lead[..], &rows, &inner].concat())?;
    let right = named.brought(b, (right, of_right), &[&lead[..], &inner, &columns].concat())?;
    let (left, right) = (left.reshaped(vec![pairs, height, places]), right.reshaped(vec![pairs, places, width]));
    let product = matmul(b, &left, &right)?;
    let made = [lead, rows, columns].concat();
    let product = product.reshaped(named.sizes(&made));
    if made == result {
        return Ok(product);
    }
    let order: Vec<usize> = result.iter().map(|c| made.iter().position(|other| other == c).unwrap_or(0)).collect();
    transposed(b, &product, &order)
}
