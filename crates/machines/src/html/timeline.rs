//! A schedule over time: how busy each unit is, and what region the critical path is in.
//!
//! Time is cut into bins, because a schedule has more tasks than a drawing has points; a bin's height is the share of it in
//! which the unit works. All tasks one by one are in the Chrome trace.

use super::{
    chart::seconds_text,
    page::{Page, escaped},
};
use crate::{report::as_f64, scheduler::Schedule};
use limbwise_graph::Graph;
use serde_json::json;
use std::{collections::BTreeMap, fmt::Write as _};

/// Bins of a timeline.
const BINS: usize = 600;
/// Colors but the last, which is for all other regions.
const COLORS: usize = 7;
/// A region is told apart by its inner ones when it takes more than this share of the time.
const TELLING: f64 = 0.6;
/// Deepest regions that are told apart.
const DEEPEST: usize = 4;

/// Bins by unit, and the region of each bin.
pub(crate) struct Bins {
    /// Units by name, with the share in which each works in each bin, in per cent.
    pub(crate) units: Vec<(String, Vec<u64>)>,
    /// Regions, by their share of the critical path.
    pub(crate) regions: Vec<String>,
    /// Number of the region in each bin.
    pub(crate) at: Vec<usize>,
}

impl Bins {
    pub(crate) fn of(graph: &Graph, schedule: &Schedule) -> Self {
        let ticks = schedule.ticks().max(1);
        let program = &schedule.program;
        let mut busy = vec![vec![0u128; BINS]; program.units.len()];
        for (task, &start) in program.tasks.iter().zip(&schedule.start) {
            let end = start.saturating_add(task.stage.occupancy);
            let unit = &mut busy[usize::from(task.stage.unit)];
            spread(start, end, ticks, |bin, share| unit[bin] += share * u128::from(task.stage.width));
        }
        // Scaled by BINS, a bin is `ticks` long.
        let percent = |sum: &u128, width: u64| {
            let whole = u128::from(ticks) * u128::from(width.max(1));
            u64::try_from((100 * sum + whole / 2) / whole).unwrap_or(100).min(100)
        };
        let units =
            program.units.iter().zip(&busy).zip(&program.widths).map(|((name, bins), &width)| {
                ((*name).to_owned(), bins.iter().map(|sum| percent(sum, width)).collect())
            });
        let (regions, at) = regions(graph, schedule, ticks);
        Self { units: units.collect(), regions, at }
    }
}

/// Cuts ticks `start..end` of `ticks` into bins: the share of each, in units of 1/BINS tick.
fn spread(start: u64, end: u64, ticks: u64, mut add: impl FnMut(usize, u128)) {
    let (ticks, bins) = (u128::from(ticks), BINS as u128);
    let (from, to) = (u128::from(start) * bins, u128::from(end) * bins);
    let mut at = from;
    while at < to {
        let bin = (at / ticks).min(bins - 1);
        let next = if bin == bins - 1 { to } else { to.min((bin + 1) * ticks) };
        add(usize::try_from(bin).unwrap_or(BINS - 1), next - at);
        at = next;
    }
}

/// The region of the critical path in each bin, at the depth that tells most.
fn regions(graph: &Graph, schedule: &Schedule, ticks: u64) -> (Vec<String>, Vec<usize>) {
    let paths = graph.region_paths();
    let path_of = |node: limbwise_graph::NodeId| paths[graph.node(node).region().index()].as_str();
    let mut segments: Vec<(u64, u64, &str)> = Vec::new();
    let mut until = ticks;
    for (task, length) in schedule.critical_path() {
        let start = until.saturating_sub(length);
        segments.push((start, until, path_of(schedule.program.tasks[task.index()].node)));
        until = start;
    }
    let by_region = |depth: usize| {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (start, end, path) in &segments {
            *sums.entry(cut(path, depth)).or_default() += end - start;
        }
        sums
    };
    let tells = |depth: &usize| by_region(*depth).values().all(|&sum| as_f64(sum) <= TELLING * as_f64(ticks));
    let depth = (1..DEEPEST).find(tells).unwrap_or(DEEPEST);
    let mut ordered: Vec<(&str, u64)> = by_region(depth).into_iter().collect();
    ordered.sort_by_key(|(path, sum)| (std::cmp::Reverse(*sum), *path));
    let number: BTreeMap<&str, usize> = ordered.iter().enumerate().map(|(i, (path, _))| (*path, i)).collect();
    let mut most: Vec<BTreeMap<usize, u128>> = vec![BTreeMap::new(); BINS];
    for (start, end, path) in segments {
        let region = number[cut(path, depth)];
        spread(start, end, ticks, |bin, share| *most[bin].entry(region).or_default() += share);
    }
    let largest =
        |sums: &BTreeMap<usize, u128>| sums.iter().max_by_key(|(_, sum)| **sum).map_or(0, |(region, _)| *region);
    let name = |path: &str| if path.is_empty() { "outside of all regions".to_owned() } else { path.to_owned() };
    (ordered.iter().map(|(path, _)| name(path)).collect(), most.iter().map(largest).collect())
}

/// The outermost regions of a path.
fn cut(path: &str, depth: usize) -> &str {
    path.match_indices('/').nth(depth - 1).map_or(path, |(at, _)| &path[..at])
}

const WIDTH: u64 = 1000;
const LEFT: u64 = 110;
const PLOT: u64 = 850;
const RIBBON: u64 = 22;
const ROW: u64 = 40;
const GAP: u64 = 8;

/// Draws a schedule.
pub(crate) fn draw(page: &mut Page, graph: &Graph, schedule: &Schedule) {
    let bins = Bins::of(graph, schedule);
    let seconds = schedule.seconds();
    let height = RIBBON + (GAP + ROW) * bins.units.len() as u64;
    let units: Vec<_> = bins.units.iter().map(|(name, shares)| json!([name, shares])).collect();
    let id = page.data(&json!({
        "bins": BINS, "seconds": seconds, "width": WIDTH, "left": LEFT, "plot": PLOT, "height": height,
        "units": units, "regions": bins.regions, "at": bins.at,
    }));
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {}\" data-id=\"{id}\" role=\"img\" aria-label=\"timeline\">", height + 24);
    let _ = write!(svg, "<text x=\"{}\" y=\"{}\" class=\"end\">critical path</text>", LEFT - 8, RIBBON - 6);
    for (row, (name, _)) in bins.units.iter().enumerate() {
        let y = RIBBON + GAP + (ROW + GAP) * row as u64 + ROW / 2 + 4;
        let _ = write!(svg, "<text x=\"{}\" y=\"{y}\" class=\"end\">{}</text>", LEFT - 8, escaped(name));
    }
    let _ = write!(
        svg,
        "<svg x=\"{LEFT}\" y=\"0\" width=\"{PLOT}\" height=\"{height}\" viewBox=\"0 0 {BINS} {height}\" preserveAspectRatio=\"none\">"
    );
    ribbon(&mut svg, &bins);
    for (row, (_, shares)) in bins.units.iter().enumerate() {
        let bottom = RIBBON + (ROW + GAP) * (row as u64 + 1);
        let _ = write!(svg, "<rect class=\"bed\" x=\"0\" y=\"{}\" width=\"{BINS}\" height=\"{ROW}\"/>", bottom - ROW);
        let mut path = format!("M0 {bottom}");
        for (bin, share) in shares.iter().enumerate() {
            let _ = write!(path, "V{}H{}", as_f64(bottom) - as_f64(ROW * share) / 100.0, bin + 1);
        }
        let _ = write!(svg, "<path class=\"c0 plain\" d=\"{path}V{bottom}Z\"/>");
    }
    svg.push_str("</svg>");
    let ticks = 5u64;
    for i in 0..ticks {
        let x = LEFT + PLOT * i / (ticks - 1);
        let text = seconds_text(seconds * as_f64(i) / as_f64(ticks - 1));
        let _ = write!(svg, "<text class=\"tick soft mid\" x=\"{x}\" y=\"{}\">{text}</text>", height + 18);
    }
    let _ = write!(svg, "<line class=\"marker\" x1=\"{LEFT}\" x2=\"{LEFT}\" y1=\"0\" y2=\"{height}\"/></svg>");
    let mut legend: Vec<(String, usize)> = bins.regions.iter().take(COLORS).cloned().zip(0..).collect();
    if bins.regions.len() > COLORS {
        legend.push(("others".into(), COLORS));
    }
    let caption = "Above: the region that the critical path is in. Below: the share of each moment in which a unit works. \
                   Point at a moment for its numbers; drag over a range to zoom, double-click to see all.";
    page.figure(&svg, caption, &legend);
}

/// Bins of one region beside each other are one bar.
fn ribbon(svg: &mut String, bins: &Bins) {
    let mut start = 0;
    for run in bins.at.chunk_by(|a, b| a == b) {
        let color = run[0].min(COLORS);
        let _ = write!(
            svg,
            "<rect class=\"c{color} plain\" x=\"{start}\" y=\"0\" width=\"{}\" height=\"{RIBBON}\"/>",
            run.len()
        );
        start += run.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_spread_over_bins_and_none_is_lost() {
        for (start, end, ticks) in [(0, 600, 600), (1, 2, 7), (0, 7, 7), (5, 1_000_003, 1_000_003), (599, 600, 600)] {
            let mut bins = vec![0u128; BINS];
            spread(start, end, ticks, |bin, share| bins[bin] += share);
            assert_eq!(bins.iter().sum::<u128>(), u128::from(end - start) * BINS as u128);
            assert!(bins.iter().all(|&b| b <= u128::from(ticks)), "a bin is as long as it is");
            let first = bins.iter().position(|&b| b > 0).unwrap() as u64;
            assert_eq!(first, start * BINS as u64 / ticks);
        }
    }

    #[test]
    fn paths_are_cut_at_a_depth() {
        assert_eq!([1, 2, 3].map(|d| cut("a/b/c", d)), ["a", "a/b", "a/b/c"]);
        assert_eq!((cut("a", 3), cut("", 1)), ("a", ""));
    }
}
