//! What one object waits for, and what is wrong with it. Pure: everything that it sees is in [`Facts`].

mod kinds;
mod views;

use landform_api::keys::ANNOTATION_ERROR;
use landform_api::landscaper::report::WRITE_REFUSED;
use landform_api::landscaper::{GROUP, WaitingOn};
use landform_api::{catalog, project};
use landform_engine::CONDITION_RECONCILED;
use serde_json::{Value, json};

pub(in crate::why) use self::kinds::STOPPED;
use self::kinds::by_kind;
use self::views::{by_cycle, by_deletion, by_engine, by_ignore, by_unknown_owners, is_cyclic};
use super::{State, Trouble};
use crate::object::ObjectRef;

const CYCLIC: &str = "ERR_CYCLIC_DEPENDENCIES";

/// Everything that a judgement may see of an object.
pub(in crate::why) struct Facts<'a> {
    pub(in crate::why) name: &'a ObjectRef,
    /// The object itself.
    pub(in crate::why) object: &'a Value,
    /// What the engine says of it; only asked where the status doesn't tell enough.
    pub(in crate::why) engine: Option<&'a Value>,
    /// What the collector says of it; only asked while it is being deleted.
    pub(in crate::why) deletion: Option<&'a Value>,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::why) struct Judged {
    pub(in crate::why) state: State,
    /// Whether nothing is wrong with it and it waits for nothing.
    pub(in crate::why) well: bool,
    pub(in crate::why) waits: Vec<Waiting>,
    pub(in crate::why) causes: Vec<Cause>,
    /// Whether nested objects must be looked at: it only says that one of them is to blame.
    pub(in crate::why) look_below: bool,
}

/// Something that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::why) struct Waiting {
    pub(in crate::why) object: ObjectRef,
    pub(in crate::why) rule: Option<String>,
    pub(in crate::why) reason: String,
}

/// Something that is wrong with the object itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::why) struct Cause {
    pub(in crate::why) sort: Sort,
    pub(in crate::why) rule: Option<String>,
    pub(in crate::why) reason: String,
    pub(in crate::why) message: String,
}

/// What sort of cause it is: it decides the rank, and what can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::why) enum Sort {
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
    /// An object that is left alone because of this annotation.
    Ignored { annotation: &'static str },
    /// A finalizer, and who removes it.
    Finalizer { name: String, responsible: String },
    /// The finalizer of a Reconciler, by its name: its hook has not said yet that it is done.
    Hook { reconciler: String, now: HookCall },
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
    /// Landform has looked at it, and nothing says what is next.
    Silent,
    /// Deletions that somebody must agree to, by this token.
    Held { token: String },
}

/// What is known of the call for which a marked object waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::why) enum HookCall {
    /// It goes on, since this time.
    Running { since: Option<String> },
    /// The last one failed, or said that it isn't done; and when the next one comes, if that is known.
    Ended { again: Option<String> },
    /// Nothing was seen of one.
    Unknown,
}

/// Judges an object. An error that it shows, and that the engine knows nothing of, was put there by others.
pub(in crate::why) fn judge(facts: &Facts<'_>) -> Judged {
    let knows_better = facts
        .engine
        .is_some_and(|engine| engine["state"] == "Idle" && text(&engine["lastError"]).is_none());
    let shown = facts.object["metadata"]["annotations"][ANNOTATION_ERROR].is_string();
    let is_of_others = knows_better && shown;
    let is_of_before = is_project_of_before(facts);
    if !is_of_others && !is_of_before {
        return judge_shown(facts);
    }
    let mut object = facts.object.clone();
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut()
        && is_of_others
    {
        annotations.remove(ANNOTATION_ERROR);
    }
    if is_of_before {
        object["status"] = json!({"phase": "Deleting"});
    }
    judge_shown(&Facts {
        name: facts.name,
        object: &object,
        engine: facts.engine,
        deletion: facts.deletion,
    })
}

/// Whether a project has said nothing since it was deleted: what it said of its files counts no more.
fn is_project_of_before(facts: &Facts<'_>) -> bool {
    let object = facts.object;
    facts.name.kind == project::KIND
        && facts.name.group() == project::GROUP
        && deleting(object)
        && phase(object).as_deref() != Some("Deleting")
}

fn judge_shown(facts: &Facts<'_>) -> Judged {
    let (object, status) = (facts.object, &facts.object["status"]);
    let error = trouble(object);
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
        judged.causes.extend(by_ignore(facts));
    } else if let Some(ignored) = by_ignore(facts) {
        // Nothing else moves it.
        judged.waits.clear();
        judged.causes.push(ignored);
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
    if judged.causes.is_empty() && judged.waits.is_empty() {
        by_unknown_owners(facts, &mut judged);
    }
    let open = judged.waits.is_empty() && judged.causes.is_empty() && !judged.look_below;
    judged.well = open && !deleting && is_well(object);
    if open && !judged.well {
        judged.causes.push(untold(facts));
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
pub(in crate::why) fn needs_engine(object: &Value) -> bool {
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
    let ended = phase(object).as_deref() == Some("Failed") && !deleting(object);
    // A removal that failed may be tried again by itself, and so is a write that was refused.
    !follows && (!ended || was_refused(object))
}

fn was_refused(object: &Value) -> bool {
    object["status"]["lastError"]["reason"] == WRITE_REFUSED
}

/// Whether an installation has failed and asks for automatic reconciles then (`spec.automaticReconcile`).
pub(in crate::why) fn is_reconciled_again(object: &Value) -> bool {
    object["kind"] == "Installation"
        && must_have_phase(object)
        && phase(object).as_deref() == Some("Failed")
        && object["spec"]["automaticReconcile"]["failedReconcile"].is_object()
}

pub(in crate::why) fn deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether an object says itself that all is as it should be; one that says nothing is well.
pub(in crate::why) fn is_well(object: &Value) -> bool {
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
            !must_have_phase(object)
                && told_by_engine(object).is_none()
                && ready(object).is_none_or(|ready| ready["status"] == "True")
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

/// The error that the engine tells on an object whose kind doesn't tell its own (R7b).
fn told_by_engine(object: &Value) -> Option<Trouble> {
    let conditions = object["status"]["conditions"].as_array();
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == CONDITION_RECONCILED);
    let told = condition.and_then(|condition| {
        Some(Trouble {
            reason: text(&condition["reason"]).unwrap_or_default(),
            message: text(&condition["message"])?,
            since: text(&condition["lastTransitionTime"]),
            ..Trouble::default()
        })
    });
    told.or_else(|| {
        let message = text(&object["metadata"]["annotations"][ANNOTATION_ERROR])?;
        Some(Trouble {
            message,
            ..Trouble::default()
        })
    })
}

/// Whether the error of an item is that of an aborted run after which its removal has begun: one that was aborted itself
/// is Failed.
fn is_error_of_before(object: &Value) -> bool {
    let status = &object["status"];
    object["kind"] == "DeployItem"
        && deleting(object)
        && status["phase"] == "Deleting"
        && status["lastError"]["reason"] == "Aborted"
}

fn trouble(object: &Value) -> Option<Trouble> {
    if is_error_of_before(object) {
        return None;
    }
    match &object["status"]["lastError"] {
        Value::String(message) => Some(Trouble {
            message: message.clone(),
            ..Trouble::default()
        }),
        error @ Value::Object(_) => serde_json::from_value(error.clone()).ok(),
        _ => told_by_engine(object),
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
            object: ObjectRef::told(&object.group, &object.kind, namespace, &object.name),
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

/// What is left to say of an object that is not where it should be, and doesn't say why.
fn untold(facts: &Facts<'_>) -> Cause {
    if let Some(cause) = by_conditions(facts.object) {
        return cause;
    }
    if phase(facts.object).as_deref() == Some("Failed") {
        let message = "it has failed, and its status doesn't say why";
        return cause(Sort::Failed, "Failed", message);
    }
    let idle = facts.engine.filter(|engine| engine["state"] == "Idle");
    let Some(engine) = idle else {
        let message = "it has not been looked at since it changed";
        return cause(Sort::NotSeen, "NotSeen", message);
    };
    if let Some(what) = text(&engine["waitingFor"]) {
        return cause(Sort::Waits, "Waits", &what);
    }
    if let Some(next) = text(&engine["nextRun"]) {
        let message = format!("it is looked at again at {next}");
        return cause(Sort::Waits, "Waits", &message);
    }
    let message = "it was looked at, and says neither what it waits for nor what is wrong";
    cause(Sort::Silent, "Silent", message)
}

/// What the API server says of a namespace or definition that is being deleted and not empty yet.
fn by_conditions(object: &Value) -> Option<Cause> {
    if !deleting(object) {
        return None;
    }
    let conditions = object["status"]["conditions"].as_array()?.iter();
    let tells = |condition: &&Value| {
        let name = condition["type"].as_str().unwrap_or_default();
        let told = name.starts_with("Namespace") || name == "Terminating";
        told && condition["status"] == "True"
    };
    let told = conditions.filter(tells);
    let messages: Vec<String> = told.filter_map(|told| text(&told["message"])).collect();
    let message = messages.join("; ");
    (!message.is_empty()).then(|| cause(Sort::Waits, "NotEmpty", &message))
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
    } else if failed && !is_retried(facts) {
        Sort::Failed
    } else {
        Sort::Retried {
            again: judged.state.next_retry.clone(),
        }
    };
    judged.causes.push(cause(sort, reason, &error.message));
}

/// Whether an object with an error runs again by itself.
fn is_retried(facts: &Facts<'_>) -> bool {
    let gives_up = must_have_phase(facts.object) && !was_refused(facts.object);
    if gives_up && !deleting(facts.object) {
        return false;
    }
    // Without an engine to ask it is the likelier case.
    facts
        .engine
        .is_none_or(|engine| engine["state"] != "Idle" || text(&engine["nextRun"]).is_some())
}

fn has_code(object: &Value, code: &str) -> bool {
    let codes = object["status"]["lastError"]["codes"].as_array();
    codes.into_iter().flatten().any(|found| found == code)
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
pub(in crate::why) fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests;
