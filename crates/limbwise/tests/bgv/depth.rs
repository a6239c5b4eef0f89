//! What presets promise: exact to that depth, an error one beyond.

use super::common::{Bench, zip};
use limbwise::{
    bgv::{Auto, BgvParams, BgvPreset, Ciphertext, CiphertextShape, Encoder, Encryption, Evaluator, presets},
    params::{PrimeChoice, Standard},
    rlwe::DeclaredKeys,
};
use limbwise_device::{Device, Domain, Null};

fn encryption(preset: &BgvPreset) -> Encryption {
    if preset.secret { Encryption::Secret } else { Encryption::Public }
}

/// Squares in a row until an error.
fn depth<D: Device>(auto: &Auto<'_, D>, fresh: Ciphertext<D>, mut each: impl FnMut(&Ciphertext<D>)) -> (usize, String) {
    let mut x = fresh;
    for depth in 0.. {
        match auto.square(&x) {
            Ok(next) => x = next,
            Err(e) => return (depth, e.to_string()),
        }
        each(&x);
    }
    unreachable!("a chain ends")
}

#[test]
fn every_preset_promises_the_depth_that_its_noise_allows() {
    for preset in presets() {
        let params = BgvParams::new(&preset.literal).unwrap();
        let null = Null::default();
        let (keys, encoder) = (DeclaredKeys::all(&null, params.rlwe()), Encoder::new(&params));
        let auto = Auto::new(Evaluator::new(&null, &params, &keys), &encoder);
        let shape = CiphertextShape { batch: 1, level: params.top_level(), domain: Domain::Eval };
        let fresh = Ciphertext::declared(&null, &params, shape, encryption(&preset));
        let (found, error) = depth(&auto, fresh, |_| {});
        assert_eq!(found, preset.depth, "{}: {error}", preset.name);
        // Without keys a second product finds three polynomials.
        let degree = !params.switches_keys() && error.contains("relinearize first");
        assert!(error.contains("noise of 2^") || degree, "{}: {error}", preset.name);
    }
}

#[test]
fn small_presets_decrypt_exactly_at_their_depth() {
    for preset in presets().into_iter().filter(|p| p.literal.log_n <= 13) {
        exact_at_depth(&preset);
    }
}

#[test]
#[ignore = "four seconds of one core: large rings"]
fn large_presets_decrypt_exactly_at_their_depth() {
    for preset in presets().into_iter().filter(|p| p.literal.log_n > 13) {
        exact_at_depth(&preset);
    }
}

fn exact_at_depth(preset: &BgvPreset) {
    let bench = Bench::new(&BgvParams::new(&preset.literal).unwrap(), &[]);
    let (x, t) = (bench.values(3), bench.params.t());
    let fresh = match encryption(preset) {
        Encryption::Public => bench.encrypt(&x, 1),
        Encryption::Secret => bench.encrypt_secret(&x, 1),
    };
    assert_eq!(bench.decrypt(&fresh), x, "{}", preset.name);
    let (mut wanted, mut done) = (x, 0);
    let (found, _) = depth(&bench.auto(), fresh, |power| {
        wanted = zip(t, &wanted, &wanted, |x, y| x * y);
        done += 1;
        if done == preset.depth {
            assert_eq!(bench.decrypt(power), wanted, "{} at depth {done}", preset.name);
        }
    });
    assert_eq!(found, preset.depth, "{}", preset.name);
}

#[test]
fn presets_are_secure_and_some_are_narrow() {
    for preset in presets() {
        let params = BgvParams::new(&preset.literal).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
        assert!(params.security().bits >= 128 && params.security().insecure_reason.is_none(), "{}", preset.name);
        let narrow = preset.name.ends_with("w32") || preset.name.starts_with("dramatic");
        let bits = params.rlwe().ring().moduli().iter().map(|q| q.bits()).max();
        assert!(!narrow || bits <= Some(32), "{}", preset.name);
        // One bit more in a prime is refused by the gate where the set uses up its row.
        if preset.literal.standard == Standard::HomomorphicEncryption2018 {
            assert!(params.security().standard.contains("2018"));
            let mut wider = preset.literal.clone();
            for level in &mut wider.levels {
                for choice in level {
                    if let PrimeChoice::Bits(bits) = choice {
                        *bits += 1;
                    }
                }
            }
            assert!(BgvParams::new(&wider).unwrap_err().to_string().contains("below 128 bits"), "{}", preset.name);
        }
    }
}
