//! Middleware of every request: an id, authorization, a time limit, a log line.

use super::{
    App,
    problem::{Problem, dress},
};
use crate::{client::ClientName, id::Id, refusal::Refusal};
use axum::{
    extract::{MatchedPath, Request, State},
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use std::{net::IpAddr, time::Instant};
use tokio::time::timeout;

/// Routes that need no token, because they disclose nothing about clients.
const OPEN: [&str; 2] = ["/health", "/openapi.json"];

/// The address that a request came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local(pub(super) IpAddr);

pub(super) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let (request_id, start) = (Id::random(), Instant::now());
    // The path of the API, as it is described: what stands for names in a request is anything.
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let local = request.extensions().get::<Local>().map_or(IpAddr::from([127, 0, 0, 1]), |local| local.0);
    let allowed = if OPEN.contains(&&*path) { Ok(ClientName::default()) } else { app.access.check(&request, local) };
    let response = match allowed {
        Ok(client) => {
            request.extensions_mut().insert(client);
            let time = app.store.limits().request_time();
            timeout(time, next.run(request)).await.unwrap_or_else(|_| too_slow(time.as_secs()).into_response())
        }
        Err(problem) => problem.into_response(),
    };
    let (status, ms) = (response.status().as_u16(), start.elapsed().as_millis());
    app.store.metrics().count_request(&route, status);
    (app.log)(&format!("{method} {path} {status} {ms} ms {request_id}"));
    dress(response, request_id)
}

fn too_slow(seconds: u64) -> Problem {
    let next = "send smaller chunks, or ask the operator for a larger --request-seconds";
    let (what, wanted) = ("the request took too long", format!("at most {seconds} seconds"));
    Problem::new(StatusCode::REQUEST_TIMEOUT, Refusal::new(what, "no answer yet", wanted, next))
}
