//! The schemas of docs/schemas are those of the types; real output is compared with them in [`crate::contract`].

use crate::{
    common::{Folder, repository},
    contract::valid,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

/// Not from a report: the server's API, which its own test compares, and lines of a file that have no type (by hand).
const OTHERS: [&str; 2] = ["openapi.json", "operations.schema.json"];

#[test]
fn the_committed_schemas_are_current() {
    let folder = repository("docs/schemas");
    let mut names: BTreeSet<String> = OTHERS.map(Into::into).into();
    for (name, current) in limbwise_cli::schemas() {
        let path = folder.join(format!("{name}.schema.json"));
        let mut committed = fs::read_to_string(&path).unwrap_or_default();
        if committed != current && std::env::var_os("LIMBWISE_BLESS").is_some() {
            fs::write(&path, &current).unwrap();
            committed.clone_from(&current);
        }
        assert!(committed == current, "{} is not what the types say; run make bless and read the diff", path.display());
        names.insert(format!("{name}.schema.json"));
    }
    let there = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(there.collect::<BTreeSet<_>>(), names, "every schema has its type");
}

#[test]
fn a_section_is_that_of_the_scheme() {
    let (_, text) = limbwise_cli::schemas().into_iter().find(|(name, _)| *name == "plan").unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let folder = Folder::new("sections");
    let plan = valid(&folder, "plan", &["plan", "bgv-mul", "--n", "1024", "--ciphertexts", "2", "--json"]);
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 4] = [
        ("another scheme's name", |plan| plan["scheme"] = json!("ckks")),
        ("no budget", |plan| drop(plan.as_object_mut().unwrap().remove("budget_bits"))),
        ("null", |plan| plan["key_reads"] = Value::Null),
        ("a field that no key has", |plan| plan["keys"] = json!([{ "name": "a", "level": 1, "bytes": 1, "color": 1 }])),
    ];
    for (what, change) in changes {
        let mut changed = plan.clone();
        change(&mut changed);
        assert!(!schema.is_valid(&changed), "{what}: {changed:#}");
    }
}

#[test]
fn a_reproduction_is_of_its_schema() {
    let fab = valid(&Folder::new("reproduction"), "reproduce", &["reproduce", "fab", "--json"]);
    assert!(fab["rows"].as_array().unwrap().len() > 1, "{fab:#}");
}
