//! A data set in memory, the shipped data set, and the loader that detects the file format.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::DataError;
use super::idx::{self, Digits, Pooling};
use super::npy;
use super::table::{self, Header, LabelColumn};

/// A table of finite numbers with one of two labels a row.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// Short name for reports: the file's stem, or the shipped set's name.
    pub name: String,
    /// `rows × feature_names.len()` numbers, row by row; every one finite.
    pub features: Vec<f64>,
    /// One label a row; `true` is the positive class. Both classes occur.
    pub labels: Vec<bool>,
    pub feature_names: Vec<String>,
    /// How the negative and the positive class are written in the file.
    pub classes: [String; 2],
}

impl DataSet {
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    pub fn cols(&self) -> usize {
        self.feature_names.len()
    }

    /// The features of row `i`.
    ///
    /// # Panics
    /// If `i` is not below [`DataSet::rows`].
    pub fn row(&self, i: usize) -> &[f64] {
        &self.features[i * self.cols()..(i + 1) * self.cols()]
    }
}

/// How to read a data file. The defaults suit a table whose last column is the label.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    pub label: LabelColumn,
    /// Whether a table's first row is a header.
    pub header: Header,
    /// Which two digits to keep of an MNIST file. Required there, an error for tables.
    pub digits: Option<Digits>,
    /// How MNIST images are downsampled.
    pub pooling: Pooling,
    /// The labels of an MNIST file; by default the images' path with `images-idx3` replaced by `labels-idx1`.
    pub idx_labels: Option<PathBuf>,
}

/// Reads a table, a NumPy array with a row a sample, or an MNIST image file, told apart by their first bytes.
///
/// # Errors
/// Any [`DataError`]: the file is absent, of another format, ragged, not finite, or not of two classes.
pub fn load(path: &Path, options: &LoadOptions) -> Result<DataSet, DataError> {
    let gzip = starts_with(path, &[0x1f, 0x8b])?;
    let idx = starts_with(path, &[0, 0])?;
    match options.digits {
        Some(digits) => idx::load(path, options.idx_labels.as_deref(), digits, options.pooling),
        None if gzip || idx => Err(DataError::Format {
            path: path.to_owned(),
            got: if gzip {
                "is gzip data and no digits were chosen"
            } else {
                "looks like IDX data and no digits were chosen"
            }
            .into(),
            wanted: "two digits to tell apart, for MNIST images; tables are read uncompressed".into(),
            next: "give two digits such as 3,8, or decompress a table first".into(),
        }),
        None if starts_with(path, npy::MAGIC)? => table::of_array(path, &npy::load(path)?, &options.label),
        None => table::load(path, &options.label, options.header),
    }
}

/// Whether a file begins with these bytes; a shorter one does not.
pub(crate) fn starts_with(path: &Path, wanted: &[u8]) -> Result<bool, DataError> {
    let mut start = Vec::new();
    let opened = open_plain(path)?.0;
    opened.take(wanted.len() as u64).read_to_end(&mut start).map_err(|source| io_error(path, source))?;
    Ok(start == wanted)
}

/// Breast Cancer Wisconsin (Diagnostic): 569 rows, 30 features, positive = malignant.
///
/// Source and license (CC BY 4.0): `crates/apps/data/README.md`; \[SWM93\].
///
/// # Panics
/// Never for a built crate: the embedded file is read by a unit test.
pub fn breast_cancer() -> DataSet {
    let text = include_str!("../../data/breast_cancer_wisconsin.csv");
    table::parse(
        text,
        Path::new("breast_cancer_wisconsin.csv"),
        &LabelColumn::Name("diagnosis".into()),
        Header::Present,
    )
    .expect("the embedded data set is well-formed")
}

/// Opens a plain file and gives its length in bytes.
pub(crate) fn open_plain(path: &Path) -> Result<(File, u64), DataError> {
    let metadata = std::fs::metadata(path).map_err(|source| io_error(path, source))?;
    if !metadata.is_file() {
        return Err(DataError::NotAFile { path: path.to_owned() });
    }
    Ok((File::open(path).map_err(|source| io_error(path, source))?, metadata.len()))
}

pub(crate) fn io_error(path: &Path, source: std::io::Error) -> DataError {
    DataError::Io { path: path.to_owned(), source }
}

/// The name a report gives to a file: its stem without a second extension.
pub(super) fn name_of(path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Reads by another library. Fuzzing found damaged files on which `parquet` and `png` panic where they should return an
/// error: such a panic becomes [`DataError::Format`]. Its message is still printed, because a hook belongs to the program.
pub(crate) fn guarded<T, E: From<DataError>>(
    path: &Path,
    wanted: &str,
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    // What the reader leaves behind is dropped with it.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let got = "a damaged file, on which its reader panicked".into();
        let next = "write the file again".into();
        Err(DataError::Format { path: path.to_owned(), got, wanted: wanted.into(), next }.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_set_is_whole() {
        let set = breast_cancer();
        assert_eq!((set.rows(), set.cols()), (569, 30));
        assert_eq!(set.labels.iter().filter(|&&l| l).count(), 212);
        assert_eq!(set.classes, ["0", "1"]);
        assert_eq!(set.feature_names[0], "radius_mean");
        assert_eq!(set.row(0)[..3], [17.99, 10.38, 122.8]);
        assert!(set.labels[0] && !set.labels[568]);
    }

    #[test]
    fn folders_and_absent_files_are_errors() {
        let error = |p: &str| load(Path::new(p), &LoadOptions::default()).unwrap_err().to_string();
        assert!(error("/").contains("is not a plain file"));
        assert!(error("/nowhere/x.csv").starts_with("/nowhere/x.csv: cannot read"));
    }
}
