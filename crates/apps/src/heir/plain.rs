//! The clear twin: the same steps on vectors of numbers.

use super::{act::Act, source::Source};
use limbwise::ckks::Series;
use std::rc::Rc;

/// The slots of each result's ciphertexts, from those of all inputs.
pub fn evaluate(source: &Source, inputs: &[Vec<f64>]) -> Vec<Vec<Vec<f64>>> {
    let mut values: Vec<Rc<Vec<f64>>> = inputs.iter().cloned().map(Rc::new).collect();
    for step in &source.steps {
        let a = &values[step.operands[0] as usize];
        let b = step.operands.get(1).map(|&id| &values[id as usize][..]);
        let plain = step.plain.map(|at| &*source.plains[at as usize].values);
        let other = b.or(plain).unwrap_or(&[]);
        let both = |f: fn(f64, f64) -> f64| a.iter().zip(other).map(|(&x, &y)| f(x, y)).collect();
        let result: Vec<f64> = match &step.act {
            Act::Add | Act::AddPlain => both(|x, y| x + y),
            Act::Sub | Act::SubPlain => both(|x, y| x - y),
            Act::PlainSub => both(|x, y| y - x),
            Act::Mul | Act::MulPlain => both(|x, y| x * y),
            Act::Negate => a.iter().map(|x| -x).collect(),
            Act::Rotate(steps) => {
                let slots = i64::try_from(a.len()).unwrap_or(1);
                let left = usize::try_from(steps.rem_euclid(slots)).unwrap_or(0);
                (0..a.len()).map(|i| a[(i + left) % a.len()]).collect()
            }
            Act::Chebyshev { coefficients, from, to } => {
                let series = Series { coefficients: coefficients.to_vec(), from: *from, to: *to };
                a.iter().map(|&x| series.evaluate(x)).collect()
            }
            Act::Relinearize | Act::Rescale | Act::LevelReduce | Act::Bootstrap => {
                values.push(Rc::clone(a));
                continue;
            }
        };
        values.push(Rc::new(result));
    }
    let rows = |ids: &Vec<u32>| ids.iter().map(|&id| values[id as usize].to_vec()).collect();
    source.outcomes.iter().map(|outcome| rows(&outcome.ids)).collect()
}
