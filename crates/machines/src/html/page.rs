//! A page: sections of text, tables and drawings, with its style and its few lines of script inside.
//!
//! What is not trusted (names of regions, paths, reasons) passes [`escaped`]. The page forbids itself every request by a
//! content security policy, so that a mistake here cannot become one either.

use std::{fmt::Write as _, num::NonZeroU32};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// A page under way.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    sections: Vec<(String, String)>,
    data: usize,
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Words.
    Text,
    /// Numbers, to the right.
    Number,
}

impl Page {
    /// An empty page; `about` is the line below its title.
    #[must_use]
    pub fn new(title: &str, about: &str) -> Self {
        let (title, about) = (escaped(title), escaped(about));
        let body = format!("<header><h1>{title}</h1><p>{about}</p></header>\n");
        Self { title, body, sections: Vec::new(), data: 0 }
    }

    /// Begins a section; its heading is listed at the top of the page.
    pub fn section(&mut self, heading: &str) {
        let (id, heading) = (format!("s{}", self.sections.len()), escaped(heading));
        let _ = writeln!(self.body, "<h2 id=\"{id}\">{heading}</h2>");
        self.sections.push((id, heading));
    }

    /// A paragraph.
    pub fn text(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    /// A table with its heading; `class` is for its rows' cells, one class each, where one says more than its text.
    pub fn table(&mut self, heading: &[(&str, Column)], rows: &[Vec<String>]) {
        let class =
            |at: usize| if heading.get(at).is_some_and(|h| h.1 == Column::Number) { " class=\"n\"" } else { "" };
        let cells = |tag: &str, row: Vec<&str>| -> String {
            let cell = |(at, text): (usize, &str)| format!("<{tag}{}>{}</{tag}>", class(at), escaped(text));
            row.into_iter().enumerate().map(cell).collect()
        };
        let head = cells("th", heading.iter().map(|(name, _)| *name).collect());
        let _ = writeln!(self.body, "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>");
        for row in rows {
            let _ = writeln!(self.body, "<tr>{}</tr>", cells("td", row.iter().map(String::as_str).collect()));
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// A drawing with its caption and legend: names beside the numbers of their colors.
    pub(crate) fn figure(&mut self, svg: &str, caption: &str, legend: &[(String, usize)]) {
        let _ = writeln!(self.body, "<figure>{svg}");
        if !legend.is_empty() {
            let key = |(name, color): &(String, usize)| format!("<li><i class=\"c{color}\"></i>{}</li>", escaped(name));
            let _ = writeln!(self.body, "<ul class=\"key\">{}</ul>", legend.iter().map(key).collect::<String>());
        }
        let _ = writeln!(self.body, "<figcaption>{}</figcaption></figure>", escaped(caption));
    }

    /// Numbers for the script, which finds them by the name returned.
    pub(crate) fn data(&mut self, json: &serde_json::Value) -> String {
        let id = format!("d{}", self.data);
        self.data += 1;
        // "</script>" in a text would end the element.
        let text = json.to_string().replace('<', "\\u003c");
        let _ = writeln!(self.body, "<script type=\"application/json\" id=\"{id}\">{text}</script>");
        id
    }

    /// The whole file.
    #[must_use]
    pub fn render(&self) -> String {
        self.render_with("; script-src 'unsafe-inline'", "", &format!("\n<script>\n{SCRIPT}</script>"))
    }

    /// The same without scripts, for a server; a browser asks for it again after so many seconds.
    #[must_use]
    pub fn render_still(&self, again: Option<NonZeroU32>) -> String {
        let again = again.map(|seconds| format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">\n"));
        self.render_with("", &again.unwrap_or_default(), "")
    }

    fn render_with(&self, policy: &str, meta: &str, script: &str) -> String {
        let Self { title, body, sections, .. } = self;
        let link = |(id, heading): &(String, String)| format!("<a href=\"#{id}\">{heading}</a>");
        let contents: String = sections.iter().map(link).collect();
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{policy}\">\n{meta}\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style></head>\n<body>\n<nav>{contents}</nav>\n<main>\n{body}</main>\n\
             <footer>limbwise {version}</footer>{script}\n</body></html>\n"
        )
    }
}

/// A text as HTML shows it.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Four significant digits.
#[must_use]
pub fn number(x: f64) -> String {
    let text = format!("{x:.3e}");
    let exponent = text.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok()).unwrap_or(0);
    match usize::try_from(3 - exponent) {
        Ok(decimals) if decimals <= 6 => format!("{x:.decimals$}"),
        Err(_) if exponent <= 5 => format!("{x:.0}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let wanted = ["0.000", "1.000", "0.003841", "418.2", "12346", "1.235e7", "1.234e-5", "-2.500"];
        assert_eq!([0.0, 1.0, 0.003_841_2, 418.2, 12_345.6, 12_345_678.0, 1.234e-5, -2.5].map(number), wanted);
    }

    #[test]
    fn what_is_not_trusted_stays_text() {
        let evil = "</script><script>alert(1)</script>\"'&";
        let mut page = Page::new(evil, evil);
        page.section(evil);
        page.text(evil);
        page.table(&[(evil, Column::Text)], &[vec![evil.into()]]);
        page.figure("<svg></svg>", evil, &[(evil.into(), 1)]);
        let id = page.data(&serde_json::json!({ "name": evil }));
        let html = page.render();
        assert!(!html.contains("<script>alert") && !html.contains("alert(1)</script>\""), "{html}");
        // The data come back as they were.
        let start = html.find(&format!("id=\"{id}\">")).unwrap() + id.len() + 6;
        let end = start + html[start..].find("</script>").unwrap();
        let back: serde_json::Value = serde_json::from_str(&html[start..end]).unwrap();
        assert_eq!(back["name"], evil);
    }
}
