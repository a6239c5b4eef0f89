//! Texts about recorded programs.

use super::{
    plan::form,
    table::{line, render as table},
    units,
};
use crate::verbs::record::Recorded;
use limbwise_runtime::plan::PlannedKey;

pub(crate) fn render(done: &Recorded) -> String {
    let keys = format!("{}, {} {}", done.keys.len(), units::bytes(done.key_bytes), form(done.key_form));
    let products = format!("{} modular products", units::count(done.counts.products()));
    let mut text = line("operations", &format!("{} with {}, {products}", units::count(done.nodes as u64), done.preset));
    if let Some(count) = done.bootstrappings {
        text += &line("bootstraps", &units::count(count));
    }
    text + &line("keys", &keys)
}

pub(crate) fn keys(done: &Recorded) -> String {
    let row = |key: &PlannedKey| [key.name.clone(), key.level.to_string(), units::bytes(key.bytes)];
    table(["key", "level", "bytes"], &done.keys.iter().map(row).collect::<Vec<_>>(), &[1, 2])
}
