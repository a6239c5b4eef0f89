//! The searches of a query behind its filter, with the states that a journal keeps of them.

use super::{
    extreme::{ExtremeSummary, Race, Search},
    field::Field,
    filter::{Filter, Filtered},
    question::Question,
};
use crate::program::{Journal, Observer, State, Tfhe};
use limbwise::{
    Result,
    scheme::{Bridged, BridgedCiphertext},
    tfhe::{Ciphertext, Evaluator, Table, TfheParams},
};
use limbwise_device::Device;

/// The searches of a query, in the order of its extremes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searches(Vec<Search>);

/// What a journal had of a run, divided between filter and searches.
pub struct Begun<D: Device> {
    pub filter: Option<State<D, Tfhe>>,
    /// Bits that were found, and the ciphertexts of the searches.
    searches: (usize, Vec<Ciphertext<D>>),
}

impl<D: Device> Begun<D> {
    /// Divides a state.
    ///
    /// # Errors
    /// [`limbwise::Error::State`] for one that no program of this filter has kept.
    pub fn of(state: Option<State<D, Bridged>>, filter: &Filter) -> Result<Self> {
        let Some(State { step, ciphertexts, numbers }) = state else {
            return Ok(Self { filter: None, searches: (0, Vec::new()) });
        };
        let messages = |ciphertext| match ciphertext {
            BridgedCiphertext::Messages(messages) => Ok(messages),
            BridgedCiphertext::Slots(_) => Err(limbwise::Error::State),
        };
        let mut ciphertexts: Vec<Ciphertext<D>> = ciphertexts.into_iter().map(messages).collect::<Result<_>>()?;
        let last = filter.before_flags();
        let of_searches = if step > last {
            let kept = filter.kept(last).len();
            if ciphertexts.len() < kept {
                return Err(limbwise::Error::State);
            }
            ciphertexts.split_off(kept)
        } else {
            Vec::new()
        };
        let searches = (step.saturating_sub(last), of_searches);
        Ok(Self { filter: Some(State { step: step.min(last), ciphertexts, numbers }), searches })
    }
}

/// Tells of the bits that are found, and keeps them.
pub struct Progress<'j, D: Device> {
    observer: &'j mut dyn Observer,
    journal: &'j mut dyn Journal<D, Bridged>,
    /// What is kept beside the race: the filter's results, and those of the searches that are over.
    beside: Vec<Ciphertext<D>>,
    /// Steps of the filter.
    before: usize,
    done: usize,
    total: usize,
}

impl<D: Device> Progress<'_, D> {
    /// A bit is looked for.
    pub fn begins(&mut self, name: &str) {
        self.observer.step(name, self.done, self.total);
    }

    /// A bit is found.
    ///
    /// # Errors
    /// Those of the journal.
    pub fn kept(&mut self, race: &Race<D>) -> Result<()> {
        self.done += 1;
        let all = self.beside.iter().chain([&race.y]).chain(&race.found);
        let ciphertexts = all.cloned().map(BridgedCiphertext::Messages).collect();
        self.journal.keep(&State { step: self.before + self.done, ciphertexts, numbers: Vec::new() })
    }
}

impl Searches {
    #[must_use]
    pub fn new(question: &Question, params: &TfheParams) -> Self {
        let rows = |selection: usize| question.selections[selection].within.clone().unwrap_or(0..question.rows);
        Self(question.extremes.iter().map(|e| Search::new(e.clone(), rows(e.selection), params)).collect())
    }

    pub fn summary(&self) -> Vec<ExtremeSummary> {
        self.0.iter().map(Search::summary).collect()
    }

    /// Runs the searches. `bits` has the number of the ciphertext with an extreme's bits. Returns the bits that were found,
    /// highest first, a batch for each extreme.
    ///
    /// # Errors
    /// Those of the evaluator and the journal; a state that no such program has kept.
    pub fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        (question, filter): (&Question, &Filter),
        filtered: &Filtered<D>,
        bits: impl Fn(&Field) -> Ciphertext<D>,
        (begun, observer, journal): (Begun<D>, &mut dyn Observer, &mut dyn Journal<D, Bridged>),
    ) -> Result<Vec<Ciphertext<D>>> {
        let (mut found_before, mut kept) = (begun.searches.0, begun.searches.1.into_iter());
        let total = self.0.iter().map(Search::steps).sum();
        if found_before > total {
            return Err(limbwise::Error::State);
        }
        let mut progress = Progress {
            observer,
            journal,
            beside: filtered.kept.clone(),
            before: filter.before_flags(),
            done: found_before,
            total,
        };
        let mut results = Vec::new();
        for search in &self.0 {
            let steps = search.steps();
            let result = if found_before > steps {
                found_before -= steps;
                kept.next().ok_or(limbwise::Error::State)?
            } else {
                let race = if found_before > 0 {
                    let y = kept.next().ok_or(limbwise::Error::State)?;
                    let found: Vec<_> = kept.by_ref().take(found_before).collect();
                    if found.len() != found_before {
                        return Err(limbwise::Error::State);
                    }
                    found_before = 0;
                    Race { y, found }
                } else {
                    let y = match question.selections[search.extreme.selection].flag {
                        Some(flag) => {
                            let set = Table::of(eval.params(), |message| u64::from(filter.accepts(flag, message)))?;
                            let met = eval.split(&filtered.flags[flag], search.rows.start, search.rows.end);
                            eval.bootstrap(&met, &[set])?
                        }
                        // Every row is in the race, which both sides know.
                        None => {
                            let any = eval.split(&bits(&search.extreme.field), search.rows.start, search.rows.end);
                            eval.add_clear(&eval.scale(&any, 0), 1)
                        }
                    };
                    Race { y, found: Vec::new() }
                };
                search.evaluate(eval, &bits(&search.extreme.field), race, &mut progress)?
            };
            progress.beside.push(result.clone());
            results.push(result);
        }
        Ok(results)
    }
}
