//! Reconciles that `spec.automaticReconcile` asks for: what has come to an end is begun again at certain times (I4).
//!
//! The row of them begins when the end is seen. What was done is noted together with what it led to, so that a restart
//! neither loses nor repeats one.

use landform_api::landscaper::{ErrorCode, InstallationPhase, Operation};
use landform_api::schedule::Schedule;

use super::decide::{by, decide_now, is_ready};
use super::decision::{Action, Decision, Problem};
use super::observed::Observed;
use crate::Rule;

/// While one that is due waits for those that it depends on, it looks again after this time.
const DEPENDENCIES_LOOK_MS: u64 = 60_000;

/// What `spec.automaticReconcile` asks for, and what was done for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Automatic {
    /// After a success.
    pub succeeded: Option<Repeat>,
    /// After a failure.
    pub failed: Option<Repeat>,
    /// What is wrong with it, with its field.
    pub invalid: Option<String>,
    /// What the status keeps.
    pub done: Option<Done>,
}

/// At which times, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The times.
    pub schedule: Schedule,
    /// At most this many times in a row.
    pub most: Option<i32>,
}

/// What was done automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The generation that it is about.
    pub generation: i64,
    /// How often, in this row.
    pub times: i32,
    /// When the last one was begun, or the row; in milliseconds since 1970.
    pub last_ms: u64,
    /// Whether it is about a failure.
    pub on_failed: bool,
}

/// Adds to a decision what the time asks for, or decides anew if a reconcile is due.
pub(super) fn with_automatic(seen: &Observed, mut decision: Decision) -> Decision {
    let phase = decision.phase.or(seen.phase);
    let ended = !decision.again && phase.is_some_and(InstallationPhase::is_final);
    let Some((on_failed, repeat)) = repeat(seen, phase).filter(|_| ended) else {
        let row_is_over = ended || seen.operation.is_some();
        if row_is_over && seen.automatic.done.is_some() {
            decision.actions.insert(0, Action::NoteAutomatic(None));
        }
        return decision;
    };
    let row = seen.automatic.done.filter(|done| {
        // An operation that is asked for begins a new row.
        let asked = seen.operation.is_some() && done.times > 0;
        done.generation == seen.generation && done.on_failed == on_failed && !asked
    });
    let Some(row) = row else {
        let begun = Done {
            generation: seen.generation,
            times: 0,
            last_ms: seen.now_ms,
            on_failed,
        };
        decision
            .actions
            .insert(0, Action::NoteAutomatic(Some(begun)));
        decision.look_ms = next(repeat, begun);
        return decision;
    };
    let Some(next_ms) = next(repeat, row) else {
        return decision;
    };
    if seen.phase != phase || seen.operation.is_some() || seen.now_ms < next_ms {
        decision.look_ms = Some(next_ms.max(seen.now_ms));
        return decision;
    }
    if !on_failed && !seen.dependencies.iter().all(is_ready) {
        decision.look_ms = Some(seen.now_ms.saturating_add(DEPENDENCIES_LOOK_MS));
        return decision;
    }
    let noted = Done {
        times: row.times.saturating_add(1),
        last_ms: seen.now_ms,
        ..row
    };
    let mut decision = if on_failed {
        run_again(seen)
    } else {
        deploy_again()
    };
    decision
        .actions
        .insert(0, Action::NoteAutomatic(Some(noted)));
    decision
}

/// Whether a phase is one that is left again at certain times.
fn repeat(seen: &Observed, phase: Option<InstallationPhase>) -> Option<(bool, &Repeat)> {
    if seen.ignore || seen.parent.is_some() || seen.automatic.invalid.is_some() {
        return None;
    }
    match phase? {
        InstallationPhase::Succeeded if seen.marked => None,
        InstallationPhase::Succeeded => Some((false, seen.automatic.succeeded.as_ref()?)),
        InstallationPhase::Failed => Some((true, seen.automatic.failed.as_ref()?)),
        InstallationPhase::Init
        | InstallationPhase::PendingDependencies
        | InstallationPhase::Progressing
        | InstallationPhase::Deleting
        | InstallationPhase::Aborted => None,
    }
}

fn next(repeat: &Repeat, row: Done) -> Option<u64> {
    let room = repeat.most.is_none_or(|most| row.times < most);
    room.then(|| repeat.schedule.next_after(row.last_ms))?
}

/// What a person's `reconcile` would lead to (I16b, I35b).
fn run_again(seen: &Observed) -> Decision {
    let asked = Observed {
        operation: Some(Operation::Reconcile),
        ..seen.clone()
    };
    let mut decision = decide_now(&asked);
    // There is no annotation to be dropped.
    decision
        .actions
        .retain(|action| *action != Action::DropOperation);
    decision
        .afterwards
        .retain(|action| *action != Action::DropOperation);
    decision
}

/// Everything is handed out again, as in Landscaper: what was changed outside is put right.
fn deploy_again() -> Decision {
    Decision {
        actions: vec![Action::Update { force: true }],
        phase: Some(InstallationPhase::Progressing),
        again: true,
        ..by(Rule::I4)
    }
}

/// A schedule that can't be read fails the update, before anything is deployed.
pub(super) fn refused(seen: &Observed) -> Option<Decision> {
    let problem = seen.automatic.invalid.as_ref()?;
    Some(Decision {
        phase: Some(InstallationPhase::Failed),
        problem: Some(Problem {
            operation: "CheckSpec",
            reason: "InvalidSchedule",
            message: problem.clone(),
            code: Some(ErrorCode::ConfigurationProblem),
        }),
        ..by(Rule::I4)
    })
}
