//! Routes about the server itself.

use super::{Answer, App, openapi, problem::Problem};
use crate::limits::Limits;
use axum::{
    Json,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use std::sync::LazyLock;
use utoipa::ToSchema;

/// The server is there.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// Always "ok".
    status: &'static str,
}

/// Say that the server is there
///
/// Needs no token.
#[utoipa::path(get, path = "/health", tag = "server", security(()), responses(
    (status = 200, description = "It is", body = Health),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Describe the API
///
/// Needs no token.
#[utoipa::path(get, path = "/openapi.json", tag = "server", security(()), responses(
    (status = 200, description = "OpenAPI 3.1", body = serde_json::Value),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn description() -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(openapi);
    ([(CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}

/// What the server allows and has.
#[derive(Serialize, ToSchema)]
pub(super) struct Status {
    version: &'static str,
    limits: Limits,
    /// Bytes of all files, with what is promised to open uploads and jobs.
    used_bytes: u64,
}

/// Show limits and use
#[utoipa::path(get, path = "/v1/status", tag = "server", responses(
    (status = 200, description = "Limits and use", body = Status),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn status(State(app): State<App>) -> Answer<Json<Status>> {
    let used_bytes = app.work(|store| Ok(store.used_bytes())).await?;
    Ok(Json(Status { version: env!("CARGO_PKG_VERSION"), limits: *app.store.limits(), used_bytes }))
}
