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
use crate::identity::Identity;
use crate::request::decode::{self, BodyForm};
use crate::request::path::percent_decode;
use crate::request::query::Query;
use crate::respond;
use crate::server::{ApiServer, Call};

/// The group that views are mounted in. Rights to them are rights to resources of it, named as they are.
pub(crate) const GROUP: &str = "landform.dev";
/// Its version.
pub(crate) const VERSION: &str = "v1alpha1";
/// The group and version that views are mounted in.
const PREFIX: &str = "/apis/landform.dev/v1alpha1/";

/// Something that can be read under a path of its own.
pub trait View: Send + Sync + 'static {
    /// What can be done with it, in the words of rules.
    fn verbs(&self) -> &'static [&'static str] {
        &["get"]
    }

    /// Whether there are paths with a [namespace](View::namespace).
    fn namespaced(&self) -> bool {
        false
    }

    /// The namespace of the one object that a path is about: the right to the view in that namespace is enough to read
    /// it. None where a path shows more than that.
    fn namespace<'p>(&self, path: &[&'p str]) -> Option<&'p str> {
        let _ = path;
        None
    }

    /// As [`View::read`], for a caller who has the right in the path's [namespace](View::namespace) only. Shows nothing
    /// else that the caller may not read.
    fn read_as<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
        who: &'a Identity,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        let _ = who;
        self.read(path, query)
    }

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

    /// As [`View::ask`], for a view whose answer depends on who asks.
    fn ask_as<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
        question: Value,
        who: &'a Identity,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        let _ = who;
        self.ask(path, query, question)
    }
}

/// Which view a request reads, in the words of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Viewed {
    pub(crate) name: &'static str,
    /// Empty for the whole cluster.
    pub(crate) namespace: String,
}

/// What the right to run programs is about.
const PROCESSES: &str = "processes";

/// Something that rules name and that isn't stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Virtual {
    pub(crate) name: &'static str,
    pub(crate) verbs: &'static [&'static str],
    pub(crate) namespaced: bool,
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

    /// What a request for a view needs the right to.
    pub(crate) fn viewed(&self, method: &http::Method, path: &str) -> Option<Viewed> {
        let (view, name, rest) = self.view(path)?;
        let reads = matches!(*method, http::Method::GET | http::Method::HEAD);
        let segments = segments(rest).filter(|_| reads).unwrap_or_default();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let namespace = view.namespace(&segments).unwrap_or_default().to_owned();
        Some(Viewed { name, namespace })
    }

    /// What rules can name of Landform's own group besides kinds: the right to run programs, and views.
    pub(crate) fn virtual_resources(&self) -> Vec<Virtual> {
        let views = self.shared.views.0.read();
        // A view of that name says so itself.
        let mut all = Vec::new();
        if !views.iter().any(|(name, _)| *name == PROCESSES) {
            all.push(Virtual {
                name: PROCESSES,
                verbs: &["run"],
                namespaced: true,
            });
        }
        all.extend(views.iter().map(|(name, view)| Virtual {
            name,
            verbs: view.verbs(),
            namespaced: view.namespaced(),
        }));
        all
    }

    /// Answers a request for a view. `limited` is a caller whose right ends at the namespace of the path.
    pub(crate) async fn read_view(
        &self,
        call: &Call,
        view: &dyn View,
        rest: &str,
        limited: Option<&Identity>,
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
        let segments = segments(rest).ok_or_else(ApiError::no_such_path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let answer = if asks {
            let form = BodyForm::from_content_type(call.header(http::header::CONTENT_TYPE))?;
            let question = decode::decode(&call.body, form)?.value;
            view.ask_as(&segments, &call.query, question, &call.identity)
                .await?
        } else {
            match limited {
                Some(who) => view.read_as(&segments, &call.query, who).await?,
                None => view.read(&segments, &call.query).await?,
            }
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

/// The segments of a path below a view; none when they can't be read.
fn segments(rest: &str) -> Option<Vec<String>> {
    let segments = rest.split('/').filter(|part| !part.is_empty());
    segments.map(percent_decode).collect()
}
