//! Texts that are part of the interface, kept in tests/golden/cli: `make bless` rewrites them, and the diff is reviewed.

use crate::common::{Folder, repository};
use std::fs;

/// Compares a text with its golden file, or rewrites the file under `LIMBWISE_BLESS=1`.
pub(crate) fn compare(name: &str, text: &str) {
    let path = repository(&format!("tests/golden/cli/{name}.txt"));
    if std::env::var_os("LIMBWISE_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{} differs: read the change, then run make bless", path.display());
}

#[test]
fn help_teaches() {
    let folder = Folder::new("help");
    let verbs = [
        &[][..],
        &["list"],
        &["plan"],
        &["plan", "logreg"],
        &["plan", "linear"],
        &["run"],
        &["run", "logreg"],
        &["run", "linear"],
        &["time"],
        &["time", "logreg"],
        &["time", "linear"],
        &["plan", "bootstrap"],
        &["run", "bootstrap"],
        &["time", "bootstrap"],
        &["run", "helr"],
        &["run", "lola"],
        &["plan", "pbs"],
        &["plan", "gates"],
        &["plan", "query"],
        &["run", "tpch-q6"],
        &["run", "nn20"],
        &["sweep"],
        &["run", "resnet20"],
        &["record"],
        &["reproduce"],
        &["count"],
        &["machines"],
        &["machines", "list"],
        &["machines", "show"],
        &["keygen"],
        &["keygen", "linear"],
        &["encrypt"],
        &["eval"],
        &["prepare"],
        &["decrypt"],
        &["inspect"],
        &["convert"],
        &["run", "heir"],
        &["bench"],
        &["serve"],
        &["params"],
        &["params", "check"],
        &["params", "show"],
        &["params", "choose"],
    ];
    for verb in verbs {
        let output = folder.run(&[verb, &["--help"]].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{verb:?}");
        let name = if verb.is_empty() { "limbwise".into() } else { verb.join("-") };
        compare(&format!("help/{name}"), &String::from_utf8(output.stdout).unwrap());
    }
}
