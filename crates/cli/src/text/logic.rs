//! Texts of workloads on TFHE.

use super::{
    params::security_line,
    table::{self, line},
    units,
};
use crate::verbs::params::TfheSet;
use limbwise_runtime::logic::LogicPlan;

/// A power of two with one decimal.
fn power(log2: f64) -> String {
    format!("2^{log2:.1}")
}

/// A compact table.
pub(crate) fn plan(plan: &LogicPlan) -> String {
    let LogicPlan { lwe, noise, failure, counts, .. } = plan;
    let mut text = table::heading(&plan.head);
    text += &security_line(&plan.security);
    let ring = format!("N = 2^{}, {} masks, a prime of {} bits", lwe.log_n, lwe.masks, lwe.prime_bits);
    text += &line("ring", &format!("{ring}; {} steps, narrow key modulo 2^{}", lwe.dimension, lwe.log_modulus));
    text += &line("messages", &format!("{} bits, carries included, and a bit of padding", lwe.message_bits));
    let [fresh, rotation, switch, modulus, worst] =
        [noise.fresh, noise.blind_rotation, noise.key_switch, noise.mod_switch, noise.worst].map(power);
    text += &line("noise", &format!("{fresh} fresh, {rotation} after a bootstrapping, of the modulus"));
    let before = format!("{switch} by the key switch, {modulus} by the modulus switch");
    text += &line("", &format!("{before}, {worst} in all at norm {}", failure.norm));
    let [one, all, promised] = [failure.bootstrapping, failure.program, failure.promised].map(power);
    text += &line("failure", &format!("{one} a bootstrapping ({promised} promised), {all} the program"));
    text += &line("bootstraps", &units::count(plan.bootstrappings));
    let [keys, published, inputs, peak] =
        [plan.key_bytes, plan.published_key_bytes, plan.input_bytes, plan.peak_memory_bytes.predicted]
            .map(units::bytes);
    text += &line("inputs", &format!("{inputs} encrypted"));
    text += &line("keys", &format!("{keys}, published as {published}"));
    text += &line("peak memory", &peak);
    text += &units::device_memory(plan.device_memory);
    let [limbs, products] = [counts.transformed_limbs, counts.products()].map(units::count);
    text += &line("counts", &format!("{limbs} limbs transformed, {products} modular products"));
    text + &line("seconds", &units::evaluation(&plan.head.device, plan.seconds_predicted))
}

/// Results first, then every measurement beside its prediction.
#[cfg(feature = "client")]
pub(crate) fn run(report: &limbwise_runtime::logic::LogicReport) -> String {
    let mut text = String::from("result\n");
    if let Some(reason) = &report.insecure_reason {
        text += &line("INSECURE", reason);
    }
    let right = report.messages - report.wrong;
    let failure = format!("fails with probability {} at most", power(report.log2_failure));
    text += &line("messages", &format!("{right} of {} as the clear twin; {failure}", report.messages));
    if let Some(accuracy) = report.details.get("accuracy") {
        let percent = |name: &str| format!("{:.1} %", 100.0 * accuracy[name].as_f64().unwrap_or(0.0));
        let [network, twin, encrypted] = ["network", "twin", "encrypted"].map(percent);
        let judged = format!("{network} of {} images after training", accuracy["judged"]);
        text += &line("accuracy", &format!("{encrypted} encrypted, {twin} by the clear twin; {judged}"));
        text += &line("classes", &format!("{}; they are {}", report.details["classes"], report.details["labels"]));
    }
    let [found, expected] = [report.noise_found.measured, report.noise_found.bootstrapping].map(power);
    text += &line("noise", &format!("{found} of the modulus; {expected} predicted of one bootstrapping"));
    let (measured, predicted) = (units::seconds(report.seconds), units::seconds(report.seconds_predicted));
    let each = units::seconds(report.ms_per_bootstrapping / 1e3);
    let count = units::count(report.bootstrappings);
    text += &line("seconds", &format!("{measured}; {predicted} predicted; {each} each of {count} bootstrappings"));
    let peak = report.peak_memory_bytes;
    let measured = peak.measured.map_or_else(|| "not told by this system".into(), units::bytes);
    text += &line("peak memory", &format!("{measured}; {} predicted", units::bytes(peak.predicted)));
    let [keys, published] = [report.key_bytes, report.published_key_bytes].map(units::bytes);
    text += &line("keys", &format!("{keys}, published as {published}"));
    let steps = report.steps.iter().map(|s| format!("{} {}", s.name, units::seconds(s.seconds)));
    text + &line("steps", &steps.collect::<Vec<_>>().join(", "))
}

/// All of one parameter set.
pub(crate) fn set(set: &TfheSet) -> String {
    let TfheSet { literal: l, .. } = set;
    let mut text = format!("{}{}\n", set.name, set.purpose.map_or_else(String::new, |p| format!(": {p}")));
    text += &security_line(&set.security);
    let ring = format!("N = 2^{}, {} masks, a prime of {} bits", l.log_n, l.masks, l.prime_bits());
    text += &line("ring", &format!("{ring}; {} steps, narrow key modulo 2^{}", l.lwe_dimension, l.log_lwe_modulus));
    text += &line("messages", &format!("{} bits, carries included, and a bit of padding", l.message_bits));
    let failure = format!("{} a bootstrapping, {} promised", power(set.log2_failure), power(l.log2_failure));
    text += &line("failure", &format!("{failure}, at norm {}", l.norm));
    let [keys, published] = [set.key_bytes, set.published_key_bytes].map(units::bytes);
    text += &line("ciphertext", &format!("{} fresh", units::bytes(set.ciphertext_bytes)));
    text + &line("keys", &format!("{keys}, published as {published}"))
}

/// One line a set.
pub(crate) fn sets(sets: &[TfheSet]) -> String {
    let row = |s: &TfheSet| {
        let l = &s.literal;
        let digits = format!("{}/{}", l.bootstrap.levels, l.key_switch.levels);
        let numbers = [l.prime_bits().to_string(), l.lwe_dimension.to_string(), digits, l.message_bits.to_string()];
        let [prime, steps, digits, message] = numbers;
        let (bits, failure) = (s.security.class_text(), power(s.log2_failure));
        let (size, keys) = (format!("2^{}", l.log_n), units::bytes(s.key_bytes));
        [s.name.clone(), size, prime, steps, digits, message, failure, bits, keys, s.purpose.unwrap_or("").to_owned()]
    };
    let heading = ["TFHE preset", "N", "prime", "steps", "digits", "message", "fails", "security", "keys", "for"];
    table::render(heading, &sets.iter().map(row).collect::<Vec<_>>(), &[2, 3, 4, 5, 6, 7, 8])
}
