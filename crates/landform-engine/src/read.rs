//! The engine's view as JSON under paths: the same for the API server and for an engine on its own.
//!
//! | path | what |
//! | --- | --- |
//! | (empty) | the engine at a glance: runs, kinds |
//! | `objects?kind=&namespace=&state=&limit=` | objects and what each is doing |
//! | `objects/GROUP/KIND/NAMESPACE/NAME` | one object; `core` is the core group, `-` is no namespace |
//! | `graph?kind=&namespace=&limit=` | which object refers to which |
//! | `trace?limit=` | what happened last, newest first |
//! | `trace/GROUP/KIND/NAMESPACE/NAME?limit=` | what happened to one object |
//! | POST `reconcile/GROUP/KIND/NAMESPACE/NAME` | asks for a run of one object |

use std::sync::Arc;

use landform_api::GroupKind;
use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::{Engine, EngineError};
use crate::key::Key;
use crate::view::{Filter, State, TraceView};

const API_VERSION: &str = "landform.dev/v1alpha1";
/// Unless said otherwise, so many objects or entries are shown.
const LIMIT: usize = 500;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The question can't be understood.
    #[error("{0}")]
    BadQuestion(String),
    /// The engine can't be asked.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Engine {
    /// Answers a read of a path below the engine's; `None` when there is nothing there.
    ///
    /// # Errors
    /// When the query can't be understood, or the engine has stopped.
    pub async fn read(
        &self,
        path: &[&str],
        query: &(dyn Fn(&str) -> Option<String> + Sync),
    ) -> Result<Option<Value>, ReadError> {
        Ok(match path {
            [] => Some(described("Engine", &self.summary().await?)),
            ["objects"] => Some(self.read_objects(query).await?),
            ["objects", rest @ ..] => match key_of(rest) {
                None => None,
                Some(key) => {
                    let object = self.object(key).await?;
                    object.map(|object| described("EngineObject", &object))
                }
            },
            ["graph"] => {
                let filter = Filter {
                    kind: query("kind"),
                    namespace: query("namespace"),
                    state: None,
                    limit: limit(query)?,
                };
                let (edges, more) = self.references(filter).await?;
                Some(json!({
                    "apiVersion": API_VERSION, "kind": "EngineGraph", "items": edges, "more": more,
                }))
            }
            ["trace", rest @ ..] => {
                let key = key_of(rest);
                if key.is_none() && !rest.is_empty() {
                    return Ok(None);
                }
                let entries = self.trace(key, limit(query)?).await?;
                let items: Vec<_> = entries.iter().map(TraceView::from).collect();
                Some(json!({"apiVersion": API_VERSION, "kind": "EngineTrace", "items": items}))
            }
            _ => None,
        })
    }

    /// Answers what is POSTed to a path below the engine's; `None` when that is not possible there.
    ///
    /// # Errors
    /// When the engine doesn't reconcile the object, or has stopped.
    pub async fn asked(&self, path: &[&str]) -> Result<Option<Value>, ReadError> {
        let ["reconcile", rest @ ..] = path else {
            return Ok(None);
        };
        let Some(key) = key_of(rest) else {
            return Ok(None);
        };
        let summary = self.summary().await?;
        let reconciled = summary.kinds.iter().any(|kind| {
            kind.reconciled && kind.kind == key.kind.kind && kind.group == key.kind.group
        });
        if !reconciled {
            let kind = &key.kind.kind;
            let message = format!("nothing reconciles the kind {kind} here");
            return Err(ReadError::BadQuestion(message));
        }
        let Some(object) = self.object(key.clone()).await? else {
            let message = format!("the engine has not seen {}/{}", key.kind.kind, key.name);
            return Err(ReadError::BadQuestion(message));
        };
        self.ask(key);
        Ok(Some(described("EngineObject", &object)))
    }

    async fn read_objects(
        &self,
        query: &(dyn Fn(&str) -> Option<String> + Sync),
    ) -> Result<Value, ReadError> {
        let state = query("state").map(|text| {
            State::parse(&text).ok_or_else(|| {
                ReadError::BadQuestion(format!(
                    "state={text}: must be Idle, Pending, Running, Cancelling, Stuck or Cyclic"
                ))
            })
        });
        let filter = Filter {
            kind: query("kind"),
            namespace: query("namespace"),
            state: state.transpose()?,
            limit: limit(query)?,
        };
        let (items, more) = self.objects(filter).await?;
        Ok(json!({
            "apiVersion": API_VERSION, "kind": "EngineObjectList",
            "items": items, "remainingItemCount": more,
        }))
    }
}

fn limit(query: &(dyn Fn(&str) -> Option<String> + Sync)) -> Result<usize, ReadError> {
    query("limit").map_or(Ok(LIMIT), |text| {
        let bad = |_| ReadError::BadQuestion(format!("limit={text}: must be a number"));
        text.parse().map_err(bad)
    })
}

fn key_of(path: &[&str]) -> Option<Key> {
    let [group, kind, namespace, name] = path else {
        return None;
    };
    let group = if *group == "core" { "" } else { group };
    let namespace = if *namespace == "-" { "" } else { namespace };
    let kind = GroupKind {
        group: group.to_owned(),
        kind: (*kind).to_owned(),
    };
    Some(Key::new(Arc::new(kind), namespace, name))
}

fn described(kind: &str, value: &impl Serialize) -> Value {
    let mut described = json!({"apiVersion": API_VERSION, "kind": kind});
    let value = serde_json::to_value(value).unwrap_or_default();
    if kind == "EngineObject" {
        // An object has a kind of its own.
        described["object"] = value;
    } else if let (Some(all), Value::Object(fields)) = (described.as_object_mut(), value) {
        all.extend(fields);
    }
    described
}
