//! The deletion flow in tables.

use landform_api::landscaper::{InstallationPhase, Operation};

use super::tests::{check, child, with};
use super::{Action, ChildKind, Importer, Observed, Parent, Present, decide};
use crate::Rule;
use crate::combined::Standing;

use InstallationPhase::{Deleting, Failed, Progressing, Succeeded};

const DELETE: Action = Action::DeleteNested { force: false };
const UPDATE: Action = Action::UpdateBeforeDeletion { force: false };

/// The installation is marked, which moved its generation by one.
fn marked(change: impl FnOnce(&mut Observed)) -> Observed {
    with(|seen| {
        seen.marked = true;
        seen.generation = 4;
        change(seen);
    })
}

/// A sibling that imports from it and stays.
fn web() -> Importer {
    Importer {
        name: "web".into(),
        going: false,
        never_deployed_and_going: false,
        going_in_circle: false,
        gone_as_far_as_possible: false,
        heir: None,
    }
}

#[test]
fn i3_a_mark_leads_to_the_deletion_flow() {
    assert_eq!(decide(&marked(|_| {})).rule, Some(Rule::I35));
    assert_ne!(decide(&with(|_| {})).rule, Some(Rule::I35));
}

#[test]
fn i31b_force_keeps_the_order_of_those_that_go_together() {
    let forced = |importer: Importer, forced: bool, marked_parent: bool| {
        let seen = marked(|seen| {
            seen.operation = Some(Operation::ForceReconcile);
            seen.importers = vec![importer];
            seen.parent = Some(Parent {
                name: "shop".into(),
                phase: Some(Deleting),
                failed_below: false,
                marked: marked_parent,
                forced,
            });
        });
        decide(&seen).rule
    };
    let all = |going| Importer { going, ..web() };
    let as_far = Importer {
        going: true,
        gone_as_far_as_possible: true,
        ..web()
    };
    let circle = Importer {
        going: true,
        going_in_circle: true,
        ..web()
    };
    let never = Importer {
        going: true,
        never_deployed_and_going: true,
        ..web()
    };
    for (scenario, importer, parent_forced, parent_marked, rule) in [
        ("it goes first", all(true), true, true, Rule::I31),
        (
            "it is about to be marked",
            all(false),
            true,
            true,
            Rule::I31,
        ),
        (
            "the parent takes its time",
            all(true),
            false,
            true,
            Rule::I30,
        ),
        ("the parent stays", all(true), true, false, Rule::I30),
        ("it can't be removed", as_far, true, true, Rule::I30),
        ("none can be first", circle, true, true, Rule::I30),
        ("it needs nothing", never, true, true, Rule::I30),
    ] {
        let found = forced(importer, parent_forced, parent_marked);
        assert_eq!(found, Some(rule), "{scenario}");
    }
}

#[test]
fn i30_force_updates_deletes_with_force_and_asks_nobody() {
    let forced = |change: fn(&mut Observed)| {
        marked(|seen| {
            seen.operation = Some(Operation::ForceReconcile);
            seen.importers = vec![web()];
            change(seen);
        })
    };
    let update = [
        Action::UpdateBeforeDeletion { force: true },
        Action::BeginForce,
    ];
    check("first", &forced(|_| {}), Rule::I30, &update, Some(Deleting));
    let going = forced(|seen| {
        seen.children[0].marked = true;
        seen.force_begun = true;
    });
    let delete = [Action::DeleteNested { force: true }];
    check("then", &going, Rule::I30, &delete, Some(Deleting));
    let gone = forced(|seen| seen.children.clear());
    check("at last", &gone, Rule::I30, &[], None);
    assert_eq!(decide(&gone).afterwards, [Action::LetGo]);
    let not = marked(|seen| {
        seen.importers = vec![web()];
    });
    assert_eq!(decide(&not).rule, Some(Rule::I31), "without force");
}

#[test]
fn i31_nothing_goes_while_a_sibling_imports_from_it() {
    let needed = marked(|seen| {
        seen.importers = vec![web()];
    });
    check("needed", &needed, Rule::I31, &[], None);
    let decision = decide(&needed);
    assert!(decision.problem.unwrap().message.contains("web"));
    assert!(decision.afterwards.is_empty());
    assert_eq!(decision.waiting_on[0].object.as_ref().unwrap().name, "web");
    let idle = marked(|seen| {
        seen.importers = vec![Importer {
            going: true,
            never_deployed_and_going: true,
            ..web()
        }];
    });
    check(
        "it never deployed anything and goes",
        &idle,
        Rule::I35,
        &[DELETE],
        Some(Deleting),
    );
}

#[test]
fn i31_i40b_one_that_has_not_taken_over_what_is_imported_is_named_first() {
    let decision = decide(&marked(|seen| {
        seen.importers = vec![Importer {
            heir: Some("next".into()),
            ..web()
        }];
    }));
    assert!(decision.actions.is_empty());
    let message = decision.problem.unwrap().message;
    assert!(
        message.contains("web") && message.contains("next"),
        "{message}"
    );
    let names: Vec<_> = decision
        .waiting_on
        .into_iter()
        .map(|waiting| waiting.object.unwrap().name)
        .collect();
    assert_eq!(names, ["next", "web"]);
}

#[test]
fn i35_a_circle_of_those_that_go_has_no_order() {
    let seen = |going_in_circle| {
        marked(|seen| {
            seen.importers = vec![Importer {
                going: going_in_circle,
                going_in_circle,
                ..web()
            }];
        })
    };
    assert_eq!(decide(&seen(true)).rule, Some(Rule::I35));
    assert_eq!(decide(&seen(false)).rule, Some(Rule::I31));
}

#[test]
fn i5b_a_nested_installation_that_others_deleted_is_held_only_by_those_that_go_too() {
    let nested = |going, parent_marked| {
        marked(|seen| {
            seen.parent = Some(Parent {
                name: "all".into(),
                failed_below: false,
                phase: Some(if parent_marked { Deleting } else { Progressing }),
                marked: parent_marked,
                forced: false,
            });
            seen.importers = vec![Importer { going, ..web() }];
        })
    };
    let rule = |going, parent_marked| decide(&nested(going, parent_marked)).rule;
    assert_eq!(rule(false, false), Some(Rule::I35), "the importer stays");
    assert_eq!(
        rule(true, false),
        Some(Rule::I31),
        "the importer goes first"
    );
    assert_eq!(rule(false, true), Some(Rule::I31), "all go, in their order");
    let mut orphan = nested(false, false);
    orphan.parent.as_mut().unwrap().phase = None;
    assert_eq!(decide(&orphan).rule, Some(Rule::I31), "the parent is gone");
}

#[test]
fn i36_what_was_begun_is_not_waited_for_if_it_may_stay() {
    let at_work = |bare| {
        marked(|seen| {
            seen.bare = bare;
            seen.children = vec![child("a", Progressing)];
        })
    };
    check(
        "it is removed",
        &at_work(false),
        Rule::I33,
        &[],
        Some(Deleting),
    );
    let gone = [DELETE];
    check("it stays", &at_work(true), Rule::I35, &gone, Some(Deleting));
    let mut changed = at_work(true);
    changed.observed_generation = None;
    check(
        "with another spec",
        &changed,
        Rule::I35,
        &gone,
        Some(Deleting),
    );
}

#[test]
fn i33_what_no_deployer_has_begun_is_not_waited_for() {
    let unclaimed = marked(|seen| {
        seen.children = vec![child("a", Progressing)];
        seen.children[0].unclaimed = true;
    });
    check("deleted", &unclaimed, Rule::I35, &[DELETE], Some(Deleting));
}

#[test]
fn i31_a_nested_installation_waits_until_its_parent_lets_it_go() {
    let nested = |phase, parent_marked| {
        marked(|seen| {
            seen.parent = Some(Parent {
                name: "all".into(),
                phase: Some(phase),
                failed_below: false,
                marked: parent_marked,
                forced: false,
            });
        })
    };
    check("held", &nested(Succeeded, true), Rule::I31, &[], None);
    check(
        "let go",
        &nested(Deleting, true),
        Rule::I35,
        &[DELETE],
        Some(Deleting),
    );
    check(
        "deleted alone",
        &nested(Succeeded, false),
        Rule::I35,
        &[DELETE],
        Some(Deleting),
    );
}

#[test]
fn i32_without_nested_objects_it_goes_at_once() {
    let empty = marked(|seen| seen.children.clear());
    check("empty", &empty, Rule::I32, &[], None);
    assert_eq!(decide(&empty).afterwards, [Action::LetGo]);
    assert!(decide(&marked(|_| {})).afterwards.is_empty(), "withheld");
}

#[test]
fn i33_it_waits_for_nested_objects_that_are_at_work() {
    let working = marked(|seen| seen.children = vec![child("shop", Progressing)]);
    check("at work", &working, Rule::I33, &[], Some(Deleting));
    let half = marked(|seen| {
        let mut first = child("a", Deleting);
        first.marked = true;
        seen.children = vec![first, child("b", Succeeded)];
    });
    check(
        "a crash between two deletes",
        &half,
        Rule::I35,
        &[DELETE],
        Some(Deleting),
    );
    check(
        "final",
        &marked(|_| {}),
        Rule::I35,
        &[DELETE],
        Some(Deleting),
    );
}

#[test]
fn i34_a_change_before_the_deletion_is_carried_out_first_if_it_can_be() {
    let changed = marked(|seen| seen.generation = 5);
    check("changed", &changed, Rule::I34, &[UPDATE], Some(Deleting));
    // If the update changes nothing, nobody else brings the next run.
    assert!(decide(&changed).again);
    let import = marked(|seen| seen.imports[0].present = Present::Satisfied("g2".into()));
    check(
        "an import changed",
        &import,
        Rule::I34,
        &[UPDATE],
        Some(Deleting),
    );
    let missing = marked(|seen| seen.imports[0].present = Present::Missing);
    check(
        "reported, and it goes on",
        &missing,
        Rule::I34,
        &[DELETE],
        Some(Deleting),
    );
    assert!(decide(&missing).problem.is_some());
    check(
        "only the mark",
        &marked(|_| {}),
        Rule::I35,
        &[DELETE],
        Some(Deleting),
    );
    let going = marked(|seen| {
        seen.generation = 5;
        seen.children[0].marked = true;
    });
    assert_eq!(decide(&going).rule, Some(Rule::I35), "too late");
}

#[test]
fn i35_nested_objects_are_deleted_once_and_waited_for() {
    check(
        "first",
        &marked(|_| {}),
        Rule::I35,
        &[DELETE],
        Some(Deleting),
    );
    let failed = marked(|seen| {
        seen.children = vec![child("shop", Failed)];
        seen.children[0].marked = true;
        seen.children[0].error = Some("busy".into());
    });
    check("one can't go", &failed, Rule::I35, &[], Some(Failed));
    assert!(decide(&failed).problem.unwrap().message.contains("busy"));
    let waited_for = marked(|seen| {
        seen.children = vec![child("db", Deleting), child("web", Failed)];
        seen.children
            .iter_mut()
            .for_each(|child| child.marked = true);
    });
    check(
        "others wait for it",
        &waited_for,
        Rule::I35,
        &[],
        Some(Failed),
    );
    let again = marked(|seen| {
        seen.children = vec![child("shop", Failed)];
        seen.children[0].marked = true;
        seen.operation = Some(Operation::Reconcile);
    });
    let ask = [Action::Ask(
        Operation::Reconcile,
        vec![(ChildKind::Execution, "shop".into())],
    )];
    check("asked for", &again, Rule::I35, &ask, Some(Failed));
    assert_eq!(decide(&again).afterwards, [Action::DropOperation]);
}

/// The child is marked, and its removal has failed.
fn failed(seen: &mut Observed) {
    seen.children = vec![child("shop", Failed)];
    seen.children[0].marked = true;
}

fn shop() -> Vec<(ChildKind, String)> {
    vec![(ChildKind::Execution, "shop".into())]
}

#[test]
fn i35b_words_on_the_installation_reach_what_is_marked_already() {
    let asked = |operation| {
        let seen = marked(|seen| {
            failed(seen);
            seen.operation = Some(operation);
        });
        decide(&seen)
    };
    let again = asked(Operation::Reconcile);
    assert_eq!(again.actions, [Action::Ask(Operation::Reconcile, shop())]);
    assert_eq!(again.afterwards, [Action::DropOperation]);
    let forced = asked(Operation::ForceReconcile);
    let ask = Action::Ask(Operation::ForceReconcile, shop());
    assert!(forced.actions.contains(&ask), "{forced:?}");
    let bare = marked(|seen| {
        failed(seen);
        seen.bare = true;
    });
    assert_eq!(decide(&bare).actions, [Action::KeepOutside]);
    let aware = marked(|seen| {
        failed(seen);
        seen.bare = true;
        seen.children[0].bare = true;
    });
    assert_eq!(decide(&aware).actions, [], "it knows");
}

#[test]
fn i35b_an_abort_stops_a_removal_that_goes_on() {
    let seen = |change: fn(&mut Observed)| {
        marked(|seen| {
            seen.children = vec![child("shop", Deleting)];
            seen.children[0].marked = true;
            seen.operation = Some(Operation::Abort);
            change(seen);
        })
    };
    let stop = decide(&seen(|_| {}));
    assert_eq!(stop.actions, [Action::Ask(Operation::Abort, shop())]);
    assert_eq!(stop.afterwards, [Action::DropOperation]);
    let stopped = decide(&seen(failed));
    let next = [Action::Ask(Operation::Abort, shop())];
    assert_eq!(stopped.actions, next, "there is no further try");
    assert_eq!(stopped.phase, Some(Failed));
}

#[test]
fn i11b_a_deletion_waits_for_nothing_that_only_waits() {
    for standing in [Standing::Waiting, Standing::Failed] {
        let seen = marked(|seen| {
            seen.children[0].standing = standing;
            seen.children[0].because = Some("it waits for a Secret".into());
        });
        check("it waits", &seen, Rule::I35, &[DELETE], Some(Deleting));
    }
    let seen = marked(|seen| seen.children = vec![child("shop", Progressing)]);
    check("it works", &seen, Rule::I33, &[], Some(Deleting));
}

#[test]
fn i10b_i34_nothing_is_updated_before_a_deletion_while_a_dependency_is_at_work() {
    let changed = |phase| {
        with(|seen| {
            seen.marked = true;
            seen.generation = 4;
            seen.imports_differ = true;
            seen.dependencies[0].phase = Some(phase);
        })
    };
    let update = Action::UpdateBeforeDeletion { force: false };
    let calm = decide(&changed(InstallationPhase::Succeeded));
    assert!(calm.actions.contains(&update), "{calm:?}");
    let busy = decide(&changed(InstallationPhase::Progressing));
    assert_eq!(busy.actions, [Action::DeleteNested { force: false }]);
}
