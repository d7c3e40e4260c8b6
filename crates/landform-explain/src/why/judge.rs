//! What one object waits for, and what is wrong with it. Pure: everything that it sees is in [`Facts`].

use landform_api::landscaper::{GROUP, WaitingOn};
use landform_api::{catalog, project};
use serde_json::Value;

use super::{State, Trouble};
use crate::object::ObjectRef;

const CYCLIC: &str = "ERR_CYCLIC_DEPENDENCIES";

/// Everything that a judgement may see of an object.
pub(super) struct Facts<'a> {
    pub(super) name: &'a ObjectRef,
    /// The object itself.
    pub(super) object: &'a Value,
    /// What the engine says of it; only asked where the status doesn't tell enough.
    pub(super) engine: Option<&'a Value>,
    /// What the collector says of it; only asked while it is being deleted.
    pub(super) deletion: Option<&'a Value>,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) state: State,
    /// Whether nothing is wrong with it and it waits for nothing.
    pub(super) well: bool,
    pub(super) waits: Vec<Waiting>,
    pub(super) causes: Vec<Cause>,
    /// Whether nested objects must be looked at: it only says that one of them is to blame.
    pub(super) look_below: bool,
}

/// Something that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) object: ObjectRef,
    pub(super) rule: Option<String>,
    pub(super) reason: String,
}

/// Something that is wrong with the object itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) sort: Sort,
    pub(super) rule: Option<String>,
    pub(super) reason: String,
    pub(super) message: String,
}

/// What sort of cause it is: it decides the rank, and what can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// What a person wrote can't work.
    Configuration,
    /// Objects refer to each other in a circle.
    Cycle,
    /// Something took too long.
    Timeout,
    /// A person stopped it.
    Aborted,
    /// It has failed for good, for a reason of its own.
    Failed,
    /// What is in the way of an upgrade or install, and what would unblock it.
    Blocked { unblock: String },
    /// A finalizer, and who removes it.
    Finalizer { name: String, responsible: String },
    /// Something that Landform tries again.
    Retried { again: Option<String> },
    /// A run that is under way, and since when.
    Running { since: Option<String> },
    /// A run that was told to return and doesn't.
    Stuck,
    /// Something that it waits for without naming an object.
    Waits,
    /// Landform has not looked at it yet.
    NotSeen,
    /// Deletions that somebody must agree to, by this token.
    Held { token: String },
}

/// Judges an object.
pub(super) fn judge(facts: &Facts<'_>) -> Judged {
    let (object, status) = (facts.object, &facts.object["status"]);
    let error = trouble(status);
    let mut judged = Judged {
        state: State {
            object: Some(facts.name.clone()),
            file: text(&object["metadata"]["annotations"][project::ANNOTATION_FILE]),
            phase: phase(object),
            since: None,
            error: error.clone(),
            next_retry: facts.engine.and_then(|engine| text(&engine["nextRun"])),
            missing: false,
            deleting: deleting(object),
        },
        waits: waiting_on(facts.name, status),
        ..Judged::default()
    };
    let deleting = deleting(object);
    if deleting {
        by_deletion(facts, &mut judged);
    } else {
        by_kind(facts, &mut judged);
    }
    if is_cyclic(facts) {
        // What it waited for before the circle was closed doesn't matter: nothing in it moves.
        judged.waits.clear();
        by_cycle(facts, &mut judged);
    }
    let open = judged.waits.is_empty() && judged.causes.is_empty();
    if let Some(error) = error.filter(|_| open && !is_well(object)) {
        by_error(&error, facts, &mut judged);
    }
    if judged.causes.is_empty() {
        by_engine(facts, &mut judged);
    }
    let open = judged.waits.is_empty() && judged.causes.is_empty() && !judged.look_below;
    judged.well = open && !deleting && is_well(object);
    if open && !judged.well {
        let sort = Sort::NotSeen;
        judged.causes.push(cause(
            sort,
            "NotSeen",
            "it has not been looked at since it changed",
        ));
    }
    judged.state.since = since(facts, judged.well);
    if judged.state.since.is_none()
        && let Some(engine) = facts.engine
    {
        judged.state.since = text(&engine["runningSince"]);
    }
    judged
}

/// Whether a status has to be completed by the engine's view: it says neither what is waited for nor why.
pub(super) fn needs_engine(object: &Value) -> bool {
    // Other kinds say whatever their hooks make them say.
    if !must_have_phase(object) {
        return true;
    }
    if is_well(object) && !deleting(object) {
        return false;
    }
    if has_code(object, CYCLIC) {
        return true;
    }
    let waits = object["status"]["waitingOn"].as_array();
    let named = |waiting: &Value| !waiting["object"].is_null();
    let follows = waits.is_some_and(|waits| waits.iter().any(named));
    !follows && phase(object).as_deref() != Some("Failed")
}

pub(super) fn deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether an object says itself that all is as it should be; one that says nothing is well.
pub(super) fn is_well(object: &Value) -> bool {
    let status = &object["status"];
    let (seen, now) = (
        &status["observedGeneration"],
        &object["metadata"]["generation"],
    );
    if !seen.is_null() && !now.is_null() && seen != now {
        return false;
    }
    match status["phase"].as_str() {
        Some(phase) => matches!(
            phase,
            "Succeeded" | "Ready" | "Synced" | "Active" | "Running" | "Bound"
        ),
        None => {
            !must_have_phase(object) && ready(object).is_none_or(|ready| ready["status"] == "True")
        }
    }
}

fn must_have_phase(object: &Value) -> bool {
    let group = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let of = |name: &str| group.starts_with(&format!("{name}/"));
    (of(GROUP) && matches!(kind, "Installation" | "Execution" | "DeployItem"))
        || (of(catalog::GROUP) && matches!(kind, "AppType" | "OperatorVersion" | "Catalog"))
        || (of(project::GROUP) && kind == project::KIND)
}

fn ready(object: &Value) -> Option<&Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == "Ready")
}

fn phase(object: &Value) -> Option<String> {
    if deleting(object) && !must_have_phase(object) {
        return Some("Deleting".to_owned());
    }
    text(&object["status"]["phase"])
}

fn trouble(status: &Value) -> Option<Trouble> {
    match &status["lastError"] {
        Value::String(message) => Some(Trouble {
            message: message.clone(),
            ..Trouble::default()
        }),
        error @ Value::Object(_) => serde_json::from_value(error.clone()).ok(),
        _ => None,
    }
}

fn since(facts: &Facts<'_>, well: bool) -> Option<String> {
    let status = &facts.object["status"];
    if deleting(facts.object) {
        return text(&facts.object["metadata"]["deletionTimestamp"]);
    }
    if let Some(since) = text(&status["lastTransitionTime"]) {
        return Some(since);
    }
    if !well && let Some(since) = text(&status["lastError"]["lastTransitionTime"]) {
        return Some(since);
    }
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let times = conditions.filter_map(|condition| condition["lastTransitionTime"].as_str());
    let newest = times.max().map(ToOwned::to_owned);
    newest.or_else(|| text(&status["lastReconcileTime"]).filter(|_| !well))
}

/// What a status says that it waits for. Names without a namespace are in the object's own.
fn waiting_on(name: &ObjectRef, status: &Value) -> Vec<Waiting> {
    let all: Vec<WaitingOn> =
        serde_json::from_value(status["waitingOn"].clone()).unwrap_or_default();
    let named = all.into_iter().filter_map(|waiting| {
        let object = waiting.object?;
        let namespace = if object.namespace.is_empty() {
            &name.namespace
        } else {
            &object.namespace
        };
        Some(Waiting {
            object: ObjectRef::known(&object.kind, namespace, &object.name)?,
            rule: Some(waiting.rule),
            reason: waiting.reason,
        })
    });
    named.collect()
}

/// What is waited for without an object that could be looked at.
fn plain_waits(status: &Value) -> Vec<Cause> {
    let all: Vec<WaitingOn> =
        serde_json::from_value(status["waitingOn"].clone()).unwrap_or_default();
    let plain = all.into_iter().filter(|waiting| waiting.object.is_none());
    plain
        .map(|waiting| Cause {
            sort: Sort::Waits,
            rule: Some(waiting.rule),
            reason: "Waits".to_owned(),
            message: waiting.reason,
        })
        .collect()
}

fn by_kind(facts: &Facts<'_>, judged: &mut Judged) {
    let status = &facts.object["status"];
    match facts.name.kind.as_str() {
        "AppType" => {
            let blocked = status["blockedBy"].as_array().into_iter().flatten();
            judged.causes.extend(blocked.map(|blocked| Cause {
                sort: Sort::Blocked {
                    unblock: text(&blocked["unblock"]).unwrap_or_default(),
                },
                rule: text(&blocked["rule"]),
                reason: text(&blocked["reason"]).unwrap_or_default(),
                message: text(&blocked["message"]).unwrap_or_default(),
            }));
            judged
                .causes
                .extend(by_message(status, facts.object, judged));
        }
        "OperatorVersion" => {
            judged.causes.extend(plain_waits(status));
            judged
                .causes
                .extend(by_message(status, facts.object, judged));
        }
        "Catalog" => {
            judged
                .causes
                .extend(by_message(status, facts.object, judged));
            let problems = status["problems"].as_array().into_iter().flatten();
            let problems = problems.filter(|problem| problem["warning"] != true);
            judged.causes.extend(problems.filter_map(|problem| {
                let (file, what) = (text(&problem["file"])?, text(&problem["reason"])?);
                Some(cause(
                    Sort::Configuration,
                    "Problem",
                    &format!("{file}: {what}"),
                ))
            }));
        }
        project::KIND => by_project(status, judged),
        "Reconciler" => {}
        _ => judged.causes.extend(plain_waits(status)),
    }
}

/// Kinds that say why they stand where they stand by a message.
fn by_message(status: &Value, object: &Value, judged: &Judged) -> Option<Cause> {
    let open = judged.causes.is_empty() && judged.waits.is_empty();
    if !open || is_well(object) || !status["lastError"].is_null() {
        return None;
    }
    let message = text(&status["message"])?;
    let reason = text(&status["reason"]).unwrap_or_default();
    let sort = match status["phase"].as_str() {
        Some("Failed") => Sort::Failed,
        _ => Sort::Waits,
    };
    Some(cause(sort, &reason, &message))
}

fn by_project(status: &Value, judged: &mut Judged) {
    let problems = status["problems"].as_array().into_iter().flatten();
    judged.causes.extend(problems.filter_map(|problem| {
        let (file, message) = (text(&problem["file"])?, text(&problem["message"])?);
        let place = |name: &str| problem[name].as_u64().filter(|number| *number > 0);
        let place: String = [place("line"), place("column")]
            .iter()
            .flatten()
            .map(|number| format!(":{number}"))
            .collect();
        Some(cause(
            Sort::Configuration,
            "Problem",
            &format!("{file}{place}: {message}"),
        ))
    }));
    let held = &status["heldDeletions"];
    if let Some(token) = text(&held["token"]) {
        let message = format!(
            "{} of {} objects would be deleted",
            held["count"], held["of"]
        );
        judged
            .causes
            .push(cause(Sort::Held { token }, "HeldDeletions", &message));
    }
}

/// What holds a deletion up: whatever the status waits for, and finalizers of others.
fn by_deletion(facts: &Facts<'_>, judged: &mut Judged) {
    judged.causes.extend(plain_waits(&facts.object["status"]));
    match facts
        .deletion
        .filter(|deletion| deletion["finalizers"].is_array())
    {
        Some(deletion) => {
            let blockers = deletion["blockers"].as_array().into_iter().flatten();
            for blocker in blockers {
                let object = ObjectRef {
                    api_version: text(&blocker["object"]["apiVersion"]).unwrap_or_default(),
                    kind: text(&blocker["object"]["kind"]).unwrap_or_default(),
                    namespace: text(&blocker["object"]["namespace"]).unwrap_or_default(),
                    name: text(&blocker["object"]["name"]).unwrap_or_default(),
                };
                if object == *facts.name {
                    continue;
                }
                // A nested object that is waited for already leads there.
                if judged.waits.iter().all(|waiting| waiting.object != object) {
                    judged.waits.push(Waiting {
                        object,
                        rule: text(&deletion["rule"]),
                        reason: text(&blocker["message"]).unwrap_or_default(),
                    });
                }
            }
            let finalizers = deletion["finalizers"].as_array().into_iter().flatten();
            for finalizer in finalizers {
                let name = text(&finalizer["name"]).unwrap_or_default();
                let responsible = text(&finalizer["responsible"]).unwrap_or_default();
                held_by(facts, &name, &responsible, judged);
            }
            if let Some(failure) = text(&deletion["failure"]) {
                let sort = Sort::Retried { again: None };
                judged.causes.push(cause(
                    sort,
                    "DeletionFails",
                    &format!("deleting it fails: {failure}"),
                ));
            }
        }
        None => {
            let finalizers = facts.object["metadata"]["finalizers"].as_array();
            for name in finalizers.into_iter().flatten().filter_map(Value::as_str) {
                let domain = name.split_once('/').map_or(name, |(domain, _)| domain);
                held_by(facts, name, &format!("the controller of {domain}"), judged);
            }
        }
    }
}

fn held_by(facts: &Facts<'_>, name: &str, responsible: &str, judged: &mut Judged) {
    let landforms = responsible.starts_with("Landform's")
        || matches!(
            name,
            landform_api::landscaper::keys::FINALIZER
                | catalog::keys::FINALIZER
                | project::FINALIZER
        );
    if landforms {
        return;
    }
    let sort = Sort::Finalizer {
        name: name.to_owned(),
        responsible: responsible.to_owned(),
    };
    let message = format!(
        "{} is held by {name}, which {responsible} has to remove",
        facts.name
    );
    judged.causes.push(cause(sort, "Finalizer", &message));
}

/// An error that is the object's own, or that of a nested object.
fn by_error(error: &Trouble, facts: &Facts<'_>, judged: &mut Judged) {
    let reason = error.reason.as_str();
    if matches!(
        reason,
        "NestedObjectFailed" | "DeployItemFailed" | "DeletionFailed"
    ) {
        judged.look_below = true;
        return;
    }
    let has = |code: &str| error.codes.iter().any(|found| found == code);
    let failed = phase(facts.object).is_none_or(|phase| phase == "Failed");
    let sort = if has("ERR_TIMEOUT") || has("ERR_READINESS_CHECK_TIMEOUT") {
        Sort::Timeout
    } else if has("ERR_CONFIGURATION_PROBLEM") {
        Sort::Configuration
    } else if reason == "Aborted" {
        Sort::Aborted
    } else if failed && must_have_phase(facts.object) {
        Sort::Failed
    } else {
        Sort::Retried {
            again: judged.state.next_retry.clone(),
        }
    };
    judged.causes.push(cause(sort, reason, &error.message));
}

fn has_code(object: &Value, code: &str) -> bool {
    let codes = object["status"]["lastError"]["codes"].as_array();
    codes.into_iter().flatten().any(|found| found == code)
}

/// The engine knows best; without it the status is believed.
fn is_cyclic(facts: &Facts<'_>) -> bool {
    match facts.engine {
        Some(engine) => engine["state"] == "Cyclic",
        None => has_code(facts.object, CYCLIC) && !is_well(facts.object),
    }
}

/// In the words of the status, unless a run has written something else over them.
fn by_cycle(facts: &Facts<'_>, judged: &mut Judged) {
    let error = judged.state.error.clone().unwrap_or_default();
    let path = facts.engine.and_then(|engine| text(&engine["cycle"]));
    let told = path
        .as_ref()
        .is_none_or(|path| error.message.contains(path.as_str()));
    let found = match path {
        Some(path) if !told => {
            let message = format!("it is in a cycle of references and doesn't run: {path}");
            cause(Sort::Cycle, "ReferenceCycle", &message)
        }
        _ => cause(Sort::Cycle, &error.reason, &error.message),
    };
    judged.causes.push(found);
}

/// What only the engine knows: runs that are under way, errors of runs, and who runs first.
fn by_engine(facts: &Facts<'_>, judged: &mut Judged) {
    let Some(engine) = facts.engine else { return };
    let settled = !judged.waits.is_empty();
    let error = text(&engine["lastError"]);
    if judged.state.error.is_none() {
        judged.state.error = error.clone().map(|message| Trouble {
            message,
            ..Trouble::default()
        });
    }
    match engine["state"].as_str().unwrap_or_default() {
        "Stuck" | "Cancelling" => {
            let by = text(&engine["cancelled"]).unwrap_or_default();
            let message = format!("its run was told to return and has not yet: {by}");
            judged.causes.push(cause(Sort::Stuck, "Stuck", &message));
        }
        "Running" if !settled => {
            let since = text(&engine["runningSince"]);
            judged
                .state
                .phase
                .get_or_insert_with(|| "Running".to_owned());
            let why = text(&engine["reason"]).unwrap_or_default();
            let message = format!("it is being reconciled: {why}");
            judged
                .causes
                .push(cause(Sort::Running { since }, "Running", &message));
        }
        "Pending" if !settled => {
            judged
                .state
                .phase
                .get_or_insert_with(|| "Pending".to_owned());
            let waits = engine["waitingOn"].as_array().into_iter().flatten();
            judged.waits.extend(waits.filter_map(|wait| {
                let group = text(&wait["group"]).unwrap_or_default();
                let kind = text(&wait["kind"])?;
                Some(Waiting {
                    // The version is found when it is read.
                    object: ObjectRef {
                        api_version: if group.is_empty() {
                            "v1".to_owned()
                        } else {
                            format!("{group}/")
                        },
                        kind,
                        namespace: text(&wait["namespace"]).unwrap_or_default(),
                        name: text(&wait["name"])?,
                    },
                    rule: None,
                    reason: in_the_way(wait["relation"].as_str().unwrap_or_default()).to_owned(),
                })
            }));
        }
        _ => {}
    }
    if let Some(error) = error.filter(|_| judged.causes.is_empty() && !settled) {
        let again = judged.state.next_retry.clone();
        let sort = if again.is_some() {
            Sort::Retried { again }
        } else {
            Sort::Failed
        };
        judged.causes.push(cause(sort, "ReconcileFailed", &error));
    }
}

/// The engine's relations as a sentence.
fn in_the_way(relation: &str) -> &'static str {
    match relation {
        "Ref" => "it is referred to and must have run first",
        "Dependent" => "its cancelled run must have returned",
        "FormerName" => "the run under the former name must have returned",
        "Delete" => "deletes in the namespace go first",
        "Rename" => "renames in the namespace go first",
        _ => "it is in the way",
    }
}

fn cause(sort: Sort, reason: &str, message: &str) -> Cause {
    Cause {
        sort,
        rule: None,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

/// A text that is there and isn't empty.
pub(super) fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(ToOwned::to_owned)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
