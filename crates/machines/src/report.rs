//! What a program on a machine tells: the JSON contract and its text.

use crate::{
    lower::role_name,
    machine::{ClusterTime, Machine},
    program::{Stage, TaskKind},
    reuse::reuse,
    scheduler::Schedule,
    spec::Assumption,
    words::Words,
};
use limbwise_graph::Graph;
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, fmt};

/// A program timed on a machine. Fields that a machine does not have are absent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Name of the machine.
    pub machine: String,
    /// Time of the program.
    pub seconds: f64,
    /// The same in clock cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// The part in which something computes, of machines where nothing is transferred meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_seconds: Option<f64>,
    /// The rest: transfers between host and machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_seconds: Option<f64>,
    /// Bootstrappings and how many are done at once, of machines that place them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrappings: Option<Bootstrappings>,
    /// Modular products of the program, by the convention of `limbwise_graph::counts`.
    pub products: u64,
    /// Area, power and energy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Share of the time in which each unit was busy, 0 to 1.
    pub utilization: BTreeMap<String, f64>,
    /// Seconds of the critical path on each unit, by why the unit was held.
    pub critical_path: BTreeMap<String, BTreeMap<&'static str, f64>>,
    /// Bytes moved in each memory, by the role of what was moved.
    pub bytes: BTreeMap<String, BTreeMap<String, u64>>,
    /// What is loaded from off the chip, how often it comes again and how often it is read, by role.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reuse: BTreeMap<String, Reuse>,
    /// Where the program stands between the two bounds of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roofline: Option<Roofline>,
    /// Where the time goes: shares of the critical path, with inner regions included.
    pub regions: Vec<RegionTime>,
    /// What each operator does, the most multiplications first; of machines that tell operators apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Operator>,
    /// Who does what, the longest first; of machines that share a program with their host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// The batch that it is a part of, on a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterTime>,
    /// What was done to the program so that it fits, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Every assumption behind the numbers.
    pub assumed: Vec<Assumption>,
}

/// Programmable bootstrappings of a program, and their time on a machine that keeps several in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bootstrappings {
    /// How many the program has.
    pub count: u64,
    /// How many are in flight together.
    pub in_flight: u64,
    /// Time of one alone.
    pub latency_s: f64,
    /// Time of as many as are in flight.
    pub round_s: f64,
    /// Bootstrappings a second, with so many in flight.
    pub per_second: f64,
}

/// The part of a program's time that passes in a region.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionTime {
    /// Names from the outermost region inwards, joined by `/`.
    pub path: String,
    /// Its share of the program's time.
    pub seconds: f64,
}

/// Operations of one kind in a region, and who does them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Placement {
    /// Names of regions, as in [`RegionTime`]; empty outside of all.
    pub path: String,
    /// The operation, by the name of the seam.
    pub operation: String,
    /// The side, by its name: "dpus" or "host", "device" or "heu".
    pub on: String,
    /// How many.
    pub operations: u64,
    /// What they take, with their launches and without transfers.
    pub seconds: f64,
}

/// What all operations do that stand in regions of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Operator {
    /// Name of the regions.
    pub name: String,
    /// Modular products, by the convention of `limbwise_graph::counts`.
    pub multiplications: u64,
    /// Modular sums: two a butterfly, one a word that is added or accumulated.
    pub additions: u64,
    /// Words that only move: automorphisms, products with monomials, extraction.
    pub moved_words: u64,
    /// Bytes of operands, each read whole, by the role of what was read.
    pub read_bytes: BTreeMap<String, u64>,
    /// Bytes of results.
    pub written_bytes: u64,
}

impl Operator {
    /// Nothing yet.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Bytes read and written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read_bytes.values().fold(self.written_bytes, |sum, &bytes| sum.saturating_add(bytes))
    }
}

/// Area of a machine and what a program draws on it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Energy {
    /// Area of the machine, where it is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_mm2: Option<f64>,
    /// Energy of the program.
    pub energy_j: f64,
    /// The part of it that the machine would draw if it stood idle for as long.
    pub idle_j: f64,
    /// Mean power.
    pub power_w: f64,
    /// Energy × delay × area, J·s·mm².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edap: Option<f64>,
    /// Energy by part of the machine.
    pub parts_j: BTreeMap<String, f64>,
}

/// How inputs of a role are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reuse {
    /// How many: keys by identity, all else by value.
    pub values: u64,
    /// Bytes loaded for the first time.
    pub first_bytes: u64,
    /// Bytes loaded again, because they had to leave.
    pub again_bytes: u64,
    /// Bytes read by operations.
    pub read_bytes: u64,
}

/// The two bounds of a machine and a program between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Roofline {
    /// Products a second if every multiplier were busy.
    pub peak_products_s: f64,
    /// Bytes a second to and from off-chip memory.
    pub bandwidth_bytes_s: f64,
    /// Products a byte above which the multipliers bound the time.
    pub ridge: f64,
    /// Products of the program a byte that it moves.
    pub intensity: f64,
    /// Its time if the multipliers were all.
    pub compute_s: f64,
    /// Its time if the memory were all.
    pub memory_s: f64,
    /// Which of the two is longer.
    pub bound: Bound,
}

/// What bounds a program's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The multipliers.
    Compute,
    /// The off-chip memory.
    Memory,
}

/// Regions with less than this share of the time are left out of a report.
const LEAST_SHARE: f64 = 1e-3;
/// Most regions that the text shows.
const SHOWN: usize = 20;

impl Report {
    /// What every machine tells of a schedule.
    pub(crate) fn of<M: Machine + ?Sized>(machine: &M, graph: &Graph, schedule: &Schedule) -> Self {
        let (ticks, seconds) = (schedule.ticks(), schedule.seconds());
        let program = &schedule.program;
        let share = |x: u64| as_f64(x) / as_f64(ticks.max(1));
        let regions = graph.region_paths().into_iter().zip(schedule.region_ticks(graph)).skip(1);
        let mut bytes = BTreeMap::new();
        let off_chip = machine.off_chip(graph);
        if let Some(memory) = &off_chip {
            bytes.insert(program.units[usize::from(memory.unit)].to_owned(), named(&program.off_chip_bytes));
        }
        let products = graph.counts().products();
        let moved: u64 = program.off_chip_bytes.values().sum();
        let bandwidth = off_chip.map(|memory| memory.stream.bytes_per_tick() / program.tick_seconds);
        Self {
            machine: machine.spec().name().into(),
            seconds,
            cycles: None,
            compute_seconds: None,
            transfer_seconds: None,
            bootstrappings: None,
            products,
            energy: None,
            utilization: utilization(schedule),
            critical_path: critical_path(schedule, |_| None),
            bytes,
            reuse: off_chip.map_or_else(BTreeMap::new, |memory| reuse(graph, (&memory, machine.words()), schedule)),
            roofline: machine
                .peak_products_s()
                .zip(bandwidth)
                .map(|(peak, bw)| Roofline::new(peak, bw, products, moved)),
            regions: regions
                .filter(|(_, ticks)| share(*ticks) >= LEAST_SHARE)
                .map(|(path, ticks)| RegionTime { path, seconds: as_f64(ticks) * program.tick_seconds })
                .collect(),
            operators: Vec::new(),
            placements: Vec::new(),
            cluster: None,
            notes: split_note(machine.words(), graph).into_iter().collect(),
            assumed: machine.spec().assumed(),
        }
    }

    /// Says what ciphertexts and results, of which off-chip memory moved so much, take from and to the host.
    pub(crate) fn note_host(&mut self, moved: &BTreeMap<String, u64>, gb_s: f64) {
        let bytes: u64 = ["ciphertext", "result"].iter().filter_map(|role| moved.get(*role)).sum();
        let seconds = as_f64(bytes) / (gb_s * 1e9);
        self.notes.push(format!(
            "ciphertexts are in off-chip memory before and after; from and to the host they take {seconds:.3e} s"
        ));
    }

    /// Area, power and energy from the watts that each part draws at its activity and idle.
    pub(crate) fn set_energy(&mut self, area_mm2: f64, watts: &BTreeMap<String, f64>, idle_w: f64) {
        let power_w: f64 = watts.values().sum();
        let energy_j = power_w * self.seconds;
        self.energy = Some(Energy {
            area_mm2: Some(area_mm2),
            energy_j,
            idle_j: idle_w * self.seconds,
            power_w,
            edap: Some(energy_j * self.seconds * area_mm2),
            parts_j: watts.iter().map(|(part, watts)| (part.clone(), watts * self.seconds)).collect(),
        });
    }
}

impl Roofline {
    pub(crate) fn new(peak_products_s: f64, bandwidth_bytes_s: f64, products: u64, bytes: u64) -> Self {
        let (compute_s, memory_s) = (as_f64(products) / peak_products_s, as_f64(bytes) / bandwidth_bytes_s);
        Self {
            peak_products_s,
            bandwidth_bytes_s,
            ridge: peak_products_s / bandwidth_bytes_s,
            intensity: as_f64(products) / as_f64(bytes.max(1)),
            compute_s,
            memory_s,
            bound: if compute_s >= memory_s { Bound::Compute } else { Bound::Memory },
        }
    }
}

/// The name of a kind of task, in reports and traces.
pub(crate) fn kind_name(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Compute => "compute",
        TaskKind::Redistribute => "redistribute",
        TaskKind::Load => "load",
        TaskKind::Store => "store",
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.placements.is_empty() && !self.operators.is_empty() {
            false => write!(f, "{}: {} s", self.machine, number(self.seconds))?,
            true => write!(f, "{}: {} modular products; nothing takes time", self.machine, self.products)?,
        }
        if let Some(cycles) = self.cycles {
            write!(f, ", {cycles} cycles")?;
        }
        writeln!(f)?;
        if let Some((compute, transfer)) = self.compute_seconds.zip(self.transfer_seconds) {
            writeln!(f, "  compute          {} s", number(compute))?;
            writeln!(f, "  transfers        {} s", number(transfer))?;
        }
        if let Some(b) = self.bootstrappings {
            writeln!(f, "  bootstrapping    {} s alone", number(b.latency_s))?;
            let (each, all) = (number(b.per_second), number(b.round_s));
            writeln!(f, "  bootstrappings   {each} a second with {} in flight, which take {all} s", b.in_flight)?;
        }
        if let Some(cluster) = &self.cluster {
            write!(f, "{cluster}")?;
        }
        for note in &self.notes {
            writeln!(f, "  note: {note}")?;
        }
        self.write_energy(f)?;
        self.write_roofline(f)?;
        for (unit, share) in &self.utilization {
            write!(f, "  {unit:<16} busy {:5.1} %", 100.0 * share)?;
            for (kind, seconds) in self.critical_path.get(unit).into_iter().flatten() {
                write!(f, "   critical path: {kind} {:5.1} %", 100.0 * self.share(*seconds))?;
            }
            writeln!(f)?;
        }
        for (unit, kinds) in self.critical_path.iter().filter(|(unit, _)| !self.utilization.contains_key(*unit)) {
            write!(f, "  {unit:<16}")?;
            for (kind, seconds) in kinds {
                write!(f, "   critical path: {kind} {:5.1} %", 100.0 * self.share(*seconds))?;
            }
            writeln!(f)?;
        }
        self.write_bytes(f)?;
        self.write_operators(f)?;
        for p in self.placements.iter().take(SHOWN) {
            let (seconds, path) = (number(p.seconds), if p.path.is_empty() { "program" } else { &p.path });
            writeln!(f, "  {:<8} {:>6} {:<14} {seconds:>12} s  {path}", p.on, p.operations, p.operation)?;
        }
        let mut regions: Vec<&RegionTime> = self.regions.iter().collect();
        regions.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        for region in regions.iter().take(SHOWN) {
            let share = 100.0 * self.share(region.seconds);
            writeln!(f, "  {:>12} s {share:5.1} %  {}", number(region.seconds), region.path)?;
        }
        for Assumption { key, value, reason } in &self.assumed {
            writeln!(f, "  assumed {key} = {value}: {reason}")?;
        }
        Ok(())
    }
}

impl Report {
    /// A part of the program's time.
    fn share(&self, seconds: f64) -> f64 {
        seconds / self.seconds.max(f64::MIN_POSITIVE)
    }

    fn write_operators(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let products = self.operators.iter().map(|o| o.multiplications).sum();
        let bytes = self.operators.iter().map(Operator::bytes).sum();
        if self.operators.is_empty() {
            return Ok(());
        }
        let head = ["operator", "multiplications", "", "additions", "words moved", "bytes", "", "a byte"];
        writeln!(
            f,
            "  {:<16} {:>15} {:>7} {:>15} {:>13} {:>15} {:>7} {:>7}",
            head[0], head[1], head[2], head[3], head[4], head[5], head[6], head[7]
        )?;
        for o in &self.operators {
            let percent = |x: u64, all: u64| format!("{:.1} %", 100.0 * as_f64(x) / as_f64(all.max(1)));
            let name: String = o.name.chars().take(16).collect();
            writeln!(
                f,
                "  {name:<16} {:>15} {:>7} {:>15} {:>13} {:>15} {:>7} {:>7.2}",
                o.multiplications,
                percent(o.multiplications, products),
                o.additions,
                o.moved_words,
                o.bytes(),
                percent(o.bytes(), bytes),
                as_f64(o.multiplications) / as_f64(o.bytes().max(1))
            )?;
        }
        Ok(())
    }

    fn write_energy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Energy { area_mm2, energy_j, idle_j, power_w, edap, parts_j }) = &self.energy else { return Ok(()) };
        let [energy, idle, power] = [energy_j, idle_j, power_w].map(|&x| number(x));
        write!(f, "  energy           {energy} J ({idle} J of it idle), {power} W")?;
        match area_mm2.zip(*edap) {
            Some((area_mm2, edap)) => writeln!(f, ", {area_mm2:.1} mm², EDAP {} J·s·mm²", number(edap))?,
            None => writeln!(f)?,
        }
        let parts =
            parts_j.iter().map(|(part, j)| format!("{part} {:.1} %", 100.0 * j / energy_j.max(f64::MIN_POSITIVE)));
        writeln!(f, "  energy by part   {}", parts.collect::<Vec<_>>().join(", "))
    }

    fn write_roofline(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(roofline) = &self.roofline else { return Ok(()) };
        let bound = if roofline.bound == Bound::Compute { "compute" } else { "memory" };
        writeln!(
            f,
            "  roofline         {:.2} products a byte, ridge at {:.2}: {bound} bound; {} s compute, {} s memory, peak {} products/s",
            roofline.intensity,
            roofline.ridge,
            number(roofline.compute_s),
            number(roofline.memory_s),
            number(roofline.peak_products_s)
        )
    }

    fn write_bytes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (memory, roles) in &self.bytes {
            for (role, &bytes) in roles {
                writeln!(f, "  {memory:<16} {role:<16} {:>12} GB", number(as_f64(bytes) / 1e9))?;
            }
        }
        for (role, r) in &self.reuse {
            let [first, again] = [r.first_bytes, r.again_bytes].map(|bytes| number(as_f64(bytes) / 1e9));
            let times = as_f64(r.read_bytes) / as_f64((r.first_bytes + r.again_bytes).max(1));
            let values = r.values;
            writeln!(
                f,
                "  reuse            {role:<16} {values:>6} loaded: {first} GB once, {again} GB again, each byte read {times:.2} times"
            )?;
        }
        Ok(())
    }
}

/// Seconds of the critical path on each unit, by why it was held; or on what `bound` names in the unit's place.
pub(crate) fn critical_path(
    schedule: &Schedule,
    bound: impl Fn(&Stage) -> Option<(&'static str, &'static str)>,
) -> BTreeMap<String, BTreeMap<&'static str, f64>> {
    let program = &schedule.program;
    let mut path: BTreeMap<String, BTreeMap<&'static str, f64>> = BTreeMap::new();
    for (task, ticks) in schedule.critical_path() {
        let stage = &program.tasks[task.index()].stage;
        let own = || (program.units[usize::from(stage.unit)], kind_name(stage.kind));
        let (unit, kind) = bound(stage).unwrap_or_else(own);
        *path.entry(unit.to_owned()).or_default().entry(kind).or_default() += as_f64(ticks) * program.tick_seconds;
    }
    path
}

/// Share of the time in which each unit was busy; of several units of one name, their mean by width, which is the share of
/// all that they could have done.
fn utilization(schedule: &Schedule) -> BTreeMap<String, f64> {
    let program = &schedule.program;
    let mut units: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for ((name, &width), busy) in program.units.iter().zip(&program.widths).zip(schedule.busy()) {
        let [taken, whole] = units.entry(name).or_default();
        (*taken, *whole) = (*taken + as_f64(busy) * as_f64(width), *whole + as_f64(width));
    }
    let ticks = as_f64(schedule.ticks().max(1));
    units.into_iter().map(|(name, [taken, whole])| (name.to_owned(), taken / (whole * ticks))).collect()
}

/// Says where residues take several words each.
fn split_note(words: Words, graph: &Graph) -> Option<String> {
    let (most, bits) = (words.split(graph), Words::widest_prime_bits(graph));
    let text = format!(
        "primes of up to {bits} bits in words of {}: up to {most} words a residue, each counted as a limb",
        words.bits
    );
    (most > 1).then_some(text)
}

/// Bytes of the program's inputs that its operations read, by role, in words of a machine.
pub(crate) fn input_reads(graph: &Graph, words: Words) -> BTreeMap<String, u64> {
    let mut bytes: BTreeMap<&'static str, u64> = BTreeMap::new();
    for id in graph.ids().filter(|&id| !graph.node(id).op().is_view()) {
        for &operand in graph.operands(id) {
            graph.for_each_piece(operand, |piece| {
                let node = graph.node(piece.source);
                if node.op().is_input() {
                    *bytes.entry(role_name(node.role())).or_default() += words.of_piece(graph, &piece);
                }
            });
        }
    }
    named(&bytes)
}

/// A table of bytes with names that own themselves.
pub(crate) fn named(bytes: &BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    bytes.iter().map(|(role, bytes)| ((*role).to_owned(), *bytes)).collect()
}

/// Four significant digits.
fn number(x: f64) -> String {
    if x == 0.0 || !(1e-3..1e6).contains(&x.abs()) { format!("{x:.3e}") } else { format!("{x:.4}") }
}

#[expect(clippy::cast_precision_loss, reason = "for display and ratios")]
pub(crate) fn as_f64(x: u64) -> f64 {
    x as f64
}
