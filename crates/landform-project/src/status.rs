//! What the status of a project tells, apart from what a sync found.

use std::collections::BTreeSet;

use landform_api::landscaper::report::{LastError, ObjectName, WaitingOn};
use landform_api::project::{ProjectPhase, ProjectProblem, ProjectStatus};
use landform_engine::{Context, EventType, Failure, Outcome, write_time};

use crate::object::ObjectId;
use crate::state::State;

/// So many objects are named that a project waits for.
const WAITING: usize = 20;
/// A directory that can't be read is tried again after so long.
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

pub(crate) fn last_error(
    context: &Context,
    before: &ProjectStatus,
    operation: &str,
    reason: &str,
    message: &str,
) -> LastError {
    let now = write_time(context.now_ms());
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
        message: message.to_owned(),
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
    held: bool,
    before: &ProjectStatus,
) {
    for (from, to) in renamed {
        let message = format!("{from} is {} now", to.name);
        context.event(EventType::Normal, "Renamed", &message);
    }
    if held && before.held_deletions.is_none() {
        let message = "more than half of the objects would be deleted: somebody must agree, see status.heldDeletions";
        context.event(EventType::Warning, "DeletionsHeld", message);
    }
}
