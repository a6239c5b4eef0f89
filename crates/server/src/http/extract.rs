//! Strict request parsing: one content type per body, bounded sizes, one form of names. Every refusal is a problem.

use super::problem::Problem;
use crate::{
    client::ClientName,
    id::shortened,
    refusal::{Cause, Refusal},
};
use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE},
        request::Parts,
    },
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use std::{fmt::Display, str::FromStr};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type},
};

/// The content type of chunks and files.
pub(super) const BYTES: &str = "application/octet-stream";

/// Bytes, as the description of the API has them.
pub(super) struct Binary;

impl ToSchema for Binary {}

impl PartialSchema for Binary {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

/// Who asks: the guard has found it out.
pub(super) struct Caller(pub(super) ClientName);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<ClientName>().cloned().map(Self).ok_or_else(|| {
            let next = "report it to the operator, with the request id";
            Refusal::new("this is a bug in limbwise", "nobody", "a known client", next).because(Cause::Server).into()
        })
    }
}

pub(super) struct Document<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Document<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_type(request.headers(), "application/json")?;
        let bytes = bounded(request, crate::limits::JSON_BYTES).await?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            let next = "GET /openapi.json has the schema of this body";
            let wanted = "JSON as the schema says, without other fields";
            Refusal::new("the body cannot be read", error, wanted, next).because(Cause::Unfit).into()
        })
    }
}

pub(super) struct Name<T>(pub(super) T);

impl<T: FromStr<Err: Display>, S: Send + Sync> FromRequestParts<S> for Name<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state).await.map(|Path(text)| text);
        let parsed = text.map_err(|e| e.to_string()).and_then(|text| text.parse().map_err(|e: T::Err| e.to_string()));
        parsed.map(Self).map_err(|cause| {
            let next = "names are made by the server: GET /v1/uploads, /v1/files and /v1/jobs list them";
            Refusal::new("the path has no name that could be there", cause, "a name that the server gave", next)
                .because(Cause::Absent)
                .into()
        })
    }
}

/// The parameters behind the question mark.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|error| {
            let next = "GET /openapi.json has the parameters of this path";
            let wanted = "each parameter once, and no others";
            let got = shortened(&error.body_text());
            Refusal::new("the parameters behind the question mark cannot be read", got, wanted, next)
                .because(Cause::Malformed)
                .into()
        })
    }
}

/// Refuses a body of another type, or of none, or a compressed one.
pub(super) fn check_type(headers: &HeaderMap, wanted: &'static str) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
    let given = text(CONTENT_TYPE).unwrap_or_else(|| "no content type".into());
    let plain = given.strip_suffix("; charset=utf-8").or(given.strip_suffix(";charset=utf-8")).unwrap_or(&given);
    let got = match text(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => format!("{given}, compressed by {encoding}"),
        _ if plain == wanted => return Ok(()),
        _ => given,
    };
    let next = "set the header Content-Type, and do not compress the body";
    let refusal = Refusal::new("this path does not read such a body", shortened(&got), wanted, next);
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, refusal))
}

/// Reads a body of at most so many bytes.
pub(super) async fn bounded(request: Request, most: usize) -> Result<Bytes, Problem> {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let too_large = |got: String| {
        let next = "send less at a time (chunk_bytes of GET /v1/status is the limit of a chunk)";
        Refusal::new("the body is too large", got, format!("at most {most} bytes"), next).because(Cause::TooLarge)
    };
    if let Some(length) = announced.filter(|&length| length > most as u64) {
        return Err(too_large(format!("{length} bytes")).into());
    }
    let read = Limited::new(request.into_body(), most).collect().await;
    let refuse = |error: Box<dyn std::error::Error + Send + Sync>| match error.downcast::<LengthLimitError>() {
        Ok(_) => too_large("more".into()),
        Err(error) => {
            let next = "send the request again";
            Refusal::new("the body ended early", error, "a whole body", next).because(Cause::Malformed)
        }
    };
    Ok(read.map_err(refuse)?.to_bytes())
}

/// A body that is sent as it is read.
pub(super) fn stream(reader: impl tokio::io::AsyncRead + Send + 'static) -> Body {
    Body::from_stream(tokio_util::io::ReaderStream::with_capacity(reader, 1 << 18))
}
