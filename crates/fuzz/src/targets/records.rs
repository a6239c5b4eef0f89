//! Records in JSON: the description of a program, a client's ledger, the journal of a sweep.

use super::{Answer, scratch};
use limbwise::wire::Fingerprint;
use limbwise_apps::Description;
use limbwise_runtime::{
    ledger::Ledger,
    sealed,
    sweep::{Identity, Journal},
};
use serde::Deserialize;
use std::fs;

/// A description: read twice it is the same. Its parameters are checked, no program is built.
pub fn description(bytes: &[u8]) -> Answer {
    let description = Description::parse(bytes).map_err(|e| e.to_string())?;
    let again = Description::parse(&description.to_bytes()).expect("what was written is taken");
    assert!(again == description, "another description the second time");
    description.params().map(drop).map_err(|e| e.to_string())
}

/// A ledger, as a client reads it before it encrypts and before it shares.
pub fn ledger(bytes: &[u8]) -> Answer {
    let folder = scratch::folder().join("ledger");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("ledger.json"), bytes).expect("a file under test is written");
    let ledger = Ledger::of(&folder, keys(bytes));
    let read = ledger.ready().and_then(|()| ledger.rounds()).and_then(|_| ledger.shared());
    read.map(drop).map_err(|e| e.to_string())
}

/// The key set that a ledger names: a reader that wants another refuses it at once.
fn keys(bytes: &[u8]) -> Fingerprint {
    let digits = sealed::unseal::<serde_json::Value>(bytes).ok().and_then(|v| v["keys"].as_str().map(str::to_owned));
    let byte = |at: usize| u8::from_str_radix(digits.as_deref()?.get(2 * at..2 * at + 2)?, 16).ok();
    Fingerprint(std::array::from_fn(|at| byte(at).unwrap_or(1)))
}

/// The first line of a journal, as far as a sweep compares it.
#[derive(Deserialize)]
struct Head {
    #[serde(flatten)]
    identity: Named,
}

#[derive(Deserialize)]
struct Named {
    program: Vec<String>,
    fields: Vec<String>,
    machines: std::collections::BTreeMap<String, String>,
    limbwise: String,
}

/// A journal of the sweep that its own first line names, or else of another.
pub fn sweep_journal(bytes: &[u8]) -> Answer {
    let first = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let identity = match serde_json::from_slice::<Head>(first) {
        Ok(Head { identity: Named { program, fields, machines, limbwise } }) => {
            Identity { program, fields, machines, limbwise }
        }
        Err(_) => Identity::new(&["lola".into()], vec!["hbm".into()], &[]),
    };
    scratch::with_file(".jsonl", bytes, |path| {
        let rows = Journal::open(path, &identity).map(|(_, rows)| rows).map_err(|e| e.to_string())?;
        let again = Journal::open(path, &identity).map(|(_, rows)| rows.len()).map_err(|e| e.to_string());
        assert_eq!(again, Ok(rows.len()), "opened again it has other rows");
        Ok(())
    })
}
