//! Landscapes go: in every state, by every policy, with and without what they deployed.

use landform_sim::Action;
use landform_sim::landscape::{Installation, Item};

use super::growth::step;
use super::tell::{
    End, a_while, apply, delete, delete_in_background, given, keep_outside, survives,
};

/// Items that depend on each other, and something nested.
fn rich() -> Installation {
    Installation::new("a")
        .import("x")
        .item(Item::new("one", 1).take("x"))
        .item(Item::new("two", 2).after("one"))
        .nest(step("inner", "x", "y", 10))
        .nest(step("beside", "y", "z", 10))
}

fn nothing_is_left(end: &End) {
    assert_eq!(end.phase("a"), "gone");
    assert_eq!(end.outside(), []);
    let kinds = ["installations", "executions", "deployitems"];
    assert_eq!(kinds.map(|kind| end.count(kind)), [0, 0, 0]);
}

#[test]
fn i35_e10_g8_what_succeeded_goes_from_its_leaves_to_its_root_in_a_cascade() {
    let end = survives(&[given("x", 1), apply(rich()), Action::Rest, delete("a")]);
    nothing_is_left(&end);
    assert_eq!(end.count("dataobjects"), 1);
}

#[test]
fn i35_e10_g13_what_succeeded_goes_from_its_leaves_to_its_root_in_the_background() {
    let story = [
        given("x", 1),
        apply(rich()),
        Action::Rest,
        delete_in_background("a"),
    ];
    let end = survives(&story);
    nothing_is_left(&end);
    assert_eq!(end.count("dataobjects"), 1);
}

#[test]
fn i36_without_uninstall_the_objects_go_and_what_they_deployed_stays() {
    let story = |deletion: Action| {
        [
            given("x", 1),
            apply(rich()),
            Action::Rest,
            keep_outside("a"),
            deletion,
        ]
    };
    for deletion in [delete("a"), delete_in_background("a")] {
        let end = survives(&story(deletion));
        assert_eq!(end.phase("a"), "gone");
        assert_eq!(end.count("deployitems"), 0);
        assert_eq!(end.outside().len(), 4);
    }
}

#[test]
fn i32_what_waits_for_an_import_goes() {
    for deletion in [delete("a"), delete_in_background("a")] {
        let end = survives(&[apply(rich()), Action::Rest, deletion]);
        nothing_is_left(&end);
    }
}

#[test]
fn i33_what_is_at_work_goes_when_its_work_has_ended() {
    for deletion in [delete("a"), delete_in_background("a")] {
        let working = Installation::new("a")
            .item(Item::new("one", 1).hangs())
            .item(Item::new("two", 2));
        nothing_is_left(&survives(&[apply(working), a_while(), deletion]));
    }
}

#[test]
fn i35_what_failed_goes() {
    for deletion in [delete("a"), delete_in_background("a")] {
        let failing = Installation::new("a")
            .item(Item::new("one", 1).fails())
            .item(Item::new("two", 2).after("one"))
            .nest(Installation::new("inner").item(Item::new("own", 1)));
        nothing_is_left(&survives(&[apply(failing), Action::Rest, deletion]));
    }
}

#[test]
fn i34_what_has_a_broken_blueprint_goes() {
    for deletion in [delete("a"), delete_in_background("a")] {
        let story = [
            given("x", 1),
            apply(rich()),
            Action::Rest,
            apply(rich().broken()),
            Action::Rest,
            deletion,
        ];
        nothing_is_left(&survives(&story));
    }
}

#[test]
fn i31_what_a_sibling_imports_stays_and_names_it() {
    for deletion in [delete("a"), delete_in_background("a")] {
        let story = [
            given("x", 1),
            apply(step("a", "x", "y", 1).nest(step("inner", "x", "z", 1))),
            apply(step("b", "y", "v", 1)),
            Action::Rest,
            deletion,
        ];
        let end = survives(&story);
        assert!(end.error("a").contains(": b;"), "{}", end.error("a"));
        assert_eq!(end.outside().len(), 3);
    }
}

#[test]
fn i31_i35_what_siblings_import_goes_after_them() {
    for by in [delete, delete_in_background] {
        let story = [
            given("x", 1),
            apply(step("a", "x", "y", 1)),
            apply(step("b", "y", "z", 1)),
            Action::Rest,
            by("a"),
            a_while(),
            by("b"),
        ];
        nothing_is_left(&survives(&story));
    }
}

#[test]
fn i2_what_was_deleted_can_be_made_again() {
    let story = [
        given("x", 1),
        apply(rich()),
        Action::Rest,
        delete("a"),
        apply(rich()),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.outside().len(), 4);
}
