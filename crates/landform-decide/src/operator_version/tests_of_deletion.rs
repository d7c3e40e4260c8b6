//! The deletion of a version in tables.

use landform_api::catalog::Phase;

use super::tests::{a_before_b, begun, fresh, new_b, remembering, resource};
use super::{Action, Install, Observed, decide};
use crate::Rule;

use Phase::{Deleting, Failed, Installing, Succeeded};

/// `b` alone, marked, with what `change` makes of it.
fn marked(change: impl FnOnce(&mut Observed)) -> Observed {
    new_b(|seen| {
        seen.me = begun("b", "2.0.0", "a", Deleting);
        seen.me.marked = true;
        seen.install = Install::Ready;
        change(seen);
    })
}

#[test]
fn o16_without_an_heir_resources_go_first_then_the_operator_then_itself() {
    let owning = marked(|seen| seen.resources = vec![resource(&["b*"])]);
    assert_eq!(decide(&owning).actions, [Action::DeleteResource(0)]);
    let mut going = owning.clone();
    going.resources[0].marked = true;
    assert!(decide(&going).actions.is_empty(), "they are waited for");
    assert!(!decide(&going).waiting_on.is_empty());
    assert_eq!(decide(&marked(|_| {})).actions, [Action::Uninstall]);
    let leaving = marked(|seen| seen.install = Install::Leaving(Some("a finalizer".into())));
    let decision = decide(&leaving);
    assert!(decision.actions.is_empty());
    assert!(decision.waiting_on[0].reason.contains("a finalizer"));
    let bare = decide(&marked(|seen| seen.install = Install::Absent));
    assert_eq!(
        (bare.rule, bare.afterwards),
        (Rule::O16, vec![Action::LetGo])
    );
    let free = decide(&marked(|seen| seen.held = false));
    assert!(
        free.actions.is_empty() && free.afterwards.is_empty(),
        "nothing holds it"
    );
}

#[test]
fn o15_an_heir_gets_what_a_marked_version_owns() {
    let owning = |others| {
        marked(|seen| {
            seen.others = others;
            seen.resources = vec![resource(&["b*"])];
        })
    };
    let c = |phase| remembering(begun("c", "3.0.0", "b", phase), "b");
    let a = || begun("a", "1.0.0", "", Succeeded);
    let waiting = [
        ("a successor runs", vec![c(Succeeded), a()], "c"),
        (
            "a successor is being installed",
            vec![c(Installing), a()],
            "c",
        ),
        (
            "the successor failed, its predecessor runs",
            vec![c(Failed), a()],
            "a",
        ),
        (
            "the successor failed, and there is no other",
            vec![c(Failed)],
            "c",
        ),
        ("its predecessor runs", vec![a()], "a"),
    ];
    for (what, others, whom) in waiting {
        let decision = decide(&owning(others));
        assert_eq!(decision.rule, Rule::O15, "{what}");
        assert!(decision.actions.is_empty(), "{what}");
        assert_eq!(
            decision.waiting_on[0].object.as_ref().unwrap().name,
            whom,
            "{what}"
        );
    }
    let unready = decide(&owning(vec![fresh("c", "3.0.0", "b")]));
    assert_eq!(
        unready.actions,
        [Action::DeleteResource(0)],
        "it isn't installed"
    );
    let mut forgetful = c(Succeeded);
    forgetful.replaced.clear();
    let decision = decide(&owning(vec![forgetful]));
    assert_eq!(decision.rule, Rule::O16, "it must be noted first");
    assert!(decision.actions.is_empty());
}

#[test]
fn o15_what_somebody_wants_orphaned_is_left_alone() {
    let orphaning = marked(|seen| {
        seen.orphaning = true;
        seen.resources = vec![resource(&["b*"])];
    });
    let decision = decide(&orphaning);
    assert!(decision.actions.is_empty() && decision.afterwards.is_empty());
    assert_eq!(decision.waiting_on[0].rule, "O15");
}

#[test]
fn o17_what_both_install_is_taken_back_before_the_operator_goes() {
    let with = |reasserted: Option<&str>| {
        marked(|seen| {
            seen.others = vec![begun("a", "1.0.0", "", Succeeded)];
            seen.others[0].reasserted_for = reasserted.map(str::to_owned);
        })
    };
    for reasserted in [None, Some("b#/0")] {
        let decision = decide(&with(reasserted));
        assert_eq!(decision.rule, Rule::O17);
        assert!(decision.actions.is_empty(), "{reasserted:?}");
    }
    assert_eq!(decide(&with(Some("b#/1"))).actions, [Action::Uninstall]);
    let mut never = with(None);
    never.install = Install::Absent;
    assert_eq!(
        decide(&never).afterwards,
        [Action::LetGo],
        "nothing was installed"
    );
}

#[test]
fn o17_a_marked_successor_gives_back_what_it_had_taken() {
    let seen = a_before_b(|seen| {
        seen.others[0].marked = true;
        seen.others[0].phase = Some(Deleting);
        seen.me.reasserted_for = Some("b#/1".into());
        seen.resources = vec![resource(&["a", "b*"])];
    });
    assert_eq!(decide(&seen).actions, [Action::Adopt(0, "b#".into())]);
    assert_eq!(decide(&seen).rule, Rule::O17);
}
