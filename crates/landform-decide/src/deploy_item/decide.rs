//! The decision about a deploy item.

use landform_api::landscaper::{ExecutionPhase, Operation};

use super::decision::{Action, Decision, Late};
use super::observed::{Deployer, Execution, Observed};
use super::{ABORT_TIMEOUT_MS, PICKUP_TIMEOUT_MS};
use crate::Rule;

/// What to do with a deploy item.
#[must_use]
pub fn decide(seen: &Observed) -> Decision {
    if seen.ignore && seen.is_completed() && !seen.marked {
        return by(Rule::E2, Action::Nothing);
    }
    match &seen.deployer {
        Deployer::Elsewhere(name) => watch_over(seen, name),
        Deployer::Ours(_) if seen.marked => remove(seen),
        Deployer::Ours(name) => deploy(seen, name),
    }
}

fn by(rule: Rule, action: Action) -> Decision {
    Decision { rule, action }
}

/// An item of ours that should be there.
fn deploy(seen: &Observed, deployer: &str) -> Decision {
    match seen.operation {
        Some(Operation::Abort | Operation::Interrupt) if seen.is_completed() => {
            by(Rule::I4, Action::DropOperation)
        }
        Some(Operation::Abort) => by(Rule::I4, Action::AcknowledgeAbort),
        Some(Operation::Interrupt) => by(Rule::I4, Action::Interrupt),
        Some(Operation::Reconcile | Operation::ForceReconcile) => by(Rule::E12, Action::PickUp),
        None => match seen.phase.filter(|_| seen.status_up_to_date()) {
            None => by(Rule::E12, Action::PickUp),
            Some(ExecutionPhase::Succeeded) if seen.target_changed => by(Rule::E12, Action::PickUp),
            Some(ExecutionPhase::Succeeded) => by(Rule::E12, Action::Keep),
            Some(ExecutionPhase::Failed) => by(Rule::E12, Action::Nothing),
            Some(ExecutionPhase::Init | ExecutionPhase::Progressing | ExecutionPhase::Deleting) => {
                go_on(seen, deployer)
            }
        },
    }
}

/// An item that was taken up, by a process that may have been another one.
fn go_on(seen: &Observed, deployer: &str) -> Decision {
    let until_ms = work_until(seen);
    if seen.now_ms >= until_ms {
        let late = too_slow(seen, deployer.to_owned());
        return by(Rule::E12, Action::Fail(late));
    }
    by(Rule::E12, Action::Deploy { until_ms })
}

/// An item of ours that should go.
fn remove(seen: &Observed) -> Decision {
    if !seen.held {
        return by(Rule::I3, Action::Nothing);
    }
    if seen.without_uninstall {
        return by(Rule::I36, Action::LetGo);
    }
    if let Execution::Holds(execution) = &seen.execution {
        let on = format!("the execution {execution}, which is not ready to have its items go");
        return by(Rule::I31, Action::Wait { until_ms: None, on });
    }
    // What others deleted is made again (E9): those that depend on it stay, unless they were deleted, too.
    let all_go = seen.execution == Execution::Goes;
    let needed_by = seen.needed_by.iter();
    let needed_by = needed_by.filter(|dependent| all_go || dependent.marked);
    let needed_by: Vec<_> = needed_by.map(|found| found.name.as_str()).collect();
    if !needed_by.is_empty() {
        let on = format!(
            "{}: it depends on this one and must go first",
            needed_by.join(", ")
        );
        return by(Rule::E10, Action::Wait { until_ms: None, on });
    }
    match seen.operation {
        Some(Operation::Abort) if seen.is_completed() && seen.given_up => {
            by(Rule::I4, Action::DropOperation)
        }
        Some(Operation::Abort) => by(Rule::I4, Action::AcknowledgeAbort),
        Some(Operation::Interrupt) => by(Rule::I4, Action::Interrupt),
        Some(Operation::Reconcile | Operation::ForceReconcile) => by(Rule::E10, Action::Remove),
        // It has failed in a way that another try can't change: a person must act. Anything else is tried again.
        None if seen.is_completed() && seen.given_up => by(Rule::E10, Action::Nothing),
        None => by(Rule::E10, Action::Remove),
    }
}

/// An item whose deployer lives elsewhere: only its times are looked at.
fn watch_over(seen: &Observed, deployer: &str) -> Decision {
    if seen.marked && seen.held && seen.without_uninstall {
        return by(Rule::I36, Action::LetGo);
    }
    let expected = || deployer.to_owned();
    let completed = seen.is_completed();
    if seen.operation == Some(Operation::Interrupt) {
        // Its deployer isn't asked, and sees that the item has come to an end.
        let action = if completed {
            Action::DropOperation
        } else {
            Action::Interrupt
        };
        return by(Rule::I4, action);
    }
    if seen.operation == Some(Operation::Abort) {
        if completed {
            return by(Rule::I4, Action::DropOperation);
        }
        if seen.handed_out_ms.is_some() {
            // No deployer has begun, so none has to stop.
            return by(Rule::I4, Action::AcknowledgeAbort);
        }
        let since_ms = seen.abort_asked_ms.unwrap_or(seen.now_ms);
        let late = Late::Aborting {
            expected: expected(),
        };
        let on = format!("{deployer} to stop");
        return within(seen, since_ms.saturating_add(ABORT_TIMEOUT_MS), late, on);
    }
    if let Some(since_ms) = seen.handed_out_ms {
        let late = Late::Pickup {
            expected: expected(),
        };
        let on = format!("{deployer} to pick it up");
        return within(seen, since_ms.saturating_add(PICKUP_TIMEOUT_MS), late, on);
    }
    if completed && seen.waits {
        return by(Rule::E12, Action::StopWaiting);
    }
    if completed {
        return by(Rule::E12, Action::Nothing);
    }
    if !seen.status_up_to_date() {
        // Somebody changed it without handing it out; its deployer will see.
        let on = format!("{deployer} to pick it up");
        return by(Rule::E12, Action::Wait { until_ms: None, on });
    }
    let on = format!("{deployer} to finish");
    within(seen, work_until(seen), too_slow(seen, expected()), on)
}

fn within(seen: &Observed, until_ms: u64, late: Late, on: String) -> Decision {
    let action = if seen.now_ms >= until_ms {
        Action::Fail(late)
    } else {
        let until_ms = Some(until_ms);
        Action::Wait { until_ms, on }
    };
    by(Rule::E12, action)
}

fn work_until(seen: &Observed) -> u64 {
    let since_ms = seen.picked_up_ms.unwrap_or(seen.now_ms);
    since_ms.saturating_add(seen.timeout_ms)
}

fn too_slow(seen: &Observed, expected: String) -> Late {
    Late::Progressing {
        expected,
        timeout_ms: seen.timeout_ms,
    }
}
