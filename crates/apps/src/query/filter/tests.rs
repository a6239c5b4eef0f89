//! Tests of the filter: automata, formulas, several flags that share steps.

use super::super::table::Kind;
use super::*;

fn field(bits: u32) -> Field {
    Field {
        name: "x".into(),
        kind: Kind::Number(0),
        low: 0,
        high: (1 << bits) - 1,
        categories: Vec::new(),
        null: false,
    }
}

fn filter(bits: u32, set: Set, space: u32, rows: usize) -> Filter {
    Filter::laid_out(&[Cond::In { column: 0, set }], &[field(bits)], (space, (1 << space) - 1), rows).unwrap()
}

/// Every range of every width, over every value, in spaces of 3 to 6 bits; of so many bits in a space of 4.
fn automata_decide_ranges(most: u32) {
    for space in 3..=6 {
        for bits in 1..=if space == 4 { most } else { 6 } {
            let all: Vec<i64> = (0..1 << bits).collect();
            for low in 0..1i64 << bits {
                for high in low..1 << bits {
                    if (low, high) == (0, (1 << bits) - 1) {
                        continue;
                    }
                    let filter = filter(bits, Set::range(low, high), space, all.len());
                    let all_steps = || filter.steps.iter().chain(&filter.flags);
                    let (entries, tables) = (1usize << space, all_steps().map(Step::table));
                    let fit = tables.clone().all(|t| t.len() <= entries && t.iter().all(|&s| s < 4));
                    assert!(fit && all_steps().all(|s| matches!(s, Step::Digit { .. })), "{filter:?}");
                    let found = filter.clear(&filter.inputs(&[&all])).remove(0);
                    assert!(all.iter().zip(found).all(|(v, f)| (low..=high).contains(v) == f), "{low} {high}");
                }
            }
        }
    }
}

#[test]
fn automata_decide_every_range_exactly() {
    automata_decide_ranges(7);
}

#[test]
#[ignore = "ten seconds"]
fn automata_decide_every_range_of_a_byte() {
    automata_decide_ranges(8);
}

/// Every set of values of five bits of which every third is looked at, and lists that take several automata.
#[test]
fn sets_of_several_ranges_are_decided_exactly() {
    let check = |bits: u32, members: &dyn Fn(i64) -> bool| {
        let all: Vec<i64> = (0..1 << bits).collect();
        let set = Set::of(all.iter().filter(|&&v| members(v)).map(|&v| (v, v)).collect());
        if set.is_empty() || set == Set::range(0, (1 << bits) - 1) {
            return 0;
        }
        for space in [3, 4, 5] {
            let filter = filter(bits, set.clone(), space, all.len());
            assert!(filter.steps.iter().chain(&filter.flags).all(|s| s.table().len() <= 1 << space), "{filter:?}");
            let found = filter.clear(&filter.inputs(&[&all])).remove(0);
            assert!(all.iter().zip(found).all(|(&v, f)| members(v) == f), "{set:?} in {space} bits");
        }
        filter(bits, set, 4, 1).steps()
    };
    for set in (0u64..1 << 16).step_by(37) {
        check(4, &|v| set >> v & 1 == 1);
    }
    for set in (0u64..1 << 32).step_by((1 << 21) + 12_345) {
        check(5, &|v| set >> v & 1 == 1);
    }
    check(9, &|v| v % 7 == 3);
    // A value that is left out costs what a value costs, and so do two that lie together.
    assert_eq!(check(8, &|v| v == 77), check(8, &|v| v != 77));
    assert_eq!(check(8, &|v| v == 76 || v == 79), check(8, &|v| v == 77));
}

#[test]
fn formulas_are_decided_exactly() {
    let fields = [field(3), field(6)];
    let test = |column: usize, low, high| Cond::test(column, Set::range(low, high), &fields[column]);
    let or = Cond::any(vec![test(0, 1, 2), Cond::all(vec![test(0, 5, 7), test(1, 9, 40)], &fields)], &fields);
    let many = (0..20).map(|i| Cond::any(vec![test(0, i % 8, 7), test(1, i, i + 3)], &fields)).collect();
    let many = Cond::all(many, &fields);
    for cond in [or.clone(), or.not(&fields), many.clone(), many.not(&fields)] {
        let rows: Vec<(i64, i64)> = (0..8).flat_map(|a| (0..64).map(move |b| (a, b))).collect();
        let columns = [rows.iter().map(|r| r.0).collect::<Vec<_>>(), rows.iter().map(|r| r.1).collect()];
        let filter = Filter::laid_out(std::slice::from_ref(&cond), &fields, (4, 5), rows.len()).unwrap();
        let found = filter.clear(&filter.inputs(&[&columns[0], &columns[1]])).remove(0);
        let wanted = rows.iter().map(|&(a, b)| cond.passes(&|column| [a, b][column]));
        assert!(wanted.zip(found).all(|(w, f)| w == f), "{cond:?}");
        let row = cond.refused_row(&fields).unwrap();
        assert!(!cond.passes(&|column| row[column]), "{cond:?} {row:?}");
    }
}

#[test]
fn few_steps_where_few_are_needed() {
    let steps = |bits, (low, high)| filter(bits, Set::range(low, high), 4, 1).steps();
    // TPC-H's own ranges: days of 1994, discounts of 0.05 to 0.07, quantities below 24.
    assert_eq!([steps(12, (731, 1095)), steps(4, (5, 7)), steps(6, (0, 22))], [5, 1, 2]);
    assert_eq!([steps(12, (256, 511)), steps(40, (0, (1 << 39) - 1))], [1, 1], "certain after the first digit");
    assert_eq!(digits(12, 4), [4, 2, 2, 2, 2]);
    assert_eq!((digits(7, 4), digits(3, 4), digits(9, 3)), (vec![3, 2, 2], vec![3], vec![3, 1, 1, 1, 1, 1, 1]));
}

#[test]
fn a_state_has_a_bit_for_each_column_that_was_begun() {
    let fields = [field(12), field(4), field(6)];
    let ranges = [(731, 1095), (5, 7), (0, 22)];
    let tests = (0..).zip(ranges).map(|(column, (low, high))| Cond::In { column, set: Set::range(low, high) });
    let filter = Filter::laid_out(&[Cond::All(tests.collect())], &fields, (4, 15), 1).unwrap();
    assert_eq!(
        (0..filter.steps()).map(|step| filter.kept(step).len()).collect::<Vec<_>>(),
        [0, 1, 1, 1, 1, 1, 2, 3, 3]
    );
}

/// Flags of groups share the tests that they have in common, and each is decided as if it were alone.
#[test]
fn flags_share_steps() {
    let fields = [field(12), field(2), field(3)];
    let day = Cond::test(0, Set::range(731, 1095), &fields[0]);
    let group = |a: i64, b: i64| {
        let of =
            vec![day.clone(), Cond::test(1, Set::range(a, a), &fields[1]), Cond::test(2, Set::range(b, b), &fields[2])];
        Cond::all(of, &fields)
    };
    let flags: Vec<Cond> = (0..4).flat_map(|a| (0..8).map(move |b| (a, b))).map(|(a, b)| group(a, b)).collect();
    let rows: Vec<[i64; 3]> = (0..512).map(|i| [i * 8, i % 4, i / 4 % 8]).collect();
    let filter = Filter::laid_out(&flags, &fields, (4, 5), rows.len()).unwrap();
    // The days' five, a test of each value of the others, and the last table of each flag.
    assert_eq!(filter.steps(), 5 + 4 + 8 + 32);
    let columns: Vec<Vec<i64>> = (0..3).map(|column| rows.iter().map(|row| row[column]).collect()).collect();
    let found = filter.clear(&filter.inputs(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    for (flag, found) in flags.iter().zip(&found) {
        assert!(rows.iter().zip(found).all(|(row, &found)| flag.passes(&|column| row[column]) == found), "{flag:?}");
    }
    assert!(found.iter().flatten().any(|&bit| bit));
    assert_eq!(filter.kept(filter.steps.len()).len(), 1 + 4 + 8, "the days' bit, and one a value");
}

/// Values are numbered so that scattered sets of them are ranges, and are decided as they were.
#[test]
fn scattered_sets_take_few_steps_by_other_numbers() {
    use super::super::{numbering::Numbering, sql::Statement, table::Column, table::Table};
    let params = TfheParams::new(&limbwise::tfhe::preset("2-2-p64").unwrap()).unwrap();
    let kinds = ["STEEL", "TIN", "BRASS", "NICKEL", "COPPER"];
    let parts: Vec<String> = (0..30).flat_map(|i| kinds.map(|kind| format!("P{i:02} {kind}"))).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let years: Vec<String> = (0..150).map(|i| (1900 + i).to_string()).collect();
    let years: Vec<&str> = years.iter().map(String::as_str).collect();
    let columns = vec![Column::texts("part", &parts), Column::of_cells("year", &years)];
    let table = Table { name: None, columns, rows: 150 };
    for (filter, ordered, numbered) in [
        ("part LIKE '%STEEL'", 46, 3),
        ("part LIKE '%STEEL' AND year IN (1900, 1907, 1922, 1933, 1948, 2001, 2020)", 60, 7),
        ("part LIKE '%TIN' OR part LIKE '%1%' AND NOT year IN (1950, 1960, 1971) OR year < 1930", 65, 16),
        ("part >= 'P07' AND year < 1950", 45, 11),
    ] {
        let sql = format!("SELECT COUNT(*), COUNT(*) FILTER (WHERE part LIKE '%TIN') FROM t WHERE {filter}");
        let question = Question::new(&Statement::parse(&sql).unwrap(), &table, &[], &[]).unwrap();
        let filter = |numbering| Filter::new(&Question { numbering, ..question.clone() }, &params).unwrap();
        let (before, after) = (filter(Numbering::Ordered), filter(Numbering::BySets));
        assert_eq!((before.steps(), after.steps()), (ordered, numbered), "{sql}");
        let codes = |field: &Field| super::super::field::codes(field, &table).unwrap();
        let columns: Vec<Vec<i64>> = question.compared.iter().map(codes).collect();
        let columns: Vec<&[i64]> = columns.iter().map(Vec::as_slice).collect();
        let wanted = question
            .flags
            .iter()
            .map(|flag| (0..150).map(|row| flag.passes(&|column| columns[column][row])).collect::<Vec<bool>>());
        let wanted: Vec<Vec<bool>> = wanted.collect();
        for filter in [before, after] {
            assert_eq!(filter.clear(&filter.inputs(&columns)), wanted, "{sql}");
        }
    }
}
