//! An object as `landform up` sees it: its phase, whether that is well, and what it waits for.

use landform_api::landscaper::{keys, labels};
use landform_api::project;
use serde_json::Value;

/// Stands in the place of the phase of a process that a person has stopped.
pub(crate) const STOPPED: &str = "Stopped";

/// What a phase means for somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    /// A person must act.
    Bad,
    /// It is being worked on.
    Working,
    /// It waits for something else.
    Waiting,
    /// It is as it should be.
    Good,
}

/// What is known of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The uids of its owners.
    pub(crate) owners: Vec<String>,
    pub(crate) phase: String,
    pub(crate) tone: Tone,
    /// What it waits for, or what is wrong.
    pub(crate) note: String,
    /// How people know it, if its own name was made by Landform.
    pub(crate) short_name: Option<String>,
}

impl Sight {
    /// Reads an object; `None` when it shows nothing that could be waited for.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (phase, tone) = standing(object)?;
        let owners = metadata["ownerReferences"].as_array();
        let owners = owners
            .into_iter()
            .flatten()
            .map(|owner| text(&owner["uid"]));
        let short_name = labels::in_metadata(metadata, keys::ITEM_NAME);
        let short_name =
            short_name.or(metadata["annotations"][keys::SUBINSTALLATION_NAME].as_str());
        Some(Self {
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            owners: owners.collect(),
            tone,
            note: note(object, tone),
            phase,
            short_name: short_name.map(str::to_owned),
        })
    }

    /// `Kind/name`, as people write it.
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// The phase in one word, and what it means.
fn standing(object: &Value) -> Option<(String, Tone)> {
    let status = &object["status"];
    let marked = object["metadata"]["deletionTimestamp"].is_string();
    if let Some(phase) = status["phase"].as_str() {
        // What a project says of its files counts no more.
        if marked && (phase != "Failed" || object["kind"] == project::KIND) {
            return Some(("Deleting".to_owned(), Tone::Working));
        }
        let stopped = status["providerStatus"]["stopped"] == true;
        if stopped && object["kind"] == "DeployItem" && phase == "Succeeded" {
            return Some((STOPPED.to_owned(), tone(object, phase)));
        }
        return Some((phase.to_owned(), tone(object, phase)));
    }
    if marked {
        return Some(("Deleting".to_owned(), Tone::Working));
    }
    let conditions = status["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Ready");
    if let Some(ready) = ready {
        return Some(match ready["status"].as_str() {
            Some("True") => ("Ready".to_owned(), Tone::Good),
            // What serves it may be part of the project, and on its way.
            Some("False") if ready["reason"] == "HookUnreachable" => {
                ("NotReady".to_owned(), Tone::Waiting)
            }
            Some("False") => ("NotReady".to_owned(), Tone::Bad),
            _ => ("Unknown".to_owned(), Tone::Working),
        });
    }
    None
}

fn tone(object: &Value, phase: &str) -> Tone {
    match phase {
        // It is well only if that is about what is wanted now.
        "Succeeded" | "Synced" | "Ready" if is_outdated(object) => Tone::Working,
        "Succeeded" | "Synced" | "Ready" | "Active" | "Bound" | "Running" => Tone::Good,
        "Failed" | "Incomplete" | "Aborted" | "Stale" => Tone::Bad,
        "Pending" | "PendingDependencies" | "Held" => Tone::Waiting,
        _ => Tone::Working,
    }
}

fn is_outdated(object: &Value) -> bool {
    let observed = object["status"]["observedGeneration"].as_i64();
    let operation = &object["metadata"]["annotations"][keys::OPERATION];
    let generation = object["metadata"]["generation"].as_i64();
    observed.is_some() && observed != generation || operation.is_string()
}

/// Whether a project has said nothing since it was deleted.
fn is_of_before(object: &Value) -> bool {
    object["kind"] == project::KIND
        && object["metadata"]["deletionTimestamp"].is_string()
        && object["status"]["phase"] != "Deleting"
}

/// What is wrong, or what is waited for: in the words of the status.
fn note(object: &Value, tone: Tone) -> String {
    let status = if is_of_before(object) {
        &Value::Null
    } else {
        &object["status"]
    };
    let error = &status["lastError"];
    let error = error["message"].as_str().or(error.as_str());
    let waits = || {
        let first = &status["waitingOn"][0];
        let reason = first["reason"].as_str()?;
        let of = &first["object"];
        Some(match (of["kind"].as_str(), of["name"].as_str()) {
            (Some(kind), Some(name)) => format!("waits for {kind} {name}: {reason}"),
            _ => format!("waits: {reason}"),
        })
    };
    let blocked = || {
        let message = status["blockedBy"][0]["message"].as_str()?;
        Some(format!("blocked: {message}"))
    };
    let told = || status["message"].as_str().map(str::to_owned);
    match tone {
        Tone::Good => None,
        Tone::Bad => error.map(str::to_owned).or_else(told).or_else(blocked),
        Tone::Waiting | Tone::Working => waits()
            .or_else(blocked)
            .or_else(|| error.map(|error| format!("tries again: {error}"))),
    }
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(status: Value) -> Value {
        json!({
            "kind": "Installation",
            "metadata": {"name": "db", "namespace": "default", "uid": "1", "generation": 2},
            "status": status,
        })
    }

    #[test]
    fn a_phase_is_well_only_if_it_is_about_what_is_wanted_now() {
        let table = [
            (
                json!({"phase": "Succeeded", "observedGeneration": 2}),
                Tone::Good,
            ),
            (
                json!({"phase": "Succeeded", "observedGeneration": 1}),
                Tone::Working,
            ),
            (json!({"phase": "Succeeded"}), Tone::Good),
            (json!({"phase": "Progressing"}), Tone::Working),
            (json!({"phase": "PendingDependencies"}), Tone::Waiting),
            (json!({"phase": "Failed"}), Tone::Bad),
            (
                json!({"conditions": [{"type": "Ready", "status": "True"}]}),
                Tone::Good,
            ),
            (
                json!({"conditions": [{"type": "Ready", "status": "False"}]}),
                Tone::Bad,
            ),
            (
                json!({"conditions": [{"type": "Ready", "status": "False", "reason": "HookUnreachable"}]}),
                Tone::Waiting,
            ),
        ];
        for (status, tone) in table {
            let sight = Sight::of(&object(status.clone())).unwrap();
            assert_eq!(sight.tone, tone, "{status}");
        }
        assert_eq!(Sight::of(&object(json!({}))), None);
        let mut asked = object(json!({"phase": "Succeeded", "observedGeneration": 2}));
        asked["metadata"]["annotations"]["landscaper.gardener.cloud/operation"] =
            "reconcile".into();
        assert_eq!(Sight::of(&asked).unwrap().tone, Tone::Working);
    }

    #[test]
    fn a_note_has_the_words_of_the_status() {
        let waits = object(json!({"phase": "PendingDependencies", "waitingOn": [
            {"rule": "I14", "object": {"kind": "Installation", "name": "api"}, "reason": "must have Succeeded"},
        ]}));
        let note = Sight::of(&waits).unwrap().note;
        assert_eq!(note, "waits for Installation api: must have Succeeded");
        let unreachable = object(json!({
            "conditions": [{"type": "Ready", "status": "False", "reason": "HookUnreachable"}],
            "lastError": "connection refused",
        }));
        let note = Sight::of(&unreachable).unwrap().note;
        assert_eq!(note, "tries again: connection refused");
        let failed = object(json!({"phase": "Failed", "lastError": {"message": "no such file"}}));
        assert_eq!(Sight::of(&failed).unwrap().note, "no such file");
    }

    #[test]
    fn what_is_marked_is_deleting() {
        let mut marked = object(json!({"phase": "Succeeded", "observedGeneration": 2}));
        marked["metadata"]["deletionTimestamp"] = "now".into();
        let sight = Sight::of(&marked).unwrap();
        assert_eq!(
            (sight.phase.as_str(), sight.tone),
            ("Deleting", Tone::Working)
        );
    }
}
