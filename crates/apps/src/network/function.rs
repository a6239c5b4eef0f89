//! Functions of one number: expressions of operators that work value by value, as they follow each other in a graph.
//!
//! What works on the values of one tensor alone is one expression, whatever it is made of: SiLU is `x·sigmoid(x)`, GELU
//! has an error function or a hyperbolic tangent. So one polynomial replaces all of it.

use serde::{Deserialize, Serialize};

/// What is no difference: zeros among weights are nearly so.
const NOTHING: f64 = 1e-90;

/// Operators on one number. Numbers beside them are public.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    Relu,
    Sigmoid,
    Tanh,
    Exp,
    Log,
    Sqrt,
    Abs,
    Erf,
    Softplus,
    Softsign,
    Reciprocal,
    Sin,
    Cos,
    /// 1 above zero, 0 elsewhere: for differences that are not nearly zero.
    Positive,
    /// 1 from zero on, 0 below: for differences that are zero or not nearly so.
    NotNegative,
}

/// Operators on two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Joined {
    Add,
    Mul,
    Div,
    Max,
    Min,
    /// The second is a number.
    Pow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expression {
    /// The argument.
    X,
    Number(#[serde(deserialize_with = "limbwise::finite::field")] f64),
    Of(Named, Box<Expression>),
    Both(Joined, Box<[Expression; 2]>),
    /// The second where the first is not zero, elsewhere the third.
    Choice(Box<[Expression; 3]>),
}

/// `2/√π · ∫ exp(−t²)`: by its series near zero, by a continued fraction beyond.
fn erf(x: f64) -> f64 {
    let z = x.abs();
    let value = if z < 2.5 {
        let (mut term, mut sum, mut n) = (z, z, 0.0);
        while term.abs() > 1e-17 * sum.abs() && n < 200.0 {
            n += 1.0;
            term *= -z * z / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else {
        let fraction = (1..=60).rev().fold(z, |below, k| z + 0.5 * f64::from(k) / below);
        1.0 - (-z * z).exp() / (fraction * std::f64::consts::PI.sqrt())
    };
    value.copysign(x)
}

impl Named {
    fn evaluate(self, x: f64) -> f64 {
        match self {
            // What is no number stays none: it tells that a function has no value there.
            _ if x.is_nan() => x,
            Self::Relu => x.max(0.0),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Tanh => x.tanh(),
            Self::Exp => x.exp(),
            Self::Log => x.ln(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Erf => erf(x),
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
            Self::Softsign => x / (1.0 + x.abs()),
            Self::Reciprocal => 1.0 / x,
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Positive => f64::from(u8::from(x > NOTHING)),
            Self::NotNegative => f64::from(u8::from(x >= -NOTHING)),
        }
    }
}

impl Joined {
    fn evaluate(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Mul => a * b,
            Self::Div => a / b,
            // As above.
            Self::Max | Self::Min if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Max => a.max(b),
            Self::Min => a.min(b),
            Self::Pow => a.powf(b),
        }
    }
}

impl Expression {
    pub fn of(self, named: Named) -> Self {
        Self::Of(named, Box::new(self))
    }

    pub fn with(self, joined: Joined, other: Self) -> Self {
        Self::Both(joined, Box::new([self, other]))
    }

    /// With a number on its right.
    pub fn by(self, joined: Joined, number: f64) -> Self {
        self.with(joined, Self::Number(number))
    }

    /// Whether it has no value at some number of usual size.
    pub fn is_limited(&self) -> bool {
        [-1.0, -0.5, 0.0, 0.5, 1.0].iter().any(|x| !self.evaluate(*x).is_finite())
    }

    pub fn evaluate(&self, x: f64) -> f64 {
        match self {
            Self::X => x,
            Self::Number(number) => *number,
            Self::Of(named, inner) => named.evaluate(inner.evaluate(x)),
            Self::Both(joined, both) => joined.evaluate(both[0].evaluate(x), both[1].evaluate(x)),
            Self::Choice(parts) if parts[0].evaluate(x) == 0.0 => parts[2].evaluate(x),
            Self::Choice(parts) => parts[1].evaluate(x),
        }
    }

    /// Operators and numbers in it.
    pub fn size(&self) -> usize {
        1 + match self {
            Self::X | Self::Number(_) => 0,
            Self::Of(_, inner) => inner.size(),
            Self::Both(_, both) => both[0].size() + both[1].size(),
            Self::Choice(parts) => parts.iter().map(Self::size).sum(),
        }
    }

    /// The same of another argument.
    pub fn after(&self, first: &Self) -> Self {
        match self {
            Self::X => first.clone(),
            Self::Number(number) => Self::Number(*number),
            Self::Of(named, inner) => inner.after(first).of(*named),
            Self::Both(joined, both) => both[0].after(first).with(*joined, both[1].after(first)),
            Self::Choice(parts) => Self::Choice(Box::new(parts.each_ref().map(|part| part.after(first)))),
        }
    }

    /// `[a, b]` if it is `a·x + b`.
    pub fn straight(&self) -> Option<[f64; 2]> {
        match self {
            Self::X => Some([1.0, 0.0]),
            Self::Number(number) => Some([0.0, *number]),
            Self::Of(..) | Self::Choice(_) => None,
            Self::Both(joined, both) => match (joined, both[0].straight()?, both[1].straight()?) {
                (Joined::Add, [a, b], [c, d]) => Some([a + c, b + d]),
                (Joined::Mul, [a, b], [0.0, c]) | (Joined::Mul, [0.0, c], [a, b]) => Some([a * c, b * c]),
                (Joined::Div, [a, b], [0.0, c]) => Some([a / c, b / c]),
                (Joined::Pow, line, [0.0, 1.0]) => Some(line),
                _ => None,
            },
        }
    }

    /// Parts at whose zeros it may have a kink.
    pub fn bends(&self) -> Vec<Self> {
        match self {
            Self::X | Self::Number(_) => Vec::new(),
            Self::Of(named, inner) => {
                let mut all = inner.bends();
                if matches!(named, Named::Relu | Named::Abs | Named::Positive | Named::NotNegative) {
                    all.push((**inner).clone());
                }
                all
            }
            Self::Choice(parts) => parts.iter().flat_map(Self::bends).collect(),
            Self::Both(joined, both) => {
                let mut all = [both[0].bends(), both[1].bends()].concat();
                if matches!(joined, Joined::Max | Joined::Min) {
                    all.push(both[0].clone().with(Joined::Add, both[1].clone().by(Joined::Mul, -1.0)));
                }
                all
            }
        }
    }

    /// 1 where a step is 0, and 0 where it is 1.
    pub fn opposite(&self) -> Option<Self> {
        let Self::Of(named, inner) = self else { return None };
        let negative = inner.clone().by(Joined::Mul, -1.0);
        match named {
            Named::Positive => Some(negative.of(Named::NotNegative)),
            Named::NotNegative => Some(negative.of(Named::Positive)),
            _ => None,
        }
    }

    /// The argument of a step, if it is one of something else than x.
    pub fn step_of(&self) -> Option<(Named, &Self)> {
        match self {
            Self::Of(named @ (Named::Positive | Named::NotNegative), inner) if **inner != Self::X => {
                Some((*named, inner))
            }
            _ => None,
        }
    }

    /// Whether it is the square of its argument.
    pub fn is_square(&self) -> bool {
        match self {
            Self::Both(Joined::Mul, both) => **both == [Self::X, Self::X],
            Self::Both(Joined::Pow, both) => **both == [Self::X, Self::Number(2.0)],
            _ => false,
        }
    }

    /// Whether it is `max(x, 0)`.
    pub fn is_relu(&self) -> bool {
        match self {
            Self::Of(Named::Relu, inner) => **inner == Self::X,
            Self::Both(Joined::Max, both) => **both == [Self::X, Self::Number(0.0)],
            _ => false,
        }
    }

    /// As people write it.
    pub fn text(&self) -> String {
        match self {
            Self::X => "x".into(),
            Self::Number(number) => number.to_string(),
            Self::Of(named, inner) => format!("{named:?}({})", inner.text()).to_lowercase(),
            Self::Both(joined, both) => format!("{joined:?}({}, {})", both[0].text(), both[1].text()).to_lowercase(),
            Self::Choice(parts) => {
                let [condition, yes, no] = parts.each_ref().map(Self::text);
                format!("where({condition}, {yes}, {no})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_has_its_values() {
        // From tables of twelve digits.
        let known = [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813),
            (1.0, 0.842_700_792_950),
            (2.0, 0.995_322_265_019),
            (3.0, 0.999_977_909_503),
        ];
        for (x, y) in known {
            assert!((erf(x) - y).abs() < 1e-11 && (erf(-x) + y).abs() < 1e-11, "{x}");
        }
        assert!((erf(2.499_999_999) - erf(2.500_000_001)).abs() < 1e-10);
    }

    #[test]
    fn expressions_know_lines_squares_and_relus() {
        let silu = Expression::X.with(Joined::Mul, Expression::X.of(Named::Sigmoid));
        assert!((silu.evaluate(2.0) - 2.0 / (1.0 + (-2.0f64).exp())).abs() < 1e-15 && silu.straight().is_none());
        let line = Expression::X.by(Joined::Mul, 3.0).by(Joined::Add, 1.0).by(Joined::Div, 2.0);
        assert_eq!(line.straight(), Some([1.5, 0.5]));
        assert!(Expression::X.by(Joined::Pow, 2.0).is_square() && !line.is_square());
        assert!(Expression::X.of(Named::Relu).is_relu() && Expression::X.by(Joined::Max, 0.0).is_relu());
        let root = Expression::X.of(Named::Sqrt);
        assert!(
            root.clone().by(Joined::Max, 1.0).evaluate(-1.0).is_nan() && root.of(Named::Relu).evaluate(-1.0).is_nan()
        );
        let both = silu.after(&line);
        assert!((both.evaluate(1.0) - silu.evaluate(2.0)).abs() < 1e-15 && both.size() > silu.size());
        let text = serde_json::to_string(&both).unwrap();
        assert_eq!(serde_json::from_str::<Expression>(&text).unwrap(), both);
    }
}
