//! Expected error of the weights after many iterations.
//!
//! Formulas that add independent errors double the error at each momentum step v' = w' + m(w' − w), because they ignore
//! that w' and w share most of their error. This model keeps the shared part: an error f of one iteration is propagated
//! by the following steps d' = m·d + f and w' = w + d', as a random walk with momentum. The curvature of the loss only
//! damps the walk, so the model ignores it.

/// Variances of the error of w and of its last step, their covariance, and the variance of a gradient as it is encrypted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Walk {
    w: f64,
    cross: f64,
    step: f64,
    fresh: f64,
}

/// What one iteration adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Added {
    /// Of an error of the encrypted gradient, how much of it is the weights': the encrypted state is smaller than they are
    /// before a bootstrapping, and the noise of a gradient is not.
    pub(crate) unit: f64,
    /// An additional error of v.
    pub(crate) ahead: f64,
    /// An additional error of the w before, which the next step is counted from.
    pub(crate) before: f64,
}

impl Walk {
    /// Before the first error is known.
    pub(crate) const START: Self = Self { w: 0.0, cross: 0.0, step: 0.0, fresh: 0.0 };

    /// Conversion to and from the numbers in a state.
    pub(crate) fn numbers(self) -> Vec<f64> {
        vec![self.w, self.cross, self.step, self.fresh]
    }

    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        let &[w, cross, step, fresh] = numbers else { return None };
        Some(Self { w, cross, step, fresh })
    }

    /// The walk with the error of every encrypted gradient, which is that of the first one, taken at exact weights.
    pub(crate) fn adding(self, deviation: f64) -> Self {
        Self { fresh: deviation * deviation, ..self }
    }

    /// The walk with independent errors more in w and in the w before, from which the next step is counted.
    pub(crate) fn disturbed(self, deviation: f64) -> Self {
        let more = deviation * deviation;
        Self { w: self.w + more, cross: self.cross + more, step: self.step + 2.0 * more, ..self }
    }

    /// The walk after one iteration with this momentum.
    pub(crate) fn after(self, momentum: f64, added: Added) -> Self {
        let Added { unit, ahead, before } = added;
        let step = momentum * momentum * self.step + self.fresh * unit * unit + ahead * ahead;
        let cross = momentum * self.cross + step;
        let w = self.w + 2.0 * momentum * self.cross + step;
        // The error of the w before is in the step from it, and not in the new w.
        Self { w, cross, step: step + before * before, ..self }
    }

    /// Standard deviation of the error of w.
    pub(crate) fn of_weights(self) -> f64 {
        self.w.sqrt()
    }

    /// Standard deviation of the error of v.
    pub(crate) fn of_look_ahead(self, momentum: f64) -> f64 {
        (self.w + 2.0 * momentum * self.cross + momentum * momentum * self.step).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single error at the start is propagated: later steps add m + m² + … of it.
    #[test]
    fn an_error_is_carried_on_by_momentum() {
        let none = Added { unit: 1.0, ahead: 0.0, before: 0.0 };
        let mut walk = Walk::START.after(0.5, Added { ahead: 1.0, ..none });
        for (after, v) in [(1.0, 1.5), (1.5, 1.75), (1.75, 1.875)] {
            assert!((walk.of_weights() - after).abs() < 1e-12 && (walk.of_look_ahead(0.5) - v).abs() < 1e-12);
            walk = walk.after(0.5, none);
        }
        assert_eq!(Walk::of(&walk.numbers()), Some(walk));
        assert_eq!(Walk::of(&[1.0]), None);
        // Independent errors add up as variances: with full momentum, 1² + 2² + 3².
        let three = (0..3).fold(Walk::START.adding(1.0), |walk, _| walk.after(1.0, none));
        assert!((three.of_weights() - 14f64.sqrt()).abs() < 1e-12);
        // A gradient at an eighth of the weights' size has eight times the error.
        let eighth = Walk::START.adding(1.0).after(0.0, Added { unit: 8.0, ..none });
        assert!((eighth.of_weights() - 8.0).abs() < 1e-12);
        // Independent errors of both: (1 + m)·e − m·e' in the next, and m·(e − e') in the step to it.
        let walk = Walk::START.disturbed(1.0).after(0.5, Added { unit: 1.0, ahead: 0.0, before: 0.0 });
        assert!((walk.w - (1.5f64.powi(2) + 0.25)).abs() < 1e-12 && (walk.step - 0.5).abs() < 1e-12);
        // An error of the w before moves the next steps only.
        let walk = Walk::START.after(0.5, Added { before: 1.0, ..none });
        assert_eq!((walk.of_weights(), walk.of_look_ahead(0.5), walk.after(0.5, none).of_weights()), (0.0, 0.5, 0.5));
    }
}
