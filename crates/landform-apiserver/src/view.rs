//! Views: what parts of Landform show of themselves beside stored objects.
//!
//! A view is mounted under `/apis/landform.dev/v1alpha1/NAME` and answers reads of the paths below. It is
//! for what is true of the moment, such as what the engine runs: nothing of it is stored, nothing can be
//! watched. A question that is too long for a URL, such as what some manifests would change, is POSTed.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::{Response, StatusCode};
use serde_json::Value;

use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::request::decode::{self, BodyForm};
use crate::request::path::percent_decode;
use crate::request::query::Query;
use crate::respond;
use crate::server::{ApiServer, Call};

/// The group that views are mounted in. Rights to them are rights to resources of it, named as they are.
pub(crate) const GROUP: &str = "landform.dev";
/// The group and version that views are mounted in.
const PREFIX: &str = "/apis/landform.dev/v1alpha1/";

/// Something that can be read under a path of its own.
pub trait View: Send + Sync + 'static {
    /// Answers a read of the segments after the view's name; `None` when there is no such path.
    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Option<Value>>>;

    /// Answers a question that is POSTed to the segments after the view's name; `None` when that is not
    /// possible there.
    fn ask<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
        question: Value,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        let _ = (path, query, question);
        Box::pin(async { Ok(None) })
    }
}

/// The views that are mounted, by name.
#[derive(Default)]
pub(crate) struct Views(parking_lot::RwLock<Vec<(&'static str, Arc<dyn View>)>>);

impl ApiServer {
    /// Makes a view readable under `/apis/landform.dev/v1alpha1/NAME`. A later one of that name wins.
    pub fn mount(&self, name: &'static str, view: Arc<dyn View>) {
        let mut views = self.shared.views.0.write();
        views.retain(|(other, _)| *other != name);
        views.push((name, view));
    }

    /// The view that a path leads to, its name, and the rest of the path.
    pub(crate) fn view<'p>(&self, path: &'p str) -> Option<(Arc<dyn View>, &'static str, &'p str)> {
        let rest = path.strip_prefix(PREFIX)?;
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let views = self.shared.views.0.read();
        let found = views.iter().find(|(known, _)| *known == name);
        found.map(|(name, view)| (view.clone(), *name, rest))
    }

    pub(crate) async fn read_view(
        &self,
        call: &Call,
        view: &dyn View,
        rest: &str,
    ) -> Result<Response<Body>> {
        let refused = || {
            ApiError::new(
                Reason::MethodNotAllowed,
                format!("{} is not possible here", call.method),
            )
        };
        let asks = match call.method {
            http::Method::GET | http::Method::HEAD => false,
            http::Method::POST => true,
            _ => return Err(refused()),
        };
        let segments = rest.split('/').filter(|part| !part.is_empty());
        let segments: Option<Vec<String>> = segments.map(percent_decode).collect();
        let segments = segments.ok_or_else(ApiError::no_such_path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let answer = if asks {
            let question = decode::decode(&call.body, BodyForm::Json)?.value;
            view.ask(&segments, &call.query, question).await?
        } else {
            view.read(&segments, &call.query).await?
        };
        match answer {
            Some(value) => Ok(respond::value(
                StatusCode::OK,
                &value,
                crate::request::accept::Encoding::Json,
            )),
            None if asks => Err(refused()),
            None => Err(ApiError::new(
                Reason::NotFound,
                format!(
                    "there is nothing at {:?} in this view",
                    landform_api::budget::shown(rest)
                ),
            )),
        }
    }
}
