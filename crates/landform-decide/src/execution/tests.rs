//! Tables: a scenario in words, and what follows from it.

use landform_api::landscaper::{ErrorCode, ExecutionPhase, Operation};

use super::{Action, Item, Observed, OrderProblem, Stored, Wanted, check_order, decide};
use crate::Rule;

/// An execution with items `a`, and `b` that depends on it, all of which succeeded.
pub(super) fn succeeded() -> Observed {
    Observed {
        generation: 2,
        observed_generation: Some(2),
        phase: Some(ExecutionPhase::Succeeded),
        marked: false,
        held: true,
        operation: None,
        ignore: false,
        stopped: false,
        bare: false,
        owner_holds: None,
        exports_lost: false,
        wanted: vec![wanted("a", &[]), wanted("b", &["a"])],
        items: vec![item("a", &[]), item("b", &["a"])],
    }
}

fn wanted(name: &str, depends_on: &[&str]) -> Wanted {
    Wanted {
        name: name.into(),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
    }
}

pub(super) fn item(name: &str, depends_on: &[&str]) -> Item {
    Item {
        name: name.into(),
        object: format!("x-{name}"),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        generation: 5,
        observed_generation: Some(5),
        phase: Some(ExecutionPhase::Succeeded),
        marked: false,
        is_whole: true,
        handed_out: false,
        unclaimed: false,
        bare: false,
        operation: None,
        stored: Some(Stored {
            execution: 2,
            item: 5,
        }),
        error: None,
    }
}

/// The execution is at work, with what `change` makes of it.
fn at_work(change: impl FnOnce(&mut Observed)) -> Observed {
    let mut seen = Observed {
        phase: Some(ExecutionPhase::Progressing),
        ..succeeded()
    };
    change(&mut seen);
    seen
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn check(
    what: &str,
    seen: &Observed,
    rule: Rule,
    actions: &[Action],
    phase: Option<ExecutionPhase>,
) {
    let decision = decide(seen);
    assert_eq!(decision.rule, Some(rule), "{what}");
    assert_eq!(decision.actions, actions, "{what}");
    assert_eq!(decision.phase, phase, "{what}");
}

#[test]
fn e1_e2_a_completed_execution_is_ignored_and_one_at_work_is_not() {
    for phase in [ExecutionPhase::Succeeded, ExecutionPhase::Failed] {
        let seen = Observed {
            phase: Some(phase),
            ignore: true,
            ..succeeded()
        };
        check("completed", &seen, Rule::E2, &[], None);
    }
    for phase in [
        ExecutionPhase::Init,
        ExecutionPhase::Progressing,
        ExecutionPhase::Deleting,
    ] {
        let seen = Observed {
            phase: Some(phase),
            ignore: true,
            ..succeeded()
        };
        assert_eq!(decide(&seen).rule, Some(Rule::E8), "{phase:?}");
    }
}

#[test]
fn e3_the_finalizer_is_added_unless_it_is_there_or_the_execution_goes() {
    let without = Observed {
        held: false,
        ..succeeded()
    };
    check("missing", &without, Rule::E9, &[Action::Hold], None);
    check("there", &succeeded(), Rule::E9, &[], None);
    let marked = Observed {
        marked: true,
        ..without
    };
    check("marked", &marked, Rule::E10, &[], None);
}

#[test]
fn e4_what_makes_a_reconcile_and_what_only_a_recheck() {
    check(
        "completed and up to date",
        &succeeded(),
        Rule::E9,
        &[],
        None,
    );
    let changed = Observed {
        generation: 3,
        ..succeeded()
    };
    let update = [Action::Update(names(&["a"]))];
    let progressing = Some(ExecutionPhase::Progressing);
    check("changed", &changed, Rule::E8, &update, progressing);
    let unfinished = at_work(|_| {});
    let collect = [Action::CollectExports];
    let done = Some(ExecutionPhase::Succeeded);
    check("not completed", &unfinished, Rule::E8, &collect, done);
    let asked = Observed {
        operation: Some(Operation::Reconcile),
        ..succeeded()
    };
    check("asked for", &asked, Rule::E8, &collect, done);
    assert_eq!(decide(&asked).afterwards, [Action::DropOperation]);
}

#[test]
fn e5_an_item_is_up_to_date_while_neither_generation_moved() {
    let of = |stored: Option<Stored>| {
        decide(&at_work(|seen| {
            seen.items[0].stored = stored;
        }))
        .actions
    };
    let stored = |execution, item| Some(Stored { execution, item });
    assert_eq!(of(stored(2, 5)), [Action::CollectExports]);
    let update = [Action::Update(names(&["a"]))];
    assert_eq!(of(stored(1, 5)), update, "the execution moved");
    assert_eq!(of(stored(2, 4)), update, "the item moved");
    assert_eq!(of(None), update, "it was never written");
}

#[test]
fn e6_orphans_are_removed_dependents_first_and_waited_for() {
    let orphaned = at_work(|seen| {
        seen.wanted.truncate(0);
        seen.wanted.push(wanted("c", &[]));
        seen.items.push(item("c", &[]));
    });
    let delete = [Action::Delete(names(&["x-b"]))];
    let progressing = Some(ExecutionPhase::Progressing);
    check("b goes before a", &orphaned, Rule::E8, &delete, progressing);
    assert_eq!(decide(&orphaned).waiting_on.len(), 2);
    let going = at_work(|seen| {
        seen.wanted = vec![wanted("a", &[])];
        seen.items[1].marked = true;
        seen.items[1].phase = Some(ExecutionPhase::Deleting);
    });
    check("b is still there", &going, Rule::E8, &[], progressing);
    let stuck = at_work(|seen| {
        seen.wanted = vec![wanted("a", &[])];
        seen.items[1].marked = true;
        seen.items[1].phase = Some(ExecutionPhase::Failed);
    });
    check(
        "b can't go",
        &stuck,
        Rule::E6,
        &[],
        Some(ExecutionPhase::Failed),
    );
    let needed = at_work(|seen| seen.wanted = vec![wanted("b", &[])]);
    let deletes = |seen: &Observed| {
        let actions = decide(seen).actions;
        actions
            .iter()
            .any(|action| matches!(action, Action::Delete(_)))
    };
    assert!(
        !deletes(&needed),
        "b still depends on a, until it is written"
    );
    assert!(!deletes(&at_work(|_| {})));
}

#[test]
fn e7_e8_each_class_and_what_follows() {
    let progressing = Some(ExecutionPhase::Progressing);
    let all_1a = at_work(|_| {});
    let collect = [Action::CollectExports];
    check(
        "all 1A",
        &all_1a,
        Rule::E8,
        &collect,
        Some(ExecutionPhase::Succeeded),
    );
    let a_1b = at_work(|seen| {
        seen.items[0].phase = Some(ExecutionPhase::Failed);
        seen.items[0].error = Some("no space".into());
        seen.items.remove(1);
    });
    check(
        "a 1B holds b back",
        &a_1b,
        Rule::E8,
        &[],
        Some(ExecutionPhase::Failed),
    );
    let problem = decide(&a_1b).problem.unwrap();
    assert!(
        problem.message.contains('a') && problem.message.contains("no space"),
        "{problem:?}"
    );
    let a_1c = at_work(|seen| {
        seen.items[0].handed_out = true;
        seen.items.remove(1);
    });
    check("a 1C, b 2B", &a_1c, Rule::E8, &[], progressing);
    assert_eq!(
        decide(&a_1c).waiting_on[0].object.as_ref().unwrap().name,
        "x-a"
    );
    let b_2a = at_work(|seen| {
        seen.items.remove(1);
    });
    check(
        "b 2A",
        &b_2a,
        Rule::E8,
        &[Action::Update(names(&["b"]))],
        progressing,
    );
    let both_2a = at_work(|seen| {
        seen.items.clear();
        seen.wanted[1].depends_on.clear();
    });
    let update = [Action::Update(names(&["a", "b"]))];
    check("all 2A together", &both_2a, Rule::E8, &update, progressing);
    let deleted_by_hand = at_work(|seen| seen.items[0].marked = true);
    check(
        "one that goes is waited for",
        &deleted_by_hand,
        Rule::E8,
        &[],
        progressing,
    );
}

#[test]
fn e7_force_puts_every_item_into_the_second_class() {
    let forced = Observed {
        operation: Some(Operation::ForceReconcile),
        ..succeeded()
    };
    let actions = [
        Action::Outdate(names(&["b"])),
        Action::Update(names(&["a"])),
    ];
    check(
        "forced",
        &forced,
        Rule::E8,
        &actions,
        Some(ExecutionPhase::Progressing),
    );
    assert_eq!(decide(&forced).afterwards, [Action::DropOperation]);
    let after = at_work(|seen| {
        seen.items[0].handed_out = true;
        seen.items[1].stored = None;
    });
    check(
        "b waits for a",
        &after,
        Rule::E8,
        &[],
        Some(ExecutionPhase::Progressing),
    );
}

#[test]
fn e8_no_items_at_all_is_success() {
    let empty = at_work(|seen| {
        seen.items.clear();
        seen.wanted.clear();
    });
    let collect = [Action::CollectExports];
    check(
        "empty",
        &empty,
        Rule::E8,
        &collect,
        Some(ExecutionPhase::Succeeded),
    );
}

#[test]
fn e9_the_recheck_repairs_what_others_did_and_follows_the_items() {
    let progressing = Some(ExecutionPhase::Progressing);
    let missing = Observed {
        items: vec![item("a", &[])],
        ..succeeded()
    };
    check(
        "missing",
        &missing,
        Rule::E9,
        &[Action::Update(names(&["b"]))],
        progressing,
    );
    let mut touched = succeeded();
    touched.items[0].generation = 6;
    touched.items[0].observed_generation = Some(6);
    check(
        "touched",
        &touched,
        Rule::E9,
        &[Action::Update(names(&["a"]))],
        progressing,
    );
    let mut failed = succeeded();
    failed.items[0].phase = Some(ExecutionPhase::Failed);
    check(
        "failed",
        &failed,
        Rule::E9,
        &[],
        Some(ExecutionPhase::Failed),
    );
    let healed = Observed {
        phase: Some(ExecutionPhase::Failed),
        ..succeeded()
    };
    let collect = [Action::CollectExports];
    check(
        "healed",
        &healed,
        Rule::E9,
        &collect,
        Some(ExecutionPhase::Succeeded),
    );
    check("the same", &succeeded(), Rule::E9, &[], None);
}

#[test]
fn e10_items_go_dependents_first_and_the_execution_last() {
    let marked = |change: fn(&mut Observed)| {
        let mut seen = Observed {
            marked: true,
            ..succeeded()
        };
        change(&mut seen);
        seen
    };
    let deleting = Some(ExecutionPhase::Deleting);
    let all = marked(|_| {});
    check(
        "b first",
        &all,
        Rule::E10,
        &[Action::Delete(names(&["x-b"]))],
        deleting,
    );
    let going = marked(|seen| {
        seen.items[1].marked = true;
        seen.items[1].phase = Some(ExecutionPhase::Deleting);
    });
    check("a waits for b", &going, Rule::E10, &[], deleting);
    let last = marked(|seen| {
        seen.items.remove(1);
    });
    check(
        "then a",
        &last,
        Rule::E10,
        &[Action::Delete(names(&["x-a"]))],
        deleting,
    );
    let none = marked(|seen| seen.items.clear());
    check("none left", &none, Rule::E10, &[], deleting);
    assert_eq!(decide(&none).afterwards, [Action::LetGo]);
    assert!(decide(&last).afterwards.is_empty());
    let failed = marked(|seen| {
        seen.items[1].marked = true;
        seen.items[1].phase = Some(ExecutionPhase::Failed);
    });
    check(
        "b failed",
        &failed,
        Rule::E10,
        &[],
        Some(ExecutionPhase::Failed),
    );
    let again = Observed {
        operation: Some(Operation::Reconcile),
        ..failed
    };
    let ask = [
        Action::Ask(Operation::Reconcile, names(&["x-b"])),
        Action::DropOperation,
    ];
    check("asked for again", &again, Rule::E10, &ask, deleting);
}

#[test]
fn i31_an_execution_waits_until_its_installation_lets_it_go() {
    let held = Observed {
        marked: true,
        owner_holds: Some("shop".into()),
        ..succeeded()
    };
    check("held", &held, Rule::I31, &[], None);
    let free = Observed {
        owner_holds: None,
        exports_lost: false,
        ..held
    };
    assert_eq!(decide(&free).rule, Some(Rule::E10));
}

#[test]
fn e11_dependencies_that_make_no_sense_are_refused_before_anything_is_made() {
    let table = [
        (vec![wanted("a", &[]), wanted("b", &["a"])], None),
        (
            vec![wanted("a", &[]), wanted("a", &[])],
            Some(OrderProblem::Duplicate("a".into())),
        ),
        (
            vec![wanted("a,b", &[])],
            Some(OrderProblem::Comma("a,b".into())),
        ),
        (
            vec![wanted("a", &["z"])],
            Some(OrderProblem::Unknown {
                item: "a".into(),
                depends_on: "z".into(),
            }),
        ),
        (
            vec![wanted("a", &["a"])],
            Some(OrderProblem::Cycle(names(&["a", "a"]))),
        ),
        (
            vec![
                wanted("a", &["b"]),
                wanted("b", &["c"]),
                wanted("c", &["b"]),
            ],
            Some(OrderProblem::Cycle(names(&["b", "c", "b"]))),
        ),
    ];
    for (wanted, expected) in table {
        assert_eq!(check_order(&wanted).err(), expected, "{wanted:?}");
        let seen = at_work(|seen| {
            seen.items.clear();
            seen.wanted = wanted;
        });
        let decision = decide(&seen);
        let updates = decision
            .actions
            .iter()
            .any(|action| matches!(action, Action::Update(_)));
        assert_eq!(updates, expected.is_none());
        let code = decision.problem.and_then(|problem| problem.code);
        let expected = expected.map(|problem| match problem {
            OrderProblem::Cycle(_) => ErrorCode::CyclicDependencies,
            OrderProblem::Duplicate(_) | OrderProblem::Comma(_) | OrderProblem::Unknown { .. } => {
                ErrorCode::ConfigurationProblem
            }
        });
        assert_eq!(code, expected);
    }
}

#[test]
fn i4_i12_an_abort_stops_items_in_work_and_then_the_execution() {
    let told = at_work(|seen| {
        seen.operation = Some(Operation::Abort);
        seen.items[1].phase = Some(ExecutionPhase::Progressing);
    });
    let ask = [Action::Ask(Operation::Abort, names(&["x-b"]))];
    check(
        "b is in work",
        &told,
        Rule::I4,
        &ask,
        Some(ExecutionPhase::Progressing),
    );
    let asked = at_work(|seen| {
        seen.operation = Some(Operation::Abort);
        seen.items[1].phase = Some(ExecutionPhase::Progressing);
        seen.items[1].operation = Some(Operation::Abort);
    });
    check(
        "b was told",
        &asked,
        Rule::I4,
        &[],
        Some(ExecutionPhase::Progressing),
    );
    let stopped = at_work(|seen| {
        seen.operation = Some(Operation::Abort);
        seen.items[1].phase = Some(ExecutionPhase::Failed);
    });
    check(
        "b has stopped",
        &stopped,
        Rule::I12,
        &[],
        Some(ExecutionPhase::Failed),
    );
    assert_eq!(decide(&stopped).afterwards, [Action::DropOperation]);
    let idle = Observed {
        operation: Some(Operation::Abort),
        ..succeeded()
    };
    check("nothing to stop", &idle, Rule::I12, &[], None);
    let aborted = Observed {
        phase: Some(ExecutionPhase::Failed),
        stopped: true,
        items: vec![item("a", &[])],
        ..succeeded()
    };
    check(
        "stays stopped, though b is missing",
        &aborted,
        Rule::I12,
        &[],
        None,
    );
}

#[test]
fn i4_an_interrupt_ends_items_in_work_and_then_the_execution() {
    let told = at_work(|seen| {
        seen.operation = Some(Operation::Interrupt);
        seen.items[1].phase = Some(ExecutionPhase::Progressing);
    });
    let ask = [Action::Ask(Operation::Interrupt, names(&["x-b"]))];
    let working = Some(ExecutionPhase::Progressing);
    check("b is in work", &told, Rule::I4, &ask, working);
    let ended = at_work(|seen| {
        seen.operation = Some(Operation::Interrupt);
        seen.items[1].phase = Some(ExecutionPhase::Failed);
    });
    let failed = Some(ExecutionPhase::Failed);
    check("b has ended", &ended, Rule::I12, &[], failed);
    assert_eq!(decide(&ended).problem.unwrap().reason, "Interrupted");
    let idle = Observed {
        operation: Some(Operation::Interrupt),
        ..succeeded()
    };
    check("nothing to interrupt", &idle, Rule::I12, &[], None);
}

#[test]
fn i5b_what_others_changed_of_the_exports_is_collected_again_when_all_is_well() {
    let lost = |change: fn(&mut Observed)| {
        let mut seen = Observed {
            exports_lost: true,
            ..succeeded()
        };
        change(&mut seen);
        decide(&seen)
    };
    let decision = lost(|_| {});
    assert_eq!(decision.rule, Some(Rule::I5b));
    assert_eq!(decision.actions, [Action::CollectExports]);
    // Nothing is collected while an item is at work, nor of one that failed.
    for phase in [ExecutionPhase::Progressing, ExecutionPhase::Failed] {
        let mut seen = succeeded();
        seen.exports_lost = true;
        seen.items[0].phase = Some(phase);
        let decision = decide(&seen);
        assert!(
            !decision.actions.contains(&Action::CollectExports),
            "{phase:?}"
        );
    }
    assert_eq!(decide(&succeeded()).actions, []);
}

/// An item whose removal has failed.
fn stuck(name: &str) -> Item {
    Item {
        marked: true,
        phase: Some(ExecutionPhase::Failed),
        error: Some("it clings".into()),
        ..item(name, &[])
    }
}

#[test]
fn i35b_removals_that_failed_are_told_and_tried_again_when_asked() {
    let orphan = |operation| {
        let mut seen = succeeded();
        seen.phase = Some(ExecutionPhase::Failed);
        seen.operation = operation;
        seen.items.push(stuck("c"));
        seen
    };
    let again = |of: &str| Action::Ask(Operation::Reconcile, names(&[of]));
    let told = decide(&orphan(None));
    assert_eq!(told.phase, Some(ExecutionPhase::Failed));
    assert!(told.problem.unwrap().message.contains("it clings"));
    assert_eq!(told.actions, []);
    for operation in [Operation::Reconcile, Operation::ForceReconcile] {
        let decision = decide(&orphan(Some(operation)));
        assert!(decision.actions.contains(&again("x-c")), "{operation:?}");
        assert_eq!(decision.phase, Some(ExecutionPhase::Progressing));
        assert_eq!(decision.afterwards, [Action::DropOperation]);
        // One that is wanted, and that others deleted.
        let mut wanted = orphan(Some(operation));
        wanted.items = vec![stuck("a"), item("b", &["a"])];
        let decision = decide(&wanted);
        assert!(decision.actions.contains(&again("x-a")), "{operation:?}");
        assert_eq!(decision.phase, Some(ExecutionPhase::Progressing));
        wanted.operation = None;
        wanted.phase = Some(ExecutionPhase::Progressing);
        let decision = decide(&wanted);
        assert_eq!(decision.phase, Some(ExecutionPhase::Failed));
        assert_eq!(decision.problem.unwrap().reason, "DeletionFailed");
    }
}

#[test]
fn e12_items_that_no_deployer_has_begun_are_told_apart() {
    let waiting = |first: bool, second: bool| {
        let seen = at_work(|seen| {
            for (item, unclaimed) in seen.items.iter_mut().zip([first, second]) {
                item.phase = Some(ExecutionPhase::Progressing);
                item.unclaimed = unclaimed;
            }
        });
        let decision = decide(&seen);
        let rules = decision.waiting_on.into_iter();
        rules.map(|waiting| waiting.rule).collect::<Vec<_>>()
    };
    assert_eq!(waiting(true, false), ["E12", "E7"]);
    assert_eq!(waiting(true, true), ["E12", "E12"]);
    let begins = at_work(|seen| {
        seen.items[1].phase = Some(ExecutionPhase::Progressing);
        seen.items[1].unclaimed = true;
        seen.wanted.push(wanted("c", &[]));
    });
    let decision = decide(&begins);
    assert_eq!(decision.actions, [Action::Update(names(&["c"]))]);
    assert_eq!(decision.waiting_on[0].rule, "E7", "c is begun");
}
