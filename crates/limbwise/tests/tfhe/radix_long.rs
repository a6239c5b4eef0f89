//! Quotients, sums of many and shifts by encrypted numbers compute what their clear twins do, in as many bootstrappings
//! and layers as they say, within the noise that every set promises.

use crate::{
    common::{Session, cpu, small},
    radix::{Recorded, counted, encrypted, read, twin, values},
};
use limbwise::tfhe::{Boolean, Format, Integers, Radix, TfheLiteral, preset};

/// Still fewer steps, for thousands of bootstrappings.
fn tiny() -> TfheLiteral {
    TfheLiteral { lwe_dimension: 20, ..small(4, 1) }
}

fn formats() -> [Format; 3] {
    [Format::unsigned(8).unwrap(), Format::signed(8).unwrap(), Format::signed(16).unwrap()]
}

/// Dividends and divisors: edges, zeros, and divisors of every length.
fn pairs(format: Format) -> [Vec<i128>; 2] {
    let (least, most) = format.range();
    let edges = [least, most, 0, 5, format.wrapped(-7)];
    let divisors = [1, 3, 10, most, most / 2 + 1, 0, least, format.wrapped(-1)];
    let of = |a: i128| divisors.iter().map(move |&d| (a, d));
    let random = values(format, 8, 5).into_iter().zip(values(format, 8, 6).into_iter().rev());
    // Wide integers go the same way, only further.
    let step = if format.bits() > 8 { 5 } else { 1 };
    let narrow = values(format, 6, 7).into_iter().map(|a| (a, (a ^ 21) & 15));
    let all = edges.into_iter().flat_map(of).chain(random).chain(narrow).step_by(step);
    let (a, d) = all.unzip();
    [a, d]
}

/// What NumPy gives: rounded down, 0 by 0.
fn floored(a: i128, d: i128) -> (i128, i128) {
    if d == 0 {
        return (0, 0);
    }
    let rest = a.rem_euclid(d.abs());
    let rest = if d < 0 && rest > 0 { rest + d } else { rest };
    ((a - rest) / d, rest)
}

#[test]
fn quotients_and_remainders() {
    let s = Session::on(cpu(), &tiny(), 11);
    for format in formats() {
        let [a, d] = pairs(format);
        let (q, r) = encrypted(&s, format, &a).div_rem(&encrypted(&s, format, &d)).unwrap();
        assert_eq!(read(&s, &q), twin(format, [&a, &d], |a, d| floored(a, d).0), "{format}");
        assert_eq!(read(&s, &r), twin(format, [&a, &d], |a, d| floored(a, d).1), "{format}");
        // Both are inputs of what comes next.
        let back = q.mul(&encrypted(&s, format, &d)).unwrap().add(&r).unwrap();
        assert_eq!(read(&s, &back), twin(format, [&a, &d], |a, d| if d == 0 { 0 } else { a }), "{format}");
    }
}

#[test]
fn quotients_by_clear_divisors() {
    let s = Session::on(cpu(), &tiny(), 12);
    for format in formats() {
        let (least, most) = format.range();
        let a = values(format, 8, 3);
        let x = encrypted(&s, format, &a);
        for divisor in [1, 2, 3, 10, 64, most, least, format.wrapped(-10), 0] {
            let (q, r) = x.div_rem_clear(&[divisor]).unwrap();
            assert_eq!(read(&s, &q), twin(format, [&a, &a], |a, _| floored(a, divisor).0), "{format} by {divisor}");
            assert_eq!(read(&s, &r), twin(format, [&a, &a], |a, _| floored(a, divisor).1), "{format} by {divisor}");
        }
        let [a, d] = pairs(format);
        let (q, r) = encrypted(&s, format, &a).div_rem_clear(&d).unwrap();
        assert_eq!(read(&s, &q), twin(format, [&a, &d], |a, d| floored(a, d).0), "{format}");
        assert_eq!(read(&s, &r), twin(format, [&a, &d], |a, d| floored(a, d).1), "{format}");
    }
    let x = encrypted(&s, Format::unsigned(8).unwrap(), &[1]);
    let refused = x.div_rem_clear(&[256]).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused.contains("256 is outside uint8's 0 to 255"), "{refused}");
}

#[test]
fn shifts_by_encrypted_numbers() {
    let s = Session::on(cpu(), &tiny(), 13);
    for format in [Format::unsigned(8).unwrap(), Format::signed(16).unwrap(), Format::unsigned(10).unwrap()] {
        let (bits, most) = (i128::from(format.bits()), format.range().1);
        let by: Vec<i128> = (0..bits + 3).chain([most, most / 2 + 1, format.wrapped(-1)]).collect();
        let a = values(format, by.len(), 4);
        let (x, y) = (encrypted(&s, format, &a), encrypted(&s, format, &by));
        let left = |a: i128, by: i128| if (0..bits).contains(&by) { a << by } else { 0 };
        let right = |a: i128, by: i128| a >> if (0..bits).contains(&by) { by } else { 100 };
        assert_eq!(read(&s, &x.shifted_left_by(&y).unwrap()), twin(format, [&a, &by], left), "{format}");
        assert_eq!(read(&s, &x.shifted_right_by(&y).unwrap()), twin(format, [&a, &by], right), "{format}");
    }
}

#[test]
fn sorting() {
    let s = Session::on(cpu(), &tiny(), 17);
    for format in formats() {
        for count in [1, 2, 5, 8] {
            let columns: Vec<Vec<i128>> = (0..count).map(|i| values(format, 3, 40 + i)).collect();
            let all: Vec<Radix<'_, _>> = columns.iter().map(|column| encrypted(&s, format, column)).collect();
            let got: Vec<Vec<i128>> = Radix::sorted(&all).unwrap().iter().map(|one| read(&s, one)).collect();
            for row in 0..3 {
                let mut wanted: Vec<i128> = columns.iter().map(|column| column[row]).collect();
                wanted.sort_unstable();
                assert_eq!(got.iter().map(|one| one[row]).collect::<Vec<_>>(), wanted, "{count} of {format}");
            }
        }
    }
}

type Entry = fn(i128) -> i128;

#[test]
fn tables_of_encrypted_indices() {
    let s = Session::on(cpu(), &tiny(), 16);
    let (byte, word, signed) =
        (Format::unsigned(8).unwrap(), Format::unsigned(10).unwrap(), Format::signed(8).unwrap());
    for (format, entries) in [(byte, 3), (byte, 16), (byte, 40), (byte, 256), (word, 200), (word, 1000)] {
        let last = entries - 1;
        let index = [0, 1, 15.min(last), 16.min(last), last, last / 2, 255, format.range().1];
        let x = encrypted(&s, format, &index);
        let tables: [(&str, Entry); 3] =
            [("square", |i| i * i + 1), ("step", |i| -i128::from(i > 20)), ("zero", |_| 0)];
        for (name, f) in tables {
            let table: Vec<i128> = (0..entries).map(|i| signed.wrapped(f(i))).collect();
            let wanted = index.map(|i| table.get(usize::try_from(i).unwrap()).copied().unwrap_or(0));
            assert_eq!(read(&s, &x.lookup(&table, signed).unwrap()), wanted, "{entries} entries of {format}: {name}");
        }
    }
    let x = encrypted(&s, signed, &[1]);
    let says = |table: &[i128], wanted: &str| {
        let got = x.lookup(table, byte).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(got.contains(wanted), "{got}");
    };
    says(&[1], "indices are unsigned");
    says(&[], "a table of 0 entries: give 1 to 1024");
    says(&[0; 1025], "a table of 1025 entries");
}

#[test]
fn sums_of_many_and_counts() {
    let s = Session::on(cpu(), &tiny(), 14);
    for format in formats() {
        let parts: Vec<Vec<i128>> = (0..9).map(|i| values(format, 3, 20 + i)).collect();
        let terms: Vec<Radix<'_, _>> = parts.iter().map(|part| encrypted(&s, format, part)).collect();
        for weights in [[1; 9], [1, -1, 3, 0, 100, format.range().1, 7, 2, 5], [0; 9]] {
            let weights = weights.map(|w| format.wrapped(w));
            let wanted: Vec<i128> =
                (0..3).map(|row| format.wrapped(parts.iter().zip(weights).map(|(p, w)| p[row] * w).sum())).collect();
            let terms: Vec<_> = terms.iter().zip(weights).collect();
            assert_eq!(read(&s, &Radix::weighted_sum(&terms).unwrap()), wanted, "{format} {weights:?}");
        }
        assert_eq!(read(&s, &terms[0].abs().unwrap()), twin(format, [&parts[0], &parts[0]], |a, _| a.abs()));
    }
    let bits: Vec<Vec<u64>> = (0..70).map(|i| vec![1, u64::from(i % 3 == 0), u64::from(i == 69), 0]).collect();
    let all: Vec<Boolean<'_, _>> = bits.iter().map(|b| Boolean::new(s.eval(), s.encrypt(b)).unwrap()).collect();
    let integers = Integers::new(s.eval()).unwrap();
    let counted = |of: &[Boolean<'_, _>], format| read(&s, &integers.count(format, of).unwrap());
    assert_eq!(counted(&all, Format::unsigned(16).unwrap()), [70, 24, 1, 0]);
    assert_eq!(counted(&all[..1], Format::signed(8).unwrap()), [1, 1, 0, 0]);
    assert_eq!(s.decrypt(Boolean::any(&all).unwrap().ciphertext()), [1, 1, 1, 0]);
    assert_eq!(s.decrypt(Boolean::all(&all).unwrap().ciphertext()), [1, 0, 0, 0]);
    assert_eq!(s.decrypt(Boolean::all(&all[..1]).unwrap().ciphertext()), [1, 1, 0, 0]);
}

#[test]
fn rows_are_gathered_and_known_ones_added() {
    let s = Session::on(cpu(), &tiny(), 15);
    let format = Format::signed(8).unwrap();
    let x = encrypted(&s, format, &[-5, 7, 120]);
    assert_eq!(read(&s, &x.gather(&[2, 0, 1, 2, 2]).unwrap()), [120, -5, 7, 120, 120]);
    let integers = Integers::new(s.eval()).unwrap();
    let known = integers.known(&x.ciphertext().unwrap(), format, &[1, -1, 10]).unwrap();
    assert_eq!(read(&s, &x.add(&known).unwrap()), [-4, 6, -126]);
    assert_eq!(read(&s, &x.mul(&known).unwrap()), [-5, -7, format.wrapped(1200)]);
    assert_eq!(read(&s, &known.max(&x).unwrap()), [1, 7, 120]);
}

/// A set that promises nothing for sums ends with an error or a result, not in a loop.
#[test]
fn sets_without_room_for_sums_end() {
    let s = Session::on(cpu(), &TfheLiteral { norm: 1.0, ..tiny() }, 18);
    let all: Vec<Boolean<'_, _>> = [0, 1, 0].map(|b| Boolean::new(s.eval(), s.encrypt(&[b])).unwrap()).into();
    if let Ok(any) = Boolean::any(&all) {
        assert_eq!(s.decrypt(any.ciphertext()), [1]);
    }
    let byte = Format::unsigned(8).unwrap();
    if let Ok(found) = encrypted(&s, byte, &[77]).lookup(&(0..256).map(|i| i * 3 % 251).collect::<Vec<_>>(), byte) {
        assert_eq!(read(&s, &found), [231]);
    }
}

/// The noise of the longest chains is within the promise of every set with four message bits.
#[test]
fn every_set_with_four_bits_holds_the_noise_of_long_operations() {
    for (name, lanes) in [("2-2-p64", 2), ("2-2-p128", 100), ("strix-III-32", 2), ("fhex-II-32", 2)] {
        counted(&preset(name).unwrap(), lanes, Format::signed(8).unwrap(), |a, b| {
            let (low, high) = (a.min(b)?, a.max(b)?);
            let (q, r) = low.div_rem(&high)?;
            q.add(&r)?;
            low.div_rem_clear(&[10])?;
            low.shifted_right_by(&high)?.shifted_left_by(&low)?;
            low.abs()?;
            Radix::sorted(&vec![low.clone(); 8])?;
            let word = low.converted(Format::unsigned(10)?)?;
            word.lookup(&(0..1000).map(|i| i * i % 200).collect::<Vec<_>>(), Format::unsigned(8)?)?;
            Radix::weighted_sum(&vec![(&low, 103); 12]).map(drop)
        });
    }
}

/// The costs that `docs/guide/integers.md` gives, for one row and one lane.
#[test]
fn counts_of_long_operations() {
    let of = |bits, f: fn(&Recorded<'_>, &Recorded<'_>) -> limbwise::Result<()>| {
        counted(&tiny(), 1, Format::unsigned(bits).unwrap(), f).0
    };
    let quotients = [8, 16, 32, 64].map(|bits| of(bits, |a, b| a.div_rem(b).map(drop)));
    let tens = [8, 16, 32, 64].map(|bits| of(bits, |a, _| a.div_rem_clear(&[10]).map(drop)));
    let shifts = [8, 16, 32, 64].map(|bits| of(bits, |a, b| a.shifted_left_by(b).map(drop)));
    let sums = [8, 16, 32, 64].map(|bits| of(bits, |a, _| Radix::weighted_sum(&vec![(a, 1); 100]).map(drop)));
    let bytes = of(8, |a, _| a.lookup(&(0..256).map(|i| i * 77 % 251).collect::<Vec<_>>(), a.format()).map(drop));
    let steps = of(8, |a, _| a.lookup(&(0..256).map(|i| i / 16).collect::<Vec<_>>(), a.format()).map(drop));
    assert_eq!((bytes, steps), (146, 2));
    let sorted = [8, 16].map(|bits| of(bits, |a, _| Radix::sorted(&vec![a.clone(); 8]).map(drop)));
    assert_eq!(sorted, [19 * 9, 19 * 17], "19 comparators of 2n + 1");
    assert_eq!(quotients, [74, 220, 728, 2608]);
    assert_eq!(tens, [56, 124, 260, 532]);
    assert_eq!(shifts, [31, 67, 148, 326]);
    assert_eq!(sums, [215, 483, 1019, 2091]);
}
