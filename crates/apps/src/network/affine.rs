//! Sums of linear maps with their biases on slots.

use super::{
    Network, NetworkError,
    activation::{Activation, Unit},
    encrypted::Step,
    layout::Layout,
    linear::chain_row,
    map::{Ends, Packed, matrix, packed},
    skeleton::{Operation, Skeleton, Term},
};
use crate::memory::Room;
use limbwise::Complex64;
use std::sync::Arc;

/// A sum of linear maps with its bias, before it is on slots.
pub(super) struct Affine<'a> {
    pub(super) network: &'a Arc<Network>,
    pub(super) terms: &'a [Term],
    /// The list of the bias.
    pub(super) constant: Option<usize>,
    /// Which value it is.
    pub(super) at: usize,
    pub(super) units: &'a [Unit],
    pub(super) layouts: &'a [Layout],
    /// For the maps of all layers.
    pub(super) room: &'a Room,
}

impl Affine<'_> {
    /// The bias of each number, in units of the value: with what comes of terms around another number than zero.
    fn bias(&self) -> Vec<f64> {
        let (tensors, to) = (&self.network.weights[..], self.units[self.at]);
        let size = self.layouts[self.at].size();
        let mut constant = self.constant.map_or_else(|| vec![0.0; size], |list| tensors[list].clone());
        for Term { of, chain } in self.terms {
            let from = self.units[*of];
            if from.middle.abs() > 0.0 {
                for (out, sum) in constant.iter_mut().enumerate() {
                    chain_row(chain, tensors, out, &mut |_, w| *sum += w * from.middle);
                }
            }
        }
        constant.into_iter().map(|x| (x - to.middle) / to.half).collect()
    }

    /// For so many samples that take turns; `gaps` is what stands in the slots of no number.
    pub(super) fn in_turns(&self, count: usize, gaps: &[f64]) -> std::result::Result<Step, NetworkError> {
        let layout = &self.layouts[self.at];
        let term = |term: &Term| {
            let ends =
                Ends { layouts: [&self.layouts[term.of], layout], units: [self.units[term.of], self.units[self.at]] };
            let packed = packed(&term.chain, self.network, ends, (self.room, count))?;
            let none = || {
                let layer = self.network.skeleton.values[self.at].name.clone();
                NetworkError::Memory { layer, room: self.room.bytes }
            };
            Ok((term.of, packed.ok_or_else(none)?))
        };
        let terms = self.terms.iter().map(term).collect::<std::result::Result<Vec<_>, NetworkError>>()?;
        // Other maps leave nothing in these slots.
        let left = |(of, packed): &(usize, Packed)| match packed {
            Packed::Factor(factor) => factor * gaps[*of],
            _ => 0.0,
        };
        let rest = -terms.iter().map(left).sum::<f64>();
        let rest = if rest.abs() < NOTHING { 0.0 } else { rest };
        let mut slots = vec![vec![Complex64::from(rest); layout.period * count]; layout.count];
        for (element, x) in self.bias().into_iter().enumerate() {
            let [ciphertext, slot] = layout.at(element);
            slots[ciphertext][slot * count..][..count].fill(x.into());
        }
        Ok(Step::Affine { terms, bias: slots })
    }

    /// For a slot a sample: a constant a number.
    pub(super) fn in_slots(&self) -> std::result::Result<Step, NetworkError> {
        let term = |Term { of, chain }: &Term| {
            let sizes = [self.layouts[*of].size(), self.layouts[self.at].size()];
            Ok((*of, matrix(chain, self.network, sizes, [self.units[*of], self.units[self.at]])?))
        };
        let terms = self.terms.iter().map(term).collect::<std::result::Result<_, NetworkError>>()?;
        Ok(Step::Affine { terms, bias: self.bias().into_iter().map(|x| vec![x.into()]).collect() })
    }
}

/// What is no sum of values in units.
const NOTHING: f64 = 1e-9;

/// What stands in the slots of no number, for each value: zero in inputs and sums, to which it is brought, and what
/// functions and products make of it.
pub(super) fn gaps(network: &Skeleton, activations: &[Option<Activation>]) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    for (value, activation) in network.values.iter().zip(activations) {
        all.push(match (&value.operation, activation) {
            (Operation::Function { of, .. }, Some(activation)) => activation.evaluate(all[*of]),
            (Operation::Product { of: [a, b] }, _) => all[*a] * all[*b],
            _ => 0.0,
        });
    }
    all
}
