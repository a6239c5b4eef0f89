//! Polynomials in the place of functions, by a wanted error: a series, for `max(x, 0)` a composed sign, for other kinks both.
//!
//! Values are in units: a value x is `middle + half·u` with u in [−1, 1]. A polynomial takes u and gives its function in
//! units of the function's largest value. Of all polynomials that come within the error the one of least depth is taken,
//! and of these the one of the least degree.

use super::{
    NetworkError,
    function::{Expression, Named},
    kinks::Kinked,
    minimax::minimax,
};
use limbwise::{
    Result,
    ckks::{
        Auto, Ciphertext, Series,
        chebyshev::depth,
        functions::{Composed, Fit, SignPlan, Smooth},
    },
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};

/// A composed sign: odd degrees of its stages, and a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignChoice {
    /// Odd degrees of its stages, below 64.
    pub degrees: Vec<usize>,
    /// −log₂ of the gap: what is smaller than the range times the gap may be taken for either sign.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub gap_bits: f64,
}

impl Default for SignChoice {
    /// Twelve levels: with these the scores of the CIFAR-10 network differ by 0.01 in the mean.
    fn default() -> Self {
        Self { degrees: vec![15, 15, 15], gap_bits: 8.0 }
    }
}

impl SignChoice {
    pub(super) const WANTED: &str = "1 to 6 odd degrees from 3 to 63, a gap of 1 to 20 bits";

    /// Whether there is such a composition.
    pub fn is_possible(&self) -> bool {
        let odd = |d: &usize| d % 2 == 1 && (3..64).contains(d);
        (1..=6).contains(&self.degrees.len()) && self.degrees.iter().all(odd) && (1.0..=20.0).contains(&self.gap_bits)
    }

    /// The composition of a choice that is possible.
    pub fn plan(&self) -> SignPlan {
        SignPlan::of_degrees((-self.gap_bits).exp2(), &self.degrees)
    }
}

/// What is asked of a polynomial.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Largest error for each unit of the function's largest result.
    pub error: f64,
    /// The sign for functions that bend at zero alone, whatever its error.
    pub sign: Option<&'a SignChoice>,
}

/// How a value's numbers lie in slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub middle: f64,
    pub half: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Series(Series),
    /// `line·u + rise·u·step(u)`: a function that is straight on both sides of zero.
    Sign {
        step: Composed,
        line: f64,
        rise: f64,
    },
    Kinked(Kinked),
    /// `step((u + moved)/width)`: 0 or 1, but where u is nearly `−moved`.
    Step {
        step: Composed,
        moved: f64,
        width: f64,
    },
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

/// Activations that were found for one choice of a sign. Functions that differ by a factor have one polynomial in units: a
/// search of seconds serves all ReLUs of a network, and all rounds of a maximum.
#[derive(Default)]
pub(super) struct Found(Vec<Shape>);

/// A function in units, at the points of the grid, with its activation and the error that was asked for.
struct Shape {
    samples: Vec<f64>,
    error: f64,
    /// For a function whose largest value is 1.
    activation: Activation,
}

/// What rounding does to a function in units.
const ROUNDING: f64 = 1e-13;

impl Found {
    /// As [`Activation::new`].
    ///
    /// # Errors
    /// As [`Activation::new`].
    pub(super) fn activation(
        &mut self,
        named: (&str, &Expression),
        unit: Unit,
        wanted: Wanted<'_>,
    ) -> std::result::Result<Activation, NetworkError> {
        let of = |at: u32| named.1.evaluate(unit.middle + unit.half * point(at));
        let mut samples: Vec<f64> = (0..=POINTS).map(of).collect();
        let largest = samples.iter().fold(1e-12, |most: f64, y| most.max(y.abs()));
        samples.iter_mut().for_each(|y| *y /= largest);
        let alike = |shape: &&Shape| {
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING;
            shape.error.total_cmp(&wanted.error).is_eq() && shape.samples.iter().zip(&samples).all(near)
        };
        let scaled = |activation: Activation, by: f64| {
            let Unit { middle, half } = activation.unit;
            Activation { unit: Unit { middle, half: half * by }, ..activation }
        };
        if let Some(shape) = self.0.iter().find(alike) {
            return Ok(scaled(shape.activation.clone(), largest));
        }
        let activation = Activation::new(named, unit, wanted)?;
        self.0.push(Shape { samples, error: wanted.error, activation: scaled(activation.clone(), 1.0 / largest) });
        Ok(activation)
    }
}

const MOST_DEPTH: usize = 8;
const POINTS: u32 = 4096;

/// A point of the grid on [−1, 1].
fn point(at: u32) -> f64 {
    2.0 * f64::from(at) / f64::from(POINTS) - 1.0
}

impl Activation {
    /// For the function of a layer of a value in units.
    ///
    /// # Errors
    /// [`NetworkError::Domain`] or [`NetworkError::Polynomial`], which name the layer.
    pub fn new(
        (layer, expression): (&str, &Expression),
        unit: Unit,
        Wanted { error, sign: choice }: Wanted<'_>,
    ) -> std::result::Result<Self, NetworkError> {
        if let Some(step) = Self::step(expression, error) {
            return Ok(step);
        }
        let f = |u: f64| expression.evaluate(unit.middle + unit.half * u);
        let (from, to) = (unit.middle - unit.half, unit.middle + unit.half);
        let samples: Vec<f64> = (0..=POINTS).map(|at| f(point(at))).collect();
        let function = expression.text();
        if samples.iter().any(|y| !y.is_finite()) {
            return Err(NetworkError::Domain { layer: layer.into(), function, from, to });
        }
        let largest = samples.iter().fold(1e-12, |most: f64, y| most.max(y.abs()));
        let g = |u: f64| f(u) / largest;
        let plan = |bend: f64| match choice {
            Some(choice) => Some(choice.plan()),
            None => Bent::plan(largest, bend, error),
        };
        let sign = sides(&f, &samples).and_then(|sides| Bent::new(sides, largest, plan));
        // A sign that was asked for is taken: no series need be found.
        let asked = choice.is_some() && sign.is_some();
        let series = if asked { None } else { (1..=MOST_DEPTH).find_map(|levels| within(&g, levels, error)) };
        let series_depth = series.as_ref().map(|fit| depth_of(&fit.series));
        let shallower = |depth: usize| series_depth.is_none_or(|series| depth < series);
        let kinked = || {
            let value = |u: f64| unit.middle + unit.half * u;
            let of_rest = |rest: &dyn Fn(f64) -> f64, error: f64| {
                (1..=MOST_DEPTH).find_map(|levels| within(&|u| rest(u), levels, error))
            };
            Kinked::new(&g, (expression, &value), error, &of_rest)
        };
        let (form, reached) = match (series, sign) {
            (_, Some(bent)) if shallower(bent.depth()) => {
                let Bent { step, line, rise, half, reached } = bent;
                let unit = Unit { middle: 0.0, half };
                return Ok(Self { form: Form::Sign { step, line, rise }, unit, error: reached });
            }
            (Some(fit), _) => (Form::Series(fit.series), fit.error),
            (None, _) => match kinked() {
                Some(kinked) => (Form::Kinked(kinked.clone()), kinked.error),
                None => {
                    let degree = (1 << MOST_DEPTH) - 1;
                    let reached = Fit::new(g, -1.0, 1.0, degree).error;
                    let (degree, wanted, layer) = (degree as usize, error, layer.into());
                    return Err(NetworkError::Polynomial { layer, function, from, to, degree, reached, wanted });
                }
            },
        };
        // What overshoots stays in the unit.
        let room = 1.0 + reached;
        Ok(Self { form: form.shrunk(room), unit: Unit { middle: 0.0, half: largest * room }, error: reached / room })
    }

    /// Which of two numbers is the greater, from their difference. What differs by less than the error for each unit of the
    /// range may be neither, but equal ones are told: the step stands beside zero.
    fn step(expression: &Expression, error: f64) -> Option<Self> {
        let side = [(Named::Positive, -2.0), (Named::NotNegative, 2.0)];
        let (_, side) = side.into_iter().find(|(named, _)| *expression == Expression::X.of(*named))?;
        // Rounding is no difference, however small the error.
        let gap = (0.5 * error).max(1e-6);
        let step = Composed::step(&SignPlan::new(gap, error, 4)?);
        let form = Form::Step { step, moved: side * gap, width: 1.0 + 2.0 * gap };
        Some(Self { form, unit: Unit { middle: 0.0, half: 1.0 }, error: 0.5 * error })
    }

    pub fn depth(&self) -> usize {
        match &self.form {
            Form::Series(series) => depth_of(series),
            Form::Sign { step, rise, .. } => sign_depth(step, *rise),
            Form::Kinked(kinked) => kinked.depth(),
            Form::Step { step, .. } => step.depth() + 1,
        }
    }

    /// As people name it.
    pub fn text(&self) -> String {
        match &self.form {
            Form::Series(series) => format!("degree {}", series.coefficients.len() - 1),
            Form::Sign { step, .. } | Form::Step { step, .. } => format!("a sign of depth {}", step.depth()),
            Form::Kinked(kinked) => kinked.text(),
        }
    }

    /// Its value for an argument in units, in units.
    pub fn evaluate(&self, u: f64) -> f64 {
        match &self.form {
            Form::Series(series) => series.evaluate(u),
            Form::Sign { step, line, rise } => u * (line + rise * step.evaluate(u)),
            Form::Kinked(kinked) => kinked.evaluate(u),
            Form::Step { step, moved, width } => step.evaluate((u + moved) / width),
        }
    }

    /// Its values on slots in [−1, 1], settled. Where arguments are not spread evenly, `slope` is the root mean square of a
    /// series' slope at them, in units.
    pub fn apply<D: Device>(&self, auto: &Auto<'_, D>, u: &Ciphertext<D>, slope: Option<f64>) -> Result<Ciphertext<D>> {
        let value = match &self.form {
            Form::Series(series) => {
                let smooth = smooth(series);
                let smooth = if let Some(slope) = slope { smooth.with_slope(slope) } else { smooth };
                smooth.apply(auto, u, &|x, _| auto.settle(x))?
            }
            Form::Kinked(kinked) => kinked.apply(auto, u)?,
            Form::Step { step, moved, width } => {
                let moved = auto.scale_to(&auto.add_scalar(u, *moved), 1.0 / width, u.level - 1)?.bounded_by(1.0);
                step.apply(auto, &moved, &|x, _| auto.settle(x))?
            }
            // The plan of levels has bootstrapped before, where that was needed.
            Form::Sign { step, line, rise } => {
                let bend = step.times_argument(auto, u, &|x, _| auto.settle(x))?;
                let bend = match *rise {
                    1.0 => bend,
                    -1.0 => auto.eval.negate(&bend),
                    rise => auto.scale_to(&bend, rise, bend.level - 1)?,
                };
                if line.abs() > 0.0 { auto.add(&bend, &auto.scale_to(u, *line, bend.level)?)? } else { bend }
            }
        };
        // A step reaches beyond 0 and 1 by its error; other forms were shrunk by theirs.
        Ok(value.bounded_by(if matches!(self.form, Form::Step { .. }) { 1.0 + self.error } else { 1.0 }))
    }
}

impl Form {
    fn shrunk(self, room: f64) -> Self {
        match self {
            Self::Series(series) => {
                let coefficients = series.coefficients.iter().map(|c| c / room).collect();
                Self::Series(Series { coefficients, ..series })
            }
            Self::Kinked(kinked) => Self::Kinked(kinked.shrunk(room)),
            sign @ (Self::Sign { .. } | Self::Step { .. }) => sign,
        }
    }
}

fn sign_depth(step: &Composed, rise: f64) -> usize {
    step.depth() + 1 + usize::from(rise.abs() < 1.0)
}

fn depth_of(series: &Series) -> usize {
    depth(series.coefficients.len() - 1)
}

/// A series whose errors go by its slope: the rules of sums and products, which cannot know what cancels, would add two bits
/// a layer.
pub(super) fn smooth(series: &Series) -> Smooth {
    Smooth::of_series("polynomial", series.clone())
}

/// The series of the least degree of this depth within an error, if there is one.
fn within(g: &impl Fn(f64) -> f64, levels: usize, error: f64) -> Option<Fit> {
    let (least, most) = (1_u32 << (levels - 1), (1_u32 << levels) - 1);
    let interpolated = |degree: u32| cleaned(Fit::new(g, -1.0, 1.0, degree), g);
    // Interpolation is as good as any for smooth functions; with a kink the best polynomial is several times nearer.
    let smooth = interpolated(most).error <= error;
    let good = |degree: u32| {
        let degree = degree | 1;
        let fit = interpolated(degree);
        let nearer = !smooth && fit.error > error && fit.error <= 8.0 * error;
        let fit = if nearer { cleaned(minimax(g, degree as usize, fit), g) } else { fit };
        Some(fit).filter(|fit| fit.error <= error)
    };
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
    coefficients.iter_mut().filter(|c| c.abs() < 1e-11 * most).for_each(|c| *c = 0.0);
    while coefficients.len() > 2 && coefficients.last() == Some(&0.0) {
        coefficients.pop();
    }
    fit.error = (0..=POINTS).map(point).map(|u| (fit.series.evaluate(u) - g(u)).abs()).fold(0.0, f64::max);
    fit
}

/// The values at −1 and 1 of a function that is straight on both sides of zero, where it is 0.
fn sides(f: &impl Fn(f64) -> f64, samples: &[f64]) -> Option<[f64; 2]> {
    let (below, above) = (-f(-1.0), f(1.0));
    let straight = |(at, y): (u32, &f64)| {
        let u = point(at);
        (y - u * if u < 0.0 { below } else { above }).abs() <= 1e-9 * below.abs().max(above.abs())
    };
    (0..).zip(samples).all(straight).then_some([below, above])
}

/// A function that is straight on both sides of zero, by a sign of the least depth.
struct Bent {
    step: Composed,
    line: f64,
    rise: f64,
    /// Its unit.
    half: f64,
    reached: f64,
}

impl Bent {
    fn depth(&self) -> usize {
        sign_depth(&self.step, self.rise)
    }

    /// The sign of least depth within an error for each unit of the largest value.
    fn plan(largest: f64, bend: f64, error: f64) -> Option<SignPlan> {
        // What lies in the gap is wrong by half of it at most, and what lies outside by half of the sign's error.
        let allowed = (2.0 * error * largest / bend).min(0.5);
        SignPlan::new(allowed, allowed, 4)
    }

    /// `below·u + (above − below)·max(u, 0)` with the sign of a plan. What hardly bends has no sign that is worth it.
    fn new([below, above]: [f64; 2], largest: f64, plan: impl Fn(f64) -> Option<SignPlan>) -> Option<Self> {
        let bend = (above - below).abs();
        (bend >= 0.25 * largest).then_some(())?;
        let step = Composed::step(&plan(bend)?);
        let at = |u: f64| (u * step.evaluate(u) - u.max(0.0)).abs();
        let reached = (0..=POINTS).map(point).map(at).fold(0.0, f64::max);
        // In units of the bend no factor is needed, where values stay inside such a unit.
        let half = if bend >= largest * (1.0 - 1e-9) { bend } else { largest };
        let size = if bend < half { bend / half } else { 1.0 };
        let rise = if above < below { -size } else { size };
        Some(Self { step, line: below / half, rise, half, reached: reached * size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::function::{Joined, Named};

    fn silu() -> Expression {
        Expression::X.with(Joined::Mul, Expression::X.of(Named::Sigmoid))
    }

    fn asked(error: f64) -> Wanted<'static> {
        Wanted { error, sign: None }
    }

    #[test]
    fn a_chosen_sign_is_the_function_outside_its_gap() {
        let choice = SignChoice { degrees: vec![7, 7, 15], gap_bits: 6.0 };
        let relu = Expression::X.of(Named::Relu);
        let wanted = Wanted { error: 0.25, sign: Some(&choice) };
        let relu = Activation::new(("a", &relu), Unit { middle: 0.0, half: 3.0 }, wanted).unwrap();
        assert!(choice.is_possible() && relu.depth() == 11 && relu.text().contains("sign"));
        for i in -1000..=1000 {
            let u = f64::from(i) / 1000.0;
            let bound = if u.abs() < 1.0 / 64.0 { u.abs() } else { 0.5 * u.abs() * choice.plan().error };
            assert!((relu.evaluate(u) - u.max(0.0)).abs() <= bound * (1.0 + 1e-6), "{u}");
        }
        assert!(!SignChoice { degrees: vec![4], gap_bits: 6.0 }.is_possible());
        assert!(!SignChoice { degrees: vec![], gap_bits: 6.0 }.is_possible());
    }

    fn hard_swish() -> Expression {
        let gate = Expression::X.by(Joined::Div, 6.0).by(Joined::Add, 0.5);
        gate.by(Joined::Max, 0.0).by(Joined::Min, 1.0).with(Joined::Mul, Expression::X)
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
            (Expression::X.of(Named::Abs), Unit { middle: 0.0, half: 3.0 }, 2e-4),
            (
                Expression::X.by(Joined::Min, 0.0).by(Joined::Mul, 0.5).with(Joined::Add, Expression::X),
                Unit { middle: 0.0, half: 3.0 },
                2e-4,
            ),
            (Expression::X.by(Joined::Min, 0.0), Unit { middle: 0.0, half: 3.0 }, 2e-4),
            (Expression::X.of(Named::Reciprocal), shifted, 1e-3),
            (Expression::X.by(Joined::Pow, 3.0), shifted, 1e-6),
            (Expression::X.by(Joined::Max, -1.0).by(Joined::Min, 0.5), Unit { middle: 0.0, half: 4.0 }, 1e-4),
            (hard_swish(), Unit { middle: 0.0, half: 8.0 }, 1e-5),
            (Expression::X.by(Joined::Add, 0.5).of(Named::Abs), Unit { middle: 0.0, half: 1.0 }, 1e-4),
        ] {
            let activation = Activation::new(("a", &expression), unit, asked(error)).unwrap();
            let ends = [-1.0, 1.0].map(|u| expression.evaluate(unit.middle + unit.half * u).abs());
            let largest = ends[0].max(ends[1]);
            for at in 0..=1000 {
                let u = f64::from(at) / 500.0 - 1.0;
                let (wanted, got) = (expression.evaluate(unit.middle + unit.half * u), activation.evaluate(u));
                assert!(got.abs() <= 1.0 + error, "{} at {u}: {got}", expression.text());
                let off = (got * activation.unit.half - wanted).abs() / largest;
                assert!(off <= error * 1.01 + 1e-9, "{} at {u}: {off}", expression.text());
            }
        }
    }

    #[test]
    fn functions_of_one_shape_have_one_polynomial() {
        let mut found = Found::default();
        let mut of = |expression: &Expression, half, error| {
            let unit = Unit { middle: 0.0, half };
            let shared = found.activation(("a", expression), unit, asked(error)).unwrap();
            let own = Activation::new(("a", expression), unit, asked(error)).unwrap();
            assert_eq!((shared.depth(), shared.text()), (own.depth(), own.text()));
            assert!((shared.unit.half - own.unit.half).abs() <= 1e-12 * own.unit.half, "{half}");
            for at in 0..=1000 {
                let u = f64::from(at) / 500.0 - 1.0;
                assert!((shared.evaluate(u) - own.evaluate(u)).abs() < 1e-9, "{half}: {u}");
            }
            found.0.len()
        };
        let (relu, twice) = (Expression::X.of(Named::Relu), Expression::X.of(Named::Relu).by(Joined::Mul, 2.0));
        assert_eq!([of(&relu, 3.0, 1e-3), of(&relu, 0.7, 1e-3), of(&twice, 11.0, 1e-3)], [1; 3]);
        assert_eq!(of(&relu, 3.0, 2e-3), 2);
        assert_eq!([of(&silu(), 3.0, 1e-3), of(&silu(), 3.0, 1e-3), of(&silu(), 3.1, 1e-3)], [3, 3, 4]);
    }

    #[test]
    fn depth_follows_the_error() {
        let of = |expression: &Expression, error| {
            Activation::new(("a", expression), Unit { middle: 0.0, half: 5.0 }, asked(error)).unwrap()
        };
        assert!(of(&silu(), 1e-2).depth() < of(&silu(), 1e-6).depth());
        let relu = Expression::X.of(Named::Relu);
        assert_eq!((of(&relu, 0.011).text(), of(&relu, 0.011).depth()), ("degree 14".to_owned(), 4));
        assert!(of(&relu, 2e-4).text().contains("sign"));
        let kink = Expression::X.by(Joined::Add, 0.5).of(Named::Abs);
        let kink = Activation::new(("layer 7", &kink), Unit { middle: 0.0, half: 1.0 }, asked(1e-4)).unwrap();
        assert!(kink.text().contains("1 kink by a sign"), "{}", kink.text());
        let root = Expression::X.of(Named::Abs).of(Named::Sqrt);
        let root = Activation::new(("layer 7", &root), Unit { middle: 0.0, half: 1.0 }, asked(1e-4));
        let text = root.unwrap_err().to_string();
        assert!(text.contains("layer 7") && text.contains("sqrt(abs(x))") && text.contains("255"), "{text}");
        let log = Activation::new(("l", &Expression::X.of(Named::Log)), Unit { middle: 0.0, half: 1.0 }, asked(1e-2));
        assert!(log.unwrap_err().to_string().contains("no finite value"));
    }
}
