//! Events: what happened to an object, for people who look at it with `kubectl describe`.
//!
//! A note never holds a run up: it goes into a short queue, and one task writes the Events. The same note
//! again raises the count of its Event, after a restart too, because the Event's name is made from what it
//! says.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt as _};
use prometheus::IntCounter;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::clock::{Clock, write_time};

/// Notes that wait to be written. More than these are dropped and counted.
const QUEUE: usize = 1024;
/// The longest message; Kubernetes refuses longer ones.
const MESSAGE_BYTES: usize = 1024;

/// Whether people should worry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Something went as it should.
    Normal,
    /// Something went wrong.
    Warning,
}

impl EventType {
    fn text(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Takes notes of what happened to objects.
#[derive(Clone)]
pub(crate) struct Recorder {
    notes: mpsc::Sender<Note>,
    clock: Arc<dyn Clock>,
    dropped: IntCounter,
}

struct Note {
    name: String,
    namespace: String,
    event: Value,
    time: String,
}

impl Recorder {
    /// A recorder, and the task that writes its Events.
    pub(crate) fn start(client: Client, clock: Arc<dyn Clock>, dropped: IntCounter) -> Self {
        let (notes, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(write_all(client, receiver));
        Self {
            notes,
            clock,
            dropped,
        }
    }

    pub(crate) fn record(
        &self,
        object: &DynamicObject,
        resource: &ApiResource,
        kind: EventType,
        reason: &str,
        message: &str,
    ) {
        let note = note(object, resource, kind, reason, message, self.clock.now_ms());
        if self.notes.try_send(note).is_err() {
            self.dropped.inc();
        }
    }
}

fn note(
    object: &DynamicObject,
    resource: &ApiResource,
    kind: EventType,
    reason: &str,
    message: &str,
    now_ms: u64,
) -> Note {
    let message = cut(message, MESSAGE_BYTES);
    let mut hasher = DefaultHasher::new();
    (&object.metadata.uid, kind, reason, message).hash(&mut hasher);
    let own_name = object.name_any();
    let beginning = cut(&own_name, 200).trim_end_matches(['-', '.']);
    let name = format!("{beginning}.{:016x}", hasher.finish());
    let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
    let time = write_time(now_ms / 1000 * 1000);
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": own_name,
            "namespace": object.namespace(),
            "uid": object.uid(),
        },
        "type": kind.text(),
        "reason": reason,
        "message": message,
        "source": {"component": "landform"},
        "reportingComponent": "landform",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    });
    Note {
        name,
        namespace,
        event,
        time,
    }
}

/// The beginning of a text, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

async fn write_all(client: Client, mut notes: mpsc::Receiver<Note>) {
    while let Some(note) = notes.recv().await {
        let name = note.name.clone();
        if let Err(error) = write(&client, note).await {
            // An Event is a courtesy: its namespace may be going, for instance.
            tracing::debug!(event = name, %error, "an Event could not be written");
        }
    }
}

async fn write(client: &Client, note: Note) -> Result<(), kube::Error> {
    let events: Api<Event> = Api::namespaced(client.clone(), &note.namespace);
    let event: Event = serde_json::from_value(note.event).map_err(kube::Error::SerdeError)?;
    match events.create(&PostParams::default(), &event).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        other => return other.map(drop),
    }
    let known = events.get(&note.name).await?;
    let count = known.count.unwrap_or(1).saturating_add(1);
    let again = Patch::Merge(json!({"count": count, "lastTimestamp": note.time}));
    let params = PatchParams::default();
    events.patch(&note.name, &params, &again).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_note_has_the_same_name_and_another_one_has_another() {
        let object: DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "a", "uid": "1"}})).unwrap();
        let resource = ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
        let note = |message: &str, now| {
            note(
                &object,
                &resource,
                EventType::Warning,
                "Failed",
                message,
                now,
            )
            .name
        };
        assert_eq!(note("no disk", 1), note("no disk", 2));
        assert_ne!(note("no disk", 1), note("no network", 1));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "ä");
        assert_eq!(cut("abc", 3), "abc");
    }
}
