//! The routes: HTTP/1.1 with JSON, described by OpenAPI from the same code.
//!
//! Read in this order: [`problem`] (error responses), [`access`] (authorization), `guard` (middleware of every
//! request), `extract` (strict bodies and names), `uploads`, `files`, `jobs`, `about`, `page` (the routes), [`tls`], `pem` (its
//! key) and `listen` (connections, shutdown).

pub mod access;
pub mod problem;

mod about;
mod extract;
mod files;
mod guard;
mod jobs;
mod listen;
mod page;
mod pem;
pub mod tls;
mod uploads;

pub use access::Access;
pub use listen::Server;
pub use tls::Tls;

use crate::{
    limits::{CHUNKS_AT_ONCE, CHUNKS_IN_MEMORY, JSON_BYTES},
    refusal::{Cause, Denied, Refusal},
    store::Store,
    workers::Log,
};
use access::Bearer;
use axum::{Router, extract::DefaultBodyLimit, middleware};
use problem::Problem;
use std::sync::Arc;
use tokio::{sync::Semaphore, task::spawn_blocking};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

#[derive(Clone)]
pub(crate) struct App {
    store: Arc<Store>,
    access: Arc<Access>,
    log: Log,
    /// Places for chunks that are being hashed and written.
    chunks: Arc<Semaphore>,
    /// Places for chunks in memory.
    bodies: Arc<Semaphore>,
}

type Answer<T> = Result<T, Problem>;

impl App {
    fn new(store: Arc<Store>, access: Access, log: Log) -> Self {
        let [chunks, bodies] = [CHUNKS_AT_ONCE, CHUNKS_IN_MEMORY].map(|most| Arc::new(Semaphore::new(most)));
        Self { store, access: Arc::new(access), log, chunks, bodies }
    }

    /// Does what may wait for a disk or a lock on a thread of its own.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, Denied> + Send + 'static,
    ) -> Answer<T> {
        let store = self.store.clone();
        let done = spawn_blocking(move || work(&store)).await.unwrap_or_else(|e| {
            let next = "report it to the operator, with the request id";
            Err(Refusal::new("this is a bug in limbwise", e, "no panic", next).because(Cause::Server))
        });
        Ok(done?)
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "limbwise serve",
        description = "Evaluates programs on encrypted data, for clients that keep their secret keys. \
                       Every error has a JSON body that says what, got, wanted and the next step.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "uploads", description = "Files on their way in: announced, sent by chunks in order, checked"),
        (name = "files", description = "Whole files, named by the SHA-256 of their bytes"),
        (name = "jobs", description = "Programs on files"),
        (name = "server", description = "The server itself"),
    ),
    components(schemas(Problem)),
    modifiers(&Bearer),
    security(("token" = [])),
)]
struct Description;

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(about::health))
        .routes(routes!(about::description))
        .routes(routes!(about::status))
        .routes(routes!(about::metrics))
        .routes(routes!(page::page))
        .routes(routes!(uploads::list_uploads, uploads::begin_upload))
        .routes(routes!(uploads::show_upload, uploads::delete_upload))
        .routes(routes!(uploads::send_chunk))
        .routes(routes!(files::list_files))
        .routes(routes!(files::show_file, files::delete_file))
        .routes(routes!(files::fetch_file))
        .routes(routes!(jobs::list_jobs, jobs::submit_job))
        .routes(routes!(jobs::show_job, jobs::delete_job))
        .routes(routes!(jobs::cancel_job))
}

/// The description of the API, as `docs/schemas/openapi.json` has it.
pub fn openapi() -> String {
    let mut text = routes().into_openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

fn router(app: App) -> Router {
    let (router, _) = routes().split_for_parts();
    router
        .fallback(problem::no_such_route)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(DefaultBodyLimit::max(JSON_BYTES))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}
