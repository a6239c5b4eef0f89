//! The page for a person: jobs with their plans, uploads and files, as HTML without scripts.
//!
//! Every text passes [`Page`], which escapes it: names of steps and kinds, refusals and results come from clients' files.

use super::{Answer, App, extract::Caller, problem::Problem};
use crate::{
    client::ClientName,
    store::{FileRecord, Job, JobState, Store, Upload, UploadState},
};
use axum::{
    extract::State,
    http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY},
    response::{IntoResponse, Response},
};
use limbwise_machines::html::{
    Page,
    page::Column::{self, Number, Text},
};
use std::{num::NonZeroU32, time::SystemTime};

/// No scripts, nothing from elsewhere, no forms, in nobody's frame.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Seconds until a page with something unfinished is asked for again.
const AGAIN: NonZeroU32 = NonZeroU32::new(5).expect("it is not zero");
/// Longest text of a cell: a refusal may quote a whole error.
const MOST_CHARACTERS: usize = 300;
/// Most rows of a table, the newest.
const MOST_ROWS: usize = 200;

/// Show jobs, uploads and files to a person
///
/// HTML without scripts. With tokens, a browser asks for a name and a password: any name, and the token.
#[utoipa::path(get, path = "/", tag = "server", responses(
    (status = 200, description = "The page", body = String, content_type = "text/html"),
    (status = "default", description = "An error", body = Problem),
))]
pub(super) async fn page(State(app): State<App>, Caller(client): Caller) -> Answer<Response> {
    let html = app.work(move |store| Ok(html(store, &client))).await?;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    Ok((headers, html).into_response())
}

fn html(store: &Store, client: &ClientName) -> String {
    let (jobs, uploads, files) = (store.jobs(client), store.uploads(client), store.files(client));
    let limits = store.limits();
    let (used, all) = (bytes(store.used_bytes(client)), bytes(limits.client_bytes.min(limits.total_bytes)));
    let about =
        format!("client {client}: {used} of {all} in use or promised, jobs within {}", bytes(limits.memory_bytes));
    let mut page = Page::new("Encrypted jobs", &about);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    page.section("Jobs");
    let heading = [
        ("job", Text),
        ("state", Text),
        ("asked", Number),
        ("memory", Number),
        ("seconds", Number),
        ("levels", Number),
        ("computed", Number),
        ("progress", Text),
    ];
    table(&mut page, &heading, jobs.iter().rev().map(|job| job_row(job, now)).collect());
    page.section("Uploads");
    let heading = [("upload", Text), ("state", Text), ("received", Number), ("of", Number), ("kind", Text)];
    table(&mut page, &heading, uploads.iter().rev().map(upload_row).collect());
    page.section("Files");
    table(&mut page, &[("file", Text), ("bytes", Number), ("kind", Text)], files.iter().map(file_row).collect());
    let moving = jobs.iter().any(|job| !job.is_over())
        || uploads.iter().any(|upload| matches!(upload.state, UploadState::Receiving | UploadState::Checking));
    page.render_still(moving.then_some(AGAIN))
}

fn table(page: &mut Page, heading: &[(&str, Column)], mut rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return page.text("None.");
    }
    let more = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    page.table(heading, &rows);
    if more > 0 {
        page.text(&format!("And {more} more."));
    }
}

fn job_row(job: &Job, now: u64) -> Vec<String> {
    let plan = |show: &dyn Fn(&crate::JobPlan) -> String| job.plan.as_ref().map_or_else(String::new, show);
    vec![
        job.id.to_string(),
        job.state.to_string(),
        format!("{} ago", duration(now.saturating_sub(job.created) as f64)),
        plan(&|plan| bytes(plan.memory_bytes)),
        plan(&|plan| duration(plan.seconds)),
        plan(&|plan| plan.levels.map_or_else(String::new, |levels| levels.to_string())),
        duration(job.seconds + job.progress.as_ref().map_or(0.0, |progress| progress.seconds)),
        shortened(&progress(job)),
    ]
}

/// Where it is, what it gave, or why it gave nothing.
fn progress(job: &Job) -> String {
    match (job.state, &job.progress, &job.results, &job.refusal) {
        (JobState::Running | JobState::Stopping, Some(progress), ..) => {
            format!("{} {}/{}", progress.step, progress.done, progress.total)
        }
        (.., Some(results), _) => {
            let named: Vec<String> =
                results.iter().map(|result| format!("{} ({})", result.name, bytes(result.bytes))).collect();
            named.join(", ")
        }
        (.., Some(refusal)) => match (&refusal.got, &refusal.wanted) {
            (Some(got), Some(wanted)) => format!("{}: got {got}, wanted {wanted}", refusal.what),
            _ => refusal.what.clone(),
        },
        _ => String::new(),
    }
}

fn upload_row(upload: &Upload) -> Vec<String> {
    let Upload { id, state, received, bytes: all, .. } = upload;
    let told = upload.refusal.as_ref().map(|refusal| refusal.what.clone()).or(upload.kind.clone());
    vec![id.to_string(), state.to_string(), bytes(*received), bytes(*all), shortened(&told.unwrap_or_default())]
}

fn file_row(file: &FileRecord) -> Vec<String> {
    vec![file.id.to_string(), bytes(file.bytes), shortened(&file.kind)]
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MOST_CHARACTERS {
        return text.into();
    }
    format!("{} …", text.chars().take(MOST_CHARACTERS).collect::<String>())
}

/// Three digits with a decimal unit, as the options of the command line take it.
fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 {
            return rounded(value, unit);
        }
        value /= 1000.0;
    }
    rounded(value, "TB")
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s > 0.0 && s < 0.0995 => rounded(s * 1000.0, "ms"),
        s if s < 120.0 => rounded(s, "s"),
        s if s < 7200.0 => rounded(s / 60.0, "min"),
        s if s < 172_800.0 => rounded(s / 3600.0, "h"),
        s => rounded(s / 86_400.0, "d"),
    }
}

fn rounded(value: f64, unit: &str) -> String {
    let decimals = if value >= 99.95 || value.fract() < 1e-9 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_at_a_glance() {
        let sizes = [0, 999, 1000, 12_345, 1_500_000, 999_999_999, 16_000_000_000].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1 kB", "12.3 kB", "1.50 MB", "1.00 GB", "16 GB"].map(String::from));
        let times = [0.0, 0.00321, 0.5, 59.9, 600.0, 7200.0, 300_000.0].map(duration);
        assert_eq!(times, ["0 s", "3.21 ms", "0.50 s", "59.9 s", "10 min", "2 h", "3.47 d"].map(String::from));
    }
}
