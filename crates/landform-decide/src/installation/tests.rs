//! Tables: a scenario in words, and what follows from it. `tests_of_deletion.rs` has the deletion flow.

use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{ErrorCode, InstallationPhase, Operation};

use super::{
    Action, Automatic, Child, ChildKind, Dependency, Import, Observed, Parent, Present, decide,
};
use crate::Rule;
use crate::combined::Standing;

use InstallationPhase::{
    Aborted, Deleting, Failed, Init, PendingDependencies, Progressing, Succeeded,
};

/// An installation with an execution, one import and one dependency, all of which succeeded.
pub(super) fn succeeded() -> Observed {
    Observed {
        now_ms: 10_000_000,
        generation: 3,
        observed_generation: Some(3),
        phase: Some(Succeeded),
        marked: false,
        held: true,
        operation: None,
        ignore: false,
        aborted: false,
        failed_as_it_is: false,
        refused: false,
        parent: None,
        children: vec![child("shop", Succeeded)],
        imports: vec![Import {
            name: "port".into(),
            object: ObjectName {
                kind: "DataObject".into(),
                namespace: "default".into(),
                name: "db-port".into(),
                ..ObjectName::default()
            },
            recorded: Some("g1".into()),
            present: Present::Satisfied("g1".into()),
        }],
        imports_differ: false,
        blueprint_changed: false,
        dependencies: vec![Dependency {
            name: "db".into(),
            phase: Some(Succeeded),
            up_to_date: true,
            current: true,
            queued: false,
        }],
        importers: Vec::new(),
        rivals: Vec::new(),
        update_begun: false,
        force_begun: false,
        bare: false,
        lost: None,
        exports_lost: false,
        automatic: Automatic::default(),
    }
}

pub(super) fn child(name: &str, phase: InstallationPhase) -> Child {
    Child {
        kind: ChildKind::Execution,
        name: name.into(),
        phase: Some(phase),
        standing: Standing::of(Some(phase), true),
        because: None,
        unclaimed: false,
        marked: false,
        bare: false,
        operation: None,
        error: None,
    }
}

pub(super) fn with(change: impl FnOnce(&mut Observed)) -> Observed {
    let mut seen = succeeded();
    change(&mut seen);
    seen
}

/// It was changed, and everything that it needs is there.
pub(super) fn changed(change: impl FnOnce(&mut Observed)) -> Observed {
    with(|seen| {
        seen.generation = 4;
        change(seen);
    })
}

/// Nothing is waited for: the update comes next.
fn begun(seen: &mut Observed) {
    seen.phase = Some(PendingDependencies);
    seen.update_begun = true;
}

pub(super) fn check(
    what: &str,
    seen: &Observed,
    rule: Rule,
    actions: &[Action],
    phase: Option<InstallationPhase>,
) {
    let decision = decide(seen);
    assert_eq!(decision.rule, Some(rule), "{what}: {decision:?}");
    assert_eq!(decision.actions, actions, "{what}");
    assert_eq!(decision.phase, phase, "{what}");
}

const UPDATE: Action = Action::Update { force: false };

#[test]
fn i1_a_final_installation_is_ignored_and_others_go_on() {
    for phase in [Succeeded, Failed, Aborted] {
        let seen = changed(|seen| {
            seen.ignore = true;
            seen.phase = Some(phase);
        });
        check("final", &seen, Rule::I1, &[], None);
    }
    for phase in [
        None,
        Some(Init),
        Some(PendingDependencies),
        Some(Progressing),
        Some(Deleting),
    ] {
        let seen = changed(|seen| {
            seen.ignore = true;
            seen.phase = phase;
        });
        assert_ne!(decide(&seen).rule, Some(Rule::I1), "{phase:?}");
    }
}

#[test]
fn i2_the_finalizer_comes_first_and_is_not_added_to_what_goes() {
    let new = with(|seen| seen.held = false);
    check("new", &new, Rule::I2, &[Action::Hold], None);
    assert!(decide(&new).again, "that write brings the next run");
    let marked = with(|seen| {
        seen.held = false;
        seen.marked = true;
    });
    check("marked", &marked, Rule::I3, &[], None);
}

#[test]
fn i4_what_each_operation_leads_to() {
    let asked = |operation| with(|seen| seen.operation = Some(operation));
    let reconcile = asked(Operation::Reconcile);
    let export = [Action::Export];
    check("reconcile", &reconcile, Rule::I17, &export, Some(Succeeded));
    let dropped = &decide(&reconcile).afterwards[0];
    assert_eq!(*dropped, Action::DropOperation);
    let forced = asked(Operation::ForceReconcile);
    let begun = [Action::BeginForce];
    check("force", &forced, Rule::I21, &begun, Some(Progressing));
    check(
        "abort",
        &asked(Operation::Abort),
        Rule::I12,
        &[],
        Some(Aborted),
    );
    check("none", &succeeded(), Rule::I5, &[], None);
}

#[test]
fn i5_a_final_installation_follows_its_nested_objects() {
    check("the same", &succeeded(), Rule::I5, &[], None);
    let working = with(|seen| seen.children = vec![child("shop", Progressing)]);
    check("at work again", &working, Rule::I5, &[], Some(Progressing));
    let failed = with(|seen| seen.children = vec![child("shop", Failed)]);
    check("failed since", &failed, Rule::I5, &[], Some(Failed));
    let healed = with(|seen| seen.phase = Some(Failed));
    check(
        "healed",
        &healed,
        Rule::I5,
        &[Action::Export],
        Some(Succeeded),
    );
    assert_eq!(decide(&healed).afterwards, [Action::TriggerImporters]);
    let changed = changed(|_| {});
    assert_ne!(decide(&changed).rule, Some(Rule::I5), "not up to date");
    let import = with(|seen| seen.imports[0].present = Present::Satisfied("g2".into()));
    assert_ne!(decide(&import).rule, Some(Rule::I5), "an import changed");
}

#[test]
fn i6_i10_i11_an_installation_waits_for_its_nested_objects() {
    let waiting = changed(|seen| {
        seen.children = vec![child("a", Succeeded), child("b", PendingDependencies)];
    });
    check(
        "one is at work",
        &waiting,
        Rule::I11,
        &[],
        Some(Progressing),
    );
    let on: Vec<_> = decide(&waiting).waiting_on;
    assert_eq!(on.len(), 1);
    assert_eq!(on[0].object.as_ref().unwrap().name, "b");
    let done = changed(begun);
    assert_eq!(decide(&done).rule, Some(Rule::I15), "all are final");
    let none = with(|seen| {
        seen.phase = Some(Progressing);
        seen.children.clear();
    });
    check(
        "none counts as Succeeded",
        &none,
        Rule::I17,
        &[Action::Export],
        Some(Succeeded),
    );
}

#[test]
fn i4_i12_an_abort_stops_nested_objects_first() {
    let told = |change: fn(&mut Observed)| {
        with(|seen| {
            seen.operation = Some(Operation::Abort);
            seen.phase = Some(Progressing);
            change(seen);
        })
    };
    let working = told(|seen| seen.children = vec![child("shop", Progressing)]);
    let ask = [Action::Ask(
        Operation::Abort,
        vec![(ChildKind::Execution, "shop".into())],
    )];
    check("at work", &working, Rule::I4, &ask, Some(Progressing));
    let asked = told(|seen| {
        seen.children = vec![child("shop", Progressing)];
        seen.children[0].operation = Some(Operation::Abort);
    });
    check("told", &asked, Rule::I4, &[], Some(Progressing));
    let stopped = told(|seen| seen.children = vec![child("shop", Failed)]);
    check("stopped", &stopped, Rule::I12, &[], Some(Aborted));
    assert_eq!(decide(&stopped).afterwards, [Action::DropOperation]);
    let stays = changed(|seen| {
        seen.phase = Some(Aborted);
        seen.aborted = true;
    });
    check("stays", &stays, Rule::I12, &[], None);
    let again = changed(|seen| seen.phase = Some(Aborted));
    assert_ne!(decide(&again).rule, Some(Rule::I12), "it was changed since");
}

#[test]
fn i13_a_change_of_the_spec_or_of_an_import_requires_an_update() {
    let progressing = |change: fn(&mut Observed)| {
        let mut seen = with(|seen| seen.phase = Some(Progressing));
        change(&mut seen);
        seen.update_required()
    };
    assert!(!progressing(|_| {}), "nothing changed");
    assert!(progressing(|seen| seen.generation = 4), "the spec");
    assert!(progressing(|seen| seen.observed_generation = None), "new");
    assert!(
        progressing(|seen| seen.imports[0].present = Present::Satisfied("g2".into())),
        "an import"
    );
    assert!(
        progressing(|seen| seen.imports[0].recorded = None),
        "a new import"
    );
    assert!(
        progressing(|seen| seen.imports_differ = true),
        "one import less"
    );
}

#[test]
fn i14_an_update_waits_for_dependencies_and_imports_and_says_so() {
    let pending = |change: fn(&mut Observed)| {
        changed(|seen| {
            begun(seen);
            change(seen);
        })
    };
    type Case = (&'static str, fn(&mut Observed), &'static str);
    let table: [Case; 6] = [
        (
            "failed",
            |seen| seen.dependencies[0].phase = Some(Failed),
            "Failed",
        ),
        (
            "not up to date",
            |seen| seen.dependencies[0].up_to_date = false,
            "changed",
        ),
        (
            "queued",
            |seen| seen.dependencies[0].queued = true,
            "asked to reconcile",
        ),
        (
            "missing",
            |seen| seen.imports[0].present = Present::Missing,
            "doesn't exist",
        ),
        (
            "forbidden",
            |seen| {
                seen.imports[0].present =
                    Present::Unusable("jane lacks the right to get it".into());
            },
            "needs it: jane lacks the right",
        ),
        (
            "somebody else's",
            |seen| {
                seen.imports[0].present = Present::NotProvided {
                    owner: "other".into(),
                }
            },
            "other",
        ),
    ];
    for (what, change, word) in table {
        let seen = pending(change);
        check(what, &seen, Rule::I14, &[], Some(PendingDependencies));
        let decision = decide(&seen);
        assert!(
            decision.waiting_on[0].reason.contains(word),
            "{what}: {decision:?}"
        );
        assert!(decision.problem.unwrap().message.contains(word), "{what}");
    }
    check(
        "all hold",
        &pending(|_| {}),
        Rule::I15,
        &[UPDATE],
        Some(Progressing),
    );
}

#[test]
fn i14_an_update_passes_through_pending_dependencies() {
    let first = changed(|_| {});
    check("first", &first, Rule::I14, &[], Some(PendingDependencies));
    assert!(decide(&first).again && decide(&first).problem.is_none());
    let failed = changed(|seen| seen.phase = Some(Failed));
    check(
        "it is tried again",
        &failed,
        Rule::I15,
        &[UPDATE],
        Some(Progressing),
    );
}

#[test]
fn i11_i15_an_update_that_was_interrupted_is_finished_before_nested_objects_are_waited_for() {
    let interrupted = changed(|seen| {
        begun(seen);
        seen.children = vec![child("shop", Progressing)];
    });
    check(
        "begun",
        &interrupted,
        Rule::I15,
        &[UPDATE],
        Some(Progressing),
    );
    let waiting = changed(|seen| {
        seen.phase = Some(PendingDependencies);
        seen.children = vec![child("shop", Progressing)];
    });
    check("not begun", &waiting, Rule::I11, &[], Some(Progressing));
}

#[test]
fn i14b_a_nested_installation_is_updated_only_while_its_parent_progresses() {
    let nested = |phase, marked| {
        changed(|seen| {
            begun(seen);
            seen.parent = Some(Parent {
                name: "all".into(),
                phase,
                failed_below: false,
                marked,
                forced: false,
            });
        })
    };
    for phase in [
        None,
        Some(PendingDependencies),
        Some(Succeeded),
        Some(Failed),
    ] {
        check(
            "withheld",
            &nested(phase, false),
            Rule::I14b,
            &[],
            Some(PendingDependencies),
        );
    }
    let updated_first = nested(Some(Deleting), true);
    assert_eq!(decide(&updated_first).rule, Some(Rule::I15), "I34");
    let going = nested(Some(Progressing), true);
    check(
        "the parent goes",
        &going,
        Rule::I14b,
        &[],
        Some(PendingDependencies),
    );
    let progressing = nested(Some(Progressing), false);
    check(
        "updated",
        &progressing,
        Rule::I15,
        &[UPDATE],
        Some(Progressing),
    );
    for (failed_below, rule) in [(true, Rule::I15), (false, Rule::I14b)] {
        let mut refused = nested(Some(Failed), false);
        refused.refused = true;
        refused.parent.as_mut().unwrap().failed_below = failed_below;
        assert_eq!(decide(&refused).rule, Some(rule), "{failed_below}");
    }
}

#[test]
fn i16_a_final_phase_of_nested_objects_is_the_installations() {
    for phase in [Failed, Aborted] {
        let seen = with(|seen| {
            seen.phase = Some(Progressing);
            seen.children = vec![child("shop", phase)];
            seen.children[0].error = Some("no space".into());
        });
        check("ended", &seen, Rule::I16, &[], Some(phase));
        assert!(decide(&seen).problem.unwrap().message.contains("no space"));
    }
    let outdated = changed(|seen| {
        begun(seen);
        seen.children = vec![child("shop", Failed)];
    });
    assert_eq!(
        decide(&outdated).rule,
        Some(Rule::I15),
        "an update comes first"
    );
}

#[test]
fn i17_success_makes_exports_before_it_is_told() {
    let done = with(|seen| seen.phase = Some(Progressing));
    check("done", &done, Rule::I17, &[Action::Export], Some(Succeeded));
    let failed = with(|seen| {
        seen.phase = Some(Progressing);
        seen.children = vec![child("shop", Failed)];
    });
    assert!(decide(&failed).actions.is_empty(), "withheld");
}

#[test]
fn i18_importers_are_triggered_after_success_was_stored_and_only_then() {
    let done = with(|seen| seen.phase = Some(Progressing));
    assert_eq!(decide(&done).afterwards, [Action::TriggerImporters]);
    let failed = with(|seen| {
        seen.phase = Some(Progressing);
        seen.children = vec![child("shop", Failed)];
    });
    assert!(decide(&failed).afterwards.is_empty(), "it has failed");
    assert!(decide(&succeeded()).afterwards.is_empty(), "nothing moved");
}

#[test]
fn i20_force_needs_imports_but_no_dependencies() {
    let forced = |change: fn(&mut Observed)| {
        with(|seen| {
            seen.operation = Some(Operation::ForceReconcile);
            change(seen);
        })
    };
    let missing = forced(|seen| seen.imports[0].present = Present::Missing);
    check(
        "an import is missing",
        &missing,
        Rule::I20,
        &[],
        Some(PendingDependencies),
    );
    assert!(decide(&missing).problem.is_some());
    let failed = forced(|seen| {
        seen.dependencies[0].phase = Some(Failed);
        seen.children = vec![child("shop", Progressing)];
    });
    assert_eq!(
        decide(&failed).rule,
        Some(Rule::I21),
        "a dependency has failed"
    );
}

#[test]
fn i21_force_updates_then_drops_the_annotation_then_sets_the_phase() {
    let first = with(|seen| seen.operation = Some(Operation::ForceReconcile));
    let noted = [Action::BeginForce];
    check("noted", &first, Rule::I21, &noted, Some(Progressing));
    let forced = with(|seen| {
        seen.operation = Some(Operation::ForceReconcile);
        seen.force_begun = true;
    });
    let actions = [Action::Update { force: true }, Action::DropOperation];
    check(
        "in this order",
        &forced,
        Rule::I21,
        &actions,
        Some(Progressing),
    );
    let crashed = with(|seen| seen.force_begun = true);
    check(
        "a crash without the annotation",
        &crashed,
        Rule::I21,
        &actions,
        Some(Progressing),
    );
    let not = changed(begun);
    check("not forced", &not, Rule::I15, &[UPDATE], Some(Progressing));
}

#[test]
fn i40_two_siblings_that_export_one_name_are_told_so() {
    let rivals = changed(|seen| seen.rivals = vec![("other".into(), "port".into())]);
    check("rivals", &rivals, Rule::I40, &[], Some(Failed));
    let problem = decide(&rivals).problem.unwrap();
    assert!(problem.message.contains("other") && problem.message.contains("port"));
    assert_eq!(problem.code, Some(ErrorCode::ConfigurationProblem));
    assert_ne!(decide(&changed(|_| {})).rule, Some(Rule::I40));
    // Not before the parent has written both: they may swap names.
    let nested = |phase| {
        changed(|seen| {
            seen.rivals = vec![("other".into(), "port".into())];
            seen.parent = Some(Parent {
                name: "all".into(),
                phase: Some(phase),
                failed_below: false,
                marked: false,
                forced: false,
            });
        })
    };
    let waits = nested(PendingDependencies);
    let pending = Some(PendingDependencies);
    check("half-written", &waits, Rule::I14b, &[], pending);
    for phase in [Progressing, Failed] {
        check("written", &nested(phase), Rule::I40, &[], Some(Failed));
    }
}

#[test]
fn i16b_reconcile_runs_again_what_failed_below_and_nothing_else() {
    let failed = |change: fn(&mut Observed)| {
        with(|seen| {
            seen.phase = Some(Failed);
            seen.operation = Some(Operation::Reconcile);
            let stuck = Child {
                standing: Standing::Failed,
                because: Some("it waits for a".into()),
                ..child("b", PendingDependencies)
            };
            seen.children = vec![child("shop", Succeeded), child("a", Failed), stuck];
            change(seen);
        })
    };
    let ask = Action::Ask(
        Operation::Reconcile,
        vec![(ChildKind::Execution, "a".into())],
    );
    let retried = failed(|_| {});
    check("retried", &retried, Rule::I16b, &[ask], Some(Progressing));
    assert_eq!(decide(&retried).afterwards, [Action::DropOperation]);
    let unasked = failed(|seen| seen.operation = None);
    check("withheld", &unasked, Rule::I5, &[], None);
    let changed = failed(|seen| {
        seen.generation = 4;
        begun(seen);
    });
    check(
        "corrected",
        &changed,
        Rule::I15,
        &[UPDATE],
        Some(Progressing),
    );
}

#[test]
fn i11b_a_nested_failure_is_the_parents_and_holds_back_no_update() {
    let stuck = |change: fn(&mut Observed)| {
        with(|seen| {
            seen.phase = Some(Progressing);
            let waits = Child {
                standing: Standing::Failed,
                because: Some("it waits for a, which has not succeeded".into()),
                ..child("b", PendingDependencies)
            };
            seen.children = vec![child("a", Failed), waits];
            change(seen);
        })
    };
    let seen = stuck(|_| {});
    check("nobody works", &seen, Rule::I16, &[], Some(Failed));
    let message = decide(&seen).problem.unwrap().message;
    assert!(
        message.contains("b can't go on: it waits for a"),
        "{message}"
    );
    let changed = stuck(|seen| {
        seen.generation = 4;
        begun(seen);
    });
    check(
        "corrected",
        &changed,
        Rule::I15,
        &[UPDATE],
        Some(Progressing),
    );
    let outside = with(|seen| {
        seen.phase = Some(Progressing);
        seen.children[0].standing = Standing::Waiting;
        seen.children[0].because = Some("it waits for Secret s".into());
    });
    let pending = Some(PendingDependencies);
    check("it may come", &outside, Rule::I11b, &[], pending);
    let works = stuck(|seen| seen.children.push(child("c", Progressing)));
    check("one works", &works, Rule::I11, &[], Some(Progressing));
}

#[test]
fn i5b_what_others_took_away_is_put_right() {
    let lost = with(|seen| seen.lost = Some("the Execution shop".into()));
    let pending = Some(PendingDependencies);
    check("nested", &lost, Rule::I14, &[], pending);
    let exports = with(|seen| seen.exports_lost = true);
    check(
        "exports",
        &exports,
        Rule::I5b,
        &[Action::Export],
        Some(Succeeded),
    );
    check("nothing", &succeeded(), Rule::I5, &[], None);
}

#[test]
fn i16_what_failed_as_it_is_is_not_tried_again_until_asked() {
    let failed = |change: fn(&mut Observed)| {
        changed(|seen| {
            seen.phase = Some(Failed);
            seen.failed_as_it_is = true;
            change(seen);
        })
    };
    check("it rests", &failed(|_| {}), Rule::I16, &[], None);
    let asked = failed(|seen| seen.operation = Some(Operation::Reconcile));
    check("asked", &asked, Rule::I15, &[UPDATE], Some(Progressing));
    let corrected = failed(|seen| seen.failed_as_it_is = false);
    check(
        "corrected",
        &corrected,
        Rule::I15,
        &[UPDATE],
        Some(Progressing),
    );
}
