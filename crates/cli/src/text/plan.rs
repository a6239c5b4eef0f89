//! The text of a plan.

use super::{
    params::{power, security},
    table::{self, Lines},
    tables::{self, Table},
    units,
};
use limbwise::rlwe::KeyForm;
use limbwise_apps::Details;
use limbwise_machines::html::page::{Column, Page};
use limbwise_runtime::{
    Plan,
    plan::KeyReads,
    scheme::{BridgedPlan, IntegersPlan, MessagesPlan, SchemePlan, SlotsPlan},
};
use serde_json::Value;

const MOST_KEYS: usize = 12;

/// How keys are kept, in a word.
pub(crate) fn form(form: KeyForm) -> &'static str {
    match form {
        KeyForm::Stored => "stored",
        KeyForm::Seeded => "seeded",
        KeyForm::Disk => "on disk",
    }
}

/// The tables below a plan's lines.
fn tables(plan: &Plan) -> Vec<Table> {
    let samples = plan.details.get("samples").and_then(Value::as_f64);
    let layers = plan.details.get("layers").and_then(Value::as_array).and_then(|layers| tables::layers(layers));
    tables::choices(&plan.choices, samples).into_iter().chain(layers).collect()
}

/// A plan as a page.
pub(crate) fn page(plan: &Plan) -> Page {
    let mut page = Page::new("A program planned", table::heading(&plan.head).trim_end());
    let pairs = [("", Column::Text), ("", Column::Text)];
    if let Some(revealed) = revealed(&plan.details) {
        page.section("What is revealed");
        page.table(&pairs, &revealed.rows().collect::<Vec<_>>());
    }
    page.section("Plan");
    page.table(&pairs, &lines(plan).rows().collect::<Vec<_>>());
    for table in tables(plan) {
        page.section(table.title);
        let heading: Vec<(&str, Column)> = table
            .heading
            .iter()
            .enumerate()
            .map(|(at, &name)| (name, if table.right.contains(&at) { Column::Number } else { Column::Text }))
            .collect();
        page.table(&heading, &table.rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>());
    }
    page
}

pub(crate) fn render(plan: &Plan) -> String {
    let mut text = revealed(&plan.details).map_or_else(String::new, |lines| lines.text());
    text += &table::heading(&plan.head);
    text += &lines(plan).text();
    tables(plan).iter().for_each(|table| text += &table.text());
    text
}

/// What a plan says of the program, line by line.
fn lines(plan: &Plan) -> Lines {
    let mut lines = Lines::default();
    lines.add("security", security(&plan.security));
    match &plan.scheme {
        SchemePlan::Ckks(section) => {
            slots(&mut lines, section);
            twin(&mut lines, &plan.details);
        }
        SchemePlan::Tfhe(section) => messages(&mut lines, section, &plan.details),
        SchemePlan::Bgv(section) => integers(&mut lines, section),
        SchemePlan::Bridged(section) => bridged(&mut lines, section, &plan.details),
    }
    lines.add("inputs", format!("{} encrypted", units::bytes(plan.input_bytes)));
    keys(&mut lines, plan);
    if let Some(reads) = &plan.key_reads {
        lines.add("key reads", key_reads(reads));
    }
    if plan.plaintext_bytes > 0 {
        lines.add("plaintexts", units::bytes(plan.plaintext_bytes));
    }
    lines.add("peak memory", units::bytes(plan.peak_memory_bytes.predicted));
    if let Some(memory) = plan.device_memory {
        lines.add("device memory", units::device_memory(memory));
    }
    let [limbs, products] = [plan.counts.transformed_limbs, plan.counts.products()].map(units::count);
    lines.add("counts", format!("{limbs} limbs transformed, {products} modular products"));
    let whose = (plan.head.device.as_str(), plan.rates.as_deref());
    lines.add("seconds", units::evaluation(whose, plan.seconds_predicted, plan.seconds_interval));
    lines
}

/// All keys, those of TFHE in one line.
fn keys(lines: &mut Lines, plan: &Plan) {
    let (bytes, count) = (units::bytes(plan.key_bytes), plan.keys.len());
    let value = match &plan.scheme {
        SchemePlan::Tfhe(section) => {
            format!("{bytes}, published as {}", units::bytes(section.published_key_bytes))
        }
        SchemePlan::Bridged(_) => {
            format!("{bytes}: two of TFHE, {count} of CKKS and the bridge, {}", form(plan.key_form))
        }
        SchemePlan::Ckks(_) | SchemePlan::Bgv(_) => {
            format!("{bytes} in {count} keys, {}", form(plan.key_form))
        }
    };
    lines.add("keys", value);
    for key in plan.keys.iter().take(MOST_KEYS) {
        lines.add("", format!("{:>9}  level {:>2}  {}", units::bytes(key.bytes), key.level, key.name));
    }
    if count > MOST_KEYS {
        lines.add("", format!("and {} more (all with --json)", count - MOST_KEYS));
    }
}

/// Ring, levels, precision of CKKS.
fn slots(lines: &mut Lines, section: &SlotsPlan) {
    let SlotsPlan { ring, levels, .. } = section;
    let [chain, special] = ring.limbs;
    lines.add(
        "ring",
        format!("N = 2^{}, {chain} + {special} limbs, dnum {}, log2(QP) = {:.0}", ring.log_n, ring.dnum, ring.log_qp),
    );
    lines.add("levels", format!("{} fresh, {} used, {} left", levels.fresh, levels.used, section.levels_left));
    if let Some(boot) = &section.bootstrapping {
        let (kind, slots) = (boot.plan.rotations.name(), boot.plan.slots);
        let (levels, failure) = (boot.levels, boot.log2_failure);
        let failure = if failure <= -999.0 { "never".into() } else { format!("with probability 2^{failure:.1}") };
        let values = format!("{slots} slots, {levels} levels each, {kind} rotations; fails {failure}");
        lines.add("bootstrap", values);
    }
    lines.add("precision", format!("{:.1} bits expected", section.precision_bits.predicted));
}

/// What polynomials in the place of functions change of a network's outputs.
fn twin(lines: &mut Lines, details: &Details) {
    let number = |name: &str| details.get("twin").and_then(|twin| twin.get(name)).and_then(Value::as_f64);
    let names = ["samples", "same_class", "mean_error", "largest_output"].map(number);
    if let [Some(samples), Some(same), Some(mean), Some(largest)] = names {
        let classes = format!("{same:.0} of {samples:.0} samples have the network's class");
        lines.add(
            "polynomials",
            format!("{classes}; outputs differ by {mean:.2e} on average, the largest output is {largest:.3}"),
        );
    }
    if let Some(warning) = warning(details) {
        lines.add("WARNING", warning);
    }
}

/// What is wrong with the data, known before any key.
pub(crate) fn warning(details: &Details) -> Option<&str> {
    details.get("twin")?.get("warning")?.as_str()
}

/// Keys, noise and failures of TFHE.
fn messages(lines: &mut Lines, section: &MessagesPlan, details: &Details) {
    let MessagesPlan { lwe, noise, failure, .. } = section;
    let ring = format!("N = 2^{}, {} masks, a prime of {} bits", lwe.log_n, lwe.masks, lwe.prime_bits);
    lines.add("ring", format!("{ring}; {} steps, narrow key modulo 2^{}", lwe.dimension, lwe.log_modulus));
    lines.add("messages", format!("{} bits, carries included, and a bit of padding", lwe.message_bits));
    let [fresh, rotation, switch, modulus, worst] =
        [noise.fresh, noise.blind_rotation, noise.key_switch, noise.mod_switch, noise.worst].map(power);
    lines.add("noise", format!("{fresh} fresh, {rotation} after a bootstrapping, of the modulus"));
    let before = format!("{switch} by the key switch, {modulus} by the modulus switch");
    lines.add("", format!("{before}, {worst} in all at norm {}", failure.norm));
    let [one, all, promised] = [failure.bootstrapping, failure.program, failure.promised].map(power);
    lines.add("failure", format!("{one} a bootstrapping ({promised} promised), {all} the program"));
    let each = details.get("bootstrappings_per_tree").and_then(Value::as_f64);
    let each = each.map_or_else(String::new, |each| format!(", {each:.2} a tree and row"));
    lines.add("bootstraps", units::count(section.bootstrappings) + &each);
}

/// Ring and noise of BGV.
fn integers(lines: &mut Lines, section: &IntegersPlan) {
    let [chain, special] = section.limbs;
    let ring = format!("N = 2^{}, {chain} + {special} limbs", section.log_n);
    lines.add("ring", format!("{ring}, integers modulo {}", section.plaintext_modulus));
    let budget = match section.budget_bits {
        bits if bits < 0.0 => format!("none: {:.0} bits too much noise; results are compared as phases", -bits),
        bits => format!("{bits:.0} bits left of the result's modulus, at the least"),
    };
    lines.add("noise", budget);
}

/// The bootstrappings of each column, as the details tell them.
fn columns(details: &Value) -> String {
    let name = |c: &Value, field: &str| c[field].as_str().map_or_else(|| c[field].to_string(), ToOwned::to_owned);
    let column = |c: &Value| format!("{} of {} bits {}", name(c, "name"), c["bits"], c["bootstrappings"]);
    let columns = details["columns"].as_array().into_iter().flatten().map(column);
    columns.collect::<Vec<_>>().join(", ")
}

/// What a query reveals, and to whom. It stands before all else.
pub(super) fn revealed(details: &Details) -> Option<Lines> {
    let revealed = details.get("revealed")?;
    let mut lines = Lines::default();
    let text = |c: &Value, field: &str| c[field].as_str().unwrap_or_default().to_owned();
    let listed = |of: &Value, show: &dyn Fn(&Value) -> String| {
        of.as_array().into_iter().flatten().map(show).collect::<Vec<_>>().join(", ")
    };
    let column = |c: &Value| format!("{} ({})", text(c, "column"), text(c, "values"));
    let columns = listed(&revealed["columns"], &column);
    lines.add("server learns", format!("the query, {} rows, and of each column: {columns}", revealed["rows"]));
    let encrypted = |c: &Value| format!("{} ({})", text(c, "column"), text(c, "encrypted"));
    lines.add("encrypted", listed(&revealed["columns"], &encrypted));
    if let Some(public) = revealed.get("public") {
        let values = |group: &Value| listed(&group["values"], &|v| v.as_str().unwrap_or_default().to_owned());
        let groups = listed(public, &|group| format!("{} ({} rows)", values(group), group["rows"]));
        lines.add("public", format!("the server sees the group of each row: {groups}"));
    }
    if let Some(groups) = revealed.get("groups") {
        let names = listed(&groups["columns"], &|name| name.as_str().unwrap_or_default().to_owned());
        let rows = match revealed.get("public") {
            Some(_) => "of columns that are not public, which rows are in them is not",
            None => "which rows are in them is not",
        };
        let told = format!("{} of {names}: their list is known to the server; {rows}", groups["count"]);
        lines.add("groups", told);
    }
    if let Some(join) = revealed.get("join").and_then(Value::as_str) {
        lines.add("join", format!("{join}, matched in the clear before encryption: the server learns no key"));
    }
    let ends = match revealed["ends"].as_u64() {
        None | Some(0) => String::new(),
        Some(ends) => format!(" and {ends} least or largest values"),
    };
    lines.add(
        "client sees",
        format!(
            "{} decrypted sums{ends}, of every group; quotients, HAVING, order and LIMIT are computed from them in the clear",
            revealed["sums"]
        ),
    );
    Some(lines)
}

/// Both schemes of a program over the bridge, and how exact its answer is.
fn bridged(lines: &mut Lines, section: &BridgedPlan, details: &Details) {
    let BridgedPlan { lwe, ring, failure, .. } = section;
    let detail = |name: &str| details.get(name).cloned().unwrap_or_default();
    let (filter, precision) = (detail("filter"), detail("precision"));
    let number = |name: &str| precision[name].as_f64().unwrap_or(0.0);
    let passing = number("rows_expected");
    lines.add("query", detail("sql").as_str().unwrap_or_default());
    lines.add("rows", format!("{}; about {passing:.0} pass if values are spread evenly", detail("rows")));
    let each = filter["bootstrappings_per_row"].as_u64().unwrap_or(0);
    let count = units::count(section.bootstrappings);
    match (section.bootstrappings, each) {
        (0, _) => lines.add("bootstraps", "none: nothing is compared"),
        (_, 0) => lines.add("bootstraps", count),
        _ => lines.add("bootstraps", format!("{count}, {each} a row: {}", columns(&filter))),
    }
    let searches = detail("searches");
    for search in searches.as_array().into_iter().flatten() {
        let name = search["name"].as_str().unwrap_or_default();
        lines.add("", format!("{} to find {name} of {} bits", search["bootstrappings"], search["bits"]));
    }
    let narrow = format!("{} steps, narrow key modulo 2^{}", lwe.dimension, lwe.log_modulus);
    lines
        .add("TFHE", format!("N = 2^{}, {} masks, a prime of {} bits; {narrow}", lwe.log_n, lwe.masks, lwe.prime_bits));
    let ([chain, special], [behind, left]) = (ring.limbs, section.levels);
    let behind = format!("{behind} levels behind the bridge, {left} left");
    lines
        .add("CKKS", format!("N = 2^{}, {chain} + {special} limbs, log QP = {:.1}; {behind}", ring.log_n, ring.log_qp));
    let [one, all, promised] = [failure.bootstrapping, failure.program, failure.promised].map(power);
    let bridge = power(section.log2_bridge_failure);
    if section.bootstrappings > 0 {
        let of_all = format!("{all} all of them, {bridge} the bridge");
        lines.add("failure", format!("{one} a bootstrapping ({promised} promised), {of_all}"));
    }
    let cleaned = precision["cleaned"].as_bool().unwrap_or(false);
    let cleaned = if cleaned { "after cleaning" } else { "not cleaned: no two levels are left for it" };
    if each > 0 {
        lines.add("bits", format!("off by {} each, {cleaned}", power(number("bit_error").log2())));
    }
    let [off, part] = [number("sum_error"), number("sum_relative_error")];
    let values = "rows x bit error x largest value, and arithmetic";
    let revealed = detail("revealed");
    if revealed["sums"] == 0 {
        if revealed["ends"] == 0 {
            lines.add("answer", "known to both sides without a key: the domains decide it");
        }
        return;
    }
    lines.add("sum", format!("off by {off:.1e} at most, {part:.1e} of the largest it can be: {values}"));
    match precision["sums_exact"].as_bool() {
        Some(true) => lines.add("", "each sum is rounded to its last digit"),
        _ => lines.add("", "not below half of the last digit: sums that lie closer are ordered by noise"),
    }
}

pub(super) fn key_reads(reads: &KeyReads) -> String {
    let [read, memory] = [reads.read_bytes, reads.memory_bytes].map(units::bytes);
    let rate = reads.read_gb_s.map_or(String::new(), |rate| format!(" at {rate:.2} GB/s from the page cache"));
    format!("{} of {read}{rate}, at most {memory} in memory", reads.reads)
}
