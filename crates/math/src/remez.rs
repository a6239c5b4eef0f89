//! Odd minimax polynomials of the sign function on [−1, −gap] ∪ [gap, 1], by Remez' exchange algorithm.

use crate::chebyshev::Series;

/// Grid points for the search of extrema, each of which is then refined.
const GRID: u32 = 2048;
/// Largest number of exchanges. Convergence is quadratic, so few are needed.
const MOST_EXCHANGES: usize = 40;

/// An odd polynomial p on [−1, 1] with `|p(x) − sign(x)| ≤ error` for `gap ≤ |x| ≤ 1`, the least error of its degree.
#[derive(Clone, Debug, PartialEq)]
pub struct OddSign {
    /// The polynomial as a series.
    pub series: Series,
    /// Largest distance from the sign function.
    pub error: f64,
}

impl OddSign {
    /// The minimax polynomial of an odd degree for a gap.
    ///
    /// Source: \[Rem34\]; the odd basis halves the problem as in \[LLNK22\] §3.
    ///
    /// # Panics
    /// Unless the degree is odd and below 64, and the gap inside (0, 1).
    #[must_use]
    pub fn new(degree: usize, gap: f64) -> Self {
        assert!(degree % 2 == 1 && degree < 64, "degree {degree} is odd and below 64");
        assert!(gap > 0.0 && gap < 1.0, "a gap of {gap} lies inside (0, 1)");
        let terms = degree.div_ceil(2);
        let angle = |i: usize| std::f64::consts::PI * i as f64 / terms as f64;
        // Extrema crowd near the gap: start from Chebyshev's places on a logarithmic axis.
        let points: Vec<f64> = (0..=terms).map(|i| gap.powf(0.5 + 0.5 * angle(i).cos())).collect();
        let mut best = solve(&points, degree);
        for _ in 0..MOST_EXCHANGES {
            let extrema = extrema(&best.0, gap);
            let largest = extrema.iter().map(|&(_, e)| e.abs()).fold(0.0, f64::max);
            if largest <= best.1.abs() * (1.0 + 1e-9) {
                break;
            }
            // Where errors are rounding they alternate no more: nothing is left to gain.
            let Some(points) = alternating(&extrema, terms + 1) else { break };
            best = solve(&points, degree);
        }
        let error = extrema(&best.0, gap).iter().map(|&(_, e)| e.abs()).fold(0.0, f64::max);
        Self { series: best.0, error }
    }
}

/// The odd series with `p(x_j) + (−1)^j·E = 1`, and E.
fn solve(points: &[f64], degree: usize) -> (Series, f64) {
    let mut rows: Vec<Vec<f64>> = points.iter().enumerate().map(|(j, &x)| row(j, x, degree)).collect();
    let solution = crate::chebyshev::least_squares(&mut rows);
    let (error, odd) = solution.split_last().expect("a system has an unknown");
    let mut coefficients = vec![0.0; degree + 1];
    coefficients.iter_mut().skip(1).step_by(2).zip(odd).for_each(|(c, &o)| *c = o);
    (Series { coefficients, from: -1.0, to: 1.0 }, *error)
}

/// T_1(x), T_3(x), …, ±1, 1.
fn row(j: usize, x: f64, degree: usize) -> Vec<f64> {
    let mut row = vec![x];
    let (mut before, mut last) = (x, x); // T_{-1} = T_1
    for _ in 1..degree.div_ceil(2) {
        (before, last) = (last, 2.0 * (2.0 * x * x - 1.0) * last - before);
        row.push(last);
    }
    row.extend([if j.is_multiple_of(2) { 1.0 } else { -1.0 }, 1.0]);
    row
}

/// Local extrema of `p − 1` on [gap, 1], ends included, ascending.
fn extrema(series: &Series, gap: f64) -> Vec<(f64, f64)> {
    let at = |i: u32| gap.powf(1.0 - f64::from(i) / f64::from(GRID));
    let error = |x: f64| series.evaluate(x) - 1.0;
    let errors: Vec<f64> = (0..=GRID).map(|i| error(at(i))).collect();
    let mut found = vec![(gap, errors[0])];
    for (i, three) in (1..).zip(errors.windows(3)) {
        let up = three[1] >= three[0] && three[1] > three[2];
        let down = three[1] <= three[0] && three[1] < three[2];
        if up || down {
            let sign = if up { 1.0 } else { -1.0 };
            let x = highest(|x| sign * error(x), at(i - 1), at(i + 1));
            found.push((x, error(x)));
        }
    }
    found.push((1.0, error(1.0)));
    found
}

/// The argument of the only maximum between two bounds.
fn highest(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        if f(low + third) < f(high - third) { low += third } else { high -= third }
    }
    f64::midpoint(low, high)
}

/// `count` points with alternating error signs, if there are as many: the largest error of each run of one sign.
fn alternating(extrema: &[(f64, f64)], count: usize) -> Option<Vec<f64>> {
    let mut runs: Vec<(f64, f64)> = Vec::new();
    for &(x, e) in extrema {
        match runs.last_mut() {
            Some(last) if last.1.is_sign_positive() == e.is_sign_positive() => {
                if e.abs() > last.1.abs() {
                    *last = (x, e);
                }
            }
            _ => runs.push((x, e)),
        }
    }
    while runs.len() > count {
        let ends = [runs[0].1.abs(), runs[runs.len() - 1].1.abs()];
        runs.remove(if ends[0] < ends[1] { 0 } else { runs.len() - 1 });
    }
    (runs.len() == count).then(|| runs.into_iter().map(|(x, _)| x).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_alternates_and_is_the_least() {
        // Degree 1: p = c·x with c·gap = 1 − E and c = 1 + E, so E = (1 − gap)/(1 + gap).
        let line = OddSign::new(1, 0.25);
        assert!((line.error - 0.6).abs() < 1e-12 && (line.series.coefficients[1] - 1.6).abs() < 1e-12);
        for (degree, gap) in [(3, 0.1), (7, 0.02), (15, 0.01), (15, 0.3), (31, 0.05)] {
            let best = OddSign::new(degree, gap);
            // By de la Vallée Poussin no odd polynomial of this degree is better than the least of alternating errors.
            let around = extrema(&best.series, gap);
            let worst: Vec<f64> = around.iter().map(|p| p.1).filter(|e| e.abs() > 0.999 * best.error).collect();
            let alternations = 1 + worst.windows(2).filter(|e| e[0] * e[1] < 0.0).count();
            assert!(alternations > degree.div_ceil(2), "degree {degree}, gap {gap}: {around:?}");
            assert!((best.series.evaluate(-gap) + best.series.evaluate(gap)).abs() < 1e-12);
        }
        assert!(OddSign::new(15, 0.01).error < OddSign::new(7, 0.01).error);
    }
}
