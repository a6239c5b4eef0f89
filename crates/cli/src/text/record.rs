//! Texts about recorded programs.

use super::{
    table::{line, render as table},
    units,
};
use crate::verbs::record::{Recorded, RecordedLogic};
use limbwise::rlwe::KeyForm;
use limbwise_runtime::plan::PlannedKey;

/// What was recorded.
pub(crate) fn render(done: &Recorded) -> String {
    let form = if done.key_form == KeyForm::Stored { "stored" } else { "seeded" };
    let keys = format!("{}, {} {form}", done.keys.len(), units::bytes(done.key_bytes));
    let products = format!("{} modular products", units::count(done.counts.products()));
    line("operations", &format!("{} with {}, {products}", units::count(done.nodes as u64), done.preset))
        + &line("keys", &keys)
}

/// What was recorded of a program on TFHE.
pub(crate) fn logic(done: &RecordedLogic) -> String {
    let products = format!("{} modular products", units::count(done.counts.products()));
    line("operations", &format!("{} with {}, {products}", units::count(done.nodes as u64), done.preset))
        + &line("bootstraps", &units::count(done.bootstrappings))
        + &line("keys", &units::bytes(done.key_bytes))
}

/// One line a key.
pub(crate) fn keys(done: &Recorded) -> String {
    let row = |key: &PlannedKey| [key.name.clone(), key.level.to_string(), units::bytes(key.bytes)];
    table(["key", "level", "bytes"], &done.keys.iter().map(row).collect::<Vec<_>>(), &[1, 2])
}
