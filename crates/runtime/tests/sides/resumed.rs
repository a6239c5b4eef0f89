//! A run that was stopped between two of its steps goes on from its checkpoint, and ends with the same files.

use crate::{
    both::{Case, Folder, How, device, eval},
    cases,
};
use limbwise_apps::{Client, Program, bgv_table::Encrypted};
use limbwise_runtime::{Error, places::ciphertexts, scheme::Piped};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

fn bytes(results: &Path) -> Vec<Vec<u8>> {
    ciphertexts(results).unwrap().iter().map(|path| fs::read(path).unwrap()).collect()
}

/// A state of which a file is cut off, or away, is one error, whatever reads it; afterwards it is as it was.
fn damaged_states_are_told(checkpoint: &Path, again: &dyn Fn() -> Result<(), Error>) {
    let states = fs::read_dir(checkpoint).unwrap().map(|entry| entry.unwrap().path());
    let state = states.filter(|path| path.join("state.json").exists()).max().unwrap();
    let ciphertext = Some("0.ct").filter(|name| state.join(name).exists());
    for file in ["state.json"].into_iter().chain(ciphertext).map(|name| state.join(name)) {
        let whole = fs::read(&file).unwrap();
        for left in [Some(whole.len() / 2), Some(0), None] {
            match left {
                Some(length) => fs::write(&file, &whole[..length]).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            let error = again().unwrap_err();
            assert!(matches!(error, Error::Checkpoint { .. }), "{left:?} of {}: {error}", file.display());
            fs::write(&file, &whole).unwrap();
        }
    }
}

/// Stops after so many states, goes on, and compares with a run that nobody stopped. The results are read by `right`.
fn goes_on<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(
    name: &str,
    case: &Case<P, C>,
    stops: &[usize],
    right: impl Fn(&<P::Scheme as limbwise::scheme::Scheme>::Reading) -> bool,
) {
    let (folder, dev) = (Folder::new(&format!("resumed-{name}")), device());
    let places = case.keys(&folder.0, name, 7);
    let [inputs, whole, state] = ["in", "whole", "state"].map(|name| folder.at(name));
    case.encrypt(&dev, &places, &inputs).unwrap();
    let run = |out: &Path, how: How<'_>| eval(&dev, &places.server, (&places.keys(), &inputs), out, how);
    assert_eq!(run(&whole, How::default()).unwrap().resumed_after, None);
    for &stop in stops {
        let (out, asked) = (folder.at(&format!("after-{stop}")), AtomicUsize::new(0));
        let killed = || asked.fetch_add(1, Ordering::Relaxed) + 1 == stop;
        let how = How { state: Some(&state), ..How::default() };
        let error = run(&out, How { stop: &killed, ..how }).expect_err("it was stopped");
        assert!(matches!(error, Error::Scheme(limbwise::Error::Stopped)), "{error}");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1, "one state is kept");
        assert!(!out.exists(), "neither a result is there nor a place for one");
        // Other inputs are another run.
        let others = folder.at("other-inputs");
        case.encrypt(&dev, &places, &others).unwrap();
        let error = eval(&dev, &places.server, (&places.keys(), &others), &folder.at("none"), how).unwrap_err();
        assert!(matches!(error, Error::OtherRun { .. }), "{error}");
        // A kill came while an older state was removed, and while a newer one was written.
        for left in [".step-old.tmp", ".step-new.tmp"] {
            fs::create_dir(state.join(left)).unwrap();
            fs::write(state.join(left).join("0.ct"), "a part").unwrap();
        }
        damaged_states_are_told(&state, &|| run(&out, how).map(drop));
        let report = run(&out, how).unwrap();
        assert!(report.resumed_after.is_some());
        assert!(bytes(&out) == bytes(&whole), "{name}: another result after {stop}");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "the state goes when the results are there");
    }
    // The ledger remembers the other inputs as the last ones.
    case.encrypt(&dev, &places, &inputs).unwrap();
    run(&whole, How::default()).unwrap();
    assert!(right(&case.decrypt(&dev, &places, &whole).unwrap().reading), "{name}");
}

#[test]
fn gates_go_on() {
    let case = cases::gates(3, 2);
    goes_on("gates", &case, &[1, 5, 10], |reading| case.client.conclude(reading).found.wrong == 0);
}

#[test]
fn a_network_goes_on() {
    let case = cases::nn20();
    goes_on("nn", &case, &[4], |reading| case.client.conclude(reading).found.wrong == 0);
}

#[test]
fn a_table_goes_on() {
    for (name, matrix) in [("clear", Encrypted::No), ("encrypted", Encrypted::Yes)] {
        let case = cases::bgv_table(matrix);
        goes_on(name, &case, &[1], |reading| case.client.conclude(reading).found.wrong == 0);
    }
}

#[test]
fn a_question_goes_on() {
    let case = cases::query();
    goes_on("query", &case, &[1, 2], |reading| case.client.conclude(reading).found.wrong == 0);
}

/// Stopped in the filter, in each of four searches, and between them.
#[test]
fn searches_go_on() {
    let case = cases::ends();
    goes_on("ends", &case, &[2, 5, 6, 7, 17, 22], |reading| case.client.conclude(reading).found.wrong == 0);
}
