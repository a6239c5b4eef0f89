//! Functions as values: what a program that is recorded elsewhere asks for by name and numbers.

use super::{Extreme, Inverse, InverseRoot, LayerNorm, Smooth, Softmax, Sorting, composed::Ready};
use crate::{
    ckks::{Auto, Ciphertext, LookupTable},
    error::Result,
};
use limbwise_device::Device;

/// A function of encrypted values, planned.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Function {
    /// `1/x`.
    Inverse(Inverse),
    /// `√x`.
    Root(InverseRoot),
    /// `1/√x`.
    InverseRoot(InverseRoot),
    /// Exponential, logarithm, or another smooth function.
    Smooth(Smooth),
    /// Softmax along rows.
    Softmax(Softmax),
    /// Rows centered and divided by their deviation.
    LayerNorm(LayerNorm),
    /// The greatest of each row.
    Extreme(Extreme),
    /// Rows in order.
    Sorting(Sorting),
    /// Entries of a table, which bootstrapping looks up.
    Lookup(LookupTable),
}

impl Function {
    /// Its name, for regions and messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Inverse(_) => "inverse",
            Self::Root(_) => "sqrt",
            Self::InverseRoot(_) => "inverse_sqrt",
            Self::Smooth(smooth) => smooth.name(),
            Self::Softmax(_) => "softmax",
            Self::LayerNorm(_) => "layer_norm",
            Self::Extreme(_) => "extreme",
            Self::Sorting(_) => "sort",
            Self::Lookup(_) => "lookup",
        }
    }

    /// Levels on so many slots, without those of bootstrapping.
    #[must_use]
    pub fn levels(&self, slots: usize) -> usize {
        match self {
            Self::Inverse(inverse) => inverse.levels(),
            Self::Root(root) => root.levels(),
            Self::InverseRoot(root) => root.inverse_levels(),
            Self::Smooth(smooth) => smooth.levels(),
            Self::Softmax(softmax) => softmax.levels(slots),
            Self::LayerNorm(norm) => norm.levels(slots),
            Self::Extreme(extreme) => extreme.levels(slots),
            Self::Sorting(sorting) => sorting.levels(),
            Self::Lookup(table) => table.levels(),
        }
    }

    /// Levels that its argument has when it begins, by bootstrapping where that helps.
    #[must_use]
    pub fn first_levels(&self) -> usize {
        match self {
            Self::Inverse(inverse) => inverse.first_levels(),
            Self::Root(root) | Self::InverseRoot(root) => root.first_levels(),
            Self::Smooth(smooth) => smooth.levels(),
            Self::Softmax(softmax) => softmax.first_levels(),
            Self::Extreme(extreme) => extreme.first_levels(),
            Self::LayerNorm(_) | Self::Sorting(_) => 1,
            // The levels of a lookup come from its own bootstrapping; those before depend on the message ratio.
            Self::Lookup(_) => 0,
        }
    }

    /// Fails where a value lacks levels that it takes before its end, in a program that does not bootstrap.
    ///
    /// # Errors
    /// [`LevelError::Exhausted`](crate::error::LevelError::Exhausted) with all of the levels.
    pub fn check_levels<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>) -> Result<()> {
        auto.eval.needs(self.name(), x, self.levels(x.slots))
    }

    /// The value at a number in the clear, by the same polynomials; `None` for functions of whole rows.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> Option<f64> {
        match self {
            Self::Inverse(inverse) => Some(inverse.evaluate(x)),
            Self::Root(root) => Some(root.evaluate(x)[0]),
            Self::InverseRoot(root) => Some(root.evaluate(x)[1]),
            Self::Smooth(smooth) => Some(smooth.evaluate(x)),
            Self::Lookup(table) => Some(table.entry(x)),
            Self::Softmax(_) | Self::LayerNorm(_) | Self::Extreme(_) | Self::Sorting(_) => None,
        }
    }

    /// Evaluates it.
    ///
    /// # Errors
    /// Those of the function; too few levels; a missing key.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        match self {
            Self::Inverse(inverse) => inverse.apply(auto, x, ready),
            Self::Root(root) => root.apply(auto, x, ready).map(|[sqrt, _]| sqrt),
            Self::InverseRoot(root) => root.apply(auto, x, ready).map(|[_, inverse]| inverse),
            Self::Smooth(smooth) => smooth.apply(auto, x, ready),
            Self::Softmax(softmax) => softmax.apply(auto, x, ready),
            Self::LayerNorm(norm) => norm.apply(auto, x, ready),
            Self::Extreme(extreme) => extreme.apply(auto, x, ready),
            Self::Sorting(sorting) => sorting.apply(auto, x, ready),
            Self::Lookup(table) => {
                let x = ready(x, table.levels_before(auto.eval.params()))?;
                auto.look_up_with(auto.bootstrapper()?, &x, table)
            }
        }
    }
}
