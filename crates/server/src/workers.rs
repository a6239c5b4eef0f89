//! The worker threads: one checks uploads, a few plan jobs, a few run them.

use crate::{
    engine::{Failure, JobFiles},
    id::Id,
    refusal::{Denied, Refusal},
    store::Store,
};
use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Log of the server's events, one line each, for the operator.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The threads of a store.
#[derive(Debug)]
pub struct Workers(Vec<JoinHandle<()>>);

impl Workers {
    /// Starts them.
    pub fn start(store: &Arc<Store>, log: &Log) -> io::Result<Self> {
        type Work = fn(&Store, &Log);
        let runs = (0..store.limits().running_jobs).map(|_| ("job", run_jobs as Work));
        // Several, so that a slow plan does not delay the others.
        let plans = (0..store.limits().planners).map(|_| ("plan", plan_jobs as Work));
        let all = [("checks", check_uploads as Work)].into_iter().chain(plans).chain(runs);
        let start = |(name, work): (&str, Work)| {
            let (store, log) = (store.clone(), log.clone());
            thread::Builder::new().name(name.into()).spawn(move || work(&store, &log))
        };
        all.map(start).collect::<io::Result<_>>().map(Self)
    }

    /// Waits, after the store was closed, until all threads have ended, or some time is over. Whether all have: a job
    /// that is in the middle of a step then is as safe as after a kill.
    pub fn wait(self, most: Duration) -> bool {
        let end = Instant::now() + most;
        while self.0.iter().any(|thread| !thread.is_finished()) {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

fn check_uploads(store: &Store, log: &Log) {
    while let Some(id) = store.next_check() {
        match guarded(|| store.check(id)) {
            Ok(Ok(())) => log(&format!("upload {id}: checked")),
            Ok(Err(Denied { refusal, .. })) | Err(refusal) => log(&format!("upload {id}: refused: {}", refusal.what)),
        }
    }
}

fn plan_jobs(store: &Store, log: &Log) {
    let budget = store.limits().plan_budget();
    while let Some(planning) = store.next_plan() {
        let id = planning.id;
        let plan = |files: JobFiles| {
            let start = Instant::now();
            let plan = || store.engine().plan(&files, budget, &|| planning.stopped());
            let outcome = guarded(plan).unwrap_or_else(|refusal| Err(Failure::Refused(refusal)));
            store.metrics().count_plan(start.elapsed().as_secs_f64());
            outcome
        };
        let ended = store.start_plan(&planning).and_then(|files| match files {
            Some(files) => {
                let outcome = plan(files);
                let told = match &outcome {
                    Ok(plan) => format!("planned: {} bytes of memory, {:.1} seconds", plan.memory_bytes, plan.seconds),
                    Err(_) => format!("not planned: {}", said(&outcome)),
                };
                log(&format!("job {id}: {told}"));
                store.planned(&planning, outcome)
            }
            None => Ok(()),
        });
        report(ended, id, log);
        store.release_plan(id);
    }
}

fn run_jobs(store: &Store, log: &Log) {
    while let Some(running) = store.next_run() {
        let id = running.id;
        let run = |files: JobFiles| {
            let [work, results] = store.work_folders(id);
            let start = Instant::now();
            let run = || store.engine().run(&files, &work, &results, &running);
            let outcome = guarded(run).unwrap_or_else(|refusal| Err(Failure::Refused(refusal)));
            store.metrics().count_job(start.elapsed().as_secs_f64());
            outcome
        };
        let ended = store.start(&running).and_then(|files| match files {
            Some(files) => {
                log(&format!("job {id}: started"));
                let outcome = run(files);
                log(&format!("job {id}: {}", said(&outcome)));
                store.finish(&running, outcome)
            }
            None => Ok(()),
        });
        report(ended, id, log);
        store.release(id);
    }
}

fn said<T>(outcome: &Result<T, Failure>) -> &str {
    match outcome {
        Ok(_) => "has its results",
        Err(Failure::Stopped) => "stopped",
        Err(Failure::Refused(refusal) | Failure::Ended(refusal)) => &refusal.what,
    }
}

/// Delay before a retry after a disk error: the disk may be full and have room again later.
const PAUSE: Duration = Duration::from_secs(5);

fn report(done: Result<(), Denied>, id: Id, log: &Log) {
    if let Err(Denied { refusal, .. }) = done {
        log(&format!("job {id}: {}: {}", refusal.what, refusal.got.unwrap_or_default()));
        thread::sleep(PAUSE);
    }
}

/// A bug in one job must not end the others.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let next = "report it to the operator, with the files if they may be shown";
        Refusal::new("this is a bug in limbwise", text, "no panic", next)
    })
}
