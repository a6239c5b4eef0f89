//! What the twin with polynomials says of a network, before any key.

use super::NetworkError;
use serde::Serialize;

/// The twin with polynomials beside the network, both in the clear.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Twin {
    pub samples: usize,
    /// Samples that both give the same class.
    pub same_class: usize,
    /// Mean and largest distance of outputs.
    pub mean_error: f64,
    pub largest_error: f64,
    pub largest_output: f64,
    /// How far the fullest value fills its calibrated range.
    pub largest_value_over_range: f64,
    /// Share of samples whose class is their label, of the network and of the twin.
    pub accuracy: Option<[f64; 2]>,
    /// Of values that leave their calibrated ranges.
    #[serde(skip)]
    pub outside: Option<String>,
    /// The same, and of outputs that differ by more than [`WARNED`] of the largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Share of the largest output by which outputs may differ without a warning.
pub const WARNED: f64 = 0.1;

const ADVICE: &str = "take a smaller --error, or calibrate on more data or with a wider --margin";

impl Twin {
    /// With a warning where outputs differ by much, after the one of values outside their ranges.
    #[must_use]
    pub(super) fn judged(self, outside: Option<String>) -> Self {
        let Self { largest_error, largest_output, .. } = self;
        let is_near = largest_error <= WARNED * largest_output;
        let text = || {
            format!(
                "polynomials in the place of functions change outputs by up to {largest_error:.2e}, the largest output is {largest_output:.3}: {ADVICE}"
            )
        };
        let all: Vec<String> = outside.clone().into_iter().chain((!is_near).then(text)).collect();
        Self { outside, warning: (!all.is_empty()).then(|| all.join("; ")), ..self }
    }

    /// # Errors
    /// [`NetworkError::Twin`] for outputs that differ by more than the largest of them.
    pub fn check(&self) -> Result<(), NetworkError> {
        let Self { largest_error: error, largest_output: output, .. } = *self;
        if error <= output {
            return Ok(());
        }
        // Beyond its range a polynomial takes any value: then no smaller error helps.
        match &self.outside {
            Some(outside) => Err(NetworkError::Outside { error, output, outside: outside.clone() }),
            None => Err(NetworkError::Twin { error, output, advice: ADVICE }),
        }
    }
}

/// The largest of some distances; infinite if one is no number.
pub(super) fn most(of: impl Iterator<Item = f64>) -> f64 {
    of.fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_by_much_is_told_and_what_is_all_wrong_refused() {
        let twin = |largest_error| {
            let accuracy = None;
            let (mean_error, largest_output, largest_value_over_range) = (0.0, 2.0, 1.0);
            let (samples, same_class, outside, warning) = (1, 1, None, None);
            let twin = Twin {
                samples,
                same_class,
                mean_error,
                largest_error,
                largest_output,
                largest_value_over_range,
                accuracy,
                outside,
                warning,
            };
            twin.judged(None)
        };
        let (near, far, wrong) = (twin(0.1), twin(0.5), twin(f64::INFINITY));
        assert!(near.warning.is_none() && near.check().is_ok());
        assert!(far.warning.as_ref().unwrap().contains("up to 5.00e-1") && far.check().is_ok());
        assert!(wrong.warning.is_some());
        let both = twin(0.5).judged(Some("one sample is outside".into())).warning.unwrap();
        assert!(both.starts_with("one sample is outside; polynomials"), "{both}");
        assert!(wrong.check().unwrap_err().to_string().contains("take a smaller --error"));
        let outside = wrong.judged(Some("one sample is outside".into())).check().unwrap_err().to_string();
        assert!(outside.starts_with("one sample is outside: outputs change by up to inf, the largest"), "{outside}");
        assert!(most([1.0, f64::NAN, 0.0].into_iter()).is_infinite());
    }
}
