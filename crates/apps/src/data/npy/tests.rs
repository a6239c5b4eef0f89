use super::*;
use std::path::PathBuf;

fn in_file<R>(name: &str, bytes: &[u8], test: impl FnOnce(&Path) -> R) -> R {
    let folder = std::env::temp_dir().join(format!("limbwise-npy-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join("a.npy");
    std::fs::write(&path, bytes).unwrap();
    let result = test(&path);
    std::fs::remove_dir_all(&folder).unwrap();
    result
}

/// As NumPy writes it.
fn file(version: u8, descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    header += " \n";
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    let width = if version == 1 { 2 } else { 4 };
    [MAGIC, &[version, 0], &length[..width], header.as_bytes(), data].concat()
}

fn read(bytes: &[u8]) -> Result<Numbers, String> {
    let name = name_of(bytes);
    in_file(&name, bytes, |path| load(path).map_err(|e| e.to_string()))
}

/// A name for the folder of a test file.
fn name_of(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0u64, |sum, &b| sum.wrapping_mul(31).wrapping_add(b.into()));
    format!("{sum:x}-{}", bytes.len())
}

fn reals(numbers: &Numbers) -> Vec<f64> {
    numbers.values.iter().map(|z| z.re).collect()
}

#[test]
fn what_is_missing_is_taken_where_it_may_be() {
    let bytes: Vec<u8> = [1.5f64, f64::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
    let array = file(1, "<f8", "False", "(2,)", &bytes);
    let with = |bytes: &[u8]| in_file("gaps", bytes, crate::data::load_array_with_gaps);
    let found = reals(&with(&array).unwrap());
    assert!(found[0].total_cmp(&1.5).is_eq() && found[1].is_nan());
    assert!(read(&array).unwrap_err().contains("number 2 is NaN"));
    let found = reals(&with(b"1,,3\nNA,2,null\n").unwrap());
    assert_eq!(found.iter().map(|x| x.is_nan()).collect::<Vec<_>>(), [false, true, false, true, false, true]);
    for wrong in [&b"1,x\n"[..], b"1,inf\n", b"1,-\n"] {
        assert!(with(wrong).is_err());
    }
    let bytes: Vec<u8> = [1.5f64, f64::INFINITY].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert!(with(&file(1, "<f8", "False", "(2,)", &bytes)).is_err(), "infinity is not missing");
}

#[test]
fn every_version_and_type_is_read() {
    let floats: Vec<u8> = [1.5f64, -2.0, 3.25].iter().flat_map(|x| x.to_le_bytes()).collect();
    for version in 1..=3 {
        let got = read(&file(version, "<f8", "False", "(3,)", &floats)).unwrap();
        assert_eq!((got.shape.as_slice(), reals(&got)), (&[3][..], vec![1.5, -2.0, 3.25]));
    }
    let big: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
    assert_eq!(reals(&read(&file(1, ">f4", "False", "(2,)", &big)).unwrap()), [1.5, -2.0]);
    let halves: Vec<u8> = [0x3e00u16, 0xc000].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(reals(&read(&file(1, "<f2", "False", "(2,)", &halves)).unwrap()), [1.5, -2.0]);
    let small: Vec<u8> = [-3i16, 7].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(reals(&read(&file(1, "<i2", "False", "(2,)", &small)).unwrap()), [-3.0, 7.0]);
    assert_eq!(reals(&read(&file(1, "|u1", "False", "(2,)", &[255, 1])).unwrap()), [255.0, 1.0]);
    assert_eq!(reals(&read(&file(1, "|b1", "False", "()", &[1])).unwrap()), [1.0]);
    let complex: Vec<u8> = [0.5f64, -0.25].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(read(&file(1, "<c16", "False", "(1,)", &complex)).unwrap().values, [Complex64::new(0.5, -0.25)]);
}

#[test]
fn the_first_side_may_run_fastest() {
    let columns: Vec<u8> = [1u8, 4, 2, 5, 3, 6].to_vec();
    let got = read(&file(1, "|u1", "True", "(2, 3)", &columns)).unwrap();
    assert_eq!((got.shape.as_slice(), reals(&got)), (&[2, 3][..], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
}

#[test]
fn what_is_written_is_read() {
    for (shape, part) in [(vec![2, 3], Parts::Real), (vec![6], Parts::Complex), (vec![3, 1, 2], Parts::Complex)] {
        let im = if part == Parts::Real { 0.0 } else { 0.5 };
        let values: Vec<Complex64> = (0..6).map(|i| Complex64::new(f64::from(i) / 3.0, im)).collect();
        let mut bytes = Vec::new();
        write(&mut bytes, &shape, &values, part).unwrap();
        assert_eq!((bytes.len() - 6 * if part == Parts::Real { 8 } else { 16 }) % 64, 0, "aligned");
        assert_eq!(read(&bytes).unwrap(), Numbers { shape, values });
    }
}

#[test]
fn hostile_files_are_refused() {
    let good = file(1, "<f8", "False", "(1,)", &1f64.to_le_bytes());
    for cut in 0..good.len() {
        assert!(read(&good[..cut]).is_err(), "cut at {cut}");
    }
    assert!(read(&[&good[..], &[0]].concat()).unwrap_err().contains("9 bytes of numbers where shape [1] takes 8"));
    for (bytes, said) in [
        (file(4, "<f8", "False", "(1,)", &[0; 8]), "version 4"),
        (file(1, "|O", "False", "(1,)", &[0; 8]), "items of type \"|O\""),
        (file(1, "<f16", "False", "(1,)", &[0; 16]), "items of type \"<f16\""),
        (file(1, "<f8", "Maybe", "(1,)", &[0; 8]), "order cannot be read"),
        (file(1, "<f8", "False", "(-1,)", &[0; 8]), "shape cannot be read"),
        (file(1, "<f8", "False", "(1", &[0; 8]), "shape cannot be read"),
        (file(1, "<f8", "False", "(4294967296, 4294967296, 2)", &[0; 8]), "8 bytes of numbers where shape"),
        (file(1, "<f8", "False", "(1,1,1,1,1,1,1,1,1)", &[0; 8]), "9 sides"),
        (file(1, "<f8", "False", "(1,)", &f64::NAN.to_le_bytes()), "number 1 is NaN;"),
        (file(1, "<f8", "False", "(1,)", &f64::INFINITY.to_le_bytes()), "number 1 is inf;"),
        (file(1, "<i8", "False", "(1,)", &i64::MIN.to_le_bytes()), "number 1 is -922337203685477"),
        ([MAGIC, &[2, 0, 255, 255, 255, 255]].concat(), "a header of 4294967295 bytes"),
        (b"\x93NUMPX\x01\x00\x00\x00".to_vec(), "does not begin"),
    ] {
        let error = read(&bytes).unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
    }
}
