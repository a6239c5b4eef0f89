//! What both sides know of an inference, and what follows from it before any map is made.

use super::{
    Network, NetworkError, Planned, Skeleton,
    activation::{Activation, Found, SignChoice, Unit, Wanted},
    calibration::Range,
    layout::{Layout, layouts},
    levels::LevelPlan,
    matrices::{self, Placed},
    skeleton::{Operation, Value},
    steep::{self, Squarings},
};
use crate::{linear::layer::Model, way::Arrangement};
use limbwise::{
    ckks::{BootstrapPlan, LevelPolicy, PlaintextForm, Strategy, functions::Halvings},
    params::Params,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Public metadata of an inference, without weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inference {
    pub network: Skeleton,
    /// Of each value, as measured on data that nobody encrypts.
    pub ranges: Vec<Range>,
    /// What each range is multiplied with.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub margin: f64,
    /// Error of a polynomial for each unit of the largest value of its function.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub error: f64,
    /// Composed signs of these degrees for what bends at zero alone, in the place of what the error asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<SignChoice>,
    /// Layers of softmax that are too steep for one exponential.
    #[serde(default, skip_serializing_if = "Squarings::is_empty")]
    pub squarings: Squarings,
    /// Samples in one pass.
    pub samples: usize,
    /// How they lie in slots.
    #[serde(default)]
    pub arrangement: Arrangement,
    /// Rotation strategy of the maps; with 0 baby steps, each map chooses its own number.
    pub strategy: Strategy,
    /// How their diagonals are stored.
    pub plaintexts: PlaintextForm,
    /// Bootstrapping configuration; `None` if the parameters have enough levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<BootstrapPlan>,
}

const MOST_SAMPLES: usize = 1 << 17;
/// Entries of all matrices at most where samples have a slot each.
const MOST_ENTRIES: usize = 1 << 24;
/// Entries of all matrices at most where that arrangement is compared without being asked for. A recording has four
/// operations an entry for each form of the keys, and records half a million of them a second.
const MOST_COMPARED: usize = 1 << 19;

/// Entries of all matrices of a network whose samples have a slot each, and products of encrypted numbers.
fn entries(network: &Skeleton) -> usize {
    let of = |value: &Value| match &value.operation {
        Operation::Affine { terms, .. } => {
            let of = terms.iter().map(|term| network.values[term.of].size().saturating_mul(value.size()));
            of.fold(0, usize::saturating_add)
        }
        Operation::MatrixProduct { matrices, .. } => value.size().saturating_mul(matrices.inner),
        _ => 0,
    };
    network.values.iter().map(of).fold(0, usize::saturating_add)
}

impl Inference {
    fn check(&self) -> std::result::Result<(), NetworkError> {
        self.network.check()?;
        let wrong = |what, got: String, wanted: &str| Err(NetworkError::Shape { what, got, wanted: wanted.into() });
        if self.ranges.len() != self.network.values.len() || !self.ranges.iter().all(|range| range.is_possible()) {
            return wrong("the ranges", format!("{} of them", self.ranges.len()), "one for each value of the network");
        }
        if !(1.0..=100.0).contains(&self.margin) || !(1e-9..=0.25).contains(&self.error) {
            let got = format!("a margin of {} and an error of {}", self.margin, self.error);
            return wrong("the activations", got, "a margin from 1 to 100, an error from 1e-9 to 0.25");
        }
        if let Some(sign) = self.sign.as_ref().filter(|sign| !sign.is_possible()) {
            return wrong("the activations", format!("{sign:?}"), SignChoice::WANTED);
        }
        if let Some((layer, times)) = self.squarings.iter().find(|(_, times)| !(1..=Halvings::MOST).contains(times)) {
            return wrong("the activations", format!("{times} squarings in layer {layer}"), "1 to 12");
        }
        if !(1..=MOST_SAMPLES).contains(&self.samples) {
            return wrong("the data", format!("{} samples", self.samples), "1 to 131072");
        }
        match self.arrangement {
            Arrangement::Turns(count) if !count.is_power_of_two() => {
                wrong("the arrangement", format!("{count} samples a ciphertext"), "a power of two")
            }
            _ => Ok(()),
        }
    }

    /// Samples that share the slots of a ciphertext where they take turns.
    pub(super) fn turns(&self) -> usize {
        if let Arrangement::Turns(count) = self.arrangement { count } else { 1 }
    }

    /// The program with the server's network, or with any weights in its place where there is no server's model.
    ///
    /// # Errors
    /// [`NetworkError`] for what cannot be; a model without a network, or with another one.
    pub fn program(&self, params: &Params, model: Option<&Model>) -> std::result::Result<Planned, NetworkError> {
        let Some(model) = model else {
            self.check()?;
            return Planned::new(params, self.clone(), &Arc::new(Network::generated(&self.network)?));
        };
        let wanted = "the file that the description was made with (--weights FILE)".to_owned();
        let got = match &model.graph {
            Some(network) if network.skeleton == self.network => return Planned::new(params, self.clone(), network),
            Some(_) => "another network".to_owned(),
            None => "no weights".to_owned(),
        };
        Err(NetworkError::Shape { what: "the network", got, wanted })
    }

    /// Units and polynomials of all values, which no parameters change.
    pub(super) fn fitted(&self) -> std::result::Result<Fitted, NetworkError> {
        self.check()?;
        let (mut units, mut activations): (Vec<Unit>, Vec<Option<Activation>>) = (Vec::new(), Vec::new());
        let mut found = Found::default();
        for (at, value) in self.network.values.iter().enumerate() {
            let multiplies = !matches!(value.operation, Operation::Affine { .. } | Operation::Function { .. });
            // Networks give what has a root a value of its own (`Builder::finish`); a file may say anything.
            if multiplies && value.operation.operands().iter().any(|&of| units[of].middle.abs() > 0.0) {
                return Err(NetworkError::Skeleton(format!(
                    "{}, a product of numbers around another than 0",
                    value.name
                )));
            }
            let (unit, activation) = match &value.operation {
                Operation::Input | Operation::Affine { .. } | Operation::MatrixProduct { .. } => (self.unit(at), None),
                Operation::Product { of: [a, b] } => {
                    (Unit { middle: 0.0, half: units[*a].half * units[*b].half }, None)
                }
                Operation::Function { of, expression } => {
                    let (named, unit) = ((&*value.name, expression), units[*of]);
                    let error = steep::error(&self.squarings, named, unit, self.error);
                    let activation = found.activation(named, unit, Wanted { error, sign: self.sign.as_ref() })?;
                    (activation.unit, Some(activation))
                }
            };
            units.push(unit);
            activations.push(activation);
        }
        Ok(Fitted { units, activations })
    }

    /// The unit of an input or a sum: around zero, unless a function of it has no value there and numbers are not negative. A
    /// variance of numbers that are all the same is zero.
    fn unit(&self, at: usize) -> Unit {
        let (range, margin) = (self.ranges[at], self.margin);
        let around = Unit { middle: 0.0, half: range.most() * margin };
        let fails = |value: &Value| match &value.operation {
            Operation::Function { of, expression } if *of == at => {
                [-1.0, -0.5, 0.0, 0.5, 1.0].iter().any(|u| !expression.evaluate(around.half * u).is_finite())
            }
            _ => false,
        };
        if range.from >= 0.0 && self.network.values[at..].iter().any(fails) {
            let [from, to] = [range.from / margin, range.to * margin];
            return Unit { middle: from.midpoint(to), half: 0.5 * (to - from) };
        }
        around
    }
}

/// Units of values, and the polynomials in the place of functions.
#[derive(Clone)]
pub(super) struct Fitted {
    units: Vec<Unit>,
    activations: Vec<Option<Activation>>,
}

/// What is known of a program before any map is made.
pub(super) struct Outline {
    pub(super) units: Vec<Unit>,
    pub(super) activations: Vec<Option<Activation>>,
    pub(super) levels: LevelPlan,
    pub(super) layouts: Vec<Layout>,
    /// The products of encrypted matrices among the values.
    pub(super) products: Vec<Option<Placed>>,
}

impl Outline {
    pub(super) fn new(params: &Params, options: &Inference) -> std::result::Result<Self, NetworkError> {
        Self::of(params, options, options.fitted()?)
    }

    /// With polynomials that were fitted before: those of a large network take a minute.
    pub(super) fn of(
        params: &Params,
        options: &Inference,
        Fitted { units, activations }: Fitted,
    ) -> std::result::Result<Self, NetworkError> {
        let slots = (params.max_slots() / options.turns()).max(1);
        let products = matrices::placed(&options.network, slots)?;
        let layouts = layouts(&options.network, &products, slots);
        let depth = |(at, value): (usize, &Value)| match (&value.operation, &products[at]) {
            (Operation::Input, _) => 0,
            (Operation::MatrixProduct { of, .. }, Some(placed)) => matrices::depth(placed, &layouts[of[0]]),
            _ => activations[at].as_ref().map_or(1, Activation::depth),
        };
        let depths: Vec<usize> = options.network.values.iter().enumerate().map(depth).collect();
        let policy = LevelPolicy::of(params);
        let bootstraps = policy.bootstraps && options.bootstrapping.is_some();
        let ciphertexts: Vec<usize> = layouts.iter().map(|layout| layout.count).collect();
        let policy = LevelPolicy { bootstraps, ..policy };
        let levels = LevelPlan::new(&options.network, [&depths, &ciphertexts], policy)?;
        Ok(Self { units, activations, levels, layouts, products })
    }

    /// Whether samples can lie as they are to.
    ///
    /// # Errors
    /// [`NetworkError::Shape`] that says what the network admits.
    pub(super) fn admits(&self, params: &Params, options: &Inference) -> std::result::Result<(), NetworkError> {
        let admitted = match options.arrangement {
            Arrangement::Turns(count) => count <= params.max_slots(),
            Arrangement::Slots => self.admits_slots(&options.network),
        };
        let wanted = || {
            let most = self.most_turns(params);
            format!(
                "at most {most} samples a ciphertext; a slot each where nothing is bootstrapped and matrices are small"
            )
        };
        let wrong = |got| Err(NetworkError::Shape { what: "the arrangement", got, wanted: wanted() });
        if admitted { Ok(()) } else { wrong(options.arrangement.named()) }
    }

    /// Samples that can take turns without a value's taking more ciphertexts, a power of two.
    pub(super) fn most_turns(&self, params: &Params) -> usize {
        let longest = self.layouts.iter().map(|layout| layout.period).max().unwrap_or(1);
        (params.max_slots() / longest).max(1)
    }

    /// Whether every sample can have a slot of its own: matrices in the place of maps, and no bootstrapping, which would
    /// be one for each number.
    pub(super) fn admits_slots(&self, network: &Skeleton) -> bool {
        self.levels.bootstraps() == 0 && entries(network) <= MOST_ENTRIES
    }

    /// Whether that is compared with other arrangements where none is asked for.
    pub(super) fn compares_slots(&self, network: &Skeleton) -> bool {
        self.admits_slots(network) && entries(network) <= MOST_COMPARED
    }

    /// Ciphertexts of the largest value.
    pub(super) fn ciphertexts(&self) -> usize {
        self.layouts.iter().map(|layout| layout.count).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::function::{Expression, Joined, Named};

    /// Numbers that are zero or more keep to that side where a function has no value on the other.
    #[test]
    fn a_variance_of_zero_has_an_inverse_root() {
        let root = Expression::X.by(Joined::Add, 0.01).of(Named::Sqrt).of(Named::Reciprocal);
        let value = |name: &str, operation| Value { name: name.into(), shape: vec![2], operation };
        let values =
            vec![value("variance", Operation::Input), value("root", Operation::Function { of: 0, expression: root })];
        let of = |from| Inference {
            network: Skeleton { values: values.clone(), weights: Vec::new(), outputs: vec![1] },
            ranges: vec![Range::between(from, 0.2), Range::between(2.0, 10.0)],
            margin: 1.5,
            error: 0.02,
            sign: None,
            squarings: Squarings::default(),
            samples: 1,
            arrangement: Arrangement::default(),
            strategy: Strategy::DoubleHoisted { babies: 0 },
            plaintexts: PlaintextForm::OnTheFly,
            bootstrapping: None,
        };
        let unit = of(0.0).fitted().unwrap().units[0];
        assert!(unit.middle > 0.0 && (unit.middle - unit.half).abs() < 1e-15, "{unit:?}");
        let text = of(-0.1).fitted().map(drop).unwrap_err().to_string();
        assert!(text.contains("layer root") && text.contains("no finite value"), "{text}");
    }
}
