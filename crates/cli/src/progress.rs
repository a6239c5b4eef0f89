//! Progress on standard error: a bar with the remaining time on a terminal, one line per step elsewhere.

use crate::{failure::say, text::units};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use limbwise_apps::Observer;
use limbwise_runtime::{
    Event,
    clock::{DECRYPT_STEP, ENCODE_STEP, ENCRYPT_STEP, KEY_STEP, READ_STEP, WRITE_STEP},
};
use std::{
    fmt::Write,
    io::{IsTerminal as _, stderr},
    time::{Duration, Instant},
};

/// The bar of the current part of a run.
pub(crate) struct Progress {
    terminal: bool,
    /// Seconds of the evaluation, from the plan.
    predicted: f64,
    bar: Option<(Part, ProgressBar)>,
    /// Steps that are over, and the current one.
    over: Vec<(String, f64)>,
    current: Option<(String, Instant)>,
}

/// Parts with a bar of their own: the program's steps share one, for the plan knows how long they take together.
#[derive(Clone, PartialEq, Eq)]
enum Part {
    Around(String),
    Evaluation,
}

impl Part {
    fn of(step: &str) -> Self {
        if [KEY_STEP, ENCODE_STEP, ENCRYPT_STEP, READ_STEP, WRITE_STEP, DECRYPT_STEP].contains(&step) {
            Self::Around(step.into())
        } else {
            Self::Evaluation
        }
    }
}

impl Progress {
    /// Before a run whose evaluation should take so many seconds.
    pub(crate) fn new(predicted: f64) -> Self {
        Self { terminal: stderr().is_terminal(), predicted, bar: None, over: Vec::new(), current: None }
    }

    /// The steps that were told, with their seconds.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&str, f64)> {
        self.over.iter().map(|(name, seconds)| (name.as_str(), *seconds))
    }

    /// Ends the current step where another begins.
    fn clock(&mut self, next: Option<&str>) {
        if next.is_some() && self.current.as_ref().map(|(name, _)| name.as_str()) == next {
            return;
        }
        if let Some((name, since)) = self.current.take() {
            self.over.push((name, since.elapsed().as_secs_f64()));
        }
        self.current = next.map(|name| (name.to_owned(), Instant::now()));
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if let Event::Progress { step, .. } = &event {
            self.clock(Some(step));
        }
        match event {
            Event::Progress { step, done, total } if self.terminal => self.advance(&step, done, total),
            Event::Progress { .. } => {}
            Event::Done(step) => {
                let line = format!("  {:<14} {:>9}", step.name, units::seconds(step.seconds));
                match &self.bar {
                    Some((_, bar)) => bar.println(line),
                    None => say(&format!("{line}\n")),
                }
            }
        }
    }

    fn advance(&mut self, step: &str, done: usize, total: usize) {
        let part = Part::of(step);
        if self.bar.as_ref().is_none_or(|(current, _)| *current != part) {
            self.clear();
            let bar = ProgressBar::new(total as u64).with_style(style(&part, self.predicted));
            bar.enable_steady_tick(Duration::from_millis(200));
            self.bar = Some((part, bar));
        }
        if let Some((_, bar)) = &self.bar {
            bar.set_message(step.to_owned());
            bar.set_position(done as u64);
        }
    }

    /// Ends the last step.
    pub(crate) fn finish(&mut self) {
        self.clock(None);
        self.clear();
    }

    fn clear(&mut self) {
        if let Some((_, bar)) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn step(&mut self, name: &str, done: usize, total: usize) {
        self.tell(Event::Progress { step: name.into(), done, total });
    }
}

/// Style of the bar. The plan predicts the remaining time, because iterations get faster as levels fall.
fn style(part: &Part, predicted: f64) -> ProgressStyle {
    let planned = *part == Part::Evaluation;
    let left = move |state: &ProgressState, out: &mut dyn Write| {
        let left = if planned { predicted - state.elapsed().as_secs_f64() } else { state.eta().as_secs_f64() };
        let text = match left > 0.0 {
            true => format!("about {} left", units::seconds(left)),
            false if planned => "later than planned".into(),
            false => "time left not yet known".into(),
        };
        let _ = out.write_str(&text);
    };
    let template = "  {msg:<14} [{bar:30}] {elapsed}, {left}";
    ProgressStyle::with_template(template).expect("a constant template").with_key("left", left).progress_chars("=> ")
}

/// Points of a sweep: a bar with the time left on a terminal, elsewhere a line every ten seconds.
pub(crate) struct Points {
    what: &'static str,
    bar: Option<ProgressBar>,
    total: usize,
    done: usize,
    /// Those that were known: they tell nothing of the time that the others take.
    found: usize,
    start: Instant,
    said: Instant,
}

/// Between two lines about a sweep.
const QUIET: Duration = Duration::from_secs(10);

impl Points {
    /// Before a sweep of so many points.
    pub(crate) fn new(total: usize) -> Self {
        Self::of("points", total)
    }

    /// Before so many of something else that is counted.
    pub(crate) fn of(what: &'static str, total: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let template = "  {prefix} [{bar:30}] {pos}/{len} {elapsed}, {msg}";
            let style = ProgressStyle::with_template(template).expect("a constant template").progress_chars("=> ");
            ProgressBar::new(total as u64).with_style(style).with_prefix(what)
        });
        let now = Instant::now();
        Self { what, bar, total, done: 0, found: 0, start: now, said: now }
    }

    /// So many are there already.
    pub(crate) fn found(&mut self, count: usize) {
        self.found += count;
        if let Some(bar) = self.bar.as_ref().filter(|_| count > 0) {
            bar.inc(count as u64);
        }
    }

    pub(crate) fn done(&mut self) {
        self.done += 1;
        let left = self.total.saturating_sub(self.found + self.done);
        let seconds = self.start.elapsed().as_secs_f64() / self.done as f64 * left as f64;
        let left = format!("about {} left", units::seconds(seconds));
        match &self.bar {
            Some(bar) => {
                bar.set_message(left);
                bar.inc(1);
            }
            None if self.said.elapsed() > QUIET => {
                self.said = Instant::now();
                note(&format!("{} of {} {}, {left}", self.found + self.done, self.total, self.what));
            }
            None => {}
        }
    }

    /// Removes the bar and prints a summary.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        let known = if self.found > 0 { format!(", {} were there", self.found) } else { String::new() };
        note(&format!(
            "evaluated {} {} in {}{known}",
            self.done,
            self.what,
            units::seconds(self.start.elapsed().as_secs_f64())
        ));
    }
}

/// One line about what was done before the bars begin.
pub(crate) fn note(text: &str) {
    say(&format!("  {text}\n"));
}
