//! The schemas of docs/schemas are those of the types; real output is compared with them in [`crate::contract`].

use crate::common::repository;
use std::{collections::BTreeSet, fs};

/// Written by hand: a file's lines that are put together without a type, and the server's API, which its own test compares.
const BY_HAND: [&str; 2] = ["openapi.json", "operations.schema.json"];

#[test]
fn the_committed_schemas_are_current() {
    let folder = repository("docs/schemas");
    let mut names: BTreeSet<String> = BY_HAND.map(Into::into).into();
    for (name, current) in limbwise_cli::schemas() {
        let path = folder.join(format!("{name}.schema.json"));
        if std::env::var_os("LIMBWISE_BLESS").is_some() {
            fs::write(&path, &current).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == current, "{} is not what the types say; run make bless and read the diff", path.display());
        names.insert(format!("{name}.schema.json"));
    }
    let there = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(there.collect::<BTreeSet<_>>(), names, "every schema has its type");
}
