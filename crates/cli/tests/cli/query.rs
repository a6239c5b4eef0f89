//! Questions to encrypted tables: answers as the clear twin's, kills that only delay, mistakes before keys.

use crate::{
    common::{Folder, TINY_BRIDGE, tiny_tfhe_of_four_bits},
    contract::valid,
    exact_sides::evaluated,
};
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

const SMALL: [&str; 2] = ["--preset", "ckks.toml,tfhe.toml"];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("ckks.toml", TINY_BRIDGE);
    folder.write("tfhe.toml", &tiny_tfhe_of_four_bits());
    folder.write(
        "sales.csv",
        "day,price,rebate,color\n2026-01-01,10.50,0.05,red\n2025-12-31,99.99,0.10,red\n2026-03-31,3,0,blue\n2026-02-01,7.25,0.07,red\n2026-01-15,80,0.5,blue\n",
    );
    folder
}

#[test]
fn an_encrypted_table_answers_as_the_clear_one() {
    let folder = folder("query");
    let questions = [
        ("SELECT SUM(price * (1 - rebate)) FROM sales WHERE day >= date '2026-01-01' AND rebate < 0.4", "19.7175", 3),
        ("SELECT COUNT(*) FROM sales WHERE price BETWEEN 5 AND 80.00", "3", 3),
        ("SELECT SUM(price) FROM sales WHERE rebate = 0.07", "7.25", 1),
        ("SELECT SUM(price) FROM sales WHERE color = 'red' AND (rebate < 0.06 OR NOT price < 50)", "110.49", 2),
        ("SELECT COUNT(*) FROM sales WHERE color LIKE 'b%' OR price IN (7.25, 99.99)", "4", 4),
    ];
    for (sql, exact, rows) in questions {
        let query = ["query", "--sql", sql, "--data", "sales.csv", SMALL[0], SMALL[1], "--threads", "1", "--json"];
        let plan = valid(&folder, "plan", &[&["plan"], &query[..]].concat());
        let run = valid(&folder, "run", &[&["run"], &query[..]].concat());
        assert_eq!((&run["answer"]["exact"], &run["rows_passing"]), (&exact.into(), &rows.into()), "{run:#}");
        assert_eq!((&run["wrong"], &run["bootstrappings"]), (&0.into(), &plan["bootstrappings"]), "{run:#}");
        let (error, bound) = (run["answer"]["relative_error"].as_f64().unwrap(), &plan["precision"]["sum_error"]);
        let off = (run["answer"]["decrypted"].as_f64().unwrap() - exact.parse::<f64>().unwrap()).abs();
        assert!(error < 1e-4 && off < bound.as_f64().unwrap(), "{run:#}");
    }
    let recorded = ["query", "--sql", questions[1].0, "--data", "sales.csv", SMALL[0], SMALL[1]];
    let recorded = valid(&folder, "record", &[&["record"], &recorded[..], &["--out", "q.lw", "--json"]].concat());
    let timed = valid(&folder, "time", &["time", "--graph", "q.lw", "--machine", "counts", "--json"]);
    // Five rows; 9700 prices in cents are 7 digits, of which the first two go together.
    assert!(recorded["bootstrappings"] == 5 * 6 && timed["operators"].as_array().is_some(), "{recorded:#} {timed:#}");
}

/// Groups, averages, CASE, order, a join and two columns compared: in one run, and by files of two sides.
#[test]
fn a_joined_table_answers_in_groups() {
    let folder = folder("groups");
    folder.write("shops.csv", "hue,city,opened\nred,Ulm,2026-01-10\nblue,Bonn,2026-01-20\n");
    let sql = "SELECT city, COUNT(*) AS n, AVG(price) AS mean, SUM(price * (1 - rebate)) AS paid, \
               SUM(CASE WHEN rebate > 0.06 THEN price ELSE 0 END) / SUM(price) AS part FROM sales JOIN shops ON color = hue \
               WHERE day < opened OR price < 8 GROUP BY city ORDER BY paid DESC LIMIT 2";
    let query = ["query", "--sql", sql, "--data", "sales.csv", "--with", "shops=shops.csv", SMALL[0], SMALL[1]];
    let plan = valid(&folder, "plan", &[&["plan"], &query[..], &["--json"]].concat());
    let revealed = &plan["revealed"];
    assert_eq!(
        (&revealed["groups"]["count"], &revealed["join"], &revealed["sums"]),
        (&2.into(), &"color = hue".into(), &8.into())
    );
    let columns: Vec<&str> =
        revealed["columns"].as_array().unwrap().iter().filter_map(|c| c["column"].as_str()).collect();
    assert_eq!(columns, ["day - opened", "price", "city", "rebate"]);
    let run = valid(&folder, "run", &[&["run"], &query[..], &["--json"]].concat());
    assert_eq!((&run["wrong"], &run["bootstrappings"]), (&0.into(), &plan["bootstrappings"]), "{run:#}");
    let exact = |row: usize| -> Vec<&str> {
        let cells = run["table"]["rows"][row].as_array().unwrap().iter();
        cells.map(|cell| cell.as_str().or_else(|| cell["exact"].as_str()).unwrap()).collect()
    };
    assert_eq!(exact(0)[..4], ["Ulm", "3", "39.24666666666667", "106.7085"], "{run:#}");
    assert_eq!(exact(1), ["Bonn", "2", "41.50", "43.0000", "0.963855421686747"], "{run:#}");
    assert!(run["answer"]["relative_error"].as_f64().unwrap() < 1e-4, "{run:#}");
    // What is revealed stands before all else.
    let told = String::from_utf8(folder.run(&[&["plan"], &query[..]].concat()).stdout).unwrap();
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text}: {told}"));
    assert!(at("server learns") < at("plan of query"), "{told}");
    evaluated(&folder, &query);
    let opened =
        folder.run(&["decrypt", "--client", "mine", "--in", "out", "--out", "answer.csv", "--compare", "--json"]);
    let opened: serde_json::Value = serde_json::from_slice(&opened.stdout).unwrap();
    assert_eq!((&opened["compared"]["wrong"], &opened["compared"]["compared"]), (&0.into(), &20.into()), "{opened:#}");
    let answer = std::fs::read_to_string(folder.path().join("answer.csv")).unwrap();
    let rows: Vec<Vec<f64>> =
        answer.lines().map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert!(rows.len() == 2 && (rows[0][3] - 106.7085).abs() < 1e-3 && (rows[1][1] - 2.0).abs() < 1e-9, "{answer}");
    // A table of several sums has no noise of its own to flood, and is not asked in parts.
    let share = ["decrypt", "--client", "mine", "--in", "out", "--out", "shared.csv", "--share"];
    let refused = String::from_utf8(folder.run(&share).stderr).unwrap();
    assert!(refused.contains("computed from several results"), "{refused}");
}

/// MIN, MAX, HAVING, and a group that the server sees, in one run and by files; what is public is told first.
#[test]
fn ends_and_public_groups_are_answered() {
    let folder = folder("ends");
    let sql = "SELECT color, COUNT(*) AS n, MIN(price) AS low, MAX(day) AS last FROM sales \
               WHERE rebate < 0.1 AND (color = 'red' OR price > 5) GROUP BY color HAVING MAX(price) > 5 ORDER BY SUM(price)";
    let query = ["query", "--sql", sql, "--data", "sales.csv", SMALL[0], SMALL[1]];
    let open = valid(&folder, "plan", &[&["plan"], &query[..], &["--json"]].concat());
    let query = [&query[..], &["--public", "color"]].concat();
    let plan = valid(&folder, "plan", &[&["plan"], &query[..], &["--json"]].concat());
    let count = |plan: &serde_json::Value| plan["bootstrappings"].as_u64().unwrap();
    assert!(count(&plan) < count(&open), "{} {}", count(&plan), count(&open));
    let revealed = &plan["revealed"];
    assert_eq!(revealed["public"], json!([{"values": ["\"blue\""], "rows": 2}, {"values": ["\"red\""], "rows": 3}]));
    assert_eq!((&revealed["sums"], &revealed["ends"]), (&4.into(), &6.into()), "{revealed:#}");
    let run = valid(&folder, "run", &[&["run"], &query[..], &["--json"]].concat());
    assert_eq!((&run["wrong"], &run["bootstrappings"]), (&0.into(), &plan["bootstrappings"]), "{run:#}");
    let row = run["table"]["rows"][0].as_array().unwrap();
    let cells: Vec<&str> = row.iter().map(|c| c.as_str().or_else(|| c["exact"].as_str()).unwrap()).collect();
    assert_eq!((cells, run["table"]["rows"].as_array().unwrap().len()), (vec!["red", "2", "7.25", "2026-02-01"], 1));
    let told = String::from_utf8(folder.run(&[&["plan"], &query[..]].concat()).stdout).unwrap();
    assert!(told.contains("the server sees the group of each row: \"blue\" (2 rows), \"red\" (3 rows)"), "{told}");
    evaluated(&folder, &query);
    let opened =
        folder.run(&["decrypt", "--client", "mine", "--in", "out", "--out", "answer.csv", "--compare", "--json"]);
    let opened: serde_json::Value = serde_json::from_slice(&opened.stdout).unwrap();
    assert_eq!((&opened["compared"]["wrong"], &opened["compared"]["compared"]), (&0.into(), &16.into()), "{opened:#}");
    // Other rows of the same groups, and rows of other groups.
    folder.write("other.csv", "day,price,rebate,color\n2026-01-02,8,0.01,blue\n2026-01-03,9,0.02,red\n2026-01-04,7,0.05,red\n2026-01-05,6,0.07,blue\n2026-01-06,5,0.03,red\n");
    let encrypt = |file: &str, out: &str| folder.run(&["encrypt", "--client", "mine", "--data", file, "--out", out]);
    assert!(encrypt("other.csv", "other").status.success());
    folder.write("strange.csv", "day,price,rebate,color\n2026-01-02,8,0.01,blue\n2026-01-03,9,0.02,red\n2026-01-04,7,0.05,red\n2026-01-05,6,0.07,red\n2026-01-06,5,0.03,red\n");
    let refused = encrypt("strange.csv", "strange");
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && told.contains("1 rows have \"blue\", the program has 2"), "{told}");
    assert!(!folder.path().join("strange").exists(), "nothing was written");
    let wrong = folder.run(&[&["plan"], &query[..5], &SMALL, &["--public", "day"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
}

/// Groups, counts, means and NULL of three parts, added under encryption; ends of columns are not.
#[test]
fn parts_of_groups_are_summed() {
    let folder = folder("groups-in-parts");
    folder.write(
        "holes.csv",
        "day,price,color\n2026-01-01,10.50,red\n2026-01-05,,red\n2026-02-01,3,blue\n2026-02-09,4,blue\n",
    );
    let sql = "SELECT color, COUNT(*), COUNT(price), SUM(price), AVG(price), COUNT(DISTINCT color) FROM sales GROUP BY color ORDER BY color";
    let keys = ["keygen", "query", "--sql", sql, "--data", "holes.csv", SMALL[0], SMALL[1]];
    assert!(folder.run(&[&keys[..], &["--client", "mine", "--server", "theirs"]].concat()).status.success());
    let parts = ["a", "b", "c"];
    for part in parts {
        assert!(folder.run(&["encrypt", "--client", "mine", "--out", &format!("in/{part}")]).status.success());
    }
    let part = |name: &str| json!({ "evaluate": { "inputs": format!("in/{name}"), "results": format!("out/{name}"), "checkpoint": null } });
    let sum = json!({ "sum": { "of": parts.map(|part| format!("out/{part}")), "results": "total" } });
    asked(&folder, &[part("a"), part("b"), part("c"), sum]);
    let decrypt = ["decrypt", "--client", "mine", "--in", "total", "--parts", "in", "--out", "total.csv"];
    let opened = folder.run(&decrypt);
    assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
    let found = std::fs::read_to_string(folder.path().join("total.csv")).unwrap();
    let rows: Vec<Vec<f64>> =
        found.lines().map(|line| line.split(',').map(|cell| cell.trim().parse().unwrap()).collect()).collect();
    let wanted = [[0.0, 6.0, 6.0, 21.0, 3.5, 1.0], [1.0, 6.0, 3.0, 31.5, 10.5, 1.0]];
    let near = rows.iter().zip(wanted).all(|(row, wanted)| row.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6));
    assert!(rows.len() == 2 && near, "{found}");
    let plan = |sql: &str, more: &[&str]| {
        let words = [
            "plan",
            "query",
            "--sql",
            sql,
            "--data",
            "holes.csv",
            SMALL[0],
            SMALL[1],
            "--nodes",
            "2",
            "--memory",
            "4GB",
        ];
        String::from_utf8(folder.run(&[&words[..], more].concat()).stderr).unwrap()
    };
    assert!(plan("SELECT MAX(price) FROM sales WHERE color = 'red'", &[]).contains("error: "));
    let uneven = plan(sql, &["--part", "3"]);
    assert!(uneven.contains("in parts of 3 of 4 rows (take parts of equal size"), "{uneven}");
}

/// NULL in a column that is summed and in one that is compared, in one run; and in data for keys that were made without any.
#[test]
fn null_is_no_value_and_no_error() {
    let folder = folder("null");
    folder.write("holes.csv", "day,price,rebate,color\n,10.50,0.05,red\n2026-01-05,,0.10,red\n2026-02-01,3,,blue\n");
    let sql =
        "SELECT COUNT(*), COUNT(price), SUM(price), AVG(rebate) FROM sales WHERE NOT day < '2026-01-10' OR day IS NULL";
    let query = ["query", "--sql", sql, "--data", "holes.csv", SMALL[0], SMALL[1]];
    let run = valid(&folder, "run", &[&["run"], &query[..], &["--json"]].concat());
    let row = run["table"]["rows"][0].as_array().unwrap();
    let cells: Vec<&str> = row.iter().map(|cell| cell["exact"].as_str().unwrap()).collect();
    assert_eq!((cells, &run["wrong"]), (vec!["2", "2", "13.50", "0.05"], &0.into()), "{run:#}");
    let told = String::from_utf8(folder.run(&[&["plan"], &query[..]].concat()).stdout).unwrap();
    assert!(told.contains("2026-01-05 to 2026-02-01, or NULL"), "{told}");
    // Keys for a table without NULL refuse it, and take it where it was declared.
    let sql = "SELECT SUM(price) FROM sales WHERE rebate < 0.3";
    let domains = ["--domain", "price=0..100", "--domain", "rebate=0..1", "--rows", "3"];
    let query = [&["query", "--sql", sql, "--data", "sales.csv", SMALL[0], SMALL[1]], &domains[..]].concat();
    evaluated(&folder, &query);
    let encrypt = |out: &str| folder.run(&["encrypt", "--client", "mine", "--data", "holes.csv", "--out", out]);
    let refused = encrypt("in2");
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(2) && told.contains("row 3: NULL") && told.contains("--nullable rebate"),
        "{told}"
    );
    let wrong = folder.run(&[&["plan"], &query[..], &["--nullable", "day"]].concat());
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        wrong.status.code() == Some(2) && told.contains("--nullable day: the query names no such column"),
        "{told}"
    );
    for side in ["mine", "theirs", "in", "out"] {
        std::fs::remove_dir_all(folder.path().join(side)).unwrap();
    }
    evaluated(&folder, &[&query[..], &["--nullable", "price", "--nullable", "rebate"]].concat());
    assert!(encrypt("in2").status.success());
    assert!(folder.run(&["eval", "--server", "theirs", "--in", "in2", "--out", "out2"]).status.success());
    let decrypt = ["decrypt", "--client", "mine", "--in", "out2", "--out", "sum.csv", "--data", "holes.csv", "--json"];
    let opened: serde_json::Value = serde_json::from_slice(&folder.run(&decrypt).stdout).unwrap();
    assert_eq!(opened["compared"]["answer"]["exact"], "10.50", "{opened:#}");
}

/// Three tables, two of which share a column and one of which some rows have no match in; by files of two sides, and for other
/// rows.
#[test]
fn tables_are_joined_by_their_owner() {
    let folder = folder("joins");
    folder.write("shops.csv", "hue,city,price\nred,Ulm,9\nblue,Bonn,8\n");
    folder.write("towns.csv", "city,people\nUlm,126\nKiel,247\n");
    let sql = "SELECT COUNT(people), SUM(s.price), SUM(shops.price) FROM sales AS s JOIN shops ON color = hue \
               LEFT JOIN towns USING (city) WHERE s.price > 8";
    let with = ["--with", "shops=shops.csv", "--with", "towns=towns.csv"];
    let query = [&["query", "--sql", sql, "--data", "sales.csv", SMALL[0], SMALL[1]], &with[..]].concat();
    let run = valid(&folder, "run", &[&["run"], &query[..], &["--json"]].concat());
    let row = run["table"]["rows"][0].as_array().unwrap();
    let cells: Vec<&str> = row.iter().map(|cell| cell["exact"].as_str().unwrap()).collect();
    assert_eq!((cells, &run["wrong"]), (vec!["2", "190.49", "26"], &0.into()), "{run:#}");
    assert_eq!(run["revealed"]["join"], "color = hue, city = city");
    evaluated(&folder, &query);
    let decrypt = ["decrypt", "--client", "mine", "--in", "out", "--out", "sums.csv", "--compare", "--json"];
    let opened: serde_json::Value = serde_json::from_slice(&folder.run(&decrypt).stdout).unwrap();
    assert_eq!(opened["compared"]["wrong"], 0, "{opened:#}");
    let missing = folder.run(&[&["plan"], &query[..9]].concat());
    let told = String::from_utf8(missing.stderr).unwrap();
    assert!(missing.status.code() == Some(2) && told.contains("--with towns=FILE"), "{told}");
    let twice = folder.run(&[&["plan"], &query[..], &with[..2]].concat());
    let told = String::from_utf8(twice.stderr).unwrap();
    assert!(twice.status.code() == Some(2) && told.contains("--with shops is given twice"), "{told}");
}

/// Without a condition nothing is compared: sums and ends of all rows, in one run and by files; what both sides know is answered too.
#[test]
fn every_row_is_taken_without_a_condition() {
    let folder = folder("every");
    let query = |sql: &str| ["query", "--sql", sql, "--data", "sales.csv", SMALL[0], SMALL[1]].map(str::to_owned);
    let of = |verb: &str, sql: &str| {
        let words = [&[verb.to_owned()][..], &query(sql), &["--json".to_owned()]].concat();
        valid(&folder, verb, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let sum = "SELECT SUM(price * (1 - rebate)) FROM sales";
    let plan = of("plan", sum);
    assert_eq!((&plan["bootstrappings"], &plan["revealed"]["sums"]), (&0.into(), &1.into()), "{plan:#}");
    let run = of("run", sum);
    assert_eq!((&run["answer"]["exact"], &run["rows_passing"]), (&"149.7085".into(), &5.into()), "{run:#}");
    assert!(run["answer"]["relative_error"].as_f64().unwrap() < 1e-4 && run["wrong"] == 0, "{run:#}");
    let many = "SELECT AVG(price), COUNT(color), COUNT(*), MIN(day), MAX(price), SUM(CASE WHEN color = 'red' THEN price ELSE 0 END) \
                FROM sales";
    let run = of("run", many);
    let row = run["table"]["rows"][0].as_array().unwrap();
    let cells: Vec<&str> = row.iter().map(|c| c.as_str().or_else(|| c["exact"].as_str()).unwrap()).collect();
    assert_eq!(cells, ["40.148", "5", "5", "2025-12-31", "99.99", "117.74"], "{run:#}");
    evaluated(&folder, &query(sum).iter().map(String::as_str).collect::<Vec<_>>());
    let opened =
        folder.run(&["decrypt", "--client", "mine", "--in", "out", "--out", "answer.csv", "--compare", "--json"]);
    let opened: serde_json::Value = serde_json::from_slice(&opened.stdout).unwrap();
    assert_eq!(
        (&opened["compared"]["wrong"], opened["results"].as_array().unwrap().len()),
        (&0.into(), 1),
        "{opened:#}"
    );
    for (sql, wanted) in [
        ("SELECT COUNT(*), COUNT(price) FROM sales", "[\"5\",\"5\"]"),
        ("SELECT COUNT(*), SUM(price), MAX(day) FROM sales WHERE color = 'black'", "[\"0\",null,null]"),
    ] {
        let run = of("run", sql);
        assert_eq!((&run["revealed"]["sums"], &run["wrong"]), (&0.into(), &0.into()), "{run:#}");
        let cells = run["table"]["rows"][0].as_array().unwrap();
        let cells: Vec<_> = cells.iter().map(|cell| cell.get("exact").unwrap_or(cell)).collect();
        assert_eq!(serde_json::to_string(&cells).unwrap(), wanted, "{run:#}");
    }
    let output = folder.run(&["plan", "query", "--sql", "SELECT COUNT(size) FROM sales", "--data", "sales.csv"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("no column \"size\""), "{text}");
}

#[test]
fn query_6_goes_on_after_a_kill() {
    let folder = folder("q6");
    let program = ["run", "tpch-q6", "--rows", "300", SMALL[0], SMALL[1], "--checkpoint", "state", "--json"];
    let mut killed = folder.command(&program).spawn().unwrap();
    let kept = |folder: &Folder| {
        let steps = std::fs::read_dir(folder.path().join("state")).ok()?;
        steps.filter_map(Result::ok).find(|e| e.file_name().to_string_lossy().starts_with("step-00000"))
    };
    while kept(&folder).is_none() && killed.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(kept(&folder).is_some(), "it was killed with a state behind it");
    let other = [&program[..2], &["--rows", "299"], &program[4..]].concat();
    let refused = String::from_utf8(folder.run(&other).stderr).unwrap();
    assert!(refused.contains("has the checkpoint of another run"), "{refused}");
    let run = valid(&folder, "run", &program);
    assert_eq!((&run["answer"]["exact"], &run["rows_passing"]), (&"10214.0129".into(), &7.into()), "{run:#}");
    assert_eq!(run["wrong"], 0, "{run:#}");
    assert!(run["answer"]["relative_error"].as_f64() < Some(1e-4), "{run:#}");
    let left: Vec<_> = std::fs::read_dir(folder.path().join("state")).unwrap().collect();
    assert!(left.is_empty(), "nothing is left of the states");
}

/// Asks a resident evaluation, a line each, and returns its answers; it ends when nobody asks any more.
fn asked(folder: &Folder, requests: &[serde_json::Value]) -> Vec<serde_json::Value> {
    let mut command = folder.command(&["eval", "--parts", "--server", "theirs", "--threads", "1"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut answers = Vec::new();
    // The first answer is that the keys are there.
    for request in std::iter::once(None).chain(requests.iter().map(Some)) {
        if let Some(request) = request {
            writeln!(to, "{request}").unwrap();
        }
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        answers.push(serde_json::from_str(&line).unwrap());
    }
    drop(to);
    assert!(child.wait().unwrap().success());
    answers
}

#[test]
fn parts_are_summed_under_encryption_and_opened_as_their_sum() {
    let folder = folder("parts");
    let sql = "SELECT SUM(price) FROM sales WHERE color = 'red' OR price < 5";
    let keys = ["keygen", "query", "--sql", sql, "--data", "sales.csv", SMALL[0], SMALL[1]];
    let sides = ["--domain", "price=0..100", "--client", "mine", "--server", "theirs"];
    assert!(folder.run(&[&keys[..], &sides[..]].concat()).status.success());
    for part in ["a", "b", "c"] {
        let out = format!("in/{part}");
        assert!(folder.run(&["encrypt", "--client", "mine", "--out", &out]).status.success());
    }
    let part = |name: &str| json!({ "evaluate": { "inputs": format!("in/{name}"), "results": format!("out/{name}"), "checkpoint": null } });
    let sum = |of: &[&str], results: &str| json!({ "sum": { "of": of, "results": results } });
    let answers = asked(
        &folder,
        &[
            part("a"),
            part("b"),
            part("c"),
            part("none"),
            json!({ "else": 1 }),
            sum(&["in/a", "in/b"], "bad"),
            sum(&["out/a", "out/b"], "pair"),
            sum(&["pair", "out/c"], "total"),
            sum(&["out/a", "out/b", "out/c"], "whole"),
        ],
    );
    assert_eq!((&answers[0]["ready"]["results"], &answers[0]["ready"]["summed"]), (&json!(2), &json!(2)));
    let refused = |at: usize| answers[at]["refused"].as_str().unwrap_or_else(|| panic!("{:#}", answers[at]));
    assert!(refused(4).contains("in/none"), "{}", refused(4));
    assert!(refused(5).contains("not a request"), "{}", refused(5));
    assert!(refused(6).contains("no inputs that it is a result of"), "{}", refused(6));
    // A pair first, or all at once: the same bits.
    let read = |place: &str| {
        let file = |name: &str| std::fs::read(folder.path().join(place).join(name)).unwrap();
        ["result-000.ct", "result-001.ct"].map(file)
    };
    assert!(read("total") == read("whole"));
    let open = |results: &str, more: &[&str]| {
        let words = ["decrypt", "--client", "mine", "--in", results, "--out", "sum.csv", "--force"];
        folder.run(&[&words[..], more].concat())
    };
    let opened = open("total", &["--parts", "in"]);
    assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
    let sum: f64 = std::fs::read_to_string(folder.path().join("sum.csv")).unwrap().trim().parse().unwrap();
    assert!((sum - 3.0 * 120.74).abs() < 1e-2, "{sum}");
    // The sum of other parts, or one part in its place, is told from it.
    for (results, more) in
        [("pair", &["--parts", "in"][..]), ("out/a", &["--parts", "in"]), ("total", &["--inputs", "in/a"])]
    {
        let told = String::from_utf8(open(results, more).stderr).unwrap();
        assert!(told.starts_with("error: "), "{results}: {told}");
    }
}
