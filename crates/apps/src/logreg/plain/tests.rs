use super::*;
use crate::data::{self, DataSet, Digits, LoadOptions, breast_cancer};
use crate::logreg::data::{PrepareOptions, Prepared, prepare};
use crate::logreg::metrics::{Metrics, metrics, scores};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + b.abs())
}

fn ready(set: &DataSet) -> Prepared {
    prepare(set, &PrepareOptions::default()).unwrap()
}

/// Trains and tests with the default options, changed by `change`.
fn run(prepared: &Prepared, batch_rows: usize, change: impl Fn(&mut TrainOptions)) -> (Trained, Metrics) {
    let mut options = TrainOptions::for_rows(&prepared.train);
    change(&mut options);
    let trained = train(&Batches::new(&prepared.train, batch_rows), &options);
    let quality = metrics(&scores(&prepared.test, &trained.weights.w), &prepared.test.labels);
    (trained, quality)
}

#[test]
fn momentum_starts_at_zero_and_tends_to_minus_one() {
    assert!(close(momentum(0), 0.0));
    // λ_1 = (1 + √5)/2, λ_2 = (1 + √(1 + 4λ_1²))/2.
    let (l1, l2) = (1.618_033_988_749_895, 2.193_527_085_331_054);
    assert!(close(momentum(1), (1.0 - l1) / l2));
    assert!((0..100).all(|t| momentum(t + 1) < momentum(t)) && momentum(100) > -1.0 && momentum(100) < -0.95);
}

#[test]
fn two_steps_are_what_the_formula_says() {
    let train_rows = LabeledRows { features: vec![1.0, 2.0, 1.0, -1.0], cols: 2, labels: vec![true, false] };
    let options = TrainOptions {
        iterations: 2,
        learning_rate: LearningRate::Harmonic { first: 3.0 },
        activation: Activation::Sigmoid,
    };
    let got = train(&Batches::new(&train_rows, 5), &options);
    // Signed rows (1, 2) and (−1, 1). At v = 0 both pull with 1/2: w_1 = 3/2 · (½(1,2) + ½(−1,1)) = (0, 9/4) = v_1.
    // Then z·v is 9/2 and 9/4; the rate is 3/2 over 2 rows.
    let (p, q) = (sigmoid(-4.5), sigmoid(-2.25));
    let w = [0.75 * (p - q), 2.25 + 0.75 * (2.0 * p + q)];
    let eta = momentum(1);
    let v = [(1.0 - eta) * w[0], (1.0 - eta) * w[1] + eta * 2.25];
    assert!((0..2).all(|i| close(got.weights.w[i], w[i]) && close(got.weights.v[i], v[i])), "{got:?}");
    assert_eq!(got.max_input, [0.0, 4.5]);
    assert_eq!(got.left_interval(&options.activation), None);
    let narrow = Activation::Polynomial(SigmoidPolynomial::least_squares(3, 4.0));
    assert_eq!(got.left_interval(&narrow), Some(1));
}

#[test]
fn padding_changes_nothing_and_batches_come_round() {
    let prepared = ready(&breast_cancer());
    assert_eq!(run(&prepared, 456, |_| ()), run(&prepared, 512, |_| ()));
    let batches = Batches::new(&prepared.train, 228);
    let options = TrainOptions::for_rows(&prepared.train);
    let mut weights = Weights { w: vec![0.0; 31], v: vec![0.0; 31] };
    for (t, batch) in [0, 1, 0, 1].into_iter().enumerate() {
        weights = step(&weights, batches.at(batch), t, &options).0;
    }
    assert_eq!(weights, train(&batches, &options).weights);
}

#[test]
fn the_safe_rate_is_four_over_the_largest_eigenvalue() {
    // XᵀX / 2 = [[1, 1/2], [1/2, 5/2]]: its largest eigenvalue is (7 + √13) / 4.
    let rows = LabeledRows { features: vec![1.0, 2.0, 1.0, -1.0], cols: 2, labels: vec![true, false] };
    assert!(close(safe_learning_rate(&rows), 16.0 / (7.0 + 13f64.sqrt())));
    let prepared = ready(&breast_cancer());
    let loss = |t: usize| {
        let activation = Activation::Sigmoid;
        let w = run(&prepared, 456, |o| *o = TrainOptions { iterations: t, activation: activation.clone(), ..*o })
            .0
            .weights
            .w;
        let signed = scores(&prepared.train, &w).into_iter().zip(&prepared.train.labels);
        signed.map(|(s, &label)| (1.0 + (if label { -s } else { s }).exp()).ln()).sum::<f64>()
    };
    let losses: Vec<f64> = (0..20).map(loss).collect();
    assert!(losses.is_sorted_by(|a, b| a > b), "{losses:?}");
}

#[test]
fn breast_cancer_is_learned_in_four_steps() {
    let prepared = ready(&breast_cancer());
    for rows in [64, 128, 456] {
        let (trained, polynomial) = run(&prepared, rows, |_| ());
        let (_, sigmoid) = run(&prepared, rows, |o| o.activation = Activation::Sigmoid);
        assert!(polynomial.accuracy >= 0.90 && polynomial.auc.unwrap() >= 0.97, "{rows}: {polynomial:?}");
        assert!(sigmoid.accuracy >= 0.90 && (sigmoid.accuracy - polynomial.accuracy).abs() <= 0.05, "{sigmoid:?}");
        assert!(trained.largest_input() <= 8.1, "{rows}: {:?}", trained.max_input);
    }
    let (_, whole) =
        run(&prepared, 456, |o| *o = TrainOptions { iterations: 50, activation: Activation::Sigmoid, ..*o });
    assert!(whole.accuracy >= 0.95 && whole.auc.unwrap() >= 0.99, "{whole:?}");
}

#[test]
fn a_diverging_training_is_seen() {
    let prepared = ready(&breast_cancer());
    let mut options = TrainOptions::for_rows(&prepared.train);
    (options.iterations, options.learning_rate) = (12, LearningRate::Harmonic { first: 100.0 });
    let trained = train(&Batches::new(&prepared.train, 128), &options);
    assert_eq!(trained.left_interval(&options.activation), Some(1));
    assert!(trained.largest_input().is_nan());
}

#[test]
fn the_public_sets_are_learned() {
    let Some(root) = crate::data_dir("uci") else { return };
    for (name, accuracy, auc) in [("edin", 0.90, 0.95), ("nhanes3", 0.82, 0.85), ("pcs", 0.72, 0.80)] {
        let prepared = ready(&data::load(&root.join(format!("{name}.txt")), &LoadOptions::default()).unwrap());
        let (_, quality) = run(&prepared, 1024, |_| ());
        assert!(quality.accuracy >= accuracy && quality.auc.unwrap() >= auc, "{name}: {quality:?}");
    }
    let digits = Some(Digits { negative: 3, positive: 8 });
    let images = root.with_file_name("t10k-images-idx3-ubyte.gz");
    let prepared = ready(&data::load(&images, &LoadOptions { digits, ..Default::default() }).unwrap());
    let (_, quality) = run(&prepared, 256, |_| ());
    assert!(quality.accuracy >= 0.92 && quality.auc.unwrap() >= 0.97, "MNIST: {quality:?}");
}
