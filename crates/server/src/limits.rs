//! Limits of the server.

use crate::engine::PlanBudget;
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

/// The limits, as clients can read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Limits {
    pub upload_bytes: u64,
    /// Largest chunk of one.
    pub chunk_bytes: u64,
    /// All files together, with room for open uploads and for what jobs will write.
    pub total_bytes: u64,
    /// Files, open uploads and expected results of one client.
    pub client_bytes: u64,
    /// Jobs of one client that wait or run.
    pub client_jobs: usize,
    /// Memory of a job, and of all jobs that run at the same time, by plan.
    pub memory_bytes: u64,
    /// Time that a job may compute, by plan and by the clock.
    pub job_seconds: u64,
    /// Jobs that run at the same time.
    pub running_jobs: usize,
    /// Time that planning a job may take, by the clock.
    pub plan_seconds: u64,
    /// Memory that planning a job may take, beside `memory_bytes`.
    pub plan_memory_bytes: u64,
    /// Jobs that are planned at the same time.
    pub planners: usize,
    /// Uploads of a client that are open at the same time.
    pub open_uploads: usize,
    /// Jobs of a client that are waiting, running or remembered.
    pub jobs: usize,
    /// Files of a client.
    pub files: usize,
    /// Time of one request.
    pub request_seconds: u64,
    /// Connections at the same time.
    pub connections: usize,
}

/// Longest body of a request in JSON.
pub const JSON_BYTES: usize = 64 << 10;
/// Chunks that are in memory at the same time, while they arrive or wait for the disk; others wait without being read.
pub const CHUNKS_IN_MEMORY: usize = 64;
/// Chunks that are hashed and written at the same time.
pub const CHUNKS_AT_ONCE: usize = 8;
/// Uploads that have ended and are still remembered.
pub const ENDED_UPLOADS: usize = 256;
/// Attempts to plan a job without a plan, and to start it without a new checkpoint. A job that crashes the server is
/// not retried forever.
pub const ATTEMPTS: u32 = 3;

impl Default for Limits {
    /// Those of a small computer; memory is for the caller to say.
    fn default() -> Self {
        Self {
            upload_bytes: 16_000_000_000,
            chunk_bytes: 16_000_000,
            total_bytes: 64_000_000_000,
            client_bytes: 64_000_000_000,
            client_jobs: 100,
            memory_bytes: 4_000_000_000,
            job_seconds: 24 * 3600,
            running_jobs: 1,
            plan_seconds: 120,
            plan_memory_bytes: 500_000_000,
            planners: 2,
            open_uploads: 64,
            jobs: 1000,
            files: 10_000,
            request_seconds: 60,
            connections: 512,
        }
    }
}

impl Limits {
    /// What planning a job may take.
    pub fn plan_budget(&self) -> PlanBudget {
        PlanBudget { memory_bytes: self.plan_memory_bytes, seconds: self.plan_seconds }
    }

    pub fn request_time(&self) -> Duration {
        Duration::from_secs(self.request_seconds)
    }
}
