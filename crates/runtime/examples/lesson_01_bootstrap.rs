//! Lesson 1: from nothing to a bootstrapped ciphertext, on 16384 slots with 1.1 GB of memory.
//!
//! Run it with `cargo run --release -p limbwise-runtime --example lesson_01_bootstrap`.

use limbwise::{
    Complex64,
    ckks::{
        Auto, BootstrapPlan, Bootstrapper, Encoder, Evaluator, Packing, Precision, bootstrap::requirements, decrypt,
        encrypt_secret,
    },
    params::presets::preset,
    rlwe::{KeyForm, KeyGenerator, KeyPlan, SecretKey},
};
use limbwise_math::sampling::Seed;
use limbwise_runtime::{Host, open};
use std::{error::Error, f64::consts::TAU};

/// What a bootstrapped ciphertext holds after one more product.
#[derive(Debug)]
pub(crate) struct Lesson {
    /// Levels before bootstrapping, after it, and at the end.
    pub(crate) levels: [usize; 3],
    /// Precision of the decrypted slots.
    pub(crate) measured: Precision,
    /// Mean precision that the ciphertext expected of itself, in bits.
    pub(crate) expected: f64,
}

/// Multiplies points of the unit circle until no level is left, bootstraps, multiplies once more.
pub(crate) fn lesson() -> Result<Lesson, Box<dyn Error>> {
    // A parameter set says where each step of bootstrapping finds its levels; this one has 128 bits of security.
    let (cpu, params) = (open(&Host::default())?, preset("boot-n15")?);
    // The plan with the least memory; `BootstrapPlan::fastest` takes the least time.
    let plan = BootstrapPlan::smallest(params.max_slots());
    // Bootstrapping is run on no data to learn its keys; seeded ones take half the memory.
    let needed = KeyPlan { required: requirements(&params, plan)?, form: KeyForm::Seeded };
    // The client draws its secret key, and from it the keys that the server needs.
    let secret = SecretKey::generate(&params, &Seed::from_os()?);
    let keys = KeyGenerator::new(&cpu, &params, &secret)?.key_set(&needed, |_| ())?;
    // The server encodes the maps of bootstrapping once; `auto` divides and relinearizes where a product needs it.
    let encoder = Encoder::new(&params);
    let boot = Bootstrapper::encode(&cpu, &encoder, plan)?;
    let auto = Auto::new(Evaluator::new(&cpu, &params, &keys), &encoder);
    // The client encrypts at the highest level that programs have; those above it belong to bootstrapping.
    let level = params.user_level();
    let packing = Packing { slots: plan.slots, level, scale: params.scale(level) };
    let points: Vec<_> = (0..plan.slots).map(|j| Complex64::cis(TAU * j as f64 / plan.slots as f64)).collect();
    let plain = encoder.encode(&cpu, std::slice::from_ref(&points), packing)?;
    let x = encrypt_secret(&cpu, &params, &secret, &plain)?;
    // The server multiplies until the power has no more levels than bootstrapping starts with.
    let mut power = x.clone();
    while power.level > boot.levels().input_level() {
        power = auto.settle(&auto.mul(&power, &x)?)?;
    }
    // It bootstraps and computes on, with as many levels as before.
    let fresh = boot.evaluate(&auto, &power)?;
    let result = auto.settle(&auto.mul(&fresh, &x)?)?;
    // The client decrypts and compares with the same power in the clear.
    let got = decrypt(&cpu, &encoder, &params, &secret, &result)?.concat();
    let wanted: Vec<_> = points.iter().map(|z| z.powu(7)).collect(); // five products, bootstrapping, one more
    let measured = Precision::of(&got, &wanted);
    Ok(Lesson {
        levels: [power.level, fresh.level, result.level],
        measured,
        expected: result.estimate.precision_bits(),
    })
}

#[expect(clippy::print_stdout, reason = "a lesson shows what it found")]
fn main() -> Result<(), Box<dyn Error>> {
    let Lesson { levels: [before, after, end], measured, expected } = lesson()?;
    println!("level {before} before bootstrapping, {after} after it, {end} at the end");
    println!("precision {:.1} bits mean, {:.1} least; {expected:.1} expected", measured.mean, measured.min);
    Ok(())
}
