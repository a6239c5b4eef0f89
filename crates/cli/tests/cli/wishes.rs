//! What a verb cannot do for a workload, and what its options cannot be: one error that names what is possible, exit code 2,
//! nothing written.

use crate::{
    common::{Folder, TINY},
    exact_sides::evaluated,
    mistakes::refused,
    serve::verb,
};
use std::fs;

#[test]
fn what_a_scheme_has_not_is_one_error() {
    let folder = Folder::new("wishes");
    folder.write("table.csv", "day,price\n1,2\n3,4\n");
    let question = "SELECT COUNT(*) FROM t WHERE price < 3";
    let cases: &[(&[&str], &str)] = &[
        (&["run", "pbs", "--shadow"], "--shadow: shadow mode supports CKKS workloads only"),
        (&["run", "gates", "--shadow-bound", "20"], "every run compares its results with the clear twin"),
        (&["run", "bgv-table", "--shadow"], "every run compares its results with the clear twin"),
        (&["run", "query", "--sql", question, "--data", "table.csv", "--shadow"], "--shadow"),
        (&["run", "nn20", "--shadow", "--checkpoint", "state"], "every run compares its results with the clear twin"),
        (&["record", "pbs", "--operations", "x.csv"], "--out writes its graph"),
        (&["record", "bgv-table", "--operations", "x.jsonl"], "--out writes its graph"),
        (&["sweep", "--vary", "dnum=1,2", "bgv-mul"], "bgv-mul"),
        (&["plan", "pbs", "--keys", "disk"], "--keys"),
        (&["plan", "pbs", "--strategy", "bsgs"], "--strategy"),
        (&["plan", "pbs", "--preset", "bgv-n13"], "bgv-n13"),
        (&["plan", "bgv-table", "--preset", "2-2-p128"], "2-2-p128"),
        (&["plan", "tpch-q6", "--preset", "bgv-n13"], "bgv-n13"),
        (&["run", "pbs", "--batch", "0"], "wanted a whole number from 1"),
        (&["keygen", "pbs", "--client", "one"], "--server is missing"),
        (&["keygen", "gates", "--client", "one", "--server", "two", "--seed", "3"], "--insecure-seed"),
        (&["keygen", "pbs", "--client", "one", "--server", "two", "--memory", "10MB"], "the smallest plan takes"),
        (
            &["plan", "pbs", "--bits", "20"],
            "--bits: pbs is a program of tfhe; its messages are exact: ask for --log2-failure",
        ),
        (&["plan", "bgv-mul", "--levels-left", "2"], "its integers are exact: ask for --budget-bits"),
        (&["plan", "linear", "--bits", "nan"], "wanted a number of bits from 0 to 1000"),
        (&["params", "choose"], "nothing to choose for: give a program"),
        (&["params", "choose", "--depth", "3", "--precision", "20", "--bits", "20"], "are asked of a program"),
        (&["params", "choose", "--depth", "3", "--precision", "20", "gates"], "a program and --depth"),
    ];
    for (arguments, said) in cases {
        let text = refused(&folder, arguments);
        assert!(text.contains(said), "{arguments:?}: {text}");
        assert_eq!(text.matches("error:").count(), 1, "{arguments:?}: {text}");
    }
}

#[test]
fn keys_of_the_wrong_kind_are_named() {
    let folder = Folder::new("wrong-keys");
    evaluated(&folder, &["bgv-table"]);
    for dir in ["mine", "theirs", "in", "out"] {
        fs::rename(folder.path().join(dir), folder.path().join(format!("{dir}-bgv"))).unwrap();
    }
    evaluated(&folder, &["pbs", "--batch", "1"]);
    let eval = ["eval", "--server", "theirs", "--in", "in", "--out", "x"];
    let keys = folder.path().join("theirs/bootstrap.keys");
    let honest = fs::read(&keys).unwrap();
    let said = |wanted: &str| {
        let text = refused(&folder, &eval);
        assert!(text.contains(wanted) && text.matches("error:").count() == 1, "{wanted}: {text}");
    };
    // Keys of BGV under the name of TFHE's, beside them, and in their place.
    fs::copy(folder.path().join("theirs-bgv/evaluation.keys"), &keys).unwrap();
    said("holds evaluation keys");
    fs::write(&keys, &honest).unwrap();
    fs::copy(folder.path().join("theirs-bgv/evaluation.keys"), folder.path().join("theirs/evaluation.keys")).unwrap();
    said("holds evaluation keys");
    fs::remove_file(&keys).unwrap();
    said("holds evaluation keys");
    fs::remove_file(folder.path().join("theirs/evaluation.keys")).unwrap();
    said("bootstrap.keys");
    fs::write(&keys, &honest[..honest.len() / 2]).unwrap();
    said("bootstrap.keys");
    fs::copy(folder.path().join("mine/secret.tfhe.key"), &keys).unwrap();
    said("holds a secret key of TFHE");
    fs::write(&keys, &honest).unwrap();
    // Inputs of the other scheme, too many, and a model that there is no place for.
    let text = refused(&folder, &["eval", "--server", "theirs", "--in", "in-bgv", "--out", "x"]);
    assert!(text.contains("input-000.ct"), "{text}");
    let twice = ["eval", "--server", "theirs", "--in", "in/input-000.ct", "in/input-000.ct", "--out", "x"];
    assert!(refused(&folder, &twice).contains("the program takes 1"));
    folder.write("w.csv", "1\n");
    assert!(refused(&folder, &[&eval[..], &["--weights", "w.csv"]].concat()).contains("no clear matrix"));
    let text = refused(&folder, &[&eval[..], &["--memory", "10MB"]].concat());
    assert!(text.contains("give it more memory (--memory)"), "{text}");
    assert!(refused(&folder, &[&eval[..], &["--keys", "disk"]].concat()).contains("are kept in memory (stored)"));
    let public = ["encrypt", "--client", "mine", "--out", "y", "--key", "public"];
    assert!(refused(&folder, &public).contains("encrypted under the secret key alone"));
    // A client's side of another program.
    let text = refused(&folder, &["decrypt", "--client", "mine-bgv", "--in", "out", "--out", "y.json"]);
    assert!(text.contains("other inputs") || text.contains("another program"), "{text}");
    let text = refused(&folder, &["encrypt", "--client", "mine", "--out", "y", "--data", "w.csv"]);
    assert!(text.contains("--data-seed"), "{text}");
    assert!(verb(&folder, &eval)["results"].as_array().is_some());
}

#[test]
fn a_wish_that_no_set_fulfils_says_what_contradicts_what() {
    let folder = Folder::new("contradiction");
    folder.write("tiny.toml", TINY);
    let layer = ["linear", "--rows", "8", "--cols", "8", "--preset", "tiny.toml"];
    // A set below 128 bits has no neighbors that a search would take: it is the only one that is judged.
    let text = refused(&folder, &[&["plan", "--bits", "10", "--memory", "1MB"], &layer[..]].concat());
    for said in
        ["no set of 1 that were judged meets", "without --memory: tiny.toml comes nearest", "ask for less: --memory\n"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = refused(&folder, &[&["params", "choose", "--bits", "90", "--within", "0.000001"], &layer[..]].concat());
    assert!(text.contains("the nearest of all: tiny.toml"), "{text}");
    assert!(
        text.contains("--bits alone is beyond all") && text.contains("ask for less: --bits and --within"),
        "{text}"
    );
    let plan = verb(&folder, &[&["plan", "--bits", "10"], &layer[..]].concat());
    assert_eq!(plan["preset"], "tiny.toml");
}
