//! The client's side: bits of rows, and what decrypted sums say.

use super::{Ensemble, ForestError, encrypted::Inference, skeleton::Task};
use crate::{
    client::{Client, Conclusion},
    family::{Exact, Twin as _},
    program::{Tfhe, fields},
};
use limbwise::tfhe::TfheReading;
use serde_json::json;

/// Data of an inference.
#[derive(Clone, Debug)]
pub struct ForestClient {
    program: Inference,
    rows: Vec<Vec<f64>>,
    /// The right answers, if they are known.
    answers: Vec<f64>,
    /// The forest as it was trained, if the client has it.
    ensemble: Option<Ensemble>,
    exact: Exact<Inference>,
}

impl ForestClient {
    /// Of a program and its rows of features, with their labels or numbers where they are known.
    ///
    /// # Errors
    /// [`ForestError::Shape`] for other rows than the program takes.
    pub fn new(
        program: &Inference,
        rows: Vec<Vec<f64>>,
        answers: Vec<f64>,
        ensemble: Option<Ensemble>,
    ) -> Result<Self, ForestError> {
        let features = program.forest().skeleton.features;
        if rows.len() != program.rows() {
            return ForestError::shape("the data", format!("{} rows", rows.len()), format!("{} rows", program.rows()));
        }
        if let Some(at) = rows.iter().position(|row| row.len() != features) {
            let got = format!("{} values in row {}", rows[at].len(), at + 1);
            return ForestError::shape(
                "the data",
                got,
                format!("{features}, the forest's features (--label COLUMN names one that is none)"),
            );
        }
        let lacks = |row: &Vec<f64>| row.iter().position(|x| x.is_nan());
        let lacking = rows.iter().enumerate().find_map(|(at, row)| Some((at + 1, lacks(row)? + 1)));
        if let Some((row, feature)) = lacking.filter(|_| !program.forest().skeleton.takes_missing()) {
            return Err(ForestError::Missing { row, feature });
        }
        let exact = Exact::new(program.clone(), vec![program.encode(&rows)]);
        Ok(Self { program: program.clone(), rows, answers, ensemble, exact })
    }

    /// What scores of all rows say: of classes the share that is right, of numbers the mean error.
    fn judged(&self, scores: &[Vec<f64>], class: &dyn Fn(&[f64]) -> usize) -> Option<f64> {
        let task = &self.program.forest().skeleton.task;
        let right = |(scores, answer): (&Vec<f64>, &f64)| match task {
            Task::Numbers(_) => (scores[0] - answer).abs(),
            Task::Binary(labels) | Task::Classes(labels) => {
                let label = &labels[class(scores)];
                f64::from(u8::from(label.parse::<f64>().is_ok_and(|label| label.total_cmp(answer).is_eq())))
            }
        };
        let sum: f64 = scores.iter().zip(&self.answers).map(right).sum();
        (!self.answers.is_empty()).then(|| sum / self.answers.len() as f64)
    }
}

impl Client for ForestClient {
    type Scheme = Tfhe;

    fn values(&self, input: usize) -> Vec<u64> {
        self.exact.values(input)
    }

    fn conclude(&self, results: &Vec<TfheReading>) -> Conclusion<Tfhe> {
        let mut conclusion = self.exact.conclude(results);
        let skeleton = &self.program.forest().skeleton;
        let clear = self.program.clear(&[self.values(0)]);
        let (twin, encrypted) = (self.program.scores(&clear[0]), self.program.scores(&results[0].messages));
        let quantized = |scores: &[f64]| skeleton.class(scores);
        let mut details = json!({ "scores": encrypted });
        let floats = self.ensemble.as_ref().map(|ensemble| {
            let scores: Vec<Vec<f64>> = self.rows.iter().map(|row| ensemble.scores(row)).collect();
            let class = |scores: &[f64]| ensemble.class(scores);
            let pairs = || scores.iter().zip(&twin);
            let far = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            details["largest_error_of_quantization"] = json!(pairs().map(far).fold(0.0, f64::max));
            if !skeleton.task.labels().is_empty() {
                details["same_class_as_floats"] = json!(pairs().filter(|(a, b)| class(a) == quantized(b)).count());
            }
            self.judged(&scores, &class)
        });
        if !skeleton.task.labels().is_empty() {
            details["classes"] = json!(encrypted.iter().map(|scores| quantized(scores)).collect::<Vec<_>>());
        }
        if !self.answers.is_empty() {
            details["labels"] = json!(self.answers);
            let name = if skeleton.task.labels().is_empty() { "mean_error" } else { "accuracy" };
            details[name] = json!({
                "floats": floats.flatten(),
                "twin": self.judged(&twin, &quantized),
                "encrypted": self.judged(&encrypted, &quantized),
            });
        }
        conclusion.details.extend(fields(details));
        conclusion
    }
}
