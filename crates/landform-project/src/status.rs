//! What the status of a project tells, apart from what a sync found.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use landform_api::landscaper::report::{LastError, ObjectName, WaitingOn};
use landform_api::project::{
    HeldDeletions, ProjectPhase, ProjectProblem, ProjectStatus, SETTINGS_FILE,
};
use landform_api::protection::PROTECT;
use landform_api::words::status_message;
use landform_engine::{Context, EventType, Failure, Outcome, write_time};

use crate::decide::{Decision, Stays};
use crate::namespaces;
use crate::object::{ObjectId, Wanted};
use crate::state::State;

/// At most this many objects are named that a project waits for.
const WAITING: usize = 20;
/// A directory that can't be read is tried again after this time.
const DIRECTORY_AGAIN_MS: u64 = 1_000;

/// Nothing is known of the project's files: nothing is touched.
pub(crate) async fn fail(
    context: &Context,
    state: &State,
    before: ProjectStatus,
    message: &str,
    problems: Vec<ProjectProblem>,
) -> Result<Outcome, Failure> {
    // What it followed may not exist any more, or again.
    *state.watch.lock().await = None;
    if before.phase != Some(ProjectPhase::Failed) {
        context.event(EventType::Warning, "Unreadable", message);
    }
    let status = ProjectStatus {
        phase: Some(ProjectPhase::Failed),
        observed_generation: context.object().metadata.generation,
        problem_count: problems.len(),
        problems,
        last_error: Some(last_error(context, &before, "Read", "Unreadable", message)),
        ..before
    };
    context.write_status(&status).await?;
    state.note();
    let at = context.now_ms().saturating_add(DIRECTORY_AGAIN_MS);
    Ok(Outcome::WaitUntil(
        "the directory is looked at again".into(),
        at,
    ))
}

/// A Project without a directory is kept: there is nothing to read.
pub(crate) async fn settings_alone(
    context: &Context,
    before: ProjectStatus,
) -> Result<Outcome, Failure> {
    if before.phase != Some(ProjectPhase::Synced) {
        let message = "it names no directory, as a landform.yaml does that was applied: it is kept, and nothing is read";
        context.event(EventType::Normal, "SettingsAlone", message);
    }
    let status = ProjectStatus {
        phase: Some(ProjectPhase::Synced),
        observed_generation: context.object().metadata.generation,
        ..ProjectStatus::default()
    };
    context.write_status(&status).await?;
    Ok(Outcome::Done)
}

pub(crate) fn last_error(
    context: &Context,
    before: &ProjectStatus,
    operation: &str,
    reason: &str,
    message: &str,
) -> LastError {
    let now = write_time(context.now_ms());
    let message = status_message(message);
    let same = before
        .last_error
        .as_ref()
        .filter(|error| error.message == message);
    if let Some(same) = same {
        // Nothing is written because time goes by.
        return same.clone();
    }
    LastError {
        operation: operation.to_owned(),
        reason: reason.to_owned(),
        message: message.into_owned(),
        codes: Vec::new(),
        last_transition_time: Some(now.clone()),
        last_update_time: Some(now),
    }
}

pub(crate) fn waiting_on(rule: &str, objects: &BTreeSet<ObjectId>, reason: &str) -> Vec<WaitingOn> {
    let objects = objects.iter().take(WAITING).map(|id| WaitingOn {
        rule: rule.to_owned(),
        object: Some(ObjectName {
            group: id.group.clone(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone().unwrap_or_default(),
            name: id.name.clone(),
        }),
        reason: reason.to_owned(),
    });
    objects.collect()
}

pub(crate) fn tell_people(
    context: &Context,
    renamed: &[(ObjectId, ObjectId)],
    held: Option<&HeldDeletions>,
    kept: &BTreeMap<ObjectId, String>,
    before: &ProjectStatus,
) {
    for why in kept.values() {
        context.event(EventType::Warning, "NamespaceKept", why);
    }
    for (from, to) in renamed {
        let message = format!("{from} is {} now", to.name);
        context.event(EventType::Normal, "Renamed", &message);
    }
    let told = before.held_deletions.as_ref().map(|held| &held.token);
    if let Some(held) = held.filter(|held| Some(&held.token) != told) {
        let message = format!("{}: agree to it, see status.heldDeletions", held.sentence());
        context.event(EventType::Warning, "DeletionsHeld", &message);
    }
}

/// The namespaces that stay though they are wanted no more: those of before, as long as they are there and not
/// wanted again, and those of this run.
pub(crate) async fn kept_namespaces(
    context: &Context,
    before: &ProjectStatus,
    kept: BTreeMap<ObjectId, String>,
    wanted: &BTreeMap<ObjectId, Wanted>,
) -> BTreeMap<String, String> {
    let there: Api<Namespace> = Api::all(context.client());
    let mut all = before.kept_namespaces.clone();
    for name in before.kept_namespaces.keys() {
        let found = there.get_metadata_opt(name).await;
        if matches!(found, Ok(None)) {
            all.remove(name);
        }
    }
    all.extend(kept.into_iter().map(|(id, why)| (id.name, why)));
    let wanted = wanted.keys().filter(|id| namespaces::is_namespace(id));
    for id in wanted {
        all.remove(&id.name);
    }
    all
}

/// What is not yet as the files say: objects that must be gone first, those that may still come back, and settings
/// that may.
pub(crate) fn unsettled(
    waiting: &BTreeSet<ObjectId>,
    leaving: &BTreeSet<ObjectId>,
    decision: &Decision,
    settings_until: Option<u64>,
) -> Vec<WaitingOn> {
    let anew = "it is being deleted, and is made anew when it is gone";
    let mut unsettled = waiting_on("R15", waiting, anew);
    unsettled.extend(waiting_on("R15", leaving, "it is being deleted"));
    let missing = &decision.missing;
    let mut by_time: BTreeMap<u64, BTreeSet<ObjectId>> = BTreeMap::new();
    for (id, until) in missing {
        by_time.entry(*until).or_default().insert(id.clone());
    }
    for (until, missing) in by_time {
        let until = write_time(until);
        let reason = format!(
            "no file has it: it is kept until {until}, in case it comes back; bring the file back to keep it"
        );
        unsettled.extend(waiting_on("R15b", &missing, &reason));
    }
    for (id, stays) in decision.stays.iter().take(WAITING) {
        let (rule, reason) = why_it_stays(stays);
        unsettled.extend(waiting_on(rule, &BTreeSet::from([id.clone()]), &reason));
    }
    unsettled.extend(settings_until.map(|until| of_settings("what it said holds", until)));
    unsettled
}

/// Why an object that no file has stays for now, and by which rule.
fn why_it_stays(stays: &Stays) -> (&'static str, String) {
    match stays {
        Stays::Unserved(definition) => (
            "G12b",
            format!(
                "no file has it, and its kind isn't served: it is deleted when {definition} serves it again"
            ),
        ),
        Stays::Occupied(inside) => (
            "R15",
            format!("it is wanted no more, and {inside} is in it: it is deleted when that is gone"),
        ),
        Stays::Protected => (
            "R15b",
            format!(
                "no file has it, and it is protected from deletion: bring the file back, or let it go with kubectl annotate --overwrite {PROTECT}=false"
            ),
        ),
        Stays::Moving(to) => (
            "R15",
            format!("no file has it here: {to} must be there first, then it is deleted"),
        ),
    }
}

fn of_settings(what: &str, until: u64) -> WaitingOn {
    let until = write_time(until);
    WaitingOn {
        rule: "R15b".to_owned(),
        object: None,
        reason: format!(
            "{SETTINGS_FILE} doesn't say all that it said: {what} until {until}, in case it comes back"
        ),
    }
}

/// The settings lack what they said before this start: nothing is touched until that can be believed.
pub(crate) async fn unsettled_settings(
    context: &Context,
    state: &State,
    before: ProjectStatus,
    until: u64,
) -> Result<Outcome, Failure> {
    let status = ProjectStatus {
        phase: Some(ProjectPhase::Settling),
        observed_generation: context.object().metadata.generation,
        waiting_on: vec![of_settings("nothing is done", until)],
        ..before
    };
    context.write_status(&status).await?;
    state.note();
    let soon = context.now_ms().saturating_add(DIRECTORY_AGAIN_MS);
    Ok(Outcome::WaitUntil(
        "the settings are looked at again".into(),
        until.min(soon),
    ))
}
