//! The table of issue slots is what exact runs count, and the closed form is what exact runs take.

use limbwise_math::{modulus::Modulus, prime::ntt_primes_below};
use limbwise_upmem::{
    Form, Multiplications, Preset,
    exact::Bench,
    kernels::frame::Operation,
    slots::{DEGREES, KERNELS, entry, launch_cycles, launch_slots, routines, table},
};
use proptest::prelude::*;
use std::{fs, path::PathBuf};

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../machines/specs/upmem_slots.toml")
}

#[test]
fn routines_are_those_of_the_table() {
    if std::env::var("LIMBWISE_BLESS").is_ok_and(|x| x == "1") {
        fs::write(file(), table().unwrap()).unwrap();
    }
    let written = fs::read_to_string(file()).unwrap();
    assert!(written.contains(&routines(Form::default()).unwrap()), "rewrite the table: LIMBWISE_BLESS=1");
    assert_eq!(written.matches("\n[[kernel]]").count(), KERNELS.len() * DEGREES.count());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Other entries in every run; the large ones are among `the_whole_table_is_re_derived`.
    #[test]
    fn random_entries_are_re_derived(kernel in prop::sample::select(KERNELS.to_vec()), log_n in 10u32..=13) {
        let written = fs::read_to_string(file()).unwrap();
        let wanted = entry(kernel, log_n, Form::default()).unwrap().to_toml();
        prop_assert!(written.contains(&wanted), "an exact run gives{wanted}rewrite the table: LIMBWISE_BLESS=1");
    }
}

#[test]
#[ignore = "seconds: runs kernels at all degrees"]
fn the_whole_table_is_re_derived() {
    assert_eq!(fs::read_to_string(file()).unwrap(), table().unwrap());
}

/// Inlining takes away two slots a multiplication, and nothing else.
#[test]
fn inlined_multiplications_save_call_and_return() {
    let inlined = Form { multiplications: Multiplications::Inlined, ..Form::default() };
    for kernel in KERNELS {
        let [called, inlined] = [Form::default(), inlined].map(|form| entry(kernel, 10, form).unwrap().measured);
        assert_eq!((called.mul32, called.mul64), (inlined.mul32, inlined.mul64));
        assert_eq!(called.counts.slots - inlined.counts.slots, 2 * (called.mul32 + called.mul64), "{}", kernel.name());
        assert_eq!(called.counts.bytes, inlined.counts.bytes);
    }
}

/// Operations of a transform and of products, counted from outside.
#[test]
fn multiplications_are_as_many_as_the_algorithms_have() {
    for log_n in [10, 11] {
        let n = 1u64 << log_n;
        let butterflies = n / 2 * u64::from(log_n);
        let count = |kernel| entry(kernel, log_n, Form::default()).unwrap().measured;
        for (kernel, products) in [
            (Operation::Ntt, butterflies),
            (Operation::Intt, butterflies + n / 2), // the last stage multiplies both halves
            (Operation::Mul, n),
            (Operation::MulAcc, n),
            (Operation::Scale, n),
            (Operation::BgvProduct, 4 * n),
            (Operation::Add, 0),
        ] {
            let measured = count(kernel);
            assert_eq!((measured.mul32, measured.mul64), (products, 2 * products), "{}", kernel.name());
        }
    }
}

/// The closed form within 1 % of exact cycles, for whole and for broken waves of sub-polynomials, on both chips.
#[test]
fn closed_form_is_within_one_percent_of_exact_cycles() {
    let form = Form::default();
    let cases = [
        (Operation::Ntt, 10, 1, 1),
        (Operation::Ntt, 10, 16, 16),
        (Operation::Ntt, 10, 20, 16),
        (Operation::Ntt, 11, 11, 11),
        (Operation::Ntt, 10, 8, 4),
        (Operation::Intt, 10, 16, 16),
        (Operation::Intt, 11, 3, 16),
        (Operation::Mul, 10, 8, 16),
        (Operation::BgvProduct, 10, 4, 16),
        (Operation::BgvProduct, 11, 4, 8),
        (Operation::Scale, 12, 3, 24),
    ];
    for (kernel, log_n, jobs, tasklets) in cases {
        let q = Modulus::new(ntt_primes_below(log_n, 27, 1, &[]).unwrap()[0]);
        let preset = if tasklets > 16 { Preset::v1a() } else { Preset::v1b() };
        let mut bench = Bench::new(preset.clone(), form, q, log_n).unwrap();
        let list: Vec<_> = (0..jobs).map(|i| bench.job(kernel, 8 * i, 1)).collect();
        let exact = bench.run(&[(kernel, list.clone())], tasklets).unwrap();
        let observed = bench.measure(&[(kernel, list)], tasklets).unwrap().counts;
        assert_eq!(exact, observed, "instructions that nobody can notice were done ahead");
        let exact = exact.cycles;
        let launch = launch_cycles(launch_slots(form).unwrap(), tasklets as u64, &preset);
        let entry = entry(kernel, log_n, form).unwrap();
        let closed = launch + entry.cycles(u64::from(jobs), tasklets as u64, &preset);
        let off = closed.abs_diff(exact) * 1000 / exact;
        assert!(off <= 10, "{} 2^{log_n}, {jobs} jobs, {tasklets} tasklets: {closed} for {exact}", kernel.name());
    }
}
