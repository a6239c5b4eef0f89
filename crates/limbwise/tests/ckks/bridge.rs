//! From TFHE to slots: flags come out as bits, as precise as was expected.

use crate::common::Dev;
use limbwise::{
    Complex64, Error,
    bridge::{self, Bridge, BridgeError, BridgeParams, BridgePlan, ToLweBodies, ToLweKey},
    ckks::{Auto, Ciphertext, Encoder, Evaluator, Packing, PlaintextForm, decrypt, encrypt_secret},
    params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine},
    rlwe::{
        DeclaredKeys, KeyForm, KeyGenerator, KeyName, KeyPlan, KeySet, KeyStore, LazyKeys, MadeKeys, Requirements,
        SecretKey,
    },
    tfhe::{self, ClientKey, Flags, GadgetLiteral, ServerKey, TfheLiteral, TfheParams},
};
use limbwise_cpu::Cpu;
use limbwise_device::{Checked, Device, HostRead, Null};
use limbwise_graph::Recorder;
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::time::Instant;

/// The preset's chain on a small ring.
fn ckks() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(11, 46, 40, 3, (50, 3), 6);
    let above = [&[26, 26][..]].into_iter().chain([&[46][..]; 7]).chain([&[43][..]; 2]);
    literal.levels.extend(above.map(|bits| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect()));
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 1,
        coeff_to_slot: 2,
        message_ratio: 2,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine: Sine::Cosine { arcsine: 0 } },
        refinement: None,
    });
    literal.insecure = Some(Insecure { reason: "unit test on a small ring".into() });
    literal
}

/// Few steps, and noise as large as that of the presets.
fn tfhe() -> TfheLiteral {
    TfheLiteral {
        log_n: 10,
        masks: 1,
        prime: PrimeChoice::Bits(48),
        glwe_sigma: 3.2,
        lwe_dimension: 60,
        log_lwe_modulus: 32,
        lwe_sigma: 3.2,
        bootstrap: GadgetLiteral { base_log: 21, levels: 1 },
        key_switch: GadgetLiteral { base_log: 4, levels: 5 },
        message_bits: 2,
        norm: 3.0,
        log2_failure: -40.0,
        insecure: Some(Insecure { reason: "a test of correctness".into() }),
    }
}

/// A client and a server that have both schemes.
struct Both<D: Device = Dev> {
    dev: D,
    params: BridgeParams,
    encoder: Encoder,
    secret: SecretKey,
    client: ClientKey,
    server: ServerKey<D>,
}

fn small(tfhe: &TfheLiteral) -> Both {
    let params = BridgeParams::new(&Params::new(&ckks()).unwrap(), &TfheParams::new(tfhe).unwrap()).unwrap();
    Both::new(Checked(Cpu::builder().threads(2).open().unwrap()), params)
}

impl<D: HostRead> Both<D> {
    fn new(dev: D, params: BridgeParams) -> Self {
        let secret = SecretKey::generate(params.ckks(), &Seed([3; 32]));
        let client = ClientKey::from_seed(params.tfhe(), Seed([4; 32]));
        let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
        Self { encoder: Encoder::new(params.ckks()), dev, params, secret, client, server }
    }

    fn keys(&self, plan: BridgePlan, form: KeyForm) -> KeySet<D> {
        let required = bridge::requirements(&self.params, plan).unwrap();
        let generator =
            KeyGenerator::new(&self.dev, self.params.ckks(), &self.secret).unwrap().with_lwe(&self.client).unwrap();
        generator.key_set(&KeyPlan { required, form }, |_| ()).unwrap()
    }

    fn auto<'a>(&'a self, keys: &'a KeySet<D>) -> Auto<'a, D> {
        Auto::new(Evaluator::new(&self.dev, self.params.ckks(), keys), &self.encoder)
    }

    fn logic(&self) -> tfhe::Evaluator<'_, D> {
        tfhe::Evaluator::new(&self.dev, &self.server)
    }

    fn encrypt(&self, messages: &[u64]) -> tfhe::Ciphertext<D> {
        self.client.encrypt(&self.dev, messages).unwrap()
    }

    fn slots(&self, a: &Ciphertext<D>) -> Vec<f64> {
        let slots = decrypt(&self.dev, &self.encoder, self.params.ckks(), &self.secret, a).unwrap().concat();
        slots.iter().map(|z| z.re).collect()
    }

    /// Root mean square of the differences of slots from what they should be.
    fn error(&self, got: &Ciphertext<D>, wanted: &[f64]) -> f64 {
        let squares = self.slots(got).into_iter().zip(wanted).map(|(x, w)| (x - w).powi(2));
        (squares.sum::<f64>() / wanted.len() as f64).sqrt()
    }
}

/// Messages, and which of them are 1 or 2.
fn rows(count: usize) -> (Vec<u64>, Vec<f64>) {
    let messages: Vec<u64> = (0..count as u64).map(|i| (i * i + i / 5) % 4).collect();
    let wanted = messages.iter().map(|m| f64::from(u8::from(matches!(m, 1 | 2)))).collect();
    (messages, wanted)
}

/// The flags' error as it is and as it was expected.
fn crossed(both: &Both, plan: BridgePlan, count: usize, form: KeyForm) -> [f64; 2] {
    let keys = both.keys(plan, form);
    let bridge = Bridge::encode(&both.dev, &both.encoder, &both.params, plan).unwrap();
    let (messages, wanted) = rows(count);
    let flags = both.logic().flags(&both.encrypt(&messages), |m| m == 1 || m == 2).unwrap();
    let bits = bridge.to_slots(&both.auto(&keys), &flags).unwrap();
    assert_eq!((bits.level, bits.slots, bits.batch()), (bridge.output_level(), plan.slots, 1));
    assert!((bits.estimate.error() / plan.expected_error(&both.params) - 1.0).abs() < 1e-9, "as was planned");
    [both.error(&bits, &plan.arranged(&wanted)), bits.estimate.error()]
}

#[test]
fn flags_become_bits_in_their_slots() {
    let both = small(&tfhe());
    for (count, plan, form) in [
        (1024, BridgePlan::fastest(1024), KeyForm::Stored),
        (100, BridgePlan::smallest(128), KeyForm::Seeded),
        (1, BridgePlan { form: PlaintextForm::OnTheFly, ..BridgePlan::fastest(1) }, KeyForm::Stored),
    ] {
        let [got, expected] = crossed(&both, plan, count, form);
        // One slot is one draw, which leaves six deviations once in 10^8; of many, the mean of squares is looked at.
        let near = if count == 1 { 0.0..6.0 } else { 0.3..1.5 };
        assert!(near.contains(&(got / expected)), "{plan:?}: {got:e}, expected {expected:e}");
        assert!(expected < 2f64.powi(-26), "{plan:?}: 2^{}", expected.log2());
    }
}

/// Noise of 2^−10 of the modulus, which a message does not lose but a slot shows, leaves its square; cleaning squares that.
#[test]
fn noise_leaves_its_square() {
    let wide = GadgetLiteral { base_log: 30, levels: 1 };
    let both = small(&TfheLiteral { bootstrap: wide, norm: 1.0, log2_failure: -20.0, ..tfhe() });
    let plan = BridgePlan { levels: 2, ..BridgePlan::fastest(256) };
    let mut required = bridge::requirements(&both.params, plan).unwrap();
    required.insert(KeyName::Relinearization, both.params.ckks().top_level());
    let generator =
        KeyGenerator::new(&both.dev, both.params.ckks(), &both.secret).unwrap().with_lwe(&both.client).unwrap();
    let keys = generator.key_set(&KeyPlan { required, form: KeyForm::Stored }, |_| ()).unwrap();
    let bridge = Bridge::encode(&both.dev, &both.encoder, &both.params, plan).unwrap();
    let (messages, wanted) = rows(256);
    let (auto, wanted) = (both.auto(&keys), plan.arranged(&wanted));
    let flags = both.logic().flags(&both.encrypt(&messages), |m| m == 1 || m == 2).unwrap();
    let bits = bridge.to_slots(&auto, &flags).unwrap();
    let clean = bridge.clean(&auto, &bits).unwrap();
    assert_eq!(clean.level, bits.level - 2);
    let [rough, fine] = [&bits, &clean].map(|a| both.error(a, &wanted));
    assert!((0.6..1.5).contains(&(rough / bits.estimate.error())), "2^{} is {rough:e}", rough.log2());
    // A mean of eighth powers: the largest of 256 errors decides it, so its band is wide; what each slot becomes is known.
    assert!((0.1..5.0).contains(&(fine / clean.estimate.error())), "2^{} is {fine:e}", fine.log2());
    let cubic: Vec<f64> = both.slots(&bits).into_iter().map(|x| x * x * (3.0 - 2.0 * x)).collect();
    // The two products' own noise, which does not depend on how large the flags' errors were.
    let rounding = both.error(&clean, &cubic);
    assert!(rounding < 2f64.powi(-30), "2^{} beside 2^{}", rounding.log2(), fine.log2());
}

/// Slots leave as messages, with the noise that was expected, are compared, and come back as bits.
#[test]
fn slots_become_messages_and_flags_come_back() {
    let both = small(&tfhe());
    let (dev, ckks, plan) = (&both.dev, both.params.ckks(), BridgePlan::fastest(128));
    let mut required = bridge::requirements(&both.params, plan).unwrap();
    for (name, level) in bridge::requirements_to_lwe(&both.params, plan).unwrap() {
        required.entry(name).and_modify(|l| *l = level.max(*l)).or_insert(level);
    }
    let generator = KeyGenerator::new(dev, ckks, &both.secret).unwrap().with_lwe(&both.client).unwrap();
    let keys = generator.key_set(&KeyPlan { required, form: KeyForm::Stored }, |_| ()).unwrap();
    let bodies = ToLweBodies::generate(&both.params, &both.secret, &both.client).unwrap();
    let key = ToLweKey::new(dev, &bodies);
    let bridge = Bridge::encode(dev, &both.encoder, &both.params, plan).unwrap();
    let auto = both.auto(&keys);
    let (messages, wanted) = rows(100);
    let slots: Vec<Complex64> =
        messages.iter().map(|&m| Complex64::new(f64::from(u32::try_from(m).unwrap()), 0.0)).collect();
    let encrypted = |level, slots: &[Complex64]| {
        let packing = Packing { slots: 128, level, scale: ckks.scale(level) };
        encrypt_secret(dev, ckks, &both.secret, &both.encoder.encode(dev, &[slots.to_vec()], packing).unwrap()).unwrap()
    };
    let left = bridge.to_lwe(&auto, &encrypted(bridge.input_level(), &slots), 100, &key).unwrap();
    assert_eq!((left.batch(), left.range()), (100, (0, 3)));
    assert_eq!(both.client.decrypt(dev, &left).unwrap(), messages);
    let q = both.params.tfhe().modulus();
    let error = |(&phase, &m): (&u64, &u64)| {
        let message = both.params.tfhe().encode(m.cast_signed());
        (q.centered(q.sub(phase, message)) as f64 / q.value() as f64).powi(2)
    };
    let phases = both.client.phases(dev, &left).unwrap();
    let measured = phases.iter().zip(&messages).map(error).sum::<f64>() / 100.0;
    let expected = left.norm_squared() * tfhe::noise::nominal(both.params.tfhe().literal());
    assert!((0.5..1.7).contains(&(measured / expected)), "measured {measured:e}, expected {expected:e}");
    let flags = both.logic().flags(&left, |m| m == 1 || m == 2).unwrap();
    let bits = bridge.to_slots(&auto, &flags).unwrap();
    assert!(both.error(&bits, &plan.arranged(&wanted)) < 2f64.powi(-26));
    let refused = |a: &Ciphertext<Dev>, rows| bridge.to_lwe(&auto, a, rows, &key).err().unwrap().to_string();
    let fits = encrypted(bridge.input_level(), &slots);
    assert!(refused(&encrypted(1, &slots), 100).contains("to_lwe needs level 2; the ciphertext is at level 1"));
    assert!(refused(&fits, 129).contains("129 of 128 slots cannot leave: choose from 1 to 128 rows"));
    let large = encrypted(2, &[Complex64::new(4.0, 0.0)]);
    assert!(refused(&large, 1).contains("the messages of TFHE end at 3"), "{}", refused(&large, 1));
}

#[test]
fn what_cannot_cross_is_refused_before_keys() {
    let (ckks, tfhe) = (ckks(), tfhe());
    let refused = |change: &dyn Fn(&mut ParamsLiteral)| {
        let mut literal = ckks.clone();
        change(&mut literal);
        let params = Params::new(&literal).unwrap();
        BridgeParams::new(&params, &TfheParams::new(&tfhe).unwrap()).unwrap_err().to_string()
    };
    let boot = |l: &mut ParamsLiteral, change: &dyn Fn(&mut BootstrapLiteral)| {
        change(l.bootstrapping.as_mut().unwrap());
    };
    assert!(refused(&|l| l.bootstrapping = None).contains("they do not bootstrap"));
    assert!(refused(&|l| boot(l, &|b| b.message_ratio = 3)).contains("message ratio 3"));
    assert!(refused(&|l| boot(l, &|b| b.eval_mod.sine = Sine::Cosine { arcsine: 1 })).contains("arcsine 0"));
    assert!(refused(&|l| l.levels[0] = vec![PrimeChoice::Bits(24); 2]).contains("q0 of 2 primes"));
    let wide = TfheParams::new(&TfheLiteral { masks: 3, norm: 1.0, ..tfhe.clone() }).unwrap();
    let got = BridgeParams::new(&Params::new(&ckks).unwrap(), &wide).unwrap_err().to_string();
    assert!(got.contains("the big LWE key of TFHE has 3072 words, the CKKS ring degree is 2048"), "{got}");
    let params = BridgeParams::new(&Params::new(&ckks).unwrap(), &TfheParams::new(&tfhe).unwrap()).unwrap();
    assert_eq!(params.security().bits, 0);
    assert!(params.security().insecure_reason.is_some());
    let plan = |slots, levels| BridgePlan { levels, ..BridgePlan::fastest(slots) };
    let got = bridge::requirements(&params, plan(16, 4)).unwrap_err();
    assert!(matches!(got, Error::Bridge(BridgeError::Levels { wanted: 4, left: 3 })), "{got}");
    assert!(bridge::requirements(&params, plan(48, 0)).unwrap_err().to_string().contains("48 slots"));
    let (null, encoder) = (Null::default(), Encoder::new(params.ckks()));
    let declared = Bridge::declare(&null, &encoder, &params, plan(16, 3)).unwrap();
    let keys = DeclaredKeys::all(&null, params.ckks());
    let auto = Auto::new(Evaluator::new(&null, params.ckks(), &keys), &encoder);
    assert_eq!(declared.to_slots(&auto, &Flags::declared(&null, params.tfhe(), 33)).unwrap().batch(), 3);
    let other = TfheParams::new(&TfheLiteral { lwe_dimension: 64, ..tfhe.clone() }).unwrap();
    let got = declared.to_slots(&auto, &Flags::declared(&null, &other, 16)).err().unwrap();
    assert!(got.to_string().contains("the TFHE parameters are not those of the bridge"), "{got}");
    assert!(bridge::preset("flags").unwrap_err().to_string().contains("flags-2-2, flags-bool"));
}

/// The keys between the schemes have 128 bits like all others; a pair is as weak as its weaker set.
#[test]
fn presets_are_secure_and_every_key_counts() {
    for preset in bridge::presets().unwrap() {
        let params = bridge::preset(preset.name).unwrap();
        assert_eq!((params.security().bits, &params.security().insecure_reason), (128, &None), "{}", preset.name);
        let weak = TfheLiteral { glwe_sigma: 1.0, insecure: Some(Insecure { reason: "a test".into() }), ..preset.tfhe };
        let weak = BridgeParams::new(params.ckks(), &TfheParams::new(&weak).unwrap()).unwrap();
        assert_eq!((weak.security().bits, weak.security().insecure_reason.as_deref()), (0, Some("a test")));
    }
}

/// The whole way into 16384 slots is recorded without words or secrets, and its memory is that of a block, not of the rows.
#[test]
fn the_bridge_is_recorded_at_full_size() {
    let params = bridge::preset("flags-2-2").unwrap();
    let recorded = |slots| {
        let (dev, encoder) = (Recorder::new(Null::default()), Encoder::new(params.ckks()));
        let plan = BridgePlan::smallest(slots);
        let bridge = Bridge::declare(&dev, &encoder, &params, plan).unwrap();
        let keys = DeclaredKeys::all(&dev, params.ckks());
        let auto = Auto::new(Evaluator::new(&dev, params.ckks(), &keys), &encoder);
        let bits = bridge.to_slots(&auto, &Flags::declared(&dev, params.tfhe(), slots)).unwrap();
        drop((bits, bridge));
        dev.graph()
    };
    let [few, many] = [1024, 16384].map(recorded);
    for (graph, blocks) in [(&few, 16), (&many, 256)] {
        let paths = graph.region_paths();
        let count = |part: &str| paths.iter().filter(|path| path.ends_with(part)).count();
        assert_eq!((count("pack/block[0]"), count(&format!("pack/block[{}]", blocks - 1))), (1, 1));
        assert_eq!(count("embed"), blocks);
        assert!(count("eval_mod") == 1 && count("coeff_to_slot") == 1);
    }
    let rows = (16384 - 1024) * 2 * 32768 * 8;
    assert!(many.peak_live_bytes() - few.peak_live_bytes() < rows / 8, "rows are not all embedded at once");
    assert!(many.node_bytes() < 8 << 20);
}

/// More rows than slots fill a batch; integers cross bit by bit.
#[test]
fn integers_cross_by_their_bits_and_rows_fill_a_batch() {
    let both = small(&tfhe());
    let plan = BridgePlan::fastest(64);
    let keys = both.keys(plan, KeyForm::Stored);
    let bridge = Bridge::encode(&both.dev, &both.encoder, &both.params, plan).unwrap();
    let (messages, _) = rows(100);
    let encrypted = both.encrypt(&messages);
    let bits = [0, 1].map(|bit| both.logic().flags(&encrypted, |m| m >> bit & 1 == 1).unwrap());
    let integers = bridge.integers_to_slots(&both.auto(&keys), &bits).unwrap();
    assert_eq!(integers.batch(), 2);
    let values: Vec<f64> = messages.iter().map(|&m| f64::from(u32::try_from(m).unwrap())).collect();
    let wanted = [plan.arranged(&values[..64]), plan.arranged(&values[64..])].concat();
    let (got, expected) = (both.error(&integers, &wanted), integers.estimate.error());
    assert!((0.3..1.5).contains(&(got / expected)), "{got:e}, expected {expected:e}");
}

/// A key from LWE is not made from the main secret alone, and a store that makes keys says so.
#[test]
fn keys_made_on_demand_know_no_lwe_secret() {
    let both = small(&tfhe());
    let (made, levels) = (MadeKeys::<Dev>::new(KeyForm::Stored), Requirements::new());
    let params = both.params.ckks();
    let lazy = LazyKeys { dev: &both.dev, params, secret: &both.secret, made: &made, levels: &levels, tell: &|_| () };
    let got = lazy.key("pack", KeyName::FromLwe, 0).err().unwrap().to_string();
    assert!(got.starts_with("pack needs the key from LWE; the key set has those that are made from the main"), "{got}");
    let packing = KeyName::Packing(GaloisElement::new(5, params.log_n()));
    assert_eq!(lazy.key("pack", packing, 0).unwrap().level(), 0);
}

/// A generator that is given one client's key after another, or grows from a seed that was kept, uses randomness of its own
/// for each: with the same, the difference of two keys would be the difference of two clients' secrets.
#[test]
fn each_client_has_randomness_of_its_own() {
    let both = small(&tfhe());
    let seeds = |client: &ClientKey| {
        let generator = KeyGenerator::from_seed(&both.dev, both.params.ckks(), &both.secret, Seed([6; 32]));
        let key = generator.with_lwe(client).unwrap().evaluation_key(KeyName::FromLwe, 0, KeyForm::Seeded).unwrap();
        key.pairs().iter().map(|pair| pair.uniform.seed().unwrap().0).collect::<Vec<_>>()
    };
    let other = ClientKey::from_seed(both.params.tfhe(), Seed([5; 32]));
    // The same seed under other parameters is another key.
    let longer = TfheParams::new(&TfheLiteral { masks: 2, ..tfhe() }).unwrap();
    let longer = ClientKey::from_seed(&longer, Seed([4; 32]));
    let all = [&both.client, &other, &longer].map(seeds);
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2], "two clients share their randomness");
    assert_eq!(seeds(&both.client), all[0]);
}

/// What a generator has no secret for, and levels that a key does not serve, are errors.
#[test]
fn keys_of_secrets_that_are_not_there() {
    let both = small(&tfhe());
    let generator = KeyGenerator::new(&both.dev, both.params.ckks(), &both.secret).unwrap();
    let refused = |generator: &KeyGenerator<'_, Dev>, name, level| {
        generator.evaluation_key(name, level, KeyForm::Stored).err().unwrap().to_string()
    };
    assert_eq!(
        refused(&generator, KeyName::FromLwe, 0),
        "the key from LWE is made from the key of a TFHE client, which this key generator does not have: \
         give it the client key first (KeyGenerator::with_lwe)"
    );
    let generator = generator.with_lwe(&both.client).unwrap();
    assert_eq!(generator.evaluation_key(KeyName::FromLwe, 0, KeyForm::Stored).unwrap().name(), KeyName::FromLwe);
    let above = "evaluation_key: level 1 is above level 0: levels only fall, choose 0 to 0";
    assert_eq!(refused(&generator, KeyName::FromLwe, 1), above);
    let plain = Params::new(&ParamsLiteral { bootstrapping: None, ..ckks() }).unwrap();
    let secret = SecretKey::generate(&plain, &Seed([3; 32]));
    let generator = KeyGenerator::new(&both.dev, &plain, &secret).unwrap();
    assert!(refused(&generator, KeyName::Decapsulation, 0).starts_with("the decapsulation key is made from an ephe"));
}

/// Full size: seconds and bits of 1024 and 4096 rows, and of 64 slots the other way.
#[test]
#[ignore = "full size: minutes and gigabytes"]
fn full_size() {
    let params = bridge::preset("flags-2-2").unwrap();
    let both = Both::new(Cpu::builder().threads(2).open().unwrap(), params);
    let start = Instant::now();
    let (messages, wanted) = rows(256);
    let encrypted = both.encrypt(&messages);
    let flags = both.logic().flags(&encrypted, |m| m == 1 || m == 2).unwrap();
    eprintln!("256 bootstrappings: {:.1} s", start.elapsed().as_secs_f64());
    for slots in [1024, 4096] {
        let plan = BridgePlan { levels: 3, ..BridgePlan::fastest(slots) };
        let flags = Flags::stack(&both.logic(), &vec![&flags; slots / 256]).unwrap();
        let start = Instant::now();
        let keys = both.keys(plan, KeyForm::Seeded);
        eprintln!("{slots} rows: keys {:.1} s", start.elapsed().as_secs_f64());
        let start = Instant::now();
        let bridge = Bridge::encode(&both.dev, &both.encoder, &both.params, plan).unwrap();
        eprintln!("{slots} rows: encoding {:.1} s", start.elapsed().as_secs_f64());
        let start = Instant::now();
        let bits = bridge.to_slots(&both.auto(&keys), &flags).unwrap();
        let (seconds, wanted) = (start.elapsed().as_secs_f64(), plan.arranged(&wanted.repeat(slots / 256)));
        let (got, expected) = (both.error(&bits, &wanted), bits.estimate.error());
        eprintln!("{slots} rows: {seconds:.1} s, error 2^{:.2}, expected 2^{:.2}", got.log2(), expected.log2());
        assert!((0.3..1.5).contains(&(got / expected)), "{slots}: {got:e}, expected {expected:e}");
        assert!(got < 2f64.powi(-19), "{slots}: 2^{}", got.log2());
    }
    leave_at_full_size(&both);
}

fn leave_at_full_size(both: &Both<Cpu>) {
    let (dev, ckks, plan) = (&both.dev, both.params.ckks(), BridgePlan::fastest(1024));
    let start = Instant::now();
    let required = bridge::requirements_to_lwe(&both.params, plan).unwrap();
    let generator = KeyGenerator::new(dev, ckks, &both.secret).unwrap();
    let keys = generator.key_set(&KeyPlan { required, form: KeyForm::Seeded }, |_| ()).unwrap();
    let bodies = ToLweBodies::generate(&both.params, &both.secret, &both.client).unwrap();
    let key = ToLweKey::new(dev, &bodies);
    eprintln!("to LWE: keys {:.1} s, {} MB published", start.elapsed().as_secs_f64(), bodies.bytes() >> 20);
    let bridge = Bridge::encode(dev, &both.encoder, &both.params, plan).unwrap();
    let messages: Vec<u64> = (0..1024).map(|i| i * 7 % 16).collect();
    let slots = messages.iter().map(|&m| Complex64::new(f64::from(u32::try_from(m).unwrap()), 0.0)).collect();
    let level = bridge.input_level();
    let packing = Packing { slots: 1024, level, scale: ckks.scale(level) };
    let plain = both.encoder.encode(dev, &[slots], packing).unwrap();
    let encrypted = encrypt_secret(dev, ckks, &both.secret, &plain).unwrap();
    let keys = both.auto(&keys);
    for rows in [1, 64] {
        let start = Instant::now();
        let left = bridge.to_lwe(&keys, &encrypted, rows, &key).unwrap();
        eprintln!("to LWE: {rows} rows in {:.2} s, norm² {:.2}", start.elapsed().as_secs_f64(), left.norm_squared());
        assert_eq!(both.client.decrypt(dev, &left).unwrap(), messages[..rows]);
        let flags = both.logic().flags(&left, |m| m > 7);
        assert!(flags.is_ok(), "quiet enough for a bootstrapping");
    }
}
