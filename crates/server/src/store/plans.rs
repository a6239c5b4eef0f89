//! Plans of jobs. Each attempt is counted before it starts and stopped when nobody wants it; its result is checked
//! against the limits.

use super::{State, Store, jobs::JobState, runs::first_in};
use crate::{
    client::ClientName,
    engine::{Failure, JobFiles, JobPlan},
    id::Id,
    limits::{ATTEMPTS, Limits},
    refusal::{Cause, Denied, Refusal},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A job that a planner has been given.
pub(crate) struct Planning {
    pub(crate) id: Id,
    stop: Arc<AtomicBool>,
}

impl Planning {
    /// Whether nobody wants the plan any more, or the server closes.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

impl Store {
    /// The next job to be planned; waits for one. None when the store is closing.
    pub(crate) fn next_plan(&self) -> Option<Planning> {
        self.wait_for(|state| {
            let next = first_in(state, JobState::Planning)?;
            let (id, client) = (next.id, next.client.clone());
            state.turns.serve(JobState::Planning, client);
            let stop = Arc::new(AtomicBool::new(false));
            state.jobs.get_mut(&id)?.planner = Some(stop.clone());
            Some(Planning { id, stop })
        })
    }

    /// Counts an attempt to plan a job, and gives its files. None if it was canceled meanwhile, or was tried too often.
    pub(crate) fn start_plan(&self, planning: &Planning) -> Result<Option<JobFiles>, Denied> {
        let job = self.change_job(planning.id, |job| {
            if job.state == JobState::Planning && job.attempts >= ATTEMPTS {
                let (what, got) = ("the server ended while this job was planned", format!("{ATTEMPTS} times in a row"));
                let next = "give the operator this job's id; its program may ask for more than the server has";
                return job.end(JobState::Failed, Some(Refusal::new(what, got, "a plan", next)));
            }
            if job.state == JobState::Planning {
                job.attempts += 1;
            }
        });
        match job {
            Ok(job) if job.state == JobState::Planning => Ok(Some(self.files_of(&job))),
            Ok(_) => Ok(None),
            Err(denied) if denied.cause == Cause::Absent => Ok(None), // canceled and deleted meanwhile
            Err(denied) => Err(denied),
        }
    }

    /// A job's plan is known, or why it has none: it is queued, refused, or tried again.
    pub(crate) fn planned(&self, planning: &Planning, outcome: Result<JobPlan, Failure>) -> Result<(), Denied> {
        let (limits, mut state) = (self.limits, self.state());
        // With the lock that writes it down: what two planners admit together must have room together.
        let client = state.jobs.get(&planning.id).map(|job| job.record.client.clone()).unwrap_or_default();
        let fits = outcome.as_ref().map_or(Ok(()), |plan| fits(plan, (&state, &client), &limits));
        let changed = self.change_job_in(&mut state, planning.id, |job| {
            if job.state != JobState::Planning {
                return; // canceled meanwhile
            }
            job.plan = outcome.as_ref().ok().copied();
            match outcome.and_then(|_| fits.map_err(Failure::Refused)) {
                Ok(()) => (job.state, job.attempts) = (JobState::Queued, 0),
                Err(Failure::Refused(refusal)) => job.end(JobState::Refused, Some(refusal)),
                Err(Failure::Ended(refusal)) if job.attempts >= ATTEMPTS => job.end(JobState::Failed, Some(refusal)),
                Err(Failure::Ended(_)) => {}
                // The server closes in order.
                Err(Failure::Stopped) => job.attempts = job.attempts.saturating_sub(1),
            }
        });
        match changed {
            Err(denied) if denied.cause == Cause::Absent => Ok(()), // canceled and deleted meanwhile
            changed => changed.map(drop),
        }
    }

    /// Nobody plans the job any more. If its plan could not be written down, it is planned again.
    pub(crate) fn release_plan(&self, id: Id) {
        if let Some(entry) = self.state().jobs.get_mut(&id) {
            entry.planner = None;
        }
        self.changed.notify_all();
    }
}

/// Compares a plan with the limits, and with what is left.
fn fits(plan: &JobPlan, (state, client): (&State, &ClientName), limits: &Limits) -> Result<(), Refusal> {
    within(plan, limits)?;
    state.room_for(client, plan.disk_bytes, limits)
}

fn within(plan: &JobPlan, limits: &Limits) -> Result<(), Refusal> {
    let &JobPlan { memory_bytes, seconds, .. } = plan;
    if memory_bytes > limits.memory_bytes {
        let (got, wanted) = (format!("{memory_bytes} bytes"), format!("at most {} bytes", limits.memory_bytes));
        let next = "choose a program that needs less (limbwise plan says what it takes), or a server with more memory";
        return Err(Refusal::new("by its plan the job needs more memory than this server gives", got, wanted, next));
    }
    if seconds > limits.job_seconds as f64 {
        let (got, wanted) = (format!("{seconds:.0} seconds"), format!("at most {} seconds", limits.job_seconds));
        let next = "choose a smaller program, or a server that gives more time (--job-seconds)";
        return Err(Refusal::new("by its plan the job needs more time than this server gives", got, wanted, next));
    }
    Ok(())
}
