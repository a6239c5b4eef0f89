//! The text of a run.

use super::{params::power, plan, table::line, units};
use limbwise::ckks::{ShadowReport, audit::RegionPrecision};
use limbwise_apps::{
    Accuracy, Details,
    family::{AnswerTable, Cell, Checked, NULL},
};
use limbwise_runtime::{
    RegionSeconds, RunReport,
    clock::Step,
    keys::Traffic,
    scheme::{BridgedRun, IntegersRun, MessagesRun, NEVER, SchemeRun, SlotsRun},
};
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
    text += &match &report.scheme {
        SchemeRun::Ckks(section) => slots(section, report),
        SchemeRun::Tfhe(section) => messages(section, report),
        SchemeRun::Bgv(section) => integers(section),
        SchemeRun::Bridged(section) => bridged(section, report),
    };
    let seconds = units::evaluated(&report.head.device, [report.seconds, report.seconds_predicted]);
    let each = match &report.scheme {
        SchemeRun::Tfhe(section) => {
            let (each, count) = (section.ms_per_bootstrapping / 1e3, units::count(section.bootstrappings));
            format!("; {} each of {count} bootstrappings", units::seconds(each))
        }
        _ => number(report, "seconds_per_row").map_or_else(String::new, |s| format!("; {} a row", units::seconds(s))),
    };
    text += &line("seconds", &(seconds + &each));
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
    if let SchemeRun::Ckks(section) = &report.scheme {
        text += &line("levels left", &section.levels_left.to_string());
        if let Some(shadow) = &section.shadow {
            text += &shadow_lines(shadow);
        }
    }
    text += &line("steps", &steps(&report.steps));
    text += &report.profile.as_deref().map_or_else(String::new, profile_lines);
    for warning in &report.warnings {
        text += &line("WARNING", warning);
    }
    text
}

/// A number that the workload adds.
fn number(report: &RunReport, name: &str) -> Option<f64> {
    report.details.get(name).and_then(Value::as_f64)
}

/// What a program on slots is worth, and how precise it is.
fn slots(section: &SlotsRun, report: &RunReport) -> String {
    let number = |name: &str| number(report, name);
    let mut text = quality(section.accuracy, &report.details);
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
    let bits = section.precision_bits;
    let values = format!("{:.1} bits mean, {:.1} least; {:.1} predicted", bits.mean, bits.min, bits.predicted);
    text += &line("precision", &values);
    let same = ["same_class_as_clear", "polynomial_same_class_as_clear", "samples"].map(number);
    if let [Some(same), Some(polynomial), Some(samples)] = same {
        let twin = format!("{polynomial:.0} by the twin with polynomials");
        text += &line("classes", &format!("{same:.0} of {samples:.0} as the network's in the clear; {twin}"));
    }
    text
}

/// Classes and their accuracy: of a network of neurons, of a forest.
fn classes(details: &Details) -> String {
    let mut text = String::new();
    if let Some(accuracy) = details.get("accuracy") {
        let percent = |name: &str| format!("{:.1} %", 100.0 * accuracy[name].as_f64().unwrap_or(0.0));
        let trained = match accuracy.get("judged") {
            Some(judged) => format!("{} of {judged} images after training", percent("network")),
            None => format!("{} by the forest of floats", percent("floats")),
        };
        let [twin, encrypted] = ["twin", "encrypted"].map(percent);
        text += &line("accuracy", &format!("{encrypted} encrypted, {twin} by the clear twin; {trained}"));
    }
    if let Some(classes) = details.get("classes") {
        let labels = details.get("labels").map_or_else(String::new, |labels| format!("; they are {labels}"));
        text += &line("classes", &format!("{classes}{labels}"));
    }
    if let Some(error) = details.get("largest_error_of_quantization").and_then(Value::as_f64) {
        text += &line("scores", &format!("at most {error:.4} from those of the forest of floats"));
    }
    text
}

/// Messages, classes and noise of TFHE.
fn messages(section: &MessagesRun, report: &RunReport) -> String {
    let right = section.messages - section.wrong;
    let failure = format!("fails with probability {} at most", power(section.log2_failure));
    let mut text = line("messages", &format!("{right} of {} as the clear twin; {failure}", section.messages));
    text += &classes(&report.details);
    let [found, expected] = [section.noise_found.measured, section.noise_found.bootstrapping].map(power);
    text += &line("noise", &format!("{found} of the modulus; {expected} predicted of one bootstrapping"));
    text + &line("published", &format!("{} of keys", units::bytes(section.published_key_bytes)))
}

/// Integers of BGV, and the noise that they had left.
fn integers(section: &IntegersRun) -> String {
    let (right, all) = (section.compared - section.wrong, section.compared);
    let what = match section.checked {
        Checked::Integers => "integers as the clear twin's",
        Checked::Phases => "phases as they must be, modulo every prime: this modulus holds no product to decrypt",
    };
    let mut text = line("compared", &format!("{right} of {all} {what}"));
    let predicted = section.budget_bits.predicted;
    if let Some(measured) = section.budget_bits.measured {
        text += &line("noise", &format!("{measured:.0} bits of budget left; {predicted:.0} by the bound"));
    }
    for (name, values) in &section.results {
        let shown: Vec<String> = values.iter().take(8).map(i64::to_string).collect();
        let more =
            if values.len() > 8 { format!(" … ({} in all, --json has them)", values.len()) } else { String::new() };
        text += &line(name, &(shown.join(" ") + &more));
    }
    text
}

/// The rows of an answer below the names of its columns: what was decrypted, with the exact number behind it.
fn rows(table: &AnswerTable) -> String {
    let cell = |cell: &Cell| match cell {
        Cell::Key(value) => value.clone(),
        Cell::Number(number) => format!("{} ({})", number.shown(4), number.exact),
        Cell::Null(()) => NULL.into(),
    };
    let named = |row: &Vec<Cell>| {
        let cells = table.columns.iter().zip(row).map(|(name, of)| format!("{name} {}", cell(of)));
        line("", &cells.collect::<Vec<_>>().join(", "))
    };
    table.rows.iter().map(named).collect()
}

/// An answer, and the rows it is of.
fn bridged(section: &BridgedRun, report: &RunReport) -> String {
    let answer = &section.answer;
    let precision = report.details.get("precision").cloned().unwrap_or_default();
    let predicted = |name: &str| precision[name].as_f64().unwrap_or(0.0);
    let off = format!("off by {:.1e} of it", answer.relative_error);
    let mut text = plan::revealed(&report.details).map_or_else(String::new, |lines| lines.text());
    text += &match &section.table {
        None => line("answer", &format!("{}; exact {}; {off}", answer.shown(4), answer.exact)),
        Some(table) => {
            line("answer", &format!("{} rows; the number that is off most is {off}", table.rows.len())) + &rows(table)
        }
    };
    text += &line("", &format!("off by {:.1e} at most predicted, for any values", predicted("sum_error")));
    let (passing, rows) = (section.rows_passing, section.rows);
    let wrong = format!("{} decided otherwise than in the clear", section.wrong);
    text += &line("rows", &format!("{passing} of {rows} pass; {wrong}"));
    let [largest, expected] = [section.largest_bit_error, predicted("bit_error")].map(|e| power(e.log2()));
    if predicted("bit_error") > 0.0 {
        text += &line("bits", &format!("off by {largest} at most; {expected} predicted of one"));
    }
    if section.log2_failure > NEVER {
        text += &line("failure", &format!("{} at most", power(section.log2_failure)));
    }
    text
}

/// What a model is worth, beside its clear twins.
fn quality(accuracy: Option<Accuracy>, details: &Details) -> String {
    let mut text = String::new();
    let detail = |path: &str| details.get(path.split('/').next()?).and_then(|v| find(v, path));
    if let Some(accuracy) = accuracy {
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

const MOST_REGIONS: usize = 24;

/// The regions that took longest, measured beside predicted.
fn profile_lines(profile: &[RegionSeconds]) -> String {
    let mut text = line("profile", "  measured   predicted  region, inner ones included");
    let mut longest: Vec<&RegionSeconds> = profile.iter().collect();
    longest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    for RegionSeconds { path, entered, seconds, seconds_predicted } in longest.iter().take(MOST_REGIONS) {
        let predicted = seconds_predicted.map_or_else(|| "-".into(), units::seconds);
        let times = if *entered > 1 { format!(" ({entered} times)") } else { String::new() };
        text += &line("", &format!("{:>10}  {predicted:>10}  {path}{times}", units::seconds(*seconds)));
    }
    if longest.len() > MOST_REGIONS {
        text += &line("", &format!("and {} shorter regions (all with --json)", longest.len() - MOST_REGIONS));
    }
    text
}

/// What shadow mode found, the worst regions of many.
fn shadow_lines(shadow: &ShadowReport) -> String {
    let found = shadow.first.as_ref().map_or_else(|| "all within bounds".into(), |first| format!("WRONG: {first}"));
    let mut text = line("shadow", &format!("{} results compared, {found}", shadow.operations));
    if let Some(beyond) = &shadow.beyond {
        text += &line("", &format!("the first beyond its modulus, which later sums may undo: {beyond}"));
    }
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
