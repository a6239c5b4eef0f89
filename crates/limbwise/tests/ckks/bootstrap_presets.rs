//! Every preset that bootstraps does at full size what its purpose says.

use crate::common::{Session, uniform};
use limbwise::{
    Complex64,
    ckks::{
        Packing, Precision,
        bootstrap::{BootstrapPlan, Bootstrapper, HalvesAt, Rotations, requirements},
        decrypt_wide, encrypt_secret,
    },
    params::{
        Insecure, Params,
        presets::{Preset, preset, presets},
    },
    rlwe::{KeyForm, key_bytes},
};

/// What the smallest plan loses by its whole rotations against the fastest, which a purpose speaks of (0.8 bits measured
/// for boot-fast, whose scales are the narrowest), and what two runs differ by.
const LESS: f64 = 0.8 + 0.2;

/// A preset, the slots that it is for, and the levels that so many passes leave.
struct Promised {
    preset: Preset,
    params: Params,
    slots: usize,
    won: usize,
}

impl Promised {
    fn by(name: &str, passes: usize) -> Self {
        let preset_of = presets().into_iter().find(|p| p.name == name).unwrap();
        let params = preset(name).unwrap();
        let boot = *params.bootstrapping().unwrap();
        let won = if boot.literal.refinement.is_some() { boot.levels } else { boot.levels + 1 - passes };
        Self { slots: preset_of.slots.unwrap_or(params.max_slots()), preset: preset_of, params, won }
    }

    fn plan(&self, plan: BootstrapPlan) -> BootstrapPlan {
        BootstrapPlan { halves: self.preset.slots.map_or(plan.halves, |_| HalvesAt::Beside), ..plan }
    }
}

/// What a purpose should say and needs no run, levels, failures and bytes of keys, and does not.
fn unsaid(name: &str, passes: usize) -> Vec<String> {
    let promised = Promised::by(name, passes);
    let Promised { preset, params, slots, won } = &promised;
    let gigabytes = |plan, form| {
        let required = requirements(params, promised.plan(plan)).unwrap();
        required.iter().map(|(&name, &level)| key_bytes(params, name, level, form)).sum::<u64>() as f64 / 1e9
    };
    let facts = [
        format!("{won} levels"),
        format!("2^{:.0} failures", params.bootstrapping().unwrap().log2_failure(*slots)),
        format!("keys {:.1} GB", gigabytes(BootstrapPlan::fastest(*slots), KeyForm::Stored)),
        format!("{:.1} GB seeded", gigabytes(BootstrapPlan::smallest(*slots), KeyForm::Seeded)),
    ];
    let unsaid = facts.into_iter().filter(|fact| !preset.purpose.contains(fact));
    unsaid.map(|fact| format!("{name}: {fact}")).collect()
}

/// One bootstrapping, or two passes, of random and of constant messages in all slots that the preset is for by the smallest
/// plan: as many bits as the purpose says, less what that plan costs, and within one and a half of what was expected.
fn holds(name: &str, bits: f64, passes: usize) {
    let promised = Promised::by(name, passes);
    let plan = promised.plan(BootstrapPlan::smallest(promised.slots));
    let Promised { preset, params, slots, won } = promised;
    let boot = *params.bootstrapping().unwrap();
    let fact = format!("{bits:.1} bits");
    assert!(preset.purpose.contains(&fact), "{name}: {}: not {fact}", preset.purpose);
    let s = Session::with_keys(params.clone(), &requirements(&params, plan).unwrap());
    let bootstrapper = Bootstrapper::encode(&s.dev, &s.encoder, plan).unwrap();
    let level = boot.input_level();
    let packing = Packing { slots, level, scale: params.scale(level) };
    for values in [uniform(slots, "boot"), vec![Complex64::new(0.7, 0.3); slots]] {
        let plain = s.encoder.encode(&s.dev, std::slice::from_ref(&values), packing).unwrap();
        let a = encrypt_secret(&s.dev, &params, &s.secret, &plain).unwrap().bounded_by(2f64.sqrt());
        let result = bootstrapper.evaluate_in_passes(&s.auto(), &a, passes, &mut |_| ()).unwrap();
        assert_eq!(result.level, boot.input_level() + won);
        let (near, rest) = decrypt_wide(&s.dev, &s.encoder, &params, &s.secret, &result).unwrap();
        let got = match &rest[..] {
            [] => Precision::of(&near[0], &values),
            rest => Precision::of_wide(&near[0], &rest[0], &values),
        };
        let expected = result.estimate.precision_bits();
        assert!(got.mean > bits - LESS && (got.mean - expected).abs() < 1.5, "{name}: {got:?}, expected {expected:.2}");
    }
}

macro_rules! full_size {
    ($($test:ident: $name:literal, $bits:literal bits, $passes:literal;)*) => {$(
        #[test]
        #[ignore = "full size: a minute and 3 GB"]
        fn $test() {
            holds($name, $bits, $passes);
        }
    )*

        #[test]
        fn purposes_say_what_is_computed() {
            let unsaid: Vec<String> = [$(unsaid($name, $passes)),*].concat();
            assert!(unsaid.is_empty(), "{unsaid:#?}");
        }
    };
}

full_size! {
    the_default: "boot-words", 24.0 bits, 1;
    a_prime_a_level: "boot", 24.0 bits, 1;
    fast: "boot-fast", 21.5 bits, 1;
    cosine: "boot-cosine", 22.6 bits, 1;
    precise: "boot-precise", 31.5 bits, 2;
    most_levels: "boot-17", 24.0 bits, 1;
    most_levels_on_words: "boot-17-words", 24.0 bits, 1;
    forty_bits: "boot-40", 40.5 bits, 1;
    eighty_bits: "boot-80", 81.0 bits, 2;
    n15: "boot-n15", 19.6 bits, 1;
    ark: "ark-24", 19.9 bits, 1;
    lattigo: "boot-lattigo", 24.1 bits, 1;
    sharp: "boot-sharp", 20.9 bits, 1;
    narrow: "boot-narrow", 15.8 bits, 1;
    uniform_secret: "boot-uniform", 16.4 bits, 1;
    sixteen_slots: "boot-s4", 27.4 bits, 1;
    few_slots: "boot-s8", 25.5 bits, 1;
    some_slots: "boot-s12", 23.5 bits, 1;
}

/// The multiples of q₀ under a uniform ternary secret deviate by 60, so that 512 is 8½ deviations.
#[test]
fn failure_under_a_uniform_secret() {
    let params = preset("boot-uniform").unwrap();
    let boot = params.bootstrapping().unwrap();
    assert!((boot.multiple_deviation() - 60.3).abs() < 0.1);
    // 2·exp(−½·(511.5/60.8)²) for each of 2^16 coefficients, 60.8 the deviation six above the mean weight.
    assert!((boot.log2_failure(1 << 15) + 34.0).abs() < 0.2, "{}", boot.log2_failure(1 << 15));
}

/// Diagonals of more bits than a prime has, made where they are used: stored in two limbs.
#[test]
fn narrow_primes_on_a_small_ring() {
    let mut literal = presets().into_iter().find(|p| p.name == "boot-narrow").unwrap().literal;
    literal.levels.drain(6..23);
    (literal.log_n, literal.dnum) = (11, 3);
    literal.insecure = Some(Insecure { reason: "unit test on a small ring".into() });
    let params = Params::new(&literal).unwrap();
    let (level, slots) = (params.bootstrapping().unwrap().input_level(), params.max_slots());
    let values = uniform(slots, "boot");
    for rotations in Rotations::ALL {
        let plan = BootstrapPlan { rotations, ..BootstrapPlan::smallest(slots) };
        let s = Session::with_keys(params.clone(), &requirements(&params, plan).unwrap());
        let bootstrapper = Bootstrapper::encode(&s.dev, &s.encoder, plan).unwrap();
        let packing = Packing { slots, level, scale: params.scale(level) };
        let plain = s.encoder.encode(&s.dev, std::slice::from_ref(&values), packing).unwrap();
        let a = encrypt_secret(&s.dev, &params, &s.secret, &plain).unwrap().bounded_by(2f64.sqrt());
        let result = bootstrapper.evaluate(&s.auto(), &a).unwrap();
        let (got, expected) = (Precision::of(&s.decrypt(&result), &values), result.estimate.precision_bits());
        assert!(got.mean > 17.0 && (got.mean - expected).abs() < 2.0, "{plan:?}: {got:?}, expected {expected:.2}");
    }
}
