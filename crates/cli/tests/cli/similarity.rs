//! Search by similarity, the two sides by files: matches and no others, and refusals where a row would be wrong.

use crate::{common::Folder, mistakes::refused, serve::verb};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The levels of the program on a ring that is too small to be secure.
const TINY: &str = "log_n = 11
levels = [[50], [40], [40], [40], [40], [40], [40], [40], [40], [40], [40], [40]]
special = [50, 50, 50]
dnum = 4
log_scale = 40
secret = \"ternary\"
sigma = 3.2
standard = \"guidelines2024\"

[insecure]
reason = \"a test\"
";

const ROWS: usize = 40;
const DIMENSION: usize = 8;
const TASK: [&str; 9] = ["similarity", "--rows", "40", "--dimension", "8", "--preset", "tiny.toml", "--client", "mine"];

fn floats(folder: &Folder, name: &str, vectors: &[[f32; DIMENSION]]) {
    let bytes: Vec<u8> = vectors.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(folder.path().join(name), bytes).unwrap();
}

/// The unit vector of a coordinate.
fn axis(at: usize) -> [f32; DIMENSION] {
    std::array::from_fn(|k| f32::from(u8::from(k == at % DIMENSION)))
}

fn payload(row: usize) -> [i16; 7] {
    std::array::from_fn(|at| i16::try_from((row * 97 + at * 131) % 512).unwrap())
}

/// Every fifth row of eight lies on the query's axis; the query is a little beside it.
fn data(folder: &Folder) {
    folder.write("tiny.toml", TINY);
    floats(folder, "db.bin", &(0..ROWS).map(axis).collect::<Vec<_>>());
    let mut query = axis(3);
    (query[3], query[5]) = (0.96, 0.28);
    floats(folder, "query.bin", &[query]);
    numbers(folder, "payloads.bin", |_, number| number);
}

fn numbers(folder: &Folder, name: &str, changed: impl Fn(usize, i16) -> i16) {
    let all = (0..ROWS).flat_map(|row| payload(row).map(|number| changed(row, number)));
    let bytes: Vec<u8> = all.flat_map(i16::to_le_bytes).collect();
    fs::write(folder.path().join(name), bytes).unwrap();
}

fn keys(folder: &Folder, more: &[&str]) {
    verb(folder, &[&["keygen"], &TASK[..], &["--server", "theirs"], more].concat());
}

fn encrypt(folder: &Folder, only: &[(&str, &str)]) -> Value {
    let named = only.iter().flat_map(|&(input, file)| ["--only", input, "--data", file]);
    let words: Vec<&str> = ["encrypt", "--client", "mine", "--out", "in", "--force"].into_iter().chain(named).collect();
    verb(folder, &words)
}

fn evaluate(folder: &Folder) {
    verb(folder, &["eval", "--server", "theirs", "--in", "in", "--out", "out", "--force"]);
}

const DECRYPT: [&str; 8] = ["decrypt", "--client", "mine", "--in", "out", "--out", "y.json", "--force"];

#[test]
fn matches_come_back_and_nothing_else() {
    let folder = Folder::new("similarity");
    data(&folder);
    keys(&folder, &[]);
    // The database once, the query later.
    let first = encrypt(&folder, &[("database", "db.bin"), ("payloads", "payloads.bin")]);
    assert_eq!((&first["missing"], first["inputs"].as_array().unwrap().len()), (&json!(["query"]), 2), "{first:#}");
    let text = refused(&folder, &["eval", "--server", "theirs", "--in", "in", "--out", "out"]);
    assert!(text.contains("query"), "{text}");
    let whole = encrypt(&folder, &[("query", "query.bin")]);
    assert!(whole.get("missing").is_none(), "{whole:#}");
    evaluate(&folder);
    let all = ["--data", "db.bin", "--data", "query.bin", "--data", "payloads.bin"];
    let found = verb(&folder, &[&DECRYPT[..], &all].concat());
    assert_eq!((&found["compared"]["wrong"], &found["compared"]["matches"]), (&0.into(), &5.into()), "{found:#}");
    let values: Value = serde_json::from_slice(&fs::read(folder.path().join("y.json")).unwrap()).unwrap();
    let wanted: Vec<i16> = (0..ROWS).filter(|row| row % DIMENSION == 3).flat_map(payload).collect();
    assert_eq!((&values["values"], &values["shape"]), (&json!(wanted), &json!([5, 7])));
    // A query whose cosine is the threshold: no row is made of it.
    let mut between = axis(3);
    (between[3], between[5]) = (0.8, 0.6);
    floats(&folder, "between.bin", &[between]);
    encrypt(&folder, &[("query", "between.bin")]);
    evaluate(&folder);
    let text = refused(&folder, &DECRYPT);
    assert!(text.contains("row 3 lies within 0.05 of the threshold"), "{text}");
    bad_data(&folder);
}

fn bad_data(folder: &Folder) {
    let mut long = axis(0);
    long[0] = 1.1;
    floats(folder, "long.bin", &(0..ROWS).map(|row| if row == 7 { long } else { axis(row) }).collect::<Vec<_>>());
    floats(folder, "short.bin", &[axis(0); ROWS - 1]);
    floats(folder, "nan.bin", &[[f32::NAN; DIMENSION]; ROWS]);
    numbers(folder, "large.bin", |row, number| if row == 9 { 512 } else { number });
    for (input, file, why) in [
        ("database", "long.bin", "vector 8 has length 1.1000"),
        ("database", "short.bin", "312 numbers; the program takes 40 rows of 8"),
        ("database", "nan.bin", "number 1 is NaN"),
        ("payloads", "large.bin", "row 10 carries 512"),
        ("rows", "db.bin", "this program's inputs are database, query, payloads"),
    ] {
        let words = ["encrypt", "--client", "mine", "--out", "in", "--force", "--only", input, "--data", file];
        let text = refused(folder, &words);
        assert!(text.contains(why), "{why}: {text}");
    }
    // A database of other keys is none of this client's.
    let other = Folder::new("similarity-other");
    data(&other);
    keys(&other, &[]);
    encrypt(&other, &[("database", "db.bin")]);
    let database = Path::new("in/input-000.ct");
    fs::copy(other.path().join(database), folder.path().join(database)).unwrap();
    let words = ["encrypt", "--client", "mine", "--out", "in", "--force", "--only", "query", "--data", "query.bin"];
    let text = refused(folder, &words);
    assert!(text.contains("input-000.ct"), "{text}");
}

#[test]
fn more_matches_than_asked_for_are_refused_and_counted() {
    let folder = Folder::new("similarity-many");
    data(&folder);
    keys(&folder, &["--matches", "4"]);
    encrypt(&folder, &[("database", "db.bin"), ("payloads", "payloads.bin"), ("query", "query.bin")]);
    evaluate(&folder);
    let text = refused(&folder, &DECRYPT);
    assert!(text.contains("5 rows match, and at most 4 were asked for"), "{text}");
    let counted = Folder::new("similarity-count");
    data(&counted);
    keys(&counted, &["--count-only"]);
    encrypt(&counted, &[("database", "db.bin"), ("query", "query.bin")]);
    evaluate(&counted);
    verb(&counted, &DECRYPT);
    let values: Value = serde_json::from_slice(&fs::read(counted.path().join("y.json")).unwrap()).unwrap();
    assert_eq!(values["values"], json!([5]));
}

/// Rows are unit vectors, few of them match, and none lies within the margin: a plan counts on all three.
#[test]
fn the_precision_of_a_search_is_as_predicted() {
    let folder = Folder::new("similarity-bits");
    data(&folder);
    for more in [&["--count-only"][..], &["--payloads", "payloads.bin"]] {
        let named = ["--data", "db.bin", "--query", "query.bin", "--seed", "1"];
        let run = verb(&folder, &[&["run"], &TASK[..7], &named, more].concat());
        let [measured, predicted] = ["mean", "predicted"].map(|name| run["precision_bits"][name].as_f64().unwrap());
        assert_eq!(run["wrong"], 0);
        assert!((predicted - measured).abs() < 1.5, "{more:?}: {measured}, {predicted} predicted");
    }
}
