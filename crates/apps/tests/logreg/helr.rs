//! Mini-batches in blocks, weights bootstrapped: the encrypted training equals its polynomial twin.

use limbwise::{
    ckks::{Auto, Bootstrapper, Encoder, Evaluator, Noise, decrypt, encrypt},
    params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, SecretKey},
};
use limbwise_apps::{
    Client as _, Input, Program as _,
    data::Digits,
    helr::{
        client::{HelrClient, Options},
        data::{ImageOptions, generated_rows},
        encrypted::{Helr, HelrError},
    },
};
use limbwise_cpu::Cpu;
use limbwise_device::{Checked, Null};
use limbwise_math::sampling::Seed;

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

fn run(program: &Helr, client: &HelrClient) -> (limbwise_apps::Conclusion, f64) {
    let params = program.params();
    let (encoder, null) = (Encoder::new(params), Null::default());
    let declared = DeclaredKeys::all(&null, params);
    let bootstrapper = program.bootstrapping().map(|plan| Bootstrapper::declare(&null, &encoder, plan).unwrap());
    let auto = Auto::new(Evaluator::new(&null, params, &declared), &encoder).with_bootstrapper(bootstrapper.as_ref());
    let declare = |i: Input| encoder.declare_bounded(&null, (i.batch, i.bounds), i.packing, Noise::Public).unwrap();
    let inputs: Vec<_> = program.inputs().into_iter().map(declare).collect();
    program.evaluate(&auto, &[], &inputs, &mut (), &mut ()).unwrap();

    let dev = Checked(Cpu::builder().open().unwrap());
    let secret = SecretKey::generate(params, &Seed::from_os().unwrap());
    let generator = KeyGenerator::new(&dev, params, &secret).unwrap();
    let plan = KeyPlan { required: declared.requirements(), form: KeyForm::Seeded };
    let (public, keys) = (generator.public_key(), generator.key_set(&plan, |_| ()));
    let encrypted = |(index, i): (usize, Input)| {
        let plain = encoder.encode(&dev, &client.values(index), i.packing).unwrap();
        encrypt(&dev, params, &public, &plain).unwrap().promised(i.bounds).unwrap()
    };
    let inputs: Vec<_> = program.inputs().into_iter().enumerate().map(encrypted).collect();
    let bootstrapper = program.bootstrapping().map(|plan| Bootstrapper::encode(&dev, &encoder, plan).unwrap());
    let auto = Auto::new(Evaluator::new(&dev, params, &keys), &encoder).with_bootstrapper(bootstrapper.as_ref());
    let results = program.evaluate(&auto, &[], &inputs, &mut (), &mut ()).unwrap();
    let clear: Vec<_> = results.iter().map(|c| decrypt(&dev, &encoder, params, &secret, c).unwrap()).collect();
    (client.conclude(&clear), results[0].estimate.precision_bits())
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
        let (conclusion, predicted) = run(&program, &client);
        let accuracy = conclusion.accuracy.unwrap();
        assert!((accuracy.encrypted - accuracy.clear).abs() < 0.005 && accuracy.clear > 0.9, "{accuracy:?}");
        assert!(conclusion.precision.mean > 12.0, "{options:?}: {:?}, {predicted}", conclusion.precision);
        // The law of bootstrapping is for messages that fill their interval; small weights come out better.
        let expected = predicted - 2.0..predicted + 7.0;
        assert!(expected.contains(&conclusion.precision.mean), "{:?} for {predicted}", conclusion.precision);
        assert!(conclusion.warnings.is_empty(), "{:?}", conclusion.warnings);
    }
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
