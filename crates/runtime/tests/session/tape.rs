//! Tapes: every operation on the CPU gives what the clear twin says, at the levels that were recorded.

use limbwise::{
    Complex64,
    ckks::{
        Diagonals, Encoder, LinearPlan, Packing, PlaintextForm, Promise, Series, Strategy, decrypt, encrypt_secret,
    },
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyForm, KeyGenerator, SecretKey},
    scheme::{Ckks, Keys, Scheme as _, Setup},
    supply::Made,
};
use limbwise_apps::{Evaluation, Program as _, program::SlotsInput as Input};
use limbwise_math::sampling::Seed;
use limbwise_runtime::{
    Host, open, record,
    tape::{Op, Step, Tape},
};
use std::sync::Arc;

const SLOTS: usize = 8;

fn params() -> Params {
    let mut literal = ParamsLiteral::chain(11, 50, 40, 6, (48, 2), 4);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn values(seed: usize) -> Vec<Complex64> {
    (0..SLOTS).map(|i| Complex64::from(((i * 7 + seed * 3) % 11) as f64 / 11.0 - 0.5)).collect()
}

fn map() -> Diagonals {
    Diagonals::new(SLOTS, [(0, values(5)), (3, values(6))]).unwrap()
}

/// A tape with every operation that needs no bootstrapping, and its clear twin.
fn tape() -> (Tape, Vec<Vec<f64>>) {
    let params = params();
    let level = params.top_level();
    let packing = Packing { slots: SLOTS, level, scale: params.scale(level) };
    let input = |seed| {
        let bounds = Promise::of(&[values(seed)], SLOTS);
        Input { name: format!("input {seed}"), batch: 1, packing, bounds }
    };
    let plan = LinearPlan::new(&params, Strategy::Hoisted, PlaintextForm::Full, level);
    let series = Series { coefficients: vec![0.5, 0.25, 0.0, 0.125], from: -2.0, to: 2.0 };
    let steps = [
        (Op::Mul, vec![0, 1]),                                         // 2
        (Op::Mul, vec![0, 0]),                                         // 3
        (Op::Add, vec![2, 3]),                                         // 4: two pending products
        (Op::Rotate(-1), vec![4]),                                     // 5
        (Op::Linear(Arc::new(map())), vec![0]),                        // 6
        (Op::Series(Arc::new(series.clone())), vec![4]),               // 7
        (Op::MulScalar(3.0), vec![1]),                                 // 8: whole, no level
        (Op::AddRows(Arc::new(vec![values(9)])), vec![8]),             // 9
        (Op::Sub, vec![9, 5]),                                         // 10
        (Op::Stack, vec![6, 10, 7]),                                   // 11: three messages
        (Op::Gather(vec![2, 0]), vec![11]),                            // 12
        (Op::InnerSum { stride: 1, count: SLOTS }, vec![12]),          // 13
        (Op::MulRows(Arc::new(vec![values(1), values(2)])), vec![12]), // 14
        (Op::Negate, vec![14]),                                        // 15
        (Op::Multiply, vec![0, 1]),                                    // 16: explicit, and what settles it
        (Op::Relinearize, vec![16]),                                   // 17
        (Op::Rescale, vec![17]),                                       // 18
    ];
    let step = |(op, operands): (Op, Vec<usize>)| {
        let plan = matches!(op, Op::Linear(_)).then_some(plan);
        Step { op, operands, plan }
    };
    let steps = steps.into_iter().map(step).collect();
    let inputs = vec![input(0), input(1)];
    let shapes = vec![[2, SLOTS], [2, SLOTS], [1, SLOTS], [1, SLOTS]];
    let tape = Tape { params, inputs, steps, results: vec![15, 13, 10, 18], shapes, bootstrapping: None };
    let (a, b): (Vec<f64>, Vec<f64>) = values(0).iter().zip(values(1)).map(|(x, y)| (x.re, y.re)).unzip();
    let four: Vec<f64> = a.iter().zip(&b).map(|(x, y)| x * y + x * x).collect();
    let six: Vec<f64> = map().apply(&values(0)).iter().map(|z| z.re).collect();
    let seven: Vec<f64> = four.iter().map(|&x| series.evaluate(x)).collect();
    let ten = (0..SLOTS).map(|i| 3.0 * b[i] + values(9)[i].re - four[(i + SLOTS - 1) % SLOTS]).collect();
    let negated = |x: &[f64], by: usize| x.iter().zip(values(by)).map(|(x, y)| -x * y.re).collect::<Vec<f64>>();
    let sum = |x: &[f64]| vec![x.iter().sum::<f64>(); SLOTS];
    let product = a.iter().zip(&b).map(|(x, y)| x * y).collect();
    let wanted = vec![[negated(&seven, 1), negated(&six, 2)].concat(), [sum(&seven), sum(&six)].concat(), ten, product];
    (tape, wanted)
}

#[test]
fn a_tape_runs_as_it_is_recorded() {
    let (tape, wanted) = tape();
    let (params, dev) = (tape.params().clone(), open(&Host { device: None, isa: None, threads: Some(1) }).unwrap());
    let (encoder, secret) = (Encoder::new(&params), SecretKey::generate(&params, &Seed([3; 32])));
    for form in [KeyForm::Stored, KeyForm::Seeded] {
        let recording = record(&tape, form, &limbwise_cpu::footprint()).unwrap();
        let keys = KeyGenerator::new(&dev, &params, &secret).unwrap().key_set(&recording.keys, |_| ()).unwrap();
        let encrypted = |(seed, input): (usize, &Input)| {
            let plain = encoder.encode(&dev, &[values(seed)], input.packing).unwrap();
            encrypt_secret(&dev, &params, &secret, &plain).unwrap()
        };
        let inputs: Vec<_> = tape.inputs.iter().enumerate().map(encrypted).collect();
        let setup = Setup { dev: &dev, encoder: &encoder, params: &params };
        let encoded = Ckks::encode(setup, &Made, &tape.model(), &mut |_, _, _| ()).unwrap();
        let means = Ckks::means(setup, &encoded, Keys { store: &keys, bootstrap: None, watch: None });
        let results =
            tape.evaluate(Evaluation { means: &means, inputs: &inputs, observer: &mut (), journal: &mut () }).unwrap();
        for ((result, wanted), planned) in results.iter().zip(&wanted).zip(&recording.results) {
            assert_eq!(result.level, planned.level);
            let got = decrypt(&dev, &encoder, &params, &secret, result).unwrap().concat();
            let worst = got.iter().zip(wanted).map(|(z, w)| (z.re - w).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-6 && got.len() == wanted.len(), "off by {worst}");
        }
    }
    assert_eq!(tape.with_form(PlaintextForm::OnTheFly).maps()[0].1.form, PlaintextForm::OnTheFly);
}

#[test]
fn explicit_products_refuse_what_operators_would_bring_together() {
    let (mut tape, _) = tape();
    let step = |op, operands| Step { op, operands, plan: None };
    tape.shapes = vec![[1, SLOTS]];
    for (steps, words) in [
        (vec![step(Op::DropLevel(2), vec![0]), step(Op::Multiply, vec![2, 1])], "level"),
        (vec![step(Op::Multiply, vec![0, 1]), step(Op::Multiply, vec![2, 2])], "polynomials"),
    ] {
        let tape = Tape { steps, results: vec![3], ..tape.clone() };
        let error =
            record(&tape, KeyForm::Stored, &limbwise_cpu::footprint()).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("multiply") && error.contains(words), "{error}");
    }
}
