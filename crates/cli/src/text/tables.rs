//! Tables of a plan: the configurations that were compared, and the layers of a network; as text and on a page.

use super::{plan::form, table, units};
use limbwise_runtime::plan::Choice;
use serde_json::Value;

const COLUMNS: usize = 9;

pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// What is to be known of the rows.
    note: &'static str,
    pub(crate) heading: [&'static str; COLUMNS],
    /// Columns of numbers.
    pub(crate) right: &'static [usize],
    pub(crate) rows: Vec<[String; COLUMNS]>,
}

impl Table {
    pub(crate) fn text(&self) -> String {
        format!("{}{}\n{}", self.title, self.note, table::render(self.heading, &self.rows, self.right))
    }
}

/// The configurations that no other beats, and of each arrangement of samples the fastest with its seconds a sample.
pub(crate) fn choices(choices: &[Choice], samples: Option<f64>) -> Option<Table> {
    let (title, note) = ("choices", ", * taken");
    let samples = samples.filter(|_| choices.iter().any(|c| c.samples.is_some()));
    let cells = |c: &Choice| {
        let mark = if c.chosen { "*" } else { "" };
        let strategy = c.strategy.clone().unwrap_or_else(|| "-".into());
        let plaintexts = c.plaintexts.map_or("-", limbwise::ckks::PlaintextForm::name);
        let [keys, clear, peak] = [c.key_bytes, c.plaintext_bytes, c.peak_memory_bytes].map(units::bytes);
        let (count, seconds) = (c.keys.to_string(), units::seconds(c.seconds));
        [mark.into(), strategy, plaintexts.into(), form(c.key_form).into(), count, keys, clear, peak, seconds]
    };
    if choices.is_empty() {
        return None;
    }
    let rows = choices.iter().map(cells);
    let Some(samples) = samples else {
        let heading =
            ["", "strategy", "plaintexts", "keys", "count", "key bytes", "plaintexts", "peak memory", "seconds"];
        return Some(Table { title, note, heading, right: &[4, 5, 6, 7, 8], rows: rows.collect() });
    };
    let heading = ["", "samples", "strategy", "plaintexts", "keys", "key bytes", "peak memory", "seconds", "a sample"];
    let rows = rows.zip(choices).map(|([mark, strategy, form, keys, _, bytes, _, peak, seconds], c)| {
        let (lie, each) = (c.samples.clone().unwrap_or_default(), units::seconds(c.seconds / samples));
        [mark, lie, strategy, form, keys, bytes, peak, seconds, each]
    });
    Some(Table { title, note, heading, right: &[5, 6, 7, 8], rows: rows.collect() })
}

/// A row a layer of a network: where it stands, and what it takes. `None` for layers that are numbers alone.
pub(crate) fn layers(layers: &[Value]) -> Option<Table> {
    let cells = |layer: &Value| {
        let text = |field: &str| layer[field].as_str().unwrap_or_default().to_owned();
        let number = |field: &str| layer[field].as_u64().map_or_else(String::new, |n| n.to_string());
        let boot = if layer["bootstrap"] == true { ", bootstrapped" } else { "" };
        let scale = layer["scale_bits"].as_f64().map_or_else(String::new, |bits| format!("2^{bits:.0}"));
        let bits = layer["bits"].as_f64().map_or_else(String::new, |bits| format!("{bits:.1}"));
        let seconds = layer["seconds"].as_f64().map_or_else(String::new, units::seconds);
        let bytes = layer["bytes"].as_u64().map_or_else(String::new, units::bytes);
        let operation = text("operation") + boot;
        [text("name"), operation, number("level"), scale, bits, number("rotations"), number("keys"), bytes, seconds]
    };
    let heading = ["layer", "operation", "level", "scale", "bits", "rotations", "keys", "bytes", "seconds"];
    layers.first().filter(|layer| layer.is_object())?;
    let rows = layers.iter().map(cells).collect();
    Some(Table { title: "layers", note: "", heading, right: &[2, 3, 4, 5, 6, 7, 8], rows })
}
