//! The text of a run.

use super::{table::line, units};
use limbwise::ckks::{ShadowReport, audit::RegionPrecision};
use limbwise_runtime::{RunReport, clock::Step, keys::Traffic};
use serde_json::Value;

/// Results first, then every measurement beside its prediction.
pub(crate) fn render(report: &RunReport) -> String {
    let mut text = String::from("result\n");
    if let Some(reason) = &report.insecure_reason {
        text += &line("INSECURE", reason);
    }
    if let Some(layer) = report.details.get("layer").and_then(Value::as_str) {
        text += &line("layer", layer);
        text += &line("map", &map(&report.details));
    }
    text += &quality(report);
    let number = |name: &str| report.details.get(name).and_then(Value::as_f64);
    if let (Some(seconds), Some(share), Some(won)) =
        (number("bootstrap_seconds"), number("t_as_us"), number("levels_won"))
    {
        text += &line("bootstrap", &format!("{} for {won:.0} levels", units::seconds(seconds)));
        text += &line("T_A.S.", &format!("{share:.2} µs a level and slot, multiplications included"));
    }
    if let (Some(seconds), Some(boot)) = (number("seconds_an_iteration"), number("bootstrap_seconds_of_it")) {
        let (seconds, boot) = (units::seconds(seconds), units::seconds(boot));
        text += &line("iteration", &format!("{seconds} on average, bootstrapping {boot} of it"));
    }
    let bits = report.precision_bits;
    let values = format!("{:.1} bits mean, {:.1} least; {:.1} predicted", bits.mean, bits.min, bits.predicted);
    text += &line("precision", &values);
    let seconds = [report.seconds, report.seconds_predicted];
    text += &line("seconds", &units::evaluated(&report.head.device, seconds));
    let peak = report.peak_memory_bytes;
    let measured = peak.measured.map_or_else(|| "not told by this system".into(), units::bytes);
    text += &line("peak memory", &format!("{measured}; {} predicted", units::bytes(peak.predicted)));
    let (keys, plaintexts) = (units::bytes(report.key_bytes), units::bytes(report.plaintext_bytes));
    text += &line("bytes", &format!("keys {keys}, plaintexts {plaintexts}"));
    if let Some(reading) = &report.key_reads {
        let waited = units::seconds(reading.measured.waited_seconds);
        let Traffic { reads, late, .. } = reading.measured;
        text += &line("key reads", &super::plan::key_reads(&reading.planned));
        text += &line("", &format!("{reads} measured, {late} of them not ahead of use; {waited} waited for"));
    }
    text += &line("levels left", &report.levels_left.to_string());
    if let Some(shadow) = &report.shadow {
        text += &shadow_lines(shadow);
    }
    text += &line("steps", &steps(&report.steps));
    for warning in &report.warnings {
        text += &line("WARNING", warning);
    }
    text
}

/// What a model is worth, beside its clear twins.
fn quality(report: &RunReport) -> String {
    let mut text = String::new();
    let detail = |path: &str| report.details.get(path.split('/').next()?).and_then(|v| find(v, path));
    if let Some(accuracy) = report.accuracy {
        let truth = detail("true_sigmoid/accuracy").map(|a| format!(", true sigmoid {}", units::percent(a)));
        let (encrypted, clear) = (units::percent(accuracy.encrypted), units::percent(accuracy.clear));
        let rows = detail("rows/test").map(|rows| format!(" ({rows} held-back rows)"));
        text += &line(
            "accuracy",
            &format!(
                "encrypted {encrypted}, clear twin {clear}{}{}",
                truth.unwrap_or_default(),
                rows.unwrap_or_default()
            ),
        );
    }
    let auc = ["auc/encrypted", "auc/clear", "true_sigmoid/auc"].map(detail);
    if let [Some(encrypted), Some(clear), Some(truth)] = auc {
        let values = format!("encrypted {encrypted:.4}, clear twin {clear:.4}, true sigmoid {truth:.4}");
        text += &line("AUC", &values);
    }
    text
}

/// Steps with their times, those of one name together.
fn steps(steps: &[Step]) -> String {
    let mut all: Vec<(&str, f64, usize)> = Vec::new();
    for step in steps {
        match all.iter_mut().find(|(name, ..)| *name == step.name) {
            Some((_, seconds, times)) => (*seconds, *times) = (*seconds + step.seconds, *times + 1),
            None => all.push((&step.name, step.seconds, 1)),
        }
    }
    let one = |&(name, seconds, times): &(&str, f64, usize)| match times {
        1 => format!("{name} {}", units::seconds(seconds)),
        _ => format!("{times} × {name} {}", units::seconds(seconds)),
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Most regions that are listed one by one.
const MOST_REGIONS: usize = 24;

/// What shadow mode found, the worst regions of many.
fn shadow_lines(shadow: &ShadowReport) -> String {
    let found = shadow.first.as_ref().map_or_else(|| "all within bounds".into(), |first| format!("WRONG: {first}"));
    let mut text = line("shadow", &format!("{} results compared, {found}", shadow.operations));
    let mut regions: Vec<_> = shadow.regions.iter().collect();
    if regions.len() > MOST_REGIONS {
        regions.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    }
    for RegionPrecision { region, operations, mean, min } in regions.iter().take(MOST_REGIONS) {
        let region = if region.is_empty() { "(outside of all regions)" } else { region };
        text += &line("", &format!("{mean:>5.1} bits mean, {min:>5.1} least in {operations:>4} of {region}"));
    }
    if shadow.regions.len() > MOST_REGIONS {
        text += &line("", &format!("and {} better regions (all with --json)", shadow.regions.len() - MOST_REGIONS));
    }
    text
}

/// How a linear layer was evaluated.
fn map(details: &serde_json::Map<String, Value>) -> String {
    let word =
        |name: &str| details.get(name).map_or_else(String::new, |v| v.as_str().map_or(v.to_string(), Into::into));
    let [diagonals, maps, fold] = ["diagonals", "maps", "fold"].map(word);
    let maps = if maps == "1" { String::new() } else { format!(" in the largest of {maps} maps") };
    let fold = if fold == "1" { String::new() } else { format!(", {fold} parts added up by rotation") };
    format!("{diagonals} diagonals{maps}, {}, {} plaintexts{fold}", word("strategy"), word("plaintexts"))
}

/// The number at the rest of a path whose first part led to `value`.
fn find(value: &Value, path: &str) -> Option<f64> {
    path.split('/').skip(1).try_fold(value, |v, key| v.get(key))?.as_f64()
}
