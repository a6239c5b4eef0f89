//! Each kind of layer on a small ring: what is recorded as needed is enough, and decrypts to the twin.

use limbwise::{
    Complex64,
    ckks::{
        Encoder, PlaintextForm, Strategy, decrypt,
        tensor::{Filters, Image, Matrix, Padding},
    },
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, KeyStore, SecretKey},
    scheme::{Ckks, Clear, ClientScheme as _, Encrypting, Encryption, Keys, Scheme as _, Setup, Shadows},
    supply::Made,
};
use limbwise_apps::{
    Client, Evaluation, Program,
    linear::{Linear, LinearError, Task, client::LinearClient, data::generated},
};
use limbwise_cpu::Cpu;
use limbwise_device::{Checked, Device, Null};
use limbwise_math::sampling::Seed;

fn params() -> Params {
    let mut literal = ParamsLiteral::chain(11, 50, 40, 4, (48, 2), 3);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn matrix(rows: usize, columns: usize, stream: u64) -> Matrix {
    Matrix::new(rows, columns, generated(1, stream, rows * columns, 1.0)).unwrap()
}

fn tasks() -> Vec<Task> {
    let filters = Filters::new([4, 3, 3, 3], generated(1, 2, 108, 0.2), generated(1, 3, 4, 1.0), 2, Padding::Same);
    vec![
        Task::Product { matrix: matrix(30, 21, 1), bias: generated(1, 2, 30, 1.0), x: matrix(21, 1, 3) },
        Task::Product { matrix: matrix(30, 21, 1), bias: Vec::new(), x: matrix(21, 80, 3) },
        Task::Square { left: vec![matrix(6, 6, 1), matrix(6, 6, 2)], right: vec![matrix(6, 6, 3), matrix(6, 6, 4)] },
        Task::Convolution {
            filters: filters.unwrap(),
            image: Image::new([3, 9, 9], generated(1, 5, 243, 1.0)).unwrap(),
        },
    ]
}

/// The keys of a store, with nobody looking on.
fn served<D: Device>(store: &dyn KeyStore<D>) -> Keys<'_, D> {
    Keys { store, bootstrap: None, watch: None }
}

/// A whole session: what the program requires is learned on `Null`, then keys are made and it runs. The decrypted results,
/// and the bits expected of the first.
pub(crate) fn session<P: Program<Scheme = Ckks>>(
    program: &P,
    client: &impl Client<Scheme = Ckks>,
) -> (Vec<Vec<Vec<Complex64>>>, f64) {
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
    let results =
        program.evaluate(Evaluation { means: &means, inputs: &inputs, observer: &mut (), journal: &mut () }).unwrap();
    let clear = results.iter().map(|c| decrypt(&dev, &encoder, params, &secret, c).unwrap()).collect();
    (clear, results[0].estimate.precision_bits())
}

/// Bits of precision, and those expected.
fn run(program: &Linear, client: &LinearClient) -> [f64; 2] {
    let (results, expected) = session(program, client);
    [client.conclude(&results).found.precision.mean, expected]
}

#[test]
fn every_layer_decrypts_to_its_twin() {
    let params = params();
    for task in tasks() {
        let what = task.layer().describe();
        let (program, client) = LinearClient::sides(&params, params.top_level(), &task).unwrap();
        for strategy in [Strategy::Hoisted, Strategy::DoubleHoisted { babies: 4 }] {
            let [got, expected] = run(&program.with(strategy, PlaintextForm::OnTheFly), &client);
            assert!(got > 15.0 && (got - expected).abs() < 4.0, "{what}, {strategy}: {got:.1} for {expected:.1} bits");
        }
    }
}

#[test]
fn levels_are_checked_before_anything_is_laid_out() {
    let params = params();
    for task in tasks() {
        let needed = task.layer().levels_needed();
        for level in [needed - 1, 5] {
            let error = Linear::new(&params, level, task.layer()).unwrap_err();
            assert!(matches!(error, LinearError::Level { .. }) && error.to_string().contains("from"), "{error}");
        }
        assert!(Linear::new(&params, needed, task.layer()).is_ok());
    }
    let wide = Task::Product { matrix: matrix(1025, 1, 1), bias: Vec::new(), x: matrix(1, 1, 2) };
    assert!(Linear::new(&params, 1, wide.layer()).unwrap_err().to_string().contains("takes 1025 slots"));
}
