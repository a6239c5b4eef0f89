//! A reproduction as an HTML page: the table of claims with their differences.

use super::{
    claims::{Choice, Reproduction, Row},
    experiments::Setting,
    verdict::{Counts, Verdict},
};
use limbwise_machines::html::{
    Page,
    page::{Column, number},
};
use limbwise_math::rns::to_f64;

const CLAIMS: [(&str, Column); 9] = [
    ("id", Column::Text),
    ("claim", Column::Text),
    ("of", Column::Text),
    ("paper", Column::Number),
    ("model", Column::Number),
    ("error", Column::Number),
    ("verdict", Column::Text),
    ("reading fixed", Column::Text),
    ("why", Column::Text),
];

/// A claim, and a line for each other reading of it, which has no verdict.
fn lines(row: &Row) -> Vec<Vec<String>> {
    let percent = |error: f64| format!("{:+.1} %", 100.0 * error);
    let claim = vec![
        row.id.clone(),
        row.claim(),
        row.circuit.clone(),
        row.paper.to_string(),
        row.model.map_or("–".into(), number),
        row.error.map_or("–".into(), percent),
        row.verdict.text().to_owned(),
        row.fixed.map_or("–", |fixed| fixed.text()).to_owned(),
        row.why.clone(),
    ];
    let readings = row.readings.iter().map(|reading| {
        let (what, none) = (format!("or: {}", reading.what), String::new);
        let (model, error) = (number(reading.model), percent(reading.error));
        vec![none(), what, none(), none(), model, error, none(), none(), reading.why.clone()]
    });
    [claim].into_iter().chain(readings).collect()
}

impl Reproduction {
    /// Every claim beside the model's number, with its difference, and how many fare how.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::new(&format!("[{}], reproduced", self.source), &self.about);
        page.section("Paper and model");
        page.table(&CLAIMS, &self.rows.iter().flat_map(lines).collect::<Vec<_>>());
        let counts = Counts(&self.rows);
        page.text(&format!("{}. Derived claims, by when their reading was fixed:", counts.sentence()));
        let columns = Counts::COLUMNS.map(|name| (name, Column::Number));
        let heading: Vec<_> = [("verdict", Column::Text)].into_iter().chain(columns).collect();
        let line = |(verdict, counts): (Verdict, [usize; 4])| {
            [verdict.text().to_owned()].into_iter().chain(counts.map(|count| count.to_string())).collect()
        };
        page.table(&heading, &counts.table().into_iter().map(line).collect::<Vec<_>>());
        if !self.choices.is_empty() {
            page.section("Options alone and together");
            let row = |c: &Choice| {
                let ms = [c.seconds, c.units_s, c.memory_s].map(|seconds| number(1e3 * seconds));
                let others = [to_f64(c.bytes) / 1e9, c.intensity, c.speed_up].map(number);
                let texts = [c.name.clone(), c.option.clone()];
                texts.into_iter().chain(ms).chain(others).chain([c.why.clone()]).collect()
            };
            let numbers = ["ms", "units, ms", "memory, ms", "GB", "products/byte", "speed-up"];
            let heading: Vec<_> = [("option", Column::Text), ("here", Column::Text)]
                .into_iter()
                .chain(numbers.map(|name| (name, Column::Number)))
                .chain([("why", Column::Text)])
                .collect();
            page.table(&heading, &self.choices.iter().map(row).collect::<Vec<_>>());
        }
        for experiment in &self.experiments {
            page.section(&format!("Experiment: {}", experiment.name));
            page.text(&experiment.about);
            let columns = experiment.columns.iter().map(|column| (column.as_str(), Column::Number));
            let heading: Vec<_> = [("", Column::Text)].into_iter().chain(columns).collect();
            let row =
                |s: &Setting| [s.setting.clone()].into_iter().chain(s.values.iter().map(|&x| number(x))).collect();
            page.table(&heading, &experiment.rows.iter().map(row).collect::<Vec<_>>());
        }
        page
    }
}
