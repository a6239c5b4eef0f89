//! Values of a field: `a,b,c`, and ranges of numbers: `2..8`, `2..8:2`, `500..4000*2`.

use limbwise_math::finite;

const MOST: usize = 100_000;

/// The values of a text, in order.
pub(crate) fn values(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for item in text.split(',').map(str::trim) {
        match item.split_once("..") {
            _ if item.is_empty() => return Err("a value is empty".into()),
            None => all.push(item.to_owned()),
            Some((first, rest)) => all.extend(range(item, first, rest)?),
        }
    }
    let mut sorted: Vec<&String> = all.iter().collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("the value {} is given twice", pair[0])),
        None => Ok(all),
    }
}

/// How a range goes on from a number.
#[derive(Clone, Copy)]
enum Step {
    Plus(f64),
    Times(f64),
}

fn range(item: &str, first: &str, rest: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("{item} is no range: wanted FIRST..LAST, FIRST..LAST:STEP or FIRST..LAST*FACTOR of numbers");
    let number = |text: &str| finite::parse(text).map_err(|_| wrong());
    let (last, step) = match (rest.split_once(':'), rest.split_once('*')) {
        (Some((last, step)), _) => (last, Step::Plus(number(step)?)),
        (None, Some((last, factor))) => (last, Step::Times(number(factor)?)),
        (None, None) => (rest, Step::Plus(1.0)),
    };
    let (first, last) = (number(first)?, number(last)?);
    let goes_up = match step {
        Step::Plus(step) => step > 0.0,
        Step::Times(factor) => factor > 1.0 && first > 0.0,
    };
    if !goes_up || last < first {
        return Err(format!("{item} never ends or never begins: wanted FIRST <= LAST and a step that goes up"));
    }
    let at = |i: i32| match step {
        Step::Plus(step) => first + f64::from(i) * step,
        Step::Times(factor) => first * factor.powi(i),
    };
    // A last value that rounding has put a little beyond the end belongs to the range.
    let reaches = last + 1e-9 * last.abs();
    let found: Vec<String> = (0..).map(at).take_while(|x| *x <= reaches).take(MOST + 1).map(text_of).collect();
    if found.len() > MOST {
        return Err(format!("{item} has more than {MOST} values"));
    }
    Ok(found)
}

/// A number as it is written, with what rounding adds cut off.
fn text_of(x: f64) -> String {
    let rounded: f64 = format!("{x:.12e}").parse().unwrap_or(x);
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> String {
        values(text).map_or_else(|e| format!("error: {e}"), |v| v.join(" "))
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(all("2..6"), "2 3 4 5 6");
        assert_eq!(all("2..8:3"), "2 5 8");
        assert_eq!(all("500..4000*2"), "500 1000 2000 4000");
        assert_eq!(all("0.1..0.5:0.1"), "0.1 0.2 0.3 0.4 0.5");
        assert_eq!(all("a, b ,bsgs:8"), "a b bsgs:8");
        assert_eq!(all("1,4..6,10"), "1 4 5 6 10");
        assert_eq!(values("0..9999").unwrap().len(), 10_000);
    }

    #[test]
    fn what_is_none_is_said() {
        for wrong in
            ["", "1,,2", "1..", "a..b", "1..nan", "1..inf", "3..1", "1..9:0", "1..9:-1", "1..9*1", "0..9*2", "-1..9*2"]
        {
            assert!(values(wrong).is_err(), "{wrong}");
        }
        assert!(values("1,2,1").unwrap_err().contains("twice"));
        assert!(values("0..1e9").unwrap_err().contains("more than"));
        assert!(values("1..3,2").unwrap_err().contains("twice"));
    }
}
