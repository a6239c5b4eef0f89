//! Bootstrapping on a small ring: every strategy, packing and order gives the message back, and says what it expects.

use crate::common::{Dev, Session, small, uniform};
use limbwise::{
    Complex64,
    ckks::{
        Auto, Ciphertext, Evaluator, Packing, PlaintextForm, Precision,
        bootstrap::{BootstrapPlan, Bootstrapper, Content, HalvesAt, Rotations, requirements},
        decrypt::{decrypt, decrypt_wide},
        encrypt_secret,
    },
    params::{
        BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Secret, Sine,
        presets::presets,
    },
    rlwe::KeySet,
};
use limbwise_math::wide::WideComplex;

/// The default preset's chain, shortened to 2 levels, on a small ring.
fn literal(order: Order, arcsine: usize, ratio: u32) -> ParamsLiteral {
    with_sine(order, Sine::Cosine { arcsine }, ratio)
}

fn with_sine(order: Order, sine: Sine, ratio: u32) -> ParamsLiteral {
    let eval_mod = EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine };
    let mut literal = ParamsLiteral::chain(11, 50, 40, 0, (50, 6), 5);
    let (below, above) = match order {
        Order::SlotToCoeffFirst => ([32; 2].as_slice(), [].as_slice()),
        Order::SlotToCoeffLast => ([].as_slice(), [40; 2].as_slice()),
    };
    let bits = below.iter().chain(&[40; 2]).chain(above).copied();
    let bits = bits.chain(vec![50; eval_mod.depth()]).chain([46; 2]);
    literal.levels.extend(bits.map(|b| vec![PrimeChoice::Bits(b)]));
    if order == Order::SlotToCoeffFirst && sine == (Sine::Exponential { harmonics: 2 }) {
        // A wider last level takes the second harmonic's factor and leaves the scale before it large.
        literal.levels[5] = vec![PrimeChoice::Bits(30), PrimeChoice::Bits(29)];
    }
    literal.bootstrapping = Some(BootstrapLiteral {
        order,
        slot_to_coeff: 2,
        coeff_to_slot: 2,
        message_ratio: ratio,
        ephemeral_weight: Some(32),
        eval_mod,
        refinement: None,
    });
    literal.insecure = Some(Insecure { reason: "unit test on a small ring".into() });
    literal
}

fn session(literal: &ParamsLiteral, plan: BootstrapPlan) -> (Session, Bootstrapper<Dev>) {
    let params = Params::new(literal).unwrap();
    let s = Session::with_keys(params.clone(), &requirements(&params, plan).unwrap());
    let boot = Bootstrapper::encode(&s.dev, &s.encoder, plan).unwrap();
    (s, boot)
}

/// Under the secret key: public-key noise at scale 2^40 would be all that is seen.
fn encrypted(s: &Session, values: &[Complex64]) -> Ciphertext<Dev> {
    let level = s.params.bootstrapping().unwrap().input_level();
    let packing = Packing { slots: values.len(), level, scale: s.params.scale(level) };
    let plain = s.encoder.encode(&s.dev, &[values.to_vec()], packing).unwrap();
    encrypt_secret(&s.dev, &s.params, &s.secret, &plain).unwrap()
}

/// Bootstraps values and holds the result to them, and the precision to what was expected.
fn expect(literal: &ParamsLiteral, plan: BootstrapPlan, values: &[Complex64], bits: f64) {
    let (s, boot) = session(literal, plan);
    let a = encrypted(&s, values).bounded_by(2f64.sqrt());
    let result = boot.evaluate(&s.auto(), &a).unwrap();
    assert_eq!(result.level, s.params.bootstrapping().unwrap().output_level());
    let (got, expected) = (Precision::of(&s.decrypt(&result), values), result.estimate.precision_bits());
    let order = literal.bootstrapping.unwrap().order;
    assert!(got.mean > bits && got.min > bits - 4.0, "{order:?} {plan:?}: mean {:.2}, min {:.2}", got.mean, got.min);
    // The law is for messages that fill their interval evenly; others may come out better, and few values by luck: the
    // error of one slot is a sixteenth of what is expected in one run of three hundred.
    let luck = 6.0 / (values.len() as f64).sqrt();
    assert!(
        (expected - 2.0..expected + 4.0 + luck).contains(&got.mean),
        "{order:?} {plan:?}: {:.2}, expected {expected:.2}",
        got.mean
    );
}

#[test]
fn every_order_with_exponentials() {
    for (order, harmonics, ratio, bits) in [
        (Order::SlotToCoeffFirst, 1, 10, 19.0),
        (Order::SlotToCoeffFirst, 2, 7, 24.0),
        (Order::SlotToCoeffLast, 1, 9, 16.0),
        (Order::SlotToCoeffLast, 2, 7, 20.0),
    ] {
        for slots in [1 << 10, 64] {
            let literal = with_sine(order, Sine::Exponential { harmonics }, ratio);
            expect(&literal, BootstrapPlan::fastest(slots), &uniform(slots, "boot"), bits);
            let real: Vec<Complex64> = uniform(slots, "boot").iter().map(|z| Complex64::from(z.re)).collect();
            let plan = BootstrapPlan { content: Content::Real, ..BootstrapPlan::smallest(slots) };
            expect(&literal, plan, &real, bits);
        }
    }
}

#[test]
fn halves_side_by_side_of_an_exponential() {
    for (order, harmonics, ratio, bits) in [
        (Order::SlotToCoeffFirst, 1, 10, 19.0),
        (Order::SlotToCoeffFirst, 2, 7, 24.0),
        (Order::SlotToCoeffLast, 1, 9, 16.0),
        (Order::SlotToCoeffLast, 2, 7, 20.0),
    ] {
        let literal = with_sine(order, Sine::Exponential { harmonics }, ratio);
        for slots in [4, 16, 256] {
            for plan in [BootstrapPlan::fastest(slots), BootstrapPlan::smallest(slots)] {
                let plan = BootstrapPlan { halves: HalvesAt::Beside, ..plan };
                expect(&literal, plan, &uniform(slots, "boot"), bits);
            }
        }
    }
}

const ORDERS: [(Order, f64); 2] = [(Order::SlotToCoeffFirst, 23.0), (Order::SlotToCoeffLast, 18.0)];

#[test]
fn every_order_with_every_arcsine() {
    let full = 1 << 10;
    for (order, arcsine, ratio, bits) in [
        (Order::SlotToCoeffFirst, 1, 10, 19.0),
        (Order::SlotToCoeffFirst, 3, 7, 24.0),
        (Order::SlotToCoeffFirst, 5, 6, 25.0),
        (Order::SlotToCoeffFirst, 7, 5, 26.0),
        (Order::SlotToCoeffLast, 1, 9, 16.0),
        (Order::SlotToCoeffLast, 3, 7, 20.0),
        (Order::SlotToCoeffLast, 7, 5, 20.0),
    ] {
        expect(&literal(order, arcsine, ratio), BootstrapPlan::fastest(full), &uniform(full, "boot"), bits);
    }
}

fn strategies(pairs: impl Fn(usize) -> Vec<(Rotations, PlaintextForm)>) {
    let full = 1 << 10;
    for (at, (order, bits)) in ORDERS.into_iter().enumerate() {
        for (rotations, form) in pairs(at) {
            let plan = BootstrapPlan { rotations, form, ..BootstrapPlan::fastest(full) };
            expect(&literal(order, 3, 7), plan, &uniform(full, "boot"), bits);
        }
    }
}

/// Maps are the same in both orders: each strategy and each form in either, other pairs of them in the other.
#[test]
fn every_rotation_strategy_and_every_form_of_diagonals() {
    strategies(|at| Rotations::ALL.into_iter().zip(PlaintextForm::ALL.into_iter().cycle().skip(at)).collect());
}

#[test]
#[ignore = "ten seconds; each strategy and each form is tested, this is every pair of them"]
fn every_rotation_strategy_with_every_form_of_diagonals() {
    strategies(|_| {
        Rotations::ALL.into_iter().flat_map(|rotations| PlaintextForm::ALL.map(|form| (rotations, form))).collect()
    });
}

#[test]
fn every_packing_with_every_content() {
    let real = |values: Vec<Complex64>| values.into_iter().map(|z| Complex64::from(z.re)).collect::<Vec<_>>();
    for (order, bits) in ORDERS {
        for slots in [1, 2, 64, 512, 1024] {
            // The other arcsine where packings differ most.
            for &arcsine in if [1, 1024].contains(&slots) { &[1, 3][..] } else { &[3] } {
                let (ratio, bits) = if arcsine == 1 { (10, bits - 5.0) } else { (7, bits) };
                let literal = literal(order, arcsine, ratio);
                let complex = BootstrapPlan::fastest(slots);
                expect(&literal, complex, &uniform(slots, "boot"), bits);
                let plan = BootstrapPlan { content: Content::Real, ..BootstrapPlan::smallest(slots) };
                expect(&literal, plan, &real(uniform(slots, "boot")), bits);
                if arcsine == 3 {
                    let plan = BootstrapPlan { halves: HalvesAt::Turns, rotations: Rotations::MultiHop, ..complex };
                    expect(&literal, plan, &uniform(slots, "boot"), bits);
                }
            }
        }
    }
}

#[test]
fn every_kind_of_message() {
    let full = 1 << 10;
    let constant = |re, im| vec![Complex64::new(re, im); full];
    let positive: Vec<Complex64> = uniform(full, "boot").iter().map(|z| Complex64::from(z.re.abs())).collect();
    let small: Vec<Complex64> = uniform(full, "boot").iter().map(|z| z * 0.01).collect();
    for values in [constant(0.7, 0.3), constant(1.0, 1.0), constant(-1.0, 0.0), constant(0.0, 0.0), positive, small] {
        expect(&literal(Order::SlotToCoeffFirst, 3, 7), BootstrapPlan::fastest(full), &values, 23.0);
    }
}

#[test]
fn without_encapsulation_and_with_two_primes_a_level() {
    let mut sparse = literal(Order::SlotToCoeffFirst, 3, 7);
    let boot = sparse.bootstrapping.as_mut().unwrap();
    boot.ephemeral_weight = None;
    sparse.secret = Secret::FixedWeight(32);
    expect(&sparse, BootstrapPlan::fastest(64), &uniform(64, "boot"), 23.0);
    // q₀ of two primes, EvalMod and CoeffToSlot with two a level.
    let mut pairs = literal(Order::SlotToCoeffFirst, 3, 7);
    for level in &mut pairs.levels {
        if matches!(level[..], [PrimeChoice::Bits(46..)]) {
            *level = vec![PrimeChoice::Bits(28), PrimeChoice::Bits(27)];
        }
    }
    pairs.levels[0] = vec![PrimeChoice::Bits(25); 2];
    pairs.special = vec![PrimeChoice::Bits(30); 12];
    expect(&pairs, BootstrapPlan::fastest(1 << 10), &uniform(1 << 10, "boot"), 23.0);
}

#[test]
fn a_second_pass_takes_away_the_error_of_the_first() {
    let slots = 1 << 10;
    let mut literal = with_sine(Order::SlotToCoeffFirst, Sine::Exponential { harmonics: 2 }, 7);
    literal.log_scale = 48;
    for level in [3, 4] {
        literal.levels[level] = vec![PrimeChoice::Bits(48)];
    }
    literal.levels[5] = vec![PrimeChoice::Bits(26), PrimeChoice::Bits(25)];
    literal.special.push(PrimeChoice::Bits(50));
    let (s, boot) = session(&literal, BootstrapPlan::fastest(slots));
    for values in [uniform(slots, "boot"), vec![Complex64::new(0.7, 0.3); slots]] {
        let a = encrypted(&s, &values);
        let once = boot.evaluate(&s.auto(), &a).unwrap();
        let twice = boot.evaluate_in_passes(&s.auto(), &a, 2, &mut |_| ()).unwrap();
        assert_eq!(twice.level + 1, once.level);
        let [once, twice] =
            [once, twice].map(|c| (Precision::of(&s.decrypt(&c), &values), c.estimate.precision_bits()));
        assert!(twice.0.mean > once.0.mean + 5.0, "{once:?} {twice:?}");
        assert!((twice.0.mean - twice.1).abs() < 2.0, "{once:?} {twice:?}");
    }
}

#[test]
fn a_bootstrapped_ciphertext_has_its_levels() {
    let slots = 1 << 10;
    let literal = literal(Order::SlotToCoeffFirst, 3, 7);
    let (s, boot) = session(&literal, BootstrapPlan::fastest(slots));
    let auto = s.auto();
    let x = uniform(slots, "boot");
    let mut a = boot.evaluate(&auto, &encrypted(&s, &x).bounded_by(2f64.sqrt())).unwrap();
    for _ in 0..2 {
        a = auto.settle(&auto.square(&a).unwrap()).unwrap();
    }
    let wanted: Vec<Complex64> = x.iter().map(|z| z * z * z * z).collect();
    s.expect("x⁴", &a, &wanted, 20.0);
    let again = boot.evaluate(&auto, &a.bounded_by(4.0)).unwrap();
    s.expect("x⁴ bootstrapped", &again, &wanted, 18.0);
}

#[test]
fn mistakes_are_found_before_anything_is_computed() {
    let slots = 1 << 10;
    let literal = literal(Order::SlotToCoeffFirst, 3, 7);
    let (s, boot) = session(&literal, BootstrapPlan::fastest(slots));
    let (auto, eval) = (s.auto(), s.eval());
    let a = encrypted(&s, &uniform(slots, "boot"));
    let refused = |a: &Ciphertext<Dev>| boot.evaluate(&auto, a).err().unwrap().to_string();
    let low = eval.drop_level(&a, 1).unwrap();
    assert!(refused(&low).contains("bootstrap needs level 2; the ciphertext is at level 1"), "{}", refused(&low));
    assert!(refused(&Ciphertext { scale: a.scale * 2.0, ..a.clone() }).contains("scales"));
    assert!(refused(&Ciphertext { slots: 64, ..a.clone() }).contains("64 and 1024 slots"));
    let large = eval.mul_scalar(&Ciphertext { scale: 1.0, ..a.clone() }, 100.0, 1.0).unwrap();
    let large = Ciphertext { scale: a.scale, ..large };
    assert!(refused(&large).contains("scale them down first"), "{}", refused(&large));
    // A key that is not there.
    let none = KeySet::new(&s.params, Vec::new());
    let bare = Auto::new(Evaluator::new(&s.dev, &s.params, &none), &s.encoder);
    assert!(boot.evaluate(&bare, &a).err().unwrap().to_string().contains("needs"));
    // Parameters without bootstrapping, and others than the bootstrapper's.
    let params = Params::new(&small(3)).unwrap();
    let refused = requirements(&params, BootstrapPlan::fastest(slots)).unwrap_err().to_string();
    assert!(refused.contains("have no bootstrapping"), "{refused}");
    let refused = requirements(&s.params, BootstrapPlan::fastest(3)).unwrap_err().to_string();
    assert!(refused.contains("power of two"), "{refused}");
    let beside = |params, slots| {
        let plan = BootstrapPlan { halves: HalvesAt::Beside, ..BootstrapPlan::fastest(slots) };
        requirements(params, plan).unwrap_err().to_string()
    };
    assert!(beside(&s.params, slots).contains("at most 512 slots"), "{}", beside(&s.params, slots));
    let exponential = with_sine(Order::SlotToCoeffFirst, Sine::Exponential { harmonics: 2 }, 7);
    let refused = beside(&Params::new(&exponential).unwrap(), 512);
    assert!(refused.contains("at most 256 slots"), "{refused}");
}

#[test]
fn a_range_that_is_too_small_is_found_at_decryption() {
    let slots = 1 << 10;
    let mut narrow = literal(Order::SlotToCoeffFirst, 3, 7);
    narrow.bootstrapping.as_mut().unwrap().eval_mod.range = 3;
    let (s, boot) = session(&narrow, BootstrapPlan::fastest(slots));
    let a = encrypted(&s, &uniform(slots, "boot")).bounded_by(2f64.sqrt());
    let result = boot.evaluate(&s.auto(), &a).unwrap();
    let refused = decrypt(&s.dev, &s.encoder, &s.params, &s.secret, &result).unwrap_err().to_string();
    assert!(refused.contains("contradict the program"), "{refused}");
    assert!(s.params.bootstrapping().unwrap().log2_failure(slots) > -4.0);
}

#[test]
fn an_error_that_comes_in_goes_out() {
    for (order, slots) in [(Order::SlotToCoeffFirst, 64), (Order::SlotToCoeffFirst, 1024), (Order::SlotToCoeffLast, 64)]
    {
        let literal = literal(order, 3, 7);
        let (s, boot) = session(&literal, BootstrapPlan::fastest(slots));
        let a = encrypted(&s, &uniform(slots, "message")).bounded_by(2f64.sqrt());
        let clean = boot.evaluate(&s.auto(), &a).unwrap().estimate.error();
        let error = 0.01;
        let dirty = boot.evaluate(&s.auto(), &Ciphertext { estimate: a.estimate.with_error(error), ..a }).unwrap();
        let wanted = clean.hypot(error);
        assert!(
            (0.9..1.1).contains(&(dirty.estimate.error() / wanted)),
            "{order:?}, {slots}: {} of {wanted}",
            dirty.estimate.error()
        );
    }
}

/// A preset on a small ring, with fewer levels between two bootstrappings.
fn shrunk(name: &str, log_n: u32, levels: usize) -> ParamsLiteral {
    let mut literal = presets().into_iter().find(|p| p.name == name).unwrap().literal;
    let (at, kept) = (1 + literal.bootstrapping.unwrap().slot_to_coeff, levels);
    let before = Params::new(&literal).unwrap().bootstrapping().unwrap().levels;
    literal.levels.drain(at + kept..at + before);
    literal.log_n = log_n;
    literal.insecure = Some(Insecure { reason: "unit test on a small ring".into() });
    literal
}

/// The digits of boot-fast's EvalMod are as long as its special primes: key switches in CoeffToSlot have four times the noise
/// of a division. In boot-few two maps share the factor to EvalMod's range, so their diagonals are rounded to fewer bits.
#[test]
fn noise_of_coeff_to_slot_is_expected() {
    let slots = 1 << 10;
    let values = uniform(slots, "boot");
    // As many limbs less as digits have, so that the others stay what they are.
    for (name, levels, dnum) in [("boot-fast", 8, 4), ("boot-few", 3, 2)] {
        let literal = ParamsLiteral { dnum, ..shrunk(name, 11, levels) };
        for plan in [BootstrapPlan::fastest(slots), BootstrapPlan::smallest(slots)] {
            let (s, boot) = session(&literal, plan);
            let a = encrypted(&s, &values).bounded_by(2f64.sqrt());
            let result = boot.evaluate(&s.auto(), &a).unwrap();
            let (got, expected) = (Precision::of(&s.decrypt(&result), &values), result.estimate.precision_bits());
            assert!((got.mean - expected).abs() < 0.5, "{name}, {plan:?}: {got:?}, expected {expected:.2}");
        }
    }
}

#[test]
fn forty_bits_in_one_pass() {
    let slots = 1 << 10;
    let values = uniform(slots, "boot");
    for plan in [BootstrapPlan::fastest(slots), BootstrapPlan::smallest(slots)] {
        expect(&shrunk("boot-40", 11, 2), plan, &values, 41.0);
    }
    let real: Vec<Complex64> = values.iter().map(|z| Complex64::from(z.re)).collect();
    let plan = BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(slots) };
    expect(&shrunk("boot-40", 11, 2), plan, &real, 41.0);
}

#[test]
fn eighty_bits_in_two_passes() {
    let slots = 1 << 10;
    let literal = shrunk("boot-80", 11, 2);
    let (s, boot) = session(&literal, BootstrapPlan::fastest(slots));
    let auto = s.auto();
    let read = |c: &Ciphertext<Dev>| {
        let (near, rest) = decrypt_wide(&s.dev, &s.encoder, &s.params, &s.secret, c).unwrap();
        (near.concat(), rest.concat())
    };
    for values in [uniform(slots, "boot"), vec![Complex64::new(0.7, 0.3); slots]] {
        let a = encrypted(&s, &values);
        let precision = |c: &Ciphertext<Dev>| {
            let (near, rest) = read(c);
            (Precision::of_wide(&near, &rest, &values), c.estimate.precision_bits())
        };
        let (fresh, expected) = precision(&a);
        assert!(fresh.mean > 85.0 && (fresh.mean - expected).abs() < 0.5, "{fresh:?}, expected {expected}");
        let once = boot.evaluate_in_passes(&auto, &a, 1, &mut |_| ()).unwrap();
        let twice = boot.evaluate(&auto, &a).unwrap();
        assert_eq!((once.level, twice.level), (boot.levels().output_level(), boot.levels().output_level()));
        for (c, bits) in [(&once, 41.0), (&twice, 80.0)] {
            let (got, expected) = precision(c);
            assert!(got.mean > bits && (got.mean - expected).abs() < 1.5, "{got:?}, expected {expected}");
        }
        // Additions, constants and products keep the digits: 3x/8 − 1/4, then its square, of numbers with few bits.
        let affine = auto.add_scalar(&auto.settle(&auto.weighted_sum(&[(0.375, &twice)]).unwrap()).unwrap(), -0.25);
        let (near, rest) = read(&auto.settle(&auto.square(&affine).unwrap()).unwrap());
        let exact = |z: Complex64| WideComplex { re: z.re.into(), im: z.im.into() };
        let errors = near.iter().zip(&rest).zip(&values).map(|((near, rest), x)| {
            let x = exact(*x) * exact(0.375.into()) + exact((-0.25).into());
            let error = exact(*near) + exact(*rest) - x * x;
            error.re.high.abs().max(error.im.high.abs())
        });
        let worst = errors.fold(0.0, f64::max);
        assert!(worst < 2f64.powi(-76), "2^{:.1}", worst.log2());
    }
}
