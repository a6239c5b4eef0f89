//! Schemes on the device, every operation beside the scalar CPU, bit for bit.

use crate::{cpu, small};
use limbwise::{
    Complex64,
    bgv::{self, BgvLiteral, BgvParams},
    ckks,
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan, Requirements, SecretKey},
};
use limbwise_apps::{
    Evaluation, Program as _,
    bgv_mul::{BgvMul, Step},
    family::Twin as _,
};
use limbwise_cpu::Cpu;
use limbwise_device::{Lockstep, conformance::with_device};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use limbwise_upmem::Upmem;

type Both = Lockstep<Cpu, Upmem<Cpu>>;

fn both() -> Option<Both> {
    Some(Lockstep { trusted: cpu(), tested: Upmem::open(cpu(), small()).ok()? })
}

fn insecure() -> Option<Insecure> {
    Some(Insecure { reason: "a small ring for a test".into() })
}

/// The workload of the source: transforms, product, transforms back.
#[test]
fn bgv_mul_is_bit_for_bit_the_cpus() {
    let mut literal = BgvLiteral::chain(10, 12289, &[27, 27], &[], 1);
    literal.insecure = insecure();
    let params = BgvParams::new(&literal).unwrap();
    let program = BgvMul::new(&params, 3, params.top_level(), Step::All);
    with_device("upmem", both, |dev| {
        let secret = SecretKey::generate(params.rlwe(), &Seed([1; 32]));
        let encoder = bgv::Encoder::new(&params);
        let messages = [2i64, 3].map(|of| (0..3).map(|b| (0..1024).map(|i| (i * of + b) % 97).collect()).collect());
        let inputs: Vec<_> = (2..)
            .zip(&messages)
            .map(|(seed, messages): (u8, &Vec<Vec<i64>>)| {
                let plain = encoder.encode(&dev, messages, params.top_level()).unwrap();
                let mut c = bgv::encrypt_seeded_from(&dev, &params, &secret, &plain, &Seed([seed; 32])).ciphertext;
                c.parts = c.parts.into_iter().map(|part| limbwise_device::Device::intt(&dev, part)).collect();
                c
            })
            .collect();
        let generator = KeyGenerator::from_seed(&dev, params.rlwe(), &secret, Seed([4; 32]));
        let keys =
            generator.key_set(&KeyPlan { required: Requirements::default(), form: KeyForm::Stored }, |_| ()).unwrap();
        let auto = bgv::Auto::new(bgv::Evaluator::new(&dev, &params, &keys), &encoder);
        let before = dev.tested.counters();
        let results = program
            .evaluate(Evaluation { means: &auto, inputs: &inputs, observer: &mut (), journal: &mut () })
            .unwrap();
        let after = dev.tested.counters();
        assert_eq!(after.host_operations, before.host_operations, "all of it is done by DPUs");
        assert!(after.launches > before.launches && after.slots > before.slots);
        let mut product = results[0].clone();
        product.parts = product.parts.into_iter().map(|part| limbwise_device::Device::ntt(&dev, part)).collect();
        let found = bgv::decrypt(&dev, &encoder, &secret, &product).unwrap();
        assert_eq!(found, program.clear(&messages)[0]);
    });
}

/// A product with key switching and rescaling, and a rotation: base conversion and automorphisms are the host's.
#[test]
fn levelled_ckks_is_bit_for_bit_the_cpus() {
    let mut literal = ParamsLiteral::chain(10, 31, 25, 1, (32, 1), 2);
    literal.insecure = insecure();
    let params = Params::new(&literal).unwrap();
    with_device("upmem", both, |dev| {
        let secret = SecretKey::generate(&params, &Seed([1; 32]));
        let generator = KeyGenerator::from_seed(&dev, &params, &secret, Seed([2; 32]));
        let top = params.top_level();
        let rotation = KeyName::Galois(GaloisElement::rotation(1, params.log_n()));
        let required = Requirements::from([(KeyName::Relinearization, top), (rotation, top)]);
        let keys = generator.key_set(&KeyPlan { required, form: KeyForm::Stored }, |_| ()).unwrap();
        let public = generator.public_key();
        let encoder = ckks::Encoder::new(&params);
        let values: Vec<Complex64> = (0..512).map(|i| Complex64::new(f64::from(i) / 512.0, 0.5)).collect();
        let packing = ckks::Packing { slots: 512, level: top, scale: params.scale(top) };
        let plain = encoder.encode(&dev, std::slice::from_ref(&values), packing).unwrap();
        let a = ckks::encrypt(&dev, &params, &public, &plain).unwrap();
        let eval = ckks::Evaluator::new(&dev, &params, &keys);
        let square = eval.rescale(&eval.relinearize(&eval.square(&a).unwrap()).unwrap()).unwrap();
        let rotated = eval.rotate(&square, 1).unwrap();
        let found = ckks::decrypt(&dev, &encoder, &params, &secret, &rotated).unwrap().concat();
        let wanted: Vec<Complex64> = (0..512).map(|i| values[(i + 1) % 512] * values[(i + 1) % 512]).collect();
        let precision = ckks::Precision::of(&found, &wanted);
        assert!(precision.mean > 8.0, "{:.1} bits", precision.mean);
        assert!(dev.tested.counters().host_operations > 0);
    });
}
