//! Links between chips: the mesh of a DIMM, the link between DIMMs, or the host in place of both.

use super::numbers::{Numbers, Switch};
use crate::{
    dram::ticks,
    program::{Stage, TaskKind},
    report::as_f64,
};

const CHIPS: [&str; 64] = [
    "chip 0", "chip 1", "chip 2", "chip 3", "chip 4", "chip 5", "chip 6", "chip 7", "chip 8", "chip 9", "chip 10",
    "chip 11", "chip 12", "chip 13", "chip 14", "chip 15", "chip 16", "chip 17", "chip 18", "chip 19", "chip 20",
    "chip 21", "chip 22", "chip 23", "chip 24", "chip 25", "chip 26", "chip 27", "chip 28", "chip 29", "chip 30",
    "chip 31", "chip 32", "chip 33", "chip 34", "chip 35", "chip 36", "chip 37", "chip 38", "chip 39", "chip 40",
    "chip 41", "chip 42", "chip 43", "chip 44", "chip 45", "chip 46", "chip 47", "chip 48", "chip 49", "chip 50",
    "chip 51", "chip 52", "chip 53", "chip 54", "chip 55", "chip 56", "chip 57", "chip 58", "chip 59", "chip 60",
    "chip 61", "chip 62", "chip 63",
];
/// Meshes and the link between DIMMs, after the chips.
pub(super) const MESH: &str = "mesh of DIMMs";
pub(super) const DIMM_LINK: &str = "DIMM link";
pub(super) const HOST: &str = "host";

/// The links and when each is free, by the list that the placement makes.
pub(super) struct Links<'n> {
    numbers: &'n Numbers,
    chips: usize,
    /// Chips of a DIMM, and of a side of its mesh.
    of_dimm: usize,
    side: usize,
    widths: Vec<u64>,
    /// Of the mesh of each DIMM, then of the link between them; or of the host alone.
    free: Vec<u64>,
}

impl<'n> Links<'n> {
    pub(super) fn new(numbers: &'n Numbers) -> Self {
        let chips = usize::try_from(numbers.system.chips).unwrap_or(1);
        let of_dimm = usize::try_from(numbers.system.chips_per_dimm).unwrap_or(1);
        let side = of_dimm.isqrt().max(1);
        let mut links = Self { numbers, chips, of_dimm, side, widths: vec![], free: vec![] };
        let width = |unit: &str| if unit == MESH { numbers.assumed.chip_network_mesh_links.value } else { 1 };
        links.widths = links.units().into_iter().map(width).collect();
        links.free = vec![0; links.widths.len() - chips];
        links
    }

    fn has_network(&self) -> bool {
        self.numbers.network.chip_network == Switch::On
    }

    fn dimm(&self, chip: usize) -> usize {
        chip / self.of_dimm
    }

    /// Names of all units: chips, then links.
    pub(super) fn units(&self) -> Vec<&'static str> {
        let chips = CHIPS[..self.chips.min(CHIPS.len())].iter().copied();
        if !self.has_network() {
            return chips.chain([HOST]).collect();
        }
        let dimms = self.dimm(self.chips - 1) + 1;
        chips.chain((0..dimms).map(|_| MESH)).chain([DIMM_LINK]).collect()
    }

    /// Their widths: a mesh has several links.
    pub(super) fn widths(&self) -> &[u64] {
        &self.widths
    }

    fn stage(&self, link: usize, width: u64, bytes: u64, gb_s: f64) -> Stage {
        let unit = u8::try_from(self.chips + link).unwrap_or(u8::MAX);
        let occupancy = ticks(as_f64(bytes) / self.numbers.per_cycle(gb_s)).max(1);
        Stage { width, ..Stage::new(TaskKind::Redistribute, unit, occupancy) }
    }

    /// A transfer in the mesh of a DIMM: over one link to a neighbor, over two to the chip across.
    fn in_mesh(&self, dimm: usize, [a, b]: [usize; 2], bytes: u64) -> Stage {
        let (network, links) = (&self.numbers.network, self.numbers.assumed.chip_network_mesh_links.value);
        let side = self.side;
        let hops = (a % side).abs_diff(b % side) + (a / side).abs_diff(b / side);
        let width = (hops.max(1) as u64).min(links);
        self.stage(dimm, width, bytes, network.chip_gb_s / as_f64(links))
    }

    /// The stages of a transfer.
    pub(super) fn way(&self, [from, to]: [usize; 2], bytes: u64) -> impl Iterator<Item = Stage> + use<> {
        let (a, b) = (self.dimm(from), self.dimm(to));
        let [out, between, into] = if !self.has_network() {
            [None, Some(self.stage(0, 1, bytes, self.numbers.assumed.host_gb_s.value)), None]
        } else if a == b {
            [None, Some(self.in_mesh(a, [from % self.of_dimm, to % self.of_dimm], bytes)), None]
        } else {
            // Chip 0 of each DIMM has the link.
            let between = self.stage(self.free.len() - 1, 1, bytes, self.numbers.assumed.dimm_link_gb_s.value);
            let own = |chip: usize| Some(chip % self.of_dimm).filter(|own| *own != 0);
            let out = own(from).map(|own| self.in_mesh(a, [own, 0], bytes));
            [out, Some(between), own(to).map(|own| self.in_mesh(b, [0, own], bytes))]
        };
        out.into_iter().chain(between).chain(into)
    }

    /// When bytes that are there at a time would be on another chip, and the ticks that links would be taken.
    pub(super) fn arrives(&self, chips: [usize; 2], there: u64, bytes: u64) -> (u64, u64) {
        let pass = |(time, taken): (u64, u64), stage: Stage| {
            (self.starts(&stage, time) + stage.occupancy, taken + stage.occupancy)
        };
        self.way(chips, bytes).fold((there, 0), pass)
    }

    fn link(&self, stage: &Stage) -> usize {
        usize::from(stage.unit) - self.chips
    }

    fn starts(&self, stage: &Stage, ready: u64) -> u64 {
        self.free[self.link(stage)].max(ready)
    }

    /// Takes the link of a stage: its end.
    pub(super) fn take(&mut self, stage: &Stage, ready: u64) -> u64 {
        let end = self.starts(stage, ready) + stage.occupancy;
        let widest = self.widths()[usize::from(stage.unit)];
        // Several transfers share a mesh: its part of the time is gone.
        let link = self.link(stage);
        self.free[link] = self.free[link].max(ready.min(end)) + stage.occupancy * stage.width / widest;
        end
    }
}
