//! A tiny residual network on a small ring: encrypted scores equal those of the polynomial twin, a killed run goes on
//! with the same result, and values beyond the ranges are noticed.

use limbwise::{
    Complex64,
    ckks::{
        BootstrapPlan, Ciphertext, Encoder, PlaintextForm, Strategy,
        bootstrap::{HalvesAt, Rotations},
        decrypt,
        tensor::Image,
    },
    params::{
        BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine, presets::preset,
    },
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, KeySet, KeyStore, PublicKey, SecretKey, key_bytes},
    scheme::{Ckks, Clear, ClientScheme as _, Encoded, Encrypting, Encryption, Keys, Scheme as _, Setup, Shadows},
    supply::Made,
};
use limbwise_apps::{
    AnyProgram, Client as _, Description, Evaluation, Journal, Program as _, State,
    linear::{data::generated, layer::Model},
    network::{Inference, Planned, activation::SignChoice, calibration::Range},
    registry::{Described, SlotsProgram},
    resnet::{Architecture, Resnet, ResnetClient, Trained, images::Labeled},
    way::Arrangement,
};
use limbwise_cpu::Cpu;
use limbwise_device::{Checked, Device, Null};
use limbwise_math::sampling::Seed;

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

fn trained() -> Trained {
    let architecture = Architecture { side: 8, channels: 3, widths: vec![2, 4, 6], blocks: 1, classes: 5 };
    Trained::generated(&architecture, 1).unwrap()
}

fn images(count: usize) -> Vec<Labeled> {
    let one = |at: usize| {
        let values = generated(7, at as u64, 192, 0.5).into_iter().map(|x| x + 0.5).collect();
        Labeled { image: Image::new([3, 8, 8], values).unwrap(), label: Some(at % 5) }
    };
    (0..count).map(one).collect()
}

/// Both sides for some images, four of which take turns; their ranges are measured on others, and changed by a margin.
fn sides(count: usize, margin: f64) -> (Resnet, ResnetClient) {
    let (params, trained) = (params(), trained());
    let others: Vec<_> = images(count + 8)[count..].iter().map(|i| trained.normalized(&i.image).unwrap()).collect();
    let mut ranges = trained.ranges(&others, margin.max(1.0)).unwrap();
    for range in &mut ranges[1..] {
        (range.from, range.to) = (range.from * margin.min(1.0), range.to * margin.min(1.0));
    }
    let options = Inference {
        network: trained.network.skeleton.clone(),
        ranges,
        margin: margin.max(1.0),
        error: 0.005,
        sign: Some(SignChoice { degrees: vec![7, 7], gap_bits: 4.0 }),
        squarings: Default::default(),
        samples: count,
        arrangement: Arrangement::Turns(count.next_power_of_two().min(4)),
        strategy: Strategy::Bsgs { babies: 0 },
        plaintexts: PlaintextForm::OnTheFly,
        bootstrapping: Some(BootstrapPlan::fastest(1)),
    };
    let program = Resnet::new(&params, options, &trained.network).unwrap();
    let client = ResnetClient::new(&program, &trained, &images(count)).unwrap();
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
    let plan = program.planned().levels();
    // The images come above the level of bootstrapping, which saves one.
    assert!(plan.bootstraps() >= 6 && plan.values[0].read > 3, "{plan:?}");

    // Killed in the middle of a block, where its input waits, and after the last activation.
    for (after, kept) in [(5, 2), (15, 1)] {
        let mut journal = Stops { state: None, after };
        assert!(matches!(session.run(&program, &input, &mut journal), Err(limbwise::Error::Stopped)));
        assert_eq!(journal.state.as_ref().unwrap().ciphertexts.len(), kept);
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
    let trained = trained();
    let refused = |change: &dyn Fn(&mut Inference)| {
        let mut options = program.planned().inference().clone();
        change(&mut options);
        Resnet::new(&params(), options, &trained.network).unwrap_err().to_string()
    };
    let text = refused(&|o| o.sign = Some(SignChoice::default()));
    assert!(text.contains("14 levels") && text.contains("have 10"), "{text}");
    assert!(refused(&|o| o.ranges.truncate(3)).contains("the ranges"));
    assert!(refused(&|o| o.ranges[2].to = f64::NAN).contains("the ranges"));
    assert!(refused(&|o| o.samples = 0).contains("the data"));
    assert!(refused(&|o| o.sign = Some(SignChoice { degrees: vec![8], gap_bits: 4.0 })).contains("the activations"));
    assert!(refused(&|o| o.arrangement = Arrangement::Turns(3)).contains("a power of two"));
    assert!(refused(&|o| o.arrangement = Arrangement::Turns(1 << 20)).contains("the arrangement"));
    assert!(refused(&|o| o.arrangement = Arrangement::Slots).contains("at most 4 samples a ciphertext"));
    let other = Labeled { image: Image::new([3, 4, 4], vec![0.0; 48]).unwrap(), label: None };
    let error = ResnetClient::new(&program, &trained, &[other]).unwrap_err().to_string();
    assert!(error.contains("3 channels of 4×4 pixels"), "{error}");
}

#[test]
fn a_description_is_enough_for_both_sides() {
    let (program, _) = sides(2, 1.5);
    let workload = Described::Resnet(program.planned().inference().clone());
    let described = Description::new::<Ckks>("small", program.params(), KeyForm::Stored, workload);
    let read = Description::parse(&described.to_bytes()).unwrap();
    assert_eq!(read, described);
    let rotations = |program: &SlotsProgram| -> Vec<_> {
        program.model().maps.iter().map(|(map, plan)| (plan.level, plan.strategy.rotations(map))).collect()
    };
    let model = Model { graph: Some(trained().network), ..Model::default() };
    let AnyProgram::Ckks(server) = read.program(&model).unwrap() else { panic!("a program on slots") };
    let AnyProgram::Ckks(client) = read.stand_in().unwrap() else { panic!("a program on slots") };
    assert_eq!(rotations(&server), rotations(&client), "keys do not hang on the weights");
    assert_eq!((server.inputs(), server.results()), (client.inputs(), client.results()));
    assert!(server.model().maps.iter().zip(program.model().maps).all(|((a, _), (b, _))| **a == *b));
    assert!(read.program(&Model::default()).unwrap_err().to_string().contains("--weights"));
}

/// Diagonals, rotations and bootstrappings of the program that was written by hand, then keys and their bytes with
/// multi-hop rotations in bootstrapping: `limbwise plan resnet20` with one image, before it became an instance.
const BY_HAND: [u64; 5] = [8536, 806, 19, 133, 3_567_255_552];

#[test]
fn a_resnet20_takes_no_more_than_by_hand() {
    let params = preset("boot").unwrap();
    let architecture = Architecture { side: 32, channels: 3, widths: vec![16, 32, 64], blocks: 3, classes: 10 };
    let trained = Trained::generated(&architecture, 0).unwrap();
    let skeleton = trained.network.skeleton.clone();
    let plan = BootstrapPlan::fastest(params.max_slots());
    let options = Inference {
        ranges: vec![Range::between(-10.0, 10.0); skeleton.values.len()],
        network: skeleton,
        margin: 1.0,
        error: 0.005,
        sign: Some(SignChoice::default()),
        squarings: Default::default(),
        samples: 1,
        arrangement: Arrangement::default(),
        strategy: Strategy::Bsgs { babies: 0 },
        plaintexts: PlaintextForm::AtUse,
        bootstrapping: Some(BootstrapPlan {
            rotations: Rotations::MultiHop,
            form: PlaintextForm::OnTheFly,
            halves: HalvesAt::Once,
            ..plan
        }),
    };
    let program = Planned::new(&params, options, &trained.network).unwrap();
    let (null, encoder) = (Null::default(), Encoder::new(&params));
    let (declared, setup) =
        (DeclaredKeys::all(&null, &params), Setup { dev: &null, encoder: &encoder, params: &params });
    let input = Ckks::declare_input(setup, &program.inputs()[0], program.encryption()).unwrap();
    let encoded = Ckks::declare(setup, &program.model()).unwrap();
    let means = Ckks::means(setup, &encoded, served(&declared));
    let on = Evaluation { means: &means, inputs: &[input], observer: &mut (), journal: &mut () };
    let results = program.evaluate(on).unwrap();
    let keys = declared.requirements();
    let bytes = keys.iter().map(|(&name, &level)| key_bytes(&params, name, level, KeyForm::Stored)).sum::<u64>();
    let maps = program.maps();
    let diagonals = maps.iter().map(|(map, _)| map.count() as u64).sum();
    let rotations = maps.iter().map(|(map, how)| how.strategy.steps(map) as u64).sum();
    let got = [diagonals, rotations, program.levels().bootstraps() as u64, keys.len() as u64, bytes];
    eprintln!("{got:?}, {:.2} bits, by hand {BY_HAND:?}", results[0].estimate.precision_bits());
    // Five in a hundred.
    assert!(got.iter().zip(&BY_HAND).all(|(got, by_hand)| 100 * got <= 105 * by_hand), "{got:?} {BY_HAND:?}");
}
