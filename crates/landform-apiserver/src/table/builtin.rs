//! The columns of built-in kinds.

use serde_json::{Value, json};

use super::duration::between;
use super::{Column, age, column};
use crate::object::{Object, meta};
use crate::registry::Resource;

type Cell = fn(&Value) -> Value;

/// Heading, priority, and how the cell is made.
type Spec = &'static [(&'static str, i64, Cell)];

pub(super) fn columns(resource: &Resource) -> Vec<Column> {
    spec(resource)
        .iter()
        .map(|(name, priority, _)| column(name, *priority))
        .collect()
}

pub(super) fn cells(resource: &Resource, object: &Object) -> Vec<Value> {
    let whole = Value::Object(object.clone());
    spec(resource)
        .iter()
        .map(|(_, _, cell)| cell(&whole))
        .collect()
}

fn spec(resource: &Resource) -> Spec {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => &[
            ("Name", 0, name),
            ("Status", 0, |o| text(&o["status"]["phase"])),
            ("Age", 0, created),
        ],
        ("", "ConfigMap") => &[
            ("Name", 0, name),
            ("Data", 0, |o| {
                json!(entries(&o["data"]) + entries(&o["binaryData"]))
            }),
            ("Age", 0, created),
        ],
        ("", "Secret") => &[
            ("Name", 0, name),
            ("Type", 0, |o| text(&o["type"])),
            ("Data", 0, |o| json!(entries(&o["data"]))),
            ("Age", 0, created),
        ],
        ("", "ServiceAccount") => &[
            ("Name", 0, name),
            ("Secrets", 0, |o| json!(length(&o["secrets"]))),
            ("Age", 0, created),
        ],
        ("", "Event") => EVENT,
        ("events.k8s.io", "Event") => NEW_EVENT,
        ("", "Pod") => POD,
        ("", "Service") => SERVICE,
        ("", "Node") => &[
            ("Name", 0, name),
            ("Status", 0, ready_condition),
            ("Age", 0, created),
            ("Version", 0, |o| {
                text(&o["status"]["nodeInfo"]["kubeletVersion"])
            }),
        ],
        ("", "PersistentVolumeClaim") => &[
            ("Name", 0, name),
            ("Status", 0, |o| text(&o["status"]["phase"])),
            ("Volume", 0, |o| text(&o["spec"]["volumeName"])),
            ("StorageClass", 0, |o| text(&o["spec"]["storageClassName"])),
            ("Age", 0, created),
        ],
        ("coordination.k8s.io", "Lease") => &[
            ("Name", 0, name),
            ("Holder", 0, |o| text(&o["spec"]["holderIdentity"])),
            ("Age", 0, created),
        ],
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &[
            ("Name", 0, name),
            ("Created At", 0, |o| {
                text(&o["metadata"]["creationTimestamp"])
            }),
        ],
        ("apps", "Deployment") => DEPLOYMENT,
        ("apps", "StatefulSet") => &[
            ("Name", 0, name),
            ("Ready", 0, |o| {
                ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"])
            }),
            ("Age", 0, created),
            ("Containers", 1, template_containers),
            ("Images", 1, template_images),
        ],
        ("apps", "DaemonSet") => &[
            ("Name", 0, name),
            ("Desired", 0, |o| {
                number(&o["status"]["desiredNumberScheduled"])
            }),
            ("Current", 0, |o| {
                number(&o["status"]["currentNumberScheduled"])
            }),
            ("Ready", 0, |o| number(&o["status"]["numberReady"])),
            ("Up-to-date", 0, |o| {
                number(&o["status"]["updatedNumberScheduled"])
            }),
            ("Available", 0, |o| number(&o["status"]["numberAvailable"])),
            ("Age", 0, created),
            ("Containers", 1, template_containers),
            ("Images", 1, template_images),
            ("Selector", 1, selector),
        ],
        ("apps", "ReplicaSet") => &[
            ("Name", 0, name),
            ("Desired", 0, |o| number(&o["spec"]["replicas"])),
            ("Current", 0, |o| number(&o["status"]["replicas"])),
            ("Ready", 0, |o| number(&o["status"]["readyReplicas"])),
            ("Age", 0, created),
            ("Containers", 1, template_containers),
            ("Images", 1, template_images),
            ("Selector", 1, selector),
        ],
        ("batch", "Job") => &[
            ("Name", 0, name),
            ("Status", 0, job_status),
            ("Completions", 0, |o| {
                ratio(&o["status"]["succeeded"], &o["spec"]["completions"])
            }),
            ("Duration", 0, |o| {
                json!(between(
                    o["status"]["startTime"].as_str().unwrap_or_default(),
                    o["status"]["completionTime"].as_str().unwrap_or_default()
                ))
            }),
            ("Age", 0, created),
            ("Containers", 1, template_containers),
            ("Images", 1, template_images),
        ],
        ("batch", "CronJob") => &[
            ("Name", 0, name),
            ("Schedule", 0, |o| text(&o["spec"]["schedule"])),
            ("Suspend", 0, |o| {
                json!(o["spec"]["suspend"].as_bool().unwrap_or(false).to_string())
            }),
            ("Active", 0, |o| json!(length(&o["status"]["active"]))),
            ("Age", 0, created),
        ],
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => &[
            ("Name", 0, name),
            ("Created At", 0, |o| {
                text(&o["metadata"]["creationTimestamp"])
            }),
        ],
        ("rbac.authorization.k8s.io", _) => &[
            ("Name", 0, name),
            ("Role", 0, |o| {
                json!(format!(
                    "{}/{}",
                    plain(&o["roleRef"]["kind"]),
                    plain(&o["roleRef"]["name"])
                ))
            }),
            ("Age", 0, created),
            ("Users", 1, |o| subjects(o, "User")),
            ("Groups", 1, |o| subjects(o, "Group")),
            ("ServiceAccounts", 1, |o| subjects(o, "ServiceAccount")),
        ],
        _ => &[("Name", 0, name), ("Age", 0, created)],
    }
}

const EVENT: Spec = &[
    ("Last Seen", 0, |o| {
        last_seen(o, "lastTimestamp", "firstTimestamp")
    }),
    ("Type", 0, |o| text(&o["type"])),
    ("Reason", 0, |o| text(&o["reason"])),
    ("Object", 0, |o| involved(&o["involvedObject"])),
    ("Subobject", 1, |o| text(&o["involvedObject"]["fieldPath"])),
    ("Source", 1, |o| text(&o["source"]["component"])),
    ("Message", 0, |o| json!(plain(&o["message"]).trim())),
    ("First Seen", 1, |o| {
        last_seen(o, "firstTimestamp", "eventTime")
    }),
    ("Count", 1, |o| number(&o["count"])),
    ("Name", 1, name),
];

const NEW_EVENT: Spec = &[
    ("Last Seen", 0, |o| {
        last_seen(o, "deprecatedLastTimestamp", "deprecatedFirstTimestamp")
    }),
    ("Type", 0, |o| text(&o["type"])),
    ("Reason", 0, |o| text(&o["reason"])),
    ("Object", 0, |o| involved(&o["regarding"])),
    ("Message", 0, |o| json!(plain(&o["note"]).trim())),
    ("Name", 1, name),
];

const POD: Spec = &[
    ("Name", 0, name),
    ("Ready", 0, |o| {
        let ready = list(&o["status"]["containerStatuses"])
            .iter()
            .filter(|c| c["ready"] == true)
            .count();
        json!(format!("{ready}/{}", length(&o["spec"]["containers"])))
    }),
    ("Status", 0, |o| {
        if o["metadata"]["deletionTimestamp"].is_string() {
            json!("Terminating")
        } else {
            text(&o["status"]["phase"])
        }
    }),
    ("Restarts", 0, |o| {
        let restarts = list(&o["status"]["containerStatuses"])
            .iter()
            .filter_map(|c| c["restartCount"].as_i64());
        json!(restarts.sum::<i64>().to_string())
    }),
    ("Age", 0, created),
    ("IP", 1, |o| or_none(&o["status"]["podIP"])),
    ("Node", 1, |o| or_none(&o["spec"]["nodeName"])),
];

const SERVICE: Spec = &[
    ("Name", 0, name),
    ("Type", 0, |o| text(&o["spec"]["type"])),
    ("Cluster-IP", 0, |o| or_none(&o["spec"]["clusterIP"])),
    ("External-IP", 0, |o| {
        let all: Vec<&str> = list(&o["spec"]["externalIPs"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        json!(if all.is_empty() {
            "<none>".to_owned()
        } else {
            all.join(",")
        })
    }),
    ("Port(s)", 0, |o| {
        let ports = list(&o["spec"]["ports"]).iter().map(|port| {
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            match port["nodePort"].as_i64() {
                Some(node) if node > 0 => format!("{}:{node}/{protocol}", port["port"]),
                _ => format!("{}/{protocol}", port["port"]),
            }
        });
        let ports = ports.collect::<Vec<_>>().join(",");
        json!(if ports.is_empty() {
            "<none>".to_owned()
        } else {
            ports
        })
    }),
    ("Age", 0, created),
    ("Selector", 1, |o| json!(pairs(&o["spec"]["selector"]))),
];

const DEPLOYMENT: Spec = &[
    ("Name", 0, name),
    ("Ready", 0, |o| {
        ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"])
    }),
    ("Up-to-date", 0, |o| number(&o["status"]["updatedReplicas"])),
    ("Available", 0, |o| {
        number(&o["status"]["availableReplicas"])
    }),
    ("Age", 0, created),
    ("Containers", 1, template_containers),
    ("Images", 1, template_images),
    ("Selector", 1, selector),
];

fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

fn created(object: &Value) -> Value {
    json!(age(object
        .as_object()
        .map_or("", |object| meta::text(object, "creationTimestamp"))))
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn text(value: &Value) -> Value {
    json!(plain(value))
}

fn or_none(value: &Value) -> Value {
    json!(
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .unwrap_or("<none>")
    )
}

fn number(value: &Value) -> Value {
    json!(value.as_i64().unwrap_or(0))
}

fn ratio(part: &Value, whole: &Value) -> Value {
    json!(format!(
        "{}/{}",
        part.as_i64().unwrap_or(0),
        whole.as_i64().unwrap_or(1)
    ))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn length(value: &Value) -> usize {
    list(value).len()
}

fn entries(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

fn pairs(labels: &Value) -> String {
    let all: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", plain(value)))
        .collect();
    if all.is_empty() {
        "<none>".into()
    } else {
        all.join(",")
    }
}

fn selector(object: &Value) -> Value {
    json!(pairs(&object["spec"]["selector"]["matchLabels"]))
}

fn template_containers(object: &Value) -> Value {
    joined(&object["spec"]["template"]["spec"]["containers"], "name")
}

fn template_images(object: &Value) -> Value {
    joined(&object["spec"]["template"]["spec"]["containers"], "image")
}

fn joined(values: &Value, field: &str) -> Value {
    json!(
        list(values)
            .iter()
            .map(|value| plain(&value[field]))
            .collect::<Vec<_>>()
            .join(",")
    )
}

fn ready_condition(object: &Value) -> Value {
    let ready = list(&object["status"]["conditions"])
        .iter()
        .any(|c| c["type"] == "Ready" && c["status"] == "True");
    json!(if ready { "Ready" } else { "NotReady" })
}

fn job_status(object: &Value) -> Value {
    let has = |type_: &str| {
        list(&object["status"]["conditions"])
            .iter()
            .any(|c| c["type"] == type_ && c["status"] == "True")
    };
    let status = ["Complete", "Failed", "Suspended"]
        .into_iter()
        .find(|type_| has(type_));
    json!(status.unwrap_or("Running"))
}

fn subjects(object: &Value, kind: &str) -> Value {
    let all: Vec<&str> = list(&object["subjects"])
        .iter()
        .filter(|s| s["kind"] == kind)
        .map(|s| plain(&s["name"]))
        .collect();
    json!(all.join(", "))
}

fn involved(object: &Value) -> Value {
    json!(format!(
        "{}/{}",
        plain(&object["kind"]).to_lowercase(),
        plain(&object["name"])
    ))
}

fn last_seen(event: &Value, first_choice: &str, second_choice: &str) -> Value {
    let choices = [
        &event["series"]["lastObservedTime"],
        &event[first_choice],
        &event["eventTime"],
        &event[second_choice],
    ];
    json!(age(choices
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_default()))
}
