//! Texts of questions to encrypted tables.

use super::{
    params::security_line,
    table::{self, line},
    units,
};
use limbwise_runtime::query::QueryPlan;
use serde_json::Value;

/// A power of two with one decimal.
fn power(log2: f64) -> String {
    format!("2^{log2:.1}")
}

/// The bootstrappings of each column, as the details tell them.
fn columns(details: &Value) -> String {
    let name = |c: &Value, field: &str| c[field].as_str().map_or_else(|| c[field].to_string(), ToOwned::to_owned);
    let column = |c: &Value| format!("{} of {} bits {}", name(c, "name"), c["bits"], c["bootstrappings"]);
    let columns = details["columns"].as_array().into_iter().flatten().map(column);
    columns.collect::<Vec<_>>().join(", ")
}

/// A compact table.
pub(crate) fn plan(plan: &QueryPlan) -> String {
    let QueryPlan { lwe, ring, failure, counts, precision, details, .. } = plan;
    let mut text = table::heading(&plan.head);
    text += &security_line(&plan.security);
    let (rows, filter) = (&details["rows"], &details["filter"]);
    text += &line("query", details["sql"].as_str().unwrap_or_default());
    text += &line("rows", &format!("{rows}; about {:.0} pass if values are spread evenly", precision.rows_expected));
    let each = &filter["bootstrappings_per_row"];
    text += &line("bootstraps", &format!("{}, {each} a row: {}", units::count(plan.bootstrappings), columns(filter)));
    let narrow = format!("{} steps, narrow key modulo 2^{}", lwe.dimension, lwe.log_modulus);
    text += &line(
        "TFHE",
        &format!("N = 2^{}, {} masks, a prime of {} bits; {narrow}", lwe.log_n, lwe.masks, lwe.prime_bits),
    );
    let [chain, special] = ring.limbs;
    let [behind, left] = plan.levels;
    text += &line(
        "CKKS",
        &format!(
            "N = 2^{}, {chain} + {special} limbs, log QP = {:.1}; {behind} levels behind the bridge, {left} left",
            ring.log_n, ring.log_qp
        ),
    );
    let [one, all, promised] = [failure.bootstrapping, failure.program, failure.promised].map(power);
    text += &line(
        "failure",
        &format!(
            "{one} a bootstrapping ({promised} promised), {all} all of them, {} the bridge",
            power(plan.log2_bridge_failure)
        ),
    );
    let cleaned = if precision.cleaned { "after cleaning" } else { "not cleaned: no two levels are left for it" };
    text += &line("bits", &format!("off by {} each, {cleaned}", power(precision.bit_error.log2())));
    text += &line(
        "sum",
        &format!(
            "off by {:.1e} of itself at most: rows x bit error / rows that pass, and arithmetic",
            precision.sum_relative_error
        ),
    );
    let [keys, inputs, plain, peak] =
        [plan.key_bytes, plan.input_bytes, plan.plaintext_bytes, plan.peak_memory_bytes.predicted].map(units::bytes);
    text += &line("inputs", &format!("{inputs} encrypted"));
    text += &line("keys", &format!("{keys}: two of TFHE, {} of CKKS and the bridge", plan.keys.len()));
    text += &line("plaintexts", &plain);
    text += &line("peak memory", &peak);
    text += &units::device_memory(plan.device_memory);
    let [limbs, products] = [counts.transformed_limbs, counts.products()].map(units::count);
    text += &line("counts", &format!("{limbs} limbs transformed, {products} modular products"));
    text + &line("seconds", &units::evaluation(&plan.head.device, plan.seconds_predicted))
}

/// Results first, then every measurement beside its prediction.
#[cfg(feature = "client")]
pub(crate) fn run(report: &limbwise_runtime::query::QueryReport) -> String {
    let mut text = String::from("result\n");
    if let Some(reason) = &report.insecure_reason {
        text += &line("INSECURE", reason);
    }
    let rows = &report.details["rows"];
    let answer = &report.answer;
    text += &line(
        "answer",
        &format!("{:.4}; exact {}; off by {:.1e} of it", answer.decrypted, answer.exact, answer.relative_error),
    );
    let predicted = format!("{:.1e} at most predicted", report.precision.sum_relative_error);
    text += &line("", &predicted);
    text += &line(
        "rows",
        &format!("{} of {rows} pass; {} decided otherwise than in the clear", report.rows_passing, report.wrong),
    );
    let [largest, expected] = [report.largest_bit_error, report.precision.bit_error].map(|e| power(e.log2()));
    text += &line("bits", &format!("off by {largest} at most; {expected} predicted of one"));
    text += &line("failure", &format!("{} at most", power(report.log2_failure)));
    let seconds = units::evaluated(&report.head.device, [report.seconds, report.seconds_predicted]);
    text += &line("seconds", &format!("{seconds}; {} a row", units::seconds(report.seconds_per_row)));
    let peak = report.peak_memory_bytes;
    let measured = peak.measured.map_or_else(|| "not told by this system".into(), units::bytes);
    text += &line("peak memory", &format!("{measured}; {} predicted", units::bytes(peak.predicted)));
    text += &line("keys", &units::bytes(report.key_bytes));
    let steps = report.steps.iter().map(|s| format!("{} {}", s.name, units::seconds(s.seconds)));
    text + &line("steps", &steps.collect::<Vec<_>>().join(", "))
}
