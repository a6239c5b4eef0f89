//! The fields that a composed machine may have; its file says how many units, memories and networks there are.

use crate::field::{Kinds, Usual};
use toml::Value;

/// What a unit can do.
pub(crate) const PRIMITIVES: [&str; 9] =
    ["ntt", "intt", "convert", "add", "multiply", "automorphism", "rotate", "decompose", "lwe"];

/// What a network can carry.
pub(crate) const PATTERNS: [&str; 3] = ["exchange", "sum", "boards"];

const COUNT: &str = "1";
const NUMBER: &str = "1.0";
const FLAG: &str = "true";
const NAME: &str = "\"\"";
const NAMES: &str = "[\"\"]";

/// A field: its path, where `*` is a name that the file gives; a value of its kind, as TOML; the texts that it can be.
struct Known(&'static str, &'static str, &'static [&'static str]);

const KNOWN: &[Known] = &[
    Known("chip.clock_mhz", NUMBER, &[]),
    Known("chip.clusters", COUNT, &[]),
    Known("chip.word_bits", COUNT, &[]),
    Known("chip.reference_clusters", COUNT, &[]),
    Known("chip.boards", COUNT, &[]),
    Known("policy.distribution", NAME, &["alternating", "limb-wise", "broadcast", "coefficient-wise"]),
    Known("policy.limbs", NAME, &["whole", "apart", "fused", "reordered"]),
    Known("policy.order", NAME, &["list", "in-order"]),
    Known("policy.phases", NAME, &["serial", "overlapped"]),
    Known("policy.words", NAME, &["refuse", "split"]),
    Known("policy.streaming", FLAG, &[]),
    Known("policy.scale_with_intt", FLAG, &[]),
    Known("policy.fuse_subtract_scale", FLAG, &[]),
    Known("policy.makes_twiddles", FLAG, &[]),
    Known("policy.seeds", NAME, &["loaded", "made"]),
    Known("policy.conversion", NAME, &["beside", "shared"]),
    Known("policy.groups", COUNT, &[]),
    Known("policy.prefetch_mb", NUMBER, &[]),
    Known("policy.idle_share", NUMBER, &[]),
    Known("unit.*.does", NAMES, &PRIMITIVES),
    Known("unit.*.words_per_cycle", NUMBER, &[]),
    Known("unit.*.count", COUNT, &[]),
    Known("unit.*.depth_cycles", COUNT, &[]),
    Known("unit.*.transforms", NAME, &["words", "butterflies"]),
    Known("unit.*.transform_depth_cycles", COUNT, &[]),
    Known("unit.*.targets_at_once", COUNT, &[]),
    Known("unit.*.area_mm2", NUMBER, &[]),
    Known("unit.*.power_w", NUMBER, &[]),
    Known("memory.*.kind", NAME, &["registers", "scratchpad", "cache", "off-chip"]),
    Known("memory.*.feeds", NAME, &[]),
    Known("memory.*.capacity_mb", NUMBER, &[]),
    Known("memory.*.bandwidth_gb_s", NUMBER, &[]),
    Known("memory.*.bandwidth_gb_s_per_cluster", NUMBER, &[]),
    Known("memory.*.ports", COUNT, &[]),
    Known("memory.*.port_words_per_cycle", NUMBER, &[]),
    Known("memory.*.results_mb", NUMBER, &[]),
    Known("memory.*.of_cluster", FLAG, &[]),
    Known("memory.*.model", NAME, &["bandwidth", "banks"]),
    Known("memory.*.latency_ns", NUMBER, &[]),
    Known("memory.*.burst_bytes", COUNT, &[]),
    Known("memory.*.channels", COUNT, &[]),
    Known("memory.*.banks", COUNT, &[]),
    Known("memory.*.row_bytes", COUNT, &[]),
    Known("memory.*.trcd_ns", NUMBER, &[]),
    Known("memory.*.tcl_ns", NUMBER, &[]),
    Known("memory.*.trp_ns", NUMBER, &[]),
    Known("memory.*.tras_ns", NUMBER, &[]),
    Known("memory.*.trefi_ns", NUMBER, &[]),
    Known("memory.*.trfc_ns", NUMBER, &[]),
    Known("memory.*.refresh", NAME, &["per-bank", "all-banks"]),
    Known("memory.*.turnaround_ns", NUMBER, &[]),
    Known("memory.*.area_mm2", NUMBER, &[]),
    Known("memory.*.power_w", NUMBER, &[]),
    Known("network.*.topology", NAME, &["all-to-all", "ring", "mesh"]),
    Known("network.*.carries", NAMES, &PATTERNS),
    Known("network.*.bandwidth_gb_s_per_cluster", NUMBER, &[]),
    Known("network.*.fill_cycles", COUNT, &[]),
    Known("network.*.area_mm2", NUMBER, &[]),
    Known("network.*.power_w", NUMBER, &[]),
    Known("host.bandwidth_gb_s", NUMBER, &[]),
];

/// Policies that a file leaves out: the value, as TOML, and the reason that reports give for it.
const USUAL: &[(&str, &str, &str)] = &[
    ("chip.clusters", "1", ""),
    ("chip.boards", "1", ""),
    ("policy.distribution", "\"limb-wise\"", ""),
    ("policy.limbs", "\"whole\"", ""),
    ("policy.words", "\"refuse\"", ""),
    ("policy.makes_twiddles", "true", ""),
    ("policy.seeds", "\"loaded\"", ""),
    ("policy.conversion", "\"beside\"", ""),
    ("policy.groups", "1", ""),
    ("policy.order", "\"list\"", "not said: an operation starts as soon as its operands, its unit and room are there"),
    ("policy.phases", "\"overlapped\"", "not said: functions of one key switch overlap where their data allows it"),
    ("policy.streaming", "false", "not said: an operation starts when its operands are complete"),
    ("policy.scale_with_intt", "true", "not said: an inverse transform takes the factor of a conversion that follows"),
    ("policy.fuse_subtract_scale", "true", "not said: a difference that is only scaled is one multiply-add"),
];

/// The kinds of a composed machine's fields.
pub(crate) const KINDS: Kinds = Kinds { of: kind_of, choices, paths, usual, by_last_word: &BY_LAST_WORD };

/// As the built-in machines of other models have them: a hint that names one holds for every file.
const BY_LAST_WORD: [&str; 9] = [
    "chip.clusters",
    "chip.boards",
    "policy.distribution",
    "policy.limbs",
    "policy.seeds",
    "policy.words",
    "policy.conversion",
    "policy.order",
    "policy.phases",
];

fn usual() -> Vec<Usual> {
    let entry =
        |&(path, value, reason): &(&'static str, &str, &'static str)| Usual { path, value: parsed(value), reason };
    USUAL.iter().map(entry).collect()
}

fn parsed(text: &str) -> Value {
    let table = toml::from_str::<toml::Table>(&format!("value = {text}")).ok();
    table.and_then(|mut table| table.remove("value")).expect("kinds are written as TOML")
}

/// Whether a path is one of a pattern's, whose `*` is any name of letters, digits, `-` and `_`.
fn is_of(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut got) = (pattern.split('.'), path.split('.'));
    let named = |name: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (1..=MOST_LETTERS).contains(&name.len()) && name.chars().all(letter)
    };
    loop {
        match (wanted.next(), got.next()) {
            (None, None) => return true,
            (Some("*"), Some(name)) if named(name) => {}
            (Some(a), Some(b)) if a == b => {}
            _ => return false,
        }
    }
}

/// Longest name of a unit, a memory or a network.
pub(crate) const MOST_LETTERS: usize = 40;

fn known(path: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| is_of(known.0, path))
}

/// A value of the kind of a field.
fn kind_of(path: &str) -> Option<Value> {
    known(path).map(|known| parsed(known.1))
}

/// The texts that a field can be; none where any text is one.
fn choices(path: &str) -> &'static [&'static str] {
    known(path).map_or(&[], |known| known.2)
}

/// The paths that may be meant by an unknown one, with its own name for `*`.
fn paths(unknown: &str) -> Vec<String> {
    let name = unknown.split('.').nth(1).unwrap_or("NAME");
    KNOWN.iter().map(|known| known.0.replace('*', name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{kind, like};

    #[test]
    fn patterns_take_names_and_nothing_else() {
        assert!(is_of("unit.*.count", "unit.ntt-1.count"));
        for path in ["unit.count", "unit..count", "unit.a b.count", "unit.a.b.count", "unit.a.counts", "unit.a"] {
            assert!(!is_of("unit.*.count", path), "{path}");
        }
        assert!(!is_of("unit.*.count", &format!("unit.{}.count", "a".repeat(41))));
    }

    #[test]
    fn what_is_usual_is_of_its_kind() {
        for Usual { path, value, .. } in usual() {
            let wanted = kind_of(path).unwrap();
            assert!(like(&wanted, value.clone()).is_ok(), "{path}: {value} is no {}", kind(&wanted));
            assert!(value.as_str().is_none_or(|text| choices(path).contains(&text)), "{path}");
        }
    }
}
