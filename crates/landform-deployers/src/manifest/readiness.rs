//! When objects count as ready: what each kind says of itself, and requirements of one's own.
//!
//! The default checks are those of Landscaper; besides, a definition must be established and a Job must not
//! have failed. All other kinds are ready as soon as they exist.

use std::time::Duration;

use futures::future::join_all;
use kube::core::DynamicObject;
use kube::runtime::watcher::Config;
use landform_api::jsonpath::JsonPath;
use serde_json::Value;

use super::cluster::Cluster;
use super::configuration::{CustomCheck, LabelSelector, Operator, Readiness, Requirement};
use super::object::ObjectName;
use super::plan::Wanted;
use super::wait::{self, Waited};
use crate::DeployError;

/// Waits until everything is ready.
pub(super) async fn wait_until_ready(
    cluster: &Cluster<'_>,
    readiness: &Readiness,
    managed: &[&Wanted],
) -> Result<(), DeployError> {
    let mut late = Vec::new();
    if readiness.default_checks {
        let checked = managed
            .iter()
            .filter(|wanted| has_default_check(&wanted.name));
        let waits = checked.map(|wanted| ready(cluster, wanted, readiness.timeout));
        late.extend(collect(join_all(waits).await)?);
    }
    let waits = readiness.custom.iter().map(|check| custom(cluster, check));
    late.extend(collect(join_all(waits).await)?);
    if late.is_empty() {
        return Ok(());
    }
    let message = format!("target {}: not ready: {}", cluster.target, late.join("; "));
    Err(DeployError::not_ready(message))
}

type Late = Vec<String>;

fn collect(results: Vec<Result<Late, DeployError>>) -> Result<Late, DeployError> {
    let lists: Result<Vec<_>, _> = results.into_iter().collect();
    Ok(lists?.into_iter().flatten().collect())
}

/// Waits for one object to be ready by the default check of its kind.
pub(super) async fn ready(
    cluster: &Cluster<'_>,
    wanted: &Wanted,
    timeout: Duration,
) -> Result<Late, DeployError> {
    let object = &wanted.name;
    let waited = wait::for_object(cluster, &wanted.place, object, timeout, |live| {
        default_check(live.ok_or("it doesn't exist")?)
    });
    Ok(match waited.await? {
        Waited::Done(()) => Vec::new(),
        Waited::TimedOut(missing) => vec![format!("{object}: {missing}")],
    })
}

async fn custom(cluster: &Cluster<'_>, check: &CustomCheck) -> Result<Late, DeployError> {
    let objects = check
        .objects
        .iter()
        .map(|object| custom_object(cluster, check, object));
    let mut late = collect(join_all(objects).await)?;
    if let Some(selector) = &check.labels {
        late.extend(custom_labels(cluster, check, selector).await?);
    }
    Ok(late)
}

async fn custom_object(
    cluster: &Cluster<'_>,
    check: &CustomCheck,
    object: &ObjectName,
) -> Result<Late, DeployError> {
    let Some(place) = cluster.place(&object.api_version, &object.kind).await? else {
        return Ok(vec![unknown_kind(check, &object.kind)]);
    };
    let mut object = object.clone();
    let given = object.namespace.take();
    object.namespace = place
        .namespaced
        .then(|| given.unwrap_or_else(|| cluster.namespace.clone()));
    let waited = wait::for_object(cluster, &place, &object, check.timeout, |live| {
        meets(live.ok_or("it doesn't exist")?, &check.requirements)
    });
    Ok(match waited.await? {
        Waited::Done(()) => Vec::new(),
        Waited::TimedOut(missing) => vec![format!("{object}: check {}: {missing}", check.name)],
    })
}

async fn custom_labels(
    cluster: &Cluster<'_>,
    check: &CustomCheck,
    selector: &LabelSelector,
) -> Result<Late, DeployError> {
    let Some(place) = cluster.place(&selector.api_version, &selector.kind).await? else {
        return Ok(vec![unknown_kind(check, &selector.kind)]);
    };
    let labels = selector.labels.iter();
    let labels: Vec<_> = labels
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let config = Config::default().labels(&labels.join(","));
    let secret = selector.kind == "Secret";
    let api = cluster.api(&place, None);
    let waited = wait::until(cluster, api, config, secret, check.timeout, |objects| {
        if objects.is_empty() {
            return Err("there is no object with these labels".to_owned());
        }
        objects.iter().try_for_each(|object| {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            meets(object, &check.requirements).map_err(|text| format!("{name}: {text}"))
        })
    });
    Ok(match waited.await? {
        Waited::Done(()) => Vec::new(),
        Waited::TimedOut(missing) => {
            vec![format!(
                "{}: check {}: {missing}",
                selector.kind, check.name
            )]
        }
    })
}

fn unknown_kind(check: &CustomCheck, kind: &str) -> String {
    format!(
        "check {}: the target doesn't serve the kind {kind}",
        check.name
    )
}

/// Whether an object meets all requirements; otherwise which one it doesn't, without any value.
fn meets(object: &DynamicObject, requirements: &[Requirement]) -> Result<(), String> {
    let value = serde_json::to_value(object).unwrap_or_default();
    requirements.iter().try_for_each(|requirement| {
        let text = &requirement.path_text;
        let found = requirement.path.find(&value);
        match (requirement.operator, found.is_empty()) {
            (Operator::DoesNotExist, true) | (Operator::Exists, false) => Ok(()),
            (Operator::DoesNotExist, false) => Err(format!("{text} is there")),
            (Operator::Exists | Operator::In | Operator::NotIn, true) => {
                Err(format!("{text} is missing"))
            }
            (Operator::In, false) => {
                let fits = found
                    .iter()
                    .all(|found| is_among(found, &requirement.values));
                fits.then_some(())
                    .ok_or(format!("{text} is not as required"))
            }
            (Operator::NotIn, false) => {
                let fits = !found
                    .iter()
                    .any(|found| is_among(found, &requirement.values));
                fits.then_some(())
                    .ok_or(format!("{text} is not as required"))
            }
        }
    })
}

fn is_among(found: &Value, values: &[Value]) -> bool {
    values.iter().any(|value| match (found, value) {
        // 1 is 1.0.
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        _ => found == value,
    })
}

fn has_default_check(object: &ObjectName) -> bool {
    matches!(
        (object.group(), object.kind.as_str()),
        ("", "Pod" | "ReplicationController")
            | (
                "apps",
                "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet"
            )
            | ("batch", "Job")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}

/// Whether an object is ready by what its kind says of itself; otherwise what is missing.
pub(super) fn default_check(object: &DynamicObject) -> Result<(), String> {
    let kind = object
        .types
        .as_ref()
        .map_or("", |types| types.kind.as_str());
    let status = &object.data["status"];
    match kind {
        "Pod" => pod(status),
        "Deployment" | "StatefulSet" => {
            observed(object)?;
            replicas(object, "updatedReplicas")?;
            replicas(object, "availableReplicas")
        }
        "ReplicaSet" | "ReplicationController" => {
            observed(object)?;
            match condition(status, "ReplicaFailure") {
                Some(("True", reason)) => {
                    Err(format!("condition ReplicaFailure is True ({reason})"))
                }
                _ => replicas(object, "readyReplicas"),
            }
        }
        "DaemonSet" => daemon_set(object),
        "Job" => match condition(status, "Failed") {
            Some(("True", reason)) => Err(format!("condition Failed is True ({reason})")),
            _ => Ok(()),
        },
        "CustomResourceDefinition" => is_true(status, "Established"),
        _ => Ok(()),
    }
}

fn pod(status: &Value) -> Result<(), String> {
    if status["phase"] == "Succeeded" {
        return Ok(());
    }
    match condition(status, "Ready") {
        Some((_, "PodCompleted")) => Ok(()),
        _ => is_true(status, "Ready"),
    }
}

fn daemon_set(object: &DynamicObject) -> Result<(), String> {
    observed(object)?;
    let status = &object.data["status"];
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    let desired = number("desiredNumberScheduled");
    let required = desired - unavailable(&object.data["spec"], desired);
    for field in ["updatedNumberScheduled", "numberAvailable"] {
        let current = number(field);
        if current < required {
            return Err(format!("status.{field} is {current} of {required}"));
        }
    }
    Ok(())
}

/// So many pods of a daemon set may be missing.
fn unavailable(spec: &Value, desired: i64) -> i64 {
    let strategy = &spec["updateStrategy"];
    if strategy["type"] != "RollingUpdate" {
        return 0;
    }
    match &strategy["rollingUpdate"]["maxUnavailable"] {
        Value::Number(number) => number.as_i64().unwrap_or(0),
        Value::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            desired.saturating_mul(percent) / 100
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => 0,
    }
}

fn observed(object: &DynamicObject) -> Result<(), String> {
    let generation = object.metadata.generation.unwrap_or(0);
    let observed = object.data["status"]["observedGeneration"].as_i64();
    if observed.unwrap_or(0) < generation {
        return Err("its controller has not seen the latest change".into());
    }
    Ok(())
}

fn replicas(object: &DynamicObject, field: &str) -> Result<(), String> {
    let wanted = object.data["spec"]["replicas"].as_i64().unwrap_or(1);
    let current = object.data["status"][field].as_i64().unwrap_or(0);
    if current < wanted {
        return Err(format!("status.{field} is {current} of {wanted}"));
    }
    Ok(())
}

fn is_true(status: &Value, kind: &str) -> Result<(), String> {
    match condition(status, kind) {
        Some(("True", _)) => Ok(()),
        Some((state, reason)) => Err(format!("condition {kind} is {state} ({reason})")),
        None => Err(format!("condition {kind} is missing")),
    }
}

/// Status and reason of a condition.
fn condition<'a>(status: &'a Value, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = status["conditions"].as_array()?;
    let found = conditions.iter().find(|found| found["type"] == kind)?;
    let text = |field: &str| found[field].as_str().unwrap_or("no reason");
    Some((text("status"), text("reason")))
}

/// The value that a path leads to; a list of them when it leads to several.
pub(super) fn value_at(object: &DynamicObject, path: &JsonPath) -> Option<Value> {
    let value = serde_json::to_value(object).ok()?;
    let found = path.find(&value);
    match found[..] {
        [] | [Value::Null] => None,
        [only] => Some(only.clone()),
        _ => Some(found.into_iter().cloned().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_says_when_it_is_ready() {
        let condition = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "reason": "Because"}]});
        let ready = json!({"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 2});
        let behind = json!({"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2});
        let few = json!({"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 1});
        let daemons = |available: i64| {
            json!({
                "observedGeneration": 2, "desiredNumberScheduled": 4,
                "updatedNumberScheduled": 4, "numberAvailable": available,
            })
        };
        for (kind, status, expected) in [
            ("Deployment", ready.clone(), Ok(())),
            (
                "Deployment",
                behind,
                Err("its controller has not seen the latest change"),
            ),
            (
                "Deployment",
                few.clone(),
                Err("status.availableReplicas is 1 of 2"),
            ),
            ("StatefulSet", ready, Ok(())),
            (
                "StatefulSet",
                few,
                Err("status.availableReplicas is 1 of 2"),
            ),
            (
                "ReplicaSet",
                json!({"observedGeneration": 2, "readyReplicas": 2}),
                Ok(()),
            ),
            ("DaemonSet", daemons(3), Ok(())),
            (
                "DaemonSet",
                daemons(2),
                Err("status.numberAvailable is 2 of 3"),
            ),
            ("Pod", json!({}), Err("condition Ready is missing")),
            (
                "Pod",
                condition("Ready", "False"),
                Err("condition Ready is False (Because)"),
            ),
            ("Pod", condition("Ready", "True"), Ok(())),
            ("Pod", json!({"phase": "Succeeded"}), Ok(())),
            ("Job", json!({}), Ok(())),
            (
                "Job",
                condition("Failed", "True"),
                Err("condition Failed is True (Because)"),
            ),
            (
                "CustomResourceDefinition",
                condition("Established", "True"),
                Ok(()),
            ),
            (
                "CustomResourceDefinition",
                json!({}),
                Err("condition Established is missing"),
            ),
            ("ConfigMap", json!({}), Ok(())),
        ] {
            let rolling =
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}});
            let object = json!({
                "apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "generation": 2},
                "spec": {"replicas": 2, "updateStrategy": rolling}, "status": status,
            });
            let object = serde_json::from_value(object).unwrap();
            assert_eq!(
                default_check(&object),
                expected.map_err(str::to_owned),
                "{kind}"
            );
        }
    }
}
