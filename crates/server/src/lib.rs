//! The server: receives keys and ciphertexts in chunks, runs jobs, returns results. HTTP with JSON.
//!
//! Enters: state in a directory that survives a kill, limits, a queue of jobs, routes and their OpenAPI description.
//! Stays out: secret keys (the crate is built without them), arithmetic, printing, arguments.
//!
//! Read in this order: [`engine`] (interface of the evaluation), [`limits`], [`client`] (names), [`store`] (the state: uploads, files,
//! jobs), [`workers`] (worker threads), [`http`] (the routes), [`evaluation`] (the engine of the runtime), [`planning`]
//! and [`child`] (planning in separate processes). The decisions are ADR 61, 62 and 118; the API is `docs/serve.md`.

#![expect(missing_docs, clippy::missing_errors_doc, reason = "docs stand where name and type do not say it all")]
#![expect(clippy::must_use_candidate, reason = "asked of what gives a changed copy, not of every getter")]

pub mod child;
pub mod client;
pub mod disk;
pub mod engine;
pub mod evaluation;
pub mod http;
pub mod id;
pub mod limits;
pub mod metrics;
pub mod planning;
pub mod refusal;
pub mod store;
pub mod workers;

pub use client::ClientName;
pub use engine::{Engine, Failure, FileKind, JobFiles, JobPlan, PlanBudget, Watch};
pub use evaluation::{Evaluation, Memory};
pub use http::{Access, Server, Tls, openapi};
pub use limits::Limits;
pub use planning::Planner;
pub use refusal::{Cause, Refusal, StartError};
pub use store::{Damaged, Store};
