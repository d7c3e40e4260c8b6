//! Own writes in every order, retries, and costs: what needs events that people don't send.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::world::{Name, name};
use crate::{
    Answer, Command, Event, LONGEST_MS, Outcome, Reason, Retry, Role, RunId, Scheduler, Sight,
    Standing, Version,
};

fn sight(key: &str, version: u64, content: u64) -> Sight<Name> {
    Sight {
        key: name(key),
        version: Version(version),
        content,
        refs: Vec::new(),
        marked: false,
        role: Role::Reconciled,
        order: crate::Order::Strict,
    }
}

fn started(commands: &[Command<Name>]) -> Vec<RunId> {
    let run = |command: &Command<Name>| match command {
        Command::Start { run, .. } => Some(*run),
        _ => None,
    };
    commands.iter().filter_map(run).collect()
}

fn cancelled(commands: &[Command<Name>]) -> bool {
    commands
        .iter()
        .any(|command| matches!(command, Command::Cancel { .. }))
}

fn finish(run: RunId, now_ms: u64, outcome: Outcome) -> Event<Name> {
    Event::Finished {
        run,
        outcome,
        now_ms,
    }
}

const DONE: Outcome = Outcome::Succeeded {
    retrigger_at_ms: None,
};

/// What may happen around a write of a run, in some order.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Began,
    Ended(Answer),
    Seen { version: u64, content: u64 },
    Listed { version: u64, content: u64 },
    Gone,
    Finished,
}

/// Carries out steps on an object that runs; says whether the run was cancelled, and whether another
/// one has started or is going to when it has finished.
fn outcome(steps: &[Step]) -> (bool, bool) {
    let mut machine = Scheduler::new(1);
    let run = started(&machine.handle(Event::Seen(sight("a", 1, 1))))[0];
    let (mut cancel, mut again, mut finished) = (false, false, false);
    for step in steps.iter().copied().chain([Step::Finished]) {
        let event = match step {
            Step::Finished if finished => continue,
            Step::Began => Event::WriteBegan { run },
            Step::Ended(answer) => Event::WriteEnded { run, answer },
            Step::Seen { version, content } => Event::Seen(sight("a", version, content)),
            Step::Listed { version, content } => Event::Listed(vec![sight("a", version, content)]),
            Step::Gone => Event::Gone { key: name("a") },
            Step::Finished => finish(run, 0, DONE),
        };
        finished |= step == Step::Finished;
        let commands = machine.handle(event);
        machine.verify().unwrap();
        cancel |= cancelled(&commands);
        again |= !started(&commands).is_empty();
    }
    (cancel, again)
}

#[test]
fn r5_own_writes_are_told_from_others_in_every_order() {
    use Step::{Began, Ended, Finished, Gone, Listed, Seen};
    let wrote = |version| Ended(Answer::Version(Version(version)));
    let seen = |version| Seen {
        version,
        content: version,
    };
    let listed = |version| Listed {
        version,
        content: version,
    };
    let (kept, stale) = ((false, false), (true, true));
    let table: &[(&str, &[Step], (bool, bool))] = &[
        ("own, answer first", &[Began, wrote(2), seen(2)], kept),
        ("own, watch first", &[Began, seen(2), wrote(2)], kept),
        (
            "own, seen after the run",
            &[Began, wrote(2), Finished, seen(2)],
            kept,
        ),
        (
            "two own, one answer late",
            &[Began, Began, seen(2), wrote(2), seen(3), wrote(3)],
            kept,
        ),
        (
            "an own status write",
            &[
                Began,
                wrote(2),
                Seen {
                    version: 2,
                    content: 1,
                },
            ],
            kept,
        ),
        (
            "another's status write",
            &[Seen {
                version: 2,
                content: 1,
            }],
            kept,
        ),
        ("another's change", &[seen(2)], stale),
        (
            "another's change behind an own one",
            &[Began, wrote(2), seen(2), seen(3)],
            stale,
        ),
        (
            "another's change before an own one",
            &[Began, seen(2), wrote(3), seen(3)],
            stale,
        ),
        (
            "a refused write",
            &[Began, seen(2), Ended(Answer::Nothing)],
            stale,
        ),
        (
            "a write that was never answered",
            &[Began, seen(2)],
            (true, true),
        ),
        (
            "after the run, another's",
            &[Began, wrote(2), Finished, seen(2), seen(3)],
            (false, true),
        ),
        (
            "a list may hide another's change",
            &[Began, wrote(3), listed(3)],
            stale,
        ),
        (
            "a list without news",
            &[Began, wrote(2), seen(2), listed(2)],
            kept,
        ),
        (
            "gone by itself",
            &[Began, Ended(Answer::Deleted), Gone],
            kept,
        ),
        (
            "gone by itself, watch first",
            &[Began, Gone, Ended(Answer::Deleted)],
            kept,
        ),
        ("gone by another", &[Gone], (true, false)),
        (
            "gone by another during a write",
            &[Began, Gone, Ended(Answer::Nothing)],
            (true, false),
        ),
    ];
    for (words, steps, expected) in table {
        assert_eq!(outcome(steps), *expected, "{words}");
    }
}

#[test]
fn r5_an_unknown_change_is_held_until_the_write_has_ended() {
    let mut machine = Scheduler::new(1);
    let run = started(&machine.handle(Event::Seen(sight("a", 1, 1))))[0];
    machine.handle(Event::WriteBegan { run });
    assert!(machine.handle(Event::Seen(sight("a", 2, 2))).is_empty());
    let answer = Answer::Version(Version(3));
    assert!(cancelled(
        &machine.handle(Event::WriteEnded { run, answer })
    ));
}

#[test]
fn r8_r11_dependents_of_an_object_that_its_run_removed_run_once() {
    let mut machine = Scheduler::new(1);
    let mut dependent = sight("b", 2, 1);
    dependent.refs.push(name("a"));
    let sights = vec![sight("a", 1, 1), dependent];
    let run = started(&machine.handle(Event::Listed(sights)))[0];
    let run = started(&machine.handle(finish(run, 0, DONE)))[0];
    machine.handle(finish(run, 0, DONE));
    let mut marked = sight("a", 3, 2);
    marked.marked = true;
    let run = started(&machine.handle(Event::Seen(marked)))[0];
    machine.handle(Event::WriteBegan { run });
    let answer = Answer::Deleted;
    machine.handle(Event::WriteEnded { run, answer });
    // The run returns before the watch says that its object is gone.
    assert!(started(&machine.handle(finish(run, 0, DONE))).is_empty());
    let commands = machine.handle(Event::Gone { key: name("a") });
    assert_eq!(started(&commands).len(), 1);
    assert!(!cancelled(&commands));
}

#[test]
fn r5_own_mark_goes_on_and_brings_a_delete() {
    use super::rules::last;
    assert_eq!(last("create a | own delete a"), "");
    assert_eq!(
        last("create a | own delete a | finish a"),
        "start delete a (marked)"
    );
}

fn fail(machine: &mut Scheduler<Name>, run: RunId, now_ms: u64, retry: Retry) -> Option<u64> {
    fail_and_ask(machine, run, now_ms, retry, None)
}

/// Lets a run fail that wants its object to be looked at again at a time; says when it will be.
fn fail_and_ask(
    machine: &mut Scheduler<Name>,
    run: RunId,
    now_ms: u64,
    retry: Retry,
    retrigger_at_ms: Option<u64>,
) -> Option<u64> {
    let outcome = Outcome::Failed {
        error: "no".into(),
        retry,
        retrigger_at_ms,
    };
    let commands = machine.handle(finish(run, now_ms, outcome));
    commands.iter().find_map(|command| match command {
        Command::SetTimer { at_ms, .. } => Some(*at_ms),
        _ => None,
    })
}

#[test]
fn r12_failures_back_off_and_a_change_resets_them() {
    let mut machine = Scheduler::new(1);
    let mut run = started(&machine.handle(Event::Seen(sight("a", 1, 1))))[0];
    let mut now_ms = 0;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        let at_ms = fail(&mut machine, run, now_ms, Retry::Backoff).unwrap();
        pauses.push(at_ms - now_ms);
        now_ms = at_ms;
        let key = name("a");
        run = started(&machine.handle(Event::TimeReached { key, at_ms }))[0];
    }
    assert!(pauses[0] <= 1_000 && pauses[4] > 5_000, "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause <= LONGEST_MS));
    machine.handle(finish(run, now_ms, Outcome::Cancelled));
    let commands = machine.handle(Event::Seen(sight("a", 2, 2)));
    assert!(cancelled(&commands));
    let key = name("a");
    let Some(Standing::Cancelling { run, .. }) = machine.status(&key).map(|status| status.standing)
    else {
        panic!("it doesn't run");
    };
    let run = started(&machine.handle(finish(run, now_ms, DONE)))[0];
    let at_ms = fail(&mut machine, run, now_ms, Retry::Backoff).unwrap();
    assert!(at_ms - now_ms <= 1_000, "the pause is {}", at_ms - now_ms);
}

#[test]
fn r12b_a_time_is_honoured_beside_an_error_whichever_comes_first() {
    for (retry, retrigger_at_ms, expected, reason) in [
        (Retry::OnChange, 900, 900, Reason::Retrigger),
        (Retry::AtMs(77), 900, 77, Reason::Retry),
        (Retry::AtMs(950), 900, 900, Reason::Retrigger),
        (Retry::Backoff, 6, 6, Reason::Retrigger),
    ] {
        let mut machine = Scheduler::new(1);
        let run = started(&machine.handle(Event::Seen(sight("a", 1, 1))))[0];
        let at_ms = fail_and_ask(&mut machine, run, 5, retry, Some(retrigger_at_ms));
        assert_eq!(at_ms, Some(expected), "{retry:?}");
        let key = name("a");
        let at_ms = expected;
        let commands = machine.handle(Event::TimeReached { key, at_ms });
        let told = commands.iter().find_map(|command| match command {
            Command::Start { reason, .. } => Some(*reason),
            _ => None,
        });
        assert_eq!(told, Some(reason), "{retry:?}");
    }
}

#[test]
fn r12_a_run_may_say_when_it_is_tried_again_or_that_it_is_not() {
    for (retry, expected) in [(Retry::AtMs(77), Some(77)), (Retry::OnChange, None)] {
        let mut machine = Scheduler::new(1);
        let run = started(&machine.handle(Event::Seen(sight("a", 1, 1))))[0];
        assert_eq!(fail(&mut machine, run, 5, retry), expected);
        let status = machine.status(&name("a")).unwrap();
        assert_eq!(status.last_error.as_deref(), Some("no"));
        assert_eq!(status.next_run_at_ms, expected);
    }
}

#[test]
fn r12_a_run_clears_the_timer_and_an_old_time_is_ignored() {
    let mut machine = Scheduler::new(1);
    let run = started(&machine.handle(Event::Seen(sight("a", 1, 1))))[0];
    let retrigger_at_ms = Some(50);
    machine.handle(finish(run, 0, Outcome::Succeeded { retrigger_at_ms }));
    let key = name("a");
    let old = Event::TimeReached {
        key: key.clone(),
        at_ms: 49,
    };
    assert!(machine.handle(old).is_empty());
    let commands = machine.handle(Event::Asked { key: key.clone() });
    assert_eq!(commands[0], Command::ClearTimer { key: key.clone() });
    let run = started(&commands)[0];
    machine.handle(finish(run, 0, DONE));
    assert!(
        machine
            .handle(Event::TimeReached { key, at_ms: 50 })
            .is_empty()
    );
}

#[test]
fn r9b_r16_a_lost_ref_costs_nothing_of_what_is_above_it() {
    // A walk over the ancestors of what is lost would take minutes here.
    let mut machine = Scheduler::new(1);
    let below = |at: u64, version| {
        let mut object = sight(&format!("c{at}"), version, version);
        object.refs.push(name(&format!("c{}", at - 1)));
        object
    };
    let (length, rounds) = (20_000, 20_000);
    let mut sights = vec![sight("c0", 1, 1)];
    sights.extend((1..length).map(|at| below(at, 1)));
    let mut runs = started(&machine.handle(Event::Listed(sights)));
    for _ in 1..length {
        runs = started(&machine.handle(finish(runs[0], 0, DONE)));
    }
    let last = length - 1;
    let start = Instant::now();
    for version in 2..rounds {
        let alone = sight(&format!("c{last}"), 2 * version, 2 * version);
        machine.handle(Event::Seen(alone));
        machine.handle(Event::Seen(below(last, 2 * version + 1)));
    }
    assert!(start.elapsed() < Duration::from_secs(20));
    let asked = Event::Asked { key: name("c0") };
    assert_eq!(
        started(&machine.handle(asked)),
        [],
        "a run has referred to it"
    );
    assert_eq!(started(&machine.handle(finish(runs[0], 0, DONE))).len(), 1);
}

#[test]
fn r16_a_status_write_costs_the_same_on_a_hub() {
    // A walk over the hub's dependents would take minutes here.
    let mut machine = Scheduler::new(1);
    let mut sights = vec![sight("hub", 1, 1)];
    for at in 0..20_000 {
        let mut dependent = sight(&format!("d{at}"), 1, 1);
        dependent.refs.push(name("hub"));
        sights.push(dependent);
    }
    let run = started(&machine.handle(Event::Listed(sights)))[0];
    let runs = started(&machine.handle(finish(run, 0, DONE)));
    assert_eq!(runs.iter().collect::<BTreeSet<_>>().len(), 20_000);
    for run in runs {
        machine.handle(finish(run, 0, DONE));
    }
    let start = Instant::now();
    for version in 2..50_000 {
        assert!(
            machine
                .handle(Event::Seen(sight("hub", version, 1)))
                .is_empty()
        );
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}
