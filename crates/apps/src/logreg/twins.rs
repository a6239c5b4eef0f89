//! A trained model and its two clear twins, as reports show them.

use super::{
    data::{Batches, LabeledRows},
    metrics::{Metrics, metrics, scores},
    plain::{Activation, TrainOptions, Trained, train},
};
use crate::{
    client::Accuracy,
    program::{Details, fields},
};
use serde_json::json;

/// The same training in the clear.
#[derive(Clone, Debug)]
pub(crate) struct Twins {
    /// With the encrypted program's polynomial.
    pub(crate) polynomial: Trained,
    /// With the true sigmoid.
    sigmoid: Trained,
    activation: Activation,
}

impl Twins {
    pub(crate) fn train(batches: &Batches, options: &TrainOptions) -> Self {
        let sigmoid = TrainOptions { activation: Activation::Sigmoid, ..options.clone() };
        let activation = options.activation.clone();
        Self { polynomial: train(batches, options), sigmoid: train(batches, &sigmoid), activation }
    }

    /// Quality of the encrypted model and of both twins.
    pub(crate) fn judge(&self, encrypted: Metrics, test: &LabeledRows) -> (Accuracy, Details) {
        let of = |twin: &Trained| metrics(&scores(test, &twin.weights.w), &test.labels);
        let (clear, sigmoid) = (of(&self.polynomial), of(&self.sigmoid));
        let details = json!({
            "auc": { "encrypted": encrypted.auc, "clear": clear.auc },
            "true_sigmoid": { "accuracy": sigmoid.accuracy, "auc": sigmoid.auc },
            "largest_sigmoid_input": self.polynomial.largest_input(),
        });
        let accuracy = Accuracy { encrypted: encrypted.accuracy, clear: clear.accuracy };
        (accuracy, fields(details))
    }

    /// Warnings about the model: the polynomial left its interval, or a weight exceeded its bound.
    pub(crate) fn warnings(&self, bound: Option<f64>) -> Vec<String> {
        let twin = &self.polynomial;
        let left = twin.left_interval(&self.activation).map(|t| {
            format!(
                "iteration {} asked the polynomial sigmoid for {:.1}, outside [−{2}, {2}]: the weights are not to be trusted; widen the interval or lower the learning rate",
                t + 1,
                twin.max_input[t],
                self.activation.interval()
            )
        });
        let largest = twin.weights.w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
        let wrapped = bound.filter(|&bound| largest > bound).map(|bound| {
            format!("a weight reached {largest:.1}, beyond the {bound} that bootstrapping was promised: the weights are not to be trusted")
        });
        left.into_iter().chain(wrapped).collect()
    }
}
