//! From a data set to mini-batches: shuffle, split, scale, bias column, padding.
//!
//! All statistics (ranges, means, constant features) come from the training rows alone. A seed fixes the order, so the
//! clear and the encrypted program see the same rows.

use crate::data::{DataError, DataSet};

/// Feature scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Linear: the training rows span [−1, 1]; test rows are clipped to it.
    Range,
    /// To mean 0 and deviation 1 over the training rows, then clipped to [−`clip`, `clip`].
    Standard {
        /// Largest absolute value kept, in deviations; positive.
        clip: f64,
    },
    /// Mean 0 over the training rows, with no other scaling; constant features are kept. For pixels, which are in [0,
    /// 1] already. The number of features must not depend on the images.
    Centered,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrepareOptions {
    pub seed: u64,
    /// Share of rows held back for testing, strictly between 0 and 1.
    pub test_share: f64,
    pub scaling: Scaling,
}

impl Default for PrepareOptions {
    /// A fifth is held back for testing; standard scaling is clipped at two deviations. Clipping bounds the effect of
    /// one row on `z·v`, which keeps it in the polynomial's interval. The mean is subtracted because a common offset
    /// slows gradient descent.
    fn default() -> Self {
        Self { seed: 0, test_share: 0.2, scaling: Scaling::Standard { clip: 2.0 } }
    }
}

/// Scaled rows with a bias column of ones first, and their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct LabeledRows {
    /// `rows × cols` numbers, row by row; column 0 is 1.
    pub features: Vec<f64>,
    /// Columns, bias included.
    pub cols: usize,
    pub labels: Vec<bool>,
}

impl LabeledRows {
    /// The rows as slices of `cols` numbers.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.features.chunks_exact(self.cols)
    }
}

/// A data set ready for training.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub train: LabeledRows,
    /// Rows held back.
    pub test: LabeledRows,
    /// Names of the columns; the first is `bias`.
    pub columns: Vec<String>,
    /// Names of the features left out because all training rows agree on them.
    pub dropped: Vec<String>,
}

/// Shuffles, splits and scales a data set.
///
/// Shape: `r × c` features → `⌈r·(1 − test_share)⌉` and the remaining rows, 1 + (features that vary) columns each.
///
/// # Errors
/// [`DataError::Preparation`] for a share outside (0, 1), a clip that is not positive, a split that leaves no
/// held-back row or one class only to learn from, or features that are all constant.
pub fn prepare(set: &DataSet, options: &PrepareOptions) -> Result<Prepared, DataError> {
    let fail = |got: String, wanted: &str, next| {
        Err(DataError::Preparation { name: set.name.clone(), got, wanted: wanted.into(), next })
    };
    let share = options.test_share;
    if !(share > 0.0 && share < 1.0) {
        return fail(format!("test share {share}"), "a share between 0 and 1", "0.2 is usual");
    }
    if let Scaling::Standard { clip } = options.scaling
        && !(clip > 0.0 && clip.is_finite())
    {
        return fail(format!("clip {clip}"), "a positive number of deviations", "3 is usual");
    }
    let order = permutation(set.rows(), options.seed);
    let held_back = (0..set.rows()).take_while(|&i| (i + 1) as f64 <= set.rows() as f64 * share).count();
    let (train, test) = order.split_at(set.rows() - held_back);
    scaled((set, train), (set, test), options.scaling)
}

/// Shuffles and scales training rows, and applies the same scaling to the test rows of another set.
pub fn prepare_apart(train: &DataSet, test: &DataSet, options: &PrepareOptions) -> Result<Prepared, DataError> {
    if train.cols() != test.cols() {
        let (got, wanted) = (format!("{} features", test.cols()), format!("the {} of {}", train.cols(), train.name));
        let next = "give held-back rows of the same kind";
        return Err(DataError::Preparation { name: test.name.clone(), got, wanted, next });
    }
    let every: Vec<usize> = (0..test.rows()).collect();
    scaled((train, &permutation(train.rows(), options.seed)), (test, &every), options.scaling)
}

/// Training rows and test rows.
fn scaled(
    (set, train): (&DataSet, &[usize]),
    (test_set, test): (&DataSet, &[usize]),
    scaling: Scaling,
) -> Result<Prepared, DataError> {
    let fail = |got: String, wanted: &str, next| {
        Err(DataError::Preparation { name: set.name.clone(), got, wanted: wanted.into(), next })
    };
    let positive = train.iter().filter(|&&i| set.labels[i]).count();
    if test.is_empty() || positive == 0 || positive == train.len() {
        let got = format!("{} training rows ({positive} positive), {} held back", train.len(), test.len());
        return fail(
            got,
            "both classes to learn from and at least one row to test",
            "add rows, or change the share or the seed",
        );
    }
    let maps: Vec<Option<Map>> = (0..set.cols()).map(|c| Map::learn(set, train, c, scaling)).collect();
    if maps.iter().all(Option::is_none) {
        return fail(
            "every feature is constant".into(),
            "a feature that varies",
            "check the label column and the file",
        );
    }
    let names = |kept: bool| {
        let chosen = maps.iter().zip(&set.feature_names).filter(move |(map, _)| map.is_some() == kept);
        chosen.map(|(_, name)| name.clone())
    };
    Ok(Prepared {
        train: rows(set, train, &maps),
        test: rows(test_set, test, &maps),
        columns: std::iter::once("bias".to_owned()).chain(names(true)).collect(),
        dropped: names(false).collect(),
    })
}

fn rows(set: &DataSet, chosen: &[usize], maps: &[Option<Map>]) -> LabeledRows {
    let scaled = chosen.iter().flat_map(|&i| {
        let kept = set.row(i).iter().zip(maps).filter_map(|(&x, map)| map.map(|m| m.apply(x)));
        std::iter::once(1.0).chain(kept)
    });
    LabeledRows {
        features: scaled.collect(),
        cols: 1 + maps.iter().flatten().count(),
        labels: chosen.iter().map(|&i| set.labels[i]).collect(),
    }
}

/// `x ↦ clip((x − center) / spread)` of one feature.
#[derive(Clone, Copy, Debug)]
struct Map {
    center: f64,
    spread: f64,
    clip: f64,
}

impl Map {
    /// `None` when the training rows agree on the feature.
    fn learn(set: &DataSet, train: &[usize], feature: usize, scaling: Scaling) -> Option<Self> {
        let values = || train.iter().map(|&i| set.row(i)[feature]);
        let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        if low >= high && scaling != Scaling::Centered {
            return None;
        }
        // Halves and terms are divided before they are added, so that huge but finite values do not overflow.
        let count = train.len() as f64;
        let mean = || values().map(|x| x / count).sum::<f64>();
        let (center, spread, clip) = match scaling {
            Scaling::Range => (high / 2.0 + low / 2.0, high / 2.0 - low / 2.0, 1.0),
            Scaling::Centered => (mean(), 1.0, f64::INFINITY),
            Scaling::Standard { clip } => {
                let mean = mean();
                let unit = (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE);
                let variance = values().map(|x| ((x - mean) / unit).powi(2) / count).sum::<f64>();
                (mean, variance.sqrt() * unit, clip)
            }
        };
        (spread > 0.0).then_some(Self { center, spread, clip })
    }

    fn apply(self, x: f64) -> f64 {
        ((x - self.center) / self.spread).clamp(-self.clip, self.clip)
    }
}

/// The numbers 0 … n−1 in an order given by the seed: Fisher–Yates with draws from SplitMix64 \[SLF14\], each made
/// uniform by rejection. It need not be secret, only the same on every machine and with every version.
fn permutation(n: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut below = |bound: u64| loop {
        let word = draw();
        if word < u64::MAX - u64::MAX % bound {
            return word % bound;
        }
    };
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        let other = usize::try_from(below(last as u64 + 1)).expect("below a usize");
        order.swap(last, other);
    }
    order
}

/// Sizes of the mini-batches: public metadata of [`Batches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// All rows, at least one.
    pub(crate) rows: usize,
    /// Rows of a mini-batch, at least one.
    pub(crate) batch_rows: usize,
}

impl Rounds {
    pub(crate) fn count(self) -> usize {
        self.rows.div_ceil(self.batch_rows)
    }

    /// Rows of data in the mini-batch of iteration t; the last one may have fewer.
    pub(crate) fn real_rows(self, t: usize) -> usize {
        (self.rows - t % self.count() * self.batch_rows).min(self.batch_rows)
    }
}

/// One mini-batch: signed rows `z = y'·x` with `y'` = ±1, so that the model's chance of being right is `σ(z·w)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `batch_rows × cols` numbers, row by row; rows past `real_rows` are zero and add nothing to a gradient.
    pub signed: Vec<f64>,
    pub real_rows: usize,
}

/// Training rows cut into mini-batches of equal size, in a fixed order.
#[derive(Clone, Debug)]
pub struct Batches {
    batches: Vec<Batch>,
    batch_rows: usize,
    cols: usize,
}

impl Batches {
    /// Cuts `train` into batches of `batch_rows`; the last one is padded with zero rows. A `batch_rows` above the
    /// number of rows gives one padded batch.
    ///
    /// # Panics
    /// If `batch_rows` is 0 or `train` is empty.
    pub fn new(train: &LabeledRows, batch_rows: usize) -> Self {
        assert!(
            batch_rows > 0 && !train.labels.is_empty(),
            "batches of {batch_rows} rows from {} rows",
            train.labels.len()
        );
        let cut = |(x, y): (&[f64], &[bool])| {
            let signs = y.iter().map(|&label| if label { 1.0 } else { -1.0 });
            let mut signed: Vec<f64> = x
                .chunks_exact(train.cols)
                .zip(signs)
                .flat_map(|(row, sign)| row.iter().map(move |v| sign * v))
                .collect();
            signed.resize(batch_rows * train.cols, 0.0);
            Batch { signed, real_rows: y.len() }
        };
        let batches =
            train.features.chunks(batch_rows * train.cols).zip(train.labels.chunks(batch_rows)).map(cut).collect();
        Self { batches, batch_rows, cols: train.cols }
    }

    /// The mini-batch of iteration `t`; mini-batches are used cyclically.
    pub fn at(&self, t: usize) -> &Batch {
        &self.batches[t % self.batches.len()]
    }

    pub fn count(&self) -> usize {
        self.batches.len()
    }

    /// Rows of a batch, padding included.
    pub fn batch_rows(&self) -> usize {
        self.batch_rows
    }

    /// Columns, bias included.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::breast_cancer;

    fn set(rows: &[[f64; 2]], labels: &[bool]) -> DataSet {
        DataSet {
            name: "t".into(),
            features: rows.concat(),
            labels: labels.to_vec(),
            feature_names: vec!["a".into(), "b".into()],
            classes: ["0".into(), "1".into()],
        }
    }

    #[test]
    fn the_permutation_is_one_and_repeats() {
        let mut order = permutation(1000, 7);
        assert_eq!(order, permutation(1000, 7));
        assert_ne!(order, permutation(1000, 8));
        assert_ne!(order[..20], (0..20).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn the_split_is_four_to_one_and_scaled_by_training_rows_only() {
        let set = breast_cancer();
        for scaling in [Scaling::Range, Scaling::Standard { clip: 3.0 }] {
            let prepared = prepare(&set, &PrepareOptions { scaling, ..Default::default() }).unwrap();
            assert_eq!((prepared.train.labels.len(), prepared.test.labels.len()), (456, 113));
            assert_eq!((prepared.train.cols, prepared.columns.len()), (31, 31));
            let bound = if scaling == Scaling::Range { 1.0 } else { 3.0 };
            let all = || prepared.train.rows().chain(prepared.test.rows());
            assert!(all().all(|row| row[..1] == [1.0] && row.iter().all(|v| v.abs() <= bound)));
            let column = |c: usize| prepared.train.rows().map(move |row| row[c]);
            match scaling {
                Scaling::Range => assert!((1..31).all(|c| (column(c).fold(f64::MIN, f64::max) - 1.0).abs() < 1e-12)),
                Scaling::Standard { .. } | Scaling::Centered => {
                    assert!((1..31).all(|c| (column(c).sum::<f64>() / 456.0).abs() < 0.15))
                }
            }
        }
    }

    #[test]
    fn held_back_rows_do_not_move_the_scale() {
        let mut set = breast_cancer();
        let options = PrepareOptions { scaling: Scaling::Range, ..Default::default() };
        let before = prepare(&set, &options).unwrap();
        let last = *permutation(set.rows(), options.seed).last().unwrap();
        set.features[last * 30] = 1e9;
        let after = prepare(&set, &options).unwrap();
        assert_eq!(before.train, after.train);
        assert_eq!(after.test.rows().last().unwrap()[1..2], [1.0], "clipped");
    }

    #[test]
    fn constant_features_are_dropped_and_huge_ones_survive() {
        let rows = [[1.0, 5.0], [-1.7e308, 5.0], [1.7e308, 5.0], [0.0, 5.0], [3.0, 5.0]];
        let set = set(&rows, &[true, false, true, false, true]);
        for scaling in [Scaling::Range, Scaling::Standard { clip: 3.0 }] {
            let prepared = prepare(&set, &PrepareOptions { scaling, ..Default::default() }).unwrap();
            assert_eq!((prepared.columns, prepared.dropped), (vec!["bias".into(), "a".into()], vec!["b".into()]));
            assert!(prepared.train.features.iter().all(|v| v.is_finite()), "{:?}", prepared.train.features);
        }
    }

    #[test]
    fn impossible_preparations_are_errors() {
        let good =
            set(&[[1.0, 5.0], [2.0, 6.0], [3.0, 5.0], [4.0, 5.0], [5.0, 5.0]], &[true, false, true, false, true]);
        let error = |set: &DataSet, options| prepare(set, &options).unwrap_err().to_string();
        for test_share in [0.0, 1.0, f64::NAN, -1.0] {
            let options = PrepareOptions { test_share, ..Default::default() };
            assert!(error(&good, options).contains("wanted a share between 0 and 1"));
        }
        let scaling = Scaling::Standard { clip: f64::INFINITY };
        assert!(error(&good, PrepareOptions { scaling, ..Default::default() }).contains("clip inf"));
        let few = set(&[[1.0, 5.0], [2.0, 6.0]], &[true, false]);
        assert!(error(&few, PrepareOptions::default()).contains("0 held back"));
        let flat = set(&[[1.0, 5.0]; 5], &[true, false, true, false, true]);
        assert!(error(&flat, PrepareOptions::default()).contains("every feature is constant"));
    }

    #[test]
    fn batches_are_signed_padded_and_come_round() {
        let train =
            LabeledRows { features: vec![1.0, 2.0, 1.0, 3.0, 1.0, 4.0], cols: 2, labels: vec![true, false, true] };
        let batches = Batches::new(&train, 2);
        assert_eq!(batches.count(), 2);
        assert_eq!(*batches.at(0), Batch { signed: vec![1.0, 2.0, -1.0, -3.0], real_rows: 2 });
        assert_eq!(*batches.at(1), Batch { signed: vec![1.0, 4.0, 0.0, 0.0], real_rows: 1 });
        assert_eq!(batches.at(2), batches.at(0));
        assert_eq!(Batches::new(&train, 4).at(0).signed.len(), 8);
    }
}
