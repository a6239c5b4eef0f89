//! Keys that are made when they are first asked for.

use super::common::{Session, small};
use limbwise::{
    Complex64,
    ckks::{Auto, Evaluator},
    params::presets::preset,
    rlwe::{KeyForm, KeyName, KeyStore as _, LazyKeys, Made, MadeKeys, Requirements, SecretKey, key_bytes},
};
use limbwise_device::Null;
use limbwise_math::sampling::Seed;
use std::sync::Mutex;

#[test]
fn what_is_missing_is_made_once_and_told() {
    let session = Session::with_keys(limbwise::params::Params::new(&small(4)).unwrap(), &Requirements::new());
    let told: Mutex<Vec<Made>> = Mutex::default();
    let tell = |made| told.lock().unwrap().push(made);
    for form in [KeyForm::Stored, KeyForm::Seeded] {
        let made = MadeKeys::new(form);
        let (dev, params, secret) = (&session.dev, &session.params, &session.secret);
        let keys = LazyKeys { dev, params, secret, made: &made, levels: &Requirements::new(), tell: &tell };
        let auto = Auto::new(Evaluator::new(dev, params, &keys), &session.encoder);
        let value = |i: i32| Complex64::from(f64::from(i % 16) / 16.0);
        let x = session.encrypt(&(0..16).map(value).collect::<Vec<_>>());
        let y = auto.rotate(&auto.mul(&x, &x).unwrap(), 1).unwrap();
        let again = auto.rotate(&auto.mul(&y, &y).unwrap(), 1).unwrap();
        let wanted: Vec<Complex64> = (0..16).map(|i| value(i + 2).powi(4)).collect();
        session.expect("lazy keys", &again, &wanted, 15.0);
        let told = std::mem::take(&mut *told.lock().unwrap());
        let names: Vec<KeyName> = told.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(names[0], KeyName::Relinearization);
        assert!(told.iter().all(|m| m.bytes == key_bytes(params, m.name, m.level, form) && m.level == 4));
        assert_eq!(made.names().len(), 2);
    }
}

#[test]
fn the_ephemeral_keys_are_a_pair_and_higher_levels_are_made_anew() {
    let (params, null) = (preset("boot-n15").unwrap(), Null::default());
    let secret = SecretKey::generate(&params, &Seed([1; 32]));
    let (made, levels) = (MadeKeys::<Null>::new(KeyForm::Seeded), Requirements::new());
    let keys = LazyKeys { dev: &null, params: &params, secret: &secret, made: &made, levels: &levels, tell: &|_| () };
    keys.key("test", KeyName::Decapsulation, 3).unwrap();
    let top = params.top_level();
    let pair: Requirements = [(KeyName::Encapsulation, 0), (KeyName::Decapsulation, top)].into();
    assert_eq!(made.names(), pair);
    keys.key("test", KeyName::Relinearization, 2).unwrap();
    assert_eq!(made.names()[&KeyName::Relinearization], params.user_level());
    keys.key("test", KeyName::Relinearization, top).unwrap();
    assert_eq!(made.names()[&KeyName::Relinearization], top);
}

#[test]
fn a_rotation_key_too_many_is_an_error_that_says_so() {
    let session = Session::with_keys(limbwise::params::Params::new(&small(2)).unwrap(), &Requirements::new());
    let (dev, params, secret) = (&session.dev, &session.params, &session.secret);
    let made = MadeKeys::new(KeyForm::Seeded).with_most_galois(2);
    let keys = LazyKeys { dev, params, secret, made: &made, levels: &Requirements::new(), tell: &|_| () };
    let auto = Auto::new(Evaluator::new(dev, params, &keys), &session.encoder);
    let x = session.encrypt(&[Complex64::from(0.5); 8]);
    for steps in [1, 2, 1] {
        auto.rotate(&x, steps).unwrap();
    }
    auto.settle(&auto.mul(&x, &x).unwrap()).unwrap();
    let error = auto.rotate(&x, 3).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("rotation by 3") && error.contains("beyond the 2 rotation keys"), "{error}");
}
