//! Tables of what the time asks for (`spec.automaticReconcile`), and of interrupts.

use std::time::Duration;

use landform_api::landscaper::{InstallationPhase, Operation};
use landform_api::schedule::Schedule;

use super::tests::{child, with};
use super::{Action, Child, ChildKind, Decision, Done, Observed, Parent, Repeat, decide};
use crate::combined::Standing;

use InstallationPhase::{Aborted, Failed, PendingDependencies, Progressing, Succeeded};

const NOW_MS: u64 = 10_000_000;
const MINUTE_MS: u64 = 60_000;

fn every(minutes: u64, most: Option<i32>) -> Option<Repeat> {
    let schedule = Schedule::Every(Duration::from_secs(60 * minutes));
    Some(Repeat { schedule, most })
}

fn done(times: i32, minutes_ago: u64, on_failed: bool) -> Option<Done> {
    Some(Done {
        generation: 3,
        times,
        last_ms: NOW_MS - minutes_ago * MINUTE_MS,
        on_failed,
    })
}

/// It failed because its execution did, and is tried again every five minutes, three times at most.
fn failed(change: impl FnOnce(&mut Observed)) -> Observed {
    with(|seen| {
        seen.phase = Some(Failed);
        seen.children = vec![child("shop", Failed)];
        seen.automatic.failed = every(5, Some(3));
        change(seen);
    })
}

fn noted(decision: &Decision) -> Option<&Option<Done>> {
    decision.actions.iter().find_map(|action| match action {
        Action::NoteAutomatic(done) => Some(done),
        _ => None,
    })
}

fn asked(decision: &Decision, operation: Operation) -> Vec<&str> {
    let asked = decision.actions.iter().filter_map(|action| match action {
        Action::Ask(found, names) if *found == operation => Some(names),
        _ => None,
    });
    asked.flatten().map(|(_, name)| name.as_str()).collect()
}

#[test]
fn i4_a_row_of_automatic_reconciles_begins_with_the_end_that_it_is_for() {
    let decision = decide(&failed(|_| {}));
    assert_eq!(noted(&decision), Some(&done(0, 0, true)));
    assert_eq!(decision.look_ms, Some(NOW_MS + 5 * MINUTE_MS));
    assert_eq!(asked(&decision, Operation::Reconcile), [""; 0]);
    // A success, a change of the spec and a word of a person begin another one.
    let others = [
        failed(|seen| seen.automatic.done = done(2, 9, false)),
        failed(|seen| {
            seen.automatic.done = done(2, 9, true).map(|done| Done {
                generation: 2,
                ..done
            });
        }),
    ];
    for seen in others {
        assert_eq!(noted(&decide(&seen)), Some(&done(0, 0, true)));
    }
    let word = failed(|seen| {
        seen.automatic.done = done(3, 9, true);
        seen.operation = Some(Operation::Reconcile);
    });
    assert_eq!(noted(&decide(&word)), Some(&None));
}

#[test]
fn i4_i16b_what_failed_runs_again_when_it_is_due_and_not_before() {
    let early = decide(&failed(|seen| seen.automatic.done = done(1, 4, true)));
    assert_eq!(early.look_ms, Some(NOW_MS + MINUTE_MS));
    assert!(early.actions.is_empty(), "{early:?}");

    let due = decide(&failed(|seen| seen.automatic.done = done(1, 5, true)));
    assert_eq!(noted(&due), Some(&done(2, 0, true)));
    assert_eq!(asked(&due, Operation::Reconcile), ["shop"]);
    assert_eq!(due.phase, Some(Progressing));
    assert!(due.afterwards.is_empty(), "no annotation is there: {due:?}");

    let often = decide(&failed(|seen| seen.automatic.done = done(3, 50, true)));
    assert_eq!((often.look_ms, often.actions.len()), (None, 0), "{often:?}");
}

#[test]
fn i4_an_update_that_failed_is_tried_again_when_it_is_due() {
    let seen = failed(|seen| {
        seen.children.clear();
        seen.generation = 4;
        seen.failed_as_it_is = true;
        seen.automatic.done = done(0, 5, true).map(|done| Done {
            generation: 4,
            ..done
        });
    });
    let decision = decide(&seen);
    assert!(decision.actions.contains(&Action::Update { force: false }));
    assert_eq!(noted(&decision).unwrap().unwrap().times, 1);
}

#[test]
fn i4_i35b_a_removal_that_failed_is_tried_again_when_it_is_due() {
    let seen = failed(|seen| {
        seen.marked = true;
        seen.generation = 4;
        seen.children[0].marked = true;
        seen.automatic.done = done(0, 5, true).map(|done| Done {
            generation: 4,
            ..done
        });
    });
    let decision = decide(&seen);
    assert_eq!(asked(&decision, Operation::Reconcile), ["shop"]);
    assert_eq!(noted(&decision).unwrap().unwrap().times, 1);
}

#[test]
fn i4_what_succeeded_is_deployed_again_when_it_is_due_and_all_is_calm() {
    let succeeded = |minutes_ago| {
        with(|seen| {
            seen.automatic.succeeded = every(60, None);
            seen.automatic.done = done(7, minutes_ago, false);
        })
    };
    let decision = decide(&succeeded(10));
    assert_eq!(decision.look_ms, Some(NOW_MS + 50 * MINUTE_MS));
    let mut due = succeeded(16);
    due.automatic.succeeded = every(15, None);
    let decision = decide(&due);
    assert!(decision.actions.contains(&Action::Update { force: true }));
    assert_eq!(noted(&decision), Some(&done(8, 0, false)));
    // Nothing is deployed with imports that are about to change (I10b).
    due.dependencies[0].phase = Some(Progressing);
    let decision = decide(&due);
    assert!(decision.actions.is_empty(), "{decision:?}");
    assert!(decision.look_ms.is_some());
}

#[test]
fn i4_nothing_is_done_automatically_where_it_was_not_asked_for() {
    let due = || failed(|seen| seen.automatic.done = done(0, 9, true));
    let parent = Parent {
        name: "root".into(),
        phase: Some(Succeeded),
        failed_below: false,
        marked: false,
        forced: false,
    };
    let table = [
        (
            "nested",
            Observed {
                parent: Some(parent),
                ..due()
            },
        ),
        (
            "ignored",
            Observed {
                ignore: true,
                ..due()
            },
        ),
        (
            "aborted",
            Observed {
                phase: Some(Aborted),
                aborted: true,
                ..due()
            },
        ),
        (
            "succeeded",
            Observed {
                phase: Some(Succeeded),
                children: vec![child("shop", Succeeded)],
                ..due()
            },
        ),
    ];
    for (what, seen) in table {
        let decision = decide(&seen);
        assert_eq!(asked(&decision, Operation::Reconcile), [""; 0], "{what}");
        assert_eq!(decision.look_ms, None, "{what}");
    }
}

#[test]
fn i4_a_schedule_that_can_not_be_read_fails_before_anything_is_deployed() {
    let seen = with(|seen| {
        seen.generation = 4;
        seen.automatic.invalid = Some("spec.automaticReconcile: no".into());
    });
    let decision = decide(&seen);
    assert_eq!(decision.phase, Some(Failed));
    assert!(decision.actions.is_empty(), "{decision:?}");
    assert_eq!(decision.problem.unwrap().reason, "InvalidSchedule");
}

fn nested(name: &str, phase: InstallationPhase, standing: Standing) -> Child {
    Child {
        kind: ChildKind::Installation,
        standing,
        ..child(name, phase)
    }
}

#[test]
fn i4_an_interrupt_ends_what_has_not_ended_and_leaves_the_rest() {
    let mut seen = with(|seen| {
        seen.phase = Some(Progressing);
        seen.operation = Some(Operation::Interrupt);
        seen.children = vec![
            child("shop", Progressing),
            nested("a", Succeeded, Standing::Succeeded),
            nested("b", PendingDependencies, Standing::Waiting),
        ];
    });
    let decision = decide(&seen);
    assert_eq!(asked(&decision, Operation::Interrupt), ["shop", "b"]);
    assert_eq!(decision.phase, Some(Progressing));
    // They are asked once.
    seen.children[0].operation = Some(Operation::Interrupt);
    seen.children[2].operation = Some(Operation::Interrupt);
    assert_eq!(asked(&decide(&seen), Operation::Interrupt), [""; 0]);

    seen.children[0] = child("shop", Failed);
    seen.children[2] = nested("b", Failed, Standing::Failed);
    let decision = decide(&seen);
    assert_eq!(decision.phase, Some(Failed));
    assert_eq!(decision.problem.unwrap().reason, "Interrupted");
    assert_eq!(decision.afterwards, [Action::DropOperation]);
}

#[test]
fn i4_an_interrupt_ends_one_that_waits_for_an_import() {
    let seen = with(|seen| {
        seen.phase = Some(PendingDependencies);
        seen.generation = 4;
        seen.operation = Some(Operation::Interrupt);
        seen.children.clear();
    });
    assert_eq!(decide(&seen).phase, Some(Failed));
}

#[test]
fn i4_an_interrupt_means_nothing_where_all_has_come_to_an_end() {
    for phase in [Succeeded, Failed, Aborted] {
        let seen = with(|seen| {
            seen.phase = Some(phase);
            seen.children = vec![child("shop", phase)];
            seen.operation = Some(Operation::Interrupt);
        });
        let decision = decide(&seen);
        assert_eq!(decision.actions, [Action::DropOperation], "{phase:?}");
        assert_eq!(decision.phase, None, "{phase:?}");
    }
    // It has come to its end, and this one only has to say so.
    let seen = with(|seen| {
        seen.phase = Some(Progressing);
        seen.operation = Some(Operation::Interrupt);
    });
    assert_eq!(decide(&seen).phase, Some(Succeeded));
}

#[test]
fn i35b_an_interrupt_ends_a_removal_that_goes_on() {
    let seen = with(|seen| {
        seen.marked = true;
        seen.phase = Some(InstallationPhase::Deleting);
        seen.operation = Some(Operation::Interrupt);
        seen.children = vec![Child {
            marked: true,
            ..child("shop", InstallationPhase::Deleting)
        }];
    });
    let decision = decide(&seen);
    assert_eq!(asked(&decision, Operation::Interrupt), ["shop"]);
    assert_eq!(decision.afterwards, [Action::DropOperation]);
}
