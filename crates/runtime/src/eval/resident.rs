//! A resident evaluation: keys, program and prepared plaintexts stay in memory, and jobs are done as they are asked for.

use super::{Chosen, EvalReport, Job, Limits, Opened, Readable, built, counted, opened, ready, report, with_keys};
use crate::{
    any_device::AnyDevice,
    clock::{Clock, Step, evaluation_seconds},
    error::{Error, Result},
    parts::{Answer, Asker, Files, Part, PartDone, Ready, Request, sum_files},
    places::{Existing, Vacant, ciphertexts},
    prepared::Stock,
    scheme::Piped,
    server::Server,
    server_keys::ServerKeys,
};
use limbwise::scheme::{Keys, Scheme as _};
use limbwise_apps::{AnyProgram, Program, on_scheme};
use std::path::PathBuf;

/// Evaluates parts of a batch as they are asked for, with keys that are read once and stay. Inputs, results and checkpoint
/// of the job itself are not looked at.
///
/// # Errors
/// As [`evaluate_files`](super::evaluate_files) for program, keys and memory; what is wrong with a part is its answer.
pub fn evaluate_parts(dev: &AnyDevice, job: &Job<'_>, limits: &Limits<'_>, asker: &mut dyn Asker) -> Result<()> {
    let keys = opened(job)?;
    let program = built(job, limits)?;
    on_scheme!(AnyProgram, program, program => resident(dev, &program, &keys, (job, limits), asker))
}

fn resident<P: Program<Scheme: Piped>>(
    dev: &AnyDevice,
    program: &P,
    files: &ServerKeys,
    (job, limits): (&Job<'_>, &Limits<'_>),
    asker: &mut dyn Asker,
) -> Result<()> {
    let keys = Readable { files, held: None };
    let (chosen, _) = ready(dev, program, keys, limits)?;
    let (params, encoder) = (program.params(), P::Scheme::encoder(program.params()));
    let mut quiet = |_| ();
    let mut clock = Clock::new(&mut quiet);
    let stock = Stock::of(job, program)?;
    with_keys::<P::Scheme, _>(dev, params, keys, &chosen.recording, &mut clock, |keys, clock| {
        let server = stock.server(dev, &encoder, program, clock)?;
        let memory_bytes = chosen.predicted;
        asker.ready(Ready { results: program.results(), summed: program.summed(), memory_bytes });
        while let Some(request) = asker.next() {
            let asked = Asked { server: &server, program, files, keys, job, limits };
            let answer = match &request {
                Request::Evaluate(part) => asked.part(part).map(Answer::Part),
                Request::Sum(sum) => sum_files(&server, program, files.origin(), sum)
                    .map(|results| Answer::Part(PartDone { seconds: 0.0, resumed_after: None, results })),
                Request::Files(files) => asked.report(files, &chosen).map(|report| Answer::Report(Box::new(report))),
            };
            asker.answer(answer.map_err(|e| stock.named(e)));
        }
        Ok(())
    })
    .map_err(|e| files.named(stock.named(e.into())))
}

/// A request to a resident evaluation, with all that stays between requests.
struct Asked<'a, 'k, P: Program> {
    server: &'a Server<'a, AnyDevice, P>,
    program: &'a P,
    files: &'a ServerKeys,
    keys: Keys<'k, AnyDevice>,
    job: &'a Job<'a>,
    limits: &'a Limits<'a>,
}

impl<P: Program<Scheme: Piped>> Asked<'_, '_, P> {
    fn part(&self, part: &Part) -> Result<PartDone> {
        if !part.inputs.is_dir() {
            return Err(Error::Empty { path: part.inputs.display().to_string() });
        }
        let (results, checkpoint) = (&part.results, part.checkpoint.as_deref());
        let inputs = ciphertexts(&part.inputs)?;
        let of_part = Job { inputs: &inputs, results, existing: Existing::Replaced, checkpoint, ..*self.job };
        let (steps, resumed_after, results) = self.carried_out(&of_part)?;
        Ok(PartDone { seconds: evaluation_seconds(&steps), resumed_after, results })
    }

    fn report(&self, files: &Files, chosen: &Chosen<P::Scheme>) -> Result<EvalReport> {
        let inputs = match &files.inputs[..] {
            [place] => ciphertexts(place)?,
            several => several.to_vec(),
        };
        let (results, checkpoint) = (&files.results, files.checkpoint.as_deref());
        let existing = Existing::replaced_if(files.replace);
        let of_files = Job { inputs: &inputs, results, existing, checkpoint, ..*self.job };
        let (steps, resumed_after, results) = self.carried_out(&of_files)?;
        Ok(EvalReport { results, resumed_after, ..report(&of_files, self.program, chosen, steps) })
    }

    /// Evaluates one job; returns its steps, the step after which it resumed, and its results.
    fn carried_out(&self, job: &Job<'_>) -> Result<(Vec<Step>, Option<usize>, Vec<PathBuf>)> {
        counted(self.program, job.inputs.len())?;
        let mut quiet = |_| ();
        let (dev, mut clock) = (self.server.device(), Clock::new(&mut quiet));
        let _place = Vacant::before(job.results);
        let mut opened = Opened::of(dev, self.program, Readable { files: self.files, held: None }, job, &mut clock)?;
        let results = opened.evaluate(self.server, self.keys, self.limits.stop, &mut clock);
        let results = opened.settled(results)?;
        opened.write(dev, self.program, &results, &mut clock)?;
        let (steps, _) = clock.finish();
        let resumed_after = opened.resumed();
        Ok((steps, resumed_after, opened.targets))
    }
}
