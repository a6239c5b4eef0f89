//! Routes of files.

use super::{
    Answer, App,
    extract::{BYTES, Binary, Caller, Name, stream},
    problem::Problem,
};
use crate::{
    id::{FileId, shortened},
    refusal::{Denied, Refusal},
    store::FileRecord,
};
use axum::{
    Json,
    extract::State,
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, RANGE},
    },
    response::{IntoResponse, Response},
};
use std::io::SeekFrom;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

/// List files
#[utoipa::path(get, path = "/v1/files", tag = "files", responses(
    (status = 200, description = "All files, by name", body = Vec<FileRecord>),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn list_files(State(app): State<App>, Caller(client): Caller) -> Answer<Json<Vec<FileRecord>>> {
    app.work(move |store| Ok(store.files(&client))).await.map(Json)
}

/// Show what a file is
#[utoipa::path(get, path = "/v1/files/{id}", tag = "files", params(("id" = FileId, Path)), responses(
    (status = 200, description = "The file's record", body = FileRecord),
    (status = 404, description = "There is no such file", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn show_file(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<FileId>,
) -> Answer<Json<FileRecord>> {
    app.work(move |store| store.file(&client, id)).await.map(Json)
}

/// Remove a file
#[utoipa::path(delete, path = "/v1/files/{id}", tag = "files", params(("id" = FileId, Path)), responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is no such file", body = Problem),
    (status = 409, description = "An unfinished job needs it", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn delete_file(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<FileId>,
) -> Answer<StatusCode> {
    app.work(move |store| store.delete_file(&client, id)).await.map(|()| StatusCode::NO_CONTENT)
}

/// Fetch a file
///
/// With a header `Range: bytes=FROM-TO` (one range) only that part, so that a download can go on where it broke off.
#[utoipa::path(get, path = "/v1/files/{id}/content", tag = "files", params(("id" = FileId, Path)), responses(
    (status = 200, description = "The whole file", body = Binary, content_type = "application/octet-stream"),
    (status = 206, description = "A part of it", body = Binary, content_type = "application/octet-stream"),
    (status = 404, description = "There is no such file", body = Problem),
    (status = 416, description = "The file has no such part", body = Problem),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn fetch_file(
    State(app): State<App>,
    Caller(client): Caller,
    Name(id): Name<FileId>,
    headers: HeaderMap,
) -> Answer<Response> {
    let (record, file) = app.work(move |store| store.open_file(&client, id)).await?;
    let asked = headers.get(RANGE).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let part = asked.and_then(|text| parse_range(&text, record.bytes));
    let (status, [from, end]) = match part {
        None => (StatusCode::OK, [0, record.bytes]),
        Some(Ok(part)) => (StatusCode::PARTIAL_CONTENT, part),
        Some(Err(got)) => return Err(no_such_part(&got, record.bytes)),
    };
    let mut file = tokio::fs::File::from_std(file);
    file.seek(SeekFrom::Start(from)).await.map_err(Denied::from)?;
    let mut response = (status, stream(file.take(end - from))).into_response();
    let answered = response.headers_mut();
    answered.insert(CONTENT_TYPE, HeaderValue::from_static(BYTES));
    answered.insert(CONTENT_LENGTH, HeaderValue::from(end - from));
    answered.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let texts = [(ETAG, format!("\"{id}\"")), (CONTENT_RANGE, format!("bytes {from}-{}/{}", end - 1, record.bytes))];
    for (name, text) in texts.into_iter().take(if status == StatusCode::OK { 1 } else { 2 }) {
        if let Ok(value) = HeaderValue::from_str(&text) {
            answered.insert(name, value);
        }
    }
    Ok(response)
}

fn no_such_part(got: &str, bytes: u64) -> Problem {
    let wanted = format!("bytes=FROM-TO within 0 to {}", bytes - 1);
    let refusal = Refusal::new("the file has no such part", got, wanted, "ask for a part that begins within the file");
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, refusal);
    match HeaderValue::from_str(&format!("bytes */{bytes}")) {
        Ok(value) => problem.with(CONTENT_RANGE, value),
        Err(_) => problem,
    }
}

/// The part of a file of this length that is asked for, as its beginning and end. None for a header that has no meaning
/// here, which RFC 9110 (section 14.2) wants ignored; an error for a part that is not there.
fn parse_range(text: &str, bytes: u64) -> Option<Result<[u64; 2], String>> {
    let (from, to) = text.strip_prefix("bytes=")?.trim().split_once('-')?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let [from, end] = match (from, to) {
        ("", last) => [bytes.saturating_sub(number(last)?), bytes],
        (from, "") => [number(from)?, bytes],
        (from, to) => {
            let (from, to) = (number(from)?, number(to)?);
            (from <= to).then_some([from, to.saturating_add(1).min(bytes)])?
        }
    };
    Some(if from < end { Ok([from, end]) } else { Err(shortened(text)) })
}

#[cfg(test)]
mod tests {
    use super::parse_range;

    #[test]
    fn parts_are_what_rfc_9110_says() {
        let part = |text| parse_range(text, 1000);
        assert_eq!(part("bytes=0-499"), Some(Ok([0, 500])));
        assert_eq!(part("bytes=500-"), Some(Ok([500, 1000])));
        assert_eq!(part("bytes=-200"), Some(Ok([800, 1000])));
        assert_eq!(part("bytes=-2000"), Some(Ok([0, 1000])), "more than there is from the end: all of it");
        assert_eq!(part("bytes=999-5000"), Some(Ok([999, 1000])));
        assert!(matches!(part("bytes=1000-"), Some(Err(_))));
        assert!(matches!(part("bytes=-0"), Some(Err(_))));
        for ignored in ["bytes=5-4", "bytes=a-b", "bytes=0-1,5-9", "lines=1-2", "bytes=", "bytes=+1-2"] {
            assert_eq!(part(ignored), None, "{ignored}");
        }
    }
}
