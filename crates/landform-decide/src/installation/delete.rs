//! The decision about an installation that is marked for deletion (I30–I36).

use std::collections::BTreeSet;

use landform_api::landscaper::{InstallationPhase, Operation, WaitingOn};

use super::decide::{
    ask_to_stop, by, failed_child, installation, is_ready, on_child, pending, unsatisfied_imports,
};
use super::decision::{Action, Decision, Problem};
use super::observed::{Child, Importer, Observed};
use crate::Rule;

pub(super) fn delete(seen: &Observed) -> Decision {
    if !seen.held {
        return by(Rule::I3);
    }
    if seen.operation == Some(Operation::ForceReconcile) {
        let importers = importers_forced(seen);
        if !importers.is_empty() {
            return after(&importers);
        }
        return by_force(seen);
    }
    if let Some(waiting) = parent_holds(seen) {
        return Decision {
            waiting_on: vec![waiting],
            ..by(Rule::I31)
        };
    }
    let importers = importers(seen);
    if !importers.is_empty() {
        return held_by(&importers);
    }
    if seen.children.is_empty() {
        return Decision {
            afterwards: vec![Action::LetGo],
            ..by(Rule::I32)
        };
    }
    let mut decision = take_down(seen);
    decision.actions.extend(keep_outside(seen));
    match seen.operation {
        Some(operation @ (Operation::Abort | Operation::Interrupt)) => {
            decision.actions.extend(ask_to_stop(seen, operation));
            // One that has failed may be at its next try.
            let failed = seen.children.iter().filter(|child| child.removal_failed());
            decision.actions.extend(ask(operation, failed));
            decision.afterwards.push(Action::DropOperation);
        }
        Some(operation @ (Operation::Reconcile | Operation::ForceReconcile)) => {
            let failed = seen.children.iter().filter(|child| child.removal_failed());
            decision.actions.extend(ask(operation, failed));
            decision.afterwards.push(Action::DropOperation);
        }
        None => {}
    }
    decision
}

fn ask<'a>(operation: Operation, children: impl Iterator<Item = &'a Child>) -> Option<Action> {
    let names: Vec<_> = children
        .map(|child| (child.kind, child.name.clone()))
        .collect();
    (!names.is_empty()).then_some(Action::Ask(operation, names))
}

/// I35b, I36: those that are marked already hear that what they deployed is to stay.
pub(super) fn keep_outside(seen: &Observed) -> Option<Action> {
    let unaware = seen
        .children
        .iter()
        .any(|child| child.marked && !child.bare);
    (seen.bare && unaware).then_some(Action::KeepOutside)
}

/// I30.
fn by_force(seen: &Observed) -> Decision {
    if seen.children.is_empty() {
        return Decision {
            afterwards: vec![Action::LetGo],
            ..by(Rule::I30)
        };
    }
    let action = if seen.children.iter().any(|child| child.marked) {
        Action::DeleteNested { force: true }
    } else {
        Action::UpdateBeforeDeletion { force: true }
    };
    let mut actions = vec![action];
    actions.extend(keep_outside(seen));
    if !seen.force_begun {
        // Once: each of them tries again what has failed. The next try takes another word.
        let marked = seen.children.iter().filter(|child| child.marked);
        actions.extend(ask(Operation::ForceReconcile, marked));
        actions.push(Action::BeginForce);
    }
    // The try that the force has brought has failed, too.
    let failed = seen.children.iter().find(|child| child.removal_failed());
    let failed = failed.filter(|_| seen.force_begun);
    Decision {
        actions,
        phase: Some(match failed {
            Some(_) => InstallationPhase::Failed,
            None => InstallationPhase::Deleting,
        }),
        problem: failed.map(removal_problem),
        waiting_on: on_children(seen, Rule::I30),
        ..by(Rule::I30)
    }
}

fn removal_problem(child: &Child) -> Problem {
    Problem {
        operation: "Delete",
        reason: "DeletionFailed",
        message: failed_child(child),
        code: None,
    }
}

/// I33–I35.
fn take_down(seen: &Observed) -> Decision {
    let at_rest = !seen.is_held_by_work();
    // The others may wait for this one, so it isn't they that are waited for.
    let failed = seen.children.iter().find(|child| child.removal_failed());
    let some_marked = seen.children.iter().any(|child| child.marked);
    let unmarked = seen.children.iter().any(|child| !child.marked);
    let half_done = some_marked && unmarked;
    // What was begun may stay as it is, so its end isn't waited for (I36).
    if !at_rest && !half_done && failed.is_none() && !seen.bare {
        return Decision {
            phase: Some(InstallationPhase::Deleting),
            waiting_on: on_children(seen, Rule::I33),
            ..by(Rule::I33)
        };
    }
    // While one that it depends on is at work, an update would deploy a mix of generations (I10b), and only to remove it.
    let calm = seen.dependencies.iter().all(is_ready);
    if update_required(seen) && !some_marked && calm && (at_rest || !seen.bare) {
        let waiting = unsatisfied_imports(seen, Rule::I34);
        if waiting.is_empty() {
            return Decision {
                actions: vec![Action::UpdateBeforeDeletion { force: false }],
                phase: Some(InstallationPhase::Deleting),
                waiting_on: on_children(seen, Rule::I34),
                // An update that changed nothing brings no run by itself.
                again: true,
                ..by(Rule::I34)
            };
        }
        // Reported, and the deletion goes on from what is recorded.
        return Decision {
            actions: vec![Action::DeleteNested { force: false }],
            phase: Some(InstallationPhase::Deleting),
            problem: Some(pending(&waiting)),
            waiting_on: on_children(seen, Rule::I35),
            ..by(Rule::I34)
        };
    }
    if let Some(failed) = failed {
        return Decision {
            actions: delete_unmarked(unmarked),
            phase: Some(InstallationPhase::Failed),
            problem: Some(removal_problem(failed)),
            waiting_on: on_children(seen, Rule::I35),
            ..by(Rule::I35)
        };
    }
    Decision {
        actions: delete_unmarked(unmarked),
        phase: Some(InstallationPhase::Deleting),
        waiting_on: on_children(seen, Rule::I35),
        ..by(Rule::I35)
    }
}

fn delete_unmarked(unmarked: bool) -> Vec<Action> {
    if unmarked {
        vec![Action::DeleteNested { force: false }]
    } else {
        Vec::new()
    }
}

/// The mark itself moves the generation by one (C2); only more than that is a change of the spec.
fn update_required(seen: &Observed) -> bool {
    let moved = match seen.observed_generation {
        None => true,
        Some(observed) => seen.generation.saturating_sub(observed) > 1,
    };
    moved || seen.imports_changed()
}

/// A nested installation that was marked together with its parent goes when the parent lets it: the parent
/// may be held by a sibling of its own.
fn parent_holds(seen: &Observed) -> Option<WaitingOn> {
    let parent = seen.parent.as_ref()?;
    let holds = parent.marked && parent.phase != Some(InstallationPhase::Deleting);
    holds.then(|| WaitingOn {
        rule: Rule::I31.to_string(),
        object: Some(installation(&parent.name)),
        reason: "it is not ready to have its nested objects go".into(),
    })
}

/// I31. A nested installation that goes while its parent stays is held by those only that go, too: others have deleted it,
/// and it is made again (I5b), or the parent has left it out, and who still imports from it says so.
fn importers(seen: &Observed) -> Vec<&Importer> {
    let parent = seen.parent.as_ref();
    let parent_stays = parent.is_some_and(|parent| !parent.marked && parent.phase.is_some());
    let importers = seen.importers.iter();
    let importers = importers
        .filter(|importer| !importer.never_deployed_and_going && !importer.going_in_circle);
    importers
        .filter(|importer| importer.going || !parent_stays)
        .collect()
}

/// I31b: nested installations that go together by force keep their order, as far as those that go first can be removed. Any
/// other importer isn't asked (I30).
fn importers_forced(seen: &Observed) -> Vec<&Importer> {
    let parent = seen.parent.as_ref();
    if !parent.is_some_and(|parent| parent.marked && parent.forced) {
        return Vec::new();
    }
    let importers = seen.importers.iter();
    let needless = |importer: &Importer| {
        importer.never_deployed_and_going
            || importer.going_in_circle
            || importer.gone_as_far_as_possible
    };
    importers.filter(|importer| !needless(importer)).collect()
}

/// What imports from it goes first. Nothing is wrong.
fn after(importers: &[&Importer]) -> Decision {
    let waiting_on = importers.iter().map(|importer| WaitingOn {
        rule: Rule::I31.to_string(),
        object: Some(installation(&importer.name)),
        reason: "it imports what this one exports, and goes first".into(),
    });
    Decision {
        phase: Some(InstallationPhase::Deleting),
        waiting_on: waiting_on.collect(),
        ..by(Rule::I31)
    }
}

fn held_by(importers: &[&Importer]) -> Decision {
    let names: Vec<_> = importers.iter().map(|found| found.name.as_str()).collect();
    let heirs: BTreeSet<_> = importers
        .iter()
        .filter_map(|found| found.heir.as_deref())
        .collect();
    let mut message = format!(
        "it can't be deleted while others import what it exports: {}; delete them first, or change their imports",
        names.join(", ")
    );
    if !heirs.is_empty() {
        let heirs: Vec<_> = heirs.iter().copied().collect();
        message = format!(
            "{message}; it also goes when what they import has been taken over by {}, once that has succeeded",
            heirs.join(", ")
        );
    }
    let importers = importers.iter().map(|found| {
        let reason = "it imports what this one exports";
        (found.name.as_str(), reason)
    });
    // They may be corrected more easily than those that import.
    let heirs = heirs.into_iter().map(|heir| {
        let reason = "it exports the same, and has not taken it over";
        (heir, reason)
    });
    let waiting_on = heirs.chain(importers).map(|(name, reason)| WaitingOn {
        rule: Rule::I31.to_string(),
        object: Some(installation(name)),
        reason: reason.into(),
    });
    Decision {
        waiting_on: waiting_on.collect(),
        problem: Some(Problem {
            operation: "Delete",
            reason: "SiblingImports",
            message,
            code: None,
        }),
        ..by(Rule::I31)
    }
}

fn on_children(seen: &Observed, rule: Rule) -> Vec<WaitingOn> {
    let children = seen.children.iter();
    children
        .map(|child| on_child(rule, child, "it must go first"))
        .collect()
}
