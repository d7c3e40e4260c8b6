//! Health: `/livez` and `/healthz` say that the server answers, `/readyz` whether it takes writes.
//!
//! A path below them names one check, and there is nothing at any other path. No credentials are needed, so nothing is
//! said about paths or objects.

use http::{HeaderValue, Response, StatusCode};

use crate::body::Body;
use crate::error::{ApiError, Reason};
use crate::request::query::Query;
use crate::respond;
use crate::server::ApiServer;

/// One thing that must be well, and what is wrong with it.
type Check = (&'static str, Option<String>);

impl ApiServer {
    /// Answers a probe.
    pub(crate) fn health(&self, path: &str, query: &Query) -> Result<Response<Body>, ApiError> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let page = segments.next().unwrap_or_default();
        let mut checks: Vec<Check> = vec![("ping", None)];
        if page == "readyz" {
            checks.push(("disk", self.disk_problem()));
            checks.push(("store-quota", self.quota_problem()));
        }
        if let Some(one) = segments.next() {
            checks.retain(|(name, _)| *name == one);
            if checks.is_empty() || segments.next().is_some() {
                return Err(no_such_check());
            }
        }
        checks.retain(|(name, _)| query.all("exclude").all(|other| other != *name));
        let verbose = query.all("verbose").next().is_some();
        Ok(answer(page, &checks, verbose))
    }

    fn disk_problem(&self) -> Option<String> {
        use landform_store::Error;
        self.shared.store.trouble().map(|trouble| match trouble {
            Error::DiskFull { .. } => {
                "the disk of the store is full: free some space; writes are refused until then"
                    .to_owned()
            }
            _ => "the store takes no writes: the server's log says why".to_owned(),
        })
    }
}

fn no_such_check() -> ApiError {
    let message = "there is no such check; ?verbose lists those that there are";
    ApiError::new(Reason::NotFound, message.to_owned())
}

fn answer(page: &str, checks: &[Check], verbose: bool) -> Response<Body> {
    let failed = checks.iter().any(|(_, problem)| problem.is_some());
    if !failed && !verbose {
        return respond::text("ok");
    }
    let mut text: String = checks
        .iter()
        .map(|(name, problem)| match problem {
            None => format!("[+]{name} ok\n"),
            Some(problem) => format!("[-]{name} failed: {problem}\n"),
        })
        .collect();
    let verdict = if failed { "failed" } else { "passed" };
    text.push_str(&format!("{page} check {verdict}\n"));
    let status = if failed {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    };
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    respond::with_type(status, plain, text.into())
}
