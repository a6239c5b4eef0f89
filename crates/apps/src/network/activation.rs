//! Polynomials in the place of functions, by a wanted error: a series, or for `max(x, 0)` a composed sign.
//!
//! Values are in units: a value x is `middle + half·u` with u in [−1, 1]. A polynomial takes u and gives its function in
//! units of the function's largest value. Of all polynomials that come within the error the one of least depth is taken,
//! and of these the one of the least degree.

use super::{NetworkError, function::Expression};
use limbwise::{
    Result,
    ckks::{
        Auto, Ciphertext, Series,
        chebyshev::depth,
        functions::{Composed, Fit, SignPlan},
    },
};
use limbwise_device::Device;

/// How a value's numbers lie in slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub middle: f64,
    pub half: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Series(Series),
    /// `u·step(u)`.
    Sign(Composed),
}

/// A polynomial on [−1, 1].
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    form: Form,
    /// The unit of its result; values in it are in [−1, 1].
    pub unit: Unit,
    /// Largest error, in units of the result.
    pub error: f64,
}

const MOST_DEPTH: usize = 8;
const POINTS: u32 = 4096;

/// A point of the grid on [−1, 1].
fn point(at: u32) -> f64 {
    2.0 * f64::from(at) / f64::from(POINTS) - 1.0
}

impl Activation {
    /// For a function of a value in units, with this error for each unit of its largest result.
    ///
    /// # Errors
    /// [`NetworkError::Domain`] or [`NetworkError::Polynomial`], which name the layer.
    pub fn new(layer: &str, expression: &Expression, unit: Unit, error: f64) -> std::result::Result<Self, NetworkError> {
        let f = |u: f64| expression.evaluate(unit.middle + unit.half * u);
        let (from, to) = (unit.middle - unit.half, unit.middle + unit.half);
        let samples: Vec<f64> = (0..=POINTS).map(|at| f(point(at))).collect();
        let function = expression.text();
        if samples.iter().any(|y| !y.is_finite()) {
            return Err(NetworkError::Domain { layer: layer.into(), function, from, to });
        }
        let largest = samples.iter().fold(1e-12, |most: f64, y| most.max(y.abs()));
        let g = |u: f64| f(u) / largest;
        let series = (1..=MOST_DEPTH).find_map(|levels| within(&g, levels, error));
        let sign = (expression.is_relu() && unit.middle.abs() < 1e-12 * unit.half).then(|| relu(error)).flatten();
        let (form, reached) = match (series, sign) {
            (Some(fit), Some((sign, _))) if depth_of(&fit.series) <= sign.depth() + 1 => {
                (Form::Series(fit.series), fit.error)
            }
            (_, Some((sign, reached))) => (Form::Sign(sign), reached),
            (Some(fit), None) => (Form::Series(fit.series), fit.error),
            (None, None) => {
                let degree = (1 << MOST_DEPTH) - 1;
                let reached = Fit::new(g, -1.0, 1.0, degree).error;
                let (degree, wanted) = (degree as usize, error);
                let layer = layer.into();
                return Err(NetworkError::Polynomial { layer, function, from, to, degree, reached, wanted });
            }
        };
        // What overshoots stays in the unit. A sign has one of its argument's, which its margin keeps it from filling.
        let room = if matches!(form, Form::Series(_)) { 1.0 + reached } else { 1.0 };
        Ok(Self { form: form.shrunk(room), unit: Unit { middle: 0.0, half: largest * room }, error: reached / room })
    }

    pub fn depth(&self) -> usize {
        match &self.form {
            Form::Series(series) => depth_of(series),
            Form::Sign(sign) => sign.depth() + 1,
        }
    }

    /// As people name it.
    pub fn text(&self) -> String {
        match &self.form {
            Form::Series(series) => format!("degree {}", series.coefficients.len() - 1),
            Form::Sign(sign) => format!("a sign of depth {}", sign.depth()),
        }
    }

    /// Its value for an argument in units, in units.
    pub fn evaluate(&self, u: f64) -> f64 {
        match &self.form {
            Form::Series(series) => series.evaluate(u),
            Form::Sign(sign) => u * sign.evaluate(u),
        }
    }

    /// Its values on slots in [−1, 1], settled.
    pub fn apply<D: Device>(&self, auto: &Auto<'_, D>, u: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let value = match &self.form {
            Form::Series(series) => auto.settle(&auto.chebyshev_unit(u, &series.coefficients)?)?,
            // The plan of levels has bootstrapped before, where that was needed.
            Form::Sign(sign) => sign.times_argument(auto, u, &|x, _| auto.settle(x))?,
        };
        Ok(value.bounded_by(1.0))
    }
}

impl Form {
    fn shrunk(self, room: f64) -> Self {
        match self {
            Self::Series(series) => {
                let coefficients = series.coefficients.iter().map(|c| c / room).collect();
                Self::Series(Series { coefficients, ..series })
            }
            sign @ Self::Sign(_) => sign,
        }
    }
}

fn depth_of(series: &Series) -> usize {
    depth(series.coefficients.len() - 1)
}

/// The series of the least degree of this depth within an error, if there is one.
fn within(g: &impl Fn(f64) -> f64, levels: usize, error: f64) -> Option<Fit> {
    let (least, most) = (1_u32 << (levels - 1), (1_u32 << levels) - 1);
    let good = |degree: u32| Some(cleaned(Fit::new(g, -1.0, 1.0, degree), g)).filter(|fit| fit.error <= error);
    let best = good(most)?;
    // Errors fall with the degree, nearly: halve what is left.
    let (mut low, mut high, mut found) = (least, most, best);
    while low < high {
        let middle = low.midpoint(high);
        match good(middle) {
            Some(fit) => (high, found) = (middle, fit),
            None => low = middle + 1,
        }
    }
    Some(found)
}

/// Without coefficients that are nothing but rounding, which cost products.
fn cleaned(mut fit: Fit, g: &impl Fn(f64) -> f64) -> Fit {
    let coefficients = &mut fit.series.coefficients;
    let most = coefficients.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
    coefficients.iter_mut().filter(|c| c.abs() < 1e-13 * most).for_each(|c| *c = 0.0);
    while coefficients.len() > 2 && coefficients.last() == Some(&0.0) {
        coefficients.pop();
    }
    fit.error = (0..=POINTS).map(point).map(|u| (fit.series.evaluate(u) - g(u)).abs()).fold(fit.error, f64::max);
    fit
}

/// `u·step(u)` within an error of `max(u, 0)`, by a sign of the least depth.
fn relu(error: f64) -> Option<(Composed, f64)> {
    // What lies in the gap is wrong by half of it at most, and what lies outside by half of the sign's error.
    let plan = SignPlan::new((2.0 * error).min(0.5), (2.0 * error).min(0.5), 4)?;
    let step = Composed::step(&plan);
    let at = |u: f64| (u * step.evaluate(u) - u.max(0.0)).abs();
    let reached = (0..=POINTS).map(point).map(at).fold(0.0, f64::max);
    Some((step, reached))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::function::{Joined, Named};

    fn silu() -> Expression {
        Expression::X.with(Joined::Mul, Expression::X.of(Named::Sigmoid))
    }

    #[test]
    fn polynomials_keep_their_error() {
        let gelu = Expression::X.by(Joined::Mul, std::f64::consts::FRAC_1_SQRT_2).of(Named::Erf);
        let gelu = gelu.by(Joined::Add, 1.0).by(Joined::Mul, 0.5).with(Joined::Mul, Expression::X);
        let shifted = Unit { middle: 3.0, half: 2.5 };
        for (expression, unit, error) in [
            (silu(), Unit { middle: 0.0, half: 6.0 }, 1e-3),
            (gelu, Unit { middle: 0.0, half: 4.0 }, 1e-4),
            (Expression::X.of(Named::Relu), Unit { middle: 0.0, half: 10.0 }, 5e-3),
            (Expression::X.of(Named::Relu), Unit { middle: 0.0, half: 10.0 }, 2e-4),
            (Expression::X.of(Named::Reciprocal), shifted, 1e-3),
            (Expression::X.by(Joined::Pow, 3.0), shifted, 1e-6),
        ] {
            let activation = Activation::new("a", &expression, unit, error).unwrap();
            for at in 0..=1000 {
                let u = f64::from(at) / 500.0 - 1.0;
                let (wanted, got) = (expression.evaluate(unit.middle + unit.half * u), activation.evaluate(u));
                assert!(got.abs() <= 1.0 + error, "{} at {u}: {got}", expression.text());
                let off = (got * activation.unit.half - wanted).abs() / activation.unit.half;
                assert!(off <= error * 1.01 + 1e-9, "{} at {u}: {off}", expression.text());
            }
        }
    }

    #[test]
    fn depth_follows_the_error() {
        let of = |expression: &Expression, error| {
            Activation::new("a", expression, Unit { middle: 0.0, half: 5.0 }, error).unwrap()
        };
        assert!(of(&silu(), 1e-2).depth() < of(&silu(), 1e-6).depth());
        let relu = Expression::X.of(Named::Relu);
        assert_eq!((of(&relu, 0.01).text(), of(&relu, 0.01).depth()), ("degree 14".to_owned(), 4));
        assert!(of(&relu, 2e-4).text().contains("sign"));
        let abs = Activation::new("layer 7", &Expression::X.of(Named::Abs), Unit { middle: 0.0, half: 1.0 }, 1e-4);
        let text = abs.unwrap_err().to_string();
        assert!(text.contains("layer 7") && text.contains("abs(x)") && text.contains("255"), "{text}");
        let log = Activation::new("l", &Expression::X.of(Named::Log), Unit { middle: 0.0, half: 1.0 }, 1e-2);
        assert!(log.unwrap_err().to_string().contains("no finite value"));
    }
}
