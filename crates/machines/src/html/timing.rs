//! A program on a machine as sections of a page: summary, timeline, traffic, regions, assumptions.

use super::{
    chart::{bars, roofline, seconds_text},
    page::{Column, Page, number},
    timeline,
};
use crate::{
    lower::role_name,
    machine::Machine,
    program::TaskKind,
    report::{Report, as_f64},
    scheduler::Schedule,
};
use limbwise_graph::Graph;
use std::collections::BTreeMap;

use Column::{Number, Text};

/// Roles in one order, and so in one color, in all drawings.
const ROLES: [&str; 6] = ["ciphertext", "evaluation_key", "plaintext", "temporary", "result", "bootstrap_key"];
/// Regions in tables and drawings.
const SHOWN: usize = 24;
/// Depth of the regions by which traffic is told.
const DEPTH: usize = 2;

/// A timed program: the machine, the schedule and its report.
#[derive(Clone, Copy)]
pub struct Timed<'a> {
    /// The machine.
    pub machine: &'a dyn Machine,
    /// The program as the machine takes it ([`Machine::prepare`]).
    pub graph: &'a Graph,
    /// The schedule.
    pub schedule: &'a Schedule,
    /// The report of it.
    pub report: &'a Report,
}

/// Adds a program on one machine or several.
pub fn sections(page: &mut Page, timed: &[Timed]) {
    page.section("Summary");
    summary(page, timed);
    let reports: Vec<&Report> = timed.iter().map(|t| t.report).collect();
    for t in timed {
        page.section(&format!("Timeline of {}", t.report.machine));
        timeline::draw(page, t.graph, t.schedule);
        units(page, t.report);
    }
    roofline(page, &reports);
    for t in timed.iter().filter(|t| !t.report.bytes.is_empty()) {
        page.section(&format!("Traffic on {}", t.report.machine));
        traffic(page, t);
    }
    for t in timed {
        page.section(&format!("Where the time goes on {}", t.report.machine));
        regions(page, t.report);
    }
    for t in timed.iter().filter(|t| !t.report.assumed.is_empty()) {
        page.section(&format!("Assumptions behind {}", t.report.machine));
        let row = |a: &crate::Assumption| vec![a.key.clone(), a.value.to_string(), a.reason.clone()];
        let rows: Vec<_> = t.report.assumed.iter().map(row).collect();
        page.table(&[("field", Text), ("value", Number), ("why", Text)], &rows);
    }
}

fn summary(page: &mut Page, timed: &[Timed]) {
    let row = |t: &Timed| {
        let r = t.report;
        let energy =
            |of: fn(&crate::report::Energy) -> Option<f64>| r.energy.as_ref().and_then(of).map_or("–".into(), number);
        let bound = r.roofline.map_or("–".into(), |roof| format!("{:?}", roof.bound).to_lowercase());
        vec![
            r.machine.clone(),
            seconds_text(r.seconds),
            r.cycles.map_or("–".into(), |c| c.to_string()),
            r.products.to_string(),
            energy(|e| Some(e.energy_j)),
            energy(|e| Some(e.power_w)),
            energy(|e| e.area_mm2),
            energy(|e| e.edap),
            bound,
        ]
    };
    let heading = [
        ("machine", Text),
        ("time", Number),
        ("cycles", Number),
        ("products", Number),
        ("energy, J", Number),
        ("power, W", Number),
        ("area, mm²", Number),
        ("EDAP, J·s·mm²", Number),
        ("bound by", Text),
    ];
    page.table(&heading, &timed.iter().map(row).collect::<Vec<_>>());
    for note in timed.iter().flat_map(|t| &t.report.notes) {
        page.text(note);
    }
}

fn units(page: &mut Page, report: &Report) {
    let row = |(unit, share): (&String, &f64)| {
        let path = report.critical_path.get(unit).into_iter().flatten().fold(0.0, |sum, (_, seconds)| sum + seconds);
        vec![unit.clone(), percent(*share), percent(path / report.seconds.max(f64::MIN_POSITIVE))]
    };
    let rows: Vec<_> = report.utilization.iter().map(row).collect();
    page.table(&[("unit", Text), ("busy", Number), ("of the critical path", Number)], &rows);
}

fn traffic(page: &mut Page, timed: &Timed) {
    let gb = |(role, bytes): (&String, &u64)| (role.clone(), as_f64(*bytes) / 1e9);
    let rows: Vec<_> =
        timed.report.bytes.iter().map(|(memory, roles)| (memory.clone(), roles.iter().map(gb).collect())).collect();
    bars(page, &rows, &ROLES, "GB moved in each memory, by the role of what was moved.");
    let rows = by_region(timed);
    if !rows.is_empty() {
        bars(
            page,
            &rows,
            &ROLES,
            "GB to and from off-chip memory by the region that they were moved for, and by role.",
        );
    }
    let row = |(role, r): (&String, &crate::report::Reuse)| {
        let loaded = r.first_bytes.saturating_add(r.again_bytes);
        let gb = |bytes: u64| number(as_f64(bytes) / 1e9);
        let times = number(as_f64(r.read_bytes) / as_f64(loaded.max(1)));
        vec![role.clone(), r.values.to_string(), gb(r.first_bytes), gb(r.again_bytes), times]
    };
    let rows: Vec<_> = timed.report.reuse.iter().map(row).collect();
    if !rows.is_empty() {
        let heading = [
            ("role", Text),
            ("values", Number),
            ("GB once", Number),
            ("GB again", Number),
            ("reads of a byte", Number),
        ];
        page.table(&heading, &rows);
    }
}

/// GB by outer region and role; what the program keeps to its end is a result.
fn by_region(timed: &Timed) -> Vec<(String, Vec<(String, f64)>)> {
    let (graph, program) = (timed.graph, &timed.schedule.program);
    let (paths, words) = (graph.region_paths(), timed.machine.words());
    let mut sums: BTreeMap<String, BTreeMap<&str, u64>> = BTreeMap::new();
    for movement in &program.movements {
        let task = &program.tasks[movement.task.index()];
        let path = &paths[graph.node(task.node).region().index()];
        let outer: Vec<&str> = path.split('/').take(DEPTH).collect();
        let node = graph.node(movement.source);
        let role = match task.stage.kind {
            TaskKind::Store if node.freed_before().is_none() => "result",
            TaskKind::Store => "temporary",
            _ => role_name(node.role()),
        };
        let bytes = sums.entry(outer.join("/")).or_default().entry(role).or_default();
        *bytes = bytes.saturating_add(words.bytes(graph.shape(movement.source), movement.basis));
    }
    let total = |roles: &BTreeMap<&str, u64>| roles.values().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
    let mut ordered: Vec<_> = sums.into_iter().collect();
    ordered.sort_by_key(|(path, roles)| (std::cmp::Reverse(total(roles)), path.clone()));
    let name = |path: String| if path.is_empty() { "outside of all regions".to_owned() } else { path };
    let gb = |(role, bytes): (&str, u64)| (role.to_owned(), as_f64(bytes) / 1e9);
    ordered.into_iter().take(SHOWN).map(|(path, roles)| (name(path), roles.into_iter().map(gb).collect())).collect()
}

fn regions(page: &mut Page, report: &Report) {
    let mut regions: Vec<_> = report.regions.iter().collect();
    regions.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let share = |seconds: f64| percent(seconds / report.seconds.max(f64::MIN_POSITIVE));
    let row = |r: &&crate::report::RegionTime| vec![r.path.clone(), seconds_text(r.seconds), share(r.seconds)];
    let rows: Vec<_> = regions.iter().take(SHOWN).map(row).collect();
    page.text("Shares of the critical path, with inner regions included.");
    page.table(&[("region", Text), ("time", Number), ("share", Number)], &rows);
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
