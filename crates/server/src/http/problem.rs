//! Error responses: a status, and JSON with what, got, wanted, next step and the request's id.

use crate::{
    id::{Id, shortened},
    refusal::{Cause, Denied, Refusal},
};
use axum::{
    body::Body,
    http::{
        Method, StatusCode, Uri,
        header::{CONTENT_TYPE, HeaderName, HeaderValue},
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

/// The body of an answer that is an error.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    pub status: u16,
    #[serde(flatten)]
    pub refusal: Refusal,
    /// Under which the operator finds the request in the log.
    pub request_id: Id,
}

/// An error on its way out.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    refusal: Box<Refusal>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// With a status of its own.
    pub fn new(status: StatusCode, refusal: Refusal) -> Self {
        Self { status, refusal: Box::new(refusal), headers: Vec::new() }
    }

    /// With a header that belongs to the status.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// In the description a problem looks like its body.
impl utoipa::PartialSchema for Problem {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        ProblemBody::schema()
    }
}

impl ToSchema for Problem {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        ProblemBody::schemas(schemas);
    }
}

impl From<Denied> for Problem {
    fn from(Denied { cause, refusal }: Denied) -> Self {
        let status = match cause {
            Cause::Malformed => StatusCode::BAD_REQUEST,
            Cause::Unfit => StatusCode::UNPROCESSABLE_ENTITY,
            Cause::Absent => StatusCode::NOT_FOUND,
            Cause::Conflict => StatusCode::CONFLICT,
            Cause::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Cause::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Cause::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
            Cause::Server => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, refusal)
    }
}

/// The body is written by [`dress`], which knows the request's id.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.headers_mut().extend(self.headers);
        response.extensions_mut().insert(self.refusal);
        response
    }
}

/// Gives an answer its request id, and an error its body.
pub(super) fn dress(mut response: Response, request_id: Id) -> Response {
    if let Some(refusal) = response.extensions_mut().remove::<Box<Refusal>>() {
        let body = ProblemBody { status: response.status().as_u16(), refusal: *refusal, request_id };
        *response.body_mut() = Body::from(serde_json::to_vec(&body).unwrap_or_default());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&request_id.to_string()) {
        headers.insert("x-request-id", id);
    }
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

pub(super) async fn no_such_route(uri: Uri) -> Problem {
    let (got, wanted) = (shortened(uri.path()), "a path of the API");
    let next = "GET /openapi.json lists all paths";
    Problem::new(StatusCode::NOT_FOUND, Refusal::new("there is nothing here", got, wanted, next))
}

pub(super) async fn no_such_method(method: Method) -> Problem {
    let next = "GET /openapi.json lists the methods of each path";
    let wanted = "a method of the header Allow";
    let refusal = Refusal::new("this path has no such method", shortened(method.as_str()), wanted, next);
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, refusal)
}
