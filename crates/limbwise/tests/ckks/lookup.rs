//! Tables looked up by bootstrapping: every entry comes out, as precise as was expected, and fails as often.

use crate::common::{Dev, Session};
use limbwise::{
    Complex64, Error,
    ckks::{
        Ciphertext, Lookup, LookupTable, Packing, Promise,
        bootstrap::{BootstrapPlan, Bootstrapper, Content, HalvesAt, requirements},
        encrypt_secret,
    },
    error::BootstrapError,
    params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine},
};
use limbwise_math::{
    sampling::{Seed, Stream},
    uniform_sum::two_sided_tail,
};

/// The default preset's chain on a small ring, with so many levels for the user; the exponential ends one above them.
fn literal(levels: usize, range: u32) -> ParamsLiteral {
    let sine = Sine::Exponential { harmonics: 2 };
    let eval_mod = EvalModLiteral { range, degree: 31, double_angles: 3, sine };
    let mut literal = ParamsLiteral::chain(11, 50, 40, 0, (50, 6), 5);
    let runs: [(&[u32], usize); 5] = [(&[32], 2), (&[40], levels), (&[30, 29], 1), (&[50], 8), (&[46], 2)];
    let level = |bits: &[u32]| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect::<Vec<_>>();
    literal.levels.extend(runs.iter().flat_map(|&(bits, count)| vec![level(bits); count]));
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 2,
        coeff_to_slot: 2,
        message_ratio: 7,
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

fn encrypted(s: &Session, values: &[Complex64], table: &LookupTable) -> Ciphertext<Dev> {
    let level = s.params.bootstrapping().unwrap().input_level() + table.levels_before(&s.params);
    let packing = Packing { slots: values.len(), level, scale: s.params.scale(level) };
    let plain = s.encoder.encode(&s.dev, &[values.to_vec()], packing).unwrap();
    encrypt_secret(&s.dev, &s.params, &s.secret, &plain).unwrap()
}

fn stream() -> impl FnMut() -> u64 {
    let mut stream = Stream::new(&Seed([7; 32]), b"lookup");
    move || stream.next_word() >> 11
}

/// A table whose neighbors are far apart.
fn mixed(entries: usize) -> Vec<f64> {
    (0..entries).map(|m| ((m * m * 37 + m * 11 + 5) % entries) as f64).collect()
}

/// Looks up integers in every slot and holds results to the entries and to what was expected.
fn expect(values: &[f64], levels: usize, plan: BootstrapPlan) {
    let (s, boot) = session(&literal(levels, 16), plan);
    let table = LookupTable::new(values).unwrap();
    let mut next = stream();
    let mut part = || (next() % values.len() as u64) as f64;
    let complex = plan.content == Content::Complex;
    let x: Vec<Complex64> =
        (0..plan.slots).map(|_| Complex64::new(part(), if complex { part() } else { 0.0 })).collect();
    let result = s.auto().look_up_with(&boot, &encrypted(&s, &x, &table), &table).unwrap();
    assert_eq!(result.level, table.output_level(&s.params).unwrap());
    let got = s.decrypt(&result);
    let mut squares = 0.0;
    for (x, y) in x.iter().zip(&got) {
        let im = if complex { table.entry(x.im) } else { 0.0 };
        let error = y - Complex64::new(table.entry(x.re), im);
        assert!(error.norm() < 0.25, "{} entries at {x}: {y}", values.len());
        squares += if complex { 0.5 * error.norm_sqr() } else { error.re * error.re };
    }
    let (got, expected) = ((squares / plan.slots as f64).sqrt().log2(), result.estimate.error().log2());
    assert!((expected - 3.0..expected + 1.5).contains(&got), "{plan:?}: 2^{got:.1}, expected 2^{expected:.1}");
}

#[test]
fn every_length_and_packing_gives_its_entries() {
    let real = |slots| BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(slots) };
    expect(&[0.0, 1.0], 1, real(1 << 10));
    expect(&[0.0, 1.0, 1.0], 2, real(64));
    expect(&mixed(16), 4, BootstrapPlan::fastest(1 << 10));
    expect(&mixed(16), 5, BootstrapPlan { halves: HalvesAt::Turns, ..BootstrapPlan::fastest(32) });
    expect(&mixed(256), 8, real(1 << 10));
    expect(&mixed(1024), 10, BootstrapPlan::fastest(1 << 10));
}

#[test]
fn bits_go_through_gates_again_and_again() {
    // A full adder on packed bits: sum and carry of three, looked up in the sum of the bits; noise does not grow.
    let slots = 1 << 10;
    let plan = BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(slots) };
    let (s, boot) = session(&literal(3, 16), plan);
    let [sum, carry] = [[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]].map(|values| LookupTable::new(&values).unwrap());
    let mut next = stream();
    let mut clear: Vec<Vec<f64>> = (0..3).map(|_| (0..slots).map(|_| (next() & 1) as f64).collect()).collect();
    let complex = |bits: &[f64]| bits.iter().map(|&b| b.into()).collect::<Vec<Complex64>>();
    let mut bits: Vec<_> = clear.iter().map(|bits| encrypted(&s, &complex(bits), &sum)).collect();
    let auto = s.auto();
    for _ in 0..4 {
        let floor = s.params.bootstrapping().unwrap().input_level();
        let low: Vec<_> = bits.iter().map(|b| auto.scale_to(b, 1.0, floor).unwrap()).collect();
        let all = auto.add(&auto.add(&low[0], &low[1]).unwrap(), &low[2]).unwrap();
        let looked = [&sum, &carry].map(|table| auto.look_up_with(&boot, &all, table).unwrap());
        bits = vec![looked[0].clone(), looked[1].clone(), bits[0].clone()];
        let added: Vec<f64> = (0..slots).map(|i| clear.iter().map(|bits| bits[i]).sum()).collect();
        let [sums, carries] = [&sum, &carry].map(|t| added.iter().map(|&x| t.entry(x)).collect::<Vec<f64>>());
        clear = vec![sums, carries, clear[0].clone()];
    }
    for (got, wanted) in bits.iter().zip(&clear) {
        s.expect("bits", got, &complex(wanted), 18.0);
    }
}

#[test]
fn lookups_fail_as_often_as_was_bounded() {
    // Integers with Gaussian-like errors of a tenth and more of their distance.
    let slots = 1 << 10;
    let plan = BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(slots) };
    let (s, boot) = session(&literal(4, 16), plan);
    let mut next = stream();
    for (values, deviation) in [(vec![0.0, 1.0], 0.25), (mixed(16), 0.12), (mixed(16), 0.02)] {
        let table = LookupTable::new(&values).unwrap().accepting(0.0);
        let mut uniform = || (next() as f64 / (1u64 << 53) as f64) - 0.5;
        // Twelve uniform variables have variance one.
        let x: Vec<(f64, f64)> = (0..slots)
            .map(|_| {
                let error: f64 = (0..12).map(|_| uniform()).sum();
                (((uniform() + 0.5) * values.len() as f64).floor(), error * deviation)
            })
            .collect();
        let noisy: Vec<Complex64> = x.iter().map(|(m, e)| (m + e).into()).collect();
        let a = encrypted(&s, &noisy, &table);
        let a = Ciphertext { estimate: a.estimate.bounded_by(values.len() as f64).with_error(deviation), ..a };
        let result = s.auto().look_up_with(&boot, &a, &table).unwrap();
        let got = s.decrypt(&result);
        let margin = table.margin();
        let wrong =
            |y: &dyn Fn(usize) -> f64| (0..slots).filter(|&i| (y(i) - table.entry(x[i].0)).abs() > margin).count();
        let failed = wrong(&|i| got[i].re);
        let clear = wrong(&|i| table.evaluate(noisy[i].re));
        let noise = table.noise(&s.params, slots, deviation);
        let bound = table.log2_failure(noise, -100.0).exp2() * slots as f64;
        assert!(failed.abs_diff(clear) <= 2, "{failed} wrong, {clear} in the clear");
        assert!((failed as f64) < bound + 3.0 * bound.sqrt() + 1.0, "{failed} wrong, at most {bound:.1}");
        assert!(deviation < 0.1 || failed > 0, "the probability was raised");
        // The usual acceptance refuses them before anything is computed.
        let strict = LookupTable::new(&values).unwrap();
        let refused = s.auto().look_up_with(&boot, &a, &strict).err().unwrap();
        assert!(matches!(refused, Error::Bootstrap(BootstrapError::TableNoise { .. })), "{refused}");
    }
}

#[test]
fn multiples_leave_a_range_as_often_as_was_computed() {
    // Multiples of q₀ beyond 4 for a deviation of 1.66: what the exponential cannot take, seen before it.
    let slots = 1 << 10;
    let (s, boot) = session(&literal(1, 4), BootstrapPlan::fastest(slots));
    let table = LookupTable::new(&[0.0, 1.0]).unwrap().accepting(0.0);
    let (auto, lookup) = (s.auto(), Lookup::new(&boot, &table, &s.params).unwrap());
    let mut next = stream();
    let x: Vec<Complex64> = (0..slots).map(|_| Complex64::new((next() & 1) as f64, (next() & 1) as f64)).collect();
    let mut underway = lookup.begin(&auto, &encrypted(&s, &x, &table)).unwrap();
    while lookup.next_step(&underway) != Some("exponential") {
        underway = lookup.advance(&auto, underway).unwrap();
    }
    let value = underway.value;
    let estimate = value.estimate.with_peak(100.0, false);
    let units = s.decrypt(&Ciphertext { estimate, ..value });
    let beyond = units.iter().filter(|u| u.re.abs() > 1.0).count() as f64;
    // The sum of 32 uniform variables is rounded to an integer, or to one and a half; 4 itself is on the edge.
    let tail = |x| two_sided_tail(32, x);
    let share = 0.5 * (0.5 * (tail(3.5) + tail(4.5)) + tail(4.0));
    let (expected, count) = (share * units.len() as f64, units.len() as f64);
    let bound = s.params.bootstrapping().unwrap().log2_lookup_failure().exp2() * count;
    assert!(expected > 20.0 && (beyond - expected).abs() < 4.0 * expected.sqrt(), "{beyond} for {expected:.1}");
    assert!(expected < bound && bound < 4.0 * expected);
    // The usual acceptance refuses such a range.
    let strict = LookupTable::new(&[0.0, 1.0]).unwrap();
    assert!(auto.look_up_with(&boot, &encrypted(&s, &x, &table), &strict).is_err());
}

#[test]
fn mistakes_are_found_before_anything_is_computed() {
    let slots = 64;
    let plan = BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(slots) };
    let (s, boot) = session(&literal(4, 16), plan);
    let refused =
        |a: &Ciphertext<Dev>, table: &LookupTable| s.auto().look_up_with(&boot, a, table).err().unwrap().to_string();
    let short = LookupTable::new(&mixed(16)).unwrap();
    let zeros = vec![Complex64::default(); slots];
    let long = LookupTable::new(&mixed(64)).unwrap();
    let text = refused(&encrypted(&s, &zeros, &short), &long);
    assert!(text.contains("6 levels") && text.contains("at most 16 entries"), "{text}");
    let wide = vec![Complex64::from(40.0); slots];
    let text = refused(&encrypted(&s, &wide, &short), &short);
    assert!(text.contains("entries for 0 to 15"), "{text}");
    // A plan with the halves side by side.
    let beside = BootstrapPlan { halves: HalvesAt::Beside, ..BootstrapPlan::fastest(slots) };
    let (s, boot) = session(&literal(4, 16), beside);
    let text = s.auto().look_up_with(&boot, &encrypted(&s, &zeros, &short), &short).err().unwrap().to_string();
    assert!(text.contains("halves are not side by side"), "{text}");
    // 256 entries for a ratio of 128: the division takes a level.
    let (s, boot) = session(&literal(8, 16), plan);
    let table = LookupTable::new(&mixed(256)).unwrap();
    let text = s.auto().look_up_with(&boot, &encrypted(&s, &zeros, &short), &table).err().unwrap().to_string();
    assert!(text.contains("lookup needs level 3"), "{text}");
    let promise = Promise { magnitude: 255.0, peak: 255.0, real: true };
    let a = encrypted(&s, &zeros, &table);
    let a = Ciphertext { estimate: a.estimate.with_promise(promise).unwrap().with_error(0.2), ..a };
    let text = s.auto().look_up_with(&boot, &a, &table).err().unwrap().to_string();
    assert!(text.contains("a slot, and 2^-60 is accepted"), "{text}");
    let mut cosine = literal(4, 16);
    cosine.bootstrapping.as_mut().unwrap().eval_mod.sine = Sine::Cosine { arcsine: 3 };
    let text = short.output_level(&Params::new(&cosine).unwrap()).unwrap_err().to_string();
    assert!(text.contains("exponential"), "{text}");
}
