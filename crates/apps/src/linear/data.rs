//! Numbers for a layer: from a seed, the same on every machine, or from a table.

use crate::data::{DataError, load_numbers};
use std::path::Path;

/// `count` numbers, uniform in [−`most`, `most`), by SplitMix64 \[SLF14\]; `stream` tells apart what is drawn with one
/// seed.
#[must_use]
pub fn generated(seed: u64, stream: u64, count: usize, most: f64) -> Vec<f64> {
    let mut state = seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..count).map(|_| ((draw() >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * most).collect()
}

/// The numbers of a table, row by row, with its rows and columns.
///
/// # Errors
/// [`DataError`] for a file that cannot be read as numbers.
pub fn table(path: &Path) -> Result<(usize, usize, Vec<f64>), DataError> {
    let rows = load_numbers(path)?;
    Ok((rows.len(), rows.first().map_or(0, Vec::len), rows.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_repeat_and_differ_by_stream() {
        let a = generated(1, 0, 1000, 2.0);
        assert_eq!(a, generated(1, 0, 1000, 2.0));
        assert_ne!(a, generated(1, 1, 1000, 2.0));
        assert_ne!(a, generated(2, 0, 1000, 2.0));
        assert!(a.iter().all(|x| x.abs() <= 2.0) && a.iter().any(|x| *x > 1.9) && a.iter().any(|x| *x < -1.9));
        assert!(a.iter().sum::<f64>().abs() < 200.0, "centred");
    }

    #[test]
    fn tables_are_numbers_alone() {
        let folder = std::env::temp_dir().join(format!("limbwise-numbers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let read = |text: &str| {
            let path = folder.join("a.csv");
            std::fs::write(&path, text).unwrap();
            table(&path).map_err(|e| e.to_string())
        };
        assert_eq!(read("1,2,3\n4,5,6\n"), Ok((2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
        assert_eq!(read("1\n-2e3\n\n0.5\n"), Ok((3, 1, vec![1.0, -2000.0, 0.5])));
        assert_eq!(read("1 2\n3 4\n").unwrap().0, 2);
        for (text, wanted) in [
            ("a,b\n1,2\n", "line 1, column 1 (column 1): got \"a\""),
            ("1,2\n1,nan\n", "line 2, column 2"),
            ("1,2\n1\n", "line 2: 1 columns"),
            ("\n", "has no data row"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(wanted), "{said}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
