//! Which keys are in memory, and when each is read: decided at every request from what the program will ask for next.
//!
//! The requests of a program are known from its recording. One request ahead of use a key is read; what has to make room
//! is the key whose next use is furthest (\[BEL66\]), and where there is room without that, keys are read further ahead.
//! A key is read at the level it is used at, and cut when its next use is lower. Decisions depend on the requests alone,
//! not on how long anything takes, so a plan rehearses exactly what a run will do.

use limbwise::{
    params::Params,
    rlwe::{KeyForm, KeyName, Request, key_bytes},
};
use std::{collections::BTreeMap, sync::Arc};

/// How many requests ahead keys are read where there is room: enough to keep a disk busy, few enough to look through.
const AHEAD: usize = 64;

/// The keys that are in memory or on their way, without their words.
#[derive(Clone, Debug)]
pub struct Shelf {
    params: Params,
    requests: Arc<[Request]>,
    /// Where each key is asked for, ascending.
    uses: BTreeMap<KeyName, Vec<usize>>,
    budget_bytes: u64,
    held: BTreeMap<KeyName, Held>,
    held_bytes: u64,
    /// The request that is expected next.
    next: usize,
    /// The request before: its key may be in use until the next one.
    last: Option<Request>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    level: usize,
    bytes: u64,
}

/// What is to be done, in this order: keys dropped, keys cut to a level, keys read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Keys that leave.
    pub dropped: Vec<KeyName>,
    /// Keys that are needed at a lower level from now on.
    pub cut: Vec<Request>,
    /// Keys to be read at a level.
    pub read: Vec<Request>,
}

/// All that is read in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// The reads, each with the number of requests that were made when it was decided.
    pub reads: Vec<(usize, Request)>,
    /// Most bytes of keys in memory.
    pub peak_bytes: u64,
}

impl Shelf {
    /// An empty shelf for a program with these requests.
    pub fn new(params: &Params, requests: Arc<[Request]>, budget_bytes: u64) -> Self {
        let mut uses: BTreeMap<KeyName, Vec<usize>> = BTreeMap::new();
        for (at, (name, _)) in requests.iter().enumerate() {
            uses.entry(*name).or_default().push(at);
        }
        let held = BTreeMap::new();
        Self { params: params.clone(), requests, uses, budget_bytes, held, held_bytes: 0, next: 0, last: None }
    }

    /// The least budget with which a key is always read ahead: the largest two that are asked for in a row.
    pub fn least_budget(params: &Params, requests: &[Request]) -> u64 {
        let bytes = |&(name, level): &Request| bytes(params, name, level);
        let pairs = requests.windows(2).map(|two| {
            let both = [bytes(&two[0]), bytes(&two[1])];
            if two[0].0 == two[1].0 { both[0].max(both[1]) } else { both[0] + both[1] }
        });
        pairs.chain(requests.first().map(bytes)).max().unwrap_or(0)
    }

    /// A request. If its key is not there at that level, it is the one read of the turn.
    pub fn ask(&mut self, request: Request) -> Turn {
        let mut turn = Turn::default();
        let before = self.last.replace(request);
        self.follow(before, request);
        if let Some((name, _)) = before.filter(|(name, _)| *name != request.0) {
            self.cut(name, &mut turn);
        }
        if !self.serves(request) {
            let (name, level) = request;
            self.remove(name, &mut turn);
            let needed = bytes(&self.params, name, level);
            while self.held_bytes + needed > self.budget_bytes {
                let Some(victim) = self.furthest() else { break };
                self.remove(victim, &mut turn);
            }
            self.put(request, &mut turn);
        }
        turn
    }

    /// What is to be read before it is asked for.
    pub fn ahead(&mut self) -> Turn {
        let mut turn = Turn::default();
        let until = self.requests.len().min(self.next + AHEAD);
        while let Some(at) = (self.next..until).find(|&at| !self.serves(self.requests[at])) {
            let (name, level) = self.requests[at];
            let in_use = self.last.map(|(name, _)| name);
            let Some(victims) = self.room(at, bytes(&self.params, name, level), in_use) else { break };
            for victim in victims {
                self.remove(victim, &mut turn);
            }
            self.put((name, level), &mut turn);
        }
        turn
    }

    /// Forgets a key that could not be read.
    pub fn forget(&mut self, name: KeyName) {
        self.remove(name, &mut Turn::default());
    }

    /// All requests, one after another, without anything being read.
    pub fn rehearse(mut self) -> Rehearsal {
        let mut rehearsal = Rehearsal::default();
        let mut reads =
            |made: usize, turn: Turn| rehearsal.reads.extend(turn.read.into_iter().map(|read| (made, read)));
        let mut peak_bytes = 0;
        for at in 0..self.requests.len() {
            reads(at + 1, self.ask(self.requests[at]));
            reads(at + 1, self.ahead());
            peak_bytes = self.held_bytes.max(peak_bytes);
        }
        Rehearsal { peak_bytes, ..rehearsal }
    }

    /// Moves on in the sequence. A request out of turn leaves the place as it is, unless it and the one before it stand
    /// together further on: then the program has gone there.
    fn follow(&mut self, before: Option<Request>, request: Request) {
        if self.requests.get(self.next) == Some(&request) {
            self.next += 1;
        } else if let (Some(before), Some(rest)) = (before, self.requests.get(self.next..)) {
            let found = rest.windows(2).position(|two| *two == [before, request]);
            self.next += found.map_or(0, |at| at + 2);
        }
    }

    fn serves(&self, (name, level): Request) -> bool {
        self.held.get(&name).is_some_and(|held| held.level >= level)
    }

    /// The next request that a held key serves; `None` if there is none, or it is for a higher level.
    fn next_use(&self, name: KeyName) -> Option<usize> {
        let uses = self.uses.get(&name)?;
        let at = *uses.get(uses.partition_point(|&at| at < self.next))?;
        self.serves(self.requests[at]).then_some(at)
    }

    /// The held key that is used last from now on, if at all: dead keys come first.
    fn furthest(&self) -> Option<KeyName> {
        self.held.keys().copied().max_by_key(|&name| self.next_use(name).unwrap_or(usize::MAX))
    }

    /// Whom a key for request `at` displaces. Keys that will be used make room only for the very next request, and only
    /// if they are used after it; the one in use never does.
    fn room(&self, at: usize, needed: u64, in_use: Option<KeyName>) -> Option<Vec<KeyName>> {
        let (name, _) = self.requests[at];
        let lower = self.held.get(&name).map_or(0, |held| held.bytes);
        if lower > 0 && (in_use == Some(name) || self.next_use(name).is_some()) {
            return None; // needed at a lower level first
        }
        let mut victims: Vec<KeyName> = (lower > 0).then_some(name).into_iter().collect();
        let mut after = self.held_bytes - lower + needed;
        let others = self.held.iter().filter(|(other, _)| **other != name && in_use != Some(**other));
        let mut others: Vec<_> = others.map(|(&name, held)| (self.next_use(name), name, held.bytes)).collect();
        others.sort_by_key(|&(used, ..)| std::cmp::Reverse(used.unwrap_or(usize::MAX)));
        for (used, victim, bytes) in others {
            let allowed = used.is_none_or(|used| at == self.next && used > at);
            if after <= self.budget_bytes || !allowed {
                break;
            }
            after -= bytes;
            victims.push(victim);
        }
        (after <= self.budget_bytes).then_some(victims)
    }

    /// Cuts a key to the level of its next use, if that is lower.
    fn cut(&mut self, name: KeyName, turn: &mut Turn) {
        let level = self.next_use(name).map(|at| self.requests[at].1);
        let (Some(level), Some(held)) = (level, self.held.get_mut(&name)) else { return };
        if level < held.level {
            let less = Held { level, bytes: bytes(&self.params, name, level) };
            self.held_bytes -= held.bytes - less.bytes;
            *held = less;
            turn.cut.push((name, level));
        }
    }

    fn put(&mut self, request: Request, turn: &mut Turn) {
        let (name, level) = request;
        let held = Held { level, bytes: bytes(&self.params, name, level) };
        self.held_bytes += held.bytes;
        self.held.insert(name, held);
        turn.read.push(request);
    }

    fn remove(&mut self, name: KeyName, turn: &mut Turn) {
        if let Some(held) = self.held.remove(&name) {
            self.held_bytes -= held.bytes;
            turn.dropped.push(name);
        }
    }
}

fn bytes(params: &Params, name: KeyName, level: usize) -> u64 {
    key_bytes(params, name, level, KeyForm::Disk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise::params::{Insecure, ParamsLiteral};
    use limbwise_math::galois::GaloisElement;

    fn params() -> Params {
        let mut literal = ParamsLiteral::chain(10, 50, 40, 5, (48, 2), 3);
        literal.insecure = Some(Insecure { reason: "counting on a small ring".into() });
        Params::new(&literal).unwrap()
    }

    fn key(steps: i64) -> KeyName {
        KeyName::Galois(GaloisElement::rotation(steps, 10))
    }

    /// A shelf with room for so many keys of the top level.
    fn shelf(params: &Params, requests: &[Request], keys: u64) -> Shelf {
        Shelf::new(params, requests.into(), keys * bytes(params, key(1), 5))
    }

    fn reads(rehearsal: &Rehearsal) -> Vec<(usize, KeyName)> {
        rehearsal.reads.iter().map(|&(made, (name, _))| (made, name)).collect()
    }

    #[test]
    fn memory_chooses_how_many_reads_there_are() {
        let params = params();
        let [a, b, c, d] = [1, 2, 3, 4].map(key);
        let requests: Vec<Request> = [a, b, c, a, b, d, a, b, c].map(|name| (name, 5)).into();
        let rehearse = |keys| shelf(&params, &requests, keys).rehearse();
        // With room for two, each is read while the one before it is used.
        let two = rehearse(2);
        let every = [(1, a), (1, b), (2, c), (3, a), (4, b), (5, d), (6, a), (7, b), (8, c)];
        assert_eq!(reads(&two), every);
        // With room for three, c (used last) makes room for d, and is read again once d is done with; a and b stay.
        assert_eq!(reads(&rehearse(3)), [(1, a), (1, b), (1, c), (5, d), (7, c)]);
        assert_eq!(rehearse(4).reads.len(), 4);
        for keys in 2..5 {
            assert_eq!(rehearse(keys).peak_bytes, keys * bytes(&params, a, 5));
        }
        assert_eq!(Shelf::least_budget(&params, &requests), 2 * bytes(&params, a, 5));
    }

    #[test]
    fn too_little_memory_reads_late_but_reads() {
        let params = params();
        let requests: Vec<Request> = [1, 2, 1, 2].map(|steps| (key(steps), 5)).into();
        let alone = shelf(&params, &requests, 1).rehearse();
        assert_eq!(reads(&alone), [(1, key(1)), (2, key(2)), (3, key(1)), (4, key(2))]);
        assert_eq!(shelf(&params, &requests, 0).rehearse().reads, alone.reads);
    }

    #[test]
    fn keys_are_read_and_kept_at_the_level_of_their_use() {
        let params = params();
        let (a, b) = (key(1), key(2));
        let mut shelf = shelf(&params, &[(a, 5), (b, 4), (a, 2), (b, 5)], 2);
        assert_eq!(shelf.ask((a, 5)).read, [(a, 5)]);
        assert_eq!(shelf.ahead().read, [(b, 4)]);
        assert_eq!(shelf.held_bytes, bytes(&params, a, 5) + bytes(&params, b, 4));
        let turn = shelf.ask((b, 4));
        assert_eq!((turn.cut, turn.read), (vec![(a, 2)], vec![]), "a is needed lower from now on");
        assert_eq!(shelf.ahead(), Turn::default(), "b is in use: it cannot be replaced by a higher one");
        assert_eq!(shelf.ask((a, 2)).read, []);
        let turn = shelf.ahead();
        assert_eq!((turn.dropped, turn.read), (vec![b], vec![(b, 5)]));
        assert_eq!(shelf.held_bytes, bytes(&params, a, 2) + bytes(&params, b, 5));
    }

    #[test]
    fn who_departs_from_the_sequence_is_served_and_found_again() {
        let params = params();
        let requests: Vec<Request> = (1..=8).map(|steps| (key(steps), 5)).collect();
        let mut shelf = shelf(&params, &requests, 2);
        shelf.ask(requests[0]);
        assert_eq!(shelf.ahead().read, [requests[1]]);
        assert_eq!(shelf.ask((key(20), 3)).read, [(key(20), 3)], "nobody thought of it");
        assert_eq!(shelf.ask(requests[1]).read, [], "what was foreseen is there, for a dead key has left");
        assert_eq!(shelf.ahead().read, [requests[2]]);
        // A program that resumes further on is recognized by two requests in a row.
        shelf.ask(requests[5]);
        shelf.ask(requests[6]);
        assert_eq!(shelf.ahead().read, [requests[7]]);
    }
}
