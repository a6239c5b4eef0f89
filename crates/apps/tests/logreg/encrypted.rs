//! Encrypted training equals its clear twin, on a small ring with several ciphertexts a mini-batch.

use limbwise::{
    Complex64,
    ckks::{Encoder, decrypt},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, KeyStore, SecretKey},
    scheme::{Ckks, Clear, ClientScheme as _, Encrypting, Encryption, Keys, Scheme as _, Setup, Shadows},
    supply::Made,
};
use limbwise_apps::{
    Client, Evaluation, Journal, Program,
    data::breast_cancer,
    logreg::{
        client::{LogregClient, Options},
        data::{PrepareOptions, prepare},
        encrypted::{Logreg, LogregError, levels_needed},
    },
};
use limbwise_cpu::Cpu;
use limbwise_device::{Checked, Device, Null};
use limbwise_math::sampling::Seed;

fn params(levels: usize) -> Params {
    let mut literal = ParamsLiteral::chain(11, 50, 45, levels, (55, 3), levels.div_ceil(3) + 1);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn sides(
    levels: usize,
    batch_rows: usize,
    iterations: usize,
    degree: usize,
) -> Result<(Logreg, LogregClient), LogregError> {
    let prepared = prepare(&breast_cancer(), &PrepareOptions::default()).unwrap();
    LogregClient::sides(&params(levels), prepared, Options { batch_rows, iterations, degree, interval: 8.0 })
}

/// Decrypted results, the bits expected of the first, and the level of the last.
pub(crate) type Outcome = (Vec<Vec<Vec<Complex64>>>, f64, usize);

/// The keys of a store, with nobody looking on.
fn served<D: Device>(store: &dyn KeyStore<D>) -> Keys<'_, D> {
    Keys { store, bootstrap: None, watch: None }
}

/// The whole session: what the circuit requires is learned on `Null`, then keys are made and it runs, once with each
/// journal, on the same inputs.
pub(crate) fn session<P: Program<Scheme = Ckks>>(
    program: &P,
    client: &impl Client<Scheme = Ckks>,
    journals: &mut [&mut dyn Journal<Checked<Cpu>>],
) -> Vec<Outcome> {
    let (params, model, declared_inputs) = (program.params(), program.model(), program.inputs());
    let (null, encoder) = (Null::default(), Encoder::new(params));
    let (declared, setup) = (DeclaredKeys::all(&null, params), Setup { dev: &null, encoder: &encoder, params });
    let declare = |i| Ckks::declare_input(setup, i, Encryption::PublicKey).unwrap();
    let inputs: Vec<_> = declared_inputs.iter().map(declare).collect();
    let encoded = Ckks::declare(setup, &model).unwrap();
    program
        .evaluate(Evaluation {
            means: &Ckks::means(setup, &encoded, served(&declared)),
            inputs: &inputs,
            observer: &mut (),
            journal: &mut (),
        })
        .unwrap();

    let dev = Checked(Cpu::builder().open().unwrap());
    let (setup, secret) =
        (Setup { dev: &dev, encoder: &encoder, params }, SecretKey::generate(params, &Seed::from_os().unwrap()));
    let generator = KeyGenerator::new(&dev, params, &secret).unwrap();
    let plan = KeyPlan { required: declared.requirements(), form: KeyForm::Seeded };
    let (public, keys) = (generator.public_key(), generator.key_set(&plan, |_| ()).unwrap());
    let with =
        Encrypting { key: Encryption::PublicKey, secrets: None, public: Some(&public), shadows: Shadows::Absent };
    let encrypted = |(index, input)| {
        let (values, seed) = (client.values(index), Seed::from_os().unwrap());
        Ckks::encrypt(setup, &with, Clear { input, values: &values }, &seed).unwrap()
    };
    let inputs: Vec<_> = declared_inputs.iter().enumerate().map(encrypted).collect();
    let encoded = Ckks::encode(setup, &Made, &model, &mut |_, _, _| ()).unwrap();
    let means = Ckks::means(setup, &encoded, served(&keys));
    let run = |journal: &mut &mut dyn Journal<Checked<Cpu>>| {
        let results = program
            .evaluate(Evaluation { means: &means, inputs: &inputs, observer: &mut (), journal: *journal })
            .unwrap();
        let clear = results.iter().map(|c| decrypt(&dev, &encoder, params, &secret, c).unwrap()).collect();
        (clear, results[0].estimate.precision_bits(), results[results.len() - 1].level)
    };
    journals.iter_mut().map(run).collect()
}

fn run(program: &Logreg, client: &LogregClient) -> (limbwise_apps::Conclusion<Ckks>, f64, usize) {
    let (results, predicted, level) = session(program, client, &mut [&mut ()]).remove(0);
    (client.conclude(&results), predicted, level)
}

#[test]
fn training_equals_its_clear_twin() {
    for (batch_rows, iterations, degree) in [(455, 3, 3), (150, 2, 7)] {
        let levels = levels_needed(iterations, degree);
        let (conclusion, predicted, left) = {
            let (program, client) = sides(levels, batch_rows, iterations, degree).unwrap();
            run(&program, &client)
        };
        let accuracy = conclusion.found.accuracy.unwrap();
        assert!((accuracy.encrypted - accuracy.clear).abs() < 0.005 && accuracy.clear > 0.9, "{accuracy:?}");
        assert!(conclusion.found.precision.mean > 15.0, "{:?}", conclusion.found.precision);
        // Forty runs: 0.2 to 0.7 bits more than predicted with degree 7, 3.5 to 4.0 with degree 3.
        let more = conclusion.found.precision.mean - predicted;
        assert!((-1.5..6.0).contains(&more), "{:?} for {predicted}", conclusion.found.precision);
        assert!(conclusion.warnings.is_empty(), "{:?}", conclusion.warnings);
        assert_eq!(left, 0, "the level formula is exact");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let text = sides(10, 100, 4, 3).unwrap_err().to_string();
    assert!(
        text.contains("4 iterations with degree 3 need 17 levels, the parameters have 10: choose a preset with more levels (limbwise params show) or at most 2 iterations"),
        "{text}"
    );
    assert!(sides(10, 0, 1, 3).unwrap_err().to_string().contains("mini-batch: got 0, wanted at least 1"));
    assert!(sides(10, 1, 0, 3).is_err());
}
