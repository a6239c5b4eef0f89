//! Measured deviations stand to their formulas as their number of samples allows, and decryption refuses nonsense.
//!
//! Each measure has 2·1024·16 = 32768 samples of near-Gaussian errors: the relative standard error of a deviation is
//! 1/√65536 = 0.4 % for independent ones. Slots of one key switch share a key, so 5 % (and not 2 %) is asked for.

use crate::common::{Session, small, uniform, unit};
use limbwise::{
    Complex64,
    ckks::{Ciphertext, Packing, Probe, decrypt, encrypt, encrypt_secret},
    rlwe::SecretKey,
};
use limbwise_math::sampling::Seed;

const BATCH: usize = 16;

/// Root mean square error of real and imaginary parts, over the estimate's.
fn ratio(s: &Session, c: &Ciphertext<crate::common::Dev>) -> f64 {
    let got = s.decrypt(c);
    let wanted = c.shadow.as_ref().unwrap().values().concat();
    let sum: f64 = got.iter().zip(&wanted).map(|(a, b)| (a - b).norm_sqr()).sum();
    (sum / (2 * got.len()) as f64).sqrt() / c.estimate.error()
}

#[test]
fn deviations_are_what_the_formulas_say() {
    let s = Session::new(&small(4), &[1]);
    let (eval, auto) = (s.eval(), s.auto());
    let encode = |label: &str, packing: Packing| {
        let batch: Vec<Vec<Complex64>> = (0..BATCH).map(|i| unit(packing.slots, &format!("{label} {i}"))).collect();
        s.encoder.encode(&s.dev, &batch, packing).unwrap().with_shadow(&batch)
    };
    for slots in [1024, 64] {
        let packing = Packing { slots, ..s.packing() };
        let plain = encode("a", packing);
        let a = encrypt(&s.dev, &s.params, &s.public, &plain).unwrap();
        let b = encrypt(&s.dev, &s.params, &s.public, &encode("b", packing)).unwrap();
        let own = encrypt_secret(&s.dev, &s.params, &s.secret, &plain).unwrap();
        // Under the secret key there is little noise of encryption, so what an operation adds is seen.
        let product = eval.relinearize(&eval.multiply(&a, &b).unwrap()).unwrap();
        let cases = [
            ("encryption", a.clone()),
            ("secret-key encryption", own.clone()),
            ("sum", eval.add(&a, &b).unwrap()),
            ("rotation", eval.rotate(&own, 1).unwrap()),
            ("product", product.clone()),
            ("rescaled product", eval.rescale(&product).unwrap()),
            ("merged product", eval.relinearize_rescaled(&eval.multiply(&a, &b).unwrap()).unwrap()),
            ("square", auto.settle(&auto.square(&a).unwrap()).unwrap()),
            ("scaled down", auto.scale_to(&own, 0.37, 1).unwrap()),
        ];
        for (name, c) in cases {
            let ratio = ratio(&s, &c);
            let tolerance = if slots == 1024 { 0.05 } else { 0.12 }; // 2048 samples where packing is sparse
            assert!((ratio - 1.0).abs() < tolerance, "{name}, {slots} slots: {ratio:.3} of what is expected");
        }
    }
}

#[test]
fn a_product_that_is_rescaled_first_has_the_noise_that_is_said() {
    let s = Session::new(&small(4), &[]);
    let encode = |label: &str| {
        let batch: Vec<Vec<Complex64>> = (0..BATCH).map(|i| unit(1024, &format!("{label} {i}"))).collect();
        let plain = s.encoder.encode(&s.dev, &batch, s.packing()).unwrap().with_shadow(&batch);
        encrypt_secret(&s.dev, &s.params, &s.secret, &plain).unwrap()
    };
    let eval = s.eval();
    let product = eval.multiply(&encode("a"), &encode("b")).unwrap();
    let ratio = ratio(&s, &eval.relinearize(&eval.rescale(&product).unwrap()).unwrap());
    // The errors of slots follow the fourth power of the secret's values there: 1024 of them differ by 7 % in variance.
    assert!((ratio - 1.0).abs() < 0.2, "{ratio:.3} of what is expected");
}

/// The noise of a message in few slots lies in all coefficients: read with more slots there is more of it, unless it was summed
/// over those before.
#[test]
fn more_slots_show_more_noise() {
    let s = Session::new(&small(4), &[1, 2, 4, 8]);
    let eval = s.eval();
    let batch: Vec<Vec<Complex64>> = (0..BATCH).map(|i| unit(16, &format!("few {i}"))).collect();
    let packing = Packing { slots: 16, ..s.packing() };
    let plain = s.encoder.encode(&s.dev, &batch, packing).unwrap().with_shadow(&batch);
    let few = encrypt(&s.dev, &s.params, &s.public, &plain).unwrap();
    let mut sum = few.clone();
    for step in [1, 2, 4, 8] {
        sum = eval.add(&sum, &eval.rotate(&sum, step).unwrap()).unwrap();
    }
    let one = sum.clone().with_slots(1);
    for (name, c) in [
        ("as encrypted", few.clone().with_slots(1024)),
        ("the sum", one.clone()),
        ("the sum again with its slots", one.clone().with_slots(16)),
        ("the sum with all", one.with_slots(1024)),
    ] {
        let (ratio, slots) = (ratio(&s, &c), c.slots);
        let tolerance = if slots == 1024 { 0.12 } else { 0.5 }; // 32 samples of one slot
        assert!((ratio - 1.0).abs() < tolerance, "{name}: {ratio:.3} of what is expected");
    }
}

fn encode_one(s: &Session) -> limbwise::ckks::Plaintext<crate::common::Dev> {
    s.encoder.encode_real(&s.dev, &[vec![1.0; 1024]], s.packing()).unwrap()
}

#[test]
fn nonsense_is_not_handed_out() {
    let s = Session::new(&small(2), &[1]);
    let real: Vec<Complex64> = uniform(1024, "x").iter().map(|z| z.re.into()).collect();
    let a = s.encrypt(&real);
    let wrong = SecretKey::generate(&s.params, &Seed([2; 32]));
    let read = |c: &Ciphertext<_>, secret: &SecretKey| decrypt(&s.dev, &s.encoder, &s.params, secret, c);
    let text = |c: &Ciphertext<_>, secret: &SecretKey| read(c, secret).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(text(&a, &wrong).contains("wrong key"));
    // Complex values where real ones were encrypted: as when a circuit is wrong.
    let x = s.encrypt(&uniform(1024, "x").iter().map(|z| z / 2.0).collect::<Vec<_>>());
    let mut turned = a.clone();
    turned.parts = s.eval().mul_plain(&x, &encode_one(&s)).unwrap().parts;
    turned.scale = x.scale * x.scale;
    assert!(text(&turned, &s.secret).contains("contradict the program"));
    // A promise that does not hold is found out.
    assert!(text(&a.clone().bounded_by(0.25), &s.secret).contains("contradict the program"));
    assert!(read(&a, &s.secret).is_ok());
    let probe = Probe { dev: &s.dev, encoder: &s.encoder, params: &s.params, secret: &s.secret };
    assert_eq!(probe.precision(&a).unwrap(), None);
}

/// Values that grew beyond the modulus come back as others; large ones that fit are handed out, with what f64 leaves of them.
#[test]
fn what_the_modulus_does_not_hold_is_not_handed_out() {
    let s = Session::new(&small(2), &[]);
    let (auto, values) = (s.auto(), uniform(1024, "x").iter().map(|z| z.re.into()).collect::<Vec<Complex64>>());
    let read = |c: &Ciphertext<_>| decrypt(&s.dev, &s.encoder, &s.params, &s.secret, c);
    let a = s.encrypt(&values);
    let large = auto.scale_to(&a, 1e8, 1).unwrap();
    let text = read(&auto.mul(&large, &large).unwrap()).unwrap_err().to_string();
    assert!(text.contains("contradict the program") && text.contains("the modulus has no room"), "{text}");
    let raised = s.eval().add_scalar(&a, 1e9);
    assert!((read(&raised).unwrap()[0][3] - values[3] - 1e9).norm() < 1e-3);
    // A bound that says too little is no reason to refuse what fits.
    let nothing = s.eval().drop_level(&auto.sub(&large, &large).unwrap(), 0).unwrap();
    assert!(nothing.estimate.peak > 1e8 && read(&nothing).is_ok());
}

/// A slot that holds all there is multiplies an error by more than the mean over all slots; its product is right, and told.
#[test]
fn values_in_a_few_slots_are_handed_out() {
    let s = Session::new(&small(2), &[]);
    let (eval, value) = (s.eval(), 3000.0);
    for count in [1, 7, 100] {
        let mut x = vec![Complex64::default(); 1024];
        x[..count].fill(value.into());
        let a = s.encrypt(&x);
        let product = eval.rescale(&eval.relinearize(&eval.multiply(&a, &a).unwrap()).unwrap()).unwrap();
        let got = decrypt(&s.dev, &s.encoder, &s.params, &s.secret, &product).unwrap();
        for (slot, z) in got[0].iter().enumerate() {
            let wanted = if slot < count { value * value } else { 0.0 };
            assert!((z - wanted).norm() < 1.0, "slot {slot} of {count}: {z}");
        }
        // An error of a sixteenth of the largest value is one, however few slots hold values.
        let mut wrong = product.clone();
        let plain = s
            .encoder
            .encode(&s.dev, &[vec![Complex64::new(0.0, 0.1 * value * value); 1024]], product_packing(&product))
            .unwrap();
        wrong.parts = eval.add_plain(&product, &plain).unwrap().parts;
        let refused = decrypt(&s.dev, &s.encoder, &s.params, &s.secret, &wrong).unwrap_err().to_string();
        assert!(refused.contains("contradict the program"), "{refused}");
    }
}

fn product_packing(product: &Ciphertext<crate::common::Dev>) -> Packing {
    Packing { slots: product.slots, level: product.level, scale: product.scale }
}
