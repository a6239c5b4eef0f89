//! Texts of workloads on BGV.

use super::{
    params::security_line,
    table::{self, line},
    units,
};
use crate::verbs::params::BgvSet;
use limbwise_runtime::modular::ModularPlan;

/// A compact table.
pub(crate) fn plan(plan: &ModularPlan) -> String {
    let mut text = table::heading(&plan.head);
    text += &security_line(&plan.security);
    let [chain, special] = plan.limbs;
    text += &line(
        "ring",
        &format!("N = 2^{}, {chain} + {special} limbs, integers modulo {}", plan.log_n, plan.plaintext_modulus),
    );
    let budget = match plan.budget_bits {
        bits if bits < 0.0 => format!("none: {:.0} bits too much noise; results are compared as phases", -bits),
        bits => format!("{bits:.0} bits left of the result's modulus, at the least"),
    };
    text += &line("noise", &budget);
    let [inputs, keys, peak] = [plan.input_bytes, plan.key_bytes, plan.peak_memory_bytes.predicted].map(units::bytes);
    text += &line("inputs", &format!("{inputs} encrypted"));
    text += &line("keys", &format!("{}, {keys}", plan.keys));
    text += &line("peak memory", &peak);
    text += &units::device_memory(plan.device_memory);
    let [limbs, products] = [plan.counts.transformed_limbs, plan.counts.products()].map(units::count);
    text += &line("counts", &format!("{limbs} limbs transformed, {products} modular products"));
    text + &line("seconds", &units::evaluation(&plan.head.device, plan.seconds_predicted))
}

/// Results first, then every measurement beside its prediction.
#[cfg(feature = "client")]
pub(crate) fn run(report: &limbwise_runtime::modular::ModularReport) -> String {
    use limbwise_runtime::modular::Checked;
    let mut text = String::from("result\n");
    if let Some(reason) = &report.insecure_reason {
        text += &line("INSECURE", reason);
    }
    text += &line("security", &format!("{} bits ({})", report.head.security_bits, report.head.security_standard));
    let (right, all) = (report.compared - report.wrong, report.compared);
    let what = match report.checked {
        Checked::Integers => "integers as the clear twin's",
        Checked::Phases => "phases as they must be, modulo every prime: this modulus holds no product to decrypt",
    };
    text += &line("compared", &format!("{right} of {all} {what}"));
    let predicted = report.budget_bits.predicted;
    if let Some(measured) = report.budget_bits.measured {
        text += &line("noise", &format!("{measured:.0} bits of budget left; {predicted:.0} by the bound"));
    }
    for (name, values) in &report.results {
        let shown: Vec<String> = values.iter().take(8).map(i64::to_string).collect();
        let more =
            if values.len() > 8 { format!(" … ({} in all, --json has them)", values.len()) } else { String::new() };
        text += &line(name, &(shown.join(" ") + &more));
    }
    let seconds = [report.seconds, report.seconds_predicted];
    text += &line("seconds", &units::evaluated(&report.head.device, seconds));
    let peak = report.peak_memory_bytes;
    let measured = peak.measured.map_or_else(|| "not told by this system".into(), units::bytes);
    text += &line("peak memory", &format!("{measured}; {} predicted", units::bytes(peak.predicted)));
    let steps = report.steps.iter().map(|s| format!("{} {}", s.name, units::seconds(s.seconds)));
    text + &line("steps", &steps.collect::<Vec<_>>().join(", "))
}

/// All of one parameter set.
pub(crate) fn set(set: &BgvSet) -> String {
    let mut text = format!("{}{}\n", set.name, set.purpose.map_or_else(String::new, |p| format!(": {p}")));
    text += &security_line(&set.security);
    let [chain, special] = set.limbs;
    let ring = format!("N = 2^{}, {} slots, {chain} + {special} limbs", set.log_n, units::count(set.slots as u64));
    text += &line("ring", &format!("{ring}, log2(QP) = {:.0}", set.security.log_qp));
    text += &line("integers", &format!("modulo {}", set.literal.plaintext_modulus));
    if let Some(depth) = set.depth {
        text += &line(
            "depth",
            &format!("{depth} squares in a row{}", if set.secret_key { ", under the secret key" } else { "" }),
        );
    }
    text += &line("ciphertext", &format!("{} fresh", units::bytes(set.ciphertext_bytes)));
    let keys = match set.evaluation_key_bytes {
        0 => "none: no special prime".into(),
        bytes => format!("{} each, for the top level", units::bytes(bytes)),
    };
    text + &line("key", &keys)
}

/// One line a set.
pub(crate) fn sets(sets: &[BgvSet]) -> String {
    let row = |s: &BgvSet| {
        let limbs = format!("{} + {}", s.limbs[0], s.limbs[1]);
        let depth = s.depth.map_or_else(String::new, |d| d.to_string());
        let t = s.literal.plaintext_modulus.to_string();
        let log_qp = format!("{:.0}", s.security.log_qp);
        let purpose = s.purpose.unwrap_or_default().to_owned();
        [s.name.clone(), format!("2^{}", s.log_n), t, depth, limbs, log_qp, s.security.class_text(), purpose]
    };
    let heading = ["BGV preset", "N", "t", "depth", "limbs", "log2(QP)", "security", "for"];
    table::render(heading, &sets.iter().map(row).collect::<Vec<_>>(), &[2, 3, 4, 5, 6])
}
