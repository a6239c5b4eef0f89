//! The polynomial of a degree with the least largest error, for functions with kinks: Remez's exchange.
//!
//! Source: \[Rem34\]. Differs: errors are looked at on a grid, which is dense enough for the degrees here. Degrees are odd:
//! even functions alternate once more than their degree asks for, and the exchange begins at points of equal signs.

use limbwise::ckks::{Series, functions::Fit};
use std::f64::consts::PI;

const ROUNDS: usize = 16;
/// Points of the grid for each point of the reference.
const DENSITY: usize = 24;

/// The best polynomial found, no worse than the one given.
pub(super) fn minimax(g: &impl Fn(f64) -> f64, degree: usize, start: Fit) -> Fit {
    let count = degree + 2;
    let mut reference: Vec<f64> = (0..count).rev().map(|j| (PI * j as f64 / (count - 1) as f64).cos()).collect();
    let points = DENSITY * count;
    let grid: Vec<f64> = (0..=points).rev().map(|j| (PI * j as f64 / points as f64).cos()).collect();
    let values: Vec<f64> = grid.iter().map(|&x| g(x)).collect();
    let mut best = start;
    for _ in 0..ROUNDS {
        let Some((coefficients, level)) = leveled(g, &reference) else { return best };
        let series = Series { coefficients, from: -1.0, to: 1.0 };
        let errors: Vec<f64> = grid.iter().zip(&values).map(|(&x, y)| series.evaluate(x) - y).collect();
        let error = errors.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
        if error < best.error {
            best = Fit { series, error };
        }
        if error <= 1.01 * level.abs() {
            return best;
        }
        let Some(next) = extremes(&grid, &errors, count) else { return best };
        reference = next;
    }
    best
}

/// The polynomial whose errors on the reference are equal with signs in turn, and that error.
fn leveled(g: &impl Fn(f64) -> f64, reference: &[f64]) -> Option<(Vec<f64>, f64)> {
    let count = reference.len();
    let row = |(at, &x): (usize, &f64)| {
        let mut row = vec![1.0, x];
        while row.len() < count - 1 {
            row.push(2.0 * x * row[row.len() - 1] - row[row.len() - 2]);
        }
        row.truncate(count - 1);
        row.push(if at % 2 == 0 { 1.0 } else { -1.0 });
        row.push(g(x));
        row
    };
    let mut solved = solve(reference.iter().enumerate().map(row).collect())?;
    let level = solved.pop()?;
    Some((solved, level))
}

/// The solution of a linear system of rows with their right sides, by elimination.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for at in 0..n {
        let pivot = (at..n).max_by(|&a, &b| rows[a][at].abs().total_cmp(&rows[b][at].abs()))?;
        rows.swap(at, pivot);
        let (above, below) = rows.split_at_mut(at + 1);
        let row = &above[at];
        (row[at].abs() > 1e-14).then_some(())?;
        for other in below {
            let factor = other[at] / row[at];
            other[at..].iter_mut().zip(&row[at..]).for_each(|(x, y)| *x -= factor * y);
        }
    }
    let mut solution = vec![0.0; n];
    for at in (0..n).rev() {
        let known: f64 = (at + 1..n).map(|k| rows[at][k] * solution[k]).sum();
        solution[at] = (rows[at][n] - known) / rows[at][at];
    }
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

/// So many points with the largest errors, whose signs alternate.
fn extremes(grid: &[f64], errors: &[f64], count: usize) -> Option<Vec<f64>> {
    let mut runs: Vec<usize> = Vec::new();
    for (at, error) in errors.iter().enumerate() {
        match runs.last_mut() {
            Some(last) if errors[*last] * error >= 0.0 => {
                if error.abs() > errors[*last].abs() {
                    *last = at;
                }
            }
            _ => runs.push(at),
        }
    }
    while runs.len() > count {
        let size = |at: usize| errors[runs[at]].abs();
        let last = runs.len() - 1;
        if runs.len() == count + 1 {
            runs.remove(if size(0) < size(last) { 0 } else { last });
            continue;
        }
        // Two neighbors go, so that signs still alternate.
        let least = (0..last).min_by(|&a, &b| size(a).max(size(a + 1)).total_cmp(&size(b).max(size(b + 1))))?;
        runs.drain(least..=least + 1);
    }
    (runs.len() == count).then(|| runs.into_iter().map(|at| grid[at]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinks_are_met_as_nearly_as_they_can_be() {
        // Bernstein's constant: n times the least error for |x| tends to 0.2802 for even n.
        for degree in [9, 17, 33, 65] {
            let start = Fit::new(f64::abs, -1.0, 1.0, degree);
            let before = start.error;
            let fit = minimax(&f64::abs, degree as usize, start);
            let constant = fit.error * f64::from(degree - 1);
            assert!((0.26..0.29).contains(&constant) && fit.error < 0.6 * before, "{degree}: {constant}, {before}");
        }
    }
}
