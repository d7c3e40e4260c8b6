//! Each way in which a deploy item can stand, and what follows.

use landform_api::landscaper::{ExecutionPhase, Operation};

use super::{Action, Dependent, Deployer, Execution, Late, Observed, decide};
use crate::Rule;

const NOW_MS: u64 = 100_000_000;

/// An item of ours that has succeeded.
fn succeeded() -> Observed {
    Observed {
        now_ms: NOW_MS,
        generation: 2,
        observed_generation: Some(2),
        phase: Some(ExecutionPhase::Succeeded),
        marked: false,
        held: true,
        operation: None,
        ignore: false,
        without_uninstall: false,
        waits: false,
        given_up: false,
        handed_out_ms: None,
        abort_asked_ms: None,
        picked_up_ms: Some(NOW_MS - 1000),
        needed_by: Vec::new(),
        execution: Execution::Stays,
        target_changed: false,
        timeout_ms: 600_000,
        deployer: Deployer::Ours("the deployer in this process".into()),
    }
}

fn elsewhere() -> Observed {
    Observed {
        deployer: Deployer::Elsewhere("helm".into()),
        ..succeeded()
    }
}

fn at_work() -> Observed {
    Observed {
        phase: Some(ExecutionPhase::Progressing),
        ..succeeded()
    }
}

fn check(what: &str, seen: &Observed, rule: Rule, action: &Action) {
    let decision = decide(seen);
    assert_eq!((decision.rule, &decision.action), (rule, action), "{what}");
}

#[test]
fn e2_a_completed_item_is_ignored_and_one_at_work_is_not() {
    let ignored = Observed {
        ignore: true,
        ..succeeded()
    };
    check("completed", &ignored, Rule::E2, &Action::Nothing);
    let changed = Observed {
        generation: 3,
        ..ignored.clone()
    };
    check("changed since", &changed, Rule::E12, &Action::PickUp);
    let marked = Observed {
        marked: true,
        generation: 3,
        ..ignored
    };
    check("marked", &marked, Rule::E10, &Action::Remove);
}

#[test]
fn e12_an_item_is_picked_up_when_it_was_handed_out_or_changed() {
    let new = Observed {
        phase: None,
        observed_generation: None,
        held: false,
        handed_out_ms: Some(NOW_MS),
        ..succeeded()
    };
    check("new", &new, Rule::E12, &Action::PickUp);
    let forced = Observed {
        handed_out_ms: Some(NOW_MS),
        ..succeeded()
    };
    check("handed out again", &forced, Rule::E12, &Action::PickUp);
    let asked = Observed {
        operation: Some(Operation::Reconcile),
        ..succeeded()
    };
    check("asked for", &asked, Rule::E12, &Action::PickUp);
    let moved = Observed {
        target_changed: true,
        ..succeeded()
    };
    check("another target", &moved, Rule::E12, &Action::PickUp);
    check("as it was", &succeeded(), Rule::E12, &Action::Keep);
    let failed = Observed {
        phase: Some(ExecutionPhase::Failed),
        ..succeeded()
    };
    check("failed", &failed, Rule::E12, &Action::Nothing);
}

#[test]
fn e12_work_goes_on_until_its_time_is_over() {
    let until_ms = NOW_MS - 1000 + 600_000;
    check(
        "in time",
        &at_work(),
        Rule::E12,
        &Action::Deploy { until_ms },
    );
    let late = Observed {
        now_ms: until_ms,
        ..at_work()
    };
    let expected = "the deployer in this process".into();
    let timeout_ms = 600_000;
    let fail = Action::Fail(Late::Progressing {
        expected,
        timeout_ms,
    });
    check("late", &late, Rule::E12, &fail);
}

#[test]
fn e12_each_timeout_of_a_deployer_elsewhere_names_it() {
    let handed_out = Observed {
        handed_out_ms: Some(NOW_MS - 299_999),
        phase: None,
        ..elsewhere()
    };
    let wait = Action::Wait {
        until_ms: Some(NOW_MS + 1),
        on: "helm to pick it up".into(),
    };
    check("waits for pickup", &handed_out, Rule::E12, &wait);
    let late = Observed {
        handed_out_ms: Some(NOW_MS - 300_000),
        ..handed_out
    };
    let fail = Action::Fail(Late::Pickup {
        expected: "helm".into(),
    });
    check("not picked up", &late, Rule::E12, &fail);

    let working = Observed {
        deployer: Deployer::Elsewhere("helm".into()),
        ..at_work()
    };
    let wait = Action::Wait {
        until_ms: Some(NOW_MS + 599_000),
        on: "helm to finish".into(),
    };
    check("works", &working, Rule::E12, &wait);
    let late = Observed {
        picked_up_ms: Some(NOW_MS - 600_000),
        ..working.clone()
    };
    let fail = Action::Fail(Late::Progressing {
        expected: "helm".into(),
        timeout_ms: 600_000,
    });
    check("works too long", &late, Rule::E12, &fail);

    let aborting = Observed {
        operation: Some(Operation::Abort),
        abort_asked_ms: Some(NOW_MS),
        ..working
    };
    let wait = Action::Wait {
        until_ms: Some(NOW_MS + 300_000),
        on: "helm to stop".into(),
    };
    check("told to stop", &aborting, Rule::E12, &wait);
    let late = Observed {
        abort_asked_ms: Some(NOW_MS - 300_000),
        ..aborting
    };
    let fail = Action::Fail(Late::Aborting {
        expected: "helm".into(),
    });
    check("doesn't stop", &late, Rule::E12, &fail);
    check("done", &elsewhere(), Rule::E12, &Action::Nothing);
    let changed = Observed {
        generation: 3,
        ..elsewhere()
    };
    let wait = Action::Wait {
        until_ms: None,
        on: "helm to pick it up".into(),
    };
    check("changed by hand", &changed, Rule::E12, &wait);
}

#[test]
fn i4_an_abort_stops_work_and_means_nothing_when_there_is_none() {
    let told = |seen: Observed| Observed {
        operation: Some(Operation::Abort),
        ..seen
    };
    check(
        "at work",
        &told(at_work()),
        Rule::I4,
        &Action::AcknowledgeAbort,
    );
    check("done", &told(succeeded()), Rule::I4, &Action::DropOperation);
    check(
        "done elsewhere",
        &told(elsewhere()),
        Rule::I4,
        &Action::DropOperation,
    );
    let removing = Observed {
        marked: true,
        generation: 3,
        ..told(at_work())
    };
    check(
        "being removed",
        &removing,
        Rule::I4,
        &Action::AcknowledgeAbort,
    );
}

#[test]
fn i4_an_interrupt_ends_work_here_and_elsewhere() {
    let told = |seen: Observed| Observed {
        operation: Some(Operation::Interrupt),
        ..seen
    };
    let end = Action::Interrupt;
    check("at work", &told(at_work()), Rule::I4, &end);
    let outside = Observed {
        phase: Some(ExecutionPhase::Progressing),
        ..elsewhere()
    };
    check("at work elsewhere", &told(outside), Rule::I4, &end);
    let removing = Observed {
        marked: true,
        generation: 3,
        ..told(at_work())
    };
    check("being removed", &removing, Rule::I4, &end);
    let drop = Action::DropOperation;
    check("done", &told(succeeded()), Rule::I4, &drop);
    check("done elsewhere", &told(elsewhere()), Rule::I4, &drop);
}

#[test]
fn e10_a_marked_item_is_removed_and_a_failed_removal_waits_for_a_person() {
    let marked = Observed {
        marked: true,
        generation: 3,
        ..succeeded()
    };
    check("marked", &marked, Rule::E10, &Action::Remove);
    let needed_by = |marked| {
        let name = "x-b".to_owned();
        vec![Dependent { name, marked }]
    };
    let needed = Observed {
        needed_by: needed_by(false),
        execution: Execution::Goes,
        ..marked.clone()
    };
    let wait = Action::Wait {
        until_ms: None,
        on: "x-b: it depends on this one and must go first".into(),
    };
    check("another one depends on it", &needed, Rule::E10, &wait);
    let with_it = Observed {
        needed_by: needed_by(true),
        ..marked.clone()
    };
    check("others deleted that one, too", &with_it, Rule::E10, &wait);
    let alone = Observed {
        needed_by: needed_by(false),
        ..marked.clone()
    };
    let remove = Action::Remove;
    check("others deleted this one alone", &alone, Rule::E10, &remove);
    let held = Observed {
        execution: Execution::Holds("shop".into()),
        ..marked.clone()
    };
    let wait = Action::Wait {
        until_ms: None,
        on: "the execution shop, which is not ready to have its items go".into(),
    };
    check("its execution is held", &held, Rule::I31, &wait);
    let failed = Observed {
        observed_generation: Some(3),
        phase: Some(ExecutionPhase::Failed),
        given_up: true,
        ..marked.clone()
    };
    check("failed", &failed, Rule::E10, &Action::Nothing);
    let asked = Observed {
        operation: Some(Operation::Reconcile),
        ..failed
    };
    check("asked for", &asked, Rule::E10, &Action::Remove);
    let free = Observed {
        held: false,
        ..marked
    };
    check("not held", &free, Rule::I3, &Action::Nothing);
}

#[test]
fn i36_a_marked_item_goes_without_what_it_deployed_if_it_says_so() {
    let seen = |deployer| Observed {
        marked: true,
        without_uninstall: true,
        generation: 3,
        deployer,
        ..succeeded()
    };
    check(
        "ours",
        &seen(Deployer::Ours("ours".into())),
        Rule::I36,
        &Action::LetGo,
    );
    let deployer = Deployer::Elsewhere("helm".into());
    check("elsewhere", &seen(deployer), Rule::I36, &Action::LetGo);
    let living = Observed {
        marked: false,
        ..seen(Deployer::Ours("ours".into()))
    };
    check(
        "not marked",
        &Observed {
            generation: 2,
            ..living
        },
        Rule::E12,
        &Action::Keep,
    );
}

#[test]
fn i35b_a_removal_that_failed_is_tried_again_unless_that_can_not_help() {
    let failed = |given_up| Observed {
        phase: Some(ExecutionPhase::Failed),
        marked: true,
        given_up,
        ..succeeded()
    };
    check("it may help", &failed(false), Rule::E10, &Action::Remove);
    check("it can't", &failed(true), Rule::E10, &Action::Nothing);
    let asked = Observed {
        operation: Some(Operation::Reconcile),
        ..failed(true)
    };
    check("it is asked for", &asked, Rule::E10, &Action::Remove);
    let aborted = |given_up| Observed {
        operation: Some(Operation::Abort),
        ..failed(given_up)
    };
    let stops = Action::AcknowledgeAbort;
    check("no further try", &aborted(false), Rule::I4, &stops);
    let nothing = Action::DropOperation;
    check("there is none", &aborted(true), Rule::I4, &nothing);
}

#[test]
fn i4_an_item_that_no_deployer_has_begun_is_aborted_at_once() {
    let asked = Observed {
        operation: Some(Operation::Abort),
        abort_asked_ms: Some(NOW_MS),
        phase: Some(ExecutionPhase::Progressing),
        ..elsewhere()
    };
    assert!(matches!(decide(&asked).action, Action::Wait { .. }));
    let handed_out = Observed {
        handed_out_ms: Some(NOW_MS),
        ..asked
    };
    let stopped = Action::AcknowledgeAbort;
    check("not begun", &handed_out, Rule::I4, &stopped);
}

#[test]
fn e12_an_item_that_has_ended_elsewhere_waits_for_nothing() {
    let ended = |waits| Observed {
        phase: Some(ExecutionPhase::Failed),
        waits,
        ..elsewhere()
    };
    check("says so", &ended(true), Rule::E12, &Action::StopWaiting);
    check("does not", &ended(false), Rule::E12, &Action::Nothing);
}
