//! A campaign over every file of the two sides: changed, with checksums made right where there are any, and used as the
//! verbs use them. No panic, no hang, and no number that is not the honest one.

use crate::sides::{Folder, decrypt, device, encrypt, eval, made};
use limbwise_fuzz::{
    forge::{Dice, Others, Parts, damaged, lie},
    mutate::resealed,
};
use limbwise_runtime::{AnyDevice, Error};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Inputs where nobody says: `LIMBWISE_CAMPAIGN=100000` is `make campaign`.
const USUAL: usize = 1500;
/// Longer than this an input never takes: it is milliseconds.
const MOST: Duration = Duration::from_secs(30);

/// The layer's clear result is not needed: the honest run says what is right, and errors are far below this.
const TOLERANCE: f64 = 1e-3;

/// What a changed file goes through: all that comes after it.
#[derive(Clone, Copy, Debug)]
enum From {
    Encryption,
    Evaluation,
    Decryption,
}

/// How many inputs each campaign has.
pub(crate) fn count() -> usize {
    std::env::var("LIMBWISE_CAMPAIGN").ok().and_then(|text| text.parse().ok()).unwrap_or(USUAL)
}

struct Setting {
    dev: AnyDevice,
    root: PathBuf,
    client: PathBuf,
    server: PathBuf,
}

impl Setting {
    fn place(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The numbers at the end, from a stage on.
    fn numbers(&self, from: From) -> Result<Vec<f64>, Error> {
        let (inputs, out) = (self.place("in"), self.place("out"));
        if matches!(from, From::Encryption) {
            encrypt(&self.dev, &self.client, &inputs, 1.0)?;
        }
        if !matches!(from, From::Decryption) {
            eval(&self.dev, &self.server, &inputs, &out, None)?;
        }
        decrypt(&self.dev, &self.client, &out)
    }
}

/// Files that a change may take parts from: of other keys, of another program, of other inputs.
fn others(setting: &Setting) -> Others {
    let root = &setting.root;
    let mut files = Vec::new();
    for (name, rows, seed) in [("other-keys", 4, 8), ("other-program", 3, 9)] {
        let (client, server) = made(root, name, rows, seed);
        let [inputs, out] = ["in", "out"].map(|folder| root.join(format!("{name}-{folder}")));
        encrypt(&setting.dev, &client, &inputs, 0.5).unwrap();
        eval(&setting.dev, &server, &inputs, &out, None).unwrap();
        files.extend([client.join("public.key"), client.join("secret.key"), server.join("evaluation.keys")]);
        files.extend([inputs.join("input-000.ct"), out.join("result-000.ct")]);
    }
    // The same client's result of other inputs.
    let [inputs, out] = ["earlier-in", "earlier-out"].map(|folder| root.join(folder));
    encrypt(&setting.dev, &setting.client, &inputs, 0.5).unwrap();
    eval(&setting.dev, &setting.server, &inputs, &out, None).unwrap();
    let own = [inputs.join("input-000.ct"), out.join("result-000.ct")];
    let read = |path: &PathBuf| Parts::of(&fs::read(path).unwrap()).unwrap();
    Others { strangers: files.iter().map(read).collect(), own: own.iter().map(read).collect() }
}

/// A changed file: its format known, or not.
fn changed(path: &Path, honest: &[u8], dice: &mut Dice, others: &Others) -> Vec<u8> {
    if dice.below(4) == 0 {
        return damaged(honest, dice);
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("json") if path.ends_with("ledger.json") => resealed(honest, dice),
        Some("json") => lie(honest, dice),
        _ => Parts::of(honest).unwrap().changed(dice, others).sealed(),
    }
}

#[test]
fn no_changed_file_gives_another_number() {
    let folder = Folder::new("campaign");
    let (client, server) = made(&folder.0, "mine", 4, 7);
    let setting = Setting { dev: device(), root: folder.0.clone(), client, server };
    let others = others(&setting);
    let honest = setting.numbers(From::Encryption).unwrap();
    let targets = [
        (setting.client.join("program.json"), From::Decryption),
        (setting.client.join("program.json"), From::Encryption),
        (setting.client.join("public.key"), From::Encryption),
        (setting.client.join("secret.key"), From::Decryption),
        (setting.client.join("ledger.json"), From::Decryption),
        (setting.server.join("program.json"), From::Evaluation),
        (setting.server.join("evaluation.keys"), From::Evaluation),
        (setting.place("in").join("input-000.ct"), From::Evaluation),
        (setting.place("out").join("result-000.ct"), From::Decryption),
    ];
    let count = count();
    let mut tally = std::collections::BTreeMap::<String, [usize; 2]>::new();
    for input in 0..count {
        let mut dice = Dice::new(input as u64);
        let (path, from) = &targets[input % targets.len()];
        let name = format!("{} ({from:?})", path.strip_prefix(&setting.root).unwrap().display());
        let kept = keep(&setting);
        let bytes = fs::read(path).unwrap();
        let hostile = changed(path, &bytes, &mut dice, &others);
        fs::write(path, &hostile).unwrap();
        let start = Instant::now();
        let got = catch_unwind(AssertUnwindSafe(|| setting.numbers(*from)));
        assert!(start.elapsed() < MOST, "{name}: input {input} takes {:?}", start.elapsed());
        let Ok(got) = got else { panic!("{name}: input {input} panics") };
        let taken = got.is_ok();
        if let Ok(got) = got {
            let near = got.len() == honest.len() && got.iter().zip(&honest).all(|(a, b)| (a - b).abs() < TOLERANCE);
            assert!(near, "{name}: input {input} gives {got:?} in the place of {honest:?}");
        }
        tally.entry(name).or_default()[usize::from(taken)] += 1;
        kept.into_iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    }
    for (name, [refused, harmless]) in &tally {
        eprintln!("{name}: {refused} refused, {harmless} gave the honest numbers");
    }
    let refused: usize = tally.values().map(|both| both[0]).sum();
    assert!(refused > count / 2, "{refused} of {count} refused: the changes change little");
}

/// Everything that an input may change, as it is now.
fn keep(setting: &Setting) -> Vec<(PathBuf, Vec<u8>)> {
    let folders = [&setting.client, &setting.server, &setting.place("in"), &setting.place("out")];
    let files = folders.into_iter().flat_map(|folder| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()));
    files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}
