//! What is not begun, what can't go, and what is asked for again.

use landform_api::landscaper::InstallationPhase::{Failed, PendingDependencies, Progressing};
use landform_api::landscaper::Operation;

use super::tests::{changed, check, child, with};
use super::{Action, ChildKind, Observed, decide};
use crate::Rule;

#[test]
fn i13_what_no_deployer_has_begun_holds_back_no_update() {
    let unclaimed = |seen: &mut Observed| {
        seen.phase = Some(Progressing);
        seen.children = vec![child("a", Progressing)];
        seen.children[0].unclaimed = true;
    };
    let same = with(unclaimed);
    check("it is waited for", &same, Rule::I11, &[], Some(Progressing));
    assert_eq!(decide(&same).waiting_on[0].rule, "E12");
    let other = changed(unclaimed);
    check(
        "it is changed",
        &other,
        Rule::I14,
        &[],
        Some(PendingDependencies),
    );
}

#[test]
fn i35b_a_removal_below_is_tried_again_when_that_is_asked_for() {
    for operation in [Operation::Reconcile, Operation::ForceReconcile] {
        let mut seen = changed(|seen| {
            seen.operation = Some(operation);
            seen.children = vec![child("a", Failed)];
            seen.children[0].marked = true;
        });
        let decision = decide(&seen);
        let asked = vec![(ChildKind::Execution, "a".to_owned())];
        assert_eq!(decision.rule, Some(Rule::I35b), "{operation:?}");
        assert_eq!(
            decision.actions[0],
            Action::Ask(Operation::Reconcile, asked)
        );
        assert_eq!(decision.afterwards, [Action::DropOperation]);
        // Once: it may fail again.
        seen.operation = None;
        seen.force_begun = operation == Operation::ForceReconcile;
        assert_ne!(decide(&seen).rule, Some(Rule::I35b), "{operation:?}");
    }
}

#[test]
fn i10b_the_word_that_brought_a_run_goes_after_its_phase_is_written() {
    let asked = |operation| with(|seen| seen.operation = Some(operation));
    for operation in [Operation::Reconcile, Operation::ForceReconcile] {
        let decision = decide(&asked(operation));
        assert!(!decision.actions.contains(&Action::DropOperation));
        assert!(decision.phase.is_some(), "{operation:?}");
    }
    let reconcile = decide(&asked(Operation::Reconcile)).afterwards;
    assert_eq!(reconcile[0], Action::DropOperation);
}
