//! Mini-batches in blocks, weights bootstrapped: the encrypted training equals its polynomial twin.

use crate::encrypted::session;
use limbwise::params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine};
use limbwise_apps::{
    Client as _, Journal, State,
    data::Digits,
    helr::{
        client::{HelrClient, Options},
        data::{ImageOptions, generated_rows},
        encrypted::{Helr, HelrError},
    },
};
use limbwise_cpu::Cpu;
use limbwise_device::Checked;
use std::{cell::RefCell, rc::Rc};

/// The chain of `boot-few` on a small ring, with so many levels.
fn params(levels: usize) -> Params {
    let mut literal = ParamsLiteral::chain(11, 50, 40, 0, (50, 6), 5);
    let runs = [(50, 1), (30, 2), (40, levels), (50, 10), (46, 2)];
    literal.levels = runs.iter().flat_map(|&(bits, count)| vec![vec![PrimeChoice::Bits(bits)]; count]).collect();
    let eval_mod = EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine: Sine::Cosine { arcsine: 3 } };
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 2,
        coeff_to_slot: 2,
        message_ratio: 7,
        ephemeral_weight: Some(32),
        eval_mod,
        refinement: None,
    });
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

const OPTIONS: Options =
    Options { batch_rows: 128, iterations: 5, bootstrap_every: 2, degree: 3, interval: 8.0, learning_rate: 1.0 };

fn sides(params: &Params, options: Options) -> Result<(Helr, HelrClient), HelrError> {
    let images = ImageOptions { digits: Digits { negative: 3, positive: 8 }, test_share: 0.2, seed: 1 };
    HelrClient::sides(params, generated_rows(4, 250, &images).unwrap(), options)
}

/// Keeps every state, or goes on from one that was kept.
#[derive(Default)]
struct States {
    goes_on: bool,
    kept: Rc<RefCell<Vec<State<Checked<Cpu>>>>>,
}

impl Journal<Checked<Cpu>> for States {
    fn resume(&mut self) -> limbwise::Result<Option<State<Checked<Cpu>>>> {
        // The state of step 3, if the run before this one left it.
        let kept = self.kept.borrow();
        let state = kept.iter().find(|s| s.step == 3).filter(|_| self.goes_on);
        Ok(state.map(|s| State { step: s.step, ciphertexts: s.ciphertexts.clone(), numbers: s.numbers.clone() }))
    }

    fn keep(&mut self, state: &State<Checked<Cpu>>) -> limbwise::Result<()> {
        let (step, ciphertexts) = (state.step, state.ciphertexts.clone());
        self.kept.borrow_mut().push(State { step, ciphertexts, numbers: state.numbers.clone() });
        Ok(())
    }
}

#[test]
fn training_with_bootstrapped_weights_equals_its_clear_twin() {
    // Four ciphertexts a mini-batch, the second half full; one that is not full; and a degree of depth 3.
    let changes: [fn(Options) -> Options; 3] = [
        |o| o,
        |o| Options { batch_rows: 24, iterations: 3, bootstrap_every: 1, ..o },
        |o| Options { batch_rows: 50, degree: 7, bootstrap_every: 3, iterations: 4, ..o },
    ];
    for change in changes {
        let options = change(OPTIONS);
        let levels = options.bootstrap_every * if options.degree == 3 { 4 } else { 5 };
        let (program, client) = sides(&params(levels), options).unwrap();
        let (results, predicted, _) = session(&program, &client, &mut [&mut ()]).remove(0);
        let conclusion = client.conclude(&results);
        let accuracy = conclusion.found.accuracy.unwrap();
        assert!((accuracy.encrypted - accuracy.clear).abs() < 0.005 && accuracy.clear > 0.9, "{accuracy:?}");
        assert!(conclusion.found.precision.mean > 12.0, "{options:?}: {:?}, {predicted}", conclusion.found.precision);
        // The law of bootstrapping is for messages that fill their interval; small weights come out better.
        let expected = predicted - 2.0..predicted + 7.0;
        assert!(
            expected.contains(&conclusion.found.precision.mean),
            "{:?} for {predicted}",
            conclusion.found.precision
        );
        assert!(conclusion.warnings.is_empty(), "{:?}", conclusion.warnings);
    }
}

#[test]
fn a_resumed_training_ends_with_the_same_bits() {
    let (program, client) = sides(&params(8), Options { batch_rows: 24, ..OPTIONS }).unwrap();
    let mut first = States::default();
    let mut second = States { goes_on: true, kept: Rc::clone(&first.kept) };
    let outcomes = session(&program, &client, &mut [&mut first, &mut second]);
    assert!(outcomes[0].0 == outcomes[1].0, "resumed after bootstrapping and an iteration");
    let steps: Vec<usize> = first.kept.borrow().iter().map(|s| s.step).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5, 3, 4, 5]);
}

#[test]
fn what_does_not_fit_is_refused_before_any_key() {
    let refused = |options, levels| sides(&params(levels), options).unwrap_err().to_string();
    let text = refused(Options { bootstrap_every: 3, ..OPTIONS }, 8);
    assert!(text.contains("3 iterations of 4 levels") && text.contains("--bootstrap-every 2"), "{text}");
    assert!(refused(Options { batch_rows: 0, ..OPTIONS }, 8).contains("mini-batch: got 0"));
    assert!(refused(Options { iterations: 0, ..OPTIONS }, 8).contains("iterations: got 0"));
    assert!(refused(Options { degree: 4, ..OPTIONS }, 8).contains("3, 5 or 7"));
    let mut levelled = ParamsLiteral::chain(11, 50, 40, 8, (50, 3), 3);
    levelled.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let levelled = Params::new(&levelled).unwrap();
    let text = sides(&levelled, OPTIONS).unwrap_err().to_string();
    assert!(text.contains("no bootstrapping: choose boot-few"), "{text}");
    assert!(sides(&levelled, Options { iterations: 2, ..OPTIONS }).is_ok());
}
