//! A tiny residual network on a small ring: encrypted scores equal those of the polynomial twin, a killed run goes on
//! with the same result, and values beyond the ranges are noticed.

use limbwise::{
    Complex64,
    ckks::{BootstrapPlan, Ciphertext, Encoder, PlaintextForm, Strategy, decrypt, tensor::Image},
    params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, KeySet, KeyStore, PublicKey, SecretKey},
    scheme::{Ckks, Clear, ClientScheme as _, Encoded, Encrypting, Encryption, Keys, Scheme as _, Setup, Shadows},
    supply::Made,
};
use limbwise_apps::{
    AnyProgram, Client as _, Description, Evaluation, Journal, Program as _, State,
    linear::{data::generated, layer::Model},
    registry::{Described, SlotsProgram},
    resnet::{Architecture, Inference, Network, Resnet, ResnetClient, client::Labeled, relu::ReluChoice},
};
use limbwise_cpu::Cpu;
use limbwise_device::{Checked, Device, Null};
use limbwise_math::sampling::Seed;
use std::sync::Arc;

type Dev = Checked<Cpu>;

/// Two user levels more than an activation of degrees 7 and 7 and a convolution take.
pub(crate) fn params() -> Params {
    let eval_mod = EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine: Sine::Exponential { harmonics: 2 } };
    let mut literal = ParamsLiteral::chain(11, 50, 40, 0, (50, 6), 5);
    let bits = [32; 2].iter().chain(&[40; 10]).copied().map(|b| vec![PrimeChoice::Bits(b)]);
    let eval_mod_bits = [vec![30, 29]].into_iter().chain(vec![vec![50]; eval_mod.depth() - 1]);
    let above = eval_mod_bits.chain(vec![vec![46]; 2]);
    literal.levels.extend(bits);
    literal.levels.extend(above.map(|level| level.into_iter().map(PrimeChoice::Bits).collect()));
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

fn network() -> Network {
    let architecture = Architecture { side: 8, channels: 3, widths: vec![2, 4, 6], blocks: 1, classes: 5 };
    Network::generated(&architecture, 1)
}

fn images(count: usize) -> Vec<Labeled> {
    let one = |at: usize| {
        let values = generated(7, at as u64, 192, 0.5).into_iter().map(|x| x + 0.5).collect();
        Labeled { image: Image::new([3, 8, 8], values).unwrap(), label: Some(at % 5) }
    };
    (0..count).map(one).collect()
}

/// Both sides for some images; their ranges are measured on others, and changed by a factor.
fn sides(count: usize, factor: f64) -> (Resnet, ResnetClient) {
    let (params, network) = (params(), network());
    let others: Vec<Image> = images(count + 8)[count..].iter().map(|i| network.normalized(&i.image).unwrap()).collect();
    let options = Inference {
        architecture: network.architecture.clone(),
        images: count,
        ranges: network.largest(&others).unwrap().into_iter().map(|most| most * factor).collect(),
        relu: ReluChoice { degrees: vec![7, 7], gap_bits: 4.0 },
        strategy: Strategy::Bsgs { babies: 0 },
        plaintexts: PlaintextForm::OnTheFly,
        bootstrapping: Some(BootstrapPlan::fastest(1)),
        bounds: network.bounds(),
    };
    let program = Resnet::new(&params, options, &network).unwrap();
    let client = ResnetClient::new(&program, &network, &images(count)).unwrap();
    (program, client)
}

/// Everything that a run needs, once.
struct Session {
    dev: Dev,
    encoder: Encoder,
    secret: SecretKey,
    public: PublicKey<Dev>,
    keys: KeySet<Dev>,
    encoded: Encoded<Dev>,
}

/// The keys of a store, with nobody looking on.
fn served<D: Device>(store: &dyn KeyStore<D>) -> Keys<'_, D> {
    Keys { store, bootstrap: None, watch: None }
}

impl Session {
    fn new(program: &Resnet) -> Self {
        let (params, null, model) = (program.params(), Null::default(), program.model());
        let encoder = Encoder::new(params);
        let (declared, setup) = (DeclaredKeys::all(&null, params), Setup { dev: &null, encoder: &encoder, params });
        let input = Ckks::declare_input(setup, &program.inputs()[0], program.encryption()).unwrap();
        let encoded = Ckks::declare(setup, &model).unwrap();
        program
            .evaluate(Evaluation {
                means: &Ckks::means(setup, &encoded, served(&declared)),
                inputs: &[input],
                observer: &mut (),
                journal: &mut (),
            })
            .unwrap();
        let dev = Checked(Cpu::builder().open().unwrap());
        let secret = SecretKey::generate(params, &Seed::from_os().unwrap());
        let generator = KeyGenerator::new(&dev, params, &secret).unwrap();
        let keys = KeyPlan { required: declared.requirements(), form: KeyForm::Stored };
        let (public, keys) = (generator.public_key(), generator.key_set(&keys, |_| ()).unwrap());
        drop(generator);
        let encoded =
            Ckks::encode(Setup { dev: &dev, encoder: &encoder, params }, &Made, &model, &mut |_, _, _| ()).unwrap();
        Self { dev, encoder, secret, public, keys, encoded }
    }

    fn setup<'a>(&'a self, program: &'a Resnet) -> Setup<'a, Ckks, Dev> {
        Setup { dev: &self.dev, encoder: &self.encoder, params: program.params() }
    }

    fn input(&self, program: &Resnet, client: &ResnetClient) -> Ciphertext<Dev> {
        let (public, input) = (Some(&self.public), program.inputs().swap_remove(0));
        let with = Encrypting { key: Encryption::PublicKey, secrets: None, public, shadows: Shadows::Absent };
        let seed = Seed::from_os().unwrap();
        Ckks::encrypt(self.setup(program), &with, Clear { input: &input, values: &client.values(0) }, &seed).unwrap()
    }

    fn run(
        &self,
        program: &Resnet,
        input: &Ciphertext<Dev>,
        journal: &mut dyn Journal<Dev>,
    ) -> limbwise::Result<Vec<Vec<Complex64>>> {
        let means = Ckks::means(self.setup(program), &self.encoded, served(&self.keys));
        let results = program.evaluate(Evaluation {
            means: &means,
            inputs: std::slice::from_ref(input),
            observer: &mut (),
            journal,
        })?;
        decrypt(&self.dev, &self.encoder, program.params(), &self.secret, &results[0])
    }
}

/// Keeps the last state, and stops after so many.
struct Stops {
    state: Option<State<Dev>>,
    after: usize,
}

impl Journal<Dev> for Stops {
    fn resume(&mut self) -> limbwise::Result<Option<State<Dev>>> {
        Ok(self.state.take())
    }

    fn keep(&mut self, state: &State<Dev>) -> limbwise::Result<()> {
        let ciphertexts = state.ciphertexts.clone();
        self.state = Some(State { step: state.step, ciphertexts, numbers: state.numbers.clone() });
        if state.step == self.after { Err(limbwise::Error::Stopped) } else { Ok(()) }
    }
}

#[test]
fn scores_are_those_of_the_polynomial_twin() {
    // Three images and a gap take turns in the slots of one ciphertext; five need a second one.
    let (program, client) = sides(5, 1.5);
    assert_eq!((program.inputs()[0].batch, program.results()), (2, 1));
    let session = Session::new(&program);
    let input = session.input(&program, &client);
    let whole = session.run(&program, &input, &mut ()).unwrap();
    let conclusion = client.conclude(&vec![whole.clone()]);
    assert!(conclusion.found.precision.mean > 12.0, "{:?}", conclusion.found.precision);
    assert!(conclusion.warnings.is_empty() && conclusion.found.accuracy.is_some(), "{:?}", conclusion.warnings);
    let plan = program.levels();
    assert!(plan.bootstraps() >= 6 && plan.input() == 3, "{plan:?}");

    // Killed in the middle of a block and after the last activation.
    for after in [2, 7] {
        let mut journal = Stops { state: None, after };
        assert!(matches!(session.run(&program, &input, &mut journal), Err(limbwise::Error::Stopped)));
        assert_eq!(journal.state.as_ref().unwrap().ciphertexts.len(), if after == 2 { 2 } else { 1 });
        journal.after = usize::MAX;
        let resumed = session.run(&program, &input, &mut journal).unwrap();
        assert!(resumed == whole, "to the last bit");
    }
}

#[test]
fn values_beyond_the_ranges_are_noticed() {
    let (program, client) = sides(1, 0.25);
    let session = Session::new(&program);
    let input = session.input(&program, &client);
    let error = session.run(&program, &input, &mut ()).unwrap_err().to_string();
    assert!(error.contains("larger") || error.contains("bound"), "{error}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let (program, _) = sides(1, 1.5);
    let network = network();
    let refused = |change: &dyn Fn(&mut Inference)| {
        let mut options = program.inference().clone();
        change(&mut options);
        Resnet::new(&params(), options, &network).unwrap_err().to_string()
    };
    assert!(refused(&|o| o.relu = ReluChoice::default()).contains("14 levels, the parameters have 10"));
    assert!(refused(&|o| o.ranges.truncate(3)).contains("a positive number for each activation"));
    assert!(refused(&|o| o.ranges[2] = f64::NAN).contains("the ranges"));
    assert!(refused(&|o| o.images = 0).contains("the images"));
    assert!(refused(&|o| o.relu.degrees = vec![8]).contains("the activation"));
    assert!(refused(&|o| o.architecture.side = 7).contains("the side"));
    let other = Labeled { image: Image::new([3, 4, 4], vec![0.0; 48]).unwrap(), label: None };
    let error = ResnetClient::new(&program, &network, &[other]).unwrap_err().to_string();
    assert!(error.contains("3 channels of 4×4 pixels"), "{error}");
}

#[test]
fn a_description_is_enough_for_both_sides() {
    let (program, _) = sides(2, 1.5);
    let workload = Described::Resnet(program.inference().clone());
    let described = Description::new::<Ckks>("small", program.params(), KeyForm::Stored, workload);
    let read = Description::parse(&described.to_bytes()).unwrap();
    assert_eq!(read, described);
    let rotations = |program: &SlotsProgram| -> Vec<_> {
        program.model().maps.iter().map(|(map, plan)| (plan.level, plan.strategy.rotations(map))).collect()
    };
    let model = Model { network: Some(Arc::new(network())), ..Model::default() };
    let AnyProgram::Ckks(server) = read.program(&model).unwrap() else { panic!("a program on slots") };
    let AnyProgram::Ckks(client) = read.stand_in().unwrap() else { panic!("a program on slots") };
    assert_eq!(rotations(&server), rotations(&client), "keys do not hang on the weights");
    assert_eq!((server.inputs(), server.results()), (client.inputs(), client.results()));
    assert!(server.model().maps.iter().zip(program.maps()).all(|((a, _), (b, _))| **a == *b));
    assert!(read.program(&Model::default()).unwrap_err().to_string().contains("--weights"));
}
