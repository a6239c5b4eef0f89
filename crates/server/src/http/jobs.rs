//! Routes of jobs.

use super::{
    Answer, App,
    extract::{Caller, Document, Name},
    problem::Problem,
};
use crate::{
    id::Id,
    store::{Job, JobRequest},
};
use axum::{Json, extract::State, http::StatusCode};

/// List jobs, in the order in which they were asked for
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", responses(
    (status = 200, description = "All jobs that were not deleted", body = Vec<Job>),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn list_jobs(State(app): State<App>, Caller(client): Caller) -> Answer<Json<Vec<Job>>> {
    app.work(move |store| Ok(store.jobs(&client))).await.map(Json)
}

/// Ask for a job
///
/// It is planned first. If its plan is beyond the limits, its state becomes `refused` and its refusal has the numbers. A
/// job on the same files that has not failed is answered in its place.
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs", request_body = JobRequest, responses(
    (status = 202, description = "It will be planned, and run when it is its turn", body = Job, links(
        ("show" = (operation_id = "show_job", parameters(("id" = "$response.body#/id")))),
        ("cancel" = (operation_id = "cancel_job", parameters(("id" = "$response.body#/id")))),
        ("delete" = (operation_id = "delete_job", parameters(("id" = "$response.body#/id")))),
    )),
    (status = 422, description = "It names files that are not there", body = Problem),
    (status = 429, description = "Too many jobs", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn submit_job(
    State(app): State<App>,
    Caller(client): Caller,
    Document(request): Document<JobRequest>,
) -> Answer<(StatusCode, Json<Job>)> {
    let job = app.work(move |store| store.submit(&client, request)).await?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

/// Show a job with its progress, and its results once it is done
#[utoipa::path(get, path = "/v1/jobs/{id}", tag = "jobs", params(("id" = Id, Path)), responses(
    (status = 200, description = "The job", body = Job),
    (status = 404, description = "There is no such job", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn show_job(State(app): State<App>, Caller(client): Caller, Name(id): Name<Id>) -> Answer<Json<Job>> {
    app.work(move |store| store.job(&client, id)).await.map(Json)
}

/// Cancel a job
///
/// At once if it does not run yet, also while it is planned; else at the end of its present step.
#[utoipa::path(post, path = "/v1/jobs/{id}/cancel", tag = "jobs", params(("id" = Id, Path)), responses(
    (status = 200, description = "It is canceled, or stopping", body = Job),
    (status = 404, description = "There is no such job", body = Problem),
    (status = 409, description = "It is over", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn cancel_job(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<Id>,
) -> Answer<Json<Job>> {
    app.work(move |store| store.cancel(&client, id)).await.map(Json)
}

/// Forget a job that is over; its results stay, as files
#[utoipa::path(delete, path = "/v1/jobs/{id}", tag = "jobs", params(("id" = Id, Path)), responses(
    (status = 204, description = "It is forgotten"),
    (status = 404, description = "There is no such job", body = Problem),
    (status = 409, description = "It is not over", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn delete_job(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<Id>,
) -> Answer<StatusCode> {
    app.work(move |store| store.delete_job(&client, id)).await.map(|()| StatusCode::NO_CONTENT)
}
