//! Unsigned integers of 64 bits, one decimal number a line: the form of the benchmark of products modulo 2^64.

use super::{
    dataset::{io_error, open_plain},
    error::DataError,
    table::short,
};
use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

/// Longest line with its end: twenty digits, blanks around them.
const MOST_LINE: u64 = 64;

/// Reads at most so many numbers.
///
/// # Errors
/// [`DataError`] for a file that is absent, empty or longer, or a line that is no number from 0 to 2^64 − 1.
pub fn load_u64(path: &Path, most: usize) -> Result<Vec<u64>, DataError> {
    let mut file = BufReader::new(open_plain(path)?.0);
    let (mut words, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        let read = file.by_ref().take(MOST_LINE).read_until(b'\n', &mut line).map_err(|e| io_error(path, e))?;
        if read == 0 {
            break;
        }
        if words.len() == most {
            return Err(wrong(path, format!("more than {most} numbers"), "split it into files of fewer numbers"));
        }
        let text = String::from_utf8_lossy(&line);
        let word = digits(text.trim_ascii()).ok_or_else(|| {
            let got = format!("line {}: got {:?}", words.len() + 1, short(text.trim_ascii(), 40));
            wrong(path, got, "numbers of more bits, signs and fractions are not taken")
        })?;
        words.push(word);
    }
    if words.is_empty() { Err(DataError::Empty { path: path.to_owned() }) } else { Ok(words) }
}

/// A number without a sign.
fn digits(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The text of numbers, one a line.
#[must_use]
pub fn text_of(words: impl IntoIterator<Item = u64>) -> String {
    words.into_iter().fold(String::new(), |mut text, word| {
        let _ = writeln!(text, "{word}");
        text
    })
}

fn wrong(path: &Path, got: String, next: &str) -> DataError {
    let wanted = "one decimal number from 0 to 2^64 - 1 on each line".into();
    DataError::Format { path: path.to_owned(), got, wanted, next: next.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbers_or_refused() {
        let folder = std::env::temp_dir().join(format!("limbwise-words-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("lhs.txt");
        let read = |text: &str, most: usize| {
            std::fs::write(&path, text).unwrap();
            load_u64(&path, most).map_err(|e| e.to_string())
        };
        let all = [0, 1, u64::MAX];
        assert_eq!(read(&text_of(all), 3).unwrap(), all);
        assert_eq!(read(" 7\r\n8", 9).unwrap(), [7, 8]);
        assert!(read(&text_of(all), 2).unwrap_err().contains("more than 2 numbers"));
        for bad in ["1\n\n2\n", "-1\n", "+1\n", "18446744073709551616\n", "1.5\n", "a\n", "1 2\n", &"1".repeat(200)] {
            assert!(read(bad, 9).unwrap_err().contains("line "), "{bad:?}");
        }
        assert!(read("", 9).unwrap_err().contains("no data row"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
