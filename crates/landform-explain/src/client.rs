//! Reads through a kube client: in the server's process, or against any cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use http::HeaderMap;
use http::header::HeaderValue;
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
    /// The one who may see what they may read, and of what the views show only what is in this namespace.
    limited: Option<Limited>,
    kinds: Arc<Mutex<BTreeMap<(String, String), KindRef>>>,
}

/// A caller who may be shown one namespace, and what else they may read.
#[derive(Clone)]
struct Limited {
    headers: HeaderMap,
    namespace: String,
}

impl ClientReader {
    /// A reader for this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            engine: None,
            history: None,
            limited: None,
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

    /// As before, with the rights of this user, and with what the engine and the collector know of one namespace only.
    /// The client must be one that may act as others.
    #[must_use]
    pub fn limited_to(mut self, namespace: &str, user: &str, groups: &[String]) -> Self {
        let mut headers = HeaderMap::new();
        let named = groups
            .iter()
            .map(|group| ("impersonate-group", group.as_str()));
        for (name, value) in std::iter::once(("impersonate-user", user)).chain(named) {
            // A name that can't stand in a header has come here in none. Without the user every read is refused.
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.append(name, value);
            }
        }
        self.limited = Some(Limited {
            headers,
            namespace: namespace.to_owned(),
        });
        self
    }

    /// Whether views may show this object.
    fn shows(&self, object: &ObjectRef) -> bool {
        let limited = self.limited.as_ref();
        limited.is_none_or(|limited| limited.namespace == object.namespace)
    }

    /// Reads JSON at a path with the caller's rights; `None` when there is nothing.
    async fn read(&self, path: &str) -> Result<Option<Value>, ReadError> {
        let headers = self.limited.as_ref().map(|limited| &limited.headers);
        self.read_with(path, headers).await
    }

    async fn read_with(
        &self,
        path: &str,
        headers: Option<&HeaderMap>,
    ) -> Result<Option<Value>, ReadError> {
        let failed = |error: String| ReadError::Failed(path.to_owned(), error);
        let request = http::Request::get(path).body(Vec::new());
        let mut request = request.map_err(|error| failed(error.to_string()))?;
        if let Some(headers) = headers {
            request.headers_mut().extend(headers.clone());
        }
        match self.client.request::<Value>(request).await {
            Ok(value) => Ok(Some(value)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 403 && headers.is_some() => {
                Err(ReadError::Forbidden(path.to_owned()))
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// A view of Landform's; what can't be read isn't there.
    async fn view(&self, name: &str, object: &ObjectRef) -> Option<Value> {
        if !is_plain(object) || !self.shows(object) {
            return None;
        }
        let path = format!("{VIEWS}/{name}/{}", object.path());
        self.read_with(&path, None).await.ok().flatten()
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
            let found = self.read(&format!("{path}/{}", object.name)).await;
            found.map_err(|error| match error {
                ReadError::Forbidden(_) => ReadError::Forbidden(object.to_string()),
                other => other,
            })
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
            let nothing = |complete| Listed {
                items: Vec::new(),
                complete,
            };
            let mut list = match self.read(&path).await {
                Ok(Some(list)) => list,
                Ok(None) => return Ok(nothing(true)),
                // What the caller may not see isn't shown.
                Err(ReadError::Forbidden(_)) => return Ok(nothing(false)),
                Err(error) => return Err(error),
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
            if !self.shows(object) {
                return None;
            }
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
        Box::pin(async move {
            let mut deletion = self.view("deletion", object).await?;
            if let Some(blockers) = deletion["blockers"].as_array_mut() {
                blockers.retain(|blocker| {
                    let namespace = blocker["object"]["namespace"].as_str().unwrap_or_default();
                    let limited = self.limited.as_ref();
                    limited.is_none_or(|limited| limited.namespace == namespace)
                });
            }
            Some(deletion)
        })
    }

    fn references<'a>(
        &'a self,
        namespace: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<(ObjectRef, ObjectRef)>> {
        Box::pin(async move {
            if self.limited.is_some() {
                return Vec::new();
            }
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
        Box::pin(async move {
            let mut all = CustomKinds::read(&self.client).await.unwrap_or_default();
            if let Some(Limited { namespace, .. }) = &self.limited {
                for kind in &mut all.items {
                    let found = &mut kind.unserved;
                    found.retain(|found| found.metadata.namespace.as_ref() == Some(namespace));
                }
            }
            all
        })
    }

    fn phase_since(&self, object: &ObjectRef) -> Option<String> {
        self.history.as_ref()?.since(object)
    }
}
