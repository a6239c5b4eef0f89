//! Encrypted training equals its clear twin, on a small ring with several ciphertexts a mini-batch.

use limbwise::{
    ckks::{Auto, Encoder, Evaluator, decrypt, encrypt},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, SecretKey},
};
use limbwise_apps::{
    Program,
    data::breast_cancer,
    logreg::{
        data::{PrepareOptions, prepare},
        encrypted::{Logreg, LogregError, levels_needed},
        sigmoid::SigmoidPolynomial,
    },
};
use limbwise_cpu::Cpu;
use limbwise_device::{Checked, Null};
use limbwise_math::sampling::Seed;

fn params(levels: usize) -> Params {
    let mut literal = ParamsLiteral::chain(11, 50, 45, levels, (55, 3), levels.div_ceil(3) + 1);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn program(levels: usize, batch_rows: usize, iterations: usize, degree: usize) -> Result<Logreg, LogregError> {
    let prepared = prepare(&breast_cancer(), &PrepareOptions::default()).unwrap();
    Logreg::new(&params(levels), prepared, batch_rows, iterations, SigmoidPolynomial::least_squares(degree, 8.0))
}

/// The whole session: what the circuit requires is learned on `Null`, then keys are made and it runs.
fn run(program: &Logreg) -> (limbwise_apps::Conclusion, f64, usize) {
    let params = program.params();
    let encoder = Encoder::new(params);
    let null = Null::default();
    let declared = DeclaredKeys::all(&null, params);
    let secret = SecretKey::generate(params, &Seed::from_os().unwrap());
    let auto = Auto::new(Evaluator::new(&null, params, &declared), &encoder);
    let public = KeyGenerator::new(&null, params, &secret).unwrap().public_key();
    let inputs: Vec<_> = program
        .inputs()
        .iter()
        .map(|i| encrypt(&null, params, &public, &encoder.encode(&null, &i.values, i.packing).unwrap()).unwrap())
        .collect();
    program.evaluate(&auto, &[], &inputs, &mut ()).unwrap();

    let dev = Checked(Cpu::builder().open().unwrap());
    let generator = KeyGenerator::new(&dev, params, &secret).unwrap();
    let plan = KeyPlan { required: declared.requirements(), form: KeyForm::Seeded };
    let (public, keys) = (generator.public_key(), generator.key_set(&plan, |_| ()));
    let inputs: Vec<_> = program
        .inputs()
        .iter()
        .map(|i| encrypt(&dev, params, &public, &encoder.encode(&dev, &i.values, i.packing).unwrap()).unwrap())
        .collect();
    let auto = Auto::new(Evaluator::new(&dev, params, &keys), &encoder);
    let results = program.evaluate(&auto, &[], &inputs, &mut ()).unwrap();
    let clear: Vec<_> = results.iter().map(|c| decrypt(&dev, &encoder, params, &secret, c).unwrap()).collect();
    (program.conclude(&clear), results[0].estimate.precision_bits(), results[1].level)
}

#[test]
fn training_equals_its_clear_twin() {
    for (batch_rows, iterations, degree) in [(455, 3, 3), (150, 2, 7)] {
        let levels = levels_needed(iterations, degree);
        let (conclusion, predicted, left) = run(&program(levels, batch_rows, iterations, degree).unwrap());
        let accuracy = conclusion.accuracy.unwrap();
        assert!((accuracy.encrypted - accuracy.clear).abs() < 0.005 && accuracy.clear > 0.9, "{accuracy:?}");
        assert!(conclusion.precision.mean > 15.0, "{:?}", conclusion.precision);
        assert!((conclusion.precision.mean - predicted).abs() < 4.0, "{:?} for {predicted}", conclusion.precision);
        assert!(conclusion.warnings.is_empty(), "{:?}", conclusion.warnings);
        assert_eq!(left, 0, "the level formula is exact");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let text = program(10, 100, 4, 3).unwrap_err().to_string();
    assert!(
        text.contains("4 iterations with degree 3 need 17 levels, the parameters have 10: choose a preset with more levels (limbwise params show) or at most 2 iterations"),
        "{text}"
    );
    assert!(program(10, 0, 1, 3).unwrap_err().to_string().contains("mini-batch must be at least 1"));
    assert!(program(10, 1, 0, 3).is_err());
}
