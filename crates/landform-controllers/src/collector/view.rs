//! `GET /apis/landform.dev/v1alpha1/deletion`: what is being deleted, and what each deletion waits for.
//!
//! | path | shows |
//! | --- | --- |
//! | `…/deletion` | everything that is marked and still there, oldest first |
//! | `…/deletion/GROUP/KIND/NAMESPACE/NAME` | one object |
//! | `…/deletion/preview/GROUP/KIND/NAMESPACE/NAME?policy=…` | what a delete would do ([`super::preview`]) |
//!
//! The core group is `core`, and `-` stands for the namespace of what is in none. This is the one place
//! that the command line, a dashboard and whatever explains waiting read from.

use std::sync::Arc;

use futures::future::BoxFuture;
use landform_api::keys;
use landform_api::words::counted;
use landform_apiserver::error::{ApiError, Result};
use landform_apiserver::{Query, View};
use landform_engine::hooks::{FINALIZER, FINALIZER_PREFIX};
use landform_graph::NodeId;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::blockers;
use super::client::{self, RequestError};
use super::decide::decide;
use super::decision::{Policy, Waiting};
use super::events::Title;
use super::kinds::KindId;
use super::preview;
use super::run::{Collector, Shared};
use super::state::State;
use landform_graph::owners::Uid;

/// So many deletions are shown unless `limit` says otherwise.
const SHOWN: usize = 500;
/// So many dependents are named.
const NAMED: usize = 5;

impl Collector {
    /// What the collector shows of itself, to be mounted as `deletion`.
    #[must_use]
    pub fn view(&self) -> Arc<dyn View> {
        Arc::new(DeletionView(self.shared.clone()))
    }
}

struct DeletionView(Arc<Shared>);

impl View for DeletionView {
    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move {
            match path {
                [] => Ok(Some(self.all(query)?)),
                ["preview", object @ ..] => self.preview(object, query).await,
                object => self.one(object).await,
            }
        })
    }
}

impl DeletionView {
    fn all(&self, query: &Query) -> Result<Value> {
        let limit = query.number("limit")?.and_then(|n| usize::try_from(n).ok());
        let state = self.0.state.lock();
        let mut oldest: Vec<(i64, NodeId)> = state
            .marked
            .iter()
            .map(|(node, marked)| (marked.since, *node))
            .collect();
        oldest.sort_unstable();
        let items: Vec<Value> = oldest
            .iter()
            .take(limit.filter(|limit| *limit > 0).unwrap_or(SHOWN))
            .map(|(_, node)| described(&state, *node))
            .collect();
        Ok(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "DeletionList",
            "waiting": oldest.len(), "items": items, "failingKinds": failing(&state),
            "unknownOwners": unknown(&state),
        }))
    }

    async fn one(&self, path: &[&str]) -> Result<Option<Value>> {
        let Some(node) = self.find(path).await? else {
            return Ok(None);
        };
        let state = self.0.state.lock();
        if state.marked.contains_key(&node) {
            return Ok(Some(described(&state, node)));
        }
        let name = state.title(node).to_string();
        Ok(Some(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Deletion",
            "object": object(&state.title(node)),
            "message": format!("{name} is not being deleted"),
            "unknownOwners": unknown_of(&state, node),
            "failure": state.queue.failure(node),
        })))
    }

    async fn preview(&self, path: &[&str], query: &Query) -> Result<Option<Value>> {
        let name = query.get("policy").unwrap_or("Cascade");
        let policy = Policy::parse(name).ok_or_else(|| {
            ApiError::bad_request(format!(
                "policy={name}: must be cascade, background, foreground or orphan"
            ))
        })?;
        let Some(node) = self.find(path).await? else {
            return Ok(None);
        };
        Ok(Some(preview::show(&self.0, node, policy).await))
    }

    /// The object of a path, by a live read of its uid: the graph knows no names.
    async fn find(&self, path: &[&str]) -> Result<Option<NodeId>> {
        let [group, kind, namespace, name] = path else {
            return Ok(None);
        };
        let group = if *group == "core" { "" } else { group };
        let namespace = if *namespace == "-" { "" } else { namespace };
        let address = {
            let state = self.0.state.lock();
            let key = (group.to_owned(), (*kind).to_owned());
            let Some(id) = state.by_type.get(&key) else {
                return Ok(None);
            };
            state.kind(*id).kind.address(namespace, name)
        };
        let found = match client::metadata(&self.0.client, &address).await {
            Ok(found) => found,
            Err(RequestError::NotServed) => None,
            Err(error) => return Err(ApiError::internal(error.to_string())),
        };
        let uid = found.and_then(|metadata| metadata.uid);
        let state = self.0.state.lock();
        Ok(uid.and_then(|uid| state.graph.find(&Uid::new(&uid))))
    }
}

/// An object as others refer to it.
pub(super) fn object(title: &Title) -> Value {
    json!({
        "apiVersion": title.api_version, "kind": title.kind,
        "namespace": title.namespace, "name": title.name, "uid": title.uid,
    })
}

/// Kinds that can't be followed: what depends on a deleted object may be hidden there.
pub(super) fn failing(state: &State) -> Vec<Value> {
    state
        .failing_kinds()
        .map(|(kind, why)| json!({"resource": kind.resource_name(), "message": why}))
        .collect()
}

/// Owners of which it can't be known whether they exist; what they own stays.
fn unknown(state: &State) -> Vec<Value> {
    let mut owners: Vec<Value> = state
        .unknown_owners()
        .map(|owner| {
            json!({"uid": owner.uid.to_string(), "dependents": owner.dependents, "message": owner.why})
        })
        .collect();
    owners.sort_by(|one, other| one["uid"].as_str().cmp(&other["uid"].as_str()));
    owners
}

/// Those among the owners of one object.
fn unknown_of(state: &State, node: NodeId) -> Vec<Value> {
    let mine: Vec<String> = state
        .graph
        .owners(node)
        .filter_map(|owner| Some(state.graph.uid(owner.node)?.to_string()))
        .collect();
    let owners = unknown(state).into_iter();
    let is_mine = |owner: &Value| mine.iter().any(|uid| owner["uid"] == **uid);
    owners.filter(is_mine).collect()
}

/// A marked object: since when, and everything that is in its way.
fn described(state: &State, node: NodeId) -> Value {
    let title = state.title(node);
    let (Some(marked), Some(subject)) = (state.marked.get(&node), state.subject(node)) else {
        return Value::Null;
    };
    let decision = decide(&subject.observed);
    let finalizers: Vec<Value> = marked
        .finalizers
        .iter()
        .map(|name| json!({"name": name, "responsible": responsible(name)}))
        .collect();
    let dependents = state.graph.dependents(node).take(NAMED);
    let first: Vec<String> = dependents
        .map(|dependent| state.title(dependent.node).to_string())
        .collect();
    let blockers = blockers::below(state, node);
    let content = content(state, node);
    let since = OffsetDateTime::from_unix_timestamp(marked.since).ok();
    let since = since.and_then(|time| time.format(&Rfc3339).ok());
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Deletion",
        "object": object(&title),
        "since": since,
        "rule": decision.rule.map(|rule| format!("{rule:?}")),
        "message": message(&decision.waiting_on, &blockers, &content),
        "finalizers": finalizers,
        "dependents": {
            "count": state.graph.dependent_count(node),
            "blocking": state.graph.blocking_count(node),
            "first": first,
        },
        "blockers": blockers,
        "failure": state.queue.failure(node),
        "namespaceContent": content,
    })
}

fn message(waiting_on: &Waiting, blockers: &[Value], content: &[Value]) -> String {
    let mut text = match waiting_on {
        Waiting::Nothing if !content.is_empty() => contained(content),
        Waiting::Finalizers(names) if names.is_empty() && !content.is_empty() => contained(content),
        Waiting::Nothing => "it is about to go".to_owned(),
        Waiting::Dependents(count) => format!("it waits for {}", counted(count, "dependent")),
        Waiting::BlockingDependents(count) => {
            let verb = if *count == 1 { "blocks" } else { "block" };
            format!(
                "it waits for {} that {verb} it",
                counted(count, "dependent")
            )
        }
        Waiting::Owners(_) => "it can't be known whether its owners exist".to_owned(),
        Waiting::Kind => {
            "its kind is not served at the moment: nothing can be done about it".to_owned()
        }
        Waiting::Finalizers(names) if names.is_empty() => "it is about to go".to_owned(),
        Waiting::Finalizers(names) => {
            let names: Vec<String> = names
                .iter()
                .map(|name| format!("{name} ({})", responsible(name)))
                .collect();
            format!(
                "it waits for finalizers to be removed: {}",
                names.join(", ")
            )
        }
    };
    let by_others = matches!(waiting_on, Waiting::Finalizers(names) if !names.is_empty());
    if !by_others && let Some(first) = blockers.first().and_then(|first| first["message"].as_str())
    {
        text = format!("{text}; {first}");
    }
    text
}

/// `it waits for what is in it: 4 boxes.example.com`.
fn contained(content: &[Value]) -> String {
    let kinds: Vec<String> = content
        .iter()
        .map(|kind| {
            let resource = kind["resource"].as_str().unwrap_or_default();
            format!("{} {resource}", kind["count"])
        })
        .collect();
    format!("it waits for what is in it: {}", kinds.join(", "))
}

/// What is left in a namespace, kind by kind; nothing for other objects.
pub(super) fn content(state: &State, node: NodeId) -> Vec<Value> {
    let Some(record) = state.graph.get(node) else {
        return Vec::new();
    };
    let resource = &state.kind(record.kind).kind.resource;
    let is_namespace = resource.group.is_empty() && resource.kind == "Namespace";
    let id = state.find_namespace(&record.name).filter(|_| is_namespace);
    let Some(id) = id else {
        return Vec::new();
    };
    state
        .content
        .range((id, KindId(0))..=(id, KindId(u16::MAX)))
        .map(|((_, kind), count)| {
            json!({"resource": state.kind(*kind).kind.resource_name(), "count": count})
        })
        .collect()
}

/// Who removes a finalizer.
#[must_use]
pub fn responsible(finalizer: &str) -> String {
    match finalizer {
        keys::FINALIZER_CASCADE | keys::FINALIZER_FOREGROUND | keys::FINALIZER_ORPHAN => {
            "Landform's collector".into()
        }
        FINALIZER => "Landform's controller of Reconcilers".into(),
        keys::FINALIZER_NAMESPACE | keys::FINALIZER_CRD => "Landform's API server".into(),
        "finalizer.landscaper.gardener.cloud" => {
            "the controller of installations, executions or deploy items".into()
        }
        other if other.starts_with(FINALIZER_PREFIX) => {
            let name = other.trim_start_matches(FINALIZER_PREFIX);
            format!("the hook of Reconciler/{name}")
        }
        other => match other.split_once('/') {
            Some((domain, _)) => format!("the controller of {domain}"),
            None => "whoever added it; its name doesn't tell".into(),
        },
    }
}
