//! Configurations: choices that change the cost of a program but not its results.

use limbwise::{
    ckks::{BootstrapPlan, Diagonals, PlaintextForm, Strategy, bootstrap::HalvesAt},
    rlwe::KeyForm,
};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// Strategy and diagonal storage of linear maps; `None` if the program has no maps.
    pub maps: Option<(Strategy, PlaintextForm)>,
    /// Bootstrapping configuration; `None` if the program has no bootstrapping.
    pub bootstrapping: Option<BootstrapPlan>,
    pub keys: KeyForm,
}

impl Way {
    /// A configuration with key storage only.
    #[must_use]
    pub fn of_keys(keys: KeyForm) -> Self {
        Self { maps: None, bootstrapping: None, keys }
    }

    /// Name of the strategy.
    pub fn strategy(self) -> Option<String> {
        let turns = |plan: BootstrapPlan| match plan.halves {
            HalvesAt::Once => "",
            HalvesAt::Turns => ", halves in turns",
            HalvesAt::Beside => ", halves side by side",
        };
        let boot =
            || self.bootstrapping.map(|plan| format!("{}{}{}", plan.rotations.name(), plan.babies.name(), turns(plan)));
        match (self.maps, boot()) {
            (Some((strategy, _)), Some(boot)) => Some(format!("{strategy}, bootstrapping {boot}")),
            (maps, boot) => maps.map(|(strategy, _)| strategy.to_string()).or(boot),
        }
    }

    /// Text form: strategy, diagonal storage, key storage.
    pub fn named(self) -> String {
        let keys = match self.keys {
            KeyForm::Stored => "keys stored",
            KeyForm::Seeded => "keys seeded",
            KeyForm::Disk => "keys on disk",
        };
        match (self.strategy(), self.plaintexts()) {
            (Some(strategy), Some(form)) => format!("{strategy}, {} plaintexts, {keys}", form.name()),
            _ => keys.into(),
        }
    }

    /// How their diagonals are stored.
    pub fn plaintexts(self) -> Option<PlaintextForm> {
        self.maps.map(|(_, form)| form).or(self.bootstrapping.map(|plan| plan.form))
    }
}

/// Strategies worth recording: of each kind, those with at most 1.5 times the rotations of its best. Others are slower,
/// and either need more keys or, for multi-hop, save hardly any memory.
pub fn strategies(diagonals: &Diagonals) -> Vec<Strategy> {
    let all: Vec<(Strategy, usize)> =
        Strategy::candidates(diagonals).into_iter().map(|s| (s, s.steps(diagonals))).collect();
    let fewest = |kind: &str| all.iter().filter(|(s, _)| s.name() == kind).map(|(_, steps)| *steps).min().unwrap_or(0);
    all.iter().filter(|(s, steps)| 2 * *steps <= 3 * fewest(s.name())).map(|(s, _)| *s).collect()
}
