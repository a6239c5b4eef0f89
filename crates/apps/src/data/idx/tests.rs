use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const DIGITS: Digits = Digits { negative: 3, positive: 8 };

/// A folder with `x-images-idx3` and `x-labels-idx1`, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(test: &str, images: &[u8], labels: &[u8]) -> Self {
        let dir = std::env::temp_dir().join(format!("limbwise-idx-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("x-images-idx3"), images).unwrap();
        std::fs::write(dir.join("x-labels-idx1"), labels).unwrap();
        Self(dir)
    }

    fn load(&self, pooling: Pooling) -> Result<DataSet, DataError> {
        load(&self.0.join("x-images-idx3"), None, DIGITS, pooling)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A leftover temporary folder is harmless, and a panic in `drop` would hide the test's own.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn idx(magic: u32, dimensions: &[u32], data: &[u8]) -> Vec<u8> {
    let words = std::iter::once(&magic).chain(dimensions).flat_map(|word| word.to_be_bytes());
    words.chain(data.iter().copied()).collect()
}

/// Three images of 2 × 2: a 3, a 5 and an 8.
fn images() -> Vec<u8> {
    idx(IMAGES_MAGIC, &[3, 2, 2], &[0, 255, 255, 0, 9, 9, 9, 9, 51, 51, 51, 51])
}

fn labels() -> Vec<u8> {
    idx(LABELS_MAGIC, &[3], &[3, 5, 8])
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn two_digits_are_kept_and_pooled() {
    let files = Files::new("kept", &images(), &gzip(&labels()));
    let pooled = files.load(Pooling::Mean2x2).unwrap();
    assert_eq!(pooled.features, [0.5, 0.2]);
    assert_eq!(pooled.labels, [false, true]);
    assert_eq!(pooled.feature_names, ["pixel 0,0"]);
    let whole = files.load(Pooling::None).unwrap();
    assert_eq!(whole.features, [0.0, 1.0, 1.0, 0.0, 0.2, 0.2, 0.2, 0.2]);
    assert_eq!(Files::new("gz", &gzip(&images()), &labels()).load(Pooling::None).unwrap().features, whole.features);
}

#[test]
fn hostile_headers_are_errors_before_any_allocation() {
    let huge = idx(IMAGES_MAGIC, &[u32::MAX, 1024, 1024], &[0; 16]);
    let many = idx(LABELS_MAGIC, &[u32::MAX], &[0; 16]);
    let cases: [(&str, Vec<u8>, Vec<u8>, &str); 11] = [
        ("magic", idx(0x801, &[3], &[1]), labels(), "starts with 0x801"),
        ("huge-count", huge.clone(), labels(), "3 labels"),
        ("huge-labels", huge.clone(), many.clone(), "its header says 4294967303 bytes, the file holds 24"),
        ("huge-gzip", gzip(&huge), gzip(&many), "the file holds at most"),
        ("sides", idx(IMAGES_MAGIC, &[1, 0, 2], &[]), labels(), "images of 0 × 2"),
        ("wide", idx(IMAGES_MAGIC, &[1, 2, 70_000], &[]), labels(), "images of 2 × 70000"),
        ("odd", idx(IMAGES_MAGIC, &[1, 3, 2], &[0; 6]), labels(), "wanted even sides"),
        ("short", images()[..20].to_vec(), labels(), "its header says 28 bytes, the file holds 20"),
        ("short-gzip", gzip(&images()[..20]), labels(), "ends too early"),
        ("long-gzip", gzip(&[images(), vec![0]].concat()), labels(), "has more bytes"),
        ("label", images(), idx(LABELS_MAGIC, &[3], &[3, 10, 8]), "label 2 is 10"),
    ];
    for (name, images, labels, wanted) in cases {
        let text = Files::new(name, &images, &labels).load(Pooling::Mean2x2).unwrap_err().to_string();
        assert!(text.contains(wanted), "{name}: {text}");
    }
}

#[test]
fn a_truncated_header_and_an_absent_digit_are_errors() {
    let text = Files::new("header", &[0, 0, 8], &labels()).load(Pooling::None).unwrap_err().to_string();
    assert!(text.contains("ends too early"), "{text}");
    let text = Files::new("digit", &images(), &idx(LABELS_MAGIC, &[3], &[3, 5, 3])).load(Pooling::None).unwrap_err();
    assert!(text.to_string().contains("holds no image of a 8"), "{text}");
}

#[test]
fn corrupt_gzip_is_an_error() {
    let mut bytes = gzip(&images());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    assert!(Files::new("corrupt", &bytes, &labels()).load(Pooling::None).is_err());
}

#[test]
fn digits_are_parsed() {
    assert_eq!("3,8".parse(), Ok(DIGITS));
    for text in ["3", "3,3", "3,10", "a,b", "3,8,1", ""] {
        assert!(text.parse::<Digits>().is_err(), "{text}");
    }
}

#[test]
fn mnist_loads() {
    let Some(dir) = crate::data_dir("t10k-images-idx3-ubyte.gz") else { return };
    let set = load(&dir, None, DIGITS, Pooling::Mean2x2).unwrap();
    assert_eq!((set.rows(), set.cols()), (1984, 196));
    assert!(set.features.iter().all(|v| (0.0..=1.0).contains(v)));
}
