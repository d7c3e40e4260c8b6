//! The phases that objects had, as seen by a watch since the server started.
//!
//! Kept in memory and bounded: so many changes of so many objects. What happened before the server started, and
//! phases that lasted shorter than a watch could see, are not there; Events tell of errors for longer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use futures::StreamExt as _;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use landform_api::GroupKind;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::object::{self, ObjectRef};

/// So many changes of an object are kept.
const CHANGES: usize = 50;
/// So many objects are followed.
const OBJECTS: usize = 50_000;
/// The kinds whose phases are noted.
const KINDS: [&str; 7] = [
    "Installation",
    "Execution",
    "DeployItem",
    "AppType",
    "OperatorVersion",
    "Catalog",
    "Project",
];

/// A change of phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// When it was seen (RFC 3339).
    pub time: String,
    /// The phase before; none when it had none, or nobody knows.
    pub from: Option<String>,
    /// The phase from then on.
    pub to: Option<String>,
    /// Why, as the status said it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether the object was like this when the server began to look: it may be older.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_seen: bool,
}

type Key = (GroupKind, String, String);

/// The phases of all objects.
#[derive(Default)]
pub struct History(Mutex<BTreeMap<Key, VecDeque<Change>>>);

fn key(object: &ObjectRef) -> Key {
    (
        object.group_kind(),
        object.namespace.clone(),
        object.name.clone(),
    )
}

impl History {
    /// Since when an object has its phase, if the change was seen.
    #[must_use]
    pub fn since(&self, object: &ObjectRef) -> Option<String> {
        let all = self.0.lock();
        let last = all.get(&key(object))?.back()?;
        (!last.first_seen).then(|| last.time.clone())
    }

    /// The changes of an object, the oldest first.
    #[must_use]
    pub fn changes(&self, object: &ObjectRef) -> Vec<Change> {
        let all = self.0.lock();
        let found = all.get(&key(object)).into_iter().flatten();
        found.cloned().collect()
    }

    pub(crate) fn shown(&self, object: &ObjectRef) -> Value {
        json!({
            "apiVersion": crate::why::API_VERSION, "kind": "History",
            "object": object, "items": self.changes(object),
        })
    }

    /// Notes an object as it is now.
    pub(crate) fn note(&self, object: &Value, first_seen: bool, now: OffsetDateTime) {
        let name = ObjectRef::of(object);
        let status = &object["status"];
        let to = status["phase"].as_str().map(ToOwned::to_owned);
        let message = [
            &status["lastError"]["message"],
            &status["message"],
            &status["lastError"],
        ];
        let message = message.into_iter().find_map(Value::as_str);
        let mut all = self.0.lock();
        if all.len() >= OBJECTS && !all.contains_key(&key(&name)) {
            return;
        }
        let changes = all.entry(key(&name)).or_default();
        let before = changes.back().and_then(|change| change.to.clone());
        if before == to {
            return;
        }
        changes.push_back(Change {
            // As statuses have it: nobody needs more than milliseconds.
            time: now
                .replace_nanosecond(u32::from(now.millisecond()) * 1_000_000)
                .unwrap_or(now)
                .format(&Rfc3339)
                .unwrap_or_default(),
            from: before,
            to,
            message: message.unwrap_or_default().to_owned(),
            first_seen,
        });
        if changes.len() > CHANGES {
            changes.pop_front();
        }
    }

    fn forget(&self, object: &ObjectRef) {
        self.0.lock().remove(&key(object));
    }
}

/// Notes phases as long as somebody holds the history.
pub(crate) fn follow(client: &Client, history: &Arc<History>) {
    for kind in KINDS.into_iter().filter_map(object::known) {
        let (group, version) = kind
            .api_version
            .split_once('/')
            .unwrap_or(("", &kind.api_version));
        let name = GroupVersionKind::gvk(group, version, &kind.kind);
        let resource = ApiResource::from_gvk_with_plural(&name, &kind.plural);
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
        tokio::spawn(watch(api, Arc::downgrade(history)));
    }
}

async fn watch(api: Api<DynamicObject>, history: Weak<History>) {
    let stream = watcher(api, watcher::Config::default()).default_backoff();
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.next().await {
        let Some(history) = history.upgrade() else {
            return;
        };
        let now = OffsetDateTime::now_utc();
        let value = |object: DynamicObject| serde_json::to_value(object).unwrap_or_default();
        match event {
            Ok(watcher::Event::InitApply(object)) => history.note(&value(object), true, now),
            Ok(watcher::Event::Apply(object)) => history.note(&value(object), false, now),
            Ok(watcher::Event::Delete(object)) => history.forget(&ObjectRef::of(&value(object))),
            // A kind that isn't installed, or a server that goes: tried again with pauses.
            Ok(watcher::Event::Init | watcher::Event::InitDone) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(phase: &str) -> Value {
        json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation",
            "metadata": {"namespace": "shop", "name": "web"},
            "status": {"phase": phase, "lastError": {"message": format!("why {phase}")}},
        })
    }

    #[test]
    fn only_changes_of_phase_are_noted_and_only_the_latest_are_kept() {
        let history = History::default();
        let time = |second: i64| OffsetDateTime::from_unix_timestamp(second).unwrap();
        let name = ObjectRef::of(&object(""));
        history.note(&object("Init"), true, time(1));
        assert_eq!(history.since(&name), None, "it may be older");
        history.note(&object("Init"), false, time(2));
        history.note(&object("Failed"), false, time(3));
        assert_eq!(history.since(&name).unwrap(), "1970-01-01T00:00:03Z");
        let changes = history.changes(&name);
        assert_eq!(changes.len(), 2);
        assert_eq!(
            (changes[1].from.as_deref(), changes[1].to.as_deref()),
            (Some("Init"), Some("Failed"))
        );
        assert_eq!(changes[1].message, "why Failed");
        for second in 0..200 {
            let phase = if second % 2 == 0 { "Init" } else { "Failed" };
            history.note(&object(phase), false, time(10 + second));
        }
        assert_eq!(history.changes(&name).len(), CHANGES);
        history.forget(&name);
        assert!(history.changes(&name).is_empty());
    }
}
