//! Texts about parameters.

use super::{
    table::{line, render},
    units,
};
use crate::verbs::params::Set;
use limbwise::params::SecurityReport;

/// The class met, or the reason that stands against it.
pub(crate) fn security_line(security: &SecurityReport) -> String {
    match &security.insecure_reason {
        Some(reason) => line("security", &format!("NONE: below 128 bits, allowed because: {reason}")),
        None => line("security", &format!("{} bits ({})", security.bits, security.standard)),
    }
}

/// All of one set.
pub(crate) fn set(set: &Set) -> String {
    let mut text = format!("{}{}\n", set.name, set.purpose.map_or_else(String::new, |p| format!(": {p}")));
    text += &security_line(&set.security);
    let [chain, special] = set.limbs;
    let ring = format!("N = 2^{}, {} slots, {chain} + {special} limbs", set.log_n, units::count(set.slots as u64));
    text += &line("ring", &format!("{ring}, dnum {}, log2(QP) = {:.0}", set.dnum, set.security.log_qp));
    text += &line("levels", &format!("{} at scale 2^{}", set.levels, set.literal.log_scale));
    text += &line("ciphertext", &format!("{} fresh", units::bytes(set.ciphertext_bytes)));
    text + &line("key", &format!("{} each, for the top level", units::bytes(set.evaluation_key_bytes)))
}

/// One line a set.
pub(crate) fn sets(sets: &[Set]) -> String {
    let row = |s: &Set| {
        let size = format!("2^{}", s.log_n);
        let limbs = format!("{} + {}", s.limbs[0], s.limbs[1]);
        let numbers = [s.levels.to_string(), limbs, format!("{:.0}", s.security.log_qp), s.security.class_text()];
        let [levels, limbs, log_qp, bits] = numbers;
        let purpose = s.purpose.unwrap_or_default().to_owned();
        [s.name.clone(), size, levels, limbs, log_qp, bits, units::bytes(s.evaluation_key_bytes), purpose]
    };
    let heading = ["preset", "N", "levels", "limbs", "log2(QP)", "security", "key", "for"];
    render(heading, &sets.iter().map(row).collect::<Vec<_>>(), &[2, 3, 4, 5, 6])
}
