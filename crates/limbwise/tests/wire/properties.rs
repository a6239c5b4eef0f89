//! Round trips of what no fixture has: any level, packing, batch, estimate, set of keys.

use crate::common::{Dev, device, literal};
use limbwise::{
    ckks::{Ciphertext, Estimate, Promise},
    params::Params,
    rlwe::{
        EvaluationKey, KeyForm, KeyName, KeySet,
        key::{KeyPair, UniformHalf},
    },
    wire::{self, KeyFile},
};
use limbwise_device::{Device, HostRead, Role, Shape};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use proptest::prelude::*;
use std::sync::LazyLock;

static PARAMS: LazyLock<(Dev, Params)> = LazyLock::new(|| (device(), Params::new(&literal(10, 5, 3)).unwrap()));

fn uniform(level: usize, batch: usize, seed: u8) -> <Dev as Device>::Poly {
    let (dev, params) = &*PARAMS;
    let shape = Shape::eval(params.ring(), params.basis(level)).with_batch(batch);
    dev.expand_seed(&shape, Role::Ciphertext, &Seed([seed; 32]))
}

/// An estimate that some circuit could have.
fn estimates() -> impl Strategy<Value = Estimate> {
    let size = prop_oneof![1e-9..1e9f64, Just(0.0), Just(f64::INFINITY)];
    let step = (any::<u64>(), 0.0..1e3f64, 0..3u32);
    (size, any::<bool>(), prop::collection::vec(step, 0..12)).prop_map(|(size, real, steps)| {
        let promise = Promise { magnitude: size, peak: size, real };
        let mut estimate = Estimate::constant(0.0).with_promise(promise).unwrap();
        for (name, noise, how) in steps {
            let other = Estimate::exact(1.0).encrypted(noise, 4, 1024.0, name);
            estimate = match how {
                0 => estimate.sum(other),
                1 => estimate.sum(other.after_automorphism(GaloisElement::rotation(1, 10), 10)),
                _ => estimate.with_noise(noise, 4, 1024.0),
            };
        }
        estimate
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ciphertexts(
        (level, batch, parts) in (0..=5usize, 1..4usize, 2..=3usize),
        (log_slots, log_scale, seed) in (0..=9u32, -40.0..60.0f64, any::<u8>()),
        estimate in estimates(),
    ) {
        let (dev, params) = &*PARAMS;
        let parts: Vec<_> = (0..parts).map(|_| uniform(level, batch, seed)).collect();
        let (slots, scale) = (1 << log_slots, log_scale.exp2());
        let ciphertext = Ciphertext { parts, level, scale, slots, estimate, shadow: None };
        let bytes = wire::write_ciphertext(Vec::new(), dev, params, &ciphertext, &wire::Origin::NONE).unwrap();
        let back = wire::read_ciphertext(&bytes, dev, params).unwrap();
        prop_assert_eq!((back.level, back.slots, back.scale.to_bits()), (level, slots, scale.to_bits()));
        prop_assert_eq!(back.estimate, estimate);
        for (a, b) in back.parts.iter().zip(&ciphertext.parts) {
            prop_assert_eq!(dev.download(a).unwrap(), dev.download(b).unwrap());
        }
        prop_assert_eq!(wire::write_ciphertext(Vec::new(), dev, params, &back, &wire::Origin::NONE).unwrap(), bytes);
    }

    #[test]
    fn sets_of_keys(
        relinearization in prop::option::of(0..=5usize),
        encapsulation in any::<bool>(),
        decapsulation in prop::option::of(0..=5usize),
        rotations in prop::collection::btree_map(-512..512i64, 0..=5usize, 0..4),
        from_lwe in any::<bool>(),
        stages in 0..4u32,
    ) {
        let (dev, params) = &*PARAMS;
        let galois = |(&r, &level): (&i64, &usize)| (KeyName::Galois(GaloisElement::rotation(r, 10)), level);
        let mut wanted: Vec<(KeyName, usize)> = rotations.iter().map(galois).collect();
        wanted.extend(relinearization.map(|level| (KeyName::Relinearization, level)));
        wanted.extend(encapsulation.then_some((KeyName::Encapsulation, 0)));
        wanted.extend(decapsulation.map(|level| (KeyName::Decapsulation, level)));
        wanted.extend(from_lwe.then_some((KeyName::FromLwe, 0)));
        wanted.extend((2..2 + stages).map(|t| (KeyName::Packing(GaloisElement::new((1 << t) + 1, 10)), 0)));
        let key = |&(name, level): &(KeyName, usize)| {
            let (digits, special) = name.gadget(params, level);
            let shape = Shape::eval(params.ring(), params.basis(level) | special);
            let pair = |i: u8| KeyPair {
                masked: dev.expand_seed(&shape, Role::EvaluationKey(name.id()), &Seed([i; 32])),
                uniform: UniformHalf::Seeded(Seed([i + 1; 32])),
            };
            EvaluationKey::<Dev>::new(name, level, (0..u8::try_from(digits.len()).unwrap()).map(pair).collect())
        };
        let keys = KeySet::new(params, wanted.iter().map(key).collect());
        let bytes = wire::write_keys(Vec::new(), dev, params, &keys, &wire::Origin::NONE).unwrap();
        let file = KeyFile::open(&bytes, params).unwrap();
        prop_assert_eq!(file.names(), keys.names());
        let back = file.read_all(dev, KeyForm::Stored).unwrap();
        prop_assert_eq!(wire::write_keys(Vec::new(), dev, params, &back, &wire::Origin::NONE).unwrap(), bytes);
    }
}
