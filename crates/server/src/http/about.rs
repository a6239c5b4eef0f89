//! Routes about the server itself.

use super::{Answer, App, extract::Caller, openapi, problem::Problem};
use crate::{client::ClientName, limits::Limits, metrics::TEXT, refusal::Denied, store::Store};
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

/// Count jobs, bytes, requests and times
///
/// Text as Prometheus reads it. It is about all clients: where there are several, the one named `operator` may ask.
#[utoipa::path(get, path = "/metrics", tag = "server", responses(
    (status = 200, description = "The counts", body = String, content_type = "application/openmetrics-text"),
    (status = 403, description = "Not the operator", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn metrics(State(app): State<App>, Caller(client): Caller) -> Answer<Response> {
    app.access.check_operator(&client)?;
    let told = |store: &Store| {
        let (census, resident) = (store.census(), store.engine().resident());
        let text = store.metrics().text(census, resident, store.limits());
        text.map_err(|e| Denied::from(std::io::Error::other(e)))
    };
    let text = app.work(told).await?;
    Ok(([(CONTENT_TYPE, TEXT)], text).into_response())
}

/// What the server allows and has.
#[derive(Serialize, ToSchema)]
pub(super) struct Status {
    version: &'static str,
    /// Who asks.
    client: ClientName,
    limits: Limits,
    /// Bytes of the client's files, with what is promised to its open uploads and jobs.
    used_bytes: u64,
}

/// Show limits and use
#[utoipa::path(get, path = "/v1/status", tag = "server", responses(
    (status = 200, description = "Limits and use", body = Status),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn status(State(app): State<App>, Caller(client): Caller) -> Answer<Json<Status>> {
    let whose = client.clone();
    let used_bytes = app.work(move |store| Ok(store.used_bytes(&whose))).await?;
    Ok(Json(Status { version: env!("CARGO_PKG_VERSION"), client, limits: *app.store.limits(), used_bytes }))
}
