//! The text of a plan.

use super::{
    table::{self, line},
    units,
};
use limbwise::rlwe::KeyForm;
use limbwise_runtime::{
    Plan,
    plan::{Choice, KeyReads},
};

/// Most keys that are listed one by one.
const MOST_KEYS: usize = 12;

/// How keys are kept, in a word.
pub(crate) fn form(form: KeyForm) -> &'static str {
    match form {
        KeyForm::Stored => "stored",
        KeyForm::Seeded => "seeded",
        KeyForm::Disk => "on disk",
    }
}

/// A compact table.
pub(crate) fn render(plan: &Plan) -> String {
    let Plan { security, ring, levels, counts, .. } = plan;
    let mut text = table::heading(&plan.head);
    text += &super::params::security_line(security);
    let [chain, special] = ring.limbs;
    text += &line(
        "ring",
        &format!("N = 2^{}, {chain} + {special} limbs, dnum {}, log2(QP) = {:.0}", ring.log_n, ring.dnum, ring.log_qp),
    );
    text += &line("levels", &format!("{} fresh, {} used, {} left", levels.fresh, levels.used, plan.levels_left));
    if let Some(boot) = &plan.bootstrapping {
        let (kind, slots) = (boot.plan.rotations.name(), boot.plan.slots);
        let (levels, failure) = (boot.levels, boot.log2_failure);
        let failure = if failure <= -999.0 { "never".into() } else { format!("with probability 2^{failure:.1}") };
        let values = format!("{slots} slots, {levels} levels each, {kind} rotations; fails {failure}");
        text += &line("bootstrap", &values);
    }
    text += &line("precision", &format!("{:.1} bits expected", plan.precision_bits.predicted));
    text += &line("inputs", &format!("{} encrypted", units::bytes(plan.input_bytes)));
    let (bytes, count) = (units::bytes(plan.key_bytes), plan.keys.len());
    text += &line("keys", &format!("{bytes} in {count} keys, {}", form(plan.key_form)));
    for key in plan.keys.iter().take(MOST_KEYS) {
        text += &line("", &format!("{:>9}  level {:>2}  {}", units::bytes(key.bytes), key.level, key.name));
    }
    if count > MOST_KEYS {
        text += &line("", &format!("and {} more (all with --json)", count - MOST_KEYS));
    }
    if let Some(reads) = &plan.key_reads {
        text += &line("key reads", &key_reads(reads));
    }
    text += &line("plaintexts", &units::bytes(plan.plaintext_bytes));
    text += &line("peak memory", &units::bytes(plan.peak_memory_bytes.predicted));
    text += &units::device_memory(plan.device_memory);
    text += &line(
        "counts",
        &format!(
            "{} limbs transformed, {} modular products",
            units::count(counts.transformed_limbs),
            units::count(counts.products())
        ),
    );
    text += &line("seconds", &units::evaluation(&plan.head.device, plan.seconds_predicted));
    if !plan.choices.is_empty() {
        text += &choices(&plan.choices);
    }
    text
}

/// How keys on disk are read.
pub(super) fn key_reads(reads: &KeyReads) -> String {
    let [read, memory] = [reads.read_bytes, reads.memory_bytes].map(units::bytes);
    let rate = reads.read_gb_s.map_or(String::new(), |rate| format!(" at {rate:.2} GB/s from the page cache"));
    format!("{} of {read}{rate}, at most {memory} in memory", reads.reads)
}

/// The ways that are worth choosing.
fn choices(choices: &[Choice]) -> String {
    let cells = |c: &Choice| {
        let mark = if c.chosen { "*" } else { "" };
        let strategy = c.strategy.clone().unwrap_or_else(|| "-".into());
        let plaintexts = c.plaintexts.map_or("-", limbwise::ckks::PlaintextForm::name);
        let bytes = [c.key_bytes, c.plaintext_bytes, c.peak_memory_bytes].map(units::bytes);
        let [keys, clear, peak] = bytes;
        let (count, seconds) = (c.keys.to_string(), units::seconds(c.seconds));
        [mark.into(), strategy, plaintexts.into(), form(c.key_form).into(), count, keys, clear, peak, seconds]
    };
    let heading = ["", "strategy", "plaintexts", "keys", "count", "key bytes", "plaintexts", "peak memory", "seconds"];
    let rows: Vec<_> = choices.iter().map(cells).collect();
    format!("choices, * taken\n{}", table::render(heading, &rows, &[4, 5, 6, 7, 8]))
}
