//! Texts about sweeps.

use super::units;
use crate::verbs::sweep::Found;
use limbwise_machines::html::page::number;
use limbwise_runtime::sweep::{Grid, Metric};

pub(crate) fn heading(words: &[String], programs: usize, points: usize) -> String {
    let (programs, points) = (units::count(programs as u64), units::count(points as u64));
    format!("{}\n  programs: {programs}, points: {points}\n", words.join(" "))
}

/// Counts, reasons and the front.
pub(crate) fn render(found: &Found, grid: &Grid) -> String {
    let mut text = format!("  {} timed\n", units::count(found.timed as u64));
    for (reason, count) in &found.refused {
        text += &format!("  {} refused: {reason}\n", units::count(*count as u64));
    }
    if found.front.is_empty() {
        return text + "no point has every objective\n";
    }
    // Fields that have one value say nothing of a point.
    let fields: Vec<&str> = grid.axes().filter(|a| a.values.len() > 1).map(|a| a.name.as_str()).collect();
    let heading = fields.iter().copied().chain(found.objectives.iter().copied()).map(str::to_owned).collect();
    let mut lines: Vec<Vec<String>> = vec![heading];
    for best in &found.front {
        let field = |name: &&str| best.row.point.get(*name).cloned().unwrap_or_default();
        let number = |name: &&str| Metric::named(name).and_then(|m| m.of(&best.row)).map_or_else(String::new, number);
        lines.push(fields.iter().map(field).chain(found.objectives.iter().map(number)).collect());
    }
    let count = units::count(found.front.len() as u64);
    let all = units::count(found.timed as u64);
    text += &format!("no other beats {count} of {all} points by {}:\n", found.objectives.join(", "));
    text += &aligned(&lines);
    text + &format!("the first again, in full:\n  {}\n", found.front[0].command)
}

fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| lines.iter().filter_map(|line| line.get(c)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
    let pad = |(cell, width): (&String, &usize)| " ".repeat(width - cell.chars().count()) + cell;
    let line = |line: &Vec<String>| format!("  {}\n", line.iter().zip(&widths).map(pad).collect::<Vec<_>>().join("  "));
    lines.iter().map(line).collect()
}
