//! Explanations under `/apis/landform.dev/v1alpha1/`, for the command line and for a dashboard.
//!
//! | path | answers |
//! | --- | --- |
//! | `why/GROUP/KIND/NAMESPACE/NAME` | [`crate::Why`] |
//! | `tree?namespace=&project=` | [`crate::tree::Forest`] of a namespace, a project or all |
//! | `tree/GROUP/KIND/NAMESPACE/NAME` | the tree below one object |
//! | `graph?namespace=&project=` | [`crate::graph::Graph`] |
//! | `history/GROUP/KIND/NAMESPACE/NAME` | the phases that it had |
//!
//! The core group is `core`, and `-` stands for the namespace of what is in none.
//!
//! Who has the right to a view in one namespace only may ask about objects of that namespace, and is shown what else they may
//! read: everything is read with their own rights.

pub mod history;

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Client;
use landform_apiserver::error::{ApiError, Reason, Result};
use landform_apiserver::{ApiServer, Identity, Query, View};
use landform_engine::Engine;
use serde_json::Value;

use crate::client::ClientReader;
use crate::graph;
use crate::object::ObjectRef;
use crate::reader::{ReadError, Reader};
use crate::tree::{self, Scope};
use history::History;

/// The views of this crate.
pub struct Explain {
    reader: ClientReader,
    history: Arc<History>,
}

impl Explain {
    /// Mounts all views. The client is one in the server's process; the collector's view `deletion` is read
    /// through it. Starts the task that notes phases; it ends when the returned handle is dropped.
    pub fn mount(server: &ApiServer, client: Client, engine: Engine) -> Arc<Self> {
        let history = Arc::new(History::default());
        history::follow(&client, &history);
        let reader = ClientReader::new(client)
            .with_engine(engine)
            .with_history(history.clone());
        let explain = Arc::new(Self { reader, history });
        for name in ["why", "tree", "graph", "history"] {
            let view = Named(name, explain.clone());
            server.mount(name, Arc::new(view));
        }
        explain
    }

    /// Explains an object.
    ///
    /// # Errors
    /// When the object doesn't exist, or something can't be read.
    pub async fn why(&self, object: &ObjectRef) -> std::result::Result<crate::Why, ReadError> {
        crate::why::explain(&self.reader, object).await
    }

    /// Answers a caller who may see the namespace of the path.
    async fn read_limited(
        &self,
        view: &str,
        path: &[&str],
        who: &Identity,
    ) -> Result<Option<Value>> {
        let (Some(object), Some(namespace)) = (self.object(path).await?, namespace(path)) else {
            return Ok(None);
        };
        let reader = self.reader.clone();
        let reader = reader.limited_to(namespace, &who.user, &who.groups);
        match view {
            "why" => answer(
                &crate::why::explain(&reader, &object)
                    .await
                    .map_err(refused)?,
            ),
            "tree" => answer(&tree::below(&reader, &object).await.map_err(refused)?),
            "history" => {
                // Only of what the caller may read.
                reader.get(&object).await.map_err(refused)?;
                Ok(self.history.shown(&object))
            }
            _ => return Ok(None),
        }
        .map(Some)
    }

    async fn read(&self, view: &str, path: &[&str], query: &Query) -> Result<Option<Value>> {
        if path.is_empty() {
            let get = |key: &str| {
                query
                    .get(key)
                    .filter(|value| !value.is_empty())
                    .map(str::to_owned)
            };
            let scope = Scope {
                namespace: get("namespace"),
                project: get("project"),
            };
            return self.overview(view, &scope).await;
        }
        let Some(object) = self.object(path).await? else {
            return Ok(None);
        };
        match view {
            "why" => answer(&self.why(&object).await.map_err(refused)?).map(Some),
            "tree" => answer(&tree::below(&self.reader, &object).await.map_err(refused)?).map(Some),
            "history" => Ok(Some(self.history.shown(&object))),
            _ => Ok(None),
        }
    }

    /// What is asked of all objects of a namespace or project.
    async fn overview(&self, view: &str, scope: &Scope) -> Result<Option<Value>> {
        match view {
            "tree" => answer(&tree::forest(&self.reader, scope).await.map_err(refused)?).map(Some),
            "graph" => answer(&graph::graph(&self.reader, scope).await.map_err(refused)?).map(Some),
            _ => Ok(None),
        }
    }

    /// The object that a path names.
    async fn object(&self, path: &[&str]) -> Result<Option<ObjectRef>> {
        let [group, kind, namespace, name] = path else {
            return Ok(None);
        };
        let group = if *group == "core" { "" } else { group };
        let namespace = if *namespace == "-" { "" } else { namespace };
        let kind = self.reader.kind(group, kind).await.map_err(refused)?;
        Ok(Some(ObjectRef::new(&kind, namespace, name)))
    }
}

fn answer(value: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| ApiError::internal(error.to_string()))
}

fn refused(error: ReadError) -> ApiError {
    match error {
        ReadError::NoSuchKind { .. } | ReadError::NotFound(_) => {
            ApiError::new(Reason::NotFound, error.to_string())
        }
        ReadError::Forbidden(_) => ApiError::new(Reason::Forbidden, error.to_string()),
        ReadError::Failed(..) => ApiError::new(Reason::ServiceUnavailable, error.to_string()),
    }
}

/// The namespace of the object that a path names.
fn namespace<'p>(path: &[&'p str]) -> Option<&'p str> {
    match path {
        [_, _, namespace, _] if *namespace != "-" => Some(namespace),
        _ => None,
    }
}

/// One of the views, by its name.
struct Named(&'static str, Arc<Explain>);

impl View for Named {
    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(self.1.read(self.0, path, query))
    }

    fn namespaced(&self) -> bool {
        self.0 != "graph"
    }

    fn namespace<'p>(&self, path: &[&'p str]) -> Option<&'p str> {
        namespace(path)
    }

    fn read_as<'a>(
        &'a self,
        path: &'a [&'a str],
        _query: &'a Query,
        who: &'a Identity,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(self.1.read_limited(self.0, path, who))
    }
}
