//! From TFHE to slots on small rings: flags come out as bits, as precise as was expected.

use limbwise::{
    Complex64, Error,
    bridge::{self, Bridge, BridgeError, BridgeParams, BridgePlan, noise},
    ckks::{Auto, Bootstrapper, Ciphertext, Encoder, Evaluator, PlaintextForm, decrypt},
    params::{
        BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsError, ParamsLiteral, PrimeChoice, Sine,
    },
    rlwe::{KeyForm, KeyGenerator, KeyPlan, KeySet, SecretKey},
    tfhe::{self, ClientKey, Flags, GadgetLiteral, ServerKey, TfheError, TfheLiteral, TfheParams},
};
use limbwise_cpu::Cpu;
use limbwise_device::Checked;
use limbwise_math::sampling::Seed;

use crate::common::Dev;

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

fn params() -> BridgeParams {
    BridgeParams::new(&Params::new(&ckks()).unwrap(), &TfheParams::new(&tfhe()).unwrap()).unwrap()
}

/// A client and a server that have both schemes.
struct Both {
    dev: Dev,
    params: BridgeParams,
    encoder: Encoder,
    secret: SecretKey,
    client: ClientKey,
    server: ServerKey<Dev>,
}

impl Both {
    fn new() -> Self {
        let (dev, params) = (Checked(Cpu::builder().threads(2).open().unwrap()), params());
        let secret = SecretKey::generate(params.ckks(), &Seed([3; 32]));
        let client = ClientKey::from_seed(params.tfhe(), Seed([4; 32]));
        let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
        Self { encoder: Encoder::new(params.ckks()), dev, params, secret, client, server }
    }

    fn keys(&self, plan: BridgePlan, form: KeyForm) -> KeySet<Dev> {
        let required = bridge::requirements(&self.params, plan).unwrap();
        let generator = KeyGenerator::new(&self.dev, self.params.ckks(), &self.secret).unwrap().with_lwe(&self.client);
        generator.key_set(&KeyPlan { required, form }, |_| ())
    }

    fn logic(&self) -> tfhe::Evaluator<'_, Dev> {
        tfhe::Evaluator::new(&self.dev, &self.server)
    }

    fn slots(&self, a: &Ciphertext<Dev>) -> Vec<Complex64> {
        decrypt(&self.dev, &self.encoder, self.params.ckks(), &self.secret, a).unwrap().concat()
    }
}

fn root_mean_square(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// Differences of slots from what they should be.
fn errors(both: &Both, got: &Ciphertext<Dev>, wanted: &[f64]) -> Vec<f64> {
    both.slots(got).iter().zip(wanted).map(|(z, w)| z.re - w).collect()
}

/// Messages, and which of them have the property of being 1 or 2.
fn rows(count: usize) -> (Vec<u64>, Vec<f64>) {
    let messages: Vec<u64> = (0..count as u64).map(|i| (i * i + i / 5) % 4).collect();
    let wanted = messages.iter().map(|m| f64::from(u8::from(matches!(m, 1 | 2)))).collect();
    (messages, wanted)
}

#[test]
fn flags_become_bits_in_their_slots() {
    let both = Both::new();
    for (slots, count, plan) in [
        (1024, 1024, BridgePlan::fastest(1024)),
        (128, 100, BridgePlan::smallest(128)),
        (16, 16, BridgePlan::fastest(16)),
        (1, 1, BridgePlan { form: PlaintextForm::OnTheFly, ..BridgePlan::fastest(1) }),
    ] {
        let form = if slots == 128 { KeyForm::Seeded } else { KeyForm::Stored };
        let keys = both.keys(plan, form);
        let bridge = Bridge::encode(&both.dev, &both.encoder, &both.params, plan).unwrap();
        let auto = Auto::new(Evaluator::new(&both.dev, both.params.ckks(), &keys), &both.encoder);
        let (messages, wanted) = rows(count);
        let encrypted = both.client.encrypt(&both.dev, &messages).unwrap();
        let flags = both.logic().flags(&encrypted, |m| m == 1 || m == 2).unwrap();
        let bits = bridge.to_slots(&auto, &flags).unwrap();
        assert_eq!((bits.level, bits.slots, bits.batch()), (bridge.output_level(), slots, 1));
        let wanted = plan.arranged(&wanted);
        let (got, expected) = (root_mean_square(&errors(&both, &bits, &wanted)), bits.estimate.error());
        let ratio = got / expected;
        eprintln!("{slots} slots: 2^{:.2} for 2^{:.2}", got.log2(), expected.log2());
        assert!(slots < 16 || (0.1..2.0).contains(&ratio), "{slots} slots: {got:e}, expected {expected:e}");
        assert!(got < 2f64.powi(-14), "{slots} slots: {got:e}");
    }
}
