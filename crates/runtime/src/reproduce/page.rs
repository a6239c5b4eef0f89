//! A reproduction as an HTML page: the table of errors, misses included.

use super::{
    claims::{Choice, Reproduction, Row, Verdict},
    experiments::Setting,
};
use limbwise_machines::html::{
    Page,
    page::{Column, number},
};
use limbwise_math::rns::to_f64;

impl Reproduction {
    /// Every claim beside the model's number, with its error, and how many fare how.
    pub fn page(&self) -> Page {
        let mut page = Page::new(&format!("[{}], reproduced", self.source), &self.about);
        page.section("Paper and model");
        page.text(&format!("{} claims: {}.", self.rows.len(), Verdict::counts(&self.rows)));
        let row = |r: &Row| {
            let what = if r.unit.is_empty() { r.what.clone() } else { format!("{}, {}", r.what, r.unit) };
            let model = r.model.map_or("–".into(), number);
            let error = r.error.map_or("–".into(), |e| format!("{:+.1} %", 100.0 * e));
            let verdict = r.verdict.text().to_owned();
            vec![r.id.clone(), what, r.circuit.clone(), r.paper.to_string(), model, error, verdict, r.why.clone()]
        };
        let heading = [
            ("id", Column::Text),
            ("claim", Column::Text),
            ("of", Column::Text),
            ("paper", Column::Number),
            ("model", Column::Number),
            ("error", Column::Number),
            ("verdict", Column::Text),
            ("why", Column::Text),
        ];
        page.table(&heading, &self.rows.iter().map(row).collect::<Vec<_>>());
        if !self.choices.is_empty() {
            page.section("Options alone and together");
            let row = |c: &Choice| {
                let numbers = [1e3 * c.seconds, to_f64(c.bytes) / 1e9, c.intensity, c.speed_up].map(number);
                [c.name.clone(), c.option.clone()].into_iter().chain(numbers).collect()
            };
            let numbers = ["ms", "GB", "products a byte", "speed-up"].map(|name| (name, Column::Number));
            let heading: Vec<_> =
                [("option", Column::Text), ("here", Column::Text)].into_iter().chain(numbers).collect();
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
