//! The decision about an installation: core, standard, force and abort flow.

use landform_api::landscaper::report::{NESTED_FAILED, ObjectName};
use landform_api::landscaper::{ErrorCode, InstallationPhase, Operation, WaitingOn};

use super::automatic::{refused, with_automatic};
use super::decision::{Action, Decision, Problem};
use super::delete::{delete, keep_outside};
use super::observed::{Child, ChildKind, Dependency, Import, Observed, Present};
use crate::Rule;
use crate::combined::Standing;

/// What to do with an installation.
#[must_use]
pub fn decide(seen: &Observed) -> Decision {
    let mut decision = with_automatic(seen, decide_now(seen));
    if !seen.marked && decision.rule != Some(Rule::I1) {
        // I35b: what goes while this one stays, because others have deleted it or the blueprint no longer has it.
        // First of all, because an update waits until they are gone.
        let keep = keep_outside(seen);
        decision.actions.splice(0..0, keep);
    }
    decision
}

/// The same without what `spec.automaticReconcile` asks for.
pub(super) fn decide_now(seen: &Observed) -> Decision {
    let is_final = seen.phase.is_some_and(InstallationPhase::is_final);
    if is_final && seen.ignore {
        return by(Rule::I1);
    }
    if !seen.marked && !seen.held {
        return Decision {
            actions: vec![Action::Hold],
            again: true,
            ..by(Rule::I2)
        };
    }
    if seen.marked {
        return delete(seen);
    }
    match seen.operation {
        Some(Operation::Reconcile) => reconcile(seen),
        Some(Operation::ForceReconcile) => force(seen),
        Some(Operation::Abort) => abort(seen),
        Some(Operation::Interrupt) => interrupt(seen),
        None if seen.force_begun => force(seen),
        None if seen.aborted => by(Rule::I12),
        None if seen.failed_as_it_is && seen.lost.is_none() && seen.update_required() => {
            by(Rule::I16)
        }
        None if is_final && !seen.update_required() => nested(seen),
        None => standard(seen),
    }
}

pub(super) fn by(rule: Rule) -> Decision {
    Decision {
        rule: Some(rule),
        ..Decision::default()
    }
}

/// I5: only nested objects may have changed, or what it exports.
fn nested(seen: &Observed) -> Decision {
    match seen.combined().unwrap_or(Standing::Succeeded) {
        Standing::Succeeded if seen.exports_lost => succeed(Rule::I5b),
        Standing::Succeeded if seen.phase == Some(InstallationPhase::Succeeded) => by(Rule::I5),
        Standing::Succeeded => succeed(Rule::I5),
        Standing::Failed | Standing::Aborted => ended(seen, Rule::I5),
        Standing::Waiting => wait_outside(seen),
        Standing::Init | Standing::AtWork => wait_for_nested(seen, Rule::I5),
    }
}

/// I10–I18.
fn standard(seen: &Observed) -> Decision {
    let combined = seen.combined();
    let interrupted = seen.update_begun && seen.update_required();
    if seen.is_held_by_work() && !interrupted {
        return wait_for_nested(seen, Rule::I11);
    }
    if seen.update_required() {
        return update(seen);
    }
    match combined.unwrap_or(Standing::Succeeded) {
        Standing::Succeeded => succeed(Rule::I17),
        Standing::Waiting => wait_outside(seen),
        Standing::Failed | Standing::Aborted => ended(seen, Rule::I16),
        // No deployer has come yet.
        Standing::Init | Standing::AtWork => wait_for_nested(seen, Rule::I11),
    }
}

/// I4, I16b: the standard flow, and what failed below runs again. The annotation goes when that has been asked for, so
/// that no crash loses it.
fn reconcile(seen: &Observed) -> Decision {
    if let Some(decision) = remove_again(seen) {
        return decision;
    }
    let mut decision = standard(seen);
    if decision.again {
        // An update may correct what is below: that is looked at afterwards.
        return decision;
    }
    let failed: Vec<_> = seen
        .children
        .iter()
        .filter(|child| child.has_ended_badly() && !child.marked && child.operation.is_none())
        .map(|child| (child.kind, child.name.clone()))
        .collect();
    if !failed.is_empty() && !seen.update_required() {
        let waiting = seen.children.iter().filter(|child| child.has_ended_badly());
        let waiting_on = waiting
            .map(|child| on_child(Rule::I16b, child, "it was asked to run again"))
            .collect();
        return Decision {
            actions: vec![Action::Ask(Operation::Reconcile, failed)],
            phase: Some(InstallationPhase::Progressing),
            waiting_on,
            afterwards: vec![Action::DropOperation],
            ..by(Rule::I16b)
        };
    }
    // Not before the phase is written: without both, it would look as if nothing were to be done (I10b).
    decision.afterwards.insert(0, Action::DropOperation);
    decision
}

/// I35b: removals below that have failed are tried again; an update may be held up by them, and follows.
fn remove_again(seen: &Observed) -> Option<Decision> {
    let failed = || seen.children.iter().filter(|child| child.removal_failed());
    let unasked: Vec<_> = failed()
        .filter(|child| child.operation.is_none())
        .map(|child| (child.kind, child.name.clone()))
        .collect();
    if unasked.is_empty() {
        return None;
    }
    Some(Decision {
        actions: vec![Action::Ask(Operation::Reconcile, unasked)],
        phase: Some(InstallationPhase::Progressing),
        waiting_on: failed()
            .map(|child| on_child(Rule::I35b, child, "its removal is tried again"))
            .collect(),
        afterwards: vec![Action::DropOperation],
        ..by(Rule::I35b)
    })
}

/// I13–I15.
fn update(seen: &Observed) -> Decision {
    if let Some(refused) = refused(seen) {
        return refused;
    }
    // While the parent writes its nested installations, one of two that swap names still has its old spec.
    let parent = seen.parent.as_ref();
    let half_written = parent.is_some_and(|parent| {
        !parent.marked && parent.phase == Some(InstallationPhase::PendingDependencies)
    });
    let mut rivals = seen.rivals.iter().filter(|_| !half_written);
    if let Some((sibling, name)) = rivals.next() {
        return Decision {
            phase: Some(InstallationPhase::Failed),
            problem: Some(Problem {
                operation: "CheckExports",
                reason: "DuplicateExport",
                message: format!(
                    "the installation {sibling} exports {name:?} too: only one of the two can"
                ),
                code: Some(ErrorCode::ConfigurationProblem),
            }),
            ..by(Rule::I40)
        };
    }
    let unready: Vec<_> = seen.dependencies.iter().filter_map(unready).collect();
    let unsatisfied: Vec<_> = seen
        .imports
        .iter()
        .filter_map(|import| unsatisfied(import, Rule::I14))
        .collect();
    if !unready.is_empty() || !unsatisfied.is_empty() {
        let waiting_on: Vec<_> = unready.into_iter().chain(unsatisfied).collect();
        return Decision {
            phase: Some(InstallationPhase::PendingDependencies),
            problem: Some(pending(&waiting_on)),
            waiting_on,
            ..by(Rule::I14)
        };
    }
    if let Some(parent) = &seen.parent {
        // One that is being deleted may have updated its nested installations first (I34).
        let at_work = if parent.marked {
            InstallationPhase::Deleting
        } else {
            InstallationPhase::Progressing
        };
        // A write that was refused is tried again without the parent, which has failed for that and writes nothing.
        let goes_on = seen.refused && parent.failed_below;
        if parent.phase != Some(at_work) && !goes_on {
            let on = WaitingOn {
                rule: Rule::I14b.to_string(),
                object: Some(installation(&parent.name)),
                reason: "a nested installation is updated only while its parent is progressing"
                    .into(),
            };
            return Decision {
                phase: Some(InstallationPhase::PendingDependencies),
                waiting_on: vec![on],
                ..by(Rule::I14b)
            };
        }
    }
    let tried_before = seen.phase == Some(InstallationPhase::Failed);
    if !seen.update_begun && !tried_before {
        return Decision {
            phase: Some(InstallationPhase::PendingDependencies),
            again: true,
            ..by(Rule::I14)
        };
    }
    Decision {
        actions: vec![Action::Update { force: false }],
        phase: Some(InstallationPhase::Progressing),
        again: true,
        ..by(Rule::I15)
    }
}

/// I20, I21.
fn force(seen: &Observed) -> Decision {
    let waiting_on = unsatisfied_imports(seen, Rule::I20);
    if !waiting_on.is_empty() {
        return Decision {
            phase: Some(InstallationPhase::PendingDependencies),
            problem: Some(pending(&waiting_on)),
            waiting_on,
            ..by(Rule::I20)
        };
    }
    if seen.operation.is_some()
        && let Some(mut decision) = remove_again(seen)
    {
        // The force goes on when they are gone.
        decision.actions.push(Action::BeginForce);
        return decision;
    }
    if !seen.force_begun {
        // Noted first: after a crash without the annotation somebody must know that dependencies don't
        // matter.
        return Decision {
            actions: vec![Action::BeginForce],
            // Before the annotation goes: without both, it would look as if nothing were to be done (I10b).
            phase: Some(InstallationPhase::Progressing),
            again: true,
            ..by(Rule::I21)
        };
    }
    Decision {
        actions: vec![Action::Update { force: true }, Action::DropOperation],
        phase: Some(InstallationPhase::Progressing),
        again: true,
        ..by(Rule::I21)
    }
}

/// I4, I12.
fn abort(seen: &Observed) -> Decision {
    let combined = seen.combined();
    if !combined.is_some_and(Standing::is_at_work) {
        return Decision {
            phase: Some(InstallationPhase::Aborted),
            problem: Some(Problem {
                operation: "Abort",
                reason: "Aborted",
                message: "it was stopped on request; operation reconcile or force-reconcile starts it again"
                    .into(),
                code: None,
            }),
            afterwards: vec![Action::DropOperation],
            ..by(Rule::I12)
        };
    }
    Decision {
        actions: ask_to_stop(seen, Operation::Abort),
        phase: Some(InstallationPhase::Progressing),
        waiting_on: at_work(seen)
            .map(|child| on_child(Rule::I4, child, "it was asked to stop"))
            .collect(),
        ..by(Rule::I4)
    }
}

/// I4: what has not come to an end below ends as failed, and so does this one. What has ended stays as it is.
fn interrupt(seen: &Observed) -> Decision {
    if unfinished(seen).next().is_some() {
        return Decision {
            actions: ask_to_stop(seen, Operation::Interrupt),
            phase: Some(InstallationPhase::Progressing),
            waiting_on: unfinished(seen)
                .map(|child| on_child(Rule::I4, child, "it was asked to end"))
                .collect(),
            ..by(Rule::I4)
        };
    }
    let settled = !seen.update_required() || seen.failed_as_it_is || seen.aborted;
    let ended = settled && seen.phase.is_some_and(InstallationPhase::is_final);
    let done = matches!(seen.combined(), None | Some(Standing::Succeeded));
    if ended || (done && !seen.update_required()) {
        // Nothing is left that could be interrupted.
        let mut decision = if ended { by(Rule::I4) } else { standard(seen) };
        decision.actions.insert(0, Action::DropOperation);
        return decision;
    }
    Decision {
        phase: Some(InstallationPhase::Failed),
        problem: Some(Problem {
            operation: "Interrupt",
            reason: "Interrupted",
            message: "it was interrupted on request: correct it, or run it again with operation reconcile"
                .into(),
            code: None,
        }),
        afterwards: vec![Action::DropOperation],
        ..by(Rule::I4)
    }
}

/// Asks all nested objects that have not come to an end to stop, once.
pub(super) fn ask_to_stop(seen: &Observed, operation: Operation) -> Vec<Action> {
    let concerned = seen.children.iter().filter(|child| match operation {
        Operation::Interrupt => is_unfinished(child),
        Operation::Abort | Operation::Reconcile | Operation::ForceReconcile => {
            child.standing.is_at_work()
        }
    });
    let unasked: Vec<_> = concerned
        .filter(|child| child.operation != Some(operation))
        .map(|child| (child.kind, child.name.clone()))
        .collect();
    if unasked.is_empty() {
        return Vec::new();
    }
    vec![Action::Ask(operation, unasked)]
}

/// What is at work, and what waits for something that may still come: it would go on some day.
fn unfinished(seen: &Observed) -> impl Iterator<Item = &Child> {
    seen.children.iter().filter(|child| is_unfinished(child))
}

fn is_unfinished(child: &Child) -> bool {
    child.standing.is_at_work() || child.standing == Standing::Waiting
}

fn at_work(seen: &Observed) -> impl Iterator<Item = &Child> {
    seen.children
        .iter()
        .filter(|child| child.standing.is_at_work())
}

/// I11.
fn wait_for_nested(seen: &Observed, rule: Rule) -> Decision {
    Decision {
        phase: Some(InstallationPhase::Progressing),
        waiting_on: at_work(seen)
            .map(|child| {
                if child.unclaimed {
                    let own = "no deployer has picked up what it has handed out";
                    on_child(Rule::E12, child, child.because.as_deref().unwrap_or(own))
                } else {
                    on_child(rule, child, "it is in work")
                }
            })
            .collect(),
        ..by(rule)
    }
}

/// I11b: nested objects wait for something outside, and nothing else is to be done.
fn wait_outside(seen: &Observed) -> Decision {
    let waiting_on: Vec<_> = seen
        .children
        .iter()
        .filter(|child| child.standing == Standing::Waiting)
        .map(|child| {
            let why = child.because.as_deref().unwrap_or("it waits");
            on_child(Rule::I11b, child, why)
        })
        .collect();
    Decision {
        phase: Some(InstallationPhase::PendingDependencies),
        problem: Some(pending(&waiting_on)),
        waiting_on,
        ..by(Rule::I11b)
    }
}

/// I17, I18.
fn succeed(rule: Rule) -> Decision {
    Decision {
        actions: vec![Action::Export],
        phase: Some(InstallationPhase::Succeeded),
        afterwards: vec![Action::TriggerImporters],
        ..by(rule)
    }
}

/// I16, I11b: it has ended as the worst of its nested objects has. The error names all that failed, and those that wait
/// for them.
fn ended(seen: &Observed, rule: Rule) -> Decision {
    let combined = seen.combined();
    let phase = match combined {
        Some(Standing::Aborted) => InstallationPhase::Aborted,
        _ => InstallationPhase::Failed,
    };
    let own = seen.children.iter().filter(|child| child.has_ended_badly());
    let stuck = seen
        .children
        .iter()
        .filter(|child| child.standing == Standing::Failed && child.because.is_some());
    let words: Vec<_> = own.chain(stuck).map(failed_child).collect();
    let problem = (!words.is_empty()).then(|| Problem {
        operation: "WaitForNested",
        reason: NESTED_FAILED,
        message: words.join("; "),
        code: None,
    });
    // A phase that is there already is not written again, unless the reason is another one.
    Decision {
        phase: Some(phase).filter(|phase| rule != Rule::I5 || seen.phase != Some(*phase)),
        problem: problem.filter(|_| rule != Rule::I5 || seen.phase != Some(phase)),
        ..by(rule)
    }
}

pub(super) fn failed_child(child: &Child) -> String {
    let kind = kind_of(child);
    if let Some(because) = &child.because {
        return format!("the {kind} {} can't go on: {because}", child.name);
    }
    let why = child
        .error
        .as_deref()
        .unwrap_or("its status doesn't say why");
    format!("the {kind} {} has not succeeded: {why}", child.name)
}

pub(super) fn is_ready(dependency: &Dependency) -> bool {
    unready(dependency).is_none()
}

fn unready(dependency: &Dependency) -> Option<WaitingOn> {
    let reason = if dependency.phase != Some(InstallationPhase::Succeeded) {
        match dependency.phase {
            None => "it has not been looked at".to_owned(),
            Some(phase) => format!("its phase is {phase:?}, not Succeeded"),
        }
    } else if !dependency.up_to_date {
        "it was changed and has not been updated".to_owned()
    } else if !dependency.current {
        "what it imports has changed and it has not been updated".to_owned()
    } else if dependency.queued {
        "it has been asked to reconcile".to_owned()
    } else {
        return None;
    };
    Some(WaitingOn {
        rule: Rule::I14.to_string(),
        object: Some(installation(&dependency.name)),
        reason,
    })
}

pub(super) fn unsatisfied_imports(seen: &Observed, rule: Rule) -> Vec<WaitingOn> {
    let imports = seen.imports.iter();
    imports
        .filter_map(|import| unsatisfied(import, rule))
        .collect()
}

fn unsatisfied(import: &Import, rule: Rule) -> Option<WaitingOn> {
    let reason = match &import.present {
        Present::Satisfied(_) => return None,
        Present::Missing => format!("the import {} needs it, and it doesn't exist", import.name),
        Present::Unusable(why) => format!("the import {} needs it: {why}", import.name),
        Present::NotProvided { owner } => format!(
            "the import {} needs it, and it belongs to the installation {owner}: the parent must import it or a sibling export it",
            import.name
        ),
    };
    Some(WaitingOn {
        rule: rule.to_string(),
        object: Some(import.object.clone()),
        reason,
    })
}

/// Everything that is waited for, as one error.
pub(super) fn pending(waiting_on: &[WaitingOn]) -> Problem {
    let lines = waiting_on.iter().map(|waiting| {
        let object = waiting.object.as_ref();
        let object = object.map(|object| format!("{} {}", object.kind, object.name));
        format!("{}: {}", object.unwrap_or_default(), waiting.reason)
    });
    let lines: Vec<_> = lines.collect();
    Problem {
        operation: "CheckDependencies",
        reason: "NotSatisfied",
        message: lines.join("; "),
        code: None,
    }
}

pub(super) fn on_child(rule: Rule, child: &Child, reason: &str) -> WaitingOn {
    WaitingOn {
        rule: rule.to_string(),
        object: Some(ObjectName {
            kind: kind_of(child).into(),
            name: child.name.clone(),
            ..ObjectName::default()
        }),
        reason: reason.into(),
    }
}

fn kind_of(child: &Child) -> &'static str {
    match child.kind {
        ChildKind::Installation => "Installation",
        ChildKind::Execution => "Execution",
    }
}

pub(super) fn installation(name: &str) -> ObjectName {
    ObjectName {
        kind: "Installation".into(),
        name: name.into(),
        ..ObjectName::default()
    }
}
