//! From keys to results over files: what is decrypted is what the clear twin says.

use crate::{
    both::{Folder, device},
    cases,
};
use limbwise_apps::{
    Client as _,
    bgv_table::Encrypted,
    family::{Cell, Checked},
};
use limbwise_runtime::scheme::Forecast;

#[test]
fn a_batch_is_bootstrapped() {
    let (folder, case) = (Folder::new("pbs"), cases::pbs(12));
    let (report, decrypted) = case.whole(&device(), &folder.0);
    let found = case.client.conclude(&decrypted.reading).found;
    assert_eq!((found.wrong, found.wanted[0].len()), (0, 12));
    assert_eq!((report.workload.as_str(), report.scheme, report.results.len()), ("pbs", "tfhe", 1));
    assert_eq!(report.insecure_reason.as_deref(), Some("a small ring for a test"));
    assert!(matches!(report.forecast, Forecast::Tfhe { log2_failure } if log2_failure < -36.0));
    let numbers: Vec<u64> = decrypted.reading[0].messages.clone();
    assert!(decrypted.arrays[0].values.iter().zip(numbers).all(|(z, m)| z.re.to_bits() == (m as f64).to_bits()));
}

#[test]
fn bits_go_through_every_gate() {
    let (folder, case) = (Folder::new("gates"), cases::gates(6, 2));
    let (report, decrypted) = case.whole(&device(), &folder.0);
    assert_eq!(case.client.conclude(&decrypted.reading).found.wrong, 0);
    assert_eq!(report.results.len(), decrypted.arrays.len());
}

#[test]
fn a_network_classifies() {
    let (folder, case) = (Folder::new("nn"), cases::nn20());
    let (report, decrypted) = case.whole(&device(), &folder.0);
    let conclusion = case.client.conclude(&decrypted.reading);
    assert_eq!(conclusion.found.wrong, 0);
    assert_eq!((report.workload.as_str(), conclusion.details["classes"].as_array().unwrap().len()), ("nn20", 1));
}

#[test]
fn products_of_integers() {
    let (folder, case) = (Folder::new("mul"), cases::bgv_mul(3));
    let (report, decrypted) = case.whole(&device(), &folder.0);
    let found = case.client.conclude(&decrypted.reading).found;
    assert_eq!((found.checked, found.wrong, found.compared), (Checked::Integers, 0, 3 * 1024));
    assert!(found.budget_bits.unwrap() > 0.0);
    assert!(matches!(report.forecast, Forecast::Bgv { budget_bits_predicted } if budget_bits_predicted > 0.0));
}

#[test]
fn a_table_times_a_matrix_that_the_server_knows_or_not() {
    for (name, matrix) in [("clear", Encrypted::No), ("encrypted", Encrypted::Yes)] {
        let (folder, case) = (Folder::new(name), cases::bgv_table(matrix));
        let (report, decrypted) = case.whole(&device(), &folder.0);
        let found = case.client.conclude(&decrypted.reading).found;
        assert_eq!((found.checked, found.wrong), (Checked::Integers, 0), "{name}");
        assert!(found.compared > 0 && found.budget_bits.unwrap() > 0.0, "{name}");
        assert!(report.insecure_reason.is_none(), "{name}: a preset");
    }
}

#[test]
fn a_question_is_answered() {
    let (folder, case) = (Folder::new("query"), cases::query());
    let (report, decrypted) = case.whole(&device(), &folder.0);
    let found = case.client.conclude(&decrypted.reading).found;
    assert_eq!((found.wrong, found.rows, found.answer.exact.as_str()), (0, 8, "63"));
    assert!(found.answer.relative_error < 1e-3 && found.largest_bit_error < 1e-3, "{found:?}");
    assert_eq!((report.scheme, report.results.len()), ("tfhe+ckks", 2));
    assert!(matches!(report.forecast, Forecast::Bridged { log2_failure, .. } if log2_failure < -30.0));
}

/// Rows 10, 3, 7 of Ulm and 12, 31 of Bonn pass.
#[test]
fn ends_are_found_in_groups() {
    let (folder, case) = (Folder::new("ends"), cases::ends());
    let (report, decrypted) = case.whole(&device(), &folder.0);
    let found = case.client.conclude(&decrypted.reading).found;
    assert_eq!((found.wrong, found.compared, found.rows_passing), (0, 2 * 8 + 4, 5), "{found:?}");
    let exact = |cell: &Cell| match cell {
        Cell::Key(text) => text.clone(),
        Cell::Number(number) => number.exact.clone(),
        Cell::Null(()) => "none".into(),
    };
    let rows: Vec<Vec<String>> = found.table.unwrap().rows.iter().map(|row| row.iter().map(exact).collect()).collect();
    assert_eq!(rows, [["bonn", "43", "9", "31"], ["ulm", "20", "5", "10"]]);
    assert!(found.answer.relative_error < 1e-3 && found.largest_bit_error < 1e-3);
    // Two groups' counts and sums, their bits, and four ends.
    assert_eq!(report.results.len(), 4 + 2 + 4);
}
