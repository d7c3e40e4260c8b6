//! Events: what happened, beside the objects that it happened to.
//!
//! Events are for people. A deletion of a hundred thousand objects must not write as many of them, so
//! there is one for the object that somebody deleted, and few of everything else in any second.

use std::fmt::{self, Display};

use kube::Client;
use parking_lot::Mutex;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Duration, Instant};

use super::client;
use super::state::State;
use landform_graph::NodeId;

/// So many Events are written at once, and one more in each [`REFILL`].
const BURST: u32 = 50;
const REFILL: Duration = Duration::from_millis(500);

/// An object in words, and as Events refer to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Title {
    pub(crate) api_version: String,
    /// The kind alone.
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl Display for Title {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(formatter, "{} {}", self.kind, self.name)
        } else {
            write!(formatter, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// An object was deleted since its owners are gone.
    OwnerAbsent,
    /// The object that somebody deleted can go: nothing depends on it any more.
    DependentsSettled,
    /// Objects own each other in a circle.
    OwnerCycle,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::OwnerAbsent => "OwnerAbsent",
            Self::DependentsSettled => "DependentsSettled",
            Self::OwnerCycle => "OwnerCycle",
        }
    }

    fn severity(self) -> &'static str {
        match self {
            Self::OwnerAbsent | Self::DependentsSettled => "Normal",
            Self::OwnerCycle => "Warning",
        }
    }
}

/// Writes Events, few at a time.
pub(crate) struct Recorder {
    client: Client,
    budget: Mutex<(u32, Instant)>,
}

impl Recorder {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            budget: Mutex::new((BURST, Instant::now())),
        }
    }

    /// Writes an Event in the background, unless there were too many just now.
    pub(crate) fn report(&self, title: &Title, reason: Reason, message: &str) {
        if !self.may_write() {
            return;
        }
        let namespace = if title.namespace.is_empty() {
            "default"
        } else {
            &title.namespace
        };
        let now = OffsetDateTime::now_utc();
        let time = now.replace_nanosecond(0).unwrap_or(now).format(&Rfc3339);
        let time = time.unwrap_or_default();
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"generateName": format!("{}.", title.name), "namespace": namespace},
            "involvedObject": {
                "apiVersion": title.api_version, "kind": title.kind, "name": title.name,
                "namespace": title.namespace, "uid": title.uid,
            },
            "reason": reason.name(), "message": message, "type": reason.severity(),
            "source": {"component": "landform-collector"},
            "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        });
        let client = self.client.clone();
        let path = format!("/api/v1/namespaces/{namespace}/events");
        tokio::spawn(async move {
            if let Err(error) = client::create(&client, &path, &event).await {
                // The namespace may be on its way out, too.
                tracing::debug!(%error, "an Event could not be written");
            }
        });
    }

    /// Writes an Event for each member of cycles.
    pub(crate) fn report_cycles(&self, members: Vec<(Title, String)>) {
        for (title, cycle) in members {
            tracing::warn!(object = %title, cycle, "objects own each other in a circle");
            let message = format!("these objects own each other in a circle: {cycle}");
            self.report(&title, Reason::OwnerCycle, &message);
        }
    }

    fn may_write(&self) -> bool {
        let mut budget = self.budget.lock();
        let (left, since) = *budget;
        let refilled = u32::try_from(since.elapsed().as_millis() / REFILL.as_millis());
        let refilled = refilled.unwrap_or(BURST).min(BURST);
        let left = left.saturating_add(refilled).min(BURST);
        let since = if refilled > 0 { Instant::now() } else { since };
        *budget = (left.saturating_sub(1), since);
        left > 0
    }
}

impl State {
    /// An object in words.
    pub(crate) fn title(&self, node: NodeId) -> Title {
        let uid = self.graph.uid(node).map(ToString::to_string);
        let uid = uid.unwrap_or_default();
        let Some(record) = self.graph.get(node) else {
            let (api_version, kind) = (String::new(), "object".to_owned());
            return Title {
                api_version,
                kind,
                namespace: String::new(),
                name: uid.clone(),
                uid,
            };
        };
        let kind = &self.kind(record.kind).kind;
        Title {
            api_version: kind.resource.api_version.clone(),
            kind: kind.resource.kind.clone(),
            namespace: self.namespace(record.namespace).to_owned(),
            name: record.name.to_string(),
            uid,
        }
    }

    /// How many dependents a marked object had, if it had some and its deletion is not part of another
    /// one: that is worth telling.
    pub(crate) fn finishes(&self, node: NodeId) -> Option<usize> {
        let marked = self.marked.get(&node)?;
        let part_of_another = self
            .graph
            .owners(node)
            .any(|owner| self.marked.contains_key(&owner.node));
        (marked.most_dependents > 0 && !part_of_another).then_some(marked.most_dependents)
    }
}
