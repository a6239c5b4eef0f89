//! What does not belong together is refused, on both sides, in words that say which file and what is wrong.

use crate::{
    both::{Case, Folder, How, Places, device, eval, eval_told},
    cases,
};
use limbwise_apps::{Client, Program, bgv_table::Encrypted};
use limbwise_runtime::{
    AnyDevice, Error, Event,
    clock::READ_STEP,
    origin::{inputs_name, origin_of},
    places::{BOOTSTRAP, KEYS, SECRET, TFHE_SECRET, ciphertexts},
    scheme::Piped,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The text of a refusal.
fn told<T>(result: Result<T, Error>) -> String {
    result.err().expect("it is refused").to_string()
}

fn evaluated(dev: &AnyDevice, places: &Places, inputs: &Path, out: &Path) -> Result<(), Error> {
    eval(dev, &places.server, (&places.keys(), inputs), out, How::default()).map(drop)
}

/// Files of another key set and of earlier inputs, and results that changed places.
fn strangers_are_refused<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(name: &str, case: &Case<P, C>) {
    let (folder, dev) = (Folder::new(&format!("strangers-{name}")), device());
    let [mine, theirs] = [("mine", 7), ("theirs", 8)].map(|(name, seed)| case.keys(&folder.0, name, seed));
    let [inputs, earlier, others] = ["in", "earlier-in", "others-in"].map(|name| folder.at(name));
    let [out, old, stranger] = ["out", "earlier-out", "others-out"].map(|name| folder.at(name));
    for (places, inputs, out) in [(&theirs, &others, &stranger), (&mine, &earlier, &old), (&mine, &inputs, &out)] {
        case.encrypt(&dev, places, inputs).unwrap();
        evaluated(&dev, places, inputs, out).unwrap();
    }
    assert!(case.decrypt(&dev, &mine, &out).is_ok());
    // A server has keys of one set, inputs come under another.
    let text = told(evaluated(&dev, &mine, &others, &folder.at("none")));
    assert!(text.contains("input-000.ct") && text.contains("key set"), "{text}");
    damaged_keys_are_named(&dev, &mine, &inputs, &folder.at("none"));
    // A client is given somebody's results, or its own of other inputs.
    assert!(case.decrypt(&dev, &mine, &stranger).is_err());
    let text = told(case.decrypt(&dev, &mine, &old));
    assert!(text.contains("a result of other inputs: those in"), "{text}");
    // Too few, and in another order.
    let mut files = ciphertexts(&out).unwrap();
    if let [first, second, ..] = &files[..] {
        swap(first, second);
        let text = told(case.decrypt(&dev, &mine, &out));
        assert!(text.contains("result-000.ct") && text.contains("number"), "{text}");
        swap(first, second);
        fs::remove_file(files.pop().unwrap()).unwrap();
        let text = told(case.decrypt(&dev, &mine, &out));
        assert!(text.contains("ciphertexts; the program takes"), "{text}");
    }
    let inputs_there = ciphertexts(&inputs).unwrap();
    if let [first, second, ..] = &inputs_there[..] {
        swap(first, second);
        let text = told(evaluated(&dev, &mine, &inputs, &folder.at("none")));
        assert!(text.contains("number"), "{text}");
    }
}

/// A file of keys that is damaged within is told by its name, and so is one that is given twice.
fn damaged_keys_are_named(dev: &AnyDevice, places: &Places, inputs: &Path, out: &Path) {
    for file in places.keys() {
        let twice: Vec<PathBuf> = places.keys().into_iter().chain([file.clone()]).collect();
        let text = told(eval(dev, &places.server, (&twice, inputs), out, How::default()));
        assert!(text.contains("a second file of"), "{text}");
        let whole = fs::read(&file).unwrap();
        let mut damaged = whole.clone();
        *damaged.last_mut().unwrap() ^= 1;
        fs::write(&file, damaged).unwrap();
        let text = told(evaluated(dev, places, inputs, out));
        assert!(text.contains(&file.display().to_string()) && text.contains("is damaged"), "{text}");
        fs::write(&file, whole).unwrap();
    }
}

/// An input is encrypted anew while an evaluation reads the old ones: its result is one of the old ones, and says so.
#[test]
fn inputs_that_change_under_an_evaluation() {
    let (folder, dev, case) = (Folder::new("changed-inputs"), device(), cases::bgv_mul(2));
    let mine = case.keys(&folder.0, "mine", 7);
    let [inputs, later, out] = ["in", "later", "out"].map(|name| folder.at(name));
    case.encrypt(&dev, &mine, &inputs).unwrap();
    case.encrypt(&dev, &mine, &later).unwrap();
    let before = inputs_name(&ciphertexts(&inputs).unwrap()).unwrap();
    let mut tell = |event| {
        if matches!(event, Event::Progress { step, done: 1, .. } if step == READ_STEP) {
            fs::rename(later.join("input-000.ct"), inputs.join("input-000.ct")).unwrap();
        }
    };
    eval_told(&dev, &mine.server, (&mine.keys(), &inputs), &out, How::default(), &mut tell).unwrap();
    assert!(!later.join("input-000.ct").exists(), "it took the other's place");
    assert_eq!(origin_of(&out.join("result-000.ct")).unwrap().inputs, before);
}

fn swap(a: &Path, b: &Path) {
    let (one, other) = (fs::read(a).unwrap(), fs::read(b).unwrap());
    fs::write(a, other).unwrap();
    fs::write(b, one).unwrap();
}

#[test]
fn of_messages() {
    strangers_are_refused("gates", &cases::gates(2, 2));
}

#[test]
fn of_integers() {
    strangers_are_refused("mul", &cases::bgv_mul(2));
    strangers_are_refused("table", &cases::bgv_table(Encrypted::Yes));
}

#[test]
fn of_both_kinds() {
    strangers_are_refused("query", &cases::query());
}

#[test]
fn another_program_is_refused() {
    let (folder, dev) = (Folder::new("program"), device());
    let (two, three) = (cases::gates(2, 2), cases::gates(3, 2));
    let [mine, theirs] = [two.keys(&folder.0, "two", 7), three.keys(&folder.0, "three", 7)];
    let inputs = folder.at("in");
    two.encrypt(&dev, &mine, &inputs).unwrap();
    let text = told(evaluated(&dev, &theirs, &inputs, &folder.at("out")));
    assert!(text.contains("program"), "{text}");
    // The other program's description beside these keys.
    let text = told(eval(&dev, &theirs.server, (&mine.keys(), &inputs), &folder.at("out"), How::default()));
    assert!(text.contains(BOOTSTRAP) && text.contains("program"), "{text}");
}

/// A program of two schemes has two secret keys, and both files name both.
#[test]
fn a_secret_key_of_another_set_is_refused() {
    let (folder, dev, case) = (Folder::new("secrets"), device(), cases::query());
    let [mine, theirs] = [("mine", 7), ("theirs", 8)].map(|(name, seed)| case.keys(&folder.0, name, seed));
    for name in [SECRET, TFHE_SECRET] {
        let (own, other) = (mine.client.join(name), theirs.client.join(name));
        let honest = fs::read(&own).unwrap();
        fs::copy(other, &own).unwrap();
        let text = told(case.encrypt(&dev, &mine, &folder.at("in")));
        assert!(text.contains("key set"), "{text}");
        fs::write(&own, honest).unwrap();
    }
    case.encrypt(&dev, &mine, &folder.at("in")).unwrap();
}

#[test]
fn keys_of_tfhe_that_are_absent_or_of_another_set() {
    let (folder, dev, case) = (Folder::new("bootstrap"), device(), cases::query());
    let [mine, theirs] = [("mine", 7), ("theirs", 8)].map(|(name, seed)| case.keys(&folder.0, name, seed));
    let inputs = folder.at("in");
    case.encrypt(&dev, &mine, &inputs).unwrap();
    let with = |keys: &[PathBuf]| told(eval(&dev, &mine.server, (keys, &inputs), &folder.at("out"), How::default()));
    let (rlwe, tfhe) = (mine.server.join(KEYS), mine.server.join(BOOTSTRAP));
    let text = with(std::slice::from_ref(&rlwe));
    assert!(text.contains(KEYS) && text.contains("lacks the keys of TFHE (bootstrap.keys)"), "{text}");
    let text = with(std::slice::from_ref(&tfhe));
    assert!(text.contains("lacks the evaluation keys (evaluation.keys)"), "{text}");
    for keys in [[rlwe.clone(), theirs.server.join(BOOTSTRAP)], [theirs.server.join(KEYS), tfhe.clone()]] {
        let text = with(&keys);
        assert!(text.contains("key set"), "{text}");
    }
    // One of a kind, and no other kind.
    assert!(with(&[rlwe.clone(), tfhe.clone(), tfhe.clone()]).contains("a second file of"));
    assert!(with(&[rlwe, tfhe, mine.client.join("public.key")]).contains("wanted"));
    let gates = cases::gates(2, 2);
    let places = gates.keys(&folder.0, "gates", 7);
    let inputs = folder.at("gates-in");
    gates.encrypt(&dev, &places, &inputs).unwrap();
    let text = told(eval(&dev, &places.server, (&[], &inputs), &folder.at("out"), How::default()));
    assert!(text.contains("lacks the keys of TFHE (bootstrap.keys)"), "{text}");
}
