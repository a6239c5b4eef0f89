//! Texts about parameters.

use super::{
    table::{line, render},
    units,
};
use crate::verbs::params::{BgvSet, Set, TfheSet, Title};
use limbwise::params::SecurityReport;

/// The class met, or the reason that stands against it.
pub(crate) fn security(security: &SecurityReport) -> String {
    match &security.insecure_reason {
        Some(reason) => format!("NONE: below 128 bits, allowed because: {reason}"),
        None => format!("{} bits ({})", security.bits, security.standard),
    }
}

fn title(set: &Title) -> String {
    let purpose = set.purpose.map_or_else(String::new, |p| format!(": {p}"));
    format!("{}{purpose}\n{}", set.name, line("security", &security(&set.security)))
}

/// Name, purpose, log₂ QP and security class of a set, as cells of a table.
fn cells(set: &Title) -> [String; 4] {
    let purpose = set.purpose.unwrap_or_default().to_owned();
    [set.name.clone(), purpose, format!("{:.0}", set.security.log_qp), set.security.class_text()]
}

pub(crate) fn set(set: &Set) -> String {
    let mut text = title(&set.title);
    let [chain, special] = set.limbs;
    let ring = format!("N = 2^{}, {} slots, {chain} + {special} limbs", set.log_n, units::count(set.slots as u64));
    text += &line("ring", &format!("{ring}, dnum {}, log2(QP) = {:.0}", set.dnum, set.title.security.log_qp));
    text += &line("levels", &format!("{} at scale 2^{}", set.levels, set.literal.log_scale));
    text += &line("ciphertext", &format!("{} fresh", units::bytes(set.ciphertext_bytes)));
    text + &line("key", &format!("{} each, for the top level", units::bytes(set.evaluation_key_bytes)))
}

pub(crate) fn sets(sets: &[Set]) -> String {
    let row = |s: &Set| {
        let [name, purpose, log_qp, bits] = cells(&s.title);
        let (size, limbs) = (format!("2^{}", s.log_n), format!("{} + {}", s.limbs[0], s.limbs[1]));
        [name, size, s.levels.to_string(), limbs, log_qp, bits, units::bytes(s.evaluation_key_bytes), purpose]
    };
    let heading = ["preset", "N", "levels", "limbs", "log2(QP)", "security", "key", "for"];
    render(heading, &sets.iter().map(row).collect::<Vec<_>>(), &[2, 3, 4, 5, 6])
}

/// A power of two with one decimal.
pub(super) fn power(log2: f64) -> String {
    format!("2^{log2:.1}")
}

pub(crate) fn tfhe_set(set: &TfheSet) -> String {
    let TfheSet { literal: l, .. } = set;
    let mut text = title(&set.title);
    let ring = format!("N = 2^{}, {} masks, a prime of {} bits", l.log_n, l.masks, l.prime_bits());
    text += &line("ring", &format!("{ring}; {} steps, narrow key modulo 2^{}", l.lwe_dimension, l.log_lwe_modulus));
    text += &line("messages", &format!("{} bits, carries included, and a bit of padding", l.message_bits));
    let failure = format!("{} a bootstrapping, {} promised", power(set.log2_failure), power(l.log2_failure));
    text += &line("failure", &format!("{failure}, at norm {}", l.norm));
    let [keys, published] = [set.key_bytes, set.published_key_bytes].map(units::bytes);
    text += &line("ciphertext", &format!("{} fresh", units::bytes(set.ciphertext_bytes)));
    text + &line("keys", &format!("{keys}, published as {published}"))
}

pub(crate) fn tfhe_sets(sets: &[TfheSet]) -> String {
    let row = |s: &TfheSet| {
        let ([name, purpose, _, bits], l) = (cells(&s.title), &s.literal);
        let digits = format!("{}/{}", l.bootstrap.levels, l.key_switch.levels);
        let numbers = [l.prime_bits().to_string(), l.lwe_dimension.to_string(), digits, l.message_bits.to_string()];
        let [prime, steps, digits, message] = numbers;
        let (size, failure, keys) = (format!("2^{}", l.log_n), power(s.log2_failure), units::bytes(s.key_bytes));
        [name, size, prime, steps, digits, message, failure, bits, keys, purpose]
    };
    let heading = ["TFHE preset", "N", "prime", "steps", "digits", "message", "fails", "security", "keys", "for"];
    render(heading, &sets.iter().map(row).collect::<Vec<_>>(), &[2, 3, 4, 5, 6, 7, 8])
}

pub(crate) fn bgv_set(set: &BgvSet) -> String {
    let mut text = title(&set.title);
    let [chain, special] = set.limbs;
    let ring = format!("N = 2^{}, {} slots, {chain} + {special} limbs", set.log_n, units::count(set.slots as u64));
    text += &line("ring", &format!("{ring}, log2(QP) = {:.0}", set.title.security.log_qp));
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

pub(crate) fn bgv_sets(sets: &[BgvSet]) -> String {
    let row = |s: &BgvSet| {
        let [name, purpose, log_qp, bits] = cells(&s.title);
        let (size, limbs) = (format!("2^{}", s.log_n), format!("{} + {}", s.limbs[0], s.limbs[1]));
        let depth = s.depth.map_or_else(String::new, |d| d.to_string());
        [name, size, s.literal.plaintext_modulus.to_string(), depth, limbs, log_qp, bits, purpose]
    };
    let heading = ["BGV preset", "N", "t", "depth", "limbs", "log2(QP)", "security", "for"];
    render(heading, &sets.iter().map(row).collect::<Vec<_>>(), &[2, 3, 4, 5, 6])
}
