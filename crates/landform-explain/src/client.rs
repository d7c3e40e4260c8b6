//! Reads through a kube client: in the server's process, or against any cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Client;
use landform_engine::custom_kinds::CustomKinds;
use landform_engine::view::Filter;
use landform_engine::{Engine, Key};
use parking_lot::Mutex;
use serde_json::Value;

use crate::object::{self, KindRef, ObjectRef};
use crate::reader::{Listed, ReadError, Reader};
use crate::view::history::History;

/// Where Landform's views are.
const VIEWS: &str = "/apis/landform.dev/v1alpha1";
/// So many references are read.
const REFERENCES: usize = 20_000;

/// Reads through a kube client. An engine and a history that are at hand are asked directly, otherwise the
/// views of the API are, where there are any.
#[derive(Clone)]
pub struct ClientReader {
    client: Client,
    engine: Option<Engine>,
    history: Option<Arc<History>>,
    kinds: Arc<Mutex<BTreeMap<(String, String), KindRef>>>,
}

impl ClientReader {
    /// A reader for this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            engine: None,
            history: None,
            kinds: Arc::default(),
        }
    }

    /// As before, with the engine of this process.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    pub(crate) fn with_history(mut self, history: Arc<History>) -> Self {
        self.history = Some(history);
        self
    }

    /// Reads JSON at a path; `None` when there is nothing.
    async fn read(&self, path: &str) -> Result<Option<Value>, ReadError> {
        let failed = |error: String| ReadError::Failed(path.to_owned(), error);
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|error| failed(error.to_string()))?;
        match self.client.request::<Value>(request).await {
            Ok(value) => Ok(Some(value)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// A view of Landform's; what can't be read isn't there.
    async fn view(&self, name: &str, object: &ObjectRef) -> Option<Value> {
        if !is_plain(object) {
            return None;
        }
        let path = format!("{VIEWS}/{name}/{}", object.path());
        self.read(&path).await.ok().flatten()
    }

    async fn discover(&self, group: &str, kind: &str) -> Result<KindRef, ReadError> {
        let unknown = || ReadError::NoSuchKind {
            group: group.to_owned(),
            kind: kind.to_owned(),
        };
        if !group.chars().chain(kind.chars()).all(plain) {
            return Err(unknown());
        }
        let prefix = if group.is_empty() {
            "/api/v1".to_owned()
        } else {
            let found = self.read(&format!("/apis/{group}")).await?;
            let found = found.ok_or_else(unknown)?;
            let version = found["preferredVersion"]["version"].as_str();
            format!("/apis/{group}/{}", version.ok_or_else(unknown)?)
        };
        let resources = self.read(&prefix).await?.ok_or_else(unknown)?;
        let resources = resources["resources"].as_array();
        let found = resources.into_iter().flatten().find(|resource| {
            let name = resource["name"].as_str().unwrap_or_default();
            resource["kind"] == kind && !name.contains('/')
        });
        let found = found.ok_or_else(unknown)?;
        let version = prefix
            .trim_start_matches("/apis/")
            .trim_start_matches("/api/");
        Ok(KindRef {
            api_version: version.to_owned(),
            kind: kind.to_owned(),
            plural: found["name"].as_str().unwrap_or_default().to_owned(),
            namespaced: found["namespaced"] == true,
        })
    }

    async fn kind_of(&self, object: &ObjectRef) -> Result<KindRef, ReadError> {
        let found = self.kind(object.group(), &object.kind).await?;
        // Whoever names a version gets it.
        Ok(KindRef {
            api_version: object.api_version.clone(),
            ..found
        })
    }
}

/// Names become part of a URL: what would lead somewhere else names nothing.
fn plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._:".contains(letter)
}

fn is_plain(object: &ObjectRef) -> bool {
    let parts = [&object.name, &object.namespace, &object.kind];
    let fine = |part: &&String| part.chars().all(plain) && !matches!(part.as_str(), "." | "..");
    parts.iter().all(fine) && !object.name.is_empty()
}

/// An object as the engine names it: without a version.
fn named(name: &Value) -> ObjectRef {
    let text = |field: &str| name[field].as_str().unwrap_or_default().to_owned();
    let group = text("group");
    ObjectRef {
        api_version: if group.is_empty() {
            "v1".to_owned()
        } else {
            format!("{group}/")
        },
        kind: text("kind"),
        namespace: text("namespace"),
        name: text("name"),
    }
}

/// Where a kind's objects are.
fn collection(kind: &KindRef, namespace: Option<&str>) -> String {
    let root = if kind.api_version.contains('/') {
        "apis"
    } else {
        "api"
    };
    let within = namespace.filter(|namespace| kind.namespaced && !namespace.is_empty());
    let within = within.map(|namespace| format!("namespaces/{namespace}/"));
    let within = within.unwrap_or_default();
    format!("/{root}/{}/{within}{}", kind.api_version, kind.plural)
}

impl Reader for ClientReader {
    fn kind<'a>(
        &'a self,
        group: &'a str,
        kind: &'a str,
    ) -> BoxFuture<'a, Result<KindRef, ReadError>> {
        Box::pin(async move {
            if let Some(known) = object::known_in(group, kind) {
                return Ok(known);
            }
            let key = (group.to_owned(), kind.to_owned());
            let cached = self.kinds.lock().get(&key).cloned();
            if let Some(found) = cached {
                return Ok(found);
            }
            let found = self.discover(group, kind).await?;
            self.kinds.lock().insert(key, found.clone());
            Ok(found)
        })
    }

    fn get<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Result<Option<Value>, ReadError>> {
        Box::pin(async move {
            if !is_plain(object) {
                return Ok(None);
            }
            let kind = self.kind_of(object).await?;
            let path = collection(&kind, Some(&object.namespace));
            self.read(&format!("{path}/{}", object.name)).await
        })
    }

    fn list<'a>(
        &'a self,
        kind: &'a KindRef,
        namespace: Option<&'a str>,
        labels: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Listed, ReadError>> {
        Box::pin(async move {
            let mut path = format!("{}?limit={limit}", collection(kind, namespace));
            if let Some(labels) = labels {
                let labels = labels
                    .replace('/', "%2F")
                    .replace('=', "%3D")
                    .replace(',', "%2C");
                path = format!("{path}&labelSelector={labels}");
            }
            let Some(mut list) = self.read(&path).await? else {
                return Ok(Listed {
                    items: Vec::new(),
                    complete: true,
                });
            };
            let complete = list["metadata"]["continue"]
                .as_str()
                .unwrap_or_default()
                .is_empty();
            let items = match list["items"].take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            };
            let named = items.into_iter().map(|mut item| {
                // Items of a list need not say what they are.
                item["apiVersion"] = kind.api_version.clone().into();
                item["kind"] = kind.kind.clone().into();
                item
            });
            Ok(Listed {
                items: named.collect(),
                complete,
            })
        })
    }

    fn engine<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            match &self.engine {
                Some(engine) => {
                    let kind = Arc::new(object.group_kind());
                    let key = Key::new(kind, &object.namespace, &object.name);
                    let seen = engine.object(key).await.ok().flatten()?;
                    serde_json::to_value(seen).ok()
                }
                None => {
                    let seen = self.view("engine/objects", object).await?;
                    Some(seen["object"].clone())
                }
            }
        })
    }

    fn deletion<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Option<Value>> {
        Box::pin(self.view("deletion", object))
    }

    fn references<'a>(
        &'a self,
        namespace: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<(ObjectRef, ObjectRef)>> {
        Box::pin(async move {
            let found = match &self.engine {
                Some(engine) => {
                    let filter = Filter {
                        namespace: namespace.map(ToOwned::to_owned),
                        limit: REFERENCES,
                        ..Filter::default()
                    };
                    let found = engine.references(filter).await.ok();
                    found.and_then(|(found, _)| serde_json::to_value(found).ok())
                }
                None => {
                    let within = namespace.map(|namespace| format!("&namespace={namespace}"));
                    let within = within.unwrap_or_default();
                    let path = format!("{VIEWS}/engine/graph?limit={REFERENCES}{within}");
                    let answer = self.read(&path).await.ok().flatten();
                    answer.map(|mut answer| answer["items"].take())
                }
            };
            let found = found.unwrap_or_default();
            let found = found.as_array().into_iter().flatten();
            found
                .map(|edge| (named(&edge["from"]), named(&edge["to"])))
                .collect()
        })
    }

    fn custom_kinds(&self) -> BoxFuture<'_, CustomKinds> {
        Box::pin(async move { CustomKinds::read(&self.client).await.unwrap_or_default() })
    }

    fn phase_since(&self, object: &ObjectRef) -> Option<String> {
        self.history.as_ref()?.since(object)
    }
}
