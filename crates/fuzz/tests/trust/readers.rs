//! Every reader alone: its stored inputs, those that campaigns found, and some changed ones.

use crate::{MEMORY, campaign::count};
use limbwise_fuzz::{
    TARGETS,
    driver::{Outcome, run},
    forge::Dice,
    mutate::Pool,
    targets::scratch,
};

/// Every reader takes what is stored for it, or says why not; of changed inputs none makes it panic, hang or take memory
/// that the input does not justify.
#[test]
fn every_reader_answers_whatever_it_is_given() {
    let each = count() / TARGETS.len();
    for target in TARGETS {
        let stored = target.stored().unwrap();
        let mut taken = 0;
        for (number, input) in stored.iter().enumerate() {
            match run(target, input, &MEMORY).0 {
                Outcome::Found(text) => panic!("{}: stored input {number}: {text}", target.name),
                outcome => taken += usize::from(outcome == Outcome::Taken),
            }
        }
        assert!(
            taken > 0,
            "{}: takes none of its {} stored inputs: its changes test nothing",
            target.name,
            stored.len()
        );
        let pool = Pool::new(target.form, stored);
        let mut refused = 0;
        for number in 0..each as u64 {
            let input = pool.input(&mut Dice::new(number));
            match run(target, &input, &MEMORY).0 {
                Outcome::Found(text) => panic!("{}: input {number}: {text}", target.name),
                outcome => refused += usize::from(outcome != Outcome::Taken),
            }
        }
        assert!(refused > each / 10, "{}: {refused} of {each} refused: the changes change little", target.name);
    }
    scratch::clear();
}
