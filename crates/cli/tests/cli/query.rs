//! Questions to encrypted tables: answers as the clear twin's, kills that only delay, mistakes before keys.

use crate::{
    common::{Folder, TINY_BRIDGE, tiny_tfhe_of_four_bits},
    contract::valid,
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
        let error = run["answer"]["relative_error"].as_f64().unwrap();
        assert!(error < 1e-4 && error < 6.0 * plan["precision"]["sum_relative_error"].as_f64().unwrap(), "{run:#}");
    }
    let recorded = ["query", "--sql", questions[1].0, "--data", "sales.csv", SMALL[0], SMALL[1]];
    let recorded = valid(&folder, "record", &[&["record"], &recorded[..], &["--out", "q.lw", "--json"]].concat());
    let timed = valid(&folder, "time", &["time", "--graph", "q.lw", "--machine", "counts", "--json"]);
    // Five rows; 9700 prices in cents are 7 digits, of which the first two go together.
    assert!(recorded["bootstrappings"] == 5 * 6 && timed["operators"].as_array().is_some(), "{recorded:#} {timed:#}");
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
