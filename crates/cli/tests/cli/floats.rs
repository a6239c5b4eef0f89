//! NaN, infinities and what is beyond a float, wherever the command line or a file of it takes a number: exit code 2 and a
//! text, never a panic, never a plan made with them.

use crate::common::{Folder, TINY, TINY_TFHE};

const NO_NUMBERS: [&str; 6] = ["nan", "NaN", "inf", "-inf", "1e999", "-1e999"];

fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty() && !text.contains("panicked"), "{arguments:?}: {text}");
    text
}

#[test]
fn options_take_numbers_only() {
    let folder = Folder::new("floats");
    let options: [(&[&str], &str); 10] = [
        (&["plan", "logreg"], "--test-share"),
        (&["plan", "logreg"], "--interval"),
        (&["plan", "helr"], "--test-share"),
        (&["plan", "helr"], "--interval"),
        (&["plan", "helr"], "--learning-rate"),
        (&["plan", "resnet20", "--weights", "w", "--data", "d"], "--margin"),
        (&["plan", "tpch-q6"], "--scale"),
        (&["run", "logreg"], "--shadow-bound"),
        (&["time", "logreg", "--machine", "ark"], "--set=memory.hbm.bandwidth_gb_s"),
        (&["time", "logreg", "--machine", "ark"], "--set=policy.idle_share"),
    ];
    for (arguments, option) in options {
        for x in NO_NUMBERS {
            let given = format!("{option}={x}");
            refused(&folder, &[arguments, &[given.as_str()]].concat());
        }
    }
    for x in NO_NUMBERS {
        refused(&folder, &["plan", "resnet20", "--weights", "w", "--data", "d", &format!("--relu=15,15,15:{x}")]);
        refused(&folder, &["plan", "logreg", &format!("--memory={x}GB")]);
        refused(&folder, &["sweep", "logreg", "--machine", "ark", &format!("--vary=clusters=1..{x}")]);
    }
}

#[test]
fn parameter_files_take_numbers_only() {
    let folder = Folder::new("float-files");
    let cases = [
        (TINY_TFHE, "glwe_sigma"),
        (TINY_TFHE, "lwe_sigma"),
        (TINY_TFHE, "norm"),
        (TINY_TFHE, "log2_failure"),
        (TINY, "sigma"),
    ];
    for (text, field) in cases {
        let others: Vec<&str> = text.lines().filter(|line| !line.starts_with(&format!("{field} ="))).collect();
        for x in ["nan", "inf", "-inf", "1e300", "-1e300"] {
            let attack = format!("{field} = {x}");
            folder.write("attack.toml", &format!("{attack}\n{}", others.join("\n")));
            let text = refused(&folder, &["params", "check", "attack.toml"]);
            assert!(text.contains(field) || text.contains("finite") || text.contains("would fail"), "{attack}: {text}");
        }
    }
    for reason in ["", " ", "\\u200b", "a\\u001b[2Jb", "two\\nlines"] {
        let start = TINY.find("[insecure]").unwrap();
        folder.write("attack.toml", &format!("{}[insecure]\nreason = \"{reason}\"\n", &TINY[..start]));
        let text = refused(&folder, &["params", "check", "attack.toml"]);
        assert!(text.contains("insecure.reason") && !text.contains('\u{1b}'), "{reason:?}: {text}");
    }
}
