//! The description of the API is generated from the code, and committed.

use limbwise_server::openapi;
use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn the_committed_description_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/openapi.json");
    let current = openapi();
    if std::env::var_os("LIMBWISE_BLESS").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == current,
        "docs/schemas/openapi.json is not what the code says; run make bless and read the diff"
    );
}

#[test]
fn every_operation_is_described() {
    let api: serde_json::Value = serde_json::from_str(&openapi()).unwrap();
    let mut names = BTreeSet::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].to_string()), "{method} {path} has the name of another");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.contains_key("default"), "{method} {path} says nothing of errors");
            assert!(answers.keys().any(|status| status.starts_with('2')), "{method} {path}");
            assert!(operation["summary"].is_string() && operation["tags"].is_array(), "{method} {path}");
            let places = path.matches('{').count();
            let named = operation["parameters"].as_array().map_or(0, |all| {
                all.iter().filter(|parameter| parameter["in"] == "path" && parameter["schema"].is_object()).count()
            });
            assert_eq!(named, places, "{method} {path}");
        }
    }
    assert_eq!(names.len(), 19);
}
