//! One line of `landform ps`: an item's process, by what the item and the server say of it.

use landform_api::keys::ANNOTATION_STOPPED;
use landform_api::landscaper::keys;
use landform_process::Facts;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::output::time::span;

pub(super) const TITLES: [&str; 10] = [
    "NAMESPACE",
    "ITEM",
    "STATE",
    "PID",
    "RESTARTS",
    "SINCE",
    "USER",
    "PORTS",
    "CPU",
    "MEMORY",
];
/// Where nothing is known.
const UNKNOWN: &str = "-";

/// An item's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) namespace: String,
    pub(super) name: String,
    state: &'static str,
    pid: Option<i64>,
    restarts: u64,
    facts: Facts,
}

impl Row {
    /// Reads an item, and what the server sees of its process, if the caller may know.
    pub(super) fn of(item: &Value, seen: Option<&Value>) -> Self {
        let text = |name: &str| {
            item["metadata"][name]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let told = &item["status"]["providerStatus"];
        let facts: Option<Facts> = seen.and_then(|seen| serde_json::from_value(seen.clone()).ok());
        let pid = told["pid"].as_i64();
        let runs = facts
            .as_ref()
            .map_or(pid.is_some(), |facts| !facts.pids.is_empty());
        let facts = facts.unwrap_or_default();
        let own = pid.filter(|pid| facts.pids.iter().any(|found| i64::from(*found) == *pid));
        let first = facts.pids.first().map(|pid| i64::from(*pid));
        let restarts = seen.and_then(|seen| seen["restarts"].as_u64());
        let restarts = restarts.or(told["restarts"].as_u64()).unwrap_or_default();
        Self {
            namespace: text("namespace"),
            name: text("name"),
            state: state(item, runs, restarts),
            pid: own.or(first).or(pid.filter(|_| runs)),
            restarts,
            facts,
        }
    }

    pub(super) fn cells(&self, now: OffsetDateTime) -> Vec<String> {
        let facts = &self.facts;
        let unknown = || UNKNOWN.to_owned();
        let more = facts.pids.len().saturating_sub(1);
        let pid = self.pid.map_or_else(unknown, |pid| match more {
            0 => pid.to_string(),
            more => format!("{pid} (+{more})"),
        });
        let now_ms = i64::try_from(now.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
        let since = facts.since_ms.and_then(|since| i64::try_from(since).ok());
        let ports: Vec<String> = facts.ports.iter().map(u16::to_string).collect();
        let ports = if ports.is_empty() {
            unknown()
        } else {
            ports.join(",")
        };
        let known = !facts.pids.is_empty();
        vec![
            self.namespace.clone(),
            self.name.clone(),
            self.state.to_owned(),
            pid,
            self.restarts.to_string(),
            since.map_or_else(unknown, |since| span((now_ms - since) / 1000)),
            facts.user.clone().unwrap_or_else(unknown),
            ports,
            if known {
                seconds(facts.processor_ms)
            } else {
                unknown()
            },
            if known {
                bytes(facts.memory_bytes)
            } else {
                unknown()
            },
        ]
    }

    /// The same for programs.
    pub(super) fn value(&self) -> Value {
        json!({
            "namespace": self.namespace, "name": self.name, "state": self.state, "pid": self.pid,
            "restarts": self.restarts, "pids": self.facts.pids, "sinceMs": self.facts.since_ms,
            "user": self.facts.user, "ports": self.facts.ports,
            "processorMs": self.facts.processor_ms, "memoryBytes": self.facts.memory_bytes,
        })
    }
}

/// Whether a person wants the process of an item stopped.
pub(super) fn is_to_stop(item: &Value) -> bool {
    item["metadata"]["annotations"][ANNOTATION_STOPPED] == keys::TRUE
}

/// What the process does, as one word.
fn state(item: &Value, runs: bool, restarts: u64) -> &'static str {
    let phase = item["status"]["phase"].as_str();
    let deleted = item["metadata"]["deletionTimestamp"].is_string();
    match (deleted, is_to_stop(item), runs, phase) {
        (true, ..) => "Deleting",
        (_, true, false, _) => "Stopped",
        (_, true, true, _) => "Stopping",
        (_, _, true, Some("Succeeded")) => "Running",
        // Its item has failed, and it goes on, for people to look at.
        (_, _, true, Some("Failed")) => "NotReady",
        (_, _, false, Some("Succeeded")) => "Ended",
        (_, _, false, Some("Failed")) => "Failed",
        (_, _, false, _) if restarts > 0 => "Restarting",
        _ => "Starting",
    }
}

fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        ..60_000 => format!("{}.{}s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => span(i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX)),
    }
}

fn bytes(count: u64) -> String {
    let mebibytes = count >> 20;
    match mebibytes {
        0 => format!("{}Ki", count >> 10),
        1..10_240 => format!("{mebibytes}Mi"),
        _ => format!("{}Gi", count >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::time::parse;

    fn item(phase: &str, stopped: bool) -> Value {
        let annotations = if stopped {
            json!({ANNOTATION_STOPPED: "true"})
        } else {
            json!({})
        };
        json!({
            "metadata": {"namespace": "shop", "name": "db", "annotations": annotations},
            "status": {"phase": phase, "providerStatus": {"pid": 7, "restarts": 2}},
        })
    }

    #[test]
    fn a_line_says_what_is_seen() {
        let since = parse("2026-01-01T00:00:00Z").unwrap().unix_timestamp() * 1000;
        let seen = json!({
            "pids": [7, 9], "sinceMs": since, "user": "web", "memoryBytes": 30 << 20,
            "processorMs": 1_250, "ports": [7401, 7402], "restarts": 3, "stopped": false,
        });
        let now = parse("2026-01-01T00:02:30Z").unwrap();
        let row = Row::of(&item("Succeeded", false), Some(&seen));
        let cells = [
            "shop",
            "db",
            "Running",
            "7 (+1)",
            "3",
            "2m30s",
            "web",
            "7401,7402",
            "1.2s",
            "30Mi",
        ];
        assert_eq!(row.cells(now), cells);
        // Without the right to look there is what the status says.
        let row = Row::of(&item("Succeeded", false), None);
        let cells = ["shop", "db", "Running", "7", "2", "-", "-", "-", "-", "-"];
        assert_eq!(row.cells(now), cells);
    }

    #[test]
    fn a_process_is_what_it_does_and_not_what_its_item_says() {
        let gone = json!({"pids": []});
        let there = json!({"pids": [7]});
        for (phase, stopped, seen, expected) in [
            ("Succeeded", false, &there, "Running"),
            ("Succeeded", false, &gone, "Ended"),
            ("Succeeded", true, &gone, "Stopped"),
            ("Succeeded", true, &there, "Stopping"),
            ("Progressing", false, &gone, "Restarting"),
            ("Progressing", false, &there, "Starting"),
            ("Failed", false, &there, "NotReady"),
            ("Failed", false, &gone, "Failed"),
            ("Failed", true, &gone, "Stopped"),
        ] {
            let row = Row::of(&item(phase, stopped), Some(seen));
            assert_eq!(row.state, expected, "{phase} {stopped} {seen}");
            assert_eq!(row.pid.is_some(), seen == &there, "{phase} {seen}");
        }
    }
}
