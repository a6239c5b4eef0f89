//! Any number of threads may evaluate on one device with one key set, and get what one thread gets.

use crate::common::{Dev, Session, small, uniform};
use limbwise::{
    Result,
    ckks::{
        Auto, Bootstrapper, Ciphertext, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Plaintext,
        PlaintextForm, Strategy,
    },
    params::Params,
    rlwe::{DeclaredKeys, EvaluationKey, KeyGenerator, KeySet, KeyStore, PublicKey, SecretKey},
};
use limbwise_device::HostRead as _;
use std::thread::scope;

const fn shared<T: Send + Sync + ?Sized>() {}

#[test]
fn what_a_program_holds_may_go_to_any_thread() {
    const {
        shared::<(Params, Encoder, Evaluator<'_, Dev>, Auto<'_, Dev>, dyn KeyStore<Dev>)>();
        shared::<(KeySet<Dev>, DeclaredKeys<'_, Dev>, EvaluationKey<Dev>, PublicKey<Dev>)>();
        shared::<(Ciphertext<Dev>, Plaintext<Dev>, LinearTransform<Dev>, Bootstrapper<Dev>)>();
        shared::<(SecretKey, KeyGenerator<'_, Dev>, Dev)>();
    }
}

type Program = Box<dyn Fn(&Auto<'_, Dev>, &Ciphertext<Dev>) -> Result<Ciphertext<Dev>> + Sync>;

fn programs(s: &Session) -> Vec<Program> {
    let one = |d| (d, uniform(64, &format!("diagonal {d}")));
    let diagonals = Diagonals::new(64, (-2..=2).map(one)).unwrap();
    let map = |strategy, form| {
        let plan = LinearPlan::new(&s.params, strategy, form, 4);
        LinearTransform::encode(&s.dev, &s.encoder, &diagonals, plan).unwrap()
    };
    let hoisted = map(Strategy::Hoisted, PlaintextForm::Full);
    let double = map(Strategy::DoubleHoisted { babies: 2 }, PlaintextForm::OnTheFly);
    vec![
        Box::new(|auto, a| auto.chebyshev_unit(&a.clone().bounded_by(1.0), &[0.1, 0.5, 0.0, 0.2, 0.0, 0.1])),
        Box::new(|auto, a| auto.inner_sum(&auto.square(a)?, 1, 5)),
        Box::new(|auto, a| auto.mul(&auto.conjugate(a)?, &auto.weighted_sum(&[(0.3, a), (1.0, &auto.rotate(a, 2)?)])?)),
        Box::new(move |auto, a| auto.linear_transform(a, &hoisted)),
        Box::new(move |auto, a| auto.linear_transform(&auto.add_scalar(a, 0.5), &double)),
    ]
}

#[test]
fn many_threads_get_what_one_gets() {
    let s = Session::new(&small(6), &[-2, -1, 1, 2, 4]);
    let programs = programs(&s);
    let inputs = ["a", "b"].map(|label| s.encrypt(&uniform(64, label)));
    let run = |p: usize, i: usize| {
        let result = programs[p](&s.auto(), &inputs[i]).unwrap();
        result.parts.iter().flat_map(|part| s.dev.download(part).unwrap()).collect::<Vec<u64>>()
    };
    let jobs: Vec<(usize, usize)> = (0..programs.len()).flat_map(|p| [(p, 0), (p, 1)]).collect();
    let alone: Vec<Vec<u64>> = jobs.iter().map(|&(p, i)| run(p, i)).collect();
    assert!((1..alone.len()).all(|job| alone[job] != alone[0]), "programs differ");
    scope(|scope| {
        for thread in 0..8 {
            let (jobs, alone, run) = (&jobs, &alone, &run);
            // Each begins elsewhere, so that at any time different programs are under way.
            scope.spawn(move || {
                for at in (0..jobs.len()).map(|step| (3 * thread + step) % jobs.len()) {
                    assert!(run(jobs[at].0, jobs[at].1) == alone[at], "job {at} on thread {thread}");
                }
            });
        }
    });
}
