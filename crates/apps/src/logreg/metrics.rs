//! Quality of a model on test rows: accuracy and the area under the ROC curve.

use super::data::LabeledRows;

/// Quality on a set of rows.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Metrics {
    /// Share of rows that are classified correctly.
    pub accuracy: f64,
    /// Area under the ROC curve: probability that a random positive row scores above a random negative one; ties count
    /// half. `None` if all rows are of one class.
    pub auc: Option<f64>,
}

/// The score `x·w` of every row; positive means the positive class.
///
/// # Panics
/// If `weights` does not have one number a column.
pub fn scores(rows: &LabeledRows, weights: &[f64]) -> Vec<f64> {
    assert_eq!(rows.cols, weights.len(), "one weight a column");
    rows.rows().map(|row| dot(row, weights)).collect()
}

/// Quality of scores against labels. A score of 0 counts as the negative class.
///
/// # Panics
/// If the lengths differ, nothing is given, or a score is NaN.
pub fn metrics(scores: &[f64], labels: &[bool]) -> Metrics {
    assert_eq!(scores.len(), labels.len(), "one score a label");
    assert!(!scores.is_empty() && scores.iter().all(|s| !s.is_nan()), "scores must be numbers");
    let right = scores.iter().zip(labels).filter(|&(&s, &label)| (s > 0.0) == label).count();
    Metrics { accuracy: right as f64 / labels.len() as f64, auc: auc(scores, labels) }
}

/// Mann–Whitney: the sum of the positives' ranks, ties at their mean rank.
fn auc(scores: &[f64], labels: &[bool]) -> Option<f64> {
    let positives = labels.iter().filter(|&&label| label).count();
    let negatives = labels.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let mut order: Vec<(f64, bool)> = scores.iter().copied().zip(labels.iter().copied()).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut rank_sum = 0.0;
    let mut before = 0;
    // `0.0` and `-0.0` are equal scores, so ties are found by `partial_cmp`, which `chunk_by` sees as `<=` here.
    for tie in order.chunk_by(|a, b| a.0 >= b.0) {
        let mean_rank = before as f64 + (tie.len() as f64 + 1.0) / 2.0;
        rank_sum += mean_rank * tie.iter().filter(|(_, label)| *label).count() as f64;
        before += tie.len();
    }
    let least = positives as f64 * (positives as f64 + 1.0) / 2.0;
    Some((rank_sum - least) / (positives as f64 * negatives as f64))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_is_the_share_of_ordered_pairs() {
        let scores = [0.5, -1.0, 0.5, 2.0, 0.0, -0.0, 3.0, -4.0];
        let labels = [true, false, false, true, true, false, false, true];
        let mut pairs = 0.0;
        for (i, a) in scores.iter().enumerate().filter(|&(i, _)| labels[i]) {
            for (j, b) in scores.iter().enumerate().filter(|&(j, _)| !labels[j]) {
                assert_ne!(i, j);
                pairs += if a > b {
                    1.0
                } else if a < b {
                    0.0
                } else {
                    0.5
                };
            }
        }
        let got = metrics(&scores, &labels);
        assert_eq!(got, Metrics { accuracy: 4.0 / 8.0, auc: Some(pairs / 16.0) });
    }

    #[test]
    fn one_class_has_no_auc() {
        assert_eq!(metrics(&[1.0, 2.0], &[true, true]), Metrics { accuracy: 1.0, auc: None });
    }
}
