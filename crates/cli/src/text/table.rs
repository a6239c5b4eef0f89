//! Plain tables: columns as wide as their widest cell.

use limbwise_runtime::head::Head;

/// Lines of a table with a heading, two spaces in front; `right` columns from the left are aligned to the right.
pub(crate) fn render<const COLUMNS: usize>(
    heading: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
    right: &[usize],
) -> String {
    let heading = heading.map(str::to_owned);
    let width = |c: usize| std::iter::once(&heading).chain(rows).map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let cell = |(c, text): (usize, &String)| {
            let pad = " ".repeat(widths[c] - text.chars().count());
            if right.contains(&c) { pad + text } else { format!("{text}{pad}") }
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    std::iter::once(&heading).chain(rows).map(line).collect()
}

/// The first line of a plan.
pub(crate) fn heading(head: &Head) -> String {
    let Head { workload, preset, device, isa, threads, .. } = head;
    format!("plan of {workload} with {preset} on {device} ({isa}, {threads} threads)\n")
}

/// A line `  name          value`.
pub(crate) fn line(name: &str, value: &str) -> String {
    format!("  {name:<14} {value}\n")
}

/// Lines of a name and a value, which a terminal and a page show alike.
#[derive(Default)]
pub(crate) struct Lines(Vec<[String; 2]>);

impl Lines {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.push([name.to_owned(), value.into()]);
    }

    /// For a terminal, as [`line`] has them.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|[name, value]| line(name, value)).collect()
    }

    /// For a page: a row of cells each.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        self.0.iter().map(|row| row.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["a".to_owned(), "1".to_owned()], ["µs".to_owned(), "100".to_owned()]];
        assert_eq!(render(["op", "ns"], &rows, &[1]), "  op   ns\n  a     1\n  µs  100\n");
    }
}
