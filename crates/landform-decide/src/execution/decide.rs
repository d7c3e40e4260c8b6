//! The decision about an execution.

use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{ErrorCode, ExecutionPhase, Operation, WaitingOn};

use super::classes::{Class, Effort, classes};
use super::decision::{ABORTED, Action, Decision, INTERRUPTED, Problem};
use super::observed::{Item, Observed};
use super::order::{OrderProblem, check_order};
use crate::Rule;
use crate::combined::combined_items;

/// What to do with an execution.
#[must_use]
pub fn decide(seen: &Observed) -> Decision {
    if seen.ignore && seen.is_completed() {
        return by(Rule::E2);
    }
    let lost = lost(seen);
    let mut decision = if lost.is_empty() {
        operation(seen)
    } else {
        // The next look is at what they are then.
        Decision {
            actions: vec![Action::PutRight(lost)],
            ..by(Rule::I5b)
        }
    };
    decision.actions.extend(keep_outside(seen));
    if !seen.held && !seen.marked {
        decision.actions.insert(0, Action::Hold);
        decision.rule = decision.rule.or(Some(Rule::E3));
    }
    decision
}

fn by(rule: Rule) -> Decision {
    Decision {
        rule: Some(rule),
        ..Decision::default()
    }
}

/// E4.
fn operation(seen: &Observed) -> Decision {
    if seen.marked {
        return delete(seen);
    }
    match seen.operation {
        Some(Operation::Abort) => stop(seen, &ABORT),
        Some(Operation::Interrupt) => stop(seen, &INTERRUPT),
        Some(Operation::Reconcile) => asked(reconcile(seen, Effort::Failed)),
        Some(Operation::ForceReconcile) => asked(reconcile(seen, Effort::All)),
        None if seen.stopped => by(Rule::I12),
        None if !seen.status_up_to_date() || !seen.is_completed() => {
            reconcile(seen, Effort::Changed)
        }
        None => recheck(seen),
    }
}

/// The annotation goes when all that it asks for is stored.
fn asked(mut decision: Decision) -> Decision {
    decision.afterwards.push(Action::DropOperation);
    decision
}

/// E6–E8.
fn reconcile(seen: &Observed, how: Effort) -> Decision {
    if let Err(problem) = check_order(&seen.wanted) {
        return refuse(&problem);
    }
    let orphans = orphans(seen);
    let mut actions = Vec::new();
    let removable = removable(&orphans, &seen.items);
    if !removable.is_empty() {
        actions.push(Action::Delete(removable));
    }
    let asked_again = removals_to_try_again(seen, how);
    if !asked_again.is_empty() {
        actions.push(Action::Ask(Operation::Reconcile, asked_again));
    } else if let Some(failed) = failed_removal(&orphans) {
        return Decision {
            actions,
            phase: Some(ExecutionPhase::Failed),
            problem: Some(removal_problem(failed)),
            ..by(Rule::E6)
        };
    }
    let classes = classes(seen, how);
    let all = |class| classes.iter().all(|(_, found)| *found == class);
    if all(Class::Succeeded) && orphans.is_empty() {
        actions.push(Action::CollectExports);
        return Decision {
            actions,
            phase: Some(ExecutionPhase::Succeeded),
            ..by(Rule::E8)
        };
    }
    let of = |class| {
        let found = classes.iter().filter(move |(_, found)| *found == class);
        found.map(|(wanted, _)| wanted.name.clone())
    };
    let in_work: Vec<_> = of(Class::InWork).collect();
    let in_work = seen
        .items
        .iter()
        .filter(|item| in_work.contains(&item.name));
    // Those that are begun by this decision are at work before they say so.
    let failed = of(Class::Failed).next();
    let begins = failed.is_none() && of(Class::Ready).next().is_some();
    let in_work = in_work.map(|item| {
        if begins {
            waiting(Rule::E7, item, "it is in work")
        } else {
            in_work_of(Rule::E7, item)
        }
    });
    if let Some(name) = failed {
        // No more items are begun. It has failed when those have ended that were begun before: a phase that is final
        // is not left again without a reason.
        let waiting_on: Vec<_> = in_work.collect();
        let phase = if waiting_on.is_empty() {
            ExecutionPhase::Failed
        } else {
            ExecutionPhase::Progressing
        };
        return Decision {
            actions,
            phase: Some(phase),
            problem: Some(item_problem(seen, &name)),
            waiting_on,
            ..by(Rule::E8)
        };
    }
    if how != Effort::Changed {
        actions.push(Action::Outdate(of(Class::Pending).collect()));
    }
    let ready: Vec<_> = of(Class::Ready).collect();
    if !ready.is_empty() {
        actions.push(Action::Update(ready));
    }
    let orphaned = orphans
        .iter()
        .map(|item| waiting(Rule::E6, item, "it is no longer wanted and must go first"));
    Decision {
        actions,
        phase: Some(ExecutionPhase::Progressing),
        waiting_on: orphaned.chain(in_work).collect(),
        ..by(Rule::E8)
    }
}

/// I16b, I35b: removals that have failed are tried again when that is asked for: of items that are no longer wanted, and
/// of those that others have deleted.
fn removals_to_try_again(seen: &Observed, how: Effort) -> Vec<String> {
    let failed = seen.items.iter().filter(|item| removal_failed(item));
    match how {
        Effort::Changed => Vec::new(),
        Effort::Failed | Effort::All => failed.map(|item| item.object.clone()).collect(),
    }
}

/// E9.
fn recheck(seen: &Observed) -> Decision {
    let touched = seen.wanted.iter().any(|wanted| {
        let item = seen.items.iter().find(|item| item.name == wanted.name);
        item.is_none_or(|item| {
            let stored = item.stored.map(|stored| stored.item);
            stored != Some(item.generation)
        })
    });
    if touched || !orphans(seen).is_empty() {
        return Decision {
            rule: Some(Rule::E9),
            ..reconcile(seen, Effort::Changed)
        };
    }
    let items = seen.items.iter();
    let phases = items.map(|item| (item.phase, item.status_up_to_date()));
    let phase = combined_items(phases).unwrap_or(ExecutionPhase::Succeeded);
    if phase == ExecutionPhase::Succeeded && seen.phase == Some(phase) && seen.exports_lost {
        return Decision {
            actions: vec![Action::CollectExports],
            phase: Some(phase),
            ..by(Rule::I5b)
        };
    }
    if seen.phase == Some(phase) {
        return by(Rule::E9);
    }
    let mut decision = Decision {
        phase: Some(phase),
        ..by(Rule::E9)
    };
    match phase {
        ExecutionPhase::Succeeded => decision.actions.push(Action::CollectExports),
        ExecutionPhase::Failed => {
            let failed = seen
                .items
                .iter()
                .find(|item| item.phase == Some(ExecutionPhase::Failed));
            decision.problem = failed.map(|item| item_problem(seen, &item.name));
        }
        ExecutionPhase::Init | ExecutionPhase::Progressing | ExecutionPhase::Deleting => {
            let in_work = seen.items.iter().filter(|item| !item.is_completed());
            decision.waiting_on = in_work.map(|item| in_work_of(Rule::E9, item)).collect();
        }
    }
    decision
}

/// E10.
fn delete(seen: &Observed) -> Decision {
    if !seen.held {
        return by(Rule::E10);
    }
    if let Some(owner) = &seen.owner_holds {
        let waiting = WaitingOn {
            rule: Rule::I31.to_string(),
            object: Some(name("Installation", owner)),
            reason: "it is not ready to have its nested objects go".into(),
        };
        return Decision {
            waiting_on: vec![waiting],
            ..by(Rule::I31)
        };
    }
    if seen.items.is_empty() {
        return Decision {
            phase: Some(ExecutionPhase::Deleting),
            afterwards: vec![Action::LetGo],
            ..by(Rule::E10)
        };
    }
    let mut actions = Vec::new();
    let all: Vec<&Item> = seen.items.iter().collect();
    let removable = removable(&all, &seen.items);
    if !removable.is_empty() {
        actions.push(Action::Delete(removable));
    }
    let failed = failed_removal(&all);
    if let Some(operation) = seen.operation {
        // A removal that failed is tried again, and one that goes on can be stopped.
        let concerned = all.iter().filter(|item| match operation {
            // One that has failed may be at its next try.
            Operation::Abort | Operation::Interrupt => item.marked,
            Operation::Reconcile | Operation::ForceReconcile => removal_failed(item),
        });
        let concerned: Vec<_> = concerned.map(|item| item.object.clone()).collect();
        if !concerned.is_empty() {
            actions.push(Action::Ask(operation, concerned));
        }
        actions.push(Action::DropOperation);
    }
    let waiting_on = all
        .iter()
        .map(|item| waiting(Rule::E10, item, "it must go first"));
    let (phase, problem) = match failed.filter(|_| seen.operation.is_none()) {
        Some(failed) => (ExecutionPhase::Failed, Some(removal_problem(failed))),
        None => (ExecutionPhase::Deleting, None),
    };
    Decision {
        actions,
        phase: Some(phase),
        waiting_on: waiting_on.collect(),
        problem,
        ..by(Rule::E10)
    }
}

/// I5b: items from which others have taken what says whose they are.
fn lost(seen: &Observed) -> Vec<String> {
    let lost = seen.items.iter();
    let lost = lost.filter(|item| !item.is_whole && !item.marked && !seen.marked);
    lost.map(|item| item.object.clone()).collect()
}

/// I35b, I36: items that are marked hear that what they deployed is to stay.
fn keep_outside(seen: &Observed) -> Option<Action> {
    let unaware = seen.items.iter().filter(|item| item.marked && !item.bare);
    let unaware: Vec<_> = unaware.map(|item| item.object.clone()).collect();
    let lets_go = seen.bare && seen.owner_holds.is_none() && (seen.held || !seen.marked);
    (lets_go && !unaware.is_empty()).then_some(Action::KeepOutside(unaware))
}

/// How an execution is stopped, and what its status says then.
struct Stop {
    operation: Operation,
    reason: &'static str,
    message: &'static str,
    waiting: &'static str,
}

const ABORT: Stop = Stop {
    operation: Operation::Abort,
    reason: ABORTED,
    message: "it was stopped on request; operation reconcile or force-reconcile starts it again",
    waiting: "it was asked to stop",
};

const INTERRUPT: Stop = Stop {
    operation: Operation::Interrupt,
    reason: INTERRUPTED,
    message: "it was interrupted on request: correct it, or run it again with operation reconcile",
    waiting: "it was asked to end",
};

/// I4: everything that is in work is asked to stop; when nothing is, the execution has stopped.
fn stop(seen: &Observed, how: &Stop) -> Decision {
    let in_work = || seen.items.iter().filter(|item| !item.is_completed());
    if in_work().next().is_none() {
        let stopped = !(seen.status_up_to_date() && seen.is_completed());
        return Decision {
            phase: stopped.then_some(ExecutionPhase::Failed),
            problem: stopped.then(|| Problem {
                reason: how.reason,
                message: how.message.into(),
                code: None,
            }),
            afterwards: vec![Action::DropOperation],
            ..by(Rule::I12)
        };
    }
    let unasked = in_work().filter(|item| item.operation != Some(how.operation));
    let unasked: Vec<_> = unasked.map(|item| item.object.clone()).collect();
    let actions = if unasked.is_empty() {
        Vec::new()
    } else {
        vec![Action::Ask(how.operation, unasked)]
    };
    Decision {
        actions,
        phase: Some(ExecutionPhase::Progressing),
        waiting_on: in_work()
            .map(|item| waiting(Rule::I4, item, how.waiting))
            .collect(),
        ..by(Rule::I4)
    }
}

fn refuse(problem: &OrderProblem) -> Decision {
    let (reason, code) = match problem {
        OrderProblem::Duplicate(_) => ("DuplicateDeployItem", ErrorCode::ConfigurationProblem),
        OrderProblem::Comma(_) => ("InvalidName", ErrorCode::ConfigurationProblem),
        OrderProblem::Unknown { .. } => ("UnknownDependency", ErrorCode::ConfigurationProblem),
        OrderProblem::Cycle(_) => ("CyclicDependencies", ErrorCode::CyclicDependencies),
    };
    Decision {
        phase: Some(ExecutionPhase::Failed),
        problem: Some(Problem {
            reason,
            message: problem.to_string(),
            code: Some(code),
        }),
        ..by(Rule::E11)
    }
}

/// E6: items without a counterpart in the spec.
fn orphans(seen: &Observed) -> Vec<&Item> {
    let wanted = |item: &&Item| seen.wanted.iter().any(|wanted| wanted.name == item.name);
    seen.items.iter().filter(|item| !wanted(item)).collect()
}

/// Items that aren't marked and on which none that remains depends, by their name in the API.
fn removable(items: &[&Item], remaining: &[Item]) -> Vec<String> {
    let needed = |item: &Item| {
        let mut others = remaining.iter();
        others.any(|other| other.depends_on.contains(&item.name))
    };
    let free = items.iter().filter(|item| !item.marked && !needed(item));
    free.map(|item| item.object.clone()).collect()
}

fn removal_failed(item: &Item) -> bool {
    item.marked && item.is_completed() && item.phase == Some(ExecutionPhase::Failed)
}

fn failed_removal<'a>(items: &[&'a Item]) -> Option<&'a Item> {
    items.iter().find(|item| removal_failed(item)).copied()
}

fn removal_problem(item: &Item) -> Problem {
    let why = item
        .error
        .as_deref()
        .unwrap_or("its status doesn't say why");
    Problem {
        reason: "DeletionFailed",
        message: format!("the deploy item {} could not be removed: {why}", item.name),
        code: None,
    }
}

fn item_problem(seen: &Observed, name: &str) -> Problem {
    let item = seen.items.iter().find(|item| item.name == name);
    if let Some(item) = item.filter(|item| removal_failed(item)) {
        return removal_problem(item);
    }
    let why = item.and_then(|item| item.error.as_deref());
    let why = why.unwrap_or("its status doesn't say why");
    Problem {
        reason: "DeployItemFailed",
        message: format!("the deploy item {name} has failed: {why}"),
        code: None,
    }
}

/// One that no deployer has begun holds back neither an update nor a deletion: the rule says so to those above.
fn in_work_of(rule: Rule, item: &Item) -> WaitingOn {
    if item.unclaimed {
        waiting(Rule::E12, item, "no deployer has picked it up")
    } else {
        waiting(rule, item, "it is in work")
    }
}

fn waiting(rule: Rule, item: &Item, reason: &str) -> WaitingOn {
    WaitingOn {
        rule: rule.to_string(),
        object: Some(name("DeployItem", &item.object)),
        reason: reason.into(),
    }
}

fn name(kind: &str, name: &str) -> ObjectName {
    ObjectName {
        kind: kind.into(),
        name: name.into(),
        ..ObjectName::default()
    }
}
