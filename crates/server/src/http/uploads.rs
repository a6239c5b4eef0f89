//! Routes of uploads.

use super::{
    Answer, App,
    extract::{BYTES, Binary, Caller, Document, Name, Parameters, bounded, check_type},
    problem::Problem,
};
use crate::{
    id::{FileId, Id},
    store::{Chunk, NewUpload, Upload},
};
use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
};
use serde::Deserialize;
use utoipa::IntoParams;

/// List uploads, the oldest first
#[utoipa::path(get, path = "/v1/uploads", tag = "uploads", responses(
    (status = 200, description = "All open uploads, and the last that have ended", body = Vec<Upload>),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn list_uploads(State(app): State<App>, Caller(client): Caller) -> Answer<Json<Vec<Upload>>> {
    app.work(move |store| Ok(store.uploads(&client))).await.map(Json)
}

/// Begin an upload
///
/// If the client has a file with this digest here, the upload is complete at once and nothing needs to be sent.
#[utoipa::path(post, path = "/v1/uploads", tag = "uploads", request_body = NewUpload, responses(
    (status = 201, description = "It has begun", body = Upload, links(
        ("show" = (operation_id = "show_upload", parameters(("id" = "$response.body#/id")))),
        ("send" = (operation_id = "send_chunk", parameters(("id" = "$response.body#/id"), ("offset" = "$response.body#/received")))),
        ("delete" = (operation_id = "delete_upload", parameters(("id" = "$response.body#/id")))),
    )),
    (status = 413, description = "Larger than the server allows, or than it has room for", body = Problem),
    (status = 422, description = "Another length than the file with this digest has", body = Problem),
    (status = 429, description = "Too many open uploads, or files", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn begin_upload(
    State(app): State<App>,
    Caller(client): Caller,
    Document(new): Document<NewUpload>,
) -> Answer<(StatusCode, Json<Upload>)> {
    let upload = app.work(move |store| store.begin_upload(&client, new)).await?;
    Ok((StatusCode::CREATED, Json(upload)))
}

/// Show an upload: `received` is where the next chunk begins
#[utoipa::path(get, path = "/v1/uploads/{id}", tag = "uploads", params(("id" = Id, Path)), responses(
    (status = 200, description = "The upload", body = Upload),
    (status = 404, description = "There is no such upload", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn show_upload(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<Id>,
) -> Answer<Json<Upload>> {
    app.work(move |store| store.upload(&client, id)).await.map(Json)
}

/// Remove an upload; the file of a complete one stays
#[utoipa::path(delete, path = "/v1/uploads/{id}", tag = "uploads", params(("id" = Id, Path)), responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is no such upload", body = Problem),
    (status = 409, description = "Its bytes are being written or checked", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn delete_upload(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<Id>,
) -> Answer<StatusCode> {
    app.work(move |store| store.delete_upload(&client, id)).await.map(|()| StatusCode::NO_CONTENT)
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Place {
    /// Bytes of the file before the chunk: the upload's `received`.
    offset: u64,
    /// The SHA-256 of the chunk.
    sha256: FileId,
}

/// Send the next chunk
///
/// Chunks come in order. When the answer is there, the chunk's bytes are safe on the server's disk. After the last chunk
/// the file is checked as a whole; it is there when the upload's state is `complete`.
#[utoipa::path(put, path = "/v1/uploads/{id}/chunk", tag = "uploads", params(("id" = Id, Path), Place),
    request_body(content = Binary, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "It is on the disk", body = Upload),
        (status = 404, description = "There is no such upload", body = Problem),
        (status = 409, description = "Out of order, or no chunk is awaited", body = Problem),
        (status = 413, description = "Larger than a chunk may be", body = Problem),
        (status = 415, description = "Another content type", body = Problem),
        (status = 422, description = "The bytes do not have the digest, or do not fit, or must not be on a server", body = Problem),
        (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn send_chunk(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<Id>,
    Parameters(Place { offset, sha256 }): Parameters<Place>,
    request: Request,
) -> Answer<Json<Upload>> {
    check_type(request.headers(), BYTES)?;
    let whose = client.clone();
    app.work(move |store| store.upload(&whose, id)).await?;
    let most = usize::try_from(app.store.limits().chunk_bytes).unwrap_or(usize::MAX);
    let _in_memory = app.bodies.acquire().await;
    let chunk = bounded(request, most).await?;
    // Only now: a body that comes slowly, or never ends, would hold the place of others.
    let _place = app.chunks.acquire().await;
    app.work(move |store| store.append(&client, id, offset, Chunk { bytes: &chunk, sha256 })).await.map(Json)
}
