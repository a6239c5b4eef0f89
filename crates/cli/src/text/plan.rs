//! The text of a plan.

use super::{table::line, units};
use limbwise::rlwe::KeyForm;
use limbwise_runtime::Plan;

/// A compact table.
pub(crate) fn render(plan: &Plan) -> String {
    let Plan { security, ring, levels, counts, .. } = plan;
    let mut text = format!(
        "plan of {} with {} on {} ({}, {} threads)\n",
        plan.workload, plan.preset, plan.device, plan.isa, plan.threads
    );
    text += &super::params::security_line(security);
    let [chain, special] = ring.limbs;
    text += &line(
        "ring",
        &format!("N = 2^{}, {chain} + {special} limbs, dnum {}, log2(QP) = {:.0}", ring.log_n, ring.dnum, ring.log_qp),
    );
    text += &line("levels", &format!("{} fresh, {} used, {} left", levels.fresh, levels.used, plan.levels_left));
    text += &line("precision", &format!("{:.1} bits expected", plan.precision_bits.predicted));
    text += &line("inputs", &format!("{} encrypted", units::bytes(plan.input_bytes)));
    let form = match plan.key_form {
        KeyForm::Stored => "stored",
        KeyForm::Seeded => "seeded",
    };
    text += &line("keys", &format!("{} in {} keys, {form}", units::bytes(plan.key_bytes), plan.keys.len()));
    for key in &plan.keys {
        text += &line("", &format!("{:>9}  level {:>2}  {}", units::bytes(key.bytes), key.level, key.name));
    }
    text += &line("plaintexts", &units::bytes(plan.plaintext_bytes));
    text += &line("peak memory", &units::bytes(plan.peak_memory_bytes.predicted));
    text += &line(
        "counts",
        &format!(
            "{} limbs transformed, {} modular products",
            units::count(counts.transformed_limbs),
            units::count(counts.products())
        ),
    );
    text + &line("seconds", &format!("{} of evaluation on this CPU", units::seconds(plan.seconds_predicted)))
}
