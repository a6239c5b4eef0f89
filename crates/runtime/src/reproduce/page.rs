//! A reproduction as an HTML page: the table of errors, misses included.

use super::claims::{Choice, Reproduction, Row, Verdict};
use limbwise_machines::html::{
    Page,
    page::{Column, number},
};
use limbwise_math::rns::to_f64;

impl Reproduction {
    /// Every claim beside the model's number, with its error, and how many fare how.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::new(&format!("[{}], reproduced", self.source), &self.about);
        page.section("Paper and model");
        let verdicts = [Verdict::Exact, Verdict::Within10, Verdict::Within25, Verdict::Miss, Verdict::NotDerivable];
        let count = |v: Verdict| format!("{} {}", self.rows.iter().filter(|row| row.verdict == v).count(), v.text());
        page.text(&format!("{} claims: {}.", self.rows.len(), verdicts.map(count).join(", ")));
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
        page
    }
}
